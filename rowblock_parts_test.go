package symnmf

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/internal/rules"
	"symnmf/matrix"
)

// The parts of a sweep, each compared with what defines it.

// TestMomentumRestarts: β follows Nesterov's sequence. It is 0 again after an undone sweep, and after one
// with ⟨Y − H_new, H_new − H_old⟩ > 0. H_old is H before the sweep. Y = H_old + β(H_old − H_older), with
// entries below zero set to 0 for a sparse A, is where the sweep began.
func TestMomentumRestarts(t *testing.T) {
	restarts, goesOn := 0, 0
	for _, f := range operatorForms(t, 120, 1) {
		_, _, run := startRun(t, f.a, 6, RowBlock{Block: 32, Passes: 1, First: FirstRows}, Options{Start: Random{}})
		tk, beta := 1.0, 0.0
		older := slices.Clone(run.hv)
		for sweep := range 60 {
			old := slices.Clone(run.hv)
			rep := run.sweep(never)
			if rep.provisional && (run.everySweep || run.sweeps%run.CheckEvery == 0) { // undone
				if run.tk != 1 || run.beta != 0 {
					t.Fatalf("%s, sweep %d: β = %v after an undone sweep, want 0", f.name, sweep+1, run.beta)
				}
				tk, beta = 1, 0
				older = slices.Clone(run.hv)
				continue
			}
			var along, size float64
			for k, v := range run.hv {
				y := max(old[k]+beta*(old[k]-older[k]), run.least)
				along += (y - v) * (v - old[k])
				size += math.Abs((y - v) * (v - old[k]))
			}
			next := (1 + math.Sqrt(1+4*tk*tk)) / 2
			beta, tk = (tk-1)/next, next
			if along > 0 {
				tk, beta = 1, 0
				restarts++
			} else {
				goesOn++
			}
			if !(math.Abs(along) <= 1e-12*size) && !(math.Abs(run.beta-beta) <= 1e-14 && math.Abs(run.tk-tk) <= 1e-14*tk) {
				t.Fatalf("%s, sweep %d: β = %v, t = %v, want %v and %v: ⟨Y−H,H−H_old⟩ = %v", f.name, sweep+1, run.beta, run.tk, beta, tk, along)
			}
			tk, beta, older = run.tk, run.beta, old
		}
		run.end()
	}
	if restarts == 0 || goesOn == 0 {
		t.Errorf("momentum restarted after %d sweeps and went on after %d, want some of each", restarts, goesOn)
	}
}

// TestStartOfSweep: momentum takes H to H_t + β(H_t − H_{t−1}), and for a sparse A sets entries below zero to
// 0.
func TestStartOfSweep(t *testing.T) {
	below := map[bool]int{} // entries that momentum would take below zero; key: whether A is sparse
	for _, f := range operatorForms(t, 120, 1) {
		_, _, run := startRun(t, f.a, 6, RowBlock{Block: 32, Passes: 1, First: FirstRows}, Options{Start: Random{}})
		_, lists := f.a.(matrix.RowVisitor)
		above := lists && f.a.Density() < rules.DenseFrom
		for range 60 {
			run.sweep(never)
			h, last, beta := slices.Clone(run.hv), slices.Clone(run.prev), run.beta
			if beta == 0 {
				continue
			}
			run.extrapolate()
			for k, v := range run.hv {
				want := h[k] + float64(beta*(h[k]-last[k]))
				if want < 0 {
					if below[above]++; above {
						want = 0
					}
				}
				if v != want {
					t.Fatalf("%s: H_t = %v, H_t−1 = %v, β = %v: the sweep starts from %v, want %v", f.name, h[k], last[k], beta, v, want)
				}
			}
			run.back(h)
			copy(run.prev, h)
		}
		run.end()
	}
	if below[true] == 0 || below[false] == 0 {
		t.Errorf("entries below zero for a sparse A (true) and others (false): %v, want some of each", below)
	}
}

// TestWholeSteps: a step of 1 is made if it gains at least Whole times what the best step does, whether the
// best is longer or shorter. Otherwise the best step up to MaxStep is made, and so with Whole = 1. A step of
// 1 leaves no entries to be cut off.
func TestWholeSteps(t *testing.T) {
	for _, tc := range []struct {
		whole, best float64 // RowBlock.Whole, and the minimizer of φ
		want        float64
	}{{0.98, 1.1, 1}, {0.98, 0.9, 1}, {0.98, 1.2, 1.2}, {0.98, 0.8, 0.8}, {0.95, 1.2, 1}, {1, 1.01, 1.01}, {0.95, 3, 2}} {
		run := &rowBlockRun{RowBlock: RowBlock{Whole: tc.whole, MaxStep: 2}}
		step, fall := run.wholeOrBest([4]float64{-2 * tc.best, 1, 0, 0}) // φ = t² − 2·best·t: a step of 1 gains 1 − (1−1/best)² of what the best does
		if !(math.Abs(step-tc.want) <= 1e-12) || !(math.Abs(fall-step*(2*tc.best-step)) <= 1e-12) {
			t.Errorf("Whole = %v, best step %v: the step is %v, with a fall of %v", tc.whole, tc.best, step, fall)
		}
	}
	for _, c := range [][4]float64{{}, {1, 0, 0, 0}, {-1, 2, 0, 0}} {
		run := &rowBlockRun{RowBlock: RowBlock{Whole: 1e-9, MaxStep: 2}}
		if step, _ := run.wholeOrBest(c); step == 1 {
			t.Errorf("a step of 1 where φ = %v·t + %v·t² does not fall by it", c[0], c[1])
		}
	}
	run := &rowBlockRun{RowBlock: RowBlock{Whole: 0.1, MaxStep: 0.5}}
	if step, _ := run.wholeOrBest([4]float64{-2, 1, 0, 0}); step != 0.5 {
		t.Errorf("a step of %v with MaxStep = 0.5", step)
	}
	for _, precision := range []Precision{Double, Single} {
		for _, f := range operatorForms(t, 120, 1) {
			_, _, run := startRun(t, f.a, 6, RowBlock{Block: 32, First: FirstRows, Precision: precision, Whole: 0.95}, Options{Start: Random{}})
			run.prepare()
			whole := 0
			for sweep := range 12 {
				run.extrapolate()
				run.product.Extrapolate(run.beta, run.h)
				for b := range 4 {
					step := run.improve(b)
					groups, _ := run.groupsOf(min(32, 120-32*b))
					for k := range groups {
						if step == 1 && groups[k].clipped {
							t.Fatalf("%s, %v, sweep %d, block %d: entries were cut off after a step of 1", f.name, precision, sweep+1, b+1)
						}
					}
					if step == 1 {
						whole++
					}
				}
				run.beta = 0.3 // so that there are entries below zero
			}
			if whole == 0 {
				t.Errorf("%s, %v: no step of 1", f.name, precision)
			}
			run.end()
		}
	}
}

// TestMixedGroups: D and A·H are right after sweeps in which entries were cut off at zero in some groups of a
// block and not in others.
func TestMixedGroups(t *testing.T) {
	mixed := 0
	for _, f := range operatorForms(t, 200, 1) {
		_, _, run := startRun(t, f.a, 20, RowBlock{Block: 128, First: FirstRows, Precision: Double, Whole: 1}, Options{Start: Random{}})
		for sweep := range 12 {
			run.sweep(never)
			if err := run.verify(); err != nil {
				t.Fatalf("%s, sweep %d: %v", f.name, sweep+1, err)
			}
			cut := 0
			groups, _ := run.groupsOf(200 - 128)
			for k := range groups {
				if groups[k].clipped {
					cut++
				}
			}
			if cut > 0 && cut < len(groups) {
				mixed++
			}
		}
		run.end()
	}
	if mixed == 0 {
		t.Error("no block had groups of both kinds: this shows nothing")
	}
}

// TestGuessedSteps: a block of sparse points that moves on a guess of q = ⟨A_BB·d, d⟩ still lowers the
// objective, by the decrease reported plus half of what q exceeds the guess by. This also holds where points
// are much alike and with the diagonal ignored. No step is guessed for other kinds of A, nor where the guess
// is not safe.
func TestGuessedSteps(t *testing.T) {
	for _, ignore := range []bool{false, true} {
		guessed, blocks := 0, 0
		for _, features := range []int{4000, 300, 40} {
			a, err := matrix.Gram(instance.Text(256, features, 10, 1), matrix.Rows, 1)
			if err != nil {
				t.Fatal(err)
			}
			p, _, run := startRun(t, a, 6, RowBlock{Block: 64, NoMomentum: true}, Options{Start: Random{}, IgnoreDiagonal: ignore})
			var h *matrix.Dense
			selfs := make([]float64, p.n)
			a.Scaled(p.scale).DiagTo(selfs)
			run.prepare()
			for range 12 {
				run.extrapolate()
				for b := range 4 {
					blocks++
					h = run.publish()
					before, already, told := p.measure(h), run.guessed, run.report.decrease
					run.improve(b)
					if run.guessed == already {
						continue
					}
					guessed++
					h = run.publish()
					after := p.measure(h)
					d := run.d[:64*run.pitch] // a step of 1 leaves d as it was
					guess := 0.0
					for i, v := range selfs[64*b : 64*b+64] {
						if !ignore {
							guess += v * kernel.SumSq(d[i*run.pitch:(i+1)*run.pitch])
						}
					}
					fell, tol := before.objective()-after.objective(), 1e-12*p.normFrom*p.normFrom
					want := run.report.decrease - told + (run.product.Step(b, d)-guess)/2
					if !(math.Abs(fell-want) <= tol) || fell < -tol {
						t.Errorf("%d features, diagonal ignored %v: the objective falls by %v, want %v", features, ignore, fell, want)
					}
				}
			}
			run.end()
		}
		if guessed == 0 || guessed == blocks {
			t.Errorf("diagonal ignored %v: %d of %d blocks guessed", ignore, guessed, blocks)
		}
	}
	// Two points are in the same place, but their rows of H are not: each row goes to where the other is.
	// Then X_B·d = 0, which the diagonal cannot tell.
	pair, err := matrix.NewCSR(2, 1, []int64{0, 1, 2}, []int32{0, 0}, nil)
	if err != nil {
		t.Fatal(err)
	}
	same, err := matrix.Gram(pair, matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	p, h, run := startRun(t, same, 2, RowBlock{Passes: 100, MaxStep: 1, NoMomentum: true}, Options{Start: Given{matrix.NewDense(2, 2, []float64{1, 0, 0, 1})}})
	before := p.measure(h)
	run.prepare()
	run.extrapolate()
	run.improve(0)
	h = run.publish()
	if after := p.measure(h); run.guessed != 0 || !(after.objective() < before.objective()) {
		t.Errorf("two points in one place: %d steps guessed, want 0; the objective goes from %v to %v", run.guessed, before.objective(), after.objective())
	}
	run.end()

	points, err := matrix.Gram(instance.Text(100, 300, 10, 1), matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []matrix.Operator{mustDense(t, instance.FullRank(100, 1)), points.OffDiagonal()} {
		_, _, run := startRun(t, a, 4, RowBlock{}, Options{Start: Random{}})
		if run.prepare(); run.guesses {
			t.Errorf("%T: steps are guessed", a)
		}
		run.end()
	}
}

// TestRowBlockUndone: a sweep at whose check the objective has risen takes H back to where it was at the last
// check, and momentum to its beginning. If momentum is not to blame, steps beyond 1 are no longer allowed.
func TestRowBlockUndone(t *testing.T) {
	for _, f := range operatorForms(t, 120, 1) {
		for _, still := range []bool{false, true} {
			_, _, run := startRun(t, f.a, 6, RowBlock{Block: 32, CheckEvery: 2, First: FirstRows, NoMomentum: still}, Options{Start: Random{}})
			for range 10 {
				run.sweep(never)
			}
			want, beta := slices.Clone(run.hv), run.beta
			run.safeF = 0 // no objective is as low
			for range 2 {
				if rep := run.sweep(never); !rep.provisional {
					t.Fatalf("%s: the sweep was not undone", f.name)
				}
			}
			if !run.everySweep && !slices.Equal(run.hv, want) {
				t.Errorf("%s: H is not that of the last check", f.name)
			}
			if run.beta != 0 || run.tk != 1 {
				t.Errorf("%s: β = %v after an undone sweep, want 0", f.name, run.beta)
			}
			if most := map[bool]float64{false: 2, true: 1}[still || run.everySweep]; run.MaxStep != most { // the second of two undone sweeps has no momentum
				t.Errorf("%s, momentum %v (β = %v): steps up to %v, want %v", f.name, !still, beta, run.MaxStep, most)
			}
			run.findGram() // as the next sweep does
			if err := run.verify(); err != nil {
				t.Errorf("%s: %v", f.name, err)
			}
			run.end()
		}
	}
}

// TestRowBlockFirstSweep: FirstColumns makes the first sweep that of cd-cyclic. The run goes on from there,
// and goes back there if the next sweep is undone. FirstAuto does so only for a sparse A with n·r to 2n·r
// stored entries and fewer than a quarter of all. From zero the first sweep never goes by columns.
func TestRowBlockFirstSweep(t *testing.T) {
	const n, r = 120, 8
	many := mustCSR(t, looped(t, instance.RandomSparse(n, 24*n, 1)))
	for _, f := range append(operatorForms(t, n, 1), testForm{"more entries", many}) {
		for _, first := range []FirstSweep{FirstAuto, FirstRows, FirstColumns} {
			for _, start := range []Start{Random{}, Zero{}} {
				what := fmt.Sprintf("%s, first by %v, from %s", f.name, first, start.Name())
				p, h, run := startRun(t, f.a, r, RowBlock{Block: 32, CheckEvery: 1, First: first}, Options{Start: start})
				byCD := h.Clone()
				CD{}.start(p, byCD, 0).sweep(never)
				run.sweep(never)
				h = run.publish()
				_, explicit := f.a.(matrix.RowVisitor)
				some := explicit && f.a.Stored() >= n*r && f.a.Stored() < min(2*n*r, n*n/4)
				byColumns := start == Random{} && (first == FirstColumns || first == FirstAuto && some)
				if same := slices.Equal(h.Data(), byCD.Data()); same != byColumns {
					t.Errorf("%s: H is that of cd-cyclic: %v, want %v", what, same, byColumns)
				}
				if err := run.verify(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				if now := p.measure(h); !(math.Abs(now.objective()-run.safeF) <= run.noise()) {
					t.Errorf("%s: the objective is %v, the run holds %v", what, now.objective(), run.safeF)
				}
				was := slices.Clone(run.hv)
				run.safeF = 0 // no objective is as low
				if rep := run.sweep(never); !rep.provisional || !slices.Equal(run.hv, was) {
					t.Errorf("%s: the next sweep does not go back to H after the first", what)
				}
				run.end()
			}
		}
	}
}

// TestRowBlockFirstOfLarge: FirstAuto goes by columns up to n·r = 2¹⁹. FirstColumns does so beyond that, too.
func TestRowBlockFirstOfLarge(t *testing.T) {
	const n, r = 1 << 16, 8
	for _, c := range []struct {
		n         int
		first     FirstSweep
		byColumns bool
	}{{n, FirstAuto, true}, {n + 1, FirstAuto, false}, {n + 1, FirstColumns, true}, {n, FirstRows, false}} {
		a := mustCSR(t, instance.RandomSparse(c.n, 12*n, 1))
		_, _, run := startRun(t, a, r, RowBlock{First: c.first}, Options{Start: Random{}})
		if run.columnsFirst != c.byColumns {
			t.Errorf("n = %d, first by %v: goes by columns: %v, want %v", c.n, c.first, run.columnsFirst, c.byColumns)
		}
		run.end()
	}
}

// TestRowBlockSeed: from zero, 4·r rows (8·r for a sparse A), but at least 64, or all if there are fewer, are
// given values first. They are spread evenly. Each is given them by RowBlock.Passes passes, for dense data by
// at most 3.
func TestRowBlockSeed(t *testing.T) {
	for _, c := range []struct {
		n, r, count    int
		sparse         bool
		passes, wanted int
	}{
		{200, 3, 64, false, 0, 3}, {200, 10, 64, false, 2, 2}, {200, 20, 80, false, 3, 3}, {40, 3, 40, false, 1, 1}, {100, 30, 100, false, 9, 3},
		{200, 3, 64, true, 0, 2}, {200, 10, 80, true, 5, 5},
	} {
		low, _ := instance.LowRank(c.n, 3, 1)
		a := mustDense(t, low)
		if c.sparse {
			a = mustCSR(t, looped(t, instance.RandomSparse(c.n, 12*c.n, 1)))
		}
		_, _, run := startRun(t, a, c.r, RowBlock{Passes: c.passes}, Options{Start: Zero{}})
		_, _, other := startRun(t, a, c.r, RowBlock{Passes: c.passes}, Options{Start: Zero{}})
		for _, r := range []*rowBlockRun{run, other} {
			r.prepare()
			r.findGram()
		}
		run.seed(never)
		for i, k := 0, 0; i < c.n; i++ {
			seeded := k < c.count && i == k*c.n/c.count
			if seeded {
				k++
				other.rowBy(c.wanted, i)
			}
			if some := kernel.Nonzero(run.h.Row(i)); some != seeded && (some || !c.sparse) { // the best row of a sparse A may be 0
				t.Errorf("%+v: row %d was given values: %v, want the opposite", c, i, some)
			}
		}
		if !slices.Equal(run.hv, other.hv) {
			t.Errorf("%+v: H is not that of %d passes", c, c.wanted)
		}
		run.end()
		other.end()
	}
}

// TestRowBlockRow: improving a row alone lowers the objective by what it reports, and D and A·H follow. After
// enough passes no coordinate of the row can gain: the gradient is 0, or not negative where h_j is 0.
func TestRowBlockRow(t *testing.T) {
	const n, r = 40, 5
	for _, f := range operatorForms(t, n, 1) {
		for _, ignore := range []bool{false, true} {
			for _, w := range []float64{0, 0.01} {
				what := fmt.Sprintf("%s, diagonal ignored %v, weight %v", f.name, ignore, w)
				opt := Options{Start: Random{}, IgnoreDiagonal: ignore, L1: []float64{w * math.Pow(f.a.Norm(), 1.5)}}
				p, _, run := startRun(t, f.a, r, RowBlock{Passes: 200, First: FirstRows, Compress: NoCompression}, opt)
				var h *matrix.Dense
				run.prepare()
				run.findGram()
				dense := denseOf(p.a)
				for _, i := range []int{0, 7, n - 1, 7} {
					h = run.publish()
					before := measureNaively(dense, h, p.l1, ignore)
					run.report = sweepReport{}
					run.row(i)
					h = run.publish()
					after := measureNaively(dense, h, p.l1, ignore)
					if fell := before.objective - after.objective; !(math.Abs(fell-run.report.decrease) <= 1e-12*(1+before.objective)) {
						t.Errorf("%s, row %d: the objective falls by %v, reported is %v", what, i, fell, run.report.decrease)
					}
					if err := run.verify(); err != nil {
						t.Errorf("%s, row %d: %v", what, i, err)
					}
					for j, v := range h.Row(i) {
						grad := p.l1[j] // Σ_l (H_i,:·H_l,: − A_il)·H_lj + Λ_j
						for l := range n {
							if l != i || !ignore {
								e := -dense.At(i, l)
								for k, u := range h.Row(i) {
									e += u * h.At(l, k)
								}
								grad += e * h.At(l, j)
							}
						}
						if v > 0 && !(math.Abs(grad) <= 1e-9) || grad < -1e-9 {
							t.Errorf("%s: H[%d,%d] = %v, where the gradient is %v", what, i, j, v, grad)
						}
					}
				}
				run.end()
			}
		}
	}
}

// TestRowBlockRowRests: a row that fits exactly stays as it is but for rounding. Its zeros stay zero,
// although that is decided by sums whose terms cancel.
func TestRowBlockRowRests(t *testing.T) {
	const n, r = 60, 6
	u := uniform{4}
	b := matrix.NewDense(n, r, nil)
	for k := range b.Data() {
		if v := u.at(uint64(k)); v > 0.5 || k/r < r && k/r == k%r {
			b.Data()[k] = v
		}
	}
	a := fill(n, func(i, l int) float64 {
		s := 0.0
		for j, v := range b.Row(i) {
			s += v * b.At(l, j)
		}
		return s
	})
	_, h, run := startRun(t, mustDense(t, a), r, RowBlock{}, Options{Start: Given{b}})
	run.prepare()
	run.findGram()
	start := h.Clone()
	for range 3 {
		for i := range n {
			run.row(i)
		}
	}
	h = run.publish()
	for k, v := range h.Data() {
		if w := start.Data()[k]; !(math.Abs(v-w) <= 1e-12) || w == 0 && v != 0 {
			t.Errorf("H[%d,%d] goes from %v to %v", k/r, k%r, w, v)
		}
	}
	run.end()

	// An item like no other, from zero: h_i = √A_ii in one column, and 0 in the others, although rounding of
	// the root leaves something to gain there.
	for k := range uint64(20) {
		d := fill(4, func(i, l int) float64 {
			if i != l {
				return 0
			}
			return u.at(1000 + 4*k + uint64(i))
		})
		_, _, run := startRun(t, mustDense(t, d), 3, RowBlock{}, Options{Start: Zero{}})
		var h *matrix.Dense
		run.prepare()
		run.findGram()
		run.row(0)
		h = run.publish()
		entries := 0
		for _, v := range h.Row(0) {
			if v != 0 {
				entries++
			}
		}
		if entries != 1 {
			t.Errorf("A_ii = %v: the row is %v, want one entry", run.p.diag[0], h.Row(0))
		}
		run.end()
	}

	// With the diagonal ignored, an entry that is alone in its column counts for nothing. It stays even if
	// the maintained D_jj is a rounding error above its square.
	for i := range n {
		if i != 7 {
			b.Set(i, 0, 0)
		}
	}
	b.Set(7, 0, 0.7)
	_, _, run = startRun(t, mustDense(t, a), r, RowBlock{}, Options{Start: Given{b}, IgnoreDiagonal: true})
	run.prepare()
	run.findGram()
	run.gram[0] *= 1 + 0x1p-52
	was := run.hv[7*run.pitch]
	run.row(7)
	if h = run.publish(); h.At(7, 0) != was {
		t.Errorf("an entry alone in its column goes from %v to %v", was, h.At(7, 0))
	}
	run.end()
}

// TestRowBlockOrders: every block, pass, sweep and run visits coordinates in an order of its own.
func TestRowBlockOrders(t *testing.T) {
	const n, r, passes, size = 60, 20, 3, 16
	a, _ := instance.LowRank(n, 4, 1)
	p, h, run := startRun(t, mustDense(t, a), r, RowBlock{Block: size, Passes: passes}, Options{Start: Random{}})
	other := run.RowBlock.start(p, h.Clone(), 1).(*rowBlockRun)
	seen := map[[r]int32]bool{}
	count := 0
	for _, run := range []*rowBlockRun{run, other} {
		run.prepare()
		run.findGram()
		for run.sweeps = range 3 {
			for b := range n / size {
				run.improve(b)
				for k := range passes {
					seen[[r]int32(run.orders.perms[k*r:(k+1)*r])] = true
					count++
				}
			}
		}
		run.end()
	}
	if len(seen) != count {
		t.Errorf("%d different orders in %d passes", len(seen), count)
	}
	// The orders of a block depend only on its place, whatever came before: the same block again, blocks out
	// of turn, an unexpected sweep, and whole sweeps.
	_, _, run = startRun(t, mustDense(t, a), r, RowBlock{Block: size, Passes: passes}, Options{Start: Random{}, Threads: 2, Seed: 7})
	run.prepare()
	run.findGram()
	check := func(sweep, b int) {
		t.Helper()
		for k := range passes {
			want := make([]int32, r)
			shuffle(want, 7, 0, uint64(sweep), uint64(b*size), uint64(k))
			if got := run.orders.perms[k*r : (k+1)*r]; !slices.Equal(got, want) {
				t.Errorf("sweep %d, block %d, pass %d: order %v, want %v", sweep, b, k, got, want)
			}
		}
	}
	for _, at := range [][2]int{{0, 0}, {0, 0}, {0, 1}, {0, 3}, {1, 0}, {1, 2}, {5, 3}, {5, 0}, {6, 1}} {
		run.sweeps = at[0]
		run.improve(at[1])
		check(at[0], at[1])
	}
	run.sweep(never)
	check(6, 3)
	run.sweep(never)
	check(7, 3)
	run.end()
}

// TestRowBlockEstimate: ‖H − [H − G/‖A‖]₊‖² is reported exactly after 32 sweeps, or after 8 near rest, and
// each time the number of sweeps has doubled since. In between, the report is Σ⟨D, dᵀd⟩/‖A‖ times the ratio
// of the two at the last exact report.
func TestRowBlockEstimate(t *testing.T) {
	for _, f := range operatorForms(t, 120, 1) {
		_, _, run := startRun(t, f.a, 6, RowBlock{Block: 32, CheckEvery: 1, First: FirstRows, Compress: NoCompression}, Options{Start: Random{}})
		trust, exact := 1.0, 0
		for sweep := 1; sweep <= 40; sweep++ {
			rep := run.sweep(never)
			if rep.provisional {
				continue
			}
			want := trust * run.ddd / run.p.norm
			near := run.ddd/run.p.norm <= nearRest*run.p.norm
			if (sweep >= 32 || sweep >= 8 && near) && sweep >= exact {
				figures := run.p.measure(run.h)
				want, exact = figures.gradKKT, 2*sweep
				trust = want / (run.ddd / run.p.norm)
			}
			if !(math.Abs(rep.stepSq-want) <= 1e-9*want) {
				t.Errorf("%s, sweep %d: reported %v, want %v", f.name, sweep, rep.stepSq, want)
			}
		}
		if exact < 32 {
			t.Errorf("%s: no exact report from sweep 16 on", f.name)
		}
		run.end()
	}
}

// TestRowBlockTakenApart: rows that each want the second column for themselves get nowhere together, and are
// moved one at a time.
func TestRowBlockTakenApart(t *testing.T) {
	const n, r = 16, 2
	start := matrix.NewDense(n, r, nil)
	for i := range n {
		start.Set(i, 0, 1/math.Sqrt(n)) // the best first column for A = I
	}
	identity := fill(n, func(i, l int) float64 { return float64((l + 1) / (i + 1)) })
	p, h, run := startRun(t, mustDense(t, identity), r, RowBlock{}, Options{Start: Given{start}})
	run.prepare()
	run.findGram()
	before := p.measure(h)
	if step := run.improve(0); step != 0 || run.moved < 0.1 {
		t.Errorf("together the rows take a step of %v, along a direction of norm %v: this shows nothing", step, math.Sqrt(run.moved))
	}
	run.block(0)
	h = run.publish()
	if after := p.measure(h); !(after.objective() < before.objective()-0.01) || !(math.Abs(before.objective()-after.objective()-run.report.decrease) <= 1e-14) {
		t.Errorf("the objective goes from %v to %v, reported is a decrease of %v", before.objective(), after.objective(), run.report.decrease)
	}
	if err := run.verify(); err != nil {
		t.Error(err)
	}
	run.end()
}

// TestRowBlockDoubt: items that have nothing in common and start alike come to rest alike while they move
// together, where HHᵀ is the best multiple of 11ᵀ. Each alone can do better. The sweep after a doubt finds
// that, and in the end they fit exactly. After such a sweep there is no more doubt.
func TestRowBlockDoubt(t *testing.T) {
	const n, r = 2, 3
	identity := mustDense(t, fill(n, func(i, l int) float64 { return float64((l + 1) / (i + 1)) }))
	rest := filled(n, r, math.Sqrt(1.0/6)) // h·h = ½ for both rows: ‖I − HHᵀ‖² = 1
	p, h, run := startRun(t, identity, r, RowBlock{}, Options{Start: Given{rest}})
	if f := p.measure(h); !(math.Abs(f.relErr()-math.Sqrt(0.5)) <= 1e-12) || f.kkt() > 1e-12 {
		t.Fatalf("the start has relative error %v and KKT residual %v", f.relErr(), f.kkt())
	}
	run.prepare()
	run.findGram()
	if !run.doubt() {
		t.Error("doubt is false before rows have moved one at a time")
	}
	run.sweep(never)
	h = run.publish()
	if f := p.measure(h); !(f.relErr() < 0.6) {
		t.Errorf("after a sweep row by row the relative error is %v, want less than 0.6", f.relErr())
	}
	if run.doubt() {
		t.Error("doubt is still true after a sweep row by row")
	}
	run.end()
	if res := factorize(t, identity, r, Options{Solver: RowBlock{}, Start: Given{rest}, Stop: Stop{Sweeps: 200, KKT: 1e-8}}); res.Status != Converged || !(res.RelErr <= 1e-6) {
		t.Errorf("%v at relative error %v after %d sweeps", res.Status, res.RelErr, res.Sweeps)
	}
}

// TestRowBlockPrecision: Adaptive has the same bits as Single while passes change H by much, and ends in
// float64. Double and Single stay what they are called.
func TestRowBlockPrecision(t *testing.T) {
	d, _ := instance.LowRank(60, 3, 3)
	a := mustDense(t, d)
	var runs [3]*rowBlockRun
	for precision := range runs {
		_, _, runs[precision] = startRun(t, a, 3, RowBlock{Precision: Precision(precision)}, Options{Start: Random{}})
	}
	both := 0
	for sweep := range 200 {
		for _, run := range runs {
			run.sweep(never)
		}
		if runs[Adaptive].single && both == sweep { // later it may come back to float32
			both = sweep + 1
		}
		if runs[Double].single || !runs[Single].single {
			t.Fatalf("sweep %d: Double is in float32: %v, Single is: %v", sweep+1, runs[Double].single, runs[Single].single)
		}
		if sweep == 0 && slices.Equal(runs[Single].hv, runs[Double].hv) {
			t.Error("Single and Double have the same bits: this shows nothing")
		}
		if both == sweep+1 && !slices.Equal(runs[Single].hv, runs[Adaptive].hv) {
			t.Errorf("sweep %d: Adaptive differs from Single", sweep+1)
		}
	}
	if runs[Adaptive].single {
		t.Error("Adaptive is in float32 at the end")
	}
	if both == 0 || both > 150 {
		t.Errorf("Adaptive was in float32 for the first %d sweeps, want 1 to 150", both)
	}
	for _, run := range runs {
		run.end()
	}
}

// TestPitch: rows are padded to whole vectors of four numbers, and for a sparse A to whole cache lines of
// eight if that makes them at most a third longer than r.
func TestPitch(t *testing.T) {
	for r := 1; r <= 200; r++ {
		four, eight := r, r
		for four%4 != 0 {
			four++
		}
		for eight%8 != 0 {
			eight++
		}
		want := four
		if float64(eight) <= float64(4*r)/3 {
			want = eight
		}
		if got := rules.Pitch(r, false); got != four {
			t.Errorf("dense, r = %d: pitch %d, want %d", r, got, four)
		}
		if got := rules.Pitch(r, true); got != want {
			t.Errorf("sparse, r = %d: pitch %d, want %d", r, got, want)
		}
	}
}

// TestLastRow: blocks, groups and parts that end with a single row give the same bits on one thread and on 8,
// whether or not members go on from products to passes.
func TestLastRow(t *testing.T) {
	for _, n := range []int{129, 145, 193} {
		a := mustDense(t, instance.FullRank(n, uint64(n)))
		opt := Options{Solver: RowBlock{}, Start: Random{}, Stop: Stop{Sweeps: 3, KKT: -1}, Threads: 1}
		want := factorize(t, a, 5, opt)
		opt.Threads = 8
		if got := factorize(t, a, 5, opt); !slices.Equal(got.H.Data(), want.H.Data()) {
			t.Errorf("n = %d: H differs between 8 threads and one", n)
		}
	}
}

// TestFindGramAfter: every number of H is handed over exactly once before it counts in D = HᵀH, even if a
// part of the rows has several pieces.
func TestFindGramAfter(t *testing.T) {
	const n, r = 600, 70
	a, err := matrix.FromDense(instance.FullRank(n, 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	_, h, s := startRun(t, a, r, RowBlock{Compress: NoCompression}, Options{Start: Random{}, Threads: 2})
	defer s.end()
	handed := make([]int, len(s.hv))
	s.findGramAfter(func(_, lo, hi int) []float64 {
		for k := lo; k < hi; k++ {
			handed[k]++
			s.hv[k] *= 2
		}
		return s.hv[lo:hi]
	})
	for k, times := range handed {
		if times != 1 {
			t.Fatalf("number %d was handed over %d times", k, times)
		}
	}
	for j := range r {
		for l := range r {
			var want float64
			for i := range n {
				want += 4 * h.At(i, j) * h.At(i, l)
			}
			if got := s.gram[j*s.pitch+l]; !(math.Abs(got-want) <= 1e-12*want) {
				t.Fatalf("D[%d,%d] = %v, want %v", j, l, got, want)
			}
		}
	}
}

// TestPiecesOfWideRows: where a row of H has more numbers than a piece, a piece is a row, and has room. That takes more
// columns than a test of sweeps has the memory for.
func TestPiecesOfWideRows(t *testing.T) {
	const n, pitch = 40, 1 << 15
	_, _, s := startRun(t, mustDense(t, instance.FullRank(n, 1)), 4, RowBlock{Block: 16}, Options{Start: Random{}, Threads: 1})
	defer s.end()
	s.pitch = pitch
	for _, narrow := range []bool{false, true} {
		if narrow {
			s.rounded.now = make([]float32, 1)
		}
		handed := make([]int, n)
		s.inParts(func(_, lo, hi int) {
			if lo%pitch != 0 || hi != lo+pitch {
				panic("not a row") // or the pieces never come to an end
			}
			handed[lo/pitch]++
		})
		if slices.Min(handed) != 1 || slices.Max(handed) != 1 {
			t.Errorf("in float32 %v: rows are handed over %v times", narrow, handed)
		}
	}
	s.rounded.now = nil
	s.makeRooms()
	for k := range s.parts {
		if room, narrow := s.rounded.rooms[k], s.rounded.narrow[k]; len(room) < pitch || len(narrow) < pitch {
			t.Errorf("part %d has room for %d and %d numbers, a row has %d", k, len(room), len(narrow), pitch)
		}
	}
	s.pitch = 4
}

// TestTermsAddUp: for sparse points, the terms that the passes get for a block add up to its rows of A·H.
func TestTermsAddUp(t *testing.T) {
	a, err := matrix.Gram(instance.Text(90, 200, 12, 1), matrix.Columns, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, _, s := startRun(t, a, 5, RowBlock{Block: 70}, Options{Start: Random{}, Threads: 2})
	defer s.end()
	s.prepare()
	if s.termProduct == nil {
		t.Fatal("sparse points without a TermProduct: this shows nothing")
	}
	const lo, hi = 70, 140
	s.products(lo, hi)
	s.eachGroup(lo, hi, func(_ *rowGroup, from, to int) { s.sumTerms(lo, from, to) })
	want := make([]float64, (hi-lo)*s.pitch)
	s.p.a.NewProduct(s.h, 1).RowsTo(want, lo, hi)
	s.eachGroup(lo, hi, func(_ *rowGroup, from, to int) {
		for k, got := range s.at(s.g, lo, from, to) {
			if i, j := from+k/s.pitch, k%s.pitch; !(math.Abs(got-want[(i-lo)*s.pitch+j]) <= 1e-13*math.Abs(got)) {
				t.Errorf("(A·H)[%d,%d] is %v, want %v", i, j, got, want[(i-lo)*s.pitch+j])
			}
		}
	})
}

// TestGuessIsSafe: a step is made on a guess of q only if φ would fall even with q = 0, which is possible.
// Otherwise q is computed.
func TestGuessIsSafe(t *testing.T) {
	points, err := matrix.Gram(instance.Text(100, 300, 10, 1), matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, _, run := startRun(t, points, 4, RowBlock{}, Options{Start: Random{}})
	defer run.end()
	if run.prepare(); !run.guesses {
		t.Fatal("no steps are guessed for sparse points")
	}
	for _, c := range []struct {
		first, second float64 // coefficients of t and, but for −2q, of t²
		asked         bool
	}{{-18, 17, false}, {-12, 14, true}} { // with the guess φ falls by 9 and 6, with q = 0 by 1 and −2
		groups := run.groups[:1]
		clear(groups[0].dd)
		clear(groups[0].hd)
		groups[0].quartic, groups[0].lin, groups[0].own = [4]float64{c.first, c.second, 0, 0}, 0, 4
		_, fall, _, asked := run.step(0, groups, make([]float64, run.Block*run.pitch))
		if asked != c.asked || !asked && fall != 8-c.first-c.second {
			t.Errorf("%v·t + (%v − 2q)·t², A_ii‖d_i‖² = 4: q is computed: %v, want %v; the fall is %v", c.first, c.second, asked, c.asked, fall)
		}
	}
}

// TestGainsFollow: Z stays X·H after groups of a block have moved by t·d, after others were cut off at zero,
// and after whole steps, t = 1, in float32 and float64. H does not depend on which members compute the gains.
func TestGainsFollow(t *testing.T) {
	const n, r = 400, 7
	_, points := instance.LowRank(n, 20, 1)
	a, err := matrix.Gram(points, matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, precision := range []Precision{Single, Double} {
		var first []float64
		for _, threads := range []int{1, 2, 8} {
			_, _, s := startRun(t, a, r, RowBlock{Precision: precision, Compress: NoCompression, Whole: 1}, Options{Start: Random{}, Threads: threads})
			mixed := 0 // sweeps in which some groups were cut off and some not
			for range 12 {
				s.sweep(never)
				if s.gainProduct == nil || s.termProduct != nil {
					t.Fatal("points of few features without a GainProduct: this shows nothing")
				}
				if s.clipped > 0 && s.clipped < n/s.groupRows() {
					mixed++
				}
				if s.report.provisional {
					continue // undone, so D is not known
				}
				if err := s.verify(); err != nil {
					t.Fatalf("%v, %d threads, sweep %d: %v", precision, threads, s.sweeps, err)
				}
			}
			h := slices.Clone(s.hv)
			s.end()
			if mixed == 0 {
				t.Errorf("%v: in no sweep were some groups cut off and some not: this shows nothing", precision)
			}
			if first == nil {
				first = h
			} else if !slices.Equal(h, first) {
				t.Errorf("%v: H differs between %d threads and one", precision, threads)
			}
		}
	}
}
