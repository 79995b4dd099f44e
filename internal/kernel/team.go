package kernel

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// Team is a number of goroutines that stay at hand for many short pieces of work: where Blocks takes some ten microseconds to
// bring goroutines together, a team that was at work a moment ago takes well below one. The goroutine that calls Do is one of
// its members; between calls the others watch for work for a while and then sleep. Only one goroutine may call it.
type Team struct {
	// word is the number of parts, in the upper half, and the next one nobody has taken. Both in one word: whoever exchanges it
	// for the next has a part of the call that is under way, however old its knowledge of the word is.
	word   atomic.Uint64
	f      func(part int) // written before word, and not before every part has been done
	done   atomic.Int64
	closed atomic.Bool
	rest   []restingPlace // of the members but the caller
	left   sync.WaitGroup
}

type restingPlace struct {
	asleep atomic.Bool
	wake   chan struct{}
}

const (
	partBits = 32
	partMask = 1<<partBits - 1
	// watches is how often a member looks for work before it sleeps, some 50 µs.
	watches = 30000
	// yieldEvery is how many looks pass before a member lets others run that want its processor.
	yieldEvery = 2000
)

// NewTeam returns a team of the given number of members, at least the caller. Close it.
func NewTeam(members int) *Team {
	t := &Team{rest: make([]restingPlace, max(members, 1)-1)}
	for k := range t.rest {
		t.rest[k].wake = make(chan struct{}, 1)
		t.left.Go(func() { t.member(&t.rest[k]) })
	}
	return t
}

// Members returns how many members there are.
func (t *Team) Members() int { return len(t.rest) + 1 }

// Close sends the members home; a closed team still works, with the caller alone.
func (t *Team) Close() {
	if t.closed.Swap(true) {
		return
	}
	for k := range t.rest {
		t.wake(&t.rest[k])
	}
	t.left.Wait()
	t.rest = nil
}

// Do calls f once for each part 0 ≤ part < parts, and returns when all calls have. Which member
// makes a call and when is left to chance: results that are combined in order of the parts are the same for any team. f must
// not call Do.
func (t *Team) Do(parts int, f func(part int)) {
	if parts < 0 || parts > math.MaxInt32 {
		panic(badLen)
	}
	if len(t.rest) == 0 || parts < 2 {
		for p := range parts {
			f(p)
		}
		return
	}
	t.f = f
	t.done.Store(0)
	t.word.Store(uint64(parts) << partBits)
	for k := range min(len(t.rest), parts-1) {
		t.wake(&t.rest[k])
	}
	t.work()
	for looks := 1; t.done.Load() < int64(parts); looks++ {
		if looks%yieldEvery == 0 {
			runtime.Gosched()
		}
	}
}

// work takes parts until none is left, and reports whether it had any.
func (t *Team) work() (some bool) {
	for {
		w := t.word.Load()
		next := w & partMask
		if next >= w>>partBits {
			return some
		}
		if t.word.CompareAndSwap(w, w+1) {
			t.f(int(next))
			t.done.Add(1)
			some = true
		}
	}
}

func (t *Team) wake(r *restingPlace) {
	if r.asleep.CompareAndSwap(true, false) {
		r.wake <- struct{}{}
	}
}

// member works, watches and sleeps until the team is closed.
func (t *Team) member(r *restingPlace) {
	looks := 0
	for !t.closed.Load() {
		if t.work() {
			looks = 0
			continue
		}
		looks++
		if looks%yieldEvery == 0 {
			runtime.Gosched()
		}
		if looks < watches {
			continue
		}
		looks = 0
		t.sleep(r)
	}
}

// sleep returns when the member is woken, or at once if work or the end came after its last look and nobody has woken it for that.
func (t *Team) sleep(r *restingPlace) {
	r.asleep.Store(true)
	w := t.word.Load()
	if (w&partMask < w>>partBits || t.closed.Load()) && r.asleep.CompareAndSwap(true, false) {
		return
	}
	<-r.wake
}
