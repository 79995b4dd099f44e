package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// inTurn writes what each row does in its turn: two steps to its root, given what the rows before it have changed. While
// that waits for divisions, the processor sums up a row of A·H of the next tile.
func (c *column) inTurn() {
	x := []reg.Register{
		reg.X0, reg.X1, reg.X2, reg.X3, reg.X4, reg.X5, reg.X6, reg.X7, reg.X8, reg.X9, reg.X10, reg.X11,
		reg.X12, reg.X13, reg.X14, reg.X15, reg.X16, reg.X17, reg.X18, reg.X19, reg.X20, reg.X21, reg.X22, reg.X23,
	}
	djj, steps, x := x[0], x[1:c.lanes], x[c.lanes:]
	t := &turn{column: c, a: x[0], b: x[1], x: x[2], p: x[3], q: x[4], slope: x[5], wins: x[6], size: x[7]}
	g := c.newNextSums(x[8:], t.q)
	c.VMOVSD(c.mem("djj"), djj)
	h, j := c.arg("h"), c.arg("j")
	c.LEAQ(operand.Mem{Base: h, Index: j, Scale: 8}, h)
	for l := range c.lanes {
		c.VADDSD(c.lane(columnA0, l), djj, t.a)
		c.VMOVSD(c.lane(columnB0, l), t.b)
		c.VMOVSD(c.lane(columnSize, l), t.size)
		for m := range l {
			c.VFMADD231SD(c.lane(columnPairs+m, l), steps[m], t.b)
			c.VMOVSD(c.lane(columnSizes+m, l), t.q)
			c.VFMADD231SD(c.lane(columnLengths, m), t.q, t.size)
		}
		c.VMULSD(c.c("ofB"), t.size, t.size)
		t.twoSteps(l)
		t.findWins()
		g.row(l)
		t.check()
		c.VANDPD(t.wins, t.x, t.x)
		c.VMOVSD(t.x, operand.Mem{Base: h})
		c.ADDQ(c.row, h)
		c.VMOVSD(t.x, c.lane(columnNew, l))
		c.VMOVSD(t.a, c.lane(columnA, l))
		c.VMOVSD(t.b, c.lane(columnB, l))
		c.VMOVSD(c.lane(columnOld, l), t.q)
		c.VADDSD(t.q, t.x, t.p)
		c.VSUBSD(t.q, t.x, t.x)
		c.VMOVSD(t.x, c.lane(columnSteps, l))
		if l < len(steps) {
			c.VMOVAPD(t.x, steps[l])
			c.VANDPD(c.twice("notSign"), t.x, t.q)
			c.VMOVSD(t.q, c.lane(columnLengths, l))
		}
		c.VFMADD231SD(t.p, t.x, djj)
		c.VMAXSD(c.c("zero"), djj, djj)
	}
	c.VMOVSD(djj, c.lane(columnDjj, 0))
	g.store()
}

// turn is what a row needs in its turn, in the low lanes of registers. size is what b is compared with, and wins is the
// mask of whether the largest root is the minimizer.
type turn struct {
	*column
	a, b, x, p, q, slope, wins, size reg.Register
}

// twoSteps writes two steps from the rough root, the first by the slope there, which is known already.
func (t *turn) twoSteps(l int) {
	t.VMOVSD(t.lane(columnNew, l), t.x)
	t.VMULSD(t.x, t.x, t.p)
	t.VADDSD(t.a, t.p, t.p)
	t.VFMSUB213SD(t.b, t.x, t.p)
	t.VFNMADD231SD(t.lane(columnInverse, l), t.p, t.x)
	t.step()
}

// value writes p = x³ + a·x − b and its derivative, slope.
func (t *turn) value() {
	t.VMULSD(t.x, t.x, t.q)
	t.VMOVAPD(t.a, t.slope)
	t.VFMADD231SD(t.c("three"), t.q, t.slope)
	t.VADDSD(t.a, t.q, t.p)
	t.VFMSUB213SD(t.b, t.x, t.p)
}

// step writes a step of Halley's iteration, which triples the digits. It leaves the size of the step in p, and the slope
// before it. wins is lost.
func (t *turn) step() {
	t.value()
	t.VMULSD(t.slope, t.slope, t.q)
	t.VMULSD(t.x, t.p, t.wins)
	t.VFNMADD231SD(t.c("three"), t.wins, t.q)
	t.VMULSD(t.slope, t.p, t.p)
	t.VDIVSD(t.q, t.p, t.p)
	t.VSUBSD(t.p, t.x, t.x)
	t.VANDPD(t.twice("notSign"), t.p, t.p)
}

// findWins writes the condition of solver.above.
func (t *turn) findWins() {
	t.VDIVSD(t.a, t.b, t.q)
	t.VMULSD(t.q, t.q, t.q)
	t.VMULSD(t.c("tie"), t.a, t.wins)
	t.VCMPSD(operand.U8(less), t.wins, t.q, t.wins)
	t.VCMPSD(operand.U8(greater), t.c("zero"), t.b, t.q)
	t.VORPD(t.q, t.wins, t.wins)
}

// check writes what happens where the root has not settled or may not be the largest, or where b is rounding but for
// its weight: b is put right, and the root is found from above.
func (t *turn) check() {
	otherwise, again, found := t.label("otherwise"), t.label("again"), t.label("found")
	t.unsettled()
	t.VMINSD(t.x, t.slope, t.slope)
	t.VCMPSD(operand.U8(notGreater), t.c("zero"), t.slope, t.slope)
	t.VORPD(t.slope, t.p, t.p)
	t.VANDPD(t.wins, t.p, t.p)
	t.VADDSD(t.mem("l1"), t.b, t.q)
	t.VANDPD(t.twice("notSign"), t.q, t.q)
	t.VCMPSD(operand.U8(notGreater), t.size, t.q, t.q)
	t.VORPD(t.q, t.p, t.p)
	t.jumpIf(t.p, otherwise)
	t.Label(found)
	t.later = append(t.later, func() {
		t.Label(otherwise)
		t.VXORPD(t.p, t.p, t.p)
		t.VSUBSD(t.mem("l1"), t.p, t.p)
		t.VBLENDVPD(t.q, t.p, t.b, t.b)
		// The start of solver.above.
		t.VMAXSD(t.c("zero"), t.b, t.x)
		t.VPSRLQ(operand.U8(20), t.x, t.x)
		t.VORPD(t.twice("shifted"), t.x, t.x)
		t.VMOVSD(t.c("cbrt"), t.q)
		t.VFMADD132SD(t.c("third"), t.q, t.x)
		t.VPSLLQ(operand.U8(20), t.x, t.x)
		t.VXORPD(t.q, t.q, t.q)
		t.VSUBSD(t.a, t.q, t.q)
		t.VMAXSD(t.c("zero"), t.q, t.q)
		t.VSQRTSD(t.q, t.q, t.q)
		t.VADDSD(t.q, t.x, t.x)
		t.findWins()
		t.Label(again) // Newton's iteration, which squares nothing that may vanish
		t.value()
		t.VDIVSD(t.slope, t.p, t.p)
		t.VSUBSD(t.p, t.x, t.x)
		t.VMULSD(t.c("small"), t.x, t.q)
		t.VCMPSD(operand.U8(greater), t.q, t.p, t.p) // which no NaN is
		t.VANDPD(t.wins, t.p, t.p)
		t.jumpIf(t.p, again)
		t.JMP(operand.LabelRef(found))
	})
}

// jumpIf writes a jump to where the low lane of the mask is set.
func (t *turn) jumpIf(m reg.Register, to string) {
	flag := t.GP32()
	t.VMOVMSKPD(m, flag)
	t.TESTL(operand.U32(1), flag)
	t.JNE(operand.LabelRef(to))
}

// unsettled sets p to the mask of whether the error that a step p has left may be too large: it is at most
// |p|³·(9x² + f′)/f′², f′ being the slope.
func (t *turn) unsettled() {
	t.VMULSD(t.x, t.x, t.q)
	t.VMULSD(t.c("nine"), t.q, t.q)
	t.VADDSD(t.slope, t.q, t.q)
	t.VMULSD(t.p, t.q, t.q)
	t.VMULSD(t.p, t.q, t.q)
	t.VMULSD(t.p, t.q, t.p)
	t.VMULSD(t.slope, t.slope, t.q)
	t.VMULSD(t.x, t.q, t.q)
	t.VMULSD(t.c("settled"), t.q, t.q)
	t.VCMPSD(operand.U8(notWithin), t.q, t.p, t.p)
}

// twice returns the address of a constant that fills 16 bytes.
func (s *solver) twice(name string) operand.Mem { return s.c(name + "Twice") }

// nextSums writes A_i,:·x for the rows of the next tile. Its registers are in use throughout, but for number.
type nextSums struct {
	*column
	acc, pairs                 []reg.Register // the sums of the row at work, and of two rows each
	number                     reg.Register
	ptr, idx, val, x, left, at reg.Register
}

func (c *column) newNextSums(free []reg.Register, number reg.Register) *nextSums {
	g := &nextSums{
		column: c, pairs: free[:c.lanes/2], acc: free[c.lanes/2 : c.lanes], number: number, ptr: c.arg("ptr"),
		idx: c.arg("idx"), val: c.arg("val"), x: c.arg("x"), left: c.GP64(), at: c.GP64(),
	}
	c.MOVQ(operand.Mem{Base: g.ptr}, g.at)
	c.LEAQ(operand.Mem{Base: g.idx, Index: g.at, Scale: 4}, g.idx)
	ones := c.label("ones")
	c.TESTQ(g.val, g.val)
	c.JEQ(operand.LabelRef(ones))
	c.LEAQ(operand.Mem{Base: g.val, Index: g.at, Scale: 8}, g.val)
	c.Label(ones)
	return g
}

// row writes the sum for row l.
func (g *nextSums) row(l int) {
	weighted, done := g.label("weighted"), g.label("gathered")
	g.MOVQ(operand.Mem{Base: g.ptr, Disp: 8 * (l + 1)}, g.left)
	g.SUBQ(operand.Mem{Base: g.ptr, Disp: 8 * l}, g.left)
	for _, v := range g.acc {
		if g.lanes == 8 {
			g.VPXORQ(v, v, v)
		} else {
			g.VXORPD(v, v, v)
		}
	}
	g.TESTQ(g.val, g.val)
	g.JNE(operand.LabelRef(weighted))
	g.entries(false)
	g.Label(done)
	for n := len(g.acc); n > 1; n /= 2 {
		for k := range n / 2 {
			g.VADDSD(g.acc[k+n/2], g.acc[k], g.acc[k])
		}
	}
	if l%2 == 0 {
		g.VMOVAPD(g.acc[0], g.pairs[l/2])
	} else {
		g.VUNPCKLPD(g.acc[0], g.pairs[l/2], g.pairs[l/2])
	}
	g.later = append(g.later, func() {
		g.Label(weighted)
		g.entries(true)
		g.JMP(operand.LabelRef(done))
	})
}

func (g *nextSums) entries(weighted bool) {
	n := len(g.acc)
	entry := func(k int) {
		g.MOVLQSX(operand.Mem{Base: g.idx, Disp: 4 * k}, g.at)
		x := operand.Mem{Base: g.x, Index: g.at, Scale: 8}
		if !weighted {
			g.VADDSD(x, g.acc[k], g.acc[k])
			return
		}
		g.VMOVSD(operand.Mem{Base: g.val, Disp: 8 * k}, g.number)
		g.VFMADD231SD(x, g.number, g.acc[k])
	}
	some, few, one, done := g.label("some"), g.label("few"), g.label("one"), g.label("all")
	g.SUBQ(operand.U8(n), g.left)
	g.JLT(operand.LabelRef(few))
	g.Label(some)
	for k := range n {
		entry(k)
	}
	next := func(k int) {
		g.ADDQ(operand.U8(4*k), g.idx)
		if weighted {
			g.ADDQ(operand.U8(8*k), g.val)
		}
	}
	next(n)
	g.SUBQ(operand.U8(n), g.left)
	g.JGE(operand.LabelRef(some))
	g.Label(few)
	g.ADDQ(operand.U8(n), g.left)
	g.JEQ(operand.LabelRef(done))
	g.Label(one)
	entry(0)
	next(1)
	g.DECQ(g.left)
	g.JNE(operand.LabelRef(one))
	g.Label(done)
}

// store writes the sums, times the scale of A.
func (g *nextSums) store() {
	if g.lanes == 4 {
		all := ymm(g.pairs[0])
		g.VINSERTF128(operand.U8(1), g.pairs[1], all, all)
		g.VBROADCASTSD(g.mem("scale"), ymm(g.acc[0]))
		g.VMULPD(ymm(g.acc[0]), all, all)
		g.mov(all, g.slot(columnSums))
		return
	}
	for k := 0; k < 4; k += 2 {
		g.VINSERTF32X4(operand.U8(1), g.pairs[k+1], ymm(g.pairs[k]), ymm(g.pairs[k]))
	}
	all := zmm(g.pairs[0])
	g.VINSERTF64X4(operand.U8(1), ymm(g.pairs[2]), all, all)
	g.VMULPD_BCST(g.mem("scale"), all, all)
	g.mov(all, g.slot(columnSums))
}
