package symnmf

import (
	"math"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// NoJoint, as RowBlock.Joint, means that no joint steps are taken.
const NoJoint = -1

// When RowBlock takes a joint step of all rows, and how: see decision 0019.
const (
	jointSteps  = 3
	jointEvery  = 3    // sweeps from one joint step to the next
	jointFrom   = 6    // sweeps before the first
	jointWithin = 0.02 // of ‖A‖, the largest error for joint steps
	jointBelow  = 0.05 // of the objective, the most that a sweep, from where momentum has put H, may gain for joint steps
	// jointPays is the part of what sweeps gain for the same work that a joint step has to gain. If it does
	// not, the interval to the next grows by jointEvery.
	jointPays = 0.5
	jointMost = 48   // most sweeps from one to the next
	jointDamp = 1e-3 // of the mean of D's diagonal, what the preconditioner adds to it
)

// jointState is what joint steps need: matrices of n×pitch, and two of pitch×pitch.
type jointState struct {
	// x, res and p are the iterate, residual and direction of the conjugate gradients. y is what the system's
	// matrix or the preconditioner makes of them, or A of d.
	x, res, p, y []float64
	free         []float64    // 1 for entries that may move, else 0
	inverse      []float64    // (D + damp·I)⁻¹
	k            []float64    // PᵀH of the direction
	sums         []kernel.Sum // of the parts of inParts
	selves       []selfTerms  // of the same, if the diagonal is ignored
	// left is the objective of the A at work after the last sweep, but for a constant, and net how much that
	// sweep lowered it, with momentum; NaN if not known.
	left, net float64
	every     int // sweeps to the next joint step
	next      int // number of sweeps at which it is due
}

// selfTerms are what leaveOut makes of the rows of a part.
type selfTerms struct {
	c [4]float64
	_ kernel.LinesApart
}

// jointly moves all rows of H together at the beginning of a sweep, if that is due and likely to pay.
//
// Sweeps solve for each row with the others fixed. They are slow at what takes a turn of all rows together,
// as for a low rank near A, whose factors are alike but for a rotation. With R = A − HHᵀ and −∇ = RH, a
// Gauss–Newton step P solves
//
//	P·D + H·PᵀH = −∇
//
// over the free entries, those with H_ij·D_jj > ∇_ij, which a gradient step of length 1/D_jj leaves above
// zero. If the diagonal is ignored, ‖h_i‖²·h_i is added to row i of −∇, and 2⟨h_i, p_i⟩·h_i taken from row i on the
// left. (It omits R·P from the second derivatives, which is small where the error is.) A few steps of
// conjugate gradients, preconditioned by (D + damp·I)⁻¹ for the free entries of each row, lead towards P. The
// objective along d = [H + P]₊ − H is the quartic of docs/engine.md with all rows as the block, and H moves
// by the best t ≤ 1 times d. So no joint step raises the objective, except by the errors of products in
// float32 in a rough sweep.
//
// A joint step takes a product with A for the gradient, one for ⟨A·d, d⟩, and about (4·steps + 3)·n·r²
// multiply–adds. If stop returns true, H stays where it is.
func (s *rowBlockRun) jointly(stop func() bool) {
	product, ok := s.product.(matrix.JointProduct)
	if !ok || !s.jointDue() || !s.startJoint() || !s.findWay(stop) {
		return
	}
	j := &s.joint
	along, own, dd, hd := s.alongWay(product)
	ddd, dhd, hdhd, ddhd, dddd := kernel.Inners(dd, hd, s.gram)
	c := [4]float64{2*dhd - 4*along, hdhd + 2*ddd - 2*own, 2 * ddhd, dddd}
	for k := range j.selves {
		for i, v := range j.selves[k].c {
			c[i] += v
		}
	}
	t, fall := bestStep(c, 1)
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

// noteNet finds how much a sweep has lowered the objective from where the last one left it. That includes
// what momentum has done, which may be most of it.
func (s *rowBlockRun) noteNet() {
	if _, joint := s.product.(matrix.JointProduct); !joint || s.Joint == NoJoint {
		return
	}
	inner, known := s.innerNow, s.tellsLower() && !s.wasSo
	if !known {
		inner, known = s.product.Inner()
	}
	left := (s.sumHH() - 2*inner) / 4
	if !known {
		left = math.NaN()
	}
	s.joint.left, s.joint.net = left, s.joint.left-left
}

// jointDue says whether a joint step is defined, due, and likely to pay.
func (s *rowBlockRun) jointDue() bool {
	within := jointWithin * s.p.norm
	return s.Joint != NoJoint && !kernel.Nonzero(s.p.l1) &&
		s.sweeps >= max(jointFrom, s.joint.next) && 4*s.safeF <= within*within && s.fallen <= jointBelow*s.safeF
}

// jointCost returns how many sweeps a joint step costs, by about how many multiply–adds each takes, with a
// root counted as r.
func (s *rowBlockRun) jointCost() float64 {
	n, r := float64(s.p.n), float64(s.p.r)
	// Two products with A. For points, whose X·H is at hand, X·Z and then X·d.
	twice := 2 * float64(s.p.a.Stored())
	sweep := twice // with points, X·Z and what Z gains
	if s.termProduct == nil && s.gainProduct == nil {
		sweep /= 2
	}
	return (twice + float64(4*s.Joint+3)*n*r) / (sweep + 2*float64(s.Passes)*n*r)
}

// startJoint makes room and the preconditioner, and reports whether there is one.
func (s *rowBlockRun) startJoint() bool {
	j, r := &s.joint, s.p.r
	if j.x == nil {
		n := len(s.hv)
		j.x, j.res, j.p, j.y, j.free = kernel.Numbers(n), kernel.Numbers(n), kernel.Numbers(n), kernel.Numbers(n), kernel.Numbers(n)
		j.inverse, j.k, j.every = make([]float64, len(s.gram)), make([]float64, len(s.gram)), jointEvery
		j.sums = make([]kernel.Sum, len(s.parts))
		if s.p.ignoreDiag {
			j.selves = make([]selfTerms, len(s.parts))
		}
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

// findWay leaves P in x, before it is cut off at zero. It returns false if it was stopped.
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
		if s.p.ignoreDiag {
			s.addSelves(res, 1, from, s.hv)
		}
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
			if s.p.ignoreDiag {
				s.addSelves(y, -2, from, j.p)
			}
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

// addSelves adds factor·⟨h_i, x_i⟩·h_i to the rows of y, which belongs to the numbers of h from the given one on.
func (s *rowBlockRun) addSelves(y []float64, factor float64, from int, x []float64) {
	for k := 0; k < len(y); k += s.pitch {
		h := s.hv[from+k : from+k+s.pitch]
		kernel.Axpy(y[k:k+s.pitch], factor*kernel.Dot(h, x[from+k:from+k+s.pitch]), h)
	}
}

// alongWay turns the P in x into the direction d that stays above zero, and returns ⟨A·H, d⟩, ⟨A·d, d⟩, dᵀd
// and Hᵀd + dᵀH. If the diagonal is ignored, it leaves in selves what that changes in the quartic.
func (s *rowBlockRun) alongWay(product matrix.JointProduct) (along, own float64, dd, hd []float64) {
	j, pitch := &s.joint, s.pitch
	clear(j.selves)
	s.inSums(func(k, from, to int) {
		copy(j.p[from:to], s.hv[from:to])
		kernel.Advance(j.p[from:to], j.x[from:to], 1, s.hv[from:to])
		if s.p.ignoreDiag {
			leaveOut(&j.selves[k].c, s.hv[from:to], j.x[from:to], pitch)
		}
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
