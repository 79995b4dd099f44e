package symnmf

import (
	"fmt"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// PGNCG is a projected Gauss–Newton method. Z is the least-squares step for the residual A − HHᵀ; its normal
// equations
//
//	Z·D + H·(ZᵀH) = G,   D = HᵀH,  G = H·D − A·H
//
// are solved roughly by CG steps of conjugate gradients. They are singular, for H·skew changes nothing, but G
// is in their range. Then H ← [H − t·Z]₊ with the first t = 1, ½, ¼, … for which the objective falls by at
// least 1e-4·⟨G, H − [H−tZ]₊⟩ and by at least 0.01·‖A‖·‖H − [H−G/‖A‖]₊‖².
//
// If none of the first few t does, the equations are solved for only those entries that a step down the
// gradient leaves above zero. If that fails, too, the gradient takes the place of Z. So the method is
// monotone, and where it comes to rest is stationary. The published iteration (t = 1, always Z) is neither:
// its first step from a random start may raise the error above 1, and [H−Z]₊ = H does not make H stationary.
//
// A sweep costs a product A·H for each t tried, mostly one, and (3·CG+4)·n·r². Memory: 7·n·r numbers besides
// H. A column of zeros stays zero, and so does a zero start.
//
// Source: PLANC, "gnsym"; Hayashi, Aksoy, Ballard, Park, Randomized algorithms for symmetric nonnegative
// matrix factorization, SIAM J. Matrix Anal. Appl. 46, 2025. The choices of t and of entries are ours, see
// docs/errata.md; that of entries follows Bertsekas, Projected Newton methods for optimization problems with
// simple constraints, SIAM J. Control Optim. 20, 1982.
type PGNCG struct {
	// CG is the number of conjugate gradient steps a sweep; the default 0 means 5.
	CG int

	published bool // tests: t = 1 always
}

const (
	defaultCG    = 5
	cgEnd        = 1e-30 // of ‖G‖²: the rest is rounding
	armijo       = 1e-4
	enough       = 1e-2 // times ‖A‖·‖H − [H−G/‖A‖]₊‖², of which a step down the gradient gains a good part
	fewHalvings  = 10
	mostHalvings = 60
)

var pgncgKnobs = []Knob{
	{"cg", "conjugate gradient steps a sweep", "5", wholeKnob("cg", 1, 1<<30, func(s *PGNCG, k int) { s.CG = k })},
}

// Name implements Solver.
func (PGNCG) Name() string { return "pgncg" }

func (PGNCG) ownStart() Start { return Random{} }

func (s PGNCG) accepts(p *problem, opt *Options) error {
	if s.CG < 0 {
		return fmt.Errorf("%w: PGNCG.CG = %d", ErrOption, s.CG)
	}
	return p.unfit(s.Name(), needsDiagonal|lacksL1|heldByZero, opt)
}

func (s PGNCG) start(p *problem, h *matrix.Dense, _ int) run {
	setDefault(&s.CG, defaultCG)
	like := func() *matrix.Dense { return matrix.NewDense(p.n, p.r, nil) }
	e := &pgncgRun{PGNCG: s, iterate: newIterate(p, h), grad: like(), z: like(), rest: like(), way: like(), y: like(), next: like()}
	e.slope()
	return e
}

type pgncgRun struct {
	PGNCG
	*iterate               // whose figures are those of the start
	grad     *matrix.Dense // G
	z        *matrix.Dense
	rest     *matrix.Dense // G − Z·D − H·(ZᵀH); between solves A·next
	way      *matrix.Dense // the direction of the conjugate gradients; between solves next − H
	y        *matrix.Dense
	next     *matrix.Dense
	stepSq   float64 // ‖H − [H − G/‖A‖]₊‖²
}

func (s *pgncgRun) sweep(stop func() bool) (rep sweepReport) {
	for _, way := range []struct {
		step    *matrix.Dense
		held    bool
		enough  float64
		halving int
	}{{s.z, false, enough, fewHalvings}, {s.z, true, enough, fewHalvings}, {s.grad, false, 0, mostHalvings}} {
		if way.step == s.z {
			s.solve(way.held, stop)
		}
		var ok bool
		if rep, ok = s.search(way.step, way.enough*s.p.norm*s.stepSq, way.halving, stop); ok || rep.cut {
			break
		}
	}
	return rep
}

// search moves from H to [H − t·step]₊ for the first t = 1, ½, … that lowers the objective by at least least
// and satisfies Armijo's condition. It returns false when there is none.
func (s *pgncgRun) search(step *matrix.Dense, least float64, halvings int, stop func() bool) (rep sweepReport, ok bool) {
	rep.stepSq = s.stepSq
	t := 1.0
	for range halvings + 1 {
		if stop() {
			rep.cut = true
			return rep, false
		}
		change, along := s.try(step, t)
		if s.published || change < -least && change <= armijo*along {
			s.take()
			return sweepReport{decrease: -change, changed: 1, stepSq: s.stepSq}, true
		}
		t /= 2
	}
	return rep, false
}

// slope computes G and stepSq.
func (s *pgncgRun) slope() {
	r := s.p.r
	g, h, ah := s.grad.Data(), s.h.Data(), s.ah.Data()
	s.stepSq = s.p.sum(func(lo, hi int) (sum float64) {
		part := g[lo*r : hi*r]
		clear(part)
		kernel.RowsTimes(part, h[lo*r:hi*r], r, s.gram, r)
		kernel.Axpy(part, -1, ah[lo*r:hi*r])
		for k, v := range part {
			sum += stepSq(h[lo*r+k], v, s.p.norm)
		}
		return sum
	})
}

// solve sets z to what CG steps of conjugate gradients, from 0, reach for Z·D + H·(ZᵀH) = G. When held, it
// solves these equations only for the entries that [H − G/‖A‖]₊ leaves above zero, with Z = G/‖A‖ for the
// others. It stops early when the run has to end.
func (s *pgncgRun) solve(held bool, stop func() bool) {
	r := s.p.r
	z, rest, way, y, h, grad := s.z.Data(), s.rest.Data(), s.way.Data(), s.y.Data(), s.h.Data(), s.grad.Data()
	mask := func(x []float64, lo, hi int) {
		for k := lo * r; held && k < hi*r; k++ {
			if h[k] <= grad[k]/s.p.norm {
				x[k] = 0
			}
		}
	}
	left := s.p.sum(func(lo, hi int) float64 {
		clear(z[lo*r : hi*r])
		copy(rest[lo*r:hi*r], grad[lo*r:hi*r])
		mask(rest, lo, hi)
		copy(way[lo*r:hi*r], rest[lo*r:hi*r])
		return kernel.SumSq(rest[lo*r : hi*r])
	})
	end := cgEnd * left
	for range s.CG {
		if stop() {
			return
		}
		wh := s.p.cross(s.way, s.h)
		curve := s.p.sum(func(lo, hi int) float64 {
			part := y[lo*r : hi*r]
			clear(part)
			kernel.RowsTimes(part, way[lo*r:hi*r], r, s.gram, r)
			kernel.RowsTimes(part, h[lo*r:hi*r], r, wh, r)
			mask(y, lo, hi)
			return kernel.Dot(way[lo*r:hi*r], part)
		})
		if !(curve > 0) {
			break
		}
		t, before := left/curve, left
		left = s.p.sum(func(lo, hi int) float64 {
			kernel.Axpy(z[lo*r:hi*r], t, way[lo*r:hi*r])
			kernel.Axpy(rest[lo*r:hi*r], -t, y[lo*r:hi*r])
			return kernel.SumSq(rest[lo*r : hi*r])
		})
		if !(left > end) {
			break
		}
		s.p.sum(func(lo, hi int) float64 {
			for k := lo * r; k < hi*r; k++ {
				way[k] = rest[k] + left/before*way[k]
			}
			return 0
		})
	}
	for k, v := range grad {
		if held && h[k] <= v/s.p.norm {
			z[k] = v / s.p.norm
		}
	}
}

// try computes next = [H − t·step]₊ and A·next, and returns the change of the objective and ⟨G, next − H⟩.
// With δ = next − H, C = Hᵀδ and E = δᵀδ the change is exactly the following, without a difference of
// objectives:
//
//	⟨G,δ⟩ + ½(‖C‖² − ⟨Aδ,δ⟩) + ½⟨D,E⟩ + ½⟨C,Cᵀ⟩ + ⟨C,E⟩ + ¼‖E‖²
func (s *pgncgRun) try(step *matrix.Dense, t float64) (change, along float64) {
	r := s.p.r
	h, next, delta, ah, anext, grad := s.h.Data(), s.next.Data(), s.way.Data(), s.ah.Data(), s.rest.Data(), s.grad.Data()
	along = s.p.sum(func(lo, hi int) float64 {
		for k := lo * r; k < hi*r; k++ {
			next[k] = max(0, h[k]-t*step.Data()[k])
			delta[k] = next[k] - h[k]
		}
		return kernel.Dot(grad[lo*r:hi*r], delta[lo*r:hi*r])
	})
	s.p.times(s.rest, s.next)
	moved := s.p.sum(func(lo, hi int) (sum float64) {
		for k := lo * r; k < hi*r; k++ {
			sum += (anext[k] - ah[k]) * delta[k]
		}
		return sum
	})
	c, e := s.p.cross(s.h, s.way), s.p.gram(s.way)
	change = along - moved/2
	for j := range r {
		for k := range r {
			cjk, ejk := c[j*r+k], e[j*r+k]
			change += (cjk*cjk+s.gram[j*r+k]*ejk+cjk*c[k*r+j])/2 + cjk*ejk + ejk*ejk/4
		}
	}
	return change, along
}

// take moves to next.
func (s *pgncgRun) take() {
	copy(s.h.Data(), s.next.Data())
	s.ah, s.rest = s.rest, s.ah
	s.gram = s.p.gram(s.h)
	s.slope()
}
