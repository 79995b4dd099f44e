package matrix

import "symnmf/internal/kernel"

// sketch is the Ω (n×columns) with which Compress starts: items have uniform numbers in [−1, 1] in width columns or one fewer, and zeros in the others, a few
// items next to each other in the same ones and the next few in the next. So every item has its part, items that are alike have it in different columns even if many of them come together, and A·Ω takes n²·width multiply–adds. What
// spans A's range after another product with A is as near to it as with numbers everywhere, as a rule (docs/decisions/0015): but of more than width items next to each other that have nothing to do with any other
// some are lost. So it is for a caller who does without a low rank that is not near.
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

// newSketch returns an Ω, with zeros if there are many columns and spare says that what some of them miss can be told.
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
	// sketch returns A·Ω, or nil.
	sketch(s *sketch, workers int) *Dense
}

// times returns A·Ω.
func (s *sketch) times(a Operator, workers int) *Dense {
	if t, ok := a.(sketcher); ok {
		if y := t.sketch(s, workers); y != nil {
			return y
		}
	}
	return multiply(a, s.dense(), workers)
}

func (m *symDense[F]) sketch(s *sketch, workers int) *Dense {
	if m.offDiag {
		return nil
	}
	y := NewDense(s.n, s.columns, nil)
	kernel.Blocks(m.n, productRows, workers, func(_, lo, hi int) {
		s.spread(y.data[lo*y.cols:hi*y.cols], hi-lo, func(c, x []float64, from, to int) {
			kernel.AddRowsTimes(c, m.scale, m.a[lo*m.n+from:(hi-1)*m.n+to], m.n, x, s.width)
		})
	})
	return y
}

func (m *GramOperator) sketch(s *sketch, workers int) *Dense {
	p, dense := m.points.(*Dense)
	if !dense || m.offDiag {
		return nil
	}
	r := s.columns
	z := make([]float64, p.cols*r)
	kernel.Blocks(p.cols, featureBlock, workers, func(_, lo, hi int) {
		s.spread(z[lo*r:hi*r], hi-lo, func(c, x []float64, from, to int) {
			kernel.AddTransTimes(c, m.scale, p.data[from*p.cols+lo:(to-1)*p.cols+hi], p.cols, x, s.width)
		})
	})
	y := NewDense(s.n, r, nil)
	kernel.Blocks(s.n, productRows, workers, func(_, lo, hi int) {
		rows := y.data[lo*r : hi*r]
		p.rowsTo(rows, lo, hi, z, r)
		kernel.Scale(rows, m.scale)
	})
	return y
}
