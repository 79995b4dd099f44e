package symnmf

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// pointsOf returns the inner products of the rows of x, stored once as dense points and once as sparse ones.
func pointsOf(t *testing.T, x *matrix.Dense) map[string]matrix.Operator {
	t.Helper()
	forms := map[string]matrix.Operator{}
	for form, table := range map[string]matrix.Table{"dense": x, "sparse": x.CSR()} {
		a, err := matrix.Gram(table, matrix.Rows, 2)
		if err != nil {
			t.Fatal(err)
		}
		forms[form] = a
	}
	return forms
}

// offDiagonal returns ‖A − HHᵀ‖² and ‖A‖², where A is XXᵀ without its diagonal and the points are the rows of
// x. If ignored is set, the diagonal of HHᵀ does not count either.
func offDiagonal(x, h *matrix.Dense, ignored bool) (errSq, normSq float64) {
	n, _ := x.Dims()
	for i := range n {
		for l := range n {
			a := 0.0
			if i != l {
				a = kernel.Dot(x.Row(i), x.Row(l))
			} else if ignored {
				continue
			}
			d := a - kernel.Dot(h.Row(i), h.Row(l))
			errSq += d * d
			normSq += a * a
		}
	}
	return errSq, normSq
}

// TestLongPoints: one point may be far longer than the others if the diagonal is ignored, or was left out of
// A beforehand. The figures are those of the definitions to within the floor, the floor is small enough to be
// of use, and the other points are the ones that are factored.
func TestLongPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 3))
	const n, r = 30, 3
	for _, length := range []float64{1, 1e3, 1e5, 1e8} {
		x := matrix.NewDense(n, 5, nil)
		for i := 1; i < n; i++ {
			for k := 1; k < 5; k++ {
				x.Set(i, k, rng.Float64())
			}
		}
		x.Set(0, 0, length)
		for form, a := range pointsOf(t, x) {
			for name, c := range map[string]struct {
				a      matrix.Operator
				ignore bool
			}{"ignored": {a, true}, "left out": {a.OffDiagonal(), false}, "both": {a.OffDiagonal(), true}} {
				res := factorize(t, c.a, r, Options{IgnoreDiagonal: c.ignore, Bound: AnyBound})
				errSq, normSq := offDiagonal(x, res.H, c.ignore)
				want := math.Sqrt(errSq / normSq)
				most := 1e-9
				if length > 1e5 {
					most = res.ErrFloor
				}
				if what := fmt.Sprintf("%s, %s, length %v", form, name, length); res.Status != Converged || !(want < 0.4) || !(math.Abs(res.RelErr-want) <= most) || !(res.ErrFloor < 1e-3) || res.LowerBound > want || !(math.Abs(res.NormA-math.Sqrt(normSq)) <= 1e-9*res.NormA) {
					t.Errorf("%s: %v, error %v, want %v, floor %v, bound %v, norm %v, want %v", what, res.Status, res.RelErr, want, res.ErrFloor, res.LowerBound, res.NormA, math.Sqrt(normSq))
				}
			}
		}
	}
}

// TestFloorWithoutDiagonal: the floor of the error allows for the rounding of the diagonal taken away from
// A·H.
func TestFloorWithoutDiagonal(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 4))
	const n, r = 30, 3
	x, h := matrix.NewDense(n, 5, nil), matrix.NewDense(n, r, nil)
	for _, length := range []float64{1, 1e4, 1e8, 1e12} {
		for k := range x.Data() {
			x.Data()[k] = rng.Float64()
		}
		for k := range x.Row(0) {
			x.Set(0, k, length)
		}
		for form, a := range pointsOf(t, x) {
			p, err := newProblem(a, r, &Options{Threads: 1, IgnoreDiagonal: true})
			if err != nil {
				t.Fatal(err)
			}
			unscaled := h.Clone()
			for k := range h.Data() {
				h.Data()[k] = rng.Float64()
				unscaled.Data()[k] = h.Data()[k] / math.Sqrt(p.scale)
			}
			f := p.measure(h)
			want, _ := offDiagonal(x, unscaled, true)
			if want *= p.scale * p.scale; !(math.Abs(f.errSq-want) <= f.floorSq) || f.floorSq > 1e-10*max(1, length) {
				t.Errorf("%s, length %v: ‖A−HHᵀ‖² is %v, want %v, floor %v", form, length, f.errSq, want, f.floorSq)
			}
		}
	}
}

// beginRandom begins a run of rowblock that checks every sweep, from a random start, and also returns the
// start and its figures.
func beginRandom(t *testing.T, p *problem) (*rowBlockRun, *matrix.Dense, figures) {
	t.Helper()
	h := matrix.NewDense(p.n, p.r, nil)
	if err := (Random{}).fill(p, h, 0); err != nil {
		t.Fatal(err)
	}
	first := p.measure(h)
	s := RowBlock{CheckEvery: 1}.start(p, h, 0).(*rowBlockRun)
	s.begin(&first)
	return s, h, first
}

// TestNoiseWithoutDiagonal: where an ignored diagonal is taken away from A·H, rowblock and cd-cyclic allow
// for the rounding this causes in the quantities they maintain.
func TestNoiseWithoutDiagonal(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 6))
	const n, r = 30, 3
	x := matrix.NewDense(n, 5, nil)
	for k := range x.Data() {
		x.Data()[k] = rng.Float64()
	}
	for k := range x.Row(0) {
		x.Set(0, k, 1e11)
	}
	for form, a := range pointsOf(t, x) {
		p, err := newProblem(a, r, &Options{Threads: 1, IgnoreDiagonal: true})
		if err != nil {
			t.Fatal(err)
		}
		s, _, first := beginRandom(t, p)
		for range 5 {
			s.sweep(never)
			if now := p.measure(s.publish()); !(math.Abs(now.objective()-s.safeF) <= s.noise()) || s.noise() > 1e-12*p.taken[0]*first.hhSq {
				t.Errorf("%s: objective %v, the run has %v, noise %v", form, now.objective(), s.safeF, s.noise())
			}
		}
		h := s.end()
		c := CD{}.start(p, h, 0).(*cdRun)
		for range 5 {
			c.sweep(never)
			if err := c.verify(); err != nil {
				t.Errorf("%s: %v", form, err)
			}
		}
	}
}

// TestClearLoosePoints: with the diagonal ignored, ClearLoose gives a zero row to a point that is orthogonal
// to all others, although its products with them are rounding, not zero.
func TestClearLoosePoints(t *testing.T) {
	const n, r = 4, 2
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 5))
		x := matrix.NewDense(n, 6, nil)
		for k := range 6 {
			if k > 3 {
				x.Set(0, k, 0.1+rng.Float64())
				continue
			}
			for i := 1; i < n; i++ {
				x.Set(i, k, rng.Float64())
			}
		}
		for form, a := range pointsOf(t, x) {
			for _, solver := range []Solver{RowBlock{}, CD{}, AMU{}, BetaSNMF{}} {
				res, err := Factorize(context.Background(), a, r, Options{Solver: solver, Start: Random{}, Seed: seed, IgnoreDiagonal: true, ClearLoose: true, Stop: Stop{Sweeps: 60}})
				if err != nil {
					t.Fatal(err)
				}
				if kernel.Nonzero(res.H.Row(0)) || res.ZeroRows != 1 || res.RelErr > 0.8 {
					t.Errorf("%s, %s, seed %d: row 0 of H is %v, %d rows are zero, error %v; want row 0 alone zero", form, solver.Name(), seed, res.H.Row(0), res.ZeroRows, res.RelErr)
				}
			}
		}
	}
}

// TestNoiseOfStart: rounding in the objective of the H before a sweep is allowed for, too. One point,
// orthogonal to the others and far longer, causes such rounding at a random start, but not once its row is
// zero.
func TestNoiseOfStart(t *testing.T) {
	const n, r = 24, 3
	rng := rand.New(rand.NewPCG(44, 7))
	x := matrix.NewDense(n, 5, nil)
	for i := 1; i < n; i++ {
		for k := 1; k < 5; k++ {
			x.Set(i, k, rng.Float64())
		}
	}
	x.Set(0, 0, 1e4)
	for form, a := range pointsOf(t, x) {
		p, err := newProblem(a, r, &Options{Threads: 1, IgnoreDiagonal: true})
		if err != nil {
			t.Fatal(err)
		}
		var after float64 // one sweep
		for _, lost := range []float64{0, 0.5} {
			s, h, _ := beginRandom(t, p)
			if s.safeNoise == 0 || s.safeNoise != s.takenNoise(h) {
				t.Fatalf("%s: %v is allowed for at the start, want takenNoise of H, above 0", form, s.safeNoise)
			}
			lost *= s.safeNoise
			if lost > 0 {
				s.safeF = after - lost
			}
			s.sweep(never)
			if lost == 0 {
				after = s.safeF
			} else if noise := s.noise(); lost < 2*noise || !(math.Abs(s.safeF-after) <= noise) {
				t.Errorf("%s: objective %v, want %v, noise %v, %v lost", form, s.safeF, after, noise, lost)
			}
			if want := s.takenNoise(s.h); want == 0 || s.safeNoise != want {
				t.Errorf("%s: after a sweep %v is allowed for, want %v", form, s.safeNoise, want)
			}
			s.end()
		}
	}
}

// TestClearLooseTrace: if rows are cleared at the end, the last point of the trace is of the H returned.
func TestClearLooseTrace(t *testing.T) {
	a := mustDense(t, matrix.NewDense(3, 3, []float64{2, 1, 0, 1, 2, 0, 0, 0, 0}))
	res, err := Factorize(context.Background(), a, 1, Options{Solver: ANLS{}, Start: Given{H: filled(3, 1, 1)}, ClearLoose: true, Trace: true, Stop: Stop{Sweeps: 1, KKT: -1}})
	if err != nil {
		t.Fatal(err)
	}
	last := res.Trace[len(res.Trace)-1]
	if len(res.Trace) != 2 || last.Sweep != 1 || last.RelErr != res.RelErr || last.KKT != res.KKT || res.ZeroRows != 1 {
		t.Errorf("trace %+v, result: error %v, KKT residual %v, %d rows of zeros", res.Trace, res.RelErr, res.KKT, res.ZeroRows)
	}
}
