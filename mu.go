package symnmf

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// MU multiplies every entry of H at once by a power of the ratio of the two parts of the gradient G = H·(HᵀH)
// − A·H:
//
//	H_ik ← H_ik·R_ik^e,   R = (A·H) ⊘ (H·(HᵀH))
//
// When the diagonal is ignored, the denominator is less by ‖H_i,:‖²·H_i,:.
//
// For A ≥ 0 the objective does not rise if e ≤ 1/3. Nothing is known for larger e, and with e = 0.99 it does
// rise. A zero entry stays zero forever, so H has to be positive at the start wherever the answer is to be.
//
// A sweep is one update: a product A·H and 2·n·r² multiply–adds. Memory: 2·n·r numbers besides H.
//
// Sources: e = 1/3: He, Xie, Zdunek, Zhou, Cichocki, Symmetric nonnegative matrix factorization, IEEE TNN 22,
// 2011; e = 1/4: Long, Zhang, Wu, Yu, ICML 2007, and Yang, Oja, Pattern Recognition 45, 2012.
type MU struct {
	// Exponent is e, above 0 and up to 1; the default 0 means 1/3.
	Exponent float64
}

var muKnobs = []Knob{
	{"exponent", "power of the ratio: 1/3 and 1/4 are known to lower the objective, 0.99 is not; above 0 and up to 1", "1/3",
		func(s Solver, v string) (Solver, error) {
			e, err := parseFraction(v)
			if err != nil || !(e > 0 && e <= 1) {
				return nil, fmt.Errorf("%w: exponent=%s, want a number above 0 and up to 1, or a fraction such as 1/4", ErrOption, v)
			}
			return MU{Exponent: e}, nil
		}},
}

// parseFraction reads a number, or a fraction of two numbers.
func parseFraction(text string) (float64, error) {
	over, under, ok := strings.Cut(text, "/")
	x, err := strconv.ParseFloat(over, 64)
	if err == nil && ok {
		var y float64
		y, err = strconv.ParseFloat(under, 64)
		x /= y
	}
	return x, err
}

// Name implements Solver.
func (MU) Name() string { return "mu" }

func (MU) ownStart() Start { return Random{} }

func (s MU) accepts(p *problem, opt *Options) error {
	if !(s.Exponent >= 0 && s.Exponent <= 1) {
		return fmt.Errorf("%w: MU.Exponent = %v, want 0 to 1", ErrOption, s.Exponent)
	}
	return p.unfit(s.Name(), lacksL1|heldByZero, opt)
}

func (s MU) start(p *problem, h *matrix.Dense, _ int) run {
	return &muRun{newSloped(p, h), powerOf(s.Exponent)}
}

// powerOf returns x ↦ x^e, by roots where possible; e = 0 stands for 1/3.
func powerOf(e float64) func(float64) float64 {
	switch e {
	case 0, 1.0 / 3:
		return math.Cbrt
	case 1.0 / 4:
		return func(x float64) float64 { return math.Sqrt(math.Sqrt(x)) }
	}
	return func(x float64) float64 { return math.Pow(x, e) }
}

type muRun struct {
	*iterate
	factor func(ratio float64) float64
}

func (s *muRun) sweep(stop func() bool) sweepReport {
	if stop() {
		return sweepReport{cut: true}
	}
	s.p.multiply(s.h, s.h, s.ah, s.hd, s.factor)
	return s.look()
}

const (
	// mostRatioOfParts bounds the ratio. A ratio is that large only for an H so small beside √A that h³
	// underflows next to A·h, and it would be far too large if it were used as it is.
	mostRatioOfParts = 0x1p52
	// Entries below leastEntry, in units of √‖A‖, become zero before they are denormal.
	leastEntry = 1e-300
)

// multiply sets dst to h∘factor(R) for R = (A·H) ⊘ (H·D), D = HᵀH, all n×r, given A·H and H·D. Where the
// diagonal is ignored, H·D has the contribution of other rows only. R is 0 where both of its parts are.
// Entries of A·H that are negative, by rounding or from a low rank in place of A ≥ 0, count as zero. dst may
// be h.
func (p *problem) multiply(dst, h, ah, hd *matrix.Dense, factor func(ratio float64) float64) {
	kernel.Blocks(p.n, measureBlock, p.workers, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			to, ahi, hdi := dst.Row(i), ah.Row(i), hd.Row(i)
			for k, v := range h.Row(i) {
				plus, minus := max(0, ahi[k]), hdi[k]
				ratio := 0.0
				switch {
				case minus > 0:
					ratio = min(plus/minus, mostRatioOfParts)
				case plus > 0: // the denominator has underflowed
					ratio = mostRatioOfParts
				}
				if v *= factor(ratio); v < leastEntry {
					v = 0
				}
				to[k] = v
			}
		}
	})
}
