package symnmf

import (
	"fmt"
	"math"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// Newton takes a Newton step for each column, over the entries that are not held at zero. The steps of all
// columns are computed from the same H, and H moves along all of them together as far as the objective falls.
// With ∇ = 4·(HHᵀ−A)·H, the gradient of ‖A−HHᵀ‖², and for column j
//
//	I = {i : ∇_ij ≤ ε or H_ij > ε},   B = 4·((HHᵀ − A) + h_j·h_jᵀ + ‖h_j‖²·I) on I×I,   s_j = B⁻¹·∇_:,j on I, else 0
//
// where s_j is also 0 at entries that are zero and that it would lower. Where B is not positive definite, or
// s_j is not a descent direction, s_j = ∇_:,j/‖A‖. Then H becomes N = [H − α·s]₊ for the first α = 1, 0.1,
// 0.01, … with ‖A−NNᵀ‖² − ‖A−HHᵀ‖² ≤ 0.1·⟨∇, N−H⟩. The objective does not rise. A zero column stays zero.
//
// A sweep is one step: r Cholesky factorizations, r·n³/6 multiply–adds, and a product A·N for each α. Memory:
// two n×n matrices of float64, whatever A is, and 8·n·r numbers. So it is for some thousands of items, and
// for comparison.
//
// Source: Kuang, Yun, Park, SymNMF: nonnegative low-rank approximation of a similarity matrix for graph
// clustering, J. Glob. Optim. 62, 2015. Their code factors B only when I has changed, and its s_j = ∇_:,j
// depends on the units of A: see docs/errata.md.
type Newton struct {
	published bool // tests: s_j and ε as published, in the units of A
}

// Name implements Solver.
func (Newton) Name() string { return "newton" }

func (Newton) ownStart() Start { return Random{} }

// newtonMost is the largest number of items for which anyone has memory for the two matrices: 64 GiB.
const newtonMost = 1 << 16

func (s Newton) accepts(p *problem, opt *Options) error {
	if p.n > newtonMost || p.n > math.MaxInt/16/p.n {
		return fmt.Errorf("%w: newton keeps two n×n matrices, too large for n = %d; use rowblock or cd-cyclic", ErrUnfit, p.n)
	}
	return p.unfit(s.Name(), needsDiagonal|lacksL1|heldByZero, opt)
}

func (s Newton) start(p *problem, h *matrix.Dense, _ int) run {
	at := newSloped(p, h)
	run := &newtonRun{
		Newton: s, iterate: at, next: at.other(), step: matrix.NewDense(p.n, p.r, nil),
		diff: make([]float64, p.n*p.n), block: make([]float64, p.n*p.n), down: 1 / p.norm, epsH: 0x1p-52, epsG: 0x1p-52,
	}
	if s.published { // 1 and ε in the units of A
		run.down = 1 / p.scale
		run.epsH *= math.Sqrt(p.scale)
		run.epsG *= p.scale * math.Sqrt(p.scale)
	}
	return run
}

type newtonRun struct {
	Newton
	*iterate
	next  *iterate
	step  *matrix.Dense // s, n×r
	diff  []float64     // HHᵀ − A, n×n
	block []float64     // B/4, with as many rows and columns as I has items, and then its factor
	down  float64       // s_j = down·∇_:,j where there is no Newton step
	epsH  float64
	epsG  float64

	newton, gradient int // number of columns that took a Newton step, and that took the gradient
}

func (s *newtonRun) sweep(stop func() bool) sweepReport {
	const (
		enough  = 0.1 // of the decrease that the slope predicts
		shorter = 0.1
		least   = 1e-20
	)
	if stop() {
		return sweepReport{cut: true}
	}
	s.subtract()
	grad := s.gradient4()
	for j := range s.p.r {
		if stop() {
			return sweepReport{cut: true}
		}
		s.column(j, grad)
	}
	h, n := s.h.Data(), s.next.h.Data()
	for alpha := 1.0; alpha >= least; alpha *= shorter {
		if stop() {
			return sweepReport{cut: true}
		}
		promise := 0.0
		for k, v := range h {
			n[k] = max(0, v-alpha*s.step.Data()[k])
			promise += grad.Data()[k] * (n[k] - v)
		}
		s.next.look()
		if s.next.at.errSq-s.at.errSq <= enough*min(promise, 0) { // cutting off at zero may turn a step uphill
			return s.take(s.next)
		}
	}
	return sweepReport{stepSq: s.at.gradKKT}
}

// subtract computes HHᵀ − A: n²·r multiply–adds, and for inner products a product with n columns.
func (s *newtonRun) subtract() {
	const columns = 64 // of A at a time, where it cannot list its rows
	p, n, r := s.p, s.p.n, s.p.r
	turned := s.h.Transpose().Data()
	visitor, listed := p.a.(matrix.RowVisitor)
	kernel.Blocks(n, 16, p.workers, func(_, lo, hi int) {
		rows := s.diff[lo*n : hi*n]
		clear(rows)
		kernel.RowsTimes(rows, s.h.Data()[lo*r:hi*r], r, turned, n)
		if listed {
			for i := lo; i < hi; i++ {
				row := s.diff[i*n : (i+1)*n]
				visitor.VisitRow(i, func(l int, v float64) { row[l] -= v })
			}
		}
	})
	if listed {
		return
	}
	for from := 0; from < n; from += columns {
		width := min(columns, n-from)
		unit, a := matrix.NewDense(n, width, nil), matrix.NewDense(n, width, nil)
		for c := range width {
			unit.Set(from+c, c, 1)
		}
		p.times(a, unit)
		for i := range n {
			kernel.Axpy(s.diff[i*n+from:i*n+from+width], -1, a.Row(i))
		}
	}
}

// gradient4 returns 4·(H·D − A·H).
func (s *newtonRun) gradient4() *matrix.Dense {
	r := s.p.r
	g := matrix.NewDense(s.p.n, r, nil)
	kernel.Blocks(s.p.n, measureBlock, s.p.workers, func(_, lo, hi int) {
		rows, hd := g.Data()[lo*r:hi*r], s.hd.Data()[lo*r:hi*r]
		for k, v := range s.ah.Data()[lo*r : hi*r] {
			rows[k] = 4 * (hd[k] - v)
		}
	})
	return g
}

// column computes s_j.
func (s *newtonRun) column(j int, grad *matrix.Dense) {
	n := s.p.n
	var free []int // I
	var hj, x []float64
	for i := range n {
		s.step.Set(i, j, 0)
		if g, v := grad.At(i, j), s.h.At(i, j); g <= s.epsG || v > s.epsH {
			free, hj, x = append(free, i), append(hj, v), append(x, g/4)
		}
	}
	m := len(free)
	normSq := s.gram[j*s.p.r+j]
	kernel.Blocks(m, 16, s.p.workers, func(_, lo, hi int) {
		for a := lo; a < hi; a++ {
			row, from := s.block[a*m:(a+1)*m], s.diff[free[a]*n:(free[a]+1)*n]
			for b, i := range free[:a+1] {
				row[b] = from[i] + hj[a]*hj[b]
			}
			row[a] += normSq
		}
	})
	if cholesky(s.block[:m*m], m, s.p.workers) {
		choleskySolve(s.block[:m*m], m, x)
		for a, i := range free {
			if hj[a] > s.epsH || x[a] < 0 {
				s.step.Set(i, j, x[a])
			}
		}
		var along, gg, ss float64
		for i := range n {
			g, v := grad.At(i, j), s.step.At(i, j)
			along, gg, ss = along+g*v, gg+g*g, ss+v*v
		}
		if along > 0x1p-52*math.Sqrt(gg*ss) {
			s.newton++
			return
		}
	}
	s.gradient++
	for i := range n {
		s.step.Set(i, j, s.down*grad.At(i, j))
	}
}
