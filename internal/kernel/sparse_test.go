package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestScatterLists compares with the definition, with and without values. The lists have every length around
// a turn of the loop, and some are empty. They overlap, repeat and come in any order.
func TestScatterLists(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 21))
		const n, entries = 37, 400
		idx, val := make([]int32, entries), random(8, entries)
		for p := range idx {
			idx[p] = rng.Int32N(n)
		}
		for count := range 30 {
			lists := make([]List, count)
			for k := range lists {
				length := rng.Int64N(20)
				from := rng.Int64N(entries - length + 1)
				lists[k] = List{From: from, To: from + length, C: rng.NormFloat64()}
			}
			start := random(uint64(count), n)
			want, ones, bound := slices.Clone(start), slices.Clone(start), make([]float64, n)
			for _, x := range lists {
				for p := x.From; p < x.To; p++ {
					want[idx[p]] += x.C * val[p]
					ones[idx[p]] += x.C
					bound[idx[p]] += math.Abs(x.C) * (1 + math.Abs(val[p]))
				}
			}
			y, check := guarded(t, start, count%8)
			ScatterLists(y, lists, idx, val)
			check()
			z, check := guarded(t, start, count%8)
			ScatterLists(z, lists, idx, nil)
			check()
			for i := range n {
				if tol := 100 * eps * (math.Abs(start[i]) + bound[i]); !(math.Abs(y[i]-want[i]) <= tol) || !(math.Abs(z[i]-ones[i]) <= tol) {
					t.Fatalf("%d lists: y[%d] is %v and %v, want %v and %v", count, i, y[i], z[i], want[i], ones[i])
				}
			}
		}
		y := make([]float64, 4)
		five := []int32{0, 1, 2, 3, 3}
		for name, call := range map[string]func(){
			"an index beyond the last":   func() { ScatterLists(y, []List{{0, 2, 1}}, []int32{0, 4}, nil) },
			"a negative index":           func() { ScatterLists(y, []List{{0, 2, 1}}, []int32{0, -1}, []float64{1, 1}) },
			"a list beyond the entries":  func() { ScatterLists(y, []List{{0, 6, 1}}, five, nil) },
			"a list before the entries":  func() { ScatterLists(y, []List{{-1, 2, 1}}, five, nil) },
			"a list that runs backwards": func() { ScatterLists(y, []List{{3, 2, 1}}, five, nil) },
			"too few values":             func() { ScatterLists(y, []List{{0, 2, 1}}, five, y) },
			"nothing to add to":          func() { ScatterLists(nil, []List{{0, 2, 1}}, five, nil) },
		} {
			if panics(call) == nil {
				t.Errorf("%s is accepted", name)
			}
		}
		ScatterLists(nil, nil, nil, nil)
		ScatterLists(y, []List{{5, 5, 1}}, five, nil)
		ScatterLists(y, []List{{0, 0, 1}}, nil, nil)
	})
}
