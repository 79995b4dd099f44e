package matrix

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"symnmf/internal/kernel"
)

// RitzPairs approximates the k algebraically largest eigenvalues of a and their eigenvectors, 1 ≤ k ≤ n, by a fixed number of products with A: enough for a start, where Eigen finds them to an
// error that it tells. Nothing says how near they are; each value is ⟨A·u, u⟩ of its vector, so none is above λ₁.
//
// Values decrease, and vectors are the columns of an n×k matrix, orthonormal to some 1e-6; there are fewer where A, or what rounding leaves of it, has no more, zeros not counted. When ctx is cancelled nothing but its error is returned. The answer is a function of a, k and seed, and the same for any number of workers.
//
// 6 products of A with k + 8 vectors, or 1.25·k, or a few more, and O(n·k²) for two Rayleigh–Ritz steps; three matrices of that size.
//
// Method: a Rayleigh–Ritz step on A·Ω, Ω random; of its vectors, a Chebyshev polynomial in A that is small where the unwanted eigenvalues are, negative ones as well; and another such step.
// Source: Zhou, Saad, Tiago, Chelikowsky, Self-consistent-field calculations using Chebyshev-filtered subspace iteration, J. Comput. Phys. 219, 2006, of which this is one pass.
func RitzPairs(ctx context.Context, a Operator, k int, seed uint64, workers int) (values []float64, vectors *Dense, err error) {
	n := a.Dim()
	if k < 1 || k > n {
		return nil, nil, fmt.Errorf("%w: %d of a matrix with %d rows", ErrEigen, k, n)
	}
	if a.Norm() == 0 {
		return nil, NewDense(n, 0, nil), nil
	}
	scale := unitScale(a.Norm()) // squares of what follows must exist
	s := &subspace{a: a.Scaled(scale), k: min((k+max(ritzSpare, k/4)+7)/8*8, n), workers: workers}
	s.multiply = Repeated(s.a, workers)
	s.x, s.ax = s.room(), s.room()
	kernel.Blocks(n, productRows, workers, func(_, lo, hi int) {
		for p := lo * s.k; p < hi*s.k; p++ {
			s.ax.data[p] = float64(int64(kernel.Mix(seed^kernel.Mix(uint64(p))))) * 0x1p-63
		}
	})
	for _, step := range []func() error{
		func() error { s.multiply(s.x, s.ax); return nil },
		func() error { s.multiply(s.ax, s.x); return nil },
		s.turn,
		func() error { return s.filter(ctx) },
		func() error { s.multiply(s.ax, s.x); return nil },
		s.turn,
	} {
		if err = ctx.Err(); err == nil {
			err = step()
		}
		if err != nil {
			return nil, nil, err
		}
	}
	k = min(k, s.k)
	for _, v := range s.values[:k] {
		values = append(values, v/scale)
	}
	vectors = NewDense(n, k, s.ax.data[:n*k]) // A·X is not wanted any more
	for i := range n {
		copy(vectors.Row(i), s.x.Row(i))
	}
	return values, vectors, nil
}

const (
	ritzSpare  = 8    // vectors beyond those that are wanted, at least
	ritzDegree = 4    // of the polynomial
	ritzWider  = 1.2  // times the least value, how far down that is small
	ritzAbove  = 0.02 // of the first value, how far up at least
)

// subspace is a space of k vectors.
type subspace struct {
	a        Operator
	multiply func(dst, x *Dense) // sets dst to A·x
	k        int
	x, ax    *Dense // n×k: a basis, and A times it
	values   []float64
	workers  int
}

func (s *subspace) room() *Dense { return NewDense(s.a.Dim(), s.k, kernel.Numbers(s.a.Dim()*s.k)) }

// turn makes the basis that of the Ritz vectors, by falling values, and A·X follow; what is not independent is left out.
func (s *subspace) turn() error {
	g, c := gram(s.x, s.workers), transTimes(s.x, s.ax, s.workers)
	lengths := columnNorms(g)
	divide := func(m *Dense) { // as if all columns had length 1
		for i := range s.k {
			for j := range s.k {
				if d := lengths[i] * lengths[j]; d != 0 {
					m.data[i*s.k+j] /= d
				}
			}
		}
	}
	divide(g)
	divide(c)
	size, w, _, err := topEigen(mat.NewSymDense(s.k, g.data), s.k)
	if err != nil {
		return err
	}
	const dependent = 0x1p-40 // of what is left of squares of length 1 where vectors are alike to rounding
	kept := 0
	for kept < s.k && size[kept] > dependent*size[0] {
		kept++
	}
	if kept == 0 {
		return fmt.Errorf("%w: products with the operator are zero though its norm is %v", ErrEigen, s.a.Norm())
	}
	t := NewDense(s.k, kept, nil)
	for i := range s.k {
		for j := range kept {
			t.data[i*kept+j] = w[i*s.k+j] / math.Sqrt(size[j])
		}
	}
	c = transTimes(t, times(c, t, 1), 1)
	c.Symmetrize(Average)
	values, z, _, err := topEigen(mat.NewSymDense(kept, c.data), kept)
	if err != nil {
		return err
	}
	s.values = values
	t = times(t, NewDense(kept, kept, z), 1)
	for i := range s.k {
		for j := range kept {
			if lengths[i] > 0 {
				t.data[i*kept+j] /= lengths[i]
			}
		}
	}
	s.rotate(t)
	return nil
}

// rotate multiplies the basis, and A times it, by t.
func (s *subspace) rotate(t *Dense) {
	if t.cols < s.k { // rare
		s.x, s.ax, s.k = times(s.x, t, s.workers), times(s.ax, t, s.workers), t.cols
		return
	}
	k := s.k
	kernel.BlocksWith(s.x.rows, productRows, s.workers, func() []float64 { return make([]float64, productRows*k) }, func(c []float64, _, lo, hi int) {
		for _, m := range []*Dense{s.x, s.ax} {
			rows, c := m.data[lo*k:hi*k], c[:(hi-lo)*k]
			clear(c)
			kernel.RowsTimes(c, rows, k, t.data, k)
			copy(rows, c)
		}
	})
}

// filter sets the basis to p(A) times itself, from Ritz vectors and A times them; A·X is not known then.
//
// p is the Chebyshev polynomial of an interval from below the least value to the last of the block, with p(λ) = 1 for the largest one: what is in between becomes small, whatever its sign.
// Where values at the end are negative the block has more than all positive ones; then the interval goes up to a part of the first.
func (s *subspace) filter(ctx context.Context) error {
	first, last := s.values[0], s.values[len(s.values)-1]
	first = max(first, -last) // where negative ones are so many, or so large, that they hide the others
	above := max(ritzAbove*first, last)
	below := min(-above, ritzWider*last)
	center, half := (above+below)/2, (above-below)/2
	sigma := half / (first - center)
	now, before, next := s.ax, s.x, s.room()
	ratio := sigma
	combine(now, ratio/half, before, -center*ratio/half, nil, 0, s.workers)
	for range ritzDegree - 1 {
		if err := ctx.Err(); err != nil {
			return err
		}
		after := 1 / (2/sigma - ratio)
		s.multiply(next, now)
		combine(next, 2*after/half, now, -2*after*center/half, before, -ratio*after, s.workers)
		ratio = after
		before, now, next = now, next, before
	}
	s.x, s.ax = now, before
	return nil
}

// combine sets x to a·x + b·y + c·z; z may be nil.
func combine(x *Dense, a float64, y *Dense, b float64, z *Dense, c float64, workers int) {
	k := x.cols
	kernel.Blocks(x.rows, productRows, workers, func(_, lo, hi int) {
		rows := x.data[lo*k : hi*k]
		kernel.Scale(rows, a)
		kernel.Axpy(rows, b, y.data[lo*k:hi*k])
		if z != nil {
			kernel.Axpy(rows, c, z.data[lo*k:hi*k])
		}
	})
}
