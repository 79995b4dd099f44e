package matrix

import (
	"math"
	"sync"

	"symnmf/internal/kernel"
	"symnmf/internal/rules"
)

// NewBlockProduct implements BlockMultiplier.
func (m *GramOperator) NewBlockProduct(h *Dense, size int, team *kernel.Team) BlockProduct {
	_, features := m.points.Dims()
	s := pointState{m: m, rowBlocks: newRowBlocks(h, size, team), features: features, positive: features, z: kernel.Numbers(features * h.cols)}
	var b BlockProduct
	switch x := m.points.(type) {
	case *Dense:
		s.divide()
		d := &densePoints{pointState: s, x: x}
		if features < size {
			b = d.withSteps(size)
		} else {
			m.kept.get(size, func(k *keptBlocks) { k.own = x.ownProducts(size, team.Members()) }, func(k *keptBlocks) { d.own = k.own })
			d.t = newStepRooms(size, h.cols)
			b = d
		}
	case signedPoints:
		s.positive = x.positive
		s.divide()
		b = (&densePoints{pointState: s, x: x.Dense}).withSteps(size)
	case *CSR:
		p := &sparsePoints{pointState: s, x: x, y: make([]float64, pointTerms*moveParts*stepFeatures*h.cols)}
		m.kept.get(size, func(k *keptBlocks) { k.blocks = splitBlocks(x, m.scale, size, team.Members()) }, func(k *keptBlocks) { p.blocks = k.blocks })
		p.divideTerms()
		b = p
	}
	b.Refresh()
	return b
}

// keptBlocks holds what block products derive from the points alone, kept for the next run on the same
// operator.
type keptBlocks struct {
	mu     sync.Mutex
	size   int
	blocks []pointBlock
	own    []float64
	byTerm [pointTerms]*CSR // nil until they are needed
}

// get passes k to use, after fill has computed what depends on the block size, unless that is there already.
// A nil k keeps nothing, and fill computes for this call only.
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

// terms returns the columns of x divided by terms.
func (k *keptBlocks) terms(x *CSR, workers int) [pointTerms]*CSR {
	if k == nil {
		return x.splitColumns(workers)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byTerm[0] == nil {
		k.byTerm = x.splitColumns(workers)
	}
	return k.byTerm
}

// pointTerms is the number of terms of a row of A·H = XᵀZ. Each term is a sum over some of the features. As a
// rule, the member that computes a term also changes the same rows of Z, which then stay in its own cache.
const pointTerms = 2

// featureBlock is the largest number of rows of Z in one part of the work on them. That many neighboring
// features also belong to the same term, and the next as many to the next term. So each term has about as
// many features of every block of items, even if features are in the order in which they first occur.
const featureBlock = 64

func termOf(feature int32) int { return int(uint32(feature) / featureBlock % pointTerms) }

// featureRange is a part of Z: the features from lo to hi.
type featureRange struct{ lo, hi int }

// pointState holds Z = X·H (m×r by rows, scale included), and Z as it was before.
type pointState struct {
	m *GramOperator
	rowBlocks
	features int
	positive int // number of features with sign plus; Z is diag(σ)·X·H. All features, except for signedPoints
	z, last  []float64
	parts    []featureRange
	partOf   []kernel.Sum // a sum for each part
}

// divide divides Z into parts, all but the last of whole tiles.
func (b *pointState) divide() {
	const tile = 8
	count := max(kernel.BlockCount(b.features, featureBlock), 1)
	size := kernel.BlockCount(kernel.BlockCount(b.features, count), tile) * tile
	for lo := 0; lo < b.features; lo += size {
		b.parts = append(b.parts, featureRange{lo, min(lo+size, b.features)})
	}
	b.partOf = make([]kernel.Sum, len(b.parts))
}

// divideTerms divides Z into parts, with those of each term next to each other.
func (b *pointState) divideTerms() {
	for term := range pointTerms {
		for lo := term * featureBlock; lo < b.features; lo += pointTerms * featureBlock {
			b.parts = append(b.parts, featureRange{lo, min(lo+featureBlock, b.features)})
		}
	}
	b.partOf = make([]kernel.Sum, len(b.parts))
}

// each calls f for the parts of Z.
func (b *pointState) each(f func(part, lo, hi int)) {
	b.team.Do(len(b.parts), func(k int) { f(k, b.parts[k].lo, b.parts[k].hi) })
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
			kernel.Extrapolate(b.z[lo*r:hi*r], beta, b.last[lo*r:hi*r], math.Inf(-1))
		}
	})
}

// minus returns the rows of z with sign minus, where z begins with feature from.
func (b *pointState) minus(z []float64, from int) []float64 {
	return z[clamp((b.positive-from)*b.h.cols, 0, len(z)):]
}

// sumSq returns Σ_c σ_c·‖z_c‖² over the rows of z, where z begins with feature from.
func (b *pointState) sumSq(z []float64, from int) float64 {
	m := b.minus(z, from)
	return kernel.SumSq(z[:len(z)-len(m)]) - kernel.SumSq(m)
}

func (b *pointState) Inner() (float64, bool) {
	r := b.h.cols
	b.each(func(k, lo, hi int) { b.partOf[k].Value = b.sumSq(b.z[lo*r:hi*r], lo) })
	all := kernel.Total(b.partOf)
	if b.m.offDiag {
		for i, p := range b.m.diag {
			all -= b.m.scale * (b.m.scale * p) * kernel.SumSq(b.h.Row(i))
		}
	}
	return all, true
}

var (
	_ TermProduct  = (*densePoints)(nil)
	_ JointProduct = (*densePoints)(nil)
)

// densePoints computes ⟨A_BB·d, d⟩ as ‖Y‖² with Y = X_B·d, by which Z grows, too. If there are so many
// features that A_BB is no larger than X_B, it uses A_BB instead. With signs, Y is diag(σ)·X_B·d.
type densePoints struct {
	pointState
	x   *Dense
	y   []float64 // Y of the last Step, without scale; nil if own is used
	own []float64 // A_BB of each block without scale, n×size, or nil
	t   stepRooms // scratch, if own is used
	all []float64 // diag(σ)·X·d of the last StepAll, without scale
}

// withSteps returns b with room for the growth of Z in a step. It returns a GainProduct if that growth is
// smaller than the rows of a block and is all that a step needs.
func (b *densePoints) withSteps(size int) BlockProduct {
	b.y = make([]float64, len(b.z))
	if b.features < size && b.features <= rules.MostGainFeatures && size <= rules.MostGainRows && !b.m.offDiag {
		return &fewFeatures{b}
	}
	return b
}

// ownFeatures is the number of features that ownProducts takes at a time.
const ownFeatures = 128

// ownProducts returns the inner products of each row with the rows of its block.
func (m *Dense) ownProducts(size, workers int) []float64 {
	own := make([]float64, m.rows*size)
	type room struct{ products, x []float64 } // x is the block by features
	scratch := func() room { return room{make([]float64, size*size), make([]float64, ownFeatures*size)} }
	kernel.BlocksWith(m.rows, size, workers, scratch, func(s room, _, lo, hi int) {
		rows := hi - lo
		products, x := s.products[:rows*rows], s.x[:ownFeatures*rows]
		clear(products)
		for from := 0; from < m.cols; from += ownFeatures {
			n := min(ownFeatures, m.cols-from)
			transpose(x, rows, m.data[lo*m.cols+from:], m.cols, rows, n)
			kernel.GramRows(products, x[:n*rows], rows, 0, rows)
		}
		kernel.Mirror(products, rows)
		for i := range rows {
			copy(own[(lo+i)*size:], products[i*rows:(i+1)*rows])
		}
	})
	return own
}

func (b *densePoints) RowsTo(dst []float64, lo, hi int) {
	clear(dst)
	kernel.AddRowsTimes(dst, b.m.scale, b.x.data[lo*b.x.cols:hi*b.x.cols], b.x.cols, b.z, b.h.cols)
	b.m.leaveOut(dst, lo, hi, b.h)
}

// Terms implements TermProduct.
func (b *densePoints) Terms() int { return pointTerms }

// TermTo implements TermProduct. The features of a term are those of a run of consecutive parts of Z, about
// as many for each term.
func (b *densePoints) TermTo(dst []float64, term, lo, hi int) {
	r, parts := b.h.cols, len(b.parts)
	clear(dst)
	if own := b.parts[(parts*term+1)/pointTerms : (parts*(term+1)+1)/pointTerms]; len(own) > 0 {
		from, to := own[0].lo, own[len(own)-1].hi
		kernel.AddRowsTimes(dst, b.m.scale, b.x.data[lo*b.x.cols+from:(hi-1)*b.x.cols+to], b.x.cols, b.z[from*r:to*r], r)
	}
	if term == 0 {
		b.m.leaveOut(dst, lo, hi, b.h)
	}
}

// times sets y to rows from to to of diag(σ)·X_B·d, where B are the rows from lo on, as many as d has.
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
		b.partOf[k].Value = b.sumSq(y, from)
	})
	q := kernel.Total(b.partOf)
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
	b.each(func(_, from, to int) {
		if b.own != nil {
			n := len(e) / r
			kernel.AddTransTimes(b.z[from*r:to*r], b.m.scale, b.x.data[lo*b.x.cols+from:(lo+n-1)*b.x.cols+to], b.x.cols, e, r)
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

// StepAll implements JointProduct.
func (b *densePoints) StepAll(d *Dense, _ []float64) (own, along float64) {
	r := b.h.cols
	if b.all == nil {
		b.all = make([]float64, len(b.z))
	}
	sums := make([]kernel.Sum, 2*len(b.parts))
	b.each(func(k, from, to int) {
		y, z := b.all[from*r:to*r], b.z[from*r:to*r]
		b.times(y, d.data, 0, from, to)
		less := len(y) - len(b.minus(y, from))
		sums[2*k].Value = b.sumSq(y, from)
		sums[2*k+1].Value = kernel.Dot(y[:less], z[:less]) - kernel.Dot(y[less:], z[less:])
	})
	for k := range b.parts {
		own += sums[2*k].Value
		along += sums[2*k+1].Value
	}
	if b.m.offDiag {
		for i, p := range b.m.diag {
			own -= p * kernel.SumSq(d.Row(i))
			along -= b.m.scale * p * kernel.Dot(d.Row(i), b.h.Row(i))
		}
	}
	return own * b.m.scale * b.m.scale, along * b.m.scale
}

// MoveAll implements JointProduct.
func (b *densePoints) MoveAll(t float64) {
	r := b.h.cols
	b.each(func(_, from, to int) { kernel.Axpy(b.z[from*r:to*r], t*b.m.scale, b.all[from*r:to*r]) })
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
		kernel.Scale(z, b.m.scale)
	})
}

// fewFeatures is densePoints with fewer features than a block has rows. Z then has fewer rows than d, so
// members of a team pass on rows of Z instead of rows of d.
type fewFeatures struct{ *densePoints }

var _ GainProduct = (*fewFeatures)(nil)

// GainLen implements GainProduct.
func (b *fewFeatures) GainLen() int { return len(b.z) }

// GainTo implements GainProduct. A gain is diag(σ)·X_G·d, without scale.
func (b *fewFeatures) GainTo(gain []float64, lo int, d []float64) {
	b.times(gain, d, lo, 0, b.features)
}

// StepGains implements GainProduct.
func (b *fewFeatures) StepGains(gains [][]float64) float64 {
	r := b.h.cols
	b.each(func(k, from, to int) {
		y := b.y[from*r : to*r]
		copy(y, gains[0][from*r:to*r])
		for _, gain := range gains[1:] {
			kernel.Axpy(y, 1, gain[from*r:to*r])
		}
		b.partOf[k].Value = b.sumSq(y, from)
	})
	return kernel.Total(b.partOf) * b.m.scale * b.m.scale
}

// MoveGains implements GainProduct.
func (b *fewFeatures) MoveGains(t []float64, gains [][]float64) {
	r := b.h.cols
	b.each(func(_, from, to int) {
		for k, gain := range gains {
			kernel.Axpy(b.z[from*r:to*r], t[k]*b.m.scale, gain[from*r:to*r])
		}
	})
}

// sparsePoints holds, besides X, the rows of each block by features, so that a row of Z gathers what the rows
// of the block add to it. Once terms are asked for, it also holds X divided by terms.
//
// ⟨A_BB·d, d⟩ is ‖X_B·d‖². Nothing of X_B·d is kept, because the rows may not move by a multiple of d: they
// may be cut off at zero.
type sparsePoints struct {
	pointState
	x      *CSR
	blocks []pointBlock
	y      []float64        // scratch, with stepFeatures rows for each part of a step
	byTerm [pointTerms]*CSR // X with only the columns of each term
	stepOf [pointTerms * moveParts]kernel.Sum
}

var _ TermProduct = (*sparsePoints)(nil)

func (b *sparsePoints) RowsTo(dst []float64, lo, hi int) {
	b.x.rowsTo(dst, lo, hi, b.z, b.h.cols)
	b.m.finish(dst, lo, hi, b.h)
}

func (b *sparsePoints) Step(block int, d []float64) float64 {
	q := b.sumFeatures(block, d, b.squares)
	if !b.m.offDiag {
		return q
	}
	own, r := 0.0, b.h.cols
	for i, lo := 0, block*b.size; i < len(d)/r; i++ {
		own += b.m.scale * (b.m.scale * b.m.diag[lo+i]) * kernel.SumSq(d[i*r:(i+1)*r])
	}
	if rest := q - own; math.Abs(rest) > differsBy*own {
		return rest
	}
	return b.sumFeatures(block, d, b.pairs)
}

// differsBy is the least difference of two sums, relative to one of them, that leaves ten digits in the
// difference.
const differsBy = 1e-6

// sumFeatures adds up f over the features of a block. Each call of f is for some of them, lo to hi, and gets
// scratch y with a row of zeros for each of these.
func (b *sparsePoints) sumFeatures(block int, d []float64, f func(x *pointBlock, y []float64, lo, hi int32, d []float64) float64) float64 {
	part := b.stepOf[:]
	x, r := &b.blocks[block], b.h.cols
	b.team.Do(len(part), func(k int) {
		var sum float64
		for lo, end := x.part[k], x.part[k+1]; lo < end; lo += stepFeatures {
			hi := min(lo+stepFeatures, end)
			y := b.y[k*stepFeatures*r:][:int(hi-lo)*r]
			clear(y)
			sum += f(x, y, lo, hi, d)
		}
		part[k].Value = sum
	})
	return kernel.Total(part)
}

// squares returns the part of ‖X_B·d‖² that comes from features lo to hi.
func (b *sparsePoints) squares(x *pointBlock, y []float64, lo, hi int32, d []float64) float64 {
	from, to := x.from[lo], x.from[hi]
	kernel.AddGathered(y, b.h.cols, inOrder[:hi-lo], x.from[lo:hi+1], x.row[from:to], x.val[from:to], d)
	return kernel.SumSq(y)
}

// pairs returns the part of ⟨A_BB·d, d⟩ off the diagonal that comes from features lo to hi. It never adds the
// part on the diagonal, which may exceed it.
func (b *sparsePoints) pairs(x *pointBlock, y []float64, lo, hi int32, d []float64) (q float64) {
	r := b.h.cols
	for k := lo; k < hi; k++ {
		before := y[int(k-lo)*r:][:r] // sum over the rows so far that have the feature
		for p := x.from[k]; p < x.from[k+1]; p++ {
			di := d[int(x.row[p])*r:][:r]
			q += 2 * x.val[p] * kernel.Dot(before, di)
			kernel.Axpy(before, x.val[p], di)
		}
	}
	return q
}

// stepFeatures is the number of features for which X_B·d is computed at once.
const stepFeatures = 32

// inOrder holds the numbers from 0 on.
var inOrder = func() (k [stepFeatures]int32) {
	for i := range k {
		k[i] = int32(i)
	}
	return k
}()

// Terms implements TermProduct. X by terms is made here, because not every algorithm that moves blocks needs
// it.
func (b *sparsePoints) Terms() int {
	if b.byTerm[0] == nil {
		b.byTerm = b.m.kept.terms(b.x, b.team.Members())
	}
	return pointTerms
}

// TermTo implements TermProduct.
func (b *sparsePoints) TermTo(dst []float64, term, lo, hi int) {
	r := b.h.cols
	gatherTo(b.byTerm[term], dst, lo, hi, b.z, r, b.m.scale)
	if term == 0 {
		b.m.leaveOut(dst, lo, hi, b.h)
	}
}

// moveParts is the number of parts of a Move that change rows of Z of one term.
const moveParts = 8

func (b *sparsePoints) Move(block int, _ float64, e []float64) {
	r, x := b.h.cols, &b.blocks[block]
	b.team.Do(pointTerms*moveParts, func(part int) {
		lo, hi := x.part[part], x.part[part+1]
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
		if rows := b.h.data[lo*r : hi*r]; kernel.Nonzero(rows) {
			b.Move(k, 0, rows)
		}
	}
}
