package symnmf

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// KickSummary tells of the kicks of a run.
type KickSummary struct {
	Made, Taken int     // begun, and those that ended with a lower objective
	RelErr      float64 // before the first
}

// search does one run, and then as many kicks as are asked for and its bounds allow.
func (p *problem) search(ctx context.Context, opt *Options, number int) (*Result, error) {
	p.target = math.Inf(1)
	res, err := p.run(ctx, opt, number)
	if err == nil && opt.Kicks > 0 && p.r > 1 && p.norm > 0 {
		s := &kicks{p: p, opt: opt, number: number, best: res, before: res.Time, sweeps: res.Sweeps, clock: newClock(time.Now)}
		res, err = s.makeAll(ctx)
	}
	if err != nil {
		return nil, err
	}
	if res.falls != "" {
		res.Notes = append(res.Notes, res.falls)
	}
	return res, nil
}

// kicks makes a run begin again from the best H so far, two of its columns joined and one split at random, and keeps what ends lower. A kick
// ends early when it would at most come near the best.
//
// Source: iterated local search, Lourenço, Martin, Stützle, Handbook of Metaheuristics, 2003.
type kicks struct {
	p      *problem
	opt    *Options
	number int     // of the run
	best   *Result // with the start, the trace and the notes of the whole
	sum    KickSummary
	sweeps int
	before time.Duration // which the run took without kicks
	clock  *clock        // since then
}

const (
	// lowerByKick is by which part of the best objective a kick has to come below it.
	lowerByKick = 1e-6
	// patience is how many sweeps like its last ones a kick may need for that.
	patience = 20
	// keyOfKicks keeps what kicks draw apart from what sweeps do.
	keyOfKicks = 0x6b69636b
)

func (s *kicks) makeAll(ctx context.Context) (*Result, error) {
	s.sum.RelErr = s.best.RelErr
	for s.sum.Made < s.opt.Kicks && s.best.RelErr > s.best.ErrFloor && ctx.Err() == nil {
		stop, more := s.left()
		if !more {
			break
		}
		s.sum.Made++
		if err := s.kick(ctx, stop); err != nil {
			return nil, err
		}
	}
	if s.opt.Trace && s.best.Trace[len(s.best.Trace)-1].Sweep < s.sweeps {
		s.addPoint()
	}
	s.best.Sweeps, s.best.Time, s.best.Kicks = s.sweeps, s.elapsed(), s.sum
	if ctx.Err() != nil {
		s.best.Status = Interrupted
	}
	return s.best, nil
}

// left returns what is left of the bounds, and whether anything is.
func (s *kicks) left() (stop Stop, more bool) {
	stop, more = s.opt.Stop, true
	limits := stop.limits()
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

func (s *kicks) elapsed() time.Duration { return s.before + s.clock.elapsed() }

// kick makes one.
func (s *kicks) kick(ctx context.Context, stop Stop) error {
	opt := *s.opt
	opt.Start, opt.Stop, opt.Trace = again{Given{kicked(s.best.H, s.p.seed, uint64(s.number), uint64(s.sum.Made))}}, stop, false
	opt.Progress = func(now Progress) { s.tell(s.sweeps+now.Sweep, true) }
	s.p.target = s.best.scaled * (1 - lowerByKick)
	res, err := s.p.run(ctx, &opt, s.number)
	if err != nil {
		return err
	}
	s.sweeps += res.Sweeps
	if !(res.scaled <= s.p.target) {
		return nil
	}
	s.sum.Taken++
	notes := s.best.Notes
	for _, note := range res.Notes {
		notes = append(notes, fmt.Sprintf("kick %d: %s", s.sum.Made, note))
	}
	res.Start, res.First, res.Trace, res.Notes = s.best.Start, s.best.First, s.best.Trace, notes
	s.best = res
	if s.opt.Trace && (s.opt.TraceAt == nil || s.opt.TraceAt(s.sweeps)) {
		s.addPoint()
	}
	s.tell(s.sweeps, false)
	return nil
}

func (s *kicks) addPoint() {
	s.best.Trace = append(s.best.Trace, TracePoint{Sweep: s.sweeps, Time: s.elapsed(), RelErr: s.best.RelErr, KKT: s.best.KKT})
}

// tell tells the caller of a sweep, and of the best H.
func (s *kicks) tell(sweep int, provisional bool) {
	if s.opt.Progress == nil {
		return
	}
	s.clock.pause(func() {
		s.opt.Progress(Progress{Run: s.number + 1, Runs: max(s.opt.Runs, 1), Kick: s.sum.Made, Sweep: sweep, Elapsed: s.elapsed(),
			RelErr: 2 * math.Sqrt(max(0, s.best.scaled)) / s.p.norm, KKT: s.best.KKT, Provisional: provisional})
	})
}

// again is a start from an answer, which needs no look whether it is of a size for A.
type again struct{ Given }

func (a again) fill(p *problem, h *matrix.Dense, _ int) error {
	a.scaleTo(p, h)
	return nil
}

// kicked returns h with one column, the first that is zero or any, joined to another by the larger entries, and one split: each row divides its entry at random
// between that and the column that has become free. With two columns, the one they have become is split.
func kicked(h *matrix.Dense, seed uint64, where ...uint64) *matrix.Dense {
	to := h.Clone()
	n, r := to.Dims()
	where = append([]uint64{keyOfKicks}, where...)
	perm := make([]int, r)
	permutation(perm, seed, where...)
	used := make([]float64, r)
	for i := range n {
		kernel.Axpy(used, 1, to.Row(i))
	}
	if zero := slices.IndexFunc(perm, func(j int) bool { return used[j] == 0 }); zero > 0 {
		perm[0], perm[zero] = perm[zero], perm[0]
	}
	if other := slices.IndexFunc(perm[1:], func(j int) bool { return used[j] > 0 }); other > 0 {
		perm[1], perm[1+other] = perm[1+other], perm[1]
	}
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
