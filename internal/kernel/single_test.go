package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// singleOf returns x, with r numbers a row, in the form that SingleTimes takes. The numbers between its rows
// must not matter.
func singleOf(x []float64, r int) []float32 {
	pitch := SinglePitch(r)
	y := make([]float32, len(x)/r*pitch)
	for i := range y {
		y[i] = 1e30
	}
	ToSingles(y, x, r)
	for i, v := range y {
		if k := i % pitch; k < r && v != float32(x[i/pitch*r+k]) || k >= r && v != 1e30 {
			panic("ToSingles is wrong")
		}
	}
	return y
}

// testSingle compares SingleTimes with sums in float64, for one shape, within the documented error.
func testSingle(t *testing.T, rows, n, r, stride int) {
	t.Helper()
	g := rand.New(rand.NewPCG(uint64(rows), uint64(n+1000*r)))
	const alpha = 3e40
	a, x, c := make([]float32, rows*stride), make([]float64, n*r), make([]float64, rows*r)
	for i := range a {
		a[i] = g.Float32() - 0.2
	}
	for i := range x {
		x[i] = float64(g.Float32() - 0.2)
	}
	for i := range c {
		c[i] = alpha * g.NormFloat64()
	}
	want, bound := slices.Clone(c), make([]float64, len(c))
	for i := range c {
		for l := range n {
			term := alpha * float64(a[i/r*stride+l]) * x[l*r+i%r]
			want[i] += term
			bound[i] += math.Abs(term)
		}
	}
	SingleTimes(c, alpha, a, stride, singleOf(x, r), r, 0)
	for i, v := range c {
		if tol := (chunkLen+1)*0x1p-24*bound[i] + 1e-14*(math.Abs(want[i])+alpha); !(math.Abs(v-want[i]) <= tol) {
			t.Fatalf("rows %d, n %d, r %d, stride %d: number %d is %v, want %v ± %.2g", rows, n, r, stride, i, v, want[i], tol)
		}
	}
}

// TestSingleTimes compares SingleTimes with sums in float64 for many shapes.
func TestSingleTimes(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for _, rows := range []int{0, 1, 3, 4, 5, 8, 21} {
			for _, n := range []int{1, 3, 8, 15, 128, 129, 300} {
				for _, r := range []int{1, 4, 8, 12, 16, 20, 24, 30, 36, 48, 52, 60, 100} {
					testSingle(t, rows, n, r, n)
					testSingle(t, rows, n, r, n+3)
				}
			}
		}
		testSingle(t, 16, 700, 60, 1000)
	})
}

// TestSingleTimesRows: the bits of a row do not depend on the rows beside it. If r is a multiple of 4, AVX2
// and AVX-512 give the same bits.
func TestSingleTimesRows(t *testing.T) {
	const rows, n = 13, 300
	for _, r := range []int{4, 20, 60} {
		g := rand.New(rand.NewPCG(1, uint64(r)))
		a, x := make([]float32, rows*n), make([]float64, n*r)
		for i := range a {
			a[i] = g.Float32()
		}
		for i := range x {
			x[i] = g.Float64()
		}
		narrow := singleOf(x, r)
		var last []float64
		eachPath(t, func(t *testing.T) {
			all := make([]float64, rows*r)
			SingleTimes(all, 3, a, n, narrow, r, nothing)
			for lo := range rows {
				for hi := lo + 1; hi <= rows; hi++ {
					c := make([]float64, (hi-lo)*r)
					SingleTimes(c, 3, a[lo*n:hi*n], n, narrow, r, nothing)
					if !slices.Equal(c, all[lo*r:hi*r]) {
						t.Fatalf("r = %d: rows %d to %d have other bits alone than with all", r, lo, hi)
					}
				}
			}
			if Lanes() == 1 {
				return
			}
			if last != nil && !slices.Equal(last, all) {
				t.Errorf("r = %d: other bits than with narrower vectors", r)
			}
			last = all
		})
	}
}

// TestSingleTimesRefuses: slices and strides that do not fit together panic.
func TestSingleTimesRefuses(t *testing.T) {
	for name, f := range map[string]func(){
		"short A": func() { SingleTimes(make([]float64, 8), 1, make([]float32, 5), 3, make([]float32, 48), 4, 0) },
		"short x": func() { SingleTimes(make([]float64, 8), 1, make([]float32, 6), 3, make([]float32, 40), 4, 0) },
		"c":       func() { SingleTimes(make([]float64, 7), 1, make([]float32, 6), 3, make([]float32, 48), 4, 0) },
		"rows":    func() { ToSingles(make([]float32, 32), make([]float64, 12), 4) },
		"more":    func() { ToSingles(make([]float32, 64), make([]float64, 12), 4) },
		"stride":  func() { SingleTimes(make([]float64, 8), 1, make([]float32, 6), 2, make([]float32, 48), 4, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}
