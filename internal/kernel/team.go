package kernel

import (
	"math"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
)

// Team is a group of goroutines that stay at hand for many short pieces of work. Blocks takes some ten
// microseconds to bring goroutines together; a team that was at work a moment ago takes well below one. The
// goroutine that calls Do is one of its members. Between calls the other members watch for work for a while
// and then sleep. Only one goroutine may call a team.
//
// Neighboring parts go to the same member, so that a member finds in its own cache what it wrote in the call
// before. A member takes parts of another only after it has had none of its own for a while: a part taken
// away pulls its data out of the other member's cache, and the next call pulls them back.
type Team struct {
	closed atomic.Bool
	shares []share        // one for each member, the caller's first
	rest   []restingPlace // of the members but the caller
	left   sync.WaitGroup
	most   atomic.Int32 // number of members that share the calls and help each other
	_      LinesApart
	called int64 // parts of all calls so far; kept apart from the fields above, which members that watch for work read
	_      LinesApart
}

// LinesApart lies between what one member of a team writes and what others read or write at the same time. A
// cache line that changes hands costs as much time as some hundred multiply–adds of vectors, whichever of its
// bytes are wanted. It is two lines long because processors fetch lines in pairs.
type LinesApart [128]byte

// FarApart is how many numbers lie between the places that different members of a team write with long
// strides, such as the rows of a product by tiles. Nothing is ever stored in that gap. But processors that
// prefetch along such strides take cache lines away from each other over a distance: Zen 5 over up to 32 KiB.
const FarApart = 1 << 12

// Sum is a sum computed by one part of the work, in cache lines of its own.
type Sum struct {
	Value float64
	_     LinesApart
}

// Total adds up sums in order.
func Total(sums []Sum) (total float64) {
	for k := range sums {
		total += sums[k].Value
	}
	return total
}

// share is what a member and the caller tell each other. What the caller says is in one cache line. The
// answer is in another, which the caller watches without disturbing the member. The lines that processors
// fetch together with these two are empty.
type share struct {
	// word holds the end of the member's parts of a call, the next part that nobody has taken, and how many
	// parts may be taken at a time. All three are in one word, so that whoever exchanges it for its successor
	// gets parts of the call that is under way, however long ago it read the word.
	word atomic.Uint64
	f    func(part int)     // written before word, after all parts of the previous call are done
	run  func(from, to int) // takes the place of f in calls of DoUneven
	_    [104]byte
	done atomic.Int64 // parts the member has done in all calls
	_    [120]byte
}

// partBits is how many bits of a word the end and the next part take each. The remaining bits, above them,
// hold how many parts may be taken at a time.
const (
	partBits = 26
	partMask = 1<<partBits - 1
	mostRun  = 1<<(64-2*partBits) - 1
)

// open splits a word into the next part, the end, and how many parts may be taken at a time.
func open(word uint64) (next, end, most uint64) {
	return word & partMask, word >> partBits & partMask, word >> (2 * partBits)
}

// take returns parts that nobody has taken: several to be done with run, or one to be done with f.
func (s *share) take() (from, to int, ok bool) {
	for {
		w := s.word.Load()
		next, end, most := open(w)
		if next >= end {
			return 0, 0, false
		}
		count := min(most, end-next)
		if s.word.CompareAndSwap(w, w+count) {
			return int(next), int(next + count), true
		}
	}
}

func (s *share) empty() bool {
	next, end, _ := open(s.word.Load())
	return next >= end
}

type restingPlace struct {
	asleep atomic.Bool
	wake   chan struct{}
}

const (
	// watches is how many times a member looks for work before it sleeps; they take some 50 µs.
	watches = 30000
	// yieldEvery is after how many looks a member lets others run that want its processor.
	yieldEvery = 2000
	// helpEvery is after how many looks, about 2 µs, a member without parts of its own looks for parts of
	// others.
	helpEvery = 1000
)

// NewTeam returns a team of the given number of members, of which there is at least one, the caller. The team
// must be closed.
func NewTeam(members int) *Team {
	members = max(members, 1)
	t := &Team{shares: make([]share, members), rest: make([]restingPlace, members-1)}
	t.Use(members)
	for k := range t.rest {
		t.rest[k].wake = make(chan struct{}, 1)
		t.left.Go(func() { t.member(k + 1) })
	}
	return t
}

// Members returns among how many members calls are divided.
func (t *Team) Members() int { return min(int(t.most.Load()), len(t.rest)+1) }

// Use divides later calls among the given number of members, including the caller, or among all if the team
// has fewer. The other members sleep meanwhile.
func (t *Team) Use(members int) {
	if most := int32(min(max(members, 1), math.MaxInt32)); most != t.most.Load() { // all members read it
		t.most.Store(most)
	}
}

// Close ends the members' goroutines. A closed team still works, with the caller alone.
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

// Do calls f once for each part 0 ≤ part < parts, and returns when all calls have returned. Which member
// makes a call, and when, is left to chance; results that are combined in order of the parts are the same for
// any team. f must not call Do or DoUneven.
func (t *Team) Do(parts int, f func(part int)) {
	if parts < 0 || parts > partMask {
		panic(badLen)
	}
	members := t.Members()
	if members == 1 || parts < 2 {
		for p := range parts {
			f(p)
		}
		return
	}
	t.called += int64(parts)
	each, more := parts/members, parts%members
	for k := min(members, parts) - 1; k >= 0; k-- { // the caller's last, so that the others have begun
		from := k*each + min(k, more)
		to := from + each
		if k < more {
			to++
		}
		t.shares[k].f, t.shares[k].run = f, nil
		t.give(k, from, to, 1)
	}
	t.join()
}

// DoUneven calls f for runs of parts from ≤ part < to, none longer than most, which together make up 0 ≤ part
// < parts. It returns when all calls have returned. before(p) is the amount of work, in any unit, in the
// parts before p: each member gets a range of neighboring parts with about as much work as any other
// member's. Which parts a call gets is left to chance, too. f must not call Do or DoUneven.
func (t *Team) DoUneven(parts, most int, before func(part int) int64, f func(from, to int)) {
	if parts < 0 || parts > partMask || most < 1 || most > mostRun {
		panic(badLen)
	}
	members := int64(t.Members())
	if members == 1 || parts < 2 {
		for p := 0; p < parts; p += most {
			f(p, min(p+most, parts))
		}
		return
	}
	t.called += int64(parts)
	first, all := before(0), before(parts)-before(0)
	for k, to := members-1, parts; k >= 0; k-- {
		from := 0
		if k > 0 {
			from = nearest(to, first+all/members*k+all%members*k/members, before)
		}
		t.shares[k].f, t.shares[k].run = nil, f
		t.give(int(k), from, to, most)
		to = from
	}
	t.join()
}

// nearest returns the part p ≤ most for which before(p) comes closest to work.
func nearest(most int, work int64, before func(part int) int64) int {
	p := sort.Search(most, func(p int) bool { return before(p) >= work })
	if p > 0 && work-before(p-1) < before(p)-work {
		p--
	}
	return p
}

// give hands member k the parts from ≤ part < to, of which no more than most may be taken at a time.
func (t *Team) give(k, from, to, most int) {
	t.shares[k].word.Store(uint64(most)<<(2*partBits) | uint64(to)<<partBits | uint64(from))
	if k > 0 && from < to {
		t.wake(&t.rest[k-1])
	}
}

// join works on what has been given until all of it is done.
func (t *Team) join() {
	t.work(0, 0)
	for looks := 1; t.done() < t.called; looks++ {
		if looks%helpEvery == 0 {
			t.help(0)
		}
		if looks%yieldEvery == 0 {
			runtime.Gosched()
		}
	}
}

func (t *Team) done() (sum int64) {
	for k := range t.shares {
		sum += t.shares[k].done.Load()
	}
	return sum
}

// help does what is left of the shares of members other than k, and reports whether anything was left.
func (t *Team) help(k int) (some bool) {
	for ahead := 1; ahead < len(t.shares); ahead++ {
		if t.work(k, (k+ahead)%len(t.shares)) {
			some = true
		}
	}
	return some
}

// work has member k do what is left of a share, and reports whether anything was left.
func (t *Team) work(k, of int) bool {
	s, parts := &t.shares[of], int64(0)
	for from, to, ok := s.take(); ok; from, to, ok = s.take() {
		if s.run != nil {
			s.run(from, to)
		} else {
			s.f(from)
		}
		parts += int64(to - from)
	}
	if parts > 0 {
		t.shares[k].done.Add(parts)
	}
	return parts > 0
}

func (t *Team) wake(r *restingPlace) {
	if r.asleep.CompareAndSwap(true, false) {
		r.wake <- struct{}{}
	}
}

// member is the loop of member k: it works, watches and sleeps until the team is closed.
func (t *Team) member(k int) {
	r, looks := &t.rest[k-1], 0
	for !t.closed.Load() {
		if looks++; !t.shares[k].empty() && t.work(k, k) || looks%helpEvery == 0 && k < int(t.most.Load()) && t.help(k) {
			looks = 0
			continue
		}
		if looks%yieldEvery == 0 {
			runtime.Gosched()
		}
		if looks < watches {
			continue
		}
		looks = 0
		t.sleep(k, r)
	}
}

// sleep returns when the member is woken. It returns at once if work came, or the team was closed, after the
// member's last look and nobody has woken the member for that.
func (t *Team) sleep(k int, r *restingPlace) {
	r.asleep.Store(true)
	some := t.closed.Load()
	for of := range t.shares {
		some = some || (of == k || k < int(t.most.Load())) && !t.shares[of].empty()
	}
	if some && r.asleep.CompareAndSwap(true, false) {
		return
	}
	<-r.wake
}
