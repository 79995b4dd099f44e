package matrix_test

import (
	"fmt"
	"testing"

	"symnmf/internal/kernel"
	"symnmf/matio"
	"symnmf/matrix"
)

// sharedX reads the dense points of a real set, or skips by its name where it is not at hand.
func sharedX(b testing.TB, name string) *matrix.Dense {
	b.Helper()
	t, err := matio.Open("../../shared/data/"+name+"/X.npy", matio.Options{})
	if err != nil || t.Dense == nil {
		b.Skipf("data set %s is not beside the checkout", name)
	}
	return t.Dense
}

// BenchmarkCompress compresses the inner products of cbcl, 2429 faces of 361 pixels, to 80 columns: formed in double and single
// precision, of the points, and normalized. err is ‖A − U·diag(λ)·Uᵀ‖/‖A‖.
func BenchmarkCompress(b *testing.B) {
	x := sharedX(b, "cbcl")
	points, err := matrix.Gram(x, matrix.Columns, 2)
	if err != nil {
		b.Fatal(err)
	}
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
					_, errNorm, err = matrix.Compress(c.a, matrix.Compression{Columns: 80, Power: 2, Workers: workers})
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(errNorm/c.a.Norm(), "err")
			})
		}
	}
}
