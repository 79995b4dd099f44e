package symnmf

import (
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// In tests of this package all members of a team work, however little there is to do, except in the tests of
// what decides that.
func init() { pacing = false }

// pace turns pacing on for the test, as if there were 64 processors.
func pace(t *testing.T) {
	real := processors
	pacing, processors = true, func() int { return 64 }
	t.Cleanup(func() { pacing, processors = false, real })
}

// TestTeamPace: the number of members that makes blocks fastest is found, soon where that matters, and tries
// of slower sizes become rare.
func TestTeamPace(t *testing.T) {
	pace(t)
	const sweeps, large, small = 200, 1e9, 1e4
	type cost func(size, sweep int) time.Duration
	for _, c := range []struct {
		name    string
		members int
		blocks  int
		madds   float64
		cost    cost // time of a block
		start   int  // size the team begins with
		by, end int  // from sweep by on, end is the size at work
		tries   int  // most segments made by other sizes from then on
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
		{"alone is faster, where two have little to do", 2, 400, 2.4 * paceMadds, func(size, _ int) time.Duration { return time.Duration(1000 + 60*size) }, 2, 3, 1, 6},
		{"and somebody has the processors once before", 8, 40, 4.1 * paceMadds, func(size, sweep int) time.Duration {
			if sweep == 1 {
				return 9000
			}
			return map[int]time.Duration{1: 4000, 2: 2000, 4: 1000, 8: 1200}[size]
		}, 4, 0, 4, 12},
		{"and sweeps become faster by themselves", 16, 3, 2.5 * paceMadds, func(size, sweep int) time.Duration {
			return time.Duration(float64(map[int]time.Duration{1: 1300, 2: 1000, 4: 1200, 8: 1300, 16: 1400}[size]) * math.Pow(0.99, float64(sweep)))
		}, 2, 0, 2, 24},
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
		p := newTeamPace(team, c.blocks, c.madds)
		var clock time.Duration
		p.now = func() time.Duration { return clock }
		tries, last := 0, 0
		segments := map[int]bool{}
		if team.Members() != c.start {
			t.Errorf("%s: begins with %d members, want %d", c.name, team.Members(), c.start)
		}
		for sweep := range sweeps {
			p.beginSweep()
			before, settled := team.Members(), 0
			for b := range c.blocks {
				p.beginBlock(b)
				d := c.cost(team.Members(), sweep)
				if team.Members() != before {
					before, settled = team.Members(), b+max(p.blocks/4, 1)
				}
				if b < settled && p.blocks >= segmentBlocks { // members wake, and cache lines change hands
					d *= 4
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
			t.Errorf("%s: the size in the end, %d members, is at work from sweep %d on, want from %d", c.name, p.sizes[p.at], last, c.by)
		}
		if tries > c.tries {
			t.Errorf("%s: %d segments by other sizes from sweep %d on, want at most %d", c.name, tries, c.by, c.tries)
		}
		if len(segments) < min(tries, len(p.took))-1 {
			t.Errorf("%s: %d tries in only %d different segments", c.name, tries, len(segments))
		}
		team.Close()
	}
}

// TestTeamPaceSegments: a segment is about an eighth of a sweep, unless three blocks or a time that means something are
// more, or less is enough. One block is where it takes long enough.
func TestTeamPaceSegments(t *testing.T) {
	pace(t)
	team := kernel.NewTeam(2)
	defer team.Close()
	for _, c := range []struct {
		blocks int
		madds  float64 // of a block
		want   int     // blocks of a segment
	}{
		{2, 1e7, 1}, {18, 1e7, 1}, {79, 9.4e6, 1}, {79, 2*segmentMadds - 1, 4}, {80, 2e6, 8}, {800, 2e6, 8}, {160, 0.82e6, 20}, {1600, 0.82e6, 20},
		{100, 2 * paceSure, 15}, {1600, 2 * paceSure, 32}, {1600, 2*paceSure - 1, 200}, {1000, 1e5, 125},
	} {
		if got := newTeamPace(team, c.blocks, c.madds).blocks; got != c.want {
			t.Errorf("%d blocks of %g multiply–adds: segments of %d, want %d", c.blocks, c.madds, got, c.want)
		}
	}
}

// TestTeamPaceJudges: a size that is a little faster takes over once it has been so in two consecutive tries.
func TestTeamPaceJudges(t *testing.T) {
	pace(t)
	team := kernel.NewTeam(2)
	defer team.Close()
	p := newTeamPace(team, 40, 1e9)
	for k, lost := range []float64{-0.1, 0.1, -0.1, 0, -0.1, -0.02, -0.1} {
		if p.judge(0, lost); p.at != 1 {
			t.Fatalf("the size at work changes after try %d", k)
		}
	}
	if p.judge(0, -0.1); p.at != 0 {
		t.Error("faster in two consecutive tries, and not taken")
	}
}

// TestNobodyToMeasure: a team of one has a nil pace, whose methods do nothing. A clock that stands still
// decides nothing.
func TestNobodyToMeasure(t *testing.T) {
	pace(t)
	team := kernel.NewTeam(1)
	defer team.Close()
	p := newTeamPace(team, 40, 1e9)
	if p != nil {
		t.Fatalf("a team of one has pace %+v", p)
	}
	p.beginSweep()
	p.beginBlock(0)
	p.endSweep()

	two := kernel.NewTeam(2)
	defer two.Close()
	p = newTeamPace(two, 40, 1e9)
	p.now = func() time.Duration { return 0 }
	for range 100 {
		p.beginSweep()
		for b := range 40 {
			p.beginBlock(b)
		}
		p.endSweep()
	}
	if two.Members() != 2 {
		t.Errorf("%d members with a clock that stands still, want 2", two.Members())
	}
}

// TestPaceProcessors: no more members are at work than there are processors, and on one processor nothing is
// measured.
func TestPaceProcessors(t *testing.T) {
	real := processors
	pace(t)
	team := kernel.NewTeam(16)
	defer team.Close()
	processors = func() int { return 5 }
	if p := newTeamPace(team, 40, 1e9); p == nil || !slices.Equal(p.sizes, []int{1, 2, 4, 5}) || team.Members() != 5 {
		t.Errorf("16 members on 5 processors: pace %+v, %d at work", p, team.Members())
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	processors = real
	if p := newTeamPace(team, 40, 1e9); p != nil || team.Members() != 1 {
		t.Errorf("16 members on one processor: pace %+v, %d at work", p, team.Members())
	}
	runtime.GOMAXPROCS(runtime.NumCPU() + 3)
	if real() != runtime.NumCPU() {
		t.Errorf("processors returns %d, want %d", real(), runtime.NumCPU())
	}
}

// TestPaceTurns: in the first sweeps, the sizes in question make the segments in turn, as listed. Then the
// fastest is at work, if it is faster by more than paceGain, and the slower the others were, the later they
// are tried next.
func TestPaceTurns(t *testing.T) {
	pace(t)
	team := kernel.NewTeam(16)
	defer team.Close()
	for _, c := range []struct {
		blocks int
		madds  float64
		costs  map[int]time.Duration // of a block, by size
		sizes  [][]int               // that make the segments of each sweep
		end    int
		next   map[int]int // by size, after how many sweeps it is tried
	}{
		{800, 500_000, map[int]time.Duration{1: 100, 2: 60, 4: 59, 8: 45, 16: 46}, [][]int{{2, 1, 4, 8, 16, 2, 1, 4}}, 8, map[int]int{2: 8, 4: 8, 16: 4}},
		{16, 500_000, map[int]time.Duration{1: 100, 2: 60, 4: 50, 8: 45, 16: 46}, [][]int{{2, 1}, {2, 4}, {2, 8}, {2, 16}}, 8, nil},
		{8, 500_000, map[int]time.Duration{1: 100, 2: 60, 4: 50, 8: 45, 16: 46}, [][]int{{1}, {4}, {8}, {16}}, 8, nil},
		{16, 500_000, map[int]time.Duration{1: 100, 2: 60, 4: 90, 8: 95, 16: 96}, [][]int{{2, 1}, {2, 4}}, 2, map[int]int{1: 8, 4: 8}}, // larger sizes would lose more
		{8, 16 * paceLeast, map[int]time.Duration{1: 100, 2: 103, 4: 102, 8: 101, 16: 100}, [][]int{{2}, {4}, {8}, {16}}, 1, nil},
		{8, 16*paceLeast - 1, map[int]time.Duration{1: 100, 2: 103, 4: 102, 8: 101, 16: 100}, [][]int{{2}, {4}, {8}}, 1, nil},
		{800, 500_000, map[int]time.Duration{1: 60, 2: 60, 4: 59, 8: 60, 16: 61}, [][]int{{2, 1, 4, 8, 16, 2, 1, 4}}, 2, map[int]int{1: 4, 4: 4}}, // a gain of 2 % is not worth it
		{800, 500_000, map[int]time.Duration{1: 60, 2: 60, 4: 57, 8: 60, 16: 61}, [][]int{{2, 1, 4, 8, 16, 2, 1, 4}}, 4, nil},
		{800, 16*paceSure - 1, map[int]time.Duration{8: 100, 16: 104}, [][]int{{16, 8, 16, 8, 16, 8, 16, 8}}, 8, nil},
		{800, 16 * paceSure, nil, [][]int{slices.Repeat([]int{16}, 25)}, 16, nil},
		{800, 399_999, map[int]time.Duration{1: 60, 2: 65, 4: 70, 8: 60, 16: 60}, [][]int{{1, 2, 4, 8, 16, 1, 2, 4}}, 1, nil},
		{800, 400_000, map[int]time.Duration{1: 60, 2: 60, 4: 70, 8: 60, 16: 60}, [][]int{{2, 1, 4, 8, 16, 2, 1, 4}}, 2, nil},
	} {
		p := newTeamPace(team, c.blocks, c.madds)
		p.rivals[max(p.at-1, 0)].next = 1000 // no tries
		var clock time.Duration
		p.now = func() time.Duration { return clock }
		sweep := func() (sizes []int) {
			p.beginSweep()
			for b := range c.blocks {
				p.beginBlock(b)
				if c.costs != nil {
					clock += c.costs[team.Members()]
				}
				if b%p.blocks == 0 && len(sizes) < len(p.took) {
					sizes = append(sizes, team.Members())
				}
			}
			p.endSweep()
			if team.Members() != p.sizes[p.at] {
				t.Errorf("turns %v: %d members after a sweep, want %d", c.sizes, team.Members(), p.sizes[p.at])
			}
			return sizes
		}
		sweep()
		sweep()
		for k, want := range c.sizes {
			if got := sweep(); !slices.Equal(got, want) {
				t.Errorf("turns %v, sweep %d: the segments are made by %v members", c.sizes, k, got)
			}
		}
		for size, want := range c.next {
			if got := p.rivals[slices.Index(p.sizes, size)].next - (p.sweep - 1); got != want {
				t.Errorf("turns %v: %d members are tried after %d sweeps, want %d", c.sizes, size, got, want)
			}
		}
		if want := 2 + len(c.sizes); p.sweep != want {
			t.Errorf("turns %v: %d sweeps counted, want %d", c.sizes, p.sweep, want)
		}
		if p.sizes[p.at] != c.end || len(p.heats) > 0 {
			t.Errorf("turns %v: ends with %d members, want %d; heats left: %v", c.sizes, p.sizes[p.at], c.end, p.heats)
		}
	}
}

// TestPaceStalls: a size does not win because its segment took long in one of the two sweeps before, or
// because all segments of this sweep are faster.
func TestPaceStalls(t *testing.T) {
	pace(t)
	team := kernel.NewTeam(4)
	defer team.Close()
	for _, c := range []struct {
		name string
		cost func(size, sweep int) time.Duration // of a block
		// stalled is the sweep in which another process has the processors for a while, in the segments that one
		// member makes later.
		stalled int
	}{
		{"a stall two sweeps before", func(size, _ int) time.Duration { return map[int]time.Duration{1: 300, 2: 100, 4: 300}[size] }, 0},
		{"a stall in the sweep before", func(size, _ int) time.Duration { return map[int]time.Duration{1: 300, 2: 100, 4: 300}[size] }, 1},
		{"all twice as fast", func(size, sweep int) time.Duration {
			return map[int]time.Duration{1: 101, 2: 100, 4: 101}[size] * time.Duration(2-sweep/2)
		}, -1},
	} {
		p := newTeamPace(team, 800, 500_000)
		var clock time.Duration
		p.now = func() time.Duration { return clock }
		for sweep := range firstTry + 1 {
			p.beginSweep()
			for b := range 800 {
				p.beginBlock(b)
				clock += c.cost(team.Members(), sweep)
				if sweep == c.stalled && b%p.blocks == p.blocks-1 && b/p.blocks%3 == 1 {
					clock += 100_000
				}
			}
			p.endSweep()
		}
		if team.Members() != 2 {
			t.Errorf("%s: %d members make the next sweeps, want 2", c.name, team.Members())
		}
	}
}

// TestPaced: H has the same bits whoever makes the sweeps, for every kind of A. Sweeps are measured, and
// those of A are measured anew when it takes over from a low rank. Sweeps row by row are not measured.
func TestPaced(t *testing.T) {
	pace(t)
	for _, f := range operatorForms(t, 300, 2) {
		hashes := map[string]bool{}
		for _, threads := range []int{1, 2, 5} {
			hashes[instance.Hash(factorize(t, f.a, 5, Options{Solver: RowBlock{Block: 8}, Start: Random{}, Threads: threads, Stop: Stop{Sweeps: 20, KKT: -1}}).H)] = true
		}
		if len(hashes) != 1 {
			t.Errorf("%s: measuring changes H", f.name)
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
		t.Error("A is measured with the pace of the low rank")
	}
	run.sweep(never)
	if run.pace.sweep != 1 || run.pace.took == nil {
		t.Errorf("pace %+v", run.pace)
	}
}
