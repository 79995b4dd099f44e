package cluster

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrLabels reports labelings that cannot be compared: of different lengths, empty, or too long.
var ErrLabels = errors.New("cluster: labelings cannot be compared")

// NMI returns the normalized mutual information of two labelings y and z of the same items,
//
//	2·I(y;z) / (H(y) + H(z)),  I = Σ_ab n_ab/n · log(n·n_ab/(n_a·n_b)),  H(y) = -Σ_a n_a/n · log(n_a/n),
//
// from 0 for independent labelings to 1. It is 1 if and only if the two make the same groups, even if that is a
// single group. The denominator has the arithmetic mean of the entropies, as in scikit-learn since 0.22; others use the
// geometric mean or the maximum. O(n log n).
func NMI(found, truth []int) (float64, error) {
	t, err := newTable(found, truth)
	switch {
	case err != nil:
		return 0, err
	case t.same():
		return 1, nil
	}
	n := float64(t.n)
	var mutual float64
	for _, c := range t.cells {
		nab := float64(c.count)
		mutual += nab / n * math.Log(n*nab/(float64(t.found[c.a])*float64(t.truth[c.b])))
	}
	entropy := func(sizes []int) (h float64) {
		for _, size := range sizes {
			h += float64(size) / n * math.Log(n/float64(size))
		}
		return h
	}
	// Not 0/0: two constant labelings are the same. Rounding can take a mutual information near n⁻² below 0.
	return max(2*mutual/(entropy(t.found)+entropy(t.truth)), 0), nil
}

// ARI returns the adjusted Rand index of Hubert and Arabie (1985). It is the share of pairs of items that both
// labelings put together or both keep apart, shifted and scaled so that chance gives 0 and the same groups give exactly
// 1. Let tp be the number of pairs that are together in both labelings, fp in found only, fn in truth only, and tn in
// neither. Then
//
//	ARI = 2·(tp·tn - fn·fp) / ((tp+fn)·(fn+tn) + (tp+fp)·(fp+tn))
//
// It is never below -1/2 (Chacón and Rastrojo 2023). The pairs are counted exactly, and only the formula is rounded.
// Its denominator is at least twice either product of its numerator, so the result is correct to 2⁻⁴⁹. O(n log n).
func ARI(found, truth []int) (float64, error) {
	t, err := newTable(found, truth)
	switch {
	case err != nil:
		return 0, err
	case t.same():
		return 1, nil
	}
	pairs := func(size int) int64 { return int64(size) * int64(size-1) / 2 }
	var both, inFound, inTruth int64 // pairs together in both, in found, in truth
	for _, c := range t.cells {
		both += pairs(c.count)
	}
	for _, size := range t.found {
		inFound += pairs(size)
	}
	for _, size := range t.truth {
		inTruth += pairs(size)
	}
	tp, fp, fn := float64(both), float64(inFound-both), float64(inTruth-both)
	tn := float64(pairs(t.n) - inFound - inTruth + both)
	// Not 0/0: fp = fn = 0 only if the groups are the same.
	return 2 * (tp*tn - fn*fp) / ((tp+fn)*(fn+tn) + (tp+fp)*(fp+tn)), nil
}

// Accuracy returns the share of items whose class is right under the best matching of found classes with true classes.
// Each found class is matched with at most one true class, and each true class with at most one found class:
//
//	max over matchings π of n⁻¹·Σ_a n_{a,π(a)}
//
// The numbers of classes may differ. The best matching comes from the Hungarian method on the c pairs of classes that
// have items in common. With k classes on the side of fewer that takes O(k·c·log c) time in the worst case, and mostly
// far less.
func Accuracy(found, truth []int) (float64, error) {
	t, err := newTable(found, truth)
	if err != nil {
		return 0, err
	}
	return float64(t.bestMatching()) / float64(t.n), nil
}

// Purity returns n⁻¹·Σ_a max_b n_ab: the share of items that are right if each found class stands for the most frequent
// true class in it. It tends to grow with the number of found classes, and is 1 if each item is a class of its own.
// O(n log n).
func Purity(found, truth []int) (float64, error) {
	t, err := newTable(found, truth)
	if err != nil {
		return 0, err
	}
	most := make([]int, len(t.found))
	for _, c := range t.cells {
		most[c.a] = max(most[c.a], c.count)
	}
	right := 0
	for _, count := range most {
		right += count
	}
	return float64(right) / float64(t.n), nil
}

// table is the contingency table of two labelings: n_ab counts the items of found class a and true class b. Classes
// are numbered from 0 in the order of their labels, and only cells that are not 0 are kept.
type table struct {
	n            int
	found, truth []int  // class sizes: n_a = Σ_b n_ab, n_b = Σ_a n_ab
	cells        []cell // by a, then b
}

type cell struct{ a, b, count int }

func newTable(found, truth []int) (*table, error) {
	switch {
	case len(found) != len(truth):
		return nil, fmt.Errorf("%w: %d items are labeled in one, %d in the other", ErrLabels, len(found), len(truth))
	case len(found) == 0:
		return nil, fmt.Errorf("%w: they have no items", ErrLabels)
	case len(found) > math.MaxInt32: // so that pairs of items can be counted in an int64
		return nil, fmt.Errorf("%w: they have %d items, the limit is 2³¹−1", ErrLabels, len(found))
	}
	t := &table{n: len(found)}
	var a, b []int
	a, t.found = classes(found)
	b, t.truth = classes(truth)
	keys := make([]uint64, t.n)
	for i := range keys {
		keys[i] = uint64(a[i])<<32 | uint64(b[i])
	}
	slices.Sort(keys)
	for i, key := range keys {
		if i == 0 || key != keys[i-1] {
			t.cells = append(t.cells, cell{a: int(key >> 32), b: int(key & math.MaxUint32)})
		}
		t.cells[len(t.cells)-1].count++
	}
	return t, nil
}

// classes numbers the classes of a labeling from 0 in the order of their labels, and counts their items.
func classes(labels []int) (class, size []int) {
	names := slices.Clone(labels)
	slices.Sort(names)
	names = slices.Compact(names)
	class, size = make([]int, len(labels)), make([]int, len(names))
	for i, label := range labels {
		c, _ := slices.BinarySearch(names, label)
		class[i] = c
		size[c]++
	}
	return class, size
}

// same reports whether the two labelings make the same groups: each class meets one class of the other.
func (t *table) same() bool { return len(t.cells) == len(t.found) && len(t.cells) == len(t.truth) }
