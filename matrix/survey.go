package matrix

import "math"

// Table is a stored matrix of any shape, as files hold it: a Dense or a CSR.
type Table interface {
	Dims() (rows, cols int)
	// Survey reads every stored number once and says what it found.
	Survey() Survey
	// Asymmetry compares a square matrix with its transpose.
	Asymmetry() Asymmetry
	stored() []float64 // the numbers kept, in any order; nil when all are 1
}

// Survey is what one pass over the stored numbers of a matrix finds. NaN and infinite entries count only in NotFinite.
type Survey struct {
	NotFinite, Negative Cells
	Min, Max            float64 // over all entries, those not stored (zero) included; 0, 0 for an empty matrix
	ZeroRows            int     // rows without an entry other than 0
}

// MaxAbs returns the largest absolute value.
func (s Survey) MaxAbs() float64 { return max(s.Max, -s.Min) }

// Asymmetry is the largest |A_ij − A_ji| of a square matrix, where it is, and how many pairs differ at all.
type Asymmetry struct {
	Diff     float64
	Row, Col int
	Pairs    int64
}

func (a *Asymmetry) add(i, j int, diff float64) {
	if diff == 0 {
		return
	}
	a.Pairs++
	if diff > a.Diff {
		a.Diff, a.Row, a.Col = diff, i, j
	}
}

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

// Survey implements Table.
func (m *Dense) Survey() Survey {
	var s Survey
	if len(m.data) > 0 {
		s.Min, s.Max = math.Inf(1), math.Inf(-1)
	}
	for i := range m.rows {
		zero := true
		for j, v := range m.Row(i) {
			s.add(i, j, v)
			zero = zero && v == 0
		}
		if zero {
			s.ZeroRows++
		}
	}
	if s.Min > s.Max { // nothing finite
		s.Min, s.Max = 0, 0
	}
	return s
}

// Survey implements Table.
func (m *CSR) Survey() Survey {
	var s Survey
	if m.NNZ() > 0 && m.NNZ() == int64(m.rows)*int64(m.cols) {
		s.Min, s.Max = math.Inf(1), math.Inf(-1)
	}
	for i := range m.rows {
		zero := true
		col, val := m.Row(i)
		for p, j := range col {
			v := value(val, p)
			s.add(i, int(j), v)
			zero = zero && v == 0
		}
		if zero {
			s.ZeroRows++
		}
	}
	if s.Min > s.Max {
		s.Min, s.Max = 0, 0
	}
	return s
}

// Asymmetry implements Table; it panics when m is not square.
func (m *Dense) Asymmetry() Asymmetry {
	if m.rows != m.cols {
		panic(badLen)
	}
	var a Asymmetry
	n := m.rows
	const tile = 32
	for i0 := 0; i0 < n; i0 += tile {
		for j0 := 0; j0 <= i0; j0 += tile {
			for i := i0; i < min(i0+tile, n); i++ {
				for j := j0; j < min(j0+tile, i); j++ {
					a.add(i, j, math.Abs(m.data[i*n+j]-m.data[j*n+i]))
				}
			}
		}
	}
	return a
}

// Asymmetry implements Table; it panics when m is not square. O(nnz) for a symmetric pattern: the entries (j, i) that
// answer (i, j) for growing i are met in each row j in order, so a pointer for each row finds them without a search.
func (m *CSR) Asymmetry() Asymmetry {
	if m.rows != m.cols {
		panic(badLen)
	}
	var a Asymmetry
	next := append([]int64(nil), m.RowPtr[:m.rows]...)
	for i := range m.rows {
		col, val := m.Row(i)
		for p, c := range col {
			j := int(c)
			if j == i {
				continue
			}
			q := next[j]
			for q < m.RowPtr[j+1] && int(m.Col[q]) < i {
				q++ // an entry without an answer in its mirror row: found there when that row is read
			}
			next[j] = q
			switch found := q < m.RowPtr[j+1] && int(m.Col[q]) == i; {
			case !found:
				a.add(i, j, math.Abs(value(val, p)))
			case i > j: // each stored pair once
				a.add(i, j, math.Abs(value(val, p)-value(m.Val, int(q))))
			}
		}
	}
	return a
}

// Symmetrization says how a matrix that is not symmetric becomes one.
type Symmetrization int

// The ways to choose the common value of A_ij and A_ji.
const (
	Average Symmetrization = iota // (A_ij + A_ji)/2
	Maximum                       // the larger
	Minimum                       // the smaller; an entry that is not stored is 0
)

func (how Symmetrization) merge(v, w float64) float64 {
	switch how {
	case Average:
		return v/2 + w/2
	case Maximum:
		return max(v, w)
	default:
		return min(v, w)
	}
}

// Symmetrize changes the square matrix m in place to a symmetric one.
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
// transpose has one.
func (m *CSR) Symmetrize(how Symmetrization) *CSR {
	if m.rows != m.cols {
		panic(badLen)
	}
	t := m.Transpose()
	s := &CSR{rows: m.rows, cols: m.cols, RowPtr: make([]int64, m.rows+1)}
	for i := range m.rows {
		c0, v0 := m.Row(i)
		c1, v1 := t.Row(i)
		for p, q := 0, 0; p < len(c0) || q < len(c1); {
			var c int32
			var v, w float64
			switch {
			case q == len(c1) || p < len(c0) && c0[p] < c1[q]:
				c, v = c0[p], value(v0, p)
				p++
			case p == len(c0) || c1[q] < c0[p]:
				c, w = c1[q], value(v1, q)
				q++
			default:
				c, v, w = c0[p], value(v0, p), value(v1, q)
				p, q = p+1, q+1
			}
			s.Col = append(s.Col, c)
			s.Val = append(s.Val, how.merge(v, w))
		}
		s.RowPtr[i+1] = int64(len(s.Col))
	}
	if s.Val == nil {
		s.Val = []float64{}
	}
	return s
}

// value reads a value slice in which nil stands for ones.
func value(val []float64, p int) float64 {
	if val == nil {
		return 1
	}
	return val[p]
}

// ReplaceNegatives changes every negative entry of t in place: to zero, or to its absolute value.
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
