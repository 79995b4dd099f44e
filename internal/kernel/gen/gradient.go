package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gradientStep writes the sums over rows of A·H, H·D and H that measure a gradient.
func (a *asm) gradientStep() {
	a.begin("gradientStep", "func(h, hd, ah *float64, rows, pitch int, l1 *float64, r int, c float64) (stepSq, along float64, empty int)",
		fmt.Sprintf("gradientStep%s is gradientStepGo for rows ≥ 1 rows of r ≥ 1 columns, pitch bytes apart, if no number of h is NaN.", a.name),
		"empty is not 0 if a row of ah is.")
	h, hd, ah, pitch, l1 := a.arg("h"), a.arg("hd"), a.arg("ah"), a.arg("pitch"), a.arg("l1")
	rows, empty := a.arg("rows"), a.GP64()
	a.XORQ(empty, empty)
	c, zero, size := a.vec(), a.zeros(1)[0], a.copies(notSign)
	a.VBROADCASTSD(a.mem("c"), c)
	squares, products := a.zeros(unroll), a.zeros(unroll)
	x, y, v := a.vec(), a.vec(), a.vec() // each register that narrow loads change is taken for the whole loop
	next, some := a.label("next"), a.label("some")
	a.Label(next)
	at, n, any := a.GP64(), a.GP64(), a.vec() // any has the bits of all numbers of a row of ah
	a.XORQ(at, at)
	a.MOVQ(a.mem("r"), n)
	a.VMOVUPD(zero, any)
	a.steps(n, []reg.Register{at}, func(lanes []int) {
		for i, l := range lanes {
			// A narrow load clears the other lanes, which then add zeros.
			load := func(p reg.Register, v reg.VecVirtual) {
				a.load(operand.Mem{Base: p, Index: at, Scale: 1, Disp: 8 * i * a.lanes}, v, l)
			}
			load(ah, y)
			load(h, x)
			a.VFMADD231PD(x, y, products[i])
			if a.lanes == 8 {
				a.VPORQ(y, any, any)
			} else {
				a.VPOR(y, any, any)
			}
			load(hd, v)
			a.VSUBPD(y, v, v)
			load(l1, y)
			a.VADDPD(y, v, v)
			a.VMULPD(c, v, v)
			a.VMINPD(v, x, v) // v if it is NaN
			a.VFMADD231PD(v, v, squares[i])
		}
	})
	if a.lanes == 8 {
		k := a.K()
		a.VPTESTMQ(size, any, k)
		a.KORTESTW(k, k)
	} else {
		a.VPTEST(size, any)
	}
	a.JNE(operand.LabelRef(some))
	a.MOVQ(operand.U32(1), empty)
	a.Label(some)
	for _, p := range []reg.Register{h, hd, ah} {
		a.ADDQ(pitch, p)
	}
	a.SUBQ(operand.U8(1), rows)
	a.JNE(operand.LabelRef(next))
	a.Store(empty, a.ReturnIndex(2))
	along := a.sum(products)
	stepSq := a.sum(squares)
	a.VZEROUPPER()
	a.Store(along, a.ReturnIndex(1))
	a.Store(stepSq, a.ReturnIndex(0))
	a.RET()
}
