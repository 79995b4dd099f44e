package kernel

import (
	"fmt"
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
