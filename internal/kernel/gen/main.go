// Command gen writes the assembly of package kernel and the Go declarations that go with it:
//
//	go generate ./internal/kernel
//
// The test of this module fails if the files in the tree differ from what this command writes.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

// kernelDir is the directory of package kernel, as seen from this one.
const kernelDir = ".."

func main() {
	log.SetFlags(0)
	files, err := generate()
	if err != nil {
		log.Fatal("gen: ", err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(kernelDir, name), text, 0o666); err != nil {
			log.Fatal("gen: ", err)
		}
	}
}

// generate returns the text of each generated file by its name in kernelDir.
func generate() (map[string][]byte, error) {
	files := make(map[string][]byte)
	for _, f := range []struct {
		name    string
		kernels func(a *asm)
		consts  string
	}{
		{"kernels_amd64", (*asm).rowKernels, consts},
		{"gemm_amd64", (*asm).gemmKernels, gemmConsts},
		{"solve_amd64", (*asm).solveKernels, solveConsts},
		{"column_amd64", (*asm).columnKernels, columnConsts},
		{"ints_amd64", (*asm).intKernels, intConsts},
	} {
		ctx := build.NewContext()
		ctx.ConstraintExpr("!noasm")
		f.kernels(&asm{Context: ctx, name: "AVX2", lanes: lanesAVX2, rowVecs: rowVecsAVX2})
		f.kernels(&asm{Context: ctx, name: "AVX512", lanes: lanesAVX512, rowVecs: rowVecsAVX512})
		file, err := ctx.Result()
		if err != nil {
			return nil, err
		}
		if err := pass.Compile.Execute(file); err != nil {
			return nil, err
		}
		cfg := printer.Config{Argv: []string{"go generate"}, Pkg: "kernel"}
		text, err := printer.NewGoAsm(cfg).Print(file)
		if err != nil {
			return nil, err
		}
		stubs, err := printer.NewStubs(cfg).Print(file)
		if err != nil {
			return nil, err
		}
		files[f.name+".s"], files[f.name+".go"] = text, fmt.Append(stubs, f.consts)
	}
	return files, nil
}

func (a *asm) rowKernels() {
	a.dot()
	a.axpy(1)
	a.axpy(4)
	a.rows(gather)
	a.rows(inOrder)
	a.addGathered()
	a.gatherEach(false, double)
	a.gatherEach(false, single)
	a.gatherEach(true, double)
	a.gatherEach(true, single)
	a.gatherSpan(double)
	a.gatherSpan(single)
	a.inners()
	a.hashRows()
	a.toFloat32()
	a.toFloat64()
	a.advance(true, double)
	a.advance(true, single)
	a.extrapolateRounded()
	a.sumPairs(double)
	a.sumPairs(single)
	if a.lanes == 4 {
		a.mirror()
		a.symmetrize()
		a.rowSquares(double)
		a.rowSquares(single)
		a.scatterLists()
		a.scale()
		a.fetch()
		a.fetchNext()
		a.mulInto()
		a.freeRow()
		a.bitRange()
		a.advance(false, double)
		a.extrapolate()
	}
	a.uniform()
	a.gradientStep()
}

// consts tells package kernel the limits of the row kernels.
var consts = fmt.Sprintf(`
// Numbers in a vector, and the least and the most columns of the row kernels.
const (
	lanesAVX2   = %[1]d
	leastAVX2   = %[1]d
	mostAVX2    = %[2]d
	lanesAVX512 = %[3]d
	mostAVX512  = %[4]d

	mostAVX2Single = %[9]d // where x is of float32
)

// fetchAhead is how many entries ahead of its turn a row of x is fetched into the cache. gatherEach and gatherSplit
// fetch short rows farther ahead.
const fetchAhead = %[5]d

// rangeStep is how many numbers the assembly of bitRange takes at a time.
const rangeStep = %[6]d

// squareTile is the number of which the size of a square matrix must be a multiple in assembly. innersStep is how many
// vectors the assembly of inners takes at a time.
const (
	squareTile = %[7]d
	innersStep = %[8]d
)
`, lanesAVX2, lanesAVX2*rowVecsAVX2, lanesAVX512, lanesAVX512*rowVecsAVX512, fetchAhead, lanesAVX2*rangeVectors, squareTile, innersStep, lanesAVX2*singleVecs)

// Numbers of a vector, and the most vectors of accumulators in the row kernels. With AVX2 these are all
// registers but the one that holds the factor.
const (
	lanesAVX2     = 4
	rowVecsAVX2   = 15
	singleVecs    = rowVecsAVX2 - 1 // where x is of float32, which takes one more register to be widened in
	lanesAVX512   = 8
	rowVecsAVX512 = 8
)

// asm writes the kernels of one instruction set. A vector is a whole register of it, lanes numbers wide.
type asm struct {
	*build.Context
	name    string // the ending of the functions' names
	lanes   int
	rowVecs int
	labels  int
}

// begin starts the function base+name.
func (a *asm) begin(base, signature string, doc ...string) {
	a.Function(base + a.name)
	a.Attributes(attr.NOSPLIT)
	a.Pragma("noescape")
	a.SignatureExpr(signature)
	a.Doc(doc...)
}

// end writes the return, with result unless it is nil. It clears the upper halves of the registers first,
// because SSE instructions store results.
func (a *asm) end(result reg.Register) {
	a.VZEROUPPER()
	if result != nil {
		a.Store(result, a.ReturnIndex(0))
	}
	a.RET()
}

// endSum ends a function that returns a sum and whether anything was wrong. At the label out it returns the
// sum of acc and 0, at bad 1.
func (a *asm) endSum(out, bad string, acc []reg.VecVirtual) {
	a.Label(out)
	none := a.GP64()
	a.XORQ(none, none)
	a.Store(none, a.ReturnIndex(1))
	a.end(a.sum(acc))
	a.Label(bad)
	one := a.GP64()
	a.MOVQ(operand.U64(1), one)
	a.Store(one, a.ReturnIndex(1))
	a.end(nil)
}

// label returns a new label, to be placed with Label and jumped to with operand.LabelRef.
func (a *asm) label(what string) string {
	a.labels++
	return fmt.Sprintf("%s%d", what, a.labels)
}

func (a *asm) arg(name string) reg.Register { return a.Load(a.Param(name), a.GP64()) }

// mem returns the address of an argument.
func (a *asm) mem(name string) operand.Mem {
	b, err := a.Param(name).Resolve()
	if err != nil {
		panic(err) // a misspelt name, here in the generator
	}
	return b.Addr
}

// vec returns a free vector register.
func (a *asm) vec() reg.VecVirtual {
	if a.lanes == 8 {
		return a.ZMM()
	}
	return a.YMM()
}

func (a *asm) zeros(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = a.vec()
		a.clear(v[i])
	}
	return v
}

func (a *asm) clear(v reg.VecVirtual) {
	if a.lanes == 8 {
		a.VPXORQ(v, v, v) // VXORPD of 512 bits is not in AVX-512F
	} else {
		a.VXORPD(v, v, v)
	}
}

// part returns the register of n numbers at the bottom of v.
func part(v reg.VecVirtual, n int) reg.Register {
	switch n {
	case 8:
		return v.AsZ()
	case 4:
		return v.AsY()
	}
	return v.AsX()
}

// load loads n numbers into v and clears the rest of it.
func (a *asm) load(m operand.Mem, v reg.VecVirtual, n int) {
	if n == 1 {
		a.VMOVSD(m, part(v, 1))
	} else {
		a.VMOVUPD(m, part(v, n))
	}
}

// loadOf is load for n numbers of the given type, which become float64.
func (a *asm) loadOf(of element, m operand.Mem, v reg.VecVirtual, n int) {
	if of == double {
		a.load(m, v, n)
		return
	}
	switch n {
	case 8:
		a.VCVTPS2PD(m, v.AsZ())
	case 4:
		a.VCVTPS2PD(m, v.AsY())
	case 2:
		a.VCVTPS2PD(m, v.AsX())
	default:
		a.VMOVSS(m, v.AsX())
		a.VCVTPS2PD(v.AsX(), v.AsX())
	}
}

func (a *asm) store(v reg.VecVirtual, m operand.Mem, n int) {
	if n == 1 {
		a.VMOVSD(part(v, 1), m)
	} else {
		a.VMOVUPD(part(v, n), m)
	}
}

// addProduct adds c times the n numbers at m to the first n numbers of v. The other numbers of v may be lost.
func (a *asm) addProduct(v, c reg.VecVirtual, m operand.Mem, n int) {
	if n == 1 {
		a.VFMADD231SD(m, part(c, 1), part(v, 1))
	} else {
		a.VFMADD231PD(m, part(c, n), part(v, n))
	}
}

// sum adds up all numbers of v, halving their count in each step. The sum is the first number of v[0].
func (a *asm) sum(v []reg.VecVirtual) reg.Register {
	for ; len(v) > 1; v = v[:len(v)/2] {
		for i := range len(v) / 2 {
			a.VADDPD(v[i+len(v)/2], v[i], v[i])
		}
	}
	s, t := v[0], a.YMM()
	if a.lanes == 8 {
		a.VEXTRACTF64X4(operand.U8(1), s, t)
		a.VADDPD(t, s.AsY(), s.AsY())
	}
	a.VEXTRACTF128(operand.U8(1), s.AsY(), t.AsX())
	a.VADDPD(t.AsX(), s.AsX(), s.AsX())
	a.VUNPCKHPD(s.AsX(), s.AsX(), t.AsX())
	a.VADDSD(t.AsX(), s.AsX(), s.AsX())
	return s.AsX()
}

// unroll is how many vectors the loop over a long slice takes in a turn.
const unroll = 4

// steps writes a loop over n elements: turns of unroll vectors, then what is left, by the bits of n, down to
// narrow vectors of 4, 2 and 1. Alignment plays no part. There are no masks, because the processor does not
// forward a masked store to a load that soon follows it. body writes the work on the elements from the
// pointers on, with one vector for each number in lanes, which is the number of its elements. The pointers in
// ptrs advance, and n is used up.
func (a *asm) steps(n reg.Register, ptrs []reg.Register, body func(lanes []int)) {
	loop, rest := a.label("loop"), a.label("rest")
	whole := make([]int, unroll)
	for i := range whole {
		whole[i] = a.lanes
	}
	turn := unroll * a.lanes
	a.SUBQ(operand.U8(turn), n)
	a.JLT(operand.LabelRef(rest))
	a.Label(loop)
	body(whole)
	for _, p := range ptrs {
		a.ADDQ(operand.I32(8*turn), p)
	}
	a.SUBQ(operand.U8(turn), n)
	a.JGE(operand.LabelRef(loop))
	a.Label(rest) // n is too low by turn, a power of two, which leaves its lower bits as they were
	for left := turn / 2; left >= 1; left /= 2 {
		skip := a.label("skip")
		a.TESTQ(operand.U32(left), n)
		a.JEQ(operand.LabelRef(skip))
		if left > a.lanes {
			body(whole[:left/a.lanes])
		} else {
			body([]int{left}) // a whole vector or a narrow one
		}
		if left > 1 {
			for _, p := range ptrs {
				a.ADDQ(operand.I32(8*left), p)
			}
		}
		a.Label(skip)
	}
}
