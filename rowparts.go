package symnmf

import (
	"symnmf/internal/kernel"
	"symnmf/internal/rules"
)

// findGram computes D.
func (s *rowBlockRun) findGram() { s.findGramAfter(s.piece) }

// findGramAfter computes D from the pieces of h that first returns for the numbers lo to hi of part k.
func (s *rowBlockRun) findGramAfter(first func(k, lo, hi int) []float64) {
	s.inSums(func(k, lo, hi int) { kernel.GramRows(s.parts[k], first(k, lo, hi), s.pitch, 0, s.pitch) })
	s.addParts(s.gram)
	kernel.Mirror(s.gram, s.pitch)
	s.largest = 0
	for j := range s.p.r {
		s.largest = max(s.largest, s.gram[j*s.pitch+j])
	}
}

// inSums is inParts for an f that adds to parts[k], which are cleared first.
func (s *rowBlockRun) inSums(f func(k, lo, hi int)) {
	s.eachPart(func(k int) { clear(s.parts[k]) }, f)
}

// inParts calls f for pieces of h, the numbers lo to hi, those of part k one after the other. Parts depend only on
// n and the size of blocks. A part covers some consecutive blocks and has the same rows of each. Parts are in the
// order of those rows, so each falls to the member of the team that works on its rows within a block.
func (s *rowBlockRun) inParts(f func(k, lo, hi int)) { s.eachPart(func(int) {}, f) }

// eachPart is inParts with a call of before for part k ahead of its pieces.
func (s *rowBlockRun) eachPart(before func(k int), f func(k, lo, hi int)) {
	const (
		most  = 64      // parts, each with an r×r matrix of its own
		least = 256     // rows of a part
		piece = 1 << 14 // numbers, which stay in a cache after f
		lanes = 8       // pieces of a block at most, each of whole groups of the row solver
	)
	group := kernel.SolveWidth[float32]()
	lane := kernel.BlockCount(s.Block, lanes*group) * group // rows
	perBlock, blocks := kernel.BlockCount(s.Block, lane), kernel.BlockCount(s.p.n, s.Block)
	size := max(kernel.BlockCount(blocks, most/perBlock), kernel.BlockCount(least, lane)) // blocks of a part
	perLane := kernel.BlockCount(blocks, size)
	count := perBlock * perLane
	for len(s.parts) < count {
		s.parts = append(s.parts, make([]float64, len(s.gram)))
	}
	rows := max(1, piece/s.pitch)
	if s.rounded.now != nil {
		rows = max(1, rules.NarrowPiece/s.pitch)
	}
	s.team.Do(count, func(k int) {
		before(k)
		at := k / perLane * lane
		for b := k % perLane * size; b < min((k%perLane+1)*size, blocks); b++ {
			for lo, end := b*s.Block+at, min(b*s.Block+min(at+lane, s.Block), s.p.n); lo < end; lo += rows {
				f(k, lo*s.pitch, min(lo+rows, end)*s.pitch)
			}
		}
	})
}

// addParts sets sum to the sum of the parts.
func (s *rowBlockRun) addParts(sum []float64) {
	clear(sum)
	for _, part := range s.parts {
		kernel.Axpy(sum, 1, part)
	}
}
