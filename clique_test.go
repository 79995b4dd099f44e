package symnmf

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"testing"

	"symnmf/internal/instance"
	"symnmf/matrix"
)

// graphOf returns the adjacency matrix of a graph of n items.
func graphOf(n int, edges ...[2]int) *matrix.Dense {
	a := matrix.NewDense(n, n, nil)
	for _, e := range edges {
		a.Set(e[0], e[1], 1)
		a.Set(e[1], e[0], 1)
	}
	return a
}

// signed returns M_d: 1 on the edges and the diagonal of a, −d elsewhere.
func signed(a *matrix.Dense, d float64) []float64 {
	n, _ := a.Dims()
	m := make([]float64, n*n)
	for i := range n {
		for l := range n {
			m[i*n+l] = -d
			if i == l || a.At(i, l) > 0 {
				m[i*n+l] = 1
			}
		}
	}
	return m
}

// residualSq returns ‖P − uuᵀ‖².
func residualSq(p, u []float64) (sum float64) {
	for i, v := range u {
		for l, w := range u {
			d := p[i*len(u)+l] - v*w
			sum += d * d
		}
	}
	return sum
}

// searchOf returns a search on the graph of a that visits the items in order.
func searchOf(t testing.TB, a *matrix.Dense) *cliqueSearch {
	t.Helper()
	s, err := newCliqueSearch(mustCSR(t, sparseOf(t, a)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.order {
		s.order[i] = i
	}
	return s
}

// goldenClique is the graph of testdata/golden/clique14.json with its maximal cliques.
type goldenClique struct {
	N       int
	D       float64
	Edges   [][2]int
	Omega   int
	Maximal [][]int `json:"maximal_cliques"`
	NormSq  float64 `json:"norm_Md_sq"`
}

// readGoldenClique reads testdata/golden/clique14.json.
func readGoldenClique(t testing.TB) goldenClique {
	t.Helper()
	data, err := os.ReadFile("testdata/golden/clique14.json")
	if err != nil {
		t.Fatal(err)
	}
	var g goldenClique
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestCliquePass: a pass, which multiplies by N alone, equals a pass of rank-one descent over the n×n matrix
// M_d.
func TestCliquePass(t *testing.T) {
	g := readGoldenClique(t)
	a := graphOf(g.N, g.Edges...)
	s := searchOf(t, a)
	for seed := uint64(1); seed <= 5; seed++ {
		for _, d := range []float64{0.1, 0.5, 3, 14, 100} {
			p := signed(a, d)
			want := instance.Start(g.N, 1, seed).Data()
			copy(s.u, want)
			s.refresh()
			for pass := range 5 {
				before := residualSq(p, want)
				rankOne(p, want, 0, 1, make([]float64, g.N), make([]float64, g.N))
				s.pass(d)
				for i, v := range s.u {
					if diff := math.Abs(v - want[i]); !(diff <= 1e-12) { // n² roundings of d·‖u‖ ≤ 14·(1+d), divided by the slope
						t.Fatalf("seed %d, d = %v, pass %d: u[%d] = %v, want %v", seed, d, pass, i, v, want[i])
					}
				}
				if after := residualSq(p, s.u); !(after <= before+1e-10*before) {
					t.Errorf("seed %d, d = %v, pass %d: ‖M−uuᵀ‖² rises from %v to %v", seed, d, pass, before, after)
				}
			}
		}
	}
}

// TestGoldenClique: each of 360 runs ends exactly at one of the maximal cliques, without rounding to one, and
// for each seed some run finds a largest one. The indicator of a maximal clique is at rest and has the value
// ‖M_d‖² − k², as the theory says. That of a clique less one item is not at rest.
func TestGoldenClique(t *testing.T) {
	g := readGoldenClique(t)
	a := graphOf(g.N, g.Edges...)
	s := searchOf(t, a)
	p := signed(a, g.D)
	if got := residualSq(p, s.u); got != g.NormSq {
		t.Errorf("‖M_d‖² = %v, golden %v", got, g.NormSq)
	}
	for _, items := range g.Maximal {
		clear(s.u)
		for _, i := range items {
			s.u[i] = 1
		}
		if got, want := residualSq(p, s.u), g.NormSq-float64(len(items)*len(items)); got != want || !s.maximal(items) || s.maximal(items[1:]) {
			t.Errorf("%v: ‖M_d−uuᵀ‖² = %v, want %v; maximal %v, maximal without its first item %v", items, got, want, s.maximal(items), s.maximal(items[1:]))
		}
		s.refresh()
		if moved := s.pass(g.D); !(moved <= 1e-12) {
			t.Errorf("%v: the indicator moves by %v", items, moved)
		}
		s.u[items[0]] = 0
		s.refresh()
		if moved := s.pass(g.D); !(moved > 0.1) {
			t.Errorf("%v: the indicator less one item moves only by %v", items, moved)
		}
	}
	for seed := range uint64(3) {
		found := 0
		for run := range 120 {
			if err := s.descend(context.Background(), seed, run); err != nil {
				t.Fatal(err)
			}
			items, exact := s.round()
			if !exact || !slices.ContainsFunc(g.Maximal, func(c []int) bool { return slices.Equal(c, items) }) {
				t.Errorf("seed %d, run %d: %v, exact %v", seed, run, items, exact)
			}
			if len(items) == g.Omega {
				found++
			}
		}
		if found == 0 {
			t.Errorf("seed %d: no clique of %d", seed, g.Omega)
		}
	}
	for form, op := range map[string]matrix.Operator{"dense": mustDense(t, a), "sparse": mustCSR(t, sparseOf(t, a))} {
		c, err := MaxClique(context.Background(), op, CliqueOptions{Seed: 1})
		if err != nil || len(c.Items) != g.Omega || c.Runs != defaultCliqueRuns || c.Exact != c.Runs || c.Edges != int64(len(g.Edges)) {
			t.Errorf("%s: %+v, %v", form, c, err)
		}
	}
}

// TestMaximal compares maximal with the definition for every set of items of a graph of eight. It also checks
// that any u is rounded to a maximal clique.
func TestMaximal(t *testing.T) {
	const n = 8
	a := graphOf(n)
	draw := uniform{key: 3}
	for i := range n {
		for l := range i {
			if draw.at(uint64(i*n+l)) < 0.6 {
				a.Set(i, l, 1)
				a.Set(l, i, 1)
			}
		}
	}
	s := searchOf(t, a)
	cliques := 0
	for set := range 1 << n {
		var items []int
		in := func(i int) bool { return set>>i&1 == 1 }
		joined := func(i int) bool { // joined to all of the set but itself
			for l := range n {
				if in(l) && l != i && a.At(i, l) == 0 {
					return false
				}
			}
			return true
		}
		want := true
		for i := range n {
			if in(i) {
				items = append(items, i)
			}
			want = want && in(i) == joined(i)
		}
		if got := s.maximal(items); got != want {
			t.Errorf("%v: maximal %v, want %v", items, got, want)
		}
		if want {
			cliques++
		}
		for i := range n { // any u is rounded to some maximal clique
			s.u[i] = draw.at(uint64(1000 + set*n + i))
		}
		if items, _ := s.round(); !s.maximal(items) {
			t.Errorf("u = %v is rounded to %v", s.u, items)
		}
	}
	if cliques < 3 {
		t.Errorf("%d maximal cliques, want at least 3", cliques)
	}
}

// TestCliqueSaddle: on the path a–c–b the point (t, 1, t)·s is stationary for every d but is no clique. It is
// rounded to one.
func TestCliqueSaddle(t *testing.T) {
	s := searchOf(t, graphOf(3, [2]int{0, 1}, [2]int{1, 2}))
	const d = 0.5
	side := (math.Sqrt(d*d+8) - d) / 4
	p := signed(graphOf(3, [2]int{0, 1}, [2]int{1, 2}), d)
	u := []float64{side, 1, side}
	mu := make([]float64, 3)
	for i := range 3 {
		for l := range 3 {
			mu[i] += p[i*3+l] * u[l]
		}
	}
	scale := math.Sqrt(mu[1] / (1 + 2*side*side)) // (M·u)_i = ‖u‖²·u_i
	for i := range u {
		u[i] *= scale
	}
	copy(s.u, u)
	s.refresh()
	if moved := s.pass(d); moved > 1e-12 || !(u[0] > 0.5) {
		t.Errorf("%v moves by %v", u, moved)
	}
	if items, exact := s.round(); exact || !slices.Equal(items, []int{0, 1}) {
		t.Errorf("rounded to %v, exact %v", items, exact)
	}
}

// countdown is a context that is cancelled after left calls of Err.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestMaxClique: MaxClique finds the largest clique of small graphs, repeats its answer for the same seed,
// returns the best clique so far when it is cancelled, and refuses what is not a graph.
func TestMaxClique(t *testing.T) {
	background := context.Background()
	two := graphOf(10, [2]int{0, 1}, [2]int{0, 2}, [2]int{1, 2}, [2]int{2, 3}) // a triangle with a tail, five items all joined, and one alone
	for i := 4; i < 9; i++ {
		for l := 4; l < i; l++ {
			two.Set(i, l, 0.25) // weights and loops do not count
			two.Set(l, i, 0.25)
		}
		two.Set(i, i, 7)
	}
	full := filled(6, 6, 1)
	for _, c := range []struct {
		name string
		a    *matrix.Dense
		want []int
	}{
		{"two cliques", two, []int{4, 5, 6, 7, 8}},
		{"all joined", full, []int{0, 1, 2, 3, 4, 5}},
		{"one item", matrix.NewDense(1, 1, nil), []int{0}},
	} {
		for seed := range uint64(5) {
			got, err := MaxClique(background, mustCSR(t, sparseOf(t, c.a)), CliqueOptions{Seed: seed})
			if err != nil || !slices.Equal(got.Items, c.want) || got.Run < 1 || got.Run > got.Runs {
				t.Errorf("%s, seed %d: %+v, %v", c.name, seed, got, err)
			}
		}
	}
	empty, err := MaxClique(background, mustDense(t, matrix.NewDense(4, 4, nil)), CliqueOptions{})
	if err != nil || len(empty.Items) != 1 || empty.Exact != empty.Runs {
		t.Errorf("no edges: %+v, %v", empty, err)
	}

	planted, _ := instance.PlantedGraph(300, 10, 0.9, 0.1, 1)
	graph := mustCSR(t, planted)
	first, err := MaxClique(background, graph, CliqueOptions{Runs: 3, Seed: 4})
	again, _ := MaxClique(background, graph, CliqueOptions{Runs: 3, Seed: 4})
	if err != nil || !slices.Equal(first.Items, again.Items) || first.Exact != 3 || len(first.Items) < 10 {
		t.Errorf("%+v, then %+v, %v", first, again, err)
	}
	whole := &countdown{background, math.MaxInt}
	if _, err := MaxClique(whole, graph, CliqueOptions{Runs: 3, Seed: 4}); err != nil {
		t.Fatal(err)
	}
	looks := math.MaxInt - whole.left
	got, err := MaxClique(&countdown{background, looks - 1}, graph, CliqueOptions{Runs: 3, Seed: 4})
	if !errors.Is(err, context.Canceled) || got == nil || got.Runs != 2 || len(got.Items) < 10 {
		t.Errorf("cancelled in run 3: %+v, %v", got, err)
	}
	if got, err := MaxClique(&countdown{background, 0}, graph, CliqueOptions{}); !errors.Is(err, context.Canceled) || got != nil {
		t.Errorf("cancelled at once: %+v, %v", got, err)
	}

	points, err := matrix.Gram(instance.Start(6, 3, 1), matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		a    matrix.Operator
		runs int
		want error
	}{
		{"inner products", points, 1, ErrUnfit},
		{"negative entries", mustDense(t, matrix.NewDense(2, 2, []float64{1, -1, -1, 1})), 1, ErrNegative},
		{"no items", mustDense(t, matrix.NewDense(0, 0, nil)), 1, ErrEmpty},
		{"negative runs", graph, -1, ErrOption},
	} {
		if got, err := MaxClique(background, c.a, CliqueOptions{Runs: c.runs}); !errors.Is(err, c.want) || got != nil {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

// TestCliqueStart: at first d is so small that u does not begin at zero, and runs find large cliques of a
// planted graph. From d = ½ the cliques are smaller, 16.1 items on average.
func TestCliqueStart(t *testing.T) {
	planted, _ := instance.PlantedGraph(300, 10, 0.9, 0.1, 1)
	s, err := newCliqueSearch(mustCSR(t, planted))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for run := range 8 {
		if err := s.descend(context.Background(), 1, run); err != nil {
			t.Fatal(err)
		}
		items, _ := s.round()
		found += len(items)
	}
	if mean := float64(found) / 8; mean < 16.6 {
		t.Errorf("%v items on average, want at least 16.6", mean)
	}
}
