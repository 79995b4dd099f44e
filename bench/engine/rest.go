package main

import (
	"fmt"
	"os"
	"slices"

	"symnmf/internal/median"
)

// left is a set and a rank on which a run goes on until it rests, or for some time.
type left struct {
	set  string
	form form
	rank int
}

func (l *left) name() string { return fmt.Sprintf("%s/%s/%d", l.set, l.form, l.rank) }

// lefts are sets of every kind: those on which defaults were chosen, and others.
var lefts = []left{
	{"CBCL", fromX, 60}, {"Frey", fromX, 60}, {"ORL", fromX, 60}, {"coil20", fromX, 20}, {"mnist4000", fromX, 20}, {"digits", fromX, 60}, {"umist_32x32", fromX, 60},
	{"hitech", fromX, 30}, {"reviews", fromX, 30}, {"la1", fromX, 30}, {"ohscal", fromX, 30}, {"classic", fromX, 30}, {"reuters21578", fromX, 30}, {"tdt2", fromX, 30}, {"k1b", fromX, 8}, {"tr11", fromX, 30}, {"classic3", fromX, 30},
	{"email-Eu-core", fromGraph, 16}, {"polblogs", fromGraph, 16}, {"cora", fromGraph, 16}, {"ego-Facebook", fromGraph, 16}, {"lastfm-asia", fromGraph, 16}, {"facebook-pages", fromGraph, 16}, {"ca-CondMat", fromGraph, 16},
	{"ca-AstroPh", fromGraph, 16}, {"blogcatalog", fromGraph, 16}, {"soc-Slashdot0902", fromGraph, 16},
	{"bells-.002", fromA, 30}, {"bells-.05", fromA, 30}, {"bells-.5", fromA, 30},
}

// rest measures how long a run takes with the program's own start and stopping rule, including making the operator, and
// where it ends. The method is auto unless another one is asked for.
func (c *config) rest(log *journal) error {
	if len(c.from) > 0 {
		return c.restFrom(log)
	}
	s := &shelf{folder: c.data}
	var lines [][]string
	for _, l := range selectRows(c.lefts(), c.rows) {
		data, err := s.take(l.set, l.form)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name(), err)
		}
		if data == nil {
			continue
		}
		t := &task{data: data, form: l.form, rank: l.rank, solver: c.solver, ignore: c.ignore}
		for _, threads := range c.threads {
			var f finish
			var seconds []float64
			for range c.repeats {
				if f, err = t.finish(0, 0, threads); err != nil {
					return fmt.Errorf("%s: %w", l.name(), err)
				}
				f.Row = l.name()
				log.add(f)
				seconds = append(seconds, f.Seconds)
			}
			fmt.Fprintf(os.Stderr, "%s, threads %d: %.4g s, %d sweeps\n", f.Row, threads, median.Of(seconds), f.Sweeps)
			lines = append(lines, []string{l.set, string(l.form), fmt.Sprint(l.rank), f.Start, fmt.Sprint(threads), fmt.Sprintf("%.4g", median.Of(seconds)),
				fmt.Sprintf("%.4g", slices.Min(seconds)), fmt.Sprintf("%.4g", slices.Max(seconds)), fmt.Sprint(f.Sweeps), fmt.Sprintf("%.5g", 100*f.RelErr), fmt.Sprintf("%.2g", f.KKT), f.Status})
		}
	}
	printTable(os.Stdout, []string{"set", "form", "r", "start", "threads", "seconds", "least", "most", "sweeps", "error, %", "KKT residual", "status"}, lines)
	printMissing(os.Stdout, s.missing)
	return nil
}

// lefts returns the sets, in the form and with the ranks that are asked for.
func (c *config) lefts() (all []left) {
	for _, l := range lefts {
		if c.written && l.form == fromX {
			l.form = fromA
		}
		if len(c.ranks) == 0 {
			all = append(all, l)
		}
		for _, l.rank = range c.ranks {
			all = append(all, l)
		}
	}
	return all
}

// restFrom measures where runs come to rest and how long they take, from every start that is asked for and
// several seeds, on the most threads.
func (c *config) restFrom(log *journal) error {
	s := &shelf{folder: c.data}
	threads := slices.Max(c.threads)
	var lines [][]string
	for _, l := range selectRows(c.lefts(), c.rows) {
		for _, start := range c.from {
			t, err := c.newTask(s, l.set, l.form, l.rank, start)
			if err != nil {
				return fmt.Errorf("%s: %w", l.name(), err)
			}
			if t == nil {
				break
			}
			var seconds, sweeps, errors []float64
			for seed := range uint64(c.seeds) {
				f, err := t.finish(0, seed, threads)
				if err != nil {
					return fmt.Errorf("%s: %w", l.name(), err)
				}
				f.Row = l.name()
				log.add(f)
				seconds, sweeps, errors = append(seconds, f.Seconds), append(sweeps, float64(f.Sweeps)), append(errors, 100*f.RelErr)
			}
			fmt.Fprintf(os.Stderr, "%s from %s: %.4g s, %.6g %%\n", l.name(), start, median.Of(seconds), median.Of(errors))
			lines = append(lines, []string{l.set, string(l.form), fmt.Sprint(l.rank), start, short(median.Of(seconds)), fmt.Sprint(median.Of(sweeps)),
				fmt.Sprintf("%.6g", slices.Min(errors)), fmt.Sprintf("%.6g", median.Of(errors)), fmt.Sprintf("%.6g", slices.Max(errors))})
		}
	}
	fmt.Printf("%d seeds, %d threads, default tolerance\n\n", c.seeds, threads)
	printTable(os.Stdout, []string{"set", "form", "r", "start", "seconds", "sweeps", "least, %", "median, %", "most, %"}, lines)
	printMissing(os.Stdout, s.missing)
	return nil
}
