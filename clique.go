package symnmf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// CliqueOptions says how MaxClique searches. Its zero value works.
type CliqueOptions struct {
	// Runs is the number of random starts; 0 means 10.
	Runs int
	// Seed fixes every random choice.
	Seed uint64
}

const defaultCliqueRuns = 10

// Clique is a maximal clique of a graph: every two of its items are joined, and no item outside is joined to
// all of them.
type Clique struct {
	Items []int // from 0, increasing
	Run   int   // the run that found it, from 1
	Runs  int   // the number of runs made
	Exact int   // the number of runs whose limit was a maximal clique as it stood
	Edges int64 // of the graph
}

// MaxClique looks for a largest clique of the graph whose edges are the positive entries of a off its
// diagonal, whatever their size. What it returns has been checked to be a clique that cannot be extended; it
// cannot know whether there is a larger one. When ctx is cancelled it returns the best clique found so far,
// or nil if there is none, and an error that wraps ctx.Err().
//
// With N the adjacency matrix and
//
//	M_d = N + I − d·(1·1ᵀ − N − I),   u ≥ 0 minimizing ‖M_d − uuᵀ‖,
//
// for d ≥ n the local minima are the indicators of the maximal cliques, with the value ‖M_d‖² − k² for k
// items.
//
// Each run passes over the entries of a random u by exact coordinate descent (Algorithm 2 of the paper).
// Meanwhile d is raised to n by a factor of 1.3 at a time, from a value at which the best multiple of the
// start is not yet zero, ½ at most. The run takes the items with u_i > ½. It can end at a saddle point that
// is no clique. Then the items are taken in the order of u_i, largest first, each that is joined to all
// before it, until no more can be added.
//
// A pass costs as much as the entries that change have edges: M_d·u = (1+d)·(N·u + u) − d·(1ᵀu)·1. Memory: 8
// bytes for each edge, and some numbers for each item.
//
// Source: Belachew, Gillis, Solving the maximum clique problem with symmetric rank-one nonnegative matrix
// approximation, J. Optim. Theory Appl. 173, 2017.
func MaxClique(ctx context.Context, a matrix.Operator, opt CliqueOptions) (*Clique, error) {
	if a == nil {
		return nil, fmt.Errorf("%w: it is nil", ErrEmpty)
	}
	if opt.Runs < 0 {
		return nil, fmt.Errorf("%w: Runs = %d", ErrOption, opt.Runs)
	}
	if opt.Runs == 0 {
		opt.Runs = defaultCliqueRuns
	}
	if err := refuseNegatives(a); err != nil {
		return nil, err
	}
	s, err := newCliqueSearch(a)
	if err != nil {
		return nil, err
	}
	best := &Clique{Edges: int64(len(s.next) / 2)}
	for run := range opt.Runs {
		if err = s.descend(ctx, opt.Seed, run); err != nil {
			break
		}
		best.Runs++
		items, exact := s.round()
		if !s.maximal(items) {
			return nil, errNotMaximal
		}
		if exact {
			best.Exact++
		}
		if len(items) > len(best.Items) {
			best.Items, best.Run = items, best.Runs
		}
	}
	if err != nil {
		err = fmt.Errorf("symnmf: stopped early with the best clique so far: %w", err)
	}
	if best.Items == nil {
		return nil, err
	}
	return best, err
}

// errNotMaximal would be a bug in this package.
var errNotMaximal = errors.New("symnmf: the clique found is not maximal")

// cliqueSearch is a graph, u ≥ 0 (n), and the parts of M_d·u that do not depend on d.
type cliqueSearch struct {
	n      int
	from   []int64 // n+1: the neighbors of i are next[from[i]:from[i+1]]
	next   []int32
	u, nu  []float64 // u and N·u
	sum    float64   // 1ᵀu
	normSq float64   // ‖u‖²
	order  []int
	count  []int32 // scratch, n
}

// newCliqueSearch copies the edges above the diagonal, in both directions. O(nnz).
func newCliqueSearch(a matrix.Operator) (*cliqueSearch, error) {
	n := a.Dim()
	visitor, listed := a.(matrix.RowVisitor)
	switch {
	case n == 0:
		return nil, fmt.Errorf("%w: n = 0", ErrEmpty)
	case !listed || n > math.MaxInt32:
		return nil, fmt.Errorf("%w: a clique search needs a graph of at most 2³¹−1 items, dense or sparse, that lists its entries (matrix.RowVisitor); inner products do not", ErrUnfit)
	}
	s := &cliqueSearch{
		n: n, from: make([]int64, n+1), u: make([]float64, n), nu: make([]float64, n), order: make([]int, n), count: make([]int32, n),
	}
	edges := func(f func(i, l int)) {
		for i := range n {
			visitor.VisitRow(i, func(l int, v float64) {
				if l > i && v > 0 {
					f(i, l)
				}
			})
		}
	}
	edges(func(i, l int) { s.from[i+1]++; s.from[l+1]++ })
	for i := range n {
		s.from[i+1] += s.from[i]
	}
	s.next = make([]int32, s.from[n])
	at := slices.Clone(s.from[:n])
	edges(func(i, l int) {
		s.next[at[i]], s.next[at[l]] = int32(l), int32(i)
		at[i]++
		at[l]++
	})
	return s, nil
}

func (s *cliqueSearch) neighbors(i int) []int32 { return s.next[s.from[i]:s.from[i+1]] }

// descend sets u to a random start and brings it to a local minimum for d = n. It fails only when ctx is
// cancelled.
func (s *cliqueSearch) descend(ctx context.Context, seed uint64, run int) error {
	const (
		first  = 0.5 // the largest d to start with
		raise  = 1.3
		passes = 20   // the most for one d; fewer once no entry changes by more than settled
		finish = 1000 // the most for the last d, with fixed in place of settled
		// Below n the minimum need not be reached, only followed.
		settled, fixed = 1e-3, 1e-12
	)
	uniform{key: kernel.Mix(seed) + uint64(run)}.fill(s.u, 0)
	permutation(s.order, seed, uint64(run))
	s.refresh()
	joined := s.normSq // uᵀ(N+I)u
	for i, v := range s.nu {
		joined += s.u[i] * v
	}
	d := first
	if apart := s.sum*s.sum - joined; apart > 0 {
		d = min(d, joined/apart/2)
	}
	if s.normSq > 0 {
		beta := math.Sqrt(max(0, (1+d)*joined-d*s.sum*s.sum)) / s.normSq
		for i := range s.u {
			s.u[i] *= beta
		}
	}
	for {
		d = min(d, float64(s.n))
		most, enough := passes, settled
		if d == float64(s.n) {
			most, enough = finish, fixed
		}
		s.refresh()
		for range most {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if s.pass(d) <= enough {
				break
			}
		}
		if d == float64(s.n) {
			return nil
		}
		d *= raise
	}
}

// refresh computes N·u, 1ᵀu and ‖u‖² from u.
func (s *cliqueSearch) refresh() {
	clear(s.nu)
	s.sum, s.normSq = 0, 0
	for i, v := range s.u {
		if v != 0 {
			s.sum += v
			s.normSq += v * v
			for _, l := range s.neighbors(i) {
				s.nu[l] += v
			}
		}
	}
}

// pass sets each entry of u once to its minimizer and returns the largest change. It is rankOne for P = M_d,
// whose diagonal is 1.
func (s *cliqueSearch) pass(d float64) (most float64) {
	for _, i := range s.order {
		o := s.u[i]
		a := s.normSq - o*o - 1
		b := o - ((1+d)*(s.nu[i]+o) - d*s.sum)
		x, _ := cubicMinimizer(a, b, o)
		if x == o {
			continue
		}
		most = max(most, math.Abs(x-o))
		s.u[i] = x
		s.sum += x - o
		s.normSq = max(0, s.normSq+(x-o)*(x+o))
		for _, l := range s.neighbors(i) {
			s.nu[l] += x - o
		}
	}
	return most
}

// round returns a clique that cannot be extended: the items with u_i > ½, and true, if they are one, and
// otherwise that of greedy.
func (s *cliqueSearch) round() (items []int, exact bool) {
	for i, v := range s.u {
		if v > 0.5 {
			items = append(items, i)
		}
	}
	if s.maximal(items) {
		return items, true
	}
	return s.greedy(), false
}

// maximal reports whether the items are a clique that no other item extends. O(n + their edges).
func (s *cliqueSearch) maximal(items []int) bool {
	clear(s.count)
	inside := make([]bool, s.n)
	for _, i := range items {
		inside[i] = true
		for _, l := range s.neighbors(i) {
			s.count[l]++
		}
	}
	for i, c := range s.count {
		if inside[i] && int(c) != len(items)-1 || !inside[i] && int(c) == len(items) {
			return false
		}
	}
	return true
}

// greedy returns, in increasing order, the clique that results from taking the items in the order of u_i,
// largest first, if they are joined to all taken before.
func (s *cliqueSearch) greedy() (items []int) {
	bySize := slices.Clone(s.order)
	slices.SortFunc(bySize, func(i, l int) int {
		switch {
		case s.u[i] > s.u[l]:
			return -1
		case s.u[i] < s.u[l]:
			return 1
		}
		return i - l
	})
	clear(s.count)
	for _, i := range bySize {
		if int(s.count[i]) == len(items) {
			items = append(items, i)
			for _, l := range s.neighbors(i) {
				s.count[l]++
			}
		}
	}
	slices.Sort(items)
	return items
}
