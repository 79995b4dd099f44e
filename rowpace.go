package symnmf

import "time"

// sweepPace finds whether a team of several or its first member alone makes faster sweeps. Members who share little work for each time they meet can take longer than one: it
// depends on how far apart their caches are, and on what else their processors do. The answer has the same bits either way.
type sweepPace struct {
	alone, all time.Duration // of the last sweep of the kind that was measured; 0 before
	at         int           // sweeps so far
	asAlone    bool          // the one under way
}

// paceMadds is how many multiply–adds of a block for each member are few: then sweeps are measured. Tests that want all members at work set it to 0.
var paceMadds float64 = defaultPaceMadds

const defaultPaceMadds = 250_000

// paceAgain is how many sweeps pass before the slower kind has another chance.
const paceAgain = 32

// blockMadds returns about how many multiply–adds a block takes, a root counted as rootMadds.
func (s *rowBlockRun) blockMadds() float64 {
	const rootMadds = 28
	rows, r := float64(s.Block), float64(s.p.r)
	return rows * r * (float64(s.p.a.Stored())/float64(s.p.n) + float64(s.Passes)*(r+rootMadds))
}

// begin says whether the next sweep is made alone. The first two are, of which the first does more than others; then one is not.
func (p *sweepPace) begin() bool {
	switch n := p.at; {
	case n < 2:
		p.asAlone = true
	case n == 2:
		p.asAlone = false
	default:
		p.asAlone = (p.alone < p.all) != (n%paceAgain == 0)
	}
	return p.asAlone
}

// end says how long it took.
func (p *sweepPace) end(took time.Duration) {
	if p.asAlone {
		p.alone = took // of the second by the time it counts
	} else {
		p.all = took
	}
	p.at++
}

// sweep makes a sweep as fast as it is known to go.
func (s *rowBlockRun) sweep(stop func() bool) sweepReport {
	if !s.paced {
		return s.sweepOnce(stop)
	}
	if !s.columnsFirst {
		s.prepare() // by all
	}
	s.team.Alone(s.pace.begin())
	began := time.Now()
	rep := s.sweepOnce(stop)
	s.pace.end(time.Since(began))
	s.team.Alone(false)
	return rep
}
