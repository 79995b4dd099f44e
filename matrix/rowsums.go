package matrix

import "symnmf/internal/kernel"

// rowSums adds up contributions from the rows of n×… matrices. Rows are divided into parts of size rows each.
// The parts depend on n alone, and there are at most 64, which bounds the memory.
type rowSums struct {
	n, size, workers int
	parts            []float64
}

// newRowSums prepares sums of vectors of up to most numbers.
func newRowSums(n, most, workers int) *rowSums {
	size := max(normBlock, (n+63)/64)
	return &rowSums{n, size, workers, make([]float64, max(kernel.BlockCount(n, size), 1)*most)}
}

// of returns the sum of what f adds to c (length numbers, initially zero) over all parts lo ≤ i < hi of the
// rows. The result is valid until the next call.
func (s *rowSums) of(length int, f func(c []float64, lo, hi int)) []float64 {
	return s.ofWith(length, 0, func(c, _ []float64, lo, hi int) { f(c, lo, hi) })
}

// ofWith is of with room for so many numbers, which each goroutine passes to all its calls of f.
func (s *rowSums) ofWith(length, room int, f func(c, room []float64, lo, hi int)) []float64 {
	total := s.parts[:length]
	clear(total)
	scratch := func() []float64 { return make([]float64, room) }
	kernel.BlocksWith(s.n, s.size, s.workers, scratch, func(room []float64, b, lo, hi int) {
		c := s.parts[b*length : (b+1)*length]
		clear(c)
		f(c, room, lo, hi)
	})
	for b := 1; b < kernel.BlockCount(s.n, s.size); b++ {
		kernel.Axpy(total, 1, s.parts[b*length:(b+1)*length])
	}
	return total
}

// each calls f for each part of the rows.
func (s *rowSums) each(f func(lo, hi int)) {
	kernel.Blocks(s.n, s.size, s.workers, func(_, lo, hi int) { f(lo, hi) })
}

// sumParts is of for a single sum.
func sumParts(n, length, workers int, f func(c []float64, lo, hi int)) []float64 {
	return newRowSums(n, length, workers).of(length, f)
}
