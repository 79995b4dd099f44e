package symnmf

import (
	"math"
	"slices"
	"testing"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// jointForms returns the operators whose block products can take joint steps.
func jointForms(t testing.TB, n int) (list []testForm) {
	for _, f := range operatorForms(t, n, 1) {
		b, ok := f.a.(matrix.BlockMultiplier)
		if !ok {
			continue
		}
		team := kernel.NewTeam(1)
		if _, joint := b.NewBlockProduct(matrix.NewDense(n, 1, nil), n, team).(matrix.JointProduct); joint {
			list = append(list, f)
		}
		team.Close()
	}
	if len(list) < 5 {
		t.Fatalf("only %d forms of A have joint steps, want at least 5", len(list))
	}
	return list
}

// startJointRun returns a run whose next joint step is due.
func startJointRun(t testing.TB, a matrix.Operator, r int, s RowBlock, opt Options) *rowBlockRun {
	_, _, run := startRun(t, a, r, s, opt)
	run.prepare()
	run.findGram()
	run.product.Extrapolate(0, run.h)
	run.sweeps, run.safeF = jointFrom, 0
	return run
}

// naiveGradient returns A·H and ∇ = H·HᵀH − A·H, both n×pitch. Without the diagonal, ‖h_i‖²·h_i is no part of row i of
// H·HᵀH.
func naiveGradient(s *rowBlockRun) (ah, grad []float64) {
	n, pitch := s.p.n, s.pitch
	ah, grad = make([]float64, n*pitch), make([]float64, n*pitch)
	s.p.a.NewProduct(s.h, 1).RowsTo(ah, 0, n)
	d := s.p.gram(s.h)
	for i := range n {
		for j := range pitch {
			grad[i*pitch+j] = -ah[i*pitch+j]
			for k := range pitch {
				grad[i*pitch+j] += s.hv[i*pitch+k] * d[k*pitch+j]
			}
			if s.p.ignoreDiag {
				grad[i*pitch+j] -= kernel.SumSq(s.h.Row(i)) * s.hv[i*pitch+j]
			}
		}
	}
	return ah, grad
}

// ignored returns the forms twice, the second time to be factored without their diagonals.
func ignored(forms []testForm) (list []struct {
	testForm
	ignore bool
}) {
	for _, ignore := range []bool{false, true} {
		for _, f := range forms {
			if ignore {
				f.name += ", no diagonal"
			}
			list = append(list, struct {
				testForm
				ignore bool
			}{f, ignore})
		}
	}
	return list
}

// TestJointWay: with enough steps of conjugate gradients, the direction solves the equations of a
// Gauss–Newton step over the free entries. It is 0 elsewhere.
func TestJointWay(t *testing.T) {
	const n, r = 30, 4
	for _, f := range ignored(jointForms(t, n)) {
		s := startJointRun(t, f.a, r, RowBlock{Joint: 400, Compress: NoCompression}, Options{Start: Random{}, Seed: 1, IgnoreDiagonal: f.ignore})
		_, grad := naiveGradient(s)
		if !s.startJoint() {
			t.Fatalf("%s: no preconditioner", f.name)
		}
		if !s.findWay(never) {
			t.Fatalf("%s: findWay has stopped", f.name)
		}
		pitch, x := s.pitch, s.joint.x
		at := func(i, j int) int { return i*pitch + j }
		var free, bound int
		var off, size float64
		for i := range n {
			for j := range r {
				isFree := s.hv[at(i, j)]*s.gram[j*pitch+j] > grad[at(i, j)]
				if !isFree {
					bound++
					if x[at(i, j)] != 0 || s.joint.free[at(i, j)] != 0 {
						t.Fatalf("%s: entry (%d,%d), which is not free, moves by %v", f.name, i, j, x[at(i, j)])
					}
					continue
				}
				free++
				sum := grad[at(i, j)]
				for k := range r {
					sum += x[at(i, k)] * s.gram[k*pitch+j]
					for l := range n {
						sum += s.hv[at(i, k)] * x[at(l, k)] * s.hv[at(l, j)]
					}
					if f.ignore {
						sum -= 2 * s.hv[at(i, k)] * x[at(i, k)] * s.hv[at(i, j)]
					}
				}
				off, size = off+sum*sum, size+grad[at(i, j)]*grad[at(i, j)]
			}
		}
		if free == 0 || bound == 0 {
			t.Fatalf("%s: %d entries are free and %d are not, want some of each", f.name, free, bound)
		}
		if !(off <= 1e-14*size) {
			t.Errorf("%s: the residual of the equations is %.2g of the gradient", f.name, math.Sqrt(off/size))
		}
		s.end()
	}
}

// TestJointStep: a joint step takes H to the minimum of the objective along its direction, between H as it
// was and the end of the direction. It reports by how much the objective fell, and what is maintained follows
// H. This holds from an H without negative entries, from one where momentum has left some, with a column of
// zeros, and with more columns than rows.
func TestJointStep(t *testing.T) {
	const n = 60
	for _, f := range ignored(jointForms(t, n)) {
		for _, c := range []struct {
			name     string
			steps, r int
			change   func(s *rowBlockRun)
		}{
			{"one step", 1, 5, nil},
			{"three steps", 3, 5, nil},
			{"ten steps", 10, 5, nil},
			{"below zero", 3, 5, func(s *rowBlockRun) {
				for k := 0; k < len(s.hv); k += 7 {
					s.hv[k] *= -0.3
				}
			}},
			{"dead column", 3, 5, func(s *rowBlockRun) {
				for i := range n {
					s.hv[i*s.pitch+2] = 0
				}
			}},
			{"more columns than rows", 3, n + 9, nil},
		} {
			s := startJointRun(t, f.a, c.r, RowBlock{Joint: c.steps, Compress: NoCompression, Block: 32}, Options{Start: Random{}, Seed: 2, IgnoreDiagonal: f.ignore})
			if c.change != nil {
				c.change(s)
				s.product.Refresh()
				s.findGram()
			}
			from := append([]float64(nil), s.hv...)
			before := s.p.measure(s.h)
			s.jointly(never)
			d := slices.Clone(s.joint.x)
			after := s.p.measure(s.h)
			fell := before.objective() - after.objective()
			tol := 1e-12 * (s.p.norm*s.p.norm + before.objective())
			if !(math.Abs(fell-s.report.decrease) <= tol) || !(fell > 0) || s.report.changed == 0 {
				t.Errorf("%s, %s: the objective fell by %v, want more than 0; the step reports %v", f.name, c.name, fell, s.report.decrease)
			}
			if err := s.verify(); err != nil {
				t.Errorf("%s, %s: %v", f.name, c.name, err)
			}
			// Where H has stopped along the direction.
			var along, size float64
			for k, v := range d {
				along, size = along+(s.hv[k]-from[k])*v, size+v*v
				if s.hv[k] < min(from[k], 0) || from[k]+v < 0 {
					t.Fatalf("%s, %s: number %d went from %v to %v, on the way to %v", f.name, c.name, k, from[k], s.hv[k], from[k]+v)
				}
			}
			step := along / size
			other := matrix.NewDense(n, s.pitch, nil)
			for _, to := range []float64{0, 0.25, 0.5, 0.75, 1, step - 0.01, min(step+0.01, 1)} {
				for k, v := range d {
					other.Data()[k] = from[k] + to*v
				}
				figures := s.p.measure(other)
				if there := figures.objective(); !(there >= after.objective()-tol) {
					t.Errorf("%s, %s: stopped at %.3f, though the objective is %v less at %.3f", f.name, c.name, step, after.objective()-there, to)
				}
			}
			s.sweeps, s.report = s.joint.next, sweepReport{} // a step after the first leaves nothing of that
			s.jointly(never)
			once := s.p.measure(s.h)
			if fell := after.objective() - once.objective(); s.joint.next <= s.sweeps || !(math.Abs(fell-s.report.decrease) <= tol) || !(fell > 0) {
				t.Errorf("%s, %s: the objective fell by %v in another step, which reports %v", f.name, c.name, fell, s.report.decrease)
			}
			s.end()
		}
	}
}

// TestJointCut: a sweep that is cut anywhere in a joint step or just after it, with momentum or without,
// leaves H no worse than it was.
func TestJointCut(t *testing.T) {
	a := mustDense(t, curves(t, 200))
	for _, s := range []RowBlock{{}, {NoMomentum: true}, {Compress: 10, Block: 64}} {
		for cut := range jointSteps + 3 { // calls of stop in the joint step, and before two blocks
			p, _, run := startRun(t, a, 10, s, Options{Start: Zero{}})
			var h *matrix.Dense
			for run.sweeps < 40 || run.sweeps < 300 && !run.jointDue() {
				run.sweep(never)
			}
			h = run.publish()
			before := p.measure(h)
			was, looks := run.joint.next, 0
			rep := run.sweep(func() bool { looks++; return looks > cut })
			if !rep.cut {
				t.Fatalf("%+v: not cut after %d calls of stop", s, looks)
			}
			if moved := run.joint.next != was; moved != (cut > jointSteps) {
				t.Errorf("%+v, cut at call %d of stop: a joint step has been taken: %v", s, cut, moved)
			}
			h = run.end()
			if after := p.measure(h); !(after.objective() <= before.objective()+run.noise()) {
				t.Errorf("%+v, cut at call %d of stop: the objective rose from %v to %v", s, cut, before.objective(), after.objective())
			}
		}
	}
}

// TestJointWhen: for dense data, joint steps are taken near the answer while sweeps gain little, and less and
// less often while the steps gain little, the diagonal ignored or not. There are none with ℓ₁ weights.
func TestJointWhen(t *testing.T) {
	const n, r = 40, 3
	a, _ := instance.LowRank(n, r, 1)
	near := func(s *rowBlockRun) float64 { return jointWithin * jointWithin * s.p.norm * s.p.norm / 4 }
	run := func(s RowBlock, opt Options, change func(s *rowBlockRun)) *rowBlockRun {
		opt.Start = Random{}
		run := startJointRun(t, mustDense(t, a), r, s, opt)
		if change != nil {
			change(run)
		}
		run.jointly(never)
		run.end()
		return run
	}
	for _, c := range []struct {
		name   string
		solver RowBlock
		opt    Options
		change func(s *rowBlockRun)
		every  int // sweeps to the next joint step; 0: no joint step
	}{
		{"due", RowBlock{}, Options{}, nil, jointEvery},
		{"never", RowBlock{Joint: NoJoint}, Options{}, nil, 0},
		{"no diagonal", RowBlock{}, Options{IgnoreDiagonal: true}, nil, jointEvery},
		{"ℓ₁", RowBlock{}, Options{L1: []float64{0.1}}, nil, 0},
		{"early", RowBlock{}, Options{}, func(s *rowBlockRun) { s.sweeps-- }, 0},
		{"not yet", RowBlock{}, Options{}, func(s *rowBlockRun) { s.joint.next = s.sweeps + 1 }, 0},
		{"far away", RowBlock{}, Options{}, func(s *rowBlockRun) { s.safeF = 1.02 * near(s) }, 0},
		{"near enough", RowBlock{}, Options{}, func(s *rowBlockRun) { s.safeF = 0.98 * near(s) }, jointEvery},
		{"sweeps gain much", RowBlock{}, Options{}, func(s *rowBlockRun) { s.safeF, s.fallen = near(s)/2, 1.02*jointBelow*near(s)/2 }, 0},
		{"sweeps gain little", RowBlock{}, Options{}, func(s *rowBlockRun) { s.safeF, s.fallen = near(s)/2, 0.98*jointBelow*near(s)/2 }, jointEvery},
		{"little gained", RowBlock{}, Options{}, func(s *rowBlockRun) { s.safeF, s.fallen, s.joint.every = near(s)/2, jointBelow*near(s)/4, 5 }, 5 + jointEvery},
		{"little gained, often", RowBlock{}, Options{}, func(s *rowBlockRun) { s.safeF, s.fallen, s.joint.every = near(s)/2, jointBelow*near(s)/4, jointMost-1 }, jointMost},
	} {
		change := c.change
		if c.every > jointEvery { // at rest, where nothing is left to gain
			change = func(s *rowBlockRun) {
				s.sweeps, s.safeF = 0, math.Inf(1)
				for range 300 {
					s.sweep(never)
				}
				s.sweeps = 1000
				s.joint.next = 0
				if !s.startJoint() {
					t.Fatal("no preconditioner")
				}
				c.change(s)
			}
		}
		s := run(c.solver, c.opt, change)
		if c.every == 0 {
			if s.joint.x != nil {
				t.Errorf("%s: a joint step was taken, want none", c.name)
			}
		} else if s.joint.every != c.every || s.joint.next != s.sweeps+c.every {
			t.Errorf("%s: the interval to the next joint step is %d sweeps, and it is due in %d; want %d", c.name, s.joint.every, s.joint.next-s.sweeps, c.every)
		}
	}
}

// TestJointPays: on inner products of smooth curves, which have a low rank but for noise, 80 sweeps with
// joint steps end at less than three quarters of the error without them.
func TestJointPays(t *testing.T) {
	a := mustDense(t, curves(t, 200))
	for _, r := range []int{20, 60} {
		after := func(joint int) float64 {
			_, _, s := startRun(t, a, r, RowBlock{Joint: joint}, Options{Start: Zero{}})
			defer s.end()
			for range 80 {
				s.sweep(never)
			}
			return 2 * math.Sqrt(s.safeF) / s.p.norm
		}
		with, without := after(0), after(NoJoint)
		t.Logf("r = %d: relative error %.3g with joint steps, %.3g without", r, with, without)
		if !(with < 0.75*without) {
			t.Errorf("r = %d: relative error %.3g after 80 sweeps with joint steps, %.3g without", r, with, without)
		}
	}
}

// TestJointThreads: where joint steps are taken, H has the same bits for any number of threads.
func TestJointThreads(t *testing.T) {
	x := matrix.NewDense(300, 140, nil)
	u := uniform{7}
	for i := range 300 {
		for c := range 140 {
			v := 0.02 * u.at(uint64(1000*i+c))
			for k := range 6 {
				v += u.at(uint64(1e6+8*i+k)) * (1 + math.Cos(0.05*float64(c*(k+1))))
			}
			x.Set(i, c, v)
		}
	}
	points, err := matrix.Gram(x, matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	narrow := matrix.NewDense(300, 40, nil)
	for i := range 300 {
		copy(narrow.Row(i), x.Row(i))
	}
	few, err := matrix.Gram(narrow, matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	single, err := matrix.FromDense32(denseOf(points), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []testForm{{"dense", mustDense(t, denseOf(points))}, {"float32", single}, {"dense points", points}, {"few features", few}} {
		want := ""
		for _, threads := range []int{1, 2, 3, 8} {
			_, _, s := startRun(t, f.a, 13, RowBlock{Block: 64}, Options{Start: Zero{}, Threads: threads})
			var h *matrix.Dense
			for range 60 {
				s.sweep(never)
			}
			s.publish()
			if s.joint.x == nil {
				t.Fatalf("%s: no joint step", f.name)
			}
			h = s.end()
			if got := instance.Hash(h); want == "" {
				want = got
			} else if got != want {
				t.Errorf("%s: %d threads end elsewhere than one", f.name, threads)
			}
		}
	}
}

// TestJointNet: how much a sweep has lowered the objective, momentum included, is known wherever the
// objective is, also with a low rank in place of A and with the diagonal ignored. It is not known in rough sweeps, after a change of A,
// after a sweep row by row, or after H went back.
func TestJointNet(t *testing.T) {
	const r = roughRank
	low, _ := instance.LowRank(500, r, 1)
	for _, c := range []struct {
		name   string
		a      matrix.Operator
		s      RowBlock
		ignore bool
		known  bool
	}{
		{"dense", mustDense(t, instance.FullRank(100, 1)), RowBlock{}, false, true},
		{"dense, no diagonal", mustDense(t, instance.FullRank(100, 1)), RowBlock{}, true, true},
		{"points", jointForms(t, 60)[1].a, RowBlock{}, false, true},
		{"low rank", mustDense(t, low), RowBlock{Compress: 5}, false, true},
		{"rough", roughProblem(t), RowBlock{}, false, false},
	} {
		_, _, s := startRun(t, c.a, r, c.s, Options{Start: Random{}, Threads: 1, IgnoreDiagonal: c.ignore})
		s.release()
		left := func() float64 {
			product := s.p.a.NewProduct(s.h, 1)
			return s.objective(s.innerOf(product))
		}
		before := math.NaN()
		for k := range 12 {
			provisional := s.sweep(never).provisional
			now := left()
			if want := before - now; k > 0 && (c.known || !provisional && !math.IsNaN(s.joint.net)) && !(math.Abs(s.joint.net-want) <= s.noise()) {
				t.Errorf("%s, sweep %d: net is %v, the objective fell by %v", c.name, k+1, s.joint.net, want)
			}
			if !c.known && provisional && !math.IsNaN(s.joint.net) {
				t.Errorf("%s, sweep %d: net is %v in a rough sweep, want NaN", c.name, k+1, s.joint.net)
			}
			before = now
		}
		if s.p != s.full {
			s.expand()
			if s.sweep(never); !math.IsNaN(s.joint.net) {
				t.Errorf("%s: net is %v when A takes over, want NaN", c.name, s.joint.net)
			}
		}
		if c.name == "dense" {
			s.alone = true
			if s.sweep(never); !math.IsNaN(s.joint.net) {
				t.Errorf("net is %v after a sweep row by row, want NaN", s.joint.net)
			}
			s.sweep(never)
		}
		s.back(s.prev)
		if s.sweep(never); !math.IsNaN(s.joint.net) {
			t.Errorf("%s: net is %v after H went back, want NaN", c.name, s.joint.net)
		}
	}
}

// TestJointWeighed: a joint step pays if it gains half of what the last sweep gained for as much work. That
// gain counts from where the sweep before left H, if it is known and beyond rounding, and else from where
// momentum had put H.
func TestJointWeighed(t *testing.T) {
	a, _ := instance.LowRank(40, 3, 1)
	for _, c := range []struct {
		name        string
		net, fallen float64 // relative to what the joint step gains
		pays        bool
	}{
		{"known, little", 0.1, 10, true}, {"known, much", 10, 0.1, false}, {"risen", -10, 10, true},
		{"unknown, little", math.NaN(), 0.1, true}, {"unknown, much", math.NaN(), 10, false}, {"rounding", 0, 10, false},
	} {
		gain := 0.0
		for range 2 { // the first time finds what the step gains
			s := startJointRun(t, mustDense(t, a), 3, RowBlock{NoMomentum: true}, Options{Start: Random{}})
			s.safeF = math.Inf(1)
			for range 45 {
				s.sweep(never)
			}
			s.safeF = jointWithin * jointWithin * s.p.norm * s.p.norm / 4
			s.joint = jointState{net: c.net * gain}
			if s.fallen = c.fallen * gain; s.fallen > jointBelow*s.safeF {
				t.Fatalf("%s: no joint step is due", c.name)
			}
			before := s.report.decrease
			s.jointly(never)
			if gain == 0 {
				gain = s.report.decrease - before
				s.end()
				continue
			}
			if paid := s.joint.every == jointEvery; paid != c.pays || !paid && s.joint.every != 2*jointEvery {
				t.Errorf("%s: the next joint step is due after %d sweeps", c.name, s.joint.every)
			}
			s.end()
		}
	}
}

// TestJointInverse: the preconditioner is (D + damp·I)⁻¹, with zeros in the padding of its rows.
func TestJointInverse(t *testing.T) {
	a, _ := instance.LowRank(90, 7, 1)
	_, _, run := startRun(t, mustDense(t, a), 7, RowBlock{}, Options{Start: Random{}, Threads: 1})
	defer run.release()
	for range 3 {
		run.sweep(never)
	}
	for range 2 { // the second time there are old values to overwrite
		if !run.startJoint() {
			t.Fatal("no preconditioner")
		}
	}
	damp := 0.0
	for k := range 7 {
		damp += jointDamp / 7 * run.gram[k*run.pitch+k]
	}
	for i := range run.pitch {
		for j := range run.pitch {
			got, want := 0.0, 0.0
			for k := range 7 {
				d := run.gram[i*run.pitch+k]
				if i == k {
					d += damp
				}
				got += d * run.joint.inverse[k*run.pitch+j]
			}
			if i == j && i < 7 {
				want = 1
			}
			if i < 7 && !(math.Abs(got-want) <= 1e-9) {
				t.Errorf("(D + damp·I)·inverse is %v at %d, %d, want that of I", got, i, j)
			}
			if v := run.joint.inverse[i*run.pitch+j]; (i >= 7 || j >= 7) && v != 0 {
				t.Errorf("%v at %d, %d, in the padding of the inverse, want 0", v, i, j)
			}
		}
	}
}
