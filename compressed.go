package symnmf

import (
	"context"
	"errors"
	"math"

	"symnmf/internal/rules"
	"symnmf/matrix"
)

// NoCompression as RowBlock.Compress means that A itself is used throughout, except by its start.
const NoCompression = -1

const (
	compressedCheck = 15   // sweeps between checks against A itself; each takes as long as one or two (CBCL, n = 2429)
	solvedWhile     = 5e-3 // the least part of the objective that a sweep must gain for the low rank to be kept
	compressedFrom  = 4    // how many times cheaper a product must be
	compressedRows  = 450  // least n: with fewer rows, finding Ã takes a good part of the time
	compressedFar   = 0.1  // largest ‖A−Ã‖, in parts of ‖A−HHᵀ‖, for the low rank to be used
	compressedFarOn = 0.3  // the same where many sweeps are to come, that is, for a KKT residual of manySweeps or more
	manySweeps      = 0.01
	compressedNear  = 0.02 // largest ‖A−Ã‖/‖A‖ for the low rank to be accepted
)

// compressed returns the problem with a low rank Ã ≈ A, of rank r + beyond, in place of A. It returns p
// itself where there is none, where it would not pay, and where the diagonal is ignored and completed knows of no
// other. If the diagonal is ignored, Ã is near what completed returns, and is without its diagonal. Everything else, and
// the norm, is as in p. All runs share Ã.
//
// A beyond of 0 means rules.Beyond, if that pays: if A is dense and has at least compressedRows rows,
// products with Ã are compressedFrom times cheaper, and ‖A−Ã‖ ≤ compressedNear·‖A‖.
//
// For HHᵀ of rank r, ‖A−HHᵀ‖² differs from ‖A−Ã‖² + ‖Ã−HHᵀ‖² only by 2⟨A−Ã, HHᵀ⟩, which is small where the
// columns of H are near the column space of Ã.
func (p *problem) compressed(beyond int) *problem {
	if p.near != nil && (p.nearBeyond == beyond || p.of != nil) {
		return p.near
	}
	p.near, p.nearBeyond = p, beyond
	automatic := beyond == 0
	if automatic {
		beyond = rules.Beyond
	}
	rank := p.r + min(beyond, p.n)
	if rank >= p.n || automatic && (p.n < compressedRows || p.a.Density() < rules.DenseFrom || float64(matrix.Madds(p.a)) < compressedFrom*2*float64(p.n)*float64(rank)) {
		return p
	}
	whole := p.completed()
	if p.ignoreDiag && whole == p.a {
		return p
	}
	c := matrix.Compression{Columns: rank + beyond/2, Power: 1, Keep: rank, Seed: p.seed}
	if automatic {
		c.Near = compressedNear
	}
	low, err := p.common.inPlaceOf(p.context(), whole, c)
	if errors.Is(err, context.Canceled) { // another run may have the time
		p.near = nil
		return p
	}
	if err != nil || automatic && low.apart > compressedNear*p.norm {
		return p
	}
	p.near = p.with(low)
	return p.near
}

// compress replaces A by a low rank if one is asked for, or if one was found that is several times nearer to A than
// the first HHᵀ is. A run makes at least compressedCheck sweeps with it, so where fewer may do, it must be nearer
// still. A kick may end after two.
func (s *rowBlockRun) compress(first *figures) {
	if s.Compress == NoCompression {
		return
	}
	near, far := s.full.compressed(s.Compress), compressedFar
	if first.kkt() >= manySweeps && math.IsInf(s.full.target, 1) {
		far = compressedFarOn
	}
	if s.Compress > 0 || near.apart <= far*math.Sqrt(max(0, first.errSq)) {
		s.p = near
	}
	if s.p != s.full && s.CheckEvery < compressedCheck {
		s.CheckEvery = compressedCheck
	}
}

// expand goes on with A itself, keeping the momentum.
func (s *rowBlockRun) expand() {
	s.p = s.full
	s.CheckEvery = s.checkEvery
	s.joint.left = math.NaN()
	last := append([]float64(nil), s.hv...)
	copy(s.hv, s.prev)
	s.product = nil
	s.prepare()
	s.product.Extrapolate(0, s.h)
	copy(s.hv, last)
	s.product.Refresh()
	s.safe = nil
	if !s.everySweep {
		s.safe = last
	}
}
