package matrix

import (
	"context"

	"symnmf/internal/kernel"
)

// sweepRows is the number of rows of a matrix that one step of its inversion sweeps out, and the number in
// one part of the work.
const sweepRows = 128

// invert replaces the symmetric positive definite a, n×n by rows, by minus its inverse, which is symmetric
// but for rounding. It sweeps out the diagonal blocks K one after the other:
//
//	A_KK ← −P,  A_KJ ← P·A_KJ,  A_IK ← A_IK·P,  A_IJ ← A_IJ − A_IK·P·A_KJ,  P = A_KK⁻¹
//
// After each step, the swept blocks together hold minus the inverse of their part of A, and the other blocks
// their Schur complement. done is then called with the number of rows swept so far.
//
// It costs n³ multiply–adds, nearly all of them in products of tiles, and 2·sweepRows·n numbers of scratch.
// ok is false if rounding has made a block indefinite, or if ctx ends, with its error; the contents of a are
// then undefined.
//
// Source: Goodnight, A tutorial on the SWEEP operator, The American Statistician 33, 1979.
func invert(ctx context.Context, a []float64, n, workers int, done func(rows int)) (ok bool, err error) {
	across, down := make([]float64, sweepRows*n), make([]float64, n*sweepRows) // A_K:, and its transpose times P
	for from := 0; from < n; from += sweepRows {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		k := min(sweepRows, n-from)
		rows, p := across[:k*n], make([]float64, k*k)
		copy(rows, a[from*n:(from+k)*n])
		for i := range k {
			copy(p[i*k:(i+1)*k], rows[i*n+from:])
		}
		if !invertSmall(p, k) {
			return false, nil
		}
		w := down[:n*k]
		kernel.Blocks(n, sweepRows, workers, func(_, lo, hi int) {
			wi := w[lo*k : hi*k]
			clear(wi)
			kernel.AddTransTimes(wi, -1, rows[lo:(k-1)*n+hi], n, p, k) // p is −P
			kernel.AddRowsTimes(a[lo*n:hi*n], -1, wi, k, rows, n)
			for i := lo; i < hi; i++ {
				copy(a[i*n+from:i*n+from+k], w[i*k:(i+1)*k])
			}
		})
		transpose(a[from*n:], n, w, k, n, k)
		for i := range k {
			copy(a[(from+i)*n+from:], p[i*k:(i+1)*k])
		}
		done(from + k)
	}
	return true, nil
}

// invertSmall is invert for a few rows, one row at a time and without scratch.
func invertSmall(a []float64, n int) (ok bool) {
	for k := range n {
		row := a[k*n : (k+1)*n]
		pivot := row[k]
		if !(pivot > 0) {
			return false
		}
		row[k] = 0
		kernel.Scale(row, 1/pivot)
		for i := range n {
			if i != k {
				c := a[i*n+k]
				kernel.Axpy(a[i*n:(i+1)*n], -c, row)
				a[i*n+k] = c / pivot
			}
		}
		row[k] = -1 / pivot
	}
	return true
}
