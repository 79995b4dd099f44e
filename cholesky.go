package symnmf

import (
	"math"

	"symnmf/internal/kernel"
)

// choleskyBlock is the number of columns that cholesky finishes at a time, and of rows that go to one
// goroutine.
const choleskyBlock = 64

// cholesky replaces the lower triangle of the symmetric n×n matrix a, by rows, by L with L·Lᵀ = A, and
// reports whether A is positive definite; if not, a is spoiled. Nothing above the diagonal is read, and what
// is there is lost. n³/6 multiply–adds; the bits do not depend on workers.
//
// It works by blocks of columns. What the columns before a block contribute is one product of matrices, and
// the rest is little work.
func cholesky(a []float64, n, workers int) bool {
	panel := make([]float64, n*min(n, choleskyBlock))
	for from := 0; from < n; from += choleskyBlock {
		to := min(from+choleskyBlock, n)
		width := to - from
		before := panel[:from*width] // rows from to to of L before column from, transposed
		for c := range width {
			for l, v := range a[(from+c)*n : (from+c)*n+from] {
				before[l*width+c] = v
			}
		}
		scratch := func() []float64 { return make([]float64, choleskyBlock*width) }
		update := func(s []float64, lo, hi int) {
			if from == 0 {
				return
			}
			s = s[:(hi-lo)*width]
			clear(s)
			kernel.RowsTimes(s, a[lo*n:(hi-1)*n+from], n, before, width)
			for i := lo; i < hi; i++ {
				kernel.Axpy(a[i*n+from:i*n+to], -1, s[(i-lo)*width:(i-lo+1)*width])
			}
		}
		// solve finishes row i up to column last, exclusive.
		solve := func(i, last int) {
			row := a[i*n+from : i*n+last]
			for c := range row {
				above := a[(from+c)*n+from : (from+c)*n+from+c+1]
				row[c] = (row[c] - kernel.Dot(row[:c], above[:c])) / above[c]
			}
		}
		update(scratch(), from, to)
		for i := from; i < to; i++ {
			solve(i, i)
			pivot := a[i*n+i] - kernel.SumSq(a[i*n+from:i*n+i])
			if !(pivot > 0) {
				return false
			}
			a[i*n+i] = math.Sqrt(pivot)
		}
		kernel.BlocksWith(n-to, choleskyBlock, workers, scratch, func(s []float64, _, lo, hi int) {
			update(s, to+lo, to+hi)
			for i := to + lo; i < to+hi; i++ {
				solve(i, to)
			}
		})
	}
	return true
}

// choleskySolve replaces x (n) by the solution y of L·Lᵀ·y = x. O(n²).
func choleskySolve(l []float64, n int, x []float64) {
	for i := range n {
		x[i] = (x[i] - kernel.Dot(l[i*n:i*n+i], x[:i])) / l[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		x[i] /= l[i*n+i]
		kernel.Axpy(x[:i], -x[i], l[i*n:i*n+i])
	}
}

// inverseRoot sets g to L⁻¹ and gt to L⁻ᵀ for the lower triangle L with L·Lᵀ = A, where a (n×n) is not read
// above the diagonal. It reports whether A is positive definite and not nearly singular. n³ multiply–adds in
// products of matrices, and little else.
//
// It works by blocks of rows. For the rows at work, L is A·L⁻ᵀ in the columns before the block, and L⁻¹
// follows from L⁻¹·L = I.
func inverseRoot(g, gt, a []float64, n int) bool {
	const (
		width    = 8
		singular = 0x1p-46 // the part of its square that is left of a row which is rounding of others
	)
	clear(g)
	clear(gt)
	before, product := make([]float64, width*n), make([]float64, width*n)
	var d [width][width]float64 // L from the diagonal on
	for from := 0; from < n; from += width {
		to := min(from+width, n)
		l, p := before[:(to-from)*n], product[:(to-from)*n]
		clear(l)
		clear(p)
		if from > 0 {
			kernel.RowsTimes(l, a[from*n:to*n], n, gt[:from*n], n)
			kernel.RowsTimes(p, l, n, g[:from*n], n)
		}
		for i := range to - from {
			for j := range i + 1 {
				s := a[(from+i)*n+from+j] - kernel.Dot(l[i*n:i*n+from], l[j*n:j*n+from])
				for k := range j {
					s -= d[i][k] * d[j][k]
				}
				if j < i {
					d[i][j] = s / d[j][j]
				} else if s > singular*a[(from+i)*n+from+i] {
					d[i][i] = math.Sqrt(s)
				} else {
					return false
				}
			}
			row := g[(from+i)*n : (from+i)*n+from+i+1]
			kernel.Axpy(row, -1, p[i*n:i*n+len(row)])
			for k := range i {
				kernel.Axpy(row, -d[i][k], g[(from+k)*n:(from+k)*n+len(row)])
			}
			row[from+i]++
			kernel.Scale(row, 1/d[i][i])
			for k, v := range row {
				gt[k*n+from+i] = v
			}
		}
	}
	return true
}
