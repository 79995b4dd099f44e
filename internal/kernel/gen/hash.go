package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The constants of kernel.Mix.
const (
	mixStep   = 0x9e3779b97f4a7c15
	mixFirst  = 0xbf58476d1ce4e5b9
	mixSecond = 0x94d049bb133111eb
)

// hashRows writes the sum of the hashes of rows, one vector of a row's entries at a time.
func (a *asm) hashRows() {
	a.begin("hashRows", "func(row int, ptr *int64, col *int32, val *float64, above *int64, rows, entries int) (sum uint64, bad int)",
		"hashRows"+a.name+" is hashRowsGo for rows ≥ 1 and the given number of entries; bad is not 0 if ptr leaves them or decreases.")
	row, ptr, above, rows := a.arg("row"), a.arg("ptr"), a.arg("above"), a.arg("rows")
	h := &hashKernel{
		asm: a, step: a.factor(mixStep), first: a.factor(mixFirst), second: a.factor(mixSecond), row: a.vec(), sum: a.zeros(1)[0],
		col: a.arg("col"), val: a.arg("val"), place: a.GP64(), above: a.GP64(),
	}
	if a.lanes == 4 {
		h.numbers = a.StaticGlobal("hashNumbers")
		a.DataAttributes(attr.RODATA | attr.NOPTR)
		for l := range a.lanes {
			a.AppendDatum(operand.U32(l))
		}
	}
	a.MOVQ(operand.Mem{Base: ptr}, h.place)
	ones, out, bad := a.label("ones"), a.label("out"), a.label("bad")
	each := func(values bool) {
		next, whole, last, done := a.label("row"), a.label("whole"), a.label("last"), a.label("done")
		end, n := a.GP64(), a.GP64()
		a.Label(next)
		a.ADDQ(operand.U8(8), ptr)
		a.MOVQ(operand.Mem{Base: ptr}, end)
		a.CMPQ(h.place, end)
		a.JHI(operand.LabelRef(bad))
		a.CMPQ(end, a.mem("entries"))
		a.JHI(operand.LabelRef(bad))
		a.VMOVQ(row, h.row.AsX())
		a.VPBROADCASTQ(h.row.AsX(), h.row)
		a.MOVQ(end, h.above)
		a.MOVQ(end, n)
		a.SUBQ(h.place, n)
		a.SUBQ(operand.U8(a.lanes), n)
		a.JLT(operand.LabelRef(last))
		a.Label(whole)
		h.entries(nil, values)
		a.ADDQ(operand.U8(a.lanes), h.place)
		a.SUBQ(operand.U8(a.lanes), n)
		a.JGE(operand.LabelRef(whole))
		a.Label(last)
		a.ADDQ(operand.U8(a.lanes), n)
		a.JEQ(operand.LabelRef(done))
		h.entries(h.lanesBelow(n), values)
		a.MOVQ(end, h.place)
		a.Label(done)
		a.MOVQ(h.above, operand.Mem{Base: above})
		a.ADDQ(operand.U8(8), above)
		a.INCQ(row)
		a.DECQ(rows)
		a.JNE(operand.LabelRef(next))
	}
	a.TESTQ(h.val, h.val)
	a.JEQ(operand.LabelRef(ones))
	each(true)
	a.JMP(operand.LabelRef(out))
	a.Label(ones)
	each(false)
	a.Label(out)
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
	none := a.GP64()
	a.XORQ(none, none)
	a.Store(none, a.ReturnIndex(1))
	a.end(result)
	a.Label(bad)
	one := a.GP64()
	a.MOVQ(operand.U64(1), one)
	a.Store(one, a.ReturnIndex(1))
	a.end(nil)
}

// hashKernel is what the code of hashRows shares.
type hashKernel struct {
	*asm
	step, first, second factor
	row                 reg.VecVirtual // the number of the row in all lanes
	numbers             operand.Mem    // of the lanes, with AVX2
	sum                 reg.VecVirtual
	col, val            reg.Register
	place               reg.GPVirtual // of the next entry
	above               reg.GPVirtual // the end of the row less the entries met right of the diagonal
}

// factor is a constant in all lanes, and with AVX2 the upper half of the constant.
type factor struct{ whole, high reg.VecVirtual }

func (a *asm) factor(c uint64) factor {
	f, bits := factor{whole: a.vec()}, a.GP64()
	a.MOVQ(operand.U64(c), bits)
	a.VMOVQ(bits, f.whole.AsX())
	a.VPBROADCASTQ(f.whole.AsX(), f.whole)
	if a.lanes == 4 {
		f.high = a.vec()
		a.VPSRLQ(operand.U8(32), f.whole, f.high)
	}
	return f
}

// entries adds the hashes of the entries in the lanes of mask, nil for all, or subtracts them if they are right
// of the diagonal.
func (h *hashKernel) entries(mask reg.Register, values bool) {
	x, t, v, count := h.vec(), h.vec(), h.vec(), h.GP64()
	if values {
		h.values(mask, v)
		h.fold(v, t, 32)
		h.times(v, h.step)
	}
	h.columns(mask, x)
	left, right := h.compare(h.row, x), h.compare(x, h.row)
	h.VPSLLQ(operand.U8(32), h.row, t)
	h.or(t, x)
	if h.lanes == 8 {
		h.VPRORQ(operand.U8(32), x, right, x)
		h.KMOVW(right, count.As32())
	} else {
		h.VPSHUFD(operand.U8(0xb1), x, t)
		h.VBLENDVPD(right, t, x, x)
		h.VMOVMSKPD(right, count.As32())
	}
	h.POPCNTQ(count, count)
	h.SUBQ(count, h.above)
	if values {
		h.xor(v, x)
	}
	h.mix(x)
	if h.lanes == 8 {
		h.VPADDQ(x, h.sum, left, h.sum)
		h.VPSUBQ(x, h.sum, right, h.sum)
	} else {
		h.VPAND(x, left, left)
		h.VPADDQ(left, h.sum, h.sum)
		h.VPAND(x, right, right)
		h.VPSUBQ(right, h.sum, h.sum)
	}
}

// lanesBelow returns a mask of the first n lanes, 0 < n < h.lanes; with AVX2 each lane has 32 bits.
func (h *hashKernel) lanesBelow(n reg.Register) reg.Register {
	if h.lanes == 8 {
		return h.lastMask(n)
	}
	mask := h.XMM()
	h.VMOVQ(n, mask)
	h.VPBROADCASTD(mask, mask)
	h.VPCMPGTD(h.numbers, mask, mask)
	return mask
}

// columns loads the columns of entries. In lanes outside the mask it puts the number of the row, as if they were on the
// diagonal.
func (h *hashKernel) columns(mask reg.Register, x reg.VecVirtual) {
	from := operand.Mem{Base: h.col, Index: h.place, Scale: 4}
	switch {
	case mask == nil:
		h.VPMOVZXDQ(from, x)
	case h.lanes == 8:
		h.VMOVDQA64(h.row, x)
		h.VPMOVZXDQ(from, mask, x)
	default:
		wide := h.YMM()
		h.VPMASKMOVD(from, mask, x.AsX())
		h.VPMOVZXDQ(x.AsX(), x)
		h.VPMOVSXDQ(mask, wide)
		h.VBLENDVPD(wide, x, h.row, x)
	}
}

// values loads the values of entries. Those outside the mask are 0.
func (h *hashKernel) values(mask reg.Register, v reg.VecVirtual) {
	from := operand.Mem{Base: h.val, Index: h.place, Scale: 8}
	switch {
	case mask == nil:
		h.load(from, v, h.lanes)
	case h.lanes == 8:
		h.VMOVUPD_Z(from, mask, v)
	default:
		h.VPMOVSXDQ(mask, v)
		h.VPMASKMOVQ(from, v, v)
	}
}

// compare returns a mask of the lanes where x > y.
func (h *hashKernel) compare(x, y reg.VecVirtual) reg.Register {
	var mask reg.Register = h.K()
	if h.lanes == 4 {
		mask = h.YMM()
	}
	h.VPCMPGTQ(y, x, mask)
	return mask
}

// fold writes x ^= x >> bits.
func (h *hashKernel) fold(x, t reg.VecVirtual, bits int) {
	h.VPSRLQ(operand.U8(bits), x, t)
	h.xor(t, x)
}

// times writes x *= c modulo 2⁶⁴, with AVX2 from products of halves.
func (h *hashKernel) times(x reg.VecVirtual, c factor) {
	if h.lanes == 8 {
		h.VPMULLQ(c.whole, x, x)
		return
	}
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
