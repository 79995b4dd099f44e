package symnmf

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"symnmf/internal/instance"
	"symnmf/matrix"
)

// TestRowBlockPenalty: with growing ℓ₁ weights, H is stationary by the definition of the residual, and grows
// sparser until it is zero; another minimum may have fewer zeros by a tenth of the entries. Columns with too
// large a weight of their own become zero, and no others.
func TestRowBlockPenalty(t *testing.T) {
	const n, r = 60, 5
	low, _ := instance.LowRank(n, r, 1)
	points, err := matrix.Gram(instance.Text(n, 50, 12, 1), matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	graph, _ := instance.PlantedGraph(n, 4, 0.5, 0.05, 1)
	for _, f := range []testForm{{"dense", mustDense(t, low)}, {"points", points}, {"graph", mustCSR(t, looped(t, graph))}} {
		unit := math.Pow(f.a.Norm(), 1.5)
		for _, start := range []Start{Zero{}, Random{}} {
			last := -1
			for _, w := range []float64{0, 1e-4, 1e-3, 1e-2, 1} {
				what := fmt.Sprintf("%s from %s, weight %v", f.name, start.Name(), w)
				opt := Options{Solver: RowBlock{Passes: 2}, Start: start, L1: []float64{w * unit}, Stop: Stop{Sweeps: 5000, KKT: 1e-8}}
				res := factorize(t, f.a, r, opt)
				mustFinite(t, what, res)
				naive := measureNaively(denseOf(f.a), res.H, filled(1, r, w*unit).Data(), false)
				if res.Status != Converged || !(naive.kkt <= 1e-7) {
					t.Errorf("%s: %v with a KKT residual of %v, by definition %v", what, res.Status, res.KKT, naive.kkt)
				}
				zeros := 0
				for _, v := range res.H.Data() {
					if v == 0 {
						zeros++
					}
				}
				if zeros < last-n*r/10 { // another minimum may have somewhat fewer zeros
					t.Errorf("%s: %d entries are zero, with less weight %d were", what, zeros, last)
				}
				last = max(last, zeros)
				if w == 1 && zeros != n*r {
					t.Errorf("%s: %d of %d entries are zero", what, zeros, n*r)
				}
			}
			// Two columns have a weight that leaves them no entries.
			weights := []float64{0, unit, 1e-4 * unit, unit, 0}
			res := factorize(t, f.a, r, Options{Solver: RowBlock{}, Start: start, L1: weights, Stop: Stop{Sweeps: 5000, KKT: 1e-8}})
			for j, w := range weights {
				dead := true
				for i := range n {
					dead = dead && res.H.At(i, j) == 0
				}
				if dead != (w == unit) {
					t.Errorf("%s from %s: column %d of weight %v·‖A‖^1.5 is zero: %v", f.name, start.Name(), j+1, w/unit, dead)
				}
			}
			if res.ZeroColumns != 2 || res.Status != Converged {
				t.Errorf("%s from %s: %d zero columns, %v with a KKT residual of %v", f.name, start.Name(), res.ZeroColumns, res.Status, res.KKT)
			}
		}
	}
}

// TestRowBlockDeadColumns: columns of zeros in the start come to life if some A_ii is larger than ‖H_i,:‖²,
// and the error goes where only all columns together can bring it. Without a diagonal they stay zero and are
// counted.
func TestRowBlockDeadColumns(t *testing.T) {
	const n, r = 60, 6
	dead := map[int]bool{1: true, 2: true, 5: true}
	startOf := func(scale float64) Start {
		h := instance.Start(n, r, 3)
		for k := range h.Data() {
			h.Data()[k] *= scale
			if dead[k%r] {
				h.Data()[k] = 0
			}
		}
		return Given{h}
	}
	block := fill(n, func(i, l int) float64 { // r cliques: three columns would leave three of them, an error of √(3/6)
		if i*r/n == l*r/n {
			return 1
		}
		return 0.01
	})
	for _, a := range []matrix.Operator{mustDense(t, block), mustCSR(t, sparseOf(t, block))} {
		for _, s := range []RowBlock{{}, {Precision: Single, First: FirstRows, Block: 16}, {NoMomentum: true, First: FirstRows}} {
			res := factorize(t, a, r, Options{Solver: s, Start: startOf(0.5), Stop: Stop{Sweeps: 1000, KKT: 1e-8}})
			if res.ZeroColumns > 0 || !(res.RelErr < 0.05) {
				t.Errorf("%T, %+v: %d zero columns, relative error %v", a, s, res.ZeroColumns, res.RelErr)
			}
		}
	}
	// One sweep on A = I, from columns of two rows each or of none, reaches the least error there is: each
	// column gets one row or more.
	identity := mustDense(t, fill(n, func(i, l int) float64 { return float64((l + 1) / (i + 1)) }))
	for alive := 1; alive < r; alive++ {
		h := matrix.NewDense(n, r, nil)
		for j := range alive {
			h.Set(j, j, 1)
			h.Set(2*j+5, j, 0.3)
		}
		res := factorize(t, identity, r, Options{Solver: RowBlock{First: FirstRows}, Start: Given{h}, Stop: Stop{Sweeps: 1, KKT: -1}})
		if want := math.Sqrt((n - r) / float64(n)); res.ZeroColumns > 0 || !(res.RelErr <= want*(1+1e-9)) {
			t.Errorf("identity, %d columns: %d zero columns, relative error %v, want %v", alive, res.ZeroColumns, res.RelErr, want)
		}
	}
	hollow := fill(n, func(i, l int) float64 {
		if i == l {
			return 0
		}
		return block.At(i, l)
	})
	for _, ignore := range []bool{false, true} {
		d := hollow
		if ignore {
			d = block
		}
		res := factorize(t, mustDense(t, d), r, Options{Solver: RowBlock{First: FirstRows}, Start: startOf(0.5), IgnoreDiagonal: ignore, Stop: Stop{Sweeps: 300, KKT: 1e-8}})
		mustFinite(t, "no diagonal", res)
		if res.ZeroColumns != len(dead) {
			t.Errorf("diagonal ignored %v: %d zero columns, want %d", ignore, res.ZeroColumns, len(dead))
		}
	}
}

// TestRowBlockIgnoredDiagonal: if the diagonal is meaningless and ignored, a planted factor of 5 columns is
// found.
func TestRowBlockIgnoredDiagonal(t *testing.T) {
	const n, r = 100, 5
	a, _ := instance.LowRank(n, r, 6)
	for i := range n {
		a.Set(i, i, 1e3*float64(i%7))
	}
	sum := 0.0 // ‖A‖² off the diagonal
	for i := range n {
		for l := range n {
			if i != l {
				sum += a.At(i, l) * a.At(i, l)
			}
		}
	}
	for _, f := range []testForm{{"dense", mustDense(t, a)}, {"sparse", mustCSR(t, sparseOf(t, a))}} {
		res := factorize(t, f.a, r, Options{Solver: RowBlock{First: FirstRows}, Start: Random{}, IgnoreDiagonal: true, Stop: Stop{Sweeps: 2000, KKT: 1e-12}})
		off := 0.0
		for i := range n {
			for l := range i {
				e := a.At(i, l)
				for k, v := range res.H.Row(i) {
					e -= v * res.H.Row(l)[k]
				}
				off += 2 * e * e
			}
		}
		if e := math.Sqrt(off / sum); !(e < 1e-8) {
			t.Errorf("%s: relative error off the diagonal %v (%v after %d sweeps)", f.name, e, res.Status, res.Sweeps)
		}
	}
}

// TestDwarfingDiagonal: points that are nearly orthogonal have a diagonal of up to 10¹² times the rest of A,
// which is ignored. Runs go as on A written out, although products of points have lost the digits below the
// diagonal, up to where none are left. What is maintained is right as far as the digits go.
func TestDwarfingDiagonal(t *testing.T) {
	defer func(v bool) { verifying = v }(verifying)
	verifying = true
	const n, r, features = 60, 4, 100
	u := uniform{12}
	for _, c := range []struct{ size, err float64 }{{1, 1e-6}, {1e2, 1e-6}, {1e4, 1e-6}, {1e6, 1e-2}} { // of the root of the diagonal, and the allowed difference of relative errors
		x := matrix.NewDense(n, features, nil)
		for i := range n {
			for k := n; k < features; k++ {
				if v := u.at(uint64(features*i + k)); v < 0.3 {
					x.Set(i, k, v)
				}
			}
			x.Set(i, i, c.size*(1+u.at(uint64(features*i))))
			for k := range 5 {
				x.Set(i, (i+7*k+1)%n, 0.1/c.size*u.at(uint64(features*i+k+1)))
			}
		}
		points, err := matrix.Gram(sparseOf(t, x), matrix.Rows, 1)
		if err != nil {
			t.Fatal(err)
		}
		formed := mustCSR(t, sparseOf(t, denseOf(points)))
		for _, s := range []Solver{RowBlock{Block: 32, Passes: 4, First: FirstRows}, CD{}} {
			opt := Options{Solver: s, IgnoreDiagonal: true, Start: Random{}, Stop: Stop{Sweeps: 300, KKT: 1e-6}}
			got, want := factorize(t, points, r, opt), factorize(t, formed, r, opt)
			if d := math.Abs(got.RelErr - want.RelErr); !(d <= c.err) || c.err < 1e-3 && (got.Status != want.Status || got.Sweeps > want.Sweeps+20) {
				t.Errorf("%s, diagonal of %.0g: relative error %v, %v after %d sweeps; with A written out %v, %v after %d", s.Name(), c.size*c.size,
					got.RelErr, got.Status, got.Sweeps, want.RelErr, want.Status, want.Sweeps)
			}
		}
	}
}

// TestRowBlockMillionNodes: a graph of 10⁶ nodes, about one in 50 of them isolated, is factored in modest
// memory. The rows of isolated nodes become zero and are counted.
func TestRowBlockMillionNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: a graph of 2·10⁶ edges")
	}
	const n, r = 1_000_000, 8
	c := instance.RandomSparse(n, 4_000_000, 1)
	c.Val = nil
	a := mustCSR(t, c)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := factorize(t, a, r, Options{Solver: RowBlock{}, Start: Random{}, Stop: Stop{Sweeps: 3, KKT: -1}, Threads: 2, Trace: true})
	runtime.ReadMemStats(&after)
	mustFinite(t, "graph", res)
	alone, zero := 0, 0
	for i := range n {
		sum := 0.0
		for _, v := range res.H.Row(i) {
			sum += v
		}
		if sum == 0 {
			zero++
		}
		if c.RowPtr[i] == c.RowPtr[i+1] {
			alone++
			if sum != 0 {
				t.Fatalf("row %d belongs to an isolated node and is %v", i, res.H.Row(i))
			}
		}
	}
	if alone < n/60 || res.ZeroRows != zero || res.ZeroColumns > 0 {
		t.Errorf("%d isolated nodes, %d zero rows, %d reported, %d zero columns", alone, zero, res.ZeroRows, res.ZeroColumns)
	}
	for k := 1; k < len(res.Trace); k++ {
		if !(res.Trace[k].RelErr < res.Trace[k-1].RelErr) {
			t.Errorf("the error goes from %v to %v", res.Trace[k-1].RelErr, res.Trace[k].RelErr)
		}
	}
	// Three times H (returned, at work, before), and 32 bytes a node: the diagonal, where each row and its
	// own block begin, and the rows with entries there; and what measuring takes.
	got, most := after.TotalAlloc-before.TotalAlloc, uint64(1.1*(3*8*n*r+32*n))
	t.Logf("relative error %.6f, %d of %d zero rows are of isolated nodes, %v, %d MB allocated", res.RelErr, alone, zero, res.Time, got>>20)
	if got > most && !verifying { // verifying takes memory of its own
		t.Errorf("%d bytes allocated, allowed %d", got, most)
	}
}
