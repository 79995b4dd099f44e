package matrix

import (
	"math"
	"slices"

	"symnmf/internal/kernel"
	"symnmf/internal/rules"
)

// BlockProduct gives rows of A·H for an H (n×r) that changes by blocks of rows, b·size ≤ i < (b+1)·size, and
// keeps up with these changes. Of the methods named here and in LowerProduct and NearProduct, only RowsTo, LowerTo
// and NearTo may be called concurrently with other calls.
type BlockProduct interface {
	// RowsTo fills dst, (hi−lo)×r, with rows lo ≤ i < hi of A·H for the current H.
	RowsTo(dst []float64, lo, hi int)
	// Step returns ⟨A_BB·d, d⟩, where B are the rows of block b and d is |B|×r.
	Step(b int, d []float64) float64
	// Move reports that the rows of block b have grown by e, |B|×r: by t times the d of the last Step or, if
	// t is 0, by anything else. H has its new values already.
	Move(b int, t float64, e []float64)
	// AddRow reports that row i of H has grown by d (r numbers).
	AddRow(i int, d []float64)
	// Extrapolate reports that H has become H + beta·(H − H′), where H′ is H as it was just before the last
	// call of Extrapolate, and that it is stored in h from now on. The first call has beta = 0. If A lists
	// its entries (RowVisitor), h may hold anything in place of negative numbers of this H.
	Extrapolate(beta float64, h *Dense)
	// Refresh reports that any part of H may have changed.
	Refresh()
	// Inner returns ⟨A·H, H⟩ if it is available without a product with A.
	Inner() (v float64, ok bool)
}

// LowerProduct is a BlockProduct that separates the contribution of the rows before a block. During a sweep
// these rows have their new values already, so for the H that the sweep leaves, ⟨A·H, H⟩ is Σ 2⟨lower, H_B⟩ +
// ⟨A_BB·H_B, H_B⟩ over the blocks.
type LowerProduct interface {
	BlockProduct
	// LowerTo is RowsTo for rows inside the block that begins with row first, and also fills lower with the
	// contribution of the columns before first.
	LowerTo(dst, lower []float64, first, lo, hi int)
	// PartRows says how to divide a block among the members of a team. The number of rows in a call of LowerTo
	// must be a multiple of unit, except for the last rows of the block. It is best if it is most, which is a
	// multiple of unit, too: calls for many rows read H less often.
	PartRows() (unit, most int)
	// WorkBefore returns approximately how much work the rows before row i of A are, in any unit.
	WorkBefore(i int) int64
}

// NearProduct is a LowerProduct that also separates the contribution of a block's own rows. If these have
// moved by e to the present H_B, ⟨A_BB·H_B, H_B⟩ is ⟨near, H_B + e⟩ + ⟨A_BB·e, e⟩.
type NearProduct interface {
	LowerProduct
	// NearTo is LowerTo, and also fills near with the contribution of the columns of the block.
	NearTo(dst, lower, near []float64, first, lo, hi int)
}

// TermProduct is a BlockProduct whose rows are sums of terms. Of the state that follows H, each term reads a
// part that no other term reads. Move, Extrapolate and Refresh also divide their work in the order of the
// terms, so that a member of a team finds in its own cache what it has changed.
type TermProduct interface {
	BlockProduct
	// Terms returns the number of terms. It must be called before the first call of TermTo.
	Terms() int
	// TermTo fills dst, (hi−lo)×r, with that term of rows lo ≤ i < hi of A·H. It may be called concurrently
	// with other calls.
	TermTo(dst []float64, term, lo, hi int)
}

// GainProduct is a BlockProduct whose state that follows H is smaller than a block of rows. The gain of a
// group of rows is what their move adds to that state. The member that moves the group computes its gain, and
// gains are added up, so that no other member reads d.
type GainProduct interface {
	BlockProduct
	// GainLen returns the number of numbers in a gain.
	GainLen() int
	// GainTo fills gain with the gain of the rows of H from lo on, as many as d has and all in one block, if
	// they move by d. It may be called concurrently with other calls.
	GainTo(gain []float64, lo int, d []float64)
	// StepGains is Step for a block whose groups of rows have these gains. A Move after it uses only t,
	// unless t is 0.
	StepGains(gains [][]float64) float64
	// MoveGains is Move for groups of rows, of which group k has moved by t[k] times the d of gains[k].
	MoveGains(t []float64, gains [][]float64)
}

// SingleProduct is a BlockProduct that can read H in float32.
type SingleProduct interface {
	BlockProduct
	// PrefersSingle reports whether LowerTo can do that and is faster for it.
	PrefersSingle() bool
	// Single reports that H is h, n×r, until the next call. LowerTo then reads h, and RowsTo may not be
	// called. With nil, H is again what the last Extrapolate reported.
	Single(h []float32)
	// StepSingle is Step for d in float32.
	StepSingle(b int, d []float32) float64
	// FewPairs reports whether block b has so few entries of its own that one member of a team computes
	// ⟨A_BB·d, d⟩ alone: rounding d to float32 for that would take longer.
	FewPairs(b int) bool
}

// JointProduct is a BlockProduct that also supports steps of all rows.
type JointProduct interface {
	BlockProduct
	// StepAll returns own = ⟨A·d, d⟩ and along = ⟨A·d, H⟩ for d, n×r. It may overwrite scratch, which has as
	// many numbers as d.
	StepAll(d *Dense, scratch []float64) (own, along float64)
	// MoveAll reports that H has grown by t times the d of the last StepAll. H has its new values already.
	MoveAll(t float64)
}

// BlockMultiplier is an operator that has a BlockProduct, as those of this package do except Completed's. Operators for
// symnmf.RowBlock, symnmf.VBSUM and symnmf.LAI cannot be written outside this module, because their team of
// goroutines is an internal type.
type BlockMultiplier interface {
	// NewBlockProduct returns the product with h in blocks of size rows. The product keeps h; the team does
	// the work.
	NewBlockProduct(h *Dense, size int, team *kernel.Team) BlockProduct
}

var (
	_ BlockMultiplier = (*SymDense)(nil)
	_ BlockMultiplier = (*SymDense32)(nil)
	_ BlockMultiplier = (*SymCSR)(nil)
	_ BlockMultiplier = (*GramOperator)(nil)
)

// stepRows is the number of rows of a block in one part of the work on it.
const stepRows = 32

// rowBlocks holds what the block products have in common.
type rowBlocks struct {
	h    *Dense
	size int
	team *kernel.Team
	part []kernel.Sum // of each part of a block
}

func newRowBlocks(h *Dense, size int, team *kernel.Team) rowBlocks {
	return rowBlocks{h, size, team, make([]kernel.Sum, kernel.BlockCount(size, stepRows))}
}

// bounds returns the rows of block b.
func (b *rowBlocks) bounds(block int) (lo, hi int) {
	return block * b.size, min((block+1)*b.size, b.h.rows)
}

// sumRows adds up f over groups of the rows lo to hi. In a triangle late groups cost more, so early and late
// groups alternate, which gives members of the team equal work.
func (b *rowBlocks) sumRows(lo, hi int, f func(from, to int) float64) (q float64) {
	parts := kernel.BlockCount(hi-lo, stepRows)
	b.team.Do(parts, func(k int) {
		if k%2 == 0 {
			k /= 2
		} else {
			k = parts - 1 - k/2
		}
		b.part[k].Value = f(lo+k*stepRows, min(lo+(k+1)*stepRows, hi))
	})
	return kernel.Total(b.part[:parts])
}

// Extrapolate implements BlockProduct for products without state that follows H.
func (b *rowBlocks) Extrapolate(_ float64, h *Dense) { b.h = h }

// stateless implements methods of a product that reads H and keeps nothing derived from it.
type stateless struct{}

func (stateless) Move(int, float64, []float64) {}
func (stateless) AddRow(int, []float64)        {}
func (stateless) Refresh()                     {}
func (stateless) Inner() (float64, bool)       { return 0, false }

// NewBlockProduct implements BlockMultiplier.
func (m *symDense[F]) NewBlockProduct(h *Dense, size int, team *kernel.Team) BlockProduct {
	return &denseBlocks[F]{m: m, rowBlocks: newRowBlocks(h, size, team), t: newStepRooms(size, h.cols)}
}

type denseBlocks[F kernel.Float] struct {
	stateless
	m *symDense[F]
	rowBlocks
	t           stepRooms
	single      []float32 // A rounded to float32, once StartRough has been called, and its scale
	singleScale float64
	narrow      []float32 // H rounded to float32
	wayOfAll    []float32 // d of all rows in float32, for joint steps
	way         []float32 // d of a block in float32
	wide        stepRooms // parts of way in float64
}

func (b *denseBlocks[F]) RowsTo(dst []float64, lo, hi int) {
	denseProduct[F]{b.m, b.h}.RowsTo(dst, lo, hi)
}

// PartRows implements LowerProduct.
func (b *denseBlocks[F]) PartRows() (unit, most int) { return stepRows, stepRows }

// WorkBefore implements LowerProduct.
func (b *denseBlocks[F]) WorkBefore(i int) int64 { return int64(i) }

// LowerTo implements LowerProduct. Whoever can use NearTo saves the room that this one makes.
func (b *denseBlocks[F]) LowerTo(dst, lower []float64, first, lo, hi int) {
	b.NearTo(dst, lower, make([]float64, len(dst)), first, lo, hi)
}

// NearTo implements NearProduct.
func (b *denseBlocks[F]) NearTo(dst, lower, near []float64, first, lo, hi int) {
	n, r, h := b.m.n, b.h.cols, b.h.data
	clear(lower)
	if first > 0 {
		kernel.AddRowsTimesOn(lower, b.m.scale, b.m.a[lo*n:(hi-1)*n+first], n, h[:first*r], r, 0)
	}
	copy(dst, lower)
	clear(near)
	from := min(first+b.size, n)
	if b.m.offDiag { // row by row, to keep the digits by which A_ii may exceed the rest
		for i := lo; i < hi; i++ {
			acc, row := near[(i-lo)*r:(i-lo+1)*r], b.m.row(i)
			kernel.AddRowsTimes(acc, b.m.scale, row[first:i], i-first, h[first*r:i*r], r)
			kernel.AddRowsTimes(acc, b.m.scale, row[i+1:from], from-i-1, h[(i+1)*r:from*r], r)
		}
	} else {
		kernel.AddRowsTimesOn(near, b.m.scale, b.m.a[lo*n+first:(hi-1)*n+from], n, h[first*r:from*r], r, 0)
	}
	kernel.Axpy(dst, 1, near)
	if from < n {
		kernel.AddRowsTimesOn(dst, b.m.scale, b.m.a[lo*n+from:hi*n], n, h[from*r:], r, (hi-lo-1)*n)
	}
}

func (b *denseBlocks[F]) Step(block int, d []float64) float64 {
	n := b.m.n
	lo, hi := b.bounds(block)
	return b.m.scale * quad(&b.rowBlocks, b.m.a[lo*n+lo:(hi-1)*n+hi], n, d, b.t, b.m.offDiag)
}

// stepRooms is scratch space for the rows of a block, divided into rooms for the rows of one part of the
// work.
type stepRooms []float64

func newStepRooms(size, cols int) stepRooms {
	return make(stepRooms, kernel.BlockCount(size, stepRows)*(stepRows*cols+kernel.FarApart))
}

// of returns the room for rows from to to, of r numbers each.
func (t stepRooms) of(from, to, r int) []float64 {
	return t[from/stepRows*(stepRows*r+kernel.FarApart):][:(to-from)*r]
}

// StepAll implements JointProduct.
func (b *denseBlocks[F]) StepAll(d *Dense, scratch []float64) (own, along float64) {
	r, parts := d.cols, kernel.BlockCount(d.rows, stepRows)
	sums := make([]kernel.Sum, 2*parts)
	b.team.Do(parts, func(k int) {
		lo, hi := k*stepRows, min((k+1)*stepRows, d.rows)
		ad := scratch[lo*r : hi*r]
		denseProduct[F]{b.m, d}.RowsTo(ad, lo, hi)
		sums[k].Value, sums[parts+k].Value = kernel.Dot(ad, d.data[lo*r:hi*r]), kernel.Dot(ad, b.h.data[lo*r:hi*r])
	})
	return kernel.Total(sums[:parts]), kernel.Total(sums[parts:])
}

// MoveAll implements JointProduct; no state follows H.
func (b *denseBlocks[F]) MoveAll(float64) {}

// quad returns ⟨A_BB·d, d⟩ for an A_BB with rows stride apart, without its diagonal if offDiag is set.
func quad[F kernel.Float](b *rowBlocks, a []F, stride int, d []float64, rooms stepRooms, offDiag bool) float64 {
	r := b.h.cols
	return b.sumRows(0, len(d)/r, func(from, to int) (q float64) {
		if b.team.Members() > 1 { // other members have written much of d
			kernel.Fetch(d[:to*r])
		}
		own, t := d[from*r:to*r], rooms.of(from, to, r)
		if offDiag {
			t := t[:r]
			for i := from; i < to; i++ {
				clear(t)
				kernel.RowsTimes(t, a[i*stride:i*stride+i], i, d[:i*r], r)
				q += 2 * kernel.Dot(t, d[i*r:(i+1)*r])
			}
			return q
		}
		clear(t)
		if from > 0 {
			kernel.AddRowsTimes(t, 2, a[from*stride:(to-1)*stride+from], stride, d[:from*r], r)
		}
		kernel.RowsTimes(t, a[from*stride+from:(to-1)*stride+to], stride, own, r)
		return kernel.Dot(t, own)
	})
}

// NewBlockProduct implements BlockMultiplier.
func (m *SymCSR) NewBlockProduct(h *Dense, size int, team *kernel.Team) BlockProduct {
	n, blocks := m.a.rows, kernel.BlockCount(m.a.rows, size)
	b := &csrBlocks{csrProduct: csrProduct{m, h}, rowBlocks: newRowBlocks(h, size, team), cut: make([]int32, 2*n+1), begin: make([]int, blocks+1), work: make([]int, blocks)}
	b.diagonal = !m.offDiag && kernel.Nonzero(m.diag)
	b.leaves = m.leavesOut(0, n)
	near := make([]kernel.PairRow, n) // those of block k from k·size on
	kernel.Blocks(n, size, team.Members(), func(k, lo, hi int) {
		count, work := 0, 0
		for i := lo; i < hi; i++ {
			begin, end := m.a.RowPtr[i], m.above[i]
			if _, stored := m.a.diagonal(i, m.above); stored {
				end--
			}
			from := end
			for from > begin && int(m.a.Col[from-1]) >= lo {
				from--
			}
			entries := int(end - from)
			b.cut[2*i], b.cut[2*i+1] = int32(begin), int32(from)
			if entries > 0 || b.diagonal && m.diag[i] != 0 {
				near[lo+count] = kernel.PairRow{Row: int32(i), Entries: int32(entries)}
				count, work = count+1, work+entries+1
			}
		}
		b.begin[k+1], b.work[k] = count, work
	})
	b.cut[2*n] = int32(m.a.RowPtr[n])
	for k := range blocks {
		count := copy(near[b.begin[k]:], near[k*size:][:b.begin[k+1]])
		b.begin[k+1] = b.begin[k] + count
	}
	b.near = near[:b.begin[blocks]]
	return b
}

type csrBlocks struct {
	stateless
	csrProduct
	rowBlocks
	// For each row, the places modulo 2³² where its entries begin, and where those not left of its block
	// begin.
	cut      []int32
	near     []kernel.PairRow // rows with entries in their own block left of the diagonal, or on it
	begin    []int            // where the rows of each block begin in near, and where the last end
	work     []int            // of each block, the entries counted in near, plus one for each row
	diagonal bool             // whether A has an entry on the diagonal
	leaves   bool             // whether A leaves out any stored entry
	single   []float32        // H in float32, or nil
}

var _ SingleProduct = (*csrBlocks)(nil)

// PrefersSingle implements SingleProduct. float32 pays if H exceeds half of a second-level cache (decision
// 0013). It cannot be used if stored entries are left out.
func (b *csrBlocks) PrefersSingle() bool {
	n, r := b.rowBlocks.h.rows, b.rowBlocks.h.cols
	return n*r >= rules.SpanFrom && !b.leaves
}

// Single implements SingleProduct.
func (b *csrBlocks) Single(h []float32) { b.single = h }

// before returns the number of entries of row i that are left of its block.
func (b *csrBlocks) before(i int) int { return int(b.cut[2*i+1] - b.cut[2*i]) }

// places returns where the entries of rows lo to hi begin and end. It reads cut, which is about to be read
// anyway, as long as all places fit in its 32 bits.
func (b *csrBlocks) places(lo, hi int) (begin, end int64) {
	if int64(len(b.m.a.Col)) > math.MaxUint32 {
		return b.m.a.RowPtr[lo], b.m.a.RowPtr[hi]
	}
	return int64(uint32(b.cut[2*lo])), int64(uint32(b.cut[2*hi]))
}

// PartRows implements LowerProduct. If the sums of a row do not depend on which other rows are computed with
// it, the shares of members may end at any row.
func (b *csrBlocks) PartRows() (unit, most int) {
	unit, most = unitRows, unitRows
	spans := b.m.a.spanColumns(b.rowBlocks.h.cols) > 0
	if spans {
		most = spanRows
	}
	if (spans || b.single != nil) && !b.leaves {
		unit = 1
	}
	return unit, most
}

// WorkBefore implements LowerProduct.
func (b *csrBlocks) WorkBefore(i int) int64 { return b.m.a.RowPtr[i] }

func (b *csrBlocks) Extrapolate(_ float64, h *Dense) { b.csrProduct.h, b.rowBlocks.h = h, h }

// LowerTo implements LowerProduct.
//
// Whether to go by spans is decided for a whole block; the sums of a row then do not depend on which other
// rows are computed with it. Otherwise, rows are taken together or one by one, which sum in different orders.
// That is decided for unitRows rows at a time, so it is the same in whatever multiples of unitRows a block is
// divided.
func (b *csrBlocks) LowerTo(dst, lower []float64, first, lo, hi int) {
	a, r, h := b.m.a, b.rowBlocks.h.cols, b.rowBlocks.h.data
	columns := a.spanColumns(r)
	spans := columns > 0 && !b.m.leavesOut(first, min(first+b.size, a.rows))
	switch {
	case spans && b.single != nil: // the same number of bytes holds twice as many rows
		lowerBySpans(b, b.single, dst, lower, first, lo, hi, 2*columns)
	case spans:
		lowerBySpans(b, h, dst, lower, first, lo, hi, columns)
	case b.single != nil:
		lowerAtOnce(b, b.single, dst, lower, lo, hi)
	default:
		b.lowerByUnits(dst, lower, lo, hi)
	}
}

// lowerBySpans is LowerTo by spans of the given number of columns, where x holds H.
func lowerBySpans[F kernel.Float](b *csrBlocks, x []F, dst, lower []float64, first, lo, hi, columns int) {
	a, r := b.m.a, b.rowBlocks.h.cols
	for ; lo < hi; lo += spanRows {
		n := min(spanRows, hi-lo)
		acc, low, s := dst[:n*r], lower[:n*r], a.spansOf(lo, lo+n, columns)
		clear(acc)
		addSpans(&s, acc, 0, first, x, r)
		copy(low, acc)
		kernel.Scale(low, b.m.scale)
		addSpans(&s, acc, first, a.cols, x, r)
		s.end()
		kernel.Scale(acc, b.m.scale)
		dst, lower = dst[n*r:], lower[n*r:]
	}
}

// lowerAtOnce is LowerTo for rows that leave out no entry, where x holds H.
func lowerAtOnce[F kernel.Float](b *csrBlocks, x []F, dst, lower []float64, lo, hi int) {
	a := b.m.a
	begin, end := b.places(lo, hi)
	kernel.GatherSplit(dst, lower, b.rowBlocks.h.cols, b.cut[2*lo:2*hi+1], a.Col[begin:end], a.values(begin, end), x, b.m.scale)
}

// lowerByUnits is LowerTo for rows of any length.
func (b *csrBlocks) lowerByUnits(dst, lower []float64, lo, hi int) {
	a, r := b.m.a, b.rowBlocks.h.cols
	short := func(from, to int) bool {
		return a.RowPtr[to]-a.RowPtr[from] <= int64(2*shortRow*(to-from)) && !b.m.leavesOut(from, to)
	}
	for lo < hi {
		to := lo
		for next := min(to+unitRows, hi); to < hi && short(to, next); next = min(to+unitRows, hi) {
			to = next
		}
		if to > lo {
			n := (to - lo) * r
			lowerAtOnce(b, b.rowBlocks.h.data, dst[:n], lower[:n], lo, to)
		} else {
			to = min(lo+unitRows, hi)
			b.lowerTo(dst, lower, lo, to)
		}
		dst, lower = dst[(to-lo)*r:], lower[(to-lo)*r:]
		lo = to
	}
}

// unitRows is the number of rows of a block for which lowerByUnits decides at a time how to compute them.
const unitRows = 16

// lowerTo is LowerTo, row by row.
func (b *csrBlocks) lowerTo(dst, lower []float64, lo, hi int) {
	r := b.rowBlocks.h.cols
	for i := lo; i < hi; i++ {
		acc, low := dst[(i-lo)*r:(i-lo+1)*r], lower[(i-lo)*r:(i-lo+1)*r]
		clear(acc)
		col, val := b.m.a.rowAhead(i)
		at := b.before(i)
		kernel.GatherRows(acc, col[:at], upTo(val, at), b.rowBlocks.h.data)
		for k, v := range acc {
			low[k] = v * b.m.scale
		}
		col, val = col[at:], from(val, at)
		if b.m.offDiag && b.m.diag[i] != 0 {
			at, _ := slices.BinarySearch(col, int32(i))
			kernel.GatherRows(acc, col[:at], upTo(val, at), b.rowBlocks.h.data)
			col, val = col[at+1:], from(val, at+1)
		}
		kernel.GatherRows(acc, col, val, b.rowBlocks.h.data)
		kernel.Scale(acc, b.m.scale)
	}
}

// aloneBelow is the least number of multiply–adds of a step that the team shares: a meeting of the team takes
// as long as some thousands of them.
const aloneBelow = 1 << 13

func (b *csrBlocks) Step(block int, d []float64) float64 { return stepOf(b, block, d) }

// StepSingle implements SingleProduct.
func (b *csrBlocks) StepSingle(block int, d []float32) float64 { return stepOf(b, block, d) }

// FewPairs implements SingleProduct.
func (b *csrBlocks) FewPairs(block int) bool { return b.work[block]*b.rowBlocks.h.cols < aloneBelow }

func stepOf[F kernel.Float](b *csrBlocks, block int, d []F) float64 {
	r := b.rowBlocks.h.cols
	lo, hi := b.bounds(block)
	begin, end := b.begin[block], b.begin[block+1]
	first, last := b.m.a.RowPtr[lo], b.m.a.RowPtr[hi]
	cut, col, val := b.cut[2*lo:2*hi+1], b.m.a.Col[first:last], b.m.a.values(first, last)
	sum := func(from, to int) float64 {
		rows := b.near[from:to]
		q := 2 * kernel.SumPairs(d, r, int32(lo), rows, cut, col, val)
		if b.diagonal { // which is 0 in the rows between these that near lacks
			from, to := int(rows[0].Row), int(rows[len(rows)-1].Row)+1
			q += kernel.RowSquares(d[(from-lo)*r:(to-lo)*r], b.m.diag[from:to])
		}
		return q
	}
	switch {
	case begin == end:
		return 0
	case b.FewPairs(block):
		return b.m.scale * sum(begin, end)
	}
	return b.m.scale * b.sumRows(begin, end, sum)
}
