package matrix

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"symnmf/internal/kernel"
)

// ErrDegree reports degrees that cannot normalize a matrix.
var ErrDegree = errors.New("matrix: degrees cannot normalize the matrix")

// Degrees returns the n row sums d = A·1, from a product with one vector. For points ≥ 0 without their
// diagonal, no degree is below 0, and a point that shares no feature with others has degree exactly 0.
func Degrees(a Operator, workers int) []float64 {
	one := make([]float64, a.Dim())
	for i := range one {
		one[i] = 1
	}
	if inner, ok := a.(weightable); ok {
		return inner.degrees(one, workers)
	}
	return timesVector(a, one, workers)
}

// timesVector returns A·w.
func timesVector(a Operator, w []float64, workers int) []float64 {
	return multiply(a, NewDense(len(w), 1, w), workers).data
}

// Normalized returns (D+τI)^(−½)·A·(D+τI)^(−½), where D = diag(d) holds the degrees d = A·1, as a view on a.
// Only the n numbers s_i = 1/√(d_i+τ) are new. With τ = 0 that is D^(−½)·A·D^(−½), and an item of degree 0
// keeps a row of zeros. A τ > 0, for instance the mean degree, damps items of low degree. The degrees include
// the diagonal if a does; pass a.OffDiagonal() to exclude it from the degrees, too.
//
// If a has negative entries, degrees may be negative; d_i + τ must be finite and ≥ 0. The operator a must be
// one of this package other than those of Completed.
//
// Besides one product with a vector, the time is that of computing the norm: one pass over the entries of A,
// or, for points, at most that of summing the products that make up the entries of XᵀX or of XXᵀ.
//
// Source: τ after Qin, Rohe, Regularized spectral clustering under the degree-corrected stochastic
// blockmodel, NIPS 2013.
func Normalized(a Operator, tau float64, workers int) (Operator, error) {
	if !(tau >= 0) || math.IsInf(tau, 0) {
		return nil, fmt.Errorf("%w: τ = %v, want a finite number ≥ 0", ErrDegree, tau)
	}
	inner, ok := a.(weightable)
	if !ok {
		return nil, fmt.Errorf("matrix: %T cannot be normalized", a)
	}
	s := Degrees(a, workers)
	most := 0.0 // for A ≥ 0 an upper bound on ‖SAS‖₂, at most n·√n times too large
	for i, d := range s {
		if !(d+tau >= 0) || math.IsInf(d+tau, 0) {
			return nil, fmt.Errorf("%w: item %d has degree %v, and τ = %v", ErrDegree, i, d, tau)
		}
		s[i] = 0
		if d+tau > 0 {
			most = max(most, math.Abs(d)/(d+tau))
			s[i] = 1 / math.Sqrt(d+tau)
		}
	}
	_, e := math.Frexp(most)
	root := math.Ldexp(1, -e/2) // root·S keeps squares in range
	w := make([]float64, len(s))
	for i, v := range s {
		w[i] = root * v
	}
	norm, normOff := inner.weightedNorms(w, workers)
	m := &normalized{inner: inner, s: s, norm: norm / root / root, normOff: normOff / root / root}
	if norm := m.Norm(); norm > 0 && norm < 0x1p-1000 || math.IsNaN(norm) || math.IsInf(norm, 0) {
		return nil, fmt.Errorf("%w: it is %.3g for the normalized matrix with τ = %v", ErrRange, norm, tau)
	}
	return m.listed(), nil
}

// weightable is an operator that Normalized accepts.
type weightable interface {
	Operator
	BlockMultiplier
	// weightedNorms returns ‖WAW‖, W = diag(w), with the diagonal and without it, whether or not the operator
	// leaves its diagonal out.
	weightedNorms(w []float64, workers int) (norm, off float64)
	// degrees returns A·w, as for Degrees, for w ≥ 0.
	degrees(w []float64, workers int) []float64
	// diagonalLeft reports whether the diagonal is left out. taken returns the numbers A_ii that products
	// subtract to leave the diagonal out, or nil if products do not add them in the first place.
	diagonalLeft() bool
	taken() []float64
	// fromOff returns the square root of the sum from which off² was computed by subtraction; norm and off
	// are results of weightedNorms.
	fromOff(norm, off float64) float64
	// unsigned returns the square root of the sum of squares from which ‖WAW‖² is computed, with all signs
	// taken as plus, W = diag(w), or W = I for w = nil. It is 0 if there are no minus signs.
	unsigned(w []float64) float64
}

// Taken returns the numbers from which a and its norm are computed by subtraction; rounding errors are
// relative to these.
//
// If a is inner products of points without the diagonal, or a view of them, diag holds the A_ii that products
// subtract. For any other operator diag is nil.
//
// For these operators, and for a low rank with signs (NewLowRank) or a view of one, from is the square root
// of the sum of which ‖A‖² is what remains after subtraction. For any other operator from is ‖A‖.
//
// O(n), or O(n·k²) for a low rank with signs.
func Taken(a Operator) (diag []float64, from float64) {
	from = a.Norm()
	switch m := a.(type) {
	case *GramOperator:
		if m.offDiag {
			diag, from = m.taken(), m.fromOff(m.norm, m.normOff)
		}
		from = max(from, m.unsigned(nil))
	case *normalized:
		if m.diagonalLeft() {
			diag, from = m.taken(), m.fromOff(m.norm, m.normOff)
		}
		from = max(from, m.unsigned(nil))
	}
	return diag, from
}

func (m *symDense[F]) weightedNorms(w []float64, workers int) (norm, off float64) {
	all, without := m.sumSq(m.scale, w, workers)
	return math.Sqrt(all), math.Sqrt(without)
}

func (m *SymCSR) weightedNorms(w []float64, workers int) (norm, off float64) {
	all, without := m.sumSq(m.scale, w, workers)
	return math.Sqrt(all), math.Sqrt(without)
}

func (m *GramOperator) weightedNorms(w []float64, workers int) (norm, off float64) {
	all, without := m.sumSq(m.scale, w, nil, workers)
	return math.Sqrt(all), math.Sqrt(without)
}

func (m *normalized) weightedNorms(w []float64, workers int) (norm, off float64) {
	return m.inner.weightedNorms(m.weigh(w), workers)
}

func (m *symDense[F]) degrees(w []float64, workers int) []float64 { return timesVector(m, w, workers) }

func (m *SymCSR) degrees(w []float64, workers int) []float64 { return timesVector(m, w, workers) }

func (m *normalized) degrees(w []float64, workers int) []float64 {
	return m.weigh(m.inner.degrees(m.weigh(w), workers))
}

// weigh returns S·w.
func (m *normalized) weigh(w []float64) []float64 {
	sw := make([]float64, len(w))
	for i, v := range w {
		sw[i] = v * m.s[i]
	}
	return sw
}

func (m *symDense[F]) diagonalLeft() bool { return m.offDiag }

func (m *SymCSR) diagonalLeft() bool { return m.offDiag }

func (m *GramOperator) diagonalLeft() bool { return m.offDiag }

func (m *normalized) diagonalLeft() bool { return m.inner.diagonalLeft() }

func (m *symDense[F]) taken() []float64 { return nil }

func (m *SymCSR) taken() []float64 { return nil }

func (m *GramOperator) taken() []float64 {
	t := make([]float64, len(m.diag))
	for i, v := range m.diag {
		t[i] = m.scale * (m.scale * v)
	}
	return t
}

func (m *normalized) taken() []float64 {
	t := m.inner.taken()
	if t != nil {
		t = m.weigh(m.weigh(t))
	}
	return t
}

func (m *symDense[F]) fromOff(_, off float64) float64 { return off }

func (m *SymCSR) fromOff(_, off float64) float64 { return off }

func (m *symDense[F]) unsigned([]float64) float64 { return 0 }

func (m *SymCSR) unsigned([]float64) float64 { return 0 }

func (m *GramOperator) unsigned(w []float64) float64 {
	p, signed := m.points.(signedPoints)
	if !signed || p.positive == p.cols { // no minus signs
		return 0
	}
	_, from := p.normSq(m.scale, w, runtime.GOMAXPROCS(0))
	return math.Sqrt(from)
}

func (m *normalized) unsigned(w []float64) float64 {
	if w == nil {
		return m.inner.unsigned(m.s)
	}
	return m.inner.unsigned(m.weigh(w))
}

func (m *normalized) fromOff(norm, off float64) float64 { return m.inner.fromOff(norm, off) }

// normalized is S·A·S, S = diag(s), computed as (SAS)·H = S·(A·(S·H)). It keeps S·H beside H and multiplies A
// by it.
type normalized struct {
	inner   weightable // A, scaled and without its diagonal if the view is
	s       []float64
	norm    float64 // with the diagonal
	normOff float64
}

// normalizedRows is a normalized whose A lists its entries.
type normalizedRows struct {
	normalized
	visitor RowVisitor
}

// listed returns m, as a normalizedRows if A lists its entries.
func (m *normalized) listed() Operator {
	if v, ok := m.inner.(RowVisitor); ok {
		return &normalizedRows{*m, v}
	}
	return m
}

// Dim implements Operator.
func (m *normalized) Dim() int { return m.inner.Dim() }

// Stored implements Operator; it is that of A.
func (m *normalized) Stored() int64 { return m.inner.Stored() }

// Density implements Operator; it is that of A.
func (m *normalized) Density() float64 { return m.inner.Density() }

// Norm implements Operator.
func (m *normalized) Norm() float64 {
	if m.diagonalLeft() {
		return m.normOff
	}
	return m.norm
}

// Negatives implements Operator; they are those of A.
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
	v := normalized{m.inner.Scaled(c).(weightable), m.s, c * m.norm, c * m.normOff}
	return v.listed()
}

// OffDiagonal implements Operator.
func (m *normalized) OffDiagonal() Operator {
	v := *m
	v.inner = m.inner.OffDiagonal().(weightable)
	return v.listed()
}

// VisitRow implements RowVisitor.
func (m *normalizedRows) VisitRow(i int, f func(l int, v float64)) {
	si := m.s[i]
	m.visitor.VisitRow(i, func(l int, v float64) { f(l, si*v*m.s[l]) })
}

// shadow holds S·H beside H.
type shadow struct {
	s     []float64
	h, sh *Dense
}

func (m *normalized) shadow(h *Dense) shadow {
	w := shadow{m.s, h, NewDense(h.rows, h.cols, nil)}
	w.refresh(0, h.rows)
	return w
}

// refresh computes rows lo to hi of S·H from H.
func (w *shadow) refresh(lo, hi int) {
	r := w.h.cols
	w.rowsTo(w.sh.data[lo*r:hi*r], w.h.data[lo*r:hi*r], lo)
}

// rowsTo sets dst to S·x, where x holds rows of r numbers each, the first of them row from. dst and x may be
// the same slice.
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

// normalizedForwarder is a normalizedCursor whose inner cursor is a Forwarder.
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
