package matrix_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"symnmf/internal/instance"
	"symnmf/matio"
	"symnmf/matrix"
)

func ExampleEigen() {
	// A star: three leaves around a hub. Its eigenvalues are √3, 0, 0 and −√3.
	a, err := matrix.FromDense(matrix.NewDense(4, 4, []float64{
		0, 1, 1, 1,
		1, 0, 0, 0,
		1, 0, 0, 0,
		1, 0, 0, 0,
	}), 0)
	if err != nil {
		panic(err)
	}
	pairs, err := matrix.Eigen(context.Background(), a, 1, matrix.EigenOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.4f\n", pairs.Values)
	fmt.Printf("%.4f\n", matrix.LowerBound(pairs.Values, a.Norm(), 1)) // √(6−3)/√6
	// Output:
	// [1.7321]
	// 0.7071
}

// readTable reads a table from a file, and ends the test on an error.
func readTable(t testing.TB, path string) matrix.Table {
	t.Helper()
	m, err := matio.Open(path, matio.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m.Matrix()
}

// TestEigenGolden compares eigenvalues and lower bounds with those computed by NumPy.
func TestEigenGolden(t *testing.T) {
	const dir = "../testdata/golden/"
	for _, name := range []string{"lowrank40", "fullrank60", "graph80", "text120", "zerorows50", "cp5"} {
		data, err := os.ReadFile(dir + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var golden struct {
			R       int
			NormA   float64 `json:"norm_A"`
			Bound   float64 `json:"spectral_lower_bound_rel"`
			Methods map[string]struct{ Eigenvalues []float64 }
		}
		if err := json.Unmarshal(data, &golden); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := golden.Methods["own-tsvd"].Eigenvalues
		if len(want) != golden.R {
			t.Fatalf("%s: %d eigenvalues, want %d", name, len(want), golden.R)
		}
		a, err := matrix.FromDense(readTable(t, dir+name+"_A.npy").(*matrix.Dense), 0)
		if err != nil {
			t.Fatal(err)
		}
		operators := map[string]matrix.Operator{name: a}
		if name == "text120" {
			if operators[name+", points"], err = matrix.Gram(readTable(t, dir+name+"_X.npy"), matrix.Columns, 1); err != nil {
				t.Fatal(err)
			}
		}
		for name, a := range operators {
			pairs, err := matrix.Eigen(context.Background(), a, golden.R, matrix.EigenOptions{})
			if err != nil || len(pairs.Failed) > 0 {
				t.Fatalf("%s: %v, failed %v", name, err, pairs.Failed)
			}
			for l, v := range pairs.Values {
				if !(math.Abs(v-want[l]) <= 1e-14*want[0]) {
					t.Errorf("%s: λ[%d] = %v, want %v", name, l, v, want[l])
				}
			}
			// LowerBound rounds the square down by up to 2⁻⁴⁴. Where it returns 0, that is the whole bound.
			got := matrix.LowerBound(pairs.Values, golden.NormA, golden.R)
			if !(got <= golden.Bound && got*got >= golden.Bound*golden.Bound-0x1.1p-44) {
				t.Errorf("%s: bound %v, want %v", name, got, golden.Bound)
			}
		}
	}
}

// dataSets lists real data sets, each with the least relative error of rank k in percent, to the digits
// known.
var dataSets = []struct {
	name  string
	k     int
	bound string
}{
	{"cbcl", 60, "0.04577"}, {"frey", 60, "0.05685"}, {"classic", 30, "36.767"}, {"hitech", 30, "29.386"},
	{"la1", 30, "30.359"}, {"ohscal", 30, "20.385"}, {"reviews", 30, "15.169"},
}

// sharedX reads the points of a real data set, or skips the test if the set is not at hand.
func sharedX(t testing.TB, name string) matrix.Table {
	t.Helper()
	for _, file := range []string{"X.mtx.gz", "X.npy"} {
		path := "../../shared/data/" + name + "/" + file
		if _, err := os.Stat(path); err == nil {
			return readTable(t, path)
		}
	}
	t.Skipf("data set %s is not beside the checkout", name)
	return nil
}

// sharedPoints returns the inner products of the columns of a real data set.
func sharedPoints(t testing.TB, name string) matrix.Operator {
	t.Helper()
	a, err := matrix.Gram(sharedX(t, name), matrix.Columns, 2)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestEigenData checks on real data sets that all residuals are at most 1e-10·‖A‖₂ and that the lower bound
// has the known digits.
func TestEigenData(t *testing.T) {
	for _, set := range dataSets {
		t.Run(set.name, func(t *testing.T) {
			a := sharedPoints(t, set.name)
			pairs, err := matrix.Eigen(context.Background(), a, set.k, matrix.EigenOptions{})
			if err != nil || len(pairs.Failed) > 0 || !(slices.Max(pairs.Residuals) <= 1e-10*pairs.Norm2) {
				t.Fatalf("%v, failed %v", err, pairs.Failed)
			}
			_, digits, _ := strings.Cut(set.bound, ".")
			got := strconv.FormatFloat(100*matrix.LowerBound(pairs.Values, a.Norm(), set.k), 'f', len(digits), 64)
			if got != set.bound {
				t.Errorf("bound %s %%, want %s", got, set.bound)
			}
		})
	}
}

// BenchmarkEigen finds the k largest eigenvalues of the real data sets, and reports the number of products
// and the largest residual.
func BenchmarkEigen(b *testing.B) {
	for _, set := range dataSets {
		b.Run(fmt.Sprintf("%s/k=%d", set.name, set.k), func(b *testing.B) {
			a := sharedPoints(b, set.name)
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
					var pairs *matrix.Eigenpairs
					for range b.N {
						var err error
						if pairs, err = matrix.Eigen(context.Background(), a, set.k, matrix.EigenOptions{Workers: workers}); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(pairs.Products), "products")
					b.ReportMetric(slices.Max(pairs.Residuals)/pairs.Norm2*1e12, "1e-12·‖A‖₂")
				})
			}
		})
	}
}

// BenchmarkEigenWhole asks for so many eigenpairs that Eigen reduces A whole.
func BenchmarkEigenWhole(b *testing.B) {
	for _, c := range []struct{ n, k int }{{100, 20}, {300, 100}, {600, 200}, {1000, 300}, {2000, 500}} {
		a, err := matrix.FromDense(instance.FullRank(c.n, 1), 0)
		if err != nil {
			b.Fatal(err)
		}
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("n=%d/k=%d/workers=%d", c.n, c.k, workers), func(b *testing.B) {
				for range b.N {
					if _, err := matrix.Eigen(context.Background(), a, c.k, matrix.EigenOptions{Workers: workers}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkEigenSym measures gonum's full eigendecomposition of cbcl's A, for comparison.
func BenchmarkEigenSym(b *testing.B) {
	b.Run("cbcl", func(b *testing.B) {
		x := sharedX(b, "cbcl").(*matrix.Dense)
		var a mat.SymDense
		a.SymOuterK(1, x.T())
		for range b.N {
			var e mat.EigenSym
			if !e.Factorize(&a, true) {
				b.Fatal("gonum's EigenSym failed")
			}
		}
	})
}
