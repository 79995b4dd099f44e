package kernel

import "math"

// Uniform sets dst[i] to number first+i of those with the given key: the upper 53 bits of Bits(key, first+i),
// times 2⁻⁵³, which is uniform in [0, 1). Every bit is the same on every path.
func Uniform(dst []float64, key, first uint64) {
	done := uniform(dst, key, first, &unitForm)
	for i := range dst[done:] {
		dst[done+i] = float64(Bits(key, first+uint64(done+i))>>11) * 0x1p-53
	}
}

// Centered sets dst[i] to Bits(key, first+i), taken as a signed integer and rounded to
// float64, times 2⁻⁶³, which is uniform in [−1, 1]. Every bit is the same on every path.
func Centered(dst []float64, key, first uint64) {
	done := uniform(dst, key, first, &centeredForm)
	for i := range dst[done:] {
		dst[done+i] = float64(int64(Bits(key, first+uint64(done+i)))) * 0x1p-63
	}
}

// How assembly makes numbers of 64 bits (see gen/uniform.go): how many bits it drops, lower, upper and base.
var (
	unitForm     = [4]uint64{11, 0x3fe << 52, 0x41e << 52, math.Float64bits(0x1p31 + 0x1p-1)}
	centeredForm = [4]uint64{0, 0x3f4 << 52, 0x414<<52 | signHalf, math.Float64bits(0x1p21 + 0x1p0 + 0x1p-11)}
)

// signHalf turns the sign over in an upper half, which then counts up from −2³¹.
const signHalf = 1 << 31
