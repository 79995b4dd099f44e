package matrix

import (
	"context"
	"fmt"
	"math"
	"slices"

	"symnmf/internal/kernel"
)

const (
	panelSteps  = 32  // steps of a reduction between updates of all the rest of the matrix
	reduceAlone = 200 // with fewer rows, one thread reduces a matrix before others could begin
)

// topEigen returns the k largest eigenvalues of a (p×p, by rows, symmetric) in decreasing order, their
// eigenvectors as the columns of vec (p×k by rows), and ‖a‖₂. It reads the upper triangle of a, and
// overwrites all of it.
//
// Values and residuals err by some p·ε·‖a‖₂, and vectors are orthonormal to some p·ε. The bits do not depend
// on workers. If ctx is cancelled, only its error is returned.
//
// It takes O(p³) for the reduction, O(k·p²) for the rest, and memory for k·p more numbers. If a hundred of
// the values or more are equal, the rest may take O(p³) and memory for p² numbers, without looking at ctx.
//
// Method: a = Q·T·Qᵀ by Householder reflections, with T tridiagonal; the eigenvalues of T by the QL
// iteration; the vectors by inverse iteration, each orthogonalized against those before. Sources: Dongarra,
// Hammarling and Sorensen, Block reduction of matrices to condensed forms for eigenvalue computations, J.
// Comput. Appl. Math. 27 (1989); Ipsen, Computing an eigenvector with inverse iteration, SIAM Review 39
// (1997).
func topEigen(ctx context.Context, a []float64, p, k, workers int) (val, vec []float64, norm2 float64, err error) {
	largest := 0.0
	for i := range p {
		for l := i; l < p; l++ {
			v := a[i*p+l]
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, nil, 0, fmt.Errorf("%w: a product with the operator has %v", ErrNotFinite, v)
			}
			largest = max(largest, math.Abs(v))
			a[l*p+i] = v
		}
	}
	scale := unitScale(largest)
	kernel.Scale(a, scale)
	if p < reduceAlone {
		workers = 1
	}
	team := kernel.NewTeam(workers)
	defer team.Close()
	s := reduction{p: p, a: a, team: team, d: make([]float64, p), e: make([]float64, p), tau: make([]float64, p)}
	if err := s.reduce(ctx); err != nil {
		return nil, nil, 0, err
	}
	t, err := newTridiagonal(s.d, s.e[:max(p-1, 0)])
	if err != nil {
		return nil, nil, 0, err
	}
	y, err := t.vectors(ctx, k)
	if err != nil {
		return nil, nil, 0, err
	}
	if err := s.turnBack(ctx, y); err != nil {
		return nil, nil, 0, err
	}
	val, vec = make([]float64, k), make([]float64, p*k)
	for l := range k {
		val[l] = t.values[l].value / scale
		for i, v := range y[l*p : (l+1)*p] {
			vec[i*k+l] = v
		}
	}
	return val, vec, t.norm2() / scale, nil
}

// reduction is the reduction of a symmetric matrix to a tridiagonal one. Step j reflects by I − τ_j·v_j·v_jᵀ,
// where v_j is zero up to j and one at j+1, so that row j has only zeros beyond j+1; v_j is stored there. A
// row i > j lags behind by the steps of a panel. It is
//
//	a_i − Σ_q (v_q)_i·w_q + (w_q)_i·v_q
//
// with the sum over those steps.
type reduction struct {
	p    int
	a    []float64 // p×p by rows
	team *kernel.Team

	d, e, tau []float64 // the diagonal of T, the numbers beside it, and τ
}

// reduce computes T and the reflections.
func (s *reduction) reduce(ctx context.Context) error {
	p := s.p
	w := make([]float64, panelSteps*p)
	for from := 0; from < p; from += panelSteps {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(from+panelSteps, p)
		for j := from; j < to; j++ {
			s.update(j, j, from, j, w)
			row := s.a[j*p:]
			s.d[j] = row[j]
			if j+1 == p {
				break
			}
			v := row[j+1 : p]
			s.e[j], s.tau[j] = mirrorFirst(v)
			s.multiply(w[(j-from)*p+j+1:(j-from+1)*p], v, from, j, w)
		}
		s.inParts(p-to, func(lo, hi int) {
			for i := to + lo; i < to+hi; i++ {
				s.update(i, to, from, to, w)
			}
		})
	}
	return nil
}

// update applies steps from to upTo−1, whose w_q are in w, to row i from the given column on.
func (s *reduction) update(i, column, from, upTo int, w []float64) {
	p := s.p
	row := s.a[i*p+column : (i+1)*p]
	v := func(q int) []float64 { return s.a[q*p+column : (q+1)*p] }
	wq := func(q int) []float64 { return w[(q-from)*p+column : (q-from+1)*p] }
	coef := func(q int) (cw, cv float64) { return -s.a[q*p+i], -w[(q-from)*p+i] }
	q := from
	for ; q+2 <= upTo; q += 2 {
		var c [4]float64
		c[0], c[1] = coef(q)
		c[2], c[3] = coef(q + 1)
		kernel.Axpy4(row, &c, wq(q), v(q), wq(q+1), v(q+1))
	}
	if q < upTo {
		cw, cv := coef(q)
		kernel.Axpy(row, cw, wq(q))
		kernel.Axpy(row, cv, v(q))
	}
}

// mirrorFirst replaces x by the v, with 1 as its first number, for which (I − τvvᵀ)x = (e, 0, …).
func mirrorFirst(x []float64) (e, tau float64) {
	const nothing = 0x1p-400 // negligible beside a matrix of size 1, and too small for exact squares
	first, rest := x[0], math.Sqrt(kernel.SumSq(x[1:]))
	x[0] = 1
	if rest < nothing {
		clear(x[1:])
		return first, 0
	}
	e = -math.Copysign(math.Hypot(first, rest), first)
	kernel.Scale(x[1:], 1/(first-e))
	return e, (e - first) / e
}

// multiply sets dst to the w of step j: τ·(a·v − Σ …), minus the part along v that makes the reflection act
// from both sides.
func (s *reduction) multiply(dst, v []float64, from, j int, w []float64) {
	p, tau := s.p, s.tau[j]
	if tau == 0 {
		clear(dst)
		return
	}
	s.inParts(len(v), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			dst[i] = kernel.Dot(s.a[(j+1+i)*p+j+1:(j+2+i)*p], v)
		}
	})
	for q := from; q < j; q++ {
		vq, wq := s.a[q*p+j+1:(q+1)*p], w[(q-from)*p+j+1:(q-from+1)*p]
		cv, cw := -kernel.Dot(wq, v), -kernel.Dot(vq, v)
		kernel.Axpy(dst, cv, vq)
		kernel.Axpy(dst, cw, wq)
	}
	kernel.Scale(dst, tau)
	kernel.Axpy(dst, -tau/2*kernel.Dot(dst, v), v)
}

// turnBack multiplies the rows of y, p numbers each, by Qᵀ.
func (s *reduction) turnBack(ctx context.Context, y []float64) error {
	const (
		together = 16  // rows for which the reflections are read once
		atOnce   = 256 // rows between two looks at ctx
	)
	p := s.p
	for part := range slices.Chunk(y, max(p*atOnce, 1)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows := len(part) / p
		s.team.Do((rows+together-1)/together, func(k int) {
			some := part[k*together*p : min((k+1)*together, rows)*p]
			for j := p - 2; j >= 0; j-- {
				if s.tau[j] == 0 {
					continue
				}
				v := s.a[j*p+j+1 : (j+1)*p]
				for l := j + 1; l < len(some); l += p {
					row := some[l : l+len(v)]
					kernel.Axpy(row, -s.tau[j]*kernel.Dot(v, row), v)
				}
			}
		})
	}
	return nil
}

// inParts calls f for parts of n rows, which members of the team share.
func (s *reduction) inParts(n int, f func(lo, hi int)) {
	const rows = 64
	if n < 2*rows || s.team.Members() == 1 {
		f(0, n)
		return
	}
	s.team.Do((n+rows-1)/rows, func(part int) { f(part*rows, min((part+1)*rows, n)) })
}
