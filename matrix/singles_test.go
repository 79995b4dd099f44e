package matrix

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sparseFrom returns the rows×cols matrix with the entries that f gives for each row, by column.
func sparseFrom(rows, cols int, f func(i int) map[int]float64) *CSR {
	m := &CSR{rows: rows, cols: cols, RowPtr: []int64{0}}
	for i := range rows {
		row := f(i)
		for _, j := range sorted(row) {
			m.Col, m.Val = append(m.Col, int32(j)), append(m.Val, row[j])
		}
		m.RowPtr = append(m.RowPtr, int64(len(m.Col)))
	}
	return m
}

// sorted returns the keys of row in increasing order.
func sorted[V any](row map[int]V) []int {
	var keys []int
	for j := range row {
		keys = append(keys, j)
	}
	slices.SortFunc(keys, cmp.Compare)
	return keys
}

// randomGraph returns a graph of n nodes with about degree neighbors each, most of them among the first
// nodes, and some loops.
func randomGraph(rng *rand.Rand, n, degree int) *CSR {
	rows := make([]map[int]float64, n)
	for i := range rows {
		rows[i] = map[int]float64{}
	}
	for i := range n {
		for range degree / 2 {
			j := int(float64(n) * math.Pow(rng.Float64(), 3))
			v := 1 + rng.Float64()
			rows[i][j], rows[j][i] = v, v
		}
	}
	return sparseFrom(n, n, func(i int) map[int]float64 { return rows[i] })
}

// singlesCases returns operators whose products may be in float32.
func singlesCases(t *testing.T) map[string]Operator {
	t.Helper()
	rng := rand.New(rand.NewPCG(41, 1))
	const n = 2800
	graph := randomGraph(rng, n, 12)
	points := sparseFrom(n, 700, func(int) map[int]float64 {
		row := map[int]float64{}
		for range 1 + rng.IntN(20) {
			row[int(700*math.Pow(rng.Float64(), 2))] = rng.Float64()
		}
		return row
	})
	a, err := FromCSR(graph, 1e-12)
	if err != nil {
		t.Fatal(err)
	}
	x, err := Gram(points, Rows, 2)
	if err != nil {
		t.Fatal(err)
	}
	features, _ := Folded(x.Scaled(0.37), 2)
	return map[string]Operator{
		"points by features": features,
		"graph":              a, "graph, scaled": a.Scaled(0.37), "graph, normalized": normalize(t, a, 0), "graph without the diagonal": a.OffDiagonal(),
		"points": x, "points, scaled": x.Scaled(0.37), "points, normalized": normalize(t, x, 2), "points without the diagonal": x.OffDiagonal(),
	}
}

// TestSingles: products in float32 agree with those of the same numbers in float64, up to what rounding Z, or
// S·H, may cost. They are not offered for few columns, nor for a graph without its diagonal.
func TestSingles(t *testing.T) {
	const k = 24
	rng := rand.New(rand.NewPCG(41, 2))
	for name, a := range singlesCases(t) {
		n := a.Dim()
		if few := a.(singleRepeater).repeatSingle(8, 1); few != nil {
			t.Errorf("%s: offered for a few columns", name)
		}
		products := a.(singleRepeater).repeatSingle(k, 2)
		if offered := name != "graph without the diagonal"; (products != nil) != offered {
			t.Errorf("%s: offered %v, want %v", name, products != nil, offered)
		}
		if products == nil {
			continue
		}
		for range 2 { // the second uses the same memory
			h := NewDense(n, k, nil)
			x := make([]float32, n*k)
			for p := range x {
				x[p] = float32(rng.NormFloat64())
				h.data[p] = float64(x[p])
			}
			want, size := NewDense(n, k, nil), NewDense(n, k, nil)
			productTo(want, a.NewProduct(h, 1), 1)
			for p, v := range h.data {
				h.data[p] = math.Abs(v)
			}
			productTo(size, a.NewProduct(h, 1), 1)
			p := products(x)
			for _, rows := range [][2]int{{0, 64}, {64, 100}, {100, n}} {
				got := make([]float64, (rows[1]-rows[0])*k)
				p.RowsTo(got, rows[0], rows[1])
				for q, v := range got {
					at := rows[0]*k + q
					most := 0x1p-23 * (math.Abs(size.data[at]) + a.Norm()) // without the diagonal, size is only what subtracting the diagonal leaves
					if !(math.Abs(v-want.data[at]) <= most) {
						t.Fatalf("%s: number %d is %v, want %v", name, at, v, want.data[at])
					}
				}
			}
		}
	}
}

// TestProductOf: where rows of A are long, the product with an h of numbers of float32 reads a copy in float32, and is
// that with h itself up to the order of sums. With another number in h, with fewer entries a row, a smaller h or an A
// that leaves entries out, and for other operators, it is that of NewProduct.
func TestProductOf(t *testing.T) {
	const n, k = 2800, 24
	rng := rand.New(rand.NewPCG(55, 1))
	operator := func(degree int) *SymCSR {
		a, err := FromCSR(randomGraph(rng, n, degree), 1e-12)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := operator(400)
	if rows := float64(a.Stored()) / n; rows < 2*k+10 {
		t.Fatalf("%v entries a row are too few for this test", rows)
	}
	numbers := func(k int) *Dense {
		h := NewDense(n, k, nil)
		for p := range h.data {
			h.data[p] = float64(float32(rng.NormFloat64()))
		}
		return h
	}
	h, other := numbers(k), numbers(k)
	other.data[n*k-1] = 0.1
	for _, c := range []struct {
		name   string
		a      Operator
		h      *Dense
		copied bool
	}{
		{"long rows", a, h, true},
		{"scaled", a.Scaled(0.37), h, true},
		{"30 columns", a, numbers(30), true},
		{"a number of float64", a, other, false},
		{"short rows", operator(30), h, false},
		{"a small h", a, numbers(23), false},
		{"without the diagonal", a.OffDiagonal(), h, false},
		{"normalized", normalize(t, a, 0), h, false},
	} {
		if CopiesSingles(c.a, c.h.cols) != (c.copied || c.h == other) {
			t.Errorf("%s: CopiesSingles is %t", c.name, !c.copied)
		}
		for _, workers := range []int{1, 3} {
			p := ProductOf(c.a, c.h, workers)
			if _, copied := p.(*csrSingles); copied != c.copied {
				t.Errorf("%s: copied %t, want %t", c.name, copied, c.copied)
			}
			absolute := NewDense(n, c.h.cols, nil)
			for q, v := range c.h.data {
				absolute.data[q] = math.Abs(v)
			}
			want, size := NewDense(n, c.h.cols, nil), NewDense(n, c.h.cols, nil)
			productTo(want, c.a.NewProduct(c.h, 1), 1)
			productTo(size, c.a.NewProduct(absolute, 1), 1)
			got := make([]float64, n*c.h.cols)
			p.RowsTo(got[:70*c.h.cols], 0, 70)
			p.RowsTo(got[70*c.h.cols:], 70, n)
			for q, v := range got {
				if !(math.Abs(v-want.data[q]) <= 1e-14*math.Abs(size.data[q])) {
					t.Fatalf("%s: number %d is %v, want %v", c.name, q, v, want.data[q])
				}
			}
		}
	}
}

// TestRitzPairsSingle: with a basis in float32, each value is ⟨A·u, u⟩ of its vector, vectors are
// orthonormal, values are near those from a basis in float64, and pairs have the same bits for any number of
// workers.
func TestRitzPairsSingle(t *testing.T) {
	const k = 16
	for name, a := range singlesCases(t) {
		values, u := ritzPairs(t, a, k, 3, 1)
		for _, workers := range []int{2, 3, 8} {
			again, v := ritzPairs(t, a, k, 3, workers)
			if !slices.Equal(values, again) || !slices.Equal(u.data, v.data) {
				t.Errorf("%s: %d workers give other pairs", name, workers)
			}
		}
		products := productsOf(a, 1)
		s := &subspace[float64]{n: a.Dim(), k: 24, workers: 1, product: func(x []float64) Product { return products(NewDense(a.Dim(), 24, x)) }}
		want, _, err := s.pairs(context.Background(), k, 3)
		if err != nil || len(values) != k {
			t.Fatalf("%s: %d values, %v", name, len(values), err)
		}
		au := NewDense(a.Dim(), k, nil)
		productTo(au, a.NewProduct(u, 1), 1)
		uau, uu := transTimes(u, au, 1), gram(u, 1)
		for j, v := range values {
			if !(math.Abs(v-want[j]) <= 1e-4*want[0]) {
				t.Errorf("%s: value %d is %v, in float64 %v", name, j, v, want[j])
			}
			if !(math.Abs(uau.At(j, j)-v) <= 2e-7*want[0]) {
				t.Errorf("%s: ⟨A·u, u⟩ = %v, the value is %v", name, uau.At(j, j), v)
			}
			for l := range k {
				unit := 0.0
				if l == j {
					unit = 1
				}
				if !(math.Abs(uu.At(j, l)-unit) <= 1e-6) {
					t.Errorf("%s: ⟨u_%d, u_%d⟩ = %v", name, j, l, uu.At(j, l))
				}
			}
		}
	}
}

// TestRitzPairsSingleOfWideSpectrum: where values fall by factors, what rounding to float32 leaves of the
// first vectors does not outgrow all else under the polynomial: vectors stay orthonormal.
func TestRitzPairsSingleOfWideSpectrum(t *testing.T) {
	const n, block, k = 2800, 28, 16
	a, err := FromCSR(sparseFrom(n, n, func(i int) map[int]float64 {
		row := map[int]float64{}
		for l := range block {
			row[i/block*block+l] = math.Pow(0.3, float64(i/block))
		}
		return row
	}), 0)
	if err != nil {
		t.Fatal(err)
	}
	if a.repeatSingle(k+ritzSpare, 1) == nil {
		t.Fatal("products in float32 are not offered")
	}
	_, u := ritzPairs(t, a, k, 3, 2)
	for j, v := range gram(u, 1).data {
		if j%(u.cols+1) == 0 {
			v--
		}
		if !(math.Abs(v) <= 1e-6) {
			t.Fatalf("⟨u_%d, u_%d⟩ is off by %v", j/u.cols, j%u.cols, v)
		}
	}
}

// TestRitzPairsSingleOfLowRank: for a large sparse matrix with fewer nonzero eigenvalues than a basis has
// columns, no value is a mere rounding of float32.
func TestRitzPairsSingleOfLowRank(t *testing.T) {
	const n, size = 2800, 400
	a, err := FromCSR(sparseFrom(n, n, func(i int) map[int]float64 {
		row := map[int]float64{}
		for j := i / size * size; j < (i/size+1)*size; j++ {
			row[j] = float64(1 + i/size)
		}
		return row
	}), 1e-12)
	if err != nil {
		t.Fatal(err)
	}
	values, u := ritzPairs(t, a, 16, 0, 2)
	if len(values) < n/size || u.cols != len(values) {
		t.Fatalf("%d values, want at least %d and as many vectors", len(values), n/size)
	}
	for j, v := range values {
		want := 0.0
		if j < n/size {
			want = float64(n/size-j) * size
		}
		if !(math.Abs(v-want) <= 1e-9*values[0]) {
			t.Errorf("value %d is %v, want %v", j, v, want)
		}
	}
	asked := &asks{Context: context.Background(), from: 2}
	if values, _, err := RitzPairs(asked, a, 16, 0, 1); !errors.Is(err, context.Canceled) || values != nil {
		t.Errorf("cancelled when the work in float64 begins: %v, error %v", values, err)
	}
}

// TestRitzPairsOfUnlikeDegrees: the values of a normalized graph in two parts do not depend on the weights of
// the second part, however far these are from those of the first.
func TestRitzPairsOfUnlikeDegrees(t *testing.T) {
	const n, k = 1400, 16
	part := randomGraph(rand.New(rand.NewPCG(41, 4)), n, 12)
	var want []float64
	for _, weight := range []float64{1, 1e-80, 1e-150, 1e30, 1e90} {
		a, err := FromCSR(sparseFrom(2*n, 2*n, func(i int) map[int]float64 {
			row := map[int]float64{}
			col, val := part.Row(i % n)
			for p, j := range col {
				if i < n {
					row[int(j)] = val[p]
				} else {
					row[n+int(j)] = weight * val[p]
				}
			}
			return row
		}), 1e-12)
		if err != nil {
			t.Fatal(err)
		}
		values, _ := ritzPairs(t, normalize(t, a, 0), k, 0, 2)
		if want == nil {
			want = values
		}
		for j, v := range values {
			if !(math.Abs(v-want[j]) <= 1e-5) || len(values) != k {
				t.Errorf("weights times %g: values %v, want %v", weight, values, want)
				break
			}
		}
	}
}

// TestInverseRootOf: tᵀgt = I for the inner products of vectors that are independent, nearly dependent or
// dependent.
func TestInverseRootOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 3))
	const n, k = 40, 6
	for _, c := range []struct {
		apart float64 // how far the last vector is from one before it
		kept  int
		bound float64
	}{{1, k, 1e-12}, {1e-3, k, 1e-9}, {1e-5, k, 1e-4}, {1e-9, k - 1, 1e-9}, {0, k - 1, 1e-9}} {
		x := draw(rng, n, k, 1)
		for i := range x {
			x[i][k-1] = x[i][0] + c.apart*x[i][k-1]
		}
		g := gram(x.dense(), 1)
		lengths := columnNorms(g)
		for i := range k {
			for j := range k {
				g.data[i*k+j] /= lengths[i] * lengths[j]
			}
		}
		root, err := inverseRootOf(context.Background(), NewDense(k, k, slices.Clone(g.data)), 1)
		if err != nil || root.rows != k || root.cols != c.kept {
			t.Fatalf("%g apart: %d×%d, %v", c.apart, root.rows, root.cols, err)
		}
		one := transTimes(root, times(g, root, 1), 1)
		for i := range c.kept {
			for j := range c.kept {
				unit := 0.0
				if i == j {
					unit = 1
				}
				if !(math.Abs(one.At(i, j)-unit) <= c.bound) {
					t.Errorf("%g apart: tᵀgt has %v at %d, %d", c.apart, one.At(i, j), i, j)
				}
			}
		}
	}
	if _, err := inverseRootOf(context.Background(), NewDense(2, 2, nil), 1); !errors.Is(err, ErrEigen) {
		t.Errorf("of zeros: %v", err)
	}
}
