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

// ResistanceSampling says how SampleByResistance works.
type ResistanceSampling struct {
	// Eps, above 0, is how near the quadratic form of the Laplacian stays: within a factor of 1±ε, with high probability.
	Eps float64
	// Draws is how many edges are drawn, with replacement, at most 2³¹−1; 0 means ⌈9·n·ln n/ε²⌉, which a graph that is not much
	// larger has no use for.
	Draws int64
	// Seed fixes every random choice.
	Seed uint64
	// Workers is how many goroutines may work at once, less than 1 meaning 1. The answer does not depend on it.
	Workers int
	// Progress is called on the caller's goroutine with the Laplacian systems solved, n where a matrix is inverted; nil is no call.
	Progress func(solved, of int)
}

func (o *ResistanceSampling) progress(solved, of int) {
	if o.Progress != nil {
		o.Progress(solved, of)
	}
}

// ResistanceSample is a graph with the edges drawn.
type ResistanceSample struct {
	Sparsified
	Draws        int64
	Combinations int     // by which resistances were estimated; 0 when they are exact
	Sum          float64 // Σ w_e·R_e over all edges; n − Components, were every R_e exact
	Components   int     // of the graph
}

// ErrResistance reports a graph or a ResistanceSampling without effective resistances.
var ErrResistance = errors.New("matrix: effective resistances")

const mostDraws = math.MaxInt32

// SampleByResistance draws edges of the graph a, off its diagonal, with probabilities p_e ∝ w_e·R_e, where w_e = A_il is the
// weight and R_e = (e_i−e_l)ᵀL⁺(e_i−e_l) the effective resistance of edge e = {i, l}, L = diag(A·1) − A. Each of q draws adds
// w_e/(q·p_e) to S_il. The diagonal, which L does not see, is that of A.
//
// That preserves xᵀLx for every x, and with it cuts; it does not preserve ‖A−HHᵀ‖. RelErr says how far S is from A.
//
// Resistances are estimated by k = ⌈24·ln n/ε²⌉ random combinations of the rows of W^½B, B the incidence matrix: R_e ≈
// ‖Y(e_i−e_l)‖², where a row of Y solves L·y = BᵀW^½s/√k for signs s. Where n ≤ k and n ≤ MostExact an n×n matrix is inverted
// instead, and they are exact but for rounding.
//
// Entries must be ≥ 0 and a must list them (a RowVisitor): make points a graph first, by Strongest; weights so far apart that no number holds their resistances are ErrRange. Memory: some 10 bytes for each
// entry of A and some 64 numbers for each item, or n² numbers; time: k systems by conjugate gradients, some passes over A for
// each 16, or n³ multiply–adds.
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
	draws := float64(opt.Draws)
	if opt.Draws == 0 {
		draws = max(1, math.Ceil(9*n*logN/opt.Eps/opt.Eps))
	}
	if draws > mostDraws {
		return nil, fmt.Errorf("%w: ε = %v, %.3g draws, at most %d are possible: say how many", ErrResistance, opt.Eps, draws, mostDraws)
	}
	res := &ResistanceSample{Draws: int64(draws), Components: g.components}
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
	// r becomes w_e·R_e, and upTo its sums.
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
		return nil, fmt.Errorf("%w: resistances of weights too far apart, some nearly 0: leave those edges out", ErrRange)
	}
	hits, err := drawWithReplacement(ctx, upTo, res.Draws, &opt)
	if err != nil {
		return nil, err
	}
	g.collect(a, hits, r, res)
	return res, nil
}

// resistor is a graph as a net of resistors of conductance w_e.
type resistor struct {
	a          Operator // without its diagonal, and scaled so that squares of degrees exist
	visitor    RowVisitor
	scale      float64
	n          int
	workers    int
	degree     []float64
	edges      []int64 // n+1: those of row i above the diagonal have the numbers from edges[i] to edges[i+1]
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
		return nil, fmt.Errorf("%w: of a graph of up to 2³¹−1 items, dense or sparse, that lists its entries (RowVisitor), as inner products do not", ErrResistance)
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

// above calls f for the edges of item i to later items.
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

// MostExact bounds the n of which an n×n matrix is inverted.
const MostExact = 4096

// exactResistances returns R_e, in units of the scaled a, for all edges, from the inverse of L + s·Σ_c 1_c·1_cᵀ/n_c, with the
// components c and s near the mean degree: that is L⁺ + Σ_c 1_c·1_cᵀ/(s·n_c), in which the last term does not matter to R_e. ok
// is false when rounding makes the matrix indefinite, or leaves too few digits, as weights of very different size may.
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
		g.above(i, func(j int, w float64) { // of minus the inverse
			least := 1 / min(g.degree[i], g.degree[j]) // were all others joined to one wire
			r = append(r, min(max(2*l[i*n+j]-l[i*n+i]-l[j*n+j], least), 1/w))
		})
	}
	return r, true, nil
}

// mostCondition is up to which ‖M‖₁·‖M⁻¹‖₁ an inverse counts as exact: of 281 graphs with weights of 1e±12 those below had errors of half a percent at most, and above of any size (not archived).
const mostCondition = 1e15

// mostRow returns the largest sum of the magnitudes of a row of a, n×n.
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
	// solveColumns is how many systems are solved side by side: a product reads A once for all of them.
	solveColumns = 16
	// solveTol is the residual, in the norm of D^−½ and relative to the right-hand side, at which a system counts as solved.
	// With λ₂ the least eigenvalue above 0 of D^−½·L·D^−½ the error of y is then at most √(2/λ₂)·solveTol, in the norm of L and
	// relative to y, where √(2/k) is what the combinations leave open.
	solveTol = 1e-8
	// Of a system of rank n more than n steps are needed for rounding only.
	solveSteps, solveMore = 10, 1000
)

// Streams of random numbers; signs of combination k are of stream streamSigns + k/64.
const (
	streamDraws = iota
	streamSigns
)

// keyOf returns the key of a stream.
func keyOf(seed, stream uint64) uint64 { return kernel.Mix(kernel.Mix(seed) ^ kernel.Mix(stream)) }

// bitsOf returns 64 random bits, number k of the stream with that key.
func bitsOf(key, k uint64) uint64 { return kernel.Mix(key ^ kernel.Mix(k)) }

// estimate returns R_e, in the same units, for all edges from k random combinations.
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

// combine fills b (n×solveColumns) with BᵀW^½s for the signs of combinations from on: item i gets +√w_e·s_e from edges to later
// items and −√w_e·s_e from those to earlier ones. Columns sum to 0 on each component, rounding included.
func (g *resistor) combine(b *Dense, from int, seed uint64) {
	key, shift := keyOf(seed, uint64(streamSigns+from/64)), from%64
	g.sums.each(func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := b.Row(i)
			clear(row)
			g.visitor.VisitRow(i, func(l int, w float64) {
				if !(w > 0) {
					return
				}
				signs := bitsOf(key, uint64(min(i, l))*uint64(g.n)+uint64(max(i, l))) >> shift
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

// laplacian solves L·X = B by conjugate gradients preconditioned by the degrees, for solveColumns right-hand sides that sum to
// 0 on each component.
type laplacian struct {
	g           *resistor
	b, x, p, lp *Dense    // n×solveColumns; b becomes the residual
	step        []float64 // of each column
}

func newSolver(g *resistor) *laplacian {
	fresh := func() *Dense { return NewDense(g.n, solveColumns, nil) }
	return &laplacian{g: g, b: fresh(), x: fresh(), p: fresh(), lp: fresh(), step: make([]float64, solveColumns)}
}

// solve leaves the answer in x for the first so many columns.
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
			return fmt.Errorf("matrix: a Laplacian system is not solved after %d steps", step)
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

// drawWithReplacement returns how often each edge is hit by so many draws, of which number t falls on the first e with
// upTo[e] > u_t·upTo[last], u_t uniform in [0, 1).
func drawWithReplacement(ctx context.Context, upTo []float64, draws int64, opt *ResistanceSampling) ([]uint32, error) {
	hits := make([]uint32, len(upTo))
	if len(upTo) == 0 {
		return hits, nil
	}
	const block = 1 << 14
	total := upTo[len(upTo)-1]
	find, key := newGuide(upTo), keyOf(opt.Seed, streamDraws)
	// Of a short list each goroutine counts for itself: what they count together goes from one cache to the other.
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
			u := float64(bitsOf(key, uint64(t))>>11) * 0x1p-53 * total
			if e := min(find.above(u), len(upTo)-1); own != nil { // u may be rounded to a total next to 0
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

// mostApart is how many counts goroutines keep for themselves, all together: 16 MiB.
const mostApart = 1 << 22

// guide finds numbers in a list that never falls, of which it knows where those of each of many steps from 0 to the last begin.
type guide struct {
	upTo  []float64
	scale float64 // steps for 1
	first []int   // of each step
}

// perStep is how many numbers a step has on average.
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

// step returns that of v. It never falls as v grows.
func (g *guide) step(v float64) int { return int(min(v*g.scale, float64(len(g.first)-2))) }

// above returns the first place of a number above v ≥ 0, or how many there are: of a step before that of v none is above it, and of later ones all are.
func (g *guide) above(v float64) int {
	k := g.step(v)
	from, to := g.first[k], g.first[k+1]
	return from + sort.Search(to-from, func(e int) bool { return g.upTo[from+e] > v })
}

// collect makes S from the hits and the weights w_e·R_e.
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
