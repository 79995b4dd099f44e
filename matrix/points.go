package matrix

import "symnmf/internal/kernel"

func (m *Dense) dot(i int, z []float64) float64      { return kernel.Dot(m.Row(i), z) }
func (m *Dense) addTo(z []float64, c float64, i int) { kernel.Axpy(z, c, m.Row(i)) }
func (m *Dense) size() int64                         { return int64(len(m.data)) }
func (m *Dense) transposed(workers int) Table        { return m.transpose(workers) }

// timesTo implements points. It takes a block of features at a time, so sums do not depend on the number of
// workers.
func (m *Dense) timesTo(z []float64, h *Dense, workers int) {
	clear(z)
	if m.rows == 0 {
		return
	}
	r := h.cols
	kernel.Blocks(m.cols, featureBlock, workers, func(_, lo, hi int) {
		kernel.TransTimes(z[lo*r:hi*r], m.data[lo:(m.rows-1)*m.cols+hi], m.cols, h.data, r)
	})
}

func (m *Dense) rowsTo(dst []float64, lo, hi int, z []float64, r int) {
	clear(dst)
	kernel.RowsTimes(dst, m.data[lo*m.cols:hi*m.cols], m.cols, z, r)
}

func (m *Dense) sumSq(i int, u float64) float64 {
	var s float64
	for _, v := range m.Row(i) {
		s += (v * u) * (v * u)
	}
	return s
}

// gramPart is the number of rows of XᵀX that are computed at a time.
const gramPart = 64

// grams calls f for each gramPart rows lo to hi of (CX)ᵀ(CX), C = diag(c). The rows have m.cols numbers and
// are computed from the diagonal on; f may use them until it returns. A nil c means all ones.
func (m *Dense) grams(c func(i int) float64, workers int, f func(part int, g []float64, lo, hi int)) {
	if c == nil {
		if whole, _ := m.integerGrams(workers); whole != nil {
			eachGram(whole, m.cols, workers, f)
			return
		}
	}
	m.floatGrams(c, workers, f)
}

// eachGram calls f like grams, for the rows of g, which is n×n.
func eachGram(g []float64, n, workers int, f func(part int, g []float64, lo, hi int)) {
	kernel.Blocks(n, gramPart, workers, func(part, lo, hi int) { f(part, g[lo*n:hi*n], lo, hi) })
}

// floatGrams is grams in float64.
func (m *Dense) floatGrams(c func(i int) float64, workers int, f func(part int, g []float64, lo, hi int)) {
	const rows = 128
	type room struct{ g, x []float64 }
	scratch := func() *room {
		s := &room{g: make([]float64, gramPart*m.cols)}
		if c != nil {
			s.x = make([]float64, rows*m.cols)
		}
		return s
	}
	kernel.BlocksWith(m.cols, gramPart, workers, scratch, func(s *room, part, lo, hi int) {
		g := s.g[:(hi-lo)*m.cols]
		clear(g)
		for from := 0; from < m.rows; from += rows {
			to := min(from+rows, m.rows)
			x := m.data[from*m.cols : to*m.cols]
			if c != nil {
				x = s.x[:len(x)]
				for i := from; i < to; i++ {
					row, ci := x[(i-from)*m.cols:(i-from+1)*m.cols], c(i)
					for k, v := range m.Row(i) {
						row[k] = v * ci
					}
				}
			}
			if c == nil { // otherwise x is in a cache already
				// Tiles go down the rows of some columns at a time, which processors do not foresee: with
				// this, ORL takes 38 ms instead of 46 (Xeon).
				for i := range to - from {
					kernel.Fetch(x[i*m.cols+lo : (i+1)*m.cols])
				}
			}
			kernel.GramRows(g, x, m.cols, lo, hi)
		}
		f(part, g, lo, hi)
	})
}

// columnProducts returns XᵀX and the sum of the squares of its entries.
func (m *Dense) columnProducts(workers int) (a *Dense, sq float64) {
	whole, _ := m.integerGrams(workers)
	return m.productsFrom(whole, workers)
}

// productsFrom is columnProducts once integerGrams has returned whole, which it uses.
func (m *Dense) productsFrom(whole []float64, workers int) (a *Dense, sq float64) {
	n, squares := m.cols, newGramSquares(m.cols)
	if whole != nil {
		a = &Dense{n, n, whole}
		eachGram(whole, n, workers, squares.add)
	} else {
		a = NewDense(n, n, nil)
		m.floatGrams(nil, workers, func(k int, g []float64, lo, hi int) {
			squares.add(k, g, lo, hi)
			for j := lo; j < hi; j++ {
				copy(a.Row(j)[j:], g[(j-lo)*n+j:(j-lo+1)*n])
			}
		})
	}
	kernel.Mirror(a.data, n)
	return a, sum(squares.part)
}

// sumGrams returns the sum of the squares of the entries of (CX)ᵀ(CX), C = diag(c).
func (m *Dense) sumGrams(c func(i int) float64, workers int) float64 {
	squares := newGramSquares(m.cols)
	m.grams(c, workers, squares.add)
	return sum(squares.part)
}

// gramSquares has for each part of the rows of an n×n matrix the sum of the squares of its entries.
type gramSquares struct {
	n    int
	part []float64
}

func newGramSquares(n int) gramSquares {
	return gramSquares{n, make([]float64, kernel.BlockCount(n, gramPart))}
}

// add adds what grams passes on. Entries off the diagonal count twice.
func (s gramSquares) add(k int, g []float64, lo, hi int) {
	var sum float64 // other parts are in the same cache line
	for j := lo; j < hi; j++ {
		row := g[(j-lo)*s.n+j : (j-lo+1)*s.n]
		sum += row[0]*row[0] + 2*kernel.SumSq(row[1:])
	}
	s.part[k] = sum
}

// gramNormSq implements points. It sums squares over the inner products of features, which are fewer than
// those of points.
func (m *Dense) gramNormSq(u float64, w []float64, _ Table, workers int) (all, off float64) {
	if fourth := fourthPower(u); w == nil && fourth != 0 {
		return m.sumGrams(nil, workers) * fourth, -1
	}
	return m.sumGrams(func(i int) float64 { return u * value(w, i) }, workers), -1
}

// fourthPower returns u⁴ if Σ(u²·A_ij)², for the power of two u, may be computed as u⁴·ΣA_ij², and otherwise
// 0. What is then lost to underflow is 2⁻²⁵⁰ of the whole.
func fourthPower(u float64) float64 {
	if u < 0x1p-200 || u > 0x1p200 {
		return 0
	}
	return u * u * u * u
}

func (m *CSR) dot(i int, z []float64) float64 {
	col, val := m.Row(i)
	return kernel.GatherDot(col, val, z)
}

func (m *CSR) addTo(z []float64, c float64, i int) {
	col, val := m.Row(i)
	kernel.Scatter(z, c, col, val)
}

// timesTo implements points. Each worker takes some rows of Z and passes over all points in order, so sums do
// not depend on the number of workers.
func (m *CSR) timesTo(z []float64, h *Dense, workers int) {
	r := h.cols
	clear(z)
	workers = max(workers, 1)
	kernel.Blocks(m.cols, max(1, (m.cols+workers-1)/workers), workers, func(_, lo, hi int) {
		for i := range m.rows {
			hrow := h.data[i*r : (i+1)*r]
			col, val := m.Row(i)
			p := 0
			if lo > 0 {
				p = columnsBelow(col, lo)
			}
			for ; p < len(col) && int(col[p]) < hi; p++ {
				c := int(col[p])
				kernel.Axpy(z[c*r:(c+1)*r], value(val, p), hrow)
			}
		}
	})
}

func (m *CSR) rowsTo(dst []float64, lo, hi int, z []float64, r int) {
	gatherTo(m, dst, lo, hi, z, r, 1)
}

func (m *CSR) size() int64                  { return m.NNZ() }
func (m *CSR) transposed(workers int) Table { return m.transpose(workers) }

func (m *CSR) sumSq(i int, u float64) float64 {
	col, val := m.Row(i)
	if val == nil {
		return u * u * float64(len(col))
	}
	var s float64
	for _, v := range val {
		s += (v * u) * (v * u)
	}
	return s
}
