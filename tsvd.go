package symnmf

import (
	"context"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// TSVD fits a turned factor of the best approximation of rank r. With B = U·√max(Λ, 0) from the r largest
// eigenvalues of A,
//
//	min ‖B·Q − H‖ over H ≥ 0 and QᵀQ = I,   by   BᵀH = Y·S·Zᵀ,  Q = Y·Zᵀ,  H = [B·Q]₊
//
// ‖BQ−H‖ never rises. ‖A−HHᵀ‖ may, and the limit need not be a stationary point of it: TSVD is good where A
// is near rank r and poor where it is not. The last H is the answer. A run has stalled when ‖BQ−H‖ changes by
// less than 1e-10 of itself. From H = 0, which says nothing of Q, it begins with Q = I. If eigenvalues
// coincide, B, and so H, is left to chance.
//
// A sweep is O(n·r²). None is made before the eigenpairs are there; Result.Times has the time they took.
// The figures take a product with A and are computed every CheckEvery sweeps. Memory: B besides H, and
// before that what matrix.Eigen takes.
//
// Source: Huang, Sidiropoulos, Swami, Non-negative matrix factorization revisited, IEEE Trans. Signal
// Process. 62, 2014, with eigenvalues in place of singular values: see docs/errata.md.
type TSVD struct {
	// CheckEvery is the number of sweeps between computations of the error; the default 0 means 10.
	CheckEvery int
}

const (
	defaultTurnCheck = 10
	turnsEnd         = 1e-10 // the relative change of ‖BQ−H‖ at which nothing more is to be expected
)

var tsvdKnobs = []Knob{
	{"check-every", "sweeps between looks at the error, each of which takes a product with A", "10",
		wholeKnob("check-every", 1, math.MaxInt, func(s *TSVD, k int) { s.CheckEvery = k })},
}

// Name implements Solver.
func (TSVD) Name() string { return "tsvd" }

func (TSVD) ownStart() Start { return SVDStart{} }

func (s TSVD) accepts(p *problem, opt *Options) error {
	if s.CheckEvery < 0 {
		return fmt.Errorf("%w: TSVD.CheckEvery = %d", ErrOption, s.CheckEvery)
	}
	return p.unfit(s.Name(), needsDiagonal|lacksL1, opt)
}

func (s TSVD) start(p *problem, h *matrix.Dense, _ int) run {
	setDefault(&s.CheckEvery, defaultTurnCheck)
	return &tsvdRun{TSVD: s, p: p, h: h}
}

type tsvdRun struct {
	TSVD
	p         *problem
	h         *matrix.Dense
	b         *matrix.Dense // n×r; nil before the first turn
	q         []float64     // r×r
	distance  float64       // ‖BQ−H‖
	objective float64       // when last computed
	sweeps    int
}

// begin implements beginner.
func (s *tsvdRun) begin(first *figures) { s.objective = first.objective() }

func (s *tsvdRun) sweep(stop func() bool) (rep sweepReport) {
	before := s.distance
	if stop() || !s.turn() {
		rep.cut = stop()
		return rep
	}
	s.sweeps++
	still := math.Abs(before-s.distance) <= turnsEnd*before
	if !still && s.sweeps%s.CheckEvery != 0 {
		rep.provisional = true
		return rep
	}
	var f figures
	s.p.aside(func() { f = s.p.measure(s.h) })
	rep.decrease, rep.stepSq = s.objective-f.objective(), f.gradKKT
	s.objective = f.objective()
	if !still {
		rep.changed = 1
	}
	return rep
}

// turn does one iteration. If there are no eigenpairs it returns false and leaves H as it was.
func (s *tsvdRun) turn() bool {
	if s.b == nil {
		top, err := s.p.leading()
		if err != nil {
			s.p.note("no eigenpairs: %v", err)
			return false
		}
		s.b = top.b
	}
	s.q = rotation(s.p.cross(s.b, s.h), s.p.r, s.p.r)
	s.distance = math.Sqrt(s.p.positive(s.h, s.b, s.q))
	return true
}

// rotation returns the Q with orthonormal rows that maximizes ⟨Q, M⟩ for the k×r matrix m, k ≤ r: Y·Zᵀ of M =
// Y·S·Zᵀ. For M = 0 it is the identity.
func rotation(m []float64, k, r int) []float64 {
	q := make([]float64, k*r)
	var svd mat.SVD
	if !kernel.Nonzero(m) || !svd.Factorize(mat.NewDense(k, r, m), mat.SVDThin) {
		for j := range k {
			q[j*r+j] = 1
		}
		return q
	}
	var y, z mat.Dense
	svd.UTo(&y)
	svd.VTo(&z)
	mat.NewDense(k, r, q).Mul(&y, z.T())
	return q
}

// positive sets h to [B·Q]₊ and returns ‖B·Q − h‖², the squared norm of the negative part.
func (p *problem) positive(h, b *matrix.Dense, q []float64) float64 {
	r := p.r
	return p.sum(func(lo, hi int) (cut float64) {
		rows := h.Data()[lo*r : hi*r]
		clear(rows)
		kernel.RowsTimes(rows, b.Data()[lo*r:hi*r], r, q, r)
		for k, v := range rows {
			if !(v > 0) {
				cut += v * v
				rows[k] = 0
			}
		}
		return cut
	})
}

// verify implements checker: QᵀQ = I up to rounding, and H = [B·Q]₊.
func (s *tsvdRun) verify() error {
	if s.b == nil { // no turn has been made
		return nil
	}
	r := s.p.r
	var qq mat.Dense
	q := mat.NewDense(r, r, s.q)
	qq.Mul(q.T(), q)
	for j := range r {
		for k := range r {
			want := 0.0
			if j == k {
				want = 1
			}
			if d := math.Abs(qq.At(j, k) - want); !(d <= 64*float64(r)*0x1p-52) {
				return fmt.Errorf("(QᵀQ)[%d,%d] is off by %.2g", j, k, d)
			}
		}
	}
	want := matrix.NewDense(s.p.n, r, nil)
	s.p.positive(want, s.b, s.q)
	for k, v := range want.Data() {
		if got := s.h.Data()[k]; got != v {
			return fmt.Errorf("entry [%d,%d] of H is %v, [BQ]₊ gives %v", k/r, k%r, got, v)
		}
	}
	return nil
}

// leading holds the min(r, n) largest eigenvalues of A and the B they make. There are fewer where all others
// are 0.
type leading struct {
	values []float64     // decreasing, scaled
	b      *matrix.Dense // U·√max(Λ, 0), n×r; columns beyond the positive eigenvalues are zero
	sure   bool          // no pair failed, and none was left out
	took   time.Duration
}

// leading returns the eigenpairs, which are computed once for all runs. It gives up when the run has to end.
// Columns have the signs of signRoots. Values of at most n·ε·λ₁ are zeros but for rounding.
func (p *problem) leading() (*leading, error) {
	p.common.mu.Lock()
	defer p.common.mu.Unlock()
	if p.common.top == nil {
		began := time.Now()
		of, unfold := matrix.Folded(p.a, p.common.workers)
		pairs, err := matrix.Eigen(p.context(), of, min(p.r, of.Dim()), matrix.EigenOptions{Seed: p.seed, Workers: p.common.workers})
		if err != nil {
			return nil, err
		}
		u := pairs.Vectors
		if unfold != nil {
			u = unfold(u, p.common.workers)
		}
		top := &leading{values: pairs.Values, b: u, sure: !pairs.Limited && len(pairs.Failed) == 0}
		if len(pairs.Values) < p.r {
			top.b = matrix.NewDense(p.n, p.r, nil)
		}
		positive := 0
		for positive < len(pairs.Values) && pairs.Values[positive] > float64(p.n)*0x1p-52*pairs.Values[0] {
			positive++
		}
		p.signRoots(top.b, u, pairs.Values[:positive], unfold != nil)
		for i := range p.n {
			clear(top.b.Row(i)[positive:])
		}
		top.took = time.Since(began)
		p.common.top = top
	}
	if !p.common.top.sure {
		p.note("some of the largest eigenpairs are not exact")
	}
	p.took(p.common.top.took, "the largest eigenpairs")
	return p.common.top, nil
}

// context returns a context that is cancelled when the run at work has to end.
func (p *problem) context() context.Context { return polled{context.Background(), p.stop} }

// polled is a context whose Err asks stop, which may be nil.
type polled struct {
	context.Context
	stop func() bool
}

// Err implements context.Context.
func (c polled) Err() error {
	if c.stop != nil && c.stop() {
		return context.Canceled
	}
	return nil
}
