package symnmf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"symnmf/internal/instance"
	"symnmf/matrix"
)

// sameRuns returns what differs between two results, except for times, or "" if nothing does.
func sameRuns(a, b *Result) string {
	switch {
	case instance.Hash(a.H) != instance.Hash(b.H):
		return "H"
	case a.Run != b.Run || len(a.Runs) != len(b.Runs):
		return fmt.Sprintf("run %d of %d, and %d of %d", a.Run, len(a.Runs), b.Run, len(b.Runs))
	case a.Kicks != b.Kicks || a.Sweeps != b.Sweeps || a.Status != b.Status || a.First.RelErr != b.First.RelErr || len(a.Notes) != len(b.Notes):
		return fmt.Sprintf("%+v, %v after %d sweeps, notes %q, and %+v, %v after %d, notes %q", a.Kicks, a.Status, a.Sweeps, a.Notes, b.Kicks, b.Status, b.Sweeps, b.Notes)
	}
	for k, run := range a.Runs {
		other := b.Runs[k]
		run.Time, other.Time = 0, 0
		if run != other {
			return fmt.Sprintf("%+v and %+v", run, other)
		}
	}
	return ""
}

// TestAtOnce: runs and kicks made at once give the same result as one after another, with every method.
func TestAtOnce(t *testing.T) {
	d, _ := instance.LowRank(24, 5, 1)
	points, err := matrix.Gram(instance.Start(40, 6, 2), matrix.Rows, 2)
	if err != nil {
		t.Fatal(err)
	}
	for k, a := range []matrix.Operator{mustDense(t, d), mustCSR(t, instance.RandomSparse(50, 300, 1)), points} {
		for _, m := range Methods() {
			if testing.Short() && !slices.Contains([]string{"rowblock", "lai", "tsvd", "anls", "vbsum"}, m.Name) {
				continue
			}
			opt := Options{Solver: m.solver, Start: Random{}, Seed: 1, Runs: 5, Kicks: 4, Threads: 3, Stop: Stop{Sweeps: 100, KKT: 1e-4}}
			want, err := Factorize(context.Background(), a, 3, opt)
			if errors.Is(err, ErrUnfit) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, opt.AtOnce = range []int{2, 1000} {
				if what := sameRuns(want, factorize(t, a, 3, opt)); what != "" {
					t.Errorf("matrix %d, %s, %d at once: %s", k, m.Name, opt.AtOnce, what)
				}
			}
		}
	}
}

// TestKicksAtOnce: kicks made ahead count as they would have counted one after another, wherever a limit on
// sweeps ends them.
func TestKicksAtOnce(t *testing.T) {
	a := mustDense(t, instance.FullRank(60, 3))
	opt := Options{Solver: RowBlock{}, Start: Random{}, Seed: 6, Kicks: 25, Threads: 4, Stop: Stop{KKT: 1e-5, Sweeps: 100000}}
	want := factorize(t, a, 10, opt)
	if want.Kicks.Made != 25 || want.Kicks.Taken < 2 {
		t.Fatalf("%+v: this shows nothing", want.Kicks)
	}
	for _, opt.AtOnce = range []int{2, 3, 4} {
		if what := sameRuns(want, factorize(t, a, 10, opt)); what != "" {
			t.Errorf("%d at once: %s", opt.AtOnce, what)
		}
	}
	points := 60
	if testing.Short() {
		points = 10
	}
	run := factorize(t, a, 10, Options{Solver: RowBlock{}, Start: Random{}, Seed: 6, Stop: opt.Stop}).Sweeps
	for sweeps := run; sweeps <= want.Sweeps; sweeps += 1 + (want.Sweeps-run)/points {
		opt.AtOnce, opt.Stop.Sweeps = 1, sweeps
		want := factorize(t, a, 10, opt)
		opt.AtOnce = 4
		if what := sameRuns(want, factorize(t, a, 10, opt)); what != "" {
			t.Errorf("at most %d sweeps: %s", sweeps, what)
		}
	}
}

// TestKicksAhead: once a kick has ended lower before its turn, those after it are dropped, and the next waits
// until its turn has come. No more sweeps are reported than the limit allows, and a kick that took more than
// were left does not count.
func TestKicksAhead(t *testing.T) {
	p, err := newProblem(mustDense(t, instance.FullRank(20, 1)), 3, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	var told []Progress
	opt := &Options{Kicks: 5, Stop: Stop{Sweeps: 100}, Progress: func(now Progress) { told = append(told, now) }}
	s := &kicks{p: p, opt: opt, lanes: 2, sweeps: 80, clock: newClock(time.Now), pending: map[int]*kick{}, change: make(chan struct{}), best: &Result{RelErr: 1, scaled: 1}}
	begin := func(number int) (*kick, context.Context) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		if number > 0 {
			ctx = context.Background()
		}
		t.Cleanup(cancel)
		k, of := s.begin(ctx)
		if k == nil != (number == 0) || k != nil && (k.number != number || k.best != s.best) {
			t.Fatalf("%+v begins, want number %d from the best", k, number)
		}
		return k, of
	}
	end := func(k *kick, scaled float64, sweeps int) {
		k.res = &Result{RelErr: 1, scaled: scaled, Sweeps: sweeps}
		s.end(k)
	}
	first, ofFirst := begin(1)
	second, _ := begin(2)
	third, ofThird := begin(3)
	s.tell(second, 4)
	s.tell(first, 30)
	if len(told) != 2 || told[0].Sweep != 80 || told[1].Sweep != 100 || told[1].Kick != 1 {
		t.Errorf("Progress got %+v", told)
	}
	end(second, 0.5, 2)
	if ofThird.Err() == nil || ofFirst.Err() != nil {
		t.Errorf("after the second kick has ended lower, the first has error %v, want none, and the third %v, want one", ofFirst.Err(), ofThird.Err())
	}
	end(third, 0.1, 1)
	begin(0) // none begins: the second has ended lower, and the first is still under way
	end(first, 1, 3)
	if s.best != second.res || s.sum.Made != 2 || s.sum.Taken != 1 || s.sweeps != 85 || len(s.taken) != 1 {
		t.Errorf("%+v, %d sweeps, %+v not reported yet", s.sum, s.sweeps, s.taken)
	}
	begin(3)
	fourth, _ := begin(4)
	begin(5)
	waits := make(chan *kick)
	go func() {
		k, _ := s.begin(context.Background()) // none is left, unless one under way is taken
		waits <- k
	}()
	end(fourth, 0.5, 1)
	end(s.pending[3], 0.2, 5)
	if again := <-waits; again == nil || again.number != 4 || again.stop.Sweeps != 10 || again.best != s.best || s.sweeps != 90 {
		t.Errorf("after %d sweeps kick %+v begins, want number 4 with 10 sweeps left", s.sweeps, again)
	}
	end(s.pending[4], 0.1, 11)
	if s.sum.Made != 3 || s.sum.Taken != 2 {
		t.Errorf("%+v after a kick with more sweeps than were left, want 3 made and 2 taken", s.sum)
	}
	told = nil
	s.tell(nil, 0)
	s.sum.Made = 5
	s.tell(fourth, 1)
	if len(told) != 4 || told[0].Kick != 2 || told[1].Kick != 3 || told[2].Kick != 3 || told[3].Kick != 5 || told[1].Provisional || !told[2].Provisional {
		t.Errorf("for two kicks taken, three made and all made, Progress got %+v", told)
	}
}

// meeting is CD whose runs, or kicks, wait as they begin until as many have begun as the next number of want
// says.
type meeting struct {
	CD
	of *meetingPlace
}

type meetingPlace struct {
	want  []int
	kicks bool // kicks meet, and runs do not

	mu      sync.Mutex
	workers [][]int // of those at each meeting
	all     []chan struct{}
}

func (s meeting) start(p *problem, h *matrix.Dense, number int) run {
	if s.of.kicks != math.IsInf(p.target, 1) {
		<-s.of.enter(p.workers)
	}
	return s.CD.start(p, h, number)
}

// enter returns a channel that is closed when all have come, or after 20 seconds.
func (m *meetingPlace) enter(workers int) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := len(m.workers) - 1
	if at < 0 || len(m.workers[at]) == m.want[at] {
		at++
		all := make(chan struct{})
		m.workers, m.all = append(m.workers, nil), append(m.all, all)
		if at == len(m.want) {
			m.want = append(m.want, -1) // one more than there should be
		}
		time.AfterFunc(20*time.Second, sync.OnceFunc(func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			if len(m.workers[at]) != m.want[at] {
				close(all)
			}
		}))
	}
	if m.workers[at] = append(m.workers[at], workers); len(m.workers[at]) == m.want[at] {
		close(m.all[at])
	}
	return m.all[at]
}

// TestAtOnceTogether: as many runs or kicks are at work at once as may be, each with its share of the
// threads, and no thread is idle while runs wait.
func TestAtOnceTogether(t *testing.T) {
	a := mustDense(t, instance.FullRank(20, 1))
	turns := func(count, threads int) (want [][]int) {
		for range count {
			want = append(want, []int{threads})
		}
		return want
	}
	for _, c := range []struct {
		what  string
		opt   Options
		kicks bool
		want  [][]int // the workers of those that meet
	}{
		{"one after another", Options{Runs: 3, Threads: 8}, false, turns(3, 8)},
		{"the two that are left over first", Options{Runs: 8, AtOnce: 3, Threads: 8}, false, [][]int{{4, 4}, {2, 3, 3}, {2, 3, 3}}},
		{"no more than there are", Options{Runs: 2, AtOnce: 7, Threads: 8}, false, [][]int{{4, 4}}},
		{"no more than threads", Options{Runs: 4, AtOnce: 7, Threads: 2}, false, [][]int{{1, 1}, {1, 1}}},
		{"with a trace", Options{Runs: 3, AtOnce: 3, Threads: 8, Trace: true}, false, turns(3, 8)},
		{"with so much time each", Options{Runs: 3, AtOnce: 3, Threads: 8, Stop: Stop{Time: time.Hour}}, false, turns(3, 8)},
		{"kicks", Options{Kicks: 4, AtOnce: 2, Threads: 8, Stop: Stop{Time: time.Hour}}, true, [][]int{{4, 4}, {4, 4}}},
		{"kicks with a trace", Options{Kicks: 4, AtOnce: 2, Threads: 8, Trace: true}, true, turns(4, 8)},
		{"no more kicks than there are", Options{Kicks: 2, AtOnce: 7, Threads: 8}, true, [][]int{{4, 4}}},
		{"kicks of runs that are at once, one after another", Options{Runs: 2, Kicks: 3, AtOnce: 2, Threads: 8}, true, [][]int{{4, 4}, {4, 4}, {4, 4}}},
		{"kicks of runs", Options{Runs: 2, Kicks: 2, AtOnce: 4, Threads: 9}, true, [][]int{{2, 2, 2, 3}}},
	} {
		place := &meetingPlace{kicks: c.kicks}
		for _, meets := range c.want {
			place.want = append(place.want, len(meets))
		}
		c.opt.Solver, c.opt.Start = meeting{CD{}, place}, Random{}
		if c.kicks { // from a minimum that none of them leaves
			c.opt.Seed, c.opt.Stop.KKT = 3, 1e-4
		}
		factorize(t, a, 2, c.opt)
		for _, workers := range place.workers {
			slices.Sort(workers)
		}
		if !slices.EqualFunc(place.workers, c.want, slices.Equal) {
			t.Errorf("%s: those that met had %v threads, want %v", c.what, place.workers, c.want)
		}
	}
}

// TestAtOnceProgress: Progress gets every sweep of runs made at once, on the goroutine of the caller, and
// those of each run in order.
func TestAtOnceProgress(t *testing.T) {
	a := mustDense(t, instance.FullRank(60, 3))
	goroutine := func() string {
		b := make([]byte, 64)
		return string(b[:runtime.Stack(b, false)])[:20]
	}
	here := goroutine()
	all := 0 // kicks taken
	for _, opt := range []Options{{Runs: 7, AtOnce: 3}, {Runs: 2, Kicks: 10, AtOnce: 2}, {Runs: 2, Kicks: 20, AtOnce: 6}, {Kicks: 30, AtOnce: 4}} {
		var told []Progress
		opt.Solver, opt.Start, opt.Seed, opt.Threads, opt.Stop = RowBlock{}, Random{}, 6, 6, Stop{KKT: 1e-5, Sweeps: 20000}
		opt.Progress = func(p Progress) {
			if told = append(told, p); goroutine() != here {
				t.Error("Progress was called on another goroutine")
			}
		}
		res := factorize(t, a, 10, opt)
		last, taken := map[int]Progress{}, map[int]int{}
		for _, p := range told {
			q, before := last[p.Run]
			if before && (!(p.RelErr <= q.RelErr+1e-12) || p.Elapsed < q.Elapsed || p.Sweep < q.Sweep || p.Kick < q.Kick) {
				t.Fatalf("%d runs, %d kicks, %d at once: Progress got %+v after %+v", opt.Runs, opt.Kicks, opt.AtOnce, p, q)
			}
			if p.Kick == 0 && p.Sweep != q.Sweep+1 {
				t.Fatalf("%d runs, %d at once: Progress got %+v after %+v", opt.Runs, opt.AtOnce, p, q)
			}
			if p.Kick > 0 && !p.Provisional {
				taken[p.Run]++
			}
			if last[p.Run] = p; p.Runs != max(opt.Runs, 1) || p.Kick > opt.Kicks {
				t.Fatalf("Progress got %+v", p)
			}
		}
		for _, run := range res.Runs {
			if p := last[run.Run]; p.Sweep != run.Sweeps || !(math.Abs(p.RelErr-run.RelErr) <= 1e-9) {
				t.Errorf("%d runs, %d kicks, %d at once: %+v, but the last Progress is %+v", opt.Runs, opt.Kicks, opt.AtOnce, run, p)
			}
		}
		if kick := last[res.Run].Kick; kick != res.Kicks.Made {
			t.Errorf("%d runs, %d at once: the last Progress is of kick %d, %d were made", opt.Runs, opt.AtOnce, kick, res.Kicks.Made)
		}
		all += res.Kicks.Taken
		if most := res.Kicks.Taken; taken[res.Run] > most || most > 0 && taken[res.Run] == 0 {
			t.Errorf("%d at once: Progress reported %d kicks as taken, %d were", opt.AtOnce, taken[res.Run], most)
		}
	}
	if all < 5 {
		t.Errorf("%d kicks taken: this shows nothing", all)
	}
}

// TestTold: what another lane has reported comes before what the first lane reports after it. No lane waits
// for a first lane that has gone.
func TestTold(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	p, err := newProblem(mustDense(t, instance.FullRank(20, 1)), 3, &Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, leave := range []bool{false, true} {
		var told []int
		full := make(chan struct{})
		func() {
			defer func() {
				if what := recover(); leave != (what == "mine") {
					t.Errorf("recovered %v", what)
				}
			}()
			p.together(context.Background(), &Options{Progress: func(now Progress) { told = append(told, now.Sweep) }}, 2, func(_ context.Context, l *lane) {
				if l.first {
					if <-full; leave {
						panic("mine")
					}
					l.opt.Progress(Progress{Sweep: -1})
					return
				}
				for sweep := range toldAhead {
					l.opt.Progress(Progress{Sweep: sweep})
				}
				close(full)
				l.opt.Progress(Progress{Sweep: toldAhead})
			})
		}()
		if at := slices.Index(told, -1); !leave && (at < toldAhead || len(told) != toldAhead+2) || leave && len(told) > 0 {
			t.Errorf("the first lane leaves: %v; Progress was called %d times, for the first lane at index %d", leave, len(told), at)
		}
	}
}

// failing is Random that fails for some runs.
type failing struct {
	Random
	at    []int
	begun *atomic.Int32
}

func (s failing) fill(p *problem, h *matrix.Dense, number int) error {
	s.begun.Add(1)
	if slices.Contains(s.at, number) {
		return fmt.Errorf("run %d", number+1)
	}
	return s.Random.fill(p, h, number)
}

// TestAtOnceFails: if runs fail, the error is that of the first of them that has failed, there is no result,
// and no more runs begin. Of runs with equal objectives the first is kept.
func TestAtOnceFails(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	a := mustDense(t, instance.FullRank(20, 1))
	for _, at := range [][]int{{1}, {1, 2, 3}, {3, 7}} {
		p, err := newProblem(a, 3, &Options{Threads: 4})
		if err != nil {
			t.Fatal(err)
		}
		var begun atomic.Int32
		opt := &Options{Solver: CD{}, Start: failing{at: at, begun: &begun}, Runs: 40, AtOnce: 4, Stop: Stop{Sweeps: 1e5, KKT: -1}}
		res, err := p.best(context.Background(), opt)
		if want := fmt.Sprintf("run %d", at[0]+1); res != nil || err == nil || err.Error() != want && len(at) == 1 {
			t.Errorf("runs %v fail: result %v, error %v, want %s", at, res, err, want)
		}
		if begun.Load() == 40 {
			t.Errorf("runs %v fail, and yet all runs have begun", at)
		}
	}
	c := &contest{fail: func() {}}
	for _, number := range []int{3, 1, 2} {
		c.enter(nil, fmt.Errorf("run %d", number+1), number)
	}
	if c.err.Error() != "run 2" {
		t.Errorf("when runs 4, 2 and 3 fail, the error is %v, want that of run 2", c.err)
	}
	alike := &contest{}
	for _, number := range []int{3, 1, 2} {
		alike.enter(&Result{scaled: 1}, nil, number)
	}
	if alike.best.Run != 2 {
		t.Errorf("of runs 4, 2 and 3, which are alike, run %d is kept, want 2", alike.best.Run)
	}
}

// TestKicksFail: a kick that fails ends the run and all other kicks.
func TestKicksFail(t *testing.T) {
	defer func(v bool) { verifying = v }(verifying)
	verifying = true
	a := mustDense(t, instance.FullRank(20, 1))
	for _, atOnce := range []int{1, 3} {
		var begun atomic.Int32
		opt := Options{Solver: mistakenKicks{begun: &begun}, Start: Random{}, Kicks: 40, Threads: 3, AtOnce: atOnce}
		if res, err := Factorize(context.Background(), a, 3, opt); res != nil || !errors.Is(err, errMistaken) || begun.Load() == 0 || begun.Load() > 20 {
			t.Errorf("%d at once: %v, %v after %d kicks", atOnce, res, err, begun.Load())
		}
	}
}

// mistakenKicks is CD whose kicks never pass verification.
type mistakenKicks struct {
	CD
	begun *atomic.Int32
}

type mistakenKick struct{ run }

func (s mistakenKicks) start(p *problem, h *matrix.Dense, number int) run {
	work := s.CD.start(p, h, number)
	if math.IsInf(p.target, 1) {
		return work
	}
	s.begun.Add(1)
	return mistakenKick{work}
}

func (mistakenKick) verify() error { return errMistaken }

// panicking is CD that panics when the run with its number begins.
type panicking struct {
	CD
	number int
}

func (s panicking) start(p *problem, h *matrix.Dense, number int) run {
	if number == s.number {
		panic("mine")
	}
	return s.CD.start(p, h, number)
}

// TestAtOncePanics: a panic in any lane is passed on to the caller, and no goroutine is left behind.
func TestAtOncePanics(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	a := mustDense(t, instance.FullRank(60, 3))
	for k, opt := range []Options{
		{Solver: RowBlock{}, Runs: 5, Progress: func(p Progress) { panic("mine") }},
		{Solver: RowBlock{}, Kicks: 50, Stop: Stop{KKT: 1e-5}, Progress: func(p Progress) {
			if p.Kick > 2 {
				panic("mine")
			}
		}},
		{Solver: RowBlock{}, Runs: 5, Progress: func(p Progress) {
			if p.Run == 2 {
				panic("mine")
			}
		}},
		{Solver: panicking{number: 0}, Runs: 5}, {Solver: panicking{number: 1}, Runs: 5}, {Solver: panicking{number: 4}, Runs: 5},
	} {
		opt.Start, opt.Threads, opt.AtOnce = Random{}, 4, 4
		if opt.Stop.Sweeps = 3000; opt.Kicks == 0 {
			opt.Stop.KKT = -1
		}
		func() {
			defer func() {
				if what := recover(); what != "mine" {
					t.Errorf("case %d: recovered %v", k, what)
				}
			}()
			Factorize(context.Background(), a, 6, opt)
		}()
	}
}

// TestAtOnceInterrupted: when a call is cancelled, runs under way count and those that have not begun do not.
// The first run is made in any case, since there would be no answer without it.
func TestAtOnceInterrupted(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	a := mustDense(t, instance.FullRank(60, 3))
	for _, after := range []int{0, 5, 50} {
		ctx, cancel := context.WithCancel(context.Background())
		calls := 0
		opt := Options{Solver: CD{}, Start: Random{}, Runs: 900, Threads: 3, AtOnce: 3, Stop: Stop{Sweeps: 40, KKT: -1}, Progress: func(Progress) {
			if calls++; calls == after {
				cancel()
			}
		}}
		if after == 0 {
			cancel()
		}
		res, err := Factorize(ctx, a, 4, opt)
		if res == nil || !errors.Is(err, context.Canceled) || res.Status != Interrupted || len(res.Runs) == 0 || len(res.Runs) > 899 {
			t.Fatalf("cancelled after %d sweeps: %v, %v", after, res, err)
		}
		for k, run := range res.Runs {
			if run.Run != k+1 || run.Objective < res.Objective || after == 0 && run.Sweeps > 0 {
				t.Errorf("cancelled after %d sweeps: run %d is %+v, the best has %v", after, k+1, run, res.Objective)
			}
		}
		cancel()
	}
	ctx, cancel := context.WithCancel(context.Background())
	opt := Options{Solver: RowBlock{}, Start: Random{}, Kicks: 1 << 30, Threads: 3, AtOnce: 3, Stop: Stop{KKT: 1e-8, Sweeps: -1, Time: time.Hour}, Progress: func(p Progress) {
		if p.Kick >= 5 { // not ==: a kick may pass without a call
			cancel()
		}
	}}
	alone := factorize(t, a, 6, Options{Solver: RowBlock{}, Start: Random{}, Stop: opt.Stop})
	res, err := Factorize(ctx, a, 6, opt)
	if res == nil || !errors.Is(err, context.Canceled) || res.Status != Interrupted || res.Kicks.Made < 3 || !(res.RelErr <= alone.RelErr) {
		t.Errorf("%+v, %v; relative error of the run without kicks %v", res, err, alone.RelErr)
	}
}

// TestCommon: what all runs need is computed once, by all threads, or is known to be impossible. A
// computation that was cancelled is made again.
func TestCommon(t *testing.T) {
	d, _ := instance.LowRank(60, 20, 1)
	p, err := newProblem(mustDense(t, d), 4, &Options{Threads: 5})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	tops, lows, norms := map[*leading]bool{}, map[matrix.Operator]bool{}, map[float64]bool{}
	p.together(context.Background(), &Options{}, 3, func(_ context.Context, l *lane) {
		top, err := l.p.leading()
		_, failed := l.p.leastEigenvalue(context.Background())
		low, norm := l.p.lowRank(5, 2), l.p.norm2()
		mu.Lock()
		defer mu.Unlock()
		tops[top], lows[low.a], norms[norm] = true, true, true
		if err := cmp.Or(err, failed); err != nil || low.common.workers != 5 || low.workers != l.p.workers || low.stop != nil {
			t.Errorf("%v, %+v", err, low)
		}
	})
	if len(tops) != 1 || len(lows) != 1 || len(norms) != 1 {
		t.Errorf("three lanes have %d sets of eigenpairs, %d low ranks, %d norms", len(tops), len(lows), len(norms))
	}
	none := matrix.Compression{Power: 1}
	_, err = p.common.inPlaceOf(context.Background(), p.a, none)
	if _, again := p.common.inPlaceOf(context.Background(), p.a, none); err == nil || again != err {
		t.Errorf("a low rank that does not exist was looked for twice: %v, %v", err, again)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	other := matrix.Compression{Columns: 8}
	if low, err := p.common.inPlaceOf(cancelled, p.a, other); low != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: low rank %v, error %v", low, err)
	}
	if low, err := p.common.inPlaceOf(context.Background(), p.a, other); low == nil || err != nil {
		t.Errorf("after a cancelled search: low rank %v, error %v", low, err)
	}
}
