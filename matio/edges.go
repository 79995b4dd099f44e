package matio

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// This file reads and writes edge lists, by the rules in the package comment.

// edgeRun is a run of edges. A node that was not known when its line was parsed has the number -1-k, where k
// is the index of its id in unknown.
type edgeRun struct {
	triples
	unknown []edgeEnd
	first   int64     // line of the first edge
	header  string    // the titles in front of all edges, as a warning shows them
	zeros   bool      // whether any edge has weight 0
	bare    int64     // number of edges without a weight, and of names alone, "u u 0"
	twoOnly bool      // whether the first edge has two fields
	below   bool      // whether these come after a first edge that has; only when before is 1
	mixed   [2]string // a warning for each of the first edges, if tabs or commas separate some of its fields and blanks others
	ends    []edgeEnd // two for each edge that has a weight but no nodes yet
	ids     []int64   // ids of ends
	nodes   []int32   // nodes of ends
	fields  [][]byte
}

// edgeEnd is a node as a line names it.
type edgeEnd struct {
	id   []byte
	line int64
}

// edgesAtOnce is the number of edges whose nodes are looked up in one go. The lookups touch memory at random
// places, which is then fetched side by side.
const edgesAtOnce = 256

// parse sets r to the edges of l. before is the number of edges in front of them, or 2 if that is 2 or more, or
// unknown: what is said of the first lines is then left out. It looks up nodes while merge may add others.
func (ns *nodes) parse(l *lines, r *edgeRun, before int64) error {
	r.triples, r.unknown, r.zeros = triples{r.row[:0], r.col[:0], r.val[:0]}, r.unknown[:0], false
	r.bare, r.mixed = 0, [2]string{}
	for {
		err := r.take(l, before)
		r.join(ns)
		switch err {
		case nil:
		case io.EOF:
			return nil
		default:
			return err
		}
	}
}

// take reads up to edgesAtOnce edges of l, without looking for their nodes.
func (r *edgeRun) take(l *lines, before int64) error {
	r.ends = r.ends[:0]
	for len(r.ends) < 2*edgesAtOnce {
		line, err := l.next()
		if err != nil {
			return err
		}
		fields, ok := edgeFields(line, r.fields)
		r.fields = fields // for its memory
		at := before + int64(len(r.val))
		first, longer := at == 0, "" // for a line with one field more than a header above
		if len(fields) == 4 && first && r.header != "" || len(fields) == 3 && at == 1 && (before == 0 && r.twoOnly || before == 1 && r.below) {
			longer = rowNames
		}
		switch {
		case !ok:
			hint := ""
			if first && len(fields) == 0 {
				hint = rowNames
			}
			return l.errf("a field is empty: a line is \"u v\" or \"u v weight\"%s", hint)
		case len(fields) == 0:
			continue
		case len(fields) == 1 || len(fields) > 3:
			return l.errf("%s%s", notEdge(line, fields, first && longer == ""), longer)
		}
		weight := 1.0
		if len(fields) == 3 {
			if weight, ok = parseFloat(fields[2]); !ok {
				if first && r.header == "" && titles(fields) {
					r.header = fmt.Sprintf("line %d, %s", l.n, show(bytes.TrimSpace(line)))
					continue
				}
				return l.errf("%s%s", notWeight(line, fields, weight, first && longer == ""), longer)
			}
		}
		if len(fields) == 2 || weight == 0 && bytes.Equal(fields[0], fields[1]) {
			r.bare++
		}
		if field, found := semicolons(line); found {
			return l.errf("%s before a comma: are the fields separated by semicolons? They must be separated by blanks, tabs or commas, and decimals are written with a point",
				show(field))
		}
		if k := len(r.val); k < len(r.mixed) && blanksIn(line, fields) != "" && !(isNumber(fields[0]) && isNumber(fields[1])) {
			r.mixed[k] = fmt.Sprintf("line %d, %s, was read as an edge from %s to %s%s", l.n, show(bytes.TrimSpace(line)), show(fields[0]), show(fields[1]), blanksIn(line, fields))
		}
		if len(r.val) == 0 {
			r.first, r.twoOnly = l.n, len(fields) == 2
		}
		r.zeros = r.zeros || weight == 0
		r.ends = append(r.ends, edgeEnd{fields[0], l.n}, edgeEnd{fields[1], l.n})
		r.val = append(r.val, weight)
	}
	return nil
}

// join finds the nodes of the edges just taken.
func (r *edgeRun) join(ns *nodes) {
	const none = -1 // also for ids that are not integers: both kinds are looked up by text
	r.ids, r.nodes = r.ids[:0], r.nodes[:0]
	for _, end := range r.ends {
		id, ok := parseID(end.id)
		if !ok {
			id = none
		}
		r.ids = append(r.ids, id)
	}
	ns.RLock()
	defer ns.RUnlock()
	for _, id := range r.ids {
		i := int32(none)
		if uint64(id) < uint64(len(ns.low)) {
			i = ns.low[id] - 1
		}
		r.nodes = append(r.nodes, i)
	}
	for k, i := range r.nodes {
		if i >= 0 {
			continue
		}
		if i, ok := ns.find(r.ends[k].id); ok {
			r.nodes[k] = i
			continue
		}
		r.unknown = append(r.unknown, r.ends[k])
		r.nodes[k] = -int32(len(r.unknown))
	}
	for k := 0; k < len(r.nodes); k += 2 {
		r.row, r.col = append(r.row, r.nodes[k]), append(r.col, r.nodes[k+1])
	}
}

// dropNames removes the edges "u u 0", which only name a node, and returns their number.
func (r *edgeRun) dropNames() int64 {
	kept := 0
	for k, i := range r.row {
		if j, w := r.col[k], r.val[k]; i != j || w != 0 {
			r.row[kept], r.col[kept], r.val[kept] = i, j, w
			kept++
		}
	}
	dropped := len(r.row) - kept
	r.triples = r.before(kept)
	return int64(dropped)
}

// graph collects the edges.
type graph struct {
	entries
	nodes
	header  string // the titles in front of the edges, as a warning shows them
	line    int64  // line of the first edge
	again   bool   // whether a later edge has one of the two nodes of the first
	listed  int64  // number of edges so far
	bare    int64  // number of those without a weight, and of names alone
	twoOnly bool   // whether the first has two fields
	counts  bool   // whether the edges after the first begin with the ids 1, 2, 3, …
	mixed   string // the first warning in edgeRun.mixed of the first edges of all
}

// merge appends the edges of r.
func (g *graph) merge(l *lines, r *edgeRun, err error) error {
	if err != nil && g.listed < 2 { // parse again, this time as the beginning of the file
		r.header, r.below = g.header, g.twoOnly
		err = g.parse(l, r, g.listed)
		g.header = r.header
	}
	if len(r.unknown) > 0 {
		if wrong := g.name(l, r); wrong != nil {
			err = wrong
		}
	}
	g.look(r)
	if r.zeros {
		g.named += r.dropNames()
	}
	edges := r.triples
	if weighted := slices.IndexFunc(edges.val, func(w float64) bool { return w != 1 }); g.pattern && weighted >= 0 {
		if err := g.addAll(edges.before(weighted)); err != nil {
			return err
		}
		if err := g.weigh(); err != nil {
			return err
		}
		edges = edges.from(weighted)
	}
	return cmp.Or(g.addAll(edges), err)
}

// look takes note of what is strange about the edges of r, for strange.
func (g *graph) look(r *edgeRun) {
	edges := r.triples
	for k := range min(len(r.mixed), len(edges.row)) {
		if g.listed+int64(k) < int64(len(r.mixed)) {
			g.mixed = cmp.Or(g.mixed, r.mixed[k])
		}
	}
	if g.listed == 0 && len(edges.row) > 0 {
		g.line, g.twoOnly, g.counts, g.listed = r.first, r.twoOnly, true, 1
		edges = edges.from(1)
	}
	for k, i := range edges.row {
		g.again = g.again || min(i, edges.col[k]) < 2
		g.counts = g.counts && g.numbers[i] == g.listed+int64(k)
	}
	g.listed += int64(len(edges.row))
	g.bare += r.bare
}

// strange returns warnings of a list that may have been meant otherwise, or an error if it was.
func (g *graph) strange(l *lines) (warnings []string, err error) {
	if g.header != "" {
		warnings = append(warnings, g.header+", was skipped as a header")
	}
	if g.mixed != "" {
		warnings = append(warnings, g.mixed)
	}
	if g.names == nil {
		return warnings, nil
	}
	if number := g.coordinate(); number != "" {
		warnings = append(warnings, fmt.Sprintf("all ids are numbers, such as %s, as the coordinates of points are: a table of points is csv, with commas between its fields, or tsv, with tabs",
			number))
	}
	if len(g.numbers) <= 2 || g.names[0] == "" || g.names[1] == "" || g.again {
		return warnings, nil
	}
	titles := fmt.Sprintf("line %d, %s and %s", g.line, strconv.Quote(g.names[0]), strconv.Quote(g.names[1]))
	switch {
	case g.counts && g.listed > 2 && g.twoOnly && g.bare == 1:
		return nil, l.errAt(g.line, "two fields above lines of three, of which the first counts the lines: begin this line with # if it is a header%s", rowNames)
	case len(g.byName) == 2:
		warnings = append(warnings, titles+", was read as an edge, the only one between ids that are not integers: begin it with # if it is a header")
	case slices.Contains(edgeTitles, strings.ToLower(g.names[0]+" "+g.names[1])):
		warnings = append(warnings, titles+", was read as an edge, though no other line has these ids: begin it with # if it is a header")
	}
	return warnings, nil
}

// coordinate returns an id that is not a whole number, if all ids are numbers, and "" otherwise.
func (g *graph) coordinate() (number string) {
	for _, name := range g.names {
		if name == "" {
			continue // an integer
		}
		v, ok := parseFloat([]byte(name))
		if !ok {
			return ""
		}
		if number == "" && v != math.Trunc(v) && !math.IsNaN(v) {
			number = name
		}
	}
	return number
}

// name numbers the nodes of r that were unknown. If an edge holds a text that cannot name a node, name
// returns an error, and r ends before that edge.
func (g *graph) name(l *lines, r *edgeRun) error {
	g.Lock()
	defer g.Unlock()
	for k := range r.row {
		for _, end := range [2]*int32{&r.row[k], &r.col[k]} {
			if *end >= 0 {
				continue
			}
			node := r.unknown[-1-*end]
			before := len(g.numbers)
			var why string
			if *end, why = g.number(node.id); why != "" {
				r.triples = r.before(k)
				return l.errAt(node.line, "%s", why)
			}
			if len(g.numbers) > before {
				g.in.held += nodeBytes
				if g.names != nil {
					g.in.held += int64(len(g.names[before]))
				}
			}
		}
	}
	return nil
}

func readEdges(in *input) (*Table, error) {
	l, err := newLines(in, "an edge list (edges)")
	if err != nil {
		return nil, err
	}
	g := &graph{entries: entries{in: in, pattern: true}, nodes: newNodes()}
	if err := parseBlocks(l, func(l *lines, r *edgeRun) error { return g.parse(l, r, 2) }, g.merge); err != nil {
		return nil, err
	}
	n := len(g.numbers)
	if n == 0 {
		return nil, l.errAt(max(l.n, 1), "the file holds no edge")
	}
	t := &Table{Eps: 0x1p-53}
	if t.Warnings, err = g.strange(l); err != nil {
		return nil, err
	}
	ids, place := g.order()
	if place != nil {
		kernel.Blocks(len(g.parts), 1, in.workers(g.n), func(k, _, _ int) {
			part := g.parts[k]
			for p := range part.row {
				part.row[p], part.col[p] = place[part.row[p]], place[part.col[p]]
			}
		})
	}
	said, duplicates, err := g.assemble(n, n, l.errf)
	if err != nil {
		return nil, err
	}
	t.RowIDs, t.ColIDs, t.Duplicates = ids, ids, duplicates
	return t, t.undirected(in, said)
}

// pair holds the given weights between a node i and a node j, in the directions i → j (there) and j → i
// (back).
type pair struct {
	j       int32
	there   float64
	back    float64
	isThere bool
	isBack  bool
}

// pairs calls f for every j that row i of m or of its transpose tr holds, in increasing order.
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

// undirected stores the matrix of the graph in t. said holds the weights as given, in each direction.
func (t *Table) undirected(in *input, said *matrix.CSR) error {
	n, _ := said.Dims()
	perEdge := int64(48)
	if said.Val == nil {
		perEdge = 16
	}
	if err := in.fits(perEdge*said.NNZ()+32*int64(n), "the edges in both directions"); err != nil {
		return err
	}
	workers := in.workers(said.NNZ())
	tr := said.TransposeBy(workers)
	// value returns A_ij. An entry of 0 is not stored.
	value := func(e pair) float64 {
		if e.isThere {
			return e.there
		}
		return e.back
	}
	bounds := evenRows(said.RowPtr, workers)
	rowPtr := kernel.Room[int64](n + 1)
	found := make([]struct { // found in the rows of each worker
		loops, conflicts int64
		first            string
	}, workers)
	split(workers, func(w int) {
		seen := &found[w]
		for i := int(bounds[w]); i < int(bounds[w+1]); i++ {
			pairs(said, tr, i, func(e pair) {
				if value(e) != 0 {
					rowPtr[i+1]++
					if int(e.j) == i {
						seen.loops++
					}
				}
				if int(e.j) > i && e.isThere && e.isBack && e.there != e.back && !(math.IsNaN(e.there) && math.IsNaN(e.back)) {
					if seen.conflicts == 0 {
						seen.first = fmt.Sprintf("%s %s %v, %s %s %v", t.RowIDs[i], t.RowIDs[e.j], e.there, t.RowIDs[e.j], t.RowIDs[i], e.back)
					}
					seen.conflicts++
				}
			})
		}
	})
	for i := range n {
		rowPtr[i+1] += rowPtr[i]
	}
	var conflicts int64
	first := ""
	for _, seen := range found {
		t.SelfLoops += seen.loops
		if conflicts == 0 {
			first = seen.first
		}
		conflicts += seen.conflicts
	}
	col := kernel.Room[int32](int(rowPtr[n]))
	var val []float64
	if said.Val != nil {
		val = kernel.Numbers(int(rowPtr[n]))
	}
	split(workers, func(w int) {
		p := rowPtr[bounds[w]]
		for i := int(bounds[w]); i < int(bounds[w+1]); i++ {
			pairs(said, tr, i, func(e pair) {
				v := value(e)
				if v == 0 {
					return
				}
				if col[p] = e.j; val != nil {
					val[p] = v
				}
				p++
			})
		}
	})
	if t.Symmetric = conflicts == 0; !t.Symmetric {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%s different weights in the two directions, the first %s; the matrix is not symmetric", count(conflicts, "pair has", "pairs have"), first))
	}
	var err error
	t.Sparse, err = newCSR(n, n, rowPtr, col, val)
	return err
}

// writeEdges writes, row by row, the pairs up to the diagonal. To be read back in the same order, nodes must
// first appear in the order of the rows, or be integers in increasing order. So a node that no edge names in
// time gets a line "u u 0".
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
		m = t.Dense.CSR()
	}
	tr := m.TransposeBy(w.workers)
	weighted := m.Val != nil
	return w.parts(n, rowLengths(m), func() rowWriter {
		var edges []pair // edges of row i to nodes up to i
		take := func(i int) (isolated bool) {
			edges, isolated = edges[:0], true
			pairs(m, tr, i, func(e pair) {
				if e.there == 0 && e.back == 0 {
					return
				}
				isolated = false
				if int(e.j) <= i {
					edges = append(edges, e)
				}
			})
			return isolated
		}
		return func(w *writer, lo, hi int) {
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
			waiting := false // node i-1 has not been named yet, but those before it have
			if lo > 0 && !numbered {
				take(lo - 1)
				waiting = len(edges) == 0
			}
			for i := lo; i < hi; i++ {
				isolated := take(i)
				if numbered {
					if isolated {
						line(i, i, 0)
					}
				} else {
					if k := slices.IndexFunc(edges, func(e pair) bool { return int(e.j) == i-1 }); waiting && k >= 0 {
						edges[0], edges[k] = edges[k], edges[0] // written first, this edge names i-1 and i in this order
					} else if waiting {
						line(i-1, i-1, 0)
					}
					waiting = len(edges) == 0
				}
				for _, e := range edges {
					// e.there is A_ij, e.back is A_ji.
					line(int(e.j), i, e.back)
					if e.there != e.back && !(math.IsNaN(e.there) && math.IsNaN(e.back)) {
						line(i, int(e.j), e.there)
					}
				}
			}
			if hi == n && waiting {
				line(n-1, n-1, 0)
			}
		}
	})
}

// edgeIDs returns the ids to write, and whether the reader takes all of them as integers.
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
	written := make([]string, n)
	seen := make(map[string]int, n)
	for i, id := range ids {
		if why := checkName([]byte(id)); why != "" {
			return nil, false, fmt.Errorf("%w: %s", ErrUnfit, why)
		}
		if strings.Contains(id, "\n") {
			return nil, false, fmt.Errorf("%w: an edge list cannot hold the name %q, which has a line break", ErrUnfit, id)
		}
		if k, ok := seen[id]; ok {
			return nil, false, fmt.Errorf("%w: rows %d and %d have the same name %q, which would make them one node", ErrUnfit, k+1, i+1, id)
		}
		seen[id] = i
		_, ok := parseID([]byte(id))
		numbered = numbered && ok
		written[i] = quotedID(id)
	}
	return written, numbered, nil
}
