// Package matio reads and writes matrices: Matrix Market, NumPy .npy and .npz (with SciPy's sparse matrices), tables
// of text with or without names, and edge lists. [Open] and [Read] return a [Table], [Create] and [Write] store one.
//
// # Formats
//
// The list is [Formats]; a file's format is told by its extension, or by [Options].Format. Any file may be compressed
// by gzip or zstd, which is recognised by content on reading and chosen by a last extension .gz or .zst on writing.
//
//   - mtx: coordinate and array; real, (unsigned-)integer and pattern; general and symmetric. A symmetric file gives one triangle,
//     which is mirrored, the diagonal once. Entries given twice are summed and counted. No names.
//   - npy: a matrix of bool, (u)int8…64 or float16/32/64, either byte order, C or Fortran order, format 1.0 to 3.0.
//     Written as float64 in C order, format 1.0; a sparse table is written out in full.
//   - npz: what scipy.sparse.save_npz stores (CSR, CSC, COO, BSR; zeros inside BSR blocks are padding and dropped),
//     or one dense array. Written as CSR or as a dense array arr_0.
//   - csv, tsv: numbers, with a header when the first row holds a field, other than the first, that is not a number,
//     and row names when the first field of every data row is not a number. An empty first field of the first row is
//     a corner: then the first row and the first column are names, whatever they hold. A header one field shorter than
//     the rows (as R writes it) also means row names; of one field above two numbers, it may be a title, and is refused.
//     A field in quotes is not a number for these rules, unless every field of the first data row is quoted; one that is too
//     large for float64, or stands for a missing number, as NA and - do, is not a name, and refused where a number is wanted.
//     Lines without a character are skipped. Names are written so that they are found again.
//   - edges: a line "u v" or "u v weight", separated by blanks, tabs or one comma, each perhaps in quotes; '#' or '%'
//     before a field starts a comment. See the rules below.
//
// # Edge lists
//
// The graph is undirected. A pair may be listed once, as "u v" or "v u", or in both directions with one weight: that
// is one edge. A pair listed twice in the same direction is a duplicate: its weights are summed and it is counted. Where
// both directions occur and their sums differ, A_uv and A_vu keep what was said and [Table].Symmetric is false. A
// weight of 0 stores nothing but names its nodes, which is how an isolated node ("u u 0", which is no duplicate of anything) and a one-way
// edge ("v u 0" after "u v w") are written. Self-loops are kept and counted. When every id is an integer, in plain decimal without
// sign + or leading zeros, nodes are in increasing order of the ids; otherwise in order of first appearance. A table
// without names is written with the ids 1, 2, …, n.
//
// # Guarantees
//
// Text numbers are correctly rounded. Writing and reading again gives the same bits, except that a NaN is only a NaN.
// Nothing is allocated on the word of a header alone: memory follows the bytes that have arrived, so a file that lies
// about its size fails cheaply, and stays under [Options].MaxBytes. While reading, a sparse entry costs at most 28 bytes
// (16 as it arrives, 12 stored; an edge 48 for its two entries, 16 without weights) beside 8 for each row; a dense one 8 where an
// uncompressed .npy in C order tells its length, else up to 24 while an array grows; an .npz is itself in memory too. A
// file that is wrong gives an error that is [ErrFormat] with the line or byte and, where there is one, the repair.
//
// Text is parsed by as many goroutines as [Options].Threads says, in blocks of 128 KiB, two for each and one more; what
// is read, and the error, which is always the first in the file, are the same for any number of them. As many make the text that is written. A file is read and hashed,
// and text decompressed, in goroutines of their own. None outlives the call.
package matio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"symnmf/matrix"
)

var (
	// ErrFormat is matched by every error that means the file is wrong: truncated, not what its name says, an index out
	// of range, a count that does not match.
	ErrFormat = errors.New("matio: malformed input")
	// ErrTooLarge is matched when Options.MaxBytes would be exceeded.
	ErrTooLarge = errors.New("matio: input needs more memory than allowed")
	// ErrUnknownFormat is matched when neither the name nor Options.Format says a format of the list.
	ErrUnknownFormat = errors.New("matio: unknown format")
	// ErrUnfit is matched when a format cannot hold the table that should be written.
	ErrUnfit = errors.New("matio: the format cannot hold this table")
)

// Table is what a file holds before anyone has said whether it is a similarity or a table of points.
type Table struct {
	Dense  *matrix.Dense // exactly one of Dense and Sparse is set
	Sparse *matrix.CSR   // Val nil when every stored entry is 1; stored zeros of the file are kept

	RowIDs, ColIDs []string // names from the file, nil when it has none; an edge list sets both to the same names

	Symmetric  bool     // the file declares symmetry (mtx symmetric, edge list); the full matrix, mirrored, is stored
	Eps        float64  // unit roundoff of the stored values: 2⁻⁵³ for float64, integers and text, 2⁻²⁴ float32, 2⁻¹¹ float16
	Duplicates int64    // repeated entries of the file that were summed
	SelfLoops  int64    // edge lists: nodes with an edge to themselves, which is kept
	Warnings   []string // what was noticed and accepted, a sentence each
	Format     string   // name in the list, e.g. "mtx"
	SHA256     string   // hex digest of the input bytes as they were stored, before decompression
}

// Dims returns the numbers of rows and columns.
func (t *Table) Dims() (rows, cols int) {
	return t.Matrix().Dims()
}

// Matrix returns Dense or Sparse, whichever is set.
func (t *Table) Matrix() matrix.Table {
	if t.Sparse != nil {
		return t.Sparse
	}
	return t.Dense
}

// row returns row i in full: the matrix's own when it is dense, else written to buf, which has one element a column.
func (t *Table) row(i int, buf []float64) []float64 {
	if t.Dense != nil {
		return t.Dense.Row(i)
	}
	clear(buf)
	col, val := t.Sparse.Row(i)
	for p, j := range col {
		buf[j] = 1
		if val != nil {
			buf[j] = val[p]
		}
	}
	return buf
}

// Options says how to read or write.
type Options struct {
	Format   string // name in the list; "" = by the extension, looking through .gz and .zst
	MaxBytes int64  // reading: keep no more than this in memory, else ErrTooLarge; 0 = no limit
	Held     int64  // of which so much is taken already, by others
	Threads  int    // goroutines that parse, or make text, at once, 1 = none but the caller's; 0 = as many as processors
}

// FormatInfo describes one format.
type FormatInfo struct {
	Name        string
	Extensions  []string // with the dot
	Description string   // one line
	Names       bool     // it can hold names of rows and columns
	ZeroBytes   int      // what each zero takes at least, uncompressed; 0 where a sparse table's are not written
}

type format struct {
	FormatInfo
	read  func(in *input) (*Table, error)
	write func(w *writer, t *Table) error
}

// formats is the list that extension detection, help, round-trip tests and fuzz targets follow.
var formats = []format{
	{FormatInfo{"mtx", []string{".mtx"}, "Matrix Market: coordinate or array, general or symmetric", false, 0}, readMTX, writeMTX},
	{FormatInfo{"npy", []string{".npy"}, "NumPy: one dense matrix", false, 8}, readNPY, writeNPY},
	{FormatInfo{"npz", []string{".npz"}, "NumPy archive: SciPy sparse (CSR, CSC, COO, BSR) or one dense matrix", false, 0}, readNPZ, writeNPZ},
	{FormatInfo{"csv", []string{".csv"}, "table of numbers separated by commas, with optional names", true, 2}, readCSV, writeCSV},
	{FormatInfo{"tsv", []string{".tsv"}, "table of numbers separated by tabs, with optional names", true, 2}, readTSV, writeTSV},
	{FormatInfo{"edges", []string{".edges", ".txt", ".abc"}, "undirected edge list: u v [weight]", true, 0}, readEdges, writeEdges},
}

// Formats describes the formats that are read and written, in the order help shows them.
func Formats() []FormatInfo {
	infos := make([]FormatInfo, len(formats))
	for i, f := range formats {
		infos[i] = f.FormatInfo
		infos[i].Extensions = slices.Clone(f.Extensions)
	}
	return infos
}

// FormatFor describes the format that Open and Create take the named file for: the one wanted, or, when that is "", that of the
// extension.
func FormatFor(name, wanted string) (FormatInfo, error) {
	f, err := formatFor(name, wanted)
	if err != nil {
		return FormatInfo{}, err
	}
	return f.FormatInfo, nil
}

// splitName returns the extension that tells the format of name, in lower case, and the one that tells its
// compression, ".gz", ".zst" or "".
func splitName(name string) (ext, codec string) {
	ext = strings.ToLower(filepath.Ext(name))
	if ext == ".gz" || ext == ".zst" {
		return strings.ToLower(filepath.Ext(name[:len(name)-len(ext)])), ext
	}
	return ext, ""
}

// formatFor finds the format by its name or, when that is "", by the extension of the file's name.
func formatFor(name, wanted string) (*format, error) {
	ext, _ := splitName(name)
	var known []string
	for i := range formats {
		f := &formats[i]
		if f.Name == wanted || wanted == "" && slices.Contains(f.Extensions, ext) {
			return f, nil
		}
		known = append(known, f.Name)
	}
	list := strings.Join(known, ", ")
	switch {
	case wanted != "":
		return nil, fmt.Errorf("%w %q: it must be one of %s", ErrUnknownFormat, wanted, list)
	case ext == "":
		return nil, fmt.Errorf("%w: %s has no extension to tell it by: say which of %s", ErrUnknownFormat, name, list)
	}
	return nil, fmt.Errorf("%w: %s: nothing is known of %s files: say which of %s it is", ErrUnknownFormat, name, ext, list)
}

// Open reads the named file.
func Open(name string, opt Options) (*Table, error) {
	if _, err := formatFor(name, opt.Format); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("matio: %w", err)
	}
	defer f.Close()
	return Read(f, name, opt)
}

// Read reads a table from r to its end; name is for messages and, without opt.Format, for the extension.
// It reads r to the end or, after an error, not beyond the call that was under way.
func Read(r io.Reader, name string, opt Options) (*Table, error) {
	return read(r, name, opt, blockSize)
}

// read is Read with a size for the blocks of text.
func read(r io.Reader, name string, opt Options, blockSize int) (*Table, error) {
	f, err := formatFor(name, opt.Format)
	if err != nil {
		return nil, err
	}
	in, err := newInput(r, name, opt, blockSize)
	if err != nil {
		return nil, err
	}
	defer in.close()
	t, err := f.read(in)
	if err != nil {
		return nil, err
	}
	t.Format = f.Name
	if t.SHA256, err = in.digest(); err != nil {
		return nil, err
	}
	if t.Duplicates > 0 {
		t.Warnings = append(t.Warnings, count(t.Duplicates, "repeated entry was summed", "repeated entries were summed"))
	}
	return t, nil
}
