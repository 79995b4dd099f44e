package matrix

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// TestNystrom: Ã agrees with A on the columns of Q unless fewer are kept, has the rank that QᵀAQ and keep
// leave it, and is no farther from A than the bound. If A has no negative eigenvalues, the bound is not far
// above the distance. If QᵀAQ has negative eigenvalues, there is no Ã.
func TestNystrom(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 44))
	const n, k = 60, 12
	falls := func(l int) float64 { return math.Pow(0.7, float64(l)) }
	for _, tc := range []struct {
		name     string
		lambda   func(l int) float64
		rank     int // of Ã
		positive bool
	}{
		{"positive", falls, k, true},
		{"of rank 5", func(l int) float64 { return max(0, float64(5-l)) }, 5, true},
		{"negative behind the others", func(l int) float64 {
			if l >= 40 {
				return -0.005
			}
			return falls(l)
		}, k, false},
		{"negative and small", func(l int) float64 { return falls(l) * (1 - 2*float64(l%2)) }, 0, false},
		{"mostly negative", func(l int) float64 { return 1 - 0.4*float64(l) }, 0, false},
	} {
		lambda := make([]float64, n)
		for l := range lambda {
			lambda[l] = tc.lambda(l)
		}
		m := orthogonal(rng, n, n).spectral(lambda)
		a := fromDense(t, m)
		omega := draw(rng, n, k, 1).dense()
		q := orthonormalize(multiply(a, orthonormalize(multiply(a, omega, 1), 1), 1), 1)
		if tc.name == "of rank 5" { // with columns that A maps to 0
			q = orthonormalize(beside(multiply(a, omega, 1), omega), 1)
		}
		for _, keep := range []int{0, 3, k} {
			l, bound, err := nystrom(context.Background(), q, multiply(a, q, 1), a.Norm(), keep, 2)
			if err != nil {
				t.Fatal(err)
			}
			if tc.rank == 0 {
				if l != nil {
					t.Errorf("%s: there is an Ã, want none", tc.name)
				}
				continue
			}
			want := tc.rank
			if keep > 0 {
				want = min(want, keep)
			}
			if l == nil || columns(l) != want {
				t.Fatalf("%s, keep %d: %v, want %d columns", tc.name, keep, l, want)
			}
			low := entries(l)
			found := low.distance(m)
			if !(found <= bound+1e-7*a.Norm()) || tc.positive && !(bound <= 2.5*found+1e-7*a.Norm()) {
				t.Errorf("%s, keep %d: distance from A %v, bound %v", tc.name, keep, found, bound)
			}
			if keep == 3 {
				continue
			}
			basis := rowsOf(q)
			if d := low.times(basis).distance(m.times(basis)); !(d <= 1e-12*a.Norm()) {
				t.Errorf("%s, keep %d: Ã·Q differs from A·Q by %v", tc.name, keep, d)
			}
		}
	}
}

// TestNystromBound: where the rest of A is the opposite of what Ã has in its place, the bound is the
// distance.
func TestNystromBound(t *testing.T) {
	const b = 0.25
	a, q := fromDense(t, naive{{1, b}, {b, -b * b}}), naive{{1}, {0}}.dense()
	l, bound, err := nystrom(context.Background(), q, multiply(a, q, 1), a.Norm(), 0, 1)
	if err != nil || l == nil {
		t.Fatal(l, err)
	}
	if found := entries(l).distance(entries(a)); !(math.Abs(found-2*b*b) <= 1e-15) || !(math.Abs(bound-found) <= 1e-7) {
		t.Errorf("distance from A %v, bound %v, want %v for both", found, bound, 2*b*b)
	}
}

// TestCompressSoon: where Nyström's formula is near enough, Compress makes no further product.
func TestCompressSoon(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 45))
	lambda := make([]float64, 80)
	for l := range lambda {
		lambda[l] = math.Pow(0.5, float64(l))
	}
	a := fromDense(t, orthogonal(rng, 80, 80).spectral(lambda))
	for _, tc := range []struct {
		near float64
		want int
	}{{0.02, 2}, {1e-7, 3}, {0, 3}} {
		counted := &counter{Operator: a}
		if compress(t, counted, Compression{Columns: 10, Power: 1, Near: tc.near}); counted.products != tc.want {
			t.Errorf("Near = %v: %d products, want %d", tc.near, counted.products, tc.want)
		}
	}
}
