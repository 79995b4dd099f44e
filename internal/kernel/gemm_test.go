package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// rowsTimesOp and transTimesOp make ops of the block kernels. A has the given number of rows or columns, and
// a stride that exceeds the length of its rows by gap. If narrow is set, A is of float32.

func rowsTimesOp(rows, gap int, narrow bool) op {
	return op{
		name:  fmt.Sprintf("RowsTimes, %d rows, float32 %t", rows, narrow),
		shape: func(n, r int) (int, []int) { return rows * r, []int{(rows-1)*(n+gap) + n, n * r} },
		terms: allTerms,
		run: func(out []float64, in [][]float64, _ []int32) {
			r := len(out) / rows
			if stride := len(in[1])/r + gap; narrow {
				RowsTimes(out, narrowed(in[0]), stride, in[1], r)
			} else {
				RowsTimes(out, in[0], stride, in[1], r)
			}
		},
		plain: func(add func(int, float64), r int, in [][]float64, _ []int32) {
			a, n := rounded(in[0], narrow), len(in[1])/r
			for i := range rows * r {
				for l := range n {
					add(i, a[i/r*(n+gap)+l]*in[1][l*r+i%r])
				}
			}
		},
	}
}

func transTimesOp(cols, gap int, narrow bool) op {
	return op{
		name:  fmt.Sprintf("TransTimes, %d columns, float32 %t", cols, narrow),
		shape: func(n, r int) (int, []int) { return cols * r, []int{max(0, (n-1)*(cols+gap)+cols), n * r} },
		terms: allTerms,
		run: func(out []float64, in [][]float64, _ []int32) {
			if narrow {
				TransTimes(out, narrowed(in[0]), cols+gap, in[1], len(out)/cols)
			} else {
				TransTimes(out, in[0], cols+gap, in[1], len(out)/cols)
			}
		},
		plain: func(add func(int, float64), r int, in [][]float64, _ []int32) {
			a := rounded(in[0], narrow)
			for j := range cols * r {
				for l := range len(in[1]) / r {
					add(j, a[l*(cols+gap)+j/r]*in[1][l*r+j%r])
				}
			}
		},
	}
}

func narrowed(s []float64) []float32 {
	t := make([]float32, len(s))
	for i, v := range s {
		t[i] = float32(v)
	}
	return t
}

func widened(s []float32) []float64 {
	t := make([]float64, len(s))
	for i, v := range s {
		t[i] = float64(v)
	}
	return t
}

func rounded(s []float64, narrow bool) []float64 {
	if !narrow {
		return s
	}
	return widened(narrowed(s))
}

// farFrom is a length of rows of A from which on tiles fetch ahead what comes next.
const farFrom = 1000

// blockShapes calls f with numbers of rows, terms and columns that use every kind of tile, alone and after
// others, and one chunk of terms or several.
func blockShapes(f func(rows, n, r int)) {
	for _, n := range []int{1, 2, 3, 30, chunkLen - 1, chunkLen, chunkLen + 1, 2*chunkLen + 77} {
		for _, rows := range []int{1, 2, 3, 7, 8, 21} {
			for _, r := range []int{4, 5, 8, 9, 12, 14, 16, 19, 20, 23, 24, 30, 60, 61, 130} {
				if n > 30 && (rows > 8 || r > 61) && testing.Short() {
					continue
				}
				f(rows, n, r)
			}
		}
	}
}

// blocksFuse reports whether the block kernels in use fuse multiply–adds: if so, −1 + (1+2⁻³⁰)(1−2⁻³⁰) is
// −2⁻⁶⁰, else 0.
func blocksFuse(r int) bool {
	a, x, c := []float64{-1, 1 + 0x1p-30}, make([]float64, 2*r), make([]float64, r)
	x[0], x[r] = 1, 1-0x1p-30
	RowsTimes(c, a, 2, x, r)
	return c[0] == -0x1p-60
}

// chain returns c plus alpha times the sum of n products, added up in the order that gemm.go promises.
func chain(c, alpha float64, n int, fused bool, a, x func(l int) float64) float64 {
	for lo := 0; lo < n; lo += chunkLen {
		var s float64
		for l := lo; l < min(n, lo+chunkLen); l++ {
			if fused {
				s = math.FMA(a(l), x(l), s)
			} else {
				s += float64(a(l) * x(l))
			}
		}
		if fused {
			c = math.FMA(alpha, s, c)
		} else {
			c += float64(alpha * s)
		}
	}
	return c
}

// TestBlockOrder compares the bits of the block kernels with a sum written out in the promised order.
func TestBlockOrder(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		blockShapes(func(rows, n, r int) {
			fused, alpha := blocksFuse(r), []float64{1, -0.7}[n%2]
			stride := n + 3
			if rows%2 == 1 {
				stride += farFrom // far enough for tiles to fetch ahead
			}
			a, x, c := random(1, rows*stride), random(2, n*r), random(3, rows*r)
			byRows, byColumns := slices.Clone(c), slices.Clone(c)
			if rows%3 == 0 {
				AddRowsTimesOn(byRows, alpha, a, stride, x, r, n%5)
			} else {
				AddRowsTimes(byRows, alpha, a, stride, x, r)
			}
			trans := make([]float64, n*(rows+2))
			for i := range rows {
				for l := range n {
					trans[l*(rows+2)+i] = a[i*stride+l]
				}
			}
			AddTransTimes(byColumns, alpha, trans, rows+2, x, r)
			for i := range rows {
				for k := range r {
					want := chain(c[i*r+k], alpha, n, fused, func(l int) float64 { return a[i*stride+l] }, func(l int) float64 { return x[l*r+k] })
					if got := byRows[i*r+k]; got != want {
						t.Fatalf("RowsTimes, %d rows, n = %d, r = %d: c[%d,%d] is %v, want %v", rows, n, r, i, k, got, want)
					}
					if got := byColumns[i*r+k]; got != want {
						t.Fatalf("TransTimes, %d columns, n = %d, r = %d: c[%d,%d] is %v, want %v", rows, n, r, i, k, got, want)
					}
				}
			}
		})
	})
}

// TestRowsAlone: no bit of a row of c depends on the other rows of the call, for any r.
func TestRowsAlone(t *testing.T) {
	const rows = 300
	eachPath(t, func(t *testing.T) {
		for _, n := range []int{5, 100, chunkLen + 20} {
			for _, r := range []int{1, 2, 3, 4, 7, 16, 30, 60, 61, 130} {
				a, x, c := random(1, rows*n), random(2, n*r), random(3, rows*r)
				want := slices.Clone(c)
				RowsTimes(want, a, n, x, r)
				for _, size := range []int{1, 2, 3, 5, 8, 11, 64, 128} {
					got := slices.Clone(c)
					Blocks(rows, size, 2, func(_, lo, hi int) { RowsTimes(got[lo*r:hi*r], a[lo*n:hi*n], n, x, r) })
					if !slices.Equal(got, want) {
						t.Fatalf("n = %d, r = %d: blocks of %d rows give other bits than all %d rows at once", n, r, size, rows)
					}
				}
			}
		}
	})
}

// TestNarrow: A of float32 gives the same bits as the same numbers in float64.
func TestNarrow(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		blockShapes(func(rows, n, r int) {
			a, x := narrowed(random(1, rows*n)), random(2, n*r)
			for name, f := range map[string]func() (narrow, wide []float64){
				"RowsTimes": func() (narrow, wide []float64) {
					narrow, wide = make([]float64, rows*r), make([]float64, rows*r)
					RowsTimes(narrow, a, n, x, r)
					RowsTimes(wide, widened(a), n, x, r)
					return narrow, wide
				},
				"TransTimes": func() (narrow, wide []float64) {
					narrow, wide = make([]float64, rows*r), make([]float64, rows*r)
					TransTimes(narrow, a, rows, x, r)
					TransTimes(wide, widened(a), rows, x, r)
					return narrow, wide
				},
			} {
				if narrow, wide := f(); !slices.Equal(narrow, wide) {
					t.Fatalf("%s, %d rows, n = %d, r = %d: float32 gives other bits than float64", name, rows, n, r)
				}
			}
		})
	})
}

// TestGram compares Gram with TransTimes, bit for bit, and checks that nothing beside the result is written.
func TestGram(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 3, 128, chunkLen + 7} {
			for r := 1; r <= 70; r++ {
				x, place := random(1, n*r), &arena{offset: r}
				start := random(2, r*r)
				for j := range r {
					for k := range j {
						start[j*r+k] = start[k*r+j]
					}
				}
				s, want := place.place(start), slices.Clone(start)
				Gram(s, x, r)
				TransTimes(want, x, r, x, r)
				if !slices.Equal(s, want) {
					t.Fatalf("n = %d, r = %d: not what TransTimes gives", n, r)
				}
				place.check(t, &call{op: op{name: "Gram"}, n: n, r: r, out: s})
			}
		}
	})
}

// TestGramRows: any rows of a Gram matrix that begin at a multiple of 8 are, from the diagonal on, what
// TransTimes gives, bit for bit. Nothing beside the result is written.
func TestGramRows(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 130} {
			for _, r := range []int{1, 3, 8, 16, 20, 24, 32, 60, 77} {
				x, all := random(1, n*r), make([]float64, r*r)
				TransTimes(all, x, r, x, r)
				for lo := 0; lo <= r; lo += 8 {
					for hi := lo; hi <= r; hi++ {
						place := &arena{offset: hi}
						s := place.place(make([]float64, (hi-lo)*r))
						GramRows(s, x, r, lo, hi)
						for j := lo; j < hi; j++ {
							if got, want := s[(j-lo)*r+j:(j-lo+1)*r], all[j*r+j:(j+1)*r]; !slices.Equal(got, want) {
								t.Fatalf("n = %d, r = %d, rows %d to %d: row %d is %v, want %v", n, r, lo, hi, j, got, want)
							}
						}
						place.check(t, &call{op: op{name: "GramRows"}, n: n, r: r, out: s})
					}
				}
			}
		}
	})
}

// TestBlockLengths: the block kernels panic if a slice or a stride has a wrong length. They accept slices
// that are just long enough, and empty ones.
func TestBlockLengths(t *testing.T) {
	x := make([]float64, 60)
	eachPath(t, func(t *testing.T) {
		for name, f := range map[string]func(){
			"RowsTimes, c":           func() { RowsTimes(x[:19], x, 6, x[:20], 4) },
			"RowsTimes, x":           func() { RowsTimes(x[:20], x, 6, x[:21], 4) },
			"RowsTimes, stride":      func() { RowsTimes(x[:20], x, 4, x[:20], 4) },
			"RowsTimes, a":           func() { RowsTimes(x[:20], x[:28], 6, x[:20], 4) },
			"RowsTimes, no a":        func() { RowsTimes(x[:4], x[:0], 6, x[:20], 4) },
			"RowsTimes, no columns":  func() { RowsTimes(x[:4], x, 6, x[:20], 0) },
			"RowsTimes, r below 0":   func() { RowsTimes(x[:4], x, 6, x[:20], -1) },
			"TransTimes, c":          func() { TransTimes(x[:19], x, 6, x[:20], 4) },
			"TransTimes, x":          func() { TransTimes(x[:20], x, 6, x[:21], 4) },
			"TransTimes, stride":     func() { TransTimes(x[:20], x, 4, x[:20], 4) },
			"TransTimes, a":          func() { TransTimes(x[:20], x[:28], 6, x[:20], 4) },
			"TransTimes of float32":  func() { TransTimes(x[:20], make([]float32, 28), 6, x[:20], 4) },
			"Gram, s":                func() { Gram(x[:15], x, 4) },
			"Gram, x":                func() { Gram(x[:16], x[:59], 4) },
			"GramRows, s":            func() { GramRows(x[:7], x, 4, 0, 2) },
			"GramRows, first row":    func() { GramRows(x[:12], x, 12, 4, 5) },
			"RowsTimes, stride is 0": func() { RowsTimes(x[:8], x, 0, x[:4], 4) },
		} {
			if got := panics(f); got != badLen {
				t.Errorf("%s of a wrong length: panic %v, want %q", name, got, badLen)
			}
		}
		// Slices that are just long enough, and empty ones.
		RowsTimes(x[:20], x[:29], 6, x[20:40], 4)
		TransTimes(x[:20], x[:29], 6, x[20:40], 4)
		RowsTimes[float64](nil, nil, 0, nil, 0)
		RowsTimes(nil, x, 5, x[:20], 4)
		RowsTimes[float32](x[:8], nil, 0, nil, 4)
		TransTimes[float64](x[:8], nil, 2, nil, 4)
		TransTimes[float64](nil, nil, 0, x[:8], 4)
		Gram(nil, nil, 0)
	})
}
