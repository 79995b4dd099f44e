package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestHashSum compares HashSum with its definition, bit for bit, for every length below 70, with and without
// values, for rows and for columns.
func TestHashSum(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for n := range 70 {
			rng := rand.New(rand.NewPCG(uint64(n), 13))
			col, val := make([]int32, n), make([]float64, n)
			for p := range col {
				col[p], val[p] = rng.Int32(), rng.NormFloat64()
				if p%3 == 0 {
					val[p] = float64(rng.IntN(4))
				}
			}
			for _, own := range []uint64{0, 77, math.MaxInt32} {
				for _, by := range []struct {
					first uint64
					shift int
				}{{own << 32, 0}, {own, 32}} {
					var with, without uint64
					for p, c := range col {
						place := by.first | uint64(c)<<by.shift
						v := math.Float64bits(val[p])
						with += Mix(place ^ (v^v>>32)*0x9e3779b97f4a7c15)
						without += Mix(place)
					}
					if got := HashSum(by.first, by.shift, col, val); got != with {
						t.Fatalf("%d entries, row or column %d, shift %d: %#x, want %#x", n, own, by.shift, got, with)
					}
					if got := HashSum(by.first, by.shift, col, nil); got != without {
						t.Fatalf("%d entries, row or column %d, shift %d, no values: %#x, want %#x", n, own, by.shift, got, without)
					}
				}
			}
		}
		if panics(func() { HashSum(0, 0, make([]int32, 3), make([]float64, 2)) }) != badLen {
			t.Error("too few values are accepted")
		}
	})
}
