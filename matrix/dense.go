package matrix

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"symnmf/internal/kernel"
)

const badLen = "matrix: length of data does not match the shape" // a bug in the caller, not a fault of its data

const badColumn = "matrix: column index out of range"

// Dense is a rows×cols matrix stored by rows in one slice, without padding. The factor H is a Dense, and so
// is a dense table of points. It implements gonum's mat.Matrix.
type Dense struct {
	rows, cols int
	data       []float64
}

// NewDense returns a rows×cols matrix over data, which it keeps without copying. If data is nil, the matrix
// is zero. NewDense panics if len(data) is not rows·cols.
func NewDense(rows, cols int, data []float64) *Dense {
	if rows < 0 || cols < 0 || cols > 0 && rows > math.MaxInt/cols {
		panic(badLen)
	}
	if data == nil {
		data = kernel.Numbers(rows * cols)
	}
	if len(data) != rows*cols {
		panic(badLen)
	}
	return &Dense{rows, cols, data}
}

// Dims returns the number of rows and the number of columns.
func (m *Dense) Dims() (rows, cols int) { return m.rows, m.cols }

// At returns the entry in row i, column j, counted from 0.
func (m *Dense) At(i, j int) float64 { return m.Row(i)[j] }

// Set stores v in row i, column j.
func (m *Dense) Set(i, j int, v float64) { m.Row(i)[j] = v }

// T returns the transpose as gonum sees it, sharing the storage.
func (m *Dense) T() mat.Matrix { return mat.Transpose{Matrix: m} }

// Row returns row i; writing to it writes to the matrix.
func (m *Dense) Row(i int) []float64 { return m.data[i*m.cols : (i+1)*m.cols : (i+1)*m.cols] }

// Data returns the storage, rows one after another; writing to it writes to the matrix.
func (m *Dense) Data() []float64 { return m.data }

// Clone returns a copy that shares nothing with m.
func (m *Dense) Clone() *Dense {
	return &Dense{m.rows, m.cols, append([]float64(nil), m.data...)}
}

// CSR returns the nonzero entries of m as a sparse matrix, without values if every nonzero is 1. It panics if
// the column indices do not fit in 32 bits. It takes O(rows·cols) time and 12 bytes an entry.
func (m *Dense) CSR() *CSR {
	if m.cols > math.MaxInt32 {
		panic(badLen)
	}
	s := &CSR{rows: m.rows, cols: m.cols, RowPtr: kernel.Room[int64](m.rows + 1)}
	for i := range m.rows {
		s.RowPtr[i+1] = s.RowPtr[i]
		for _, v := range m.Row(i) {
			if v != 0 {
				s.RowPtr[i+1]++
			}
		}
	}
	s.Col, s.Val = kernel.Room[int32](int(s.RowPtr[m.rows]))[:0], kernel.Numbers(int(s.RowPtr[m.rows]))[:0]
	ones := true
	for i := range m.rows {
		for j, v := range m.Row(i) {
			if v != 0 {
				s.Col, s.Val = append(s.Col, int32(j)), append(s.Val, v)
				ones = ones && v == 1
			}
		}
	}
	if ones {
		s.Val = nil
	}
	return s
}

// Transpose returns a copy of m with rows and columns exchanged.
func (m *Dense) Transpose() *Dense { return m.transpose(1) }

func (m *Dense) transpose(workers int) *Dense {
	t := NewDense(m.cols, m.rows, nil)
	const tile = 32 // columns, and so the number of cache lines written to at a time
	kernel.Blocks(m.cols, tile, workers, func(_, j0, j1 int) {
		if m.rows > 0 {
			transpose(t.data[j0*m.rows:], m.rows, m.data[j0:], m.cols, m.rows, j1-j0)
		}
	})
	return t
}

// transpose sets dst[j·dstStride+i] = src[i·srcStride+j] for i < rows, j < cols. It takes as many rows at a
// time as fill a cache line.
func transpose(dst []float64, dstStride int, src []float64, srcStride, rows, cols int) {
	const line = 8
	i := 0
	for ; i+line <= rows; i += line {
		row := func(k int) []float64 { return src[(i+k)*srcStride:][:cols] }
		r0, r1, r2, r3, r4, r5, r6, r7 := row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)
		for j := range cols {
			to := dst[j*dstStride+i:][:line]
			to[0], to[1], to[2], to[3] = r0[j], r1[j], r2[j], r3[j]
			to[4], to[5], to[6], to[7] = r4[j], r5[j], r6[j], r7[j]
		}
	}
	for ; i < rows; i++ {
		for j, v := range src[i*srcStride:][:cols] {
			dst[j*dstStride+i] = v
		}
	}
}

func (m *Dense) String() string { return fmt.Sprintf("matrix.Dense %d×%d", m.rows, m.cols) }
