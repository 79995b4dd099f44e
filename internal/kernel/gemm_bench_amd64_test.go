//go:build !noasm

package kernel

import (
	"fmt"
	"testing"
)

// BenchmarkPeak measures the rate of fused multiply–adds on registers alone. The figures of other benchmarks
// are to be divided by it, from the same run.
func BenchmarkPeak(b *testing.B) {
	for p, peak := range map[int]func(n int){avx2: peakAVX2, avx512: peakAVX512} {
		if p > best() {
			continue
		}
		b.Run(pathNames[p], func(b *testing.B) {
			const turns = 1000
			for range b.N {
				peak(turns)
			}
			report(b, turns*peakTerms[p])
		})
	}
}

// peakTerms is the number of multiply–adds in one turn of a peak function, by path.
var peakTerms = map[int]int{avx2: peakChains * lanesAVX2, avx512: peakChains * lanesAVX512}

const benchBlock = 128

// BenchmarkRowsTimes goes through A 128 rows at a time and, as "one", one row at a time. Beyond n = 2000, A
// comes from memory.
func BenchmarkRowsTimes(b *testing.B) {
	for _, n := range []int{400, 500, 1965, 2429} {
		a := random(1, n*n)
		a32 := narrowed(a)
		for _, r := range []int{16, 30, 60} {
			x, c := random(2, n*r), make([]float64, benchBlock*r)
			onPaths(b, fmt.Sprintf("float64/n=%d/r=%d", n, r), func(b *testing.B) { benchRows(b, c, a, n, x, r, benchBlock) })
			onPaths(b, fmt.Sprintf("float32/n=%d/r=%d", n, r), func(b *testing.B) { benchRows(b, c, a32, n, x, r, benchBlock) })
			onPaths(b, fmt.Sprintf("one/n=%d/r=%d", n, r), func(b *testing.B) { benchRows(b, c, a, n, x, r, 1) })
		}
	}
}

func benchRows[F Float](b *testing.B, c []float64, a []F, n int, x []float64, r, rows int) {
	lo := 0
	for range b.N {
		clear(c[:rows*r])
		RowsTimes(c[:rows*r], a[lo*n:], n, x, r)
		if lo += rows; lo+rows > n {
			lo = 0
		}
	}
	report(b, rows*n*r)
}

// BenchmarkTransTimes multiplies the transpose of a block of rows, of H (m = r) or of points with m features,
// by the block's rows of the step.
func BenchmarkTransTimes(b *testing.B) {
	for _, r := range []int{16, 30, 60} {
		d := random(2, benchBlock*r)
		for _, m := range []int{r, 361, 512, 560} {
			x, y := random(1, benchBlock*m), make([]float64, m*r)
			x32 := narrowed(x)
			onPaths(b, fmt.Sprintf("float64/m=%d/r=%d", m, r), func(b *testing.B) {
				for range b.N {
					TransTimes(y, x, m, d, r)
				}
				report(b, benchBlock*m*r)
			})
			onPaths(b, fmt.Sprintf("float32/m=%d/r=%d", m, r), func(b *testing.B) {
				for range b.N {
					TransTimes(y, x32, m, d, r)
				}
				report(b, benchBlock*m*r)
			})
		}
	}
}

// BenchmarkGram counts all terms, although symmetry saves nearly half of them.
func BenchmarkGram(b *testing.B) {
	for _, r := range []int{16, 30, 60} {
		d, s := random(2, benchBlock*r), make([]float64, r*r)
		onPaths(b, fmt.Sprintf("r=%d", r), func(b *testing.B) {
			for range b.N {
				Gram(s, d, r)
			}
			report(b, benchBlock*r*r)
		})
	}
}
