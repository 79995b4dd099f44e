package instance

import (
	"math"
	"testing"

	"symnmf/matrix"
)

// table is a matrix with entries to read.
type table interface {
	matrix.Table
	At(i, j int) float64
}

// TestInnerProducts compares with three loops, for points in columns and in rows. Of sparse points it checks that as
// many sums are stored as CountInnerProducts says, and that no sum without a term is.
func TestInnerProducts(t *testing.T) {
	text := Text(30, 40, 6, 1)
	pattern, _ := PlantedGraph(12, 2, 0.9, 0.3, 1) // without values
	for name, x := range map[string]table{
		"counts": text, "ones": newCSR(30, 40, text.RowPtr, text.Col, nil), "nothing": newCSR(3, 2, make([]int64, 4), nil, nil),
		"pattern": pattern, "dense": Start(20, 30, 1),
	} {
		for _, items := range []matrix.Items{matrix.Columns, matrix.Rows} {
			m, n := x.Dims()
			entry := func(k, i int) float64 { return x.At(k, i) }
			if items == matrix.Rows {
				m, n = n, m
				entry = func(k, i int) float64 { return x.At(i, k) }
			}
			a := InnerProducts(x, items).(table)
			if rows, cols := a.Dims(); rows != n || cols != n {
				t.Fatalf("%s, items %v: %d×%d, want %d×%d", name, items, rows, cols, n, n)
			}
			sparse, isSparse := a.(*matrix.CSR)
			positive := int64(0)
			for i := range n {
				for l := range n {
					var want, tol float64
					for k := range m {
						want += entry(k, i) * entry(k, l)
					}
					if !isSparse { // else all are whole numbers
						tol = float64(2*m) * 0x1p-53 * want // positive terms, m roundings in either sum
					}
					if got := a.At(i, l); !(math.Abs(got-want) <= tol) {
						t.Fatalf("%s, items %v: A[%d,%d] = %v, want %v", name, items, i, l, got, want)
					}
					if want > 0 {
						positive++
					}
				}
			}
			if !isSparse {
				continue
			}
			stored, counted := sparse.NNZ(), CountInnerProducts(x.(*matrix.CSR), items)
			if stored != positive || counted != stored {
				t.Errorf("%s, items %v: %d entries stored and %d counted, %d are not 0", name, items, stored, counted, positive)
			}
		}
	}
}

// TestInnerProductsCancel: a sum whose terms cancel is stored, as CountInnerProducts says.
func TestInnerProductsCancel(t *testing.T) {
	x := newCSR(2, 2, []int64{0, 2, 4}, []int32{0, 1, 0, 1}, []float64{1, 1, 1, -1})
	a := InnerProducts(x, matrix.Columns).(*matrix.CSR)
	if a.NNZ() != 4 || CountInnerProducts(x, matrix.Columns) != 4 || a.At(0, 0) != 2 || a.At(0, 1) != 0 || a.At(1, 1) != 2 {
		t.Errorf("%d entries stored: %v", a.NNZ(), a.Val)
	}
}
