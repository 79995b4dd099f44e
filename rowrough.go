package symnmf

import "symnmf/matrix"

// While the passes over a dense A are in float32, so are most of its products (decision 0023): both only say
// where rows go. Every few sweeps, one has products in float64 and tells the objective of the H it leads to.
// If that has risen, H goes back to the last H whose objective is known.

// roughEvery is the largest number of sweeps from one that tells the objective to the next. At first it is
// half the number of sweeps so far, so that a run that is soon done ends soon.
const roughEvery = 10

// roughSweeps is what that needs.
type roughSweeps struct {
	product matrix.RoughProduct // the product, if it is one and that pays
	every   int                 // roughEvery, unless CheckEvery was given
	now     bool                // products of this sweep are in float32
	due     int                 // the number of the next sweep that tells the objective, from 1
	since   bool                // there have been rough sweeps since the last check
	rose    bool                // the objective had risen at the last check, after rough sweeps
	never   bool                // it has risen twice in a row: no more rough sweeps
}

// mayBeRough says whether the sweep that begins, from H and D as they are, may be a rough one.
func (s *rowBlockRun) mayBeRough() bool {
	if !s.hasRough() || s.alone || s.sweeps == 0 || s.sweeps+1 >= s.rough.due {
		return false
	}
	for j := range s.p.r { // a start may be of any size
		if v := s.gram[j*s.pitch+j]; v != 0 && !(v >= leastRounded && v <= 1/leastRounded) {
			return false
		}
	}
	return true
}

// hasRough says whether there are rough sweeps from now on.
func (s *rowBlockRun) hasRough() bool { return s.rough.product != nil && !s.rough.never && s.single }

// startRough takes H over for a rough sweep, if the sweep is one.
func (s *rowBlockRun) startRough() {
	if s.rough.now {
		s.rough.since = true
		s.rough.product.StartRough()
	}
}

// findRough sets the product for rough sweeps, if the product at work can make them and there are to be any.
func (s *rowBlockRun) findRough() {
	s.rough.product = nil
	if p, is := s.product.(matrix.RoughProduct); is && s.Precision == Adaptive && s.rough.every > 1 && p.PrefersRough() {
		s.rough.product = p
	}
}

// nextRough is called when a sweep has told the objective, and sets which sweep does so next. Those in
// between may be rough.
func (s *rowBlockRun) nextRough() { s.rough.due = s.sweeps + min(max(s.sweeps/2, 1), s.rough.every) }

// foundRisen notes that the objective has risen at a check, and returns whether there have been rough sweeps
// since the check before: then they may be to blame, or momentum within them.
func (s *rowBlockRun) foundRisen() bool {
	t := &s.rough
	since := t.since
	t.never, t.rose, t.since = t.never || since && t.rose, since, false
	return since
}
