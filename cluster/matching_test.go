package cluster

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestMatching: thousands of classes, too many for a table of all pairs. The prices of the clusters and classes prove
// that no matching has more items.
func TestMatching(t *testing.T) {
	for seed, c := range []struct{ n, k, l, apart int }{
		{40_000, 3000, 3000, 3}, {40_000, 3000, 3000, 1}, {40_000, 5000, 4000, 10}, {30_000, 20_000, 5000, 2}, {30_000, 300, 20_000, 2}, {90_000, 300, 300, 1},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(seed), 0))
			found, truth := make([]int, c.n), make([]int, c.n)
			for i := range found {
				found[i] = rng.IntN(c.k)
				if truth[i] = found[i] * 7 % c.l; rng.IntN(c.apart) == 0 {
					truth[i] = rng.IntN(c.l)
				}
			}
			table, err := newTable(found, truth)
			if err != nil {
				t.Fatal(err)
			}
			m := table.matching()
			var most, matched int64
			for a, u := range m.u {
				if most += u; u < 0 || u > 0 && m.colOf[a] == free {
					t.Fatalf("row %d, matched to %d, has the price %d", a, m.colOf[a], u)
				}
				for _, cell := range m.rows[a] {
					if u+m.v[cell.b] < int64(cell.count) {
						t.Fatalf("cell %v is worth more than its prices %d and %d", cell, u, m.v[cell.b])
					}
				}
			}
			taken := 0
			for b, v := range m.v {
				if most += v; v < 0 || v > 0 && m.rowOf[b] == free {
					t.Fatalf("column %d, matched to %d, has the price %d", b, m.rowOf[b], v)
				}
				if a := m.rowOf[b]; a != free {
					if taken++; m.colOf[a] != b {
						t.Fatalf("column %d is matched to row %d, and that to %d", b, a, m.colOf[a])
					}
				}
			}
			for _, b := range m.colOf {
				if b != free {
					taken--
				}
			}
			if matched = table.bestMatching(); matched != most || taken != 0 {
				t.Errorf("the matching has %d items, its prices allow %d; %d columns too many are matched", matched, most, taken)
			}
		})
	}
}
