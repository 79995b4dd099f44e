package main

import (
	"math"

	"symnmf/internal/rules"
	"symnmf/matrix"
)

// needs holds the bytes that some part of a run takes, besides A and the H counted by factors.
type needs struct {
	each   float64 // for each run or kick at once
	shared float64 // for all of them together
	before float64 // for work before the method has allocated anything
}

// measured returns the bytes of A·H for the starts that are made at once, which is kept until their figures
// are known.
func (sh shape) measured(n float64) float64 {
	if numbers := n * float64(sh.rank); numbers <= rules.MostKept {
		return sh.starts() * 8 * numbers
	}
	return 0
}

// starts returns the number of starts made at once. Kicks make none.
func (sh shape) starts() float64 { return min(sh.lanes(), float64(max(sh.runs, 1))) }

// ofStart returns the bytes of making the start.
func (sh shape) ofStart(n, m float64, points bool) (b needs) {
	h := 8 * n * float64(sh.rank)
	switch sh.init {
	case "svd":
		b.shared, b.before = h, h+max(sh.eigen(n, m, points), sh.measured(n))
	case "", "tsvd":
		if sh.init != "" || sh.beginsTurned(n, m, points) {
			once, turns := sh.turnedStart(n, m, points)
			b.shared, b.before = h, h+max(once, sh.starts()*turns, sh.measured(n))
		}
	case "lai":
		b.shared, b.before = sh.lowRank(n), sh.lowRankAnswer(n)
	}
	return b
}

// lowWide returns the number of columns of the low rank of symnmf.LAI.
func (sh shape) lowWide(n float64) float64 { return min(float64(sh.rank)+sh.lowBeyond(), n) }

// lowRank returns the bytes of the low rank of symnmf.LAI.
func (sh shape) lowRank(n float64) float64 { return 8 * 2 * n * sh.lowWide(n) }

// findLowRank returns the bytes of finding the low rank of symnmf.LAI.
func (sh shape) findLowRank(n float64) float64 {
	wide := sh.lowWide(n)
	return 8 * (4*n*wide + wideParts(n)*wide*wide)
}

// lowRankAnswer returns the bytes of finding the low rank of symnmf.LAI and of a run of rowblock on it.
func (sh shape) lowRankAnswer(n float64) float64 {
	r := float64(sh.rank)
	return sh.findLowRank(n) + sh.lanes()*sh.rowBlock(n, r, true) + sh.lowFirst(n, r, true) + sh.kept(n, r, true)
}

// ofMethod returns the bytes of the method.
func (sh shape) ofMethod(n, m float64, points bool) (b needs) {
	h, z := 8*n*float64(sh.rank), 0.0 // H, and X·H if A is given by points
	if points {
		z = 8 * m * float64(sh.rank)
	}
	turned := 0.0 // X by features, for methods with many products
	if points && sh.sparse {
		turned = sh.table
	}
	switch sh.method {
	case "", "auto", "rowblock":
		b.each = sh.rowBlock(n, m, points)
		b.shared = sh.lowFirst(n, m, points) + sh.kept(n, m, points)
	case "cd-residual":
		b.each = 8 * n * n
	case "anls", "symanls", "symhals", "snmpbb", "lvs":
		b.each = sh.twoFactors(n, m, points) + turned
		if sh.method == "snmpbb" || sh.method == "lvs" { // D and D·Q; ΩH and Q
			b.each += 2 * h
		}
	case "tsvd":
		b.before = h + max(sh.eigen(n, m, points), sh.measured(n))
		b.shared, b.each = h, 2*z
	case "pgncg":
		b.each = 7*h + turned + 3*z
	case "lai": // Â, the H of the start, an H that is dead but not collected yet, and the other method
		b.before, b.shared, b.each = sh.findLowRank(n), sh.lowRank(n), 3*h
		if sh.over == "pgncg" {
			b.each += 7*h + turned
		} else {
			b.each += sh.rowBlock(n, m, points)
			b.shared += sh.lowFirst(n, m, points) + sh.kept(n, m, points)
		}
	case "clique":
		b.each = 4 * sh.stored
	case "newton":
		b.each = 8*2*n*n + 9*h + turned
		if points {
			b.each += 8 * 3 * m * max(float64(sh.rank), 64)
		}
	case "mu", "amu", "betasnmf":
		b.each = map[string]float64{"mu": 2, "amu": 6, "betasnmf": 5}[sh.method]*h + turned + 3*z // X·H of the products, and of the figures
	case "vbsum":
		b.each = h + turned + 4*z
		if points {
			b.each += sh.change(m, float64(sh.rank))
			b.shared = sh.blockProduct(n, m) // its own besides
		}
	case "compressed":
		first := sh.eigen(n, m, points)
		if sh.first == "lai" {
			first = sh.lowRankAnswer(n)
		}
		b.before = 2*sh.lanes()*h + first
		b.each = 2 * h
		fallthrough
	default:
		if points { // the cursor keeps Z = X·H, and the error takes two more
			b.each += 3 * z
		} else { // the cursor keeps A·H, as many numbers as H
			b.each += h
		}
		if sh.method == "cd-mbi" {
			b.each += 3 * h
		}
	}
	return b
}

// lowBeyond returns the number of columns beyond R in the low rank of symnmf.LAI.
func (sh shape) lowBeyond() float64 {
	if sh.oversample > 0 {
		return float64(sh.oversample)
	}
	return rules.Oversample
}

// eigen returns the bytes, besides A, of matrix.Eigen for as many pairs as the rank, applied to what
// matrix.Folded makes of A.
func (sh shape) eigen(n, m float64, points bool) float64 {
	k, rows, z := float64(sh.rank), n, 0.0
	if sh.folds(n, m, points) {
		if rows = m; sh.sparse {
			z = 8 * n * (k + 8) // products by items, with blocks and at the end with all vectors
		}
	}
	bytes := eigenBasis(rows, sh.rank) + z
	if points && sh.sparse {
		bytes += sh.table // X by features
	}
	return bytes
}

// eigenBasis returns the bytes of matrix.Eigen for the given number of pairs of a matrix with the given
// number of rows, besides what products with it take. As many columns as pairs are counted for what is not
// collected yet when its caller goes on.
func eigenBasis(rows float64, pairs int) float64 {
	k := float64(pairs)
	if _, whole := matrix.EigenBasis(int(rows), pairs); whole {
		return 8 * rows * (rows + 3*k)
	}
	return 8 * rows * max(4*k+32, 3*k+80)
}

// beginsTurned reports whether auto may begin from symnmf.TSVDStart.
func (sh shape) beginsTurned(n, m float64, points bool) bool {
	vectors := sh.rank
	if sh.folds(n, m, points) {
		vectors = min(vectors, int(m))
	}
	return (sh.method == "" || sh.method == "auto") && rules.TurnsPay(int(n), sh.rank, vectors, sh.dense())
}

// dense reports whether the data count as dense.
func (sh shape) dense() bool { return sh.stored >= rules.DenseFrom*float64(sh.rows)*float64(sh.cols) }

// turnedStart returns the bytes of symnmf.TSVDStart, besides the H it fills and the B that all starts share.
// once counts matrix.RitzPairs, or the low rank that replaces it; turns counts, for each start, a copy of
// some rows of B and what turns need.
func (sh shape) turnedStart(n, m float64, points bool) (once, turns float64) {
	k, r := float64((sh.rank+max(8, sh.rank/4)+7)/8*8), float64(sh.rank)
	rows := float64(rules.TurnedRows(int(n), sh.rank, sh.dense()))
	wide, pitch := 4*math.Ceil(r/4), 16*math.Ceil(r/16)
	parts := math.Ceil(rows / float64(rules.TurnedPart(int(rows), sh.rank)))
	turns = 8 * (rows*r + parts*(r*wide+rules.TurnedAtOnce*(wide+pitch/2)) + 13*r*wide)
	if rows < n {
		turns += 8 * rows * r
	}
	if sh.folds(n, m, points) {
		once = 8 * (2*m*k + m*r + 2*wideParts(m)*k*k + n*k)
		if sh.sparse { // X by features
			once += sh.table
		}
		return max(once, sh.lowFirst(n, m, points)), turns
	}
	once = 8 * (2*n*k + n*r + 2*wideParts(n)*k*k) // half of n·k in float32, unless A has too few eigenvalues for that
	if points {
		once += 8 * m * k
		if sh.sparse { // X by features
			once += sh.table
		}
	}
	return max(once, sh.lowFirst(n, m, points)), turns
}

// twoFactors returns the bytes of the methods with two factors, besides A and the H of the answer: both
// factors, their products with A, and what the least eigenvalue of A takes at the end, while the factors are
// still kept.
func (sh shape) twoFactors(n, m float64, points bool) float64 {
	r := float64(sh.rank)
	bytes, eigen := 8*4*n*r, eigenBasis(n, 1)
	if points {
		bytes += 8 * m * r // Z = X·H
		eigen += 8 * m * 8
		if sh.sparse { // X by features
			eigen += sh.table
		}
	}
	return bytes + eigen
}
