package matio

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// lines reads a text file, or a block of one, line by line. It does not copy a line that lies in the buffer.
type lines struct {
	in     *input
	quoted bool // quotes may enclose line ends
	buf    []byte
	r, w   int   // buf[r:w] has been read but not yet returned
	n      int64 // number of the line returned last, from 1
	err    error // the error that ended reading
}

// newLines reads the first bytes of a file. It drops a UTF-8 byte-order mark, and refuses UTF-16 and known
// binary files. is names the expected kind of file.
func newLines(in *input, is string) (*lines, error) {
	const enough = 16 // bytes
	l := &lines{in: in, buf: make([]byte, max(in.blockSize, enough)), n: 1}
	for l.w < enough && l.err == nil {
		l.fill()
	}
	head := l.buf[:l.w]
	switch what := looksLike(head); {
	case bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) ||
		len(head) > 1 && (head[0] == 0) != (head[1] == 0):
		return nil, l.errf("the text is UTF-16: save it as UTF-8")
	case what != "" && is != what:
		return nil, l.errf("not %s: the file looks like %s", is, what)
	case bytes.HasPrefix(head, []byte(bom)):
		l.r = len(bom)
	}
	l.n = 0
	return l, nil
}

const bom = "\ufeff"

// errf returns an error about the line returned last.
func (l *lines) errf(f string, args ...any) error { return l.errAt(l.n, f, args...) }

func (l *lines) errAt(line int64, f string, args ...any) error {
	return &badFile{fmt.Sprintf("matio: %s:%d: %s", l.in.name, line, fmt.Sprintf(f, args...))}
}

// fill reads more bytes into the buffer, after making room.
func (l *lines) fill() {
	if l.r > 0 {
		l.w = copy(l.buf, l.buf[l.r:l.w])
		l.r = 0
	}
	if l.w == len(l.buf) {
		longer := 2 * len(l.buf)
		if l.err = l.in.under(int64(longer), fmt.Sprintf("line %d and its buffer", l.n+1)); l.err != nil {
			return
		}
		l.buf = append(make([]byte, 0, longer), l.buf...)[:longer]
	}
	var n int
	n, l.err = l.in.Read(l.buf[l.w:])
	l.w += n
}

// next returns the next line without its end (LF or CRLF), or io.EOF. The line is valid until the following
// call.
func (l *lines) next() ([]byte, error) {
	searched := l.r
	for {
		if k := bytes.IndexByte(l.buf[searched:l.w], '\n'); k >= 0 {
			line := l.buf[l.r : searched+k]
			l.r = searched + k + 1
			l.n++
			return trimCR(line), nil
		}
		if l.err != nil {
			break
		}
		searched = l.w - l.r // fill moves the beginning of the line to the beginning of the buffer
		l.fill()
	}
	if l.err == io.EOF && l.r < l.w {
		line := l.buf[l.r:l.w]
		l.r = l.w
		l.n++
		line = trimCR(line)
		if l.n == 1 && endsInCR(line) { // it is the whole file
			return nil, l.errf("lines end in CR alone, as on old Macs: save the file with LF, for instance by tr '\\r' '\\n'")
		}
		return line, nil
	}
	return nil, l.err
}

// endsInCR reports whether a CR ends a line in text: one that is not in quotes, and not at the end of text.
func endsInCR(text []byte) bool {
	k := bytes.IndexByte(bytes.TrimRight(text, " \t\r"), '\r')
	return k >= 0 && bytes.Count(text[:k], []byte{'"'})%2 == 0
}

func trimCR(line []byte) []byte {
	for len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	return line
}

// show quotes text of the file for a message, and shortens it.
func show(text []byte) string {
	const most = 40
	if len(text) > most {
		return strconv.Quote(string(text[:most])) + "…"
	}
	return strconv.Quote(string(text))
}

// count returns n with a noun: one if n is 1, else more.
func count(n int64, one, more string) string {
	if n == 1 {
		more = one
	}
	return strconv.FormatInt(n, 10) + " " + more
}

// checkName returns the reason why a text cannot name a row or a node, or "" if it can. Names must survive
// all text formats and JSON.
func checkName(name []byte) string {
	switch {
	case len(name) == 0:
		return "a name is empty"
	case !utf8.Valid(name):
		return "the name " + show(name) + " is not UTF-8: convert the file, for instance with iconv -f latin1 -t utf-8"
	case bytes.ContainsFunc(name, func(c rune) bool { return c < ' ' && c != '\t' && c != '\n' }):
		return "the name " + show(name) + " holds a control character"
	case bytes.Contains(name, []byte(bom)):
		return "the name " + show(name) + " holds a byte-order mark: were two files joined?"
	}
	return ""
}

// pow10 holds the powers of ten that are exact in float64.
var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// parseFloat returns the float64 nearest to the decimal number b, ties to even, or the special value that b
// spells as nan, inf or infinity, in upper or lower case, with or without a sign. If b is not such a number,
// ok is false, and v is infinite if b is a number too large for float64, else 0.
//
// A number m·10^e of at most 18 digits with m < 2^53 and |e| ≤ 22 takes one rounding: m and 10^|e| are exact,
// and an IEEE division or multiplication rounds once (Clinger 1990). Other numbers go to strconv.
func parseFloat(b []byte) (v float64, ok bool) {
	p, n := 0, len(b)
	negative := false
	if p < n && (b[p] == '-' || b[p] == '+') {
		negative = b[p] == '-'
		p++
	}
	var m uint64
	start := p
	for p < n && b[p]-'0' <= 9 {
		m = 10*m + uint64(b[p]-'0')
		p++
	}
	digits, exp := p-start, 0
	if p < n && b[p] == '.' {
		p++
		start = p
		for p < n && b[p]-'0' <= 9 {
			m = 10*m + uint64(b[p]-'0')
			p++
		}
		digits += p - start
		exp = start - p
	}
	if digits == 0 || digits > 18 { // 18 digits cannot overflow m
		return parseFloatSlow(b)
	}
	if p < n && (b[p] == 'e' || b[p] == 'E') {
		p++
		sign := 1
		if p < n && (b[p] == '-' || b[p] == '+') {
			if b[p] == '-' {
				sign = -1
			}
			p++
		}
		start = p
		e := 0
		for p < n && b[p]-'0' <= 9 && p-start < 4 {
			e = 10*e + int(b[p]-'0')
			p++
		}
		if p == start {
			return parseFloatSlow(b)
		}
		exp += sign * e
	}
	if p < n || m >= 1<<53 || exp < -22 || exp > 22 {
		return parseFloatSlow(b)
	}
	v = float64(m)
	if exp < 0 {
		v /= pow10[-exp]
	} else if exp > 0 {
		v *= pow10[exp]
	}
	if negative {
		v = -v
	}
	return v, true
}

// parseFloatSlow is parseFloat for every spelling, by strconv.
func parseFloatSlow(b []byte) (v float64, ok bool) {
	if bytes.ContainsAny(b, "xX_") { // strconv would take hexadecimal
		return 0, false
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err == nil {
		return v, true
	}
	if len(b) == 4 && (b[0] == '-' || b[0] == '+') && strings.EqualFold(string(b[1:]), "nan") { // C prints -nan
		return math.NaN(), true
	}
	if math.IsInf(v, 0) { // strconv's range error
		return v, false
	}
	return 0, false
}

// notNumber describes what is wrong with a text for which parseFloat returned v and false.
func notNumber(text []byte, v float64) string {
	switch {
	case math.IsInf(v, 0):
		return show(text) + " is too large for float64"
	case len(text) == 0:
		return "a number is missing"
	}
	return show(text) + " is not a number"
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// field returns the next run of nonblank bytes in line, from p on, and the position where it ends. The run is
// empty at the end of the line.
func field(line []byte, p int) (text []byte, end int) {
	for p < len(line) && isBlank(line[p]) {
		p++
	}
	start := p
	for p < len(line) && !isBlank(line[p]) {
		p++
	}
	return line[start:p], p
}
