package matrix

import (
	"slices"

	"symnmf/internal/kernel"
)

func (m *Dense) dot(i int, z []float64) float64      { return kernel.Dot(m.Row(i), z) }
func (m *Dense) addTo(z []float64, c float64, i int) { kernel.Axpy(z, c, m.Row(i)) }
func (m *Dense) size() int64                         { return int64(len(m.data)) }
func (m *Dense) transposed() Table                   { return m.Transpose() }

// timesTo implements points, a block of features at a time, so sums do not depend on the number of workers.
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

// gramPart is how many rows of XᵀX are computed at a time.
const gramPart = 64

// grams calls f for each gramPart rows lo to hi of (CX)ᵀ(CX), C = diag(c), from the diagonal on and rows of m.cols numbers, which
// are f's for the call. A nil c means ones.
func (m *Dense) grams(c func(i int) float64, workers int, f func(part int, g []float64, lo, hi int)) {
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
			kernel.GramRows(g, x, m.cols, lo, hi)
		}
		f(part, g, lo, hi)
	})
}

// columnProducts returns XᵀX.
func (m *Dense) columnProducts(workers int) *Dense {
	n := m.cols
	a := NewDense(n, n, nil)
	m.grams(nil, workers, func(_ int, g []float64, lo, hi int) {
		for j := lo; j < hi; j++ {
			copy(a.data[j*n+j:(j+1)*n], g[(j-lo)*n+j:(j-lo+1)*n])
		}
	})
	for j := range n {
		for k := j + 1; k < n; k++ {
			a.data[k*n+j] = a.data[j*n+k]
		}
	}
	return a
}

// gramNormSq sums the squares of the entries of XᵀX, features by features, which are fewer than the points.
func (m *Dense) gramNormSq(u float64, w []float64, workers int) (all, off float64) {
	part := make([]float64, kernel.BlockCount(m.cols, gramPart))
	m.grams(func(i int) float64 { return u * value(w, i) }, workers, func(k int, g []float64, lo, hi int) {
		for j := lo; j < hi; j++ {
			row := g[(j-lo)*m.cols+j : (j-lo+1)*m.cols]
			part[k] += row[0]*row[0] + 2*kernel.SumSq(row[1:])
		}
	})
	return sum(part), -1
}

func (m *CSR) dot(i int, z []float64) float64 {
	col, val := m.Row(i)
	return kernel.GatherDot(col, val, z)
}

func (m *CSR) addTo(z []float64, c float64, i int) {
	col, val := m.Row(i)
	kernel.Scatter(z, c, col, val)
}

// timesTo implements points. Each part takes some rows of Z and passes over all points in order, so sums do not depend on how
// many parts there are.
func (m *CSR) timesTo(z []float64, h *Dense, workers int) {
	r := h.cols
	clear(z)
	size := max(64, (m.cols+4*workers-1)/(4*workers))
	kernel.Blocks(m.cols, size, workers, func(_, lo, hi int) {
		for i := range m.rows {
			hi32, hrow := int32(hi), h.data[i*r:(i+1)*r]
			col, val := m.Row(i)
			p := 0
			if lo > 0 {
				p, _ = slices.BinarySearch(col, int32(lo))
			}
			for ; p < len(col) && col[p] < hi32; p++ {
				c := int(col[p])
				kernel.Axpy(z[c*r:(c+1)*r], value(val, p), hrow)
			}
		}
	})
}

func (m *CSR) rowsTo(dst []float64, lo, hi int, z []float64, r int) {
	clear(dst)
	for i := lo; i < hi; i++ {
		m.rowsTimes(dst[(i-lo)*r:(i-lo+1)*r], i, z)
	}
}

func (m *CSR) rowsTimes(acc []float64, i int, z []float64) {
	col, val := m.rowAhead(i)
	kernel.GatherRows(acc, col, val, z)
}

func (m *CSR) size() int64       { return m.NNZ() }
func (m *CSR) transposed() Table { return m.Transpose() }

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

// gramNormSq forms the rows of X·Xᵀ (points) or of Xᵀ·X (features) from the diagonal on, one at a time, in an accumulator as
// long as a row, and sums their squares; it takes the product that needs fewer multiply–adds, half of Σ_k nnz(feature k)² for
// points, half of Σ_i nnz(point i)² for features.
func (m *CSR) gramNormSq(u float64, w []float64, workers int) (all, off float64) {
	t, place, placeOf := m.transposePlaces()
	if w != nil {
		t.weigh(w)
	}
	left, right, onward := m, t, place // row i of X·Xᵀ = Σ_k x_ik · (row k of Xᵀ), whose entries from l = i on begin at onward
	points, features := t.squaredCounts(), m.squaredCounts()
	// An accumulator beyond the first-level cache takes twice the time.
	if m.rows > inCache {
		points *= 2
	}
	if t.rows > inCache {
		features *= 2
	}
	if features < points {
		left, right, onward = t, m, placeOf
	}
	const block = 64
	part := make([]float64, kernel.BlockCount(left.rows, block))
	diag := make([]float64, len(part))
	scratch := func() []float64 { return make([]float64, left.rows) }
	kernel.BlocksWith(left.rows, block, workers, scratch, func(acc []float64, b, lo, hi int) {
		for i := lo; i < hi; i++ {
			begin, end := left.RowPtr[i], left.RowPtr[i+1]
			entries := 0
			for p := begin; p < end; p++ {
				k := int(left.Col[p])
				from, to := right.RowPtr[k]+int64(onward[p]), right.RowPtr[k+1]
				c := u * (u * value(left.Val, int(p)))
				if left == m {
					c *= value(w, i)
				} else {
					c *= value(w, k)
				}
				kernel.Scatter(acc, c, right.Col[from:to], valuesOf(right.Val, from, to))
				entries += int(to - from)
			}
			diag[b] += acc[i] * acc[i]
			acc[i] = 0
			if entries > (left.rows-i)/4 {
				part[b] += kernel.SumSq(acc[i:])
				clear(acc[i:])
				continue
			}
			for p := begin; p < end; p++ { // where something was added, once
				k := int(left.Col[p])
				for _, l := range right.Col[right.RowPtr[k]+int64(onward[p]) : right.RowPtr[k+1]] {
					part[b] += acc[l] * acc[l]
					acc[l] = 0
				}
			}
		}
	})
	half := sum(part)
	all = 2*half + sum(diag)
	if left == m {
		return all, 2 * half
	}
	return all, -1
}

// weigh multiplies column l by w_l.
func (m *CSR) weigh(w []float64) {
	val := make([]float64, len(m.Col))
	for p, l := range m.Col {
		val[p] = w[l] * value(m.Val, p)
	}
	m.Val = val
}

// inCache is how many numbers a first-level cache holds with room for others.
const inCache = 6 << 10

func valuesOf(val []float64, from, to int64) []float64 {
	if val == nil {
		return nil
	}
	return val[from:to]
}

// transposePlaces is Transpose, and tells for each entry of m how many entries of its row of the transpose come before it, and
// the same for each entry of the transpose in m.
func (m *CSR) transposePlaces() (t *CSR, place, placeOf []int32) {
	t = m.Transpose()
	place, placeOf = make([]int32, len(m.Col)), make([]int32, len(m.Col))
	next := make([]int32, m.cols)
	for i := range m.rows {
		for p := m.RowPtr[i]; p < m.RowPtr[i+1]; p++ {
			c := m.Col[p]
			place[p] = next[c]
			placeOf[t.RowPtr[c]+int64(next[c])] = int32(p - m.RowPtr[i])
			next[c]++
		}
	}
	return t, place, placeOf
}

func (m *CSR) squaredCounts() (s float64) {
	for i := range m.rows {
		c := float64(m.RowPtr[i+1] - m.RowPtr[i])
		s += c * c
	}
	return s
}

// sum adds the parts in order.
func sum(part []float64) (s float64) {
	for _, v := range part {
		s += v
	}
	return s
}
