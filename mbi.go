package symnmf

import "symnmf/matrix"

// MBI is coordinate descent by maximum block improvement: of all n·r entries only the one with the largest
// decrease is set to its minimizer, again and again. A sweep is n·r updates, as many as CD makes.
//
// Every accumulation point is stationary, which is not proved for CD. But each update examines all entries,
// O(n·r²), so it is for small problems and for comparison.
//
// Source: Chen, He, Li, Zhang, Maximum block improvement and polynomial optimization, SIAM J. Optim. 22,
// 2012.
type MBI struct{}

// Name implements Solver.
func (MBI) Name() string { return "cd-mbi" }

func (MBI) accepts(*problem, *Options) error { return nil }

func (MBI) start(p *problem, h *matrix.Dense, _ int) run {
	return &mbiRun{newCDState(p, h)}
}

type mbiRun struct{ *cdState }

func (s *mbiRun) sweep(stop func() bool) sweepReport {
	s.report = sweepReport{}
	for j := range s.p.r {
		if s.begin(j); s.cj == 0 {
			s.plant()
		}
		s.end()
	}
	for t := range s.p.n * s.p.r {
		if t%256 == 255 {
			s.refreshGram()
		}
		if stop() {
			s.report.cut = true
			break
		}
		steps, moved := s.improveBest()
		s.report.stepSq = steps
		if !moved {
			break
		}
	}
	s.refreshGram()
	s.cursor.Refresh()
	return s.report
}

// improveBest updates the entry with the largest decrease, the first by columns among equals, and reports
// whether any entry could improve. steps is stepSq of sweepReport for the H before. O(n·r²) and n·r cubics.
func (s *cdState) improveBest() (steps float64, moved bool) {
	best, bestI, bestJ, bestX := 0.0, 0, 0, 0.0
	for j := range s.p.r {
		s.begin(j)
		for i := range s.p.n {
			a, b, o := s.cubic(i)
			steps += stepSq(o, s.slope(a, b, o), s.p.norm)
			if x, decrease := s.minimizer(a, b, o); x != o && decrease > best {
				best, bestI, bestJ, bestX = decrease, i, j, x
			}
		}
		s.end()
	}
	if best == 0 {
		return steps, false
	}
	s.begin(bestJ)
	s.set(bestI, bestX)
	s.end()
	s.report.decrease += best
	return steps, true
}
