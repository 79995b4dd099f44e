package symnmf

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"symnmf/internal/instance"
	"symnmf/matrix"
)

// TestLAI: with each method it runs, LAI on Â alone comes to rest above the error that is reached when the
// run goes on with A, and that error does not rise. Sweeps on Â are provisional. If A has low rank, the
// sweeps on Â are those on A.
func TestLAI(t *testing.T) {
	for _, name := range []string{"fullrank60", "graph80", "text120"} {
		g := readGolden(t, name)
		a := g.forms(t)["sparse"]
		for k, over := range laiOver {
			opt := Options{Solver: LAI{Over: over, NoRefine: true, Oversample: 5}, Start: Given{g.start}, Trace: true, Stop: Stop{Sweeps: 500, KKT: 1e-6}}
			short := factorize(t, a, g.R, opt)
			if short.Status != Stalled || short.Sweeps >= 400 || len(short.Trace) != 2 || short.Trace[1].Sweep != short.Sweeps {
				t.Errorf("%s, over %s without A: %v after %d sweeps, trace %v", name, over.Name(), short.Status, short.Sweeps, short.Trace)
			}
			if k > 0 {
				opt.Solver = LAI{Over: over, Oversample: 5}
			} else {
				opt.Solver = LAI{Oversample: 5}
			}
			full := factorize(t, a, g.R, opt)
			if !(full.RelErr <= short.RelErr-5e-4) || full.Sweeps <= short.Sweeps || !(full.KKT <= short.KKT/3) {
				t.Errorf("%s, over %s: %v at error %v, KKT %v; without A %v, %v", name, over.Name(), full.Status, full.RelErr, full.KKT, short.RelErr, short.KKT)
			}
			for l, p := range full.Trace[1:] {
				if before := full.Trace[l]; !(p.RelErr <= before.RelErr+1e-13) {
					t.Errorf("%s, over %s: the error rises from %v to %v in sweep %d", name, over.Name(), before.RelErr, p.RelErr, p.Sweep)
				}
			}
			times := strings.Join(full.Times, "\n")
			if !strings.Contains(times, "the low rank in place of A, ") || !strings.Contains(times, " sweeps on the low rank took ") || strings.Contains(strings.Join(full.Notes, ""), "took") {
				t.Errorf("%s: times %q, notes %q", name, full.Times, full.Notes)
			}
		}
	}
	g := readGolden(t, "lowrank40")
	a := g.forms(t)["dense"]
	stop := Stop{Sweeps: 9, KKT: -1}
	low := factorize(t, a, g.R, Options{Solver: LAI{Over: CD{}}, Start: Given{g.start}, Stop: stop})
	cd := factorize(t, a, g.R, Options{Solver: CD{}, Start: Given{g.start}, Stop: stop})
	if d := math.Abs(low.RelErr - cd.RelErr); !(d <= 1e-9) {
		t.Errorf("rank %d: %v on the low rank, %v on A", g.R, low.RelErr, cd.RelErr)
	}
}

// TestLAIGoesBack: a start that the low rank would spoil is kept: when A takes over, at the end of a run on Â
// alone, and when the run is cut.
func TestLAIGoesBack(t *testing.T) {
	g := readGolden(t, "fullrank60")
	a := g.forms(t)["dense"]
	good := factorize(t, a, g.R, Options{Solver: CD{}, Start: Given{g.start}, Stop: Stop{Sweeps: 500}})
	for _, s := range []Solver{LAI{Oversample: 1, Power: 1}, LAI{Oversample: 1, Power: 1, NoRefine: true}, CompressedCD{First: FirstLAI}, CompressedCD{}} {
		for _, sweeps := range []int{1, 3, 300} {
			res := factorize(t, a, g.R, Options{Solver: s, Start: Given{good.H}, Stop: Stop{Sweeps: sweeps, KKT: -1}, Trace: true})
			if !(res.RelErr <= good.RelErr+1e-12) {
				t.Errorf("%+v, %d sweeps: the error goes from %v to %v", s, sweeps, good.RelErr, res.RelErr)
			}
		}
		p, h := goldenProblem(t, g, a)
		copy(h.Data(), good.H.Data())
		for k := range h.Data() {
			h.Data()[k] *= math.Sqrt(p.scale)
		}
		before := p.measure(h)
		work := s.start(p, h, 0)
		work.(beginner).begin(&before)
		calls := 0
		for range 5 {
			if work.sweep(func() bool { calls++; return calls > 9 }).cut {
				break
			}
		}
		h = work.(keeper).end()
		if after := p.measure(h); !(after.objective() <= before.objective()+1e-14) {
			t.Errorf("%+v, cut: objective %v after %v", s, after.objective(), before.objective())
		}
	}
}

// TestLAIStart: the start by LAI covers at least 85 % of the way from the random start to the lower bound,
// depends on the seed, and is the best multiple of itself.
func TestLAIStart(t *testing.T) {
	for _, name := range goldenNames {
		g := readGolden(t, name)
		a := g.forms(t)["sparse"]
		stop := Stop{Sweeps: 1, KKT: -1}
		random := factorize(t, a, g.R, Options{Solver: CD{}, Start: Random{}, Stop: stop}).First
		lai := factorize(t, a, g.R, Options{Solver: CD{}, Start: LAIStart{}, Stop: stop}).First
		if !(lai.RelErr <= g.SpectralBound+0.15*(random.RelErr-g.SpectralBound)) {
			t.Errorf("%s: error %v at random, %v with lai, the bound is %v", name, random.RelErr, lai.RelErr, g.SpectralBound)
		}
		if other := factorize(t, a, g.R, Options{Solver: CD{}, Start: LAIStart{}, Stop: stop, Seed: 1}).First; other.RelErr == lai.RelErr {
			t.Errorf("%s: another seed gives the same start", name)
		}
		// With the diagonal ignored, the start is made on a low rank without a diagonal.
		ignore := Options{Solver: CD{}, Start: LAIStart{}, Stop: stop, IgnoreDiagonal: true}
		lai = factorize(t, a, g.R, ignore).First
		ignore.Start = Random{}
		if random = factorize(t, a, g.R, ignore).First; !(lai.RelErr <= random.RelErr) {
			t.Errorf("%s without its diagonal: error %v at random, %v with lai", name, random.RelErr, lai.RelErr)
		}
		p, _ := goldenProblem(t, g, a)
		if p.ignoreDiag = true; slices.Max(p.lowRank(5, 2).diag) != 0 {
			t.Errorf("%s: a low rank has a diagonal where that of A is ignored", name)
		}
		p, _ = goldenProblem(t, g, a)
		h := matrix.NewDense(g.N, g.R, nil)
		if err := (LAIStart{}).fill(p, h, 0); err != nil {
			t.Fatal(err)
		}
		again := h.Clone()
		p.rescale(again)
		for k, v := range again.Data() {
			if !(math.Abs(v-h.Data()[k]) <= 1e-7) {
				t.Fatalf("%s: rescaling changes H[%d] from %v to %v", name, k, h.Data()[k], v)
			}
		}
	}
}

// TestLowRankOnce: all runs share one low rank, another size has another one, and the problem of a low rank
// has none of its own.
func TestLowRankOnce(t *testing.T) {
	a, _ := instance.LowRank(50, 20, 1)
	p, err := newProblem(mustDense(t, a), 4, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	near := p.lowRank(6, 2)
	if p.lowRank(6, 2).a != near.a || len(p.spent) != 1 {
		t.Errorf("the low rank was computed again; times %q", p.spent)
	}
	if other := p.lowRank(7, 2); other.a == near.a || other.compressed(5) != other {
		t.Error("two sizes share one low rank, or a low rank has one of its own")
	}
	if near.norm != p.norm || near.a == p.a || near.n != p.n || near.common == p.common {
		t.Errorf("the problem of the low rank is %+v", near)
	}
	for number := range 2 {
		res, err := p.run(context.Background(), &Options{Solver: LAI{}, Start: Random{}, Stop: Stop{Sweeps: 200}}, number)
		if err != nil || strings.Count(strings.Join(res.Times, "\n"), " sweeps on the low rank took ") != 1 {
			t.Errorf("run %d: times %q, %v", number, res.Times, err)
		}
	}
	opt := Options{Solver: LAI{}, Runs: 3, Stop: Stop{Sweeps: 30}}
	res := factorize(t, mustDense(t, a), 4, opt)
	if len(res.Runs) != 3 || res.Start != "random" || !slices.ContainsFunc(res.Times, func(s string) bool { return strings.HasPrefix(s, "the low rank in place of A") }) {
		t.Errorf("%d runs from %s, times of the one kept %q", len(res.Runs), res.Start, res.Times)
	}
}

// TestLowRankRefused: tsvd, pgncg, lai and compressed refuse what they cannot take, with an error that says
// what to take instead or what is wrong. Their knobs parse.
func TestLowRankRefused(t *testing.T) {
	a := lowRank(t, 12, 3)
	hollow := mustDense(t, matrix.NewDense(2, 2, []float64{0, 1, 1, 0}))
	for _, c := range []struct {
		name string
		a    matrix.Operator
		opt  Options
		want error
		says string
	}{
		{"tsvd without diagonal", a, Options{Solver: TSVD{}, IgnoreDiagonal: true}, ErrUnfit, "use rowblock or cd-cyclic"},
		{"tsvd with l1", a, Options{Solver: TSVD{}, L1: []float64{1}}, ErrUnfit, "use rowblock or cd-cyclic"},
		{"tsvd, negative period", a, Options{Solver: TSVD{CheckEvery: -1}}, ErrOption, "CheckEvery"},
		{"pgncg without diagonal", a, Options{Solver: PGNCG{}, IgnoreDiagonal: true}, ErrUnfit, "use rowblock or cd-cyclic"},
		{"pgncg with l1", a, Options{Solver: PGNCG{}, L1: []float64{1}}, ErrUnfit, "use rowblock or cd-cyclic"},
		{"pgncg from zero", a, Options{Solver: PGNCG{}, Start: Zero{}}, ErrUnfit, "start at random"},
		{"pgncg, negative steps", a, Options{Solver: PGNCG{CG: -1}}, ErrOption, "CG"},
		{"lai without diagonal", a, Options{Solver: LAI{}, IgnoreDiagonal: true}, ErrUnfit, "use rowblock or cd-cyclic"},
		{"lai over pgncg with l1", a, Options{Solver: LAI{Over: PGNCG{}}, L1: []float64{1}}, ErrUnfit, "use rowblock or cd-cyclic"},
		{"lai over rowblock from zero on a zero diagonal", hollow, Options{Solver: LAI{}, Start: Zero{}}, ErrUnfit, "start at random"},
		{"lai over a method that wants A formed", a, Options{Solver: LAI{Over: Residual{}}}, ErrOption, "cd-residual"},
		{"lai, negative columns", a, Options{Solver: LAI{Oversample: -1}}, ErrOption, "Oversample"},
		{"compressed without diagonal", a, Options{Solver: CompressedCD{}, IgnoreDiagonal: true}, ErrUnfit, "use rowblock or cd-cyclic"},
		{"compressed, no such stage", a, Options{Solver: CompressedCD{First: 2}}, ErrOption, "First"},
	} {
		res, err := Factorize(context.Background(), c.a, 2, c.opt)
		if !errors.Is(err, c.want) || res != nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for method, sets := range map[string][]map[string]string{
		"tsvd":       {{"check-every": "0"}},
		"pgncg":      {{"cg": "0"}},
		"lai":        {{"over": "cd-residual"}, {"oversample": "0"}, {"power": "0"}, {"refine": "some"}},
		"compressed": {{"first": "zero"}, {"turns": "0"}},
	} {
		for _, set := range sets {
			if s, err := ParseSolver(method, set); !errors.Is(err, ErrOption) {
				t.Errorf("%s with %v: %+v, %v", method, set, s, err)
			}
		}
	}
	for _, c := range []struct {
		method string
		set    map[string]string
		want   Solver
	}{
		{"tsvd", map[string]string{"check-every": "3"}, TSVD{CheckEvery: 3}},
		{"pgncg", map[string]string{"cg": "7"}, PGNCG{CG: 7}},
		{"lai", map[string]string{"over": "pgncg", "oversample": "4", "power": "1", "refine": "no"}, LAI{Over: PGNCG{}, Oversample: 4, Power: 1, NoRefine: true}},
		{"compressed", map[string]string{"first": "lai", "turns": "9"}, CompressedCD{First: FirstLAI, Turns: 9}},
	} {
		if got, err := ParseSolver(c.method, c.set); err != nil || got != c.want {
			t.Errorf("%s with %v: %+v, %v", c.method, c.set, got, err)
		}
	}
}

// TestCompressedStages: the sweeps of CompressedCD are those of CD from the H at which TSVD, or LAI on a low
// rank, ends. A note gives the time of the first stage.
func TestCompressedStages(t *testing.T) {
	g := readGolden(t, "text120")
	a := g.forms(t)["gram of sparse rows"]
	turned := factorize(t, a, g.R, Options{Solver: TSVD{}, Stop: Stop{Sweeps: 7, KKT: -1}}).H
	low := factorize(t, a, g.R, Options{Solver: LAI{NoRefine: true}, Start: Given{g.start}, Stop: Stop{KKT: -1}}).H
	for _, c := range []struct {
		solver Solver
		start  Start
		then   *matrix.Dense
	}{{CompressedCD{Turns: 7}, nil, turned}, {CompressedCD{First: FirstLAI}, Given{g.start}, low}} {
		opt := Options{Solver: c.solver, Start: c.start, Stop: Stop{Sweeps: 3, KKT: -1}}
		got := factorize(t, a, g.R, opt)
		want := factorize(t, a, g.R, Options{Solver: CD{}, Start: Given{c.then}, Stop: opt.Stop})
		if d := math.Abs(got.RelErr - want.RelErr); !(d <= 1e-14) {
			t.Errorf("%+v: error %v, the two methods one after the other %v", c.solver, got.RelErr, want.RelErr)
		}
		if !slices.ContainsFunc(got.Times, func(s string) bool { return strings.HasPrefix(s, "the first stage took ") }) {
			t.Errorf("%+v: times %q", c.solver, got.Times)
		}
	}
}

// TestLAITakesWhereHIs: the method that LAI runs may leave H in other memory than it was given. LAI hands on
// that H whenever it publishes it, when it ends on the low rank, and to a caller who wants it in place.
func TestLAITakesWhereHIs(t *testing.T) {
	const n, r = 60, 8
	a := mustDense(t, instance.FullRank(n, 1))
	elsewhere, ended := 0, 0
	for sweeps := 1; sweeps <= 60; sweeps++ {
		for _, refine := range []bool{true, false} {
			p, h, other := startRun(t, a, r, RowBlock{Compress: NoCompression}, Options{Start: Random{}})
			other.end()
			s := LAI{NoRefine: !refine}.start(p, h, 0).(*laiRun)
			first := p.measure(h)
			s.begin(&first)
			var inner *rowBlockRun
			for range sweeps {
				if inner != nil && s.work == nil && !refine {
					break
				}
				s.sweep(never)
				if s.work != nil {
					inner = s.work.(*rowBlockRun)
				}
			}
			if s.work == nil { // it has just left the low rank
				ended++
				if !slices.Equal(s.h.Data(), inner.hv) {
					t.Fatalf("%d sweeps, refined %t: on leaving the low rank, H is not that of the method it ran", sweeps, refine)
				}
				continue
			}
			if sweeps%3 == 0 && !slices.Equal(s.publish().Data(), inner.hv) {
				t.Fatalf("%d sweeps, refined %t: the H published is not that of the method it ran", sweeps, refine)
			}
			if got := s.end(); !slices.Equal(got.Data(), inner.hv) {
				t.Fatalf("%d sweeps, refined %t: the answer is not the H of the method it ran", sweeps, refine)
			} else if got != h {
				elsewhere++
			}
		}
	}
	if elsewhere == 0 || ended == 0 {
		t.Errorf("%d answers in other memory and %d runs that had left the low rank, want some of each", elsewhere, ended)
	}
	moved := 0
	for seed := range uint64(6) {
		opt := Options{Start: Random{}, Seed: seed}
		p, h, other := startRun(t, a, r, RowBlock{Compress: NoCompression}, opt)
		other.end()
		s := LAI{NoRefine: true}.start(p, h.Clone(), 0).(*laiRun)
		given, first := s.h, p.measure(h)
		s.begin(&first)
		for s.near != nil {
			s.sweep(never)
		}
		want := s.end()
		if want != given {
			moved++
		}
		if p.lai(h, 0, never); !slices.Equal(h.Data(), want.Data()) {
			t.Errorf("seed %d: the H of LAI is not in the memory where it was wanted", seed)
		}
	}
	if moved == 0 {
		t.Error("LAI always ends in the memory it was given")
	}
}
