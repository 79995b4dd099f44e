package matio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"symnmf/matrix"
)

// This file reads and writes NumPy's .npy: a magic string, a header that is a Python dictionary, then the
// values. Source: NumPy Enhancement Proposal 1 and numpy/lib/format.py.

const (
	npyMagic     = "\x93NUMPY"
	maxNPYHeader = 1 << 16 // bytes; NumPy itself refuses more than 10000 unless told otherwise
)

// array is an .npy file, or a member of an archive, that is read from front to back.
type array struct {
	in      *input
	name    string // name of the file, with that of the member in an archive
	r       io.Reader
	offset  int64                // bytes read
	kind    byte                 // b, i, u, f, or S and U for text
	size    int                  // bytes per item
	decode  func([]byte) float64 // nil for text
	big     bool                 // big-endian
	fortran bool
	shape   []int64
	left    int64 // items not read yet
	most    int64 // for a member: upper bound on its bytes, whatever its header says
	buf     []byte
	chunk   []float64 // for next: items that were read together
	ahead   []float64 // those of chunk that next has not returned yet
}

func (a *array) errf(f string, args ...any) error {
	return &badFile{fmt.Sprintf("matio: %s: byte %d: %s", a.name, a.offset, fmt.Sprintf(f, args...))}
}

// full reads len(p) bytes. what names them in the message if the file ends before.
func (a *array) full(p []byte, what string) error {
	n, err := io.ReadFull(a.r, p)
	a.offset += int64(n)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return a.errf("the file ends in %s: it is truncated", what)
	case err != nil:
		return a.fail(err)
	}
	return nil
}

// fail returns an error of the input as it is, and adds the position to one of the zip reader.
func (a *array) fail(err error) error {
	if a.r == io.Reader(a.in) {
		return err
	}
	return a.errf("%v", err)
}

// newArray reads the header.
func newArray(in *input, name string, r io.Reader) (*array, error) {
	a := &array{in: in, name: name, r: r}
	var head [12]byte
	if err := a.full(head[:8], "the magic string"); err != nil {
		return nil, err
	}
	if string(head[:6]) != npyMagic {
		a.offset = 0
		if what := looksLike(head[:]); what != "" {
			return nil, a.errf("not a NumPy .npy file: the file looks like %s", what)
		}
		return nil, a.errf("not a NumPy .npy file: it begins with %s", show(head[:6]))
	}
	var length int64
	switch major := head[6]; major {
	case 1:
		if err := a.full(head[8:10], "the header"); err != nil {
			return nil, err
		}
		length = int64(binary.LittleEndian.Uint16(head[8:]))
	case 2, 3:
		if err := a.full(head[8:12], "the header"); err != nil {
			return nil, err
		}
		length = int64(binary.LittleEndian.Uint32(head[8:]))
	default:
		return nil, a.errf("NumPy format version %d.%d is not known", major, head[7])
	}
	if length > maxNPYHeader {
		return nil, a.errf("the header claims %d bytes, more than %d", length, maxNPYHeader)
	}
	text := make([]byte, length)
	if err := a.full(text, "the header"); err != nil {
		return nil, err
	}
	return a, a.parseHeader(string(text))
}

// parseHeader reads the dictionary {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }.
func (a *array) parseHeader(text string) error {
	malformed := func() error { return a.errf("malformed header %s", show([]byte(text))) }
	rest := strings.TrimSpace(text)
	next := func(token string) bool {
		rest = strings.TrimLeft(rest, " \t\n")
		if !strings.HasPrefix(rest, token) {
			return false
		}
		rest = rest[len(token):]
		return true
	}
	quoted := func() (string, bool) {
		quote := "'"
		if !next(quote) {
			if quote = `"`; !next(quote) {
				return "", false
			}
		}
		s, after, ok := strings.Cut(rest, quote)
		rest = after
		return s, ok
	}
	if !next("{") {
		return malformed()
	}
	seen := map[string]bool{}
	for !next("}") {
		key, ok := quoted()
		if !ok || seen[key] || !next(":") {
			return malformed()
		}
		seen[key] = true
		switch key {
		case "descr":
			if next("[") {
				return a.errf("the array has named fields: save one field as a plain array")
			}
			descr, ok := quoted()
			if !ok {
				return malformed()
			}
			if err := a.parseType(descr); err != nil {
				return err
			}
		case "fortran_order":
			if a.fortran = next("True"); !a.fortran && !next("False") {
				return malformed()
			}
		case "shape":
			if !next("(") {
				return malformed()
			}
			for !next(")") {
				rest = strings.TrimLeft(rest, " ")
				k := 0
				for k < len(rest) && rest[k]-'0' <= 9 {
					k++
				}
				size, ok := parseCount([]byte(rest[:k]))
				rest = rest[k:]
				next("L") // Python 2 wrote an L after the number
				if !ok || !next(",") && !strings.HasPrefix(rest, ")") {
					return malformed()
				}
				a.shape = append(a.shape, size)
			}
		default:
			return malformed()
		}
		if !next(",") && !strings.HasPrefix(strings.TrimLeft(rest, " \t\n"), "}") {
			return malformed()
		}
	}
	if len(seen) != 3 || strings.TrimSpace(rest) != "" {
		return malformed()
	}
	a.left = 1
	for _, size := range a.shape {
		a.left = mulAtMost(a.left, size)
	}
	return nil
}

// decoders holds the types of values that can be read, in little-endian order. The key is NumPy's code for
// the kind and the number of bytes.
var decoders = map[string]func(b []byte) float64{
	"b1": func(b []byte) float64 {
		if b[0] != 0 {
			return 1
		}
		return 0
	},
	"i1": func(b []byte) float64 { return float64(int8(b[0])) },
	"i2": func(b []byte) float64 { return float64(int16(binary.LittleEndian.Uint16(b))) },
	"i4": func(b []byte) float64 { return float64(int32(binary.LittleEndian.Uint32(b))) },
	"i8": func(b []byte) float64 { return float64(int64(binary.LittleEndian.Uint64(b))) },
	"u1": func(b []byte) float64 { return float64(b[0]) },
	"u2": func(b []byte) float64 { return float64(binary.LittleEndian.Uint16(b)) },
	"u4": func(b []byte) float64 { return float64(binary.LittleEndian.Uint32(b)) },
	"u8": func(b []byte) float64 { return float64(binary.LittleEndian.Uint64(b)) },
	"f2": func(b []byte) float64 { return fromHalf(binary.LittleEndian.Uint16(b)) },
	"f4": func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) },
	"f8": func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) },
}

// fromHalf returns the value of an IEEE binary16, which has a sign, 5 bits of exponent with bias 15, and 10
// bits of fraction.
func fromHalf(h uint16) float64 {
	exp, frac := int(h>>10&0x1f), float64(h&0x3ff)
	var v float64
	switch {
	case exp == 0x1f && frac != 0:
		return math.NaN()
	case exp == 0x1f:
		v = math.Inf(1)
	case exp == 0:
		v = math.Ldexp(frac, -24)
	default:
		v = math.Ldexp(1024+frac, exp-25)
	}
	if h>>15 != 0 {
		v = -v
	}
	return v
}

// parseType reads a type such as <f8: byte order, kind, and the number of bytes per item, or of characters for
// U.
func (a *array) parseType(descr string) error {
	if len(descr) < 2 || strings.IndexByte("<>|", descr[0]) < 0 {
		return a.errf("malformed type %q", descr)
	}
	a.kind = descr[1]
	size, ok := parseCount([]byte(descr[2:]))
	a.decode = decoders[descr[1:]]
	switch {
	case a.decode != nil:
	case a.kind == 'O':
		return a.errf("the array holds Python objects: save it as numbers, for instance with x.astype(float)")
	case a.kind == 'c':
		return a.errf("the array is complex (%q): only real matrices can be factored", descr)
	case !ok || size > 64 || a.kind != 'S' && a.kind != 'U': // in a SciPy archive a short text names the format
		return a.errf("type %q cannot be read: save the array as float64, for instance with x.astype(float)", descr)
	}
	a.big, a.size = descr[0] == '>', int(size)
	if a.kind == 'U' {
		a.size *= 4
	}
	return nil
}

// eps returns the unit roundoff of the type of the array. Integers are exact up to 2^53, and rounded to
// float64 beyond.
func (a *array) eps() float64 {
	switch {
	case a.kind == 'f' && a.size == 2:
		return 0x1p-11
	case a.kind == 'f' && a.size == 4:
		return 0x1p-24
	}
	return 0x1p-53
}

// raw returns the bytes of the next items in little-endian order, of at most n items, and of none if no item
// is left. They are valid until the next call.
func (a *array) raw(n int) ([]byte, error) {
	n = int(min(int64(n), a.left))
	a.buf = slices.Grow(a.buf[:0], n*a.size)[:n*a.size]
	if err := a.full(a.buf, fmt.Sprintf("the values, with %d to come", a.left)); err != nil {
		return nil, err
	}
	a.left -= int64(n)
	if a.big && a.kind != 'S' {
		width := a.size
		if a.kind == 'U' {
			width = 4
		}
		for p := 0; p < len(a.buf); p += width {
			slices.Reverse(a.buf[p : p+width])
		}
	}
	return a.buf, nil
}

// floats appends the next n items, or as many as are left, to dst.
func (a *array) floats(dst []float64, n int) ([]float64, error) {
	if a.decode == nil {
		return dst, a.errf("the array holds text, not numbers")
	}
	b, err := a.raw(n)
	if err != nil {
		return dst, err
	}
	if a.kind == 'f' && a.size == 8 { // the usual type
		for ; len(b) >= 8; b = b[8:] {
			dst = append(dst, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
		return dst, nil
	}
	for p := 0; p < len(b); p += a.size {
		dst = append(dst, a.decode(b[p:]))
	}
	return dst, nil
}

// indices appends the next n items, or as many as are left, to dst. They must be whole numbers in [0, size),
// where size is at most 2³¹.
func (a *array) indices(dst []int32, n int, size int64) ([]int32, error) {
	b, err := a.raw(n)
	if err != nil {
		return dst, err
	}
	if a.kind == 'i' && a.size == 4 { // the usual type
		for ; len(b) >= 4; b = b[4:] {
			k := int32(binary.LittleEndian.Uint32(b))
			if k < 0 || int64(k) >= size {
				_, err := a.indexOf(float64(k), size)
				return dst, err
			}
			dst = append(dst, k)
		}
		return dst, nil
	}
	for p := 0; p < len(b); p += a.size {
		k, err := a.indexOf(a.decode(b[p:]), size)
		if err != nil {
			return dst, err
		}
		dst = append(dst, int32(k))
	}
	return dst, nil
}

const arrayChunk = 1 << 13 // items read at once

// next returns the next item. The caller has checked that there is one.
func (a *array) next() (float64, error) {
	if len(a.ahead) == 0 {
		var err error
		if a.chunk, err = a.floats(a.chunk[:0], arrayChunk); err != nil {
			return 0, err
		}
		a.ahead = a.chunk
	}
	v := a.ahead[0]
	a.ahead = a.ahead[1:]
	return v, nil
}

// index returns the next item, which must be a whole number in [0, size).
func (a *array) index(size int64) (int64, error) {
	v, err := a.next()
	if err != nil {
		return 0, err
	}
	return a.indexOf(v, size)
}

func (a *array) indexOf(v float64, size int64) (int64, error) {
	if !(v >= 0 && v < float64(size)) {
		return 0, a.errf("index %.0f in this part of the array is not between 0 and %d", v, size-1)
	}
	return int64(v), nil
}

// all returns all items, and checks that nothing follows them.
func (a *array) all() ([]float64, error) {
	perElement := int64(math.MaxInt64) // what an archive says about the length of a member is not reliable
	if a.r == io.Reader(a.in) {
		perElement = int64(a.size)
	}
	vals, total := []float64{}, a.left
	for a.left > 0 {
		var err error
		if vals, err = grow(a.in, vals, int(min(a.left, arrayChunk)), total, 8, perElement); err != nil {
			return nil, err
		}
		if vals, err = a.floats(vals, arrayChunk); err != nil {
			return nil, err
		}
	}
	return vals, a.end()
}

// end checks that nothing follows the values. For a member of an archive this also verifies its checksum.
func (a *array) end() error {
	var b [1]byte
	switch n, err := io.ReadFull(a.r, b[:]); {
	case n > 0:
		return a.errf("bytes follow the last value: are there several arrays in the file?")
	case err != io.EOF:
		return a.fail(err)
	}
	return nil
}

// matrix reads the values of an array, which must have two dimensions.
func (a *array) matrix() (*matrix.Dense, error) {
	if len(a.shape) == 1 {
		return nil, a.errf("the array has one dimension, of %d: a matrix has two; save x.reshape(-1, 1) for one column", a.shape[0])
	}
	if len(a.shape) != 2 {
		return nil, a.errf("the array has %d dimensions, but a matrix has two", len(a.shape))
	}
	rows, cols := a.shape[0], a.shape[1]
	if rows > math.MaxInt32 || cols > math.MaxInt32 {
		return nil, a.errf("%d×%d is declared: at most %d rows and columns can be read", rows, cols, math.MaxInt32)
	}
	if why := hollow(rows, cols, a.left); why != "" {
		return nil, a.errf("%s", why)
	}
	if a.r == io.Reader(a.in) {
		memory := mulAtMost(a.left, 8)
		if a.fortran {
			memory = mulAtMost(a.left, 16)
		}
		what := fmt.Sprintf("the values of a %d×%d matrix", rows, cols)
		if err := a.in.declared(a.offset+min(mulAtMost(a.left, int64(a.size)), math.MaxInt64/2), memory, what, a.errf); err != nil {
			return nil, err
		}
	}
	vals, err := a.all()
	if err != nil {
		return nil, err
	}
	if a.fortran {
		return fromColumns(a.in, int(rows), int(cols), vals)
	}
	return matrix.NewDense(int(rows), int(cols), vals), nil
}

func readNPY(in *input) (*Table, error) {
	a, err := newArray(in, in.name, in)
	if err != nil {
		return nil, err
	}
	m, err := a.matrix()
	return &Table{Dense: m, Eps: a.eps()}, err
}

// npyHeader returns a header of format 1.0. Its length is a multiple of 64 bytes.
func npyHeader(descr, shape string) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	const before = len(npyMagic) + 4
	length := (before+len(text)+1+63)/64*64 - before
	b := append([]byte(npyMagic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(length))
	b = append(b, text...)
	return append(append(b, bytes.Repeat([]byte(" "), length-len(text)-1)...), '\n')
}

// writeFloats writes the values as <f8.
func (w *writer) writeFloats(vals []float64) {
	inChunks(w, vals, func(v float64) []byte { return binary.LittleEndian.AppendUint64(w.num[:0], math.Float64bits(v)) })
}

// inChunks writes the bytes of each element of list, until w fails.
func inChunks[T any](w *writer, list []T, bytes func(v T) []byte) {
	const chunk = 1 << 13
	for len(list) > 0 && w.failed() == nil {
		n := min(chunk, len(list))
		for _, v := range list[:n] {
			w.Write(bytes(v))
		}
		list = list[n:]
	}
}

func writeNPY(w *writer, t *Table) error {
	rows, cols := t.Dims()
	w.Write(npyHeader("<f8", fmt.Sprintf("(%d, %d)", rows, cols)))
	var buf []float64
	if t.Sparse != nil {
		buf = make([]float64, cols)
	}
	for i := range rows {
		w.writeFloats(t.row(i, buf))
		if err := w.failed(); err != nil {
			return err
		}
	}
	return nil
}

// WriteNPY writes m as a NumPy array of float64 in C order, format 1.0.
func WriteNPY(w io.Writer, m *matrix.Dense) error {
	return Write(w, &Table{Dense: m}, "npy")
}
