package matrix

import (
	"fmt"
	"math"

	"symnmf/internal/kernel"
	"symnmf/internal/rules"
)

// Items says whether the rows or the columns of a table are the points.
type Items int

// A point is a row of the table (samples by features, as in scikit-learn) or a column (X, m×n, as in the
// paper).
const (
	Rows Items = iota
	Columns
)

// GramOperator is A = XᵀX over points that are the columns of X (m×n): A_il is the inner product of points i
// and l. A is never formed. Points are stored one after another, so X itself is stored transposed, n×m.
//
// If NewLowRank or Compress made it, inner products have signs: A = Xᵀ·diag(σ)·X with σ_c = ±1; see
// signedPoints.
//
// A cursor holds Z = X·H, m·r numbers, besides H. An entry of A·H costs one pass over a point, and so does an
// Add. A product costs two passes over X for each column of H.
type GramOperator struct {
	points    points
	diag      []float64 // ‖X_:,i‖², unscaled
	scale     float64   // of X: the square root of the scale of A
	offDiag   bool
	norm      float64 // with the diagonal
	normOff   float64
	negatives Cells
	back      *CSR        // X by features, if Folded made this operator; else nil
	kept      *keptBlocks // shared by all block products of this view; nil shares nothing
	features  *SymDense   // XXᵀ, unscaled, or nil: see Folded
}

// points is a table with one point in each row.
type points interface {
	Table
	dot(i int, z []float64) float64                       // x_iᵀz, z of length m
	dotOthers(i int, z []float64, w float64) float64      // x_iᵀ(z − w·x_i)
	addTo(z []float64, c float64, i int)                  // z += c·x_i
	timesTo(z []float64, h *Dense, workers int)           // Z = X·H, m×r by rows
	rowsTo(dst []float64, lo, hi int, z []float64, r int) // x_iᵀZ for lo ≤ i < hi, by rows, Z m×r by rows
	sumSq(i int, u float64) float64                       // ‖u·x_i‖²
	// gramNormSq returns ‖(uXW)ᵀ(uXW)‖² with W = diag(w), or W = I for w = nil, and the same without the
	// diagonal, or −1 for the latter if it is not computed along the way. back is X by features, or nil if
	// the caller does not have it.
	gramNormSq(u float64, w []float64, back Table, workers int) (all, off float64)
	size() int64 // stored numbers
	transposed(workers int) Table
}

// Gram returns the operator of the inner products of the items of x, which are its rows or its columns.
// Entries must be finite.
//
// In general A is not formed, so it takes the memory of X however many items there are. Rows are used where
// they are; columns are copied so that each lies in one piece. A is formed, and X not kept, only where A has
// no more numbers than X has entries: for dense points if there are no more points than features, and for
// sparse points if X has at least n² entries, and at least 2¹⁴.
//
// The time is that of computing ‖A‖: at most that of the products that make up the entries of XᵀX or of XXᵀ,
// whichever are fewer, summed one by one. New memory, besides a copy of X, is
//
//   - for a sparse x, O(m+n), and for the columns that many rows have in common as much as the values of X
//     take, or a quarter of that plus 8 MiB;
//   - for a dense x, O(min(m, n)²), of which m² numbers are kept with A if they are few (see Folded), and at
//     most 8 MiB more if the products are computed in integers (see integers.go).
//
// Gram panics if items is neither Rows nor Columns.
func Gram(x Table, items Items, workers int) (Operator, error) {
	if items != Rows && items != Columns {
		panic("matrix: items are neither rows nor columns")
	}
	n, features := x.Dims()
	if items == Columns {
		n, features = features, n
	}
	if d, dense := x.(*Dense); dense && n <= features {
		return formDense(d, items, workers)
	}
	s := x.survey(workers)
	if err := s.finite(); err != nil {
		return nil, err
	}
	p, back := x.(points), Table(nil)
	if items == Columns {
		p, back = p.transposed(workers).(points), x
	}
	if m, sparse := p.(*CSR); sparse && rules.FormsSparse(n, m.NNZ()) {
		return formed(m.innerProducts(back, workers), s, workers)
	}
	m := newGram(p, back, s.MaxAbs(), workers)
	m.negatives = s.Negative
	if !normInRange(m.norm, s) {
		return nil, errInnerProducts(s)
	}
	return m, nil
}

// formDense returns the inner products of the items of x. If they can be computed in integers of 8 bits, the numbers
// of x are read once: those that are such integers are finite and not negative.
func formDense(x *Dense, items Items, workers int) (Operator, error) {
	d := x
	if items == Rows {
		d = x.transpose(workers)
	}
	whole, plain := d.integerGrams(workers)
	var s Survey // if plain, nothing is wrong: units are from 2⁻⁴⁰⁰ to 1, so no product is out of range
	if !plain {
		s = x.survey(workers)
		if err := s.finite(); err != nil {
			return nil, err
		}
	}
	products, _ := d.productsFrom(whole, workers)
	return formed(products, s, workers)
}

// formed returns the operator over the inner products of points that s surveys.
func formed(products *Dense, s Survey, workers int) (Operator, error) {
	a, err := checkedDense(products, 0, workers)
	if err != nil || !normInRange(a.norm, s) {
		return nil, errInnerProducts(s)
	}
	a.negatives = s.Negative
	return a, nil
}

// errInnerProducts says that the inner products of the points that s surveys are out of range.
func errInnerProducts(s Survey) error {
	return fmt.Errorf("%w: the largest coordinate is %.3g and inner products square it; divide the table by it", ErrRange, s.MaxAbs())
}

// newGram returns the operator over points whose largest coordinate is most. back is the same by features if
// that is at hand, else nil.
func newGram(p points, back Table, most float64, workers int) *GramOperator {
	n, _ := p.Dims()
	m := &GramOperator{points: p, scale: 1, diag: make([]float64, n)}
	u := unit(most)
	m.findDiag(u, workers)
	all, off, ok := m.keepFeatures(u, workers)
	if !ok {
		all, off = m.sumSq(u, nil, back, workers)
	}
	m.norm, m.normOff = math.Sqrt(all)/u/u, math.Sqrt(off)/u/u
	return m
}

// findDiag computes the diagonal, without scale, of points with no coordinate much larger than 1/u.
func (m *GramOperator) findDiag(u float64, workers int) {
	kernel.Blocks(len(m.diag), normBlock, workers, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			m.diag[i] = m.points.sumSq(i, u) / u / u
		}
	})
}

// sumSq returns Σ(u²·w_i·w_j·A_ij)², without scale, over all entries and over those off the diagonal; w = nil
// means all ones.
func (m *GramOperator) sumSq(u float64, w []float64, back Table, workers int) (all, off float64) {
	all, off = m.points.gramNormSq(u, w, back, workers)
	if off < 0 {
		off = m.withoutDiagonal(all, u, w, workers)
	}
	return all, off
}

// diagSumSq returns Σ(u²·w_i²·d_i)².
func diagSumSq(d []float64, u float64, w []float64) (s float64) {
	for i, v := range d {
		c := u * value(w, i)
		x := c * v * c
		s += x * x
	}
	return s
}

// Dim implements Operator.
func (m *GramOperator) Dim() int { return len(m.diag) }

// Stored implements Operator; it counts the stored numbers of X.
func (m *GramOperator) Stored() int64 { return m.points.size() }

// Density implements Operator; it is the density of X.
func (m *GramOperator) Density() float64 {
	n, features := m.points.Dims()
	return density(m.Stored(), n, features)
}

// Norm implements Operator.
func (m *GramOperator) Norm() float64 {
	if m.offDiag {
		return m.normOff
	}
	return m.norm
}

// Negatives implements Operator; it describes the negative entries of X.
func (m *GramOperator) Negatives() Cells { return m.negatives }

// DiagTo implements Operator.
func (m *GramOperator) DiagTo(dst []float64) {
	for i := range dst {
		dst[i] = 0
		if !m.offDiag {
			dst[i] = m.scale * (m.scale * m.diag[i])
		}
	}
}

// Scaled implements Operator.
func (m *GramOperator) Scaled(c float64) Operator {
	v := *m
	v.scale, v.norm, v.normOff = math.Sqrt(c)*m.scale, c*m.norm, c*m.normOff
	v.kept = new(keptBlocks)
	return &v
}

// OffDiagonal implements Operator.
func (m *GramOperator) OffDiagonal() Operator {
	v := *m
	v.offDiag = true
	v.kept = new(keptBlocks)
	return &v
}

// NewProduct implements Operator.
func (m *GramOperator) NewProduct(h *Dense, workers int) Product {
	_, features := m.points.Dims()
	p := &gramProduct{m: m, h: h, z: make([]float64, features*h.cols)}
	m.timesTo(p.z, h, workers)
	return p
}

// timesTo fills z with Z = X·h, m×r by rows, scale included.
func (m *GramOperator) timesTo(z []float64, h *Dense, workers int) {
	m.points.timesTo(z, h, workers)
	kernel.Scale(z, m.scale)
}

// columnsOfZ returns Z = X·H, scale included, with column j at j·m.
func (m *GramOperator) columnsOfZ(h *Dense, workers int) []float64 {
	_, features := m.points.Dims()
	z := make([]float64, features*h.cols)
	m.columnsOfZTo(z, h, workers)
	return z
}

func (m *GramOperator) columnsOfZTo(z []float64, h *Dense, workers int) {
	n, features := m.points.Dims()
	clear(z)
	kernel.Blocks(h.cols, 1, workers, func(j, _, _ int) {
		zj := z[j*features : (j+1)*features]
		for i := range n {
			if v := h.data[i*h.cols+j]; v != 0 {
				m.points.addTo(zj, v*m.scale, i)
			}
		}
	})
}

type gramProduct struct {
	m *GramOperator
	h *Dense
	z []float64 // X·H, m×r by rows
}

func (p *gramProduct) RowsTo(dst []float64, lo, hi int) {
	p.m.points.rowsTo(dst, lo, hi, p.z, p.h.cols)
	p.m.finish(dst, lo, hi, p.h)
}

// Repeat implements Repeater. Sparse points are transposed once, so that each row of X·h is gathered and the
// workers can share the rows, instead of adding them up point by point.
func (m *GramOperator) Repeat(workers int) func(h *Dense) Product {
	features := m.byFeatures(workers)
	var z []float64
	return func(h *Dense) Product {
		_, rows := m.points.Dims()
		if size := rows * h.cols; len(z) != size {
			z = make([]float64, size)
		}
		if features != nil {
			kernel.Blocks(rows, productRows, workers, func(_, lo, hi int) {
				gatherTo(features, z[lo*h.cols:hi*h.cols], lo, hi, h.data, h.cols, m.scale)
			})
		} else {
			m.timesTo(z, h, workers)
		}
		return &gramProduct{m, h, z}
	}
}

// byFeatures returns X by features for sparse points, and nil for others.
func (m *GramOperator) byFeatures(workers int) *CSR {
	x, sparse := m.points.(*CSR)
	if !sparse || m.back != nil {
		return m.back
	}
	return x.transpose(workers)
}

// finish turns rows lo to hi of Xᵀ·Z into rows of A·H: it scales them and, if the diagonal is left out,
// subtracts it. The digits by which A_ii exceeds the rest are lost. They are lost in Z already, so leaving
// A_ii·H_i,: out of the sum would recover only a bit or two.
func (m *GramOperator) finish(dst []float64, lo, hi int, h *Dense) {
	kernel.Scale(dst[:(hi-lo)*h.cols], m.scale)
	m.leaveOut(dst, lo, hi, h)
}

// leaveOut subtracts A_ii·H_i,: from rows lo to hi of A·H if the diagonal is left out.
func (m *GramOperator) leaveOut(dst []float64, lo, hi int, h *Dense) {
	if !m.offDiag {
		return
	}
	for i := lo; i < hi; i++ {
		kernel.Axpy(dst[(i-lo)*h.cols:(i-lo+1)*h.cols], -m.scale*(m.scale*m.diag[i]), h.Row(i))
	}
}

// gramCursor keeps Z = X·H by columns, so that A_:,iᵀH_:,j = X_:,iᵀZ_:,j.
type gramCursor struct {
	m       *GramOperator
	h       *Dense
	workers int
	z       []float64 // m·r, column j at j·m
	col     []float64 // the current column
	j       int
}

// NewCursor implements Operator.
func (m *GramOperator) NewCursor(h *Dense, workers int) Cursor {
	return &gramCursor{m: m, h: h, workers: workers, z: m.columnsOfZ(h, workers)}
}

func (c *gramCursor) Column(j int) {
	_, features := c.m.points.Dims()
	c.j, c.col = j, c.z[j*features:(j+1)*features]
}

func (c *gramCursor) At(i int) float64 {
	v := c.m.scale * c.m.points.dot(i, c.col)
	if c.m.offDiag {
		v -= c.m.scale * (c.m.scale * c.m.diag[i]) * c.h.data[i*c.h.cols+c.j]
	}
	return v
}

func (c *gramCursor) Add(i int, delta float64) { c.m.points.addTo(c.col, delta*c.m.scale, i) }

func (c *gramCursor) Refresh() { c.m.columnsOfZTo(c.z, c.h, c.workers) }
