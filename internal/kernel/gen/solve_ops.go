package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ops are the instructions for numbers of one size and vectors of one instruction set. Operands are in Go's
// order: the result is the last, and a difference, quotient or comparison is that of the second operand and
// the first.
type ops struct {
	mov, spread, add, sub, mul, div, max, min, sqrt, and, or, cmp func(...operand.Op)
	fma231, fnma231, fma213, fnma213, fms213, fma132              func(...operand.Op)
	// the same with the first operand a constant in memory
	mulC, maxC, andC, orC, fma231C, fma213C, fnma213C, fma132C func(...operand.Op)
}

// choose sets the instructions.
func (s *solver) choose() {
	o := &s.ops
	if s.size == 8 {
		*o = ops{
			mov: s.VMOVUPD, spread: s.VBROADCASTSD, add: s.VADDPD, sub: s.VSUBPD, mul: s.VMULPD, div: s.VDIVPD, max: s.VMAXPD,
			min: s.VMINPD, sqrt: s.VSQRTPD, and: s.VANDPD, or: s.VORPD, cmp: s.VCMPPD, fma231: s.VFMADD231PD,
			fnma231: s.VFNMADD231PD, fma213: s.VFMADD213PD, fnma213: s.VFNMADD213PD, fms213: s.VFMSUB213PD,
			fma132: s.VFMADD132PD,
		}
	} else {
		*o = ops{
			mov: s.VMOVUPS, spread: s.VBROADCASTSS, add: s.VADDPS, sub: s.VSUBPS, mul: s.VMULPS, div: s.VDIVPS, max: s.VMAXPS,
			min: s.VMINPS, sqrt: s.VSQRTPS, and: s.VANDPS, or: s.VORPS, cmp: s.VCMPPS, fma231: s.VFMADD231PS,
			fnma231: s.VFNMADD231PS, fma213: s.VFMADD213PS, fnma213: s.VFNMADD213PS, fms213: s.VFMSUB213PS,
			fma132: s.VFMADD132PS,
		}
	}
	o.mulC, o.maxC, o.andC, o.orC = o.mul, o.max, o.and, o.or
	o.fma231C, o.fma213C, o.fnma213C, o.fma132C = o.fma231, o.fma213, o.fnma213, o.fma132
	switch {
	case s.lanes == 4:
	case s.size == 8:
		o.mulC, o.maxC, o.fma231C = s.VMULPD_BCST, s.VMAXPD_BCST, s.VFMADD231PD_BCST
		o.fma213C, o.fnma213C, o.fma132C = s.VFMADD213PD_BCST, s.VFNMADD213PD_BCST, s.VFMADD132PD_BCST
		o.and, o.or, o.andC, o.orC = s.VPANDQ, s.VPORQ, s.VPANDQ_BCST, s.VPORQ_BCST // VANDPD is not in AVX-512F
	default:
		o.mulC, o.maxC, o.fma231C = s.VMULPS_BCST, s.VMAXPS_BCST, s.VFMADD231PS_BCST
		o.fma213C, o.fnma213C, o.fma132C = s.VFMADD213PS_BCST, s.VFNMADD213PS_BCST, s.VFMADD132PS_BCST
		o.and, o.or, o.andC, o.orC = s.VPANDD, s.VPORD, s.VPANDD_BCST, s.VPORD_BCST
	}
}

func (s *solver) clear(v reg.Register) {
	if s.lanes == 8 {
		s.VPXORQ(v, v, v)
	} else {
		s.VXORPD(v, v, v)
	}
}

// The root of x³ + a·x − b is y·g(ε) with y = b/a and ε = y²/a ≥ 0, where ε·g³ + g = 1. The polynomials,
// found by Remez' algorithm, are given from the constant term on. Each is within the stated relative error of
// g. Beyond wideMost, Newton's iteration is used.
const (
	nearMost = 0.01
	wideMost = 0.1
)

// mostRatio is the bound of Solve in the problem without the diagonal.
const mostRatio = 1e4

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

// named is a constant of a table.
type named struct {
	name string
	bits operand.Constant
}

// Bits of float64 numbers: all but the sign, and those that make a number of up to 52 bits one in [2⁵², 2⁵³).
const (
	notSign = 1<<63 - 1
	shifted = 0x433 << 52
)

// constants writes the table of constants: one number each where instructions can broadcast it, a whole
// vector otherwise. more are constants beyond those of the row solvers.
func (s *solver) constants(more ...named) {
	s.table = s.StaticGlobal(fmt.Sprintf("solve%d%s", 8*s.size, s.name))
	s.DataAttributes(attr.RODATA | attr.NOPTR)
	s.places, s.degree = make(map[string]int), make(map[string]int)
	copies := 1
	if s.lanes == 4 {
		copies = s.width
	}
	bits := func(name string, v operand.Constant) {
		s.places[name] = len(s.places) * copies * s.size
		for range copies {
			s.AppendDatum(v)
		}
	}
	number := func(name string, v float64) {
		if s.size == 8 {
			bits(name, operand.F64(v))
		} else {
			bits(name, operand.F32(v))
		}
	}
	table := func(name string, coefficients []float64) {
		s.degree[name] = len(coefficients) - 1
		for k, c := range coefficients {
			number(fmt.Sprint(name, k), c)
		}
	}
	number("zero", 0)
	number("one", 1)
	number("three", 3)
	number("third", 1.0/3)
	number("tie", -2.0/27)
	number("nearMost", nearMost)
	number("wideMost", wideMost)
	number("ratio", mostRatio)
	number("ratioSq", mostRatio*mostRatio)
	// The bits of a positive number, taken as a whole number, are nearly linear in its logarithm. So a third
	// of them plus two thirds of those of 1 are nearly those of its cube root: at most 5.8 % above it, and
	// never below.
	if s.size == 8 {
		table("near", near64)
		table("wide", wide64)
		number("close", 5e-7)
		bits("sign", operand.U64(1<<63))
		bits("notSign", operand.U64(notSign))
		// The bits are shifted right by 20 and become the last bits of such a number.
		bits("shifted", operand.U64(shifted))
		number("cbrt", (1<<52+0x3ff<<32)*2.0/3)
	} else {
		table("near", near32)
		table("wide", wide32)
		number("close", 1e-4)
		bits("sign", operand.U32(1<<31))
		bits("notSign", operand.U32(1<<31-1))
		number("cbrt", (0x7f<<23)*2.0/3)
	}
	for _, c := range more {
		bits(c.name, c.bits)
	}
}

// c returns the address of a constant.
func (s *solver) c(name string) operand.Mem {
	at, ok := s.places[name]
	if !ok {
		panic(name) // a misspelt name, here in the generator
	}
	return s.table.Offset(at)
}

// vectorRegisters returns all vector registers. The row solvers allocate them themselves: avo's allocator,
// which never revises a choice, fails when nearly all are in use.
func vectorRegisters(lanes int) []reg.Register {
	if lanes == 4 {
		return []reg.Register{
			reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12,
			reg.Y13, reg.Y14, reg.Y15,
		}
	}
	return []reg.Register{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13,
		reg.Z14, reg.Z15, reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26,
		reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
	}
}

// regs takes n vector registers, until the end of the current scope.
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

// each writes f for all vectors of rows, each in a scope of its own.
func (s *solver) each(f func(v int)) {
	for v := range s.vecs() {
		s.scope(func() { f(v) })
	}
}
