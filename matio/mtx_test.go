package matio

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"symnmf/matrix"
)

// TestMTX checks what Matrix Market files are read as, and which errors and warnings they give.
func TestMTX(t *testing.T) {
	mtx := func(kind, rest string) string { return "%%MatrixMarket matrix " + kind + "\n" + rest }
	runReadCases(t, "A.mtx", []readCase{
		{name: "general", text: mtx("coordinate real general", "% c\n2 3 3\n2 1 -1.5e0\n1 3 4\n2 2 .5\n"), want: "sparse 2×3 0,2=4 1,0=-1.5 1,1=0.5"},
		{name: "blanks, comments, case", text: "%%matrixmarket\tMATRIX Coordinate INTEGER General\n%\n\n  % c\n 2\t2 1 \n\n% between\n\t2  1   7 \n", want: "sparse 2×2 1,0=7"},
		{name: "pattern", text: mtx("coordinate pattern general", "2 2 2\n1 2\n2 2\n"), want: "sparse 2×2 0,1 1,1"},
		{name: "unsigned", text: mtx("coordinate unsigned-integer general", "2 2 2\n1 2 1\n2 2 1\n"), want: "sparse 2×2 0,1 1,1"},
		{name: "ones", text: mtx("coordinate integer general", "2 2 2\n1 2 1\n2 2 1\n"), want: "sparse 2×2 0,1 1,1"},
		{name: "integers with signs", text: mtx("coordinate integer general", "2 2 2\n1 2 +3\n2 2 -4\n"), want: "sparse 2×2 0,1=3 1,1=-4"},
		{name: "symmetric, lower", text: mtx("coordinate real symmetric", "3 3 3\n1 1 5\n3 1 2\n3 2 -4\n"), want: "sparse 3×3 0,0=5 0,2=2 1,2=-4 2,0=2 2,1=-4 symmetric"},
		{name: "symmetric, upper", text: mtx("coordinate real symmetric", "3 3 3\n1 1 5\n1 3 2\n2 3 -4\n"), want: "sparse 3×3 0,0=5 0,2=2 1,2=-4 2,0=2 2,1=-4 symmetric"},
		{name: "symmetric pattern", text: mtx("coordinate pattern symmetric", "2 2 2\n1 1\n2 1\n"), want: "sparse 2×2 0,0 0,1 1,0 symmetric"},
		{name: "duplicates", text: mtx("coordinate real general", "2 2 4\n1 1 1e16\n2 1 1\n1 1 1\n1 1 -1e16\n"), want: "sparse 2×2 0,0=0 1,0=1 duplicates 2", warn: "2 repeated entries were summed"},
		{name: "symmetric duplicates", text: mtx("coordinate real symmetric", "2 2 4\n2 1 1\n2 1 2\n1 1 1\n1 1 1\n"), want: "sparse 2×2 0,0=2 0,1=3 1,0=3 symmetric duplicates 2", warn: "2 repeated"},
		{name: "pattern duplicates", text: mtx("coordinate pattern symmetric", "2 2 3\n2 1\n2 1\n2 2\n"), want: "sparse 2×2 0,1=2 1,0=2 1,1=1 symmetric duplicates 1", warn: "1 repeated"},
		{name: "stored zero is kept", text: mtx("coordinate real general", "1 2 2\n1 1 0\n1 2 -0\n"), want: "sparse 1×2 0,0=0 0,1=-0"},
		{name: "no entries", text: mtx("coordinate real general", "2 2 0\n"), want: "sparse 2×2"},
		{name: "nothing", text: mtx("coordinate real general", "0 0 0\n"), want: "sparse 0×0"},
		{name: "specials", text: mtx("coordinate real general", "1 5 5\n1 1 NaN\n1 2 inf\n1 3 -Infinity\n1 4 -nan\n1 5 +INF\n"), want: "sparse 1×5 0,0=NaN 0,1=+Inf 0,2=-Inf 0,3=NaN 0,4=+Inf"},
		{name: "array", text: mtx("array real general", "2 3\n1\n2\n\n3 4\n% c\n5\n6"), want: "dense 2×3 [1 3 5] [2 4 6]"},
		{name: "array symmetric", text: mtx("array integer symmetric", "3 3\n1\n2\n3\n4\n5\n6\n"), want: "dense 3×3 [1 2 3] [2 4 5] [3 5 6] symmetric"},
		{name: "array column", text: mtx("array real general", "3 1\n1\n2\n3\n"), want: "dense 3×1 [1] [2] [3]"},
		{name: "array nothing", text: mtx("array real general", "0 0\n"), want: "dense 0×0"},

		{name: "empty", text: "", wrong: []string{"A.mtx:1: ", "empty"}},
		{name: "no banner", text: "2 2 1\n1 1 1\n", wrong: []string{"A.mtx:1: ", `not "2 2 1"`}},
		{name: "short banner", text: "%%MatrixMarket matrix coordinate\n", wrong: []string{":1: ", "FORMAT FIELD SYMMETRY"}},
		{name: "vector", text: "%%MatrixMarket vector coordinate real general\n", wrong: []string{":1: "}},
		{name: "format", text: mtx("elements real general", ""), wrong: []string{":1: ", `"elements"`, "coordinate or array"}},
		{name: "field", text: mtx("array quaternion general", ""), wrong: []string{":1: ", `"quaternion"`}},
		{name: "complex", text: mtx("coordinate complex general", ""), wrong: []string{":1: ", "complex"}},
		{name: "array pattern", text: mtx("array pattern general", ""), wrong: []string{":1: ", "pattern"}},
		{name: "skew", text: mtx("coordinate real skew-symmetric", ""), wrong: []string{":1: ", "skew-symmetric"}},
		{name: "hermitian", text: mtx("coordinate real hermitian", ""), wrong: []string{":1: ", "hermitian"}},
		{name: "symmetry", text: mtx("coordinate real odd", ""), wrong: []string{":1: ", `"odd"`}},
		{name: "no sizes", text: mtx("coordinate real general", "% c\n"), wrong: []string{":2: ", "size line is missing"}},
		{name: "two sizes", text: mtx("coordinate real general", "2 2\n"), wrong: []string{":2: ", "3 whole numbers", `"2 2"`}},
		{name: "four sizes", text: mtx("coordinate real general", "2 2 1 1\n"), wrong: []string{":2: ", "3 whole numbers"}},
		{name: "negative size", text: mtx("coordinate real general", "2 -2 1\n"), wrong: []string{":2: "}},
		{name: "size beyond 64 bits", text: mtx("coordinate real general", "18446744073709551617 1 1\n1 1 1\n"), wrong: []string{":2: ", "3 whole numbers"}},
		{name: "too many rows", text: mtx("coordinate real general", "2147483648 1 0\n"), wrong: []string{":2: ", "2147483648×1 is declared: at most 2147483647 "}},
		{name: "too many columns", text: mtx("coordinate real general", "1 2147483648 0\n"), wrong: []string{":2: ", "1×2147483648 is declared: at most 2147483647 "}},
		{name: "oblong symmetric", text: mtx("coordinate real symmetric", "2 3 0\n"), wrong: []string{":2: ", "2×3"}},
		{name: "hollow", text: mtx("coordinate real general", "9000000 9000000 1\n1 1 1\n"), wrong: []string{":2: ", "9000000×9000000 is declared for 1 entry, more than 1000 ", "is the size wrong?"}},
		{name: "hollow with two entries", text: mtx("coordinate real general", "9000000 9000000 2\n1 1 1\n2 2 1\n"), wrong: []string{":2: ", "for 2 entries, more than 1000 "}},
		{name: "too few", text: mtx("coordinate real general", "2 2 3\n1 1 1\n2 2 2\n%%%\n"), wrong: []string{"A.mtx:5: ", "2 of 3 entries"}},
		{name: "too many", text: mtx("coordinate real general", "2 2 1\n1 1 1\n2 2 2\n"), wrong: []string{"A.mtx:4: ", "more than the 1 entries"}},
		{name: "row 0", text: mtx("coordinate real general", "2 2 1\n0 1 1\n"), wrong: []string{":3: ", "(0, 1)", "count from 1"}},
		{name: "column 0", text: mtx("coordinate real general", "2 2 1\n1 0 1\n"), wrong: []string{":3: ", "(1, 0)", "count from 1"}},
		{name: "row too large", text: mtx("coordinate real general", "2 3 1\n3 1 1\n"), wrong: []string{":3: ", "(3, 1)", "2×3"}},
		{name: "column too large", text: mtx("coordinate real general", "2 3 1\n1 4 1\n"), wrong: []string{":3: ", "(1, 4)", "2×3"}},
		{name: "column beyond all", text: mtx("coordinate real general", "2 3 1\n1 99999999999999999999999 1\n"), wrong: []string{":3: "}},
		{name: "index not a number", text: mtx("coordinate real general", "2 2 1\n1 x 1\n"), wrong: []string{":3: ", `"1 x 1"`}},
		{name: "index with a fraction", text: mtx("coordinate real general", "2 2 1\n1.5 1 1\n"), wrong: []string{":3: "}},
		{name: "value missing", text: mtx("coordinate real general", "2 2 1\n1 1\n"), wrong: []string{":3: ", "(1, 1)", "missing"}},
		{name: "value no number", text: mtx("coordinate real general", "2 2 1\n1 1 1,5\n"), wrong: []string{":3: ", `"1,5"`}},
		{name: "hexadecimal", text: mtx("coordinate real general", "2 2 1\n1 1 0x1p3\n"), wrong: []string{":3: "}},
		{name: "value too large", text: mtx("coordinate real general", "2 2 1\n1 1 1e999\n"), wrong: []string{":3: ", "too large"}},
		{name: "integer with a fraction", text: mtx("coordinate integer general", "2 2 1\n1 1 1.5\n"), wrong: []string{":3: ", "1.5", "must say real"}},
		{name: "pattern with a value", text: mtx("coordinate pattern general", "2 2 1\n1 1 1\n"), wrong: []string{":3: ", "pattern", "must say real"}},
		{name: "four fields", text: mtx("coordinate real general", "2 2 1\n1 1 1 0\n"), wrong: []string{":3: ", `"0"`}},
		{name: "both triangles", text: mtx("coordinate real symmetric", "3 3 4\n2 2 1\n2 1 1\n3 1 2\n1 2 1\n"), wrong: []string{"A.mtx:6: ", "line 4", "general"}},
		{name: "both triangles, upper first", text: mtx("coordinate real symmetric", "3 3 3\n1 2 1\n3 3 1\n2 1 1\n"), wrong: []string{"A.mtx:5: ", "line 3", "general"}},
		{name: "array too few", text: mtx("array real general", "2 2\n1\n2\n3\n"), wrong: []string{":5: ", "3 of 4"}},
		{name: "array too many", text: mtx("array real general", "2 1\n1\n2\n3\n"), wrong: []string{":5: ", "more than the 2"}},
		{name: "array no number", text: mtx("array real general", "2 1\n1\nx\n"), wrong: []string{":4: ", "value 2", `"x"`}},
		{name: "array integer", text: mtx("array integer general", "2 1\n1\n1e3\n"), wrong: []string{":4: ", "must say real"}},
	})
}

// TestCoordinatesReference compares random files of entries with the definition: each place holds the sum of
// its values in the order of the file.
func TestCoordinatesReference(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		rows, cols := 1+rng.IntN(30), 1+rng.IntN(30)
		symmetric := seed%2 == 1
		if symmetric {
			cols = rows
		}
		count := rng.IntN(3 * rows)
		if seed > 36 {
			count = 3 * shortPart / 2 // more than one part of every size
		}
		symmetry := []string{"general", "symmetric"}[seed%2]
		var text strings.Builder
		fmt.Fprintf(&text, "%%%%MatrixMarket matrix coordinate real %s\n%d %d %d\n", symmetry, rows, cols, count)
		want := matrix.NewDense(rows, cols, nil)
		stored := map[[2]int]bool{}
		places := map[[2]int]bool{}
		for range count {
			i, j := rng.IntN(rows), rng.IntN(cols)
			if symmetric && i < j {
				i, j = j, i
			}
			v := rng.NormFloat64()
			fmt.Fprintln(&text, i+1, j+1, v)
			want.Set(i, j, want.At(i, j)+v)
			if symmetric {
				want.Set(j, i, want.At(i, j))
				stored[[2]int{j, i}] = true
			}
			stored[[2]int{i, j}] = true
			places[[2]int{i, j}] = true
		}
		got, err := Read(strings.NewReader(text.String()), "a.mtx", Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if why := differ(&Table{Dense: want}, got, false); why != "" {
			t.Fatalf("seed %d: %s", seed, why)
		}
		if got.Sparse.NNZ() != int64(len(stored)) || got.Duplicates != int64(count-len(places)) {
			t.Fatalf("seed %d: %d stored and %d duplicates, want %d and %d", seed, got.Sparse.NNZ(), got.Duplicates, len(stored), count-len(places))
		}
	}
}

// TestParseFloat compares parseFloat with strconv, which rounds correctly, on random numbers and on numbers
// around the limits of the fast path. It also checks which texts are refused and what too large numbers give.
func TestParseFloat(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	texts := []string{"0", "-0", "+1", "1.", ".5", "-.5e1", "9007199254740991", "9007199254740992", "9007199254740993", "9007199254740993e-1",
		"123456789012345678", "1234567890123456789", "18446744073709551616", "1e22", "1e23", "1e-22", "1e-23", "8.5e22", "5e-324", "2.4703282292062327e-324",
		"2.4703282292062328e-324", "1.7976931348623157e308", "1e-400", "0e99999", "0.000000000000000000000000001", "00001", "1e0001", "1e00001", "1E5", "1e-18446744073709551617", "0e18446744073709551617"}
	for m := uint64(1)<<53 - 3; m <= 1<<53+5; m++ {
		for e := -25; e <= 25; e++ {
			texts = append(texts, fmt.Sprintf("%de%d", m, e))
		}
	}
	for range 20000 {
		switch v := math.Float64frombits(rng.Uint64()); rng.IntN(4) {
		case 0:
			texts = append(texts, strconv.FormatFloat(v, 'g', -1, 64))
		case 1:
			texts = append(texts, strconv.FormatFloat(rng.NormFloat64(), 'f', rng.IntN(20), 64))
		case 2:
			texts = append(texts, fmt.Sprintf("%d.%de%d", rng.IntN(1000), rng.IntN(1e9), rng.IntN(60)-30))
		case 3:
			texts = append(texts, strconv.FormatUint(rng.Uint64()>>rng.IntN(64), 10))
		}
	}
	for _, text := range texts {
		want, err := strconv.ParseFloat(text, 64)
		got, ok := parseFloat([]byte(text))
		if !ok || err != nil || math.Float64bits(got) != math.Float64bits(want) && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("parseFloat(%q) = %v, %v, want %v, %v", text, got, ok, want, err)
		}
	}
	for _, text := range []string{"", "-", ".", "e", "1e", "1e+", "1e+-2", "--1", "1.2.3", "1e2.5", "1 2", "1,5", "0x1p3", "0x10", "1_000", "nano", "infi", "NA", "1d3", "١"} {
		if v, ok := parseFloat([]byte(text)); ok || v != 0 {
			t.Errorf("parseFloat(%q) = %v, %v, want 0, false", text, v, ok)
		}
	}
	for text, want := range map[string]float64{"1e309": math.Inf(1), "-1e999": math.Inf(-1), "1e18446744073709551617": math.Inf(1)} {
		if v, ok := parseFloat([]byte(text)); ok || v != want {
			t.Errorf("parseFloat(%q) = %v, %v, want %v, false", text, v, ok, want)
		}
	}
}

// TestWriteMTX checks the exact bytes. Tables that are falsely called symmetric are refused.
func TestWriteMTX(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 0.1\n3 1 5e-324\n3 2 -1e300\n", "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 0.1\n3 1 5e-324\n3 2 -1e+300\n"},
		{"%%MatrixMarket matrix coordinate pattern general\n2 3 2\n2 1\n1 3\n", "%%MatrixMarket matrix coordinate pattern general\n2 3 2\n1 3\n2 1\n"},
		{"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n"},
		{"%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n", "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n"},
	} {
		table, err := Read(strings.NewReader(c.in), "a.mtx", Options{})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := Write(&b, table, "mtx"); err != nil || b.String() != c.want {
			t.Errorf("got %q, %v, want %q", b.String(), err, c.want)
		}
	}
	other := math.Float64frombits(math.Float64bits(math.NaN()) ^ 1<<63) // NaN too, of other bits
	whole := matrix.NewDense(2, 2, []float64{1, math.NaN(), other, 1})
	for _, table := range []*Table{{Dense: whole, Symmetric: true}, {Sparse: whole.CSR(), Symmetric: true}} {
		if err := Write(&bytes.Buffer{}, table, "mtx"); err != nil {
			t.Errorf("symmetric but for the bits of a NaN: %v", err)
		}
	}
	for _, bad := range []*matrix.Dense{
		matrix.NewDense(2, 2, []float64{1, 2, 3, 4}), matrix.NewDense(1, 2, nil),
		matrix.NewDense(2, 2, []float64{1, 2, math.NaN(), 1}),
	} {
		sparse := bad.CSR()
		for _, table := range []*Table{{Dense: bad, Symmetric: true}, {Sparse: sparse, Symmetric: true}} {
			if err := Write(&bytes.Buffer{}, table, "mtx"); err == nil {
				t.Errorf("a table falsely called symmetric was written: %s", dump(table))
			}
		}
	}
}

// TestMemoryPerEntry: all that reading allocates is within what is promised: 16 bytes for each entry
// collected and 12 for each stored, besides pointers and blocks.
func TestMemoryPerEntry(t *testing.T) {
	const n, count = 1000, 1_000_000
	var b bytes.Buffer
	fmt.Fprintf(&b, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", n, n, count)
	rng := rand.New(rand.NewPCG(1, 2))
	for range count {
		fmt.Fprintf(&b, "%d %d 0.25\n", 1+rng.IntN(n), 1+rng.IntN(n))
	}
	data := slices.Clip(b.Bytes())
	for threads := 1; threads <= 2; threads++ {
		// A block has its text and at most 16/9 of that in entries, since a line has 9 bytes or more. An
		// array that grows by quarters is less than 1.25 times too long, and 5 times that was allocated on
		// the way. The last part is not full. Sorting takes 16 bytes for each entry of the longest row, which
		// has about n. Then there are buffers.
		blocks := (2*threads + 1) * blockSize * (9 + 16*7) / 9
		limit := uint64(28*count + 8*n + blocks + 16*shortPart + threads*16*5*2*n + 1<<18)
		var err error
		if got := allocated(func() { _, err = Read(bytes.NewReader(data), "a.mtx", Options{Threads: threads}) }); err != nil || got > limit {
			t.Errorf("%d goroutines: %d bytes were allocated, %v, want at most %d", threads, got, err, limit)
		}
	}
}
