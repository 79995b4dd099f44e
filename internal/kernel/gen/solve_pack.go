package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packRows and packCols are how many rows and columns the packing takes at a time; the float64 numbers of one
// coordinate of packRows rows are a cache line. With AVX-512 it takes as many rows as a vector holds, 8 or 16
// of float32, and wideCols columns.
const (
	packRows = 8
	packCols = 4
	wideCols = 8
)

// pack writes the packing of rows and its reverse. The last columns may overlap those before.
func (s *solver) pack() {
	kind := fmt.Sprint(8 * s.size)
	s.beginPack(packRows, packCols)
	s.free = vectorRegisters(s.lanes)
	c := s.startColumns(packRows, packCols)
	diag, l1, array := s.arg("diag"), s.GP64(), s.arg("array")
	rows := [2]reg.Register{s.GP64(), s.GP64()}
	c.blocks(func() {
		s.MOVQ(s.mem("h"), rows[0])
		s.MOVQ(s.mem("ah"), rows[1])
		s.MOVQ(s.mem("l1"), l1)
	}, []reg.Register{rows[0], rows[1], l1}, func(at reg.Register) {
		for half := range packRows / 4 {
			s.scope(func() {
				p := s.reg()
				s.VMOVUPD(operand.Mem{Base: diag, Disp: 32 * half}, p)
				var v [2][]reg.Register // the four columns of h and of A·H
				for k, row := range rows {
					first := row
					if half > 0 {
						first = s.GP64()
						s.LEAQ(operand.Mem{Base: row, Index: c.row, Scale: 4}, first)
					}
					v[k] = c.load(first)
				}
				for k := range 4 {
					s.scope(func() {
						w, o, g := s.reg(), v[0][k], v[1][k]
						s.VBROADCASTSD(operand.Mem{Base: l1, Disp: 8 * k}, w)
						s.VSUBPD(w, g, g)
						s.VMULPD(p, o, w) // not fused, as in Go
						s.VSUBPD(w, g, g)
						if s.size == 4 {
							s.VCVTPD2PSY(o, xmm(o))
							s.VCVTPD2PSY(g, xmm(g))
							o, g = xmm(o), xmm(g)
						}
						d := 4 * s.size * half
						s.VMOVUPD(o, operand.Mem{Base: at, Disp: d})
						s.VMOVUPD(o, operand.Mem{Base: at, Index: array, Scale: 1, Disp: d})
						s.VMOVUPD(g, operand.Mem{Base: at, Index: array, Scale: 2, Disp: d})
					})
					s.ADDQ(c.stride, at)
				}
			})
			if half == 0 {
				c.back(at)
			}
		}
	}, func() {
		s.ADDQ(operand.U8(8*packRows), diag)
		c.advance("h")
		c.advance("ah")
	})

	s.begin("unpack"+kind, fmt.Sprintf("func(dst, h *float64, x *float%s, stride, pitch, r, blocks int)", kind),
		fmt.Sprintf("unpack%s%s is unpackRowsGo for %d·blocks rows of r ≥ 4 numbers, pitch apart; stride is the bytes of a", kind, s.name, packRows),
		"coordinate.")
	s.free = vectorRegisters(s.lanes)
	c = s.startColumns(packRows, packCols)
	dst, h := s.GP64(), s.GP64()
	c.blocks(func() {
		s.MOVQ(s.mem("dst"), dst)
		s.MOVQ(s.mem("h"), h)
	}, []reg.Register{dst, h}, func(at reg.Register) {
		for half := range packRows / 4 {
			s.scope(func() {
				v := s.regs(4)
				for k := range v {
					d := 4 * s.size * half
					if s.size == 8 {
						s.VMOVUPD(operand.Mem{Base: at, Disp: d}, v[k])
					} else {
						s.VCVTPS2PD(operand.Mem{Base: at, Disp: d}, v[k])
					}
					s.ADDQ(c.stride, at)
				}
				to, from := dst, h
				if half > 0 {
					to, from = s.GP64(), s.GP64()
					s.LEAQ(operand.Mem{Base: dst, Index: c.row, Scale: 4}, to)
					s.LEAQ(operand.Mem{Base: h, Index: c.row, Scale: 4}, from)
				}
				c.storeLess(v, from, to)
			})
			if half == 0 {
				c.back(at)
			}
		}
	}, func() {
		c.advance("dst")
		c.advance("h")
	})
}

// beginPack begins the function that packs the given numbers of rows and columns at a time.
func (s *solver) beginPack(rows, cols int) {
	kind := fmt.Sprint(8 * s.size)
	s.begin("pack"+kind, fmt.Sprintf("func(x *float%s, stride, array int, h, ah *float64, pitch, r int, diag, l1 *float64, blocks int)", kind),
		fmt.Sprintf("pack%s%s lays out %d·blocks rows of r ≥ %d numbers, pitch apart, as packRowsGo does, except for diag. stride is the", kind, s.name, rows, cols),
		"bytes of a coordinate, array those of all coordinates.")
}

// packWide writes the packing of rows, a vector of them at a time.
func (s *solver) packWide() {
	s.beginPack(s.width, wideCols)
	s.free = vectorRegisters(s.lanes)
	c := s.startColumns(s.width, wideCols)
	diag, l1, array := s.arg("diag"), s.GP64(), s.arg("array")
	h, ah := s.GP64(), s.GP64()
	c.blocks(func() {
		s.MOVQ(s.mem("h"), h)
		s.MOVQ(s.mem("ah"), ah)
		s.MOVQ(s.mem("l1"), l1)
	}, []reg.Register{h, ah, l1}, func(at reg.Register) {
		// columns returns, by columns, the vectors that number sets v to for each row.
		columns := func(number func(row int, h, ah operand.Mem, v reg.Register)) []reg.Register {
			v := s.regs(c.rows)
			for first := 0; first < c.rows; first += 4 {
				hp, ahp := s.GP64(), s.GP64()
				s.MOVQ(h, hp)
				s.MOVQ(ah, ahp)
				for range first / 4 {
					s.LEAQ(operand.Mem{Base: hp, Index: c.row, Scale: 4}, hp)
					s.LEAQ(operand.Mem{Base: ahp, Index: c.row, Scale: 4}, ahp)
				}
				for k := range 4 {
					number(first+k, c.at(hp, k), c.at(ahp, k), v[first+k])
				}
			}
			return c.byColumns(v)
		}
		store := func(v []reg.Register, to ...operand.Mem) {
			p := s.GP64()
			s.MOVQ(at, p)
			for k := range v {
				for _, m := range to {
					m.Base = p
					s.VMOVUPD(v[k], m)
				}
				s.ADDQ(c.stride, p)
			}
		}
		s.scope(func() {
			v := columns(func(_ int, h, _ operand.Mem, v reg.Register) { s.VMOVUPD(h, v) })
			store(v, operand.Mem{}, operand.Mem{Index: array, Scale: 1})
		})
		s.scope(func() {
			w, t := s.reg(), s.reg()
			s.VMOVUPD(operand.Mem{Base: l1}, w)
			v := columns(func(row int, h, ah operand.Mem, v reg.Register) {
				s.VBROADCASTSD(operand.Mem{Base: diag, Disp: 8 * row}, t)
				s.VMULPD(h, t, t) // not fused, as in Go
				s.VMOVUPD(ah, v)
				s.VSUBPD(w, v, v)
				s.VSUBPD(t, v, v)
			})
			store(v, operand.Mem{Index: array, Scale: 2})
		})
		s.LEAQ(operand.Mem{Base: at, Index: c.stride, Scale: 8}, at)
	}, func() {
		s.ADDQ(operand.U8(8*c.rows), diag)
		c.advance("h")
		c.advance("ah")
	})
}

// columns writes loops over rows in memory, some rows at a time, and inside them over some columns at a time.
type columns struct {
	*solver
	rows, cols           int
	stride, r, row, row3 reg.Register // row is the bytes from a row to the next, row3 those to the third after it
}

func (s *solver) startColumns(rows, cols int) *columns {
	c := &columns{solver: s, rows: rows, cols: cols, stride: s.arg("stride"), r: s.arg("r"), row: s.GP64(), row3: s.GP64()}
	s.MOVQ(s.mem("pitch"), c.row)
	s.SHLQ(operand.U8(3), c.row)
	s.LEAQ(operand.Mem{Base: c.row, Index: c.row, Scale: 2}, c.row3)
	return c
}

// blocks writes the loops, up to the function's end. begin sets pointers to a block's first column. some does
// cols columns, with at pointing to the place of the first in x, and advances at to that of the next. end
// goes on to the next block.
func (c *columns) blocks(begin func(), pointers []reg.Register, some func(at reg.Register), end func()) {
	at, left := c.GP64(), c.GP64()
	block, next, last := c.label("block"), c.label("some"), c.label("last")
	c.Label(block)
	begin()
	c.MOVQ(c.mem("x"), at)
	c.MOVQ(c.r, left)
	c.Label(next)
	some(at)
	for _, p := range pointers {
		c.ADDQ(operand.U8(8*c.cols), p)
	}
	c.SUBQ(operand.U8(c.cols), left)
	c.CMPQ(left, operand.U8(c.cols))
	c.JGE(operand.LabelRef(next))
	c.TESTQ(left, left)
	c.JEQ(operand.LabelRef(last))
	c.SUBQ(operand.U8(c.cols), left) // go back so far that cols columns are left
	for _, p := range pointers {
		c.LEAQ(operand.Mem{Base: p, Index: left, Scale: 8}, p)
	}
	c.IMULQ(c.stride, left)
	c.ADDQ(left, at)
	c.MOVQ(operand.U32(c.cols), left)
	c.JMP(operand.LabelRef(next))
	c.Label(last)
	c.ADDQ(operand.U8(c.rows*c.size), c.mem("x"))
	end()
	c.DECQ(c.mem("blocks"))
	c.JNE(operand.LabelRef(block))
	c.end(nil)
}

// back moves at back by four coordinates.
func (c *columns) back(at reg.Register) {
	for range 4 {
		c.SUBQ(c.stride, at)
	}
}

// advance moves an argument on to the next block.
func (c *columns) advance(rows string) {
	t := c.GP64()
	c.MOVQ(c.row, t)
	c.SHLQ(c.shift(c.rows), t)
	c.ADDQ(t, c.mem(rows))
}

// at returns where row k of four is, the first of which is at p.
func (c *columns) at(p reg.Register, k int) operand.Mem {
	switch k {
	case 1, 2:
		return operand.Mem{Base: p, Index: c.row, Scale: uint8(k)}
	case 3:
		return operand.Mem{Base: p, Index: c.row3, Scale: 1}
	}
	return operand.Mem{Base: p}
}

// load returns four numbers of each of the four rows at p, by columns.
func (c *columns) load(p reg.Register) []reg.Register {
	v := c.regs(4)
	c.scope(func() {
		rows := c.regs(2)
		for pair := range 2 {
			for k, row := range rows { // rows k and k+2 in the halves
				lo, hi := c.at(p, k), c.at(p, k+2)
				lo.Disp, hi.Disp = 16*pair, 16*pair
				c.VMOVUPD(lo, xmm(row))
				c.VINSERTF128(operand.U8(1), hi, row, row)
			}
			c.VUNPCKLPD(rows[1], rows[0], v[2*pair])
			c.VUNPCKHPD(rows[1], rows[0], v[2*pair+1])
		}
	})
	return v
}

// storeLess is the reverse of load: it stores v less what is at less. v is lost.
func (c *columns) storeLess(v []reg.Register, less, p reg.Register) {
	t := c.regs(4)
	for k := range 2 {
		c.VUNPCKLPD(v[2*k+1], v[2*k], t[2*k])
		c.VUNPCKHPD(v[2*k+1], v[2*k], t[2*k+1])
	}
	for k := range 4 {
		half := operand.U8(0x20 + 0x11*(k/2))
		c.VPERM2F128(half, t[2+k%2], t[k%2], v[k])
		c.VSUBPD(c.at(less, k), v[k], v[k])
		c.VMOVUPD(v[k], c.at(p, k))
	}
}

// byColumns returns wideCols vectors, by columns, given one vector for each row. The latter are lost.
func (c *columns) byColumns(v []reg.Register) []reg.Register {
	const even, odd = 0x88, 0xdd // of the quarters of two vectors
	t := c.regs(wideCols)
	if c.size == 8 {
		for k := 0; k < 8; k += 2 { // rows k and k+1: columns 0, 2, 4, 6, and 1, 3, 5, 7
			c.VUNPCKLPD(v[k+1], v[k], t[k])
			c.VUNPCKHPD(v[k+1], v[k], t[k+1])
		}
		for k := range 2 {
			for half := 0; half < 8; half += 4 { // rows 0 to 3, or 4 to 7: columns k and k+4, and k+2 and k+6
				c.VSHUFF64X2(operand.U8(even), t[half+2+k], t[half+k], v[half+k])
				c.VSHUFF64X2(operand.U8(odd), t[half+2+k], t[half+k], v[half+2+k])
			}
		}
		for k := range 4 {
			c.VSHUFF64X2(operand.U8(even), v[4+k], v[k], t[k])
			c.VSHUFF64X2(operand.U8(odd), v[4+k], v[k], t[4+k])
		}
		return t
	}
	for half := range 2 { // of float32 rows k and k+4, or k+8 and k+12, are the halves of one vector
		for k := range 4 {
			a, b := v[8*half+k], v[8*half+4+k]
			c.VCVTPD2PS(a, ymm(a))
			c.VCVTPD2PS(b, ymm(b))
			c.VINSERTF64X4(operand.U8(1), ymm(b), a, v[4*half+k])
		}
	}
	for half := 0; half < 8; half += 4 { // four rows in each quarter: column k, or k+4 in the odd ones
		a, b, d := v[half:], v[8:], t[half:]
		for k := 0; k < 4; k += 2 {
			c.VUNPCKLPS(a[k+1], a[k], b[k])
			c.VUNPCKHPS(a[k+1], a[k], b[k+1])
		}
		for k := range 2 {
			c.VUNPCKLPD(b[2+k], b[k], d[2*k])
			c.VUNPCKHPD(b[2+k], b[k], d[2*k+1])
		}
	}
	for k := range 4 {
		c.VSHUFF64X2(operand.U8(even), t[4+k], t[k], v[k])
		c.VSHUFF64X2(operand.U8(odd), t[4+k], t[k], v[4+k])
	}
	return v[:wideCols]
}

func xmm(v reg.Register) reg.Register { return v.(reg.Vec).AsX() }
func ymm(v reg.Register) reg.Register { return v.(reg.Vec).AsY() }
func zmm(v reg.Register) reg.Register { return v.(reg.Vec).AsZ() }
