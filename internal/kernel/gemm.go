package kernel

// The block kernels multiply many rows of a dense matrix A at once by a matrix x of r columns, stored by
// rows, and add the product to c. A may be of float32, which is widened on the way; all sums are of float64.
// A float32 A is no faster with one thread or two and r ≥ 16 (Zen 4, n = 2429, 10⁵), but takes half the
// memory.
//
// Each number of c gets its sum in the same order, whatever else the call computes. The terms are taken in
// chunks of chunkLen, from the first on. Each chunk is summed in order from zero, and its sum times alpha is
// added to c. Assembly uses fused multiply–adds throughout, portable code never does. So
//  - no bit of a row depends on the other rows of the call;
//  - AVX2 and AVX-512 give the same bits if r ≥ 4;
//  - the portable code gives the same bits everywhere.
//
// The error is at most (chunkLen + n/chunkLen)·ε·Σ|terms| where that is below n·ε·Σ|terms|.

// chunkLen is how many terms are added up in registers. 128 rows of a tile's 12 columns, wherever they lie,
// fit into a first-level cache of 32 KiB. With 256, AVX2 takes up to 1.2 times as long if r is not a multiple
// of 4; AVX-512, which waits less, gains 1 %.
const chunkLen = 128

// Float is a type that the numbers of A may have.
type Float interface{ float32 | float64 }

// RowsTimes adds A·x to c: c[i·r+k] += Σ_l a[i·stride+l]·x[l·r+k]. A has len(x)/r columns and as many rows
// as c.
func RowsTimes[F Float](c []float64, a []F, stride int, x []float64, r int) {
	AddRowsTimes(c, 1, a, stride, x, r)
}

// AddRowsTimes adds alpha·A·x to c, with A and x as for RowsTimes.
func AddRowsTimes[F Float](c []float64, alpha float64, a []F, stride int, x []float64, r int) {
	AddRowsTimesOn(c, alpha, a, stride, x, r, nothing)
}

// AddRowsTimesOn is AddRowsTimes for a product that continues afterwards. Where rows of A lie far apart, the
// processor is told to fetch what is wanted next, which begins gap ≥ 0 numbers beyond the end of each row. It
// does not matter whether anything lies there.
func AddRowsTimesOn[F Float](c []float64, alpha float64, a []F, stride int, x []float64, r, gap int) {
	rows, n := shape(c, r), shape(x, r)
	checkStrided(len(a), rows, n, stride)
	if n > 0 {
		times(c, alpha, a, stride, 1, x, rows, n, r, r, gap)
	}
}

// nothing is the gap of a product for which it is unknown what is wanted next.
const nothing = -1

// TransTimes adds Aᵀ·x to c: c[j·r+k] += Σ_i a[i·stride+j]·x[i·r+k]. A has as many rows as x, and as many
// columns as c has rows.
func TransTimes[F Float](c []float64, a []F, stride int, x []float64, r int) {
	AddTransTimes(c, 1, a, stride, x, r)
}

// AddTransTimes adds alpha·Aᵀ·x to c, with A and x as for TransTimes.
func AddTransTimes[F Float](c []float64, alpha float64, a []F, stride int, x []float64, r int) {
	cols, n := shape(c, r), shape(x, r)
	checkStrided(len(a), n, cols, stride)
	if n > 0 {
		times(c, alpha, a, 1, stride, x, cols, n, r, r, nothing)
	}
}

// Gram computes gramRows rows of s at a time, as many as a tile of AVX-512 has. It computes them from the
// diagonal on, but at least gramColumns columns (or all r), since the assembly for AVX2 cannot do fewer.
const (
	gramRows    = 8
	gramColumns = 4
)

// Gram adds xᵀ·x to the symmetric r×r matrix s, which stays symmetric bit for bit:
// s[j·r+k] += Σ_i x[i·r+j]·x[i·r+k]. It computes little more than half of the sums and copies the others.
func Gram(s, x []float64, r int) {
	if len(s) != r*r {
		panic(badLen)
	}
	GramRows(s, x, r, 0, r)
	Mirror(s, r)
}

// GramRows adds rows lo ≤ j < hi of xᵀ·x to the (hi−lo)×r matrix s, from the diagonal on:
// s[(j−lo)·r+k] += Σ_i x[i·r+j]·x[i·r+k] for k ≥ j. It may also add to a few numbers left of the diagonal. lo
// must be a multiple of 8.
func GramRows(s, x []float64, r, lo, hi int) {
	n := shape(x, r)
	if lo < 0 || lo%gramRows != 0 || lo > hi || hi > r || len(s) != (hi-lo)*r {
		panic(badLen)
	}
	if n == 0 {
		return
	}
	most := hi // columns before it: a few rows at a time; the others: all rows at once, so that x is read once
	if r-hi < gramRows || hi < gramColumns {
		most = r
	}
	for j := lo; j < hi; j += gramRows {
		if rest := hi - j; rest == most-j && gramSquare(s[(j-lo)*r+j:], x[j:], n, rest, r) {
			break
		}
		rows, k := min(gramRows, hi-j), max(0, min(j, most-gramColumns))
		strip, xk, cols := s[(j-lo)*r+k:], x[k:], most-k
		if rows == gramRows { // then k is j
			done := gramStrip(strip, xk, n, cols, r)
			strip, xk, cols = strip[done:], xk[done:], cols-done
		}
		times(strip, 1, x[j:], 1, r, xk, rows, n, cols, r, nothing)
	}
	if most < r && lo < hi {
		times(s[most:], 1, x[lo:], 1, r, x[most:], hi-lo, n, r-most, r, nothing)
	}
}

// shape returns how many rows of r numbers x has.
func shape[F Float](x []F, r int) int {
	if r == 0 && len(x) == 0 {
		return 0
	}
	if r <= 0 || len(x)%r != 0 {
		panic(badLen)
	}
	return len(x) / r
}

// checkStrided panics unless size numbers are enough for the given number of rows of n numbers, stride apart.
func checkStrided(size, rows, n, stride int) {
	if stride < n || rows > 0 && n > 0 && (size < n || (size-n)/stride < rows-1) {
		panic(badLen)
	}
}

// timesGo adds alpha·Σ_l a[i·arow+l·astep]·x[l·stride+k] to c[i·stride+k] for 0 ≤ i < rows and 0 ≤ k < cols,
// with l from 0 to n-1. The conversions of products keep the compiler from fusing some of them with sums.
func timesGo[F Float](c []float64, alpha float64, a []F, arow, astep int, x []float64, rows, n, cols, stride int) {
	for lo := 0; lo < n; lo += chunkLen {
		end := min(n, lo+chunkLen) * stride
		for i := range rows {
			k, ci, ai := 0, c[i*stride:i*stride+cols], a[i*arow+lo*astep:]
			for ; cols-k >= 4; k += 4 {
				var s0, s1, s2, s3 float64
				for l, p := lo*stride+k, 0; l < end; l, p = l+stride, p+astep {
					v, xl := float64(ai[p]), x[l:l+4:l+4]
					s0 += float64(v * xl[0])
					s1 += float64(v * xl[1])
					s2 += float64(v * xl[2])
					s3 += float64(v * xl[3])
				}
				ck := ci[k : k+4]
				ck[0] += float64(alpha * s0)
				ck[1] += float64(alpha * s1)
				ck[2] += float64(alpha * s2)
				ck[3] += float64(alpha * s3)
			}
			for ; k < cols; k++ {
				var s float64
				for l, p := lo*stride+k, 0; l < end; l, p = l+stride, p+astep {
					s += float64(float64(ai[p]) * x[l])
				}
				ci[k] += float64(alpha * s)
			}
		}
	}
}
