package matrix

import (
	"symnmf/internal/kernel"
	"symnmf/internal/rules"
)

// RoughProduct is a BlockProduct that can also multiply in float32, with a rounded copy of H. That takes half
// the time.
type RoughProduct interface {
	BlockProduct
	// PrefersRough reports whether that pays.
	PrefersRough() bool
	// StartRough copies all of H as it is, and prepares RoughTo, the first time in O(n²).
	StartRough()
	// Take copies rows lo ≤ i < hi of H. It may be called concurrently with other calls for other rows.
	// AddRow copies its row itself.
	Take(lo, hi int)
	// RoughTo is RowsTo for the copy of H. A number errs by some 1e-7 of the sum of its terms' magnitudes. It may be
	// called concurrently with other calls.
	RoughTo(dst []float64, lo, hi int)
	// TakeWay copies d for the rows lo ≤ i < hi, all of one block. It may be called concurrently with other
	// calls for other rows.
	TakeWay(d []float64, lo, hi int)
	// RoughStep is Step for the d that TakeWay copied, with products in float32.
	RoughStep(b int) float64
	// RoughStepAll is StepAll of a JointProduct, with products in float32.
	RoughStepAll(d *Dense, scratch []float64) (own, along float64)
}

// PrefersRough implements RoughProduct.
func (b *denseBlocks[F]) PrefersRough() bool {
	n, r := b.m.n, b.h.cols
	if n < rules.RoughFrom || r < rules.RoughCols || n*r < rules.RoughSize {
		return false
	}
	if _, single := any(b.m.a).([]float32); single {
		return !b.m.offDiag
	}
	return n <= rules.RoughTo
}

// StartRough implements RoughProduct.
func (b *denseBlocks[F]) StartRough() {
	n := b.m.n
	if b.narrow == nil {
		pitch := kernel.SinglePitch(b.h.cols)
		b.narrow, b.way, b.wide = make([]float32, n*pitch), make([]float32, b.size*pitch), newStepRooms(b.size, b.h.cols)
		b.single, b.singleScale = b.singles()
	}
	b.team.Do(kernel.BlockCount(n, b.size), func(k int) { b.Take(b.bounds(k)) })
}

// singles returns A in float32, copied unless it is in float32 already, and the scale by which it must be
// multiplied.
func (b *denseBlocks[F]) singles() (a []float32, scale float64) {
	m := b.m
	if a, is := any(m.a).([]float32); is {
		return a, m.scale
	}
	wide, u := any(m.a).([]float64), 1.0
	if m.norm > 0 {
		u = unit(m.norm / m.scale)
	}
	a = make([]float32, len(wide))
	const size = 1 << 10 // numbers, few enough for a cache
	b.team.Do(kernel.BlockCount(len(wide), size), func(k int) {
		var room [size]float64
		lo, hi := k*size, min((k+1)*size, len(wide))
		part := room[:hi-lo]
		copy(part, wide[lo:hi])
		kernel.Scale(part, u)
		kernel.ToFloat32(a[lo:hi], part)
	})
	for i := 0; m.offDiag && i < m.n; i++ {
		a[i*m.n+i] = 0
	}
	return a, m.scale / u
}

// Take implements RoughProduct.
func (b *denseBlocks[F]) Take(lo, hi int) {
	r := b.h.cols
	pitch := kernel.SinglePitch(r)
	kernel.ToSingles(b.narrow[lo*pitch:hi*pitch], b.h.data[lo*r:hi*r], r)
}

// RoughTo implements RoughProduct.
func (b *denseBlocks[F]) RoughTo(dst []float64, lo, hi int) {
	n := b.m.n
	clear(dst)
	kernel.SingleTimes(dst, b.singleScale, b.single[lo*n:hi*n], n, b.narrow, b.h.cols, (hi-lo-1)*n)
}

// TakeWay implements RoughProduct.
func (b *denseBlocks[F]) TakeWay(d []float64, lo, hi int) {
	pitch, first := kernel.SinglePitch(b.h.cols), lo/b.size*b.size
	kernel.ToSingles(b.way[(lo-first)*pitch:(hi-first)*pitch], d, b.h.cols)
}

// RoughStep implements RoughProduct.
func (b *denseBlocks[F]) RoughStep(block int) float64 {
	n, r := b.m.n, b.h.cols
	pitch := kernel.SinglePitch(r)
	first, last := b.bounds(block)
	return b.singleScale * b.sumRows(0, last-first, func(from, to int) float64 {
		sums, own := b.t.of(from, to, r), b.wide.of(from, to, r)
		for i := range to - from {
			kernel.ToFloat64(own[i*r:(i+1)*r], b.way[(from+i)*pitch:(from+i)*pitch+r])
		}
		clear(sums)
		row, end := (first+from)*n+first, (first+to-1)*n+first
		if from > 0 {
			kernel.SingleTimes(sums, 2, b.single[row:end+from], n, b.way[:from*pitch], r, 0)
		}
		kernel.SingleTimes(sums, 1, b.single[row+from:end+to], n, b.way[from*pitch:to*pitch], r, 0)
		return kernel.Dot(sums, own)
	})
}

// roughRows is the number of rows in one part of the work on all rows.
const roughRows = 64

// RoughStepAll implements RoughProduct.
func (b *denseBlocks[F]) RoughStepAll(d *Dense, scratch []float64) (own, along float64) {
	n, r := b.m.n, b.h.cols
	pitch := kernel.SinglePitch(r)
	if b.wayOfAll == nil {
		b.wayOfAll = make([]float32, n*pitch)
	}
	parts := kernel.BlockCount(n, roughRows)
	rows := func(k int) (lo, hi int) { return k * roughRows, min((k+1)*roughRows, n) }
	b.team.Do(parts, func(k int) {
		lo, hi := rows(k)
		kernel.ToSingles(b.wayOfAll[lo*pitch:hi*pitch], d.data[lo*r:hi*r], r)
	})
	sums := make([]kernel.Sum, 2*parts)
	b.team.Do(parts, func(k int) {
		lo, hi := rows(k)
		ad := scratch[lo*r : hi*r]
		clear(ad)
		kernel.SingleTimes(ad, b.singleScale, b.single[lo*n:hi*n], n, b.wayOfAll, r, (hi-lo-1)*n)
		sums[k].Value, sums[parts+k].Value = kernel.Dot(ad, d.data[lo*r:hi*r]), kernel.Dot(ad, b.h.data[lo*r:hi*r])
	})
	return kernel.Total(sums[:parts]), kernel.Total(sums[parts:])
}

// AddRow implements BlockProduct.
func (b *denseBlocks[F]) AddRow(i int, _ []float64) {
	if b.narrow != nil {
		b.Take(i, i+1)
	}
}
