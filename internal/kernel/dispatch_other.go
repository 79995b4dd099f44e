//go:build !amd64 || noasm

package kernel

// Without assembly there is only the portable path.

const portable = iota

func best() int { return portable }

// Lanes returns how many float64 numbers a vector of the path in use holds.
func Lanes() int { return 1 }

// Portable turns assembly off until the returned function is called. It is meant for tests. No kernel may be
// running in another goroutine when either function is called.
func Portable() (restore func()) { return use(portable) }

func use(int) (restore func()) { return func() {} }

func rowSquares[F Float](x []F, r int, w []float64) float64 { return rowSquaresGo(x, r, w) }

func hashRows(first int, ptr []int64, col []int32, val []float64, above []int64) uint64 {
	return hashRowsGo(first, ptr, col, val, above)
}

func uniform([]float64, uint64, uint64, *[4]uint64) (done int) { return 0 }

func gradientStep(h, hd, ah []float64, pitch int, l1 []float64, c float64) (stepSq, along float64, empty bool) {
	return gradientStepGo(h, hd, ah, pitch, l1, c)
}

func sumPairs[F Float](x []F, r int, first int32, rows []PairRow, cut, idx []int32, val []float64) float64 {
	return sumPairsGo(x, r, first, rows, cut, idx, val)
}

func scatterLists(y []float64, lists []List, idx []int32, val []float64) {
	scatterListsGo(y, lists, idx, val)
}

const columnWide, columnScratch = 1, 0 // there are no tiles

func visitTile(*columnTile, *Column, int, float64, []int64, []int32, []float64) (changed int) {
	return -1
}

func fetch([]float64) {}

func fetchNext([]Rest, []int32, []float64) {}

func mul(y, x []float64)              { mulGo(y, x) }
func freeRow(free, h, g, d []float64) { freeRowGo(free, h, g, d) }

func mirror(s []float64, r int)                             { mirrorGo(s, r) }
func symmetrize(s []float64, r int)                         { symmetrizeGo(s, r) }
func toFloat32(y []float32, x []float64)                    { toFloat32Go(y, x) }
func toFloat64(y []float64, x []float32)                    { toFloat64Go(y, x) }
func inners(x, y, z []float64) (xz, yz, yy, xy, xx float64) { return innersGo(x, y, z) }

func bitRange(x []float64) (least, most uint64) { return bitRangeGo(x) }

func dot(x, y []float64) float64               { return dotGo(x, y) }
func scale(x []float64, c float64)             { scaleGo(x, c) }
func axpy(y []float64, c float64, x []float64) { axpyGo(y, c, x) }
func axpy4(y []float64, c *[4]float64, x0, x1, x2, x3 []float64) {
	axpy4Go(y, c, x0, x1, x2, x3)
}
func rowTimes(acc, row, x []float64)                          { rowTimesGo(acc, row, x) }
func gatherRows(acc []float64, idx []int32, val, x []float64) { gatherRowsGo(acc, idx, val, x) }

func gatherSpan[F Float](acc []float64, r int, at, to, end []int64, idx []int32, val []float64, x []F, first, width int) {
	gatherSpanGo(acc, r, at, to, end, idx, val, x, first, width)
}

func times[F Float](c []float64, alpha float64, a []F, arow, astep int, x []float64, rows, n, cols, stride, _ int) {
	timesGo(c, alpha, a, arow, astep, x, rows, n, cols, stride)
}

func singleTimes(c []float64, alpha float64, a []float32, stride int, x []float32, r, _ int) {
	singleTimesGo(c, alpha, a, stride, x, r)
}

const solveBytes = 256 // as with assembly, although any value would do

func gramStrip(_, _ []float64, _, _, _ int) (done int) { return 0 }

func gramSquare(_, _ []float64, _, _, _ int) bool { return false }

// IntsPay reports whether GramInts takes less time than GramRows, and PanelSquares less than adding up lists.
func IntsPay() bool { return false }

func packInts(dst []int32, u, v []float64, c float64) (differ bool, bits uint32) {
	return packIntsGo(dst, u, v, c)
}

func stepBits(from []int32) uint32 { return stepBitsGo(from) }

func panelSquares(x []int16, spans []Span, idx []int32, val []int16) float64 {
	return panelSquaresGo(x, spans, idx, val)
}

// BytesPay reports whether GramBytes takes less time than GramInts.
func BytesPay() bool { return false }

func packBytes(dst []int32, u, v, w, z []float64, c float64) (differ bool, bits uint32) {
	return packBytesGo(dst, u, v, w, z, c)
}

func intPanel(stride int) int { return stride }

func gramBytes(s []float64, c float64, rows *IntRows, first, last, lo, hi int) {
	gramBytesGo(s, c, rows, first, last, lo, hi)
}

func gramInts(s []float64, c float64, rows *IntRows, first, last, lo, hi int) {
	gramIntsGo(s, c, rows, first, last, lo, hi)
}

func solveRows[F Float](x []F, width, n int, d []F, lists []int32, r int, off bool) {
	solveRowsGo(x, width, n, d, lists, r, off)
}

func packRows[F Float](x []F, width int, h, g []float64, pitch int, diag, l1 []float64) {
	packRowsGo(x, width, h, g, pitch, diag, l1, 0)
}

func unpackRows[F Float](dst, h []float64, x []F, width, pitch, n, r int) {
	unpackRowsGo(dst, h, x, width, pitch, n, r, 0)
}

func addGathered(z []float64, r int, at, from, idx []int32, val, x []float64) {
	addGatheredGo(z, r, at, from, idx, val, x)
}

func gatherEach[F Float](dst, lower []float64, r int, from, idx []int32, val []float64, x []F, scale float64) {
	gatherEachGo(dst, lower, r, from, idx, val, x, scale)
}

func advance(x, d []float64, t float64, last []float64) (along float64, cut bool) {
	return advanceGo(x, d, t, last)
}

func advanceRounded[F Float](x []float64, y []float32, d []float64, t float64, last []F) (along float64, cut bool) {
	return advanceRoundedGo(x, y, d, t, last)
}

func extrapolate(y []float64, c float64, x []float64, least float64) {
	extrapolateGo(y, c, x, least)
}

func extrapolateRounded(wide []float64, y []float32, c float32, x []float32, least float32) {
	extrapolateRoundedGo(wide, y, c, x, least)
}
