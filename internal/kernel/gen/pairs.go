package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sumPairs writes Σ val[p]·⟨x_i, x_l⟩ over entries near the diagonal, all in the lanes of the same
// accumulators: few rows have more than one such entry, and finding them is what takes the time. Sums are in
// the same order whatever the type of x.
func (a *asm) sumPairs(of element) {
	name := "sumPairs" + of.suffix
	a.begin(name, "func(x *"+of.name+", r, n int, first int32, rows *int32, count int, cut, idx *int32, entries int, val *float64) (sum float64, bad int)",
		name+a.name+" is sumPairsGo for an x of n rows and the given number of entries; bad is not 0 if anything lies outside them.")
	x, r, rows, cut := a.arg("x"), a.arg("r"), a.arg("rows"), a.arg("cut")
	acc := a.zeros(unroll)
	next, entry, out, bad := a.label("next"), a.label("entry"), a.label("out"), a.label("bad")
	own, p, left := a.GP64(), a.GP64(), a.GP64()
	// find turns row, the number of a row of A, into its number in the block, and checks it; place turns that into the
	// address of the row of x.
	find := func(row reg.GPVirtual) {
		a.SUBL(a.mem("first"), row.As32())
		a.CMPQ(row, a.mem("n"))
		a.JAE(operand.LabelRef(bad))
	}
	place := func(row reg.GPVirtual) {
		a.IMULQ(r, row)
		a.LEAQ(operand.Mem{Base: x, Index: row, Scale: uint8(of.size)}, row)
	}
	a.Label(next)
	a.SUBQ(operand.U8(1), a.mem("count"))
	a.JLT(operand.LabelRef(out))
	a.MOVL(operand.Mem{Base: rows}, own.As32())
	a.MOVL(operand.Mem{Base: rows, Disp: 4}, left.As32())
	a.ADDQ(operand.U8(8), rows)
	find(own)
	a.MOVL(operand.Mem{Base: cut, Index: own, Scale: 8, Disp: 4}, p.As32())
	a.SUBL(operand.Mem{Base: cut}, p.As32())
	place(own)
	end := a.GP64()
	a.LEAQ(operand.Mem{Base: p, Index: left, Scale: 1}, end) // both are below 2³²
	a.CMPQ(end, a.mem("entries"))
	a.JHI(operand.LabelRef(bad))
	a.Label(entry)
	a.SUBQ(operand.U8(1), left)
	a.JLT(operand.LabelRef(next))
	y := a.GP64()
	a.MOVQ(a.mem("idx"), y)
	a.MOVL(operand.Mem{Base: y, Index: p, Scale: 4}, y.As32())
	find(y)
	place(y)
	z, n, c := a.GP64(), a.GP64(), a.vec()
	ones, known := a.label("ones"), a.label("known")
	a.MOVQ(a.mem("val"), z)
	a.TESTQ(z, z)
	a.JEQ(operand.LabelRef(ones))
	a.VBROADCASTSD(operand.Mem{Base: z, Index: p, Scale: 8}, c)
	a.JMP(operand.LabelRef(known))
	a.Label(ones)
	a.MOVQ(operand.U64(oneBits), z)
	a.VMOVQ(z, c.AsX())
	a.VBROADCASTSD(c.AsX(), c)
	a.Label(known)
	a.ADDQ(operand.U8(1), p)
	a.MOVQ(own, z)
	a.MOVQ(r, n)
	a.steps(n, nil, func(lanes []int) {
		for i, l := range lanes {
			v, w := a.vec(), a.vec()
			a.loadOf(of, operand.Mem{Base: y, Disp: of.size * i * a.lanes}, v, l) // a narrow load clears the other lanes
			a.loadOf(of, operand.Mem{Base: z, Disp: of.size * i * a.lanes}, w, l)
			a.VMULPD(c, v, v)
			a.VFMADD231PD(v, w, acc[i])
		}
		a.ADDQ(operand.I32(of.size*numbersOf(lanes)), y)
		a.ADDQ(operand.I32(of.size*numbersOf(lanes)), z)
	})
	a.JMP(operand.LabelRef(entry))
	a.endSum(out, bad, acc)
}
