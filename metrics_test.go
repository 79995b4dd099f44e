package symnmf

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/internal/rules"
	"symnmf/matrix"
)

// naiveFigures is what measureNaively computes.
type naiveFigures struct{ normA, err, objective, kkt float64 }

// measureNaively computes ‖A‖, the error, the objective and the KKT residual from their definitions, with HHᵀ
// formed.
func measureNaively(a, h *matrix.Dense, l1 []float64, ignoreDiag bool) naiveFigures {
	n, r := h.Dims()
	counts := func(i, l int) bool { return i != l || !ignoreDiag }
	resid := matrix.NewDense(n, n, nil) // HHᵀ − A
	var f naiveFigures
	for i := range n {
		for l := range n {
			if !counts(i, l) {
				continue
			}
			s := -a.At(i, l)
			for j := range r {
				s += h.At(i, j) * h.At(l, j)
			}
			resid.Set(i, l, s)
			f.err += s * s
			f.normA += a.At(i, l) * a.At(i, l)
		}
	}
	f.objective = f.err / 4
	f.normA, f.err = math.Sqrt(f.normA), math.Sqrt(f.err)
	for i := range n {
		for j := range r {
			var g float64
			for l := range n {
				g += resid.At(i, l) * h.At(l, j)
			}
			if l1 != nil {
				g += l1[j]
				f.objective += l1[j] * h.At(i, j)
			}
			step := h.At(i, j) - math.Max(0, h.At(i, j)-g/f.normA)
			f.kkt += step * step
		}
	}
	f.kkt = math.Sqrt(f.kkt / f.normA)
	return f
}

// denseOf writes out the matrix of an operator by multiplying it by the identity.
func denseOf(a matrix.Operator) *matrix.Dense {
	n := a.Dim()
	id := matrix.NewDense(n, n, nil)
	for i := range n {
		id.Set(i, i, 1)
	}
	out := matrix.NewDense(n, n, nil)
	a.NewProduct(id, 1).RowsTo(out.Data(), 0, n)
	return out
}

// TestMeasureAgainstDefinition: the figures of the golden starts are those of the definitions, for every form
// of A, with and without the diagonal and ℓ₁ weights.
func TestMeasureAgainstDefinition(t *testing.T) {
	for _, name := range goldenNames {
		g := readGolden(t, name)
		for form, a := range g.forms(t) {
			for _, ignore := range []bool{false, true} {
				for _, l1 := range [][]float64{nil, {0.3}, weights(g.R)} {
					opt := Options{IgnoreDiagonal: ignore, L1: l1}
					p, err := newProblem(a, g.R, &opt)
					if err != nil {
						t.Fatal(err)
					}
					h := matrix.NewDense(g.N, g.R, nil)
					if err := (Given{g.start}).fill(p, h, 0); err != nil {
						t.Fatal(err)
					}
					full := l1
					if len(l1) == 1 {
						full = make([]float64, g.R)
						for j := range full {
							full[j] = l1[0]
						}
					}
					want := measureNaively(g.a, g.start, full, ignore)
					got := p.measure(h)
					for what, pair := range map[string][2]float64{
						"relative error": {got.relErr(), want.err / want.normA},
						"KKT residual":   {got.kkt(), want.kkt},
						"objective":      {got.objective() / p.scale / p.scale, want.objective},
						"norm":           {p.norm / p.scale, want.normA},
					} {
						if !(math.Abs(pair[0]-pair[1]) <= 1e-11*math.Max(pair[1], 1)) {
							t.Errorf("%s/%s, diagonal ignored %v, l1 %v: %s %v, want %v", name, form, ignore, l1, what, pair[0], pair[1])
						}
					}
				}
			}
		}
	}
}

// TestRelErr compares RelErr with the definition for an H that does not belong to A and is not scaled to it.
func TestRelErr(t *testing.T) {
	for _, name := range goldenNames {
		g := readGolden(t, name)
		h := instance.Start(g.N, g.R+1, 3)
		for form, a := range g.forms(t) {
			for _, ignore := range []bool{false, true} {
				want := measureNaively(g.a, h, nil, ignore)
				got, floor, err := RelErr(a, h, Options{IgnoreDiagonal: ignore, Threads: 2})
				if err != nil {
					t.Fatal(err)
				}
				if !(floor > 0 && floor < 1e-5) || !(math.Abs(got-want.err/want.normA) <= 1e-11*want.err/want.normA) {
					t.Errorf("%s/%s, diagonal ignored %v: error %v (floor %v), want %v", name, form, ignore, got, floor, want.err/want.normA)
				}
			}
		}
	}
	g := readGolden(t, "graph80")
	if _, _, err := RelErr(g.forms(t)["sparse"], instance.Start(79, 2, 1), Options{}); !errors.Is(err, ErrUnfit) {
		t.Errorf("an H of 79 rows for 80 items: error %v, want ErrUnfit", err)
	}
}

// TestMeasureOfZero: the figures of H = 0, which are found without a product, are those that a product gives.
func TestMeasureOfZero(t *testing.T) {
	for _, name := range goldenNames {
		g := readGolden(t, name)
		for _, ignore := range []bool{false, true} {
			a := g.forms(t)["dense"]
			p, err := newProblem(a, g.R, &Options{L1: weights(g.R), IgnoreDiagonal: ignore})
			if err != nil {
				t.Fatal(err)
			}
			h := matrix.NewDense(p.n, p.r, nil)
			got, want := p.measure(h), p.measureWith(h, p.a.NewProduct(h, 1))
			got.floorSq, want.floorSq = 0, 0
			if !(math.Abs(got.errSq-want.errSq) <= 1e-13*want.errSq) {
				t.Errorf("%s: ‖A‖² = %v, entry by entry %v", name, got.errSq, want.errSq)
			}
			if want.errSq = got.errSq; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		}
	}
}

// weights returns the ℓ₁ weights 0, 0.1, 0.2, … of r columns.
func weights(r int) []float64 {
	w := make([]float64, r)
	for j := range w {
		w[j] = 0.1 * float64(j)
	}
	return w
}

// TestErrorFloor checks the promise of Result.ErrFloor: the error is right to within the floor. It does so
// where the error is far below what the formula that cancels can show, once with the direct sum and once
// without it. The reference is a direct sum, too, with rounding of its own, so twice the floor is allowed.
func TestErrorFloor(t *testing.T) {
	a, b := instance.LowRank(60, 4, 1)
	op, err := matrix.FromDense(a, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, eps := range []float64{0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3} {
		h := b.Clone()
		for k, v := range h.Data() {
			h.Data()[k] = v * (1 + eps*float64(k%7))
		}
		want := measureNaively(a, h, nil, false)
		for name, form := range map[string]matrix.Operator{"dense": op, "no rows to visit": blind{op}} {
			p, err := newProblem(form, 4, &Options{})
			if err != nil {
				t.Fatal(err)
			}
			scaled := matrix.NewDense(60, 4, nil)
			if err := (Given{h}).fill(p, scaled, 0); err != nil {
				t.Fatal(err)
			}
			f := p.measure(scaled)
			e := want.err / want.normA
			if d := math.Abs(f.relErr() - e); !(d <= 2*f.floor()) {
				t.Errorf("%s, perturbed by %g: error %v, want %v, floor %v", name, eps, f.relErr(), e, f.floor())
			}
			if most := map[string]float64{"dense": 1e-14, "no rows to visit": 3e-7}[name]; eps < 1e-9 && !(f.floor() <= most) {
				t.Errorf("%s: floor %v, want at most %v", name, f.floor(), most)
			}
		}
	}
}

// blind hides that an operator can list its rows.
type blind struct{ matrix.Operator }

func (b blind) Scaled(c float64) matrix.Operator { return blind{b.Operator.Scaled(c)} }
func (b blind) OffDiagonal() matrix.Operator     { return blind{b.Operator.OffDiagonal()} }

// TestErrorFloorWithoutDiagonal: off the diagonal, A·H of points is a difference of larger numbers, and the
// floor allows for its rounding. The points are long and all but orthogonal to each other, so that nearly all
// of each product cancels.
func TestErrorFloorWithoutDiagonal(t *testing.T) {
	x := matrix.NewDense(40, 40, nil)
	for i := range 40 {
		x.Set(i, i, 1e4+float64(i))
		x.Set(i, (i+1)%40, 1e-4*float64(i%5))
	}
	a, err := matrix.Gram(sparseOf(t, x), matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProblem(a, 6, &Options{IgnoreDiagonal: true})
	if err != nil {
		t.Fatal(err)
	}
	h := matrix.NewDense(40, 6, nil)
	if err := (Random{}).fill(p, h, 0); err != nil {
		t.Fatal(err)
	}
	if len(p.taken) == 0 || !(p.taken[0] >= 1e6*p.norm) {
		t.Fatalf("‖A‖ is %v, and products subtract %v: this shows nothing", p.norm, p.taken)
	}
	for _, c := range []float64{1, 30} { // of a large H, most of the floor is that of the products
		for k := range h.Data() {
			h.Data()[k] *= c
		}
		f, want := p.measure(h), measureNaively(denseOf(p.a), h, nil, true)
		if d := math.Abs(f.errSq - want.err*want.err); !(d <= f.floorSq) || !(f.floor() <= 0.01) {
			t.Errorf("H·%v: error %v, want %v; the squares differ by %.2g, want at most %.2g; floor %v, want at most 0.01", c, f.relErr(), want.err/want.normA, d, f.floorSq, f.floor())
		}
	}
}

// TestGramMatrix: HᵀH is that of the definition, for numbers of rows around a block's and for many blocks.
func TestGramMatrix(t *testing.T) {
	for _, n := range []int{1, 5, 255, 256, 257, 20000} {
		h := instance.Start(n, 3, 1)
		p := &problem{n: n, r: 3, workers: 2}
		d := p.gram(h)
		for j := range 3 {
			for k := range 3 {
				var want float64
				for i := range n {
					want += h.At(i, j) * h.At(i, k)
				}
				if got := d[j*3+k]; !(math.Abs(got-want) <= 1e-13*float64(n)) {
					t.Errorf("n = %d: D[%d,%d] = %v, want %v", n, j, k, got, want)
				}
			}
		}
	}
}

// TestMeasureStart: what is kept of a start serves to measure that start only. A start of another run and
// another H get their own figures.
func TestMeasureStart(t *testing.T) {
	const n, r = 120, 3
	near := func(a, b figures) bool {
		return math.Abs(a.objective()-b.objective()) <= 1e-14*(a.normOfA*a.normOfA+b.hhSq) && math.Abs(a.kkt()-b.kkt()) <= 1e-13 && a.zeroCols == b.zeroCols && a.zeroRows == b.zeroRows
	}
	for _, f := range operatorForms(t, n, 1) {
		for _, opt := range []Options{{}, {IgnoreDiagonal: true}, {L1: []float64{1e-3 * math.Pow(f.a.Norm(), 1.5) / n}}} {
			p, err := newProblem(f.a, r, &opt)
			if err != nil {
				t.Fatal(err)
			}
			for run := range 2 {
				h := matrix.NewDense(n, r, nil)
				if err := (Random{}).fill(p, h, run); err != nil {
					t.Fatal(err)
				}
				if p.begun.ah == nil {
					t.Fatalf("%s: A·H of the start is not kept, so this test shows nothing", f.name)
				}
				want := p.measure(h)
				if got := p.measureStart(h); !near(got, want) {
					t.Errorf("%s, %+v, run %d: %+v, want %+v", f.name, opt, run, got, want)
				}
				kernel.Scale(h.Data(), 0.5)
				want = p.measure(h)
				if got := p.measureStart(h); !near(got, want) {
					t.Errorf("%s, %+v, run %d, another H: %+v, want %+v", f.name, opt, run, got, want)
				}
			}
		}
	}
	const columns = 64
	large, err := newProblem(mustCSR(t, instance.RandomSparse(rules.MostKept/columns+1, 10, 1)), columns, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := matrix.NewDense(large.n, columns, nil)
	if err := (Random{}).fill(large, h, 0); err != nil {
		t.Fatal(err)
	}
	if large.begun.ah != nil {
		t.Error("A·H of a large start is kept")
	}
	if got, want := large.measureStart(h), large.measure(h); !near(got, want) {
		t.Errorf("a large start: %+v, want %+v", got, want)
	}
	// A start given by the caller, after a random one that was never measured.
	opt := Options{Start: Random{}}
	q, err := newProblem(lowRank(t, 9, 3), 3, &opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := (Random{}).fill(q, matrix.NewDense(9, 3, nil), 0); err != nil {
		t.Fatal(err)
	}
	own := instance.Start(9, 3, 1)
	res, err := q.run(t.Context(), &Options{Solver: RowBlock{}, Start: Given{own}, Stop: Stop{Sweeps: 1}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, first, run2 := startRun(t, lowRank(t, 9, 3), 3, RowBlock{}, Options{Start: Given{own}})
	run2.end()
	if want := q.measure(first); res.First.RelErr != want.relErr() {
		t.Errorf("the start given by the caller has error %v, want %v", res.First.RelErr, want.relErr())
	}
}

// TestLooseRows: an item is loose if its row of A·H is zero. It is not loose if that row is only orthogonal
// to its row of H.
func TestLooseRows(t *testing.T) {
	for _, c := range []struct{ n, loose int }{{3, 2}, {40, 2}, {40, 20}, {100, 39}, {100, 64}, {100, 99}} {
		// A path that leaves one item out, whose neighbors have orthogonal rows of H.
		adjacent, h := matrix.NewDense(c.n, c.n, nil), matrix.NewDense(c.n, 2, nil)
		for last, column, i := -1, 0, 0; i < c.n; i++ {
			if i == c.loose {
				h.Set(i, 0, 1)
				h.Set(i, 1, 1)
				continue
			}
			if last >= 0 {
				adjacent.Set(last, i, 1)
				adjacent.Set(i, last, 1)
			}
			h.Set(i, column, 1)
			last, column = i, 1-column
		}
		p, err := newProblem(mustDense(t, adjacent), 2, &Options{})
		if err != nil {
			t.Fatal(err)
		}
		if f := p.measure(h); !reflect.DeepEqual(f.loose, []int{c.loose}) {
			t.Errorf("of %d items loose are %v, want %d alone", c.n, f.loose, c.loose)
		}
	}
}

// TestFiguresOfOwners: with the diagonal ignored, a row that owns a column, or outgrows all others, leaves
// next to nothing of the differences from HᵀH. The figures are still those of the definitions, and so is what
// the multiplicative methods divide by.
func TestFiguresOfOwners(t *testing.T) {
	const n, r = 9, 3
	rng := rand.New(rand.NewPCG(28, 1))
	a := instance.FullRank(n, 2)
	for _, scales := range [][]float64{{1}, {1e5, 1e-5}, {1e9, 1e-9, 1e-9}, {1, 1e-12, 1e-12, 1e-12, 1e-12, 1e-12, 1e-12, 1e-12, 1e-12}} {
		h := matrix.NewDense(n, r, nil)
		for i := range n {
			for j := range r {
				h.Set(i, j, scales[min(i, len(scales)-1)]*rng.Float64())
			}
		}
		for form, op := range map[string]matrix.Operator{"dense": mustDense(t, a), "sparse": mustCSR(t, sparseOf(t, a))} {
			p, err := newProblem(op, r, &Options{IgnoreDiagonal: true})
			if err != nil {
				t.Fatal(err)
			}
			scaled := h.Clone()
			for k := range scaled.Data() {
				scaled.Data()[k] *= math.Sqrt(p.scale)
			}
			want, f := measureNaively(a, h, nil, true), p.measure(scaled)
			if d := math.Abs(f.relErr() - want.err/want.normA); !(d <= f.floor()+1e-12*want.err/want.normA) {
				t.Errorf("%s, rows of %v: error %v, want %v, floor %v", form, scales, f.relErr(), want.err/want.normA, f.floor())
			}
			if most := 1e-6 * (want.err/want.normA + 1); !(f.floor() <= most) {
				t.Errorf("%s, rows of %v: floor %v, want at most %v", form, scales, f.floor(), most)
			}
			if d := math.Abs(f.kkt() - want.kkt); !(d <= 1e-8*want.kkt) {
				t.Errorf("%s, rows of %v: KKT residual %v, want %v", form, scales, f.kkt(), want.kkt)
			}
			got := matrix.NewDense(n, r, nil)
			p.timesGram(got, h, p.gram(h))
			for i := range n {
				for k := range r {
					sum := 0.0
					for l := range n {
						for j := range r {
							if l != i {
								sum += h.At(i, j) * h.At(l, j) * h.At(l, k)
							}
						}
					}
					if d := math.Abs(got.At(i, k) - sum); !(d <= 1e-8*sum) {
						t.Errorf("rows of %v: (H·HᵀH)[%d,%d] of other rows is %v, want %v", scales, i, k, got.At(i, k), sum)
					}
				}
			}
		}
	}
}

// TestErrorFloorOfLargeRows: without the diagonal, a row much larger than the others adds to the rounding of
// a sum that does not contain its square. The floor allows for that.
func TestErrorFloorOfLargeRows(t *testing.T) {
	const n, r = 60, 4
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(28, seed))
		h := matrix.NewDense(n, r, nil)
		for i := range n {
			for j := range r {
				v := rng.Float64()
				if i > 0 {
					v *= 0.0004
				}
				h.Set(i, j, v)
			}
		}
		a := matrix.NewDense(n, n, nil)
		for i := range n {
			for l := range n {
				if i != l {
					a.Set(i, l, kernel.Dot(h.Row(i), h.Row(l)))
				}
			}
		}
		got, floor, err := RelErr(blind{mustDense(t, a)}, h, Options{IgnoreDiagonal: true})
		if err != nil {
			t.Fatal(err)
		}
		if want := measureNaively(a, h, nil, true); !(math.Abs(got-want.err/want.normA) <= floor) {
			t.Errorf("seed %d: error %v, want %v, floor %v", seed, got, want.err/want.normA, floor)
		}
	}
}

// TestOthersOfSigns: if H has negative entries, too, a row is summed anew only if the difference leaves next
// to nothing of it.
func TestOthersOfSigns(t *testing.T) {
	p := &problem{}
	h := matrix.NewDense(3, 1, []float64{1, -1, -2})
	hd := []float64{-6} // H·(HᵀH) of row 1
	if anew := p.others(hd, h, 1, 1); anew || hd[0] != -5 {
		t.Errorf("%v, summed anew: %v, want -5 and no new sum", hd, anew)
	}
}
