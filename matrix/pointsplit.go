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
	scratch := func() []int32 { return make([]int32, x.cols) }
	kernel.BlocksWith(x.rows, size, workers, scratch, func(place []int32, b, lo, hi int) { blocks[b] = x.transposeBlock(scale, lo, hi, place) })
	return blocks
}

// splitColumns returns, for each term, m with only the columns of that term.
func (m *CSR) splitColumns(workers int) (parts [pointTerms]*CSR) {
	for k := range parts {
		parts[k] = &CSR{rows: m.rows, cols: m.cols, RowPtr: make([]int64, m.rows+1)}
	}
	each := func(f func(i int)) {
		kernel.Blocks(m.rows, rowsSplit, workers, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				f(i)
			}
		})
	}
	each(func(i int) {
		var count [pointTerms]int64
		col, _ := m.Row(i)
		for _, c := range col {
			count[termOf(c)]++
		}
		for k, part := range parts {
			part.RowPtr[i+1] = count[k]
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
	each(func(i int) {
		var to [pointTerms]int64
		for k, part := range parts {
			to[k] = part.RowPtr[i]
		}
		col, val := m.Row(i)
		for p, c := range col {
			k := termOf(c)
			parts[k].Col[to[k]] = c
			if val != nil {
				parts[k].Val[to[k]] = val[p]
			}
			to[k]++
		}
	})
	return parts
}

// rowsSplit is the number of rows that splitColumns takes at a time.
const rowsSplit = 256

// transposeBlock returns rows lo to hi by features, times scale. place has a number for each feature, all
// zero before and after the call.
func (m *CSR) transposeBlock(scale float64, lo, hi int, place []int32) pointBlock {
	var b pointBlock
	col := m.Col[m.RowPtr[lo]:m.RowPtr[hi]]
	distinct := 0
	for _, c := range col {
		if place[c] == 0 {
			distinct++
		}
		place[c]++
	}
	b.feature = make([]int32, 0, distinct)
	if distinct > m.cols/16 {
		for term := range pointTerms {
			for first := term * featureBlock; first < m.cols; first += pointTerms * featureBlock {
				for c, rows := range place[first:min(first+featureBlock, m.cols)] {
					if rows != 0 {
						b.feature = append(b.feature, int32(first+c))
					}
				}
			}
		}
	} else {
		for _, c := range col {
			if place[c] > 0 { // negative once it is listed
				b.feature, place[c] = append(b.feature, c), -place[c]
			}
		}
		slices.SortFunc(b.feature, func(c, d int32) int { return cmp.Or(cmp.Compare(termOf(c), termOf(d)), cmp.Compare(c, d)) })
	}
	rows := make([]int32, distinct)
	for k, c := range b.feature {
		rows[k] = max(place[c], -place[c])
	}
	b.divide(rows)
	b.sortParts(rows)
	b.from = make([]int32, distinct+1)
	for k, c := range b.feature {
		place[c] = b.from[k]
		b.from[k+1] = b.from[k] + rows[k]
	}
	b.row, b.val = make([]int32, len(col)), make([]float64, len(col))
	for i := range hi - lo {
		idx, val := m.Row(lo + i)
		for p, c := range idx {
			to := place[c]
			b.row[to], b.val[to] = int32(i), scale*value(val, p)
			place[c]++
		}
	}
	for _, c := range b.feature {
		place[c] = 0
	}
	return b
}

// divide makes the parts of a Move while the features of a term are still in increasing order. Each term has
// the same number of parts, with about the same number of entries. rows is the number of rows in which each
// feature occurs.
func (b *pointBlock) divide(rows []int32) {
	k, f := 0, 0
	for term := range pointTerms {
		end := f
		for end < len(b.feature) && termOf(b.feature[end]) == term {
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
	b.part[k] = int32(len(b.feature))
}

// sortParts sorts the features of each part by the number of rows they occur in, fewest first. The loop over
// a feature's entries then usually ends where the one before it did, as processors predict.
func (b *pointBlock) sortParts(rows []int32) {
	if len(rows) == 0 {
		return
	}
	feature, count := slices.Clone(b.feature), slices.Clone(rows)
	next := make([]int32, slices.Max(rows)+2)
	for p, lo := range b.part[:len(b.part)-1] {
		hi := b.part[p+1]
		clear(next)
		for _, v := range count[lo:hi] {
			next[v+1]++
		}
		at := lo
		for v, n := range next {
			at += n
			next[v] = at
		}
		for k := lo; k < hi; k++ {
			to := &next[count[k]]
			b.feature[*to], rows[*to] = feature[k], count[k]
			*to++
		}
	}
}
