package kernel

import (
	"math"
	"testing"
)

// TestUniform compares Uniform and Centered with their definitions, bit for bit, for every length below 70. The
// numbers before and after 0 are among them, and so are keys with which bits that are rounded off matter.
func TestUniform(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		rounded := 0
		for n := range 70 {
			for _, key := range []uint64{0, 1, 12345, 1<<32 - 1, 1 << 63, math.MaxUint64} {
				for _, first := range []uint64{0, 1, 1<<32 - 5, 1<<63 - 3, math.MaxUint64 - 5} {
					unit, checkUnit := guarded(t, make([]float64, n), n%8)
					centered, checkCentered := guarded(t, make([]float64, n), (n+3)%8)
					Uniform(unit, key, first)
					Centered(centered, key, first)
					checkUnit()
					checkCentered()
					for i := range n {
						bits := Mix(key ^ Mix(first+uint64(i)))
						if want := float64(bits>>11) * 0x1p-53; unit[i] != want {
							t.Fatalf("%d numbers from %d, key %d: number %d is %v, want %v", n, first, key, i, unit[i], want)
						}
						want := float64(int64(bits)) * 0x1p-63
						if centered[i] != want {
							t.Fatalf("%d numbers from %d, key %d: number %d is %v about 0, want %v", n, first, key, i, centered[i], want)
						}
						if int64(want*0x1p63) != int64(bits) {
							rounded++
						}
					}
				}
			}
		}
		if rounded == 0 {
			t.Error("no number is rounded: this shows nothing")
		}
	})
}

// unmix is the inverse of Mix.
func unmix(x uint64) uint64 {
	inverse := func(c uint64) uint64 { // of an odd number modulo 2⁶⁴, by Newton's method
		y := c
		for range 6 {
			y *= 2 - c*y
		}
		return y
	}
	x ^= x>>31 ^ x>>62
	x *= inverse(0x94d049bb133111eb)
	x ^= x>>27 ^ x>>54
	x *= inverse(0xbf58476d1ce4e5b9)
	x ^= x>>30 ^ x>>60
	return x - mixStep
}

// TestUniformExtremes has integers of which all bits are 0 or 1, or halves of them, and sums that lie half-way
// between two numbers.
func TestUniformExtremes(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for _, bits := range []uint64{
			0, 1, 1<<11 - 1, 1 << 11, 1<<32 - 1, 1 << 32, 1<<43 - 1, 1 << 43, 1<<53 + 1, 1<<53 + 3, 1<<62 + 1<<9, 1<<62 + 3<<8,
			1<<63 - 1, 1<<63 - 1<<9, 1<<63 - 1<<9 - 1, 1 << 63, 1<<63 + 1, 1<<63 + 1<<9, math.MaxUint64 - 1<<32, math.MaxUint64 - 1<<31, math.MaxUint64,
		} {
			if Mix(unmix(bits)) != bits {
				t.Fatalf("unmix(%#x) is wrong", bits)
			}
			key := unmix(bits) ^ Mix(3) // number 3 of those with this key
			var unit, centered [8]float64
			Uniform(unit[:], key, 0)
			Centered(centered[:], key, 0)
			if want := float64(bits>>11) * 0x1p-53; math.Float64bits(unit[3]) != math.Float64bits(want) {
				t.Errorf("%#x becomes %v, want %v", bits, unit[3], want)
			}
			if want := float64(int64(bits)) * 0x1p-63; math.Float64bits(centered[3]) != math.Float64bits(want) {
				t.Errorf("%#x becomes %v about 0, want %v", bits, centered[3], want)
			}
		}
	})
}
