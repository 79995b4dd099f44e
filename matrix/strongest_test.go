package matrix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// TestEachRow compares the entries that eachRow lists with A, for every kind of operator.
func TestEachRow(t *testing.T) {
	for _, c := range operators(t) {
		n := c.a.Dim()
		for _, workers := range []int{1, 3} {
			got := zeros(n, n)
			_, err := eachRow(context.Background(), c.a, workers, nil, func() int { return 0 }, func(_, b, i int, col []int32, val []float64) {
				if b != i/entryRows || !slices.IsSortedFunc(col, func(x, y int32) int { return cmp.Or(cmp.Compare(x, y), 1) }) {
					t.Errorf("%s: row %d in block %d has columns %v", c.name, i, b, col)
				}
				for p, l := range col {
					got[i][l] = val[p]
				}
			})
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			for i := range n {
				for l := range n {
					if !near(got[i][l], c.want[i][l], 1) {
						t.Fatalf("%s, %d workers: entry [%d,%d] is %v, want %v", c.name, workers, i, l, got[i][l], c.want[i][l])
					}
				}
			}
		}
	}
}

// strongestNaively is Strongest by the definitions, over all entries of a symmetric a.
func strongestNaively(a naive, sel Selection) (s naive, edges, of int64, threshold float64) {
	n := len(a)
	s = zeros(n, n)
	var weights []float64
	for i := range n {
		for l := i + 1; l < n; l++ {
			if a[i][l] > 0 {
				weights = append(weights, a[i][l])
			}
		}
	}
	slices.Sort(weights)
	of = int64(len(weights))
	threshold = sel.Threshold
	if sel.Quantile > 0 && of > 0 {
		threshold = weights[min(int(sel.Quantile*float64(of)), len(weights)-1)]
	}
	chosen := make([]map[int]bool, n)
	for i := range n {
		var others []int
		for l := range n {
			if l != i && a[i][l] > 0 {
				others = append(others, l)
			}
		}
		slices.SortStableFunc(others, func(l, m int) int { return cmp.Compare(a[i][m], a[i][l]) })
		chosen[i] = map[int]bool{}
		for _, l := range others[:min(sel.PerItem, len(others))] {
			chosen[i][l] = true
		}
	}
	for i := range n {
		s[i][i] = a[i][i]
		for l := range n {
			keep := chosen[i][l] || chosen[l][i]
			switch {
			case sel.Mutual:
				keep = chosen[i][l] && chosen[l][i]
			case sel.PerItem == 0:
				keep = a[i][l] >= threshold
			}
			if keep && i != l && a[i][l] > 0 {
				s[i][l] = a[i][l]
				if i < l {
					edges++
				}
			}
		}
	}
	return s, edges, of, threshold
}

// TestStrongest compares with the definitions on whole numbers, many of which are equal.
func TestStrongest(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	whole := func(m naive, most float64) naive {
		for i := range m {
			for j, v := range m[i] {
				m[i][j] = math.Ceil(most * v)
			}
		}
		return m
	}
	type tc struct {
		name string
		a    Operator
		want naive
	}
	var cases []tc
	add := func(name string, a Operator, err error, want naive) {
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, tc{name, a, want})
	}
	for _, n := range []int{1, 2, 7, 40} {
		for _, density := range []float64{0, 0.3, 1} {
			sym := drawSymmetric(rng, n, density)
			whole(sym, 6)
			d, err := FromDense(sym.dense(), 0)
			add(fmt.Sprintf("dense %d, %v", n, density), d, err, sym)
			s, err := FromCSR(sym.csr(t), 0)
			add(fmt.Sprintf("sparse %d, %v", n, density), s, err, sym)
			x := whole(draw(rng, n, 5, density), 2)
			g, err := Gram(x.dense(), Rows, 1)
			add(fmt.Sprintf("dense points %d, %v", n, density), g, err, x.times(x.transpose()))
			g, err = Gram(x.transpose().csr(t), Columns, 1)
			add(fmt.Sprintf("sparse points %d, %v", n, density), g, err, x.times(x.transpose()))
		}
	}
	x := whole(draw(rng, 100, 80, 0.02), 3) // of which few have a feature in common
	g, err := Gram(x.csr(t), Rows, 1)
	add("sparse points, sparse products", g, err, x.times(x.transpose()))
	signs := naive{{-1, 2, -3, 0}, {2, 0, 1, 0}, {-3, 1, 5, 4}, {0, 0, 4, 0}}
	d, err := FromDense(signs.dense(), 0)
	add("signs", d, err, signs)
	s, err := FromCSR(signs.csr(t), 0)
	add("sparse signs", s, err, signs)
	var selections []Selection
	for _, k := range []int{1, 2, 3, 8, math.MaxInt} {
		selections = append(selections, Selection{PerItem: k}, Selection{PerItem: k, Mutual: true})
	}
	for _, v := range []float64{0.5, 2, 3.5, 1e300} {
		selections = append(selections, Selection{Threshold: v})
	}
	for _, q := range []float64{1e-300, 0.5, 0.9, 1} {
		selections = append(selections, Selection{Quantile: q})
	}
	for _, c := range cases {
		for _, sel := range selections {
			if sel.Quantile > 0 && c.a.Dim() < 4 {
				continue // counting takes a while, however few entries there are
			}
			sel.Workers = 2
			name := fmt.Sprintf("%s, %+v", c.name, sel)
			got, err := Strongest(context.Background(), c.a, sel)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want, edges, of, threshold := strongestNaively(c.want, sel)
			if got.Edges != edges || got.Of != of || got.Threshold != threshold {
				t.Errorf("%s: %d edges of %d from %v, want %d of %d from %v", name, got.Edges, got.Of, got.Threshold, edges, of, threshold)
			}
			var normSq, keptSq, leftSq float64
			ones := true
			for i := range want {
				for l, v := range want[i] {
					if got.S.At(i, l) != v {
						t.Fatalf("%s: S[%d,%d] = %v, want %v", name, i, l, got.S.At(i, l), v)
					}
					normSq += c.want[i][l] * c.want[i][l]
					keptSq += v * v
					leftSq += (c.want[i][l] - v) * (c.want[i][l] - v)
					ones = ones && (v == 0 || v == 1)
				}
			}
			if _, err := NewCSR(got.S.rows, got.S.cols, got.S.RowPtr, got.S.Col, got.S.Val); err != nil || ones != (got.S.Val == nil) {
				t.Errorf("%s: error %v; values stored: %v", name, err, got.S.Val != nil)
			}
			kept, relErr := 1.0, 0.0
			if normSq > 0 {
				kept, relErr = keptSq/normSq, math.Sqrt(leftSq/normSq)
			}
			if !near(got.Kept, kept, 0) || !near(got.RelErr, relErr, 0) {
				t.Errorf("%s: kept %v, error %v, want %v, %v", name, got.Kept, got.RelErr, kept, relErr)
			}
		}
	}
}

// TestStrongestQuantile: the threshold of a quantile has all its bits, among weights of many sizes and among weights
// that differ in their last bits.
func TestStrongestQuantile(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	sizes, alike := drawSymmetric(rng, 30, 0.8), drawSymmetric(rng, 30, 0.8)
	for i := range sizes {
		for j := range i {
			sizes[i][j] = math.Ldexp(sizes[i][j], rng.IntN(41)-20)
			if alike[i][j] > 0 {
				alike[i][j] = 1 + 0x1p-52*float64(rng.IntN(1<<30))
			}
			sizes[j][i], alike[j][i] = sizes[i][j], alike[i][j]
		}
	}
	for name, m := range map[string]naive{"of many sizes": sizes, "alike": alike} {
		for _, q := range []float64{0.3, 0.7, 1} {
			sel := Selection{Quantile: q, Workers: 1}
			got, err := Strongest(context.Background(), fromDense(t, m), sel)
			if err != nil {
				t.Fatal(err)
			}
			_, edges, of, threshold := strongestNaively(m, sel)
			if got.Threshold != threshold || got.Edges != edges || got.Of != of {
				t.Errorf("weights %s, quantile %v: threshold %v, %d of %d edges, want %v, %d of %d",
					name, q, got.Threshold, got.Edges, got.Of, threshold, edges, of)
			}
		}
	}
}

// TestStrongestOfStars: if all edges are kept, nothing of the sums they were found by is left in RelErr. If all but a
// tiny one are, it is not below what rounding leaves of them.
func TestStrongestOfStars(t *testing.T) {
	const n = 40
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 4))
		star := zeros(n, n) // two stars, whose centers are rows of different blocks
		for i := range n {
			if center := i % 2 * entryRows; i != 0 && i != entryRows {
				star[center][i] = 0.1 + rng.Float64()
				star[i][center] = star[center][i]
			}
		}
		sel := Selection{PerItem: 1, Workers: 1}
		s, err := Strongest(context.Background(), fromDense(t, star), sel)
		if err != nil || s.Edges != n-2 || s.RelErr != 0 || s.Kept != 1 {
			t.Errorf("seed %d: %+v, %v, want all edges, error 0, kept 1", seed, s, err)
		}
		star[2][3], star[3][2] = 1e-12, 1e-12
		s, err = Strongest(context.Background(), fromDense(t, star), sel)
		if err != nil || s.Edges != n-2 || s.Of != n-1 || !(s.RelErr >= 0 && s.RelErr <= 1e-7) || !(s.Kept <= 1) {
			t.Errorf("seed %d, with a tiny edge: %+v, %v, want all edges but one, error near 0", seed, s, err)
		}
	}
}

// noNumbers is an operator with NaN in place of its entries.
type noNumbers struct{ Operator }

func (m noNumbers) VisitRow(_ int, f func(l int, v float64)) {
	for l := range m.Dim() {
		f(l, math.NaN())
	}
}

// TestMirror: of two values the larger is taken, and what the transpose lacks is added up.
func TestMirror(t *testing.T) {
	b, err := NewCSR(3, 3, []int64{0, 2, 3, 3}, []int32{1, 2, 0}, []float64{2, 5, 3})
	if err != nil {
		t.Fatal(err)
	}
	for both, want := range map[bool]string{false: "[1 2 0 0] [3 5 3 5] 25", true: "[1 0] [3 3] 25"} {
		s, once := mirror(b, make([]float64, 3), both, 1)
		if got := fmt.Sprint(s.Col, s.Val, once); got != want {
			t.Errorf("both %v: %s, want %s", both, got, want)
		}
	}
}

// TestStrongestScales: what is kept does not depend on the unit of A, and nothing overflows or vanishes.
func TestStrongestScales(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	sym := drawSymmetric(rng, 30, 0.5)
	var want *Sparsified
	for _, e := range []int{0, 990, -990} {
		m := zeros(30, 30)
		for i := range m {
			for j, v := range sym[i] {
				m[i][j] = math.Ldexp(v, e)
			}
		}
		a, err := FromDense(m.dense(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, sel := range []Selection{{PerItem: 3}, {Quantile: 0.8}} {
			sel.Workers = 1
			got, err := Strongest(context.Background(), a, sel)
			if err != nil {
				t.Fatal(err)
			}
			if e == 0 {
				want = got
				continue
			}
			ref, err := FromDense(sym.dense(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if want, err = Strongest(context.Background(), ref, sel); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.S.Col, want.S.Col) || got.Kept != want.Kept || got.RelErr != want.RelErr || got.RelErr == 0 {
				t.Errorf("times 2^%d: kept %v, error %v, want %v, %v and the same columns", e, got.Kept, got.RelErr, want.Kept, want.RelErr)
			}
		}
	}
}

// bigPoints returns n sparse points of m features, at most six each.
func bigPoints(t testing.TB, n, m int) *CSR {
	rng := rand.New(rand.NewPCG(4, 4))
	x := &CSR{rows: n, cols: m, RowPtr: make([]int64, n+1)}
	for i := range n {
		line := map[int32]bool{}
		for range 6 {
			line[int32(rng.IntN(m))] = true
		}
		for c := range int32(m) {
			if line[c] {
				x.Col, x.Val = append(x.Col, c), append(x.Val, rng.Float64())
			}
		}
		x.RowPtr[i+1] = int64(len(x.Col))
	}
	return x
}

// TestStrongestDoesNotDependOnWorkers: the result is the same for any number of workers, for points of
// several chunks of rows, and progress rises to 1.
func TestStrongestDoesNotDependOnWorkers(t *testing.T) {
	a, err := Gram(bigPoints(t, 2*entryChunk+100, 80), Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	selections, counts := []Selection{{PerItem: 4, Mutual: true}, {Quantile: 0.99}, {PerItem: 4}, {Threshold: 1.2}}, []int{1, 3, 2, 7}
	if testing.Short() {
		selections, counts = selections[:2], counts[:2]
	}
	for _, sel := range selections {
		var want *Sparsified
		for _, workers := range counts {
			sel.Workers = workers
			var parts []float64
			sel.Progress = func(part float64) { parts = append(parts, part) }
			got, err := Strongest(context.Background(), a, sel)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%+v: %d workers give another result", sel, workers)
			}
			if !slices.IsSorted(parts) || len(parts) == 0 || parts[len(parts)-1] != 1 {
				t.Errorf("%+v: progress %v, want rising numbers up to 1", sel, parts)
			}
		}
	}
}

// TestStrongestRefuses: invalid selections and more edges than MaxEdges are refused, and a cancelled ctx ends
// the work.
func TestStrongestRefuses(t *testing.T) {
	ctx := context.Background()
	a, err := FromDense(naive{{0, 1, 2}, {1, 0, 3}, {2, 3, 0}}.dense(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, sel := range []Selection{
		{}, {PerItem: 1, Threshold: 1}, {Threshold: 1, Quantile: 0.5}, {PerItem: -1}, {Threshold: -1}, {Threshold: math.NaN()},
		{Threshold: math.Inf(1)}, {Quantile: 1.5}, {Quantile: -0.5}, {Quantile: math.NaN()}, {Threshold: 1, Mutual: true}, {PerItem: 1, MaxEdges: -1},
	} {
		sel.Workers = 1
		if s, err := Strongest(ctx, a, sel); !errors.Is(err, ErrSelection) || s != nil {
			t.Errorf("%+v: %v", sel, err)
		}
	}
	if s, err := Strongest(ctx, a, Selection{Threshold: 1, MaxEdges: 2, Workers: 1}); !errors.Is(err, ErrTooMany) || s != nil {
		t.Errorf("three edges where two are allowed: %v", err)
	}
	if s, err := Strongest(ctx, a, Selection{Threshold: 1, MaxEdges: 3, Workers: 1}); err != nil || s.Edges != 3 {
		t.Errorf("three edges where three are allowed: %v", err)
	}
	for _, sel := range []Selection{{PerItem: 1, Workers: 1}, {Threshold: 1, Workers: 1}} {
		if s, err := Strongest(ctx, noNumbers{a}, sel); !errors.Is(err, ErrNotFinite) || s != nil {
			t.Errorf("%+v of NaN: %v", sel, err)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	for _, sel := range []Selection{{PerItem: 1, Workers: 1}, {Quantile: 0.5, Workers: 1}} {
		if s, err := Strongest(gone, a, sel); !errors.Is(err, context.Canceled) || s != nil {
			t.Errorf("%+v, cancelled: %v", sel, err)
		}
	}
}
