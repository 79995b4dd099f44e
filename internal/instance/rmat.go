package instance

import (
	"fmt"
	"math/rand/v2"

	"symnmf/matrix"
)

// RMAT returns the adjacency matrix of a random graph of 2^scale nodes with the skewed degrees of real networks. Both
// triangles are stored, all values are 1 (not stored), and there are no self-loops.
//
// Each draw of an edge starts with the whole matrix and chooses one of its four quadrants scale times, with
// probabilities 0.57 and 0.05 on the diagonal and 0.19 for each of the others. A draw that repeats an edge in either
// direction is dropped, and so is one that ends on the diagonal; up to 2·edges entries are stored. Nodes are renumbered
// by a bijection that scale and seed fix; otherwise the small numbers would have all the neighbors. Many nodes have no
// neighbors.
//
// Draw k depends on (scale, seed, k) alone. The time is O(edges·scale + 2^scale). The memory is 8 bytes per draw and 16
// per node, of which the result keeps its part.
//
// Source: Chakrabarti, Zhan, Faloutsos, R-MAT: a recursive model for graph mining, SDM 2004; the probabilities
// are those of the Graph 500 benchmark.
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

// rmatDraw returns draw k, a row and a column, before nodes are renumbered. Each level gives a bit of both, from 16
// random bits of the stream 2⁶³ + k.
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
		// The sign bit of t−1−q says whether q ≥ t. A branch would be mispredicted half of the time.
		low := uint32(two-1-q) >> 31
		i = i<<1 | low
		l = l<<1 | low ^ uint32(one-1-q)>>31 ^ uint32(three-1-q)>>31
	}
	return i, l
}

// scramble is a bijection of the numbers of scale bits. It has two rounds, each of two invertible steps: a product with
// an odd number, and an exclusive or with the upper half of the bits.
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
