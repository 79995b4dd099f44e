package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkSolveRows solves blocks of 128 rows of an H that is close to the minimizers and whose entries are
// positive with the given probability. ns/root is the time for one entry in one of four passes, everything
// included.
func BenchmarkSolveRows(b *testing.B) {
	for _, r := range []int{16, 30, 60} {
		for _, positive := range []float64{1, 0.3} {
			name := fmt.Sprintf("r=%d/positive=%g", r, positive)
			onPaths(b, "float64/"+name, func(b *testing.B) { benchSolveRows[float64](b, r, positive) })
			onPaths(b, "float32/"+name, func(b *testing.B) { benchSolveRows[float32](b, r, positive) })
		}
	}
}

func benchSolveRows[F Float](b *testing.B, r int, positive float64) {
	const n, block, passes = 2048, 128, 4
	rng := rand.New(rand.NewPCG(1, 0))
	h := make([]float64, n*r)
	for i := range h {
		if rng.Float64() < positive {
			h[i] = rng.Float64()
		}
	}
	d := make([]float64, r*r)
	Gram(d, h, r)
	// For A = HHᵀ, A·H is H·D. Where H is zero, a smaller entry of A·H keeps it zero.
	g := make([]float64, n*r)
	for i := range n {
		RowTimes(g[i*r:(i+1)*r], h[i*r:(i+1)*r], d)
	}
	diag, l1, perms := make([]float64, n), make([]float64, r), make([]int32, 0, passes*r)
	narrow := make([]F, len(d))
	for i := range diag {
		diag[i] = SumSq(h[i*r : (i+1)*r])
	}
	for i, v := range h {
		if v == 0 {
			g[i] *= 0.9
		} else {
			h[i] *= 1 + 0.01*rng.Float64()
		}
	}
	for i, v := range d {
		narrow[i] = F(v)
	}
	for range passes {
		for _, j := range rng.Perm(r) {
			perms = append(perms, int32(j))
		}
	}
	s, dst, orders := NewRowSolver[F](r, r, false), make([]float64, block*r), ordersOf(r, perms)
	lo := 0
	b.ResetTimer()
	for range b.N {
		from, to := lo*r, (lo+block)*r
		s.Solve(dst, h[from:to], g[from:to], diag[lo:lo+block], l1, narrow, orders)
		lo = (lo + block) % n
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(block*r*passes), "ns/root")
}
