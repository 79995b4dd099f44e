package symnmf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// coupledVariants returns the methods with two factors, each with all its weights.
func coupledVariants(t testing.TB) []variant {
	var list []variant
	for _, v := range variants(t) {
		if weightsOf(v.solver) != nil {
			list = append(list, v)
		}
	}
	if len(list) < 11 {
		t.Fatalf("%d variants", len(list))
	}
	return list
}

// runOn returns a run of s on a from a random start, in scaled units.
func runOn(t testing.TB, s Solver, a matrix.Operator, r int) *coupled {
	t.Helper()
	p, err := newProblem(a, r, &Options{Seed: 3, Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	h := matrix.NewDense(p.n, r, nil)
	if err := (Random{}).fill(p, h, 0); err != nil {
		t.Fatal(err)
	}
	return coupledOf(s.start(p, h, 0))
}

// coupledOf returns what the runs with two factors have in common.
func coupledOf(r run) *coupled {
	switch s := r.(type) {
	case *spectralSteps:
		return s.coupled
	case *sampled:
		return s.coupled
	}
	return r.(*coupled)
}

// naivePenalized computes P from its definition.
func naivePenalized(a, w, h *matrix.Dense, alpha float64) (f float64) {
	n, _ := a.Dims()
	for i := range n {
		for l := range n {
			d := a.At(i, l)
			for j, v := range w.Row(i) {
				d -= v * h.At(l, j)
			}
			f += d * d / 2
		}
		for j, v := range w.Row(i) {
			d := v - h.At(i, j)
			f += alpha * d * d / 2
		}
	}
	return f
}

// TestPenalizedFalls: P, computed from the quantities kept, is that of the definition, and it does not rise
// in any half sweep.
func TestPenalizedFalls(t *testing.T) {
	for _, v := range coupledVariants(t) {
		if !traitsFor(v.solver).penalized {
			continue // lvs, for which nothing is certain to fall
		}
		for _, in := range instances(t) {
			for form, a := range in.forms {
				s := runOn(t, v.solver, a, in.r)
				scaled := in.dense.Clone()
				for k := range scaled.Data() {
					scaled.Data()[k] *= s.p.scale
				}
				size := s.p.norm * s.p.norm
				before, _ := s.penalized()
				for sweep := range 15 {
					for _, f := range [...]struct{ x, y *iterate }{{s.w, s.h}, {s.h, s.w}} {
						s.update(f.x, f.y)
						f.x.look()
						now, gapSq := s.penalized()
						if want := naivePenalized(scaled, s.w.h, s.h.h, s.alpha); !(math.Abs(now-want) <= 1e-12*(size+s.alpha*gapSq)) {
							t.Fatalf("%s on %s (%s), sweep %d: P = %v, by definition %v", v.name, in.name, form, sweep, now, want)
						}
						if !(now <= before+1e-14*(size+s.alpha*gapSq)) {
							t.Fatalf("%s on %s (%s), sweep %d: P rises from %v to %v", v.name, in.name, form, sweep, before, now)
						}
						before = now
					}
					if s.alpha == 0 {
						s.balance()
					}
				}
			}
		}
	}
}

// TestHALSByColumns: updating each row by itself gives what the definition gives column by column.
func TestHALSByColumns(t *testing.T) {
	g := readGolden(t, "fullrank60")
	s := runOn(t, SymHALS{}, g.forms(t)["dense"], g.R)
	s.sweep(never) // from here on W and H differ
	w, h := s.w.h.Clone(), s.h.h
	for k := range g.R {
		for i := range g.N {
			num, hkSq := s.alpha*h.At(i, k), 0.0
			for l := range g.N {
				num += s.p.scale * g.a.At(i, l) * h.At(l, k)
				hkSq += h.At(l, k) * h.At(l, k)
				for j, v := range w.Row(i) {
					num -= v * h.At(l, j) * h.At(l, k)
				}
			}
			w.Set(i, k, max(0, (num+hkSq*w.At(i, k))/(hkSq+s.alpha)))
		}
	}
	s.hals(s.w, s.h)
	for k, v := range s.w.h.Data() {
		if d := math.Abs(v - w.Data()[k]); !(d <= 1e-13) {
			t.Fatalf("W[%d,%d] = %v, by definition %v", k/g.R, k%g.R, v, w.Data()[k])
		}
	}
}

// TestSpectralStep compares the step length with known ones.
func TestSpectralStep(t *testing.T) {
	for _, c := range []struct{ rise, slope, curve, want float64 }{
		{0, -1, 1, 1},
		{0, -1, 1.9999, 0.25}, // s = 1 falls by less than 1e-4 of the slope
		{0.1, -1, 2.1, 1},     // s = 1 may rise to the reference
		{0, -1, 20, 0.0625},
		{0, -1, 1e12, 1e-12}, // no step down to 10⁻⁵ falls, so it is the minimizer
		{0, 0, 0, 1},
	} {
		if got := spectralStep(c.rise, c.slope, c.curve); got != c.want {
			t.Errorf("rise %v, slope %v, curve %v: s = %v, want %v", c.rise, c.slope, c.curve, got, c.want)
		}
	}
}

// TestProjectedSq compares with the definition, also for the smallest entries of X and for large slopes.
func TestProjectedSq(t *testing.T) {
	x := []float64{0, 0, 0x1p-1074, 0x1p-1074, 3, 3, 1e300, 0}
	g := []float64{-2, 5, -7, 1e100, 11, -13, 17, 0}
	want := 0.0
	for k, v := range g {
		if v < 0 || x[k] > 0 {
			want += v * v
		}
	}
	if got := projectedSq(x, g); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestHALSWithoutWeight: an entry with D_kk + α = 0, which changes nothing, stays as it is.
func TestHALSWithoutWeight(t *testing.T) {
	x := []float64{2, 3}
	halsBlock(x, []float64{0, 8}, []float64{1, 1}, []float64{0, 0, 0, 2}, 0, 2, make([]float64, 5))
	if x[0] != 2 || x[1] != 4 {
		t.Errorf("x = %v, want 2, 4", x)
	}
}

// TestHALSBlock: rows that are updated together end as each does by itself, from the definition.
func TestHALSBlock(t *testing.T) {
	for _, m := range []int{1, 3, halsRows} {
		for _, r := range []int{1, 2, 7, 16} {
			random := func(key uint64, size int) []float64 {
				x := make([]float64, size)
				for k := range x {
					x[k] = uniform{key}.at(uint64(k))
				}
				return x
			}
			x, a, h, basis := random(1, m*r), random(2, m*r), random(3, m*r), random(4, r*r)
			d := make([]float64, r*r)
			kernel.Gram(d, basis, r)
			const alpha = 0.5
			want := slices.Clone(x)
			for i := range m {
				row := want[i*r : (i+1)*r]
				for k, v := range row {
					sum := a[i*r+k] + alpha*h[i*r+k] + d[k*r+k]*v
					for j, w := range row {
						sum -= d[k*r+j] * w
					}
					row[k] = max(0, sum/(d[k*r+k]+alpha))
				}
			}
			halsBlock(x, a, h, d, alpha, r, make([]float64, m*(2*r+1)))
			for k, v := range want {
				if got := x[k]; !(math.Abs(got-v) <= float64(4*r*r*r)*0x1p-53*float64(r)) { // r sums of r terms up to r, each built on the one before
					t.Fatalf("%d rows, r = %d: entry [%d,%d] is %v, want %v", m, r, k/r, k%r, got, v)
				}
			}
		}
	}
}

// TestGoldenGap: ‖U−V‖/‖V‖ is the recorded one.
func TestGoldenGap(t *testing.T) {
	compared := 0
	for _, name := range goldenNames {
		g := readGolden(t, name)
		for method, solver := range map[string]Solver{
			"symanls-1": SymANLS{Lambda: Weight{WeightValue, 1}}, "symanls-norm": SymANLS{},
			"symhals-1": SymHALS{Lambda: Weight{WeightValue, 1}}, "symhals-norm": SymHALS{},
		} {
			p, h := goldenProblem(t, g, g.forms(t)["sparse"])
			s := coupledOf(solver.start(p, h, 0))
			for sweep := 1; sweep <= 50; sweep++ {
				s.sweep(never)
				want, ok := g.Methods[method].GapUV[fmt.Sprint(sweep)]
				if !ok {
					continue
				}
				_, gapSq := s.penalized()
				got := math.Sqrt(gapSq) / mat.Norm(s.h.h, 2)
				if d := math.Abs(got - want); !(d <= 1e-7) || sweep <= 10 && d > 1e-10 {
					t.Errorf("%s/%s after %d: gap %v, golden %v", name, method, sweep, got, want)
				}
				compared++
			}
		}
	}
	if compared != 6*4*5 {
		t.Errorf("%d comparisons, want 120", compared)
	}
}

// TestBetterFactor: the answer is the factor with the smaller error, and the note names it.
func TestBetterFactor(t *testing.T) {
	chosen := map[string]bool{}
	for _, v := range coupledVariants(t) {
		for _, in := range instances(t) {
			if in.name == "one item" {
				continue // both factors are exact
			}
			a := in.forms[slices.Sorted(mapKeys(in.forms))[0]]
			s := runOn(t, v.solver, a, in.r)
			unscale := 1 / math.Sqrt(s.p.scale)
			s.sweep(never)
			s.sweep(never)
			var want *matrix.Dense
			least := math.Inf(1)
			for _, f := range []*matrix.Dense{s.h.h, s.w.h} {
				h := f.Clone()
				for k := range h.Data() {
					h.Data()[k] *= unscale
				}
				if e := measureNaively(in.dense, h, make([]float64, in.r), false).err; e < least {
					want, least = h, e
				}
			}
			res := factorize(t, a, in.r, Options{Solver: v.solver, Start: Random{}, Seed: 3, Stop: Stop{Sweeps: 2, KKT: -1}, Threads: 2})
			if !slices.Equal(res.H.Data(), want.Data()) {
				t.Errorf("%s on %s: the answer, of error %v, is not the factor of error %v", v.name, in.name, res.RelErr*res.NormA, least)
			}
			if len(res.Notes) != 1 {
				t.Fatalf("%s on %s: notes %q", v.name, in.name, res.Notes)
			}
			named := "second"
			if s.better() == s.w {
				named = "first"
			}
			if !strings.Contains(res.Notes[0], "the answer is the "+named) {
				t.Errorf("%s on %s: the answer is the %s; %q", v.name, in.name, named, res.Notes[0])
			}
			chosen[named] = true
		}
	}
	if len(chosen) != 2 {
		t.Errorf("the answer was always the same factor: %v", chosen)
	}
}

// TestCoupledNotes: the note says that W = H is certain exactly if ‖W‖₂‖H‖₂ < 2λ + λ_min(A), and it states
// both sides. ‖A‖₂, max A and the estimate of λ_min(A), which may only be too low, are those of A.
func TestCoupledNotes(t *testing.T) {
	said := map[string]int{}
	for _, name := range goldenNames {
		g := readGolden(t, name)
		var e mat.EigenSym
		if !e.Factorize(mat.NewSymDense(g.N, g.a.Data()), false) {
			t.Fatal(name)
		}
		values := e.Values(nil)
		for form, a := range g.forms(t) {
			p, _ := goldenProblem(t, g, a)
			if got, want := p.norm2()/p.scale, values[g.N-1]; !(math.Abs(got-want) <= 1e-11*want) {
				t.Errorf("%s (%s): ‖A‖₂ = %v, want %v", name, form, got, want)
			}
			if got, want := p.largest()/p.scale, slices.Max(g.a.Data()); !(math.Abs(got-want) <= 1e-14*want) {
				t.Errorf("%s (%s): max A = %v, want %v", name, form, got, want)
			}
			got, err := p.leastEigenvalue(context.Background())
			if got /= p.scale; err != nil || !(got <= values[0]+1e-12*values[g.N-1]) || !(got >= values[0]-1e-4*values[g.N-1]) {
				t.Errorf("%s (%s): λ_min(A) = %v, want a little below %v", name, form, got, values[0])
			}
			for _, lambda := range []float64{0.01, 1, 10} {
				lambda *= values[g.N-1]
				solver := SymANLS{Lambda: Weight{WeightValue, lambda}, published: true}
				opt := Options{Solver: solver, Start: Given{g.start}, Stop: Stop{Sweeps: 4, KKT: -1}}
				note := factorize(t, a, g.R, opt).Notes[0]
				s := coupledOf(solver.start(p, matrix.NewDense(g.N, g.R, scaledBy(g.start.Data(), math.Sqrt(p.scale))), 0))
				for range 4 {
					s.sweep(never)
				}
				var w, h mat.SVD
				w.Factorize(s.w.h, mat.SVDNone)
				h.Factorize(s.h.h, mat.SVDNone)
				norms := w.Values(nil)[0] * h.Values(nil)[0] / p.scale
				certain := norms < 2*lambda+values[0]
				if strings.Contains(note, "they are equal where P is stationary") != certain || strings.Contains(note, "is not certain") == certain {
					t.Errorf("%s (%s), λ = %v: ‖W‖₂‖H‖₂ = %v, 2λ+λ_min = %v: %q", name, form, lambda, norms, 2*lambda+values[0], note)
				}
				m := inNote.FindStringSubmatch(note)
				if m == nil {
					t.Fatalf("%s (%s): %q", name, form, note)
				}
				for k, want := range []float64{norms, 2*lambda + values[0]} {
					if got, err := strconv.ParseFloat(m[k+1], 64); err != nil || !(math.Abs(got-want) <= 6e-4*math.Abs(want)+1e-4*values[g.N-1]) {
						t.Errorf("%s (%s): want %v in the note, got %v: %q", name, form, want, got, note)
					}
				}
				said[fmt.Sprint(certain)]++
			}
		}
	}
	if len(said) != 2 {
		t.Errorf("all notes said the same of W = H: %v", said)
	}
}

var inNote = regexp.MustCompile(`‖H‖₂ = (\S+) .* = (\S+)$`)

// scaledBy returns c·x.
func scaledBy(x []float64, c float64) []float64 {
	y := slices.Clone(x)
	for k := range y {
		y[k] *= c
	}
	return y
}

// TestBalance: without a weight, a sweep leaves the columns of both factors with equal norms.
func TestBalance(t *testing.T) {
	g := readGolden(t, "fullrank60")
	s := runOn(t, ANLS{Coupling: Weight{WeightValue, 0}}, g.forms(t)["dense"], g.R)
	for range 3 {
		s.sweep(never)
		for j := range g.R {
			if w, h := s.w.gram[j*g.R+j], s.h.gram[j*g.R+j]; !(math.Abs(w-h) <= 1e-13*w) {
				t.Errorf("‖w_%d‖² = %v, ‖h_%d‖² = %v", j, w, j, h)
			}
		}
	}
}

// TestCoupledPermutation: with the items in another order, the rows of H are the same in that order, to
// rounding.
func TestCoupledPermutation(t *testing.T) {
	g := readGolden(t, "text120")
	perm := make([]int, g.N)
	permutation(perm, 1, 0, 0)
	a, start := matrix.NewDense(g.N, g.N, nil), matrix.NewDense(g.N, g.R, nil)
	for i, k := range perm {
		copy(start.Row(i), g.start.Row(k))
		for l, m := range perm {
			a.Set(i, l, g.a.At(k, m))
		}
	}
	for _, v := range coupledVariants(t) {
		if v.solver.Name() == "lvs" {
			continue // its draws depend on the order of the items
		}
		opt := Options{Solver: v.solver, Start: Given{g.start}, Stop: Stop{Sweeps: 6, KKT: -1}}
		want := factorize(t, g.forms(t)["sparse"], g.R, opt)
		opt.Start = Given{start}
		for _, form := range []matrix.Operator{mustDense(t, a), mustCSR(t, sparseOf(t, a))} {
			got := factorize(t, form, g.R, opt)
			for i, k := range perm {
				for j, h := range got.H.Row(i) {
					if d := math.Abs(h - want.H.At(k, j)); !(d <= 1e-9*math.Sqrt(g.NormA)) {
						t.Fatalf("%s: H[%d,%d] is off by %.2g", v.name, k, j, d)
					}
				}
			}
		}
	}
}

// TestCoupledEdges: degenerate problems give a finite H. If P falls, the relative error is at most 1.5. If,
// besides, the weight is positive and scales with A, the relative error is no larger than that of the random
// start.
func TestCoupledEdges(t *testing.T) {
	dense := func(n int, entry func(i, l int) float64) *matrix.Dense {
		d := matrix.NewDense(n, n, nil)
		for i := range n {
			for l := range n {
				d.Set(i, l, entry(i, l))
			}
		}
		return d
	}
	low, _ := instance.LowRank(12, 3, 1)
	zeroColumns := instance.Start(12, 4, 2)
	for i := range 12 {
		zeroColumns.Set(i, 1, 0)
		zeroColumns.Set(i, 3, zeroColumns.At(i, 2)) // and two equal columns
	}
	full := instance.FullRank(12, 3)
	for _, c := range []struct {
		name  string
		a     *matrix.Dense
		r     int
		start Start
	}{
		{"one item", dense(1, func(_, _ int) float64 { return 5 }), 1, Random{}},
		{"one item, r > n", dense(1, func(_, _ int) float64 { return 5 }), 4, Random{}},
		{"A = 0", dense(6, func(_, _ int) float64 { return 0 }), 2, Random{}},
		{"r > n", full, 20, Random{}},
		{"all items alike", dense(12, func(_, _ int) float64 { return 2 }), 3, Random{}},
		{"items twice", dense(12, func(i, l int) float64 { return full.At(i/2, l/2) }), 4, Random{}},
		{"one pair", dense(12, func(i, l int) float64 {
			if i+l == 1 {
				return 1
			}
			return 0
		}), 2, Random{}},
		{"only a diagonal", dense(12, func(i, l int) float64 {
			if i == l {
				return float64(i)
			}
			return 0
		}), 3, Random{}},
		{"zero columns", low, 4, Given{zeroColumns}},
		{"zero", low, 4, Given{matrix.NewDense(12, 4, nil)}},
		{"large", dense(12, func(i, l int) float64 { return 1e150 * low.At(i, l) }), 3, Random{}},
		{"small", dense(12, func(i, l int) float64 { return 1e-150 * low.At(i, l) }), 3, Random{}},
		{"both", dense(12, func(i, l int) float64 {
			if i < 6 && l < 6 {
				return 1e150 * low.At(i, l)
			}
			return 1e-150 * low.At(i, l)
		}), 3, Random{}},
		{"sizes", dense(12, func(i, l int) float64 { return math.Pow(10, float64(-5*(i+l))) }), 3, Random{}},
	} {
		for _, v := range coupledVariants(t) {
			for _, a := range []matrix.Operator{mustDense(t, c.a), mustCSR(t, sparseOf(t, c.a))} {
				opt := Options{Solver: v.solver, Start: c.start, Seed: 1, Stop: Stop{Sweeps: 40}}
				res := factorize(t, a, c.r, opt)
				for k, h := range res.H.Data() {
					if !(h >= 0) || math.IsInf(h, 0) {
						t.Fatalf("%s, %s: H[%d,%d] = %v", c.name, v.name, k/c.r, k%c.r, h)
					}
				}
				if bounded := traitsFor(v.solver).penalized; !(res.RelErr <= 1.5) && bounded || math.IsNaN(res.RelErr) || math.IsNaN(res.KKT) {
					t.Errorf("%s, %s: relative error %v, KKT %v", c.name, v.name, res.RelErr, res.KKT)
				}
				if c.start == (Random{}) && res.First.RelErr > 1e-9 && !hasUnits(v.solver) && traitsFor(v.solver).penalized && v.solver != withWeight(v.solver, Weight{WeightValue, 0}) &&
					res.RelErr > res.First.RelErr {
					t.Errorf("%s, %s: relative error %v, that of the start is %v", c.name, v.name, res.RelErr, res.First.RelErr)
				}
			}
		}
	}
}

// TestWeights: what is not a weight is refused, whether set in a Solver or given as text, and so is a weight
// that the method cannot take.
func TestWeights(t *testing.T) {
	a := readGolden(t, "cp5").forms(t)["dense"]
	for _, s := range []Solver{
		ANLS{Coupling: Weight{WeightValue, -1}}, ANLS{Coupling: Weight{WeightValue, math.NaN()}}, ANLS{Coupling: Weight{WeightValue, math.Inf(1)}},
		ANLS{Coupling: Weight{Value: 1e6}}, SymHALS{Lambda: Weight{WeightMax, 2}}, ANLS{Coupling: Weight{Rule: -1}}, ANLS{Coupling: Weight{Rule: WeightValue + 1}},
		SymANLS{Lambda: Weight{WeightValue, 0}}, SymANLS{Lambda: Weight{WeightValue, -1}},
		SymHALS{Lambda: Weight{WeightValue, 0}}, SymHALS{Lambda: Weight{Rule: 7}},
		LvS{Samples: -1}, LvS{Coupling: Weight{WeightValue, 0}}, SNMPBB{Mu: Weight{WeightValue, 0}}, SNMPBB{Mu: Weight{WeightValue, math.Inf(1)}},
	} {
		if _, err := Factorize(context.Background(), a, 2, Options{Solver: s}); !errors.Is(err, ErrOption) {
			t.Errorf("%+v: error %v, want ErrOption", s, err)
		}
	}
	for _, c := range []struct {
		method, knob, value string
		want                Solver
	}{
		{"anls", "coupling", "norm", ANLS{}},
		{"anls", "coupling", "max", ANLS{Coupling: Weight{Rule: WeightMax}}},
		{"anls", "coupling", "max2", ANLS{Coupling: Weight{Rule: WeightMaxSquared}}},
		{"anls", "coupling", "0", ANLS{Coupling: Weight{WeightValue, 0}}},
		{"anls", "coupling", "2.5", ANLS{Coupling: Weight{WeightValue, 2.5}}},
		{"symanls", "lambda", "1", SymANLS{Lambda: Weight{WeightValue, 1}}},
		{"symhals", "lambda", "norm", SymHALS{}},
		{"snmpbb", "mu", "3", SNMPBB{Mu: Weight{WeightValue, 3}}},
		{"snmpbb", "mu", "max", nil},
		{"lvs", "coupling", "max", LvS{Coupling: Weight{Rule: WeightMax}}},
		{"lvs", "samples", "30", LvS{Samples: 30}},
		{"lvs", "update", "bpp", LvS{LeastSquares: true}},
		{"lvs", "samples", "-1", nil}, {"lvs", "update", "mu", nil}, {"lvs", "coupling", "0", nil},
		{"anls", "coupling", "-1", nil}, {"anls", "coupling", "Inf", nil}, {"anls", "coupling", "largest", nil},
		{"symanls", "lambda", "0", nil}, {"symhals", "lambda", "max", nil}, {"symhals", "lambda", "NaN", nil},
	} {
		got, err := ParseSolver(c.method, map[string]string{c.knob: c.value})
		if c.want == nil && !errors.Is(err, ErrOption) || c.want != nil && (err != nil || got != c.want) {
			t.Errorf("%s with %s=%s is %+v, %v, want %+v", c.method, c.knob, c.value, got, err, c.want)
		}
	}
	points := readGolden(t, "text120").forms(t)["gram of sparse rows"].OffDiagonal()
	if _, err := Factorize(context.Background(), points, 2, Options{Solver: ANLS{Coupling: Weight{Rule: WeightMax}}}); !errors.Is(err, ErrUnfit) {
		t.Errorf("max A of points without their diagonal: error %v, want ErrUnfit", err)
	}
	res := factorize(t, a, 2, Options{Solver: SymHALS{}})
	if res.Start != "random" || !strings.Contains(res.Why, "own") {
		t.Errorf("the start chosen is %s because %q, want random, the method's own", res.Start, res.Why)
	}
}

// TestCoupledVerify: verification finds products that are not those of W and H.
func TestCoupledVerify(t *testing.T) {
	for k := range 3 {
		s := runOn(t, SymHALS{}, readGolden(t, "cp5").forms(t)["dense"], 5)
		s.sweep(never)
		switch k {
		case 1:
			s.w.ah.Set(2, 1, -1)
		case 2:
			s.h.gram[3] = -1
		}
		if err := s.verify(); (err != nil) != (k > 0) {
			t.Errorf("case %d (1 and 2 have a mistake): error %v", k, err)
		}
	}
}

// TestCoupledStops: a limit in the middle of a sweep leaves the better of the two factors at that moment.
func TestCoupledStops(t *testing.T) {
	g := readGolden(t, "fullrank60")
	s := runOn(t, ANLS{}, g.forms(t)["dense"], g.R)
	start := s.h.h.Clone()
	calls := 0
	rep := s.sweep(func() bool { calls++; return calls == 2 })
	s.end()
	if !rep.cut || !slices.Equal(s.h.h.Data(), start.Data()) || slices.Equal(s.w.h.Data(), start.Data()) {
		t.Fatalf("%+v", rep)
	}
	if f := s.p.measure(s.out); f.errSq != min(s.w.at.errSq, s.h.at.errSq) {
		t.Errorf("‖A−HHᵀ‖² = %v, of the factors %v and %v", f.errSq, s.w.at.errSq, s.h.at.errSq)
	}
}

// TestCoupledEnds: the search for eigenvalues of A, for the default weight or for the note at the end, ends
// when the run has to end. What it has by then is not kept.
func TestCoupledEnds(t *testing.T) {
	const n = 500
	ring := matrix.NewDense(n, n, nil)
	for i := range n {
		ring.Set(i, (i+1)%n, 1)
		ring.Set((i+1)%n, i, 1)
	}
	p := mustProblem(t, mustCSR(t, ring.CSR()), 3)
	looks := 0
	p.stop = func() bool { looks++; return looks > 3 }
	if got := p.norm2(); got != p.norm || looks != 4 {
		t.Errorf("asked %d times, a run that has to end has the weight %v, want ‖A‖ = %v", looks, got, p.norm)
	}
	p.stop = nil
	if got := p.norm2() / p.scale; !(math.Abs(got-2) <= 1e-3) {
		t.Errorf("without that limit ‖A‖₂ is %v, want 2", got)
	}

	h := matrix.NewDense(4, 1, []float64{1, 2, 3, 4})
	a := matrix.NewDense(4, 4, nil)
	for i := range 4 {
		for l := range 4 {
			a.Set(i, l, h.At(i, 0)*h.At(l, 0))
		}
	}
	for _, limit := range []time.Duration{1, 0} {
		res := factorize(t, mustDense(t, a), 1, Options{Solver: SymHALS{}, Start: Given{H: h}, Stop: Stop{Time: limit}})
		told := slices.ContainsFunc(res.Notes, func(s string) bool { return strings.Contains(s, "λ_min") })
		if res.Status != Converged || told != (limit == 0) {
			t.Errorf("limit %v: %v, notes %q", limit, res.Status, res.Notes)
		}
	}
}

// TestSpectralAtRest: where the gradient is nothing but rounding, from the start on, no step is made, and the run says
// that it stands still.
func TestSpectralAtRest(t *testing.T) {
	const n = 12
	a := mustDense(t, fill(n, func(i, l int) float64 { // a star
		if min(i, l) == 0 && i != l {
			return 1
		}
		return 0
	}))
	res := factorize(t, a, 4, Options{Solver: SNMPBB{}, Start: SVDStart{}, Stop: Stop{KKT: -1}})
	if want := math.Sqrt(0.5); res.Status != Stalled || res.Sweeps > 5 || !(math.Abs(res.RelErr-want) <= 1e-12) {
		t.Fatalf("%v after %d sweeps with error %v, want %v", res.Status, res.Sweeps, res.RelErr, want)
	}
}
