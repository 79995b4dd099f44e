package symnmf

import (
	"fmt"
	"math"
	"testing"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// TestTilesAreVisits: sweeps by tiles reach the H of sweeps that visit one entry at a time, to rounding, and report
// the same of their way.
func TestTilesAreVisits(t *testing.T) {
	const offDiagonal = "weighted, without its diagonal"
	planted, _ := instance.PlantedGraph(150, 3, 0.2, 0.01, 1)
	weighted := instance.RandomSparse(203, 1500, 2)
	graphs := map[string]matrix.Operator{
		"graph": mustCSR(t, planted), "weighted": mustCSR(t, weighted), offDiagonal: mustCSR(t, weighted).OffDiagonal(),
		"isolated items": mustCSR(t, instance.RandomSparse(100, 60, 3)),
		"six items":      mustCSR(t, instance.RandomSparse(6, 12, 4)),
	}
	for name, a := range graphs {
		for _, r := range []int{1, 3, 8, 17, 60, 500} {
			for _, l1 := range []float64{0, 0.3} {
				what := fmt.Sprintf("%s, r = %d, λ = %v", name, r, l1)
				p, err := newProblem(a, r, &Options{Threads: 1, L1: []float64{l1}})
				if err != nil {
					t.Fatal(err)
				}
				start := matrix.NewDense(p.n, r, nil)
				if err := (Random{}).fill(p, start, 0); err != nil {
					t.Fatal(err)
				}
				var runs [2]*cdRun
				for k := range runs {
					runs[k] = CD{}.start(p, start.Clone(), 0).(*cdRun)
				}
				can := kernel.TileRows(r) > 0 && p.n >= kernel.TileRows(r) && name != offDiagonal
				for sweep := range 3 {
					for k, s := range runs {
						s.prepare()
						if k == 0 && s.forward && (s.tiles != nil) != can {
							t.Errorf("%s: tiles: %t, want %t", what, s.tiles != nil, can)
						}
						s.report = sweepReport{}
						for j := range r {
							s.begin(j)
							if k == 0 {
								s.sweepColumn(j)
							} else {
								for i := range p.n {
									s.visit(i)
								}
							}
							s.end()
						}
					}
					by, want := runs[0].report, runs[1].report
					more := by.changed - want.changed // later, entries at rest may change by a rounding
					if !(math.Abs(by.decrease-want.decrease) <= 1e-12*p.norm*p.norm) ||
						!(math.Abs(by.stepSq-want.stepSq) <= 1e-12*p.norm) ||
						max(more, -more) > int64(sweep)*want.changed/50 {
						t.Errorf("%s, sweep %d: reports %+v, want %+v", what, sweep, by, want)
					}
					if err := runs[0].verify(); err != nil {
						t.Errorf("%s, sweep %d: %v", what, sweep, err)
					}
				}
				for k, v := range runs[0].hv {
					if w := runs[1].hv[k]; !(math.Abs(v-w) <= 1e-11) {
						t.Errorf("%s: H[%d,%d] = %v, visited by itself %v", what, k/r, k%r, v, w)
						break
					}
				}
			}
		}
	}
}

// TestTilesRoundingOfRows: √3² < 3, so after items have taken their own entry, ‖H_i,:‖² − A_ii is a rounding error, of
// which no entry of a second column grows.
func TestTilesRoundingOfRows(t *testing.T) {
	const n = 16
	d, start := matrix.NewDense(n, n, nil), matrix.NewDense(n, 2, nil)
	for i := range n {
		d.Set(i, i, 3)
	}
	p := mustProblem(t, mustCSR(t, d.CSR()), 2)
	for i := range n {
		start.Set(i, 0, math.Sqrt(3*p.scale))
	}
	s := CD{}.start(p, start, 0).(*cdRun)
	s.report.changed = 2 * n
	s.prepare()
	if s.tiles == nil && kernel.TileRows(2) > 0 {
		t.Fatal("no tiles")
	}
	s.begin(1)
	s.sweepColumn(1)
	s.end()
	for i := range n {
		if x := start.At(i, 1); x != 0 {
			t.Errorf("H[%d,1] = %v, want 0", i, x)
		}
	}
}
