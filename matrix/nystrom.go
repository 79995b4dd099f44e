package matrix

import (
	"context"
	"math"
)

// nystrom returns Ã = Y·M⁻¹·Yᵀ, with Y = A·Q and M = QᵀY for the orthonormal q (n×k), and a bound on ‖A − Ã‖,
// where ‖A‖ = norm. Of Ã it keeps the keep largest eigenvalues, or all if keep = 0. If M has negative
// eigenvalues, Ã has nothing to do with A, and nystrom returns nil.
//
// With a basis of Q and its orthogonal complement,
//
//	A = ⎡M  Bᵀ⎤   Ã = ⎡M  Bᵀ     ⎤   ‖Y‖² = ‖M‖² + ‖B‖²,   ‖A‖² = ‖M‖² + 2‖B‖² + ‖C‖²,   ‖Ã‖² = ‖M‖² + 2‖B‖² + ‖BM⁻¹Bᵀ‖²
//	    ⎣B  C ⎦       ⎣B  BM⁻¹Bᵀ⎦
//
// so ‖A − Ã‖ ≤ ‖C‖ + ‖BM⁻¹Bᵀ‖. The norm of what is not kept comes on top of that, and so does rounding, some
// 3e-8·‖A‖. If A has no negative eigenvalues, 0 ≤ BM⁻¹Bᵀ ≤ C, and the distance is at most ‖C‖. Ã is about
// as near as the projection of A on the columns of Y, which takes another product with A: within 1 % of it on
// pictures.
//
// Source: Halko, Martinsson, Tropp, Finding structure with randomness, SIAM Review 53, 2011, Algorithm 5.5.
func nystrom(ctx context.Context, q, y *Dense, norm float64, keep, workers int) (low *GramOperator, bound float64, err error) {
	const dependent = 0x1p-40 // eigenvalues of M at most this part of the largest are rounding
	theta, v, err := eigen(ctx, transTimes(q, y, workers), workers)
	if err != nil {
		return nil, 0, err
	}
	var taken []int
	var mSq float64
	for k, t := range theta { // in order of decreasing magnitude
		switch {
		case math.Abs(t) <= dependent*math.Abs(theta[0]):
		case t < 0:
			return nil, 0, nil
		default:
			taken = append(taken, k)
			mSq += t * t
		}
	}
	turn := columnsOf(v, taken)
	for i := range turn.rows {
		row := turn.Row(i)
		for k, f := range taken {
			row[k] /= math.Sqrt(theta[f])
		}
	}
	root := times(y, turn, workers) // Ã = root·rootᵀ
	g, ySq := gram(root, workers), 0.0
	for k, f := range taken {
		ySq += theta[f] * g.At(k, k)
	}
	lambda, w, err := eigen(ctx, g, workers)
	if err != nil {
		return nil, 0, err
	}
	if keep == 0 {
		keep = len(lambda)
	}
	kept := make([]int, min(keep, len(lambda)))
	var sq, dropped float64
	for k, l := range lambda {
		sq += l * l
		if k < len(kept) {
			kept[k] = k
		} else {
			dropped += l * l
		}
	}
	positive := func(x float64) float64 { return math.Sqrt(max(0, x)) }
	bound = positive(norm*norm-2*ySq+mSq) + positive(sq-2*ySq+mSq) + math.Sqrt(dropped)
	low, err = lowRankOf(times(root, columnsOf(w, kept), workers), len(kept), workers)
	return low, bound, err
}
