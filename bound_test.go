package symnmf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"symnmf/internal/instance"
	"symnmf/matrix"
)

// TestBound: the lower bound is the golden one, no error is below it, and its time is reported. It holds for
// eigenpairs found for it and for those of the method. Without the diagonal there is no bound.
func TestBound(t *testing.T) {
	for _, name := range goldenNames {
		g := readGolden(t, name)
		for form, a := range g.forms(t) {
			for _, s := range []Solver{CD{}, TSVD{}} {
				res := factorize(t, a, g.R, Options{Solver: s, Start: Random{}, Bound: AnyBound, Stop: Stop{Sweeps: 30}})
				// The square is right to 2⁻⁴⁴; if it is below that, the bound is 0.
				if got, want := res.LowerBound*res.LowerBound, g.SpectralBound*g.SpectralBound; !(got <= want+1e-15) || !(got >= want-0x1p-43) {
					t.Errorf("%s (%s), %s: bound² %v, golden %v", name, form, s.Name(), got, want)
				}
				if !(res.RelErr >= res.LowerBound) || res.BoundTime <= 0 {
					t.Errorf("%s (%s), %s: error %v, bound %v in %v", name, form, s.Name(), res.RelErr, res.LowerBound, res.BoundTime)
				}
			}
		}
		a := g.forms(t)["sparse"]
		for _, opt := range []Options{{}, {Bound: CheapBound, IgnoreDiagonal: true}, {Bound: AnyBound, IgnoreDiagonal: true}} {
			res := factorize(t, a, g.R, opt)
			said := slices.Contains(res.Notes, "no lower bound: without the diagonal, eigenvalues give none")
			if !math.IsNaN(res.LowerBound) || said != (opt.Bound == AnyBound) {
				t.Errorf("%s, %+v: bound %v, notes %q", name, opt, res.LowerBound, res.Notes)
			}
		}
	}
	none, err := matrix.NewCSR(20000, 20000, make([]int64, 20001), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	zero := factorize(t, mustCSR(t, none), 2, Options{Bound: CheapBound})
	if zero.LowerBound != 0 {
		t.Errorf("A = 0: bound %v", zero.LowerBound)
	}
	large := instance.FullRank(30, 1)
	want := factorize(t, mustDense(t, large), 3, Options{Bound: AnyBound}).LowerBound
	for k := range large.Data() {
		large.Data()[k] *= 0x1p-500
	}
	if got := factorize(t, mustDense(t, large), 3, Options{Bound: AnyBound}).LowerBound; got != want {
		t.Errorf("2⁻⁵⁰⁰·A: bound %v, want %v", got, want)
	}
}

// TestBoundOfPoints: the bound of dense points, from the products of their features, is that of A written
// out. This includes points with fewer features than H has columns.
func TestBoundOfPoints(t *testing.T) {
	const n, m = 40, 6
	x, a := matrix.NewDense(n, m, nil), matrix.NewDense(n, n, nil)
	for k := range x.Data() {
		x.Data()[k] = float64(k*k%31) / 31
	}
	for i := range n {
		for l := range n {
			for j := range m {
				a.Data()[i*n+l] += x.At(i, j) * x.At(l, j)
			}
		}
	}
	points, err := matrix.Gram(x, matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []int{1, 3, 5, 6, 9} {
		opt := Options{Start: Random{}, Bound: AnyBound, Stop: Stop{Sweeps: 3}}
		got, want := factorize(t, points, r, opt).LowerBound, factorize(t, mustDense(t, a), r, opt).LowerBound
		if !(math.Abs(got*got-want*want) <= 0x1p-43) || r < m && !(got > 1e-3) || r >= m && !(got <= 1e-6) {
			t.Errorf("r = %d: bound %v, of A written out %v", r, got, want)
		}
	}
}

// TestCheapBoundOfRuns: the work of all runs counts, so that a bound too expensive beside one run is found
// beside many.
func TestCheapBoundOfRuns(t *testing.T) {
	low, _ := instance.LowRank(1200, 3, 1)
	a := mustDense(t, low)
	for runs, want := range map[int]bool{1: false, 20: true} {
		res := factorize(t, a, 5, Options{Bound: CheapBound, Start: Random{}, Runs: runs, Stop: Stop{Sweeps: 10, KKT: -1}})
		if got := !math.IsNaN(res.LowerBound); got != want {
			t.Errorf("%d runs of 10 sweeps: bound %v", runs, res.LowerBound)
		}
	}
}

// TestCheapBound: a cheap bound is found if the search is a small part of the work. Otherwise it is given up,
// before the search or at its limit.
func TestCheapBound(t *testing.T) {
	graph := mustCSR(t, instance.RandomSparse(3000, 30000, 1))
	low, _ := instance.LowRank(400, 3, 1)
	for _, c := range []struct {
		name   string
		a      matrix.Operator
		r      int
		sweeps int
		want   bool
	}{
		{"small, reduced whole", lowRank(t, 60, 3), 3, 1, true},
		{"low rank, few products", mustDense(t, low), 3, 20, true},
		{"large, one sweep", mustDense(t, instance.FullRank(1500, 1)), 5, 1, false},
		{"a random graph, thousands of products", graph, 5, 10, false},
	} {
		opt := Options{Bound: CheapBound, Start: Random{}, Stop: Stop{Sweeps: c.sweeps, KKT: -1}}
		res := factorize(t, c.a, c.r, opt)
		if math.IsNaN(res.LowerBound) == c.want || c.name == "large, one sweep" && res.BoundTime > 0 {
			t.Errorf("%s: bound %v in %v", c.name, res.LowerBound, res.BoundTime)
		}
		for _, note := range res.Notes {
			t.Errorf("%s: %s", c.name, note)
		}
	}
	p, err := newProblem(graph, 5, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	few, many := p.boundProducts(5, 10000), p.boundProducts(5, 30000)
	if few == 0 || !(math.Abs(float64(many)/float64(few)-3) <= 0.1) {
		t.Errorf("%d products after 10000 sweeps, %d after 30000", few, many)
	}
	madds := float64(matrix.Madds(graph))
	basis, _ := matrix.EigenBasis(3000, 5)
	if want := boundPart * 30000 * (5*madds + 6*3000*25) / (madds + 4*3000*float64(basis)); many != int(want) {
		t.Errorf("%d products after 30000 sweeps, want %v", many, want)
	}
	p.common.top = &leading{values: []float64{1e3, 1e3, 1e3, 1e3, 1e3}} // sure is false
	found := &Result{LowerBound: math.NaN()}
	if p.bound(context.Background(), AnyBound, 1, found); !(found.LowerBound > 0.5) {
		t.Errorf("bound %v, taken from eigenvalues that are not sure", found.LowerBound)
	}
	if p, err = newProblem(mustDense(t, instance.FullRank(300, 1)), 70, &Options{}); err != nil {
		t.Fatal(err)
	}
	for k, want := range map[int]int{70: 1, 71: 0} { // 300³ + 2·300³ + 3·k·300² against 10⁸
		if got := p.boundProducts(k, 1); got != want {
			t.Errorf("%d pairs of 300 rows: %d, want %d", k, got, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	res := &Result{LowerBound: math.NaN()}
	if p.bound(ctx, AnyBound, 1, res); !math.IsNaN(res.LowerBound) || !slices.Contains(res.Notes, "no lower bound: context canceled") {
		t.Errorf("cancelled: bound %v, notes %q", res.LowerBound, res.Notes)
	}
}

// BenchmarkPointsBound measures the lower bound for documents, with the words as items, on one thread and on
// two.
func BenchmarkPointsBound(b *testing.B) {
	for _, name := range []string{"hitech", "reviews", "la1", "classic"} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s, r=30, %d", name, threads), func(b *testing.B) {
				a, err := matrix.Gram(sharedX(b, name), matrix.Columns, 2)
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					p, err := newProblem(a, 30, &Options{Threads: threads})
					if err != nil {
						b.Fatal(err)
					}
					res := &Result{LowerBound: math.NaN()}
					if p.bound(context.Background(), AnyBound, 1, res); math.IsNaN(res.LowerBound) {
						b.Fatal(res.Notes)
					}
				}
			})
		}
	}
}

// TestBoundOfSigns: for a low rank whose columns all but cancel, ‖A‖ is the difference of larger numbers, and
// both the floor and the bound allow for that. A norm that is nothing but rounding gives an error.
func TestBoundOfSigns(t *testing.T) {
	const n = 20
	h := matrix.NewDense(n, 1, nil)
	twice := matrix.NewDense(n, 2, nil)
	for i := range n {
		v := math.Sqrt(float64(i%7) + 0.3)
		h.Set(i, 0, v)
		twice.Set(i, 0, v)
		twice.Set(i, 1, v)
	}
	truth := matrix.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			truth.Set(i, j, h.At(i, 0)*h.At(j, 0))
		}
	}
	for _, c := range []float64{1, 100, 1e4, 1e6} { // c·hhᵀ − (c − 1)·hhᵀ = hhᵀ
		a, err := matrix.NewLowRank(twice, []float64{c, 1 - c}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, view := range []matrix.Operator{a, a.Scaled(4)} {
			res, err := Factorize(t.Context(), view, 1, Options{Bound: AnyBound})
			if err != nil {
				t.Fatal(err)
			}
			scale := view.Norm() / a.Norm()
			got, _, err := RelErr(mustDense(t, truth).Scaled(scale), res.H, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !(res.LowerBound <= got) || !(math.Abs(got-res.RelErr) <= res.ErrFloor) {
				t.Errorf("c = %v: error %v, reported %v ± %v, bound %v", c, got, res.RelErr, res.ErrFloor, res.LowerBound)
			}
			if most := 1e-6 * c; !(res.ErrFloor <= most) {
				t.Errorf("c = %v: floor %v, want at most %v", c, res.ErrFloor, most)
			}
		}
	}
	a, err := matrix.NewLowRank(twice, []float64{1e8, 1 - 1e8}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Factorize(t.Context(), a, 1, Options{}); !errors.Is(err, matrix.ErrRange) || !strings.Contains(err.Error(), "cancels") {
		t.Errorf("a norm that is nothing but rounding: error %v, want ErrRange", err)
	}
}

// TestNothingLeft: a low rank of which exactly nothing is left counts as A = 0. Its terms have signs that
// cancel, or it is diagonal and the diagonal is ignored.
func TestNothingLeft(t *testing.T) {
	one := matrix.NewDense(6, 6, nil)
	for i := range 6 {
		one.Set(i, i, 1)
	}
	diagonal, err := matrix.NewLowRank(one, []float64{1, 2, 3, 1, 1, 1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	cancels, err := matrix.NewLowRank(filled(6, 2, 0.3), []float64{1, -1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		a      matrix.Operator
		ignore bool
	}{{diagonal, true}, {cancels, false}, {cancels, true}} {
		if tc.a == matrix.Operator(cancels) && tc.a.Norm() > 0 { // fused multiply-adds leave some rounding
			continue
		}
		res, err := Factorize(t.Context(), tc.a, 2, Options{IgnoreDiagonal: tc.ignore})
		if err != nil || res.RelErr != 0 || res.Status != Converged || res.ZeroRows != 6 {
			t.Errorf("diagonal ignored %v: %+v, %v", tc.ignore, res, err)
		}
	}
}

// laterPoisoned is an operator whose first products, as many as left says, are finite.
type laterPoisoned struct {
	matrix.Operator
	v    float64
	left *int
}

func (a laterPoisoned) Scaled(c float64) matrix.Operator {
	return laterPoisoned{a.Operator.Scaled(c), a.v, a.left}
}

func (a laterPoisoned) NewProduct(h *matrix.Dense, workers int) matrix.Product {
	if *a.left--; *a.left < 0 {
		return poisonedProduct{a.Operator.NewProduct(h, workers), a.v}
	}
	return a.Operator.NewProduct(h, workers)
}

// TestNotFiniteLater: an operator whose products stop being finite after some calls gives an error that says
// so, or an answer other than H = 0.
func TestNotFiniteLater(t *testing.T) {
	a := mustDense(t, instance.FullRank(30, 1))
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		for _, m := range Methods() {
			solver, err := ParseSolver(m.Name, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, calls := range []int{1, 2, 4, 6, 9, 14} {
				left := calls
				res, err := Factorize(t.Context(), laterPoisoned{a, v, &left}, 3, Options{Solver: solver, Start: Random{}, Threads: 1, Stop: Stop{Sweeps: 40, KKT: -1}})
				if err == nil && left < 0 && res.ZeroRows == 30 || err != nil && !verifying && !errors.Is(err, matrix.ErrNotFinite) && !errors.Is(err, ErrUnfit) {
					t.Errorf("%s, %v after %d products: %+v, %v", m.Name, v, calls, res, err)
				}
			}
		}
	}
}

// shifting is an operator whose products double after the first ones, as many as left says.
type shifting struct {
	matrix.Operator
	left *int
}

func (a shifting) Scaled(c float64) matrix.Operator { return shifting{a.Operator.Scaled(c), a.left} }

func (a shifting) NewProduct(h *matrix.Dense, workers int) matrix.Product {
	if *a.left--; *a.left >= 0 {
		return a.Operator.NewProduct(h, workers)
	}
	return a.Operator.Scaled(2).NewProduct(h, workers)
}

// TestBoundOfFailedPairs: eigenpairs with large residuals give no bound, although no limit ended the search
// for them. This holds for a search of the bound's own and for the eigenpairs of TSVD.
func TestBoundOfFailedPairs(t *testing.T) {
	const n, r = 30, 3
	for _, tsvd := range []bool{false, true} {
		left := (n + 7) / 8 // enough products to form A, but none for the residuals
		p, err := newProblem(shifting{mustDense(t, instance.FullRank(n, 1)), &left}, r, &Options{})
		if err != nil {
			t.Fatal(err)
		}
		if tsvd {
			if top, err := p.leading(); err != nil || top.sure {
				t.Fatalf("pairs that failed are sure: %+v, %v", top, err)
			}
			left = (n + 7) / 8
		}
		res := &Result{LowerBound: math.NaN()}
		p.bound(t.Context(), AnyBound, 1, res)
		if !math.IsNaN(res.LowerBound) || !slices.Equal(res.Notes, []string{"no lower bound: not all of the eigenpairs needed (3) were found"}) {
			t.Errorf("after pairs of TSVD %v: bound %v, notes %q", tsvd, res.LowerBound, res.Notes)
		}
	}
}

// TestBoundOfMissingCopies: pairs that are right give no bound if a limit on the products ended the search for further
// copies of a multiple eigenvalue among them.
func TestBoundOfMissingCopies(t *testing.T) {
	const n, r = 1800, 20
	ptr, col := []int64{0}, []int32(nil)
	clique := func(size int) {
		first := int32(len(ptr) - 1)
		for range size {
			for l := range int32(size) {
				col = append(col, first+l)
			}
			ptr = append(ptr, int64(len(col)))
		}
	}
	for range 12 {
		clique(30)
	}
	for size := 29; len(ptr) <= n; size = max(0, size-1) {
		if clique(size); size == 0 {
			ptr = append(ptr, int64(len(col)))
		}
	}
	c, err := matrix.NewCSR(n, n, ptr, col, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := mustCSR(t, c)
	p := mustProblem(t, a, r)
	pairs, err := matrix.Eigen(t.Context(), p.a, r, matrix.EigenOptions{MaxProducts: p.boundProducts(r, 1)})
	if err != nil || !pairs.Limited || len(pairs.Failed) > 0 {
		t.Fatalf("%v, %d pairs failed, limited %v: this shows nothing", err, len(pairs.Failed), pairs.Limited)
	}
	res := &Result{LowerBound: math.NaN()}
	if p.bound(t.Context(), CheapBound, 1, res); !math.IsNaN(res.LowerBound) {
		t.Errorf("bound %v, want none", res.LowerBound)
	}
	left := 0.0
	for size := 29 - (r - 12); size > 0; size-- { // without the r largest
		left += float64(size * size)
	}
	want := math.Sqrt(left) / a.Norm()
	if p.bound(t.Context(), AnyBound, 1, res); !(math.Abs(res.LowerBound-want) <= 1e-9) {
		t.Errorf("bound %v, want %v", res.LowerBound, want)
	}
}
