package symnmf

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"symnmf/internal/instance"
	"symnmf/matio"
	"symnmf/matrix"
)

// benchSweeps makes warm sweeps, then measures further ones. It reports nanoseconds per stored entry of A (or
// of X) and column of H, and the part of H that a sweep changes.
func benchSweeps(b *testing.B, a matrix.Operator, r int, start Start, solver Solver, warm int) {
	b.Helper()
	opt := Options{Threads: 1}
	p, err := newProblem(a, r, &opt)
	if err != nil {
		b.Fatal(err)
	}
	h := matrix.NewDense(p.n, r, nil)
	if err := start.fill(p, h, 0); err != nil {
		b.Fatal(err)
	}
	work := solver.start(p, h, 0)
	never := func() bool { return false }
	for range warm {
		work.sweep(never)
	}
	var changed int64
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		changed += work.sweep(never).changed
	}
	per := float64(b.N) * float64(a.Stored()) * float64(r)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/per, "ns/nnz·r")
	b.ReportMetric(float64(changed)/float64(b.N)/float64(p.n*r), "changed")
}

// randomDense returns a symmetric n×n matrix of uniform random entries.
func randomDense(n int) matrix.Operator {
	d := matrix.NewDense(n, n, nil)
	u := uniform{1}
	for i := range n {
		for j := range i + 1 {
			v := u.at(uint64(i*n + j))
			d.Set(i, j, v)
			d.Set(j, i, v)
		}
	}
	a, err := matrix.FromDense(d, 0)
	if err != nil {
		panic(err)
	}
	return a
}

// BenchmarkSweepDense measures a first sweep, and one after ten, on a dense A.
func BenchmarkSweepDense(b *testing.B) {
	for _, n := range []int{500, 1000, 2000} {
		for _, r := range []int{30, 60} {
			a := randomDense(n)
			for _, warm := range []int{0, 10} {
				b.Run(fmt.Sprintf("n=%d/r=%d/after=%d", n, r, warm), func(b *testing.B) { benchSweeps(b, a, r, Random{}, CD{}, warm) })
			}
		}
	}
}

// BenchmarkSweepSparse measures a first sweep, and one after ten, on a sparse A.
func BenchmarkSweepSparse(b *testing.B) {
	for _, c := range []struct{ n, perRow int }{{10000, 20}, {10000, 200}, {10000, 2000}, {100000, 20}} {
		m := instance.RandomSparse(c.n, c.n*c.perRow, 1)
		a, err := matrix.FromCSR(m, 0)
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range []int{16, 30} {
			for _, warm := range []int{0, 10} {
				b.Run(fmt.Sprintf("n=%d/row=%d/r=%d/after=%d", c.n, c.perRow, r, warm), func(b *testing.B) { benchSweeps(b, a, r, Random{}, CD{}, warm) })
			}
		}
	}
}

// BenchmarkFirstSweep measures the first sweep from a random start on graphs.
func BenchmarkFirstSweep(b *testing.B) { benchGraphs(b, 1) }

// BenchmarkTwelveSweeps measures twelve sweeps from a random start on graphs.
func BenchmarkTwelveSweeps(b *testing.B) { benchGraphs(b, 12) }

func benchGraphs(b *testing.B, sweeps int) {
	for _, g := range []string{
		"cora", "lastfm-asia", "facebook-pages", "ca-AstroPh", "soc-Slashdot0902", "polblogs", "email-Eu-core", "blogcatalog",
	} {
		for _, r := range []int{8, 16, 32} {
			b.Run(fmt.Sprintf("%s/r=%d", g, r), func(b *testing.B) {
				path := filepath.Join("..", "shared", "data", g, "A.mtx.gz")
				if _, err := os.Stat(path); err != nil {
					b.Skip(err)
				}
				table, err := matio.Open(path, matio.Options{})
				if err != nil {
					b.Fatal(err)
				}
				a, err := matrix.FromCSR(table.Matrix().(*matrix.CSR), 0)
				if err != nil {
					b.Fatal(err)
				}
				p, err := newProblem(a, r, &Options{Threads: 1})
				if err != nil {
					b.Fatal(err)
				}
				first := matrix.NewDense(p.n, r, nil)
				if err := (Random{}).fill(p, first, 0); err != nil {
					b.Fatal(err)
				}
				never := func() bool { return false }
				for range b.N {
					b.StopTimer()
					run := CD{}.start(p, first.Clone(), 0)
					b.StartTimer()
					for range sweeps {
						run.sweep(never)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*p.n*r*sweeps), "ns/entry")
			})
		}
	}
}

// BenchmarkGrowth measures how the time of a sweep grows with n, the number of stored entries, and r. Each is
// doubled twice while the others stay, except that a dense A has n² entries.
func BenchmarkGrowth(b *testing.B) {
	grow := func(name string, value, n, nnz, r int) {
		a, err := matrix.FromCSR(instance.RandomSparse(n, nnz, 1), 0)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%s=%d", name, value), func(b *testing.B) { benchSweeps(b, a, r, Random{}, CD{}, 2) })
	}
	for k := range 3 {
		grow("sparse/n", 10000<<k, 10000<<k, 2_000_000, 16)
	}
	for k := range 3 {
		grow("sparse/nnz", 1_000_000<<k, 10000, 1_000_000<<k, 16)
	}
	for k := range 3 {
		grow("sparse/r", 16<<k, 10000, 2_000_000, 16<<k)
	}
	for k := range 3 {
		a := randomDense(500 << k)
		b.Run(fmt.Sprintf("dense/n=%d", 500<<k), func(b *testing.B) { benchSweeps(b, a, 30, Random{}, CD{}, 2) })
	}
	a := randomDense(1000)
	for k := range 3 {
		b.Run(fmt.Sprintf("dense/r=%d", 16<<k), func(b *testing.B) { benchSweeps(b, a, 16<<k, Random{}, CD{}, 2) })
	}
}

// sharedX reads the points of a real data set, or skips the test if the set is not beside the checkout.
func sharedX(b testing.TB, name string) matrix.Table {
	b.Helper()
	for _, file := range []string{"X.mtx.gz", "X.npy"} {
		if t, err := matio.Open("../shared/data/"+name+"/"+file, matio.Options{}); err == nil {
			return t.Matrix()
		}
	}
	b.Skipf("data set %s is not beside the checkout", name)
	return nil
}

// explicit writes out the inner products of the columns of x, as a dense or a sparse matrix like x.
func explicit(b testing.TB, x matrix.Table) matrix.Operator {
	b.Helper()
	if d, ok := x.(*matrix.Dense); ok {
		g, err := matrix.Gram(d, matrix.Columns, 2)
		if err != nil {
			b.Fatal(err)
		}
		a, err := matrix.FromDense(denseOf(g), 0)
		if err != nil {
			b.Fatal(err)
		}
		return a
	}
	a, err := matrix.FromCSR(instance.InnerProducts(x, matrix.Columns).(*matrix.CSR), 0)
	if err != nil {
		b.Fatal(err)
	}
	return a
}

// BenchmarkSweepReal measures sweeps on real data, with A written out and with inner products of X.
func BenchmarkSweepReal(b *testing.B) {
	for _, c := range []struct {
		name string
		r    int
	}{{"hitech", 30}, {"classic", 30}, {"cbcl", 60}, {"orl", 60}} {
		b.Run(c.name, func(b *testing.B) {
			x := sharedX(b, c.name)
			a := explicit(b, x)
			g, err := matrix.Gram(x, matrix.Columns, 2)
			if err != nil {
				b.Fatal(err)
			}
			for _, start := range []Start{Zero{}, Random{}} {
				for _, warm := range []int{0, 10} {
					b.Run(fmt.Sprintf("A/%s/after=%d", start.Name(), warm), func(b *testing.B) { benchSweeps(b, a, c.r, start, CD{}, warm) })
					b.Run(fmt.Sprintf("X/%s/after=%d", start.Name(), warm), func(b *testing.B) { benchSweeps(b, g, c.r, start, CD{}, warm) })
				}
			}
		})
	}
}

// BenchmarkBestRoot measures bestRoot for each combination of signs of a and b.
func BenchmarkBestRoot(b *testing.B) {
	u := uniform{3}
	const n = 4096
	for _, c := range []struct {
		name string
		of   func(k uint64) (a, b float64)
	}{
		{"stays-zero", func(k uint64) (float64, float64) { return u.at(k), u.at(k + n) }},
		{"b-negative,a-positive", func(k uint64) (float64, float64) { return u.at(k), -u.at(k + n) }},
		{"b-negative,a-negative", func(k uint64) (float64, float64) { return -u.at(k), -u.at(k + n) }},
		{"b-negative", func(k uint64) (float64, float64) { return 2*u.at(k) - 1, -u.at(k + n) }},
		{"b-positive,a-negative", func(k uint64) (float64, float64) { return -u.at(k), u.at(k+n) * 0.25 }},
	} {
		b.Run(c.name, func(b *testing.B) {
			var as, bs [n]float64
			for k := range n {
				as[k], bs[k] = c.of(uint64(k))
			}
			var sum float64
			for k := range b.N {
				sum += bestRoot(as[k%n], bs[k%n])
			}
			_ = sum
		})
	}
}
