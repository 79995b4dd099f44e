package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A tile is a part of C = A·X, some rows by a panel of columns, that stays in registers while A and X go by.
// It has 8 rows by 3 vectors with AVX-512, and 4 by 3 with AVX2. Together with a row of X and one broadcast
// number it takes 28 of 32 registers with AVX-512, and all 16 with AVX2. A line is a tile of one row.
const (
	tileRowsAVX2   = 4
	tileRowsAVX512 = 8
	tileVecs       = 3
	lineVecs       = 8

	gramSquareColumns = 16
)

// gemmConsts tells package kernel the shapes of tiles.
var gemmConsts = fmt.Sprintf(`
// The rows of a tile, and the most columns of a tile and of a line.
const (
	tileRowsAVX2   = %d
	tileColsAVX2   = %d
	lineColsAVX2   = %d
	tileRowsAVX512 = %d
	tileColsAVX512 = %d
	lineColsAVX512 = %d
)

// gramSquareColumns is how many rows and columns gramSquare does.
const gramSquareColumns = %d

// peakChains is how many fused multiply–adds of vectors a turn of peak does.
const peakChains = %d
`, tileRowsAVX2, tileVecs*lanesAVX2, lineVecs*lanesAVX2, tileRowsAVX512, tileVecs*lanesAVX512, lineVecs*lanesAVX512, gramSquareColumns, peakChains)

// gemmKernels writes what goes into gemm_amd64.s.
func (a *asm) gemmKernels() {
	a.tile("float64")
	a.tile("float32")
	a.tileSingle()
	if a.lanes == 8 {
		a.gram()
		a.gramSquare()
	}
	a.peak()
}

// tile writes c[i][k] += alpha·Σ_l a[i][l]·x[l][k] for a tile whose height is any power of two up to the
// greatest. Each sum is one chain of fused multiply–adds in order of l, from zero, whatever the shape of the
// tile. At the end alpha times the sum is added to c, which is fused too.
func (a *asm) tile(element string) {
	height, widest := tileRowsAVX2, a.lanes*tileVecs
	if a.lanes == 8 {
		height = tileRowsAVX512
	}
	base, size := "tile", 8
	if element == "float32" {
		base, size = "tile32", 4
	}
	a.begin(base, fmt.Sprintf("func(c *float64, alpha float64, a *%s, x *float64, n, tiles, h, w, cstride, arow, astep, xstride, ahead int)", element),
		fmt.Sprintf("%s%s adds alpha·Σ_l a[(i·arow + l·astep)/%d]·x[l·xstride/8 + k] to c[i·cstride/8 + k] for 0 ≤ l < n,", base, a.name, size),
		fmt.Sprintf("0 ≤ i < tiles·h and 0 ≤ k < w, n, tiles ≥ 1, h a power of two up to %d and %d ≤ w ≤ %d, or %d if h is 1. Strides are in", height, a.leastColumns(), widest, a.lanes*lineVecs),
		a.aheadDoc())
	t := &tileKernel{asm: a, size: size}
	t.xstride, t.arow, t.astep, t.w = a.arg("xstride"), a.arg("arow"), a.arg("astep"), a.arg("w")
	t.c, t.a, t.next, t.x, t.n, t.tiles = a.arg("c"), a.arg("a"), a.GP64(), a.GP64(), a.GP64(), a.arg("tiles")
	if a.lanes == 8 {
		t.mask = a.lastMask(t.w)
	}
	h := a.arg("h")
	for t.rows = height; t.rows > 1; t.rows /= 2 {
		lower := a.label("lower")
		a.CMPQ(h, operand.U8(t.rows))
		a.JLT(operand.LabelRef(lower))
		t.findRows()
		a.choose(t.w, 1, tileVecs, t.panel)
		a.Label(lower)
	}
	t.findRows()
	a.choose(t.w, 1, lineVecs, t.panel)
}

// gram writes a tile of 8 rows of c = xᵀ·x, from the diagonal on. It leaves out the first 4 columns of the
// last 4 rows, which lie left of the diagonal. So a step takes 6 vectors where a tile takes 8, or 14 where a
// tile takes 16.
func (a *asm) gram() {
	a.begin("gram", "func(c, x *float64, n, w, cstride, xstride int)",
		fmt.Sprintf("gram%s adds Σ_l x[l·xstride/8 + i]·x[l·xstride/8 + k] to c[i·cstride/8 + k], 0 ≤ l < n, 0 ≤ i < %d, 0 ≤ k < w, unless i ≥ 4 and k < 4,", a.name, tileRowsAVX512),
		fmt.Sprintf("with n ≥ 1 and %d ≤ w ≤ %d. Strides are in bytes.", a.lanes, a.lanes*tileVecs))
	t := &tileKernel{asm: a, size: 8, rows: tileRowsAVX512}
	t.xstride, t.w, t.c, t.x, t.n = a.arg("xstride"), a.arg("w"), a.arg("c"), a.arg("x"), a.arg("n")
	t.mask = a.lastMask(t.w)
	a.choose(t.w, 1, tileVecs, func(vecs int) {
		t.vecs = vecs
		if vecs > 1 {
			t.halfOrWhole(t.gramColumns)
		} else {
			t.gramColumns()
		}
	})
}

// gramSquare writes all of c = xᵀ·x for 16 columns, from the diagonal on, and a few numbers left of it. A
// step takes 24 vectors in one pass over x. gram would take two passes, one of 12 vectors and four halves and
// one of 12 halves.
func (a *asm) gramSquare() {
	const columns, vecs = gramSquareColumns, gramSquareColumns / lanesAVX512
	a.begin("gramSquare", "func(c, x *float64, n, cstride, xstride int)",
		fmt.Sprintf("gramSquare%s adds Σ_l x[l·xstride/8 + i]·x[l·xstride/8 + k] to c[i·cstride/8 + k], 0 ≤ l < n, 0 ≤ i, k < %d, unless i ≥ %d and k < %[3]d,", a.name, columns, lanesAVX512),
		"with n ≥ 1. Strides are in bytes.")
	xstride, c, x, n := a.arg("xstride"), a.arg("c"), a.arg("x"), a.arg("n")
	var acc [columns][vecs]reg.VecVirtual // nil left of the diagonal
	each := func(i int, f func(v int)) {
		for v := i / a.lanes; v < vecs; v++ {
			f(v)
		}
	}
	for i := range columns {
		each(i, func(v int) { acc[i][v] = a.zeros(1)[0] })
	}
	loop := a.label("loop")
	a.Label(loop)
	var row [vecs]reg.VecVirtual
	for v := range row {
		row[v] = a.vec()
		a.VMOVUPD(at(x, v*a.lanes), row[v])
	}
	for i := range columns {
		if last := vecs - 1; i/a.lanes == last {
			a.VFMADD231PD_BCST(at(x, i), row[last], acc[i][last])
			continue
		}
		f := a.vec()
		a.VBROADCASTSD(at(x, i), f)
		each(i, func(v int) { a.VFMADD231PD(row[v], f, acc[i][v]) })
	}
	a.ADDQ(xstride, x)
	a.DECQ(n)
	a.JNE(operand.LabelRef(loop))
	for i := range columns {
		each(i, func(v int) {
			m, sum := at(c, v*a.lanes), acc[i][v]
			a.VADDPD(m, sum, sum)
			a.VMOVUPD(sum, m)
		})
		a.ADDQ(a.mem("cstride"), c)
	}
	a.end(nil)
}

// gramColumns writes the tile of gram for vecs vectors, up to its return.
func (t *tileKernel) gramColumns() {
	// Each part of the columns is in one register. Rows of the upper half have all columns, those of the
	// lower half lack the first.
	type columns struct {
		at, lanes int
		masked    bool
		lower     bool // whether rows of the lower half have these columns
		upper     bool // whether rows of the upper half have these columns
	}
	const half = 4 // rows, and columns, of half a vector
	var parts []columns
	if t.vecs == 1 { // only halves: two of them and their factors are loaded in the time of one vector (Zen 4)
		parts = []columns{{lanes: half, upper: true}, {at: half, lanes: half, upper: true, lower: true}}
	} else {
		parts = []columns{{lanes: t.lanes, upper: true}, {at: half, lanes: half, lower: true}}
		for v := 1; v < t.vecs; v++ {
			parts = append(parts, columns{at: v * t.lanes, lanes: t.lanesOf(v), masked: t.masked(v), upper: true, lower: true})
		}
	}
	has := func(i int, c columns) bool { return i < half && c.upper || i >= half && c.lower }
	acc := make([][]reg.VecVirtual, t.rows)
	for i := range acc {
		acc[i] = make([]reg.VecVirtual, len(parts))
		for k, c := range parts {
			if has(i, c) {
				acc[i][k] = t.zeros(1)[0]
			}
		}
	}
	loop := t.label("loop")
	t.Label(loop)
	x := make([]reg.VecVirtual, len(parts))
	for k, c := range parts {
		x[k] = t.vec()
		if m := at(t.x, c.at); c.masked {
			t.VMOVUPD_Z(m, t.mask, part(x[k], c.lanes))
		} else {
			t.VMOVUPD(m, part(x[k], c.lanes))
		}
	}
	for i, sums := range acc {
		f, most := t.vec(), 0
		for _, c := range parts {
			if has(i, c) {
				most = max(most, c.lanes)
			}
		}
		t.VBROADCASTSD(at(t.x, i), part(f, most))
		for k, c := range parts {
			if has(i, c) {
				t.VFMADD231PD(part(x[k], c.lanes), part(f, c.lanes), part(sums[k], c.lanes))
			}
		}
	}
	t.ADDQ(t.xstride, t.x)
	t.DECQ(t.n)
	t.JNE(operand.LabelRef(loop))
	for i, sums := range acc {
		for k, c := range parts {
			if !has(i, c) {
				continue
			}
			m, s := at(t.c, c.at), part(sums[k], c.lanes)
			if c.masked {
				t.VADDPD_Z(m, s, t.mask, s)
				t.VMOVUPD(s, t.mask, m)
			} else {
				t.VADDPD(m, s, s)
				t.VMOVUPD(s, m)
			}
		}
		t.ADDQ(t.mem("cstride"), t.c)
	}
	t.end(nil)
}

// aheadDoc says what the parameter ahead does.
func (a *asm) aheadDoc() string {
	if a.lanes == 8 {
		return "bytes. Unless ahead is 0, tiles of the greatest h fetch what lies ahead bytes further on in the first half of their rows."
	}
	return "bytes. Only AVX-512 uses ahead."
}

// panel writes the tile for vecs vectors. A last vector of at most 4 columns takes half a register. That
// takes half the time where the processor computes whole vectors in two halves (Zen 4), and no longer
// elsewhere.
func (t *tileKernel) panel(vecs int) {
	t.vecs = vecs
	if t.lanes == 8 && t.rows > 1 {
		t.halfOrWhole(t.columns)
	} else {
		t.columns()
	}
}

// halfOrWhole writes body, which ends with a return, twice: for a last vector of at most 4 columns and for a
// wider one.
func (t *tileKernel) halfOrWhole(body func()) {
	whole := t.label("whole")
	t.CMPQ(t.w, operand.U32(8*t.vecs-4))
	t.JGT(operand.LabelRef(whole))
	t.half = true
	body()
	t.half = false
	t.Label(whole)
	body()
}

// tileKernel is what the code of one tile shares.
type tileKernel struct {
	*asm
	size, rows, vecs        int           // size is the bytes of an element of A
	half                    bool          // the last vector is half a register
	row                     []operand.Mem // where the numbers of A for the current step are; their bases advance
	bases                   []reg.Register
	c, a, next, x, n, tiles reg.Register
	xstride, arow, astep, w reg.Register
	mask                    reg.Register // of the last vector, 8 lanes only
}

// findRows sets row and bases: row i begins at a + i·arow.
func (t *tileKernel) findRows() {
	t.bases = []reg.Register{t.a}
	t.row = []operand.Mem{{Base: t.a}}
	if t.rows == 1 {
		return
	}
	three := t.GP64()
	t.LEAQ(operand.Mem{Base: t.arow, Index: t.arow, Scale: 2}, three)
	fourRows := func(base reg.Register) []operand.Mem {
		return []operand.Mem{{Base: base}, {Base: base, Index: t.arow, Scale: 1}, {Base: base, Index: t.arow, Scale: 2}, {Base: base, Index: three, Scale: 1}}
	}
	t.row = fourRows(t.a)
	if t.rows == 8 || t.fetches() {
		t.bases = append(t.bases, t.next)
		t.row = append(t.row, fourRows(t.next)...)
	}
}

// lanesOf returns the number of lanes that vector v works on.
func (t *tileKernel) lanesOf(v int) int {
	if t.half && v == t.vecs-1 {
		return 4
	}
	return t.lanes
}

// masked reports whether vector v needs the mask.
func (t *tileKernel) masked(v int) bool { return t.lanes == 8 && v == t.vecs-1 }

// columns writes the tile for vecs vectors, up to its return.
func (t *tileKernel) columns() {
	again := t.label("again")
	t.Label(again)
	if len(t.bases) > 1 {
		t.LEAQ(operand.Mem{Base: t.a, Index: t.arow, Scale: 4}, t.next)
	}
	t.Load(t.Param("x"), t.x)
	t.Load(t.Param("n"), t.n)
	acc := make([][]reg.VecVirtual, t.rows)
	for i := range acc {
		acc[i] = t.zeros(t.vecs)
	}
	if t.fetches() {
		t.loop(acc, t.rows, func(s int) { t.PREFETCHT0(t.row[s+4]) })
	}
	if t.lanes == 8 && t.rows == tileRowsAVX512 {
		near, ahead := t.label("near"), t.GP64()
		t.Load(t.Param("ahead"), ahead)
		t.TESTQ(ahead, ahead)
		t.JEQ(operand.LabelRef(near))
		// Half of the rows are fetched where A continues, a line of one row at every other step. More at a time would
		// delay what is wanted now.
		row := t.GP64()
		t.loop(acc, t.rows, func(s int) {
			if s%2 == 0 {
				t.LEAQ(t.row[s/2], row)
				t.PREFETCHT1(operand.Mem{Base: row, Index: ahead, Scale: 1})
			}
		})
		t.Label(near)
	}
	t.loop(acc, 1, nil)
	alpha := t.vec()
	t.VBROADCASTSD(t.mem("alpha"), alpha)
	for _, sums := range acc {
		for v, sum := range sums { // all loads before the first store, since vectors may overlap
			m, s := t.vecAt(t.c, t.w, v, t.vecs), part(sum, t.lanesOf(v))
			if t.masked(v) {
				t.VFMADD213PD(m, part(alpha, t.lanesOf(v)), t.mask, s)
			} else {
				t.VFMADD213PD(m, part(alpha, t.lanesOf(v)), s)
			}
		}
		for v, sum := range sums {
			m, s := t.vecAt(t.c, t.w, v, t.vecs), part(sum, t.lanesOf(v))
			if t.masked(v) {
				t.VMOVUPD(s, t.mask, m)
			} else {
				t.VMOVUPD(s, m)
			}
		}
		t.ADDQ(t.mem("cstride"), t.c)
	}
	// Go on to the next tile of A.
	t.Load(t.Param("n"), t.n)
	t.IMULQ(t.astep, t.n)
	t.SUBQ(t.n, t.a)
	for range t.rows {
		t.ADDQ(t.arow, t.a)
	}
	t.DECQ(t.tiles)
	t.JNE(operand.LabelRef(again))
	t.end(nil)
}

// fetches reports whether the tile fetches the part of A for the tile below it into the cache. A tile of 4 by
// 12 leaves too little room in the processor's window of pending instructions to hide the time that memory
// takes: with A in memory and r = 16, fetching makes it 1.4 times as fast. Tiles of AVX-512, whose steps take
// longer, gain nothing from that. They fetch the next chunk of half of their own rows when they are told to.
func (t *tileKernel) fetches() bool { return t.lanes == 4 && t.rows == 4 }

// loop writes a loop that does steps steps a turn, as often as n allows, and leaves in n the steps that
// remain. fetch is called before each step.
func (t *tileKernel) loop(acc [][]reg.VecVirtual, steps int, fetch func(s int)) {
	loop, rest := t.label("loop"), t.label("rest")
	t.SUBQ(operand.U8(steps), t.n)
	t.JLT(operand.LabelRef(rest))
	t.Label(loop)
	for s := range steps {
		if fetch != nil {
			fetch(s)
		}
		t.step(acc)
		for _, base := range t.bases {
			t.ADDQ(t.astep, base)
		}
		t.ADDQ(t.xstride, t.x)
	}
	t.SUBQ(operand.U8(steps), t.n)
	t.JGE(operand.LabelRef(loop))
	t.Label(rest)
	t.ADDQ(operand.U8(steps), t.n)
}

// step writes one step: a number from each row of A times a row of X.
func (t *tileKernel) step(acc [][]reg.VecVirtual) {
	if t.rows == 1 {
		f := t.element(0)
		for v, sum := range acc[0] {
			if m := t.vecAt(t.x, t.w, v, t.vecs); t.masked(v) {
				t.VFMADD231PD(m, f, t.mask, sum)
			} else {
				t.VFMADD231PD(m, f, sum)
			}
		}
		return
	}
	x := make([]reg.VecVirtual, t.vecs)
	for v := range x {
		x[v] = t.vec()
		if m := t.vecAt(t.x, t.w, v, t.vecs); t.masked(v) {
			t.VMOVUPD_Z(m, t.mask, part(x[v], t.lanesOf(v)))
		} else {
			t.VMOVUPD(m, x[v])
		}
	}
	for i, sums := range acc {
		f := t.element(i)
		for v, sum := range sums {
			l := t.lanesOf(v)
			t.VFMADD231PD(part(x[v], l), part(f, l), part(sum, l))
		}
	}
}

// element returns a register that holds the number of row i of A in all lanes.
func (t *tileKernel) element(i int) reg.VecVirtual {
	f := t.vec()
	switch {
	case t.size == 8:
		t.VBROADCASTSD(t.row[i], f)
	case t.lanes == 8:
		t.VCVTPS2PD_BCST(t.row[i], f)
	default:
		t.VBROADCASTSS(t.row[i], f.AsX())
		t.VCVTPS2PD(f.AsX(), f)
	}
	return f
}

// peakChains is how many sums peak works on at once: more than the latency of a multiply–add times the number
// that begin in a cycle.
const peakChains = 12

// peak writes fused multiply–adds that do not wait for anything: the yardstick of the benchmarks.
func (a *asm) peak() {
	a.begin("peak", "func(n int)", fmt.Sprintf("peak%s does n times %d fused multiply–adds of vectors, in registers alone.", a.name, peakChains))
	n := a.arg("n")
	acc := a.zeros(peakChains + 2)
	loop := a.label("loop")
	a.Label(loop)
	for _, sum := range acc[2:] {
		a.VFMADD231PD(acc[0], acc[1], sum)
	}
	a.DECQ(n)
	a.JNE(operand.LabelRef(loop))
	a.end(nil)
}
