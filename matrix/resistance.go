package matrix

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"symnmf/internal/kernel"
)

// ResistanceSampling holds the settings of SampleByResistance.
type ResistanceSampling struct {
	// Eps, above 0, is the accuracy ε: the quadratic form of the Laplacian stays within a factor of 1±ε, with
	// high probability.
	Eps float64
	// Draws is the number of edges drawn, with replacement, at most 2³¹−1. 0 means ⌈9·n·ln n/ε²⌉, which is of
	// use only for a graph with many more edges than that.
	Draws int64
	// Seed determines every random choice.
	Seed uint64
	// Workers is the number of goroutines that may work at once; less than 1 means 1. The result does not
	// depend on it.
	Workers int
	// Progress, if not nil, is called on the caller's goroutine with the number of Laplacian systems solved
	// so far, or, if an n×n matrix is inverted, with the number of its n rows done.
	Progress func(solved, of int)
}

func (o *ResistanceSampling) progress(solved, of int) {
	if o.Progress != nil {
		o.Progress(solved, of)
	}
}

// ResistanceSample is a graph made of the edges drawn.
type ResistanceSample struct {
	Sparsified
	Draws        int64
	Enough       float64 // ⌈9·n·ln n/ε²⌉, the draws with which the accuracy is ε
	Combinations int     // random combinations by which resistances were estimated; 0 if they are exact
	Sum          float64 // Σ w_e·R_e over all edges; n − Components if every R_e is exact
	Components   int     // connected components of the graph
}

// ErrResistance reports a graph without effective resistances, or invalid settings of a ResistanceSampling.
var ErrResistance = errors.New("matrix: effective resistances")

const mostDraws = math.MaxInt32

// SampleByResistance draws edges of the graph a, without its diagonal, with probabilities p_e ∝ w_e·R_e. Here
// w_e = A_il is the weight and R_e = (e_i−e_l)ᵀL⁺(e_i−e_l) the effective resistance of edge e = {i, l}, with
// the Laplacian L = diag(A·1) − A. Each of q draws adds w_e/(q·p_e) to S_il. S has the diagonal of A, which L
// does not depend on.
//
// Sampling preserves xᵀLx for every x, and with it cuts. It does not preserve ‖A−HHᵀ‖; RelErr tells how far S
// is from A.
//
// Resistances are estimated from k = ⌈24·ln n/ε²⌉ random combinations of the rows of W^½B, where B is the
// incidence matrix: R_e ≈ ‖Y(e_i−e_l)‖², where each row of Y solves L·y = BᵀW^½s/√k for random signs s. If n
// ≤ k and n ≤ MostExact, an n×n matrix is inverted instead, and unless that leaves too few digits,
// resistances are exact but for rounding.
//
// Entries must be ≥ 0, and a must list them (RowVisitor); points must first be made a graph, by Strongest. If
// weights are so far apart that their resistances are out of range, the error is ErrRange.
//
// Memory is some 10 bytes for each entry of A and some 64 numbers for each item, or n² numbers. Time is that
// of k systems solved by conjugate gradients, with some passes over A for each 16 systems, or n³
// multiply–adds.
//
// Source: Spielman, Srivastava, Graph sparsification by effective resistances, SIAM J. Comput. 40, 2011.
func SampleByResistance(ctx context.Context, a Operator, opt ResistanceSampling) (*ResistanceSample, error) {
	if !(opt.Eps > 0) || math.IsInf(opt.Eps, 0) || opt.Draws < 0 {
		return nil, fmt.Errorf("%w: ε = %v, %d draws: want ε above 0, and 0 draws or more", ErrResistance, opt.Eps, opt.Draws)
	}
	g, err := newResistor(a, opt.Workers)
	if err != nil {
		return nil, err
	}
	n, logN := float64(g.n), math.Log(float64(max(g.n, 2)))
	enough := max(1, math.Ceil(9*n*logN/opt.Eps/opt.Eps))
	draws := float64(opt.Draws)
	if opt.Draws == 0 {
		draws = enough
	}
	if draws > mostDraws {
		return nil, fmt.Errorf("%w: ε = %v, %.3g draws, at most %d are possible: say how many", ErrResistance, opt.Eps, draws, mostDraws)
	}
	res := &ResistanceSample{Draws: int64(draws), Enough: enough, Components: g.components}
	k := max(1, math.Ceil(24*logN/opt.Eps/opt.Eps))
	exact := n <= min(k, MostExact)
	var r []float64
	if exact {
		if r, exact, err = g.exactResistances(ctx, opt.progress); err != nil {
			return nil, err
		}
	}
	if !exact {
		if k > math.MaxInt32 {
			return nil, fmt.Errorf("%w: ε = %v takes %.3g systems", ErrResistance, opt.Eps, k)
		}
		res.Combinations = int(k)
		if r, err = g.estimate(ctx, res.Combinations, &opt); err != nil {
			return nil, err
		}
	}
	// r becomes w_e·R_e, and upTo its running sums.
	upTo := make([]float64, len(r))
	at := 0
	for i := range g.n {
		g.above(i, func(_ int, w float64) {
			r[at] *= w
			res.Sum += r[at]
			upTo[at] = res.Sum
			at++
		})
	}
	if !(res.Sum <= math.MaxFloat64) {
		return nil, fmt.Errorf("%w: weights are too far apart for effective resistances: leave out edges with weights near 0", ErrRange)
	}
	hits, err := drawWithReplacement(ctx, upTo, res.Draws, &opt)
	if err != nil {
		return nil, err
	}
	g.collect(a, hits, r, res)
	return res, nil
}

// resistor is a graph seen as a network of resistors with conductances w_e.
type resistor struct {
	a          Operator // without its diagonal, and scaled to keep squares of degrees in range
	visitor    RowVisitor
	scale      float64
	n          int
	workers    int
	degree     []float64
	edges      []int64 // n+1: edges edges[i] to edges[i+1] are those of row i above the diagonal
	component  []int32 // of each item
	components int
	sums       *rowSums
}

func newResistor(a Operator, workers int) (*resistor, error) {
	n := a.Dim()
	a = a.OffDiagonal()
	scale := unitScale(a.Norm())
	a = a.Scaled(scale)
	v, listed := a.(RowVisitor)
	if !listed || n > math.MaxInt32 {
		return nil, fmt.Errorf("%w: want a graph of up to 2³¹−1 items, dense or sparse, that lists its entries (RowVisitor); inner products do not", ErrResistance)
	}
	g := &resistor{
		a: a, visitor: v, scale: scale, n: n, workers: workers, degree: make([]float64, n), edges: make([]int64, n+1),
		sums: newRowSums(n, solveColumns, workers),
	}
	negative := Cells{}
	for i := range n {
		v.VisitRow(i, func(l int, w float64) {
			switch {
			case w < 0:
				negative.add(i, l, w/scale)
			case w > 0:
				g.degree[i] += w
				if l > i {
					g.edges[i+1]++
				}
			}
		})
		g.edges[i+1] += g.edges[i]
	}
	if c := negative; c.Count > 0 {
		return nil, fmt.Errorf("%w: %d entries are negative, the first, %v, at [%d,%d]", ErrResistance, c.Count, c.Value, c.Row, c.Col)
	}
	g.findComponents()
	return g, nil
}

// above calls f for the edges between item i and later items.
func (g *resistor) above(i int, f func(l int, w float64)) {
	g.visitor.VisitRow(i, func(l int, w float64) {
		if l > i && w > 0 {
			f(l, w)
		}
	})
}

// findComponents numbers the connected components.
func (g *resistor) findComponents() {
	g.component = make([]int32, g.n)
	for i := range g.component {
		g.component[i] = -1
	}
	var queue []int32
	for start := range g.n {
		if g.component[start] >= 0 {
			continue
		}
		c := int32(g.components)
		g.components++
		g.component[start] = c
		queue = append(queue[:0], int32(start))
		for len(queue) > 0 {
			i := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			g.visitor.VisitRow(int(i), func(l int, w float64) {
				if w > 0 && g.component[l] < 0 {
					g.component[l] = c
					queue = append(queue, int32(l))
				}
			})
		}
	}
}

// MostExact is the largest n for which SampleByResistance inverts an n×n matrix.
const MostExact = 4096

// exactResistances returns R_e for all edges, in units of the scaled a. It inverts L + s·Σ_c 1_c·1_cᵀ/n_c,
// with the components c and s equal to the mean degree. The inverse is L⁺ + Σ_c 1_c·1_cᵀ/(s·n_c), and its
// last term does not affect R_e. ok is false if rounding makes the matrix indefinite or leaves too few
// digits, as may happen with weights of very different size.
func (g *resistor) exactResistances(ctx context.Context, progress func(solved, of int)) (r []float64, ok bool, err error) {
	sizes := make([]float64, g.components)
	for _, c := range g.component {
		sizes[c]++
	}
	s := 0.0
	for _, d := range g.degree {
		s += d / float64(g.n)
	}
	if s == 0 {
		return nil, true, nil
	}
	n := g.n
	l := kernel.Numbers(n * n)
	for i := range n {
		row, c := l[i*n:(i+1)*n], g.component[i]
		for j := range row {
			if g.component[j] == c {
				row[j] = s / sizes[c]
			}
		}
		row[i] += g.degree[i]
	}
	for i := range n {
		g.above(i, func(j int, w float64) {
			l[i*n+j] -= w
		})
	}
	kernel.Mirror(l, n)
	size := mostRow(l, n)
	if ok, err := invert(ctx, l, n, g.workers, func(rows int) { progress(rows, n) }); !ok {
		return nil, false, err
	}
	if !(size*mostRow(l, n) <= mostCondition) {
		return nil, false, nil
	}
	r = make([]float64, 0, g.edges[n])
	for i := range n {
		g.above(i, func(j int, w float64) { // l is minus the inverse
			least := 1 / min(g.degree[i], g.degree[j]) // a lower bound: R_e with all items but one end of e joined
			r = append(r, min(max(2*l[i*n+j]-l[i*n+i]-l[j*n+j], least), 1/w))
		})
	}
	return r, true, nil
}

// mostCondition is the largest ‖M‖₁·‖M⁻¹‖₁ for which an inverse counts as exact. Of 281 graphs with weights
// of 1e±12, those below it had errors of half a percent at most, and those above it errors of any size (not
// archived).
const mostCondition = 1e15

// mostRow returns the largest sum of magnitudes in a row of a, n×n.
func mostRow(a []float64, n int) (most float64) {
	for i := range n {
		sum := 0.0
		for _, v := range a[i*n : (i+1)*n] {
			sum += math.Abs(v)
		}
		most = max(most, sum)
	}
	return most
}

const (
	// solveColumns is the number of systems that are solved side by side: one product reads A once for all of
	// them.
	solveColumns = 16
	// solveTol is the residual at which a system counts as solved, in the norm of D^−½ and relative to the
	// right-hand side. If λ₂ is the least positive eigenvalue of D^−½·L·D^−½, the error of y is then at most
	// √(2/λ₂)·solveTol, in the norm of L and relative to y. The error of the combinations themselves is
	// √(2/k).
	solveTol = 1e-8
	// A system of n unknowns needs more than n steps only because of rounding. The limit is solveSteps·n +
	// solveMore.
	solveSteps, solveMore = 10, 1000
)

// Streams of random numbers. The signs of combination k come from stream streamSigns + k/64.
const (
	streamDraws = iota
	streamSigns
)

// estimate returns R_e for all edges, in the same units, from k random combinations.
func (g *resistor) estimate(ctx context.Context, k int, opt *ResistanceSampling) ([]float64, error) {
	r := make([]float64, g.edges[g.n])
	s := newSolver(g)
	for from := 0; from < k; from += solveColumns {
		columns := min(solveColumns, k-from)
		g.combine(s.b, from, opt.Seed)
		if err := s.solve(ctx, columns); err != nil {
			return nil, err
		}
		g.sums.each(func(lo, hi int) {
			for i := lo; i < hi; i++ {
				at, xi := g.edges[i], s.x.Row(i)[:columns]
				g.above(i, func(l int, _ float64) {
					for c, v := range s.x.Row(l)[:columns] {
						d := xi[c] - v
						r[at] += d * d / float64(k)
					}
					at++
				})
			}
		})
		opt.progress(from+columns, k)
	}
	return r, nil
}

// combine fills b (n×solveColumns) with BᵀW^½s for the signs of combinations from on. Item i gets +√w_e·s_e
// from edges to later items and −√w_e·s_e from those to earlier ones. Then columns are shifted to sum to 0 on
// each component in spite of rounding.
func (g *resistor) combine(b *Dense, from int, seed uint64) {
	key, shift := kernel.Key(seed, uint64(streamSigns+from/64)), from%64
	g.sums.each(func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := b.Row(i)
			clear(row)
			g.visitor.VisitRow(i, func(l int, w float64) {
				if !(w > 0) {
					return
				}
				signs := kernel.Bits(key, uint64(min(i, l))*uint64(g.n)+uint64(max(i, l))) >> shift
				root := math.Sqrt(w)
				if l < i {
					root = -root
				}
				for c := range row {
					row[c] += math.Float64frombits(math.Float64bits(root) ^ signs>>c<<63)
				}
			})
		}
	})
	total := make([]float64, g.components*solveColumns)
	sizes := make([]float64, g.components)
	for i, c := range g.component {
		kernel.Axpy(total[int(c)*solveColumns:][:solveColumns], 1, b.Row(i))
		sizes[c]++
	}
	for i, c := range g.component {
		kernel.Axpy(b.Row(i), -1/sizes[c], total[int(c)*solveColumns:][:solveColumns])
	}
}

// laplacian solves L·X = B by conjugate gradients, preconditioned by the degrees, for solveColumns right-hand
// sides that sum to 0 on each component.
type laplacian struct {
	g           *resistor
	b, x, p, lp *Dense    // n×solveColumns; b becomes the residual
	step        []float64 // of each column
}

func newSolver(g *resistor) *laplacian {
	fresh := func() *Dense { return NewDense(g.n, solveColumns, nil) }
	return &laplacian{g: g, b: fresh(), x: fresh(), p: fresh(), lp: fresh(), step: make([]float64, solveColumns)}
}

// solve leaves solutions in x. It goes on until those in the first columns, as many as columns says, are
// accurate enough.
func (s *laplacian) solve(ctx context.Context, columns int) error {
	g := s.g
	clear(s.x.data)
	// squares adds up r²/d by columns.
	squares := func(c []float64, lo, hi int) {
		for i := lo; i < hi; i++ {
			if g.degree[i] > 0 {
				for k, v := range s.b.Row(i) {
					c[k] += v * v / g.degree[i]
				}
			}
		}
	}
	direction := func(beta []float64) {
		g.sums.each(func(lo, hi int) {
			for i := lo; i < hi; i++ {
				if g.degree[i] > 0 {
					p := s.p.Row(i)
					for k, v := range s.b.Row(i) {
						p[k] = v/g.degree[i] + beta[k]*p[k]
					}
				}
			}
		})
	}
	clear(s.p.data)
	beta := make([]float64, solveColumns)
	rz := slices.Clone(g.sums.of(solveColumns, squares))
	target := make([]float64, columns)
	for k := range target {
		target[k] = solveTol * solveTol * rz[k]
	}
	for step := 0; ; step++ {
		open := 0
		for k, t := range target {
			if rz[k] > t {
				open++
			}
		}
		if open == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if step > solveSteps*g.n+solveMore {
			return fmt.Errorf("matrix: a Laplacian system was not solved in %d steps", step)
		}
		direction(beta)
		product := g.a.NewProduct(s.p, g.workers)
		pap := g.sums.of(solveColumns, func(c []float64, lo, hi int) {
			product.RowsTo(s.lp.data[lo*solveColumns:hi*solveColumns], lo, hi)
			for i := lo; i < hi; i++ {
				lp := s.lp.Row(i)
				for k, v := range s.p.Row(i) {
					lp[k] = g.degree[i]*v - lp[k]
					c[k] += v * lp[k]
				}
			}
		})
		for k := range s.step {
			s.step[k] = 0
			if pap[k] > 0 {
				s.step[k] = rz[k] / pap[k]
			}
		}
		after := g.sums.of(solveColumns, func(c []float64, lo, hi int) {
			for i := lo; i < hi; i++ {
				x, b, lp := s.x.Row(i), s.b.Row(i), s.lp.Row(i)
				for k, v := range s.p.Row(i) {
					x[k] += s.step[k] * v
					b[k] -= s.step[k] * lp[k]
				}
			}
			squares(c, lo, hi)
		})
		for k, v := range after {
			beta[k] = 0
			if rz[k] > 0 {
				beta[k] = v / rz[k]
			}
			rz[k] = v
		}
	}
}

// drawWithReplacement returns how often each edge is hit by the draws. Draw t falls on the first e with
// upTo[e] > u_t·upTo[last], where u_t is uniform in [0, 1).
func drawWithReplacement(ctx context.Context, upTo []float64, draws int64, opt *ResistanceSampling) ([]uint32, error) {
	hits := make([]uint32, len(upTo))
	if len(upTo) == 0 {
		return hits, nil
	}
	const block = 1 << 14
	total := upTo[len(upTo)-1]
	find, key := newGuide(upTo), kernel.Key(opt.Seed, streamDraws)
	// If the list is short, each goroutine counts for itself, because shared counts keep moving from
	// one cache to another.
	var apart [][]uint32
	var mu sync.Mutex
	counts := func() []uint32 {
		if opt.Workers <= 1 || len(hits) > mostApart/opt.Workers {
			return nil
		}
		own := make([]uint32, len(hits))
		mu.Lock()
		defer mu.Unlock()
		apart = append(apart, own)
		return own
	}
	kernel.BlocksWith(int(draws), block, opt.Workers, counts, func(own []uint32, _, lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		for t := lo; t < hi; t++ {
			u := float64(kernel.Bits(key, uint64(t))>>11) * 0x1p-53 * total
			if e := min(find.above(u), len(upTo)-1); own != nil { // if total is near 0, u may round up to it
				own[e]++
			} else {
				atomic.AddUint32(&hits[e], 1)
			}
		}
	})
	for _, own := range apart {
		for e, n := range own {
			hits[e] += n
		}
	}
	return hits, ctx.Err()
}

// mostApart is the largest total number of counts that goroutines keep for themselves: 16 MiB.
const mostApart = 1 << 22

// guide finds numbers in a nondecreasing list. It divides the range from 0 to the last number into steps, and
// knows where the numbers of each step begin.
type guide struct {
	upTo  []float64
	scale float64 // steps per unit
	first []int   // place of the first number of each step
}

// perStep is the average number of numbers in a step.
const perStep = 8

func newGuide(upTo []float64) *guide {
	steps := len(upTo)/perStep + 1
	g := &guide{upTo: upTo, scale: float64(steps) / upTo[len(upTo)-1], first: make([]int, steps+2)}
	if math.IsInf(g.scale, 0) {
		g.scale = 0
	}
	next := 0
	for e, v := range upTo {
		for step := g.step(v); next <= step; next++ {
			g.first[next] = e
		}
	}
	for ; next < len(g.first); next++ {
		g.first[next] = len(upTo)
	}
	return g
}

// step returns the step of v, which never decreases as v grows.
func (g *guide) step(v float64) int { return int(min(v*g.scale, float64(len(g.first)-2))) }

// above returns the place of the first number above v ≥ 0, or the length of the list if there is none. No
// number of an earlier step is above v, and all numbers of later steps are.
func (g *guide) above(v float64) int {
	k := g.step(v)
	from, to := g.first[k], g.first[k+1]
	return from + sort.Search(to-from, func(e int) bool { return g.upTo[from+e] > v })
}

// collect makes S from the hits and the products wr = w_e·R_e.
func (g *resistor) collect(a Operator, hits []uint32, wr []float64, res *ResistanceSample) {
	n := g.n
	u := unit(a.Norm())
	b := &CSR{rows: n, cols: n, RowPtr: make([]int64, n+1)}
	var kept, off float64
	e := 0
	for i := range n {
		g.above(i, func(l int, w float64) {
			w /= g.scale
			s := 0.0
			if hits[e] > 0 {
				s = w * (float64(hits[e]) * res.Sum / (float64(res.Draws) * wr[e]))
				b.Col, b.Val = append(b.Col, int32(l)), append(b.Val, s)
				kept += 2 * (u * w) * (u * w)
			}
			off += 2 * (u * (w - s)) * (u * (w - s))
			e++
		})
		b.RowPtr[i+1] = int64(len(b.Col))
	}
	diag := make([]float64, n)
	a.DiagTo(diag)
	for _, d := range diag {
		kept += (u * d) * (u * d)
	}
	res.S, _ = mirror(b, diag, false, u)
	res.Edges, res.Of = int64(len(b.Col)), int64(len(hits))
	res.Kept = 1
	if norm := u * a.Norm(); norm > 0 {
		res.RelErr = math.Sqrt(off) / norm
		if res.Edges < res.Of {
			res.Kept = min(1, kept/norm/norm)
		}
	}
}
