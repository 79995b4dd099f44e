package symnmf

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// TestTSVDTurns: ‖BQ−H‖ is what the run says, and it never rises. Q is orthogonal, H = [BQ]₊, and no rotation
// near Q brings BQ nearer to the H before.
func TestTSVDTurns(t *testing.T) {
	for _, name := range goldenNames {
		g := readGolden(t, name)
		p, h := goldenProblem(t, g, g.forms(t)["sparse"])
		s := TSVD{}.start(p, h, 0).(*tsvdRun)
		last := math.Inf(1)
		for turn := range 20 {
			before := h.Clone()
			if !s.turn() {
				t.Fatalf("%s: %v", name, p.notes)
			}
			if err := s.verify(); err != nil {
				t.Fatalf("%s, turn %d: %v", name, turn, err)
			}
			distance := func(q []float64, h *matrix.Dense) (sum float64) {
				for i := range g.N {
					for j := range g.R {
						d := -h.At(i, j)
						for k := range g.R {
							d += s.b.At(i, k) * q[k*g.R+j]
						}
						sum += d * d
					}
				}
				return sum
			}
			if d := math.Sqrt(distance(s.q, h)); !(math.Abs(d-s.distance) <= 1e-14) || d > last+1e-14 {
				t.Errorf("%s, turn %d: ‖BQ−H‖ is %v, the run has %v, %v before", name, turn, d, s.distance, last)
			}
			last = s.distance
			best := distance(s.q, before)
			for j := range g.R {
				for k := range j {
					for _, angle := range []float64{-1e-3, 1e-3} {
						q := slices.Clone(s.q)
						for l := range g.R {
							a, b := q[j*g.R+l], q[k*g.R+l]
							q[j*g.R+l], q[k*g.R+l] = math.Cos(angle)*a-math.Sin(angle)*b, math.Sin(angle)*a+math.Cos(angle)*b
						}
						if d := distance(q, before); !(d >= best-1e-13) {
							t.Fatalf("%s, turn %d: with Q turned by %v in the plane (%d,%d), ‖BQ−H‖² is %v, less than %v", name, turn, angle, j, k, d, best)
						}
					}
				}
			}
		}
	}
}

// TestLeading: BᵀB is the diagonal matrix of the positive ones among the r largest eigenvalues of A, with
// zero columns of B for the rest. In each column the positive part is the larger one.
func TestLeading(t *testing.T) {
	for _, c := range []struct {
		name   string
		a      *matrix.Dense
		r      int
		values []float64
	}{
		{"two pairs", matrix.NewDense(4, 4, []float64{0, 3, 0, 0, 3, 0, 0, 0, 0, 0, 0, 2, 0, 0, 2, 0}), 3, []float64{3, 2, 0}},
		{"more columns than items", matrix.NewDense(2, 2, []float64{2, 1, 1, 2}), 4, []float64{3, 1, 0, 0}},
		{"rank 1", filled(5, 5, 1), 3, []float64{5, 0, 0}},
		{"rank 1, eigenvalues of rounding", fill(9, func(i, l int) float64 { return float64(i*l) / 204 }), 5, []float64{1, 0, 0, 0, 0}},
	} {
		p, err := newProblem(mustDense(t, c.a), c.r, &Options{})
		if err != nil {
			t.Fatal(err)
		}
		top, err := p.leading()
		if err != nil {
			t.Fatal(err)
		}
		bb := p.cross(top.b, top.b)
		for j := range c.r {
			for k := range c.r {
				want := 0.0
				if j == k {
					want = c.values[j] * p.scale
				}
				if d := math.Abs(bb[j*c.r+k] - want); !(d <= 1e-14) || want == 0 && j == k && bb[j*c.r+k] != 0 {
					t.Errorf("%s: (BᵀB)[%d,%d] = %v, want %v", c.name, j, k, bb[j*c.r+k], want)
				}
			}
			var plus, minus float64
			for i := range p.n {
				v := top.b.At(i, j)
				plus += max(v, 0) * max(v, 0)
				minus += min(v, 0) * min(v, 0)
			}
			if !(minus <= plus*(1+1e-14)) {
				t.Errorf("%s: of column %d the negative part is the larger one", c.name, j)
			}
		}
		again, err := p.leading()
		if err != nil || again != top {
			t.Errorf("%s: computed again", c.name)
		}
	}
}

// TestSVDStart: the start is a multiple of [B]₊, and the best one. TSVD and CompressedCD start from it by
// default, and say so. If the run ends before the eigenpairs are found, it begins at random and says so.
func TestSVDStart(t *testing.T) {
	for _, name := range goldenNames {
		g := readGolden(t, name)
		p, _ := goldenProblem(t, g, g.forms(t)["dense"])
		h := matrix.NewDense(g.N, g.R, nil)
		if err := (SVDStart{}).fill(p, h, 0); err != nil {
			t.Fatal(err)
		}
		scale := 0.0
		for k, v := range p.common.top.b.Data() {
			if v > 0 && scale == 0 {
				scale = h.Data()[k] / v
			}
			if !(math.Abs(h.Data()[k]-scale*max(v, 0)) <= 1e-15) {
				t.Fatalf("%s: H[%d] = %v, B has %v there, the scale is %v", name, k, h.Data()[k], v, scale)
			}
		}
		least := p.measure(h)
		for _, c := range []float64{0.99, 1.01} {
			other := h.Clone()
			for k := range other.Data() {
				other.Data()[k] *= c
			}
			if f := p.measure(other); f.objective() <= least.objective() {
				t.Errorf("%s: %v times the start is no worse than the start", name, c)
			}
		}
		for _, s := range []Solver{TSVD{}, CompressedCD{}} {
			res := factorize(t, g.forms(t)["sparse"], g.R, Options{Solver: s, Stop: Stop{Sweeps: 1}})
			if res.Start != "svd" || res.Why != "start svd, the method's own" || !strings.HasPrefix(strings.Join(res.Times, "\n"), "the largest eigenpairs took ") || len(res.Notes) > 0 {
				t.Errorf("%s: %s starts from %s (%s), times %q, notes %q", name, s.Name(), res.Start, res.Why, res.Times, res.Notes)
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, opt := range []Options{{Solver: CD{}, Start: SVDStart{}}, {Solver: TSVD{}}, {Solver: CompressedCD{}}, {Solver: TSVD{}, Start: Zero{}}} {
		res, err := Factorize(ctx, lowRank(t, 30, 3), 3, opt)
		if !errors.Is(err, context.Canceled) || res == nil || res.Status != Interrupted || kernel.Nonzero(res.H.Data()) != (opt.Start != Zero{}) {
			t.Fatalf("%s, cancelled before anything: %+v, %v", opt.Solver.Name(), res, err)
		}
		want := "the run ended before the eigenvectors of its start were there, and began at random"
		if opt.Start == (Zero{}) {
			want = "H = 0, since the run ended before its first sweep had left it"
		}
		if !slices.Contains(res.Notes, want) {
			t.Errorf("%s, cancelled before anything: notes %q", opt.Solver.Name(), res.Notes)
		}
	}
}

// TestTSVDLooks: the error is found every CheckEvery sweeps, and is right then. The run ends when H has come
// to rest, or when an exact factor is found.
func TestTSVDLooks(t *testing.T) {
	g := readGolden(t, "graph80")
	a := g.forms(t)["sparse"]
	res := factorize(t, a, g.R, Options{Solver: TSVD{CheckEvery: 4}, Trace: true, Stop: Stop{Sweeps: 10}})
	var sweeps []int
	for _, p := range res.Trace {
		sweeps = append(sweeps, p.Sweep)
	}
	if !slices.Equal(sweeps, []int{0, 4, 8, 10}) {
		t.Errorf("10 sweeps with CheckEvery = 4: trace of sweeps %v, want 0, 4, 8, 10", sweeps)
	}
	var told []Progress
	res = factorize(t, a, g.R, Options{Solver: TSVD{}, Progress: func(p Progress) { told = append(told, p) }})
	if res.Status != Stalled || res.Sweeps < 20 || res.Sweeps > 200 {
		t.Errorf("%v after %d sweeps", res.Status, res.Sweeps)
	}
	for k, p := range told {
		if last := k == len(told)-1; p.Provisional == (p.Sweep%10 == 0 || last) || last && !(math.Abs(p.RelErr-res.RelErr) <= 1e-12) {
			t.Errorf("%+v, in the end %v", p, res.RelErr)
		}
	}
	cp5 := readGolden(t, "cp5")
	if res := factorize(t, cp5.forms(t)["dense"], 5, Options{Solver: TSVD{}, Stop: Stop{KKT: 1e-9}}); res.Status != Converged || !(res.RelErr <= 1e-8) {
		t.Errorf("cp5: %v at %v", res.Status, res.RelErr)
	}
}

// TestTSVDFromZero: from zero, TSVD begins with Q = I, so that H after one sweep is [B]₊.
func TestTSVDFromZero(t *testing.T) {
	a := lowRank(t, 20, 4)
	stop := Stop{Sweeps: 1, KKT: -1}
	got := factorize(t, a, 4, Options{Solver: TSVD{}, Start: Zero{}, Stop: stop}).H
	p, err := newProblem(a, 4, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	top, err := p.leading()
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range top.b.Data() {
		if want := max(v, 0) / math.Sqrt(p.scale); got.Data()[k] != want {
			t.Fatalf("H[%d] = %v, [B]₊ has %v", k, got.Data()[k], want)
		}
	}
}

// oddMatrices returns small matrices that are degenerate or extreme in scale.
func oddMatrices() map[string]*matrix.Dense {
	full := instance.FullRank(9, 1)
	times := func(c float64) *matrix.Dense {
		d := full.Clone()
		for k := range d.Data() {
			d.Data()[k] *= c
		}
		return d
	}
	wide := times(1e-150)
	wide.Set(0, 0, 1e150)
	return map[string]*matrix.Dense{
		"zero":      matrix.NewDense(4, 4, nil),
		"one item":  matrix.NewDense(1, 1, []float64{3}),
		"one pair":  matrix.NewDense(2, 2, []float64{0, 1, 1, 0}),
		"all alike": filled(7, 7, 2),
		"the identity": fill(6, func(i, l int) float64 {
			if i == l {
				return 1
			}
			return 0
		}),
		"zero rows":         fill(9, func(i, l int) float64 { return full.At(i, l) * float64(i%3*(l%3)) }),
		"twins":             fill(9, func(i, l int) float64 { return full.At(max(i, 2), max(l, 2)) }),
		"a star":            fill(6, func(i, l int) float64 { return float64(1-min(l, 1)) * float64(min(i, 1)) }),
		"entries of 1e150":  times(1e150),
		"entries of 1e-150": times(1e-150),
		"both":              wide,
	}
}

// TestOddMatrices: no method that begins with a low rank, and no Gauss–Newton step, breaks on degenerate
// matrices, with more columns than items, or with columns of zeros.
func TestOddMatrices(t *testing.T) {
	runs := 0
	for _, v := range variants(t) {
		is := traitsFor(v.solver)
		if !slices.Contains([]string{"tsvd", "pgncg", "lai", "compressed"}, v.solver.Name()) {
			continue
		}
		for name, d := range oddMatrices() {
			n, _ := d.Dims()
			a := mustDense(t, d)
			for _, r := range []int{1, 3, n + 2} {
				starts := []Start{Random{}, SVDStart{}, TSVDStart{}, LAIStart{}}
				if a.Norm() > 0 {
					some := instance.Start(n, r, 1)
					for i := range n {
						some.Set(i, 0, 0)
						for j := range r {
							some.Set(i, j, some.At(i, j)*math.Sqrt(a.Norm()/float64(n*r)))
						}
					}
					starts = append(starts, Given{some})
				}
				if !is.noZero && name != "one pair" && name != "a star" {
					starts = append(starts, Zero{})
				}
				for _, start := range starts {
					res, err := Factorize(context.Background(), a, r, Options{Solver: v.solver, Start: start, Stop: Stop{Sweeps: 60}, Threads: 1})
					if err != nil {
						t.Fatalf("%s on %s, r = %d, start %s: %v", v.name, name, r, start.Name(), err)
					}
					mustFinite(t, v.name+" on "+name+" from "+start.Name(), res)
					runs++
				}
			}
		}
	}
	if runs < 500 {
		t.Errorf("%d runs, want at least 500", runs)
	}
}

// TestItemsInAnotherOrder: with the items in another order, the rows of H are the same in that order, for
// methods and a start that do not depend on the order.
func TestItemsInAnotherOrder(t *testing.T) {
	g := readGolden(t, "fullrank60")
	perm := make([]int, g.N)
	permutation(perm, 3)
	turned := fill(g.N, func(i, l int) float64 { return g.a.At(perm[i], perm[l]) })
	start := matrix.NewDense(g.N, g.R, nil)
	for i, from := range perm {
		copy(start.Row(i), g.start.Row(from))
	}
	for _, c := range []struct {
		solver    Solver
		was, then Start
	}{
		{TSVD{}, Given{g.start}, Given{start}}, {PGNCG{}, Given{g.start}, Given{start}},
		{TSVD{}, SVDStart{}, SVDStart{}}, {PGNCG{}, SVDStart{}, SVDStart{}},
	} {
		stop := Stop{Sweeps: 6, KKT: -1}
		want := factorize(t, mustDense(t, g.a), g.R, Options{Solver: c.solver, Start: c.was, Stop: stop}).H
		got := factorize(t, mustDense(t, turned), g.R, Options{Solver: c.solver, Start: c.then, Stop: stop}).H
		for i, from := range perm {
			for j, v := range got.Row(i) {
				if w := want.At(from, j); !(math.Abs(v-w) <= 1e-9) {
					t.Fatalf("%s from %s: H[%d,%d] = %v, %v in the old order", c.solver.Name(), c.was.Name(), i, j, v, w)
				}
			}
		}
	}
}

// TestTSVDVerify: verification finds a Q that is not orthogonal and an H that is not [BQ]₊.
func TestTSVDVerify(t *testing.T) {
	g := readGolden(t, "lowrank40")
	for what, spoil := range map[string]func(s *tsvdRun){
		"Q": func(s *tsvdRun) {
			s.q[0] *= 1 + 1e-12
			s.p.positive(s.h, s.b, s.q)
		},
		"H": func(s *tsvdRun) { s.h.Data()[7] += 1e-14 },
	} {
		p, h := goldenProblem(t, g, g.forms(t)["dense"])
		s := TSVD{}.start(p, h, 0).(*tsvdRun)
		s.turn()
		if err := s.verify(); err != nil {
			t.Fatal(err)
		}
		spoil(s)
		if s.verify() == nil {
			t.Errorf("a wrong %s is not found", what)
		}
	}
}

// TestLeadingUnsure: a run says so if some of its eigenpairs are not exact.
func TestLeadingUnsure(t *testing.T) {
	p := mustProblem(t, star(t, 5), 2)
	for _, sure := range []bool{true, false} {
		p.common.top, p.notes = &leading{sure: sure}, nil
		if _, err := p.leading(); err != nil || slices.Contains(p.notes, "some of the largest eigenpairs are not exact") == sure || len(p.spent) != 1 {
			t.Errorf("sure %v: notes %q, times %q, %v", sure, p.notes, p.spent, err)
		}
	}
}
