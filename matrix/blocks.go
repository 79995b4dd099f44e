package matrix

import "symnmf/internal/kernel"

// Blocks is a product that follows H.
type Blocks interface {
	RowsTo(dst []float64, lo, hi int)
	Quad(d []float64, lo, hi int) float64
	Add(t float64, d []float64, lo, hi int)
	Refresh()
}

func (m *SymDense) NewBlocks(h *Dense, workers int) Blocks { return &denseBlocks{denseProduct{m, h}} }

type denseBlocks struct{ denseProduct }

func (b *denseBlocks) Quad(d []float64, lo, hi int) (q float64) {
	r := b.h.cols
	acc := make([]float64, r)
	for i := lo; i < hi; i++ {
		clear(acc)
		kernel.RowTimes(acc, b.m.a.Row(i)[lo:hi], d)
		q += kernel.Dot(acc, d[(i-lo)*r:(i-lo+1)*r])
		if b.m.offDiag {
			q -= b.m.a.At(i, i) * kernel.SumSq(d[(i-lo)*r:(i-lo+1)*r])
		}
	}
	return q * b.m.scale
}
func (b *denseBlocks) Add(t float64, d []float64, lo, hi int) {}
func (b *denseBlocks) Refresh()                               {}

func (m *SymCSR) NewBlocks(h *Dense, workers int) Blocks { return &csrBlocks{csrProduct{m, h}} }

type csrBlocks struct{ csrProduct }

func (b *csrBlocks) Quad(d []float64, lo, hi int) (q float64) {
	r := b.h.cols
	for i := lo; i < hi; i++ {
		col, val := b.m.a.Row(i)
		for p, c := range col {
			if int(c) >= lo && int(c) < hi && (int(c) != i || !b.m.offDiag) {
				q += value(val, p) * kernel.Dot(d[(i-lo)*r:(i-lo+1)*r], d[(int(c)-lo)*r:(int(c)-lo+1)*r])
			}
		}
	}
	return q * b.m.scale
}
func (b *csrBlocks) Add(t float64, d []float64, lo, hi int) {}
func (b *csrBlocks) Refresh()                               {}

func (m *GramOperator) NewBlocks(h *Dense, workers int) Blocks {
	return &gramBlocks{*m.NewProduct(h, workers).(*gramProduct), nil, workers}
}

type gramBlocks struct {
	gramProduct
	y       []float64
	workers int
}

func (b *gramBlocks) Quad(d []float64, lo, hi int) (q float64) {
	r := b.h.cols
	_, features := b.m.points.Dims()
	if b.y == nil {
		b.y = make([]float64, features*r)
	}
	clear(b.y)
	switch x := b.m.points.(type) {
	case *CSR:
		for i := lo; i < hi; i++ {
			col, val := x.Row(i)
			di := d[(i-lo)*r : (i-lo+1)*r]
			for p, c := range col {
				kernel.Axpy(b.y[int(c)*r:(int(c)+1)*r], value(val, p)*b.m.scale, di)
			}
		}
	case *Dense:
		for i := lo; i < hi; i++ {
			di := d[(i-lo)*r : (i-lo+1)*r]
			for c, v := range x.Row(i) {
				kernel.Axpy(b.y[c*r:(c+1)*r], v*b.m.scale, di)
			}
		}
	}
	q = kernel.SumSq(b.y)
	return q
}
func (b *gramBlocks) Add(t float64, d []float64, lo, hi int) { kernel.Axpy(b.z, t, b.y) }
func (b *gramBlocks) Refresh() {
	r := b.h.cols
	_, features := b.m.points.Dims()
	t := b.m.columnsOfZ(b.h, b.workers)
	for j := range r {
		for k := range features {
			b.z[k*r+j] = t[j*features+k]
		}
	}
}
