package symnmf

import (
	"fmt"
	"math"
	"slices"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// verify compares what a run maintains, and the objective summed from its decreases, with H itself. A
// difference beyond rounding is a bug in this package.
func (p *problem) verify(work run, h *matrix.Dense, first, objective float64, sweeps int) error {
	if err := work.(checker).verify(); err != nil {
		return fmt.Errorf("symnmf: sweep %d: %w", sweeps, err)
	}
	for k, v := range h.Data() {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("symnmf: sweep %d: H[%d,%d] = %v", sweeps, k/p.r, k%p.r, v)
		}
	}
	f := p.measure(h)
	if !finite(f.ah) && finite(f.hhSq) {
		return errProducts // the operator is wrong, not what is maintained
	}
	// The allowance is the floor, plus one rounding of the objective for each of n·r visits a sweep. The
	// numbers rounded are up to ¼‖A‖² + penalty or, where the diagonal does not bound H, the fourth powers of
	// its rows. The first sum began with the objective of the start.
	tol := f.floorSq + 4*float64(sweeps+1)*float64(p.n)*float64(p.r)*0x1p-52*(p.norm*p.norm+f.penalty+f.rowQuad) + 256*0x1p-52*first
	if d := math.Abs(f.objective() - objective); !(d <= tol) {
		return fmt.Errorf("symnmf: sweep %d: the summed decreases give %v, the definition %v (off by %.2g, allowed %.2g)",
			sweeps, objective, f.objective(), d, tol)
	}
	return nil
}

// verify implements checker for D, L and A·H. The allowance is one rounding of the largest possible value for
// each update of a number between refreshes: n visits a sweep touch each D_jk twice and each (AH)_ij once. No
// C_j exceeds 2‖A‖ when the objective is at most ¼‖A‖², which that of a given start need not be.
func (s *cdState) verify() error {
	s.anyOrder()
	most := max(2*s.p.norm, s.largest) // of any C_j, hence of any D_jk and L_i
	if s.p.ignoreDiag {                // then nothing bounds them
		for j := range s.p.r {
			most = max(most, 2*s.gram[j*s.p.r+j])
		}
	}
	tol := 2 * float64(s.p.n) * refreshCursorEvery * 0x1p-52 * most
	for k, want := range s.p.gram(s.h) {
		if d := math.Abs(s.gram[k] - want); !(d <= tol) {
			return fmt.Errorf("maintained D[%d,%d] is %v, HᵀH gives %v", k/s.p.r, k%s.p.r, s.gram[k], want)
		}
	}
	for i, got := range s.rowSq {
		if want := kernel.SumSq(s.h.Row(i)); !(math.Abs(got-want) <= tol) {
			return fmt.Errorf("maintained L[%d] is %v, H gives %v", i, got, want)
		}
	}
	tol = s.p.productTol(tol, most)
	fresh := s.p.a.NewCursor(s.h, s.p.workers)
	for j := range s.p.r {
		s.cursor.Column(j)
		fresh.Column(j)
		for i := range s.p.n {
			if got, want := s.cursor.At(i), fresh.At(i); !(math.Abs(got-want) <= tol) {
				return fmt.Errorf("maintained (AH)[%d,%d] is %v, the product gives %v", i, j, got, want)
			}
		}
	}
	return nil
}

// productTol is the allowance for entries of A·H, where tol is the allowance for numbers up to most, which
// bounds C_j: |(AH)_ij| ≤ ‖A‖·‖H_:,j‖ ≤ most·√most. Where A_ii·H_ij is subtracted, the entry may be as large
// as that before.
func (p *problem) productTol(tol, most float64) float64 {
	taken := p.norm
	if p.taken != nil {
		taken = max(taken, slices.Max(p.taken))
	}
	return tol * max(1, taken/most) * math.Sqrt(most)
}

// verify implements checker for R.
func (s *residualRun) verify() error {
	fresh := &residualRun{p: s.p, h: s.h, resid: make([]float64, len(s.resid))}
	fresh.refresh()
	tol := 4 * float64(s.p.r) * refreshResidualEvery * 0x1p-52 * 2 * s.p.norm
	for k, want := range fresh.resid {
		if got := s.resid[k]; !(math.Abs(got-want) <= tol) {
			return fmt.Errorf("maintained R[%d,%d] is %v, A-HHᵀ gives %v", k/s.p.n, k%s.p.n, got, want)
		}
	}
	return nil
}
