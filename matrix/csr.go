package matrix

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"symnmf/internal/kernel"
)

// CSR is a sparse rows×cols matrix in compressed-row form: row i has the entries Val[p] in columns Col[p] for
// RowPtr[i] ≤ p < RowPtr[i+1], with strictly increasing columns. A nil Val means that every stored entry is
// 1, so an unweighted graph takes a third of the memory. Columns are int32, so cols ≤ 2³¹−1.
type CSR struct {
	rows, cols int
	RowPtr     []int64   // rows+1
	Col        []int32   // nnz
	Val        []float64 // nnz, or nil
}

// ErrMalformed reports a sparse matrix whose arrays contradict each other or its shape.
var ErrMalformed = errors.New("matrix: malformed sparse matrix")

// NewCSR returns the matrix over the given arrays, which it keeps without copying. It first checks that they
// describe a matrix: row pointers that run from 0 to len(col) and never decrease, and columns that lie inside
// the shape and strictly increase within each row. O(nnz).
func NewCSR(rows, cols int, rowPtr []int64, col []int32, val []float64) (*CSR, error) {
	switch {
	case rows < 0 || cols < 0 || cols > math.MaxInt32:
		return nil, fmt.Errorf("%w: shape %d×%d, columns must fit 32 bits", ErrMalformed, rows, cols)
	case len(rowPtr)-1 != rows:
		return nil, fmt.Errorf("%w: %d row pointers for %d rows, want one more than rows", ErrMalformed, len(rowPtr), rows)
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

// Dims returns the number of rows and the number of columns.
func (m *CSR) Dims() (rows, cols int) { return m.rows, m.cols }

// NNZ returns the number of stored entries.
func (m *CSR) NNZ() int64 { return int64(len(m.Col)) }

// Row returns the columns and values of row i; val is nil if all values are 1.
func (m *CSR) Row(i int) (col []int32, val []float64) {
	lo, hi := m.RowPtr[i], m.RowPtr[i+1]
	if m.Val == nil {
		return m.Col[lo:hi:hi], nil
	}
	return m.Col[lo:hi:hi], m.Val[lo:hi:hi]
}

// rowAhead is Row, except that the capacity of the slice of columns extends over the rows that follow, so
// that kernel.GatherRows can prefetch what their columns refer to.
func (m *CSR) rowAhead(i int) (col []int32, val []float64) {
	_, val = m.Row(i)
	return m.Col[m.RowPtr[i]:m.RowPtr[i+1]], val
}

// values returns the values in places from to to−1, or nil if all values are 1.
func (m *CSR) values(from, to int64) []float64 {
	if m.Val == nil {
		return nil
	}
	return m.Val[from:to]
}

// columnsBelow returns how many of the increasing columns are below j. In a graph each comparison is a coin toss, and a
// branch taken wrongly costs as much as ten of them. So within few cache lines there are no branches but the loop's. In
// longer rows the processor had better guess, since it loads meanwhile what comes next.
func columnsBelow(col []int32, j int) (at int) {
	const few = 64
	n := len(col)
	for n > few {
		half := (n + 1) / 2
		if int(col[at+half-1]) < j {
			at += half
		}
		n -= half
	}
	for n > 0 {
		half := (n + 1) / 2
		below := (int64(col[at+half-1]) - int64(j)) >> 63 // −1 if so, else 0
		at += half & int(below)
		n -= half
	}
	return at
}

// At returns the entry in row i, column j, counted from 0; it is 0 if it is not stored. At panics if i or j
// is out of range. O(log nnz(row)).
func (m *CSR) At(i, j int) float64 {
	if j < 0 || j >= m.cols {
		panic(badColumn)
	}
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

// Transpose returns a copy with rows and columns exchanged. It takes O(nnz + rows + cols) time and as much
// new memory.
func (m *CSR) Transpose() *CSR { return m.transpose(1) }

// TransposeBy is Transpose with up to workers goroutines.
func (m *CSR) TransposeBy(workers int) *CSR { return m.transpose(workers) }

// longColumn is the least average number of entries that a part of the rows has in a column when transpose
// divides the rows. With fewer, all parts would write to the same cache lines, and their positions in the
// columns would take as much memory as the entries.
const longColumn = 4

// transpose divides the rows into parts with about the same number of entries each.
func (m *CSR) transpose(workers int) *CSR {
	t := &CSR{rows: m.cols, cols: m.rows, RowPtr: kernel.Room[int64](m.cols + 1), Col: kernel.Room[int32](len(m.Col))}
	if m.Val != nil {
		t.Val = kernel.Numbers(len(m.Val))
	}
	// For each part and column: first the number of entries, then the place of the next one.
	next := make([][]int64, max(1, min(workers, len(m.Col)/(longColumn*m.cols+1))))
	each := func(f func(next []int64, from, to int)) {
		kernel.Blocks(len(next), 1, workers, func(k, _, _ int) {
			if next[k] == nil {
				next[k] = kernel.Room[int64](m.cols)
			}
			f(next[k], m.rowAt(k, len(next)), m.rowAt(k+1, len(next)))
		})
	}
	each(func(next []int64, from, to int) {
		for _, c := range m.Col[m.RowPtr[from]:m.RowPtr[to]] {
			next[c]++
		}
	})
	for c := range m.cols {
		at := t.RowPtr[c]
		for _, next := range next {
			next[c], at = at, at+next[c]
		}
		t.RowPtr[c+1] = at
	}
	each(func(next []int64, from, to int) {
		rows, vals := t.Col, t.Val
		for i := from; i < to; i++ {
			col, val := m.Row(i)
			if val == nil {
				for _, c := range col {
					q := next[c]
					rows[q], next[c] = int32(i), q+1
				}
				continue
			}
			val = val[:len(col)]
			for p, c := range col {
				q := next[c]
				rows[q], vals[q], next[c] = int32(i), val[p], q+1
			}
		}
	})
	return t
}

// rowAt returns the first row of part k if the rows are divided into that many parts with about the same
// number of entries each. For k = parts it returns a row after the last that has entries.
func (m *CSR) rowAt(k, parts int) int {
	i, _ := slices.BinarySearch(m.RowPtr[:m.rows], int64(k)*m.NNZ()/int64(parts))
	return i
}

func (m *CSR) String() string {
	return fmt.Sprintf("matrix.CSR %d×%d, %d stored", m.rows, m.cols, m.NNZ())
}
