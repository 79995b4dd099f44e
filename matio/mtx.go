package matio

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"symnmf/matrix"
)

// This file reads and writes Matrix Market files: a banner, comments, a size line, then one entry a line.
// Source: R. F. Boisvert, R. Pozo, K. A. Remington, The Matrix Market Exchange Formats: Initial Design,
// NISTIR 5935, 1996.

const mtxIs = "a Matrix Market file (mtx)"

// mtxHeader is the content of the banner and the size line.
type mtxHeader struct {
	coordinate, pattern, integer, symmetric bool
	rows, cols, count                       int64 // count: number of entries or values that follow
}

// readMTXHeader reads the file up to and including the size line.
func readMTXHeader(l *lines) (h mtxHeader, err error) {
	banner, err := l.next()
	if err == io.EOF {
		return h, l.errAt(1, "the file is empty")
	} else if err != nil {
		return h, err
	}
	words := strings.Fields(strings.ToLower(string(banner)))
	if len(words) == 0 || words[0] != "%%matrixmarket" {
		return h, l.errf("the first line must begin with %%%%MatrixMarket, not %s", show(banner))
	}
	if len(words) != 5 || words[1] != "matrix" {
		return h, l.errf("the banner must read %%%%MatrixMarket matrix FORMAT FIELD SYMMETRY, not %s", show(banner))
	}
	switch words[2] {
	case "coordinate":
		h.coordinate = true
	case "array":
	default:
		return h, l.errf("format %q: it must be coordinate or array", words[2])
	}
	switch words[3] {
	case "real", "double":
	case "integer", "unsigned-integer": // the second is SciPy's
		h.integer = true
	case "pattern":
		h.pattern = true
		if !h.coordinate {
			return h, l.errf("an array cannot be a pattern: its values must be given")
		}
	case "complex":
		return h, l.errf("the matrix is complex: only real matrices can be factored")
	default:
		return h, l.errf("field %q: it must be real, integer or pattern", words[3])
	}
	switch words[4] {
	case "general":
	case "symmetric":
		h.symmetric = true
	case "skew-symmetric", "hermitian":
		return h, l.errf("the matrix is %s: only general and symmetric matrices can be read", words[4])
	default:
		return h, l.errf("symmetry %q: it must be general or symmetric", words[4])
	}

	line, err := nextMTX(l)
	if err == io.EOF {
		return h, l.errf("the size line is missing: the file is truncated")
	} else if err != nil {
		return h, err
	}
	wanted := []*int64{&h.rows, &h.cols}
	if h.coordinate {
		wanted = append(wanted, &h.count)
	}
	p := 0
	for _, size := range wanted {
		var text []byte
		text, p = field(line, p)
		var ok bool
		if *size, ok = parseCount(text); !ok {
			return h, l.errf("the size line must hold %d whole numbers, not %s", len(wanted), show(line))
		}
	}
	if rest, _ := field(line, p); len(rest) > 0 {
		return h, l.errf("the size line must hold %d whole numbers, not %s", len(wanted), show(line))
	}
	switch {
	case h.rows > math.MaxInt32 || h.cols > math.MaxInt32:
		return h, l.errf("%d×%d is declared: at most %d rows and columns can be read", h.rows, h.cols, math.MaxInt32)
	case h.symmetric && h.rows != h.cols:
		return h, l.errf("a symmetric matrix cannot be %d×%d", h.rows, h.cols)
	}
	if !h.coordinate {
		h.count = h.rows * h.cols
		if h.symmetric {
			h.count = h.rows * (h.rows + 1) / 2
		}
	}
	return h, nil
}

// nextMTX returns the next line that is neither blank nor a comment.
func nextMTX(l *lines) ([]byte, error) {
	for {
		line, err := l.next()
		if err != nil {
			return nil, err
		}
		if text, _ := field(line, 0); len(text) > 0 && text[0] != '%' {
			return line, nil
		}
	}
}

// parseCount returns the whole number that text spells, if it fits in 64 bits.
func parseCount(text []byte) (n int64, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' || n > (math.MaxInt64-9)/10 {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, len(text) > 0
}

func readMTX(in *input) (*Table, error) {
	l, err := newLines(in, mtxIs)
	if err != nil {
		return nil, err
	}
	h, err := readMTXHeader(l)
	if err != nil {
		return nil, err
	}
	t := &Table{Symmetric: h.symmetric, Eps: 0x1p-53}
	if h.coordinate {
		t.Sparse, t.Duplicates, err = readCoordinates(l, h)
	} else {
		t.Dense, err = readArray(l, h)
	}
	return t, err
}

// coordinates is a run of entries "row column [value]".
type coordinates struct {
	triples
	triangle     int   // triangle of the entries off the diagonal so far: -1 lower, 1 upper, 0 if there are none
	triangleLine int64 // the line that decided it
}

// parse appends the entries of l to c. It is an error if c then has more than most.
func (h *mtxHeader) parse(l *lines, c *coordinates, most int64) error {
	for {
		line, err := nextMTX(l)
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if int64(len(c.row)) == most {
			return l.errf("more than the %d entries that the size line declares", h.count)
		}
		i, p, ok := parseIndex(line, 0)
		j, p, ok2 := parseIndex(line, p)
		if !ok || !ok2 {
			return l.errf("an entry must begin with a row and a column number, not %s", show(line))
		}
		if i < 1 || i > h.rows || j < 1 || j > h.cols {
			return l.errf("entry (%d, %d) lies outside the %d×%d matrix, whose rows and columns count from 1", i, j, h.rows, h.cols)
		}
		v := 1.0
		if !h.pattern {
			var text []byte
			text, p = field(line, p)
			if v, ok = parseFloat(text); !ok {
				return l.errf("entry (%d, %d): %s", i, j, notNumber(text, v))
			}
			if h.integer && !isInteger(text) {
				return l.errf("entry (%d, %d): %s is not an integer; the banner must say real", i, j, show(text))
			}
		}
		if rest, _ := field(line, p); len(rest) > 0 {
			if h.pattern {
				return l.errf("entry (%d, %d) has the value %s, but the banner says pattern; it must say real", i, j, show(rest))
			}
			return l.errf("entry (%d, %d) is followed by %s", i, j, show(rest))
		}
		if h.symmetric && i != j {
			side := -1
			if i < j {
				side = 1
			}
			if c.triangle == 0 {
				c.triangle, c.triangleLine = side, l.n
			} else if side != c.triangle {
				return l.errf("entry (%d, %d) is not on the same side of the diagonal as the entry in line %d: a symmetric file gives one triangle; the banner must say general if both are given",
					i, j, c.triangleLine)
			}
		}
		c.row, c.col = append(c.row, int32(i-1)), append(c.col, int32(j-1))
		if !h.pattern {
			c.val = append(c.val, v)
		}
	}
}

// readCoordinates reads the entries.
func readCoordinates(l *lines, h mtxHeader) (*matrix.CSR, int64, error) {
	if why := hollow(h.rows, h.cols, h.count); why != "" {
		return nil, 0, l.errf("%s", why)
	}
	e := &entries{in: l.in, pattern: h.pattern, mirror: h.symmetric}
	shortest := int64(len("1 1 1\n"))
	if h.pattern {
		shortest = int64(len("1 1\n"))
	}
	what := fmt.Sprintf("%d entries of a %d×%d matrix", h.count, h.rows, h.cols)
	if err := l.in.declared(mulAtMost(h.count, shortest)-1, e.peak(h.rows, h.count), what, l.errf); err != nil {
		return nil, 0, err
	}
	triangle, triangleLine := 0, int64(0) // those of all blocks so far
	// begin empties c and sets the triangle of the entries before it.
	begin := func(c *coordinates, triangle int, line int64) {
		*c = coordinates{triples{c.row[:0], c.col[:0], c.val[:0]}, triangle, line}
	}
	err := parseBlocks(l, func(l *lines, c *coordinates) error {
		begin(c, 0, 0)
		return h.parse(l, c, h.count)
	}, func(l *lines, c *coordinates, err error) error {
		if err != nil || e.n+int64(len(c.row)) > h.count || triangle*c.triangle < 0 {
			begin(c, triangle, triangleLine)
			err = h.parse(l, c, h.count-e.n)
		}
		if triangle == 0 {
			triangle, triangleLine = c.triangle, c.triangleLine
		}
		return cmp.Or(e.addAll(c.triples), err)
	})
	if err != nil {
		return nil, 0, err
	}
	if e.n < h.count {
		return nil, 0, l.errf("the file ends after %d of %d entries: it is truncated", e.n, h.count)
	}
	return e.assemble(int(h.rows), int(h.cols), l.errf)
}

// parseIndex reads a row or column number from line at p. For a number that does not fit in 32 bits it
// returns some number that does not either.
func parseIndex(line []byte, p int) (i int64, end int, ok bool) {
	for p < len(line) && isBlank(line[p]) {
		p++
	}
	start := p
	for p < len(line) && line[p]-'0' <= 9 {
		i = min(10*i+int64(line[p]-'0'), 1<<40)
		p++
	}
	return i, p, p > start && (p == len(line) || isBlank(line[p]))
}

// isInteger reports whether a number that parseFloat accepts is written as an integer.
func isInteger(text []byte) bool {
	return !slices.ContainsFunc(text, func(c byte) bool { return c-'0' > 9 && c != '-' && c != '+' })
}

// parseValues sets vals to the values of l. before is the number of values in front of them.
func (h *mtxHeader) parseValues(l *lines, vals *[]float64, before int64) error {
	*vals = (*vals)[:0]
	for {
		line, err := nextMTX(l)
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		for p := 0; ; before++ {
			var text []byte
			if text, p = field(line, p); len(text) == 0 {
				break
			}
			if before == h.count {
				return l.errf("more than the %d values of a %d×%d matrix", h.count, h.rows, h.cols)
			}
			v, ok := parseFloat(text)
			if !ok {
				return l.errf("value %d: %s", before+1, notNumber(text, v))
			}
			if h.integer && !isInteger(text) {
				return l.errf("value %d: %s is not an integer; the banner must say real", before+1, show(text))
			}
			*vals = append(*vals, v)
		}
	}
}

// readArray reads the values column by column. In a symmetric matrix each column begins at the diagonal.
func readArray(l *lines, h mtxHeader) (*matrix.Dense, error) {
	if why := hollow(h.rows, h.cols, h.count); why != "" {
		return nil, l.errf("%s", why)
	}
	need := mulAtMost(h.count, 16)
	if err := l.in.declared(mulAtMost(h.count, 2)-1, need, fmt.Sprintf("the values of a %d×%d matrix", h.rows, h.cols), l.errf); err != nil {
		return nil, err
	}
	var vals []float64
	err := parseBlocks(l, func(l *lines, p *[]float64) error { return h.parseValues(l, p, 0) },
		func(l *lines, p *[]float64, err error) error {
			before := int64(len(vals))
			if err != nil || before+int64(len(*p)) > h.count {
				err = h.parseValues(l, p, before)
			}
			for _, v := range *p {
				var tooLarge error
				if vals, tooLarge = grow(l.in, vals, 1, h.count, 8, 2); tooLarge != nil {
					return tooLarge
				}
				vals = append(vals, v)
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	if int64(len(vals)) < h.count {
		return nil, l.errf("the file ends after %d of %d values: it is truncated", len(vals), h.count)
	}
	if h.symmetric {
		if err := l.in.fits(mulAtMost(h.rows*h.cols, 12), "the values and the full matrix"); err != nil {
			return nil, err
		}
		return fromLowerColumns(int(h.rows), vals), nil
	}
	return fromColumns(l.in, int(h.rows), int(h.cols), vals)
}

// fromColumns returns the rows×cols matrix whose columns follow one another in vals.
func fromColumns(in *input, rows, cols int, vals []float64) (*matrix.Dense, error) {
	byCol := matrix.NewDense(cols, rows, slices.Clip(vals))
	if rows == 1 || cols == 1 {
		return matrix.NewDense(rows, cols, byCol.Data()), nil
	}
	if err := in.fits(16*int64(len(vals)), "the matrix and its transpose"); err != nil {
		return nil, err
	}
	return byCol.Transpose(), nil
}

// fromLowerColumns returns the symmetric n×n matrix whose columns, from the diagonal down, follow one another
// in vals.
func fromLowerColumns(n int, vals []float64) *matrix.Dense {
	m := matrix.NewDense(n, n, nil)
	for j := range n {
		for i := j; i < n; i++ {
			m.Set(i, j, vals[0])
			m.Set(j, i, vals[0])
			vals = vals[1:]
		}
	}
	return m
}

func writeMTX(w *writer, t *Table) error {
	if t.Symmetric && !isSymmetric(t, w.workers) {
		return fmt.Errorf("%w: the table is marked as symmetric but is not", ErrUnfit)
	}
	rows, cols := t.Dims()
	symmetry := "general"
	if t.Symmetric {
		symmetry = "symmetric"
	}
	if t.Dense != nil {
		fmt.Fprintf(w, "%%%%MatrixMarket matrix array real %s\n%d %d\n", symmetry, rows, cols)
		return w.parts(cols, func(int) int { return rows }, func() rowWriter {
			return func(w *writer, lo, hi int) {
				for j := lo; j < hi; j++ {
					first := 0
					if t.Symmetric {
						first = j
					}
					for i := first; i < rows; i++ {
						w.float(t.Dense.At(i, j))
						w.WriteByte('\n')
					}
				}
			}
		})
	}
	field, count := "pattern", t.Sparse.NNZ()
	if t.Sparse.Val != nil {
		field = "real"
	}
	if t.Symmetric {
		count = 0
		for i := range rows {
			count += int64(lower(t.Sparse, i))
		}
	}
	fmt.Fprintf(w, "%%%%MatrixMarket matrix coordinate %s %s\n%d %d %d\n", field, symmetry, rows, cols, count)
	return w.parts(rows, rowLengths(t.Sparse), func() rowWriter {
		return func(w *writer, lo, hi int) {
			for i := lo; i < hi; i++ {
				col, val := t.Sparse.Row(i)
				if t.Symmetric {
					col = col[:lower(t.Sparse, i)]
				}
				for p, j := range col {
					w.int(int64(i) + 1)
					w.WriteByte(' ')
					w.int(int64(j) + 1)
					if val != nil {
						w.WriteByte(' ')
						w.float(val[p])
					}
					w.WriteByte('\n')
				}
			}
		}
	})
}

// lower returns the number of entries of row i up to the diagonal.
func lower(m *matrix.CSR, i int) int {
	col, _ := m.Row(i)
	p, found := slices.BinarySearch(col, int32(i))
	if found {
		p++
	}
	return p
}

// isSymmetric reports whether the matrix equals its transpose, where all NaN count as equal. The pattern of a
// sparse matrix must be symmetric too.
func isSymmetric(t *Table, workers int) bool {
	rows, cols := t.Dims()
	if rows != cols {
		return false
	}
	same := func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y } // 0 and -0 differ
	if t.Sparse != nil {
		u := t.Sparse.TransposeBy(workers)
		return slices.Equal(u.RowPtr, t.Sparse.RowPtr) && slices.Equal(u.Col, t.Sparse.Col) && slices.EqualFunc(u.Val, t.Sparse.Val, same)
	}
	for i := range rows {
		for j := range i {
			if !same(t.Dense.At(i, j), t.Dense.At(j, i)) {
				return false
			}
		}
	}
	return true
}
