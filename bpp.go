package symnmf

import (
	"math"
	"math/bits"
	"slices"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// nnls sets every row x of X (n×r) to argmin ½⟨x,Qx⟩ − ⟨z,x⟩ over x ≥ 0, where z is the same row of Z.
// Q = CᵀC + αI (r×r, by rows) and z = Cᵀd + … are those of a least-squares problem; Q may be singular. On
// entry the positive entries of X are the sets to begin with. nnls returns the number of rows that block
// principal pivoting left to an active-set method.
//
// Where Q is regular, the answer has x ≥ 0, y = Qx − z ≥ −10⁻¹²·s·√Q_jj, and x·y = 0 to the same accuracy,
// with s = max |z_j|/√Q_jj.
//
// Rows with the same set share the Cholesky factor of that set within blocks of rows that depend on n alone,
// so the answer does not depend on workers. About O(r³) for each set and O(r²) for each row and round, of
// which three to six are usual.
func (p *problem) nnls(x, z *matrix.Dense, q []float64) (left int) {
	n, r := x.Dims()
	fresh := newQuadratic(q, r)
	given := make([]int, kernel.BlockCount(n, pivotBlock))
	scratch := func() *pivoting { return newPivoting(fresh) }
	kernel.BlocksWith(n, pivotBlock, p.workers, scratch, func(s *pivoting, b, lo, hi int) {
		given[b] = s.solve(x.Data()[lo*r:hi*r], z.Data()[lo*r:hi*r])
	})
	for _, k := range given {
		left += k
	}
	return left
}

// pivotBlock is the number of rows that look for their sets together. Some hundreds of rows already share
// most of the sets that all rows have in common.
const pivotBlock = 512

// quadratic is the matrix Q that many problems share.
type quadratic struct {
	r    int
	q    []float64 // r×r
	root []float64 // √Q_jj; 0 where the effect of x_j cannot be told from underflow, and x_j stays 0
}

func newQuadratic(q []float64, r int) *quadratic {
	f := &quadratic{r: r, q: q, root: make([]float64, r)}
	for j := range r {
		if v := q[j*r+j]; v > 0x1p-900 {
			f.root[j] = math.Sqrt(v)
		}
	}
	return f
}

// size returns s = max_j |z_j|/√Q_jj, a lower bound of ‖d‖. x_j is of the order of s/√Q_jj, and (Qx)_j of
// s·√Q_jj.
func (f *quadratic) size(z []float64) (s float64) {
	for j, v := range z {
		if f.root[j] > 0 {
			s = max(s, math.Abs(v)/f.root[j])
		}
	}
	return s
}

// pivoting is block principal pivoting at work. Each row begins with the set F of the entries that may be
// positive. V is the set of entries with the wrong sign, x_j < 0 in F or y_j < 0 outside. The row exchanges
// entries of V between F and its complement until V is empty:
//
//	x_F = Q_FF⁻¹·z_F, x = 0 elsewhere;  y = Qx − z
//	|V| < least so far: exchange V, and allow 3 exchanges that do not make it less
//	one of these left: exchange V
//	else: exchange the last entry of V alone, which cannot cycle if Q is positive definite and no x_j or y_j is 0
//
// Source: Kim and Park, Toward faster nonnegative matrix factorization, ICDM 2008, and Fast nonnegative
// matrix factorization: an active-set-like method and comparisons, SIAM J. Sci. Comput. 33 (2011). Here rows
// are grouped by the sets themselves, as bits, which works for any r, and numbers within 10⁻¹² of their size
// count as zero, whatever the units.
type pivoting struct {
	*quadratic
	words  int      // of a set
	sets   []uint64 // F of each row
	tries  []int32  // exchanges left that need not make |V| less
	least  []int32  // the least |V| so far
	active []int    // rows at work
	index  []int    // the entries of F
	chol   []float64
	v      []uint64
	x, y   []float64
	rounds int
}

const (
	pivotTries = 3
	pivotZero  = 1e-12
)

func newPivoting(f *quadratic) *pivoting {
	words := (f.r + 63) / 64
	return &pivoting{
		quadratic: f, words: words, sets: make([]uint64, pivotBlock*words), tries: make([]int32, pivotBlock), least: make([]int32, pivotBlock),
		chol: make([]float64, f.r*f.r), v: make([]uint64, words), x: make([]float64, f.r), y: make([]float64, f.r), rounds: 5*f.r + 1,
	}
}

// solve is nnls for the rows of one block.
func (s *pivoting) solve(x, z []float64) (left int) {
	r, w := s.r, s.words
	s.active = s.active[:0]
	for i := range len(x) / r {
		set := s.sets[i*w : (i+1)*w]
		clear(set)
		for j, v := range x[i*r : (i+1)*r] {
			if v > 0 && s.root[j] > 0 {
				set[j/64] |= 1 << (j % 64)
			}
		}
		s.tries[i], s.least[i] = pivotTries, int32(r+1)
		s.active = append(s.active, i)
	}
	for range s.rounds {
		slices.SortFunc(s.active, func(i, l int) int { return slices.Compare(s.sets[i*w:(i+1)*w], s.sets[l*w:(l+1)*w]) })
		kept := s.active[:0]
		for k, i := range s.active {
			// The row before may have moved to another set, but v still has the set that was factored.
			if set := s.sets[i*w : (i+1)*w]; k == 0 || !slices.Equal(set, s.v) {
				copy(s.v, set)
				s.factor(set)
			}
			if !s.row(i, x[i*r:(i+1)*r], z[i*r:(i+1)*r]) {
				kept = append(kept, i)
			}
		}
		if s.active = kept; len(kept) == 0 {
			return 0
		}
	}
	for _, i := range s.active {
		s.activeSet(x[i*r:(i+1)*r], z[i*r:(i+1)*r])
	}
	return len(s.active)
}

// factor lists the entries of F and computes L, Q_FF = L·Lᵀ, stored by rows with a stride of r. Where only
// rounding is left of Q_jj, entry j depends on those before it: row and column j of L are zero, and x_j will
// be.
func (s *pivoting) factor(set []uint64) {
	r, l := s.r, s.chol
	s.index = s.index[:0]
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			s.index = append(s.index, 64*w+bits.TrailingZeros64(word))
		}
	}
	for a, j := range s.index {
		la := l[a*r : a*r+a]
		for b, k := range s.index[:a] {
			la[b] = 0
			if pivot := l[b*r+b]; pivot > 0 {
				la[b] = (s.q[j*r+k] - kernel.Dot(la[:b], l[b*r:b*r+b])) / pivot
			}
		}
		l[a*r+a] = 0
		if left := s.q[j*r+j] - kernel.SumSq(la); left > 100*float64(r)*0x1p-52*s.q[j*r+j] {
			l[a*r+a] = math.Sqrt(left)
		}
	}
}

// passive returns x_F = Q_FF⁻¹·z_F for the set factored last, with zeros for entries that depend on others.
func (s *pivoting) passive(z []float64) []float64 {
	r, l, xf := s.r, s.chol, s.x[:len(s.index)]
	for a, j := range s.index {
		xf[a] = 0
		if pivot := l[a*r+a]; pivot > 0 {
			xf[a] = (z[j] - kernel.Dot(l[a*r:a*r+a], xf[:a])) / pivot
		}
	}
	for a := len(xf) - 1; a >= 0; a-- {
		if pivot := l[a*r+a]; pivot > 0 {
			xf[a] /= pivot
			kernel.Axpy(xf[:a], -xf[a], l[a*r:a*r+a])
		}
	}
	return xf
}

// row solves row i on its set, which was factored last. If that is the answer, row stores it in x; otherwise
// it exchanges entries.
func (s *pivoting) row(i int, x, z []float64) (done bool) {
	r, xf := s.r, s.passive(z)
	for j, v := range z {
		s.y[j] = -v
	}
	for a, j := range s.index {
		kernel.Axpy(s.y, xf[a], s.q[j*r:(j+1)*r])
	}
	small := pivotZero * s.size(z)
	set := s.sets[i*s.words : (i+1)*s.words]
	count, last := int32(0), 0
	wrong := func(j int) bool {
		if set[j/64]>>(j%64)&1 != 0 {
			return s.y[j] < 0
		}
		return s.y[j] < -small*s.root[j]
	}
	for a, j := range s.index { // y is 0 in F, so x takes its place there, or 0 where x is rounding
		s.y[j] = xf[a]
		if math.Abs(xf[a])*s.root[j] <= small {
			s.y[j] = 0
		}
	}
	for j := range r {
		if s.root[j] > 0 && wrong(j) {
			count, last = count+1, j
		}
	}
	if count == 0 {
		clear(x)
		for _, j := range s.index {
			x[j] = s.y[j]
		}
		return true
	}
	switch {
	case count < s.least[i]:
		s.least[i], s.tries[i] = count, pivotTries
	case s.tries[i] > 0:
		s.tries[i]--
	default:
		set[last/64] ^= 1 << (last % 64)
		return false
	}
	for j := range r {
		if s.root[j] > 0 && wrong(j) {
			set[j/64] ^= 1 << (j % 64)
		}
	}
	return false
}

// activeSet finds x where pivoting goes in circles, as it may if Q is singular. From x = 0, the entry with
// the steepest y joins F, and entries leave F that would become negative on the way to x_F. The objective
// falls with every step. O(r³) for each of some r steps.
//
// Source: Lawson and Hanson, Solving Least Squares Problems, Prentice-Hall, 1974, ch. 23.
func (s *pivoting) activeSet(x, z []float64) {
	r, set := s.r, s.v
	small := pivotZero * s.size(z)
	clear(set)
	clear(x)
	barred := make([]bool, r) // entries that depend on F, so that their y is rounding
	for range 3 * r {
		for j, v := range z {
			s.y[j] = -v
		}
		for j, v := range x {
			if v > 0 {
				kernel.Axpy(s.y, v, s.q[j*r:(j+1)*r])
			}
		}
		least, next := -small, -1
		for j, y := range s.y {
			if s.root[j] > 0 && set[j/64]>>(j%64)&1 == 0 && !barred[j] && y/s.root[j] < least {
				least, next = y/s.root[j], j
			}
		}
		if next < 0 {
			return
		}
		set[next/64] |= 1 << (next % 64)
		for first, step := true, 0.0; step < 1; first = false {
			s.factor(set)
			xf := s.passive(z)
			step = 1
			for a, j := range s.index {
				if j == next && first && xf[a] <= 0 {
					set[j/64] ^= 1 << (j % 64)
					barred[j] = true
					break
				}
				if xf[a] <= 0 && x[j] > 0 {
					step = min(step, x[j]/(x[j]-xf[a]))
				} else if xf[a] <= 0 {
					step = 0
				}
			}
			if barred[next] {
				break
			}
			for a, j := range s.index {
				before := x[j]
				x[j] += step * (xf[a] - before)
				if xf[a] <= 0 && x[j] <= pivotZero*before {
					x[j] = 0
					set[j/64] ^= 1 << (j % 64)
				}
			}
		}
	}
}
