package symnmf

import (
	"fmt"
	"math"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// What RowBlock checks about its H: whether the objective has fallen, how far H is from rest, and that what
// it maintains is right.

// check compares the objective, if it is at hand or its turn has come, with that of the last check. If momentum
// has raised it, H goes back there, the sweep has nothing to report, and check returns false.
func (s *rowBlockRun) check() bool {
	compressed := s.p != s.full
	inner, kept := 0.0, false
	switch {
	case compressed:
	case s.tellsLower() && !s.wasSo:
		inner, kept = s.innerNow, true
	default:
		inner, kept = s.product.Inner()
	}
	if !kept {
		if (s.rough.now || s.sweeps%s.CheckEvery != 0) && s.report.changed > 0 && !s.wasSo {
			s.report.provisional = true
			return true
		}
		if compressed {
			inner = s.innerOfFull()
		} else {
			inner = s.innerOf(s.product)
		}
	}
	s.nextRough()
	f := s.objective(inner)
	if f > s.safeF+s.noise()+s.safeNoise {
		if !s.foundRisen() && s.beta == 0 {
			s.MaxStep = min(s.MaxStep, 1) // cutting entries off at zero was to blame
		}
		if s.everySweep {
			s.back(s.prev)
		} else {
			s.back(s.safe)
		}
		if compressed {
			s.expand()
		}
		s.report.provisional = true
		return false
	}
	if compressed {
		if s.safeF-f < solvedWhile*float64(s.sweeps-s.checked)*f {
			s.expand()
		}
		s.report.changed = max(s.report.changed, 1)
	}
	s.report.decrease = s.safeF - f
	s.fell = s.report.decrease / float64(max(s.sweeps-s.checked, 1))
	s.safeF, s.safeNoise, s.checked, s.rough.since, s.rough.rose = f, s.takenNoise(s.h), s.sweeps, false, false
	if !s.everySweep {
		s.safe = append(s.safe[:0], s.hv...)
	}
	s.report.stepSq = s.estimate()
	return true
}

// noise bounds the rounding error of the difference between two objectives, except for takenNoise of the
// other H.
func (s *rowBlockRun) noise() float64 {
	return 64*0x1p-52*(s.p.norm*s.p.norm+kernel.SumSq(s.gram)) + s.takenNoise(s.h)
}

// takenNoise bounds the error of ⟨A·H, H⟩ where that is itself a difference, for inner products without their
// diagonal.
func (s *rowBlockRun) takenNoise(h *matrix.Dense) float64 {
	taken := 0.0
	for i, v := range s.p.taken {
		taken += v * kernel.SumSq(h.Row(i))
	}
	return 128 * 0x1p-52 * taken
}

// back sets h to what it was, without momentum.
func (s *rowBlockRun) back(to []float64) {
	s.widen()
	copy(s.hv, to)
	s.product.Refresh()
	s.joint.left = math.NaN()
	s.tk, s.beta = 1, 0
}

// cut ends a sweep that has come to a limit.
func (s *rowBlockRun) cut() sweepReport {
	if s.beta > 0 || s.rounds { // part of H is where momentum or rounding has put it
		s.back(s.prev)
	}
	s.rough.now, s.report.cut = false, true
	return s.report
}

// estimate returns approximately ‖H − [H − G/‖A‖]₊‖². The direction d of a row to its minimizer is G·D⁻¹ but for the
// terms of the row alone, so that ‖G‖² ≤ ‖D‖·Σ⟨D, dᵀd⟩. How far the estimate is off is measured, near rest or
// in long runs, each time the number of sweeps has doubled.
func (s *rowBlockRun) estimate() float64 {
	measure := func() (sq float64) {
		s.whileWide(func() {
			var product matrix.Product = s.product
			if s.rounded.product != nil { // it keeps nothing that a product would save
				product = matrix.ProductOf(s.p.a, s.h, s.p.workers)
			}
			sq = s.p.measureWith(s.h, product).gradKKT
		})
		return sq
	}
	if s.wasSo { // rows moved one at a time have left no d
		return measure()
	}
	e := max(0, s.ddd) / s.p.norm // where HᵀH is nearly singular, rounding can leave ddd below 0
	if (s.sweeps >= 32 || s.sweeps >= 8 && e <= nearRest*s.p.norm) && s.sweeps >= s.next && e > 0 && s.p == s.full {
		s.next = 2 * s.sweeps
		sq := measure()
		if s.trust = sq / e; math.IsInf(s.trust, 0) { // e is next to nothing
			s.trust = 1
			return sq
		}
	}
	return s.trust * e
}

// nearRest is the square of an estimated KKT residual of 1e-3. Far above it nothing depends on the estimate,
// and a measurement takes half a sweep.
const nearRest = 1e-6

// objective returns ¼‖A−HHᵀ‖² + Σ_j Λ_j‖H_:,j‖₁ given ⟨A·H, H⟩.
func (s *rowBlockRun) objective(inner float64) float64 {
	sum := s.p.norm*s.p.norm - 2*inner + s.sumHH()
	penalty := 0.0
	if kernel.Nonzero(s.p.l1) {
		room := make([]float64, s.pitch)
		for i := range s.p.n {
			penalty += kernel.Dot(s.p.l1, s.rowOf(i, room)[:s.p.r])
		}
	}
	return sum/4 + penalty
}

// sumHH returns ‖HHᵀ‖², without the diagonal if that is ignored.
func (s *rowBlockRun) sumHH() float64 {
	sum := kernel.SumSq(s.gram)
	if s.p.ignoreDiag {
		room := make([]float64, s.pitch)
		for i := range s.p.n {
			l := kernel.SumSq(s.rowOf(i, room))
			sum -= l * l
		}
	}
	return sum
}

// innerOfFull returns ⟨A·H, H⟩ of the A to be solved, while a low rank is at work in its place.
func (s *rowBlockRun) innerOfFull() float64 {
	if m, ok := s.full.a.(matrix.InnerMultiplier); ok {
		if v, ok := m.Inner(s.h, s.p.workers); ok {
			return v
		}
	}
	return s.innerOf(s.full.a.NewProduct(s.h, s.p.workers))
}

// innerOf returns ⟨A·H, H⟩, computed by a product.
func (s *rowBlockRun) innerOf(product matrix.Product) (sum float64) {
	for lo := 0; lo < s.p.n; lo += s.Block {
		hi := min(lo+s.Block, s.p.n)
		groups, _ := s.groupsOf(hi - lo)
		s.eachGroup(lo, hi, func(g *rowGroup, from, to int) {
			ah := s.at(s.g, lo, from, to)
			product.RowsTo(ah, from, to)
			g.sum = kernel.Dot(ah, s.hv[from*s.pitch:to*s.pitch])
		})
		for k := range groups {
			sum += groups[k].sum
		}
	}
	return sum
}

// verify implements checker: it compares D and A·H with H, after a sweep and before momentum moves H. Each
// block may add one rounding of the largest possible value to each number.
func (s *rowBlockRun) verify() (err error) {
	s.whileWide(func() { err = s.verifyWide() })
	return err
}

// verifyWide is verify for an H in float64.
func (s *rowBlockRun) verifyWide() error {
	most := max(2*s.p.norm, s.largest)
	for j := range s.p.r {
		most = max(most, s.gram[j*s.pitch+j])
	}
	tol := 64 * float64(s.p.n) * 0x1p-52 * most
	if s.p != s.full {
		tol += 1e-10 * most // for the orthogonality of U
	}
	for k, want := range s.p.gram(s.h) {
		if d := math.Abs(s.gram[k] - want); !(d <= tol) {
			return fmt.Errorf("maintained D[%d,%d] is %v, HᵀH gives %v", k/s.pitch, k%s.pitch, s.gram[k], want)
		}
	}
	got, want := make([]float64, len(s.hv)), make([]float64, len(s.hv))
	if s.termProduct == nil {
		s.product.RowsTo(got, 0, s.p.n)
	} else {
		for k := range s.termProduct.Terms() {
			s.termProduct.TermTo(want, k, 0, s.p.n)
			kernel.Axpy(got, 1, want)
		}
	}
	s.p.a.NewProduct(s.h, s.p.workers).RowsTo(want, 0, s.p.n)
	tol = s.p.productTol(tol, most)
	for k, w := range want {
		if !(math.Abs(got[k]-w) <= tol) {
			return fmt.Errorf("maintained (AH)[%d,%d] is %v, the product gives %v", k/s.pitch, k%s.pitch, got[k], w)
		}
	}
	return nil
}

// heldBack says, after a sweep, whether moving rows one at a time would do much better than the sweep did.
func (s *rowBlockRun) heldBack() bool {
	return s.gainAlone() > heldFrom*s.fell+s.noise()+worthMoving*s.safeF
}

// heldFrom is how many times what the last sweep gained rows alone must gain for rows to move one at a time.
// When real data come to rest, rows would gain 0.003 to 1.1 times that, mostly a third (78 runs: digits,
// images, documents and graphs, r = 4 to 60, KKT residual 1e-4; not archived). At saddle points it
// is thousands of times that.
//
// worthMoving is the least gain, as a part of the objective, that is worth such a sweep, which takes as long as
// several others.
const (
	heldFrom    = 4
	worthMoving = 1e-6
)

// gainAlone returns the sum of what the objective would fall by if each row of h moved and the others did not.
// It returns 0 when the run has to end first.
func (s *rowBlockRun) gainAlone() (gain float64) {
	s.takeOrders(0)
	s.packGram()
	for lo := 0; lo < s.p.n; lo += s.Block {
		if s.p.stop != nil && s.p.stop() {
			return 0
		}
		hi := min(lo+s.Block, s.p.n)
		s.products(lo, hi)
		s.eachGroup(lo, hi, func(grp *rowGroup, from, to int) {
			s.sumTerms(lo, from, to)
			s.fetchRows(grp, from, to)
			s.propose(grp, lo, from, to)
			g, d, h := s.at(s.g, lo, from, to), s.at(s.d, lo, from, to), s.rowsOf(grp, from, to)
			grp.sum = 0
			for i := from; i < to; i++ {
				at, end := (i-from)*s.pitch, (i-from+1)*s.pitch
				grp.sum += s.rowChange(i, h[at:end], d[at:end], g[at:end])
			}
		})
		groups, _ := s.groupsOf(hi - lo)
		for k := range groups {
			gain -= groups[k].sum / 4
		}
	}
	return gain
}
