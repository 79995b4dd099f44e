package symnmf

import (
	"fmt"
	"math"
	"slices"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// TSVDStart is [B·Q]₊ times the best multiple, where B = U·√Λ has about the r largest eigenvalues of A, and Q, orthogonal, is where some turns of TSVD lead that look at the rows of B that matter most. It costs about as
// much as some sweeps, and mostly ends lower than Random and Zero, after fewer of them.
//
// The first run of sparse data begins its turns with Q = I and the signs of SVDStart; other runs, dense data, and fewer than r positive eigenvalues begin with a random Q, and columns that come out zero are drawn as by Random.
//
// Memory, before the first sweep: what matrix.RitzPairs takes, and the rows that turns look at, 64·r of them at most. See docs/decisions/0026-turned-starts.md.
type TSVDStart struct{}

// Name implements Start.
func (TSVDStart) Name() string { return "tsvd" }

const (
	startTurns = 20
	startRows  = 64 // times r, how many rows they look at
)

func (TSVDStart) fill(p *problem, h *matrix.Dense, run int) error {
	positive, err := p.spectral(h)
	if err != nil {
		if p.stop != nil && p.stop() {
			p.note("the run ended before the eigenvectors of its start were there, and began at random")
			return Random{}.fill(p, h, run)
		}
		return fmt.Errorf("%w: %w", ErrStart, err)
	}
	first := identity(p.r)
	if run > 0 || p.a.Density() >= denseFrom || positive < p.r {
		first = randomRotation(p.seed, run, p.r)
	}
	p.turnBy(h, p.turnFrom(p.sample(h, startRows*p.r), first))
	p.fillColumns(h, run)
	p.rescale(h)
	return nil
}

// fillColumns draws the columns of h that are zero, as there are where A has fewer than r positive eigenvalues: nothing may lead out of zero. They get the length of the shortest of the others.
func (p *problem) fillColumns(h *matrix.Dense, run int) {
	r := p.r
	sizes := p.sums(r, func(c []float64, lo, hi int) {
		for i := lo; i < hi; i++ {
			for j, v := range h.Row(i) {
				c[j] += v * v
			}
		}
	})
	least := math.Inf(1)
	for _, v := range sizes {
		if v > 0 {
			least = min(least, v)
		}
	}
	if math.IsInf(least, 1) {
		least = 1
	}
	most := math.Sqrt(3 * least / float64(p.n)) // of numbers from 0 to that n have this length
	u := uniform{key: kernel.Mix(p.seed) + uint64(run)}
	for j, v := range sizes {
		if v > 0 {
			continue
		}
		for i := range p.n {
			h.Set(i, j, most*u.at(uint64(i*r+j)))
		}
	}
}

// spectral sets h to about U·√Λ of the largest eigenvalues that are positive, with the signs of leading, and returns how many they are; columns beyond are zero.
func (p *problem) spectral(h *matrix.Dense) (columns int, err error) {
	of, unfold := matrix.Folded(p.a)
	values, u, err := matrix.RitzPairs(p.context(), of, min(p.r, of.Dim()), p.seed, p.workers)
	if err != nil {
		return 0, err
	}
	if unfold != nil {
		u = unfold(u, p.workers)
	}
	for columns < len(values) && values[columns] > 0 {
		columns++
	}
	r := p.r
	cut := p.sums(2*r, func(c []float64, lo, hi int) { // squares of positive and of negative numbers
		for i := lo; i < hi; i++ {
			for j, v := range u.Row(i)[:columns] {
				if v > 0 {
					c[j] += v * v
				} else {
					c[r+j] += v * v
				}
			}
		}
	})
	factor := make([]float64, columns)
	for j := range factor {
		if factor[j] = 1; unfold == nil { // else they are √λ long
			factor[j] = math.Sqrt(values[j])
		}
		if cut[r+j] > cut[j] {
			factor[j] = -factor[j]
		}
	}
	kernel.Blocks(p.n, turnBlock, p.workers, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			row := h.Row(i)
			for j, f := range factor {
				row[j] = f * u.At(i, j)
			}
		}
	})
	return columns, nil
}

// turnBlock is how many rows are turned at a time.
const turnBlock = 64

// sample returns a copy of so many rows of b, those that are longest, or all of them.
func (p *problem) sample(b *matrix.Dense, rows int) []float64 {
	if rows >= p.n {
		return slices.Clone(b.Data())
	}
	length := make([]float64, p.n)
	kernel.Blocks(p.n, turnBlock, p.workers, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			length[i] = kernel.SumSq(b.Row(i))
		}
	})
	least := largest(slices.Clone(length), rows)
	longer, equal := 0, 0
	for _, v := range length {
		if v > least {
			longer++
		} else if v == least {
			equal++
		}
	}
	chosen := make([]float64, 0, rows*p.r)
	passed := 0 // of those that are as long as the last, of which some at even distances are taken
	for i, v := range length {
		take := v > least
		if v == least {
			passed++
			take = passed*(rows-longer)/equal > (passed-1)*(rows-longer)/equal
		}
		if take {
			chosen = append(chosen, b.Row(i)...)
		}
	}
	return chosen
}

// largest returns the number at place k, from 1 on, of x by falling values, and changes the order of x. O(n).
func largest(x []float64, k int) float64 {
	for {
		pivot := max(min(x[0], x[len(x)/2]), min(max(x[0], x[len(x)/2]), x[len(x)-1])) // the median of three
		above, equal := 0, 0
		for i, v := range x {
			switch {
			case v > pivot:
				x[i] = x[above+equal]
				x[above+equal] = x[above]
				x[above] = v
				above++
			case v == pivot:
				x[i] = x[above+equal]
				x[above+equal] = v
				equal++
			}
		}
		switch {
		case k <= above:
			x = x[:above]
		case k <= above+equal:
			return pivot
		default:
			x, k = x[above+equal:], k-above-equal
		}
	}
}

// turnFrom returns where turns of TSVD lead from q for the rows of b, or as many of them as there is time for: Q is the rotation nearest to Bᵀ·[B·Q]₊.
func (p *problem) turnFrom(b, q []float64) []float64 {
	const rows = 256 // of a part
	r := p.r
	parts := make([][]float64, kernel.BlockCount(len(b)/r, rows))
	for k := range parts {
		parts[k] = make([]float64, r*r)
	}
	m := make([]float64, r*r)
	for range startTurns {
		if p.stop != nil && p.stop() {
			break
		}
		turnRows(len(b)/r, rows, p.workers, r, func(c []float64, k, lo, hi int) {
			clear(parts[k])
			for part := b[lo*r : hi*r]; len(part) > 0; {
				now := part[:min(len(part), turnBlock*r)]
				kernel.TransTimes(parts[k], now, r, timesPositive(c, now, q, r), r)
				part = part[len(now):]
			}
		})
		clear(m)
		for _, part := range parts {
			kernel.Axpy(m, 1, part)
		}
		q = nearestRotation(m, r)
	}
	return q
}

// turnRows calls f for parts of so many rows, with room for turnBlock rows of r numbers.
func turnRows(n, rows, workers, r int, f func(c []float64, k, lo, hi int)) {
	kernel.BlocksWith(n, rows, workers, func() []float64 { return make([]float64, turnBlock*r) }, f)
}

// turnBy sets h to [H·Q]₊.
func (p *problem) turnBy(h *matrix.Dense, q []float64) {
	turnRows(p.n, turnBlock, p.workers, p.r, func(c []float64, _, lo, hi int) {
		rows := h.Data()[lo*p.r : hi*p.r]
		copy(rows, timesPositive(c, rows, q, p.r))
	})
}

// timesPositive returns [X·Q]₊ for rows of r numbers, in c.
func timesPositive(c, x, q []float64, r int) []float64 {
	c = c[:len(x)]
	clear(c)
	kernel.RowsTimes(c, x, r, q, r)
	for k, v := range c {
		c[k] = max(v, 0)
	}
	return c
}

// nearestRotation returns what rotation does, faster where M is far from singular: by Newton's iteration for the polar decomposition, X ← (γX + X⁻ᵀ/γ)/2, to some six digits; by singular values where that fails.
//
// Source: Higham, Functions of Matrices, 2008, section 8.
func nearestRotation(m []float64, r int) []float64 {
	const (
		most = 20   // iterations: seven to ten do
		end  = 1e-6 // of ‖X‖², the change after which what is left is as small, of ‖X‖
	)
	x, y, g, l := slices.Clone(m), make([]float64, r*r), make([]float64, r*r), make([]float64, r*r)
	for range most {
		clear(l)
		kernel.TransTimes(l, x, r, x, r)
		if !cholesky(l, r, 1) {
			break
		}
		invertLower(g, l, r)
		clear(l)
		kernel.TransTimes(l, g, r, g, r) // L⁻ᵀL⁻¹ = (XᵀX)⁻¹
		clear(y)
		kernel.RowsTimes(y, x, r, l, r) // X·(XᵀX)⁻¹ = X⁻ᵀ
		scale := math.Sqrt(math.Sqrt(kernel.SumSq(y) / kernel.SumSq(x)))
		if !(scale > 0 && scale < math.MaxFloat64) {
			break
		}
		changed := 0.0
		for k, v := range x {
			x[k] = (scale*v + y[k]/scale) / 2
			changed += (x[k] - v) * (x[k] - v)
		}
		if changed <= end*float64(r) {
			return x
		}
	}
	return rotation(m, r)
}

// invertLower sets x to L⁻¹ for the lower triangle l (r×r).
func invertLower(x, l []float64, r int) {
	clear(x)
	for i := range r {
		row := x[i*r : i*r+i+1]
		for k := range i {
			kernel.Axpy(row[:k+1], -l[i*r+k], x[k*r:k*r+k+1])
		}
		row[i] = 1
		kernel.Scale(row, 1/l[i*r+i])
	}
}

// randomRotation returns an orthogonal matrix that is a function of seed and run: that nearest to one of random numbers.
func randomRotation(seed uint64, run, r int) []float64 {
	const summed = 12 // uniform numbers, for one that is nearly normal
	u := uniform{key: kernel.Mix(seed) + uint64(run)}
	g := make([]float64, r*r)
	for k := range g {
		for l := range uint64(summed) {
			g[k] += u.at(uint64(k)*summed+l) - 0.5
		}
	}
	return nearestRotation(g, r)
}

func identity(r int) []float64 {
	q := make([]float64, r*r)
	for j := range r {
		q[j*r+j] = 1
	}
	return q
}
