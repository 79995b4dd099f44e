package instance

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"symnmf/matrix"
)

// InnerProducts writes out the inner products of the items of x, n×n: XᵀX where they are its columns, XXᵀ where they
// are its rows. The result is sparse where x is. Dense sums are gonum's, which take the result's memory once more; sparse
// ones run over the features in order.
//
// A sparse sum is stored if it has a term, even where its terms add up to 0, so CountInnerProducts knows the number.
// That takes O(Σ_k nnz(X_k)²) time over the features k and the memory of the result and of x by its other side.
func InnerProducts(x matrix.Table, items matrix.Items) matrix.Table {
	if d, dense := x.(*matrix.Dense); dense {
		return denseProducts(d, items)
	}
	return sparseProducts(byItems(x.(*matrix.CSR), items))
}

// CountInnerProducts returns how many numbers InnerProducts(x, items) stores.
func CountInnerProducts(x *matrix.CSR, items matrix.Items) int64 {
	rowPtr := productRows(byItems(x, items))
	return rowPtr[len(rowPtr)-1]
}

func denseProducts(x *matrix.Dense, items matrix.Items) *matrix.Dense {
	m, n := x.Dims()
	points := mat.NewDense(m, n, x.Data()).T()
	if items == matrix.Rows {
		points, n = points.T(), m
	}
	var s mat.SymDense
	s.SymOuterK(1, points)
	a := matrix.NewDense(n, n, nil)
	for i := range n {
		for l := range n {
			a.Set(i, l, s.At(i, l))
		}
	}
	return a
}

// byItems returns x with a row for each point, and with a row for each feature.
func byItems(x *matrix.CSR, items matrix.Items) (points, features *matrix.CSR) {
	if items == matrix.Rows {
		return x, x.Transpose()
	}
	return x.Transpose(), x
}

// productRows returns where the rows of points·features begin and end.
func productRows(points, features *matrix.CSR) (rowPtr []int64) {
	n, _ := points.Dims()
	rowPtr = make([]int64, n+1)
	marked := make([]int, n) // the last row, counted from 1, with an entry in that column
	for i := range n {
		count := int64(0)
		kept, _ := points.Row(i)
		for _, k := range kept {
			others, _ := features.Row(int(k))
			for _, l := range others {
				if marked[l] != i+1 {
					marked[l] = i + 1
					count++
				}
			}
		}
		rowPtr[i+1] = rowPtr[i] + count
	}
	return rowPtr
}

// sparseProducts returns points·features, n×n.
func sparseProducts(points, features *matrix.CSR) *matrix.CSR {
	n, _ := points.Dims()
	rowPtr := productRows(points, features)
	col, val := make([]int32, 0, rowPtr[n]), make([]float64, 0, rowPtr[n])
	sum, marked := make([]float64, n), make([]int, n) // marked as in productRows
	for i := range n {
		from := len(col)
		kept, xi := points.Row(i)
		for p, k := range kept {
			others, xk := features.Row(int(k))
			for q, l := range others {
				if marked[l] != i+1 {
					marked[l] = i + 1
					col = append(col, l)
				}
				sum[l] += float64(at(xi, p) * at(xk, q)) // the conversion forbids a fused multiply–add
			}
		}
		if found := col[from:]; len(found) < n/8 {
			slices.Sort(found)
		} else { // as fast as sorting, or faster
			col = col[:from]
			for l, row := range marked {
				if row == i+1 {
					col = append(col, int32(l))
				}
			}
		}
		for _, l := range col[from:] {
			val = append(val, sum[l])
			sum[l] = 0
		}
	}
	return newCSR(n, n, rowPtr, col, val)
}

// at returns val[p], or 1 if val is nil.
func at(val []float64, p int) float64 {
	if val == nil {
		return 1
	}
	return val[p]
}
