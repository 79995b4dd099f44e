package matrix

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"

	"symnmf/internal/kernel"
)

// tridiagonal is a symmetric tridiagonal matrix, with a norm far from overflow and underflow, cut into pieces
// where the number beside the diagonal is rounding.
type tridiagonal struct {
	d, e   []float64    // e[i] is the number between i and i+1
	small  float64      // ε·‖T‖; a few times that is rounding
	values []eigenvalue // decreasing
}

type eigenvalue struct {
	value float64
	of    *piece
}

// piece is the block of rows and columns lo to hi.
type piece struct {
	lo, hi int
	known  []int // rows of y with its eigenvectors so far
	lu     tridiagonalLU
}

// newTridiagonal returns the matrix with diagonal d and e beside it. It keeps both.
func newTridiagonal(d, e []float64) (*tridiagonal, error) {
	p := len(d)
	t := &tridiagonal{d: d, e: e}
	for i := range d {
		sum := math.Abs(d[i])
		if i > 0 {
			sum += math.Abs(e[i-1])
		}
		if i < len(e) {
			sum += math.Abs(e[i])
		}
		t.small = max(t.small, sum*0x1p-52)
	}
	for lo, hi := 0, 0; lo < p; lo = hi {
		for hi = lo + 1; hi < p && math.Abs(e[hi-1]) > t.small; hi++ {
		}
		values := slices.Clone(d[lo:hi])
		if !(gonum.Implementation{}).Dsterf(hi-lo, values, slices.Clone(e[lo:hi-1])) {
			return nil, fmt.Errorf("%w: the QL iteration on a matrix of %d rows did not converge", ErrEigen, p)
		}
		of := &piece{lo: lo, hi: hi}
		for _, v := range values {
			t.values = append(t.values, eigenvalue{v, of})
		}
	}
	slices.SortStableFunc(t.values, func(a, b eigenvalue) int { return cmp.Compare(b.value, a.value) })
	return t, nil
}

// norm2 returns ‖T‖₂.
func (t *tridiagonal) norm2() float64 {
	if len(t.values) == 0 {
		return 0
	}
	return max(math.Abs(t.values[0].value), math.Abs(t.values[len(t.values)-1].value))
}

// vectors returns the eigenvectors of the first k values as the rows of a k×p matrix. It may be called once.
func (t *tridiagonal) vectors(ctx context.Context, k int) ([]float64, error) {
	y := make([]float64, k*len(t.d))
	rng := rand.New(rand.NewPCG(0, 0))
	for l, v := range t.values[:k] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !t.vector(y, l, v, rng) {
			return t.vectorsByQL(k)
		}
	}
	return y, nil
}

// vector sets row l of y to the eigenvector of v, orthogonal to the known ones of its piece, by inverse
// iteration: x becomes (T − v·I)⁻¹x until its residual is rounding. It returns false if that does not come to
// an end.
func (t *tridiagonal) vector(y []float64, l int, v eigenvalue, rng *rand.Rand) bool {
	const (
		most = 8 // rounds; two or three suffice
		// The first round with a shift that is about equally far from all of a cluster as narrow as rounding.
		// With a shift near v, each solve brings back what x was freed of.
		aside = 4
		// The largest residual that counts as rounding, in multiples of small. Residuals are 0.1 to 2 if values
		// are apart, and 25 to 70 in a cluster as wide as this.
		rounding = 128
		passes   = 3   // to free x of the others; one or two suffice
		left     = 0.5 // least length of x after a pass; if it is shorter, x is not orthogonal up to rounding
	)
	p, of := len(t.d), v.of
	d, e, x := t.d[of.lo:of.hi], t.e[of.lo:of.hi-1], y[l*p+of.lo:l*p+of.hi]
	if len(x) == 1 {
		x[0] = 1
		return true
	}
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	unitLength(x)
	for round := range most {
		switch round {
		case 0:
			of.lu.factor(d, e, v.value, t.small)
		case aside:
			of.lu.factor(d, e, v.value+rounding*t.small, t.small)
		}
		of.lu.solve(x)
		if !unitLength(x) {
			return false
		}
		if round == 0 {
			continue
		}
		orthogonal := false
		for pass := 0; pass < passes && !orthogonal; pass++ {
			for _, r := range of.known {
				b := y[r*p+of.lo : r*p+of.hi]
				kernel.Axpy(x, -kernel.Dot(b, x), b)
			}
			orthogonal = kernel.SumSq(x) >= left*left
			if !unitLength(x) {
				return false
			}
		}
		if orthogonal && residual(d, e, v.value, x) <= rounding*t.small {
			of.known = append(of.known, l)
			return true
		}
	}
	return false
}

// unitLength scales x to length 1. It returns false if x is 0 or not finite.
func unitLength(x []float64) bool {
	length := math.Sqrt(kernel.SumSq(x))
	if !(length > 0 && length <= math.MaxFloat64) {
		return false
	}
	kernel.Scale(x, 1/length)
	return true
}

// residual returns the least ‖Tx − λx‖ over all λ, which is attained near value, for x of length 1.
func residual(d, e []float64, value float64, x []float64) float64 {
	var sq, along float64 // of (T − value·I)x
	for i, v := range x {
		r := (d[i] - value) * v
		if i > 0 {
			r += e[i-1] * x[i-1]
		}
		if i < len(e) {
			r += e[i] * x[i+1]
		}
		sq += r * r
		along += r * v
	}
	return math.Sqrt(max(0, sq-along*along))
}

// vectorsByQL returns what vectors does, by computing all eigenvectors. It takes O(p³) time and memory for p²
// numbers, and does not look at a context.
func (t *tridiagonal) vectorsByQL(k int) ([]float64, error) {
	p := len(t.d)
	z, values := make([]float64, p*p), slices.Clone(t.d)
	if !(gonum.Implementation{}).Dsteqr(lapack.EVTridiag, p, values, slices.Clone(t.e), z, p, make([]float64, 2*p)) {
		return nil, fmt.Errorf("%w: the QL iteration on a matrix of %d rows did not converge", ErrEigen, p)
	}
	y := make([]float64, k*p)
	for l := range k {
		for i := range p {
			y[l*p+i] = z[i*p+p-1-l]
		}
	}
	return y, nil
}

// tridiagonalLU is P·L·U = T − shift·I, by rows with partial pivoting.
type tridiagonalLU struct {
	inverse, u1, u2, l []float64 // of the diagonal of U; the two beside it; multiples of a row subtracted from the next
	swapped            []bool    // whether the two rows first changed places
}

// factor computes the factors. A diagonal entry of U below small in magnitude is replaced by small.
func (f *tridiagonalLU) factor(d, e []float64, shift, small float64) {
	m := len(d)
	if f.inverse == nil {
		f.inverse, f.u1, f.u2, f.l, f.swapped = make([]float64, m), make([]float64, m), make([]float64, m), make([]float64, m), make([]bool, m)
	}
	d0, d1 := d[0]-shift, 0.0 // what is left of a row
	if m > 1 {
		d1 = e[0]
	}
	for i := range m - 1 {
		sub, next, beyond := e[i], d[i+1]-shift, 0.0
		if i+2 < m {
			beyond = e[i+1]
		}
		if f.swapped[i] = math.Abs(d0) < math.Abs(sub); f.swapped[i] {
			c := d0 / sub
			f.inverse[i], f.u1[i], f.u2[i], f.l[i] = sub, next, beyond, c
			d0, d1 = d1-c*next, -c*beyond
		} else {
			c := sub / d0
			f.inverse[i], f.u1[i], f.u2[i], f.l[i] = d0, d1, 0, c
			d0, d1 = next-c*d1, beyond
		}
	}
	f.inverse[m-1] = d0
	for i, u := range f.inverse {
		f.inverse[i] = 1 / math.Copysign(max(math.Abs(u), small), u)
	}
}

// solve replaces x by a multiple of (T − shift·I)⁻¹x with numbers no larger than about 2⁵⁰⁰.
func (f *tridiagonalLU) solve(x []float64) {
	const large = 0x1p500
	m := len(x)
	for i := range m - 1 {
		if f.swapped[i] {
			x[i], x[i+1] = x[i+1], x[i]
		}
		x[i+1] -= f.l[i] * x[i]
	}
	x1, x2 := 0.0, 0.0
	for i := m - 1; i >= 0; i-- {
		v := (x[i] - f.u1[i]*x1 - f.u2[i]*x2) * f.inverse[i]
		if math.Abs(v) > large {
			kernel.Scale(x, 1/large)
			v, x1 = v/large, x1/large
		}
		x[i] = v
		x1, x2 = v, x1
	}
}
