package matrix

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// orthogonal returns an n×k matrix of orthonormal columns, found by the Gram–Schmidt process applied twice.
func orthogonal(rng *rand.Rand, n, k int) naive {
	q := draw(rng, k, n, 1) // by columns
	for j := range q {
		for range 2 {
			for l := range j {
				var c float64
				for i, v := range q[j] {
					c += v * q[l][i]
				}
				for i := range q[j] {
					q[j][i] -= c * q[l][i]
				}
			}
		}
		var sq float64
		for _, v := range q[j] {
			sq += v * v
		}
		for i := range q[j] {
			q[j][i] /= math.Sqrt(sq)
		}
	}
	return q.transpose()
}

// entries returns A written out.
func entries(a Operator) naive {
	return rowsOf(multiply(a, identity(a.Dim()), 1))
}

// distance returns ‖m − o‖_F.
func (m naive) distance(o naive) float64 {
	var sq float64
	for i := range m {
		for j, v := range m[i] {
			sq += (v - o[i][j]) * (v - o[i][j])
		}
	}
	return math.Sqrt(sq)
}

// norm returns ‖m‖_F.
func (m naive) norm() float64 { return m.distance(zeros(len(m), len(m[0]))) }

// fromDense returns the operator of m, which may be asymmetric by rounding.
func fromDense(t testing.TB, m naive) *SymDense {
	t.Helper()
	a, err := FromDense(m.dense(), 1e-12)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// compress returns what Compress returns, and ends the test on an error.
func compress(t testing.TB, a Operator, c Compression) (Operator, float64) {
	t.Helper()
	l, errNorm, err := Compress(context.Background(), a, c)
	if err != nil {
		t.Fatal(err)
	}
	return l, errNorm
}

// columns returns the number of columns that a low rank keeps.
func columns(a Operator) int { return int(a.Stored()) / a.Dim() }

// TestCompressRecovers: a matrix of rank 5 is recovered, with rank 5, from 5 columns or more, at any scale
// and from any kind of operator.
func TestCompressRecovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 20))
	u := orthogonal(rng, 60, 5)
	u[7] = make([]float64, 5)
	for _, e := range []int{-600, 0, 600} {
		lambda := []float64{3, -2, 1, -0.5, 1e-3}
		for k := range lambda {
			lambda[k] = math.Ldexp(lambda[k], e)
		}
		m := u.spectral(lambda)
		formed := fromDense(t, m)
		low, err := NewLowRank(u.dense(), lambda, 1)
		if err != nil {
			t.Fatal(err)
		}
		for name, a := range map[string]Operator{"dense": formed, "low rank": low, "scaled": formed.Scaled(4).Scaled(0.25)} {
			for _, c := range []Compression{{Columns: 5, Power: 2}, {Columns: 12}, {Columns: 12, Power: 3, Seed: 9}, {Columns: math.MaxInt32}} {
				l, errNorm := compress(t, a, c)
				if d := entries(l.Scaled(math.Ldexp(1, -e))).distance(entries(a.Scaled(math.Ldexp(1, -e)))); !(d <= 1e-12) {
					t.Errorf("2^%d·%s, %+v: off by %.2g", e, name, c, d)
				}
				if columns(l) != 5 {
					t.Errorf("2^%d·%s, %+v: rank %d, want 5", e, name, c, columns(l))
				}
				if errNorm = math.Ldexp(errNorm, -e); !(errNorm <= 3e-7) {
					t.Errorf("2^%d·%s, %+v: error reported as %.2g, want at most 3e-7", e, name, c, errNorm)
				}
			}
		}
	}
}

// TestCompressDecays compares the error on decaying spectra with the least possible, √Σλ² over the
// eigenvalues left out, and compares the error that Compress reports with the error found.
func TestCompressDecays(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 21))
	const n = 120
	u := orthogonal(rng, n, n)
	for name, falls := range map[string]func(k int) float64{
		"geometric": func(k int) float64 { return math.Pow(0.8, float64(k)) },
		"inverse":   func(k int) float64 { return 1 / float64(k+1) },
		"slow":      func(k int) float64 { return 1 / math.Sqrt(float64(k+1)) },
	} {
		lambda := make([]float64, n)
		for k := range lambda {
			lambda[k] = falls(k)
			if k%3 == 1 {
				lambda[k] = -lambda[k]
			}
		}
		m := u.spectral(lambda)
		a := fromDense(t, m)
		for _, c := range []Compression{{Columns: 20, Power: 2}, {Columns: 30, Power: 2, Keep: 20}, {Columns: 40, Power: 2, Keep: 20}} {
			l, told := compress(t, a, c)
			want, most := c.Keep, 1.1
			if want == 0 {
				want, most = c.Columns, 1.5 // the last vectors have no spare columns behind them to take up the rest
			}
			if columns(l) != want {
				t.Errorf("%s, %+v: rank %d, want %d", name, c, columns(l), want)
			}
			var sq float64
			for _, v := range lambda[want:] {
				sq += v * v
			}
			least := math.Sqrt(sq)
			found := entries(l).distance(m)
			if !(found <= most*least) || !(found >= least*(1-1e-9)) {
				t.Errorf("%s, %+v: error %.6g, the least possible is %.6g", name, c, found, least)
			}
			if !(math.Abs(told-found) <= 1e-7*a.Norm()) {
				t.Errorf("%s, %+v: error reported as %.9g, found %.9g", name, c, told, found)
			}
		}
	}
}

// TestSketch: A·Ω computed by groups of items equals A times the whole Ω, for a dense A and for points, with
// and without the diagonal or with another one, and has the same bits for any number of workers.
//
// Each item has numbers in as many columns as it should, or in one fewer. No column is without a number for a
// long run of neighboring items. If there are few columns, or none to spare, all items have numbers in all
// columns.
func TestSketch(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 23))
	for _, tc := range []struct {
		n, columns int
		spare      bool
		width      int
	}{{500, 48, true, 8}, {333, 61, true, 8}, {70, 50, true, 8}, {500, 47, true, 47}, {500, 60, false, 60}, {1, 1, false, 1}} {
		s := newSketch(tc.n, tc.columns, tc.spare, 5)
		omega := s.dense()
		for i := range tc.n {
			has := 0
			for _, v := range omega.Row(i) {
				if v != 0 {
					has++
				}
			}
			if has > tc.width || has < tc.width-1 || has == 0 {
				t.Fatalf("n = %d, %d columns: item %d has numbers in %d columns, want %d", tc.n, tc.columns, i, has, tc.width)
			}
		}
		for j := range tc.columns {
			longest, since := 0, 0 // runs of items without a number in the column
			for i := range tc.n {
				if since++; omega.At(i, j) != 0 {
					since = 0
				}
				longest = max(longest, since)
			}
			if most := s.groups * s.together; longest >= most || longest > max(tc.n/2, 1) {
				t.Fatalf("n = %d, %d columns: column %d has no number for %d neighboring items", tc.n, tc.columns, j, longest)
			}
		}
		m := drawSymmetric(rng, tc.n, 1)
		x := draw(rng, tc.n, 20, 1)
		points, err := Gram(x.dense(), Rows, 1)
		if err != nil {
			t.Fatal(err)
		}
		other := func(a Operator) Operator { return CompletedBy(a.OffDiagonal(), draw(rng, 1, tc.n, 1)[0]) }
		for name, a := range map[string]Operator{
			"dense": fromDense(t, m).Scaled(4), "no diagonal": fromDense(t, m).OffDiagonal(), "another diagonal": other(fromDense(t, m)).Scaled(4),
			"points": points.Scaled(4), "points, no diagonal": points.OffDiagonal(), "points, another diagonal": other(points),
		} {
			want := multiply(a, omega, 1)
			first := s.times(a, 1)
			for k, v := range first.data {
				if !(math.Abs(v-want.data[k]) <= 1e-12*a.Norm()) {
					t.Fatalf("n = %d, %d columns, %s: number %d of A·Ω is %v, want %v", tc.n, tc.columns, name, k, v, want.data[k])
				}
			}
			if !slices.Equal(s.times(a, 3).data, first.data) {
				t.Errorf("n = %d, %d columns, %s: three workers give other bits than one", tc.n, tc.columns, name)
			}
		}
	}
}

// TestCompressManyColumns: with so many columns that items have numbers in only some of them, the error is
// within 8 % of the error with numbers everywhere, and the error that Compress reports is the error found.
func TestCompressManyColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(24, 24))
	const n = 240
	for name, falls := range map[string]func(k int) float64{
		"geometric": func(k int) float64 { return math.Pow(0.95, float64(k)) },
		"inverse":   func(k int) float64 { return 1 / float64(k+1) },
		"slow":      func(k int) float64 { return 1 / math.Sqrt(float64(k+1)) },
	} {
		for _, parts := range []int{1, 3} { // each eigenvector covers all items, or a third of them
			m := zeros(n, n)
			for p := range parts {
				size := n / parts
				u := orthogonal(rng, size, size)
				lambda := make([]float64, size)
				for k := range lambda {
					if lambda[k] = falls(k) / float64(p+1); k%3 == 1 {
						lambda[k] = -lambda[k]
					}
				}
				part := u.spectral(lambda)
				for i := range size {
					copy(m[p*size+i][p*size:], part[i])
				}
			}
			a := fromDense(t, m)
			for _, c := range []Compression{{Columns: 70, Power: 2, Keep: 60, Near: 1}, {Columns: 70, Power: 1, Keep: 60, Near: 1}, {Columns: 90, Power: 1, Keep: 60, Near: 1}} {
				q := orthonormalize(multiply(a, newSketch(n, c.Columns, false, 0).dense(), 1), 1)
				for range c.Power {
					q = orthonormalize(multiply(a, q, 1), 1)
				}
				lambda, _, _ := eigen(context.Background(), transTimes(q, multiply(a, q, 1), 1), 1)
				sq := a.Norm() * a.Norm()
				for _, v := range lambda[:c.Keep] {
					sq -= v * v
				}
				l, told := compress(t, a, c)
				found := entries(l).distance(m)
				if found > 1.08*math.Sqrt(sq) || !(math.Abs(told-found) <= 1e-7*a.Norm()) {
					t.Errorf("%s, %d parts, %+v: error %.6g, reported as %.6g, with numbers everywhere %.6g", name, parts, c, found, told, math.Sqrt(sq))
				}
			}
		}
	}
}

// TestNoWorkers: Workers left at 0 means one goroutine, also for sparse points, whose rows of Z are divided
// among goroutines.
func TestNoWorkers(t *testing.T) {
	x, err := NewCSR(4, 6, []int64{0, 2, 3, 5, 6}, []int32{0, 3, 1, 2, 5, 4}, []float64{1, 2, 3, 4, 5, 6})
	if err != nil {
		t.Fatal(err)
	}
	a, err := Gram(x, Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Compress(context.Background(), a, Compression{Columns: 2}); err != nil {
		t.Error(err)
	}
}

// TestCompressDoesNotDependOnWorkers: the result has the same bits for any number of workers, and other bits
// for another seed.
func TestCompressDoesNotDependOnWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 22))
	x := draw(rng, 700, 30, 0.5)
	points, err := Gram(x.dense(), Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	sparse, err := FromCSR(drawSymmetric(rng, 700, 0.02).csr(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]Operator{"points": points, "sparse": sparse} {
		h := draw(rng, 700, 3, 1).dense()
		var want *Dense
		for _, workers := range []int{1, 2, 7} {
			l, _ := compress(t, a, Compression{Columns: 10, Power: 1, Seed: 3, Workers: workers})
			got := multiply(l, h, workers)
			if want == nil {
				want = got
				other, _ := compress(t, a, Compression{Columns: 10, Power: 1, Seed: 4, Workers: 1})
				if slices.Equal(multiply(other, h, 1).data, want.data) {
					t.Errorf("%s: another seed gives the same result", name)
				}
			}
			if !slices.Equal(got.data, want.data) {
				t.Errorf("%s: %d workers give another result", name, workers)
			}
		}
	}
}

// TestCompressSmall checks the results for a zero matrix, a 1×1 matrix and an empty one, the number of
// products, and that invalid settings are refused.
func TestCompressSmall(t *testing.T) {
	l, errNorm := compress(t, fromDense(t, zeros(4, 4)), Compression{Columns: 3, Power: 1})
	if columns(l) != 0 || errNorm != 0 || l.Norm() != 0 || entries(l).norm() != 0 {
		t.Errorf("zero matrix: rank %d, error %v, norm %v", columns(l), errNorm, l.Norm())
	}
	l, errNorm = compress(t, fromDense(t, naive{{-3}}), Compression{Columns: 1})
	if v := entries(l)[0][0]; !(math.Abs(v+3) <= 1e-15) || errNorm > 1e-7 || l.Negatives().Count != 1 {
		t.Errorf("1×1 matrix of −3: %v, error %v, negatives %+v", v, errNorm, l.Negatives())
	}
	empty, err := FromDense(NewDense(0, 0, nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	if l, errNorm = compress(t, empty, Compression{Columns: 2, Power: 1}); l.Dim() != 0 || errNorm != 0 {
		t.Errorf("empty matrix: %d×%d, error %v", l.Dim(), l.Dim(), errNorm)
	}
	multiply(l, NewDense(0, 2, nil), 1)
	counted := &counter{Operator: fromDense(t, naive{{2, 1}, {1, 2}})}
	if compress(t, counted, Compression{Columns: 1, Power: 3}); counted.products != 5 {
		t.Errorf("%d products for Power = 3, want 5", counted.products)
	}
	for _, c := range []Compression{{}, {Columns: -1}, {Columns: 1, Power: -1}, {Columns: 1, Keep: -1}} {
		if _, _, err := Compress(context.Background(), fromDense(t, naive{{1}}), c); !errors.Is(err, ErrCompression) {
			t.Errorf("%+v: error %v, want %v", c, err, ErrCompression)
		}
	}
}

// counter counts the products it is asked for.
type counter struct {
	Operator
	products int
}

func (c *counter) Scaled(float64) Operator { return c }

func (c *counter) NewProduct(h *Dense, workers int) Product {
	c.products++
	return c.Operator.NewProduct(h, workers)
}

// TestOrthonormalize: the result is an orthonormal basis of the space of the given columns, whatever their
// condition, and the columns themselves do not change.
func TestOrthonormalize(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 23))
	const n, k = 300, 14
	random := draw(rng, n, k, 1)
	repeated, graded, alike, falling, rounded := draw(rng, n, k, 1), draw(rng, n, k, 1), zeros(n, k), zeros(n, k), zeros(n, k)
	base := orthogonal(rng, n, k)
	mixed := draw(rng, k, k, 1)
	for i := range n {
		for j := range k {
			switch {
			case j%3 == 1:
				repeated[i][j] = repeated[i][j-1]
			case j == 6:
				repeated[i][j] = 2*repeated[i][0] - repeated[i][3]
			case j == 8:
				repeated[i][j] = 0
			}
			graded[i][j] *= math.Pow(10, float64(-10*j))
			alike[i][j] = base[i][0] + math.Pow(10, -float64(j))*base[i][j] // ever closer to the first
			rounded[i][j] = base[i][0] + 1e-13*base[i][1] + 0x1p-53*rng.Float64()*base[i][0]
			for l := range k {
				falling[i][j] += base[i][l] * math.Pow(10, -float64(l)) * mixed[l][j] // condition 1e13
			}
		}
	}
	smaller := make([]naive, 200) // rows, each a tenth of the one before, or a thousandth
	for s := range smaller {
		smaller[s] = draw(rng, k, k, 1)
		for i, row := range smaller[s] {
			for j := range row {
				row[j] *= math.Pow(10, -float64(i*(1+2*(s%2))))
			}
		}
	}
	type basisCase struct {
		name string
		y    naive
		rank int
	}
	cases := []basisCase{
		{"random", random, k}, {"repeated", repeated, 7}, {"graded", graded, k}, {"alike", alike, k}, {"rounded", rounded, -1},
		{"ill-conditioned", falling, k},
		{"zero", zeros(n, k), 0}, {"square", draw(rng, k, k, 1), k}, {"one", draw(rng, 1, 1, 1), 1}, {"one row", draw(rng, 1, 3, 1), 1},
	}
	for s, y := range smaller {
		cases = append(cases, basisCase{fmt.Sprintf("smaller rows, %d", s), y, -1})
	}
	for _, c := range cases {
		y := c.y.dense()
		q := orthonormalize(y, 2)
		if q.cols != c.rank && c.rank >= 0 { // where rank is −1, rounding decides how many vectors there are
			t.Errorf("%s: %d vectors, want %d", c.name, q.cols, c.rank)
		}
		if !slices.Equal(y.data, c.y.dense().data) {
			t.Errorf("%s: the columns given have changed", c.name)
		}
		if q.cols == 0 {
			continue
		}
		basis := rowsOf(q)
		if d := basis.transpose().times(basis).distance(rowsOf(identity(q.cols))); !(d <= 1e-14*k) {
			t.Errorf("%s: ‖QᵀQ−I‖ = %.2g", c.name, d)
		}
		inside := basis.times(basis.transpose().times(c.y))
		for j := range c.y[0] {
			var norm, off float64
			for i := range c.y {
				norm += c.y[i][j] * c.y[i][j]
				off += (c.y[i][j] - inside[i][j]) * (c.y[i][j] - inside[i][j])
			}
			if !(math.Sqrt(off) <= 2e-14*math.Sqrt(norm)) {
				t.Errorf("%s: column %d, of norm %.2g, lies %.2g outside the basis", c.name, j, math.Sqrt(norm), math.Sqrt(off))
			}
		}
	}
}

// TestRestOfColumns compares restOfColumns with the Gram–Schmidt process. Columns that depend on earlier ones
// leave nothing.
func TestRestOfColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 21))
	const n, k = 30, 9
	y := draw(rng, k, n, 1) // by columns
	for i := range n {
		y[1][i] *= 1e6 // so large that little accuracy is left for the other columns
		y[6][i] = y[1][i] - 2*y[4][i]
		y[7][i] = 0
	}
	for keep := range k + 1 {
		free, want := zeros(0, 0), 0.0
		for j, column := range y {
			v := slices.Clone(column)
			for range 2 {
				for _, q := range free {
					var c float64
					for i := range v {
						c += v[i] * q[i]
					}
					for i := range v {
						v[i] -= c * q[i]
					}
				}
			}
			var sq, all float64
			for i := range v {
				sq += v[i] * v[i]
				all += column[i] * column[i]
			}
			if sq <= 1e-20*all {
				continue
			}
			if j >= keep {
				want += sq
			}
			for i := range v {
				v[i] /= math.Sqrt(sq)
			}
			free = append(free, v)
		}
		if got := restOfColumns(gram(y.transpose().dense(), 1), keep); !(math.Abs(got-want) <= 1e-12*(want+k*n)) {
			t.Errorf("%d columns kept: the rest is %v, want %v", keep, got, want)
		}
	}
}

// TestCompressNear: if A is far from every matrix of rank Keep, Compress gives up and reports about the right
// distance, whether items have numbers in all columns or in some.
//
// If A is near, Compress does not give up, whether the rest of A has many directions or few. The result is
// then no farther from A than reported, and hardly farther than without Near.
//
// In between, an estimate decides. If Compress gives up, that estimate is above the limit; if not, the distance
// reported is no less than the least possible.
func TestCompressNear(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 25))
	for _, tc := range []struct{ n, rank, keep, columns int }{{200, 6, 10, 15}, {320, 50, 60, 70}} {
		u := orthogonal(rng, tc.n, tc.n)
		for _, rest := range []float64{0, 1e-3, 0.019, 0.05, 0.5, 2} {
			for _, falls := range []float64{1, 0.9} { // factor from one eigenvalue to the next, beyond the first rank of them
				lambda, sq := make([]float64, tc.n), 0.0 // rank eigenvalues are 1; the others together have norm rest·√rank
				for k := range lambda {
					if lambda[k] = 1; k >= tc.rank {
						lambda[k] = math.Pow(falls, float64(k-tc.rank))
						sq += lambda[k] * lambda[k]
					}
				}
				beyond := 0.0 // Σλ² of what no matrix of rank keep has
				for k := range lambda[tc.rank:] {
					v := &lambda[tc.rank+k]
					if *v *= rest * math.Sqrt(float64(tc.rank)/sq); tc.rank+k >= tc.keep {
						beyond += *v * *v
					}
				}
				a := fromDense(t, u.spectral(lambda)).Scaled(0x1p-200)
				relative := math.Sqrt(beyond) / a.Norm() * 0x1p-200
				for seed := range uint64(5) {
					c := Compression{Columns: tc.columns, Keep: tc.keep, Power: 1, Seed: seed, Near: 0.02}
					got, norm, err := Compress(context.Background(), a, c)
					switch {
					case relative > 0.2:
						if least := math.Sqrt(beyond) * 0x1p-200; !errors.Is(err, ErrFar) || got != nil || !(norm >= 0.6*least && norm <= 4*least) {
							t.Errorf("%+v, ‖A−Ã‖ = %v·‖A‖ or more, falling by %v, seed %d: %v, error %v, distance %v, want ErrFar and about %v", tc, relative, falls, seed, got, err, norm, least)
						}
					case relative < c.Near:
						if err != nil || !(norm <= 1.5*c.Near*a.Norm()) {
							t.Fatalf("%+v, ‖A−Ã‖ = %v·‖A‖ or more, falling by %v, seed %d: distance %v·‖A‖, error %v", tc, relative, falls, seed, norm/a.Norm(), err)
						}
						c.Near = 0
						_, most := compress(t, a, c)
						found := entries(got.Scaled(0x1p200)).distance(entries(a.Scaled(0x1p200))) * 0x1p-200
						if rounding := 1e-7 * a.Norm(); !(found <= 1.08*most+rounding && norm >= found-rounding) {
							t.Errorf("%+v, ‖A−Ã‖ = %v·‖A‖, seed %d: distance %v, reported as %v, without Near %v", tc, relative, seed, found, norm, most)
						}
					default:
						least := relative * a.Norm()
						allowed := c.Near * a.Norm() * math.Sqrt(1+float64(tc.keep)/float64(tc.columns-tc.keep-1))
						gaveUp := errors.Is(err, ErrFar) && got == nil && norm > allowed*(1-1e-9) && norm <= 4*least
						found := err == nil && got != nil && norm >= least-1e-7*a.Norm()
						if !gaveUp && !found {
							t.Errorf("%+v, ‖A−Ã‖ = %v·‖A‖ or more, falling by %v, seed %d: %v, error %v, distance %v, want ErrFar and above %v, or at least %v", tc, relative, falls, seed, got, err, norm, allowed, least)
						}
					}
				}
			}
		}
	}
	if _, _, err := Compress(context.Background(), fromDense(t, naive{{1, 0}, {0, 1}}), Compression{Columns: 2, Near: math.NaN()}); !errors.Is(err, ErrCompression) {
		t.Errorf("Near is NaN: error %v, want ErrCompression", err)
	}
}

// watched is an operator that calls its function before ahead of each product.
type watched struct {
	Operator
	before func()
}

func (w watched) Scaled(s float64) Operator { return watched{w.Operator.Scaled(s), w.before} }

func (w watched) NewProduct(h *Dense, workers int) Product {
	w.before()
	return w.Operator.NewProduct(h, workers)
}

// TestCompressCancelled: Compress checks ctx between any two products and after the last one, and makes no
// product after ctx has reported that it is cancelled.
func TestCompressCancelled(t *testing.T) {
	groups := cliques(6, 4, 0) // of rank 6 with the diagonal
	for i := range groups {
		groups[i][i] = 1
	}
	for _, c := range []Compression{{Columns: 9, Power: 2}, {Columns: 9, Keep: 6, Power: 1, Near: 0.01}, {Columns: 9}} {
		products, unasked, late, last := 0, 0, 0, -1
		ctx := &asks{Context: context.Background(), from: math.MaxInt}
		a := watched{fromDense(t, groups), func() {
			products++
			if ctx.count == last {
				unasked++
			}
			if last = ctx.count; ctx.count > ctx.from {
				late++
			}
		}}
		if _, _, err := Compress(ctx, a, c); err != nil || products < 2 || unasked > 0 || ctx.count == last {
			t.Fatalf("%+v: asked %d times, %d before the last product, %d of %d products made without asking, error %v", c, ctx.count, last, unasked, products, err)
		}
		for from := range ctx.count {
			*ctx, last = asks{Context: context.Background(), from: from}, -1
			if got, _, err := Compress(ctx, a, c); !errors.Is(err, context.Canceled) || got != nil || late > 0 {
				t.Errorf("%+v, cancelled at call %d of Err: %v, error %v, %d products after that", c, from+1, got, err, late)
			}
		}
	}
}

// nothing is an operator whose products are NaN.
type nothing struct{ Operator }

func (m nothing) Scaled(c float64) Operator { return nothing{m.Operator.Scaled(c)} }

func (m nothing) NewProduct(*Dense, int) Product { return m }

func (m nothing) RowsTo(dst []float64, _, _ int) {
	for k := range dst {
		dst[k] = math.NaN()
	}
}

// TestCompressNaN: a product with NaN is refused, with and without a distance that would do.
func TestCompressNaN(t *testing.T) {
	a := nothing{fromDense(t, drawSymmetric(rand.New(rand.NewPCG(1, 1)), 20, 1))}
	for _, near := range []float64{0, 2} {
		c := Compression{Columns: 8, Keep: 4, Near: near}
		if m, _, err := Compress(context.Background(), a, c); !errors.Is(err, ErrNotFinite) || m != nil {
			t.Errorf("near %v: %v, want %v", near, err, ErrNotFinite)
		}
	}
}

// TestCompressRange: for a matrix near either end of the range of float64, the distance is that of the same
// matrix of moderate size, scaled, and the norm of the result is near that of A.
func TestCompressRange(t *testing.T) {
	diagonal := zeros(12, 12)
	for i := range diagonal {
		diagonal[i][i] = float64(12 - i)
	}
	c := Compression{Columns: 8, Keep: 4, Power: 3}
	_, want, err := Compress(context.Background(), fromDense(t, diagonal), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []int{1018, -990} {
		for i := range diagonal {
			diagonal[i][i] = math.Ldexp(float64(12-i), e)
		}
		a := fromDense(t, diagonal)
		got, apart, err := Compress(context.Background(), a, c)
		if err != nil {
			t.Errorf("times 2^%d: %v", e, err)
			continue
		}
		if !(math.Abs(math.Ldexp(apart, -e)-want) <= 1e-12*want) || !(math.Abs(got.Norm()/a.Norm()-1) < 0.3) {
			t.Errorf("times 2^%d: distance %v, want %v; low rank of norm %v for ‖A‖ = %v", e, math.Ldexp(apart, -e), want, got.Norm(), a.Norm())
		}
	}
}
