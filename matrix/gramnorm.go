package matrix

import (
	"cmp"
	"slices"

	"symnmf/internal/kernel"
	"symnmf/internal/rules"
)

// gramNormSq implements points. It computes ‖G‖² for G = L·Lᵀ, where the rows of L are the points or the
// features, whichever is less work.
//
// Row i of G, from the diagonal on, is a sum of lists: for each k in row i of L, the list of the rows that
// have k. Long lists take most of the work, so where it pays their columns are treated separately.
func (m *CSR) gramNormSq(u float64, w []float64, back Table, workers int) (all, off float64) {
	t, ok := back.(*CSR)
	if !ok {
		t = m.transpose(workers)
	}
	fourth := fourthPower(u)
	if w != nil || fourth == 0 {
		fourth = 1
		t = t.weighed(func(_, l int) float64 { return u * value(w, l) })
		m = m.weighed(func(i, _ int) float64 { return u * value(w, i) })
	}
	if all, ok := wholeNorm(m, t, workers); ok && (all < exactSums || m.offCounts(all)) {
		return all * fourth, -1
	}
	left, right := m, t
	common, work := commonColumns(m, t)
	if c, w := commonColumns(t, m); w < work {
		left, right, common = t, m, c
	}
	if len(common) > 0 {
		if all := normApart(left, right, common, workers); m.offCounts(all) {
			return all * fourth, -1
		}
	} else if left != m {
		half, diag := normHalf(left, right, nil, workers)
		if all := 2*half + diag; m.offCounts(all) {
			return all * fourth, -1
		}
	}
	half, diag := normHalf(m, t, nil, workers)
	return (2*half + diag) * fourth, 2 * half * fourth
}

// exactSums is the bound below which sums of whole numbers are exact.
const exactSums = 1 << 53

// offCounts reports whether all − Σ_i (m·mᵀ)_ii², a difference, has enough digits: whether it is more than a
// millionth of all.
func (m *CSR) offCounts(all float64) bool {
	var diag float64
	for i := range m.rows {
		v := m.sumSq(i, 1)
		diag += v * v
	}
	return all-diag > 0x1p-20*all
}

// weighed returns m with entry (i, l) multiplied by c(i, l).
func (m *CSR) weighed(c func(i, l int) float64) *CSR {
	x := *m
	x.Val = make([]float64, len(m.Col))
	for i := range m.rows {
		for p := m.RowPtr[i]; p < m.RowPtr[i+1]; p++ {
			x.Val[p] = c(i, int(m.Col[p])) * value(m.Val, int(p))
		}
	}
	return &x
}

// inCache is the number of numbers that fit in a first-level cache, with room for others.
const inCache = 6 << 10

// The cost of the parts of a norm, in scattered additions (Xeon, with AVX-512 and without vectors): of each
// list to be added; of a multiply–add of rows gathered from a panel, and of one of dense rows, both times the
// lanes of a vector. A multiply–add of gathered rows never counts as more than one addition.
const (
	additionsPerList   = 40
	additionsPerGather = 8.0 / 3
	additionsPerDense  = 1.0 / 2
)

const (
	panelColumns = 32  // common columns in a panel, stored by rows
	mostCommon   = 256 // most columns treated separately
	rarely       = 64  // columns with no more than one entry in so many rows are not considered
)

// listAdditions returns the cost of the lists of a column with the given number of entries, in scattered
// additions, for a matrix of n rows.
func listAdditions(n int) func(entries int64) float64 {
	addition := 1.0
	if n > inCache {
		addition = 2 // sums beyond a first-level cache take twice as long
	}
	return func(entries int64) float64 {
		f := float64(entries)
		return f * (additionsPerList + f/2*addition)
	}
}

// commonColumns returns the columns of left that are best multiplied as dense ones for the norm of
// left·leftᵀ, and the work if they are. The columns come in whole panels, those with most entries first.
// Panels take no more memory than the values of left would, if it had any. right is leftᵀ.
func commonColumns(left, right *CSR) (best []int32, work float64) {
	list, count := listAdditions(left.rows), right.count
	var columns []int32
	for k := range int32(right.rows) {
		f := count(k)
		work += list(f)
		if f*rarely > int64(left.rows) {
			columns = append(columns, k)
		}
	}
	n, rest, lists := float64(left.rows), left.NNZ(), work
	most := min(mostCommon, len(columns), int(rest)/max(left.rows, 1)) / panelColumns * panelColumns
	if most == 0 {
		return nil, work
	}
	lanes := float64(kernel.Lanes())
	perDense, perGather := additionsPerDense/lanes, min(additionsPerGather/lanes, 1)
	slices.SortFunc(columns, func(k, l int32) int { return cmp.Or(cmp.Compare(count(l), count(k)), cmp.Compare(k, l)) })
	for c, k := range columns[:most] {
		rest -= count(k)
		lists -= list(count(k))
		if c++; c%panelColumns == 0 {
			all := lists + float64(c)*(n*float64(c)/2*perDense+float64(rest)*perGather)
			if all < work {
				best, work = columns[:c], all
			}
		}
	}
	return best, work
}

// normApart returns ‖L·Lᵀ‖² = ‖CᵀC‖² + 2‖CᵀR‖² + ‖R·Rᵀ‖². C are the common columns of L, which fill whole
// panels, and R the other columns. right is Lᵀ.
func normApart(left, right *CSR, common []int32, workers int) float64 {
	apart := make([]bool, right.rows)
	for _, k := range common {
		apart[k] = true
	}
	panels := make([][]float64, len(common)/panelColumns)
	kernel.Blocks(len(panels), 1, workers, func(q, _, _ int) {
		x := make([]float64, left.rows*panelColumns)
		for j, k := range common[q*panelColumns : (q+1)*panelColumns] {
			col, val := right.Row(int(k))
			for p, i := range col {
				x[int(i)*panelColumns+j] = value(val, p)
			}
		}
		panels[q] = x
	})
	squares := make([]float64, len(panels)*len(panels)) // of the products of two panels
	kernel.Blocks(len(squares), 1, workers, func(pair, _, _ int) {
		p, q := pair/len(panels), pair%len(panels)
		if p > q {
			return
		}
		var c [panelColumns * panelColumns]float64
		kernel.TransTimes(c[:], panels[p], panelColumns, panels[q], panelColumns)
		if squares[pair] = kernel.SumSq(c[:]); p < q {
			squares[pair] *= 2
		}
	})
	crossed := make([]float64, kernel.BlockCount(right.rows, normRows))
	scratch := func() []float64 { return make([]float64, normRows*panelColumns) }
	kernel.BlocksWith(right.rows, normRows, workers, scratch, func(s []float64, b, lo, hi int) {
		var sum float64
		for lo < hi {
			end := lo
			for end < hi && !apart[end] {
				end++
			}
			dst := s[:(end-lo)*panelColumns]
			for _, x := range panels {
				gatherTo(right, dst, lo, end, x, panelColumns, 1)
				sum += kernel.SumSq(dst)
			}
			lo = end + 1
		}
		crossed[b] = sum
	})
	half, diag := normHalf(left, right, apart, workers)
	return sum(squares) + 2*sum(crossed) + 2*half + diag
}

// normRows is the number of rows of G that are summed separately.
const normRows = rules.NormRows

// normHalf returns Σ_{i<l} G_il² and Σ_i G_ii² for G = left·leftᵀ, without the columns marked in apart, if
// apart is not nil. right is leftᵀ.
func normHalf(left, right *CSR, apart []bool, workers int) (half, diag float64) {
	n := left.rows
	halves := make([]float64, kernel.BlockCount(n, normRows))
	diags := make([]float64, len(halves))
	type room struct {
		halfLists
		acc []float64
	}
	scratch := func() *room { return &room{newHalfLists(left, right, apart), make([]float64, n)} }
	kernel.BlocksWith(n, normRows, workers, scratch, func(s *room, b, lo, hi int) {
		var half, diag float64
		s.begin(lo, hi)
		for i := lo; i < hi; i++ {
			lists, entries := s.next(i)
			if len(lists) == 1 {
				x := lists[0]
				own := x.C * value(right.Val, int(x.From))
				diag += own * own
				if rest := x.From + 1; right.Val == nil {
					half += x.C * x.C * float64(x.To-rest)
				} else {
					half += x.C * x.C * kernel.SumSq(right.Val[rest:x.To])
				}
				continue
			}
			kernel.ScatterLists(s.acc, lists, right.Col, right.Val)
			diag += s.acc[i] * s.acc[i]
			s.acc[i] = 0
			if entries > (n-i)/4 {
				half += kernel.SumSq(s.acc[i:])
				clear(s.acc[i:])
				continue
			}
			for _, x := range lists { // square and clear each touched place once
				half += takeSquares(s.acc, right.Col[x.From:x.To])
			}
		}
		halves[b], diags[b] = half, diag
	})
	return sum(halves), sum(diags)
}

// halfLists finds the lists whose sum is row i of left·leftᵀ from the diagonal on, row by row.
type halfLists struct {
	left, right *CSR
	apart       []bool  // columns to leave out, or nil
	from        []int64 // where each list continues at row at; rows come in order
	at          int
	lists       []kernel.List // of the current row
}

// newHalfLists returns the lists of left; right is leftᵀ.
func newHalfLists(left, right *CSR, apart []bool) halfLists {
	return halfLists{left: left, right: right, apart: apart, from: slices.Clone(right.RowPtr[:right.rows])}
}

// begin skips the rows before lo, which others have done; rows lo to hi come next.
func (s *halfLists) begin(lo, hi int) {
	for _, k := range s.left.Col[s.left.RowPtr[s.at]:s.left.RowPtr[lo]] {
		s.from[k]++
	}
	s.at = hi
}

// next returns the lists of row i, valid until the next call, and their total number of entries.
func (s *halfLists) next(i int) (lists []kernel.List, entries int) {
	lists = s.lists[:0]
	for p := s.left.RowPtr[i]; p < s.left.RowPtr[i+1]; p++ {
		k := s.left.Col[p]
		if s.apart != nil && s.apart[k] {
			continue
		}
		from, to := s.from[k], s.right.RowPtr[k+1]
		s.from[k] = from + 1
		lists = append(lists, kernel.List{From: from, To: to, C: value(s.left.Val, int(p))})
		entries += int(to - from)
	}
	s.lists = lists
	return lists, entries
}

// innerProducts returns m·mᵀ. back is mᵀ, or nil if the caller does not have it.
func (m *CSR) innerProducts(back Table, workers int) *Dense {
	t, ok := back.(*CSR)
	if !ok {
		t = m.transpose(workers)
	}
	n := m.rows
	a := NewDense(n, n, nil)
	if density(m.NNZ(), n, m.cols) >= rules.DenseFrom { // treat as dense points, n/2 features at a time
		for lo := 0; lo < t.rows; lo += (n + 1) / 2 {
			hi := min(lo+(n+1)/2, t.rows)
			x := NewDense(hi-lo, n, nil)
			for k := lo; k < hi; k++ {
				t.addTo(x.Row(k-lo), 1, k)
			}
			products, _ := x.columnProducts(workers)
			kernel.Axpy(a.data, 1, products.data)
		}
		return a
	}
	scratch := func() *halfLists { s := newHalfLists(m, t, nil); return &s }
	kernel.BlocksWith(n, normRows, workers, scratch, func(s *halfLists, _, lo, hi int) {
		s.begin(lo, hi)
		for i := lo; i < hi; i++ {
			lists, _ := s.next(i)
			kernel.ScatterLists(a.Row(i), lists, t.Col, t.Val)
		}
	})
	kernel.Mirror(a.data, n)
	return a
}

// takeSquares returns the sum of the squares of the numbers of x in places idx, and sets these numbers to 0.
func takeSquares(x []float64, idx []int32) float64 {
	var s0, s1 float64
	for len(idx) >= 2 {
		u := x[idx[0]]
		x[idx[0]] = 0
		v := x[idx[1]]
		x[idx[1]] = 0
		s0, s1 = s0+u*u, s1+v*v
		idx = idx[2:]
	}
	for _, l := range idx {
		s0 += x[l] * x[l]
		x[l] = 0
	}
	return s0 + s1
}

// sum adds the parts in order.
func sum(part []float64) (s float64) {
	for _, v := range part {
		s += v
	}
	return s
}
