package matrix

import (
	"slices"

	"symnmf/internal/kernel"
)

// gramNormSq implements points: ‖G‖² for G = L·Lᵀ, where the rows of L are the points, or the features, whichever is less work.
//
// Row i of G from the diagonal on is the sum of the lists, for each k in row i of L, of the rows that have k.
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
	left, right := m, t
	if normWork(t, m) < normWork(m, t) {
		left, right = t, m
	}
	half, diag := normHalf(left, right, workers)
	all = (2*half + diag) * fourth
	if left == m {
		return all, 2 * half * fourth
	}
	return all, -1
}

// weighed returns m with entry (i, l) times c(i, l).
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

// inCache is how many numbers a first-level cache holds with room for others.
const inCache = 6 << 10

// normWork returns what normHalf takes, in scattered additions.
func normWork(left, right *CSR) (work float64) {
	for k := range right.rows {
		f := float64(right.RowPtr[k+1] - right.RowPtr[k])
		work += f * f / 2
	}
	if left.rows > inCache {
		work *= 2 // sums beyond a first-level cache take twice the time
	}
	return work
}

// normRows is how many rows of G are summed by themselves.
const normRows = 64

// normHalf returns Σ_{i<l} G_il² and Σ_i G_ii² for G = left·leftᵀ, with right = leftᵀ.
func normHalf(left, right *CSR, workers int) (half, diag float64) {
	n := left.rows
	halves := make([]float64, kernel.BlockCount(n, normRows))
	diags := make([]float64, len(halves))
	type list struct {
		from, to int64
		c        float64
	}
	type room struct {
		acc   []float64
		next  []int64 // where each list goes on from the row at work; rows come in order
		lists []list  // that the row at work adds up
	}
	scratch := func() *room { return &room{acc: make([]float64, n), next: slices.Clone(right.RowPtr[:right.rows])} }
	kernel.BlocksWith(n, normRows, workers, scratch, func(s *room, b, lo, hi int) {
		var half, diag float64
		for i := lo; i < hi; i++ {
			// The lists are found first, so that the processor waits for the beginnings of many at once.
			lists, entries := s.lists[:0], 0
			for p := left.RowPtr[i]; p < left.RowPtr[i+1]; p++ {
				k := left.Col[p]
				from, to := s.next[k], right.RowPtr[k+1]
				for int(right.Col[from]) < i {
					from++
				}
				s.next[k] = from + 1
				lists = append(lists, list{from, to, value(left.Val, int(p))})
				entries += int(to - from)
			}
			s.lists = lists
			if len(lists) == 1 {
				x := lists[0]
				own := x.c * value(right.Val, int(x.from))
				diag += own * own
				if rest := x.from + 1; right.Val == nil {
					half += x.c * x.c * float64(x.to-rest)
				} else {
					half += x.c * x.c * kernel.SumSq(right.Val[rest:x.to])
				}
				continue
			}
			for _, x := range lists {
				kernel.Scatter(s.acc, x.c, right.Col[x.from:x.to], valuesOf(right.Val, x.from, x.to))
			}
			diag += s.acc[i] * s.acc[i]
			s.acc[i] = 0
			if entries > (n-i)/4 {
				half += kernel.SumSq(s.acc[i:])
				clear(s.acc[i:])
				continue
			}
			for _, x := range lists { // where something was added, once
				half += takeSquares(s.acc, right.Col[x.from:x.to])
			}
		}
		halves[b], diags[b] = half, diag
	})
	return sum(halves), sum(diags)
}

// takeSquares returns the sum of the squares of the numbers of x in places idx, and clears them.
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

func valuesOf(val []float64, from, to int64) []float64 {
	if val == nil {
		return nil
	}
	return val[from:to]
}

// sum adds the parts in order.
func sum(part []float64) (s float64) {
	for _, v := range part {
		s += v
	}
	return s
}
