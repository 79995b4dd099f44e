package kernel

import "math"

// The row kernels multiply one row of a matrix by a matrix x of r columns, stored by rows, and add the
// product to acc, which has r numbers.

// RowTimes adds Σ_l row[l]·x[l·r+k] to acc[k], with r = len(acc): a dense row times x, which has len(row)·r
// numbers.
func RowTimes(acc, row, x []float64) {
	if len(x) != len(row)*len(acc) {
		panic(badLen)
	}
	rowTimes(acc, row, x)
}

func rowTimesGo(acc, row, x []float64) {
	r := len(acc)
	for ; len(row) >= 4; row, x = row[4:], x[4*r:] {
		axpy4Go(acc, (*[4]float64)(row), x[:r], x[r:2*r], x[2*r:3*r], x[3*r:4*r])
	}
	for l, v := range row {
		axpyGo(acc, v, x[l*r:(l+1)*r])
	}
}

// GatherRows adds Σ_p val[p]·x[idx[p]·r+k] to acc[k], with r = len(acc): a sparse row times x. nil values
// stand for ones.
//
// The elements of idx beyond its length, up to its capacity, are taken to be the indices wanted next. If x
// takes at least 512 KiB, the assembly fetches the rows they name into the cache early. So pass a row of a
// sparse matrix as a slice of all the matrix's indices: with a million rows of 16 numbers and ten entries a
// row that is 1.6 times faster. It changes no bit of the result.
func GatherRows(acc []float64, idx []int32, val, x []float64) {
	if val != nil && len(val) != len(idx) {
		panic(badLen)
	}
	gatherRows(acc, idx, val, x)
}

func gatherRowsGo[F Float](acc []float64, idx []int32, val []float64, x []F) {
	r := len(acc)
	if r == 0 {
		return
	}
	rows := uint(len(x) / r)
	row := func(k int32) []F {
		if uint(k) >= rows {
			panic(badIndex)
		}
		return x[int(k)*r : int(k)*r+r]
	}
	var c [4]float64
	for ; len(idx) >= 4; idx = idx[4:] {
		if val == nil {
			c = [4]float64{1, 1, 1, 1}
		} else {
			c = [4]float64(val)
			val = val[4:]
		}
		axpy4Go(acc, &c, row(idx[0]), row(idx[1]), row(idx[2]), row(idx[3]))
	}
	for p, k := range idx {
		v := 1.0
		if val != nil {
			v = val[p]
		}
		axpyGo(acc, v, row(k))
	}
}

// GatherEach sets the rows of dst (r columns) to scale times the rows of a sparse matrix times x. Row k of
// that matrix has the entries p − from[0] for from[k] ≤ p < from[k+1]. The elements of from may be places
// modulo 2³²: only their differences count. x may be of float32, which takes half as many cache lines and is
// widened on the way.
//
// It is GatherRows for many short rows, and uses the elements of idx beyond its length in the same way.
func GatherEach[F Float](dst []float64, r int, from, idx []int32, val []float64, x []F, scale float64) {
	if checkPieces(dst, r, from, idx, val, 1) {
		gatherEach(dst, nil, r, from, idx, val, x, scale)
	}
}

// GatherSplit is GatherEach for rows in two pieces. Row k of dst becomes scale times the product of all
// entries from from[2k] up to from[2k+2], and row k of lower scale times the product of those before
// from[2k+1] alone.
func GatherSplit[F Float](dst, lower []float64, r int, from, idx []int32, val []float64, x []F, scale float64) {
	if len(lower) != len(dst) {
		panic(badLen)
	}
	if checkPieces(dst, r, from, idx, val, 2) {
		gatherEach(dst, lower, r, from, idx, val, x, scale)
	}
}

// checkPieces reports whether there is anything to compute.
func checkPieces(dst []float64, r int, from, idx []int32, val []float64, pieces int) bool {
	if len(dst) == 0 || r == 0 {
		return false
	}
	if len(dst)%r != 0 || len(from) != pieces*(len(dst)/r)+1 || val != nil && len(val) != len(idx) {
		panic(badLen)
	}
	checkSteps(from, len(idx))
	return true
}

// checkSteps panics unless the places in from, modulo 2³², never step back and together cover the given
// number of entries.
func checkSteps(from []int32, entries int) {
	steps := len(from) - 1
	all := stepBits(from) // no step is larger than this
	sum := int64(uint32(from[steps] - from[0]))
	if int64(all) > math.MaxUint32/int64(max(steps, 1)) {
		sum = 0
		for k, v := range from[1:] {
			sum += int64(v - from[k])
		}
	}
	if all > math.MaxInt32 || sum != int64(entries) {
		panic(badLen)
	}
}

func stepBitsGo(from []int32) (bits uint32) {
	last := from[0]
	for _, v := range from[1:] {
		bits |= uint32(v - last)
		last = v
	}
	return bits
}

func gatherEachGo[F Float](dst, lower []float64, r int, from, idx []int32, val []float64, x []F, scale float64) {
	take := func(acc []float64) {
		n := from[1] - from[0]
		if val == nil {
			gatherRowsGo(acc, idx[:n], nil, x)
		} else {
			gatherRowsGo(acc, idx[:n], val[:n], x)
			val = val[n:]
		}
		from, idx = from[1:], idx[n:]
	}
	for k := 0; k < len(dst); k += r {
		acc := dst[k : k+r]
		clear(acc)
		if lower != nil {
			take(acc)
			for j, v := range acc {
				lower[k+j] = v * scale
			}
		}
		take(acc)
		for j := range acc {
			acc[j] *= scale
		}
	}
}

// GatherSpan adds to the rows of acc (r columns) what some columns of a sparse matrix contribute to its
// product with x. The columns begin with first and are as many as x has rows. For row k they are found at the
// entries p from at[k] on: GatherSpan stops at the first entry of another column, or at end[k], and sets
// to[k] to where it stopped. So if the columns increase in each row, one span of columns after the other
// makes up the whole product. nil values stand for ones.
func GatherSpan[F Float](acc []float64, r int, at, to, end []int64, idx []int32, val []float64, x []F, first int) {
	rows := shape(acc, r)
	width := shape(x, r)
	if len(at) != rows || len(to) != rows || len(end) != rows || val != nil && len(val) != len(idx) || first < 0 || first > math.MaxInt32-width {
		panic(badLen)
	}
	for k, p := range at {
		if p < 0 || end[k] < p || end[k] > int64(len(idx)) {
			panic(badLen)
		}
	}
	switch {
	case width == 0:
		copy(to, at)
	case rows > 0:
		gatherSpan(acc, r, at, to, end, idx, val, x, first, width)
	}
}

func gatherSpanGo[F Float](acc []float64, r int, at, to, end []int64, idx []int32, val []float64, x []F, first, width int) {
	for k, p := range at {
		for ; p < end[k]; p++ {
			l := int(idx[p]) - first
			if l < 0 || l >= width {
				break
			}
			v := 1.0
			if val != nil {
				v = val[p]
			}
			axpyGo(acc[k*r:(k+1)*r], v, x[l*r:(l+1)*r])
		}
		to[k] = p
	}
}
