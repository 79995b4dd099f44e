package instance

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"symnmf/matrix"
)

// TestSameBits compares with a hash of each instance: a seed gives the same numbers on every machine and in every
// version.
func TestSameBits(t *testing.T) {
	lowRank, b := LowRank(40, 3, 7)
	planted, labels := PlantedGraph(50, 4, 0.5, 0.1, 7)
	for _, tc := range []struct {
		name string
		data []any
		want string
	}{
		{"LowRank", []any{lowRank.Data(), b.Data()}, "cd5f78834c8353b7"},
		{"FullRank", []any{FullRank(40, 7).Data()}, "00137992380acdc9"},
		{"PlantedGraph", append(arrays(planted), integers(labels)), "2a9bb734b16d66ff"},
		{"Text", arrays(Text(30, 200, 12, 7)), "2571e1f2746a71a5"},
		{"RandomSparse", arrays(RandomSparse(100, 1000, 7)), "768d66f122e073d5"},
		{"RMAT", arrays(RMAT(7, 500, 7)), "ca1a3ec89936f114"},
		{"Start", []any{Start(30, 4, 7).Data()}, "84a0bf211fa43640"},
	} {
		if got := hash(t, tc.data); got != tc.want {
			t.Errorf("%s with seed 7 has hash %s, want %s", tc.name, got, tc.want)
		}
	}
}

func arrays(a *matrix.CSR) []any { return []any{a.RowPtr, a.Col, a.Val} }

func integers(labels []int) []int64 {
	wide := make([]int64, len(labels))
	for i, label := range labels {
		wide[i] = int64(label)
	}
	return wide
}

func hash(t *testing.T, data []any) string {
	h := sha256.New()
	for _, part := range data {
		if err := binary.Write(h, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// TestSeeds: another seed gives other numbers, and different functions get different numbers from one seed.
func TestSeeds(t *testing.T) {
	seen := map[string]string{}
	for seed := range uint64(3) {
		lowRank, b := LowRank(10, 10, seed)
		planted, _ := PlantedGraph(40, 2, 0.5, 0.5, seed)
		for name, data := range map[string][]any{
			"LowRank": {lowRank.Data()}, "its factor": {b.Data()}, "FullRank": {FullRank(10, seed).Data()},
			"PlantedGraph": arrays(planted), "Text": arrays(Text(10, 50, 5, seed)),
			"RandomSparse": arrays(RandomSparse(30, 100, seed)), "its values": {RandomSparse(30, 100, seed).Val},
			"Start": {Start(10, 10, seed).Data()}, "RMAT": arrays(RMAT(5, 100, seed)),
		} {
			key := hash(t, data)
			if other, twice := seen[key]; twice {
				t.Errorf("%s with seed %d equals %s", name, seed, other)
			}
			seen[key] = fmt.Sprintf("%s with seed %d", name, seed)
		}
	}
}

// TestLowRank compares with the products of the factor B, which must have uniform entries, within rounding.
func TestLowRank(t *testing.T) {
	for _, tc := range []struct{ n, r int }{{0, 0}, {1, 1}, {5, 0}, {4, 7}, {60, 5}} {
		a, b := LowRank(tc.n, tc.r, 1)
		checkSymmetric(t, a)
		if rows, cols := b.Dims(); rows != tc.n || cols != tc.r {
			t.Fatalf("factor %v, want %d×%d", b, tc.n, tc.r)
		}
		for i := range tc.n {
			for l := range tc.n {
				var sum float64
				for k := range tc.r {
					sum += b.At(i, k) * b.At(l, k)
				}
				if d := math.Abs(a.At(i, l) - sum); !(d <= float64(2*tc.r)*0x1p-53*sum) { // r roundings in either sum
					t.Fatalf("n %d, r %d: A[%d,%d] = %v, want %v", tc.n, tc.r, i, l, a.At(i, l), sum)
				}
			}
		}
		checkUniform(t, b)
	}
}

// TestFullRank checks the spectrum with gonum: no eigenvalue is near 0, about half are negative, and all but
// the largest are within the expected edge.
func TestFullRank(t *testing.T) {
	const n = 80
	a := FullRank(n, 1)
	checkSymmetric(t, a)
	vals := eigenvalues(t, a)
	if negative, _ := slices.BinarySearch(vals, 0); negative < n/3 || negative > 2*n/3 {
		t.Errorf("%d of %d eigenvalues are negative", negative, n)
	}
	for _, v := range vals {
		if !(math.Abs(v) >= 1e-6) { // gonum's error is some 2⁻⁵²·n·‖A‖ < 2e-12
			t.Errorf("eigenvalue %v: not of full rank", v)
		}
	}
	// 1.2: for this seed, the edge of a spectrum of 80 values lies within 20 % of its limit.
	if edge := 1.2 * math.Sqrt(2.0*n/3); !(vals[0] >= -edge) || !(vals[n-2] <= edge) || !(math.Abs(vals[n-1]/n-1) <= 0.1) {
		t.Errorf("eigenvalues from %v to %v and %v, want within ±%v, and %v", vals[0], vals[n-2], vals[n-1], edge, n)
	}
}

// TestPlantedGraph checks that the graph is symmetric, that groups are contiguous and of nearly the same
// size, and that edges within and between groups are as frequent as asked for, within 4 deviations.
func TestPlantedGraph(t *testing.T) {
	const n, groups, pIn, pOut = 300, 7, 0.3, 0.02
	a, labels := PlantedGraph(n, groups, pIn, pOut, 1)
	checkSymmetricCSR(t, a)
	if a.Val != nil {
		t.Error("values of 1 are stored")
	}
	size := make([]int, groups)
	for i, label := range labels {
		size[label-1]++
		if i > 0 && label < labels[i-1] {
			t.Fatalf("labels %v are not in blocks", labels)
		}
	}
	if slices.Max(size)-slices.Min(size) > 1 {
		t.Errorf("groups of %v nodes", size)
	}
	var in, out, pairsIn, pairsOut float64
	for i := range n {
		for l := range i {
			if labels[i] == labels[l] {
				pairsIn++
				in += a.At(i, l)
			} else {
				pairsOut++
				out += a.At(i, l)
			}
		}
	}
	for _, c := range []struct{ edges, pairs, p float64 }{{in, pairsIn, pIn}, {out, pairsOut, pOut}} {
		if sd := math.Sqrt(c.pairs * c.p * (1 - c.p)); !(math.Abs(c.edges-c.pairs*c.p) <= 4*sd) {
			t.Errorf("seed 1: %v edges of %v pairs at probability %v", c.edges, c.pairs, c.p)
		}
	}
	empty, labels := PlantedGraph(0, 1, 1, 1, 1)
	if rows, _ := empty.Dims(); rows != 0 || len(labels) != 0 {
		t.Errorf("no nodes: %v, %v", empty, labels)
	}
}

// TestPlantedCliques checks what the comment of PlantedGraph says about the optimum.
func TestPlantedCliques(t *testing.T) {
	const n, groups = 22, 4
	a, labels := PlantedGraph(n, groups, 1, 0, 1)
	size := make([]float64, groups+1)
	for _, label := range labels {
		size[label]++
	}
	dense := matrix.NewDense(n, n, nil)
	var squares, want float64
	for i := range n {
		hi := math.Sqrt(1 - 1/size[labels[i]])
		for l := range n {
			dense.Set(i, l, a.At(i, l))
			var hh float64
			if labels[i] == labels[l] {
				hh = hi * hi
			}
			squares += (a.At(i, l) - hh) * (a.At(i, l) - hh)
		}
	}
	for _, s := range size[1:] {
		want += s - 1
	}
	vals := eigenvalues(t, dense)
	var bound float64 // of a factor with as many columns as groups
	for _, v := range vals[:n-groups] {
		bound += v * v
	}
	// n² terms below 1, a few roundings each; gonum's eigenvalues are good to about 2⁻⁵²·n·‖A‖, ‖A‖ < n, squared
	// and summed.
	const tol = n * n * n * 8 * 0x1p-52
	if !(math.Abs(squares-want) <= tol) || !(math.Abs(bound-want) <= tol) {
		t.Errorf("squared error %v, bound %v, want %v", squares, bound, want)
	}
}

// TestText checks that every document has the given number of different terms, with whole counts, and that
// terms become rarer with their number.
func TestText(t *testing.T) {
	const m, n, each = 400, 1000, 25
	x := Text(m, n, each, 1)
	if rows, cols := x.Dims(); rows != m || cols != n {
		t.Fatalf("%v, want %d×%d", x, m, n)
	}
	documents := make([]int, n)
	counted := false
	for d := range m {
		col, val := x.Row(d)
		if len(col) != each {
			t.Fatalf("document %d has %d terms, want %d", d, len(col), each)
		}
		for p, j := range col {
			documents[j]++
			if val[p] < 1 || val[p] != math.Trunc(val[p]) {
				t.Fatalf("document %d counts term %d %v times", d, j, val[p])
			}
			counted = counted || val[p] > 1
		}
	}
	if !counted {
		t.Error("no term occurs twice in a document")
	}
	if !(documents[0] > documents[9] && documents[9] > documents[99] && documents[99] > documents[999]) {
		t.Errorf("terms 0, 9, 99, 999 occur in %d, %d, %d, %d documents", documents[0], documents[9], documents[99], documents[999])
	}
	if full := Text(2, 6, 6, 1); full.NNZ() != 12 {
		t.Errorf("documents of all terms: %v", full)
	}
	if empty := Text(2, 6, 0, 1); empty.NNZ() != 0 {
		t.Errorf("empty documents: %v", empty)
	}
}

// TestTextZipf: with one term per document the draws are independent, so the counts follow the law within 4 deviations.
func TestTextZipf(t *testing.T) {
	const m, n = 20_000, 5
	x := Text(m, n, 1, 1)
	harmonic := 1 + 1.0/2 + 1.0/3 + 1.0/4 + 1.0/5
	documents := make([]float64, n)
	for _, j := range x.Col {
		documents[j]++
	}
	for j, got := range documents {
		p := 1 / float64(j+1) / harmonic
		if sd := math.Sqrt(m * p * (1 - p)); !(math.Abs(got-m*p) <= 4*sd) {
			t.Errorf("seed 1: term %d in %v documents, want about %v", j, got, m*p)
		}
	}
}

// TestRandomSparse checks symmetry, the number of entries and the mean of their values, within 4 deviations.
func TestRandomSparse(t *testing.T) {
	for _, tc := range []struct{ n, nnz int }{{0, 0}, {1, 0}, {2, 2}, {2, 100}, {10, 7}, {50, 400}, {30_000, 300_000}} {
		a := RandomSparse(tc.n, tc.nnz, 1)
		checkSymmetricCSR(t, a)
		if rows, cols := a.Dims(); rows != tc.n || cols != tc.n {
			t.Fatalf("%v, want %d×%d", a, tc.n, tc.n)
		}
		// Of nnz/2 pairs among P = n(n-1)/2, about P·(1-exp(-nnz/(2P))) are different.
		pairs := float64(tc.n) * float64(tc.n-1) / 2
		if want := 2 * pairs * -math.Expm1(-float64(tc.nnz/2)/max(pairs, 1)); math.Abs(float64(a.NNZ())-want) > 1+4*math.Sqrt(want) ||
			a.NNZ() > int64(tc.nnz) {
			t.Errorf("n %d, nnz %d: %d entries, want about %.0f", tc.n, tc.nnz, a.NNZ(), want)
		}
		var sum float64
		for _, v := range a.Val {
			if !(v > 0 && v <= 1) {
				t.Fatalf("n %d, nnz %d: value %v", tc.n, tc.nnz, v)
			}
			sum += v
		}
		// Each drawn value counts twice: the mean of nnz/2 uniform numbers, within 4 deviations.
		if k := float64(a.NNZ()) / 2; k > 0 && !(math.Abs(sum/2/k-0.5) <= 4/math.Sqrt(12*k)) {
			t.Errorf("n %d, nnz %d: mean value %v", tc.n, tc.nnz, sum/2/k)
		}
	}
}

// TestStart checks the shape and the uniform entries of a start.
func TestStart(t *testing.T) {
	h := Start(500, 3, 1)
	if rows, cols := h.Dims(); rows != 500 || cols != 3 {
		t.Fatalf("%v, want 500×3", h)
	}
	checkUniform(t, h)
}

// TestPanics: arguments that contradict each other or are out of range panic.
func TestPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"more groups than nodes": func() { PlantedGraph(3, 4, 1, 0, 1) },
		"no groups":              func() { PlantedGraph(3, 0, 1, 0, 1) },
		"more terms than words":  func() { Text(1, 3, 4, 1) },
		"no pairs":               func() { RandomSparse(1, 2, 1) },
		"nodes beyond 30 bits":   func() { RMAT(31, 1, 1) },
		"fewer edges than none":  func() { RMAT(3, -1, 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// checkSymmetric fails unless the matrix is exactly symmetric.
func checkSymmetric(t *testing.T, a *matrix.Dense) {
	t.Helper()
	n, _ := a.Dims()
	for i := range n {
		for l := range i {
			if a.At(i, l) != a.At(l, i) {
				t.Fatalf("A[%d,%d] = %v, A[%d,%d] = %v", i, l, a.At(i, l), l, i, a.At(l, i))
			}
		}
	}
}

// checkSymmetricCSR fails unless the matrix is exactly symmetric and stores nothing on its diagonal.
func checkSymmetricCSR(t *testing.T, a *matrix.CSR) {
	t.Helper()
	mirrored := a.Transpose()
	if !slices.Equal(a.RowPtr, mirrored.RowPtr) || !slices.Equal(a.Col, mirrored.Col) || !slices.Equal(a.Val, mirrored.Val) {
		t.Fatalf("%v is not symmetric", a)
	}
	n, _ := a.Dims()
	for i := range n {
		if col, _ := a.Row(i); slices.Contains(col, int32(i)) {
			t.Fatalf("%v stores its diagonal at %d", a, i)
		}
	}
}

// checkUniform fails unless all entries are in [0, 1) and their mean is within 4 deviations of 1/2.
func checkUniform(t *testing.T, a *matrix.Dense) {
	t.Helper()
	var sum float64
	for _, v := range a.Data() {
		if !(v >= 0 && v < 1) {
			t.Fatalf("entry %v", v)
		}
		sum += v
	}
	if k := float64(len(a.Data())); k > 0 && !(math.Abs(sum/k-0.5) <= 4/math.Sqrt(12*k)) {
		t.Errorf("mean of %v: %v", a, sum/k)
	}
}

// eigenvalues returns the eigenvalues of a symmetric matrix, in increasing order.
func eigenvalues(t *testing.T, a *matrix.Dense) []float64 {
	t.Helper()
	n, _ := a.Dims()
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(n, a.Data()), false) {
		t.Fatal("gonum found no eigenvalues")
	}
	return e.Values(nil)
}

// TestHash: the hash depends on the bits of the numbers, so that −0 is not 0, and on their order.
func TestHash(t *testing.T) {
	// The digest of eight zero bytes.
	const zero = "af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc"
	if got := Hash(matrix.NewDense(1, 1, nil)); got != zero {
		t.Errorf("hash %s, want %s", got, zero)
	}
	if Hash(matrix.NewDense(1, 1, []float64{math.Copysign(0, -1)})) == zero {
		t.Error("−0 and 0 have one hash")
	}
	if Hash(matrix.NewDense(1, 2, []float64{1, 2})) == Hash(matrix.NewDense(1, 2, []float64{2, 1})) {
		t.Error("numbers in another order have one hash")
	}
}
