package symnmf

import (
	"math"
	"time"

	"symnmf/internal/kernel"
)

// teamPace finds how many members of a team make the blocks of a sweep fastest. Members that share little work for each time they meet can take longer than fewer: it
// depends on how far apart their caches are, on whether their processors are alike, and on what else these have to do, which changes. The answer has the same bits whoever
// makes it.
//
// A sweep is cut into segments of blocks. Now and then one of them is made by half as many members, or twice as many, and what it takes compared with what it took in the
// sweep before and takes in the next one. A nil teamPace measures nothing.
type teamPace struct {
	team   *kernel.Team
	sizes  []int // of the team, that may be: 1, 2, 4, … and all
	at     int   // the one that makes most segments, by its place
	rivals []rival
	blocks int // of a segment

	sweep  int
	try    int             // the size tried in this sweep, or −1
	tried  int             // and in the last one, which is not judged yet
	where  int             // the segment that the last try had, or has
	took   []time.Duration // by each segment of the sweep under way
	before []time.Duration // of the last one
	ago    []time.Duration // and of the one before that
	usual  time.Duration   // what the segment of the last try took before
	least  time.Duration   // of sweeps at this size
	now    func() time.Duration
	began  time.Duration
}

// rival is what is known of a size beside the one at work.
type rival struct {
	wins  int // tries on end in which it was faster
	next  int // the sweep of the next try
	pause int // sweeps between tries
}

const (
	// paceMadds is how many multiply–adds of a block each member has at first, or more.
	paceMadds = 250_000
	// A segment has segmentMadds or more, some 200 µs, so that its time tells something, and segmentBlocks blocks, of which the first is not
	// measured: lines have to change hands after the number of members has.
	segmentMadds  = 4_000_000
	segmentBlocks = 3
	mostSegments  = 8

	firstTry   = 2 // sweep, from 0: the first ones do more than others
	leastPause = 2 // sweeps
	mostPause  = 64
	// paceGain is by how much, as a logarithm, another size has to be faster, twice on end; paceLeap by how much for once to be enough; and paceLoss by how much
	// sweeps become slower than the fastest for tries to come at once.
	paceGain = 0.03
	paceLeap = 0.35
	paceLoss = 0.35
)

// pacing is whether teams are measured. Tests that want all members at work clear it.
var pacing = true

// newTeamPace has the team be of the size that such blocks would seem to want. It returns nil where there is one member.
func newTeamPace(team *kernel.Team, blocks int, blockMadds float64) *teamPace {
	team.Use(math.MaxInt)
	members := team.Members()
	if members == 1 || !pacing {
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
	p.blocks = max(segmentBlocks, int(math.Ceil(segmentMadds/blockMadds)), kernel.BlockCount(blocks, mostSegments))
	p.blocks = kernel.BlockCount(blocks, max(blocks/p.blocks, 1))
	segments := max(blocks/p.blocks, 1) // the last has what is left besides
	p.took, p.before, p.ago = make([]time.Duration, segments), make([]time.Duration, segments), make([]time.Duration, segments)
	p.rivals = make([]rival, len(p.sizes))
	p.meet(firstTry)
	team.Use(p.sizes[p.at])
	return p
}

// meet forgets what is known of other sizes, which are tried from that sweep on.
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
	p.try = -1
	if p.tried >= 0 {
		return // whose segment is measured once more
	}
	for _, k := range [...]int{p.at - 1, p.at + 1} {
		if k >= 0 && k < len(p.sizes) && p.try < 0 && p.sweep >= p.rivals[k].next {
			p.try = k
		}
	}
	if p.try >= 0 {
		p.where = (p.where + 1) % len(p.took)
	}
}

// beginBlock comes before block b.
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
		if p.try >= 0 && segment == p.where {
			p.team.Use(p.sizes[p.try])
		} else {
			p.team.Use(p.sizes[p.at])
		}
		p.began = p.now()
	case nth == 1 && p.blocks >= segmentBlocks:
		p.began = p.now()
	}
}

func (p *teamPace) endSegment(k int) { p.took[k] = p.now() - p.began }

// endSweep comes after the last block of a sweep that was not cut.
func (p *teamPace) endSweep() {
	if p == nil {
		return
	}
	p.endSegment(len(p.took) - 1)
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
		if ratioOf(p.took[p.where], min(p.usual, p.ago[p.where])) < -paceLeap { // not because somebody had the processors once
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
			p.least = all // tells of the next change only
		}
	}
	p.team.Use(p.sizes[p.at])
	p.took, p.before, p.ago = p.ago, p.took, p.before
	p.sweep++
}

// ratioOf returns log(x/y), or 0 where the clock is too coarse to tell.
func ratioOf(x, y time.Duration) float64 {
	if x <= 0 || y <= 0 {
		return 0
	}
	return math.Log(float64(x) / float64(y))
}

// judge counts a try of size k that lost so much of the time, as a logarithm.
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

// take has size k make the sweeps to come.
func (p *teamPace) take(k int) {
	old := p.at
	p.at = k
	p.meet(p.sweep + 2) // after a sweep to compare with
	p.rivals[old].next = p.sweep + 4*leastPause
}

// blockMadds returns about how many multiply–adds a block takes, a root counted as rootMadds.
func (s *rowBlockRun) blockMadds() float64 {
	const rootMadds = 28
	rows, r := float64(s.Block), float64(s.p.r)
	return rows * r * (float64(s.p.a.Stored())/float64(s.p.n) + float64(s.Passes)*(r+rootMadds))
}
