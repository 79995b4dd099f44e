package matio

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"symnmf/matrix"
)

// Edge lists, by the rules in the package comment.

// nodes numbers the ids of an edge list in order of first appearance.
type nodes struct {
	byNumber map[int64]int32
	byName   map[string]int32
	numbers  []int64  // of each node; 0 where the id is no integer
	names    []string // "" where it is
}

// number returns the number of the node with the id text, a new one at its first appearance.
func (ns *nodes) number(text []byte) int32 {
	next := int32(len(ns.numbers))
	if id, ok := parseID(text); ok {
		if i, ok := ns.byNumber[id]; ok {
			return i
		}
		ns.byNumber[id] = next
		ns.numbers, ns.names = append(ns.numbers, id), append(ns.names, "")
		return next
	}
	if i, ok := ns.byName[string(text)]; ok {
		return i
	}
	name := string(text)
	ns.byName[name] = next
	ns.numbers, ns.names = append(ns.numbers, 0), append(ns.names, name)
	return next
}

// parseID returns the integer that text spells in plain decimal, the one way strconv writes it, of at most 18 digits.
func parseID(text []byte) (id int64, ok bool) {
	digits, negative := bytes.CutPrefix(text, []byte("-"))
	if len(digits) == 0 || len(digits) > 18 || digits[0] == '0' && (len(digits) > 1 || negative) {
		return 0, false
	}
	for _, c := range digits {
		if c-'0' > 9 {
			return 0, false
		}
		id = 10*id + int64(c-'0')
	}
	if negative {
		id = -id
	}
	return id, true
}

// order returns the ids in the order of the matrix, and where each number of appearance goes (nil: it stays).
func (ns *nodes) order() (ids []string, place []int32) {
	if len(ns.byName) > 0 {
		for i, id := range ns.numbers {
			if ns.names[i] == "" {
				ns.names[i] = strconv.FormatInt(id, 10)
			}
		}
		return ns.names, nil
	}
	place = make([]int32, len(ns.numbers))
	ids = ns.names
	slices.Sort(ns.numbers)
	for i, id := range ns.numbers {
		place[ns.byNumber[id]] = int32(i)
		ids[i] = strconv.FormatInt(id, 10)
	}
	return ids, place
}

// edgeFields cuts a line into fields, separated by blanks with at most one comma among them; ok is false when a field is
// empty. A field that would begin with '#' or '%' is a comment, as is all behind it.
func edgeFields(line []byte, fields [][]byte) (_ [][]byte, ok bool) {
	fields = fields[:0]
	comma := false
	for p := 0; ; {
		for p < len(line) && isBlank(line[p]) {
			p++
		}
		if p == len(line) || line[p] == '#' || line[p] == '%' {
			return fields, !comma
		}
		if line[p] == ',' {
			if comma || len(fields) == 0 {
				return fields, false
			}
			comma = true
			p++
			continue
		}
		start := p
		for p < len(line) && line[p] != ',' && !isBlank(line[p]) {
			p++
		}
		fields, comma = append(fields, line[start:p]), false
	}
}

func readEdges(in *input) (*Table, error) {
	l, err := newLines(in, "an edge list (edges)")
	if err != nil {
		return nil, err
	}
	e := &entries{in: in, pattern: true}
	ns := &nodes{byNumber: map[int64]int32{}, byName: map[string]int32{}}
	var fields [][]byte
	var uses [2]int       // of the two nodes of the first edge, later on
	firstLine := int64(0) // of an edge
	for {
		line, err := l.next()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		var ok bool
		fields, ok = edgeFields(line, fields)
		switch {
		case !ok:
			return nil, l.errf("a field is empty: a line is \"u v\" or \"u v weight\"")
		case len(fields) == 0:
			continue
		case len(fields) == 1 || len(fields) > 3:
			return nil, l.errf("the line has %d fields: it must be \"u v\" or \"u v weight\", separated by blanks, tabs or commas", len(fields))
		}
		weight := 1.0
		if len(fields) == 3 {
			if weight, ok = parseFloat(fields[2]); !ok {
				hint := ""
				if e.n == 0 {
					hint = "; begin a header line with #"
				} else if fields[2][0] == '{' {
					hint = "; with networkx write the list by write_weighted_edgelist, or data=False"
				}
				return nil, l.errf("the weight: %s%s", notNumber(fields[2], weight), hint)
			}
			if e.pattern && weight != 1 {
				if err := e.weigh(); err != nil {
					return nil, err
				}
			}
		}
		before := len(ns.numbers)
		u := ns.number(fields[0])
		v := ns.number(fields[1])
		for k := before; k < len(ns.numbers); k++ {
			if name := ns.names[k]; name != "" {
				if why := checkName([]byte(name)); why != "" {
					return nil, l.errf("%s", why)
				}
			}
			in.held += int64(len(ns.names[k])) + 64 // the id as number and as text, and its place in the map
		}
		if firstLine == 0 {
			firstLine = l.n
		} else {
			for _, k := range []int32{u, v} {
				if k < 2 {
					uses[k]++
				}
			}
		}
		if len(ns.numbers) > math.MaxInt32-1 {
			return nil, l.errf("more than %d nodes", math.MaxInt32-1)
		}
		if err := e.add(u, v, weight); err != nil {
			return nil, err
		}
	}
	n := len(ns.numbers)
	if n == 0 {
		return nil, l.errf("the file holds no edge")
	}
	t := &Table{Eps: 0x1p-53}
	if len(ns.byName) == 2 && n > 2 && ns.names[0] != "" && ns.names[1] != "" && uses == [2]int{} {
		t.Warnings = append(t.Warnings, fmt.Sprintf("line %d, %s and %s, was read as an edge, the only one between ids that are no integers: begin it with # if it is a header",
			firstLine, strconv.Quote(ns.names[0]), strconv.Quote(ns.names[1])))
	}
	ids, place := ns.order()
	if place != nil {
		for _, b := range e.blocks {
			for p := range b.row {
				b.row[p], b.col[p] = place[b.row[p]], place[b.col[p]]
			}
		}
	}
	said, duplicates, err := e.assemble(n, n, l.errf)
	if err != nil {
		return nil, err
	}
	t.RowIDs, t.ColIDs, t.Duplicates = ids, ids, duplicates
	return t, t.undirected(in, said)
}

// pair is what was said about a node i and a node j ≥ 0 in the directions i → j and j → i.
type pair struct {
	j       int32
	there   float64
	back    float64
	isThere bool
	isBack  bool
}

// pairs calls f for every j, increasing, that row i of m or of its transpose tr holds.
func pairs(m, tr *matrix.CSR, i int, f func(pair)) {
	col, val := m.Row(i)
	colT, valT := tr.Row(i)
	at := func(val []float64, p int) float64 {
		if val == nil {
			return 1
		}
		return val[p]
	}
	for p, q := 0, 0; p < len(col) || q < len(colT); {
		var e pair
		e.isThere = q == len(colT) || p < len(col) && col[p] <= colT[q]
		e.isBack = p == len(col) || q < len(colT) && colT[q] <= col[p]
		if e.isThere {
			e.j, e.there = col[p], at(val, p)
			p++
		}
		if e.isBack {
			e.j, e.back = colT[q], at(valT, q)
			q++
		}
		f(e)
	}
}

// undirected stores the matrix of what was said about each pair.
func (t *Table) undirected(in *input, said *matrix.CSR) error {
	n, _ := said.Dims()
	if err := in.fits(48*said.NNZ()+32*int64(n), "the edges in both directions"); err != nil {
		return err
	}
	tr := said.Transpose()
	// value returns A_ij; 0 is not stored.
	value := func(e pair) float64 {
		if e.isThere {
			return e.there
		}
		return e.back
	}
	rowPtr := make([]int64, n+1)
	var conflicts int64
	first := ""
	for i := range n {
		rowPtr[i+1] = rowPtr[i]
		pairs(said, tr, i, func(e pair) {
			w := value(e)
			if w != 0 {
				rowPtr[i+1]++
			}
			if w != 0 && int(e.j) == i {
				t.SelfLoops++
			}
			if int(e.j) > i && e.isThere && e.isBack && e.there != e.back && !(math.IsNaN(e.there) && math.IsNaN(e.back)) {
				if conflicts == 0 {
					first = fmt.Sprintf("%s %s %v, %s %s %v", t.RowIDs[i], t.RowIDs[e.j], e.there, t.RowIDs[e.j], t.RowIDs[i], e.back)
				}
				conflicts++
			}
		})
	}
	col, val := make([]int32, rowPtr[n]), make([]float64, rowPtr[n])
	for i := range n {
		p := rowPtr[i]
		pairs(said, tr, i, func(e pair) {
			if w := value(e); w != 0 {
				col[p], val[p] = e.j, w
				p++
			}
		})
	}
	if t.Symmetric = conflicts == 0; !t.Symmetric {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%d pairs have different weights in the two directions, the first %s; the matrix is not symmetric", conflicts, first))
	}
	var err error
	t.Sparse, err = newCSR(n, n, rowPtr, col, val)
	return err
}

// writeEdges writes row by row the pairs up to the diagonal. Nodes must first appear in the order of the rows, or be
// integers in increasing order, to be read in the same order: a node that no edge names in time gets a line "u u 0".
func writeEdges(w *writer, t *Table) error {
	n, cols := t.Dims()
	if n != cols || n == 0 {
		return fmt.Errorf("%w: an edge list needs a square matrix with rows, not %d×%d", ErrUnfit, n, cols)
	}
	ids, numbered, err := edgeIDs(t)
	if err != nil {
		return err
	}
	m := t.Sparse
	if m == nil {
		if m, err = nonzeros(t.Dense); err != nil {
			return err
		}
	}
	tr := m.Transpose()
	weighted := m.Val != nil
	line := func(i, j int, v float64) {
		w.WriteString(ids[i])
		w.WriteByte(' ')
		w.WriteString(ids[j])
		if weighted || v != 1 {
			w.WriteByte(' ')
			w.float(v)
		}
		w.WriteByte('\n')
	}
	waiting := false // node i-1 has not been named yet; those before it have
	var edges []pair
	for i := range n {
		edges = edges[:0]
		isolated := true
		pairs(m, tr, i, func(e pair) {
			if e.there == 0 && e.back == 0 {
				return
			}
			isolated = false
			if int(e.j) <= i {
				edges = append(edges, e)
			}
		})
		if numbered {
			waiting = false
			if isolated {
				line(i, i, 0)
			}
		} else {
			if k := slices.IndexFunc(edges, func(e pair) bool { return int(e.j) == i-1 }); waiting && k >= 0 {
				edges[0], edges[k] = edges[k], edges[0] // comes first and so names i-1 and i in this order
			} else if waiting {
				line(i-1, i-1, 0)
			}
			waiting = len(edges) == 0
		}
		for _, e := range edges {
			// there is A_ij, back is A_ji.
			line(int(e.j), i, e.back)
			if e.there != e.back && !(math.IsNaN(e.there) && math.IsNaN(e.back)) {
				line(i, int(e.j), e.there)
			}
		}
	}
	if waiting {
		line(n-1, n-1, 0)
	}
	return nil
}

// edgeIDs returns the ids to write, and whether all are integers as the reader understands it.
func edgeIDs(t *Table) (ids []string, numbered bool, err error) {
	n, _ := t.Dims()
	ids = t.RowIDs
	if ids == nil {
		ids = t.ColIDs
	}
	if ids == nil {
		ids = make([]string, n)
		for i := range ids {
			ids[i] = strconv.Itoa(i + 1)
		}
		return ids, true, nil
	}
	if t.RowIDs != nil && t.ColIDs != nil && !slices.Equal(t.RowIDs, t.ColIDs) {
		return nil, false, fmt.Errorf("%w: an edge list needs the same names for rows and columns", ErrUnfit)
	}
	numbered = true
	seen := make(map[string]int, n)
	for i, id := range ids {
		if why := checkName([]byte(id)); why != "" {
			return nil, false, fmt.Errorf("%w: %s", ErrUnfit, why)
		}
		if fields, ok := edgeFields([]byte(id), nil); !ok || len(fields) != 1 || len(fields[0]) != len(id) {
			return nil, false, fmt.Errorf("%w: an edge list cannot hold the name %q, which has a blank, a comma or a leading # or %%", ErrUnfit, id)
		}
		if k, ok := seen[id]; ok {
			return nil, false, fmt.Errorf("%w: rows %d and %d have the same name %q, which would make them one node", ErrUnfit, k+1, i+1, id)
		}
		seen[id] = i
		_, ok := parseID([]byte(id))
		numbered = numbered && ok
	}
	return ids, numbered, nil
}

// nonzeros returns the entries of m that are not 0.
func nonzeros(m *matrix.Dense) (*matrix.CSR, error) {
	rows, cols := m.Dims()
	rowPtr := make([]int64, rows+1)
	var col []int32
	var val []float64
	for i := range rows {
		for j, v := range m.Row(i) {
			if v != 0 {
				col, val = append(col, int32(j)), append(val, v)
			}
		}
		rowPtr[i+1] = int64(len(col))
	}
	return newCSR(rows, cols, rowPtr, col, val)
}
