package matrix

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"symnmf/internal/kernel"
)

// CSR is a sparse rows×cols matrix by compressed rows: the entries of row i are Val[p] in column Col[p] for
// RowPtr[i] ≤ p < RowPtr[i+1], columns strictly increasing. A nil Val means that every stored entry is 1, which
// is how an unweighted graph is kept in a third of the memory. Columns are int32, so cols ≤ 2³¹−1.
type CSR struct {
	rows, cols int
	RowPtr     []int64   // rows+1
	Col        []int32   // nnz
	Val        []float64 // nnz, or nil
}

// ErrMalformed reports a sparse matrix whose arrays contradict each other or its shape.
var ErrMalformed = errors.New("matrix: malformed sparse matrix")

// NewCSR returns the matrix over the given arrays, which it keeps and does not copy, after checking that they
// describe one: pointers from 0 to len(col) without a step back, columns inside the shape and strictly increasing
// in each row. O(nnz).
func NewCSR(rows, cols int, rowPtr []int64, col []int32, val []float64) (*CSR, error) {
	switch {
	case rows < 0 || cols < 0 || cols > math.MaxInt32:
		return nil, fmt.Errorf("%w: shape %d×%d, columns must fit 32 bits", ErrMalformed, rows, cols)
	case len(rowPtr) != rows+1:
		return nil, fmt.Errorf("%w: %d row pointers for %d rows, want %d", ErrMalformed, len(rowPtr), rows, rows+1)
	case rowPtr[0] != 0 || rowPtr[rows] != int64(len(col)):
		return nil, fmt.Errorf("%w: row pointers run from %d to %d, want 0 to %d", ErrMalformed, rowPtr[0], rowPtr[rows], len(col))
	case val != nil && len(val) != len(col):
		return nil, fmt.Errorf("%w: %d values for %d column indices", ErrMalformed, len(val), len(col))
	}
	for i := range rows {
		lo, hi := rowPtr[i], rowPtr[i+1]
		if hi < lo || hi > int64(len(col)) {
			return nil, fmt.Errorf("%w: row pointer %d is %d, after %d", ErrMalformed, i+1, hi, lo)
		}
		last := int32(-1)
		for _, c := range col[lo:hi] {
			if c <= last || int(c) >= cols {
				return nil, fmt.Errorf("%w: row %d has column %d after %d, of %d columns", ErrMalformed, i, c, last, cols)
			}
			last = c
		}
	}
	return &CSR{rows: rows, cols: cols, RowPtr: rowPtr, Col: col, Val: val}, nil
}

// Dims returns the numbers of rows and columns.
func (m *CSR) Dims() (rows, cols int) { return m.rows, m.cols }

// NNZ returns the number of stored entries.
func (m *CSR) NNZ() int64 { return int64(len(m.Col)) }

// Row returns the columns and values of row i; values are nil when all are 1.
func (m *CSR) Row(i int) (col []int32, val []float64) {
	lo, hi := m.RowPtr[i], m.RowPtr[i+1]
	if m.Val == nil {
		return m.Col[lo:hi:hi], nil
	}
	return m.Col[lo:hi:hi], m.Val[lo:hi:hi]
}

// rowAhead is Row, but the slice of columns goes on, beyond its length, with the columns of the rows that follow:
// kernel.GatherRows fetches what they point at ahead of time.
func (m *CSR) rowAhead(i int) (col []int32, val []float64) {
	_, val = m.Row(i)
	return m.Col[m.RowPtr[i]:m.RowPtr[i+1]], val
}

// values returns the values from one to another, nil where all are one.
func (m *CSR) values(from, to int64) []float64 {
	if m.Val == nil {
		return nil
	}
	return m.Val[from:to]
}

// At returns the entry in row i, column j, counted from 0; 0 when it is not stored. O(log nnz(row)).
func (m *CSR) At(i, j int) float64 {
	col, val := m.Row(i)
	p, ok := slices.BinarySearch(col, int32(j))
	switch {
	case !ok:
		return 0
	case val == nil:
		return 1
	}
	return val[p]
}

// Transpose returns a copy with rows and columns exchanged, O(nnz + rows + cols) time and that much new memory.
func (m *CSR) Transpose() *CSR { return m.transpose(1) }

// transpose cuts the rows into parts with about as many entries each. Each counts its entries in every column, and from the
// counts follows where they go.
func (m *CSR) transpose(workers int) *CSR {
	t := &CSR{rows: m.cols, cols: m.rows, RowPtr: make([]int64, m.cols+1), Col: make([]int32, len(m.Col))}
	if m.Val != nil {
		t.Val = make([]float64, len(m.Val))
	}
	bounds := m.parts(min(workers, len(m.Col)/(m.cols+1)))
	next := make([][]int64, len(bounds)-1) // for each part, its entries in each column, and then where the next of them goes
	kernel.Blocks(len(next), 1, workers, func(b, _, _ int) {
		count := make([]int64, m.cols)
		for _, c := range m.Col[m.RowPtr[bounds[b]]:m.RowPtr[bounds[b+1]]] {
			count[c]++
		}
		next[b] = count
	})
	at := int64(0)
	for c := range m.cols {
		for _, part := range next {
			part[c], at = at, at+part[c]
		}
		t.RowPtr[c+1] = at
	}
	kernel.Blocks(len(next), 1, workers, func(b, _, _ int) {
		next := next[b]
		for i := bounds[b]; i < bounds[b+1]; i++ {
			col, val := m.Row(i)
			for p, c := range col {
				q := next[c]
				next[c]++
				t.Col[q] = int32(i)
				if val != nil {
					t.Val[q] = val[p]
				}
			}
		}
	})
	return t
}

// parts returns the bounds of at most count parts of the rows, at least one, with about as many entries each.
func (m *CSR) parts(count int) []int {
	bounds := []int{0}
	for k := 1; k < count; k++ {
		at, _ := slices.BinarySearch(m.RowPtr, m.NNZ()*int64(k)/int64(count))
		bounds = append(bounds, at)
	}
	return append(bounds, m.rows)
}

func (m *CSR) String() string {
	return fmt.Sprintf("matrix.CSR %d×%d, %d stored", m.rows, m.cols, m.NNZ())
}
