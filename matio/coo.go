package matio

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// entries collects triples (row, column, value) in the order of the file. They are kept in parts, so that
// growing copies nothing. An entry takes 16 bytes, or 8 if all values are 1.
type entries struct {
	in      *input
	pattern bool // no values are kept: each is 1
	mirror  bool // each entry off the diagonal also stands for its mirror image
	parts   []triples
	n       int64
	named   int64 // further entries that only named their row and column and are not kept
}

// triples are the rows, columns and values of entries, counted from 0.
type triples struct {
	row, col []int32
	val      []float64 // nil for a pattern
}

// before returns the first k triples, which must have values.
func (t triples) before(k int) triples { return triples{t.row[:k], t.col[:k], t.val[:k]} }

// from returns the triples from number k on, which must have values.
func (t triples) from(k int) triples { return triples{t.row[k:], t.col[k:], t.val[k:]} }

// Each part is twice as long as the previous one, up to shortPart. From then on a part is an eighth as long
// as all parts before it, up to longPart.
const (
	firstPart = 1 << 10
	shortPart = 1 << 16
	longPart  = 1 << 21
)

// add appends an entry. Its row and column count from 0, and the caller has checked their range.
func (e *entries) add(row, col int32, v float64) error {
	t, err := e.room()
	if err != nil {
		return err
	}
	t.row = append(t.row, row)
	t.col = append(t.col, col)
	if !e.pattern {
		t.val = append(t.val, v)
	}
	e.n++
	return nil
}

// addAll appends entries, as add does one.
func (e *entries) addAll(more triples) error {
	for p := 0; p < len(more.row); {
		t, err := e.room()
		if err != nil {
			return err
		}
		end := min(len(more.row), p+cap(t.row)-len(t.row))
		t.row = append(t.row, more.row[p:end]...)
		t.col = append(t.col, more.col[p:end]...)
		if !e.pattern {
			t.val = append(t.val, more.val[p:end]...)
		}
		e.n += int64(end - p)
		p = end
	}
	return nil
}

// room returns the last part, or a new one if the last is full.
func (e *entries) room() (*triples, error) {
	size := firstPart
	if k := len(e.parts) - 1; k >= 0 {
		last := &e.parts[k]
		if len(last.row) < cap(last.row) {
			return last, nil
		}
		size = max(min(2*cap(last.row), shortPart), int(min(e.n/8, longPart)))
	}
	if err := e.in.fits((e.n+int64(size))*e.entryBytes(), fmt.Sprintf("the first %d entries", e.n+1)); err != nil {
		return nil, err
	}
	t := triples{row: kernel.Room[int32](size)[:0], col: kernel.Room[int32](size)[:0]}
	if !e.pattern {
		t.val = kernel.Numbers(size)[:0]
	}
	e.parts = append(e.parts, t)
	return &e.parts[len(e.parts)-1], nil
}

func (e *entries) entryBytes() int64 {
	if e.pattern {
		return 8
	}
	return 16
}

// weigh gives values to the entries of a pattern, and to entries added later.
func (e *entries) weigh() error {
	e.pattern = false
	if err := e.in.fits(e.n*e.entryBytes(), fmt.Sprintf("the first %d entries", e.n)); err != nil {
		return err
	}
	for k := range e.parts {
		t := &e.parts[k]
		t.val = kernel.Numbers(cap(t.row))[:len(t.row)]
		for p := range t.val {
			t.val[p] = 1
		}
	}
	return nil
}

// peak returns the bytes that turning n collected entries into a matrix takes: the entries as collected and
// as stored, and the pointers to the rows. The collected entries are dropped before rows are sorted, which
// takes no more memory than they did.
func (e *entries) peak(rows, n int64) int64 {
	stored := n
	if e.mirror {
		stored = mulAtMost(n, 2)
	}
	collected, kept := e.entryBytes(), e.entryBytes()-4
	sum := mulAtMost(n, collected) / 4 // quarters, so that the sum cannot overflow
	sum += mulAtMost(stored, kept)/4 + 2*(rows+1)
	return mulAtMost(sum, 4)
}

// hollow returns the error message for a shape that has so many more rows and columns than entries, of which
// there are n, that it is false or a mistake. It returns "" for other shapes. Empty rows and columns are
// allowed, but not more than a thousand for each entry once they take some memory.
func hollow(rows, cols, n int64) string {
	const free, perEntry = 1 << 22, 1000
	if sum := rows + cols; sum > free && sum/perEntry > n {
		return fmt.Sprintf("%d×%d is declared for %s, more than %d empty rows and columns for each: is the size wrong? If not, leave out empty rows and columns",
			rows, cols, count(n, "entry", "entries"), perEntry)
	}
	return ""
}

// assemble returns the rows×cols matrix of the entries, which it uses up. The columns of each row are in
// order, and entries in one place are summed in the order of the file. duplicates counts the entries that
// were added to another one. errf makes the error for a shape that hollow refuses.
//
// The entries go to their rows in the order of the file. In the files that most programs write, triangles
// included, that is the order of the columns; other rows are sorted. It costs O(nnz·log(longest row) + rows),
// with the memory that peak returns. Every worker looks at all entries and moves those of its own rows.
func (e *entries) assemble(rows, cols int, errf func(string, ...any) error) (m *matrix.CSR, duplicates int64, err error) {
	if why := hollow(int64(rows), int64(cols), e.n+e.named); why != "" {
		return nil, 0, errf("%s", why)
	}
	if err := e.in.fits(e.peak(int64(rows), e.n), fmt.Sprintf("%d entries of a %d×%d matrix", e.n, rows, cols)); err != nil {
		return nil, 0, err
	}
	if max(rows, cols) >= math.MaxInt/8 || e.n > math.MaxInt/32 {
		return nil, 0, fmt.Errorf("%w: %s: %d entries of a %d×%d matrix are more than this machine can address",
			ErrTooLarge, e.in.name, e.n, rows, cols)
	}
	workers := e.in.workers(e.n)
	rowPtr := kernel.Room[int64](rows + 1)
	split(workers, func(w int) {
		bound := func(w int) int32 { return int32(int64(rows) * int64(w) / int64(workers)) }
		first, end := bound(w), bound(w+1)
		for _, t := range e.parts {
			for p, i := range t.row {
				if first <= i && i < end {
					rowPtr[i+1]++
				}
				if j := t.col[p]; e.mirror && i != j && first <= j && j < end {
					rowPtr[j+1]++
				}
			}
		}
	})
	for i := range rows {
		if rowPtr[i+1] > math.MaxUint32 { // rowSorter's limit
			return nil, 0, tooLong(e.in, i+1, rowPtr[i+1])
		}
		rowPtr[i+1] += rowPtr[i]
	}
	stored := rowPtr[rows]
	col := kernel.Room[int32](int(stored))
	var val []float64
	if !e.pattern {
		val = kernel.Numbers(int(stored))
	}
	bounds := evenRows(rowPtr, workers)
	split(workers, func(w int) { // this moves rowPtr[i] from the beginning of row i to its end
		first, end := bounds[w], bounds[w+1]
		for _, t := range e.parts {
			for p, i := range t.row {
				j := t.col[p]
				if first <= i && i < end {
					q := rowPtr[i]
					rowPtr[i]++
					col[q] = j
					if !e.pattern {
						val[q] = t.val[p]
					}
				}
				if e.mirror && i != j && first <= j && j < end {
					q := rowPtr[j]
					rowPtr[j]++
					col[q] = i
					if !e.pattern {
						val[q] = t.val[p]
					}
				}
			}
		}
	})
	e.parts = nil // no longer needed
	copy(rowPtr[1:], rowPtr[:rows])
	rowPtr[0] = 0

	return inOrder(e.in, rows, cols, rowPtr, col, val, e.mirror)
}

func tooLong(in *input, row int, entries int64) error {
	return fmt.Errorf("%w: %s: row %d has %d entries, but a row can hold fewer than 2^32", ErrTooLarge, in.name, row, entries)
}

// inOrder returns the matrix of the given arrays, which it may change. It sorts rows that are not in order,
// and sums entries in one place in their given order. In a mirrored matrix, two duplicates that mirror each
// other count as one.
func inOrder(in *input, rows, cols int, rowPtr []int64, col []int32, val []float64, mirrored bool) (m *matrix.CSR, duplicates int64, err error) {
	workers := in.workers(int64(len(col)))
	bounds := evenRows(rowPtr, workers)
	var repeated atomic.Bool
	split(workers, func(w int) {
		var s rowSorter
		again := false
		for i := bounds[w]; i < bounds[w+1]; i++ {
			from, to := rowPtr[i], rowPtr[i+1]
			if val == nil {
				s.sort(col[from:to], nil)
			} else {
				s.sort(col[from:to], val[from:to])
			}
			for p := from + 1; p < to; p++ {
				again = again || col[p] == col[p-1]
			}
		}
		if again {
			repeated.Store(true)
		}
	})
	if repeated.Load() {
		if val == nil { // sums are no longer 1
			if err := in.fits(12*int64(len(col))+8*int64(len(rowPtr)), fmt.Sprintf("the sums of %d entries, some of them repeated,", len(col))); err != nil {
				return nil, 0, err
			}
		}
		col, val, duplicates = sumDuplicates(rowPtr, col, val, mirrored)
	}
	m, err = newCSR(rows, cols, rowPtr, col, val)
	return m, duplicates, err
}

// evenRows cuts the rows into a range bounds[w] ≤ i < bounds[w+1] for each worker, with about the same number
// of entries. rowPtr holds the beginnings of the rows.
func evenRows(rowPtr []int64, workers int) (bounds []int32) {
	rows := len(rowPtr) - 1
	bounds = make([]int32, workers+1)
	for w := 1; w < workers; w++ {
		i, _ := slices.BinarySearch(rowPtr, rowPtr[rows]/int64(workers)*int64(w))
		bounds[w] = int32(i)
	}
	bounds[workers] = int32(rows)
	return bounds
}

// rowSorter sorts rows of fewer than 2^32 entries by column, and keeps the order of entries in one column.
// For rows that are not short, it takes 16 bytes for each entry of the longest row.
type rowSorter struct {
	keys []uint64
	vals []float64
}

// sortedInPlace is the largest number of entries of a row that is sorted without further memory.
const sortedInPlace = 32

func (s *rowSorter) sort(col []int32, val []float64) {
	switch {
	case slices.IsSorted(col):
	case len(col) <= sortedInPlace: // insertion
		for p, j := range col {
			var v float64
			if val != nil {
				v = val[p]
			}
			for ; p > 0 && col[p-1] > j; p-- {
				col[p] = col[p-1]
				if val != nil {
					val[p] = val[p-1]
				}
			}
			col[p] = j
			if val != nil {
				val[p] = v
			}
		}
	default:
		s.keys = slices.Grow(s.keys[:0], len(col))
		for p, j := range col {
			s.keys = append(s.keys, uint64(j)<<32|uint64(p))
		}
		slices.Sort(s.keys)
		s.vals = append(s.vals[:0], val...)
		for p, key := range s.keys {
			col[p] = int32(key >> 32)
			if val != nil {
				val[p] = s.vals[uint32(key)]
			}
		}
	}
}

// sumDuplicates merges, within each row, neighboring entries in one place. It works in the given arrays. In
// a mirrored matrix, two duplicates that mirror each other count as one.
func sumDuplicates(rowPtr []int64, col []int32, val []float64, mirrored bool) ([]int32, []float64, int64) {
	if val == nil {
		val = slices.Repeat([]float64{1}, len(col))
	}
	var duplicates, kept int64
	p := int64(0)
	for i := range len(rowPtr) - 1 {
		first := kept
		for end := rowPtr[i+1]; p < end; p++ {
			if kept > first && col[kept-1] == col[p] {
				val[kept-1] += val[p]
				if !mirrored || int(col[p]) <= i {
					duplicates++
				}
				continue
			}
			col[kept], val[kept] = col[p], val[p]
			kept++
		}
		rowPtr[i] = first
	}
	rowPtr[len(rowPtr)-1] = kept
	return col[:kept:kept], val[:kept:kept], duplicates
}

// newCSR returns the matrix of arrays that are known to be valid. It drops the values if each is 1.
func newCSR(rows, cols int, rowPtr []int64, col []int32, val []float64) (*matrix.CSR, error) {
	if !slices.ContainsFunc(val, func(v float64) bool { return v != 1 }) {
		val = nil
	}
	return matrix.NewCSR(rows, cols, rowPtr, col, val)
}
