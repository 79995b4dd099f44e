package kernel

import "math"

// HashSum returns the sum, modulo 2⁶⁴, of the hashes of entries in one row or column of a sparse matrix. The
// hash of an entry covers its place, first + col[p]·2^shift, and, unless val is nil, the bits of val[p].
// shift must be below 64, and first must have no bit where a shifted column may have one.
//
// Different places and values, and different sets of them, have the same hash once in 2⁶⁴. The sum is the
// same on every path.
func HashSum(first uint64, shift int, col []int32, val []float64) uint64 {
	if val != nil && len(val) != len(col) {
		panic(badLen)
	}
	return hashSum(first, shift, col, val)
}

func hashSumGo(first uint64, shift int, col []int32, val []float64) (sum uint64) {
	if val == nil {
		for _, c := range col {
			sum += Mix(first | uint64(c)<<(shift&63))
		}
		return sum
	}
	val = val[:len(col)]
	for p, c := range col {
		v := math.Float64bits(val[p])
		v = (v ^ v>>32) * mixStep // the low bits of round numbers are all 0
		sum += Mix((first | uint64(c)<<(shift&63)) ^ v)
	}
	return sum
}
