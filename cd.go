package symnmf

import (
	"fmt"
	"math"
	"slices"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// CD is exact coordinate descent: each entry of H in turn is set to the exact minimizer of the objective over
// that entry alone, the root of a cubic. The objective never rises. The zero value is the paper's CD-Cyclic.
//
// A sweep visits r columns of n entries. Each visit costs O(r). Each entry of row i that changes costs in
// addition as much as row i of A has entries, or twice the length of X_:,i for inner products; for a sparse A
// every visit costs that while many entries change. Memory: n·r numbers besides H, m·r for inner products.
//
// Source: the paper, Algorithm 4 and sections 3.3 and 4.2, with the corrections of docs/errata.md.
type CD struct {
	// Order is the order of the columns; the default is Cyclic.
	Order ColumnOrder
	// Entries is the order of the entries of a column; the default is Natural.
	Entries EntryOrder
	// Nu is the part of the column's largest decrease that an entry must offer with Entries = Selected; the
	// default 0 means 0.1.
	Nu float64
	// MBIEvery is the number of sweeps after which the single best entry of all is updated once (maximum
	// block improvement); the default 0 means never.
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
	e := &cdRun{CD: s, cdState: newCDState(p, h), number: run, order: make([]int, p.r)}
	if s.Entries == Natural {
		e.tiles = e.newTiles()
	}
	e.from = e.forwardFrom()
	for _, v := range h.Data() {
		if v != 0 {
			e.report.changed++ // as the first sweep will, as a rule
		}
	}
	return e
}

// Maintained quantities are computed afresh from H after this many sweeps. Drift grows with the number of
// updates, by one rounding each: after 50 sweeps D, L and A·H are wrong by less than 1e-14·‖A‖ in
// TestDriftBetweenRefreshes.
const (
	refreshGramEvery   = 10 // sweeps; O(n·r²) each
	refreshCursorEvery = 50 // sweeps; O(nnz·r) each
)

// cdState is H with the quantities that coordinate descent maintains. Between columns gram = HᵀH (r×r),
// rowSq[i] = ‖H_i,:‖² (n) and the cursor's A·H hold up to the rounding that refresh removes.
type cdState struct {
	p      *problem
	h      *matrix.Dense
	hv     []float64 // of h: H_ij at i·r+j
	cursor matrix.Cursor
	gram   []float64
	rowSq  []float64
	// largest is the largest D_jj so far, as far as it was looked at. What is maintained has rounding errors of its
	// size.
	largest float64

	// The column at work, between begin and end. dj is D_j,: with 0 in place of D_jj, which is cj.
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
	changed  int64   // entries, by CD; of the others it matters only whether it is 0
	planted  int     // columns that could not leave zero and were given a pair of entries
	cut      bool    // it was ended before its last column
	// provisional says that the objective of this H has not been compared with earlier ones: the report says
	// nothing about it.
	provisional bool
}

func newCDState(p *problem, h *matrix.Dense) *cdState {
	s := &cdState{p: p, h: h, hv: h.Data(), rowSq: make([]float64, p.n), cursor: p.a.NewCursor(h, p.workers)}
	s.refreshGram()
	return s
}

func (s *cdState) refreshGram() {
	s.gram = s.p.gram(s.h)
	for j := range s.p.r {
		s.largest = max(s.largest, s.gram[j*s.p.r+j])
	}
	for i := range s.rowSq {
		s.rowSq[i] = kernel.SumSq(s.h.Row(i))
	}
}

// begin makes j the column at work. end restores its row and column of gram.
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

// cubic returns the coefficients of φ(x) = x⁴/4 + a·x²/2 + b·x, the objective over entry (i, j) up to a
// constant, and the old value o = H_ij. With G = C_j − o²:
//
//	a = G + (L_i − o²) − A_ii
//	b = Σ_{k≠j} H_ik·(D_jk − H_ik·o) − (A_:,iᵀH_:,j − A_ii·o) + Λ_j
//
// This is the paper's eq. 12, arranged so that D_jj is not read. When the diagonal is ignored,
// φ(x) = G·x²/2 + b·x and a is G.
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

// roundingOfB is the part of the terms of b up to which b is rounding. It matters where b should be 0, say
// for an item that is similar to no other: a rounding error below zero would put entries of 1e-17 in place of
// zeros.
const roundingOfB = 8 * 0x1p-52

// roundingOfL is the relative difference up to which L_i counts as equal to A_ii, since L_i is the square of
// a rounded root, or a sum of such squares. Where a column is zero the difference is the only term of a, and
// an entry leaves zero as its square root. Without this, rounding of 1e-16 would grow into entries of 1e-8.
const roundingOfL = 4 * 0x1p-52

// minimizer returns the x ≥ 0 with the least φ and the decrease φ(o) − φ(x) ≥ 0, by formulas that do not
// cancel.
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

// quadraticMinimizer is minimizer for φ(x) = a·x²/2 + b·x, a ≥ 0, with a bound on x: at most mostRatio times
// √a, the norm of the rest of its column. Without the diagonal the objective need not have a minimizer: a
// star of items is fitted ever better as its center grows and the others shrink, until nothing is left but
// rounding.
func quadraticMinimizer(a, b, o float64) (x, decrease float64) {
	const mostRatio = 1e4 // leaves products of the shrinking entries 1e-8 times those with the center
	switch {
	case a <= 0 && b > 0: // the column has nothing else but the ℓ₁ weight
		return 0, o * b
	case a <= 0: // the column has nothing else: φ is constant, or rounding is all there is
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

// visit sets entry i of the column at work to its exact minimizer. F never rises beyond rounding. O(r), plus
// the cost of the cursor's Add if the entry changes.
//
// Source: the paper, Algorithm 4, inner loop, corrected: D_jk gains +H_ik·δ (the paper has a minus), D_jj
// gains x² − H_ij² (not H_ij·δ), and x is written back (the listing omits it). See docs/errata.md.
func (s *cdState) visit(i int) {
	a, b, o := s.cubic(i)
	s.report.stepSq += stepSq(o, s.slope(a, b, o), s.p.norm)
	x, decrease := s.minimizer(a, b, o)
	if x != o {
		s.report.decrease += decrease
		s.set(i, x)
	}
}

// set changes H_ij of the column at work to x and updates everything maintained with it.
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
		s.rowSq[i] = kernel.SumSq(hi) // the less is left, the more of it is rounding of the old value
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
	number int // of the run, since its permutations are its own
	sweeps int
	order  []int
	keys   []float64
	perm   []int
	tiles  *kernel.ColumnTiles // for forward sweeps of a sparse A
	from   float64             // the part of the entries from which on the cursor looks forward
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

// prepare lets the cursor look only forward where that pays: when entries are visited in order and enough of
// them change. For a dense A, computing A·H afresh and half of each change then costs less than all of each
// change. For a sparse A, so does one row for each visit.
func (s *cdRun) prepare() {
	f, ok := s.cursor.(matrix.Forwarder)
	most := float64(s.p.n) * float64(s.p.r)
	if ok && s.Entries == Natural && float64(s.report.changed) > s.from*most {
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

// forwardFrom returns the part of the entries that must have changed in the last sweep for looking only forward to
// pay: half of them, since it saves half of the changes, and A·H costs some 15 % of a sweep in which all entries change.
// Visits by tiles, for which the cursor has to look forward, cost less than those of entries that stay as they are,
// unless rows are long.
func (s *cdRun) forwardFrom() float64 {
	const (
		half, least = 0.5, 0.15
		short, long = 64, 128 // entries of a row
	)
	if s.tiles == nil || s.MBIEvery > 0 { // improveBest needs all of A·H
		return half
	}
	entries := float64(s.p.a.Stored()) / float64(s.p.n)
	return half - (half-least)*min(1, max(0, (long-entries)/(long-short)))
}

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
	if s.forward && s.tiles != nil {
		s.visitTiles(s.tiles)
		return
	}
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
	if s.keys == nil {
		s.keys = make([]float64, s.p.n)
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
