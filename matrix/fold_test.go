package matrix

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"symnmf/internal/rules"
)

// gramOf returns the operator of the inner products of the rows of x, and A by its definition.
func gramOf(t testing.TB, x naive) (*GramOperator, naive) {
	t.Helper()
	a, err := Gram(x.dense(), Rows, 2)
	if err != nil {
		t.Fatal(err)
	}
	return a.(*GramOperator), x.times(x.transpose())
}

// TestFolded: the operator of the products of features has the eigenvalues of A, at any scale, and unfold
// turns its vectors into vectors of A. Any operator that it cannot stand in for is returned as it is.
func TestFolded(t *testing.T) {
	rng := rand.New(rand.NewPCG(40, 40))
	const n, m, k = 90, 30, 12
	for name, x := range map[string]naive{
		"real": draw(rng, n, m, 1), "whole": draw(rng, n, m, 1), "of rank 5": draw(rng, n, 5, 1).times(draw(rng, 5, m, 1)), "sparse": draw(rng, n, m, 0.2), "signed": draw(rng, n, m, 0.2),
		"signed, dense": draw(rng, n, m, 1),
	} {
		if name == "whole" {
			for i := range x {
				for j := range x[i] {
					x[i][j] = math.Round(100 * x[i][j])
				}
			}
		}
		if name == "signed" || name == "signed, dense" {
			x[7][3] = -2 * n
		}
		points, a := gramOf(t, x)
		if name == "sparse" || name == "signed" {
			points = sparseGram(t, x)
		}
		for _, c := range []float64{1, 4, 0x1p-80} {
			g, unfold := Folded(points.Scaled(c), 2)
			if g.Dim() != m || !(math.Abs(g.Norm()-c*a.norm()) <= 1e-13*c*a.norm()) {
				t.Fatalf("%s, times %v: %d rows of norm %v, want %d of %v", name, c, g.Dim(), g.Norm(), m, c*a.norm())
			}
			if rows, madds := FoldedSize(points.Scaled(c)); rows != m || madds != Madds(g) {
				t.Errorf("%s: %d rows of %d multiply–adds, want %d of %d", name, rows, madds, m, Madds(g))
			}
			each := int64(m * m)
			if name == "sparse" || name == "signed" {
				each = 2 * points.Stored()
			}
			if got := Madds(g); got != each {
				t.Errorf("%s: %d multiply–adds, want %d", name, got, each)
			}
			if (g.Negatives().Count > 0) != (points.Negatives().Count > 0) {
				t.Errorf("%s: negatives of points %+v, of features %+v", name, points.Negatives(), g.Negatives())
			}
			if off := math.Abs(g.OffDiagonal().Norm() - c*offDiagonalNorm(x.transpose().times(x))); !(off <= 1e-12*c*a.norm()) {
				t.Errorf("%s, times %v: the norm without diagonal is off by %v", name, c, off)
			}
			want, err := Eigen(context.Background(), fromDense(t, a), k, EigenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := Eigen(context.Background(), g, k, EigenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for l, v := range want.Values {
				if !(math.Abs(got.Values[l]-c*v) <= 1e-13*c*want.Norm2) {
					t.Errorf("%s, times %v: eigenvalue %d is %v, that of A %v", name, c, l, got.Values[l], c*v)
				}
			}
			u := rowsOf(unfold(got.Vectors, 2))
			au := a.times(u)
			for l, v := range got.Values {
				var norm, off float64
				for i := range u {
					norm += u[i][l] * u[i][l]
					off += (c*au[i][l] - v*u[i][l]) * (c*au[i][l] - v*u[i][l])
				}
				if !(math.Abs(norm-v) <= 1e-13*c*want.Norm2) || !(math.Sqrt(off) <= 1e-10*math.Pow(c*want.Norm2, 1.5)) {
					t.Errorf("%s, times %v: vector %d has length %v and residual %v, for the eigenvalue %v", name, c, l, math.Sqrt(norm), math.Sqrt(off), v)
				}
			}
		}
	}
	points, _ := gramOf(t, draw(rng, n, m, 1))
	sparse := sparseGram(t, draw(rng, n, m, 0.2))
	signed, err := NewLowRank(draw(rng, n, 3, 1).dense(), []float64{2, 1, -1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	unit, err := Normalized(points, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	tiny := draw(rng, n, m, 1)
	for i := range tiny {
		for j := range tiny[i] {
			tiny[i][j] *= 0x1p-250 // too small for the squares of their squares
		}
	}
	small, _ := gramOf(t, tiny)
	none, _ := gramOf(t, zeros(n, m))
	for name, a := range map[string]Operator{
		"no diagonal": points.OffDiagonal(), "sparse, no diagonal": sparse.OffDiagonal(), "too few": sparseGram(t, draw(rng, 59, 30, 0.2)), "no features": sparseGram(t, zeros(5, 0)), "signs": signed, "normalized": unit, "dense": fromDense(t, drawSymmetric(rng, 20, 1)), "too small": small,
	} {
		if g, unfold := Folded(a, 1); g != a || unfold != nil {
			t.Errorf("%s: folded", name)
		}
		if rows, madds := FoldedSize(a); rows != a.Dim() || madds != Madds(a) {
			t.Errorf("%s: folded, %d rows of %d multiply–adds", name, rows, madds)
		}
	}
	if g, _ := Folded(none, 1); g.Dim() != m || g.Norm() != 0 {
		t.Errorf("zeros: %d rows of norm %v", g.Dim(), g.Norm())
	}
	for _, tc := range []struct {
		n, m int
		want bool
	}{{3000, 2048, true}, {3000, 2049, false}, {8 * 2100, 2100, true}, {8*2100 - 1, 2100, false}, {5, 0, false}} {
		if rules.KeepsFeatures(tc.n, tc.m) != tc.want {
			t.Errorf("%d points of %d features: XXᵀ kept %v", tc.n, tc.m, !tc.want)
		}
	}
}

// TestFoldedSparse: sparse points are folded from twice as many points as features on. The folded operator
// agrees with that of the columns of x in product, diagonal and norms, also at scales at which the squares of
// entries of A overflow or underflow.
func TestFoldedSparse(t *testing.T) {
	rng := rand.New(rand.NewPCG(40, 43))
	const m, k = 30, 4
	for _, scale := range []float64{1, 0x1p-300, 0x1p300} {
		x := draw(rng, 2*m, m, 0.2)
		for i := range x {
			for j := range x[i] {
				x[i][j] *= scale
			}
		}
		x[0][1], x[1][1] = 0, scale
		points := sparseGram(t, x).Scaled(0.25)
		folded, unfold := Folded(points, 2)
		if unfold == nil {
			t.Fatalf("times %v: not folded", scale)
		}
		want := sparseGram(t, x.transpose()).Scaled(0.25)
		if got := folded.Norm(); !(math.Abs(got-want.Norm()) <= 1e-13*want.Norm()) {
			t.Errorf("times %v: norm %v, want %v", scale, got, want.Norm())
		}
		if got, want := folded.OffDiagonal().Norm(), want.OffDiagonal().Norm(); !(math.Abs(got-want) <= 1e-12*want) {
			t.Errorf("times %v: norm without diagonal %v, want %v", scale, got, want)
		}
		got, wanted := make([]float64, m), make([]float64, m)
		folded.DiagTo(got)
		want.DiagTo(wanted)
		if !slices.Equal(got, wanted) {
			t.Errorf("times %v: diagonal %v, want %v", scale, got, wanted)
		}
		h := draw(rng, m, k, 1).dense()
		for name, product := range map[string]Product{"once": folded.NewProduct(h, 2), "again": folded.(Repeater).Repeat(2)(h)} {
			got, wanted := make([]float64, m*k), make([]float64, m*k)
			product.RowsTo(got, 0, m)
			want.NewProduct(h, 1).RowsTo(wanted, 0, m)
			for i, v := range wanted {
				if !(math.Abs(got[i]-v) <= 1e-13*want.Norm()*k) {
					t.Fatalf("times %v, %s: number %d of the product is %v, want %v", scale, name, i, got[i], v)
				}
			}
		}
	}
}

// sparseGram returns the operator of the inner products of the rows of x, stored sparse.
func sparseGram(t testing.TB, x naive) *GramOperator {
	t.Helper()
	a, err := Gram(x.csr(t), Rows, 2)
	if err != nil {
		t.Fatal(err)
	}
	return a.(*GramOperator)
}

// TestCompressFolded: from dense points, Compress finds a low rank no farther from A than the one it finds
// from A written out. It reports the distance, and keeps no more columns than the rank of A.
func TestCompressFolded(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 41))
	const n, m = 150, 60
	left, right := orthogonal(rng, n, m), orthogonal(rng, m, m)
	for name, falls := range map[string]func(k int) float64{
		"geometric": func(k int) float64 { return math.Pow(0.9, float64(k)) },
		"inverse":   func(k int) float64 { return 1 / float64(k+1) },
		"of rank 7": func(k int) float64 {
			if k < 7 {
				return 1 + float64(k)
			}
			return 0
		},
	} {
		stretched := zeros(n, m)
		for i := range n {
			for k := range m {
				stretched[i][k] = left[i][k] * math.Sqrt(falls(k))
			}
		}
		points, a := gramOf(t, stretched.times(right.transpose()))
		for _, c := range []Compression{{Columns: 20, Power: 1, Near: 2}, {Columns: 25, Power: 1, Keep: 15, Near: 2}, {Columns: 25, Keep: 15, Seed: 3, Near: 2}, {Columns: math.MaxInt32, Near: 2}, {Columns: 55, Keep: 45, Power: 1, Near: 2}} {
			l, told := compress(t, points.Scaled(0.25), c)
			c.Near = 0
			whole, most := compress(t, fromDense(t, a), c)
			if plain, _ := compress(t, points, c); !(entries(plain).distance(entries(whole)) <= 1e-9) {
				t.Errorf("%s, %+v: off by %v from what A written out gives", name, c, entries(plain).distance(entries(whole)))
			}
			got := entries(l.Scaled(4))
			found := got.distance(a)
			if !(found <= most*(1+1e-9)+1e-12) {
				t.Errorf("%s, %+v: distance from A %v, from A written out %v", name, c, found, most)
			}
			if !(math.Abs(4*told-found) <= 1e-7*points.Norm()) {
				t.Errorf("%s, %+v: distance from A reported as %v, found %v", name, c, 4*told, found)
			}
			if name == "of rank 7" && columns(l) != 7 {
				t.Errorf("%s, %+v: %d columns", name, c, columns(l))
			}
			if want := min(max(c.Keep, min(c.Columns, m)*(1-min(c.Keep, 1))), m); name != "of rank 7" && columns(l) != want {
				t.Errorf("%s, %+v: %d columns, want %d", name, c, columns(l), want)
			}
		}
	}
}

// TestInner compares ⟨A·H, H⟩ with its definition, and checks that all numbers of workers find the same bits.
// Inner is not offered without the diagonal, nor for sparse points.
func TestInner(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 42))
	for _, n := range []int{1, 63, 64, 65, 200} {
		const r = 5
		h, m := draw(rng, n, r, 1), drawSymmetric(rng, n, 1)
		u := draw(rng, n, 4, 1)
		lambda := []float64{2, -3, 1, -0.5}
		signed, err := NewLowRank(u.dense(), lambda, 1)
		if err != nil {
			t.Fatal(err)
		}
		single, err := FromDense32(m.dense(), 0)
		if err != nil {
			t.Fatal(err)
		}
		list := map[string]Operator{"dense": fromDense(t, m).Scaled(3), "float32": single, "signs": signed.Scaled(2)}
		if n > 20 {
			points, _ := gramOf(t, draw(rng, n, 20, 1))
			list["points"] = points.Scaled(7)
		}
		for name, a := range list {
			var want, size float64
			for i, row := range rowsOf(multiply(a, h.dense(), 1)) {
				for j, v := range row {
					want += v * h[i][j]
					size += math.Abs(v * h[i][j])
				}
			}
			var all []float64
			for _, workers := range []int{1, 2, 5} {
				got, ok := a.(InnerMultiplier).Inner(h.dense(), workers)
				if !ok || !(math.Abs(got-want) <= 1e-13*size) {
					t.Errorf("%s, n = %d: %v, %v, want %v", name, n, got, ok, want)
				}
				all = append(all, got)
			}
			if slices.Min(all) != slices.Max(all) {
				t.Errorf("%s, n = %d: 1, 2 and 5 workers find %v", name, n, all)
			}
			if _, ok := a.OffDiagonal().(InnerMultiplier).Inner(h.dense(), 1); ok {
				t.Errorf("%s, n = %d: offered without the diagonal", name, n)
			}
		}
	}
	sparse, err := Gram(draw(rng, 9, 4, 0.5).csr(t), Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := sparse.(InnerMultiplier).Inner(draw(rng, 9, 2, 1).dense(), 1); ok {
		t.Error("offered for sparse points, whose products are added up point by point")
	}
}

// offDiagonalNorm returns ‖m‖_F without the diagonal.
func offDiagonalNorm(m naive) float64 {
	var sq float64
	for i := range m {
		for j, v := range m[i] {
			if i != j {
				sq += v * v
			}
		}
	}
	return math.Sqrt(sq)
}

// TestCompressFoldedFar: the shortcuts of Near make Compress miss hardly more of A where neighboring features
// have nothing to do with any others. Where each feature is a tenth of the one before, the low rank is within
// 1e-6·‖A‖ of A, and the distance reported is that near to the one found.
func TestCompressFoldedFar(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 43))
	const n, m = 1200, 1024
	topics := zeros(n, m) // 45 topics of two features each, and items that have one other, rare feature
	for i := range topics {
		if i >= 900 {
			topics[i][90+rng.IntN(m-90)] = 0.05
			continue
		}
		for k := range 2 {
			topics[i][2*(i%45)+k] = 1 + rng.Float64()
		}
	}
	points, err := Gram(topics.dense(), Rows, 2)
	if err != nil {
		t.Fatal(err)
	}
	c := Compression{Columns: 60, Power: 1, Keep: 50}
	_, most := compress(t, points, c)
	c.Near = 0.15
	if _, told, err := Compress(context.Background(), points, c); err != nil || !(told <= 1.1*most) {
		t.Errorf("topics: distance from A %v, without Near %v, error %v", told, most, err)
	}
	for seed := range uint64(40) {
		x := draw(rng, 100, 14, 1)
		for i := range x {
			for j := range x[i] {
				x[i][j] *= math.Pow(10, -float64(j))
			}
		}
		points, a := gramOf(t, x)
		for power := range 2 {
			l, told := compress(t, points, Compression{Columns: 14, Power: power, Seed: seed, Near: 1})
			if found := entries(l).distance(a); found > 1e-6*points.Norm() || !(math.Abs(told-found) <= 1e-6*points.Norm()) {
				t.Errorf("smaller features, seed %d, power %d: distance from A %v·‖A‖, reported as %v·‖A‖", seed, power, found/points.Norm(), told/points.Norm())
			}
		}
	}
}
