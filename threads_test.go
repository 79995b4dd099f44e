package symnmf

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/matrix"
)

type testForm struct {
	name string
	a    matrix.Operator
}

// operatorForms returns at least one n×n matrix of every kind of operator, and a normalized view of each. The
// matrices are unrelated, have positive diagonals, and are made with the given number of workers.
func operatorForms(t testing.TB, n, workers int) []testForm {
	t.Helper()
	var list []testForm
	add := func(name string) func(a matrix.Operator, err error) {
		return func(a matrix.Operator, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			list = append(list, testForm{name, a})
		}
	}
	sym := func(name string) func(a *matrix.SymCSR, err error) {
		return func(a *matrix.SymCSR, err error) { add(name)(a, err) }
	}
	full := instance.FullRank(n, 1)
	dense, err := matrix.FromDense(full, 0)
	add("dense")(dense, err)
	single, err := matrix.FromDense32(full, 0)
	add("dense, float32")(single, err)
	sym("sparse")(matrix.FromCSR(looped(t, instance.RandomSparse(n, 12*n, 1)), 0))
	graph, _ := instance.PlantedGraph(n, 5, 0.1, 0.01, 1)
	sym("sparse without values")(matrix.FromCSR(looped(t, graph), 0))
	add("sparse points")(matrix.Gram(instance.Text(n, n, 20, 1), matrix.Rows, workers))
	add("sparse points, few features")(matrix.Gram(instance.Text(n, 90, 20, 1), matrix.Rows, workers))
	add("dense points")(matrix.Gram(instance.Start(n, min(150, n-1), 1), matrix.Rows, workers)) // at most as many features as a block has rows
	add("dense points, few features")(matrix.Gram(instance.Start(70, n, 1), matrix.Columns, workers))
	low, err := matrix.NewLowRank(instance.Start(n, 80, 1), signs(80), workers)
	add("low rank with signs")(low, err)
	for _, f := range list[:len(list):len(list)] {
		add(f.name + ", normalized")(matrix.Normalized(f.a, 0.5, workers))
	}
	return list
}

// signs returns weights of which the last fifth are negative, but so small that no entry of a matrix with
// uniform factors becomes negative.
func signs(k int) []float64 {
	l := make([]float64, k)
	for i := range l {
		l[i] = 1 / float64(i+1)
		if i >= k-k/5 {
			l[i] *= -0.1
		}
	}
	return l
}

// looped returns c with ones on its diagonal, and without values if c has none.
func looped(t testing.TB, c *matrix.CSR) *matrix.CSR {
	t.Helper()
	n, _ := c.Dims()
	ptr := []int64{0}
	var col []int32
	var val []float64
	for i := range n {
		at, v := c.Row(i)
		done := false
		put := func(l int32, x float64) {
			col = append(col, l)
			if c.Val != nil {
				val = append(val, x)
			}
		}
		for p, l := range at {
			if !done && l > int32(i) {
				put(int32(i), 1)
				done = true
			}
			x := 1.0
			if v != nil {
				x = v[p]
			}
			put(l, x)
		}
		if !done {
			put(int32(i), 1)
		}
		ptr = append(ptr, int64(len(col)))
	}
	m, err := matrix.NewCSR(n, n, ptr, col, val)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestThreads: H has the same hash for any number of threads and processors, also if the operator was made by
// as many workers. Every kind of operator is tried, with enough rows for several blocks, groups and parts of
// every sum, and enough sweeps for momentum.
func TestThreads(t *testing.T) {
	n, counts := 450, []int{1, 2, 3, 8}
	if testing.Short() {
		n, counts = 300, []int{1, 3}
	}
	forms, others := make([][]testForm, len(counts)), make([][]testForm, len(counts)) // for rowblock, and for other methods
	for k, c := range counts {
		forms[k] = operatorForms(t, n, c)
		if !testing.Short() {
			others[k] = operatorForms(t, 300, c)
		}
	}
	small := operatorForms(t, 150, 1)
	type try struct {
		what string
		opt  Options
	}
	for f, form := range forms[0] {
		weight := []float64{1e-4 * math.Pow(form.a.Norm(), 1.5)}
		var tries []try
		for _, s := range []RowBlock{{}, {Block: 64, Passes: 1, CheckEvery: 2, First: FirstRows}, {Block: 128, Precision: Double, First: FirstColumns}} {
			tries = append(tries, try{"random", Options{Solver: s, Start: Random{}}})
			if testing.Short() {
				break
			}
		}
		tries = append(tries, try{"zero, ℓ₁", Options{Solver: RowBlock{}, Start: Zero{}, L1: weight}},
			try{"random, ℓ₁, no diagonal", Options{Solver: RowBlock{}, Start: Random{}, L1: weight, IgnoreDiagonal: true}})
		if !testing.Short() {
			tries = append(tries, try{"zero", Options{Solver: RowBlock{Block: 64, Precision: Single}, Start: Zero{}}},
				try{"random, no diagonal", Options{Solver: RowBlock{}, Start: Random{}, IgnoreDiagonal: true}})
			for _, s := range []Solver{CD{}, CD{Order: Shuffle}, MU{}, AMU{}, BetaSNMF{}, VBSUM{}, Newton{}, TSVD{}, PGNCG{}, LAI{}, CompressedCD{},
				CompressedCD{First: FirstLAI}, ANLS{}, SymHALS{}, SNMPBB{}, LvS{}, LvS{LeastSquares: true}} {
				tries = append(tries, try{"random", Options{Solver: s, Start: Random{}}})
			}
			tries = append(tries, try{"svd", Options{Solver: CD{}, Start: SVDStart{}}}, try{"lai", Options{Solver: CD{}, Start: LAIStart{}}}, try{"tsvd start", Options{Solver: CD{}, Start: TSVDStart{}}})
		}
		hashes := map[string]bool{}
		for _, c := range tries {
			var want string
			forms, sweeps := forms, 12
			if c.opt.Solver.Name() != (RowBlock{}).Name() {
				forms, sweeps = others, 2
			}
			c.opt.Seed, c.opt.Stop = 5, Stop{Sweeps: sweeps, KKT: -1}
			for k, threads := range counts {
				c.opt.Threads = threads
				got := instance.Hash(factorize(t, forms[k][f].a, 10, c.opt).H)
				if k == 0 {
					want = got
				} else if got != want {
					t.Errorf("%s, %+v, %s: %d threads change H", form.name, c.opt.Solver, c.what, threads)
				}
			}
			c.opt.Threads = 0
			if got := hashOn(2*runtime.GOMAXPROCS(0)+1, func() *matrix.Dense { return factorize(t, forms[0][f].a, 10, c.opt).H }); got != want {
				t.Errorf("%s, %+v, %s: more processors change H", form.name, c.opt.Solver, c.what)
			}
			hashes[want] = true
		}
		if len(hashes) != len(tries) {
			t.Errorf("%s: %d different H from %d different calls", form.name, len(hashes), len(tries))
		}
		for _, s := range []Solver{MBI{}, Residual{}} { // they are slow, and their sweeps have little to share
			if _, dense := form.a.(*matrix.SymDense); s == (Residual{}) && !dense || testing.Short() {
				continue
			}
			opt := Options{Solver: s, Start: Random{}, Stop: Stop{Sweeps: 1, KKT: -1}, Threads: 1}
			want := instance.Hash(factorize(t, small[f].a, 3, opt).H)
			for _, threads := range counts[1:] {
				opt.Threads = threads
				if got := instance.Hash(factorize(t, small[f].a, 3, opt).H); got != want {
					t.Errorf("%s, %s: %d threads change H", form.name, s.Name(), threads)
				}
			}
		}
	}
}

// TestThreadsSpans: the same holds for a sparse A with so many entries that its products go by spans of
// columns (decision 0012), with a diagonal that few rows have, counted or ignored. It holds for an A of long
// rows whose products do not, too, and while H is in float32 (decision 0013), as it is for the latter and, if
// the diagonal counts, for the former.
func TestThreadsSpans(t *testing.T) {
	graph, _ := instance.PlantedGraph(4200, 20, 0.2, 0.002, 1)
	for _, tc := range []struct {
		name    string
		a       *matrix.CSR
		r       int
		ignored bool
	}{{"spans", sparseMatrix(t, 2100, 0.1), 30, false}, {"spans, diagonal ignored", sparseMatrix(t, 2100, 0.1), 30, true}, {"rows", graph, 16, false},
		{"a dense A stored as a sparse one", sparseMatrix(t, 2100, 0.3), 30, false}, {"the same, diagonal ignored", sparseMatrix(t, 2100, 0.3), 30, true},
		{"spans of short rows, diagonal ignored", sparseMatrix(t, 2100, 0.08), 30, true}} {
		a, err := matrix.FromCSR(tc.a, 0)
		if err != nil {
			t.Fatal(err)
		}
		hashes := map[string]bool{}
		for _, threads := range []int{1, 2, 3, 8} {
			opt := Options{Solver: RowBlock{}, Start: Random{}, IgnoreDiagonal: tc.ignored, Threads: threads, Stop: Stop{Sweeps: 3, KKT: -1}}
			hashes[instance.Hash(factorize(t, a, tc.r, opt).H)] = true
		}
		if len(hashes) != 1 {
			t.Errorf("%s: %d different H, want one", tc.name, len(hashes))
		}
	}
}

// sparseMatrix returns a symmetric n×n matrix of which the given part of the entries off the diagonal is
// stored, and one in 64 on it.
func sparseMatrix(t testing.TB, n int, density float64) *matrix.CSR {
	t.Helper()
	rng := rand.New(rand.NewPCG(19, 19))
	ptr, col, val := []int64{0}, []int32{}, []float64{}
	upper := make([][]float64, n)
	for i := range n {
		upper[i] = make([]float64, n)
		for l := range n {
			v := 0.0
			switch {
			case l < i:
				v = upper[l][i]
			case l > i && rng.Float64() < density || l == i && i%64 == 5:
				v = rng.Float64()
			}
			if upper[i][l] = v; v > 0 {
				col, val = append(col, int32(l)), append(val, v)
			}
		}
		ptr = append(ptr, int64(len(col)))
	}
	m, err := matrix.NewCSR(n, n, ptr, col, val)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// hashOn returns the hash of what f makes with the given number of processors.
func hashOn(processors int, f func() *matrix.Dense) string {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	return instance.Hash(f())
}

// pathBound is how far apart the relative errors of converged runs may be that used different instructions,
// if the minimum is the same. Near a minimum the error exceeds the least by about the square of the KKT
// residual, here 1e-9. What is left is rounding: of the error itself, ErrFloor² over twice the error, which
// is below 1e-11 from an error of 0.4 % on.
const pathBound = 1e-11

// TestPaths: with AVX-512, with AVX2 and without vectors a run ends at the same minimum, with relative errors
// at most pathBound apart. AVX2 runs in a process of its own, which is told that the processor has nothing
// wider.
func TestPaths(t *testing.T) {
	const child = "SYMNMF_TEST_CHILD"
	errs := func() (list []float64) {
		for _, p := range pathProblems(t) {
			for _, precision := range []Precision{Adaptive, Double} {
				res := factorize(t, p.a, p.r, Options{Solver: RowBlock{Precision: precision, Block: 32}, Start: Random{}, Stop: Stop{Sweeps: 3000, KKT: 1e-9}, Threads: 2})
				if res.Status != Converged || !(res.ErrFloor*res.ErrFloor < 2*pathBound*res.RelErr) {
					t.Errorf("%s: %v at relative error %v and KKT %v", p.name, res.Status, res.RelErr, res.KKT)
				}
				list = append(list, res.RelErr)
			}
		}
		return list
	}
	native := errs()
	if os.Getenv(child) != "" {
		fmt.Printf("child: %s\n", strings.Trim(fmt.Sprintf("%.17g", native), "[]"))
		return
	}
	compare := func(path string, list []float64) {
		if len(list) != len(native) {
			t.Fatalf("%s: %d errors, want %d", path, len(list), len(native))
		}
		worst := 0.0
		for k, e := range list {
			d := math.Abs(e - native[k])
			worst = max(worst, d)
			if !(d <= pathBound) {
				t.Errorf("%s, run %d: relative error %v, the widest vectors give %v (off by %.2g)", path, k, e, native[k], d)
			}
		}
		t.Logf("%s: at most %.2g apart", path, worst)
	}
	restore := kernel.Portable()
	list := errs()
	restore()
	compare("portable", list)

	cmd := exec.Command(os.Args[0], "-test.run=^TestPaths$")
	cmd.Env = append(os.Environ(), child+"=1", "SYMNMF_VERIFY=", "GODEBUG="+os.Getenv("GODEBUG")+",cpu.avx512f=off")
	out, err := cmd.CombinedOutput()
	_, line, ok := strings.Cut(string(out), "child: ")
	if err != nil || !ok {
		t.Fatalf("%v\n%s", err, out)
	}
	line, _, _ = strings.Cut(line, "\n")
	list = nil
	for _, s := range strings.Fields(line) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	compare("AVX2", list)
}

type pathProblem struct {
	name string
	a    matrix.Operator
	r    int
}

// pathProblems returns problems with one good minimum near a planted factor with noise, of 5 columns, or of
// 16 where sweeps are to be rough: dense, sparse and points.
func pathProblems(t testing.TB) []pathProblem {
	t.Helper()
	const n, r = 120, 5
	d, b, noise := plantedDense(n, r)
	s := matrix.NewDense(n, n, nil) // a third of d
	for i := range n {
		for l := range n {
			if i%r == l%r || (i+l)%7 == 0 {
				s.Set(i, l, d.At(i, l))
			}
		}
	}
	x := matrix.NewDense(n, 40, nil)
	for i := range n {
		for c := range 40 {
			v := 3 * noise.At(i, c)
			if c%r == i%r {
				v += b.Row(i)[i%r] * (1 + noise.At(0, c))
			}
			x.Set(i, c, v)
		}
	}
	points, err := matrix.Gram(x, matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	large, _, _ := plantedDense(260, 16)
	return []pathProblem{{"dense", mustDense(t, d), r}, {"dense with rough sweeps", mustDense(t, large), 16}, {"sparse", mustCSR(t, sparseOf(t, s)), r}, {"points", points, r}}
}

// plantedDense returns BBᵀ plus noise, for a B whose rows have one large entry each, so that its columns are
// easily told apart.
func plantedDense(n, r int) (a, b, noise *matrix.Dense) {
	_, b = instance.LowRank(n, r, 4)
	for i := range n {
		b.Row(i)[i%r] += 3
	}
	a, noise = matrix.NewDense(n, n, nil), instance.FullRank(n, 5)
	for i := range n {
		for l := range i + 1 {
			v := noise.At(i, l)
			for k, w := range b.Row(i) {
				v += w * b.Row(l)[k]
			}
			a.Set(i, l, v)
			a.Set(l, i, v)
		}
	}
	return a, b, noise
}

// TestHubs: H has the same bits for any number of threads on a graph of short rows with a few long ones,
// whose products are summed in another order. A block has so many groups that a few threads compute their
// products group by group and many threads do not. Passes are in float64, since float32 hides the last bits
// of a product.
func TestHubs(t *testing.T) {
	const n, block = 512, 512
	rows := make([][]int32, n)
	for i := range n {
		for l := range n {
			hub := i%40 < 9 && i/40%2 == 0 || l%40 < 9 && l/40%2 == 0
			if i == l || hub && (i+l)%16 != 0 || (i*i+l*l)%37 == 1 && (i+l)%5 == 0 {
				rows[i] = append(rows[i], int32(l))
			}
		}
	}
	ptr, col := []int64{0}, []int32(nil)
	for _, r := range rows {
		col = append(col, r...)
		ptr = append(ptr, int64(len(col)))
	}
	graph, err := matrix.NewCSR(n, n, ptr, col, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := matrix.FromCSR(graph, 0)
	if err != nil {
		t.Fatal(err)
	}
	normalized, err := matrix.Normalized(a, 0.5, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []testForm{{"sparse", a}, {"normalized", normalized}} {
		var first []float64
		for _, threads := range []int{1, 2, 3, 8, 16} {
			res := factorize(t, f.a, 6, Options{Solver: RowBlock{Block: block, First: FirstRows, Precision: Double}, Start: Random{}, Threads: threads, Stop: Stop{Sweeps: 4, KKT: -1}})
			if h := res.H.Data(); first == nil {
				first = h
			} else if !slices.Equal(h, first) {
				t.Errorf("%s: H differs between %d threads and one", f.name, threads)
			}
		}
	}
}

// TestThreadsPrecision: when a run changes to double precision, the columns that pad H stay zero, so that H
// is the same for any number of threads.
func TestThreadsPrecision(t *testing.T) {
	const n, m, r, seed = 226, 4, 110, 1
	g := rand.New(rand.NewPCG(seed, 0))
	x := matrix.NewDense(n, m, nil)
	for k := range x.Data() {
		if g.IntN(10) == 0 {
			x.Data()[k] = g.ExpFloat64()
		}
	}
	points, err := matrix.Gram(x.CSR(), matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	a, _, err := matrix.Compress(context.Background(), points, matrix.Compression{Columns: r + 10, Power: 2, Seed: 3, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	var want *Result
	for threads := 1; threads <= 3; threads++ {
		res, err := Factorize(context.Background(), a, r, Options{Solver: RowBlock{}, Start: Random{}, Threads: threads, Stop: Stop{Sweeps: 80, KKT: -1}})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = res
		}
		if !slices.Equal(res.H.Data(), want.H.Data()) {
			t.Errorf("seed %d: %d threads end at %v, one at %v", seed, threads, res.RelErr, want.RelErr)
		}
	}
}
