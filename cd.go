package symnmf

import (
	"fmt"
	"math"
	"slices"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// CD is exact coordinate descent: each entry of H in turn is set to the exact minimizer of the objective over that entry
// alone, the root of a cubic. The objective never rises. The zero value is the paper's CD-Cyclic.
//
// A sweep visits r columns of n entries. Each visit costs O(r), and each entry that changes as much as row i of A has
// entries (twice the length of X_:,i for inner products); of a sparse A, while most entries change, each visit does. Memory: n·r numbers besides H, m·r for inner products.
//
// Source: the paper, Algorithm 4 and sections 3.3 and 4.2, with the corrections of docs/errata.md.
type CD struct {
	// Order is the order of the columns; the default is Cyclic.
	Order ColumnOrder
	// Entries is the order of the entries of a column; the default is Natural.
	Entries EntryOrder
	// Nu is the part of the column's largest decrease that Entries = Selected asks of an entry; the default 0 means 0.1.
	Nu float64
	// MBIEvery makes every so many sweeps end with one update of the single best entry of all (maximum block improvement);
	// the default 0 means never.
	MBIEvery int

	replay   func(sweep int) []int // tests: the order of the columns
	unseeded bool                  // tests: leave a column at zero, as the published code does
}

const defaultNu = 0.1

// Name implements Solver.
func (s CD) Name() string { return "cd-" + s.Order.String() }

func (s CD) accepts(*problem, *Options) error {
	switch {
	case s.Order < Cyclic || s.Order > Shuffle || s.Entries < Natural || s.Entries > Selected:
		return fmt.Errorf("%w: CD.Order = %d, CD.Entries = %d", ErrOption, s.Order, s.Entries)
	case !(s.Nu >= 0 && s.Nu <= 1):
		return fmt.Errorf("%w: CD.Nu = %v, want 0 to 1", ErrOption, s.Nu)
	case s.MBIEvery < 0:
		return fmt.Errorf("%w: CD.MBIEvery = %d", ErrOption, s.MBIEvery)
	}
	return nil
}

func (s CD) start(p *problem, h *matrix.Dense, run int) run {
	if s.Nu == 0 {
		s.Nu = defaultNu
	}
	e := &cdRun{CD: s, cdState: newCDState(p, h), number: run, order: make([]int, p.r), keys: make([]float64, p.n)}
	for _, v := range h.Data() {
		if v != 0 {
			e.report.changed++ // as it will, as a rule, in the first sweep
		}
	}
	return e
}

// Maintained quantities are computed afresh from H every so many sweeps. Drift grows with the number of updates, by one
// rounding each: after 50 sweeps D, L and A·H are wrong by less than 1e-14·‖A‖ in TestDriftBetweenRefreshes.
const (
	refreshGramEvery   = 10 // sweeps; O(n·r²) each
	refreshCursorEvery = 50 // sweeps; O(nnz·r) each
)

// cdState is H with what coordinate descent keeps beside it. Between columns gram = HᵀH (r×r), rowSq[i] = ‖H_i,:‖² (n)
// and the cursor's A·H hold up to the rounding that refresh removes.
type cdState struct {
	p      *problem
	h      *matrix.Dense
	hv     []float64 // of h: H_ij at i·r+j
	cursor matrix.Cursor
	gram   []float64
	rowSq  []float64

	// The column at work, between begin and end: dj = D_j,: with 0 in place of D_jj, which is cj.
	j  int
	dj []float64
	cj float64

	forward bool // the cursor looks forward only
	report  sweepReport
}

// sweepReport is what a sweep found on its way.
type sweepReport struct {
	decrease float64 // of the objective, exact but for rounding
	stepSq   float64 // Σ (H_ij − [H_ij − φ′/‖A‖]₊)², each at the moment of its visit
	changed  int64   // entries
	planted  int     // columns that could not leave zero and were given a pair of entries
	cut      bool    // it was ended before its last column
	// provisional says that the objective of this H has not been compared with those before: nothing is said of it.
	provisional bool
}

func newCDState(p *problem, h *matrix.Dense) *cdState {
	s := &cdState{p: p, h: h, hv: h.Data(), rowSq: make([]float64, p.n), cursor: p.a.NewCursor(h, p.workers)}
	s.refreshGram()
	return s
}

func (s *cdState) refreshGram() {
	s.gram = s.p.gram(s.h)
	for i := range s.rowSq {
		s.rowSq[i] = kernel.SumSq(s.h.Row(i))
	}
}

// begin makes j the column at work, end puts its row of gram in order again.
func (s *cdState) begin(j int) {
	r := s.p.r
	s.j, s.dj = j, s.gram[j*r:(j+1)*r]
	s.cj, s.dj[j] = s.dj[j], 0
	s.cursor.Column(j)
}

func (s *cdState) end() {
	r := s.p.r
	s.dj[s.j] = s.cj
	for k, v := range s.dj {
		s.gram[k*r+s.j] = v
	}
}

// cubic returns the coefficients of φ(x) = x⁴/4 + a·x²/2 + b·x, the objective over entry (i, j) up to a constant, and the
// old value o = H_ij. With G = C_j − o²:
//
//	a = G + (L_i − o²) − A_ii
//	b = Σ_{k≠j} H_ik·(D_jk − H_ik·o) − (A_:,iᵀH_:,j − A_ii·o) + Λ_j
//
// which is the paper's eq. 12 arranged so that D_jj is not read. When the diagonal is ignored, φ(x) = G·x²/2 + b·x and a
// is G.
func (s *cdState) cubic(i int) (a, b, o float64) {
	r := s.p.r
	hi := s.hv[i*r : (i+1)*r]
	o = hi[s.j]
	rest := s.rowSq[i] - o*o
	a = s.cj - o*o
	others, ah := kernel.Dot(hi, s.dj), s.cursor.At(i)
	b = (others - o*rest) - (ah - s.p.diag[i]*o)
	if math.Abs(b) <= roundingOfB*(others+o*s.rowSq[i]+math.Abs(ah)) {
		b = 0
	}
	b += s.p.l1[s.j]
	if !s.p.ignoreDiag {
		if own := rest - s.p.diag[i]; math.Abs(own) > roundingOfL*s.p.diag[i] {
			a += own
		}
	}
	return a, b, o
}

// roundingOfB is the part of its terms up to which b is rounding. It matters where b is 0 by rights, for an item that has no
// similar ones, say: a rounding error below zero would put entries of 1e-17 in place of zeros.
const roundingOfB = 8 * 0x1p-52

// roundingOfL is how far L_i may be from A_ii, relatively, and still be equal to it: L_i is the square of a rounded root,
// or a sum of such. The difference is the only term of a where a column is zero, and an entry leaves zero as its square
// root: without this, rounding of 1e-16 would grow into entries of 1e-8.
const roundingOfL = 4 * 0x1p-52

// minimizer returns the x ≥ 0 with the least φ and the decrease φ(o) − φ(x) ≥ 0, by forms that do not cancel.
func (s *cdState) minimizer(a, b, o float64) (x, decrease float64) {
	if s.p.ignoreDiag {
		return quadraticMinimizer(a, b, o)
	}
	return cubicMinimizer(a, b, o)
}

// cubicMinimizer is minimizer for φ(x) = x⁴/4 + a·x²/2 + b·x.
func cubicMinimizer(a, b, o float64) (x, decrease float64) {
	x = bestRoot(a, b)
	if x > 0 {
		d := o - x
		return x, d * d * ((o*o+2*o*x+3*x*x)/4 + a/2)
	}
	return 0, o * ((o*o/4+a/2)*o + b)
}

// stepSq returns (o − [o − slope/norm]₊)².
func stepSq(o, slope, norm float64) float64 {
	step := o - max(0, o-slope/norm)
	return step * step
}

// quadraticMinimizer is minimizer for φ(x) = a·x²/2 + b·x, a ≥ 0, but for a bound on x: no larger than mostRatio times the
// rest of its column, √a. Without the diagonal the objective need not have a minimizer: a star of items is fitted ever
// better as its centre grows and the others shrink, until nothing is left but rounding.
func quadraticMinimizer(a, b, o float64) (x, decrease float64) {
	const mostRatio = 1e4 // leaves products of the shrinking ones 1e-8 times those with the centre
	switch {
	case a <= 0 && b > 0: // nothing else in the column but the ℓ₁ weight
		return 0, o * b
	case a <= 0: // nothing at all: φ is constant, or rounding is all there is
		return o, 0
	case b < 0:
		x = -b / a
		if most := mostRatio * math.Sqrt(a); x > most {
			if x = most; o > x {
				return o, 0
			}
		}
	}
	return x, (o - x) * (a/2*(o+x) + b)
}

// slope returns φ′(o).
func (s *cdState) slope(a, b, o float64) float64 {
	if s.p.ignoreDiag {
		return a*o + b
	}
	return (o*o+a)*o + b
}

// visit sets entry i of the column at work to its exact minimizer. F never rises beyond rounding. O(r), and the cost of
// the cursor's Add if the entry changes.
//
// Source: the paper, Algorithm 4, inner loop, corrected: D_jk gains +H_ik·δ (the paper has a minus), D_jj gains
// x² − H_ij² (not H_ij·δ), and x is written back (the listing omits it). See docs/errata.md.
func (s *cdState) visit(i int) {
	a, b, o := s.cubic(i)
	s.report.stepSq += stepSq(o, s.slope(a, b, o), s.p.norm)
	x, decrease := s.minimizer(a, b, o)
	if x != o {
		s.report.decrease += decrease
		s.set(i, x)
	}
}

// set changes H_ij of the column at work to x and everything maintained with it.
func (s *cdState) set(i int, x float64) {
	r := s.p.r
	hi := s.hv[i*r : (i+1)*r]
	o := hi[s.j]
	grown := (x - o) * (x + o)
	s.cj = max(0, s.cj+grown)
	kernel.Axpy(s.dj, x-o, hi)
	s.dj[s.j] = 0
	hi[s.j] = x
	if rest := s.rowSq[i] + grown; x == 0 || 2*rest < s.rowSq[i] {
		s.rowSq[i] = kernel.SumSq(hi) // the less is left, the more of it is the rounding of what it was
	} else {
		s.rowSq[i] = rest
	}
	s.cursor.Add(i, x-o)
	s.report.changed++
}

// cdRun is one run of CD.
type cdRun struct {
	CD
	*cdState
	number int // of the run: its permutations are its own
	sweeps int
	order  []int
	keys   []float64
	perm   []int
}

func (s *cdRun) sweep(stop func() bool) sweepReport {
	s.prepare()
	s.report = sweepReport{}
	for _, j := range s.columns() {
		if stop() {
			s.report.cut = true
			return s.report
		}
		s.begin(j)
		if s.cj == 0 && !s.unseeded {
			s.plant()
		}
		s.sweepColumn(j)
		s.end()
	}
	s.sweeps++
	if s.MBIEvery > 0 && s.sweeps%s.MBIEvery == 0 {
		s.anyOrder()
		s.improveBest()
	}
	if s.sweeps%refreshGramEvery == 0 {
		s.refreshGram()
	}
	if s.sweeps%refreshCursorEvery == 0 && !s.forward { // else it begins afresh anyway
		s.cursor.Refresh()
	}
	return s.report
}

// prepare lets the cursor look forward only where that pays: when entries are visited in order and most of them change. Then a dense A costs less by A·H
// afresh and half of each change than by all of each change, and a sparse one by a row for each visit.
func (s *cdRun) prepare() {
	f, ok := s.cursor.(matrix.Forwarder)
	most := float64(s.p.n) * float64(s.p.r)
	if ok && s.Entries == Natural && float64(s.report.changed) > forwardFrom*most {
		f.Forward()
		s.forward = true
		return
	}
	s.anyOrder()
}

// anyOrder makes the cursor answer for any entry again.
func (s *cdState) anyOrder() {
	if s.forward {
		s.cursor.Refresh()
		s.forward = false
	}
}

// forwardFrom is the part of the entries that has to have changed in the last sweep for looking forward to pay: half of it
// is saved, and A·H costs some 15 % of a sweep in which all change.
const forwardFrom = 0.5

func (s *cdRun) columns() []int {
	switch {
	case s.replay != nil:
		return s.replay(s.sweeps)
	case s.Order == Shuffle:
		permutation(s.order, s.p.seed, uint64(s.number), uint64(s.sweeps))
	default:
		for j := range s.order {
			s.order[j] = j
		}
	}
	return s.order
}

func (s *cdRun) sweepColumn(j int) {
	if s.Entries == Natural {
		for i := range s.p.n {
			s.visit(i)
		}
		return
	}
	for _, i := range s.entryOrder(j) {
		s.visit(i)
	}
}

// entryOrder returns the entries of the column at work in the order of their visits. Ties go by index.
func (s *cdRun) entryOrder(j int) []int {
	if s.perm == nil {
		s.perm = make([]int, s.p.n)
	}
	if s.Entries == Shuffled {
		permutation(s.perm, s.p.seed, uint64(s.number), uint64(s.sweeps), uint64(j)+1)
		return s.perm
	}
	for i := range s.keys {
		a, b, o := s.cubic(i)
		switch g := s.slope(a, b, o); {
		case s.Entries != ByGradient:
			_, s.keys[i] = s.minimizer(a, b, o)
		case o > 0:
			s.keys[i] = math.Abs(g)
		default:
			s.keys[i] = max(-g, 0)
		}
		s.perm[i] = i
	}
	slices.SortStableFunc(s.perm, func(i, l int) int {
		switch {
		case s.keys[i] > s.keys[l]:
			return -1
		case s.keys[i] < s.keys[l]:
			return 1
		}
		return 0
	})
	visits := s.perm
	if s.Entries == Selected {
		least := s.Nu * s.keys[s.perm[0]]
		for len(visits) > 1 && s.keys[visits[len(visits)-1]] < least {
			visits = visits[:len(visits)-1]
		}
	}
	return visits
}
