package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"symnmf/internal/kernel"
)

// TestGoldenResistances compares resistances with those that another program computed from a pseudo-inverse.
func TestGoldenResistances(t *testing.T) {
	data, err := os.ReadFile("../testdata/golden/graph80_resistance.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Components int          `json:"components"`
		Sum        float64      `json:"sum_w_R"`
		Edges      [][4]float64 `json:"edges_i_j_w_R"`
	}
	if err := json.Unmarshal(data, &golden); err != nil || len(golden.Edges) == 0 {
		t.Fatal(err)
	}
	m := zeros(80, 80)
	for _, e := range golden.Edges {
		i, l := int(e[0]), int(e[1])
		m[i][l], m[l][i] = e[2], e[2]
	}
	a, err := FromCSR(m.csr(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	g, err := newResistor(a, 2)
	if err != nil {
		t.Fatal(err)
	}
	exact, ok, err := g.exactResistances(context.Background(), func(int, int) {})
	if err != nil || !ok || len(exact) != len(golden.Edges) {
		t.Fatalf("%d resistances, want %d", len(exact), len(golden.Edges))
	}
	const k = 20000
	random, err := g.estimate(context.Background(), k, &ResistanceSampling{Seed: 1, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	for e, want := range golden.Edges {
		if got := exact[e] * g.scale; !(math.Abs(got-want[3]) <= 1e-13) {
			t.Errorf("edge %v (i, j, w, R): resistance %v", want, got)
		}
		// The estimate is a mean of k squares, each of standard deviation √2·R, and is nearly normal. It may be
		// off by five of its standard deviations.
		if got := random[e] * g.scale; !(math.Abs(got/want[3]-1) <= 5*math.Sqrt(2.0/k)) {
			t.Errorf("edge %v (i, j, w, R): estimated resistance %v", want, got)
		}
	}
	s, err := SampleByResistance(context.Background(), a, ResistanceSampling{Eps: 1, Workers: 1})
	if err != nil || s.Components != golden.Components || !(math.Abs(s.Sum-golden.Sum) <= 1e-11) || s.Combinations != 0 {
		t.Errorf("error %v; sum %v, %d components, %d combinations", err, s.Sum, s.Components, s.Combinations)
	}
}

// islands returns a weighted graph of two connected parts, a path of three items, an item alone, and loops.
// Weights differ by up to 2^apart in either direction.
func islands(rng *rand.Rand, apart int) naive {
	m := zeros(24, 24)
	join := func(i, l int) {
		w := math.Ldexp(0.5+rng.Float64(), rng.IntN(2*apart+1)-apart)
		m[i][l], m[l][i] = w, w
	}
	for i := range 12 {
		for l := range i {
			if rng.Float64() < 0.4 || l == i-1 {
				join(2*i%24, 2*l%24) // the even ones
			}
		}
	}
	for i := range 8 {
		for l := range i {
			if l == i-1 || rng.Float64() < 0.5 {
				join(2*i+1, 2*l+1)
			}
		}
	}
	join(17, 19)
	join(19, 21)
	for i := range m {
		if i%3 == 0 {
			m[i][i] = 5 * rng.Float64()
		}
	}
	return m
}

// resistanceNaively returns (e_i−e_l)ᵀL⁺(e_i−e_l) by Gaussian elimination on L without one row and column of
// each component.
func resistanceNaively(m naive, i, l int) float64 {
	n := len(m)
	seen, grounded := make([]bool, n), make([]bool, n)
	var visit func(v int)
	visit = func(v int) {
		seen[v] = true
		for u, w := range m[v] {
			if u != v && w > 0 && !seen[u] {
				visit(u)
			}
		}
	}
	for v := range n {
		if !seen[v] {
			grounded[v] = true
			visit(v)
		}
	}
	eq := zeros(n, n+1)
	for v := range n {
		eq[v][v] = 1
		if grounded[v] {
			continue
		}
		eq[v][v] = 0
		for u, w := range m[v] {
			if u != v {
				eq[v][v] += w
				if !grounded[u] {
					eq[v][u] -= w
				}
			}
		}
	}
	if !grounded[i] {
		eq[i][n]++
	}
	if !grounded[l] {
		eq[l][n]--
	}
	for p := range n {
		for v := range n {
			if v == p {
				continue
			}
			f := eq[v][p] / eq[p][p]
			for c := p; c <= n; c++ {
				eq[v][c] -= f * eq[p][c]
			}
		}
	}
	return eq[i][n]/eq[i][i] - eq[l][n]/eq[l][l]
}

// TestResistances compares exact and estimated resistances with those by elimination, for weights up to
// 2^±10, and checks that Σ w·R is the number of items less that of components.
func TestResistances(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, apart := range []int{0, 3, 10} {
		m := islands(rng, apart)
		for name, a := range map[string]func() (Operator, error){
			"dense":  func() (Operator, error) { return FromDense(m.dense(), 0) },
			"sparse": func() (Operator, error) { return FromCSR(m.csr(t), 0) },
		} {
			a, err := a()
			if err != nil {
				t.Fatal(err)
			}
			g, err := newResistor(a, 2)
			if err != nil {
				t.Fatal(err)
			}
			exact, ok, err := g.exactResistances(context.Background(), func(int, int) {})
			if err != nil || !ok {
				t.Fatal("not positive definite")
			}
			const k = 4096
			random, err := g.estimate(context.Background(), k, &ResistanceSampling{Seed: 2, Workers: 2})
			if err != nil {
				t.Fatal(err)
			}
			e, sum := 0, 0.0
			for i := range m {
				for l := i + 1; l < len(m); l++ {
					if m[i][l] == 0 {
						continue
					}
					want := resistanceNaively(m, i, l)
					if most := 1 / (m[i][l] * g.scale); !(exact[e] <= most) {
						t.Errorf("%s, 2^±%d: edge %d %d: resistance %v, want at most %v, that of the edge alone",
							name, apart, i, l, exact[e], most)
					}
					if got := exact[e] * g.scale; !(math.Abs(got/want-1) <= 1e-9) {
						t.Errorf("%s, 2^±%d: edge %d %d: resistance %v, want %v", name, apart, i, l, got, want)
					}
					if got := random[e] * g.scale; !(math.Abs(got/want-1) <= 5*math.Sqrt(2.0/k)) {
						t.Errorf("%s, 2^±%d: edge %d %d: estimated resistance %v, want %v", name, apart, i, l, got, want)
					}
					sum += m[i][l] * exact[e] * g.scale
					e++
				}
			}
			// 12 even items, 8 odd ones, the path 17-19-21, and 23
			if g.components != 4 || !(math.Abs(sum-20) <= 1e-9) {
				t.Errorf("%s: %d components, Σ w·R = %v, want 4 and 20", name, g.components, sum)
			}
		}
	}
}

// TestLaplacianSystems checks the residuals of solutions by conjugate gradients, and that right-hand sides
// sum to 0 on each component.
func TestLaplacianSystems(t *testing.T) {
	m := islands(rand.New(rand.NewPCG(6, 6)), 4)
	a, err := FromCSR(m.csr(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	g, err := newResistor(a, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := newSolver(g)
	g.combine(s.b, 32, 9)
	b := s.b.Clone()
	if err := s.solve(context.Background(), solveColumns); err != nil {
		t.Fatal(err)
	}
	for c := range solveColumns {
		var diff, size float64
		sums := make([]float64, g.components)
		for i := range m {
			lx := 0.0
			for l, w := range m[i] {
				if l != i {
					lx += w * g.scale * (s.x.At(i, c) - s.x.At(l, c))
				}
			}
			diff += (lx - b.At(i, c)) * (lx - b.At(i, c))
			size += b.At(i, c) * b.At(i, c)
			sums[g.component[i]] += b.At(i, c)
		}
		if !(math.Sqrt(diff) <= 1e-6*math.Sqrt(size)) { // 1e-8 times the root of the largest ratio of degrees
			t.Errorf("column %d: residual %v for a right-hand side of norm %v", c, math.Sqrt(diff), math.Sqrt(size))
		}
		for k, v := range sums {
			if !(math.Abs(v) <= 1e-14*math.Sqrt(size)) {
				t.Errorf("column %d sums to %v on component %d", c, v, k)
			}
		}
	}
}

// TestSampleKeepsTheLaplacian: with as many draws as ε asks for, every quadratic form is kept to a factor of
// 1±ε. For dense graphs and an ε near 1, that leaves edges out.
func TestSampleKeepsTheLaplacian(t *testing.T) {
	const n, eps = 100, 0.9
	rng := rand.New(rand.NewPCG(7, 7))
	m := drawSymmetric(rng, n, 1)
	a, err := FromDense(m.dense(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(3) {
		res, err := SampleByResistance(context.Background(), a, ResistanceSampling{Eps: eps, Seed: seed, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(math.Ceil(9 * n * math.Log(n) / eps / eps)); res.Draws != want || res.Edges == res.Of || res.Of != n*(n-1)/2 {
			t.Fatalf("%d draws, want %d; %d edges of %d", res.Draws, want, res.Edges, res.Of)
		}
		// Let L = V·Λ·Vᵀ without the constant vector, and x = V·Λ^−½·y. Then the extremes of xᵀL'x/xᵀLx are
		// eigenvalues of Λ^−½·Vᵀ·L'·V·Λ^−½.
		var e mat.EigenSym
		if !e.Factorize(laplacianOf(n, func(i, l int) float64 { return m[i][l] }), true) {
			t.Fatal("no eigenvalues")
		}
		var v, half, ratio mat.Dense
		e.VectorsTo(&v)
		vals := e.Values(nil)
		half.CloneFrom(v.Slice(0, n, 1, n))
		half.Apply(func(_, k int, x float64) float64 { return x / math.Sqrt(vals[k+1]) }, &half)
		ratio.Product(half.T(), laplacianOf(n, res.S.At), &half)
		sym := mat.NewSymDense(n-1, nil)
		for i := range n - 1 {
			for l := i; l < n-1; l++ {
				sym.SetSym(i, l, ratio.At(i, l))
			}
		}
		var f mat.EigenSym
		if !f.Factorize(sym, false) {
			t.Fatal("no eigenvalues")
		}
		if got := f.Values(nil); !(got[0] >= 1-eps && got[n-2] <= 1+eps) {
			t.Errorf("seed %d: forms from %v to %v times those of A", seed, got[0], got[n-2])
		}
	}
}

// laplacianOf returns the Laplacian of the graph with weights at(i, l).
func laplacianOf(n int, at func(i, l int) float64) *mat.SymDense {
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for l := range n {
			if l != i {
				s.SetSym(i, i, s.At(i, i)+at(i, l))
				s.SetSym(i, l, -at(i, l))
			}
		}
	}
	return s
}

// TestSample: each edge is drawn as often as its probability says, and keeps its weight on average. The
// figures reported of S agree with S.
func TestSample(t *testing.T) {
	const draws = 200000
	m := islands(rand.New(rand.NewPCG(8, 8)), 2)
	a, err := FromCSR(m.csr(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []int64{draws, 10} {
		res, err := SampleByResistance(context.Background(), a, ResistanceSampling{Eps: 1, Draws: q, Seed: 3, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		var normSq, keptSq, errSq, hits float64
		var edges int64
		for i := range m {
			for l, w := range m[i] {
				s := res.S.At(i, l)
				if s != res.S.At(l, i) || i == l && s != w || w == 0 && s != 0 {
					t.Fatalf("S[%d,%d] = %v, A is %v", i, l, s, w)
				}
				normSq += w * w
				errSq += (w - s) * (w - s)
				if s > 0 {
					keptSq += w * w
				}
				if i >= l || w == 0 {
					continue
				}
				p := w * resistanceNaively(m, i, l) / 20
				count := s / w * float64(q) * p
				if !(math.Abs(count-math.Round(count)) <= 1e-6) {
					t.Errorf("edge %d %d: %v draws, want a whole number", i, l, count)
				}
				hits += math.Round(count)
				if s > 0 {
					edges++
				}
				if q == draws && !(math.Abs(count-draws*p) <= 5*math.Sqrt(draws*p*(1-p))) {
					t.Errorf("edge %d %d: %v draws of %d with probability %v", i, l, count, draws, p)
				}
			}
		}
		if hits != float64(q) || edges != res.Edges {
			t.Errorf("%v draws, want %d; %d edges, want %d", hits, q, res.Edges, edges)
		}
		if !near(res.Kept, keptSq/normSq, 0) || !(math.Abs(res.RelErr-math.Sqrt(errSq/normSq)) <= 1e-12*math.Sqrt(errSq/normSq)) {
			t.Errorf("kept %v, error %v, want %v, %v", res.Kept, res.RelErr, keptSq/normSq, math.Sqrt(errSq/normSq))
		}
	}
}

// TestSampleDoesNotDependOnWorkers: a sample is the same for any number of workers, and another one for
// another seed. Progress counts the systems solved.
func TestSampleDoesNotDependOnWorkers(t *testing.T) {
	x := bigPoints(t, 1500, 300)
	points, err := Gram(x, Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	graph, err := Strongest(context.Background(), points, Selection{PerItem: 5, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	a, err := FromCSR(graph.S, 0)
	if err != nil {
		t.Fatal(err)
	}
	var want *ResistanceSample
	for _, workers := range []int{1, 2, 5} {
		last := 0
		opt := ResistanceSampling{Eps: 2, Draws: 3000, Seed: 4, Workers: workers, Progress: func(solved, of int) {
			if solved <= last || of != 44 { // ⌈24·ln 1500/4⌉
				t.Errorf("progress %d of %d after %d, want a rising count of 44", solved, of, last)
			}
			last = solved
		}}
		got, err := SampleByResistance(context.Background(), a, opt)
		if err != nil {
			t.Fatal(err)
		}
		if last != 44 || got.Combinations != 44 {
			t.Errorf("%d combinations, progress up to %d, want 44", got.Combinations, last)
		}
		if want == nil {
			want = got
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d workers give another sample", workers)
		}
	}
	// The relative standard deviation of Σ w·R is that of one R, √(2/k), divided by about the root of the number
	// of edges, which is above 50.
	if rank := float64(1500 - want.Components); !(math.Abs(want.Sum/rank-1) <= 5*math.Sqrt(2.0/44)/50*math.Sqrt2) {
		t.Errorf("Σ w·R = %v, want %v", want.Sum, rank)
	}
	other, err := SampleByResistance(context.Background(), a, ResistanceSampling{Eps: 2, Draws: 3000, Seed: 5, Workers: 2})
	if err != nil || reflect.DeepEqual(other.S, want.S) {
		t.Errorf("another seed gives the same sample, or error %v", err)
	}
}

// TestSampleScales: weights near the ends of the range of float64 give the same sample as weights of moderate
// size, scaled.
func TestSampleScales(t *testing.T) {
	m := islands(rand.New(rand.NewPCG(9, 9)), 3)
	for _, eps := range []float64{1, 5} { // exact, estimated
		var want *ResistanceSample
		for _, e := range []int{0, 900, -900} {
			scaled := zeros(24, 24)
			for i := range m {
				for l, w := range m[i] {
					scaled[i][l] = math.Ldexp(w, e)
				}
			}
			a, err := FromCSR(scaled.csr(t), 0)
			if err != nil {
				t.Fatal(err)
			}
			got, err := SampleByResistance(context.Background(), a, ResistanceSampling{Eps: eps, Draws: 30, Seed: 1, Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if got.Sum != want.Sum || got.RelErr != want.RelErr || got.Kept != want.Kept || (got.Combinations == 0) != (eps == 1) {
				t.Errorf("ε = %v, times 2^%d: Σ w·R %v, error %v, want %v and %v", eps, e, got.Sum, got.RelErr, want.Sum, want.RelErr)
			}
			for p, v := range got.S.Val {
				if v != math.Ldexp(want.S.Val[p], e) {
					t.Fatalf("times 2^%d: entry %d is %v, want %v times as much", e, p, v, want.S.Val[p])
				}
			}
		}
	}
}

// TestSampleOfLittle: graphs with at most one edge are kept whole, and a graph without items is no error.
func TestSampleOfLittle(t *testing.T) {
	for name, m := range map[string]naive{
		"one": {{3}}, "no edges": {{1, 0}, {0, 0}}, "zero": zeros(5, 5), "pair": {{0, 2}, {2, 0}},
	} {
		a, err := FromDense(m.dense(), 0)
		if err != nil {
			t.Fatal(err)
		}
		res, err := SampleByResistance(context.Background(), a, ResistanceSampling{Eps: 1, Workers: 1})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range m {
			for l, v := range m[i] {
				if !near(res.S.At(i, l), v, 0) {
					t.Errorf("%s: S[%d,%d] = %v, want %v", name, i, l, res.S.At(i, l), v)
				}
			}
		}
		if !(res.RelErr <= 1e-15) || res.Kept != 1 || res.Combinations != 0 {
			t.Errorf("%s: error %v, kept %v, %d combinations", name, res.RelErr, res.Kept, res.Combinations)
		}
	}
	none, err := FromDense(NewDense(0, 0, nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := SampleByResistance(context.Background(), none, ResistanceSampling{Eps: 1, Workers: 1}); err != nil || res.S.NNZ() != 0 {
		t.Errorf("no items: error %v, or edges", err)
	}
	if res, err := Strongest(context.Background(), none, Selection{PerItem: 1, Workers: 1}); err != nil || res.S.NNZ() != 0 {
		t.Errorf("Strongest, no items: error %v, or edges", err)
	}
}

// TestSampleFarApart: where the inverse keeps no digits, resistances are estimated; where no float64 can hold
// them, there is an error. The graph has two groups of items, all joined to each other within a group, and
// three edges of next to no weight between the groups.
func TestSampleFarApart(t *testing.T) {
	const half = 20
	for _, tc := range []struct {
		bridge float64
		exact  bool
	}{{1, true}, {1e-8, true}, {1e-16, false}, {1e-310, false}} {
		m := zeros(2*half, 2*half)
		for i := range m {
			for l := range m {
				if i != l && i/half == l/half {
					m[i][l] = 1
				}
			}
		}
		for i := range 3 {
			m[i][half+i], m[half+i][i] = tc.bridge, tc.bridge
		}
		a, err := FromCSR(m.csr(t), 0)
		if err != nil {
			t.Fatal(err)
		}
		s, err := SampleByResistance(context.Background(), a, ResistanceSampling{Eps: 0.5, Draws: 1000, Workers: 2})
		if err != nil {
			t.Errorf("edges of %v: error %v", tc.bridge, err)
		} else if (s.Combinations == 0) != tc.exact || tc.exact && !(math.Abs(s.Sum-(2*half-1)) <= 1e-5) {
			t.Errorf("edges of %v: %d combinations, sum %v", tc.bridge, s.Combinations, s.Sum)
		}
	}
	a, err := FromDense(naive{{0, 1, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 1e-310}, {0, 0, 1e-310, 0}}.dense(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := SampleByResistance(context.Background(), a, ResistanceSampling{Eps: 0.5, Draws: 100, Workers: 1}); !errors.Is(err, ErrRange) || s != nil {
		t.Errorf("weights of 1 and 1e-310: error %v", err)
	}
}

// TestGuide compares with a search through all numbers: in lists of one number, of equal numbers, of numbers
// close together, and of numbers of any size.
func TestGuide(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for name, upTo := range map[string][]float64{
		"one": {3}, "equal": {2, 2, 2}, "zeros first": {0, 0, 0, 1}, "least": {5e-324, 5e-324, 1e-323}, "largest": {1, 1e300, math.MaxFloat64},
		"uniform": sums(rng, 1000, func(float64) float64 { return 1 }), "random": sums(rng, 999, func(x float64) float64 { return x }),
		"skewed": sums(rng, 500, func(x float64) float64 { return math.Exp(60 * x) }),
	} {
		g := newGuide(upTo)
		last := upTo[len(upTo)-1]
		look := func(v float64) {
			want := 0
			for want < len(upTo) && upTo[want] <= v {
				want++
			}
			if got := g.above(v); got != want {
				t.Errorf("%s: the first above %v is %d, want %d", name, v, got, want)
			}
		}
		for _, v := range upTo {
			look(v)
			look(math.Nextafter(v, 0))
			look(math.Nextafter(v, 2*v))
		}
		for range 1000 {
			look(rng.Float64() * last)
		}
		look(0)
	}
}

// sums returns the first n partial sums of f of random numbers.
func sums(rng *rand.Rand, n int, f func(float64) float64) []float64 {
	s, sum := make([]float64, n), 0.0
	for k := range s {
		sum += f(rng.Float64())
		s[k] = sum
	}
	return s
}

// TestDraws compares counts with those of the same draws made one by one: counts by one goroutine, by several
// that count separately, and by several that count together.
func TestDraws(t *testing.T) {
	upTo := sums(rand.New(rand.NewPCG(8, 2)), 100, func(x float64) float64 { return x * x })
	const draws = 100000
	want := make([]uint32, len(upTo))
	for k := range uint64(draws) {
		u := float64(kernel.Bits(kernel.Key(5, streamDraws), k)>>11) * 0x1p-53 * upTo[len(upTo)-1]
		e := 0
		for e < len(upTo)-1 && upTo[e] <= u {
			e++
		}
		want[e]++
	}
	for _, workers := range []int{0, 1, 3, mostApart} {
		got, err := drawWithReplacement(context.Background(), upTo, draws, &ResistanceSampling{Seed: 5, Workers: workers})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d workers: other counts, or error %v", workers, err)
		}
	}
	for _, upTo := range [][]float64{{0, 0}, {0, 5e-324}, {1e-323, 1e-323}} { // where u may be the last sum
		if got, err := drawWithReplacement(context.Background(), upTo, 100, &ResistanceSampling{Workers: 1}); err != nil || got[0]+got[1] != 100 {
			t.Errorf("%v: %v, %v", upTo, got, err)
		}
	}
}

// TestSampleRefuses: invalid settings, negative weights, points and too many draws are refused, and a
// cancelled ctx ends the work, also while a matrix is inverted.
func TestSampleRefuses(t *testing.T) {
	ctx := context.Background()
	a, err := FromDense(naive{{0, 1}, {1, 0}}.dense(), 0)
	if err != nil {
		t.Fatal(err)
	}
	negative, err := FromDense(naive{{0, -1}, {-1, 0}}.dense(), 0)
	if err != nil {
		t.Fatal(err)
	}
	points, err := Gram(bigPoints(t, 10, 5), Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	long, err := FromCSR(bigRing(MostExact+1), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		a   Operator
		opt ResistanceSampling
	}{
		{a, ResistanceSampling{}}, {a, ResistanceSampling{Eps: -1}}, {a, ResistanceSampling{Eps: math.NaN()}},
		{a, ResistanceSampling{Eps: math.Inf(1)}},
		{a, ResistanceSampling{Eps: 1, Draws: -1}}, {a, ResistanceSampling{Eps: 1e-9}}, {a, ResistanceSampling{Eps: 1e-300}},
		{a, ResistanceSampling{Eps: 1, Draws: 1 << 40}}, {a, ResistanceSampling{Eps: 1, Draws: 1 << 31}},
		{long, ResistanceSampling{Eps: 1e-5, Draws: 10}}, // takes more than 2³¹ systems
		{negative, ResistanceSampling{Eps: 1}}, {points, ResistanceSampling{Eps: 1}},
	} {
		tc.opt.Workers = 1
		if s, err := SampleByResistance(ctx, tc.a, tc.opt); !errors.Is(err, ErrResistance) || s != nil {
			t.Errorf("%+v: %v", tc.opt, err)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	big, err := FromCSR(bigRing(1000), 0)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := SampleByResistance(gone, big, ResistanceSampling{Eps: 2, Workers: 1}); !errors.Is(err, context.Canceled) || s != nil {
		t.Errorf("cancelled: %v", err)
	}
	on, stop := context.WithCancel(ctx)
	told := 0
	exact := ResistanceSampling{Eps: 0.4, Workers: 1, Progress: func(solved, of int) {
		if told++; of != 1000 || solved != told*sweepRows {
			t.Errorf("exact resistances of 1000 items: progress %d of %d", solved, of)
		}
		if told == 2 {
			stop()
		}
	}}
	if s, err := SampleByResistance(on, big, exact); !errors.Is(err, context.Canceled) || s != nil || told != 2 {
		t.Errorf("cancelled while a matrix is inverted, after %d calls of Progress: error %v", told, err)
	}
}

// TestSampleOfARing: a ring is the hardest system for conjugate gradients, and each of its w·R is (n−1)/n.
func TestSampleOfARing(t *testing.T) {
	const n = 1000
	a, err := FromCSR(bigRing(n), 0)
	if err != nil {
		t.Fatal(err)
	}
	res, err := SampleByResistance(context.Background(), a, ResistanceSampling{Eps: 2, Draws: 100000, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if res.Combinations != 42 || !(math.Abs(res.Sum-(n-1)) <= 5) { // on average over the edges, w·R is 1 less the small square of a mean of signs
		t.Errorf("%d combinations, Σ w·R = %v, want %d", res.Combinations, res.Sum, n-1)
	}
}

// bigRing returns a ring of n items with weights of 1.
func bigRing(n int) *CSR {
	m := &CSR{rows: n, cols: n, RowPtr: make([]int64, n+1)}
	for i := range n {
		before, after := int32((i+n-1)%n), int32((i+1)%n)
		m.Col = append(m.Col, min(before, after), max(before, after))
		m.RowPtr[i+1] = int64(len(m.Col))
	}
	return m
}
