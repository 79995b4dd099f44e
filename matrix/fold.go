package matrix

import (
	"math"

	"symnmf/internal/kernel"
	"symnmf/internal/rules"
)

// XᵀX of n items and XXᵀ of m features have the same eigenvalues but for zeros: if XXᵀ·w = λ·w and u = Xᵀw,
// then XᵀX·u = λ·u.
//
// For dense points with fewer features than items, ‖A‖ has been computed from XXᵀ. If XXᵀ is small enough to
// be kept, eigenvalues and low ranks are computed from it: a product with one vector takes m² multiply–adds
// instead of 2·n·m. For sparse points XXᵀ is also a product. With few features, the gain is that vectors are
// short, and so is all work on them between products.

// keepFeatures computes XXᵀ as m.features, and returns what sumSq returns for w = nil. If XXᵀ is not to be
// kept, ok is false.
func (m *GramOperator) keepFeatures(u float64, workers int) (all, off float64, ok bool) {
	x, dense := m.points.(*Dense)
	fourth := fourthPower(u)
	if !dense || fourth == 0 || !rules.KeepsFeatures(x.rows, x.cols) {
		return 0, 0, false
	}
	g, sq := x.columnProducts(workers)
	var diagonal float64
	for j := range g.rows {
		diagonal += g.At(j, j) * g.At(j, j)
	}
	m.features = &SymDense{n: g.rows, a: g.data, scale: 1, norm: math.Sqrt(sq), normOff: math.Sqrt(max(0, sq-diagonal)), negatives: g.survey(workers).Negative}
	return sq * fourth, m.withoutDiagonal(sq*fourth, u, nil, workers), true
}

// featuresOf returns XXᵀ, scale included, if a is XᵀX of points that keep it, and a as m, which unfolds
// vectors of features to vectors of items. Otherwise it returns nil.
func featuresOf(a Operator) (g Operator, m *GramOperator) {
	m, ok := a.(*GramOperator)
	if !ok || m.features == nil || m.offDiag {
		return nil, nil
	}
	return m.features.Scaled(m.scale * m.scale), m
}

// foldedSparse returns the sparse points of a, if a is XᵀX of sparse points and XXᵀ is to be used instead,
// and a as m, which unfolds vectors of features to vectors of items. Otherwise it returns nil.
func foldedSparse(a Operator) (*CSR, *GramOperator) {
	m, ok := a.(*GramOperator)
	if !ok || m.offDiag {
		return nil, nil
	}
	x, sparse := m.points.(*CSR)
	if !sparse || !rules.FoldsSparse(x.rows, x.cols) {
		return nil, nil
	}
	return x, m
}

// Folded returns an operator g that has the eigenvalues of a but for zeros, and fewer rows, if there is one;
// otherwise it returns a itself. For A = XᵀX it is XXᵀ in two cases:
//
//   - dense points that keep XXᵀ: m² numbers for m features, at most 32 MiB or an eighth of X, whichever is
//     more;
//   - sparse points, if there are at least twice as many as features; this takes a copy of X by features.
//
// unfold turns vectors w (m×k) of g into vectors Xᵀ·w (n×k) of a. It turns an eigenvector of length 1 with
// eigenvalue λ into one of a of length √λ. It is nil if g is a itself.
func Folded(a Operator, workers int) (g Operator, unfold func(w *Dense, workers int) *Dense) {
	if g, m := featuresOf(a); m != nil {
		return g, m.unfold
	}
	x, m := foldedSparse(a)
	if m == nil {
		return a, nil
	}
	return m.ofFeatures(x, workers), m.unfold
}

// ofFeatures returns XXᵀ for sparse points x, as an operator that is not formed.
func (m *GramOperator) ofFeatures(x *CSR, workers int) *GramOperator {
	t := &GramOperator{points: x.transpose(workers), diag: make([]float64, x.cols), scale: m.scale, norm: m.norm, back: x}
	if m.negatives.Count > 0 {
		t.negatives = t.points.survey(workers).Negative
	}
	root := math.Sqrt(m.norm) / m.scale // no coordinate is larger in magnitude
	u := unit(root)
	t.findDiag(u, workers)
	off := t.withoutDiagonal(math.Pow(u*root, 4), u, nil, workers)
	t.normOff = math.Sqrt(off) * (m.scale / u) * (m.scale / u)
	return t
}

// FoldedSize returns the number of rows of the operator that Folded returns, and the number of multiply–adds
// of its product with one vector, without making the operator.
func FoldedSize(a Operator) (n int, madds int64) {
	if g, m := featuresOf(a); m != nil {
		return g.Dim(), Madds(g)
	}
	if x, m := foldedSparse(a); m != nil {
		return x.cols, Madds(a)
	}
	return a.Dim(), Madds(a)
}

// Madds returns the number of multiply–adds of a product of a with one vector. It is the number of stored
// numbers, or twice that if a does not list its entries (RowVisitor) and so is a product itself.
func Madds(a Operator) int64 {
	if _, explicit := a.(RowVisitor); explicit {
		return a.Stored()
	}
	return 2 * a.Stored()
}

// unfold returns Xᵀ·w (n×k), scale included.
func (m *GramOperator) unfold(w *Dense, workers int) *Dense {
	v := NewDense(m.Dim(), w.cols, kernel.Numbers(m.Dim()*w.cols))
	productTo(v, &gramProduct{m: m, h: v, z: w.data}, workers)
	return v
}

// lowRankAlong returns Ã = XᵀPX with P = W·Wᵀ, where W = Q·w are the Ritz vectors of G = XXᵀ in the space of
// Q with λ > 0, given gq = G·Q. It also returns what must be added to ‖A‖² for ‖A − Ã‖²:
//
//	‖Xᵀ(I − P)X‖² = tr G(I − P)G(I − P) = ‖G‖² − 2‖G·W‖² + Σλ²,   ‖G‖ = ‖A‖
//
// This is no more than the ‖G‖² − Σλ² = ‖G − PGP‖² of a projection on both sides.
func (m *GramOperator) lowRankAlong(q, gq, w *Dense, lambda []float64, workers int) (low *GramOperator, left float64, err error) {
	var taken []int
	for k, l := range lambda {
		if l > 0 {
			taken = append(taken, k)
			left += l * l
		}
	}
	turn := columnsOf(w, taken)
	left -= 2 * kernel.SumSq(times(gq, turn, workers).data)
	low, err = lowRankOf(m.unfold(times(q, turn, workers), workers), len(taken), workers)
	return low, left, err
}
