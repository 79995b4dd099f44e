package cluster

import "math"

// bestMatching returns the largest Σ n_ab over matchings: sets of cells of which no two share a row or a column.
//
// It is the Hungarian method by shortest augmenting paths (Kuhn 1955; Jonker and Volgenant 1987), on the table
// transposed if necessary so that it has k rows and l ≥ k columns. Rows join one at a time. Integers u (rows) and v
// (columns) keep
//
//	u_a + v_b ≤ -n_ab for every a and b, with equality on matched cells, and v_b ≤ 0, with v_b = 0 on free columns,
//
// which proves at the end that no matching of all rows costs less than -Σ n_ab. Rows are read from the sparse table, so
// memory is O(k + l + cells). Each of the k rows takes at most k steps of O(l).
func (t *table) bestMatching() int64 {
	rows, l := t.rowsForMatching()
	const free = -1
	var (
		u       = make([]int64, len(rows))
		v       = make([]int64, l)
		rowOf   = filled(l, free)  // the row matched to a column
		slack   = make([]int64, l) // the least -n_ab - u_a - v_b over the rows a in the tree
		parent  = make([]int, l)   // the column whose row has that least; free for the new row
		inTree  = make([]bool, l)  // columns reached
		onlyOne = make([]int64, l) // row a written out: n_ab, 0 elsewhere
	)
	for start := range rows {
		for b := range l {
			slack[b], inTree[b] = math.MaxInt64, false
		}
		a, last := start, free // the row just added to the tree, and the column it was reached by
		for {
			for _, c := range rows[a] {
				onlyOne[c.b] = int64(c.count)
			}
			next := free
			for b := range l {
				if inTree[b] {
					continue
				}
				if s := -onlyOne[b] - u[a] - v[b]; s < slack[b] {
					slack[b], parent[b] = s, last
				}
				if next == free || slack[b] < slack[next] {
					next = b
				}
			}
			for _, c := range rows[a] {
				onlyOne[c.b] = 0
			}
			delta := slack[next]
			u[start] += delta
			for b := range l {
				if inTree[b] {
					u[rowOf[b]] += delta
					v[b] -= delta
				} else {
					slack[b] -= delta
				}
			}
			inTree[next] = true
			last = next
			if rowOf[next] == free {
				break
			}
			a = rowOf[next]
		}
		for b := last; b != free; b = parent[b] { // shift the matches along the path
			if parent[b] == free {
				rowOf[b] = start
			} else {
				rowOf[b] = rowOf[parent[b]]
			}
		}
	}
	var best int64
	for a, cells := range rows {
		for _, c := range cells {
			if rowOf[c.b] == a {
				best += int64(c.count)
			}
		}
	}
	return best
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
