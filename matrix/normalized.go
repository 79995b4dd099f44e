package matrix

import (
	"errors"
	"fmt"
	"math"

	"symnmf/internal/kernel"
)

// ErrDegree reports degrees that do not normalize a matrix.
var ErrDegree = errors.New("matrix: not a degree")

// Degrees returns the n row sums d = A·1, by a product with one vector.
func Degrees(a Operator, workers int) []float64 {
	one := NewDense(a.Dim(), 1, nil)
	for i := range one.data {
		one.data[i] = 1
	}
	return multiply(a, one, workers).data
}

// Normalized returns (D+τI)^(−½)·A·(D+τI)^(−½), D = diag(d) with the degrees d = A·1, as a view on a: only the n numbers
// s_i = 1/√(d_i+τ) are new. With τ = 0 that is D^(−½)·A·D^(−½), and an item of degree 0 keeps a row of zeros; τ > 0, the mean
// degree for instance, damps items of low degree. The degrees count the diagonal as far as a does: pass a.OffDiagonal() to
// have it left out of them too.
//
// Degrees of a negative entries may be negative: d_i + τ must be finite and ≥ 0. a must be an operator of this package.
// Besides one product with a vector, the time is that of computing the norm: one pass over the entries of A, or, for points, at most
// that of summing the products that make up those of XᵀX or XXᵀ.
//
// Source: τ after Qin, Rohe, Regularized spectral clustering under the degree-corrected stochastic blockmodel, NIPS 2013.
func Normalized(a Operator, tau float64, workers int) (Operator, error) {
	if !(tau >= 0) || math.IsInf(tau, 0) {
		return nil, fmt.Errorf("%w: τ = %v, want a finite number ≥ 0", ErrDegree, tau)
	}
	inner, ok := a.(weightable)
	if !ok {
		return nil, fmt.Errorf("matrix: %T cannot be normalized", a)
	}
	s := Degrees(a, workers)
	most := 0.0 // a bound on ‖SAS‖₂, which n·√n times a lower one exceeds, when A ≥ 0
	for i, d := range s {
		if !(d+tau >= 0) || math.IsInf(d+tau, 0) {
			return nil, fmt.Errorf("%w: item %d has %v, and τ = %v", ErrDegree, i, d, tau)
		}
		s[i] = 0
		if d+tau > 0 {
			most = max(most, math.Abs(d)/(d+tau))
			s[i] = 1 / math.Sqrt(d+tau)
		}
	}
	_, e := math.Frexp(most)
	root := math.Ldexp(1, -e/2) // with it squares exist
	w := make([]float64, len(s))
	for i, v := range s {
		w[i] = root * v
	}
	norm, normOff := inner.weightedNorms(w, workers)
	norm, normOff = norm/root/root, normOff/root/root
	if norm > 0 && norm < 0x1p-1000 || math.IsNaN(norm) || math.IsInf(norm, 0) {
		return nil, fmt.Errorf("%w: of the normalized matrix it is %.3g, with τ = %v", ErrRange, norm, tau)
	}
	return newNormalized(inner, s, norm, normOff), nil
}

// weightable is an operator that Normalized can take.
type weightable interface {
	Operator
	BlockMultiplier
	// weightedNorms returns ‖WAW‖, W = diag(w), and the same without the diagonal.
	weightedNorms(w []float64, workers int) (norm, off float64)
}

// rootsOf turns sums of squares into norms.
func rootsOf(all, off float64, offDiag bool) (norm, normOff float64) {
	if offDiag {
		all = off
	}
	return math.Sqrt(all), math.Sqrt(off)
}

func (m *symDense[F]) weightedNorms(w []float64, workers int) (norm, off float64) {
	all, off := m.sumSq(m.scale, w, workers)
	return rootsOf(all, off, m.offDiag)
}

func (m *SymCSR) weightedNorms(w []float64, workers int) (norm, off float64) {
	all, off := m.sumSq(m.scale, w, workers)
	return rootsOf(all, off, m.offDiag)
}

func (m *GramOperator) weightedNorms(w []float64, workers int) (norm, off float64) {
	all, off := m.sumSq(m.scale, w, nil, workers)
	return rootsOf(all, off, m.offDiag)
}

func (m *normalized) weightedNorms(w []float64, workers int) (norm, off float64) {
	ws := make([]float64, len(w))
	for i, v := range w {
		ws[i] = v * m.s[i]
	}
	return m.inner.weightedNorms(ws, workers)
}

// normalized is S·A·S, S = diag(s), as (SAS)·H = S·(A·(S·H)). It multiplies S·H, kept beside H, by A.
type normalized struct {
	inner   weightable // A, scaled or without its diagonal as the view is
	s       []float64
	norm    float64
	normOff float64
}

// normalizedRows is one whose A lists its entries.
type normalizedRows struct {
	normalized
	visitor RowVisitor
}

func newNormalized(a weightable, s []float64, norm, normOff float64) Operator {
	m := normalized{a, s, norm, normOff}
	if v, ok := a.(RowVisitor); ok {
		return &normalizedRows{m, v}
	}
	return &m
}

// Dim implements Operator.
func (m *normalized) Dim() int { return m.inner.Dim() }

// Stored implements Operator: of A.
func (m *normalized) Stored() int64 { return m.inner.Stored() }

// Density implements Operator: of A.
func (m *normalized) Density() float64 { return m.inner.Density() }

// Norm implements Operator.
func (m *normalized) Norm() float64 { return m.norm }

// Negatives implements Operator: of A.
func (m *normalized) Negatives() Cells { return m.inner.Negatives() }

// DiagTo implements Operator.
func (m *normalized) DiagTo(dst []float64) {
	m.inner.DiagTo(dst)
	for i, v := range m.s {
		dst[i] = v * dst[i] * v
	}
}

// Scaled implements Operator.
func (m *normalized) Scaled(c float64) Operator {
	return newNormalized(m.inner.Scaled(c).(weightable), m.s, c*m.norm, c*m.normOff)
}

// OffDiagonal implements Operator.
func (m *normalized) OffDiagonal() Operator {
	return newNormalized(m.inner.OffDiagonal().(weightable), m.s, m.normOff, m.normOff)
}

// VisitRow implements RowVisitor.
func (m *normalizedRows) VisitRow(i int, f func(l int, v float64)) {
	si := m.s[i]
	m.visitor.VisitRow(i, func(l int, v float64) { f(l, si*v*m.s[l]) })
}

// shadow is S·H.
type shadow struct {
	s     []float64
	h, sh *Dense
}

func (m *normalized) shadow(h *Dense) shadow {
	w := shadow{m.s, h, NewDense(h.rows, h.cols, nil)}
	w.refresh(0, h.rows)
	return w
}

// refresh computes rows lo to hi from H.
func (w *shadow) refresh(lo, hi int) {
	r := w.h.cols
	w.rowsTo(w.sh.data[lo*r:hi*r], w.h.data[lo*r:hi*r], lo)
}

// rowsTo sets dst to S·x for rows x from that one on, r numbers each. dst and x may be the same.
func (w *shadow) rowsTo(dst, x []float64, from int) {
	r := w.h.cols
	for ; len(x) > 0; dst, x, from = dst[r:], x[r:], from+1 {
		s := w.s[from]
		for k, v := range x[:r] {
			dst[k] = s * v
		}
	}
}

// NewProduct implements Operator.
func (m *normalized) NewProduct(h *Dense, workers int) Product {
	w := m.shadow(h)
	return &normalizedProduct{w, m.inner.NewProduct(w.sh, workers)}
}

// Repeat implements Repeater.
func (m *normalized) Repeat(workers int) func(h *Dense) Product {
	products := productsOf(m.inner, workers)
	return func(h *Dense) Product {
		w := m.shadow(h)
		return &normalizedProduct{w, products(w.sh)}
	}
}

type normalizedProduct struct {
	shadow
	inner Product
}

func (p *normalizedProduct) RowsTo(dst []float64, lo, hi int) {
	p.inner.RowsTo(dst, lo, hi)
	p.rowsTo(dst, dst, lo)
}

// NewCursor implements Operator.
func (m *normalized) NewCursor(h *Dense, workers int) Cursor {
	w := m.shadow(h)
	c := normalizedCursor{shadow: w, inner: m.inner.NewCursor(w.sh, workers)}
	if f, ok := c.inner.(Forwarder); ok {
		return &normalizedForwarder{c, f}
	}
	return &c
}

type normalizedCursor struct {
	shadow
	inner Cursor
	j     int
}

func (c *normalizedCursor) Column(j int) {
	c.j = j
	c.inner.Column(j)
}

func (c *normalizedCursor) At(i int) float64 { return c.s[i] * c.inner.At(i) }

func (c *normalizedCursor) Add(i int, delta float64) {
	k := i*c.h.cols + c.j
	c.sh.data[k] = c.s[i] * c.h.data[k]
	c.inner.Add(i, c.s[i]*delta)
}

func (c *normalizedCursor) Refresh() {
	c.refresh(0, c.h.rows)
	c.inner.Refresh()
}

// normalizedForwarder is one whose A can look forward.
type normalizedForwarder struct {
	normalizedCursor
	forwarder Forwarder
}

func (c *normalizedForwarder) Forward() {
	c.refresh(0, c.h.rows)
	c.forwarder.Forward()
}

// NewBlockProduct implements BlockMultiplier.
func (m *normalized) NewBlockProduct(h *Dense, size int, team *kernel.Team) BlockProduct {
	w := m.shadow(h)
	return &normalizedBlocks{
		shadow: w, rowBlocks: newRowBlocks(h, size, team), inner: m.inner.NewBlockProduct(w.sh, size, team),
		d: make([]float64, size*h.cols), e: make([]float64, size*h.cols),
	}
}

type normalizedBlocks struct {
	shadow
	rowBlocks
	inner BlockProduct
	d, e  []float64 // S_B·d of the last Step; S_B·e of a Move, or S_i·d of an AddRow
}

func (b *normalizedBlocks) RowsTo(dst []float64, lo, hi int) {
	b.inner.RowsTo(dst, lo, hi)
	b.rowsTo(dst, dst, lo)
}

func (b *normalizedBlocks) Step(block int, d []float64) float64 {
	lo, _ := b.bounds(block)
	b.rowsTo(b.d, d, lo)
	return b.inner.Step(block, b.d[:len(d)])
}

func (b *normalizedBlocks) Move(block int, t float64, e []float64) {
	lo, hi := b.bounds(block)
	b.refresh(lo, hi)
	b.rowsTo(b.e, e, lo)
	b.inner.Move(block, t, b.e[:len(e)])
}

func (b *normalizedBlocks) AddRow(i int, d []float64) {
	b.refresh(i, i+1)
	b.rowsTo(b.e, d, i)
	b.inner.AddRow(i, b.e[:len(d)])
}

func (b *normalizedBlocks) Extrapolate(beta float64, h *Dense) {
	b.shadow.h, b.rowBlocks.h = h, h
	b.refreshAll()
	b.inner.Extrapolate(beta, b.sh)
}

func (b *normalizedBlocks) Refresh() {
	b.refreshAll()
	b.inner.Refresh()
}

func (b *normalizedBlocks) Inner() (float64, bool) { return b.inner.Inner() }

func (b *normalizedBlocks) refreshAll() {
	n := b.sh.rows
	b.team.Do(kernel.BlockCount(n, normBlock), func(k int) { b.refresh(k*normBlock, min((k+1)*normBlock, n)) })
}
