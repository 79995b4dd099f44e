package symnmf

import (
	"slices"
	"testing"
	"time"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// All members of a team work in tests of this package, however little there is to do, but in those of what decides that.
func init() { pacing = false }

func pace(t *testing.T) {
	pacing = true
	t.Cleanup(func() { pacing = false })
}

// TestTeamPace: whatever number of members makes a block fastest is found, soon where it tells, and tries of others that are slower become rare.
func TestTeamPace(t *testing.T) {
	pace(t)
	const sweeps, large, small = 200, 1e9, 1e4
	type cost func(size, sweep int) time.Duration
	for _, c := range []struct {
		name    string
		members int
		blocks  int
		madds   float64
		cost    cost // of a block
		start   int  // size
		by, end int  // from which sweep on only that size has been best
		tries   int  // segments by other sizes from then on, at most
	}{
		{"alone is twice as fast", 2, 40, large, func(size, _ int) time.Duration { return time.Duration(1000 * size) }, 2, 3, 1, 5},
		{"alone is a little faster", 2, 40, large, func(size, _ int) time.Duration { return time.Duration(1000 + 60*size) }, 2, 7, 1, 8},
		{"two are faster", 2, 40, large, func(size, _ int) time.Duration { return time.Duration(1800 / size) }, 2, 0, 2, 5},
		{"two are faster, at which small blocks do not begin", 2, 400, small, func(size, _ int) time.Duration { return time.Duration(1800 / size) }, 1, 3, 2, 6},
		{"one block a sweep", 2, 1, large, func(size, _ int) time.Duration { return time.Duration(1000 * size) }, 2, 3, 1, 5},
		{"as fast", 2, 40, large, func(int, int) time.Duration { return 1000 }, 2, 0, 2, 8},
		{"of sixteen four are best", 16, 40, large, func(size, _ int) time.Duration {
			return map[int]time.Duration{1: 1000, 2: 600, 4: 400, 8: 500, 16: 900}[size]
		}, 16, 20, 4, 20},
		{"of six one", 6, 40, 3.9 * paceMadds, func(size, _ int) time.Duration { return time.Duration(1000 + 100*size) }, 2, 7, 1, 14},
		{"of sixteen all, with which such blocks do not begin", 16, 400, 2.5 * paceMadds, func(size, _ int) time.Duration { return time.Duration(100 + 1800/size) }, 2, 3, 16, 5},
		{"of sixteen four, where one block is a segment", 16, 3, 2.5 * paceMadds, func(size, _ int) time.Duration {
			return map[int]time.Duration{1: 1000, 2: 600, 4: 400, 8: 500, 16: 900}[size]
		}, 2, 7, 4, 14},
		{"others come to want the processors", 2, 40, large, func(size, sweep int) time.Duration {
			if sweep > 90 && size == 2 {
				return 3000
			}
			return time.Duration(1800 / size)
		}, 2, 95, 1, 5},
		{"and have them once", 2, 40, large, func(size, sweep int) time.Duration {
			if sweep == 1 {
				return 9000
			}
			return time.Duration(1800 / size)
		}, 2, 0, 2, 6},
		{"and all is slower", 2, 40, large, func(size, sweep int) time.Duration {
			if sweep > 90 {
				return time.Duration(9000 / size)
			}
			return time.Duration(1800 / size)
		}, 2, 0, 2, 6},
		{"and so by one block a sweep", 4, 1, large, func(size, _ int) time.Duration {
			return map[int]time.Duration{1: 800, 2: 500, 4: 750}[size]
		}, 4, 3, 2, 10},
		{"two are better than four, and than one", 4, 40, large, func(size, _ int) time.Duration {
			return map[int]time.Duration{1: 600, 2: 500, 4: 1000}[size]
		}, 4, 3, 2, 14},
		{"and go", 2, 40, large, func(size, sweep int) time.Duration {
			if sweep < 100 && size == 2 {
				return 3000
			}
			return time.Duration(1800 / size)
		}, 2, 100 + mostPause + 3, 2, 5},
	} {
		team := kernel.NewTeam(c.members)
		p := newTeamPace(team, c.members, c.blocks, c.madds)
		var clock time.Duration
		p.now = func() time.Duration { return clock }
		tries, last := 0, 0
		segments := map[int]bool{}
		if team.Members() != c.start {
			t.Errorf("%s: begins with %d members, want %d", c.name, team.Members(), c.start)
		}
		for sweep := range sweeps {
			p.beginSweep()
			before := team.Members()
			for b := range c.blocks {
				p.beginBlock(b)
				d := c.cost(team.Members(), sweep)
				if team.Members() != before && p.blocks >= segmentBlocks { // lines change hands
					d *= 4
					before = team.Members()
				}
				clock += d
				if team.Members() != c.end && sweep >= c.by && b%p.blocks == 0 {
					tries++
					segments[b] = true
				}
			}
			p.endSweep()
			if p.sizes[p.at] != c.end {
				last = sweep + 1
			}
		}
		if last > c.by {
			t.Errorf("%s: %d members from sweep %d on, want from %d", c.name, p.sizes[p.at], last, c.by)
		}
		if tries > c.tries {
			t.Errorf("%s: %d segments by others from sweep %d on, want at most %d", c.name, tries, c.by, c.tries)
		}
		if len(segments) < min(tries, len(p.took))-1 {
			t.Errorf("%s: %d tries in %d segments", c.name, tries, len(segments))
		}
		team.Close()
	}
}

// TestTeamPaceJudges: a size that is a little faster takes over when it has been so twice on end.
func TestTeamPaceJudges(t *testing.T) {
	pace(t)
	team := kernel.NewTeam(2)
	defer team.Close()
	p := newTeamPace(team, 2, 40, 1e9)
	for k, lost := range []float64{-0.1, 0.1, -0.1, 0, -0.1, -0.02, -0.1} {
		if p.judge(0, lost); p.at != 1 {
			t.Fatalf("after try %d", k)
		}
	}
	if p.judge(0, -0.1); p.at != 0 {
		t.Error("twice faster, and not taken")
	}
}

// TestNobodyToMeasure: a team of one has no pace, and nothing is done for it; a clock that stands still decides nothing.
func TestNobodyToMeasure(t *testing.T) {
	pace(t)
	team := kernel.NewTeam(1)
	defer team.Close()
	p := newTeamPace(team, 2, 40, 1e9)
	if p != nil {
		t.Fatalf("%+v", p)
	}
	p.beginSweep()
	p.beginBlock(0)
	p.endSweep()

	two := kernel.NewTeam(2)
	defer two.Close()
	p = newTeamPace(two, 2, 40, 1e9)
	p.now = func() time.Duration { return 0 }
	for range 100 {
		p.beginSweep()
		for b := range 40 {
			p.beginBlock(b)
		}
		p.endSweep()
	}
	if two.Members() != 2 {
		t.Errorf("%d members", two.Members())
	}
}

// TestPaceProcessors: no more members are at work than there are processors, and on one nothing is measured.
func TestPaceProcessors(t *testing.T) {
	pace(t)
	team := kernel.NewTeam(16)
	defer team.Close()
	if p := newTeamPace(team, 5, 40, 1e9); p == nil || !slices.Equal(p.sizes, []int{1, 2, 4, 5}) || team.Members() != 5 {
		t.Errorf("of 16 on 5 processors %+v, %d at work", p, team.Members())
	}
	if p := newTeamPace(team, 1, 40, 1e9); p != nil || team.Members() != 1 {
		t.Errorf("of 16 on one processor %+v, %d at work", p, team.Members())
	}
}

// TestPaced: whoever makes sweeps the answer has the same bits, of every kind of A; and sweeps are measured, of A too after a low rank.
func TestPaced(t *testing.T) {
	pace(t)
	for _, f := range operatorForms(t, 300, 2) {
		hashes := map[string]bool{}
		for _, threads := range []int{1, 2, 5} {
			hashes[instance.Hash(factorize(t, f.a, 5, Options{Solver: RowBlock{Block: 8}, Start: Random{}, Threads: threads, Stop: Stop{Sweeps: 20, KKT: -1}}).H)] = true
		}
		if len(hashes) != 1 {
			t.Errorf("%s: measuring changes the answer", f.name)
		}
	}
	low, err := matrix.FromDense(func() *matrix.Dense { a, _ := instance.LowRank(600, 4, 1); return a }(), 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _, run := startRun(t, low, 4, RowBlock{}, Options{Start: Random{}, Threads: 2})
	defer run.end()
	never := func() bool { return false }
	run.sweep(never)
	if run.p == run.full || run.pace == nil || run.pace.sweep != 1 {
		t.Fatalf("pace %+v", run.pace)
	}
	was := run.pace
	run.alone = true
	if run.sweep(never); was.sweep != 1 {
		t.Error("a sweep row by row was measured")
	}
	run.expand()
	if run.pace == was {
		t.Error("A is measured as what took its place was")
	}
	run.sweep(never)
	if run.pace.sweep != 1 || run.pace.took == nil {
		t.Errorf("pace %+v", run.pace)
	}
}
