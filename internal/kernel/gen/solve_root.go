package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// reciprocal replaces a by 1/a, which it refines from an estimate to 2⁻¹⁴: to 2⁻⁴² for float64 or 2⁻²⁸ for
// float32. With AVX2 it divides.
func (s *solver) reciprocal(a, r reg.Register) {
	if s.lanes == 4 {
		t := s.reg()
		s.spread(s.c("one"), t)
		s.div(a, t, a)
		return
	}
	if s.size == 8 {
		s.VRCP14PD(a, r)
		s.fnma213C(s.c("one"), r, a) // 1 − r·a
		s.fma213(a, a, a)
	} else {
		s.VRCP14PS(a, r)
		s.fnma213C(s.c("one"), r, a)
	}
	s.fma213(r, r, a)
}

// polynomial sets each p to one of the polynomials in the tables, evaluated at e.
func (s *solver) polynomial(name string, e, p []reg.Register) {
	degree := s.degree[name]
	for i := range p {
		s.spread(s.c(fmt.Sprint(name, degree)), p[i])
	}
	for k := degree - 1; k >= 0; k-- {
		for i := range p {
			s.fma213C(s.c(fmt.Sprint(name, k)), e[i], p[i])
		}
	}
}

// A mask is an opmask or, with AVX2, which has none, a vector whose signs matter.

func (s *solver) signs(v reg.Register) reg.Register {
	if s.lanes == 4 {
		return v
	}
	m := s.K()
	if s.size == 8 {
		s.VPTESTMQ_BCST(s.c("sign"), v, m)
	} else {
		s.VPTESTMD_BCST(s.c("sign"), v, m)
	}
	return m
}

func (s *solver) testMask(m reg.Register) {
	if s.lanes == 8 {
		s.KORTESTW(m, m)
		return
	}
	t := s.GP32()
	if s.size == 8 {
		s.VMOVMSKPD(m, t)
	} else {
		s.VMOVMSKPS(m, t)
	}
	s.TESTL(t, t)
}

// Quiet predicates of comparisons of x and y, where x is the second operand.
const (
	less       = 17 // x < y
	greater    = 30 // x > y
	differs    = 4  // x ≠ y
	notLess    = 21 // not x < y, and so on: where one is not a number these hold
	notWithin  = 22 // not x ≤ y
	notGreater = 26 // not x > y
)

// compare returns the mask of the predicate for x and y. Without opmasks the mask is in t.
func (s *solver) compare(predicate uint8, x, y, t reg.Register) reg.Register {
	if s.lanes == 8 {
		t = s.K()
	}
	s.cmp(operand.U8(predicate), y, x, t)
	return t
}

// blend moves those lanes of x to dst that are in the mask.
func (s *solver) blend(m, x, dst reg.Register) {
	switch {
	case s.lanes == 8:
		s.mov(x, m, dst)
	case s.size == 8:
		s.VBLENDVPD(m, x, dst, dst)
	default:
		s.VBLENDVPS(m, x, dst, dst)
	}
}

func (s *solver) both(m, dst reg.Register) {
	if s.lanes == 8 {
		s.KANDW(m, dst, dst)
	} else {
		s.and(m, dst, dst)
	}
}

func (s *solver) either(m, dst reg.Register) {
	if s.lanes == 8 {
		s.KORW(m, dst, dst)
	} else {
		s.or(m, dst, dst)
	}
}

// rareQuadratic sets x to the minimizer of the problem without the diagonal in vector v, whatever a and b
// are, in the lanes where it is not b/a.
func (s *solver) rareQuadratic(hj reg.Register, v int, b, x, a reg.Register) {
	zero, y, most, m := s.reg(), s.reg(), s.reg(), s.reg()
	s.mov(s.rest(hj, v), a)
	s.spread(s.c("ratioSq"), most)
	s.mul(a, most, most)
	s.fnma231(x, x, most)
	s.or(a, most, m)
	bad := s.signs(m)
	s.clear(zero)
	s.div(a, b, y)
	s.max(zero, y, y)
	s.max(zero, a, most)
	s.sqrt(most, most)
	s.mulC(s.c("ratio"), most, most)
	m = s.reg()
	over := s.compare(greater, y, most, m)
	s.max(s.vector(hj, v), most, most)
	s.blend(over, most, y)
	s.mov(s.vector(hj, v), most)
	s.blend(s.compare(notGreater, a, zero, m), most, y)
	s.blend(bad, y, x)
}

// rareQuartic sets x, which is y on entry, to the minimizer in vector v, whatever a and b are.
func (s *solver) rareQuartic(hj reg.Register, v int, b, x, e reg.Register) {
	p, q, t := s.reg(), s.reg(), s.reg()
	s.polynomial("near", []reg.Register{e}, []reg.Register{p})
	s.polynomial("wide", []reg.Register{e}, []reg.Register{q})
	s.spread(s.c("nearMost"), t)
	s.sub(e, t, t)
	s.blend(s.signs(t), q, p)
	s.mul(p, x, x)
	// The lanes in which ε is too large, a is not positive, or something is not finite.
	s.spread(s.c("wideMost"), t)
	s.sub(e, t, t)
	a := e
	if s.kept() {
		s.add(s.rest(hj, v), s.normSq[v], a)
	} else {
		s.mov(s.scratch(scratchNormSq, v), a)
		s.add(s.rest(hj, v), a, a)
	}
	s.or(a, t, t)
	bad := s.signs(t)
	done := s.label("done")
	s.testMask(bad)
	s.JEQ(operand.LabelRef(done))
	s.newton(a, b, x, bad, p, q, done)
	s.Label(done)
}

// newton sets the lanes of x in the mask bad to the minimizer, by Newton's iteration from above.
func (s *solver) newton(a, b, x, bad, p, q reg.Register, done string) {
	need, t := s.above(a, b, x, bad, p, q, done)
	// Iterate until a step is so small that the next one would be below rounding.
	loop := s.label("newton")
	s.Label(loop)
	s.mul(x, x, q)
	s.mov(a, t)
	s.fma231C(s.c("three"), q, t)
	s.add(a, q, p)
	s.fms213(b, x, p)
	s.div(t, p, p)
	s.sub(p, x, t)
	s.blend(need, t, x)
	s.andC(s.c("notSign"), p, p)
	s.mulC(s.c("close"), x, q)
	s.both(s.compare(greater, p, q, t), need)
	s.testMask(need)
	s.JNE(operand.LabelRef(loop))
}

// above sets the lanes of x in the mask bad to 0, or where that is not the minimizer to a number not below the largest
// root, which is the minimizer then. It returns the mask of the latter, b > 0, or a < 0 and (b/a)² < −2a/27, and a free
// register. If there are none of the latter it jumps to done.
func (s *solver) above(a, b, x, bad, p, q reg.Register, done string) (need, t reg.Register) {
	need = s.reg()
	s.div(a, b, p)
	s.mul(p, p, q)
	s.mulC(s.c("tie"), a, need)
	need = s.compare(less, q, need, need)
	zero := q
	s.clear(zero)
	t = s.reg()
	s.either(s.compare(greater, b, zero, t), need)
	s.both(bad, need)
	s.blend(bad, zero, x)
	s.testMask(need)
	s.JEQ(operand.LabelRef(done))
	// above = √max(−a, 0) + the cube root of max(b, 0), at most 6 % too large; if a > 0, at most b/a.
	above := s.reg()
	s.max(zero, b, above)
	c := t
	s.spread(s.c("cbrt"), c)
	if s.size == 8 {
		s.VPSRLQ(operand.U8(20), above, above)
		s.orC(s.c("shifted"), above, above)
		s.fma132C(s.c("third"), c, above)
		s.VPSLLQ(operand.U8(20), above, above)
	} else {
		s.VCVTDQ2PS(above, above)
		s.fma132C(s.c("third"), c, above)
		s.VCVTPS2DQ(above, above)
	}
	s.sub(a, zero, t)
	s.max(zero, t, t)
	s.sqrt(t, t)
	s.add(t, above, above)
	s.min(above, p, p)
	s.blend(s.compare(greater, a, zero, t), p, above)
	s.blend(need, above, x)
	return need, t
}
