package kernel

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// guarded returns a copy of s between guard numbers, and a check that these have not changed.
func guarded(t *testing.T, s []float64, offset int) (inside []float64, check func()) {
	a := &arena{offset: offset}
	inside = a.place(s)
	return inside, func() {
		t.Helper()
		for i, v := range a.arrays[0] {
			if (i < guardLen+offset || i >= guardLen+offset+len(s)) && math.Float64bits(v) != math.Float64bits(guardNaN) {
				t.Fatalf("%d numbers, offset %d: number %d beside them changed", len(s), offset, i-guardLen-offset)
			}
		}
	}
}

// TestRowSquares compares with the plain sum, and float32 with the same numbers in float64.
func TestRowSquares(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for _, rows := range []int{0, 1, 2, 7} {
			for r := range 70 {
				x, checkX := guarded(t, random(uint64(r), rows*r), r%8)
				w, checkW := guarded(t, random(uint64(r+1), rows), r%5)
				var want, scale float64
				for k, v := range x {
					want += w[k/r] * v * v
					scale += math.Abs(w[k/r]) * v * v
				}
				narrow := narrowed(x) // the sums are the same for x of float32 and of float64
				if got, want := RowSquares(narrow, w), RowSquares(widened(narrow), w); got != want {
					t.Errorf("%d rows of %d, float32: %v, want %v as for the same numbers in float64", rows, r, got, want)
				}
				if got := RowSquares(x, w); !(math.Abs(got-want) <= float64(2*rows*r+4)*eps*scale) {
					t.Fatalf("%d rows of %d: %v, want %v", rows, r, got, want)
				}
				checkX()
				checkW()
			}
		}
		for _, rows := range []int{0, 2} {
			if panics(func() { RowSquares(make([]float64, 7), make([]float64, rows)) }) != badLen {
				t.Errorf("seven numbers in %d rows are accepted", rows)
			}
		}
	})
}

// TestScale compares with the definition, bit for bit.
func TestScale(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for n := range 70 {
			want := random(uint64(n), n)
			x, check := guarded(t, want, n%8)
			Scale(x, -1.7)
			for i := range want {
				want[i] *= -1.7
			}
			if !slices.Equal(x, want) {
				t.Fatalf("n = %d: %v, want %v", n, x, want)
			}
			check()
		}
	})
}

// TestAdvance compares with the definition: exactly for x, d and the cut, within rounding for the inner
// product.
func TestAdvance(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		var cuts [2]int // at a step of any size, and at a step of 1
		for n := range 260 {
			again := n >= 130 // each length once more, with a step of 1
			n %= 130
			rng := rand.New(rand.NewPCG(uint64(n), 8))
			x, d, last := make([]float64, n), make([]float64, n), make([]float64, n)
			away := n%3 - 1 // 0: none can be cut off; below 0: one at most; above 0: any
			for i := range x {
				x[i], d[i], last[i] = rng.Float64(), rng.Float64()-0.7, rng.Float64()
				if away == 0 || away < 0 && i != n/2 {
					d[i] = math.Abs(d[i])
				}
			}
			step := 0.5 + rng.Float64()
			if again {
				step = 1
			}
			wantX, wantD := slices.Clone(x), slices.Clone(d)
			var want, size float64
			wantCut := false
			for i, y := range x {
				wantD[i] = float64(step * d[i]) // not fused with the sum
				wantX[i] = y + wantD[i]
				if wantX[i] < 0 {
					wantX[i], wantD[i], wantCut = 0, -y, true
				}
				want += wantD[i] * (wantX[i] - last[i])
				size += math.Abs(wantD[i] * (wantX[i] - last[i]))
			}
			if wantCut && again {
				cuts[1]++
			} else if wantCut {
				cuts[0]++
			}
			gx, checkX := guarded(t, x, n%8)
			gd, checkD := guarded(t, d, (n+3)%8)
			gl, checkL := guarded(t, last, (n+5)%8)
			along, cut := Advance(gx, gd, step, gl)
			checkX()
			checkD()
			checkL()
			if !slices.Equal(gx, wantX) || !slices.Equal(gd, wantD) || !slices.Equal(gl, last) || cut != wantCut {
				t.Fatalf("%d numbers: x %v, want %v; d %v, want %v; cut %v, want %v", n, gx, wantX, gd, wantD, cut, wantCut)
			}
			if !(math.Abs(along-want) <= float64(n+2)*eps*size) {
				t.Fatalf("%d numbers: ⟨d, x−last⟩ = %v, want %v", n, along, want)
			}
		}
		if min(cuts[0], cuts[1]) == 0 || max(cuts[0], cuts[1]) == 130 {
			t.Errorf("%v of 130 calls each were cut off, want some and not all", cuts)
		}
	})
}

// TestAdvanceRounded compares with the definition: exactly for x, y, d and the cut, within rounding for the
// inner product. Some steps are of 1 and lead to numbers of float32; there no bit of d changes.
func TestAdvanceRounded(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		cuts := map[bool]int{}
		for n := range 130 {
			for _, step := range []float64{0.7, 1, 1.3} {
				rng := rand.New(rand.NewPCG(uint64(n), 12))
				x, d, last := make([]float64, n), make([]float64, n), make([]float64, n)
				for i := range x {
					x[i], last[i] = float64(rng.Float32()), rng.Float64()
					d[i] = float64(rng.Float32()) - x[i]
					if step > 1 && n%2 == 0 {
						d[i] = -2 * d[i]
					}
				}
				if n > 3 {
					x[3], d[3] = 0x1p-100, float64(float32(0.7))-0x1p-100 // where the difference is rounded
				}
				wantX, wantY, wantD := slices.Clone(x), make([]float32, n), slices.Clone(d)
				var want, size float64
				wantCut := false
				for i, old := range x {
					v := old + float64(step*d[i])
					if v < 0 {
						v, wantCut = 0, true
					}
					wantY[i] = float32(v)
					wantX[i] = float64(float32(v))
					wantD[i] = wantX[i] - old
					want += wantD[i] * (wantX[i] - last[i])
					size += math.Abs(wantD[i] * (wantX[i] - last[i]))
				}
				if step == 1 && !slices.Equal(wantD, d) {
					t.Fatalf("%d numbers: d changes with a step of 1", n)
				}
				cuts[wantCut]++
				gx, checkX := guarded(t, x, n%8)
				gd, checkD := guarded(t, d, (n+3)%8)
				y := make([]float32, n+2)
				y[n], y[n+1] = -1, -2
				along, cut := AdvanceRounded(gx, y[:n], gd, step, last)
				checkX()
				checkD()
				single, x32, d32, y32 := make([]float32, n), slices.Clone(x), slices.Clone(d), make([]float32, n)
				roundBoth(single, last)
				along32, cut32 := AdvanceRounded(x32, y32, d32, step, single)
				if !slices.Equal(x32, gx) || !slices.Equal(d32, gd) || !slices.Equal(y32, y[:n]) || cut32 != cut {
					t.Fatalf("%d numbers, step %v: with last of float32, x, y, d or the cut differs", n, step)
				}
				want32 := 0.0
				for i, v := range last {
					want32 += wantD[i] * (wantX[i] - v)
				}
				if !(math.Abs(along32-want32) <= float64(n+2)*eps*size) {
					t.Fatalf("%d numbers, last of float32: ⟨d, x−last⟩ = %v, want %v", n, along32, want32)
				}
				if !slices.Equal(gx, wantX) || !slices.Equal(gd, wantD) || !slices.Equal(y[:n], wantY) || cut != wantCut || y[n] != -1 || y[n+1] != -2 {
					t.Fatalf("%d numbers, step %v: x %v, want %v; y %v, want %v and -1, -2; d %v, want %v; cut %v, want %v", n, step, gx, wantX, y, wantY, gd, wantD, cut, wantCut)
				}
				if !(math.Abs(along-want) <= float64(n+2)*eps*size) {
					t.Fatalf("%d numbers: ⟨d, x−last⟩ = %v, want %v", n, along, want)
				}
			}
		}
		if cuts[true] == 0 || cuts[false] == 0 {
			t.Errorf("calls by whether they were cut off: %v, want some of each", cuts)
		}
	})
}

// TestAdvanceRoundedOne: if a single number is cut off, no other number of d changes, wherever it is among
// them.
func TestAdvanceRoundedOne(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		const n = 75
		for at := range n {
			x, d, y := make([]float64, n), make([]float64, n), make([]float32, n)
			for i := range x {
				x[i], d[i] = 1, 0.5
			}
			d[at] = -1.5
			wantD := slices.Clone(d)
			wantD[at] = -1
			d32, x32 := slices.Clone(d), slices.Clone(x)
			if _, cut := AdvanceRounded(x, y, d, 1, make([]float64, n)); !cut || !slices.Equal(d, wantD) {
				t.Fatalf("number %d alone below zero: cut off %v, d %v", at, cut, d)
			}
			if _, cut := AdvanceRounded(x32, y, d32, 1, make([]float32, n)); !cut || !slices.Equal(d32, wantD) {
				t.Fatalf("number %d alone below zero, last of float32: cut off %v, d %v", at, cut, d32)
			}
		}
	})
}

// TestExtrapolate compares with the definition, also if last and x are the same slice.
func TestExtrapolate(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for n := range 130 {
			x, last := random(uint64(n), n), random(uint64(n)+1000, n)
			for _, least := range []float64{math.Inf(-1), 0, 0.25} {
				want := make([]float64, n)
				for i, v := range x {
					want[i] = max(v+float64(0.7*(v-last[i])), least)
				}
				gx, checkX := guarded(t, x, n%8)
				gl, checkL := guarded(t, last, (n+3)%8)
				Extrapolate(gl, 0.7, gx, least)
				checkX()
				checkL()
				if !slices.Equal(gl, want) || !slices.Equal(gx, x) {
					t.Fatalf("%d numbers, least %v: %v from %v, want %v from %v", n, least, gl, gx, want, x)
				}
				for i, v := range x {
					want[i] = max(v, least)
				}
				if Extrapolate(gx, 0.7, gx, least); !slices.Equal(gx, want) {
					t.Fatalf("%d numbers, least %v: %v from itself, want %v", n, least, gx, want)
				}
				checkX()
			}
		}
	})
}

// TestExtrapolateRounded compares with the definition, each step of which is rounded to float32. The results
// must be equal.
func TestExtrapolateRounded(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for n := range 130 {
			x, last := make([]float32, n), make([]float32, n)
			ToFloat32(x, random(uint64(n), n))
			ToFloat32(last, random(uint64(n)+1000, n))
			const c = float32(0.7)
			for _, least := range []float32{float32(math.Inf(-1)), 0, 0.25} {
				want := make([]float32, n)
				for i, v := range x {
					step := float32(float64(v) - float64(last[i]))
					step = float32(float64(c) * float64(step))
					want[i] = max(float32(float64(v)+float64(step)), least)
				}
				wide, check := guarded(t, make([]float64, n), n%8)
				y, from := make([]float32, n+1), slices.Clone(x)
				copy(y, last)
				y[n] = -1
				ExtrapolateRounded(wide, y[:n], c, from, least)
				check()
				if !slices.Equal(y[:n], want) || !slices.Equal(from, x) || y[n] != -1 {
					t.Fatalf("%d numbers, least %v: %v from %v, want %v and -1 from %v", n, least, y, from, want, x)
				}
				for i, v := range want {
					if wide[i] != float64(v) {
						t.Fatalf("%d numbers, least %v: number %d is %v, widened %v", n, least, i, v, wide[i])
					}
				}
			}
		}
	})
}

// roundBoth sets narrow to x, rounded, and x to the rounded numbers.
func roundBoth(narrow []float32, x []float64) {
	ToFloat32(narrow, x)
	ToFloat64(x, narrow)
}

// TestAddGathered compares with GatherRows, row by row, for up to 130 columns, and checks that wrong
// arguments panic.
func TestAddGathered(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for r := 1; r <= 130; r++ {
			if testing.Short() && r%4 != 1 && r%16 != 0 {
				continue
			}
			rng := rand.New(rand.NewPCG(uint64(r), 9))
			const rows, xRows = 20, 13
			x, z := random(1, xRows*r), random(2, rows*r)
			at, from, idx, val := []int32{}, []int32{3}, []int32{}, []float64{} // from need not begin with 0
			for c := range int32(rows) {
				if c%4 == 3 {
					continue
				}
				at = append(at, c)
				for range rng.IntN(5) {
					idx, val = append(idx, int32(rng.IntN(xRows))), append(val, rng.Float64())
				}
				from = append(from, 3+int32(len(idx)))
			}
			want := slices.Clone(z)
			for k, c := range at {
				lo, hi := from[k]-3, from[k+1]-3
				GatherRows(want[int(c)*r:(int(c)+1)*r], idx[lo:hi], val[lo:hi], x)
			}
			got, check := guarded(t, z, r%8)
			AddGathered(got, r, at, from, idx, val, x)
			check()
			for k, v := range got {
				if !(math.Abs(v-want[k]) <= 8*eps*6) {
					t.Fatalf("r = %d: z[%d] = %v, want %v", r, k, v, want[k])
				}
			}
			for name, call := range map[string]func(){
				"a row of z beyond the end": func() { AddGathered(z, r, []int32{rows}, []int32{0, 1}, []int32{0}, []float64{1}, x) },
				"a negative row of z":       func() { AddGathered(z, r, []int32{-1}, []int32{0, 1}, []int32{0}, []float64{1}, x) },
				"a row of x beyond the end": func() { AddGathered(z, r, []int32{0}, []int32{0, 1}, []int32{xRows}, []float64{1}, x) },
				"a negative row of x":       func() { AddGathered(z, r, []int32{0}, []int32{0, 1}, []int32{-1}, []float64{1}, x) },
				"too few entries":           func() { AddGathered(z, r, []int32{0}, []int32{0, 2}, []int32{0}, []float64{1}, x) },
				"a step back":               func() { AddGathered(z, r, []int32{0, 1}, []int32{0, 2, 1}, []int32{0}, []float64{1}, x) },
				"too few pointers":          func() { AddGathered(z, r, []int32{0, 1}, []int32{0, 1}, []int32{0}, []float64{1}, x) },
				"other lengths":             func() { AddGathered(z, r, []int32{0}, []int32{0, 1}, []int32{0}, nil, x) },
			} {
				if panics(call) == nil {
					t.Errorf("r = %d: %s is accepted", r, name)
				}
			}
		}
		AddGathered(nil, 3, nil, nil, nil, nil, nil)
		for _, call := range []func(){func() { Advance(make([]float64, 2), make([]float64, 3), 1, make([]float64, 2)) },
			func() { Extrapolate(make([]float64, 2), 1, make([]float64, 3), 0) },
			func() {
				AdvanceRounded(make([]float64, 2), make([]float32, 2), make([]float64, 2), 1, make([]float64, 3))
			},
			func() {
				AdvanceRounded(make([]float64, 2), make([]float32, 2), make([]float64, 3), 1, make([]float64, 2))
			},
			func() {
				AdvanceRounded(make([]float64, 2), make([]float32, 3), make([]float64, 2), 1, make([]float64, 2))
			},
			func() { ExtrapolateRounded(make([]float64, 2), make([]float32, 2), 1, make([]float32, 3), 0) },
			func() { ExtrapolateRounded(make([]float64, 3), make([]float32, 2), 1, make([]float32, 2), 0) }} {
			if panics(call) == nil {
				t.Error("slices of different lengths are accepted")
			}
		}
	})
}

// TestGatherEach compares GatherEach and GatherSplit with GatherRows, row by row, for up to 130 columns. Rows
// are in one piece and in two, with and without values, and some are empty. x is small, or so large that its
// rows are fetched ahead, and of float64 or of float32.
func TestGatherEach(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for r := 1; r <= 130; r++ {
			if testing.Short() && r%4 != 1 && r%16 != 0 {
				continue
			}
			rng := rand.New(rand.NewPCG(uint64(r), 10))
			const rows = 11
			xRows := 13
			if r%3 == 0 {
				xRows = 1<<16/r + 1
			}
			x, narrow := random(1, xRows*r), make([]float32, xRows*r)
			roundBoth(narrow, x)
			first := int32(math.MaxInt32 - 10) // from need not begin with 0, and its places may wrap around
			from, idx, val := []int32{first}, []int32{}, []float64{}
			for k := range 2 * rows {
				n := rng.IntN(6)
				if k == 8 || k == 9 {
					n = 0
				}
				for range n {
					idx, val = append(idx, int32(rng.IntN(xRows))), append(val, rng.Float64())
				}
				from = append(from, first+int32(len(idx)))
			}
			whole := []int32{}
			for k := 0; k < len(from); k += 2 {
				whole = append(whole, from[k])
			}
			for _, values := range [][]float64{val, nil} {
				wantLow, want := make([]float64, rows*r), make([]float64, rows*r)
				upTo := func(lo, hi int32) []float64 {
					if values == nil {
						return nil
					}
					return values[lo:hi]
				}
				for k := range rows {
					lo, cut, hi := from[2*k]-first, from[2*k+1]-first, from[2*k+2]-first
					GatherRows(wantLow[k*r:(k+1)*r], idx[lo:cut], upTo(lo, cut), x)
					GatherRows(want[k*r:(k+1)*r], idx[lo:hi], upTo(lo, hi), x)
				}
				dirty := random(7, rows*r)
				got, check := guarded(t, dirty, r%8)
				GatherEach(got, r, whole, idx, values, x, 0.5)
				check()
				split, checkSplit := guarded(t, dirty, (r+3)%8)
				low, checkLow := guarded(t, dirty, (r+5)%8)
				GatherSplit(split, low, r, from, idx, values, x, 0.5)
				checkSplit()
				checkLow()
				for k := range got {
					if !(math.Abs(got[k]-0.5*want[k]) <= 10*eps*6) || !(math.Abs(split[k]-0.5*want[k]) <= 10*eps*6) || !(math.Abs(low[k]-0.5*wantLow[k]) <= 10*eps*6) {
						t.Fatalf("r = %d, values %v, number %d: %v whole, %v in pieces, %v of the first; want %v and %v", r, values != nil, k, got[k], split[k], low[k], 0.5*want[k], 0.5*wantLow[k])
					}
				}
				copy(got, dirty)
				copy(split, dirty)
				copy(low, dirty)
				GatherEach(got, r, whole, idx, values, narrow, 0.5)
				check()
				GatherSplit(split, low, r, from, idx, values, narrow, 0.5)
				checkSplit()
				checkLow()
				for k := range split {
					if !(math.Abs(got[k]-0.5*want[k]) <= 10*eps*6) || !(math.Abs(split[k]-0.5*want[k]) <= 10*eps*6) || !(math.Abs(low[k]-0.5*wantLow[k]) <= 10*eps*6) {
						t.Fatalf("r = %d, float32, values %v, number %d: %v whole, %v in pieces, %v of the first; want %v and %v", r, values != nil, k, got[k], split[k], low[k], 0.5*want[k], 0.5*wantLow[k])
					}
				}
			}
			one := make([]float64, r)
			for name, call := range map[string]func(){
				"a row of float32 beyond the end": func() { GatherEach(one, r, []int32{0, 1}, []int32{int32(xRows)}, []float64{1}, narrow, 1) },
				"a negative row of float32":       func() { GatherEach(one, r, []int32{0, 1}, []int32{-1}, nil, narrow, 1) },
				"a row of float32 beyond the end, in pieces": func() {
					GatherSplit(one, slices.Clone(one), r, []int32{0, 0, 1}, []int32{int32(xRows)}, []float64{1}, narrow, 1)
				},
				"a negative row of float32, in pieces": func() {
					GatherSplit(one, slices.Clone(one), r, []int32{0, 1, 1}, []int32{-1}, nil, narrow, 1)
				},
				"a row beyond the end": func() { GatherEach(one, r, []int32{0, 1}, []int32{int32(xRows)}, []float64{1}, x, 1) },
				"a negative row":       func() { GatherEach(one, r, []int32{0, 1}, []int32{-1}, nil, x, 1) },
				"a row beyond the end in the second piece": func() {
					GatherSplit(one, slices.Clone(one), r, []int32{0, 1, 2}, []int32{0, int32(xRows)}, nil, x, 1)
				},
				"an x without rows": func() { GatherEach(one, r, []int32{0, 1}, []int32{0}, nil, []float64(nil), 1) },
				"a step back":       func() { GatherSplit(one, slices.Clone(one), r, []int32{0, 2, 1}, []int32{0}, nil, x, 1) },
				"a step back before others": func() {
					GatherSplit(one, slices.Clone(one), r, []int32{0, -1, 1}, []int32{0}, nil, x, 1)
				},
				"steps that add up to 2³² + 1": func() {
					GatherEach(make([]float64, 4*r), r, []int32{0, math.MaxInt32, -2, 0, 1}, []int32{0}, nil, x, 1)
				},
				"too few entries":   func() { GatherEach(one, r, []int32{0, 2}, []int32{0}, []float64{1}, x, 1) },
				"too few values":    func() { GatherEach(one, r, []int32{0, 1}, []int32{0}, []float64{}, x, 1) },
				"too few pointers":  func() { GatherSplit(one, slices.Clone(one), r, []int32{0, 1}, []int32{0}, nil, x, 1) },
				"part of a row":     func() { GatherEach(make([]float64, r+1), r+2, []int32{0, 1}, []int32{0}, nil, x, 1) },
				"a lower too short": func() { GatherSplit(one, nil, r, []int32{0, 1, 1}, []int32{0}, nil, x, 1) },
			} {
				if panics(call) == nil {
					t.Errorf("r = %d: %s is accepted", r, name)
				}
			}
		}
		GatherEach(nil, 3, nil, nil, nil, []float64(nil), 1)
		empty := []float64{1, 2, 3, 4}
		GatherEach(empty, 4, []int32{5, 5}, nil, nil, []float64(nil), 1)
		if !slices.Equal(empty, make([]float64, 4)) {
			t.Errorf("a row without entries is %v", empty)
		}
	})
}

// TestCheckSteps: places are refused if they step back anywhere or do not cover all entries, even if other
// steps make up for that. Places may wrap around, but steps that add up to the number of entries only modulo
// 2³² are refused too.
func TestCheckSteps(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		check := func(from []int32, entries int, right bool) {
			t.Helper()
			if got := panics(func() { checkSteps(from, entries) }); (got == nil) != right || got != nil && got != badLen {
				t.Errorf("%v and %d entries: panic %v, right: %v", from, entries, got, right)
			}
		}
		check([]int32{5, 5, 7, 8}, 3, true)
		check([]int32{math.MaxInt32, math.MinInt32 + 1}, 2, true)
		check([]int32{0}, 0, true)
		check([]int32{0, -1, 1, 2}, 2, false)
		check([]int32{0, 2, 1, 2}, 2, false)
		check([]int32{0, 1, 3, 2}, 2, false)
		check([]int32{0, 1, 2}, 3, false)
		check([]int32{0, math.MaxInt32, -2, 0, 1}, 1, false)
		for n := range 50 {
			from := make([]int32, n+1) // places that wrap around
			for k := range from {
				from[k] = math.MaxInt32 - 20 + int32(k*k%7+7*k)
			}
			entries := int(from[n] - from[0])
			check(from, entries, true)
			check(from, entries+1, false)
			for k := 1; k < n; k++ {
				old := from[k]
				from[k] = from[k-1] - 1
				check(from, entries, false)
				from[k] = old
			}
		}
		if bits.UintSize < 64 {
			return // there are never so many entries
		}
		for _, n := range []int{3, 4, 17, 40} { // all steps the same, and as large as they may be
			from := make([]int32, n+1)
			for k := range from {
				from[k] = int32(uint32(k) * math.MaxInt32)
			}
			sum := int64(n) * math.MaxInt32
			check(from, int(sum), true)
			check(from, int(uint32(sum)), false)
		}
	})
}

// TestGatherSpan: one span of columns after the other adds up to the plain sums of each row, for up to 130
// columns of x, with and without values, and for x of float64 and of float32. Each span stops where the next
// goes on: at the end of its columns, or at the end of its row even if the next row continues with columns of
// the same span.
func TestGatherSpan(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for r := 1; r <= 130; r++ {
			if testing.Short() && r%4 != 1 && r%16 != 0 {
				continue
			}
			rng := rand.New(rand.NewPCG(uint64(r), 11))
			const rows, xRows = 7, 40
			x, narrow := random(1, xRows*r), make([]float32, xRows*r)
			roundBoth(narrow, x)
			from, idx, val := []int64{0}, []int32{}, []float64{}
			for k := range rows {
				for c := range int32(xRows) {
					if k != 2 && (k == 3 || rng.IntN(3) == 0) { // an empty row, then a full one
						idx, val = append(idx, c), append(val, rng.Float64())
					}
				}
				from = append(from, int64(len(idx)))
			}
			for _, values := range [][]float64{val, nil} {
				want := random(7, rows*r)
				got, check := guarded(t, want, r%8)
				single, checkSingle := guarded(t, want, r%7)
				at, to := slices.Clone(from[:rows]), make([]int64, rows)
				for _, span := range [][2]int{{0, 9}, {9, 10}, {10, 31}, {31, 40}} {
					for k := range rows {
						for p := from[k]; p < from[k+1]; p++ {
							if c := int(idx[p]); c >= span[0] && c < span[1] {
								v := 1.0
								if values != nil {
									v = values[p]
								}
								for j := range r {
									want[k*r+j] += v * x[c*r+j]
								}
							}
						}
					}
					GatherSpan(single, r, at, to, from[1:], idx, values, narrow[span[0]*r:span[1]*r], span[0])
					checkSingle()
					stops := slices.Clone(to)
					GatherSpan(got, r, at, to, from[1:], idx, values, x[span[0]*r:span[1]*r], span[0])
					check()
					if !slices.Equal(to, stops) {
						t.Fatalf("r = %d, columns %d to %d: rows go on at %v, with float32 at %v", r, span[0], span[1], to, stops)
					}
					for k := range rows {
						next := at[k]
						for next < from[k+1] && int(idx[next]) < span[1] {
							next++
						}
						if to[k] != next {
							t.Fatalf("r = %d, columns %d to %d: row %d goes on at %d, want %d", r, span[0], span[1], k, to[k], next)
						}
					}
					at, to = to, at
				}
				for k, v := range got {
					if most := 2 * xRows * eps * (xRows + 1); !(math.Abs(v-want[k]) <= most) || !(math.Abs(single[k]-want[k]) <= most) { // so many terms of at most 1, and as many roundings, in each
						t.Fatalf("r = %d, values %v, number %d: %v, of float32 %v, want %v", r, values != nil, k, v, single[k], want[k])
					}
				}
			}
			// A column outside the span ends it, too.
			for name, c := range map[string]int32{"before the span": 4, "below 0": -1, "as small as can be": math.MinInt32, "beyond the span": 6, "as large as can be": math.MaxInt32} {
				at, to := []int64{0}, []int64{7}
				one := make([]float64, r)
				if GatherSpan(one, r, at, to, []int64{1}, []int32{c}, []float64{1}, x[:r], 5); to[0] != 0 || Nonzero(one) {
					t.Errorf("r = %d: a column %s: acc is %v, and the row goes on at %d", r, name, one, to[0])
				}
			}
			one, zero := make([]float64, r), []int64{0}
			for name, call := range map[string]func(){
				"an end beyond the entries": func() { GatherSpan(one, r, zero, []int64{0}, []int64{2}, []int32{0}, nil, x, 0) },
				"an end before the start":   func() { GatherSpan(one, r, []int64{1}, []int64{0}, zero, []int32{0}, nil, x, 0) },
				"a negative start":          func() { GatherSpan(one, r, []int64{-1}, []int64{0}, zero, []int32{0}, nil, x, 0) },
				"too few values":            func() { GatherSpan(one, r, zero, []int64{0}, []int64{1}, []int32{0}, []float64{}, x, 0) },
				"too few starts":            func() { GatherSpan(one, r, nil, []int64{0}, zero, nil, nil, x, 0) },
				"too few stops":             func() { GatherSpan(one, r, zero, nil, zero, nil, nil, x, 0) },
				"too few ends":              func() { GatherSpan(one, r, zero, []int64{0}, nil, nil, nil, x, 0) },
				"columns beyond 2³¹":        func() { GatherSpan(one, r, zero, []int64{0}, zero, nil, nil, x, math.MaxInt32-xRows+1) },
				"a negative first column":   func() { GatherSpan(one, r, zero, []int64{0}, zero, nil, nil, x, -1) },
				"part of a row":             func() { GatherSpan[float64](make([]float64, r+1), r+2, zero, []int64{0}, zero, nil, nil, nil, 0) },
			} {
				if panics(call) != badLen {
					t.Errorf("r = %d: %s is accepted", r, name)
				}
			}
		}
		GatherSpan[float64](nil, 3, nil, nil, nil, nil, nil, nil, 0)
		stop := []int64{9}
		if GatherSpan[float64](make([]float64, 4), 4, []int64{1}, stop, []int64{2}, []int32{0, 1}, nil, nil, 0); stop[0] != 1 {
			t.Errorf("a span without columns stops at %d, want 1", stop[0])
		}
		kept := []float64{1, 2, 3, 4}
		if GatherSpan(kept, 4, []int64{0}, []int64{0}, []int64{0}, nil, nil, make([]float64, 8), 0); kept[3] != 4 {
			t.Errorf("a row without entries changes acc: %v", kept)
		}
	})
}

// BenchmarkMoves moves 10080 rows of 32 numbers, as for a set of documents. AddGathered takes blocks of 128
// rows with some 34 entries each, in 2300 rows of z.
func BenchmarkMoves(b *testing.B) {
	const n = 10080 * 32
	x, d, last := random(1, n), random(2, n), random(3, n)
	onPaths(b, "Advance", func(b *testing.B) {
		for range b.N {
			Advance(x, d, 0, last)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/number")
	})
	onPaths(b, "Extrapolate", func(b *testing.B) {
		for range b.N {
			Extrapolate(x, 0.5, last, 0)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/number")
	})
	rng := rand.New(rand.NewPCG(4, 4))
	at, from, idx, val := []int32{}, []int32{0}, []int32{}, []float64{}
	for c := range int32(2300) {
		had := len(idx)
		for range rng.IntN(5) {
			idx, val = append(idx, int32(rng.IntN(128))), append(val, rng.Float64())
		}
		if len(idx) > had {
			at, from = append(at, c), append(from, int32(len(idx)))
		}
	}
	for _, r := range []int{16, 32} {
		z, e := random(5, 2300*r), random(6, 128*r)
		onPaths(b, fmt.Sprintf("AddGathered/r=%d", r), func(b *testing.B) {
			for range b.N {
				AddGathered(z, r, at, from, idx, val, e)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(at)), "ns/row")
		})
	}
}

// TestBitRange compares with the definition, for random bit patterns and for numbers between 0 and 1.
func TestBitRange(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(9, 9))
		for n := 1; n < 200; n++ {
			x, check := guarded(t, make([]float64, n), n%8)
			for k := range x {
				x[k] = math.Float64frombits(rng.Uint64())
				if n%2 == 0 {
					x[k] = rng.Float64()
				}
			}
			least, most := uint64(math.MaxUint64), uint64(0)
			for _, v := range x {
				least, most = min(least, math.Float64bits(v)), max(most, math.Float64bits(v))
			}
			if l, m := BitRange(x); l != least || m != most {
				t.Fatalf("%d numbers: %#x to %#x, want %#x to %#x", n, l, m, least, most)
			}
			check()
		}
	})
}

// TestNonzero: a single number other than zero is found wherever it is, NaN included. −0 counts as zero.
func TestNonzero(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 511, 512, 513, 2000} {
		x := make([]float64, n)
		if n > 0 {
			x[n/2] = math.Copysign(0, -1)
		}
		if Nonzero(x) {
			t.Errorf("%d zeros, one of them −0, are not all zero", n)
		}
		for k := range x {
			for _, v := range []float64{5e-324, -5e-324, math.NaN()} {
				x[k] = v
				if !Nonzero(x) {
					t.Errorf("%d numbers: %v in place %d is not found", n, v, k)
				}
			}
			x[k] = 0
		}
	}
}

// TestMul compares with the plain products.
func TestMul(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for n := range 100 {
			x, before := random(uint64(n), n), random(uint64(n)+1000, n)
			gx, checkX := guarded(t, x, n%8)
			y, checkY := guarded(t, before, (n+3)%8)
			Mul(y, gx)
			checkX()
			checkY()
			for i, v := range before {
				if y[i] != v*x[i] || gx[i] != x[i] {
					t.Fatalf("%d numbers: %v·%v is %v", n, v, x[i], y[i])
				}
			}
		}
		if panics(func() { Mul(make([]float64, 3), make([]float64, 4)) }) != badLen {
			t.Error("three numbers times four are accepted")
		}
	})
}

// TestFree compares with the definition. There are so few different numbers that d·h + g is often 0 or next
// to it.
func TestFree(t *testing.T) {
	few := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 2, -2, 0x1p-1074, -0x1p-1074}
	eachPath(t, func(t *testing.T) {
		for r := 1; r < 40; r++ {
			for rows := range 4 {
				rng := rand.New(rand.NewPCG(uint64(r), uint64(rows)))
				draw := func(n int) []float64 {
					x := make([]float64, n)
					for i := range x {
						x[i] = few[rng.IntN(len(few))]
					}
					return x
				}
				h, checkH := guarded(t, draw(rows*r), r%8)
				g, checkG := guarded(t, draw(rows*r), (r+2)%8)
				d, checkD := guarded(t, draw(r), (r+4)%8)
				free, checkFree := guarded(t, make([]float64, rows*r), (r+6)%8)
				Free(free, h, g, d)
				for _, check := range []func(){checkH, checkG, checkD, checkFree} {
					check()
				}
				for i, got := range free {
					want := 0.0
					if d[i%r]*h[i]+g[i] > 0 {
						want = 1
					}
					if got != want {
						t.Fatalf("d = %v, h = %v, g = %v: %v", d[i%r], h[i], g[i], got)
					}
				}
			}
		}
		for _, d := range []int{0, 4} {
			if panics(func() { Free(make([]float64, 6), make([]float64, 6), make([]float64, 6), make([]float64, d)) }) != badLen {
				t.Errorf("six numbers in rows of %d are accepted", d)
			}
		}
	})
}
