package kernel

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// rootBound returns the bound of Solve on the relative error of a minimizer, given a and b.
func rootBound[F Float]() float64 {
	if unsafe.Sizeof(*new(F)) == 4 {
		return 1e-6
	}
	return 1e-12
}

// epsOf returns a bound on the relative rounding error of one operation in F.
func epsOf[F Float]() float64 {
	if unsafe.Sizeof(*new(F)) == 4 {
		return 0x1p-23
	}
	return eps
}

// rowCall is one call of Solve.
type rowCall[F Float] struct {
	r, n           int
	off            bool
	dst            []float64
	h, g, diag, l1 []float64
	d              []F
	perms          []int32
}

// newRowCall makes a call whose coordinates depend on each other weakly. Every |o_j| and |g_j| is at most
// 1/(2√r), the sum of a row's |D_jk| is at most 1/2, and D_jj ≥ 4. So every |x_j| is below 1/(2√r) too, and
// a ≥ 3.5. An error of at most e in all other coordinates changes b by less than (1/2 + 1/4)·e and a·x by
// less than e/2.
func newRowCall[F Float](rng *rand.Rand, r, n, passes int, off bool) *rowCall[F] {
	c := &rowCall[F]{r: r, n: n, off: off}
	most := 0.5 / math.Sqrt(float64(r))
	fill := func(n int, lo, hi float64) []float64 {
		s := make([]float64, n)
		for i := range s {
			s[i] = float64(F(lo + (hi-lo)*rng.Float64()))
		}
		return s
	}
	c.dst, c.h, c.g = fill(n*r, 0, 1), fill(n*r, -most, most), fill(n*r, -0.9*most, 0.9*most)
	for i, v := range c.h {
		c.h[i] = max(v, 0)
	}
	c.diag, c.l1 = fill(n, -0.1, 0.1), fill(r, 0, 0.05*most)
	c.d = make([]F, r*r)
	for j := range r {
		c.d[j*r+j] = F(4 + rng.Float64())
		for k := range j {
			v := F((rng.Float64() - 0.5) / float64(r))
			c.d[j*r+k], c.d[k*r+j] = v, v
		}
	}
	for range passes {
		for _, j := range rng.Perm(r) {
			c.perms = append(c.perms, int32(j))
		}
	}
	return c
}

func (c *rowCall[F]) run() {
	NewRowSolver[F](c.r, c.r, c.off).Solve(c.dst, c.h, c.g, c.diag, c.l1, c.d, ordersOf(c.r, c.perms))
}

func ordersOf(r int, perms []int32) *Orders {
	var o Orders
	o.Set(r, perms)
	return &o
}

// leastQuartic returns argmin x⁴/4 + a·x²/2 − b·x over x ≥ 0. That is where the derivative, convex for x ≥ 0,
// is zero and rises, or 0.
func leastQuartic(a, b float64) float64 {
	lo, hi := math.Sqrt(max(-a/3, 0)), math.Sqrt(max(-a, 0))+math.Cbrt(max(b, 0))
	if !(hi > lo) {
		return 0
	}
	x := (lo + hi) / 2
	for ; lo < x && x < hi; x = (lo + hi) / 2 {
		if (x*x+a)*x < b {
			lo = x
		} else {
			hi = x
		}
	}
	if ((x*x/4+a/2)*x-b)*x < 0 {
		return x
	}
	return 0
}

// plainly does what the documentation of Solve says, with all sums computed afresh, and returns the new rows.
func (c *rowCall[F]) plainly() []float64 {
	rows := slices.Clone(c.h)
	for i := range c.n {
		h, o, g, p := rows[i*c.r:(i+1)*c.r], c.h[i*c.r:(i+1)*c.r], c.g[i*c.r:(i+1)*c.r], c.diag[i]
		for _, j := range c.perms {
			dj := c.d[int(j)*c.r : (int(j)+1)*c.r]
			a, b := float64(dj[j])-o[j]*o[j], g[j]-p*o[j]-c.l1[j]
			for k, v := range h {
				if k != int(j) {
					b -= (float64(dj[k]) - o[j]*o[k]) * v
					if !c.off {
						a += v * v
					}
				}
			}
			if c.off {
				h[j] = max(0, b/a)
			} else {
				h[j] = leastQuartic(a-p, b)
			}
		}
	}
	return rows
}

// check runs the call and compares with plainly. If each visit of a coordinate errs by at most e, all errors
// stay below 2e.
func (c *rowCall[F]) check(t *testing.T) {
	t.Helper()
	c.run()
	want, most := c.plainly(), 0.5/math.Sqrt(float64(c.r))
	// Rounding: sums have r+5 terms, ‖h‖² and ⟨o,h⟩ are updated in each visit, and Σ|terms| is below 6 for a
	// and below 2·most for b.
	visits := float64(len(c.perms) + c.r)
	e := (rootBound[F]() + epsOf[F]()*(float64(c.r)+5+visits)) * most
	for k, v := range c.dst {
		if d := math.Abs(c.h[k] + v - want[k]); !(d <= 2*e) {
			t.Fatalf("r = %d, %d rows, off %t: row %d, coordinate %d: %v, want %v (off by %.2g, bound %.2g)",
				c.r, c.n, c.off, k/c.r, k%c.r, c.h[k]+v, want[k], d, 2*e)
		}
	}
}

// bothFloats runs the tests of both types on each path.
func bothFloats(t *testing.T, f64, f32 func(t *testing.T)) {
	eachPath(t, func(t *testing.T) {
		t.Run("float64", f64)
		t.Run("float32", f32)
	})
}

// TestSolveRows compares Solve with plainly, for up to 130 coordinates, with the diagonal of A and without.
func TestSolveRows(t *testing.T) { bothFloats(t, testSolveRows[float64], testSolveRows[float32]) }

func testSolveRows[F Float](t *testing.T) {
	for r := 1; r <= 130; r++ {
		if testing.Short() && r%8 > 3 {
			continue
		}
		rng := rand.New(rand.NewPCG(uint64(r), 1))
		for _, n := range []int{1 + r%4, 10 + r%32, 64 + r%3} {
			for _, off := range []bool{false, true} {
				newRowCall[F](rng, r, n, 1+rng.IntN(2), off).check(t)
			}
		}
	}
}

// TestSolveRowsApart: a row's result has the same bits whichever rows are beside it.
func TestSolveRowsApart(t *testing.T) {
	bothFloats(t, testSolveRowsApart[float64], testSolveRowsApart[float32])
}

func testSolveRowsApart[F Float](t *testing.T) {
	for _, r := range []int{1, 2, 3, 4, 5, 16, 30, 33} {
		rng := rand.New(rand.NewPCG(uint64(r), 2))
		for _, off := range []bool{false, true} {
			c := newRowCall[F](rng, r, 131, 2, off)
			for i := range c.n { // some rows far from the others, so that not all go the same way
				s := math.Ldexp(1, rng.IntN(5)*rng.IntN(5)-8)
				for k := range r {
					c.g[i*r+k] *= s
					c.h[i*r+k] *= s
				}
				c.diag[i] *= s
			}
			c.run()
			for _, size := range []int{1, 2, 5, 37, 64} {
				for lo := 0; lo < c.n; lo += size {
					hi := min(lo+size, c.n)
					dst := make([]float64, (hi-lo)*r)
					NewRowSolver[F](r, r, off).Solve(dst, c.h[lo*r:hi*r], c.g[lo*r:hi*r], c.diag[lo:hi], c.l1, c.d, ordersOf(r, c.perms))
					if !slices.Equal(dst, c.dst[lo*r:hi*r]) {
						t.Fatalf("r = %d, off %t: rows %d to %d alone differ from the same among %d", r, off, lo, hi, c.n)
					}
				}
			}
		}
	}
}

// TestSolveRowsPitch: rows that lie apart in memory give the same bits as rows without gaps. Nothing between
// them is read or written.
func TestSolveRowsPitch(t *testing.T) {
	bothFloats(t, testSolveRowsPitch[float64], testSolveRowsPitch[float32])
}

func testSolveRowsPitch[F Float](t *testing.T) {
	for _, r := range []int{1, 2, 3, 4, 5, 15, 30} {
		rng := rand.New(rand.NewPCG(uint64(r), 4))
		for _, more := range []int{1, 2, 5} {
			c, pitch := newRowCall[F](rng, r, 71, 2, more == 2), r+more
			c.run()
			spread := func(x []float64) []float64 {
				y := make([]float64, c.n*pitch)
				for k := range y {
					y[k] = math.NaN()
				}
				for i := range c.n {
					copy(y[i*pitch:], x[i*r:(i+1)*r])
				}
				return y
			}
			dst := spread(make([]float64, c.n*r))
			NewRowSolver[F](r, pitch, c.off).Solve(dst, spread(c.h), spread(c.g), c.diag, c.l1, c.d, ordersOf(r, c.perms))
			for k, v := range spread(c.dst) {
				if math.Float64bits(dst[k]) != math.Float64bits(v) {
					t.Fatalf("r = %d, pitch %d: number %d is %v, want %v", r, pitch, k, dst[k], v)
				}
			}
		}
	}
}

// TestSolveLands: the changes lead from rows that have digits beyond F to numbers of F, up to rounding in
// float64, and some of them to exactly zero.
func TestSolveLands(t *testing.T) { bothFloats(t, testSolveLands[float64], testSolveLands[float32]) }

func testSolveLands[F Float](t *testing.T) {
	zeros := 0
	for _, r := range []int{1, 3, 4, 7, 30} {
		rng := rand.New(rand.NewPCG(uint64(r), 5))
		c := newRowCall[F](rng, r, 77, 2, r == 7)
		for k := range c.h {
			c.h[k] += rng.NormFloat64() / 64 // some below zero
		}
		c.run()
		for k, y := range c.h {
			v := y + c.dst[k]
			if !(v >= 0) || !(math.Abs(v-float64(F(v))) <= 0x1p-52*(math.Abs(y)+math.Abs(v))) {
				t.Fatalf("r = %d: from %v by %v to %v", r, y, c.dst[k], v)
			}
			if v == 0 && y != 0 {
				zeros++
			}
		}
	}
	if zeros == 0 {
		t.Error("nothing became zero")
	}
}

// TestMinimizer solves rows of one number, for which a = −diag and b = g without rounding, and checks the
// minimizers by exact arithmetic.
func TestMinimizer(t *testing.T) { bothFloats(t, testMinimizer[float64], testMinimizer[float32]) }

func testMinimizer[F Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	decades := 60.0
	if unsafe.Sizeof(*new(F)) == 4 {
		decades = 8
	}
	var as, bs []float64
	add := func(a, b float64) {
		as, bs = append(as, float64(F(a))), append(bs, float64(F(b)))
	}
	sign := func() float64 { return float64(2*rng.IntN(2) - 1) }
	for range 20000 {
		scale := math.Pow(10, decades*(2*rng.Float64()-1)) // of x
		add(sign()*scale*scale*math.Pow(10, 4*rng.Float64()-2), sign()*scale*scale*scale*math.Pow(10, 4*rng.Float64()-2))
		a := scale * scale * rng.Float64()
		add(-a, -a*math.Sqrt(2*a/27)*(1+sign()*math.Pow(10, -6*rng.Float64()))) // near the tie
		e := math.Pow(10, -12*rng.Float64())                                    // every ε
		add(a, a*math.Sqrt(e*a))
	}
	for _, e := range []float64{0.01, 0.1} { // where polynomials meet
		for k := -20; k <= 20; k++ {
			add(1, math.Sqrt(e)*(1+float64(k)*epsOf[F]()))
		}
	}
	for _, a := range []float64{0, math.Copysign(0, -1), 1, -1, 3, -3, 1e-20, -1e-20, 1e12, -1e12} {
		for _, b := range []float64{0, math.Copysign(0, -1), 1, -1, 1e-20, -1e-20, 1e15, -1e15} {
			add(a, b)
		}
	}
	diag := make([]float64, len(as))
	for i, a := range as {
		diag[i] = -a
	}
	x := make([]float64, len(as))
	NewRowSolver[F](1, 1, false).Solve(x, make([]float64, len(as)), bs, diag, []float64{0}, []F{0}, ordersOf(1, []int32{0}))
	zeros := 0
	for i, x := range x {
		if err := checkQuartic(as[i], bs[i], x, rootBound[F]()); err != nil {
			t.Fatal(err)
		}
		if x == 0 {
			zeros++
		}
	}
	if zeros < len(x)/20 || zeros > len(x)*19/20 {
		t.Errorf("%d of %d minimizers are zero", zeros, len(x))
	}
}

// checkQuartic returns an error unless x is, within the relative bound, argmin x⁴/4 + a·x²/2 − b·x over
// x ≥ 0. Where a relative change of b by the bound decides whether 0 or the positive candidate is better, it
// accepts either.
func checkQuartic(a, b, x, bound float64) error {
	num := func(v float64) *big.Float { return new(big.Float).SetPrec(500).SetFloat64(v) }
	mul := func(x, y *big.Float) *big.Float { return num(0).Mul(x, y) }
	if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
		return fmt.Errorf("a = %g, b = %g: x = %g", a, b, x)
	}
	positive := func(b *big.Float) bool { // is a positive x the better one?
		return b.Sign() > 0 || a < 0 && mul(mul(b, b), num(27)).Cmp(mul(mul(num(a), mul(num(a), num(a))), num(-2))) < 0
	}
	if want := positive(num(b)); want != (x > 0) {
		if positive(mul(num(b), num(1+bound))) == want && positive(mul(num(b), num(1-bound))) == want {
			return fmt.Errorf("a = %g, b = %g: x = %g, but zero is the minimizer: %t", a, b, x, !want)
		}
	}
	if x == 0 {
		return nil
	}
	slope := func(x *big.Float) *big.Float {
		s := mul(mul(x, x), x)
		s.Add(s, mul(num(a), x))
		return s.Sub(s, num(b))
	}
	below, above := mul(num(x), num(1-bound)), mul(num(x), num(1+bound))
	if slope(below).Sign() > 0 || slope(above).Sign() < 0 {
		return fmt.Errorf("a = %g, b = %g: x = %g is not within %g of a zero of the derivative", a, b, x, bound)
	}
	if m := mul(mul(above, above), num(3)); m.Add(m, num(a)).Sign() <= 0 {
		return fmt.Errorf("a = %g, b = %g: x = %g is not where the derivative rises", a, b, x)
	}
	return nil
}

// TestMinimizerOff checks minimizers without the diagonal, where a = D − h², against known ones.
func TestMinimizerOff(t *testing.T) {
	bothFloats(t, testMinimizerOff[float64], testMinimizerOff[float32])
}

func testMinimizerOff[F Float](t *testing.T) {
	for _, tc := range []struct{ a, b, h, want float64 }{
		{1, 1, 0, 1}, {1, -1, 0, 0}, {2, 3, 5, 1.5}, {4, 0, 7, 0}, {3, 2, 0, 2.0 / 3},
		{0, 1, 0.5, 0.5}, {0, -1, 0.5, 0.5}, {-1, 2, 0.25, 0.25}, {-1, -2, 0, 0}, {0, 0, 0, 0},
		{1, 9e3, 0, 9e3}, {1, 2e4, 0, 1e4}, {1, 2e4, 9e3, 1e4}, {1, 2e4, 1.5e4, 1.5e4}, {0x1p-20, 1, 0, 1e4 * 0x1p-10},
		{1e-30, -1, 0, 0}, {1e-30, -1, 3, 0}, {1e30, 1e10, 0, 1e-20},
	} {
		// Without other coordinates a = D − h² and b = g, so D = a + h² must be exact.
		d := F(tc.a + tc.h*tc.h)
		if float64(d)-tc.h*tc.h != tc.a {
			continue
		}
		for _, at := range []int{0, 1, 40} {
			h, g := make([]float64, 50), make([]float64, 50)
			h[at], g[at] = tc.h, tc.b
			dst := make([]float64, 50)
			NewRowSolver[F](1, 1, true).Solve(dst, h, g, make([]float64, 50), []float64{0}, []F{d}, ordersOf(1, []int32{0}))
			if got := tc.h + dst[at]; !(math.Abs(got-tc.want) <= rootBound[F]()*tc.want) {
				t.Errorf("a = %g, b = %g, h = %g: %g, want %g", tc.a, tc.b, tc.h, got, tc.want)
			}
		}
	}
}

// TestSolveRowsFinite: finite inputs of magnitudes within 1e±60, or 1e±8 for float32, never give a NaN, an
// infinity or a negative entry.
func TestSolveRowsFinite(t *testing.T) {
	bothFloats(t, testSolveRowsFinite[float64], testSolveRowsFinite[float32])
}

func testSolveRowsFinite[F Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	decades := 60.0
	if unsafe.Sizeof(*new(F)) == 4 {
		decades = 8
	}
	for trial := range 300 {
		r, n := 1+rng.IntN(20), 1+rng.IntN(70)
		number := func() float64 {
			switch rng.IntN(4) {
			case 0:
				return 0
			case 1:
				return 2*rng.Float64() - 1
			}
			return math.Pow(10, decades*(2*rng.Float64()-1)) * float64(2*rng.IntN(2)-1)
		}
		c := newRowCall[F](rng, r, n, 2, trial%2 == 1)
		for _, s := range [][]float64{c.h, c.g, c.diag, c.l1} {
			for i := range s {
				s[i] = number()
			}
		}
		for i := range c.h {
			c.h[i] = math.Abs(c.h[i])
		}
		for i := range c.d {
			c.d[i] = F(number())
		}
		if trial%5 == 0 {
			clear(c.d)
		}
		c.run()
		for k, v := range c.dst {
			if math.IsNaN(v) || math.IsInf(v, 0) || F(c.h[k])+F(v) < 0 {
				t.Fatalf("trial %d: r = %d, row %d, coordinate %d: %v", trial, r, k/r, k%r, v)
			}
		}
	}
}

// TestSolveRowsEdges: Solve writes nothing but dst, changes nothing without a pass, and refuses wrong lengths
// and coordinates.
func TestSolveRowsEdges(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 0))
		for _, r := range []int{1, 3, 4, 6, 30} {
			for _, n := range []int{0, 1, 5, 64} {
				a := &arena{}
				c := newRowCall[float64](rng, r, n, 2, false)
				for _, s := range []*[]float64{&c.dst, &c.h, &c.g, &c.diag, &c.l1, &c.d} {
					*s = a.place(*s)
				}
				perms := slices.Clone(c.perms)
				c.run()
				a.check(t, &call{op: op{name: "Solve"}, n: n, r: r, out: c.dst})
				if !slices.Equal(perms, c.perms) {
					t.Fatal("perms changed")
				}
				c.perms = nil
				c.run()
				for _, v := range c.dst {
					if v != 0 {
						t.Fatalf("a change of %v without a pass", v)
					}
				}
			}
		}
		c := newRowCall[float64](rng, 3, 4, 1, false)
		for name, wrong := range map[string]func(c *rowCall[float64]){
			"dst":   func(c *rowCall[float64]) { c.dst = c.dst[1:] },
			"h":     func(c *rowCall[float64]) { c.h = c.h[1:] },
			"g":     func(c *rowCall[float64]) { c.g = c.g[1:] },
			"diag":  func(c *rowCall[float64]) { c.diag = c.diag[1:] },
			"l1":    func(c *rowCall[float64]) { c.l1 = c.l1[1:] },
			"d":     func(c *rowCall[float64]) { c.d = c.d[1:] },
			"perms": func(c *rowCall[float64]) { c.perms = c.perms[1:] },
		} {
			bad := *c
			wrong(&bad)
			if got := panics(bad.run); got != badLen {
				t.Errorf("%s too short: panic %v, want %q", name, got, badLen)
			}
		}
		other := ordersOf(4, []int32{0, 1, 2, 3})
		if got := panics(func() { NewRowSolver[float64](3, 3, false).Solve(c.dst, c.h, c.g, c.diag, c.l1, c.d, other) }); got != badLen {
			t.Errorf("orders of 4 coordinates for 3: panic %v, want %q", got, badLen)
		}
		other.Set(3, []int32{2, 1, 0, 0, 1, 2}) // Set reuses the memory of other, here and below
		other.Set(3, c.perms)
		alone := slices.Clone(c.dst)
		c.run()
		NewRowSolver[float64](3, 3, false).Solve(alone, c.h, c.g, c.diag, c.l1, c.d, other)
		if !slices.Equal(alone, c.dst) {
			t.Errorf("orders set again: %v, want %v", alone, c.dst)
		}
		for _, k := range []int32{-1, 3, math.MaxInt32, math.MinInt32} {
			c.perms[1] = k
			if got := panics(c.run); got != badIndex {
				t.Errorf("coordinate %d of 3: panic %v, want %q", k, got, badIndex)
			}
		}
		NewRowSolver[float64](0, 0, false).Solve(nil, nil, nil, make([]float64, 3), nil, nil, new(Orders))
	})
}

// TestSolveRowsAnySizes compares each path with plainly, on well-conditioned calls of random sizes.
func TestSolveRowsAnySizes(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(8, 6))
		for range 100 {
			r, n, passes, off := 1+rng.IntN(80), 1+rng.IntN(100), 1+rng.IntN(4), rng.IntN(2) == 0
			newRowCall[float64](rng, r, n, passes, off).check(t)
			newRowCall[float32](rng, r, n, passes, off).check(t)
		}
	})
}
