package kernel

import "math"

// HashSum returns the sum, modulo 2⁶⁴, of hashes of entries of a sparse matrix in one row or column: of the places first + col[p]·2^shift and, unless val is nil, of the bits of val[p].
// shift is below 64, and first has no bit where one of the others may have one. Places and values that are different, and sums of such, have the same hash once in 2⁶⁴. It is the same on every path.
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
		v = (v ^ v>>32) * mixStep // of round numbers the low bits are all 0
		sum += Mix((first | uint64(c)<<(shift&63)) ^ v)
	}
	return sum
}
