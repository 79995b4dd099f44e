// Package matrix holds the matrices of symmetric nonnegative factorization and the one interface solvers see of them.
//
// Two types store numbers: Dense, by rows, and CSR, by compressed rows. The symmetric n×n matrix A that is factored comes as
// an Operator: FromDense and FromCSR take A itself (FromSymmetric takes gonum's types, FromDense32 halves the memory), Gram
// takes points and stands for their inner products, which are formed only if that is smaller, and NewLowRank takes a few eigenvectors, which
// Compress finds for any Operator. Normalized is a view that divides A by the roots of its row sums. Strongest and
// SampleByResistance make a sparse A of any other.
//
// Constructors keep the slices they are given and do not copy them; whoever passes them must leave them alone
// afterwards. Operators are immutable, so any number of goroutines may use one at once.
//
// Destinations come first in an argument list, must have the right length, and must not overlap the other arguments.
package matrix
