package cluster_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"symnmf/cluster"
)

// Random cases are the same in every run. The flag -rapid.seed=0 draws new ones.
func init() {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
}

type measure func(found, truth []int) (float64, error)

var measures = map[string]measure{
	"NMI": cluster.NMI, "ARI": cluster.ARI, "Accuracy": cluster.Accuracy, "Purity": cluster.Purity,
}

func label(n int, f func(i int) int) []int {
	labels := make([]int, n)
	for i := range labels {
		labels[i] = f(i)
	}
	return labels
}

// TestCompareScikitLearn compares with the values of scikit-learn 1.2.1 (normalized_mutual_info_score,
// adjusted_rand_score, contingency_matrix) and SciPy 1.10.1 (linear_sum_assignment on that matrix) for labelings given
// by formulas.
func TestCompareScikitLearn(t *testing.T) {
	for _, tc := range []struct {
		name                       string
		n                          int
		found, truth               func(i int) int
		nmi, ari, accuracy, purity float64
	}{
		{"spread", 200, func(i int) int { return (i*i + 3*i) % 7 }, func(i int) int { return (i*7 + i/5) % 4 },
			0.00037337574795847495, -0.012476434863876212, 0.265, 0.4},
		{"near", 150, func(i int) int {
			if i%9 != 0 {
				return i / 50
			}
			return 2 - i/75
		}, func(i int) int { return -(i / 50) },
			0.7189525677254116, 0.7394015436675412, 0.9066666666666666, 0.9066666666666666},
		{"many found", 500, func(i int) int { return i*i%37 - 5 }, func(i int) int { return i % 3 },
			0.0013949410817928928, -0.00669206248715872, 0.058, 0.358},
		{"many true", 500, func(i int) int { return i % 3 }, func(i int) int { return i*i%37 - 5 },
			0.0013949410817928928, -0.00669206248715872, 0.058, 0.058},
		{"independent", 36, func(i int) int { return i % 6 }, func(i int) int { return i / 6 },
			0, -0.16666666666666666, 0.16666666666666666, 0.16666666666666666},
		{"large", 100000, func(i int) int { return i / 7 % 11 }, func(i int) int {
			if i%13*(i%13)%13 < 9 {
				return i / 7 % 11
			}
			return i % 5
		}, 0.4092232701942361, 0.25997480119443733, 0.58044, 0.58044},
		{"one against all", 20, func(int) int { return 4 }, func(i int) int { return i },
			0, 0, 0.05, 0.05},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found, truth := label(tc.n, tc.found), label(tc.n, tc.truth)
			// Either program rounds some 6 times per cell, in terms of at most log n ≤ 11.6. There are at most 77
			// cells, and the sum of the entropies, which is the divisor, is more than 1.
			const tol = 2 * 6 * 12 * 77 * 0x1p-53
			for name, want := range map[string]float64{"NMI": tc.nmi, "ARI": tc.ari, "Accuracy": tc.accuracy, "Purity": tc.purity} {
				got, err := measures[name](found, truth)
				if err != nil || !(math.Abs(got-want) <= tol) {
					t.Errorf("%s = %v, %v, want %v", name, got, err, want)
				}
			}
		})
	}
}

// naive has a reference for each measure, straight from its definition.
var naive = map[string]func(found, truth []int) float64{
	"NMI": func(found, truth []int) float64 { // I = H(y) + H(z) - H(y, z)
		entropy := func(name func(i int) string) (h float64) {
			count := map[string]int{}
			for i := range found {
				count[name(i)]++
			}
			for _, c := range count {
				p := float64(c) / float64(len(found))
				h -= p * math.Log(p)
			}
			return h
		}
		y := entropy(func(i int) string { return fmt.Sprint(found[i]) })
		z := entropy(func(i int) string { return fmt.Sprint(truth[i]) })
		both := entropy(func(i int) string { return fmt.Sprint(found[i], truth[i]) })
		if y == 0 && z == 0 {
			return 1
		}
		return 2 * (y + z - both) / (y + z)
	},
	"ARI": func(found, truth []int) float64 { // (index - expected) / (largest - expected), pair by pair
		var index, inFound, inTruth, pairs float64
		for i := range found {
			for l := range i {
				pairs++
				f, t := found[i] == found[l], truth[i] == truth[l]
				if f {
					inFound++
				}
				if t {
					inTruth++
				}
				if f && t {
					index++
				}
			}
		}
		if inFound == inTruth && inFound == index { // the same pairs: the same groups
			return 1
		}
		expected := inFound * inTruth / pairs
		return (index - expected) / ((inFound+inTruth)/2 - expected)
	},
	"Accuracy": func(found, truth []int) float64 { // all matchings, one found class after the other
		names := distinct(found)
		var best func(a int, used map[int]bool) int
		best = func(a int, used map[int]bool) int {
			if a == len(names) {
				return 0
			}
			most := best(a+1, used) // found class a has no match
			for _, b := range distinct(truth) {
				if !used[b] {
					used[b] = true
					most = max(most, count(found, truth, names[a], b)+best(a+1, used))
					used[b] = false
				}
			}
			return most
		}
		return float64(best(0, map[int]bool{})) / float64(len(found))
	},
	"Purity": func(found, truth []int) float64 {
		right := 0
		for _, a := range distinct(found) {
			most := 0
			for _, b := range distinct(truth) {
				most = max(most, count(found, truth, a, b))
			}
			right += most
		}
		return float64(right) / float64(len(found))
	},
}

func distinct(labels []int) []int {
	return slices.Compact(slices.Sorted(slices.Values(labels)))
}

func count(found, truth []int, a, b int) int {
	c := 0
	for i := range found {
		if found[i] == a && truth[i] == b {
			c++
		}
	}
	return c
}

// labelings draws two labelings of up to 30 items with up to 6 classes each, of any names.
func labelings(t *rapid.T) (found, truth []int) {
	n := rapid.IntRange(1, 30).Draw(t, "n")
	draw := func(name string) []int {
		names := rapid.SliceOfN(rapid.Int(), 1, 6).Draw(t, name+" classes")
		return rapid.SliceOfN(rapid.SampledFrom(names), n, n).Draw(t, name)
	}
	return draw("found"), draw("truth")
}

// compareTol bounds the difference of two ways to compute a measure of at most 30 items and 36 cells. For ARI it is
// twice 2⁻⁴⁹. NMI has about 6 roundings per cell, in terms of at most log 30 < 4, divided by a sum of entropies that is
// 0 or at least H(1/30) > 0.14. The others are quotients of equal integers.
const compareTol = 2 * 6 * 36 * 4 / 0.14 * 0x1p-53

// TestCompareNaive compares each measure with its naive reference on random labelings.
func TestCompareNaive(t *testing.T) {
	for name, m := range measures {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			found, truth := labelings(t)
			got, err := m(found, truth)
			if want := naive[name](found, truth); err != nil || !(math.Abs(got-want) <= compareTol) {
				t.Fatalf("%v, %v, want %v", got, err, want)
			}
		}))
	}
}

// TestCompareProperties: measures stay within their bounds, do not depend on the names of classes or on the order of
// items, and are 1 for a labeling and itself with other names. All but purity are symmetric.
func TestCompareProperties(t *testing.T) {
	least := map[string]float64{"ARI": -0.5}
	symmetric := map[string]bool{"NMI": true, "ARI": true, "Accuracy": true}
	for name, m := range measures {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			found, truth := labelings(t)
			value := func(found, truth []int) float64 {
				v, err := m(found, truth)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			v := value(found, truth)
			if !(v >= least[name] && v <= 1) {
				t.Fatalf("%v is out of bounds", v)
			}
			if w := value(truth, found); symmetric[name] && !(math.Abs(v-w) <= compareTol) {
				t.Fatalf("%v one way round, %v the other", v, w)
			}
			names := rapid.Permutation(distinct(found)).Draw(t, "new names")
			renamed := make([]int, len(found))
			for i, c := range found {
				renamed[i] = ^names[slices.Index(distinct(found), c)]
			}
			if w := value(renamed, truth); !(math.Abs(v-w) <= compareTol) {
				t.Fatalf("%v, and %v with other names", v, w)
			}
			if w := value(found, renamed); w != 1 {
				t.Fatalf("%v against itself with other names, want 1", w)
			}
			order := rapid.Permutation(label(len(found), func(i int) int { return i })).Draw(t, "order")
			f := label(len(found), func(i int) int { return found[order[i]] })
			g := label(len(found), func(i int) int { return truth[order[i]] })
			if w := value(f, g); w != v {
				t.Fatalf("%v, and %v in another order", v, w)
			}
		}))
	}
}

// TestAccuracyMatching compares the Hungarian method with dynamic programming over sets of true classes. The tables are
// too large to try all matchings: wide, tall and square, sparse and dense.
func TestAccuracyMatching(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		k, l, n := 1+rng.IntN(12), 1+rng.IntN(12), 1+rng.IntN(200)
		found := label(n, func(int) int { return rng.IntN(k) })
		truth := label(n, func(i int) int {
			if rng.IntN(2) == 0 {
				return found[i] % l
			}
			return rng.IntN(l)
		})
		table := make([]int, k*l)
		for i := range found {
			table[found[i]*l+truth[i]]++
		}
		best := make([]int, 1<<l) // the most with the rows so far, by the set of columns they may use
		for a := range k {
			next := slices.Clone(best)
			for set := range next {
				for b := range l {
					if set&(1<<b) != 0 {
						next[set] = max(next[set], best[set&^(1<<b)]+table[a*l+b])
					}
				}
			}
			best = next
		}
		got, err := cluster.Accuracy(found, truth)
		if want := float64(best[len(best)-1]) / float64(n); err != nil || got != want {
			t.Fatalf("seed %d: table %d×%d %v: accuracy %v, %v, want %v", seed, k, l, table, got, err, want)
		}
	}
}

// TestCompareLarge has a thousand classes on each side. One item in ten is found in the class after its own.
func TestCompareLarge(t *testing.T) {
	const n, k = 100_000, 1000
	truth := label(n, func(i int) int { return i % k })
	found := label(n, func(i int) int {
		if i/k%10 == 0 {
			i++ // to the next class
		}
		return (i*7 + 3) % k // 7 and 1000 have no common divisor: a renaming
	})
	if got, err := cluster.Accuracy(found, truth); err != nil || got != 0.9 {
		t.Errorf("Accuracy = %v, %v, want 0.9", got, err)
	}
	if got, err := cluster.Purity(found, truth); err != nil || got != 0.9 {
		t.Errorf("Purity = %v, %v, want 0.9", got, err)
	}
}

// TestAccuracyOfPath: the best matching needs a path on which the prices of clusters change more than once.
func TestAccuracyOfPath(t *testing.T) {
	var found, truth []int
	for a, row := range [][]int{{1, 5, 2}, {0, 2, 0}, {5, 3, 0}} {
		for b, count := range row {
			for range count {
				found, truth = append(found, a), append(truth, b)
			}
		}
	}
	if got, err := cluster.Accuracy(found, truth); err != nil || got != 10.0/18 {
		t.Errorf("%v, %v, want 10 of 18", got, err)
	}
}

// TestCompareTrivial checks labelings of one class and of one class per item, and that labelings of different
// lengths or without items are refused.
func TestCompareTrivial(t *testing.T) {
	one := label(5, func(int) int { return 9 })
	all := label(5, func(i int) int { return -i })
	for name, m := range measures {
		for _, tc := range []struct {
			found, truth []int
			want         float64
		}{
			{one, one, 1}, {all, all, 1}, {[]int{3}, []int{-4}, 1},
			{one, all, map[string]float64{"Accuracy": 0.2, "Purity": 0.2}[name]},
			{all, one, map[string]float64{"Accuracy": 0.2, "Purity": 1}[name]},
		} {
			if got, err := m(tc.found, tc.truth); err != nil || got != tc.want {
				t.Errorf("%s(%v, %v) = %v, %v, want %v", name, tc.found, tc.truth, got, err, tc.want)
			}
		}
		if _, err := m([]int{1, 2}, []int{1}); !errors.Is(err, cluster.ErrLabels) || !strings.Contains(err.Error(), "2 items are labeled in one, 1 in the other") {
			t.Errorf("%s of different lengths: %v", name, err)
		}
		if _, err := m(nil, []int{}); !errors.Is(err, cluster.ErrLabels) || !strings.Contains(err.Error(), "no items") {
			t.Errorf("%s of nothing: %v", name, err)
		}
	}
}
