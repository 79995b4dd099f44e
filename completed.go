package symnmf

import (
	"math"
	"slices"

	"symnmf/internal/kernel"
	"symnmf/internal/rules"
	"symnmf/matrix"
)

// A matrix near a low rank is near none without its diagonal. Where that is ignored, low ranks and leading eigenvectors of
// dense data are those of A with another diagonal, which is not counted either: see decision 0036.

const (
	completedNear = 0.1 // of ‖A‖, the error of a rank r up to which such a diagonal is used in any case
	mostReplaced  = 2   // how many times it may be replaced by a better one
	mostCompleted = 2   // largest norm of A with it, in parts of ‖A‖; a diagonal that was guessed adds no more than ‖A‖
)

// completed returns A with a diagonal: its own if that counts, otherwise a likely one (matrix.Completed), where A counts as
// dense. Low ranks and leading eigenvectors are those of this matrix. For any other A without its diagonal it is A itself,
// and for points that are long, but have next to nothing in common, so that their diagonal would hide the rest.
func (p *problem) completed() matrix.Operator {
	if !p.ignoreDiag || p.a.Density() < rules.DenseFrom {
		return p.a
	}
	p.common.mu.Lock()
	defer p.common.mu.Unlock()
	if p.common.whole == nil {
		whole := matrix.Completed(p.a, p.common.workers)
		if whole == nil || !(whole.Norm() <= mostCompleted*p.norm) {
			whole = p.a
		}
		p.common.whole = whole
	}
	return p.common.whole
}

// wholeSuits reports whether the roots of whole are those to begin with, and returns ‖A − BBᵀ‖ as leftBy does. If not,
// completed returns another matrix from now on:
//
//   - A without its diagonal, if A is neither near BBᵀ nor surely has r positive eigenvalues. A few items may then have
//     a column each, of any length, since its square counts nothing. Starts of that kind are drawn at random.
//   - A with the diagonal of BBᵀ, if a diagonal that was guessed is farther from it than half of what A leaves off the
//     diagonal. That brings BBᵀ nearer to A, and does so mostReplaced times at most.
func (p *problem) wholeSuits(whole matrix.Operator, top *roots) (left float64, suits bool) {
	left, apart, most := p.leftBy(whole, top)
	if whole == p.a {
		return left, true
	}
	replace := func(whole matrix.Operator) {
		p.common.mu.Lock()
		defer p.common.mu.Unlock()
		p.common.whole, p.common.lows = whole, nil
		p.common.replaced++
	}
	// No eigenvalue falls by more than most when that diagonal is taken away.
	if k := len(top.values); left > completedNear*p.norm && (k < p.r || top.values[k-1] <= most) {
		replace(p.a)
		return left, false
	}
	if _, guessed := p.a.(matrix.RowVisitor); guessed && apart > left/2 && p.common.replaced < mostReplaced {
		replace(matrix.CompletedBy(p.a, p.rowSquares(top.b)))
		return left, false
	}
	return left, true
}

// leftBy returns ‖A − BBᵀ‖ for the B of the leading eigenvectors of whole, which is A but for a diagonal that is
// ignored. If it is, apart is the norm of the diagonal of whole − BBᵀ, and most the largest number on that of whole.
func (p *problem) leftBy(whole matrix.Operator, top *roots) (left, apart, most float64) {
	left = whole.Norm()*whole.Norm() - kernel.SumSq(top.values)
	if p.ignoreDiag {
		diag := make([]float64, p.n)
		whole.DiagTo(diag)
		own := p.rowSquares(top.b)
		apart = p.sum(func(lo, hi int) (sq float64) {
			for i := lo; i < hi; i++ {
				v := diag[i] - own[i]
				sq += v * v
			}
			return sq
		})
		most = slices.Max(diag)
	}
	return math.Sqrt(max(0, left-apart)), math.Sqrt(apart), most
}
