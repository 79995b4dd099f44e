package kernel

import "math"

// HashRows adds up hashes of entries of a sparse square matrix, modulo 2⁶⁴: hashes of those left of the
// diagonal count with a plus, those right of it with a minus, and the diagonal does not count. The rows are
// those from first on, one for each number of above. Entries ptr[k] ≤ p < ptr[k+1] are those of row first+k,
// in columns col[p], which increase. Rows and columns are below 2³¹. HashRows sets above[k] to the place of
// the row's first entry right of the diagonal, or to the end of the row if there is none.
//
// The hash of an entry covers its row and column, the larger one first, and, unless val is nil, the bits of
// val[p]. Different places and values, and different sets of them, have the same hash once in 2⁶⁴. Everything
// is the same on every path.
func HashRows(first int, ptr []int64, col []int32, val []float64, above []int64) uint64 {
	if len(ptr) != len(above)+1 || val != nil && len(val) != len(col) {
		panic(badLen)
	}
	return hashRows(first, ptr, col, val, above)
}

func hashRowsGo(first int, ptr []int64, col []int32, val []float64, above []int64) (sum uint64) {
	for k := range above {
		i, p, to := first+k, ptr[k], ptr[k+1]
		if uint64(p) > uint64(to) || uint64(to) > uint64(len(col)) {
			panic(badIndex)
		}
		row, values := col[p:to], val
		if val != nil {
			values = val[p:to]
		}
		left, at := hashBelow(i, uint64(i)<<32, 0, row, values)
		if at < len(row) && int(row[at]) == i {
			at++
		}
		above[k] = p + int64(at)
		if val != nil {
			values = values[at:]
		}
		right, _ := hashBelow(math.MaxInt, uint64(i), 32, row[at:], values)
		sum += left - right
	}
	return sum
}

// hashBelow adds up the hashes of entries until one is not in a column below limit, and returns how many it
// has passed. Their places are first + col[p]·2^shift.
func hashBelow(limit int, first uint64, shift int, col []int32, val []float64) (sum uint64, passed int) {
	if val == nil {
		for p, c := range col {
			if int(c) >= limit {
				return sum, p
			}
			sum += Mix(first | uint64(c)<<(shift&63))
		}
		return sum, len(col)
	}
	val = val[:len(col)]
	for p, c := range col {
		if int(c) >= limit {
			return sum, p
		}
		v := math.Float64bits(val[p])
		v = (v ^ v>>32) * mixStep // the low bits of round numbers are all 0
		sum += Mix((first | uint64(c)<<(shift&63)) ^ v)
	}
	return sum, len(col)
}
