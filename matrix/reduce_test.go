package matrix

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"

	"symnmf/internal/kernel"
)

// hardSymmetric returns matrices, by name, whose eigenvalues are far apart, near each other or equal, and one
// without any.
func hardSymmetric() map[string]naive {
	rng := rand.New(rand.NewPCG(43, 0))
	cases := map[string]naive{
		"empty":      {},
		"1":          diagonal(3),
		"2":          {{1, 2}, {2, -5}},
		"pair":       {{0, 1}, {1, 0}},
		"tiny block": {{1, 0, 0}, {0, 1e-200, 1e-200}, {0, 1e-200, -1e-200}},
		"3":          {{0, 2, 0}, {2, 0, 1e-9}, {0, 1e-9, 0}},
		"zeros":      zeros(9, 9),
		"identity":   diagonal(1, 1, 1, 1, 1, 1, 1),
		"diagonal":   diagonal(3, -1, 3, 0, 1e-300, -8, 3, 1e-20),
		"cliques":    cliques(9, 5, 7),
		"stars":      stars(6, 7),
		"ones":       zeros(70, 70),
		"Wilkinson":  zeros(21, 21),
		"glued":      zeros(210, 210),
		"glued, 40":  zeros(200, 200),
		"glued, 20":  zeros(100, 100),
		"graded":     zeros(60, 60),
		"clustered":  zeros(90, 90),
		"chain":      zeros(130, 130),
		"rank one":   zeros(50, 50),
		"two values": zeros(64, 64),
		"90 alike":   zeros(180, 180),
	}
	for i := range 70 {
		for l := range 70 {
			cases["ones"][i][l] = 1
		}
	}
	wilkinson := func(a naive, from int, beside float64) {
		for i := range 21 {
			a[from+i][from+i] = math.Abs(float64(i - 10))
			if i > 0 {
				a[from+i][from+i-1], a[from+i-1][from+i] = beside, beside
			}
		}
	}
	wilkinson(cases["Wilkinson"], 0, 1)
	for k := range 10 {
		wilkinson(cases["glued"], 21*k, 1)
		if k > 0 {
			cases["glued"][21*k][21*k-1], cases["glued"][21*k-1][21*k] = 1e-8, 1e-8
		}
	}
	for i := range 200 {
		for name, beside := range map[string]float64{"glued, 40": 1e-13, "glued, 20": 3e-15} {
			a := cases[name]
			if i >= len(a) {
				continue
			}
			a[i][i] = math.Abs(float64(i%5 - 2))
			if i%5 > 0 {
				beside = 1
			}
			if i > 0 {
				a[i][i-1], a[i-1][i] = beside, beside
			}
		}
	}
	for i := range 60 {
		for l := range 60 {
			cases["graded"][i][l] = math.Ldexp(1, -i-l)
		}
	}
	turned := func(a naive, values func(k int) float64) {
		n := len(a)
		var qr mat.QR
		qr.Factorize(drawSymmetric(rng, n, 1).matDense())
		var q mat.Dense
		qr.QTo(&q)
		for i := range n {
			for l := range n {
				for k := range n {
					a[i][l] += q.At(i, k) * values(k) * q.At(l, k)
				}
			}
		}
		for i := range n {
			for l := range i {
				a[i][l] = a[l][i]
			}
		}
	}
	turned(cases["clustered"], func(k int) float64 { return 1 + 1e-13*float64(k) + float64(k/30) })
	turned(cases["two values"], func(k int) float64 { return float64(k % 2) })
	turned(cases["rank one"], func(k int) float64 { return float64(1 - min(k, 1)) })
	turned(cases["90 alike"], func(k int) float64 { return float64(k % 2) })
	for _, x := range []float64{100, 156, 159, 161, 161.5, 162, 310} { // whose squares have fewer digits than they do
		a := drawSymmetric(rng, 40, 1)
		for i := range 39 {
			a[0][i+1] *= math.Pow(10, -x)
			a[i+1][0] = a[0][i+1]
		}
		cases[fmt.Sprintf("an outlier, 1e-%v", x)] = a
	}
	for i := range 129 {
		cases["chain"][i][i+1], cases["chain"][i+1][i] = 1, 1
	}
	for _, n := range []int{4, 5, 31, 32, 33, 34, 64, 65, 199, 200, 260} {
		cases[fmt.Sprintf("drawn, %d", n)] = drawSymmetric(rng, n, 1)
	}
	return cases
}

// matDense returns a as a matrix of gonum.
func (a naive) matDense() *mat.Dense {
	d := mat.NewDense(len(a), len(a), nil)
	for i, row := range a {
		d.SetRow(i, row)
	}
	return d
}

// upper returns scale·a by rows, with NaN below the diagonal, which is not to be read.
func (a naive) upper(scale float64) []float64 {
	var flat []float64
	for i, row := range a {
		for l, v := range row {
			if l < i {
				v = math.NaN()
			}
			flat = append(flat, scale*v)
		}
	}
	return flat
}

// checkTop compares eigenpairs of scale·a with the definitions: values, which decrease, with those of gonum,
// residuals with 0, and UᵀU with I.
func checkTop(t *testing.T, name string, a naive, scale float64, val, vec []float64) {
	t.Helper()
	p, k := len(a), len(val)
	if p == 0 {
		return
	}
	reference := slices.Concat(a...)
	for i, v := range reference {
		if math.Abs(v) < 1e-150 { // gonum panics on a block of such entries alone
			reference[i] = 0
		}
	}
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(p, reference), false) {
		t.Fatal(name)
	}
	want := e.Values(nil)
	norm := max(math.Abs(want[0]), math.Abs(want[p-1]))
	bound := float64(8+p) * 0x1p-52
	for l, v := range val {
		if !(math.Abs(v/scale-want[p-1-l]) <= bound*norm) {
			t.Errorf("%s: value %d of %d is %v, want %v", name, l, k, v/scale, want[p-1-l])
		}
		var sq float64
		for i, row := range a {
			sum := -v / scale * vec[i*k+l]
			for j, x := range row {
				sum += x * vec[j*k+l]
			}
			sq += sum * sum
		}
		if !(math.Sqrt(sq) <= 2*bound*norm) {
			t.Errorf("%s: residual %d of %d is %.3g of ‖A‖₂", name, l, k, math.Sqrt(sq)/norm)
		}
		for m := range l + 1 {
			var sum float64
			for i := range p {
				sum += vec[i*k+l] * vec[i*k+m]
			}
			if m == l {
				sum--
			}
			if !(math.Abs(sum) <= 2*bound) {
				t.Fatalf("%s: UᵀU−I has %.3g at [%d,%d] of %d", name, sum, l, m, k)
			}
		}
	}
}

// TestTopEigen: eigenpairs agree with the definition for any number of them and at any scale, and have the
// same bits for any number of threads.
func TestTopEigen(t *testing.T) {
	ctx := context.Background()
	for name, a := range hardSymmetric() {
		p := len(a)
		for _, k := range []int{p, (p + 1) / 3, min(p, 1)} {
			for _, scale := range []float64{1, 0x1p-900, 0x1p900} {
				val, vec, norm2, err := topEigen(ctx, a.upper(scale), p, k, 1)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if len(val) != k || len(vec) != p*k {
					t.Fatalf("%s: %d values, %d numbers of vectors, want %d and %d", name, len(val), len(vec), k, p*k)
				}
				checkTop(t, name, a, scale, val, vec)
				if k == p && p > 0 && norm2 != max(math.Abs(val[0]), math.Abs(val[p-1])) {
					t.Errorf("%s: ‖A‖₂ = %v with values from %v to %v", name, norm2, val[0], val[p-1])
				}
				if scale != 1 {
					continue
				}
				for _, workers := range []int{2, 3} {
					val2, vec2, norm22, err := topEigen(ctx, a.upper(1), p, k, workers)
					if err != nil || norm2 != norm22 || !slices.Equal(val, val2) || !slices.Equal(vec, vec2) {
						t.Errorf("%s: %d threads find other pairs, or error %v", name, workers, err)
					}
				}
			}
		}
	}
}

// TestTridiagonal: inverse iteration finds every vector, and the QL iteration, which takes over where it does
// not, finds vectors as good.
func TestTridiagonal(t *testing.T) {
	for name, a := range hardSymmetric() {
		p := len(a)
		if p == 0 {
			continue
		}
		team := kernel.NewTeam(1)
		reduced := reduction{p: p, a: slices.Concat(a...), team: team, d: make([]float64, p), e: make([]float64, p), tau: make([]float64, p)}
		if err := reduced.reduce(context.Background()); err != nil {
			t.Fatal(err)
		}
		team.Close()
		d, e, b := reduced.d, reduced.e[:p-1], zeros(p, p)
		for i, v := range d {
			if b[i][i] = v; i > 0 {
				b[i][i-1], b[i-1][i] = e[i-1], e[i-1]
			}
		}
		for _, k := range []int{p, (p + 1) / 2} {
			tri, err := newTridiagonal(slices.Clone(d), slices.Clone(e))
			if err != nil {
				t.Fatal(err)
			}
			ways := map[string][]float64{}
			if name != "90 alike" || k < p { // all vectors of two such clusters may need the QL iteration
				y, rng := make([]float64, k*p), rand.New(rand.NewPCG(0, 0))
				for l, v := range tri.values[:k] {
					if !tri.vector(y, l, v, rng) {
						t.Fatalf("%s: inverse iteration does not find vector %d of %d", name, l, k)
					}
				}
				ways["iteration"] = y
			}
			if ways["QL"], err = tri.vectorsByQL(k); err != nil {
				t.Fatal(err)
			}
			for way, y := range ways {
				val, vec := make([]float64, k), make([]float64, p*k)
				for l := range k {
					val[l] = tri.values[l].value
					for i := range p {
						vec[i*k+l] = y[l*p+i]
					}
				}
				checkTop(t, name+", T by "+way, b, 1, val, vec)
			}
		}
	}
}

// TestVectorsOfNoValue: for a number that is no eigenvalue there is no vector, and the QL iteration takes
// over.
func TestVectorsOfNoValue(t *testing.T) {
	tri, err := newTridiagonal([]float64{1, 2, 3, 4}, []float64{1, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	want, err := tri.vectorsByQL(2)
	if err != nil {
		t.Fatal(err)
	}
	tri.values[1].value = (tri.values[1].value + tri.values[2].value) / 2
	if got, err := tri.vectors(context.Background(), 2); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// TestResidual: the residual is that of the best value, for a vector of length 1.
func TestResidual(t *testing.T) {
	x := []float64{math.Sqrt(0.5), math.Sqrt(0.5)}
	for _, c := range []struct{ below, want float64 }{{2, 0}, {3, 0.5}} {
		if got := residual([]float64{2, c.below}, []float64{1}, 3.25, x); !(math.Abs(got-c.want) <= 1e-15) {
			t.Errorf("%v: %v, want %v", c.below, got, c.want)
		}
	}
}

// TestSolveFar: where the solution would overflow, solve returns a multiple of it.
func TestSolveFar(t *testing.T) {
	const m = 30
	f := tridiagonalLU{swapped: make([]bool, m)}
	for range m { // x_i = 2⁶⁰·(1 + x_{i+1} + x_{i+2})
		f.inverse, f.u1, f.u2, f.l = append(f.inverse, 0x1p60), append(f.u1, -1), append(f.u2, -1), append(f.l, 0)
	}
	x := slices.Repeat([]float64{1}, m)
	f.solve(x)
	for i := range 4 {
		if !(math.Abs(x[i]-x[i+1]*0x1p60) <= 0x1p-50*x[i]) || math.IsInf(x[i], 0) {
			t.Errorf("x[%d] = %v, and the next number is %v, want 2⁻⁶⁰ times as much", i, x[i], x[i+1])
		}
	}
}

// TestTopEigenErrors: a matrix that is not finite is an error, and topEigen returns nothing but the error of
// ctx at whichever check ctx is found to be cancelled.
func TestTopEigenErrors(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		a := zeros(3, 3)
		a[1][2] = v
		if _, _, _, err := topEigen(context.Background(), slices.Concat(a...), 3, 2, 1); !errors.Is(err, ErrNotFinite) {
			t.Errorf("%v: %v", v, err)
		}
	}
	a := drawSymmetric(rand.New(rand.NewPCG(44, 0)), 300, 1)
	for polls := 0; ; polls++ {
		ctx := &countdown{Context: context.Background()}
		ctx.left.Store(int64(polls))
		val, vec, _, err := topEigen(ctx, a.upper(1), 300, 40, 2)
		if err == nil {
			if want := (300+panelSteps-1)/panelSteps + 40 + 1; polls != want {
				t.Errorf("ctx checked %d times, want %d", polls, want)
			}
			return
		}
		if !errors.Is(err, context.Canceled) || val != nil || vec != nil {
			t.Fatalf("cancelled after %d checks: error %v, %d values", polls, err, len(val))
		}
	}
}

// countdown is a context that is cancelled after left calls of Err.
type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}
