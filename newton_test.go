package symnmf

import (
	"errors"
	"math"
	"slices"
	"testing"

	"symnmf/internal/instance"
	"symnmf/matrix"
)

// definite returns a symmetric positive definite matrix of m rows.
func definite(m int, seed uint64) []float64 {
	a := slices.Clone(instance.FullRank(m, seed).Data())
	for i := range m {
		a[i*m+i] += 2 * float64(m)
	}
	return a
}

// TestCholesky: L·Lᵀ is A on and below the diagonal, for sizes around those of blocks. The bits of L do not
// depend on the number of workers. A matrix that is not positive definite is refused.
func TestCholesky(t *testing.T) {
	for _, m := range []int{0, 1, 2, 3, 63, 64, 65, 128, 130, 200} {
		a := definite(m, 1)
		l := slices.Clone(a)
		for i := range m { // the part above the diagonal must not matter
			for k := i + 1; k < m; k++ {
				l[i*m+k] = math.NaN()
			}
		}
		spoilt := slices.Clone(l)
		if !cholesky(l, m, 1) {
			t.Fatalf("m = %d: not positive definite", m)
		}
		for i := range m {
			for k := range i + 1 {
				sum := 0.0
				for c := range k + 1 {
					sum += l[i*m+c] * l[k*m+c]
				}
				// The usual bound: (m+1)·ε·Σ|L_ic|·|L_kc| ≤ (m+1)·ε·√(A_ii·A_kk).
				if d := math.Abs(sum - a[i*m+k]); !(d <= float64(m+1)*0x1p-52*math.Sqrt(a[i*m+i]*a[k*m+k])) {
					t.Fatalf("m = %d: (LLᵀ)[%d,%d] = %v, want %v", m, i, k, sum, a[i*m+k])
				}
			}
		}
		x := make([]float64, m)
		for i := range m {
			for k := range m {
				x[i] += a[i*m+k] * float64(k%5-2)
			}
		}
		choleskySolve(l, m, x)
		for k, v := range x { // the condition number is below 4
			if want := float64(k%5 - 2); !(math.Abs(v-want) <= 1e-12) {
				t.Fatalf("m = %d: solution[%d] = %v, want %v", m, k, v, want)
			}
		}
		for _, workers := range []int{2, 3, 8} {
			again := slices.Clone(spoilt)
			cholesky(again, m, workers)
			for i := range m {
				if !slices.Equal(again[i*m:i*m+i+1], l[i*m:i*m+i+1]) {
					t.Fatalf("m = %d: %d workers change row %d", m, workers, i)
				}
			}
		}
	}
	for _, bad := range []int{0, 1, 63, 64, 99} {
		a := definite(100, 2)
		a[bad*100+bad] = 0
		if cholesky(a, 100, 2) {
			t.Errorf("positive definite with a zero at [%d,%d]", bad, bad)
		}
	}
	if cholesky([]float64{math.NaN()}, 1, 1) {
		t.Error("NaN is positive definite")
	}
}

// TestInverseRoot: G·A·Gᵀ = I for sizes around those of blocks, where G is lower triangular, and Gᵀ is its
// transpose. A matrix that is singular, or has a NaN on its diagonal, is refused.
func TestInverseRoot(t *testing.T) {
	for _, m := range []int{1, 2, 7, 8, 9, 16, 17, 61} {
		a := definite(m, 1)
		lower := slices.Clone(a)
		for i := range m { // the part above the diagonal must not matter
			for k := i + 1; k < m; k++ {
				lower[i*m+k] = math.NaN()
			}
		}
		g, gt := make([]float64, m*m), make([]float64, m*m)
		for i := range g { // nor must what G and Gᵀ held before
			g[i], gt[i] = math.NaN(), math.NaN()
		}
		if !inverseRoot(g, gt, lower, m) {
			t.Fatalf("m = %d: not positive definite", m)
		}
		for i := range m {
			for k := range m {
				if g[i*m+k] != gt[k*m+i] || k > i && g[i*m+k] != 0 {
					t.Fatalf("m = %d: G[%d,%d] = %v, of the transpose %v", m, i, k, g[i*m+k], gt[k*m+i])
				}
				sum := 0.0 // (G·A·Gᵀ)[i,k]
				for c := range m {
					for l := range m {
						sum += g[i*m+c] * a[c*m+l] * g[k*m+l]
					}
				}
				if i == k {
					sum--
				}
				if !(math.Abs(sum) <= 1e-13*float64(m)) {
					t.Fatalf("m = %d: (GAGᵀ)[%d,%d] is off by %v", m, i, k, sum)
				}
			}
		}
		for bad := range m {
			b := slices.Clone(a)
			b[bad*m+bad] = 0
			if inverseRoot(g, gt, b, m) {
				t.Errorf("m = %d: positive definite with a zero at %d", m, bad)
			}
			b[bad*m+bad] = math.NaN()
			if inverseRoot(g, gt, b, m) {
				t.Errorf("m = %d: positive definite with NaN at %d", m, bad)
			}
		}
	}
	if g := make([]float64, 4); inverseRoot(g, g, []float64{1, 1, 1, 1 + 0x1p-50}, 2) {
		t.Error("a matrix that is singular up to rounding is not refused")
	}
}

// TestNewtonStep: to first order, a Newton step of a column undoes its gradient: along the step, the gradient
// of the column changes at a rate equal to itself. The rate is measured by central differences, which for a
// cubic gradient are exact except for the third power. An entry held at zero has no step into the constraint.
func TestNewtonStep(t *testing.T) {
	for _, name := range []string{"fullrank60", "graph80", "text120"} {
		g := readGolden(t, name)
		for form, a := range g.forms(t) {
			p, h := goldenProblem(t, g, a)
			s := Newton{}.start(p, h, 0).(*newtonRun)
			for range 20 {
				s.sweep(func() bool { return false })
			}
			s.subtract()
			grad := s.gradient4()
			gradientAt := func(h *matrix.Dense) *matrix.Dense { return (&newtonRun{iterate: newSloped(p, h)}).gradient4() }
			checked := 0
			for j := range p.r {
				before := s.newton
				for i := range p.n {
					s.step.Set(i, j, -1) // left by another sweep
				}
				s.column(j, grad)
				if s.newton == before {
					continue
				}
				for i := range p.n {
					if v := s.step.At(i, j); s.h.At(i, j) <= s.epsH && (v > 0 || v != 0 && grad.At(i, j) > s.epsG) {
						t.Fatalf("%s/%s, column %d: entry %d is held at zero and has a step of %v", name, form, j, i, v)
					}
				}
				const eps = 1e-4
				up, down := s.h.Clone(), s.h.Clone()
				for i := range p.n {
					d := eps * s.step.At(i, j)
					up.Set(i, j, up.At(i, j)+d)
					down.Set(i, j, down.At(i, j)-d)
				}
				gu, gd := gradientAt(up), gradientAt(down)
				for i := range p.n {
					if s.h.At(i, j) <= s.epsH { // held at zero, or left out of the step by its direction
						continue
					}
					rate := (gu.At(i, j) - gd.At(i, j)) / (2 * eps)
					if d := math.Abs(rate - grad.At(i, j)); !(d <= 1e-6*(1+math.Abs(rate))) && !s.cutAtZero(j, grad) {
						t.Fatalf("%s/%s, column %d, item %d: the gradient changes by %v, want %v", name, form, j, i, rate, grad.At(i, j))
					}
					checked++
				}
			}
			if checked < p.n {
				t.Errorf("%s/%s: %d entries checked", name, form, checked)
			}
		}
	}
}

// cutAtZero reports whether the step of column j was changed after it was solved for.
func (s *newtonRun) cutAtZero(j int, grad *matrix.Dense) bool {
	for i := range s.p.n {
		if s.h.At(i, j) <= s.epsH && grad.At(i, j) <= s.epsG && s.step.At(i, j) == 0 {
			return true
		}
	}
	return false
}

// TestGoldenNewtonColumns: as many columns take Newton and gradient steps as in the recorded runs of 50
// sweeps.
func TestGoldenNewtonColumns(t *testing.T) {
	for _, name := range goldenNames {
		g := readGolden(t, name)
		p, h := goldenProblem(t, g, g.forms(t)["dense"])
		s := Newton{published: true}.start(p, h, 0).(*newtonRun)
		for range 50 {
			s.sweep(func() bool { return false })
		}
		if got, want := [2]int{s.newton, s.gradient}, g.Methods["own-newton"].ColumnSteps; got != want {
			t.Errorf("%s: %v columns took Newton and gradient steps, golden %v", name, got, want)
		}
	}
}

// TestNewtonStandsStill: if no step is short enough to help, H stays as it is, and a column of zeros without
// a gradient has no step. A run that is stopped during the search leaves H as it was.
func TestNewtonStandsStill(t *testing.T) {
	p, h := goldenProblem(t, readGolden(t, "cp5"), readGolden(t, "cp5").forms(t)["dense"])
	s := Newton{}.start(p, h, 0).(*newtonRun)
	s.step.Set(0, 0, 1)
	zero := matrix.NewDense(p.n, p.r, nil)
	for i := range p.n { // a column of zeros
		s.h.Set(i, 0, 0)
		s.diff[i*p.n+i] = 1
	}
	s.gram[0] = 0
	if s.column(0, zero); s.newton != 0 || s.gradient != 1 || s.step.At(0, 0) != 0 {
		t.Errorf("a column without a gradient: %d Newton and %d gradient steps, of %v", s.newton, s.gradient, s.step.At(0, 0))
	}
	s.look()
	s.at.errSq = math.Inf(-1)
	was := slices.Clone(h.Data())
	if rep := s.sweep(func() bool { return false }); rep.changed != 0 || rep.decrease != 0 || rep.cut || !slices.Equal(h.Data(), was) {
		t.Errorf("%+v", rep)
	}
	calls := 0
	if rep := s.sweep(func() bool { calls++; return calls == p.r+2 }); !rep.cut || !slices.Equal(h.Data(), was) {
		t.Errorf("stopped during the search: %+v", rep)
	}
}

// TestNewtonTooLarge: two n×n matrices that no memory can hold are refused before they are allocated.
func TestNewtonTooLarge(t *testing.T) {
	opt := Options{Start: Random{}}
	p := &problem{n: newtonMost + 1}
	if err := (Newton{}).accepts(p, &opt); !errors.Is(err, ErrUnfit) {
		t.Errorf("n = %d: %v", p.n, err)
	}
}

// TestNewtonHeldAtZero: an entry at zero that the step would lower is left out of the step.
func TestNewtonHeldAtZero(t *testing.T) {
	opt := Options{}
	p, err := newProblem(mustDense(t, filled(2, 2, 1)), 1, &opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ off, want float64 }{{-0.9, 0}, {0.9, -0.9 / 1.19 / 4}} {
		s := Newton{}.start(p, matrix.NewDense(2, 1, []float64{1, 0}), 0).(*newtonRun)
		copy(s.diff, []float64{0, math.NaN(), c.off, 0}) // B/4 = [2, off; off, 1]
		s.column(0, matrix.NewDense(2, 1, []float64{1, 0}))
		if v, w := s.step.At(0, 0), s.step.At(1, 0); s.newton != 1 || !(math.Abs(v-1/1.19/4) <= 1e-15) || !(math.Abs(w-c.want) <= 1e-15) {
			t.Errorf("A_12 = %v: step %v, %v, want %v, %v", c.off, v, w, 1/1.19/4, c.want)
		}
	}
}
