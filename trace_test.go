package symnmf

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// TestProgress: Progress is called once for every sweep of every run, in order. The error does not rise
// within a run, and the last one is that of the result.
func TestProgress(t *testing.T) {
	a := lowRank(t, 30, 3)
	var got []Progress
	res := factorize(t, a, 3, Options{Solver: CD{}, Runs: 2, Stop: Stop{Sweeps: 4, KKT: -1}, Progress: func(p Progress) { got = append(got, p) }})
	if len(got) != 8 {
		t.Fatalf("%d calls for 2 runs of 4 sweeps", len(got))
	}
	for k, p := range got {
		if p.Run != k/4+1 || p.Runs != 2 || p.Sweep != k%4+1 {
			t.Errorf("call %d: %+v", k, p)
		}
		if k%4 > 0 && (p.Elapsed < got[k-1].Elapsed || p.RelErr > got[k-1].RelErr) {
			t.Errorf("call %d: %+v after %+v", k, p, got[k-1])
		}
	}
	for k, s := range res.Runs {
		if p := got[4*k+3]; !(math.Abs(p.RelErr-s.RelErr) <= 1e-9) {
			t.Errorf("run %d: progress says %v, the result %v", k+1, p.RelErr, s.RelErr)
		}
	}
}

// TestTraceIsOffTheClock: a run makes the same sweeps with a trace as without, and the time of measuring for
// the trace is not counted.
func TestTraceIsOffTheClock(t *testing.T) {
	var now time.Time
	clk := newClock(func() time.Time { return now })
	now = now.Add(3 * time.Second)
	clk.pause(func() {
		now = now.Add(time.Hour)
		clk.pause(func() { now = now.Add(time.Hour) }) // a pause within a pause counts once
		if e := clk.elapsed(); e != 3*time.Second {
			t.Errorf("in a pause after 3 s the clock shows %v", e)
		}
	})
	now = now.Add(time.Second)
	if e := clk.elapsed(); e != 4*time.Second {
		t.Errorf("3 s, a pause of an hour and 1 s count as %v", e)
	}
	a := lowRank(t, 50, 4)
	opt := Options{Solver: CD{Order: Shuffle}, Start: Random{}, Stop: Stop{Sweeps: 9, KKT: -1}}
	plain := factorize(t, a, 4, opt)
	opt.Trace = true
	traced := factorize(t, a, 4, opt)
	if !slices.Equal(plain.H.Data(), traced.H.Data()) {
		t.Error("a trace changes H")
	}
	if plain.First.RelErr != traced.Trace[0].RelErr || plain.First.KKT != traced.Trace[0].KKT {
		t.Errorf("start %+v, first row of the trace %+v", plain.First, traced.Trace[0])
	}
	if len(plain.Trace) != 0 || len(traced.Trace) != 10 || traced.Trace[9].RelErr != traced.RelErr || traced.Trace[0].Sweep != 0 {
		t.Errorf("%d and %d rows of trace", len(plain.Trace), len(traced.Trace))
	}
	for k := 1; k < len(traced.Trace); k++ {
		if traced.Trace[k].Time < traced.Trace[k-1].Time {
			t.Errorf("row %d is before row %d", k, k-1)
		}
	}
}

// TestTraceEndsInTime: if the last row of the trace is made of the figures of the answer, its time is that of
// the run. The time to find these figures is not counted.
func TestTraceEndsInTime(t *testing.T) {
	res := factorize(t, lowRank(t, 50, 4), 4, Options{Solver: TSVD{}, Trace: true, Stop: Stop{Sweeps: 3, KKT: -1}}) // it finds its error every 10 sweeps
	if last := res.Trace[len(res.Trace)-1]; last.Sweep != 3 || last.Time != res.Time {
		t.Errorf("the trace ends with %+v, the run after %v", last, res.Time)
	}
}

// TestTraceOfEverySweep: H may be in different memory after each sweep, with its rows as given or padded with
// zeros. A run that ends after a sweep has the figures of that sweep in the trace of a longer run, and its H
// does not depend on whether there is a trace. A start that another method has worked on is measured where
// that method ended.
func TestTraceOfEverySweep(t *testing.T) {
	const most = 7
	low, _ := instance.LowRank(60, 8, 1)
	for name, a := range map[string]matrix.Operator{"low rank": mustDense(t, low), "sparse": mustCSR(t, looped(t, instance.RandomSparse(90, 1500, 1)))} {
		for _, r := range []int{8, 7} {
			for _, solver := range []Solver{RowBlock{}, RowBlock{NoMomentum: true}, LAI{}, LAI{NoRefine: true}, LAI{Over: ANLS{}}, CompressedCD{First: FirstLAI}, ANLS{}} {
				opt := Options{Solver: solver, Start: Random{}, Trace: true, Stop: Stop{Sweeps: most, KKT: -1}}
				long := factorize(t, a, r, opt)
				for _, p := range long.Trace[1:] {
					opt.Stop.Sweeps, opt.Trace = p.Sweep, false
					plain := factorize(t, a, r, opt)
					opt.Trace = true
					traced := factorize(t, a, r, opt)
					if !slices.Equal(plain.H.Data(), traced.H.Data()) {
						t.Errorf("%s, r = %d, %+v, %d sweeps: a trace changes H", name, r, solver, p.Sweep)
					}
					if plain.RelErr != p.RelErr || plain.KKT != p.KKT {
						t.Errorf("%s, r = %d, %+v, %d sweeps: error %v and KKT residual %v, in the trace of %d sweeps %v and %v",
							name, r, solver, p.Sweep, plain.RelErr, plain.KKT, most, p.RelErr, p.KKT)
					}
				}
			}
			opt := Options{Solver: RowBlock{}, Start: LAIStart{}, Stop: Stop{Sweeps: 1, KKT: -1}}
			worked := factorize(t, a, r, opt)
			opt.Start = Random{}
			if drawn := factorize(t, a, r, opt); worked.First.RelErr > 0.98*drawn.First.RelErr || worked.First.RelErr > 1.1*worked.RelErr {
				t.Errorf("%s, r = %d: an error of %v at random, of %v after LAI, of %v after a sweep", name, r, drawn.First.RelErr, worked.First.RelErr, worked.RelErr)
			}
		}
	}
}

// TestTraceDecidesNothing: a run with the default tolerance stops after the same sweep with a trace as
// without. A run that a limit ends where the tolerance is met counts as converged.
func TestTraceDecidesNothing(t *testing.T) {
	for _, name := range goldenNames {
		g := readGolden(t, name)
		for seed := range uint64(5) {
			opt := Options{Solver: CD{Order: Shuffle}, Start: Random{}, Seed: seed}
			a := g.forms(t)["dense"]
			plain := factorize(t, a, g.R, opt)
			opt.Trace = true
			if traced := factorize(t, a, g.R, opt); traced.Sweeps != plain.Sweeps || traced.Status != plain.Status {
				t.Errorf("%s, seed %d: %d sweeps, with a trace %d", name, seed, plain.Sweeps, traced.Sweeps)
			}
			if plain.Status != Converged {
				continue
			}
			opt.Stop.Sweeps = plain.Sweeps
			if limited := factorize(t, a, g.R, opt); limited.Status != Converged {
				t.Errorf("%s, seed %d: %v after the sweep that converges", name, seed, limited.Status)
			}
		}
	}
}

// TestTraceAt: the trace has the sweeps asked for, with the same figures as in a full trace, and also the
// start and the last sweep.
func TestTraceAt(t *testing.T) {
	g := readGolden(t, goldenNames[0])
	a := g.forms(t)["dense"]
	for _, solver := range []Solver{CD{}, RowBlock{}} {
		opt := Options{Solver: solver, Start: Random{}, Trace: true, Stop: Stop{Sweeps: 20, KKT: -1}}
		all := factorize(t, a, g.R, opt)
		var want []TracePoint
		for k, p := range all.Trace {
			if p.Sweep%4 == 3 || k == 0 || k == len(all.Trace)-1 {
				want = append(want, p)
			}
		}
		var asked []int
		opt.TraceAt = func(sweep int) bool {
			asked = append(asked, sweep)
			return sweep%4 == 3
		}
		some := factorize(t, a, g.R, opt)
		same := func(p, q TracePoint) bool { return p.Sweep == q.Sweep && p.RelErr == q.RelErr && p.KKT == q.KKT }
		if !slices.EqualFunc(some.Trace, want, same) {
			t.Errorf("%s: %v, want %v", solver.Name(), some.Trace, want)
		}
		if len(asked) != len(all.Trace)-1 || !slices.IsSorted(asked) || some.Objective != all.Objective {
			t.Errorf("%s: asked about %v, ends at %v, want %v", solver.Name(), asked, some.Objective, all.Objective)
		}
	}
}

// TestAside: in a run with a trace, work that serves only the trace is off the clock, and all other work is
// on it.
func TestAside(t *testing.T) {
	a := lowRank(t, 30, 4)
	for _, tc := range []struct {
		solver Solver
		a, all int // products with A per sweep: on the clock, and in total (but not those of the trace itself)
	}{
		{SymHALS{}, 2, 2}, {ANLS{}, 2, 2}, {SNMPBB{}, 2, 2}, {LvS{}, 2, 4}, {VBSUM{}, 0, 1}, {TSVD{CheckEvery: 1}, 0, 1}, {MU{}, 1, 1}, {AMU{}, 2, 2},
	} {
		opt := Options{Solver: tc.solver, Start: Random{}}
		p, err := newProblem(a, 3, &opt)
		if err != nil {
			t.Fatal(err)
		}
		h := matrix.NewDense(p.n, p.r, nil)
		if err := opt.Start.fill(p, h, 0); err != nil {
			t.Fatal(err)
		}
		counted := &counting{Operator: p.a}
		p.a = counted
		p.shown = newClock(time.Now)
		counted.off = &p.shown.resting
		s := tc.solver.start(p, h, 0)
		s.sweep(func() bool { return false }) // the first sweep may find eigenpairs, too
		counted.onClock, counted.all = 0, 0
		s.sweep(func() bool { return false })
		if counted.onClock != tc.a || counted.all != tc.all {
			t.Errorf("%s: %d products with A on the clock, %d in all, want %d, %d", tc.solver.Name(), counted.onClock, counted.all, tc.a, tc.all)
		}
	}
}

// counting counts products with all of A, in total and while the clock runs.
type counting struct {
	matrix.Operator
	off          *bool
	onClock, all int
}

func (c *counting) NewProduct(h *matrix.Dense, workers int) matrix.Product {
	c.all++
	if !*c.off {
		c.onClock++
	}
	return c.Operator.NewProduct(h, workers)
}

func (c *counting) NewBlockProduct(h *matrix.Dense, size int, team *kernel.Team) matrix.BlockProduct {
	return c.Operator.(matrix.BlockMultiplier).NewBlockProduct(h, size, team)
}

// TestShown: only a run with a trace has a clock to pause.
func TestShown(t *testing.T) {
	for _, trace := range []bool{false, true} {
		opt := Options{Trace: trace, Stop: Stop{Sweeps: 1}, Solver: CD{}, Start: Random{}}
		p, err := newProblem(lowRank(t, 6, 2), 2, &opt)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.run(context.Background(), &opt, 0); err != nil {
			t.Fatal(err)
		}
		if (p.shown != nil) != trace {
			t.Errorf("trace %v, clock %v", trace, p.shown)
		}
	}
}
