package matrix

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"symnmf/internal/kernel"
)

// RitzPairs approximates the k algebraically largest eigenvalues of a and their eigenvectors, 1 ≤ k ≤ n, by a
// fixed number of products with A. That is enough for a start; Eigen computes them to an error that it
// reports. Nothing says how near the pairs are. Each value is ⟨A·u, u⟩ of its vector to some 1e-7 of the
// first value, so none is above λ₁ by more.
//
// Values decrease. Vectors are the columns of a matrix with n rows, orthonormal to some 1e-6. There are fewer
// than k if A, or what rounding leaves of it, has fewer nonzero eigenvalues. If ctx is cancelled, only its
// error is returned. The result is a function of a, k and seed, and the same for any number of workers.
//
// It takes 6 products of A with k + 8 vectors, or 1.25·k if that is more, rounded up to a multiple of 8 but
// at most n, and O(n·k²) for two Rayleigh–Ritz steps; memory for two matrices of that size, besides the
// vectors. The matrices are in float32 if A is sparse and they are large, unless A has fewer nonzero
// eigenvalues than they have columns, which shows after two products.
//
// Method: a Rayleigh–Ritz step on A·Ω, with Ω random; then, applied to its vectors, a Chebyshev polynomial in
// A that is small where the unwanted eigenvalues are, negative ones included; then another Rayleigh–Ritz
// step. Source: Zhou, Saad, Tiago, Chelikowsky, Self-consistent-field calculations using Chebyshev-filtered
// subspace iteration, J. Comput. Phys. 219, 2006, of which this is one pass.
func RitzPairs(ctx context.Context, a Operator, k int, seed uint64, workers int) (values []float64, vectors *Dense, err error) {
	n := a.Dim()
	if k < 1 || k > n {
		return nil, nil, fmt.Errorf("%w: %d requested of a matrix with %d rows", ErrEigen, k, n)
	}
	if a.Norm() == 0 {
		return nil, NewDense(n, 0, nil), nil
	}
	scale := unitScale(a.Norm()) // keeps squares of what follows in range
	a = a.Scaled(scale)
	columns := min((k+max(ritzSpare, k/4)+7)/8*8, n)
	if single, ok := a.(singleRepeater); ok {
		if products := single.repeatSingle(columns, workers); products != nil {
			s := &subspace[float32]{product: products, n: n, k: columns, workers: workers}
			values, vectors, err = s.pairs(ctx, k, seed)
		}
	}
	if values == nil && err == nil {
		products := productsOf(a, workers)
		s := &subspace[float64]{n: n, k: columns, workers: workers}
		s.product = func(x []float64) Product { return products(NewDense(n, s.k, x)) }
		values, vectors, err = s.pairs(ctx, k, seed)
	}
	if err != nil {
		return nil, nil, err
	}
	for j := range values {
		values[j] /= scale
	}
	return values, vectors, nil
}

const (
	ritzSpare  = 8   // vectors beyond those wanted, at least
	ritzDegree = 4   // degree of the polynomial
	ritzWider  = 1.2 // the polynomial is small down to this multiple of the least value
	// The polynomial is small up to this part of the first value, at least. It shrinks a vector at that edge to
	// 1/T₄(1/0.02) = 2e-8 of one that belongs to the first value. What rounding to float32 has left of the latter
	// in the former, 6e-8, is then a few times as long as the vector itself, but not so long that the next
	// Rayleigh–Ritz step could not tell them apart.
	ritzAbove = 0.02
)

// subspace is the space spanned by k vectors.
type subspace[F kernel.Float] struct {
	product       func(x []F) Product // A·x for an x of n×k, valid until the next call
	n, k, workers int
	x, ax         []F // n×k: a basis, and A times it
}

// pairs returns the first k values and their vectors. From a basis in float32 it returns none if A has fewer
// nonzero eigenvalues than the basis has columns, because rounding errors would stand in for the others.
func (s *subspace[F]) pairs(ctx context.Context, k int, seed uint64) (values []float64, vectors *Dense, err error) {
	s.x, s.ax = kernel.Room[F](s.n*s.k), kernel.Room[F](s.n*s.k)
	s.inBlocks(func(room []float64, lo, hi int) {
		from, to := lo*s.k, hi*s.k
		kernel.Centered(room[:to-from], seed, uint64(from))
		store(s.ax[from:to], room[:to-from])
	})
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	s.multiply(s.x, s.ax, 1, 0, 0)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	g, c := s.forms(s.ax)
	all, t, err := ritzTurn(ctx, g, c, s.k, s.workers)
	if err != nil {
		return nil, nil, err
	}
	if _, single := any(s.x).([]float32); single && t.cols < s.k {
		return nil, nil, nil
	}
	if err := s.filter(ctx, all, t); err != nil {
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	g, c = s.forms(nil)
	values, t, err = ritzTurn(ctx, g, c, k, s.workers)
	if err != nil {
		return nil, nil, err
	}
	vectors = NewDense(s.n, t.cols, kernel.Numbers(s.n*t.cols))
	kernel.Blocks(s.n, productRows, s.workers, func(_, lo, hi int) {
		kernel.RowsTimes(vectors.data[lo*t.cols:hi*t.cols], s.x[lo*s.k:hi*s.k], s.k, t.data, t.cols)
	})
	return values, vectors, nil
}

// inBlocks calls f for blocks of rows, with room for twice their numbers.
func (s *subspace[F]) inBlocks(f func(room []float64, lo, hi int)) {
	kernel.BlocksWith(s.n, productRows, s.workers, func() []float64 { return make([]float64, 2*productRows*s.k) }, func(room []float64, _, lo, hi int) { f(room, lo, hi) })
}

// widened returns x in float64. room holds the result if x is in float32.
func widened[F kernel.Float](room []float64, x []F) []float64 {
	switch x := any(x).(type) {
	case []float32:
		kernel.ToFloat64(room[:len(x)], x)
		return room[:len(x)]
	default:
		return x.([]float64)
	}
}

// store sets dst to x, rounded if dst is in float32.
func store[F kernel.Float](dst []F, x []float64) {
	switch dst := any(dst).(type) {
	case []float32:
		kernel.ToFloat32(dst, x)
	case []float64:
		copy(dst, x)
	}
}

// multiply sets y to a·A·x + b·x + c·y.
func (s *subspace[F]) multiply(y, x []F, a, b, c float64) {
	p := s.product(x)
	s.inBlocks(func(room []float64, lo, hi int) {
		from, to := lo*s.k, hi*s.k
		rows, other := room[:to-from], room[to-from:]
		p.RowsTo(rows, lo, hi)
		if a != 1 {
			kernel.Scale(rows, a)
		}
		if b != 0 {
			kernel.Axpy(rows, b, widened(other, x[from:to]))
		}
		if c != 0 {
			kernel.Axpy(rows, c, widened(other, y[from:to]))
		}
		store(y[from:to], rows)
	})
}

// forms returns xᵀx and xᵀAx for the basis x. It stores A·x in ax, unless that is nil.
func (s *subspace[F]) forms(ax []F) (g, c *Dense) {
	k, p := s.k, s.product(s.x)
	sums := newRowSums(s.n, 2*k*k, s.workers).ofWith(2*k*k, 2*productRows*k, func(sums, room []float64, lo, hi int) {
		for ; lo < hi; lo += productRows {
			from, to := lo*k, min(lo+productRows, hi)*k
			rows, x := room[:to-from], widened(room[to-from:], s.x[from:to])
			p.RowsTo(rows, lo, to/k)
			kernel.Gram(sums[:k*k], x, k)
			kernel.TransTimes(sums[k*k:], x, k, rows, k)
			if ax != nil {
				store(ax[from:to], rows)
			}
		}
	})
	return NewDense(k, k, sums[:k*k]), NewDense(k, k, sums[k*k:])
}

// ritzTurn returns, for a basis x with g = xᵀx and c = xᵀAx, the largest Ritz values in decreasing order, as
// many as most says or there are, and the t for which x·t are their vectors. It drops what is not
// independent, and overwrites g and c.
func ritzTurn(ctx context.Context, g, c *Dense, most, workers int) (values []float64, t *Dense, err error) {
	k := g.cols
	lengths := columnNorms(g)
	for _, m := range []*Dense{g, c} { // scale to columns of length 1
		for i := range k {
			for j := range k {
				if d := lengths[i] * lengths[j]; d != 0 {
					m.data[i*k+j] /= d
				}
			}
		}
	}
	t, err = inverseRootOf(ctx, g, workers)
	if err != nil {
		return nil, nil, err
	}
	c = transTimes(t, times(c, t, 1), 1)
	c.Symmetrize(Average)
	values, z, _, err := topEigen(ctx, c.data, t.cols, min(most, t.cols), workers)
	if err != nil {
		return nil, nil, err
	}
	t = times(t, NewDense(t.cols, len(values), z), 1)
	for i, length := range lengths {
		if length > 0 {
			kernel.Scale(t.Row(i), 1/length)
		}
	}
	return values, t, nil
}

// inverseRootOf returns a t with tᵀgt = I, where g holds the inner products of vectors of length 1. It uses
// the Cholesky factor or, if some vectors depend on others up to rounding, the eigenvalues that are not
// rounding. It overwrites g.
func inverseRootOf(ctx context.Context, g *Dense, workers int) (t *Dense, err error) {
	const (
		mostCond  = 1e10    // of g, for the Cholesky factor
		dependent = 0x1p-40 // eigenvalues up to this part of the largest are rounding
	)
	k := g.cols
	sym := mat.NewSymDense(k, g.data)
	var chol mat.Cholesky
	if chol.Factorize(sym) && chol.Cond() <= mostCond {
		var root, inverse mat.TriDense
		chol.UTo(&root)
		if err := inverse.InverseTri(&root); err == nil {
			t = NewDense(k, k, nil)
			for i := range k {
				for j := i; j < k; j++ {
					t.data[i*k+j] = inverse.At(i, j)
				}
			}
			return t, nil
		}
	}
	size, w, _, err := topEigen(ctx, g.data, k, k, workers)
	if err != nil {
		return nil, err
	}
	kept := 0
	for kept < k && size[kept] > dependent*size[0] {
		kept++
	}
	if kept == 0 {
		return nil, fmt.Errorf("%w: products with the operator are zero though its norm is not", ErrEigen)
	}
	t = NewDense(k, kept, nil)
	for i := range k {
		for j := range kept {
			t.data[i*kept+j] = w[i*k+j] / math.Sqrt(size[j])
		}
	}
	return t, nil
}

// filter sets the basis to p(A) times its Ritz vectors x·t, which have the given values. It overwrites A·x.
//
// p is the Chebyshev polynomial of an interval from below the least value to the last value of the block,
// with p(λ) = 1 for the largest one. Vectors of eigenvalues inside the interval become small, whatever their
// sign. If the last values are negative, the block holds more vectors than there are positive values; the
// interval then goes up to a part of the first value.
func (s *subspace[F]) filter(ctx context.Context, values []float64, t *Dense) error {
	first, last := values[0], values[len(values)-1]
	first = max(first, -last) // in case negative values are so many, or so large, that they hide the others
	above := max(ritzAbove*first, last)
	below := min(-above, ritzWider*last)
	center, half := (above+below)/2, (above-below)/2
	sigma := half / (first - center)
	ratio := sigma
	s.turn(t, ratio/half, -center*ratio/half)
	for range ritzDegree - 1 {
		if err := ctx.Err(); err != nil {
			return err
		}
		after := 1 / (2/sigma - ratio)
		s.multiply(s.x, s.ax, 2*after/half, -2*after*center/half, -ratio*after)
		ratio = after
		s.x, s.ax = s.ax, s.x
	}
	s.x, s.ax = s.ax, nil
	return nil
}

// turn sets the basis to x·t, and replaces A·x by a·A·x·t + b·x·t.
func (s *subspace[F]) turn(t *Dense, a, b float64) {
	k, to := s.k, t.cols
	x, ax := s.x, s.ax
	if to < k { // rare
		s.x, s.ax = make([]F, s.n*to), make([]F, s.n*to)
	}
	s.inBlocks(func(room []float64, lo, hi int) {
		n := (hi - lo) * to
		turned, other := room[:n], room[n:2*n]
		clear(room[:2*n])
		kernel.RowsTimes(turned, x[lo*k:hi*k], k, t.data, to)
		kernel.AddRowsTimes(other, a, ax[lo*k:hi*k], k, t.data, to)
		kernel.Axpy(other, b, turned)
		store(s.x[lo*to:hi*to], turned)
		store(s.ax[lo*to:hi*to], other)
	})
	s.k = to
}
