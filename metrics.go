package symnmf

import (
	"fmt"
	"math"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// figures is everything worth knowing about one H, in the scaled units of a problem.
type figures struct {
	errSq    float64 // ‖A−HHᵀ‖²
	floorSq  float64 // bound on the rounding error of errSq
	gradKKT  float64 // ‖H − [H − G/‖A‖]₊‖²
	penalty  float64 // Σ_j Λ_j‖H_:,j‖₁
	ah, hhSq float64 // ⟨AH,H⟩ and ‖HHᵀ‖², off the diagonal when that is ignored
	rowQuad  float64 // Σ‖H_i,:‖⁴ when the diagonal is ignored, else 0
	zeroCols int
	zeroRows int
	loose    []int // items i with (A·H)_i,: = 0, to rounding, and H_i,: ≠ 0; zeros in row i would lower the objective
	normOfA  float64
}

// relErr is ‖A−HHᵀ‖/‖A‖; 0 when A = 0.
func (f *figures) relErr() float64 {
	if f.normOfA == 0 {
		return 0
	}
	return math.Sqrt(f.errSq) / f.normOfA
}

func (f *figures) floor() float64 {
	if f.normOfA == 0 {
		return 0
	}
	return math.Sqrt(f.floorSq) / f.normOfA
}

// kkt is the residual of Result.KKT. When A = 0 it is 0 for H = 0 and infinite for any other H.
func (f *figures) kkt() float64 {
	switch {
	case f.normOfA > 0:
		return math.Sqrt(f.gradKKT / f.normOfA)
	case f.hhSq == 0:
		return 0
	}
	return math.Inf(1)
}

// objective is ¼‖A−HHᵀ‖² + Σ_j Λ_j‖H_:,j‖₁.
func (f *figures) objective() float64 { return f.errSq/4 + f.penalty }

// RelErr returns ‖A−HHᵀ‖/‖A‖ for any H (n×r) of finite numbers, and the floor below which that is noise. It
// tells how well an H that was fitted to something in place of A fits A itself; for an H that was fitted to
// A, Result has these figures.
//
// Both are +Inf where their squares are beyond float64, and 0 where A = 0, whatever H is. Of the options only
// Threads and IgnoreDiagonal count. The cost is a product A·H and O(n·r²).
//
// The error is ErrUnfit when H does not have n rows or has an entry that is not finite. Otherwise it is what
// Factorize returns for such an A, r or Threads.
func RelErr(a matrix.Operator, h *matrix.Dense, opt Options) (relErr, floor float64, err error) {
	if a == nil || h == nil {
		return 0, 0, fmt.Errorf("%w: the matrix or H is nil", ErrUnfit)
	}
	n, r := h.Dims()
	if n != a.Dim() {
		return 0, 0, fmt.Errorf("%w: H has %d rows and A %d items", ErrUnfit, n, a.Dim())
	}
	if c := h.Survey().NotFinite; c.Count > 0 {
		return 0, 0, fmt.Errorf("%w: H[%d,%d] = %v", ErrUnfit, c.Row, c.Col, c.Value)
	}
	p, err := newProblem(a, r, &Options{Threads: opt.Threads, IgnoreDiagonal: opt.IgnoreDiagonal})
	if err != nil {
		return 0, 0, err
	}
	scaled := h.Clone()
	for k := range scaled.Data() {
		scaled.Data()[k] *= math.Sqrt(p.scale)
	}
	f := p.measure(scaled)
	if !finite(f.ah) && finite(f.hhSq) {
		return 0, 0, errProducts
	}
	if math.IsNaN(f.errSq) || math.IsNaN(f.floorSq) { // from infinite terms
		return math.Inf(1), math.Inf(1), nil
	}
	return f.relErr(), f.floor(), nil
}

// measureBlock is the number of rows of A·H in memory at a time. gradientRows is how many of them have one sum: in a
// lane of it, up to five numbers of each row are added up if rows are short, and a fourth of them if they are long.
const (
	measureBlock = 64
	gradientRows = 16
)

// measure computes the figures of h (n×r) from their definitions, without forming HHᵀ:
//
//	‖A−HHᵀ‖² = ‖A‖² − 2⟨AH,H⟩ + ‖HᵀH‖²,   G = H·(HᵀH) − A·H + Λ
//
// When the diagonal is ignored, p.a has none. Then the first is less by Σ‖H_i,:‖⁴ and row i of the second by
// ‖H_i,:‖²·H_i,: (see others).
//
// The first formula cancels: its terms carry a relative rounding error of ε times the depth of their sums.
// Where that shows, and n is small enough, the error is summed again entry by entry. O(nnz·r + n·r²) time and
// O(blocks·r) memory.
func (p *problem) measure(h *matrix.Dense) figures {
	if !kernel.Nonzero(h.Data()) { // the gradient at 0 is Λ ≥ 0, and needs no product
		f := figures{normOfA: p.norm, errSq: p.norm * p.norm, zeroCols: p.r, zeroRows: p.n}
		f.floorSq = 0x1p-53 * float64(p.n) * p.normFrom * p.normFrom
		return f
	}
	return p.measureWith(h, matrix.ProductOf(p.a, h, p.workers))
}

// measureStart is measure for an h that its start has just filled.
func (p *problem) measureStart(h *matrix.Dense) figures {
	begun := p.begun
	p.begun, p.spare = startProducts{}, begun.ah
	if begun.ah == nil {
		return p.measure(h)
	}
	return p.measureFrom(h, begun.d, func(_ []float64, lo, hi int) []float64 { return begun.ah[lo*p.r : hi*p.r] })
}

// measureWith is measure with the product given. h may have more columns than r, all zeros.
func (p *problem) measureWith(h *matrix.Dense, product matrix.Product) figures {
	return p.measureFrom(h, p.gram(h), func(scratch []float64, lo, hi int) []float64 {
		product.RowsTo(scratch, lo, hi)
		return scratch
	})
}

// measureFrom is measureWith with d and ahOf in place of the product, as in measureRows.
func (p *problem) measureFrom(h *matrix.Dense, d []float64, ahOf func(scratch []float64, lo, hi int) []float64) figures {
	f := p.measureRows(h, d, nil, ahOf)
	p.count(h, &f)
	return f
}

// measureRows is measureFrom without the figures that depend on h alone (see count). d is HᵀH. ahOf returns
// rows of A·H, perhaps in the scratch it is given. keep, if it is not nil, receives H·(HᵀH) or, when
// the diagonal is ignored, in each row what the other rows contribute to it (see others).
func (p *problem) measureRows(h *matrix.Dense, d []float64, keep *matrix.Dense, ahOf func(scratch []float64, lo, hi int) []float64) figures {
	f := figures{normOfA: p.norm}
	blocks := kernel.BlockCount(p.n, measureBlock)
	parts := make([]measured, blocks)
	_, r := h.Dims()
	scratch := func() []float64 { return make([]float64, 2*measureBlock*r) }
	kernel.BlocksWith(p.n, measureBlock, p.workers, scratch, func(s []float64, b, lo, hi int) {
		hd, ah := s[:(hi-lo)*r], ahOf(s[measureBlock*r:][:(hi-lo)*r], lo, hi)
		if keep != nil {
			hd = keep.Data()[lo*r : hi*r]
		}
		clear(hd)
		kernel.RowsTimes(hd, h.Data()[lo*r:hi*r], r, d, r)
		parts[b] = p.measurePart(h, hd, ah, lo, hi)
	})
	var summed float64
	for b := range parts {
		part := &parts[b]
		f.ah += part.ah
		f.gradKKT += part.gradSq
		f.rowQuad += part.rowQuad
		f.hhSq += part.off
		summed += part.rounded
		f.loose = append(f.loose, part.loose...)
	}
	if !p.ignoreDiag {
		for _, v := range d {
			f.hhSq += v * v
		}
		summed += f.hhSq
	}

	f.errSq = max(0, p.norm*p.norm-2*f.ah+f.hhSq)
	if !finite(f.ah) { // +Inf would make errSq 0
		f.errSq = math.NaN()
	}
	// Sums run over at most n terms in a row of A, r + 64 in the rows of H of a block, and one for each block.
	depth := float64(p.rowDepth() + p.r + measureBlock + blocks)
	f.floorSq = 0x1p-53 * depth * (p.normFrom*p.normFrom + 2*f.ah + summed)
	if f.errSq < 1e4*f.floorSq {
		if visitor, ok := p.a.(matrix.RowVisitor); ok && float64(p.n)*float64(p.n)*float64(p.r) <= directLimit {
			p.measureDirectly(visitor, h, &f)
		}
	}
	return f
}

// measured is what a block of rows contributes to figures.
type measured struct {
	ah, gradSq   float64 // to ah and gradKKT
	rowQuad, off float64 // to rowQuad and hhSq, with the diagonal ignored
	rounded      float64 // to the sum of the magnitudes of rounded numbers
	loose        []int
}

// measurePart finds what rows lo to hi of h contribute. hd has these rows of H·(HᵀH), which become what others leaves
// of them if the diagonal is ignored, and ah those of A·H.
func (p *problem) measurePart(h *matrix.Dense, hd, ah []float64, lo, hi int) (m measured) {
	_, r := h.Dims()
	for i := lo; i < hi && p.ignoreDiag; i++ {
		row, g := h.Row(i), hd[(i-lo)*r:(i-lo+1)*r]
		own := kernel.SumSq(row)
		m.rowQuad += own * own
		anew := p.others(g, h, i, own)
		along := kernel.Dot(g, row)
		if m.off += along; anew {
			m.rounded += along
		} else {
			m.rounded += along + 2*own*own
		}
	}
	invNorm := 1.0
	if p.norm > 0 {
		invNorm = 1 / p.norm
	}
	empty := false
	for at := lo; at < hi; at += gradientRows {
		end := min(at+gradientRows, hi)
		from, to := (at-lo)*r, (end-lo)*r
		// v − max(0, v − grad/‖A‖) = min(v, grad/‖A‖)
		stepSq, along, some := kernel.GradientStep(h.Data()[at*r:end*r], hd[from:to], ah[from:to], r, p.l1, invNorm)
		m.gradSq, m.ah, empty = m.gradSq+stepSq, m.ah+along, empty || some
	}
	taken := 0.0
	for i := lo; i < hi && (empty || p.taken != nil); i++ {
		row, ahRow := h.Row(i), ah[(i-lo)*r:(i-lo+1)*r]
		if p.isRounding(ahRow, row, i) && kernel.Nonzero(row) {
			m.loose = append(m.loose, i)
		}
		if p.taken != nil {
			taken += math.Abs(p.taken[i]) * kernel.SumSq(row)
		}
	}
	m.rounded += 4 * taken
	return m
}

// rowDepth is an estimate of the largest number of terms in an entry of A·H.
func (p *problem) rowDepth() int { return min(p.n, int(p.a.Stored()/int64(p.n))*4+64) }

// isRounding reports whether ah, row i of A·H, is zero. Where products subtract the diagonal from what they
// have summed, it also counts as zero if it is what rounding leaves of that.
func (p *problem) isRounding(ah, h []float64, i int) bool {
	if p.taken == nil {
		return !kernel.Nonzero(ah)
	}
	most := 0x1p-53 * float64(p.rowDepth()) * math.Abs(p.taken[i])
	for j, v := range ah {
		if math.Abs(v) > most*math.Abs(h[j]) {
			return false
		}
	}
	return true
}

// directLimit bounds n²·r for the sum over all entries, which is some seconds of work.
const directLimit = 2e9

// measureDirectly replaces errSq by the sum of (A_il − H_i,:·H_l,:)² over all i and l, whose terms do not
// cancel. Each is wrong by at most (r+2)·ε·(|A_il| + H_i,:·H_l,:), so the root of the sum is right to
// (r+2)·ε·(‖A‖ + ‖HHᵀ‖).
func (p *problem) measureDirectly(a matrix.RowVisitor, h *matrix.Dense, f *figures) {
	part, fit := make([]float64, p.n), make([]float64, p.n)
	scratch := func() []float64 { return make([]float64, p.n) }
	kernel.BlocksWith(p.n, 16, p.workers, scratch, func(row []float64, _, lo, hi int) {
		for i := lo; i < hi; i++ {
			clear(row)
			a.VisitRow(i, func(l int, v float64) { row[l] = v })
			var sum, hh float64
			for l, v := range row {
				if l == i && p.ignoreDiag {
					continue
				}
				x := kernel.Dot(h.Row(i), h.Row(l))
				sum += (v - x) * (v - x)
				hh += x * x
			}
			part[i], fit[i] = sum, hh
		}
	})
	f.errSq, f.hhSq = 0, 0
	for i, v := range part {
		f.errSq += v
		f.hhSq += fit[i]
	}
	bound := float64(p.r+2) * 0x1p-53 * (p.norm + math.Sqrt(f.hhSq))
	f.floorSq = bound * bound
}

// others turns hd, row i of H·(HᵀH), into the contribution of the other rows, by subtracting ‖H_i,:‖²·H_i,:;
// own is ‖H_i,:‖².
//
// Where next to nothing is left of an entry, as in a column that hardly any other item has, the difference is
// noise. Then the row is summed anew, and others returns true. O(r), or O(n·r) for such a row. Two rows that
// are summed anew because of the same column are all but orthogonal, so there are at most r such rows for a
// column, and in an H that comes from a sweep hardly any.
func (p *problem) others(hd []float64, h *matrix.Dense, i int, own float64) (anew bool) {
	const noise = 0x1p-20
	hi := h.Row(i)
	for k, v := range hi {
		whole := hd[k]
		hd[k] -= own * v
		anew = anew || math.Abs(hd[k]) < noise*math.Abs(whole)
	}
	if !anew {
		return false
	}
	clear(hd)
	n, _ := h.Dims()
	for l := range n {
		if l != i {
			kernel.Axpy(hd, kernel.Dot(hi, h.Row(l)), h.Row(l))
		}
	}
	return true
}

// alongRay returns the terms of the objective along the ray through h, with d = HᵀH: ⟨A·H, H⟩, ‖HᵀH‖² (less
// Σ‖H_i,:‖⁴ where the diagonal is ignored) and Σ_jΛ_j‖H_:,j‖₁. Unless keep is nil it leaves A·H there.
func (p *problem) alongRay(h *matrix.Dense, d, keep []float64) (ah, hhSq, penalty float64) {
	product := matrix.ProductOf(p.a, h, p.workers)
	ahs := make([]float64, kernel.BlockCount(p.n, measureBlock))
	offs := make([]float64, len(ahs))
	scratch := func() []float64 { return make([]float64, 2*measureBlock*p.r) }
	kernel.BlocksWith(p.n, measureBlock, p.workers, scratch, func(s []float64, b, lo, hi int) {
		rows, hd := s[measureBlock*p.r:], s[:(hi-lo)*p.r]
		if keep != nil {
			rows = keep[lo*p.r:]
		}
		rows = rows[:(hi-lo)*p.r]
		product.RowsTo(rows, lo, hi)
		if p.ignoreDiag {
			clear(hd)
			kernel.RowsTimes(hd, h.Data()[lo*p.r:hi*p.r], p.r, d, p.r)
		}
		var off float64
		for i := lo; i < hi && p.ignoreDiag; i++ {
			row, others := h.Row(i), hd[(i-lo)*p.r:(i-lo+1)*p.r]
			p.others(others, h, i, kernel.SumSq(row))
			off += kernel.Dot(others, row)
		}
		ahs[b], offs[b] = kernel.Dot(rows, h.Data()[lo*p.r:hi*p.r]), off
	})
	for b, v := range ahs {
		ah += v
		hhSq += offs[b]
	}
	if !p.ignoreDiag {
		for _, v := range d {
			hhSq += v * v
		}
	}
	if kernel.Nonzero(p.l1) {
		var f figures
		p.count(h, &f)
		penalty = f.penalty
	}
	return ah, hhSq, penalty
}

// count fills in the figures that depend on h alone.
func (p *problem) count(h *matrix.Dense, f *figures) {
	used, weighed := make([]bool, p.r), kernel.Nonzero(p.l1)
	f.zeroCols = p.r
	for i := range p.n {
		zero := true
		for j, v := range h.Row(i)[:p.r] {
			if v == 0 {
				continue
			}
			zero = false
			if !used[j] {
				used[j] = true
				f.zeroCols--
			}
			if weighed {
				f.penalty += p.l1[j] * v
			} else if f.zeroCols == 0 { // the rest of the row has nothing new
				break
			}
		}
		if zero {
			f.zeroRows++
		}
	}
}

// gram returns D = HᵀH (r×r by rows).
func (p *problem) gram(h *matrix.Dense) []float64 {
	_, r := h.Dims()
	return p.sums(r*r, func(d []float64, lo, hi int) { kernel.Gram(d, h.Data()[lo*r:hi*r], r) })
}

// timesGram sets dst to H·D, D = HᵀH. Where the diagonal is ignored, each row is the contribution of the
// other rows only (see others).
func (p *problem) timesGram(dst, h *matrix.Dense, d []float64) {
	_, r := h.Dims()
	kernel.Blocks(p.n, measureBlock, p.workers, func(_, lo, hi int) {
		rows := dst.Data()[lo*r : hi*r]
		clear(rows)
		kernel.RowsTimes(rows, h.Data()[lo*r:hi*r], r, d, r)
		for i := lo; i < hi && p.ignoreDiag; i++ {
			p.others(dst.Row(i), h, i, kernel.SumSq(h.Row(i)))
		}
	})
}

// cross returns XᵀY by rows, for x and y of n rows.
func (p *problem) cross(x, y *matrix.Dense) []float64 {
	_, k := x.Dims()
	_, r := y.Dims()
	return p.sums(k*r, func(c []float64, lo, hi int) { kernel.TransTimes(c, x.Data()[lo*k:hi*k], k, y.Data()[lo*r:hi*r], r) })
}

// sum returns the sum of f over parts of the rows.
func (p *problem) sum(f func(lo, hi int) float64) float64 {
	return p.sums(1, func(c []float64, lo, hi int) { c[0] = f(lo, hi) })[0]
}

// sums returns the sum, over parts lo ≤ i < hi of the rows, of what f adds to size zeros for each part. The
// parts depend on n alone.
func (p *problem) sums(size int, f func(c []float64, lo, hi int)) []float64 {
	const most = 64 // parts, each with numbers of its own
	rows := max(256, (p.n+most-1)/most)
	part := make([][]float64, kernel.BlockCount(p.n, rows))
	kernel.Blocks(p.n, rows, p.workers, func(b, lo, hi int) {
		part[b] = make([]float64, size)
		f(part[b], lo, hi)
	})
	total := make([]float64, size)
	for _, v := range part {
		kernel.Axpy(total, 1, v)
	}
	return total
}
