package symnmf

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// TestBestRootIsBest compares φ at the root with φ at 0, near the root, and at other points, five of them
// random. It does so in 300 bits, since doubles cannot always tell.
func TestBestRootIsBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	exact := func(a, b, x float64) *big.Float {
		f := func(v float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(v) }
		s := f(0).Mul(f(x), f(x))
		s.Mul(s, f(0.25))
		s.Add(s, f(0).Mul(f(a), f(0.5)))
		s.Mul(s, f(x))
		s.Add(s, f(b))
		return s.Mul(s, f(x))
	}
	for trial := range 20000 {
		spread := []float64{1, 20, 200}[trial%3]
		a := math.Ldexp(rng.Float64()*2-1, int((rng.Float64()*2-1)*spread))
		b := math.Ldexp(rng.Float64()*2-1, int((rng.Float64()*2-1)*spread))
		x := bestRoot(a, b)
		if !(x >= 0) || math.IsInf(x, 0) {
			t.Fatalf("bestRoot(%v, %v) = %v", a, b, x)
		}
		at := exact(a, b, x)
		others := []float64{0, x * (1 + 1e-7), x * (1 - 1e-7), x * 1.5, x / 2, math.Sqrt(math.Abs(a)), math.Cbrt(math.Abs(b))}
		for range 5 {
			others = append(others, 2*rng.Float64()*(math.Sqrt(math.Abs(a))+math.Cbrt(math.Abs(b))))
		}
		// If both minimizers tie, φ is 0 except for the rounding of a and b: 2⁻⁴⁴ of its terms. Elsewhere a
		// root that is off by e·x costs (3x²+a)·e²x²/2.
		slack := new(big.Float).SetFloat64(0x1p-100 * (x*x + math.Abs(a)) * x * x)
		if tie := math.Abs(27*b*b+2*a*a*a) / (27 * b * b); tie < 0x1p-40 {
			slack.SetFloat64(0x1p-44 * math.Abs(b) * x)
		}
		for _, y := range others {
			if low := new(big.Float).Add(exact(a, b, y), slack); at.Cmp(low) > 0 {
				t.Fatalf("φ for a = %v, b = %v is lower at %v than at bestRoot = %v", a, b, y, x)
			}
		}
	}
}

// TestBestRootSpecial: bestRoot returns NaN if a or b is NaN, and known roots for special values: zeros, a
// tie, a double root and the smallest denormal numbers.
func TestBestRootSpecial(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ a, b, want float64 }{
		{nan, 1, nan}, {1, nan, nan}, {nan, nan, nan}, {-1, nan, nan}, {nan, -1, nan},
		{0, 0, 0}, {1, 1, 0}, {0, 1, 0}, {1, 0, 0},
		{-4, 0, 2}, {0, -8, 2}, {-3, -2, 2}, {3, -4, 1}, {-5, 2, 2},
		{-6, 4, 0}, // the tie: φ(2) = 0
		{-7, 6, 0}, // the root 2 has φ(2) = 2 > 0
		{-3, 2, 0}, // 27b² = 108 > −2a³ = 54: 1 is a double root, and φ(1) > 0
		{math.Copysign(0, -1), 0, 0},
		{5e-324, -5e-324, 0x1p-358}, // x³ dominates at this size: the root is nearly ∛(2⁻¹⁰⁷⁴)
	} {
		got := bestRoot(c.a, c.b)
		if !(math.Abs(got-c.want) <= 0x1p-50*c.want) && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("bestRoot(%v, %v) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// TestBestRootAnyBits: for finite a and b of whatever size the root is finite and nonnegative, and 0 if neither is
// negative. If either is NaN, so is the root.
func TestBestRootAnyBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	for range 200000 {
		a, b := math.Float64frombits(rng.Uint64()), math.Float64frombits(rng.Uint64())
		if math.IsInf(a, 0) || math.IsInf(b, 0) {
			continue
		}
		x := bestRoot(a, b)
		switch {
		case math.IsNaN(a) || math.IsNaN(b):
			if !math.IsNaN(x) {
				t.Fatalf("bestRoot(%v, %v) = %v", a, b, x)
			}
		case !(x >= 0) || math.IsInf(x, 0), a >= 0 && b >= 0 && x != 0:
			t.Fatalf("bestRoot(%v, %v) = %v", a, b, x)
		}
	}
}

// TestNoEntryImproves: where coordinate descent has converged, no change of a single entry lowers the
// objective. This is more than a vanishing gradient says.
func TestNoEntryImproves(t *testing.T) {
	converged := 0
	for _, in := range instances(t) {
		for form, a := range in.forms {
			if testing.Short() && form != "sparse" && form != "only" {
				continue
			}
			for _, ignore := range []bool{false, true} {
				res := factorize(t, a, in.r, Options{Solver: CD{}, Start: Random{}, Seed: 1, IgnoreDiagonal: ignore, Stop: Stop{Sweeps: 3000, KKT: 1e-9}})
				if res.Status != Converged {
					continue // in a long flat valley
				}
				converged++
				n, _ := in.dense.Dims()
				base := measureNaively(in.dense, res.H, nil, ignore)
				if base.normA == 0 {
					continue
				}
				for _, i := range []int{0, n / 2, n - 1} {
					for j := range in.r {
						for _, x := range []float64{0, 0.5, 0.9, 1.1, 2, 10} {
							h := res.H.Clone()
							h.Set(i, j, x*h.At(i, j))
							if h.At(i, j) == 0 {
								h.Set(i, j, x*0.1*math.Sqrt(base.normA))
							}
							f := measureNaively(in.dense, h, nil, ignore)
							if !(f.objective >= base.objective-1e-13*base.normA*base.normA) {
								t.Errorf("%s (%s), diagonal ignored %v: H[%d,%d] from %v to %v lowers the objective from %v to %v",
									in.name, form, ignore, i, j, res.H.At(i, j), h.At(i, j), base.objective, f.objective)
							}
						}
					}
				}
			}
		}
	}
	least := 20
	if testing.Short() {
		least = 8
	}
	if converged < least {
		t.Errorf("only %d runs converged, want %d", converged, least)
	}
}

// TestPlantAgreesWithVisit: √3² < 3, so after item 1 has taken its own entry, A_11 − L_1 is a rounding error
// above zero. A visit takes that for zero, so the second column cannot leave zero by itself, and a pair is
// planted.
func TestPlantAgreesWithVisit(t *testing.T) {
	d := matrix.NewDense(3, 3, []float64{3, 0, 0, 0, 0, 1, 0, 1, 0})
	res := factorize(t, mustDense(t, d), 2, Options{Solver: CD{}, Start: Zero{}})
	if res.ZeroColumns > 0 || len(res.Notes) == 0 || !(math.Abs(res.RelErr-1/math.Sqrt(11)) <= 1e-12) {
		t.Errorf("%d zero columns, notes %q, relative error %v, want 1/√11", res.ZeroColumns, res.Notes, res.RelErr)
	}
}

// TestPlantWithPenalty: a small ℓ₁ weight does not keep a graph at zero. A large one does, and the result
// says so.
func TestPlantWithPenalty(t *testing.T) {
	a := readGolden(t, "graph80").forms(t)["sparse"]
	for _, ignore := range []bool{false, true} {
		small := factorize(t, a, 5, Options{Solver: CD{}, Start: Zero{}, L1: []float64{1e-9}, IgnoreDiagonal: ignore})
		if small.ZeroColumns > 0 || small.RelErr > 0.9 {
			t.Errorf("weight 1e-9, diagonal ignored %v: %d zero columns, relative error %v", ignore, small.ZeroColumns, small.RelErr)
		}
		large := factorize(t, a, 5, Options{Solver: CD{}, Start: Zero{}, L1: []float64{1e3}, IgnoreDiagonal: ignore})
		if large.ZeroColumns != 5 || len(large.Notes) != 1 {
			t.Errorf("weight 1e3, diagonal ignored %v: %d zero columns, notes %q", ignore, large.ZeroColumns, large.Notes)
		}
		// In between, the planted pair lowers the objective by the decrease it reports, which verification
		// checks.
		func() {
			defer func(v bool) { verifying = v }(verifying)
			verifying = true
			factorize(t, a, 5, Options{Solver: CD{}, Start: Zero{}, L1: []float64{0.1}, IgnoreDiagonal: ignore, Stop: Stop{Sweeps: 3}})
		}()
	}
}

// TestPlantedSize: no other size of the planted pair gives a lower objective, the ℓ₁ term included.
func TestPlantedSize(t *testing.T) {
	a := readGolden(t, "graph80").forms(t)["sparse"]
	for _, ignore := range []bool{false, true} {
		p, err := newProblem(a, 1, &Options{L1: []float64{0.1}, IgnoreDiagonal: ignore})
		if err != nil {
			t.Fatal(err)
		}
		h := matrix.NewDense(80, 1, nil)
		s := newCDState(p, h)
		s.begin(0)
		s.plant()
		s.end()
		best := p.measure(h)
		for _, c := range []float64{0.9, 0.99, 1.01, 1.1} {
			other := h.Clone()
			for k := range other.Data() {
				other.Data()[k] *= c
			}
			if f := p.measure(other); s.report.planted != 1 || !(f.objective() >= best.objective()) {
				t.Errorf("diagonal ignored %v: %v times the planted pair gives %v, the pair %v", ignore, c, f.objective(), best.objective())
			}
		}
	}
}

// TestLonePenalizedEntry: an ℓ₁ weight removes an entry that nothing else in its column needs, so that H is
// no worse than zero.
func TestLonePenalizedEntry(t *testing.T) {
	a := readGolden(t, "graph80").forms(t)["sparse"]
	res := factorize(t, a, 4, Options{Solver: CD{}, Start: Random{}, L1: []float64{5}, IgnoreDiagonal: true})
	if res.Status != Converged || !(res.Objective <= res.NormA*res.NormA/4*(1+1e-12)) {
		t.Errorf("%v at KKT %v, objective %v, that of H = 0 is %v", res.Status, res.KKT, res.Objective, res.NormA*res.NormA/4)
	}
}

// TestSparsePenalty checks the threshold from which ℓ₁ weights keep every single entry at zero: Λ ≥
// √(2/27)·max A_ii^{3/2}. A planted pair may leave zero all the same, so none is planted here.
func TestSparsePenalty(t *testing.T) {
	g := readGolden(t, "text120")
	a := g.forms(t)["dense"]
	most := 0.0
	for i := range g.N {
		most = max(most, g.a.At(i, i))
	}
	threshold := math.Sqrt(2.0/27) * math.Pow(most, 1.5)
	for _, c := range []struct {
		weight float64
		zero   bool
	}{{1.001 * threshold, true}, {0.999 * threshold, false}} {
		res := factorize(t, a, g.R, Options{Solver: CD{unseeded: true}, Start: Zero{}, L1: []float64{c.weight}})
		if zero := res.ZeroColumns == g.R; zero != c.zero {
			t.Errorf("weight %v of threshold %v: %d of %d columns are zero", c.weight, threshold, res.ZeroColumns, g.R)
		}
	}
	// A larger weight never gives fewer zeros.
	last := -1
	for _, w := range []float64{0, 1e-4, 1e-3, 1e-2, 1e-1} {
		res := factorize(t, a, g.R, Options{Solver: CD{}, Start: Random{}, L1: []float64{w * math.Pow(a.Norm(), 1.5)}})
		zeros := 0
		for _, v := range res.H.Data() {
			if v == 0 {
				zeros++
			}
		}
		if zeros < last {
			t.Errorf("weight %v: %d zeros, fewer than %d before", w, zeros, last)
		}
		last = zeros
	}
	if last < g.N*g.R/2 {
		t.Errorf("the largest weight gives %d zeros, want at least half of the entries", last)
	}
}

// TestIgnoredDiagonal: an ignored diagonal has no influence, and a planted factor is found whatever is on it.
func TestIgnoredDiagonal(t *testing.T) {
	a, _ := instance.LowRank(40, 5, 3)
	spoiled := a.Clone()
	for i := range 40 {
		spoiled.Set(i, i, 1e6*float64(i%3))
	}
	opt := Options{Solver: CD{Order: Shuffle}, Start: Random{}, Seed: 1, IgnoreDiagonal: true, Stop: Stop{Sweeps: 3000, KKT: 1e-12}}
	var results []*Result
	for _, d := range []*matrix.Dense{a, spoiled} {
		op, err := matrix.FromDense(d, 0)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, factorize(t, op, 5, opt))
		sp, err := matrix.FromCSR(sparseOf(t, d), 0)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, factorize(t, sp, 5, opt))
	}
	for k, res := range results {
		if !(res.RelErr <= 1e-5) {
			t.Errorf("form %d: relative error %v off the diagonal of a rank-5 matrix", k, res.RelErr)
		}
		if d := math.Abs(res.RelErr - results[0].RelErr); !(d <= 1e-12+res.ErrFloor) {
			t.Errorf("form %d: relative error %v, %v with another diagonal", k, res.RelErr, results[0].RelErr)
		}
	}
}

// TestZeroStartOnZeroDiagonal: on a graph without loops the published code stays at H = 0. This one plants a
// pair in each column that cannot leave zero, and says so.
func TestZeroStartOnZeroDiagonal(t *testing.T) {
	for _, name := range []string{"graph80", "zerorows50"} {
		g := readGolden(t, name)
		forms := g.forms(t)
		for _, form := range []string{"dense", "sparse"} {
			for _, ignore := range []bool{false, true} {
				for _, s := range []Solver{CD{}, CD{Order: Shuffle}, MBI{}} {
					opt := Options{Solver: s, Start: Zero{}, IgnoreDiagonal: ignore, Stop: Stop{Sweeps: 3}}
					if s == (MBI{}) {
						opt.Stop.Sweeps = 1
					}
					res := factorize(t, forms[form], g.R, opt)
					if res.ZeroColumns > 0 || res.RelErr > 0.95 {
						t.Errorf("%s (%s, %s, diagonal ignored %v): %d zero columns, relative error %v", name, form, s.Name(), ignore, res.ZeroColumns, res.RelErr)
					}
					if told := len(res.Notes) > 0; told != (name == "graph80" || ignore) {
						t.Errorf("%s (%s, %s, diagonal ignored %v): notes %q", name, form, s.Name(), ignore, res.Notes)
					}
				}
			}
		}
	}
}

// TestPlantIsBest compares the planted pair, at three sizes each, with all pairs that are joined and every
// ninth of the others.
func TestPlantIsBest(t *testing.T) {
	g := readGolden(t, "graph80")
	for _, ignore := range []bool{false, true} {
		p, err := newProblem(g.forms(t)["sparse"], 3, &Options{IgnoreDiagonal: ignore})
		if err != nil {
			t.Fatal(err)
		}
		h := instance.Start(80, 3, 4)
		for i := range 80 {
			for j := range 3 {
				h.Set(i, j, 0.3*h.At(i, j))
			}
			h.Set(i, 1, 0)
		}
		s := newCDState(p, h.Clone())
		s.begin(1)
		s.plant()
		s.end()
		if s.report.planted != 1 {
			t.Fatalf("diagonal ignored %v: nothing planted", ignore)
		}
		dense := denseOf(p.a)
		before, after := measureNaively(dense, h, nil, ignore).objective, measureNaively(dense, s.h, nil, ignore).objective
		if d := math.Abs(before - after - s.report.decrease); !(d <= 1e-12) {
			t.Errorf("diagonal ignored %v: decrease %v, by definition %v", ignore, s.report.decrease, before-after)
		}
		if err := s.verify(); err != nil {
			t.Error(err)
		}
		for q := range 80 {
			for p := range q {
				if g.a.At(p, q) == 0 && (p+q)%9 > 0 {
					continue
				}
				for _, x := range []float64{0.3, 0.6, 0.9} {
					try := h.Clone()
					try.Set(p, 1, x)
					try.Set(q, 1, x)
					if f := measureNaively(dense, try, nil, ignore).objective; !(f >= after-1e-12) {
						t.Fatalf("diagonal ignored %v: the pair %d, %d at %v gives %v, the planted one %v", ignore, p, q, x, f, after)
					}
				}
			}
		}
	}
}

// TestDriftBetweenRefreshes makes as many sweeps as there are between refreshes, and measures how far the
// quantities maintained have drifted from their true values. A refresh then removes the drift.
func TestDriftBetweenRefreshes(t *testing.T) {
	worst := 0.0
	for _, name := range goldenNames {
		g := readGolden(t, name)
		for form, a := range g.forms(t) {
			p, h := goldenProblem(t, g, a)
			s := newCDState(p, h)
			for range refreshCursorEvery {
				for j := range p.r {
					s.begin(j)
					for i := range p.n {
						s.visit(i)
					}
					s.end()
				}
			}
			fresh := newCDState(p, h)
			drift := func() (d float64) {
				for k, v := range fresh.gram {
					d = max(d, math.Abs(s.gram[k]-v))
				}
				for i, v := range fresh.rowSq {
					d = max(d, math.Abs(s.rowSq[i]-v))
				}
				for j := range p.r {
					s.cursor.Column(j)
					fresh.cursor.Column(j)
					for i := range p.n {
						d = max(d, math.Abs(s.cursor.At(i)-fresh.cursor.At(i)))
					}
				}
				return d
			}
			d := drift()
			if worst = max(worst, d); !(d <= 1e-13*p.norm*4) {
				t.Errorf("%s (%s): drift %v after %d sweeps", name, form, d, refreshCursorEvery)
			}
			s.refreshGram()
			s.cursor.Refresh()
			if d := drift(); !(d <= 1e-15) {
				t.Errorf("%s (%s): drift %v after a refresh", name, form, d)
			}
		}
	}
	t.Logf("largest drift %.2g, with ‖A‖ between 1 and 4", worst)
}

// TestFirstSweepForward: a sweep that begins with most entries of H above zero looks forward if its cursor
// can, and by tiles with a third of them; other sweeps do not. H is the same either way, to rounding.
func TestFirstSweepForward(t *testing.T) {
	never := func() bool { return false }
	for _, f := range operatorForms(t, 200, 1) {
		for _, ignore := range []bool{false, true} {
			tiles := strings.HasPrefix(f.name, "sparse") && !strings.Contains(f.name, "points") &&
				!strings.Contains(f.name, "normalized") && !ignore && kernel.TileRows(5) > 0
			var h [4]*matrix.Dense
			for k := range h {
				p, err := newProblem(f.a, 5, &Options{Threads: 1, IgnoreDiagonal: ignore})
				if err != nil {
					t.Fatal(err)
				}
				h[k] = matrix.NewDense(p.n, p.r, nil)
				if err := (Random{}).fill(p, h[k], 0); err != nil {
					t.Fatal(err)
				}
				if k >= 2 { // two thirds, or nine tenths, of it zero
					for i := range h[k].Data() {
						if i%[]int{3, 10}[k-2] > 0 {
							h[k].Data()[i] = 0
						}
					}
				}
				run := CD{}.start(p, h[k], 0).(*cdRun)
				if k == 1 {
					run.report.changed = 0
				}
				run.sweep(never)
				_, can := run.cursor.(matrix.Forwarder)
				if run.forward != (k == 0 && can || k == 2 && tiles) {
					t.Errorf("%s, diagonal ignored %t: start %d looked forward: %t", f.name, ignore, k, run.forward)
				}
				if err := run.verify(); err != nil {
					t.Errorf("%s, diagonal ignored %t: start %d: %v", f.name, ignore, k, err)
				}
			}
			for k, v := range h[0].Data() {
				if w := h[1].Data()[k]; !(math.Abs(v-w) <= 1e-10) {
					t.Fatalf("%s, diagonal ignored %t: entry %d is %v, without looking forward %v", f.name, ignore, k, v, w)
				}
			}
		}
	}
}

// TestForwardFrom: sweeps by tiles, which have to look forward, are made where fewer entries change, if rows are short.
func TestForwardFrom(t *testing.T) {
	const n = 400
	for _, c := range []struct {
		entries, mbi int
		least, most  float64 // of the part of the entries
	}{{4, 0, 0.15, 0.15}, {50, 0, 0.15, 0.15}, {96, 0, 0.2, 0.4}, {200, 0, 0.5, 0.5}, {4, 3, 0.5, 0.5}} {
		p := mustProblem(t, mustCSR(t, instance.RandomSparse(n, n*c.entries, 1)), 5)
		run := CD{MBIEvery: c.mbi}.start(p, matrix.NewDense(n, 5, nil), 0).(*cdRun)
		if kernel.TileRows(5) == 0 {
			c.least, c.most = 0.5, 0.5
		}
		if got := run.from; !(got >= c.least-1e-15 && got <= c.most+1e-15) {
			t.Errorf("%d entries a row, MBI every %d: from %v, want %v to %v", c.entries, c.mbi, got, c.least, c.most)
		}
	}
	for name, run := range map[string]*cdRun{
		"a dense A":            CD{}.start(mustProblem(t, randomDense(30), 3), matrix.NewDense(30, 3, nil), 0).(*cdRun),
		"entries in any order": CD{Entries: ByGradient}.start(mustProblem(t, star(t, 30), 3), matrix.NewDense(31, 3, nil), 0).(*cdRun),
	} {
		if run.from != 0.5 || run.tiles != nil {
			t.Errorf("%s: from %v, tiles: %t, want 0.5 and none", name, run.from, run.tiles != nil)
		}
	}
}

// TestRowLength: ‖H_i,:‖² is right to its last digits even if an update removes most, or nearly all, of the
// row.
func TestRowLength(t *testing.T) {
	a, err := matrix.FromDense(instance.FullRank(4, 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProblem(a, 3, &Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []float64{0, 3e-9, 0.4, 2} {
		h := matrix.NewDense(4, 3, nil)
		h.Set(1, 0, 1.1)
		h.Set(1, 2, 1e-9)
		s := newCDState(p, h)
		s.begin(0)
		s.set(1, to)
		if want := kernel.SumSq(h.Row(1)); !(math.Abs(s.rowSq[1]-want) <= 4*0x1p-52*want) {
			t.Errorf("to %v: %v, want %v", to, s.rowSq[1], want)
		}
	}
}

// TestVerifyFindsMistakes: verification finds an error of 1e-6 in each quantity that is maintained, and a NaN
// in H.
func TestVerifyFindsMistakes(t *testing.T) {
	g := readGolden(t, "fullrank60")
	a := g.forms(t)["dense"]
	for _, off := range []float64{1e-6, math.NaN()} {
		for name, spoil := range map[string]func(*cdState){
			"D":  func(s *cdState) { s.gram[1] += off },
			"L":  func(s *cdState) { s.rowSq[3] += off },
			"AH": func(s *cdState) { s.cursor.Column(2); s.cursor.Add(5, off) },
		} {
			p, h := goldenProblem(t, g, a)
			s := newCDState(p, h)
			if err := s.verify(); err != nil {
				t.Fatalf("before: %v", err)
			}
			if spoil(s); s.verify() == nil {
				t.Errorf("%s off by %v is not found", name, off)
			}
		}
		p, h := goldenProblem(t, g, a)
		r := Residual{}.start(p, h, 0).(*residualRun)
		if err := r.verify(); err != nil {
			t.Fatalf("before: %v", err)
		}
		if r.resid[7] += off; r.verify() == nil {
			t.Errorf("R off by %v is not found", off)
		}
		blocks := RowBlock{}.start(p, h.Clone(), 0).(*rowBlockRun)
		first := p.measure(h)
		blocks.begin(&first)
		blocks.sweep(func() bool { return false })
		if err := blocks.verify(); err != nil {
			t.Fatalf("before: %v", err)
		}
		if blocks.gram[1] += off; blocks.verify() == nil {
			t.Errorf("D of rowblock off by %v is not found", off)
		}
		blocks.release()
		c := CD{}.start(p, h, 0)
		f := p.measure(h)
		if err := p.verify(c, h, 0, f.objective(), 1); err != nil {
			t.Fatalf("before: %v", err)
		}
		if p.verify(c, h, 0, f.objective()+off, 1) == nil {
			t.Errorf("an objective off by %v is not found", off)
		}
	}
	p, h := goldenProblem(t, g, a)
	f := p.measure(h)
	r := Residual{}.start(p, h, 0)
	h.Set(2, 2, math.NaN())
	if p.verify(r, h, 0, f.objective(), 1) == nil {
		t.Error("a NaN in H is not found")
	}
}

// TestRankOneReachesTheBound: for P ≥ 0, rankOne reaches the optimum, which is √λ₁ times the Perron vector.
// Its error² is ‖P‖² − λ₁².
func TestRankOneReachesTheBound(t *testing.T) {
	g := readGolden(t, "fullrank60")
	v := make([]float64, g.N)
	for i := range v {
		v[i] = 1
	}
	lambda := 0.0
	for range 500 { // power iteration; the gap of this matrix is wide
		w := make([]float64, g.N)
		for i := range w {
			for l, x := range g.a.Row(i) {
				w[i] += x * v[l]
			}
		}
		lambda = 0
		for _, x := range w {
			lambda += x * x
		}
		lambda = math.Sqrt(lambda)
		for i := range v {
			v[i] = w[i] / lambda
		}
	}
	h := make([]float64, g.N)
	for i := range h {
		h[i] = 0.5
	}
	scratch := make([]float64, 2*g.N)
	for range 200 {
		rankOne(g.a.Data(), h, 0, g.NormA, scratch[:g.N], scratch[g.N:])
	}
	for i, x := range h {
		if want := math.Sqrt(lambda) * v[i]; !(math.Abs(x-want) <= 1e-10) {
			t.Errorf("h[%d] = %v, Perron vector %v", i, x, want)
		}
	}
}

// TestRankOneTakesAnySign: if P has negative entries, rankOne ends where no entry has a better value below 2,
// by a search in steps of 0.01. The decrease of each pass is that of the definition.
func TestRankOneTakesAnySign(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	const n = 12
	p := make([]float64, n*n)
	for i := range n {
		for l := range i + 1 {
			v := rng.Float64()*2 - 1
			p[i*n+l], p[l*n+i] = v, v
		}
	}
	objective := func(h []float64) (f float64) {
		for i := range n {
			for l := range n {
				d := p[i*n+l] - h[i]*h[l]
				f += d * d / 4
			}
		}
		return f
	}
	h := make([]float64, n)
	for i := range h {
		h[i] = rng.Float64()
	}
	a, b := make([]float64, n), make([]float64, n)
	f := objective(h)
	for range 100 {
		rep := rankOne(p, h, 0, 1, a, b)
		g := objective(h)
		if d := math.Abs(f - g - rep.decrease); !(d <= 1e-13) {
			t.Fatalf("decrease %v, by definition %v", rep.decrease, f-g)
		}
		f = g
	}
	for i := range h {
		for x := 0.0; x < 2; x += 0.01 {
			try := append([]float64(nil), h...)
			if try[i] = x; !(objective(try) >= f-1e-12) {
				t.Errorf("h[%d] = %v is better than %v", i, x, h[i])
			}
		}
	}
}

// TestPermutation: permutations of five items are valid, and all 120 appear about equally often.
func TestPermutation(t *testing.T) {
	perm := make([]int, 5)
	counts := map[[5]int]int{}
	for sweep := range 12000 {
		permutation(perm, 7, 0, uint64(sweep))
		var key [5]int
		copy(key[:], perm)
		counts[key]++
		var seen [5]bool
		for _, v := range perm {
			if seen[v] {
				t.Fatalf("%v is no permutation", perm)
			}
			seen[v] = true
		}
	}
	// 120 permutations, 100 each expected, standard deviation 10.
	if len(counts) != 120 {
		t.Errorf("%d of 120 permutations appear", len(counts))
	}
	for p, c := range counts {
		if c < 50 || c > 150 {
			t.Errorf("%v appears %d times of 12000", p, c)
		}
	}
}

// TestStarWithoutDiagonal: one item is similar to all others, which have nothing in common with each other.
// Off the diagonal, the fit improves without end as the center grows and the others shrink. H has to stay
// within reason, and the error has to become small.
func TestStarWithoutDiagonal(t *testing.T) {
	const n = 20
	d := matrix.NewDense(n, n, nil)
	for i := 1; i < n; i++ {
		d.Set(0, i, 1)
		d.Set(i, 0, 1)
	}
	for _, start := range []Start{Zero{}, Random{}} {
		res := factorize(t, mustDense(t, d), 1, Options{Solver: CD{}, Start: start, IgnoreDiagonal: true, Stop: Stop{Sweeps: 5000, KKT: -1}})
		most := 0.0
		for _, v := range res.H.Data() {
			most = max(most, v)
		}
		if !(res.RelErr <= 1e-2) || !(most <= 1e5) { // the way down is long: 1/sweeps
			t.Errorf("start %s: relative error %v, largest entry %v after %d sweeps", start.Name(), res.RelErr, most, res.Sweeps)
		}
	}
}

// TestQuadraticMinimizer compares the minimizer of ax²/2 + bx, with its bound on x, and its decrease with
// known ones.
func TestQuadraticMinimizer(t *testing.T) {
	for _, c := range []struct{ a, b, o, want float64 }{
		{2, -6, 1, 3},         // the vertex
		{2, 6, 1, 0},          // the vertex is below zero
		{0, -1, 0.5, 0.5},     // nothing else in the column
		{0, 3, 0.5, 0},        // nothing but an ℓ₁ weight
		{1e-4, -1e4, 0, 100},  // the vertex, 1e8, is beyond the bound 1e4·√a
		{1e-4, -1e4, 50, 100}, // the same from another x
		{1e-12, -1, 0.5, 0.5}, // the bound, 0.01, is below the present entry and worse
	} {
		x, decrease := quadraticMinimizer(c.a, c.b, c.o)
		want := (c.a/2*c.o*c.o + c.b*c.o) - (c.a/2*c.want*c.want + c.b*c.want)
		if !(math.Abs(x-c.want) <= 1e-12*c.want) || !(math.Abs(decrease-want) <= 1e-12*math.Abs(want)) {
			t.Errorf("a = %v, b = %v from %v: %v, decrease %v, want %v, %v", c.a, c.b, c.o, x, decrease, c.want, want)
		}
	}
}

// TestRoundingStaysZero: an item with no similar ones goes to exactly zero even if the L_i maintained is too
// large by a rounding error, which makes b negative by as much.
func TestRoundingStaysZero(t *testing.T) {
	g := readGolden(t, "zerorows50")
	p, h := goldenProblem(t, g, g.forms(t)["dense"])
	for j := 1; j < p.r; j++ {
		h.Set(7, j, 0)
	}
	s := newCDState(p, h)
	s.rowSq[7] *= 1 + 0x1p-52
	s.begin(0)
	s.visit(7)
	s.end()
	if got := h.At(7, 0); got != 0 {
		t.Errorf("H[7,0] = %v, want 0", got)
	}
}

// TestSelection: the entries visited are exactly those whose decrease is at least Nu times the largest,
// largest first.
func TestSelection(t *testing.T) {
	g := readGolden(t, "fullrank60")
	for _, nu := range []float64{0.01, 0.1, 0.5, 1} {
		p, h := goldenProblem(t, g, g.forms(t)["dense"])
		s := CD{Entries: Selected, Nu: nu}.start(p, h, 0).(*cdRun)
		s.begin(1)
		chosen := map[int]bool{}
		visits := s.entryOrder(1)
		for k, i := range visits {
			chosen[i] = true
			if k > 0 && s.keys[i] > s.keys[visits[k-1]] {
				t.Errorf("nu = %v: visit %d offers more than the one before", nu, k)
			}
		}
		most := 0.0
		for i := range p.n {
			a, b, o := s.cubic(i)
			_, decrease := s.minimizer(a, b, o)
			most = max(most, decrease)
		}
		for i := range p.n {
			a, b, o := s.cubic(i)
			if _, decrease := s.minimizer(a, b, o); chosen[i] != (decrease >= nu*most) {
				t.Errorf("nu = %v: entry %d, decrease %v of at most %v, chosen %v", nu, i, decrease, most, chosen[i])
			}
		}
	}
}

// TestMBITies: among equal decreases the first column wins, and within it the first entry.
func TestMBITies(t *testing.T) {
	p, err := newProblem(mustDense(t, matrix.NewDense(3, 3, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1})), 2, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := matrix.NewDense(3, 2, nil)
	newCDState(p, h).improveBest()
	for k, v := range h.Data() {
		if (v != 0) != (k == 0) {
			t.Errorf("H[%d,%d] = %v, want H[0,0] alone above zero", k/2, k%2, v)
		}
	}
}

// TestResidualOfView: a view of A without its diagonal has zeros there, and these count.
func TestResidualOfView(t *testing.T) {
	full := instance.FullRank(7, 3)
	hollow := full.Clone()
	for i := range 7 {
		hollow.Set(i, i, 0)
	}
	opt := Options{Solver: Residual{}, Start: Random{}, Seed: 1, Stop: Stop{Sweeps: 60, KKT: -1}}
	want := factorize(t, mustDense(t, hollow), 2, opt)
	got := factorize(t, mustDense(t, full).OffDiagonal(), 2, opt)
	if d := math.Abs(got.RelErr - want.RelErr); !(d <= 1e-12) {
		t.Errorf("error %v for the view, %v for the same matrix with zeros written out", got.RelErr, want.RelErr)
	}
}
