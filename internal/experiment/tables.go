package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"symnmf"
	"symnmf/internal/median"
	"symnmf/internal/report"
)

// percent shows a relative error in percent, with four significant digits unless it is 0.
func percent(x float64) string {
	if x == 0 {
		return "0"
	}
	return strings.TrimSuffix(fmt.Sprintf("%#.4g", 100*x), ".")
}

// known is a relative error or, if that is below its rounding floor, the floor.
type known struct {
	relErr float64
	below  bool
}

func (r *Record) known(relErr float64) known {
	if floor := float64(r.ErrFloor); floor > relErr {
		return known{floor, true}
	}
	return known{relErr, false}
}

// showMean shows the mean of errors in percent and, with spread, the standard deviation of several. If one of them is
// a floor, the mean is shown as an upper bound.
func showMean(list []known, spread bool) string {
	var x []float64
	below := false
	for _, k := range list {
		x, below = append(x, k.relErr), below || k.below
	}
	mean, std := moments(x)
	switch {
	case below:
		return "< " + strconv.FormatFloat(100*mean, 'g', 2, 64)
	case spread && len(x) > 1:
		return percent(mean) + " ± " + strconv.FormatFloat(100*std, 'g', 2, 64)
	}
	return percent(mean)
}

func short(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }

// moments returns the mean and the sample standard deviation, which is NaN for fewer than two numbers and 0 where it
// is only rounding.
func moments(x []float64) (mean, std float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		std += (v - mean) * (v - mean)
	}
	if std = math.Sqrt(std / float64(len(x)-1)); std <= 0x1p-48*math.Abs(mean) {
		std = 0
	}
	return mean, std
}

// The cells without a number.
const (
	noCell   = ""
	noAnswer = "none" // the limit came before the first sweep ended
)

// cell shows the records of one method in one column. It calls show with the values of the runs that have an
// answer, and with their number plus that of the runs that the time limit ended before the first sweep. If no run
// has an answer, the cell says what became of them.
func cell[T any](list []*Record, value func(r *Record) T, show func(x []T, of int) string) string {
	var x []T
	status, none := noCell, 0
	for _, r := range list {
		switch {
		case !r.ended():
			status = r.Status
		case r.Sweeps == 0 && r.Status == "time-limit":
			status = noAnswer
			none++
		default:
			x = append(x, value(r))
		}
	}
	if len(x) == 0 {
		return status
	}
	return show(x, len(x)+none)
}

// methodTable returns a table with a row for each method and a column for each set. Beside it stands the paper's column
// if there is one.
func methodTable[T any](d *drawer, e *Experiment, columns []column, key, what string, value func(r *Record) T,
	show func(x []T, of int) string, theirs func(p paperValue) string) *report.Table {
	t := &report.Table{Name: cmp.Or(e.Tables[key], e.Name+"-"+key), Title: cmp.Or(e.Title, e.Name) + ": " + what, Columns: []string{"method"}}
	for k := range columns {
		t.Columns = append(t.Columns, columns[k].title)
		if inPaper(t.Name, columns[k].set.id()) {
			t.Columns = append(t.Columns, "paper")
		}
	}
	for _, m := range e.Methods {
		row := []string{m.Label}
		for k := range columns {
			c := &columns[k]
			row = append(row, cell(c.by[m.Label], value, show))
			if inPaper(t.Name, c.set.id()) {
				text := noCell
				if p, ok := paper[paperKey{t.Name, formless(c.set.id()), m.Label}]; ok {
					text = noAnswer
					if !math.IsNaN(p.value) {
						text = theirs(p)
					}
				}
				row = append(row, text)
			}
		}
		if slices.ContainsFunc(row[1:], func(cell string) bool { return cell != noCell }) {
			t.Rows = append(t.Rows, row)
		}
	}
	t.Notes = append(d.refusals(e), d.made(e)...)
	return t
}

// refusals says why runs were refused or failed, once for each method and reason.
func (d *drawer) refusals(e *Experiment) (notes []string) {
	for _, r := range d.rs.List {
		if r.Experiment == e.Name && (r.Status == Refused || r.Status == Failed) {
			notes = append(notes, fmt.Sprintf("%s %s: %s", r.Label, r.Status, r.Error))
		}
	}
	return unique(notes)
}

func (d *drawer) errorTable(e *Experiment, columns []column) *report.Table {
	floored := false
	t := methodTable(d, e, columns, "errors", "relative error at the end, percent, mean ± standard deviation over "+over(columns),
		func(r *Record) known {
			k := r.known(float64(r.RelErr))
			floored = floored || k.below
			return k
		},
		showErrors, paperValue.show)
	row := []string{"bound"}
	for k := range columns {
		c := &columns[k]
		row = append(row, c.bound())
		if inPaper(t.Name, c.set.id()) {
			row = append(row, noCell)
		}
	}
	t.Rows = append(t.Rows, row)
	notes := []string{"bound: no HHᵀ of that rank has a smaller error, whatever the signs of H."}
	if floored {
		notes = append(notes, "<: at least one of these errors is below its rounding floor.")
	}
	t.Notes = append(notes, t.Notes...)
	return t
}

// over says what the means are over.
func over(columns []column) string {
	matrices, starts := false, false
	for k := range columns {
		c := &columns[k]
		matrices = matrices || len(c.set.Instances) > 1
		seeds := map[uint64]bool{}
		for _, list := range c.by {
			for _, r := range list {
				seeds[r.Seed] = true
			}
		}
		starts = starts || len(seeds) > 1
	}
	switch {
	case !matrices:
		return "starts"
	case !starts:
		return "matrices"
	}
	return "starts and matrices"
}

// showErrors shows the mean and standard deviation of errors in percent, and how many there are if not all runs
// have one.
func showErrors(x []known, of int) string {
	if slices.ContainsFunc(x, func(k known) bool { return math.IsNaN(k.relErr) }) {
		return "fewer"
	}
	text := showMean(x, true)
	if len(x) < of {
		text += fmt.Sprintf(" (%d of %d)", len(x), of)
	}
	return text
}

// show writes an error of the paper.
func (p paperValue) show() string {
	if math.IsNaN(p.std) {
		return short5(p.value)
	}
	return short5(p.value) + " ± " + strconv.FormatFloat(p.std, 'g', 2, 64)
}

func short5(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }

// bound shows the lower bound of the error at that rank, as the mean over instances.
func (c *column) bound() string {
	bounds := map[uint64]float64{}
	for _, list := range c.by {
		for _, r := range list {
			if b := float64(r.LowerBound); !math.IsNaN(b) {
				bounds[r.Instance] = b
			}
		}
	}
	var x []float64
	for _, instance := range c.set.Instances {
		if b, ok := bounds[instance]; ok {
			x = append(x, b)
		}
	}
	if len(x) == 0 {
		return noCell
	}
	mean, _ := moments(x)
	return percent(mean)
}

func (d *drawer) sweepTable(e *Experiment, columns []column) *report.Table {
	round := func(x float64) string {
		if x < 100 {
			return short(x)
		}
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return methodTable(d, e, columns, "iterations", "sweeps in the limit, mean",
		func(r *Record) float64 { return float64(r.Sweeps) },
		func(x []float64, of int) string { // a run without an answer made none
			mean, _ := moments(append(x, make([]float64, of-len(x))...))
			return round(mean)
		},
		func(p paperValue) string { return round(p.value) })
}

// equalSweepsTable shows the errors after as many sweeps as the paper's methods made within its time limit. Such a
// comparison does not depend on the machine. It returns nil where the paper has no number of sweeps.
func (d *drawer) equalSweepsTable(e *Experiment, columns []column) *report.Table {
	t := &report.Table{Name: e.Name + "-equal-sweeps",
		Title:   cmp.Or(e.Title, e.Name) + ": relative error after the paper's number of sweeps, percent, mean ± standard deviation over " + over(columns),
		Columns: []string{"method"}}
	columns = slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return !inPaper(e.Tables["iterations"], c.set.id()) || c.any() == nil })
	if len(columns) == 0 {
		return nil
	}
	for k := range columns {
		t.Columns = append(t.Columns, columns[k].title, "paper", "sweeps")
	}
	for _, m := range e.Methods {
		row, some := []string{m.Label}, false
		for k := range columns {
			c := &columns[k]
			sweeps := paperOr(e.Tables["iterations"], formless(c.set.id()), m.Label)
			theirs, ok := paper[paperKey{e.Tables["errors"], formless(c.set.id()), m.Label}]
			if !ok || !(sweeps > 0) {
				row = append(row, noCell, noCell, noCell)
				continue
			}
			ours := cell(c.by[m.Label], func(r *Record) known { return r.known(r.errorAfter(int(math.Round(sweeps)))) }, showErrors)
			some = some || ours != noCell
			row = append(row, ours, theirs.show(), strconv.FormatFloat(sweeps, 'g', -1, 64))
		}
		if some {
			t.Rows = append(t.Rows, row)
		}
	}
	t.Notes = append([]string{"fewer: a limit ended the run before that many sweeps. A run that ended by itself before then has its last error. Above 50 sweeps, the error may be from up to 2 % fewer sweeps."}, d.made(e)...)
	return t
}

// errorAfter returns the error after that many sweeps, or after the last sweep before them that the trace has. For a
// run with fewer sweeps it returns the last error if the run ended by itself, and NaN if a limit ended it. It also
// returns NaN if the trace has no sweep so early.
func (r *Record) errorAfter(sweeps int) float64 {
	if r.Sweeps < sweeps {
		if limit := r.Status == symnmf.TimeLimit.String() || r.Status == symnmf.SweepLimit.String(); limit {
			return math.NaN()
		}
		return float64(r.RelErr)
	}
	k, found := slices.BinarySearch(r.Trace.Sweep, sweeps)
	switch {
	case found:
		return float64(r.Trace.RelErr[k])
	case k == 0:
		return math.NaN()
	}
	return float64(r.Trace.RelErr[k-1])
}

// setTable describes the matrices.
func (d *drawer) setTable(e *Experiment, columns []column) *report.Table {
	t := &report.Table{Name: e.Name + "-sets", Title: cmp.Or(e.Title, e.Name) + ": matrices",
		Columns: []string{"set", "r", "n", "numbers stored", "‖A‖", "bound, percent", "least error, percent", "by"}}
	for k := range columns {
		c := &columns[k]
		r := c.any()
		if r == nil {
			continue
		}
		row := []string{c.shown, strconv.Itoa(c.rank), strconv.Itoa(r.N), strconv.FormatInt(r.Stored, 10), noCell, c.bound(), noCell, noCell}
		if row[6], row[7] = d.leastOf(c, r); len(c.set.Instances) == 1 && !math.IsNaN(float64(r.NormA)) {
			row[4] = strconv.FormatFloat(float64(r.NormA), 'g', 6, 64)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// leastOf shows the least error, as the mean over instances, and the method that had it most often. Among methods that
// had it equally often, it is the first in the plan.
func (d *drawer) leastOf(c *column, like *Record) (relErr, by string) {
	var errors []known
	times := map[string]int{}
	for _, instance := range c.set.Instances {
		if best, ok := d.best[matrixKey(like.Set, instance, like.Rank)]; ok {
			errors = append(errors, best.least)
			times[best.label]++
		}
	}
	if len(errors) == 0 {
		return noCell, noCell
	}
	for _, label := range d.labels {
		if times[label] > times[by] {
			by = label
		}
	}
	if len(errors) > 1 {
		by += fmt.Sprintf(" (%d/%d)", times[by], len(errors))
	}
	return showMean(errors, false), by
}

// secondsTo returns the time at which the error of a run is first at most target, or NaN if it never is. As in curves,
// the start itself does not count.
func (r *Record) secondsTo(target float64) float64 {
	for k, e := range r.Trace.RelErr {
		if r.Trace.Sweep[k] > 0 && float64(e) <= target {
			return r.Trace.Seconds[k]
		}
	}
	if float64(r.RelErr) <= target { // a sweep that the limit cut short
		return r.Seconds
	}
	return math.NaN()
}

// reachTable shows the seconds to given errors.
func (d *drawer) reachTable(e *Experiment, c *column) *report.Table {
	t := &report.Table{Name: cmp.Or(e.Tables["seconds"], e.Name+"-seconds") + "-" + c.name,
		Title:   fmt.Sprintf("%s: %s: seconds to an error, median of the %s that reach it (how many do)", cmp.Or(e.Title, e.Name), c.title, over([]column{*c})),
		Columns: []string{"method"}}
	one := c.any()
	target := func(reach Reach, r *Record) float64 {
		if reach.Percent {
			return reach.Value
		}
		best := d.bestOf(e, r)
		return best + reach.Value*(1-best)
	}
	for _, reach := range e.Reach {
		head := reach.String()
		if !reach.Percent {
			head = "E ≤ " + head
			if len(c.set.Instances) == 1 {
				head += " (" + percent(target(reach, one)) + "%)"
			}
		}
		t.Columns = append(t.Columns, head)
	}
	for _, m := range e.Methods {
		if len(c.by[m.Label]) == 0 {
			continue
		}
		row := []string{m.Label}
		for _, reach := range e.Reach {
			row = append(row, cell(c.by[m.Label], func(r *Record) float64 { return r.secondsTo(target(reach, r)) }, showSeconds))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// showSeconds shows the median of the times that are not NaN, and how many of the runs have one. A NaN is a target that
// a run did not reach; runs without an answer count as such, too.
func showSeconds(x []float64, of int) string {
	x = slices.DeleteFunc(x, math.IsNaN)
	switch {
	case len(x) == 0:
		return "never"
	case of == 1:
		return short(x[0])
	}
	return fmt.Sprintf("%s (%d/%d)", short(median.Of(x)), len(x), of)
}

// eigenTable shows the seconds for eigenpairs with A written out, and with products through X.
func (d *drawer) eigenTable(e *Experiment, columns []column) *report.Table {
	t := &report.Table{Name: cmp.Or(e.Tables["seconds"], e.Name), Title: cmp.Or(e.Title, e.Name) + ": seconds",
		Columns: []string{"set", "r", "n", "XᵀX", "X", "ratio", "largest residual/‖A‖₂"}}
	theirs := slices.ContainsFunc(columns, func(c column) bool { return inPaper(t.Name, c.set.id()) })
	if theirs {
		t.Columns = append(t.Columns, "paper: XᵀX", "X", "ratio")
	}
	for k := range columns {
		c := &columns[k]
		r := c.any()
		if r == nil {
			continue
		}
		residual := 0.0
		seconds := func(form string) float64 {
			var x []float64
			for _, r := range c.by[form] {
				if r.Eigen != nil {
					x = append(x, r.Seconds)
					residual = max(residual, r.Eigen.Residual)
				}
			}
			if len(x) == 0 {
				return math.NaN()
			}
			return median.Of(x)
		}
		a, x := seconds(formA), seconds(formX)
		row := []string{c.shown, strconv.Itoa(c.rank), strconv.Itoa(r.N), orNone(a), orNone(x), orNone(a / x), fmt.Sprintf("%.1e", residual)}
		if theirs {
			a, x := paperOr(t.Name, formless(c.set.id()), formA), paperOr(t.Name, formless(c.set.id()), formX)
			row = append(row, orNone(a), orNone(x), orNone(a/x))
		}
		t.Rows = append(t.Rows, row)
	}
	t.Notes = append(d.refusals(e), d.made(e)...)
	return t
}

func orNone(x float64) string {
	if math.IsNaN(x) {
		return noCell
	}
	return short(x)
}

// paperOr returns a figure of the paper, or NaN where it has none.
func paperOr(table, set, method string) float64 {
	if p, ok := paper[paperKey{table, set, method}]; ok {
		return p.value
	}
	return math.NaN()
}
