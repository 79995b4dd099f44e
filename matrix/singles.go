package matrix

import (
	"slices"

	"symnmf/internal/kernel"
	"symnmf/internal/rules"
)

// singleRepeater is an operator whose products with matrices in float32 wait for half as much memory as with
// those in float64.
type singleRepeater interface {
	// repeatSingle is Repeat for matrices in float32, n×k. It returns nil if there is nothing to gain.
	repeatSingle(k, workers int) func(x []float32) Product
}

// repeatSingle implements singleRepeater. It pays from the size on at which rowblock keeps H in float32
// (decision 0013). It cannot be used if stored entries are left out.
func (m *SymCSR) repeatSingle(k, _ int) func(x []float32) Product {
	if m.a.rows*k < rules.SpanFrom || m.leavesOut(0, m.a.rows) {
		return nil
	}
	return func(x []float32) Product { return &csrSingles{m, x, k} }
}

// ProductOf returns a.NewProduct(h), or the same rows of A·h from a copy of h in float32, if no number of h changes by
// that and it takes less time (CopiesSingles). Only the order of sums differs.
func ProductOf(a Operator, h *Dense, workers int) Product {
	if CopiesSingles(a, h.cols) {
		if x := kernel.Singles(h.data, workers); x != nil {
			return &csrSingles{a.(*SymCSR), x, h.cols}
		}
	}
	return a.NewProduct(h, workers)
}

// CopiesSingles reports whether ProductOf copies an h of r columns whose numbers are all of float32. It does where A
// is stored as a sparse matrix with at least 2r entries a row, none of which it leaves out, and h has 2¹⁶ to 2²²
// numbers.
func CopiesSingles(a Operator, r int) bool {
	m, sparse := a.(*SymCSR)
	return sparse && rules.CopyPays(m.a.rows, r, m.Stored()) && !m.leavesOut(0, m.a.rows)
}

type csrSingles struct {
	m *SymCSR
	x []float32
	k int
}

func (p *csrSingles) RowsTo(dst []float64, lo, hi int) {
	gatherTo(p.m.a, dst, lo, hi, p.x, p.k, p.m.scale)
}

// repeatSingle implements singleRepeater for sparse points. Z is in float32, too.
func (m *GramOperator) repeatSingle(k, workers int) func(x []float32) Product {
	points, sparse := m.points.(*CSR)
	n, rows := m.points.Dims()
	if !sparse || max(n, rows)*k < rules.SpanFrom {
		return nil
	}
	features := m.byFeatures(workers)
	z := kernel.Room[float32](rows * k)
	return func(x []float32) Product {
		kernel.BlocksWith(rows, productRows, workers, func() []float64 { return make([]float64, productRows*k) }, func(sums []float64, _, lo, hi int) {
			sums = sums[:(hi-lo)*k]
			gatherTo(features, sums, lo, hi, x, k, m.scale)
			kernel.ToFloat32(z[lo*k:hi*k], sums)
		})
		return &gramSingles{m, points, x, z, k}
	}
}

type gramSingles struct {
	m      *GramOperator
	points *CSR
	x, z   []float32
	k      int
}

func (p *gramSingles) RowsTo(dst []float64, lo, hi int) {
	gatherTo(p.points, dst, lo, hi, p.z, p.k, p.m.scale)
	if !p.m.offDiag {
		return
	}
	own := make([]float64, p.k)
	for i := lo; i < hi; i++ {
		kernel.ToFloat64(own, p.x[i*p.k:(i+1)*p.k])
		kernel.Axpy(dst[(i-lo)*p.k:(i-lo+1)*p.k], -p.m.scale*(p.m.scale*p.m.diag[i]), own)
	}
}

// repeatSingle implements singleRepeater if the inner operator does, and S·x does not leave the range of
// float32.
func (m *normalized) repeatSingle(k, workers int) func(x []float32) Product {
	const least, most = 0x1p-40, 0x1p40
	inner, ok := m.inner.(singleRepeater)
	if !ok || slices.ContainsFunc(m.s, func(s float64) bool { return s != 0 && !(s >= least && s <= most) }) {
		return nil
	}
	products := inner.repeatSingle(k, workers)
	if products == nil {
		return nil
	}
	sx := kernel.Room[float32](len(m.s) * k)
	return func(x []float32) Product {
		kernel.Blocks(len(m.s), productRows, workers, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				s := float32(m.s[i])
				for j, v := range x[i*k : (i+1)*k] {
					sx[i*k+j] = s * v
				}
			}
		})
		return &normalizedSingles{m.s, products(sx), k}
	}
}

type normalizedSingles struct {
	s     []float64
	inner Product
	k     int
}

func (p *normalizedSingles) RowsTo(dst []float64, lo, hi int) {
	p.inner.RowsTo(dst, lo, hi)
	for i := lo; i < hi; i++ {
		kernel.Scale(dst[(i-lo)*p.k:(i-lo+1)*p.k], p.s[i])
	}
}
