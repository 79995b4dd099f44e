package matrix

import (
	"math"
	"runtime"

	"symnmf/internal/kernel"
)

// Table is a stored matrix of any shape, as read from a file: a Dense or a CSR.
type Table interface {
	Dims() (rows, cols int)
	// Survey reads every stored number once, with GOMAXPROCS goroutines, and reports what it found.
	Survey() Survey
	// Asymmetry compares a square matrix with its transpose, with GOMAXPROCS goroutines.
	Asymmetry() Asymmetry
	survey(workers int) Survey
	stored() []float64 // the stored numbers, in any order; nil if all are 1
}

// Survey is what one pass over the stored numbers of a matrix finds. NaN and infinite entries count only in
// NotFinite.
type Survey struct {
	NotFinite, Negative Cells
	Min, Max            float64 // over all entries, including zeros that are not stored; 0 and 0 for an empty matrix
	ZeroRows            int     // rows without a nonzero entry
}

// MaxAbs returns the largest absolute value.
func (s Survey) MaxAbs() float64 { return max(s.Max, -s.Min) }

func (s *Survey) add(i, j int, v float64) {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		s.NotFinite.add(i, j, v)
		return
	case v < 0:
		s.Negative.add(i, j, v)
	}
	s.Min, s.Max = min(s.Min, v), max(s.Max, v)
}

// merge adds to s what was found further on in the matrix.
func (s *Survey) merge(t Survey) {
	s.NotFinite.merge(t.NotFinite)
	s.Negative.merge(t.Negative)
	s.Min, s.Max = min(s.Min, t.Min), max(s.Max, t.Max)
	s.ZeroRows += t.ZeroRows
}

// infinity is the bits of positive infinity as a number. Finite numbers without a sign have smaller bits, in
// their own order; infinities, NaNs and all numbers with a sign do not.
const infinity = 0x7ff << 52

// addRow adds the numbers of row i, which are in the columns col, or in all columns for col = nil.
func (s *Survey) addRow(i int, col []int32, val []float64) {
	if len(val) == 0 {
		s.ZeroRows++
		return
	}
	least, most := kernel.BitRange(val)
	if most >= infinity {
		s.addOddRow(i, col, val)
		return
	}
	if most == 0 {
		s.ZeroRows++
	}
	s.Min, s.Max = min(s.Min, math.Float64frombits(least)), max(s.Max, math.Float64frombits(most))
}

// addOddRow is addRow for a row that has a sign, an infinity or a NaN somewhere.
func (s *Survey) addOddRow(i int, col []int32, val []float64) {
	zero := true
	for p, v := range val {
		j := p
		if col != nil {
			j = int(col[p])
		}
		s.add(i, j, v)
		zero = zero && v == 0
	}
	if zero {
		s.ZeroRows++
	}
}

// found collects what passes over the stored numbers find. A pass leaves fields it does not compute as they
// are.
type found struct {
	Survey
	all, off  float64 // Σ v², over all entries and over those off the diagonal
	lopsided  uint64  // the sum of kernel.HashRows over the rows
	asymmetry Asymmetry
}

// partRows is the number of rows in a part of a pass; parts are larger if there are very many rows.
const partRows = 32

// findRows collects what rows finds in the rows lo ≤ i < hi of a matrix of n rows, in parts that depend on n
// alone. full tells that the matrix has entries and all of them are stored.
func findRows(n int, full bool, workers int, rows func(f *found, lo, hi int)) (all found) {
	size := max(partRows, (n+1023)/1024)
	parts := make([]found, kernel.BlockCount(n, size))
	if full {
		all.Min, all.Max = math.Inf(1), math.Inf(-1)
	}
	start := all
	kernel.Blocks(n, size, workers, func(b, lo, hi int) {
		f := start
		rows(&f, lo, hi)
		parts[b] = f
	})
	for _, f := range parts {
		all.Survey.merge(f.Survey)
		all.all, all.off = all.all+f.all, all.off+f.off
		all.lopsided += f.lopsided
		all.asymmetry.merge(f.asymmetry)
	}
	if all.Min > all.Max { // no finite number
		all.Min, all.Max = 0, 0
	}
	return all
}

// addSquares adds the squares of row, in which place diag is on the diagonal.
func (f *found) addSquares(row []float64, diag int) {
	off := kernel.SumSq(row[:diag]) + kernel.SumSq(row[diag+1:])
	f.all, f.off = f.all+(off+row[diag]*row[diag]), f.off+off
}

// norms returns ‖A‖ and the same without the diagonal. If squares of entries leave the range of numbers, or
// nearly do, it calls scaled for the sums of squares of u·A.
func (f *found) norms(scaled func(u float64) (all, off float64)) (all, off float64) {
	u := 1.0
	all, off = f.all, f.off
	// Between these bounds 2¹⁶⁰ squares do not overflow, and what as many lose to underflow is below the
	// rounding of the sum.
	if most := f.MaxAbs(); most != 0 && (most < 0x1p-400 || most > 0x1p400) {
		u = unit(most)
		all, off = scaled(u)
	}
	// If the diagonal is so much larger than the rest, the rest needs a scale of its own.
	own := u
	for f.MaxAbs() != 0 && off < 0x1p-800 && own <= 0x1p500 {
		own *= 0x1p500
		_, off = scaled(own)
	}
	return math.Sqrt(all) / u, math.Sqrt(off) / own
}

// Survey implements Table.
func (m *Dense) Survey() Survey { return m.survey(runtime.GOMAXPROCS(0)) }

func (m *Dense) survey(workers int) Survey {
	f := findRows(m.rows, len(m.data) > 0, workers, func(f *found, lo, hi int) {
		for i := lo; i < hi; i++ {
			f.addRow(i, nil, m.Row(i))
		}
	})
	return f.Survey
}

// surveySquare is survey of a square matrix, together with the sums of squares and the asymmetry while rows
// are in cache.
func (m *Dense) surveySquare(workers int) found {
	return findRows(m.rows, m.rows > 0, workers, func(f *found, lo, hi int) {
		for i := lo; i < hi; i++ {
			f.addRow(i, nil, m.Row(i))
			f.addSquares(m.Row(i), i)
		}
		m.addPairs(&f.asymmetry, lo, hi)
	})
}

// sumSquares returns the sums of squares that surveySquare finds, for u·A.
func (m *Dense) sumSquares(u float64, workers int) (all, off float64) {
	f := findRows(m.rows, false, workers, func(f *found, lo, hi int) {
		row := make([]float64, m.cols)
		for i := lo; i < hi; i++ {
			for j, v := range m.Row(i) {
				row[j] = u * v
			}
			f.addSquares(row, i)
		}
	})
	return f.all, f.off
}

// Survey implements Table.
func (m *CSR) Survey() Survey { return m.survey(runtime.GOMAXPROCS(0)) }

func (m *CSR) survey(workers int) Survey {
	f := findRows(m.rows, m.full(), workers, func(f *found, lo, hi int) { m.surveyRows(&f.Survey, lo, hi) })
	return f.Survey
}

// surveySquare is survey of a square matrix, together with the sums of squares and lopsided. above[i] is the
// place of the first entry of row i right of the diagonal, or the end of the row if there is none.
//
// If lopsided is 0, m equals its transpose bit for bit: of sums that have no reason to be equal, one in 2⁶⁴ is.
// Entries are read as they lie in memory; comparing each with its mirror image takes several times as long
// (decision 0020).
func (m *CSR) surveySquare(workers int) (all found, above []int64) {
	above = kernel.Room[int64](m.rows)
	all = findRows(m.rows, m.full(), workers, func(f *found, lo, hi int) {
		for lo < hi {
			end := m.rowsInCache(lo, hi)
			f.lopsided += kernel.HashRows(lo, m.RowPtr[lo:end+1], m.Col, m.Val, above[lo:end])
			m.surveyRows(&f.Survey, lo, end)
			m.addSquares(f, lo, end, above, 1)
			lo = end
		}
	})
	return all, above
}

// rowsInCache returns the end of rows, from lo on and at most up to hi, that have so few entries that these stay in the
// second-level cache while several passes read them. There is at least one.
func (m *CSR) rowsInCache(lo, hi int) int {
	const entries = 1 << 15
	end := lo + 1
	for end < hi && m.RowPtr[end+1]-m.RowPtr[lo] <= entries {
		end++
	}
	return end
}

// addSquares adds the squares of rows lo to hi of u·A, for a power u of 2.
func (m *CSR) addSquares(f *found, lo, hi int, above []int64, u float64) {
	if m.Val == nil {
		all := m.RowPtr[hi] - m.RowPtr[lo]
		off := all
		for i := lo; i < hi; i++ {
			if _, stored := m.diagonal(i, above); stored {
				off--
			}
		}
		// In this order, rows without entries give 0 even if u·u overflows.
		f.all, f.off = f.all+u*float64(all)*u, f.off+u*float64(off)*u
		return
	}
	var scaled []float64
	for i := lo; i < hi; i++ {
		_, val := m.Row(i)
		if u != 1 {
			scaled = append(scaled[:0], val...)
			for p := range scaled {
				scaled[p] *= u
			}
			val = scaled
		}
		if p, stored := m.diagonal(i, above); stored {
			f.addSquares(val, int(p-m.RowPtr[i]))
		} else {
			sq := kernel.SumSq(val)
			f.all, f.off = f.all+sq, f.off+sq
		}
	}
}

// diagonal reports whether the diagonal entry of row i is stored, and if so, its place.
func (m *CSR) diagonal(i int, above []int64) (p int64, stored bool) {
	p = above[i] - 1
	return p, p >= m.RowPtr[i] && int(m.Col[p]) == i
}

// sumSquares returns the sums of squares that surveySquare finds, for u·A.
func (m *CSR) sumSquares(u float64, above []int64, workers int) (all, off float64) {
	f := findRows(m.rows, false, workers, func(f *found, lo, hi int) { m.addSquares(f, lo, hi, above, u) })
	return f.all, f.off
}

// surveyRows adds rows lo to hi. It takes all their values together, unless there are zeros among them or what
// addOddRow is for.
func (m *CSR) surveyRows(s *Survey, lo, hi int) {
	if m.RowPtr[lo] == m.RowPtr[hi] {
		s.ZeroRows += hi - lo
		return
	}
	least, most := 1.0, 1.0
	if val := m.values(m.RowPtr[lo], m.RowPtr[hi]); val != nil {
		low, high := kernel.BitRange(val)
		if low == 0 || high >= infinity {
			for i := lo; i < hi; i++ {
				col, val := m.Row(i)
				s.addRow(i, col, val)
			}
			return
		}
		least, most = math.Float64frombits(low), math.Float64frombits(high)
	}
	for i := lo; i < hi; i++ {
		if m.RowPtr[i] == m.RowPtr[i+1] {
			s.ZeroRows++
		}
	}
	s.Min, s.Max = min(s.Min, least), max(s.Max, most)
}

// full reports whether the matrix has entries and all of them are stored.
func (m *CSR) full() bool { return m.NNZ() > 0 && m.NNZ() == int64(m.rows)*int64(m.cols) }

// Symmetrization says how an asymmetric matrix is made symmetric.
type Symmetrization int

// The ways to choose the common value of A_ij and A_ji.
const (
	Average Symmetrization = iota // (A_ij + A_ji)/2
	Maximum                       // the larger
	Minimum                       // the smaller, where an entry that is not stored is 0
)

func (how Symmetrization) merge(v, w float64) float64 {
	switch {
	case v == w: // half of the smallest number is 0
		return v
	case how == Average:
		return v/2 + w/2
	case how == Maximum:
		return max(v, w)
	case how == Minimum:
		return min(v, w)
	}
	panic("matrix: unknown symmetrization")
}

// Symmetrize makes the square matrix m symmetric in place. O(n²). It panics if m is not square, or if entries
// differ and how is none of the constants above.
func (m *Dense) Symmetrize(how Symmetrization) {
	if m.rows != m.cols {
		panic(badLen)
	}
	n := m.rows
	for i := range n {
		for j := range i {
			v := how.merge(m.data[i*n+j], m.data[j*n+i])
			m.data[i*n+j], m.data[j*n+i] = v, v
		}
	}
}

// Symmetrize returns a symmetric matrix made from the square matrix m, with a stored entry wherever m or its
// transpose has one. O(nnz), with memory for the transpose and the result. It panics like Dense.Symmetrize.
func (m *CSR) Symmetrize(how Symmetrization) *CSR {
	if m.rows != m.cols {
		panic(badLen)
	}
	t := m.TransposeBy(runtime.GOMAXPROCS(0))
	s := &CSR{rows: m.rows, cols: m.cols, RowPtr: kernel.Room[int64](m.rows + 1)}
	for i := range m.rows {
		s.RowPtr[i+1] = s.RowPtr[i]
		eachPair(m, t, i, func(int32, float64, float64, bool, bool) { s.RowPtr[i+1]++ })
	}
	n := int(s.RowPtr[m.rows])
	s.Col, s.Val = kernel.Room[int32](n)[:0], kernel.Numbers(n)[:0]
	for i := range m.rows {
		eachPair(m, t, i, func(c int32, v, w float64, _, _ bool) {
			s.Col, s.Val = append(s.Col, c), append(s.Val, how.merge(v, w))
		})
	}
	return s
}

// eachPair calls f, in the order of columns, for each column c in which row i of m or of t has an entry: v in m, if
// inM, and w in t, if inT. Missing ones are 0.
func eachPair(m, t *CSR, i int, f func(c int32, v, w float64, inM, inT bool)) {
	c0, v0 := m.Row(i)
	c1, v1 := t.Row(i)
	for p, q := 0, 0; p < len(c0) || q < len(c1); {
		switch {
		case q == len(c1) || p < len(c0) && c0[p] < c1[q]:
			f(c0[p], value(v0, p), 0, true, false)
			p++
		case p == len(c0) || c1[q] < c0[p]:
			f(c1[q], 0, value(v1, q), false, true)
			q++
		default:
			f(c0[p], value(v0, p), value(v1, q), true, true)
			p, q = p+1, q+1
		}
	}
}

// value returns val[p]; a nil val stands for all ones.
func value(val []float64, p int) float64 {
	if val == nil {
		return 1
	}
	return val[p]
}

// ReplaceNegatives replaces every negative entry of t in place, by its absolute value if abs is set, and
// otherwise by zero. O(nnz).
func ReplaceNegatives(t Table, abs bool) {
	data := t.stored()
	for p, v := range data {
		if v < 0 {
			data[p] = 0
			if abs {
				data[p] = -v
			}
		}
	}
}

func (m *Dense) stored() []float64 { return m.data }
func (m *CSR) stored() []float64   { return m.Val }
