package symnmf

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
)

// lanes returns how many goroutines are to share so many pieces of work of p.
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
	first bool // on the goroutine of the caller
}

// toldAhead is how many calls of Progress may be waiting for the goroutine that makes them before the lanes
// that want them have to wait, too.
const toldAhead = 1024

// together calls work once for each lane, all at once, the first on the calling goroutine, and returns when
// all calls have. Each lane has its share of the workers and of AtOnce. The first lane passes on the Progress
// of the others, before each of its own and at the end. A panic in another lane is passed on as well.
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
	defer cancel() // by then all have ended, unless the first panics
	defer close(gone)
	var once sync.Once
	var panicked any // of the first other lane to panic
	all := make([]*lane, lanes)
	for k := range all {
		own := *p
		own.workers = p.workers / lanes
		if k < p.workers%lanes {
			own.workers++
		}
		own.near, own.notes, own.spent, own.begun = nil, nil, nil, startProducts{}
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
	failed int // number of the first run with an error, from 1; 0 if none has one
}

// best makes all the runs asked for and keeps the one with the least objective.
func (p *problem) best(ctx context.Context, opt *Options) (*Result, error) {
	runs := max(opt.Runs, 1)
	lanes := opt.lanes(p, runs)
	if opt.Stop.limits().Time > 0 { // the bound is for a run with all threads
		lanes = 1
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &contest{fail: cancel}
	first := runs % lanes // begun first, since otherwise some lanes would have nothing to do at the end
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

// race makes runs, one after another, until the given number have been begun.
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

// begin returns the number of the next run, and whether there is one. The first run is made even if ctx has
// ended, as there would be no answer without it.
func (c *contest) begin(ctx context.Context, runs int) (number int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun >= runs || c.begun > 0 && ctx.Err() != nil {
		return 0, false
	}
	c.begun++
	return c.begun - 1, true
}

// enter records the outcome of a run. Of runs with equal objectives the first is kept.
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
