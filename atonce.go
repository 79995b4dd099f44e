package symnmf

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
)

// lanes returns on how many goroutines so many pieces of work of p are done at once.
func (o *Options) lanes(p *problem, pieces int) int {
	if o.Trace {
		return 1
	}
	return max(1, min(o.AtOnce, p.workers, pieces))
}

// lane is one of several goroutines at work at once, with a problem of its own.
type lane struct {
	p     *problem
	opt   Options
	first bool // the goroutine of the caller
}

// toldAhead is how many calls of Progress may wait for the goroutine that is to make them before those that want them do, too.
const toldAhead = 1024

// together calls work for each of so many lanes at once, the first on the calling goroutine, and returns when all calls have. Each lane has its share of the workers and of
// AtOnce. What other lanes than the first tell is passed on by the first, before what that tells itself, and in the end; and so is what they panic with.
func (p *problem) together(ctx context.Context, opt *Options, lanes int, work func(ctx context.Context, l *lane)) {
	if lanes == 1 {
		work(ctx, &lane{p, *opt, true})
		return
	}
	p.multiplyA = nil // and with it what it holds of points
	told, gone := make(chan Progress, toldAhead), make(chan struct{})
	report := opt.Progress
	var others sync.WaitGroup
	defer others.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // by then all have ended, but where the first panics
	defer close(gone)
	var once sync.Once
	var panicked any // of the other that was first to
	all := make([]*lane, lanes)
	for k := range all {
		own := *p
		own.workers = p.workers / lanes
		if k < p.workers%lanes {
			own.workers++
		}
		own.near, own.notes, own.startAH = nil, nil, nil
		all[k] = &lane{&own, *opt, k == 0}
		all[k].opt.AtOnce /= lanes
		switch {
		case report == nil:
		case k == 0:
			all[k].opt.Progress = func(now Progress) {
				for range len(told) {
					report(<-told)
				}
				report(now)
			}
		default:
			all[k].opt.Progress = func(now Progress) {
				select {
				case told <- now:
				case <-gone:
				}
			}
		}
	}
	for _, l := range all[1:] {
		others.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					once.Do(func() { panicked = v })
					cancel()
				}
			}()
			work(ctx, l)
		})
	}
	work(ctx, all[0])
	go func() {
		others.Wait()
		close(told)
	}()
	for now := range told {
		report(now)
	}
	if panicked != nil {
		panic(panicked)
	}
}

// contest is several runs, of which the one with the least objective is kept.
type contest struct {
	fail   context.CancelFunc // ends all runs
	mu     sync.Mutex
	begun  int // runs
	best   *Result
	made   []RunSummary
	err    error
	failed int // the first run with an error, from 1; 0 if none has one
}

// best runs all starts asked for and keeps the one with the least objective.
func (p *problem) best(ctx context.Context, opt *Options) (*Result, error) {
	runs := max(opt.Runs, 1)
	lanes := opt.lanes(p, runs)
	if opt.Stop.limits().Time > 0 { // it is given each run with all threads
		lanes = 1
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &contest{fail: cancel}
	first := runs % lanes // these begin, or some lanes had nothing to do in the end
	if first > 0 {
		p.together(within, opt, first, func(ctx context.Context, l *lane) { c.race(ctx, l, first) })
	}
	p.together(within, opt, lanes, func(ctx context.Context, l *lane) { c.race(ctx, l, runs) })
	if c.err != nil {
		return nil, c.err
	}
	slices.SortFunc(c.made, func(a, b RunSummary) int { return cmp.Compare(a.Run, b.Run) })
	c.best.Runs = c.made
	if err := ctx.Err(); err != nil {
		c.best.Status = Interrupted
		return c.best, fmt.Errorf("symnmf: stopped early with the best factor so far: %w", err)
	}
	return c.best, nil
}

// race makes runs, one after another, while some of the first so many are left.
func (c *contest) race(ctx context.Context, l *lane, runs int) {
	for {
		number, ok := c.begin(ctx, runs)
		if !ok {
			return
		}
		res, err := l.p.search(ctx, &l.opt, number)
		c.enter(res, err, number)
	}
}

// begin returns the run to make next, and whether there is one. Without a run there is no answer.
func (c *contest) begin(ctx context.Context, runs int) (number int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun >= runs || c.begun > 0 && ctx.Err() != nil {
		return 0, false
	}
	c.begun++
	return c.begun - 1, true
}

// enter takes what a run came to, the first of those that are equal.
func (c *contest) enter(res *Result, err error, number int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	number++
	if err != nil {
		if c.failed == 0 || number < c.failed {
			c.err, c.failed = err, number
		}
		c.fail()
		return
	}
	c.made = append(c.made, RunSummary{
		Run: number, RelErr: res.RelErr, KKT: res.KKT, Objective: res.Objective,
		Sweeps: res.Sweeps, Time: res.Time, Status: res.Status,
	})
	if c.best == nil || res.scaled < c.best.scaled || res.scaled == c.best.scaled && number < c.best.Run {
		c.best = res
		c.best.Run = number
	}
}
