package matrix

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"symnmf/internal/rules"
)

// TestFormedSparse: A of sparse points is formed if X has at least 2¹⁴ stored entries and A has no more
// numbers than that, from lists or as for dense points. It then agrees with the definition and has the same
// bits for any number of workers, and for points that are rows or columns.
func TestFormedSparse(t *testing.T) {
	const n = 131 // three blocks of rows, the last short, and two of features, of which one has more
	for _, tc := range []struct {
		what     string
		features int
		each     int // a point has, on average, one in so many features
		value    func(draw *rand.Rand) float64
		formed   bool
	}{
		{"counts, by lists", 2000, 8, func(draw *rand.Rand) float64 { return float64(1 + draw.IntN(4)) }, true},
		{"ones, by lists", 2000, 8, func(*rand.Rand) float64 { return 1 }, true},
		{"numbers, by lists", 2000, 8, (*rand.Rand).Float64, true},
		{"counts, as dense", 401, 3, func(draw *rand.Rand) float64 { return float64(1 + draw.IntN(4)) }, true},
		{"numbers, as dense", 401, 3, (*rand.Rand).Float64, true},
		{"fewer entries than A", 2000, 20, (*rand.Rand).Float64, false},
	} {
		draw := rand.New(rand.NewPCG(1, 2))
		x := NewDense(n, tc.features, nil)
		for k := range x.data {
			if draw.IntN(tc.each) == 0 {
				x.data[k] = tc.value(draw)
			}
		}
		if dense := density(x.CSR().NNZ(), n, tc.features) >= rules.DenseFrom; dense != (tc.each < 4) {
			t.Fatalf("%s: the points have another density than intended", tc.what)
		}
		var norm float64
		want := NewDense(n, n, nil)
		for i := range n {
			for l := range n {
				sum, other := 0.0, x.Row(l)
				for k, v := range x.Row(i) {
					sum += v * other[k]
				}
				want.data[i*n+l] = sum
				norm = math.Hypot(norm, sum)
			}
		}
		var first []float64
		for _, workers := range []int{1, 3} {
			for items, table := range map[Items]*CSR{Rows: x.CSR(), Columns: x.Transpose().CSR()} {
				a, err := Gram(table, items, workers)
				if err != nil {
					t.Fatalf("%s: %v", tc.what, err)
				}
				formed, ok := a.(*SymDense)
				if ok != tc.formed {
					t.Fatalf("%s: A is a %T", tc.what, a)
				}
				if !(math.Abs(a.Norm()-norm) <= 1e-13*norm) {
					t.Errorf("%s: norm %v, want %v", tc.what, a.Norm(), norm)
				}
				if !ok {
					continue
				}
				if first == nil {
					first = formed.a
				}
				for k, v := range formed.a {
					i, l := k/n, k%n
					if !(math.Abs(v-want.data[k]) <= 1e-13*(1+want.data[k])) {
						t.Fatalf("%s: A[%d,%d] = %v, want %v", tc.what, i, l, v, want.data[k])
					}
					if v != first[k] || v != formed.a[l*n+i] {
						t.Fatalf("%s: A[%d,%d] is %v, A[%d,%d] %v, and by one worker %v", tc.what, i, l, v, l, i, formed.a[l*n+i], first[k])
					}
				}
			}
		}
	}
	if rules.FormsSparse(100, 1<<14-1) || !rules.FormsSparse(128, 1<<14) || rules.FormsSparse(129, 1<<14) || rules.FormsSparse(math.MaxInt32, math.MaxInt64/4) {
		t.Error("FormsSparse is wrong at a limit")
	}
}

// TestFormedSparseRange: such an A is refused, like any other, if its numbers leave the range, and negative
// coordinates are counted.
func TestFormedSparseRange(t *testing.T) {
	x := NewDense(100, 1000, nil)
	for k := range x.data {
		if k%5 == 0 {
			x.data[k] = 1e160
		}
	}
	if _, err := Gram(x.CSR(), Rows, 2); !errors.Is(err, ErrRange) {
		t.Errorf("error %v, want %v", err, ErrRange)
	}
	x.data[0] = -1e-3
	for k := 5; k < len(x.data); k += 5 {
		x.data[k] = 1
	}
	a, err := Gram(x.CSR(), Rows, 2)
	if err != nil {
		t.Fatal(err)
	}
	if c := a.Negatives(); c.Count != 1 || c.Least != -1e-3 {
		t.Errorf("negative coordinates: %+v", c)
	}
}
