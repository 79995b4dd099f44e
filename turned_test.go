package symnmf

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// apart returns the largest difference of two matrices.
func apart(x, y []float64) (most float64) {
	for k := range x {
		most = max(most, math.Abs(x[k]-y[k]))
	}
	return most
}

// TestNearestRotation: it is orthogonal and that of the singular value decomposition, also of what is singular, or nearly.
func TestNearestRotation(t *testing.T) {
	rng := rand.New(rand.NewPCG(39, 1))
	for _, r := range []int{1, 2, 7, 16, 61} {
		m := make([]float64, r*r)
		for k := range m {
			m[k] = rng.Float64() - 0.4
		}
		steep := slices.Clone(m) // rows of very unlike sizes
		for i := range r {
			for j := range r {
				steep[i*r+j] *= math.Pow(10, -4*float64(i)/float64(r))
			}
		}
		for name, m := range map[string][]float64{"any": m, "steep": steep} {
			q, want := nearestRotation(m, r), rotation(m, r)
			if d := apart(q, want); !(d <= 1e-5) {
				t.Errorf("%s, r = %d: %v from that of the singular value decomposition", name, r, d)
			}
		}
		clear(m[:r])
		q := nearestRotation(m, r)
		for j := range r {
			for k := range r {
				var d float64
				for i := range r {
					d += q[i*r+j] * q[i*r+k]
				}
				if j == k {
					d--
				}
				if !(math.Abs(d) <= 1e-12) {
					t.Errorf("singular, r = %d: (QᵀQ)[%d,%d] is off by %v", r, j, k, d)
				}
			}
		}
	}
	if one, other := randomRotation(1, 0, 5), randomRotation(1, 1, 5); slices.Equal(one, other) || !slices.Equal(one, randomRotation(1, 0, 5)) {
		t.Error("a random rotation is no function of seed and run, or the same for all")
	}
}

func TestLargest(t *testing.T) {
	rng := rand.New(rand.NewPCG(39, 2))
	for n := 1; n < 40; n++ {
		for _, kinds := range []int{1, 3, 1000} {
			x := make([]float64, n)
			for i := range x {
				x[i] = float64(rng.IntN(kinds))
			}
			sorted := slices.Clone(x)
			slices.SortFunc(sorted, func(a, b float64) int { return cmp.Compare(b, a) })
			for k := 1; k <= n; k++ {
				if got := largest(slices.Clone(x), k); got != sorted[k-1] {
					t.Fatalf("place %d of %v: %v, want %v", k, x, got, sorted[k-1])
				}
			}
		}
	}
}

// TestSample: the rows are the longest, in their order.
func TestSample(t *testing.T) {
	p := &problem{n: 300, r: 2, workers: 2}
	b := matrix.NewDense(300, 2, nil)
	for i := range 300 {
		b.Set(i, 0, float64((i*7)%300))
		b.Set(i, 1, float64(i))
	}
	got := p.sample(b, 100)
	if len(got) != 200 {
		t.Fatalf("%d numbers, want 200", len(got))
	}
	least := math.Inf(1)
	chosen := map[int]bool{}
	for k := 0; k < len(got); k += 2 {
		i := int(got[k+1])
		if k > 0 && i <= int(got[k-1]) || got[k] != b.At(i, 0) {
			t.Fatalf("row %d of the sample is %v", k/2, got[k:k+2])
		}
		chosen[i] = true
		least = min(least, got[k]*got[k]+got[k+1]*got[k+1])
	}
	for i := range 300 {
		if x, y := b.At(i, 0), b.At(i, 1); !chosen[i] && x*x+y*y > least {
			t.Errorf("row %d is longer than one that was chosen", i)
		}
	}
	if all := p.sample(b, 300); !slices.Equal(all, b.Data()) {
		t.Error("not all rows where all are wanted")
	}
}

// TestTurned: the turns are those of TSVD.
func TestTurned(t *testing.T) {
	g := readGolden(t, "fullrank60")
	p, h := goldenProblem(t, g, g.forms(t)["dense"])
	s := TSVD{}.start(p, h, 0).(*tsvdRun)
	for range startTurns + 1 {
		if !s.turn() {
			t.Fatal(p.notes)
		}
	}
	b := s.b.Data()
	_, begin := goldenProblem(t, g, g.forms(t)["dense"])
	first := rotation(p.cross(s.b, begin), g.R)
	for _, workers := range []int{1, 3} {
		p.workers = workers
		q := p.turnFrom(b, first)
		if d := apart(q, s.q); !(d <= 1e-4) {
			t.Errorf("%d workers: Q is %v from that of TSVD", workers, d)
		}
	}
}

// TestTSVDStart: it has no negative entries, is its own best multiple, is nearer than SVDStart and Random, and differs from run to run; of fewer than r positive eigenvalues no column is zero.
func TestTSVDStart(t *testing.T) {
	graph, _ := instance.PlantedGraph(300, 5, 0.3, 0.02, 1)
	a := mustCSR(t, graph)
	stop := Stop{Sweeps: 1, KKT: -1}
	first := func(s Start, seed uint64) float64 {
		return factorize(t, a, 5, Options{Solver: CD{}, Start: s, Stop: stop, Seed: seed}).First.RelErr
	}
	tsvd := first(TSVDStart{}, 0)
	if svd, random := first(SVDStart{}, 0), first(Random{}, 0); !(tsvd < svd) || !(tsvd < random) {
		t.Errorf("it begins at %v, svd at %v, random at %v", tsvd, svd, random)
	}
	p := mustProblem(t, a, 5)
	var last []float64
	for run := range 3 {
		h := matrix.NewDense(p.n, p.r, nil)
		if err := (TSVDStart{}).fill(p, h, run); err != nil {
			t.Fatal(err)
		}
		if low := slices.Min(h.Data()); low < 0 || math.IsNaN(low) {
			t.Errorf("run %d: an entry is %v", run, low)
		}
		ah, hhSq, _ := p.alongRay(h, nil)
		if !(math.Abs(ah/hhSq-1) <= 1e-12) {
			t.Errorf("run %d: √%v times it is better", run, ah/hhSq)
		}
		if slices.Equal(h.Data(), last) {
			t.Errorf("run %d is that before", run)
		}
		last = h.Data()
	}
	for name, c := range map[string]struct {
		a matrix.Operator
		r int
	}{"a star": {star(t, 30), 4}, "more columns than items": {lowRank(t, 6, 2), 9}, "of low rank": {lowRank(t, 500, 3), 5}} {
		res := factorize(t, c.a, c.r, Options{Solver: RowBlock{}, Start: TSVDStart{}, Stop: Stop{Sweeps: 300}})
		if !(res.RelErr <= res.First.RelErr+1e-12) || math.IsNaN(res.RelErr) {
			t.Errorf("%s: from %v to %v", name, res.First.RelErr, res.RelErr)
		}
		p := mustProblem(t, c.a, c.r)
		h := matrix.NewDense(p.n, p.r, nil)
		if err := (TSVDStart{}).fill(p, h, 0); err != nil {
			t.Fatal(err)
		}
		for j := range c.r {
			sum := 0.0
			for i := range p.n {
				sum += h.At(i, j)
			}
			if !(sum > 0) {
				t.Errorf("%s: column %d is zero", name, j)
			}
		}
	}
}

// TestTSVDStartRuns: runs by their number alone, whether at once or one after another.
func TestTSVDStartRuns(t *testing.T) {
	graph, _ := instance.PlantedGraph(300, 5, 0.3, 0.02, 1)
	a := mustCSR(t, graph)
	opt := Options{Start: TSVDStart{}, Runs: 3, Threads: 3, Stop: Stop{Sweeps: 2}}
	inTurn := factorize(t, a, 5, opt)
	opt.AtOnce = 3
	atOnce := factorize(t, a, 5, opt)
	if len(inTurn.Runs) != 3 || inTurn.Runs[0].RelErr == inTurn.Runs[1].RelErr || inTurn.Runs[1].RelErr == inTurn.Runs[2].RelErr {
		t.Errorf("runs %+v", inTurn.Runs)
	}
	if !slices.Equal(inTurn.H.Data(), atOnce.H.Data()) {
		t.Error("at once H is another")
	}
}

func mustProblem(t *testing.T, a matrix.Operator, r int) *problem {
	t.Helper()
	p, err := newProblem(a, r, &Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// star is the graph of a hub and its neighbours: one eigenvalue above zero.
func star(t *testing.T, neighbours int) matrix.Operator {
	t.Helper()
	d := matrix.NewDense(neighbours+1, neighbours+1, nil)
	for i := range neighbours {
		d.Set(0, i+1, 1)
		d.Set(i+1, 0, 1)
	}
	return mustCSR(t, d.CSR())
}

// TestTSVDStartStopped: where a limit comes before the vectors, or the turns, a run begins at random, or as far as it has come, and is no answer of zeros that has converged.
func TestTSVDStartStopped(t *testing.T) {
	graph, _ := instance.PlantedGraph(300, 5, 0.3, 0.02, 1)
	a := mustCSR(t, graph)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	res, err := Factorize(ctx, a, 5, Options{Solver: RowBlock{}, Start: TSVDStart{}})
	if !errors.Is(err, context.Canceled) || res == nil || !(res.RelErr < 1) || !slices.Contains(res.Notes, "the run ended before the eigenvectors of its start were there, and began at random") {
		t.Errorf("%+v, %v", res, err)
	}
	for _, dense := range []bool{false, true} { // of every run of several
		a := a
		if dense {
			a = lowRank(t, 500, 3)
		}
		for _, limit := range []time.Duration{1, time.Millisecond, 3 * time.Millisecond} {
			res, err := Factorize(context.Background(), a, 5, Options{Start: TSVDStart{}, Runs: 3, Stop: Stop{Time: limit, KKT: -1}})
			if err != nil || !(res.RelErr < 1) || res.Status == Converged {
				t.Errorf("dense %v, %v: %+v, %v", dense, limit, res, err)
			}
		}
	}
	for looks := range 40 { // whenever it is asked
		p := mustProblem(t, a, 5)
		asked := 0
		p.stop = func() bool { asked++; return asked > looks }
		h := matrix.NewDense(p.n, p.r, nil)
		if err := (TSVDStart{}).fill(p, h, 0); err != nil || !kernel.Nonzero(h.Data()) {
			t.Fatalf("stopped when asked for the %d-th time: %v", looks+1, err)
		}
	}
}

// TestTSVDStartAndLowRank: the start leaves the low rank that the method asks for alone.
func TestTSVDStartAndLowRank(t *testing.T) {
	p := mustProblem(t, mustDense(t, instance.FullRank(500, 1)), 5)
	if err := (TSVDStart{}).fill(p, matrix.NewDense(p.n, p.r, nil), 0); err != nil {
		t.Fatal(err)
	}
	if near := p.compressed(60); near == p || near.a.Stored() != 500*65 {
		t.Errorf("a low rank of %d numbers, want %d", near.a.Stored(), 500*65)
	}
}
