package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func at(p reg.Register, index int) operand.Mem { return operand.Mem{Base: p, Disp: 8 * index} }

// dot writes Σ x[i]·y[i] with unroll accumulators.
func (a *asm) dot() {
	a.begin("dot", "func(x, y *float64, n int) float64", "dot"+a.name+" returns Σ x[i]·y[i], 0 ≤ i < n.")
	x, y, n := a.arg("x"), a.arg("y"), a.arg("n")
	acc := a.zeros(unroll)
	a.steps(n, []reg.Register{x, y}, func(lanes []int) {
		for i, l := range lanes {
			// A narrow load clears the other lanes; the product over all of them then adds zeros there.
			xv := a.vec()
			a.load(at(x, i*a.lanes), xv, l)
			if l == a.lanes {
				a.addProduct(acc[i], xv, at(y, i*a.lanes), l)
				continue
			}
			yv := a.vec()
			a.load(at(y, i*a.lanes), yv, l)
			a.VFMADD231PD(xv, yv, acc[unroll-1])
		}
	})
	a.end(a.sum(acc))
}

// rowSquares writes Σ_i w[i]·‖x_i‖², with x by rows of r. Sums are in the same order whatever the type of x.
func (a *asm) rowSquares(of element) {
	name := "rowSquares" + of.suffix
	a.begin(name, "func(x *"+of.name+", r int, w *float64, rows int) float64",
		name+a.name+" returns Σ w[i]·x[i·r+j]², 0 ≤ i < rows, 0 ≤ j < r.")
	row, r, w, rows := a.arg("x"), a.arg("r"), a.arg("w"), a.arg("rows")
	acc, c := a.zeros(unroll), a.vec()
	next, done := a.label("next"), a.label("done")
	a.Label(next)
	a.SUBQ(operand.U8(1), rows)
	a.JLT(operand.LabelRef(done))
	a.VBROADCASTSD(at(w, 0), c)
	a.ADDQ(operand.U8(8), w)
	x, n := a.GP64(), a.GP64()
	a.MOVQ(row, x)
	a.MOVQ(r, n)
	a.steps(n, nil, func(lanes []int) {
		for i, l := range lanes {
			v, cv := a.vec(), a.vec()
			a.loadOf(of, operand.Mem{Base: x, Disp: of.size * i * a.lanes}, v, l) // a narrow load clears the other lanes
			a.VMULPD(c, v, cv)
			a.VFMADD231PD(cv, v, acc[i])
		}
		a.ADDQ(operand.I32(of.size*numbersOf(lanes)), x)
	})
	a.LEAQ(operand.Mem{Base: row, Index: r, Scale: uint8(of.size)}, row)
	a.JMP(operand.LabelRef(next))
	a.Label(done)
	a.end(a.sum(acc))
}

// rangeVectors is how many vectors bitRange takes at a time.
const rangeVectors = 4

// bitRange writes the least and the largest bit pattern of numbers, in each lane. Comparisons are signed, so
// the sign bit is inverted before and after. Memory is the limit.
func (a *asm) bitRange() {
	a.begin("bitRange", "func(x *float64, n int, least, most *[4]uint64)",
		fmt.Sprintf("bitRange%s sets least[k mod %d] and most[k mod %[2]d] to the extremes of the bits of x[k], 0 ≤ k < n; n is a positive multiple of %d.", a.name, a.lanes, a.lanes*rangeVectors))
	x, n, sign, bits := a.arg("x"), a.arg("n"), a.YMM(), a.GP64()
	a.MOVQ(operand.U64(1<<63), bits)
	a.VMOVQ(bits, sign.AsX())
	a.VPBROADCASTQ(sign.AsX(), sign)
	var least, most [rangeVectors]reg.VecVirtual
	for v := range rangeVectors {
		least[v], most[v] = a.YMM(), a.YMM()
		a.VPXOR(at(x, v*a.lanes), sign, least[v])
		a.VMOVDQA(least[v], most[v])
	}
	extreme := func(v, least, most reg.VecVirtual) {
		t := a.YMM()
		a.VPCMPGTQ(v, least, t) // least > v
		a.VBLENDVPD(t, v, least, least)
		a.VPCMPGTQ(most, v, t)
		a.VBLENDVPD(t, v, most, most)
	}
	loop, done := a.label("loop"), a.label("done")
	a.Label(loop)
	a.SUBQ(operand.U8(rangeVectors*a.lanes), n)
	a.JLE(operand.LabelRef(done))
	a.ADDQ(operand.I32(8*rangeVectors*a.lanes), x)
	for v := range rangeVectors {
		y := a.YMM()
		a.VPXOR(at(x, v*a.lanes), sign, y)
		extreme(y, least[v], most[v])
	}
	a.JMP(operand.LabelRef(loop))
	a.Label(done)
	for v := 1; v < rangeVectors; v++ {
		extreme(least[v], least[0], most[0])
		extreme(most[v], least[0], most[0])
	}
	a.VPXOR(least[0], sign, least[0])
	a.VPXOR(most[0], sign, most[0])
	a.VMOVDQU(least[0], operand.Mem{Base: a.arg("least")})
	a.VMOVDQU(most[0], operand.Mem{Base: a.arg("most")})
	a.end(nil)
}

// scale writes x[i] *= c.
func (a *asm) scale() {
	a.begin("scale", "func(x *float64, c float64, n int)", "scale"+a.name+" multiplies x[i] by c, 0 ≤ i < n.")
	x, n := a.arg("x"), a.arg("n")
	c := a.vec()
	a.VBROADCASTSD(a.mem("c"), c)
	a.steps(n, []reg.Register{x}, func(lanes []int) {
		for i, l := range lanes {
			v := a.vec()
			a.load(at(x, i*a.lanes), v, l)
			a.VMULPD(c, v, v)
			a.store(v, at(x, i*a.lanes), l)
		}
	})
	a.end(nil)
}

// axpy writes y[i] += Σ_k c[k]·x_k[i] for terms values of k.
func (a *asm) axpy(terms int) {
	if terms == 1 {
		a.begin("axpy", "func(y *float64, c float64, x *float64, n int)", "axpy"+a.name+" adds c·x[i] to y[i], 0 ≤ i < n.")
	} else {
		a.begin(fmt.Sprint("axpy", terms), "func(y *float64, c *[4]float64, x0, x1, x2, x3 *float64, n int)",
			fmt.Sprintf("axpy%d%s adds Σ_k c[k]·x_k[i] to y[i], 0 ≤ i < n.", terms, a.name))
	}
	y, n := a.arg("y"), a.arg("n")
	var x []reg.Register
	var c []reg.VecVirtual
	for k := range terms {
		v := a.vec()
		if terms == 1 {
			x = append(x, a.arg("x"))
			a.VBROADCASTSD(a.mem("c"), v)
		} else {
			x = append(x, a.arg(fmt.Sprint("x", k)))
			a.VBROADCASTSD(at(a.arg("c"), k), v)
		}
		c = append(c, v)
	}
	a.steps(n, append([]reg.Register{y}, x...), func(lanes []int) {
		sums := make([]reg.VecVirtual, len(lanes))
		for i, l := range lanes {
			sums[i] = a.vec()
			a.load(at(y, i*a.lanes), sums[i], l)
		}
		for k := range terms {
			for i, l := range lanes {
				a.addProduct(sums[i], c[k], at(x[k], i*a.lanes), l)
			}
		}
		for i, l := range lanes {
			a.store(sums[i], at(y, i*a.lanes), l)
		}
	})
	a.end(nil)
}

// mulInto writes y *= x.
func (a *asm) mulInto() {
	a.begin("mul", "func(y, x *float64, n int)", "mul"+a.name+" is mulGo.")
	y, x, n := a.arg("y"), a.arg("x"), a.arg("n")
	a.steps(n, []reg.Register{y, x}, func(lanes []int) {
		for i, l := range lanes {
			v, w := a.vec(), a.vec()
			a.load(at(y, i*a.lanes), v, l)
			a.load(at(x, i*a.lanes), w, l)
			a.VMULPD(w, v, v)
			a.store(v, at(y, i*a.lanes), l)
		}
	})
	a.end(nil)
}

// freeRow writes free = 1 where d·h + g > 0, else 0.
func (a *asm) freeRow() {
	a.begin("freeRow", "func(free, h, lin, d *float64, n int)", "freeRow"+a.name+" is freeRowGo.")
	free, h, g, d, n := a.arg("free"), a.arg("h"), a.arg("lin"), a.arg("d"), a.arg("n")
	zero, one, bits := a.zeros(1)[0], a.vec(), a.GP64()
	a.MOVQ(operand.U64(oneBits), bits)
	a.VMOVQ(bits, one.AsX())
	a.VBROADCASTSD(one.AsX(), one)
	a.steps(n, []reg.Register{free, h, g, d}, func(lanes []int) {
		for i, l := range lanes {
			v, w := a.vec(), a.vec()
			a.load(at(d, i*a.lanes), v, l)
			a.load(at(h, i*a.lanes), w, l)
			a.VMULPD(w, v, v)
			a.load(at(g, i*a.lanes), w, l)
			a.VADDPD(w, v, v)
			a.VCMPPD(operand.U8(1), v, zero, v) // 0 < v
			a.VANDPD(one, v, v)
			a.store(v, at(free, i*a.lanes), l)
		}
	})
	a.end(nil)
}

// fetch writes the prefetching of every cache line into the second-level cache.
func (a *asm) fetch() {
	a.begin("fetch", "func(x *float64, lines int)", "fetch"+a.name+" fetches the given number of cache lines, at least one, from x on into the second-level cache.")
	x, lines := a.arg("x"), a.arg("lines")
	loop := a.label("loop")
	a.Label(loop)
	a.PREFETCHT1(operand.Mem{Base: x})
	a.ADDQ(operand.U8(64), x)
	a.DECQ(lines)
	a.JNE(operand.LabelRef(loop))
	a.end(nil)
}

// fetchNext writes the prefetching of what lies at many places of two lists.
func (a *asm) fetchNext() {
	a.begin("fetchNext", "func(places *int64, step, count int, idx *int32, val *float64)", "fetchNext"+a.name+" fetches two cache lines from idx[p] on and, unless val is nil, three from val[p] on into the second-level",
		"cache, for each of count ≥ 1 places p, which are step bytes apart.")
	places, step, count, idx, val := a.arg("places"), a.arg("step"), a.arg("count"), a.arg("idx"), a.arg("val")
	ones := a.label("ones")
	a.TESTQ(val, val)
	a.JEQ(operand.LabelRef(ones))
	each := func(values bool) {
		loop, p := a.label("loop"), a.GP64()
		a.Label(loop)
		a.MOVQ(operand.Mem{Base: places}, p)
		for line := range 2 {
			a.PREFETCHT1(operand.Mem{Base: idx, Index: p, Scale: 4, Disp: 64 * line})
		}
		for line := range 3 {
			if values {
				a.PREFETCHT1(operand.Mem{Base: val, Index: p, Scale: 8, Disp: 64 * line})
			}
		}
		a.ADDQ(step, places)
		a.DECQ(count)
		a.JNE(operand.LabelRef(loop))
		a.end(nil)
	}
	each(true)
	a.Label(ones)
	each(false)
}
