package symnmf

import (
	"context"
	"fmt"
	"math"
	"time"

	"symnmf/matrix"
)

// Bound says whether Factorize looks for the least error that any H could have.
type Bound int

const (
	// NoBound, the default: never.
	NoBound Bound = iota
	// CheapBound: where that is known to take no more than a fifth of the work of the runs, or some 30 ms.
	CheapBound
	// AnyBound: at any price.
	AnyBound
)

const (
	boundPart  = 0.2
	boundFloor = 1e8 // multiply–adds
)

// bound fills in LowerBound and BoundTime of res, the outcome of runs that took so many sweeps together. It never fails:
// where there is no bound it stays NaN, and a note says why if it was asked for at any price.
//
// How many products eigenpairs take, one hundred or thousands, depends on the spectrum of A, and is not known before. So a
// cheap bound is looked for with a limit on them, and the time may turn out to be spent on nothing. The limit depends on
// counts alone, so that it is the same on every machine.
func (p *problem) bound(ctx context.Context, choice Bound, sweeps int, res *Result) {
	began := time.Now()
	unknown := func(why string, args ...any) {
		if choice == AnyBound {
			res.Notes = append(res.Notes, "no lower bound: "+fmt.Sprintf(why, args...))
		}
	}
	n, _ := matrix.FoldedSize(p.a)
	k := min(p.r, n) // all others are 0
	switch {
	case p.norm == 0:
		res.LowerBound = 0
	case p.ignoreDiag:
		unknown("without the diagonal eigenvalues say nothing")
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
			unknown("of %d eigenpairs some were not found", k)
		default:
			res.LowerBound = p.lowerBound(pairs.Values)
		}
	}
	res.BoundTime = time.Since(began)
}

// lowerBound returns the least error by these eigenvalues, less what rounding may have added where ‖A‖ is what cancels in it leaves.
func (p *problem) lowerBound(values []float64) float64 {
	bound, from := matrix.LowerBound(values, p.norm, p.r), p.normFrom/p.norm
	if from <= 2 {
		return bound
	}
	return math.Sqrt(max(0, bound*bound-0x1p-53*float64(p.rowDepth()+p.r+measureBlock)*from*from))
}

// boundProducts returns how many products with what matrix.Folded makes of A may be spent on k eigenpairs to remain cheap, 0 when that is too few. Work
// is counted in multiply–adds: for a sweep a product with r columns and 6·n·r², for eigenpairs a product with a column and
// four with all of the basis for each, or, of small matrices, the reduction of a itself and three with it for each.
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
		return 1 // they are not counted
	}
	products := work / (product + 4*n*float64(basis))
	if products < float64(basis) {
		return 0
	}
	return int(min(products, math.MaxInt32))
}
