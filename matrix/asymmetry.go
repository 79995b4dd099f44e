package matrix

import (
	"math"
	"runtime"

	"symnmf/internal/kernel"
)

// Asymmetry is the largest |A_ij − A_ji| of a square matrix, where it is, and how many pairs differ at all. A
// pair is identified by its entry below the diagonal, or by the one that is stored if only one is. Among
// equal differences the first by rows is reported.
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
	if diff > a.Diff || diff == a.Diff && (i < a.Row || i == a.Row && j < a.Col) {
		a.Diff, a.Row, a.Col = diff, i, j
	}
}

// merge adds pairs, none of which a has already.
func (a *Asymmetry) merge(b Asymmetry) {
	pairs := a.Pairs + b.Pairs
	a.add(b.Row, b.Col, b.Diff)
	a.Pairs = pairs
}

// Asymmetry implements Table; it panics if m is not square.
func (m *Dense) Asymmetry() Asymmetry {
	if m.rows != m.cols {
		panic(badLen)
	}
	f := findRows(m.rows, false, runtime.GOMAXPROCS(0), func(f *found, lo, hi int) { m.addPairs(&f.asymmetry, lo, hi) })
	return f.asymmetry
}

// addPairs adds the differences between the entries of rows lo to hi left of the diagonal and their mirror
// images.
func (m *Dense) addPairs(a *Asymmetry, lo, hi int) {
	n := m.rows
	const tile = 32
	for j0 := 0; j0 < hi; j0 += tile {
		for i := lo; i < hi; i++ {
			for j := j0; j < min(j0+tile, i); j++ {
				if d := m.data[i*n+j] - m.data[j*n+i]; d != 0 {
					a.add(i, j, math.Abs(d))
				}
			}
		}
	}
}

// Asymmetry implements Table; it panics if m is not square. It takes O(nnz) for a symmetric pattern. If sums
// of 64-bit hashes of both triangles are equal, it reports no asymmetry (decision 0020).
func (m *CSR) Asymmetry() Asymmetry {
	if m.rows != m.cols {
		panic(badLen)
	}
	workers := runtime.GOMAXPROCS(0)
	f, above := m.surveySquare(workers)
	if f.lopsided == 0 && f.NotFinite.Count == 0 { // NaN − NaN and ∞ − ∞ are not 0
		return Asymmetry{}
	}
	return m.asymmetry(above, workers)
}

// asymmetry divides the columns below the diagonal, and the rows right of it with their mirror images, into
// ranges.
func (m *CSR) asymmetry(above []int64, workers int) Asymmetry {
	bounds := m.pairRanges(workers)
	parts := make([]Asymmetry, len(bounds)-1)
	kernel.Blocks(len(parts), 1, workers, func(b, _, _ int) { parts[b] = m.asymmetryOf(above, bounds[b], bounds[b+1]) })
	var all Asymmetry
	for _, a := range parts {
		all.merge(a)
	}
	return all
}

// pairRanges returns the bounds of ranges of columns with about the same number of pairs each. One worker
// gets one range, since each range costs every row a search. The outcome does not depend on the ranges.
func (m *CSR) pairRanges(workers int) []int {
	count := 1
	if workers > 1 {
		count = 2 * workers
	}
	weight := func(j int) float64 { return float64(m.RowPtr[j+1]-m.RowPtr[j]) * float64(m.rows-j) }
	var all, sum float64
	for j := range m.rows {
		all += weight(j)
	}
	bounds := []int{0}
	for j := range m.rows {
		if sum += weight(j); len(bounds) < count && sum*float64(count) >= all*float64(len(bounds)) {
			bounds = append(bounds, j+1)
		}
	}
	return append(bounds, m.rows)
}

// asymmetryOf is asymmetry for the pairs (i, j), lo ≤ j < hi, j < i.
//
// For increasing i, the mirror images (j, i) of entries (i, j) come up in each row j in order, so one place
// for each row finds them without a search. Rows i are taken in groups, and columns j in ranges so narrow
// that what a group reads of rows j stays in cache.
func (m *CSR) asymmetryOf(above []int64, lo, hi int) (a Asymmetry) {
	const (
		group = 64
		width = 512
		// Least average number of entries of a row in a range.
		entries = 8
		// Least average number of entries of a row j met by a group at which they are prefetched: prefetching
		// takes cache lines of its own for every row.
		fetched = 4
	)
	ahead := group*float64(len(m.Col)) >= fetched*float64(m.rows)*float64(m.rows)
	step := max(width, int(min(1, entries*float64(m.rows)/max(1, float64(len(m.Col))))*float64(m.rows)))
	// For each row j, the entries right of the diagonal that have not come up yet.
	next := make([]kernel.Rest, hi-lo)
	for j := range next {
		next[j] = kernel.Rest{From: above[lo+j], To: m.RowPtr[lo+j+1]}
	}
	var places [group]int64
	for i0 := lo + 1; i0 < m.rows; i0 += group {
		i1 := min(i0+group, m.rows)
		for i := i0; i < i1; i++ {
			places[i-i0] = m.RowPtr[i]
			if lo > 0 {
				places[i-i0] += int64(columnsBelow(m.Col[m.RowPtr[i]:above[i]], lo))
			}
		}
		for j0 := lo; j0 < min(hi, i1-1); j0 += step {
			if ahead {
				soon := j0 + step // the range compared next, by the next group if this was the last
				if soon >= min(hi, i1-1) {
					soon = lo
				}
				kernel.FetchNext(next[soon-lo:min(soon+step, hi)-lo], m.Col, m.Val)
			}
			for i := i0; i < i1; i++ {
				p, end := places[i-i0], int32(min(j0+step, hi, i))
				for {
					p += m.equalPairs(i, p, above[i], end, next, lo)
					if p == above[i] || m.Col[p] >= end {
						break
					}
					m.addUnequal(&a, i, p, &next[int(m.Col[p])-lo])
					p++
				}
				places[i-i0] = p
			}
		}
	}
	for j, x := range next {
		for ; x.From < x.To; x.From++ {
			a.add(lo+j, int(m.Col[x.From]), math.Abs(value(m.Val, int(x.From))))
		}
	}
	return a
}

// equalPairs passes over the entries of row i, from place p up to place stop or column end, until one differs
// from its mirror image in the rows from lo on. It returns how many it has passed.
func (m *CSR) equalPairs(i int, p, stop int64, end int32, next []kernel.Rest, lo int) int64 {
	mirror, others := m.Col, m.Val
	col, val := mirror[p:stop], m.values(p, stop)
	for k, j := range col {
		if j >= end {
			return int64(k)
		}
		x := &next[int(j)-lo]
		q := x.From
		if q == x.To || int(mirror[q]) != i || val != nil && val[k]-others[q] != 0 {
			return int64(k)
		}
		x.From = q + 1
	}
	return int64(len(col))
}

// addUnequal adds the pair of entry p in row i, whose mirror image may be the next of x, and before it the
// entries of row j without a mirror image.
func (m *CSR) addUnequal(a *Asymmetry, i int, p int64, x *kernel.Rest) {
	j := int(m.Col[p])
	for ; x.From < x.To && int(m.Col[x.From]) < i; x.From++ {
		a.add(j, int(m.Col[x.From]), math.Abs(value(m.Val, int(x.From))))
	}
	diff := value(m.Val, int(p))
	if x.From < x.To && int(m.Col[x.From]) == i {
		diff -= value(m.Val, int(x.From))
		x.From++
	}
	a.add(i, j, math.Abs(diff))
}
