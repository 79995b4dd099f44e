package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels for small square matrices, which one thread works on while the others wait. A matrix is taken
// apart into tiles. A tile right of the diagonal is handled together with the one that mirrors it.

// squareTile is the size of a tile. The size of a matrix must be a multiple of it.
const squareTile = 4

// tiles writes the loop over the tiles of s. diagonal changes a tile on the diagonal, given its rows and
// those of its transpose. pair changes a tile right of the diagonal and the one below that mirrors it, given
// where their rows are.
func (a *asm) tiles(diagonal func(rows, transposed []reg.VecVirtual), pair func(right, below func(k int) operand.Mem)) {
	p, left := a.arg("s"), a.arg("r")
	row, row3 := a.GP64(), a.GP64()
	a.MOVQ(left, row)
	a.SHLQ(operand.U8(3), row)
	a.LEAQ(operand.Mem{Base: row, Index: row, Scale: 2}, row3)
	rowsAt := func(base reg.Register) func(k int) operand.Mem {
		return func(k int) operand.Mem {
			return []operand.Mem{{Base: base}, {Base: base, Index: row, Scale: 1}, {Base: base, Index: row, Scale: 2}, {Base: base, Index: row3, Scale: 1}}[k]
		}
	}
	down, across, done := a.label("down"), a.label("across"), a.label("done")
	a.Label(down)
	own := a.readTile(rowsAt(p))
	diagonal(own, a.transposed(own))
	a.writeTile(own, rowsAt(p))
	a.SUBQ(operand.U8(4), left)
	a.JEQ(operand.LabelRef(done))
	right, below, n := a.GP64(), a.GP64(), a.GP64()
	a.MOVQ(p, right)
	a.MOVQ(p, below)
	a.MOVQ(left, n)
	a.Label(across)
	a.ADDQ(operand.U8(32), right)
	a.LEAQ(operand.Mem{Base: below, Index: row, Scale: 4}, below)
	pair(rowsAt(right), rowsAt(below))
	a.SUBQ(operand.U8(4), n)
	a.JNE(operand.LabelRef(across))
	a.LEAQ(operand.Mem{Base: p, Index: row, Scale: 4, Disp: 32}, p)
	a.JMP(operand.LabelRef(down))
	a.Label(done)
	a.end(nil)
}

func (a *asm) readTile(at func(k int) operand.Mem) []reg.VecVirtual {
	v := make([]reg.VecVirtual, 4)
	for k := range v {
		v[k] = a.vec()
		a.VMOVUPD(at(k), v[k])
	}
	return v
}

func (a *asm) writeTile(v []reg.VecVirtual, at func(k int) operand.Mem) {
	for k, row := range v {
		a.VMOVUPD(row, at(k))
	}
}

// transposed returns the columns of four rows of 4 numbers.
func (a *asm) transposed(v []reg.VecVirtual) []reg.VecVirtual {
	var pairs, out []reg.VecVirtual // even and odd columns of rows 0 and 1, then of rows 2 and 3
	for k := 0; k < 4; k += 2 {
		even, odd := a.vec(), a.vec()
		a.VUNPCKLPD(v[k+1], v[k], even)
		a.VUNPCKHPD(v[k+1], v[k], odd)
		pairs = append(pairs, even, odd)
	}
	for k := range 4 {
		const low, high = 0x20, 0x31
		half := operand.U8(low)
		if k >= 2 {
			half = high
		}
		c := a.vec()
		a.VPERM2F128(half, pairs[2+k%2], pairs[k%2], c)
		out = append(out, c)
	}
	return out
}

// mirror writes the copying of what lies right of the diagonal to the left of it.
func (a *asm) mirror() {
	a.begin("mirror", "func(s *float64, r int)", "mirror"+a.name+" is mirrorGo for an r that is a multiple of 4.")
	a.tiles(func(rows, transposed []reg.VecVirtual) {
		for k := 1; k < 4; k++ {
			a.VBLENDPD(operand.U8(1<<k-1), transposed[k], rows[k], rows[k])
		}
	}, func(right, below func(k int) operand.Mem) {
		a.writeTile(a.transposed(a.readTile(right)), below)
	})
}

// symmetrize writes the addition of the transpose.
func (a *asm) symmetrize() {
	a.begin("symmetrize", "func(s *float64, r int)", "symmetrize"+a.name+" is symmetrizeGo for an r that is a multiple of 4.")
	a.tiles(func(rows, transposed []reg.VecVirtual) {
		for k, t := range transposed {
			a.VADDPD(t, rows[k], rows[k])
		}
	}, func(right, below func(k int) operand.Mem) {
		sum := a.transposed(a.readTile(right))
		for k, v := range sum {
			a.VADDPD(below(k), v, v)
		}
		a.writeTile(sum, below)
		a.writeTile(a.transposed(sum), right)
	})
}

// toFloat32 writes numbers as float32.
func (a *asm) toFloat32() {
	a.begin("toFloat32", "func(y *float32, x *float64, n int)", "toFloat32"+a.name+" sets y[i] to x[i], 0 ≤ i < n.")
	y, x, n := a.arg("y"), a.arg("x"), a.arg("n")
	a.steps(n, []reg.Register{x}, func(lanes []int) {
		for i, l := range lanes {
			v, narrow := a.vec(), a.singles()
			a.load(at(x, i*a.lanes), v, l)
			a.toSingles(v, narrow, l)
			a.storeSingle(narrow, operand.Mem{Base: y, Disp: single.size * i * a.lanes}, l)
		}
		a.ADDQ(operand.I32(single.size*numbersOf(lanes)), y)
	})
	a.end(nil)
}

// toSingles rounds the first n numbers of v: a whole vector, or 4, 2 or 1.
func (a *asm) toSingles(v, narrow reg.VecVirtual, n int) {
	switch n {
	case 8:
		a.VCVTPD2PS(v, narrow)
	case 4:
		a.VCVTPD2PSY(v.AsY(), narrow.AsX())
	case 2:
		a.VCVTPD2PSX(v.AsX(), narrow.AsX())
	default:
		a.VCVTSD2SS(v.AsX(), v.AsX(), narrow.AsX())
	}
}

// toFloat64 writes numbers of float32 as float64.
func (a *asm) toFloat64() {
	a.begin("toFloat64", "func(y *float64, x *float32, n int)", "toFloat64"+a.name+" sets y[i] to x[i], 0 ≤ i < n.")
	y, x, n := a.arg("y"), a.arg("x"), a.arg("n")
	a.steps(n, []reg.Register{y}, func(lanes []int) {
		for i, l := range lanes {
			v := a.vec()
			a.loadOf(single, operand.Mem{Base: x, Disp: single.size * i * a.lanes}, v, l)
			a.store(v, at(y, i*a.lanes), l)
		}
		a.ADDQ(operand.I32(single.size*numbersOf(lanes)), x)
	})
	a.end(nil)
}

// innersStep is how many vectors of each matrix inners takes at a time.
const innersStep = 2

// inners writes five sums over three matrices in a single loop.
func (a *asm) inners() {
	a.begin("inners", "func(x, y, z *float64, n int) (xz, yz, yy, xy, xx float64)",
		"inners"+a.name+" returns the inner products of x, y and z, n numbers each, n a positive multiple of "+map[int]string{4: "8", 8: "16"}[a.lanes]+".")
	x, y, z, n := a.arg("x"), a.arg("y"), a.arg("z"), a.arg("n")
	acc := a.zeros(5 * innersStep)
	loop := a.label("loop")
	a.Label(loop)
	for i := range innersStep {
		xv, yv := a.vec(), a.vec()
		a.VMOVUPD(at(x, i*a.lanes), xv)
		a.VMOVUPD(at(y, i*a.lanes), yv)
		sums := acc[5*i:]
		a.VFMADD231PD(at(z, i*a.lanes), xv, sums[0])
		a.VFMADD231PD(at(z, i*a.lanes), yv, sums[1])
		a.VFMADD231PD(yv, yv, sums[2])
		a.VFMADD231PD(yv, xv, sums[3])
		a.VFMADD231PD(xv, xv, sums[4])
	}
	for _, p := range []reg.Register{x, y, z} {
		a.ADDQ(operand.U32(8*innersStep*a.lanes), p)
	}
	a.SUBQ(operand.U8(innersStep*a.lanes), n)
	a.JNE(operand.LabelRef(loop))
	for k := range 5 {
		a.Store(a.sum([]reg.VecVirtual{acc[k], acc[5+k]}), a.ReturnIndex(k))
	}
	a.end(nil)
}
