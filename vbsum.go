package symnmf

import (
	"fmt"
	"math"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// VBSUM is block successive upper-bound minimization. Rows of H are visited in a random order, and each is
// moved ten times to the minimizer of an upper bound on the objective over that row x ≥ 0, with the other
// rows fixed. With P = HᵀH − x·xᵀ and v = (A·H)_i,: − A_ii·x, both for the row as it was before, and λ the
// largest eigenvalue of P,
//
//	y = [(λI − P)·x + v + A_ii·x]₊,   x ← y/‖y‖·t,   t³ + λ·t = ‖y‖
//
// and x ← 0 where y = 0. The bound uses λ for the quadratic part and the tangent at x for the term
// −½A_ii‖x‖²; this is its minimizer. The objective does not rise if no A_ii < 0. A column that is zero stays
// zero. Rows are updated one after another, on one thread.
//
// A sweep takes n times the largest eigenvalue of an r×r matrix, some 10 to 30 products with it, Inner·n·r²
// multiply–adds, and two products A·H, one of them for the figures. Memory: n·r numbers besides H, m·r for
// inner products.
//
// A must be an operator of package matrix other than those of Completed, or a view of one.
//
// Source: Shi, Sun, Lu, Hong, Razaviyayn, Inexact block coordinate descent methods for symmetric nonnegative
// matrix factorization, IEEE TSP 2017 (arXiv 1607.03092), with t by bestRoot in place of the difference of
// two cube roots.
type VBSUM struct {
	// Inner is how often a row moves at each visit; the default 0 means 10.
	Inner int

	replay func(sweep int) []int // tests: the order of the rows
}

const defaultInner = 10

var vbsumKnobs = []Knob{
	{"inner", "how often a row moves at each visit", fmt.Sprint(defaultInner), wholeKnob("inner", 1, mostPasses, func(s *VBSUM, k int) { s.Inner = k })},
}

// Name implements Solver.
func (VBSUM) Name() string { return "vbsum" }

func (VBSUM) ownStart() Start { return Random{} }

func (s VBSUM) accepts(p *problem, opt *Options) error {
	_, blocks := p.a.(matrix.BlockMultiplier)
	switch {
	case s.Inner < 0 || s.Inner > mostPasses:
		return fmt.Errorf("%w: VBSUM.Inner = %d", ErrOption, s.Inner)
	case !blocks:
		return fmt.Errorf("%w: vbsum needs products by blocks of rows, which the matrix does not have; use cd-cyclic", ErrUnfit)
	}
	return p.unfit(s.Name(), needsDiagonal|lacksL1|heldByZero, opt)
}

// vbsumBlock is the number of rows in a block of the product that follows H; rows of points in a block share
// work.
const vbsumBlock = 128

func (s VBSUM) start(p *problem, h *matrix.Dense, number int) run {
	setDefault(&s.Inner, defaultInner)
	return &vbsumRun{
		VBSUM: s, iterate: newIterate(p, h), number: number, order: make([]int, p.n),
		// A team has nothing to share in one row at a time, and a team of one holds nothing.
		product: p.a.(matrix.BlockMultiplier).NewBlockProduct(h, min(vbsumBlock, p.n), kernel.NewTeam(1)),
		rest:    make([]float64, p.r*p.r), v: make([]float64, p.r), y: make([]float64, p.r), x: make([]float64, p.r),
		top: make([]float64, p.r),
	}
}

type vbsumRun struct {
	VBSUM
	*iterate
	number  int
	sweeps  int
	order   []int
	product matrix.BlockProduct
	rest    []float64 // P, r×r
	v, y, x []float64 // r each
	top     []float64 // the eigenvector of the largest eigenvalue of P, from the row before
}

func (s *vbsumRun) sweep(stop func() bool) sweepReport {
	order := s.order
	if s.replay != nil {
		order = s.replay(s.sweeps)
	} else {
		permutation(order, s.p.seed, uint64(s.number), uint64(s.sweeps))
	}
	cut := false
	for k, i := range order {
		if k%8 == 7 && stop() {
			cut = true
			break
		}
		s.row(i)
	}
	if s.sweeps++; s.sweeps%refreshCursorEvery == 0 {
		s.product.Refresh()
	}
	var rep sweepReport
	s.p.aside(func() { rep = s.look() })
	rep.cut = cut
	return rep
}

// largest returns the largest eigenvalue of P by power iteration. P is a sum of rows times themselves, so it
// has no negative entry, and there is an eigenvector without one; from row to row it changes little. The
// iteration begins with the eigenvector of the row before, to which some of every direction is added in case
// it has become that of another eigenvalue.
func (s *vbsumRun) largest() float64 {
	const (
		stir = 1e-3
		near = 1e-11 // residual over eigenvalue; the error of the eigenvalue is of the order of its square
		most = 60
	)
	v, y := s.top, s.y
	for j := range v {
		v[j] += stir
	}
	for range most {
		length := math.Sqrt(kernel.SumSq(v))
		for j := range v {
			v[j] /= length
		}
		clear(y)
		kernel.RowTimes(y, v, s.rest)
		lambda := kernel.Dot(v, y)
		if !(lambda > 0x1p-400) { // its square would underflow
			break
		}
		restSq := 0.0
		for j, u := range y {
			restSq += (u - lambda*v[j]) * (u - lambda*v[j])
		}
		if restSq <= near*near*lambda*lambda {
			return lambda
		}
		copy(v, y)
	}
	return largestEigenvalue(s.rest, s.p.r)
}

// row moves row i and updates D.
func (s *vbsumRun) row(i int) {
	r, old := s.p.r, s.h.Row(i)
	own := s.p.diag[i]
	s.product.RowsTo(s.v, i, i+1)
	kernel.Axpy(s.v, -own, old)
	copy(s.x, old)
	copy(s.rest, s.gram)
	for j, v := range old {
		kernel.Axpy(s.rest[j*r:(j+1)*r], -v, old)
	}
	lambda := s.largest()
	for range s.Inner {
		clear(s.y)
		kernel.RowTimes(s.y, s.x, s.rest)
		for j, x := range s.x {
			s.y[j] = max(0, (lambda+own)*x-s.y[j]+s.v[j])
		}
		length := math.Sqrt(kernel.SumSq(s.y))
		t := 0.0
		if length > 0 {
			t = bestRoot(lambda, -length) / length
		}
		for j, y := range s.y {
			s.x[j] = t * y
		}
	}
	copy(s.gram, s.rest)
	for j, x := range s.x {
		kernel.Axpy(s.gram[j*r:(j+1)*r], x, s.x)
	}
	for j, x := range s.x {
		old[j], s.x[j] = x, x-old[j]
	}
	if kernel.Nonzero(s.x) {
		s.product.AddRow(i, s.x)
	}
}
