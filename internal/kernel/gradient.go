package kernel

import "math"

// GradientStep measures the gradient G = H·D − A·H + Λ for rows of H, given by rows of H·D (hd) and of A·H (ah),
// all of them pitch numbers apart. Λ has the number l1[j] in column j; columns beyond len(l1) do not count.
// With c finite,
//
//	stepSq = Σ min(h_ij, c·g_ij)², where g_ij = (h·D)_ij − ah_ij + l1[j]
//	along = Σ ah_ij·h_ij
//
// and empty says whether any row of ah is zero. stepSq is NaN if any h_ij or g_ij is.
func GradientStep(h, hd, ah []float64, pitch int, l1 []float64, c float64) (stepSq, along float64, empty bool) {
	if len(hd) != len(h) || len(ah) != len(h) || pitch < max(1, len(l1)) || len(h)%pitch != 0 {
		panic(badLen)
	}
	return gradientStep(h, hd, ah, pitch, l1, c)
}

// The outer conversions keep the compiler from fusing products with sums.
func gradientStepGo(h, hd, ah []float64, pitch int, l1 []float64, c float64) (stepSq, along float64, empty bool) {
	for lo := 0; lo < len(h); lo += pitch {
		hi, hdi, ahi := h[lo:lo+len(l1)], hd[lo:lo+len(l1)], ah[lo:lo+len(l1)]
		along += dotGo(ahi, hi)
		var any uint64
		for j, l1j := range l1 {
			step := min(hi[j], (hdi[j]-ahi[j]+l1j)*c)
			stepSq += float64(step * step)
			any |= math.Float64bits(ahi[j])
		}
		empty = empty || any<<1 == 0
	}
	return stepSq, along, empty
}
