package symnmf

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"symnmf/internal/instance"
	"symnmf/matrix"
)

// TestKicked: a kick leaves its H alone, is a function of its numbers, and changes at most three columns. By
// definition, one of them joins another, and a third is split between itself and the column that has become
// free.
func TestKicked(t *testing.T) {
	for _, r := range []int{2, 3, 7} {
		h := instance.Start(50, r, 3)
		before := h.Clone()
		got := kicked(h, 5, 1, 2)
		if !slices.Equal(h.Data(), before.Data()) {
			t.Fatal("the H that is kicked has changed")
		}
		if again := kicked(h, 5, 1, 2); !slices.Equal(got.Data(), again.Data()) {
			t.Error("two kicks with the same numbers differ")
		}
		if other := kicked(h, 5, 1, 3); slices.Equal(got.Data(), other.Data()) {
			t.Error("two kicks with different numbers are the same")
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
			t.Fatalf("r = %d: columns %v have changed, and %v have not", r, changed, same)
		}
		// Some assignment of the three parts to the columns changed must be a kick by definition.
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
		if want := 1 + 2/r; found != want { // with two columns, either may be the one that has become free
			t.Errorf("r = %d: %d ways to read the change as a kick, want %d", r, found, want)
		}
	}
}

// column returns a copy of column j of h.
func column(h *matrix.Dense, j int) (c []float64) {
	n, _ := h.Dims()
	for i := range n {
		c = append(c, h.At(i, j))
	}
	return c
}

// isKick reports whether column free of h has joined column joined, and column split now shares its entries
// with column free, in a different proportion in each row.
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
		if !(math.Abs(kept+given-whole) <= 1e-15*whole) || kept < 0 || given < 0 {
			return false
		}
		shares[given/whole] = true
	}
	return len(shares) == n
}

// trapped returns three groups of ten items and a start that is a local minimum: it leaves out the second
// group and has two columns for the third.
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

// TestKicksLeaveALocalMinimum: kicks lead out of a local minimum to an exact factor. The result converges,
// counts its kicks, has the error without them in Kicks, and keeps the start of the run.
func TestKicksLeaveALocalMinimum(t *testing.T) {
	a, start := trapped(t)
	for _, s := range []Solver{RowBlock{}, CD{}, MBI{}} {
		opt := Options{Solver: s, Start: start, Stop: Stop{KKT: 1e-8, Sweeps: 2000}}
		without := factorize(t, a, 3, opt)
		if !(without.RelErr >= 0.5) {
			t.Fatalf("%s: the start is no local minimum: relative error %v without kicks", s.Name(), without.RelErr)
		}
		opt.Kicks = 40
		with := factorize(t, a, 3, opt)
		if !(with.RelErr <= 1e-6) || with.Status != Converged || !(with.KKT <= 1e-8) {
			t.Errorf("%s: relative error %v, KKT residual %v, %v after %+v", s.Name(), with.RelErr, with.KKT, with.Status, with.Kicks)
		}
		if with.Kicks.Made != 40 || with.Kicks.Taken < 1 || with.Kicks.RelErr != without.RelErr {
			t.Errorf("%s: kicks %+v, want 40 made and some taken; relative error without them %v", s.Name(), with.Kicks, without.RelErr)
		}
		if with.Start != "given" || with.First.RelErr != without.First.RelErr {
			t.Errorf("%s: from %s with relative error %v, want given with %v", s.Name(), with.Start, with.First.RelErr, without.First.RelErr)
		}
	}
}

// TestKicksAccount: sweeps, times, trace and progress are those of a run together with its kicks. TraceAt
// sees their sweeps as one increasing sequence, and the trace always ends with the result.
func TestKicksAccount(t *testing.T) {
	a := mustDense(t, instance.FullRank(60, 3))
	var told []Progress
	const every, rest = 50, time.Millisecond
	opt := Options{Solver: RowBlock{}, Start: Random{}, Kicks: 12, Runs: 2, L1: []float64{1e-3}, Trace: true, Stop: Stop{KKT: 1e-6, Sweeps: 5000},
		Progress: func(p Progress) {
			if told = append(told, p); len(told)%every == 0 {
				time.Sleep(rest)
			}
		}}
	began := time.Now()
	res := factorize(t, a, 6, opt)
	took := time.Since(began)
	if res.Kicks.Made != 12 || res.Kicks.Taken == 0 || res.Kicks.RelErr <= res.RelErr {
		t.Fatalf("kicks %+v, relative error %v: this shows nothing", res.Kicks, res.RelErr)
	}
	if res.Start != "random" || res.First.RelErr != res.Trace[0].RelErr {
		t.Errorf("from %s with relative error %v, the trace begins with %+v", res.Start, res.First.RelErr, res.Trace[0])
	}
	slept := time.Duration(len(told)/every) * rest
	if all := res.Runs[0].Time + res.Runs[1].Time; all > took-slept {
		t.Errorf("calls took %v at least of %v, and the runs %v", slept, took, all)
	}
	for k, p := range told {
		if k > 0 && p.Run == told[k-1].Run && (!(p.RelErr <= told[k-1].RelErr+1e-12) || p.Elapsed < told[k-1].Elapsed || p.Sweep < told[k-1].Sweep || p.Kick < told[k-1].Kick) {
			t.Fatalf("Progress got %+v after %+v", p, told[k-1])
		}
		if p.Kick > 12 || p.Runs != 2 {
			t.Fatalf("Progress got %+v", p)
		}
	}
	for _, run := range res.Runs {
		at := slices.IndexFunc(told, func(p Progress) bool { return p.Run == run.Run+1 })
		if at < 0 {
			at = len(told)
		}
		last := told[at-1]
		penalized := 2 * math.Sqrt(run.Objective) / res.NormA
		if last.Sweep != run.Sweeps || !(math.Abs(last.RelErr-penalized) <= 1e-9) {
			t.Errorf("run %d: the last Progress is %+v, the result %+v, its relative error with the ℓ₁ term %v", run.Run, last, run, penalized)
		}
	}
	taken := 0
	for _, p := range told {
		if p.Run == res.Run && p.Kick > 0 && !p.Provisional {
			taken++
		}
	}
	if taken != res.Kicks.Taken {
		t.Errorf("Progress reported %d kicks as taken, %d were", taken, res.Kicks.Taken)
	}
	beyond := 0 // points after the run without kicks
	for k, p := range res.Trace[1:] {
		if q := res.Trace[k]; p.Sweep <= q.Sweep || p.Time < q.Time {
			t.Errorf("trace has %+v after %+v", p, q)
		} else if p.Sweep > q.Sweep+1 {
			beyond++
		}
	}
	if beyond != res.Kicks.Taken && beyond != res.Kicks.Taken+1 {
		t.Errorf("%d points of the trace are more than one sweep after the one before, %d kicks were taken", beyond, res.Kicks.Taken)
	}
	begun, before := 0, math.MaxInt
	for _, at := range []func(int) bool{nil, func(sweep int) bool {
		if sweep <= before {
			begun++
		}
		before = sweep
		return false
	}} {
		opt.TraceAt = at
		again := factorize(t, a, 6, opt)
		if again.Objective != res.Objective || again.Sweeps != res.Sweeps {
			t.Errorf("repeated, the run ends at %v after %d sweeps, at first %v after %d", again.Objective, again.Sweeps, res.Objective, res.Sweeps)
		}
		last := again.Trace[len(again.Trace)-1]
		if last.Sweep != again.Sweeps || last.RelErr != again.RelErr || last.KKT != again.KKT || last.Time > again.Time {
			t.Errorf("the trace ends with %+v, the result has relative error %v, KKT residual %v after %d sweeps", last, again.RelErr, again.KKT, again.Sweeps)
		}
		if at != nil && len(again.Trace) > 3 { // the start, the end of the run without kicks, the end
			t.Errorf("the trace has points that TraceAt declined: %+v", again.Trace)
		}
		if at != nil && begun != 2 {
			t.Errorf("TraceAt saw %d increasing sequences of sweeps in 2 runs", begun)
		}
	}
}

// TestKicksLimits: limits count for a run together with its kicks. The status is that of the run or kick that
// H comes from.
func TestKicksLimits(t *testing.T) {
	a := mustDense(t, instance.FullRank(60, 3))
	for _, c := range []struct {
		stop Stop
		want Status
		made int // kicks; −1 for some, but not all
	}{
		{Stop{KKT: 1e-8, Sweeps: 20000}, Converged, 8},
		{Stop{KKT: -1, Sweeps: 20000, RelChange: 1e-4}, Stalled, 8},
		{Stop{KKT: 1e-8, Sweeps: 40}, SweepLimit, 0},
		{Stop{KKT: 1e-5, Sweeps: 300}, Converged, -1},
		{Stop{KKT: 1e-5, Sweeps: 300, Time: time.Hour}, Converged, -1},
		{Stop{KKT: 1e-8, Time: time.Nanosecond}, TimeLimit, 0},
	} {
		opt := Options{Solver: RowBlock{}, Start: Random{}, Kicks: 8, Stop: c.stop}
		if c.made < 0 {
			opt.Kicks = 1 << 30
		}
		res := factorize(t, a, 6, opt)
		if made := res.Kicks.Made; res.Status != c.want || made != c.made && !(c.made < 0 && made > 1 && res.Sweeps == c.stop.Sweeps) {
			t.Errorf("%+v: %v, %d kicks in %d sweeps", c.stop, res.Status, made, res.Sweeps)
		}
		if res.Status == Converged && !(res.KKT <= c.stop.KKT) {
			t.Errorf("%+v: KKT residual %v", c.stop, res.KKT)
		}
	}
	for limit := 10 * time.Millisecond; ; limit *= 2 { // until it leaves time for a kick
		began := time.Now()
		res := factorize(t, a, 6, Options{Solver: RowBlock{}, Start: Random{}, Kicks: 1 << 30, Stop: Stop{Sweeps: -1, Time: limit}})
		if took := time.Since(began); res.Time > took || limit > time.Minute {
			t.Fatalf("the call took %v with a limit of %v, %v by the clock of the run, %+v", took, limit, res.Time, res.Kicks)
		}
		if res.Kicks.Made > 0 {
			break
		}
	}
}

// TestKicksLeft: a kick may take what the run and the kicks so far have left of a time limit.
func TestKicksLeft(t *testing.T) {
	now := time.Unix(0, 0)
	s := &kicks{opt: &Options{Stop: Stop{Time: 10 * time.Second}}, before: 4 * time.Second, clock: newClock(func() time.Time { return now })}
	for _, c := range []struct{ at, left time.Duration }{{0, 6 * time.Second}, {5 * time.Second, time.Second}, {6 * time.Second, 0}} {
		now = time.Unix(0, 0).Add(c.at)
		if stop, more := s.left(); stop.Time != c.left || more != (c.left > 0) {
			t.Errorf("after %v: %v left, more kicks: %v", c.at, stop.Time, more)
		}
	}
	s.opt.Stop.Time = 0
	if stop, more := s.left(); stop.Time != 0 || !more {
		t.Errorf("without a limit: %v left, more kicks: %v", stop.Time, more)
	}
}

// TestKicksOfAllMethods: no method ends at a higher objective for its kicks.
func TestKicksOfAllMethods(t *testing.T) {
	d, _ := instance.LowRank(24, 5, 1)
	a := mustDense(t, d)
	for _, m := range Methods() {
		opt := Options{Solver: m.solver, Start: Random{}, Seed: 1, Stop: Stop{Sweeps: 3000, KKT: 1e-6}}
		without := factorize(t, a, 3, opt)
		opt.Kicks = 6
		with := factorize(t, a, 3, opt)
		if !(with.Objective <= without.Objective) || with.Kicks.RelErr != without.RelErr || with.Sweeps > 3000 {
			t.Errorf("%s: relative error %v after %d sweeps and %+v, without kicks %v after %d", m.Name, with.RelErr, with.Sweeps, with.Kicks, without.RelErr, without.Sweeps)
		}
		for k, v := range with.H.Data() {
			if !(v >= 0) {
				t.Fatalf("%s: H[%d] = %v", m.Name, k, v)
			}
		}
	}
}

// TestKicksNotes: notes of a kick that is taken carry its number, and the times stay those of the run before the kicks.
func TestKicksNotes(t *testing.T) {
	a, start := trapped(t)
	calls := 0
	opt := Options{Solver: told{calls: &calls}, Start: start, Kicks: 40, Stop: Stop{KKT: 1e-8, Sweeps: 2000}}
	with := factorize(t, a, 3, opt)
	var of []string
	for _, note := range with.Notes {
		if strings.HasPrefix(note, "kick ") {
			of = append(of, note)
		}
	}
	if with.Kicks.Taken == 0 || len(of) != with.Kicks.Taken || with.Notes[0] != "an end" || !slices.Equal(with.Times, []string{"start 1 took 0s"}) {
		t.Errorf("%d kicks taken, notes %q, times %q", with.Kicks.Taken, with.Notes, with.Times)
	}
}

// told is CD with a note and a time for every run and every kick, which it counts.
type told struct {
	CD
	calls *int
}

func (s told) start(p *problem, h *matrix.Dense, number int) run {
	p.note("an end")
	*s.calls++
	p.took(0, "start %d", *s.calls)
	return s.CD.start(p, h, number)
}

// TestKicksOfRunsDiffer: two runs that end alike are kicked in different ways.
func TestKicksOfRunsDiffer(t *testing.T) {
	s := &kickedAlike{kicks: map[string]bool{}}
	for number := range 2 {
		p, err := newProblem(mustDense(t, instance.FullRank(20, 1)), 3, &Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.search(context.Background(), &Options{Solver: s, Start: Given{instance.Start(20, 3, 1)}, Kicks: 5, Stop: Stop{Sweeps: 1000}}, number); err != nil {
			t.Fatal(err)
		}
	}
	if s.made != 10 || len(s.kicks) != 10 {
		t.Errorf("%d kicks from %d starts, want 10 each", s.made, len(s.kicks))
	}
}

// kickedAlike is CD that records the H each kick begins with.
type kickedAlike struct {
	CD
	made  int
	kicks map[string]bool
}

func (s *kickedAlike) start(p *problem, h *matrix.Dense, number int) run {
	if !math.IsInf(p.target, 1) {
		s.made++
		s.kicks[instance.Hash(h)] = true
	}
	return s.CD.start(p, h, number)
}

// TestKicksBeginWhereTheyEnd: a start from an answer is the H that Given makes of it, in the units of the
// problem.
func TestKicksBeginWhereTheyEnd(t *testing.T) {
	a := mustDense(t, instance.FullRank(20, 1))
	p, err := newProblem(a.Scaled(1e8), 3, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	h, want := matrix.NewDense(20, 3, nil), matrix.NewDense(20, 3, nil)
	given := Given{filled(20, 3, 1e4)}
	if err := errors.Join(given.fill(p, want, 0), again{given}.fill(p, h, 0)); err != nil || !slices.Equal(h.Data(), want.Data()) || h.At(0, 0) == given.H.At(0, 0) {
		t.Errorf("H[0,0] = %v, want %v (%v)", h.At(0, 0), want.At(0, 0), err)
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

// TestKicksInterrupted: a cancelled run returns its best H so far with the status Interrupted, no worse than
// the run without kicks, and counts the kick under way.
func TestKicksInterrupted(t *testing.T) {
	a, start := trapped(t)
	ctx, cancel := context.WithCancel(context.Background())
	opt := Options{Solver: CD{}, Start: start, Kicks: 1 << 30, Stop: Stop{KKT: 1e-8, Sweeps: -1, Time: time.Hour}}
	last := 0
	opt.Progress = func(p Progress) {
		if last = p.Kick; p.Kick == 3 {
			cancel()
		}
	}
	res, err := Factorize(ctx, a, 3, opt)
	if !errors.Is(err, context.Canceled) || res == nil || res.Status != Interrupted || res.Runs[0].Status != Interrupted || res.Kicks.Made != 3 || last != 3 {
		t.Fatalf("%+v, %v", res, err)
	}
	if alone := factorize(t, a, 3, Options{Solver: CD{}, Start: start, Stop: opt.Stop}); !(res.RelErr <= alone.RelErr) {
		t.Errorf("relative error %v, of the run without kicks %v", res.RelErr, alone.RelErr)
	}
}

// TestKicksTheSameAgain: a kick that comes to the same minimum is not taken, although it may be lower in the
// last digits.
func TestKicksTheSameAgain(t *testing.T) {
	a := mustDense(t, instance.FullRank(60, 3))
	opt := Options{Solver: RowBlock{}, Start: Random{}, Kicks: 30, Stop: Stop{KKT: 1e-6, Sweeps: 5000}}
	if res := factorize(t, a, 2, opt); res.Kicks.Made != 30 || res.Kicks.Taken != 0 || res.RelErr != res.Kicks.RelErr {
		t.Errorf("relative error %v, kicks %+v, want 30 made and none taken", res.RelErr, res.Kicks)
	}
}

// TestKicksOfNothing: there are no kicks with one column, with A = 0, or from an error at its rounding floor.
func TestKicksOfNothing(t *testing.T) {
	a := lowRank(t, 20, 2)
	if res := factorize(t, a, 1, Options{Kicks: 5}); res.Kicks != (KickSummary{}) {
		t.Errorf("one column: %+v", res.Kicks)
	}
	zero := mustDense(t, matrix.NewDense(4, 4, nil))
	if res := factorize(t, zero, 2, Options{Kicks: 5}); res.Kicks != (KickSummary{}) || res.Status != Converged {
		t.Errorf("A = 0: %+v", res.Kicks)
	}
	one := mustDense(t, matrix.NewDense(2, 2, []float64{1, 0, 0, 1})) // A = I is its own factor, up to the rounding of the error
	if res := factorize(t, one, 2, Options{Kicks: 5, Start: Given{matrix.NewDense(2, 2, []float64{1, 0, 0, 1})}}); res.Kicks.Made != 0 {
		t.Errorf("relative error %v, with a floor of %v: %+v, want no kicks", res.RelErr, res.ErrFloor, res.Kicks)
	}
}

// TestKickedZero: if there is a column of zeros, it is the one that becomes free, and the column split is not
// one of zeros.
func TestKickedZero(t *testing.T) {
	for _, zeros := range [][]int{{0}, {1, 2}, {0, 1, 3}} {
		h := instance.Start(10, 4, 3)
		for i := range 10 {
			for _, j := range zeros {
				h.Set(i, j, 0)
			}
		}
		for k := range uint64(20) {
			got := kicked(h, 5, k)
			left := 0
			for j := range 4 {
				if !slices.ContainsFunc(column(got, j), func(v float64) bool { return v > 0 }) {
					left++
				}
			}
			if left != len(zeros)-1 {
				t.Fatalf("columns %v are zero, after kick %d there are %d, want one fewer", zeros, k, left)
			}
		}
	}
	if h := matrix.NewDense(3, 2, nil); slices.Max(kicked(h, 1).Data()) != 0 {
		t.Error("a kick of H = 0 is not zero")
	}
}

// TestFar: a run is far from its target if 20 sweeps like the better of the last two would not reach it. It
// then ends as Stalled, without being asked whether another kind of sweep would help. A run without a target
// goes on.
func TestFar(t *testing.T) {
	var f falling
	for k, objective := range []float64{10, 9, 8.5, 8.4} {
		if k < 3 && f.far(0) {
			t.Errorf("far before objective %d, when there have been fewer than two falls", k+1)
		}
		f.to(objective, 3*k+1)
	}
	// It fell by 1/6 and 1/30 a sweep, so 20 sweeps may bring 3.3.
	for _, c := range []struct {
		target float64
		want   bool
	}{{5, true}, {5.2, false}, {9, false}, {math.Inf(1), false}} {
		if f.far(c.target) != c.want {
			t.Errorf("from 8.4 to %v is far: %v", c.target, !c.want)
		}
	}
	f.to(8.6, 11)
	f.to(8.8, 12)
	if !f.far(8.7) || f.far(8.9) {
		t.Error("while the objective rises, want it far from what is below it, and not from what is above")
	}
	// A run that is far from its target ends, while others go on.
	a := mustDense(t, instance.FullRank(60, 3))
	p, err := newProblem(a, 6, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	for target, most := range map[float64]int{0: 30, math.Inf(1): 2000} {
		p.target = target
		res, err := p.run(context.Background(), &Options{Solver: RowBlock{}, Start: Random{}, Stop: Stop{Sweeps: 2000, KKT: 1e-12}}, 0)
		if err != nil || res.Sweeps > most || most > 1000 && res.Sweeps < 100 || target == 0 && res.Status != Stalled {
			t.Errorf("target %v: %v after %d sweeps, %v", target, res.Status, res.Sweeps, err)
		}
	} // Nor is it asked whether another kind of sweep would help it.
	low, err := newProblem(lowRank(t, 60, 10), 4, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &doubted{}
	low.target = 0
	if res, err := low.run(context.Background(), &Options{Solver: s, Start: Random{}, Stop: Stop{Sweeps: 2000, KKT: 1e-12}}, 0); err != nil || res.Status != Stalled || s.asked > 0 {
		t.Errorf("%v after %d sweeps, %v; asked for a doubt %d times, want 0", res.Status, res.Sweeps, err, s.asked)
	}
}

// doubted is RowBlock that counts how often its runs are asked whether they doubt their end.
type doubted struct {
	RowBlock
	asked int
}

func (s *doubted) start(p *problem, h *matrix.Dense, number int) run {
	return doubtedRun{s.RowBlock.start(p, h, number).(*rowBlockRun), s}
}

type doubtedRun struct {
	*rowBlockRun
	of *doubted
}

func (s doubtedRun) doubt() bool {
	s.of.asked++
	return s.rowBlockRun.doubt()
}
