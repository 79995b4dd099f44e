package matrix

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"symnmf/internal/kernel"
)

// TestUnitOf: the unit is that of all entries, also of a table whose first column has larger numbers than the
// others. Entries count as bytes only if all lie between 0 and 255 units.
func TestUnitOf(t *testing.T) {
	for _, size := range [][2]int{{8192, 16}, {4096, 1024}, {1440, 1024}, {3, 7}} {
		x := NewDense(size[0], size[1], nil)
		for k := range x.data {
			if x.data[k] = 128; k%size[1] > 0 {
				x.data[k] = float64(k%100) / 4
			}
		}
		if unit, bytes, ok := x.unitOf(); !ok || unit != 0.25 || bytes {
			t.Errorf("%d × %d: unit %v, %t, bytes %t, want 0.25, true, bytes false", size[0], size[1], unit, ok, bytes)
		}
	}
	if unit, bytes, ok := NewDense(3, 3, nil).unitOf(); !ok || unit != 1 || !bytes {
		t.Errorf("zeros: unit %v, %t, bytes %t, want 1, true, bytes true", unit, ok, bytes)
	}
	for v, want := range map[float64]bool{255: true, 256: false, 257: false, -255: false} {
		if _, bytes, ok := NewDense(1, 2, []float64{v, 3}).unitOf(); !ok || bytes != want {
			t.Errorf("3 and %v: bytes %t, %t", v, bytes, ok)
		}
	}
}

// TestIntegerGrams: for whole multiples of a unit, integers give the same XᵀX as GramRows in float64, bit for
// bit and for any number of workers: with an odd number of rows, with more rows than are taken at a time or
// lie in hand at once, with the most bits, and with either sign. Any other table is refused, and every table
// is where integers do not pay.
func TestIntegerGrams(t *testing.T) {
	for _, tc := range []struct {
		name       string
		rows, cols int
		unit       float64
		most       int     // largest magnitude, in units; negative if no entry has a sign
		spoil      float64 // an entry near the end, or at the beginning if negative; none if 0
		taken      bool
	}{
		{"pixels", 1001, 150, 1, 255, 0, true},
		{"fractions", 77, 33, 0x1p-8, 255, 0, true},
		{"units above 1", 12, 70, 0x1p300, 7, 0, false},
		{"next to nothing in a column that is not looked at", 8192, 16, 2, 1, 5e-324, false},
		{"small units", 12, 70, 0x1p-300, 7, 0, true},
		{"a single row", 1, 19, 1, 99, 0, true},
		{"few columns", 99, 15, 1, 99, 0, false},
		{"as many bits as may be", 5000, 17, 1, 4095, 0, true},
		{"a bit more", 5000, 17, 1, 4095, 4096, false},
		{"many rows", 2*intPacked/16 + 4097, 16, 1, 63, 0, true},
		{"many rows, not all whole", 2*intPacked/16 + 4097, 16, 1, 63, 0.5, false},
		{"not whole", 300, 40, 1, 255, 1e-9, false},
		{"not whole in the first row", 300, 40, 1, 255, -0.3, false},
		{"no bound", 300, 40, 1, 255, 0x1p80, false},
		{"units too small to square", 12, 70, 0x1p-500, 7, 0, false},
		{"units too large to square", 12, 70, 0x1p500, 7, 0, false},
		{"too many columns", 2, 2049, 1, 255, 0, false},
		{"bytes", 1002, 150, 1, -255, 0, true},
		{"bytes, fractions", 75, 33, 0x1p-8, -255, 0, true},
		{"bytes, a single row", 1, 19, 1, -99, 0, true},
		{"bytes, many rows", 4*intPacked/16 + 4097, 16, 1, -255, 0, true},
		{"bytes, not all whole", 4*intPacked/16 + 4097, 16, 1, -255, 0.5, false},
		{"bytes but for one", 9003, 40, 1, -255, 256, true},
		{"bytes but for a sign", 9003, 40, 1, -255, -3, true},
	} {
		rng := rand.New(rand.NewPCG(uint64(tc.rows), 4))
		x := NewDense(tc.rows, tc.cols, nil)
		for k := range x.data {
			if x.data[k] = tc.unit * float64(rng.IntN(2*max(tc.most, -tc.most)+1)-max(tc.most, -tc.most)); tc.most < 0 {
				x.data[k] = math.Abs(x.data[k])
			}
		}
		x.data[0] = tc.unit  // the unit itself occurs
		if tc.most == 4095 { // sums as large as they can be, of either sign
			for i := range tc.rows {
				x.data[i*tc.cols+3], x.data[i*tc.cols+4] = 4095, -4095
			}
		}
		switch {
		case tc.spoil < 0:
			x.data[1] = tc.spoil
		case tc.spoil > 0:
			x.data[len(x.data)-2] = tc.spoil
		}
		n := tc.cols
		take := func(workers int) (got []float64, taken bool) {
			got = make([]float64, n*n)
			whole, plain := x.integerGrams(workers)
			if whole == nil {
				return got, false
			}
			if plain != (tc.most < 0 && !(tc.spoil != 0) && kernel.BytesPay()) {
				t.Errorf("%s, %d workers: plain %t", tc.name, workers, plain)
			}
			eachGram(whole, n, workers, func(part int, g []float64, lo, hi int) {
				if lo != part*gramPart || hi != min(lo+gramPart, n) || len(g) != (hi-lo)*n {
					t.Errorf("%s: part %d has rows %d to %d", tc.name, part, lo, hi)
				}
				for j := lo; j < hi; j++ {
					copy(got[j*n+j:(j+1)*n], g[(j-lo)*n+j:(j-lo+1)*n])
				}
			})
			return got, true
		}
		want := make([]float64, n*n)
		kernel.GramRows(want, x.data, n, 0, n)
		for j := range n {
			clear(want[j*n : j*n+j])
		}
		for _, workers := range []int{1, 3} {
			got, taken := take(workers)
			if taken != (tc.taken && kernel.IntsPay()) {
				t.Errorf("%s, %d workers: taken %t", tc.name, workers, taken)
			} else if taken && !slices.Equal(got, want) {
				t.Errorf("%s, %d workers: XᵀX differs from that in float64", tc.name, workers)
			}
		}
		// Either way, the operator has the same norm.
		if tc.rows > 5000 || n > 2000 {
			continue
		}
		for _, items := range []Items{Rows, Columns} {
			a, err := Gram(x, items, 2)
			if err != nil {
				continue // out of range, which other tests check
			}
			restore := kernel.Portable()
			b, err := Gram(x, items, 2)
			restore()
			if err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
			if !(math.Abs(a.Norm()-b.Norm()) <= 1e-13*b.Norm()) {
				t.Errorf("%s: ‖A‖ = %v, with portable code %v", tc.name, a.Norm(), b.Norm())
			}
		}
	}
}

// TestGramOfBytes: points whose inner products are computed in integers without a survey give the operator, and the
// errors, that they give with one.
func TestGramOfBytes(t *testing.T) {
	for _, spoil := range []float64{0, 255, 256, 0.5, -7, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64} {
		for _, unit := range []float64{0, 1, 0x1p-8, 0x1p510} {
			for _, place := range []int{0, 77, 50*40 - 1} {
				x := NewDense(50, 40, nil)
				for k := range x.data {
					x.data[k] = unit * float64(k*k%200)
				}
				x.data[place] = spoil
				for _, items := range []Items{Columns, Rows} {
					table := x
					if items == Rows {
						table = x.transpose(1)
					}
					got, gotErr := Gram(table, items, 2)
					restore := kernel.Portable()
					want, wantErr := Gram(table, items, 2)
					restore()
					name := fmt.Sprintf("%v in place %d of numbers up to %g, items %v", spoil, place, 200*unit, items)
					if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
						t.Errorf("%s: error %v, with portable code %v", name, gotErr, wantErr)
					}
					if gotErr != nil || wantErr != nil {
						continue
					}
					a, b := got.(*SymDense), want.(*SymDense)
					if a.negatives != b.negatives {
						t.Errorf("%s: negative entries %+v, with portable code %+v", name, a.negatives, b.negatives)
					}
					for k, v := range b.a {
						if !(math.Abs(a.a[k]-v) <= 1e-13*math.Abs(b.norm)) {
							t.Fatalf("%s: entry %d of A is %v, with portable code %v", name, k, a.a[k], v)
						}
					}
				}
			}
		}
	}
}
