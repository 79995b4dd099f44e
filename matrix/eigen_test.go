package matrix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"symnmf/internal/kernel"
)

// plain hides all methods of an operator but those of the interface.
type plain struct{ Operator }

func (p plain) Scaled(c float64) Operator { return plain{p.Operator.Scaled(c)} }

// allEigenvalues returns the eigenvalues of a in decreasing order: its diagonal if a is diagonal, otherwise
// those found by gonum.
func allEigenvalues(t testing.TB, a naive) []float64 {
	t.Helper()
	v, diagonal := make([]float64, len(a)), true
	for i := range a {
		v[i] = a[i][i]
		for j, x := range a[i] {
			diagonal = diagonal && (i == j || x == 0)
		}
	}
	if !diagonal {
		var e mat.EigenSym
		if !e.Factorize(mat.NewSymDense(len(a), a.dense().data), true) { // without vectors it panics on numbers near 1e-150
			t.Fatal("gonum's EigenSym failed")
		}
		e.Values(v)
	}
	slices.SortFunc(v, func(x, y float64) int { return cmp.Compare(y, x) })
	return v
}

// eigenpairs returns what Eigen returns, and ends the test on an error.
func eigenpairs(t testing.TB, a Operator, k int, opt EigenOptions) *Eigenpairs {
	t.Helper()
	res, err := Eigen(context.Background(), a, k, opt)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// checkPairs compares eigenpairs with the definitions: values with want, A·u with λ·u, UᵀU with I.
func checkPairs(t *testing.T, name string, a naive, want []float64, k int, tol float64, res *Eigenpairs) {
	t.Helper()
	if len(res.Values) != k || len(res.Residuals) != k || len(res.Failed) != 0 || res.Limited {
		t.Fatalf("%s: %d values, %d residuals, failed %v, limited %v, want %d, %d, none, false", name,
			len(res.Values), len(res.Residuals), res.Failed, res.Limited, k, k)
	}
	n := len(a)
	norm2 := max(math.Abs(want[0]), math.Abs(want[n-1]))
	if !(res.Norm2 <= norm2*(1+1e-13) && res.Norm2 >= 0.99*norm2) {
		t.Errorf("%s: ‖A‖₂ = %v, want %v", name, res.Norm2, norm2)
	}
	for l, v := range res.Values {
		// An eigenvalue errs by no more than its residual; rounding adds some ‖A‖₂·n·ε.
		if d := math.Abs(v - want[l]); !(d <= (tol+1e-14)*norm2) {
			t.Errorf("%s: λ[%d] = %v, want %v (off by %.2g)", name, l, v, want[l], d)
		}
		var sq float64
		for i := range n {
			var au float64
			for p, x := range a[i] {
				au += x * res.Vectors.At(p, l)
			}
			d := (au - v*res.Vectors.At(i, l)) / norm2
			sq += d * d
		}
		if r := math.Sqrt(sq); r > tol+1e-14 || !(math.Abs(r-res.Residuals[l]/norm2) <= 1e-14) {
			t.Errorf("%s: residual %d is %.3g·‖A‖₂, reported as %.3g·‖A‖₂", name, l, r, res.Residuals[l]/norm2)
		}
	}
	checkOrthonormal(t, name, res.Vectors)
}

// checkOrthonormal compares UᵀU with I.
func checkOrthonormal(t *testing.T, name string, u *Dense) {
	t.Helper()
	for j := range u.cols {
		for l := range j + 1 {
			var s float64
			for i := range u.rows {
				s += u.At(i, j) * u.At(i, l)
			}
			if j == l {
				s--
			}
			if !(math.Abs(s) <= 1e-13) {
				t.Errorf("%s: UᵀU−I has %.2g at [%d,%d]", name, s, j, l)
			}
		}
	}
}

// diagonal returns the diagonal matrix of d.
func diagonal(d ...float64) naive {
	a := zeros(len(d), len(d))
	for i, v := range d {
		a[i][i] = v
	}
	return a
}

// TestEigenOperators checks the eigenpairs of every kind of operator for n ≤ 37, where A is reduced whole.
func TestEigenOperators(t *testing.T) {
	for _, c := range operators(t) {
		want := allEigenvalues(t, c.want)
		n := len(c.want)
		for _, k := range []int{1, 5, n} {
			res := eigenpairs(t, c.a, k, EigenOptions{Workers: 2})
			checkPairs(t, fmt.Sprintf("%s, k = %d", c.name, k), c.want, want, k, 1e-12, res)
			if res.Products != n+k {
				t.Errorf("%s: %d products, want %d", c.name, res.Products, n+k)
			}
		}
	}
}

// TestEigenKrylov checks eigenpairs for n above twice the size of the basis, so that the basis never spans
// more than a part of ℝⁿ and restarts are needed.
func TestEigenKrylov(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	sym := drawSymmetric(rng, 250, 0.2)
	for i := range sym { // indefinite by construction, with zero rows
		sym[i][i] -= 3
		for _, z := range []int{0, 17, 249} {
			sym[z][i], sym[i][z] = 0, 0
		}
	}
	x := draw(rng, 300, 90, 0.3)
	x[4] = make([]float64, 90)
	gram := x.times(x.transpose())
	type kase struct {
		name string
		a    Operator
		want naive
	}
	sparse, err := FromCSR(sym.csr(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	cases := []kase{{"dense", fromDense(t, sym), sym}, {"sparse", sparse, sym}, {"plain", plain{sparse}, sym}}
	for name, table := range map[string]Table{"gram of dense": x.dense(), "gram of sparse": x.csr(t)} {
		g, err := Gram(table, Rows, 1)
		if err != nil {
			t.Fatal(err)
		}
		off := zeros(300, 300)
		for i := range gram {
			for j, v := range gram[i] {
				if i != j {
					off[i][j] = v / 16
				}
			}
		}
		cases = append(cases, kase{name, g, gram}, kase{name + ", scaled, no diagonal", g.Scaled(1.0 / 16).OffDiagonal(), off})
	}
	for _, c := range cases {
		want := allEigenvalues(t, c.want)
		for _, k := range []int{1, 9, 20} {
			res := eigenpairs(t, c.a, k, EigenOptions{Workers: 2, Seed: 5})
			name := fmt.Sprintf("%s, k = %d", c.name, k)
			checkPairs(t, name, c.want, want, k, 1e-10, res)
			if res.Products <= k+eigenBlock {
				t.Errorf("%s: %d products", name, res.Products)
			}
			res = eigenpairs(t, c.a, k, EigenOptions{Tol: 1e-13, Workers: 1})
			checkPairs(t, name+", to the last digits", c.want, want, k, 1e-13, res)
		}
	}
}

// reciprocals returns the diagonal matrix of 1/n, 1/(n−1), …, 1.
func reciprocals(t *testing.T, n int) *SymCSR {
	t.Helper()
	ptr, col, val := []int64{0}, []int32{}, []float64{}
	for i := range n {
		col, val = append(col, int32(i)), append(val, 1/float64(n-i))
		ptr = append(ptr, int64(i+1))
	}
	d, err := NewCSR(n, n, ptr, col, val)
	if err != nil {
		t.Fatal(err)
	}
	a, err := FromCSR(d, 0)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestEigenLarge has more rows than fit into 64 parts of 256. Parts of different sizes are summed in order,
// so that three workers give the same bits as one.
func TestEigenLarge(t *testing.T) {
	const n, k = 20000, 5
	a := reciprocals(t, n)
	res := eigenpairs(t, a, k, EigenOptions{Workers: 3})
	for l, v := range res.Values {
		if u := res.Vectors.At(n-1-l, l); !(math.Abs(v-1/float64(l+1)) <= 1e-14) || !(math.Abs(math.Abs(u)-1) <= 1e-9) || len(res.Failed) > 0 {
			t.Errorf("λ[%d] = %v, u = %v, failed %v", l, v, u, res.Failed)
		}
	}
	checkOrthonormal(t, "diagonal", res.Vectors)
	if one := eigenpairs(t, a, k, EigenOptions{Workers: 1}); !slices.Equal(one.Vectors.data, res.Vectors.data) {
		t.Error("3 workers give other bits than 1")
	}
}

// TestEigenMemory: Eigen allocates no more than its documentation says.
func TestEigenMemory(t *testing.T) {
	const n = 20000
	a := reciprocals(t, n)
	for k, numbers := range map[int]int{16: 2*16 + 90, 64: 3*64 + 40} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		eigenpairs(t, a, k, EigenOptions{Workers: 1, Tol: 0.01})
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(1.02*8*n*float64(numbers)); got > most {
			t.Errorf("k = %d: %d bytes allocated, %.1f numbers a row, want at most %d", k, got, float64(got)/8/n, numbers)
		}
	}
}

// TestEigenSlow has copies of an eigenvalue so near to the others that a second random block finds more of
// them only if it goes on as long as the first.
func TestEigenSlow(t *testing.T) {
	const n, copies = 1500, 20 // one of them a little off
	ptr, col, val := []int64{0}, []int32{}, []float64{}
	for i := range n {
		v := float64(i) / n
		if i < copies {
			v = 1.01
		}
		col, val = append(col, int32(i)), append(val, v)
		ptr = append(ptr, int64(i+1))
	}
	val[0] = 1.009
	d, err := NewCSR(n, n, ptr, col, val)
	if err != nil {
		t.Fatal(err)
	}
	a, err := FromCSR(d, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []int{eigenBlock + 1, 2*eigenBlock + 1, copies - 1} {
		for l, v := range eigenpairs(t, a, k, EigenOptions{}).Values {
			if !(math.Abs(v-1.01) <= 1e-13) {
				t.Errorf("k = %d: λ[%d] = %v, want 1.01", k, l, v)
			}
		}
	}
}

// cliques returns count cliques of size nodes each, without loops, followed by alone isolated nodes.
func cliques(count, size, alone int) naive {
	a := zeros(count*size+alone, count*size+alone)
	for c := range count {
		for i := range size {
			for j := range size {
				if i != j {
					a[c*size+i][c*size+j] = 1
				}
			}
		}
	}
	return a
}

// stars returns count stars, each of a hub and the given number of leaves.
func stars(count, leaves int) naive {
	a := zeros(count*(leaves+1), count*(leaves+1))
	for c := range count {
		hub := c * (leaves + 1)
		for l := range leaves {
			a[hub][hub+1+l], a[hub+1+l][hub] = 1, 1
		}
	}
	return a
}

// repeated returns copies of b along the diagonal, followed by d.
func repeated(b naive, copies int, d ...float64) naive {
	m := len(b)
	a := diagonal(append(make([]float64, copies*m), d...)...)
	for c := range copies {
		for i := range m {
			copy(a[c*m+i][c*m:], b[i])
		}
	}
	return a
}

// TestEigenMultiple has eigenvalues of a multiplicity above the size of a block, invariant subspaces smaller
// than a basis, and n, k and rank at the ends of their ranges.
func TestEigenMultiple(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	ones := func(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }
	uniform := make([]float64, 200)
	for i := range uniform {
		uniform[i] = rng.Float64()
	}
	near := make([]float64, 20) // closer together than the tolerance
	for i := range near {
		near[i] = 2 - 1e-12*float64(i)
	}
	b := drawSymmetric(rng, 12, 0.8)
	lowRank := draw(rng, 300, 5, 1)
	for _, c := range []struct {
		name string
		a    naive
		k    int
	}{
		{"1×1", diagonal(3), 1},
		{"1×1, negative", diagonal(-3), 1},
		{"1×1, zero", diagonal(0), 1},
		{"zero", diagonal(ones(9, 0)...), 4},
		{"zero, large", diagonal(ones(300, 0)...), 4},
		{"identity", diagonal(ones(6, 1)...), 6},
		{"identity, large", diagonal(ones(300, 1)...), 30},
		{"minus identity, large", diagonal(ones(300, -1)...), 12},
		{"tiny blocks", repeated(naive{{0, 1e-150}, {1e-150, 0}}, 5, 1, 1e-100), 8},
		{"tiny blocks, large", repeated(naive{{0, 1e-150}, {1e-150, 0}}, 150, 1, 1e-100), 8},
		{"k = n - 1", drawSymmetric(rng, 30, 1), 29},
		{"rank 5", lowRank.times(lowRank.transpose()), 20},
		{"larger below zero", diagonal(append([]float64{1, -10, 0.5}, ones(300, -3)...)...), 2},
		{"30 cliques of 8", cliques(30, 8, 5), 20},
		{"30 cliques of 8, all", cliques(30, 8, 5), 34},
		{"25 cliques and zeros", cliques(25, 4, 250), 30},
		{"a star", stars(1, 299), 3},
		{"20 stars", stars(20, 14), 25},
		{"20 copies", repeated(b, 20, uniform[:60]...), 30},
		{"20 at the top", diagonal(append(ones(20, 2), uniform...)...), 30},
		{"20 near the top", diagonal(append(near, uniform...)...), 30},
		{"20 in the middle", diagonal(append(append(ones(20, 0.97), 3, 2, 1.5), uniform...)...), 40},
		{"17 at the top, as many wanted", diagonal(append(append(ones(17, 9), 8.9, 8.8, 8.7, 8.6, 8.5, 8.4, 8.3, 8.2, 8.1), uniform...)...), 17},
		{"9 at the top, as many wanted", diagonal(append(append(ones(9, 4), 3.9), uniform...)...), 9},
		{"9 and 17", diagonal(append(append(ones(9, 3), ones(17, 2)...), uniform...)...), 32},
	} {
		want := allEigenvalues(t, c.a)
		for seed := range uint64(2) {
			name := fmt.Sprintf("%s, seed %d", c.name, seed)
			if norm2 := max(math.Abs(want[0]), math.Abs(want[len(want)-1])); norm2 == 0 {
				res := eigenpairs(t, fromDense(t, c.a), c.k, EigenOptions{Seed: seed})
				if slices.Max(res.Residuals) != 0 || slices.Max(res.Values) != 0 || slices.Min(res.Values) != 0 || len(res.Failed) != 0 {
					t.Errorf("%s: %+v", name, res)
				}
				checkOrthonormal(t, name, res.Vectors)
				continue
			}
			res := eigenpairs(t, fromDense(t, c.a), c.k, EigenOptions{Seed: seed})
			checkPairs(t, name, c.a, want, c.k, 1e-10, res)
			if most := basisSize(c.k) + c.k; c.name == "identity, large" && res.Products > most {
				t.Errorf("%s: %d products, want at most %d: more copies of the last value change nothing", name, res.Products, most)
			}
		}
	}
}

// TestEigenScale: c·A, for c a power of 4, has exactly c times the eigenvalues of A and the same vectors, up
// to the ends of the range.
func TestEigenScale(t *testing.T) {
	for _, n := range []int{20, 200} {
		a := drawSymmetric(rand.New(rand.NewPCG(13, 1)), n, 0.5)
		base := eigenpairs(t, fromDense(t, a), 7, EigenOptions{})
		for _, e := range []int{-2 * 249, 2, 2 * 249, 2 * 250} { // about 1e±150
			c := zeros(n, n)
			for i := range a {
				for j, v := range a[i] {
					c[i][j] = math.Ldexp(v, e)
				}
			}
			res := eigenpairs(t, fromDense(t, c), 7, EigenOptions{})
			for l, v := range res.Values {
				if math.Ldexp(base.Values[l], e) != v || math.Ldexp(base.Residuals[l], e) != res.Residuals[l] {
					t.Errorf("n = %d, 2^%d: λ[%d] = %v, residual %v, want %v, %v", n, e, l, v, res.Residuals[l],
						math.Ldexp(base.Values[l], e), math.Ldexp(base.Residuals[l], e))
				}
			}
			if math.Ldexp(base.Norm2, e) != res.Norm2 {
				t.Errorf("n = %d, 2^%d: ‖A‖₂ = %v, want %v", n, e, res.Norm2, math.Ldexp(base.Norm2, e))
			}
			if !slices.Equal(base.Vectors.data, res.Vectors.data) {
				t.Errorf("n = %d, 2^%d: the vectors differ", n, e)
			}
		}
		c := zeros(n, n)
		for i := range a {
			for j, v := range a[i] {
				c[i][j] = v * 1e-150 // not a power of 4
			}
		}
		checkPairs(t, "times 1e-150", c, allEigenvalues(t, c), 7, 1e-10, eigenpairs(t, fromDense(t, c), 7, EigenOptions{}))
	}
	for v := range 9 { // points are multiplied by the root of the scale, which must be exact
		x, err := Gram(naive{{float64(v + 1)}, {0}}.csr(t), Rows, 1)
		if err != nil {
			t.Fatal(err)
		}
		if res := eigenpairs(t, x, 1, EigenOptions{}); res.Values[0] != float64((v+1)*(v+1)) {
			t.Errorf("a point at %d: eigenvalue %v, want its square", v+1, res.Values[0])
		}
	}
}

// TestEigenRepeats: the result has the same bits for any number of workers and, unless A is reduced whole,
// other bits for another seed. Where it is not reduced whole, n is above 256, so that there are several parts
// to sum.
func TestEigenRepeats(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 1))
	x := draw(rng, 700, 70, 0.2)
	x2 := draw(rng, 150, 60, 0.2)
	for name, table := range map[string]Table{"dense": x.dense(), "sparse": x.csr(t), "whole": x2.csr(t)} {
		a, err := Gram(table, Rows, 1)
		if err != nil {
			t.Fatal(err)
		}
		for kind, a := range map[string]Operator{name: a, name + ", plain": plain{a}} {
			first := eigenpairs(t, a, 10, EigenOptions{Workers: 1, Seed: 3})
			for workers := range 5 {
				res := eigenpairs(t, a, 10, EigenOptions{Workers: workers, Seed: 3})
				if !slices.Equal(first.Vectors.data, res.Vectors.data) || !slices.Equal(first.Values, res.Values) ||
					!slices.Equal(first.Residuals, res.Residuals) || first.Norm2 != res.Norm2 {
					t.Errorf("%s: %d workers give other bits than 1", kind, workers)
				}
			}
			other := eigenpairs(t, a, 10, EigenOptions{Seed: 4})
			if name != "whole" && slices.Equal(first.Vectors.data, other.Vectors.data) {
				t.Errorf("%s: seeds 3 and 4 give the same bits", kind)
			}
			for l, v := range other.Values {
				if !(math.Abs(v-first.Values[l]) <= 1e-12*first.Norm2) {
					t.Errorf("%s: λ[%d] is %v with seed 3 and %v with seed 4", kind, l, first.Values[l], v)
				}
			}
		}
	}
}

// TestEigenLimit: at MaxProducts, Eigen returns the pairs it has, with their residuals and without an error.
// The largest eigenvalues of the path graph are close together: 2·cos(πi/(n+1)), i = 1, 2, …
func TestEigenLimit(t *testing.T) {
	const n, k = 400, 4
	a := zeros(n, n)
	for i := range n - 1 {
		a[i][i+1], a[i+1][i] = 1, 1
	}
	op := fromDense(t, a)
	for _, limit := range []int{1, 30, 200} {
		res := eigenpairs(t, op, k, EigenOptions{MaxProducts: limit})
		if most := max(limit, eigenBlock) + k; res.Products > most {
			t.Errorf("%d products, want at most %d", res.Products, most)
		}
		if len(res.Failed) == 0 || res.Failed[len(res.Failed)-1] != k-1 || !res.Limited {
			t.Errorf("limit %d: failed %v, limited %v, want the last pair among them, true", limit, res.Failed, res.Limited)
		}
		for l, r := range res.Residuals {
			var sq float64
			for i := range n {
				var au float64
				for p, x := range a[i] {
					au += x * res.Vectors.At(p, l)
				}
				d := au - res.Values[l]*res.Vectors.At(i, l)
				sq += d * d
			}
			if !(math.Abs(math.Sqrt(sq)-r) <= 1e-13) || slices.Contains(res.Failed, l) != (r > 1e-10*res.Norm2) {
				t.Errorf("limit %d, pair %d: residual %v, want %v; failed %v", limit, l, r, math.Sqrt(sq), res.Failed)
			}
		}
		checkOrthonormal(t, fmt.Sprint("limit ", limit), res.Vectors)
	}
	res := eigenpairs(t, op, k, EigenOptions{})
	for l, v := range res.Values {
		if want := 2 * math.Cos(math.Pi*float64(l+1)/(n+1)); !(math.Abs(v-want) <= 1e-13) || len(res.Failed) > 0 || res.Limited {
			t.Errorf("λ[%d] = %v, want %v; failed %v, limited %v", l, v, want, res.Failed, res.Limited)
		}
	}

	// A limit that ends the run just when all is found is none that matters.
	again := eigenpairs(t, op, k, EigenOptions{MaxProducts: res.Products - k})
	if again.Limited || len(again.Failed) > 0 || again.Products != res.Products {
		t.Errorf("with just enough products: %d of %d, failed %v, limited %v",
			again.Products, res.Products, again.Failed, again.Limited)
	}

	// A tolerance between two residuals of a run decides which pairs have failed.
	res = eigenpairs(t, op, k, EigenOptions{MaxProducts: 200})
	for l := 1; l < k; l++ {
		tol := math.Sqrt(res.Residuals[l-1]*res.Residuals[l]) / res.Norm2
		again := eigenpairs(t, op, k, EigenOptions{MaxProducts: 200, Tol: tol})
		for i, r := range again.Residuals {
			if slices.Contains(again.Failed, i) != (r > tol*again.Norm2) {
				t.Errorf("tolerance %v, residual %d is %v: failed %v", tol, i, r/again.Norm2, again.Failed)
			}
		}
	}

	// Twenty copies of 2 take three random blocks. If a limit ends the run during the third, no pair has failed,
	// but Eigen cannot tell whether copies are missing, so Limited is set.
	d := make([]float64, 220)
	for i := range d {
		d[i] = float64(i) / 220
		if i < 20 {
			d[i] = 2
		}
	}
	op = fromDense(t, diagonal(d...))
	res = eigenpairs(t, op, 24, EigenOptions{})
	short := eigenpairs(t, op, 24, EigenOptions{MaxProducts: (res.Products - 24) * 3 / 4})
	if res.Limited || !short.Limited || len(short.Failed) > 0 {
		t.Errorf("limited %v; with a quarter fewer products limited %v, failed %v; want false, true, none", res.Limited, short.Limited, short.Failed)
	}

	// Sixteen copies of 9: after eight of them, all other pairs are found before more copies are. A limit there
	// leaves no failed pair, but Limited is set.
	d = make([]float64, 220)
	for i := range d {
		d[i] = float64(i%100) / 100
		if i < 25 {
			d[i] = 9 - float64(max(i-15, 0))/10
		}
	}
	op = fromDense(t, diagonal(d...))
	unnoticed := 0
	for limit := eigenBlock; limit <= 200; limit += eigenBlock {
		res := eigenpairs(t, op, 16, EigenOptions{MaxProducts: limit})
		missing := math.Abs(res.Values[15]-9) > 1e-9
		if missing && !res.Limited {
			t.Errorf("limit %d: copies are missing from %v, but Limited is not set", limit, res.Values)
		}
		if missing && len(res.Failed) == 0 {
			unnoticed++
		}
	}
	if unnoticed == 0 {
		t.Error("at no limit are copies missing without a failed pair")
	}
}

// cancelling is an operator that calls cancel at product number *after.
type cancelling struct {
	Operator
	cancel context.CancelFunc
	after  *int
}

func (c cancelling) Scaled(s float64) Operator {
	return cancelling{c.Operator.Scaled(s), c.cancel, c.after}
}

func (c cancelling) NewProduct(h *Dense, workers int) Product {
	if *c.after--; *c.after == 0 {
		c.cancel()
	}
	return c.Operator.NewProduct(h, workers)
}

// TestEigenDifference: if A is a small difference of large matrices, the default tolerance can be reached
// despite rounding.
func TestEigenDifference(t *testing.T) {
	for _, n := range []int{20, 500} { // reduced whole, and by a basis
		twice := NewDense(n, 2, nil)
		want := 0.0
		for i := range n {
			v := float64(i%7) + 0.3
			want += v
			twice.Set(i, 0, math.Sqrt(v))
			twice.Set(i, 1, math.Sqrt(v))
		}
		for _, c := range []float64{1, 1e4, 1e6, 1e7} { // c·hhᵀ − (c − 1)·hhᵀ = hhᵀ
			a, err := NewLowRank(twice, []float64{c, 1 - c}, 1)
			if err != nil {
				t.Fatal(err)
			}
			pairs, err := Eigen(t.Context(), a, 1, EigenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if pairs.Limited || len(pairs.Failed) > 0 {
				t.Errorf("n = %d, c = %v: limited %v, failed %v, residuals %v", n, c, pairs.Limited, pairs.Failed, pairs.Residuals)
			}
			if got := pairs.Values[0]; !(math.Abs(got-want) <= (1e-13+1e-14*c)*want) {
				t.Errorf("n = %d, c = %v: λ = %v, want %v", n, c, got, want)
			}
		}
	}
}

// TestEigenCancel: after ctx is cancelled, Eigen makes no further product and returns only the error of ctx.
func TestEigenCancel(t *testing.T) {
	for _, n := range []int{100, 300} {
		a := fromDense(t, drawSymmetric(rand.New(rand.NewPCG(15, 1)), n, 0.5))
		for _, after := range []int{1, 3} {
			ctx, cancel := context.WithCancel(context.Background())
			left := after
			res, err := Eigen(ctx, cancelling{a, cancel, &left}, 5, EigenOptions{})
			if res != nil || !errors.Is(err, context.Canceled) || left != 0 {
				t.Errorf("n = %d: %v, %v, %d products left, want nothing, %v, none", n, res, err, left, context.Canceled)
			}
		}
	}
}

// TestEigenNoFeatures: points without coordinates have only eigenvalues of 0.
func TestEigenNoFeatures(t *testing.T) {
	sparse, err := NewCSR(300, 0, make([]int64, 301), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []Table{NewDense(300, 0, nil), sparse} {
		a, err := Gram(x, Rows, 1)
		if err != nil {
			t.Fatal(err)
		}
		res := eigenpairs(t, a, 3, EigenOptions{})
		if !slices.Equal(res.Values, []float64{0, 0, 0}) || len(res.Failed) > 0 {
			t.Errorf("%T: eigenvalues %v, failed %v, want zeros, none", x, res.Values, res.Failed)
		}
	}
}

// broken is an operator with NaN in its products.
type broken struct{ Operator }

func (b broken) Scaled(float64) Operator        { return b }
func (b broken) NewProduct(*Dense, int) Product { return b }
func (b broken) RowsTo(dst []float64, _, _ int) { dst[0] = math.NaN() }

// TestEigenErrors: products with NaN, invalid settings and an empty matrix are errors.
func TestEigenErrors(t *testing.T) {
	for _, n := range []int{100, 300} {
		if res, err := Eigen(context.Background(), broken{fromDense(t, zeros(n, n))}, 1, EigenOptions{}); res != nil || !errors.Is(err, ErrNotFinite) {
			t.Errorf("n = %d, products NaN: %v, %v", n, res, err)
		}
	}
	a := fromDense(t, diagonal(1, 2))
	for _, c := range []struct {
		k   int
		opt EigenOptions
	}{
		{0, EigenOptions{}}, {3, EigenOptions{}}, {1, EigenOptions{Tol: -1}}, {1, EigenOptions{Tol: math.NaN()}},
		{1, EigenOptions{Workers: -1}}, {1, EigenOptions{MaxProducts: -1}},
	} {
		if res, err := Eigen(context.Background(), a, c.k, c.opt); res != nil || !errors.Is(err, ErrEigen) {
			t.Errorf("k = %d, %+v: %v, %v, want an error", c.k, c.opt, res, err)
		}
	}
	empty, err := FromDense(NewDense(0, 0, nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Eigen(context.Background(), empty, 1, EigenOptions{}); !errors.Is(err, ErrEigen) {
		t.Errorf("n = 0: %v", err)
	}
}

// TestLanczos checks the invariants of a krylov after each step and restart: V and Q are orthonormal, and
// A·V = V·T + Q·Eᵀ.
func TestLanczos(t *testing.T) {
	const n, k, p = 90, 4, 40
	a := drawSymmetric(rand.New(rand.NewPCG(16, 1)), n, 0.6)
	opt := EigenOptions{Workers: 2}
	s := newKrylov(n, k, p, Repeated(fromDense(t, a), 2), &opt)
	check := func(when string) {
		all := NewDense(n, s.j+s.b, nil) // V and Q
		for i := range n {
			copy(all.Row(i), s.v[i*p:i*p+s.j])
			copy(all.Row(i)[s.j:], s.q.Row(i))
		}
		checkOrthonormal(t, when, all)
		for i := range n {
			for l := range s.j {
				var av, want float64
				for c, x := range a[i] {
					av += x * all.At(c, l)
				}
				for c := range s.j {
					want += all.At(i, c) * s.t.At(c, l)
				}
				for c := range s.b {
					if l >= s.lo {
						want += s.q.At(i, c) * s.e[(l-s.lo)*s.b+c]
					}
				}
				if !(math.Abs(av-want) <= 1e-12) {
					t.Fatalf("%s: (AV)[%d,%d] = %v, VT+QEᵀ has %v", when, i, l, av, want)
				}
			}
		}
	}
	if err := s.restart(nil, nil); err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		for step := 0; s.j+s.b <= p; step++ {
			if err := s.step(); err != nil {
				t.Fatal(err)
			}
			check(fmt.Sprintf("restart %d, step %d", round, step))
		}
		keep := 11 + round
		val, vec, _, err := topEigen(context.Background(), s.small(), s.j, keep, 1)
		if err != nil {
			t.Fatal(err)
		}
		e := s.coupling(vec, keep)
		s.rotate(vec, keep, keep)
		if err := s.restart(val, e); err != nil {
			t.Fatal(err)
		}
		check(fmt.Sprintf("after restart %d", round))
	}
}

// TestInvariant: where the Krylov space is invariant, as every space is under I, the next block is random and
// E is zero.
func TestInvariant(t *testing.T) {
	const n = 200
	a := diagonal(slices.Repeat([]float64{1}, n)...)
	opt := EigenOptions{Workers: 1}
	s := newKrylov(n, 1, 32, Repeated(fromDense(t, a), 1), &opt)
	if err := s.restart(nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.step(); err != nil {
		t.Fatal(err)
	}
	for _, v := range s.e {
		if v != 0 {
			t.Fatalf("E = %v, want zero", s.e)
		}
	}
}

// TestOrthonormalizeBlock checks the orthonormalization of a block, for blocks near and beyond loss of rank,
// some of them partly in the space of V.
func TestOrthonormalizeBlock(t *testing.T) {
	const n, p, j, b = 700, 32, 16, eigenBlock
	rng := rand.New(rand.NewPCG(17, 1))
	normal := func(m []float64) {
		for i := range m {
			m[i] = rng.NormFloat64()
		}
	}
	opt := EigenOptions{Workers: 2}
	for _, c := range []struct {
		name   string
		inside float64 // size of the part of the block in the space of V
		fresh  int     // number of columns that must become random
		change func(w *Dense)
	}{
		{"random", 0, 0, func(*Dense) {}},
		{"half in V", 1, 0, func(*Dense) {}},
		{"unit, a little in V", 0.1, 0, func(w *Dense) {
			for i := range w.data {
				w.data[i] /= math.Sqrt(n)
			}
		}},
		{"sizes from 1 to 1e-11", 1e-12, 0, func(w *Dense) {
			for i := range n {
				for l := range b {
					w.Row(i)[l] *= math.Pow(10, -11*float64(l)/(b-1))
				}
			}
		}},
		{"nearly parallel", 1e-10, 0, func(w *Dense) {
			for i := range n {
				for l := 1; l < b; l++ {
					w.Row(i)[l] = w.Row(i)[0] + 1e-9*w.Row(i)[l]
				}
			}
		}},
		{"zero", 0, b, func(w *Dense) { clear(w.data) }},
		{"rounding", 0, b, func(w *Dense) {
			for i := range w.data {
				w.data[i] *= 1e-17
			}
		}},
		{"beyond squaring", 0, b, func(w *Dense) {
			for i := range w.data {
				w.data[i] *= 1e-200
			}
		}},
		{"rank 3", 0, 5, func(w *Dense) {
			for i := range n {
				for l := 3; l < b; l++ {
					w.Row(i)[l] = w.Row(i)[0] - float64(l)*w.Row(i)[1] + w.Row(i)[2]
				}
			}
		}},
		{"two zero columns", 0, 2, func(w *Dense) {
			for i := range n {
				w.Row(i)[0], w.Row(i)[5] = 0, 0
			}
		}},
	} {
		s := newKrylov(n, 1, p, nil, &opt)
		for s.j < j { // a random basis
			if err := s.restart(make([]float64, s.j), nil); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				copy(s.v[i*p+s.j:], s.q.Row(i))
			}
			s.j += b
		}
		s.norm2 = 100
		normal(s.q.data)
		c.change(s.q)
		w := s.q.Clone()
		inside := make([]float64, j*b)
		normal(inside)
		for i := range inside {
			inside[i] *= c.inside
		}
		kernel.RowsTimes(s.q.data, s.v[:(n-1)*p+j], p, inside, b)
		r, err := s.orthonormalize()
		if err != nil {
			t.Fatal(err)
		}
		all := NewDense(n, j+b, nil)
		for i := range n {
			copy(all.Row(i), s.v[i*p:i*p+j])
			copy(all.Row(i)[j:], s.q.Row(i))
		}
		checkOrthonormal(t, c.name, all)
		// R = QᵀW, where W is the block before the part in the space of V was added
		var worst float64
		for l := range b {
			for k := range b {
				var want float64
				for i := range n {
					want += s.q.At(i, l) * w.At(i, k)
				}
				worst = max(worst, math.Abs(want-r[l*b+k]))
			}
		}
		if !(worst <= 1e-11) { // ‖W‖ is near 26, or 100 where it has rank 3
			t.Errorf("%s: R differs from QᵀW by %.2g", c.name, worst)
		}
		var e mat.SVD
		if !e.Factorize(mat.NewDense(b, b, r), mat.SVDNone) {
			t.Fatal("gonum's SVD failed")
		}
		zero := 0
		for _, v := range e.Values(nil) {
			if v < 1e-11 {
				zero++
			}
		}
		if zero != c.fresh {
			t.Errorf("%s: R has %d singular values near zero, want %d: %v", c.name, zero, c.fresh, e.Values(nil))
		}
	}
}

// TestLowerBound compares lower bounds with their definition, also where rounding or the range of float64
// matters.
func TestLowerBound(t *testing.T) {
	for _, c := range []struct {
		values []float64
		norm   float64
		r      int
		want   float64
	}{
		{[]float64{4, 3}, 5, 1, 0.6},
		{[]float64{4, 3}, 5, 2, 0},
		{[]float64{4, 3}, 5, 7, 0},
		{[]float64{4, 3, 99}, 10, 0, 1},
		{[]float64{4, -3}, 5, 2, 0.6}, // a negative eigenvalue is of no use to a semidefinite matrix
		{[]float64{-1}, 1, 1, 1},
		{[]float64{4e200, 3e200}, 5e200, 1, 0.6},
		{[]float64{4e-200, 3e-200}, 5e-200, 1, 0.6},
		{[]float64{0}, 0, 1, 0},
		{nil, 1, 3, 1},
		{[]float64{1}, 1 + 1e-13, 1, 4.4721359549995787e-7}, // √2e-13
		{[]float64{1}, 1 + 1e-14, 1, 0},                     // no more than rounding may cause
		{[]float64{1}, 1 - 1e-14, 1, 0},
	} {
		got := LowerBound(c.values, c.norm, c.r)
		// LowerBound rounds the square down by up to 2⁻⁴⁴.
		if !(got <= c.want && got*got >= c.want*c.want-0x1.01p-44) {
			t.Errorf("LowerBound(%v, %v, %d) = %v, want %v", c.values, c.norm, c.r, got, c.want)
		}
	}
}
