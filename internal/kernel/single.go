package kernel

// Products of float32 have twice as many numbers in a vector, and their error is some 1e-7 of Σ|terms|. That
// is good enough for the direction in which rows move as long as they have far to go.

// SinglePitch returns how far apart rows of r numbers of float32 begin in the arguments of SingleTimes, which
// is a whole number of vectors.
func SinglePitch(r int) int { return (r + 15) / 16 * 16 }

// ToSingles sets the rows of y, which begin SinglePitch(r) numbers apart, to the rows of x, of r numbers
// each.
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

// SingleTimes adds alpha·A·x to c: c[i·r+k] += alpha·Σ_l a[i·stride+l]·x[l·SinglePitch(r)+k]. Terms are
// multiplied and added up in float32, chunkLen at a time, and the sums of the chunks in float64. A has as
// many columns as x has rows, and as many rows as c. What lies gap ≥ 0 numbers beyond the end of each row is
// wanted next.
//
// No bit of a row depends on the other rows of the call. AVX2 and AVX-512 give the same bits if r is a
// multiple of 4. The error is at most (chunkLen + 1)·2⁻²⁴·Σ|terms|, except for terms and sums below 2⁻¹²⁶,
// plus that of the sums in float64.
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
