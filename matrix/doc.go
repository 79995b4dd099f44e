// Package matrix provides the matrices of symmetric nonnegative matrix factorization and Operator, the one
// interface through which solvers see them.
//
// Two types store numbers: Dense, by rows, and CSR, by compressed rows. The symmetric n×n matrix A to be
// factored is an Operator, made by one of these constructors:
//
//   - FromDense and FromCSR take A itself. FromSymmetric takes gonum's symmetric types, and FromDense32
//     stores A in single precision, in half the memory.
//   - Gram takes points and stands for the matrix of their inner products, which is formed only where it is
//     no larger than the points.
//   - NewLowRank takes a few eigenvectors; Compress finds them for any Operator.
//
// Normalized is a view of A with row i and column i divided by the square root of row sum i. Strongest makes
// a sparse A of any other, and SampleByResistance a sparser graph of a graph.
//
// Unless they say otherwise, constructors keep the slices they are given without copying them, and the caller
// must not change those slices afterwards. Operators are immutable, so any number of goroutines may use one
// at once.
//
// Destinations come first in an argument list, must have the right length, and must not overlap the other
// arguments.
package matrix
