package matrix

import "symnmf/internal/kernel"

// sketch is the Ω (n×columns) with which Compress starts: items have uniform numbers in [−1, 1] in width columns or one fewer, and zeros in the others, a few
// items next to each other in the same ones and the next few in the next. So every item has its part, items that are alike have it in different columns even if they come together, and A·Ω takes n²·width multiply–adds. What
// spans A's range after another product with A is as near to it as with numbers everywhere: see docs/decisions/0015.
type sketch struct {
	n, columns int
	width      int
	groups     int       // of items, each of which has the columns k, k + groups, …
	together   int       // items next to each other in a group
	numbers    []float64 // n×width, of each item
}

const (
	sketchWidth    = 8  // columns that an item has: as many as a vector has lanes
	sketchTogether = 32 // items next to each other in a group at most, with which a tile of a product is in hand for a while
	sketchTurns    = 4  // times that each group has its turn at least
	sketchFrom     = 48 // columns from which on items do not have all of them
)

// newSketch returns an Ω, with zeros if there are many columns and spare says that not all will be wanted.
func newSketch(n, columns int, spare bool, seed uint64) *sketch {
	s := &sketch{n: n, columns: columns, width: max(columns, 1)}
	if spare && columns >= sketchFrom {
		s.width = sketchWidth
	}
	s.groups = max(1, kernel.BlockCount(columns, s.width))
	s.together = max(1, min(sketchTogether, n/(sketchTurns*s.groups)))
	if s.groups == 1 {
		s.together = max(1, n)
	}
	s.numbers = make([]float64, n*s.width)
	for p := range s.numbers {
		s.numbers[p] = float64(int64(kernel.Mix(seed^kernel.Mix(uint64(p))))) * 0x1p-63
	}
	return s
}

// each calls f for the items of group k, those next to each other at once.
func (s *sketch) each(k int, f func(lo, hi int)) {
	for lo := k * s.together; lo < s.n; lo += s.groups * s.together {
		f(lo, min(lo+s.together, s.n))
	}
}

// spread sets rows of y to the products of those of some matrix with Ω: product adds to c, rows×s.width, those with the numbers x of the items lo to hi.
func (s *sketch) spread(y []float64, rows int, product func(c, x []float64, lo, hi int)) {
	c := make([]float64, rows*s.width)
	for k := range s.groups {
		clear(c)
		s.each(k, func(lo, hi int) { product(c, s.numbers[lo*s.width:hi*s.width], lo, hi) })
		for i := range rows {
			for j, at := 0, k; at < s.columns; j, at = j+1, at+s.groups {
				y[i*s.columns+at] = c[i*s.width+j]
			}
		}
	}
}

// dense returns Ω.
func (s *sketch) dense() *Dense {
	omega := NewDense(s.n, s.columns, nil)
	for k := range s.groups {
		s.each(k, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				for j, at := 0, k; at < s.columns; j, at = j+1, at+s.groups {
					omega.Set(i, at, s.numbers[i*s.width+j])
				}
			}
		})
	}
	return omega
}

// sketcher is an operator that can leave zeros of a sketch out.
type sketcher interface {
	// sketchTo sets y to A·Ω, or returns false.
	sketchTo(y *Dense, s *sketch, workers int) bool
}

// times returns A·Ω.
func (s *sketch) times(a Operator, workers int) *Dense {
	y := NewDense(s.n, s.columns, nil)
	if t, ok := a.(sketcher); ok && t.sketchTo(y, s, workers) {
		return y
	}
	return multiply(a, s.dense(), workers)
}

func (m *symDense[F]) sketchTo(y *Dense, s *sketch, workers int) bool {
	if m.offDiag {
		return false
	}
	kernel.Blocks(m.n, productRows, workers, func(_, lo, hi int) {
		s.spread(y.data[lo*y.cols:hi*y.cols], hi-lo, func(c, x []float64, from, to int) {
			kernel.AddRowsTimes(c, m.scale, m.a[lo*m.n+from:(hi-1)*m.n+to], m.n, x, s.width)
		})
	})
	return true
}

func (m *GramOperator) sketchTo(y *Dense, s *sketch, workers int) bool {
	p, dense := m.points.(*Dense)
	if !dense || m.offDiag {
		return false
	}
	z := make([]float64, p.cols*y.cols)
	kernel.Blocks(p.cols, featureBlock, workers, func(_, lo, hi int) {
		s.spread(z[lo*y.cols:hi*y.cols], hi-lo, func(c, x []float64, from, to int) {
			kernel.AddTransTimes(c, m.scale, p.data[from*p.cols+lo:(to-1)*p.cols+hi], p.cols, x, s.width)
		})
	})
	productTo(y, &gramProduct{m, &Dense{cols: y.cols}, z}, workers) // which wants no more of Ω without a diagonal to leave out
	return true
}
