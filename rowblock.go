package symnmf

import (
	"fmt"
	"math"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// RowBlock is exact coordinate descent in an order that reads A once a sweep: rows of H are improved a block at a time, each
// row by passes over its coordinates with the rest of H at rest, and the block then moves by the step t that minimizes the
// objective, a quartic in t, exactly. Sweeps are linked by momentum, which is dropped when it points uphill and undone when
// the objective has risen. The answer is a stationary point of the same problem as CD's, reached in a fraction of the time.
//
// A sweep costs one product A·H, Passes·n·r² multiply–adds and Passes·n·r roots, and every CheckEvery sweeps another product.
// Memory: 3·n·r numbers besides A, and for inner products X·H. The ℓ₁ term and an ignored diagonal are counted. It cannot
// leave zero where no A_ii > 0. See docs/engine.md.
type RowBlock struct {
	// Block is the number of rows in a block; the default 0 means 128.
	Block int
	// Passes is how often a block's coordinates are visited before it moves; the default 0 means 4.
	Passes int
	// MaxStep bounds t; the default 0 means 2. Beyond 1 entries may have to be cut off at zero.
	MaxStep float64
	// NoMomentum makes every sweep start where the last one ended.
	NoMomentum bool
	// CheckEvery is how many sweeps pass between comparisons of the objective; the default 0 means 5.
	CheckEvery int
}

// Name implements Solver.
func (s RowBlock) Name() string { return "rowblock" }

func (s RowBlock) accepts(p *problem, opt *Options) error {
	if opt.Start == (Zero{}) && p.norm > 0 && !p.positiveDiagonal() {
		return fmt.Errorf("%w: rowblock cannot leave zero when no A_ii > 0; start at random, or use cd-cyclic", ErrUnfit)
	}
	if s.Block < 0 || s.Passes < 0 || s.CheckEvery < 0 || !(s.MaxStep >= 0 && s.MaxStep <= 2) {
		return fmt.Errorf("%w: %+v", ErrOption, s)
	}
	return nil
}

func (s RowBlock) start(p *problem, h *matrix.Dense, run int) run {
	setDefault(&s.Block, 128)
	setDefault(&s.Passes, 4)
	setDefault(&s.CheckEvery, 5)
	if s.MaxStep == 0 {
		s.MaxStep = 2
	}
	r := p.r
	e := &rowBlockRun{
		RowBlock: s, p: p, h: h, hv: h.Data(), number: run,
		prev: append([]float64(nil), h.Data()...),
		g:    make([]float64, s.Block*r), d: make([]float64, s.Block*r),
		dd: make([]float64, r*r), hd: make([]float64, r*r),
		perm: make([]int, r), perms: make([]int32, s.Passes*r),
		solver: kernel.NewRowSolver[float64](r, r, p.ignoreDiag),
		tk:     1,
	}
	e.restart()
	return e
}

func setDefault(v *int, value int) {
	if *v == 0 {
		*v = value
	}
}

// rowBlockRun is one run of RowBlock. Between sweeps h is H_t, the last sweep's result, prev is H_{t−1}, and the next sweep
// starts from [H_t + β(H_t − H_{t−1})]₊.
type rowBlockRun struct {
	RowBlock
	p       *problem
	h       *matrix.Dense
	hv      []float64 // of h
	prev    []float64
	safe    []float64 // H at the last check
	safeF   float64   // its objective
	tk      float64   // Nesterov's
	beta    float64
	number  int
	sweeps  int
	product matrix.BlockProduct
	gram    []float64 // D = HᵀH of the moving H

	g, d   []float64 // of the block at work: (A·H)_B and the step, B×r
	dd, hd []float64 // dᵀd and H_Bᵀd, r×r
	perm   []int
	perms  []int32
	solver *kernel.RowSolver[float64]

	clipped int     // entries cut off at zero in the last sweep
	fallen  float64 // by how much the objective fell over the last sweep, from where momentum had put it
	uphill  float64 // ⟨Y − H_new, H_new − H_prev⟩ so far in the sweep, Y its start
	report  sweepReport
}

// restart makes the current H the point to come back to.
func (s *rowBlockRun) restart() {
	f := s.p.measure(s.h)
	s.safeF = f.objective()
	s.safe = append(s.safe[:0], s.hv...)
	s.tk, s.beta = 1, 0
}

func (s *rowBlockRun) sweep(stop func() bool) sweepReport {
	s.report, s.clipped = sweepReport{}, 0
	fromZero := s.extrapolate()
	s.gram = s.p.gram(s.h)
	if s.product == nil {
		s.product = s.p.a.(matrix.BlockMultiplier).NewBlockProduct(s.h, s.p.workers)
	} else {
		s.product.Refresh()
	}
	s.uphill = 0
	for lo := 0; lo < s.p.n; lo += s.Block {
		if stop() {
			s.report.cut = true
			return s.report
		}
		hi := min(lo+s.Block, s.p.n)
		if fromZero {
			for i := lo; i < hi; i++ {
				s.row(i)
			}
		} else {
			s.block(lo, hi)
		}
	}
	s.sweeps++
	if s.NoMomentum || s.uphill > 0 || fromZero {
		s.tk, s.beta = 1, 0
	} else {
		t := (1 + math.Sqrt(1+4*s.tk*s.tk)) / 2
		s.beta, s.tk = (s.tk-1)/t, t
	}
	s.fallen = s.report.decrease
	s.report.decrease = 0
	if s.sweeps%s.CheckEvery == 0 {
		s.checkpoint()
	} else {
		s.report.provisional = true
	}
	return s.report
}

// extrapolate moves h to the start of the next sweep and prev to H_t, and reports whether H_t is zero.
func (s *rowBlockRun) extrapolate() (zero bool) {
	zero = true
	for k, v := range s.hv {
		if s.beta > 0 {
			s.hv[k] = max(0, v+s.beta*(v-s.prev[k]))
		}
		s.prev[k] = v
		zero = zero && v == 0
	}
	return zero
}

// checkpoint compares the objective with that of the last one: if momentum has raised it, H goes back there.
func (s *rowBlockRun) checkpoint() {
	f := s.p.measure(s.h)
	if f.objective() <= s.safeF {
		s.report.decrease = s.safeF - f.objective()
		s.safeF = f.objective()
		copy(s.safe, s.hv)
		s.report.stepSq = f.gradKKT
		return
	}
	copy(s.hv, s.safe)
	copy(s.prev, s.safe)
	s.tk, s.beta = 1, 0
	s.report.provisional = true
}

// settle implements settler.
func (s *rowBlockRun) settle() {
	if f := s.p.measure(s.h); f.objective() > s.safeF {
		copy(s.hv, s.safe)
	}
}

// row improves row i alone: then the objective over the row is what the passes minimize, and no step is needed.
func (s *rowBlockRun) row(i int) {
	r := s.p.r
	hi := s.hv[i*r : (i+1)*r]
	old, g := s.d[:r], s.g[:r]
	copy(old, hi)
	s.product.RowsTo(g, i, i+1)
	p := s.p.diag[i]
	normSq := kernel.SumSq(hi)
	inner := normSq
	for range s.Passes {
		for j := range r {
			dj := s.gram[j*r : (j+1)*r]
			o, h := old[j], hi[j]
			rest := dj[j] - o*o
			b := kernel.Dot(dj, hi) - o*inner - rest*h - (g[j] - p*o - s.p.l1[j])
			x := bestRoot(normSq-h*h+rest-p, b)
			if x != h {
				normSq = max(0, normSq+(x-h)*(x+h))
				inner += o * (x - h)
				hi[j] = x
			}
		}
	}
	for j := range r {
		d := hi[j] - old[j]
		s.g[r+j] = d
		if d != 0 {
			s.report.changed++
		}
	}
	d := s.g[r : 2*r]
	for j := range r {
		for k := range r {
			s.gram[j*r+k] += hi[j]*hi[k] - old[j]*old[k]
		}
	}
	s.product.Step(d, i, i+1)
	s.product.Move(1)
}

// block improves rows lo to hi together.
func (s *rowBlockRun) block(lo, hi int) {
	p, r := s.p, s.p.r
	b := hi - lo
	g, d, hb := s.g[:b*r], s.d[:b*r], s.hv[lo*r:hi*r]
	s.product.RowsTo(g, lo, hi)
	for k := range s.Passes {
		permutation(s.perm, p.seed, uint64(s.number), uint64(s.sweeps), uint64(lo), uint64(k))
		for j, v := range s.perm {
			s.perms[k*r+j] = int32(v)
		}
	}
	s.solver.Solve(d, hb, g, p.diag[lo:hi], p.l1, s.gram, s.perms)
	clear(s.dd)
	clear(s.hd)
	kernel.Gram(s.dd, d, r)
	kernel.TransTimes(s.hd, hb, r, d, r)
	gd := kernel.Dot(g, d)
	q := s.product.Step(d, lo, hi)
	// φ(t) − φ(0) with φ = ‖A − (H+tD)(H+tD)ᵀ‖²
	hd, dd := s.hd, s.dd
	for j := range r { // K = HD + HDᵀ in place
		for k := range j {
			v := hd[j*r+k] + hd[k*r+j]
			hd[j*r+k], hd[k*r+j] = v, v
		}
		hd[j*r+j] *= 2
	}
	c := [4]float64{
		2*kernel.Dot(s.gram, hd) - 4*gd + 4*s.penalty(d),
		kernel.SumSq(hd) + 2*kernel.Dot(dd, s.gram) - 2*q,
		2 * kernel.Dot(dd, hd),
		kernel.SumSq(dd),
	}
	if p.ignoreDiag {
		// less (‖h_i + t·d_i‖²)² for every row
		for i := range b {
			hi, di := hb[i*r:(i+1)*r], d[i*r:(i+1)*r]
			l, m, q := kernel.SumSq(hi), kernel.Dot(hi, di), kernel.SumSq(di)
			c[0] -= 4 * l * m
			c[1] -= 4*m*m + 2*l*q
			c[2] -= 4 * m * q
			c[3] -= q * q
		}
	}
	t, fall := bestStep(c, s.MaxStep)
	if t == 0 {
		s.product.Move(0)
		return
	}
	s.report.decrease += fall / 4
	s.report.changed++
	kernel.Axpy(s.gram, t, hd)
	kernel.Axpy(s.gram, t*t, dd)
	prev := s.prev[lo*r : hi*r]
	clipped := false
	for k, v := range d {
		y := hb[k]
		x := y + t*v
		clipped = clipped || x < 0
		hb[k] = x
		s.uphill += (y - x) * (x - prev[k])
	}
	s.product.Move(t)
	if clipped {
		s.clip(lo, hi)
	}
}

// penalty returns Σ_ij Λ_j·d_ij.
func (s *rowBlockRun) penalty(d []float64) (sum float64) {
	for j, w := range s.p.l1 {
		if w != 0 {
			for k := j; k < len(d); k += s.p.r {
				sum += w * d[k]
			}
		}
	}
	return sum
}

// clip cuts the negative entries of rows lo to hi off at zero, and corrects D and the product.
func (s *rowBlockRun) clip(lo, hi int) {
	r := s.p.r
	for k := lo * r; k < hi*r; k++ {
		v := s.hv[k]
		if v >= 0 {
			continue
		}
		s.clipped++
		s.hv[k] = 0
		i, j := k/r, k%r
		for l, w := range s.hv[i*r : (i+1)*r] {
			s.gram[j*r+l] -= v * w
			s.gram[l*r+j] -= v * w
		}
		s.gram[j*r+j] -= v * v
		s.product.Change(i, j, -v)
	}
}

// bestStep returns the t in [0, most] that minimizes c₁t + c₂t² + c₃t³ + c₄t⁴ and how far below 0 that is; 0, 0 if no t is.
func bestStep(c [4]float64, most float64) (t, fall float64) {
	f := func(t float64) float64 { return t * (c[0] + t*(c[1]+t*(c[2]+t*c[3]))) }
	try := func(x float64) {
		if x > 0 && x <= most {
			if v := -f(x); v > fall {
				t, fall = x, v
			}
		}
	}
	try(most)
	// The derivative c₁ + 2c₂t + 3c₃t² + 4c₄t³ is monotone between its own extrema: look in each piece.
	slope := func(t float64) float64 { return c[0] + t*(2*c[1]+t*(3*c[2]+t*4*c[3])) }
	cuts := []float64{0}
	if disc := 9*c[2]*c[2] - 24*c[1]*c[3]; disc > 0 && c[3] > 0 {
		root := math.Sqrt(disc)
		for _, x := range []float64{(-3*c[2] - root) / (12 * c[3]), (-3*c[2] + root) / (12 * c[3])} {
			if x > 0 && x < most {
				cuts = append(cuts, x)
			}
		}
	}
	cuts = append(cuts, most)
	for k, lo := range cuts[:len(cuts)-1] {
		hi := cuts[k+1]
		if slope(lo) >= 0 || slope(hi) <= 0 {
			continue
		}
		for range 100 {
			mid := lo + (hi-lo)/2
			if mid == lo || mid == hi {
				break
			}
			if slope(mid) < 0 {
				lo = mid
			} else {
				hi = mid
			}
		}
		try(hi)
	}
	return t, fall
}

// verify implements checker: D and A·H, after a sweep and before momentum moves H. A block adds one rounding of the largest
// possible value to each number.
func (s *rowBlockRun) verify() error {
	most := 2 * s.p.norm
	for j := range s.p.r {
		most = max(most, s.gram[j*s.p.r+j])
	}
	tol := 64 * float64(s.p.n) * 0x1p-52 * most
	for k, want := range s.p.gram(s.h) {
		if d := math.Abs(s.gram[k] - want); d > tol {
			return fmt.Errorf("maintained D[%d,%d] is %v, HᵀH gives %v", k/s.p.r, k%s.p.r, s.gram[k], want)
		}
	}
	got, want := make([]float64, len(s.hv)), make([]float64, len(s.hv))
	s.product.RowsTo(got, 0, s.p.n)
	s.p.a.NewProduct(s.h, s.p.workers).RowsTo(want, 0, s.p.n)
	for k, w := range want {
		if math.Abs(got[k]-w) > tol*math.Sqrt(most) {
			return fmt.Errorf("maintained (AH)[%d,%d] is %v, the product gives %v", k/s.p.r, k%s.p.r, got[k], w)
		}
	}
	return nil
}
