package matrix

import (
	"math"
	"math/bits"
	"sync/atomic"

	"symnmf/internal/kernel"
	"symnmf/internal/rules"
)

// Pixels and counts, perhaps times a power of two, are whole numbers of few bits. Inner products of up to 2²⁹
// of them are exact in float64. Integer arithmetic computes the same numbers in a fraction of the time
// (kernel.GramInts, kernel.GramBytes).

const (
	intBits   = 12                // of a number, at most
	intPacked = rules.IntRoom / 4 // int32 in hand at once, of two or four numbers each
	// Rows of integers at a time; what tiles read of them stays in a second-level cache.
	intTogether = 1 << 10
	intSamples  = 1 << 12 // entries inspected to find the unit
)

// unitOf returns the power of two, at most 1, of which the entries of m appear to be whole multiples below
// 2^intBits, and whether these appear to be bytes. ok is false if there is none.
func (m *Dense) unitOf() (unit float64, bytes, ok bool) {
	least, most := 0, math.MinInt // exponents; with a unit above 1, entries far below it would pass for zeros
	negative, step := false, max(1, len(m.data)/intSamples)
	for gcd(step, m.cols) > 1 { // otherwise some columns would never be seen
		step++
	}
	for k := 0; k < len(m.data); k += step {
		frac, exp := math.Frexp(m.data[k])
		if frac == 0 {
			continue
		}
		negative = negative || frac < 0
		digits := uint64(math.Abs(math.Ldexp(frac, 53)))
		least, most = min(least, exp-53+bits.TrailingZeros64(digits)), max(most, exp)
		if most-least > intBits {
			return 0, false, false
		}
	}
	const smallest = -400 // the square of the unit is not subnormal
	return math.Ldexp(1, least), most-least <= 8 && !negative, least > smallest
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// packing says how whole numbers of several rows lie side by side in an int32.
type packing struct {
	rows  int  // how many rows
	bits  int  // most bits of a number
	bytes bool // numbers have no sign
	pays  func() bool
	pack  func(dst []int32, rows [][]float64, c float64) (bits uint16, ok bool)
	grams func(s []float64, c float64, x *kernel.IntRows, first, last, lo, hi int)
}

// packings lists all packings, fastest first.
var packings = [...]packing{
	{4, 8, true, kernel.BytesPay, func(dst []int32, rows [][]float64, c float64) (uint16, bool) {
		return 0xff, kernel.PackBytes(dst, rows[0], rows[1], rows[2], rows[3], c)
	}, kernel.GramBytes},
	{2, intBits, false, kernel.IntsPay, func(dst []int32, rows [][]float64, c float64) (uint16, bool) {
		return kernel.PackInts(dst, rows[0], rows[1], c)
	}, kernel.GramInts},
}

// integerGrams returns XᵀX, from the diagonal on, computed in integers, or nil if that is not possible or does
// not pay. If plain is set the numbers of X are bytes, perhaps times a power of two, so they are known to be finite
// and not negative. X may have any numbers, NaN among them.
func (m *Dense) integerGrams(workers int) (g []float64, plain bool) {
	r := m.cols
	if r < kernel.IntColumns || r*r > rules.MostIntSums || m.rows == 0 {
		return nil, false
	}
	unit, bytes, ok := 0.0, false, false
	for k := range packings {
		p := &packings[k]
		if !p.pays() {
			continue
		}
		if !ok {
			if unit, bytes, ok = m.unitOf(); !ok {
				return nil, false
			}
		}
		if p.bytes && !bytes {
			continue
		}
		if g := m.packedGrams(p, unit, workers); g != nil {
			return g, p.bytes
		}
	}
	return nil, false
}

// packedGrams returns XᵀX, from the diagonal on, for an X of whole multiples of unit that fit into p. For any
// other X it returns nil.
func (m *Dense) packedGrams(p *packing, unit float64, workers int) []float64 {
	n, r := kernel.BlockCount(m.rows, p.rows), m.cols
	segment := min((intPacked/kernel.IntStride(r)-1)|1, n) // odd, since IntRows adds a row to an even number
	packed := kernel.NewIntRows(segment, r)
	room := func() []int32 { return make([]int32, r) }
	zeros := make([]float64, r) // in place of rows after the last
	var g []float64
	var failed atomic.Bool // some number is not a multiple, or does not fit: no need to go on
	for from := 0; from < n; from += segment {
		to := min(from+segment, n)
		magnitudes := make([]uint16, kernel.BlockCount(to-from, packedAtOnce))
		kernel.BlocksWith(to-from, packedAtOnce, workers, room, func(row []int32, b, lo, hi int) {
			var rows [4][]float64
			for l := lo; l < hi && !failed.Load(); l++ {
				for k := range p.rows {
					if i := p.rows*(from+l) + k; i < m.rows {
						rows[k] = m.Row(i)
					} else {
						rows[k] = zeros
					}
				}
				own, whole := p.pack(row, rows[:], 1/unit)
				packed.Put(l, row)
				if !whole || own >= 1<<p.bits {
					failed.Store(true)
				}
				magnitudes[b] |= own
			}
		})
		if failed.Load() {
			return nil
		}
		var all uint16
		for _, own := range magnitudes {
			all |= own
		}
		if g == nil {
			g = make([]float64, r*r)
		}
		together := min(intTogether, 1<<(31-2*bits.Len16(all))/p.rows) // sums stay below 2³¹
		kernel.Blocks(r, gramPart, workers, func(_, lo, hi int) {
			for l := 0; l < to-from; l += together {
				p.grams(g[lo*r:hi*r], unit*unit, packed, l, min(l+together, to-from), lo, hi)
			}
		})
	}
	return g
}

// packedAtOnce is the number of rows of integers that one worker packs at a time.
const packedAtOnce = 32
