//go:build !noasm

package kernel

import "unsafe"

func visitTile(t *columnTile, c *Column, lo int, scale float64, ptr []int64, idx []int32, val []float64) (changed int) {
	r, values := len(c.D), unsafe.SliceData(val)
	if path == avx2 {
		return columnAVX2(&t.sums[0], &c.H[lo*r], r, c.J, &c.D[0], &c.Diag[lo], &c.X[lo], &c.RowSq[lo],
			c.Djj, c.L1, c.Norm, scale, &ptr[0], unsafe.SliceData(idx), values, &c.X[0])
	}
	return columnAVX512(&t.sums[0], &c.H[lo*r], r, c.J, &c.D[0], &c.Diag[lo], &c.X[lo], &c.RowSq[lo],
		c.Djj, c.L1, c.Norm, scale, &ptr[0], unsafe.SliceData(idx), values, &c.X[0])
}
