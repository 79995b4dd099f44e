package symnmf

import "symnmf/matrix"

// plant acts when the column at work is zero and cannot leave zero. It sets the pair of entries that lowers
// the objective most.
//
// At H_:,j = 0 every b_ij is 0 and a_ij = L_i − A_ii, so the column moves by itself iff some A_ii > L_i. That
// is never so on a graph without loops, where the published code stays at H = 0 forever.
//
// With R = A − HHᵀ, g = R_pq + (R_pp + R_qq)/2 and H_pj = H_qj = t, the objective changes by
// t⁴ − g·t² + 2Λ_j·t; when the diagonal is ignored, by t⁴/2 − R_pq·t² + 2Λ_j·t. The larger g, or R_pq,
// is, the further it falls. Only stored entries can win, for elsewhere R_pq ≤ 0. O(nnz·r).
//
// Operators that cannot list their entries are left alone: Factorize refuses the zero start where that would
// matter.
func (s *cdState) plant() {
	visitor, ok := s.p.a.(matrix.RowVisitor)
	if !ok || s.canLeaveZero() {
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
			if gain <= best { // the inner product subtracted below is ≥ 0
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
	l1 := s.p.l1[s.j]
	t := bestRoot(-best/2, l1/2)
	decrease := t * (t*(best-t*t) - 2*l1)
	if s.p.ignoreDiag {
		t = bestRoot(-best, l1)
		decrease = t * (t*(best-t*t/2) - 2*l1)
	}
	if decrease <= 0x1p-52*s.p.norm*s.p.norm {
		return // zero is best, or g is the rounding of what is left of A
	}
	if s.forward { // the pair is out of the cursor's order
		s.anyOrder()
		s.cursor.Column(s.j)
	}
	s.set(bestP, t)
	s.set(bestQ, t)
	s.report.decrease += decrease
	s.report.planted++
}

// canLeaveZero reports whether some entry of the column at work, which is zero, leaves zero by itself. There
// a = L_i − A_ii, as cubic has it, and b = Λ_j.
func (s *cdState) canLeaveZero() bool {
	if s.p.ignoreDiag {
		return false
	}
	for i := range s.p.n {
		if a, b, _ := s.cubic(i); bestRoot(a, b) > 0 {
			return true
		}
	}
	return false
}
