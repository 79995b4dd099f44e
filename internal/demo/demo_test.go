package demo

import (
	"bytes"
	"compress/gzip"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestGraphs checks what is known about the graphs: Zachary's and Knuth's counts, and sums computed with networkx
// 2.8.8.
func TestGraphs(t *testing.T) {
	for _, tc := range []struct {
		name              string
		n, edges          int
		sum, squares, max float64 // over all entries of A
		first, last       string
	}{
		{"karate", 34, 78, 156, 156, 1, "1", "34"},
		{"lesmis", 77, 254, 1640, 11932, 31, "Napoleon", "MmeHucheloup"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, err := Open(tc.name)
			if err != nil {
				t.Fatal(err)
			}
			if d.Points || d.Dense != nil || d.Name != tc.name {
				t.Errorf("%s is not described as a graph: %+v", tc.name, d.Info)
			}
			a := d.Sparse
			rows, cols := a.Dims()
			if rows != tc.n || cols != tc.n || a.NNZ() != int64(2*tc.edges) || len(d.IDs) != tc.n {
				t.Fatalf("%v with %d ids, want %d nodes and %d edges", a, len(d.IDs), tc.n, tc.edges)
			}
			var sum, squares, largest float64
			for i := range rows {
				if a.At(i, i) != 0 {
					t.Errorf("self-loop at %d", i)
				}
				for j := range cols {
					v := a.At(i, j)
					if v != a.At(j, i) {
						t.Errorf("A[%d,%d] = %v, A[%d,%d] = %v", i, j, v, j, i, a.At(j, i))
					}
					sum, squares, largest = sum+v, squares+v*v, max(largest, v)
				}
			}
			if sum != tc.sum || squares != tc.squares || largest != tc.max {
				t.Errorf("sum %v, sum of squares %v, largest %v, want %v, %v, %v", sum, squares, largest, tc.sum, tc.squares, tc.max)
			}
			if d.IDs[0] != tc.first || d.IDs[tc.n-1] != tc.last {
				t.Errorf("ids from %q to %q, want %q to %q", d.IDs[0], d.IDs[tc.n-1], tc.first, tc.last)
			}
			if sorted := slices.Sorted(slices.Values(d.IDs)); len(slices.Compact(sorted)) != tc.n {
				t.Error("an id occurs twice")
			}
		})
	}
}

// TestKarate checks the two clubs, and the degrees of the instructor and the president. No values are stored.
func TestKarate(t *testing.T) {
	d, err := Open("karate")
	if err != nil {
		t.Fatal(err)
	}
	if d.Sparse.Val != nil {
		t.Error("an unweighted graph stores values")
	}
	first := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21} // the members who stayed with Mr. Hi
	for i, class := range d.Labels {
		if want := 2 - boolToInt(slices.Contains(first, i)); class != want {
			t.Errorf("member %d is in club %d, want %d", i+1, class, want)
		}
	}
	degree := func(i int) int { col, _ := d.Sparse.Row(i); return len(col) }
	if len(d.Labels) != 34 || degree(0) != 16 || degree(33) != 17 {
		t.Errorf("%d labels, %d friends of the instructor, %d of the president, want 34, 16, 17", len(d.Labels), degree(0), degree(33))
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestLesmis checks some weights by the names of the characters, and that there are no labels.
func TestLesmis(t *testing.T) {
	d, err := Open("lesmis")
	if err != nil {
		t.Fatal(err)
	}
	at := func(u, v string) float64 { return d.Sparse.At(slices.Index(d.IDs, u), slices.Index(d.IDs, v)) }
	if d.Labels != nil || at("Valjean", "Cosette") != 31 || at("Marius", "Cosette") != 21 || at("Napoleon", "Cosette") != 0 {
		t.Errorf("labels %v, weights %v, %v, %v, want none, 31, 21, 0", d.Labels,
			at("Valjean", "Cosette"), at("Marius", "Cosette"), at("Napoleon", "Cosette"))
	}
}

// TestDigits checks counts and sums computed with scikit-learn 1.2.1 (load_digits).
func TestDigits(t *testing.T) {
	d, err := Open("digits")
	if err != nil {
		t.Fatal(err)
	}
	if !d.Points || d.Sparse != nil || d.IDs != nil {
		t.Errorf("digits is not described as a table of points: %+v", d)
	}
	if rows, cols := d.Dense.Dims(); rows != 1797 || cols != 64 || len(d.Labels) != rows {
		t.Fatalf("%v with %d labels, want 1797×64", d.Dense, len(d.Labels))
	}
	var sum, squares, largest float64
	nonzero := 0
	for _, v := range d.Dense.Data() {
		sum, squares, largest = sum+v, squares+v*v, max(largest, v)
		if v < 0 {
			t.Fatalf("a pixel is %v", v)
		}
		if v != 0 {
			nonzero++
		}
	}
	if sum != 561718 || squares != 6907012 || largest != 16 || nonzero != 58736 {
		t.Errorf("sum %v, sum of squares %v, largest %v, nonzero %d, want 561718, 6907012, 16, 58736", sum, squares, largest, nonzero)
	}
	if got, want := d.Dense.Row(0)[:8], []float64{0, 0, 5, 13, 9, 1, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("the first picture begins %v, want %v", got, want)
	}
	counts := make([]int, 10)
	for _, digit := range d.Labels {
		counts[digit]++
	}
	if want := []int{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}; !slices.Equal(counts, want) {
		t.Errorf("digits occur %v times, want %v", counts, want)
	}
}

// TestSHA256 checks the digests of the files. The digest of digits is that of the file in scikit-learn.
func TestSHA256(t *testing.T) {
	want := map[string]string{
		"karate": "cec5de03d43b98796ef9b42ea7e041c9aa47637e92f5227805c110e450e1c4c8",
		"lesmis": "9e08d17009685204efa0d876be3a7e05a3bf4b1fcf420b5bf5f43ba3cddef2e3",
		"digits": "46abec6b12486ad9e51943373abcf22bbea1b5a51a1619b361570d8893f1464a",
	}
	if len(List()) != len(want) {
		t.Errorf("%d data sets, want %d", len(List()), len(want))
	}
	for _, info := range List() {
		d, err := Open(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		if d.SHA256 != want[info.Name] {
			t.Errorf("%s: SHA-256 %s, want %s", info.Name, d.SHA256, want[info.Name])
		}
		if d.Info != info || info.Description == "" || strings.Contains(info.Description, "\n") {
			t.Errorf("%s: described as %+v, listed as %+v", info.Name, d.Info, info)
		}
	}
}

// TestOpenUnknown: the error for an unknown name lists the names there are.
func TestOpenUnknown(t *testing.T) {
	_, err := Open("iris")
	if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), `"iris"; there are karate, lesmis, digits`) {
		t.Errorf("error %v", err)
	}
}

// TestOpenShares: one caller does not see what another does to its copy.
func TestOpenShares(t *testing.T) {
	first, err := Open("lesmis")
	if err != nil {
		t.Fatal(err)
	}
	clear(first.Sparse.Val)
	clear(first.IDs)
	second, err := Open("lesmis")
	if err != nil || second.Sparse.Val[0] == 0 || second.IDs[0] == "" {
		t.Errorf("a second copy, %v, is changed with the first", err)
	}
}

// TestReadersRefuse: the readers report what is wrong with a bad file.
func TestReadersRefuse(t *testing.T) {
	zipped := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write([]byte(text))
		z.Close()
		return b.String()
	}
	for _, tc := range []struct {
		read func(file []byte, into *Data) error
		file string
		want string
	}{
		{readGraph, "a\nb\na b\n", "no empty line"},
		{readGraph, "a\nb\n\na c\n", "not a node"},
		{readGraph, "a\nb\n\nc a\n", "not a node"},
		{readGraph, "a\nb\n\na\n", "one end"},
		{readGraph, "a\nb\n\na b x\n", "invalid syntax"},
		{readGraph, "a x\nb 1\n\na b\n", "invalid syntax"},
		{readDigits, "no gzip", "EOF"},
		{readDigits, zipped("1,2,3\n"), "line 1 has 3 fields, want 65"},
		{readDigits, zipped(strings.Repeat("7,", 64) + "0\n" + strings.Repeat("7,", 64) + "x\n"), "line 2"},
		{readDigits, zipped(strings.Repeat("7,", 64) + "0\n")[:20], "unexpected EOF"},
	} {
		d := new(Data)
		if err := tc.read([]byte(tc.file), d); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: error %v, want one with %q", tc.file, err, tc.want)
		}
	}
}
