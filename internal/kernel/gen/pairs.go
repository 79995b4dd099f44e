package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sumPairs writes Σ_i ⟨x_i, Σ_p val[p]·x_l⟩ over the entries p of row i near the diagonal, of which l is the column. The
// inner sum is made for as many columns of x as steps takes at a time, while these stay in registers. Sums are in the
// same order whatever the type of x.
func (a *asm) sumPairs(of element) {
	name := "sumPairs" + of.suffix
	a.begin(name, "func(x *"+of.name+", r, n int, first int32, rows *int32, count int, cut, idx *int32, entries int, val *float64) (sum float64, bad int)",
		name+a.name+" is sumPairsGo for an x of n rows and the given number of entries; bad is not 0 if anything lies outside them.")
	r, rows, cut := a.arg("r"), a.arg("rows"), a.arg("cut")
	acc := a.zeros(unroll)
	next, out, bad := a.label("next"), a.label("out"), a.label("bad")
	// find turns row, the number of a row of A, into its number in the block, and checks it.
	find := func(row reg.GPVirtual) {
		a.SUBL(a.mem("first"), row.As32())
		a.CMPQ(row, a.mem("n"))
		a.JAE(operand.LabelRef(bad))
	}
	x, own, p, left := a.GP64(), a.GP64(), a.GP64(), a.GP64()
	from, to, factor := a.GP64(), a.GP64(), a.GP64() // where the entries' columns begin and end, and their values begin
	a.Label(next)
	a.SUBQ(operand.U8(1), a.mem("count"))
	a.JLT(operand.LabelRef(out))
	a.MOVL(operand.Mem{Base: rows}, own.As32())
	a.MOVL(operand.Mem{Base: rows, Disp: 4}, left.As32())
	a.ADDQ(operand.U8(8), rows)
	find(own)
	a.MOVL(operand.Mem{Base: cut, Index: own, Scale: 8, Disp: 4}, p.As32())
	a.SUBL(operand.Mem{Base: cut}, p.As32())
	a.ADDQ(p, left) // both are below 2³²
	a.CMPQ(left, a.mem("entries"))
	a.JHI(operand.LabelRef(bad))
	a.CMPQ(p, left)
	a.JEQ(operand.LabelRef(next))
	a.MOVQ(a.mem("idx"), to)
	a.LEAQ(operand.Mem{Base: to, Index: p, Scale: 4}, from)
	a.LEAQ(operand.Mem{Base: to, Index: left, Scale: 4}, to)
	a.MOVQ(a.mem("val"), factor)
	ones := a.label("ones")
	a.TESTQ(factor, factor)
	a.JEQ(operand.LabelRef(ones))
	a.LEAQ(operand.Mem{Base: factor, Index: p, Scale: 8}, factor)
	a.Label(ones)
	a.MOVQ(a.mem("x"), x)
	a.IMULQ(r, own)
	a.LEAQ(operand.Mem{Base: x, Index: own, Scale: uint8(of.size)}, own)
	n := a.GP64()
	a.MOVQ(r, n)
	a.steps(n, nil, func(lanes []int) {
		sums, at := a.zeros(len(lanes)), a.GP64()
		load := func(base reg.Register, i int) reg.VecVirtual {
			v := a.vec()
			a.loadOf(of, operand.Mem{Base: base, Disp: of.size * i * a.lanes}, v, lanes[i]) // a narrow load clears the other lanes
			return v
		}
		// entries writes the loop over the entries, add what becomes of row l of x.
		entries := func(add func(l reg.Register)) {
			loop := a.label("entry")
			a.Label(loop)
			l := a.GP64()
			a.MOVL(operand.Mem{Base: at}, l.As32())
			find(l)
			a.IMULQ(r, l)
			a.LEAQ(operand.Mem{Base: x, Index: l, Scale: uint8(of.size)}, l)
			add(l)
			a.ADDQ(operand.U8(4), at)
			a.CMPQ(at, to)
			a.JNE(operand.LabelRef(loop))
		}
		plain, done := a.label("plain"), a.label("done")
		a.MOVQ(from, at)
		a.TESTQ(factor, factor)
		a.JEQ(operand.LabelRef(plain))
		value := a.GP64()
		a.MOVQ(factor, value)
		entries(func(l reg.Register) {
			c := a.vec()
			a.VBROADCASTSD(operand.Mem{Base: value}, c)
			a.ADDQ(operand.U8(8), value)
			for i, sum := range sums {
				a.VFMADD231PD(load(l, i), c, sum)
			}
		})
		a.JMP(operand.LabelRef(done))
		a.Label(plain)
		entries(func(l reg.Register) {
			for i, sum := range sums {
				a.VADDPD(load(l, i), sum, sum)
			}
		})
		a.Label(done)
		for i, sum := range sums {
			a.VFMADD231PD(load(own, i), sum, acc[i])
		}
		a.ADDQ(operand.I32(of.size*numbersOf(lanes)), x)
		a.ADDQ(operand.I32(of.size*numbersOf(lanes)), own)
	})
	a.JMP(operand.LabelRef(next))
	a.endSum(out, bad, acc)
}
