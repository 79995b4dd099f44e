//go:build !noasm

package kernel

import (
	"math"
	"unsafe"

	"golang.org/x/sys/cpu"
)

// The code paths that a kernel can take, best last.
const (
	portable = iota
	avx2     // with FMA and POPCNT
	avx512   // also AVX-512F, VL and DQ
)

// path is the path in use.
var path = best()

// best returns the best path that this processor and operating system support.
func best() int {
	switch {
	case !cpu.X86.HasAVX2 || !cpu.X86.HasFMA || !cpu.X86.HasPOPCNT:
		return portable
	case !cpu.X86.HasAVX512F || !cpu.X86.HasAVX512VL || !cpu.X86.HasAVX512DQ:
		return avx2
	}
	return avx512
}

// Lanes returns how many float64 numbers a vector of the path in use holds.
func Lanes() int { return [...]int{portable: 1, avx2: 4, avx512: 8}[path] }

// Portable turns assembly off until the returned function is called. It is meant for tests. No kernel may be
// running in another goroutine when either function is called.
func Portable() (restore func()) { return use(portable) }

// use is Portable for any path up to best.
func use(p int) (restore func()) {
	old := path
	path = p
	return func() { path = old }
}

// The lengths from which wider code pays, measured with Dot and Axpy in turn, each waiting for the other
// (BenchmarkDotAxpy; Zen 4). Below shortest the call into assembly costs more than it gains. Below longest
// AVX2 finishes its sum sooner than AVX-512, since it has fewer lanes to add up, and is otherwise no slower.
const (
	shortest = 16
	longest  = 1024
)

func dot(x, y []float64) float64 {
	switch n := len(x); {
	case path == portable || n < shortest:
		return dotGo(x, y)
	case path == avx2 || n < longest:
		return dotAVX2(&x[0], &y[0], n)
	default:
		return dotAVX512(&x[0], &y[0], n)
	}
}

func sumPairs[F Float](x []F, r int, first int32, rows []PairRow, cut, idx []int32, val []float64) float64 {
	if path == portable || len(idx) == 0 {
		return sumPairsGo(x, r, first, rows, cut, idx, val)
	}
	double, single := sumPairsAVX2, sumPairs32AVX2
	if path == avx512 {
		double, single = sumPairsAVX512, sumPairs32AVX512
	}
	var sum float64
	var bad int
	switch start := any(&x[0]).(type) {
	case *float64:
		sum, bad = double(start, r, len(x)/r, first, &rows[0].Row, len(rows), &cut[0], &idx[0], len(idx), unsafe.SliceData(val))
	case *float32:
		sum, bad = single(start, r, len(x)/r, first, &rows[0].Row, len(rows), &cut[0], &idx[0], len(idx), unsafe.SliceData(val))
	}
	if bad != 0 {
		panic(badIndex)
	}
	return sum
}

func scatterLists(y []float64, lists []List, idx []int32, val []float64) {
	switch {
	case path == portable || len(y) == 0 || len(idx) == 0:
		scatterListsGo(y, lists, idx, val)
	case !scatterListsAVX2(&y[0], len(y), &lists[0].From, len(lists), &idx[0], unsafe.SliceData(val), len(idx)):
		panic(badIndex)
	}
}

func fetch(x []float64) {
	if path != portable && len(x) > 0 {
		fetchAVX2(&x[0], (len(x)+7)/8)
	}
}

func fetchNext(rests []Rest, idx []int32, val []float64) {
	if path != portable {
		fetchNextAVX2(&rests[0].From, int(unsafe.Sizeof(rests[0])), len(rests), unsafe.SliceData(idx), unsafe.SliceData(val))
	}
}

func mul(y, x []float64) {
	if path == portable || len(y) == 0 {
		mulGo(y, x)
	} else {
		mulAVX2(&y[0], &x[0], len(y))
	}
}

func freeRow(free, h, g, d []float64) {
	if path == portable {
		freeRowGo(free, h, g, d)
	} else {
		freeRowAVX2(&free[0], &h[0], &g[0], &d[0], len(free))
	}
}

func mirror(s []float64, r int) {
	if path == portable || r%squareTile != 0 || r == 0 {
		mirrorGo(s, r)
	} else {
		mirrorAVX2(&s[0], r)
	}
}

func symmetrize(s []float64, r int) {
	if path == portable || r%squareTile != 0 || r == 0 {
		symmetrizeGo(s, r)
	} else {
		symmetrizeAVX2(&s[0], r)
	}
}

func toFloat32(y []float32, x []float64) {
	switch {
	case path == portable || len(x) == 0:
		toFloat32Go(y, x)
	case path == avx2:
		toFloat32AVX2(&y[0], &x[0], len(x))
	default:
		toFloat32AVX512(&y[0], &x[0], len(x))
	}
}

func toFloat64(y []float64, x []float32) {
	switch {
	case path == portable || len(x) == 0:
		toFloat64Go(y, x)
	case path == avx2:
		toFloat64AVX2(&y[0], &x[0], len(x))
	default:
		toFloat64AVX512(&y[0], &x[0], len(x))
	}
}

func inners(x, y, z []float64) (xz, yz, yy, xy, xx float64) {
	switch n := len(x); {
	case path == portable || n == 0 || n%(innersStep*lanesAVX2) != 0:
		return innersGo(x, y, z)
	case path == avx512 && n%(innersStep*lanesAVX512) == 0:
		return innersAVX512(&x[0], &y[0], &z[0], n)
	}
	return innersAVX2(&x[0], &y[0], &z[0], len(x))
}

func bitRange(x []float64) (least, most uint64) {
	n := len(x) / rangeStep * rangeStep
	if path == portable || n == 0 {
		return bitRangeGo(x)
	}
	var l, m [lanesAVX2]uint64
	bitRangeAVX2(&x[0], n, &l, &m)
	least, most = min(l[0], l[1], l[2], l[3]), max(m[0], m[1], m[2], m[3])
	if n < len(x) {
		l, m := bitRangeGo(x[n:])
		least, most = min(least, l), max(most, m)
	}
	return least, most
}

func hashRows(first int, ptr []int64, col []int32, val []float64, above []int64) uint64 {
	if path == portable || len(above) == 0 {
		return hashRowsGo(first, ptr, col, val, above)
	}
	hash := hashRowsAVX2
	if path == avx512 {
		hash = hashRowsAVX512
	}
	sum, bad := hash(first, &ptr[0], unsafe.SliceData(col), unsafe.SliceData(val), &above[0], len(above), len(col))
	if bad != 0 {
		panic(badIndex)
	}
	return sum
}

// uniform sets the first numbers of dst and returns how many.
func uniform(dst []float64, key, first uint64, form *[4]uint64) (done int) {
	switch {
	case path == avx512 && len(dst) >= lanesAVX512:
		done = len(dst) / lanesAVX512 * lanesAVX512
		uniformAVX512(&dst[0], done, key, first, form)
	case path != portable && len(dst) >= lanesAVX2:
		done = len(dst) / lanesAVX2 * lanesAVX2
		uniformAVX2(&dst[0], done, key, first, form)
	}
	return done
}

func gradientStep(h, hd, ah []float64, pitch int, l1 []float64, c float64) (stepSq, along float64, empty bool) {
	if path == portable || len(h) == 0 || len(l1) == 0 {
		return gradientStepGo(h, hd, ah, pitch, l1, c)
	}
	step := gradientStepAVX2
	if path == avx512 {
		step = gradientStepAVX512
	}
	stepSq, along, none := step(&h[0], &hd[0], &ah[0], len(h)/pitch, 8*pitch, &l1[0], len(l1), c)
	if math.IsNaN(along) { // perhaps from a NaN in h, which the minimum of vectors ignores
		return gradientStepGo(h, hd, ah, pitch, l1, c)
	}
	return stepSq, along, none != 0
}

func rowSquares[F Float](x []F, r int, w []float64) float64 {
	if path == portable || r == 0 {
		return rowSquaresGo(x, r, w)
	}
	if narrow, is := any(&x[0]).(*float32); is {
		return rowSquares32AVX2(narrow, r, &w[0], len(w))
	}
	return rowSquaresAVX2(any(&x[0]).(*float64), r, &w[0], len(w))
}

func scale(x []float64, c float64) {
	if path == portable || len(x) == 0 {
		scaleGo(x, c)
	} else {
		scaleAVX2(&x[0], c, len(x))
	}
}

func axpy(y []float64, c float64, x []float64) {
	switch n := len(y); {
	case path == portable || n < shortest:
		axpyGo(y, c, x)
	case path == avx2 || n < longest:
		axpyAVX2(&y[0], c, &x[0], n)
	default:
		axpyAVX512(&y[0], c, &x[0], n)
	}
}

func axpy4(y []float64, c *[4]float64, x0, x1, x2, x3 []float64) {
	switch n := len(y); {
	case path == portable || n == 0:
		axpy4Go(y, c, x0, x1, x2, x3)
	case path == avx2 || n < longest:
		axpy4AVX2(&y[0], c, &x0[0], &x1[0], &x2[0], &x3[0], n)
	default:
		axpy4AVX512(&y[0], c, &x0[0], &x1[0], &x2[0], &x3[0], n)
	}
}

// panel returns how many columns the next panel takes if left columns remain and a panel takes at most most:
// all, if they fit. Otherwise they are divided among as few panels as possible, about equally wide. A panel
// consists of whole vectors of lanes columns unless it is the last, and is narrower than one only if left is.
func panel(left, most, lanes int) int {
	if left <= most {
		return left
	}
	count := (left + most - 1) / most
	return ((left+count-1)/count + lanes - 1) / lanes * lanes
}

func rowTimes(acc, row, x []float64) {
	r, n := len(acc), len(row)
	switch {
	case r == 0 || n == 0:
	case path == avx512:
		for k, w := 0, 0; k < r; k += w {
			w = panel(r-k, mostAVX512, lanesAVX512)
			rowTimesAVX512(&acc[k], w, &row[0], &x[k], n, 8*r)
		}
	case path == avx2 && r >= leastAVX2:
		for k, w := 0, 0; k < r; k += w {
			w = panel(r-k, mostAVX2, lanesAVX2)
			rowTimesAVX2(&acc[k], w, &row[0], &x[k], n, 8*r)
		}
	default:
		rowTimesGo(acc, row, x)
	}
}

// fetchFrom is the least size in bytes of an x whose rows are fetched into the cache ahead of time: 512 KiB,
// half of a second-level cache of 1 MiB.
const fetchFrom = 1 << 19

func gatherRows(acc []float64, idx []int32, val, x []float64) {
	r, n := len(acc), len(idx)
	switch {
	case r == 0 || n == 0:
		return
	case path == portable || path == avx2 && r < leastAVX2:
		gatherRowsGo(acc, idx, val, x)
		return
	case len(x) < r:
		panic(badIndex)
	}
	fetch := 0
	if 8*len(x) >= fetchFrom {
		fetch = min(n, max(0, cap(idx)-fetchAhead))
	}
	v, limit, ok := unsafe.SliceData(val), 8*(len(x)-r), true
	if path == avx512 {
		for k, w := 0, 0; k < r && ok; k += w {
			w = panel(r-k, mostAVX512, lanesAVX512)
			ok = gatherRowsAVX512(&acc[k], w, &idx[0], v, &x[k], n, fetch, 8*r, limit)
		}
	} else {
		for k, w := 0, 0; k < r && ok; k += w {
			w = panel(r-k, mostAVX2, lanesAVX2)
			ok = gatherRowsAVX2(&acc[k], w, &idx[0], v, &x[k], n, fetch, 8*r, limit)
		}
	}
	if !ok {
		panic(badIndex)
	}
}

func addGathered(z []float64, r int, at, from, idx []int32, val, x []float64) {
	if path == portable || r < leastAVX2 {
		addGatheredGo(z, r, at, from, idx, val, x)
		return
	}
	limitZ, limitX, ok := 8*(len(z)-r), 8*(len(x)-r), true
	i, v := unsafe.SliceData(idx), unsafe.SliceData(val)
	for k, w := 0, 0; k < r && ok; k += w {
		if wide(r) {
			w = panel(r-k, mostAVX512, lanesAVX512)
			ok = addGatheredAVX512(&z[k], w, &at[0], &from[0], len(at), i, v, &x[k], 8*r, limitZ, limitX)
		} else {
			w = panel(r-k, mostAVX2, lanesAVX2)
			ok = addGatheredAVX2(&z[k], w, &at[0], &from[0], len(at), i, v, &x[k], 8*r, limitZ, limitX)
		}
	}
	if !ok {
		panic(badIndex)
	}
}

func advance(x, d []float64, t float64, last []float64) (along float64, cut bool) {
	if path == portable || len(x) == 0 {
		return advanceGo(x, d, t, last)
	}
	along, signs := advanceAVX2(&x[0], &d[0], t, &last[0], len(x))
	return along, signs != 0
}

func advanceRounded[F Float](x []float64, y []float32, d []float64, t float64, last []F) (along float64, cut bool) {
	if path == portable || len(x) == 0 {
		return advanceRoundedGo(x, y, d, t, last)
	}
	var signs int
	switch last := any(&last[0]).(type) {
	case *float64:
		if path == avx2 {
			along, signs = advanceRoundedAVX2(&x[0], &d[0], t, last, len(x), &y[0])
		} else {
			along, signs = advanceRoundedAVX512(&x[0], &d[0], t, last, len(x), &y[0])
		}
	case *float32:
		if path == avx2 {
			along, signs = advanceRounded32AVX2(&x[0], &d[0], t, last, len(x), &y[0])
		} else {
			along, signs = advanceRounded32AVX512(&x[0], &d[0], t, last, len(x), &y[0])
		}
	}
	return along, signs != 0
}

func extrapolate(y []float64, c float64, x []float64, least float64) {
	if path == portable || len(y) == 0 {
		extrapolateGo(y, c, x, least)
	} else {
		extrapolateAVX2(&y[0], c, &x[0], least, len(y))
	}
}

func extrapolateRounded(wide []float64, y []float32, c float32, x []float32, least float32) {
	switch {
	case path == portable || len(y) == 0:
		extrapolateRoundedGo(wide, y, c, x, least)
	case path == avx2:
		extrapolateRoundedAVX2(&wide[0], &y[0], c, &x[0], least, len(y))
	default:
		extrapolateRoundedAVX512(&wide[0], &y[0], c, &x[0], least, len(y))
	}
}

func times[F Float](c []float64, alpha float64, a []F, arow, astep int, x []float64, rows, n, cols, stride, gap int) {
	if path == portable || path == avx2 && cols < leastAVX2 {
		timesGo(c, alpha, a, arow, astep, x, rows, n, cols, stride)
	} else {
		timesTiles(c, alpha, a, arow, astep, x, rows, n, cols, stride, gap)
	}
}

func gramStrip(c, x []float64, n, cols, stride int) (done int) {
	if path != avx512 {
		return 0
	}
	w := panel(cols, tileColsAVX512, lanesAVX512)
	for l := 0; l < n; l += chunkLen {
		gramAVX512(&c[0], &x[l*stride], min(chunkLen, n-l), w, 8*stride, 8*stride)
	}
	return w
}

// gramSquare does what GramRows does for the last rows and as many columns. It does nothing and returns false
// unless AVX-512 is in use and columns is gramSquareColumns.
func gramSquare(c, x []float64, n, columns, stride int) bool {
	if path != avx512 || columns != gramSquareColumns {
		return false
	}
	for l := 0; l < n; l += chunkLen {
		gramSquareAVX512(&c[0], &x[l*stride], min(chunkLen, n-l), 8*stride, 8*stride)
	}
	return true
}

// IntsPay reports whether GramInts takes less time than GramRows, and PanelSquares less than adding up lists.
func IntsPay() bool { return path != portable }

func packInts(dst []int32, u, v []float64, c float64) (differ bool, bits uint32) {
	done := len(dst) / lanesAVX2 * lanesAVX2
	if path == portable {
		done = 0
	}
	if done > 0 {
		d, b := packIntsAVX2(&dst[0], &u[0], &v[0], c, done)
		if d != 0 {
			return true, 0
		}
		bits = uint32(b) | uint32(b>>32)
	}
	differ, rest := packIntsGo(dst[done:], u[done:], v[done:], c)
	return differ, bits | rest
}

func gramInts(s []float64, c float64, rows *IntRows, first, last, lo, hi int) {
	if path == portable {
		gramIntsGo(s, c, rows, first, last, lo, hi)
	} else {
		gramIntTiles(s, c, rows, first, last, lo, hi)
	}
}

func stepBits(from []int32) uint32 {
	done := (len(from) - 1) / stepsAtOnce * stepsAtOnce
	if path == portable || done == 0 {
		return stepBitsGo(from)
	}
	bits := stepBitsAVX2(&from[0], done)
	return uint32(bits) | uint32(bits>>32) | stepBitsGo(from[done:])
}

func panelSquares(x []int16, spans []Span, idx []int32, val []int16) (sum float64) {
	if path == portable || len(x) == 0 || len(idx) == 0 {
		return panelSquaresGo(x, spans, idx, val)
	}
	var bad int
	if haveVNNI() {
		sum, bad = panelSquaresAVX512(&x[0], len(x)/PanelColumns, &spans[0].From, len(spans), &idx[0], &val[0], len(idx))
	} else {
		sum, bad = panelSquaresAVX2(&x[0], len(x)/PanelColumns, &spans[0].From, len(spans), &idx[0], &val[0], len(idx))
	}
	if bad != 0 {
		panic(badIndex)
	}
	return sum
}

func solveRows[F Float](x []F, width, n int, d []F, lists []int32, r int, off bool) {
	if path == portable {
		solveRowsGo(x, width, n, d, lists, r, off)
	} else {
		solveLanes(x, d, lists, r, off)
	}
}

func packRows[F Float](x []F, width int, h, g []float64, pitch int, diag, l1 []float64) {
	if path == portable {
		packRowsGo(x, width, h, g, pitch, diag, l1, 0)
	} else {
		packLanes(x, width, h, g, pitch, diag, l1)
	}
}

func unpackRows[F Float](dst, h []float64, x []F, width, pitch, n, r int) {
	if path == portable {
		unpackRowsGo(dst, h, x, width, pitch, n, r, 0)
	} else {
		unpackLanes(dst, h, x, width, pitch, n, r)
	}
}
