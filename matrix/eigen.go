package matrix

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"

	"gonum.org/v1/gonum/mat"

	"symnmf/internal/kernel"
)

// EigenOptions holds the settings of Eigen. The zero value selects the defaults.
type EigenOptions struct {
	// Tol is the largest residual ‖A·u−λ·u‖ relative to ‖A‖₂. 0 means 1e-10, or more where A is a difference
	// of larger matrices (see Taken). Rounding rules out less than some 1e-14.
	Tol         float64
	Seed        uint64 // of the random start block; with it the result is reproducible bit for bit
	Workers     int    // goroutines; 0 means GOMAXPROCS. The result does not depend on it
	MaxProducts int    // limit on Products before the final check; 0 means 100 times the columns of the basis
}

// Eigenpairs are the k algebraically largest eigenvalues of A, negative ones below positive ones whatever
// their magnitude, and their eigenvectors.
type Eigenpairs struct {
	Values    []float64 // k, decreasing
	Vectors   *Dense    // n×k, orthonormal columns
	Residuals []float64 // k: ‖A·u−λ·u‖, from a separate product at the end
	Norm2     float64   // the largest |Ritz value| seen, a lower bound on ‖A‖₂
	Failed    []int     // the pairs, counted from 0, with a residual above Tol·Norm2
	Limited   bool      // MaxProducts ended the run; pairs failed, or copies of a multiple eigenvalue may be missing
	Products  int       // products of A with a vector, including the final check
}

// ErrEigen reports that eigenpairs cannot be computed.
var ErrEigen = errors.New("matrix: cannot compute eigenpairs")

const (
	eigenTol   = 1e-10
	eigenLimit = 100 // times the size of the basis

	// eigenBlock is the number of columns that are multiplied at a time. A block reads A and the basis as
	// often as a single column does, but the wider it is, the lower the degree of a Krylov space of given
	// size. On CBCL, classic, hitech and ohscal, blocks of 8 took 0.6 to 0.9 times as long as blocks of 16 or
	// 12. Blocks of 4, with a quarter fewer products, took no less than blocks of 8.
	eigenBlock = 8
)

// Eigen returns the k algebraically largest eigenvalues of a and orthonormal eigenvectors, 1 ≤ k ≤ n.
//
// Reaching MaxProducts is no error: the best pairs found are returned, with Limited set. If ctx is cancelled,
// only its error is returned. Residuals bound errors: some eigenvalue lies within each residual of each
// value. It is not certain, but almost, that no larger eigenvalue is left out: it takes a random block that
// misses an eigenvector.
//
// If the basis would take up half of ℝⁿ or more, A is formed and reduced whole. That takes n products,
// whatever MaxProducts, O(n³) work, and memory for n·(n+3k) numbers. Otherwise memory is some n·(3k+40)
// numbers, or n·(2k+90) for k below 48, and, for sparse points, another copy of them.
//
// Method: reduction to a tridiagonal matrix (reduce.go), or thick-restart block Lanczos with every block
// orthogonalized against the whole basis. Sources: Wu and Simon, Thick-restart Lanczos method for large
// symmetric eigenvalue problems, SIAM J. Matrix Anal. Appl. 22 (2000); Stathopoulos and Wu, A block
// orthogonalization procedure with constant synchronization requirements, SIAM J. Sci. Comput. 23 (2002).
func Eigen(ctx context.Context, a Operator, k int, opt EigenOptions) (*Eigenpairs, error) {
	n := a.Dim()
	switch {
	case k < 1 || k > n:
		return nil, fmt.Errorf("%w: %d requested of a matrix with %d rows", ErrEigen, k, n)
	case !(opt.Tol >= 0) || opt.Workers < 0 || opt.MaxProducts < 0:
		return nil, fmt.Errorf("%w: tolerance %v, %d workers, %d products: none may be negative", ErrEigen, opt.Tol, opt.Workers, opt.MaxProducts)
	}
	p := basisSize(k)
	if opt.Tol == 0 {
		opt.Tol = defaultTol(a)
	}
	if opt.Workers == 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	if opt.MaxProducts == 0 {
		opt.MaxProducts = eigenLimit * p
	}
	scale := unitScale(a.Norm())
	multiply := Repeated(a.Scaled(scale), opt.Workers)
	var res *Eigenpairs
	var err error
	var au *Dense // room for A·U
	if _, whole := EigenBasis(n, k); whole {
		res, err = eigenWhole(ctx, n, k, opt.Workers, multiply)
		au = NewDense(n, k, nil)
	} else {
		s := newKrylov(n, k, p, multiply, &opt)
		res, err = s.run(ctx)
		au = NewDense(n, k, s.v[:n*k]) // the basis has done its work
	}
	if err != nil {
		return nil, err
	}
	res.check(multiply, au, &opt)
	for i := range res.Values {
		res.Values[i] /= scale
		res.Residuals[i] /= scale
	}
	res.Norm2 /= scale
	return res, nil
}

// defaultTol returns eigenTol or, if it is larger, an estimate of the rounding error of A·u relative to ‖A‖. It is
// larger if A is a difference of much larger matrices (see Taken), such as a low rank with signs whose columns
// nearly cancel.
func defaultTol(a Operator) float64 {
	norm := a.Norm()
	if norm == 0 {
		return eigenTol
	}
	_, from := Taken(a)
	return max(eigenTol, 0x1p-53*float64(min(a.Dim(), normBlock))*from/norm)
}

// unitScale returns a power of 4, by which A is scaled exactly, with ¼ ≤ scale·norm < 1, or as near to that
// as the range of powers of 2 allows. It returns 1 for a norm of 0.
func unitScale(norm float64) float64 {
	if !(norm > 0) {
		return 1
	}
	_, e := math.Frexp(norm)
	return math.Ldexp(1, clamp(-e&^1, -1022, 1022))
}

// LowerBound returns the least ‖A−B‖/‖A‖, in the Frobenius norm, of any positive semidefinite B of rank r,
// such as HHᵀ:
//
//	√(‖A‖² − Σ_{i≤r} max(λ_i, 0)²) / ‖A‖
//
// values must hold at least the min(r, n) largest eigenvalues of A in decreasing order. The result is 0 for A
// = 0. It allows for rounding of the values and of ‖A‖: it never exceeds the bound, and is 0 where the bound
// is below 2⁻²² = 2.4e-7.
func LowerBound(values []float64, normA float64, r int) float64 {
	// The difference cancels. ‖A‖² is a sum of squares in parts of 256 rows, and the values are right to a
	// few units in the last place of ‖A‖₂; these errors leave the difference wrong by some 1e-14.
	const slack = 0x1p-44
	if normA == 0 {
		return 0
	}
	left := 1 - slack
	for _, v := range values[:min(max(r, 0), len(values))] {
		v = max(v, 0) / normA
		left -= v * v
	}
	return math.Sqrt(max(left, 0))
}

// EigenBasis returns the largest number of columns in Eigen's basis for k eigenpairs of an n×n matrix. If A
// is reduced whole, that is n.
func EigenBasis(n, k int) (columns int, whole bool) {
	if p := basisSize(k); n > 2*p {
		return p, false
	}
	return n, true
}

// basisSize returns the largest number of columns of a basis for k eigenpairs, a multiple of eigenBlock.
func basisSize(k int) int {
	p := k + max(k+16, 64)
	return (p + eigenBlock - 1) / eigenBlock * eigenBlock
}

// check computes the residuals from one more product, au.
func (res *Eigenpairs) check(multiply func(dst, h *Dense), au *Dense, opt *EigenOptions) {
	u, k := res.Vectors, len(res.Values)
	multiply(au, u)
	res.Products += k
	res.Residuals = make([]float64, k)
	sums := newRowSums(u.rows, k, opt.Workers)
	sq := sums.of(k, func(c []float64, lo, hi int) {
		for i := lo; i < hi; i++ {
			ui := u.Row(i)
			for l, v := range au.Row(i) {
				d := v - res.Values[l]*ui[l]
				c[l] += d * d
			}
		}
	})
	for l, v := range sq {
		if res.Residuals[l] = math.Sqrt(v); res.Residuals[l] > opt.Tol*res.Norm2 {
			res.Failed = append(res.Failed, l)
		}
	}
}

// eigenWhole forms A, a column block at a time, and reduces it.
func eigenWhole(ctx context.Context, n, k, workers int, multiply func(dst, h *Dense)) (*Eigenpairs, error) {
	a := make([]float64, n*n)
	for lo := 0; lo < n; lo += eigenBlock {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b := min(eigenBlock, n-lo)
		h, c := NewDense(n, b, nil), NewDense(n, b, nil)
		for l := range b {
			h.Set(lo+l, l, 1)
		}
		multiply(c, h)
		for i := range n {
			copy(a[i*n+lo:], c.Row(i))
		}
	}
	val, vec, norm2, err := topEigen(ctx, a, n, k, workers)
	if err != nil {
		return nil, err
	}
	return &Eigenpairs{Values: val, Vectors: NewDense(n, k, vec), Norm2: norm2, Products: n}, nil
}

// krylov is the state of block Lanczos: an orthonormal basis V (n×j) and a block Q (n×b), orthonormal and
// orthogonal to V, with
//
//	A·V = V·T + Q·Eᵀ
//
// up to rounding. Here T = VᵀAV, and E (j×b) is zero in the rows before lo.
type krylov struct {
	k, b, p  int // pairs wanted, columns of a block, largest number of columns of V
	opt      *EigenOptions
	multiply func(dst, h *Dense)
	sums     *rowSums
	rng      *rand.Rand

	v        []float64 // n×p by rows, of which the first j columns are used: the block kernels run on it in place
	j, lo    int
	t        *mat.SymDense // p×p, of which j×j is used
	e        []float64     // rows lo to j of E
	q, w     *Dense
	norm2    float64 // a lower bound on ‖A‖₂
	products int
}

func newKrylov(n, k, p int, multiply func(dst, h *Dense), opt *EigenOptions) *krylov {
	const b = eigenBlock
	return &krylov{
		k: k, b: b, p: p, opt: opt, multiply: multiply,
		sums: newRowSums(n, p*b, opt.Workers), rng: rand.New(rand.NewPCG(opt.Seed, 0)),
		v: make([]float64, n*p), t: mat.NewSymDense(p, nil), q: NewDense(n, b, nil), w: NewDense(n, b, nil),
	}
}

// run goes on until the residuals of the k pairs together are within half of the tolerance, and no more
// copies of a multiple eigenvalue above the last value are to be expected than were found.
//
// In exact arithmetic, the space that starts from a block of b columns holds at most b eigenvectors of each
// multiple eigenvalue. So if b values above the last are too close for their residuals to tell them apart,
// there may be more copies. Then the k vectors are kept, another random block orthogonal to them is started,
// and it takes at least as many steps as the first one did. After that, 2b close values call for another
// round, and so on.
func (s *krylov) run(ctx context.Context) (*Eigenpairs, error) {
	n := s.sums.n
	var steps, needed int // block steps since the last random block, and those of the first one
	rounds := 1
	if err := s.restart(nil, nil); err != nil {
		return nil, err
	}
	for {
		for s.j+s.b <= s.p && (s.products+s.b <= s.opt.MaxProducts || s.j < s.k) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := s.step(); err != nil {
				return nil, err
			}
			steps++
		}
		// About two thirds of the room is for new columns; one half to four fifths take about as long.
		keep := min(s.j, s.p-(s.p-s.k)*2/3/s.b*s.b)
		val, vec, norm2, err := topEigen(ctx, s.small(), s.j, keep, s.opt.Workers)
		if err != nil {
			return nil, err
		}
		s.norm2 = max(s.norm2, norm2)
		coupling := s.coupling(vec, keep)
		small := s.opt.Tol * s.norm2
		limit := s.products+s.b > s.opt.MaxProducts
		done := math.Sqrt(kernel.SumSq(coupling[:s.k*s.b])) <= small/2 && steps >= needed
		again := done && s.largestCluster(val[:s.k], 100*small) >= rounds*s.b
		switch {
		case limit || done && !again:
			u := NewDense(n, s.k, nil)
			s.rotate(vec, keep, s.k)
			for i := range n {
				copy(u.Row(i), s.v[i*s.p:])
			}
			return &Eigenpairs{Values: val[:s.k], Vectors: u, Norm2: s.norm2, Limited: !done || again, Products: s.products}, nil
		case again: // from here on T lacks E, once a round: hence half of the tolerance
			if needed == 0 {
				needed = steps
			}
			steps = 0
			rounds++
			s.rotate(vec, keep, s.k)
			err = s.restart(val[:s.k], nil)
		default:
			s.rotate(vec, keep, keep)
			err = s.restart(val, coupling)
		}
		if err != nil {
			return nil, err
		}
	}
}

// small returns the upper triangle of the j×j matrix T.
func (s *krylov) small() []float64 {
	t := make([]float64, s.j*s.j)
	for i := range s.j {
		copy(t[i*s.j+i:(i+1)*s.j], s.t.RawSymmetric().Data[i*s.p+i:])
	}
	return t
}

// largestCluster returns the size of the largest cluster of the decreasing values, in which neighbors are at
// most gap apart. A cluster that ends with the last value does not count: more copies of it would not change
// the list.
func (s *krylov) largestCluster(val []float64, gap float64) int {
	most, size := 0, 1
	for l := 1; l < len(val); l++ {
		if val[l-1]-val[l] <= gap {
			size++
			continue
		}
		most, size = max(most, size), 1
	}
	return most
}

// restart sets T to diag(val) for the first columns of V, coupled to Q by E = coupling. If coupling is nil, E
// is zero and Q is a new random block.
func (s *krylov) restart(val, coupling []float64) error {
	s.j, s.lo, s.e = len(val), 0, coupling
	for i, v := range val {
		for l := range i {
			s.t.SetSym(l, i, 0)
		}
		s.t.SetSym(i, i, v)
	}
	if coupling != nil {
		return nil
	}
	s.lo = s.j
	for i := range s.q.data {
		s.q.data[i] = s.rng.NormFloat64()
	}
	_, err := s.orthonormalize()
	return err
}

// coupling returns Sᵀ·E (cols×b) for the j×cols matrix S = vec of Ritz vectors. The norm of a row is the norm
// of the residual of that pair.
func (s *krylov) coupling(vec []float64, cols int) []float64 {
	e := make([]float64, cols*s.b)
	kernel.TransTimes(e, vec[s.lo*cols:], cols, s.e, s.b)
	return e
}

// rotate stores V·S in the first columns of V, for the j×cols matrix S = vec. It stores as many columns of
// the product as only says.
func (s *krylov) rotate(vec []float64, cols, only int) {
	const rows = 64
	n, p := s.sums.n, s.p
	kernel.BlocksWith(n, rows, s.opt.Workers, func() []float64 { return make([]float64, rows*cols) }, func(vs []float64, _, lo, hi int) {
		vs = vs[:(hi-lo)*cols]
		clear(vs)
		kernel.RowsTimes(vs, s.v[lo*p:(hi-1)*p+s.j], p, vec, cols)
		for i := lo; i < hi; i++ {
			copy(s.v[i*p:], vs[(i-lo)*cols:(i-lo)*cols+only])
		}
	})
}

// step appends Q to V and finds the next Q and E:
//
//	W = A·Q − V·E,  T gains E and α = QᵀAQ,  W − Q·α = Q'·R,  E' = Rᵀ in the rows of Q
func (s *krylov) step() error {
	b, j, p, w := s.b, s.j, s.p, s.w.data
	s.sums.each(func(lo, hi int) {
		for i := lo; i < hi; i++ {
			copy(s.v[i*p+j:], s.q.Row(i))
		}
	})
	s.multiply(s.w, s.q)
	s.products += b
	alpha := s.sums.of(b*b, func(c []float64, lo, hi int) {
		kernel.TransTimes(c, s.q.data[lo*b:hi*b], b, w[lo*b:hi*b], b)
	})
	known := make([]float64, 0, (j-s.lo+b)*b) // minus the coefficients of W in columns lo to j+b of V
	for i := range j {
		for l := range b {
			var c float64
			if i >= s.lo {
				c = s.e[(i-s.lo)*b+l]
				known = append(known, -c)
			}
			s.t.SetSym(i, j+l, c)
		}
	}
	for i := range b {
		for l := range b {
			c := alpha[i*b+l]/2 + alpha[l*b+i]/2
			known = append(known, -c)
			s.t.SetSym(j+i, j+l, c)
			s.norm2 = max(s.norm2, math.Abs(c)) // an entry of T is no larger than ‖A‖₂
		}
	}
	s.sums.each(func(lo, hi int) {
		kernel.RowsTimes(w[lo*b:hi*b], s.v[lo*p+s.lo:(hi-1)*p+j+b], p, known, b)
	})
	s.q, s.w = s.w, s.q
	s.lo, s.j = j, j+b
	r, err := s.orthonormalize()
	if err != nil {
		return err
	}
	s.e = make([]float64, b*b)
	for i := range b {
		for l := range b {
			s.e[l*b+i] = r[i*b+l]
		}
	}
	return nil
}

// dropped is the length, relative to ‖A‖₂, up to which a column counts as rounding.
const dropped = 0x1p-44

// orthonormalize makes Q orthonormal and orthogonal to V, and returns R (b×b) such that the old Q is Q·R, up
// to rounding and its part in V. Directions in which the old Q is no longer than dropped·norm2 become random,
// and their rows of R zero.
//
// Each round multiplies Q by U·Λ^(−½), where QᵀQ = UΛUᵀ, and R by Λ^½·Uᵀ, which preserves Q·R whatever the
// error of Λ. Directions below √(10⁻¹⁴·λ_max), where λ is rounding, grow from round to round. All rounds but
// the first begin by subtracting V·VᵀQ, which also removes what a short column held of V before it was made
// long. The last round finds QᵀQ near I, and so leaves only rounding of V in Q.
func (s *krylov) orthonormalize() ([]float64, error) {
	b, j, p := s.b, s.j, s.p
	r := make([]float64, b*b)
	for i := range b {
		r[i*b+i] = 1
	}
	for round := 0; ; round++ {
		q, w := s.q.data, s.w.data
		if round > 0 && j > 0 {
			c := s.sums.of(j*b, func(c []float64, lo, hi int) {
				kernel.TransTimes(c, s.v[lo*p:(hi-1)*p+j], p, q[lo*b:hi*b], b)
			})
			for i := range c {
				c[i] = -c[i]
			}
			s.sums.each(func(lo, hi int) { kernel.RowsTimes(q[lo*b:hi*b], s.v[lo*p:(hi-1)*p+j], p, c, b) })
		}
		g := s.sums.of(b*b, func(c []float64, lo, hi int) { kernel.Gram(c, q[lo*b:hi*b], b) })
		lambda, u, most, err := topEigen(context.Background(), g, b, b, 1)
		if err != nil {
			return nil, err
		}
		m, next := make([]float64, b*b), make([]float64, b*b)
		for i, l := range lambda {
			root := math.Sqrt(max(l, 1e-14*most))
			for k := range b {
				if root > 0 {
					m[k*b+i] = u[k*b+i] / root
				}
				for l := range b {
					next[i*b+k] += root * u[l*b+i] * r[l*b+k]
				}
			}
		}
		r = next
		s.sums.each(func(lo, hi int) {
			clear(w[lo*b : hi*b])
			kernel.RowsTimes(w[lo*b:hi*b], q[lo*b:hi*b], b, m, b)
		})
		s.q, s.w = s.w, s.q
		switch {
		case round > 0 && lambda[b-1] > 0.5 && most < 2:
			return r, nil
		case round == 1:
			for i := range b {
				if row := r[i*b : (i+1)*b]; math.Sqrt(kernel.SumSq(row)) <= dropped*s.norm2 {
					clear(row)
					for k := range s.q.rows {
						s.q.data[k*b+i] = s.rng.NormFloat64()
					}
				}
			}
		}
	}
}
