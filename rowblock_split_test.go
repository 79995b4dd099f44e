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

// BenchmarkSweepSplit takes a sweep of rowblock apart, one thread: the milliseconds of a whole sweep, those of its parts done by
// themselves for all blocks on the same H, and for each part the least this machine could take, from figures of the same run:
// multiply–adds at the rate of a product in cache, bytes at the rate of summing squares over as much memory, and for a root
// rootOps vector instructions, two a cycle as multiply–adds are. What the whole takes beyond its parts is bookkeeping.
func BenchmarkSweepSplit(b *testing.B) {
	b.Run("CBCL dense", func(b *testing.B) {
		x := sharedX(b, "cbcl").(*matrix.Dense)
		_, n := x.Dims()
		d := matrix.NewDense(n, n, nil)
		kernel.TransTimes(d.Data(), x.Data(), n, x.Data(), n)
		a, err := matrix.FromDense(d, 0)
		benchSplit(b, a, err, 60, 0)
	})
	b.Run("hitech from X", func(b *testing.B) {
		x := sharedX(b, "hitech")
		features, _ := x.Dims()
		a, err := matrix.Gram(x, matrix.Columns, 1)
		benchSplit(b, a, err, 30, features)
	})
	b.Run("Slashdot", func(b *testing.B) {
		t, err := matio.Open("../shared/data/soc-Slashdot0902/A.mtx.gz", matio.Options{})
		if err != nil {
			b.Skipf("soc-Slashdot0902: %v", err)
		}
		a, err := matrix.FromCSR(t.Sparse, 0)
		benchSplit(b, a, err, 16, 0)
	})
}

// rootOps is the vector instructions of a root beyond its inner product, its division counted as nine: of AVX2, by count.
const rootOps = 28

// benchSplit prints the table; features is 0 where A is explicit.
func benchSplit(b *testing.B, a matrix.Operator, err error, r, features int) {
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
	s := RowBlock{Compress: NoCompression}.start(p, h, 0).(*rowBlockRun)
	first := p.measure(h)
	s.begin(&first)
	never := func() bool { return false }
	for range 4 {
		s.sweep(never)
	}
	whole := least(5, func() { s.sweep(never) })
	single, pitch := s.single, s.pitch
	s.beta = 0

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
			d, hb := s.d[:(hi-lo)*pitch], s.hv[lo*pitch:hi*pitch]
			each := func(part int, f func()) {
				start := time.Now()
				f()
				spent[part] += time.Since(start)
			}
			each(rowsOfAH, func() { s.products(lo, hi) })
			each(solving, func() {
				s.eachGroup(lo, hi, func(grp *rowGroup, from, to int) { s.propose(grp, lo, from, to) })
			})
			q := 0.0
			each(owning, func() {
				q = s.product.Step(k, d)
				if s.lowerProduct != nil {
					s.product.Step(k, hb)
				}
			})
			each(searching, func() {
				s.eachGroup(lo, hi, func(grp *rowGroup, from, to int) { s.measureStep(grp, lo, from, to) })
				all, _ := s.groupsOf(hi - lo)
				bestStep(s.quartic(all, q), s.MaxStep)
			})
			each(moving, func() {
				kernel.Advance(hb, still[:len(hb)], 1, s.prev[lo*pitch:hi*pitch])
				s.product.Move(k, 1, still[:len(hb)])
			})
		}
		for k, v := range spent {
			if ms := v.Seconds() * 1e3; t == 0 || ms < least5[k] {
				least5[k] = ms
			}
		}
	}
	rows, solve, own, search, move := least5[rowsOfAH], least5[solving], least5[owning], least5[searching], least5[moving]
	s.end()

	// What bounds them.
	x := make([]float64, 128*128)
	c := make([]float64, 128*48)
	perMadd := least(20, func() {
		for range 50 {
			kernel.RowsTimes(c, x, 128, x[:128*48], 48)
		}
	}) / 50 / (128 * 128 * 48)
	perByte := func(bytes float64) float64 {
		v := make([]float64, int(min(bytes, 256<<20)/8))
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
	stored := float64(a.Stored())
	reads := stored * (12 + 8*rr) // of a sparse product: an index, a value and a row of what it multiplies for each entry
	var limit float64             // of the product
	switch {
	case a.Density() > denseFrom:
		limit = max(stored*rr*perMadd, 8*stored*perByte(8*stored))
	case features > 0: // rows of Z for each entry, and what each adds to Z
		limit = max(2*stored*rr*perMadd, reads*perByte(8*rr*float64(features))+12*stored*perByte(12*stored))
	default:
		limit = max(stored*rr*perMadd, reads*perByte(8*rr*n))
	}
	roots := n * float64(p.r) * float64(s.Passes)
	solveLimit := roots * (float64(p.r) + rootOps) * perMadd / lanes
	searchLimit := n * 1.5 * rr * rr * perMadd
	bookLimit := 8 * n * rr * 8 * perByte(16*n*rr)
	book := whole - rows - solve - own - search - move
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(whole, "ms")
	fmt.Printf("%s r=%d, %d passes, float32 %v: a madd %.3f ns\n", b.Name(), r, s.Passes, single, perMadd*1e6)
	fmt.Printf("  %-22s %8s %8s %6s\n", "", "ms", "limit", "ratio")
	line := func(name string, ms, limit float64) {
		fmt.Printf("  %-22s %8.2f %8.2f %6.2f\n", name, ms, limit, ms/limit)
	}
	line("product", rows+own+move, limit)
	fmt.Printf("    %-20s %8.2f\n    %-20s %8.2f\n    %-20s %8.2f\n", "rows of A·H", rows, "⟨A_BB·d, d⟩", own, "H and what follows it", move)
	line("row solve", solve, solveLimit)
	fmt.Printf("    %-20s %8.2f\n", "ns a root", solve*1e6/roots)
	line("line search", search, searchLimit)
	line("bookkeeping", book, bookLimit)
	line("whole", whole, limit+solveLimit+searchLimit+bookLimit)
}

// least returns the least milliseconds of so many calls of f.
func least(calls int, f func()) float64 {
	best := math.Inf(1)
	for range calls {
		start := time.Now()
		f()
		best = min(best, time.Since(start).Seconds()*1e3)
	}
	return best
}
