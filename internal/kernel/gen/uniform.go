package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// uniform writes numbers made of kernel.Mix, for several vectors at a time, of which one can go on while others
// wait for products.
//
// AVX2 does not convert integers of 64 bits. So each half of an integer becomes the last bits of a large number:
// lower and upper hold such numbers without these bits, and base is their sum. From upper with the upper half,
// base is subtracted exactly, and the sum with the lower half is rounded once.
func (a *asm) uniform() {
	a.begin("uniform", "func(dst *float64, n int, key, first uint64, form *[4]uint64)",
		fmt.Sprintf("uniform%s sets n numbers, n a multiple of %d, as Uniform or Centered does, whose form is given.", a.name, a.lanes))
	dst, n, form := a.arg("dst"), a.arg("n"), a.arg("form")
	h := &hashKernel{asm: a, step: factor{whole: a.copies(mixStep)}, first: a.factor(mixFirst), second: a.factor(mixSecond)}
	k, lanes, key := a.vec(), a.copies(uint64(a.lanes)), a.vec()
	order, first := a.GP64(), a.vec()
	a.MOVQ(operand.U64(0x0706050403020100), order)
	a.VMOVQ(order, k.AsX())
	a.VPMOVZXBQ(k.AsX(), k)
	a.VPBROADCASTQ(a.mem("first"), first)
	a.VPADDQ(first, k, k)
	a.VPBROADCASTQ(a.mem("key"), key)
	drop := a.XMM()
	a.VMOVQ(at(form, 0), drop)
	vectors := 2
	var odd reg.Register
	if a.lanes == 8 {
		vectors = 4
		bits := a.GP32()
		odd = a.K()
		a.MOVL(operand.U32(0xaaaa), bits)
		a.KMOVW(bits, odd)
	}
	for _, count := range []int{vectors, 1} {
		loop, rest := a.label("loop"), a.label("rest")
		a.Label(loop)
		a.SUBQ(operand.U8(count*a.lanes), n)
		a.JLT(operand.LabelRef(rest))
		x := make([]reg.VecVirtual, count)
		for i := range x {
			x[i] = a.vec()
			a.VMOVUPD(k, x[i])
			a.VPADDQ(lanes, k, k)
		}
		h.mix(x...)
		for _, v := range x {
			h.xor(key, v)
		}
		h.mix(x...)
		lower, upper, base := a.vec(), a.vec(), a.vec() // AVX2 has no registers to keep them in
		a.VPBROADCASTQ(at(form, 1), lower)
		a.VPBROADCASTQ(at(form, 2), upper)
		a.VPBROADCASTQ(at(form, 3), base)
		for i, v := range x {
			t := a.vec()
			a.VPSRLQ(drop, v, v)
			a.VPSRLQ(operand.U8(32), v, t)
			if a.lanes == 8 {
				a.VMOVDQA32(lower, odd, v)
			} else {
				a.VPBLENDD(operand.U8(0xaa), lower, v, v)
			}
			h.xor(upper, t)
			a.VSUBPD(base, t, t)
			a.VADDPD(v, t, v)
			a.VMOVUPD(v, at(dst, i*a.lanes))
		}
		a.ADDQ(operand.I32(8*a.lanes*count), dst)
		a.JMP(operand.LabelRef(loop))
		a.Label(rest)
		a.ADDQ(operand.U8(count*a.lanes), n)
	}
	a.end(nil)
}

// copies returns c in all lanes.
func (a *asm) copies(c uint64) reg.VecVirtual {
	v, bits := a.vec(), a.GP64()
	a.MOVQ(operand.U64(c), bits)
	a.VMOVQ(bits, v.AsX())
	a.VPBROADCASTQ(v.AsX(), v)
	return v
}

// mix writes x = kernel.Mix(x), for vectors that take turns.
func (h *hashKernel) mix(x ...reg.VecVirtual) {
	each := func(f func(v reg.VecVirtual)) {
		for _, v := range x {
			f(v)
		}
	}
	fold := func(bits int) { each(func(v reg.VecVirtual) { h.fold(v, h.vec(), bits) }) }
	times := func(c factor) { each(func(v reg.VecVirtual) { h.times(v, c) }) }
	each(func(v reg.VecVirtual) { h.VPADDQ(h.step.whole, v, v) })
	fold(30)
	times(h.first)
	fold(27)
	times(h.second)
	fold(31)
}
