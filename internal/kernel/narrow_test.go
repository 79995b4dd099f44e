package kernel

import (
	"fmt"
	"math"
	"testing"
)

// TestNarrowInPlace: for any length, Narrow rounds every number once, in the memory of x, and Widen brings
// the rounded numbers back.
func TestNarrowInPlace(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for _, members := range []int{1, 3} {
			team := NewTeam(members)
			for _, n := range []int{0, 1, 2, 3, 7, 64, 1023, 1024, 1025, 2047, 2048, 2049, 3000, 5000, 70_001} {
				t.Run(fmt.Sprintf("%d of %d", members, n), func(t *testing.T) {
					x := random(uint64(n), n)
					want := make([]float64, n)
					for i, v := range x {
						want[i] = float64(float32(v))
					}
					y := Narrow(x, team)
					if len(y) != n {
						t.Fatalf("Narrow returns %d numbers", len(y))
					}
					for i, v := range y {
						if float64(v) != want[i] {
							t.Fatalf("number %d is %v, want %v", i, v, want[i])
						}
					}
					Widen(x, team)
					for i, v := range x {
						if v != want[i] {
							t.Fatalf("widened, number %d is %v, want %v", i, v, want[i])
						}
					}
				})
			}
			team.Close()
		}
	})
}

// TestSingles: numbers of float32 are copied and found to be such, whatever their size. One other number anywhere
// is enough for neither. Numbers of any kind are told without memory for a copy.
func TestSingles(t *testing.T) {
	exact := func(n int) []float64 {
		x := random(uint64(n), n)
		for k := range x {
			x[k] = float64(float32(x[k]))
		}
		for k, v := range []float64{0, math.Copysign(0, -1), math.SmallestNonzeroFloat32, math.MaxFloat32, -0x1p-126, 0x1.fffffep-1} {
			if k < n {
				x[n-1-k] = v
			}
		}
		return x
	}
	eachPath(t, func(t *testing.T) {
		for _, members := range []int{1, 3} {
			team := NewTeam(members)
			for _, n := range []int{0, 1, 2, 7, 255, 256, 257, 1023, 1024, 1025, 16_385, 40_000} {
				x := exact(n)
				y := Singles(x, members)
				if y == nil || len(y) != n || !AreSingles(x, team) {
					t.Errorf("%d numbers of float32: Singles gives %d, AreSingles %t", n, len(y), AreSingles(x, team))
					continue
				}
				for k, v := range y {
					if math.Float64bits(float64(v)) != math.Float64bits(x[k]) {
						t.Fatalf("number %d of %d is %v, want %v", k, n, v, x[k])
					}
				}
				for _, k := range []int{0, 5, 255, 256, 1000, 1023, 1024, 16_383, 16_384, 20_000, n - 1} {
					if k < 0 || k >= n {
						continue
					}
					for _, v := range []float64{1 + 0x1p-24, 0x1p-150, 0x1p128, -0x1.0000001p-3, math.NaN()} {
						was := x[k]
						if x[k] = v; Singles(x, members) != nil || AreSingles(x, team) {
							t.Errorf("number %d of %d, %v, counts as one of float32", k, n, v)
						}
						x[k] = was
					}
				}
			}
			team.Close()
		}
	})
	other := random(1, 5000)
	if count := testing.AllocsPerRun(10, func() { Singles(other, 1) }); count != 0 {
		t.Errorf("%v allocations for numbers that are not of float32", count)
	}
}
