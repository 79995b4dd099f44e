package symnmf

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// Methods that drop the symmetry look for two factors, both n×r and ≥ 0,
//
//	min P = ½‖A − WHᵀ‖² + ½α‖W − H‖²
//
// from W = H = H₀, one factor after the other. P falls; ‖A−HHᵀ‖ need not. A stationary point with W = H is
// also one of ¼‖A−HHᵀ‖², and where ‖W‖₂·‖H‖₂ < 2α + λ_min(A) it has W = H.
//
// The answer is the factor with the smaller error, ‖A−WWᵀ‖ or ‖A−HHᵀ‖, and every figure reported is that
// factor's. This takes no product besides the A·W and A·H that the methods work with.
//
// Source of the condition: Zhu, Li, Liu, Li, Dropping symmetry for fast symmetric nonnegative matrix
// factorization, NeurIPS 2018, with ‖WHᵀ‖₂ in place of its bound.

// Weight is α, how strongly the two factors are coupled, in units of A. The zero Weight is ‖A‖₂.
type Weight struct {
	Rule  WeightRule
	Value float64 // for WeightValue
}

// WeightRule says how a weight is determined.
type WeightRule int

// With the first two, 4·A gives 2·H. (max A)² has the units of A², and so freezes W and H where entries are
// large: on a text of counts the relative error is 0.73 after 50 sweeps, in place of 0.33. For points max A
// is max A_ii, since the largest entry is on the diagonal.
const (
	WeightNorm WeightRule = iota // ‖A‖₂
	WeightMax
	WeightMaxSquared
	WeightValue
)

var weightNames = [...]string{"norm", "max", "max2"}

// weightKnob sets a weight to one of the named rules, or to a number.
func weightKnob[S any](name string, rules []string, check func(w Weight, name string) error, set func(s *S, w Weight)) func(Solver, string) (Solver, error) {
	return func(s Solver, v string) (Solver, error) {
		w := Weight{Rule: WeightRule(slices.Index(rules, v))}
		if w.Rule < 0 {
			x, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return nil, fmt.Errorf("%w: %s=%s, want a number or one of %s", ErrOption, name, v, strings.Join(rules, ", "))
			}
			w = Weight{WeightValue, x}
		}
		if err := check(w, name); err != nil {
			return nil, err
		}
		method := any(s).(S)
		set(&method, w)
		return any(method).(Solver), nil
	}
}

// check returns an error if w is not a valid weight.
func (w Weight) check(name string) error {
	if w.Rule != WeightValue && w.Value != 0 {
		return fmt.Errorf("%w: %s = %+v: a Value counts only with WeightValue", ErrOption, name, w)
	}
	if w.Rule < WeightNorm || w.Rule > WeightValue || w.Rule == WeightValue && (!(w.Value >= 0) || math.IsInf(w.Value, 0)) {
		return fmt.Errorf("%w: %s = %+v, want a rule or a finite value ≥ 0", ErrOption, name, w)
	}
	return nil
}

// checkPositive returns an error if w is not a valid weight, or is 0.
func (w Weight) checkPositive(name string) error {
	if w == (Weight{WeightValue, 0}) {
		return fmt.Errorf("%w: %s = 0, want a weight above 0", ErrOption, name)
	}
	return w.check(name)
}

// weight returns α in scaled units. Beyond 2⁶⁰⁰ times ‖A‖ no bit of the factors would change.
func (p *problem) weight(w Weight) float64 {
	switch w.Rule {
	case WeightMax:
		return p.largest()
	case WeightMaxSquared:
		a := p.largest()
		return min(a*a/p.scale, 0x1p600)
	case WeightValue:
		return min(w.Value*p.scale, 0x1p600)
	}
	return p.norm2()
}

// norm2 returns ‖A‖₂. For a matrix without negative entries that is the largest eigenvalue, by Perron and
// Frobenius; for a low rank with signs it is the Ritz value of largest magnitude. It does not depend on the
// seed. If the run has to end meanwhile, norm2 returns ‖A‖, which is then not used.
func (p *problem) norm2() float64 {
	p.common.mu.Lock()
	defer p.common.mu.Unlock()
	if p.common.spectral == 0 {
		a, _ := matrix.Folded(p.a, p.workers)
		e, err := matrix.Eigen(p.context(), a, 1, p.roughly())
		if err != nil { // or products are not finite, which the error of the answer will say
			return p.norm
		}
		p.common.spectral = e.Norm2
	}
	return p.common.spectral
}

// roughly asks for an eigenvalue to 1e-8 of ‖A‖₂, the square of the residual. Where eigenvalues crowd, as on
// a ring of 40,000 items, it is to 1e-4, after 0.6 s there. Up to n = 144 it is exact but for rounding.
func (p *problem) roughly() matrix.EigenOptions {
	return matrix.EigenOptions{Tol: 1e-4, MaxProducts: 400, Workers: p.common.workers}
}

// largest returns max A. Where p has a low rank in place of A, it is that of the A replaced. For inner
// products it is max A_ii, since the largest entry is on the diagonal.
func (p *problem) largest() float64 {
	if p.of != nil {
		return p.of.largest()
	}
	visitor, listed := p.a.(matrix.RowVisitor)
	if !listed {
		return slices.Max(p.diag)
	}
	part := make([]float64, kernel.BlockCount(p.n, measureBlock))
	kernel.Blocks(p.n, measureBlock, p.workers, func(b, lo, hi int) {
		var most float64
		for i := lo; i < hi; i++ {
			visitor.VisitRow(i, func(_ int, v float64) { most = max(most, v) })
		}
		part[b] = most
	})
	return slices.Max(part)
}

// acceptCoupled returns an error if a method with two factors cannot take the problem.
func acceptCoupled(name string, w Weight, p *problem, opt *Options) error {
	if (w.Rule == WeightMax || w.Rule == WeightMaxSquared) && p.norm > 0 && p.largest() <= 0 {
		return fmt.Errorf("%w: the largest entry of inner products without their diagonal, or of a low rank, is not known; give %s a weight as a number", ErrUnfit, name)
	}
	return p.unfit(name, needsDiagonal|lacksL1|heldByZero, opt)
}

// coupled is a run with two factors.
type coupled struct {
	p     *problem
	out   *matrix.Dense // what the driver sees
	w, h  *iterate
	alpha float64
	knob  string // the name of the option that sets alpha
	// update lowers P over the factor of x, from what is known of the other, y. It may overwrite x.ah, which
	// is computed again afterwards.
	update func(x, y *iterate)
	again  bool     // update changed nothing, but would another time
	cut    bool     // update changed nothing, since the run has to end
	blind  bool     // of what is known of y, update uses y.h only
	only   *iterate // tests: the factor to return, whichever is better
}

func newCoupled(p *problem, h *matrix.Dense, w Weight, knob string) *coupled {
	s := &coupled{p: p, out: h, w: newIterate(p, h.Clone()), alpha: p.weight(w), knob: knob}
	second := *s.w
	second.h, second.ah = s.w.h.Clone(), s.w.ah.Clone()
	s.h = &second
	return s
}

// better returns the factor with the smaller error.
func (s *coupled) better() *iterate {
	switch {
	case s.only != nil:
		return s.only
	case s.w.at.errSq < s.h.at.errSq:
		return s.w
	}
	return s.h
}

// sweep changes W, then H.
func (s *coupled) sweep(stop func() bool) (rep sweepReport) {
	before := s.better().at.objective()
	for _, f := range [...]struct{ x, y *iterate }{{s.w, s.h}, {s.h, s.w}} {
		if stop() {
			rep.cut = true
			break
		}
		if s.update(f.x, f.y); s.cut {
			s.cut, rep.cut = false, true
			break
		}
		look := func() { rep.changed |= f.x.look().changed }
		if s.blind {
			s.p.aside(look)
		} else {
			look()
		}
	}
	if s.alpha == 0 && !rep.cut {
		s.balance()
	}
	if s.again {
		rep.changed, s.again = 1, false
	}
	now := &s.better().at
	rep.decrease, rep.stepSq = before-now.objective(), now.gradKKT
	return rep
}

// balance gives the columns of W and H equal norms. This changes no entry of WHᵀ and, where α = 0, not P.
func (s *coupled) balance() {
	r := s.p.r
	c := make([]float64, r)
	for j := range r {
		c[j] = 1
		if wj, hj := s.w.gram[j*r+j], s.h.gram[j*r+j]; wj > 0 && hj > 0 {
			c[j] = math.Sqrt(math.Sqrt(hj) / math.Sqrt(wj))
		}
	}
	kernel.Blocks(s.p.n, measureBlock, s.p.workers, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			wi, hi := s.w.h.Row(i), s.h.h.Row(i)
			for j, v := range c {
				wi[j] *= v
				hi[j] /= v
			}
		}
	})
	s.w.look()
	s.h.look()
}

// publish implements keeper.
func (s *coupled) publish() *matrix.Dense {
	copy(s.out.Data(), s.better().h.Data())
	return s.out
}

// end implements keeper. With a low rank in place of A, the answer is the factor that is better for A.
func (s *coupled) end() *matrix.Dense {
	x := s.better()
	if of := s.p.of; of != nil && s.only == nil {
		x = s.h
		if w, h := of.measure(s.w.h), of.measure(s.h.h); w.errSq < h.errSq {
			x = s.w
		}
	}
	copy(s.out.Data(), x.h.Data())
	return s.out
}

// verify implements checker.
func (s *coupled) verify() error {
	if err := s.w.verify(); err != nil {
		return fmt.Errorf("of W: %w", err)
	}
	return s.h.verify()
}

// penalized returns P, ½(‖A‖² − 2⟨AH,W⟩ + ⟨WᵀW,HᵀH⟩ + α‖W−H‖²), and ‖W−H‖².
func (s *coupled) penalized() (objective, gapSq float64) {
	ahs := make([]float64, kernel.BlockCount(s.p.n, measureBlock))
	gaps := make([]float64, len(ahs))
	kernel.Blocks(s.p.n, measureBlock, s.p.workers, func(b, lo, hi int) {
		var inner, gap float64
		for i := lo; i < hi; i++ {
			wi, hi := s.w.h.Row(i), s.h.h.Row(i)
			inner += kernel.Dot(s.h.ah.Row(i), wi)
			for j, v := range wi {
				gap += (v - hi[j]) * (v - hi[j])
			}
		}
		ahs[b], gaps[b] = inner, gap
	})
	objective = s.p.norm * s.p.norm
	for b := range ahs {
		objective -= 2 * ahs[b]
		gapSq += gaps[b]
	}
	return (objective + kernel.Dot(s.w.gram, s.h.gram) + s.alpha*gapSq) / 2, gapSq
}

// tell implements teller.
func (s *coupled) tell(ctx context.Context, status Status) []string {
	_, gapSq := s.penalized()
	hSq := 0.0
	for j := range s.p.r {
		hSq += s.h.gram[j*s.p.r+j]
	}
	if hSq == 0 {
		return nil
	}
	name := "the second"
	if s.better() == s.w {
		name = "the first"
	}
	note := fmt.Sprintf("the two factors differ by %.2g of the second, and the answer is %s", math.Sqrt(gapSq/hSq), name)
	if s.alpha == 0 || status == TimeLimit || status == Interrupted {
		return []string{note}
	}
	least, err := s.p.leastEigenvalue(ctx)
	if err != nil {
		return []string{note}
	}
	norms, bound := math.Sqrt(largestEigenvalue(s.w.gram, s.p.r)*largestEigenvalue(s.h.gram, s.p.r)), 2*s.alpha+least
	if norms < bound {
		note += fmt.Sprintf("; with this %s they are equal where P is stationary: ‖W‖₂‖H‖₂ = %.4g < 2·%[1]s + λ_min(A) = %.4[3]g",
			s.knob, norms/s.p.scale, bound/s.p.scale)
	} else {
		note += fmt.Sprintf("; with this %s it is not certain that they become equal: ‖W‖₂‖H‖₂ = %.4g ≥ 2·%[1]s + λ_min(A) = %.4[3]g",
			s.knob, norms/s.p.scale, bound/s.p.scale)
	}
	return []string{note}
}

// leastEigenvalue returns a lower bound on λ_min(A).
func (p *problem) leastEigenvalue(ctx context.Context) (float64, error) {
	p.common.mu.Lock()
	defer p.common.mu.Unlock()
	if p.common.least != nil {
		return *p.common.least, nil
	}
	e, err := matrix.Eigen(ctx, negated{p.a}, 1, p.roughly())
	if err != nil {
		return 0, err
	}
	least := -e.Values[0] - e.Residuals[0]
	p.common.least = &least
	return least, nil
}

// negated is −A, with as much of an operator as Eigen uses.
type negated struct{ matrix.Operator }

// Scaled implements matrix.Operator.
func (m negated) Scaled(c float64) matrix.Operator { return negated{m.Operator.Scaled(c)} }

// NewProduct implements matrix.Operator.
func (m negated) NewProduct(h *matrix.Dense, workers int) matrix.Product {
	return negatedProduct{m.Operator.NewProduct(h, workers)}
}

type negatedProduct struct{ matrix.Product }

// RowsTo implements matrix.Product.
func (m negatedProduct) RowsTo(dst []float64, lo, hi int) {
	m.Product.RowsTo(dst, lo, hi)
	for k, v := range dst {
		dst[k] = -v
	}
}
