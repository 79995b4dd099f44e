package kernel

import (
	"math"
	"slices"
	"testing"
)

// TestSquares compares Mirror and Symmetrize with their definitions, for every size below 70. They work in
// place and change nothing beyond.
func TestSquares(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for r := range 70 {
			x := random(uint64(r), r*r)
			mirrored, sum := slices.Clone(x), slices.Clone(x)
			for j := range r {
				for k := range r {
					mirrored[j*r+k] = x[min(j, k)*r+max(j, k)]
					sum[j*r+k] = x[j*r+k] + x[k*r+j]
				}
			}
			for name, c := range map[string]struct {
				f    func(s []float64, r int)
				want []float64
			}{"Mirror": {Mirror, mirrored}, "Symmetrize": {Symmetrize, sum}} {
				got, check := guarded(t, x, r%8)
				c.f(got, r)
				check()
				if !slices.Equal(got, c.want) {
					t.Errorf("%s, r = %d: %v, want %v", name, r, got, c.want)
				}
				if panics(func() { c.f(make([]float64, r*r+1), r) }) == nil {
					t.Errorf("%s, r = %d: one number more is accepted", name, r)
				}
			}
		}
	})
}

// TestToFloat32 compares with the conversion of each number, and checks that nothing beside them is written.
func TestToFloat32(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for n := range 70 {
			x := random(uint64(n), n)
			y := make([]float32, n+2)
			y[0], y[n+1] = 7, 8
			ToFloat32(y[1:n+1], x)
			for i, v := range x {
				if y[i+1] != float32(v) {
					t.Errorf("%d numbers: %v becomes %v", n, v, y[i+1])
				}
			}
			if y[0] != 7 || y[n+1] != 8 {
				t.Errorf("%d numbers: something beside them changed: %v", n, y)
			}
		}
		if panics(func() { ToFloat32(make([]float32, 2), make([]float64, 3)) }) == nil {
			t.Error("slices of different lengths are accepted")
		}
	})
}

// TestToFloat64 compares with the conversion of each number, and checks that nothing beside them is written.
func TestToFloat64(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for n := range 70 {
			x := make([]float32, n)
			ToFloat32(x, random(uint64(n), n))
			y := make([]float64, n+2)
			y[0], y[n+1] = 7, 8
			ToFloat64(y[1:n+1], x)
			for i, v := range x {
				if y[i+1] != float64(v) {
					t.Errorf("%d numbers: %v becomes %v", n, v, y[i+1])
				}
			}
			if y[0] != 7 || y[n+1] != 8 {
				t.Errorf("%d numbers: something beside them changed: %v", n, y)
			}
		}
		if panics(func() { ToFloat64(make([]float64, 2), make([]float32, 3)) }) == nil {
			t.Error("slices of different lengths are accepted")
		}
	})
}

// TestInners compares the five inner products with plain sums.
func TestInners(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for n := range 130 {
			x, y, z := random(uint64(n), n), random(uint64(n)+1000, n), random(uint64(n)+2000, n)
			gx, checkX := guarded(t, x, n%8)
			var got, want, size [5]float64
			got[0], got[1], got[2], got[3], got[4] = Inners(gx, y, z)
			checkX()
			for i := range n {
				for k, v := range [5]float64{x[i] * z[i], y[i] * z[i], y[i] * y[i], x[i] * y[i], x[i] * x[i]} {
					want[k] += v
					size[k] += math.Abs(v)
				}
			}
			for k := range want {
				if !(math.Abs(got[k]-want[k]) <= float64(n)*eps*size[k]) {
					t.Errorf("%d numbers, sum %d: %v, want %v", n, k, got[k], want[k])
				}
			}
		}
		for _, call := range []func(){func() { Inners(make([]float64, 2), make([]float64, 2), make([]float64, 3)) },
			func() { Inners(make([]float64, 3), make([]float64, 2), make([]float64, 3)) }} {
			if panics(call) == nil {
				t.Error("slices of different lengths are accepted")
			}
		}
	})
}
