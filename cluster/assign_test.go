package cluster_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"symnmf/cluster"
	"symnmf/matrix"
)

// TestAssign checks cluster, strength and margin of single rows, with ties, zero rows and extreme numbers
// among them.
func TestAssign(t *testing.T) {
	const tiny, huge = 5e-324, math.MaxFloat64
	for _, tc := range []struct {
		name string
		row  []float64
		want cluster.Assignment
	}{
		{"largest last", []float64{1, 2, 4}, cluster.Assignment{Cluster: 3, Strength: 4, Margin: 0.5}},
		{"largest first", []float64{4, 1, 3}, cluster.Assignment{Cluster: 1, Strength: 4, Margin: 0.25}},
		{"second before largest", []float64{0, 3, 1, 4}, cluster.Assignment{Cluster: 4, Strength: 4, Margin: 0.25}},
		{"tie: the first column", []float64{0, 7, 7}, cluster.Assignment{Cluster: 2, Strength: 7, Margin: 0}},
		{"one entry", []float64{0, 0.25, 0}, cluster.Assignment{Cluster: 2, Strength: 0.25, Margin: 1}},
		{"one column", []float64{3}, cluster.Assignment{Cluster: 1, Strength: 3, Margin: 1}},
		{"zero row", []float64{0, 0, 0}, cluster.Assignment{}},
		{"zero row, one column", []float64{0}, cluster.Assignment{}},
		{"least and largest numbers", []float64{tiny, huge}, cluster.Assignment{Cluster: 2, Strength: huge, Margin: 1}},
		{"least numbers", []float64{tiny, 2 * tiny}, cluster.Assignment{Cluster: 2, Strength: 2 * tiny, Margin: 0.5}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := cluster.Assign(matrix.NewDense(1, len(tc.row), tc.row))
			if diff := cmp.Diff([]cluster.Assignment{tc.want}, got); diff != "" {
				t.Errorf("Assign(%v) (-want +got):\n%s", tc.row, diff)
			}
		})
	}
	if got := cluster.Assign(matrix.NewDense(0, 3, nil)); len(got) != 0 {
		t.Errorf("no rows: %v", got)
	}
	if got, want := cluster.Assign(matrix.NewDense(2, 0, nil)), make([]cluster.Assignment, 2); !slices.Equal(got, want) {
		t.Errorf("no columns: %v, want %v", got, want)
	}
}

// TestAssignSorted compares with the definition on sorted rows.
func TestAssignSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0, 1, 2, 3, 5e-324, 1e300}), 2, 6).Draw(t, "row")
		sorted := slices.Sorted(slices.Values(row))
		first, second := sorted[len(row)-1], sorted[len(row)-2]
		want := cluster.Assignment{}
		if first > 0 {
			want = cluster.Assignment{Cluster: slices.Index(row, first) + 1, Strength: first, Margin: 1 - second/first}
		}
		if got := cluster.Assign(matrix.NewDense(1, len(row), row))[0]; got != want {
			t.Fatalf("Assign(%v) = %+v, want %+v", row, got, want)
		}
	})
}

// TestSizes checks the sizes of clusters, some of which are empty. Items without a cluster do not count.
func TestSizes(t *testing.T) {
	a := []cluster.Assignment{{Cluster: 3}, {}, {Cluster: 1}, {Cluster: 3}}
	if got, want := cluster.Sizes(a, 4), []int{1, 0, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("Sizes = %v, want %v", got, want)
	}
	if got := cluster.Sizes(nil, 0); len(got) != 0 {
		t.Errorf("Sizes of nothing = %v", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a cluster above the last one is accepted")
		}
	}()
	cluster.Sizes(a, 2)
}

// exactShares computes share_ij = H_ij·s_j / Σ_k H_ik·s_k by the formula. The arithmetic is wide enough to be exact,
// except for the division: products span 2^-2148 to 2^2048, with 2·53 bits, and sums have a few of them.
func exactShares(h *matrix.Dense) []cluster.Membership {
	num := func(x float64) *big.Float { return new(big.Float).SetPrec(4600).SetFloat64(x) }
	n, r := h.Dims()
	var list []cluster.Membership
	for i := range n {
		degree := num(0)
		part := make([]*big.Float, r)
		for j := range r {
			s := num(0)
			for l := range n {
				s.Add(s, num(h.At(l, j)))
			}
			part[j] = s.Mul(s, num(h.At(i, j)))
			degree.Add(degree, part[j])
		}
		for j := range r {
			if w := h.At(i, j); w != 0 {
				share, _ := part[j].Quo(part[j], degree).Float64()
				list = append(list, cluster.Membership{Item: i, Cluster: j + 1, Weight: w, Share: share})
			}
		}
	}
	return list
}

// checkShares compares Memberships with exactShares, within the documented error. Shares below 1e-300 need
// only be small.
func checkShares(t *testing.T, h *matrix.Dense) {
	t.Helper()
	got, want := slices.Collect(cluster.Memberships(h)), exactShares(h)
	if len(got) != len(want) {
		t.Fatalf("%d memberships, want %d", len(got), len(want))
	}
	n, r := h.Dims()
	tol := float64(n+r+2) * 0x1p-52 // as promised, and one rounding of the exact share
	for p, m := range got {
		w := want[p]
		if m.Item != w.Item || m.Cluster != w.Cluster || m.Weight != w.Weight {
			t.Fatalf("membership %d is %+v, want %+v", p, m, w)
		}
		if d := math.Abs(m.Share - w.Share); !(d <= tol*w.Share || w.Share < 1e-300 && m.Share < 1.01e-300) {
			t.Errorf("membership %d of %v: share %v, want %v", p, h.Row(m.Item), m.Share, w.Share)
		}
	}
}

// TestMemberships checks the memberships of a small H, that a loop over them may end early, and that an H
// without positive entries has none.
func TestMemberships(t *testing.T) {
	h := matrix.NewDense(3, 2, []float64{
		1, 3,
		0, 0,
		0, 1,
	}) // column sums 1, 4
	want := []cluster.Membership{
		{Item: 0, Cluster: 1, Weight: 1, Share: 1.0 / 13},
		{Item: 0, Cluster: 2, Weight: 3, Share: 12.0 / 13},
		{Item: 2, Cluster: 2, Weight: 1, Share: 1},
	}
	if diff := cmp.Diff(want, slices.Collect(cluster.Memberships(h))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for m := range cluster.Memberships(h) { // a loop may end early
		if m != want[0] {
			t.Errorf("first membership %+v", m)
		}
		break
	}
	for _, empty := range []*matrix.Dense{matrix.NewDense(0, 2, nil), matrix.NewDense(2, 0, nil), matrix.NewDense(2, 2, nil)} {
		if got := slices.Collect(cluster.Memberships(empty)); len(got) != 0 {
			t.Errorf("%v: %v", empty, got)
		}
	}
}

// TestMembershipsRange takes the entries of each column, and of each row, from anywhere in the range of float64.
func TestMembershipsRange(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, exponents := range [][]int{{0}, {1000, 1023}, {-1074, -1060}, {-1000, 1000}, {-3, 0, 3}} {
		for range 20 {
			h := matrix.NewDense(7, 4, nil)
			for p := range h.Data() {
				if rng.IntN(4) > 0 {
					h.Data()[p] = math.Ldexp(1+rng.Float64(), exponents[rng.IntN(len(exponents))])
				}
			}
			checkShares(t, h)
		}
	}
	h := matrix.NewDense(1000, 2, nil)
	for p := range h.Data() {
		h.Data()[p] = math.MaxFloat64 // the sum overflows
	}
	for m := range cluster.Memberships(h) {
		if m.Share != 0.5 {
			t.Fatalf("equal columns of the largest numbers: %+v", m)
		}
	}
	checkShares(t, matrix.NewDense(2, 2, []float64{1e300, 1e-300, 1e-300, 1e-300}))
}

// TestSharesExplainDegrees: the share of a column is its part of the item's degree in the fitted graph HHᵀ, and scaling
// H by a power of two does not change a bit of it.
func TestSharesExplainDegrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, r := rapid.IntRange(1, 8).Draw(t, "n"), rapid.IntRange(1, 4).Draw(t, "r")
		h := matrix.NewDense(n, r, nil)
		scaled := matrix.NewDense(n, r, nil)
		exp := rapid.IntRange(-900, 900).Draw(t, "exp")
		for p := range h.Data() {
			h.Data()[p] = float64(rapid.IntRange(0, 9).Draw(t, "h"))
			scaled.Data()[p] = math.Ldexp(h.Data()[p], exp)
		}
		again := slices.Collect(cluster.Memberships(scaled))
		for p, m := range slices.Collect(cluster.Memberships(h)) {
			var byColumn, degree float64 // integers: exact
			for l := range n {
				byColumn += h.At(m.Item, m.Cluster-1) * h.At(l, m.Cluster-1)
				for k := range r {
					degree += h.At(m.Item, k) * h.At(l, k)
				}
			}
			if m.Share != byColumn/degree {
				t.Fatalf("share of item %d in %d is %v, want %v/%v", m.Item, m.Cluster, m.Share, byColumn, degree)
			}
			if again[p].Share != m.Share {
				t.Fatalf("scaled by 2^%d: share %v, was %v", exp, again[p].Share, m.Share)
			}
		}
	})
}
