package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"symnmf"
)

// TestExponent checks the slope in logarithms, for exact powers and for points off a line.
func TestExponent(t *testing.T) {
	x := []float64{3, 6, 12, 24}
	for _, p := range []float64{-1, 0, 0.5, 1, 2} {
		y := make([]float64, len(x))
		for k, v := range x {
			y[k] = 7 * math.Pow(v, p)
		}
		if got := exponent(x, y); !(math.Abs(got-p) <= 1e-12) { // logarithms below 10, a few roundings
			t.Errorf("exponent %v, want %v", got, p)
		}
	}
	// In units of log 2 the points are (0, 0), (1, 0), (2, 3): the slope is 3/2.
	if got := exponent([]float64{1, 2, 4}, []float64{1, 1, 8}); !(math.Abs(got-1.5) <= 1e-12) {
		t.Errorf("exponent %v, want 1.5", got)
	}
}

// TestVerdict checks the verdicts for figures of which more is better, and for those of which less is better.
func TestVerdict(t *testing.T) {
	for _, tc := range []struct {
		got, floor, goal float64
		less             bool
		want             string
	}{
		{10, 20, 40, false, "below"}, {20, 20, 40, false, "floor"}, {40, 20, 40, false, "goal"},
		{0.5, 0.4, 0.3, true, "below"}, {0.4, 0.4, 0.3, true, "floor"}, {0.2, 0.4, 0.3, true, "goal"},
	} {
		if got := verdict(tc.got, tc.floor, tc.goal, tc.less); got != tc.want {
			t.Errorf("%+v: %s", tc, got)
		}
	}
}

// TestTable: rows have distinct names, and every row can be run. Goals are beyond floors.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range table {
		if seen[r.name()] {
			t.Errorf("%s occurs twice", r.name())
		}
		seen[r.name()] = true
		if _, err := symnmf.ParseStart(r.start); err != nil {
			t.Errorf("%s: %v", r.name(), err)
		}
		if !(0 < r.floor && r.floor < r.goal) || r.rank < 1 || r.reference <= 0 || r.seeds < 1 || r.start == "zero" && r.seeds != 1 ||
			r.form == fromGraph && r.start == "zero" || (r.percent == 0) != (made[r.set] != nil) {
			t.Errorf("%+v", r)
		}
		if l := r.limit().Seconds(); l < 5 || l > 30 || l < min(30, r.reference) {
			t.Errorf("%s: limit %v s, reference %v", r.name(), l, r.reference)
		}
	}
	for _, e := range ends {
		if !(0 < e.goal && e.goal < e.floor) || e.zero == (e.form == fromGraph) {
			t.Errorf("%+v", e)
		}
	}
}

// TestSelectRows checks how many rows some patterns select.
func TestSelectRows(t *testing.T) {
	for pattern, want := range map[string]int{
		"": len(table), "hitech/X": 2, "hitech": 4, "(?i)cbcl": 10, "cbcl": 0, "/X/30/": 10, "^CBCL/.*/0.04627$": 6, "cd-cyclic": 8, "nothing": 0,
	} {
		got := selectRows(table, regexp.MustCompile(pattern))
		if len(got) != want {
			t.Errorf("%q selects %d rows, want %d", pattern, len(got), want)
		}
		for _, r := range got {
			if !strings.Contains(r.name(), r.set) {
				t.Errorf("%q selects %s", pattern, r.name())
			}
		}
	}
	if got := selectRows(ends, regexp.MustCompile("ORL")); len(got) != 1 || got[0].set != "ORL" {
		t.Errorf("final errors of ORL: %+v", got)
	}
}

// TestFirstBelow checks the first point of a trace whose error is at most the target.
func TestFirstBelow(t *testing.T) {
	trace := []symnmf.TracePoint{{Sweep: 0, RelErr: 0.9}, {Sweep: 5, RelErr: 0.5}, {Sweep: 10, RelErr: 0.4}}
	for target, want := range map[float64]int{1: 0, 0.6: 1, 0.5: 1, 0.41: 2, 0.3: -1} {
		if got := firstBelow(trace, target); got != want {
			t.Errorf("error %v: point %d, want %d", target, got, want)
		}
	}
}

// TestShelf: a missing set is named, and a broken one is an error; the last set is kept, and A is formed when it
// is needed.
func TestShelf(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("broken/X.mtx.gz", "nothing")
	write("Ring/A.mtx.gz", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n")
	write("words/X.mtx.gz", "%%MatrixMarket matrix coordinate integer general\n2 3 3\n1 1 2\n1 3 1\n2 2 1\n")
	s := &shelf{folder: dir}
	if d, err := s.take("absent", fromX); d != nil || err != nil || !slices.Equal(s.missing, []string{"absent"}) {
		t.Errorf("absent: %v, %v, missing %q", d, err, s.missing)
	}
	if _, err := s.take("broken", fromX); err == nil {
		t.Error("a broken file was read")
	}
	ring, err := s.take("Ring", fromGraph)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := ring.operator(fromGraph, 1); err != nil || a.Dim() != 3 || a.Stored() != 4 {
		t.Errorf("ring: %v, %v", a, err)
	}
	words, err := s.take("Words", fromX)
	if err != nil || words.a != nil {
		t.Fatalf("words: %+v, %v", words, err)
	}
	again, err := s.take("Words", fromA)
	if err != nil || again != words || words.a == nil {
		t.Fatalf("words again: %+v, %v", again, err)
	}
	for form, norm := range map[form]float64{fromX: math.Sqrt(16 + 4 + 4 + 1 + 1), fromA: math.Sqrt(16 + 4 + 4 + 1 + 1)} {
		if a, err := words.operator(form, 1); err != nil || !(math.Abs(a.Norm()-norm) <= 1e-14*norm) {
			t.Errorf("words as %s: %v, %v", form, a, err)
		}
	}
	if d, err := s.take("low-rank-30", fromA); err != nil || d.x != nil || d.a == nil {
		t.Errorf("low-rank-30: %+v, %v", d, err)
	}
}

// TestPrintTable checks that columns are aligned, and the figures in a table of times.
func TestPrintTable(t *testing.T) {
	var out bytes.Buffer
	printTable(&out, []string{"ä", "long header"}, [][]string{{"a name", "1"}, {"b", "× 2"}})
	want := "| ä      | long header |\n| ------ | ----------: |\n| a name |           1 |\n| b      |         × 2 |\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	printTimes(&out, []measured{
		{row: table[0], threads: 1, target: 0.30684, tried: 1, sweeps: 12, median: 0.2, least: 0.1, most: 0.3},
		{row: table[0], threads: 2, target: 0.30684, tried: 1, sweeps: 12, median: 0.1, least: 0.1, most: 0.1, speedup: 2, apart: 1.9, astray: 1},
	})
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for _, line := range lines[:4] {
		if utf8.RuneCountInString(line) != utf8.RuneCountInString(lines[0]) || strings.Count(line, "|") != strings.Count(lines[0], "|") {
			t.Errorf("not aligned:\n%s", out.String())
		}
	}
	if !strings.Contains(lines[2], " 100.5 |") || !strings.Contains(lines[2], " below |") || !strings.Contains(lines[3], " floor |     2.00 |  1.90 |") || len(lines) != 5 {
		t.Errorf("%s", out.String())
	}
}

// TestChoiceCells: a choice without a median, since too few seeds reach the error, has no time in the table.
func TestChoiceCells(t *testing.T) {
	one, other := chosen{Choice: "auto", Seeds: 3, Seconds: 2, Sweeps: 4}, chosen{Choice: "double", Seeds: 3, Never: 1, Seconds: 1, Sweeps: 7}
	never := chosen{Choice: "auto", Seeds: 3, Never: 2}
	for _, tc := range []struct {
		auto, best chosen
		want       string // from the time of auto on
	}{
		{one, other, "2 4 0 of 3 double 1 7 1 of 3 2.00"},
		{one, chosen{}, "2 4 0 of 3 none - - - -"},
		{never, other, "- - 2 of 3 double 1 7 1 of 3 never"},
	} {
		if got := strings.Join(choiceCells(row{}, 0.1, tc.auto, tc.best)[5:], " "); got != tc.want {
			t.Errorf("%v, %v: %s, want %s", tc.auto, tc.best, got, tc.want)
		}
	}
}

// TestApart: there are as many runs at once as processors, and all of them are timed. Two runs at once, each half
// as fast as one alone, get one run done in the time of one.
func TestApart(t *testing.T) {
	task, err := new(config).newTask(&shelf{}, "full-rank", fromA, 3, "zero")
	if err != nil {
		t.Fatal(err)
	}
	each, err := task.apart(2, 0, 3)
	if err != nil || len(each) != 3 || slices.Min(each) <= 0 {
		t.Errorf("%v, %v", each, err)
	}
	if gains, err := task.atOnce(4, 2, 0, 2); err != nil || len(gains) != 4 || slices.Min(gains) <= 0 {
		t.Errorf("%v, %v", gains, err)
	}
	if got := doneAtOnce(3, []float64{6, 6}); got != 1 {
		t.Errorf("%v runs, want 1", got)
	}
}

// TestSeveral: the sweeps of all runs are added up.
func TestSeveral(t *testing.T) {
	task, err := new(config).newTask(&shelf{}, "full-rank", fromA, 3, "random")
	if err != nil {
		t.Fatal(err)
	}
	opt := symnmf.Options{Solver: symnmf.CD{}, Start: symnmf.Random{}, Runs: 3, Threads: 2, AtOnce: 2, Stop: symnmf.Stop{Sweeps: 2, KKT: -1}}
	if f, err := task.several(opt); err != nil || f.Sweeps != 6 || f.Seconds <= 0 || f.Threads != 2 || f.AtOnce != 2 || !(f.RelErr > 0 && f.RelErr < 1) {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestPredictedBytes checks that the predicted memory is found in the output of a run.
func TestPredictedBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"reading\nfactoring: n = 3, predicted memory 505 MiB\nmore": 505 << 20, "predicted memory 1.5 GiB\n": 3 << 29, "predicted memory 100 bytes": 100, "none": 0,
	} {
		if got := predictedBytes(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
