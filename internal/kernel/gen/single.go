package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tileSingle writes c[i][k] += alpha·Σ_l a[i][l]·x[l][k] with sums of float32, for a tile of the usual
// height. Each sum is one chain of fused multiply–adds in order of l, from zero. At the end it is widened,
// and alpha times it is added to c, which is fused too.
func (a *asm) tileSingle() {
	height, lanes := tileRowsAVX2, 2*a.lanes
	if a.lanes == 8 {
		height = tileRowsAVX512
	}
	a.begin("tileSingle", "func(c *float64, alpha float64, a, x *float32, n, w, cstride, arow, xstride, ahead int)",
		fmt.Sprintf("tileSingle%s adds alpha·Σ_l a[i·arow/4 + l]·x[l·xstride/4 + k] to c[i·cstride/8 + k] for 0 ≤ i < %d and 1 ≤ w ≤ %d", a.name, height, tileVecs*lanes),
		"columns k, with 0 ≤ l < n and n ≥ 1. In tileSingleAVX2 w is a multiple of 4. It reads whole vectors of x, and fetches\n// what lies ahead bytes further on in the rows of a. Strides are in bytes.")
	t := &tileKernel{asm: a, size: single.size, rows: height}
	t.c, t.a, t.next, t.arow, t.w = a.arg("c"), a.arg("a"), a.GP64(), a.arg("arow"), a.arg("w")
	x, n, xstride, ahead := a.arg("x"), a.arg("n"), a.arg("xstride"), a.arg("ahead")
	t.findRows()
	a.LEAQ(operand.Mem{Base: t.a, Index: t.arow, Scale: 4}, t.next)
	for vecs := 1; vecs <= tileVecs; vecs++ {
		above := a.label("above")
		if vecs < tileVecs {
			a.CMPQ(t.w, operand.U32(vecs*lanes))
			a.JGT(operand.LabelRef(above))
		}
		acc := make([][]reg.VecVirtual, height)
		for i := range acc {
			acc[i] = a.zeros(vecs)
		}
		step := func(s int) {
			v := make([]reg.VecVirtual, vecs)
			for k := range v {
				v[k] = a.vec()
				a.VMOVUPS(operand.Mem{Base: x, Disp: single.size * lanes * k}, v[k])
			}
			a.ADDQ(xstride, x)
			for i, sums := range acc {
				f, m := a.vec(), t.row[i]
				m.Disp += single.size * s
				a.VBROADCASTSS(m, f)
				for k, sum := range sums {
					a.VFMADD231PS(v[k], f, sum)
				}
			}
		}
		// What lies ahead in a row is fetched once a turn, which takes half as many numbers as a line has, or
		// fewer.
		fetch := func(i int) {
			from := a.GP64()
			a.LEAQ(t.row[i], from)
			a.PREFETCHT1(operand.Mem{Base: from, Index: ahead, Scale: 1})
		}
		for _, steps := range []int{height, 1} {
			loop, rest := a.label("loop"), a.label("rest")
			a.SUBQ(operand.U8(steps), n)
			a.JLT(operand.LabelRef(rest))
			a.Label(loop)
			for s := range steps {
				if steps > 1 {
					fetch(s)
				}
				step(s)
			}
			for _, base := range t.bases {
				a.ADDQ(operand.I32(single.size*steps), base)
			}
			a.SUBQ(operand.U8(steps), n)
			a.JGE(operand.LabelRef(loop))
			a.Label(rest)
			a.ADDQ(operand.U8(steps), n)
		}
		t.addSingles(vecs, acc)
		a.Label(above)
	}
}

// addSingles adds alpha times the sums of float32 to w columns of c, and returns.
func (t *tileKernel) addSingles(vecs int, acc [][]reg.VecVirtual) {
	a, c, w, cstride, alpha := t.asm, t.c, t.w, t.arg("cstride"), t.vec()
	a.VBROADCASTSD(a.mem("alpha"), alpha)
	add := func(sum reg.Register, at int, mask reg.Register) {
		m, wide := operand.Mem{Base: c, Disp: double.size * at}, a.vec()
		a.VCVTPS2PD(sum, wide)
		if mask == nil {
			a.VFMADD213PD(m, alpha, wide)
			a.VMOVUPD(wide, m)
		} else {
			a.VFMADD213PD(m, alpha, mask, wide)
			a.VMOVUPD(wide, mask, m)
		}
	}
	// addAll adds all numbers, those of the upper halves of the last vectors only if upper. masks are for the
	// two halves of the last vectors.
	addAll := func(upper bool, masks [2]reg.Register) {
		for _, sums := range acc {
			for v, sum := range sums {
				half, of := a.YMM(), [2]reg.Register{}
				if v == vecs-1 {
					of = masks
				}
				if upper || v < vecs-1 {
					if a.lanes == 8 {
						a.VEXTRACTF64X4(operand.U8(1), sum, half)
					} else {
						a.VEXTRACTF128(operand.U8(1), sum, half.AsX())
					}
				}
				add(part(sum, a.lanes/2), 2*a.lanes*v, of[0])
				if upper || v < vecs-1 {
					add(part(half, a.lanes/2), 2*a.lanes*v+a.lanes, of[1])
				}
			}
			a.ADDQ(cstride, c)
		}
		a.end(nil)
	}
	if a.lanes == 8 {
		low, high, bits := a.K(), a.K(), a.GP32()
		a.MOVL(w.(reg.GPVirtual).As32(), reg.ECX)
		a.NEGL(reg.ECX)
		a.ANDL(operand.U8(15), reg.ECX)
		a.MOVL(operand.U32(1<<16-1), bits)
		a.SHRL(reg.CL, bits)
		a.KMOVW(bits, low)
		a.SHRL(operand.U8(8), bits)
		a.KMOVW(bits, high)
		addAll(true, [2]reg.Register{low, high})
		return
	}
	narrow := a.label("narrow")
	a.CMPQ(w, operand.U32(8*vecs-4))
	a.JLE(operand.LabelRef(narrow))
	addAll(true, [2]reg.Register{})
	a.Label(narrow)
	addAll(false, [2]reg.Register{})
}
