package symnmf

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"symnmf/internal/instance"
	"symnmf/matrix"
)

func TestKicked(t *testing.T) {
	for _, r := range []int{2, 3, 7} {
		h := instance.Start(50, r, 3)
		before := h.Clone()
		got := kicked(h, 5, 1, 2)
		if !slices.Equal(h.Data(), before.Data()) {
			t.Fatal("the H that is kicked has changed")
		}
		if again := kicked(h, 5, 1, 2); !slices.Equal(got.Data(), again.Data()) {
			t.Error("the same numbers make another kick")
		}
		if other := kicked(h, 5, 1, 3); slices.Equal(got.Data(), other.Data()) {
			t.Error("the next kick is the same")
		}
		var same, changed []int
		for j := range r {
			if slices.Equal(column(got, j), column(h, j)) {
				same = append(same, j)
			} else {
				changed = append(changed, j)
			}
		}
		if len(changed) != min(r, 3) {
			t.Fatalf("r = %d: columns %v have changed, not %v", r, changed, same)
		}
		// By definition, whichever column has which part.
		found := 0
		for _, free := range changed {
			for _, split := range changed {
				for _, joined := range changed {
					if free == split || free == joined || (split == joined) != (r == 2) {
						continue
					}
					if isKick(h, got, free, split, joined) {
						found++
					}
				}
			}
		}
		if want := 1 + 2/r; found != want { // of two columns it does not matter which has become free
			t.Errorf("r = %d: %d ways to read the change as a kick, want %d", r, found, want)
		}
	}
}

func column(h *matrix.Dense, j int) (c []float64) {
	n, _ := h.Dims()
	for i := range n {
		c = append(c, h.At(i, j))
	}
	return c
}

// isKick says whether column free of h has joined another, and the column split shares its entries with it now, in no row alike.
func isKick(h, got *matrix.Dense, free, split, joined int) bool {
	n, _ := h.Dims()
	shares := map[float64]bool{}
	for i := range n {
		kept, given := got.At(i, split), got.At(i, free)
		whole := h.At(i, split)
		if joined == split {
			whole = max(whole, h.At(i, free))
		} else if got.At(i, joined) != max(h.At(i, joined), h.At(i, free)) {
			return false
		}
		if math.Abs(kept+given-whole) > 1e-15*whole || kept < 0 || given < 0 {
			return false
		}
		shares[given/whole] = true
	}
	return len(shares) == n
}

// trapped returns three groups of ten items, of which a start leaves out the second and has two columns for the third: a local minimum.
func trapped(t *testing.T) (matrix.Operator, Given) {
	d, h := matrix.NewDense(30, 30, nil), matrix.NewDense(30, 3, nil)
	for i := range 30 {
		for j := i / 10 * 10; j < i/10*10+10; j++ {
			d.Set(i, j, 1)
		}
		switch i / 10 {
		case 0:
			h.Set(i, 0, 1)
		case 2:
			h.Set(i, 1, math.Sqrt(0.5))
			h.Set(i, 2, math.Sqrt(0.5))
		}
	}
	return mustDense(t, d), Given{h}
}

func TestKicksLeaveALocalMinimum(t *testing.T) {
	a, start := trapped(t)
	for _, s := range []Solver{RowBlock{}, CD{}, MBI{}} {
		opt := Options{Solver: s, Start: start, Stop: Stop{KKT: 1e-8, Sweeps: 2000}}
		without := factorize(t, a, 3, opt)
		if without.RelErr < 0.5 {
			t.Fatalf("%s: the start is no trap: error %v without kicks", s.Name(), without.RelErr)
		}
		opt.Kicks = 40
		with := factorize(t, a, 3, opt)
		if with.RelErr > 1e-6 || with.Status != Converged || with.KKT > 1e-8 {
			t.Errorf("%s: error %v, KKT residual %v, %v after %+v", s.Name(), with.RelErr, with.KKT, with.Status, with.Kicks)
		}
		if with.Kicks.Made != 40 || with.Kicks.Taken < 1 || with.Kicks.RelErr != without.RelErr {
			t.Errorf("%s: kicks %+v, error without them %v", s.Name(), with.Kicks, without.RelErr)
		}
		if with.Start != "given" || with.First.RelErr != without.First.RelErr {
			t.Errorf("%s: from %s with error %v, want %v", s.Name(), with.Start, with.First.RelErr, without.First.RelErr)
		}
	}
}

// TestKicksAccount: sweeps, trace and progress are of the run and its kicks together.
func TestKicksAccount(t *testing.T) {
	a := mustDense(t, instance.FullRank(60, 3))
	var told []Progress
	opt := Options{Solver: RowBlock{}, Start: Random{}, Kicks: 12, Runs: 2, L1: []float64{1e-3}, Trace: true, Stop: Stop{KKT: 1e-6, Sweeps: 5000},
		Progress: func(p Progress) { told = append(told, p) }}
	res := factorize(t, a, 6, opt)
	if res.Kicks.Made != 12 || res.Kicks.Taken == 0 || res.Kicks.RelErr <= res.RelErr {
		t.Fatalf("kicks %+v, error %v: this shows nothing", res.Kicks, res.RelErr)
	}
	for k, p := range told {
		if k > 0 && p.Run == told[k-1].Run && (p.RelErr > told[k-1].RelErr+1e-12 || p.Elapsed < told[k-1].Elapsed || p.Sweep < told[k-1].Sweep || p.Kick < told[k-1].Kick) {
			t.Fatalf("told %+v after %+v", p, told[k-1])
		}
		if p.Kick > 12 || p.Runs != 2 {
			t.Fatalf("told %+v", p)
		}
	}
	for _, run := range res.Runs {
		at := slices.IndexFunc(told, func(p Progress) bool { return p.Run == run.Run+1 })
		if at < 0 {
			at = len(told)
		}
		last := told[at-1]
		penalized := 2 * math.Sqrt(run.Objective) / res.NormA
		if last.Sweep != run.Sweeps || math.Abs(last.RelErr-penalized) > 1e-9 {
			t.Errorf("run %d: the last call has %+v, the result %+v, error with the ℓ₁ term %v", run.Run, last, run, penalized)
		}
	}
	taken := 0
	for k, p := range res.Trace[1:] {
		if q := res.Trace[k]; p.Sweep <= q.Sweep || p.Time < q.Time {
			t.Errorf("trace has %+v after %+v", p, q)
		}
		if k > 0 && p.Sweep > res.Trace[k].Sweep+1 {
			taken++
		}
	}
	if last := res.Trace[len(res.Trace)-1]; last.RelErr != res.RelErr || last.KKT != res.KKT || last.Sweep > res.Sweeps || last.Time > res.Time {
		t.Errorf("the trace ends with %+v, the result is error %v, KKT residual %v after %d sweeps", last, res.RelErr, res.KKT, res.Sweeps)
	}
	if taken < res.Kicks.Taken {
		t.Errorf("the trace has %d points after more than one sweep, %d kicks were taken", taken, res.Kicks.Taken)
	}
	opt.TraceAt = func(int) bool { return false }
	if again := factorize(t, a, 6, opt); again.Objective != res.Objective || again.Sweeps != res.Sweeps || len(again.Trace) > 2 {
		t.Errorf("with another trace: %v after %d sweeps, %d points; before %v after %d", again.Objective, again.Sweeps, len(again.Trace), res.Objective, res.Sweeps)
	}
}

// TestKicksRest: a run that has been kicked ends where the caller wants it to, though kicks do not go on that far.
func TestKicksRest(t *testing.T) {
	a := mustDense(t, instance.FullRank(60, 3))
	for _, c := range []struct {
		stop Stop
		want Status
	}{
		{Stop{KKT: 1e-10, Sweeps: 20000}, Converged},
		{Stop{KKT: -1, Sweeps: 20000, RelChange: 1e-12}, Stalled},
		{Stop{KKT: -1, Sweeps: 20000, RelChange: 1e-3}, Stalled},
		{Stop{KKT: -1, Sweeps: 40}, SweepLimit},
		{Stop{KKT: -1, Sweeps: 700}, SweepLimit},
		{Stop{KKT: 1e-10, Time: time.Nanosecond}, TimeLimit},
	} {
		opt := Options{Solver: RowBlock{}, Start: Random{}, Kicks: 8, Stop: c.stop}
		if c.stop.Sweeps == 700 {
			opt.Kicks = 1 << 40
		}
		res := factorize(t, a, 6, opt)
		if res.Status != c.want || c.stop.KKT > 0 && c.want == Converged && res.KKT > c.stop.KKT || res.Sweeps > max(c.stop.Sweeps, 1) && c.stop.Sweeps > 0 {
			t.Errorf("%+v: %v, KKT residual %v, %d sweeps, kicks %+v", c.stop, res.Status, res.KKT, res.Sweeps, res.Kicks)
		}
		switch made := res.Kicks.Made; {
		case c.stop.Sweeps == 20000 && made != 8, c.stop.Sweeps == 700 && (made == 0 || res.Sweeps != 700), c.stop.Sweeps == 40 && made != 0, c.stop.Time > 0 && made != 0:
			t.Errorf("%+v: %d kicks in %d sweeps", c.stop, made, res.Sweeps)
		}
		if c.stop.RelChange == 1e-12 { // at rest, as without kicks
			opt.Kicks, opt.Start = 0, Given{res.H}
			if after := factorize(t, a, 6, opt); res.RelErr-after.RelErr > 1e-11 {
				t.Errorf("%+v: error %v, and %v if the run goes on", c.stop, res.RelErr, after.RelErr)
			}
		}
	}
}

// TestKicksOfAllMethods: none ends higher for its kicks.
func TestKicksOfAllMethods(t *testing.T) {
	d, _ := instance.LowRank(24, 5, 1)
	a := mustDense(t, d)
	for _, m := range Methods() {
		opt := Options{Solver: m.solver, Start: Random{}, Seed: 1, Stop: Stop{Sweeps: 3000, KKT: 1e-6}}
		without := factorize(t, a, 3, opt)
		opt.Kicks = 6
		with := factorize(t, a, 3, opt)
		if without.Status != SweepLimit && with.RelErr > without.RelErr*(1+1e-5) || with.Sweeps > 3000 {
			t.Errorf("%s: error %v after %d sweeps and %+v, without kicks %v after %d", m.Name, with.RelErr, with.Sweeps, with.Kicks, without.RelErr, without.Sweeps)
		}
		for k, v := range with.H.Data() {
			if !(v >= 0) {
				t.Fatalf("%s: H[%d] = %v", m.Name, k, v)
			}
		}
	}
}

// TestKicksThreads: kicks, and which of them are taken, do not depend on the number of threads.
func TestKicksThreads(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		points, err := matrix.Gram(instance.Start(400, 30, 2), matrix.Rows, threads)
		if err != nil {
			t.Fatal(err)
		}
		for k, a := range []matrix.Operator{mustDense(t, instance.FullRank(300, 1)), points} {
			opt := Options{Solver: RowBlock{}, Start: Random{}, Kicks: 4, Threads: threads, Stop: Stop{Sweeps: 400, KKT: 1e-3}}
			res := factorize(t, a, 12, opt)
			opt.Threads = 1
			if one := factorize(t, a, 12, opt); instance.Hash(one.H) != instance.Hash(res.H) || one.Kicks != res.Kicks || one.Sweeps != res.Sweeps {
				t.Errorf("matrix %d, %d threads: %+v after %d sweeps, one thread %+v after %d", k, threads, res.Kicks, res.Sweeps, one.Kicks, one.Sweeps)
			}
			if res.Kicks.Made != 4 {
				t.Errorf("matrix %d: kicks %+v after %d sweeps: this shows nothing", k, res.Kicks, res.Sweeps)
			}
		}
	}
}

func TestKicksInterrupted(t *testing.T) {
	a, start := trapped(t)
	ctx, cancel := context.WithCancel(context.Background())
	opt := Options{Solver: CD{}, Start: start, Kicks: 1 << 30, Stop: Stop{KKT: 1e-8, Sweeps: -1, Time: time.Hour}}
	opt.Progress = func(p Progress) {
		if p.Kick == 60 {
			cancel()
		}
	}
	res, err := Factorize(ctx, a, 3, opt)
	if !errors.Is(err, context.Canceled) || res == nil || res.Status != Interrupted || res.Kicks.Made != 60 || res.RelErr > 1e-3 {
		t.Fatalf("%+v, %v", res, err)
	}
}

func TestKicksOfNothing(t *testing.T) {
	a := lowRank(t, 20, 2)
	if res := factorize(t, a, 1, Options{Kicks: 5}); res.Kicks != (KickSummary{}) {
		t.Errorf("one column: %+v", res.Kicks)
	}
	zero := mustDense(t, matrix.NewDense(4, 4, nil))
	if res := factorize(t, zero, 2, Options{Kicks: 5}); res.Kicks != (KickSummary{}) || res.Status != Converged {
		t.Errorf("A = 0: %+v", res.Kicks)
	}
}

func TestFar(t *testing.T) {
	var f falling
	for k, objective := range []float64{10, 9, 8.5, 8.4} {
		if k < 3 && f.far(0) {
			t.Errorf("far before sweep %d, when there have been fewer than two falls", k+1)
		}
		f.to(objective, 3*k+1)
	}
	// It fell by 1/6 and 1/30 a sweep: 20 sweeps may bring 3.3.
	for _, c := range []struct {
		target float64
		want   bool
	}{{5, true}, {5.2, false}, {9, false}, {math.Inf(1), false}} {
		if f.far(c.target) != c.want {
			t.Errorf("from 8.4 to %v is far: %v", c.target, !c.want)
		}
	}
}
