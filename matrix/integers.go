package matrix

import (
	"math"
	"math/bits"

	"symnmf/internal/kernel"
)

// Pixels and counts, times a power of two perhaps, are whole numbers of few bits. Their inner products are exact as float64, of up to 2²⁹ of them, and as integers in a
// fraction of the time (kernel.GramInts): the same numbers either way.

const (
	intBits     = 12      // of a number at most
	intPairs    = 1 << 21 // in hand at once, of two numbers each: 8 MiB
	intSums     = 1 << 22 // numbers of XᵀX that may be kept meanwhile
	intTogether = 1 << 10 // pairs of rows that go by at a time: what tiles read of them stays in a second-level cache
	intSamples  = 1 << 12 // entries that are looked at to find the unit
)

// unitOf returns the power of two, at most 1, of which the entries of m seem to be whole multiples below 2^intBits, or ok = false.
func (m *Dense) unitOf() (unit float64, ok bool) {
	least, most := 0, math.MinInt // exponents; a unit above 1 would take entries far below it for zeros
	step := max(1, len(m.data)/intSamples)
	for gcd(step, m.cols) > 1 { // or some columns would never be seen
		step++
	}
	for k := 0; k < len(m.data); k += step {
		frac, exp := math.Frexp(m.data[k])
		if frac == 0 {
			continue
		}
		digits := uint64(math.Abs(math.Ldexp(frac, 53)))
		least, most = min(least, exp-53+bits.TrailingZeros64(digits)), max(most, exp)
		if most-least > intBits {
			return 0, false
		}
	}
	const smallest = -400 // the square of the unit is no subnormal
	return math.Ldexp(1, least), least > smallest
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// integerGrams does what grams does for ones, in integers, or returns false before the first call of f if that cannot be or does not pay.
func (m *Dense) integerGrams(workers int, f func(part int, g []float64, lo, hi int)) bool {
	n, r := kernel.BlockCount(m.rows, 2), m.cols
	if !kernel.IntsPay() || r < kernel.IntColumns || r*r > intSums || n == 0 {
		return false
	}
	unit, ok := m.unitOf()
	if !ok {
		return false
	}
	stride := kernel.BlockCount(r, kernel.IntColumns) * kernel.IntColumns
	segment := min(max(1, intPairs/stride), n)
	pairs := make([]int32, segment*stride)
	last := make([]float64, r) // in place of a row after the last
	var g []float64
	for from := 0; from < n; from += segment {
		to := min(from+segment, n)
		magnitudes := make([]uint16, kernel.BlockCount(to-from, pairsPacked))
		kernel.Blocks(to-from, pairsPacked, workers, func(b, lo, hi int) {
			for l := lo; l < hi; l++ {
				second := last
				if i := 2*(from+l) + 1; i < m.rows {
					second = m.Row(i)
				}
				own, whole := kernel.PackInts(pairs[l*stride:l*stride+r], m.Row(2*(from+l)), second, 1/unit)
				if !whole {
					own = math.MaxUint16
				}
				magnitudes[b] |= own
			}
		})
		var all uint16
		for _, own := range magnitudes {
			all |= own
		}
		if all >= 1<<intBits {
			return false
		}
		if g == nil {
			g = make([]float64, r*r)
		}
		together := min(intTogether, 1<<(30-2*bits.Len16(all))) // sums stay below 2³¹
		kernel.Blocks(r, gramPart, workers, func(_, lo, hi int) {
			for l := 0; l < to-from; l += together {
				x := pairs[l*stride : min(l+together, to-from)*stride]
				kernel.GramInts(g[lo*r:hi*r], unit*unit, x, stride, r, lo, hi)
			}
		})
	}
	kernel.Blocks(r, gramPart, workers, func(part, lo, hi int) { f(part, g[lo*r:hi*r], lo, hi) })
	return true
}

// pairsPacked is how many pairs of rows are packed by one worker at a time.
const pairsPacked = 32
