package symnmf

import (
	"testing"
	"time"

	"symnmf/internal/instance"
	"symnmf/matrix"
)

// All members of a team work in tests of this package, however little there is to do, but in those of what decides that.
func init() { paceMadds = 0 }

// TestSweepPace: the first two sweeps are made alone, the third with all, and then the faster kind, with a try of the other now and then; the first, which does
// more than others, counts for neither.
func TestSweepPace(t *testing.T) {
	for _, c := range []struct {
		name       string
		alone, all time.Duration
		after      time.Duration // of sweeps with all from the first other try on
		want       func(n int) bool
	}{
		{"alone is faster", 5, 6, 6, func(n int) bool { return n != 2 && (n < 3 || n%paceAgain != 0) }},
		{"all are faster", 6, 5, 5, func(n int) bool { return n < 2 || n%paceAgain == 0 }},
		{"all are, from then on", 5, 6, 4, func(n int) bool { return n < 2 || n > 2 && n < paceAgain || n > paceAgain && n%paceAgain == 0 }},
	} {
		var p sweepPace
		for n := range 4 * paceAgain {
			alone := p.begin()
			if alone != c.want(n) {
				t.Fatalf("%s: sweep %d alone: %t", c.name, n, alone)
			}
			switch {
			case n == 0:
				p.end(100)
			case alone:
				p.end(c.alone)
			case n < paceAgain:
				p.end(c.all)
			default:
				p.end(c.after)
			}
		}
	}
}

// TestPaced: a small block has its sweeps measured, a large one not, nor a team of one; and whoever makes them the answer has the same bits, of every kind of A.
func TestPaced(t *testing.T) {
	defer func(madds float64) { paceMadds = madds }(paceMadds)
	graph, _ := instance.PlantedGraph(300, 5, 0.1, 0.01, 1)
	small, err := matrix.FromCSR(looped(t, graph), 0)
	if err != nil {
		t.Fatal(err)
	}
	large, err := matrix.FromDense(instance.FullRank(1000, 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	paceMadds = defaultPaceMadds
	for _, c := range []struct {
		a       matrix.Operator
		r       int
		threads int
		want    bool
	}{{small, 4, 2, true}, {small, 4, 1, false}, {large, 60, 2, false}, {large, 60, 100, true}} {
		_, _, run := startRun(t, c.a, c.r, RowBlock{}, Options{Start: Random{}, Threads: c.threads})
		if run.paced != c.want {
			t.Errorf("n = %d, r = %d, %d threads: measured %t", c.a.Dim(), c.r, c.threads, run.paced)
		}
		if run.paced {
			for range 3 {
				run.sweep(func() bool { return false })
				if run.team.Members() != c.threads {
					t.Errorf("after a sweep a team of %d, want %d", run.team.Members(), c.threads)
				}
			}
			if p := run.pace; p.at != 3 || p.alone <= 0 || p.all <= 0 {
				t.Errorf("after three sweeps %+v", p)
			}
		}
		run.end()
	}
	for _, f := range operatorForms(t, 300, 2) {
		hashes := map[string]bool{}
		for _, madds := range []float64{0, 1e12} {
			paceMadds = madds
			hashes[instance.Hash(factorize(t, f.a, 5, Options{Solver: RowBlock{}, Start: Random{}, Threads: 2, Stop: Stop{Sweeps: 9, KKT: -1}}).H)] = true
		}
		if len(hashes) != 1 {
			t.Errorf("%s: measuring changes the answer", f.name)
		}
	}
}
