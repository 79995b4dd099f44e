// Package matio reads and writes matrices: Matrix Market, NumPy .npy and .npz (with SciPy's sparse matrices),
// tables of text with or without names, and edge lists. [Open] and [Read] return a [Table], [Create] and
// [Write] store one.
//
// # Formats
//
// [Formats] lists the formats. The format of a file follows from its extension or from [Options].Format. Any
// file may be compressed with gzip or zstd. On reading, compression is recognized by content. On writing, a
// last extension .gz or .zst chooses it.
//
//   - mtx: coordinate and array; real, (unsigned-)integer and pattern; general and symmetric. A symmetric
//     file gives one triangle, which is mirrored without doubling the diagonal. Repeated entries are summed
//     and counted. There are no names.
//   - npy: a matrix of bool, (u)int8…64 or float16/32/64, in either byte order, in C or Fortran order, format
//     1.0 to 3.0. It is written as float64 in C order, format 1.0. A sparse table is written with all its
//     zeros.
//   - npz: what scipy.sparse.save_npz stores (CSR, CSC, COO, BSR), or one dense array. Zeros inside BSR
//     blocks are padding and are dropped. A table is written as CSR or as a dense array arr_0.
//   - csv, tsv: numbers, perhaps with a header and row names. See the rules below.
//   - edges: lines "u v" or "u v weight". Fields are separated by blanks, tabs or one comma. A field that
//     holds one of these is in quotes, and quotes in it are doubled. '#' or '%' before a field starts a comment.
//     See the rules below.
//
// # Names in csv and tsv
//
// There is a header if a field of the first row, other than the first field, is not a number. There are row
// names if the first field of every data row is not a number. Further rules:
//
//   - In a table of one column, a first row that is not a number is a header.
//   - An empty first field of the first row is a corner: the first row and the first column are then names,
//     whatever they hold.
//   - A header that is one field shorter than the rows, as R writes it, also means row names. A single field
//     above two numbers may be a title and is refused.
//   - A field in quotes is not a number for these rules, unless every field of the first data row is in
//     quotes.
//   - A number too large for float64 is not a name, nor is a field that stands for a missing number, such as
//     NA or -. Both are refused where a number is expected.
//   - Empty lines are skipped.
//
// Names are written so that they are recognized when the file is read again.
//
// # Edge lists
//
// The graph is undirected. A pair may be listed once, as "u v" or "v u", or in both directions with the same
// weight: that is one edge. A pair that is listed again in the same direction is a duplicate: the weights are
// summed and the duplicate is counted. If both directions occur and their sums differ, A_uv and A_vu keep the
// given weights and [Table].Symmetric is false. Self-loops are kept and counted.
//
// A first line of three words of which the last names a weight, as in "source target weight", is skipped with a
// warning. Other headers must begin with '#' or '%'. Lines of three fields below a first line of two are refused
// if their first fields count 1, 2, 3, …, as R numbers rows.
//
// A weight of 0 stores no entry but names its nodes. It is used to write an isolated node, as "u u 0", and an
// edge in one direction only, as "v u 0" after "u v w". A line "u u 0" is never a duplicate.
//
// If every id is an integer of at most 18 digits, in plain decimal without a plus sign or leading zeros, the
// nodes are in increasing order of their ids. Otherwise they are in order of first appearance. A table
// without names is written with the ids 1, 2, …, n.
//
// # Guarantees
//
// Numbers in text are correctly rounded. Writing a table and reading it again gives the same bits, except
// that a NaN may become a different NaN, and that items of an edge list whose ids are all integers come back
// in increasing order.
//
// Nothing is allocated because of a header alone. Memory grows with the bytes that have arrived, so a file
// that lies about its size fails cheaply, and it stays under [Options].MaxBytes. While reading:
//
//   - a sparse entry takes at most 28 bytes (16 as it arrives and 12 stored), besides 8 for each row;
//   - an edge takes 48 bytes for its two entries, or 16 without weights;
//   - a dense entry takes 8 bytes if an uncompressed .npy in C order gives the length, otherwise up to 24
//     while an array grows;
//   - an .npz file is also in memory itself.
//
// The error for a malformed file matches [ErrFormat]. It names the line or the byte and, where there is one,
// the repair.
//
// Text is parsed by [Options].Threads goroutines, in blocks of 128 KiB, two for each goroutine and one more.
// The table does not depend on their number, nor does the error, which is always the first in the file. As
// many goroutines make the text that is written. Further goroutines read and hash a file and decompress text.
// None outlives the call.
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
	// ErrFormat is matched by every error that means the file is malformed: it is truncated or not what its
	// name says, an index is out of range, or a count does not match.
	ErrFormat = errors.New("matio: malformed input")
	// ErrTooLarge is matched if Options.MaxBytes would be exceeded.
	ErrTooLarge = errors.New("matio: input needs more memory than allowed")
	// ErrUnknownFormat is matched if neither the file name nor Options.Format gives a format of the list.
	ErrUnknownFormat = errors.New("matio: unknown format")
	// ErrUnfit is matched if a format cannot hold the table to be written.
	ErrUnfit = errors.New("matio: the format cannot hold this table")
)

// Table is the content of a file. Whether it is a similarity or a table of points is decided by the caller.
type Table struct {
	Dense  *matrix.Dense // exactly one of Dense and Sparse is set
	Sparse *matrix.CSR   // Val is nil if every stored entry is 1; zeros stored in the file are kept

	RowIDs, ColIDs []string // names from the file, nil if it has none; an edge list sets both to the same names

	Symmetric  bool     // the file declares symmetry (mtx symmetric, edge list); the full mirrored matrix is stored
	Eps        float64  // unit roundoff of the stored values: 2⁻⁵³ for float64, integers and text, 2⁻²⁴ float32, 2⁻¹¹ float16
	Duplicates int64    // number of repeated entries in the file, which were summed
	SelfLoops  int64    // edge lists: number of nodes with an edge to themselves, which is kept
	Warnings   []string // oddities of the file that were accepted, a sentence each
	Format     string   // name of the format in the list, e.g. "mtx"
	SHA256     string   // hex digest of the bytes of the file as stored, before decompression
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

// row returns row i in full. Of a dense matrix it is the row itself; of a sparse one it is written to buf,
// which has one element for each column.
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
	Format   string // name of the format in the list; "" = by the extension before any .gz or .zst
	MaxBytes int64  // most bytes in memory while reading, more is ErrTooLarge; 0 = no limit
	Held     int64  // bytes of MaxBytes that the caller already uses for other things
	Threads  int    // goroutines that parse, or make text, at once; 1 = only the caller's; 0 = one for each processor
}

// FormatInfo describes one format.
type FormatInfo struct {
	Name        string
	Extensions  []string // with the dot
	Description string   // one line
	Names       bool     // the format can hold names of rows and columns
	ZeroBytes   int      // least bytes for each zero, uncompressed; 0 if the zeros of a sparse table are not written
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

// Formats describes the formats that can be read and written, in the order of the help texts.
func Formats() []FormatInfo {
	infos := make([]FormatInfo, len(formats))
	for i, f := range formats {
		infos[i] = f.FormatInfo
		infos[i].Extensions = slices.Clone(f.Extensions)
	}
	return infos
}

// FormatFor describes the format that Open and Create use for the named file: the wanted one or, if that is
// "", the format of the extension.
func FormatFor(name, wanted string) (FormatInfo, error) {
	f, err := formatFor(name, wanted)
	if err != nil {
		return FormatInfo{}, err
	}
	info := f.FormatInfo
	info.Extensions = slices.Clone(info.Extensions)
	return info, nil
}

// splitName returns the extension of name that gives its format, in lower case, and the one that gives its
// compression: ".gz", ".zst" or "".
func splitName(name string) (ext, codec string) {
	ext = strings.ToLower(filepath.Ext(name))
	if ext == ".gz" || ext == ".zst" {
		return strings.ToLower(filepath.Ext(name[:len(name)-len(ext)])), ext
	}
	return ext, ""
}

// formatFor finds the format by the wanted name or, if that is "", by the extension of the file name.
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
		return nil, fmt.Errorf("%w: %s has no extension; choose one of %s", ErrUnknownFormat, name, list)
	case slices.Contains([]string{".bz2", ".xz", ".zip", ".7z", ".lz4"}, ext):
		return nil, fmt.Errorf("%w: %s: of compressed files only .gz and .zst are known, not %s", ErrUnknownFormat, name, ext)
	}
	for _, other := range []struct{ exts, hint string }{
		{".mat .h5 .h5ad .hdf5 .loom", "in Python, scipy.io.mmwrite writes a matrix as mtx, and numpy.save as npy"},
		{".xls .xlsx .ods .rds .rda .rdata .parquet .feather .json", "save the table as csv"},
		{".gml .graphml .gexf .net .dot .gv .el .edgelist .ncol .lgl .pajek .sif", "an edge list has a line \"u v\" or \"u v weight\" for each edge"},
		{".tab .dat .data .asc", "for a table, csv has commas between the fields and tsv tabs"},
	} {
		if slices.Contains(strings.Fields(other.exts), ext) {
			list += "; " + other.hint
		}
	}
	return nil, fmt.Errorf("%w: %s: the extension %s is unknown; choose one of %s", ErrUnknownFormat, name, ext, list)
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

// Read reads a table from r, up to its end. name is used in messages and, without opt.Format, for its
// extension. After an error, r is read no further than the call of its Read that is under way.
func Read(r io.Reader, name string, opt Options) (*Table, error) {
	return read(r, name, opt, blockSize)
}

// read is Read with a given size for the blocks of text.
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
