package symnmf

import (
	"math"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// NoJoint, as RowBlock.Joint, has sweeps alone move H.
const NoJoint = -1

// When RowBlock takes a joint step of all rows, and how: decision 0019.
const (
	jointSteps  = 3
	jointEvery  = 3    // sweeps from one to the next
	jointFrom   = 6    // sweeps before the first
	jointWithin = 0.02 // of ‖A‖, the error from which on
	jointBelow  = 0.05 // of the objective, what a sweep gains, from where momentum has put H, from which on
	jointPays   = 0.5  // of what sweeps gain for the same work, what one has to gain; or the next comes jointEvery sweeps later
	jointMost   = 48   // sweeps from one to the next at most
	jointDamp   = 1e-3 // of the mean of D's diagonal, what the preconditioner adds to it
)

// jointState is what joint steps need: matrices of n×pitch, and two of r×r.
type jointState struct {
	x, res, p, y []float64    // iterate, residual and direction of the conjugate gradients, and what A or a preconditioner makes of them
	free         []float64    // 1 for the entries that may move, else 0
	inverse      []float64    // (D + damp·I)⁻¹
	k            []float64    // PᵀH of the direction
	sums         []kernel.Sum // of the parts of inParts
	left, net    float64      // what is left of the objective of the A at work, but for a constant, and by how much the last sweep has lowered it; NaN if nobody knows
	every        int          // sweeps to the next
	next         int          // the sweep before which that is due
}

// jointly moves all rows of H together where that is due and likely to pay, at the beginning of a sweep.
//
// Sweeps solve for each row with the rest at rest: what takes all rows to turn together, as for a low rank near A, whose factors are
// alike but for a rotation, takes many. With R = A − HHᵀ and −∇ = RH, a Gauss–Newton step P solves
//
//	P·D + H·PᵀH = −∇
//
// over the entries that are free, H_ij·D_jj > ∇_ij: one step down their column's diagonal leaves them above zero. (Second derivatives
// leave R·P out, which is small where the error is.) Some steps of conjugate gradients, preconditioned by (D + damp·I)⁻¹ for each row's
// free entries, go towards it; d = [H + P]₊ − H then is a direction along which the objective is the quartic of docs/engine.md for all rows at once,
// and H goes its best t ≤ 1 of the way. So no joint step raises the objective, but by what products of float32 do in a rough sweep.
//
// It takes a product with A for the gradient, one for ⟨A·d, d⟩, and about (4·steps + 3)·n·r² multiply–adds. When stop says so it
// leaves H where it is.
func (s *rowBlockRun) jointly(stop func() bool) {
	product, ok := s.product.(matrix.JointProduct)
	if !ok || !s.jointDue() || !s.startJoint() || !s.findWay(stop) {
		return
	}
	j := &s.joint
	along, own, dd, hd := s.alongWay(product)
	ddd, dhd, hdhd, ddhd, dddd := kernel.Inners(dd, hd, s.gram)
	t, fall := bestStep([4]float64{2*dhd - 4*along, hdhd + 2*ddd - 2*own, 2 * ddhd, dddd}, 1)
	usual := s.fallen
	if math.Abs(j.net) > s.noise() {
		usual = j.net
	}
	if j.every += jointEvery; fall/4 > jointPays*s.jointCost()*usual {
		j.every = jointEvery
	}
	j.every = min(j.every, jointMost)
	j.next = s.sweeps + j.every
	if t == 0 {
		return
	}
	s.report.decrease += fall / 4
	s.report.changed++
	s.inParts(func(_, from, to int) { kernel.Axpy(s.hv[from:to], t, j.x[from:to]) })
	kernel.Axpy(s.gram, t, hd)
	kernel.Axpy(s.gram, t*t, dd)
	product.MoveAll(t)
}

// noteNet finds by how much a sweep has lowered the objective, from where the last one left it: with what momentum has done, which may be most of it.
func (s *rowBlockRun) noteNet() {
	if _, joint := s.product.(matrix.JointProduct); !joint || s.Joint == NoJoint {
		return
	}
	inner, known := s.innerNow, s.tellsLower() && !s.wasSo
	if !known {
		inner, known = s.product.Inner()
	}
	left := (kernel.SumSq(s.gram) - 2*inner) / 4
	if !known {
		left = math.NaN()
	}
	s.joint.left, s.joint.net = left, s.joint.left-left
}

// jointDue says whether a joint step is defined, due, and likely to pay.
func (s *rowBlockRun) jointDue() bool {
	within := jointWithin * s.p.norm
	return s.Joint != NoJoint && !s.p.ignoreDiag && !kernel.Nonzero(s.p.l1) &&
		s.sweeps >= max(jointFrom, s.joint.next) && 4*s.safeF <= within*within && s.fallen <= jointBelow*s.safeF
}

// jointCost returns for about how many sweeps' multiply–adds a joint step takes those, a root counted as r.
func (s *rowBlockRun) jointCost() float64 {
	n, r := float64(s.p.n), float64(s.p.r)
	twice := 2 * float64(s.p.a.Stored()) // two products with A; or with points, whose X·H is at hand, X·Z and then X·d
	sweep := twice                       // with points X·Z and what Z gains
	if s.termProduct == nil && s.gainProduct == nil {
		sweep /= 2
	}
	return (twice + float64(4*s.Joint+3)*n*r) / (sweep + 2*float64(s.Passes)*n*r)
}

// startJoint makes room, and reports whether there is a preconditioner.
func (s *rowBlockRun) startJoint() bool {
	j, r := &s.joint, s.p.r
	if j.x == nil {
		n := len(s.hv)
		j.x, j.res, j.p, j.y, j.free = kernel.Numbers(n), kernel.Numbers(n), kernel.Numbers(n), kernel.Numbers(n), kernel.Numbers(n)
		j.inverse, j.k, j.every = make([]float64, len(s.gram)), make([]float64, len(s.gram)), jointEvery
		j.sums = make([]kernel.Sum, len(s.parts))
	}
	damp := 0.0
	for k := range r {
		damp += jointDamp / float64(r) * s.gram[k*s.pitch+k]
	}
	l, e := make([]float64, r*r), make([]float64, r)
	for k := range r {
		copy(l[k*r:(k+1)*r], s.gram[k*s.pitch:])
		l[k*r+k] += damp
	}
	if !cholesky(l, r, 1) {
		return false
	}
	for k := range r {
		clear(e)
		e[k] = 1
		choleskySolve(l, r, e)
		copy(j.inverse[k*s.pitch:], e)
	}
	if s.rough.now { // of H as momentum has left it
		s.rough.product.StartRough()
	}
	return true
}

// findWay leaves in x the way P, before zero stops it, and returns false if it was stopped.
func (s *rowBlockRun) findWay(stop func() bool) bool {
	j, pitch := &s.joint, s.pitch
	diag := make([]float64, pitch)
	for k := range diag {
		diag[k] = s.gram[k*pitch+k]
	}
	precondition := func(k, from, to int) {
		y := j.y[from:to]
		clear(y)
		kernel.AddRowsTimes(y, 1, j.res[from:to], pitch, j.inverse, pitch)
		kernel.Mul(y, j.free[from:to])
		j.sums[k].Value += kernel.Dot(j.res[from:to], y)
	}
	s.inSums(func(k, from, to int) {
		res := j.res[from:to]
		if s.rough.now {
			s.rough.product.RoughTo(res, from/pitch, to/pitch)
		} else {
			s.product.RowsTo(res, from/pitch, to/pitch)
		}
		kernel.AddRowsTimes(res, -1, s.hv[from:to], pitch, s.gram, pitch)
		kernel.Free(j.free[from:to], s.hv[from:to], res, diag)
		kernel.Mul(res, j.free[from:to])
		clear(j.x[from:to])
		precondition(k, from, to)
		copy(j.p[from:to], j.y[from:to])
		kernel.TransTimes(s.parts[k], j.p[from:to], pitch, s.hv[from:to], pitch)
	})
	before := s.jointSum()
	for step := range s.Joint {
		if stop() {
			return false
		}
		s.addParts(j.k)
		s.inParts(func(k, from, to int) {
			y := j.y[from:to]
			clear(y)
			kernel.AddRowsTimes(y, 1, j.p[from:to], pitch, s.gram, pitch)
			kernel.AddRowsTimes(y, 1, s.hv[from:to], pitch, j.k, pitch)
			kernel.Mul(y, j.free[from:to])
			j.sums[k].Value += kernel.Dot(j.p[from:to], y)
		})
		curvature := s.jointSum()
		if !(curvature > 0) || !(before > 0) {
			break
		}
		alpha, last := before/curvature, step+1 == s.Joint
		s.inParts(func(k, from, to int) {
			kernel.Axpy(j.x[from:to], alpha, j.p[from:to])
			if !last {
				kernel.Axpy(j.res[from:to], -alpha, j.y[from:to])
				precondition(k, from, to)
			}
		})
		if last {
			break
		}
		after := s.jointSum()
		beta := after / before
		before = after
		s.inSums(func(k, from, to int) {
			kernel.Scale(j.p[from:to], beta)
			kernel.Axpy(j.p[from:to], 1, j.y[from:to])
			kernel.TransTimes(s.parts[k], j.p[from:to], pitch, s.hv[from:to], pitch)
		})
	}
	return !stop()
}

// alongWay makes of the way in x the direction d that stays above zero, and returns ⟨A·H, d⟩, ⟨A·d, d⟩, dᵀd and Hᵀd + dᵀH.
func (s *rowBlockRun) alongWay(product matrix.JointProduct) (along, own float64, dd, hd []float64) {
	j, pitch := &s.joint, s.pitch
	s.inSums(func(k, from, to int) {
		copy(j.p[from:to], s.hv[from:to])
		kernel.Advance(j.p[from:to], j.x[from:to], 1, s.hv[from:to])
		kernel.TransTimes(s.parts[k], s.hv[from:to], pitch, j.x[from:to], pitch)
	})
	hd = s.hd
	s.addParts(hd)
	kernel.Symmetrize(hd, pitch)
	s.inSums(func(k, from, to int) { kernel.GramRows(s.parts[k], j.x[from:to], pitch, 0, pitch) })
	dd = s.dd
	s.addParts(dd)
	kernel.Mirror(dd, pitch)
	way := matrix.NewDense(s.p.n, pitch, j.x)
	if s.rough.now {
		own, along = s.rough.product.RoughStepAll(way, j.y)
	} else {
		own, along = product.StepAll(way, j.y)
	}
	return along, own, dd, hd
}

// jointSum returns the sum of the parts.
func (s *rowBlockRun) jointSum() float64 {
	total := kernel.Total(s.joint.sums)
	clear(s.joint.sums)
	return total
}
