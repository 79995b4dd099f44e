// Package kernel holds the inner loops that everything else is built from. A kernel works on slices and
// lengths; it knows nothing of matrices, files or options.
//
// Each function's comment gives the plain loop that the function equals. Sums are kept in several
// accumulators, so they differ from the sums of the plain loop by rounding: by at most n·ε·Σ|terms| for n
// terms, with ε = 2⁻⁵², unless the comment gives another bound. Sums of integers below 2⁵³ are exact.
//
// Most kernels exist in portable Go (named …Go) and, on amd64, in assembly, which internal/kernel/gen writes:
// for AVX2 with FMA and POPCNT and, where wider vectors pay, for AVX-512F with VL and DQ. Kernels of whole
// numbers use AVX-512 only if the processor also has VNNI and BW. Which code runs depends on what the processor
// has, and for some kernels on the lengths. dispatch_amd64.go decides; for kernels that work by tiles or by
// lanes, *_tiles_amd64.go and solve_lanes_amd64.go do. With the build tag noasm only the portable code is built;
// with GODEBUG=cpu.avx512f=off,cpu.avx2=off in the environment only the portable code runs.
//
// The last bits of a result depend on which code ran, since a fused multiply–add rounds once. Otherwise they
// depend only on the arguments, not on where the slices lie in memory.
//
// Lengths are checked once, at the top of a function. A wrong length panics with a constant, since only a
// mistake inside this module can cause it. An index is checked where it is used, in assembly too, or once for
// all when lists are handed over that may not change afterwards (NewColumnTiles), so that no argument can make a
// kernel read or write outside its slices. Slices that are written must not overlap those that are read, unless
// a comment allows it.
package kernel

//go:generate go run -C gen .

const (
	badLen   = "kernel: slices differ in length"
	badIndex = "kernel: index out of range"
)
