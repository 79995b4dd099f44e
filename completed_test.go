package symnmf

import (
	"math"
	"slices"
	"testing"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// withDiagonal returns a copy of a with other numbers on its diagonal.
func withDiagonal(a *matrix.Dense, d func(i int) float64) *matrix.Dense {
	n, _ := a.Dims()
	b := matrix.NewDense(n, n, slices.Clone(a.Data()))
	for i := range n {
		b.Set(i, i, d(i))
	}
	return b
}

// bells returns exp(−‖x_i − x_l‖²/width) for n points in a square of side 1, with zeros on the diagonal.
func bells(n int, width float64) *matrix.Dense {
	u, a := uniform{57}, matrix.NewDense(n, n, nil)
	for i := range n {
		for l := range n {
			if l != i {
				x, y := u.at(uint64(2*i))-u.at(uint64(2*l)), u.at(uint64(2*i+1))-u.at(uint64(2*l+1))
				a.Set(i, l, math.Exp(-(x*x+y*y)/width))
			}
		}
	}
	return a
}

// TestCompletedStart: with an ignored diagonal, dense data begin nearly as near as with their own one counted, whatever
// is on it. Without a likely one in its place, they would begin at random or far away.
func TestCompletedStart(t *testing.T) {
	low, _ := instance.LowRank(120, 8, 1)
	for _, c := range []struct {
		name string
		a    *matrix.Dense
		r    int
		most float64 // the error of the start, over that with the diagonal counted
	}{
		{"curves", curves(t, 200), 8, 2},
		{"compressed curves", curves(t, 500), 8, 1.05},
		{"a low rank", low, 8, 2},
		{"more columns than that", low, 20, 3},
		{"more columns than positive eigenvalues", bells(100, 0.5), 30, 0.1},
		{"full rank", instance.FullRank(100, 1), 10, 1.05},
	} {
		counted := factorize(t, mustDense(t, c.a), c.r, Options{Stop: Stop{Sweeps: 3}})
		var own *Result
		for name, d := range map[string]func(i int) float64{
			"its own":    func(i int) float64 { return c.a.At(i, i) },
			"zeros":      func(int) float64 { return 0 },
			"huge":       func(i int) float64 { return 1e6 * float64(i) },
			"one number": func(int) float64 { return 1 },
		} {
			a := mustDense(t, withDiagonal(c.a, d))
			got := factorize(t, a, c.r, Options{IgnoreDiagonal: true, Stop: Stop{Sweeps: 3}, Threads: 2})
			if own == nil {
				own = got
			}
			if got.Start != "tsvd" || !slices.Equal(got.H.Data(), own.H.Data()) {
				t.Errorf("%s: with %s on the ignored diagonal, H differs", c.name, name)
			}
		}
		t.Logf("%s: begins at %.4g, with the diagonal counted at %.4g", c.name, own.First.RelErr, counted.First.RelErr)
		if !(own.First.RelErr <= c.most*counted.First.RelErr) {
			t.Errorf("%s: begins at an error of %v, with the diagonal counted at %v", c.name, own.First.RelErr, counted.First.RelErr)
		}
	}
}

// TestCompletedFrom: what is completed is dense data with an ignored diagonal. Inner products take their own diagonal, also
// as a normalized view, and keep it.
func TestCompletedFrom(t *testing.T) {
	const n = 120
	for _, f := range operatorForms(t, n, 1) {
		for _, ignore := range []bool{false, true} {
			p, err := newProblem(f.a, 5, &Options{IgnoreDiagonal: ignore})
			if err != nil {
				t.Fatal(err)
			}
			whole := p.completed()
			if dense := p.a.Density() >= 0.25; (whole == p.a) != (!ignore || !dense) {
				t.Errorf("%s, ignored %v: completed: %v", f.name, ignore, whole != p.a)
			}
			if whole != p.completed() {
				t.Errorf("%s, ignored %v: completed twice", f.name, ignore)
			}
			if _, listed := p.a.(matrix.RowVisitor); whole == p.a || listed {
				continue
			}
			d, own := make([]float64, n), make([]float64, n)
			whole.DiagTo(d)
			f.a.Scaled(p.scale).DiagTo(own)
			if !slices.Equal(d, own) {
				t.Errorf("%s: the diagonal is %v, want %v", f.name, d, own)
			}
			if _, err := p.roots(); err != nil || p.common.replaced > 0 {
				t.Errorf("%s: replaced %d times, %v", f.name, p.common.replaced, err)
			}
		}
	}
}

// TestCompletedLong: points that are longer than all that they have in common keep no diagonal to begin with.
func TestCompletedLong(t *testing.T) {
	for _, c := range []struct {
		length float64
		want   bool
	}{{1, true}, {18, true}, {24, false}} {
		x := instance.Start(60, 40, 1)
		for i := range 40 {
			x.Set(i, i, c.length)
		}
		a, err := matrix.Gram(x, matrix.Rows, 1)
		if err != nil {
			t.Fatal(err)
		}
		p, err := newProblem(a, 5, &Options{IgnoreDiagonal: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.completed() != p.a; got != c.want {
			t.Errorf("length %v: completed: %v, want %v", c.length, got, c.want)
		}
	}
}

// TestCompletedReplaced: where the likely diagonal is far from that of BBᵀ, it is replaced, twice at most, and then BBᵀ is
// nearer to A off the diagonal. A low rank that was found before is not used.
func TestCompletedReplaced(t *testing.T) {
	for _, c := range []struct {
		name     string
		a        *matrix.Dense
		r        int
		replaced int
		most     float64 // what is left then, over what was before
	}{
		{"full rank", instance.FullRank(100, 1), 10, 0, 1},
		{"narrow bells", bells(200, 0.002), 10, 1, 1},
		{"wide bells", bells(200, 0.5), 20, 1, 0.5},
		{"more wide bells", bells(500, 0.5), 20, 2, 0.2},
	} {
		p, err := newProblem(mustDense(t, c.a), c.r, &Options{IgnoreDiagonal: true})
		if err != nil {
			t.Fatal(err)
		}
		near, whole := p.compressed(0), p.completed()
		first, err := p.rootsOf(near, whole)
		if err != nil {
			t.Fatal(err)
		}
		measure := func(whole matrix.Operator, top *roots) (left, apart float64) {
			d := make([]float64, p.n)
			whole.DiagTo(d)
			for i := range p.n {
				for l := range p.n {
					v := kernel.Dot(top.b.Row(i), top.b.Row(l))
					if l == i {
						apart += (d[i] - v) * (d[i] - v)
					} else {
						left += (p.scale*c.a.At(i, l) - v) * (p.scale*c.a.At(i, l) - v)
					}
				}
			}
			left, apart = math.Sqrt(left), math.Sqrt(apart)
			gotLeft, gotApart, most := p.leftBy(whole, top) // a difference of squares, of vectors that are about orthonormal
			same := math.Abs(gotLeft*gotLeft-left*left) <= 1e-6*p.norm*p.norm && math.Abs(gotApart-apart) <= 1e-9*apart
			if want := slices.Max(d); !same || most != want {
				t.Errorf("%s: off the diagonal %v of A are left, and %v on it, at most %v; want %v, %v and %v",
					c.name, gotLeft, gotApart, most, left, apart, want)
			}
			return left, apart
		}
		before, apart := measure(whole, first)
		if (apart > before/2) != (c.replaced > 0) {
			t.Errorf("%s: %v is left, and the diagonals are %v apart", c.name, before, apart)
		}
		few := &roots{values: first.values[:1], b: matrix.NewDense(p.n, 1, nil)} // one large eigenvalue is less than r
		for i := range p.n {
			few.b.Set(i, 0, first.b.At(i, 0))
		}
		other, err := newProblem(mustDense(t, c.a), c.r, &Options{IgnoreDiagonal: true})
		if err != nil {
			t.Fatal(err)
		}
		if left, suits := other.wholeSuits(other.completed(), few); left > 0.1*p.norm && (suits || other.completed() != other.a) {
			t.Errorf("%s: with one eigenvalue %v of A is left, and the likely diagonal stays", c.name, left)
		}
		got, err := p.roots()
		if err != nil {
			t.Fatal(err)
		}
		if p.common.replaced != c.replaced || (p.completed() != whole) != (c.replaced > 0) {
			t.Errorf("%s: replaced %d times, want %d", c.name, p.common.replaced, c.replaced)
		}
		after, _ := measure(p.completed(), got)
		t.Logf("%s: %.3g of A is left, and then %.3g", c.name, before/p.norm, after/p.norm)
		if !(after <= c.most*before) || c.replaced > 0 && after == before {
			t.Errorf("%s: %v of A is left, and %v with another diagonal", c.name, before, after)
		}
		if low := p.compressed(0); (low != p) != (p.n >= compressedRows) || low != p && low == near {
			t.Errorf("%s: the low rank in place of A is the same as before", c.name)
		}
	}
}

// TestCompletedAtOnce: runs that share what is completed, and replaced, have the same bits one after another and at once.
func TestCompletedAtOnce(t *testing.T) {
	a := mustDense(t, bells(500, 0.5))
	opt := Options{IgnoreDiagonal: true, Runs: 4, Start: TSVDStart{}, Stop: Stop{Sweeps: 2}, Threads: 1}
	want := factorize(t, a, 20, opt)
	opt.AtOnce, opt.Threads = 4, 4
	got := factorize(t, a, 20, opt)
	for k, run := range got.Runs {
		if run.RelErr != want.Runs[k].RelErr {
			t.Errorf("run %d ends at an error of %v, and of %v at once with others", k+1, want.Runs[k].RelErr, run.RelErr)
		}
	}
	if !slices.Equal(got.H.Data(), want.H.Data()) {
		t.Error("at once, the best H differs")
	}
}

// TestCompletedStopped: a run that has to end while roots are computed once more keeps those before, and the next run
// computes them anew.
func TestCompletedStopped(t *testing.T) {
	kept, none := 0, 0
	for most := range 200 {
		p, err := newProblem(mustDense(t, bells(200, 0.5)), 20, &Options{IgnoreDiagonal: true})
		if err != nil {
			t.Fatal(err)
		}
		looks := 0
		p.stop = func() bool { looks++; return looks > most }
		top, err := p.roots()
		switch {
		case err != nil:
			if none++; kept > 0 {
				t.Errorf("no roots after %d looks, though there were some after fewer", most)
			}
		case p.common.roots == nil:
			kept++
			if p.stop = nil; len(top.values) == 0 || !(top.enough > 0) {
				t.Errorf("after %d looks: %d values, and %v of B may stay negative", most, len(top.values), top.enough)
			}
			if again, err := p.roots(); err != nil || again == top || p.common.replaced != 1 {
				t.Errorf("after %d looks: the next run has the same roots, or none: %v; the diagonal was replaced %d times", most, err, p.common.replaced)
			}
		default:
			if none == 0 || kept == 0 {
				t.Errorf("%d times no roots, and %d times those before", none, kept)
			}
			return
		}
	}
	t.Error("the roots are never complete")
}
