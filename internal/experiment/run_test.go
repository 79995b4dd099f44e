package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"symnmf"
	"symnmf/internal/instance"
	"symnmf/matio"
	"symnmf/matrix"
)

const runnable = `plan runnable
experiment fits
data demo:karate
data synthetic:low-rank n=20 instances=1-2
rank 3
sweeps 8
seeds 0-1
method cd-cyclic start=zero
method cd-shuffle start=random
method rowblock start=random

experiment pairs
task eigen
data synthetic:text m=30 n=40 words=5
rank 3
`

// timeless returns a record as JSON, without what may differ between two runs of the same key.
func timeless(t *testing.T, r Record) string {
	t.Helper()
	r.Seconds, r.WallSeconds, r.Ended = 0, 0, ""
	if r.Trace != nil {
		trace := *r.Trace
		trace.Seconds = nil
		r.Trace = &trace
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func mustRun(t *testing.T, text string, opt Options) (*Outcome, *Records) {
	t.Helper()
	out, err := Run(context.Background(), mustParse(t, text), opt)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := Read(opt.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return out, rs
}

// TestRunGoesOn: a plan that is stopped after any number of runs, or in the middle of one, comes to the same
// records when it is continued.
func TestRunGoesOn(t *testing.T) {
	p := mustParse(t, runnable)
	out, want := mustRun(t, runnable, Options{Dir: t.TempDir(), Version: "v1"})
	if out.Total != len(p.runs()) || out.Made != out.Total || out.Before != 0 || len(out.Failed)+len(out.Missing)+out.Dropped > 0 {
		t.Fatalf("%+v, want %d runs", out, len(p.runs()))
	}
	for k, key := range p.Keys() {
		if want.List[k].Key != key {
			t.Fatalf("record %d is %s, want %s", k, want.List[k].Key, key)
		}
	}
	dir := t.TempDir()
	for stops := 1; ; stops++ {
		ctx, cancel := context.WithCancel(context.Background())
		steps := 0
		out, err := Run(ctx, p, Options{Dir: dir, Version: "v1", Progress: func(Progress) {
			if steps++; steps == 7*stops { // sometimes during a run, sometimes between two
				cancel()
			}
		}})
		cancel()
		if err == nil {
			if stops < 4 || out.Before == 0 {
				t.Errorf("the plan was stopped %d times, and then had %d records", stops-1, out.Before)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	got, err := Read(dir)
	if err != nil || len(got.List) != len(want.List) {
		t.Fatalf("%d records, %v, want %d", len(got.List), err, len(want.List))
	}
	for k := range want.List {
		if a, b := timeless(t, got.List[k]), timeless(t, want.List[k]); a != b {
			t.Errorf("record %d is\n%s\nwant\n%s", k, a, b)
		}
	}
	out, _ = mustRun(t, runnable, Options{Dir: dir, Version: "v1"})
	if out.Made != 0 || out.Before != out.Total {
		t.Errorf("once more: %+v", out)
	}
}

// TestParts: selections that are run one after the other come to the records of the whole plan. Begin learns
// how much each has to do.
func TestParts(t *testing.T) {
	_, whole := mustRun(t, runnable, Options{Dir: t.TempDir(), Version: "v1"})
	want := map[string]string{}
	for _, r := range whole.List {
		want[r.Key] = timeless(t, r)
	}
	dir := t.TempDir()
	for _, part := range []struct {
		selection             Selection
		total, before, total2 int
	}{
		{Selection{Experiments: []string{"pairs"}}, 2, 0, 2},
		{Selection{Methods: []string{"rowblock-rand"}}, 6, 0, 8},
		{Selection{Sets: []string{"demo:karate"}}, 5, 2, 11},
		{Selection{}, len(want), 11, len(want)},
	} {
		p := mustParse(t, runnable)
		if err := p.Select(part.selection); err != nil {
			t.Fatal(err)
		}
		var begun []Outcome
		out, err := Run(context.Background(), p, Options{Dir: dir, Version: "v1", Begin: func(o Outcome) { begun = append(begun, o) }})
		if err != nil {
			t.Fatal(err)
		}
		if out.Total != part.total || out.Before != part.before || out.Made != part.total-part.before {
			t.Errorf("%v: %+v, want %+v", part.selection, out, part)
		}
		if len(begun) != 1 || begun[0].Total != part.total || begun[0].Before != part.before || begun[0].Unbounded != part.total-part.before {
			t.Errorf("%v: begun with %+v", part.selection, begun)
		}
		rs, err := Read(dir)
		if err != nil || len(rs.List) != part.total2 {
			t.Fatalf("%d records, %v, want %d", len(rs.List), err, part.total2)
		}
		for _, r := range rs.List {
			if got := timeless(t, r); got != want[r.Key] {
				t.Errorf("%s is\n%s\nwant\n%s", r.Key, got, want[r.Key])
			}
		}
	}
}

// TestRecord compares a record with the same run of the library.
func TestRecord(t *testing.T) {
	_, rs := mustRun(t, runnable, Options{Dir: t.TempDir(), Version: "v1"})
	a, _ := instance.LowRank(20, 3, 2)
	op, err := matrix.FromDense(a, 0)
	if err != nil {
		t.Fatal(err)
	}
	res, err := symnmf.Factorize(context.Background(), op, 3, symnmf.Options{
		Solver: symnmf.CD{Order: symnmf.Shuffle}, Start: symnmf.Random{}, Seed: 1, Trace: true, Stop: symnmf.Stop{Sweeps: 8, KKT: -1}})
	if err != nil {
		t.Fatal(err)
	}
	k := slices.IndexFunc(rs.List, func(r Record) bool {
		return r.Key == "fits/synthetic:low-rank,n=20#2/r=3/cd-shuffle-rand/seed=1"
	})
	if k < 0 {
		t.Fatal("no record")
	}
	r := rs.List[k]
	if r.N != 20 || r.Stored != 400 || r.Rank != 3 || r.Sweeps != 8 || r.Status != "sweep-limit" || r.MaxSweeps != 8 || r.Threads != 1 ||
		r.Start != "random" || r.Method != "cd-shuffle" || r.Version != "v1" || r.Machine != Machine() || r.Instance != 2 {
		t.Errorf("%+v", r)
	}
	for _, tc := range []struct {
		name      string
		got, want float64
	}{
		{"relative error", float64(r.RelErr), res.RelErr}, {"floor", float64(r.ErrFloor), res.ErrFloor}, {"KKT", float64(r.KKT), res.KKT},
		{"objective", float64(r.Objective), res.Objective}, {"norm", float64(r.NormA), res.NormA}, {"bound", float64(r.LowerBound), 0},
	} {
		if !(math.Abs(tc.got-tc.want) <= 1e-7*(1+math.Abs(tc.want))) { // the bound of a matrix of that rank is 0 up to 2⁻²²
			t.Errorf("%s %v, want %v", tc.name, tc.got, tc.want)
		}
	}
	for s, p := range res.Trace {
		if r.Trace.Sweep[s] != p.Sweep || !(math.Abs(float64(r.Trace.RelErr[s])-p.RelErr) <= 0.5e-9*p.RelErr) || !(math.Abs(float64(r.Trace.KKT[s])-p.KKT) <= 0.5e-3*p.KKT) {
			t.Errorf("point %d of the trace: %d, %v, %v, want %+v", s, r.Trace.Sweep[s], r.Trace.RelErr[s], r.Trace.KKT[s], p)
		}
	}
	if !slices.IsSorted(r.Trace.Seconds) || r.Seconds <= 0 || r.WallSeconds < r.Seconds {
		t.Errorf("%v, %v, %v", r.Trace.Seconds, r.Seconds, r.WallSeconds)
	}
}

// TestSameStart: a seed gives the same H₀ to every method, and two seeds give two.
func TestSameStart(t *testing.T) {
	_, rs := mustRun(t, runnable, Options{Dir: t.TempDir()})
	starts := map[string]map[Number]bool{}
	for _, r := range rs.List {
		if r.Start == "random" {
			at := fmt.Sprint(r.Set, r.Instance, r.Seed)
			if starts[at] == nil {
				starts[at] = map[Number]bool{}
			}
			starts[at][r.Trace.RelErr[0]] = true
		}
	}
	distinct := map[Number]bool{}
	for at, errs := range starts {
		if len(errs) != 1 {
			t.Errorf("%s: %d starts", at, len(errs))
		}
		for e := range errs {
			distinct[e] = true
		}
	}
	if len(starts) != 6 || len(distinct) != 6 {
		t.Errorf("%d seeds and matrices, %d starts, want 6 of each", len(starts), len(distinct))
	}
}

// TestRefused: a run whose method does not take the matrix is recorded as refused, once, and the others go
// on. If a rank is known beforehand to be too large, it is the plan that is refused.
func TestRefused(t *testing.T) {
	const text = "plan p\nexperiment e\ndata demo:digits\nrank 2\nsweeps 1\nmethod cd-residual start=random\nmethod cd-cyclic start=random\n" +
		"experiment f\ntask eigen\ndata demo:karate\nrank 2\n"
	dir := t.TempDir()
	out, rs := mustRun(t, text, Options{Dir: dir})
	if len(rs.List) != 4 || rs.List[0].Status != Refused || rs.List[1].Status != "sweep-limit" || rs.List[2].Status != Refused || len(out.Failed) != 0 {
		t.Errorf("%+v, %+v", out, rs.List)
	}
	if !strings.Contains(rs.List[0].Error, "cannot take this matrix") || !strings.Contains(rs.List[2].Error, "a similarity, not points") {
		t.Errorf("%q, %q", rs.List[0].Error, rs.List[2].Error)
	}
	if out, _ := mustRun(t, text, Options{Dir: dir}); out.Made != 0 {
		t.Errorf("%d runs are made again", out.Made)
	}
	p := mustParse(t, text)
	if err := p.Select(Selection{Methods: []string{"cd-cyclic-rand"}}); err != nil {
		t.Fatal(err)
	}
	if some, err := Run(context.Background(), p, Options{Dir: dir}); err != nil || len(some.Refused) != 0 {
		t.Errorf("a selection reports the refusals %q, %v", some.Refused, err)
	}
	if len(out.Refused) != 3 || out.Refused[0] != rs.List[0].Key+": "+rs.List[0].Error {
		t.Errorf("%q", out.Refused)
	}
	data := t.TempDir()
	graph, _ := instance.PlantedGraph(34, 2, 0.5, 0.1, 1)
	store(t, data, "graph", "A.mtx", &matio.Table{Sparse: graph})
	_, rs = mustRun(t, "plan p\nexperiment e\ndata graph\nrank 35\nsweeps 1\nmethod cd-cyclic start=random\n", Options{Dir: t.TempDir(), Data: data})
	if rs.List[0].Status != Refused || !strings.Contains(rs.List[0].Error, "35 columns for 34 items") {
		t.Errorf("%+v", rs.List)
	}
	dir = filepath.Join(t.TempDir(), "records") // here the number of items is known beforehand
	_, err := Run(context.Background(), mustParse(t, "plan p\nexperiment e\ndata demo:karate\nrank 2 35\nsweeps 1\nmethod cd-cyclic start=random\n"), Options{Dir: dir})
	if !errors.Is(err, ErrPlan) || !strings.Contains(err.Error(), "test.plan:2: experiment e: 35 columns for the 34 items of demo:karate") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory has been made")
	}
	p = mustParse(t, "plan p\nexperiment e\ndata demo:karate\nrank 35\nsweeps 1\nmethod cd-cyclic start=random\n")
	w := &worker{plan: p}
	if err := w.checkAhead(p.runs(), map[string]bool{p.runs()[0].key: true}); err != nil {
		t.Errorf("a recorded run is checked again: %v", err)
	}
	rec := &Record{Key: "k"}
	rec.refuse(errors.New("out of luck"))
	out.fail(rec)
	if rec.Status != Failed || len(out.Failed) != 1 || out.Failed[0] != "k: out of luck" {
		t.Errorf("%+v, %+v", rec, out)
	}
}

// store writes a matrix into a folder of a data directory.
func store(t *testing.T, dir, set, file string, table *matio.Table) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, set), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := matio.Create(filepath.Join(dir, set, file), table, matio.Options{}); err != nil {
		t.Fatal(err)
	}
}

// TestFiles: points in columns or rows, and graphs, are read from a data directory. A set that is missing is
// named and left out, and a file that has changed is noticed.
func TestFiles(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	x := instance.Text(20, 30, 4, 1)
	graph, _ := instance.PlantedGraph(15, 3, 0.8, 0.1, 1)
	store(t, data, "words", "X.mtx.gz", &matio.Table{Sparse: x})
	store(t, data, "pixels", "X.npy", &matio.Table{Dense: instance.Start(6, 9, 1)})
	store(t, data, "graph", "A.mtx", &matio.Table{Sparse: graph})
	const text = "plan p\nexperiment e\ndata words pixels graph sports\ndata words pixels items=rows\ndata words form=explicit\nrank 2\nsweeps 3\nmethod cd-cyclic start=random\n"
	out, rs := mustRun(t, text, Options{Dir: dir, Data: data})
	if !slices.Equal(out.Missing, []string{"sports"}) || out.Total != 6 {
		t.Errorf("%+v", out)
	}
	var sizes []int
	for _, r := range rs.List {
		sizes = append(sizes, r.N)
	}
	if !slices.Equal(sizes, []int{30, 9, 15, 20, 6, 30}) {
		t.Errorf("sizes %v", sizes)
	}
	plain, explicit := rs.List[0], rs.List[5]
	if d := math.Abs(float64(plain.RelErr - explicit.RelErr)); !(d <= 1e-12) || plain.LowerBound != explicit.LowerBound || plain.SHA256 != explicit.SHA256 {
		t.Errorf("A written out: error %v, bound %v, want %v, %v", explicit.RelErr, explicit.LowerBound, plain.RelErr, plain.LowerBound)
	}
	out, err := Run(context.Background(), mustParse(t, text), Options{Dir: t.TempDir()})
	if err != nil || out.Total != 0 || !slices.Equal(out.Missing, []string{"words", "pixels", "graph", "sports"}) {
		t.Errorf("without data: %+v, %v", out, err)
	}

	store(t, data, "words", "X.mtx.gz", &matio.Table{Sparse: instance.Text(20, 30, 4, 2)})
	if err := os.WriteFile(filepath.Join(dir, RecordsFile), firstLines(t, dir, 2), 0o666); err != nil { // drops all but the first record
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), mustParse(t, text), Options{Dir: dir, Data: data}); !errors.Is(err, ErrOther) ||
		!strings.Contains(err.Error(), fmt.Sprintf("the file of words has changed since its first records (SHA-256 %.8s…, now ", rs.List[0].SHA256)) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(filepath.Join(data, "words", "X.mtx.gz"), []byte("junk"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), mustParse(t, text), Options{Dir: t.TempDir(), Data: data}); !errors.Is(err, matio.ErrFormat) ||
		!strings.Contains(err.Error(), "X.mtx.gz") {
		t.Errorf("%v", err)
	}
	if _, err := (&shelf{dir: data}).read(&run{set: Set{Name: "sports"}}); err == nil {
		t.Error("a set that is not there is read")
	}
}

// firstLines returns the first n lines of the records, header included.
func firstLines(t *testing.T, dir string, n int) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, RecordsFile))
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.Join(strings.SplitAfter(string(text), "\n")[:n], ""))
}

// TestNeeds: what is known of a set before it is made is what it then has. The entries of inner products are
// counted before they are written out.
func TestNeeds(t *testing.T) {
	const text = "plan p\nexperiment e\ndata synthetic:low-rank n=20\ndata synthetic:full-rank n=20\ndata synthetic:planted n=300 groups=3 in=0.5 out=0.1\n" +
		"data synthetic:text m=30 n=40 words=5\ndata synthetic:text m=30 n=40 words=5 form=explicit\nrank 2\nsweeps 1\nmethod cd-cyclic\n"
	asked := map[string][]Need{}
	if _, err := Run(context.Background(), mustParse(t, text), Options{Dir: t.TempDir(), Fits: func(n Need) error {
		asked[n.Key] = append(asked[n.Key], n)
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 5 {
		t.Errorf("%d runs, want 5", len(asked))
	}
	for key, list := range asked {
		if len(list) != 2 {
			t.Fatalf("%s: asked %d times, want before all and before each", key, len(list))
		}
		before, after := list[0], list[1]
		if strings.Contains(key, "explicit") {
			a := instance.InnerProducts(instance.Text(30, 40, 5, 1), matrix.Columns).(*matrix.CSR)
			if after.Rows != 40 || after.Cols != 40 || after.Items != "" || after.Stored != float64(len(a.Col)) || after.Held != before.Bytes() || after.Table != nil {
				t.Errorf("%s: %+v", key, after)
			}
			continue
		}
		off := math.Abs(before.Stored - after.Stored)
		if strings.Contains(key, "planted") { // drawn: eight standard deviations of each pair's, twice
			off = max(0, off-16*math.Sqrt(300*300/8))
		}
		if !(off <= 0) || !(before.Making >= before.Bytes()) || before.Rows != after.Rows || before.Cols != after.Cols || before.Items != after.Items || before.Sparse != after.Sparse ||
			before.Table != nil || after.Table == nil {
			t.Errorf("%s: %+v before, %+v after", key, before, after)
		}
	}
	why := errors.New("too large")
	dir := filepath.Join(t.TempDir(), "records")
	if _, err := Run(context.Background(), mustParse(t, text), Options{Dir: dir, Fits: func(Need) error { return why }}); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory has been made")
	}
}

// TestTimeLimit: a run ends when its own clock reaches the limit. That clock stops while errors of the trace
// are computed, so it shows no more than the wall clock.
func TestTimeLimit(t *testing.T) {
	_, rs := mustRun(t, "plan p\nexperiment e\ndata demo:digits\nrank 8\ntime 50ms\nmethod cd-cyclic start=random\n", Options{Dir: t.TempDir()})
	r := rs.List[0]
	// At most 100 times the limit, and a minute with reading and a bound, however busy the machine is.
	if r.Status != "time-limit" || r.TimeLimit != 0.05 || r.MaxSweeps != 0 || !(r.Seconds >= 0.05 && r.Seconds <= 5) ||
		!(r.WallSeconds >= r.Seconds && r.WallSeconds <= 60) {
		t.Errorf("%+v", r)
	}
}

// TestEigenTask: both forms have the same eigenvalues, which are those of XᵀX.
func TestEigenTask(t *testing.T) {
	_, rs := mustRun(t, "plan p\nexperiment e\ntask eigen\ndata synthetic:text m=300 n=400 words=9\nrank 3\n", Options{Dir: t.TempDir()})
	x, a := rs.List[0], rs.List[1]
	if x.Label != formX || a.Label != formA || x.Stored != 300*9 || a.Stored <= 2*x.Stored || x.Status != "converged" || a.Status != "converged" {
		t.Fatalf("%+v\n%+v", x, a)
	}
	op, err := matrix.Gram(instance.Text(300, 400, 9, 1), matrix.Columns, 1)
	if err != nil {
		t.Fatal(err)
	}
	want, err := matrix.Eigen(context.Background(), op, 3, matrix.EigenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range want.Values {
		if !(math.Abs(x.Eigen.Values[k]-v) <= 1e-9*v) || !(math.Abs(a.Eigen.Values[k]-v) <= 1e-9*v) {
			t.Errorf("eigenvalue %d: %v and %v, want %v", k, x.Eigen.Values[k], a.Eigen.Values[k], v)
		}
	}
	for _, r := range []*Record{&x, &a} {
		if e := r.Eigen.Residual; !(e > 0 && e <= 1e-10) || !(r.Seconds > 0) {
			t.Errorf("%s: %+v, %v s", r.Label, r.Eigen, r.Seconds)
		}
	}
}

// TestPictures: pixels are stored by rows or by columns, and each column of H is scaled to its own largest
// entry. Pictures that do not have as many pixels as H has rows are refused.
func TestPictures(t *testing.T) {
	h := matrix.NewDense(6, 2, nil)
	for i := range 6 {
		h.Set(i, 0, float64(i)) // 5 at most
	}
	for _, tc := range []struct {
		f    Pictures
		want []byte
	}{
		{Pictures{W: 3, H: 2}, []byte{0, 51, 102, 153, 204, 255, 0, 0, 0, 0, 0, 0}},
		{Pictures{W: 3, H: 2, Columns: true}, []byte{0, 102, 204, 51, 153, 255, 0, 0, 0, 0, 0, 0}},
	} {
		if got, err := tc.f.of(h); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%+v: %v, %v, want %v", tc.f, got, err, tc.want)
		}
	}
	if _, err := (&Pictures{W: 4, H: 2}).of(h); err == nil {
		t.Error("a picture of 8 pixels is made from 6 entries")
	}
	const text = "plan p\nexperiment e\ndata demo:karate\nrank 2\nsweeps 1\nmethod cd-cyclic\npictures 5x5\n"
	dir := filepath.Join(t.TempDir(), "records")
	if _, err := Run(context.Background(), mustParse(t, text), Options{Dir: dir}); !errors.Is(err, ErrPlan) ||
		!strings.Contains(err.Error(), "test.plan:2: experiment e: pictures of 5×5 pixels, but H has 34 rows") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory has been made")
	}
}

// TestItemsOfSimilarity: items= for a similarity, from a file or inside the program, is refused before anything is made.
// Of a folder with both, the points are read.
func TestItemsOfSimilarity(t *testing.T) {
	data := t.TempDir()
	graph, _ := instance.PlantedGraph(15, 3, 0.8, 0.1, 1)
	store(t, data, "graph", "A.mtx", &matio.Table{Sparse: graph})
	store(t, data, "both", "A.mtx", &matio.Table{Sparse: graph})
	store(t, data, "both", "X.npy", &matio.Table{Dense: instance.Start(6, 9, 1)})
	plan := func(set string) *Plan {
		return mustParse(t, "plan p\nexperiment e\ndata "+set+"\nrank 2\nsweeps 1\nmethod cd-cyclic start=random\n")
	}
	for _, tc := range []struct{ set, want string }{
		{"graph items=rows", "test.plan:2: experiment e: items=rows is for points, but graph is a similarity; give it a data line without items="},
		{"both graph items=rows", "items=rows is for points, but graph is a similarity"},
		{"demo:karate items=columns", "items=columns is for points, but demo:karate is a similarity"},
	} {
		dir := filepath.Join(t.TempDir(), "records")
		if _, err := Run(context.Background(), plan(tc.set), Options{Dir: dir, Data: data}); !errors.Is(err, ErrPlan) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.set, err, tc.want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: the directory has been made", tc.set)
		}
	}
	for _, set := range []string{"graph items=columns", "both items=rows", "graph form=explicit"} {
		if out, err := Run(context.Background(), plan(set), Options{Dir: t.TempDir(), Data: data}); err != nil || out.Made != 1 {
			t.Errorf("%s: %+v, %v", set, out, err)
		}
	}
}

// TestHindered: a set that cannot be read, or whose items are no pixels, does not keep others from being
// factored. Each is reported once, at the end.
func TestHindered(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	graph, _ := instance.PlantedGraph(15, 3, 0.8, 0.1, 1)
	for _, set := range []string{"bad", "good", "worse", "flat"} {
		store(t, data, set, "A.mtx", &matio.Table{Sparse: graph})
	}
	for _, set := range []string{"bad", "worse"} {
		if err := os.WriteFile(filepath.Join(data, set, "A.mtx"), []byte("junk"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const text = "plan p\nexperiment e\ndata bad worse good\nrank 2\nsweeps 1\nseeds 0-2\nmethod cd-cyclic start=random\n" +
		"experiment f\ndata flat\nrank 2\nsweeps 1\nmethod cd-cyclic\npictures 5x5\n"
	out, err := Run(context.Background(), mustParse(t, text), Options{Dir: dir, Data: data})
	if out.Made != 3 || out.NotMade != 7 || !errors.Is(err, matio.ErrFormat) || !errors.Is(err, ErrPlan) {
		t.Fatalf("%+v, %v", out, err)
	}
	for _, once := range []string{"7 runs not made: bad: matio: ", filepath.Join("bad", "A.mtx:1"), "; worse: ", filepath.Join("worse", "A.mtx:1"), "pictures of 5×5 pixels, but H has 15 rows"} {
		if strings.Count(err.Error(), once) != 1 {
			t.Errorf("%v: %d times %q", err, strings.Count(err.Error(), once), once)
		}
	}
	// A file that can be read may not be a similarity.
	for name, tc := range map[string]struct {
		text, want string
		is         error
	}{
		"asymmetric": {"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n2 1 1.5\n", ": matrix: not symmetric: the largest difference is 0.5, in row 2, column 1; plans repair no data", matrix.ErrAsymmetric},
		"oblong":     {"%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n", ": matrix: not square: 2 rows, 3 columns", matrix.ErrNotSquare},
	} {
		store(t, data, name, "A.mtx", &matio.Table{Sparse: graph}) // makes the folder
		file := filepath.Join(data, name, "A.mtx")
		if err := os.WriteFile(file, []byte(tc.text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := Run(context.Background(), mustParse(t, "plan p\nexperiment e\ndata "+name+"\nrank 2\nsweeps 1\nmethod mu\n"), Options{Dir: t.TempDir(), Data: data})
		if !errors.Is(err, tc.is) || !strings.Contains(err.Error(), file+tc.want) {
			t.Errorf("%s: %v, want %s%s", name, err, file, tc.want)
		}
	}
	// Negative entries are something that a method refuses.
	store(t, data, "minus", "A.mtx", &matio.Table{Dense: matrix.NewDense(2, 2, []float64{1, -1, -1, 1})})
	out, err = Run(context.Background(), mustParse(t, "plan p\nexperiment e\ndata minus\nrank 2\nsweeps 1\nmethod mu\n"), Options{Dir: t.TempDir(), Data: data})
	if err != nil || out.Made != 1 || len(out.Refused) != 1 || len(out.Failed) != 0 || !strings.Contains(out.Refused[0], "negative") {
		t.Errorf("%+v, %v", out, err)
	}
	store(t, data, "bad", "A.mtx", &matio.Table{Sparse: graph})
	if out, err := Run(context.Background(), mustParse(t, text), Options{Dir: dir, Data: data}); out.Before != 3 || out.Made != 3 || out.NotMade != 4 || err == nil {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestEstimate: the time left is estimated from runs that are alike, or else from time limits.
func TestEstimate(t *testing.T) {
	p := mustParse(t, "plan p\nexperiment e\ndata demo:karate demo:lesmis\nrank 2\ntime 10s\nmethod cd-cyclic seeds=0-1\nmethod cd-shuffle\n"+
		"experiment f\ndata demo:karate\nrank 2\nsweeps 3\nmethod cd-cyclic\n")
	runs := p.runs() // karate: cyclic 0, shuffle, cyclic 1; lesmis the same; f
	e := newEstimate()
	if d := e.left(runs)(0); d >= 0 {
		t.Errorf("%v left, want a negative value, since nothing is known", d)
	}
	if d := e.left(runs[:6])(5 * time.Second); d != (6*10-5)*time.Second {
		t.Errorf("by limits: %v left", d)
	}
	e.learn(&Record{Experiment: "e", Set: "demo:karate", Rank: 2, Label: "cd-cyclic", WallSeconds: 12})
	e.learn(&Record{Experiment: "e", Set: "demo:lesmis", Rank: 2, Label: "cd-cyclic", WallSeconds: 14})
	// shuffle by its limit, cyclic by its own runs, f by all runs
	if d := e.left(runs[1:])(0); d != (10+12+14+10+14+13)*time.Second {
		t.Errorf("by runs that are alike: %v left", d)
	}
	if d := e.left(runs[2:3])(time.Minute); d != 0 {
		t.Errorf("after longer than expected: %v left, want 0", d)
	}
}

// TestRankOfSet: a low-rank set without r= has the rank of its run, whatever runs came before.
func TestRankOfSet(t *testing.T) {
	norms := func(ranks string) (norms []Number) {
		_, rs := mustRun(t, "plan p\nexperiment e\ndata synthetic:low-rank n=20\nrank "+ranks+"\nsweeps 1\nmethod mu start=random\n", Options{Dir: t.TempDir()})
		for _, r := range rs.List {
			norms = append(norms, r.NormA)
		}
		return norms
	}
	both, second := norms("2 3"), norms("3")
	if len(both) != 2 || len(second) != 1 || both[1] != second[0] || both[0] == both[1] {
		t.Errorf("for ranks 2 and 3 ‖A‖ is %v, for 3 alone %v", both, second)
	}
}

// TestBytesOfOnes: a sparse table without values, whose entries are all 1, takes the bytes of its indexes
// alone.
func TestBytesOfOnes(t *testing.T) {
	ones, err := matrix.NewCSR(2, 2, []int64{0, 2, 3}, []int32{0, 1, 0}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := mustParse(t, "plan p\nexperiment e\ndata demo:karate\nrank 2\nsweeps 1\nmethod cd-cyclic start=random\n")
	r := p.runs()[0]
	if got := r.needOf(&dataset{a: ones}).Bytes(); got != 4*3+8*3 { // the beginnings of two rows, and the end of the last
		t.Errorf("%v bytes, want 36", got)
	}
	ones.Val = []float64{1, 1, 1}
	if got := r.needOf(&dataset{a: ones}).Bytes(); got != 12*3+8*3 {
		t.Errorf("%v bytes with values, want 60", got)
	}
}
