package symnmf

import (
	"math"
	"runtime"
	"slices"
	"time"

	"symnmf/internal/kernel"
)

// teamPace finds how many members of a team make the blocks of a sweep fastest. Members that share little
// work between meetings can take longer than fewer members would. That depends on how far apart their caches
// are, on whether their processors are alike, and on what else these have to do, which changes. The answer
// has the same bits whoever computes it.
//
// A sweep is cut into segments of blocks. Where the best size is in doubt, one or a few of the first sweeps
// are made in turn, segment by segment, by the size at work, the next smaller and all larger ones that have
// enough to do. Later, one segment is now and then made by half as many members, or twice as many, and its time
// is compared with that of the same segment in the sweeps before and after. A nil teamPace measures nothing.
type teamPace struct {
	team   *kernel.Team
	sizes  []int // possible sizes of the team: 1, 2, 4, … and all members
	at     int   // index of the size that makes most segments
	rivals []rival
	blocks int // in a segment

	sweep  int
	plan   []int           // for each segment of the sweep under way, the index of the size that makes it
	heats  []heat          // the sizes to compare with that at work, while the best is in doubt
	inTurn bool            // whether the heats take turns in the sweep under way
	try    int             // index of the size tried in this sweep, or −1
	tried  int             // the same for the last sweep, whose try is not judged yet
	where  int             // segment of the try at work, or of the last one
	took   []time.Duration // of each segment in the sweep under way
	before []time.Duration // of the last one
	ago    []time.Duration // and of the one before that
	usual  time.Duration   // of that segment before the last try
	least  time.Duration   // of a whole sweep at the size at work
	now    func() time.Duration
	began  time.Duration
}

// rival is what is known of a size other than the one at work.
type rival struct {
	wins  int // consecutive tries in which it was faster
	next  int // the sweep of the next try
	pause int // sweeps between tries
}

// heat is a size that is compared with the one the team began with. lost is how much more time its segments
// took, as a logarithm, relative to what each segment took in the sweeps before.
type heat struct {
	size int // its index
	lost float64
	done bool
}

const (
	// paceMadds is the least number of multiply–adds of a block for each member of the size to begin with.
	// From paceSure on there is little doubt that all members are fastest.
	paceMadds = 200_000
	paceSure  = 250_000
	// With fewer than paceLeast, a member has less to do than a meeting takes, so larger teams are left out
	// of the comparison at the beginning.
	paceLeast = 12_000
	// A segment has at least segmentMadds, some 200 µs, so that its time is meaningful, and at least
	// segmentBlocks blocks. The first quarter of them, at least one, is not measured: after a change in the
	// number of members, some have to wake, and cache lines have to change hands. Beyond that, an eighth of a
	// sweep is enough. Where there is little doubt, so are enoughMadds for each member, some 0.4 ms, and where a
	// block has segmentMadds for each member, so is that block, measured whole: what a slower size takes longer is
	// lost.
	segmentMadds  = 4_000_000
	segmentBlocks = 3
	fewSegments   = 8
	enoughMadds   = 8_000_000

	firstTry   = 2 // sweep, from 0: the sweeps before it do more than others
	leastPause = 2 // sweeps
	mostPause  = 64
	// All are logarithms. paceGain is by how much another size has to be faster, twice in a row; paceLeap is
	// by how much once is enough. paceLoss is how much slower than the fastest sweep one has to be for tries
	// to come at once. One turn says no more than paceLost about when the next try should be.
	paceGain = 0.03
	paceLeap = 0.35
	paceLoss = 0.35
	paceLost = 0.3
)

// pacing is whether teams are measured. Tests that want all members at work clear it.
var pacing = true

// processors returns how many members can be at work at once. Tests set it higher.
var processors = func() int { return min(runtime.GOMAXPROCS(0), runtime.NumCPU()) }

// newTeamPace gives the team the size that such blocks seem to want, which is at most the number of
// processors. It returns nil if only one member can be at work, or if pacing is off: then all members are.
func newTeamPace(team *kernel.Team, blocks int, blockMadds float64) *teamPace {
	team.Use(math.MaxInt)
	if !pacing {
		return nil
	}
	team.Use(processors())
	members := team.Members()
	if members == 1 {
		return nil
	}
	epoch := time.Now()
	p := &teamPace{team: team, try: -1, tried: -1, now: func() time.Duration { return time.Since(epoch) }}
	for size := 1; size < members; size *= 2 {
		p.sizes = append(p.sizes, size)
	}
	p.sizes = append(p.sizes, members)
	for p.at+1 < len(p.sizes) && blockMadds >= paceMadds*float64(p.sizes[p.at+1]) {
		p.at++
	}
	of := func(madds float64) int { return int(math.Ceil(madds / blockMadds)) } // blocks
	sure, enough := blockMadds >= paceSure*float64(members), kernel.BlockCount(blocks, fewSegments)
	if sure {
		enough = min(enough, of(enoughMadds*float64(members)))
	}
	p.blocks = max(segmentBlocks, of(segmentMadds), enough)
	if blockMadds >= segmentMadds*float64(members) {
		p.blocks = 1
	}
	p.blocks = kernel.BlockCount(blocks, max(blocks/p.blocks, 1))
	segments := max(blocks/p.blocks, 1) // the last has the remaining blocks, too
	p.plan = make([]int, segments)
	p.took, p.before, p.ago = make([]time.Duration, segments), make([]time.Duration, segments), make([]time.Duration, segments)
	p.rivals = make([]rival, len(p.sizes))
	p.meet(firstTry)
	if !sure {
		for k, size := range p.sizes {
			if k == p.at-1 || k > p.at && blockMadds >= paceLeast*float64(size) {
				p.heats = append(p.heats, heat{size: k})
			}
		}
	}
	team.Use(p.sizes[p.at])
	return p
}

// meet forgets what is known of other sizes. They are tried from the given sweep on.
func (p *teamPace) meet(next int) {
	for k := range p.rivals {
		p.rivals[k] = rival{next: next, pause: leastPause}
	}
	p.least = math.MaxInt64
}

// beginSweep decides what is tried.
func (p *teamPace) beginSweep() {
	if p == nil {
		return
	}
	p.team.Use(p.sizes[p.at]) // whatever the last sweep left behind
	p.try, p.inTurn = -1, false
	for k := range p.plan {
		p.plan[k] = p.at
	}
	if p.tried >= 0 {
		return // its segment is measured once more
	}
	if len(p.heats) > 0 {
		p.takeTurns()
		return
	}
	for _, k := range [...]int{p.at - 1, p.at + 1} {
		if k >= 0 && k < len(p.sizes) && p.try < 0 && p.sweep >= p.rivals[k].next {
			p.try = k
		}
	}
	if p.try >= 0 {
		p.where = (p.where + 1) % len(p.took)
		p.plan[p.where] = p.try
	}
}

// takeTurns deals the segments of a sweep out to the heats that have had none and, if there are several
// segments, to the size at work.
func (p *teamPace) takeTurns() {
	if p.sweep < firstTry {
		return
	}
	var open []int
	if len(p.plan) > 1 {
		open = append(open, p.at)
	}
	for _, h := range p.heats {
		if !h.done && len(open) < len(p.plan) {
			open = append(open, h.size)
		}
	}
	for k := range p.plan {
		p.plan[k] = open[k%len(open)]
	}
	p.inTurn = true
}

// endTurns chooses the size for the sweeps to come, once all heats have had their turn: the fastest, if it is
// faster than the size at work by more than paceGain. The slower the others were, the later they are tried
// next. A size that loses much leaves no turn to larger ones.
func (p *teamPace) endTurns() {
	mean := func(size int) float64 {
		sum, times := 0.0, 0
		for segment, k := range p.plan {
			if k == size {
				// The faster of the two before: another process may have had the processors in the other.
				sum += ratioOf(p.took[segment], min(p.before[segment], p.ago[segment]))
				times++
			}
		}
		return sum / float64(max(times, 1))
	}
	own, most, left := mean(p.at), len(p.sizes), false
	for k := range p.heats {
		h := &p.heats[k]
		if slices.Contains(p.plan, h.size) {
			h.lost, h.done = mean(h.size)-own, true
		}
		if h.done && h.size > p.at && h.lost > paceLeap {
			most = min(most, h.size)
		}
	}
	for _, h := range p.heats {
		left = left || !h.done && h.size < most
	}
	if left {
		return
	}
	best := heat{size: p.at}
	for _, h := range p.heats {
		if h.lost < min(best.lost, -paceGain) {
			best = h
		}
	}
	if best.size != p.at {
		p.take(best.size)
	} else {
		p.meet(p.sweep + 1)
	}
	for _, h := range p.heats {
		if h.size != p.at {
			p.judge(h.size, min(max(h.lost-best.lost, 0), paceLost))
		}
	}
	p.heats = nil
}

// beginBlock is called before block b.
func (p *teamPace) beginBlock(b int) {
	if p == nil {
		return
	}
	segment := min(b/p.blocks, len(p.took)-1)
	switch nth := b - segment*p.blocks; {
	case nth == 0:
		if segment > 0 {
			p.endSegment(segment - 1)
		}
		p.team.Use(p.sizes[p.plan[segment]])
		p.began = p.now()
	case nth == max(p.blocks/4, 1) && p.blocks >= segmentBlocks:
		p.began = p.now()
	}
}

func (p *teamPace) endSegment(k int) { p.took[k] = p.now() - p.began }

// endSweep is called after the last block of a sweep that was not cut.
func (p *teamPace) endSweep() {
	if p == nil {
		return
	}
	p.endSegment(len(p.took) - 1)
	if p.inTurn {
		p.endTurns() // needs what segments took before for the sizes still to come
	} else {
		p.endTries()
		p.took, p.before, p.ago = p.ago, p.took, p.before
	}
	p.team.Use(p.sizes[p.at])
	p.sweep++
}

// endTries judges the try of the last sweep, or notes that of this one. If sweeps have become slower, it has
// tries come at once.
func (p *teamPace) endTries() {
	var all time.Duration
	for _, d := range p.took {
		all += d
	}
	at := p.at
	if p.tried >= 0 {
		p.judge(p.tried, ratioOf(2*p.before[p.where], p.usual+p.took[p.where]))
	}
	if p.tried = -1; p.try >= 0 {
		p.usual = p.before[p.where]
		// The faster of the two before: another process may have had the processors in the other.
		if ratioOf(p.took[p.where], min(p.usual, p.ago[p.where])) < -paceLeap {
			p.take(p.try)
		} else {
			p.tried = p.try
		}
	}
	if at == p.at && p.try < 0 {
		if p.least = min(p.least, all); ratioOf(all, p.least) > paceLoss {
			for k := range p.rivals {
				p.rivals[k].next = min(p.rivals[k].next, p.sweep+2)
			}
			p.least = all // so only the next change tells
		}
	}
}

// ratioOf returns log(x/y), or 0 if the clock is too coarse to tell.
func ratioOf(x, y time.Duration) float64 {
	if x <= 0 || y <= 0 {
		return 0
	}
	return math.Log(float64(x) / float64(y))
}

// judge records a try of size k that lost that much of the time, as a logarithm; a gain is negative.
func (p *teamPace) judge(k int, lost float64) {
	r := &p.rivals[k]
	if lost >= -paceGain {
		r.wins = 0
		for ; lost >= -paceGain && r.pause < mostPause; lost -= 0.2 { // the more there was to lose, the later the next try
			r.pause *= 2
		}
		r.next = p.sweep + r.pause
		return
	}
	if r.wins++; r.wins == 2 {
		p.take(k)
		return
	}
	r.next = p.sweep + 1
}

// take makes size k the one for the sweeps to come.
func (p *teamPace) take(k int) {
	old := p.at
	p.at = k
	p.meet(p.sweep + 2) // after a sweep to compare with
	p.rivals[old].next = p.sweep + 4*leastPause
}

// blockMadds returns about how many multiply–adds a block takes, with a root counted as rootMadds.
func (s *rowBlockRun) blockMadds() float64 {
	const rootMadds = 28
	rows, r := float64(s.Block), float64(s.p.r)
	return rows * r * (float64(s.p.a.Stored())/float64(s.p.n) + float64(s.Passes)*(r+rootMadds))
}
