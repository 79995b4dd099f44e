package matrix

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// completed returns m with the diagonal that Completed has for a, whose matrix is m: that of m itself for inner
// products, otherwise the definition.
func (m naive) completed(a Operator) naive {
	out, w := zeros(len(m), len(m)), make([]float64, len(m))
	for i := range m {
		for l, v := range m[i] {
			out[i][l] = v
			if l != i {
				w[i] += v
			}
		}
	}
	if _, listed := a.(RowVisitor); !listed {
		return out
	}
	for i := range m {
		most, alike := 0.0, 0.0
		for l, v := range m[i] {
			if l != i && v > 0 {
				most, alike = max(most, v), max(alike, v*w[i]/w[l])
			}
		}
		out[i][i] = min(most, alike)
	}
	return out
}

// TestCompleted: a likely diagonal that is listed with the other entries has no influence, points near one another have
// about the right one whatever their lengths, and the largest and smallest numbers leave no digits behind. An operator
// that neither lists its entries nor is inner products has none.
func TestCompleted(t *testing.T) {
	rng := rand.New(rand.NewPCG(57, 1))
	const n = 60
	x := zeros(n, 3)
	for i := range x { // about in three directions, and up to ten times as long as others
		length := 0.3 + 2.7*rng.Float64()
		for k := range x[i] {
			x[i][k] = 0.1 * length * rng.Float64()
		}
		x[i][i%3] += length
	}
	own := x.times(x.transpose())
	diagonal := func(m naive, scale float64, change func(i int, v float64) float64) []float64 {
		d := m.dense()
		for i := range n {
			for l := range n {
				d.Set(i, l, scale*d.At(i, l))
			}
			d.Set(i, i, change(i, d.At(i, i)))
		}
		a, err := FromDense(d, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float64, n)
		Completed(a.OffDiagonal(), 2).DiagTo(got)
		return got
	}
	same := func(_ int, v float64) float64 { return v }
	likely := diagonal(own, 1, same)
	for i, v := range likely {
		if !(math.Abs(v/own[i][i]-1) <= 0.25) {
			t.Errorf("the likely A[%d,%d] is %v, it was %v", i, i, v, own[i][i])
		}
	}
	for _, c := range []struct {
		name   string
		change func(i int, v float64) float64
	}{
		{"zeros", func(int, float64) float64 { return 0 }},
		{"huge numbers", func(i int, v float64) float64 { return 1e9 * float64(i) }},
	} {
		if got := diagonal(own, 1, c.change); !slices.Equal(got, likely) {
			t.Errorf("with %s on the diagonal, the likely one changes from %v to %v", c.name, likely, got)
		}
	}
	for _, scale := range []float64{0x1p-490, 0x1p490} {
		for i, v := range diagonal(own, scale, same) {
			if v != scale*likely[i] {
				t.Errorf("the likely A[%d,%d] is %v, want %v times %v", i, i, v, scale, likely[i])
			}
		}
	}
	a, err := FromDense(own.dense(), 0)
	if err != nil {
		t.Fatal(err)
	}
	big := CompletedBy(a.Scaled(0x1p490).OffDiagonal(), diagonal(own, 0x1p490, same))
	off := 0.0
	for i := range own {
		for l, v := range own[i] {
			if l == i {
				v = likely[i]
			}
			off += v * v
		}
	}
	if got := big.Norm() * 0x1p-490; !near(got, math.Sqrt(off), 0) {
		t.Errorf("norm %v, want %v", got, math.Sqrt(off))
	}
	got := make([]float64, 3)
	path, err := NewCSR(3, 3, []int64{0, 2, 4, 6}, []int32{1, 2, 0, 2, 0, 1}, []float64{1, 0, 1, 1e-320, 0, 1e-320})
	if err != nil {
		t.Fatal(err)
	}
	tiny, err := FromCSR(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if Completed(tiny.OffDiagonal(), 1).DiagTo(got); !near(got[0], 1, 0) || !near(got[1], 1, 0) || !(got[2] >= 0 && got[2] <= 1e-320) {
		t.Errorf("the diagonal of a path with one tiny entry is %v", got)
	}
	points, _ := gramOf(t, x)
	twice := normalize(t, normalize(t, points, 0.5), 0.5)
	whole, kept := make([]float64, n), make([]float64, n)
	twice.DiagTo(kept)
	if Completed(twice.OffDiagonal(), 1).DiagTo(whole); !slices.Equal(whole, kept) {
		t.Errorf("a view of a view has the diagonal %v, want %v", whole, kept)
	}
	if got := Completed(struct{ Operator }{a.OffDiagonal()}, 1); got != nil {
		t.Errorf("an operator that does not list its entries has the diagonal %v", got)
	}
}
