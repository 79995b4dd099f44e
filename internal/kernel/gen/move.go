package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// oneBits are the bits of 1.
var oneBits = math.Float64bits(1)

// advance writes x = max(0, x + t·d), d = how far x has moved, and the sum of d·(x − last). With rounded, the
// new x is rounded to float32 first, and y is set to it.
//
// Memory is the limit, so wider vectors would gain nothing, except with rounded, where the conversions take
// time. Where d stays as it is, since t is 1 and zero stops nothing, it is not stored: another processor may
// have read it, and would have to give up its copy. With rounded this needs an x + d that is of float32.
func (a *asm) advance(rounded bool, of element) {
	name, param := "advance", ""
	if rounded {
		name, param = "advanceRounded"+of.suffix, ", y *float32"
	}
	a.begin(name, "func(x, d *float64, t float64, last *"+of.name+", n int"+param+") (along float64, cut int)",
		name+a.name+" is the kernel "+name+": see advanceGo and advanceRoundedGo. cut is not 0 if zero stops any number.")
	x, d, last, n := a.arg("x"), a.arg("d"), a.arg("last"), a.arg("n")
	var copied reg.Register
	if rounded {
		copied = a.arg("y")
	}
	t := a.vec()
	a.VBROADCASTSD(a.mem("t"), t)
	zero, cut := a.zeros(1)[0], a.GP64()
	scaled, one := a.GP64(), a.GP64() // scaled is 0 if t is 1
	a.MOVQ(a.mem("t"), scaled)
	a.MOVQ(operand.U64(oneBits), one)
	a.XORQ(one, scaled)
	a.XORQ(cut, cut)
	acc := a.zeros(unroll)
	var sign reg.VecVirtual
	if a.lanes == 8 {
		sign = a.vec()
		a.VPTERNLOGQ(operand.U8(255), sign, sign, sign)
		a.VPSLLQ(operand.U8(63), sign, sign)
	}
	a.steps(n, []reg.Register{x, d}, func(lanes []int) {
		below, moved := a.GP64(), make([]reg.VecVirtual, len(lanes)) // whether any v is negative; the new d
		y, v := a.vec(), a.vec()
		var signs reg.VecVirtual // of all v so far
		for i, l := range lanes {
			e := a.vec()
			moved[i] = e
			a.load(at(d, i*a.lanes), e, l)
			a.load(at(x, i*a.lanes), y, l)
			a.VMULPD(t, e, e)
			a.VADDPD(e, y, v)
			switch {
			case a.lanes == 8 && i == 0:
				signs = a.vec()
				a.VMOVUPD(v, signs)
			case a.lanes == 8:
				a.VPORQ(v, signs, signs)
			case i == 0:
				a.VMOVMSKPD(v, below.As32())
			default:
				own := a.GP64()
				a.VMOVMSKPD(v, own.As32())
				a.ORQ(own, below)
			}
			if rounded {
				a.VMAXPD(zero, v, v)
				a.round(v, operand.Mem{Base: copied, Disp: single.size * i * a.lanes}, l)
				a.VSUBPD(y, v, e)
			} else {
				a.VSUBPD(y, zero, y)
				a.VBLENDVPD(v, y, e, e) // where v has the sign
				a.VMAXPD(zero, v, v)
			}
			a.loadOf(of, operand.Mem{Base: last, Disp: of.size * i * a.lanes}, y, l)
			a.VSUBPD(y, v, y)
			a.VFMADD231PD(y, e, acc[i])
			a.store(v, at(x, i*a.lanes), l)
		}
		if a.lanes == 8 {
			k := a.K()
			a.VPTESTMQ(sign, signs, k)
			a.KMOVW(k, below.As32())
		}
		same := a.label("same")
		a.ORQ(below, cut)
		a.ORQ(scaled, below)
		a.JEQ(operand.LabelRef(same))
		for i, l := range lanes {
			a.store(moved[i], at(d, i*a.lanes), l)
		}
		a.Label(same)
		a.ADDQ(operand.I32(of.size*numbersOf(lanes)), last)
		if rounded {
			a.ADDQ(operand.I32(single.size*numbersOf(lanes)), copied)
		}
	})
	a.Store(cut, a.ReturnIndex(1))
	a.end(a.sum(acc))
}

// numbersOf returns how many numbers vectors of the given lanes hold together.
func numbersOf(lanes []int) (sum int) {
	for _, l := range lanes {
		sum += l
	}
	return sum
}

// round rounds the first n numbers of v to float32 and stores them, as float32, at m.
func (a *asm) round(v reg.VecVirtual, m operand.Mem, n int) {
	narrow := a.singles()
	switch n {
	case 8:
		a.VCVTPD2PS(v.AsZ(), narrow.AsY())
		a.VCVTPS2PD(narrow.AsY(), v.AsZ())
	case 4:
		a.VCVTPD2PSY(v.AsY(), narrow.AsX())
		a.VCVTPS2PD(narrow.AsX(), v.AsY())
	case 2:
		a.VCVTPD2PSX(v.AsX(), narrow.AsX())
		a.VCVTPS2PD(narrow.AsX(), v.AsX())
	default:
		a.VCVTSD2SS(v.AsX(), v.AsX(), narrow.AsX())
		a.VCVTSS2SD(narrow.AsX(), narrow.AsX(), v.AsX())
	}
	a.storeSingle(narrow, m, n)
}

// extrapolate writes y = max(x + c·(x − y), least).
func (a *asm) extrapolate() {
	a.begin("extrapolate", "func(y *float64, c float64, x *float64, least float64, n int)", "extrapolate"+a.name+" is extrapolateGo.")
	y, x, n := a.arg("y"), a.arg("x"), a.arg("n")
	c, least := a.vec(), a.vec()
	a.VBROADCASTSD(a.mem("c"), c)
	a.VBROADCASTSD(a.mem("least"), least)
	a.steps(n, []reg.Register{y, x}, func(lanes []int) {
		for i, l := range lanes {
			v, p := a.vec(), a.vec()
			a.load(at(x, i*a.lanes), v, l)
			a.load(at(y, i*a.lanes), p, l)
			a.VSUBPD(p, v, p)
			a.VMULPD(c, p, p)
			a.VADDPD(p, v, p)
			a.VMAXPD(p, least, p) // p where they are equal, and with it its sign
			a.store(p, at(y, i*a.lanes), l)
		}
	})
	a.end(nil)
}

// extrapolateRounded writes y = max(x + c·(x − y), least) of float32, and wide = y.
func (a *asm) extrapolateRounded() {
	a.begin("extrapolateRounded", "func(wide *float64, y *float32, c float32, x *float32, least float32, n int)", "extrapolateRounded"+a.name+" is extrapolateRoundedGo.")
	wide, y, x, n := a.arg("wide"), a.arg("y"), a.arg("x"), a.arg("n")
	c, least := a.singles(), a.singles()
	a.VBROADCASTSS(a.mem("c"), c)
	a.VBROADCASTSS(a.mem("least"), least)
	a.steps(n, []reg.Register{wide}, func(lanes []int) {
		for i, l := range lanes {
			v, p, w := a.singles(), a.singles(), a.vec()
			place := func(base reg.Register) operand.Mem { return operand.Mem{Base: base, Disp: single.size * i * a.lanes} }
			a.loadSingle(place(x), v, l)
			a.loadSingle(place(y), p, l)
			a.VSUBPS(p, v, p)
			a.VMULPS(c, p, p)
			a.VADDPS(p, v, p)
			a.VMAXPS(p, least, p) // p where they are equal, and with it its sign
			a.storeSingle(p, place(y), l)
			if l == 8 {
				a.VCVTPS2PD(p, w)
			} else {
				a.VCVTPS2PD(p.AsX(), part(w, max(l, 2)))
			}
			a.store(w, at(wide, i*a.lanes), l)
		}
		for _, p := range []reg.Register{x, y} {
			a.ADDQ(operand.I32(single.size*numbersOf(lanes)), p)
		}
	})
	a.end(nil)
}

// singles returns a register for as many numbers of float32 as a vector has of float64.
func (a *asm) singles() reg.VecVirtual {
	if a.lanes == 8 {
		return a.YMM()
	}
	return a.XMM()
}

// loadSingle loads n numbers of float32 and clears the rest of v. storeSingle stores n numbers.
func (a *asm) loadSingle(m operand.Mem, v reg.VecVirtual, n int) {
	switch n {
	case 8:
		a.VMOVUPS(m, v.AsY())
	case 4:
		a.VMOVUPS(m, v.AsX())
	case 2:
		a.VMOVQ(m, v.AsX())
	default:
		a.VMOVSS(m, v.AsX())
	}
}

func (a *asm) storeSingle(v reg.VecVirtual, m operand.Mem, n int) {
	switch n {
	case 8:
		a.VMOVUPS(v.AsY(), m)
	case 4:
		a.VMOVUPS(v.AsX(), m)
	case 2:
		a.VMOVQ(v.AsX(), m)
	default:
		a.VMOVSS(v.AsX(), m)
	}
}

// columnsOf describes the numbers of columns that a kernel of many short rows does. Wide vectors have a mask
// for the last, or are whole.
func (a *asm) columnsOf(of element, masked bool) string {
	if a.lanes == 8 && !masked {
		return fmt.Sprintf("w = %d, %d, …, %d", a.lanes, 2*a.lanes, a.mostVecs(of)*a.lanes)
	}
	return fmt.Sprintf("%d ≤ w ≤ %d", a.leastColumns(), a.mostVecs(of)*a.lanes)
}

// addGathered writes z[at[k]] += Σ_p val[p]·x[idx[p]] for w columns, with one row of z in registers at a
// time. Rows have few terms, so memory is the limit here too.
func (a *asm) addGathered() {
	a.begin("addGathered", "func(z *float64, w int, at, from *int32, count int, idx *int32, val, x *float64, stride, limitZ, limitX int) bool",
		fmt.Sprintf("addGathered%s adds Σ_p val[p]·x[idx[p]·stride/8 + j] to z[at[k]·stride/8 + j] for 0 ≤ k < count and %s", a.name, a.columnsOf(double, false)),
		"columns j. Each k takes the next from[k+1] − from[k] values of p. stride and limits are in bytes. It returns",
		"false at an index that is negative or too large.")
	r := &rowKernel{asm: a, source: gather, element: double}
	z, from, places := a.arg("z"), a.arg("from"), a.arg("at")
	r.w, r.x, r.stride, r.idx, r.val = a.arg("w"), a.arg("x"), a.arg("stride"), a.arg("idx"), a.arg("val")
	r.bad = a.label("bad")
	a.choose(r.w, 1, a.rowVecs, func(vecs int) {
		acc := make([]reg.VecVirtual, vecs)
		for v := range acc {
			acc[v] = a.vec()
		}
		next, loop, store, done := a.label("next"), a.label("loop"), a.label("store"), a.label("done")
		row, n := a.GP64(), a.GP32()
		a.Label(next)
		a.SUBQ(operand.U8(1), a.mem("count"))
		a.JLT(operand.LabelRef(done))
		a.MOVLQSX(operand.Mem{Base: places}, row)
		a.ADDQ(operand.U8(4), places)
		a.IMULQ(r.stride, row)
		a.CMPQ(row, a.mem("limitZ"))
		a.JHI(operand.LabelRef(r.bad))
		a.ADDQ(z, row)
		r.get(acc, row)
		a.MOVL(operand.Mem{Base: from, Disp: 4}, n)
		a.SUBL(operand.Mem{Base: from}, n)
		a.ADDQ(operand.U8(4), from)
		a.Label(loop)
		a.SUBL(operand.U8(1), n)
		a.JLT(operand.LabelRef(store))
		xrow, c := a.GP64(), a.vec()
		a.MOVLQSX(operand.Mem{Base: r.idx}, xrow)
		a.IMULQ(r.stride, xrow)
		a.CMPQ(xrow, a.mem("limitX"))
		a.JHI(operand.LabelRef(r.bad))
		a.ADDQ(r.x, xrow)
		a.VBROADCASTSD(operand.Mem{Base: r.val}, c)
		r.add(acc, xrow, c)
		a.ADDQ(operand.U8(4), r.idx)
		a.ADDQ(operand.U8(8), r.val)
		a.JMP(operand.LabelRef(loop))
		a.Label(store)
		r.put(acc, row)
		a.JMP(operand.LabelRef(next))
		a.Label(done)
		yes := a.GP8()
		a.MOVB(operand.U8(1), yes)
		a.end(yes)
	})
	a.Label(r.bad)
	no := a.GP8()
	a.XORB(no, no)
	a.end(no)
}

// gatherEach writes z_k = scale·Σ_p val[p]·x[idx[p]] for w columns and one row k after the other. The entries
// of a row follow those of the row before. With split a row has two pieces, and the first piece alone makes
// low_k.
func (a *asm) gatherEach(split bool, of element) {
	masked := of == single // with float64 only rows of whole vectors pay: see wideEach
	name, low, pieces := "gatherEach"+of.suffix, "", "from[k+1] − from[k] values of p."
	if split {
		name, low = "gatherSplit"+of.suffix, ", low"
		pieces = "from[2k+2] − from[2k] values of p. It sets low to what the first from[2k+1] − from[2k] give."
	}
	a.begin(name, fmt.Sprintf("func(z%s *float64, w int, from *int32, count int, idx *int32, val *float64, x *%s, scale float64, stride, limit int, fetch *int32) bool", low, of.name),
		fmt.Sprintf("%s%s sets z[k·stride/%[3]d + j] to scale·Σ_p val[p]·x[idx[p]·stride/%[3]d + j] for 0 ≤ k < count and %[4]s", name, a.name, of.size, a.columnsOf(of, masked)),
		"columns j. Each k takes the next "+pieces, "A nil val means ones. stride and limit are in bytes. It returns false at an index that is negative or too large.",
		fmt.Sprintf("It fetches rows %d entries ahead, or %d if they have at most %d cache lines, in pieces where no such index is beyond fetch.", fetchAhead, fetchFar, fewLines))
	e := &eachKernel{rowKernel: &rowKernel{asm: a, source: gather, element: of}, z: a.arg("z"), from: a.arg("from")}
	if split {
		e.low = a.arg("low")
	}
	e.w, e.x, e.stride, e.idx, e.val, e.fetch = a.arg("w"), a.arg("x"), a.arg("stride"), a.arg("idx"), a.arg("val"), a.arg("fetch")
	e.limit, e.bad = a.mem("limit"), a.label("bad")
	if masked && a.lanes == 8 {
		e.mask = a.lastMask(e.w)
	}
	a.choose(e.w, 1, a.mostVecs(of), func(vecs int) {
		ones := a.label("ones")
		a.TESTQ(e.val, e.val)
		a.JEQ(operand.LabelRef(ones))
		e.rows(vecs, true)
		a.Label(ones)
		e.rows(vecs, false)
	})
	a.Label(e.bad)
	no := a.GP8()
	a.XORB(no, no)
	a.end(no)
}

// eachKernel is what the code of gatherEach shares. low is nil without split.
type eachKernel struct {
	*rowKernel
	z, low, from reg.Register
}

// ahead returns how many entries ahead of their turn rows of vecs vectors are fetched.
func (e *eachKernel) ahead(vecs int) int {
	if e.linesOf(vecs) <= fewLines {
		return fetchFar
	}
	return fetchAhead
}

// rows writes the loop over the rows for vecs vectors of columns, up to its return.
func (e *eachKernel) rows(vecs int, values bool) {
	acc := make([][]reg.VecVirtual, max(1, min(2, 8/vecs))) // entries take turns, as in columns
	for s := range acc {
		acc[s] = make([]reg.VecVirtual, vecs)
		for v := range acc[s] {
			acc[s][v] = e.vec()
		}
	}
	zero := func(sets [][]reg.VecVirtual) {
		for _, set := range sets {
			for _, v := range set {
				e.clear(v)
			}
		}
	}
	next, done := e.label("next"), e.label("done")
	e.Label(next)
	e.SUBQ(operand.U8(1), e.mem("count"))
	e.JLT(operand.LabelRef(done))
	zero(acc)
	if e.low != nil {
		e.piece(acc, values)
		e.put(acc[0], e.low)
		zero(acc[1:])
	}
	e.piece(acc, values)
	c := e.vec()
	e.VBROADCASTSD(e.mem("scale"), c)
	for _, v := range acc[0] {
		e.VMULPD(c, v, v)
	}
	e.put(acc[0], e.z)
	e.nextRow(e.z)
	if e.low != nil { // the last vector may overlap the one before, so all are read before any is written
		e.get(acc[0], e.low)
		for _, v := range acc[0] {
			e.VMULPD(c, v, v)
		}
		e.put(acc[0], e.low)
		e.nextRow(e.low)
	}
	e.JMP(operand.LabelRef(next))
	e.Label(done)
	yes := e.GP8()
	e.MOVB(operand.U8(1), yes)
	e.end(yes)
}

// piece writes the loops over the entries from from[0] to from[1], whose sum ends up in acc[0], and the step
// to the next piece.
func (e *eachKernel) piece(acc [][]reg.VecVirtual, values bool) {
	near, out := e.label("near"), e.label("out")
	n, last := e.GP64(), e.GP64()
	e.MOVL(operand.Mem{Base: e.from, Disp: 4}, n.As32())
	e.SUBL(operand.Mem{Base: e.from}, n.As32())
	e.ADDQ(operand.U8(4), e.from)
	// Whether rows are fetched ahead is decided once a piece: near the end of all entries there are no
	// indices so far ahead.
	e.LEAQ(operand.Mem{Base: e.idx, Index: n, Scale: 4, Disp: 4 * e.ahead(len(acc[0]))}, last)
	e.CMPQ(last, e.fetch)
	e.JHI(operand.LabelRef(near))
	e.entries(acc, n, values, true)
	e.JMP(operand.LabelRef(out))
	e.Label(near)
	e.entries(acc, n, values, false)
	e.Label(out)
	e.merge(acc)
}

// merge adds the other sets of accumulators to the first.
func (a *asm) merge(acc [][]reg.VecVirtual) {
	for _, set := range acc[1:] {
		for v, more := range set {
			a.VADDPD(more, acc[0][v], acc[0][v])
		}
	}
}

// entries writes the loops over n entries: first as many at a time as there are sets of accumulators, then
// one at a time.
func (e *eachKernel) entries(acc [][]reg.VecVirtual, n reg.Register, values, fetch bool) {
	for sets := len(acc); sets > 0; sets /= 2 {
		e.loop(n, sets, func(s int) {
			if fetch {
				e.fetchRow(e.ahead(len(acc[0])), s, len(acc[0]))
			}
			e.entry(acc[s], s, values)
		}, values)
	}
}

// gatherSpan adds to z_k what the entries of row k in some columns of a sparse matrix contribute, for w
// columns of x and one row after the other. The rows of x that belong to these columns are few enough to stay
// in the first-level cache from row to row.
func (a *asm) gatherSpan(of element) {
	name := "gatherSpan" + of.suffix
	a.begin(name, fmt.Sprintf("func(z *float64, w int, at, to, end *int64, count int, idx *int32, val *float64, x *%s, stride, first, width int)", of.name),
		fmt.Sprintf("%s%s adds Σ_p val[p]·x[(idx[p] − first)·stride/%[3]d + j] to z[k·stride/%[3]d + j] for 0 ≤ k < count and %[4]s", name, a.name, of.size, a.columnsOf(of, true)),
		"columns j and p from at[k] up to end[k] or the first with idx[p] < first or ≥ first + width, and sets to[k] to that p.",
		"A nil val means ones. stride is in bytes. It fetches what follows to[k] in idx and val into the second-level cache.")
	r := &rowKernel{asm: a, source: gather, element: of}
	z, k := a.arg("z"), a.GP64()
	r.w, r.x, r.stride, r.idx, r.val = a.arg("w"), a.arg("x"), a.arg("stride"), a.arg("idx"), a.arg("val")
	first, width := a.arg("first"), a.arg("width")
	if a.lanes == 8 {
		r.mask = a.lastMask(r.w)
	}
	back := a.GP64() // x begins with the row of column first; after the subtraction it counts from column 0
	a.MOVQ(first, back)
	a.IMULQ(r.stride, back)
	a.SUBQ(back, r.x)
	a.XORQ(k, k)
	a.choose(r.w, 1, a.mostVecs(of), func(vecs int) {
		ones := a.label("ones")
		a.TESTQ(r.val, r.val)
		a.JEQ(operand.LabelRef(ones))
		r.span(z, k, first, width, vecs, true)
		a.Label(ones)
		r.span(z, k, first, width, vecs, false)
	})
}

// span writes the loop over the rows for vecs vectors of columns, up to its return.
func (r *rowKernel) span(z, k, first, width reg.Register, vecs int, values bool) {
	// Entries take turns among the sets, as in columns. The first set begins with what z holds.
	sets := max(1, min(2, 8/vecs))
	acc := make([][]reg.VecVirtual, sets)
	for s := range acc {
		acc[s] = make([]reg.VecVirtual, vecs)
		for v := range acc[s] {
			acc[s][v] = r.vec()
		}
	}
	next, loop, out, done := r.label("next"), r.label("loop"), r.label("out"), r.label("done")
	p, end, list := r.GP64(), r.GP64(), r.GP64()
	r.Label(next)
	r.CMPQ(k, r.mem("count"))
	r.JGE(operand.LabelRef(done))
	r.MOVQ(r.mem("at"), list)
	r.MOVQ(operand.Mem{Base: list, Index: k, Scale: 8}, p)
	r.MOVQ(r.mem("end"), list)
	r.MOVQ(operand.Mem{Base: list, Index: k, Scale: 8}, end)
	r.get(acc[0], z)
	for _, set := range acc[1:] {
		for _, v := range set {
			r.clear(v)
		}
	}
	r.Label(loop)
	for _, set := range acc {
		r.CMPQ(p, end)
		r.JGE(operand.LabelRef(out))
		row, within := r.GP64(), r.GP64()
		r.MOVLQSX(operand.Mem{Base: r.idx, Index: p, Scale: 4}, row)
		r.MOVQ(row, within)
		r.SUBQ(first, within)
		r.CMPQ(within, width) // unsigned: one before first is above too
		r.JAE(operand.LabelRef(out))
		r.IMULQ(r.stride, row)
		r.ADDQ(r.x, row)
		var c reg.VecVirtual
		if values {
			c = r.vec()
			r.VBROADCASTSD(operand.Mem{Base: r.val, Index: p, Scale: 8}, c)
		}
		r.add(set, row, c)
		r.ADDQ(operand.U8(1), p)
	}
	r.JMP(operand.LabelRef(loop))
	r.Label(out)
	r.merge(acc)
	r.put(acc[0], z)
	r.MOVQ(r.mem("to"), list)
	r.MOVQ(p, operand.Mem{Base: list, Index: k, Scale: 8})
	r.nextRow(z)
	r.ADDQ(operand.U8(1), k)
	for line := range 3 { // what follows when the row has its turn again: some 32 entries, or more in a longer span
		r.PREFETCHT1(operand.Mem{Base: r.idx, Index: p, Scale: 4, Disp: 64 * line})
	}
	for line := range 5 {
		if values {
			r.PREFETCHT1(operand.Mem{Base: r.val, Index: p, Scale: 8, Disp: 64 * line})
		}
	}
	r.JMP(operand.LabelRef(next))
	r.Label(done)
	r.end(nil)
}
