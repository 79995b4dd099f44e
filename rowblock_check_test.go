package symnmf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// startRun returns a run of s on a, started the way the driver starts it, with its problem and the start.
func startRun(t testing.TB, a matrix.Operator, r int, s RowBlock, opt Options) (*problem, *matrix.Dense, *rowBlockRun) {
	t.Helper()
	p, err := newProblem(a, r, &opt)
	if err != nil {
		t.Fatal(err)
	}
	h := matrix.NewDense(p.n, r, nil)
	if err := opt.Start.fill(p, h, 0); err != nil {
		t.Fatal(err)
	}
	run := s.start(p, h, 0).(*rowBlockRun)
	first := p.measure(h)
	run.begin(&first)
	return p, h, run
}

func never() bool { return false }

// TestMomentumNeedsTheCheck: with one pass a sweep on inner products of smooth curves, restarting momentum by
// the gradient is not enough. In at least one case, the error in the second half of the run stays more than a
// hundred times above what sweeps without momentum reach; it even exceeds that of H = 0. With the comparison
// of objectives, the same method ends below the error without momentum and below 1e-3.
func TestMomentumNeedsTheCheck(t *testing.T) {
	astray := 0
	for _, c := range []struct {
		n, r  int
		start Start
	}{{60, 60, Random{}}, {200, 20, Zero{}}, {200, 60, Random{}}} {
		name, a := fmt.Sprintf("n = %d, r = %d", c.n, c.r), mustDense(t, curves(t, c.n))
		method := RowBlock{Passes: 1, CheckEvery: 5, First: FirstRows}
		const sweeps = 200
		drive := func(s RowBlock, checked bool) (errs []float64) {
			p, _, run := startRun(t, a, c.r, s, Options{Start: c.start})
			var h *matrix.Dense
			for range sweeps {
				if !checked {
					run.safeF = math.Inf(1) // any H counts as better
				}
				run.sweep(never)
				h = run.publish()
				f := p.measure(h)
				errs = append(errs, f.relErr())
			}
			h = run.end()
			f := p.measure(h)
			return append(errs, f.relErr())
		}
		still := method
		still.NoMomentum = true
		free, held, slow := drive(method, false), drive(method, true), drive(still, true)
		least := 1.0
		for _, e := range free[sweeps/2:] {
			least = min(least, e)
		}
		if least > 100*slow[sweeps] {
			astray++
		}
		if !(held[sweeps] < slow[sweeps] && held[sweeps] < 1e-3) {
			t.Errorf("%s: with the check the error is %v, without momentum %v, without the check %v", name, held[sweeps], slow[sweeps], free[sweeps])
		}
		t.Logf("%s: %.2g with the check, %.2g without momentum, %.2g without the check; the least of its second half is %.2g", name, held[sweeps], slow[sweeps], free[sweeps], least)
	}
	if astray == 0 {
		t.Error("in no case did the error stay high without the check: this shows nothing")
	}
}

// curves returns the Gram matrix of n curves at 100 points. Each curve is the sum of eight waves with
// positive weights, and noise.
func curves(t testing.TB, n int) *matrix.Dense {
	t.Helper()
	u := uniform{1}
	x := matrix.NewDense(n, 100, nil)
	for i := range n {
		for c := range 100 {
			v := 0.05 * u.at(uint64(1000*n+100*i+c))
			for k := range 8 {
				v += 0.2 * u.at(uint64(8*i+k)) * (1 + math.Cos(0.05*float64(c*(k+1))+6*u.at(uint64(100*n+k))))
			}
			x.Set(i, c, v)
		}
	}
	a, err := matrix.Gram(x, matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	return denseOf(a)
}

// TestRowBlockMonotone: the objective a run reports never rises, and agrees with that of its H measured anew.
// This holds for every kind of operator, with ℓ₁ weights, without the diagonal, with one pass a sweep and
// with four, and in every precision.
func TestRowBlockMonotone(t *testing.T) {
	const n, r, sweeps = 120, 6, 30
	seeds := uint64(10)
	if testing.Short() {
		seeds = 1
	}
	undone := 0
	blocks := map[bool]int{}             // key: whether ⟨A_BB·H_B, H_B⟩ of the last block of a sweep came from the product
	low, _ := instance.LowRank(60, r, 1) // here momentum does go too far
	for _, f := range append(operatorForms(t, n, 1), testForm{"low rank", mustDense(t, low)}) {
		n, sweeps := f.a.Dim(), sweeps
		if f.name == "low rank" {
			sweeps = 150
		}
		for seed := range seeds {
			for _, passes := range []int{1, 4} {
				for k, opt := range []Options{
					{Start: Random{}}, {Start: Zero{}}, {Start: Random{}, IgnoreDiagonal: true},
					{Start: Random{}, L1: []float64{1e-3 * math.Pow(f.a.Norm(), 1.5)}},
				} {
					opt.Seed, opt.Threads = seed, 1
					if k == 1 && seed > 0 {
						continue // the seed only orders coordinates
					}
					s := RowBlock{Block: []int{32, n}[seed%2], Passes: passes, Precision: Precision(seed % 3), First: FirstRows}
					p, h, run := startRun(t, f.a, r, s, opt)
					last := p.measure(h)
					for sweep := range sweeps {
						if rep := run.sweep(never); rep.provisional {
							if run.sweeps%run.CheckEvery == 0 {
								undone++
							}
							continue
						}
						if run.nearProduct != nil {
							blocks[run.moveKnown]++
						}
						at := run.safeF
						h = run.publish()
						now := p.measure(h)
						if !(math.Abs(now.objective()-at) <= run.noise()) {
							t.Errorf("%s, seed %d, %d passes, options %d, sweep %d: the objective is %v, the run holds %v", f.name, seed, passes, k, sweep+1, now.objective(), at)
						}
						if !(now.objective() <= last.objective()+run.noise()) {
							t.Errorf("%s, seed %d, %d passes, options %d, sweep %d: the objective rises from %v to %v", f.name, seed, passes, k, sweep+1, last.objective(), now.objective())
						}
						last = now
					}
					h = run.end()
					if now := p.measure(h); !(now.objective() <= last.objective()+run.noise()) {
						t.Errorf("%s, seed %d, %d passes, options %d: the run ends at objective %v, last reported %v", f.name, seed, passes, k, now.objective(), last.objective())
					}
				}
			}
		}
	}
	if undone == 0 {
		t.Error("no sweep was ever undone: this shows nothing")
	}
	if blocks[true] == 0 || blocks[false] == 0 {
		t.Errorf("blocks whose inner product came from the product (true) or not (false): %v, want some of each", blocks)
	}
}

// TestRowBlockCut: a run that is stopped inside a sweep, before or after its first block, leaves an H that is
// finite and not negative. Its objective is no higher than the last one reported, or than that of the start.
// This also holds where momentum has raised the objective since that report.
func TestRowBlockCut(t *testing.T) {
	const n = 120
	methods := []RowBlock{
		{Block: 32, Passes: 1, CheckEvery: 7, First: FirstRows},
		{Block: 32, CheckEvery: 1},
		{Block: n, Passes: 1, CheckEvery: 10},
	}
	for _, f := range operatorForms(t, n, 1) {
		for _, s := range methods {
			for full := 0; full < 24; full += 5 { // sweeps before the one that is cut
				for blocks := range 2 {
					cutRun(t, f.name, f.a, 6, s, Random{}, full, blocks)
				}
			}
		}
	}
	low, _ := instance.LowRank(60, 20, 1)
	a, astray := mustDense(t, low), 0
	for full := 118; full < 138; full += 3 {
		for blocks := range 2 {
			astray += cutRun(t, "low rank", a, 20, RowBlock{Block: 30, Passes: 1, CheckEvery: 60}, Zero{}, full, blocks)
		}
	}
	if astray == 0 {
		t.Error("momentum never raised the objective before a cut: this shows nothing")
	}
}

// TestRowBlockUndoneLast: a run whose last sweep was undone ends no higher than where that sweep began, even
// if its first sweep went by columns.
func TestRowBlockUndoneLast(t *testing.T) {
	for _, f := range operatorForms(t, 120, 1) {
		p, _, run := startRun(t, f.a, 6, RowBlock{Block: 32, CheckEvery: 1, First: FirstColumns}, Options{Start: Random{}})
		var h *matrix.Dense
		for range 10 {
			run.sweep(never)
		}
		h = run.publish()
		want := p.measure(h)
		run.safeF = 0 // no objective is as low
		if rep := run.sweep(never); !rep.provisional {
			t.Fatalf("%s: the sweep was not undone", f.name)
		}
		h = run.end()
		if now := p.measure(h); !(now.objective() <= want.objective()+run.noise()) {
			t.Errorf("%s: the run ends at objective %v, before the undone sweep it was %v", f.name, now.objective(), want.objective())
		}
	}
}

// cutRun makes the given number of full sweeps, stops the next one after the given number of blocks, and
// checks the H that is left. It returns 1 if H had become worse than at the last report by then, and else 0.
func cutRun(t *testing.T, name string, a matrix.Operator, r int, s RowBlock, start Start, full, blocks int) (astray int) {
	t.Helper()
	p, h, run := startRun(t, a, r, s, Options{Start: start, Seed: 2})
	if name == "low rank" {
		p.a = secretive{p.a}
	}
	last := p.measure(h)
	for range full {
		if rep := run.sweep(never); !rep.provisional {
			h = run.publish()
			last = p.measure(h)
		}
	}
	h = run.publish()
	if now := p.measure(h); !(now.objective() <= last.objective()+run.noise()) {
		astray = 1
	}
	what := fmt.Sprintf("%s, %+v, cut in sweep %d after %d blocks", name, s, full+1, blocks)
	calls := 0
	if rep := run.sweep(func() bool { calls++; return calls > blocks }); !rep.cut && blocks < p.n/run.Block {
		t.Errorf("%s: not cut", what)
	}
	h = run.end()
	if now := p.measure(h); !(now.objective() <= last.objective()+run.noise()) {
		t.Errorf("%s: the run ends at objective %v, last reported %v", what, now.objective(), last.objective())
	}
	for k, v := range h.Data() {
		if !(v >= 0) || math.IsInf(v, 0) {
			t.Fatalf("%s: H[%d,%d] = %v", what, k/r, k%r, v)
		}
	}
	return astray
}

// secretive is an operator whose block products hide everything optional, so that the objective is not known
// after every sweep.
type secretive struct{ matrix.Operator }

func (a secretive) NewBlockProduct(h *matrix.Dense, size int, team *kernel.Team) matrix.BlockProduct {
	return struct{ matrix.BlockProduct }{a.Operator.(matrix.BlockMultiplier).NewBlockProduct(h, size, team)}
}

// TestRowBlockLimits: a whole run that is cancelled after some sweep, or runs out of time, returns an H that
// is finite and not negative. Its relative error is no higher than that of the last row of its trace.
func TestRowBlockLimits(t *testing.T) {
	d, _ := instance.LowRank(60, 20, 1)
	a := mustDense(t, d)
	for _, after := range []int{1, 5, 60, 61, 119, 125, 131, 200} {
		ctx, cancel := context.WithCancel(context.Background())
		opt := Options{Solver: RowBlock{Block: 30, Passes: 1, CheckEvery: 60}, Start: Zero{}, Seed: 2, Trace: true, Stop: Stop{Sweeps: -1, KKT: -1, Time: time.Hour}}
		opt.Progress = func(p Progress) {
			if p.Sweep == after {
				cancel()
			}
		}
		res, err := Factorize(ctx, a, 20, opt)
		if !errors.Is(err, context.Canceled) || res.Status != Interrupted || res.Sweeps != after {
			t.Fatalf("cancelled after %d sweeps: %v", after, err)
		}
		cancel()
		opt.Progress, opt.Stop.Time = nil, time.Duration(after)*100*time.Microsecond
		timed := factorize(t, a, 20, opt)
		if timed.Status != TimeLimit && (timed.Status != Stalled || after <= 5) { // A has a low rank: a run comes to rest after some 12 ms
			t.Fatalf("after %v: %v", opt.Stop.Time, timed.Status)
		}
		for _, res := range []*Result{res, timed} {
			what := fmt.Sprintf("%v, %d sweeps", res.Status, res.Sweeps)
			mustFinite(t, what, res)
			if last := res.Trace[len(res.Trace)-1].RelErr; res.RelErr > math.Hypot(last, 4e-7) { // 4e-7: the noise of a comparison
				t.Errorf("%s: relative error %v, the trace ends with %v", what, res.RelErr, last)
			}
		}
	}
}

// TestGivenIsKept: a run that starts at a minimum of A ends no higher than it started, even though its first
// sweeps, on a low rank in place of A, lead away to a minimum of that. With enough sweeps it converges.
func TestGivenIsKept(t *testing.T) {
	const n, r = 480, 5
	b, _ := instance.LowRank(n, 8, 1)
	data := b.Data()
	u := uniform{3}
	for i := range n {
		for j := range i + 1 {
			v := b.At(i, j) + 0.1*u.at(uint64(n*i+j))
			data[i*n+j], data[j*n+i] = v, v
		}
	}
	a := mustDense(t, b)
	first := factorize(t, a, r, Options{Solver: RowBlock{Compress: NoCompression}, Start: Random{}, Stop: Stop{KKT: 1e-8, Sweeps: 5000}})
	solver := RowBlock{Compress: 20} // requested: by default no low rank is used this close to the minimum
	p, _, run := startRun(t, a, r, solver, Options{Start: Given{first.H}})
	if run.p == run.full {
		t.Fatal("A is not replaced: this shows nothing")
	}
	run.end()
	for _, sweeps := range []int{4, 200} {
		again := factorize(t, a, r, Options{Solver: solver, Start: Given{first.H}, Stop: Stop{KKT: 1e-8, Sweeps: sweeps}})
		if rise := again.Objective - first.Objective; !(rise <= 1e-12*p.norm*p.norm/p.scale/p.scale) {
			t.Errorf("%d sweeps: the objective rose from %v by %v, after %d (%v)", sweeps, first.Objective, rise, again.Sweeps, again.Status)
		}
		if sweeps > 100 && again.Status != Converged {
			t.Errorf("%d sweeps: %v, KKT residual %v", sweeps, again.Status, again.KKT)
		}
	}
}

// TestLastResidual: after the sweep row by row that precedes convergence, the KKT residual that Progress
// reports is that of the result, to within 1e-3 of it.
func TestLastResidual(t *testing.T) {
	last := -1.0
	// The single column of H does not tell items apart, only A does.
	ring := mustDense(t, fill(60, func(i, l int) float64 { return map[int]float64{0: 2, 1: 1, 59: 1}[(i-l+60)%60] }))
	res := factorize(t, ring, 1, Options{Solver: RowBlock{}, Start: Given{filled(60, 1, 0.1)}, Stop: Stop{KKT: 1e-6, Sweeps: 1000},
		Progress: func(p Progress) { last = p.KKT }})
	if res.Status != Converged || !(math.Abs(last-res.KKT) <= 1e-3*res.KKT) {
		t.Errorf("%v: the last KKT residual reported is %v, the result has %v", res.Status, last, res.KKT)
	}
}

// plainOperator has nothing beyond what Operator requires.
type plainOperator struct{ matrix.Operator }

func (a plainOperator) Scaled(c float64) matrix.Operator { return plainOperator{a.Operator.Scaled(c)} }

// TestPlainOperator: with an A that has nothing beyond what Operator requires, CD works, and methods that
// need more return ErrUnfit.
func TestPlainOperator(t *testing.T) {
	a := plainOperator{lowRank(t, 20, 2)}
	for _, s := range []Solver{RowBlock{}, LAI{}, VBSUM{}} {
		if _, err := Factorize(context.Background(), a, 2, Options{Solver: s, Start: Random{}}); !errors.Is(err, ErrUnfit) {
			t.Errorf("%s: %v", s.Name(), err)
		}
	}
	if _, err := Factorize(context.Background(), a, 2, Options{Solver: CD{}, Start: Random{}}); err != nil {
		t.Error(err)
	}
}

// TestSingleLetsGo: where D is nearly singular, float32 proposals stay large although they mean nothing.
// Passes have to change to float64 there to reach the error 0 of an exact factor (here at most 1e-9), which
// float32 alone does not reach.
func TestSingleLetsGo(t *testing.T) {
	b, _ := instance.LowRank(300, 60, 1)
	a := mustDense(t, b)
	opt := Options{Solver: RowBlock{}, Start: Random{}, Stop: Stop{Sweeps: 300, KKT: -1}}
	if res := factorize(t, a, 60, opt); !(res.RelErr <= 1e-9) {
		t.Errorf("relative error %v after %d sweeps", res.RelErr, res.Sweeps)
	}
	opt.Solver = RowBlock{Precision: Single}
	if res := factorize(t, a, 60, opt); !(res.RelErr >= 1e-7) {
		t.Errorf("relative error %v with float32 alone: this shows nothing", res.RelErr)
	}
}

// TestRowBlockRest: a block that finds no step to take together stays where momentum has put it, with entries
// below zero set to 0. If it did not move in the sweep before either, its rows are moved one at a time.
func TestRowBlockRest(t *testing.T) {
	const n, r, block, sweeps = 120, 6, 32, 40
	rests := map[bool]int{}
	for _, f := range operatorForms(t, n, 1) {
		for seed := range uint64(20) {
			again := seed%2 == 0
			_, _, run := startRun(t, f.a, r, RowBlock{Block: block, Precision: Double, First: FirstRows}, Options{Start: Random{}, Seed: seed / 2, Threads: 1})
			for range sweeps {
				for b := range run.still {
					if run.still[b] = -1; again {
						run.still[b] = run.sweeps
					}
				}
				y, beta := slices.Clone(run.prev), run.beta
				kernel.Extrapolate(y, beta, run.hv, run.least)
				if rep := run.sweep(never); rep.provisional || beta == 0 {
					continue
				}
				for b, after := range run.still {
					if after != run.sweeps {
						continue
					}
					rests[again]++
					stayed := true
					for k := b * block * run.pitch; k < min((b+1)*block, n)*run.pitch; k++ {
						stayed = stayed && run.hv[k] == max(0, y[k])
					}
					if stayed == again {
						t.Errorf("%s, seed %d, sweep %d, block %d: at rest in the sweep before: %v, stayed in this one: %v", f.name, seed, run.sweeps, b, again, stayed)
					}
				}
			}
			run.end()
		}
	}
	if rests[true] == 0 || rests[false] == 0 {
		t.Errorf("blocks that did not move, again (true) and for the first time (false): %v, want some of each", rests)
	}
}

// TestRowBlockPublishes: if the rows of H need no padding, a run works in the memory it was given. Otherwise
// publish copies H to that memory. Publishing changes nothing in later sweeps, whether H is in float64 or
// rounded to float32 between them.
func TestRowBlockPublishes(t *testing.T) {
	graph, _ := instance.PlantedGraph(4200, 20, 0.2, 0.002, 1)
	for _, r := range []int{16, 15, 12} { // 12 needs no padding for dense data, but does for the graph
		for name, a := range map[string]matrix.Operator{"graph": mustCSR(t, graph), "dense": mustDense(t, instance.FullRank(200, 1))} {
			p, given, run := startRun(t, a, r, RowBlock{}, Options{Start: Random{}, Threads: 2})
			_, _, quiet := startRun(t, a, r, RowBlock{}, Options{Start: Random{}, Threads: 2})
			inPlace := r == 16 || r == 12 && name == "dense"
			if got := &run.hv[0] == &given.Data()[0]; got != inPlace {
				t.Errorf("%s, r = %d: works in the memory given: %t, want %t", name, r, got, inPlace)
			}
			rounded := 0
			for sweep := range 20 {
				rep := run.sweep(never)
				quiet.sweep(never)
				if quiet.rounds {
					rounded++
				}
				h := run.publish()
				if n, cols := h.Dims(); n != p.n || cols != r || !inPlace && h != given {
					t.Fatalf("%s, r = %d: published H is %d×%d, in the memory given: %t", name, r, n, cols, h == given)
				}
				if now := p.measure(h); !rep.provisional && !(math.Abs(now.objective()-run.safeF) <= run.noise()) {
					t.Fatalf("%s, r = %d, sweep %d: the objective is %v, the run holds %v", name, r, sweep+1, now.objective(), run.safeF)
				}
			}
			if got, want := run.end(), quiet.end(); !slices.Equal(got.Data(), want.Data()) {
				t.Errorf("%s, r = %d: publishing after every sweep changes the final H", name, r)
			}
			if (rounded > 0) != (name == "graph" && p.n*run.pitch >= 1<<16) {
				t.Errorf("%s, r = %d: H was rounded in %d sweeps", name, r, rounded)
			}
		}
	}
}

// TestRounded: while passes are in float32, from the second sweep on, a large H of a sparse A holds float32
// numbers only. D, the objective and all that verify checks follow that H, in sweeps by blocks and for single
// rows, the objective does not rise, and rows alone would gain what they would from that H in float64. In a sweep
// row by row, and with any precision but Adaptive, H is not rounded.
func TestRounded(t *testing.T) {
	graph, _ := instance.PlantedGraph(4200, 20, 0.2, 0.002, 1)
	short, _ := instance.PlantedGraph(8200, 200, 0.3, 0.0003, 1)
	for _, tc := range []struct {
		name string
		a    *matrix.CSR
		r    int
		opt  Options
	}{
		{"rows", graph, 16, Options{}}, {"short rows", short, 12, Options{}}, {"spans", sparseMatrix(t, 2100, 0.1), 30, Options{}},
		{"no diagonal", short, 12, Options{IgnoreDiagonal: true}}, {"weights", graph, 16, Options{L1: []float64{1e-3}}},
	} {
		a, err := matrix.FromCSR(tc.a, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _, run := startRun(t, a, tc.r, RowBlock{First: FirstRows}, Options{Start: Random{}, Threads: 2, IgnoreDiagonal: tc.opt.IgnoreDiagonal, L1: tc.opt.L1})
		best, steps := math.Inf(1), map[bool]int{}
		for sweep := range 60 {
			if sweep == 30 {
				run.alone = true
			}
			single := run.single && !run.alone && sweep > 0
			rep := run.sweep(never)
			if run.rounds != single {
				t.Fatalf("%s, sweep %d: H should be rounded: %t, is rounded: %t", tc.name, sweep+1, single, run.rounds)
			}
			steps[single]++
			if rep.provisional { // H has gone back
				if run.wasSo {
					t.Errorf("%s, sweep %d: a sweep row by row was undone", tc.name, sweep+1)
				}
				continue
			}
			if sweep == 10 || sweep == 20 {
				run.row(7)
				run.report.decrease = 0
				now := run.p.measure(run.h)
				run.safeF = now.objective()
			}
			if err := run.verify(); err != nil {
				t.Fatalf("%s, sweep %d: %v", tc.name, sweep+1, err)
			}
			if sweep == 5 {
				narrow, wide := run.gainAlone(), 0.0
				run.whileWide(func() { wide = run.gainAlone() })
				if run.rounded.now == nil || !(narrow > 0) || !(math.Abs(narrow-wide) <= 1e-6*wide) {
					t.Errorf("%s: rows alone gain %v with H in float32 (%t), %v with the same H in float64", tc.name, narrow, run.rounded.now != nil, wide)
				}
			}
			if !(run.safeF <= best) {
				t.Fatalf("%s, sweep %d: the objective rises from %v to %v", tc.name, sweep+1, best, run.safeF)
			}
			best = run.safeF
			run.whileWide(func() {
				now := run.p.measure(run.h)
				if f := now.objective(); !(math.Abs(f-best) <= run.noise()) {
					t.Fatalf("%s, sweep %d: the objective is %v, the run holds %v", tc.name, sweep+1, f, best)
				}
			})
		}
		run.end()
		if steps[true] == 0 {
			t.Errorf("%s: %d sweeps in float32, %d in float64, want some in float32", tc.name, steps[true], steps[false])
		}
		for _, precision := range []Precision{Double, Single} {
			_, _, run := startRun(t, a, tc.r, RowBlock{Precision: precision}, Options{Start: Random{}})
			run.sweep(never)
			run.sweep(never)
			if run.rounds {
				t.Errorf("%s, %v: H is rounded", tc.name, precision)
			}
			run.end()
		}
	}
}

// TestRoundedStarts: a sweep that rounds H starts from where momentum puts it, rounded to float32, and keeps
// the H before to go back to. In the first such sweep, that H is kept in float64; in later ones it is narrow.
// Widening changes no number of either. Once passes are in float64 again, so are both, and nothing is
// rounded.
func TestRoundedStarts(t *testing.T) {
	short, _ := instance.PlantedGraph(8200, 200, 0.3, 0.0003, 1)
	a, err := matrix.FromCSR(short, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _, run := startRun(t, a, 12, RowBlock{}, Options{Start: Random{}, Threads: 2})
	defer run.end()
	run.sweep(never)
	numbers := func(wide []float64, narrow []float32) []float64 {
		if narrow == nil {
			return slices.Clone(wide)
		}
		x := make([]float64, len(narrow))
		kernel.ToFloat64(x, narrow)
		return x
	}
	for step, beta := range []float64{0.5, 0.3, 0, 0.7, 0.2, 0, 0, 0.4} {
		if step == 4 {
			run.widen()
			if run.rounded.now != nil || run.rounded.last != nil {
				t.Fatal("H or the one before is narrow after widen")
			}
		}
		h, last := numbers(run.hv, run.rounded.now), numbers(run.prev, run.rounded.last)
		if step == 0 || step == 4 { // digits that rounding would lose
			for k := range h {
				h[k] *= 1 + 0x1p-30
				run.hv[k] = h[k]
			}
		}
		run.beta = beta
		run.extrapolate()
		now, before := numbers(run.hv, run.rounded.now), numbers(run.prev, run.rounded.last)
		if run.rounded.now == nil || !slices.Equal(before, h) {
			t.Fatalf("step %d: H is rounded: %t, want true, or the H before is lost", step, run.rounded.now != nil)
		}
		for k, v := range now {
			want := h[k]
			if beta > 0 {
				want = max(0, want+float64(beta*(want-float64(float32(last[k])))))
			}
			if want = float64(float32(want)); !(math.Abs(v-want) <= 0x1p-23*want) {
				t.Fatalf("step %d: number %d starts the sweep at %v, want %v", step, k, v, want)
			}
		}
		gram := slices.Clone(run.gram)
		run.widen()
		if !slices.Equal(run.hv, now) || !slices.Equal(run.prev, before) {
			t.Fatalf("step %d: widening changes H or the one before", step)
		}
		for k, want := range run.p.gram(run.h) {
			if !(math.Abs(gram[k]-want) <= 1e-12*want) {
				t.Fatalf("step %d: D[%d] = %v, want %v", step, k, gram[k], want)
			}
		}
		if step != 3 { // after step 3, both stay wide
			run.rounded.now = kernel.Narrow(run.hv, run.team)
			if step > 0 && step != 4 {
				run.rounded.last = kernel.Narrow(run.prev, run.team)
			}
		}
	}
	h, last := numbers(run.hv, run.rounded.now), numbers(run.prev, run.rounded.last)
	run.single, run.beta = false, 0.4
	if run.extrapolate(); run.rounded.now != nil || run.rounded.last != nil || !slices.Equal(run.prev, h) {
		t.Fatal("passes in float64 again: H is still narrow, or the H before is lost")
	}
	for k, v := range run.hv {
		if want := max(0, h[k]+float64(0.4*(h[k]-last[k]))); !(math.Abs(v-want) <= 0x1p-50*want) {
			t.Fatalf("passes in float64 again: number %d starts the sweep at %v, want %v", k, v, want)
		}
	}
}

// TestRoundedStill: no bit of H, D or the reports depends on whether H is widened between sweeps, or for a
// verification, or on what lies in the memory of h and last while they are narrow. After sweeps between which
// nothing was looked at, D and the objective are those of H.
func TestRoundedStill(t *testing.T) {
	short, _ := instance.PlantedGraph(8200, 200, 0.3, 0.0003, 1)
	for _, tc := range []struct {
		name string
		a    *matrix.CSR
		r    int
	}{{"short rows", short, 12}, {"spans", sparseMatrix(t, 2100, 0.1), 33}} {
		a, err := matrix.FromCSR(tc.a, 0)
		if err != nil {
			t.Fatal(err)
		}
		var runs []*rowBlockRun
		for range 3 {
			_, _, run := startRun(t, a, tc.r, RowBlock{First: FirstRows}, Options{Start: Random{}, Threads: 2})
			runs = append(runs, run)
		}
		still, widened, looked := runs[0], runs[1], runs[2]
		numbers := func(run *rowBlockRun) []float64 {
			x := make([]float64, len(run.hv))
			if run.rounded.now == nil {
				copy(x, run.hv)
			} else {
				kernel.ToFloat64(x, run.rounded.now)
			}
			return x
		}
		narrow, both := 0, 0
		for sweep := range 16 {
			for k, x := range [][]float64{still.hv, still.prev} {
				if [][]float32{still.rounded.now, still.rounded.last}[k] != nil {
					for i := range len(x) / 2 {
						x[i] = math.NaN()
					}
				}
			}
			from, beta := [2][]float64{numbers(still)}, still.beta
			if from[1] = slices.Clone(still.prev); still.rounded.last != nil {
				kernel.ToFloat64(from[1], still.rounded.last)
			}
			var reports []sweepReport
			for _, run := range runs {
				reports = append(reports, run.sweep(never))
			}
			if still.rounds && !reports[0].provisional { // the test of whether momentum points uphill
				uphill, size := 0.0, 0.0
				for k, v := range numbers(still) {
					y := from[0][k]
					if beta > 0 {
						y = max(0, y+beta*(y-from[1][k]))
					}
					uphill += (y - v) * (v - from[0][k])
					size += math.Abs((y - v) * (v - from[0][k]))
				}
				if !(math.Abs(uphill-still.uphill) <= 1e-4*size) {
					t.Fatalf("%s, sweep %d: ⟨Y − H, H − H before⟩ = %v, want %v", tc.name, sweep+1, still.uphill, uphill)
				}
			}
			if still.rounded.now != nil {
				narrow++
				if still.rounded.last != nil {
					both++
				}
			}
			h := numbers(still)
			for k, run := range runs[1:] {
				if !slices.Equal(numbers(run), h) || !slices.Equal(run.gram, still.gram) || reports[k+1] != reports[0] {
					t.Fatalf("%s, sweep %d: H, D or the report differs", tc.name, sweep+1)
				}
			}
			if still.rounded.last != nil || still.rounded.now == nil { // at first, last has digits that narrowing would lose
				widened.widen()
			}
			if err := looked.verify(); err != nil {
				t.Fatalf("%s, sweep %d: %v", tc.name, sweep+1, err)
			}
		}
		if narrow < 10 || both < 5 {
			t.Errorf("%s: H was narrow after %d sweeps, and the H before after %d, want at least 10 and 5", tc.name, narrow, both)
		}
		if err := still.verify(); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		still.widen()
		if now := still.p.measure(still.h); !(math.Abs(now.objective()-still.safeF) <= still.noise()) {
			t.Errorf("%s: the objective is %v, the run holds %v", tc.name, now.objective(), still.safeF)
		}
		for _, run := range runs {
			run.end()
		}
	}
}

// TestRoundedRevives: with a narrow H, too, a column of zeros begins in the row with the most of A_ii to
// spare, and only there.
func TestRoundedRevives(t *testing.T) {
	a, err := matrix.FromCSR(sparseMatrix(t, 2100, 0.1), 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _, run := startRun(t, a, 33, RowBlock{}, Options{Start: Random{}, Threads: 2})
	defer run.end()
	for range 3 {
		run.sweep(never)
	}
	if run.rounded.now == nil {
		t.Fatal("H is not narrow")
	}
	run.p.diag[5], run.rounded.now[5*run.pitch] = 100, 11 // nothing to spare
	best, at := 0.0, -1
	for i := range run.p.n {
		row := run.rounded.now[i*run.pitch:][:run.p.r]
		row[2] = 0
		spare := run.p.diag[i]
		for _, v := range row {
			spare -= float64(v) * float64(v)
		}
		if spare > best {
			best, at = spare, i
		}
	}
	run.findGram()
	clear(run.hv[:len(run.hv)/2]) // has no meaning while H is narrow
	if run.revive(never); at < 0 || run.h.At(at, 2) == 0 {
		t.Fatalf("the column does not begin in row %d, which has %v to spare", at, best)
	}
	for i := range run.p.n {
		if i != at && run.h.At(i, 2) != 0 {
			t.Fatalf("the column begins in row %d, want only row %d", i, at)
		}
	}
}

// TestRoundedLetsGo: when passes go on in float64, H is back in float64 by the end of that sweep, with the same numbers.
// So what is computed at rest, in smaller groups, finds its rows.
func TestRoundedLetsGo(t *testing.T) {
	graph, _ := instance.PlantedGraph(6600, 5, 0.01, 0.001, 1)
	_, _, run := startRun(t, mustCSR(t, graph), 10, RowBlock{}, Options{Start: Random{}, Threads: 2})
	defer run.end()
	narrow := 0
	for run.single {
		if run.sweeps == 300 {
			t.Fatal("passes in float32 never end")
		}
		run.sweep(never)
		if run.rounded.now != nil {
			narrow++
		}
		if gain := run.gainAlone(); !(gain >= 0) {
			t.Fatalf("sweep %d: rows alone would gain %v", run.sweeps, gain)
		}
	}
	if narrow == 0 || run.rounded.now != nil || run.rounded.last != nil {
		t.Errorf("H was in float32 after %d sweeps, and is when passes are in float64: %v", narrow, run.rounded.now != nil || run.rounded.last != nil)
	}
	for k, v := range run.hv {
		if float64(float32(v)) != v {
			t.Fatalf("number %d of H is %v, no number of float32", k, v)
		}
	}
	if err := run.verify(); err != nil {
		t.Error(err)
	}
}

// TestRoundedInner: while H is rounded, ⟨A_BB·d, d⟩ is that of d except for rounding, if d is rounded, too;
// and ⟨A_BB·H_B, H_B⟩ is that of H to the last bit. It does not matter which other members have read d or H.
func TestRoundedInner(t *testing.T) {
	graph, _ := instance.PlantedGraph(4200, 20, 0.02, 0.002, 1)
	for _, c := range []struct {
		name   string
		x      *matrix.CSR
		r      int
		rounds bool // whether d is rounded: if blocks have many entries of their own
	}{{"long rows", sparseMatrix(t, 2100, 0.1), 30, true}, {"short rows", graph, 16, false}} {
		a, err := matrix.FromCSR(c.x, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _, run := startRun(t, a, c.r, RowBlock{}, Options{Start: Random{}, Threads: 2})
		for range 3 {
			run.sweep(never)
		}
		if run.improve(0); run.rounded.now == nil || run.shortens != c.rounds {
			t.Fatalf("%s: H is rounded: %v, d is: %v", c.name, run.rounded.now != nil, run.shortens)
		}
		wide := make([]float64, len(run.hv))
		kernel.ToFloat64(wide, run.rounded.now)
		for b := 0; b*run.Block < run.p.n; b++ {
			lo, hi := b*run.Block, min((b+1)*run.Block, run.p.n)
			run.packGram()
			run.products(lo, hi)
			clear(run.short)
			run.shortens = run.roundsWay(b)
			run.eachGroup(lo, hi, func(g *rowGroup, from, to int) {
				run.fetchRows(g, from, to)
				run.propose(g, lo, from, to)
				run.measureStep(g, lo, from, to)
			})
			groups, _ := run.groupsOf(hi - lo)
			d := run.d[:(hi-lo)*run.pitch]
			want := run.product.Step(b, d)
			if _, _, q, asked := run.step(b, groups, d); !asked || !(math.Abs(q-want) <= 1e-6*math.Abs(want)) || want == 0 {
				t.Fatalf("%s, block %d: ⟨A_BB·d, d⟩ is %v, want %v", c.name, b, q, want)
			}
			if got, want := run.ownInner(b, lo, hi), run.product.Step(b, wide[lo*run.pitch:hi*run.pitch]); got != want {
				t.Fatalf("%s, block %d: ⟨A_BB·H_B, H_B⟩ is %v, want %v", c.name, b, got, want)
			}
		}
		run.end()
	}
}

// TestRoundedFirst: a start whose numbers are of float32 is kept as such in the first sweep. That changes none of them,
// the objective after the sweep is right, and a sweep that is undone gives the start back. From zero, the rows that go
// first are rounded. A start with any other number, or with a column far below the range, is kept in float64, and so is
// any where passes have one precision for good. Either way, a first sweep that is cut keeps what it has done.
func TestRoundedFirst(t *testing.T) {
	const n = 4200
	graph, _ := instance.PlantedGraph(n, 20, 0.2, 0.002, 1)
	a := mustCSR(t, looped(t, graph))
	start := func(r int, change func(h *matrix.Dense)) Given {
		h := instance.Start(n, r, 1)
		for k, v := range h.Data() {
			h.Data()[k] = float64(float32(v))
		}
		change(h)
		return Given{h}
	}
	none := func(*matrix.Dense) {}
	scaled := func(j int, by float64) func(h *matrix.Dense) {
		return func(h *matrix.Dense) {
			for i := range n {
				h.Set(i, j, h.At(i, j)*by)
			}
		}
	}
	for _, c := range []struct {
		name   string
		r      int
		solver RowBlock
		opt    Options
		narrow bool
	}{
		{"float32", 16, RowBlock{}, Options{Start: start(16, none)}, true},
		{"float32, padded", 22, RowBlock{}, Options{Start: start(22, none)}, true},
		{"float32, weights", 16, RowBlock{}, Options{Start: start(16, none), L1: []float64{1e-3}}, true},
		{"a number of float64", 16, RowBlock{}, Options{Start: start(16, func(h *matrix.Dense) { h.Set(n-1, 15, 0.1) })}, false},
		{"a tiny column", 16, RowBlock{}, Options{Start: start(16, scaled(3, 0x1p-110))}, false},
		{"a column of zeros", 16, RowBlock{}, Options{Start: start(16, scaled(3, 0))}, true},
		{"a column of zeros that begins with a row", 16, RowBlock{}, Options{Start: start(16, func(h *matrix.Dense) {
			kernel.Scale(h.Data(), 0x1p-4)
			scaled(3, 0)(h)
		})}, false},
		{"zero", 16, RowBlock{}, Options{Start: Zero{}}, true},
		{"zero, passes in float64", 16, RowBlock{Precision: Double}, Options{Start: Zero{}}, false},
		{"passes in float64", 16, RowBlock{Precision: Double}, Options{Start: start(16, none)}, false},
		{"passes in float32 for good", 16, RowBlock{Precision: Single}, Options{Start: start(16, none)}, false},
	} {
		c.opt.Threads = 2
		begun := func() (p *problem, run *rowBlockRun, was *matrix.Dense) {
			p, _, run = startRun(t, a, c.r, c.solver, c.opt)
			return p, run, run.publish().Clone()
		}
		p, run, was := begun()
		before := p.measure(was)
		run.sweep(never)
		if narrow := run.rounded.now != nil; narrow != c.narrow {
			t.Errorf("%s: H in float32 after a sweep: %t", c.name, narrow)
		}
		if err := run.verify(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		got, after := run.safeF, run.publish()
		f := p.measureWith(after, p.a.NewProduct(after, 1))
		if want := f.objective(); !(math.Abs(got-want) <= 1e-12*want) || !(got < before.objective()) {
			t.Errorf("%s: objective %v, want %v, below %v", c.name, got, want, before.objective())
		}
		run.end()

		_, run, was = begun()
		run.safeF = math.Inf(-1) // no objective is as low
		if rep := run.sweep(never); !rep.provisional || !slices.Equal(run.publish().Data(), was.Data()) {
			t.Errorf("%s: undone: %t, want true and the start", c.name, rep.provisional)
		}
		run.end()

		p, run, was = begun()
		looks, most := 0, 3 // blocks
		if _, zero := c.opt.Start.(Zero); zero {
			most += 8 * c.r // and the rows that go first
		}
		rep := run.sweep(func() bool { looks++; return looks > most })
		now := run.publish()
		from := 3 * run.Block * c.r
		kept, _ := c.opt.Start.(Given)
		if f := p.measure(now); !rep.cut || !(f.objective() < before.objective()) || kept.H != nil && !strings.Contains(c.name, "begins") && !slices.Equal(now.Data()[from:], was.Data()[from:]) {
			t.Errorf("%s: cut: %t, want true; the objective goes from %v to %v, or later rows have changed", c.name, rep.cut, before.objective(), f.objective())
		}
		run.end()
	}
}

// TestRoundedNot: a start, or a column, far below the range of float32 is not rounded to zero. A sweep that
// is cut short leaves H as it was, also when the H before is narrow. A column of zeros that cannot begin
// anywhere leaves H narrow.
func TestRoundedNot(t *testing.T) {
	const n, r = 4200, 16
	graph, _ := instance.PlantedGraph(n, 20, 0.2, 0.002, 1)
	a, err := matrix.FromCSR(graph, 0)
	if err != nil {
		t.Fatal(err)
	}
	tiny := instance.Start(n, r, 1)
	for k := range tiny.Data() {
		tiny.Data()[k] *= 1e-50
	}
	res := factorize(t, a, r, Options{Solver: RowBlock{}, Start: Given{tiny}, Stop: Stop{Sweeps: 30, KKT: -1}})
	if !(res.RelErr <= 0.95) || res.ZeroColumns > 0 {
		t.Errorf("from a tiny start: relative error %v, %d columns of zeros", res.RelErr, res.ZeroColumns)
	}
	_, _, run := startRun(t, a, r, RowBlock{}, Options{Start: Random{}})
	defer run.end()
	for range 3 {
		run.sweep(never)
	}
	if run.gram[0] = 0x1p-201; run.mayRound() {
		t.Error("a column with D_jj = 2⁻²⁰¹ is rounded")
	}
	if run.gram[0] = 0; !run.mayRound() {
		t.Error("a column of zeros keeps H from being rounded")
	}
	run.widen()
	run.beta = 0
	for k := range run.hv { // not representable in float32
		run.hv[k] *= 1 + 0x1p-40
	}
	was := slices.Clone(run.hv)
	if rep := run.sweep(func() bool { return true }); !rep.cut || !run.rounds || !slices.Equal(run.hv, was) {
		t.Errorf("cut: %t, rounded: %t, want both, and H unchanged", rep.cut, run.rounds)
	}

	for range 4 { // the same for a sweep cut later, when the H before is narrow, too
		run.sweep(never)
	}
	before, blocks := run.publish().Clone(), 0
	rep := run.sweep(func() bool { blocks++; return blocks > 5 })
	if h := run.publish(); !rep.cut || !slices.Equal(h.Data(), before.Data()) {
		t.Errorf("cut after some blocks: %t, want true and H unchanged", rep.cut)
	}

	// If no A_ii > 0, no row can begin a column of zeros, and H stays narrow.
	start := instance.Start(n, r, 1)
	for i := range n {
		start.Set(i, r-1, 0)
	}
	_, _, lame := startRun(t, a, r, RowBlock{}, Options{Start: Given{start}})
	defer lame.end()
	for range 4 {
		lame.sweep(never)
	}
	if lame.gram[(r-1)*lame.pitch+r-1] != 0 || lame.rounded.now == nil {
		t.Errorf("a column of zeros: ‖h‖² = %v, want 0; H is narrow: %t", lame.gram[(r-1)*lame.pitch+r-1], lame.rounded.now != nil)
	}
}

// TestRowBlockHeldBack: of three items that have nothing in common, two can come to rest alike, each far from
// its own minimizer, because together they would move to where they are no better off. Moved one at a time,
// they fit exactly. Rows are held back only if alone they would gain more than four times the last fall of
// the objective, per sweep. On other data of every kind they are not.
func TestRowBlockHeldBack(t *testing.T) {
	const n = 3
	identity := mustDense(t, fill(n, func(i, l int) float64 { return map[bool]float64{true: 1}[i == l] }))
	held := 0
	for seed := range uint64(500) {
		opt := Options{Solver: RowBlock{}, Start: Random{}, Seed: seed}
		if res := factorize(t, identity, n, opt); res.Status != Converged || !(res.RelErr <= 1e-3) {
			t.Errorf("seed %d: %v at relative error %v after %d sweeps", seed, res.Status, res.RelErr, res.Sweeps)
		}
		_, _, run := startRun(t, identity, n, RowBlock{}, opt)
		for range 30 {
			run.sweep(never)
		}
		if run.heldBack() {
			held++
			gain := run.gainAlone()
			for _, c := range []struct {
				part float64
				want bool
			}{{3, false}, {5, true}} {
				if run.fell = gain / c.part; run.heldBack() != c.want {
					t.Errorf("seed %d: a sweep gained 1/%v of what rows alone would: held back: %v", seed, c.part, !c.want)
				}
			}
		}
		run.end()
	}
	if held < 5 {
		t.Errorf("held back from %d starts: this shows nothing", held)
	}
	for _, f := range operatorForms(t, 120, 1) {
		const r = 3
		for _, start := range []Start{Random{}, Given{instance.Start(120, r, 1)}} {
			_, _, run := startRun(t, f.a, r, RowBlock{Compress: NoCompression}, Options{Start: start})
			checked, told := 0, false
			for sweeps := 1; sweeps <= 12 || !told; sweeps++ {
				rep := run.sweep(never)
				if told = !rep.provisional; told {
					if want := rep.decrease / float64(sweeps-checked); run.fell != want {
						t.Errorf("%s, sweep %d: the run holds a fall of %v a sweep, want %v", f.name, sweeps, run.fell, want)
					}
					checked = sweeps
				}
			}
			if run.heldBack() {
				t.Errorf("%s, %s: held back: rows alone would gain %v, the last sweep gained %v", f.name, start.Name(), run.gainAlone(), run.fell)
			}
			run.end()
		}
	}
}

// twoGroups returns items of two alternating groups, and a start that does not tell the groups apart.
func twoGroups(t *testing.T) (matrix.Operator, Start) {
	const n = 300
	return mustDense(t, fill(n, func(i, l int) float64 { return map[bool]float64{true: 1, false: 0.1}[i%2 == l%2] })), Given{filled(n, 2, 0.3)}
}

// TestRowBlockAlike: rows that are alike have nothing to gain alone where they come to rest together, and
// leave that point all the same. This holds from a start that does not tell the groups apart, and from zero,
// where the rows that are seeded are of one group. Such rows, and no others, are moved one at a time; rows of
// items that are the same are not.
func TestRowBlockAlike(t *testing.T) {
	groups, start := twoGroups(t)
	hashes := map[string]bool{}
	for threads := 1; threads <= 3; threads++ {
		res := factorize(t, groups, 2, Options{Solver: RowBlock{}, Start: start, Threads: threads})
		if res.Status != Converged || !(res.RelErr <= 1e-3) {
			t.Errorf("%d threads: %v at relative error %v after %d sweeps", threads, res.Status, res.RelErr, res.Sweeps)
		}
		hashes[instance.Hash(res.H)] = true
	}
	if len(hashes) != 1 {
		t.Error("the answer depends on the number of threads")
	}
	const n, r = 512, 4
	for _, other := range []float64{0, 0.1} {
		three := fill(n, func(i, l int) float64 {
			if group := func(i int) int { return i % 2 * (1 + i/2%2) }; group(i) != group(l) {
				return other
			}
			return 1
		})
		for _, a := range []matrix.Operator{mustDense(t, three), mustCSR(t, listed(three))} {
			if res := factorize(t, a, r, Options{Solver: RowBlock{}, Start: Zero{}}); res.Status != Converged || !(res.RelErr <= 3e-3) {
				t.Errorf("three groups, %v, from zero: %v at relative error %v after %d sweeps", other, res.Status, res.RelErr, res.Sweeps)
			}
		}
	}

	p, _, run := startRun(t, groups, 2, RowBlock{Block: 100}, Options{Start: start})
	defer run.end()
	for _, c := range []struct {
		set       func()
		lo, hi    int
		want      []int
		any, none bool
	}{
		{func() {}, 0, 4, []int{0, 1, 2, 3}, true, false},
		{func() { run.h.Row(1)[0] += 0x1p-54 }, 0, 3, []int{1, 2}, true, false}, // pairs are neighbors in order of length
		{func() { run.h.Row(1)[0] += 0x1p-10 }, 0, 3, nil, true, false},         // 0 and 2 are the same item
		{func() { clear(run.hv) }, 0, 100, nil, false, true},
		{func() { run.h.Row(150)[1], run.h.Row(151)[1], run.h.Row(5)[1] = 1, 1, 1 }, 100, 200, []int{150, 151}, true, false},
		{func() { run.h.Row(151)[0], run.h.Row(151)[1] = 1, 0 }, 100, 200, nil, false, true}, // equally long, but not alike
		{func() { run.h.Row(152)[1] = 1 }, 100, 200, nil, false, true},
		{func() { run.h.Row(200)[1] = 1 }, 100, 200, nil, false, true},
	} {
		c.set()
		if got := run.anyAlike(); got != c.any || got == c.none {
			t.Errorf("any alike: %v, want %v", got, c.any)
		}
		if got := run.alike(c.lo, c.hi); !slices.Equal(got, c.want) {
			t.Errorf("rows that are alike from %d to %d: %v, want %v", c.lo, c.hi, got, c.want)
		}
	}

	run.h.Row(153)[0] = 0.5
	run.h.Row(150)[0], run.h.Row(151)[0], run.h.Row(150)[1], run.h.Row(151)[1] = 0.7, 0.7, 0.1, 0.1
	run.prepare()
	run.findGram()
	before := slices.Clone(run.hv)
	run.onlyAlike = true
	run.rowsAlone(1, never)
	for i := range p.n {
		if moved := !slices.Equal(run.h.Row(i), before[i*run.pitch:(i+1)*run.pitch]); moved != (i == 150 || i == 151) {
			t.Errorf("row %d moved: %v", i, moved)
		}
	}

	p, _, again := startRun(t, groups, 2, RowBlock{}, Options{Start: start})
	defer again.end()
	for range 12 {
		again.sweep(never)
	}
	if !again.doubt() {
		t.Error("no doubt, although rows are alike")
	}
	if p.drawn = true; again.doubt() {
		t.Error("doubt, although the rows were drawn at random")
	}
}

// TestAlikeFromRest: a sweep of the rows that are alike begins where the sweep before it has ended, without momentum. So
// the rows that it leaves alone are not below zero where momentum would have put them.
func TestAlikeFromRest(t *testing.T) {
	const n, r, sweeps, each = 60, 3, 60, 5
	w := matrix.NewDense(n, r, nil)
	u := uniform{5}
	for k := range w.Data() {
		w.Data()[k] = max(0, u.at(uint64(k))-0.4)
	}
	for j := range r { // items 0 and 1 are all but the same
		w.Set(0, j, 0.3)
		w.Set(1, j, 0.3*(1+1e-6))
	}
	a := mustDense(t, fill(n, func(i, l int) float64 { return kernel.Dot(w.Row(i), w.Row(l)) + 0.1*u.at(uint64(1000+i*n+l)) }))
	with := 0
	for made := each; made <= sweeps; made += each {
		p, _, run := startRun(t, a, r, RowBlock{Compress: NoCompression, Joint: NoJoint}, Options{Start: Random{}})
		for range made {
			run.sweep(never)
		}
		if run.beta > 0 {
			with++
		}
		copy(run.h.Row(1), run.h.Row(0))
		run.findGram()
		before := slices.Clone(run.hv)
		f := p.measure(run.publish())
		run.safeF = f.objective()
		run.fell = math.Inf(1) // so rows do not gain more alone than the sweep did
		if !run.doubt() || !run.onlyAlike {
			t.Fatalf("after %d sweeps: rows alike alone: %v, want a sweep of those", made, run.onlyAlike)
		}
		if run.beta != 0 || run.tk != 1 {
			t.Errorf("after %d sweeps: momentum %v goes on, from t = %v", made, run.beta, run.tk)
		}
		run.sweep(never)
		for i := range n {
			if i > 1 && !slices.Equal(run.h.Row(i), before[i*run.pitch:(i+1)*run.pitch]) {
				t.Errorf("after %d sweeps: row %d is %v, want %v as before", made, i, run.h.Row(i), before[i*run.pitch:(i+1)*run.pitch])
			}
		}
		run.end()
	}
	if with < sweeps/each/2 {
		t.Errorf("%d of %d runs had momentum: this shows nothing", with, sweeps/each)
	}
}

// listed returns d as a CSR of its nonzero entries.
func listed(d *matrix.Dense) *matrix.CSR {
	n, cols := d.Dims()
	ptr, col, val := []int64{0}, []int32(nil), []float64(nil)
	for i := range n {
		for l, v := range d.Row(i)[:cols] {
			if v != 0 {
				col, val = append(col, int32(l)), append(val, v)
			}
		}
		ptr = append(ptr, int64(len(col)))
	}
	a, err := matrix.NewCSR(n, cols, ptr, col, val)
	if err != nil {
		panic(err)
	}
	return a
}

// TestRowBlockGainAlone: gainAlone is the sum over all rows of how much F falls if that row alone takes its
// proposed step, as measured. This holds with weights and without the diagonal, with the same bits for any
// number of threads. A run that has to end gets 0. A doubt looks at rows only after H is back in float64.
func TestRowBlockGainAlone(t *testing.T) {
	const n, r, block = 120, 3, 50
	for _, f := range operatorForms(t, n, 1) {
		for _, opt := range []Options{{}, {IgnoreDiagonal: true}, {L1: []float64{1e-3 * math.Pow(f.a.Norm(), 1.5) / n}}} {
			opt.Start = Random{}
			var first float64
			for threads := 1; threads <= 3; threads++ {
				opt.Threads = threads
				p, h, run := startRun(t, f.a, r, RowBlock{Block: block, Compress: NoCompression}, opt)
				run.sweep(never)
				h = run.publish()
				gain := run.gainAlone()
				if threads > 1 {
					if gain != first {
						t.Errorf("%s, %+v: %v with one thread, %v with %d", f.name, opt, first, gain, threads)
					}
					h = run.end()
					continue
				}
				first = gain
				at, want := p.measure(h), 0.0
				for lo := 0; lo < n; lo += block {
					hi := min(lo+block, n)
					run.products(lo, hi)
					run.eachGroup(lo, hi, func(grp *rowGroup, from, to int) {
						run.sumTerms(lo, from, to)
						run.propose(grp, lo, from, to)
						for i := from; i < to; i++ {
							one := matrix.NewDense(n, r, slices.Clone(h.Data()))
							kernel.Axpy(one.Row(i), 1, run.at(run.d, lo, from, to)[(i-from)*run.pitch:][:r])
							now := p.measure(one)
							want += at.objective() - now.objective()
						}
					})
				}
				if !(want > 0) || !(math.Abs(gain-want) <= 1e-9*(want+p.norm*p.norm)) {
					t.Errorf("%s, %+v: gain %v, want %v", f.name, opt, gain, want)
				}
				run.p.stop = func() bool { return true }
				if gain := run.gainAlone(); gain != 0 {
					t.Errorf("%s, %+v: gain %v when the run has to end, want 0", f.name, opt, gain)
				}
				run.end()
			}
		}
	}
	_, _, run := startRun(t, mustCSR(t, instance.RandomSparse(25000, 60000, 1)), 3, RowBlock{}, Options{Start: Random{}})
	defer run.end()
	for range 3 {
		run.sweep(never)
	}
	if run.rounded.now == nil {
		t.Error("H is not in float32: this shows nothing")
	}
	if run.doubt(); run.rounded.now != nil {
		t.Error("rows are compared while H is in float32")
	}
}

// TestEstimateOfNothing: however small Σ⟨D, dᵀd⟩ is, the estimated KKT residual between sweeps is a number,
// and right when it is measured.
func TestEstimateOfNothing(t *testing.T) {
	p := mustProblem(t, lowRank(t, 40, 2), 3)
	h := matrix.NewDense(p.n, p.r, nil)
	if err := (Random{}).fill(p, h, 0); err != nil {
		t.Fatal(err)
	}
	s := RowBlock{Compress: NoCompression}.start(p, h, 0).(*rowBlockRun)
	first := p.measure(h)
	s.begin(&first)
	defer s.end()
	for range 40 {
		s.sweep(never)
	}
	s.ddd, s.next = 5e-324, 0
	want := p.measure(s.publish()).gradKKT
	if got := s.estimate(); !(math.Abs(got-want) <= 1e-6*want) {
		t.Errorf("estimated %v, measured %v", got, want)
	}
	if got := s.estimate(); !(got >= 0 && got <= 1) {
		t.Errorf("estimated %v between looks", got)
	}
}

// TestEstimateAtRest: where no row moves and the KKT residual is 0, the estimate is 0, now and later.
func TestEstimateAtRest(t *testing.T) {
	identity := fill(4, func(i, l int) float64 { return float64((l + 1) / (i + 1)) })
	_, _, run := startRun(t, mustDense(t, identity), 4, RowBlock{}, Options{Start: Given{identity}})
	defer run.end()
	for range 40 {
		run.sweep(never)
		if got := run.estimate(); got != 0 || run.trust != 1 {
			t.Fatalf("sweep %d: estimated %v, with trust %v", run.sweeps, got, run.trust)
		}
	}
}

// TestStillIsTold: a sweep that changes nothing tells the objective, whose turn it may not be for long, so the run ends.
func TestStillIsTold(t *testing.T) {
	a, err := matrix.Normalized(mustDense(t, fill(4, func(i, l int) float64 { return float64((l + 1) / (i + 1)) })), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	start := matrix.NewDense(4, 4, nil)
	for i := range 4 {
		start.Set(i, i, 1)
	}
	res := factorize(t, a, 4, Options{Solver: RowBlock{CheckEvery: 1000}, Start: Given{start}, Stop: Stop{Sweeps: 50, KKT: -1}})
	if res.Status != Stalled || res.Sweeps > 10 || !(res.RelErr <= 1e-6) {
		t.Errorf("%v after %d sweeps at relative error %v", res.Status, res.Sweeps, res.RelErr)
	}
}

// TestRowsAloneCut: a limit ends work row by row before the next row, since all rows may take as long as many
// sweeps. The sweep does not count then. No column of zeros begins after a limit.
func TestRowsAloneCut(t *testing.T) {
	after := func(calls int) func() bool {
		return func() bool { calls--; return calls < 0 }
	}
	a := mustDense(t, instance.FullRank(200, 1))
	_, _, run := startRun(t, a, 4, RowBlock{Joint: NoJoint, Compress: NoCompression}, Options{Start: Zero{}})
	defer run.end()
	if rep := run.sweep(after(5)); !rep.cut || run.sweeps != 0 {
		t.Errorf("a limit after five rows of the first sweep: %+v, %d sweeps", rep, run.sweeps)
	}
	rows := 0
	for i := range 200 {
		if kernel.Nonzero(run.h.Row(i)) {
			rows++
		}
	}
	if rows != 5 {
		t.Errorf("%d rows were improved, want 5", rows)
	}

	run.sweep(never)
	for _, onlyAlike := range []bool{false, true} {
		if run.onlyAlike = onlyAlike; onlyAlike {
			copy(run.h.Row(199), run.h.Row(198))
			run.anyAlike()
			run.findGram()
			run.product.Refresh()
		}
		run.tk, run.beta, run.alone = 1, 0, true
		before := slices.Clone(run.hv)
		blocks := kernel.BlockCount(200, run.Block)
		calls := blocks + 199 // all but the last row
		if onlyAlike {
			calls = blocks + 1
		}
		done := run.sweeps
		if rep := run.sweep(after(calls)); !rep.cut || run.sweeps != done {
			t.Errorf("only alike %v, a limit before the last row: %+v", onlyAlike, rep)
		}
		if last := 199 * run.pitch; !slices.Equal(run.hv[last:], before[last:]) || slices.Equal(run.hv[:last], before[:last]) {
			t.Errorf("only alike %v: want rows to move before the limit, and the last row to stay", onlyAlike)
		}
	}

	for i := range 200 {
		run.h.Row(i)[2] = 0
	}
	run.findGram()
	before := slices.Clone(run.hv)
	if run.revive(after(0)); !slices.Equal(run.hv, before) {
		t.Error("a column of zeros begins after a limit")
	}
}

// TestEstimateBelowZero: where HᵀH is singular and d leads almost out of its range, rounding can make Σ⟨D,
// dᵀd⟩ negative. The KKT residual reported for such a sweep is then 0, not NaN.
func TestEstimateBelowZero(t *testing.T) {
	_, _, s := startRun(t, mustDense(t, matrix.NewDense(2, 2, []float64{1, 0.5, 0.5, 1})), 2, RowBlock{}, Options{Start: Random{}})
	defer s.end()
	s.sweep(never)
	s.ddd = -1e-40
	if got := s.estimate(); got != 0 {
		t.Errorf("estimated %v from a sum that rounding has left below 0, want 0", got)
	}
}

// TestMomentumAlone: a run whose blocks all stay where momentum has led them goes on, since H has moved. This one said
// after three sweeps that it stood still, at 2.7 times the objective.
func TestMomentumAlone(t *testing.T) {
	g := rand.New(rand.NewPCG(762, 3))
	n, r := 10+g.IntN(30), 3+g.IntN(8)
	x := matrix.NewDense(n, n, nil)
	for k := range x.Data() {
		x.Data()[k] = g.Float64()
	}
	a, err := matrix.Gram(x, matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{L1: make([]float64, r), Seed: 762, Start: TSVDStart{}, Threads: 1}
	for j := range opt.L1 {
		opt.L1[j] = 0.1 * float64(g.IntN(3)) * math.Pow(a.Norm(), 1.5)
	}
	_, _, run := startRun(t, a, r, RowBlock{}, opt)
	defer run.end()
	found := false
	for range 3 {
		before := run.beta
		if rep := run.sweep(never); before > 0 && run.fallen == 0 && !rep.provisional {
			if found = true; rep.changed == 0 || run.beta > 0 {
				t.Errorf("%+v with momentum %v to come", rep, run.beta)
			}
		}
	}
	if !found {
		t.Log("on this path momentum never moves H alone")
	}
	if res := factorize(t, a, r, opt); res.Status == Stalled && !(res.KKT <= 1e-3) || !(res.Objective <= 50) {
		t.Errorf("%v after %d sweeps, KKT residual %.3g, objective %v", res.Status, res.Sweeps, res.KKT, res.Objective)
	}
}

// TestLoneEntry: without the diagonal an entry that is alone in its column counts its ℓ₁ weight only, so a sweep sets
// it to zero. Without a weight, and in a column without one, it stays. Where no entry is alone, nothing moves.
func TestLoneEntry(t *testing.T) {
	const n, r, item = 40, 3, 5
	d := matrix.NewDense(n, n, nil)
	start := matrix.NewDense(n, r, nil)
	u := uniform{4}
	for i := range n {
		for l := range i {
			if i != item && l != item { // which is like none
				v := u.at(uint64(n*i + l))
				d.Set(i, l, v)
				d.Set(l, i, v)
			}
		}
		start.Set(i, 0, u.at(uint64(n*n+i)))
	}
	start.Set(item, 1, 0.5)
	start.Set(item, 2, 0.25)
	for form, a := range map[string]matrix.Operator{"dense": mustDense(t, d), "sparse": mustCSR(t, d.CSR())} {
		for _, c := range []struct {
			l1       []float64
			one, two float64 // what is left of the entries
		}{
			{nil, 0.5, 0.25},
			{[]float64{1e-3}, 0, 0},
			{[]float64{0, 0, 1e-3}, 0.5, 0},
		} {
			res := factorize(t, a, r, Options{Solver: RowBlock{}, Start: Given{start}, IgnoreDiagonal: true, L1: c.l1, Stop: Stop{Sweeps: 1, KKT: -1}})
			if one, two := res.H.At(item, 1), res.H.At(item, 2); one != c.one || two != c.two {
				t.Errorf("%s, weights %v: %v and %v are left, want %v and %v", form, c.l1, one, two, c.one, c.two)
			}
		}
		opt := Options{Start: Random{}, IgnoreDiagonal: true, L1: []float64{1e-3}}
		_, _, run := startRun(t, a, r, RowBlock{}, opt)
		run.prepare()
		run.findGram()
		before := slices.Clone(run.hv)
		if run.dropLone(never); !slices.Equal(run.hv, before) {
			t.Errorf("%s: rows have moved though no entry is alone", form)
		}
		run.end()
	}
}

// TestLoneEntryNarrow is TestLoneEntry while H is in float32.
func TestLoneEntryNarrow(t *testing.T) {
	const n, r, item = 20000, 3, 20000 - 5
	ptr, col, val := []int64{0}, []int32{}, []float64{}
	for i := range n { // each item is like the three on either side, but one is like none
		for l := max(0, i-3); l <= min(i+3, n-1); l++ {
			if l != i && i != item && l != item {
				col, val = append(col, int32(l)), append(val, 1+float64((i+l)%5))
			}
		}
		ptr = append(ptr, int64(len(col)))
	}
	c, err := matrix.NewCSR(n, n, ptr, col, val)
	if err != nil {
		t.Fatal(err)
	}
	start := matrix.NewDense(n, r, nil)
	for i := range n {
		start.Set(i, 0, 0x1p-10*float64(1+i%100)) // a number of float32
	}
	start.Set(item, 0, 0)
	start.Set(item, 1, 0.5)
	start.Set(item, 2, 0.25)
	opt := Options{Solver: RowBlock{First: FirstRows}, Start: Given{start}, IgnoreDiagonal: true, L1: []float64{1e-3}, Stop: Stop{Sweeps: 1, KKT: -1}}
	res := factorize(t, mustCSR(t, c), r, opt)
	if one, two := res.H.At(item, 1), res.H.At(item, 2); one != 0 || two != 0 {
		t.Errorf("%v and %v are left", one, two)
	}
}
