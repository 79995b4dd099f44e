package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"symnmf"
	"symnmf/internal/median"
	"symnmf/matrix"
)

// task is a method on a set.
type task struct {
	data   *dataset
	form   form
	rank   int
	start  symnmf.Start
	solver symnmf.Solver // nil lets Factorize choose
	kicks  int           // kicks, tol and ignore are for finish
	tol    float64
	ignore bool // the diagonal
}

// newTask reads the set. It returns nil and no error if the set is missing.
func (c *config) newTask(s *shelf, set string, f form, rank int, start string) (*task, error) {
	data, err := s.take(set, f)
	if data == nil {
		return nil, err
	}
	t := &task{data: data, form: f, rank: rank, solver: c.solver, kicks: c.kicks, tol: c.tol, ignore: c.ignore}
	t.start, err = symnmf.ParseStart(start)
	return t, err
}

// outcome is where a run got.
type outcome struct {
	reached bool
	sweeps  int     // to the target; all of them if it was not reached
	relErr  float64 // after these sweeps; the least error met if the target was not reached
}

// find returns after how many sweeps a start first has a relative error of at most target, if that happens within limit
// of the method's own time. The number of sweeps does not depend on threads, so all processors are used.
func (t *task) find(target float64, seed uint64, limit time.Duration) (outcome, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	res, err := t.factorize(ctx, symnmf.Options{
		Seed: seed, Trace: true, Stop: symnmf.Stop{Time: limit, Sweeps: -1, KKT: -1},
		Progress: func(p symnmf.Progress) {
			// This error is exact only to some ten digits, so go a little below the target. The trace decides.
			if p.RelErr < target*(1-1e-6) {
				cancel()
			}
		},
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		return outcome{}, err
	}
	at := firstBelow(res.Trace, target)
	if at < 0 {
		least := slices.MinFunc(res.Trace, func(p, q symnmf.TracePoint) int { return cmp.Compare(p.RelErr, q.RelErr) })
		return outcome{sweeps: res.Sweeps, relErr: least.RelErr}, nil
	}
	found := outcome{true, res.Trace[at].Sweep, res.Trace[at].RelErr}
	// A method may leave sweeps out of its trace. Then try what it returns after each sweep left out before that point.
	for sweeps := res.Trace[max(at-1, 0)].Sweep + 1; sweeps < found.sweeps; sweeps++ {
		res, err := t.factorize(context.Background(), symnmf.Options{Seed: seed, Stop: symnmf.Stop{Sweeps: sweeps, KKT: -1}})
		if err != nil {
			return found, err
		}
		if res.RelErr <= target {
			return outcome{true, sweeps, res.RelErr}, nil
		}
	}
	return found, nil
}

// firstBelow returns the index of the first point with an error of at most target, or −1.
func firstBelow(trace []symnmf.TracePoint, target float64) int {
	return slices.IndexFunc(trace, func(p symnmf.TracePoint) bool { return p.RelErr <= target })
}

func (t *task) factorize(ctx context.Context, opt symnmf.Options) (*symnmf.Result, error) {
	a, err := t.data.operator(t.form, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	opt.Solver, opt.Start = t.solver, t.start
	return symnmf.Factorize(ctx, a, t.rank, opt)
}

// timed measures the time from the data in memory to the end of that many sweeps, on threads processors. It also
// returns the relative error of the answer.
func (t *task) timed(sweeps int, seed uint64, threads int) (seconds, relErr float64, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	runtime.GC()
	return t.once(sweeps, seed, threads)
}

// apart makes one run of one thread for each processor, all at once, and returns the seconds that each of them takes.
func (t *task) apart(sweeps int, seed uint64, processors int) ([]float64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	runtime.GC()
	seconds, errs := make([]float64, processors), make([]error, processors)
	var left atomic.Int64 // runs that have not ended once
	left.Store(int64(processors))
	var all sync.WaitGroup
	for k := range processors {
		all.Go(func() {
			seconds[k], _, errs[k] = t.once(sweeps, seed, 1)
			for left.Add(-1); left.Load() > 0 && errs[k] == nil; { // keeps the processor busy until the others have ended
				_, _, errs[k] = t.once(sweeps, seed, 1)
			}
		})
	}
	all.Wait()
	return seconds, errors.Join(errs...)
}

// atOnce measures the most that so many threads could gain if they had nothing to communicate. It compares one run of
// one thread with as many such runs at once as there are processors: the gain is how many times as much work these get
// done.
func (t *task) atOnce(repeats, sweeps int, seed uint64, processors int) (gains []float64, err error) {
	for range repeats {
		alone, _, err := t.timed(sweeps, seed, 1)
		if err != nil {
			return nil, err
		}
		each, err := t.apart(sweeps, seed, processors)
		if err != nil {
			return nil, err
		}
		gains = append(gains, doneAtOnce(alone, each))
	}
	return gains, nil
}

// doneAtOnce returns how many runs get done in the time of a run alone, if several at once take as long as each says.
func doneAtOnce(alone float64, each []float64) (runs float64) {
	for _, took := range each {
		runs += alone / took
	}
	return runs
}

func (t *task) once(sweeps int, seed uint64, threads int) (seconds, relErr float64, err error) {
	begin := time.Now()
	a, err := t.data.operator(t.form, threads)
	if err != nil {
		return 0, 0, err
	}
	res, err := symnmf.Factorize(context.Background(), a, t.rank, symnmf.Options{
		Solver: t.solver, Start: t.start, Seed: seed, Threads: threads, Stop: symnmf.Stop{Sweeps: max(sweeps, 1), KKT: -1},
		Progress: func(p symnmf.Progress) {
			if p.Sweep <= max(sweeps, 1) { // a start that already reaches the target is reported with the first sweep
				seconds = time.Since(begin).Seconds()
			}
		},
	})
	if err != nil {
		return 0, 0, err
	}
	return seconds, res.RelErr, nil
}

// sweepSeconds makes warm sweeps first and then wanted sweeps, on threads processors. It returns the seconds of each of
// the wanted sweeps.
func sweepSeconds(a matrix.Operator, rank int, opt symnmf.Options, warm, wanted, threads int) ([]float64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	var ends []time.Duration
	opt.Threads, opt.Stop = threads, symnmf.Stop{Sweeps: warm + wanted, KKT: -1}
	opt.Progress = func(p symnmf.Progress) { ends = append(ends, p.Elapsed) }
	if _, err := symnmf.Factorize(context.Background(), a, rank, opt); err != nil {
		return nil, err
	}
	if len(ends) < warm+wanted {
		return nil, fmt.Errorf("the run ended after %d of %d sweeps", len(ends), warm+wanted)
	}
	seconds := make([]float64, wanted)
	for k := range seconds {
		seconds[k] = (ends[warm+k] - ends[warm+k-1]).Seconds()
	}
	return seconds, nil
}

// measured is a row for one number of threads.
type measured struct {
	row
	threads      int
	target       float64
	sweeps       int // the median over the seeds that reach the target, as are the next three
	median       float64
	least, most  float64
	tried, never int           // seeds, and seeds that do not reach the target
	astray       int           // timed runs whose answer missed the target
	speedup      float64       // of this number of threads over the first number; 0 for the first
	apart        float64       // the gain from atOnce; 0 if not measured, because the first number of threads is not 1
	passed       time.Duration // the time of a cache line from one processor to another and back, after the runs
}

// toError measures the table.
func (c *config) toError(log *journal) error {
	s := &shelf{folder: c.data}
	var results []measured
	for _, r := range selectRows(table, c.rows) {
		rows, err := c.measure(s, r, log)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name(), err)
		}
		results = append(results, rows...)
	}
	printTimes(os.Stdout, results)
	printMissing(os.Stdout, s.missing)
	return nil
}

// measure measures one row, for every number of threads.
func (c *config) measure(s *shelf, r row, log *journal) ([]measured, error) {
	t, err := c.newTask(s, r.set, r.form, r.rank, r.start)
	if t == nil {
		return nil, err
	}
	target := r.percent / 100
	if target == 0 {
		if target, err = c.ownTarget(t, r); err != nil {
			return nil, err
		}
	}
	limit := c.limit
	if limit == 0 {
		limit = time.Duration(r.limit() * float64(time.Second))
	}
	seeds := min(r.seeds, c.seeds)
	if r.start == "zero" {
		seeds = c.orders
	}
	rows := make([]measured, len(c.threads))
	for k, threads := range c.threads {
		rows[k] = measured{row: r, threads: threads, target: target, tried: seeds}
	}
	seconds := make([][]float64, len(rows)) // the median of each seed, or every repeat if there is one seed
	var sweeps []float64
	apart := make([][]float64, len(rows))
	for seed := range uint64(seeds) {
		found, err := t.find(target, seed, limit)
		if err != nil {
			return nil, err
		}
		if !found.reached {
			log.add(timing{Row: r.name(), Seed: seed, Seconds: limit.Seconds(), Sweeps: found.sweeps, RelErr: found.relErr})
			for k := range rows {
				rows[k].never++
			}
			continue
		}
		sweeps = append(sweeps, float64(found.sweeps))
		for k, threads := range c.threads {
			var times []float64
			for repeat := range c.repeats {
				took, relErr, err := t.timed(found.sweeps, seed, threads)
				if err != nil {
					return nil, err
				}
				reached := relErr <= target
				if !reached {
					rows[k].astray++
				}
				log.add(timing{r.name(), threads, seed, repeat, took, found.sweeps, relErr, reached})
				times = append(times, took)
			}
			if k > 0 && c.threads[0] == 1 && len(sweeps) == 1 {
				if apart[k], err = t.atOnce(c.repeats, found.sweeps, seed, threads); err != nil {
					return nil, err
				}
			}
			if seeds > 1 {
				times = []float64{median.Of(times)}
			}
			seconds[k] = append(seconds[k], times...)
		}
	}
	for k := range rows {
		m := &rows[k]
		if len(seconds[k]) == 0 {
			continue
		}
		m.sweeps = int(median.Of(sweeps))
		m.median, m.least, m.most = median.Of(seconds[k]), slices.Min(seconds[k]), slices.Max(seconds[k])
		if k > 0 {
			m.speedup = rows[0].median / m.median
			m.passed = passedOn()
		}
		if len(apart[k]) > 0 {
			m.apart = median.Of(apart[k])
		}
		fmt.Fprintf(os.Stderr, "%s, threads %d: %.4g s, %d sweeps\n", r.name(), m.threads, m.median, m.sweeps)
	}
	if len(sweeps) == 0 {
		fmt.Fprintf(os.Stderr, "%s: not reached\n", r.name())
	}
	return rows, nil
}
