package symnmf

import "symnmf/matrix"

// While passes over a dense A are of float32, most of its products are, too (decision 0023): both only say where rows go. Every few sweeps one has products of float64, and tells the objective of the H it
// leads to; H goes back to the last of these if that has risen.

// roughEvery is how many sweeps there are at most from one that tells the objective to the next; at first half as many as there have been, so that a run that is soon done ends soon.
const roughEvery = 10

// roughSweeps is what that needs.
type roughSweeps struct {
	product matrix.RoughProduct // the product, if it is one and that pays
	every   int                 // roughEvery, unless it was given
	now     bool                // products of this sweep are of float32
	due     int                 // the sweep that will tell the objective
	since   bool                // those of others since the last check were
	rose    bool                // and at the check before the objective had risen
	never   bool                // it has twice in a row: no more of this
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

// startRough begins with H if the sweep is rough.
func (s *rowBlockRun) startRough() {
	if s.rough.now {
		s.rough.since = true
		s.rough.product.StartRough()
	}
}

// findRough makes product the one of rough sweeps, if it is of that kind and there will be any.
func (s *rowBlockRun) findRough() {
	s.rough.product = nil
	if p, is := s.product.(matrix.RoughProduct); is && s.Precision == Adaptive && s.rough.every > 1 && p.PrefersRough() {
		s.rough.product = p
	}
}

// nextRough has sweeps be rough until the next is due that tells the objective, as the last one has.
func (s *rowBlockRun) nextRough() { s.rough.due = s.sweeps + min(max(s.sweeps/2, 1), s.rough.every) }

// foundRisen says that the objective has risen at a check, and whether it was for rough sweeps, or for momentum in them.
func (s *rowBlockRun) foundRisen() bool {
	t := &s.rough
	since := t.since
	t.never, t.rose, t.since = t.never || since && t.rose, since, false
	return since
}
