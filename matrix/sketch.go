package matrix

import "symnmf/internal/kernel"

// sketch is the Ω (n×columns) with which Compress starts. Each item has uniform numbers in [−1, 1] in width
// columns, or one fewer, and zeros in the others. A few neighboring items have the same columns, and the next
// few the next columns. So every item takes part, items that are alike take part in different columns even if
// many of them are neighbors, and A·Ω takes n²·width multiply–adds.
//
// After another product with A, the basis is, as a rule, as near to the range of A as if Ω had numbers
// everywhere (docs/decisions/0015). But if more than width neighboring items have nothing to do with any
// others, some of them are lost. So zeros are for a caller that uses a low rank only if it turns out to be
// near.
type sketch struct {
	n, columns int
	width      int
	groups     int       // groups of items; group k has the columns k, k + groups, …
	together   int       // neighboring items in a group
	numbers    []float64 // n×width, the numbers of each item
}

const (
	sketchWidth    = 8  // columns of an item, as many as a vector has lanes
	sketchTogether = 32 // most neighboring items in a group, enough to keep a tile of a product busy for a while
	sketchTurns    = 4  // least number of turns of each group
	sketchFrom     = 48 // least number of columns at which items do not have all of them
)

// newSketch returns an Ω. It has zeros if there are at least sketchFrom columns and spare is set. spare says
// that there are more columns than the caller keeps, so that the extra columns show how much the others miss.
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
	kernel.Centered(s.numbers, seed, 0)
	return s
}

// each calls f for each run of neighboring items of group k.
func (s *sketch) each(k int, f func(lo, hi int)) {
	for lo := k * s.together; lo < s.n; lo += s.groups * s.together {
		f(lo, min(lo+s.together, s.n))
	}
}

// spread sets rows of y to the products of rows of some matrix with Ω. product adds to c (rows×s.width) the
// products with the numbers x of the items lo to hi.
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

// sketcher is an operator that can skip the zeros of a sketch.
type sketcher interface {
	// sketch returns A·Ω, or nil if it cannot skip the zeros.
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
	y := NewDense(s.n, s.columns, nil)
	kernel.Blocks(m.n, productRows, workers, func(_, lo, hi int) {
		s.spread(y.data[lo*y.cols:hi*y.cols], hi-lo, func(c, x []float64, from, to int) {
			if !m.offDiag || to <= lo || hi <= from {
				kernel.AddRowsTimes(c, m.scale, m.a[lo*m.n+from:(hi-1)*m.n+to], m.n, x, s.width)
				return
			}
			for i := lo; i < hi; i++ {
				own, row := c[(i-lo)*s.width:(i-lo+1)*s.width], m.row(i)
				left, right := min(max(i, from), to), min(max(i+1, from), to)
				kernel.AddRowsTimes(own, m.scale, row[from:left], left-from, x[:(left-from)*s.width], s.width)
				kernel.AddRowsTimes(own, m.scale, row[right:to], to-right, x[(right-from)*s.width:], s.width)
			}
		})
	})
	return y
}

func (m *completed) sketch(s *sketch, workers int) *Dense {
	inner, ok := m.Operator.(sketcher)
	if !ok {
		return nil
	}
	y := inner.sketch(s, workers)
	if y == nil {
		return nil
	}
	omega := s.dense()
	kernel.Blocks(s.n, productRows, workers, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			kernel.Axpy(y.Row(i), m.d[i], omega.Row(i))
		}
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
