package main

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// solveVecs is how many vectors of rows a row solver works on at once: as many chains of dependent operations as keep the
// multiply–add units busy while roots are computed.
const solveVecs = 4

// The root of x³ + a·x − b is y·g(ε) with y = b/a and ε = y²/a ≥ 0, where ε·g³ + g = 1. Polynomials, from the constant term
// on, are within the relative error given of g; by Remez' algorithm. Beyond wideMost there is Newton's iteration.
const (
	nearMost = 0.01
	wideMost = 0.1
)

var (
	near64 = []float64{ // 6e-13 for ε ≤ nearMost
		0.99999999999941791, -0.99999999577773058, 2.9999950315137052, -11.997855535967274, 54.578894085505681,
		-234.24200172085901,
	}
	wide64 = []float64{ // 5e-13 for nearMost ≤ ε ≤ wideMost
		0.99999999959117247, -0.99999985427648364, 2.9999779837196314, -11.998129666953471, 54.899926133830611,
		-269.4191737304543, 1339.2183053754941, -6191.6912241501359, 23471.806493084187, -61050.606594487457,
		78123.540279142166,
	}
	near32 = []float64{ // 4e-9
		0.99999999617481861, -0.99998763558236803, 2.9937347529396354, -10.973027748998186,
	}
	wide32 = []float64{ // 7e-8
		0.99999799112237076, -0.9996035695706702, 2.9715064039398587, -11.006708438158325, 36.175594132730552,
		-66.461974165607799,
	}
)

// solveConsts tells package kernel what the row solvers share with their portable twin.
var solveConsts = fmt.Sprintf(`
// solveVecs is how many vectors of rows a row solver works on at once.
const solveVecs = %d
`, solveVecs)

// solveKernels writes what goes into solve_amd64.s.
func (a *asm) solveKernels() {
	for _, size := range []int{8, 4} {
		s := &solver{asm: a, size: size, width: 8 * a.lanes / size}
		s.choose()
		s.constants()
		for _, s.quartic = range []bool{true, false} {
			s.solve()
		}
		if a.lanes == 4 {
			s.pack()
		}
	}
}

// solver writes the row solvers for numbers of one size. Rows are in lanes, width of them in a vector, and a coordinate of
// all rows is in solveVecs vectors that follow each other in memory.
type solver struct {
	*asm
	ops
	size, width int
	quartic     bool // with the terms of the diagonal of A
	table       operand.Mem
	places      map[string]int
	later       []func() // code for what is rare, to follow after the function's end
	free        []reg.Register

	// The function's values, in registers throughout. Coordinate k of the rows H is at h + k·stride; array bytes on are
	// those of the rows Old, then Lin, then Rest, and 4·array bytes after h is scratch.
	h, array, array3, n, list reg.Register
	// normSq and inner are ‖h‖² and ⟨old, h⟩ of each row, without coordinate j while j is at work. With few registers they
	// are in memory.
	normSq, inner []reg.Register
}

// stride is the bytes of a coordinate.
func (s *solver) stride() int { return 8 * s.lanes * solveVecs }

// ops are the instructions for numbers of one size and vectors of one instruction set. Operands are in Go's order: the
// result is the last, differences and quotients are of the second and the first.
type ops struct {
	add, sub, mul, div, max, min, sqrt, and, or, move, mov, spread func(...operand.Op)
	fma231, fnma231, fma213, fnma213, fms213                       func(...operand.Op)
	cmp                                                            func(...operand.Op)
	// the same with the first operand a constant in memory
	addC, mulC, maxC, fma231C, fma213C, fnma213C, fma132C, andC, orC func(...operand.Op)
}

func (s *solver) choose() {
	wide := s.lanes == 8
	s.ops = ops{
		add: s.VADDPD, sub: s.VSUBPD, mul: s.VMULPD, div: s.VDIVPD, max: s.VMAXPD, min: s.VMINPD, sqrt: s.VSQRTPD,
		and: s.VANDPD, or: s.VORPD, move: s.VMOVAPD, mov: s.VMOVUPD, spread: s.VBROADCASTSD,
		fma231: s.VFMADD231PD, fnma231: s.VFNMADD231PD, fma213: s.VFMADD213PD, fnma213: s.VFNMADD213PD,
		fms213: s.VFMSUB213PD, cmp: s.VCMPPD,
		addC: s.VADDPD, mulC: s.VMULPD, maxC: s.VMAXPD, fma231C: s.VFMADD231PD, fma213C: s.VFMADD213PD,
		fnma213C: s.VFNMADD213PD, fma132C: s.VFMADD132PD, andC: s.VANDPD, orC: s.VORPD,
	}
	if s.size == 4 {
		s.ops = ops{
			add: s.VADDPS, sub: s.VSUBPS, mul: s.VMULPS, div: s.VDIVPS, max: s.VMAXPS, min: s.VMINPS, sqrt: s.VSQRTPS,
			and: s.VANDPS, or: s.VORPS, move: s.VMOVAPS, mov: s.VMOVUPS, spread: s.VBROADCASTSS,
			fma231: s.VFMADD231PS, fnma231: s.VFNMADD231PS, fma213: s.VFMADD213PS, fnma213: s.VFNMADD213PS,
			fms213: s.VFMSUB213PS, cmp: s.VCMPPS,
			addC: s.VADDPS, mulC: s.VMULPS, maxC: s.VMAXPS, fma231C: s.VFMADD231PS, fma213C: s.VFMADD213PS,
			fnma213C: s.VFNMADD213PS, fma132C: s.VFMADD132PS, andC: s.VANDPS, orC: s.VORPS,
		}
	}
	switch {
	case wide && s.size == 8:
		s.addC, s.mulC, s.maxC, s.fma231C = s.VADDPD_BCST, s.VMULPD_BCST, s.VMAXPD_BCST, s.VFMADD231PD_BCST
		s.fma213C, s.fnma213C, s.fma132C = s.VFMADD213PD_BCST, s.VFNMADD213PD_BCST, s.VFMADD132PD_BCST
		s.and, s.or, s.andC, s.orC = s.VPANDQ, s.VPORQ, s.VPANDQ_BCST, s.VPORQ_BCST // VANDPD is not in AVX-512F
	case wide:
		s.addC, s.mulC, s.maxC, s.fma231C = s.VADDPS_BCST, s.VMULPS_BCST, s.VMAXPS_BCST, s.VFMADD231PS_BCST
		s.fma213C, s.fnma213C, s.fma132C = s.VFMADD213PS_BCST, s.VFNMADD213PS_BCST, s.VFMADD132PS_BCST
		s.and, s.or, s.andC, s.orC = s.VPANDD, s.VPORD, s.VPANDD_BCST, s.VPORD_BCST
	}
}

// constants writes the table of constants: a number each where instructions can spread it, else a vector.
func (s *solver) constants() {
	s.table = s.StaticGlobal(fmt.Sprintf("solve%d%s", 8*s.size, s.name))
	s.DataAttributes(attr.RODATA | attr.NOPTR)
	s.places = make(map[string]int)
	copies := 1
	if s.lanes == 4 {
		copies = s.width
	}
	add := func(name string, v operand.Constant) {
		s.places[name] = len(s.places) * copies * s.size
		for range copies {
			s.AppendDatum(v)
		}
	}
	number := func(name string, v float64) {
		if s.size == 8 {
			add(name, operand.F64(v))
		} else {
			add(name, operand.F32(v))
		}
	}
	near, wide := near64, wide64
	if s.size == 4 {
		near, wide = near32, wide32
	}
	for k, c := range near {
		number(fmt.Sprint("near", k), c)
	}
	for k, c := range wide {
		number(fmt.Sprint("wide", k), c)
	}
	number("nearMost", nearMost)
	number("wideMost", wideMost)
	number("zero", 0)
	number("one", 1)
	number("three", 3)
	number("tie", -2.0/27)
	number("third", 1.0/3)
	number("ratio", 1e4)
	number("ratioSq", 1e8)
	if s.size == 8 {
		number("close", 5e-7)
		number("least", -0x1p-1022)
		add("sign", operand.U64(1<<63))
		add("notSign", operand.U64(1<<63-1))
		// A number's leading bits, taken for a whole number, are near its logarithm; those below do not matter. So a third
		// of them, and two thirds of those of 1, is near those of the cube root: at most 3.4 % below and 1.6 % above.
		add("shifted", operand.U64(0x433<<52)) // the bits of 2⁵², with room for 52 more
		number("cbrt", 0x1p52*2/3+float64(uint64(0x3ff<<52)>>20)*2/3+float64(uint64(1<<52)>>20)*0.06)
	} else {
		number("close", 1e-4)
		number("least", -0x1p-126)
		add("sign", operand.U32(1<<31))
		add("notSign", operand.U32(1<<31-1))
		number("cbrt", float64(0x7f<<23)*2/3+float64(1<<23)*0.06)
	}
}

// c returns where a constant is.
func (s *solver) c(name string) operand.Mem {
	at, ok := s.places[name]
	if !ok {
		panic(name) // a misspelt name, here in the generator
	}
	return s.table.Offset(at)
}

// regs takes n vector registers, until the end of the scope.
func (s *solver) regs(n int) []reg.Register {
	v := s.free[:n:n]
	s.free = s.free[n:]
	return v
}

func (s *solver) reg() reg.Register { return s.regs(1)[0] }

// scope runs f and gives back the vector registers that it took.
func (s *solver) scope(f func()) {
	free := s.free
	f()
	s.free = free
}

// each writes f for all vectors of rows.
func (s *solver) each(f func(v int)) {
	for v := range solveVecs {
		s.scope(func() { f(v) })
	}
}

// vector returns the address of vector v from p on, and vectorOf that of the coordinate at p in another array than H: scale
// is 1 for Old, 2 for Lin and 4 for scratch, whose place is that of coordinate 0.
func (s *solver) vector(p reg.Register, v int) operand.Mem {
	return operand.Mem{Base: p, Disp: 8 * s.lanes * v}
}

func (s *solver) old(p reg.Register, v int) operand.Mem {
	return operand.Mem{Base: p, Index: s.array, Scale: 1, Disp: 8 * s.lanes * v}
}

func (s *solver) lin(p reg.Register, v int) operand.Mem {
	return operand.Mem{Base: p, Index: s.array, Scale: 2, Disp: 8 * s.lanes * v}
}

func (s *solver) rest(p reg.Register, v int) operand.Mem {
	return operand.Mem{Base: p, Index: s.array3, Scale: 1, Disp: 8 * s.lanes * v}
}

// The scratch after the four arrays, each of a number for each row.
const (
	scratchDiag = iota
	scratchNormSq
	scratchInner
	scratchKept // two of them
	scratches   = scratchKept + 2
)

func (s *solver) scratch(which, v int) operand.Mem {
	return operand.Mem{Base: s.h, Index: s.array, Scale: 4, Disp: which*s.stride() + 8*s.lanes*v}
}

// kept reports whether normSq and inner are in registers.
func (s *solver) kept() bool { return s.lanes == 8 }

func (s *solver) clear(v reg.Register) {
	if s.lanes == 8 {
		s.VPXORQ(v, v, v)
	} else {
		s.VXORPD(v, v, v)
	}
}

// solve writes the function.
func (s *solver) solve() {
	base, doc := "solve", "¼‖h‖⁴ + ½hᵀ(D − ooᵀ − p·I)h − gᵀh"
	if !s.quartic {
		base, doc = "solveOff", "½hᵀ(D − ooᵀ)h − gᵀh"
	}
	float := fmt.Sprint("float", 8*s.size)
	s.begin(fmt.Sprint(base, 8*s.size), fmt.Sprintf("func(h *%[1]s, r int, d *%[1]s, lists *int32, passes int)", float),
		fmt.Sprintf("%s%d%s minimizes %s as solveRowsGo does, for %d rows.", base, 8*s.size, s.name, doc, solveVecs*s.width))
	s.free = vectorRegisters(s.lanes)
	s.h, s.n, s.list = s.arg("h"), s.arg("r"), s.arg("lists")
	s.array, s.array3 = s.GP64(), s.GP64()
	s.IMUL3Q(operand.I32(s.stride()), s.n, s.array)
	s.LEAQ(operand.Mem{Base: s.array, Index: s.array, Scale: 2}, s.array3)
	s.scope(s.findRest)
	if s.kept() {
		s.normSq, s.inner = s.regs(solveVecs), s.regs(solveVecs)
	}
	pass, done := s.label("pass"), s.label("done")
	s.Label(pass)
	s.DECQ(s.mem("passes"))
	s.JLT(operand.LabelRef(done))
	s.scope(s.sums)
	s.scope(s.once)
	s.JMP(operand.LabelRef(pass))
	s.Label(done)
	s.end(nil)
	for _, write := range s.later {
		write()
	}
	s.later = nil
}

func vectorRegisters(lanes int) []reg.Register {
	y := []reg.Register{
		reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13,
		reg.Y14, reg.Y15,
	}
	z := []reg.Register{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13,
		reg.Z14, reg.Z15, reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26,
		reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
	}
	if lanes == 8 {
		return z
	}
	return y
}

// coordinates writes a loop over all coordinates: body gets where each is in H.
func (s *solver) coordinates(body func(h reg.Register)) {
	left, h := s.GP64(), s.GP64()
	s.MOVQ(s.n, left)
	s.MOVQ(s.h, h)
	loop := s.label("coordinate")
	s.Label(loop)
	body(h)
	s.ADDQ(operand.I32(s.stride()), h)
	s.DECQ(left)
	s.JNE(operand.LabelRef(loop))
}

// findRest writes Rest: D_kk − o_k² − p, or D_kk − o_k² without the diagonal.
func (s *solver) findRest() {
	diag := s.regs(solveVecs)
	if s.quartic && s.kept() {
		s.each(func(v int) { s.mov(s.scratch(scratchDiag, v), diag[v]) })
	}
	dkk, step := s.GP64(), s.GP64()
	s.MOVQ(s.mem("d"), dkk)
	s.LEAQ(operand.Mem{Base: s.n, Disp: 1}, step)
	s.SHLQ(operand.U8(bits.Len(uint(s.size))-1), step)
	s.coordinates(func(h reg.Register) {
		c := s.reg()
		s.spread(operand.Mem{Base: dkk}, c)
		s.ADDQ(step, dkk)
		s.each(func(v int) {
			t, o := s.reg(), s.reg()
			switch {
			case !s.quartic:
				s.move(c, t)
			case s.kept():
				s.sub(diag[v], c, t)
			default:
				s.sub(s.scratch(scratchDiag, v), c, t)
			}
			s.mov(s.old(h, v), o)
			s.fnma231(o, o, t)
			s.mov(t, s.rest(h, v))
		})
	})
}

// sums writes ‖h‖² and ⟨old, h⟩.
func (s *solver) sums() {
	normSq, inner := s.normSq, s.inner
	if !s.kept() {
		normSq, inner = s.regs(solveVecs), s.regs(solveVecs)
	}
	s.each(func(v int) {
		s.clear(normSq[v])
		s.clear(inner[v])
	})
	s.coordinates(func(h reg.Register) {
		s.each(func(v int) {
			x := s.reg()
			s.mov(s.vector(h, v), x)
			s.fma231(x, x, normSq[v])
			s.fma231(s.old(h, v), x, inner[v])
		})
	})
	if !s.kept() {
		s.each(func(v int) {
			s.mov(normSq[v], s.scratch(scratchNormSq, v))
			s.mov(inner[v], s.scratch(scratchInner, v))
		})
	}
}

// once writes one pass over all coordinates, two at a time: first g_j − Σ_k D_jk·h_k over all other k, for both at once so
// that h_k is loaded once; then the first minimizer, what it adds to the sum of the second, and the second minimizer. The
// list is the permutation twice over, so that the others are those that follow, the ones just changed last.
func (s *solver) once() {
	left, second := s.GP64(), s.GP64()
	s.MOVQ(s.n, left)
	pair, passed, root, next := s.label("pair"), s.label("passed"), s.label("root"), s.label("next")
	sums := [2][]reg.Register{s.regs(solveVecs), s.regs(solveVecs)}
	var k, d [2]reg.Register // the two coordinates and their rows of D
	for t := range 2 {
		k[t], d[t] = s.GP64(), s.GP64()
	}
	hj := s.GP64()
	x := make([]reg.Register, solveVecs) // the minimizers, if kept
	if s.kept() {
		x = s.regs(solveVecs)
	}
	others := func(width int) {
		for t := range width {
			s.MOVLQSX(operand.Mem{Base: s.list, Disp: 4 * t}, k[t])
			s.MOVQ(k[t], d[t])
			s.IMULQ(s.n, d[t])
			s.SHLQ(operand.U8(bits.Len(uint(s.size))-1), d[t])
			s.ADDQ(s.mem("d"), d[t])
			h := s.at(k[t])
			s.each(func(v int) { s.mov(s.lin(h, v), sums[t][v]) })
		}
		s.others(width, d, sums)
		s.ADDQ(operand.U8(4*width), s.list)
		s.SUBQ(operand.U8(width), left)
	}

	s.Label(next)
	s.CMPQ(left, operand.U8(1))
	s.JGT(operand.LabelRef(pair))
	s.JLT(operand.LabelRef(passed))
	others(1)
	s.XORQ(second, second)
	s.JMP(operand.LabelRef(root))

	s.Label(pair)
	others(2)
	s.MOVQ(operand.U32(1), second)
	s.scope(func() {
		c, h := s.reg(), s.at(k[1])
		s.spread(s.number(d[0], k[1]), c)
		s.each(func(v int) { s.fnma231(s.vector(h, v), c, sums[0][v]) })
	})

	s.Label(root)
	s.MOVQ(s.at(k[0]), hj)
	s.visit(hj, sums, x)
	s.TESTQ(second, second)
	s.JEQ(operand.LabelRef(next))
	s.XORQ(second, second)
	s.scope(func() {
		c := s.reg()
		s.spread(s.number(d[1], k[0]), c)
		s.each(func(v int) {
			s.move(sums[1][v], sums[0][v])
			if s.kept() {
				s.fnma231(x[v], c, sums[0][v])
			} else {
				s.fnma231(s.vector(hj, v), c, sums[0][v])
			}
		})
	})
	s.MOVQ(k[1], k[0])
	s.JMP(operand.LabelRef(root))

	s.Label(passed)
	s.LEAQ(operand.Mem{Base: s.list, Index: s.n, Scale: 4}, s.list) // to the next permutation
}

// at returns a pointer to coordinate k of H.
func (s *solver) at(k reg.Register) reg.Register {
	h := s.GP64()
	s.MOVQ(k, h)
	s.SHLQ(operand.U8(bits.Len(uint(s.stride()))-1), h)
	s.ADDQ(s.h, h)
	return h
}

// number returns the address of number k from p on.
func (s *solver) number(p, k reg.Register) operand.Mem {
	return operand.Mem{Base: p, Index: k, Scale: uint8(s.size)}
}

// others takes D_jk·h_k off the sums, for the width coordinates j whose rows of D are given and all k in the list after them.
func (s *solver) others(width int, d [2]reg.Register, sums [2][]reg.Register) {
	count, list := s.GP64(), s.GP64()
	s.LEAQ(operand.Mem{Base: s.n, Disp: -width}, count)
	s.LEAQ(operand.Mem{Base: s.list, Disp: 4 * width}, list)
	step := func(at int) {
		s.scope(func() {
			k, h := s.GP64(), s.GP64()
			s.MOVLQSX(operand.Mem{Base: list, Disp: 4 * at}, k)
			s.MOVQ(k, h)
			s.SHLQ(operand.U8(bits.Len(uint(s.stride()))-1), h)
			c := s.regs(width)
			for t := range width {
				s.spread(s.number(d[t], k), c[t])
			}
			s.each(func(v int) {
				x := s.reg()
				s.mov(operand.Mem{Base: s.h, Index: h, Scale: 1, Disp: 8 * s.lanes * v}, x)
				for t := range width {
					s.fnma231(x, c[t], sums[t][v])
				}
			})
		})
	}
	loop, rest, done := s.label("others"), s.label("last"), s.label("all")
	s.SUBQ(operand.U8(2), count)
	s.JLT(operand.LabelRef(rest))
	s.Label(loop)
	step(0)
	step(1)
	s.ADDQ(operand.U8(8), list)
	s.SUBQ(operand.U8(2), count)
	s.JGE(operand.LabelRef(loop))
	s.Label(rest)
	s.CMPQ(count, operand.I8(-1))
	s.JNE(operand.LabelRef(done))
	step(0)
	s.Label(done)
}

// visit writes the minimizer over coordinate j, at hj, in place of h_j, given the sums over the others. With few registers
// it does half of the vectors at a time.
func (s *solver) visit(hj reg.Register, sums [2][]reg.Register, x []reg.Register) {
	if s.kept() {
		s.scope(func() { s.vectorsAtOnce(hj, sums, x, []int{0, 1, 2, 3}) })
		return
	}
	s.scope(func() { s.vectorsAtOnce(hj, sums, x, []int{0, 1}) })
	s.scope(func() { s.vectorsAtOnce(hj, sums, x, []int{2, 3}) })
}

// vectorsAtOnce is visit for some of the vectors.
//
//	b = sum + o·⟨o, h⟩,  a = ‖h‖² + rest,  both without coordinate j;  x = y·g(ε),  y = max(b, 0)/a,  ε = y²/a
func (s *solver) vectorsAtOnce(hj reg.Register, sums [2][]reg.Register, x []reg.Register, vecs []int) {
	b := sums[0]
	e := make([]reg.Register, solveVecs)
	for _, v := range vecs {
		if !s.kept() {
			x[v] = s.reg()
		}
		e[v] = s.reg()
	}
	each := func(f func(v int)) {
		for _, v := range vecs {
			s.scope(func() { f(v) })
		}
	}
	free := s.free
	bad := s.reg()
	normSq, inner := s.normSq, s.inner
	if !s.kept() {
		normSq, inner = e, x
		each(func(v int) {
			s.mov(s.scratch(scratchNormSq, v), normSq[v])
			s.mov(s.scratch(scratchInner, v), inner[v])
		})
	}
	each(func(v int) {
		h := s.reg()
		s.mov(s.vector(hj, v), h)
		if s.quartic {
			s.fnma231(h, h, normSq[v])
		}
		s.fnma231(s.old(hj, v), h, inner[v])
	})
	each(func(v int) { s.fma231(s.old(hj, v), inner[v], b[v]) })
	if !s.kept() {
		each(func(v int) {
			s.mov(normSq[v], s.scratch(scratchNormSq, v))
			s.mov(inner[v], s.scratch(scratchInner, v))
		})
	}
	each(func(v int) {
		sign := e[v]
		if s.quartic {
			s.add(s.rest(hj, v), normSq[v], e[v])
		} else {
			s.mov(s.rest(hj, v), e[v])
			sign = s.reg()
			s.addC(s.c("least"), e[v], sign)
		}
		if v == vecs[0] {
			s.move(sign, bad)
		} else {
			s.or(sign, bad, bad)
		}
	})
	recip := make([]reg.Register, solveVecs)
	if s.lanes == 8 {
		for _, v := range vecs {
			recip[v] = s.reg()
		}
	}
	each(func(v int) { s.reciprocal(e[v], recip[v]) })
	each(func(v int) {
		s.maxC(s.c("zero"), b[v], x[v])
		s.mul(e[v], x[v], x[v]) // y
	})
	if s.quartic {
		each(func(v int) { s.mul(x[v], e[v], e[v]) })
		each(func(v int) { s.mul(x[v], e[v], e[v]) })
	}
	each(func(v int) {
		t := s.reg()
		if s.quartic {
			s.spread(s.c("nearMost"), t)
			s.sub(e[v], t, t)
		} else {
			s.spread(s.c("ratioSq"), t)
			s.mul(s.rest(hj, v), t, t)
			s.fnma231(x[v], x[v], t)
		}
		s.or(t, bad, bad)
	})
	rare, done := s.label("rare"), s.label("done")
	s.testSigns(bad)
	s.JNE(operand.LabelRef(rare))
	p := recip
	if s.lanes == 4 {
		p = make([]reg.Register, solveVecs)
		for _, v := range vecs {
			p[v] = s.reg()
		}
	}
	if s.quartic {
		s.polynomial("near", vecs, e, p)
		each(func(v int) { s.mul(p[v], x[v], x[v]) })
	}
	s.Label(done)
	each(func(v int) {
		n, i := s.normSq, s.inner
		if !s.kept() {
			n, i = e, p
			s.mov(s.scratch(scratchNormSq, v), n[v])
			s.mov(s.scratch(scratchInner, v), i[v])
		}
		if s.quartic {
			s.fma231(x[v], x[v], n[v])
		}
		s.fma231(s.old(hj, v), x[v], i[v])
		s.mov(x[v], s.vector(hj, v))
		if !s.kept() {
			s.mov(n[v], s.scratch(scratchNormSq, v))
			s.mov(i[v], s.scratch(scratchInner, v))
		}
	})
	s.later = append(s.later, func() {
		s.Label(rare)
		s.free = free
		if !s.kept() { // room for what follows
			s.saveSums(sums, false)
			s.free = append(slices.Concat(sums[:]...), free...)
		}
		for _, v := range vecs {
			s.scope(func() {
				b := b[v]
				if !s.kept() {
					b = s.reg()
					s.mov(s.scratch(scratchKept, v), b)
				}
				if s.quartic {
					s.rareQuartic(hj, v, b, x[v], e[v])
				} else {
					s.rareQuadratic(hj, v, b, x[v], e[v])
				}
			})
		}
		if !s.kept() {
			s.saveSums(sums, true)
		}
		s.JMP(operand.LabelRef(done))
	})
}

// saveSums puts the sums into scratch, or back.
func (s *solver) saveSums(sums [2][]reg.Register, back bool) {
	for t := range sums {
		for v, sum := range sums[t] {
			if m := s.scratch(scratchKept+t, v); back {
				s.mov(m, sum)
			} else {
				s.mov(sum, m)
			}
		}
	}
}

// reciprocal replaces a by 1/a, to 2⁻⁴² or 2⁻²⁸ from an estimate to 2⁻¹⁴.
func (s *solver) reciprocal(a, r reg.Register) {
	if s.lanes == 4 {
		t := s.reg()
		s.spread(s.c("one"), t)
		s.div(a, t, a)
		return
	}
	if s.size == 8 {
		s.VRCP14PD(a, r)
		s.fnma213C(s.c("one"), r, a) // 1 − r·a
		s.fma213(a, a, a)
	} else {
		s.VRCP14PS(a, r)
		s.fnma213C(s.c("one"), r, a)
	}
	s.fma213(r, r, a)
}

// polynomial evaluates one of the tables at e.
func (s *solver) polynomial(name string, vecs []int, e, p []reg.Register) {
	k := 0
	for ; ; k++ {
		if _, ok := s.places[fmt.Sprint(name, k)]; !ok {
			break
		}
	}
	k--
	for _, v := range vecs {
		s.spread(s.c(fmt.Sprint(name, k)), p[v])
	}
	for k--; k >= 0; k-- {
		for _, v := range vecs {
			s.fma213C(s.c(fmt.Sprint(name, k)), e[v], p[v])
		}
	}
}

// testSigns sets the flag of zero unless a number in v is negative; v may be lost.
func (s *solver) testSigns(v reg.Register) {
	m := s.signs(v)
	s.testMask(m)
}

// A mask is an opmask or, without them, a vector whose signs matter.

func (s *solver) signs(v reg.Register) reg.Register {
	if s.lanes == 4 {
		return v
	}
	m := s.K()
	if s.size == 8 {
		s.VPTESTMQ_BCST(s.c("sign"), v, m)
	} else {
		s.VPTESTMD_BCST(s.c("sign"), v, m)
	}
	return m
}

func (s *solver) testMask(m reg.Register) {
	if s.lanes == 8 {
		s.KORTESTW(m, m)
		return
	}
	t := s.GP32()
	if s.size == 8 {
		s.VMOVMSKPD(m, t)
	} else {
		s.VMOVMSKPS(m, t)
	}
	s.TESTL(t, t)
}

// Predicates of comparisons, quiet: x < y, x > y, and not x > y, with x the second operand.
const (
	less       = 17
	greater    = 30
	notGreater = 26
)

// compare returns the mask of x < y or x > y; without opmasks it is in t.
func (s *solver) compare(predicate uint8, x, y, t reg.Register) reg.Register {
	if s.lanes == 8 {
		t = s.K()
	}
	s.cmp(operand.U8(predicate), y, x, t)
	return t
}

// blend moves the lanes of x that are in the mask.
func (s *solver) blend(m, x, dst reg.Register) {
	switch {
	case s.lanes == 8:
		s.move(x, m, dst)
	case s.size == 8:
		s.VBLENDVPD(m, x, dst, dst)
	default:
		s.VBLENDVPS(m, x, dst, dst)
	}
}

func (s *solver) both(m, dst reg.Register) {
	if s.lanes == 8 {
		s.KANDW(m, dst, dst)
	} else {
		s.and(m, dst, dst)
	}
}

func (s *solver) either(m, dst reg.Register) {
	if s.lanes == 8 {
		s.KORW(m, dst, dst)
	} else {
		s.or(m, dst, dst)
	}
}

// rareQuadratic sets x to the minimizer without the diagonal in vector v, whatever a and b, in the lanes where it is not
// b/a.
func (s *solver) rareQuadratic(hj reg.Register, v int, b, x, a reg.Register) {
	zero, y, most, m := s.reg(), s.reg(), s.reg(), s.reg()
	s.mov(s.rest(hj, v), a)
	s.spread(s.c("ratioSq"), most)
	s.mul(a, most, most)
	s.fnma231(x, x, most)
	s.addC(s.c("least"), a, m)
	s.or(most, m, m)
	bad := s.signs(m)
	s.clear(zero)
	s.div(a, b, y)
	s.max(zero, y, y)
	s.max(zero, a, most)
	s.sqrt(most, most)
	s.mulC(s.c("ratio"), most, most)
	m = s.reg()
	over := s.compare(greater, y, most, m)
	s.max(s.vector(hj, v), most, most)
	s.blend(over, most, y)
	s.mov(s.vector(hj, v), most)
	s.blend(s.compare(notGreater, a, zero, m), most, y)
	s.blend(bad, y, x)
}

// rareQuartic sets x, which is y, to the minimizer in vector v, whatever a and b.
func (s *solver) rareQuartic(hj reg.Register, v int, b, x, e reg.Register) {
	p, q, t := s.reg(), s.reg(), s.reg()
	s.polynomial("near", []int{0}, []reg.Register{e}, []reg.Register{p})
	s.polynomial("wide", []int{0}, []reg.Register{e}, []reg.Register{q})
	s.spread(s.c("nearMost"), t)
	s.sub(e, t, t)
	s.blend(s.signs(t), q, p)
	s.mul(p, x, x)
	// The lanes in which ε is too large, a is not positive, or something is not finite.
	s.spread(s.c("wideMost"), t)
	s.sub(e, t, t)
	a := e
	if s.kept() {
		s.add(s.rest(hj, v), s.normSq[v], a)
	} else {
		s.mov(s.scratch(scratchNormSq, v), a)
		s.add(s.rest(hj, v), a, a)
	}
	s.or(a, t, t)
	bad := s.signs(t)
	done := s.label("done")
	s.testMask(bad)
	s.JEQ(operand.LabelRef(done))
	s.newton(a, b, x, bad, p, q, done)
	s.Label(done)
}

// newton sets the lanes of x in the mask bad to the minimizer, by Newton's iteration from above. It is 0 unless b > 0, or
// a < 0 and (b/a)² < −2a/27.
func (s *solver) newton(a, b, x, bad, p, q reg.Register, done string) {
	need := s.reg()
	s.div(a, b, p)
	s.mul(p, p, q)
	s.mulC(s.c("tie"), a, need)
	need = s.compare(less, q, need, need)
	zero := q
	s.clear(zero)
	t := s.reg()
	s.either(s.compare(greater, b, zero, t), need)
	s.both(bad, need)
	s.blend(bad, zero, x)
	s.testMask(need)
	s.JEQ(operand.LabelRef(done))
	// above = √max(−a, 0) + more than the cube root of max(b, 0); if a > 0, at most b/a.
	above := s.reg()
	s.max(zero, b, above)
	c := t
	s.spread(s.c("cbrt"), c)
	if s.size == 8 {
		s.VPSRLQ(operand.U8(20), above, above)
		s.orC(s.c("shifted"), above, above)
		s.fma132C(s.c("third"), c, above)
		s.VPSLLQ(operand.U8(20), above, above)
	} else {
		s.VCVTDQ2PS(above, above)
		s.fma132C(s.c("third"), c, above)
		s.VCVTPS2DQ(above, above)
	}
	s.sub(a, zero, t)
	s.max(zero, t, t)
	s.sqrt(t, t)
	s.add(t, above, above)
	s.min(above, p, p)
	s.blend(s.compare(greater, a, zero, t), p, above)
	s.blend(need, above, x)
	// Until a step is so small that the next one would be below rounding.
	loop := s.label("newton")
	s.Label(loop)
	s.mul(x, x, q)
	s.move(a, t)
	s.fma231C(s.c("three"), q, t)
	s.add(a, q, p)
	s.fms213(b, x, p)
	s.div(t, p, p)
	s.sub(p, x, t)
	s.blend(need, t, x)
	s.andC(s.c("notSign"), p, p)
	s.mulC(s.c("close"), x, q)
	s.both(s.compare(greater, p, q, t), need)
	s.testMask(need)
	s.JNE(operand.LabelRef(loop))
}

// pack writes the packing of rows and its reverse, four rows by four columns at a time; the last four columns may overlap
// those before. Zen 4 takes no longer for it than with wider vectors.
func (s *solver) pack() {
	kind := fmt.Sprint(8 * s.size)
	s.begin("pack"+kind, fmt.Sprintf("func(x *float%s, stride, array int, h, ah *float64, r int, diag, l1 *float64, blocks int)", kind),
		fmt.Sprintf("pack%s%s lays 4·blocks rows of r ≥ 4 numbers out as packRowsGo does, but not diag; stride is the bytes of a", kind, s.name),
		"coordinate and array those of all.")
	s.free = vectorRegisters(s.lanes)
	x, stride, array, r, diag := s.arg("x"), s.arg("stride"), s.arg("array"), s.arg("r"), s.arg("diag")
	h, g, l1, row, row3 := s.GP64(), s.GP64(), s.GP64(), s.GP64(), s.GP64()
	p := s.reg()
	s.fourRows(r, row, row3, func() {
		s.MOVQ(s.mem("h"), h)
		s.MOVQ(s.mem("ah"), g)
		s.MOVQ(s.mem("l1"), l1)
		s.VMOVUPD(operand.Mem{Base: diag}, p)
	}, x, stride, []reg.Register{h, g, l1}, func(at reg.Register) {
		old, lin := s.columns(h, row, row3), s.columns(g, row, row3)
		for c := range 4 {
			s.scope(func() {
				w := s.reg()
				s.VBROADCASTSD(operand.Mem{Base: l1, Disp: 8 * c}, w)
				s.VSUBPD(w, lin[c], lin[c])
				s.VMULPD(p, old[c], w) // not fused, as in Go
				s.VSUBPD(w, lin[c], lin[c])
				for k, v := range []reg.Register{old[c], lin[c]} {
					if s.size == 4 {
						s.VCVTPD2PSY(v, v.(reg.Vec).AsX())
						v = v.(reg.Vec).AsX()
					}
					if k == 0 {
						s.VMOVUPD(v, operand.Mem{Base: at})
						s.VMOVUPD(v, operand.Mem{Base: at, Index: array, Scale: 1})
					} else {
						s.VMOVUPD(v, operand.Mem{Base: at, Index: array, Scale: 2})
					}
				}
				s.ADDQ(stride, at)
			})
		}
	}, func() {
		s.ADDQ(operand.U8(32), diag)
		for _, rows := range []string{"h", "ah"} {
			s.SHLQ(operand.U8(2), row)
			s.ADDQ(row, s.mem(rows))
			s.SHRQ(operand.U8(2), row)
		}
	})

	s.begin("unpack"+kind, fmt.Sprintf("func(dst *float64, x *float%s, stride, array, r, blocks int)", kind),
		fmt.Sprintf("unpack%s%s is unpackRowsGo for 4·blocks rows of r ≥ 4 numbers; stride is the bytes of a coordinate and", kind, s.name),
		"array those of all.")
	s.free = vectorRegisters(s.lanes)
	x, stride, array, r = s.arg("x"), s.arg("stride"), s.arg("array"), s.arg("r")
	dst := s.GP64()
	row, row3 = s.GP64(), s.GP64()
	s.fourRows(r, row, row3, func() { s.MOVQ(s.mem("dst"), dst) }, x, stride, []reg.Register{dst}, func(at reg.Register) {
		c := s.regs(4)
		for k := range c {
			if s.size == 8 {
				s.VMOVUPD(operand.Mem{Base: at}, c[k])
				s.VSUBPD(operand.Mem{Base: at, Index: array, Scale: 1}, c[k], c[k])
			} else {
				s.VMOVUPS(operand.Mem{Base: at}, c[k].(reg.Vec).AsX())
				s.VSUBPS(operand.Mem{Base: at, Index: array, Scale: 1}, c[k].(reg.Vec).AsX(), c[k].(reg.Vec).AsX())
				s.VCVTPS2PD(c[k].(reg.Vec).AsX(), c[k])
			}
			s.ADDQ(stride, at)
		}
		t := s.regs(4)
		for k := range 2 {
			s.VUNPCKLPD(c[2*k+1], c[2*k], t[2*k])
			s.VUNPCKHPD(c[2*k+1], c[2*k], t[2*k+1])
		}
		for k := range 4 { // row k in two of the t
			half := operand.U8(0x20 + 0x11*(k/2))
			s.VPERM2F128(half, t[2+k%2], t[k%2], c[k])
			s.VMOVUPD(c[k], fourth(dst, row, row3, k))
		}
	}, func() {
		s.SHLQ(operand.U8(2), row)
		s.ADDQ(row, s.mem("dst"))
		s.SHRQ(operand.U8(2), row)
	})
}

// fourRows writes a loop over the argument blocks, and in it one over four columns at a time: begin sets pointers to the
// block's first column, columns does four, with at pointing to the first one's place in x, which it advances by four
// coordinates; end moves on to the next block.
func (s *solver) fourRows(r, row, row3 reg.Register, begin func(), x, stride reg.Register, pointers []reg.Register, columns func(at reg.Register), end func()) {
	at, left, back := s.GP64(), s.GP64(), s.GP64()
	block, four, last, done := s.label("block"), s.label("four"), s.label("last"), s.label("done")
	s.LEAQ(operand.Mem{Base: r, Index: r, Scale: 2}, row3)
	s.SHLQ(operand.U8(3), row3)
	s.MOVQ(r, row)
	s.SHLQ(operand.U8(3), row)
	s.Label(block)
	begin()
	s.MOVQ(x, at)
	s.MOVQ(r, left)
	s.Label(four)
	s.scope(func() { columns(at) })
	for _, p := range pointers {
		s.ADDQ(operand.U8(32), p)
	}
	s.SUBQ(operand.U8(4), left)
	s.CMPQ(left, operand.U8(4))
	s.JGE(operand.LabelRef(four))
	s.TESTQ(left, left)
	s.JEQ(operand.LabelRef(last))
	// Back by 4 − left columns.
	s.MOVQ(left, back)
	s.SUBQ(operand.U8(4), back)
	for _, p := range pointers {
		s.LEAQ(operand.Mem{Base: p, Index: back, Scale: 8}, p)
	}
	s.IMULQ(stride, back)
	s.ADDQ(back, at)
	s.MOVQ(operand.U32(4), left)
	s.JMP(operand.LabelRef(four))
	s.Label(last)
	s.ADDQ(operand.U8(4*s.size), x)
	end()
	s.DECQ(s.mem("blocks"))
	s.JNE(operand.LabelRef(block))
	s.Label(done)
	s.end(nil)
}

// fourth returns where row k of four is.
func fourth(p, row, row3 reg.Register, k int) operand.Mem {
	switch k {
	case 1, 2:
		return operand.Mem{Base: p, Index: row, Scale: uint8(k)}
	case 3:
		return operand.Mem{Base: p, Index: row3, Scale: 1}
	}
	return operand.Mem{Base: p}
}

// columns loads four numbers each of the four rows at p and returns them by columns.
func (s *solver) columns(p, row, row3 reg.Register) []reg.Register {
	c := s.regs(4)
	s.scope(func() {
		rows := s.regs(2)
		for pair := range 2 {
			for k, v := range rows { // rows k and k+2 in the halves
				m := fourth(p, row, row3, k)
				m.Disp = 16 * pair
				s.VMOVUPD(m, v.(reg.Vec).AsX())
				m = fourth(p, row, row3, k+2)
				m.Disp = 16 * pair
				s.VINSERTF128(operand.U8(1), m, v, v)
			}
			s.VUNPCKLPD(rows[1], rows[0], c[2*pair])
			s.VUNPCKHPD(rows[1], rows[0], c[2*pair+1])
		}
	})
	return c
}
