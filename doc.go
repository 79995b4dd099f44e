// Package symnmf factors a symmetric nonnegative matrix A (n×n, dense, sparse, or the inner products of points) as
// A ≈ HHᵀ with H ≥ 0 (n×r): symmetric nonnegative matrix factorization. Row i of H says how much item i belongs to each
// of r groups.
//
//	res, err := symnmf.Factorize(ctx, a, r, symnmf.Options{Seed: 7})
//
// Packages: matrix holds A and H, matio reads and writes files, cluster reads groups from H.
package symnmf
