package symnmf

import (
	"math"
	"slices"
	"testing"

	"symnmf/internal/instance"
	"symnmf/internal/rules"
	"symnmf/matrix"
)

// TestRowBlockDecrease: the falls that the quartics give for the blocks of a sweep add up to the fall of the
// objective as measured, with steps beyond 1, with ℓ₁ weights and without the diagonal, unless entries were
// clipped or steps guessed. The objective never rises.
func TestRowBlockDecrease(t *testing.T) {
	clips := 0
	for _, in := range instances(t) {
		for form, a := range in.forms {
			for _, ignore := range []bool{false, true} {
				for _, w := range []float64{0, 1e-3} {
					opt := Options{IgnoreDiagonal: ignore, L1: []float64{w * math.Pow(a.Norm(), 1.5)}}
					p, err := newProblem(a, in.r, &opt)
					if err != nil {
						t.Fatal(err)
					}
					if p.norm == 0 {
						continue
					}
					h := matrix.NewDense(p.n, p.r, nil)
					if err := (Random{}).fill(p, h, 0); err != nil {
						t.Fatal(err)
					}
					s := RowBlock{Block: 16, NoMomentum: true, First: FirstRows}.start(p, h, 0).(*rowBlockRun)
					s.prepare()
					guesses := s.guesses
					for sweep := range 8 {
						before := p.measure(h)
						s.guesses = guesses && sweep%2 == 1
						s.sweep(func() bool { return false })
						clips += s.clipped
						h = s.publish()
						after := p.measure(h)
						if err := s.verify(); err != nil {
							t.Fatalf("%s (%s), sweep %d: %v", in.name, form, sweep, err)
						}
						fell := before.objective() - after.objective()
						tol := 1e-12 * (p.norm*p.norm + before.penalty + before.rowQuad)
						// The quartic does not cover clipping after a step, which may add to the fall or take from it.
						if d := math.Abs(fell - s.fallen); s.clipped == 0 && s.guessed == 0 && !(d <= tol) {
							t.Errorf("%s (%s), diagonal ignored %v, weight %v, sweep %d: the objective fell by %v, by the quartics %v", in.name, form, ignore, w, sweep, fell, s.fallen)
						}
						if s.guessed > 0 && s.report.provisional {
							t.Errorf("%s (%s), diagonal ignored %v, weight %v, sweep %d: a sweep with guessed steps was undone", in.name, form, ignore, w, sweep)
						}
						if !(fell >= -tol) {
							t.Errorf("%s (%s), diagonal ignored %v, weight %v, sweep %d: the objective rose by %v", in.name, form, ignore, w, sweep, -fell)
						}
					}
					s.end()
				}
			}
		}
	}
	if clips == 0 {
		t.Error("no step was ever clipped")
	}
}

// TestBestStep: no point of a fine grid on [0, 2] is lower than the step found, and the fall is that of the
// polynomial.
func TestBestStep(t *testing.T) {
	u := uniform{9}
	for k := range uint64(2000) {
		c := [4]float64{4*u.at(4*k) - 3, 8*u.at(4*k+1) - 4, 8*u.at(4*k+2) - 4, 4 * u.at(4*k+3)}
		f := func(t float64) float64 { return t * (c[0] + t*(c[1]+t*(c[2]+t*c[3]))) }
		x, fall := bestStep(c, 2)
		if x < 0 || x > 2 || !(math.Abs(f(x)+fall) <= 1e-12) {
			t.Fatalf("coefficients %v: step %v, fall %v, f = %v", c, x, fall, f(x))
		}
		for g := 0.0; g <= 2; g += 1.0 / 512 {
			if !(f(g) >= -fall-1e-9) {
				t.Fatalf("coefficients %v: f = %v at %v, and %v at the step %v", c, f(g), g, -fall, x)
			}
		}
	}
}

// TestRowBlockFindsTheFactor: on a matrix of exactly low rank, the error is less than a fifth of that of
// cd-cyclic after as many sweeps.
func TestRowBlockFindsTheFactor(t *testing.T) {
	d, _ := instance.LowRank(200, 10, 3)
	opt := Options{Start: Random{}, Stop: Stop{Sweeps: 150, KKT: -1}}
	opt.Solver = RowBlock{}
	fast := factorize(t, mustDense(t, d), 10, opt)
	opt.Solver = CD{}
	slow := factorize(t, mustDense(t, d), 10, opt)
	if !(fast.RelErr < 0.2*slow.RelErr) {
		t.Errorf("relative error %v after 150 sweeps, cd-cyclic %v", fast.RelErr, slow.RelErr)
	}
}

// TestRowBlockCheckpoint: with one pass a sweep, which makes a poor solver, the reported error never rises,
// and the answer is no worse than the last report.
func TestRowBlockCheckpoint(t *testing.T) {
	d, _ := instance.LowRank(120, 8, 5)
	res := factorize(t, mustDense(t, d), 8, Options{Solver: RowBlock{Passes: 1}, Start: Random{}, Trace: true, Stop: Stop{Sweeps: 300, KKT: -1}})
	for k := 1; k < len(res.Trace); k++ {
		if !(res.Trace[k].RelErr <= res.Trace[k-1].RelErr+res.ErrFloor) {
			t.Errorf("sweep %d: the error rises from %v to %v", res.Trace[k].Sweep, res.Trace[k-1].RelErr, res.Trace[k].RelErr)
		}
	}
	if last := res.Trace[len(res.Trace)-1]; !(res.RelErr <= last.RelErr+res.ErrFloor) {
		t.Errorf("the answer has relative error %v, the last row of the trace %v", res.RelErr, last.RelErr)
	}
}

// TestShuffle: over many values of one of its numbers, each of the 24 permutations of four comes up equally
// often, within five standard deviations.
func TestShuffle(t *testing.T) {
	const draws = 24000
	count := map[[4]int32]int{}
	for k := range uint64(draws) {
		var perm [4]int32
		shuffle(perm[:], 3, 1, k, 7)
		count[perm]++
	}
	for perm, n := range count {
		if !(math.Abs(float64(n)-draws/24) <= 5*math.Sqrt(draws/24)) {
			t.Errorf("%v came up %d times of %d", perm, n, draws)
		}
	}
	if len(count) != 24 {
		t.Errorf("%d permutations of 4, want 24", len(count))
	}
}

// TestRowBlockConverges: if the objective is computed only every so many sweeps, a run ends at the first of
// these sweeps at which it has converged and moving rows one at a time finds nothing better. Every sweep
// without the objective is reported as provisional. The others are the rows of the trace.
func TestRowBlockConverges(t *testing.T) {
	graph, _ := instance.PlantedGraph(60, 3, 0.4, 0.02, 1)
	d, _ := instance.LowRank(60, 3, 3)
	for _, a := range []matrix.Operator{mustCSR(t, graph), mustDense(t, d)} {
		for _, every := range []int{0, 1, 4} {
			var seen []Progress
			res := factorize(t, a, 3, Options{Solver: RowBlock{CheckEvery: every}, Start: Random{}, Trace: true,
				Progress: func(p Progress) { seen = append(seen, p) }})
			if res.Status != Converged || res.Sweeps > 200 {
				t.Errorf("%T, checks every %d sweeps: %v after %d", a, every, res.Status, res.Sweeps)
			}
			rows := res.Trace[1:]
			for _, p := range seen {
				if p.Provisional {
					if !(p.KKT > 0) || p.Sweep == res.Sweeps {
						t.Errorf("%T, checks every %d sweeps: sweep %d of %d was reported as %+v", a, every, p.Sweep, res.Sweeps, p)
					}
					continue
				}
				if len(rows) == 0 || rows[0].Sweep != p.Sweep || !(math.Abs(rows[0].RelErr-p.RelErr) <= 1e-6) {
					t.Fatalf("%T, checks every %d sweeps: Progress has %+v, the rest of the trace is %+v", a, every, p, rows)
				}
				rows = rows[1:]
			}
			if len(rows) > 0 {
				t.Errorf("%T, checks every %d sweeps: rows of the trace that Progress did not get: %+v", a, every, rows)
			}
		}
	}
	// With a limit between two checks, the trace ends with the answer.
	res := factorize(t, mustCSR(t, graph), 3, Options{Solver: RowBlock{CheckEvery: 4}, Start: Random{}, Trace: true, Stop: Stop{Sweeps: 6, KKT: -1}})
	if last := res.Trace[len(res.Trace)-1]; last.Sweep != 6 || last.RelErr != res.RelErr || last.KKT != res.KKT {
		t.Errorf("the last row of the trace is %+v, the answer has %v and %v", last, res.RelErr, res.KKT)
	}
}

// TestRowBlockSpareRoom: a run takes the room of A·H of its start if that has the size of an H with padding, and
// nothing depends on what is there.
func TestRowBlockSpareRoom(t *testing.T) {
	const r = 16
	for name, a := range map[string]matrix.Operator{
		"dense":  lowRank(t, 120, r),
		"sparse": mustCSR(t, instance.RandomSparse(rules.SpanFrom/r+1, 12, 1)),
	} {
		p, err := newProblem(a, r, &Options{})
		if err != nil {
			t.Fatal(err)
		}
		var want []float64
		for _, spare := range []int{0, p.n * r, p.n*r - 1} {
			h := matrix.NewDense(p.n, r, nil)
			if err := (Random{}).fill(p, h, 0); err != nil {
				t.Fatal(err)
			}
			first := p.measureStart(h)
			if len(p.spare) != p.n*r {
				t.Fatalf("%s: the start leaves room for %d numbers, want %d", name, len(p.spare), p.n*r)
			}
			for k := range p.spare {
				p.spare[k] = math.NaN()
			}
			room := p.spare[:spare]
			p.spare = room
			s := RowBlock{First: FirstRows}.start(p, h, 0).(*rowBlockRun)
			if taken := p.spare == nil; taken != (spare == p.n*r) {
				t.Errorf("%s: room for %d numbers is taken: %v", name, spare, taken)
			}
			s.begin(&first)
			for range 6 {
				s.sweep(func() bool { return false })
			}
			got := s.end().Data()
			if want == nil {
				want = got
			} else if !slices.Equal(got, want) {
				t.Errorf("%s: H depends on what room for %d numbers holds", name, spare)
			}
		}
	}
}
