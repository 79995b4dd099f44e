package experiment

import (
	"encoding/csv"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"symnmf/internal/report"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGoldenTables draws testdata/records.jsonl and compares with testdata/tables.golden. The records are of
// a run of testdata/golden.plan, with round numbers in place of the times.
func TestGoldenTables(t *testing.T) {
	rs, err := Read("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	page := Draw(rs)
	fmt.Fprintf(&b, "%s\n%s\n", page.Title, page.Intro)
	for _, s := range page.Sections {
		fmt.Fprintf(&b, "\n== %s\n%s\n", s.Heading, s.Text)
		for _, table := range s.Tables {
			fmt.Fprintf(&b, "\n%s: %s\n", table.Name, table.Title)
			w := csv.NewWriter(&b)
			w.Comma = '\t'
			w.Write(table.Columns)
			w.WriteAll(table.Rows)
			for _, note := range table.Notes {
				fmt.Fprintln(&b, note)
			}
		}
		for _, c := range s.Charts {
			fmt.Fprintf(&b, "\n%s: %s; %s; %s; from %.3g\n", c.Name, c.Title, c.XLabel, c.YLabel, c.Floor)
			for _, line := range c.Series {
				n := len(line.X)
				fmt.Fprintf(&b, "%s: %d points, (%.6g, %.6g) to (%.6g, %.6g)\n", line.Name, n, line.X[0], line.Y[0], line.X[n-1], line.Y[n-1])
			}
		}
		for _, g := range s.Galleries {
			fmt.Fprintf(&b, "\n%s: %s; %d pictures of %d×%d, %d a row\n", g.Name, g.Title, len(g.Pictures), g.W, g.H, g.PerRow)
		}
	}
	golden := filepath.Join("testdata", "tables.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); d != "" {
		t.Errorf("%s (-update rewrites it), - wanted, + drawn:\n%s", golden, d)
	}
}

// made returns records of the plan from the given list, in which it fills in what all of them have in common.
func made(t *testing.T, text string, list ...Record) *Records {
	t.Helper()
	rs := &Records{Plan: mustParse(t, text), List: list}
	for k := range list {
		r := &list[k]
		r.Experiment, r.Task, r.N, r.Version, r.Machine = "e", TaskFit, 5, "v1", "m"
		r.ErrFloor = 1e-9
		r.Key = fmt.Sprint(k)
		if r.Status == "" {
			r.Status = "time-limit"
		}
		if r.Status == Refused {
			r.LowerBound, r.NormA = Number(math.NaN()), Number(math.NaN())
		} else if r.Trace == nil {
			r.Trace = &Trace{}
		}
		for s := range r.Trace.sweeps() {
			r.Trace.Sweep = append(r.Trace.Sweep, s)
		}
	}
	return rs
}

// sweeps returns the number of points of a trace, which may be nil.
func (t *Trace) sweeps() int {
	if t == nil {
		return 0
	}
	return len(t.Seconds)
}

// tableOf returns the table of that name, whose rows must all be as long as its heading.
func tableOf(t *testing.T, p *report.Page, name string) *report.Table {
	t.Helper()
	var names []string
	for _, s := range p.Sections {
		for _, table := range s.Tables {
			if table.Name == name {
				for _, row := range table.Rows {
					if len(row) != len(table.Columns) {
						t.Errorf("%s: a row %q under %q", name, row, table.Columns)
					}
				}
				return table
			}
			names = append(names, table.Name)
		}
	}
	t.Fatalf("no table %s; there are %v", name, names)
	return nil
}

// checkRows compares the rows of a table, cell by cell.
func checkRows(t *testing.T, table *report.Table, want ...[]string) {
	t.Helper()
	if len(table.Rows) != len(want) {
		t.Fatalf("%s: %q, want %q", table.Name, table.Rows, want)
	}
	for k := range want {
		if !slices.Equal(table.Rows[k], want[k]) {
			t.Errorf("%s, row %d: %q, want %q", table.Name, k, table.Rows[k], want[k])
		}
	}
}

const cbclPlan = "plan p\nexperiment e\ndata cbcl frey\nrank 60\ntime 60s\nseeds 0-2\nmethod cd-cyclic start=zero\nmethod cd-cyclic start=random\n" +
	"method rowblock start=random\nreach 0.1 31%\ntables errors=table4 iterations=table3 seconds=when\n"

// TestTables compares the tables with figures worked out by hand, which stand beside those of the paper.
func TestTables(t *testing.T) {
	trace := func(errs ...Number) *Trace {
		return &Trace{Seconds: []float64{0, 1, 2}, RelErr: errs, KKT: make([]Number, 3)}
	}
	rs := made(t, cbclPlan,
		Record{Set: "cbcl", Rank: 60, Label: "cd-cyclic-0", Sweeps: 2, Seconds: 2.5, RelErr: 0.2, LowerBound: 0.1, NormA: 7, Trace: trace(1, 0.5, 0.3)},
		Record{Set: "cbcl", Rank: 60, Label: "cd-cyclic-rand", Sweeps: 1, Seconds: 2, RelErr: 0.3, LowerBound: 0.1, Trace: trace(1, 0.28, 0.3), Seed: 0},
		Record{Set: "cbcl", Rank: 60, Label: "cd-cyclic-rand", Sweeps: 2, Seconds: 2, RelErr: 0.4, LowerBound: 0.1, Trace: trace(1, 0.5, 0.4), Seed: 1},
		Record{Set: "cbcl", Rank: 60, Label: "cd-cyclic-rand", Sweeps: 4, Seconds: 2, RelErr: 0.5, LowerBound: 0.1, Trace: trace(1, 0.6, 0.5), Seed: 2},
		Record{Set: "cbcl", Rank: 60, Label: "rowblock-rand", Sweeps: 0, Seconds: 60, RelErr: 1, LowerBound: 0.1, Trace: &Trace{Seconds: []float64{0}, RelErr: []Number{1}, KKT: []Number{0}}},
		Record{Set: "frey", Rank: 60, Label: "rowblock-rand", Status: Refused, Error: "too tall"},
		Record{Set: "frey", Rank: 60, Label: "rowblock-rand", Status: Refused, Error: "too tall", Seed: 1},
		Record{Set: "frey", Rank: 30, Label: "cd-cyclic-0", Sweeps: 9, RelErr: 0.01}, // not in the plan
	)
	page := Draw(rs)
	table := tableOf(t, page, "table4")
	if want := []string{"method", "cbcl", "paper", "frey", "paper"}; !slices.Equal(table.Columns, want) {
		t.Errorf("%q, want %q", table.Columns, want)
	}
	checkRows(t, table,
		[]string{"cd-cyclic-0", "20.00", "0.169", "", "0.105"},
		[]string{"cd-cyclic-rand", "40.00 ± 10", "0.751 ± 0.007", "", "0.765 ± 0.004"},
		[]string{"rowblock-rand", "none", "", "refused", ""},
		[]string{"bound", "10.00", "", "", ""})
	if want := []string{"bound: no HHᵀ of that rank has a smaller error, whatever the signs of H.", "rowblock-rand refused: too tall", "Version v1.", "Machine: m."}; !slices.Equal(table.Notes, want) {
		t.Errorf("%q, want %q", table.Notes, want)
	}
	checkRows(t, tableOf(t, page, "table3"),
		[]string{"cd-cyclic-0", "2", "116", "", "166"},
		[]string{"cd-cyclic-rand", "2.33", "95", "", "138"},
		[]string{"rowblock-rand", "none", "", "refused", ""})
	// The paper has 116 sweeps from zero and 95 from a random start. No run here has as many, and none ended
	// by itself.
	equal := tableOf(t, page, "e-equal-sweeps")
	if want := []string{"method", "cbcl", "paper", "sweeps"}; !slices.Equal(equal.Columns[:4], want) {
		t.Errorf("%q, want %q", equal.Columns, want)
	}
	if equal.Rows[0][1] != "fewer" || equal.Rows[1][1] != "fewer" || equal.Rows[1][2] != "0.751 ± 0.007" || equal.Rows[1][3] != "95" || len(equal.Rows) != 2 {
		t.Errorf("%q", equal.Rows)
	}
	long := &Record{Sweeps: 9, RelErr: 0.1, Status: "time-limit", Trace: &Trace{Sweep: []int{0, 1, 4, 8, 9}, RelErr: []Number{1, 0.5, 0.4, 0.3, 0.2}}}
	for sweeps, want := range map[int]float64{1: 0.5, 4: 0.4, 7: 0.4, 8: 0.3, 9: 0.2, 10: math.NaN()} {
		if got := long.errorAfter(sweeps); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("after %d sweeps %v, want %v", sweeps, got, want)
		}
	}
	if long.Status = "stalled"; long.errorAfter(10) != 0.1 {
		t.Error("a run that ended by itself has another error after its end")
	}
	late := &Record{Sweeps: 9, RelErr: 0.1, Status: "stalled", Trace: &Trace{Sweep: []int{5, 9}, RelErr: []Number{0.2, 0.1}}}
	for _, r := range []*Record{late, {Sweeps: 9, RelErr: 0.1, Trace: &Trace{}}} {
		if got := r.errorAfter(4); !math.IsNaN(got) {
			t.Errorf("a trace of the sweeps %v has the error %v after 4", r.Trace.Sweep, got)
		}
	}
	checkRows(t, tableOf(t, page, "e-sets"), []string{"cbcl", "60", "5", "0", "7", "10.00", "20.00", "cd-cyclic-0"},
		[]string{"frey", "60", "5", "0", "", "", "", ""})
	// E ≤ 0.1 means an error of at most 0.2 + 0.1·0.8 = 0.28. From the zero start only the final error of
	// 0.2, in a sweep cut short, is below that.
	when := tableOf(t, page, "when-cbcl")
	if want := []string{"method", "E ≤ 0.1 (28.00%)", "31%"}; !slices.Equal(when.Columns, want) {
		t.Errorf("%q, want %q", when.Columns, want)
	}
	checkRows(t, when,
		[]string{"cd-cyclic-0", "2.5", "2"},
		[]string{"cd-cyclic-rand", "1 (1/3)", "1 (1/3)"},
		[]string{"rowblock-rand", "none", "none"})
	if want := "Plan p: 8 of 14 runs recorded. No runs on cbcl, frey. Threads: 1. Errors for the traces are computed off the clock. Version v1. Machine: m."; page.Intro != want {
		t.Errorf("%q, want %q", page.Intro, want)
	}
	rs.List[1].Version = "v2"
	if note := tableOf(t, Draw(rs), "table3").Notes[1]; note != "2 versions, so times are not comparable: v1; v2." {
		t.Errorf("%q", note)
	}
}

// TestPartly: an experiment or a method without records is not shown, unless the paper has a figure for it.
func TestPartly(t *testing.T) {
	rs := made(t, cbclPlan+"experiment other\ndata frey\nrank 60\nsweeps 1\nmethod cd-cyclic\n",
		Record{Set: "cbcl", Rank: 60, Label: "cd-cyclic-0", Sweeps: 1, RelErr: 0.5, LowerBound: Number(math.NaN()),
			Trace: &Trace{Seconds: []float64{0, 1}, RelErr: []Number{1, 0.5}, KKT: make([]Number, 2)}})
	page := Draw(rs)
	if len(page.Sections) != 1 || page.Sections[0].Heading != "e" {
		t.Errorf("%+v", page.Sections)
	}
	checkRows(t, tableOf(t, page, "table3"), []string{"cd-cyclic-0", "1", "116", "", "166"}, []string{"cd-cyclic-rand", "", "95", "", "138"})
	checkRows(t, tableOf(t, page, "when-cbcl"), []string{"cd-cyclic-0", "1", "never"})
}

// TestPercent: percentages have four significant digits, trailing zeros among them.
func TestPercent(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.669: "66.90", 0.00045774: "0.04577", 1: "100.0", 0.9999: "99.99", 12.344: "1234", 1.377e-14: "1.377e-12"} {
		if got := percent(x); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}

// TestFloors: an error below its rounding floor is shown as less than the floor, without a deviation. The
// table of sets agrees with that of errors.
func TestFloors(t *testing.T) {
	none := Number(math.NaN())
	rs := made(t, cbclPlan, Record{Set: "cbcl", Rank: 60, Label: "cd-cyclic-0", Sweeps: 1, RelErr: 1e-12, LowerBound: none},
		Record{Set: "cbcl", Rank: 60, Label: "cd-cyclic-rand", Sweeps: 1, RelErr: 1e-13, LowerBound: none},
		Record{Set: "cbcl", Rank: 60, Label: "cd-cyclic-rand", Sweeps: 1, RelErr: 3e-8, LowerBound: none, Seed: 1})
	rs.List[1].ErrFloor, rs.List[2].ErrFloor = 1e-8, 1e-8
	page := Draw(rs)
	table := tableOf(t, page, "table4")
	if table.Rows[0][1] != "< 1e-07" || table.Rows[1][1] != "< 2e-06" || table.Rows[len(table.Rows)-1][1] != "" ||
		!slices.Contains(table.Notes, "<: at least one of these errors is below its rounding floor.") {
		t.Errorf("%q, %q", table.Rows, table.Notes)
	}
	if row := tableOf(t, page, "e-sets").Rows[0]; row[6] != "< 1e-07" || row[7] != "cd-cyclic-0" {
		t.Errorf("%q", row)
	}
	for _, tc := range []struct{ floor, best, want float64 }{{1e-7, 0, 1e-7}, {1e-4, 0.5, 1e-8 / 0.5}, {1e-7, 0.5, 0.5e-9 / 0.5}, {1e-3, 1e-3, 1e-3 / 0.999}} {
		if got := gapFloor(tc.floor, tc.best); !(math.Abs(got-tc.want) <= 1e-12*tc.want) {
			t.Errorf("floor %v, best %v: %v, want %v", tc.floor, tc.best, got, tc.want)
		}
	}
}

// TestTies: among errors that only rounding tells apart, the one whose method comes first in the plan counts
// as the least, whatever the order of the records and of the alphabet.
func TestTies(t *testing.T) {
	const text = "plan p\nexperiment e\ndata cbcl\nrank 60\nsweeps 1\nmethod rowblock\nmethod cd-cyclic\nmethod anls\n"
	run := func(label string, e, floor Number) Record {
		return Record{Set: "cbcl", Rank: 60, Label: label, Sweeps: 1, RelErr: e, ErrFloor: floor}
	}
	for _, tc := range []struct {
		list []Record
		want string
	}{
		{[]Record{run("cd-cyclic", 0.6303747941297789, 1e-9), run("rowblock", 0.6303747941297793, 1e-9)}, "rowblock"},
		{[]Record{run("cd-cyclic", 0.6303747941297789, 1e-9), run("rowblock", 0.63037479, Number(math.NaN()))}, "rowblock"},
		{[]Record{run("cd-cyclic", 0.6303747, 1e-9), run("rowblock", 0.6303748, 1e-9)}, "cd-cyclic"},
		{[]Record{run("anls", 0.6303747, 1e-3), run("cd-cyclic", 0.6303748, 1e-3), run("rowblock", 0.6304, 1e-3)}, "cd-cyclic"}, // e is known to 8e-7
	} {
		floors := []Number{}
		for _, r := range tc.list {
			floors = append(floors, r.ErrFloor)
		}
		rs := made(t, text, tc.list...)
		for k := range rs.List {
			rs.List[k].ErrFloor = floors[k]
		}
		if row := tableOf(t, Draw(rs), "e-sets").Rows[0]; row[7] != tc.want {
			t.Errorf("%q, want %s", row, tc.want)
		}
	}
}

// TestCurves: E(t) begins after the first sweep, ends where the run does, and refers to the least error of
// all experiments. Over starts and instances, the mean is of E and not of the errors.
func TestCurves(t *testing.T) {
	rs := made(t, cbclPlan+"experiment other\ndata cbcl form=explicit\nrank 60\nsweeps 1\nmethod cd-cyclic\n",
		Record{Set: "cbcl", Rank: 60, Label: "cd-cyclic-0", Sweeps: 2, Seconds: 4, RelErr: 0.3,
			Trace: &Trace{Seconds: []float64{0.5, 1, 3}, RelErr: []Number{1, 0.6, 0.4}, KKT: make([]Number, 3)}},
		Record{Set: "cbcl,form=explicit", Rank: 60, Label: "cd-cyclic", Sweeps: 1, RelErr: 0.2},
	)
	rs.List[1].Experiment = "other"
	page := Draw(rs)
	if len(page.Sections[0].Charts) != 1 {
		t.Fatalf("%+v", page.Sections)
	}
	c := page.Sections[0].Charts[0]
	if c.Name != "e-cbcl" || !c.LogX || !c.LogY || len(c.Series) != 1 || c.Series[0].Name != "cd-cyclic-0" {
		t.Fatalf("%+v", c)
	}
	want := []float64{0.5, 0.25, 0.125} // (0.6−0.2)/0.8, …
	if len(c.Series[0].X) != len(want) {
		t.Fatalf("%v, want %d points", c.Series[0].X, len(want))
	}
	for k, y := range c.Series[0].Y {
		if !(math.Abs(y-want[k]) <= 1e-15) || c.Series[0].X[k] != []float64{1, 3, 4}[k] {
			t.Errorf("point %d: %v, %v, want E = %v", k, c.Series[0].X[k], y, want[k])
		}
	}
	if len(page.Sections[1].Charts) != 0 { // E = 0 has no place on the scale
		t.Errorf("%+v", page.Sections[1].Charts)
	}

	a := curve{[]float64{1, 2, 8}, []float64{0.8, 0.4, 0.2}}
	b := curve{[]float64{2, 4}, []float64{0.6, 0.1}}
	s := average([]curve{a, b})
	if s.X[0] != 2 || s.X[len(s.X)-1] != 8 || len(s.X) != gridPoints || !slices.IsSorted(s.X) {
		t.Errorf("times %v", s.X)
	}
	for k, x := range s.X {
		ea, eb := 0.4, 0.6 // steps
		if x >= 8 {
			ea = 0.2
		}
		if x >= 4 {
			eb = 0.1
		}
		if !(math.Abs(s.Y[k]-(ea+eb)/2) <= 1e-15) {
			t.Errorf("at %v: %v, want %v", x, s.Y[k], (ea+eb)/2)
		}
	}
	if s := average([]curve{{[]float64{0}, []float64{0.5}}}); len(s.X) != 1 || s.Y[0] != 0.5 {
		t.Errorf("one point: %+v", s)
	}
}

// TestLooks: a name has the same look on the whole page. Looks are numbered in the order in which names first
// appear.
func TestLooks(t *testing.T) {
	const text = "plan p\nexperiment e\ndata cbcl\nrank 60\nsweeps 1\nmethod anls\nmethod cd-cyclic\nexperiment f\ndata cbcl\nrank 60\nsweeps 1\nmethod rowblock\nmethod cd-cyclic\nmethod anls\n"
	run := func(label string) Record {
		return Record{Set: "cbcl", Rank: 60, Label: label, Sweeps: 1, Seconds: 1, RelErr: 0.3, Trace: &Trace{Seconds: []float64{0, 1}, RelErr: []Number{0.2, 0.3}, KKT: make([]Number, 2)}}
	}
	rs := made(t, text, run("anls"), run("cd-cyclic"), run("rowblock"), run("cd-cyclic"), run("anls"))
	for k := 2; k < 5; k++ {
		rs.List[k].Experiment = "f"
	}
	p := Draw(rs)
	if first, second := p.Sections[0].Charts[0].Looks, p.Sections[1].Charts[0].Looks; !slices.Equal(first, []int{0, 1}) || !slices.Equal(second, []int{2, 1, 0}) {
		t.Errorf("%v, %v", first, second)
	}
}

// TestEndAlone: where other runs have a curve, a run without figures for its sweeps has a point at its end.
func TestEndAlone(t *testing.T) {
	page := Draw(made(t, cbclPlan,
		Record{Set: "cbcl", Rank: 60, Label: "cd-cyclic-0", Sweeps: 3, Seconds: 7, RelErr: 0.3,
			Trace: &Trace{Seconds: []float64{0}, RelErr: []Number{1}, KKT: make([]Number, 1)}},
		Record{Set: "cbcl", Rank: 60, Label: "cd-cyclic-rand", Sweeps: 1, Seconds: 1, RelErr: 0.2}))
	c := page.Sections[0].Charts[0]
	if len(c.Series) != 1 || c.Series[0].Name != "cd-cyclic-0" || !slices.Equal(c.Series[0].X, []float64{7}) || !(math.Abs(c.Series[0].Y[0]-0.125) <= 1e-15) {
		t.Errorf("%+v", c.Series)
	}
}

// TestKnownLeast: if e_min is known, the scale goes down to the rounding floor of each run.
func TestKnownLeast(t *testing.T) {
	const text = "plan p\nexperiment e\ndata synthetic:low-rank n=5\nrank 2\nsweeps 9\nbest 0\nmethod cd-cyclic start=random\nmethod cd-shuffle start=random\n"
	run := func(label string, e Number) Record {
		return Record{Set: "synthetic:low-rank,n=5", Rank: 2, Label: label, Sweeps: 1, Seconds: 2, RelErr: e,
			Trace: &Trace{Seconds: []float64{0, 2}, RelErr: []Number{1, e}, KKT: make([]Number, 2)}}
	}
	rs := made(t, text, run("cd-cyclic-rand", 1e-12), run("cd-shuffle-rand", 0.2))
	rs.List[0].ErrFloor, rs.List[1].ErrFloor = 1e-10, 5e-7
	for k := range rs.List {
		rs.List[k].Instance = rs.Plan.Experiments[0].Data[0].Instances[0]
	}
	c := Draw(rs).Sections[0].Charts[0]
	if len(c.Series) != 2 || c.Floor != 0 || c.Series[0].Y[0] != 1e-10 || c.Series[1].Y[0] != 0.2 {
		t.Errorf("from %v: %+v", c.Floor, c.Series)
	}
}

// TestOver: captions say what the means are taken over.
func TestOver(t *testing.T) {
	for _, tc := range []struct {
		instances []uint64
		seeds     []uint64
		want      string
	}{{[]uint64{0}, []uint64{0, 1}, "starts"}, {[]uint64{1, 2}, []uint64{0, 0}, "matrices"}, {[]uint64{1, 2}, []uint64{0, 1}, "starts and matrices"}} {
		c := column{set: Set{Instances: tc.instances}, by: map[string][]*Record{"m": {{Seed: tc.seeds[0]}, {Seed: tc.seeds[1]}}}}
		if got := over([]column{c}); got != tc.want {
			t.Errorf("instances %v, seeds %v: over %s, want %s", tc.instances, tc.seeds, got, tc.want)
		}
	}
}

// TestFromFirstSweep: the seconds to reach an error are those of a sweep. The start does not count, although
// its error may be smaller than those of the sweeps.
func TestFromFirstSweep(t *testing.T) {
	r := &Record{Seconds: 4, RelErr: 0.4, Trace: &Trace{Sweep: []int{0, 1, 2}, Seconds: []float64{0.1, 1, 2}, RelErr: []Number{0.2, 0.6, 0.5}}}
	for target, want := range map[float64]float64{0.6: 1, 0.5: 2, 0.4: 4, 0.3: math.NaN()} {
		if got := r.secondsTo(target); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("to %v: %v, want %v", target, got, want)
		}
	}
}

// TestWithoutAnswer: a run that a limit ended before its first sweep counts as one of the runs, with 0 sweeps
// and without an error.
func TestWithoutAnswer(t *testing.T) {
	rs := made(t, cbclPlan,
		Record{Set: "cbcl", Rank: 60, Label: "cd-cyclic-rand", Sweeps: 3, Seconds: 1, RelErr: 0.5},
		Record{Set: "cbcl", Rank: 60, Label: "cd-cyclic-rand", Seed: 1, Sweeps: 0, Seconds: 1, RelErr: 1})
	page := Draw(rs)
	checkRows(t, tableOf(t, page, "table3"), []string{"cd-cyclic-0", "", "116", "", "166"}, []string{"cd-cyclic-rand", "1.5", "95", "", "138"})
	if row := tableOf(t, page, "table4").Rows[1]; row[1] != "50.00 (1 of 2)" {
		t.Errorf("%q", row)
	}
	checkRows(t, tableOf(t, page, "when-cbcl"), []string{"cd-cyclic-rand", "1 (1/2)", "never"})
}

// TestInstances: matrices of a kind are averaged, each with E relative to its own least error, unless best 0
// sets that to 0.
func TestInstances(t *testing.T) {
	const text = "plan p\nexperiment e\ndata synthetic:full-rank n=5 instances=1-2\nrank 2\nsweeps 9\nreach 0.5\nmethod cd-cyclic start=random\nmethod cd-shuffle start=random\n"
	list := func() []Record {
		var list []Record
		for _, instance := range []uint64{1, 2} {
			for _, label := range []string{"cd-cyclic-rand", "cd-shuffle-rand"} {
				e := Number(0.25 * float64(instance))
				if label == "cd-shuffle-rand" {
					e = Number(0.125 * float64(instance)) // the best
				}
				list = append(list, Record{Set: "synthetic:full-rank,n=5", Instance: instance, Rank: 2, Label: label, Sweeps: 1, Seconds: 2, RelErr: e,
					LowerBound: Number(0.0625 * float64(instance)), Trace: &Trace{Seconds: []float64{0, 2}, RelErr: []Number{1, e}, KKT: make([]Number, 2)}})
			}
		}
		return list
	}
	page := Draw(made(t, text, list()...))
	table := tableOf(t, page, "e-errors")
	if table.Columns[1] != "full-rank n=5" {
		t.Errorf("%q", table.Columns)
	}
	checkRows(t, table, []string{"cd-cyclic-rand", "37.50 ± 18"}, []string{"cd-shuffle-rand", "18.75 ± 8.8"}, []string{"bound", "9.375"})
	chart := page.Sections[0].Charts[0]
	want := ((0.25-0.125)/0.875 + (0.5-0.25)/0.75) / 2
	if len(chart.Series) != 1 || !(math.Abs(chart.Series[0].Y[0]-want) <= 1e-15) {
		t.Errorf("%+v, want E = %v", chart.Series, want)
	}
	chart = Draw(made(t, strings.Replace(text, "reach", "best 0\nreach", 1), list()...)).Sections[0].Charts[0]
	if len(chart.Series) != 2 || !(math.Abs(chart.Series[1].Y[0]-(0.125+0.25)/2) <= 1e-15) {
		t.Errorf("with best 0: %+v", chart.Series)
	}
}

// TestGallery: pictures are dark where a column of H is large.
func TestGallery(t *testing.T) {
	text := "plan p\nexperiment e\ndata cbcl\nrank 2\nsweeps 9\nmethod cd-cyclic start=zero\npictures 2x1\nfigure figure1\n"
	page := Draw(made(t, text, Record{Set: "cbcl", Rank: 2, Label: "cd-cyclic-0", RelErr: 0.000618, Sweeps: 9, Pictures: []byte{0, 255, 51, 102}}))
	g := page.Sections[0].Galleries[0]
	if g.Name != "figure1-cbcl-cd-cyclic-0" || g.Title != "cbcl: cd-cyclic-0, relative error 0.06180 %" || g.W != 2 || g.H != 1 || g.PerRow != 2 {
		t.Errorf("%+v", g)
	}
	if want := [][]float64{{0, 1}, {0.2, 0.4}}; !g.Inverted || len(g.Pictures) != 2 || !slices.Equal(g.Pictures[0], want[0]) || !slices.Equal(g.Pictures[1], want[1]) {
		t.Errorf("%v, want %v", g.Pictures, want)
	}
}

// TestNames: every table and figure has a name of its own, whatever the plan says, and sets that differ are not titled
// alike.
func TestNames(t *testing.T) {
	const fit = "rank 2\nsweeps 9\nbest 0\nreach 0.5\nmethod cd-cyclic start=zero\n"
	text := "plan p\nexperiment e\ndata demo:karate karate\n" + fit + "figure same\ntables errors=both\nexperiment f\ndata karate\n" + fit + "figure same\ntables errors=both\n" +
		"experiment g\ndata synthetic:low-rank n=4 instances=1-2\n" + fit + "pictures 2x2\n"
	var list []Record
	for _, r := range []Record{
		{Set: "demo:karate"}, {Set: "karate"}, {Set: "karate"},
		{Set: "synthetic:low-rank,n=4", Instance: 1, Pictures: make([]byte, 8)},
		{Set: "synthetic:low-rank,n=4", Instance: 2, Pictures: make([]byte, 8)},
	} {
		r.Rank, r.Label, r.Sweeps, r.Seconds, r.RelErr = 2, "cd-cyclic-0", 1, 1, 0.3
		r.Trace = &Trace{Seconds: []float64{0, 1}, RelErr: []Number{1, 0.3}, KKT: make([]Number, 2)}
		list = append(list, r)
	}
	rs := made(t, text, list...)
	for k, name := range []string{"e", "e", "f", "g", "g"} {
		rs.List[k].Experiment = name
	}
	page := Draw(rs)
	seen, titles := map[string]bool{}, map[string]bool{}
	tables, charts, galleries := 0, 0, 0
	take := func(name string) {
		if seen[name] {
			t.Errorf("%s twice", name)
		}
		seen[name] = true
	}
	for _, s := range page.Sections {
		for _, table := range s.Tables {
			take(table.Name)
			tables++
		}
		for _, c := range s.Charts {
			take(c.Name)
			charts++
			titles[s.Heading+c.Title] = true
		}
		for _, g := range s.Galleries {
			take(g.Name)
			galleries++
			titles[g.Title] = true
		}
	}
	if charts != 4 || galleries != 2 || tables < 6 || len(titles) != charts+galleries {
		t.Errorf("%d tables, %d charts and %d galleries with the titles %v", tables, charts, galleries, titles)
	}
	for _, name := range []string{"both", "both-2", "same-karate", "same-demokarate", "same-karate-2", "g-low-rank-n4-cd-cyclic-0-instance2"} {
		if !seen[name] {
			t.Errorf("no %s among %v", name, slices.Sorted(maps.Keys(seen)))
		}
	}
	if columns := tableOf(t, page, "both").Columns; !slices.Equal(columns, []string{"method", "demo:karate", "karate"}) {
		t.Errorf("%q", columns)
	}
}

// TestNormOfAny: the table of matrices has ‖A‖ if any record has it, though a method before was refused.
func TestNormOfAny(t *testing.T) {
	rs := made(t, "plan p\nexperiment e\ndata cbcl\nrank 2\nsweeps 9\nmethod anls start=zero\nmethod cd-cyclic start=zero\n",
		Record{Set: "cbcl", Rank: 2, Label: "anls-0", Status: Refused, Error: "why", NormA: Number(math.NaN())},
		Record{Set: "cbcl", Rank: 2, Label: "cd-cyclic-0", NormA: 7, Sweeps: 1, RelErr: 0.5, LowerBound: Number(math.NaN()),
			Trace: &Trace{Seconds: []float64{0, 1}, RelErr: []Number{1, 0.5}, KKT: make([]Number, 2)}})
	checkRows(t, tableOf(t, Draw(rs), "e-sets"), []string{"cbcl", "2", "5", "0", "7", "", "50.00", "cd-cyclic-0"})
}

// TestEigenTable: the table has the medians of the repeats, and the paper's seconds.
func TestEigenTable(t *testing.T) {
	text := "plan p\nexperiment e\ntask eigen\ndata hitech sports\nrank 30\nrepeats 3\ntables seconds=table7\n"
	var list []Record
	for k, s := range []float64{6, 2, 4} {
		list = append(list, Record{Set: "hitech", Rank: 30, Label: formX, Seconds: s / 2, Status: "converged", Eigen: &EigenOutcome{Residual: 1e-12}},
			Record{Set: "hitech", Rank: 30, Label: formA, Seconds: 2 * s, Status: "converged", Eigen: &EigenOutcome{Residual: float64(k) * 1e-12}})
	}
	rs := made(t, text, list...)
	for k := range rs.List {
		rs.List[k].Task = TaskEigen
	}
	table := tableOf(t, Draw(rs), "table7")
	checkRows(t, table, []string{"hitech", "30", "5", "8", "2", "4", "2.0e-12", "18.5", "0.82", "22.6"})
}

// TestPaper: the figures of the paper's tables are all there, and the plan named paper makes each of these
// tables.
func TestPaper(t *testing.T) {
	count := map[string]int{}
	for key := range paper {
		count[key.table]++
	}
	want := map[string]int{"table3": 4 * 8, "table4": 4 * 8, "table5": 6 * 7, "table6": 6 * 7, "table7": 6 * 2}
	for table, n := range want {
		if count[table] != n {
			t.Errorf("%s has %d figures, want %d", table, count[table], n)
		}
	}
	if len(count) != len(want) {
		t.Errorf("%v", count)
	}
	if p := paper[paperKey{"table6", "ohscal", "cd-shuffle-rand"}]; p.value != 20.9 || p.std != 0.04 {
		t.Errorf("%+v", p)
	}
	if p := paper[paperKey{"table6", "la1", "tsvd"}]; !math.IsNaN(p.value) {
		t.Errorf("%+v", p)
	}
	if !math.IsNaN(paperOr("table7", "cbcl", formX)) {
		t.Error("a figure that the paper does not have")
	}
	for _, name := range []string{"table3", "table4", "table5", "table6", "table7"} {
		text, _ := PlanText("paper")
		if !strings.Contains(text, "="+name) {
			t.Errorf("plan paper has no %s", name)
		}
	}
}

// TestFileName checks the file names made from titles.
func TestFileName(t *testing.T) {
	for title, want := range map[string]string{
		"cbcl, r = 60": "cbcl-r60", "low-rank n=500, r = 30": "low-rank-n500-r30", "karate": "karate", "a/b c": "ab-c", "ü.x": ".x",
	} {
		if got := fileName(title); got != want {
			t.Errorf("%q becomes %q, want %q", title, got, want)
		}
	}
}

// TestMoments checks means and sample standard deviations. A deviation that is only rounding is 0, and that
// of a single number is NaN.
func TestMoments(t *testing.T) {
	for _, tc := range []struct {
		x         []float64
		mean, std float64
	}{
		{[]float64{1, 2, 3, 6}, 3, math.Sqrt(14.0 / 3)},
		{[]float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}, 0.1, 0},
		{[]float64{0.745, math.Nextafter(0.745, 1), 0.745}, 0.745, 0},
		{[]float64{0.745, 0.745000001}, 0.7450000005, 1e-9 / math.Sqrt2},
	} {
		mean, std := moments(tc.x)
		if !(math.Abs(mean-tc.mean) <= 1e-15) || !(math.Abs(std-tc.std) <= 1e-6*tc.std) {
			t.Errorf("%v: %v ± %v, want %v ± %v", tc.x, mean, std, tc.mean, tc.std)
		}
	}
	if _, std := moments([]float64{1}); !math.IsNaN(std) {
		t.Errorf("one number: ± %v", std)
	}
}
