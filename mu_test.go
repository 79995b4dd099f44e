package symnmf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"symnmf/internal/instance"
	"symnmf/matrix"
)

// TestRatio compares one update with the definition, entry by entry, with and without the diagonal, with a
// zero row and a zero column.
func TestRatio(t *testing.T) {
	const n, r = 70, 3
	full := instance.FullRank(n, 2)
	for i := range n {
		full.Set(i, 5, 0)
		full.Set(5, i, 0)
	}
	h := instance.Start(n, r, 3)
	for i := range n {
		h.Set(i, 1, 0)
	}
	for _, ignore := range []bool{false, true} {
		for _, e := range []float64{1.0 / 3, 0.25, 0.99} {
			res := factorize(t, mustDense(t, full), r, Options{
				Solver: MU{Exponent: e}, Start: Given{h}, Stop: Stop{Sweeps: 1, KKT: -1}, IgnoreDiagonal: ignore,
			})
			for i := range n {
				for k := range r {
					var above, below float64
					for l := range n {
						if l == i && ignore {
							continue
						}
						hh := 0.0
						for j := range r {
							hh += h.At(i, j) * h.At(l, j)
						}
						above += full.At(i, l) * h.At(l, k)
						below += hh * h.At(l, k)
					}
					want := 0.0
					if below > 0 {
						want = h.At(i, k) * math.Pow(above/below, e)
					}
					// Each part has n·r² terms of one sign, so n·r² roundings; L_i·H_ik takes some of the sum away again.
					if got := res.H.At(i, k); !(math.Abs(got-want) <= 4*n*r*r*0x1p-52*want) {
						t.Fatalf("exponent %v, diagonal ignored %v: H[%d,%d] = %v, want %v", e, ignore, i, k, got, want)
					}
				}
			}
		}
	}
}

// TestRatioOfOddParts: entries that are nearly denormal become zero, ratios are bounded, and products may be
// negative although no stored number shows it.
func TestRatioOfOddParts(t *testing.T) {
	opt := Options{}
	p, err := newProblem(mustDense(t, filled(2, 2, 1)), 1, &opt)
	if err != nil {
		t.Fatal(err)
	}
	h := matrix.NewDense(2, 1, []float64{1, leastEntry / 2})
	multiply := func(d float64, factor func(float64) float64) {
		hd := matrix.NewDense(2, 1, nil)
		p.timesGram(hd, h, []float64{d})
		p.multiply(h, h, filled(2, 1, 1), hd, factor)
	}
	multiply(1, func(float64) float64 { return 1 })
	if h.At(0, 0) != 1 || h.At(1, 0) != 0 {
		t.Errorf("H = %v, want 1 and 0", h.Data())
	}
	h.Data()[0], h.Data()[1] = 1e-290, 1
	multiply(1e-30, powerOf(1))
	if want := 1e-290 * mostRatioOfParts; h.At(0, 0) != want {
		t.Errorf("H = %v, want %v as first entry", h.Data(), want)
	}
	unlike, err := matrix.NewLowRank(matrix.NewDense(2, 1, []float64{1, -2}), []float64{1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Solver{MU{}, MU{Exponent: 0.5}, BetaSNMF{}, AMU{}} {
		res := factorize(t, unlike, 1, Options{Solver: s, Start: Given{filled(2, 1, 1)}, Stop: Stop{Sweeps: 1, KKT: -1}})
		if v := res.H.Data(); v[0] != 0 && s != (BetaSNMF{}) || !(v[0] >= 0 && v[1] > 0) {
			t.Errorf("%s: H = %v, want 0 and a positive number", s.Name(), v)
		}
	}
}

// TestGoldenFallback: BetaSNMF, from a start twenty times too small, gives the recorded errors. There the
// damped ratio raises the objective a few times, and as many sweeps fall back to the cube root as recorded.
func TestGoldenFallback(t *testing.T) {
	data, err := os.ReadFile("testdata/golden/betasnmf_fallback.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string]struct {
		RelErr         map[string]float64 `json:"rel_err"`
		CubeRootOnly   map[string]float64 `json:"rel_err_cube_root_only"`
		FallbacksIn50  int                `json:"fallbacks_in_50"`
		RelErrAtTheTop float64            `json:"rel_err_start"`
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	worst, compared := 0.0, 0
	for name, want := range golden {
		g := readGolden(t, name)
		start := g.start.Clone()
		for k := range start.Data() {
			start.Data()[k] *= 0.05
		}
		for form, a := range g.forms(t) {
			compare := func(s Solver, list map[string]float64) {
				for count, want := range list {
					sweeps, _ := strconv.Atoi(count)
					res := factorize(t, a, g.R, Options{Solver: s, Start: Given{start}, Stop: Stop{Sweeps: sweeps, KKT: -1}})
					tol := 1e-10
					if sweeps > 10 {
						tol = 1e-7
					}
					d := math.Abs(res.RelErr - want)
					worst, compared = max(worst, d), compared+1
					if !(d <= tol) || !(math.Abs(res.First.RelErr-golden[name].RelErrAtTheTop) <= 1e-12) {
						t.Errorf("%s/%s/%s after %d: relative error %v, golden %v (off by %.2g)", name, form, s.Name(), sweeps, res.RelErr, want, d)
					}
				}
			}
			compare(BetaSNMF{}, want.RelErr)
			compare(MU{}, want.CubeRootOnly)
			p, h := goldenProblem(t, g, a)
			for k := range h.Data() {
				h.Data()[k] *= 0.05
			}
			s := BetaSNMF{}.start(p, h, 0).(*betaRun)
			for range 50 {
				s.sweep(func() bool { return false })
			}
			if s.fallbacks != want.FallbacksIn50 {
				t.Errorf("%s/%s: %d sweeps fell back, golden %d", name, form, s.fallbacks, want.FallbacksIn50)
			}
		}
	}
	t.Logf("%d comparisons, worst %.2g", compared, worst)
	if compared < 100 {
		t.Errorf("only %d comparisons", compared)
	}
}

// TestMultiplicativeDescent: no method raises the objective, whatever the matrix and the start. The ratio
// itself (nearly: with an exponent of 0.99) raises it somewhere, which is why the methods take roots.
func TestMultiplicativeDescent(t *testing.T) {
	defer func(v bool) { verifying = v }(verifying)
	verifying = false // the objective may be far above ‖A‖², where its rounding is more than verification allows
	rises := 0
	for seed := uint64(1); seed <= 60; seed++ {
		n, r := 2+int(seed%6), 1+int(seed%4)
		d := instance.FullRank(n, seed)
		h := instance.Start(n, r, seed)
		u := uniform{key: seed}
		for i := range n {
			for l := range i + 1 {
				if u.at(uint64(i*n+l)) < 0.5 {
					d.Set(i, l, 0)
					d.Set(l, i, 0)
				}
			}
			for k := range r {
				h.Set(i, k, h.At(i, k)*math.Pow(10, -4*u.at(uint64(1000+i*r+k))))
			}
		}
		for _, ignore := range []bool{false, true} {
			for _, s := range []Solver{MU{}, MU{Exponent: 0.25}, AMU{}, BetaSNMF{}, BetaSNMF{Beta: 1}, MU{Exponent: 0.99}} {
				res := factorize(t, mustDense(t, d), r, Options{Solver: s, Start: Given{h}, Trace: true, Stop: Stop{Sweeps: 40, KKT: -1}, IgnoreDiagonal: ignore})
				for k, p := range res.Trace[1:] {
					tol := 1e-12 + res.ErrFloor
					if ignore { // H·D − ‖H_i,:‖²·H_i,: loses as many digits as item i outweighs the others by
						tol += 1e-7
					}
					if before := res.Trace[k].RelErr; !(p.RelErr <= before+tol) {
						if s == (MU{Exponent: 0.99}) {
							rises++
							break
						}
						t.Errorf("seed %d, %+v, diagonal ignored %v: the error rises from %v to %v in sweep %d", seed, s, ignore, before, p.RelErr, p.Sweep)
					}
				}
			}
		}
	}
	if rises == 0 {
		t.Error("exponent 0.99 never raises the objective, so this test shows nothing")
	}
}

// TestTinyStarts: from a start far too small the methods find their way back. If cubes of the start
// underflow, so that the objective cannot tell H from zero, at least nothing overflows.
func TestTinyStarts(t *testing.T) {
	defer func(v bool) { verifying = v }(verifying)
	verifying = false // the objective may be far above ‖A‖², where its rounding is more than verification allows
	g := readGolden(t, "fullrank60")
	for _, scale := range []float64{1e-9, 1e-102, 1e-120, 1e-290} {
		for _, s := range []Solver{MU{}, MU{Exponent: 0.99}, AMU{}, BetaSNMF{}} {
			h := g.start.Clone()
			for k := range h.Data() {
				h.Data()[k] *= scale
			}
			res := factorize(t, mustDense(t, g.a), g.R, Options{Solver: s, Start: Given{h}, Stop: Stop{Sweeps: 600, KKT: -1}})
			if scale < 1e-100 {
				if !(res.RelErr <= 1) || slices.ContainsFunc(res.H.Data(), func(v float64) bool { return !(v >= 0 && v < 1e100) }) {
					t.Errorf("%+v from H·%g: relative error %v, H %v", s, scale, res.RelErr, res.H.Data())
				}
			} else if !(res.RelErr < 0.36) {
				t.Errorf("%+v from H·%g: relative error %v, %v after %d sweeps", s, scale, res.RelErr, res.Status, res.Sweeps)
			}
		}
	}
}

// TestRestart: AMU restarts, and moves in the same sweep, so that no sweep is idle.
func TestRestart(t *testing.T) {
	g := readGolden(t, "cp5")
	p, h := goldenProblem(t, g, g.forms(t)["dense"])
	s := AMU{}.start(p, h, 0).(*amuRun)
	restarts := 0
	for sweep := range 50 {
		before := s.t
		rep := s.sweep(func() bool { return false })
		if s.t <= before {
			restarts++
		}
		if rep.changed == 0 || rep.decrease <= 0 || s.t < 1 {
			t.Errorf("sweep %d: %+v, t = %d", sweep, rep, s.t)
		}
	}
	if restarts == 0 {
		t.Error("no restart in 50 sweeps")
	}
}

// TestMUKnobs: exponents and beta may be fractions, and values out of range are refused.
func TestMUKnobs(t *testing.T) {
	for text, want := range map[string]float64{"1/3": 1.0 / 3, "1/4": 0.25, "0.99": 0.99, "1": 1} {
		if s, err := ParseSolver("mu", map[string]string{"exponent": text}); err != nil || s != (MU{Exponent: want}) {
			t.Errorf("exponent=%s: %+v, %v", text, s, err)
		}
	}
	if s, err := ParseSolver("betasnmf", map[string]string{"beta": "0.5"}); err != nil || s != (BetaSNMF{Beta: 0.5}) {
		t.Errorf("beta=0.5: %+v, %v", s, err)
	}
	for _, bad := range []string{"0", "2", "1/0", "x", "1/x", "-1", "NaN", "1/2/3"} {
		for method, knob := range map[string]string{"mu": "exponent", "betasnmf": "beta"} {
			if s, err := ParseSolver(method, map[string]string{knob: bad}); !errors.Is(err, ErrOption) {
				t.Errorf("%s %s=%s: %+v, %v", method, knob, bad, s, err)
			}
		}
	}
	for _, s := range []Solver{MU{Exponent: 2}, MU{Exponent: math.NaN()}, BetaSNMF{Beta: -1}} {
		if _, err := Factorize(context.Background(), lowRank(t, 5, 2), 2, Options{Solver: s}); !errors.Is(err, ErrOption) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// TestPermutedItems: with the items in another order, every method without the trait ordered gives the same
// rows of H in that order, up to rounding.
func TestPermutedItems(t *testing.T) {
	g := readGolden(t, "zerorows50")
	perm := make([]int, g.N)
	permutation(perm, 7)
	turned, start := matrix.NewDense(g.N, g.N, nil), matrix.NewDense(g.N, g.R, nil)
	for i, pi := range perm {
		for l, pl := range perm {
			turned.Set(i, l, g.a.At(pi, pl))
		}
		copy(start.Row(i), g.start.Row(pi))
	}
	compared := 0
	for _, m := range Methods() {
		if traitsOf[m.Name].ordered {
			continue
		}
		s, err := ParseSolver(m.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		stop := Stop{Sweeps: 5, KKT: -1}
		want := factorize(t, mustDense(t, g.a), g.R, Options{Solver: s, Start: Given{g.start}, Stop: stop}).H
		got := factorize(t, mustDense(t, turned), g.R, Options{Solver: s, Start: Given{start}, Stop: stop}).H
		for i, pi := range perm {
			for k, v := range got.Row(i) {
				if w := want.At(pi, k); !(math.Abs(v-w) <= 1e-9*math.Sqrt(g.NormA)) {
					t.Fatalf("%s: H[%d,%d] = %v, %v in the old order", m.Name, i, k, v, w)
				}
			}
		}
		compared++
	}
	if compared == 0 {
		t.Error("no method compared")
	}
}

// TestSmallAndOdd: every variant of every method gives a finite H for matrices that are very small, very
// large, zero or have repeated items. The error is at most least, unless the weight has units.
func TestSmallAndOdd(t *testing.T) {
	dense := func(n int, v ...float64) *matrix.Dense { return matrix.NewDense(n, n, v) }
	twins := instance.FullRank(12, 1)
	for i := range 12 {
		twins.Set(i, 7, twins.At(i, 3))
	}
	for i := range 12 {
		twins.Set(7, i, twins.At(3, i))
	}
	hollow := instance.FullRank(9, 2)
	for i := range 9 {
		hollow.Set(i, i, 0)
		hollow.Set(i, 4, 0)
		hollow.Set(4, i, 0)
	}
	wide := instance.FullRank(8, 3)
	for k := range wide.Data() {
		wide.Data()[k] *= 1e-150
	}
	wide.Set(0, 0, 1e150)
	large := instance.FullRank(8, 3)
	for k := range large.Data() {
		large.Data()[k] *= 1e150
	}
	zeroColumn := func(n, r int) *matrix.Dense {
		h := instance.Start(n, r, 5)
		for i := range n {
			h.Set(i, r-1, 0)
		}
		return h
	}
	for _, c := range []struct {
		name  string
		a     *matrix.Dense
		r     int
		start Start
		least float64 // the relative error must not end above this
	}{
		{"one item", dense(1, 4), 1, Random{}, 1e-3},
		{"one item, more columns", dense(1, 4), 3, Random{}, 1e-3},
		{"one item like nothing", dense(1, 0), 2, Random{}, 0},
		{"r > n", instance.FullRank(4, 1), 7, Random{}, 0.6},
		{"nothing", dense(3, make([]float64, 9)...), 2, Random{}, 0},
		{"nothing, from something", dense(3, make([]float64, 9)...), 2, Given{instance.Start(3, 2, 1)}, 0},
		{"twins", twins, 3, Random{}, 0.6},
		{"an item like no other, no diagonal", hollow, 3, Random{}, 0.9},
		{"a column of zeros at the start", twins, 3, Given{zeroColumn(12, 3)}, 0.6},
		{"small entries beside a large one", wide, 2, Random{}, 1e-3},
		{"large entries", large, 2, Random{}, 0.6},
		{"a start of zeros", twins, 3, Given{matrix.NewDense(12, 3, nil)}, 1},
	} {
		for _, v := range variants(t) {
			what := fmt.Sprintf("%s: %s", v.name, c.name)
			res, err := Factorize(context.Background(), mustDense(t, c.a), c.r, Options{Solver: v.solver, Start: c.start, Stop: Stop{Sweeps: 200}})
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			if slices.ContainsFunc(res.H.Data(), func(v float64) bool { return !(v >= 0) || math.IsInf(v, 0) }) || !(res.RelErr <= c.least) && !hasUnits(v.solver) {
				t.Errorf("%s: relative error %v, H %v", what, res.RelErr, res.H.Data())
			}
		}
	}
}

// TestIterateVerify: verification finds an H·D, D or A·H that does not belong to H.
func TestIterateVerify(t *testing.T) {
	p, h := goldenProblem(t, readGolden(t, "cp5"), readGolden(t, "cp5").forms(t)["dense"])
	s := newSloped(p, h)
	if err := s.verify(); err != nil {
		t.Error(err)
	}
	s.hd.Data()[3]++
	if err := s.verify(); err == nil {
		t.Error("a wrong H·D passes")
	}
	s.hd.Data()[3]--
	s.gram[3]++
	if err := s.verify(); err == nil {
		t.Error("a wrong D passes")
	}
	s.ah.Data()[3]++
	if err := s.verify(); err == nil || !strings.Contains(err.Error(), "(AH)") {
		t.Errorf("a wrong A·H: %v", err)
	}
}

// TestRestartWithoutDiagonal: without the diagonal, if one item comes to own a column, its entry there and
// those of the others grow apart without end. The objective still does not rise, and the figures are those of
// the definitions.
func TestRestartWithoutDiagonal(t *testing.T) {
	a := matrix.NewDense(8, 8, []float64{
		0, 0, 0, .99, .63, 0, 0, 0,
		0, 0, 0, .65, 0, 0, .78, .82,
		0, 0, 0, 0, .74, 0, .96, .19,
		.99, .65, 0, .5, .66, 0, 0, 0,
		.63, 0, .74, .66, 0, 0, .9, 0,
		0, 0, 0, 0, 0, 0, 0, 0,
		0, .78, .96, 0, .9, 0, 0, .41,
		0, .82, .19, 0, 0, 0, .41, .2,
	})
	for _, s := range []Solver{AMU{}, MU{}, BetaSNMF{}} {
		for _, seed := range []uint64{142, 255, 267, 395} {
			res := factorize(t, mustCSR(t, sparseOf(t, a)), 8, Options{Solver: s, Start: Random{}, Seed: seed, IgnoreDiagonal: true, Trace: true})
			for k, at := range res.Trace[1:] {
				if before := res.Trace[k].RelErr; !(at.RelErr <= before+1e-6) {
					t.Fatalf("%s, seed %d: the error is %v after sweep %d, %v before", s.Name(), seed, at.RelErr, at.Sweep, before)
				}
			}
			if want := measureNaively(a, res.H, nil, true); !(math.Abs(res.RelErr-want.err/want.normA) <= 1e-9) || !(math.Abs(res.KKT-want.kkt) <= 1e-8) {
				t.Errorf("%s, seed %d: error %v, KKT residual %v, want %v, %v", s.Name(), seed, res.RelErr, res.KKT, want.err/want.normA, want.kkt)
			}
		}
	}
}
