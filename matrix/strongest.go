package matrix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"symnmf/internal/kernel"
)

// Sparsified is a sparse S in place of a similarity matrix A, and how much of A it holds. An edge is a pair i
// < l with A_il > 0.
type Sparsified struct {
	S         *CSR    // symmetric, with the diagonal of A; Val is nil if all entries are 1
	Edges, Of int64   // numbers of edges of S and of A
	Kept      float64 // Σ A_il² over the entries of S, diagonal included, divided by ‖A‖²; 1 if A = 0
	RelErr    float64 // ‖A−S‖_F/‖A‖_F; 0 if A = 0
	Threshold float64 // the least weight kept, if edges were chosen by weight alone; else 0
}

// Selection says which edges Strongest keeps. Exactly one of PerItem, Threshold and Quantile must be above 0.
type Selection struct {
	// PerItem is the number of edges each item chooses, its strongest; of equal ones it chooses those to the
	// items that come first. An edge is kept if either of its ends chose it, or, with Mutual, only if both
	// did.
	PerItem int
	Mutual  bool
	// Threshold is the least weight of an edge that is kept.
	Threshold float64
	// Quantile, at most 1, sets the threshold to the weight w_⌊Quantile·E⌋ of the E edges in increasing
	// order, where w_0 is the least; for Quantile = 1 it is the largest weight. A Quantile of 0.9 keeps the
	// strongest tenth and all edges equal to the weakest of these. It takes three more passes over A.
	Quantile float64

	// MaxEdges limits the edges kept; more is an error, ErrTooMany. 0 means no limit. With PerItem it limits
	// the choices of items, which are more than the edges.
	MaxEdges int64
	Workers  int // goroutines; less than 1 means 1. The result does not depend on it

	// Progress, if not nil, is called on the caller's goroutine with the part done, from 0 to 1.
	Progress func(part float64)
}

// Errors of Strongest.
var (
	ErrSelection = errors.New("matrix: bad selection")
	ErrTooMany   = errors.New("matrix: too many edges")
)

// Strongest keeps the strongest edges of a, and its diagonal. Entries ≤ 0 are not edges.
//
// A pass over A lists its entries or, for points, computes the inner products, some rows at a time. That
// takes Θ(n²·m) multiply–adds for dense points, and Σ_k f_k² for sparse ones, where f_k points have feature
// k.
//
// Memory besides S is twice as much as S, or four times for PerItem, and n numbers for each goroutine. Dense
// points need another 32n + 16m numbers for each goroutine, and sparse points X by features.
//
// RelErr is the square root of a sum of the squares left out. For PerItem without Mutual that is the
// difference of two sums: the squares that each end left out, less those of them that the other end chose.
// Nothing is subtracted from ‖A‖², so RelErr has no floor near 10⁻⁸.
func Strongest(ctx context.Context, a Operator, sel Selection) (*Sparsified, error) {
	given := 0
	for _, is := range []bool{sel.PerItem != 0, sel.Threshold != 0, sel.Quantile != 0} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, fmt.Errorf("%w: of PerItem, Threshold and Quantile %d are given, want one", ErrSelection, given)
	case sel.Mutual && sel.PerItem == 0:
		return nil, fmt.Errorf("%w: Mutual needs PerItem", ErrSelection)
	case sel.MaxEdges < 0:
		return nil, fmt.Errorf("%w: MaxEdges %d, want a number ≥ 0, where 0 means no limit", ErrSelection, sel.MaxEdges)
	case sel.PerItem < 0 || math.IsInf(sel.Threshold, 0) || !(sel.Threshold >= 0) || !(sel.Quantile >= 0 && sel.Quantile <= 1):
		return nil, fmt.Errorf("%w: PerItem %d, Threshold %v, Quantile %v", ErrSelection, sel.PerItem, sel.Threshold, sel.Quantile)
	case a.Dim() > math.MaxInt32:
		return nil, fmt.Errorf("%w: %d items, want at most 2³¹−1", ErrSelection, a.Dim())
	}
	s := &selector{Selection: sel, a: a, passes: 1, u: unit(a.Norm())}
	if sel.Quantile > 0 {
		s.passes = 1 + quantilePasses
		var err error
		if s.Threshold, err = s.quantile(ctx); err != nil {
			return nil, err
		}
	}
	return s.run(ctx)
}

// selector is the state of Strongest.
type selector struct {
	Selection
	a            Operator
	u            float64 // a power of two that keeps squares in range
	passes, done int     // passes over A, in all and so far
}

// progress returns the function to which eachRow reports in the next pass, and counts that pass as done.
func (s *selector) progress() func(rows int) {
	pass := float64(s.done)
	s.done++
	if s.Selection.Progress == nil {
		return nil
	}
	return func(rows int) { s.Selection.Progress((pass + float64(rows)/float64(s.a.Dim())) / float64(s.passes)) }
}

// rowList holds what was chosen from the rows of a block, and what there is to tell of the others.
type rowList struct {
	col       []int32
	val       []float64
	edges     int64   // above the diagonal
	left, neg float64 // squares left out: of weights, and of entries below 0
}

func (s *selector) run(ctx context.Context) (*Sparsified, error) {
	n := s.a.Dim()
	lists := make([]rowList, kernel.BlockCount(n, entryRows))
	ptr := make([]int64, n+1)
	var chosen atomic.Int64
	limited, stop := context.WithCancel(ctx)
	defer stop()
	newState := func() *strongest { return &strongest{k: min(s.PerItem, n)} }
	_, err := eachRow(limited, s.a, s.Workers, s.progress(), newState, func(top *strongest, b, i int, col []int32, val []float64) {
		list := &lists[b]
		before := len(list.col)
		for p, l := range col {
			if int(l) > i && val[p] > 0 {
				list.edges++
			}
		}
		if s.PerItem > 0 {
			s.chooseStrongest(list, top, i, col, val)
		} else {
			s.chooseAbove(list, i, col, val)
		}
		ptr[i+1] = int64(len(list.col) - before)
		if chosen.Add(ptr[i+1]) > s.MaxEdges && s.MaxEdges > 0 {
			stop()
		}
	})
	if chosen.Load() > s.MaxEdges && s.MaxEdges > 0 {
		return nil, fmt.Errorf("%w: more than %d would be kept", ErrTooMany, s.MaxEdges)
	}
	if err != nil {
		return nil, err
	}
	return s.assemble(lists, ptr)
}

// square returns the square of an entry in units in which squares neither overflow nor vanish.
func (s *selector) square(v float64) float64 { return (s.u * v) * (s.u * v) }

// chooseStrongest adds the PerItem largest entries of row i off the diagonal to list.
func (s *selector) chooseStrongest(list *rowList, top *strongest, i int, col []int32, val []float64) {
	top.begin()
	for p, l := range col {
		switch v := val[p]; {
		case int(l) == i:
		case v > 0:
			top.offer(l, v)
		default:
			list.neg += s.square(v)
		}
	}
	from := len(list.col)
	top.finish(list)
	taken := list.col[from:]
	for p, l := range col {
		switch v := val[p]; {
		case len(taken) > 0 && taken[0] == l:
			taken = taken[1:]
		case int(l) != i && v > 0:
			list.left += s.square(v)
		}
	}
}

// chooseAbove adds the entries of row i right of the diagonal that reach Threshold to list.
func (s *selector) chooseAbove(list *rowList, i int, col []int32, val []float64) {
	for p := columnsBelow(col, i+1); p < len(col); p++ {
		switch v := val[p]; {
		case v > 0 && v >= s.Threshold:
			list.col, list.val = append(list.col, col[p]), append(list.val, v)
		case v > 0:
			list.left += 2 * s.square(v)
		default:
			list.neg += 2 * s.square(v)
		}
	}
}

// assemble makes the result from what was chosen, ptr[i+1] entries of row i.
func (s *selector) assemble(lists []rowList, ptr []int64) (*Sparsified, error) {
	n := len(ptr) - 1
	for i := range n {
		ptr[i+1] += ptr[i]
	}
	b := &CSR{rows: n, cols: n, RowPtr: ptr, Col: make([]int32, 0, ptr[n]), Val: make([]float64, 0, ptr[n])}
	var left, neg float64
	res := &Sparsified{Threshold: s.Threshold}
	for k := range lists {
		list := &lists[k]
		b.Col, b.Val = append(b.Col, list.col...), append(b.Val, list.val...)
		res.Of += list.edges
		left, neg = left+list.left, neg+list.neg
		*list = rowList{}
	}
	diag := make([]float64, n)
	s.a.DiagTo(diag)
	var once float64
	res.S, once = mirror(b, diag, s.Mutual, s.u)
	kept, _ := (&SymCSR{a: res.S}).sumSq(s.u, nil, s.Workers)
	res.Edges = edgesOf(res.S)
	switch {
	case s.PerItem == 0:
	case s.Mutual:
		left += once
	default:
		left = max(0, left-once)
	}
	if res.Edges == res.Of { // not the rounding of that difference
		left = 0
	}
	res.Kept, res.RelErr = 1, 0
	if norm := s.u * s.a.Norm(); norm > 0 {
		res.RelErr = math.Sqrt(left+neg) / norm
		if math.IsNaN(res.RelErr) {
			return nil, fmt.Errorf("%w: among the entries of the operator", ErrNotFinite)
		}
		if res.RelErr > 0 {
			res.Kept = min(1, kept/norm/norm)
		}
	}
	return res, nil
}

// strongest keeps the k largest of the entries it is offered, in order of increasing column.
type strongest struct {
	k     int
	best  []weighedColumn // up to 2k
	floor float64         // what an entry must exceed to be kept; 0 until there are k
}

type weighedColumn struct {
	col int32
	val float64
}

func (s *strongest) begin() { s.best, s.floor = s.best[:0], 0 }

func (s *strongest) offer(col int32, v float64) {
	if !(v > s.floor) {
		return // an equal entry came first
	}
	if s.best = append(s.best, weighedColumn{col, v}); len(s.best) >= 2*s.k {
		s.cut()
	}
}

// cut drops all but the k largest.
func (s *strongest) cut() {
	if len(s.best) < s.k {
		return
	}
	slices.SortFunc(s.best, func(x, y weighedColumn) int {
		return cmp.Or(cmp.Compare(y.val, x.val), cmp.Compare(x.col, y.col))
	})
	s.best = s.best[:s.k]
	s.floor = s.best[s.k-1].val
}

// finish appends the k largest to list, in order of increasing column.
func (s *strongest) finish(list *rowList) {
	s.cut()
	slices.SortFunc(s.best, func(x, y weighedColumn) int { return cmp.Compare(x.col, y.col) })
	for _, e := range s.best {
		list.col, list.val = append(list.col, e.col), append(list.val, e.val)
	}
}

// mirror returns the symmetric matrix with the given diagonal and, off it, an entry wherever b or bᵀ has one,
// or, with both set, wherever both have one. Where their values differ, it takes the larger. b has no
// diagonal. once is Σ(u·v)² over the entries v of b that bᵀ does not have.
func mirror(b *CSR, diag []float64, both bool, u float64) (s *CSR, once float64) {
	t := b.Transpose()
	// row calls f with the entries of row i of the result.
	row := func(i int, f func(col int32, v float64)) {
		before := diag[i] != 0 // the diagonal entry is still to come
		eachPair(b, t, i, func(c int32, v, w float64, inB, inT bool) {
			switch {
			case !inB:
				once += (u * w) * (u * w)
				v = w
			case inT:
				v = max(v, w)
			}
			if both && !(inB && inT) {
				return
			}
			if before && int(c) > i {
				before = false
				f(int32(i), diag[i])
			}
			f(c, v)
		})
		if before {
			f(int32(i), diag[i])
		}
	}
	n := b.rows
	s = &CSR{rows: n, cols: n, RowPtr: make([]int64, n+1)}
	ones := true
	for i := range n {
		s.RowPtr[i+1] = s.RowPtr[i]
		row(i, func(_ int32, v float64) {
			s.RowPtr[i+1]++
			ones = ones && v == 1
		})
	}
	once = 0 // the second pass adds it up again
	s.Col = make([]int32, 0, s.RowPtr[n])
	if !ones {
		s.Val = make([]float64, 0, s.RowPtr[n])
	}
	for i := range n {
		row(i, func(c int32, v float64) {
			s.Col = append(s.Col, c)
			if !ones {
				s.Val = append(s.Val, v)
			}
		})
	}
	return s, once
}

// edgesOf counts the entries above the diagonal.
func edgesOf(s *CSR) (edges int64) {
	for i := range s.rows {
		col, _ := s.Row(i)
		from := columnsBelow(col, i+1)
		edges += int64(len(col) - from)
	}
	return edges
}

const (
	quantileBits   = 21
	quantilePasses = 63 / quantileBits // positive doubles are in the order of their bits, of which the first is 0
)

// quantile returns the threshold of Selection.Quantile. It counts weights by their leading bits, then, among
// the weights that begin like the one sought, by the bits that follow. It returns 0 if there are no edges.
func (s *selector) quantile(ctx context.Context) (float64, error) {
	var prefix uint64
	var rank int64 // of the weight sought among those that begin with prefix
	for pass := range quantilePasses {
		shift := 63 - quantileBits*(pass+1)
		newState := func() []int64 { return make([]int64, 1<<quantileBits) }
		counts, err := eachRow(ctx, s.a, s.Workers, s.progress(), newState, func(count []int64, _, i int, col []int32, val []float64) {
			from := columnsBelow(col, i+1)
			for _, v := range val[from:] {
				if bits := math.Float64bits(v) >> shift; v > 0 && bits>>quantileBits == prefix {
					count[bits&(1<<quantileBits-1)]++
				}
			}
		})
		if err != nil {
			return 0, err
		}
		if len(counts) == 0 {
			return 0, nil
		}
		total := counts[0]
		var edges int64
		for k := range total {
			for _, c := range counts[1:] {
				total[k] += c[k]
			}
			edges += total[k]
		}
		if edges == 0 {
			return 0, nil
		}
		if pass == 0 {
			rank = min(int64(s.Quantile*float64(edges)), edges-1)
		}
		bucket := 0
		for rank >= total[bucket] {
			rank -= total[bucket]
			bucket++
		}
		prefix = prefix<<quantileBits | uint64(bucket)
	}
	return math.Float64frombits(prefix), nil
}
