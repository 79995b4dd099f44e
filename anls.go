package symnmf

import (
	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// ANLS is alternating nonnegative least squares with coupled factors. W, and then H likewise, is set to the
// exact minimizer of
//
//	P = ½‖A − WHᵀ‖² + ½α‖W − H‖²,   that is, W ≥ 0 with (HᵀH + αI)Wᵀ = (AH + αH)ᵀ as a least-squares problem
//
// by block principal pivoting. P never rises; ‖A−HHᵀ‖ may. The answer is the factor with the smaller error.
// With α = 0 nothing draws the factors together, except that their columns are given equal norms. A column
// that is zero in both factors stays zero, and so does a zero start.
//
// A sweep takes two products with A, or four with α = 0, O(n·r²), and up to n systems of r equations, O(r³)
// each; there are fewer where rows have the same zeros. Memory: 4·n·r numbers besides H.
//
// Source: Kuang, Yun, Park, SymNMF: nonnegative low-rank approximation of a similarity matrix for graph
// clustering, J. Glob. Optim. 62, 2015, with another default of α: see WeightMaxSquared and docs/errata.md.
type ANLS struct {
	// Coupling is α; the default is ‖A‖₂, and 0 is allowed.
	Coupling Weight

	published bool // tests: the answer is H, as in the published code
}

// Name implements Solver.
func (ANLS) Name() string { return "anls" }

func (ANLS) ownStart() Start { return Random{} }

func (m ANLS) accepts(p *problem, opt *Options) error {
	if err := m.Coupling.check("ANLS.Coupling"); err != nil {
		return err
	}
	return acceptCoupled(m.Name(), m.Coupling, p, opt)
}

func (m ANLS) start(p *problem, h *matrix.Dense, _ int) run {
	s := newCoupled(p, h, m.Coupling, "coupling")
	s.update = s.leastSquares
	if m.published {
		s.only = s.h
	}
	return s
}

var anlsKnobs = []Knob{
	{"coupling", "α, how strongly the two factors are coupled: a number in units of A, or norm (‖A‖₂), max (max A), max2 ((max A)², as published, which depends on the units of A)", "norm",
		weightKnob("coupling", weightNames[:], Weight.check, func(s *ANLS, w Weight) { s.Coupling = w })},
}

// leastSquares sets the factor of x to the minimizer of P.
func (s *coupled) leastSquares(x, y *iterate) {
	r := s.p.r
	z, q := x.ah, append([]float64(nil), y.gram...)
	for j := range r {
		q[j*r+j] += s.alpha
	}
	kernel.Blocks(s.p.n, measureBlock, s.p.workers, func(_, lo, hi int) {
		copy(z.Data()[lo*r:hi*r], y.ah.Data()[lo*r:hi*r])
		kernel.Axpy(z.Data()[lo*r:hi*r], s.alpha, y.h.Data()[lo*r:hi*r])
	})
	s.p.nnls(x.h, z, q)
}
