package symnmf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"symnmf/internal/instance"
	"symnmf/matrix"
)

// mustFinite fails the test unless H ≥ 0, H is finite and the figures of res are finite and not negative.
func mustFinite(t testing.TB, what string, res *Result) {
	t.Helper()
	for k, v := range res.H.Data() {
		if !(v >= 0) || math.IsInf(v, 0) {
			_, r := res.H.Dims()
			t.Fatalf("%s: H[%d,%d] = %v", what, k/r, k%r, v)
		}
	}
	for _, v := range []float64{res.RelErr, res.KKT, res.Objective} {
		if !(v >= 0) || math.IsInf(v, 0) {
			t.Fatalf("%s: relative error %v, KKT %v, objective %v", what, res.RelErr, res.KKT, res.Objective)
		}
	}
}

// fill returns the symmetric n×n matrix with entries f(i, l) for l ≤ i.
func fill(n int, f func(i, l int) float64) *matrix.Dense {
	d := matrix.NewDense(n, n, nil)
	for i := range n {
		for l := range i + 1 {
			v := f(i, l)
			d.Set(i, l, v)
			d.Set(l, i, v)
		}
	}
	return d
}

// TestRowBlockEdges: extreme shapes and matrices reach the error they must, in float32, in float64 and with
// both, from zero and at random. Negative entries are refused.
func TestRowBlockEdges(t *testing.T) {
	const n = 40
	low, _ := instance.LowRank(n, 5, 1)
	full := instance.FullRank(n, 1)
	at := func(keep func(i int) int) *matrix.Dense { // item i is item keep(i) of low, or has no entries if that is −1
		return fill(n, func(i, l int) float64 {
			if i, l = keep(i), keep(l); i < 0 || l < 0 {
				return 0
			}
			return low.At(i, l)
		})
	}
	for _, c := range []struct {
		name       string
		a          *matrix.Dense
		r, sweeps  int
		least, err float64 // bounds on the relative error
		zeroRows   int     // −1: any
	}{
		{"one item", filled(1, 1, 5), 1, 10, 0, 1e-7, 0},
		{"one item, three columns", filled(1, 1, 5), 3, 10, 0, 1e-7, 0},
		{"zero", filled(n, n, 0), 3, 10, 0, 0, n},
		{"ones", filled(n, n, 1), 3, 200, 0, 1e-4, 0},
		{"more columns than items", full, 100, 200, 0, 0.2633, 0}, // half of its eigenvalues are negative
		{"more columns than items, low rank", low, 100, 150, 0, 2e-4, 0},
		{"zero rows", at(func(i int) int { return i - i%4/3*(i+1) }), 5, 400, 0, 1e-5, 10},
		{"each item twice", at(func(i int) int { return i / 2 }), 5, 400, 0, 1e-5, 0},
		{"one item many times", at(func(i int) int { return min(i, 3) }), 5, 600, 0, 1e-4, 0},
		{"identity", fill(n, func(i, l int) float64 { return float64((l + 1) / (i + 1)) }), 10, 100, math.Sqrt(30.0/n) * (1 - 1e-12), math.Sqrt(30.0/n) * (1 + 1e-9), -1},
	} {
		for _, precision := range []Precision{Adaptive, Double, Single} {
			for _, start := range []Start{Zero{}, Random{}} {
				what := fmt.Sprintf("%s, %v, from %s", c.name, precision, start.Name())
				res := factorize(t, mustDense(t, c.a), c.r, Options{Solver: RowBlock{Precision: precision}, Start: start, Stop: Stop{Sweeps: c.sweeps, KKT: 1e-7}})
				mustFinite(t, what, res)
				if !(res.RelErr >= c.least && res.RelErr <= c.err) {
					t.Errorf("%s: relative error %v, want %v to %v (%v, %d sweeps)", what, res.RelErr, c.least, c.err, res.Status, res.Sweeps)
				}
				if c.zeroRows >= 0 && res.ZeroRows != c.zeroRows {
					t.Errorf("%s: %d zero rows, want %d", what, res.ZeroRows, c.zeroRows)
				}
			}
		}
	}
	negative := low.Clone()
	negative.Set(3, 1, -1e-3)
	negative.Set(1, 3, -1e-3)
	if _, err := Factorize(context.Background(), mustDense(t, negative), 5, Options{Solver: RowBlock{}}); !errors.Is(err, ErrNegative) {
		t.Errorf("negative entries: error %v, want ErrNegative", err)
	}
}

// TestRowBlockSizes: with blocks of one row, of more rows than there are, and of sizes between, runs end at
// an error at most 5 % above that of cd-cyclic from zero.
func TestRowBlockSizes(t *testing.T) {
	d, _ := instance.LowRank(60, 5, 1)
	points, err := matrix.Gram(instance.Start(60, 20, 1), matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []matrix.Operator{mustDense(t, d), mustCSR(t, sparseOf(t, d)), points} {
		want := factorize(t, a, 5, Options{Solver: CD{}, Start: Zero{}, Stop: Stop{Sweeps: 500, KKT: -1}}).RelErr
		for _, block := range []int{1, 2, 31, 33, 59, 60, 61, math.MaxInt} {
			for _, start := range []Start{Zero{}, Random{}} {
				res := factorize(t, a, 5, Options{Solver: RowBlock{Block: block}, Start: start, Stop: Stop{Sweeps: 500, KKT: -1}})
				mustFinite(t, fmt.Sprintf("block %d", block), res)
				if !(res.RelErr < 1.05*want+1e-6) {
					t.Errorf("%T, blocks of %d from %s: relative error %v, cd-cyclic %v", a, block, start.Name(), res.RelErr, want)
				}
			}
		}
	}
}

// TestRowBlockZeroDiagonal: with a zero diagonal nothing would move from H = 0, so that start is refused with
// ErrUnfit. The best of five runs does as well as that of cd-cyclic.
func TestRowBlockZeroDiagonal(t *testing.T) {
	graph, _ := instance.PlantedGraph(60, 3, 0.5, 0.05, 1)
	star := fill(50, func(i, l int) float64 {
		if l == 0 && i > 0 {
			return 1
		}
		return 0
	})
	for _, c := range []struct {
		name string
		a    matrix.Operator
		r    int
	}{
		{"graph", mustCSR(t, graph), 3},
		{"star", mustDense(t, star), 3},
		{"star", mustCSR(t, sparseOf(t, star)), 3},
	} {
		_, err := Factorize(context.Background(), c.a, c.r, Options{Solver: RowBlock{}, Start: Zero{}})
		if !errors.Is(err, ErrUnfit) {
			t.Errorf("%s: from zero: error %v, want ErrUnfit", c.name, err)
		}
		best := func(s Solver) float64 {
			return factorize(t, c.a, c.r, Options{Solver: s, Runs: 5, Stop: Stop{Sweeps: 300, KKT: 1e-7}}).RelErr
		}
		for _, precision := range []Precision{Adaptive, Double, Single} {
			if got, want := best(RowBlock{Precision: precision}), best(CD{}); !(got <= want*(1+1e-3)) {
				t.Errorf("%s, %v: the best relative error of five runs is %v, of cd-cyclic %v", c.name, precision, got, want)
			}
		}
	}
}

// TestRowBlockScale: c·A gives √c·H for every kind of operator. This holds to the last bit if c is a power of
// 4, however large or small, and up to 1e-4 of the relative error if c is 1e±150.
func TestRowBlockScale(t *testing.T) {
	const n, r = 90, 6
	for _, f := range operatorForms(t, n, 1) {
		opt := Options{Solver: RowBlock{Block: 32}, Start: Random{}, Stop: Stop{Sweeps: 15, KKT: -1}}
		weight := 1e-4 * math.Pow(f.a.Norm(), 1.5)
		opt.L1 = []float64{weight}
		want := factorize(t, f.a, r, opt)
		for _, c := range []float64{0x1p-490, 0x1p-2, 0x1p+300, 1e-150, 1e150} {
			opt.L1 = []float64{weight * c * math.Sqrt(c)}
			got := factorize(t, f.a.Scaled(c), r, opt)
			mustFinite(t, f.name, got)
			if mant, _ := math.Frexp(c); mant == 0.5 {
				s := math.Sqrt(c)
				for k, v := range got.H.Data() {
					if w := s * want.H.Data()[k]; v != w {
						t.Errorf("%s, times %v: H[%d] = %v, want %v", f.name, c, k, v, w)
						break
					}
				}
			}
			if !(math.Abs(got.RelErr-want.RelErr) <= 1e-4*want.RelErr) {
				t.Errorf("%s, times %v: relative error %v, want %v", f.name, c, got.RelErr, want.RelErr)
			}
		}
	}
}

// TestRowBlockRange: H and all figures are finite where entries of 1e-150 stand beside entries of 1e150 and
// where the sizes of items differ by many powers of ten, in float32 too, and with every term of the
// objective. The part of A that counts is found.
func TestRowBlockRange(t *testing.T) {
	const n, r = 60, 4
	low, _ := instance.LowRank(n, r, 2)
	huge := fill(n, func(i, l int) float64 {
		if i < n/2 && l < n/2 {
			return 1e150 * low.At(i, l)
		}
		return 1e-150 * low.At(i, l)
	})
	scaled := func(power float64) *matrix.Dense {
		return fill(n, func(i, l int) float64 {
			s := func(i int) float64 { return math.Pow(10, power*(float64(i%20)/10-1)) }
			return s(i) * low.At(i, l) * s(l)
		})
	}
	lone := filled(n, n, 1e-12)
	lone.Set(0, 0, 1)
	given := func(a matrix.Operator) Start { return Given{filled(n, r, 300*math.Sqrt(a.OffDiagonal().Norm()/n))} } // far too large, almost refused
	for _, c := range []struct {
		name string
		a    *matrix.Dense
		most float64
	}{
		{"1e150 and 1e-150", huge, 1e-2},
		{"items over 16 powers", scaled(8), 1e-2},
		{"items over 140 powers", scaled(70), 1e-2},
		{"one entry", lone, 1e-6},
	} {
		for _, a := range []matrix.Operator{mustDense(t, c.a), mustCSR(t, sparseOf(t, c.a))} {
			for _, precision := range []Precision{Adaptive, Double, Single} {
				for _, start := range []Start{Zero{}, Random{}, given(a)} {
					for _, ignore := range []bool{false, true} {
						for _, w := range []float64{0, 1e-6} {
							if ignore && start == (Zero{}) {
								continue
							}
							what := fmt.Sprintf("%s, %T, %v, from %s, diagonal ignored %v, weight %v", c.name, a, precision, start.Name(), ignore, w)
							res := factorize(t, a, r, Options{Solver: RowBlock{Precision: precision, Block: 32}, Start: start, IgnoreDiagonal: ignore,
								L1: []float64{w * math.Pow(a.Norm(), 1.5)}, Stop: Stop{Sweeps: 120, KKT: -1}})
							mustFinite(t, what, res)
							if _, given := start.(Given); !ignore && !given && w == 0 && !(res.RelErr <= c.most) {
								t.Errorf("%s: relative error %v, want at most %v", what, res.RelErr, c.most)
							}
						}
					}
				}
			}
		}
	}
}
