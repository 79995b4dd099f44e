package main

import (
	"math"

	"symnmf/internal/rules"
)

// rowBlock returns the bytes of symnmf.RowBlock, besides A, the H it is given, and those of lowFirst and
// kept.
func (sh shape) rowBlock(n, m float64, points bool) float64 {
	pitch := float64(rules.Pitch(sh.rank, sh.sparse))
	hs := 2 * n * pitch // H and the previous H
	if pitch == float64(sh.rank) {
		hs -= n * pitch // it works in the memory of the H it is given
	}
	squares := 8 * (2*sh.groups(points) + squareParts(n)) * pitch * pitch // dᵀd and H_Bᵀd of each group, HᵀH in parts
	more := max(0, sh.blockRows(points)-sh.usualBlock(points))
	squares += more * (8*2*pitch + packed*pitch/groupRows) // the change of a block, and what its groups work on
	last := 0.0                                            // H at the last check of a low rank
	if sh.lowFirst(n, m, points) != 0 {
		last = 8 * n * pitch
	}
	joint := 0.0 // joint steps, and for points their products with X
	if !sh.sparse {
		joint = 8 * 5 * n * pitch
		if points {
			joint += 8 * m * pitch
		}
	}
	if !points {
		rooms := 0.0 // for the rows at work of an H in float32
		if sh.sparse && n*pitch >= rules.SpanFrom {
			rooms = 12*roundedParts*rules.NarrowPiece + 12*max(rules.GraphBlock, sh.blockRows(points))*pitch
			if rules.CopyPays(int(n), sh.rank, int64(sh.stored)) { // a copy of that H while its figures are computed
				rooms += 4 * n * pitch
			}
		}
		return squares + 8*hs + last + joint + rooms + sh.rough(n, pitch)
	}
	return squares + 8*(hs+3*m*pitch) + last + joint + sh.change(m, pitch) // Z, the previous Z, and that of the figures
}

// kept returns the bytes that the first run of symnmf.RowBlock stores with A for later runs.
func (sh shape) kept(n, m float64, points bool) float64 {
	switch {
	case !points:
		return 0
	case sh.sparse: // also X by terms
		return 12*sh.stored + 8*2*n + sh.blockProduct(n, m)
	}
	return sh.blockProduct(n, m)
}

// lowFirst returns the bytes of the low rank that replaces A in symnmf.RowBlock for a while, and of finding
// it.
func (sh shape) lowFirst(n, m float64, points bool) float64 {
	// Copies of its columns while a wide low rank is found, one of which is dead but may not be collected yet.
	beyond, copies := sh.compress, 7.0
	if beyond == 0 && !sh.sparse {
		beyond, copies = rules.Beyond, 3
	}
	// The search takes beyond/2 columns more. Of a wide one there are fewer copies at a time, and copies allows for it.
	wide := float64(sh.rank + beyond + rules.Beyond/2)
	if beyond <= 0 || sh.compress <= 0 && n <= 2*wide {
		return 0
	}
	wide = min(wide, n)
	low := 8 * (copies*n*wide + wideParts(n)*wide*wide)
	if points && sh.compress == 0 && sh.keepsFeatures(n, m) { // found among the features
		low += 8 * wide * (n - copies*(n-m))
	}
	return low
}

// roundedParts is the largest number of parts in which symnmf.RowBlock widens an H in float32.
const roundedParts = 64

// rough returns the bytes of rough sweeps: A, H and the change of a block in float32, and the H at which the
// objective was last known.
func (sh shape) rough(n, pitch float64) float64 {
	if sh.sparse || n < rules.RoughFrom || n > rules.RoughTo || pitch < rules.RoughCols || n*pitch < rules.RoughSize {
		return 0
	}
	wide := float64((sh.rank + 15) / 16 * 16)
	return 4*(n*n+(2*n+sh.blockRows(false))*wide) + 8*n*pitch
}

// wideParts returns the largest number of parts in which inner products of the columns of a low rank, and
// what is derived from them, are summed.
func wideParts(n float64) float64 { return min(64, n/256+2) }

// squareParts returns the largest number of parts in which HᵀH and other sums of r×r numbers over rows are
// computed.
func squareParts(n float64) float64 { return min(64, n/256+8) }

// usualBlock returns the largest number of rows of a block of symnmf.RowBlock by default.
func (sh shape) usualBlock(points bool) float64 {
	switch {
	case !sh.sparse:
		return rules.DenseBlock
	case points:
		return rules.PointsBlock
	}
	return rules.GraphBlock
}

// blockRows returns the largest number of rows of a block of symnmf.RowBlock, given the knob block.
func (sh shape) blockRows(points bool) float64 {
	if sh.block == 0 {
		return sh.usualBlock(points)
	}
	n, _ := sh.size()
	return min(float64(sh.block), n)
}

// groups returns the largest number of groups of rows in a block.
func (sh shape) groups(points bool) float64 { return math.Ceil(sh.blockRows(points) / groupRows) }

// packed is the number of bytes that a group takes for each column of H, laid out for the solver in either
// precision.
const packed = 8 * 3 * groupRows

// blockProduct returns the bytes that are derived from points for products by blocks.
func (sh shape) blockProduct(n, m float64) float64 {
	switch {
	case sh.sparse && sh.blockRows(true) < rules.PointsBlock:
		// X by blocks and features. distinct counts only blocks of the usual size.
		return 20 * sh.stored
	case sh.sparse:
		return 12*sh.stored + 8*sh.distinct
	case m >= sh.blockRows(true): // inner products within blocks
		return 8 * n * sh.blockRows(true)
	}
	return 0
}

// change returns the bytes of what products by blocks compute from the step of a block, for an H with the
// given number of columns, where no inner products within blocks are kept.
func (sh shape) change(m, columns float64) float64 {
	if sh.sparse || m >= sh.blockRows(true) {
		return 0
	}
	bytes := 8 * m * columns // the change of Z
	if m <= rules.MostGainFeatures && sh.blockRows(true) <= rules.MostGainRows {
		bytes *= 1 + sh.groups(true) // and the contribution of each group
	}
	return bytes
}
