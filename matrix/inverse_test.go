package matrix

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestInvert multiplies a matrix by what invert makes of it, which is minus the inverse: for a condition
// number of some hundred and sizes below, at and above those of a step. All rows are reported as done, and
// three workers give the same bits as one.
func TestInvert(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, sweepRows - 1, sweepRows, sweepRows + 1, 2*sweepRows + 7} {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		a := make([]float64, n*n)
		for i := range n {
			for j := range i {
				a[i*n+j] = (rng.Float64() - 0.5) / math.Sqrt(float64(n))
				a[j*n+i] = a[i*n+j]
			}
			a[i*n+i] = math.Exp(4 * rng.Float64())
		}
		got := slices.Clone(a)
		var done []int
		if ok, err := invert(context.Background(), got, n, 1, func(rows int) { done = append(done, rows) }); !ok || err != nil {
			t.Fatalf("n = %d: %v, %v", n, ok, err)
		}
		for i := range n {
			for j := range n {
				want, sum, size := 0.0, 0.0, 1.0
				if i == j {
					want = -1
				}
				for k := range n {
					sum += a[i*n+k] * got[k*n+j]
					size += math.Abs(a[i*n+k] * got[k*n+j])
				}
				if !(math.Abs(sum-want) <= 1e-14*float64(n+4)*size) {
					t.Fatalf("n = %d: entry (%d, %d) of the product is %v, want %v", n, i, j, sum, want)
				}
			}
		}
		if n > 0 && (done[len(done)-1] != n || len(done) != (n+sweepRows-1)/sweepRows || !slices.IsSorted(done)) {
			t.Errorf("n = %d: rows reported as done: %v", n, done)
		}
		again := slices.Clone(a)
		if ok, err := invert(context.Background(), again, n, 3, func(int) {}); !ok || err != nil || !slices.Equal(again, got) {
			t.Errorf("n = %d: three workers give other bits than one: %v, %v", n, ok, err)
		}
	}
}

// TestInvertRefuses: invert refuses a matrix that is not positive definite, whether that shows in its first
// or its last rows, and stops when ctx ends.
func TestInvertRefuses(t *testing.T) {
	const n = 2*sweepRows + 1
	for _, at := range []int{0, sweepRows + 3, n - 1} {
		for _, v := range []float64{0, -1, math.NaN()} {
			a := make([]float64, n*n)
			for i := range n {
				a[i*n+i] = 1
			}
			a[at*n+at] = v
			if ok, err := invert(context.Background(), a, n, 2, func(int) {}); ok || err != nil {
				t.Errorf("%v at place %d of the diagonal: accepted %v, error %v", v, at, ok, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	a, steps := make([]float64, n*n), 0
	for i := range n {
		a[i*n+i] = 1
	}
	ok, err := invert(ctx, a, n, 1, func(int) {
		if steps++; steps == 2 {
			cancel()
		}
	})
	if ok || !errors.Is(err, context.Canceled) || steps != 2 {
		t.Errorf("cancelled after two steps: %v, %v after %d", ok, err, steps)
	}
}
