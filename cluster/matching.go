package cluster

import "container/heap"

// bestMatching returns the largest Σ n_ab over matchings: sets of cells of which no two share a row or a column.
func (t *table) bestMatching() (best int64) {
	m := t.matching()
	for a, cells := range m.rows {
		for _, c := range cells {
			if m.colOf[a] == c.b {
				best += int64(c.count)
			}
		}
	}
	return best
}

// matching is a matching and its proof. Integers u (rows) and v (columns) keep
//
//	u_a + v_b ≥ n_ab for every cell, with equality on matched cells, u_a, v_b ≥ 0, and 0 if a or b is not matched,
//
// so that no matching has more than Σ u_a + Σ v_b, and this one has as much.
type matching struct {
	rows         [][]cell
	u, v         []int64
	rowOf, colOf []int  // what a column and a row are matched to
	paths        []path // the shortest known to each column, if it begins at the row that joins
	ahead        ways
	tree         []int // columns whose shortest path is known
}

const free = -1 // in place of a row or column: not matched

// path is one from row start to a column. Cells count u_a + v_b - n_ab ≥ 0, matched ones 0.
type path struct {
	start, before int // before is the last row
	length        int64
	done          bool // no shorter one exists
}

// way is the length of a path to a column.
type way struct {
	length int64
	col    int
}

// ways is a heap of paths found. Some are no longer the shortest to their column.
type ways []way

func (w ways) Len() int           { return len(w) }
func (w ways) Less(i, j int) bool { return w[i].length < w[j].length }
func (w ways) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *ways) Push(x any)        { *w = append(*w, x.(way)) }
func (w *ways) Pop() any {
	last := len(*w) - 1
	x := (*w)[last]
	*w = (*w)[:last]
	return x
}

// matching finds a best matching by the Hungarian method with shortest augmenting paths (Kuhn 1955; Edmonds and Karp
// 1972), on the table transposed if necessary so that it has k rows and l ≥ k columns. Rows join one at a time. Paths go
// over cells that are not 0, in the order of their lengths (Dijkstra 1959). For c cells that takes O(k·c·log c) time in
// the worst case, and O(c + l) memory.
func (t *table) matching() *matching {
	rows, l := t.rowsForMatching()
	m := &matching{
		rows: rows, u: make([]int64, len(rows)), v: make([]int64, l),
		rowOf: filled(l, free), colOf: filled(len(rows), free), paths: make([]path, l),
	}
	for b := range m.paths {
		m.paths[b].start = free
	}
	for a := range rows {
		m.join(a)
	}
	return m
}

// join matches row start along the shortest path that ends at a free column, or at a row a that goes free, which counts
// u_a. That row may be start itself.
func (m *matching) join(start int) {
	for _, c := range m.rows[start] {
		m.u[start] = max(m.u[start], int64(c.count)-m.v[c.b])
	}
	m.ahead, m.tree = m.ahead[:0], m.tree[:0]
	least, leaver, end := m.u[start], start, free // of the paths that end, and where that one does
	for a, length := start, int64(0); ; {
		for _, c := range m.rows[a] {
			to, p := length+m.u[a]+m.v[c.b]-int64(c.count), &m.paths[c.b]
			if to >= least || p.start == start && to >= p.length {
				continue
			}
			*p = path{start: start, before: a, length: to}
			if m.rowOf[c.b] == free {
				least, end = to, c.b
			} else {
				heap.Push(&m.ahead, way{to, c.b})
			}
		}
		for len(m.ahead) > 0 && m.paths[m.ahead[0].col].done {
			heap.Pop(&m.ahead)
		}
		if len(m.ahead) == 0 || m.ahead[0].length >= least {
			break
		}
		col := m.ahead[0].col
		a, length = m.rowOf[col], m.ahead[0].length
		m.paths[col].done = true
		m.tree = append(m.tree, col)
		if length+m.u[a] < least {
			least, leaver, end = length+m.u[a], a, free
		}
	}
	m.u[start] -= least
	for _, b := range m.tree {
		more := least - m.paths[b].length
		m.v[b] += more
		m.u[m.rowOf[b]] -= more
	}
	if end == free {
		end, m.colOf[leaver] = m.colOf[leaver], free
	}
	for end != free { // shift the matches along the path
		a := m.paths[end].before
		m.rowOf[end] = a
		m.colOf[a], end = end, m.colOf[a]
	}
}

// rowsForMatching returns the rows of the table and its number of columns. It transposes a table with more rows than
// columns.
func (t *table) rowsForMatching() (rows [][]cell, cols int) {
	turned := len(t.found) > len(t.truth)
	k, l := len(t.found), len(t.truth)
	if turned {
		k, l = l, k
	}
	rows = make([][]cell, k)
	for _, c := range t.cells {
		if turned {
			c.a, c.b = c.b, c.a
		}
		rows[c.a] = append(rows[c.a], c)
	}
	return rows, l
}

func filled(n, value int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = value
	}
	return s
}
