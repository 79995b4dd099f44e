package symnmf

import (
	"math"
	"slices"
	"testing"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// roughProblem returns an A whose runs have rough sweeps: it is dense, and no low rank takes its place.
func roughProblem(t testing.TB) matrix.Operator {
	return mustDense(t, instance.FullRank(roughRows, 1))
}

const roughRows, roughRank = 300, 14

// countingRough counts the calls of a product in float32.
type countingRough struct {
	matrix.RoughProduct
	times, steps int
}

func (c *countingRough) RoughTo(dst []float64, lo, hi int) {
	c.times++
	c.RoughProduct.RoughTo(dst, lo, hi)
}

func (c *countingRough) RoughStep(b int) float64 {
	c.steps++
	return c.RoughProduct.RoughStep(b)
}

// TestRoughSweeps: while passes are in float32, so are the products of all sweeps but some of the first and
// then every tenth, or every CheckEvery-th. Once passes are in float64, all products are. A sweep with
// products in float64 reports the objective of the H it leads to, as measured, which does not rise from one
// such sweep to the next. What is maintained is right after every sweep.
func TestRoughSweeps(t *testing.T) {
	for _, every := range []int{0, 4} {
		p, _, run := startRun(t, roughProblem(t), roughRank, RowBlock{CheckEvery: every}, Options{Start: Random{}, Threads: 1})
		step := every
		if step == 0 {
			step = roughEvery
		}
		f, ended, due := run.safeF, 0, 1
		blocks := kernel.BlockCount(roughRows, run.Block)
		for sweep := 1; ended < 5; sweep++ {
			if sweep > 1000 {
				t.Fatal("passes are still in float32 after 1000 sweeps")
			}
			single := run.single
			run.prepare()
			counts := &countingRough{RoughProduct: run.rough.product}
			run.rough.product = counts
			rep := run.sweep(never)
			want := single && sweep < due
			if !want {
				due = sweep + min(max(sweep/2, 1), step)
			}
			if rough := counts.times > 0; rough != want || rough && counts.steps != blocks || rep.provisional != want {
				t.Fatalf("every %d, sweep %d: %d products and %d steps in float32, provisional: %v", every, sweep, counts.times, counts.steps, rep.provisional)
			}
			if run.rough.now {
				t.Fatalf("every %d, sweep %d: still rough after its end", every, sweep)
			}
			run.rough.product = counts.RoughProduct
			if err := run.verify(); err != nil {
				t.Fatalf("every %d, sweep %d: %v", every, sweep, err)
			}
			if !single {
				ended++
			}
			if rep.provisional {
				continue
			}
			now := p.measure(run.publish())
			if !(math.Abs(run.safeF-now.objective()) <= run.noise()) || !(run.safeF <= f+run.noise()) || !(math.Abs(rep.decrease-(f-run.safeF)) <= run.noise()) {
				t.Fatalf("every %d, sweep %d: the run holds objective %v, reported as a fall of %v from %v; H has %v", every, sweep, run.safeF, rep.decrease, f, now.objective())
			}
			f = run.safeF
		}
		run.release()
	}
}

// TestRoughPrecision: there are no rough sweeps with a fixed precision of the passes, nor if every sweep is
// checked.
func TestRoughPrecision(t *testing.T) {
	for _, s := range []RowBlock{{Precision: Double}, {Precision: Single}, {CheckEvery: 1}} {
		_, _, run := startRun(t, roughProblem(t), roughRank, s, Options{Start: Random{}, Threads: 1})
		for range 12 {
			if rep := run.sweep(never); rep.provisional {
				t.Errorf("%+v: a sweep is provisional, want none", s)
			}
		}
		run.release()
	}
}

// TestRoughRises: if the objective has risen at a check after rough sweeps, H goes back to the last check.
// After two such rises in a row there are no more rough sweeps. The largest step stays as it was; only a rise
// without rough sweeps limits it to 1.
func TestRoughRises(t *testing.T) {
	_, _, run := startRun(t, roughProblem(t), roughRank, RowBlock{}, Options{Start: Random{}, Threads: 1})
	defer run.release()
	check := func(low float64) (before []float64, f float64) {
		for run.sweeps < 9 || run.sweeps+1 < run.rough.due {
			run.sweep(never)
		}
		before, f = slices.Clone(run.safe), run.safeF
		run.safeF -= low
		run.beta, run.tk = 0, 1
		run.sweep(never)
		run.safeF = f
		return before, f
	}
	for k, want := range []struct {
		risen, rose, never bool
	}{{false, false, false}, {true, true, false}, {false, false, false}, {true, true, false}, {true, true, true}} {
		low := 0.0
		if want.risen {
			low = 10
		}
		before, _ := check(low)
		if slices.Equal(run.hv, before) != want.risen || run.rough.rose != want.rose || run.rough.never != want.never || run.MaxStep != 2 {
			t.Errorf("check %d: H is that of the last check: %v; rose: %v, never: %v, steps up to %v", k, slices.Equal(run.hv, before), run.rough.rose, run.rough.never, run.MaxStep)
		}
	}
	for range 2 * roughEvery {
		if run.sweep(never).provisional {
			t.Fatal("a sweep is provisional after two rises in a row")
		}
	}
	run.safeF -= 10
	run.beta = 0
	if run.sweep(never); run.MaxStep != 1 {
		t.Error("a rise without rough sweeps does not limit steps to 1")
	}
}

// TestRoughSince: a rise is not blamed on rough sweeps that came before the last check, whether H passed that
// check or went back at it.
func TestRoughSince(t *testing.T) {
	rise := func(run *rowBlockRun) {
		run.safeF -= 10
		run.beta, run.tk = 0, 1
		run.sweep(never)
	}
	for _, passed := range []bool{true, false} {
		_, _, run := startRun(t, roughProblem(t), roughRank, RowBlock{}, Options{Start: Random{}, Threads: 1})
		for run.sweeps < 9 || run.sweeps+1 < run.rough.due {
			run.sweep(never)
		}
		if !run.rough.since {
			t.Fatal("no rough sweep: this shows nothing")
		}
		if passed {
			run.sweep(never)
		} else {
			rise(run)
		}
		run.single = false
		rise(run)
		if run.MaxStep != 1 || run.rough.never || run.rough.rose {
			t.Errorf("H passed the last check: %v; steps up to %v, never: %v, rose: %v", passed, run.MaxStep, run.rough.never, run.rough.rose)
		}
		run.release()
	}
}

// comparedRough compares every product in float32 with that in float64.
type comparedRough struct {
	matrix.RoughProduct
	worst float64
	after bool // whether one came after a joint step
	joint int  // joint steps in float32
	run   *rowBlockRun
}

func (c *comparedRough) RoughTo(dst []float64, lo, hi int) {
	c.RoughProduct.RoughTo(dst, lo, hi)
	want := make([]float64, len(dst))
	c.RoughProduct.RowsTo(want, lo, hi)
	for k, v := range want {
		c.worst = max(c.worst, math.Abs(dst[k]-v)/c.run.p.norm)
	}
	c.after = c.after || c.run.joint.next == c.run.sweeps+c.run.joint.every
}

func (c *comparedRough) RoughStep(b int) float64 {
	got := c.RoughProduct.RoughStep(b)
	d := c.run.way[:(min((b+1)*c.run.Block, c.run.p.n)-b*c.run.Block)*c.run.pitch]
	c.worst = max(c.worst, math.Abs(got-c.RoughProduct.Step(b, d))/(c.run.p.norm*kernel.SumSq(d)+0x1p-1000))
	return got
}

func (c *comparedRough) RoughStepAll(d *matrix.Dense, scratch []float64) (own, along float64) {
	own, along = c.RoughProduct.RoughStepAll(d, scratch)
	wantOwn, wantAlong := c.RoughProduct.(matrix.JointProduct).StepAll(d, scratch)
	size := c.run.p.norm*(kernel.SumSq(d.Data())+math.Sqrt(kernel.SumSq(d.Data())*kernel.SumSq(c.run.hv))) + 0x1p-1000
	c.worst = max(c.worst, math.Abs(own-wantOwn)/size, math.Abs(along-wantAlong)/size)
	c.joint++
	return own, along
}

// TestRoughFollows: products in float32 are of the H that joint steps, momentum, steps of blocks, single rows
// and a column that begins anew have left.
func TestRoughFollows(t *testing.T) {
	a, _ := instance.LowRank(roughRows, roughRank, 1)
	_, _, run := startRun(t, mustDense(t, a), roughRank, RowBlock{}, Options{Start: Random{}, Threads: 1})
	defer run.release()
	run.prepare()
	c := &comparedRough{RoughProduct: run.rough.product, run: run}
	run.rough.product = c
	for sweep := range 60 {
		if sweep == 25 {
			for i := range roughRows {
				run.hv[i*run.pitch+4], run.prev[i*run.pitch+4] = 0, 0
			}
			run.product.Refresh()
			run.safeF = math.Inf(1)
		}
		if sweep%7 == 0 {
			for b := range run.still { // blocks that do not move have their rows moved one at a time
				run.still[b] = run.sweeps
			}
		}
		run.sweep(never)
	}
	if !c.after || c.joint == 0 {
		t.Errorf("products in float32 after a joint step: %t, joint steps in float32: %d: this shows nothing", c.after, c.joint)
	}
	if !(c.worst > 0 && c.worst <= 1e-6) {
		t.Errorf("products in float32 are off by %.2g of ‖A‖, want more than 0 and at most 1e-6", c.worst)
	}
}

// TestRoughStarts: a sweep is not rough if some column has a squared norm that is too small or too large for
// float32 or is not a number, or if rows move alone. A column of zeros is no obstacle.
func TestRoughStarts(t *testing.T) {
	_, _, run := startRun(t, roughProblem(t), roughRank, RowBlock{}, Options{Start: Random{}, Threads: 1})
	defer run.release()
	for range 4 {
		run.sweep(never)
	}
	if !run.mayBeRough() {
		t.Fatal("no rough sweep: this shows nothing")
	}
	for _, v := range []float64{leastRounded / 2, 2 / leastRounded, math.NaN()} {
		old := run.gram[run.pitch+1]
		run.gram[run.pitch+1] = v
		if run.mayBeRough() {
			t.Errorf("rough with a column of squared norm %v", v)
		}
		run.gram[run.pitch+1] = 0
		if !run.mayBeRough() {
			t.Error("not rough with a column of zeros")
		}
		run.gram[run.pitch+1] = old
	}
	run.alone = true
	if run.mayBeRough() {
		t.Error("rough with rows that move alone")
	}
}

// TestRoughEnds: however many sweeps a run has, its answer is no worse than the last check before its end. A
// sweep that is cut short leaves H as it was before.
func TestRoughEnds(t *testing.T) {
	a := roughProblem(t)
	for sweeps := range 25 {
		res := factorize(t, a, roughRank, Options{Solver: RowBlock{}, Start: Random{}, Trace: true, Threads: 2, Stop: Stop{Sweeps: sweeps + 1, KKT: -1}})
		last := math.Inf(1)
		for _, row := range res.Trace {
			if row.Sweep <= sweeps {
				last = row.RelErr
			}
		}
		if res.Sweeps != sweeps+1 || !(res.RelErr <= last+res.ErrFloor) {
			t.Errorf("%d sweeps: relative error %v, at the last check %v", res.Sweeps, res.RelErr, last)
		}
	}
	p, _, run := startRun(t, a, roughRank, RowBlock{}, Options{Start: Random{}, Threads: 1})
	for range 13 {
		run.sweep(never)
	}
	whole, calls := slices.Clone(run.hv), 0
	rep := run.sweep(func() bool { calls++; return calls == 2 })
	if !rep.cut || run.rough.now || !slices.Equal(run.hv, whole) {
		t.Errorf("cut: %v, still rough: %v, H as it was: %v", rep.cut, run.rough.now, slices.Equal(run.hv, whole))
	}
	before := run.safeF
	if now := p.measure(run.end()); !(now.objective() <= before+run.noise()) {
		t.Errorf("the run ends at objective %v, at the last check it was %v", now.objective(), before)
	}
}

// TestRoughMinimum: runs with rough sweeps converge to a minimum as others do, down to a KKT residual of
// 1e-9.
func TestRoughMinimum(t *testing.T) {
	for seed := range uint64(3) {
		res := factorize(t, roughProblem(t), roughRank, Options{Solver: RowBlock{}, Start: Random{}, Seed: seed, Stop: Stop{Sweeps: 3000, KKT: 1e-9}})
		if res.Status != Converged || !(res.KKT <= 1e-9) {
			t.Errorf("seed %d: %v after %d sweeps, KKT residual %v", seed, res.Status, res.Sweeps, res.KKT)
		}
	}
}

// TestRoughRelChange: a fall over several sweeps is compared with as many times what Stop.RelChange allows
// for one.
func TestRoughRelChange(t *testing.T) {
	const change = 2e-4
	res := factorize(t, roughProblem(t), roughRank, Options{Solver: RowBlock{}, Start: Random{}, Trace: true, Stop: Stop{KKT: -1, RelChange: change}})
	if res.Status != Stalled || len(res.Trace) < 4 || res.Trace[len(res.Trace)-1].Sweep-res.Trace[len(res.Trace)-2].Sweep < 3 {
		t.Fatalf("%v after %d sweeps: this shows nothing", res.Status, res.Sweeps)
	}
	for k := 1; k < len(res.Trace); k++ {
		now, before := res.Trace[k], res.Trace[k-1]
		f, last := now.RelErr*now.RelErr, before.RelErr*before.RelErr
		if small, end := last-f <= change*last*float64(now.Sweep-before.Sweep), k == len(res.Trace)-1; small != end {
			t.Errorf("from sweep %d to %d the objective falls by %.3g of itself; at the end of the run: %v", before.Sweep, now.Sweep, 1-f/last, end)
		}
	}
}
