package symnmf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"symnmf/internal/rules"
	"symnmf/matrix"
)

// LAI runs another method first on a randomized low rank Â ≈ A, for which products cost O(n·(r+Oversample)·r)
// whatever A holds, and then, when little is left to gain there, on A itself. With Ω an n×(r+Oversample)
// matrix of random numbers and Q an orthonormal basis of the columns of A^(1+Power)·Ω,
//
//	Â = Q·(QᵀAQ)·Qᵀ
//
// In general Â is indefinite and has negative entries, whatever A is.
//
// Sweeps on Â are provisional, see Progress. They end, after ten at least, when (‖Â−HHᵀ‖² + ‖A−Â‖²)^½/‖A‖ has
// fallen by less than 1e-5 in each of four in a row. If the error has risen by then, H goes back to the
// start. From then on the method is as monotone, and its limit as stationary, as those of the other method.
//
// The cost is Power + 2 products of A with r + Oversample columns for Â, one with r columns to change to A,
// and then what the other method takes. Memory: 2·n·(r+Oversample) numbers for Â, twice that while it is
// computed, H of the start, and that of the other method. An ignored diagonal is refused; the ℓ₁ term is
// counted where the other method counts it.
//
// Source: Hayashi, Aksoy, Ballard, Park, Randomized algorithms for symmetric nonnegative matrix
// factorization, SIAM J. Matrix Anal. Appl. 46, 2025.
type LAI struct {
	// Over is the other method: RowBlock, CD, PGNCG, ANLS or SymHALS. The default nil means RowBlock.
	Over Solver
	// Oversample is the number of columns of Â beyond r; the default 0 means 10.
	Oversample int
	// Power is how many more times A is applied to its columns; the default 0 means 2.
	Power int
	// NoRefine ends the run where the sweeps on Â end.
	NoRefine bool

	given     matrix.Operator // tests: Â
	published bool            // tests: stay on Â, and do not go back to the start
}

const (
	defaultPower = 2
	mostPower    = 100
	settledBy    = 1e-5 // of the relative error, a sweep
	settledFor   = 4    // sweeps in a row
	settledFrom  = 10   // sweeps
	mostLAI      = 200  // sweeps, where something else follows
)

// laiOver lists the methods that LAI runs: each needs only the products, the diagonal and the cursor of A.
var laiOver = []Solver{RowBlock{Compress: NoCompression}, CD{Order: Cyclic}, CD{Order: Shuffle}, PGNCG{}, ANLS{}, SymHALS{}}

var laiKnobs = []Knob{
	{"over", "the method it runs: " + strings.Join(laiNames(), ", "), laiOver[0].Name(),
		nameKnob("over", laiNames(), func(s *LAI, k int) { s.Over = laiOver[k] })},
	{"oversample", "columns of the low rank beyond R", strconv.Itoa(rules.Oversample), wholeKnob("oversample", 1, 1<<30, func(s *LAI, k int) { s.Oversample = k })},
	{"power", "times A is applied to these columns beyond the first", "2", wholeKnob("power", 1, mostPower, func(s *LAI, k int) { s.Power = k })},
	{"refine", "whether to go on with A itself: yes, no", "yes",
		nameKnob("refine", []string{"yes", "no"}, func(s *LAI, k int) { s.NoRefine = k == 1 })},
}

func laiNames() (names []string) {
	for _, s := range laiOver {
		names = append(names, s.Name())
	}
	return names
}

// Name implements Solver.
func (LAI) Name() string { return "lai" }

func (LAI) ownStart() Start { return Random{} }

func (s LAI) accepts(p *problem, opt *Options) error {
	if err := ours("LAI.Over", s.Over); err != nil {
		return err
	}
	switch {
	case s.Oversample < 0 || s.Power < 0 || s.Power > mostPower:
		return fmt.Errorf("%w: LAI.Oversample = %d, LAI.Power = %d, want 0 or more, and a power up to %d", ErrOption, s.Oversample, s.Power, mostPower)
	case s.Over != nil && !slices.Contains(laiNames(), s.Over.Name()):
		return fmt.Errorf("%w: LAI.Over is %s, want one of %v", ErrOption, s.Over.Name(), laiNames())
	}
	if err := p.unfit(s.Name(), needsDiagonal, opt); err != nil {
		return err
	}
	if err := s.over().accepts(p, opt); err != nil {
		return fmt.Errorf("%w; lai's option over may name another method, one of %v", err, laiNames())
	}
	return nil
}

func (s LAI) over() Solver {
	if s.Over == nil {
		return laiOver[0]
	}
	return s.Over
}

func (s LAI) start(p *problem, h *matrix.Dense, number int) run {
	setDefault(&s.Oversample, rules.Oversample)
	setDefault(&s.Power, defaultPower)
	e := &laiRun{LAI: s, p: p, h: h, number: number}
	if s.given != nil {
		e.near = p.with(&replacement{a: s.given.Scaled(p.scale), common: &common{workers: p.workers}})
	} else {
		e.near = p.lowRank(s.Oversample, s.Power)
	}
	e.began = time.Now()
	return e
}

// laiRun is one run of LAI.
type laiRun struct {
	LAI
	p         *problem
	near      *problem // that of Â; nil once it is left
	h         *matrix.Dense
	number    int
	work      run // of the other method; nil before its first sweep on A or Â
	from      kept
	objective float64 // for Â, at the last sweep looked at
	sweeps    int
	slow      int // how many of the last sweeps in a row gained little
	began     time.Time
}

// kept is an H to go back to.
type kept struct {
	h  []float64
	at figures
}

func keep(h *matrix.Dense, at *figures) kept { return kept{slices.Clone(h.Data()), *at} }

// orBetter returns the figures of h, after replacing it by k's H if that has the lower objective.
func (k *kept) orBetter(p *problem, h *matrix.Dense) figures {
	f := p.measure(h)
	if f.objective() > k.at.objective() {
		copy(h.Data(), k.h)
		return k.at
	}
	return f
}

// begin implements beginner.
func (s *laiRun) begin(first *figures) { s.from = keep(s.h, first) }

func (s *laiRun) sweep(stop func() bool) sweepReport {
	at := s.p
	if s.near != nil {
		at = s.near
	}
	if s.work == nil {
		s.work = s.over().start(at, s.h, s.number)
		f := at.measure(s.h)
		s.objective = f.objective()
		if b, ok := s.work.(beginner); ok {
			b.begin(&f)
		}
	}
	rep := s.work.sweep(stop)
	if s.near == nil || rep.cut {
		return rep
	}
	s.sweeps++
	if s.settled(rep) {
		return s.leave()
	}
	return sweepReport{changed: 1, provisional: true}
}

// settled reports whether more sweeps on Â after this one would gain little.
func (s *laiRun) settled(rep sweepReport) bool {
	if rep.provisional || s.published {
		return false
	}
	err := func() float64 { return 2 * math.Sqrt(max(0, s.objective)) / s.p.norm }
	before := err()
	s.objective -= rep.decrease
	if s.slow++; before-err() >= settledBy {
		s.slow = 0
	}
	return rep.changed == 0 || s.slow >= settledFor && s.sweeps >= settledFrom
}

// leave changes from Â to A, and reports everything done on Â as one sweep.
func (s *laiRun) leave() (rep sweepReport) {
	f := s.rest()
	s.p.took(time.Since(s.began), "%d sweeps on the low rank", s.sweeps)
	rep.decrease, rep.stepSq = s.from.at.objective()-f.objective(), f.gradKKT
	if s.near, s.work = nil, nil; !s.NoRefine {
		rep.changed = 1
	}
	return rep
}

// rest ends the work on Â and returns the figures of its outcome.
func (s *laiRun) rest() figures {
	if k, ok := s.work.(keeper); ok {
		s.h = k.end()
	}
	if s.published {
		return s.p.measure(s.h)
	}
	return s.from.orBetter(s.p, s.h)
}

// tell implements teller.
func (s *laiRun) tell(ctx context.Context, status Status) []string {
	if t, ok := s.work.(teller); ok {
		return t.tell(ctx, status)
	}
	return nil
}

// doubt implements doubter.
func (s *laiRun) doubt() bool {
	d, ok := s.work.(doubter)
	return ok && d.doubt()
}

// publish implements keeper.
func (s *laiRun) publish() *matrix.Dense {
	if k, ok := s.work.(keeper); ok {
		s.h = k.publish()
	}
	return s.h
}

// end implements keeper.
func (s *laiRun) end() *matrix.Dense {
	if s.near != nil {
		s.rest()
	} else if k, ok := s.work.(keeper); ok {
		s.h = k.end()
	}
	return s.h
}

// release implements releaser.
func (s *laiRun) release() {
	if r, ok := s.work.(releaser); ok {
		r.release()
	}
}

// verify implements checker, once the work is on A itself.
func (s *laiRun) verify() error {
	if c, ok := s.work.(checker); ok {
		return c.verify()
	}
	return nil
}

// lai improves h by the sweeps of LAI on a low rank.
func (p *problem) lai(h *matrix.Dense, number int, stop func() bool) {
	s := LAI{NoRefine: true}.start(p, h, number).(*laiRun)
	first := p.measure(h)
	s.begin(&first)
	for range mostLAI {
		if s.near == nil || stop() {
			break
		}
		s.sweep(stop)
	}
	if best := s.end(); best != h {
		copy(h.Data(), best.Data())
	}
}

// lowRank returns the problem of Â in place of A, which all runs share. If there is none it returns nil and
// adds a note.
func (p *problem) lowRank(oversample, power int) *problem {
	low, err := p.common.inPlaceOf(p.context(), p.a, matrix.Compression{Columns: p.r + min(oversample, p.n), Power: power, Seed: p.seed})
	switch {
	case errors.Is(err, context.Canceled):
		p.note("the run ended before the low rank in place of A was found")
		return nil
	case err != nil:
		p.note("no low rank in place of A: %v", err)
		return nil
	}
	p.took(low.took, "the low rank in place of A, %.2g·‖A‖ from it,", low.apart/p.norm)
	return p.with(low)
}

// with returns the problem of a low rank in place of A. Everything else, and the norm, is as in p.
func (p *problem) with(low *replacement) *problem {
	a := low.a
	if p.ignoreDiag {
		a = a.OffDiagonal()
	}
	near := *p
	near.a, near.diag = a, make([]float64, p.n)
	a.DiagTo(near.diag)
	near.selfs = near.diag
	if p.ignoreDiag {
		near.taken, near.normFrom = matrix.Taken(a)
	}
	near.near, near.of, near.common, near.notes, near.spent, near.begun, near.spare, near.multiplyA = &near, p, low.common, nil, nil, startProducts{}, nil, nil
	near.apart, near.low = low.apart, low.a
	near.shown = nil // figures on the low rank decide when to leave it, so they are on the clock
	return &near
}
