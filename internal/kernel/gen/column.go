package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// columnWide is how many numbers apart the vectors of a columnTile lie, whatever the width of a vector.
const columnWide = 8

// The vectors of a columnTile, in the order of its fields, and those of its scratch space.
const (
	columnSums = iota
	columnSteps
	columnDecrease
	columnStepSq
	columnDjj
	columnNear
	columnOld = columnWide - 2 + iota
	columnNew
	columnRest
	columnA
	columnB
	columnA0
	columnB0
	columnSize
	columnInverse
	columnLengths // of steps
	columnPairs
	columnSizes = columnPairs + columnWide - 1
)

const (
	// settled is the largest relative error that the last step to a root may leave.
	settled = 1e-15
	// small is a step of Newton's iteration, relative to the root, after which the next one would be below rounding.
	small = 3e-8
	// Where a is beyond these bounds, or b beyond the upper one, powers of them could overflow or vanish.
	leastOfRoot = 0x1p-300
	mostOfRoot  = 0x1p300
	// What is at most this part of its terms counts as 0, as package symnmf has it.
	roundingOfB = 8 * 0x1p-52
	roundingOfL = 4 * 0x1p-52
)

var columnConsts = fmt.Sprintf(`
// A columnTile has vectors of columnWide numbers, columnScratch of them to work in.
const (
	columnWide    = %d
	columnScratch = %d
)
`, columnWide, columnSizes+columnWide-1-columnOld)

// column writes the visits of one column of H in the rows of a tile, which are in lanes.
type column struct {
	*solver
	index        operand.Mem  // the numbers of the lanes
	v, row, row3 reg.Register // row is the bytes from a row to the next, row3 those to the third after it
}

// columnKernels writes what goes into column_amd64.s.
func (a *asm) columnKernels() {
	s := &solver{asm: a, size: 8, width: a.lanes}
	s.choose()
	s.constants(
		named{"two", operand.F64(2)}, named{"nine", operand.F64(9)}, named{"quarter", operand.F64(0.25)},
		named{"settled", operand.F64(settled)}, named{"small", operand.F64(small)},
		named{"leastOfRoot", operand.F64(leastOfRoot)}, named{"mostOfRoot", operand.F64(mostOfRoot)},
		named{"ofB", operand.F64(roundingOfB)}, named{"ofL", operand.F64(roundingOfL)},
		named{"notSignTwice", operand.U64(notSign)}, named{"notSignAgain", operand.U64(notSign)},
		named{"shiftedTwice", operand.U64(shifted)}, named{"shiftedAgain", operand.U64(shifted)},
	)
	c := &column{solver: s}
	c.index = s.StaticGlobal("columnIndex" + s.name)
	s.DataAttributes(attr.RODATA | attr.NOPTR)
	for l := range s.lanes {
		s.AppendDatum(operand.U64(l))
	}
	c.visit()
}

// slot returns the address of a vector of the columnTile, lane that of one of its numbers.
func (c *column) slot(k int) operand.Mem    { return operand.Mem{Base: c.v, Disp: 8 * columnWide * k} }
func (c *column) lane(k, l int) operand.Mem { return c.slot(k).Offset(8 * l) }

// at returns the address of a number of row m, given where rows 0 and 5 are.
func (c *column) at(h, h5 reg.Register, m, number int) operand.Mem {
	at := operand.Mem{Base: h, Disp: 8 * number}
	switch m {
	case 1, 2, 4:
		at.Index, at.Scale = c.row, uint8(m)
	case 3, 6:
		at.Index, at.Scale = c.row3, uint8(m/3)
	case 5:
		at.Base = h5
	case 7:
		at.Base, at.Index, at.Scale = h5, c.row, 2
	}
	return at
}

// visit writes the function.
func (c *column) visit() {
	c.begin("column", "func(v, h *float64, r, j int, d, diag, column, rowSq *float64, djj, l1, norm, scale float64, "+
		"ptr *int64, idx *int32, val, x *float64) (changed int)",
		fmt.Sprintf("column%s is ColumnTiles.visit for %d rows, which begin at h, diag, column and rowSq. ptr is", c.name, c.lanes),
		"where the rows of the next tile begin in idx and val, which may be nil; x is all of the column. It returns a",
		"bit for each row, whether its entry changed, or −1 if it has done nothing.")
	c.free = vectorRegisters(c.lanes)
	c.v, c.row = c.arg("v"), c.arg("r")
	c.SHLQ(operand.U8(3), c.row)
	otherwise := c.label("otherwise")
	c.scope(func() { c.together(otherwise) })
	c.inTurn()
	c.scope(c.growD)
	c.scope(c.sumUp)
	for _, write := range c.later {
		write()
	}
	c.later = nil
	c.Label(otherwise)
	changed := c.GP64()
	c.MOVQ(operand.I32(-1), changed)
	c.end(changed)
}

// tile returns where rows 0 and 5 begin.
func (c *column) tile() (h, h5 reg.Register) {
	h, h5, c.row3 = c.arg("h"), c.GP64(), c.GP64()
	c.LEAQ(operand.Mem{Base: h, Index: c.row, Scale: 4}, h5)
	c.ADDQ(c.row, h5)
	c.LEAQ(operand.Mem{Base: c.row, Index: c.row, Scale: 2}, c.row3)
	return h, h5
}

// together writes what needs no other row's change: the coefficients of x³ + a·x − b, rough roots, and what a change
// of each row adds to the b of those after it.
func (c *column) together(otherwise string) {
	sums := c.regs(3) // Σ h_k², and Σ D_jk·h_k for even k and for odd k, k ≠ j
	rest, others := sums[0], sums[1:]
	c.scope(func() { c.sums(rest, others) })
	c.add(others[1], others[0], others[0])
	c.start(rest, others[0], otherwise)
}

// sums writes the sums over the coordinates of the tile, and those of products with each row but the last. It fetches
// the next tile, which matters where H comes from memory.
func (c *column) sums(rest reg.Register, others []reg.Register) {
	pairs := c.regs(c.lanes - 1)
	for _, v := range append([]reg.Register{rest, others[0], others[1]}, pairs...) {
		c.clear(v)
	}
	h, h5 := c.tile()
	d, left, j := c.arg("d"), c.arg("r"), c.arg("j")
	next := c.GP64()
	c.LEAQ(operand.Mem{Base: h, Index: c.row, Scale: uint8(c.lanes)}, next)
	block, done := c.label("block"), c.label("summed")
	c.Label(block)
	for line := 0; line < 8*c.lanes*c.lanes; line += 64 {
		c.PREFETCHT0(operand.Mem{Base: next, Disp: line})
	}
	c.scope(func() {
		for k, x := range c.byCoordinates(h, h5, left, j) {
			c.scope(func() {
				t := c.reg()
				c.fma231(x, x, rest)
				c.spread(operand.Mem{Base: d, Disp: 8 * k}, t)
				c.fma231(x, t, others[k%2])
				for m, sum := range pairs {
					if c.lanes == 8 {
						c.VFMADD231PD_BCST(c.at(h, h5, m, k), x, sum)
					} else {
						c.spread(c.at(h, h5, m, k), t)
						c.fma231(x, t, sum)
					}
				}
			})
			c.DECQ(left)
			c.JEQ(operand.LabelRef(done))
		}
	})
	c.ADDQ(operand.I32(8*c.lanes*c.lanes), next)
	for _, p := range []reg.Register{h, h5, d} {
		c.ADDQ(operand.U8(8*c.lanes), p)
	}
	c.SUBQ(operand.U8(c.lanes), j)
	c.JMP(operand.LabelRef(block))
	c.Label(done)
	near, size := c.reg(), c.reg()
	for m, sum := range pairs {
		c.mov(c.slot(columnNear+m), near)
		c.add(sum, near, size)
		c.mov(size, c.slot(columnSizes+m))
		c.sub(sum, near, sum)
		c.mov(sum, c.slot(columnPairs+m))
	}
}

// byCoordinates returns a block of the tile by coordinates: the next c.lanes of them, as far as there are any, with
// zeros in place of coordinate j.
func (c *column) byCoordinates(h, h5, left, j reg.Register) []reg.Register {
	rows := c.regs(c.lanes)
	c.scope(func() {
		m := c.mask(left, j)
		for l, v := range rows {
			c.load(c.at(h, h5, l, 0), m, v)
		}
	})
	if c.lanes == 8 {
		return (&columns{solver: c.solver}).byColumns(rows)
	}
	c.scope(func() {
		t := c.regs(4)
		for k := 0; k < 4; k += 2 {
			c.VUNPCKLPD(rows[k+1], rows[k], t[k])
			c.VUNPCKHPD(rows[k+1], rows[k], t[k+1])
		}
		for k := range 4 {
			c.VPERM2F128(operand.U8(0x20+0x11*(k/2)), t[2+k%2], t[k%2], rows[k])
		}
	})
	return rows
}

// mask returns the mask of the lanes before left, less lane j unless j is nil.
func (c *column) mask(left, j reg.Register) reg.Register {
	m, t, index := c.reg(), c.reg(), c.reg()
	spread := func(x reg.Register) {
		c.VMOVQ(x, xmm(t))
		c.VPBROADCASTQ(xmm(t), t)
	}
	spread(left)
	if c.lanes == 4 {
		c.VMOVDQU(c.index, index)
		c.VPCMPGTQ(index, t, m)
		if j != nil {
			spread(j)
			c.VPCMPEQQ(index, t, t)
			c.VPANDN(m, t, m)
		}
		return m
	}
	c.VMOVDQU64(c.index, index)
	m = c.K()
	c.VPCMPGTQ(index, t, m)
	if j != nil {
		same := c.K()
		spread(j)
		c.VPCMPEQQ(index, t, same)
		c.KANDNW(m, same, m)
	}
	return m
}

// load loads the lanes of v in the mask and clears the others. store stores the lanes in the mask.
func (c *column) load(from operand.Mem, m, v reg.Register) {
	if c.lanes == 8 {
		c.VMOVUPD_Z(from, m, v)
	} else {
		c.VMASKMOVPD(from, m, v)
	}
}

func (c *column) store(v, m reg.Register, to operand.Mem) {
	if c.lanes == 8 {
		c.VMOVUPD(v, m, to)
	} else {
		c.VMASKMOVPD(v, m, to)
	}
}

// start writes the coefficients, with what package symnmf takes for rounding, and the rough roots.
func (c *column) start(rest, others reg.Register, otherwise string) {
	a, b := c.reg(), c.reg()
	c.scope(func() {
		o, diag, size, t, u := c.reg(), c.reg(), c.reg(), c.reg(), c.reg()
		c.mov(operand.Mem{Base: c.arg("column")}, o)
		c.mov(operand.Mem{Base: c.arg("diag")}, diag)
		c.mov(o, c.slot(columnOld))
		c.mov(rest, c.slot(columnRest))
		c.mov(c.slot(columnSums), b)
		c.mov(b, size)
		c.andC(c.c("notSign"), size, size)
		c.add(others, size, size)
		c.mul(o, o, t)
		c.add(rest, t, u)
		c.fma231(o, u, size)
		c.mov(size, c.slot(columnSize))
		c.fnma231(o, diag, b)
		c.sub(others, b, b)
		c.fma231(o, rest, b)
		c.sub(diag, rest, a)
		c.mov(a, u)
		c.andC(c.c("notSign"), u, u)
		c.mulC(c.c("ofL"), diag, diag)
		c.keep(c.compare(greater, u, diag, diag), a)
		c.sub(t, a, a)
		c.mov(a, c.slot(columnA0))
		c.spread(c.mem("djj"), t)
		c.add(t, a, a)
		c.spread(c.mem("l1"), t)
		c.sub(t, b, b)
		c.mov(b, c.slot(columnB0))
	})
	c.scope(func() {
		bad, size, least, most, m := c.reg(), c.reg(), c.reg(), c.reg(), c.reg()
		c.spread(c.c("leastOfRoot"), least)
		c.spread(c.c("mostOfRoot"), most)
		c.mov(a, size)
		c.andC(c.c("notSign"), size, size)
		bad = c.compare(notGreater, size, least, bad)
		c.either(c.compare(notLess, size, most, m), bad)
		c.mov(b, size)
		c.andC(c.c("notSign"), size, size)
		c.either(c.compare(notLess, size, most, m), bad)
		c.testMask(bad)
	})
	c.JNE(operand.LabelRef(otherwise))
	x, p, q, all := c.reg(), c.reg(), c.reg(), c.reg()
	found := c.label("found")
	need, t := c.above(a, b, x, c.everyLane(all), p, q, found)
	c.scope(func() { // one step of Halley's iteration, see turn.step
		f, u := c.reg(), c.reg()
		c.mul(x, x, q)
		c.mov(a, p)
		c.fma231C(c.c("three"), q, p)
		c.add(a, q, f)
		c.fms213(b, x, f)
		c.mul(f, x, u)
		c.mul(p, p, q)
		c.mulC(c.c("three"), u, u)
		c.sub(u, q, q)
		c.mul(p, f, f)
		c.div(q, f, f)
		c.sub(f, x, t)
		c.blend(need, t, x)
	})
	c.Label(found)
	c.mov(x, c.slot(columnNew))
	c.mul(x, x, q)
	c.mov(a, p)
	c.fma231C(c.c("three"), q, p)
	c.spread(c.c("one"), q)
	c.div(p, q, q)
	c.mov(q, c.slot(columnInverse))
}

// keep clears the lanes of v outside the mask.
func (s *solver) keep(m, v reg.Register) {
	if s.lanes == 8 {
		s.VMOVAPD_Z(v, m, v)
	} else {
		s.and(m, v, v)
	}
}

// everyLane returns a mask of all lanes. Without opmasks it is v.
func (s *solver) everyLane(v reg.Register) reg.Register {
	if s.lanes == 8 {
		m := s.K()
		s.KXNORW(m, m, m)
		return m
	}
	s.VPCMPEQD(v, v, v)
	return v
}

// growD adds the rows times their changes to D_j,:.
func (c *column) growD() {
	h, h5 := c.tile()
	d, left := c.arg("d"), c.arg("r")
	block := c.label("block")
	steps := c.regs(c.lanes)
	for l, v := range steps {
		c.spread(c.lane(columnSteps, l), v)
	}
	c.Label(block)
	c.scope(func() {
		sum, x, m := c.reg(), c.reg(), c.mask(left, nil)
		c.load(operand.Mem{Base: d}, m, sum)
		for l, v := range steps {
			c.load(c.at(h, h5, l, 0), m, x)
			c.fma231(x, v, sum)
		}
		c.store(sum, m, operand.Mem{Base: d})
	})
	for _, p := range []reg.Register{h, h5, d} {
		c.ADDQ(operand.U8(8*c.lanes), p)
	}
	c.SUBQ(operand.U8(c.lanes), left)
	c.JGT(operand.LabelRef(block))
}

// sumUp writes the squares of the rows, the column, what the objective lost, the squares of projected steps, and the
// end.
func (c *column) sumUp() {
	o, x, a, b, t, u, zero := c.reg(), c.reg(), c.reg(), c.reg(), c.reg(), c.reg(), c.reg()
	c.mov(c.slot(columnOld), o)
	c.mov(c.slot(columnNew), x)
	c.mov(c.slot(columnA), a)
	c.mov(c.slot(columnB), b)
	c.mov(x, operand.Mem{Base: c.arg("column")})
	c.mov(c.slot(columnRest), t)
	c.fma231(x, x, t)
	c.mov(t, operand.Mem{Base: c.arg("rowSq")})
	c.clear(zero)
	// (o − max(0, o − slope/norm))²
	c.mul(o, o, t)
	c.add(a, t, t)
	c.fms213(b, o, t)
	c.spread(c.mem("norm"), u)
	c.div(u, t, t)
	c.sub(t, o, t)
	c.max(zero, t, t)
	c.sub(t, o, t)
	c.mov(c.slot(columnStepSq), u)
	c.fma231(t, t, u)
	c.mov(u, c.slot(columnStepSq))
	// (o − x)²·((o² + 2·o·x + 3·x²)/4 + a/2), and −o·b where x is 0
	c.mul(x, x, t)
	c.mulC(c.c("three"), t, t)
	c.fma231(o, o, t)
	c.mul(o, x, u)
	c.fma231C(c.c("two"), u, t)
	c.fma231C(c.c("two"), a, t)
	c.mulC(c.c("quarter"), t, t)
	c.sub(x, o, u)
	c.mul(u, u, u)
	c.mul(u, t, t)
	c.mul(o, b, u)
	c.keep(c.compare(notGreater, x, zero, a), u)
	c.sub(u, t, t)
	c.mov(c.slot(columnDecrease), u)
	c.add(t, u, u)
	c.mov(u, c.slot(columnDecrease))
	changed := c.GP64()
	if m := c.compare(differs, x, o, a); c.lanes == 8 {
		c.KMOVW(m, changed.(reg.GPVirtual).As32())
	} else {
		c.VMOVMSKPD(m, changed.(reg.GPVirtual).As32())
	}
	c.end(changed)
}
