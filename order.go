package symnmf

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"

	"symnmf/internal/kernel"
)

// ColumnOrder is the order in which a sweep visits the columns of H.
type ColumnOrder int

// The paper's CD-Cyclic and CD-Shuffle.
const (
	Cyclic  ColumnOrder = iota // 1, …, r
	Shuffle                    // a fresh permutation for every sweep
)

var columnOrderNames = [...]string{"cyclic", "shuffle"}

func (o ColumnOrder) String() string { return nameOf(o, columnOrderNames[:]) }

// EntryOrder is the order in which a column's entries are visited, and whether all of them are.
type EntryOrder int

// Orders of the entries of a column. The greedy ones first spend one pass over the column, O(n·r), on the keys.
const (
	Natural    EntryOrder = iota // 1, …, n
	Shuffled                     // a fresh permutation for every column visit
	ByDecrease                   // Gauss–Southwell: largest decrease of the objective first
	ByGradient                   // Gauss–Southwell: largest projected gradient first
	Selected                     // by decrease, and only those of at least CD.Nu times the largest
)

var entryOrderNames = [...]string{"natural", "shuffled", "decrease", "gradient", "select"}

func (o EntryOrder) String() string { return nameOf(o, entryOrderNames[:]) }

// nameOf returns names[k], or the number k where there is no such name.
func nameOf[T ~int](k T, names []string) string {
	if k < 0 || int(k) >= len(names) {
		return strconv.Itoa(int(k))
	}
	return names[k]
}

// parseName returns the index of name in names.
func parseName(what, name string, names []string) (int, error) {
	if k := slices.Index(names, name); k >= 0 {
		return k, nil
	}
	return 0, fmt.Errorf("%w: %s=%s, want one of %v", ErrOption, what, name, names)
}

// permutation overwrites perm with a uniform permutation that depends only on seed and where.
func permutation(perm []int, seed uint64, where ...uint64) {
	draw := rand.NewPCG(seed, kernel.Key(seed, where...))
	permute(perm, func(n uint64) uint64 { return below(draw, n) })
}

// shuffle is permutation for many small ones, without divisions; it is off from uniform by less than r·2⁻⁶⁴.
func shuffle(perm []int32, seed uint64, where ...uint64) {
	u := uniform{kernel.Key(seed, where...)}
	permute(perm, func(n uint64) uint64 {
		k, _ := bits.Mul64(u.bits(n-1), n)
		return k
	})
}

// permute overwrites perm with the permutation that results from draws in [0, n) for n = len(perm), …, 2.
func permute[I int | int32](perm []I, draw func(n uint64) uint64) {
	for i := range perm {
		perm[i] = I(i)
	}
	for i := len(perm) - 1; i > 0; i-- {
		k := draw(uint64(i + 1))
		perm[i], perm[k] = perm[k], perm[i]
	}
}

// below returns a uniform number in [0, n). It draws again below 2⁶⁴ mod n, which keeps all numbers equally
// likely.
func below(draw *rand.PCG, n uint64) uint64 {
	for least := -n % n; ; {
		if v := draw.Uint64(); v >= least {
			return v % n
		}
	}
}
