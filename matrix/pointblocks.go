package matrix

import (
	"slices"
	"sync"

	"symnmf/internal/kernel"
)

// NewBlockProduct implements BlockMultiplier.
func (m *GramOperator) NewBlockProduct(h *Dense, size int, team *kernel.Team) BlockProduct {
	_, features := m.points.Dims()
	s := pointState{m: m, rowBlocks: newRowBlocks(h, size, team), features: features, positive: features, z: kernel.Numbers(features * h.cols)}
	s.partOf = make([]float64, kernel.BlockCount(features, featureBlock))
	var b BlockProduct
	switch x := m.points.(type) {
	case *Dense:
		d := &densePoints{pointState: s, x: x}
		if features >= size {
			m.kept.get(size, func(k *keptBlocks) { k.own = x.ownProducts(size, team) }, func(k *keptBlocks) { d.own = k.own })
			d.t = make([]float64, size*h.cols)
		} else {
			d.y = make([]float64, len(s.z))
		}
		b = d
	case signedPoints:
		s.positive = x.positive
		b = &densePoints{pointState: s, x: x.Dense, y: make([]float64, len(s.z))}
	case *CSR:
		p := &sparsePoints{pointState: s, x: x}
		m.kept.get(size, func(k *keptBlocks) { k.blocks = transposeBlocks(x, m.scale, size, team) }, func(k *keptBlocks) { p.blocks = k.blocks })
		b = p
	}
	b.Refresh()
	return b
}

// keptBlocks is what block products derive from the points alone, kept for the next run on the same operator.
type keptBlocks struct {
	mu     sync.Mutex
	size   int
	blocks []pointBlock
	own    []float64
}

// get has fill compute what there is for blocks of size rows, unless it is there, and hands it to use. With nothing to keep it in
// it is computed for this once.
func (k *keptBlocks) get(size int, fill, use func(k *keptBlocks)) {
	if k == nil {
		k = new(keptBlocks)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.size != size {
		fill(k)
		k.size = size
	}
	use(k)
}

// featureBlock is how many rows of Z one part of the work on them takes.
const featureBlock = 64

// pointState is Z = X·H (m×r by rows, scale included), and Z as it was.
type pointState struct {
	m *GramOperator
	rowBlocks
	features int
	positive int // features that count with a plus: Z is diag(σ)·X·H; all of them but for signedPoints
	z, last  []float64
	partOf   []float64 // a sum for each part of Z
}

// each calls f for blocks of the features.
func (b *pointState) each(f func(part, lo, hi int)) {
	b.team.Do(len(b.partOf), func(k int) { f(k, k*featureBlock, min((k+1)*featureBlock, b.features)) })
}

func (b *pointState) Extrapolate(beta float64, h *Dense) {
	if b.last == nil {
		b.last = kernel.Numbers(len(b.z))
	}
	b.h = h
	if beta != 0 {
		b.z, b.last = b.last, b.z
	}
	r := b.h.cols
	b.each(func(_, lo, hi int) {
		if beta == 0 {
			copy(b.last[lo*r:hi*r], b.z[lo*r:hi*r])
		} else {
			kernel.Extrapolate(b.z[lo*r:hi*r], beta, b.last[lo*r:hi*r])
		}
	})
}

// minus returns the rows of z with a minus, where z are the features from that one on.
func (b *pointState) minus(z []float64, from int) []float64 {
	return z[clamp((b.positive-from)*b.h.cols, 0, len(z)):]
}

// sumSq returns Σ_c σ_c·‖z_c‖² over the features from that one on.
func (b *pointState) sumSq(z []float64, from int) float64 {
	m := b.minus(z, from)
	return kernel.SumSq(z[:len(z)-len(m)]) - kernel.SumSq(m)
}

func (b *pointState) Inner() (float64, bool) {
	r := b.h.cols
	b.each(func(k, lo, hi int) { b.partOf[k] = b.sumSq(b.z[lo*r:hi*r], lo) })
	all := sum(b.partOf)
	if b.m.offDiag {
		for i, p := range b.m.diag {
			all -= b.m.scale * (b.m.scale * p) * kernel.SumSq(b.h.Row(i))
		}
	}
	return all, true
}

// densePoints takes ⟨A_BB·d, d⟩ as ‖Y‖² with Y = X_B·d, by which Z grows too; or, where there are so many features that A_BB is
// no larger than X_B, from A_BB. With signs Y is diag(σ)·X_B·d.
type densePoints struct {
	pointState
	x   *Dense
	y   []float64 // of the last Step, without scale; nil with own
	own []float64 // A_BB of each block without scale, n×size, or nil
	t   []float64 // scratch with own
}

// ownProducts returns the inner products of each row with those of its block.
func (m *Dense) ownProducts(size int, team *kernel.Team) []float64 {
	own := make([]float64, m.rows*size)
	team.Do(kernel.BlockCount(m.rows, size), func(block int) {
		lo := block * size
		for i := lo; i < min(lo+size, m.rows); i++ {
			for l := lo; l <= i; l++ {
				v := kernel.Dot(m.Row(i), m.Row(l))
				own[i*size+l-lo], own[l*size+i-lo] = v, v
			}
		}
	})
	return own
}

func (b *densePoints) RowsTo(dst []float64, lo, hi int) {
	b.x.rowsTo(dst, lo, hi, b.z, b.h.cols)
	b.m.finish(dst, lo, hi, b.h)
}

// times sets rows from to to of y to those of diag(σ)·X_B·d, B the rows from lo on.
func (b *densePoints) times(y, d []float64, lo, from, to int) {
	clear(y)
	n := len(d) / b.h.cols
	kernel.TransTimes(y, b.x.data[lo*b.x.cols+from:(lo+n-1)*b.x.cols+to], b.x.cols, d, b.h.cols)
	negate(b.minus(y, from))
}

func negate(z []float64) {
	for p, v := range z {
		z[p] = -v
	}
}

func (b *densePoints) Step(block int, d []float64) float64 {
	r := b.h.cols
	lo, hi := b.bounds(block)
	if b.own != nil {
		return b.m.scale * (b.m.scale * quad(&b.rowBlocks, b.own[lo*b.size:(hi-1)*b.size+hi-lo], b.size, d, b.t, b.m.offDiag))
	}
	b.each(func(k, from, to int) {
		y := b.y[from*r : to*r]
		b.times(y, d, lo, from, to)
		b.partOf[k] = b.sumSq(y, from)
	})
	q := sum(b.partOf)
	if b.m.offDiag {
		for i := lo; i < hi; i++ {
			q -= b.m.diag[i] * kernel.SumSq(d[(i-lo)*r:(i-lo+1)*r])
		}
	}
	return q * b.m.scale * b.m.scale
}

func (b *densePoints) Move(block int, t float64, e []float64) {
	r := b.h.cols
	lo, _ := b.bounds(block)
	if b.own != nil {
		for k := range e {
			e[k] *= b.m.scale
		}
	}
	b.each(func(_, from, to int) {
		if b.own != nil {
			n := len(e) / r
			kernel.TransTimes(b.z[from*r:to*r], b.x.data[lo*b.x.cols+from:(lo+n-1)*b.x.cols+to], b.x.cols, e, r)
			return
		}
		y, t := b.y[from*r:to*r], t
		if t == 0 {
			b.times(y, e, lo, from, to)
			t = 1
		}
		kernel.Axpy(b.z[from*r:to*r], t*b.m.scale, y)
	})
}

func (b *densePoints) AddRow(i int, d []float64) {
	r := b.h.cols
	for c, v := range b.x.Row(i) {
		if c >= b.positive {
			v = -v
		}
		if v != 0 {
			kernel.Axpy(b.z[c*r:(c+1)*r], v*b.m.scale, d)
		}
	}
}

func (b *densePoints) Refresh() {
	r := b.h.cols
	b.each(func(_, from, to int) {
		z := b.z[from*r : to*r]
		b.times(z, b.h.data, 0, from, to)
		for k := range z {
			z[k] *= b.m.scale
		}
	})
}

// sparsePoints holds, besides X, the part of it that belongs to each block by features, so that a row of Z gathers what the
// block's rows add to it, and the inner products of the points of each block below the diagonal.
type sparsePoints struct {
	pointState
	x      *CSR
	blocks []pointBlock
}

// pointBlock is X_B and A_BB, scale included. Rows are counted from the block's first.
type pointBlock struct {
	feature []int32 // that occur, increasing
	from    []int32 // where the entries of each begin, and where the last end
	row     []int32
	val     []float64

	lowFrom []int32 // where the entries of each row of A_BB begin, and where the last end
	low     []int32
	lowVal  []float64
}

func transposeBlocks(x *CSR, scale float64, size int, team *kernel.Team) []pointBlock {
	blocks := make([]pointBlock, kernel.BlockCount(x.rows, size))
	places := make(chan []int32, team.Members()) // scratch: for each feature, one number that is 0 between blocks
	team.Do(len(blocks), func(k int) {
		var place []int32
		select {
		case place = <-places:
		default:
			place = make([]int32, x.cols)
		}
		blocks[k] = transposeBlock(x, scale, k*size, min((k+1)*size, x.rows), place)
		select {
		case places <- place:
		default:
		}
	})
	return blocks
}

func transposeBlock(x *CSR, scale float64, lo, hi int, place []int32) pointBlock {
	var b pointBlock
	col := x.Col[x.RowPtr[lo]:x.RowPtr[hi]]
	distinct := 0
	for _, c := range col {
		if place[c] == 0 {
			place[c] = 1
			distinct++
		}
	}
	b.feature = make([]int32, 0, distinct)
	if distinct > x.cols/16 {
		for c, there := range place {
			if there != 0 {
				b.feature = append(b.feature, int32(c))
			}
		}
	} else {
		for _, c := range col {
			if place[c] == 1 {
				b.feature, place[c] = append(b.feature, c), 2
			}
		}
		slices.Sort(b.feature)
	}
	for k, c := range b.feature {
		place[c] = int32(k)
	}
	b.from = make([]int32, len(b.feature)+1)
	for _, c := range col {
		b.from[place[c]+1]++
	}
	for k := range b.feature {
		b.from[k+1] += b.from[k]
	}
	next := slices.Clone(b.from)
	b.row, b.val = make([]int32, len(col)), make([]float64, len(col))
	b.lowFrom = make([]int32, hi-lo+1)
	acc, touched := make([]float64, hi-lo), make([]bool, hi-lo)
	for i := range hi - lo {
		idx, val := x.Row(lo + i)
		for p, c := range idx {
			v, k := scale*value(val, p), place[c]
			for q := b.from[k]; q < next[k]; q++ { // the rows before that have the feature
				l := b.row[q]
				acc[l] += v * b.val[q]
				touched[l] = true
			}
			b.row[next[k]], b.val[next[k]] = int32(i), v
			next[k]++
		}
		for l := range i {
			if touched[l] {
				b.low, b.lowVal = append(b.low, int32(l)), append(b.lowVal, acc[l])
				acc[l], touched[l] = 0, false
			}
		}
		b.lowFrom[i+1] = int32(len(b.low))
	}
	for _, c := range b.feature {
		place[c] = 0
	}
	b.low, b.lowVal = slices.Clip(b.low), slices.Clip(b.lowVal)
	return b
}

func (b *sparsePoints) RowsTo(dst []float64, lo, hi int) {
	b.x.rowsTo(dst, lo, hi, b.z, b.h.cols)
	b.m.finish(dst, lo, hi, b.h)
}

func (b *sparsePoints) Step(block int, d []float64) float64 {
	r, x := b.h.cols, &b.blocks[block]
	lo, hi := b.bounds(block)
	return b.sumRows(lo, hi, func(from, to int) (q float64) {
		var own [64]float64
		t := own[:]
		if r > len(t) {
			t = make([]float64, r)
		}
		t = t[:r]
		for i := from; i < to; i++ {
			di := d[(i-lo)*r : (i-lo+1)*r]
			if p, end := x.lowFrom[i-lo], x.lowFrom[i-lo+1]; p < end {
				clear(t)
				kernel.GatherRows(t, x.low[p:end], x.lowVal[p:end], d)
				q += 2 * kernel.Dot(t, di)
			}
			if !b.m.offDiag {
				q += b.m.scale * (b.m.scale * b.m.diag[i]) * kernel.SumSq(di)
			}
		}
		return q
	})
}

// moveFeatures is how many features of a block one part of a Move takes.
const moveFeatures = 256

func (b *sparsePoints) Move(block int, _ float64, e []float64) {
	r, x := b.h.cols, &b.blocks[block]
	b.team.Do(kernel.BlockCount(len(x.feature), moveFeatures), func(part int) {
		lo, hi := part*moveFeatures, min((part+1)*moveFeatures, len(x.feature))
		from, to := x.from[lo], x.from[hi]
		kernel.AddGathered(b.z, r, x.feature[lo:hi], x.from[lo:hi+1], x.row[from:to], x.val[from:to], e)
	})
}

func (b *sparsePoints) AddRow(i int, d []float64) {
	r := b.h.cols
	col, val := b.x.Row(i)
	for p, c := range col {
		kernel.Axpy(b.z[int(c)*r:(int(c)+1)*r], b.m.scale*value(val, p), d)
	}
}

func (b *sparsePoints) Refresh() {
	r := b.h.cols
	clear(b.z)
	for k := range b.blocks {
		lo, hi := b.bounds(k)
		b.Move(k, 0, b.h.data[lo*r:hi*r])
	}
}
