package symnmf

import (
	"fmt"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// Residual is coordinate descent that maintains R = A − HHᵀ, n×n: column by column, P = R + h_j·h_jᵀ is
// fitted by one pass of rank-one descent. The iterates are those of CD with Order Cyclic, up to rounding. It
// takes n² numbers of memory, accepts dense matrices only, and serves as the plain form that the fast one is
// checked against. O(n²·r) a sweep.
//
// Source: the paper, Algorithm 3.
type Residual struct{}

// Name implements Solver.
func (Residual) Name() string { return "cd-residual" }

func (Residual) accepts(p *problem, opt *Options) error {
	switch _, dense := p.a.(*matrix.SymDense); {
	case !dense:
		return fmt.Errorf("%w: cd-residual keeps all n×n entries of A-HHᵀ and needs A in the same form: dense, in double precision, neither as points nor normalized; use cd-cyclic", ErrUnfit)
	case p.ignoreDiag:
		return fmt.Errorf("%w: cd-residual cannot ignore the diagonal; use cd-cyclic", ErrUnfit)
	case opt.Start == Zero{} && p.norm > 0 && !p.positiveDiagonal():
		return fmt.Errorf("%w: cd-residual cannot leave zero when no A_ii > 0; %s", ErrUnfit, p.awayFromZero())
	}
	return nil
}

func (Residual) start(p *problem, h *matrix.Dense, _ int) run {
	s := &residualRun{p: p, h: h, resid: make([]float64, p.n*p.n), hj: make([]float64, p.n), a: make([]float64, p.n), b: make([]float64, p.n)}
	s.refresh()
	return s
}

type residualRun struct {
	p      *problem
	h      *matrix.Dense
	resid  []float64 // n×n; P while a column is at work
	hj     []float64 // that column
	a, b   []float64
	sweeps int
}

const refreshResidualEvery = 50 // sweeps; O(n²·r)

// refresh computes R from A and H.
func (s *residualRun) refresh() {
	n := s.p.n
	visitor := s.p.a.(matrix.RowVisitor)
	kernel.Blocks(n, 16, s.p.workers, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			row := s.resid[i*n : (i+1)*n]
			for l := range row { // A without its diagonal does not list the entry of row[i]
				row[l] = -kernel.Dot(s.h.Row(i), s.h.Row(l))
			}
			visitor.VisitRow(i, func(l int, v float64) { row[l] += v })
		}
	})
}

func (s *residualRun) sweep(stop func() bool) (rep sweepReport) {
	for j := range s.p.r {
		if stop() {
			rep.cut = true
			return rep
		}
		for i := range s.hj {
			s.hj[i] = s.h.At(i, j)
		}
		s.addOuter(1)
		col := rankOne(s.resid, s.hj, s.p.l1[j], s.p.norm, s.a, s.b)
		s.addOuter(-1)
		rep.decrease += col.decrease
		rep.stepSq += col.stepSq
		rep.changed += col.changed
		for i, v := range s.hj {
			s.h.Set(i, j, v)
		}
	}
	if s.sweeps++; s.sweeps%refreshResidualEvery == 0 {
		s.refresh()
	}
	return rep
}

// addOuter adds sign·h_j·h_jᵀ to R.
func (s *residualRun) addOuter(sign float64) {
	n := s.p.n
	for i, v := range s.hj {
		if v != 0 {
			kernel.Axpy(s.resid[i*n:(i+1)*n], sign*v, s.hj)
		}
	}
}
