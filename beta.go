package symnmf

import (
	"fmt"
	"math"
	"strconv"

	"symnmf/matrix"
)

// BetaSNMF is MU with a damped ratio in place of a power of it:
//
//	H_ik ← H_ik·(1 − β + β·R_ik),   R = (A·H) ⊘ (H·(HᵀH))
//
// Where that would raise the objective the update is H_ik·R_ik^{1/3} from the same R, so the objective does
// not rise. A zero entry stays zero forever.
//
// A sweep is one update: a product A·H and 2·n·r² multiply–adds, or twice that where the first form fails,
// which happens far from a solution. Memory: 5·n·r numbers besides H.
//
// Source: He, Xie, Zdunek, Zhou, Cichocki, Symmetric nonnegative matrix factorization, IEEE TNN 22, 2011,
// Algorithm 4, with R = 0 where both of its parts are. See docs/errata.md.
type BetaSNMF struct {
	// Beta is β, above 0 and up to 1; the default 0 means 0.99.
	Beta float64
}

const defaultBeta = 0.99

var betaKnobs = []Knob{
	{"beta", "part of the ratio that counts, above 0 and up to 1", strconv.FormatFloat(defaultBeta, 'g', -1, 64),
		partKnob("beta", 1, func(s *BetaSNMF, x float64) { s.Beta = x })},
}

// Name implements Solver.
func (BetaSNMF) Name() string { return "betasnmf" }

func (BetaSNMF) ownStart() Start { return Random{} }

func (s BetaSNMF) accepts(p *problem, opt *Options) error {
	if !(s.Beta >= 0 && s.Beta <= 1) {
		return fmt.Errorf("%w: BetaSNMF.Beta = %v, want 0 to 1", ErrOption, s.Beta)
	}
	return p.unfit(s.Name(), lacksL1|heldByZero, opt)
}

func (s BetaSNMF) start(p *problem, h *matrix.Dense, _ int) run {
	if s.Beta == 0 {
		s.Beta = defaultBeta
	}
	at := newSloped(p, h)
	return &betaRun{BetaSNMF: s, iterate: at, next: at.other()}
}

type betaRun struct {
	BetaSNMF
	*iterate
	next      *iterate
	fallbacks int // sweeps in which the damped ratio raised the objective
}

func (s *betaRun) sweep(stop func() bool) sweepReport {
	if stop() {
		return sweepReport{cut: true}
	}
	s.p.multiply(s.next.h, s.h, s.ah, s.hd, func(ratio float64) float64 { return 1 - s.Beta + s.Beta*ratio })
	s.next.look()
	if !(s.next.at.objective() <= s.at.objective()) {
		if stop() {
			return sweepReport{cut: true}
		}
		s.fallbacks++
		s.p.multiply(s.next.h, s.h, s.ah, s.hd, math.Cbrt)
		s.next.look()
	}
	return s.take(s.next)
}
