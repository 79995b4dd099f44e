package matio

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// This file reads and writes NumPy's .npz, a zip archive of .npy files. SciPy's save_npz stores the arrays
// format, shape and data, and also indices and indptr for csr, csc and bsr, and row and col for coo. Source:
// scipy/sparse/_matrix_io.py.

// mostDeflate is an upper bound on the bytes that one byte of DEFLATE stands for, which are 258 for two bits,
// and a little more.
const mostDeflate = 1040

// archive is an .npz file.
type archive struct {
	in      *input
	size    int                  // bytes
	members map[string]*zip.File // by name without .npy
	opened  []io.Closer
}

func (z *archive) errf(f string, args ...any) error {
	return &badFile{fmt.Sprintf("matio: %s: %s", z.in.name, fmt.Sprintf(f, args...))}
}

// open opens a member. All members are closed together with the archive.
func (z *archive) open(name string) (*array, error) {
	f := z.members[name]
	if f == nil {
		return nil, z.errf("the archive has no array %s", name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, z.errf("array %s: %v", name, err)
	}
	z.opened = append(z.opened, r)
	a, err := newArray(z.in, z.in.name+"("+name+".npy)", r)
	if err != nil {
		return nil, err
	}
	a.most = int64(min(f.CompressedSize64, uint64(z.size)))
	if f.Method != zip.Store {
		a.most = mulAtMost(a.most, mostDeflate)
	}
	return a, nil
}

// openIndices opens a member with one dimension, of integers.
func (z *archive) openIndices(name string) (*array, error) {
	a, err := z.open(name)
	if err == nil {
		err = a.vector()
	}
	switch {
	case err != nil:
		return nil, err
	case a.kind != 'i' && a.kind != 'u':
		return nil, a.errf("the array must hold integers")
	}
	return a, nil
}

// vector returns an error if the array does not have one dimension.
func (a *array) vector() error {
	if len(a.shape) != 1 {
		return a.errf("the array has %d dimensions instead of one", len(a.shape))
	}
	return nil
}

// text reads a member that holds one word.
func (z *archive) text(name string) (string, error) {
	a, err := z.open(name)
	if err != nil {
		return "", err
	}
	if a.decode != nil || a.left != 1 {
		return "", a.errf("the array must hold one word")
	}
	b, err := a.raw(1)
	if err != nil {
		return "", err
	}
	return string(bytes.ReplaceAll(b, []byte{0}, nil)), a.end() // ASCII padded by zeros, or UTF-32
}

func readNPZ(in *input) (*Table, error) {
	var data []byte
	total := in.atMost
	if total >= 0 {
		total++ // room to reach the end of the file without growing
	}
	for {
		var err error
		if data, err = grow(in, data, 1, total, 1, 0); err != nil {
			return nil, err
		}
		n, err := in.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
	}
	in.held += int64(cap(data))
	z := &archive{in: in, size: len(data), members: map[string]*zip.File{}}
	defer func() {
		for _, c := range z.opened {
			c.Close()
		}
	}()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		if what := looksLike(data); what != "" && !strings.Contains(what, "npz") {
			return nil, z.errf("not a NumPy .npz archive: the file looks like %s", what)
		}
		return nil, z.errf("not a NumPy .npz archive, or truncated: %v", err)
	}
	r.RegisterDecompressor(zip.Deflate, flate.NewReader)
	var names []string
	for _, f := range r.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if z.members[name] != nil {
			return nil, z.errf("the archive holds %s.npy twice", name)
		}
		if ok {
			z.members[name] = f
			names = append(names, name)
		}
	}
	switch {
	case z.members["format"] != nil:
		return z.readSparse()
	case len(names) == 1:
		a, err := z.open(names[0])
		if err != nil {
			return nil, err
		}
		m, err := a.matrix()
		return &Table{Dense: m, Eps: a.eps()}, err
	case len(names) == 0:
		return nil, z.errf("the archive holds no array")
	}
	slices.Sort(names)
	return nil, z.errf("the archive holds %d arrays (%s) and is not from scipy.sparse.save_npz: save only the one to read",
		len(names), shorten(fmt.Sprintf("%q", names)))
}

// shorten shortens a text for a message.
func shorten(s string) string {
	const most = 200
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// readSparse reads the arrays of save_npz.
func (z *archive) readSparse() (*Table, error) {
	format, err := z.text("format")
	if err != nil {
		return nil, err
	}
	shape, err := z.openIndices("shape")
	if err != nil {
		return nil, err
	}
	if shape.left != 2 {
		return nil, shape.errf("the shape has %d numbers instead of two", shape.left)
	}
	dims, err := shape.all()
	if err != nil {
		return nil, err
	}
	for _, size := range dims {
		if size < 0 || size > math.MaxInt32 {
			return nil, shape.errf("%.0f×%.0f is declared: at most %d rows and columns can be read", dims[0], dims[1], math.MaxInt32)
		}
	}
	data, err := z.open("data")
	if err != nil {
		return nil, err
	}
	t := &Table{Eps: data.eps()}
	rows, cols := int64(dims[0]), int64(dims[1])
	if format == "csr" {
		t.Sparse, t.Duplicates, err = z.rows(rows, cols, data)
		return t, err
	}
	e := &entries{in: z.in}
	switch format {
	case "csc", "bsr":
		err = z.compressed(e, format, rows, cols, data)
	case "coo":
		err = z.coordinates(e, rows, cols, data)
	default:
		return nil, z.errf("SciPy's format %q cannot be read: save x.tocsr()", format)
	}
	if err != nil {
		return nil, err
	}
	t.Sparse, t.Duplicates, err = e.assemble(int(rows), int(cols), data.errf)
	return t, err
}

// rows reads the format csr directly into the arrays of the matrix, since a graph that fills the memory
// leaves no room for others.
func (z *archive) rows(rows, cols int64, data *array) (m *matrix.CSR, duplicates int64, err error) {
	if err := data.vector(); err != nil {
		return nil, 0, err
	}
	ptr, indices, err := z.pointers(rows, cols, rows, 1, data)
	if err != nil {
		return nil, 0, err
	}
	n := indices.left
	for _, a := range []*array{indices, data} {
		if need := mulAtMost(n, int64(a.size)); need > a.most {
			return nil, 0, a.errf("%d numbers are declared, which take %d bytes, but the archive cannot hold more than %d for them: it is truncated or its header is wrong", n, need, a.most)
		}
	}
	if why := hollow(rows, cols, n); why != "" {
		return nil, 0, data.errf("%s", why)
	}
	if n > math.MaxInt/16 {
		return nil, 0, fmt.Errorf("%w: %s: %d entries are more than this machine can address", ErrTooLarge, z.in.name, n)
	}
	need := 8*(rows+1) + 4*n
	what := fmt.Sprintf("%d entries of a %d×%d matrix", n, rows, cols)
	if err := z.in.fits(need, what); err != nil {
		return nil, 0, err
	}
	rowPtr := kernel.Room[int64](int(rows) + 1)
	for i, p := range ptr {
		rowPtr[i] = int64(p)
		if i > 0 && rowPtr[i]-rowPtr[i-1] > math.MaxUint32 {
			return nil, 0, tooLong(z.in, i, rowPtr[i]-rowPtr[i-1])
		}
	}
	col := kernel.Room[int32](int(n))[:0]
	for indices.left > 0 {
		if col, err = indices.indices(col, arrayChunk, cols); err != nil {
			return nil, 0, err
		}
	}
	var val []float64 // nil as long as all values are 1
	for read := int64(0); data.left > 0; read = n - data.left {
		if data.chunk, err = data.floats(data.chunk[:0], arrayChunk); err != nil {
			return nil, 0, err
		}
		if val == nil && slices.ContainsFunc(data.chunk, func(v float64) bool { return v != 1 }) {
			if err := z.in.fits(need+8*n, what); err != nil {
				return nil, 0, err
			}
			val = kernel.Numbers(int(n))[:read]
			for p := range val {
				val[p] = 1
			}
		}
		if val != nil {
			val = append(val, data.chunk...)
		}
	}
	if err := errors.Join(indices.end(), data.end()); err != nil {
		return nil, 0, err
	}
	longest := int64(0) // the longest of the rows that will be sorted
	for i := range int(rows) {
		if from, to := rowPtr[i], rowPtr[i+1]; to-from > max(longest, sortedInPlace) && !slices.IsSorted(col[from:to]) {
			longest = to - from
		}
	}
	if val != nil {
		need += 8 * n
	}
	if longest > 0 {
		if err := z.in.fits(need+16*longest*int64(z.in.workers(n)), what+" and room for the longest row, whose columns are not in order,"); err != nil {
			return nil, 0, err
		}
	}
	return inOrder(z.in, int(rows), int(cols), rowPtr, col, val, false)
}

// compressed reads the format csc, and the format bsr, whose entries are blocks of br×bc values.
func (z *archive) compressed(e *entries, format string, rows, cols int64, data *array) error {
	br, bc := int64(1), int64(1)
	dims := 1
	if format == "bsr" {
		dims = 3
	}
	if len(data.shape) != dims {
		return data.errf("the array has %d dimensions instead of %d", len(data.shape), dims)
	}
	if format == "bsr" {
		br, bc = data.shape[1], data.shape[2]
		if br == 0 || bc == 0 || br > max(rows, 1) || bc > max(cols, 1) || rows%br != 0 || cols%bc != 0 {
			return data.errf("blocks of %d×%d do not tile a %d×%d matrix", br, bc, rows, cols)
		}
	}
	majors, minors := rows/br, cols/bc
	if format == "csc" {
		majors, minors = cols, rows
	}
	ptr, indices, err := z.pointers(rows, cols, majors, br*bc, data)
	if err != nil {
		return err
	}
	for major := range majors {
		for range int64(ptr[major+1] - ptr[major]) {
			minor, err := indices.index(minors)
			if err != nil {
				return err
			}
			for q := range br * bc {
				v, err := data.next()
				if err != nil {
					return err
				}
				i, j := major*br+q/bc, minor*bc+q%bc
				if format == "csc" {
					i, j = j, i
				}
				if v == 0 && format == "bsr" {
					continue // padding
				}
				if err := e.add(int32(i), int32(j), v); err != nil {
					return err
				}
			}
		}
	}
	return errors.Join(indices.end(), data.end())
}

// pointers reads where each of the majors rows (or columns) begins among the indices, and opens the indices.
// values is the number of values of data for each index.
func (z *archive) pointers(rows, cols, majors, values int64, data *array) (ptr []float64, indices *array, err error) {
	pointers, err := z.openIndices("indptr")
	if err != nil {
		return nil, nil, err
	}
	if pointers.left != majors+1 {
		return nil, nil, pointers.errf("%d pointers for a %d×%d matrix, but %d are needed", pointers.left, rows, cols, majors+1)
	}
	if ptr, err = pointers.all(); err != nil {
		return nil, nil, err
	}
	z.in.held += 8 * int64(len(ptr))
	if indices, err = z.openIndices("indices"); err != nil {
		return nil, nil, err
	}
	if ptr[0] != 0 || ptr[majors] != float64(indices.left) || data.left != mulAtMost(indices.left, values) {
		return nil, nil, pointers.errf("pointers from %.0f to %.0f, %d indices and %d values do not agree", ptr[0], ptr[majors], indices.left, data.left)
	}
	if !slices.IsSorted(ptr) {
		return nil, nil, pointers.errf("the pointers do not increase")
	}
	return ptr, indices, nil
}

// coordinates reads the format coo.
func (z *archive) coordinates(e *entries, rows, cols int64, data *array) error {
	row, err := z.openIndices("row")
	if err != nil {
		return err
	}
	col, err := z.openIndices("col")
	if err != nil {
		return err
	}
	if len(data.shape) != 1 || row.left != data.left || col.left != data.left {
		return data.errf("%d rows, %d columns and %d values do not agree", row.left, col.left, data.left)
	}
	for range data.left {
		i, err := row.index(rows)
		if err != nil {
			return err
		}
		j, err := col.index(cols)
		if err != nil {
			return err
		}
		v, err := data.next()
		if err != nil {
			return err
		}
		if err := e.add(int32(i), int32(j), v); err != nil {
			return err
		}
	}
	return errors.Join(row.end(), col.end(), data.end())
}

func writeNPZ(w *writer, t *Table) error {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.DefaultCompression) })
	member := func(name, descr, shape string, body func(m *writer)) error {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Deflate})
		if err != nil {
			return err
		}
		m := &writer{Writer: bufio.NewWriterSize(f, writeBuffer)}
		m.Write(npyHeader(descr, shape))
		body(m)
		return m.Flush()
	}
	rows, cols := t.Dims()
	if t.Dense != nil {
		if err := member("arr_0", "<f8", fmt.Sprintf("(%d, %d)", rows, cols), func(m *writer) { m.writeFloats(t.Dense.Data()) }); err != nil {
			return err
		}
		return z.Close()
	}
	a := t.Sparse
	le := binary.LittleEndian
	length := fmt.Sprintf("(%d,)", a.NNZ())
	descr := "<i4" // like SciPy, which gives both arrays of indices the same type if possible
	if a.NNZ() > math.MaxInt32 {
		descr = "<i8"
	}
	for _, part := range []struct {
		name, descr, shape string
		body               func(m *writer)
	}{
		{"indices", "<i4", length, func(m *writer) {
			inChunks(m, a.Col, func(j int32) []byte { return le.AppendUint32(m.num[:0], uint32(j)) })
		}},
		{"indptr", descr, fmt.Sprintf("(%d,)", rows+1), func(m *writer) {
			inChunks(m, a.RowPtr, func(p int64) []byte {
				if descr == "<i4" {
					return le.AppendUint32(m.num[:0], uint32(p))
				}
				return le.AppendUint64(m.num[:0], uint64(p))
			})
		}},
		{"format", "|S3", "()", func(m *writer) { m.WriteString("csr") }},
		{"shape", "<i8", "(2,)", func(m *writer) {
			for _, size := range []int{rows, cols} {
				m.Write(le.AppendUint64(m.num[:0], uint64(size)))
			}
		}},
		{"data", "<f8", length, func(m *writer) {
			if a.Val != nil {
				m.writeFloats(a.Val)
				return
			}
			inChunks(m, a.Col, func(int32) []byte { return le.AppendUint64(m.num[:0], math.Float64bits(1)) })
		}},
	} {
		if err := member(part.name, part.descr, part.shape, part.body); err != nil {
			return err
		}
	}
	return z.Close()
}
