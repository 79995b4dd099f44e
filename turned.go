package symnmf

import (
	"context"
	"errors"
	"math"
	"slices"

	"symnmf/internal/kernel"
	"symnmf/internal/rules"
	"symnmf/matrix"
)

// TSVDStart is [B·Q]₊ times the best multiple. B = U·√Λ has about the r largest eigenvalues of A. Q has
// orthonormal rows and comes from turns of TSVD with momentum, which look at the rows of B that matter most.
// The start costs about as much as some sweeps. It mostly ends lower than Random and Zero, on dense data by
// far, after fewer sweeps.
//
// The first run on sparse data begins its turns with Q = I and the signs of SVDStart. Other runs, dense data,
// and an A with fewer than r positive eigenvalues begin with a random Q that shares the leading eigenvector
// equally among all columns, so that no column is the largest for all items. Columns that come out zero are
// drawn as by Random. All runs share B.
//
// If the diagonal is ignored, dense data get a likely one for B (matrix.Completed), unless A with it is neither near a
// rank r nor known to have r positive eigenvalues without it. All else is without its diagonal, and if fewer than r of
// its eigenvalues are positive, all of the start is Random.
//
// Where matrix.CopiesSingles says so, numbers before they are scaled have 14 significant bits and the multiple has 10.
//
// Memory: B as long as there are runs. Before the first sweep, what matrix.RitzPairs takes; for dense data
// near a low rank, the low rank of RowBlock.Compress is found instead. For each start, the rows that turns
// look at, twice in float32, and once as they are if B has more: all for dense data, at most 64·r otherwise. See
// docs/decisions/0026-turned-starts.md and 0027 to 0029.
type TSVDStart struct{}

// Name implements Start.
func (TSVDStart) Name() string { return "tsvd" }

const (
	mostTurns    = 320  // the most turns
	turnMomentum = 0.98 // of the last turn, how far beyond it the next begins, at most
	turnsEnough  = 0.25 // times the relative error that no rank r can avoid: the part of B that may be left negative
	turnsLeave   = 3e-4 // the least part of B that may be left negative, for data that a rank r comes near to
	turnsLooked  = 10   // turns between looks at whether they still pay
	turnsFall    = 0.9  // turns end if more than that part of the squared negative part is left from one look to the next
)

func (TSVDStart) fill(p *problem, h *matrix.Dense, run int) error {
	top, err := p.roots()
	if err != nil {
		return p.fillWithout(err, h, run)
	}
	// Columns that share the same few vectors are alike. Without a diagonal, items that are alike too, as
	// in a complete bipartite graph, would stay together at a saddle point.
	if p.ignoreDiag && len(top.values) < p.r && p.completed() == p.a {
		p.note("without the diagonal fewer eigenvalues are positive (%d) than H has columns, so the run began at random", len(top.values))
		return Random{}.fill(p, h, run)
	}
	q, _ := p.findTurn(top, run)
	p.turnBy(h, top.b, q)
	p.fillColumns(h, run)
	factorBits := 0
	if matrix.CopiesSingles(p.a, p.r) {
		p.shorten(h)
		factorBits = shortFactor
	}
	p.rescaleTo(h, factorBits)
	return nil
}

// The significant bits of a number of a start for which numbers of float32 are wanted, and of the factor that then
// scales it. Together they are those of a float32, so that the start is exact before and after it has been scaled,
// unless numbers are below its range. What is lost does not matter: the objective is flat along the ray, and the next
// sweep moves every number by more.
const (
	shortBits   = 14
	shortFactor = 10
)

// shorten rounds h ≥ 0 to shortBits bits.
func (p *problem) shorten(h *matrix.Dense) {
	data := h.Data()
	kernel.Blocks(len(data), fillBlock, p.workers, func(_, lo, hi int) {
		for k, v := range data[lo:hi] {
			data[lo+k] = rounded(v, shortBits)
		}
	})
}

// rounded rounds v ≥ 0 to the given number of significant bits.
func rounded(v float64, bits int) float64 {
	drop := 53 - bits
	return math.Float64frombits((math.Float64bits(v) + 1<<(drop-1)) &^ (1<<drop - 1))
}

// firstTurn returns the k×r matrix with orthonormal rows that turns begin with.
func (p *problem) firstTurn(k, run int) []float64 {
	if run > 0 || p.a.Density() >= rules.DenseFrom || k < p.r {
		return p.randomTurn(k, run)
	}
	return identity(p.r)
}

// fillColumns draws the zero columns of h, which there are where A has fewer than r positive eigenvalues,
// since there may be no way out of zero. They get the length of the shortest of the others.
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
	most := math.Sqrt(3 * least / float64(p.n)) // n uniform numbers from 0 to most have about that length
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

// roots is approximately U·√Λ of the largest positive eigenvalues.
type roots struct {
	values []float64     // decreasing, scaled; at most r
	b      *matrix.Dense // n×len(values)
	enough float64       // the part of ‖B‖ that may be left negative
}

// roots returns the roots of p, with the signs of leading, computed once for all runs. If there is a low rank to
// use in place of A, they are those of the low rank.
//
// A diagonal that takes the place of an ignored one may be improved, or dropped again: see wholeSuits.
func (p *problem) roots() (*roots, error) {
	p.common.rooting.Lock()
	defer p.common.rooting.Unlock()
	for before := (*roots)(nil); p.common.roots == nil; {
		near, whole := p.compressed(0), p.completed()
		top, err := p.rootsOf(near, whole)
		switch {
		case errors.Is(err, context.Canceled) && before != nil: // the run has to end, and these are as good as any
			return before, nil
		case err != nil:
			return nil, err
		}
		left, suits := p.wholeSuits(whole, top)
		top.enough = max(turnsLeave, turnsEnough*left/p.norm)
		if suits {
			p.common.roots = top
			break
		}
		before, p.near = top, nil
	}
	return p.common.roots, nil
}

// rootsOf returns the roots of whole, or those of the low rank of near if that is not p.
func (p *problem) rootsOf(near *problem, whole matrix.Operator) (*roots, error) {
	var u *matrix.Dense
	var values []float64
	workers, rooted := p.common.workers, true // rooted: columns of u are √λ long
	if near != p {
		u = matrix.LowRankRoot(near.low, p.r)
		_, columns := u.Dims()
		values = make([]float64, columns)
	} else {
		var err error
		of, unfold := matrix.Folded(whole, workers)
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
	top := &roots{values: values, b: u}
	if _, columns := u.Dims(); columns > len(values) {
		top.b = matrix.NewDense(p.n, len(values), kernel.Numbers(p.n*len(values)))
	}
	if squares := p.signRoots(top.b, u, values, rooted); rooted {
		top.values = squares
	}
	return top, nil
}

// leastTurned returns roughly the least singular value of Bᵀ·[B·Q]₊ relative to the largest. It takes a quarter
// of that of BᵀB·Q, which is the ratio of the values.
func (t *roots) leastTurned() float64 {
	if len(t.values) == 0 {
		return 1
	}
	return t.values[len(t.values)-1] / t.values[0] / 4
}

// signRoots sets the first columns of b to √λ·u, one for each of the values λ. Each gets the sign with which
// its positive part is the larger one. If rooted, columns of u are √λ long already. It returns the squared
// lengths of the columns. b may be u.
//
// Source of the signs: Bro, Acar, Kolda, Resolving the sign ambiguity in the singular value decomposition, J.
// Chemom. 22, 2008.
func (p *problem) signRoots(b, u *matrix.Dense, values []float64, rooted bool) (squares []float64) {
	r := len(values)
	squares = p.sums(2*r, func(c []float64, lo, hi int) { // of all numbers, and with the signs of the numbers
		all, signed := c[:r], c[r:2*r]
		for i := lo; i < hi; i++ {
			for j, v := range u.Row(i)[:r] {
				all[j] += v * v
				signed[j] += v * math.Abs(v)
			}
		}
	})
	factor := make([]float64, r)
	for j := range factor {
		if factor[j] = 1; !rooted {
			factor[j] = math.Sqrt(values[j])
		}
		if squares[r+j] < 0 {
			factor[j] = -factor[j]
		}
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

// turnBlock is how many rows make one part of the work on B in float64.
const turnBlock = 64

// findTurn returns the Q of a run, and how many turns have led to it.
func (p *problem) findTurn(top *roots, run int) (q []float64, turns int) {
	rows := rules.TurnedRows(p.n, p.r, p.a.Density() >= rules.DenseFrom)
	return p.turnFrom(p.sample(top.b, rows), p.firstTurn(len(top.values), run), top.leastTurned(), top.enough)
}

// sample returns a copy of the given number of the longest rows of b, or b's own data if it has no more rows.
func (p *problem) sample(b *matrix.Dense, rows int) []float64 {
	if rows >= p.n {
		return b.Data()
	}
	_, k := b.Dims()
	length := p.rowSquares(b)
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
	// Of the rows that are as long as the shortest one taken, some are taken at even distances; passed counts
	// those met so far.
	passed := 0
	share := func(passed int) int64 { return int64(passed) * int64(rows-longer) / int64(equal) }
	for i, v := range length {
		take := v > least
		if v == least {
			passed++
			take = share(passed) > share(passed-1)
		}
		if take {
			chosen = append(chosen, b.Row(i)...)
		}
	}
	return chosen
}

// rowSquares returns the diagonal of BBᵀ, the squared lengths of the rows of b.
func (p *problem) rowSquares(b *matrix.Dense) []float64 {
	squares := make([]float64, p.n)
	kernel.Blocks(p.n, turnBlock, p.workers, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			squares[i] = kernel.SumSq(b.Row(i))
		}
	})
	return squares
}

// largest returns the k-th largest number of x, k from 1, and changes the order of x. O(n).
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

// turnFrom returns where turns of TSVD lead from q (k×r) for the rows of b, of k numbers each. A turn sets Q
// to the matrix with orthonormal rows that is nearest to Bᵀ·[B·Y]₊, for a Y that is beyond the last Q by what
// Nesterov's method adds to a step. Turns end when the negative part of B·Y is at most enough·‖B‖, when it
// hardly falls any more, or when there is no time left. turns is their number. least is as for polar.
func (p *problem) turnFrom(b, q []float64, least, enough float64) (to []float64, turns int) {
	r := p.r
	k := len(q) / r
	if k == 0 {
		return q, 0
	}
	team := kernel.NewTeam(p.workers)
	defer team.Close()
	products := newTurnProducts(team, b, k, r)
	y := make([]float64, k*r)
	q, last, next := slices.Clone(q), slices.Clone(q), make([]float64, k*r)
	find := newPolar(k, r, least, p.stop)
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
		m, cut := products.of(y)
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
	kernel.Blocks(p.n, turnBlock, p.workers, func(_, lo, hi int) {
		rows := h.Data()[lo*p.r : hi*p.r]
		clear(rows)
		if k > 0 {
			kernel.RowsTimes(rows, b.Data()[lo*k:hi*k], k, q, p.r)
		}
		kernel.Extrapolate(rows, 0, rows, 0)
	})
}

// randomTurn returns a k×r matrix with orthonormal rows that is a function of seed and run. All numbers of
// its first row are equal, so that each column of B·Q has as much of the leading eigenvector, which is
// positive for connected data. The other rows are nearest to random ones, or are random ones themselves if
// there is no time.
func (p *problem) randomTurn(k, run int) []float64 {
	const summed = 12 // uniform numbers, whose sum is nearly normal
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
	if !newPolar(k, p.r, 0, p.stop).nearest(q, g) {
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
