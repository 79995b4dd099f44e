package symnmf

import "math"

// bestRoot returns the x ≥ 0 that minimizes φ(x) = x⁴/4 + a·x²/2 + b·x. It is 0 or the largest root of
// φ′(x) = x³ + a·x + b. By Descartes' rule of signs, and by comparing φ there with φ(0) = 0:
//
//	b < 0           the only positive root; never 0
//	b ≥ 0, a ≥ 0    0
//	b ≥ 0, a < 0    the largest root if 27b² < −2a³, else 0 (both win at equality, x = √(2|a|/3); 0 is taken)
//
// The winning root is simple, 3x² + a > 0, and its relative change is at most twice that of a and b. So it
// can be had to a few units in the last place for all finite a and b: at most 4 against 700-bit arithmetic in
// TestBestRootAccuracy. Within 2⁻⁴⁴ of the tie either minimizer may be returned; φ differs there by rounding
// only. NaN in, NaN out.
//
// Source: the paper, Algorithm 1, with its Δ = 4a³ + 27b² ≤ 0 (three real roots) sharpened to the condition
// above, and its formulas, which cancel or overflow, replaced. See docs/errata.md.
func bestRoot(a, b float64) float64 {
	if a >= 0 && b >= 0 {
		return 0
	}
	// In this range no square or cube below overflows or loses digits to underflow.
	const least, most = 0x1p-300, 0x1p300
	if aa, ab := math.Abs(a), math.Abs(b); aa > least && aa < most && ab > least && ab < most {
		return rootInRange(a, b)
	}
	return rootScaled(a, b)
}

// rootInRange is bestRoot after its first exit, for |a| and |b| whose powers are safe.
func rootInRange(a, b float64) float64 {
	p := math.Abs(a) * (1.0 / 3)
	q := -0.5 * b
	// The conversions keep the compiler from fusing the products into what follows on processors that can.
	// Then the same difference could be ≥ 0 in the condition and negative under the root.
	p3, q2 := float64(p*p*p), float64(q*q)
	var x float64
	switch {
	case a > 0: // hence b < 0: one real root, u − p/u in the textbook, whose terms cancel; this sum does not
		if q2 <= 0x1p-60*p3 {
			return -b / a
		}
		u := roughCbrt(q + math.Sqrt(q2+p3))
		v := p / u
		x = -b / (u*u + p + v*v)
	case b > 0:
		// φ at the largest root is (x/4)(a·x + 3b) < 0 iff 27b² < −2a³, that is, 2q² < p³.
		if 2*q2 >= p3 {
			return 0
		}
		x = largestOfThree(p, q)
	case q2 >= p3:
		u := roughCbrt(q + math.Sqrt(q2-p3))
		x = u + p/u
	default:
		x = largestOfThree(p, q)
	}
	// x is right to 5e-5. Newton's step turns a relative error e into at most 2e² here, hence 1e-8, then 1e-16.
	x -= ((x*x+a)*x + b) / (3*x*x + a)
	return x - ((x*x+a)*x+b)/(3*x*x+a)
}

// largestOfThree approximates, to 5e-5, the largest root of x³ − 3p·x − 2q for q² < p³ and, where q < 0,
// 2q² < p³. By Viète it is 2√p·cos(⅓·arccos(c)), c = q/p^{3/2}. The cosine is smooth over −1/√2 < c < 1, so a
// polynomial gives it, the interpolant in the nine Chebyshev points of that interval.
func largestOfThree(p, q float64) float64 {
	s := math.Sqrt(p)
	c := q / (p * s)
	c2 := c * c
	low := (0.86603008045795615 + 0.16666163229868422*c) + (-0.04837583210168063+0.024993501384269059*c)*c2
	high := (-0.01344662184723143 + 0.0080437664424782163*c) + (-0.012748890955300492+0.014674465765374447*c)*c2 + -0.0058346143196484563*c2*c2
	return 2 * s * (low + high*c2*c2)
}

// roughCbrt approximates ∛x to 3e-5 for normal x > 0. A third of the exponent and mantissa as one integer is
// right to 4 %, and Halley's step cubes that error.
func roughCbrt(x float64) float64 {
	t := math.Float64frombits(math.Float64bits(x)/3 + 0x2a9f7893782da1ce)
	c := t * t * t
	return t * (c + 2*x) / (2*c + x)
}

// rootScaled is bestRoot for any a and b. It scales them to at most 1 by powers of 2, which is possible
// because the root scales as √a and as ∛b. This is exact, except that terms too small to matter may
// underflow.
func rootScaled(a, b float64) float64 {
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		return math.NaN()
	case b == 0:
		return math.Sqrt(-a) // a < 0
	case a == 0:
		return math.Cbrt(-b) // b < 0
	}
	_, ea := math.Frexp(a)
	_, eb := math.Frexp(b)
	e := max(ceilDiv(ea, 2), ceilDiv(eb, 3))
	alpha, beta := math.Ldexp(a, -2*e), math.Ldexp(b, -3*e)
	switch {
	case math.Abs(alpha) < 0x1p-300: // then |β| ≥ 1/8 and a·x is lost beside b
		return math.Ldexp(math.Cbrt(-min(beta, 0)), e)
	case math.Abs(beta) < 0x1p-300 && a > 0: // then α ≥ 1/4, x³ is lost, and β may have underflowed
		return -b / a
	case math.Abs(beta) < 0x1p-300:
		return math.Ldexp(math.Sqrt(-alpha), e)
	}
	return math.Ldexp(rootInRange(alpha, beta), e)
}

// ceilDiv returns ⌈x/d⌉ for d > 0.
func ceilDiv(x, d int) int { return -floorDiv(-x, d) }

func floorDiv(x, d int) int {
	q := x / d
	if x%d < 0 {
		q--
	}
	return q
}
