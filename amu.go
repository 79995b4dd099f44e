package symnmf

import (
	"math"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// AMU is MU with exponent 1/3 from an extrapolated point, with a restart where that has raised the objective.
// With t counted from the last restart,
//
//	γ = 1 − 3/(5+t),   Y = max((1+γ)·H_t − γ·H_{t−1}, η),   H_{t+1} = Y∘R(Y)^{1/3},   η = 1e-16·√(‖A‖/n)
//
// and Y = H_0 when t = 0. If F(H_{t+1}) > F(H_t), H_{t+1} is made from H_t in place of Y, with t = 0. So the
// objective does not rise for A ≥ 0. η keeps entries alive that Y would have at zero or below, so zeros of
// the start do not stay.
//
// A sweep is one update: two products A·H and 4·n·r² multiply–adds, or three and 6·n·r² with a restart.
// Memory: 6·n·r numbers besides H.
//
// Source: Wang, He, Lu et al., Accelerated symmetric NMF using extrapolation, Symmetry 12:1187, 2020,
// Algorithm 2. There η is 1e-16 in whatever units A has, and a restart leaves H as it is for one iteration.
// See docs/errata.md.
type AMU struct {
	published bool // tests: η and restarts as published
}

// Name implements Solver.
func (AMU) Name() string { return "amu" }

func (AMU) ownStart() Start { return Random{} }

func (s AMU) accepts(p *problem, opt *Options) error {
	return p.unfit(s.Name(), lacksL1|heldByZero, opt)
}

func (s AMU) start(p *problem, h *matrix.Dense, _ int) run {
	at := newSloped(p, h)
	least := 1e-16 * math.Sqrt(p.norm/float64(p.n))
	if s.published {
		least = 1e-16 * math.Sqrt(p.scale)
	}
	return &amuRun{AMU: s, iterate: at, next: at.other(), prev: matrix.NewDense(p.n, p.r, nil), least: least}
}

type amuRun struct {
	AMU
	*iterate
	next  *iterate      // Y, and then the result of its update
	prev  *matrix.Dense // H_{t−1}
	t     int
	least float64 // η
}

func (s *amuRun) sweep(stop func() bool) sweepReport {
	if stop() {
		return sweepReport{cut: true}
	}
	if s.t > 0 {
		s.extrapolate()
		s.p.times(s.next.ah, s.next.h)
		s.p.timesGram(s.next.hd, s.next.h, s.p.gram(s.next.h))
		s.p.multiply(s.next.h, s.next.h, s.next.ah, s.next.hd, math.Cbrt)
		s.next.look()
		if s.next.at.objective() <= s.at.objective() {
			return s.accept()
		}
		s.t = 0
		if s.published {
			return sweepReport{stepSq: s.at.gradKKT, changed: 1}
		}
		if stop() {
			return sweepReport{cut: true}
		}
	}
	s.p.multiply(s.next.h, s.h, s.ah, s.hd, math.Cbrt)
	s.next.look()
	return s.accept()
}

// accept moves to the H of next.
func (s *amuRun) accept() sweepReport {
	s.t++
	copy(s.prev.Data(), s.h.Data())
	return s.take(s.next)
}

// extrapolate computes Y in next.
func (s *amuRun) extrapolate() {
	const size = 1 << 13
	gamma := 1 - 3/float64(5+s.t)
	y, h, prev := s.next.h.Data(), s.h.Data(), s.prev.Data()
	kernel.Blocks(len(y), size, s.p.workers, func(_, lo, hi int) {
		for k := lo; k < hi; k++ {
			y[k] = max((1+gamma)*h[k]-gamma*prev[k], s.least)
		}
	})
}
