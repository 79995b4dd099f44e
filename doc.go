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
// A may be dense, sparse, or the inner products of points. The products are formed only if A has no more numbers than
// the points: see package matrix. Package matio reads and writes files; package cluster reads groups from H and compares
// groupings.
//
// # Names
//
// Letters in formulas are the paper's: Vandaele, Gillis, Lei, Zhong, Dhillon, Efficient and non-convex coordinate
// descent for symmetric nonnegative matrix factorization, IEEE Trans. Signal Process. 64, 2016 (arXiv 1509.01404).
// D = HᵀH, C_j = ‖H_:,j‖², L_i = ‖H_i,:‖², F = ¼‖A−HHᵀ‖², G = ∇F = (HHᵀ−A)H. [·]₊ is max(0, ·). A sweep is one visit to
// every entry of H. docs/errata.md lists where this package departs from the published text, and why.
//
// # Which method
//
// Leave Options.Solver nil unless you compare methods. nil means RowBlock, or CD where RowBlock cannot work: from Zero
// with no A_ii > 0, and for an operator without products by blocks of rows.
//
// If Options.Start is nil too, the start is TSVDStart. Runs from it mostly end lowest, on dense data by far, and with few
// columns after the fewest sweeps. Exceptions are
//
//   - dense data with an ℓ₁ weight,
//   - sparse data with more columns than 64 and than an eighth of the items,
//   - an H of more than 2²² numbers,
//   - an operator without products by blocks of rows.
//
// These begin from Zero, which needs no vectors, or from Random: see Options.Start.
//
// If the error counts more than the time, Kicks lower it from any start. For graphs and documents with many columns they
// mostly lower it further than more Runs do. Making several at the same time, AtOnce, mostly takes less time.
//
// CD is the paper's method. MBI and Residual are for small problems and for checking.
//
// A run on data of some MB allocates as much as it works on in a few milliseconds, and with Go's default garbage is
// collected several times meanwhile, which holds up all threads. Programs that factor small data often save a tenth of
// the time on two threads with debug.SetGCPercent(300) (decision 0034).
//
// # What is promised
//
// If A ≥ 0, the objective never rises beyond rounding, except with methods whose comments say that it may: TSVD, those
// with two factors, and MU with an exponent above 1/3.
//
// Figures in Result are computed afresh from H by their definitions.
//
// One seed gives the same bits for any number of Threads on one kind of processor. Between instruction sets only
// rounding differs, but a non-convex problem can amplify that into another local optimum.
package symnmf
