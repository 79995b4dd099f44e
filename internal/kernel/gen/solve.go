package main

import (
	"fmt"
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// solveBytes is how many bytes of rows a row solver works on at once. Each vector is a chain of dependent
// operations; these are enough of them to keep the multiply–add units busy while roots are computed.
const solveBytes = 256

// solveConsts tells package kernel what the row solvers share with their portable twin.
var solveConsts = fmt.Sprintf(`
// solveBytes is how many bytes of rows a row solver works on at once.
const solveBytes = %d

// The packing takes packBlock rows of at least packCols columns at a time. With AVX-512 it takes as many rows as have
// wideBytes bytes in a coordinate, of at least wideCols columns.
const (
	packBlock = %d
	packCols  = %d
	wideBytes = %d
	wideCols  = %d
)
`, solveBytes, packRows, packCols, 8*lanesAVX512, wideCols)

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
		} else {
			s.packWide()
		}
	}
}

// solver writes the row solvers for numbers of one size. Rows are in lanes, width of them in a vector. A
// coordinate of all rows takes solveBytes bytes.
type solver struct {
	*asm
	ops
	size, width int
	quartic     bool // with the terms of the diagonal of A
	table       operand.Mem
	places      map[string]int
	degree      map[string]int // of the polynomial of each table of coefficients
	later       []func()       // writes the code for rare cases, after the function's end
	free        []reg.Register

	// The function's values, in registers throughout. Coordinate k of the rows H is at h + k·solveBytes. The
	// same coordinate of the rows Old lies array bytes further on, then come Lin and Rest. Scratch is at h +
	// 4·array.
	h, array, array3, n, list reg.Register
	// normSq and inner are ‖h‖² and ⟨old, h⟩ of each row, without coordinate j while j is worked on. With few
	// registers they are in memory.
	normSq, inner []reg.Register
}

// vecs returns how many vectors solveBytes bytes are.
func (s *solver) vecs() int { return solveBytes / (8 * s.lanes) }

// sumVecs is how many vectors go through a visit together, and have their sums in registers at once, for two
// coordinates.
const sumVecs = 4

// vector returns the address of vector v of the coordinate of H at p. old, lin and rest return the addresses
// of that vector in the other arrays.
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

// The scratch after the four arrays. Each kind has one number for each row.
const (
	scratchDiag = iota
	scratchNormSq
	scratchInner
	scratchSums // for two coordinates
)

func (s *solver) scratch(which, v int) operand.Mem {
	return operand.Mem{Base: s.h, Index: s.array, Scale: 4, Disp: which*solveBytes + 8*s.lanes*v}
}

// kept reports whether normSq and inner are in registers.
func (s *solver) kept() bool { return s.lanes == 8 }

// solve writes the function.
func (s *solver) solve() {
	base, doc := "solve", "¼‖h‖⁴ + ½hᵀ(D − ooᵀ − p·I)h − gᵀh"
	if !s.quartic {
		base, doc = "solveOff", "½hᵀ(D − ooᵀ)h − gᵀh"
	}
	float := fmt.Sprint("float", 8*s.size)
	s.begin(fmt.Sprint(base, 8*s.size), fmt.Sprintf("func(h *%[1]s, r int, d *%[1]s, lists *int32, passes int)", float),
		fmt.Sprintf("%s%d%s minimizes %s as solveRowsGo does, for %d rows.", base, 8*s.size, s.name, doc, solveBytes/s.size))
	s.free = vectorRegisters(s.lanes)
	s.h, s.n, s.list = s.arg("h"), s.arg("r"), s.arg("lists")
	s.array, s.array3 = s.GP64(), s.GP64()
	s.IMUL3Q(operand.I32(solveBytes), s.n, s.array)
	s.LEAQ(operand.Mem{Base: s.array, Index: s.array, Scale: 2}, s.array3)
	if s.kept() {
		s.normSq, s.inner = s.regs(s.vecs()), s.regs(s.vecs())
	}
	s.scope(s.findRest)
	pass, done := s.label("pass"), s.label("done")
	s.Label(pass)
	s.DECQ(s.mem("passes"))
	s.JLT(operand.LabelRef(done))
	s.scope(s.once)
	s.JMP(operand.LabelRef(pass))
	s.Label(done)
	s.end(nil)
	for _, write := range s.later {
		write()
	}
	s.later = nil
}

// findRest writes Rest, which is D_kk − o_k² − p, or D_kk − o_k² without the diagonal. It also writes ‖h‖²
// and ⟨old, h⟩, which are equal at this point.
func (s *solver) findRest() {
	normSq := s.normSq
	if !s.kept() {
		normSq = s.regs(s.vecs())
	}
	s.each(func(v int) { s.clear(normSq[v]) })
	diag := make([]reg.Register, s.vecs())
	if s.quartic && s.kept() {
		diag = s.regs(s.vecs())
		s.each(func(v int) { s.mov(s.scratch(scratchDiag, v), diag[v]) })
	}
	left, h, dkk, step := s.GP64(), s.GP64(), s.GP64(), s.GP64()
	s.MOVQ(s.n, left)
	s.MOVQ(s.h, h)
	s.MOVQ(s.mem("d"), dkk)
	s.LEAQ(operand.Mem{Base: s.n, Disp: 1}, step)
	s.SHLQ(s.shift(s.size), step)
	loop := s.label("coordinate")
	s.Label(loop)
	s.scope(func() {
		c := s.reg()
		s.spread(operand.Mem{Base: dkk}, c)
		s.each(func(v int) {
			t, o := s.reg(), s.reg()
			s.mov(s.old(h, v), o)
			s.mul(o, o, o)
			s.add(o, normSq[v], normSq[v])
			s.sub(o, c, t)
			switch {
			case s.quartic && s.kept():
				s.sub(diag[v], t, t)
			case s.quartic:
				s.sub(s.scratch(scratchDiag, v), t, t)
			}
			s.mov(t, s.rest(h, v))
		})
	})
	s.ADDQ(step, dkk)
	s.ADDQ(operand.I32(solveBytes), h)
	s.DECQ(left)
	s.JNE(operand.LabelRef(loop))
	s.each(func(v int) {
		if s.kept() {
			s.mov(normSq[v], s.inner[v])
			return
		}
		s.mov(normSq[v], s.scratch(scratchNormSq, v))
		s.mov(normSq[v], s.scratch(scratchInner, v))
	})
}

// once writes one pass over all coordinates, two at a time. First come the sums g_j − Σ_k D_jk·h_k over all
// other k, for both coordinates at once, so that each h_k is loaded once. Then come the first minimizer, what
// it adds to the sum of the second, and the second minimizer. The list is the permutation twice in a row, so
// the other coordinates are those that follow, with the ones changed last at the end.
func (s *solver) once() {
	left, second := s.GP64(), s.GP64()
	s.MOVQ(s.n, left)
	next, pair, root, passed := s.label("next"), s.label("pair"), s.label("root"), s.label("passed")
	var k, d [2]reg.Register // the two coordinates and their rows of D
	for t := range k {
		k[t], d[t] = s.GP64(), s.GP64()
	}
	w := &visit{h: s.GP64()}
	sums := [2][]reg.Register{s.regs(sumVecs), s.regs(sumVecs)}
	if s.kept() {
		w.sums, w.x = sums[0], s.regs(sumVecs)
	} else {
		w.sum, w.other = s.GP64(), s.GP64()
	}

	// others does the sums for the next one or two coordinates in the list.
	others := func(width int) {
		for t := range width {
			s.MOVLQSX(operand.Mem{Base: s.list, Disp: 4 * t}, k[t])
			s.MOVQ(k[t], d[t])
			s.IMULQ(s.n, d[t])
			s.SHLQ(s.shift(s.size), d[t])
			s.ADDQ(s.mem("d"), d[t])
		}
		for first := 0; first < s.vecs(); first += sumVecs {
			for t := range width {
				h := s.at(k[t])
				for v := range sumVecs {
					s.mov(s.lin(h, first+v), sums[t][v])
				}
			}
			s.others(d[:width], sums[:width], first)
			if width == 2 {
				s.scope(func() {
					c, h := s.reg(), s.at(k[1])
					s.spread(s.number(d[0], k[1]), c)
					for v, sum := range sums[0] {
						s.fnma231(s.vector(h, first+v), c, sum)
					}
				})
			}
			if !s.kept() {
				for t := range width {
					for v, sum := range sums[t] {
						s.mov(sum, s.scratch(scratchSums+t, first+v))
					}
				}
			}
		}
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

	if s.kept() {
		s.Label(root)
		s.MOVQ(s.at(k[0]), w.h)
		s.visit(w)
		s.TESTQ(second, second)
		s.JEQ(operand.LabelRef(next))
		s.scope(func() {
			c := s.reg()
			s.spread(s.number(d[1], k[0]), c)
			for v, x := range w.x {
				s.mov(sums[1][v], sums[0][v])
				s.fnma231(x, c, sums[0][v])
			}
		})
	} else {
		s.free = vectorRegisters(s.lanes)
		w.c = s.reg()
		visit := s.label("visit")
		s.Label(root)
		s.LEAQ(s.scratch(scratchSums, 0), w.sum)
		s.MOVQ(s.at(k[0]), w.h)
		s.MOVQ(w.h, w.other)
		s.clear(w.c)
		s.Label(visit)
		s.visit(w)
		s.TESTQ(second, second)
		s.JEQ(operand.LabelRef(next))
		s.spread(s.number(d[1], k[0]), w.c)
		root = visit
		s.MOVQ(w.h, w.other)
		s.MOVQ(s.at(k[1]), w.h)
		s.ADDQ(operand.I32(solveBytes), w.sum)
	}
	s.XORQ(second, second)
	s.MOVQ(k[1], k[0])
	s.JMP(operand.LabelRef(root))

	s.Label(passed)
	s.LEAQ(operand.Mem{Base: s.list, Index: s.n, Scale: 4}, s.list) // to the next permutation
}

// shift returns by how much to shift left to multiply by a power of two.
func (s *solver) shift(power int) operand.Op { return operand.U8(bits.Len(uint(power)) - 1) }

// at returns a pointer to coordinate k of H.
func (s *solver) at(k reg.Register) reg.Register {
	h := s.GP64()
	s.MOVQ(k, h)
	s.SHLQ(s.shift(solveBytes), h)
	s.ADDQ(s.h, h)
	return h
}

// number returns the address of number k from p on.
func (s *solver) number(p, k reg.Register) operand.Mem {
	return operand.Mem{Base: p, Index: k, Scale: uint8(s.size)}
}

// others subtracts D_jk·h_k from the sums, for the coordinates j whose rows of D are given and all k that
// follow in the list, for sumVecs of the vectors.
func (s *solver) others(d []reg.Register, sums [][]reg.Register, first int) {
	count, list := s.GP64(), s.GP64()
	s.LEAQ(operand.Mem{Base: s.n, Disp: -len(d)}, count)
	s.LEAQ(operand.Mem{Base: s.list, Disp: 4 * len(d)}, list)
	step := func(at int) {
		s.scope(func() {
			k, h := s.GP64(), s.GP64()
			s.MOVLQSX(operand.Mem{Base: list, Disp: 4 * at}, k)
			s.MOVQ(k, h)
			s.SHLQ(s.shift(solveBytes), h)
			c := s.regs(len(d))
			for t := range d {
				s.spread(s.number(d[t], k), c[t])
			}
			x := s.reg()
			for v := range sumVecs {
				s.mov(operand.Mem{Base: s.h, Index: h, Scale: 1, Disp: 8 * s.lanes * (first + v)}, x)
				for t := range d {
					s.fnma231(x, c[t], sums[t][v])
				}
			}
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

// visit is what the minimization over one coordinate needs.
type visit struct {
	h reg.Register // where the coordinate is in H
	// The sums over the other coordinates and the minimizers are in registers. Or the sums are in memory and
	// lack c times another coordinate.
	sums, x       []reg.Register
	sum, other, c reg.Register
}

// visit writes the minimizers over a coordinate in its place, sumVecs vectors at a time:
//
//	b = sum + o·⟨o, h⟩,  a = ‖h‖² + rest,  both without the coordinate;  x = y·g(ε),  y = max(b, 0)/a,  ε = y²/a
func (s *solver) visit(w *visit) {
	for first := 0; first < s.vecs(); first += sumVecs {
		s.scope(func() { s.visitVectors(w, first) })
	}
}

func (s *solver) visitVectors(w *visit, first int) {
	each := func(f func(i, v int)) {
		for i := range sumVecs {
			s.scope(func() { f(i, first+i) })
		}
	}
	x, b, e := w.x, w.sums, s.regs(sumVecs)
	if !s.kept() {
		x = s.regs(sumVecs)
		b = x
	}
	free := s.free
	bad := s.reg()
	each(func(i, v int) {
		h := s.reg()
		s.mov(s.vector(w.h, v), h)
		if s.kept() {
			s.fnma231(s.old(w.h, v), h, s.inner[v])
			s.fma231(s.old(w.h, v), s.inner[v], b[i])
			if s.quartic {
				s.fnma231(h, h, s.normSq[v])
				s.add(s.rest(w.h, v), s.normSq[v], e[i])
			}
		} else {
			inner := s.reg()
			s.mov(s.scratch(scratchInner, v), inner)
			s.fnma231(s.old(w.h, v), h, inner)
			s.mov(inner, s.scratch(scratchInner, v))
			s.loadSum(w, v, inner, b[i])
			if s.quartic {
				s.mov(s.scratch(scratchNormSq, v), e[i])
				s.fnma231(h, h, e[i])
				s.mov(e[i], s.scratch(scratchNormSq, v))
				s.add(s.rest(w.h, v), e[i], e[i])
			}
		}
		if !s.quartic {
			s.mov(s.rest(w.h, v), e[i])
		}
		if i == 0 {
			s.mov(e[i], bad)
		} else {
			s.or(e[i], bad, bad)
		}
	})
	p := s.regs(sumVecs)
	each(func(i, v int) { s.reciprocal(e[i], p[i]) })
	each(func(i, v int) {
		s.maxC(s.c("zero"), b[i], x[i])
		s.mul(e[i], x[i], x[i]) // y
	})
	if s.quartic {
		each(func(i, v int) { s.mul(x[i], e[i], e[i]) })
		each(func(i, v int) { s.mul(x[i], e[i], e[i]) })
	}
	each(func(i, v int) {
		t := s.reg()
		if s.quartic {
			s.spread(s.c("nearMost"), t)
			s.sub(e[i], t, t)
		} else {
			s.spread(s.c("ratioSq"), t)
			s.mul(s.rest(w.h, v), t, t)
			s.fnma231(x[i], x[i], t)
		}
		s.or(t, bad, bad)
	})
	rare, done := s.label("rare"), s.label("done")
	s.testMask(s.signs(bad))
	s.JNE(operand.LabelRef(rare))
	if s.quartic {
		s.polynomial("near", e, p)
		each(func(i, v int) { s.mul(p[i], x[i], x[i]) })
	}
	s.Label(done)
	each(func(i, v int) {
		if s.kept() {
			if s.quartic {
				s.fma231(x[i], x[i], s.normSq[v])
			}
			s.fma231(s.old(w.h, v), x[i], s.inner[v])
		} else {
			t := s.reg()
			if s.quartic {
				s.mov(s.scratch(scratchNormSq, v), t)
				s.fma231(x[i], x[i], t)
				s.mov(t, s.scratch(scratchNormSq, v))
			}
			s.mov(s.scratch(scratchInner, v), t)
			s.fma231(s.old(w.h, v), x[i], t)
			s.mov(t, s.scratch(scratchInner, v))
		}
		s.mov(x[i], s.vector(w.h, v))
	})
	s.later = append(s.later, func() {
		s.Label(rare)
		s.free = free
		each(func(i, v int) {
			var sum reg.Register
			if s.kept() {
				sum = b[i]
			} else {
				sum = s.reg()
				s.scope(func() {
					inner := s.reg()
					s.mov(s.scratch(scratchInner, v), inner)
					s.loadSum(w, v, inner, sum)
				})
			}
			if s.quartic {
				s.rareQuartic(w.h, v, sum, x[i], e[i])
			} else {
				s.rareQuadratic(w.h, v, sum, x[i], e[i])
			}
		})
		s.JMP(operand.LabelRef(done))
	})
}

// loadSum sets b where the sum is in memory, given ⟨old, h⟩ without the coordinate.
func (s *solver) loadSum(w *visit, v int, inner, b reg.Register) {
	s.mov(s.vector(w.sum, v), b)
	s.fnma231(s.vector(w.other, v), w.c, b)
	s.fma231(s.old(w.h, v), inner, b)
}
