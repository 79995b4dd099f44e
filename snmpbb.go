package symnmf

import (
	"math"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// SNMPBB works on two coupled factors, P = ½‖A − WHᵀ‖² + ½μ‖W − H‖², by nonmonotone projected gradients with
// Barzilai–Borwein steps. In W, and then in H, it minimizes f(X) = ½⟨X,XQ⟩ − ⟨X,C⟩ over X ≥ 0, with
// Q = HᵀH + μI and C = AH + μH, until the projected gradient is at most τ. τ is 10⁻³ of the gradient of the
// start, and is divided by ten each time nothing was left to do, down to the rounding of ∇ = XQ − C. A step is
//
//	X ← [X − ∇/L]₊, L = ‖Q‖₂;   S ← f + η(S − f), at first f
//	D = [X − t∇]₊ − X;   X ← X + sD with the first s = 1, ¼, … of f(X + sD) ≤ S + 10⁻⁴·s⟨D,∇⟩;   t = ⟨D,D⟩/⟨D,DQ⟩
//
// η is ¾, then ⅜, then the mean of the last two. A step may raise f, but not above its value after the first
// half-step of the turn, so P never rises from turn to turn; ‖A−HHᵀ‖ may. The answer is the factor with the
// smaller error. A column that is zero in both factors stays zero, and so does a zero start.
//
// A sweep takes two products with A, and some tens of steps of O(n·r²). Memory: 6·n·r numbers besides H.
//
// Source: Swart, Brust, Nonmonotone gradient-based algorithm for symmetric nonnegative matrix factorization,
// arXiv 2606.02887, 2026, with three changes. The over-relaxation, which makes X negative, is left out. μ is
// ‖A‖₂ in place of one that depends on n and r alone and is infinite for r = 1. The first t is 1/L in place
// of 1. See docs/errata.md.
type SNMPBB struct {
	// Mu is μ; the default is ‖A‖₂.
	Mu Weight

	published bool // tests: the answer is W, and the first t is 1 in units of 1/A, as in the published code
}

// Name implements Solver.
func (SNMPBB) Name() string { return "snmpbb" }

func (SNMPBB) ownStart() Start { return Random{} }

func (m SNMPBB) accepts(p *problem, opt *Options) error {
	if err := m.Mu.checkPositive("SNMPBB.Mu"); err != nil {
		return err
	}
	return acceptCoupled(m.Name(), m.Mu, p, opt)
}

var snmpbbKnobs = []Knob{
	{"mu", "μ, how strongly the two factors are coupled: a number above 0 in units of A, or norm (‖A‖₂)", "norm",
		weightKnob("mu", weightNames[:1], Weight.checkPositive, func(s *SNMPBB, w Weight) { s.Mu = w })},
}

func (m SNMPBB) start(p *problem, h *matrix.Dense, _ int) run {
	c := newCoupled(p, h, m.Mu, "mu")
	s := &spectralSteps{coupled: c, d: matrix.NewDense(p.n, p.r, nil), dq: matrix.NewDense(p.n, p.r, nil)}
	if m.published {
		s.first = 1 / p.scale
		c.only = c.w
	}
	// The gradient in W and in H is that of the start: (HHᵀ − A)H.
	sums := make([]float64, kernel.BlockCount(p.n, measureBlock))
	kernel.Blocks(p.n, measureBlock, p.workers, func(b, lo, hi int) {
		g := s.d.Data()[lo*p.r : hi*p.r]
		kernel.RowsTimes(g, c.h.h.Data()[lo*p.r:hi*p.r], p.r, c.h.gram, p.r)
		kernel.Axpy(g, -1, c.h.ah.Data()[lo*p.r:hi*p.r])
		sums[b] = kernel.SumSq(g)
	})
	tol := spectralTol * math.Sqrt(2*sum(sums))
	s.tol = map[*iterate]float64{c.w: tol, c.h: tol}
	c.update = s.minimize
	return c
}

const (
	spectralTol   = 1e-3
	spectralMost  = 1000 // steps in one factor
	spectralEta   = 0.75
	spectralSlope = 1e-4
	spectralLeast = 1e-5 // s
	// spectralRounding is the part of ‖C‖ that rounding leaves of a gradient of 0, about: steps cannot make that smaller.
	spectralRounding = 1e-15
)

// spectralSteps is what SNMPBB has besides the factors.
type spectralSteps struct {
	*coupled
	first float64 // t of the first step; 0 for 1/L
	tol   map[*iterate]float64
	d, dq *matrix.Dense // D and D·Q, n×r
}

// minimize continues from the factor of x until the projected gradient of f is small.
func (s *spectralSteps) minimize(x, y *iterate) {
	r := s.p.r
	q := append([]float64(nil), y.gram...)
	for j := range r {
		q[j*r+j] += s.alpha
	}
	l := largestEigenvalue(y.gram, r) + s.alpha
	t := s.first
	if t == 0 {
		t = 1 / l
	}
	grad := x.ah
	f := 0.0 // relative to that of the start
	pgSq, cSq := s.begin(x, y, q, grad)
	tol := max(s.tol[x], spectralRounding*math.Sqrt(cSq))
	eta, before := spectralEta, 0.0
	var reference float64
	k := 0
	for ; k < spectralMost && pgSq > tol*tol; k++ {
		if k%16 == 15 && s.p.stop != nil && s.p.stop() {
			break
		}
		slope, curve, _ := s.direction(x.h, grad, q, 1/l)
		f += slope + curve/2
		s.step(x.h, grad, 1)
		if reference = f + eta*(reference-f); k == 0 {
			reference = f
		}
		var dSq float64
		slope, curve, dSq = s.direction(x.h, grad, q, t)
		a := spectralStep(reference-f, slope, curve)
		f += a*slope + a*a*curve/2
		pgSq = s.step(x.h, grad, a)
		if curve > 0 {
			t = dSq / curve
		}
		if before == 0 {
			eta, before = eta/2, eta
		} else {
			eta, before = (eta+before)/2, eta
		}
	}
	if k == 0 && tol == s.tol[x] {
		s.tol[x] /= 10
		s.again = s.again || pgSq > 0
	}
}

// spectralStep returns the first s = 1, ¼, … with s·slope + s²·curve/2 ≤ rise + 10⁻⁴·s·slope, where
// slope ≤ 0, curve ≥ 0 and rise ≥ 0. If there is none down to 10⁻⁵, it returns the minimizer of the left
// side, at most 1.
func spectralStep(rise, slope, curve float64) float64 {
	for s := 1.0; s >= spectralLeast; s /= 4 {
		if s*slope+s*s*curve/2 <= rise+spectralSlope*s*slope {
			return s
		}
	}
	return min(1, -slope/curve)
}

// begin computes ∇ = XQ − C and returns the squares of the projected gradient and of C.
func (s *spectralSteps) begin(x, y *iterate, q []float64, grad *matrix.Dense) (pgSq, cSq float64) {
	r := s.p.r
	blocks := kernel.BlockCount(s.p.n, measureBlock)
	sums, sizes := make([]float64, blocks), make([]float64, blocks)
	kernel.Blocks(s.p.n, measureBlock, s.p.workers, func(b, lo, hi int) {
		g, xs := grad.Data()[lo*r:hi*r], x.h.Data()[lo*r:hi*r]
		clear(g)
		kernel.RowsTimes(g, xs, r, q, r)
		ah, h := y.ah.Data()[lo*r:hi*r], y.h.Data()[lo*r:hi*r]
		kernel.Axpy(g, -1, ah)
		kernel.Axpy(g, -s.alpha, h)
		sums[b] = projectedSq(xs, g)
		sizes[b] = kernel.SumSq(ah) + s.alpha*s.alpha*kernel.SumSq(h) // both are ≥ 0, so ‖C‖² is at least that
	})
	return sum(sums), sum(sizes)
}

// direction sets D = [X − t∇]₊ − X and DQ, and returns ⟨D,∇⟩, ⟨D,DQ⟩ and ⟨D,D⟩.
func (s *spectralSteps) direction(x, grad *matrix.Dense, q []float64, t float64) (slope, curve, dSq float64) {
	r := s.p.r
	sums := make([][3]float64, kernel.BlockCount(s.p.n, measureBlock))
	kernel.Blocks(s.p.n, measureBlock, s.p.workers, func(b, lo, hi int) {
		d, dq, g := s.d.Data()[lo*r:hi*r], s.dq.Data()[lo*r:hi*r], grad.Data()[lo*r:hi*r]
		for k, v := range x.Data()[lo*r : hi*r] {
			d[k] = max(0, v-t*g[k]) - v
		}
		clear(dq)
		kernel.RowsTimes(dq, d, r, q, r)
		sums[b] = [3]float64{kernel.Dot(d, g), kernel.Dot(d, dq), kernel.SumSq(d)}
	})
	for _, v := range sums {
		slope, curve, dSq = slope+v[0], curve+v[1], dSq+v[2]
	}
	return slope, curve, dSq
}

// step adds a·D to X and a·DQ to ∇, and returns the square of the projected gradient there.
func (s *spectralSteps) step(x, grad *matrix.Dense, a float64) float64 {
	r := s.p.r
	sums := make([]float64, kernel.BlockCount(s.p.n, measureBlock))
	kernel.Blocks(s.p.n, measureBlock, s.p.workers, func(b, lo, hi int) {
		xs, g := x.Data()[lo*r:hi*r], grad.Data()[lo*r:hi*r]
		for k, v := range s.d.Data()[lo*r : hi*r] {
			xs[k] = max(0, xs[k]+a*v)
		}
		kernel.Axpy(g, a, s.dq.Data()[lo*r:hi*r])
		sums[b] = projectedSq(xs, g)
	})
	return sum(sums)
}

// projectedSq returns Σg² over the g < 0 and the g with x > 0, for x ≥ 0. Which these are is unpredictable,
// so there is no branch.
func projectedSq(x, g []float64) (s float64) {
	const huge = 0x1p1000 // huge² times the least x > 0 is 2⁹²⁶; the square of a larger g would be infinite
	for k, v := range g {
		v = min(v, x[k]*huge*huge)
		s += v * v
	}
	return s
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}
