package symnmf

import (
	"math"
	"testing"

	"symnmf/internal/instance"
	"symnmf/matrix"
)

// TestCompressed: a dense A near a low rank is compressed, the change to A itself comes, and the answer is as good as without; one
// that is not near is left alone.
func TestCompressed(t *testing.T) {
	const n, r = 700, 3
	low, _ := instance.LowRank(n, 2*r, 4)
	noise := instance.FullRank(n, 5)
	for k, v := range noise.Data() {
		low.Data()[k] += 0.05 * v
	}
	a := mustDense(t, low)
	begin := func(a matrix.Operator, solver RowBlock) *rowBlockRun {
		opt := Options{Seed: 1}
		p, err := newProblem(a, r, &opt)
		if err != nil {
			t.Fatal(err)
		}
		h := matrix.NewDense(n, r, nil)
		if err := (Random{}).fill(p, h, 0); err != nil {
			t.Fatal(err)
		}
		s := solver.start(p, h, 0).(*rowBlockRun)
		first := p.measure(h)
		s.begin(&first)
		t.Cleanup(s.end)
		return s
	}
	s := begin(a, RowBlock{})
	if s.p == s.full {
		t.Fatal("a dense matrix near a low rank is not compressed")
	}
	if again := s.full.compressed(0); again != s.p {
		t.Error("another run compresses again")
	}
	last := math.Inf(1)
	for range 400 {
		if rep := s.sweep(func() bool { return false }); !rep.provisional {
			s.publish()
			f := s.full.measure(s.out)
			if f.objective() > last+1e-12 || math.Abs(f.objective()-s.safeF) > 1e-9 {
				t.Fatalf("sweep %d: objective %v after %v, the run has %v", s.sweeps, f.objective(), last, s.safeF)
			}
			last = f.objective()
		}
	}
	if s.p != s.full {
		t.Error("after 400 sweeps it is still at the low rank")
	}
	plain := factorize(t, a, r, Options{Seed: 1, Solver: RowBlock{Compress: NoCompression}, Start: Random{}, Stop: Stop{Sweeps: 400, KKT: -1}})
	if d := math.Sqrt(4*last)/s.full.norm - plain.RelErr; d > 1e-6 {
		t.Errorf("relative error %v with compression, %v without", math.Sqrt(4*last)/s.full.norm, plain.RelErr)
	}
	if s := begin(mustDense(t, noise), RowBlock{}); s.p != s.full {
		t.Error("a random matrix is compressed")
	}
	if s := begin(a, RowBlock{Compress: NoCompression}); s.p != s.full {
		t.Error("compressed against orders")
	}
}
