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
	if err != nil || t == nil {
		return nil, err
	}
	m := &rowRuns{config: c, row: r, task: t, log: log, seeds: min(r.seeds, c.seeds), limit: cmp.Or(c.limit, r.limit())}
	if r.start == "zero" {
		m.seeds = c.orders
	}
	if m.target, err = c.target(t, r); err != nil {
		return nil, err
	}
	n := len(c.threads)
	m.seconds, m.apart, m.astray = make([][]float64, n), make([][]float64, n), make([]int, n)
	for seed := range uint64(m.seeds) {
		if err := m.add(seed); err != nil {
			return nil, err
		}
	}
	return m.measured(), nil
}

// rowRuns collects the runs of one row.
type rowRuns struct {
	*config
	row    row
	task   *task
	log    *journal
	target float64
	limit  time.Duration
	seeds  int

	never  int       // seeds that do not reach the target
	sweeps []float64 // of each other seed
	// For every number of threads:
	seconds [][]float64 // the median of each seed, or every repeat if there is one seed
	apart   [][]float64 // the gains from atOnce
	astray  []int       // runs whose answer missed the target
}

// add finds the sweeps that a seed needs to reach the target, and times them with every number of threads.
func (m *rowRuns) add(seed uint64) error {
	found, err := m.task.find(m.target, seed, m.limit)
	if err != nil {
		return err
	}
	if !found.reached {
		m.log.add(timing{Row: m.row.name(), Seed: seed, Seconds: m.limit.Seconds(), Sweeps: found.sweeps, RelErr: found.relErr})
		m.never++
		return nil
	}
	m.sweeps = append(m.sweeps, float64(found.sweeps))
	for k, threads := range m.threads {
		var times []float64
		for repeat := range m.repeats {
			took, relErr, err := m.task.timed(found.sweeps, seed, threads)
			if err != nil {
				return err
			}
			reached := relErr <= m.target
			if !reached {
				m.astray[k]++
			}
			m.log.add(timing{m.row.name(), threads, seed, repeat, took, found.sweeps, relErr, reached})
			times = append(times, took)
		}
		if k > 0 && m.threads[0] == 1 && len(m.sweeps) == 1 {
			if m.apart[k], err = m.task.atOnce(m.repeats, found.sweeps, seed, threads); err != nil {
				return err
			}
		}
		if m.seeds > 1 {
			times = []float64{median.Of(times)}
		}
		m.seconds[k] = append(m.seconds[k], times...)
	}
	return nil
}

// measured returns the figures of the row for every number of threads.
func (m *rowRuns) measured() []measured {
	rows := make([]measured, len(m.threads))
	for k, threads := range m.threads {
		f := &rows[k]
		*f = measured{row: m.row, threads: threads, target: m.target, tried: m.seeds, never: m.never, astray: m.astray[k]}
		if len(m.sweeps) == 0 {
			continue
		}
		seconds := m.seconds[k]
		f.sweeps = int(median.Of(m.sweeps))
		f.median, f.least, f.most = median.Of(seconds), slices.Min(seconds), slices.Max(seconds)
		if k > 0 {
			f.speedup = rows[0].median / f.median
			f.passed = passedOn()
		}
		if len(m.apart[k]) > 0 {
			f.apart = median.Of(m.apart[k])
		}
		fmt.Fprintf(os.Stderr, "%s, threads %d: %.4g s, %d sweeps\n", m.row.name(), threads, f.median, f.sweeps)
	}
	if len(m.sweeps) == 0 {
		fmt.Fprintf(os.Stderr, "%s: not reached\n", m.row.name())
	}
	return rows
}
