package cluster_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"symnmf/cluster"
	"symnmf/internal/demo"
	"symnmf/matrix"
)

// sparse stores the entries of the square matrix a that are not 0.
func sparse(t rapid.TB, a *matrix.Dense) *matrix.CSR {
	t.Helper()
	n, cols := a.Dims()
	rowPtr, col, val := []int64{0}, []int32{}, []float64{}
	for i := range n {
		for j, v := range a.Row(i) {
			if v != 0 {
				col, val = append(col, int32(j)), append(val, v)
			}
		}
		rowPtr = append(rowPtr, int64(len(col)))
	}
	s, err := matrix.NewCSR(n, cols, rowPtr, col, val)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestModularityNetworkX compares with networkx 2.8.8 (community.modularity): Zachary's two clubs without weights, and
// the characters of Les Misérables by their number mod 5 and by their first letter, with weights.
func TestModularityNetworkX(t *testing.T) {
	karate, err := demo.Open("karate")
	if err != nil {
		t.Fatal(err)
	}
	lesmis, err := demo.Open("lesmis")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		a      *matrix.CSR
		labels []int
		want   float64
	}{
		{"clubs", karate.Sparse, karate.Labels, 0.3582347140039448},
		{"mod 5", lesmis.Sparse, label(77, func(i int) int { return i % 5 }), -0.0842028554431886},
		{"letter", lesmis.Sparse, label(77, func(i int) int { return int(lesmis.IDs[i][0]) }), -0.015422367638310534},
	} {
		const tol = 600 * 0x1p-52 // at most 508 terms, and the two or three roundings of each class, in sums below 1
		if got, err := cluster.Modularity(tc.a, tc.labels); err != nil || !(math.Abs(got-tc.want) <= tol) {
			t.Errorf("%s: %v, %v, want %v", tc.name, got, err, tc.want)
		}
	}
}

// TestModularityNaive compares with Newman's double sum, (2m)⁻¹·Σ_ij (A_ij - k_i·k_j/2m)·δ(c_i, c_j), on weighted
// graphs with self-loops; weights scaled by a power of two give the same bits.
func TestModularityNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "n")
		exp := rapid.IntRange(-1000, 1000).Draw(t, "exp")
		a, scaled := matrix.NewDense(n, n, nil), matrix.NewDense(n, n, nil)
		var total float64 // small integers: every sum is exact
		for i := range n {
			for j := range i + 1 {
				w := float64(max(0, rapid.IntRange(-5, 5).Draw(t, "weight")))
				for _, at := range [][2]int{{i, j}, {j, i}} {
					a.Set(at[0], at[1], w)
					scaled.Set(at[0], at[1], math.Ldexp(w, exp))
				}
			}
		}
		for _, w := range a.Data() {
			total += w
		}
		if total == 0 {
			t.Skip("no edge")
		}
		labels := rapid.SliceOfN(rapid.IntRange(-1, 2), n, n).Draw(t, "labels")
		degree := func(i int) (k float64) {
			for _, w := range a.Row(i) {
				k += w
			}
			return k
		}
		var want float64
		for i := range n {
			for j := range n {
				if labels[i] == labels[j] {
					want += (a.At(i, j) - degree(i)*degree(j)/total) / total
				}
			}
		}
		got, err := cluster.Modularity(sparse(t, a), labels)
		// n² terms, three roundings each, of sizes that sum to at most 2.
		if tol := float64(2*3*n*n) * 0x1p-52; err != nil || !(math.Abs(got-want) <= tol) {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
		if !(got >= -0.5-0x1p-50 && got < 1) {
			t.Fatalf("%v is out of bounds", got)
		}
		if again, err := cluster.Modularity(sparse(t, scaled), labels); err != nil || again != got {
			t.Fatalf("scaled by 2^%d: %v, %v, want %v", exp, again, err, got)
		}
	})
}

// TestModularityPattern: a graph without stored values has weights of 1, and huge weights do not overflow.
func TestModularityPattern(t *testing.T) {
	square := func(val []float64) *matrix.CSR { // the path 0–1, 2–3
		s, err := matrix.NewCSR(4, 4, []int64{0, 1, 2, 3, 4}, []int32{1, 0, 3, 2}, val)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const big = math.MaxFloat64
	for _, val := range [][]float64{nil, {1, 1, 1, 1}, {big, big, big, big}, {5e-324, 5e-324, 5e-324, 5e-324}} {
		if got, err := cluster.Modularity(square(val), []int{1, 1, 2, 2}); err != nil || got != 0.5 {
			t.Errorf("weights %v: %v, %v, want 0.5", val, got, err)
		}
		if got, err := cluster.Modularity(square(val), []int{1, 2, 1, 2}); err != nil || got != -0.5 {
			t.Errorf("weights %v, across: %v, %v, want -0.5", val, got, err)
		}
	}
}

// TestModularityRounds: weights of the two directions may differ by rounding, whatever their size.
func TestModularityRounds(t *testing.T) {
	for _, exp := range []int{-500, 0, 500} {
		w := math.Ldexp(1, exp)
		a := matrix.NewDense(2, 2, []float64{0, w, w * (1 + 0x1p-50), 0})
		if got, err := cluster.Modularity(sparse(t, a), []int{1, 1}); err != nil || !(math.Abs(got) <= 0x1p-50) {
			t.Errorf("weights near 2^%d: %v, %v, want 0", exp, got, err)
		}
	}
}

// TestModularityRefuses: matrices that are no graph, and labels that do not fit, are refused with an error
// that says why.
func TestModularityRefuses(t *testing.T) {
	dense := func(rows, cols int, data ...float64) *matrix.Dense { return matrix.NewDense(rows, cols, data) }
	for _, tc := range []struct {
		a      *matrix.Dense
		labels []int
		want   error
		text   string
	}{
		{dense(2, 2, 0, 1, 1, 0), []int{1}, cluster.ErrLabels, "1 labels for a graph of 2 nodes"},
		{dense(2, 2, 0, 1, 1, 0), []int{1, 2, 2}, cluster.ErrLabels, "3 labels for a graph of 2 nodes"},
		{dense(2, 2, 0, 1e-20, 2e-20, 0), []int{1, 2}, cluster.ErrGraph, "|A[1,0]-A[0,1]| = 1e-20"},
		{dense(1, 2, 0, 1), []int{1}, cluster.ErrGraph, "1 rows and 2 columns"},
		{dense(2, 2, 0, 0, 0, 0), []int{1, 2}, cluster.ErrGraph, "no edge"},
		{matrix.NewDense(0, 0, nil), nil, cluster.ErrGraph, "no edge"},
		{dense(2, 2, 0, -1, -1, 3), []int{1, 2}, cluster.ErrGraph, "A[0,1] = -1 is negative"},
		{dense(2, 2, 0, 1, 1, math.NaN()), []int{1, 2}, cluster.ErrGraph, "A[1,1] is NaN"},
		{dense(2, 2, 0, math.Inf(1), 1, 0), []int{1, 2}, cluster.ErrGraph, "A[0,1] is +Inf"},
		{dense(2, 2, 0, 2, 1.5, 0), []int{1, 2}, cluster.ErrGraph, "|A[1,0]-A[0,1]| = 0.5"},
	} {
		a := tc.a
		_, err := cluster.Modularity(sparse(t, a), tc.labels)
		if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%v: error %v, want one with %q", a, err, tc.text)
		}
	}
}
