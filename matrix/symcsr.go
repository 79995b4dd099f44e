package matrix

import (
	"fmt"
	"runtime"
	"slices"

	"symnmf/internal/kernel"
	"symnmf/internal/rules"
)

// SymCSR is a sparse A as an Operator. A cursor holds n·r numbers besides H. One Add of row i costs as many
// multiply–adds as that row has entries, and a product nnz·r. The operator allocates nothing of size n×n.
type SymCSR struct {
	a         *CSR
	above     []int64   // where the entries right of the diagonal begin in each row, or where the row ends
	diag      []float64 // unscaled
	scale     float64
	offDiag   bool
	norm      float64
	normOff   float64
	negatives Cells
}

// FromCSR returns the operator over the symmetric matrix a, of which both triangles are stored. Entries must
// be finite, and |A_ij − A_ji| at most tol times the largest entry, where an entry that is not stored counts
// as 0; tol = 0 means DefaultSymmetryTol. O(nnz + n), with GOMAXPROCS goroutines.
func FromCSR(a *CSR, tol float64) (*SymCSR, error) { return newSymCSR(a, tol, runtime.GOMAXPROCS(0)) }

func newSymCSR(a *CSR, tol float64, workers int) (*SymCSR, error) {
	if err := checkSquare(a); err != nil {
		return nil, err
	}
	f, above := a.surveySquare(workers)
	if err := f.finite(); err != nil {
		return nil, err
	}
	if f.lopsided != 0 {
		f.asymmetry = a.asymmetry(above, workers)
	}
	if err := f.checkAsymmetry(tol); err != nil {
		return nil, err
	}
	m := &SymCSR{a: a, above: above, scale: 1, negatives: f.Negative, diag: kernel.Numbers(a.rows)}
	for i := range m.diag {
		if p, stored := a.diagonal(i, above); stored {
			m.diag[i] = value(a.Val, int(p))
		}
	}
	m.norm, m.normOff = f.norms(func(u float64) (all, off float64) { return a.sumSquares(u, above, workers) })
	if !normInRange(m.norm, f.Survey) {
		return nil, fmt.Errorf("%w: the largest entry is %.3g; divide the matrix by it", ErrRange, f.MaxAbs())
	}
	return m, nil
}

// sumSq returns Σ(u·w_i·w_j·A_ij)², without scale, over all entries and over those off the diagonal; w = nil
// means all ones.
func (m *SymCSR) sumSq(u float64, w []float64, workers int) (all, off float64) {
	part := make([]float64, 2*kernel.BlockCount(m.a.rows, normBlock))
	kernel.Blocks(m.a.rows, normBlock, workers, func(b, lo, hi int) {
		for i := lo; i < hi; i++ {
			var diag, others float64 // of the row; one sum over the whole block would round once per entry
			ui := u * value(w, i)
			col, val := m.a.Row(i)
			for p, j := range col {
				x := ui * value(val, p) * value(w, int(j))
				if int(j) == i {
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

// Dim implements Operator.
func (m *SymCSR) Dim() int {
	if m.a == nil { // the zero value
		return 0
	}
	return m.a.rows
}

// Stored implements Operator.
func (m *SymCSR) Stored() int64 { return m.a.NNZ() }

// Density implements Operator.
func (m *SymCSR) Density() float64 { return density(m.Stored(), m.a.rows, m.a.cols) }

// Norm implements Operator.
func (m *SymCSR) Norm() float64 { return m.norm }

// Negatives implements Operator.
func (m *SymCSR) Negatives() Cells { return m.negatives }

// DiagTo implements Operator.
func (m *SymCSR) DiagTo(dst []float64) {
	for i := range dst {
		dst[i] = 0
		if !m.offDiag {
			dst[i] = m.scale * m.diag[i]
		}
	}
}

// Scaled implements Operator.
func (m *SymCSR) Scaled(c float64) Operator {
	v := *m
	v.scale, v.norm, v.normOff = c*m.scale, c*m.norm, c*m.normOff
	return &v
}

// OffDiagonal implements Operator.
func (m *SymCSR) OffDiagonal() Operator {
	v := *m
	v.offDiag, v.norm = true, m.normOff
	return &v
}

// VisitRow implements RowVisitor.
func (m *SymCSR) VisitRow(i int, f func(l int, v float64)) {
	col, val := m.a.Row(i)
	for p, l := range col {
		if int(l) != i || !m.offDiag {
			f(int(l), m.scale*value(val, p))
		}
	}
}

// NewProduct implements Operator.
func (m *SymCSR) NewProduct(h *Dense, _ int) Product { return csrProduct{m, h} }

type csrProduct struct {
	m *SymCSR
	h *Dense
}

// A product passes rowsAtOnce rows to one kernel call if they, or the pieces they are cut into, have at most
// shortRow entries each on average. Longer rows get a call each. The speed of one call for many rows relative
// to one call per row:
//
//   - On Zen 4, 1.9 with 4 entries a row, 1.2 with 12, 1.0 with 32, and 0.9 with 64 and more (medians over
//     ranks and sizes, bench/runs/2026-11-22-graphs).
//   - On a Xeon, in blocks of rowblock, 1.05 with 34 entries a row (hitech), and with 65 (blogcatalog) 1.18
//     with AVX-512 or 1.13 with AVX2. Raising shortRow from 100 to 1000 gained nothing more there.
const (
	rowsAtOnce = 32
	shortRow   = 100
)

// leavesOut reports whether rows lo to hi have stored diagonal entries that A as an operator leaves out.
func (m *SymCSR) leavesOut(lo, hi int) bool {
	return m.offDiag && kernel.Nonzero(m.diag[lo:hi])
}

func (p csrProduct) RowsTo(dst []float64, lo, hi int) {
	r := p.h.cols
	if !p.m.leavesOut(lo, hi) {
		gatherTo(p.m.a, dst, lo, hi, p.h.data, r, p.m.scale)
		return
	}
	for ; lo < hi; lo += rowsAtOnce {
		n := min(rowsAtOnce, hi-lo)
		if p.m.leavesOut(lo, lo+n) {
			p.rowsTo(dst, lo, lo+n)
		} else {
			gatherTo(p.m.a, dst[:n*r], lo, lo+n, p.h.data, r, p.m.scale)
		}
		dst = dst[n*r:]
	}
}

// gatherTo sets dst to scale times rows lo to hi of m·z, where z has r columns.
func gatherTo[F kernel.Float](m *CSR, dst []float64, lo, hi int, z []F, r int, scale float64) {
	if columns := m.spanColumns(r); columns > 0 {
		for ; lo < hi; lo += spanRows {
			n := min(spanRows, hi-lo)
			acc, s := dst[:n*r], m.spansOf(lo, lo+n, columns)
			clear(acc)
			addSpans(&s, acc, 0, m.cols, z, r)
			s.end()
			kernel.Scale(acc, scale)
			dst = dst[n*r:]
		}
		return
	}
	wide, double := any(z).([]float64)
	var cut [rowsAtOnce + 1]int32
	for ; lo < hi; lo += rowsAtOnce {
		n := min(rowsAtOnce, hi-lo)
		begin, end := m.RowPtr[lo], m.RowPtr[lo+n]
		if !double || end-begin <= int64(shortRow*n) {
			for k := range cut[:n+1] {
				cut[k] = int32(m.RowPtr[lo+k] - begin)
			}
			kernel.GatherEach(dst[:n*r], r, cut[:n+1], m.Col[begin:end], m.values(begin, end), z, scale)
		} else {
			for i := range n {
				acc := dst[i*r : (i+1)*r]
				clear(acc)
				col, val := m.rowAhead(lo + i)
				kernel.GatherRows(acc, col, val, wide)
				kernel.Scale(acc, scale)
			}
		}
		dst = dst[n*r:]
	}
}

// A product of A with a matrix x of r columns goes by spans of columns of A if rows of A have at least
// spanEntries entries in a span, on average, and x is larger than half of a second-level cache. A span has as
// many columns as x has rows in spanNumbers numbers, 32 KiB, so that these rows stay in the first-level cache
// from one row of A to the next (decision 0012).
const (
	spanNumbers = 1 << 12
	spanEntries = 8
	spanRows    = 64 // rows of A that go through the spans together
)

// spanColumns returns how many columns of m a span has if products with r columns go by spans, and 0 if they
// do not.
func (m *CSR) spanColumns(r int) int {
	if r < 1 || r > spanNumbers || m.cols*r < rules.SpanFrom {
		return 0
	}
	columns := spanNumbers / r
	if float64(m.NNZ())*float64(columns) < spanEntries*float64(m.rows)*float64(m.cols) {
		return 0
	}
	return columns
}

// spans is the state of a product of at most spanRows rows of m with a matrix.
type spans struct {
	m        *CSR
	lo, hi   int // rows of m
	columns  int // in a span
	at, next [spanRows]int64
}

func (m *CSR) spansOf(lo, hi, columns int) (s spans) {
	s.m, s.lo, s.hi, s.columns = m, lo, hi, columns
	copy(s.at[:], m.RowPtr[lo:hi])
	return s
}

// end panics if a row has entries left, which means that its columns are not in increasing order.
func (s *spans) end() {
	for k, p := range s.at[:s.hi-s.lo] {
		if p != s.m.RowPtr[s.lo+k+1] {
			panic("matrix: columns of a sparse matrix out of order")
		}
	}
}

// addSpans adds to acc the product of columns from to to of m with the rows of z, of r numbers each. Columns
// before from must have been added already.
func addSpans[F kernel.Float](s *spans, acc []float64, from, to int, z []F, r int) {
	rows := s.hi - s.lo
	for ; from < to; from += s.columns {
		end := min(from+s.columns, to)
		kernel.GatherSpan(acc, r, s.at[:rows], s.next[:rows], s.m.RowPtr[s.lo+1:s.hi+1], s.m.Col, s.m.Val, z[from*r:end*r], from)
		s.at, s.next = s.next, s.at
	}
}

// rowsTo is RowsTo, row by row.
func (p csrProduct) rowsTo(dst []float64, lo, hi int) {
	r := p.h.cols
	for i := lo; i < hi; i++ {
		acc := dst[(i-lo)*r : (i-lo+1)*r]
		clear(acc)
		col, val := p.m.a.rowAhead(i)
		if p.m.offDiag && p.m.diag[i] != 0 {
			at, _ := slices.BinarySearch(col, int32(i))
			kernel.GatherRows(acc, col[:at], upTo(val, at), p.h.data)
			col, val = col[at+1:], from(val, at+1)
		}
		kernel.GatherRows(acc, col, val, p.h.data)
		kernel.Scale(acc, p.m.scale)
	}
}

// upTo and from slice values, where nil stands for ones.
func upTo(val []float64, p int) []float64 {
	if val == nil {
		return nil
	}
	return val[:p]
}

func from(val []float64, p int) []float64 {
	if val == nil {
		return nil
	}
	return val[p:]
}

// csrCursor keeps Y = A·H by columns, and scatters a change of one entry of H over the neighbors of its row.
//
// While it looks forward, it keeps only the current column of H and gathers from that. If all entries change,
// this takes as many multiply–adds, but they only read numbers, and the product is saved.
type csrCursor struct {
	m       *SymCSR
	h       *Dense
	workers int
	y       []float64 // n·r, column j at j·n; nil until it is needed
	col     []float64 // the current column of Y, or of H while looking forward
	j       int
	forward bool
}

// NewCursor implements Operator.
func (m *SymCSR) NewCursor(h *Dense, workers int) Cursor {
	return &csrCursor{m: m, h: h, workers: workers}
}

func (c *csrCursor) Column(j int) {
	n := c.m.a.rows
	c.j = j
	switch {
	case c.forward:
		for i := range c.col {
			c.col[i] = c.h.data[i*c.h.cols+j]
		}
		return
	case c.y == nil:
		c.Refresh()
	}
	c.col = c.y[j*n : (j+1)*n]
}

func (c *csrCursor) At(i int) float64 {
	if !c.forward {
		return c.col[i]
	}
	own := c.col[i]
	if c.m.offDiag {
		c.col[i] = 0
	}
	idx, val := c.m.a.Row(i)
	ah := c.m.scale * kernel.GatherDot(idx, val, c.col)
	c.col[i] = own
	return ah
}

func (c *csrCursor) Add(i int, delta float64) {
	if c.forward {
		c.col[i] = c.h.data[i*c.h.cols+c.j]
		return
	}
	own := c.col[i]
	idx, val := c.m.a.Row(i)
	kernel.Scatter(c.col, delta*c.m.scale, idx, val)
	if c.m.offDiag {
		c.col[i] = own
	}
}

func (c *csrCursor) Forward() {
	if !c.forward { // else col is its own already
		c.forward, c.col = true, make([]float64, c.m.a.rows)
	}
}

// Sums returns the rows that At sums up while the cursor looks forward, and the column at work. A is scale times the
// rows. There are none where At leaves out the diagonal.
func (c *csrCursor) Sums() (ptr []int64, idx []int32, val, x []float64, scale float64) {
	if c.m.offDiag {
		return nil, nil, nil, nil, 0
	}
	return c.m.a.RowPtr, c.m.a.Col, c.m.a.Val, c.col, c.m.scale
}

func (c *csrCursor) Refresh() {
	if c.y == nil {
		c.y = make([]float64, len(c.h.data))
	}
	c.forward = false
	refreshColumns(c.y, c.m.NewProduct(c.h, c.workers), c.m.a.rows, c.h.cols, c.workers)
}
