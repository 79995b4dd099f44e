package symnmf

import (
	"math"

	"symnmf/matrix"
)

// plant gives the column at work, when it is zero and cannot leave zero, the pair of entries that lowers the objective
// most. At H_:,j = 0 every b_ij is 0 and a_ij = L_i − A_ii, so the column moves by itself iff some A_ii > L_i: never on a
// graph without loops, where the published code stays at H = 0 for ever.
//
// With R = A − HHᵀ and H_pj = H_qj = t the objective changes by t⁴ − t²·(R_pq + (R_pp + R_qq)/2), least at t² = half the
// bracket, with decrease t⁴; when the diagonal is ignored, by t⁴/2 − t²·R_pq, least at t² = R_pq. Only stored entries can
// win, for elsewhere R_pq ≤ 0. O(nnz·r). Operators that cannot list their entries (inner products, whose diagonal is
// positive) are left alone, and so are columns with an ℓ₁ weight, for which zero is an answer.
func (s *cdState) plant() {
	visitor, ok := s.p.a.(matrix.RowVisitor)
	if !ok || s.p.l1[s.j] > 0 || !s.p.ignoreDiag && s.canLeaveZero() {
		return
	}
	best, bestP, bestQ := 0.0, 0, 0
	for p := range s.p.n {
		visitor.VisitRow(p, func(q int, v float64) {
			if q <= p || v <= 0 {
				return
			}
			gain := v
			if !s.p.ignoreDiag {
				gain += (s.p.diag[p] - s.rowSq[p] + s.p.diag[q] - s.rowSq[q]) / 2
			}
			if gain <= best { // the inner product below is ≥ 0
				return
			}
			hp, hq := s.h.Row(p), s.h.Row(q)
			for k, w := range hp {
				gain -= w * hq[k]
			}
			if gain > best {
				best, bestP, bestQ = gain, p, q
			}
		})
	}
	if best <= 0 {
		return
	}
	tSq, decrease := best/2, best*best/4
	if s.p.ignoreDiag {
		tSq, decrease = best, best*best/2
	}
	if decrease <= 0x1p-52*s.p.norm*s.p.norm {
		return // rounding of what is left of A
	}
	s.set(bestP, math.Sqrt(tSq))
	s.set(bestQ, math.Sqrt(tSq))
	s.report.decrease += decrease
	s.report.planted++
}

// canLeaveZero reports whether some A_ii > L_i.
func (s *cdState) canLeaveZero() bool {
	for i, l := range s.rowSq {
		if s.p.diag[i] > l {
			return true
		}
	}
	return false
}
