package matrix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"symnmf/internal/kernel"
)

// Compression says how Compress works.
type Compression struct {
	// Columns is how many vectors span the space A is compressed to: at least 1, and counted as n when more.
	Columns int
	// Power is how many more times A is applied to them, which turns them towards the eigenvectors of the largest |λ|. With 2,
	// and 10 or 20 columns more than are kept, the error is within a few percent of the least there is; 0 is enough where the
	// spectrum falls off a cliff.
	Power int
	// Keep is how many eigenvalues to keep, those of the largest magnitude; 0 means all. Those below some 10⁻¹⁴ of the largest
	// are not found.
	Keep int
	// Near, if it is not 0, is how far from A the operator may be to be of use, relatively. Where by the first product it looks as if the best of its rank were
	// farther, Compress gives up with ErrFar; and with columns to spare it begins with an Ω that has zeros, which takes less time, and now and then misses what numbers everywhere would find. It does without
	// the last product where what it has is near enough by a bound.
	Near float64
	// Seed fixes the vectors at the start.
	Seed uint64
	// Workers is how many goroutines may work at once.
	Workers int
}

// ErrCompression reports a Compression that makes no sense, ErrFar that there is no operator of that rank as near as wanted.
var (
	ErrCompression = errors.New("matrix: bad compression")
	ErrFar         = errors.New("matrix: no low rank is near")
)

// Compress returns an operator Ã of low rank near a, and ‖A − Ã‖_F or, with Near, a bound on it. With Ω an n×Columns matrix of uniform numbers in
// [−1, 1], or zeros but for eight of them for each item, or seven, where Near is given and there are 48 columns or more and more than are kept, Q an orthonormal basis of the columns of A^(1+Power)·Ω, and B = QᵀAQ with eigenvalues λ, vectors W: Ã = U·diag(λ)·Uᵀ for U = Q·W.
//
// The distance is exact for an orthonormal Q, as QBQᵀ is the projection of A on the matrices QMQᵀ, and dropping eigenvalues
// of B is dropping orthogonal terms:
//
//	‖A − U·diag(λ)·Uᵀ‖² = ‖A‖² − Σλ²   over the λ that are kept
//
// The difference cancels: below some 1e-7·‖A‖, or of what ‖A‖² itself is what is left of (Taken), it is noise, and 0 where it comes out negative. With ErrFar it is an estimate.
//
// Where Near is given, all of that is of XXᵀ for dense points that keep it (Folded), since products with that take next to nothing, and Ã = Xᵀ·U·Uᵀ·X; Ω has no zeros then, and the distance is exact, too. Of any other A, with Power ≥ 1, the last product but one is enough if
// Nyström's formula is, and the distance is a bound. Else Ã is, to rounding, the same for A in any form.
//
// Power+2 products of A with Columns vectors, or one less, of a dense A the first with 8 if that is enough, and O(n·Columns²) besides; some four n×Columns matrices of memory. The same for any
// number of workers. A context that is cancelled is noticed after the product at work, and then its error is returned and nothing else.
//
// Source: Halko, Martinsson, Tropp, Finding structure with randomness, SIAM Review 53, 2011, Algorithms 4.4, 5.3 and 5.5.
func Compress(ctx context.Context, a Operator, c Compression) (Operator, float64, error) {
	if c.Columns < 1 || c.Power < 0 || c.Keep < 0 || !(c.Near >= 0) {
		return nil, 0, fmt.Errorf("%w: %+v", ErrCompression, c)
	}
	// Squares of what follows must exist.
	scale := unitScale(a.Norm())
	a, negatives := a.Scaled(scale), a.Negatives()
	of, points := a, (*GramOperator)(nil)
	if g, m := featuresOf(a); m != nil && c.Near > 0 {
		of, points = g, m
	}
	q, rest, err := c.span(ctx, of, min(c.Columns, of.Dim()), points == nil)
	if err != nil {
		return nil, math.Sqrt(rest) / scale, err
	}
	told := func(m *GramOperator, distance float64) (Operator, float64, error) {
		m.negatives = negatives
		return m.Scaled(1 / scale), distance / scale, nil
	}
	aq := multiply(of, q, c.Workers)
	for left := c.Power; left > 0; left-- {
		if left == 1 && points == nil { // for points another product takes next to nothing
			if m, bound := c.nearEnough(ctx, a, q, aq); m != nil {
				return told(m, bound)
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		q = orthonormalize(aq, c.Workers)
		aq = multiply(of, q, c.Workers)
	}
	lambda, w, err := eigen(ctx, transTimes(q, aq, c.Workers), c.Workers)
	if err != nil {
		return nil, 0, err
	}
	if c.Keep > 0 {
		lambda = lambda[:min(c.Keep, len(lambda))]
	}
	errSq := a.Norm() * a.Norm()
	var m *GramOperator
	if points != nil {
		var left float64
		m, left, err = points.lowRankAlong(q, aq, w, lambda, c.Workers)
		errSq += left
	} else {
		for _, l := range lambda {
			errSq -= l * l
		}
		m, err = newLowRank(q, w, lambda, c.Workers)
	}
	if err != nil {
		return nil, 0, err
	}
	return told(m, math.Sqrt(max(0, errSq)))
}

// nearEnough returns what Nyström's formula makes of the orthonormal q and A·q, and a bound on its distance from A, or nil where that is not as near as is asked for.
func (c Compression) nearEnough(ctx context.Context, a Operator, q, aq *Dense) (m *GramOperator, bound float64) {
	if c.Near == 0 {
		return nil, 0
	}
	m, bound, err := nystrom(ctx, q, aq, a.Norm(), c.Keep, c.Workers)
	if err != nil || bound > c.Near*a.Norm() {
		return nil, 0
	}
	return m, bound
}

// span returns an orthonormal basis of A·Ω with so many columns, or ErrFar, and the square of about how far A is. Ω may have zeros only where rows of A are items, of which it takes long: features
// next to each other often have nothing to do with any others.
func (c Compression) span(ctx context.Context, a Operator, columns int, items bool) (q *Dense, rest float64, err error) {
	spare := c.Near > 0 && c.Keep > 0 && c.Keep < columns
	start := newSketch(a.Dim(), columns, spare && items, c.Seed)
	y := start.times(a, c.Workers)
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	if most := y.largest(c.Workers); !(most <= math.MaxFloat64) {
		return nil, 0, fmt.Errorf("%w: a product with the operator has %v", ErrNotFinite, most)
	}
	if spare {
		// What is left of a column that is freed of those before it is, on average, what A has outside of their space of a group of items, times what a number of Ω
		// has. The last columns are of as many groups as there are of them, or of all: those are taken for the others.
		const variance = 1.0 / 3
		over := float64(columns - c.Keep)
		rest := restOfColumns(gram(y, c.Workers), c.Keep) / over * float64(start.groups) / variance
		// A rule of thumb, after what the space of all columns leaves on average for a Gaussian Ω: at most 1 + keep/(over − 1) times what the best of rank keep does (Theorem 10.5).
		if far := c.Near * a.Norm(); rest > far*far*(1+float64(c.Keep)/(over-1)) {
			return nil, rest, ErrFar
		}
	}
	return orthonormalize(y, c.Workers), 0, nil
}

// restOfColumns returns the sum of the squares of what is left of the columns of Y from keep on when each is freed of what it has in common with
// those before, from g = YᵀY (k×k).
func restOfColumns(g *Dense, keep int) (rest float64) {
	const dependent = 0x1p-40 // of its square is left of a column that is rounding of others
	k := g.rows
	l := make([]float64, k*k) // of Cholesky's decomposition
	for i := range k {
		row := l[i*k : (i+1)*k]
		for j := range i {
			if d := l[j*k+j]; d > 0 {
				row[j] = (g.At(i, j) - kernel.Dot(row[:j], l[j*k:j*k+j])) / d
			}
		}
		if left := g.At(i, i) - kernel.SumSq(row[:i]); left > dependent*g.At(i, i) {
			row[i] = math.Sqrt(left)
			if i >= keep {
				rest += left
			}
		}
	}
	return rest
}

// eigen returns the eigenvalues of the symmetric matrix b, in order of falling magnitude, and in the same order its
// eigenvectors, as columns. Of b_ij and b_ji it takes the mean. It spoils b.
func eigen(ctx context.Context, b *Dense, workers int) (values []float64, vectors *Dense, err error) {
	n := b.rows
	b.Symmetrize(Average)
	found, w, _, err := topEigen(ctx, b.data, n, n, workers)
	if err != nil {
		return nil, nil, err
	}
	order := make([]int, n)
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(k, l int) int { return cmp.Compare(math.Abs(found[l]), math.Abs(found[k])) })
	vectors = NewDense(n, n, nil)
	for k, f := range order {
		values = append(values, found[f])
		for i := range n {
			vectors.Set(i, k, w[i*n+f])
		}
	}
	return values, vectors, nil
}

// orthonormalize returns an orthonormal basis of the columns of y (n×k), of as many vectors as are independent to rounding.
//
// It is the QR decomposition by way of Cholesky's, YᵀY = RᵀR and Q = Y·R⁻¹, which costs three products of blocks but squares
// the condition of Y. So only as many columns are taken at once, by pivoting, as have a condition of some 10⁴; their Q is
// orthogonal to 10⁻⁸ or so, and when the same is done to Q, to rounding. The other columns are freed of what they have in
// common with those, as often as that makes them much shorter or alike, and have their turn.
func orthonormalize(y *Dense, workers int) *Dense {
	const mostTurns = 5       // two or three do
	const dependent = 0x1p-46 // of its norm is left of a column that is rounding of others
	q, all, g := NewDense(y.rows, 0, nil), y, gram(y, workers)
	norms := columnNorms(g)
	rest := make([]int, y.cols) // the columns of all that y has
	for k := range rest {
		rest[k] = k
	}
	for {
		left := columnNorms(g)
		for k, f := range rest {
			if left[k] <= dependent*norms[f] {
				left[k] = 0
			}
		}
		t, taken := inverseFactor(g, left)
		if len(taken) == 0 {
			return q
		}
		more := times(y, t, workers)
		for range mostTurns {
			more = project(more, q, workers)
			g = gram(more, workers)
			t, _ = inverseFactor(g, columnNorms(g))
			more = times(more, t, workers)
			if fromIdentity(g) < 0.5 { // else rounding of what was taken off is more beside what is left
				break
			}
		}
		q = beside(q, more)
		var next []int
		for k, f := range rest {
			if left[k] > 0 && !slices.Contains(taken, k) {
				next = append(next, f)
			}
		}
		if len(next) == 0 {
			return q
		}
		rest, y = next, project(columnsOf(all, next), q, workers)
		g = gram(y, workers)
	}
}

// fromIdentity returns ‖g − I‖_F.
func fromIdentity(g *Dense) float64 {
	var sq float64
	for i := range g.rows {
		for j, v := range g.Row(i) {
			if i == j {
				v--
			}
			sq += v * v
		}
	}
	return math.Sqrt(sq)
}

// inverseFactor returns the t (k×q) that makes the columns of Y·t orthonormal for YᵀY = g (k×k), and the q columns of Y that
// it takes. norms are those of the columns of Y; one with norm 0 is not taken.
func inverseFactor(g *Dense, norms []float64) (t *Dense, taken []int) {
	// What is left of the square of the norm of a column, freed of those taken before, for it to be taken.
	const least = 1e-8
	k := g.rows
	if k == 0 {
		return g, nil
	}
	s := mat.NewSymDense(k, nil)
	for i := range k {
		for j := i; j < k; j++ {
			if norms[i] > 0 && norms[j] > 0 {
				s.SetSym(i, j, g.At(i, j)/norms[i]/norms[j])
			}
		}
	}
	var c mat.PivotedCholesky
	c.Factorize(s, least)
	q := c.Rank()
	t, taken = NewDense(k, q, nil), c.ColumnPivots(nil)[:q]
	if q == 0 {
		return t, nil
	}
	var u, inverse mat.TriDense
	c.UTo(&u)
	_ = inverse.InverseTri(u.SliceTri(0, q)) // an error would say that the diagonal falls below √least
	for a, i := range taken {
		for b := a; b < q; b++ {
			t.Set(i, b, inverse.At(a, b)/norms[i])
		}
	}
	return t, taken
}

// columnNorms returns the norms of the columns of Y from YᵀY.
func columnNorms(g *Dense) []float64 {
	norms := make([]float64, g.rows)
	for k := range norms {
		norms[k] = math.Sqrt(g.At(k, k))
	}
	return norms
}

// project returns y − Q·(Qᵀy), in y.
func project(y, q *Dense, workers int) *Dense {
	if q.cols > 0 {
		kernel.Axpy(y.data, -1, times(q, transTimes(q, y, workers), workers).data)
	}
	return y
}

func columnsOf(m *Dense, columns []int) *Dense {
	out := NewDense(m.rows, len(columns), nil)
	for i := range m.rows {
		row, from := out.Row(i), m.Row(i)
		for k, f := range columns {
			row[k] = from[f]
		}
	}
	return out
}

// beside returns the columns of a and after them those of b.
func beside(a, b *Dense) *Dense {
	if a.cols == 0 {
		return b
	}
	out := NewDense(a.rows, a.cols+b.cols, nil)
	for i := range a.rows {
		copy(out.Row(i), a.Row(i))
		copy(out.Row(i)[a.cols:], b.Row(i))
	}
	return out
}

// productRows is how many rows of a product are computed at a time.
const productRows = 64

// multiply returns A·h.
func multiply(a Operator, h *Dense, workers int) *Dense {
	out := NewDense(h.rows, h.cols, nil)
	productTo(out, a.NewProduct(h, workers), workers)
	return out
}

// productTo sets dst to all of p.
func productTo(dst *Dense, p Product, workers int) {
	r := dst.cols
	kernel.Blocks(dst.rows, productRows, workers, func(_, lo, hi int) { p.RowsTo(dst.data[lo*r:hi*r], lo, hi) })
}

// times returns a·b for an a of many rows.
func times(a, b *Dense, workers int) *Dense {
	out, k, r := NewDense(a.rows, b.cols, nil), a.cols, b.cols
	kernel.Blocks(a.rows, productRows, workers, func(_, lo, hi int) {
		kernel.RowsTimes(out.data[lo*r:hi*r], a.data[lo*k:hi*k], k, b.data, r)
	})
	return out
}

// transTimes returns aᵀb for matrices of many rows.
func transTimes(a, b *Dense, workers int) *Dense {
	k, r := a.cols, b.cols
	return NewDense(k, r, sumParts(a.rows, k*r, workers, func(c []float64, lo, hi int) {
		kernel.TransTimes(c, a.data[lo*k:hi*k], k, b.data[lo*r:hi*r], r)
	}))
}

// gram returns yᵀy.
func gram(y *Dense, workers int) *Dense {
	k := y.cols
	return NewDense(k, k, sumParts(y.rows, k*k, workers, func(g []float64, lo, hi int) { kernel.Gram(g, y.data[lo*k:hi*k], k) }))
}
