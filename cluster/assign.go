package cluster

import (
	"iter"
	"math"

	"symnmf/matrix"
)

// Assignment is the cluster that an item is assigned to.
type Assignment struct {
	Cluster  int     // the column of the row's largest entry, from 1; the first of several equal; 0 for a row of zeros
	Strength float64 // the largest entry
	Margin   float64 // the confidence 1 − (second largest entry)/(largest entry), from 0 to 1; 0 for a row of zeros
}

// Assign returns the assignment of each row of h. O(n·r).
func Assign(h *matrix.Dense) []Assignment {
	n, _ := h.Dims()
	a := make([]Assignment, n)
	for i := range a {
		var second float64
		for j, hij := range h.Row(i) {
			switch {
			case hij > a[i].Strength:
				second = a[i].Strength
				a[i].Cluster, a[i].Strength = j+1, hij
			case hij > second:
				second = hij
			}
		}
		if a[i].Cluster > 0 {
			a[i].Margin = 1 - second/a[i].Strength
		}
	}
	return a
}

// Sizes returns the number of items in each of the clusters 1 … r, in that order. Unassigned items are not counted. It
// panics if a names a cluster above r, or if r is negative.
func Sizes(a []Assignment, r int) []int {
	sizes := make([]int, r)
	for _, item := range a {
		if item.Cluster > 0 {
			sizes[item.Cluster-1]++
		}
	}
	return sizes
}

// Membership is one nonzero entry of H.
type Membership struct {
	Item    int     // the row, from 0
	Cluster int     // the column, from 1
	Weight  float64 // H_ij
	Share   float64 // the fraction of the item's fitted degree that this cluster explains; an item's shares sum to 1
}

// Memberships yields the entries of h that are not zero, by item and then by cluster. With s_j = Σ_l H_lj,
//
//	share_ij = H_ij·s_j / Σ_k H_ik·s_k
//
// because item i has the degree Σ_l (HHᵀ)_il = Σ_k H_ik·s_k in the fitted graph HHᵀ. Products and sums are kept as a
// fraction and an exponent. Entries anywhere in the range of float64 therefore give shares with a relative error of at
// most (n+r+1)·2⁻⁵². Only a share below 1e-300 may be less precise, or 0. It takes O(n·r) time and O(r) memory.
func Memberships(h *matrix.Dense) iter.Seq[Membership] {
	return func(yield func(Membership) bool) {
		n, r := h.Dims()
		colSum := columnSums(h)
		part := make([]scaled, r)
		for i := range n {
			hi := h.Row(i)
			top := math.MinInt
			for j, hij := range hi {
				if hij > 0 {
					part[j] = scale(hij).times(colSum[j])
					top = max(top, part[j].exp)
				}
			}
			var degree float64 // in units of 2^top: from 1/4 to n·r
			for j, hij := range hi {
				if hij > 0 {
					degree += part[j].in(top)
				}
			}
			for j, hij := range hi {
				if hij > 0 && !yield(Membership{Item: i, Cluster: j + 1, Weight: hij, Share: part[j].in(top) / degree}) {
					return
				}
			}
		}
	}
}

// scaled is the number frac·2^exp, whose exponent has the full range of an int. Fractions stay between 1/4 and n.
type scaled struct {
	frac float64
	exp  int
}

func scale(x float64) scaled {
	frac, exp := math.Frexp(x)
	return scaled{frac, exp}
}

func (x scaled) times(y scaled) scaled { return scaled{x.frac * y.frac, x.exp + y.exp} }

// in returns x in units of 2^exp, or 0 if that is too small for a float64.
func (x scaled) in(exp int) float64 { return math.Ldexp(x.frac, x.exp-exp) }

// columnSums returns s_j = Σ_l H_lj for each column j. Each column is summed in units of the power of two above its
// largest entry, so that the sum of n entries does not overflow.
func columnSums(h *matrix.Dense) []scaled {
	n, r := h.Dims()
	largest := make([]float64, r)
	for i := range n {
		for j, hij := range h.Row(i) {
			largest[j] = max(largest[j], hij)
		}
	}
	sums := make([]scaled, r)
	for j := range sums {
		sums[j].exp = scale(largest[j]).exp
	}
	for i := range n {
		for j, hij := range h.Row(i) {
			if hij > 0 {
				sums[j].frac += scale(hij).in(sums[j].exp)
			}
		}
	}
	return sums
}
