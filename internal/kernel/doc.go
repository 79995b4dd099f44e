// Package kernel holds the inner loops everything else is built from. A kernel knows slices and lengths, never
// matrices, files or options.
//
// Each function's comment gives the plain loop it equals. Sums are kept in several accumulators, so they differ from
// the plain loop's in rounding, by at most n·ε·Σ|terms| with n terms and ε = 2⁻⁵²; sums of integers below 2⁵³ are exact.
//
// Each function that computes exists in portable Go (named …Go) and, on amd64, in assembly for AVX2 with FMA and for
// AVX-512F with VL, which internal/kernel/gen writes. The best one the processor has is taken; dispatch_amd64.go is the only
// place that knows. The build tag noasm leaves the portable code alone, and so does GODEBUG=cpu.avx512f=off,cpu.avx2=off
// in the environment. The last bits of a result depend on which code ran, since a fused multiply–add rounds once; they
// do not depend on where the slices lie in memory, or on anything but the arguments.
//
// Lengths are checked once, at the top of a function, and a wrong one panics with a constant: only a mistake inside
// this module can get there. An index is checked where it is used, in assembly too, so that no argument whatever makes
// a kernel touch memory outside its slices. Slices that are written must not overlap those that are read, unless a
// comment allows it.
package kernel

//go:generate go run -C gen .

const (
	badLen   = "kernel: slices differ in length"
	badIndex = "kernel: index out of range"
)
