package symnmf

import (
	"fmt"
	"time"

	"symnmf/matrix"
)

// CompressedCD first runs a method that reads A only for a low rank, and then improves its outcome by
// coordinate descent on A itself. The first sweep is the first stage and a sweep of CD. The others are sweeps
// of CD with Order Cyclic: they are monotone, and what is said of CD holds. If the first stage ends above the
// start, H goes back to the start.
//
// The cost beyond CD is that of TSVD or LAI, and the memory for H of the start. Result.Times has them.
// An ignored diagonal is refused, as by both first stages. The ℓ₁ term counts from the second stage on, and
// with FirstLAI from the first.
//
// Source: the paper, its conclusion, where this is left as further work.
type CompressedCD struct {
	// First is the first stage; the default is FirstTSVD.
	First FirstStage
	// Turns is the number of sweeps of TSVD; the default 0 means 50.
	Turns int
}

// FirstStage is what precedes coordinate descent.
type FirstStage int

const (
	FirstTSVD FirstStage = iota // Turns sweeps of TSVD
	FirstLAI                    // the sweeps of LAI on a low rank
)

var firstStageNames = [...]string{"svd", "lai"}

func (f FirstStage) String() string { return nameOf(f, firstStageNames[:]) }

const defaultTurns = 50

var compressedKnobs = []Knob{
	{"first", "the first stage: svd (sweeps of tsvd), lai (sweeps on a low rank)", FirstTSVD.String(),
		nameKnob("first", firstStageNames[:], func(s *CompressedCD, k int) { s.First = FirstStage(k) })},
	{"turns", "with first=svd: number of sweeps of tsvd", "50", wholeKnob("turns", 1, 1<<30, func(s *CompressedCD, k int) { s.Turns = k })},
}

// Name implements Solver.
func (CompressedCD) Name() string { return "compressed" }

func (s CompressedCD) ownStart() Start {
	if s.First == FirstLAI {
		return Random{}
	}
	return SVDStart{}
}

func (s CompressedCD) accepts(p *problem, opt *Options) error {
	if s.First < FirstTSVD || s.First > FirstLAI || s.Turns < 0 {
		return fmt.Errorf("%w: CompressedCD.First = %d, CompressedCD.Turns = %d", ErrOption, s.First, s.Turns)
	}
	return p.unfit(s.Name(), needsDiagonal, opt)
}

func (s CompressedCD) start(p *problem, h *matrix.Dense, number int) run {
	setDefault(&s.Turns, defaultTurns)
	return &compressedRun{CompressedCD: s, p: p, h: h, number: number}
}

// compressedRun is one run of CompressedCD.
type compressedRun struct {
	CompressedCD
	p      *problem
	h      *matrix.Dense
	number int
	from   kept
	cd     *cdRun // nil in the first stage
}

// begin implements beginner.
func (s *compressedRun) begin(first *figures) { s.from = keep(s.h, first) }

func (s *compressedRun) sweep(stop func() bool) sweepReport {
	if s.cd != nil {
		return s.cd.sweep(stop)
	}
	began := time.Now()
	if s.First == FirstLAI {
		s.p.lai(s.h, s.number, stop)
	} else {
		s.turn(stop)
	}
	if stop() {
		return sweepReport{cut: true}
	}
	s.p.took(time.Since(began), "the first stage")
	f := s.from.orBetter(s.p, s.h)
	s.cd = CD{}.start(s.p, s.h, s.number).(*cdRun)
	rep := s.cd.sweep(stop)
	rep.decrease += s.from.at.objective() - f.objective()
	return rep
}

// turn is the first stage by TSVD. Without eigenpairs it does nothing.
func (s *compressedRun) turn(stop func() bool) {
	t := &tsvdRun{p: s.p, h: s.h}
	for range s.Turns {
		if stop() || !t.turn() {
			return
		}
	}
}

// publish implements keeper.
func (s *compressedRun) publish() *matrix.Dense { return s.h }

// end implements keeper.
func (s *compressedRun) end() *matrix.Dense {
	if s.cd == nil {
		s.from.orBetter(s.p, s.h)
	}
	return s.h
}

// verify implements checker.
func (s *compressedRun) verify() error { return s.cd.verify() }
