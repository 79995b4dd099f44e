package symnmf

import "symnmf/internal/kernel"

// summer is a cursor of a sparse A that tells what it sums up while it looks forward: At(i) is scale times the sum of
// val[p]·x[idx[p]] over ptr[i] ≤ p < ptr[i+1], where x is the column at work and val = nil stands for ones. If ptr is
// nil it is something else.
type summer interface {
	Sums() (ptr []int64, idx []int32, val, x []float64, scale float64)
}

// newTiles returns what visits several rows at a time in a forward sweep, or nil. There are no tiles where the diagonal
// is ignored, since Sums returns nothing then.
func (s *cdState) newTiles() *kernel.ColumnTiles {
	c, ok := s.cursor.(summer)
	if !ok {
		return nil
	}
	ptr, idx, val, _, scale := c.Sums()
	return kernel.NewColumnTiles(s.p.r, ptr, idx, val, scale)
}

// visitTiles visits the column at work in order. The entries are those that visit finds one by one, but for rounding.
func (s *cdState) visitTiles(tiles *kernel.ColumnTiles) {
	_, _, _, x, _ := s.cursor.(summer).Sums()
	c := kernel.Column{
		H: s.hv, J: s.j, X: x, D: s.dj, Djj: s.cj, L1: s.p.l1[s.j], Norm: s.p.norm, Diag: s.p.diag, RowSq: s.rowSq,
	}
	tiles.Visit(&c, func(i int) {
		s.cj = c.Djj
		s.visit(i)
		c.Djj = s.cj
	})
	s.cj = c.Djj
	s.report.decrease += c.Decrease
	s.report.stepSq += c.StepSq
	s.report.changed += int64(c.Changed)
}
