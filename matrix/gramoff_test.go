package matrix

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// offPoints returns sets of points, by name, whose sums over features keep next to nothing when the diagonal
// is subtracted. Some of the sets have features that few points share.
func offPoints(rng *rand.Rand) map[string]naive {
	long := draw(rng, 40, 5, 0.6)
	for i := range 3 {
		for k := range long[i] {
			long[i][k] *= 1e6
		}
	}
	falling := draw(rng, 40, 5, 0.6)
	for i := range falling {
		for k := range falling[i] {
			falling[i][k] *= math.Pow(1e3, float64(-i))
		}
	}
	several := draw(rng, 40, 12, 0.5)
	for i := range several {
		clear(several[i][4:])
		if i%5 == 2 { // long, with hardly anything in common with the others
			clear(several[i])
			several[i][4+i/5], several[i][0] = math.Pow(10, float64(5+i/10)), 1e-3
		}
	}
	apart, alone := zeros(4, 3), draw(rng, 20, 6, 0.5)
	for i := range 3 {
		apart[i][i] = float64(i + 1)
	}
	for i := range alone {
		alone[i][4], alone[i][5] = 0, 0
	}
	clear(alone[7])
	alone[7][4], alone[7][5] = 0.3, 1.7
	nearly := zeros(20, 6)
	for i := range alone {
		copy(nearly[i], alone[i])
	}
	nearly[7][0], nearly[8][0] = 1e-9, 0.5
	return map[string]naive{"long": long, "ever shorter": falling, "several long": several, "nothing in common": apart, "one alone": alone, "one nearly alone": nearly}
}

// TestGramOffDiagonal: the norm of inner products without their diagonal agrees with its definition to ten
// digits, and is exactly 0 where there is nothing else. Degrees are not negative, and exactly 0 for a point
// that has nothing in common with others. The norm of the normalized view is as exact as the degrees.
func TestGramOffDiagonal(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 1))
	for name, x := range offPoints(rng) {
		off := x.times(x.transpose())
		for i := range off {
			off[i][i] = 0
		}
		for form, table := range map[string]Table{"dense": x.dense(), "sparse": x.csr(t)} {
			for _, workers := range []int{1, 3} {
				for _, scale := range []float64{1, 0.37, 0x1p-300, 0x1p300} {
					a, err := Gram(table, Rows, workers)
					if err != nil {
						t.Fatal(err)
					}
					what := fmt.Sprintf("%s, %s, %d workers, times %v", name, form, workers, scale)
					a = a.Scaled(scale).OffDiagonal()
					if got, want := a.Norm(), scale*off.norm(); !(math.Abs(got-want) <= 1e-10*want) {
						t.Errorf("%s: norm %v, want %v", what, got, want)
					}
					degrees := Degrees(a, workers)
					for i, row := range off {
						want := 0.0
						for _, v := range row {
							want += scale * v
						}
						// The sum over the other points is a difference, so its error is relative to the point's own part.
						if got := degrees[i]; got < 0 || want == 0 && got != 0 || !(math.Abs(got-want) <= 1e-14*(want+scale*kernelSq(x[i]))) {
							t.Errorf("%s: degree %d is %v, want %v", what, i, got, want)
						}
					}
					if scale != 1 || name == "nothing in common" {
						continue
					}
					view := normalize(t, a, 0)
					want := off.normalized(0)
					if got := view.Norm(); !(math.Abs(got-want.norm()) <= 1e-6*want.norm()) { // no more exact than the degrees
						t.Errorf("%s: norm of the normalized view %v, want %v", what, got, want.norm())
					}
				}
			}
		}
	}
}

// kernelSq returns ‖x‖².
func kernelSq(x []float64) (s float64) {
	for _, v := range x {
		s += v * v
	}
	return s
}

// TestTaken: Taken returns the A_ii that products of inner products without the diagonal subtract, those of a
// view scaled like the view, and none where the diagonal never enters the sums. ‖A‖² without the diagonal is
// a difference of numbers at most 2²⁰ times as large.
func TestTaken(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 2))
	x := draw(rng, 12, 4, 0.8)
	x[0][0] = 1e7
	a := x.times(x.transpose())
	dense, err := Gram(x.dense(), Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	sparse, err := Gram(x.csr(t), Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	alike := draw(rng, 12, 4, 1)
	signed, err := NewLowRank(alike.dense(), []float64{1, 2, -1, -3}, 1)
	if err != nil {
		t.Fatal(err)
	}
	unsigned, err := NewLowRank(alike.dense(), []float64{1, 2, 1, 3}, 1)
	if err != nil {
		t.Fatal(err)
	}
	from := unsigned.Norm()
	view, err := Normalized(signed, 1e16, 1)
	if err != nil {
		t.Fatal(err)
	}
	self, degrees := make([]float64, 12), Degrees(signed, 1)
	signed.DiagTo(self)
	apart := alike.dense()
	for i, d := range degrees {
		for k := range 4 {
			apart.Set(i, k, apart.At(i, k)/math.Sqrt(d+1e16))
		}
	}
	unsignedView, err := NewLowRank(apart, []float64{1, 2, 1, 3}, 1)
	if err != nil {
		t.Fatal(err)
	}
	norm, off := a.norm(), dense.OffDiagonal().Norm()
	for _, tc := range []struct {
		name  string
		a     Operator
		diag  func(i int) float64 // nil if none is subtracted
		least float64             // of from
		most  float64
	}{
		{"points", dense, nil, norm, norm},
		{"entries", fromDense(t, a).OffDiagonal(), nil, 0, norm / 1e3},
		{"points without the diagonal", dense.OffDiagonal(), func(i int) float64 { return a[i][i] }, 1e3 * off, norm / 1e3},
		{"sparse points", sparse.OffDiagonal().Scaled(4), func(i int) float64 { return 4 * a[i][i] }, 0, 4 * norm / 1e3},
		{"signs", signed, nil, from * (1 - 1e-12), from * (1 + 1e-12)},
		{"with signs", signed.OffDiagonal(), func(i int) float64 { return self[i] }, from * (1 - 1e-12), from * (1 + 1e-12)},
		{"a view of such", view.Scaled(4), nil, 4 * unsignedView.Norm() * (1 - 1e-12), 4 * unsignedView.Norm() * (1 + 1e-12)},
		{"a view of a view of such", normalize(t, view, 16), nil,
			unsignedView.Norm() / 16 * (1 - 1e-12), unsignedView.Norm() / 16 * (1 + 1e-12)},
		{"a view", normalize(t, dense, 0), nil, 0, 12},
		{"a view without the diagonal", normalize(t, dense.OffDiagonal(), 0), func(i int) float64 {
			d := -a[i][i]
			for _, v := range a[i] {
				d += v
			}
			return a[i][i] / d
		}, 0, 0x1p12},
	} {
		diag, from := Taken(tc.a)
		if (diag == nil) != (tc.diag == nil) || !(from >= tc.a.Norm() && from >= tc.least && from <= tc.most) {
			t.Errorf("%s: diagonal %v, from %v for a norm of %v, want from between %v and %v", tc.name, diag, from, tc.a.Norm(), tc.least, tc.most)
		}
		for i, v := range diag {
			if want := tc.diag(i); !(math.Abs(v-want) <= 1e-6*want) && tc.name != "with signs" || tc.name == "with signs" && v != want {
				t.Errorf("%s: %v is subtracted from row %d, want %v", tc.name, v, i, want)
			}
		}
	}
}
