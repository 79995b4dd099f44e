// Package symnmf factors a symmetric nonnegative matrix: given A (n×n, symmetric, ≥ 0) and a rank r, it looks for H ≥ 0
// (n×r) that minimizes ‖A−HHᵀ‖_F. Row i of H then says how much item i belongs to each of r groups, and
// A_il ≈ Σ_j H_ij·H_lj.
//
//	a, err := matrix.FromDense(similarity, 0) // or FromCSR, FromSymmetric, Gram
//	if err != nil {
//		return err
//	}
//	res, err := symnmf.Factorize(ctx, a, 5, symnmf.Options{Seed: 7})
//	if err != nil {
//		return err
//	}
//	for i, g := range cluster.Assign(res.H) {
//		fmt.Println(i, g.Cluster, g.Margin)
//	}
//
// A may be dense or sparse, or the inner products of points, which are not formed unless A has no more numbers than they: see package matrix. Package matio
// reads and writes files, package cluster reads groups from H and compares groupings.
//
// # Names
//
// Inside formulas letters are the paper's: Vandaele, Gillis, Lei, Zhong, Dhillon, Efficient and non-convex coordinate
// descent for symmetric nonnegative matrix factorization, IEEE Trans. Signal Process. 64, 2016 (arXiv 1509.01404). D =
// HᵀH, C_j = ‖H_:,j‖², L_i = ‖H_i,:‖², F = ¼‖A−HHᵀ‖², G = ∇F = (HHᵀ−A)H. [·]₊ is max(0, ·). A sweep is one visit to
// every entry of H. docs/errata.md lists where this package departs from the published text, and why.
//
// # Which method
//
// Leave Options.Solver nil unless you compare methods: it means RowBlock, or CD where that cannot go, from Zero with no A_ii > 0. The start is then
// TSVDStart, which mostly ends lowest, on dense data by far, and with few columns after the fewest sweeps. Exceptions are dense data with an ℓ₁ weight, sparse
// data with more columns than 64 and than an eighth of the items, and an H of more than 2²² numbers. Zero needs no vectors, and Random is for comparisons.
// Where the error counts more than the time, Kicks lower it from any start, of graphs and documents with many columns mostly further than more Runs do. Several
// AtOnce mostly take less time. CD is the paper's method; MBI and Residual are for small problems and for checking.
//
// # What is promised
//
// The objective never rises beyond rounding where A ≥ 0, but with methods whose comments say that it may: TSVD, those with two factors, and MU
// with an exponent above 1/3. Figures in Result are computed afresh from H by their definitions. One seed gives the same bits for any
// number of Threads on one kind of processor; between instruction sets only rounding differs, which a non-convex problem can amplify
// into another local optimum.
package symnmf
