package matrix

import (
	"math"
	"slices"

	"symnmf/internal/kernel"
)

// Completed returns an operator with the entries of a off the diagonal and with a likely diagonal, for an a without
// its diagonal. A matrix near a low rank is near none when its diagonal is gone, so eigenvectors and low ranks are
// better looked for in the result. It returns nil for an a that neither is inner products nor lists its entries.
//
//   - Inner products of points, low ranks, and views of them: the diagonal is that of the products, which a leaves out.
//   - Any other a ≥ 0: what the other entries make likely. What was on the diagonal has no influence.
//
// O(1) for inner products, otherwise two passes over the entries and memory for n numbers.
func Completed(a Operator, workers int) Operator {
	if whole := withDiagonal(a); whole != nil {
		return whole
	}
	v, ok := a.(RowVisitor)
	if !ok {
		return nil
	}
	return CompletedBy(a, likelyDiagonal(a, v, workers))
}

// withDiagonal returns inner products, or a view of them, with their diagonal, and nil for any other a.
func withDiagonal(a Operator) Operator {
	switch m := a.(type) {
	case *GramOperator:
		v := *m
		v.offDiag = false
		v.kept = new(keptBlocks)
		return &v
	case *normalized:
		if inner := withDiagonal(m.inner); inner != nil {
			v := *m
			v.inner = inner.(weightable)
			return &v
		}
	}
	return nil
}

// CompletedBy returns a, which is without its diagonal, with d on it. It keeps d.
func CompletedBy(a Operator, d []float64) Operator {
	scale := unitScale(a.Norm()) // keeps squares in range
	sq := scale * a.Norm() * scale * a.Norm()
	for _, v := range d {
		sq += scale * v * scale * v
	}
	return &completed{a, d, math.Sqrt(sq) / scale}
}

// likelyDiagonal returns a diagonal that suits the other entries of a ≥ 0, whose rows list them:
//
//	d_i = min(max_l A_il, max_l A_il·w_i/w_l),   w = A·1,   l ≠ i
//
// An item is about as similar to itself as to the item most like it. The first maximum overestimates a short point
// with a long one near it, and the second, for which all points are brought to one length, a point with an isolated
// one near it.
func likelyDiagonal(a Operator, rows RowVisitor, workers int) []float64 {
	w, d := Degrees(a, workers), make([]float64, a.Dim())
	inverse := make([]float64, len(w))
	for i, v := range w {
		if v > 0 {
			inverse[i] = min(1/v, math.MaxFloat64)
		}
	}
	likest := visitLikest(rows)
	if m, ok := a.(interface {
		likest(i int, u []float64) (most, alike float64)
	}); ok {
		likest = m.likest
	}
	kernel.Blocks(len(d), productRows, workers, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			most, alike := likest(i, inverse)
			d[i] = min(most, alike*w[i])
		}
	})
	return d
}

// visitLikest returns a function that returns the largest A_il and the largest A_il·u_l of row i of an a without its
// diagonal, or zeros.
func visitLikest(a RowVisitor) func(i int, u []float64) (most, alike float64) {
	return func(i int, u []float64) (most, alike float64) {
		a.VisitRow(i, func(l int, v float64) { most, alike = max(most, v), max(alike, v*u[l]) })
		return most, alike
	}
}

// likest is what visitLikest returns.
func (m *symDense[F]) likest(i int, u []float64) (most, alike float64) {
	row := m.row(i)
	for _, piece := range [...]struct{ from, to int }{{0, i}, {i + 1, m.n}} {
		with := u[piece.from:piece.to]
		for l, x := range row[piece.from:piece.to] {
			v := float64(x)
			if v > most {
				most = v
			}
			if s := v * with[l]; s > alike {
				alike = s
			}
		}
	}
	return m.scale * most, m.scale * alike
}

// completed is an operator without its diagonal, and a diagonal d.
type completed struct {
	Operator
	d    []float64
	norm float64
}

// DiagTo implements Operator.
func (m *completed) DiagTo(dst []float64) { copy(dst, m.d) }

// Norm implements Operator.
func (m *completed) Norm() float64 { return m.norm }

// Scaled implements Operator.
func (m *completed) Scaled(c float64) Operator {
	v := &completed{m.Operator.Scaled(c), slices.Clone(m.d), c * m.norm}
	kernel.Scale(v.d, c)
	return v
}

// OffDiagonal implements Operator.
func (m *completed) OffDiagonal() Operator { return m.Operator }

// NewProduct implements Operator.
func (m *completed) NewProduct(h *Dense, workers int) Product {
	return &completedProduct{m.Operator.NewProduct(h, workers), m.d, h}
}

// Repeat implements Repeater.
func (m *completed) Repeat(workers int) func(h *Dense) Product {
	products := productsOf(m.Operator, workers)
	return func(h *Dense) Product { return &completedProduct{products(h), m.d, h} }
}

type completedProduct struct {
	Product
	d []float64
	h *Dense
}

// RowsTo implements Product.
func (p *completedProduct) RowsTo(dst []float64, lo, hi int) {
	p.Product.RowsTo(dst, lo, hi)
	r := p.h.cols
	for i := lo; i < hi; i++ {
		kernel.Axpy(dst[(i-lo)*r:(i-lo+1)*r], p.d[i], p.h.Row(i))
	}
}

// NewCursor implements Operator.
func (m *completed) NewCursor(h *Dense, workers int) Cursor {
	return &completedCursor{Cursor: m.Operator.NewCursor(h, workers), d: m.d, h: h}
}

type completedCursor struct {
	Cursor
	d []float64
	h *Dense
	j int
}

// Column implements Cursor.
func (c *completedCursor) Column(j int) {
	c.j = j
	c.Cursor.Column(j)
}

// At implements Cursor.
func (c *completedCursor) At(i int) float64 { return c.Cursor.At(i) + c.d[i]*c.h.At(i, c.j) }
