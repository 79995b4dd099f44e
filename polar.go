package symnmf

import (
	"math"

	"symnmf/internal/kernel"
)

// polar finds the matrices with orthonormal rows that are nearest to k×r matrices, k ≤ r, in room of its own.
type polar struct {
	k, r int
	// least is about the least singular value of the matrices, relative to the largest. A wrong value
	// costs iterations, one that is too large the most.
	least    float64
	stop     func() bool // may be nil
	x, y     []float64   // r×k
	c, g, gt []float64   // k×k
}

func newPolar(k, r int, least float64, stop func() bool) *polar {
	w := &polar{k: k, r: r, least: min(max(least, leastRatio), 1), stop: stop, x: make([]float64, k*r), y: make([]float64, k*r)}
	for _, m := range []*[]float64{&w.c, &w.g, &w.gt} {
		*m = make([]float64, k*k)
	}
	return w
}

// leastRatio is the smallest ratio of singular values that is taken for least. With a smaller one, a product
// of them would be lost in rounding.
const leastRatio = 1e-5

// nearest sets q to the polar factor of M (k×r). It uses Halley's iteration with weights for X = Mᵀ and, near
// the end, the Newton–Schulz iteration:
//
//	X ← X·(aI + bXᵀX)·(I + cXᵀX)⁻¹   and   X ← X·(3I − XᵀX)/2
//
// That gives some seven digits if the condition of M is at most a million. If M is singular, or nearly so, it
// uses the singular value decomposition. It reports false, and spoils q, if the run has to end.
//
// Source: Nakatsukasa, Bai, Gygi, Optimizing Halley's iteration for computing the matrix polar decomposition,
// SIAM J. Matrix Anal. Appl. 31, 2010; Higham, Functions of Matrices, 2008, section 8.
func (w *polar) nearest(q, m []float64) bool {
	const (
		most = 20   // iterations; five to seven are enough
		near = 0.1  // ‖XᵀX − I‖² from which on no inverse is needed; below 4 the next one is smaller
		end  = 1e-7 // after which one more iteration is the last
	)
	k, x, y, c := w.k, w.x, w.y, w.c
	transposeTo(x, m, w.k, w.r)
	least := w.least
	for i := range most {
		if w.stop != nil && w.stop() {
			return false
		}
		clear(c)
		kernel.Gram(c, x, k)
		size := kernel.SumSq(c)
		off := size + float64(k)
		for j := range k {
			off -= 2 * c[j*k+j]
		}
		clear(y)
		if off <= near {
			kernel.Scale(c, -0.5)
			for j := range k {
				c[j*k+j] += 1.5
			}
			kernel.RowsTimes(y, x, k, c, k)
			if off <= end {
				transposeTo(q, y, w.r, k)
				return true
			}
			x, y = y, x
			continue
		}
		unit := 1.0 // the square of the factor that brings the singular values of X to at most 1
		if i == 0 {
			unit = 1 / math.Sqrt(size)
		}
		ha, hb, hc := halleyWeights(least)
		least = min(1, least*(ha+hb*least*least)/(1+hc*least*least))
		kernel.Scale(c, hc*unit)
		for j := range k {
			c[j*k+j]++
		}
		if !inverseRoot(w.g, w.gt, c, k) {
			break
		}
		clear(c)
		kernel.TransTimes(c, w.g, k, w.g, k) // L⁻ᵀL⁻¹ = (I + cXᵀX)⁻¹
		kernel.Scale(c, (ha-hb/hc)*math.Sqrt(unit))
		for j := range k {
			c[j*k+j] += hb / hc * math.Sqrt(unit)
		}
		kernel.RowsTimes(y, x, k, c, k)
		x, y = y, x
	}
	copy(q, rotation(m, k, w.r))
	return true
}

// halleyWeights returns the a, b and c with which σ·(a + bσ²)/(1 + cσ²) brings all of [least, 1] nearest
// to 1.
func halleyWeights(least float64) (a, b, c float64) {
	l := least * least
	d := math.Cbrt(4 * (1 - l) / (l * l))
	root := math.Sqrt(1 + d)
	a = root + math.Sqrt(8-4*d+8*(2-l)/(l*root))/2
	b = (a - 1) * (a - 1) / 4
	return a, b, a + b - 1
}

// transposeTo sets y to the transpose of x (rows×columns).
func transposeTo[F kernel.Float](y, x []F, rows, columns int) {
	for i := range rows {
		for j, v := range x[i*columns : (i+1)*columns] {
			y[j*rows+i] = v
		}
	}
}
