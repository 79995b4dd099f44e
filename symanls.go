package symnmf

import "symnmf/matrix"

// SymANLS is ANLS under another name: P = ½‖A−WHᵀ‖² + ½λ‖W−H‖² by exact alternating steps, λ > 0.
//
// Source: Zhu, Li, Liu, Li, Dropping symmetry for fast symmetric nonnegative matrix factorization, NeurIPS
// 2018. Their λ = 1 depends on the units of A, so the default here is ‖A‖₂, which gives W = H in the end
// unless λ_min(A) is close to -‖A‖₂. See docs/errata.md.
type SymANLS struct {
	// Lambda is λ; the default is ‖A‖₂.
	Lambda Weight

	published bool // tests: the answer is H, as in the published code
}

// Name implements Solver.
func (SymANLS) Name() string { return "symanls" }

func (SymANLS) ownStart() Start { return Random{} }

func (m SymANLS) accepts(p *problem, opt *Options) error {
	if err := m.Lambda.checkPositive("SymANLS.Lambda"); err != nil {
		return err
	}
	return acceptCoupled(m.Name(), m.Lambda, p, opt)
}

func (m SymANLS) start(p *problem, h *matrix.Dense, _ int) run {
	s := newCoupled(p, h, m.Lambda, "lambda")
	s.update = s.leastSquares
	if m.published {
		s.only = s.h
	}
	return s
}
