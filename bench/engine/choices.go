package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"symnmf"
	"symnmf/internal/instance"
	"symnmf/internal/median"
	"symnmf/matrix"
)

// choice is what a user may choose in place of what the program chooses by itself.
type choice struct {
	name   string
	form   form   // if "", the form of the row
	start  string // if "", the start that the program chooses for the method
	method string // if "", the method that the program chooses
	knobs  map[string]string
}

func (c *choice) String() string {
	if c.name == "" {
		return "auto"
	}
	return c.name
}

// choices are tried on each row: everything that auto chooses from, and the methods that have come nearest to auto.
var choices = []choice{
	{},
	{name: "A written out", form: fromA},
	{name: "start zero", start: "zero"},
	{name: "start random", start: "random"},
	{name: "start svd", start: "svd"},
	{name: "start tsvd", start: "tsvd"},
	{name: "precision double", method: "rowblock", knobs: map[string]string{"precision": "double"}},
	{name: "precision single", method: "rowblock", knobs: map[string]string{"precision": "single"}},
	{name: "no low rank first", method: "rowblock", knobs: map[string]string{"compress": "-1"}},
	{name: "a low rank first", method: "rowblock", knobs: map[string]string{"compress": "20"}},
	{name: "no joint steps", method: "rowblock", knobs: map[string]string{"joint": "-1"}},
	{name: "first sweep by columns", method: "rowblock", knobs: map[string]string{"first": "columns"}},
	{name: "first sweep by rows", method: "rowblock", knobs: map[string]string{"first": "rows"}},
	{name: "cd-cyclic", method: "cd-cyclic"},
	{name: "cd-shuffle", method: "cd-shuffle"},
	{name: "lai", method: "lai"},
	{name: "compressed", method: "compressed"},
	{name: "tsvd", method: "tsvd"},
	{name: "pgncg", method: "pgncg"},
	{name: "symhals", method: "symhals"},
	{name: "anls", method: "anls"},
}

// chosen is what a choice takes to reach a row's error.
type chosen struct {
	Row     string  `json:"row"`
	Choice  string  `json:"choice"`
	Threads int     `json:"threads"`
	Start   string  `json:"start"`
	Seeds   int     `json:"seeds"`
	Never   int     `json:"never"`   // seeds that did not reach it; once they are half of all, no more seeds are tried
	Seconds float64 `json:"seconds"` // the median over the seeds; seeds that do not reach the error count as the longest
	Sweeps  int     `json:"sweeps"`
}

// reached says whether there is a median.
func (c *chosen) reached() bool { return 2*c.Never < c.Seeds }

// late is how many times as long as auto a choice may take. A slower choice is not the best.
const late = 2

// choices measures the time to each error of the table, for what the program chooses by itself, including its
// start, and for every other choice.
func (c *config) choices(log *journal) error {
	s := &shelf{folder: c.data}
	threads := slices.Max(c.threads)
	var lines [][]string
	seen := map[string]bool{}
	for _, r := range selectRows(table, c.rows) {
		key := fmt.Sprint(r.set, r.form, r.rank, r.percent)
		if seen[key] {
			continue // measured already: only the start differs
		}
		seen[key] = true
		data, err := s.take(r.set, r.form)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name(), err)
		}
		if data == nil {
			continue
		}
		own := &task{data: data, form: r.form, rank: r.rank}
		target, err := c.target(own, r)
		if err != nil {
			return err
		}
		auto, best, err := c.tryChoices(own, r, target, threads, log)
		if err != nil {
			return err
		}
		lines = append(lines, choiceCells(r, target, auto, best))
	}
	fmt.Printf("%d seeds, medians of %d each, %d threads\n\n", c.seeds, c.repeats, threads)
	printTable(os.Stdout, []string{"set", "form", "r", "error, %", "start", "auto, s", "sweeps", "never", "best other", "s", "sweeps", "never", "auto over best"}, lines)
	printMissing(os.Stdout, s.missing)
	return nil
}

// tryChoices measures every choice on a row. It returns the one that the program makes by itself, and the fastest of the
// others that reach the error with most seeds, whose Choice is "" if there is none.
func (c *config) tryChoices(own *task, r row, target float64, threads int, log *journal) (auto, best chosen, err error) {
	limit := r.limit()
	// auto comes first and finds new memory, so its second time counts.
	if _, err := c.choose(own, choices[0], target, limit, threads); err != nil {
		return auto, best, fmt.Errorf("%s: %w", r.name(), err)
	}
	for _, way := range choices {
		if way.form != "" && r.form != fromX {
			continue
		}
		got, err := c.choose(own, way, target, limit, threads)
		if errors.Is(err, symnmf.ErrUnfit) || errors.Is(err, symnmf.ErrOption) {
			continue // the method does not accept such data
		}
		if err != nil {
			return auto, best, fmt.Errorf("%s, %s: %w", r.name(), way.name, err)
		}
		got.Row = r.name()
		log.add(got)
		fmt.Fprintf(os.Stderr, "%s, %s: %.4g s, %d sweeps, never %d of %d\n", strings.TrimSuffix(r.name(), "/"+r.start), &way, got.Seconds, got.Sweeps, got.Never, got.Seeds)
		reached := got.reached()
		switch {
		case way.name == "":
			auto = got
			if reached {
				limit = min(limit, time.Duration(late*got.Seconds*float64(time.Second))+50*time.Millisecond)
			}
		case reached && (best.Choice == "" || got.Seconds < best.Seconds):
			best = got
		}
	}
	return auto, best, nil
}

func choiceCells(r row, target float64, auto, best chosen) []string {
	seconds, sweeps := "-", "-"
	if auto.reached() {
		seconds, sweeps = short(auto.Seconds), fmt.Sprint(auto.Sweeps)
	}
	cells := []string{r.set, string(r.form), fmt.Sprint(r.rank), short5(100 * target), auto.Start, seconds, sweeps,
		fmt.Sprintf("%d of %d", auto.Never, auto.Seeds)}
	if best.Choice == "" {
		return append(cells, "none", "-", "-", "-", "-")
	}
	over := "never"
	if auto.reached() {
		over = fmt.Sprintf("%.2f", auto.Seconds/best.Seconds)
	}
	return append(cells, best.Choice, short(best.Seconds), fmt.Sprint(best.Sweeps), fmt.Sprintf("%d of %d", best.Never, best.Seeds), over)
}

// choose measures one choice.
func (c *config) choose(own *task, way choice, target float64, limit time.Duration, threads int) (chosen, error) {
	t := *own
	got := chosen{Choice: way.String(), Threads: threads, Start: way.start, Seeds: c.seeds}
	var err error
	if way.form != "" {
		t.form = way.form
	}
	if way.method != "" {
		if t.solver, err = symnmf.ParseSolver(way.method, way.knobs); err != nil {
			return got, err
		}
	}
	if way.start != "" {
		if t.start, err = symnmf.ParseStart(way.start); err != nil {
			return got, err
		}
	}
	if way.start == "" && (way.method == "" || way.method == "rowblock") { // take the start of auto
		res, err := own.factorize(context.Background(), symnmf.Options{Stop: symnmf.Stop{Sweeps: 1}})
		if err != nil {
			return got, err
		}
		if t.start, err = symnmf.ParseStart(res.Start); err != nil {
			return got, err
		}
		got.Start = res.Start
	}
	formed := 0.0
	if t.form == fromA && own.form == fromX {
		begin := time.Now()
		t.data = &dataset{name: own.data.name, a: instance.InnerProducts(own.data.x, matrix.Columns)}
		formed = time.Since(begin).Seconds()
	}
	var seconds, sweeps []float64
	for seed := range uint64(c.seeds) {
		found, err := t.find(target, seed, limit)
		if err != nil {
			return got, err
		}
		if !found.reached {
			if got.Never++; 2*got.Never >= got.Seeds {
				return got, nil // there is no median
			}
			continue
		}
		var times []float64
		for range c.repeats {
			took, _, err := t.timed(found.sweeps, seed, threads)
			if err != nil {
				return got, err
			}
			times = append(times, formed+took)
		}
		seconds, sweeps = append(seconds, median.Of(times)), append(sweeps, float64(found.sweeps))
	}
	slices.Sort(seconds)
	slices.Sort(sweeps)
	got.Seconds, got.Sweeps = seconds[(got.Seeds-1)/2], int(sweeps[(got.Seeds-1)/2])
	return got, nil
}
