package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// source says where the row kernels find the rows of x they add.
type source int

const (
	gather  source = iota // rows idx[p], times val[p] or times one
	inOrder               // rows 0, 1, 2, …, times val[p]
)

// fetchAhead is how many entries ahead of its turn a row of x is fetched into the cache. Measured with 200000
// and a million rows of 16, 30 and 64 numbers in random order: 8 is up to 1.3 times slower, 32 gains nothing.
const fetchAhead = 16

// The kernels of many short rows, gatherEach and gatherSplit, fetch farther ahead as long as what is under
// way is at most a quarter of a first-level cache. For a graph of 10⁸ entries, sweeps take 0.91 of the time
// with r = 16 and 0.94 with r = 32; for smaller graphs they take as long as before (Zen 4; not archived).
const (
	fetchFar = 32
	fewLines = 4 // the most cache lines of a row of x with which they do
)

// linesOf returns how many cache lines vecs vectors of a row of x take.
func (r *rowKernel) linesOf(vecs int) int { return (r.element.size*vecs*r.lanes + 63) / 64 }

// element is the type of the numbers of x in a row kernel; size is the bytes of one.
type element struct {
	name, suffix string // the type's name, and the ending of kernels with it
	size         int
}

var (
	double = element{"float64", "", 8}
	single = element{"float32", "32", 4} // each number is widened to float64 in another register
)

// mostVecs returns the most vectors of accumulators that row kernels with an x of that type have.
func (a *asm) mostVecs(of element) int {
	if of == single && a.lanes == lanesAVX2 {
		return singleVecs
	}
	return a.rowVecs
}

// rows writes acc[k] += Σ_p val[p]·x[row p][k] for w columns k, which stay in registers over all p. There is
// a loop for each number of vectors that w can need; comparisons find it.
func (a *asm) rows(s source) {
	columns := fmt.Sprintf("0 ≤ p < n, 0 ≤ k < w, %d ≤ w ≤ %d", a.leastColumns(), a.rowVecs*a.lanes)
	r := &rowKernel{asm: a, source: s, element: double}
	if s == gather {
		a.begin("gatherRows", "func(acc *float64, w int, idx *int32, val, x *float64, n, fetch, stride, limit int) bool",
			fmt.Sprintf("gatherRows%s adds Σ_p val[p]·x[idx[p]·stride/8 + k] to acc[k], %s.", a.name, columns),
			"A nil val means ones. stride and limit are in bytes. It returns false, with acc unchanged, at an idx[p] that is",
			"negative or has idx[p]·stride > limit. For the first fetch entries it also fetches the row of",
			fmt.Sprintf("idx[p + %d], which need not be a valid one, into the cache.", fetchAhead))
	} else {
		a.begin("rowTimes", "func(acc *float64, w int, val, x *float64, n, stride int)",
			fmt.Sprintf("rowTimes%s adds Σ_p val[p]·x[p·stride/8 + k] to acc[k], %s.", a.name, columns),
			"stride is in bytes.")
	}
	r.acc, r.w, r.x, r.stride = a.arg("acc"), a.arg("w"), a.arg("x"), a.arg("stride")
	r.n, r.val = a.arg("n"), a.arg("val")
	if s == gather {
		r.idx, r.limit, r.fetch = a.arg("idx"), a.arg("limit"), a.arg("fetch")
		r.bad = a.label("bad")
	}
	if a.lanes == 8 {
		r.mask = a.lastMask(r.w)
	}
	a.choose(r.w, 1, a.rowVecs, r.columns)
	if s == gather {
		a.Label(r.bad)
		no := a.GP8()
		a.XORB(no, no)
		a.end(no)
	}
}

// leastColumns is the least w that the row kernels take.
func (a *asm) leastColumns() int {
	if a.lanes == 8 {
		return 1
	}
	return a.lanes
}

// lastMask returns the mask of the columns below w in the last vector that holds any.
func (a *asm) lastMask(w reg.Register) reg.Register {
	mask, one, count := a.K(), a.GP32(), reg.ECX
	a.MOVL(w.(reg.GPVirtual).As32(), count)
	a.NEGL(count)
	a.ANDL(operand.U8(7), count)
	a.MOVL(operand.U32(255), one)
	a.SHRL(reg.CL, one)
	a.KMOVW(one, mask)
	return mask
}

// choose writes body(vecs) for lo to hi vectors, and the comparisons that find the one for w columns.
func (a *asm) choose(w reg.Register, lo, hi int, body func(vecs int)) {
	if lo == hi {
		body(lo)
		return
	}
	mid := (lo + hi) / 2
	above := a.label("above")
	a.CMPQ(w, operand.U32(mid*a.lanes))
	a.JGT(operand.LabelRef(above))
	a.choose(w, lo, mid, body)
	a.Label(above)
	a.choose(w, mid+1, hi, body)
}

// vecAt returns where vector v, of the vecs vectors that hold w columns, lies from the pointer p on. With 4
// lanes there is no mask. Instead the last vector ends at column w and so may overlap the one before; the
// numbers they share are computed in the same way in both.
func (a *asm) vecAt(p, w reg.Register, v, vecs int) operand.Mem {
	return a.vecOf(double, p, w, v, vecs)
}

// vecOf is vecAt for numbers of the given type.
func (a *asm) vecOf(of element, p, w reg.Register, v, vecs int) operand.Mem {
	if v == vecs-1 && a.lanes == 4 {
		return operand.Mem{Base: p, Index: w, Scale: uint8(of.size), Disp: -of.size * a.lanes}
	}
	return operand.Mem{Base: p, Disp: of.size * v * a.lanes}
}

// rowKernel is what the code of a row kernel shares: its arguments, in registers.
type rowKernel struct {
	*asm
	source                 source
	element                element // of x
	acc, w, x, stride, val reg.Register
	idx, fetch             reg.Register // gather only
	limit                  operand.Op   // gather only
	n                      reg.Register
	mask                   reg.Register // of the last vector, 8 lanes only; nil where that is whole
	bad                    string
}

// columns writes the kernel for w columns in vecs vectors, up to its return.
func (r *rowKernel) columns(vecs int) {
	// With few vectors, each multiply–add would wait for the one before. So there are several sets of
	// accumulators, and entries take turns among them.
	sets := max(1, min(4, 8/vecs))
	acc := make([][]reg.VecVirtual, sets)
	for s := range acc {
		acc[s] = r.zeros(vecs)
	}
	done := r.label("done")
	if r.source == gather {
		ones := r.label("ones")
		r.TESTQ(r.val, r.val)
		r.JEQ(operand.LabelRef(ones))
		r.entries(acc, true, done)
		r.Label(ones)
		r.entries(acc, false, done)
	} else {
		r.entries(acc, true, done)
	}
	r.Label(done)
	for ; sets > 1; sets = (sets + 1) / 2 {
		for s := range sets / 2 {
			for v := range vecs {
				r.VADDPD(acc[s+(sets+1)/2][v], acc[s][v], acc[s][v])
			}
		}
	}
	for v, sum := range acc[0] {
		m := r.vecAt(r.acc, r.w, v, vecs)
		if r.masked(v, vecs) {
			r.VADDPD_Z(m, sum, r.mask, sum)
		} else {
			r.VADDPD(m, sum, sum)
		}
	}
	r.put(acc[0], r.acc)
	if r.source == inOrder {
		r.end(nil)
		return
	}
	yes := r.GP8()
	r.MOVB(operand.U8(1), yes)
	r.end(yes)
}

// entries writes the loops over all p and jumps to done: first as many entries at a time as there are sets of
// accumulators, with fetching and then without, and then one at a time. So fetch does not change which set an
// entry is added to, nor any bit of the result.
func (r *rowKernel) entries(acc [][]reg.VecVirtual, values bool, done string) {
	sets := len(acc)
	if r.source == gather {
		r.loop(r.fetch, sets, func(s int) {
			r.fetchRow(fetchAhead, s, len(acc[0]))
			r.entry(acc[s], s, values)
			if s == 0 {
				r.SUBQ(operand.U8(sets), r.n)
			}
		}, values)
	}
	if sets > 1 {
		r.loop(r.n, sets, func(s int) { r.entry(acc[s], s, values) }, values)
	}
	r.loop(r.n, 1, func(int) { r.entry(acc[0], 0, values) }, values)
	r.JMP(operand.LabelRef(done))
}

// fetchRow writes the fetching of vecs vectors of a row of x, for the entry that comes ahead entries after
// entry s.
func (r *rowKernel) fetchRow(ahead, s, vecs int) {
	next := r.GP64()
	r.MOVLQSX(operand.Mem{Base: r.idx, Disp: 4 * (ahead + s)}, next)
	r.IMULQ(r.stride, next)
	for line := range r.linesOf(vecs) {
		r.PREFETCHT0(operand.Mem{Base: r.x, Index: next, Scale: 1, Disp: 64 * line})
	}
}

// loop writes: while count ≥ step, do body(0), …, body(step-1), and advance. If step > 1, count ends with
// what remains.
func (r *rowKernel) loop(count reg.Register, step int, body func(s int), values bool) {
	loop, rest := r.label("loop"), r.label("rest")
	r.SUBQ(operand.U8(step), count)
	r.JLT(operand.LabelRef(rest))
	r.Label(loop)
	for s := range step {
		body(s)
	}
	if r.source == gather {
		r.ADDQ(operand.U8(4*step), r.idx)
	}
	if values {
		r.ADDQ(operand.U8(8*step), r.val)
	}
	r.SUBQ(operand.U8(step), count)
	r.JGE(operand.LabelRef(loop))
	r.Label(rest)
	if step > 1 {
		r.ADDQ(operand.U8(step), count)
	}
}

// entry writes the step for the entry s places from where idx and val point: it adds one row of x to acc.
func (r *rowKernel) entry(acc []reg.VecVirtual, s int, values bool) {
	var row reg.Register
	if r.source == gather {
		row = r.GP64()
		r.MOVLQSX(operand.Mem{Base: r.idx, Disp: 4 * s}, row)
		r.IMULQ(r.stride, row)
		r.CMPQ(row, r.limit) // unsigned: a negative one is above too
		r.JHI(operand.LabelRef(r.bad))
		r.ADDQ(r.x, row)
	} else {
		row = r.x
	}
	var c reg.VecVirtual
	if values {
		c = r.vec()
		r.VBROADCASTSD(at(r.val, s), c)
	}
	r.add(acc, row, c)
	if r.source == inOrder {
		r.ADDQ(r.stride, r.x)
	}
}

// add adds c times the columns at row to acc, or the columns themselves if c is nil.
func (r *rowKernel) add(acc []reg.VecVirtual, row reg.Register, c reg.VecVirtual) {
	for v := range acc {
		var m operand.Op = r.vecOf(r.element, row, r.w, v, len(acc))
		masked := r.masked(v, len(acc))
		if r.element == single {
			wide := r.vec()
			if masked {
				r.VCVTPS2PD_Z(m, r.mask, wide)
			} else {
				r.VCVTPS2PD(m, wide)
			}
			m, masked = wide, false
		}
		switch {
		case c != nil && masked:
			r.VFMADD231PD(m, c, r.mask, acc[v])
		case c != nil:
			r.VFMADD231PD(m, c, acc[v])
		case masked:
			r.VADDPD(m, acc[v], r.mask, acc[v])
		default:
			r.VADDPD(m, acc[v], acc[v])
		}
	}
}

// nextRow moves a pointer to rows of the result on by one row. These have as many numbers as rows of x.
func (r *rowKernel) nextRow(p reg.Register) {
	for range double.size / r.element.size {
		r.ADDQ(r.stride, p)
	}
}

// masked reports whether vector v of vecs needs the mask.
func (r *rowKernel) masked(v, vecs int) bool { return v == vecs-1 && r.mask != nil }

// get loads the columns at p into acc. put stores acc there.
func (r *rowKernel) get(acc []reg.VecVirtual, p reg.Register) {
	for v := range acc {
		if m := r.vecAt(p, r.w, v, len(acc)); r.masked(v, len(acc)) {
			r.VMOVUPD_Z(m, r.mask, acc[v])
		} else {
			r.VMOVUPD(m, acc[v])
		}
	}
}

func (r *rowKernel) put(acc []reg.VecVirtual, p reg.Register) {
	for v := range acc {
		if m := r.vecAt(p, r.w, v, len(acc)); r.masked(v, len(acc)) {
			r.VMOVUPD(acc[v], r.mask, m)
		} else {
			r.VMOVUPD(acc[v], m)
		}
	}
}
