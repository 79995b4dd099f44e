package matio

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"symnmf/matrix"
)

// drawValue draws doubles of every magnitude, and often zero, extreme and special ones.
func drawValue(t *rapid.T) float64 {
	return rapid.OneOf(
		rapid.SampledFrom([]float64{0, 1, math.Copysign(0, -1), 5e-324, math.MaxFloat64, -math.MaxFloat64, 0x1p-1022, 0.1, 1 << 53, 1<<53 + 2, math.Inf(1), math.Inf(-1), math.NaN()}),
		rapid.Float64(),
		rapid.Map(rapid.Uint64(), math.Float64frombits),
	).Draw(t, "value")
}

// drawNames draws n distinct names, or nil.
func drawNames(t *rapid.T, n int) []string {
	kinds := map[string]*rapid.Generator[string]{
		"numbers": rapid.StringMatching(`-?[0-9]{1,4}(\.5)?|nan`),
		"words":   rapid.StringMatching(`[a-zA-Zé_.]{1,5}`),
		"any":     rapid.String().Filter(func(s string) bool { return checkName([]byte(s)) == "" }),
		"awkward": rapid.StringMatching(`[a-c",#%; \t\n-]{1,4}`),
	}
	kind := rapid.SampledFrom([]string{"", "numbers", "words", "any", "awkward"}).Draw(t, "names")
	if kind == "" {
		return nil
	}
	return rapid.SliceOfNDistinct(kinds[kind], n, n, rapid.ID).Draw(t, "names "+kind)
}

// drawTable draws a table, dense or sparse, square or not, symmetric or not, with or without names.
func drawTable(t *rapid.T) *Table {
	rows := rapid.IntRange(0, 6).Draw(t, "rows")
	cols := rapid.IntRange(0, 6).Draw(t, "cols")
	table := &Table{Symmetric: rapid.Bool().Draw(t, "symmetric")}
	if table.Symmetric {
		cols = rows
	}
	pattern := rapid.Bool().Draw(t, "pattern")
	m := matrix.NewDense(rows, cols, nil)
	for i := range rows {
		for j := range cols {
			v := 1.0
			if rapid.IntRange(0, 2).Draw(t, "empty") == 0 {
				v = 0
			} else if !pattern {
				v = drawValue(t)
			}
			m.Set(i, j, v)
			if table.Symmetric && j < i {
				m.Set(i, j, m.At(j, i))
			}
		}
	}
	table.RowIDs, table.ColIDs = drawNames(t, rows), drawNames(t, cols)
	if rows == cols && rapid.Bool().Draw(t, "same names") {
		table.ColIDs = table.RowIDs
	}
	if table.Dense = m; rapid.Bool().Draw(t, "sparse") {
		s := m.CSR()
		table.Dense, table.Sparse = nil, s
	}
	return table
}

// plainSquare reports whether t is a table that every format must accept.
func plainSquare(t *Table) bool {
	rows, cols := t.Dims()
	plain := func(names []string) bool {
		return !slices.ContainsFunc(names, func(s string) bool { return strings.Contains(s, "\n") })
	}
	return rows == cols && rows > 0 && plain(t.RowIDs) && plain(t.ColIDs) && (t.RowIDs == nil || t.ColIDs == nil || slices.Equal(t.RowIDs, t.ColIDs))
}

// TestRoundTrip: entries that are written and read again are the same bit for bit, and so are the names in
// formats that hold names. Once a table has been read, writing and reading it changes nothing.
func TestRoundTrip(t *testing.T) {
	for _, f := range formats {
		t.Run(f.Name, func(t *testing.T) {
			written := 0
			rapid.Check(t, func(t *rapid.T) {
				table := drawTable(t)
				var b bytes.Buffer
				err := Write(&b, table, f.Name)
				if errors.Is(err, ErrUnfit) && !plainSquare(table) {
					return
				} else if err != nil {
					t.Fatalf("writing %s: %v", dump(table), err)
				}
				got, err := Read(&b, "x", Options{Format: f.Name})
				if err != nil {
					t.Fatalf("reading what was written of %s: %v", dump(table), err)
				}
				written++
				// An edge list sorts names that are integers; TestEdges says when.
				if why := differ(table, got, f.Names); why != "" && !(f.Name == "edges" && numberedOutOfOrder(table)) {
					t.Fatalf("%s came back as %s: %s", dump(table), dump(got), why)
				}
				checkIdentity(t, got, f.Name)
			})
			if written == 0 && !testing.Short() { // -short draws few
				t.Error("no table was written")
			}
		})
	}
}

// numberedOutOfOrder reports whether the names of t are integers that an edge list would sort.
func numberedOutOfOrder(t *Table) bool {
	ids, numbered, err := edgeIDs(t)
	return err == nil && numbered && !slices.IsSortedFunc(ids, func(a, b string) int {
		x, _ := parseID([]byte(a))
		y, _ := parseID([]byte(b))
		return int(x - y)
	})
}

// checkIdentity writes a table that was read, reads it and writes it again. The table and the bytes must be
// the same, apart from the number of duplicates.
func checkIdentity(t interface{ Fatalf(string, ...any) }, table *Table, format string) {
	var first, second bytes.Buffer
	if err := Write(&first, table, format); err != nil {
		t.Fatalf("writing %s: %v", dump(table), err)
	}
	text := first.String()
	again, err := Read(&first, "x", Options{Format: format})
	if err != nil {
		t.Fatalf("reading %q, which was written of %s: %v", text, dump(table), err)
	}
	same := *table
	same.Duplicates, again.Duplicates = 0, 0
	if why := differ(table, again, true); why != "" || dump(&same) != dump(again) {
		t.Fatalf("%s came back as %s: %s", dump(table), dump(again), why)
	}
	if err := Write(&second, again, format); err != nil || second.String() != text {
		t.Fatalf("%q was written as %q, %v", text, second.String(), err)
	}
}

// FuzzRead reads any bytes in every format. Nothing may panic, no more memory may be allocated than the bytes
// and the limit justify, blocks may not matter, and what was read must be written and read unchanged.
func FuzzRead(f *testing.F) {
	const limit = 1 << 20
	texts := []string{smallMTX, "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 1\n3 2\n", "%%MatrixMarket matrix array integer symmetric\n2 2\n1\n-2\n3e0\n",
		",a,b\nx,1,2\ny,3,nan\n", "\"a\"\"\",\"2\"\n1,2\n", "1\t2\n3\t4\n", "# c\na b 2\nb,a,2\nc c 0\n10 -3\n", "3 1\n1 2 0.5\n2 1 1e-5 % c\n"}
	for _, shape := range []string{"(2, 1)", "(1, 2)", "(16,)"} {
		for _, descr := range []string{"<f8", ">i8", "|u1", "<f2"} {
			texts = append(texts, string(npyHeader(descr, shape))+"0123456789abcdef")
		}
	}
	table := &Table{Dense: matrix.NewDense(2, 2, []float64{1, 2, 0, 5e-324})}
	sparse := table.Dense.CSR()
	for k := range formats {
		for _, t := range []*Table{table, {Sparse: sparse}} {
			var b bytes.Buffer
			if err := Write(&b, t, formats[k].Name); err != nil {
				f.Fatal(err)
			}
			texts = append(texts, b.String())
		}
	}
	for k := range formats {
		for _, text := range texts {
			f.Add(uint8(k), []byte(text))
			f.Add(uint8(k), gzipped(text))
			f.Add(uint8(k), zstded(text))
		}
	}
	f.Fuzz(func(t *testing.T, k uint8, data []byte) {
		format := formats[int(k)%len(formats)].Name
		var table *Table
		var err error
		used := allocated(func() { table, err = Read(bytes.NewReader(data), "x", Options{Format: format, MaxBytes: limit}) })
		// Buffers and decoders take 24 MiB, since zstd's window is at most 8 MiB, twice. The rest takes a few
		// times the limit, with what growing discards.
		if most := uint64(24<<20 + 16*limit + 100*len(data)); used > most {
			t.Fatalf("%s: %d bytes were allocated for %d bytes of input, want at most %d", format, used, len(data), most)
		}
		checkBlocks(t, Options{Format: format, MaxBytes: limit}, data, 1+len(data)%64, 64)
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrTooLarge) || table != nil {
				t.Fatalf("%s: table %v and error %v, want ErrFormat or ErrTooLarge alone", format, table, err)
			}
			return
		}
		if (table.Dense == nil) == (table.Sparse == nil) || len(table.SHA256) != 64 {
			t.Fatalf("%s: %+v", format, table)
		}
		if rows, cols := table.Dims(); float64(rows)*float64(cols) > 1<<22 {
			return // sparse and large: comparing it cell by cell would take long
		}
		checkIdentity(t, table, format)
	})
}
