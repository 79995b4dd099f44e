package symnmf

import (
	"fmt"
	"math"
	"testing"
	"time"

	"symnmf/internal/kernel"
	"symnmf/matio"
	"symnmf/matrix"
)

// BenchmarkSweepSplit takes a sweep of rowblock apart, on one thread. It prints the milliseconds of a whole
// sweep, and those of its parts, each done alone for all blocks on the same H. What the whole takes beyond
// its parts is bookkeeping.
//
// For each part it prints the least that this machine could take, from figures of the same run. Multiply–adds
// count at the rate of a product in cache, or twice that in float32. Bytes, half as many for an H in float32,
// count at the rate of summing squares over as much memory. A root counts rootOps vector instructions, at two
// a cycle as for multiply–adds. Each row that a sparse product gathers counts once a block at the rate of all
// of them, and as at hand where it comes again.
//
// Memory delivers rows in any order more slowly than a stream. In the columns "by lines", the rows that a
// sparse product gathers count as what a loop takes that reads one number of each of their cache lines, in
// the order of the entries. That is a yardstick and not a limit: rows that are fetched ahead can come sooner.
func BenchmarkSweepSplit(b *testing.B) {
	b.Run("CBCL dense", func(b *testing.B) {
		x := sharedX(b, "cbcl").(*matrix.Dense)
		_, n := x.Dims()
		d := matrix.NewDense(n, n, nil)
		kernel.TransTimes(d.Data(), x.Data(), n, x.Data(), n)
		a, err := matrix.FromDense(d, 0)
		benchSplit(b, a, err, 60, false, nil)
		benchSplit(b, a, err, 60, true, nil)
	})
	b.Run("hitech from X", func(b *testing.B) {
		x := sharedX(b, "hitech")
		a, err := matrix.Gram(x, matrix.Columns, 1)
		benchSplit(b, a, err, 30, false, x.(*matrix.CSR).Transpose())
	})
	b.Run("Slashdot", func(b *testing.B) {
		t, err := matio.Open("../shared/data/soc-Slashdot0902/A.mtx.gz", matio.Options{})
		if err != nil {
			b.Skipf("soc-Slashdot0902: %v", err)
		}
		a, err := matrix.FromCSR(t.Sparse, 0)
		benchSplit(b, a, err, 16, false, t.Sparse)
	})
}

// rootOps is the number of vector instructions of a root beyond its inner product, counted for AVX2, with its
// division as nine.
const rootOps = 28

// benchSplit prints the table. If rough, the sweep has products in float32. A sparse product gathers by the
// entries of gathered: those of A, or of the points by rows.
func benchSplit(b *testing.B, a matrix.Operator, err error, r int, rough bool, gathered *matrix.CSR) {
	if err != nil {
		b.Fatal(err)
	}
	opt := Options{Threads: 1}
	p, err := newProblem(a, r, &opt)
	if err != nil {
		b.Fatal(err)
	}
	h := matrix.NewDense(p.n, r, nil)
	if err := (Random{}).fill(p, h, 0); err != nil {
		b.Fatal(err)
	}
	every := 1 // no sweep is rough
	if rough {
		every = math.MaxInt
	}
	s := RowBlock{Compress: NoCompression, CheckEvery: every}.start(p, h, 0).(*rowBlockRun)
	_, explicit := a.(matrix.RowVisitor)
	features := !explicit
	first := p.measure(h)
	s.begin(&first)
	never := func() bool { return false }
	for range 4 {
		s.sweep(never)
	}
	if rough {
		s.rough.due = math.MaxInt
		s.sweep(never)
	}
	whole := least(5, func() { s.sweep(never) })
	told := 1 - float64(s.guessed)/float64(kernel.BlockCount(p.n, s.Block)) // the part of the blocks for which ⟨A_BB·d, d⟩ is computed
	single, pitch := s.single, s.pitch
	size := 8.0 // bytes of a number of H
	if s.rounded.now != nil {
		size = 4
	}
	s.beta, s.rough.now = 0, rough

	// The parts, block by block as in a sweep that changes nothing.
	const (
		rowsOfAH = iota
		solving
		owning
		searching
		moving
		parts
	)
	least5 := make([]float64, parts)
	still := make([]float64, len(s.d))
	for t := range 5 {
		spent := make([]time.Duration, parts)
		for k := 0; k*s.Block < p.n; k++ {
			lo, hi := k*s.Block, min((k+1)*s.Block, p.n)
			d := s.d[:(hi-lo)*pitch]
			each := func(part int, f func()) {
				start := time.Now()
				f()
				spent[part] += time.Since(start)
			}
			s.shortens = s.rounded.now != nil && !s.rounded.product.FewPairs(k)
			each(rowsOfAH, func() {
				s.products(lo, hi)
				s.eachGroup(lo, hi, func(_ *rowGroup, from, to int) { s.sumTerms(lo, from, to) })
			})
			each(solving, func() {
				s.eachGroup(lo, hi, func(grp *rowGroup, from, to int) {
					s.fetchRows(grp, from, to)
					s.propose(grp, lo, from, to)
				})
			})
			each(owning, func() {
				switch {
				case rough:
					s.rough.product.RoughStep(k)
				case s.shortens:
					s.rounded.product.StepSingle(k, s.short[:len(d)])
				default:
					s.product.Step(k, d)
				}
				if s.lowerProduct != nil && s.nearProduct == nil {
					s.ownInner(k, lo, hi)
				}
			})
			each(searching, func() {
				s.eachGroup(lo, hi, func(grp *rowGroup, from, to int) { s.measureStep(grp, lo, from, to) })
				all, _ := s.groupsOf(hi - lo)
				s.wholeOrBest(s.quartic(all))
			})
			each(moving, func() {
				s.eachGroup(lo, hi, func(grp *rowGroup, from, to int) {
					e := still[(from-lo)*pitch : (to-lo)*pitch]
					s.advance(grp, from, to, e, 1)
					if rough {
						s.rough.product.Take(from, to)
					}
					if s.tellsLower() {
						_ = s.lowerInner(grp, lo, from, to)
					}
					if s.tellsLower() && s.nearProduct != nil {
						near := s.at(s.near, lo, from, to)
						_ = kernel.Dot(near, s.rowsOf(grp, from, to)) + kernel.Dot(near, e)
					}
				})
				s.product.Move(k, 1, still[:len(d)])
			})
		}
		for k, v := range spent {
			if ms := v.Seconds() * 1e3; t == 0 || ms < least5[k] {
				least5[k] = ms
			}
		}
	}
	rows, solve, ownMs, search, move := least5[rowsOfAH], least5[solving], told*least5[owning], least5[searching], least5[moving]
	s.end()

	// What bounds the parts.
	x := ones(128 * 128) // fresh zeros would all be one page of memory, which some processors read more slowly
	c := make([]float64, 128*48)
	perMadd := least(20, func() {
		for range 50 {
			kernel.RowsTimes(c, x, 128, x[:128*48], 48)
		}
	}) / 50 / (128 * 128 * 48)
	perByte := func(bytes float64) float64 {
		v := ones(int(min(bytes, 256<<20) / 8))
		times := int(1 + 64<<20/float64(8*len(v)+1))
		return least(5, func() {
			for range times {
				kernel.SumSq(v)
			}
		}) / float64(times) / float64(8*len(v))
	}
	lanes := 1.0
	if single {
		lanes = 2
	}
	n, rr := float64(p.n), float64(pitch)
	madds := func(count float64) float64 { return count * rr * perMadd }
	stream := func(numbers float64) float64 { return 8 * numbers * perByte(8*numbers) }
	stored := float64(a.Stored())
	const ( // the parts of the product
		fromH = iota // rows of A·H
		own          // ⟨A_BB·d, d⟩, and of H where A is sparse
		after        // what follows H
	)
	var limit, byLines [3]float64
	far, near := perByte(2*size*n*rr), perByte(16*float64(s.Block)*rr) // for all of H and the H before, and for what a block has at hand
	bookLimit := 3*n*rr*size*far + madds(n*rr/2)                       // both are read and one is written; HᵀH
	moveLimit := 3*n*rr*size*far + 2*n*rr*8*near                       // the same, a block at a time; H_B and the step at hand
	switch {
	case rough: // half as many bytes, and twice as many lanes; H is written in float32
		limit[fromH] = max(madds(stored)/2, stream(stored/2))
		limit[own] = madds(n*float64(s.Block)/2) / 2
		limit[after] = moveLimit + 4*n*float64(kernel.SinglePitch(pitch))*far
		byLines = limit
	case gathered == nil:
		limit[fromH] = max(madds(stored), stream(stored))
		limit[own] = madds(n * float64(s.Block) / 2)
		limit[after] = moveLimit
		byLines = limit
	default:
		_, rows := gathered.Dims()
		z := float64(rows) * rr
		entry := 12.0 // bytes of an index and a value, or of an index alone if all values are 1
		if gathered.Val == nil {
			entry = 4
		}
		list := entry * stored * perByte(entry*stored)
		pairs, distinct := splitCounts(gathered, s.Block)
		again := (stored - distinct) * perByte(size*float64(s.Block)*rr)
		limit[fromH] = max(madds(stored), size*rr*(distinct*perByte(size*z)+again)+list)
		byLines[fromH] = max(madds(stored), readLines(gathered.Col, rows, pitch*int(size)/8))
		limit[own], limit[after] = 2*madds(pairs), moveLimit
		if features { // A_BB·d feature by feature; the rows of Z that a block changes are read and written
			limit[own] = told * madds(stored)
			limit[after] += max(madds(stored), 2*distinct*8*rr*perByte(8*z)+list)
			bookLimit += 4 * z * 8 * perByte(16*z) // the same for Z; ‖Z‖²
		}
		byLines[own], byLines[after] = limit[own], limit[after]
	}
	roots := n * float64(p.r) * float64(s.Passes)
	solveLimit := roots * (float64(p.r) + rootOps) * perMadd / lanes
	searchLimit := n * 1.5 * rr * rr * perMadd
	book := whole - rows - solve - ownMs - search - move
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(whole, "ms")
	fmt.Printf("%s r=%d, %d passes, float32 %v, rough %v: a madd %.3f ns\n", b.Name(), r, s.Passes, single, rough, perMadd*1e6)
	fmt.Printf("  %-22s %8s %8s %6s %8s %6s\n", "", "ms", "limit", "ratio", "by lines", "ratio")
	line := func(name string, ms, limit, byLines float64) {
		fmt.Printf("  %-22s %8.2f %8.2f %6.2f %8.2f %6.2f\n", name, ms, limit, ms/limit, byLines, ms/byLines)
	}
	sum := func(v [3]float64) float64 { return v[0] + v[1] + v[2] }
	line("product", rows+ownMs+move, sum(limit), sum(byLines))
	for k, part := range []struct {
		name string
		ms   float64
	}{{"rows of A·H", rows}, {"⟨A_BB·d, d⟩", ownMs}, {"H and what follows it", move}} {
		line("  "+part.name, part.ms, limit[k], byLines[k])
	}
	line("row solve", solve, solveLimit, solveLimit)
	fmt.Printf("    %-20s %8.2f\n", "ns a root", solve*1e6/roots)
	line("line search", search, searchLimit, searchLimit)
	line("bookkeeping", book, bookLimit, bookLimit)
	rest := solveLimit + searchLimit + bookLimit
	line("whole", whole, sum(limit)+rest, sum(byLines)+rest)
}

// splitCounts returns how many entries x has left of the diagonal in its diagonal blocks of rows and columns,
// and how many rows of what is gathered its blocks of rows use.
func splitCounts(x *matrix.CSR, block int) (pairs, distinct float64) {
	n, columns := x.Dims()
	last := make([]int, columns) // the block that used each last, from 1
	for i := range n {
		first := i / block * block
		col, _ := x.Row(i)
		for _, c := range col {
			if last[c] != first/block+1 {
				last[c] = first/block + 1
				distinct++
			}
			if int(c) >= first && int(c) < i {
				pairs++
			}
		}
	}
	return pairs, distinct
}

// readLines returns the milliseconds it takes to read a number from each cache line of the rows idx, in that
// order. Rows have pitch numbers.
func readLines(idx []int32, rows, pitch int) float64 {
	v := ones(rows * pitch)
	var bits uint64
	ms := least(5, func() {
		for _, c := range idx {
			row := v[int(c)*pitch : (int(c)+1)*pitch]
			for k := 0; k < len(row); k += 8 {
				bits |= math.Float64bits(row[k])
			}
		}
	})
	if bits == 0 {
		panic("nothing read")
	}
	return ms
}

// ones returns n numbers in memory of their own. Where nothing has been written yet, all pages that are read
// are one and the same.
func ones(n int) []float64 {
	v := kernel.Numbers(n)
	for k := range v {
		v[k] = 1
	}
	return v
}

// least returns the least milliseconds of the given number of calls of f.
func least(calls int, f func()) float64 {
	best := math.Inf(1)
	for range calls {
		start := time.Now()
		f()
		best = min(best, time.Since(start).Seconds()*1e3)
	}
	return best
}
