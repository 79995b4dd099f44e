package matrix

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var workerCounts = []int{1, 2, 3, 8}

// naiveSurvey is Survey entry by entry, for the entries that are stored.
func naiveSurvey(m naive, stored func(i, j int) bool) (s Survey) {
	full := true
	s.Min, s.Max = math.Inf(1), math.Inf(-1)
	for i := range m {
		zero := true
		for j, v := range m[i] {
			if !stored(i, j) {
				full = false
				continue
			}
			zero = zero && v == 0
			if math.IsNaN(v) || math.IsInf(v, 0) {
				s.NotFinite.add(i, j, v)
				continue
			}
			if v < 0 {
				s.Negative.add(i, j, v)
			}
			s.Min, s.Max = math.Min(s.Min, v), math.Max(s.Max, v)
		}
		if zero {
			s.ZeroRows++
		}
	}
	if !full || s.Min > s.Max {
		s.Min, s.Max = min(s.Min, 0), max(s.Max, 0)
	}
	return s
}

// storedAs returns the sparse matrix of the entries for which stored is true, zeros included, or their
// pattern.
func storedAs(t *testing.T, m naive, stored func(i, j int) bool, pattern bool) *CSR {
	rowPtr, col, val := []int64{0}, []int32{}, []float64{}
	for i := range m {
		for j, v := range m[i] {
			if stored(i, j) {
				col, val = append(col, int32(j)), append(val, v)
			}
		}
		rowPtr = append(rowPtr, int64(len(col)))
	}
	if pattern {
		val = nil
	}
	c, err := NewCSR(len(m), len(m[0]), rowPtr, col, val)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// positive returns a matrix of uniform numbers in [1, 2).
func positive(rng *rand.Rand, rows, cols int) naive {
	m := make(naive, rows)
	for i := range m {
		m[i] = make([]float64, cols)
		for j := range m[i] {
			m[i][j] = 1 + rng.Float64()
		}
	}
	return m
}

// TestSurveyParts compares a survey in several parts with one entry by entry, with odd entries in the first
// part, the last or several, for rows of 1 to 20 entries.
func TestSurveyParts(t *testing.T) {
	everywhere := func(i, j int) bool { return true }
	for name, change := range map[string]func(m naive){
		"nothing":                    func(naive) {},
		"NaN in the last part":       func(m naive) { m[len(m)-1][len(m[0])-1] = math.NaN() },
		"infinities":                 func(m naive) { m[40][0], m[90][0] = math.Inf(-1), math.Inf(1) },
		"negative in several parts":  func(m naive) { m[35][0], m[70][0], m[3][0], m[99][0] = -2, -5, -1, -3 },
		"negative zero":              func(m naive) { m[66][0] = math.Copysign(0, -1) },
		"rows of zeros":              func(m naive) { clear(m[0]); clear(m[64]); clear(m[99]) },
		"extremes in the last part":  func(m naive) { m[98][0], m[99][0] = 0x1p-1074, math.MaxFloat64 },
		"extremes in the first part": func(m naive) { m[0][0], m[1][0] = 0.5, 3 },
		"nothing finite": func(m naive) {
			for i := range m {
				for j := range m[i] {
					m[i][j] = math.NaN()
				}
			}
		},
	} {
		for cols := 1; cols <= 20; cols++ {
			rng := rand.New(rand.NewPCG(1, uint64(cols)))
			m := positive(rng, 100, cols)
			change(m)
			some := func(i, j int) bool { return i%7 != 3 && (j == 0 || (i+j)%3 == 0 || i > 95) }
			full, part := fmt.Sprintf("%+v", naiveSurvey(m, everywhere)), fmt.Sprintf("%+v", naiveSurvey(m, some))
			for _, w := range workerCounts {
				for what, c := range map[string]struct {
					table Table
					want  string
				}{
					"dense": {m.dense(), full}, "full sparse": {storedAs(t, m, everywhere, false), full},
					"sparse": {storedAs(t, m, some, false), part},
				} {
					if got := fmt.Sprintf("%+v", c.table.survey(w)); got != c.want {
						t.Fatalf("%s, %d columns, %s, %d workers:\n%s, want\n%s", name, cols, what, w, got, c.want)
					}
				}
			}
		}
	}
	ones := naive{}
	for range 70 {
		ones = append(ones, []float64{1, 1, 1})
	}
	for what, stored := range map[string]func(i, j int) bool{
		"full": everywhere, "with empty rows": func(i, _ int) bool { return i%33 != 0 },
		"with an empty part": func(i, _ int) bool { return i/partRows != 1 }} {
		want := naiveSurvey(ones, stored)
		for _, w := range workerCounts {
			for _, pattern := range []bool{true, false} {
				if got := storedAs(t, ones, stored, pattern).survey(w); got != want {
					t.Errorf("ones, %s, pattern: %t, %d workers: %+v, want %+v", what, pattern, w, got, want)
				}
			}
		}
	}
}

// TestSurveyLongRows: rows of one part that do not stay in the cache together, an empty one among them, are
// each surveyed once.
func TestSurveyLongRows(t *testing.T) {
	const n, long = 3000, partRows
	rowPtr, col, val, places := []int64{0}, []int32{}, []float64{}, []int64{}
	var squares, diagonal float64
	for i := range n {
		place := int64(len(col))
		for j := range n {
			if i >= long && j >= long || i == long-1 || j == long-1 {
				continue
			}
			v := float64(1 + (i+j)%3)
			col, val = append(col, int32(j)), append(val, v)
			squares += v * v
			if i == j {
				diagonal += v * v
			}
			if j <= i {
				place = int64(len(col))
			}
		}
		rowPtr, places = append(rowPtr, int64(len(col))), append(places, place)
	}
	for _, w := range workerCounts {
		for _, val := range [][]float64{val, nil} {
			c, err := NewCSR(n, n, rowPtr, col, val)
			if err != nil {
				t.Fatal(err)
			}
			want := found{Survey: Survey{Max: 3, ZeroRows: 1}, all: squares, off: squares - diagonal}
			if val == nil {
				want = found{Survey: Survey{Max: 1, ZeroRows: 1}, all: float64(len(col)), off: float64(len(col) - (long - 1))}
			}
			if end := c.rowsInCache(0, partRows); end == 1 || end == partRows {
				t.Fatalf("the first step ends at row %d, want some rows of the part", end)
			}
			got, above := c.surveySquare(w)
			if got != want {
				t.Errorf("values: %t, %d workers: %+v, want %+v", val != nil, w, got, want)
			}
			if !slices.Equal(above, places) {
				t.Errorf("values: %t, %d workers: entries right of the diagonal are not where they should be", val != nil, w)
			}
		}
	}
}

// naiveAsymmetry compares entry by entry, by rows. A pair is counted at its entry below the diagonal or, if
// only one of the two is stored, at that one.
func naiveAsymmetry(m naive, stored func(i, j int) bool) (a Asymmetry) {
	for i := range m {
		for j, v := range m[i] {
			if i == j || !stored(i, j) || i < j && stored(j, i) {
				continue
			}
			if stored(j, i) {
				v -= m[j][i]
			}
			if v == 0 {
				continue
			}
			a.Pairs++
			if math.Abs(v) > a.Diff {
				a.Diff, a.Row, a.Col = math.Abs(v), i, j
			}
		}
	}
	return a
}

// TestAsymmetryParts compares the asymmetry found in several ranges with that found entry by entry, with the
// largest difference in several places.
func TestAsymmetryParts(t *testing.T) {
	everywhere := func(i, j int) bool { return true }
	for _, n := range []int{1, 2, 65, 200, 1100} {
		rng := rand.New(rand.NewPCG(2, uint64(n)))
		base := positive(rng, n, n)
		pairs := zeros(n, n)
		for i := range n {
			for j := range i {
				base[j][i] = base[i][j]
				if rng.Float64() < 0.1 {
					pairs[i][j], pairs[j][i] = 1, 1
				}
			}
		}
		symmetric := func(i, j int) bool { return pairs[i][j] == 1 || i == j && i%3 == 0 }
		oneSided := func(i, j int) bool { return symmetric(i, j) && (i*7+j*3)%11 != 0 && i%50 != 49 }
		at := func(part float64) int { return int(part * float64(n-1)) }
		ties := func(m naive) {
			for _, p := range [][2]float64{{1, 0.9}, {0.9, 0.2}, {0.5, 0.4}, {0.4, 0.1}, {0.4, 0.2}, {0.95, 0}} {
				i, j := at(p[0]), at(p[1])
				m[i][j], m[j][i] = 8, 2
			}
		}
		notFinite := func(m naive) {
			m[at(1)][at(0.5)], m[at(0.6)][at(0.1)], m[at(0.1)][at(0.6)] = math.NaN(), math.Inf(1), math.Inf(1)
		}
		for name, change := range map[string]func(m naive){
			"symmetric":              func(naive) {},
			"ties in several ranges": ties,
			"zeros stored":           func(m naive) { m[at(0.7)][at(0.3)], m[at(0.3)][at(0.7)], m[at(1)][at(0)] = 0, 0, 0 },
			"not finite":             notFinite,
			"ties and not finite":    func(m naive) { ties(m); notFinite(m) },
		} {
			m := zeros(n, n)
			for i := range m {
				copy(m[i], base[i])
			}
			change(m)
			dense := naiveAsymmetry(m, everywhere)
			d := m.dense()
			for _, w := range workerCounts {
				if got := d.surveySquare(w).asymmetry; got != dense {
					t.Fatalf("n %d, %s, dense, %d workers: %+v, want %+v", n, name, w, got, dense)
				}
			}
			if got := d.Asymmetry(); got != dense {
				t.Fatalf("n %d, %s, dense: %+v, want %+v", n, name, got, dense)
			}
			for what, stored := range map[string]func(i, j int) bool{"symmetric": symmetric, "one-sided": oneSided,
				"none": func(i, j int) bool { return false }} {
				for _, pattern := range []bool{false, true} {
					c, from := storedAs(t, m, stored, pattern), m
					if pattern {
						from = m.pattern()
						for i := range from {
							for j := range from[i] {
								from[i][j] = 1
							}
						}
					}
					want := naiveAsymmetry(from, stored)
					for _, w := range workerCounts {
						_, above := c.surveySquare(w)
						if got := c.asymmetry(above, w); got != want {
							t.Fatalf("n %d, %s, %s pattern, values %v, %d workers: %+v, want %+v",
								n, name, what, !pattern, w, got, want)
						}
					}
				}
			}
		}
	}
}

// TestAsymmetrySparse is TestAsymmetryParts for few entries, placed without symmetry, of which few differ. A
// row may end, and the next one begin, where the mirror image of an entry would be.
func TestAsymmetrySparse(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for trial := range 300 {
		n := 2 + rng.IntN(12)
		m, there := zeros(n, n), draw(rng, n, n, 0.3)
		for i := range m {
			for j := range m[i] {
				m[i][j] = float64(1 + rng.IntN(2))
			}
		}
		stored := func(i, j int) bool { return there[i][j] != 0 }
		c, want := storedAs(t, m, stored, false), naiveAsymmetry(m, stored)
		for _, w := range workerCounts {
			_, above := c.surveySquare(w)
			if got := c.asymmetry(above, w); got != want {
				t.Fatalf("trial %d, %d workers: %+v, want %+v", trial, w, got, want)
			}
		}
	}
}

// TestPairRanges: ranges of pairs cover the columns once, also where few rows hold most entries.
func TestPairRanges(t *testing.T) {
	m := make(naive, 90)
	for i := range m {
		m[i] = make([]float64, 90)
		for j := range m[i] {
			if i < 2 || j < 2 {
				m[i][j] = 1
			}
		}
	}
	for _, c := range []*CSR{m.csr(t), {RowPtr: []int64{0}}, {rows: 5, cols: 5, RowPtr: make([]int64, 6)}} {
		for _, w := range workerCounts {
			bounds := c.pairRanges(w)
			if bounds[0] != 0 || bounds[len(bounds)-1] != c.rows || !slices.IsSorted(bounds) || len(bounds) > 2*w+1 {
				t.Errorf("%v, %d workers: bounds %v", c, w, bounds)
			}
		}
	}
}

// TestFromParts compares the diagonal and norms that FromDense and FromCSR find with sums from the
// definition, also for entries whose squares leave the range of float64. The norms have the same bits, and
// errors the same text, for any number of workers.
func TestFromParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, size := range []float64{1, 1e-150, 1e150, 1e-160, 1e153, 1e-100} {
		m := drawSymmetric(rng, 150, 0.3)
		var all, off float64
		for i := range m {
			for j, v := range m[i] {
				all += v * v
				if i != j {
					off += v * v
				}
				m[i][j] *= size
			}
		}
		check := func(name string, a Operator, err error) (bits [2]uint64) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			diag := make([]float64, len(m))
			a.DiagTo(diag)
			for i, v := range diag {
				if v != m[i][i] {
					t.Fatalf("%s: A[%d,%d] = %v, want %v", name, i, i, v, m[i][i])
				}
			}
			norms := [2]float64{a.Norm(), a.OffDiagonal().Norm()}
			for k, want := range [2]float64{math.Sqrt(all) * size, math.Sqrt(off) * size} {
				if !(math.Abs(norms[k]-want) <= 1e-13*want) { // 150² additions, each within 2⁻⁵³
					t.Errorf("%s times %g: norm %v, want %v", name, size, norms[k], want)
				}
			}
			return [2]uint64{math.Float64bits(norms[0]), math.Float64bits(norms[1])}
		}
		var first [2][2]uint64
		for k, w := range workerCounts {
			d, err := checkedDense(m.dense(), 0, w)
			dense := check("dense", d, err)
			c, err := newSymCSR(m.csr(t), 0, w)
			sparse := check("sparse", c, err)
			if k == 0 {
				first = [2][2]uint64{dense, sparse}
			} else if first != [2][2]uint64{dense, sparse} {
				t.Errorf("size %g: %d workers give other bits of the norm than one", size, w)
			}
		}
	}
	ones := drawSymmetric(rng, 150, 0.3).pattern()
	stored := func(i, j int) bool { return ones[i][j] != 0 }
	for _, w := range workerCounts {
		a, err := newSymCSR(storedAs(t, ones, stored, true), 0, w)
		if err != nil {
			t.Fatal(err)
		}
		var all, diag float64
		for i := range ones {
			for _, v := range ones[i] {
				all += v
			}
			diag += ones[i][i]
		}
		if got, want := a.Norm(), math.Sqrt(all); got != want {
			t.Errorf("pattern: norm %v, want %v", got, want)
		}
		if got, want := a.OffDiagonal().Norm(), math.Sqrt(all-diag); got != want {
			t.Errorf("pattern: norm without the diagonal %v, want %v", got, want)
		}
	}
	loops, err := NewCSR(3, 3, []int64{0, 1, 2, 3}, []int32{0, 1, 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := FromCSR(loops, 0); err != nil || a.OffDiagonal().Norm() != 0 {
		t.Errorf("ones on the diagonal alone: norm without it %v, error %v", a.OffDiagonal().Norm(), err)
	}
	m := drawSymmetric(rng, 100, 0.5)
	m[99][3], m[3][99] = 5, 7
	m[98][0], m[0][98] = math.NaN(), math.NaN()
	for _, want := range []error{ErrNotFinite, ErrAsymmetric} {
		for _, w := range workerCounts {
			_, dense := checkedDense(m.dense(), 0, w)
			_, sparse := newSymCSR(m.csr(t), 0, w)
			if !errors.Is(dense, want) || !errors.Is(sparse, want) || dense.Error() != sparse.Error() {
				t.Errorf("%d workers: %v and %v, want %v", w, dense, sparse, want)
			}
		}
		m[98][0], m[0][98] = 0, 0
	}
}

// TestTransposeParts compares transposes of dense and sparse tables and of patterns with the definition, for
// any number of workers.
func TestTransposeParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, shape := range [][2]int{{200, 30}, {30, 200}, {1, 50}, {50, 1}} {
		m := draw(rng, shape[0], shape[1], 0.4)
		clear(m[0])
		for _, pattern := range []bool{false, true} {
			c := storedAs(t, m, func(i, j int) bool { return m[i][j] != 0 }, pattern)
			for _, w := range workerCounts {
				got := c.transpose(w)
				if _, err := NewCSR(shape[1], shape[0], got.RowPtr, got.Col, got.Val); err != nil {
					t.Fatalf("%v, %d workers: %v", shape, w, err)
				}
				d := m.dense().transpose(w)
				for i := range m {
					for j, v := range m[i] {
						want := v
						if pattern && v != 0 {
							want = 1
						}
						if got.At(j, i) != want || d.At(j, i) != v {
							t.Fatalf("%v, %d workers: [%d,%d] sparse %v, dense %v, want %v",
								shape, w, j, i, got.At(j, i), d.At(j, i), v)
						}
					}
				}
			}
		}
	}
}

// TestSurveyOfOneInfinity: parts of a matrix where all is finite leave what was found in another as it is.
func TestSurveyOfOneInfinity(t *testing.T) {
	d := NewDense(3*partRows, 2, nil)
	d.Set(1, 1, math.Inf(1))
	want := Cells{Count: 1, Row: 1, Col: 1, Value: math.Inf(1), Least: math.Inf(1)}
	for _, x := range []Table{d, d.CSR()} {
		if got := x.Survey().NotFinite; got != want {
			t.Errorf("%T: %+v, want %+v", x, got, want)
		}
	}
}

// TestSmallBesideDiagonal: the norm without the diagonal is right even where the diagonal is so much larger
// that squares of the two cannot be added.
func TestSmallBesideDiagonal(t *testing.T) {
	ones, err := NewCSR(3, 3, []int64{0, 1, 2, 3}, []int32{0, 1, 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	unit, err := FromCSR(ones, 0)
	if err != nil {
		t.Fatal(err)
	}
	if norm, off := unit.Norm(), unit.OffDiagonal().Norm(); !near(norm, math.Sqrt(3), 0) || off != 0 {
		t.Errorf("ones on the diagonal: norm %v, without the diagonal %v, want √3, 0", norm, off)
	}
	for _, c := range []struct{ diag, off float64 }{{1, 1e-170}, {1e150, 1e-20}, {1e150, 1e-150}, {1, 1e-300}, {1e-150, 1e-300}, {1e100, 1}} {
		d := NewDense(3, 3, []float64{c.diag, c.off, 0, c.off, c.diag, c.off, 0, c.off, 0})
		dense, err := FromDense(d, 0)
		if err != nil {
			t.Fatal(err)
		}
		m, err := NewCSR(3, 3, []int64{0, 2, 5, 6}, []int32{0, 1, 0, 1, 2, 1}, []float64{c.diag, c.off, c.off, c.diag, c.off, c.off})
		if err != nil {
			t.Fatal(err)
		}
		sparse, err := FromCSR(m, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []Operator{dense, sparse} {
			if got, want := a.OffDiagonal().Norm(), 2*c.off; !(math.Abs(got-want) <= 1e-14*want) {
				t.Errorf("%T, %v beside %v: norm without the diagonal %v, want %v", a, c.off, c.diag, got, want)
			}
			if got, want := a.Norm(), math.Sqrt2*c.diag; !(math.Abs(got-want) <= 1e-14*want) {
				t.Errorf("%T, %v beside %v: norm %v, want %v", a, c.off, c.diag, got, want)
			}
		}
	}
}
