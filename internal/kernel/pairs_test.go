package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSumPairs compares with the definition, with and without values, in a block that begins anywhere, here
// at row 100. Rows have entries left of the block, in it and right of it.
func TestSumPairs(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for r := 1; r <= 70; r++ {
			rng := rand.New(rand.NewPCG(uint64(r), 20))
			const n, first = 9, 100
			x := random(uint64(r), n*r)
			place := int32(math.MaxInt32 - 10) // places wrap around
			cut, idx, val := []int32{}, []int32{}, []float64{}
			rows := []PairRow{}
			var want, ones float64
			for i := range int32(n) {
				entry := func(l int32) float64 {
					idx, val = append(idx, l), append(val, rng.Float64())
					place++
					return val[len(val)-1]
				}
				cut = append(cut, place)
				for range rng.IntN(3) {
					entry(int32(rng.IntN(first)))
				}
				cut = append(cut, place)
				near := PairRow{Row: first + i}
				for l := range i {
					if rng.IntN(3) > 0 {
						continue
					}
					v, product := entry(first+l), 0.0
					for j := range r {
						product += x[int(i)*r+j] * x[int(l)*r+j]
					}
					want += v * product
					ones += product
					near.Entries++
				}
				if near.Entries > 0 || i == 4 {
					rows = append(rows, near)
				}
				for range rng.IntN(3) {
					entry(first + i + int32(rng.IntN(100)))
				}
			}
			cut = append(cut, place)
			gx, check := guarded(t, x, r%8)
			tol := 100 * eps * float64(r)
			if got := SumPairs(gx, r, first, rows, cut, idx, val); !(math.Abs(got-want) <= tol) {
				t.Errorf("r = %d: %v, want %v", r, got, want)
			}
			if got := SumPairs(gx, r, first, rows, cut, idx, nil); !(math.Abs(got-ones) <= tol) {
				t.Errorf("r = %d, ones: %v, want %v", r, got, ones)
			}
			check()
			narrow := narrowed(x) // the sums are the same for x of float32 and of float64
			wide := widened(narrow)
			for _, val := range [][]float64{val, nil} {
				if got, want := SumPairs(narrow, r, first, rows, cut, idx, val), SumPairs(wide, r, first, rows, cut, idx, val); got != want {
					t.Errorf("r = %d, float32: %v, want %v as for the same numbers in float64", r, got, want)
				}
			}
			one := []PairRow{{Row: first + 1, Entries: 1}}
			small := []int32{0, 0, 1, 2, 2}
			for name, call := range map[string]func(){
				"a row before the block":        func() { SumPairs(x[:2*r], r, first, []PairRow{{Row: first - 1}}, small, idx[:2], nil) },
				"a row after it":                func() { SumPairs(x[:2*r], r, first, []PairRow{{Row: first + 2}}, small, idx[:2], nil) },
				"a column before the block":     func() { SumPairs(x[:2*r], r, first, one, []int32{0, 0, 0, 0, 1}, []int32{first - 1}, nil) },
				"a column after it":             func() { SumPairs(x[:2*r], r, first, one, []int32{0, 0, 0, 0, 1}, []int32{first + 2}, nil) },
				"entries beyond the last":       func() { SumPairs(x[:2*r], r, first, one, small, []int32{first, first}, nil) },
				"a negative number of entries":  func() { SumPairs(x[:2*r], r, first, []PairRow{{first + 1, -1}}, small, []int32{first, first}, nil) },
				"places that step back":         func() { SumPairs(x[:2*r], r, first, one, []int32{5, 5, 5, 4, 6}, []int32{first}, nil) },
				"too few places":                func() { SumPairs(x[:2*r], r, first, one, small[:4], []int32{first, first}, nil) },
				"too few values":                func() { SumPairs(x[:2*r], r, first, one, small, []int32{first, first}, []float64{1}) },
				"part of a row":                 func() { SumPairs(x[:2*r], 2*r+1, first, one, small, []int32{first, first}, nil) },
				"a row of a block without rows": func() { SumPairs[float64](nil, r, first, one, []int32{0}, nil, nil) },
				"an entry where there is none":  func() { SumPairs(x[:2*r], r, first, one, []int32{0, 0, 0, 0, 0}, nil, nil) },
			} {
				if panics(call) == nil {
					t.Errorf("r = %d: %s is accepted", r, name)
				}
			}
		}
		if got := SumPairs[float64](nil, 3, 0, nil, []int32{7}, nil, nil); got != 0 {
			t.Errorf("a block of no rows: %v, want 0", got)
		}
		if got := SumPairs(slices.Repeat([]float64{1}, 4), 2, 0, []PairRow{{Row: 1}}, []int32{0, 0, 0, 0, 0}, nil, nil); got != 0 {
			t.Errorf("a block without entries: %v, want 0", got)
		}
	})
}

func BenchmarkSumPairs(b *testing.B) {
	const n = 128
	for _, shape := range [][2]int{{16, 1}, {32, 9}, {60, 9}} { // columns, and entries a row
		r, each := shape[0], shape[1]
		rng := rand.New(rand.NewPCG(1, 1))
		cut, idx, rows := []int32{}, []int32{}, []PairRow{}
		for i := range int32(n) {
			begin := int32(len(idx))
			cut = append(cut, begin, begin)
			for l := range i {
				if rng.IntN(n) < 2*each {
					idx = append(idx, l)
				}
			}
			if entries := int32(len(idx)) - begin; entries > 0 {
				rows = append(rows, PairRow{i, entries})
			}
		}
		cut = append(cut, int32(len(idx)))
		x, val := random(1, n*r), random(2, len(idx))
		narrow := narrowed(x)
		run := func(kind string, sum func() float64) {
			b.Run(fmt.Sprintf("r=%d/entries=%d/%s", r, each, kind), func(b *testing.B) {
				for b.Loop() {
					sum()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(idx)), "ns/entry")
			})
		}
		run("float64", func() float64 { return SumPairs(x, r, 0, rows, cut, idx, val) })
		run("float32", func() float64 { return SumPairs(narrow, r, 0, rows, cut, idx, val) })
	}
}
