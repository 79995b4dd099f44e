package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestGramInts: whole numbers of either sign, in pairs of rows, give bit for bit what GramRows gives of them as float64, for every number of columns and
// wherever rows begin and end, and nothing left of the diagonal changes.
func TestGramInts(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for r := 1; r <= 130; r++ {
			if testing.Short() && r%7 != 1 {
				continue
			}
			rng := rand.New(rand.NewPCG(uint64(r), 1))
			stride := (r + IntColumns - 1) / IntColumns * IntColumns
			for _, pairs := range []int{0, 1, 5} {
				const unit = 0x1p-8
				x, packed := make([]float64, 2*pairs*r), make([]int32, pairs*stride)
				for i := range x {
					x[i] = unit * float64(rng.IntN(2*1023+1)-1023)
				}
				for l := range pairs {
					bits, ok := PackInts(packed[l*stride:l*stride+r], x[2*l*r:(2*l+1)*r], x[(2*l+1)*r:(2*l+2)*r], 1/unit)
					if !ok || bits >= 1024 {
						t.Fatalf("r = %d: bits %b, whole %t", r, bits, ok)
					}
				}
				for lo := 0; lo <= r; lo += 8 {
					for l := range pairs { // what is left of column lo, or beyond the last one, does not matter
						for k := r; k < stride; k++ {
							packed[l*stride+k] = math.MinInt32 + 7
						}
						for k := range lo {
							packed[l*stride+k] = -1
						}
					}
					for hi := lo; hi <= r; hi += 1 + r/9 {
						start := random(uint64(hi), (hi-lo)*r)
						for i := range start {
							start[i] = math.Round(start[i] * 1000)
						}
						want := slices.Clone(start)
						whole := make([]float64, (hi-lo)*r)
						GramRows(whole, x, r, lo, hi)
						for j := lo; j < hi; j++ {
							for k := j; k < r; k++ {
								want[(j-lo)*r+k] += whole[(j-lo)*r+k]
							}
						}
						got, check := guarded(t, start, r%8)
						GramInts(got, unit*unit, packed, stride, r, lo, hi)
						check()
						if !slices.Equal(got, want) {
							t.Fatalf("r = %d, %d pairs, rows %d to %d: %v, want %v", r, pairs, lo, hi, got, want)
						}
					}
				}
			}
		}
	})
}

// TestPackInts: what is whole comes out, with the bits it has, and what is not is found wherever it is.
func TestPackInts(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for n := range 40 {
			u, v, dst := make([]float64, n), make([]float64, n), make([]int32, n)
			for k := range n {
				u[k], v[k] = float64(k-20)/4, float64(3*k)/4
			}
			var want uint16
			for k := range n {
				want |= uint16(max(k-20, 20-k)) | uint16(3*k)
			}
			bits, ok := PackInts(dst, u, v, 4)
			if !ok || bits != want {
				t.Fatalf("n = %d: bits %b, whole %t, want %b", n, bits, ok, want)
			}
			for k, p := range dst {
				if int(int16(p)) != k-20 || int(p>>16) != 3*k {
					t.Fatalf("n = %d: pair %d is %d, %d, want %d, %d", n, k, int16(p), p>>16, k-20, 3*k)
				}
			}
			for k := range n {
				for _, x := range [][]float64{u, v} {
					old := x[k]
					for _, bad := range []float64{0.125, -1e-300, 1 << 13, -1 << 13, 1 << 29, -1 << 29, 1e300, math.Inf(1), math.NaN()} {
						x[k] = bad
						if _, ok := PackInts(dst, u, v, 4); ok {
							t.Fatalf("n = %d: 4 times %v at %d passes for a whole number of 15 bits", n, bad, k)
						}
					}
					x[k] = math.Copysign(0, -1)
					if _, ok := PackInts(dst, u, v, 4); !ok {
						t.Fatalf("n = %d: −0 at %d is no whole number", n, k)
					}
					x[k] = old
				}
			}
		}
		for name, call := range map[string]func(){
			"PackInts, u":          func() { PackInts(make([]int32, 3), make([]float64, 2), make([]float64, 3), 1) },
			"PackInts, v":          func() { PackInts(make([]int32, 3), make([]float64, 3), make([]float64, 4), 1) },
			"GramInts, s":          func() { GramInts(make([]float64, 5), 1, make([]int32, 16), 16, 3, 0, 2) },
			"GramInts, stride":     func() { GramInts(make([]float64, 6), 1, make([]int32, 24), 12, 3, 0, 2) },
			"GramInts, no stride":  func() { GramInts(nil, 1, nil, 0, 0, 0, 0) },
			"GramInts, part of x":  func() { GramInts(make([]float64, 6), 1, make([]int32, 24), 16, 3, 0, 2) },
			"GramInts, r":          func() { GramInts(make([]float64, 34), 1, make([]int32, 16), 16, 17, 0, 2) },
			"GramInts, hi":         func() { GramInts(make([]float64, 12), 1, make([]int32, 16), 16, 3, 0, 4) },
			"GramInts, lo":         func() { GramInts(make([]float64, 6), 1, make([]int32, 16), 16, 6, 4, 5) },
			"GramInts, lo below 0": func() { GramInts(make([]float64, 6), 1, make([]int32, 16), 16, 6, -8, -7) },
		} {
			if panics(call) == nil {
				t.Errorf("%s is accepted", name)
			}
		}
	})
}
