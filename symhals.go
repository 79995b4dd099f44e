package symnmf

import (
	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// SymHALS is coordinate descent on two coupled factors, P = ½‖A − WHᵀ‖² + ½λ‖W − H‖²: for k = 1..r
//
//	w_k = [(A·h_k − W·(HᵀH)_:,k + ‖h_k‖²·w_k + λ·h_k) / (‖h_k‖² + λ)]₊
//
// with the current W, and then the same for H. P never rises; ‖A−HHᵀ‖ may. The answer is the factor with the
// smaller error. A column that is zero in both factors stays zero, and so does a zero start.
//
// A sweep takes two products with A and O(n·r²). Memory: 4·n·r numbers besides H.
//
// Source: Zhu, Li, Liu, Li, Dropping symmetry for fast symmetric nonnegative matrix factorization, NeurIPS
// 2018. Their λ = 1 depends on the units of A, so the default here is ‖A‖₂, which gives W = H in the end
// unless λ_min(A) is close to -‖A‖₂, at the price of smaller steps. A column that becomes zero is left zero:
// λ keeps the quotient finite. See docs/errata.md.
type SymHALS struct {
	// Lambda is λ; the default is ‖A‖₂.
	Lambda Weight

	published bool // tests: the answer is H, as in the published code
}

// Name implements Solver.
func (SymHALS) Name() string { return "symhals" }

func (SymHALS) ownStart() Start { return Random{} }

func (m SymHALS) accepts(p *problem, opt *Options) error {
	if err := m.Lambda.checkPositive("SymHALS.Lambda"); err != nil {
		return err
	}
	return acceptCoupled(m.Name(), m.Lambda, p, opt)
}

func (m SymHALS) start(p *problem, h *matrix.Dense, _ int) run {
	s := newCoupled(p, h, m.Lambda, "lambda")
	s.update = s.hals
	if m.published {
		s.only = s.h
	}
	return s
}

// lambdaKnob sets λ of a method.
func lambdaKnob[S any](set func(s *S, w Weight)) []Knob {
	return []Knob{{"lambda", "λ, how strongly the two factors are coupled: a number above 0 in units of A, or norm (‖A‖₂); 1 as published", "norm",
		weightKnob("lambda", weightNames[:1], Weight.checkPositive, set)}}
}

// halsRows is the number of rows that pass through their entries together.
const halsRows = 64

// hals updates the columns of the factor of x one after another, for some rows at a time, since rows do not
// interact.
func (s *coupled) hals(x, y *iterate) {
	r := s.p.r
	scratch := func() []float64 { return make([]float64, (2*r+1)*halsRows) }
	kernel.BlocksWith(s.p.n, halsRows, s.p.workers, scratch, func(t []float64, _, lo, hi int) {
		halsBlock(x.h.Data()[lo*r:hi*r], y.ah.Data()[lo*r:hi*r], y.h.Data()[lo*r:hi*r], y.gram, s.alpha, r, t)
	})
}

// halsBlock moves each row x ≥ 0 (m×r) once through its entries, each to its minimizer of
// ½⟨x,(D+αI)x⟩ − ⟨a+α·h,x⟩, with a and h of the same row. Entries with D_kk + α = 0 do not count and stay as
// they are. scratch holds m·(2r+1) numbers.
func halsBlock(x, a, h, d []float64, alpha float64, r int, scratch []float64) {
	m := len(x) / r
	turned, lin, dx := scratch[:r*m], scratch[r*m:2*r*m], scratch[2*r*m:(2*r+1)*m] // X and a + α·h by columns; X·D_:,k
	for i := range m {
		for k, v := range x[i*r : (i+1)*r] {
			turned[k*m+i], lin[k*m+i] = v, a[i*r+k]+alpha*h[i*r+k]
		}
	}
	for k := range r {
		dk := d[k*r : (k+1)*r]
		q := dk[k] + alpha
		if !(q > 0) {
			continue
		}
		clear(dx)
		kernel.RowTimes(dx, dk, turned)
		xk, link := turned[k*m:(k+1)*m], lin[k*m:(k+1)*m]
		for i, v := range dx {
			xk[i] = max(0, (link[i]-v+dk[k]*xk[i])/q)
		}
	}
	for i := range m {
		for k := range r {
			x[i*r+k] = turned[k*m+i]
		}
	}
}
