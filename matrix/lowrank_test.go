package matrix

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"symnmf/internal/kernel"
)

// TestLowRankNorm compares norms with the definition for more rows than one part of a sum takes, for columns
// that are orthogonal or not, and at any scale. Columns with λ = 0 are not kept.
func TestLowRankNorm(t *testing.T) {
	rng := rand.New(rand.NewPCG(40, 40))
	lambda := []float64{5, -3, 0, 2, -1}
	for name, u := range map[string]naive{"orthogonal": orthogonal(rng, 400, 5), "alike": draw(rng, 400, 5, 1)} {
		m := u.spectral(lambda)
		want, off := m.norm(), 0.0
		for i := range m {
			for j, v := range m[i] {
				if i != j {
					off += v * v
				}
			}
		}
		one, err := NewLowRank(u.dense(), lambda, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !near(one.Norm(), want, want) || !near(one.OffDiagonal().Norm(), math.Sqrt(off), want) {
			t.Errorf("%s: norm %v, off the diagonal %v, want %v, %v", name, one.Norm(), one.OffDiagonal().Norm(), want, math.Sqrt(off))
		}
		if columns(one) != 4 {
			t.Errorf("%s: %d columns kept, want 4", name, columns(one))
		}
		if many, err := NewLowRank(u.dense(), lambda, 3); err != nil || many.Norm() != one.Norm() {
			t.Errorf("%s: norm %v with 3 workers, %v with 1, error %v", name, many.Norm(), one.Norm(), err)
		}
		for _, e := range []int{-700, 700} {
			large := make([]float64, 5)
			for k, l := range lambda {
				large[k] = math.Ldexp(l, e)
			}
			a, err := NewLowRank(u.dense(), large, 1)
			if err != nil {
				t.Fatalf("%s·2^%d: %v", name, e, err)
			}
			if got := math.Ldexp(a.Norm(), -e); !near(got, want, want) {
				t.Errorf("%s·2^%d: norm %v, want %v·2^%d", name, e, got, want, e)
			}
		}
	}
}

// TestLowRankCancels: equal columns with opposite λ cancel, and a low rank may have no columns or no rows.
func TestLowRankCancels(t *testing.T) {
	same := naive{{1, 1}, {2, 2}, {-3, -3}}
	a, err := NewLowRank(same.dense(), []float64{2, -2}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !(a.Norm() <= 1e-7) || !(entries(a).norm() <= 1e-14) {
		t.Errorf("norm %v, entries %v, want 0", a.Norm(), entries(a))
	}
	none, err := NewLowRank(same.dense(), []float64{0, 0}, 1)
	if err != nil {
		t.Fatal(err)
	}
	team := kernel.NewTeam(1)
	b := none.NewBlockProduct(NewDense(3, 2, nil), 2, team)
	if v, ok := b.Inner(); none.Norm() != 0 || entries(none).norm() != 0 || v != 0 || !ok || b.Step(1, []float64{1, 1}) != 0 {
		t.Errorf("no columns: norm %v, entries %v", none.Norm(), entries(none))
	}
	if nobody, err := NewLowRank(NewDense(0, 2, nil), []float64{1, -1}, 1); err != nil || nobody.Dim() != 0 || nobody.Norm() != 0 {
		t.Errorf("no rows: error %v, or not empty", err)
	}
}

// TestLowRankNothing: where columns cancel but for rounding, the norm is a number, and about 0.
func TestLowRankNothing(t *testing.T) {
	for seed := range 40 {
		u := NewDense(9, 3, nil)
		for i := range u.rows {
			v := math.Sin(float64(1 + i + 10*seed))
			u.Set(i, 0, v)
			u.Set(i, 1, v)
			u.Set(i, 2, v)
		}
		part := float64(seed+1) / 50
		a, err := NewLowRank(u, []float64{part, 1 - part, -1}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !(a.Norm() >= 0 && a.Norm() <= 1e-6) {
			t.Errorf("λ = %v, %v, −1: the norm is %v", part, 1-part, a.Norm())
		}
	}
}

// TestLowRankBlocks checks block products with the first negative λ in any block of features: at its
// beginning, within it and at its end.
func TestLowRankBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 41))
	u := draw(rng, 40, 130, 0.5)
	team := kernel.NewTeam(2)
	defer team.Close()
	for _, positive := range []int{1, 63, 64, 65, 128, 129} {
		lambda := make([]float64, 130)
		for k := range lambda {
			lambda[k] = 0.1
			if k >= positive {
				lambda[k] = -0.1
			}
		}
		a, err := NewLowRank(u.dense(), lambda, 1)
		if err != nil {
			t.Fatal(err)
		}
		testBlockProduct(t, rng, operatorCase{"130 columns", a, u.spectral(lambda)}, 3, 16, team)
	}
}

// TestLowRankRoot: B·Bᵀ is the part of A that belongs to its first k positive λ, in the order given to
// NewLowRank or by decreasing value from Compress.
func TestLowRankRoot(t *testing.T) {
	const n = 30
	rng := rand.New(rand.NewPCG(41, 1))
	u := NewDense(n, 4, nil)
	for k := range u.data {
		u.data[k] = rng.NormFloat64()
	}
	q := orthonormalize(u, 1)
	made, err := NewLowRank(q, []float64{-3, 5, 2, 9}, 1)
	if err != nil {
		t.Fatal(err)
	}
	found, _, err := Compress(context.Background(), made, Compression{Columns: 6, Power: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		a    Operator
		k    int
		of   []int // columns of q
		want []float64
	}{
		"in the order given": {made, 2, []int{1, 2}, []float64{5, 2}},
		"by falling values":  {found, 2, []int{3, 1}, []float64{9, 5}},
		"scaled":             {found.Scaled(4), 2, []int{3, 1}, []float64{36, 20}},
		"all there are":      {found, 10, []int{3, 1, 2}, []float64{9, 5, 2}},
	} {
		b := LowRankRoot(c.a, c.k)
		if rows, columns := b.Dims(); rows != n || columns != len(c.of) {
			t.Fatalf("%s: %d×%d, want %d columns", name, rows, columns, len(c.of))
		}
		for i := range n {
			for j := range n {
				got, want := 0.0, 0.0
				for k, f := range c.of {
					got += b.At(i, k) * b.At(j, k)
					want += c.want[k] * q.At(i, f) * q.At(j, f)
				}
				if !(math.Abs(got-want) <= 1e-12) {
					t.Fatalf("%s: (BBᵀ)[%d,%d] = %v, want %v", name, i, j, got, want)
				}
			}
		}
	}
	points, err := Gram(u, Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	if LowRankRoot(points, 2) != nil || LowRankRoot(found.OffDiagonal(), 2) != nil {
		t.Error("points, or a low rank without its diagonal, have a root, want nil")
	}
}

// TestLargest: largest finds the largest magnitude, wherever it is, with infinity above any number and NaN
// above infinity.
func TestLargest(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct{ first, second, want float64 }{{3, -5, 5}, {-3, 2, 3}, {0, math.Copysign(0, -1), 0}, {-inf, 1e300, inf}, {nan, inf, nan}, {-inf, math.Copysign(nan, -1), nan}} {
		for _, at := range []int{0, normBlock, 2*normBlock + 7} {
			m := NewDense(3*normBlock, 1, nil)
			m.data[at], m.data[700] = c.first, c.second
			if got := m.largest(2); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
				t.Errorf("%v in row %d, %v in row 700: the largest is %v, want %v", c.first, at, c.second, got, c.want)
			}
		}
	}
}

// TestLowRankRefuses: numbers that are not finite or leave the range are errors, wherever they are, and a λ
// too many is a panic.
func TestLowRankRefuses(t *testing.T) {
	one := naive{{1}, {2}}
	for _, c := range []struct {
		u      naive
		lambda float64
		want   error
	}{
		{one, math.NaN(), ErrNotFinite},
		{one, math.Inf(-1), ErrNotFinite},
		{naive{{1}, {math.NaN()}}, 1, ErrNotFinite},
		{one, 1e308, ErrRange},
		{one, -1e-305, ErrRange},
		{naive{{1}, {1}}, 1e308, ErrRange},
		{naive{{1e200}, {1}}, 1e300, ErrRange},
		{naive{{1e300}, {1}}, 1e300, ErrRange},
		{naive{{1}, {-1e300}}, 1e300, ErrRange},
	} {
		if _, err := NewLowRank(c.u.dense(), []float64{c.lambda}, 1); !errors.Is(err, c.want) {
			t.Errorf("%v, λ = %v: error %v, want %v", c.u, c.lambda, err, c.want)
		}
	}
	long := zeros(3000, 1) // more rows than are inspected together
	for _, at := range []int{0, 1500, 2999} {
		long[at][0] = -1e300
		if _, err := NewLowRank(long.dense(), []float64{1e300}, 2); !errors.Is(err, ErrRange) {
			t.Errorf("row %d of 3000 is too large: error %v", at, err)
		}
		long[at][0] = 0
	}
	defer func() {
		if recover() == nil {
			t.Error("a λ too many is accepted")
		}
	}()
	_, _ = NewLowRank(one.dense(), []float64{1, 2}, 1)
}

// TestLowRankOffNothing: what rounding leaves of a low rank without its diagonal, where that is all of it, is 0, and a
// millionth of it off the diagonal is not.
func TestLowRankOffNothing(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		lambda := []float64{rng.Float64(), rng.Float64(), rng.Float64()}
		u := NewDense(2, 3, []float64{rng.Float64(), rng.Float64(), 0, 0, 0, rng.Float64()})
		a, err := NewLowRank(u, lambda, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.OffDiagonal().Norm(); got != 0 {
			t.Errorf("seed %d: a diagonal matrix without its diagonal has the norm %v", seed, got)
		}
		u.Set(1, 1, 1e-6) // A_12 = λ₂·u₁₂·1e-6
		if a, err = NewLowRank(u, lambda, 1); err != nil {
			t.Fatal(err)
		}
		entry := math.Sqrt(2) * lambda[1] * u.At(0, 1) * 1e-6
		rounding := 0x1p-50 * a.Norm() * a.Norm() // of squares
		if got := a.OffDiagonal().Norm(); entry > 1e-7*a.Norm() && !(math.Abs(got*got-entry*entry) <= rounding) {
			t.Errorf("seed %d: ‖A‖ off the diagonal is %v, want %v", seed, got, entry)
		}
	}
}
