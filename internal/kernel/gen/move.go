package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// advance writes x = max(0, x + t·d), d = how far that is, and the sum of d·(x − last). Memory is the limit, so that wider
// vectors would gain nothing.
func (a *asm) advance() {
	a.begin("advance", "func(x, d *float64, t float64, last *float64, n int) (along float64, cut int)",
		"advance"+a.name+" is advanceGo; cut is not 0 if zero has stopped any.")
	x, d, last, n := a.arg("x"), a.arg("d"), a.arg("last"), a.arg("n")
	t := a.vec()
	a.VBROADCASTSD(a.mem("t"), t)
	zero, signs := a.zeros(1)[0], a.zeros(1)[0]
	acc := a.zeros(unroll)
	a.steps(n, []reg.Register{x, d, last}, func(lanes []int) {
		for i, l := range lanes {
			y, e, v, p := a.vec(), a.vec(), a.vec(), a.vec()
			a.load(at(d, i*a.lanes), e, l)
			a.load(at(x, i*a.lanes), y, l)
			a.VMULPD(t, e, e)
			a.VADDPD(e, y, v)
			a.VORPD(v, signs, signs)
			a.VSUBPD(y, zero, y)
			a.VBLENDVPD(v, y, e, e) // where v has the sign
			a.VMAXPD(zero, v, v)
			a.load(at(last, i*a.lanes), p, l)
			a.VSUBPD(p, v, p)
			a.VFMADD231PD(p, e, acc[i])
			a.store(v, at(x, i*a.lanes), l)
			a.store(e, at(d, i*a.lanes), l)
		}
	})
	cut := a.GP64()
	a.VMOVMSKPD(signs, cut.As32())
	a.Store(cut, a.ReturnIndex(1))
	a.end(a.sum(acc))
}

// extrapolate writes x + c·(x − last), and last = x.
func (a *asm) extrapolate() {
	a.begin("extrapolate", "func(x *float64, c float64, last *float64, n int)", "extrapolate"+a.name+" is extrapolateGo.")
	x, last, n := a.arg("x"), a.arg("last"), a.arg("n")
	c := a.vec()
	a.VBROADCASTSD(a.mem("c"), c)
	a.steps(n, []reg.Register{x, last}, func(lanes []int) {
		for i, l := range lanes {
			v, p := a.vec(), a.vec()
			a.load(at(x, i*a.lanes), v, l)
			a.load(at(last, i*a.lanes), p, l)
			a.VSUBPD(p, v, p)
			a.VMULPD(c, p, p)
			a.VADDPD(p, v, p)
			a.store(p, at(x, i*a.lanes), l)
			a.store(v, at(last, i*a.lanes), l)
		}
	})
	a.end(nil)
}

// addGathered writes z[at[k]] += Σ_p val[p]·x[idx[p]] for w columns, a row of z in registers at a time. Rows have few terms, so
// that memory is the limit here too.
func (a *asm) addGathered() {
	a.begin("addGathered", "func(z *float64, w int, at, from *int32, count int, idx *int32, val, x *float64, stride, limitZ, limitX int) bool",
		fmt.Sprintf("addGathered%s adds Σ_p val[p]·x[idx[p]·stride/8 + j] to z[at[k]·stride/8 + j] for 0 ≤ k < count, %d ≤ w ≤ %d", a.name, a.leastColumns(), a.rowVecs*a.lanes),
		"columns j and from[k+1] − from[k] values of p, going on from k to k. stride and limits are in bytes: it returns",
		"false at an index that is negative or too large.")
	r := &rowKernel{asm: a, source: gather}
	z, from, places := a.arg("z"), a.arg("from"), a.arg("at")
	r.w, r.x, r.stride, r.idx, r.val = a.arg("w"), a.arg("x"), a.arg("stride"), a.arg("idx"), a.arg("val")
	r.bad = a.label("bad")
	a.choose(r.w, 1, a.rowVecs, func(vecs int) {
		acc := make([]reg.VecVirtual, vecs)
		for v := range acc {
			acc[v] = a.vec()
		}
		next, loop, store, done := a.label("next"), a.label("loop"), a.label("store"), a.label("done")
		row, n := a.GP64(), a.GP32()
		a.Label(next)
		a.SUBQ(operand.U8(1), a.mem("count"))
		a.JLT(operand.LabelRef(done))
		a.MOVLQSX(operand.Mem{Base: places}, row)
		a.ADDQ(operand.U8(4), places)
		a.IMULQ(r.stride, row)
		a.CMPQ(row, a.mem("limitZ"))
		a.JHI(operand.LabelRef(r.bad))
		a.ADDQ(z, row)
		for v := range acc {
			a.VMOVUPD(a.vecAt(row, r.w, v, vecs), acc[v])
		}
		a.MOVL(operand.Mem{Base: from, Disp: 4}, n)
		a.SUBL(operand.Mem{Base: from}, n)
		a.ADDQ(operand.U8(4), from)
		a.Label(loop)
		a.SUBL(operand.U8(1), n)
		a.JLT(operand.LabelRef(store))
		xrow, c := a.GP64(), a.vec()
		a.MOVLQSX(operand.Mem{Base: r.idx}, xrow)
		a.IMULQ(r.stride, xrow)
		a.CMPQ(xrow, a.mem("limitX"))
		a.JHI(operand.LabelRef(r.bad))
		a.ADDQ(r.x, xrow)
		a.VBROADCASTSD(operand.Mem{Base: r.val}, c)
		for v := range acc {
			a.VFMADD231PD(a.vecAt(xrow, r.w, v, vecs), c, acc[v])
		}
		a.ADDQ(operand.U8(4), r.idx)
		a.ADDQ(operand.U8(8), r.val)
		a.JMP(operand.LabelRef(loop))
		a.Label(store)
		for v := range acc {
			a.VMOVUPD(acc[v], a.vecAt(row, r.w, v, vecs))
		}
		a.JMP(operand.LabelRef(next))
		a.Label(done)
		yes := a.GP8()
		a.MOVB(operand.U8(1), yes)
		a.end(yes)
	})
	a.Label(r.bad)
	no := a.GP8()
	a.XORB(no, no)
	a.end(no)
}
