package kernel

// Products of float32 have twice as many numbers in a vector, and err by some 1e-7 of Σ|terms|: good enough for the direction in which rows go as long as that is far.

// SinglePitch returns how far apart rows of r numbers of float32 lie for SingleTimes: whole vectors.
func SinglePitch(r int) int { return (r + 15) / 16 * 16 }

// ToSingles sets the rows of y, which are SinglePitch(r) numbers apart, to those of x, of r numbers.
func ToSingles(y []float32, x []float64, r int) {
	pitch := SinglePitch(r)
	if shape(y, pitch) != shape(x, r) {
		panic(badLen)
	}
	if pitch == r {
		ToFloat32(y, x)
		return
	}
	for i := range shape(x, r) {
		ToFloat32(y[i*pitch:i*pitch+r], x[i*r:(i+1)*r])
	}
}

// SingleTimes adds alpha·A·x to c, c[i·r+k] += alpha·Σ_l a[i·stride+l]·x[l·SinglePitch(r)+k]: terms are multiplied and added up in float32, chunkLen at a time, and the
// sums in float64. A has as many columns as x has rows, and as many rows as c. What lies beyond the end of each row by gap ≥ 0 numbers is wanted next.
//
// No bit of a row depends on the other rows of the call; with AVX2 and AVX-512 they are the same if r is a multiple of 4. The error is at most
// (chunkLen + 1)·2⁻²⁴·Σ|terms|, but for terms and sums of less than 2⁻¹²⁶, and that of the sums in float64.
func SingleTimes(c []float64, alpha float64, a []float32, stride int, x []float32, r, gap int) {
	rows, n := shape(c, r), shape(x, SinglePitch(r))
	checkStrided(len(a), rows, n, stride)
	if rows > 0 && n > 0 {
		singleTimes(c, alpha, a, stride, x, r, gap)
	}
}

func singleTimesGo(c []float64, alpha float64, a []float32, stride int, x []float32, r int) {
	pitch := SinglePitch(r)
	sums := make([]float32, r)
	for i := range len(c) / r {
		ci := c[i*r : (i+1)*r]
		for lo, n := 0, len(x)/pitch; lo < n; lo += chunkLen {
			clear(sums)
			for l := lo; l < min(lo+chunkLen, n); l++ {
				v := a[i*stride+l]
				for k, u := range x[l*pitch : l*pitch+r] {
					sums[k] += float32(v * u)
				}
			}
			for k, s := range sums {
				ci[k] += float64(alpha * float64(s))
			}
		}
	}
}
