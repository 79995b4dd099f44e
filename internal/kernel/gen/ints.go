package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A tile of inner products of whole numbers: as many rows, and at most so many vectors of columns.
const (
	intRowsAVX2   = 4
	intVecsAVX2   = 2
	intRowsAVX512 = 8
	intVecsAVX512 = 3
)

// intKernels writes what goes into ints_amd64.s.
func (a *asm) intKernels() {
	if a.lanes == 4 {
		a.packInts()
	}
	a.gramInts()
}

// intConsts tells package kernel the shapes.
var intConsts = fmt.Sprintf(`
// Rows and most columns of a tile of whole numbers, and the columns of a vector.
const (
	intRowsAVX2    = %d
	intColsAVX2    = %d
	intLanesAVX2   = %d
	intRowsAVX512  = %d
	intColsAVX512  = %d
	intLanesAVX512 = %d
)
`, intRowsAVX2, intVecsAVX2*2*lanesAVX2, 2*lanesAVX2, intRowsAVX512, intVecsAVX512*2*lanesAVX512, 2*lanesAVX512)

// gramInts writes t[i][k] = Σ_l of the products of both halves of x[l][i] and x[l][j+k]: of 32 bits, where 32 lanes of 16 bits and one
// instruction, or 16 and two, do what a vector of float64 does for 8.
func (a *asm) gramInts() {
	rows, most := intRowsAVX2, intVecsAVX2
	if a.lanes == 8 {
		rows, most = intRowsAVX512, intVecsAVX512
	}
	columns := 2 * a.lanes // of a vector
	a.begin("gramInts", "func(t, a, x *int32, n, w, stride int)",
		fmt.Sprintf("gramInts%s sets t[i·%d + k] to Σ_l of the products of the halves of a[l·stride/4 + i] and x[l·stride/4 + k], 0 ≤ i < %d, 0 ≤ k < w, 0 ≤ l < n,", a.name, most*columns, rows),
		fmt.Sprintf("with n ≥ 1 and w = %d, …, %d a multiple of %d. stride is in bytes.", columns, most*columns, columns))
	t, left, x, n, stride := a.arg("t"), a.arg("a"), a.arg("x"), a.arg("n"), a.arg("stride")
	w := a.arg("w")
	a.SHRQ(operand.U8(1), w) // choose counts in numbers of float64
	a.choose(w, 1, most, func(vecs int) {
		acc := make([][]reg.VecVirtual, rows)
		for i := range acc {
			acc[i] = a.zeros(vecs)
		}
		loop := a.label("loop")
		a.Label(loop)
		v := make([]reg.VecVirtual, vecs)
		for k := range v {
			v[k] = a.vec()
			a.load(at(x, a.lanes*k), v[k], a.lanes)
		}
		for i, sums := range acc {
			f := a.vec()
			a.VPBROADCASTD(operand.Mem{Base: left, Disp: 4 * i}, f)
			for k, sum := range sums {
				if a.lanes == 8 {
					a.VPDPWSSD(v[k], f, sum)
				} else {
					p := a.vec()
					a.VPMADDWD(v[k], f, p)
					a.VPADDD(p, sum, sum)
				}
			}
		}
		a.ADDQ(stride, left)
		a.ADDQ(stride, x)
		a.DECQ(n)
		a.JNE(operand.LabelRef(loop))
		for i, sums := range acc {
			for k, sum := range sums {
				a.store(sum, at(t, a.lanes*(i*most+k)), a.lanes)
			}
		}
		a.end(nil)
	})
}

// packInts writes the whole numbers c·u and c·v, 16 bits each, side by side, and finds out whether they are whole.
func (a *asm) packInts() {
	a.begin("packInts", "func(dst *int32, u, v *float64, c float64, n int) (differ, bits uint64)",
		"packInts"+a.name+" is packIntsGo for n = 4, 8, …; differ is 0 if all are whole numbers of 32 bits, and bits what their magnitudes have together.")
	dst, n := a.arg("dst"), a.arg("n")
	from := []reg.Register{a.arg("u"), a.arg("v")}
	c, differ, bits := a.vec(), a.zeros(1)[0], a.XMM()
	a.VBROADCASTSD(a.mem("c"), c)
	a.VPXOR(bits, bits, bits)
	loop := a.label("loop")
	a.Label(loop)
	var whole []reg.VecVirtual
	for _, p := range from {
		x, back, k, size := a.vec(), a.vec(), a.XMM(), a.XMM()
		a.VMULPD(operand.Mem{Base: p}, c, x)
		a.VCVTTPD2DQY(x, k)
		a.VCVTDQ2PD(k, back)
		a.VSUBPD(x, back, back)
		a.VORPD(back, differ, differ)
		a.VPABSD(k, size)
		a.VPOR(size, bits, bits)
		a.ADDQ(operand.U8(32), p)
		whole = append(whole, k)
	}
	a.VPSLLD(operand.U8(16), whole[1], whole[1])
	a.VPBLENDW(operand.U8(0xaa), whole[1], whole[0], whole[0])
	a.VMOVDQU(whole[0], operand.Mem{Base: dst})
	a.ADDQ(operand.U8(16), dst)
	a.SUBQ(operand.U8(4), n)
	a.JNE(operand.LabelRef(loop))
	for k, v := range []reg.VecVirtual{differ, bits} {
		low, high, half := a.GP64(), a.GP64(), a.XMM()
		if k == 0 {
			a.VEXTRACTF128(operand.U8(1), v, half)
			a.VPOR(v.AsX(), half, half)
			v = half
		}
		a.VMOVQ(v.AsX(), low)
		a.VPEXTRQ(operand.U8(1), v.AsX(), high)
		a.ORQ(high, low)
		a.Store(low, a.ReturnIndex(k))
	}
	a.end(nil)
}
