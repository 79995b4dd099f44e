package symnmf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/matio"
	"symnmf/matrix"
)

// apart returns the largest absolute difference between entries of x and y.
func apart(x, y []float64) (most float64) {
	for k := range x {
		most = max(most, math.Abs(x[k]-y[k]))
	}
	return most
}

// TestPolar: the matrix found has orthonormal rows and is that of the singular value decomposition, also with
// fewer rows than columns, and for a matrix that is singular or nearly so. A run that has to end gets none.
func TestPolar(t *testing.T) {
	rng := rand.New(rand.NewPCG(39, 1))
	for _, shape := range [][2]int{{1, 1}, {2, 2}, {7, 7}, {16, 16}, {61, 61}, {1, 5}, {3, 4}, {9, 40}} {
		k, r := shape[0], shape[1]
		m := make([]float64, k*r)
		for i := range m {
			m[i] = rng.Float64() - 0.4
		}
		asked := 0 // calls of stop, one an iteration
		nearest := func(m []float64) []float64 {
			q := make([]float64, k*r)
			if !newPolar(k, r, 0, func() bool { asked++; return false }).nearest(q, m) {
				t.Fatal("nearest ends early without being stopped")
			}
			for i := range k {
				for j := range k {
					d := kernel.Dot(q[i*r:(i+1)*r], q[j*r:(j+1)*r])
					if i == j {
						d--
					}
					if !(math.Abs(d) <= 1e-6) {
						t.Errorf("%d×%d: (QQᵀ)[%d,%d] is off by %v", k, r, i, j, d)
					}
				}
			}
			return q
		}
		steep := slices.Clone(m) // rows of very different sizes
		for i := range k {
			for j := range r {
				steep[i*r+j] *= math.Pow(10, -4*float64(i)/float64(k))
			}
		}
		for name, m := range map[string][]float64{"any": m, "steep": steep} {
			asked = 0
			if d := apart(nearest(m), rotation(m, k, r)); !(d <= 1e-5) {
				t.Errorf("%s, %d×%d: %v apart from that of the singular value decomposition", name, k, r, d)
			}
			if asked > 14 {
				t.Errorf("%s, %d×%d: %d iterations, want at most 14", name, k, r, asked)
			}
		}
		clear(m[:r]) // there, any unit vector orthogonal to the others will do
		if got, want := kernel.Dot(nearest(m), m), kernel.Dot(rotation(m, k, r), m); !(math.Abs(got-want) <= 1e-12*math.Abs(want)) {
			t.Errorf("singular, %d×%d: ⟨Q, M⟩ = %v, want %v", k, r, got, want)
		}
		for looks := range 3 {
			asked := 0
			stop := func() bool { asked++; return asked > looks }
			if newPolar(k, r, 0, stop).nearest(make([]float64, k*r), steep) && (asked > looks || looks == 0) {
				t.Errorf("%d×%d: nearest goes on after call %d of stop returned true", k, r, looks+1)
			}
		}
	}
}

// TestPolarLeast: whatever estimate of the least singular value is given, the factor is right. An estimate
// near the true value takes the fewest iterations.
func TestPolarLeast(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	const k = 20
	m := rotation(normals(rng, k*k), k, k)
	for i := range k { // singular values from 1 to 1e-4
		kernel.Scale(m[i*k:(i+1)*k], math.Pow(10, -4*float64(i)/(k-1)))
	}
	turn := rotation(normals(rng, k*k), k, k)
	mixed, want := make([]float64, k*k), make([]float64, k*k)
	kernel.RowsTimes(mixed, turn, k, m, k)
	kernel.RowsTimes(want, turn, k, rotation(m, k, k), k)
	for _, c := range []struct {
		least float64
		most  int
	}{{1e-4, 4}, {3e-5, 5}, {0, 5}, {1e-2, 9}, {1, 13}} {
		for _, size := range []float64{1, 1e4, 1e-4} {
			m := slices.Clone(mixed)
			kernel.Scale(m, size)
			asked, q := 0, make([]float64, k*k)
			if !newPolar(k, k, c.least, func() bool { asked++; return false }).nearest(q, m) {
				t.Fatal("nearest ends early without being stopped")
			}
			if d := apart(q, want); !(d <= 1e-6) || asked > c.most || asked < 4 { // with fewer, it would be the singular value decomposition
				t.Errorf("matrix with a least value of 1e-4, scaled by %g, estimate %g: %v apart after %d iterations, want 4 to %d", size, c.least, d, asked, c.most)
			}
		}
	}
	if least := (&roots{values: []float64{8, 4, 2}}).leastTurned(); least != 1.0/16 {
		t.Errorf("leastTurned of values from 8 to 2 is %v, want a quarter of their ratio", least)
	}
	if least := (&roots{}).leastTurned(); least != 1 {
		t.Errorf("leastTurned of no values is %v, want 1", least)
	}
}

func normals(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// TestHalleyWeights: σ·(a + bσ²)/(1 + cσ²) maps [least, 1] onto the narrowest interval that ends at 1. It
// reaches either end of that twice, starting with the lower one at σ = least and finishing with 1 at σ = 1.
func TestHalleyWeights(t *testing.T) {
	const points = 100000
	for _, least := range []float64{0.9, 0.3, 1e-2, 1e-5} {
		a, b, c := halleyWeights(least)
		values := make([]float64, points+1)
		for i := range values {
			s := math.Pow(least, 1-float64(i)/points)
			values[i] = s * (a + b*s*s) / (1 + c*s*s)
		}
		turns := []float64{values[0]}
		for i := 1; i < points; i++ {
			if (values[i]-values[i-1])*(values[i+1]-values[i]) < 0 {
				turns = append(turns, values[i])
			}
		}
		turns = append(turns, values[points])
		want := []float64{values[0], 1, values[0], 1}
		if len(turns) != len(want) || !(apart(turns, want) <= 1e-6) {
			t.Errorf("least = %g: extreme values %v, want %v", least, turns, want)
		}
	}
	if a, b, c := halleyWeights(1); a != 3 || b != 1 || c != 3 {
		t.Errorf("weights of 1 are %v, %v, %v, want Halley's 3, 1, 3", a, b, c)
	}
}

// TestFirstTurn: turns begin with I for the first run on a graph. Other runs, fewer columns of B than r and
// dense data begin with a random matrix, whose rows have length 1. Its first row is the same number r times,
// its other entries have mean 0, and it is a function of seed and run.
func TestFirstTurn(t *testing.T) {
	graph, _ := instance.PlantedGraph(300, 5, 0.3, 0.02, 1)
	p, dense := mustProblem(t, mustCSR(t, graph), 4), mustProblem(t, lowRank(t, 30, 4), 4)
	if !slices.Equal(p.firstTurn(4, 0), identity(4)) {
		t.Error("the first run of a graph does not begin with I")
	}
	for name, q := range map[string][]float64{"the second run": p.firstTurn(4, 1), "too few columns": p.firstTurn(3, 0), "dense data": dense.firstTurn(4, 0)} {
		k := len(q) / 4
		if slices.Equal(q, identity(4)[:len(q)]) {
			t.Errorf("%s begins with I", name)
		}
		for i := range k {
			if d := kernel.Dot(q[i*4:i*4+4], q[i*4:i*4+4]) - 1; !(math.Abs(d) <= 1e-6) {
				t.Errorf("%s: row %d has ‖·‖² − 1 = %v", name, i, d)
			}
		}
	}
	random := func(seed uint64, k, run int) []float64 {
		p.seed = seed
		return p.randomTurn(k, run)
	}
	mean := 0.0 // of first columns, except for the first row, all of whose numbers are equal
	for run := range 200 {
		q := random(7, 4, run)
		for i := 1; i < 4; i++ {
			mean += q[i*4] / 600
		}
		for j, v := range q[:4] {
			if !(math.Abs(v-0.5) <= 1e-6) {
				t.Fatalf("run %d: the first row has %v at %d, want 0.5", run, v, j)
			}
		}
	}
	if !(math.Abs(mean) <= 0.1) || slices.Equal(random(1, 4, 0), random(2, 4, 0)) {
		t.Errorf("random matrices: the mean of entries is %v, want about 0, or seeds make no difference", mean)
	}
	if one, other := random(1, 3, 0), random(1, 3, 1); slices.Equal(one, other) || !slices.Equal(one, random(1, 3, 0)) {
		t.Error("a random matrix is no function of seed and run, or the same for all runs")
	}
	p.stop = func() bool { return true }
	if q := random(1, 4, 0); !kernel.Nonzero(q) {
		t.Error("the matrix is zero if the run has to end")
	}
}

// TestLargest: the k-th largest of n numbers is that found by sorting, with many equal numbers and with few.
func TestLargest(t *testing.T) {
	rng := rand.New(rand.NewPCG(39, 2))
	for n := 1; n < 40; n++ {
		for _, kinds := range []int{1, 3, 1000} {
			x := make([]float64, n)
			for i := range x {
				x[i] = float64(rng.IntN(kinds))
			}
			sorted := slices.Clone(x)
			slices.SortFunc(sorted, func(a, b float64) int { return cmp.Compare(b, a) })
			for k := 1; k <= n; k++ {
				if got := largest(slices.Clone(x), k); got != sorted[k-1] {
					t.Fatalf("place %d of %v: %v, want %v", k, x, got, sorted[k-1])
				}
			}
		}
	}
}

// TestSample: the rows of the sample are the longest ones, in their order.
func TestSample(t *testing.T) {
	p := &problem{n: 300, r: 2, workers: 2}
	b := matrix.NewDense(300, 2, nil)
	for i := range 300 {
		b.Set(i, 0, float64((i*7)%300))
		b.Set(i, 1, float64(i))
	}
	got := p.sample(b, 100)
	if len(got) != 200 {
		t.Fatalf("%d numbers, want 200", len(got))
	}
	least := math.Inf(1)
	chosen := map[int]bool{}
	for k := 0; k < len(got); k += 2 {
		i := int(got[k+1])
		if k > 0 && i <= int(got[k-1]) || got[k] != b.At(i, 0) {
			t.Fatalf("row %d of the sample is %v", k/2, got[k:k+2])
		}
		chosen[i] = true
		least = min(least, got[k]*got[k]+got[k+1]*got[k+1])
	}
	for i := range 300 {
		if x, y := b.At(i, 0), b.At(i, 1); !chosen[i] && x*x+y*y > least {
			t.Errorf("row %d is not in the sample, but longer than a row that is", i)
		}
	}
	if all := p.sample(b, 300); !slices.Equal(all, b.Data()) {
		t.Error("a sample of all rows is not B")
	}
}

// TestSampleEqual: of rows that are equally long, some are taken everywhere.
func TestSampleEqual(t *testing.T) {
	p := &problem{n: 100, r: 2, workers: 1}
	b := matrix.NewDense(100, 2, nil)
	for i := range 100 {
		b.Set(i, i%2, 1)
	}
	b.Set(7, 0, 5)
	if got := p.sample(b, 11); len(got) != 22 {
		t.Errorf("%d numbers, want 22", len(got))
	}
	b.Set(7, 0, 0)
	for i := range 100 { // rows of the second half have their entry in the other column
		b.Set(i, 0, 0)
		b.Set(i, 1, 0)
		b.Set(i, i/50, 1)
	}
	first := 0.0
	got := p.sample(b, 10)
	for k := 0; k < len(got); k += 2 {
		first += got[k]
	}
	if len(got) != 20 || first != 5 {
		t.Errorf("%d rows, %v of them in the first half, want 10 and 5", len(got)/2, first)
	}
}

// TestRoots: columns are as long as the roots of the eigenvalues, and most of each is positive. The part of B
// that may stay negative is a quarter of the least relative error of a matrix of their rank. All runs share
// the roots. A low rank in place of A has them, too.
func TestRoots(t *testing.T) {
	graph, _ := instance.PlantedGraph(300, 5, 0.3, 0.02, 1)
	points, err := matrix.Gram(instance.Start(400, 20, 1), matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	words, err := matrix.Gram(instance.Text(60, 400, 40, 1), matrix.Columns, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]matrix.Operator{"a graph": mustCSR(t, graph), "points of few features": points, "sparse points of few features": words, "dense": lowRank(t, 100, 7), "of rank r": lowRank(t, 100, 4), "compressed": lowRank(t, 500, 7)} {
		p := mustProblem(t, a, 4)
		got, err := p.roots()
		if err != nil || len(got.values) != 4 {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		if (p.compressed(0) != p) != (name == "compressed") {
			t.Errorf("%s: A has a low rank in its place: %v", name, p.compressed(0) != p)
		}
		top, err := p.leading()
		if err != nil {
			t.Fatal(err)
		}
		left := p.norm * p.norm
		for j := range p.r {
			var sq, positive float64
			for i := range p.n {
				v := got.b.At(i, j)
				if sq += v * v; v > 0 {
					positive += v * v
				}
			}
			want := top.values[j]
			left -= want * want
			if !(math.Abs(sq-want) <= 0.02*want) || !(math.Abs(got.values[j]-sq) <= 1e-6*sq) || positive < sq/2 {
				t.Errorf("%s: column %d has ‖·‖² = %v, %v of it positive; the eigenvalue is %v, of roots %v", name, j, sq, positive, want, got.values[j])
			}
		}
		if want := max(3e-4, 0.25*math.Sqrt(max(0, left))/p.norm); !(math.Abs(got.enough-want) <= 0.02*want) {
			t.Errorf("%s: a part of %v of B may stay negative, want %v", name, got.enough, want)
		}
		if again, _ := p.roots(); again != got {
			t.Errorf("%s: the roots were computed twice", name)
		}
	}
}

// TestRootsOfFewValues: B has columns only for positive eigenvalues.
func TestRootsOfFewValues(t *testing.T) {
	d := matrix.NewDense(60, 60, nil)
	for i := range 20 { // complete between 20 items and 40: the eigenvalues are ±√800 and zeros
		for j := 20; j < 60; j++ {
			d.Set(i, j, 1)
			d.Set(j, i, 1)
		}
	}
	p := mustProblem(t, mustDense(t, d), 4)
	got, err := p.roots()
	if err != nil {
		t.Fatal(err)
	}
	if n, k := got.b.Dims(); n != 60 || k != 1 || len(got.values) != 1 {
		t.Fatalf("B is %d×%d for the values %v, want 60×1", n, k, got.values)
	}
	for i := range 60 {
		want := math.Sqrt(got.values[0] / 80)
		if i < 20 {
			want = math.Sqrt(got.values[0] / 40)
		}
		if !(math.Abs(got.b.At(i, 0)-want) <= 1e-9*want) {
			t.Errorf("row %d of B is %v, want %v", i, got.b.At(i, 0), want)
		}
	}
}

// TestRootsOfNone: a low rank with no positive eigenvalue has no roots, and its start is random.
func TestRootsOfNone(t *testing.T) {
	u := matrix.NewDense(30, 2, nil)
	for k := range u.Data() {
		u.Data()[k] = uniform{1}.at(uint64(k))
	}
	a, err := matrix.NewLowRank(u, []float64{-1, -0.5}, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := mustProblem(t, a, 3)
	if top, err := p.roots(); err != nil || len(top.values) != 0 {
		t.Fatalf("roots %+v, %v", top, err)
	}
	h := matrix.NewDense(30, 3, nil)
	if err := (TSVDStart{}).fill(p, h, 0); err != nil {
		t.Fatal(err)
	}
	for k, v := range h.Data() {
		if !(v >= 0) || math.IsInf(v, 0) {
			t.Fatalf("number %d of the start is %v", k, v)
		}
	}
	for _, start := range []Start{nil, TSVDStart{}} {
		if res := factorize(t, a, 3, Options{Start: start, Stop: Stop{Sweeps: 50}}); !(math.Abs(res.RelErr-1) <= 1e-6) {
			t.Errorf("from %s: relative error %v, where H = 0 is the best", res.Start, res.RelErr)
		}
	}
}

// TestFillColumns: columns of zeros get about the length of the shortest other column, or about 1 if all are
// zero. They depend on the run.
func TestFillColumns(t *testing.T) {
	p := &problem{n: 4000, r: 3, workers: 2}
	length := func(h *matrix.Dense, j int) (sum float64) {
		for i := range p.n {
			sum += h.At(i, j) * h.At(i, j)
		}
		return sum
	}
	fill := func(run int) *matrix.Dense {
		h := matrix.NewDense(p.n, p.r, nil)
		h.Set(3, 0, 2)
		h.Set(5, 2, 3)
		p.fillColumns(h, run)
		return h
	}
	h := fill(0)
	if l := length(h, 1); !(math.Abs(l-4) <= 0.2) || length(h, 0) != 4 || length(h, 2) != 9 || slices.Min(h.Data()) < 0 {
		t.Errorf("squared lengths %v, %v, %v, want 4, about 4, 9, or an entry is negative", length(h, 0), l, length(h, 2))
	}
	if other := fill(1); slices.Equal(h.Data(), other.Data()) {
		t.Error("two runs get the same columns")
	}
	h = matrix.NewDense(p.n, p.r, nil)
	if p.fillColumns(h, 0); !(math.Abs(length(h, 2)-1) <= 0.1) {
		t.Errorf("all columns zero: squared length %v, want about 1", length(h, 2))
	}
}

// turnsOf returns where turns of the rows of b (n×r) lead from q (r×r), and their number, by the definition.
func turnsOf(b *matrix.Dense, q []float64, r int) (to []float64, turns int) {
	n, _ := b.Dims()
	to, last := slices.Clone(q), slices.Clone(q)
	least := math.Inf(1)
	for turns < 320 {
		y := make([]float64, r*r)
		for k := range y {
			y[k] = to[k] + min(0.98, float64(turns+4)/float64(turns+7))*(to[k]-last[k])
		}
		m := make([]float64, r*r) // Bᵀ·[B·Y]₊
		sq := 0.0
		for i := range n {
			for k := range r {
				h := 0.0
				for j := range r {
					h += b.At(i, j) * y[j*r+k]
				}
				if h < 0 {
					sq += h * h
				}
				for j := range r {
					m[j*r+k] += b.At(i, j) * max(h, 0)
				}
			}
		}
		last, to = to, rotation(m, r, r)
		if turns++; turns%10 == 0 {
			if sq > 0.9*least {
				break
			}
			least = sq
		}
	}
	return to, turns
}

// TestTurned: the turns are those of their definition, for any number of workers. They leave less than nine
// tenths of the squared negative part of B·Q that 40 turns of TSVD leave.
func TestTurned(t *testing.T) {
	g := readGolden(t, "fullrank60")
	p, h := goldenProblem(t, g, g.forms(t)["dense"])
	s := TSVD{}.start(p, h, 0).(*tsvdRun)
	if !s.turn() { // to its first point
		t.Fatal(p.notes)
	}
	n, r, b := p.n, p.r, s.b
	first := slices.Clone(s.q)
	cut := func(q []float64) (sq float64) {
		h := matrix.NewDense(n, r, nil)
		return p.positive(h, b, q)
	}
	want, turns := turnsOf(b, first, r)
	for _, workers := range []int{1, 3} {
		p.workers = workers
		q, made := p.turnFrom(b.Data(), first, 0, 0)
		if d := apart(q, want); !(d <= 1e-5) || made != turns {
			t.Errorf("%d workers: Q after %d turns is %v apart from that of the definition after %d", workers, made, d, turns)
		}
	}
	for range 40 {
		if !s.turn() {
			t.Fatal(p.notes)
		}
	}
	if plain := cut(s.q); !(cut(want) < 0.9*plain) {
		t.Errorf("the squared negative part is %v, after 40 turns of TSVD %v", cut(want), plain)
	}
}

// TestTurnedLong: turns that go on for long are those of their definition, too. One run ends when they pay no more, the
// other when there have been 320.
func TestTurnedLong(t *testing.T) {
	const n, r = 300, 20
	p := mustProblem(t, lowRank(t, n, r), r)
	top, err := p.roots()
	if err != nil {
		t.Fatal(err)
	}
	for run, number := range map[int]int{1: 210, 4: 320} {
		first := p.firstTurn(r, run)
		want, turns := turnsOf(top.b, first, r)
		q, made := p.turnFrom(top.b.Data(), first, top.leastTurned(), 0)
		if d := apart(q, want); !(d <= 3e-4) || made != number || turns != number {
			t.Errorf("run %d: Q after %d turns is %v apart from that of the definition after %d, want %d turns", run, made, d, turns, number)
		}
	}
}

// TestTurnsStop: whenever a run has to end, Q has orthonormal rows, and no turn begins after that.
func TestTurnsStop(t *testing.T) {
	p := mustProblem(t, lowRank(t, 60, 5), 4)
	top, err := p.roots()
	if err != nil {
		t.Fatal(err)
	}
	first := p.firstTurn(4, 0)
	for looks := range 60 {
		asked := 0
		p.stop = func() bool { asked++; return asked > looks }
		q, turns := p.turnFrom(top.b.Data(), first, 0, 0)
		if asked > looks+1 || looks == 0 && turns > 0 {
			t.Errorf("stop returns true from call %d on: it was called %d times, with %d turns", looks+1, asked, turns)
		}
		for i := range 4 {
			for j := range 4 {
				d := kernel.Dot(q[i*4:i*4+4], q[j*4:j*4+4])
				if i == j {
					d--
				}
				if !(math.Abs(d) <= 1e-6) {
					t.Fatalf("stop returns true from call %d on: (QQᵀ)[%d,%d] is off by %v", looks+1, i, j, d)
				}
			}
		}
	}
}

// TestTurnedRows: the Q of a start comes from all rows of dense data, and from the 64·r longest of sparse ones.
func TestTurnedRows(t *testing.T) {
	graph, _ := instance.PlantedGraph(300, 5, 0.1, 0.02, 1)
	for name, c := range map[string]struct {
		a    matrix.Operator
		rows int
	}{"a graph": {mustCSR(t, graph), 256}, "dense": {lowRank(t, 300, 4), 300}} {
		p := mustProblem(t, c.a, 4)
		top, err := p.roots()
		if err != nil {
			t.Fatal(err)
		}
		got, _ := p.findTurn(top, 0)
		want, _ := p.turnFrom(p.sample(top.b, c.rows), p.firstTurn(p.r, 0), top.leastTurned(), top.enough)
		if !slices.Equal(got, want) {
			t.Errorf("%s: Q is not that of %d rows", name, c.rows)
		}
	}
}

// TestTurnsEnd: turns end where little enough is negative, or where that hardly falls any more.
func TestTurnsEnd(t *testing.T) {
	turns := func(b []float64, enough float64) int {
		p := &problem{n: len(b) / 2, r: 2, workers: 1}
		_, made := p.turnFrom(b, identity(2), 0, enough)
		return made
	}
	var even, half []float64 // a circle is the same however it is turned, unlike half of one
	const points = 200       // more than one product takes
	for i := range points {
		y, x := math.Sincos(float64(i) / points * 2 * math.Pi)
		even = append(even, x, y)
		y, x = math.Sincos(float64(i) / points * math.Pi)
		half = append(half, x, y)
	}
	if got := turns(even, 0); got != 20 {
		t.Errorf("%d turns of a circle, want 20", got)
	}
	if near, far := turns(even, 0.72), turns(even, 0.69); near != 1 || far != 20 { // half of the squares are negative
		t.Errorf("%d and %d turns if parts of 0.72 and 0.69 may be negative, want 1 and 20", near, far)
	}
	if got := turns([]float64{1, 0, 0, 2, 1, 1}, 0); got != 1 {
		t.Errorf("%d turns of positive rows, want 1", got)
	}
	if got := turns(half, 0); got != 20 {
		t.Errorf("%d turns of half a circle, want 20", got)
	}
}

// TestTSVDStart: the start has no negative entries, is its own best multiple, begins at a lower error than
// SVDStart and Random, and differs from run to run. If A has fewer than r positive eigenvalues, no column is
// zero.
func TestTSVDStart(t *testing.T) {
	graph, _ := instance.PlantedGraph(300, 5, 0.3, 0.02, 1)
	a := mustCSR(t, graph)
	stop := Stop{Sweeps: 1, KKT: -1}
	first := func(s Start, seed uint64) float64 {
		return factorize(t, a, 5, Options{Solver: CD{}, Start: s, Stop: stop, Seed: seed}).First.RelErr
	}
	tsvd := first(TSVDStart{}, 0)
	if svd, random := first(SVDStart{}, 0), first(Random{}, 0); !(tsvd < svd) || !(tsvd < random) {
		t.Errorf("the relative error begins at %v, with svd at %v, with random at %v", tsvd, svd, random)
	}
	if exact := factorize(t, a, 5, Options{Solver: TSVD{}, Stop: Stop{Sweeps: mostTurns}}).RelErr; !(math.Abs(tsvd-exact) <= 0.005) {
		t.Errorf("the relative error begins at %v; %d turns of all rows of the exact eigenvectors lead to %v", tsvd, mostTurns, exact)
	}
	p := mustProblem(t, a, 5)
	var last []float64
	for run := range 3 {
		h := matrix.NewDense(p.n, p.r, nil)
		if err := (TSVDStart{}).fill(p, h, run); err != nil {
			t.Fatal(err)
		}
		if low := slices.Min(h.Data()); low < 0 || math.IsNaN(low) {
			t.Errorf("run %d: an entry is %v", run, low)
		}
		ah, hhSq, _ := p.alongRay(h, p.gram(h), nil)
		if !(math.Abs(ah/hhSq-1) <= 1e-12) {
			t.Errorf("run %d: the start times √%v is better", run, ah/hhSq)
		}
		if slices.Equal(h.Data(), last) {
			t.Errorf("run %d has the start of the one before", run)
		}
		last = h.Data()
	}
	for name, c := range map[string]struct {
		a matrix.Operator
		r int
	}{"a star": {star(t, 30), 4}, "more columns than items": {lowRank(t, 6, 2), 9}, "of low rank": {lowRank(t, 500, 3), 5}} {
		res := factorize(t, c.a, c.r, Options{Solver: RowBlock{}, Start: TSVDStart{}, Stop: Stop{Sweeps: 300}})
		if !(res.RelErr <= res.First.RelErr+1e-12) || math.IsNaN(res.RelErr) {
			t.Errorf("%s: the relative error goes from %v to %v", name, res.First.RelErr, res.RelErr)
		}
		p := mustProblem(t, c.a, c.r)
		h := matrix.NewDense(p.n, p.r, nil)
		if err := (TSVDStart{}).fill(p, h, 0); err != nil {
			t.Fatal(err)
		}
		for j := range c.r {
			sum := 0.0
			for i := range p.n {
				sum += h.At(i, j)
			}
			if !(sum > 0) {
				t.Errorf("%s: column %d is zero", name, j)
			}
		}
	}
}

// TestTSVDStartShort: where products read an H of float32 from a copy, the start has numbers of float32, before and
// after it is scaled. It is [B·Q]₊ times nearly the best multiple, and only rounded.
func TestTSVDStartShort(t *testing.T) {
	const n, r = 4400, 15
	graph, _ := instance.PlantedGraph(n, 6, 0.03, 0.003, 1)
	a := mustCSR(t, graph)
	p := mustProblem(t, a, r)
	if !matrix.CopiesSingles(p.a, r) {
		t.Fatal("the graph has too few edges for this test")
	}
	h := matrix.NewDense(n, r, nil)
	if err := (TSVDStart{}).fill(p, h, 0); err != nil {
		t.Fatal(err)
	}
	kept := slices.Clone(p.begun.ah)
	if kernel.Singles(h.Data(), 1) == nil {
		t.Error("not all numbers are of float32")
	}
	ah, hhSq, _ := p.alongRay(h, p.gram(h), nil)
	if beta := math.Sqrt(ah / hhSq); !(math.Abs(beta-1) <= 0x1p-10) {
		t.Errorf("the start times %v is better", beta)
	}
	want := make([]float64, n*r)
	p.a.NewProduct(h, 1).RowsTo(want, 0, n)
	if d := apart(kept, want); !(d <= 1e-13*slices.Max(want)) {
		t.Errorf("A·H of the start is off by %v", d)
	}
	top, err := p.roots()
	if err != nil {
		t.Fatal(err)
	}
	q, _ := p.findTurn(top, 0)
	exact := matrix.NewDense(n, r, nil)
	p.turnBy(exact, top.b, q)
	scale := math.Sqrt(kernel.SumSq(h.Data()) / kernel.SumSq(exact.Data()))
	for k, v := range exact.Data() {
		if v *= scale; !(math.Abs(h.Data()[k]-v) <= 0x1.1p-14*v) {
			t.Fatalf("number %d is %v, want %v but for rounding", k, h.Data()[k], v)
		}
	}
}

// TestRoundedBits: the nearest number of so many bits, also where that has another exponent.
func TestRoundedBits(t *testing.T) {
	for _, tc := range []struct {
		v    float64
		bits int
		want float64
	}{
		{0, 14, 0}, {1, 10, 1}, {0x1.ffcp0, 10, 0x1p1}, {0x1.ffbp0, 10, 0x1.ff8p0}, {0x1.0004p5, 14, 0x1.0008p5}, {0x1.0003ffp5, 14, 0x1p5},
		{0x1.5p-300, 3, 0x1.4p-300}, {0x1.5p-300, 4, 0x1.6p-300},
	} {
		if got := rounded(tc.v, tc.bits); got != tc.want {
			t.Errorf("%x to %d bits is %x, want %x", tc.v, tc.bits, got, tc.want)
		}
	}
}

// TestTSVDStartDealsOut: no column of H is the largest for nearly all items, even if these have much in
// common.
func TestTSVDStartDealsOut(t *testing.T) {
	x := instance.Start(300, 40, 1)
	for k := range x.Data() {
		x.Data()[k] += 3
	}
	a, err := matrix.Gram(x, matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := mustProblem(t, a, 10)
	for seed := range uint64(3) {
		p.seed = seed
		h := matrix.NewDense(p.n, p.r, nil)
		if err := (TSVDStart{}).fill(p, h, 0); err != nil {
			t.Fatal(err)
		}
		items := make([]int, p.r)
		for i := range p.n {
			best := 0
			for j, v := range h.Row(i) {
				if v > h.At(i, best) {
					best = j
				}
			}
			items[best]++
		}
		if most := slices.Max(items); most > 120 {
			t.Errorf("seed %d: the columns are the largest for %v items, want at most 120 each", seed, items)
		}
	}
}

// TestTSVDStartRuns: the start of a run depends on its number, and not on whether runs are made at once or
// one after another.
func TestTSVDStartRuns(t *testing.T) {
	graph, _ := instance.PlantedGraph(300, 5, 0.3, 0.02, 1)
	a := mustCSR(t, graph)
	opt := Options{Start: TSVDStart{}, Runs: 3, Threads: 3, Stop: Stop{Sweeps: 2}}
	inTurn := factorize(t, a, 5, opt)
	opt.AtOnce = 3
	atOnce := factorize(t, a, 5, opt)
	if len(inTurn.Runs) != 3 || inTurn.Runs[0].RelErr == inTurn.Runs[1].RelErr || inTurn.Runs[1].RelErr == inTurn.Runs[2].RelErr {
		t.Errorf("runs %+v, want three, each unlike the one before", inTurn.Runs)
	}
	if !slices.Equal(inTurn.H.Data(), atOnce.H.Data()) {
		t.Error("H differs if the runs are made at once")
	}
}

func mustProblem(t *testing.T, a matrix.Operator, r int) *problem {
	t.Helper()
	p, err := newProblem(a, r, &Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// star returns the graph of a hub and its neighbors, which has one positive eigenvalue.
func star(t *testing.T, neighbors int) matrix.Operator {
	t.Helper()
	d := matrix.NewDense(neighbors+1, neighbors+1, nil)
	for i := range neighbors {
		d.Set(0, i+1, 1)
		d.Set(i+1, 0, 1)
	}
	return mustCSR(t, d.CSR())
}

// TestTSVDStartStopped: if a limit comes before the eigenvectors are there, a run begins at random. If it
// comes before the turns have ended, the run begins with what they have come to. It does not answer with
// zeros, nor as converged.
func TestTSVDStartStopped(t *testing.T) {
	graph, _ := instance.PlantedGraph(300, 5, 0.3, 0.02, 1)
	a := mustCSR(t, graph)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	res, err := Factorize(ctx, a, 5, Options{Solver: RowBlock{}, Start: TSVDStart{}})
	if !errors.Is(err, context.Canceled) || res == nil || !(res.RelErr < 1) || !slices.Contains(res.Notes, "the run ended before the eigenvectors of its start were there, and began at random") {
		t.Errorf("%+v, %v", res, err)
	}
	for _, dense := range []bool{false, true} { // the same in each of several runs
		a := a
		if dense {
			a = lowRank(t, 500, 3)
		}
		for _, limit := range []time.Duration{1, time.Millisecond, 3 * time.Millisecond} {
			res, err := Factorize(context.Background(), a, 5, Options{Start: TSVDStart{}, Runs: 3, Stop: Stop{Time: limit, KKT: -1}})
			if err != nil || !(res.RelErr < 1) || res.Status == Converged {
				t.Errorf("dense %v, %v: %+v, %v", dense, limit, res, err)
			}
		}
	}
	for looks := range 40 { // whenever stop returns true
		p := mustProblem(t, a, 5)
		asked := 0
		p.stop = func() bool { asked++; return asked > looks }
		h := matrix.NewDense(p.n, p.r, nil)
		if err := (TSVDStart{}).fill(p, h, 0); err != nil || !kernel.Nonzero(h.Data()) {
			t.Fatalf("stop returns true from call %d on: error %v, or H is zero", looks+1, err)
		}
		if looks == 39 && asked < 5 {
			t.Errorf("stop was called %d times, want at least 5: one for each of some turns", asked)
		}
	}
}

// TestTSVDStartAndLowRank: for dense data near a low rank, the start takes B from that, and leaves alone the
// low rank that a method asks for itself. The run after it is on A itself, whereas a run from a random start
// begins on the low rank.
func TestTSVDStartAndLowRank(t *testing.T) {
	const n, r = 500, 5
	d, _ := instance.LowRank(n, r, 1)
	noise := instance.FullRank(n, 1)
	for k, v := range noise.Data() {
		d.Data()[k] += 0.02 * v
	}
	p := mustProblem(t, mustDense(t, d), r)
	top, err := p.roots()
	if err != nil {
		t.Fatal(err)
	}
	near := p.compressed(0)
	if near == p || p.compressed(0) != near {
		t.Fatal("the start has no low rank, or there are two")
	}
	for j, root := 0, matrix.LowRankRoot(near.a, r); j < r; j++ {
		for i := range n {
			if math.Abs(top.b.At(i, j)) != math.Abs(root.At(i, j)) {
				t.Fatalf("B[%d,%d] = %v, the low rank has %v", i, j, top.b.At(i, j), root.At(i, j))
			}
		}
	}
	if own := p.compressed(60); own == p || own.a.Stored() != n*(r+60) {
		t.Errorf("a low rank with 60 columns more than r has %d numbers, want %d", own.a.Stored(), n*(r+60))
	}
	for start, want := range map[Start]bool{TSVDStart{}: false, Random{}: true} {
		provisional := false
		factorize(t, mustDense(t, d), r, Options{Solver: RowBlock{Precision: Double}, Start: start, Stop: Stop{Sweeps: 3, KKT: -1}, Progress: func(at Progress) { provisional = provisional || at.Provisional }})
		if provisional != want {
			t.Errorf("from %s a low rank takes the place of A: %v", start.Name(), provisional)
		}
	}
}

// TestTSVDStartEnough: turns end when the negative part is as small as roots.enough asks, so that limits of 0
// and 1 give different starts.
func TestTSVDStartEnough(t *testing.T) {
	starts := make([]*matrix.Dense, 2)
	for k := range starts {
		p := mustProblem(t, lowRank(t, 100, 7), 4)
		top, err := p.roots()
		if err != nil {
			t.Fatal(err)
		}
		top.enough = float64(k)
		starts[k] = matrix.NewDense(p.n, p.r, nil)
		if err := (TSVDStart{}).fill(p, starts[k], 0); err != nil {
			t.Fatal(err)
		}
	}
	if slices.Equal(starts[0].Data(), starts[1].Data()) {
		t.Error("the start is the same whether nothing or all of B may be negative")
	}
}

// TestTSVDStartFirst: a run from this start makes its first sweep by rows where a run from another start
// makes it by columns.
func TestTSVDStartFirst(t *testing.T) {
	graph, _ := instance.PlantedGraph(300, 5, 0.02, 0.01, 1)
	p := mustProblem(t, mustCSR(t, graph), 3)
	h := matrix.NewDense(p.n, p.r, nil)
	if err := (TSVDStart{}).fill(p, h, 0); err != nil {
		t.Fatal(err)
	}
	for _, p.turned = range []bool{false, true} {
		e := RowBlock{}.start(p, h.Clone(), 0).(*rowBlockRun)
		if e.release(); e.columnsFirst == p.turned {
			t.Errorf("turned: %v, first sweep by columns: %v, want the opposite", p.turned, e.columnsFirst)
		}
	}
	after := func(first FirstSweep) []float64 {
		return factorize(t, mustCSR(t, graph), 3, Options{Solver: RowBlock{First: first}, Start: TSVDStart{}, Stop: Stop{Sweeps: 1}}).H.Data()
	}
	if auto := after(FirstAuto); !slices.Equal(auto, after(FirstRows)) || slices.Equal(auto, after(FirstColumns)) {
		t.Error("the first sweep of a whole run is not by rows")
	}
}

// TestTSVDStartSeeds: for dense data, another seed gives another Q to begin with, and so another start,
// although the eigenvectors of a matrix of exactly low rank are the same.
func TestTSVDStartSeeds(t *testing.T) {
	var last []float64
	for seed := range uint64(2) {
		p := mustProblem(t, lowRank(t, 300, 3), 3)
		p.seed = seed
		h := matrix.NewDense(p.n, p.r, nil)
		if err := (TSVDStart{}).fill(p, h, 0); err != nil {
			t.Fatal(err)
		}
		if d := apart(last, h.Data()[:len(last)]); last != nil && !(d >= 0.01*slices.Max(last)) {
			t.Errorf("another seed changes entries of H by at most %v, the largest is %v", d, slices.Max(last))
		}
		last = h.Data()
	}
}

// TestTSVDStartLowRank: where A has rank r, turns go on until hardly anything is negative, or that hardly falls any
// more, but not much further. Then the start is near to an exact answer.
func TestTSVDStartLowRank(t *testing.T) {
	for _, c := range []struct {
		n, r        int
		least, most int     // turns
		error       float64 // of the start, at most
	}{{500, 60, 45, 80, 1e-4}, {500, 30, 100, 320, 5e-4}} {
		a := lowRank(t, c.n, c.r)
		p := mustProblem(t, a, c.r)
		top, err := p.roots()
		if err != nil {
			t.Fatal(err)
		}
		_, turns := p.findTurn(top, 0)
		got := factorize(t, a, c.r, Options{Solver: RowBlock{}, Start: TSVDStart{}, Stop: Stop{Sweeps: 1}}).First.RelErr
		if turns < c.least || turns > c.most || !(got <= c.error) {
			t.Errorf("%+v: %d turns, the start has a relative error of %v", c, turns, got)
		}
	}
}

// TestTSVDStartGoesOn: whatever its KKT residual, a run from TSVDStart goes on while by one of the last two
// sweeps its error falls by more than a hundredth of itself, down to an error of 1e-5, or by more than 1e-5
// of ‖A‖. Both limits are larger with a tolerance above 1e-4, by the same factor. The run has not converged
// if a sweep limit comes before that is over, and has once it is over and the residual is small enough. A run
// from another start ends by the residual alone, and notes it if the error still falls.
func TestTSVDStartGoesOn(t *testing.T) {
	for _, c := range []struct {
		features, r int
		half        bool // half of the features of an item, about, are zeros
		l1, tol     float64
		part, much  bool // whether at some sweep it goes on for that reason alone: a part of the error, or of ‖A‖
		tells       bool // whether a run from Random notes that its error still falls
	}{
		{20, 20, false, 0, 1e-4, true, false, true},
		{30, 30, false, 0, 1e-3, true, false, true},
		{40, 15, false, 0, 1e-4, false, true, false},
		{40, 15, false, 0, 1e-3, false, true, false},
		{40, 2, false, 0, 1e-4, false, false, false},
		{40, 15, false, 10, 1e-4, false, true, false},
		{10, 12, true, 0, 1e-4, true, false, true},
	} {
		x := instance.Start(300, c.features, 1)
		if c.half {
			for k, v := range x.Data() {
				x.Data()[k] = max(0, v-0.5)
			}
		}
		a, err := matrix.Gram(x, matrix.Rows, 1)
		if err != nil {
			t.Fatal(err)
		}
		opt := Options{Solver: RowBlock{}, Start: TSVDStart{}, L1: []float64{c.l1}, Stop: Stop{KKT: c.tol}}
		got := factorize(t, a, c.r, opt)
		root := func(res *Result) float64 { return 2 * math.Sqrt(res.Objective) / res.NormA } // the relative error if there is no ℓ₁ weight
		loose := max(1, c.tol/1e-4)
		var part, much, tells bool
		before, rate := got.First.RelErr, 0.0
		if c.l1 > 0 {
			before = 1 // the error at the start is less, since that is better than H = 0 by more than a hundredth
		}
		for sweep := 1; sweep <= got.Sweeps; sweep++ {
			opt.Stop = Stop{Sweeps: sweep, KKT: c.tol}
			now := factorize(t, a, c.r, opt)
			last := rate
			rate = 1 - root(now)/before
			before = root(now)
			most := max(last, rate)
			byPart, byMuch := most > loose*0.01 && root(now) > 1e-5, most*root(now) > loose*1e-5
			rests := !byPart && !byMuch && now.KKT <= c.tol
			if rests != (sweep == got.Sweeps) || rests != (now.Status == Converged) || now.Sweeps != sweep {
				t.Errorf("%+v, sweep %d of %d: %v at a KKT residual of %v, while the error %v falls by %v of itself", c, sweep, got.Sweeps, now.Status, now.KKT, root(now), most)
			}
			tells = most > 0.01 && root(now) > 1e-5
			part, much = part || byPart && !byMuch && now.KKT <= c.tol, much || byMuch && !byPart && now.KKT <= c.tol
		}
		if got.Status != Converged || (got.falls != "") != tells || part != c.part || much != c.much {
			t.Errorf("%+v: %v after %d sweeps, note %q; went on for part alone: %v, for much alone: %v", c, got.Status, got.Sweeps, got.falls, part, much)
		}
		opt.Start, opt.Stop = Random{}, Stop{KKT: c.tol}
		if other := factorize(t, a, c.r, opt); other.Status != Converged || (other.falls != "") != c.tells {
			t.Errorf("%+v, at random: %v after %d sweeps, note %q", c, other.Status, other.Sweeps, other.falls)
		}
	}
}

// TestTSVDStartWithoutDiagonal: with the diagonal ignored and fewer than r positive eigenvalues, the start is
// Random. From columns that are alike, items that are alike would not part.
func TestTSVDStartWithoutDiagonal(t *testing.T) {
	both := matrix.NewDense(50, 50, nil) // a complete bipartite graph, and other nodes
	for i := range 10 {
		for j := range 10 {
			both.Set(i, 10+j, 1)
			both.Set(10+j, i, 1)
		}
	}
	a := mustCSR(t, both.CSR())
	drawn := factorize(t, a, 4, Options{IgnoreDiagonal: true, Start: Random{}})
	got := factorize(t, a, 4, Options{IgnoreDiagonal: true})
	const note = "without the diagonal fewer eigenvalues are positive (1) than H has columns, so the run began at random"
	if !slices.Contains(got.Notes, note) {
		t.Errorf("notes %q", got.Notes)
	}
	if got.Start != "tsvd" || got.First.RelErr != drawn.First.RelErr || !(got.Objective < 17) {
		t.Errorf("from %s: the relative error begins at %v, at random at %v; F ends at %v, at random at %v", got.Start, got.First.RelErr, drawn.First.RelErr, got.Objective, drawn.Objective)
	}
	// Of dense data, too, if they are not near a low rank: where all have something in common only with a few, the best
	// H gives some of these a column each.
	for _, c := range []struct{ n, few, r int }{{12, 2, 2}, {12, 2, 4}, {8, 5, 3}} {
		star := matrix.NewDense(c.n, c.n, nil)
		for l := range c.n {
			for i := range min(l, c.few) {
				star.Set(i, l, 1)
				star.Set(l, i, 1)
			}
		}
		if got := factorize(t, mustDense(t, star), c.r, Options{IgnoreDiagonal: true}); !(got.RelErr < 0.02) || !slices.Contains(got.Notes, note) {
			t.Errorf("%+v: an error of %v is left; notes %q", c, got.RelErr, got.Notes)
		}
	}
	if got := factorize(t, a, 1, Options{IgnoreDiagonal: true}); got.First.RelErr == factorize(t, a, 1, Options{IgnoreDiagonal: true, Start: Random{}}).First.RelErr {
		t.Error("the start is random with as many columns as positive eigenvalues, too")
	}
}

// BenchmarkTSVDStart measures how long the start of a run takes with one thread and with two: eigenvectors,
// turns, the best multiple and the figures of the start.
func BenchmarkTSVDStart(b *testing.B) {
	must := func(a matrix.Operator, err error) matrix.Operator {
		if err != nil {
			b.Fatal(err)
		}
		return a
	}
	sparse := func(name string) matrix.Operator {
		t, err := matio.Open("../shared/data/"+name+"/A.mtx.gz", matio.Options{})
		if err != nil {
			b.Skipf("%s: %v", name, err)
		}
		a, err := matrix.FromCSR(t.Sparse, 0)
		return must(a, err)
	}
	points := func(name string) matrix.Operator {
		a, err := matrix.Gram(sharedX(b, name), matrix.Columns, 2)
		return must(a, err)
	}
	dense := func(a *matrix.Dense) matrix.Operator { op, err := matrix.FromDense(a, 0); return must(op, err) }
	for _, c := range []struct {
		name string
		r    int
		a    func() matrix.Operator
	}{
		{"low rank", 30, func() matrix.Operator { a, _ := instance.LowRank(500, 30, 1); return dense(a) }},
		{"low rank", 60, func() matrix.Operator { a, _ := instance.LowRank(500, 60, 1); return dense(a) }},
		{"full rank", 60, func() matrix.Operator { return dense(instance.FullRank(500, 1)) }},
		{"CBCL", 60, func() matrix.Operator { return points("cbcl") }},
		{"ORL", 60, func() matrix.Operator { return points("orl") }},
		{"hitech", 30, func() matrix.Operator { return points("hitech") }},
		{"reviews", 30, func() matrix.Operator { return points("reviews") }},
		{"la1", 30, func() matrix.Operator { return points("la1") }},
		{"classic", 30, func() matrix.Operator { return points("classic") }},
		{"blogcatalog", 16, func() matrix.Operator { return sparse("blogcatalog") }},
		{"ca-AstroPh", 16, func() matrix.Operator { return sparse("ca-AstroPh") }},
		{"soc-Slashdot0902", 16, func() matrix.Operator { return sparse("soc-Slashdot0902") }},
	} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s, r=%d, %d", c.name, c.r, threads), func(b *testing.B) {
				a := c.a()
				for b.Loop() {
					p, err := newProblem(a, c.r, &Options{Threads: threads})
					if err != nil {
						b.Fatal(err)
					}
					h := matrix.NewDense(p.n, c.r, kernel.Numbers(p.n*c.r))
					if err := (TSVDStart{}).fill(p, h, 0); err != nil {
						b.Fatal(err)
					}
					p.measureStart(h)
				}
			})
		}
	}
}
