package symnmf

// rankOne lowers ‖P − hhᵀ‖ by one pass of exact coordinate descent over the entries of h ≥ 0 (n), for a
// symmetric P (n×n by rows) whose entries may have any sign, with an ℓ₁ weight l1. It reports the decrease of
// ¼‖P − hhᵀ‖² + l1·‖h‖₁, the number of entries changed, and the projected gradient steps, for gradients
// divided by norm. a and b are scratch of length n. O(n²).
//
//	a_i = ‖h‖² − h_i² − P_ii,   b_i = h_i·P_ii − P_i,:·h
//	after h_i ← x:  a_l += x² − h_i²,  b_l −= P_li·(x − h_i)   for l > i
//
// Source: the paper, Algorithm 2 and eq. 10, whose last line has a plus; b_l contains −h_i·P_li. See
// docs/errata.md.
func rankOne(p, h []float64, l1, norm float64, a, b []float64) (rep sweepReport) {
	n := len(h)
	var normSq float64
	for _, v := range h {
		normSq += v * v
	}
	for i, v := range h {
		row := p[i*n : (i+1)*n]
		a[i] = normSq - v*v - row[i]
		b[i] = v*row[i] + l1
		for l, w := range h {
			b[i] -= row[l] * w
		}
	}
	for i, o := range h {
		rep.stepSq += stepSq(o, (o*o+a[i])*o+b[i], norm)
		x, decrease := cubicMinimizer(a[i], b[i], o)
		if x == o {
			continue
		}
		rep.changed++
		rep.decrease += decrease
		h[i] = x
		row := p[i*n : (i+1)*n]
		for l := i + 1; l < n; l++ {
			a[l] += (x - o) * (x + o)
			b[l] -= row[l] * (x - o)
		}
	}
	return rep
}
