package symnmf

import (
	"context"
	"math"
	"time"

	"symnmf/matrix"
)

// KickSummary tells of the kicks of a run.
type KickSummary struct {
	Made, Taken int     // all, and those that led to a lower objective
	RelErr      float64 // before the first
}

// search does one run and, as long as its limits allow, the kicks asked for: runs from the best H so far with two columns joined and one split at
// random, which replace it where they end lower. Until the last of them none goes on to the last digits, nor where it would at most come near the best.
//
// Source: iterated local search, Lourenço, Martin, Stützle, Handbook of Metaheuristics, 2003.
func (p *problem) search(ctx context.Context, opt *Options, number int) (*Result, error) {
	p.target = math.Inf(1)
	if opt.Kicks == 0 || p.r == 1 || p.norm == 0 {
		return p.run(ctx, opt, number)
	}
	first := *opt
	first.Stop.RelChange = max(opt.Stop.RelChange, restOfKicks)
	best, err := p.run(ctx, &first, number)
	if err != nil {
		return nil, err
	}
	s := &kicks{p: p, opt: opt, number: number, best: best, sum: KickSummary{RelErr: best.RelErr}, before: best.Time, sweeps: best.Sweeps, clock: newClock(time.Now)}
	stop, more := s.left()
	for ; s.sum.Made < opt.Kicks && more && ctx.Err() == nil; stop, more = s.left() {
		stop.RelChange = first.Stop.RelChange
		s.sum.Made++
		lower, err := s.from(ctx, kicked(s.best.H, p.seed, uint64(number), uint64(s.sum.Made)), stop, s.best.scaled*(1-lowerByKick))
		if err != nil {
			return nil, err
		}
		if lower {
			s.sum.Taken++
		}
	}
	resting := s.best.Status == Stalled && opt.Stop.RelChange < restOfKicks // as far as kicks want it
	switch {
	case ctx.Err() != nil || !resting && s.sum.Made == opt.Kicks:
	case more:
		kept, err := s.from(ctx, s.best.H, stop, math.Inf(1))
		if err != nil {
			return nil, err
		}
		if _, more = s.left(); !kept && !more {
			s.best.Status = s.limit()
		}
	case s.best.Status != Converged:
		s.best.Status = s.limit()
	}
	s.best.Sweeps, s.best.Time, s.best.Kicks = s.sweeps, s.elapsed(), s.sum
	return s.best, nil
}

const (
	// restOfKicks is the Stop.RelChange of runs until the last kick: from there to rest an error falls in its sixth digit at most, in several
	// times as many sweeps.
	restOfKicks = 1e-7
	// lowerByKick is by which part of the best objective a kick has to get below it, and patience in how many sweeps like its last ones, or it ends.
	lowerByKick = 1e-6
	patience    = 20
	// noiseOfKicks·‖A‖² is more than what rounding makes of an objective.
	noiseOfKicks = 64 * 0x1p-52
	// keyOfKicks sets what kicks draw apart from what methods draw for their sweeps.
	keyOfKicks = 0x6b69636b
)

// kicks is a run with those made after it.
type kicks struct {
	p      *problem
	opt    *Options // the caller's
	number int
	best   *Result // with the start and the trace of the whole
	sum    KickSummary
	sweeps int
	before time.Duration // which the first run took
	clock  *clock        // since then
}

func (s *kicks) elapsed() time.Duration { return s.before + s.clock.elapsed() }

// left returns what is left of the bounds, and whether anything is.
func (s *kicks) left() (stop Stop, more bool) {
	stop = s.opt.Stop
	limits, more := stop.limits(), true
	if limits.Sweeps > 0 {
		stop.Sweeps = limits.Sweeps - s.sweeps
		more = stop.Sweeps > 0
	}
	if limits.Time > 0 {
		stop.Time = limits.Time - s.elapsed()
		more = more && stop.Time > 0
	}
	return stop, more
}

// limit says which bound has been reached.
func (s *kicks) limit() Status {
	if limits := s.opt.Stop.limits(); limits.Sweeps > 0 && s.sweeps >= limits.Sweeps {
		return SweepLimit
	}
	return TimeLimit
}

// from does a run from h, which ends early where it would not come down to target, and keeps its answer if it does; without a target if no more
// than rounding errors make it higher than the best so far.
func (s *kicks) from(ctx context.Context, h *matrix.Dense, stop Stop, target float64) (lower bool, err error) {
	opt := *s.opt
	opt.Start, opt.Stop, opt.Trace = again{Given{h}}, stop, false
	opt.Progress = func(now Progress) { s.tell(s.sweeps+now.Sweep, true) }
	s.p.target = target
	next, err := s.p.run(ctx, &opt, s.number)
	if err != nil {
		return false, err
	}
	s.sweeps += next.Sweeps
	if next.scaled > min(target, s.best.scaled+noiseOfKicks*s.p.normFrom*s.p.normFrom) {
		return false, nil
	}
	next.Start, next.First, next.Trace = s.best.Start, s.best.First, s.best.Trace
	s.best = next
	if s.opt.Trace && (s.opt.TraceAt == nil || s.opt.TraceAt(s.sweeps)) {
		next.Trace = append(next.Trace, TracePoint{Sweep: s.sweeps, Time: s.elapsed(), RelErr: next.RelErr, KKT: next.KKT})
	}
	s.tell(s.sweeps, false)
	return true, nil
}

// again is a start from an answer, which needs no look whether it is of a size for A.
type again struct{ Given }

func (a again) fill(p *problem, h *matrix.Dense, _ int) error {
	a.scaleTo(p, h)
	return nil
}

// tell tells the caller of a sweep, of the best H in any case.
func (s *kicks) tell(sweep int, provisional bool) {
	if s.opt.Progress == nil {
		return
	}
	s.clock.pause(func() {
		s.opt.Progress(Progress{Run: s.number + 1, Runs: max(s.opt.Runs, 1), Kick: s.sum.Made, Sweep: sweep, Elapsed: s.elapsed(),
			RelErr: 2 * math.Sqrt(max(0, s.best.scaled)) / s.p.norm, KKT: s.best.KKT, Provisional: provisional})
	})
}

// kicked returns h with two columns joined, by the larger entries, and one split: each row divides its entry at random between that and the column that has become free. With
// two columns, the one they have become is split.
func kicked(h *matrix.Dense, seed uint64, where ...uint64) *matrix.Dense {
	to := h.Clone()
	n, r := to.Dims()
	where = append([]uint64{keyOfKicks}, where...)
	perm := make([]int, r)
	permutation(perm, seed, where...)
	free, split, joined := perm[0], perm[1], perm[min(2, r-1)]
	u := uniform{keyOf(seed, where)}
	for i := range n {
		row := to.Row(i)
		row[joined] = max(row[joined], row[free])
		row[free] = u.at(uint64(i)) * row[split]
		row[split] -= row[free]
	}
	return to
}
