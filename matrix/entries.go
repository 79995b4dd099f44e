package matrix

import (
	"context"
	"slices"
	"sync"

	"symnmf/internal/kernel"
)

// lister calls f with the entries of rows lo to hi of A, columns increasing. f may use its arguments only
// until it returns. Each goroutine has a lister of its own.
type lister func(lo, hi int, f func(i int, col []int32, val []float64))

// newLister returns a function that makes listers. Either A lists its entries itself, or inner products are
// computed entryRows rows at a time; no more of A than these rows is ever held.
func newLister(a Operator) func() lister {
	if v, ok := a.(RowVisitor); ok {
		return func() lister { return listVisited(v) }
	}
	if m, ok := a.(*GramOperator); ok {
		if x, ok := m.points.(*CSR); ok {
			back := x.Transpose()
			return func() lister { return m.listSparse(x, back) }
		}
	}
	return func() lister { return listProducts(a) }
}

func listVisited(v RowVisitor) lister {
	var col []int32
	var val []float64
	return func(lo, hi int, f func(i int, col []int32, val []float64)) {
		for i := lo; i < hi; i++ {
			col, val = col[:0], val[:0]
			v.VisitRow(i, func(l int, x float64) {
				col, val = append(col, int32(l)), append(val, x)
			})
			f(i, col, val)
		}
	}
}

// listSparse adds up, over the features of point i, the lists of points that have the feature. back is x by
// features.
func (m *GramOperator) listSparse(x, back *CSR) lister {
	acc, seen := make([]float64, x.rows), make([]bool, x.rows)
	var col []int32
	var val []float64
	return func(lo, hi int, f func(i int, col []int32, val []float64)) {
		for i := lo; i < hi; i++ {
			features, values := x.Row(i)
			col, val = col[:0], val[:0]
			for p, k := range features {
				with, by := back.Row(int(k))
				kernel.Scatter(acc, value(values, p), with, by)
				for _, l := range with {
					if !seen[l] {
						seen[l] = true
						col = append(col, l)
					}
				}
			}
			if len(col) < len(seen)/16 { // sorting takes some 16 comparisons for each
				slices.Sort(col)
			} else {
				col = col[:0]
				for l, yes := range seen {
					if yes {
						col = append(col, int32(l))
					}
				}
			}
			for _, l := range col {
				val = append(val, m.scale*(m.scale*acc[l]))
				acc[l], seen[l] = 0, false
			}
			if at, stored := slices.BinarySearch(col, int32(i)); stored && m.offDiag {
				val[at] = 0
			}
			f(i, col, val)
		}
	}
}

// listProducts multiplies A by entryRows columns of the identity.
func listProducts(a Operator) lister {
	n := a.Dim()
	col, row := make([]int32, n), make([]float64, n)
	for l := range col {
		col[l] = int32(l)
	}
	h, columns := NewDense(n, entryRows, nil), make([]float64, n*entryRows)
	return func(lo, hi int, f func(i int, col []int32, val []float64)) {
		for i := lo; i < hi; i++ {
			h.Set(i, i-lo, 1)
		}
		productWithUnits(a, h, lo, hi).RowsTo(columns, 0, n)
		for i := lo; i < hi; i++ {
			h.Set(i, i-lo, 0)
			for l := range row {
				row[l] = columns[l*entryRows+i-lo]
			}
			f(i, col, row)
		}
	}
}

// productWithUnits returns the product of A and h. Column k of h is column lo+k of the identity, up to column
// hi, and zero from there on. For points this saves half of the work, because the columns of X·h are columns
// of X.
func productWithUnits(a Operator, h *Dense, lo, hi int) Product {
	m, ok := a.(*GramOperator)
	if !ok {
		return a.NewProduct(h, 1)
	}
	_, features := m.points.Dims()
	p := &gramProduct{m: m, h: h, z: make([]float64, features*entryRows)}
	point := make([]float64, features)
	for i := lo; i < hi; i++ {
		clear(point)
		m.points.addTo(point, m.scale, i)
		for c, v := range point {
			p.z[c*entryRows+i-lo] = v
		}
	}
	return p
}

const (
	entryRows  = 16             // rows of A listed at a time
	entryChunk = 64 * entryRows // rows between two calls of progress
)

// eachRow calls f with the entries of every row i of A. b is i/entryRows, and calls with different b may run
// concurrently. Each goroutine passes f a state of its own, and eachRow returns all states. progress may be
// nil; it is called on the caller's goroutine with the number of rows done.
func eachRow[S any](ctx context.Context, a Operator, workers int, progress func(rows int), newState func() S,
	f func(s S, b, i int, col []int32, val []float64)) ([]S, error) {
	type worker struct {
		list  lister
		state S
	}
	var (
		mu    sync.Mutex
		all   []*worker
		taken int
	)
	makeLister := newLister(a)
	take := func() *worker {
		mu.Lock()
		defer mu.Unlock()
		if taken == len(all) {
			all = append(all, &worker{makeLister(), newState()})
		}
		taken++
		return all[taken-1]
	}
	n := a.Dim()
	for from := 0; from < n; from += entryChunk {
		taken = 0
		kernel.BlocksWith(min(entryChunk, n-from), entryRows, workers, take, func(w *worker, _, lo, hi int) {
			if ctx.Err() != nil {
				return
			}
			w.list(from+lo, from+hi, func(i int, col []int32, val []float64) { f(w.state, i/entryRows, i, col, val) })
		})
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if progress != nil {
			progress(min(from+entryChunk, n))
		}
	}
	states := make([]S, len(all))
	for k, w := range all {
		states[k] = w.state
	}
	return states, nil
}
