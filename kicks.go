package symnmf

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// KickSummary describes the kicks of a run.
type KickSummary struct {
	// Made is the number of kicks that counted, one after another, and Taken the number of those that ended with a
	// lower objective.
	Made, Taken int
	RelErr      float64 // before the first kick
}

// search makes one run, and then as many kicks as are asked for and its bounds allow.
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
	if note := p.outgrown(res.H, res.NormA); note != "" {
		res.Notes = append(res.Notes, note)
	}
	return res, nil
}

// kicks makes a run begin again from the best H so far, with two of its columns joined and one split at
// random, and keeps what ends lower. A kick that would at most come near the best ends early.
//
// Several lanes make kicks ahead, from the same H. Kicks count in the order of their numbers, and when one is
// taken, those after it begin again from there. So the answer is that of kicks made one after another,
// however many lanes there are.
//
// Source: iterated local search, Lourenço, Martin, Stützle, Handbook of Metaheuristics, 2003.
type kicks struct {
	p      *problem
	opt    *Options
	number int // of the run
	lanes  int
	before time.Duration // time of the run without kicks
	clock  *clock        // runs since then
	told   int           // most of the sweeps that have been told to the caller, on its goroutine

	mu     sync.Mutex // for what follows, which all lanes use
	best   *Result    // with the start, the trace and the notes of the whole run
	sum    KickSummary
	sweeps int        // of the run and the kicks made
	taken  []Progress // not told to the caller yet
	err    error

	begun   int           // kicks, including those made
	lower   int           // number of the first kick that has ended lower, or failed, before its turn; 0 if none has
	pending map[int]*kick // by their numbers: under way, or ended before their turn
	change  chan struct{} // closed when any of this changes
}

// kick is one kick.
type kick struct {
	number int // from 1
	cancel context.CancelFunc
	best   *Result // whose H it begins from
	stop   Stop
	target float64
	ended  bool
	res    *Result
	err    error
}

const (
	// lowerByKick is the part of the best objective by which a kick has to come below it.
	lowerByKick = 1e-6
	// patience is how many more sweeps like its last ones a kick may need to get there.
	patience = 20
	// keyOfKicks keeps the random numbers of kicks apart from those of sweeps.
	keyOfKicks = 0x6b69636b
)

func (s *kicks) makeAll(ctx context.Context) (*Result, error) {
	s.sum.RelErr, s.pending, s.change = s.best.RelErr, map[int]*kick{}, make(chan struct{})
	s.lanes = s.opt.lanes(s.p, s.opt.Kicks)
	s.p.together(ctx, s.opt, s.lanes, func(ctx context.Context, l *lane) {
		for {
			k, ctx := s.begin(ctx)
			if k == nil {
				return
			}
			s.make(ctx, l, k)
			s.end(k)
			if l.first {
				s.tellTaken()
			}
		}
	})
	if s.err != nil {
		return nil, s.err
	}
	if s.tellTaken(); s.sweeps > s.told {
		s.tell(nil, 0)
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

// begin returns the next kick, with a context that ends when the kick is dropped, or nil if there is no next
// kick. It waits if a kick under way may yet change the H to begin from: after one has ended lower, or when
// all have been begun.
func (s *kicks) begin(ctx context.Context) (*kick, context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		stop, more := s.left()
		if !more || s.err != nil || s.sum.Made >= s.opt.Kicks || !(s.best.RelErr > s.best.ErrFloor) || ctx.Err() != nil {
			return nil, nil
		}
		if s.begun < s.opt.Kicks && s.lower == 0 {
			s.begun++
			k := &kick{number: s.begun, best: s.best, stop: stop, target: s.best.scaled * (1 - lowerByKick)}
			ctx, k.cancel = context.WithCancel(ctx)
			s.pending[k.number] = k
			return k, ctx
		}
		change := s.change
		s.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
		}
		s.mu.Lock()
	}
}

// drop ends the kicks after the given number and forgets their results.
func (s *kicks) drop(after int) {
	for number, k := range s.pending {
		if number > after {
			k.cancel()
			delete(s.pending, number)
		}
	}
}

// restart drops all kicks whose turn has not come, so that they begin again.
func (s *kicks) restart() {
	s.drop(s.sum.Made)
	s.begun, s.lower = s.sum.Made, 0
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

// make makes the kick k.
func (s *kicks) make(ctx context.Context, l *lane, k *kick) {
	opt := *s.opt
	opt.Start, opt.Stop, opt.Trace = again{Given{kicked(k.best.H, l.p.seed, uint64(s.number), uint64(k.number))}}, k.stop, false
	opt.Progress = nil
	if l.first {
		opt.Progress = func(now Progress) { s.tell(k, now.Sweep) }
	}
	l.p.target = k.target
	if k.res, k.err = l.p.run(ctx, &opt, s.number); k.err == nil && !k.lower() {
		k.res.H = nil
	}
}

func (k *kick) lower() bool { return k.err == nil && k.res.scaled <= k.target }

// end counts a kick if it is its turn, and then those after it that have ended. Otherwise the kick waits for
// its turn.
func (s *kicks) end(k *kick) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.cancel()
	if s.pending[k.number] != k { // it has been dropped
		return
	}
	if k.ended = true; k.err != nil || k.lower() { // no later kick will count: one up to this will be taken, or fail
		s.lower = k.number
		s.drop(k.number)
	}
	for next := s.pending[s.sum.Made+1]; next != nil && next.ended; next = s.pending[s.sum.Made+1] {
		s.count(next)
	}
	close(s.change)
	s.change = make(chan struct{})
}

// count counts the kick whose turn it is.
func (s *kicks) count(k *kick) {
	if limits := s.opt.Stop.limits(); k.err == nil && limits.Sweeps > 0 && s.sweeps+k.res.Sweeps > limits.Sweeps {
		s.restart() // it took more sweeps than those before it have left
		return
	}
	delete(s.pending, k.number)
	s.sum.Made++
	if s.err = k.err; s.err != nil {
		s.restart()
		return
	}
	s.sweeps += k.res.Sweeps
	if !k.lower() {
		return
	}
	s.sum.Taken++
	notes := s.best.Notes
	for _, note := range k.res.Notes {
		notes = append(notes, fmt.Sprintf("kick %d: %s", k.number, note))
	}
	k.res.Start, k.res.First, k.res.Trace, k.res.Notes, k.res.Times = s.best.Start, s.best.First, s.best.Trace, notes, s.best.Times
	s.best = k.res
	s.taken = append(s.taken, s.now(k.number, s.sweeps, false))
	if s.opt.Trace && (s.opt.TraceAt == nil || s.opt.TraceAt(s.sweeps)) {
		s.addPoint()
	}
	s.restart()
}

func (s *kicks) addPoint() {
	s.best.Trace = append(s.best.Trace, TracePoint{Sweep: s.sweeps, Time: s.elapsed(), RelErr: s.best.RelErr, KKT: s.best.KKT})
}

// now returns what is told of the best H at a sweep.
func (s *kicks) now(kick, sweep int, provisional bool) Progress {
	return Progress{Run: s.number + 1, Runs: max(s.opt.Runs, 1), Kick: kick, Sweep: sweep, Elapsed: s.elapsed(),
		RelErr: 2 * math.Sqrt(max(0, s.best.scaled)) / s.p.norm, KKT: s.best.KKT, Provisional: provisional}
}

// tellTaken tells the caller of the kicks taken that have not been told yet.
func (s *kicks) tellTaken() {
	s.mu.Lock()
	taken := s.taken
	s.taken = nil
	s.mu.Unlock()
	for _, now := range taken {
		s.report(now)
	}
}

// tell tells the caller of a sweep of k. The sweep counts only if it is the turn of k. A nil k is for all
// sweeps, at the end.
func (s *kicks) tell(k *kick, sweep int) {
	s.tellTaken()
	s.mu.Lock()
	now := s.now(min(s.sum.Made+1, s.opt.Kicks), s.sweeps, true)
	switch {
	case k == nil:
		now.Kick = s.sum.Made
	case k == s.pending[s.sum.Made+1]:
		now.Sweep += sweep
	}
	if limits := s.opt.Stop.limits(); limits.Sweeps > 0 {
		now.Sweep = min(now.Sweep, limits.Sweeps) // a kick that began ahead may take more than is left
	}
	now.Sweep = max(now.Sweep, s.told)
	untold := len(s.taken) > 0 // since a moment ago; this call would come before them
	s.mu.Unlock()
	if !untold {
		s.report(now)
	}
}

func (s *kicks) report(now Progress) {
	s.told = now.Sweep
	if s.opt.Progress == nil {
		return
	}
	if s.lanes > 1 { // the other lanes go on meanwhile
		s.opt.Progress(now)
		return
	}
	s.clock.pause(func() { s.opt.Progress(now) })
}

// again is a start from an answer. Its size relative to A need not be checked.
type again struct{ Given }

func (a again) fill(p *problem, h *matrix.Dense, _ int) error {
	a.scaleTo(p, h)
	return nil
}

// kicked returns h with one column joined to another, each entry becoming the larger of the two, and a third
// split. The column joined is a zero column if there is one. Each row divides its entry of the split column,
// at random, between that and the column that has become free. With two columns, the one they are joined to
// is split.
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
	u := uniform{kernel.Key(seed, where...)}
	for i := range n {
		row := to.Row(i)
		row[joined] = max(row[joined], row[free])
		row[free] = u.at(uint64(i)) * row[split]
		row[split] -= row[free]
	}
	return to
}
