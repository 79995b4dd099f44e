package matrix

import (
	"fmt"
	"runtime"

	"gonum.org/v1/gonum/mat"

	"symnmf/internal/kernel"
)

// SymDense is a dense A as an Operator. A cursor holds n·r numbers besides H. One Add costs n multiply–adds,
// and a product n²·r.
type SymDense = symDense[float64]

// SymDense32 is a SymDense with entries in single precision, which halves the memory. Everything else is in
// double precision.
type SymDense32 = symDense[float32]

type symDense[F kernel.Float] struct {
	n         int
	a         []F // n×n by rows
	scale     float64
	offDiag   bool
	norm      float64 // of the entries that count, scale included
	normOff   float64 // the same without the diagonal
	negatives Cells
}

// FromDense returns the operator over the symmetric matrix a. Entries must be finite, and |A_ij − A_ji| at
// most tol times the largest entry; tol = 0 means DefaultSymmetryTol. O(n²), with GOMAXPROCS goroutines.
func FromDense(a *Dense, tol float64) (*SymDense, error) {
	return checkedDense(a, tol, runtime.GOMAXPROCS(0))
}

func checkedDense(a *Dense, tol float64, workers int) (*SymDense, error) {
	f, err := checkSymmetric(a, tol, workers)
	if err != nil {
		return nil, err
	}
	return newSymDense(a.rows, a.data, 1, f, func(u float64) (all, off float64) { return a.sumSquares(u, workers) })
}

// checkSymmetric holds the checks that FromDense and FromDense32 share.
func checkSymmetric(a *Dense, tol float64, workers int) (found, error) {
	if err := checkSquare(a); err != nil {
		return found{}, err
	}
	f := a.surveySquare(workers)
	if err := f.finite(); err != nil {
		return f, err
	}
	return f, f.checkAsymmetry(tol)
}

// FromDense32 returns the operator over a copy of a in single precision, after the checks of FromDense. It
// keeps nothing of a.
//
// Before rounding, a power of two brings the largest entry near 1. Each entry is then rounded to within 6e-8
// of its own magnitude, or 1e-45 of the largest entry where that is more. Norm is the norm of the rounded
// entries; rounding changes it, and A, by at most 6e-8·‖A‖. O(n²), with GOMAXPROCS goroutines.
func FromDense32(a *Dense, tol float64) (*SymDense32, error) {
	workers := runtime.GOMAXPROCS(0)
	s, err := checkSymmetric(a, tol, workers)
	if err != nil {
		return nil, err
	}
	n, u := a.rows, unit(s.MaxAbs())
	f := make([]float32, len(a.data))
	const tile = 32
	kernel.Blocks(n, tile, workers, func(_, i0, i1 int) {
		for j0 := 0; j0 < i1; j0 += tile {
			for i := i0; i < i1; i++ {
				for j := j0; j < min(j0+tile, i+1); j++ {
					v := float32(u * a.data[i*n+j])
					f[i*n+j], f[j*n+i] = v, v // the two may differ by rounding, which float32 would magnify
				}
			}
		}
	})
	s.Min, s.Max = u*s.Min, u*s.Max
	rounded := &SymDense32{n: n, a: f}
	s.all, s.off = rounded.sumSq(1, nil, workers)
	return newSymDense(n, f, 1/u, s, func(u float64) (all, off float64) { return rounded.sumSq(u, nil, workers) })
}

// newSymDense returns the operator scale·A for the n×n matrix a, whose survey is f. sumSquares returns the
// sums of squares of u·a.
func newSymDense[F kernel.Float](n int, a []F, scale float64, f found, sumSquares func(u float64) (all, off float64)) (*symDense[F], error) {
	m := &symDense[F]{n: n, a: a, scale: scale, negatives: f.Negative}
	all, off := f.norms(sumSquares)
	m.norm, m.normOff = scale*all, scale*off
	if !normInRange(m.norm, f.Survey) {
		return nil, fmt.Errorf("%w: the largest entry is %.3g; divide the matrix by it", ErrRange, scale*f.MaxAbs())
	}
	return m, nil
}

// sumSq returns Σ(u·w_i·w_j·A_ij)², without scale, over all entries and over those off the diagonal; w = nil
// means all ones.
func (m *symDense[F]) sumSq(u float64, w []float64, workers int) (all, off float64) {
	part := make([]float64, 2*kernel.BlockCount(m.n, normBlock))
	kernel.Blocks(m.n, normBlock, workers, func(b, lo, hi int) {
		for i := lo; i < hi; i++ {
			var diag, others float64
			ui := u * value(w, i)
			for j, v := range m.row(i) {
				x := ui * float64(v) * value(w, j)
				if j == i {
					diag = x * x
				} else {
					others += x * x
				}
			}
			part[2*b] += others + diag
			part[2*b+1] += others
		}
	})
	for b := 0; b < len(part); b += 2 {
		all, off = all+part[b], off+part[b+1]
	}
	return all, off
}

// FromSymmetric returns the operator over a copy of gonum's a, after the checks of FromDense.
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
func (m *symDense[F]) Dim() int { return m.n }

// Stored implements Operator.
func (m *symDense[F]) Stored() int64 { return int64(len(m.a)) }

// Density implements Operator.
func (m *symDense[F]) Density() float64 { return density(m.Stored(), m.n, m.n) }

// Norm implements Operator.
func (m *symDense[F]) Norm() float64 { return m.norm }

// Negatives implements Operator.
func (m *symDense[F]) Negatives() Cells { return m.negatives }

// DiagTo implements Operator.
func (m *symDense[F]) DiagTo(dst []float64) {
	for i := range dst {
		dst[i] = 0
		if !m.offDiag {
			dst[i] = m.scale * float64(m.a[i*m.n+i])
		}
	}
}

// Scaled implements Operator.
func (m *symDense[F]) Scaled(c float64) Operator {
	v := *m
	v.scale, v.norm, v.normOff = c*m.scale, c*m.norm, c*m.normOff
	return &v
}

// OffDiagonal implements Operator.
func (m *symDense[F]) OffDiagonal() Operator {
	v := *m
	v.offDiag, v.norm = true, m.normOff
	return &v
}

// VisitRow implements RowVisitor.
func (m *symDense[F]) VisitRow(i int, f func(l int, v float64)) {
	for l, v := range m.row(i) {
		if l != i || !m.offDiag {
			f(l, m.scale*float64(v))
		}
	}
}

func (m *symDense[F]) row(i int) []F { return m.a[i*m.n : (i+1)*m.n] }

// NewProduct implements Operator.
func (m *symDense[F]) NewProduct(h *Dense, _ int) Product { return denseProduct[F]{m, h} }

type denseProduct[F kernel.Float] struct {
	m *symDense[F]
	h *Dense
}

func (p denseProduct[F]) RowsTo(dst []float64, lo, hi int) {
	m, r := p.m, p.h.cols
	clear(dst)
	if !m.offDiag {
		kernel.AddRowsTimes(dst, m.scale, m.a[lo*m.n:hi*m.n], m.n, p.h.data, r)
	} else {
		// Rows go in groups with square blocks on the diagonal, the same for any lo and hi. Subtracting
		// A_ii·H_i,: from the whole product would lose the digits by which A_ii exceeds the rest.
		const group = 32
		for from := lo; from < hi; {
			g := from / group * group
			end := min(g+group, m.n)
			to := min(end, hi)
			p.offDiagTo(dst[(from-lo)*r:(to-lo)*r], from, to, g, end)
			from = to
		}
	}
}

// offDiagTo adds rows lo to hi of A·H without the diagonal, which these rows cross in columns g to end.
func (p denseProduct[F]) offDiagTo(dst []float64, lo, hi, g, end int) {
	n, r, h := p.m.n, p.h.cols, p.h.data
	rows := p.m.a[lo*n : hi*n]
	kernel.AddRowsTimes(dst, p.m.scale, rows, n, h[:g*r], r)
	for i := lo; i < hi; i++ {
		acc, row := dst[(i-lo)*r:(i-lo+1)*r], p.m.row(i)
		kernel.AddRowsTimes(acc, p.m.scale, row[g:i], i-g, h[g*r:i*r], r)
		kernel.AddRowsTimes(acc, p.m.scale, row[i+1:end], end-i-1, h[(i+1)*r:end*r], r)
	}
	kernel.AddRowsTimes(dst, p.m.scale, rows[end:], n, h[end*r:], r)
}

// denseCursor keeps Y = A·H by columns. Changes wait until there are four, so that Y and four rows of A pass
// through the processor once instead of four times. Until then At adds the waiting changes itself.
type denseCursor[F kernel.Float] struct {
	m       *symDense[F]
	h       *Dense
	workers int
	y       []float64 // n·r, column j at j·n; nil until it is needed
	col     []float64 // the current column
	rows    [4]int    // of the waiting changes
	delta   [4]float64
	waiting int
	forward bool // only entries after the changes are needed
}

// NewCursor implements Operator.
func (m *symDense[F]) NewCursor(h *Dense, workers int) Cursor {
	return &denseCursor[F]{m: m, h: h, workers: workers}
}

func (c *denseCursor[F]) Column(j int) {
	if c.flush(); c.y == nil {
		c.Refresh()
	}
	n := c.m.n
	c.col = c.y[j*n : (j+1)*n]
}

func (c *denseCursor[F]) At(i int) float64 {
	v := c.col[i]
	for k, row := range c.rows[:c.waiting] {
		if row != i || !c.m.offDiag {
			v += c.delta[k] * float64(c.m.a[row*c.m.n+i])
		}
	}
	return v
}

func (c *denseCursor[F]) Add(i int, delta float64) {
	c.rows[c.waiting], c.delta[c.waiting] = i, delta*c.m.scale
	if c.waiting++; c.waiting == len(c.rows) {
		c.flush()
	}
}

func (c *denseCursor[F]) flush() {
	if c.waiting == 0 {
		return
	}
	if c.forward {
		c.flushForward()
		return
	}
	var own [4]float64 // without the diagonal: what c.col must hold afterwards in the changed rows
	if c.m.offDiag {
		for k, row := range c.rows[:c.waiting] {
			own[k] = c.At(row)
		}
	}
	if c.waiting == 4 {
		c.axpy4(0)
	} else {
		for k, row := range c.rows[:c.waiting] {
			axpy(c.col, c.delta[k], c.m.row(row))
		}
	}
	if c.m.offDiag {
		for k, row := range c.rows[:c.waiting] {
			c.col[row] = own[k]
		}
	}
	c.waiting = 0
}

// flushForward is flush for the entries after the last change.
func (c *denseCursor[F]) flushForward() {
	if c.waiting == 4 {
		c.axpy4(c.rows[3] + 1)
	}
	c.waiting = 0 // fewer than four remain only at the end of a column
}

// axpy4 adds the four waiting changes to the entries of the column from lo on.
func (c *denseCursor[F]) axpy4(lo int) {
	x0, x1, x2, x3 := c.m.row(c.rows[0])[lo:], c.m.row(c.rows[1])[lo:], c.m.row(c.rows[2])[lo:], c.m.row(c.rows[3])[lo:]
	y := c.col[lo:]
	if x, wide := any(x0).([]float64); wide {
		kernel.Axpy4(y, &c.delta, x, any(x1).([]float64), any(x2).([]float64), any(x3).([]float64))
		return
	}
	for i := range y {
		y[i] += c.delta[0]*float64(x0[i]) + c.delta[1]*float64(x1[i]) + c.delta[2]*float64(x2[i]) + c.delta[3]*float64(x3[i])
	}
}

// axpy adds c·x to y.
func axpy[F kernel.Float](y []float64, c float64, x []F) {
	if x, wide := any(x).([]float64); wide {
		kernel.Axpy(y, c, x)
		return
	}
	for i, v := range x {
		y[i] += c * float64(v)
	}
}

func (c *denseCursor[F]) Forward() {
	c.Refresh()
	c.forward = true
}

func (c *denseCursor[F]) Refresh() {
	c.waiting, c.forward = 0, false
	if c.y == nil {
		c.y = make([]float64, len(c.h.data))
	}
	refreshColumns(c.y, c.m.NewProduct(c.h, c.workers), c.m.n, c.h.cols, c.workers)
}

// refreshColumns fills y (n·r by columns) with the rows of the product p.
func refreshColumns(y []float64, p Product, n, r, workers int) {
	const rows = 64 // of A·H at a time, few enough to stay in cache while they are transposed
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
