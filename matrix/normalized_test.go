package matrix

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"symnmf/internal/kernel"
)

// normalize returns what Normalized returns, and ends the test on an error.
func normalize(t testing.TB, a Operator, tau float64) Operator {
	t.Helper()
	v, err := Normalized(a, tau, 2)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestNormalizedTwice compares a view of a view with the definition, with and without the diagonal, and with
// the diagonal counted in the degrees or not.
func TestNormalizedTwice(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 30))
	x := draw(rng, 30, 6, 0.5)
	points, err := Gram(x.dense(), Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	sparse, err := Gram(x.csr(t), Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	m := x.times(x.transpose())
	off := func(m naive) naive {
		out := zeros(len(m), len(m))
		for i := range m {
			for j, v := range m[i] {
				if i != j {
					out[i][j] = v
				}
			}
		}
		return out
	}
	for name, a := range map[string]Operator{"dense": fromDense(t, m), "points": points, "sparse points": sparse} {
		for _, c := range []struct {
			name string
			a    Operator
			want naive
		}{
			{"twice", normalize(t, normalize(t, a, 0.3), 2), m.normalized(0.3).normalized(2)},
			{"diagonal in the degrees", normalize(t, a, 0.3).OffDiagonal(), off(m.normalized(0.3))},
			{"diagonal nowhere", normalize(t, a.OffDiagonal(), 0.3), off(m).normalized(0.3)},
			{"diagonal between", normalize(t, normalize(t, a, 0).OffDiagonal(), 0.3), off(m.normalized(0)).normalized(0.3)},
			{"scaled before", normalize(t, a.Scaled(16), 16*0.3), m.normalized(0.3)},
		} {
			if d := entries(c.a).distance(c.want); !(d <= 1e-14) {
				t.Errorf("%s, %s: off by %.2g", name, c.name, d)
			}
			if got, want := c.a.Norm(), c.want.norm(); !near(got, want, 0) {
				t.Errorf("%s, %s: norm %v, want %v", name, c.name, got, want)
			}
		}
	}
}

// TestNormalizedNormRounds: the norm of a view of many equal entries, whose squares all round the same way,
// is right to a few roundings, so that the lower bound of a matrix of rank 1 is 0.
func TestNormalizedNormRounds(t *testing.T) {
	const n, tau = 1000, 0.5
	val := slices.Repeat([]float64{1}, n*n)
	ptr, col := make([]int64, n+1), make([]int32, n*n)
	for i := range n {
		ptr[i+1] = int64((i + 1) * n)
		for j := range n {
			col[i*n+j] = int32(j)
		}
	}
	ones, err := NewCSR(n, n, ptr, col, val)
	if err != nil {
		t.Fatal(err)
	}
	sparse, err := FromCSR(ones, 0)
	if err != nil {
		t.Fatal(err)
	}
	dense, err := FromDense(NewDense(n, n, val), 0)
	if err != nil {
		t.Fatal(err)
	}
	const want = n / (n + tau)
	for name, a := range map[string]Operator{"sparse": sparse, "dense": dense} {
		v := normalize(t, a, tau)
		if got := v.Norm(); !(math.Abs(got-want) <= 1e-14) {
			t.Errorf("%s: norm %v, want %v", name, got, want)
		}
		if off, want := v.OffDiagonal().Norm(), math.Sqrt(n*(n-1))/(n+tau); !(math.Abs(off-want) <= 1e-14) {
			t.Errorf("%s: norm %v without the diagonal, want %v", name, off, want)
		}
		if bound := LowerBound([]float64{want}, v.Norm(), 1); bound != 0 {
			t.Errorf("%s: lower bound %v for a matrix of rank 1, want 0", name, bound)
		}
	}
}

// TestNormalizedKeeps: a view has the stored entries, density and negatives of A, and lists its rows or looks
// forward if A does.
func TestNormalizedKeeps(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 31))
	m := drawSymmetric(rng, 20, 0.5)
	m[2][3], m[3][2] = -0.01, -0.01
	points, err := Gram(draw(rng, 20, 5, 0.5).dense(), Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]Operator{"dense": fromDense(t, m), "points": points} {
		for _, v := range []Operator{normalize(t, a, 1), normalize(t, a, 1).Scaled(4), normalize(t, a, 1).OffDiagonal()} {
			if v.Stored() != a.Stored() || v.Density() != a.Density() || v.Negatives() != a.Negatives() {
				t.Errorf("%s: %d stored, density %v, negatives %+v", name, v.Stored(), v.Density(), v.Negatives())
			}
			_, listed := a.(RowVisitor)
			if _, ok := v.(RowVisitor); ok != listed {
				t.Errorf("%s: the view lists its rows: %v, want %v", name, ok, listed)
			}
			h := NewDense(20, 2, nil)
			_, forward := a.NewCursor(h, 1).(Forwarder)
			if _, ok := v.NewCursor(h, 1).(Forwarder); ok != forward {
				t.Errorf("%s: the view looks forward: %v, want %v", name, ok, forward)
			}
		}
	}
}

// TestNormalizedScales: the scale of A does not matter, even where squares of A, or of the s_i, overflow or
// underflow.
func TestNormalizedScales(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 32))
	m := drawSymmetric(rng, 9, 0.6)
	m[4] = make([]float64, 9) // no degree
	for i := range m {
		m[i][4] = 0
	}
	want := normalize(t, fromDense(t, m), 0)
	if v := entries(want)[4]; v[4] != 0 || v[0] != 0 {
		t.Errorf("an item without degree has %v", v)
	}
	for _, e := range []int{-600, 600} {
		big := zeros(9, 9)
		for i := range m {
			for j, v := range m[i] {
				big[i][j] = math.Ldexp(v, e)
			}
		}
		single, err := FromDense32(big.dense(), 0)
		if err != nil {
			t.Fatal(err)
		}
		a := normalize(t, fromDense(t, big), 0)
		if d := entries(a).distance(entries(want)); !(d <= 1e-15*9) || !near(a.Norm(), want.Norm(), 0) {
			t.Errorf("2^%d: off by %.2g, norm %v, want %v", e, d, a.Norm(), want.Norm())
		}
		a = normalize(t, single, 0)
		if d := entries(a).distance(entries(want)); !(d <= 0x1p-24*9) {
			t.Errorf("2^%d in single precision: off by %.2g", e, d)
		}
		a = normalize(t, fromDense(t, m), math.Ldexp(1, 600)) // entries near 1e−180
		if got := math.Ldexp(a.Norm(), 600); !near(got, m.norm(), 0) {
			t.Errorf("τ = 2^600: norm %v·2^−600, want %v", got, m.norm())
		}
	}
	for _, n := range []int{0, 3} {
		a, err := FromDense(NewDense(n, n, nil), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, tau := range []float64{0, 1} {
			if v := normalize(t, a, tau); v.Norm() != 0 || v.OffDiagonal().Norm() != 0 {
				t.Errorf("zero of size %d, τ = %v: norm %v", n, tau, v.Norm())
			}
		}
	}
	if v := normalize(t, fromDense(t, naive{{7}}), 0); !(math.Abs(v.Norm()-1) <= 1e-15) {
		t.Errorf("one item: norm %v, want 1", v.Norm())
	}
}

// TestNormalizedNormDoesNotDependOnWorkers: the norms of a view, which depend on the degrees, have the same
// bits for any number of workers.
func TestNormalizedNormDoesNotDependOnWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 33))
	x, sparse := draw(rng, 600, 40, 0.3), drawSymmetric(rng, 600, 0.02)
	lambda := []float64{3, 2, 1, -0.1}
	for name, build := range map[string]func() (Operator, error){
		"dense":         func() (Operator, error) { return FromDense(sparse.dense(), 0) },
		"sparse":        func() (Operator, error) { return FromCSR(sparse.csr(t), 0) },
		"dense points":  func() (Operator, error) { return Gram(x.dense(), Rows, 1) },
		"sparse points": func() (Operator, error) { return Gram(x.csr(t), Rows, 1) },
		"low rank":      func() (Operator, error) { return NewLowRank(draw(rng, 600, 4, 1).dense(), lambda, 1) },
	} {
		a, err := build()
		if err != nil {
			t.Fatal(err)
		}
		one, err := Normalized(a, 0.5, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, workers := range []int{2, 5} {
			many, err := Normalized(a, 0.5, workers)
			if err != nil {
				t.Fatal(err)
			}
			if one.Norm() != many.Norm() || one.OffDiagonal().Norm() != many.OffDiagonal().Norm() {
				t.Errorf("%s: norm %v with 1 worker, %v with %d workers", name, one.Norm(), many.Norm(), workers)
			}
		}
	}
}

// foreign is an operator of a type that the package does not know.
type foreign struct{ Operator }

// TestNormalizedRefuses: a τ or a degree that is negative or not finite, a norm out of range, and an operator
// of another package are refused.
func TestNormalizedRefuses(t *testing.T) {
	a := fromDense(t, naive{{1, 2}, {2, 1}})
	for _, tau := range []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := Normalized(a, tau, 1); !errors.Is(err, ErrDegree) {
			t.Errorf("τ = %v: error %v, want %v", tau, err, ErrDegree)
		}
	}
	below := fromDense(t, naive{{1, -2}, {-2, 3}})
	if _, err := Normalized(below, 0.5, 1); !errors.Is(err, ErrDegree) {
		t.Errorf("a degree of −1: error %v, want %v", err, ErrDegree)
	}
	if _, err := Normalized(below, 1, 1); err != nil { // d + τ = 0: the item is left out
		t.Errorf("a degree of −1 and τ = 1: error %v", err)
	}
	huge := fromDense(t, naive{{1e307}})
	if _, err := Normalized(huge.Scaled(9), math.MaxFloat64, 1); !errors.Is(err, ErrDegree) {
		t.Errorf("an infinite degree: error %v, want %v", err, ErrDegree)
	}
	if _, err := Normalized(fromDense(t, naive{{1e-10}}), 1e300, 1); !errors.Is(err, ErrRange) {
		t.Errorf("a norm of 1e−310: error %v, want %v", err, ErrRange)
	}
	if _, err := Normalized(foreign{a}, 1, 1); err == nil {
		t.Error("an operator that is not of the package is accepted")
	}
}

// TestDegrees compares degrees of points with row sums, with and without the diagonal.
func TestDegrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(34, 34))
	x := draw(rng, 150, 7, 0.5)
	points, err := Gram(x.dense(), Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	m := x.times(x.transpose())
	all, off := Degrees(points, 2), Degrees(points.OffDiagonal(), 2)
	for i := range m {
		var want float64
		for _, v := range m[i] {
			want += v
		}
		if !near(all[i], want, 1) || !near(off[i], want-m[i][i], 1) {
			t.Errorf("item %d: degree %v, without the diagonal %v, want %v, %v", i, all[i], off[i], want, want-m[i][i])
		}
	}
}

// TestNormalizedTeams: a team refreshes the copy of H that a view keeps, which has more than one part of
// rows.
func TestNormalizedTeams(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 35))
	n, r := 600, 3
	a := normalize(t, fromDense(t, drawSymmetric(rng, n, 0.1)), 0)
	h := draw(rng, n, r, 0.5).dense()
	team := kernel.NewTeam(2)
	defer team.Close()
	b := a.(BlockMultiplier).NewBlockProduct(h, 100, team)
	for k := range h.data {
		h.data[k] = rng.Float64()
	}
	b.Refresh()
	got, want := make([]float64, n*r), multiply(a, h, 1).data
	b.RowsTo(got, 0, n)
	for k, v := range got {
		if !near(v, want[k], 1) {
			t.Fatalf("(AH)[%d,%d] = %v, want %v", k/r, k%r, v, want[k])
		}
	}
}
