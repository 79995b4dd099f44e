package matrix

import (
	"math"
	"slices"

	"symnmf/internal/kernel"
	"symnmf/internal/rules"
)

// The norm of L·Lᵀ if the entries of L are whole numbers, such as word counts.
//
// A panel is a few columns stored as whole rows of 16-bit numbers; panels take the columns with most entries
// first. Every column from the first of the panel on is passed over entry by entry, and adds up its inner
// products with all columns of the panel at once, in 32 bits and so without error. The columns after the last
// panel are left to lists (normHalf). See decision 0009.

// wholePlan says how that is done, and what it costs in scattered additions.
type wholePlan struct {
	left, right *CSR    // right is leftᵀ
	columns     []int32 // those with most entries first
	panels      int
	room        int64 // bytes for the panels in use
	work        float64
}

// The cost of a panel in scattered additions, with vectors of eight float64: for each column that is
// multiplied by it, for each entry of such a column, and for each entry of its own columns, which is put into
// the panel and taken out; and for each byte of its memory on first use. If a panel has panelFar bytes or
// more, far from a processor, an entry costs half as much again. See decision 0009 for where these are from.
const (
	additionsPerSpan       = 9
	additionsPerSpanEntry8 = 1.3
	additionsPerOwnEntry   = 3
	additionsPerByte       = 0.25
	panelFar               = 2 << 20
)

// planWhole returns the plan with the cheapest number of panels for the norm of left·leftᵀ.
func planWhole(left, right *CSR) wholePlan {
	const c = kernel.PanelColumns
	p := wholePlan{left: left, right: right, columns: right.longestRows()}
	p.room = max((8-2)*right.NNZ(), rules.PanelsRoom) // of the 8 bytes for an entry, values take 2
	perList, lists := listAdditions(left.rows), 0.0
	for _, k := range p.columns {
		lists += perList(right.count(k))
	}
	p.work = lists
	if 2*p.panelBytes() > p.room {
		return p
	}
	done, rest := additionsPerByte*float64(p.panelBytes()), right.NNZ()
	perEntry := additionsPerSpanEntry8 * 8 / float64(kernel.Lanes()) * (1 + min(1, float64(p.panelBytes())/panelFar)/2)
	for q := 0; q*c < len(p.columns); q++ {
		var own int64
		for _, k := range p.columns[q*c : min((q+1)*c, len(p.columns))] {
			own += right.count(k)
			lists -= perList(right.count(k))
		}
		done += additionsPerSpan*float64(len(p.columns)-q*c) + perEntry*float64(rest) + additionsPerOwnEntry*float64(own)
		rest -= own
		if done+lists < p.work {
			p.panels, p.work = q+1, done+lists
		}
	}
	return p
}

// panelBytes is the memory of a panel.
func (p *wholePlan) panelBytes() int64 { return 2 * kernel.PanelColumns * int64(p.left.rows) }

// count returns the number of entries of row i.
func (m *CSR) count(i int32) int64 { return m.RowPtr[i+1] - m.RowPtr[i] }

// longestRows returns the rows that have entries, those with most entries first, and rows with equally many
// in order.
func (m *CSR) longestRows() []int32 {
	most := int64(0)
	for i := range int32(m.rows) {
		most = max(most, m.count(i))
	}
	next := make([]int32, most+1) // where the next row with that many entries goes
	for i := range int32(m.rows) {
		next[m.count(i)]++
	}
	at := int32(0)
	for f := most; f > 0; f-- {
		next[f], at = at, at+next[f]
	}
	rows := make([]int32, at)
	for i := range int32(m.rows) {
		if f := m.count(i); f > 0 {
			rows[next[f]] = i
			next[f]++
		}
	}
	return rows
}

// wholeNorm returns ‖m·mᵀ‖² = ‖mᵀ·m‖², or false if some entries are not whole numbers or panels do not pay. t
// is mᵀ. It takes 2 bytes for each entry and some 16 for each row or column. Panels take at most 6 more bytes
// for each entry, or rules.PanelsRoom in all if that is more.
func wholeNorm(m, t *CSR, workers int) (float64, bool) {
	if !kernel.IntsPay() || m.NNZ() > math.MaxInt32 {
		return 0, false
	}
	p := planWhole(m, t)
	if other := planWhole(t, m); other.work < p.work {
		p = other
	}
	if p.panels == 0 {
		return 0, false
	}
	val, ok := p.right.wholeValues(p.right.count(p.columns[0]), workers)
	if !ok {
		return 0, false
	}
	return p.norm(val, workers), true
}

// spansTogether is the number of columns in one sum, so that rounding stays small if there are many columns.
const spansTogether = 1024

// norm computes the norm by this plan. val holds the values of right.
func (p *wholePlan) norm(val []int16, workers int) float64 {
	const c = kernel.PanelColumns
	right, common := p.right, min(p.panels*c, len(p.columns))
	apart := make([]bool, right.rows)
	for _, k := range p.columns[:common] {
		apart[k] = true
	}
	spans := make([]kernel.Span, 0, len(p.columns)) // columns of panels first, then the others in the order of memory
	add := func(k int32) {
		spans = append(spans, kernel.Span{From: int32(right.RowPtr[k]), To: int32(right.RowPtr[k+1])})
	}
	for _, k := range p.columns[:common] {
		add(k)
	}
	for k := range int32(right.rows) {
		if !apart[k] && right.count(k) > 0 {
			add(k)
		}
	}
	squares := make([]float64, p.panels)
	scratch := func() []int16 { return make([]int16, p.left.rows*c) }
	kernel.BlocksWith(p.panels, 1, min(workers, int(p.room/p.panelBytes())), scratch, func(x []int16, q, _, _ int) {
		end := min((q+1)*c, len(spans))
		own, later := spans[q*c:end], spans[end:]
		for j, s := range own {
			val := val[s.From:s.To]
			for p, i := range right.Col[s.From:s.To] {
				x[int(i)*c+j] = val[p]
			}
		}
		squares[q] = kernel.PanelSquares(x, own, right.Col, val)
		for lo := 0; lo < len(later); lo += spansTogether {
			squares[q] += 2 * kernel.PanelSquares(x, later[lo:min(lo+spansTogether, len(later))], right.Col, val)
		}
		for j, s := range own {
			for _, i := range right.Col[s.From:s.To] {
				x[int(i)*c+j] = 0
			}
		}
	})
	if common == len(p.columns) {
		return sum(squares)
	}
	half, diag := normHalf(p.left, right, apart, workers)
	return sum(squares) + 2*half + diag
}

// wholeValues returns the values of m, or false if some are not whole numbers of 16 bits, or too large for
// the inner products of rows, of up to most entries, to fit in 32 bits.
func (m *CSR) wholeValues(most int64, workers int) ([]int16, bool) {
	const size = 1 << 14
	val := make([]int16, len(m.Col))
	refused := make([]bool, kernel.BlockCount(len(val), size))
	bound := min(math.Sqrt(math.MaxInt32/float64(most)), math.MaxInt16)
	kernel.Blocks(len(val), size, workers, func(b, lo, hi int) {
		own := val[lo:hi]
		if m.Val == nil {
			for p := range own {
				own[p] = 1
			}
			return
		}
		for p, v := range m.Val[lo:hi] {
			if !(v >= -bound && v <= bound) {
				refused[b] = true
				return
			}
			k := int32(v)
			if float64(k) != v {
				refused[b] = true
				return
			}
			own[p] = int16(k)
		}
	})
	return val, !slices.Contains(refused, true)
}
