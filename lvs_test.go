package symnmf

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// TestLeverage: the scores are those of the left singular vectors whose singular values are more than
// rounding.
func TestLeverage(t *testing.T) {
	const n = 40
	for _, c := range []struct {
		name string
		r    int
		rank int
		set  func(h *matrix.Dense)
	}{
		{"regular", 6, 6, func(*matrix.Dense) {}},
		{"sizes", 6, 6, func(h *matrix.Dense) {
			for i := range n {
				for j := range 6 {
					h.Row(i)[j] *= math.Pow(10, float64(3*j-9))
				}
			}
		}},
		{"a zero column, and one twice", 6, 4, func(h *matrix.Dense) {
			for i := range n {
				h.Set(i, 1, 0)
				h.Set(i, 4, 3*h.At(i, 2))
			}
		}},
		{"r > n", 60, n, func(*matrix.Dense) {}},
		{"zero", 3, 0, func(h *matrix.Dense) { clear(h.Data()) }},
	} {
		h := instance.Start(n, c.r, 1)
		c.set(h)
		got := leverage(h, 2)
		want := make([]float64, n)
		if c.rank > 0 {
			scaled := mat.DenseCopyOf(h)
			for j := range c.r {
				if norm := mat.Norm(scaled.ColView(j), 2); norm > 0 {
					for i := range n {
						scaled.Set(i, j, scaled.At(i, j)/norm)
					}
				}
			}
			var svd mat.SVD
			var u mat.Dense
			svd.Factorize(scaled, mat.SVDThin)
			svd.UTo(&u)
			for i := range n {
				for k := range c.rank {
					want[i] += u.At(i, k) * u.At(i, k)
				}
			}
		}
		for i := range n {
			if !(math.Abs(got[i]-want[i]) <= 1e-9) {
				t.Errorf("%s: score %d is %v, want %v", c.name, i, got[i], want[i])
			}
		}
	}
}

// TestSampleWeights: the mean of every weight is 1. Rows with large scores always have 1, and rows without a
// score always 0.
func TestSampleWeights(t *testing.T) {
	const n, s, tries = 30, 12, 20000
	scores := make([]float64, n)
	for l := range scores {
		scores[l] = float64(l%7) / 10
	}
	scores[3], scores[20] = 9, 3 // more than a twelfth of the sum, 19.6
	mean, sq := make([]float64, n), make([]float64, n)
	for k := range tries {
		omega := sampleWeights(scores, s, uniform{key: kernel.Mix(uint64(k))}, nil)
		drawn := 0
		for l, w := range omega {
			mean[l] += w / tries
			sq[l] += w * w / tries
			if w > 0 {
				drawn++
			}
		}
		if omega[3] != 1 || omega[20] != 1 || drawn > s {
			t.Fatalf("try %d: weights %v and %v, %d rows", k, omega[3], omega[20], drawn)
		}
	}
	for l, m := range mean {
		want := 1.0
		if scores[l] == 0 {
			want = 0
		}
		if bound := 5 * math.Sqrt(max(0, sq[l]-m*m)/tries); !(math.Abs(m-want) <= bound+1e-12) {
			t.Errorf("row %d: mean weight %v, want %v within %v", l, m, want, bound)
		}
	}
	if omega := sampleWeights([]float64{5, 0, 0}, 2, uniform{}, nil); omega[0] != 1 || omega[1] != 0 || omega[2] != 0 {
		t.Errorf("one row with a score: weights %v", omega)
	}
}

// TestLvSDraws: another seed, another run and another step each draw another sample.
func TestLvSDraws(t *testing.T) {
	g := readGolden(t, "text120")
	seen := map[string]bool{}
	for seed := range uint64(2) {
		for run := range 2 {
			p, h := goldenProblem(t, g, g.forms(t)["sparse"])
			p.seed = seed
			s := LvS{}.start(p, h, run).(*sampled)
			for range 3 {
				s.draw(s.w, s.h) // drawing leaves H alone, so the problem is the same every time
				seen[instance.Hash(s.hs)] = true
			}
		}
	}
	if len(seen) != 12 {
		t.Errorf("%d different samples in 12 draws, want 12", len(seen))
	}
}

// TestLvSStatistics: the mean error of ten seeds is within four of the recorded standard deviations of the
// recorded mean. Single runs need not be: with a thousand seeds the distribution has the recorded mean and a
// long tail, which ten seeds miss.
func TestLvSStatistics(t *testing.T) {
	for _, name := range goldenNames {
		g := readGolden(t, name)
		data, err := os.ReadFile("testdata/golden/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var recorded struct {
			Methods map[string]struct {
				Mean float64 `json:"rel_err_mean"`
				Std  float64 `json:"rel_err_std"`
			}
		}
		if err := json.Unmarshal(data, &recorded); err != nil {
			t.Fatal(err)
		}
		want := recorded.Methods["lvs-symnmf"]
		if want.Std == 0 {
			t.Fatalf("%s has no statistics", name)
		}
		mean, other := 0.0, 0.0
		for seed := range uint64(10) {
			opt := Options{Solver: LvS{published: true}, Start: Given{g.start}, Seed: seed, Stop: Stop{Sweeps: 50, KKT: -1}}
			e := factorize(t, g.forms(t)["sparse"], g.R, opt).RelErr
			mean += e / 10
			opt.Solver = LvS{LeastSquares: true, published: true}
			other += factorize(t, g.forms(t)["sparse"], g.R, opt).RelErr / 10
		}
		t.Logf("%s: mean %.4f by hals, %.4f by bpp, recorded %.4f ± %.4f", name, mean, other, want.Mean, want.Std)
		if !(math.Abs(mean-want.Mean) <= 4*want.Std) {
			t.Errorf("%s: mean relative error %v, recorded %v ± %v", name, mean, want.Mean, want.Std)
		}
	}
}

// TestLvSStops: a limit also ends the drawing of samples, of which there may be far more than rows.
func TestLvSStops(t *testing.T) {
	looks := 0
	stop := func() bool { looks++; return looks > 3 }
	if omega := sampleWeights([]float64{2, 1e-15}, math.MaxInt32, uniform{}, stop); omega != nil || looks != 4 {
		t.Errorf("weights %v after %d looks", omega, looks)
	}
	run := runOn(t, LvS{Samples: math.MaxInt32}, mustDense(t, matrix.NewDense(3, 3, []float64{1, 1, 0, 1, 1, 0, 0, 0, 0})), 1)
	defer run.end()
	copy(run.h.h.Data(), []float64{1, 1, 1e-8}) // the last row has a score, of which all samples come
	run.p.stop = func() bool { return true }
	before := run.w.h.Clone()
	if rep := run.sweep(never); !rep.cut || rep.changed != 0 || !slices.Equal(run.w.h.Data(), before.Data()) {
		t.Errorf("a sweep whose draws a limit ends: %+v, W is %v, was %v", rep, run.w.h.Data(), before.Data())
	}
	a, err := matrix.FromDense(matrix.NewDense(4, 4, []float64{1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}), 0)
	if err != nil {
		t.Fatal(err)
	}
	res, err := Factorize(context.Background(), a, 1, Options{Solver: LvS{Samples: math.MaxInt32}, Stop: Stop{Sweeps: -1, KKT: -1, Time: time.Millisecond}})
	if err != nil || res.Status != TimeLimit || !(res.RelErr <= 1) {
		t.Errorf("%+v, %v", res, err)
	}
}
