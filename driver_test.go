package symnmf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// TestMain fails if a goroutine is still running after the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mustDense returns d as an operator.
func mustDense(t testing.TB, d *matrix.Dense) matrix.Operator {
	t.Helper()
	a, err := matrix.FromDense(d, 0)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// mustCSR returns c as an operator.
func mustCSR(t testing.TB, c *matrix.CSR) matrix.Operator {
	t.Helper()
	a, err := matrix.FromCSR(c, 0)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// lowRank returns A = BBᵀ, dense, for a random nonnegative B with n rows and r columns.
func lowRank(t testing.TB, n, r int) matrix.Operator {
	t.Helper()
	d, _ := instance.LowRank(n, r, 1)
	return mustDense(t, d)
}

// TestOptionsRefused: Factorize refuses each of these calls with the error stated, and returns no result.
func TestOptionsRefused(t *testing.T) {
	a := lowRank(t, 6, 2)
	negative := mustDense(t, matrix.NewDense(2, 2, []float64{1, -1, -1, 1}))
	empty := mustDense(t, matrix.NewDense(0, 0, nil))
	sparse := mustCSR(t, sparseOf(t, matrix.NewDense(2, 2, []float64{1, 0, 0, 1})))
	hollow := mustDense(t, matrix.NewDense(2, 2, []float64{0, 1, 1, 0}))
	points, err := matrix.Gram(instance.Start(6, 3, 1), matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	single, err := matrix.FromDense32(instance.FullRank(6, 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	unit, err := matrix.Normalized(a, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	nan := matrix.NewDense(6, 2, nil)
	nan.Set(3, 1, math.NaN())
	for _, c := range []struct {
		name string
		a    matrix.Operator
		r    int
		opt  Options
		want error
	}{
		{"no items", empty, 1, Options{}, ErrEmpty},
		{"rank 0", a, 0, Options{}, ErrRank},
		{"negative entries", negative, 1, Options{}, ErrNegative},
		{"more columns than memory can hold", a, math.MaxInt / 16, Options{}, ErrRank},
		{"a start far too large", a, 2, Options{Start: Given{filled(6, 2, 1e9)}}, ErrStart},
		{"points with the diagonal ignored, from zero", points, 2, Options{Start: Zero{}, IgnoreDiagonal: true}, ErrStart},
		{"residual form from zero on a zero diagonal", hollow, 1, Options{Solver: Residual{}, Start: Zero{}}, ErrUnfit},
		{"no limit", a, 2, Options{Stop: Stop{Sweeps: -1}}, ErrOption},
		{"negative time", a, 2, Options{Stop: Stop{Time: -1}}, ErrOption},
		{"NaN tolerance", a, 2, Options{Stop: Stop{KKT: math.NaN()}}, ErrOption},
		{"negative change", a, 2, Options{Stop: Stop{RelChange: -1}}, ErrOption},
		{"negative runs", a, 2, Options{Runs: -1}, ErrOption},
		{"negative kicks", a, 2, Options{Kicks: -1}, ErrOption},
		{"−1 runs at once", a, 2, Options{AtOnce: -1}, ErrOption},
		{"negative threads", a, 2, Options{Threads: -1}, ErrOption},
		{"a change that is NaN", a, 2, Options{Stop: Stop{RelChange: math.NaN()}}, ErrOption},
		{"a bound before the first", a, 2, Options{Bound: NoBound - 1}, ErrOption},
		{"a bound after the last", a, 2, Options{Bound: AnyBound + 1}, ErrOption},
		{"three weights for two columns", a, 2, Options{L1: []float64{1, 2, 3}}, ErrOption},
		{"a negative weight", a, 2, Options{L1: []float64{-1}}, ErrOption},
		{"an infinite weight", a, 2, Options{L1: []float64{math.Inf(1), 0}}, ErrOption},
		{"several runs from zero", a, 2, Options{Runs: 2, Start: Zero{}}, ErrOption},
		{"no factor given", a, 2, Options{Start: Given{}}, ErrStart},
		{"a start of another shape", a, 2, Options{Start: Given{matrix.NewDense(6, 3, nil)}}, ErrStart},
		{"a start with NaN", a, 2, Options{Start: Given{nan}}, ErrStart},
		{"an order that does not exist", a, 2, Options{Solver: CD{Order: 7}}, ErrOption},
		{"nu above 1", a, 2, Options{Solver: CD{Nu: 2}}, ErrOption},
		{"a negative period", a, 2, Options{Solver: CD{MBIEvery: -1}}, ErrOption},
		{"blocks of −1 rows", a, 2, Options{Solver: RowBlock{Block: -1}}, ErrOption},
		{"−1 passes", a, 2, Options{Solver: RowBlock{Passes: -1}}, ErrOption},
		{"math.MaxInt passes", a, 2, Options{Solver: RowBlock{Passes: math.MaxInt}}, ErrOption},
		{"1001 passes", a, 2, Options{Solver: RowBlock{Passes: 1001}}, ErrOption},
		{"a step that must gain twice the best", a, 2, Options{Solver: RowBlock{Whole: 2}}, ErrOption},
		{"a comparison every −1 sweeps", a, 2, Options{Solver: RowBlock{CheckEvery: -1}}, ErrOption},
		{"−2 columns of compression", a, 2, Options{Solver: RowBlock{Compress: -2}}, ErrOption},
		{"steps up to 2.5", a, 2, Options{Solver: RowBlock{MaxStep: 2.5}}, ErrOption},
		{"steps up to −1", a, 2, Options{Solver: RowBlock{MaxStep: -1}}, ErrOption},
		{"steps up to NaN", a, 2, Options{Solver: RowBlock{MaxStep: math.NaN()}}, ErrOption},
		{"a first sweep that does not exist", a, 2, Options{Solver: RowBlock{First: 3}}, ErrOption},
		{"a precision that does not exist", a, 2, Options{Solver: RowBlock{Precision: -1}}, ErrOption},
		{"residual form of a sparse matrix", sparse, 1, Options{Solver: Residual{}}, ErrUnfit},
		{"residual form of points", points, 1, Options{Solver: Residual{}}, ErrUnfit},
		{"residual form in single precision", single, 1, Options{Solver: Residual{}}, ErrUnfit},
		{"residual form of a view", unit, 1, Options{Solver: Residual{}}, ErrUnfit},
		{"residual form with the diagonal ignored", a, 1, Options{Solver: Residual{}, IgnoreDiagonal: true}, ErrUnfit},
	} {
		res, err := Factorize(context.Background(), c.a, c.r, c.opt)
		if !errors.Is(err, c.want) || res != nil {
			t.Errorf("%s: result %v, error %v, want %v", c.name, res, err, c.want)
		}
	}
}

// filled returns a matrix with all entries equal to v.
func filled(rows, cols int, v float64) *matrix.Dense {
	d := matrix.NewDense(rows, cols, nil)
	for k := range d.Data() {
		d.Data()[k] = v
	}
	return d
}

// TestMistakeInside: a run that fails its verification ends with an error, and its goroutines end with it.
func TestMistakeInside(t *testing.T) {
	defer func(v bool) { verifying = v }(verifying)
	verifying = true
	ignored := goleak.IgnoreCurrent()
	res, err := Factorize(context.Background(), lowRank(t, 60, 6), 6, Options{Solver: mistaken{}, Threads: 4})
	if res != nil || !errors.Is(err, errMistaken) {
		t.Errorf("result %v, error %v, want no result and the error of the verification", res, err)
	}
	goleak.VerifyNone(t, ignored)
}

// mistaken is RowBlock, except that its runs always fail verification.
type mistaken struct{ RowBlock }

type mistakenRun struct{ *rowBlockRun }

var errMistaken = errors.New("mistaken")

func (m mistaken) start(p *problem, h *matrix.Dense, number int) run {
	return mistakenRun{m.RowBlock.start(p, h, number).(*rowBlockRun)}
}

func (mistakenRun) verify() error { return errMistaken }

// TestParse: every method and every start parses from its name, knobs get the values set, and bad names and
// values are refused.
func TestParse(t *testing.T) {
	for _, m := range Methods() {
		s, err := ParseSolver(m.Name, nil)
		if err != nil || s.Name() != m.Name {
			t.Errorf("method %s parses to %v, %v", m.Name, s, err)
		}
	}
	for _, s := range Starts() {
		start, err := ParseStart(s.Name)
		if err != nil || start.Name() != s.Name {
			t.Errorf("start %s parses to %v, %v", s.Name, start, err)
		}
	}
	got, err := ParseSolver("cd-shuffle", map[string]string{"entries": "select", "nu": "0.25", "mbi-every": "4"})
	if got, ok := got.(CD); err != nil || !ok || got.Order != Shuffle || got.Entries != Selected || got.Nu != 0.25 || got.MBIEvery != 4 {
		t.Errorf("knobs parse to %+v, %v", got, err)
	}
	got, err = ParseSolver("rowblock", map[string]string{"block": "64", "passes": "2", "check-every": "3"})
	if want := (RowBlock{Block: 64, Passes: 2, CheckEvery: 3}); err != nil || got != want {
		t.Errorf("knobs parse to %+v, %v", got, err)
	}
	for _, bad := range []struct {
		method string
		set    map[string]string
	}{
		{"cd", nil},
		{"cd-cyclic", map[string]string{"entries": "backwards"}},
		{"cd-cyclic", map[string]string{"nu": "0"}},
		{"cd-cyclic", map[string]string{"nu": "x"}},
		{"cd-cyclic", map[string]string{"mbi-every": "-1"}},
		{"cd-cyclic", map[string]string{"mbi-every": "2.5"}},
		{"rowblock", map[string]string{"block": "0"}},
		{"rowblock", map[string]string{"passes": "x"}},
		{"rowblock", map[string]string{"passes": "1001"}},
		{"rowblock", map[string]string{"whole": "1.5"}},
		{"rowblock", map[string]string{"passes": "9223372036854775807"}},
		{"cd-cyclic", map[string]string{"nu": "0.5", "passes": "3"}},
		{"cd-mbi", map[string]string{"nu": "0.5"}},
	} {
		if s, err := ParseSolver(bad.method, bad.set); !errors.Is(err, ErrOption) {
			t.Errorf("%s with %v parses to %v, error %v, want ErrOption", bad.method, bad.set, s, err)
		}
	}
	if _, err := ParseStart("eigen"); !errors.Is(err, ErrOption) {
		t.Errorf("start eigen: error %v, want ErrOption", err)
	}
}

// TestChoice: a method and a start left open are chosen as stated, the result says why, and H is not zero.
// The result says nothing where both are given.
func TestChoice(t *testing.T) {
	text, err := matrix.Gram(instance.Text(100, 60, 8, 1), matrix.Columns, 1)
	if err != nil {
		t.Fatal(err)
	}
	graph, _ := instance.PlantedGraph(30, 3, 0.2, 0.02, 1)
	looped := matrix.NewDense(30, 30, nil)
	whole := mustCSR(t, graph).(matrix.RowVisitor)
	for i := range 30 {
		whole.VisitRow(i, func(l int, v float64) { looped.Set(i, l, v) })
	}
	looped.Set(4, 4, 1)
	points, err := matrix.Gram(instance.Start(30, 8, 1), matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name          string
		a             matrix.Operator
		opt           Options
		method, start string
		says          bool
	}{
		{"points", text, Options{}, "rowblock", "tsvd", true},
		{"several runs", text, Options{Runs: 2}, "rowblock", "tsvd", true},
		{"a graph", mustCSR(t, graph), Options{}, "rowblock", "tsvd", true},
		{"a graph, several runs", mustCSR(t, graph), Options{Runs: 2}, "rowblock", "tsvd", true},
		{"a graph with a loop", mustCSR(t, looped.CSR()), Options{}, "rowblock", "tsvd", true},
		{"a graph, with a weight", mustCSR(t, graph), Options{L1: []float64{0.1}}, "rowblock", "tsvd", true},
		{"a graph with the diagonal ignored", mustCSR(t, graph), Options{IgnoreDiagonal: true}, "rowblock", "tsvd", true},
		{"a graph and a method", mustCSR(t, graph), Options{Solver: RowBlock{}}, "rowblock", "random", true},
		{"an ignored diagonal", text, Options{IgnoreDiagonal: true}, "rowblock", "tsvd", true},
		{"dense points", points, Options{}, "rowblock", "tsvd", true},
		{"a weight", text, Options{L1: []float64{0.1}}, "rowblock", "tsvd", true},
		{"a weight, several runs", text, Options{L1: []float64{0.1}, Runs: 2}, "rowblock", "tsvd", true},
		{"dense points, with a weight", points, Options{L1: []float64{0.1}}, "rowblock", "random", true},
		{"no products by blocks", plainOperator{text}, Options{}, "cd-cyclic", "zero", true},
		{"a method, several runs", text, Options{Solver: RowBlock{}, Runs: 2}, "rowblock", "random", true},
		{"a dense matrix and a method", lowRank(t, 9, 3), Options{Solver: CD{}}, "cd-cyclic", "zero", true},
		{"a given start", lowRank(t, 9, 3), Options{Start: Given{instance.Start(9, 3, 1)}}, "rowblock", "given", true},
		{"nothing moves from zero", mustCSR(t, graph), Options{Start: Zero{}}, "cd-cyclic", "zero", true},
		{"a method", text, Options{Solver: MBI{}, Stop: Stop{Sweeps: 1}}, "cd-mbi", "zero", true},
		{"a method and a start", text, Options{Solver: CD{}, Start: Random{}}, "cd-cyclic", "random", false},
	} {
		res := factorize(t, c.a, 3, c.opt)
		if res.Method != c.method || res.Start != c.start || (res.Why != "") != c.says {
			t.Errorf("%s: %s from %s because %q, want %s from %s", c.name, res.Method, res.Start, res.Why, c.method, c.start)
		}
		if res.ZeroColumns == 3 {
			t.Errorf("%s: H = 0", c.name)
		}
	}
	for _, r := range []int{2, 5} { // 2²⁰ items in a ring
		const n = 1 << 20
		ptr, col := make([]int64, n+1), make([]int32, 0, 2*n)
		for i := range n {
			before, after := int32((i+n-1)%n), int32((i+1)%n)
			col = append(col, min(before, after), max(before, after))
			ptr[i+1] = int64(len(col))
		}
		ring, err := matrix.NewCSR(n, n, ptr, col, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := mustProblem(t, mustCSR(t, ring), r)
		opt := Options{}
		p.choose(&opt)
		if _, turned := opt.Start.(TSVDStart); turned != (r == 2) {
			t.Errorf("a ring of 2²⁰ items, r = %d: the start is %s, want tsvd for r = 2 only", r, opt.Start.Name())
		}
	}
}

// TestChoiceOfColumns: the start chosen is tsvd, which rotates eigenvectors, if its rotations cost little
// beside the sweeps, or if the data are dense. Otherwise it is random.
func TestChoiceOfColumns(t *testing.T) {
	few, err := matrix.Gram(instance.Start(400, 10, 1), matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		a    matrix.Operator
		r    int
		want string
	}{
		{"64 columns", mustCSR(t, instance.RandomSparse(400, 4000, 1)), 64, "tsvd"},
		{"65 columns, more than an eighth of the items", mustCSR(t, instance.RandomSparse(400, 4000, 1)), 65, "random"},
		{"66 columns, an eighth of the items", mustCSR(t, instance.RandomSparse(528, 4000, 1)), 66, "tsvd"},
		{"dense, more columns than items", mustDense(t, instance.FullRank(400, 1)), 401, "tsvd"},
		{"dense, H of more than 2²² entries", mustDense(t, instance.FullRank(400, 1)), 1<<22/400 + 1, "random"},
		{"points of ten features, 300 columns", few, 300, "tsvd"},
	} {
		opt := Options{}
		if mustProblem(t, c.a, c.r).choose(&opt); opt.Start.Name() != c.want {
			t.Errorf("%s: start %s, want %s", c.name, opt.Start.Name(), c.want)
		}
	}
}

// TestEdgesOfTheProblem: degenerate problems have their known answers: A = 0, one item, nothing but ignored
// loops, pairs of equal items, zero rows, and the identity with r = n.
func TestEdgesOfTheProblem(t *testing.T) {
	zero := mustDense(t, matrix.NewDense(4, 4, nil))
	for _, opt := range []Options{{}, {Solver: CD{}, Start: Random{}}, {L1: []float64{1}}, {IgnoreDiagonal: true}, {Solver: Residual{}, Start: Zero{}}} {
		opt.Trace = true
		res := factorize(t, zero, 2, opt)
		if res.Status != Converged || res.RelErr != 0 || res.KKT != 0 || res.ZeroRows != 4 || res.ZeroColumns != 2 || res.Objective != 0 {
			t.Errorf("A = 0 with %+v: %+v", opt, res)
		}
	}
	one := factorize(t, mustDense(t, matrix.NewDense(1, 1, []float64{9})), 1, Options{})
	if h := one.H.At(0, 0); !(math.Abs(h-3) <= 1e-15) || one.Status != Converged {
		t.Errorf("A = [9]: H = [%v], %v", h, one.Status)
	}
	loops, err := matrix.NewCSR(3, 3, []int64{0, 1, 2, 3}, []int32{0, 1, 2}, nil) // ones on the diagonal and nothing else
	if err != nil {
		t.Fatal(err)
	}
	if res := factorize(t, mustCSR(t, loops), 2, Options{IgnoreDiagonal: true}); res.Status != Converged || res.RelErr != 0 || res.NormA != 0 {
		t.Errorf("only loops, which are ignored: %+v", res)
	}
	twice := mustDense(t, matrix.NewDense(4, 4, []float64{1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 2, 2, 0, 0, 2, 2}))
	res := factorize(t, twice, 2, Options{Solver: CD{}, Start: Zero{}})
	if !(res.RelErr <= 1e-7) || res.H.At(0, 0) != res.H.At(1, 0) {
		t.Errorf("two pairs of equal items: relative error %v, H %v", res.RelErr, res.H.Data())
	}
	rows := readGolden(t, "zerorows50")
	res = factorize(t, mustCSR(t, sparseOf(t, rows.a)), rows.R, Options{Solver: CD{}, Start: Random{}, Stop: Stop{Sweeps: 1}})
	if res.ZeroRows != 5 {
		t.Errorf("%d zero rows of H after one sweep, want 5, as many as A has", res.ZeroRows)
	}
	identity := matrix.NewDense(10, 10, nil)
	for i := range 10 {
		identity.Set(i, i, 1)
	}
	if res := factorize(t, mustDense(t, identity), 10, Options{}); !(res.RelErr <= 1e-7) {
		t.Errorf("A = I, r = n: relative error %v", res.RelErr)
	}
}

// TestLimits: a run ends at its limit on sweeps or time, at its tolerance on the KKT residual or the relative
// change, or at a fixed point, and says which.
func TestLimits(t *testing.T) {
	a := lowRank(t, 60, 6)
	base := Options{Solver: CD{}, Start: Random{}, Stop: Stop{KKT: -1}}

	opt := base
	opt.Stop.Sweeps = 7
	if res := factorize(t, a, 6, opt); res.Status != SweepLimit || res.Sweeps != 7 {
		t.Errorf("7 sweeps: %v after %d", res.Status, res.Sweeps)
	}
	opt = base
	opt.Stop = Stop{Sweeps: -1, KKT: -1, Time: time.Nanosecond}
	if res := factorize(t, a, 6, opt); res.Status != TimeLimit || res.Time < time.Nanosecond {
		t.Errorf("1 ns: %v after %v", res.Status, res.Time)
	}
	opt = base
	opt.Stop.KKT = 1e-3
	res := factorize(t, a, 6, opt)
	if res.Status != Converged || !(res.KKT <= 1e-3) {
		t.Errorf("KKT 1e-3: %v at %v", res.Status, res.KKT)
	}
	opt.Stop = Stop{Sweeps: res.Sweeps - 2, KKT: -1}
	if early := factorize(t, a, 6, opt); early.KKT <= 1e-3/2 {
		t.Errorf("KKT 1e-3 took %d sweeps; two sweeps earlier the residual was already %v", res.Sweeps, early.KKT)
	}
	opt.Stop = Stop{KKT: -1, RelChange: 0.1}
	opt.Trace = true
	res = factorize(t, a, 6, opt)
	last := res.Trace[len(res.Trace)-2:]
	if f, g := last[0].RelErr*last[0].RelErr, last[1].RelErr*last[1].RelErr; res.Status != Stalled || f-g > 0.1*f {
		t.Errorf("relative change 0.1: %v, error² from %v to %v", res.Status, f, g)
	}
	for k := 1; k < len(res.Trace)-1; k++ {
		if f, g := math.Pow(res.Trace[k-1].RelErr, 2), math.Pow(res.Trace[k].RelErr, 2); f-g <= 0.0999*f {
			t.Errorf("relative change 0.1: sweep %d changed less, but the run went on", k)
		}
	}
	// A fixed point ends a run that nothing else would end.
	opt = Options{Solver: CD{}, Stop: Stop{Sweeps: -1, Time: time.Hour, KKT: -1}}
	if res := factorize(t, mustDense(t, matrix.NewDense(1, 1, []float64{4})), 1, opt); res.Status != Stalled {
		t.Errorf("A = [4]: %v", res.Status)
	}
}

// TestCancellation: a cancelled call returns the context's error together with the best H so far: that of the
// last sweep completed, the start, or the H of an earlier run.
func TestCancellation(t *testing.T) {
	a := lowRank(t, 80, 8)
	opt := Options{Solver: CD{Order: Shuffle}, Start: Random{}, Stop: Stop{Sweeps: 1 << 30, KKT: -1}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	opt.Progress = func(p Progress) {
		if p.Sweep == 5 {
			cancel()
		}
	}
	res, err := Factorize(ctx, a, 8, opt)
	if !errors.Is(err, context.Canceled) || res == nil {
		t.Fatalf("result %v, error %v", res, err)
	}
	if res.Status != Interrupted || res.Sweeps != 5 || res.RelErr > 0.5 {
		t.Errorf("%v after %d sweeps, relative error %v", res.Status, res.Sweeps, res.RelErr)
	}
	opt.Stop.Sweeps, opt.Progress = 5, nil
	if want := factorize(t, a, 8, opt); !slices.Equal(res.H.Data(), want.H.Data()) {
		t.Error("the interrupted H is not that of its last sweep")
	}

	// Before the first sweep, and by a deadline, the start is the best H so far.
	res, err = Factorize(ctx, a, 8, opt)
	if !errors.Is(err, context.Canceled) || res == nil || res.Status != Interrupted || res.Sweeps != 0 || res.RelErr > 1 {
		t.Errorf("cancelled before the first sweep: %+v, %v", res, err)
	}
	late, stop := context.WithTimeout(context.Background(), time.Nanosecond)
	defer stop()
	<-late.Done()
	if _, err := Factorize(late, a, 8, opt); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("deadline: error %v", err)
	}

	// Cancelled in the second of several runs: the first is complete and is the answer.
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	opt.Runs = 3
	opt.Progress = func(p Progress) {
		if p.Run == 2 && p.Sweep == 1 {
			cancel()
		}
	}
	res, err = Factorize(ctx, a, 8, opt)
	if !errors.Is(err, context.Canceled) || res == nil || len(res.Runs) != 2 || res.Sweeps != 5 || res.Status != Interrupted {
		t.Errorf("cancelled in run 2: %+v, %v", res, err)
	}
}

// TestCancellationInsideASweep stops every method inside its first sweep. H is valid, that of a monotone
// method is better than at the start of the sweep, and the decrease reported is that of the definition. A
// method whose sweep is one step leaves H as it was.
func TestCancellationInsideASweep(t *testing.T) {
	g := readGolden(t, "fullrank60")
	for _, v := range variants(t) {
		if v.solver == (RowBlock{}) {
			continue // it reports nothing about a sweep it has not checked: TestRowBlockCut
		}
		p, h := goldenProblem(t, g, g.forms(t)["dense"])
		work := v.solver.start(p, h, 0)
		before := p.measure(h)
		is := traitsFor(v.solver)
		if is.oneStep {
			was := h.Clone().Data()
			if rep := work.sweep(func() bool { return true }); !rep.cut || rep.decrease != 0 || !slices.Equal(h.Data(), was) {
				t.Errorf("%s: cut %v, decrease %v, H as it was: %v", v.name, rep.cut, rep.decrease, slices.Equal(h.Data(), was))
			}
			if k, ok := work.(keeper); ok {
				k.end()
			}
			continue
		}
		calls, most := 0, 3
		if is.rises {
			most = 1 // it has two factors, and asks before each
		}
		rep := work.sweep(func() bool { calls++; return calls > most })
		if k, ok := work.(keeper); ok {
			h = k.publish()
		}
		after := p.measure(h)
		if !rep.cut || !is.rises && !(after.errSq < before.errSq) {
			t.Errorf("%s: cut %v, error² from %v to %v", v.name, rep.cut, before.errSq, after.errSq)
		}
		if d := math.Abs(before.objective() - after.objective() - rep.decrease); !(d <= 1e-12) {
			t.Errorf("%s: decrease %v, by definition %v", v.name, rep.decrease, before.objective()-after.objective())
		}
	}
}

// TestRuns: of several runs, each from its own start, the best is kept and is the one named. The first is the
// same as a single run.
func TestRuns(t *testing.T) {
	a := mustDense(t, instance.FullRank(40, 2))
	opt := Options{Solver: CD{}, Runs: 4, Seed: 9, Stop: Stop{Sweeps: 20}}
	res := factorize(t, a, 5, opt)
	if len(res.Runs) != 4 {
		t.Fatalf("%d runs", len(res.Runs))
	}
	best, distinct := math.Inf(1), map[float64]bool{}
	for _, r := range res.Runs {
		best = min(best, r.Objective)
		distinct[r.Objective] = true
	}
	if k := res.Runs[res.Run-1]; k.Run != res.Run || k.Objective != best || k.Sweeps != res.Sweeps {
		t.Errorf("run %d of %+v is called the one kept", res.Run, res.Runs)
	}
	if res.Objective != best || len(distinct) != 4 {
		t.Errorf("kept %v of %+v", res.Objective, res.Runs)
	}
	// The first of several runs is the same as a single run.
	opt.Runs, opt.Start = 1, Random{}
	if one := factorize(t, a, 5, opt); one.Objective != res.Runs[0].Objective {
		t.Errorf("run 1 alone ends at %v, among four at %v", one.Objective, res.Runs[0].Objective)
	}
}

// TestRunsOutOfRange: the best of several runs is kept even if, in the units of A, all objectives overflow or
// all underflow.
func TestRunsOutOfRange(t *testing.T) {
	for _, c := range []float64{1e160, 1e-170} {
		d := instance.FullRank(40, 2)
		for k := range d.Data() {
			d.Data()[k] *= c
		}
		res := factorize(t, mustDense(t, d), 5, Options{Solver: CD{}, Runs: 4, Seed: 1, Stop: Stop{Sweeps: 20}})
		for _, r := range res.Runs {
			if r.RelErr < res.RelErr {
				t.Errorf("entries of %v: run %d with an error of %v is kept, run %d has %v", c, res.Run, res.RelErr, r.Run, r.RelErr)
			}
		}
		if res.Run == 1 {
			t.Errorf("entries of %v: the first run is the best, so this test shows nothing", c)
		}
	}
}

// TestLimitAfterADoubt: if a run doubts a verdict and goes on, that verdict is not the status it ends with.
// After one sweep the run ends at its limit; only after two has it stalled.
func TestLimitAfterADoubt(t *testing.T) {
	a, start := twoGroups(t)
	for sweeps := 1; sweeps <= 2; sweeps++ {
		res := factorize(t, a, 2, Options{Solver: RowBlock{}, Start: start, Stop: Stop{Sweeps: sweeps, RelChange: 1, KKT: 1e-12}})
		want := SweepLimit // the first sweep would end the run, were there no sweep row by row to be tried
		if sweeps == 2 {
			want = Stalled
		}
		if res.Status != want || res.Sweeps != sweeps {
			t.Errorf("at most %d sweeps: %v after %d", sweeps, res.Status, res.Sweeps)
		}
	}
}

// TestLargeStart: a random start that is filled in many parts is one multiple of the random numbers, each
// addressed by its place in H, and rowblock begins with exactly that H.
func TestLargeStart(t *testing.T) {
	const r = 13
	n := 2*max(rowsCopied, fillBlock/r) + 5
	p, h, s := startRun(t, mustCSR(t, instance.RandomSparse(n, 2*n, 1)), r, RowBlock{}, Options{Start: Random{}, Threads: 2})
	defer s.end()
	u := uniform{key: kernel.Mix(p.seed)}
	beta := h.At(0, 0) / u.at(0)
	for i := range n {
		for j := range r {
			want := beta * u.at(uint64(i*r+j))
			if got := h.At(i, j); !(math.Abs(got-want) <= 0x1p-50*want) {
				t.Fatalf("H[%d,%d] = %v, want %v", i, j, got, want)
			}
			if got := s.h.At(i, j); got != h.At(i, j) {
				t.Fatalf("rowblock begins with H[%d,%d] = %v, given %v", i, j, got, h.At(i, j))
			}
		}
	}
}

// TestRandomStartIsScaled: the random start has a relative error below 1, and its numbers have the mean and
// the mean square of the uniform distribution on [0, 1), within five standard deviations. They are the same
// whether made one by one or many at a time.
func TestRandomStartIsScaled(t *testing.T) {
	for _, name := range goldenNames {
		g := readGolden(t, name)
		res := factorize(t, g.forms(t)["dense"], g.R, Options{Solver: CD{}, Start: Random{}, Trace: true, Stop: Stop{Sweeps: 1}})
		if e := res.Trace[0].RelErr; !(e < 1) {
			t.Errorf("%s: the scaled start has relative error %v", name, e)
		}
	}
	u := uniform{5}
	var sum, sumSq float64
	const n = 100000
	for k := range uint64(n) {
		v := u.at(k)
		if v < 0 || v >= 1 {
			t.Fatalf("number %d is %v", k, v)
		}
		sum, sumSq = sum+v, sumSq+v*v
	}
	some := make([]float64, 100)
	u.fill(some, 77)
	for k, v := range some {
		if want := u.at(77 + uint64(k)); v != want {
			t.Fatalf("filled from number 77 on: number %d is %v, want %v", k, v, want)
		}
	}
	if m := sum / n; !(math.Abs(m-0.5) <= 5*math.Sqrt(1.0/12/n)) {
		t.Errorf("mean %v", m)
	}
	if m := sumSq / n; !(math.Abs(m-1.0/3) <= 5*math.Sqrt(4.0/45/n)) {
		t.Errorf("mean square %v", m)
	}
}

// TestMemoryOfSparse: nothing of size n² is allocated for a sparse matrix.
func TestMemoryOfSparse(t *testing.T) {
	const n, nnz, r = 200_000, 1_000_000, 4
	a := mustCSR(t, instance.RandomSparse(n, nnz, 1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := factorize(t, a, r, Options{Solver: CD{Order: Shuffle}, Start: Random{}, Stop: Stop{Sweeps: 2, KKT: -1}, Threads: 2})
	runtime.ReadMemStats(&after)
	// H, A·H, L, the diagonal, and as much again for temporary use.
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(8*(5*n*r+6*n)); got > most {
		t.Errorf("%d bytes allocated, want at most %d", got, most)
	}
	if !(res.RelErr < 1) {
		t.Errorf("relative error %v", res.RelErr)
	}
}

// TestConcurrentCalls: several calls at the same time on one operator each give the H of a call by itself.
func TestConcurrentCalls(t *testing.T) {
	g := readGolden(t, "text120")
	for form, a := range g.forms(t) {
		opt := Options{Solver: CD{Order: Shuffle}, Start: Random{}, Stop: Stop{Sweeps: 3}}
		want := factorize(t, a, g.R, opt).H.Data()
		done := make(chan []float64)
		for range 4 {
			go func() {
				res, err := Factorize(context.Background(), a, g.R, opt)
				if err != nil {
					done <- nil
					return
				}
				done <- res.H.Data()
			}()
		}
		for range 4 {
			if got := <-done; !slices.Equal(got, want) {
				t.Errorf("%s: calls at the same time disturb each other", form)
			}
		}
	}
}

// TestStartIsBestMultiple: no multiple of the random start has a lower objective, the ℓ₁ term included.
func TestStartIsBestMultiple(t *testing.T) {
	for _, name := range goldenNames {
		g := readGolden(t, name)
		for _, w := range []float64{0, 1e-4, 1e-3} { // beyond these, the best multiple is 0
			a := g.forms(t)["sparse"]
			for _, ignore := range []bool{false, true} {
				if ignore && w > 1e-4 {
					continue // there the best multiple is 0 for some instances
				}
				p, err := newProblem(a, g.R, &Options{L1: []float64{w * math.Pow(a.Norm(), 1.5)}, IgnoreDiagonal: ignore})
				if err != nil {
					t.Fatal(err)
				}
				h := matrix.NewDense(g.N, g.R, nil)
				if err := (Random{}).fill(p, h, 0); err != nil {
					t.Fatal(err)
				}
				f := p.measure(h)
				for _, c := range []float64{0.9, 0.99, 1.01, 1.1} {
					scaled := h.Clone()
					for k, v := range scaled.Data() {
						scaled.Data()[k] = c * v
					}
					if other := p.measure(scaled); !(other.objective() >= f.objective()*(1-1e-12)) {
						t.Errorf("%s, weight %v, without diagonal %v: %v times the start has objective %v, the start %v", name, w, ignore, c, other.objective(), f.objective())
					}
				}
			}
		}
	}
}

// TestLimitWhileFalling: a run from turned eigenvectors that a limit ends while its error still falls fast has not
// converged, however small its KKT residual is.
func TestLimitWhileFalling(t *testing.T) {
	for _, tc := range []struct {
		status Status
		turned bool
		rate   float64
		want   Status
	}{
		{SweepLimit, true, 0.1, SweepLimit}, {TimeLimit, true, 0.1, TimeLimit}, {SweepLimit, true, 1e-9, Converged}, {TimeLimit, true, 1e-9, Converged},
		{TimeLimit, false, 0.1, Converged}, {Interrupted, true, 1e-9, Interrupted}, {Converged, true, 0.1, Converged},
	} {
		p := mustProblem(t, mustDense(t, fill(6, func(i, l int) float64 { return float64((l + 1) / (i + 1)) })), 3)
		p.turned = tc.turned
		h := matrix.NewDense(6, 3, nil)
		for j := range 3 { // half of the identity
			h.Set(j, j, math.Sqrt(p.scale))
		}
		f := p.measure(h)
		c := &course{p: p, ctx: t.Context(), limits: Stop{}.limits(), clk: newClock(time.Now), status: tc.status, res: &Result{Sweeps: 3},
			h: h, objective: f.objective(), last: falling{objective: f.objective(), sweep: 3, rates: [2]float64{tc.rate, tc.rate}}}
		if res, err := c.close(); err != nil || res.Status != tc.want {
			t.Errorf("%+v: %v, %v", tc, res.Status, err)
		}
	}
}

// TestNothingToSay: H = 0 is the answer for A = 0, and no note gives advice against it.
func TestNothingToSay(t *testing.T) {
	for _, ignore := range []bool{false, true} {
		a := matrix.NewDense(3, 3, nil)
		if ignore {
			a.Set(1, 1, 2)
		}
		for _, start := range []Start{nil, Zero{}, Random{}} {
			res := factorize(t, mustDense(t, a), 2, Options{Start: start, IgnoreDiagonal: ignore})
			if res.Status != Converged || res.RelErr != 0 || len(res.Notes) > 0 {
				t.Errorf("diagonal ignored %v, from %s: %v, error %v, notes %q", ignore, res.Start, res.Status, res.RelErr, res.Notes)
			}
		}
	}
}

// TestPowerOf4: the scale of A is a power of 4 that brings ‖A‖ to between 1 and 4, or as near as it can and still be a
// normal number.
func TestPowerOf4(t *testing.T) {
	for _, c := range []struct{ norm, want float64 }{
		{0, 1}, {1, 1}, {3.9, 1}, {4, 0x1p-2}, {0.99, 4}, {0x1p-1022, 0x1p1022}, {5e-324, 0x1p1022}, {0x1p1022, 0x1p-1022}, {math.MaxFloat64, 0x1p-1022},
	} {
		if got := powerOf4(c.norm); got != c.want {
			t.Errorf("norm %v: scale %v, want %v", c.norm, got, c.want)
		}
	}
}

// TestStartWithoutBestMultiple: a start has numbers, and some above 0, where no multiple of it is the best one: where ℓ₁
// weights leave nothing but 0 along the ray, they do not count, and where without the diagonal ‖HHᵀ‖ is 0 the start stays.
func TestStartWithoutBestMultiple(t *testing.T) {
	a := mustDense(t, instance.FullRank(12, 1))
	weighed, err := newProblem(a, 3, &Options{L1: []float64{10 * math.Pow(a.Norm(), 1.5)}})
	if err != nil {
		t.Fatal(err)
	}
	h, want := matrix.NewDense(12, 3, nil), matrix.NewDense(12, 3, nil)
	if err := (Random{}).fill(weighed, h, 0); err != nil {
		t.Fatal(err)
	}
	if err := (Random{}).fill(mustProblem(t, a, 3), want, 0); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(h.Data(), want.Data()) {
		t.Errorf("with large weights the start is %v, without them %v", h.Data(), want.Data())
	}
	without, err := newProblem(a, 3, &Options{IgnoreDiagonal: true})
	if err != nil {
		t.Fatal(err)
	}
	h = matrix.NewDense(12, 3, nil)
	for j := range 3 {
		h.Set(4*j, j, 0.5)
	}
	want = h.Clone()
	if without.rescale(h); !slices.Equal(h.Data(), want.Data()) {
		t.Errorf("rows that are orthogonal, without the diagonal: %v, want %v", h.Data(), want.Data())
	}
}

// TestLimitAtAConvergedPoint: a run that a limit ends at a point whose KKT residual is within the tolerance
// has converged, whatever residual was seen on the way.
func TestLimitAtAConvergedPoint(t *testing.T) {
	for _, name := range goldenNames {
		g := readGolden(t, name)
		a := g.forms(t)["dense"]
		for sweeps := 1; sweeps <= 8; sweeps++ {
			opt := Options{Solver: CD{}, Start: Zero{}, Stop: Stop{Sweeps: sweeps, KKT: -1}}
			res := factorize(t, a, g.R, opt)
			opt.Stop.KKT = res.KKT * (1 + 1e-9)
			if res.KKT == 0 {
				continue
			}
			if got := factorize(t, a, g.R, opt); got.Status != Converged || !(got.KKT <= opt.Stop.KKT) {
				t.Errorf("%s, %d sweeps: %v at KKT residual %v, tolerance %v", name, sweeps, got.Status, got.KKT, opt.Stop.KKT)
			}
		}
	}
}

// TestLimitBeforeZeroIsLeft: a run that ends before its first sweep from H = 0 has met its limit, although
// the KKT residual is 0 there. A run whose sweeps stay at zero has converged.
func TestLimitBeforeZeroIsLeft(t *testing.T) {
	a := lowRank(t, 60, 6)
	for _, s := range []Solver{CD{}, RowBlock{}} {
		res := factorize(t, a, 6, Options{Solver: s, Start: Zero{}, Stop: Stop{Time: time.Nanosecond}})
		if res.Status != TimeLimit || res.Sweeps != 0 || kernel.Nonzero(res.H.Data()) || res.KKT != 0 ||
			!slices.Equal(res.Notes, []string{"H = 0, since the run ended before its first sweep had left it"}) {
			t.Errorf("%s for 1 ns: %v after %d sweeps, KKT residual %v, notes %q", s.Name(), res.Status, res.Sweeps, res.KKT, res.Notes)
		}
		res = factorize(t, a, 6, Options{Solver: s, Start: Zero{}, L1: []float64{1e3}, Stop: Stop{Sweeps: 1}})
		if res.Status != Converged || res.Sweeps != 1 || kernel.Nonzero(res.H.Data()) || !slices.Equal(res.Notes, []string{"H = 0, a stationary point like any other; a smaller l1 weight may lead away from it"}) {
			t.Errorf("%s, an l1 weight that holds it at zero: %v after %d sweeps, notes %q", s.Name(), res.Status, res.Sweeps, res.Notes)
		}
	}
	res := factorize(t, a, 6, Options{Solver: MU{}, Start: Given{matrix.NewDense(60, 6, nil)}})
	if res.Status != Converged || !slices.Equal(res.Notes, []string{"H = 0, a stationary point like any other; a random start may lead away from it"}) {
		t.Errorf("mu from zeros: %v, notes %q", res.Status, res.Notes)
	}
}

// TestStillFalling: a converged run whose error still falls fast has a note that says so. There is no note if
// the error does not fall fast, if the ℓ₁ term hides how fast, or if the run has not converged.
func TestStillFalling(t *testing.T) {
	small, _ := instance.LowRank(60, 6, 1)
	for _, c := range []struct {
		a    matrix.Operator
		opt  Options
		told bool
	}{
		{mustDense(t, small), Options{Stop: Stop{KKT: 1e-3}}, true},
		{mustDense(t, small), Options{Stop: Stop{KKT: 1e-3}, L1: []float64{1e-9}}, false},
		{mustDense(t, small), Options{Stop: Stop{KKT: 1e-7}}, false},
		{mustDense(t, small), Options{Stop: Stop{Sweeps: 4}}, false},
		{mustDense(t, instance.FullRank(60, 1)), Options{Stop: Stop{KKT: 1e-5}}, false},
	} {
		errs := []float64{1}
		opt := c.opt
		opt.Solver, opt.Start = RowBlock{}, Random{}
		opt.Progress = func(p Progress) { errs = append(errs, p.RelErr) }
		res := factorize(t, c.a, 6, opt)
		k := len(errs) - 1
		rate := 1 - min(errs[k]/errs[k-1], errs[k-1]/errs[k-2])
		note := fmt.Sprintf("the error was still falling by %.3g %% a sweep when the KKT residual met its tolerance; with a smaller tolerance the run would go on", 100*rate)
		if slices.Contains(res.Notes, note) != c.told || !c.told && len(res.Notes) > 0 || (res.Status == Converged) != (c.opt.Stop.Sweeps == 0) {
			t.Errorf("%+v: %v at %v, rate %v: notes %q", c.opt.Stop, res.Status, res.RelErr, rate, res.Notes)
		}
	}
	var f falling
	for k, c := range []struct{ objective, rate float64 }{{100, 0}, {25, 0.5}, {25, 0.5}, {25, 0}, {30, 0}, {0, 1}, {0, 1}, {-1, 0}} {
		if f.to(c.objective, k+1); !(math.Abs(f.rate()-c.rate) < 1e-15) {
			t.Errorf("step %d, objective %v: rate %v, want %v", k, c.objective, f.rate(), c.rate)
		}
	}
	f = falling{objective: 16, sweep: 1}
	if f.to(1, 3); f.rate() != 0.5 { // two sweeps
		t.Errorf("rate %v, want 0.5", f.rate())
	}
}

// TestCutFirstSweep: a run that a time limit ends inside its first sweep, with columns still zero, has not
// converged, although its H is stationary.
func TestCutFirstSweep(t *testing.T) {
	one := matrix.NewDense(6, 6, nil)
	for i := range 6 {
		one.Set(i, i, 1)
	}
	p := mustProblem(t, mustDense(t, one), 3)
	for _, tc := range []struct {
		sweeps, columns int
		status, want    Status
	}{{0, 1, TimeLimit, TimeLimit}, {0, 3, TimeLimit, Converged}, {1, 1, TimeLimit, Converged}, {0, 1, Interrupted, Interrupted}, {1, 1, SweepLimit, Converged}} {
		h := matrix.NewDense(6, 3, nil)
		for j := range tc.columns {
			h.Set(j, j, math.Sqrt(p.scale))
		}
		res := p.finish(&Result{Sweeps: tc.sweeps}, h, nil, tc.status, newClock(time.Now), 1e-6)
		if res.Status != tc.want || !(res.KKT < 1e-12) {
			t.Errorf("%d sweeps, %d columns, %v: %v, KKT %v, want %v", tc.sweeps, tc.columns, tc.status, res.Status, res.KKT, tc.want)
		}
	}
}

// TestOutgrown: without the diagonal and without an ℓ₁ weight a run says that the row of a star's center has
// outgrown A, once, in units that do not matter. With either it says nothing.
func TestOutgrown(t *testing.T) {
	const n = 20
	for _, scale := range []float64{1, 1e-150, 1e150} {
		d := matrix.NewDense(n, n, nil) // a star whose center is row 8
		for i := range n {
			if i != 7 {
				d.Set(7, i, scale)
				d.Set(i, 7, scale)
			}
		}
		a := mustDense(t, d)
		for _, c := range []struct {
			opt  Options
			told bool
		}{
			{Options{IgnoreDiagonal: true}, true},
			{Options{IgnoreDiagonal: true, Kicks: 3}, true},
			{Options{IgnoreDiagonal: true, Solver: CD{}, Runs: 2, Start: Random{}}, true},
			{Options{IgnoreDiagonal: true, L1: []float64{0.01 * math.Pow(scale, 1.5)}}, false},
			{Options{}, false},
		} {
			c.opt.Stop = Stop{Sweeps: 200, KKT: -1}
			res := factorize(t, a, 2, c.opt)
			longest := kernel.SumSq(res.H.Row(7)) / res.NormA
			want := fmt.Sprintf("row 8 has ‖h‖² = %.3g·‖A‖, and rows above ‖A‖ number 1 in all", longest)
			told := 0
			for _, note := range res.Notes {
				if strings.Contains(note, "nothing bounds") {
					told++
					if !strings.Contains(note, want) {
						t.Errorf("scale %v, %+v: %q, want %q", scale, c.opt, note, want)
					}
				}
			}
			if (told == 1) != c.told || told > 1 {
				t.Errorf("scale %v, %+v: told %d times, want %v; ‖h‖² = %.3g·‖A‖, notes %q", scale, c.opt, told, c.told, longest, res.Notes)
			}
		}
		// A start that is too long, and no time to mend it, is no such case with the diagonal counted.
		long := matrix.NewDense(n, 2, nil)
		long.Set(7, 0, 100*math.Sqrt(scale))
		for _, ignore := range []bool{false, true} {
			res := factorize(t, a, 2, Options{Start: Given{long}, IgnoreDiagonal: ignore, Stop: Stop{Time: 1, KKT: -1}})
			if told := strings.Contains(strings.Join(res.Notes, ""), "nothing bounds"); told != ignore {
				t.Errorf("scale %v, a long start, diagonal ignored %v: notes %q", scale, ignore, res.Notes)
			}
		}
	}
}

// TestOutgrownFar: rows whose squared length float64 cannot hold are compared with ‖A‖ all the same, and a weight on
// one column does not bound the other.
func TestOutgrownFar(t *testing.T) {
	for _, norm := range []float64{1, 0x1p1022, 0x1p-1022} {
		p := &problem{n: 4, r: 2, ignoreDiag: true, l1: make([]float64, 2)}
		h := matrix.NewDense(4, 2, nil)
		for i, v := range []float64{0.5, 3, 4, 1} { // ‖h‖² of 0.5, 18, 32 and 2 times ‖A‖
			h.Set(i, 0, v*math.Sqrt(norm))
			h.Set(i, 1, v*math.Sqrt(norm))
		}
		want := "row 3 has ‖h‖² = 32·‖A‖, and rows above ‖A‖ number 3 in all"
		if note := p.outgrown(h, norm); !strings.Contains(note, want) {
			t.Errorf("‖A‖ = %v: %q, want %q", norm, note, want)
		}
		for _, c := range []struct {
			l1   [2]float64
			told bool
		}{{[2]float64{1, 0}, true}, {[2]float64{1, 2}, false}} { // a column without a weight is not bounded
			p.l1 = c.l1[:]
			if note := p.outgrown(h, norm); (note != "") != c.told {
				t.Errorf("‖A‖ = %v, weights %v: %q, want a note: %v", norm, c.l1, note, c.told)
			}
		}
	}
}

// TestRelChangeAtZero: RelChange ends a run on an A of rank r exactly, whose summed objective may come out below 0.
func TestRelChangeAtZero(t *testing.T) {
	const n, r = 20, 3
	for seed := range 12 {
		w := matrix.NewDense(r, n, nil)
		for k := range w.Data() {
			w.Data()[k] = float64((7*k*(seed+3)+k/3)%11) / 10
		}
		d := matrix.NewDense(n, n, nil)
		kernel.TransTimes(d.Data(), w.Data(), n, w.Data(), n)
		a := mustDense(t, d)
		for _, s := range []Solver{CD{}, RowBlock{}, Residual{}, PGNCG{}} {
			res := factorize(t, a, r, Options{Solver: s, Start: Random{}, Seed: uint64(seed), Stop: Stop{Sweeps: 20000, KKT: -1, RelChange: 1e-2}})
			if res.Status != Stalled {
				t.Errorf("%s, seed %d: %v after %d sweeps, relative error %v", s.Name(), seed, res.Status, res.Sweeps, res.RelErr)
			}
		}
	}
}

// TestProgressAtZero: the error that is told of an answer that is exact up to rounding is a number, though its summed
// objective may come out below 0.
func TestProgressAtZero(t *testing.T) {
	p := &problem{norm: 2}
	if got := p.relErrOf(-0x1p-60); got != 0 {
		t.Errorf("an objective below 0 by rounding is told as an error of %v", got)
	}
	const n = 20
	d := matrix.NewDense(n, n, nil)
	for i := range n {
		for l := range n {
			d.Set(i, l, float64(i%7+1)*float64(l%7+1)/10)
		}
	}
	for seed := range uint64(12) {
		opt := Options{Solver: RowBlock{}, Start: Random{}, Seed: seed, Stop: Stop{Sweeps: 100, KKT: -1}}
		opt.Progress = func(now Progress) {
			if !(now.RelErr >= 0 && now.RelErr <= 1) || !(now.KKT >= 0) {
				t.Errorf("seed %d, sweep %d: told an error of %v and a KKT residual of %v", seed, now.Sweep, now.RelErr, now.KKT)
			}
		}
		factorize(t, mustDense(t, d), 2, opt)
	}
}

// TestVerifyFarStart: what is maintained from a start that is far longer than A has rounding errors of its size.
func TestVerifyFarStart(t *testing.T) {
	defer func(v bool) { verifying = v }(verifying)
	verifying = true
	a := readGolden(t, "text120").forms(t)["sparse"]
	h := matrix.NewDense(a.Dim(), 3, nil)
	for k := range h.Data() {
		h.Data()[k] = 30 * math.Sqrt(a.Norm()) * uniform{3}.at(uint64(k))
	}
	for _, s := range []Solver{CD{}, CD{Order: Shuffle}, RowBlock{}, RowBlock{First: FirstColumns}} {
		factorize(t, a, 3, Options{Solver: s, Start: Given{h}, Stop: Stop{Sweeps: 12, KKT: -1}})
	}
}

// TestZerosOfH: rows of zeros are counted in the H of the answer. In scaled units the row of an item without
// similarities may be denormal, and nothing once it is scaled back.
func TestZerosOfH(t *testing.T) {
	for entry, want := range map[float64]int{0x1p-40: 2, 0x1p40: 1} {
		p := mustProblem(t, mustDense(t, matrix.NewDense(3, 3, []float64{entry, 0, 0, 0, entry, 0, 0, 0, 0})), 2)
		h := matrix.NewDense(3, 2, []float64{0x1p-1074, 0, 1, 0, 0, 0})
		res := p.finish(new(Result), h, nil, SweepLimit, newClock(time.Now), 0)
		if res.ZeroRows != want || res.ZeroColumns != 1 {
			t.Errorf("entries of %v: %d zero rows and %d zero columns, want %d and 1 in %v", entry, res.ZeroRows, res.ZeroColumns, want, res.H.Data())
		}
	}
}

// TestHugeL1: a weight that is no number in scaled units leaves H = 0, as any large one does.
func TestHugeL1(t *testing.T) {
	a := mustDense(t, matrix.NewDense(2, 2, []float64{1e-210, 0, 0, 1e-210}))
	for _, s := range []Solver{RowBlock{}, CD{}, MBI{}, LAI{}, CompressedCD{}} {
		res, err := Factorize(context.Background(), a, 1, Options{Solver: s, L1: []float64{1}})
		if err != nil || kernel.Nonzero(res.H.Data()) || res.RelErr != 1 || res.Objective != 1e-210*1e-210 {
			t.Errorf("%T: %+v, %v", s, res, err)
		}
	}
}
