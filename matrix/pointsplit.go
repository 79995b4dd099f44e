package matrix

import (
	"cmp"
	"slices"

	"symnmf/internal/kernel"
)

// pointBlock is X_B by features, scale included. Its rows are counted from the first row of the block.
type pointBlock struct {
	feature []int32 // features that occur, those of each term together, in the order of the parts
	from    []int32 // where the entries of each feature begin, and where the last end
	row     []int32
	val     []float64
	part    [pointTerms*moveParts + 1]int32 // where the parts of a Move begin in feature
}

// splitBlocks returns X_B by features for each block of size rows of x.
func splitBlocks(x *CSR, scale float64, size, workers int) []pointBlock {
	blocks := make([]pointBlock, kernel.BlockCount(x.rows, size))
	scratch := func() *splitRoom { return &splitRoom{place: make([]int32, x.cols)} }
	kernel.BlocksWith(x.rows, size, workers, scratch, func(s *splitRoom, b, lo, hi int) { blocks[b] = x.transposeBlock(scale, lo, hi, s) })
	return blocks
}

// splitColumns returns, for each of the two terms, m with only the columns of that term.
func (m *CSR) splitColumns(workers int) (parts [2]*CSR) {
	for k := range parts {
		parts[k] = &CSR{rows: m.rows, cols: m.cols, RowPtr: make([]int64, m.rows+1)}
	}
	first, second := parts[0], parts[1]
	kernel.Blocks(m.rows, rowsSplit, workers, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			col, count := m.Col[m.RowPtr[i]:m.RowPtr[i+1]], 0
			for _, c := range col {
				count += termOf(c)
			}
			first.RowPtr[i+1], second.RowPtr[i+1] = int64(len(col)-count), int64(count)
		}
	})
	for _, part := range parts {
		for i := range m.rows {
			part.RowPtr[i+1] += part.RowPtr[i]
		}
		part.Col = make([]int32, part.RowPtr[m.rows])
		if m.Val != nil {
			part.Val = make([]float64, len(part.Col))
		}
	}
	kernel.Blocks(m.rows, rowsSplit, workers, func(_, lo, hi int) {
		col := m.Col[m.RowPtr[lo]:m.RowPtr[hi]]
		from, to := first.RowPtr[lo], first.RowPtr[hi]
		from2, to2 := second.RowPtr[lo], second.RowPtr[hi]
		deal(first.Col[from:to], second.Col[from2:to2], col, col)
		if m.Val != nil {
			deal(first.Val[from:to], second.Val[from2:to2], m.Val[m.RowPtr[lo]:m.RowPtr[hi]], col)
		}
	})
	return parts
}

// rowsSplit is the number of rows that splitColumns takes at a time.
const rowsSplit = 256

// deal copies each x[p] to first or to second, in order, as the term of feature col[p] says. It writes every number
// to both and goes on in one of them, since no processor could predict a branch.
func deal[T int32 | float64](first, second, x []T, col []int32) {
	var p, a, b int
	for a < len(first) && b < len(second) {
		v, term := x[p], termOf(col[p])
		first[a], second[b] = v, v
		a += 1 - term
		b += term
		p++
	}
	copy(first[a:], x[p:]) // the other one is full
	copy(second[b:], x[p:])
}

// splitRoom is scratch for transposeBlock.
type splitRoom struct {
	place         []int32 // a number for each feature, all zero between calls
	feature, rows []int32 // features that occur, and in how many rows each does
	next          []int32
}

// transposeBlock returns rows lo to hi by features, times scale.
func (m *CSR) transposeBlock(scale float64, lo, hi int, s *splitRoom) pointBlock {
	col, place := m.Col[m.RowPtr[lo]:m.RowPtr[hi]], s.place
	for _, c := range col {
		place[c]++
	}
	most := min(len(col), m.cols)
	s.feature, s.rows = slices.Grow(s.feature[:0], most+1)[:most+1], slices.Grow(s.rows[:0], most+1)[:most+1]
	feature, rows, distinct := s.feature, s.rows, 0
	if len(col) > m.cols/16 {
		for term := range pointTerms {
			for first := term * featureBlock; first < m.cols; first += pointTerms * featureBlock {
				for c, n := range place[first:min(first+featureBlock, m.cols)] {
					feature[distinct], rows[distinct] = int32(first+c), n
					if n != 0 {
						distinct++
					}
				}
			}
		}
	} else {
		for _, c := range col {
			if n := place[c]; n > 0 { // negative once it is listed
				feature[distinct], place[c] = c, -n
				distinct++
			}
		}
		slices.SortFunc(feature[:distinct], func(c, d int32) int { return cmp.Or(cmp.Compare(termOf(c), termOf(d)), cmp.Compare(c, d)) })
		for k, c := range feature[:distinct] {
			rows[k] = -place[c]
		}
	}
	feature, rows = feature[:distinct], rows[:distinct]
	b := pointBlock{
		feature: make([]int32, distinct), from: make([]int32, distinct+1),
		row: make([]int32, len(col)), val: make([]float64, len(col)),
	}
	b.divide(feature, rows)
	s.next = b.sortParts(feature, rows, s.next)
	for k, c := range b.feature {
		place[c] = b.from[k]
	}
	for i := range hi - lo {
		idx, val := m.Row(lo + i)
		for p, c := range idx {
			to := place[c]
			b.row[to], b.val[to] = int32(i), scale*value(val, p)
			place[c] = to + 1
		}
	}
	for _, c := range feature {
		place[c] = 0
	}
	return b
}

// divide makes the parts of a Move while the features of a term are still in increasing order. Each term has
// the same number of parts, with about the same number of entries. rows is the number of rows in which each
// feature occurs.
func (b *pointBlock) divide(feature, rows []int32) {
	k, f := 0, 0
	for term := range pointTerms {
		end := f
		for end < len(feature) && termOf(feature[end]) == term {
			end++
		}
		entries, before := int64(0), int64(0)
		for _, v := range rows[f:end] {
			entries += int64(v)
		}
		for p := range int64(moveParts) {
			for f < end && before*moveParts < p*entries {
				before += int64(rows[f])
				f++
			}
			b.part[k] = int32(f)
			k++
		}
		f = end
	}
	b.part[k] = int32(len(feature))
}

// sortParts sets b.feature to the features, and b.from to where their entries begin. The features of each part are
// sorted by the number of rows they occur in, fewest first. The loop over a feature's entries then usually ends where
// the one before it did, as processors predict. next is scratch, and is returned, perhaps longer.
func (b *pointBlock) sortParts(feature, rows, next []int32) []int32 {
	at, entry := int32(0), int32(0) // where the next feature goes, and its first entry
	for p, lo := range b.part[:len(b.part)-1] {
		feature, rows := feature[lo:b.part[p+1]], rows[lo:b.part[p+1]]
		if len(rows) == 0 {
			continue
		}
		longest := int(slices.Max(rows))
		next = slices.Grow(next[:0], longest+1)[:longest+1]
		clear(next)
		for _, n := range rows {
			next[n]++
		}
		for n, count := range next {
			next[n] = at
			for range count {
				b.from[at] = entry
				entry += int32(n)
				at++
			}
		}
		for k, n := range rows {
			to := next[n]
			b.feature[to] = feature[k]
			next[n] = to + 1
		}
	}
	b.from[at] = entry
	return next
}
