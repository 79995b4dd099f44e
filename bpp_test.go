package symnmf

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"symnmf/matrix"
)

// leastSquares is a nonnegative least-squares problem with C (m×r), D (m×n) and α, in the form that nnls
// takes.
type leastSquares struct {
	name     string
	r, n     int
	q, z     []float64 // CᵀC + αI, r×r; (CᵀD)ᵀ, n×r
	singular bool      // C has fewer rows than columns, so that pivoting may fail
	planted  *matrix.Dense
}

// newLeastSquares forms the problem of C, D and α.
func newLeastSquares(name string, c, d *matrix.Dense, alpha float64) leastSquares {
	m, r := c.Dims()
	_, n := d.Dims()
	p := leastSquares{name, r, n, make([]float64, r*r), make([]float64, n*r), alpha == 0 && m < r, nil}
	for k := range m {
		for j, v := range c.Row(k) {
			for l, w := range c.Row(k) {
				p.q[j*r+l] += v * w
			}
			for i, w := range d.Row(k) {
				p.z[i*r+j] += v * w
			}
		}
	}
	for j := range r {
		p.q[j*r+j] += alpha
	}
	return p
}

// leastSquaresProblems returns regular, degenerate and singular problems, drawn with seed 1.
func leastSquaresProblems() []leastSquares {
	rng := rand.New(rand.NewPCG(1, 0))
	random := func(rows, cols int, entry func() float64) *matrix.Dense {
		x := matrix.NewDense(rows, cols, nil)
		for k := range x.Data() {
			x.Data()[k] = entry()
		}
		return x
	}
	small := func() float64 { return float64(rng.IntN(3)) } // sums of products are exact, and many of them 0
	var list []leastSquares
	for _, r := range []int{1, 2, 3, 8, 31, 64, 65, 130} {
		list = append(list,
			newLeastSquares(fmt.Sprintf("normal, r=%d", r), random(2*r+3, r, rng.NormFloat64), random(2*r+3, 30, rng.NormFloat64), 0),
			newLeastSquares(fmt.Sprintf("uniform, r=%d", r), random(2*r+3, r, rng.Float64), random(2*r+3, 30, rng.NormFloat64), 0),
			newLeastSquares(fmt.Sprintf("coupled, r=%d", r), random(max(1, r/2), r, rng.Float64), random(max(1, r/2), 30, rng.Float64), 0.3))
		// Columns that differ in size by factors of up to 10⁸.
		c := random(2*r+3, r, rng.Float64)
		for i := range 2*r + 3 {
			for j := range r {
				c.Row(i)[j] *= math.Pow(10, float64(j%9-4))
			}
		}
		list = append(list, newLeastSquares(fmt.Sprintf("scales, r=%d", r), c, random(2*r+3, 30, rng.NormFloat64), 0))
		// Degenerate: d = C·x exactly, or d = 0, so that x_j and y_j may both be 0.
		c = random(2*r+3, r, small)
		x := random(r, 30, small)
		d := matrix.NewDense(2*r+3, 30, nil)
		for i := range 2*r + 3 {
			for l := range 29 { // the last d is 0
				for j, v := range c.Row(i) {
					d.Row(i)[l] += v * x.At(j, l)
				}
			}
		}
		list = append(list, newLeastSquares(fmt.Sprintf("degenerate, r=%d", r), c, d, 0))
		if r <= 8 { // well enough conditioned for x to be known to 1e-12
			for j := range r {
				x.Set(j, 29, 0)
			}
			list[len(list)-1].planted = x
		}
		// Singular: more columns than rows, repeated columns, columns of zeros, nothing but zeros.
		list = append(list, newLeastSquares(fmt.Sprintf("wide, r=%d", r), random((r+1)/2, r, rng.Float64), random((r+1)/2, 30, rng.NormFloat64), 0))
		c = random(2*r+3, r, rng.Float64)
		for i := range 2*r + 3 {
			for j := range r {
				switch j % 5 {
				case 2, 3:
					c.Row(i)[j] = c.Row(i)[j-1] // columns 1, 2 and 3 are equal
				case 4:
					c.Row(i)[j] *= 1e-155 * float64(j%2) // zero, or so small that the square is no longer exact
				}
			}
		}
		list = append(list, newLeastSquares(fmt.Sprintf("repeated, r=%d", r), c, random(2*r+3, 30, rng.NormFloat64), 0))
		list = append(list, newLeastSquares(fmt.Sprintf("zero, r=%d", r), matrix.NewDense(3, r, nil), random(3, 30, rng.NormFloat64), 0))
	}
	return list
}

// kktError is how far x is from x ≥ 0, y = Qx − z ≥ 0, x·y = 0, relative to the sizes of x_j and y_j: s/√Q_jj
// and s·√Q_jj.
func (p *leastSquares) kktError(x, z []float64) (worst float64) {
	f := newQuadratic(p.q, p.r)
	s := f.size(z)
	for j := range p.r {
		y := -z[j]
		for k, v := range x {
			y += p.q[j*p.r+k] * v
		}
		switch root := f.root[j]; {
		case x[j] < 0:
			worst = math.Inf(1)
		case root == 0 || s == 0:
			worst = max(worst, math.Abs(x[j]), math.Abs(y))
		case x[j] > 0:
			worst = max(worst, math.Abs(y)/(s*root))
		default:
			worst = max(worst, -y/(s*root))
		}
	}
	return worst
}

// objective is ½⟨x,Qx⟩ − ⟨z,x⟩.
func (p *leastSquares) objective(x, z []float64) (f float64) {
	for j, v := range x {
		f -= z[j] * v
		for k, w := range x {
			f += p.q[j*p.r+k] * v * w / 2
		}
	}
	return f
}

// lawsonHanson is the active-set method in its plain form. One entry at a time joins the passive set; entries
// leave it on the way to the unconstrained minimum. Source: Lawson and Hanson, Solving Least Squares
// Problems, 1974, ch. 23.
func (p *leastSquares) lawsonHanson(z []float64) []float64 {
	r := p.r
	x, passive := make([]float64, r), make([]bool, r)
	f := newQuadratic(p.q, r)
	tol := 1e-11 * f.size(z)
	for range 10 * r {
		best, at := tol, -1
		for j := range r {
			w := z[j]
			for k, v := range x {
				w -= p.q[j*r+k] * v
			}
			if !passive[j] && f.root[j] > 0 && w/f.root[j] > best {
				best, at = w/f.root[j], j
			}
		}
		if at < 0 {
			break
		}
		passive[at] = true
		for {
			s := p.eliminate(passive, z)
			step := 1.0
			for j := range r {
				if passive[j] && s[j] <= 0 {
					step = min(step, x[j]/(x[j]-s[j]))
				}
			}
			for j := range r {
				if before := x[j]; passive[j] {
					x[j] += step * (s[j] - before)
					if s[j] <= 0 && x[j] <= 1e-14*max(before, -s[j]) {
						x[j], passive[j] = 0, false
					}
				}
			}
			if step == 1 {
				break
			}
		}
	}
	return x
}

// eliminate solves Q_FF·s = z_F by Gaussian elimination with row interchanges.
func (p *leastSquares) eliminate(passive []bool, z []float64) []float64 {
	var at []int
	for j, in := range passive {
		if in {
			at = append(at, j)
		}
	}
	k := len(at)
	m := make([][]float64, k)
	for a, j := range at {
		for _, l := range at {
			m[a] = append(m[a], p.q[j*p.r+l])
		}
		m[a] = append(m[a], z[j])
	}
	for a := range k {
		for b := a + 1; b < k; b++ {
			if math.Abs(m[b][a]) > math.Abs(m[a][a]) {
				m[a], m[b] = m[b], m[a]
			}
		}
		for b := a + 1; b < k; b++ {
			f := m[b][a] / m[a][a]
			for c := a; c <= k; c++ {
				m[b][c] -= f * m[a][c]
			}
		}
	}
	s := make([]float64, p.r)
	for a := k - 1; a >= 0; a-- {
		v := m[a][k]
		for b := a + 1; b < k; b++ {
			v -= m[a][b] * s[at[b]]
		}
		s[at[a]] = v / m[a][a]
	}
	return s
}

// TestNNLS: from any initial sets the optimality conditions hold to 1e-10, and the objective is that of
// Lawson and Hanson's method. Where x is planted, it is found. The active-set method alone gives the same
// objective.
func TestNNLS(t *testing.T) {
	for _, p := range leastSquaresProblems() {
		z := matrix.NewDense(p.n, p.r, p.z)
		f := newQuadratic(p.q, p.r)
		want := matrix.NewDense(p.n, p.r, nil)
		for i := range p.n {
			copy(want.Row(i), p.lawsonHanson(z.Row(i)))
			if e := p.kktError(want.Row(i), z.Row(i)); !(e <= 1e-10) {
				t.Fatalf("%s, row %d: the reference is off by %.2g", p.name, i, e)
			}
		}
		for _, start := range []string{"empty", "full", "alternating", "the answer"} {
			x := matrix.NewDense(p.n, p.r, nil)
			for k := range x.Data() {
				if start == "full" || start == "alternating" && k%2 == 0 {
					x.Data()[k] = 1
				}
			}
			if start == "the answer" {
				copy(x.Data(), want.Data())
			}
			if left := (&problem{workers: 1}).nnls(x, z, p.q); left > 0 && !p.singular || left > p.n/6 {
				t.Errorf("%s from %s: %d rows were given up", p.name, start, left)
			}
			for i := range p.n {
				got, zi := x.Row(i), z.Row(i)
				if e := p.kktError(got, zi); !(e <= 1e-10) {
					t.Errorf("%s from %s, row %d: optimality off by %.2g", p.name, start, i, e)
				}
				for j := range p.r {
					if p.planted != nil && (!(math.Abs(got[j]-p.planted.At(j, i)) <= 1e-11) || got[j] != 0 && p.planted.At(j, i) == 0) {
						t.Errorf("%s from %s, row %d: x[%d] = %v, want %v", p.name, start, i, j, got[j], p.planted.At(j, i))
					}
				}
				s := f.size(zi)
				if g, w := p.objective(got, zi), p.objective(want.Row(i), zi); !(math.Abs(g-w) <= 1e-10*s*s) {
					t.Errorf("%s from %s, row %d: objective %v, Lawson and Hanson %v", p.name, start, i, g, w)
				}
			}
		}
		s := newPivoting(f)
		s.rounds = 0
		x := want.Clone()
		for k := range x.Data() {
			x.Data()[k] += 0.01
		}
		take := min(p.n, 5)
		if left := s.solve(x.Data()[:take*p.r], p.z[:take*p.r]); left != take {
			t.Errorf("%s: with no rounds of pivoting, %d of %d rows were given up, want all", p.name, left, take)
		}
		for i := range take {
			s := f.size(z.Row(i))
			for j, v := range x.Row(i) {
				if f.root[j] == 0 && v != 0 {
					t.Errorf("%s, row %d: x[%d] = %v by active sets, want 0, since Q_jj = 0", p.name, i, j, v)
				}
			}
			if g, w := p.objective(x.Row(i), z.Row(i)), p.objective(want.Row(i), z.Row(i)); !(math.Abs(g-w) <= 1e-10*s*s) {
				t.Errorf("%s, row %d: objective %v by active sets, Lawson and Hanson %v", p.name, i, g, w)
			}
		}
	}
}

// TestNNLSSameBits: X has the same bits for any number of workers, and each row has the bits it has when
// solved alone.
func TestNNLSSameBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	const n, r = 1100, 24
	c, d := matrix.NewDense(12, r, nil), matrix.NewDense(12, n, nil) // singular, so that some rows are given up
	for _, x := range []*matrix.Dense{c, d} {
		for k := range x.Data() {
			x.Data()[k] = rng.NormFloat64()
		}
	}
	p := newLeastSquares("", c, d, 0)
	z := matrix.NewDense(n, r, p.z)
	var want []float64
	var wantLeft int
	for _, workers := range []int{1, 2, 3, 8} {
		x := matrix.NewDense(n, r, nil)
		left := (&problem{workers: workers}).nnls(x, z, p.q)
		if want == nil {
			want, wantLeft = x.Data(), left
		}
		if !slices.Equal(x.Data(), want) || left != wantLeft {
			t.Errorf("X differs with %d workers", workers)
		}
	}
	left := 0
	for i := range n { // each by itself
		x := matrix.NewDense(1, r, nil)
		left += (&problem{workers: 1}).nnls(x, matrix.NewDense(1, r, z.Row(i)), p.q)
		if !slices.Equal(x.Data(), want[i*r:(i+1)*r]) {
			t.Errorf("row %d differs when solved alone", i)
		}
	}
	if left == 0 || left != wantLeft {
		t.Errorf("%d rows given up together, %d one by one, want as many and not 0", wantLeft, left)
	}
}

// TestFactorRank: the factor has as many nonzero pivots as columns are independent; rounding does not add
// any.
func TestFactorRank(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		const m, r, rank = 40, 20, 7
		c := matrix.NewDense(m, r, nil)
		for i := range m {
			for j := range r {
				if j < rank {
					c.Set(i, j, rng.NormFloat64())
				} else {
					c.Set(i, j, c.At(i, (j+int(seed))%rank)/3+c.At(i, (j*j+1)%rank)/7)
				}
			}
		}
		p := newLeastSquares("", c, matrix.NewDense(m, 1, nil), 0)
		s := newPivoting(newQuadratic(p.q, r))
		s.factor([]uint64{1<<r - 1})
		got := 0
		for j := range r {
			if s.chol[j*r+j] > 0 {
				got++
			}
		}
		if got != rank {
			t.Errorf("seed %d: rank %d, want %d", seed, got, rank)
		}
	}
}

// TestPivotingEnds: on these problems exchanging all of V runs in circles for some rows. Exchanging one entry
// at a time does not, so no row is given up.
func TestPivotingEnds(t *testing.T) {
	const n = 100
	for _, r := range []int{3, 4, 5, 6, 8} {
		for seed := range uint64(200) {
			rng := rand.New(rand.NewPCG(seed, 0))
			c, d := matrix.NewDense(r, r, nil), matrix.NewDense(r, n, nil)
			for i := range r {
				u := rng.NormFloat64()
				for j := range r {
					c.Set(i, j, u+rng.NormFloat64())
				}
			}
			for k := range d.Data() {
				d.Data()[k] = rng.NormFloat64()
			}
			p := newLeastSquares("", c, d, 0)
			x := matrix.NewDense(n, r, nil)
			if left := (&problem{workers: 1}).nnls(x, matrix.NewDense(n, r, p.z), p.q); left > 0 {
				t.Errorf("r=%d, seed %d: %d rows were given up", r, seed, left)
			}
		}
	}
}
