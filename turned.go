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
	startRows    = 64   // times r, how many rows turns look at
	mostTurns    = 40   // and how many there are
	turnMomentum = 0.9  // of the last turn, how far beyond it the next begins, at most
	turnsEnough  = 0.25 // of the part of A that no rank r has, the part of B that may be left negative
	turnsLooked  = 5    // after so many
	turnsFall    = 0.95 // more than that being left of the negative part squared is too much
)

func (TSVDStart) fill(p *problem, h *matrix.Dense, run int) error {
	top, err := p.roots()
	if err != nil {
		if p.stop != nil && p.stop() {
			p.note("the run ended before the eigenvectors of its start were there, and began at random")
			return Random{}.fill(p, h, run)
		}
		return fmt.Errorf("%w: %w", ErrStart, err)
	}
	first := identity(p.r)
	if run > 0 || p.a.Density() >= denseFrom || len(top.values) < p.r {
		first = randomRotation(p.seed, run, p.r)
	}
	p.turnBy(h, top.b, p.turnFrom(p.sample(top.b, startRows*p.r), first, top.enough))
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

// roots is about U·√Λ of the largest eigenvalues that are positive.
type roots struct {
	values []float64     // decreasing, scaled
	b      *matrix.Dense // n×r, columns beyond are zero
	enough float64       // how little of B, relatively, may as well be negative
}

// roots returns them with the signs of leading, computed once for all runs. Where there is a low rank to use in place of A its own are taken.
func (p *problem) roots() (*roots, error) {
	near := p.compressed(0)
	p.common.mu.Lock()
	defer p.common.mu.Unlock()
	if p.common.roots != nil {
		return p.common.roots, nil
	}
	var u *matrix.Dense
	var values []float64
	workers, rooted := p.common.workers, true // whether columns of u are √λ long
	if near != p {
		u = matrix.LowRankRoot(near.a, p.r)
		_, columns := u.Dims()
		values = make([]float64, columns)
	} else {
		var err error
		of, unfold := matrix.Folded(p.a)
		if values, u, err = matrix.RitzPairs(p.context(), of, min(p.r, of.Dim()), p.seed, workers); err != nil {
			return nil, err
		}
		if rooted = unfold != nil; rooted {
			u = unfold(u, workers)
		}
		if k := slices.IndexFunc(values, func(v float64) bool { return !(v > 0) }); k >= 0 {
			values = values[:k]
		}
	}
	r := p.r
	cut := p.sums(2*r, func(c []float64, lo, hi int) { // squares of positive and of negative numbers
		for i := lo; i < hi; i++ {
			for j, v := range u.Row(i)[:len(values)] {
				if v > 0 {
					c[j] += v * v
				} else {
					c[r+j] += v * v
				}
			}
		}
	})
	factor := make([]float64, len(values))
	for j := range factor {
		if factor[j] = 1; rooted {
			values[j] = cut[j] + cut[r+j]
		} else {
			factor[j] = math.Sqrt(values[j])
		}
		if cut[r+j] > cut[j] {
			factor[j] = -factor[j]
		}
	}
	top := &roots{values: values, b: matrix.NewDense(p.n, r, kernel.Numbers(p.n*r))}
	kernel.Blocks(p.n, turnBlock, workers, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			row, from := top.b.Row(i), u.Row(i)
			for j, f := range factor {
				row[j] = f * from[j]
			}
		}
	})
	top.enough = turnsEnough * math.Sqrt(max(0, p.norm*p.norm-kernel.SumSq(values))) / p.norm
	p.common.roots = top
	return top, nil
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

// turnFrom returns where turns of TSVD lead from q for the rows of b: Q is the rotation nearest to Bᵀ·[B·Y]₊, for a Y beyond the last Q by what Nesterov's method adds to a step. They end where the
// negative part of B·Y is as little as enough, of ‖B‖, where it hardly falls any more, and where there is no time.
func (p *problem) turnFrom(b, q []float64, enough float64) []float64 {
	r := p.r
	n := len(b) / r
	rows := max(256, r) // of a part
	type part struct {
		m, c, h []float64
		cut     float64
	}
	parts := make([]part, kernel.BlockCount(n, rows))
	for k := range parts {
		parts[k] = part{m: make([]float64, r*r), c: make([]float64, turnBlock*r), h: make([]float64, turnBlock*r)}
	}
	team := kernel.NewTeam(p.workers)
	defer team.Close()
	m, y := make([]float64, r*r), make([]float64, r*r)
	q, last, next := slices.Clone(q), slices.Clone(q), make([]float64, r*r)
	find := newPolar(r)
	enough *= enough * kernel.SumSq(b)
	before := math.Inf(1)
	for turn := range mostTurns {
		if p.stop != nil && p.stop() {
			break
		}
		beyond := min(turnMomentum, float64(turn+4)/float64(turn+7))
		for k, v := range q {
			y[k] = v + beyond*(v-last[k])
		}
		team.Do(len(parts), func(k int) {
			t := &parts[k]
			clear(t.m)
			t.cut = 0
			for left := b[k*rows*r : min((k+1)*rows, n)*r]; len(left) > 0; {
				now := left[:min(len(left), turnBlock*r)]
				h := t.h[:len(now)]
				t.cut += timesPositive(h, t.c, now, y, r)
				kernel.TransTimes(t.m, now, r, h, r)
				left = left[len(now):]
			}
		})
		clear(m)
		cut := 0.0
		for k := range parts {
			kernel.Axpy(m, 1, parts[k].m)
			cut += parts[k].cut
		}
		find.nearest(next, m)
		q, last, next = next, q, last
		if cut <= enough {
			break
		}
		if turn%turnsLooked == turnsLooked-1 {
			if cut > turnsFall*before {
				break
			}
			before = cut
		}
	}
	return q
}

// turnBy sets h to [B·Q]₊.
func (p *problem) turnBy(h, b *matrix.Dense, q []float64) {
	room := func() []float64 { return make([]float64, turnBlock*p.r) }
	kernel.BlocksWith(p.n, turnBlock, p.workers, room, func(c []float64, _, lo, hi int) {
		timesPositive(h.Data()[lo*p.r:hi*p.r], c, b.Data()[lo*p.r:hi*p.r], q, p.r)
	})
}

// timesPositive sets h to [X·Q]₊ for rows of r numbers, and returns the square of what was cut off; c is room.
func timesPositive(h, c, x, q []float64, r int) (cut float64) {
	c = c[:len(x)]
	clear(c)
	kernel.RowsTimes(c, x, r, q, r)
	kernel.Extrapolate(h, 0, c, 0)
	return kernel.SumSq(c) - kernel.SumSq(h)
}

// polar finds the orthogonal matrices nearest to others of r×r, in room of its own.
type polar struct {
	r              int
	x, y, c, g, gt []float64
}

func newPolar(r int) *polar {
	w := &polar{r: r}
	for _, m := range []*[]float64{&w.x, &w.y, &w.c, &w.g, &w.gt} {
		*m = make([]float64, r*r)
	}
	return w
}

// nearest sets q to what rotation returns, faster where M is far from singular: by Newton's iteration for the polar decomposition, X ← (γX + X⁻ᵀ/γ)/2, and, near the end, that of Newton and Schulz,
// X ← X·(3I − XᵀX)/2, to some seven digits; by singular values where that fails.
//
// Source: Higham, Functions of Matrices, 2008, section 8.
func (w *polar) nearest(q, m []float64) {
	const (
		most = 20   // iterations: seven to ten do
		near = 0.5  // ‖XᵀX − I‖² from which on no inverse is needed; below 4 the next is less
		end  = 1e-7 // after which one more is the last
	)
	r, x, y, c := w.r, w.x, w.y, w.c
	copy(x, m)
	for range most {
		clear(c)
		kernel.TransTimes(c, x, r, x, r)
		off := kernel.SumSq(c) + float64(r)
		for j := range r {
			off -= 2 * c[j*r+j]
		}
		clear(y)
		if off <= near {
			kernel.Scale(c, -0.5)
			for j := range r {
				c[j*r+j] += 1.5
			}
			kernel.RowsTimes(y, x, r, c, r)
			if off <= end {
				copy(q, y)
				return
			}
			x, y = y, x
			continue
		}
		if !inverseRoot(w.g, w.gt, c, r) {
			break
		}
		clear(c)
		kernel.TransTimes(c, w.g, r, w.g, r) // L⁻ᵀL⁻¹ = (XᵀX)⁻¹
		kernel.RowsTimes(y, x, r, c, r)      // X·(XᵀX)⁻¹ = X⁻ᵀ
		scale := math.Sqrt(math.Sqrt(kernel.SumSq(y) / kernel.SumSq(x)))
		if !(scale > 0 && scale < math.MaxFloat64) {
			break
		}
		kernel.Scale(x, scale/2)
		kernel.Axpy(x, 0.5/scale, y)
	}
	copy(q, rotation(m, r))
}

// nearestRotation returns the orthogonal r×r matrix nearest to m.
func nearestRotation(m []float64, r int) []float64 {
	q := make([]float64, r*r)
	newPolar(r).nearest(q, m)
	return q
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
