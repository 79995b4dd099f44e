package matrix

import (
	"math"

	"symnmf/internal/kernel"
	"symnmf/internal/rules"
)

// XᵀX of n items and XXᵀ of m features have the same eigenvalues but for zeros: XᵀX·u = λ·u if u = Xᵀw and XXᵀ·w = λ·w. Of dense points there are fewer features than items, and ‖A‖ has been
// computed from XXᵀ. Where that is small enough to be kept, eigenvalues and a low rank come from it: a product with one vector takes m² multiply–adds instead of 2·n·m. Of sparse points XXᵀ is a product
// as well: what is gained where features are few is that vectors, and all that is done to them between products, are short.

// keepFeatures computes XXᵀ, for m.features, and returns what sumSq does for ones, or ok = false where XXᵀ is not to be kept.
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

// featuresOf returns XXᵀ for the A = XᵀX of points that keep it, scale included, and a as what makes vectors of features those of items; else nil.
func featuresOf(a Operator) (g Operator, m *GramOperator) {
	m, ok := a.(*GramOperator)
	if !ok || m.features == nil || m.offDiag {
		return nil, nil
	}
	return m.features.Scaled(m.scale * m.scale), m
}

// foldedSparse returns the sparse points of a, if a is the XᵀX of such and XXᵀ is to be taken instead, and a as what makes vectors of features those of items; else nil.
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

// Folded returns an operator that has the eigenvalues of a but for zeros, and fewer rows: XXᵀ for the A = XᵀX of dense points that keeps it (m² numbers for m features, at most 32 MiB or an eighth of X), and of sparse points at least twice as
// many as their features, which takes a copy of X by features; else a itself. Of
// vectors w (m×k) unfold then makes Xᵀ·w (n×k): of an eigenvector of length 1 with the eigenvalue λ one of a, √λ long. It is nil with a itself.
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

// ofFeatures returns XXᵀ for sparse points x, as a product.
func (m *GramOperator) ofFeatures(x *CSR, workers int) *GramOperator {
	t := &GramOperator{points: x.transpose(workers), diag: make([]float64, x.cols), scale: m.scale, norm: m.norm, back: x}
	if m.negatives.Count > 0 {
		t.negatives = t.points.survey(workers).Negative
	}
	root := math.Sqrt(m.norm) / m.scale // no coordinate is larger
	u := unit(root)
	t.findDiag(u, workers)
	off := t.withoutDiagonal(math.Pow(u*root, 4), u, nil, workers)
	t.normOff = math.Sqrt(off) * (m.scale / u) * (m.scale / u)
	return t
}

// FoldedSize returns how many rows the operator of Folded has, and how many multiply–adds a product of it with one vector takes, without making it.
func FoldedSize(a Operator) (n int, madds int64) {
	if g, m := featuresOf(a); m != nil {
		return g.Dim(), Madds(g)
	}
	if x, m := foldedSparse(a); m != nil {
		return x.cols, Madds(a)
	}
	return a.Dim(), Madds(a)
}

// Madds returns how many multiply–adds a product of a with one vector takes: as many as numbers are stored, or twice that where a does not list its entries (RowVisitor), as where it is a product itself.
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

// lowRankAlong returns Ã = XᵀPX with P = W·Wᵀ, W = Q·w the eigenvectors of QᵀGQ with λ > 0, given G·Q for G = XXᵀ, and what has to be added to ‖A‖² for ‖A − Ã‖²:
//
//	‖Xᵀ(I − P)X‖² = tr G(I − P)G(I − P) = ‖G‖² − 2‖G·W‖² + Σλ²,   ‖G‖ = ‖A‖
//
// which is no more than the ‖G‖² − Σλ² = ‖G − PGP‖² of a projection on both sides.
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
