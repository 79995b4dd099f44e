package main

import (
	"fmt"
	"maps"
	"time"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// kind is a kind of product with A.
type kind struct {
	cols int // columns of the matrix that A is multiplied by
	rows int // rows of the product made in one call; allRows for a call that goes through all of A, or X, at once
}

const allRows = 0

// tally is what has been counted so far. Its multiply–adds are, for each column of a product, one for every
// stored number of A, or two for every stored number of X.
type tally struct {
	terms   map[kind]int64
	spent   time.Duration // on the terms
	calls   int64
	singles int64 // multiply–adds for a column of a cursor, entry by entry; the time spent on them is not known
}

func (t tally) clone() tally {
	t.terms = maps.Clone(t.terms)
	return t
}

// minus returns what has been counted since before.
func (t tally) minus(before tally) tally {
	c := t.clone()
	c.spent -= before.spent
	c.calls -= before.calls
	c.singles -= before.singles
	for k, v := range before.terms {
		c.terms[k] -= v
	}
	return c
}

// meter counts and times the work of the operators that share it, on one thread.
type meter struct {
	tally
	before []int64 // stored numbers of A, or X, in the rows before each row
	points bool

	// The tape records the calls of a cursor for single entries, which are too short to be timed: −1−j for column
	// j, 2i for At(i), 2i+1 for Add(i, ·).
	taping  bool
	tape    []int32
	cursor  matrix.Cursor // the cursor that is recorded
	forward bool          // the cursor looks forward
	ahead   bool          // the cursor looked forward when the tape began
	seen    float64       // the sum of what At returned, so that the calls are not optimized away
}

func newMeter(before []int64, points bool) *meter {
	return &meter{tally: tally{terms: map[kind]int64{}}, before: before, points: points}
}

// timed makes and times a call for rows lo ≤ i < hi of a product with cols columns, rows rows at a time.
func (m *meter) timed(lo, hi, cols, rows int, call func()) {
	start := time.Now()
	call()
	m.spent += time.Since(start)
	m.calls++
	if lo < hi {
		m.terms[kind{cols, rows}] += (m.before[hi] - m.before[lo]) * int64(cols)
	}
}

// aside makes and times a call that is work for a product but does none of the counted multiply–adds.
func (m *meter) aside(call func()) { m.timed(0, 0, 1, allRows, call) }

// all makes and times a call that goes through all of A, or of X.
func (m *meter) all(cols int, call func()) { m.timed(0, len(m.before)-1, cols, allRows, call) }

// single counts a pass over row i of A, or point i, for one column.
func (m *meter) single(i int, call int32) {
	m.singles += m.before[i+1] - m.before[i]
	m.record(call)
}

func (m *meter) record(call int32) {
	if !m.taping {
		return
	}
	if len(m.tape) == 0 {
		m.ahead = m.forward
	}
	m.tape = append(m.tape, call)
}

// replay returns how long the calls on the tape take by themselves: the least of three times.
func (m *meter) replay() (least time.Duration) {
	for range 3 {
		if m.ahead {
			m.cursor.(matrix.Forwarder).Forward()
		} else {
			m.cursor.Refresh()
		}
		start := time.Now()
		for _, call := range m.tape {
			switch i := int(call >> 1); {
			case call < 0:
				m.cursor.Column(int(-1 - call))
			case call&1 == 0:
				m.seen += m.cursor.At(i)
			default:
				m.cursor.Add(i, 0)
			}
		}
		if took := time.Since(start); least == 0 || took < least {
			least = took
		}
	}
	return least
}

// metered is an operator with a meter. It has the same optional interfaces for products as the operator, so that
// methods treat it the same. It differs in two ways. For eigenvalues matrix.Folded returns it unchanged, and
// matrix.RitzPairs uses no products with float32 of it. And cursors of a sparse A do not tell what they sum up, so that
// they are asked for each entry of a column, which makes sweeps of cd methods longer.
type metered struct {
	matrix.Operator
	*meter
}

// meteredA is metered for an A that is explicit, meteredX for points.
type (
	meteredA struct {
		metered
		matrix.RowVisitor
	}
	meteredX struct{ metered }
)

func withMeter(a matrix.Operator, m *meter) matrix.Operator {
	if v, explicit := a.(matrix.RowVisitor); explicit {
		return meteredA{metered{a, m}, v}
	}
	return meteredX{metered{a, m}}
}

// Scaled implements matrix.Operator.
func (m metered) Scaled(c float64) matrix.Operator { return withMeter(m.Operator.Scaled(c), m.meter) }

// OffDiagonal implements matrix.Operator.
func (m metered) OffDiagonal() matrix.Operator { return withMeter(m.Operator.OffDiagonal(), m.meter) }

// NewProduct implements matrix.Operator.
func (m metered) NewProduct(h *matrix.Dense, workers int) matrix.Product {
	return m.product(h, func(h *matrix.Dense) matrix.Product { return m.Operator.NewProduct(h, workers) })
}

// Repeat implements matrix.Repeater.
func (m metered) Repeat(workers int) func(h *matrix.Dense) matrix.Product {
	products := func(h *matrix.Dense) matrix.Product { return m.Operator.NewProduct(h, workers) }
	if r, ok := m.Operator.(matrix.Repeater); ok {
		m.aside(func() { products = r.Repeat(workers) })
	}
	return func(h *matrix.Dense) matrix.Product { return m.product(h, products) }
}

func (m metered) product(h *matrix.Dense, from func(h *matrix.Dense) matrix.Product) (p matrix.Product) {
	_, cols := h.Dims()
	begin := func() { p = from(h) }
	if m.points {
		m.all(cols, begin) // X·h
	} else {
		m.aside(begin)
	}
	return meteredProduct{p, m.meter, cols}
}

type meteredProduct struct {
	matrix.Product
	m    *meter
	cols int
}

// RowsTo implements matrix.Product.
func (p meteredProduct) RowsTo(dst []float64, lo, hi int) {
	p.m.timed(lo, hi, p.cols, hi-lo, func() { p.Product.RowsTo(dst, lo, hi) })
}

// NewCursor implements matrix.Operator.
func (m metered) NewCursor(h *matrix.Dense, workers int) matrix.Cursor {
	_, cols := h.Dims()
	c := meteredCursor{m: m.meter, cols: cols}
	if m.points {
		m.all(cols, func() { c.Cursor = m.Operator.NewCursor(h, workers) })
		c.m.cursor = c.Cursor
		return c
	}
	c.Cursor = m.Operator.NewCursor(h, workers)
	c.m.cursor, c.m.forward = c.Cursor, false
	_, sparse := m.Operator.(*matrix.SymCSR)
	return &meteredForwarder{meteredCursor: c, forwarder: c.Cursor.(matrix.Forwarder), gathers: sparse}
}

type meteredCursor struct {
	matrix.Cursor
	m    *meter
	cols int
}

// Column implements matrix.Cursor.
func (c meteredCursor) Column(j int) {
	c.m.record(int32(-1 - j))
	c.Cursor.Column(j)
}

// At implements matrix.Cursor.
func (c meteredCursor) At(i int) float64 {
	if c.m.points {
		c.m.single(i, int32(2*i))
	} else {
		c.m.record(int32(2 * i))
	}
	return c.Cursor.At(i)
}

// Add implements matrix.Cursor.
func (c meteredCursor) Add(i int, delta float64) {
	c.m.single(i, int32(2*i+1))
	c.Cursor.Add(i, delta)
}

// Refresh implements matrix.Cursor.
func (c meteredCursor) Refresh() { c.m.all(c.cols, c.Cursor.Refresh) }

// meteredForwarder is for cursors of an explicit A. If the cursor looks forward, its Add reads the entries of row
// i after i for a dense A, and nothing for a sparse A, for which At reads all of row i.
type meteredForwarder struct {
	meteredCursor
	forwarder matrix.Forwarder
	gathers   bool
	known     bool // whether A·H has been computed
}

// Column implements matrix.Cursor.
func (c *meteredForwarder) Column(j int) {
	c.m.record(int32(-1 - j))
	if c.known || c.m.forward {
		c.Cursor.Column(j)
		return
	}
	c.known = true
	c.m.all(c.cols, func() { c.Cursor.Column(j) })
}

// Refresh implements matrix.Cursor.
func (c *meteredForwarder) Refresh() {
	c.known, c.m.forward = true, false
	c.meteredCursor.Refresh()
}

// Forward implements matrix.Forwarder.
func (c *meteredForwarder) Forward() {
	c.m.forward = true
	if c.gathers {
		c.m.aside(c.forwarder.Forward)
		return
	}
	c.m.all(c.cols, c.forwarder.Forward)
}

// At implements matrix.Cursor.
func (c *meteredForwarder) At(i int) float64 {
	if !c.m.forward || !c.gathers {
		return c.meteredCursor.At(i)
	}
	c.m.single(i, int32(2*i))
	return c.Cursor.At(i)
}

// Add implements matrix.Cursor.
func (c *meteredForwarder) Add(i int, delta float64) {
	switch {
	case c.m.forward && c.gathers:
		c.m.record(int32(2*i + 1))
		c.Cursor.Add(i, delta)
		return
	case c.m.forward:
		c.m.singles -= int64(i + 1)
	}
	c.meteredCursor.Add(i, delta)
}

// NewBlockProduct implements matrix.BlockMultiplier.
func (m metered) NewBlockProduct(h *matrix.Dense, size int, team *kernel.Team) matrix.BlockProduct {
	_, cols := h.Dims()
	b := meteredBlocks{m: m.meter, h: h, size: size, cols: cols}
	m.aside(func() { b.BlockProduct = m.Operator.(matrix.BlockMultiplier).NewBlockProduct(h, size, team) })
	switch p := b.BlockProduct.(type) {
	case matrix.NearProduct: // of a dense A; it also has joint steps and rough sweeps
		return meteredNear{meteredLower{b, p}, p.(matrix.RoughProduct), p, p.(matrix.JointProduct)}
	case matrix.LowerProduct: // of a sparse A; it can read an H in float32
		return meteredSingle{meteredLower{b, p}, p.(matrix.SingleProduct)}
	case matrix.GainProduct: // of points with few features; it also has joint steps
		return meteredGains{b, p, p.(matrix.JointProduct)}
	case matrix.TermProduct:
		return meteredTerms{b, p}
	}
	return b
}

type meteredBlocks struct {
	matrix.BlockProduct
	m          *meter
	h          *matrix.Dense
	size, cols int
}

type meteredSingle struct {
	meteredLower
	single matrix.SingleProduct
}

// PrefersSingle implements matrix.SingleProduct.
func (b meteredSingle) PrefersSingle() bool { return b.single.PrefersSingle() }

// Single implements matrix.SingleProduct.
func (b meteredSingle) Single(h []float32) { b.single.Single(h) }

// StepSingle implements matrix.SingleProduct.
func (b meteredSingle) StepSingle(block int, d []float32) (q float64) {
	b.m.aside(func() { q = b.single.StepSingle(block, d) })
	return q
}

// FewPairs implements matrix.SingleProduct.
func (b meteredSingle) FewPairs(block int) bool { return b.single.FewPairs(block) }

// RowsTo implements matrix.Product.
func (b meteredBlocks) RowsTo(dst []float64, lo, hi int) {
	b.m.timed(lo, hi, b.cols, hi-lo, func() { b.BlockProduct.RowsTo(dst, lo, hi) })
}

// Step implements matrix.BlockProduct.
func (b meteredBlocks) Step(block int, d []float64) (q float64) {
	b.m.aside(func() { q = b.BlockProduct.Step(block, d) })
	return q
}

// Move implements matrix.BlockProduct.
func (b meteredBlocks) Move(block int, t float64, e []float64) {
	if !b.m.points {
		b.BlockProduct.Move(block, t, e)
		return
	}
	n, _ := b.h.Dims()
	b.m.timed(block*b.size, min((block+1)*b.size, n), b.cols, b.size, func() { b.BlockProduct.Move(block, t, e) })
}

// AddRow implements matrix.BlockProduct.
func (b meteredBlocks) AddRow(i int, d []float64) {
	if !b.m.points {
		b.BlockProduct.AddRow(i, d)
		return
	}
	b.m.timed(i, i+1, b.cols, 1, func() { b.BlockProduct.AddRow(i, d) })
}

// Extrapolate implements matrix.BlockProduct.
func (b meteredBlocks) Extrapolate(beta float64, h *matrix.Dense) {
	b.m.aside(func() { b.BlockProduct.Extrapolate(beta, h) })
}

// Refresh implements matrix.BlockProduct.
func (b meteredBlocks) Refresh() {
	if b.m.points {
		b.m.all(b.cols, b.BlockProduct.Refresh)
	}
}

type meteredLower struct {
	meteredBlocks
	lower matrix.LowerProduct
}

// LowerTo implements matrix.LowerProduct.
func (b meteredLower) LowerTo(dst, lower []float64, first, lo, hi int) {
	b.m.timed(lo, hi, b.cols, hi-lo, func() { b.lower.LowerTo(dst, lower, first, lo, hi) })
}

// PartRows implements matrix.LowerProduct.
func (b meteredLower) PartRows() (unit, most int) { return b.lower.PartRows() }

// WorkBefore implements matrix.LowerProduct.
func (b meteredLower) WorkBefore(i int) int64 { return b.lower.WorkBefore(i) }

var (
	_ matrix.LowerProduct = meteredLower{}
	_ matrix.NearProduct  = meteredNear{}
	_ matrix.RoughProduct = meteredNear{}
	_ matrix.GainProduct  = meteredGains{}
)

type meteredNear struct {
	meteredLower
	rough matrix.RoughProduct
	near  matrix.NearProduct
	joint matrix.JointProduct
}

// NearTo implements matrix.NearProduct.
func (b meteredNear) NearTo(dst, lower, near []float64, first, lo, hi int) {
	b.m.timed(lo, hi, b.cols, hi-lo, func() { b.near.NearTo(dst, lower, near, first, lo, hi) })
}

// PrefersRough implements matrix.RoughProduct.
func (b meteredNear) PrefersRough() bool { return b.rough.PrefersRough() }

// StartRough implements matrix.RoughProduct.
func (b meteredNear) StartRough() { b.m.aside(b.rough.StartRough) }

// Take implements matrix.RoughProduct.
func (b meteredNear) Take(lo, hi int) { b.rough.Take(lo, hi) }

// RoughTo implements matrix.RoughProduct.
func (b meteredNear) RoughTo(dst []float64, lo, hi int) {
	b.m.timed(lo, hi, b.cols, hi-lo, func() { b.rough.RoughTo(dst, lo, hi) })
}

// TakeWay implements matrix.RoughProduct.
func (b meteredNear) TakeWay(d []float64, lo, hi int) { b.rough.TakeWay(d, lo, hi) }

// RoughStep implements matrix.RoughProduct.
func (b meteredNear) RoughStep(block int) (q float64) {
	b.m.aside(func() { q = b.rough.RoughStep(block) })
	return q
}

// RoughStepAll implements matrix.RoughProduct.
func (b meteredNear) RoughStepAll(d *matrix.Dense, scratch []float64) (own, along float64) {
	b.m.all(b.cols, func() { own, along = b.rough.RoughStepAll(d, scratch) })
	return own, along
}

// meteredGains counts the rows of X that a gain reads, in place of the rows that a move would read.
type meteredGains struct {
	meteredBlocks
	gain  matrix.GainProduct
	joint matrix.JointProduct
}

// GainLen implements matrix.GainProduct.
func (b meteredGains) GainLen() int { return b.gain.GainLen() }

// GainTo implements matrix.GainProduct.
func (b meteredGains) GainTo(gain []float64, lo int, d []float64) {
	rows := len(d) / b.cols
	b.m.timed(lo, lo+rows, b.cols, rows, func() { b.gain.GainTo(gain, lo, d) })
}

// StepGains implements matrix.GainProduct.
func (b meteredGains) StepGains(gains [][]float64) (q float64) {
	b.m.aside(func() { q = b.gain.StepGains(gains) })
	return q
}

// MoveGains implements matrix.GainProduct.
func (b meteredGains) MoveGains(t []float64, gains [][]float64) {
	b.m.aside(func() { b.gain.MoveGains(t, gains) })
}

// Move implements matrix.BlockProduct. With t = 0 it reads the rows of the block; otherwise it uses the gains of
// the last step.
func (b meteredGains) Move(block int, t float64, e []float64) {
	if t == 0 {
		b.meteredBlocks.Move(block, t, e)
		return
	}
	b.m.aside(func() { b.BlockProduct.Move(block, t, e) })
}

// StepAll implements matrix.JointProduct.
func (b meteredGains) StepAll(d *matrix.Dense, scratch []float64) (own, along float64) {
	b.m.all(b.cols, func() { own, along = b.joint.StepAll(d, scratch) })
	return own, along
}

// MoveAll implements matrix.JointProduct.
func (b meteredGains) MoveAll(t float64) { b.joint.MoveAll(t) }

// StepAll implements matrix.JointProduct.
func (b meteredNear) StepAll(d *matrix.Dense, scratch []float64) (own, along float64) {
	b.m.all(b.cols, func() { own, along = b.joint.StepAll(d, scratch) })
	return own, along
}

// MoveAll implements matrix.JointProduct.
func (b meteredNear) MoveAll(t float64) { b.joint.MoveAll(t) }

type meteredTerms struct {
	meteredBlocks
	sum matrix.TermProduct
}

// Terms implements matrix.TermProduct.
func (b meteredTerms) Terms() (n int) {
	b.m.aside(func() { n = b.sum.Terms() })
	return n
}

// TermTo implements matrix.TermProduct. All terms of a row together read each of its entries once, so only the first
// term is counted.
func (b meteredTerms) TermTo(dst []float64, term, lo, hi int) {
	call := func() { b.sum.TermTo(dst, term, lo, hi) }
	if term == 0 {
		b.m.timed(lo, hi, b.cols, hi-lo, call)
	} else {
		b.m.aside(call)
	}
}

// entriesBefore returns the number of stored numbers in the rows before each row, and finally in all rows.
func entriesBefore(a matrix.Operator, x matrix.Table) ([]int64, error) {
	before := make([]int64, a.Dim()+1)
	switch t := x.(type) {
	case *matrix.Dense:
		if n, m := t.Dims(); n == m && a.Dim() == n {
			for i := range before {
				before[i] = int64(i) * int64(n)
			}
			return before, nil
		}
	case *matrix.CSR:
		if _, explicit := a.(matrix.RowVisitor); explicit {
			copy(before, t.RowPtr)
			return before, nil
		}
		for _, c := range t.Col {
			before[c+1]++
		}
		for i := range a.Dim() {
			before[i+1] += before[i]
		}
		return before, nil
	}
	return nil, fmt.Errorf("cannot count the products of %T", a)
}
