package matrix

import "symnmf/internal/kernel"

// BlockProduct gives rows of A·H for an H that changes by blocks of rows, and follows it.
type BlockProduct interface {
	// RowsTo fills dst, (hi−lo)×r by rows, with rows lo ≤ i < hi of A·H for H as it is now.
	RowsTo(dst []float64, lo, hi int)
	// Step returns ⟨A_BB·d, d⟩ for rows B from lo to hi of A and d (hi−lo)×r.
	Step(d []float64, lo, hi int) float64
	// Move says that H_B has grown by t times the d of the last Step.
	Move(t float64)
	// Change says that H_ij has grown by delta.
	Change(i, j int, delta float64)
	// Refresh says that H has changed anywhere.
	Refresh()
}

// BlockMultiplier is an operator with a BlockProduct.
type BlockMultiplier interface {
	NewBlockProduct(h *Dense, workers int) BlockProduct
}

// NewBlockProduct implements BlockMultiplier.
func (m *SymDense) NewBlockProduct(h *Dense, _ int) BlockProduct { return &denseBlocks{m, h} }

type denseBlocks struct {
	m *SymDense
	h *Dense
}

func (b *denseBlocks) RowsTo(dst []float64, lo, hi int) {
	n, r := b.m.a.rows, b.h.cols
	clear(dst)
	kernel.RowsTimes(dst, b.m.a.data[lo*n:hi*n], n, b.h.data, r)
	for i := lo; i < hi; i++ {
		row := dst[(i-lo)*r : (i-lo+1)*r]
		if b.m.offDiag {
			kernel.Axpy(row, -b.m.a.At(i, i), b.h.Row(i))
		}
		for k := range row {
			row[k] *= b.m.scale
		}
	}
}

func (b *denseBlocks) Step(d []float64, lo, hi int) (q float64) {
	n, r := b.m.a.rows, b.h.cols
	q = kernel.Quad(b.m.a.data[lo*n+lo:(hi-1)*n+hi], n, d, r)
	if b.m.offDiag {
		for i := lo; i < hi; i++ {
			q -= b.m.a.At(i, i) * kernel.SumSq(d[(i-lo)*r:(i-lo+1)*r])
		}
	}
	return q * b.m.scale
}

func (b *denseBlocks) Move(float64)             {}
func (b *denseBlocks) Change(int, int, float64) {}
func (b *denseBlocks) Refresh()                 {}

// NewBlockProduct implements BlockMultiplier.
func (m *SymCSR) NewBlockProduct(h *Dense, _ int) BlockProduct { return &csrBlocks{csrProduct{m, h}} }

type csrBlocks struct{ csrProduct }

func (b *csrBlocks) Step(d []float64, lo, hi int) (q float64) {
	r := b.h.cols
	for i := lo; i < hi; i++ {
		col, val := b.m.a.Row(i)
		di := d[(i-lo)*r : (i-lo+1)*r]
		for p, c := range col {
			if l := int(c); l >= lo && l < i {
				q += 2 * value(val, p) * kernel.Dot(di, d[(l-lo)*r:(l-lo+1)*r])
			}
		}
		if !b.m.offDiag {
			q += b.m.diag[i] * kernel.SumSq(di)
		}
	}
	return q * b.m.scale
}

func (b *csrBlocks) Move(float64)             {}
func (b *csrBlocks) Change(int, int, float64) {}
func (b *csrBlocks) Refresh()                 {}

// NewBlockProduct implements BlockMultiplier.
func (m *GramOperator) NewBlockProduct(h *Dense, workers int) BlockProduct {
	_, features := m.points.Dims()
	b := &gramBlocks{m: m, h: h, workers: workers, z: make([]float64, features*h.cols), y: make([]float64, features*h.cols),
		seen: make([]int32, features)}
	b.Refresh()
	return b
}

// gramBlocks keeps Z = X·H (m×r by rows).
type gramBlocks struct {
	m       *GramOperator
	h       *Dense
	workers int
	z       []float64
	y       []float64 // X_Bᵀd of the last Step, on the features in used; dense points use all
	used    []int32
	seen    []int32 // place of a feature in used, plus 1
	lo, hi  int
	d       []float64
}

func (b *gramBlocks) RowsTo(dst []float64, lo, hi int) {
	r := b.h.cols
	clear(dst)
	if x, ok := b.m.points.(*Dense); ok {
		kernel.RowsTimes(dst, x.data[lo*x.cols:hi*x.cols], x.cols, b.z, r)
	} else {
		for i := lo; i < hi; i++ {
			b.m.points.rowsTimes(dst[(i-lo)*r:(i-lo+1)*r], i, b.z)
		}
	}
	for i := lo; i < hi; i++ {
		row := dst[(i-lo)*r : (i-lo+1)*r]
		for k := range row {
			row[k] *= b.m.scale
		}
		if b.m.offDiag {
			kernel.Axpy(row, -b.m.scale*(b.m.scale*b.m.diag[i]), b.h.Row(i))
		}
	}
}

func (b *gramBlocks) Step(d []float64, lo, hi int) (q float64) {
	r := b.h.cols
	b.lo, b.hi, b.d = lo, hi, d
	if hi-lo == 1 {
		q = b.m.diag[lo] * kernel.SumSq(d)
	} else if x, ok := b.m.points.(*Dense); ok {
		clear(b.y)
		kernel.TransTimes(b.y, x.data[lo*x.cols:hi*x.cols], x.cols, d, r)
		q = kernel.SumSq(b.y)
	} else {
		x := b.m.points.(*CSR)
		for i := lo; i < hi; i++ {
			col, val := x.Row(i)
			di := d[(i-lo)*r : (i-lo+1)*r]
			for p, c := range col {
				at := b.seen[c]
				if at == 0 {
					b.used = append(b.used, c)
					at = int32(len(b.used))
					b.seen[c] = at
					clear(b.y[(int(at)-1)*r : int(at)*r])
				}
				kernel.Axpy(b.y[(int(at)-1)*r:int(at)*r], value(val, p), di)
			}
		}
		q = kernel.SumSq(b.y[:len(b.used)*r])
	}
	if b.m.offDiag {
		for i := lo; i < hi; i++ {
			q -= b.m.diag[i] * kernel.SumSq(d[(i-lo)*r:(i-lo+1)*r])
		}
	}
	return q * b.m.scale * b.m.scale
}

func (b *gramBlocks) Move(t float64) {
	r := b.h.cols
	switch x := b.m.points.(type) {
	case *Dense:
		if b.hi-b.lo == 1 {
			for c, v := range x.Row(b.lo) {
				if v != 0 && t != 0 {
					kernel.Axpy(b.z[c*r:(c+1)*r], t*b.m.scale*v, b.d)
				}
			}
		} else if t != 0 {
			kernel.Axpy(b.z, t*b.m.scale, b.y)
		}
	case *CSR:
		if b.hi-b.lo == 1 {
			col, val := x.Row(b.lo)
			for p, c := range col {
				kernel.Axpy(b.z[int(c)*r:(int(c)+1)*r], t*b.m.scale*value(val, p), b.d)
			}
			return
		}
		for at, c := range b.used {
			if t != 0 {
				kernel.Axpy(b.z[int(c)*r:(int(c)+1)*r], t*b.m.scale, b.y[at*r:(at+1)*r])
			}
			b.seen[c] = 0
		}
		b.used = b.used[:0]
	}
}

func (b *gramBlocks) Change(i, j int, delta float64) {
	r := b.h.cols
	delta *= b.m.scale
	switch x := b.m.points.(type) {
	case *Dense:
		for c, v := range x.Row(i) {
			b.z[c*r+j] += delta * v
		}
	case *CSR:
		col, val := x.Row(i)
		for p, c := range col {
			b.z[int(c)*r+j] += delta * value(val, p)
		}
	}
}

func (b *gramBlocks) Refresh() {
	r := b.h.cols
	clear(b.z)
	switch x := b.m.points.(type) {
	case *Dense:
		kernel.TransTimes(b.z, x.data, x.cols, b.h.data, r)
		for k := range b.z {
			b.z[k] *= b.m.scale
		}
	case *CSR:
		for i := range x.rows {
			col, val := x.Row(i)
			hi := b.h.Row(i)
			for p, c := range col {
				kernel.Axpy(b.z[int(c)*r:(int(c)+1)*r], value(val, p)*b.m.scale, hi)
			}
		}
	}
}
