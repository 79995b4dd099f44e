// Package kernel holds the inner loops everything else is built from. A kernel knows slices and lengths, never
// matrices, files or options.
//
// Each function's comment gives the plain loop it equals. Sums are kept in several accumulators, so they differ from
// the plain loop's in rounding, by at most n·ε·Σ|terms|, and from run to run not at all. Lengths are checked once, at
// the top of a function, and a wrong one panics with a constant: only a mistake inside this module can get there.
// Slices that are written must not overlap those that are read, unless a comment allows it.
package kernel

const badLen = "kernel: slices differ in length"
