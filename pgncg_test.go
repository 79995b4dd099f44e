package symnmf

import (
	"math"
	"slices"
	"testing"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// TestPGNCGStep: if CG is large, Z nearly solves the normal equations. The change of the objective by which a
// step is judged, ⟨G,δ⟩, and the KKT residual kept are those of the definitions.
func TestPGNCGStep(t *testing.T) {
	for _, name := range goldenNames {
		g := readGolden(t, name)
		p, h := goldenProblem(t, g, g.forms(t)["dense"])
		s := PGNCG{CG: 200}.start(p, h, 0).(*pgncgRun)
		for sweep := range 3 {
			s.solve(false, never)
			z, d := s.z, s.gram
			zh := make([]float64, g.R*g.R) // ZᵀH; this and all below is from the definitions
			for j := range g.R {
				for k := range g.R {
					for i := range g.N {
						zh[j*g.R+k] += z.At(i, j) * h.At(i, k)
					}
				}
			}
			var worst float64
			for i := range g.N {
				for k := range g.R {
					left := 0.0
					for j := range g.R {
						left += (h.At(i, j)-z.At(i, j))*d[j*g.R+k] - h.At(i, j)*zh[j*g.R+k]
					}
					for l := range g.N {
						left -= p.scale * g.a.At(i, l) * h.At(l, k)
					}
					worst = max(worst, math.Abs(left))
				}
			}
			if !(worst <= 1e-7) { // the equations are singular, and ‖G‖ is about 1
				t.Errorf("%s, sweep %d: the normal equations are off by %.2g", name, sweep, worst)
			}
			objective := func(h *matrix.Dense) (f float64) {
				for i := range g.N {
					for l := range g.N {
						v := p.scale * g.a.At(i, l)
						for j := range g.R {
							v -= h.At(i, j) * h.At(l, j)
						}
						f += v * v / 4
					}
				}
				return f
			}
			for _, step := range []float64{1, 0.25, 1e-3} {
				change, along := s.try(s.z, step)
				if want := objective(s.next) - objective(h); !(math.Abs(change-want) <= 1e-13*max(1, want)) {
					t.Errorf("%s, sweep %d, step %v: the objective changes by %v, the step was judged by %v", name, sweep, step, want, change)
				}
				want := 0.0
				for k, v := range s.next.Data() {
					want += s.grad.Data()[k] * (v - h.Data()[k])
				}
				if !(math.Abs(along-want) <= 1e-14) {
					t.Errorf("%s, sweep %d, step %v: ⟨G,δ⟩ = %v by definition, got %v", name, sweep, step, want, along)
				}
			}
			before := objective(h)
			if rep := s.sweep(never); rep.changed == 0 || !(math.Abs(before-objective(h)-rep.decrease) <= 1e-13) {
				t.Errorf("%s, sweep %d: %+v, the objective goes from %v to %v", name, sweep, rep, before, objective(h))
			}
			if f := p.measure(h); !(math.Abs(f.gradKKT-s.stepSq) <= 1e-14) {
				t.Errorf("%s, sweep %d: stepSq %v, by definition %v", name, sweep, s.stepSq, f.gradKKT)
			}
		}
	}
}

// TestPGNCGGuard: the published step raises the error, and comes to rest where the objective still has a
// slope. Ours does neither, and knows the objective well enough to converge far beyond the point where
// differences of objectives are rounding.
func TestPGNCGGuard(t *testing.T) {
	for _, name := range goldenNames {
		g := readGolden(t, name)
		a := g.forms(t)["sparse"]
		opt := Options{Solver: PGNCG{}, Start: Given{g.start}, Trace: true, Stop: Stop{Sweeps: 1000, KKT: 1e-9}}
		if name == "fullrank60" {
			opt.Stop.KKT = 1e-6 // it is slow there
		}
		res := factorize(t, a, g.R, opt)
		if res.Status != Converged {
			t.Errorf("%s: %v after %d sweeps, KKT %v", name, res.Status, res.Sweeps, res.KKT)
		}
		for k, p := range res.Trace[1:] {
			if before := res.Trace[k]; !(p.RelErr <= before.RelErr+1e-14) {
				t.Errorf("%s, sweep %d: the error rises from %v to %v", name, p.Sweep, before.RelErr, p.RelErr)
			}
		}
	}
	g := readGolden(t, "text120")
	opt := Options{Solver: PGNCG{published: true}, Start: Given{g.start}, Trace: true, Stop: Stop{Sweeps: 1000}}
	if res := factorize(t, g.forms(t)["dense"], g.R, opt); !(res.Trace[1].RelErr >= 1.4) || !(res.KKT >= 0.01) || !(res.RelErr >= 0.32755) {
		t.Errorf("the published steps do no harm: relative error %v after one, %v after all, KKT %v", res.Trace[1].RelErr, res.RelErr, res.KKT)
	}
}

// TestPGNCGHeld: with entries held, those that a step down the gradient takes to zero have Z = G/‖A‖. The
// others solve their own equations, from which the entries held are left out.
func TestPGNCGHeld(t *testing.T) {
	g := readGolden(t, "graph80")
	p, h := goldenProblem(t, g, g.forms(t)["dense"])
	s := PGNCG{CG: 300}.start(p, h, 0).(*pgncgRun)
	for range 5 {
		s.sweep(func() bool { return false })
	}
	s.solve(true, never)
	held := 0
	free := s.z.Clone() // Z without the entries held
	for k, v := range s.grad.Data() {
		if h.Data()[k] <= v/p.norm {
			if s.z.Data()[k] != v/p.norm {
				t.Fatalf("Z[%d] = %v, want %v", k, s.z.Data()[k], v/p.norm)
			}
			held++
			free.Data()[k] = 0
		}
	}
	zh := p.cross(free, h)
	for i := range g.N {
		for k := range g.R {
			if free.At(i, k) == 0 {
				continue
			}
			left := s.grad.At(i, k)
			for j := range g.R {
				left -= free.At(i, j)*s.gram[j*g.R+k] + h.At(i, j)*zh[j*g.R+k]
			}
			if !(math.Abs(left) <= 1e-9) {
				t.Errorf("the equation of (%d,%d) is off by %.2g", i, k, left)
			}
		}
	}
	if held == 0 || held == g.N*g.R {
		t.Errorf("%d entries of %d are held, want some but not all", held, g.N*g.R)
	}
}

// TestPGNCGEnds: conjugate gradient steps stop when the run has to end, and H stays as it is.
func TestPGNCGEnds(t *testing.T) {
	g := readGolden(t, "graph80")
	p, h := goldenProblem(t, g, g.forms(t)["dense"])
	s := PGNCG{CG: 300}.start(p, h, 0).(*pgncgRun)
	before, looks := h.Clone(), 0
	rep := s.sweep(func() bool { looks++; return looks > 5 })
	if !rep.cut || looks > 7 || !slices.Equal(h.Data(), before.Data()) {
		t.Errorf("%+v after %d looks", rep, looks)
	}
}

// TestPGNCGUphill: no step is taken along a Z that leads uphill, and one is taken down the gradient. From
// zero, where there is no way down, H stays as it is.
func TestPGNCGUphill(t *testing.T) {
	g := readGolden(t, "fullrank60")
	p, h := goldenProblem(t, g, g.forms(t)["dense"])
	s := PGNCG{}.start(p, h, 0).(*pgncgRun)
	before := p.measure(h)
	for k, v := range s.grad.Data() {
		s.z.Data()[k] = -v
	}
	for t0 := 1.0; t0 > 1e-3; t0 /= 2 {
		if change, along := s.try(s.z, t0); !(change >= 0) || !(along > 0) {
			t.Fatalf("step %v uphill: change %v, along %v", t0, change, along)
		}
	}
	if _, ok := s.search(s.z, 0, 10, func() bool { return false }); ok {
		t.Error("a step uphill is taken")
	}
	if rep, ok := s.search(s.grad, 0, 60, func() bool { return false }); !ok || !(rep.decrease > 0) {
		t.Errorf("a step down the gradient is not taken: %+v", rep)
	}
	if after := p.measure(h); !(after.objective() < before.objective()) {
		t.Errorf("objective %v after %v", after.objective(), before.objective())
	}
	zero := matrix.NewDense(g.N, g.R, nil)
	rest := PGNCG{}.start(p, zero, 0).(*pgncgRun)
	if rep := rest.sweep(func() bool { return false }); rep.changed != 0 || rep.cut || kernel.Nonzero(zero.Data()) {
		t.Errorf("from zero: %+v", rep)
	}
}
