package matio

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// This file cuts the lines of csv and tsv into cells, and tells names from numbers.

// cell is one field of a row. text is without the quotes that were around it.
type cell struct {
	text   []byte
	quoted bool
}

const (
	cellBytes = 32      // bytes that a cell takes
	longRow   = 1 << 16 // bytes beyond which the fields of a row are counted beforehand
)

// isName reports whether a cell can only be a name. A text that stands for a missing number is not a name
// unless it is in quotes.
func (c cell) isName(ignoreQuotes bool) bool {
	if len(c.text) == 0 {
		return false
	}
	return c.quoted && !ignoreQuotes || !isNumber(c.text) && (c.quoted || !isMissing(c.text))
}

// isNumber reports whether a text is spelled as a number, even one that is too large for float64.
func isNumber(text []byte) bool {
	v, ok := parseFloat(text)
	return ok || v != 0
}

// spelledAnew reports whether a text that is not a number is one in a form that people write: with a decimal
// comma, commas between thousands, a percent sign or a currency sign.
func spelledAnew(text string) bool {
	if isNumber([]byte(text)) {
		return false
	}
	text = strings.TrimSpace(strings.TrimSuffix(strings.Trim(text, "$€£¥ "), "%"))
	return isNumber([]byte(strings.ReplaceAll(text, ",", "")))
}

// isMissing reports whether a text is one that programs write for an unknown number.
func isMissing(text []byte) bool {
	switch string(bytes.ToLower(text)) {
	case "na", "n/a", "#n/a", "<na>", "null", "none", "-", "?", ".":
		return true
	}
	return false
}

func allQuoted(cells []cell) bool {
	return !slices.ContainsFunc(cells, func(c cell) bool { return !c.quoted })
}

// rowReader reads the rows of a table.
type rowReader struct {
	*lines
	separator byte
	line      int64  // first line of the last row
	cells     []cell // cells of the last row
	joined    []byte // the text of a row of several lines
}

// nextRow returns the cells of the next line that is not empty, and of further lines if a quoted field goes
// on there. The cells are valid until the following call. At the end it returns io.EOF.
func (r *rowReader) nextRow() ([]cell, error) {
	var row []byte
	for len(row) == 0 {
		var err error
		if row, err = r.next(); err != nil {
			return nil, err
		}
	}
	r.line = r.n
	for quotes := bytes.Count(row, []byte{'"'}); quotes%2 == 1; { // a quoted field is open
		if r.n == r.line {
			r.joined = append(r.joined[:0], row...)
		}
		more, err := r.next()
		if err == io.EOF {
			return nil, r.errAt(r.line, "a quoted field that begins here never ends")
		} else if err != nil {
			return nil, err
		}
		if err := r.in.under(2*int64(len(r.joined)+len(more)), "a quoted field"); err != nil {
			return nil, err
		}
		r.joined = append(append(r.joined, '\n'), more...)
		row = r.joined
		quotes += bytes.Count(more, []byte{'"'})
	}
	return r.cells, r.split(row)
}

// split cuts a row into cells. It drops blanks around a field but keeps those in quotes, and removes the
// escapes of a quoted field in place.
func (r *rowReader) split(row []byte) error {
	r.cells = r.cells[:0]
	if len(row) > longRow && bytes.IndexByte(row, '"') < 0 { // quotes may enclose separators
		if fields := bytes.Count(row, []byte{r.separator}) + 1; fields > cap(r.cells) {
			if err := r.in.under(cellBytes*int64(fields)+int64(len(row)), fmt.Sprintf("line %d and its %d fields", r.line, fields)); err != nil {
				return err
			}
			r.cells = make([]cell, 0, fields)
		}
	}
	blank := func(p int) bool { return row[p] != r.separator && isBlank(row[p]) }
	for p := 0; ; p++ { // p is at a separator when a cell ends
		for p < len(row) && blank(p) {
			p++
		}
		if p < len(row) && row[p] == '"' {
			p++
			text := row[p:p]
			for ; p < len(row); p++ {
				if row[p] == '"' {
					p++
					if p == len(row) || row[p] != '"' {
						break
					}
				}
				text = append(text, row[p])
			}
			if err := r.add(cell{text, true}); err != nil {
				return err
			}
			for p < len(row) && blank(p) {
				p++
			}
			if p < len(row) && row[p] != r.separator {
				hint := cmp.Or(otherSeparator(row[p:p+1], r.separator), ": double each quote that belongs to the text")
				if row[p-1] == ' ' {
					hint = blanksBetween
				}
				return r.errAt(r.line, "field %d goes on after its closing quote%s", len(r.cells), hint)
			}
		} else {
			end := bytes.IndexByte(row[p:], r.separator)
			if end < 0 {
				end = len(row) - p
			}
			text := row[p : p+end]
			p += end
			for len(text) > 0 && isBlank(text[len(text)-1]) {
				text = text[:len(text)-1]
			}
			if bytes.IndexByte(text, '"') >= 0 {
				return r.errAt(r.line, "field %d has a quote inside: put the field in quotes and double the quote", len(r.cells)+1)
			}
			if err := r.add(cell{text, false}); err != nil {
				return err
			}
		}
		if p >= len(row) {
			return nil
		}
	}
}

// add appends a cell. When the cells have to be moved, it checks that there is memory for twice as many.
func (r *rowReader) add(c cell) error {
	if n := len(r.cells); n == cap(r.cells) {
		if err := r.in.under(3*cellBytes*int64(n), fmt.Sprintf("line %d and its first %d fields", r.line, n)); err != nil {
			return err
		}
		r.cells = slices.Grow(r.cells, max(n, 16))
	}
	r.cells = append(r.cells, c)
	return nil
}

// otherSeparator returns a hint for a text in which semicolons seem to separate fields, or tabs in place of
// commas. It returns "" for other texts.
func otherSeparator(text []byte, separator byte) string {
	what := ""
	switch {
	case bytes.IndexByte(text, ';') >= 0:
		what = "semicolons"
	case separator != '\t' && bytes.IndexByte(text, '\t') >= 0:
		what = "tabs"
	default:
		return ""
	}
	return ": are the fields separated by " + what + "? Commas are read as csv, tabs as tsv, and decimals are written with a point"
}

// blanksBetween is a hint for fields that blanks seem to separate.
const blanksBetween = ": are the fields separated by blanks? Put commas in their place for csv, or tabs for tsv"
