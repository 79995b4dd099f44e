package matio

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"symnmf/matrix"
)

// dump returns what a table holds as text, for tests to compare. A dense matrix is written by its rows and a
// sparse one by its entries, as i,j=value or as i,j if it is a pattern.
func dump(t *Table) string {
	var b strings.Builder
	rows, cols := t.Dims()
	if t.Dense != nil {
		fmt.Fprintf(&b, "dense %d×%d", rows, cols)
		for i := range rows {
			fmt.Fprintf(&b, " %v", t.Dense.Row(i))
		}
	} else {
		fmt.Fprintf(&b, "sparse %d×%d", rows, cols)
		for i := range rows {
			col, val := t.Sparse.Row(i)
			for p, j := range col {
				if val == nil {
					fmt.Fprintf(&b, " %d,%d", i, j)
				} else {
					fmt.Fprintf(&b, " %d,%d=%v", i, j, val[p])
				}
			}
		}
	}
	if t.RowIDs != nil {
		fmt.Fprintf(&b, " rows %q", t.RowIDs)
	}
	if t.ColIDs != nil && !slices.Equal(t.RowIDs, t.ColIDs) {
		fmt.Fprintf(&b, " columns %q", t.ColIDs)
	}
	if t.Symmetric {
		b.WriteString(" symmetric")
	}
	if t.Duplicates != 0 {
		fmt.Fprintf(&b, " duplicates %d", t.Duplicates)
	}
	if t.SelfLoops != 0 {
		fmt.Fprintf(&b, " loops %d", t.SelfLoops)
	}
	return b.String()
}

// readCase is the text of a file and what reading it must give: the dump of the table, or parts of the error.
type readCase struct {
	name, text string
	want       string   // dump, when there is no error
	wrong      []string // what the error must say; it must be ErrFormat
	not        string   // what it must not say
	warn       string   // part of the one warning; "" = no warning
}

// runReadCases reads each case as a file of the given name, also in blocks of many sizes (see checkBlocks).
func runReadCases(t *testing.T, file string, cases []readCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f, err := formatFor(file, "")
			if err != nil {
				t.Fatal(err)
			}
			checkBlocks(t, Options{Format: f.Name}, []byte(c.text), smallBlocks()...)
			got, err := Read(strings.NewReader(c.text), file, Options{})
			if c.wrong != nil {
				if !errors.Is(err, ErrFormat) {
					t.Fatalf("error %v, want one that is ErrFormat", err)
				}
				for _, part := range c.wrong {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("error %q does not say %q", err, part)
					}
				}
				if c.not != "" && strings.Contains(err.Error(), c.not) {
					t.Errorf("error %q says %q", err, c.not)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := dump(got); d != c.want {
				t.Errorf("got  %s\nwant %s", d, c.want)
			}
			warned := strings.Join(got.Warnings, "; ")
			if (c.warn == "") != (warned == "") || !strings.Contains(warned, c.warn) {
				t.Errorf("warnings %q, want %q", warned, c.warn)
			}
			if got.Eps != 0x1p-53 {
				t.Errorf("Eps %v, want 2^-53", got.Eps)
			}
		})
	}
}

// TestFormatFor: the format follows from the extension or is given by name. If neither is known, the error
// lists the formats.
func TestFormatFor(t *testing.T) {
	for name, want := range map[string]string{
		"A.mtx": "mtx", "a/b.MTX.gz": "mtx", "x.npy.zst": "npy", "x.npz": "npz", "t.csv": "csv", "t.tsv.GZ": "tsv",
		"g.edges": "edges", "g.txt": "edges", "g.abc": "edges",
	} {
		f, err := FormatFor(name, "")
		if err != nil || f.Name != want {
			t.Errorf("FormatFor(%q) = %v, %v, want %s", name, f, err, want)
		}
	}
	for _, info := range Formats() {
		f, err := FormatFor("-", info.Name)
		if err != nil || f.Name != info.Name {
			t.Errorf("format %s: %v, %v", info.Name, f, err)
		}
		f.Extensions[0] = ".mine" // the list is the caller's
		for _, ext := range info.Extensions {
			if f, err := FormatFor("x"+ext, ""); err != nil || f.Name != info.Name {
				t.Errorf("extension %s: %v, %v", ext, f, err)
			}
		}
	}
	if _, err := FormatFor("a.mtx.bz2", ""); !errors.Is(err, ErrUnknownFormat) || !strings.Contains(err.Error(), "only .gz and .zst are known, not .bz2") {
		t.Errorf("a.mtx.bz2: %v", err)
	}
	for name, hint := range map[string]string{"a.h5ad": "scipy.io.mmwrite", "a.XLSX": "as csv", "a.gml.gz": `a line "u v" or "u v weight"`, "a.tab": "tsv tabs"} {
		if _, err := FormatFor(name, ""); !errors.Is(err, ErrUnknownFormat) || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v, want a hint with %s", name, err, hint)
		}
	}
	for _, c := range []struct{ name, format string }{{"a.mat", ""}, {"a", ""}, {"-", ""}, {"a.mtx", "mat"}, {"a.gz", ""}, {"x", "h5ad"}} {
		if _, err := FormatFor(c.name, c.format); !errors.Is(err, ErrUnknownFormat) {
			t.Errorf("%v: error %v, want ErrUnknownFormat", c, err)
		}
		_, err := Read(strings.NewReader(""), c.name, Options{Format: c.format})
		if !errors.Is(err, ErrUnknownFormat) || errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "mtx, npy, npz, csv, tsv, edges") {
			t.Errorf("%v: error %v, want ErrUnknownFormat that lists the formats", c, err)
		}
		if err := Create(filepath.Join(t.TempDir(), c.name), &Table{Dense: matrix.NewDense(1, 1, nil)}, Options{Format: c.format}); !errors.Is(err, ErrUnknownFormat) {
			t.Errorf("Create %v: error %v, want ErrUnknownFormat", c, err)
		}
	}
}

// differ returns how two tables differ in shape, entries or, if names is true, names. It returns "" if they
// do not. All NaN are equal, and if one of the tables is sparse so are 0, −0 and an entry that is not stored.
func differ(want, got *Table, names bool) string {
	rows, cols := want.Dims()
	if r, c := got.Dims(); r != rows || c != cols {
		return fmt.Sprintf("%d×%d, want %d×%d", r, c, rows, cols)
	}
	buf, buf2 := make([]float64, cols), make([]float64, cols)
	for i := range rows {
		w, g := want.row(i, buf), got.row(i, buf2)
		for j := range w {
			bits := math.Float64bits(w[j]) == math.Float64bits(g[j]) || w[j] == 0 && g[j] == 0 && (want.Sparse != nil || got.Sparse != nil)
			if !bits && !(math.IsNaN(w[j]) && math.IsNaN(g[j])) {
				return fmt.Sprintf("entry (%d, %d) is %v, want %v", i, j, g[j], w[j])
			}
		}
	}
	if names && want.RowIDs != nil && !slices.Equal(want.RowIDs, got.RowIDs) || names && want.ColIDs != nil && !slices.Equal(want.ColIDs, got.ColIDs) {
		return fmt.Sprintf("names %q and %q, want %q and %q", got.RowIDs, got.ColIDs, want.RowIDs, want.ColIDs)
	}
	return ""
}
