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

	g, d := make([]float64, len(s.hv)), make([]float64, len(s.hv))
	blocks := func(f func(k, lo, hi int)) func() {
		return func() {
			for k := 0; k*s.Block < p.n; k++ {
				f(k, k*s.Block, min((k+1)*s.Block, p.n))
			}
		}
	}
	groups := func(f func(grp *rowGroup, lo, from, to int)) func() {
		return blocks(func(_, lo, hi int) {
			s.eachGroup(lo, hi, func(grp *rowGroup, from, to int) { f(grp, lo, from, to) })
		})
	}
	rows := least(5, blocks(func(_, lo, hi int) {
		s.products(lo, hi)
		copy(g[lo*pitch:hi*pitch], s.g)
	}))
	solve := least(5, groups(func(grp *rowGroup, _, from, to int) {
		x, hx, gx := d[from*pitch:to*pitch], s.hv[from*pitch:to*pitch], g[from*pitch:to*pitch]
		if single {
			grp.single.Solve(x, hx, gx, p.diag[from:to], p.l1, s.narrow, s.perms)
		} else {
			grp.double.Solve(x, hx, gx, p.diag[from:to], p.l1, s.packed, s.perms)
		}
	}))
	own := least(5, blocks(func(k, lo, hi int) {
		s.product.Step(k, d[lo*pitch:hi*pitch])
		if s.lowerProduct != nil {
			s.product.Step(k, s.hv[lo*pitch:hi*pitch])
		}
	}))
	search := least(5, blocks(func(_, lo, hi int) {
		s.eachGroup(lo, hi, func(grp *rowGroup, from, to int) {
			x, hx := d[from*pitch:to*pitch], s.hv[from*pitch:to*pitch]
			clear(grp.dd)
			clear(grp.hd)
			kernel.Gram(grp.dd, x, pitch)
			kernel.TransTimes(grp.hd, hx, pitch, x, pitch)
			grp.lin = -kernel.Dot(g[from*pitch:to*pitch], x)
		})
		all, _ := s.groupsOf(hi - lo)
		bestStep(s.quartic(all, 0), s.MaxStep)
	}))
	clear(d)
	move := least(5, blocks(func(k, lo, hi int) {
		kernel.Advance(s.hv[lo*pitch:hi*pitch], d[lo*pitch:hi*pitch], 1, s.prev[lo*pitch:hi*pitch])
		s.product.Move(k, 1, d[lo*pitch:hi*pitch])
	}))
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
