package cluster

import (
	"errors"
	"fmt"
	"math"

	"symnmf/matrix"
)

// ErrGraph reports a matrix that has no modularity.
var ErrGraph = errors.New("cluster: no modularity")

// Modularity returns the modularity of Newman and Girvan (2004) of a labeling of the nodes of a weighted graph,
//
//	Σ_c [ in_c/2m - (vol_c/2m)² ],  in_c = Σ_{i,j∈c} A_ij,  vol_c = Σ_{i∈c} Σ_j A_ij,  2m = Σ_ij A_ij,
//
// from -1/2 to 1. A self-loop A_ii counts once in each sum, as the formula says. The matrix must be square and
// symmetric up to rounding. Its entries must be finite and nonnegative, and at least one must be positive. labels
// must have one entry per node. O(nnz + n log n).
func Modularity(a *matrix.CSR, labels []int) (float64, error) {
	n, cols := a.Dims()
	if n != cols {
		return 0, fmt.Errorf("%w: the graph's matrix has %d rows and %d columns", ErrGraph, n, cols)
	}
	if len(labels) != n {
		return 0, fmt.Errorf("%w: %d labels for a graph of %d nodes", ErrLabels, len(labels), n)
	}
	survey := a.Survey()
	switch bad := survey.NotFinite; {
	case bad.Count > 0:
		return 0, fmt.Errorf("%w: A[%d,%d] is %v", ErrGraph, bad.Row, bad.Col, bad.Value)
	case survey.Negative.Count > 0:
		bad = survey.Negative
		return 0, fmt.Errorf("%w: A[%d,%d] = %v is negative", ErrGraph, bad.Row, bad.Col, bad.Value)
	case survey.Max == 0:
		return 0, fmt.Errorf("%w: the graph has no edge", ErrGraph)
	}
	if pair := a.Asymmetry(); pair.Diff > matrix.DefaultSymmetryTol*survey.Max {
		return 0, fmt.Errorf("%w: |A[%d,%d]-A[%d,%d]| = %.6g in an undirected graph", ErrGraph,
			pair.Row, pair.Col, pair.Col, pair.Row, pair.Diff)
	}
	_, exp := math.Frexp(survey.Max)
	class, size := classes(labels)
	in, vol := make([]float64, len(size)), make([]float64, len(size)) // in units of 2^exp, so that sums stay finite
	var total float64
	for i := range n {
		var inside, degree float64
		col, val := a.Row(i)
		for p, j := range col {
			w := 1.0
			if val != nil {
				w = val[p]
			}
			w = math.Ldexp(w, -exp)
			degree += w
			if class[j] == class[i] {
				inside += w
			}
		}
		in[class[i]] += inside
		vol[class[i]] += degree
		total += degree
	}
	var q float64
	for c := range in {
		q += in[c]/total - (vol[c]/total)*(vol[c]/total)
	}
	return q, nil
}
