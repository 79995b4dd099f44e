package symnmf

import (
	"symnmf/internal/kernel"
	"symnmf/internal/rules"
	"symnmf/matrix"
)

// While passes are of float32 RowBlock keeps H of a large sparse A in float32 too, where products gather rows of it (decision 0013): H and what it was
// take half of their memory then, and so do the rows that are waited for. What is computed is float64 as ever, but for where momentum leads: the rows of a group are widened when
// their turn comes, and rounded when they have moved.

// roundedH is what that needs.
type roundedH struct {
	product   matrix.SingleProduct // the product, if it is one: then the objective is known after every sweep
	now, last []float32            // h and last while they are narrow, else nil: each in half of its memory, and means nothing itself
	rooms     [][]float64          // for a piece of each of the parts
	narrow    [][]float32          // for the same of a last that is not narrow yet
}

// mayRound says whether H may be rounded to float32 for the next sweep, as what passes propose is as long as they are of float32.
func (s *rowBlockRun) mayRound() bool {
	if !s.single || s.Precision != Adaptive || s.alone || s.sweeps == 0 || s.rounded.product == nil || !s.rounded.product.PrefersSingle() {
		return false
	}
	for j := range s.p.r { // a start may be of any size
		if v := s.gram[j*s.pitch+j]; v != 0 && v < leastRounded {
			return false
		}
	}
	return true
}

// leastRounded is the least square of a column, as D knows it from the last sweep, that is rounded: far above the least numbers of float32.
const leastRounded = 0x1p-200

// extrapolateNarrow is extrapolate for an H that is of float32 from now on. If it was not, last stays float64, the H to go back to.
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

// makeRooms makes what narrow rows are widened in.
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
	groups, rows := s.groupsOf(s.Block) // of float32, as passes are
	for k := range groups {
		groups[k].h = make([]float64, rows*s.pitch)
	}
	s.short = make([]float32, s.Block*s.pitch)
}

// piece returns the numbers lo to hi of h, in a room of part k if they are narrow.
func (s *rowBlockRun) piece(k, lo, hi int) []float64 {
	if s.rounded.now == nil {
		return s.hv[lo:hi]
	}
	x := s.rounded.rooms[k][:hi-lo]
	kernel.ToFloat64(x, s.rounded.now[lo:hi])
	return x
}

// fetchRows has the rows from to to of h in the room of their group, if they are narrow.
func (s *rowBlockRun) fetchRows(grp *rowGroup, from, to int) {
	if s.rounded.now != nil {
		kernel.ToFloat64(grp.h[:(to-from)*s.pitch], s.rounded.now[from*s.pitch:to*s.pitch])
	}
}

// rowsOf returns the rows from to to of h, all of one group, for which fetchRows has been called since the block was begun.
func (s *rowBlockRun) rowsOf(grp *rowGroup, from, to int) []float64 {
	if s.rounded.now != nil {
		return grp.h[:(to-from)*s.pitch]
	}
	return s.hv[from*s.pitch : to*s.pitch]
}

// advance moves the rows from to to of h, all of one group, and returns what kernel.Advance does. Of narrow rows it counts as cut off, too, what rounding has stopped.
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

// rowOf returns row i of h, in room if it is narrow.
func (s *rowBlockRun) rowOf(i int, room []float64) []float64 {
	if s.rounded.now == nil {
		return s.h.Row(i)
	}
	kernel.ToFloat64(room, s.rounded.now[i*s.pitch:(i+1)*s.pitch])
	return room
}

// widen makes h and last float64 again, with the same numbers. It may come between any two blocks.
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

// whileWide calls f while h and last are float64.
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
