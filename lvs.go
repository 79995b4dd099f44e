package symnmf

import (
	"fmt"
	"math"
	"slices"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// LvS works on two coupled factors, P = ½‖A − WHᵀ‖² + ½α‖W − H‖², each from a sample of the n rows of its
// least-squares problem. The sample is drawn anew every time. For W, with ω_l from the leverage scores of H,
//
//	D = Σ_l ω_l·h_lᵀh_l in place of HᵀH,   Z = Σ_l ω_l·A_:,l·h_l in place of AH
//
// and then a pass of SymHALS, or ANLS, with D and Z.
//
// The scores are p_l = ‖q_l‖²/rank, with Q an orthonormal basis of the columns of H. The s_D rows with p_l >
// 1/s are taken as they are, ω_l = 1. From the others s_R = s − s_D rows are drawn with replacement, row l c
// times, with probabilities p'_l = p_l/Σp, and ω_l = c/(s_R·p'_l), so that D and Z are right in the mean.
//
// Neither P nor the error is certain to fall. The answer is the factor with the smaller error after the last
// sweep. Unlike with the other methods with two factors it depends on the order of the items, through the
// draws. A column that is
// zero in both factors stays zero, and so does a zero start.
//
// The method is here to show what sampling does to the error. A is multiplied by all of ΩH, zeros included,
// so a sweep takes two products with A and O(n·r²), as with SymHALS, and two more products for the figures,
// which SymHALS has at hand. Memory: 6·n·r numbers besides H.
//
// Source: Hayashi, Aksoy, Ballard, Park, Randomized algorithms for symmetric nonnegative matrix
// factorization, SIAM J. Matrix Anal. Appl. 46, 2025, with the weights of the drawn rows corrected, and a
// basis that may have fewer columns than H. See docs/errata.md.
type LvS struct {
	// Coupling is α, above 0; the default is ‖A‖₂.
	Coupling Weight
	// Samples is s; the default 0 means half of n, rounded up.
	Samples int
	// LeastSquares samples ANLS in place of SymHALS.
	LeastSquares bool

	published bool // tests: the answer is H, as in the published code
}

// Name implements Solver.
func (LvS) Name() string { return "lvs" }

func (LvS) ownStart() Start { return Random{} }

func (m LvS) accepts(p *problem, opt *Options) error {
	if m.Samples < 0 {
		return fmt.Errorf("%w: LvS.Samples = %d", ErrOption, m.Samples)
	}
	if err := m.Coupling.checkPositive("LvS.Coupling"); err != nil {
		return err
	}
	return acceptCoupled(m.Name(), m.Coupling, p, opt)
}

var lvsKnobs = []Knob{
	{"coupling", "α, how strongly the two factors are coupled: a number above 0 in units of A, or norm (‖A‖₂), max (max A), max2 ((max A)², which depends on the units of A)", "norm",
		weightKnob("coupling", weightNames[:], Weight.checkPositive, func(s *LvS, w Weight) { s.Coupling = w })},
	{"samples", "rows drawn for each step; 0 = half of all", "0", wholeKnob("samples", 0, math.MaxInt, func(s *LvS, k int) { s.Samples = k })},
	{"update", "how the factor is updated from them: hals (as symhals), bpp (as anls)", "hals",
		nameKnob("update", []string{"hals", "bpp"}, func(s *LvS, k int) { s.LeastSquares = k == 1 })},
}

func (m LvS) start(p *problem, h *matrix.Dense, number int) run {
	c := newCoupled(p, h, m.Coupling, "coupling")
	s := &sampled{coupled: c, method: m, number: uint64(number), hs: matrix.NewDense(p.n, p.r, nil)}
	if s.method.Samples == 0 {
		s.method.Samples = (p.n + 1) / 2
	}
	if m.published {
		c.only = c.h
	}
	c.update, c.blind = s.draw, true
	return s
}

// sampled is what LvS has besides the factors.
type sampled struct {
	*coupled
	method LvS
	number uint64        // of the run
	drawn  uint64        // samples so far
	hs     *matrix.Dense // ΩH, n×r
}

// draw improves the factor of x by a sample of the rows of y.
func (s *sampled) draw(x, y *iterate) {
	p, r := s.p, s.p.r
	// With number in place of ^number, kernel.Key would not tell seed 0, run 1 from seed 1, run 0.
	u := uniform{key: kernel.Key(p.seed, ^s.number, s.drawn)}
	omega := sampleWeights(leverage(y.h, p.workers), s.method.Samples, u, p.stop)
	s.drawn++
	if s.cut = omega == nil; s.cut {
		return
	}
	scale := func(rows []float64) { // multiplies them by √ω
		kernel.Blocks(p.n, measureBlock, p.workers, func(_, lo, hi int) {
			for l := lo; l < hi; l++ {
				root := math.Sqrt(omega[l])
				for j, v := range rows[l*r : (l+1)*r] {
					s.hs.Data()[l*r+j] = root * v
				}
			}
		})
	}
	scale(y.h.Data())
	at := &iterate{h: y.h, ah: x.ah, gram: p.gram(s.hs)}
	scale(s.hs.Data())
	p.times(at.ah, s.hs)
	if s.method.LeastSquares {
		s.leastSquares(x, at)
	} else {
		s.hals(x, at)
	}
}

// sampleWeights returns ω for s samples and scores ≥ 0, not all 0. It returns nil if stop, which may be nil, returns true.
func sampleWeights(scores []float64, s int, u uniform, stop func() bool) []float64 {
	omega := make([]float64, len(scores))
	total := sum(scores)
	left := s // s_R
	cumulative := make([]float64, len(scores))
	rest := 0.0
	for l, v := range scores {
		if v*float64(s) > total {
			omega[l] = 1
			left--
		} else {
			rest += v
		}
		cumulative[l] = rest
	}
	if rest == 0 {
		return omega
	}
	for t := range left {
		if t%(1<<16) == 1<<16-1 && stop != nil && stop() {
			return nil
		}
		at := u.at(uint64(t)) * rest
		// The first row whose cumulative sum is above at has a score above 0 and is not among those taken as
		// they are.
		l, _ := slices.BinarySearchFunc(cumulative, at, func(c, at float64) int {
			if c > at {
				return 1
			}
			return -1
		})
		l = min(l, len(scores)-1) // in case of numbers that are not finite
		omega[l] += rest / (float64(left) * scores[l])
	}
	return omega
}

// leverage returns ‖q_i‖² for the rows q_i of an orthonormal basis Q of the columns of h; their sum is the
// rank. It uses modified Gram–Schmidt with pivots: the next column is the one of which the largest part is
// left, as long as that is above 1e-10.
func leverage(h *matrix.Dense, workers int) []float64 {
	n, r := h.Dims()
	q := h.Transpose().Data() // r×n
	col := func(j int) []float64 { return q[j*n : (j+1)*n] }
	size, order := make([]float64, r), make([]int, 0, r)
	for j := range r {
		if size[j] = math.Sqrt(kernel.SumSq(col(j))); size[j] > 0x1p-500 {
			order = append(order, j)
		}
	}
	const dependent = 1e-10
	scores := make([]float64, n)
	part := make([]float64, r)
	for len(order) > 0 {
		kernel.Blocks(len(order), 1, workers, func(_, k, _ int) {
			part[order[k]] = math.Sqrt(kernel.SumSq(col(order[k]))) / size[order[k]]
		})
		best := 0
		for k, j := range order {
			if part[j] > part[order[best]] {
				best = k
			}
		}
		pivot := order[best]
		if part[pivot] <= dependent {
			break
		}
		order = slices.Delete(order, best, best+1)
		unit := col(pivot)
		length := part[pivot] * size[pivot]
		for i, v := range unit {
			unit[i] = v / length
			scores[i] += unit[i] * unit[i]
		}
		kernel.Blocks(len(order), 1, workers, func(_, k, _ int) {
			c := col(order[k])
			kernel.Axpy(c, -kernel.Dot(c, unit), unit)
		})
	}
	return scores
}
