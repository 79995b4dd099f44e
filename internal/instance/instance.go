// Package instance makes problems for tests, experiments and benchmarks. For most of them a solution, or a bound on it,
// is known. For points it writes out A ([InnerProducts]).
//
// A seed fixes every number, to the last bit and on every machine. Draws come from math/rand/v2's PCG, with a separate
// stream for each function, and sums of products use no fused multiply–add. Arguments out of range are mistakes in the
// calling program and cause a panic.
package instance

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"symnmf/matrix"
)

// Streams of the generator, so that one seed gives unrelated numbers in different functions.
const (
	streamLowRank = iota + 1
	streamFullRank
	streamPlanted
	streamText
	streamPairs
	streamStart
	streamScramble
)

// LowRank returns A = B·Bᵀ, n×n, and B, n×r, whose entries are uniform in [0, 1). With r columns or more the
// least error is 0, for example at H = B: A is B·Bᵀ up to the rounding of its entries, which is at most r·2⁻⁵³ of
// each. The entries of A lie around r/4, or r/3 on the diagonal. O(n²·r).
func LowRank(n, r int, seed uint64) (a, b *matrix.Dense) {
	b = uniform(n, r, seed, streamLowRank)
	a = matrix.NewDense(n, n, nil)
	for i := range n {
		bi := b.Row(i)
		for l := range i + 1 {
			var sum float64
			for k, blk := range b.Row(l) {
				sum += float64(bi[k] * blk) // the conversion forbids a fused multiply–add
			}
			a.Set(i, l, sum)
			a.Set(l, i, sum)
		}
	}
	return a, b
}

// FullRank returns A = B + Bᵀ, n×n, with B uniform in [0, 1). It has full rank with probability 1, and about half
// of its eigenvalues are negative, so no H reaches error 0. With eigenvalues λ₁ ≥ λ₂ ≥ …, no H of r columns has a
// squared error below ‖A‖² − Σ_{k≤r} max(λ_k, 0)². One column leaves little to the others, because λ₁ is near n
// and all other eigenvalues are at most about √(2n/3) in magnitude.
func FullRank(n int, seed uint64) *matrix.Dense {
	b := uniform(n, n, seed, streamFullRank)
	a := matrix.NewDense(n, n, nil)
	for i := range n {
		for l := range n {
			a.Set(i, l, b.At(i, l)+b.At(l, i))
		}
	}
	return a
}

// PlantedGraph returns the adjacency matrix of a random graph with known groups, and the group of each node, from 1.
// The groups are blocks of consecutive nodes whose sizes differ by at most 1. Each pair of nodes is joined with
// probability pIn inside a group and pOut across groups. All values are 1 (not stored), and there are no self-loops.
//
// With pIn = 1 and pOut = 0 the graph is a union of cliques, and the least error with one column per group is
// known. A column with √(1−1/s) on each of the s nodes of its group leaves the squared error s−1 there. No H does
// better, because the eigenvalues of A are s−1 for each group and otherwise -1. O(n²) draws, O(edges) memory.
func PlantedGraph(n, groups int, pIn, pOut float64, seed uint64) (*matrix.CSR, []int) {
	if groups < 1 || groups > max(n, 1) {
		panic(fmt.Sprintf("instance: %d groups of %d nodes", groups, n))
	}
	rng := newRand(seed, streamPlanted)
	labels := make([]int, n)
	for i := range labels {
		labels[i] = int(int64(i)*int64(groups)/int64(n)) + 1
	}
	neighbors := make([][]int32, n)
	for i := range n {
		for l := range i {
			p := pOut
			if labels[i] == labels[l] {
				p = pIn
			}
			if rng.Float64() < p {
				neighbors[i] = append(neighbors[i], int32(l))
				neighbors[l] = append(neighbors[l], int32(i))
			}
		}
	}
	rowPtr := make([]int64, n+1)
	for i, row := range neighbors {
		rowPtr[i+1] = rowPtr[i] + int64(len(row))
	}
	return newCSR(n, n, rowPtr, slices.Concat(neighbors...), nil), labels
}

// Text returns word counts X of m documents (rows) and n terms (columns). Each document draws terms until it has
// nnzPerDoc different ones, so that common terms have counts above 1. Term j is drawn with probability proportional to
// 1/(j+1), Zipf's law. Documents are independent, so X has no groups to find; XᵀX and XXᵀ are nonnegative and near
// rank 1. The number of draws is O(m·nnzPerDoc) if nnzPerDoc is a small fraction of n.
func Text(m, n, nnzPerDoc int, seed uint64) *matrix.CSR {
	if nnzPerDoc < 0 || nnzPerDoc > n {
		panic(fmt.Sprintf("instance: %d different terms of %d", nnzPerDoc, n))
	}
	rng := newRand(seed, streamText)
	upTo := make([]float64, n) // Σ_{l≤j} 1/(l+1)
	sum := 0.0
	for j := range upTo {
		sum += 1 / float64(j+1)
		upTo[j] = sum
	}
	rowPtr := make([]int64, m+1)
	col := make([]int32, 0, m*nnzPerDoc)
	val := make([]float64, 0, m*nnzPerDoc)
	count := make([]float64, n)
	for d := range m {
		for len(col) < (d+1)*nnzPerDoc {
			u := rng.Float64() * sum
			j := min(sort.Search(n, func(j int) bool { return upTo[j] > u }), n-1) // the product may round up to sum
			if count[j] == 0 {
				col = append(col, int32(j))
			}
			count[j]++
		}
		terms := col[d*nnzPerDoc:]
		slices.Sort(terms)
		for _, j := range terms {
			val = append(val, count[j])
			count[j] = 0
		}
		rowPtr[d+1] = int64(len(col))
	}
	return newCSR(m, n, rowPtr, col, val)
}

// RandomSparse returns a symmetric n×n matrix with both triangles stored, which has about nnz entries and no more. It
// draws nnz/2 pairs of different indices uniformly; the few pairs that repeat, a share near nnz/n², count once. Values
// are uniform in (0, 1]; the diagonal is zero. Nothing is known about the optimum, and the pattern has no structure to
// exploit: it is the worst case for a cache. It takes O(n + nnz·log(nnz/n)) time, and the memory of the result and n
// counters.
func RandomSparse(n, nnz int, seed uint64) *matrix.CSR {
	if n < 2 && nnz > 1 {
		panic(fmt.Sprintf("instance: %d entries off the diagonal of a %d×%d matrix", nnz, n, n))
	}
	rowPtr, col := fromPairs(n, func(f func(i, l int32)) {
		rng := newRand(seed, streamPairs)
		for range nnz / 2 {
			i, l := rng.Int32N(int32(n)), rng.Int32N(int32(n)-1)
			if l >= i {
				l++
			}
			f(i, l)
		}
	})
	val := make([]float64, len(col))
	for i := range n {
		for p := rowPtr[i]; p < rowPtr[i+1]; p++ {
			val[p] = pairValue(i, int(col[p]), seed)
		}
	}
	return newCSR(n, n, rowPtr, col, val)
}

// fromPairs returns the pattern of the symmetric n×n matrix that stores (i, l) and (l, i) for every pair i ≠ l
// with which each calls f. A pair that comes several times is stored once. The pairs are generated twice instead
// of being kept, once to count and once to place them. The memory, beside the result, is the repeated pairs and n
// counters.
func fromPairs(n int, each func(f func(i, l int32))) (rowPtr []int64, col []int32) {
	next := make([]int64, n+1)
	each(func(i, l int32) {
		next[i+1]++
		next[l+1]++
	})
	for i := range n {
		next[i+1] += next[i]
	}
	col = make([]int32, next[n])
	each(func(i, l int32) {
		col[next[i]], col[next[l]] = l, i
		next[i]++
		next[l]++
	})
	rowPtr = make([]int64, n+1) // next[i] is now the end of row i, and thus the beginning of row i+1
	stored := col[:0]
	var from int64
	for i := range n {
		row := col[from:next[i]]
		from = next[i]
		slices.Sort(row)
		stored = append(stored, slices.Compact(row)...) // overwrites only what has been read
		rowPtr[i+1] = int64(len(stored))
	}
	return rowPtr, stored
}

// pairValue returns a number in (0, 1] that depends only on the seed and the unordered pair i ≠ l: the first draw of a
// stream numbered by the pair, from 2³² on.
func pairValue(i, l int, seed uint64) float64 {
	var pcg rand.PCG
	pcg.Seed(seed, uint64(max(i, l))<<32|uint64(min(i, l)))
	return float64(pcg.Uint64()>>11+1) * 0x1p-53
}

// Start returns an n×r matrix with entries uniform in [0, 1), to start a solver from.
func Start(n, r int, seed uint64) *matrix.Dense { return uniform(n, r, seed, streamStart) }

// Hash returns the SHA-256 of the bits of h, little-endian and by rows. It is equal for matrices that are the
// same to the last bit.
func Hash(h *matrix.Dense) string {
	sum := sha256.New()
	var word [8]byte
	for _, v := range h.Data() {
		binary.LittleEndian.PutUint64(word[:], math.Float64bits(v))
		sum.Write(word[:])
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

func newRand(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

func uniform(rows, cols int, seed, stream uint64) *matrix.Dense {
	rng := newRand(seed, stream)
	a := matrix.NewDense(rows, cols, nil)
	for p := range a.Data() {
		a.Data()[p] = rng.Float64()
	}
	return a
}

// newCSR is matrix.NewCSR for arrays that are right by construction.
func newCSR(rows, cols int, rowPtr []int64, col []int32, val []float64) *matrix.CSR {
	a, err := matrix.NewCSR(rows, cols, rowPtr, col, val)
	if err != nil {
		panic(err)
	}
	return a
}
