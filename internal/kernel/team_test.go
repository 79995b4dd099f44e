package kernel

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestTeam: every part of a call has been done exactly once when the call returns, whether members were awake
// or asleep.
func TestTeam(t *testing.T) {
	for _, members := range []int{0, 1, 2, 3, 8} {
		team := NewTeam(members)
		if got := team.Members(); got != max(members, 1) {
			t.Errorf("%d members, want %d", got, max(members, 1))
		}
		for call := range 2000 {
			if call%500 == 499 {
				time.Sleep(2 * time.Millisecond) // members fall asleep
			}
			parts := call % 17
			count := make([]int, parts)
			var total atomic.Int64
			team.Do(parts, func(p int) {
				count[p]++ // a race if a part is done twice
				total.Add(int64(p))
			})
			for p, c := range count {
				if c != 1 {
					t.Fatalf("%d members, call %d: part %d of %d done %d times", members, call, p, parts, c)
				}
			}
			if want := int64(parts * (parts - 1) / 2); parts > 0 && total.Load() != want {
				t.Fatalf("%d members, call %d: sum of parts %d, want %d", members, call, total.Load(), want)
			}
		}
		team.Close()
		team.Close()
		done := false
		team.Do(1, func(int) { done = true })
		if !done {
			t.Error("a closed team does not do a part")
		}
	}
}

// TestTeamUneven: every part of a call is in exactly one run of parts, and no run is longer than allowed.
// This holds whatever the parts' work, and with other calls in between.
func TestTeamUneven(t *testing.T) {
	for _, members := range []int{1, 2, 3, 8} {
		team := NewTeam(members)
		rng := rand.New(rand.NewPCG(uint64(members), 1))
		for call := range 2000 {
			parts, most := rng.IntN(40), 1+rng.IntN(20)
			before := make([]int64, parts+1) // begins with any number; some parts have no work
			before[0] = rng.Int64N(100)
			for p := range parts {
				before[p+1] = before[p] + rng.Int64N(3)*rng.Int64N(100)
			}
			count := make([]int, parts)
			team.DoUneven(parts, most, func(p int) int64 { return before[p] }, func(from, to int) {
				if to-from < 1 || to-from > most {
					panic("a run of too few or too many parts")
				}
				for p := from; p < to; p++ {
					count[p]++ // a race if a part is done twice
				}
			})
			for p, c := range count {
				if c != 1 {
					t.Fatalf("%d members, call %d: part %d of %d done %d times", members, call, p, parts, c)
				}
			}
			if call%3 == 0 {
				var total atomic.Int64
				if team.Do(parts, func(p int) { total.Add(1) }); total.Load() != int64(parts) {
					t.Fatalf("%d members, call %d: %d parts done of %d", members, call, total.Load(), parts)
				}
			}
		}
		team.Close()
	}
	for _, c := range []struct{ parts, most int }{{2, 0}, {2, mostRun + 1}, {-1, 1}, {partMask + 1, 1}} {
		if panics(func() { NewTeam(1).DoUneven(c.parts, c.most, func(int) int64 { return 0 }, func(int, int) {}) }) == nil {
			t.Errorf("%d parts, %d at a time: no panic", c.parts, c.most)
		}
	}
	for _, parts := range []int{-1, partMask + 1} {
		if panics(func() { NewTeam(1).Do(parts, func(int) {}) }) == nil {
			t.Errorf("%d parts: no panic", parts)
		}
	}
}

// TestNearest: shares end where the work of the parts before is nearest to what it should be.
func TestNearest(t *testing.T) {
	before := []int64{10, 10, 14, 20, 21, 50}
	for work, want := range map[int64]int{0: 0, 10: 0, 11: 1, 12: 2, 13: 2, 16: 2, 17: 3, 18: 3, 20: 3, 21: 4, 35: 4, 36: 5, 50: 5, 99: 5} {
		if got := nearest(5, work, func(p int) int64 { return before[p] }); got != want {
			t.Errorf("work %d: part %d, want %d", work, got, want)
		}
	}
	if got := nearest(2, 40, func(p int) int64 { return before[p] }); got != 2 {
		t.Errorf("part %d, want 2, the last one allowed", got)
	}
}

// TestTeamUse: the parts of a call are dealt out to as many members as Use says. If that is only the caller,
// it does all parts in order.
func TestTeamUse(t *testing.T) {
	team := NewTeam(3)
	defer team.Close()
	for range 20 {
		team.Use(0)
		var order []int
		team.Do(50, func(p int) { order = append(order, p) })
		for p, got := range order {
			if got != p {
				t.Fatalf("part %d in place %d", got, p)
			}
		}
		if len(order) != 50 || team.Members() != 1 {
			t.Fatalf("%d parts of 50 done by %d members", len(order), team.Members())
		}
		for _, members := range []int{2, 3, 9} {
			team.Use(members)
			var count atomic.Int64
			team.Do(50, func(int) { count.Add(1) })
			team.DoUneven(40, 3, func(p int) int64 { return int64(p) }, func(from, to int) { count.Add(int64(to - from)) })
			if count.Load() != 90 || team.Members() != min(members, 3) {
				t.Fatalf("%d parts of 90 done by %d members", count.Load(), team.Members())
			}
		}
	}
	// The other members do not help, even if awake, and fall asleep while a call goes on. The calls here last
	// until that has been seen.
	for range 5 {
		team.Use(2)
		team.wake(&team.rest[1])
		before := team.shares[2].done.Load()
		asleep, seen := false, make(chan struct{})
		team.Do(40, func(p int) {
			switch p {
			case 0: // a part of the caller
				looks := 0 // in a row that saw it asleep: a member about to sleep may look asleep for a moment
				for began := time.Now(); looks < 50 && time.Since(began) < 10*time.Second; time.Sleep(100 * time.Microsecond) {
					if looks++; !team.rest[1].asleep.Load() {
						looks = 0
					}
				}
				asleep = looks == 50
				close(seen)
			case 20: // a part of the second member
				<-seen
			}
		})
		if did := team.shares[2].done.Load() - before; did > 0 || !asleep {
			t.Fatalf("the third member of two did %d parts, asleep %t", did, asleep)
		}
	}
	// Shares are given out only to the members that are to be used.
	team.Use(2)
	for k := range team.shares {
		team.shares[k].word.Store(0)
	}
	team.Do(10, func(int) {})
	team.DoUneven(10, 1, func(p int) int64 { return int64(p) }, func(int, int) {})
	if w := team.shares[2].word.Load(); w != 0 {
		t.Errorf("the third member of two was given %x", w)
	}
}

// TestTeamShares: a part that waits for another to run at the same time does not wait in vain, not even if
// the other member was asleep.
func TestTeamShares(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("one processor")
	}
	team := NewTeam(2)
	defer team.Close()
	for call := range 100 {
		if call%20 == 19 {
			time.Sleep(5 * time.Millisecond)
		}
		var there, alone atomic.Int64
		team.Do(2, func(int) {
			there.Add(1)
			for looks := 0; there.Load() < 2; looks++ {
				if looks < 1000 {
					runtime.Gosched()
				} else if looks < 2000 {
					time.Sleep(10 * time.Millisecond)
				} else {
					alone.Add(1)
					return
				}
			}
		})
		if alone.Load() > 0 {
			t.Fatalf("call %d: a part waited in vain for the other", call)
		}
	}
}

// TestTeamHelps: if a part holds up a member, be it the caller or the other one, its next part is done by the
// other of the two.
func TestTeamHelps(t *testing.T) {
	team := NewTeam(2)
	defer team.Close()
	for _, held := range []int{0, 2} { // the first of the caller's two parts, and of the other's
		var next atomic.Bool
		team.Do(4, func(part int) {
			switch part {
			case held + 1:
				next.Store(true)
			case held:
				for start := time.Now(); !next.Load(); runtime.Gosched() {
					if time.Since(start) > 10*time.Second {
						t.Errorf("part %d is left to the member that is held up by part %d", held+1, held)
						return
					}
				}
			}
		})
	}
}

// TestTeamSleep: a member about to sleep does not if a part, or the end of the team, has come in the
// meantime. Otherwise it sleeps until it is woken.
func TestTeamSleep(t *testing.T) {
	for _, c := range []struct {
		name        string
		parts, next uint64
		closed      bool
		stays       bool
	}{
		{"a part is left", 2, 1, false, true},
		{"the team is closed", 2, 2, true, true},
		{"nothing is left", 2, 2, false, false},
		{"nothing has been yet", 0, 0, false, false},
	} {
		team, r, back := &Team{shares: make([]share, 2)}, restingPlace{wake: make(chan struct{}, 1)}, make(chan struct{})
		team.shares[1].word.Store(c.parts<<partBits | c.next)
		team.closed.Store(c.closed)
		go func() {
			team.sleep(1, &r)
			close(back)
		}()
		for !c.stays && !r.asleep.Load() {
			runtime.Gosched()
		}
		if !c.stays {
			select {
			case <-back:
				t.Errorf("%s: it does not sleep", c.name)
			case <-time.After(time.Millisecond):
			}
			team.wake(&r)
		}
		select {
		case <-back:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: it sleeps on", c.name)
		}
		if r.asleep.Load() {
			t.Errorf("%s: it is awake but counts as asleep", c.name)
		}
	}
}

// TestTeamCloses: no goroutine of a closed team is left behind.
func TestTeamCloses(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 50 {
		team := NewTeam(4)
		team.Do(8, func(int) {})
		team.Close()
	}
	after := runtime.NumGoroutine()
	for looks := 0; after > before && looks < 1000; looks++ { // one that has reported its end may not be gone yet
		time.Sleep(time.Millisecond)
		after = runtime.NumGoroutine()
	}
	if after > before {
		t.Errorf("%d goroutines, %d before the first team", after, before)
	}
}

// BenchmarkTeam measures the cost of a call with two parts that do nothing, for a team and for Blocks.
func BenchmarkTeam(b *testing.B) {
	team := NewTeam(2)
	defer team.Close()
	b.Run("team", func(b *testing.B) {
		for range b.N {
			team.Do(2, func(int) {})
		}
	})
	b.Run("blocks", func(b *testing.B) {
		for range b.N {
			Blocks(2, 1, 2, func(int, int, int) {})
		}
	})
}
