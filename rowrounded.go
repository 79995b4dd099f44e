package symnmf

import (
	"symnmf/internal/kernel"
	"symnmf/internal/rules"
	"symnmf/matrix"
)

// While passes are in float32, RowBlock keeps a large H of a sparse A in float32 as well, since products
// gather rows of it (decision 0013). H and the H before it then take half of their memory, and there is half
// as much to wait for. Everything is still computed in float64, except for the point that momentum leads to:
// the rows of a group are widened when their turn comes, and rounded after they have moved.

// roundedH is what that needs.
type roundedH struct {
	product matrix.SingleProduct // the product, if it is one: then the objective is known after every sweep
	// now and last are h and last while these are narrow, else nil. Each lies in half of the memory of h or
	// last, which itself has no meaning then.
	now, last []float32
	rooms     [][]float64 // for each part, room for a piece of h
	narrow    [][]float32 // the same for a last that is not narrow yet
}

// mayRound says whether the point that momentum leads to may be rounded to float32 for the next sweep. What passes
// propose is rounded in any case as long as they are in float32. The first sweep has a rule of its own (startsNarrow).
func (s *rowBlockRun) mayRound() bool { return s.sweeps > 0 && s.roundingPays() }

// startsNarrow says whether H, in float64, is kept in float32 from the first sweep on. A start may be of any size, so its
// numbers must be of float32 already. D must be known. At zero, some rows move one at a time first, in float64.
func (s *rowBlockRun) startsNarrow() bool {
	return s.roundingPays() && kernel.Nonzero(s.gram) && kernel.AreSingles(s.hv, s.team)
}

// roundStart rounds h, in float64, for the first sweep. last stays in float64. If numbers change, D has to be found
// again. A sweep that is cut keeps what it has done.
func (s *rowBlockRun) roundStart() {
	s.makeRooms()
	s.rounded.now = kernel.Narrow(s.hv, s.team)
	s.rounded.product.Single(s.rounded.now)
}

// roundingPays says whether it takes less time to have H in float32, and rounding it does no harm.
func (s *rowBlockRun) roundingPays() bool {
	if !s.single || s.Precision != Adaptive || s.alone || s.rounded.product == nil || !s.rounded.product.PrefersSingle() {
		return false
	}
	for j := range s.p.r { // a start may be of any size
		if v := s.gram[j*s.pitch+j]; v != 0 && v < leastRounded {
			return false
		}
	}
	return true
}

// leastRounded is the least squared norm of a column, as D has it, for H to be rounded: D of the start or, later,
// of the last sweep. It is far above the least numbers of float32.
const leastRounded = 0x1p-200

// extrapolateNarrow is extrapolate for an H that is in float32 from now on. If it was not before, last stays
// in float64, as the H to go back to.
func (s *rowBlockRun) extrapolateNarrow() {
	t := &s.rounded
	s.makeRooms()
	first := t.now == nil && t.last == nil
	switch {
	case s.beta != 0:
	case first:
		s.inParts(func(_, lo, hi int) { copy(s.prev[lo:hi], s.hv[lo:hi]) })
	default:
		t.last = kernel.Half(s.prev)
	}
	if t.now == nil {
		t.now = kernel.Narrow(s.hv, s.team)
	}
	s.findGramAfter(func(k, lo, hi int) []float64 {
		if s.beta == 0 {
			if !first {
				copy(t.last[lo:hi], t.now[lo:hi])
			}
			return s.piece(k, lo, hi)
		}
		x, last := t.rooms[k][:hi-lo], t.narrow[k][:hi-lo]
		if first {
			kernel.ToFloat32(last, s.prev[lo:hi])
		} else {
			last = t.last[lo:hi]
		}
		kernel.ExtrapolateRounded(x, t.now[lo:hi], float32(s.beta), last, float32(s.least))
		return x
	})
}

// makeRooms makes the rooms in which narrow rows are widened.
func (s *rowBlockRun) makeRooms() {
	t := &s.rounded
	if t.rooms != nil {
		return
	}
	t.rooms, t.narrow = make([][]float64, len(s.parts)), make([][]float32, len(s.parts))
	most := max(rules.NarrowPiece, s.pitch)
	for k := range t.rooms {
		t.rooms[k], t.narrow[k] = make([]float64, most), make([]float32, most)
	}
	groups, rows := s.groupsOf(s.Block) // those of float32, as passes are
	for k := range groups {
		groups[k].h = make([]float64, rows*s.pitch)
	}
	s.short = make([]float32, s.Block*s.pitch)
}

// piece returns the numbers lo to hi of h, in the room of part k if h is narrow.
func (s *rowBlockRun) piece(k, lo, hi int) []float64 {
	if s.rounded.now == nil {
		return s.hv[lo:hi]
	}
	x := s.rounded.rooms[k][:hi-lo]
	kernel.ToFloat64(x, s.rounded.now[lo:hi])
	return x
}

// fetchRows copies the rows from to to of h to the room of their group, if h is narrow.
func (s *rowBlockRun) fetchRows(grp *rowGroup, from, to int) {
	if s.rounded.now != nil {
		kernel.ToFloat64(grp.h[:(to-from)*s.pitch], s.rounded.now[from*s.pitch:to*s.pitch])
	}
}

// rowsOf returns the rows from to to of h, all of one group. fetchRows must have been called for them since
// the block was begun.
func (s *rowBlockRun) rowsOf(grp *rowGroup, from, to int) []float64 {
	if s.rounded.now != nil {
		return grp.h[:(to-from)*s.pitch]
	}
	return s.hv[from*s.pitch : to*s.pitch]
}

// advance moves the rows from to to of h, all of one group, and returns what kernel.Advance does. For a
// narrow h, stopped is also true where rounding may have changed the move, which is whenever t ≠ 1.
func (s *rowBlockRun) advance(grp *rowGroup, from, to int, d []float64, t float64) (along float64, stopped bool) {
	h := s.rowsOf(grp, from, to)
	from, to = from*s.pitch, to*s.pitch
	if s.rounded.now == nil {
		return kernel.Advance(h, d, t, s.prev[from:to])
	}
	if last := s.rounded.last; last != nil {
		along, stopped = kernel.AdvanceRounded(h, s.rounded.now[from:to], d, t, last[from:to])
	} else {
		along, stopped = kernel.AdvanceRounded(h, s.rounded.now[from:to], d, t, s.prev[from:to])
	}
	return along, stopped || t != 1
}

// rowOf returns row i of h, in room if h is narrow.
func (s *rowBlockRun) rowOf(i int, room []float64) []float64 {
	if s.rounded.now == nil {
		return s.h.Row(i)
	}
	kernel.ToFloat64(room, s.rounded.now[i*s.pitch:(i+1)*s.pitch])
	return room
}

// widen makes h and last float64 again, with the same numbers. It may be called between any two blocks.
func (s *rowBlockRun) widen() {
	t := &s.rounded
	if t.now != nil {
		kernel.Widen(s.hv, s.team)
		t.now = nil
		t.product.Single(nil)
	}
	if t.last != nil {
		kernel.Widen(s.prev, s.team)
		t.last = nil
	}
}

// whileWide calls f while h and last are in float64.
func (s *rowBlockRun) whileWide(f func()) {
	t := &s.rounded
	now, last := t.now != nil, t.last != nil
	s.widen()
	f()
	if now {
		t.now = kernel.Narrow(s.hv, s.team)
		t.product.Single(t.now)
	}
	if last {
		t.last = kernel.Narrow(s.prev, s.team)
	}
}
