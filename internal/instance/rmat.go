package instance

import (
	"fmt"
	"math/rand/v2"

	"symnmf/matrix"
)

// RMAT returns the adjacency matrix of a random graph of 2^scale nodes with the skewed degrees of real networks: both
// triangles, values 1 (not stored), no self-loops. Each of the edges drawn starts with the whole matrix and chooses scale
// times one of its four quadrants, with probabilities 0.57 and 0.05 on the diagonal and 0.19 beside it; a draw that repeats
// an edge, in either direction, is dropped, and so is one that ends on the diagonal, so that up to 2·edges entries are
// stored. Nodes are renumbered by a fixed bijection, or the small numbers would have all the neighbours; many nodes have
// none. Draw k depends on (scale, seed, k) alone. O(edges·scale + 2^scale) time; memory 8 bytes a draw and 16 a node, of
// which the result keeps its part.
//
// Source: Chakrabarti, Zhan, Faloutsos, R-MAT: a recursive model for graph mining, SDM 2004; the probabilities are those of
// the Graph 500 benchmark.
func RMAT(scale, edges int, seed uint64) *matrix.CSR {
	if scale < 0 || scale > 30 || edges < 0 {
		panic(fmt.Sprintf("instance: %d edges of 2^%d nodes, want 0 ≤ scale ≤ 30", edges, scale))
	}
	n := 1 << scale
	s := newScramble(scale, seed)
	rowPtr, col := fromPairs(n, func(f func(i, l int32)) {
		for k := range edges {
			if i, l := rmatDraw(scale, seed, uint64(k)); i != l {
				f(int32(s.of(i)), int32(s.of(l)))
			}
		}
	})
	return newCSR(n, n, rowPtr, col, nil)
}

// rmatDraw returns draw k, before nodes are renumbered: row and column, a bit of each a level, from 16 random bits a level
// of the stream 2⁶³ + k.
func rmatDraw(scale int, seed, k uint64) (i, l uint32) {
	// 2¹⁶ times the probability of the first, the first two and the first three quadrants, rounded up.
	const one, two, three = 37356, 49808, 62260
	var pcg rand.PCG
	pcg.Seed(seed, 1<<63|k)
	var bits uint64
	for level := range scale {
		if level%4 == 0 {
			bits = pcg.Uint64()
		}
		q := int32(bits & 0xffff)
		bits >>= 16
		// The sign bit of t−1−q says whether q ≥ t. Branches would be mispredicted every other time.
		low := uint32(two-1-q) >> 31
		i = i<<1 | low
		l = l<<1 | low ^ uint32(one-1-q)>>31 ^ uint32(three-1-q)>>31
	}
	return i, l
}

// scramble is a bijection of the numbers of scale bits: two rounds of what each can be undone, a product with an odd number
// and an exclusive or with the upper half.
type scramble struct {
	odd   [2]uint32
	shift int
	mask  uint32
}

func newScramble(scale int, seed uint64) scramble {
	rng := newRand(seed, streamScramble)
	return scramble{odd: [2]uint32{rng.Uint32() | 1, rng.Uint32() | 1}, shift: scale/2 + 1, mask: 1<<scale - 1}
}

func (s *scramble) of(x uint32) uint32 {
	for _, odd := range s.odd {
		x = x * odd & s.mask
		x ^= x >> s.shift
	}
	return x
}
