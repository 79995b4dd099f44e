package symnmf

import (
	"math"

	"symnmf/internal/kernel"
)

// The step that the rows of a block take: the exact minimizer of a quartic.

// step returns the step t that block b takes along d, the fall of φ, and q = ⟨A_BB·d, d⟩ if the product was
// asked for it. If not, fall is a guess.
func (s *rowBlockRun) step(b int, groups []rowGroup, d []float64) (t, fall, q float64, asked bool) {
	c := s.quartic(groups)
	if s.guesses {
		own := 0.0
		for k := range groups {
			own += groups[k].own
		}
		guess := c
		if !s.p.ignoreDiag {
			guess[1] -= 2 * own
		}
		// With fall > 2·own, φ falls whatever q is: for points q is at most own below its guess, since
		// ‖X_B·d‖² ≥ 0.
		if t, fall := s.wholeOrBest(guess); t == 1 && fall > 2*own {
			s.guessed++
			return t, fall, 0, false
		}
	}
	switch {
	case s.gainProduct != nil:
		q = s.gainProduct.StepGains(s.gains[:len(groups)])
	case s.rough.now:
		q = s.rough.product.RoughStep(b)
	case s.shortens:
		q = s.rounded.product.StepSingle(b, s.short[:len(d)])
	default:
		q = s.product.Step(b, d)
	}
	c[1] -= 2 * q
	t, fall = s.wholeOrBest(c)
	return t, fall, q, true
}

// wholeOrBest returns t = 1 if that is good enough, else the best t, and the fall of φ.
func (s *rowBlockRun) wholeOrBest(c [4]float64) (t, fall float64) {
	t, fall = bestStep(c, s.MaxStep)
	if whole := -(c[0] + c[1] + c[2] + c[3]); s.MaxStep >= 1 && whole > 0 && whole >= s.Whole*fall {
		return 1, whole
	}
	return t, fall
}

// quartic returns c₁, …, c₄ of φ(t) − φ(0) = c₁t + c₂t² + c₃t³ + c₄t⁴, where φ = ‖A − (H+td)(H+td)ᵀ‖² +
// 4ΣΛ_j‖(H+td)_:,j‖₁. Its c₂ lacks the term −2q, q = ⟨A_BB·d, d⟩. It leaves dᵀd and H_Bᵀd + dᵀH_B in dd and
// hd.
func (s *rowBlockRun) quartic(groups []rowGroup) (c [4]float64) {
	lin := 0.0
	for k := range groups {
		lin += groups[k].lin
		for i, v := range groups[k].quartic {
			c[i] += v
		}
	}
	addUp(s.dd, groups, func(g *rowGroup) []float64 { return g.dd })
	addUp(s.hd, groups, func(g *rowGroup) []float64 { return g.hd })
	kernel.Mirror(s.dd, s.pitch)
	kernel.Symmetrize(s.hd, s.pitch)
	ddd, dhd, hdhd, ddhd, dddd := kernel.Inners(s.dd, s.hd, s.gram)
	s.ddd += ddd
	for j := range s.p.r {
		s.moved += s.dd[j*s.pitch+j]
	}
	c[0] += 2*dhd + 4*lin
	c[1] += hdhd + 2*ddd
	c[2] += 2 * ddhd
	c[3] += dddd
	return c
}

// addUp sets sum to the sum over the groups, in an order that depends only on their number.
func addUp(sum []float64, groups []rowGroup, of func(g *rowGroup) []float64) {
	copy(sum, of(&groups[0]))
	for groups = groups[1:]; len(groups) >= 4; groups = groups[4:] {
		kernel.Axpy4(sum, &[4]float64{1, 1, 1, 1}, of(&groups[0]), of(&groups[1]), of(&groups[2]), of(&groups[3]))
	}
	for k := range groups {
		kernel.Axpy(sum, 1, of(&groups[k]))
	}
}

// bestStep returns the t in [0, most] that minimizes c₁t + c₂t² + c₃t³ + c₄t⁴, and how far below 0 the
// minimum is. It returns 0, 0 if the minimum is not below 0.
func bestStep(c [4]float64, most float64) (t, fall float64) {
	f := func(t float64) float64 { return t * (c[0] + t*(c[1]+t*(c[2]+t*c[3]))) }
	try := func(x float64) {
		if x > 0 && x <= most {
			if v := -f(x); v > fall {
				t, fall = x, v
			}
		}
	}
	try(most)
	// The derivative c₁ + 2c₂t + 3c₃t² + 4c₄t³ is monotone between its own extrema, so each of these pieces
	// is searched.
	slope := func(t float64) float64 { return c[0] + t*(2*c[1]+t*(3*c[2]+t*4*c[3])) }
	var own [4]float64
	cuts := append(own[:0], 0)
	if disc := 9*c[2]*c[2] - 24*c[1]*c[3]; disc > 0 && c[3] > 0 {
		root := math.Sqrt(disc)
		for _, x := range [2]float64{(-3*c[2] - root) / (12 * c[3]), (-3*c[2] + root) / (12 * c[3])} {
			if x > 0 && x < most {
				cuts = append(cuts, x)
			}
		}
	}
	cuts = append(cuts, most)
	for k, lo := range cuts[:len(cuts)-1] {
		hi := cuts[k+1]
		if slope(lo) >= 0 || slope(hi) <= 0 {
			continue
		}
		// Newton's method, or bisection where that would leave the piece.
		x := hi
		if hi >= 1 && lo < 1 {
			x = 1 // most steps are near 1
		}
		for range 100 {
			v := slope(x)
			if v < 0 {
				lo = x
			} else {
				hi = x
			}
			next := x - v/(2*c[1]+x*(6*c[2]+x*12*c[3]))
			if !(next > lo && next < hi) {
				next = lo + (hi-lo)/2
			}
			if math.Abs(next-x) <= 0x1p-50*x || next == lo || next == hi {
				break
			}
			x = next
		}
		try(x)
	}
	return t, fall
}
