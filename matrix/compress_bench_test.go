package matrix_test

import (
	"context"
	"fmt"
	"testing"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// BenchmarkCompress compresses A = XᵀX of cbcl, 2429 faces of 361 pixels, to 80 columns: A formed in double
// precision, A formed in single precision, the operator of the points, and that operator normalized. It
// reports ‖A − U·diag(λ)·Uᵀ‖/‖A‖ as err.
func BenchmarkCompress(b *testing.B) {
	points := sharedPoints(b, "cbcl")
	n := points.Dim()
	one := matrix.NewDense(n, n, nil)
	for i := range n {
		one.Set(i, i, 1)
	}
	formed := matrix.NewDense(n, n, nil)
	p := points.NewProduct(one, 2)
	kernel.Blocks(n, 64, 2, func(_, lo, hi int) { p.RowsTo(formed.Data()[lo*n:hi*n], lo, hi) })
	single, err := matrix.FromDense32(formed, 0)
	if err != nil {
		b.Fatal(err)
	}
	dense, err := matrix.FromDense(formed, 0)
	if err != nil {
		b.Fatal(err)
	}
	unit, err := matrix.Normalized(points, 0, 2)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		a    matrix.Operator
	}{{"dense", dense}, {"dense32", single}, {"points", points}, {"points normalized", unit}} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("cbcl %s/workers=%d", c.name, workers), func(b *testing.B) {
				var errNorm float64
				for b.Loop() {
					_, errNorm, err = matrix.Compress(context.Background(), c.a, matrix.Compression{Columns: 80, Power: 2, Workers: workers})
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(errNorm/c.a.Norm(), "err")
			})
		}
	}
}
