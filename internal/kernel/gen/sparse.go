package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// listsAhead is how many lists ahead of its turn scatterLists fetches a list into the cache.
const listsAhead = 2

// scatterTurn is how many entries a turn of the loop over a list takes: those whose values fill a cache line.
const scatterTurn = 8

// scatterLists writes y[idx[p]] += c·val[p] over lists of entries, one number at a time: scattering whole
// vectors takes as long. What matters is that a list is in the cache when its turn comes.
func (a *asm) scatterLists() {
	a.begin("scatterLists", "func(y *float64, n int, lists *int64, count int, idx *int32, val *float64, entries int) (ok bool)",
		"scatterLists"+a.name+" is scatterListsGo for a y of n numbers. If an index or list is out of range it returns false, y changed.")
	y, n, lists, count := a.arg("y"), a.arg("n"), a.arg("lists"), a.arg("count")
	next, ones, out, bad := a.label("next"), a.label("ones"), a.label("out"), a.label("bad")
	a.Label(next)
	a.SUBQ(operand.U8(1), count)
	a.JLT(operand.LabelRef(out))
	from, left, ahead, c := a.GP64(), a.GP64(), a.GP64(), a.XMM()
	a.MOVQ(operand.Mem{Base: lists}, from)
	a.MOVQ(operand.Mem{Base: lists, Disp: 8}, left)
	a.VMOVSD(operand.Mem{Base: lists, Disp: 16}, c)
	a.CMPQ(left, a.mem("entries"))
	a.JHI(operand.LabelRef(bad))
	a.SUBQ(from, left)
	a.JLT(operand.LabelRef(bad))
	a.TESTQ(from, from)
	a.JLT(operand.LabelRef(bad))
	last := a.label("last")
	a.XORQ(ahead, ahead)
	a.CMPQ(count, operand.U8(listsAhead))
	a.JLT(operand.LabelRef(last))
	a.MOVQ(operand.Mem{Base: lists, Disp: 24 * listsAhead}, ahead)
	a.SUBQ(from, ahead)
	a.SHLQ(operand.U8(2), ahead)
	a.Label(last)
	a.ADDQ(operand.U8(24), lists)
	idx, val := a.GP64(), a.GP64()
	a.MOVQ(a.mem("idx"), idx)
	a.LEAQ(operand.Mem{Base: idx, Index: from, Scale: 4}, idx)
	a.MOVQ(a.mem("val"), val)
	a.TESTQ(val, val)
	a.JEQ(operand.LabelRef(ones))
	a.LEAQ(operand.Mem{Base: val, Index: from, Scale: 8}, val)
	entries := func(values bool) {
		loop, rest, one := a.label("loop"), a.label("rest"), a.label("one")
		entry := func(s int) {
			k, v := a.GP64(), a.XMM()
			a.MOVLQSX(operand.Mem{Base: idx, Disp: 4 * s}, k)
			a.CMPQ(k, n) // unsigned: a negative one is above too
			a.JAE(operand.LabelRef(bad))
			m := operand.Mem{Base: y, Index: k, Scale: 8}
			if values {
				a.VMOVSD(at(val, s), v)
				a.VFMADD213SD(m, c, v)
			} else {
				a.VADDSD(m, c, v)
			}
			a.VMOVSD(v, m)
		}
		advance := func(by int) {
			a.ADDQ(operand.U8(4*by), idx)
			if values {
				a.ADDQ(operand.U8(8*by), val)
			}
		}
		a.SUBQ(operand.U8(scatterTurn), left)
		a.JLT(operand.LabelRef(rest))
		a.Label(loop)
		a.PREFETCHT0(operand.Mem{Base: idx, Index: ahead, Scale: 1})
		if values {
			a.PREFETCHT0(operand.Mem{Base: val, Index: ahead, Scale: 2})
		}
		for s := range scatterTurn {
			entry(s)
		}
		advance(scatterTurn)
		a.SUBQ(operand.U8(scatterTurn), left)
		a.JGE(operand.LabelRef(loop))
		a.Label(rest)
		a.ADDQ(operand.U8(scatterTurn), left)
		a.Label(one)
		a.SUBQ(operand.U8(1), left)
		a.JLT(operand.LabelRef(next))
		entry(0)
		advance(1)
		a.JMP(operand.LabelRef(one))
	}
	entries(true)
	a.Label(ones)
	entries(false)
	for _, end := range []struct {
		label string
		ok    uint8
	}{{out, 1}, {bad, 0}} {
		a.Label(end.label)
		ok := a.GP8()
		a.MOVB(operand.U8(end.ok), ok)
		a.end(reg.Register(ok))
	}
}
