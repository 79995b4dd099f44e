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

// several is a measurement of several runs, or of one run with kicks.
type several struct {
	Row     string  `json:"row"`
	What    string  `json:"what"`
	Threads int     `json:"threads"`
	AtOnce  int     `json:"at_once"`
	Seconds float64 `json:"seconds"`
	Sweeps  int     `json:"sweeps"`
	RelErr  float64 `json:"relerr"`
}

// atOnce measures how long several random starts take, and one start with c.kicks kicks. Each is done on one
// thread, on the most threads one after another, and on the most threads at once. The answers must be the same.
// Making the operator is off the clock.
func (c *config) atOnce(starts int, log *journal) error {
	s := &shelf{folder: c.data}
	most := slices.Max(c.threads)
	var lines [][]string
	for _, e := range selectRows(ends, c.rows) {
		t, err := c.newTask(s, e.set, e.form, e.rank, "random")
		if err != nil {
			return fmt.Errorf("%s: %w", e.name(), err)
		}
		if t == nil {
			continue
		}
		for _, work := range []symnmf.Options{{Runs: starts}, {Kicks: c.kicks}} {
			what := fmt.Sprintf("%d starts", starts)
			if work.Runs == 0 {
				if what = fmt.Sprintf("%d kicks", c.kicks); c.kicks == 0 {
					continue
				}
			}
			work.Solver, work.Start, work.Stop = t.solver, t.start, symnmf.Stop{Sweeps: 1 << 30}
			ways := [][2]int{{1, 1}, {most, 1}, {most, most}} // threads, and how many at once
			seconds := make([][]float64, len(ways))
			var first several
			for repeat := range c.repeats {
				for k, way := range ways {
					work.Threads, work.AtOnce = way[0], way[1]
					f, err := t.several(work)
					if err != nil {
						return fmt.Errorf("%s: %w", e.name(), err)
					}
					f.Row, f.What = e.name(), what
					log.add(f)
					if first.Row == "" {
						first = f
					}
					if f.RelErr != first.RelErr || f.Sweeps != first.Sweeps {
						return fmt.Errorf("%s, %s: %+v and %+v", e.name(), what, first, f)
					}
					seconds[k] = append(seconds[k], f.Seconds)
					fmt.Fprintf(os.Stderr, "%s, %s, repeat %d, %d threads, %d at once: %.3f s\n", f.Row, what, repeat, way[0], way[1], f.Seconds)
				}
			}
			one, inTurn, together := median.Of(seconds[0]), median.Of(seconds[1]), median.Of(seconds[2])
			lines = append(lines, []string{e.set, string(e.form), fmt.Sprint(e.rank), what, fmt.Sprint(first.Sweeps), fmt.Sprintf("%.3f", one), fmt.Sprintf("%.3f", inTurn), fmt.Sprintf("%.3f", together),
				fmt.Sprintf("%.2f", one/inTurn), fmt.Sprintf("%.2f", one/together), fmt.Sprintf("%.2f", inTurn/together)})
		}
	}
	fmt.Printf("medians of %d, %d threads\n\n", c.repeats, most)
	printTable(os.Stdout, []string{"set", "form", "r", "what", "sweeps", "one thread, s", "in turn, s", "at once, s", "in turn, ×", "at once, ×", "at once over in turn, ×"}, lines)
	printMissing(os.Stdout, s.missing)
	return nil
}

// several makes the runs, or the one run with its kicks.
func (t *task) several(opt symnmf.Options) (several, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(opt.Threads))
	a, err := t.data.operator(t.form, opt.Threads)
	if err != nil {
		return several{}, err
	}
	runtime.GC()
	begin := time.Now()
	res, err := symnmf.Factorize(context.Background(), a, t.rank, opt)
	if err != nil {
		return several{}, err
	}
	f := several{Threads: opt.Threads, AtOnce: opt.AtOnce, Seconds: time.Since(begin).Seconds(), RelErr: res.RelErr}
	for _, run := range res.Runs {
		f.Sweeps += run.Sweeps
	}
	return f, nil
}
