package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The constants of kernel.Mix.
const (
	mixStep   = 0x9e3779b97f4a7c15
	mixFirst  = 0xbf58476d1ce4e5b9
	mixSecond = 0x94d049bb133111eb
)

// hashSum writes the sum of the hashes of entries, one vector of entries at a time.
func (a *asm) hashSum() {
	a.begin("hashSum", "func(first uint64, shift int, col *int32, val *float64, n int) uint64",
		fmt.Sprintf("hashSum%s is hashSumGo for n entries, n a positive multiple of %d. If val is nil, no values are hashed.", a.name, a.lanes))
	col, val, n := a.arg("col"), a.arg("val"), a.arg("n")
	h := &hashKernel{asm: a, step: a.factor(mixStep), first: a.factor(mixFirst), second: a.factor(mixSecond), base: a.vec(), shift: a.XMM(), sum: a.zeros(1)[0]}
	a.VPBROADCASTQ(a.mem("first"), h.base)
	a.VMOVQ(a.mem("shift"), h.shift)
	done := a.label("done")
	each := func(values bool) {
		loop := a.label("loop")
		a.Label(loop)
		h.entries(col, val, values)
		a.ADDQ(operand.U8(4*a.lanes), col)
		if values {
			a.ADDQ(operand.U8(8*a.lanes), val)
		}
		a.SUBQ(operand.U8(a.lanes), n)
		a.JNE(operand.LabelRef(loop))
	}
	ones := a.label("ones")
	a.TESTQ(val, val)
	a.JEQ(operand.LabelRef(ones))
	each(true)
	a.JMP(operand.LabelRef(done))
	a.Label(ones)
	each(false)
	a.Label(done)
	half, result := a.YMM(), a.GP64()
	low, x, y := h.sum.AsY(), h.sum.AsX(), half.AsX()
	if a.lanes == 8 {
		a.VEXTRACTI64X4(operand.U8(1), h.sum, half)
		a.VPADDQ(half, low, low)
	}
	a.VEXTRACTI128(operand.U8(1), low, y)
	a.VPADDQ(y, x, x)
	a.VPSRLDQ(operand.U8(8), x, y)
	a.VPADDQ(y, x, x)
	a.VMOVQ(x, result)
	a.end(result)
}

// hashKernel is what the code of hashSum shares.
type hashKernel struct {
	*asm
	step, first, second factor
	base                reg.VecVirtual
	shift               reg.VecVirtual // in the lower half
	sum                 reg.VecVirtual
}

// factor is a constant in all lanes, and the upper half of the constant.
type factor struct{ whole, high reg.VecVirtual }

func (a *asm) factor(c uint64) factor {
	f, bits := factor{a.vec(), a.vec()}, a.GP64()
	a.MOVQ(operand.U64(c), bits)
	a.VMOVQ(bits, f.whole.AsX())
	a.VPBROADCASTQ(f.whole.AsX(), f.whole)
	a.VPSRLQ(operand.U8(32), f.whole, f.high)
	return f
}

// entries adds the hashes of a vector of entries.
func (h *hashKernel) entries(col, val reg.Register, values bool) {
	x, t := h.vec(), h.vec()
	h.VPMOVSXDQ(operand.Mem{Base: col}, x)
	h.VPSLLQ(h.shift, x, x)
	h.or(h.base, x)
	if values {
		v := h.vec()
		h.load(operand.Mem{Base: val}, v, h.lanes)
		h.fold(v, t, 32)
		h.times(v, h.step)
		h.xor(v, x)
	}
	h.VPADDQ(h.step.whole, x, x)
	h.fold(x, t, 30)
	h.times(x, h.first)
	h.fold(x, t, 27)
	h.times(x, h.second)
	h.fold(x, t, 31)
	h.VPADDQ(x, h.sum, h.sum)
}

// fold writes x ^= x >> bits.
func (h *hashKernel) fold(x, t reg.VecVirtual, bits int) {
	h.VPSRLQ(operand.U8(bits), x, t)
	h.xor(t, x)
}

// times writes x *= c modulo 2⁶⁴, from products of halves: AVX2 and AVX-512F have no product of 64 bits.
func (h *hashKernel) times(x reg.VecVirtual, c factor) {
	upper, cross := h.vec(), h.vec()
	h.VPSRLQ(operand.U8(32), x, upper)
	h.VPMULUDQ(c.whole, upper, upper)
	h.VPMULUDQ(c.high, x, cross)
	h.VPADDQ(cross, upper, upper)
	h.VPSLLQ(operand.U8(32), upper, upper)
	h.VPMULUDQ(c.whole, x, x)
	h.VPADDQ(upper, x, x)
}

func (h *hashKernel) xor(y, x reg.VecVirtual) {
	if h.lanes == 8 {
		h.VPXORQ(y, x, x)
	} else {
		h.VPXOR(y, x, x)
	}
}

func (h *hashKernel) or(y, x reg.VecVirtual) {
	if h.lanes == 8 {
		h.VPORQ(y, x, x)
	} else {
		h.VPOR(y, x, x)
	}
}
