package matio

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"symnmf/matrix"
)

// This file reads and writes tables of text, by the rules in the package comment. It does not use
// encoding/csv, which would make a string of every number.

func readCSV(in *input) (*Table, error) {
	return readTable(in, ',', "a table separated by commas (csv)")
}
func readTSV(in *input) (*Table, error) {
	return readTable(in, '\t', "a table separated by tabs (tsv)")
}
func writeCSV(w *writer, t *Table) error { return writeTable(w, t, ',') }
func writeTSV(w *writer, t *Table) error { return writeTable(w, t, '\t') }

// tableReader collects the rows of numbers.
type tableReader struct {
	in         *input
	fields     int  // number of fields of every data row, including its name
	named      bool // the first field is a name
	anyName    bool // that name may look like a number
	anyQuote   bool // quotes do not tell a name from a number
	likeNumber bool // the first name looks like a number as people write it
	colIDs     []string
	rowIDs     []string
	vals       []float64
	warnings   []string
}

// rows is a run of rows of numbers, with their names if they have any.
type rows struct {
	rowReader
	names []string
	vals  []float64
}

func readTable(in *input, separator byte, is string) (*Table, error) {
	l, err := newLines(in, is)
	if err != nil {
		return nil, err
	}
	l.quoted = true
	r := &rowReader{lines: l, separator: separator}
	first, err := r.nextRow()
	if err == io.EOF {
		return nil, r.errAt(1, "the table is empty")
	} else if err != nil {
		return nil, err
	}
	if first, err = keepCells(in, first); err != nil { // the buffers are used again
		return nil, err
	}
	firstLine := r.line
	if c := first[0]; !c.quoted && len(c.text) < 6 && len(first) <= 2 && strings.HasPrefix(strings.ToLower(string(c.text)), "sep=") && (len(c.text) == 4 || bytes.IndexByte([]byte(",;|:"), c.text[4]) >= 0) {
		return nil, r.errAt(firstLine, "%s is for spreadsheets: remove this line", show(first[0].text))
	}
	second, err := r.nextRow()
	if err != nil && err != io.EOF {
		return nil, err
	}
	t := &tableReader{in: in}
	if err := t.header(r, first, second, firstLine); err != nil {
		return nil, err
	}
	top := first
	if t.colIDs != nil {
		top = second
	}
	t.likeNumber = t.named && len(top) > 0 && spelledAnew(string(top[0].text))
	head := &rows{rowReader: *r}
	if t.colIDs == nil {
		if err := t.parseRow(head, first, firstLine); err != nil {
			return nil, err
		}
	}
	if err != io.EOF {
		if err := t.parseRow(head, second, r.line); err != nil {
			return nil, err
		}
	}
	if err := t.add(head); err != nil {
		return nil, err
	}
	err = parseBlocks(l, func(l *lines, p *rows) error {
		p.lines, p.separator, p.names, p.vals = l, separator, p.names[:0], p.vals[:0]
		for {
			cells, err := p.nextRow()
			if err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			if err := t.parseRow(p, cells, p.line); err != nil {
				return err
			}
		}
	}, func(_ *lines, p *rows, err error) error { return cmp.Or(t.add(p), err) })
	if err != nil {
		return nil, err
	}
	cols := t.cols()
	if t.named && !t.anyName && !slices.ContainsFunc(t.rowIDs, func(id string) bool { return !spelledAnew(id) }) {
		t.warnings = append(t.warnings, fmt.Sprintf("the first column was taken as names, though all of them, such as %s, look like numbers: write numbers with a decimal point and without percent signs, currency signs and thousands separators; if these are names, begin a header with an empty field",
			show([]byte(t.rowIDs[0]))))
	}
	m := matrix.NewDense(len(t.vals)/cols, cols, slices.Clip(t.vals))
	return &Table{Dense: m, RowIDs: t.rowIDs, ColIDs: t.colIDs, Eps: 0x1p-53, Warnings: t.warnings}, nil
}

// keepCells returns a copy of cells, if there is memory for both.
func keepCells(in *input, cells []cell) ([]cell, error) {
	bytes := 0
	for _, c := range cells {
		bytes += len(c.text)
	}
	if err := in.under(2*(cellBytes*int64(len(cells))+int64(bytes)), fmt.Sprintf("the %d fields of the first line", len(cells))); err != nil {
		return nil, err
	}
	kept, text := slices.Clone(cells), make([]byte, 0, bytes)
	for i, c := range cells {
		text = append(text, c.text...)
		kept[i].text = text[len(text)-len(c.text):]
	}
	return kept, nil
}

// cols returns how many numbers a row has.
func (t *tableReader) cols() int {
	if t.named {
		return t.fields - 1
	}
	return t.fields
}

// add appends the complete rows of p.
func (t *tableReader) add(p *rows) error {
	cols := t.cols()
	for k := range len(p.vals) / cols {
		if t.named {
			t.in.held += int64(len(p.names[k])) + 16
			t.rowIDs = append(t.rowIDs, p.names[k])
			if err := t.in.fits(8*int64(cap(t.vals)), "the rows so far and their names"); err != nil {
				return err
			}
		}
		var err error
		if t.vals, err = grow(t.in, t.vals, cols, -1, 8, 1); err != nil {
			return err
		}
		t.vals = append(t.vals, p.vals[k*cols:(k+1)*cols]...)
	}
	return nil
}

// header decides from the first two rows where the names are. second is nil if there is only one row. line is
// the line of the first row; that of the second is r.line.
func (t *tableReader) header(r *rowReader, first, second []cell, line int64) error {
	t.anyQuote = allQuoted(second) // true if there is no second row
	if second == nil {
		t.anyQuote = allQuoted(first)
	}
	someName := slices.ContainsFunc(first[1:], t.isName)
	corner := len(first) > 1 && len(first[0].text) == 0
	if len(first) == 1 && len(second) == 2 && t.isName(first[0]) && !t.isName(second[0]) && !t.isName(second[1]) && !t.anyQuote {
		return r.errAt(line, "the row has one field, %s, but the next has two numbers: remove it if it is a title; if it names the second column, begin it with an empty field",
			show(first[0].text))
	}
	short := len(second) == len(first)+1 && (someName || t.isName(first[0]))
	alone := len(first) == 1 && len(second) == 1 && t.isName(first[0]) && !t.isName(second[0])
	if second == nil && (someName || corner) {
		return r.errAt(line, "the file has one row, and it is not all numbers: rows of numbers are missing")
	}
	if !someName && !corner && !short && !alone {
		t.withoutHeader(first, second)
		return nil
	}
	t.named = short || corner || len(second) > 1 && t.isName(second[0])
	t.anyName = short || corner || t.named && namesIndex(first[0].text)
	names := first
	if t.named && !short {
		names = first[1:]
	}
	if err := t.nameColumns(r, names, second, line); err != nil {
		return err
	}
	because := ""
	if k := slices.IndexFunc(names, t.isName); k >= 0 && !corner && !short {
		because = fmt.Sprintf(", because %s is not one: if the row is an item, put a number there", show(names[k].text))
	}
	t.warnOfNumbers(first, names, because)
	return nil
}

// isName reports whether a cell can only be a name in this table.
func (t *tableReader) isName(c cell) bool { return c.isName(t.anyQuote) }

// withoutHeader takes the first row as numbers, and warns if it may be a header.
func (t *tableReader) withoutHeader(first, second []cell) {
	t.fields, t.named = len(first), len(first) > 1 && t.isName(first[0])
	switch {
	case second == nil:
	case countsUp(first):
		t.warnings = append(t.warnings, fmt.Sprintf("the first row, %s, %s, %s, …, was taken as numbers like all other rows: put its fields in quotes if it is a header",
			first[0].text, first[1].text, first[2].text))
	case t.named && !first[0].quoted && (stepsUp(first[1:]) || namesIndex(first[0].text)):
		t.warnings = append(t.warnings, fmt.Sprintf("the first row, %s, %s, …, was taken as numbers like all other rows, after the name of an item: put its fields in quotes if it is a header",
			first[0].text, first[1].text))
	}
}

// nameColumns takes the names of the columns from the header in the given line, and checks that the second row is as
// long as they say.
func (t *tableReader) nameColumns(r *rowReader, names, second []cell, line int64) error {
	t.fields = len(names)
	if t.named {
		t.fields++
	}
	if len(second) != t.fields {
		hint := ""
		for _, c := range slices.Concat(names, second) {
			if !c.quoted {
				hint = cmp.Or(hint, otherSeparator(c.text, r.separator))
			}
		}
		return r.errAt(r.line, "the row has %s, but after the header in line %d it must have %d%s", count(int64(len(second)), "field", "fields"), line, t.fields, hint)
	}
	for j, c := range names {
		if why := checkName(c.text); why != "" {
			return r.errAt(line, "name %d of the header: %s", j+1, why)
		}
		t.colIDs = append(t.colIDs, string(c.text))
	}
	return nil
}

// warnOfNumbers warns of a number among the names of the header or, if there is none, above the names of the rows.
// because says why the row is a header all the same.
func (t *tableReader) warnOfNumbers(header, names []cell, because string) {
	number := func(c cell) bool { return !c.quoted && isNumber(c.text) }
	k := slices.IndexFunc(names, number)
	found := header[0]
	switch {
	case k >= 0:
		found = names[k]
	case len(names) == len(header) || !number(header[0]):
		return
	}
	t.warnings = append(t.warnings, fmt.Sprintf("the first row was taken as names, though %s in it is a number%s", show(found.text), because))
}

// countsUp reports whether the cells are 0, 1, 2, …, as pandas numbers columns, or grow by one from another number, as
// columns numbered from 1 or by years do, and too many for that to be chance.
func countsUp(row []cell) bool { return stepsUp(row) && (string(row[0].text) == "0" || len(row) > 5) }

// stepsUp reports whether the cells are whole numbers that grow by one, as years do, and too many for that to
// be chance.
func stepsUp(row []cell) bool {
	first, err := strconv.Atoi(string(row[0].text))
	for k, c := range row {
		if err != nil || string(c.text) != strconv.Itoa(first+k) {
			return false
		}
	}
	return len(row) > 2
}

// namesIndex reports whether a text is one that programs and people put above a column of names.
func namesIndex(text []byte) bool {
	switch string(bytes.ToLower(text)) {
	case "id", "ids", "index", "name", "names", "item", "items", "label":
		return true
	}
	return false
}

// parseRow appends a row of numbers to p.
func (t *tableReader) parseRow(p *rows, cells []cell, line int64) error {
	if len(cells) != t.fields {
		hint := ""
		if len(cells[len(cells)-1].text) == 0 {
			hint = "; it ends in a separator"
		}
		return p.errAt(line, "the row has %s, but those before have %d%s", count(int64(len(cells)), "field", "fields"), t.fields, hint)
	}
	start := 0
	if t.named {
		start = 1
		name := cells[0]
		if !t.anyName && isNumber(name.text) && (!name.quoted || t.anyQuote) {
			if t.likeNumber {
				return p.errAt(line, "the first column holds the number %s here, but text that is not a number above: write numbers with a decimal point and without percent and currency signs; put all fields of the column in quotes if they are names", show(name.text))
			}
			return p.errAt(line, "the first column holds the number %s here, but names above: put all names in quotes, or begin a header with an empty field",
				show(name.text))
		}
		if why := checkName(name.text); why != "" {
			return p.errAt(line, "column 1: %s", why)
		}
		if k := bytes.IndexAny(name.text, ";\t"); k >= 0 && !name.quoted && t.cols() == 1 && p.separator == ',' {
			what := map[byte]string{';': "semicolons", '\t': "tabs"}[name.text[k]]
			return p.errAt(line, "%s before the only comma: are the fields separated by %s? Commas are read as csv, tabs as tsv, and decimals are written with a point; put it in quotes if it is a name",
				show(name.text), what)
		}
		p.names = append(p.names, string(name.text))
	}
	for j, c := range cells[start:] {
		v, ok := parseFloat(c.text)
		if !ok {
			return t.badCell(p, j, c.text, v, line, len(cells))
		}
		p.vals = append(p.vals, v)
	}
	return nil
}

// badCell explains a cell that is not a number, in column j of the numbers.
func (t *tableReader) badCell(p *rows, j int, text []byte, v float64, line int64, fields int) error {
	where := fmt.Sprintf("column %d", j+1)
	if t.named {
		where = fmt.Sprintf("column %d", j+2)
	}
	if t.colIDs != nil {
		where += " (" + show([]byte(t.colIDs[j])) + ")"
	}
	switch {
	case len(text) == 0:
		return p.errAt(line, "%s is empty: every cell must hold a number; write 0 for none", where)
	case j == 0 && !t.named && (text[0] == '#' || text[0] == '%'):
		return p.errAt(line, "%s is not a number: remove the line if it is a comment", show(text))
	case fields == 1:
		for _, other := range []struct {
			separator byte
			name      string
		}{{';', "semicolons"}, {'\t', "tabs"}, {',', "commas"}} {
			if bytes.IndexByte(text, other.separator) >= 0 {
				return p.errAt(line, "%s is not a number: are the fields separated by %s? Commas are read as csv, tabs as tsv", show(text), other.name)
			}
		}
		if bytes.IndexByte(text, ' ') >= 0 {
			return p.errAt(line, "%s is not a number%s", show(text), blanksBetween)
		}
	}
	hint := otherSeparator(text, p.separator)
	if !t.named && j == 0 && fields > 1 && isMissing(text) {
		hint = "; put it in quotes if it is a name"
	}
	if hint == "" && !t.named && j == 0 && fields > 1 && t.colIDs != nil && v == 0 && !spelledAnew(string(text)) {
		hint = "; if the first column holds names, begin the header with an empty field"
	}
	if hint == "" && t.named && j == 0 && (fields == 2 || fields == 3) && !isMissing(text) {
		hint = "; if each line is an edge, its format is edges"
	}
	return p.errAt(line, "%s: %s%s", where, notNumber(text, v), hint)
}

func writeTable(w *writer, t *Table, separator byte) error {
	rows, cols := t.Dims()
	if rows == 0 || cols == 0 {
		return fmt.Errorf("%w: a %d×%d matrix has no cell to write as text", ErrUnfit, rows, cols)
	}
	for _, names := range [][]string{t.RowIDs, t.ColIDs} {
		for _, name := range names {
			if why := checkName([]byte(name)); why != "" {
				return fmt.Errorf("%w: %s", ErrUnfit, why)
			}
		}
	}
	if t.ColIDs != nil {
		for j, name := range t.ColIDs {
			if j > 0 || t.RowIDs != nil {
				w.WriteByte(separator)
			}
			w.name(name)
		}
		w.WriteByte('\n')
	}
	return w.parts(rows, func(int) int { return cols }, func() rowWriter {
		buf := make([]float64, cols)
		return func(w *writer, lo, hi int) {
			for i := lo; i < hi; i++ {
				if t.RowIDs != nil {
					w.name(t.RowIDs[i])
					w.WriteByte(separator)
				}
				for j, v := range t.row(i, buf) {
					if j > 0 {
						w.WriteByte(separator)
					}
					w.float(v)
				}
				w.WriteByte('\n')
			}
		}
	})
}

// name writes a name, in quotes unless it is plain and cannot be mistaken for a number.
func (w *writer) name(name string) {
	plain := name[0] != ' ' && name[len(name)-1] != ' '
	for _, c := range []byte(name) {
		plain = plain && (c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || bytes.IndexByte([]byte("_-.: ()/"), c) >= 0)
	}
	if plain && !isNumber([]byte(name)) && !isMissing([]byte(name)) {
		w.WriteString(name)
		return
	}
	w.WriteByte('"')
	for _, c := range []byte(name) {
		if c == '"' {
			w.WriteByte('"')
		}
		w.WriteByte(c)
	}
	w.WriteByte('"')
}
