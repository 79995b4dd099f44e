package matio

import (
	"fmt"
	"math"
	"slices"

	"symnmf/matrix"
)

// entries collects (row, column, value) in the order of the file, in blocks, so that growing copies nothing: 16 bytes
// an entry, 8 when all values are 1.
type entries struct {
	in      *input
	pattern bool // no values are kept: each is 1
	mirror  bool // each entry off the diagonal also stands for its mirror image
	blocks  []block
	n       int64
}

type block struct {
	row, col []int32
	val      []float64 // nil for a pattern
}

const (
	firstBlock = 1 << 10
	blockLen   = 1 << 16
)

// add appends an entry, counted from 0; the caller has checked its range.
func (e *entries) add(row, col int32, v float64) error {
	if len(e.blocks) == 0 || len(e.last().row) == cap(e.last().row) {
		if err := e.addBlock(); err != nil {
			return err
		}
	}
	b := e.last()
	b.row = append(b.row, row)
	b.col = append(b.col, col)
	if !e.pattern {
		b.val = append(b.val, v)
	}
	e.n++
	return nil
}

func (e *entries) last() *block { return &e.blocks[len(e.blocks)-1] }

func (e *entries) addBlock() error {
	size := firstBlock
	if len(e.blocks) > 0 {
		size = min(2*cap(e.last().row), blockLen)
	}
	if err := e.in.fits((e.n+int64(size))*e.entryBytes(), fmt.Sprintf("the first %d entries", e.n+1)); err != nil {
		return err
	}
	b := block{row: make([]int32, 0, size), col: make([]int32, 0, size)}
	if !e.pattern {
		b.val = make([]float64, 0, size)
	}
	e.blocks = append(e.blocks, b)
	return nil
}

func (e *entries) entryBytes() int64 {
	if e.pattern {
		return 8
	}
	return 16
}

// weigh gives the entries of a pattern, and those to come, values.
func (e *entries) weigh() error {
	e.pattern = false
	if err := e.in.fits(e.n*e.entryBytes(), fmt.Sprintf("the first %d entries", e.n)); err != nil {
		return err
	}
	for k := range e.blocks {
		b := &e.blocks[k]
		b.val = make([]float64, len(b.row), cap(b.row))
		for p := range b.val {
			b.val[p] = 1
		}
	}
	return nil
}

// peak is the memory, in bytes, that turning n collected entries into a matrix takes: entries as collected, as sorted by
// column, and the two arrays of pointers.
func (e *entries) peak(rows, cols, n int64) int64 {
	stored := n
	if e.mirror {
		stored = mulAtMost(n, 2)
	}
	collected, sorted := e.entryBytes(), e.entryBytes()-4
	sum := mulAtMost(n, collected) / 4 // quarters, so that the sum cannot overflow
	sum += mulAtMost(stored, sorted)/4 + 2*(rows+cols+2)
	return mulAtMost(sum, 4)
}

// hollow returns what is wrong with a shape whose rows and columns so outnumber the n entries that it is a lie or a
// mistake, or "". Isolated rows are allowed, but not a thousand for each entry once they cost more than some memory.
func hollow(rows, cols, n int64) string {
	const free, perEntry = 1 << 22, 1000
	if sum := rows + cols; sum > free && sum/perEntry > n {
		return fmt.Sprintf("%d×%d is declared for %d entries, more than %d empty rows and columns each: is the size wrong? If not, leave out empty rows and columns",
			rows, cols, n, perEntry)
	}
	return ""
}

// assemble returns the rows×cols matrix of the entries, which it uses up: columns in order in each row, entries of one
// place summed in the order of the file. duplicates counts those that were added to another. errf makes the error for a
// shape that is a lie.
//
// Two stable counting sorts, by column and then by row: O(nnz + rows + cols), with the memory that peak says.
func (e *entries) assemble(rows, cols int, errf func(string, ...any) error) (m *matrix.CSR, duplicates int64, err error) {
	if why := hollow(int64(rows), int64(cols), e.n); why != "" {
		return nil, 0, errf("%s", why)
	}
	if err := e.in.fits(e.peak(int64(rows), int64(cols), e.n), fmt.Sprintf("%d entries of a %d×%d matrix", e.n, rows, cols)); err != nil {
		return nil, 0, err
	}
	if max(rows, cols) >= math.MaxInt/8 || e.n > math.MaxInt/32 {
		return nil, 0, fmt.Errorf("%w: %s: %d entries of a %d×%d matrix are more than this machine can address",
			ErrTooLarge, e.in.name, e.n, rows, cols)
	}
	colPtr, rowPtr := make([]int64, cols+1), make([]int64, rows+1)
	for _, b := range e.blocks {
		for p, i := range b.row {
			j := b.col[p]
			rowPtr[i+1]++
			colPtr[j+1]++
			if e.mirror && i != j {
				rowPtr[j+1]++
				colPtr[i+1]++
			}
		}
	}
	cumulate(colPtr)
	cumulate(rowPtr)
	stored := rowPtr[rows]

	// By column. From here on colPtr[j] runs from the beginning of column j to its end.
	rowOf := make([]int32, stored)
	var byCol, val []float64
	if !e.pattern {
		byCol = make([]float64, stored)
	}
	for k, b := range e.blocks {
		for p, i := range b.row {
			j := b.col[p]
			q := colPtr[j]
			colPtr[j]++
			rowOf[q] = i
			if e.mirror && i != j {
				r := colPtr[i]
				colPtr[i]++
				rowOf[r] = j
				if !e.pattern {
					byCol[r] = b.val[p]
				}
			}
			if !e.pattern {
				byCol[q] = b.val[p]
			}
		}
		e.blocks[k] = block{} // not needed any more
	}
	e.blocks = nil

	// By row.
	col := make([]int32, stored)
	if !e.pattern {
		val = make([]float64, stored)
	}
	q := int64(0)
	for j, end := range colPtr[:cols] {
		for ; q < end; q++ {
			i := rowOf[q]
			p := rowPtr[i]
			rowPtr[i]++
			col[p] = int32(j)
			if !e.pattern {
				val[p] = byCol[q]
			}
		}
	}
	copy(rowPtr[1:], rowPtr[:rows])
	rowPtr[0] = 0
	col, val, duplicates = sumDuplicates(rowPtr, col, val, e.mirror)
	m, err = newCSR(rows, cols, rowPtr, col, val)
	return m, duplicates, err
}

// cumulate turns counts of i at i+1 into the beginnings of each i.
func cumulate(ptr []int64) {
	for i := 1; i < len(ptr); i++ {
		ptr[i] += ptr[i-1]
	}
}

// sumDuplicates merges entries of one place in each row, where they are neighbours, in place; an entry off the diagonal
// of a mirrored matrix counts once for the two of it.
func sumDuplicates(rowPtr []int64, col []int32, val []float64, mirrored bool) ([]int32, []float64, int64) {
	repeated := false
	for i := range len(rowPtr) - 1 {
		for p := rowPtr[i] + 1; p < rowPtr[i+1]; p++ {
			repeated = repeated || col[p] == col[p-1]
		}
	}
	if !repeated {
		return col, val, 0
	}
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

// newCSR makes the matrix of arrays that are known to describe one, without values when each is 1.
func newCSR(rows, cols int, rowPtr []int64, col []int32, val []float64) (*matrix.CSR, error) {
	if !slices.ContainsFunc(val, func(v float64) bool { return v != 1 }) {
		val = nil
	}
	return matrix.NewCSR(rows, cols, rowPtr, col, val)
}
