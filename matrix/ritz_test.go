package matrix

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// ritzPairs returns what RitzPairs returns, and ends the test on an error.
func ritzPairs(t testing.TB, a Operator, k int, seed uint64, workers int) ([]float64, *Dense) {
	t.Helper()
	values, u, err := RitzPairs(context.Background(), a, k, seed, workers)
	if err != nil {
		t.Fatal(err)
	}
	return values, u
}

// TestRitzPairs: the vectors are orthonormal. Each value is ⟨A·u, u⟩ of its vector and not above the
// eigenvalue of its place. Where eigenvalues fall, values are near them, whatever the sign of the unwanted
// ones.
func TestRitzPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(38, 1))
	const n = 300
	q := orthogonal(rng, n, n)
	with := func(d func(j int) float64) naive {
		a := zeros(n, n)
		for j := range n {
			v := d(j)
			for i := range n {
				for l := range n {
					a[i][l] += v * q[i][j] * q[l][j]
				}
			}
		}
		for i := range n {
			for l := range i {
				a[i][l] = a[l][i]
			}
		}
		return a
	}
	for _, c := range []struct {
		name  string
		a     naive
		k     int
		apart float64 // how far below its eigenvalue a value may be, relative to the first eigenvalue
	}{
		{"falling by a tenth", with(func(j int) float64 { return math.Pow(0.9, float64(j)) }), 12, 1e-6},
		{"negative ones as large", with(func(j int) float64 { return math.Pow(0.95, float64(j/2)) * (1 - 2*float64(j%2)) }), 12, 0.02},
		{"most of them negative", with(func(j int) float64 {
			if j < 10 {
				return 1 - 0.05*float64(j)
			}
			return -0.6
		}), 10, 1e-3},
		{"negative ones up to nearly as large", with(func(j int) float64 {
			if j < 12 {
				return 1 - 0.04*float64(j)
			}
			return -0.09 * float64(j%10+1)
		}), 12, 5e-3},
		{"a graph", drawSymmetric(rng, n, 0.05), 16, 0.1},
		{"falling by nine tenths", with(func(j int) float64 { return math.Pow(0.1, float64(j)) }), 5, 1e-9},
	} {
		want := allEigenvalues(t, c.a)
		for seed := range uint64(3) {
			values, u := ritzPairs(t, fromDense(t, c.a), c.k, seed, 2)
			if len(values) != c.k || u.rows != n || u.cols != c.k {
				t.Fatalf("%s: %d values, vectors %d×%d", c.name, len(values), u.rows, u.cols)
			}
			for j, v := range values {
				if j > 0 && v > values[j-1] {
					t.Errorf("%s: values %v rise", c.name, values)
				}
				if !(v <= want[j]+1e-7*want[0]) || !(v >= want[j]-c.apart*want[0]) {
					t.Errorf("%s, seed %d: value %d is %v, the eigenvalue %v", c.name, seed, j, v, want[j])
				}
				var au, uu float64
				for i := range n {
					uu += u.At(i, j) * u.At(i, j)
					for l, x := range c.a[i] {
						au += u.At(i, j) * x * u.At(l, j)
					}
				}
				if !(math.Abs(uu-1) <= 1e-6) || !(math.Abs(au-v) <= 1e-6*want[0]) {
					t.Errorf("%s: ‖u‖² = %v, ⟨Au, u⟩ = %v, the value is %v", c.name, uu, au, v)
				}
				for l := range j {
					var with float64
					for i := range n {
						with += u.At(i, j) * u.At(i, l)
					}
					if !(math.Abs(with) <= 1e-6) {
						t.Errorf("%s: columns %d and %d have the inner product %v", c.name, l, j, with)
					}
				}
			}
		}
	}
}

// TestRitzPairsOf checks values for every kind of operator, and for small, singular and extreme matrices. The
// pairs have the same bits for any number of workers.
func TestRitzPairsOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(38, 2))
	for _, c := range operators(t) {
		n := len(c.want)
		want := allEigenvalues(t, c.want)
		for _, k := range []int{1, n} {
			values, u := ritzPairs(t, c.a, k, 1, 1)
			if len(values) > k || u.cols != len(values) {
				t.Fatalf("%s: %d values, %d vectors, want at most %d", c.name, len(values), u.cols, k)
			}
			for j, v := range values {
				size := max(want[0], -want[n-1])
				if !(v <= want[j]+1e-7*size) || k == 1 && want[0] > 1e-9*size && !(v >= want[j]-0.01*size) { // with k = n, what is dependent up to rounding may be missing anywhere
					t.Errorf("%s, k = %d: value %d is %v, want %v", c.name, k, j, v, want[j])
				}
			}
			for _, workers := range []int{2, 3, 8} {
				again, v := ritzPairs(t, c.a, k, 1, workers)
				if !slices.Equal(values, again) || !slices.Equal(u.data, v.data) {
					t.Errorf("%s, k = %d: %d workers give other pairs", c.name, k, workers)
				}
			}
		}
	}
	low := draw(rng, 120, 4, 1)
	rank4 := low.times(low.transpose())
	for _, scale := range []float64{1, 0x1p-400, 0x1p400} {
		a := zeros(120, 120)
		for i := range a {
			for j := range a {
				a[i][j] = rank4[i][j] * scale
			}
		}
		want := allEigenvalues(t, rank4)
		values, _ := ritzPairs(t, fromDense(t, a), 9, 0, 2)
		if len(values) < 4 || values[4%len(values)] > 1e-9*values[0] && len(values) > 4 {
			t.Errorf("rank 4, times %g: values %v", scale, values)
		}
		for j := range 4 {
			if !(math.Abs(values[j]/scale-want[j]) <= 1e-9*want[0]) {
				t.Errorf("times %g: value %d is %v, want %v", scale, j, values[j]/scale, want[j])
			}
		}
	}
	if values, u := ritzPairs(t, fromDense(t, zeros(5, 5)), 2, 0, 1); len(values) != 0 || u.rows != 5 || u.cols != 0 {
		t.Errorf("A = 0: values %v, vectors %d×%d", values, u.rows, u.cols)
	}
}

// TestRitzFilter: the polynomial is at most 1 in magnitude at every value, and is 1 at the first if that has
// the largest magnitude. That holds also where all values are negative.
func TestRitzFilter(t *testing.T) {
	for _, values := range [][]float64{{1, 0.5, -0.2, -0.9}, {0.3, 0, -0.5, -1}, {-0.41, -0.5, -0.7, -1}, {1, 0.9, 0.5, 0.1}} {
		k := len(values)
		a := fromDense(t, diagonal(values...))
		one := NewDense(k, k, nil)
		for j := range k {
			one.Set(j, j, 1)
		}
		products := productsOf(a, 1)
		s := &subspace[float64]{n: k, k: k, workers: 1, x: slices.Clone(one.data), ax: make([]float64, k*k)}
		s.product = func(x []float64) Product { return products(NewDense(k, k, x)) }
		s.multiply(s.ax, s.x, 1, 0, 0)
		if err := s.filter(context.Background(), values, one); err != nil {
			t.Fatal(err)
		}
		for j := range k {
			if p := s.x[j*k+j]; !(math.Abs(p) <= 1+1e-12) || j == 0 && values[0] == 1 && !(p >= 1-1e-12) {
				t.Errorf("values %v: the polynomial is %v at %v", values, p, values[j])
			}
		}
	}
}

// TestRitzPairsErrors: a k out of range, a cancelled ctx and products with NaN are errors.
func TestRitzPairsErrors(t *testing.T) {
	a := fromDense(t, diagonal(3, 2, 1))
	for _, k := range []int{0, -1, 4} {
		if _, _, err := RitzPairs(context.Background(), a, k, 0, 1); !errors.Is(err, ErrEigen) {
			t.Errorf("k = %d: %v", k, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if values, u, err := RitzPairs(ctx, fromDense(t, cliques(30, 4, 0)), 3, 0, 1); !errors.Is(err, context.Canceled) || values != nil || u != nil {
		t.Errorf("cancelled: %v, %v", values, err)
	}
	if _, _, err := RitzPairs(context.Background(), broken{Operator: fromDense(t, cliques(30, 4, 0))}, 3, 0, 1); !errors.Is(err, ErrNotFinite) {
		t.Errorf("a product with NaN: %v", err)
	}
}

// asks is a context that counts the calls of Err and is cancelled after from of them.
type asks struct {
	context.Context
	count, from int
}

func (a *asks) Err() error {
	if a.count++; a.count > a.from {
		return context.Canceled
	}
	return nil
}

// TestRitzPairsCancelled: RitzPairs checks ctx at least as often as it makes products, and stops at the first
// check that finds it cancelled.
func TestRitzPairsCancelled(t *testing.T) {
	const looks = ritzDegree + 2 // products
	a := fromDense(t, cliques(30, 4, 0))
	whole := &asks{Context: context.Background(), from: math.MaxInt}
	if _, _, err := RitzPairs(whole, a, 3, 0, 1); err != nil || whole.count < looks {
		t.Fatalf("ctx checked %d times, error %v, want at least %d times", whole.count, err, looks)
	}
	for from := range whole.count {
		ctx := &asks{Context: context.Background(), from: from}
		if values, _, err := RitzPairs(ctx, a, 3, 0, 1); !errors.Is(err, context.Canceled) || values != nil || ctx.count != from+1 {
			t.Errorf("cancelled at call %d of Err: %v, error %v, %d calls in all", from+1, values, err, ctx.count)
		}
	}
}
