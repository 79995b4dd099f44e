package matrix

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"symnmf/internal/kernel"
)

// SymDense is a dense A as an Operator. A cursor holds n·r numbers besides H; one Add costs n multiply–adds, a product
// n²·r.
type SymDense struct {
	a         *Dense
	scale     float64
	offDiag   bool
	norm      float64 // of the entries that count, scale included
	normOff   float64 // the same without the diagonal
	negatives Cells
}

// FromDense returns the operator over the symmetric matrix a. Entries must be finite and |A_ij − A_ji| at most tol times
// the largest entry; tol = 0 means DefaultSymmetryTol. O(n²).
func FromDense(a *Dense, tol float64) (*SymDense, error) {
	s, err := checkSymmetric(a, tol)
	if err != nil {
		return nil, err
	}
	m := &SymDense{a: a, scale: 1, negatives: s.Negative}
	u := unit(s.MaxAbs())
	var all, off float64
	for b := 0; b < a.rows; b += normBlock {
		var blockAll, blockOff float64
		for i := b; i < min(b+normBlock, a.rows); i++ {
			var diag, others float64
			for j, v := range a.Row(i) {
				if sq := (v * u) * (v * u); j == i {
					diag = sq
				} else {
					others += sq
				}
			}
			blockAll += others + diag
			blockOff += others
		}
		all, off = all+blockAll, off+blockOff
	}
	m.norm, m.normOff = math.Sqrt(all)/u, math.Sqrt(off)/u
	if !normInRange(m.norm, s) {
		return nil, fmt.Errorf("%w: the largest entry is %.3g; divide the matrix by it", ErrRange, s.MaxAbs())
	}
	return m, nil
}

// FromSymmetric returns the operator over a copy of gonum's a, checked as by FromDense.
func FromSymmetric(a mat.Symmetric) (*SymDense, error) {
	n := a.SymmetricDim()
	d := NewDense(n, n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			v := a.At(i, j)
			d.data[i*n+j], d.data[j*n+i] = v, v
		}
	}
	return FromDense(d, 0)
}

// Dim implements Operator.
func (m *SymDense) Dim() int { return m.a.rows }

// Stored implements Operator.
func (m *SymDense) Stored() int64 { return int64(len(m.a.data)) }

// Density implements Operator.
func (m *SymDense) Density() float64 { return density(m.Stored(), m.a.rows, m.a.cols) }

// Norm implements Operator.
func (m *SymDense) Norm() float64 { return m.norm }

// Negatives implements Operator.
func (m *SymDense) Negatives() Cells { return m.negatives }

// DiagTo implements Operator.
func (m *SymDense) DiagTo(dst []float64) {
	for i := range dst {
		dst[i] = 0
		if !m.offDiag {
			dst[i] = m.scale * m.a.At(i, i)
		}
	}
}

// Scaled implements Operator.
func (m *SymDense) Scaled(c float64) Operator {
	v := *m
	v.scale, v.norm, v.normOff = c*m.scale, c*m.norm, c*m.normOff
	return &v
}

// OffDiagonal implements Operator.
func (m *SymDense) OffDiagonal() Operator {
	v := *m
	v.offDiag, v.norm = true, m.normOff
	return &v
}

// VisitRow implements RowVisitor.
func (m *SymDense) VisitRow(i int, f func(l int, v float64)) {
	for l, v := range m.a.Row(i) {
		if l != i || !m.offDiag {
			f(l, m.scale*v)
		}
	}
}

// NewProduct implements Operator.
func (m *SymDense) NewProduct(h *Dense, _ int) Product { return denseProduct{m, h} }

type denseProduct struct {
	m *SymDense
	h *Dense
}

func (p denseProduct) RowsTo(dst []float64, lo, hi int) {
	r := p.h.cols
	for i := lo; i < hi; i++ {
		acc := dst[(i-lo)*r : (i-lo+1)*r]
		clear(acc)
		row := p.m.a.Row(i)
		if p.m.offDiag {
			kernel.RowTimes(acc, row[:i], p.h.data[:i*r])
			kernel.RowTimes(acc, row[i+1:], p.h.data[(i+1)*r:])
		} else {
			kernel.RowTimes(acc, row, p.h.data)
		}
		for k := range acc {
			acc[k] *= p.m.scale
		}
	}
}

// denseCursor keeps Y = A·H by columns. Changes wait until there are four, so that Y and four rows of A pass through
// the processor once, not four times; until then At adds the waiting ones itself.
type denseCursor struct {
	m       *SymDense
	h       *Dense
	workers int
	y       []float64 // n·r, column j at j·n
	col     []float64 // the current one
	rows    [4]int    // of the waiting changes
	delta   [4]float64
	waiting int
	forward bool // only what lies after the changes is wanted
}

// NewCursor implements Operator.
func (m *SymDense) NewCursor(h *Dense, workers int) Cursor {
	c := &denseCursor{m: m, h: h, workers: workers, y: make([]float64, len(h.data))}
	c.Refresh()
	return c
}

func (c *denseCursor) Column(j int) {
	c.flush()
	n := c.m.a.rows
	c.col = c.y[j*n : (j+1)*n]
}

func (c *denseCursor) At(i int) float64 {
	v := c.col[i]
	for k, row := range c.rows[:c.waiting] {
		if row != i || !c.m.offDiag {
			v += c.delta[k] * c.m.a.data[row*c.m.a.cols+i]
		}
	}
	return v
}

func (c *denseCursor) Add(i int, delta float64) {
	c.rows[c.waiting], c.delta[c.waiting] = i, delta*c.m.scale
	if c.waiting++; c.waiting == len(c.rows) {
		c.flush()
	}
}

func (c *denseCursor) flush() {
	if c.waiting == 0 {
		return
	}
	if c.forward {
		c.flushForward()
		return
	}
	var own [4]float64 // what column c.col must hold afterwards in the changed rows, when the diagonal is left out
	if c.m.offDiag {
		for k, row := range c.rows[:c.waiting] {
			own[k] = c.At(row)
		}
	}
	a := c.m.a
	if c.waiting == 4 {
		kernel.Axpy4(c.col, &c.delta, a.Row(c.rows[0]), a.Row(c.rows[1]), a.Row(c.rows[2]), a.Row(c.rows[3]))
	} else {
		for k, row := range c.rows[:c.waiting] {
			kernel.Axpy(c.col, c.delta[k], a.Row(row))
		}
	}
	if c.m.offDiag {
		for k, row := range c.rows[:c.waiting] {
			c.col[row] = own[k]
		}
	}
	c.waiting = 0
}

// flushForward is flush for what lies after the last change.
func (c *denseCursor) flushForward() {
	a, lo := c.m.a, c.rows[c.waiting-1]+1
	if c.waiting == 4 {
		kernel.Axpy4(c.col[lo:], &c.delta, a.Row(c.rows[0])[lo:], a.Row(c.rows[1])[lo:], a.Row(c.rows[2])[lo:], a.Row(c.rows[3])[lo:])
	}
	c.waiting = 0 // fewer than four are left only when the column is done
}

func (c *denseCursor) Forward() {
	c.Refresh()
	c.forward = true
}

func (c *denseCursor) Refresh() {
	c.waiting, c.forward = 0, false
	refreshColumns(c.y, c.m.NewProduct(c.h, c.workers), c.m.a.rows, c.h.cols, c.workers)
}

// refreshColumns fills y (n·r by columns) with the rows that p gives.
func refreshColumns(y []float64, p Product, n, r, workers int) {
	const rows = 64 // of A·H at a time: small enough to stay in cache while they are transposed
	kernel.BlocksWith(n, rows, workers, func() []float64 { return make([]float64, rows*r) }, func(t []float64, _, lo, hi int) {
		t = t[:(hi-lo)*r]
		p.RowsTo(t, lo, hi)
		for j := range r {
			for i := lo; i < hi; i++ {
				y[j*n+i] = t[(i-lo)*r+j]
			}
		}
	})
}
