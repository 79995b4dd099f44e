package symnmf

import (
	"context"
	"fmt"
	"math"
	"time"

	"symnmf/matrix"
)

// Bound says whether Factorize looks for a lower bound on the error of any H.
type Bound int

const (
	// NoBound, the default, never looks for one.
	NoBound Bound = iota
	// CheapBound looks for one where that is known to take at most a fifth of the work of the runs, or some
	// 30 ms.
	CheapBound
	// AnyBound looks for one whatever it costs.
	AnyBound
)

const (
	boundPart  = 0.2
	boundFloor = 1e8 // multiply–adds
)

// bound fills in LowerBound and BoundTime of res, the outcome of runs that took that many sweeps together. It
// never fails: where there is no bound LowerBound stays NaN, and with AnyBound a note says why.
//
// How many products the eigenpairs take, a hundred or thousands, depends on the spectrum of A and is not
// known before. So a cheap bound is looked for with a limit on the products, and the time may turn out to be
// wasted. The limit depends on counts alone, so it is the same on every machine.
func (p *problem) bound(ctx context.Context, choice Bound, sweeps int, res *Result) {
	began := time.Now()
	unknown := func(why string, args ...any) {
		if choice == AnyBound {
			res.Notes = append(res.Notes, "no lower bound: "+fmt.Sprintf(why, args...))
		}
	}
	n, _ := matrix.FoldedSize(p.a)
	k := min(p.r, n) // all other eigenvalues are 0
	switch {
	case p.norm == 0:
		res.LowerBound = 0
	case p.ignoreDiag:
		unknown("without the diagonal, eigenvalues give none")
	case p.common.top != nil && p.common.top.sure:
		res.LowerBound = p.lowerBound(p.common.top.values)
	default:
		opt := matrix.EigenOptions{Seed: p.seed, Workers: p.workers}
		if choice == CheapBound {
			if opt.MaxProducts = p.boundProducts(k, sweeps); opt.MaxProducts == 0 {
				return
			}
		}
		a, _ := matrix.Folded(p.a, p.workers)
		pairs, err := matrix.Eigen(ctx, a, k, opt)
		switch {
		case err != nil:
			unknown("%v", err)
		case pairs.Limited || len(pairs.Failed) > 0:
			unknown("not all of the eigenpairs needed (%d) were found", k)
		default:
			res.LowerBound = p.lowerBound(pairs.Values)
		}
	}
	res.BoundTime = time.Since(began)
}

// lowerBound returns the least error that these eigenvalues allow. Where ‖A‖ is what cancellation leaves, it
// subtracts what rounding may have added, which also covers the larger tolerance of Eigen there.
func (p *problem) lowerBound(values []float64) float64 {
	bound, from := matrix.LowerBound(values, p.norm, p.r), p.normFrom/p.norm
	if from <= 2 {
		return bound
	}
	return math.Sqrt(max(0, bound*bound-0x1p-53*float64(p.rowDepth()+p.r+measureBlock)*from*from))
}

// boundProducts returns how many products with the matrix of matrix.Folded may be spent on k eigenpairs for
// the bound to remain cheap, 0 when that is too few.
//
// Work is counted in multiply–adds. A sweep is a product with r columns and 6·n·r². For eigenpairs it is, for
// each product, that with one column and four with the whole basis. A small matrix of n rows is reduced
// whole: n products to form it, 2·n³ for the reduction, and three products with it for each pair.
func (p *problem) boundProducts(k, sweeps int) int {
	r := float64(p.r)
	work := max(boundPart*float64(sweeps)*(float64(matrix.Madds(p.a))*r+6*float64(p.n)*r*r), boundFloor)
	rows, madds := matrix.FoldedSize(p.a)
	n, product := float64(rows), float64(madds)
	basis, whole := matrix.EigenBasis(rows, k)
	if whole {
		if n*product+2*n*n*n+3*float64(k)*n*n > work {
			return 0
		}
		return 1 // products are not counted then
	}
	products := work / (product + 4*n*float64(basis))
	if products < float64(basis) {
		return 0
	}
	return int(min(products, math.MaxInt32))
}
