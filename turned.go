package symnmf

import (
	"math"
	"slices"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// TSVDStart is [B·Q]₊ times the best multiple, where B = U·√Λ has about the r largest eigenvalues of A, and Q, orthogonal, is where turns of TSVD with momentum lead that look at the rows of B that matter most. It costs about as
// much as some sweeps, and mostly ends lower than Random and Zero, on dense data by far, after fewer of them.
//
// The first run of sparse data begins its turns with Q = I and the signs of SVDStart; other runs, dense data, and fewer than r positive eigenvalues begin with a random Q that deals the leading eigenvector out to all columns alike, so that none of them is everything's largest, and columns that come out zero are drawn as by Random. Where the diagonal is ignored and fewer than r eigenvalues are positive all of it is Random. All runs share B.
//
// Memory: B as long as there are runs; before the first sweep what matrix.RitzPairs takes, or the low rank of RowBlock.Compress that is found in place of that for dense data near one; and for each start the rows that turns look at, 64·r of them at most. See docs/decisions/0026-turned-starts.md, 0027 and 0028.
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
		return p.fillWithout(err, h, run)
	}
	if p.ignoreDiag && len(top.values) < p.r { // columns that deal out the same few vectors are alike, and items that are, as in a complete bipartite graph, stay together at a saddle point of this problem
		p.note("without the diagonal fewer eigenvalues are positive (%d) than H has columns, so the run began at random", len(top.values))
		return Random{}.fill(p, h, run)
	}
	q, _ := p.turnFrom(p.sample(top.b, startRows*p.r), p.firstTurn(len(top.values), run), top.enough)
	p.turnBy(h, top.b, q)
	p.fillColumns(h, run)
	p.rescale(h)
	return nil
}

// firstTurn returns the k×r matrix with orthonormal rows that turns begin with.
func (p *problem) firstTurn(k, run int) []float64 {
	if run > 0 || p.a.Density() >= denseFrom || k < p.r {
		return p.randomTurn(k, run)
	}
	return identity(p.r)
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
	values []float64     // decreasing, scaled; r of them or fewer
	b      *matrix.Dense // as many columns
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
	top := &roots{values: values, b: matrix.NewDense(p.n, len(values), kernel.Numbers(p.n*len(values)))}
	if squares := p.signRoots(top.b, u, values, rooted); rooted {
		top.values = squares
	}
	top.enough = turnsEnough * math.Sqrt(max(0, p.norm*p.norm-kernel.SumSq(top.values))) / p.norm
	p.common.roots = top
	return top, nil
}

// signRoots sets the first columns of b to √λ·u, of each with the sign with which its positive part is the larger one, for as many as there are values λ. Columns of u are √λ long already if rooted. It returns the squares of their lengths.
//
// Source of the signs: Bro, Acar, Kolda, Resolving the sign ambiguity in the singular value decomposition, J. Chemom. 22,
// 2008.
func (p *problem) signRoots(b, u *matrix.Dense, values []float64, rooted bool) (squares []float64) {
	r := len(values)
	squares = p.sums(2*r, func(c []float64, lo, hi int) { // of positive and of negative numbers
		for i := lo; i < hi; i++ {
			for j, v := range u.Row(i)[:r] {
				if v > 0 {
					c[j] += v * v
				} else {
					c[r+j] += v * v
				}
			}
		}
	})
	factor := make([]float64, r)
	for j := range factor {
		if factor[j] = 1; !rooted {
			factor[j] = math.Sqrt(values[j])
		}
		if squares[r+j] > squares[j] {
			factor[j] = -factor[j]
		}
		squares[j] += squares[r+j]
	}
	kernel.Blocks(p.n, turnBlock, p.workers, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			row, from := b.Row(i), u.Row(i)
			for j, f := range factor {
				row[j] = f * from[j]
			}
		}
	})
	return squares[:r]
}

// turnBlock is how many rows are turned at a time.
const turnBlock = 64

// sample returns a copy of so many rows of b, those that are longest, or all of them.
func (p *problem) sample(b *matrix.Dense, rows int) []float64 {
	if rows >= p.n {
		return slices.Clone(b.Data())
	}
	_, k := b.Dims()
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
	chosen := make([]float64, 0, rows*k)
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

// turnFrom returns where turns of TSVD lead from q (k×r) for rows of b, of k numbers: Q is what has orthonormal rows and is nearest to Bᵀ·[B·Y]₊, for a Y beyond the last Q by what Nesterov's method adds to a step. They end where the
// negative part of B·Y is as little as enough, of ‖B‖, where it hardly falls any more, and where there is no time; turns says after how many.
func (p *problem) turnFrom(b, q []float64, enough float64) (to []float64, turns int) {
	r := p.r
	k := len(q) / r
	if k == 0 {
		return q, 0
	}
	n := len(b) / k
	rows := max(256, r) // of a part
	type part struct {
		m, c, h []float64
		cut     float64
	}
	parts := make([]part, kernel.BlockCount(n, rows))
	for i := range parts {
		parts[i] = part{m: make([]float64, k*r), c: make([]float64, turnBlock*r), h: make([]float64, turnBlock*r)}
	}
	team := kernel.NewTeam(p.workers)
	defer team.Close()
	m, y := make([]float64, k*r), make([]float64, k*r)
	q, last, next := slices.Clone(q), slices.Clone(q), make([]float64, k*r)
	find := newPolar(k, r, p.stop)
	enough *= enough * kernel.SumSq(b)
	before := math.Inf(1)
	for turns < mostTurns {
		if p.stop != nil && p.stop() {
			break
		}
		beyond := min(turnMomentum, float64(turns+4)/float64(turns+7))
		for i, v := range q {
			y[i] = v + beyond*(v-last[i])
		}
		team.Do(len(parts), func(i int) {
			t := &parts[i]
			clear(t.m)
			t.cut = 0
			for left := b[i*rows*k : min((i+1)*rows, n)*k]; len(left) > 0; {
				now := left[:min(len(left), turnBlock*k)]
				h := t.h[:len(now)/k*r]
				t.cut += timesPositive(h, t.c, now, k, y, r)
				kernel.TransTimes(t.m, now, k, h, r)
				left = left[len(now):]
			}
		})
		clear(m)
		cut := 0.0
		for i := range parts {
			kernel.Axpy(m, 1, parts[i].m)
			cut += parts[i].cut
		}
		if !find.nearest(next, m) {
			break
		}
		q, last, next = next, q, last
		turns++
		if cut <= enough {
			break
		}
		if turns%turnsLooked == 0 {
			if cut > turnsFall*before {
				break
			}
			before = cut
		}
	}
	return q, turns
}

// turnBy sets h to [B·Q]₊.
func (p *problem) turnBy(h, b *matrix.Dense, q []float64) {
	_, k := b.Dims()
	room := func() []float64 { return make([]float64, turnBlock*p.r) }
	kernel.BlocksWith(p.n, turnBlock, p.workers, room, func(c []float64, _, lo, hi int) {
		timesPositive(h.Data()[lo*p.r:hi*p.r], c, b.Data()[lo*k:hi*k], k, q, p.r)
	})
}

// timesPositive sets h to [X·Q]₊ for rows of k numbers and a k×r matrix Q, and returns the square of what was cut off; c is room.
func timesPositive(h, c, x []float64, k int, q []float64, r int) (cut float64) {
	c = c[:len(h)]
	clear(c)
	if k > 0 {
		kernel.RowsTimes(c, x, k, q, r)
	}
	kernel.Extrapolate(h, 0, c, 0)
	return kernel.SumSq(c) - kernel.SumSq(h)
}

// polar finds what has orthonormal rows and is nearest to k×r matrices, k ≤ r, in room of its own.
type polar struct {
	k, r     int
	stop     func() bool // or nil
	x, y     []float64   // r×k
	c, g, gt []float64   // k×k
}

func newPolar(k, r int, stop func() bool) *polar {
	w := &polar{k: k, r: r, stop: stop, x: make([]float64, k*r), y: make([]float64, k*r)}
	for _, m := range []*[]float64{&w.c, &w.g, &w.gt} {
		*m = make([]float64, k*k)
	}
	return w
}

// nearest sets q to the polar factor of M (k×r): by Newton's iteration for X = Mᵀ, X ← (γX + X·(XᵀX)⁻¹/γ)/2, and, near the end, that of Newton and Schulz,
// X ← X·(3I − XᵀX)/2, to some seven digits where the condition of M is a million at most; by singular values where M is singular, or all but that. It reports false, and q is spoilt, when the run has to end.
//
// Source: Higham, Functions of Matrices, 2008, section 8.
func (w *polar) nearest(q, m []float64) bool {
	const (
		most = 20   // iterations: seven to ten do
		near = 0.5  // ‖XᵀX − I‖² from which on no inverse is needed; below 4 the next is less
		end  = 1e-7 // after which one more is the last
	)
	k, x, y, c := w.k, w.x, w.y, w.c
	transposeTo(x, m, w.k, w.r)
	for range most {
		if w.stop != nil && w.stop() {
			return false
		}
		clear(c)
		kernel.TransTimes(c, x, k, x, k)
		off := kernel.SumSq(c) + float64(k)
		for j := range k {
			off -= 2 * c[j*k+j]
		}
		clear(y)
		if off <= near {
			kernel.Scale(c, -0.5)
			for j := range k {
				c[j*k+j] += 1.5
			}
			kernel.RowsTimes(y, x, k, c, k)
			if off <= end {
				transposeTo(q, y, w.r, k)
				return true
			}
			x, y = y, x
			continue
		}
		if !inverseRoot(w.g, w.gt, c, k) {
			break
		}
		clear(c)
		kernel.TransTimes(c, w.g, k, w.g, k) // L⁻ᵀL⁻¹ = (XᵀX)⁻¹
		kernel.RowsTimes(y, x, k, c, k)
		scale := math.Sqrt(math.Sqrt(kernel.SumSq(y) / kernel.SumSq(x)))
		if !(scale > 0 && scale < math.MaxFloat64) {
			break
		}
		kernel.Scale(x, scale/2)
		kernel.Axpy(x, 0.5/scale, y)
	}
	copy(q, rotation(m, k, w.r))
	return true
}

// transposeTo sets y to the transpose of x (rows×columns).
func transposeTo(y, x []float64, rows, columns int) {
	for i := range rows {
		for j, v := range x[i*columns : (i+1)*columns] {
			y[j*rows+i] = v
		}
	}
}

// randomTurn returns a k×r matrix with orthonormal rows that is a function of seed and run: all of the first are alike, so that columns of B·Q have as much of the leading eigenvector each, which of connected data is positive; the others are nearest to random ones, or those where there is no time.
func (p *problem) randomTurn(k, run int) []float64 {
	const summed = 12 // uniform numbers, for one that is nearly normal
	u := uniform{key: kernel.Mix(p.seed) + uint64(run)}
	g := make([]float64, k*p.r)
	for i := range g {
		for l := range uint64(summed) {
			g[i] += u.at(uint64(i)*summed+l) - 0.5
		}
	}
	for i := range k { // orthogonal to the first
		row := g[i*p.r : (i+1)*p.r]
		mean := 0.0
		for _, v := range row {
			mean += v / float64(p.r)
		}
		for j := range row {
			if row[j] -= mean; i == 0 {
				row[j] = 1
			}
		}
	}
	q := make([]float64, k*p.r)
	if !newPolar(k, p.r, p.stop).nearest(q, g) {
		return g
	}
	return q
}

func identity(r int) []float64 {
	q := make([]float64, r*r)
	for j := range r {
		q[j*r+j] = 1
	}
	return q
}
