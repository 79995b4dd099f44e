package matrix

import (
	"errors"
	"fmt"
	"math"
)

// Operator is a symmetric n×n matrix A as solvers see it: its size, diagonal and norm, and two ways to
// multiply by it.
//
// A Cursor serves coordinate descent in the paper's order, which asks for one entry of A·H at a time while H
// changes. A Product serves everything that needs many rows of A·H for a fixed H.
type Operator interface {
	// Dim returns n.
	Dim() int
	// Stored returns how many numbers one product reads: the stored entries of A, or those of X if A = XᵀX is
	// given by points.
	Stored() int64
	// Density returns Stored divided by the number of entries of A, or of X for points; 0 if there are none.
	Density() float64
	// DiagTo fills dst (n) with A_ii.
	DiagTo(dst []float64)
	// Norm returns ‖A‖_F.
	Norm() float64
	// Negatives describes the stored numbers (of A, or of X) that are below zero.
	Negatives() Cells
	// Scaled returns c·A as a view on the same storage, for c > 0. Results are exactly c times those of A if
	// c is a power of 4 and nothing overflows or underflows.
	Scaled(c float64) Operator
	// OffDiagonal returns A with zeros on its diagonal, as a view on the same storage.
	OffDiagonal() Operator
	// NewCursor returns a cursor over the n×r matrix h. The caller reports every change of h to the cursor;
	// see Cursor.
	NewCursor(h *Dense, workers int) Cursor
	// NewProduct prepares rows of A·h, where h (n×r) must not change while the product is in use.
	NewProduct(h *Dense, workers int) Product
}

// Cursor keeps what it needs to return any entry of A·H at once while single entries of H change. Between a
// change of H_ij and the call of Add that reports it, no other method may be called.
//
// What a cursor keeps drifts by the rounding error of each Add; Refresh removes the drift.
type Cursor interface {
	// Column makes column j of H the current one.
	Column(j int)
	// At returns A_:,iᵀ·H_:,j for the current column j.
	At(i int) float64
	// Add reports that H_ij has grown by delta, where j is the current column.
	Add(i int, delta float64)
	// Refresh recomputes everything from H.
	Refresh()
}

// Forwarder is a cursor that can save work if the entries of each column are visited in increasing order. It
// computes A·H when the first column is made current, unless Forward is called before that.
type Forwarder interface {
	Cursor
	// Forward takes H as it is. Until the next Refresh, each column may be made current only once, and At may
	// be asked only for entries after every entry that Add has reported.
	Forward()
}

// Product gives rows of A·H.
type Product interface {
	// RowsTo fills dst, (hi−lo)×r by rows, with rows lo ≤ i < hi of A·H. Calls may run concurrently. The last
	// bits of a row may depend on which other rows are requested with it: where exact bits matter, the ranges
	// must not depend on the number of workers.
	RowsTo(dst []float64, lo, hi int)
}

// Repeater is an operator that can make many products more cheaply than as many calls of NewProduct.
type Repeater interface {
	// Repeat returns a function that does what NewProduct does and may keep what its calls share. Each
	// Product is valid until the next call of that function.
	Repeat(workers int) func(h *Dense) Product
}

// Repeated returns a function that sets dst to A·h, both n×k for any k, and may keep what its calls share.
// Calls must not run concurrently.
func Repeated(a Operator, workers int) func(dst, h *Dense) {
	products := productsOf(a, workers)
	return func(dst, h *Dense) { productTo(dst, products(h), workers) }
}

func productsOf(a Operator, workers int) func(h *Dense) Product {
	if m, ok := a.(Repeater); ok {
		return m.Repeat(workers)
	}
	return func(h *Dense) Product { return a.NewProduct(h, workers) }
}

// RowVisitor is implemented by operators that can list the entries of a row of A without computing them.
type RowVisitor interface {
	// VisitRow calls f(l, A_il) for the stored entries of row i, in order of increasing l.
	VisitRow(i int, f func(l int, v float64))
}

// Cells summarizes a set of entries of a matrix: their number, the first of them by rows, and the smallest
// value. Indices count from 0.
type Cells struct {
	Count    int64
	Row, Col int     // of the first entry, by rows
	Value    float64 // of the first entry
	Least    float64 // the smallest value in the set
}

func (c *Cells) add(i, j int, v float64) {
	if c.Count == 0 {
		c.Row, c.Col, c.Value, c.Least = i, j, v, v
	}
	c.Count++
	c.Least = min(c.Least, v)
}

// merge adds cells that all come later by rows.
func (c *Cells) merge(d Cells) {
	switch {
	case d.Count == 0:
	case c.Count == 0:
		*c = d
	default:
		c.Count += d.Count
		c.Least = min(c.Least, d.Least)
	}
}

// Errors about data. Each is wrapped with the place and the value at fault.
var (
	ErrNotFinite  = errors.New("matrix: not a finite number")
	ErrNotSquare  = errors.New("matrix: not square")
	ErrAsymmetric = errors.New("matrix: not symmetric")
	ErrRange      = errors.New("matrix: norm outside the range of double precision")
	ErrTolerance  = errors.New("matrix: invalid symmetry tolerance")
)

// DefaultSymmetryTol is the asymmetry, relative to the largest entry, that FromDense and FromCSR attribute to
// rounding: 4096 times the machine epsilon 2⁻⁵² of a double. That is far above the effect of summing an inner
// product of a few thousand terms in another order, and far below any intended difference between two
// entries.
const DefaultSymmetryTol = 0x1p-40

// checkSquare, finite and checkAsymmetry are the checks of FromDense and FromCSR, in this order.
func checkSquare(t Table) error {
	if rows, cols := t.Dims(); rows != cols {
		return fmt.Errorf("%w: %d rows, %d columns", ErrNotSquare, rows, cols)
	}
	return nil
}

func (s Survey) finite() error {
	if c := s.NotFinite; c.Count > 0 {
		return fmt.Errorf("%w: %d such entries, the first at [%d,%d] (%v)", ErrNotFinite, c.Count, c.Row, c.Col, c.Value)
	}
	return nil
}

func (f found) checkAsymmetry(tol float64) error {
	switch {
	case !(tol >= 0):
		return fmt.Errorf("%w: %v, want a number ≥ 0", ErrTolerance, tol)
	case tol == 0:
		tol = DefaultSymmetryTol
	}
	if a := f.asymmetry; a.Diff > tol*f.MaxAbs() {
		return fmt.Errorf("%w: |A[%d,%d]-A[%d,%d]| = %.6g, tolerance %.3g", ErrAsymmetric,
			a.Row, a.Col, a.Col, a.Row, a.Diff, tol*f.MaxAbs())
	}
	return nil
}

// normInRange reports whether norm, that of a matrix whose stored numbers s surveys, is so large that no numbers of the
// matrix have lost digits to underflow, and so small that its products with columns of H do not overflow.
func normInRange(norm float64, s Survey) bool {
	return s.MaxAbs() == 0 || norm >= 0x1p-1000 && norm < 0x1p1023
}

// unit returns a power of two near 1/max. The squares of numbers up to max neither overflow nor vanish if the
// numbers are multiplied by it first. It returns 1 if max is 0.
func unit(max float64) float64 {
	if max == 0 {
		return 1
	}
	_, e := math.Frexp(max)
	return math.Ldexp(1, clamp(-e, -1022, 1022))
}

func clamp(x, lo, hi int) int { return min(max(x, lo), hi) }

// density returns stored/(rows·cols).
func density(stored int64, rows, cols int) float64 {
	if rows == 0 || cols == 0 {
		return 0
	}
	return float64(stored) / float64(rows) / float64(cols)
}

// normBlock is the number of rows whose squares are summed separately when a norm is computed.
const normBlock = 256
