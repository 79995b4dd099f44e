package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"symnmf"
	"symnmf/internal/median"
)

// finish is a run for a fixed time, or until it ends by itself.
type finish struct {
	Row     string  `json:"row"`
	Start   string  `json:"start"`
	Threads int     `json:"threads"`
	Seed    uint64  `json:"seed"`
	Seconds float64 `json:"seconds"`
	Sweeps  int     `json:"sweeps"`
	Kicks   int     `json:"kicks"`
	Taken   int     `json:"taken"`
	RelErr  float64 `json:"relerr"`
	KKT     float64 `json:"kkt"`
	Status  string  `json:"status"`
}

// randomStarts is the number of starts that depend on the seed, of which the best is taken.
const randomStarts = 5

// final measures the error that each set has after that time, which includes making the operator. It takes the error
// from zero and the best of several random starts, or of the starts given by -from. Each start has the full time.
func (c *config) final(after time.Duration, log *journal) error {
	s := &shelf{folder: c.data}
	threads := slices.Max(c.threads)
	var lines [][]string
	starts := c.from
	if len(starts) == 0 {
		starts = []string{"zero", "random"}
	}
	for _, e := range selectRows(ends, c.rows) {
		for _, start := range starts {
			if start == "zero" && !e.zero {
				continue
			}
			t, err := c.newTask(s, e.set, e.form, e.rank, start)
			if err != nil {
				return fmt.Errorf("%s: %w", e.name(), err)
			}
			if t == nil {
				break
			}
			seeds := 1
			if start != "zero" {
				seeds = min(randomStarts, c.seeds)
			}
			var errors []float64
			sweeps := 0
			for seed := range uint64(seeds) {
				f, err := t.finish(after, seed, threads)
				if err != nil {
					return fmt.Errorf("%s: %w", e.name(), err)
				}
				f.Row, f.Start = e.name(), start
				log.add(f)
				fmt.Fprintf(os.Stderr, "%s, %s, seed %d: %.6g %%, %d sweeps, %d of %d kicks taken\n", f.Row, start, seed, 100*f.RelErr, f.Sweeps, f.Taken, f.Kicks)
				if errors = append(errors, 100*f.RelErr); slices.Min(errors) == 100*f.RelErr {
					sweeps = f.Sweeps
				}
			}
			best := slices.Min(errors)
			lines = append(lines, []string{e.set, string(e.form), fmt.Sprint(e.rank), start, fmt.Sprint(seeds), fmt.Sprintf("%.6g", best),
				fmt.Sprintf("%.6g", median.Of(errors)), fmt.Sprint(sweeps), short5(e.floor), short5(e.goal), verdict(best, e.floor, e.goal, true)})
		}
	}
	fmt.Printf("after %v, %d threads, at most %d kicks, tolerance %g\n\n", after, threads, c.kicks, c.tol)
	printTable(os.Stdout, []string{"set", "form", "r", "start", "starts", "error, %", "median", "sweeps", "floor", "goal", "reached"}, lines)
	printMissing(os.Stdout, s.missing)
	return nil
}

// finish runs for the time given, which includes making the operator. For 0 it runs until the default stopping
// rule ends the run.
func (t *task) finish(after time.Duration, seed uint64, threads int) (finish, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	runtime.GC()
	begin := time.Now()
	a, err := t.data.operator(t.form, threads)
	if err != nil {
		return finish{}, err
	}
	made := time.Since(begin)
	var stop symnmf.Stop
	if after > 0 {
		stop = symnmf.Stop{Time: max(after-made, time.Nanosecond), Sweeps: -1, KKT: t.tol}
	}
	res, err := symnmf.Factorize(context.Background(), a, t.rank, symnmf.Options{
		Solver: t.solver, Start: t.start, Seed: seed, Threads: threads, Stop: stop, Kicks: t.kicks, AtOnce: threads, IgnoreDiagonal: t.ignore,
	})
	if err != nil {
		return finish{}, err
	}
	return finish{
		Start: res.Start, Threads: threads, Seed: seed, Seconds: (made + res.Time).Seconds(), Sweeps: res.Sweeps, Kicks: res.Kicks.Made, Taken: res.Kicks.Taken, RelErr: res.RelErr, KKT: res.KKT, Status: res.Status.String(),
	}, nil
}
