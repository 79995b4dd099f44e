package symnmf

import (
	"math"
	"slices"
	"testing"

	"symnmf/internal/instance"
	"symnmf/internal/rules"
	"symnmf/matrix"
)

// TestCompressed: a dense A near a low rank is compressed, A itself takes over in time, and the answer is as
// good as without compression. A matrix that is not near a low rank is left alone.
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
		t.Cleanup(func() { s.end() })
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
			f := s.full.measure(s.publish())
			if f.objective() > last+1e-12 || !(math.Abs(f.objective()-s.safeF) <= 1e-9) {
				t.Fatalf("sweep %d: objective %v after %v, the run has %v", s.sweeps, f.objective(), last, s.safeF)
			}
			last = f.objective()
		}
	}
	if s.p != s.full {
		t.Error("after 400 sweeps the run is still on the low rank")
	}
	plain := factorize(t, a, r, Options{Seed: 1, Solver: RowBlock{Compress: NoCompression}, Start: Random{}, Stop: Stop{Sweeps: 400, KKT: -1}})
	if d := math.Sqrt(4*last)/s.full.norm - plain.RelErr; !(d <= 1e-6) {
		t.Errorf("relative error %v with compression, %v without", math.Sqrt(4*last)/s.full.norm, plain.RelErr)
	}
	for _, c := range []struct {
		apart, kkt float64 // ‖A−Ã‖/‖A−HHᵀ‖ and the KKT residual of the start
		kick       bool
		compressed bool
	}{{0.09, 0, false, true}, {0.11, 0.009, false, false}, {0.11, 0.011, false, true}, {0.29, 0.011, false, true}, {0.31, 1, false, false}, {0.11, 1, true, false}, {0.09, 1, true, true}} {
		p := s.full
		if p.target = math.Inf(1); c.kick {
			p.target = 1
		}
		first := figures{errSq: math.Pow(p.near.apart/c.apart, 2), gradKKT: c.kkt * c.kkt * p.norm, normOfA: p.norm}
		e := RowBlock{}.start(p, matrix.NewDense(n, r, nil), 0).(*rowBlockRun)
		e.begin(&first)
		if e.end(); (e.p != p) != c.compressed {
			t.Errorf("%+v: compressed: %v", c, e.p != p)
		}
		e = RowBlock{Compress: 20}.start(p, matrix.NewDense(n, r, nil), 0).(*rowBlockRun)
		e.begin(&first)
		if e.end(); e.p == p {
			t.Error("not compressed, although 20 columns beyond r were asked for")
		}
		p.compressed(0)
	}
	stopped := mustProblem(t, a, r)
	stopped.stop = func() bool { return true }
	if stopped.compressed(0) != stopped {
		t.Error("compressed, although the run has to end")
	}
	if stopped.stop = nil; stopped.compressed(0) == stopped {
		t.Error("a run is not compressed, because the one before it had to end")
	}
	if s := begin(mustDense(t, noise), RowBlock{}); s.p != s.full {
		t.Error("a random matrix is compressed")
	}
	if s := begin(a, RowBlock{Compress: NoCompression}); s.p != s.full {
		t.Error("compressed despite NoCompression")
	}
}

// TestCompressedExpands: for every kind of operator the diagonal is that of the low rank. A itself takes over
// when the sweeps since it was last looked at have gained less than 0.5 % each, or when the run comes to
// rest. The product, the momentum and the H to go back to stay right.
func TestCompressedExpands(t *testing.T) {
	const n, r, every = 120, 4, 3
	momentum, looks := 0, 0
	forms := operatorForms(t, n, 1)
	for k, f := range slices.Concat(forms, forms, forms) {
		ignore := k >= 2*len(forms)
		if ignore && f.a.Density() < rules.DenseFrom {
			continue
		}
		begin := func(first FirstSweep) (*problem, *rowBlockRun) {
			p, _, run := startRun(t, f.a, r, RowBlock{Block: 32, Passes: 2, Compress: 6, CheckEvery: every, First: first}, Options{Start: Random{}, Seed: uint64(k / len(forms)), IgnoreDiagonal: ignore})
			if run.p == p {
				t.Fatalf("%s: not compressed", f.name)
			}
			return p, run
		}
		p, run := begin(FirstRows)
		if taken, _ := matrix.Taken(run.p.a); ignore && !slices.Equal(run.p.taken, taken) {
			t.Fatalf("%s: the low rank subtracts %v, the problem knows %v", f.name, taken, run.p.taken)
		}
		var h *matrix.Dense
		low := denseOf(run.p.a)
		for i, v := range run.p.diag {
			if !(math.Abs(v-low.At(i, i)) <= 1e-13) {
				t.Fatalf("%s: A_ii = %v for i = %d, want %v", f.name, v, i, low.At(i, i))
			}
		}
		last := run.safeF
		for run.p != p && run.sweeps < 300 {
			before := run.sweeps
			rep := run.sweep(never)
			switch h = run.publish(); {
			case rep.provisional && run.p != p:
				if run.sweeps%compressedCheck == 0 {
					t.Fatalf("%s, sweep %d: A has not been looked at", f.name, run.sweeps)
				}
			case !rep.provisional:
				now := p.measure(h)
				gain := (last - now.objective()) / now.objective() / compressedCheck
				if !(math.Abs(now.objective()-run.safeF) <= run.noise()) || now.objective() > last+run.noise() || (run.p == p) != (gain < 0.005) {
					t.Fatalf("%s, sweep %d: the objective goes from %v to %v, and A takes over: %v", f.name, run.sweeps, last, now.objective(), run.p == p)
				}
				last = now.objective()
				looks++
			}
			if run.sweeps != before+1 {
				t.Fatalf("%s: sweep %d after %d", f.name, run.sweeps, before)
			}
		}
		if run.p != p || run.CheckEvery != every {
			t.Errorf("%s: after %d sweeps on the low rank: %v, with a comparison every %d", f.name, run.sweeps, run.p != p, run.CheckEvery)
		}
		if run.beta > 0 {
			momentum++
		}
		for range 2 {
			if rep := run.sweep(never); rep.provisional && run.everySweep {
				run.findGram() // the sweep was undone
			}
			if err := run.verify(); err != nil {
				t.Errorf("%s: with A itself: %v", f.name, err)
			}
		}
		run.end()

		p, run = begin(FirstColumns)
		run.sweep(never)
		h = run.publish()
		if now := p.measure(h); !(math.Abs(now.objective()-run.safeF) <= run.noise()) {
			t.Errorf("%s: after a sweep by columns the objective is %v, the run has %v", f.name, now.objective(), run.safeF)
		}
		for range 3 {
			run.sweep(never)
		}
		was := slices.Clone(run.hv)
		if !run.doubt() || run.p != p || !slices.Equal(run.hv, was) {
			t.Errorf("%s: at rest on the low rank, A does not take over", f.name)
		}
		run.safeF = 0 // no H is as good as that, so the run goes back
		for run.sweeps < 2*every && !run.everySweep || run.sweeps < 5 {
			run.sweep(never)
		}
		if run.end(); !slices.Equal(run.hv, was) {
			t.Errorf("%s: the run does not go back to the H with which A took over", f.name)
		}
	}
	if momentum == 0 || looks < 40 {
		t.Errorf("A took over %d times with momentum, want at least 1; it was looked at %d times, want at least 40", momentum, looks)
	}
	graph, _ := instance.PlantedGraph(n, 5, 0.1, 0.01, 1)
	_, _, run := startRun(t, mustCSR(t, graph), r, RowBlock{Compress: 6}, Options{IgnoreDiagonal: true, Start: Random{}})
	if run.p != run.full {
		t.Error("a sparse A is compressed with the diagonal ignored, although no likely one is known")
	}
	run.end()
}

// TestCompressedRises: if the objective of A has risen while a low rank was in its place, A takes over from the last H
// that was looked at, without momentum.
func TestCompressedRises(t *testing.T) {
	for _, f := range operatorForms(t, 120, 1) {
		p, _, run := startRun(t, f.a, 4, RowBlock{Block: 32, Compress: 6, First: FirstRows, NoMomentum: true}, Options{Start: Random{}})
		if run.p == p {
			t.Fatalf("%s: not compressed", f.name)
		}
		for range 5 {
			run.sweep(never)
		}
		want := slices.Clone(run.safe) // the start
		run.safeF = 0                  // no objective is as low
		for run.p != p {
			if rep := run.sweep(never); !rep.provisional || run.sweeps > compressedCheck {
				t.Fatalf("%s, sweep %d: provisional %v, and A has not taken over", f.name, run.sweeps, rep.provisional)
			}
		}
		if !slices.Equal(run.hv, want) || run.beta != 0 || run.sweeps != compressedCheck {
			t.Errorf("%s: A takes over after %d sweeps, with β = %v, from the H looked at: %v", f.name, run.sweeps, run.beta, slices.Equal(run.hv, want))
		}
		run.findGram() // as the next sweep does
		if err := run.verify(); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
		run.end()
	}
}

// TestCompressedEnds: a run that ends while a low rank is in the place of A returns the better of the last H and the last
// one looked at, by the objective of A.
func TestCompressedEnds(t *testing.T) {
	for _, f := range operatorForms(t, 120, 1) {
		p, _, run := startRun(t, f.a, 4, RowBlock{Block: 32, Compress: 6, First: FirstRows}, Options{Start: Random{}})
		for range 5 {
			run.sweep(never)
		}
		if run.p == p || !run.report.provisional {
			t.Fatalf("%s: not compressed, or the last sweep was looked at", f.name)
		}
		last, looked := run.publish().Clone(), run.safe
		whole := p.measure(last)
		run.findGram()
		low := run.objective(run.innerOf(run.p.a.NewProduct(run.h, 1)))
		if d := math.Abs(low - whole.objective()); !(d > 1e6*run.noise()) {
			t.Fatalf("%s: objectives of A and of the low rank are %v apart: this shows nothing", f.name, d)
		}
		run.safeF = (low + whole.objective()) / 2
		kept := run.end()
		if isLast := slices.Equal(kept.Data(), last.Data()); isLast != (whole.objective() < low) || isLast == slices.Equal(run.hv, looked) {
			t.Errorf("%s: the last H is kept: %v; its objective is %v, by the low rank %v", f.name, isLast, whole.objective(), low)
		}
	}
}

// TestCompressedSparse: a low rank in place of a sparse A may be indefinite, so nothing of ⟨A_BB·d, d⟩ is
// guessed, and momentum may take H below zero. When A itself takes over, there are no guesses either, and
// momentum takes nothing below zero.
func TestCompressedSparse(t *testing.T) {
	const n, r, clique = 240, 6, 24
	d := matrix.NewDense(n, n, nil)
	for i := range n { // bipartite, with loops
		for l := range n {
			if i == l || i/clique == l/clique && (i+l)%2 == 1 {
				d.Set(i, l, 1)
			}
		}
	}
	for _, block := range []int{0, 16} { // in blocks with fewer rows than the low rank has columns, its products have terms
		_, _, run := startRun(t, mustCSR(t, sparseOf(t, d)), r, RowBlock{Block: block, Compress: 20, First: FirstRows}, Options{Start: Random{}})
		if run.p == run.full {
			t.Fatal("not compressed")
		}
		run.sweep(never)
		if run.guesses || run.guessed > 0 || run.least == 0 || (run.termProduct != nil) != (block == 16) {
			t.Errorf("block %d, with the low rank: guesses %v, %d of them, least %v, terms %v", block, run.guesses, run.guessed, run.least, run.termProduct != nil)
		}
		run.expand()
		if run.guesses || run.least != 0 {
			t.Errorf("block %d, with A: guesses %v, least %v", block, run.guesses, run.least)
		}
		run.end()
	}
}

// TestCompressedWhere: the low rank is sought only if A has enough rows and products become cheap enough.
func TestCompressedWhere(t *testing.T) {
	for _, tc := range []struct {
		n, r int
		want bool
	}{{450, 35, true}, {450, 36, true}, {450, 37, false}, {449, 5, false}, {500, 42, true}, {500, 43, false}} {
		a, _ := instance.LowRank(tc.n, tc.r, 3)
		opt := Options{Threads: 1}
		p, err := newProblem(mustDense(t, a), tc.r, &opt)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.compressed(0) != p; got != tc.want {
			t.Errorf("n = %d, r = %d: compressed %t, want %t", tc.n, tc.r, got, tc.want)
		}
	}
}
