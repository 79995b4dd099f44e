package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The rows of a tile of inner products of whole numbers, and its most vectors of columns.
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
		a.packBytes()
		a.stepBits()
	}
	a.gramInts()
	if a.lanes == 8 {
		a.gramBytes()
	}
	a.panelSquares()
}

// intConsts tells package kernel the shapes of tiles.
var intConsts = fmt.Sprintf(`
// The rows and the most columns of a tile of whole numbers, and the columns of a vector.
const (
	intRowsAVX2    = %d
	intColsAVX2    = %d
	intLanesAVX2   = %d
	intRowsAVX512  = %d
	intColsAVX512  = %d
	intLanesAVX512 = %d
)

// stepsAtOnce is the number of which the number of steps must be a multiple in assembly.
const stepsAtOnce = %d
`, intRowsAVX2, intVecsAVX2*2*lanesAVX2, 2*lanesAVX2, intRowsAVX512, intVecsAVX512*2*lanesAVX512, 2*lanesAVX512, stepVecs*2*lanesAVX2)

// gramInts writes t[i][k] = Σ_l of the products of both halves of x[l][i] and x[l][j+k], in 32 bits. With
// AVX-512 one instruction does 32 multiply–adds of 16 bits, where one does 8 of float64; with AVX2 two
// instructions do 16, where one does 4.
func (a *asm) gramInts() {
	rows, most := intRowsAVX2, intVecsAVX2
	if a.lanes == 8 {
		rows, most = intRowsAVX512, intVecsAVX512
	}
	columns := 2 * a.lanes // of a vector
	a.begin("gramInts", "func(t, a, x *int32, n, w, stride int)",
		fmt.Sprintf("gramInts%s sets t[i·%d + k], 0 ≤ i < %d, to Σ_l of the products of both halves of a[l·stride/4 + i] and x[l·stride/4 + k]", a.name, most*columns, rows),
		fmt.Sprintf("for 0 ≤ k < w and 0 ≤ l < n, with n ≥ 1. w is from %d to %d and a multiple of %d. stride is in bytes.", columns, most*columns, columns))
	t, left, x, n, stride := a.arg("t"), a.arg("a"), a.arg("x"), a.arg("n"), a.arg("stride")
	w := a.arg("w")
	a.SHRQ(operand.U8(1), w) // choose counts in numbers of float64
	a.choose(w, 1, most, func(vecs int) {
		load := func(k int, v reg.VecVirtual) { a.load(at(x, a.lanes*k), v, a.lanes) }
		a.intTile(t, left, x, n, stride, stride, rows, most, vecs, load, func(v, f, sum reg.VecVirtual) {
			if a.lanes == 8 {
				a.VPDPWSSD(v, f, sum)
			} else {
				p := a.vec()
				a.VPMADDWD(v, f, p)
				a.VPADDD(p, sum, sum)
			}
		})
	})
}

// intTile writes a tile of the given numbers of rows and vectors of columns, from the zeroing of its sums to
// its return. load loads vector k of a row of x, and add adds the products of that vector and a number of
// left.
func (a *asm) intTile(t, left, x, n, stride, xstride reg.Register, rows, most, vecs int, load func(k int, v reg.VecVirtual), add func(v, f, sum reg.VecVirtual)) {
	acc := make([][]reg.VecVirtual, rows)
	for i := range acc {
		acc[i] = a.zeros(vecs)
	}
	loop := a.label("loop")
	a.Label(loop)
	v := make([]reg.VecVirtual, vecs)
	for k := range v {
		v[k] = a.vec()
		load(k, v[k])
	}
	for i, sums := range acc {
		f := a.vec()
		a.VPBROADCASTD(operand.Mem{Base: left, Disp: 4 * i}, f)
		for k, sum := range sums {
			add(v[k], f, sum)
		}
	}
	a.ADDQ(stride, left)
	a.ADDQ(xstride, x)
	a.DECQ(n)
	a.JNE(operand.LabelRef(loop))
	for i, sums := range acc {
		for k, sum := range sums {
			a.store(sum, at(t, a.lanes*(i*most+k)), a.lanes)
		}
	}
	a.end(nil)
}

// gramBytes writes the same for four rows of unsigned bytes. It subtracts 128 from the bytes of x, since the
// instruction takes one factor as signed.
func (a *asm) gramBytes() {
	const columns, most, signs = 2 * lanesAVX512, intVecsAVX512, 0x80808080
	a.begin("gramBytes", "func(t, a, x *int32, n, w, stride, xstride int)",
		fmt.Sprintf("gramBytes%s sets t[i·%d + k], 0 ≤ i < %d, to Σ_l of the products of the four bytes of a[l·stride/4 + i] and x[l·xstride/4 + k],", a.name, most*columns, intRowsAVX512),
		fmt.Sprintf("those of x less 128, for 0 ≤ k < w and 0 ≤ l < n, with n ≥ 1. w is from %d to %d and a multiple of %[1]d. Strides are in bytes.", columns, most*columns))
	t, left, x, n, stride, xstride := a.arg("t"), a.arg("a"), a.arg("x"), a.arg("n"), a.arg("stride"), a.arg("xstride")
	w := a.arg("w")
	a.SHRQ(operand.U8(1), w) // choose counts in numbers of float64
	bits, sign := a.GP32(), a.vec()
	a.MOVL(operand.U32(signs), bits)
	a.VPBROADCASTD(bits, sign)
	a.choose(w, 1, most, func(vecs int) {
		load := func(k int, v reg.VecVirtual) { a.VPXORD(at(x, a.lanes*k), sign, v) }
		a.intTile(t, left, x, n, stride, xstride, intRowsAVX512, most, vecs, load, func(v, f, sum reg.VecVirtual) { a.VPDPBUSD(v, f, sum) })
	})
}

// packBytes writes the whole numbers c·u, c·v, c·w and c·z side by side, 8 bits each, and finds out whether
// they are whole and which bits they have.
func (a *asm) packBytes() {
	a.begin("packBytes", "func(dst *int32, u, v, w, z *float64, c float64, n int) (differ, bits uint64)",
		"packBytes"+a.name+" is packBytesGo for n = 4, 8, …. differ is 0 if all are whole numbers of 32 bits; bits is their OR, in two halves.")
	four := a.XMM()
	a.packWhole([]string{"u", "v", "w", "z"}, func(i int, k reg.VecVirtual, bits reg.Register) {
		a.VPOR(k, bits, bits)
		if i == 0 {
			a.VMOVDQU(k, four)
		} else {
			a.VPSLLD(operand.U8(8*i), k, k)
			a.VPOR(k, four, four)
		}
	}, func() reg.Register { return four })
}

// packInts writes the whole numbers c·u and c·v side by side, 16 bits each, and finds out whether they are
// whole and which bits their magnitudes have.
func (a *asm) packInts() {
	a.begin("packInts", "func(dst *int32, u, v *float64, c float64, n int) (differ, bits uint64)",
		"packInts"+a.name+" is packIntsGo for n = 4, 8, …. differ is 0 if all are whole numbers of 32 bits; bits is their magnitudes' OR, in two halves.")
	var whole []reg.VecVirtual
	a.packWhole([]string{"u", "v"}, func(_ int, k reg.VecVirtual, bits reg.Register) {
		size := a.XMM()
		a.VPABSD(k, size)
		a.VPOR(size, bits, bits)
		whole = append(whole, k)
	}, func() reg.Register {
		a.VPSLLD(operand.U8(16), whole[1], whole[1])
		a.VPBLENDW(operand.U8(0xaa), whole[1], whole[0], whole[0])
		return whole[0]
	})
}

// packWhole writes a loop that packs four numbers of each row at a time. take receives the whole numbers k of
// row i and adds the bits they have to bits. packed returns what the numbers of all rows have become.
func (a *asm) packWhole(rows []string, take func(i int, k reg.VecVirtual, bits reg.Register), packed func() reg.Register) {
	dst, n := a.arg("dst"), a.arg("n")
	var from []reg.Register
	for _, row := range rows {
		from = append(from, a.arg(row))
	}
	c, differ, bits := a.vec(), a.zeros(1)[0], a.XMM()
	a.VBROADCASTSD(a.mem("c"), c)
	a.VPXOR(bits, bits, bits)
	loop := a.label("loop")
	a.Label(loop)
	for i, p := range from {
		x, back, k := a.vec(), a.vec(), a.XMM()
		a.VMULPD(operand.Mem{Base: p}, c, x)
		a.VCVTTPD2DQY(x, k)
		a.VCVTDQ2PD(k, back)
		a.VSUBPD(x, back, back)
		a.VORPD(back, differ, differ)
		take(i, k, bits)
		a.ADDQ(operand.U8(32), p)
	}
	a.VMOVDQU(packed(), operand.Mem{Base: dst})
	a.ADDQ(operand.U8(16), dst)
	a.SUBQ(operand.U8(4), n)
	a.JNE(operand.LabelRef(loop))
	a.Store(a.orLanes(differ, true), a.ReturnIndex(0))
	a.Store(a.orLanes(bits, false), a.ReturnIndex(1))
	a.end(nil)
}

// orLanes returns the bitwise OR of the 64-bit lanes of v, or of its lower half unless whole. Numbers of 32
// bits remain two, side by side.
func (a *asm) orLanes(v reg.VecVirtual, whole bool) reg.Register {
	low, high := a.GP64(), a.GP64()
	if whole {
		half := a.XMM()
		a.VEXTRACTF128(operand.U8(1), v, half)
		a.VPOR(v.AsX(), half, half)
		v = half
	}
	a.VMOVQ(v.AsX(), low)
	a.VPEXTRQ(operand.U8(1), v.AsX(), high)
	a.ORQ(high, low)
	return low
}

// stepVecs is how many vectors of steps stepBits takes at a time.
const stepVecs = 2

// stepBits writes the bitwise OR of the differences of neighbors.
func (a *asm) stepBits() {
	step := stepVecs * 2 * a.lanes
	a.begin("stepBits", "func(from *int32, n int) (bits uint64)",
		fmt.Sprintf("stepBits%s returns the bitwise OR of from[k+1] − from[k], 0 ≤ k < n, in two halves. n is %d, %d, ….", a.name, step, 2*step))
	from, n, acc := a.arg("from"), a.arg("n"), a.zeros(stepVecs)
	loop := a.label("loop")
	a.Label(loop)
	for k, sum := range acc {
		v := a.vec()
		a.VMOVDQU(operand.Mem{Base: from, Disp: 8*a.lanes*k + 4}, v)
		a.VPSUBD(operand.Mem{Base: from, Disp: 8 * a.lanes * k}, v, v)
		a.VPOR(v, sum, sum)
	}
	a.ADDQ(operand.I32(4*step), from)
	a.SUBQ(operand.I32(step), n)
	a.JNE(operand.LabelRef(loop))
	for _, sum := range acc[1:] {
		a.VPOR(sum, acc[0], acc[0])
	}
	a.end(a.orLanes(acc[0], true))
}

// panelColumns is PanelColumns of package kernel.
const panelColumns = 64

// panelSquares writes Σ_k ‖Σ_p val[p]·x_idx[p]‖² over lists k. Entries are taken in pairs: the numbers of two
// rows are interleaved, as halves of 32 bits. The order in which this leaves the columns does not matter for
// the sum of their squares.
func (a *asm) panelSquares() {
	a.begin("panelSquares", "func(x *int16, rows int, lists *int32, count int, idx *int32, val *int16, entries int) (sum float64, bad int)",
		"panelSquares"+a.name+" is panelSquaresGo for so many rows of x and so many entries; bad is not 0 if anything lies outside.")
	x, rows, lists, count, idx, val := a.arg("x"), a.arg("rows"), a.arg("lists"), a.arg("count"), a.arg("idx"), a.arg("val")
	vecs := 2 * panelColumns / (8 * a.lanes) // vectors of a row
	sums, acc := a.zeros(4), make([]reg.VecVirtual, 2*vecs)
	for k := range acc {
		acc[k] = a.vec()
	}
	next, loop, rest, squares, out, bad := a.label("next"), a.label("loop"), a.label("rest"), a.label("squares"), a.label("out"), a.label("bad")
	from, left, at := a.GP64(), a.GP64(), a.GP64()
	// row sets k to the address of the row of the entry s places further on.
	row := func(k reg.Register, s int) {
		a.MOVLQSX(operand.Mem{Base: at, Disp: 4 * s}, k)
		a.CMPQ(k, rows) // unsigned: a negative one is above too
		a.JAE(operand.LabelRef(bad))
		a.SHLQ(operand.U8(7), k) // 2·panelColumns bytes
		a.ADDQ(x, k)
	}
	// add adds the rows at k and l times the halves of factor. For a single entry l is k, and the upper half is 0.
	add := func(factor reg.VecVirtual, k, l reg.Register) {
		for v := range vecs {
			p, q, t := a.vec(), a.vec(), a.vec()
			a.load(operand.Mem{Base: k, Disp: 8 * a.lanes * v}, p, a.lanes)
			a.load(operand.Mem{Base: l, Disp: 8 * a.lanes * v}, q, a.lanes)
			a.VPUNPCKLWD(q, p, t)
			a.VPUNPCKHWD(q, p, p)
			for half, pairs := range []reg.VecVirtual{t, p} {
				sum := acc[2*v+half]
				if a.lanes == 8 {
					a.VPDPWSSD(factor, pairs, sum)
				} else {
					a.VPMADDWD(factor, pairs, pairs)
					a.VPADDD(pairs, sum, sum)
				}
			}
		}
	}
	a.Label(next)
	a.SUBQ(operand.U8(1), count)
	a.JLT(operand.LabelRef(out))
	a.MOVLQSX(operand.Mem{Base: lists}, from)
	a.MOVLQSX(operand.Mem{Base: lists, Disp: 4}, left)
	a.ADDQ(operand.U8(8), lists)
	a.TESTQ(from, from)
	a.JLT(operand.LabelRef(bad))
	a.CMPQ(left, a.mem("entries"))
	a.JHI(operand.LabelRef(bad))
	a.SUBQ(from, left)
	a.JLT(operand.LabelRef(bad))
	a.LEAQ(operand.Mem{Base: idx, Index: from, Scale: 4}, at)
	a.LEAQ(operand.Mem{Base: val, Index: from, Scale: 2}, from)
	last := a.label("last")
	a.TESTQ(count, count)
	a.JEQ(operand.LabelRef(last))
	ahead := a.GP64() // the next list, wherever it is
	a.MOVLQSX(operand.Mem{Base: lists}, ahead)
	a.PREFETCHT0(operand.Mem{Base: val, Index: ahead, Scale: 2})
	a.PREFETCHT0(operand.Mem{Base: val, Index: ahead, Scale: 2, Disp: 64})
	a.LEAQ(operand.Mem{Base: idx, Index: ahead, Scale: 4}, ahead)
	for line := range 4 {
		a.PREFETCHT0(operand.Mem{Base: ahead, Disp: 64 * line})
	}
	a.Label(last)
	for _, sum := range acc {
		a.VPXOR(sum.AsY(), sum.AsY(), sum.AsY())
	}
	k, l, factor := a.GP64(), a.GP64(), a.vec()
	a.SUBQ(operand.U8(2), left)
	a.JLT(operand.LabelRef(rest))
	a.Label(loop)
	row(k, 0)
	row(l, 1)
	a.VPBROADCASTD(operand.Mem{Base: from}, factor)
	add(factor, k, l)
	a.ADDQ(operand.U8(8), at)
	a.ADDQ(operand.U8(4), from)
	a.SUBQ(operand.U8(2), left)
	a.JGE(operand.LabelRef(loop))
	a.Label(rest)
	a.CMPQ(left, operand.I8(-1))
	a.JNE(operand.LabelRef(squares))
	row(k, 0)
	a.MOVWLZX(operand.Mem{Base: from}, l.(reg.GPVirtual).As32())
	a.VMOVD(l.(reg.GPVirtual).As32(), factor.AsX())
	a.VPBROADCASTD(factor.AsX(), factor)
	add(factor, k, k)
	a.Label(squares)
	for i, sum := range acc {
		wide := a.vec()
		if a.lanes == 8 {
			a.VCVTDQ2PD(sum.AsY(), wide)
			a.VEXTRACTI64X4(operand.U8(1), sum, sum.AsY())
		} else {
			a.VCVTDQ2PD(sum.AsX(), wide)
			a.VEXTRACTI128(operand.U8(1), sum, sum.AsX())
		}
		a.VFMADD231PD(wide, wide, sums[2*i%4])
		if a.lanes == 8 {
			a.VCVTDQ2PD(sum.AsY(), wide)
		} else {
			a.VCVTDQ2PD(sum.AsX(), wide)
		}
		a.VFMADD231PD(wide, wide, sums[(2*i+1)%4])
	}
	a.JMP(operand.LabelRef(next))
	a.endSum(out, bad, sums)
}
