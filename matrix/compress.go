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

// Compression holds the settings of Compress.
type Compression struct {
	// Columns is the number of vectors that span the space A is compressed to. It is at least 1; more than n
	// counts as n.
	Columns int
	// Power is how many more times A is applied to these vectors, which turns them towards the eigenvectors
	// of the largest |λ|. With Power 2 and 10 or 20 columns more than are kept, the error is within a few
	// percent of the least possible; 0 is enough if the spectrum falls off sharply.
	Power int
	// Keep is the number of eigenvalues to keep, those of the largest magnitude; 0 means all. Eigenvalues
	// below some 10⁻¹⁴ of the largest are not found.
	Keep int
	// Near, if it is not 0, is the largest distance from A, relative to ‖A‖, at which the operator is of use.
	//
	//   - If there are columns to spare, 0 < Keep < Columns, and the first product suggests that even the
	//     best operator of rank Keep is farther away, Compress gives up with ErrFar.
	//   - If there are columns to spare, Ω may have zeros. That takes less time, and now and then misses what
	//     numbers everywhere would find.
	//   - The last product is skipped if a bound shows that what has been found is near enough.
	Near float64
	// Seed determines the random vectors at the start.
	Seed uint64
	// Workers is the number of goroutines that may work at once.
	Workers int
}

// ErrCompression reports a Compression with invalid settings, and ErrFar that no operator of that rank is as
// near as wanted.
var (
	ErrCompression = errors.New("matrix: bad compression")
	ErrFar         = errors.New("matrix: no matrix of low rank is near enough")
)

// Compress returns an operator Ã of low rank near a, and the distance ‖A − Ã‖_F or, with Near, a bound on it.
//
// Let Ω be an n×Columns matrix of uniform numbers in [−1, 1], Q an orthonormal basis of the columns of
// A^(1+Power)·Ω, and B = QᵀAQ with eigenvalues λ and eigenvectors W. Then Ã = U·diag(λ)·Uᵀ for U = Q·W. If
// Near is given and there are at least 48 columns, more than are kept, each item has numbers in only eight
// columns of Ω, or seven, and zeros in the others.
//
// The distance is exact for an orthonormal Q, because QBQᵀ is the projection of A on the matrices QMQᵀ, and
// dropping eigenvalues of B drops orthogonal terms:
//
//	‖A − U·diag(λ)·Uᵀ‖² = ‖A‖² − Σλ²   over the λ that are kept
//
// The difference cancels. Below some 1e-7·‖A‖, or 1e-7 of the number from which ‖A‖ itself is computed by
// subtraction (Taken), it is noise; where it comes out negative, the distance is 0. With ErrFar the distance
// is an estimate.
//
// With Near there are two shortcuts:
//
//   - Dense points that keep XXᵀ (Folded) are compressed through XXᵀ, with which products take next to
//     nothing, and Ã = Xᵀ·U·Uᵀ·X. Ω then has no zeros, and the distance is exact, too.
//   - For any other A and Power ≥ 1, the last product is skipped if Nyström's formula is near enough without
//     it; the distance is then a bound.
//
// Without these shortcuts Ã is, to rounding, the same whatever the form of A.
//
// It takes Power+2 products of A with Columns vectors, or one less; for a dense A the first product is with only
// 8 if Ω has zeros. O(n·Columns²) work and some four n×Columns matrices of memory come on top.
// The result is the same for any number of workers. If ctx is cancelled, Compress stops after the product in
// progress and returns the error of ctx and nothing else.
//
// Source: Halko, Martinsson, Tropp, Finding structure with randomness, SIAM Review 53, 2011, Algorithms 4.4,
// 5.3 and 5.5.
func Compress(ctx context.Context, a Operator, c Compression) (Operator, float64, error) {
	if c.Columns < 1 || c.Power < 0 || c.Keep < 0 || !(c.Near >= 0) {
		return nil, 0, fmt.Errorf("%w: %+v", ErrCompression, c)
	}
	// Scaling keeps the squares of what follows in range.
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
		if left == 1 && points == nil { // for points, another product takes next to nothing
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

// nearEnough returns the operator that Nyström's formula makes of the orthonormal q and A·q, and a bound on
// its distance from A. It returns nil if that is not as near as Near asks for.
func (c Compression) nearEnough(ctx context.Context, a Operator, q, aq *Dense) (m *GramOperator, bound float64) {
	if c.Near == 0 {
		return nil, 0
	}
	m, bound, err := nystrom(ctx, q, aq, a.Norm(), c.Keep, c.Workers)
	if err != nil || !(bound <= c.Near*a.Norm()) {
		return nil, 0
	}
	return m, bound
}

// span returns an orthonormal basis of A·Ω for an Ω with the given number of columns. If A is too far from
// low rank, it returns ErrFar and an estimate of the square of the distance.
//
// Ω may have zeros only if the rows of A are items, where a product takes long: neighboring features often
// have nothing in common with any others.
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
		// Remove from a column of Y its part in the space of the columns before it. The square of the rest
		// is, on average, the squared norm of what A, for the items of one group, has outside that space,
		// times the variance of a number of Ω. The last columns belong to as many groups as there are such
		// columns, or to all groups; these stand for the others.
		const variance = 1.0 / 3
		over := float64(columns - c.Keep)
		rest := restOfColumns(gram(y, c.Workers), c.Keep) / over * float64(start.groups) / variance
		// A rule of thumb, after what the space of all columns leaves on average for a Gaussian Ω (Theorem
		// 10.5): at most 1 + keep/(over − 1) times what the best of rank keep leaves.
		if far := c.Near * a.Norm(); rest > far*far*(1+float64(c.Keep)/(over-1)) {
			return nil, rest, ErrFar
		}
	}
	return orthonormalize(y, c.Workers), 0, nil
}

// restOfColumns returns the sum of the squares of the columns of Y from keep on, after removing from each
// column its part in the space of the columns before it, given g = YᵀY (k×k).
func restOfColumns(g *Dense, keep int) (rest float64) {
	const dependent = 0x1p-40 // a column with no more of its square left is the rounding of others
	k := g.rows
	l := make([]float64, k*k) // Cholesky factor
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

// eigen returns the eigenvalues of the symmetric matrix b in order of decreasing magnitude, and its
// eigenvectors as columns in the same order. It uses the mean of b_ij and b_ji, and overwrites b.
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

// orthonormalize returns an orthonormal basis of the columns of y (n×k), with as many vectors as are
// independent to rounding.
//
// It computes the QR decomposition by way of Cholesky's, YᵀY = RᵀR and Q = Y·R⁻¹, which costs three products
// of blocks but squares the condition number of Y. So it takes at once only as many columns, chosen by
// pivoting, as have a condition number of some 10⁴. Their Q is orthogonal to 10⁻⁸ or so, and to rounding
// after the same is done to Q. The other columns are orthogonalized against it, repeatedly if that makes them
// much shorter or more alike, and then have their turn.
func orthonormalize(y *Dense, workers int) *Dense {
	const mostTurns = 5       // two or three suffice
	const dependent = 0x1p-46 // a column with no more of its norm left is the rounding of others
	q, all, g := NewDense(y.rows, 0, nil), y, gram(y, workers)
	norms := columnNorms(g)
	rest := make([]int, y.cols) // which columns of all y holds
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
			if fromIdentity(g) < 0.5 { // otherwise rounding of what was subtracted matters in what is left
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

// inverseFactor returns the t (k×q) for which the columns of Y·t are orthonormal, where YᵀY = g (k×k), and
// the q columns of Y that it uses. norms are the norms of the columns of Y; a column with norm 0 is not used.
func inverseFactor(g *Dense, norms []float64) (t *Dense, taken []int) {
	// A column is used only if at least this part of its squared norm is left once it is orthogonal to those
	// used before.
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
	_ = inverse.InverseTri(u.SliceTri(0, q)) // an error would mean a diagonal entry below √least
	for a, i := range taken {
		for b := a; b < q; b++ {
			t.Set(i, b, inverse.At(a, b)/norms[i])
		}
	}
	return t, taken
}

// columnNorms returns the norms of the columns of Y, given g = YᵀY.
func columnNorms(g *Dense) []float64 {
	norms := make([]float64, g.rows)
	for k := range norms {
		norms[k] = math.Sqrt(g.At(k, k))
	}
	return norms
}

// project replaces y by y − Q·(Qᵀy), and returns it.
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

// beside returns the columns of a followed by those of b.
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

// productRows is the number of rows of a product that are computed at a time.
const productRows = 64

// multiply returns A·h.
func multiply(a Operator, h *Dense, workers int) *Dense {
	out := NewDense(h.rows, h.cols, nil)
	productTo(out, a.NewProduct(h, workers), workers)
	return out
}

// productTo sets dst to all rows of p.
func productTo(dst *Dense, p Product, workers int) {
	r := dst.cols
	kernel.Blocks(dst.rows, productRows, workers, func(_, lo, hi int) { p.RowsTo(dst.data[lo*r:hi*r], lo, hi) })
}

// times returns a·b, where a has many rows.
func times(a, b *Dense, workers int) *Dense {
	out, k, r := NewDense(a.rows, b.cols, nil), a.cols, b.cols
	kernel.Blocks(a.rows, productRows, workers, func(_, lo, hi int) {
		kernel.RowsTimes(out.data[lo*r:hi*r], a.data[lo*k:hi*k], k, b.data, r)
	})
	return out
}

// transTimes returns aᵀb, where both have many rows.
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
