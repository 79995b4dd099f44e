package matrix

import (
	"errors"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"symnmf/internal/kernel"
)

// naive is a matrix as rows of rows, for references written from definitions.
type naive [][]float64

// zeros returns a matrix of zeros.
func zeros(rows, cols int) naive {
	m := make(naive, rows)
	for i := range m {
		m[i] = make([]float64, cols)
	}
	return m
}

// times returns m·o.
func (m naive) times(o naive) naive {
	out := zeros(len(m), len(o[0]))
	for i := range m {
		for k, v := range m[i] {
			for j, w := range o[k] {
				out[i][j] += v * w
			}
		}
	}
	return out
}

// transpose returns mᵀ.
func (m naive) transpose() naive {
	out := zeros(len(m[0]), len(m))
	for i := range m {
		for j, v := range m[i] {
			out[j][i] = v
		}
	}
	return out
}

// dense returns m as a Dense.
func (m naive) dense() *Dense {
	d := NewDense(len(m), len(m[0]), nil)
	for i := range m {
		copy(d.Row(i), m[i])
	}
	return d
}

// csr returns the nonzeros of m as a CSR.
func (m naive) csr(t testing.TB) *CSR {
	t.Helper()
	ptr, col, val := []int64{0}, []int32(nil), []float64{}
	for i := range m {
		for j, v := range m[i] {
			if v != 0 {
				col, val = append(col, int32(j)), append(val, v)
			}
		}
		ptr = append(ptr, int64(len(col)))
	}
	c, err := NewCSR(len(m), len(m[0]), ptr, col, val)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// pattern returns m with every nonzero made 1.
func (m naive) pattern() naive {
	out := zeros(len(m), len(m[0]))
	for i := range m {
		for j, v := range m[i] {
			if v != 0 {
				out[i][j] = 1
			}
		}
	}
	return out
}

// rounded returns m with entries rounded to single precision.
func (m naive) rounded() naive {
	out := zeros(len(m), len(m))
	for i := range m {
		for j, v := range m[i] {
			out[i][j] = float64(float32(v))
		}
	}
	return out
}

// spectral returns m·diag(λ)·mᵀ.
func (m naive) spectral(lambda []float64) naive {
	scaled := zeros(len(m), len(lambda))
	for i := range m {
		for k, l := range lambda {
			scaled[i][k] = m[i][k] * l
		}
	}
	return scaled.times(m.transpose())
}

// normalized returns (D+τI)^(−½)·m·(D+τI)^(−½), where 0^(−½) is 0.
func (m naive) normalized(tau float64) naive {
	s, out := make([]float64, len(m)), zeros(len(m), len(m))
	for i := range m {
		d := tau
		for _, v := range m[i] {
			d += v
		}
		if d != 0 {
			s[i] = 1 / math.Sqrt(d)
		}
	}
	for i := range m {
		for j, v := range m[i] {
			out[i][j] = v * s[i] * s[j]
		}
	}
	return out
}

// draw returns a matrix of uniform numbers in [0, 1), with about the given share of nonzeros.
func draw(rng *rand.Rand, rows, cols int, density float64) naive {
	m := zeros(rows, cols)
	for i := range m {
		for j := range m[i] {
			if rng.Float64() < density {
				m[i][j] = rng.Float64()
			}
		}
	}
	return m
}

// drawSymmetric returns a symmetric matrix of such numbers.
func drawSymmetric(rng *rand.Rand, n int, density float64) naive {
	m := draw(rng, n, n, density)
	for i := range m {
		for j := range i {
			m[i][j] = m[j][i]
		}
	}
	return m
}

// operatorCase is an operator and the matrix it stands for.
type operatorCase struct {
	name string
	a    Operator
	want naive // A
}

// operators returns every kind of operator over random matrices with zero rows, and normalized views of them, and all of
// these with a likely diagonal, each as it is, scaled, without the diagonal, and both.
func operators(t testing.TB) []operatorCase {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	var cases []operatorCase
	add := func(name string, a Operator, err error, want naive) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cases = append(cases, operatorCase{name, a, want})
	}
	sym := drawSymmetric(rng, 37, 0.3)
	for i := range sym {
		sym[5][i], sym[i][5] = 0, 0
	}
	d, err := FromDense(sym.dense(), 0)
	add("dense", d, err, sym)
	d32, err := FromDense32(sym.dense(), 0)
	add("dense in single precision", d32, err, sym.rounded())
	s, err := FromCSR(sym.csr(t), 0)
	add("sparse", s, err, sym)
	ones := sym.pattern()
	c := ones.csr(t)
	c.Val = nil
	s, err = FromCSR(c, 0)
	add("pattern", s, err, ones)
	for _, shape := range [][2]int{{23, 37}, {37, 11}, {9, 9}, {19, 400}} { // items × features
		x := draw(rng, shape[0], shape[1], 0.4)
		x[3] = make([]float64, shape[1])
		gram := x.times(x.transpose())
		g, err := Gram(x.dense(), Rows, 2)
		add("gram of dense rows", g, err, gram)
		g, err = Gram(x.transpose().dense(), Columns, 1)
		add("gram of dense columns", g, err, gram)
		g, err = Gram(x.csr(t), Rows, 2)
		add("gram of sparse rows", g, err, gram)
		g, err = Gram(x.transpose().csr(t), Columns, 3)
		add("gram of sparse columns", g, err, gram)
		xp := x.pattern()
		cp := xp.csr(t)
		cp.Val = nil
		g, err = Gram(cp, Rows, 2)
		add("gram of a pattern", g, err, xp.times(xp.transpose()))
	}
	for _, positive := range []int{2, 0, 5} { // of 5 columns
		u, lambda := draw(rng, 37, 5, 0.5), make([]float64, 5)
		u[3] = make([]float64, 5)
		for k := range lambda {
			lambda[k] = 0.5 + rng.Float64()
			if (3*k)%5 >= positive { // columns of one sign are not next to each other
				lambda[k] = -lambda[k]
			}
		}
		l, err := NewLowRank(u.dense(), lambda, 2)
		add("low rank", l, err, u.spectral(lambda))
	}
	taken := map[string]bool{}
	for _, c := range slices.Clone(cases) {
		if _, formed := c.a.(*SymDense); taken[c.name] || formed && c.name != "dense" {
			continue // one view of each kind
		}
		taken[c.name] = true
		tau := 0.0
		if c.name == "low rank" {
			tau = 40 // degrees may be as far below 0
		}
		a, err := Normalized(c.a, tau, 2)
		add("normalized "+c.name, a, err, c.want.normalized(tau))
	}
	for _, c := range slices.Clone(cases) {
		add(c.name+", completed", Completed(c.a.OffDiagonal(), 2), nil, c.want.completed(c.a))
	}
	for _, c := range slices.Clone(cases) {
		scaled, off := zeros(len(c.want), len(c.want)), zeros(len(c.want), len(c.want))
		both := zeros(len(c.want), len(c.want))
		for i := range c.want {
			for j, v := range c.want[i] {
				scaled[i][j] = v / 16
				if i != j {
					off[i][j], both[i][j] = v, v/16
				}
			}
		}
		add(c.name+", scaled", c.a.Scaled(1.0/16), nil, scaled)
		add(c.name+", no diagonal", c.a.OffDiagonal(), nil, off)
		add(c.name+", scaled, no diagonal", c.a.Scaled(1.0/16).OffDiagonal(), nil, both)
	}
	return cases
}

// near reports whether got differs from want by at most 1e-13·(|want| + scale).
func near(got, want, scale float64) bool { return math.Abs(got-want) <= 1e-13*(math.Abs(want)+scale) }

// TestOperators compares dimension, diagonal, norm, products, repeated products and listed rows of every kind
// of operator with the definition.
func TestOperators(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, c := range operators(t) {
		n := len(c.want)
		if c.a.Dim() != n {
			t.Fatalf("%s: Dim = %d, want %d", c.name, c.a.Dim(), n)
		}
		var normSq float64
		diag := make([]float64, n)
		c.a.DiagTo(diag)
		for i := range c.want {
			if !near(diag[i], c.want[i][i], 0) {
				t.Errorf("%s: A[%d,%d] = %v, want %v", c.name, i, i, diag[i], c.want[i][i])
			}
			for _, v := range c.want[i] {
				normSq += v * v
			}
		}
		// Without the diagonal, ‖A‖² of inner products is a difference of sums as large as the whole.
		if got := c.a.Norm(); !near(got*got, normSq, 10*normSq) {
			t.Errorf("%s: norm² %v, want %v", c.name, got*got, normSq)
		}
		for _, r := range []int{1, 3, 8} {
			h := draw(rng, n, r, 0.7)
			want := c.want.times(h)
			p := c.a.NewProduct(h.dense(), 2)
			for _, rows := range [][2]int{{0, n}, {2, 7}, {4, 4}} {
				dst := make([]float64, (rows[1]-rows[0])*r)
				for k := range dst {
					dst[k] = math.NaN()
				}
				p.RowsTo(dst, rows[0], rows[1])
				for k, v := range dst {
					if i, j := rows[0]+k/r, k%r; !near(v, want[i][j], 1) {
						t.Fatalf("%s, r = %d: (AH)[%d,%d] = %v, want %v", c.name, r, i, j, v, want[i][j])
					}
				}
			}
		}
		many := Repeated(c.a, 2)
		for _, r := range []int{3, 1, 8, 8} {
			h, dst := draw(rng, n, r, 0.7), NewDense(n, r, nil)
			for k := range dst.data {
				dst.data[k] = math.NaN()
			}
			many(dst, h.dense())
			for i, row := range c.want.times(h) {
				for j, v := range row {
					if !near(dst.At(i, j), v, 1) {
						t.Fatalf("%s, r = %d: (AH)[%d,%d] of a repeated product = %v, want %v", c.name, r, i, j, dst.At(i, j), v)
					}
				}
			}
		}
		if v, ok := c.a.(RowVisitor); ok {
			for i := range n {
				row, last := make([]float64, n), -1
				v.VisitRow(i, func(l int, x float64) {
					if l <= last {
						t.Fatalf("%s: row %d visits %d after %d", c.name, i, l, last)
					}
					row[l], last = x, l
				})
				for l, x := range row {
					if !near(x, c.want[i][l], 0) {
						t.Fatalf("%s: row %d has %v at %d, want %v", c.name, i, x, l, c.want[i][l])
					}
				}
			}
		}
	}
}

// TestCursor changes single entries of H in random order, sometimes the same one twice in a row, and compares
// entries of A·H in between with the definition.
func TestCursor(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, c := range operators(t) {
		n, r := len(c.want), 3
		h := draw(rng, n, r, 0.5)
		d := h.dense()
		cur := c.a.NewCursor(d, 2)
		check := func(when string, j, i int) {
			var want float64
			for l := range n {
				want += c.want[i][l] * d.At(l, j)
			}
			if got := cur.At(i); !near(got, want, float64(n)) {
				t.Fatalf("%s, %s: (AH)[%d,%d] = %v, want %v", c.name, when, i, j, got, want)
			}
		}
		for step := range 60 {
			j := rng.IntN(r)
			cur.Column(j)
			for range rng.IntN(7) {
				i := rng.IntN(n)
				for range 1 + rng.IntN(2) {
					delta := rng.Float64() - 0.5
					d.Set(i, j, d.At(i, j)+delta)
					cur.Add(i, delta)
					check("after a change there", j, i)
				}
				check("after a change", j, rng.IntN(n))
			}
			if step%20 == 19 {
				d.Set(rng.IntN(n), j, rng.Float64()) // without a call of Add
				cur.Refresh()
				cur.Column(j)
				for i := range n {
					check("after a refresh", j, i)
				}
			}
		}
	}
}

// TestForward checks the cursors that look forward: it visits each column once and its entries in order, asks
// for each entry of A·H before that entry of H may change, and changes some.
func TestForward(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	tried := 0
	for _, c := range operators(t) {
		n, r := len(c.want), 3
		d := draw(rng, n, r, 0.5).dense()
		cur, ok := c.a.NewCursor(d, 2).(Forwarder)
		if !ok {
			continue
		}
		tried++
		for sweep := range 3 {
			d.Set(rng.IntN(n), rng.IntN(r), rng.Float64()) // without a call of Add
			if cur.Forward(); sweep == 2 {
				cur.Refresh()
				cur.Column(0)
				before := cur.At(0)
				for l := range n { // again without a call of Add: the A·H kept stays
					d.Set(l, 0, d.At(l, 0)+1)
				}
				if cur.Column(0); cur.At(0) != before {
					t.Fatalf("%s: A·H is not kept after a refresh", c.name)
				}
				for l := range n {
					d.Set(l, 0, d.At(l, 0)-1)
				}
				cur.Refresh()
			}
			for _, j := range rng.Perm(r) {
				cur.Column(j)
				for i := range n {
					var want float64
					for l := range n {
						want += c.want[i][l] * d.At(l, j)
					}
					if got := cur.At(i); !near(got, want, float64(n)) {
						t.Fatalf("%s, sweep %d: (AH)[%d,%d] = %v, want %v", c.name, sweep, i, j, got, want)
					}
					if rng.IntN(3) > 0 {
						delta := rng.Float64() - 0.5
						d.Set(i, j, d.At(i, j)+delta)
						cur.Add(i, delta)
					}
				}
			}
		}
	}
	if tried < 50 {
		t.Errorf("%d cursors look forward, want at least 50", tried)
	}
}

// TestProductDoesNotDependOnWorkers: products and repeated products of every kind of operator have the same
// bits for any number of workers.
func TestProductDoesNotDependOnWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, c := range operators(t) {
		h := draw(rng, len(c.want), 5, 0.8).dense()
		want := make([]float64, len(c.want)*5)
		c.a.NewProduct(h, 1).RowsTo(want, 0, len(c.want))
		for _, workers := range []int{2, 3, 8} {
			got := make([]float64, len(want))
			c.a.NewProduct(h, workers).RowsTo(got, 0, len(c.want))
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d workers change the product", c.name, workers)
			}
			one, more := NewDense(len(c.want), 5, nil), NewDense(len(c.want), 5, nil)
			Repeated(c.a, 1)(one, h)
			Repeated(c.a, workers)(more, h)
			if !slices.Equal(one.data, more.data) {
				t.Errorf("%s: %d workers change the repeated product", c.name, workers)
			}
		}
	}
}

// TestGramNormDoesNotDependOnWorkers: ‖A‖ of inner products has the same bits for any number of workers.
func TestGramNormDoesNotDependOnWorkers(t *testing.T) {
	x := draw(rand.New(rand.NewPCG(5, 5)), 600, 40, 0.3)
	for _, table := range []Table{x.dense(), x.csr(t), x.transpose().dense(), x.transpose().csr(t)} {
		one, err := Gram(table, Rows, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, workers := range []int{2, 5} {
			many, err := Gram(table, Rows, workers)
			if err != nil {
				t.Fatal(err)
			}
			if one.Norm() != many.Norm() {
				t.Errorf("%v: norm %v with 1 worker, %v with %d workers", table, one.Norm(), many.Norm(), workers)
			}
		}
	}
}

// TestExtremeScales: norms and scaled operators are right for numbers whose squares overflow or underflow,
// and matrices out of range are refused.
func TestExtremeScales(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	base := drawSymmetric(rng, 6, 1)
	want, err := FromDense(base.dense(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []int{-600, -300, 300, 600} { // exponents of 2: up to 1e±180
		big := zeros(6, 6)
		for i := range base {
			for j, v := range base[i] {
				big[i][j] = math.Ldexp(v, e)
			}
		}
		for name, build := range map[string]func() (Operator, error){
			"dense":  func() (Operator, error) { return FromDense(big.dense(), 0) },
			"sparse": func() (Operator, error) { return FromCSR(big.csr(t), 0) },
		} {
			a, err := build()
			if err != nil {
				t.Fatalf("%s·2^%d: %v", name, e, err)
			}
			if got := math.Ldexp(a.Norm(), -e); !near(got, want.Norm(), 0) {
				t.Errorf("%s·2^%d: norm %v, want %v·2^%d", name, e, got, want.Norm(), e)
			}
			back := a.Scaled(math.Ldexp(1, -e))
			d := make([]float64, 6)
			back.DiagTo(d)
			for i, v := range d {
				if v != base[i][i] {
					t.Errorf("%s·2^%d scaled back: diagonal %v, want %v", name, e, v, base[i][i])
				}
			}
		}
	}
	for _, e := range []int{-900, 600} { // inner products beyond 1e±308
		for _, points := range []int{2, 3} { // of two features; A of the first is formed
			big := zeros(points, 2)
			big[0][0] = math.Ldexp(1, e)
			for name, x := range map[string]Table{"dense": big.dense(), "sparse": big.csr(t)} {
				if _, err := Gram(x, Rows, 1); !errors.Is(err, ErrRange) {
					t.Errorf("%d %s points of 2^%d: error %v, want %v", points, name, e, err, ErrRange)
				}
			}
		}
	}
	for _, e := range []int{-260, 260} { // the squares of inner products are beyond 1e±308, but not these
		big := zeros(3, 2)
		big[0][0], big[1][1] = math.Ldexp(3, e), math.Ldexp(2, e)
		for name, x := range map[string]Table{"dense": big.dense(), "sparse": big.csr(t)} {
			if a, err := Gram(x, Rows, 1); err != nil || !near(math.Ldexp(a.Norm(), -2*e), math.Sqrt(97), 0) {
				t.Errorf("%s points of 2^%d: norm %v, error %v, want √97·2^%d", name, e, a.Norm(), err, 2*e)
			}
		}
	}
	tiny := zeros(2, 2)
	tiny[0][0], tiny[1][1] = 1e-310, 1e-310
	if _, err := FromDense(tiny.dense(), 0); !errors.Is(err, ErrRange) {
		t.Errorf("dense of subnormal numbers: error %v, want %v", err, ErrRange)
	}
	huge := zeros(2, 2)
	huge[0][0], huge[1][1] = math.MaxFloat64, math.MaxFloat64
	if _, err := FromDense(huge.dense(), 0); !errors.Is(err, ErrRange) {
		t.Errorf("dense of the largest double: error %v, want %v", err, ErrRange)
	}
	if _, err := FromCSR(huge.csr(t), 0); !errors.Is(err, ErrRange) {
		t.Errorf("sparse of the largest double: error %v, want %v", err, ErrRange)
	}
	for v, want := range map[float64]error{0x1p1022: ErrRange, 0x1.fp1021: nil} { // ‖A‖ is twice that
		full := naive{{v, v}, {v, v}}
		if _, err := FromDense(full.dense(), 0); !errors.Is(err, want) {
			t.Errorf("dense of four %v: error %v, want %v", v, err, want)
		}
		if _, err := FromCSR(full.csr(t), 0); !errors.Is(err, want) {
			t.Errorf("sparse of four %v: error %v, want %v", v, err, want)
		}
	}
}

// TestNormWithoutDiagonal: a diagonal that dwarfs the rest leaves no trace in the norm of the rest.
func TestNormWithoutDiagonal(t *testing.T) {
	m := naive{{1e9, 3, 0}, {3, 1e9, 4}, {0, 4, 1e9}}
	for name, build := range map[string]func() (Operator, error){
		"dense":  func() (Operator, error) { return FromDense(m.dense(), 0) },
		"sparse": func() (Operator, error) { return FromCSR(m.csr(t), 0) },
	} {
		a, err := build()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := a.OffDiagonal().Norm(), math.Sqrt(50); !(math.Abs(got-want) <= 1e-14*want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestProductWithoutDiagonal: nor does a diagonal that dwarfs the rest leave a trace in products without it,
// whether rows are computed together or one by one, or in block products.
func TestProductWithoutDiagonal(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 12))
	n, r := 70, 5
	m := drawSymmetric(rng, n, 1)
	h := draw(rng, n, r, 1)
	want := zeros(n, r)
	for i := range m {
		for l, v := range m[i] {
			for j := range r {
				if l != i {
					want[i][j] += v * h[l][j]
				}
			}
		}
		m[i][i] = 1e12
	}
	d, err := FromDense(m.dense(), 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := FromCSR(m.csr(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	team := kernel.NewTeam(2)
	defer team.Close()
	for name, a := range map[string]Operator{"dense": d, "sparse": s} {
		a = a.OffDiagonal()
		p := a.NewProduct(h.dense(), 1)
		all, row := make([]float64, n*r), make([]float64, r)
		p.RowsTo(all, 0, n)
		for i := range n {
			p.RowsTo(row, i, i+1)
			for j, v := range row {
				if !near(v, want[i][j], 1) {
					t.Fatalf("%s: (AH)[%d,%d] = %v, want %v", name, i, j, v, want[i][j])
				}
				if v != all[i*r+j] {
					t.Fatalf("%s: (AH)[%d,%d] = %v in one row, %v in all", name, i, j, v, all[i*r+j])
				}
			}
		}
		const size = 40
		b := a.(BlockMultiplier).NewBlockProduct(h.dense(), size, team).(LowerProduct)
		for first := 0; first < n; first += size {
			end := min(first+size, n)
			rows, lower := all[:(end-first)*r], make([]float64, (end-first)*r)
			var inner float64
			for i := first; i < end; i++ {
				for l := first; l < end; l++ {
					for j := range r {
						if l != i {
							inner += m[i][l] * h[i][j] * h[l][j]
						}
					}
				}
			}
			if got := b.Step(first/size, h[first:end].dense().data); !near(got, inner, 1) {
				t.Errorf("%s: ⟨A_BB·H_B,H_B⟩ = %v for rows %d to %d, want %v", name, got, first, end, inner)
			}
			for call, f := range map[string]func(){
				"RowsTo":  func() { b.RowsTo(rows, first, end) },
				"LowerTo": func() { b.LowerTo(rows, lower, first, first, end) },
			} {
				f()
				for k, v := range rows {
					if i, j := first+k/r, k%r; !near(v, want[i][j], 1) {
						t.Fatalf("%s, %s: (AH)[%d,%d] = %v, want %v", name, call, i, j, v, want[i][j])
					}
				}
			}
		}
	}
}

// TestSpans: products that go by spans of columns agree with the definition. They have the same bits in
// whatever groups rows are computed, and give the part left of a block separately. Blocks that leave out a
// diagonal go another way, all of them.
func TestSpans(t *testing.T) {
	const n, r, size = 1100, 64, 96
	rng := rand.New(rand.NewPCG(18, 18))
	m := drawSymmetric(rng, n, 0.2)
	csr := m.csr(t)
	op, err := FromCSR(csr, 0)
	if err != nil {
		t.Fatal(err)
	}
	thin := *csr
	thin.rows = 2 * csr.rows // the same entries, now a tenth of the matrix
	if c := csr.spanColumns(r); c != 64 || csr.spanColumns(59) != 0 || csr.spanColumns(60) != 68 || thin.spanColumns(r) != 0 {
		t.Fatalf("spans of %d columns; %d with too few columns of H, %d with just enough, %d where A is sparser", c, csr.spanColumns(59), csr.spanColumns(60), thin.spanColumns(r))
	}
	ones := m.pattern().csr(t)
	ones.Val = nil
	pattern, err := FromCSR(ones, 0)
	if err != nil {
		t.Fatal(err)
	}
	half, apart, few := zeros(n, n), zeros(n, n), zeros(n, n)
	for i := range m {
		for l, v := range m[i] {
			half[i][l] = v / 2
			if l != i {
				apart[i][l], few[i][l] = v, v
			}
		}
		if i%64 == 0 {
			few[i][i] = 1e6
		}
	}
	seldom, err := FromCSR(few.csr(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	h := draw(rng, n, r, 0.7)
	hd := h.dense()
	team := kernel.NewTeam(1)
	defer team.Close()
	for _, c := range []struct {
		name string
		a    Operator
		want naive
	}{
		{"A/2", op.Scaled(0.5), half}, {"pattern", pattern, m.pattern()},
		{"no diagonal", op.OffDiagonal(), apart}, {"no diagonal, of which there was little", seldom.OffDiagonal(), apart},
	} {
		want := c.want.times(h)
		all := make([]float64, n*r)
		c.a.NewProduct(hd, 1).RowsTo(all, 0, n)
		if _, whole := c.a.(*SymCSR); whole && !c.a.(*SymCSR).offDiag {
			for _, rows := range [][2]int{{0, 1}, {5, 38}, {63, 129}, {300, n}} {
				some := make([]float64, (rows[1]-rows[0])*r)
				if c.a.NewProduct(hd, 1).RowsTo(some, rows[0], rows[1]); !slices.Equal(some, all[rows[0]*r:rows[1]*r]) {
					t.Errorf("%s: rows %d to %d differ from those of all", c.name, rows[0], rows[1])
				}
			}
		}
		b := c.a.(BlockMultiplier).NewBlockProduct(hd, size, team).(LowerProduct)
		for first := 0; first < n; first += size {
			end := min(first+size, n)
			before := zeros(n, r)
			for i := first; i < end; i++ {
				for l := range first {
					for j := range r {
						before[i][j] += c.want[i][l] * h[l][j]
					}
				}
			}
			dst, lower := make([]float64, (end-first)*r), make([]float64, (end-first)*r)
			b.LowerTo(dst, lower, first, first, end)
			unit, _ := b.PartRows()
			for from := first; from < end; from += unit {
				to := min(from+unit, end)
				some, low := make([]float64, (to-from)*r), make([]float64, (to-from)*r)
				b.LowerTo(some, low, first, from, to)
				if lo, hi := (from-first)*r, (to-first)*r; !slices.Equal(some, dst[lo:hi]) || !slices.Equal(low, lower[lo:hi]) {
					t.Fatalf("%s: rows %d to %d differ from those of all", c.name, from, to)
				}
			}
			for k, v := range dst {
				i, j := first+k/r, k%r
				if !near(v, want[i][j], n) || !near(all[i*r+j], want[i][j], n) || !near(lower[k], before[i][j], n) {
					t.Fatalf("%s: (AH)[%d,%d] = %v and %v, want %v; left of the block %v, want %v", c.name, i, j, v, all[i*r+j], want[i][j], lower[k], before[i][j])
				}
			}
		}
	}
	p, q := csr.RowPtr[7], csr.RowPtr[8]-1
	csr.Col[p], csr.Col[q] = csr.Col[q], csr.Col[p]
	b, rows := op.NewBlockProduct(hd, size, team).(LowerProduct), make([]float64, size*r)
	for name, call := range map[string]func(){
		"RowsTo":  func() { op.NewProduct(hd, 1).RowsTo(rows, 0, size) },
		"LowerTo": func() { b.LowerTo(rows, slices.Clone(rows), 0, 0, size) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: columns out of order are accepted", name)
				}
			}()
			call()
		}()
	}
}

// TestPointsWithoutDiagonal: products of points without the diagonal lose the digits by which A_ii exceeds
// the rest, which X·H has lost already, but no more.
func TestPointsWithoutDiagonal(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 16))
	const n, r, features, size = 60, 5, 100, 16
	x := draw(rng, n, features, 0.3)
	for i := range x {
		for c := range n {
			x[i][c] = 0
		}
		x[i][i], x[i][(i+1)%n] = 1e6, 1e-6
	}
	points, err := Gram(x.csr(t), Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	h := draw(rng, n, r, 1)
	want := zeros(n, r)
	for i := range n {
		for l := range n {
			for c := range features {
				for j := 0; j < r && l != i; j++ {
					want[i][j] += x[i][c] * x[l][c] * h[l][j]
				}
			}
		}
	}
	team := kernel.NewTeam(2)
	defer team.Close()
	a := points.OffDiagonal()
	b := a.(BlockMultiplier).NewBlockProduct(h.dense(), size, team)
	for name, p := range map[string]Product{"product": a.NewProduct(h.dense(), 1), "product by blocks": b} {
		got := make([]float64, n*r)
		p.RowsTo(got, 0, n)
		for k, v := range got {
			if d := math.Abs(v - want[k/r][k%r]); !(d <= 16*0x1p-53*1e12) {
				t.Fatalf("%s: (AH)[%d,%d] = %v, want %v, off by %.2g", name, k/r, k%r, v, want[k/r][k%r], d)
			}
		}
	}
	for lo := 0; lo < n; lo += size { // ⟨A_BB·d, d⟩ keeps these digits: it is summed without the diagonal
		hi := min(lo+size, n)
		var inner float64
		for i := lo; i < hi; i++ {
			for l := lo; l < hi; l++ {
				for c := range features {
					for j := 0; j < r && l != i; j++ {
						inner += x[i][c] * x[l][c] * h[i][j] * h[l][j]
					}
				}
			}
		}
		if got := b.Step(lo/size, h[lo:hi].dense().data); !near(got, inner, 1) {
			t.Errorf("⟨A_BB·H_B,H_B⟩ = %v for rows %d to %d, want %v", got, lo, hi, inner)
		}
	}
}

// TestFromDense32: entries are rounded to single precision relative to a scale, at any magnitude. The norm is
// that of the rounded entries, and A stays symmetric.
func TestFromDense32(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 13))
	m := drawSymmetric(rng, 40, 0.7)
	m[3][3], m[5][6], m[6][5] = 1e-30, -1e-50, -1e-50
	for _, e := range []int{-900, 0, 900} {
		d := NewDense(40, 40, nil)
		for i := range m {
			for j, v := range m[i] {
				d.Set(i, j, math.Ldexp(v, e))
			}
		}
		a, err := FromDense32(d, 0)
		if err != nil {
			t.Fatal(err)
		}
		clear(d.Data()) // FromDense32 keeps nothing of d
		var normSq float64
		for i := range m {
			a.VisitRow(i, func(l int, v float64) {
				v = math.Ldexp(v, -e)
				normSq += v * v
				if !(math.Abs(v-m[i][l]) <= 0x1p-24*math.Abs(m[i][l])+2e-45) {
					t.Fatalf("2^%d: A[%d,%d] = %v, want %v", e, i, l, v, m[i][l])
				}
			})
		}
		if got := math.Ldexp(a.Norm(), -e); !near(got, math.Sqrt(normSq), 0) {
			t.Errorf("2^%d: norm %v, that of the rounded entries is %v", e, got, math.Sqrt(normSq))
		}
		if c := a.Negatives(); c.Count != 2 || c.Row != 5 || c.Col != 6 {
			t.Errorf("2^%d: negatives %+v", e, c)
		}
	}
	// Two neighbors in double precision, of which single precision rounds one down and the other up.
	half := 1 + 0x1p-24
	a, err := FromDense32(NewDense(2, 2, []float64{1.5, half, math.Nextafter(half, 2), 1}), 0)
	if err != nil {
		t.Fatal(err)
	}
	if v := entries(a); v[0][1] != v[1][0] {
		t.Errorf("A[0,1] = %v, A[1,0] = %v", v[0][1], v[1][0])
	}
	for _, v := range []float64{1e-310, math.MaxFloat64} {
		if _, err := FromDense32(NewDense(2, 2, []float64{v, v, v, v}), 0); !errors.Is(err, ErrRange) {
			t.Errorf("%v: error %v, want %v", v, err, ErrRange)
		}
	}
}

// TestConstructorsRefuse: constructors refuse matrices that are not finite, not square or not symmetric, and
// Gram only those that are not finite.
func TestConstructorsRefuse(t *testing.T) {
	nan := naive{{1, 2}, {2, math.NaN()}}
	inf := naive{{1, math.Inf(1)}, {2, 1}}
	wide := zeros(2, 3)
	lopsided := naive{{1, 2}, {2.5, 1}}
	missing := naive{{1, 2}, {0, 1}}
	for _, c := range []struct {
		name string
		m    naive
		want error
	}{
		{"NaN", nan, ErrNotFinite},
		{"infinite", inf, ErrNotFinite},
		{"not square", wide, ErrNotSquare},
		{"asymmetric", lopsided, ErrAsymmetric},
		{"one triangle", missing, ErrAsymmetric},
	} {
		if _, err := FromDense(c.m.dense(), 0); !errors.Is(err, c.want) {
			t.Errorf("FromDense, %s: error %v, want %v", c.name, err, c.want)
		}
		if _, err := FromDense32(c.m.dense(), 0); !errors.Is(err, c.want) {
			t.Errorf("FromDense32, %s: error %v, want %v", c.name, err, c.want)
		}
		if _, err := FromCSR(c.m.csr(t), 0); !errors.Is(err, c.want) {
			t.Errorf("FromCSR, %s: error %v, want %v", c.name, err, c.want)
		}
		_, err := Gram(c.m.dense(), Rows, 1)
		if finite := c.want != ErrNotFinite; (err == nil) != finite {
			t.Errorf("Gram, %s: error %v", c.name, err)
		}
	}
	if _, err := FromDense(lopsided.dense(), 0.3); err != nil {
		t.Errorf("asymmetric within the tolerance: error %v", err)
	}
}

// TestFromSymmetric compares entries with those of gonum's matrix.
func TestFromSymmetric(t *testing.T) {
	s := mat.NewSymDense(3, []float64{1, 2, 3, 0, 4, 5, 0, 0, 6})
	a, err := FromSymmetric(s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		a.VisitRow(i, func(l int, v float64) {
			if v != s.At(i, l) {
				t.Errorf("A[%d,%d] = %v, want %v", i, l, v, s.At(i, l))
			}
		})
	}
}

// TestNewCSRRefuses: NewCSR refuses malformed pointers, columns and values.
func TestNewCSRRefuses(t *testing.T) {
	for _, c := range []struct {
		name       string
		rows, cols int
		ptr        []int64
		col        []int32
		val        []float64
	}{
		{"a pointer too few", 2, 2, []int64{0, 1}, []int32{0}, nil},
		{"a first pointer that is not 0", 1, 2, []int64{1, 1}, []int32{0}, nil},
		{"a last pointer that is not nnz", 1, 2, []int64{0, 2}, []int32{0}, nil},
		{"pointers that step back", 3, 2, []int64{0, 2, 1, 2}, []int32{0, 1}, nil},
		{"a pointer past the end", 2, 2, []int64{0, 9, 1}, []int32{0}, nil},
		{"a column too many", 1, 2, []int64{0, 1}, []int32{2}, nil},
		{"a negative column", 1, 2, []int64{0, 1}, []int32{-1}, nil},
		{"columns out of order", 1, 2, []int64{0, 2}, []int32{1, 0}, nil},
		{"a column twice", 1, 2, []int64{0, 2}, []int32{1, 1}, nil},
		{"too few values", 1, 2, []int64{0, 2}, []int32{0, 1}, []float64{1}},
		{"negative rows", -1, 2, []int64{0}, nil, nil},
		{"negative columns", 1, -1, []int64{0, 0}, nil, nil},
	} {
		if _, err := NewCSR(c.rows, c.cols, c.ptr, c.col, c.val); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: error %v, want %v", c.name, err, ErrMalformed)
		}
	}
}

// TestSurvey checks zero rows, extremes, and negative and non-finite entries, for dense and sparse tables.
func TestSurvey(t *testing.T) {
	m := naive{{0, 0, 0}, {1, -2, math.NaN()}, {0, -3, 4}}
	for name, table := range map[string]Table{"dense": m.dense(), "sparse": m.csr(t)} {
		s := table.Survey()
		if s.ZeroRows != 1 || s.Min != -3 || s.Max != 4 || s.MaxAbs() != 4 {
			t.Errorf("%s: %+v", name, s)
		}
		if want := (Cells{Count: 2, Row: 1, Col: 1, Value: -2, Least: -3}); s.Negative != want {
			t.Errorf("%s: negatives %+v, want %+v", name, s.Negative, want)
		}
		if c := s.NotFinite; c.Count != 1 || c.Row != 1 || c.Col != 2 || !math.IsNaN(c.Value) {
			t.Errorf("%s: not finite %+v", name, c)
		}
	}
	full := naive{{3, 5}, {7, 4}}
	for name, table := range map[string]Table{"dense": full.dense(), "sparse": full.csr(t)} {
		if s := table.Survey(); s.Min != 3 || s.Max != 7 {
			t.Errorf("%s: range %v to %v of a full matrix, want 3 to 7", name, s.Min, s.Max)
		}
	}
	for _, empty := range []Table{NewDense(0, 0, nil), naive{{math.NaN()}}.dense()} {
		if s := empty.Survey(); s.Min != 0 || s.Max != 0 {
			t.Errorf("range %v to %v without a finite entry, want 0 to 0", s.Min, s.Max)
		}
	}
}

// TestAsymmetry compares dense and sparse tables, symmetric or not, with the differences pair by pair.
func TestAsymmetry(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for trial := range 50 {
		n := 1 + rng.IntN(70)
		m := draw(rng, n, n, 0.2)
		if trial%2 == 0 {
			m = drawSymmetric(rng, n, 0.2)
			for range trial % 5 {
				m[rng.IntN(n)][rng.IntN(n)] = rng.Float64()
			}
		}
		var want Asymmetry
		for i := range n {
			for j := range i {
				want.add(i, j, math.Abs(m[i][j]-m[j][i]))
			}
		}
		for name, table := range map[string]Table{"dense": m.dense(), "sparse": m.csr(t)} {
			got := table.Asymmetry()
			if got.Diff != want.Diff || got.Pairs != want.Pairs {
				t.Fatalf("trial %d, %s: %+v, want %+v", trial, name, got, want)
			}
			if got.Diff > 0 && math.Abs(m[got.Row][got.Col]-m[got.Col][got.Row]) != got.Diff {
				t.Fatalf("trial %d, %s: entry [%d,%d] does not differ by %v", trial, name, got.Row, got.Col, got.Diff)
			}
		}
	}
}

// TestLopsided: the sum of the hashes over all rows is 0 for a symmetric matrix, and not 0 after any one
// change, however small or well hidden: of the last bit of a value, of a place, of an entry exchanged with
// another, and of a stored 0 without a mirror image.
func TestLopsided(t *testing.T) {
	const n = 60
	rng := rand.New(rand.NewPCG(20, 20))
	sum := func(m *CSR) uint64 {
		f, _ := m.surveySquare(1)
		return f.lopsided
	}
	for trial := range 40 {
		m := drawSymmetric(rng, n, 0.3)
		if trial%4 == 0 { // few values, and the diagonal
			for i := range n {
				for j := range i + 1 {
					m[i][j] = math.Ceil(2 * m[i][j])
					m[j][i] = m[i][j]
				}
			}
		}
		if sum(m.csr(t)) != 0 {
			t.Fatalf("trial %d: a symmetric matrix is lopsided", trial)
		}
		pattern := m.pattern()
		ones := pattern.csr(t)
		ones.Val = nil
		if sum(ones) != 0 {
			t.Fatalf("trial %d: a symmetric pattern is lopsided", trial)
		}
		entry := func() (i, j int) {
			for i == j || m[i][j] == 0 {
				i, j = rng.IntN(n), rng.IntN(n)
			}
			return i, j
		}
		for name, change := range map[string]func(c naive){
			"a last bit":             func(c naive) { i, j := entry(); c[i][j] = math.Nextafter(c[i][j], 9) },
			"twice the value":        func(c naive) { i, j := entry(); c[i][j] *= 2 },
			"its negative":           func(c naive) { i, j := entry(); c[i][j] *= -1 },
			"an entry that is gone":  func(c naive) { i, j := entry(); c[i][j] = 0 },
			"one that is not there":  func(c naive) { i, j := entry(); c[i][j], c[j][i] = 0, 0; c[i][j] = 1 },
			"one in another's place": func(c naive) { i, j := entry(); v := c[i][j]; c[i][j] = 0; c[i][(j+1)%n] += v + 3 },
			"two that are exchanged": func(c naive) {
				i, j := entry()
				k, l := entry()
				c[i][j], c[k][l] = c[k][l]+1, c[i][j]+2
			},
		} {
			c := slices.Clone(m)
			for i := range c {
				c[i] = slices.Clone(c[i])
			}
			change(c)
			s := c.csr(t)
			if sum(s) == 0 {
				t.Errorf("trial %d: %s: not lopsided", trial, name)
			}
			if s.Asymmetry().Pairs == 0 {
				t.Errorf("trial %d: %s: no pair differs", trial, name)
			}
		}
	}
	zero, err := NewCSR(2, 2, []int64{0, 1, 1}, []int32{1}, []float64{0})
	if err != nil {
		t.Fatal(err)
	}
	if a := zero.Asymmetry(); sum(zero) == 0 || a != (Asymmetry{}) {
		t.Errorf("an entry of 0: %+v", a)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1)} { // the difference of two of them is NaN
		c, err := NewCSR(2, 2, []int64{0, 1, 2}, []int32{1, 0}, []float64{v, v})
		if err != nil {
			t.Fatal(err)
		}
		if a := c.Asymmetry(); a.Pairs != 1 {
			t.Errorf("two entries of %v: %+v", v, a)
		}
	}
}

// TestRepairs compares Symmetrize and ReplaceNegatives with their definitions, for dense and sparse tables.
func TestRepairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	m := draw(rng, 20, 20, 0.3)
	least := math.SmallestNonzeroFloat64
	m[0][1], m[1][0] = least, least
	for how, merge := range map[Symmetrization]func(a, b float64) float64{
		Average: func(a, b float64) float64 { return a/2 + b/2 },
		Maximum: math.Max,
		Minimum: math.Min,
	} {
		d := m.dense()
		d.Symmetrize(how)
		c := m.csr(t).Symmetrize(how)
		for i := range m {
			for j := range m {
				want := merge(m[i][j], m[j][i])
				if i == j || m[i][j] == m[j][i] {
					want = m[i][j]
				}
				if d.At(i, j) != want || c.At(i, j) != want {
					t.Fatalf("way %d: [%d,%d] dense %v, sparse %v, want %v", how, i, j, d.At(i, j), c.At(i, j), want)
				}
			}
		}
	}
	for _, abs := range []bool{false, true} {
		signed := naive{{-least, 2}, {3, -4}}
		for name, table := range map[string]interface {
			Table
			At(i, j int) float64
		}{"dense": signed.dense(), "sparse": signed.csr(t)} {
			ReplaceNegatives(table, abs)
			want, first := 0.0, 0.0
			if abs {
				want, first = 4, least
			}
			if table.At(1, 1) != want || table.At(0, 0) != first || table.At(0, 1) != 2 {
				t.Errorf("%s, abs %v: %v, %v and %v", name, abs, table.At(1, 1), table.At(0, 0), table.At(0, 1))
			}
		}
	}
}

// TestTranspose compares transposes of dense and sparse tables and of a pattern with the definition, for any
// number of goroutines.
func TestTranspose(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	m := draw(rng, 41, 67, 0.2)
	d, c := m.dense().Transpose(), m.csr(t).Transpose()
	ones := m.pattern().csr(t)
	ones.Val = nil
	p := ones.Transpose()
	if err := func() error { _, err := NewCSR(67, 41, c.RowPtr, c.Col, c.Val); return err }(); err != nil {
		t.Fatal(err)
	}
	for i := range m {
		for j, v := range m[i] {
			if d.At(j, i) != v || c.At(j, i) != v || (p.At(j, i) == 1) != (v != 0) {
				t.Fatalf("[%d,%d]: dense %v, sparse %v, pattern %v, want %v", j, i, d.At(j, i), c.At(j, i), p.At(j, i), v)
			}
		}
	}
	for _, workers := range []int{1, 2, 3, 7} {
		by := m.csr(t).TransposeBy(workers)
		if !slices.Equal(by.RowPtr, c.RowPtr) || !slices.Equal(by.Col, c.Col) || !slices.Equal(by.Val, c.Val) {
			t.Errorf("%d goroutines find another transpose", workers)
		}
	}
}

// TestDense: a clone has storage of its own, gonum can read a Dense, and data of the wrong length is a panic.
func TestDense(t *testing.T) {
	m := NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})
	c := m.Clone()
	c.Set(1, 2, 9)
	if m.At(1, 2) != 6 || c.At(1, 2) != 9 {
		t.Errorf("a clone shares storage: %v, %v", m.At(1, 2), c.At(1, 2))
	}
	for _, v := range []float64{1, 2} {
		if s := NewDense(2, 2, []float64{0, v, 1, 0}).CSR(); (s.Val == nil) != (v == 1) || s.At(0, 1) != v {
			t.Errorf("sparse with an entry of %v: values %v, entry %v", v, s.Val, s.At(0, 1))
		}
	}
	var g mat.Matrix = m
	if r, c := g.T().Dims(); r != 3 || c != 2 || g.T().At(2, 1) != 6 {
		t.Errorf("gonum sees a transpose of %d×%d with %v", r, c, g.T().At(2, 1))
	}
	defer func() {
		if recover() == nil {
			t.Error("a slice of the wrong length is accepted")
		}
	}()
	NewDense(2, 2, make([]float64, 3))
}

// TestBlockProduct moves blocks of rows of H and single rows, extrapolates, and compares products, quadratic
// forms and inner products with the definition, for blocks of several parts and teams of any size.
func TestBlockProduct(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	for _, c := range operators(t) {
		if _, made := c.a.(*completed); made { // these have none
			continue
		}
		ranks, sizes := []int{5, 1, 16, 70}, []int{3, len(c.want), 1}
		if testing.Short() {
			ranks, sizes = append(ranks[:1:1], ranks[2:]...), sizes[:2]
		}
		if strings.Contains(c.name, ", ") { // views take the paths of what they are views of
			ranks, sizes = ranks[:2], []int{min(34, len(c.want))}
		}
		for _, r := range ranks {
			for _, size := range sizes {
				team := kernel.NewTeam(1 + rng.IntN(3))
				testBlockProduct(t, rng, c, r, size, team)
				team.Close()
			}
		}
	}
}

// TestFeatureParts: the parts of Z cover each feature once and begin with whole tiles. If there are terms,
// the parts of each term are next to each other.
func TestFeatureParts(t *testing.T) {
	for features := range 1500 {
		for _, terms := range []bool{false, true} {
			b := pointState{features: features}
			if terms {
				b.divideTerms()
			} else {
				b.divide()
			}
			seen, last := make([]bool, features), 0
			for _, p := range b.parts {
				if p.lo >= p.hi || p.hi-p.lo > featureBlock || p.lo%8 != 0 {
					t.Fatalf("%d features: parts %v", features, b.parts)
				}
				for c := p.lo; c < p.hi; c++ {
					if seen[c] || terms && termOf(int32(c)) < last {
						t.Fatalf("%d features: %d again, or of term %d after %d, in %v", features, c, termOf(int32(c)), last, b.parts)
					}
					seen[c] = true
					if terms {
						last = termOf(int32(c))
					}
				}
			}
			if slices.Contains(seen, false) || len(b.partOf) != len(b.parts) {
				t.Fatalf("%d features: some missing in %v, or %d sums", features, b.parts, len(b.partOf))
			}
		}
	}
}

// TestPointBlocks: a block of sparse points has each of its entries once. Its features are divided into
// parts, each of one term and with about as many entries as the others. In a part, features that fewer rows
// have come first.
func TestPointBlocks(t *testing.T) {
	const n = 70
	rng := rand.New(rand.NewPCG(17, 17))
	team := kernel.NewTeam(2)
	defer team.Close()
	for _, c := range []struct {
		features, size int
		density        float64
	}{{50, 32, 0}, {50, 32, 0.01}, {50, 32, 0.3}, {50, 32, 1}, {1, 32, 1}, {2, 1, 0.5}, {400, 8, 0.002}, {400, 32, 0.5}} {
		features, size, density := c.features, c.size, c.density
		x := draw(rng, n, features, density)
		for i := range x {
			x[i][features-1] = 0 // one that never occurs
		}
		for k, b := range splitBlocks(x.csr(t), 0.5, size, 2) {
			lo, hi := k*size, min((k+1)*size, n)
			got := zeros(hi-lo, features)
			for f, c := range b.feature {
				for p := b.from[f]; p < b.from[f+1]; p++ {
					got[b.row[p]][c] += b.val[p]
				}
			}
			stored := 0
			for i := lo; i < hi; i++ {
				for c, v := range x[i] {
					if got[i-lo][c] != 0.5*v {
						t.Fatalf("density %v, block %d: entry %d, %d is %v, want %v", density, k, i, c, got[i-lo][c], 0.5*v)
					}
					if v != 0 {
						stored++
					}
				}
			}
			if len(b.row) != stored || b.part[0] != 0 || int(b.part[len(b.part)-1]) != len(b.feature) {
				t.Fatalf("density %v, block %d: %d entries, want %d; parts %v of %d features", density, k, len(b.row), stored, b.part, len(b.feature))
			}
			for p, from := range b.part[:len(b.part)-1] {
				term := p / moveParts
				ends := [2]int32{b.part[term*moveParts], b.part[(term+1)*moveParts]}
				entries := func(lo, hi int32) int { return int(b.from[hi] - b.from[lo]) }
				if got, most := entries(from, b.part[p+1]), entries(ends[0], ends[1])/moveParts+size; got > most {
					t.Fatalf("density %v, block %d: part %d has %d entries of %d", density, k, p, got, entries(ends[0], ends[1]))
				}
				for f := from; f < b.part[p+1]; f++ {
					if c := b.feature[f]; termOf(c) != term {
						t.Fatalf("density %v, block %d: feature %d in part %d of term %d", density, k, c, p, term)
					}
					if f > from && b.from[f+1]-b.from[f] < b.from[f]-b.from[f-1] {
						t.Fatalf("density %v, block %d, part %d: rows of features %v", density, k, p, b.from[from:b.part[p+1]+1])
					}
				}
			}
		}
	}
}

// testJointProduct compares a step of all rows with the definition, takes it, and takes it back.
func testJointProduct(t *testing.T, rng *rand.Rand, c operatorCase, b JointProduct, h *Dense, when string) {
	t.Helper()
	n, r := h.Dims()
	d := draw(rng, n, r, 0.7).dense()
	own, along := b.StepAll(d, make([]float64, n*r))
	var wantOwn, wantAlong, size float64
	for i, row := range c.want.times(rowsOf(d)) {
		for j, v := range row {
			wantOwn += v * d.At(i, j)
			wantAlong += v * h.At(i, j)
			size += math.Abs(v * d.At(i, j))
			size += math.Abs(v * h.At(i, j))
		}
	}
	if tol := 1e-12 * (size + 1); !(math.Abs(own-wantOwn) <= tol) || !(math.Abs(along-wantAlong) <= tol) {
		t.Fatalf("%s, r = %d, %s: ⟨A·d, d⟩ = %v and ⟨A·d, H⟩ = %v, want %v and %v", c.name, r, when, own, along, wantOwn, wantAlong)
	}
	was := h.Clone()
	for _, to := range []float64{0.7, 0} {
		by := to
		if to == 0 {
			by = -0.7
		}
		for i := range n {
			for j, v := range d.Row(i) {
				h.Row(i)[j] = was.At(i, j) + to*v
			}
		}
		b.MoveAll(by)
		want := c.want.times(rowsOf(h))
		dst := make([]float64, n*r)
		b.RowsTo(dst, 0, n)
		for k, v := range dst {
			if i, j := k/r, k%r; !near(v, want[i][j], float64(n)) {
				t.Fatalf("%s, r = %d, %s, moved together by %v: (AH)[%d,%d] = %v, want %v", c.name, r, when, to, i, j, v, want[i][j])
			}
		}
	}
}

// testBlockProduct makes the comparisons of TestBlockProduct for one operator, r columns of H and blocks of
// size rows.
func testBlockProduct(t *testing.T, rng *rand.Rand, c operatorCase, r, size int, team *kernel.Team) {
	t.Helper()
	n := len(c.want)
	h := draw(rng, n, r, 0.7).dense()
	b := c.a.(BlockMultiplier).NewBlockProduct(h, size, team)
	last := h.Clone()
	check := func(when string) {
		t.Helper()
		want := c.want.times(rowsOf(h))
		if b, ok := b.(JointProduct); ok {
			testJointProduct(t, rng, c, b, h, when)
		}
		for _, rows := range [][2]int{{0, n}, {3, 4}} {
			dst := make([]float64, (rows[1]-rows[0])*r)
			for k := range dst {
				dst[k] = math.NaN()
			}
			b.RowsTo(dst, rows[0], rows[1])
			for k, v := range dst {
				if i, j := rows[0]+k/r, k%r; !near(v, want[i][j], float64(n)) {
					t.Fatalf("%s, r = %d, blocks of %d, %s: (AH)[%d,%d] = %v, want %v", c.name, r, size, when, i, j, v, want[i][j])
				}
			}
		}
		if b, ok := b.(TermProduct); ok {
			const lo = 3
			sum := zeros(n-lo, r)
			for term := range b.Terms() {
				dst := make([]float64, (n-lo)*r)
				for k := range dst {
					dst[k] = math.NaN()
				}
				b.TermTo(dst, term, lo, n)
				for k, v := range dst {
					sum[k/r][k%r] += v
				}
			}
			for i := range sum {
				for j, v := range sum[i] {
					if !near(v, want[lo+i][j], float64(n)) {
						t.Fatalf("%s, r = %d, blocks of %d, %s: terms of (AH)[%d,%d] add up to %v, want %v", c.name, r, size, when, lo+i, j, v, want[lo+i][j])
					}
				}
			}
		}
		if b, ok := b.(LowerProduct); ok {
			for first := 0; first < n; first += size {
				end := min(first+size, n)
				for _, rows := range [][2]int{{first, end}, {(first + end) / 2, (first+end)/2 + 1}} {
					dst, lower := make([]float64, (rows[1]-rows[0])*r), make([]float64, (rows[1]-rows[0])*r)
					for k := range dst {
						dst[k], lower[k] = math.NaN(), math.NaN()
					}
					b.LowerTo(dst, lower, first, rows[0], rows[1])
					if b, ok := b.(NearProduct); ok {
						own := make([]float64, len(dst))
						for k := range dst {
							dst[k], lower[k], own[k] = math.NaN(), math.NaN(), math.NaN()
						}
						b.NearTo(dst, lower, own, first, rows[0], rows[1])
						for k, v := range own {
							i, j := rows[0]+k/r, k%r
							var want float64
							for l := first; l < end; l++ {
								want += c.want[i][l] * h.At(l, j)
							}
							if !near(v, want, float64(n)) {
								t.Fatalf("%s, r = %d, blocks of %d, %s: rows of the block add %v to (AH)[%d,%d], want %v", c.name, r, size, when, v, i, j, want)
							}
						}
					}
					for k, v := range dst {
						i, j := rows[0]+k/r, k%r
						var before float64
						for l := range first {
							before += c.want[i][l] * h.At(l, j)
						}
						if !near(v, want[i][j], float64(n)) || !near(lower[k], before, float64(n)) {
							t.Fatalf("%s, r = %d, blocks of %d, %s: (AH)[%d,%d] = %v, want %v; of the rows before %d %v, want %v", c.name, r, size, when, i, j, v, want[i][j], first, lower[k], before)
						}
					}
				}
			}
		}
		if v, ok := b.Inner(); ok {
			var inner float64
			for i := range n {
				for j := range r {
					inner += want[i][j] * h.At(i, j)
				}
			}
			if !near(v, inner, float64(n*r)) {
				t.Fatalf("%s, r = %d, %s: ⟨AH,H⟩ = %v, want %v", c.name, r, when, v, inner)
			}
		}
	}
	check("at first")
	for k := range 12 {
		block := rng.IntN((n + size - 1) / size)
		lo, hi := block*size, min((block+1)*size, n)
		d := draw(rng, hi-lo, r, 0.8)
		var want float64
		for i := lo; i < hi; i++ {
			for l := lo; l < hi; l++ {
				for j := range r {
					want += c.want[i][l] * d[i-lo][j] * d[l-lo][j]
				}
			}
		}
		if got := b.Step(block, d.dense().Data()); !near(got, want, float64(n)) {
			t.Fatalf("%s, r = %d: ⟨A_BB·d,d⟩ = %v for rows %d to %d, want %v", c.name, r, got, lo, hi, want)
		}
		step := []float64{0.7, 1.5}[k%2]
		e := NewDense(hi-lo, r, nil)
		for i := lo; i < hi; i++ {
			for j := range r {
				e.Set(i-lo, j, step*d[i-lo][j])
			}
		}
		told := step
		if k%3 == 2 { // another direction than that of the step
			e.Set(0, 0, e.At(0, 0)+0.3)
			told = 0
		}
		for i := lo; i < hi; i++ {
			kernel.Axpy(h.Row(i), 1, e.Row(i-lo))
		}
		b.Move(block, told, e.Data())
		check("after a move")
		i, row := rng.IntN(n), draw(rng, 1, r, 0.5)[0]
		kernel.Axpy(h.Row(i), 1, row)
		b.AddRow(i, row)
		check("after a change of a row")
		if k%4 > 0 {
			beta := 0.0
			if k > 4 {
				beta = 0.3
			} else {
				copy(last.Data(), h.Data())
			}
			for p, v := range h.Data() {
				last.Data()[p] = v + beta*(v-last.Data()[p])
			}
			h, last = last, h
			b.Extrapolate(beta, h)
			check("after an extrapolation")
		}
	}
	for k := range h.Data() {
		h.Data()[k] = rng.Float64()
	}
	b.Refresh()
	check("after a refresh")
}

// TestKeptBlocks: what a block product keeps for the next one on the same operator is used again for blocks
// of the same size, and for no others.
func TestKeptBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 15))
	x := draw(rng, 50, 30, 0.4)
	team := kernel.NewTeam(2)
	defer team.Close()
	for name, table := range map[string]Table{"dense": x.dense(), "sparse": x.csr(t)} {
		a, err := Gram(table, Rows, 1)
		if err != nil {
			t.Fatal(err)
		}
		c := operatorCase{name + " points", a.Scaled(1), x.times(x.transpose())}
		kept := map[int]any{}
		for _, size := range []int{16, 7, 16, 30, 30} {
			testBlockProduct(t, rng, c, 3, size, team)
			var first any // address of what is kept
			switch b := c.a.(BlockMultiplier).NewBlockProduct(NewDense(50, 2, nil), size, team).(type) {
			case *densePoints:
				first = &b.own[0]
			case *sparsePoints:
				first = &b.blocks[0]
			}
			if again := kept[size] == first; again != (size == 30 && kept[size] != nil) {
				t.Errorf("%s, blocks of %d after others: used again %v", name, size, again)
			}
			kept[size] = first
		}
	}
}

// rowsOf returns d as rows of rows.
func rowsOf(d *Dense) naive {
	rows, cols := d.Dims()
	m := zeros(rows, cols)
	for i := range m {
		copy(m[i], d.Row(i))
	}
	return m
}

// TestStepShared: ⟨A_BB·d, d⟩ of a sparse A has the same bits for any number of members, with and without the
// diagonal and scaled, for blocks with enough entries to share.
func TestStepShared(t *testing.T) {
	const n, r, size = 200, 8, 128
	rng := rand.New(rand.NewPCG(16, 16))
	a := drawSymmetric(rng, n, 0.8)
	op, err := FromCSR(a.csr(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	d := draw(rng, size, r, 1)
	for k, c := range []Operator{op, op.OffDiagonal(), op.OffDiagonal().Scaled(0.3)} {
		for block := range 2 {
			lo, hi := block*size, min((block+1)*size, n)
			var want, first float64
			for i := lo; i < hi; i++ {
				for l := lo; l < hi; l++ {
					if i == l && k > 0 {
						continue
					}
					for j := range r {
						want += a[i][l] * d[i-lo][j] * d[l-lo][j]
					}
				}
			}
			if k == 2 {
				want *= 0.3
			}
			for _, members := range []int{1, 2, 3, 8} {
				team := kernel.NewTeam(members)
				defer team.Close()
				b := c.(BlockMultiplier).NewBlockProduct(NewDense(n, r, nil), size, team).(*csrBlocks)
				if b.work[block]*r < aloneBelow {
					t.Fatalf("block %d has %d entries, too few to share", block, b.work[block])
				}
				got := b.Step(block, d.dense().Data()[:(hi-lo)*r])
				if members == 1 {
					first = got
				}
				if !near(got, want, want) || got != first {
					t.Errorf("block %d, %d members: %v, want %v; one member gives %v", block, members, got, want, first)
				}
			}
		}
	}
}

// TestLowerInUnits: rows of a sparse A have the same bits whether a block is computed at once or unitRows
// rows at a time, although long rows, short rows and a unit that is not full are summed in different orders.
func TestLowerInUnits(t *testing.T) {
	const n, r, size = 500, 8, 6*unitRows - 5
	rng := rand.New(rand.NewPCG(19, 19))
	a := drawSymmetric(rng, n, 0.02)
	for i := range n {
		for l := range i + 1 {
			if i/unitRows%3 == 1 || l/unitRows%3 == 1 {
				a[i][l] = rng.Float64()
				a[l][i] = a[i][l]
			}
		}
	}
	op, err := FromCSR(a.csr(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	team := kernel.NewTeam(1)
	defer team.Close()
	b := op.NewBlockProduct(draw(rng, n, r, 1).dense(), size, team).(*csrBlocks)
	const first = 2 * size
	long := 0
	take := func(rows int) (dst, lower []float64) {
		dst, lower = make([]float64, size*r), make([]float64, size*r)
		for lo := 0; lo < size; lo += rows {
			hi := min(lo+rows, size)
			b.LowerTo(dst[lo*r:hi*r], lower[lo*r:hi*r], first, first+lo, first+hi)
			if rows == unitRows && op.a.RowPtr[first+hi]-op.a.RowPtr[first+lo] > int64(2*shortRow*(hi-lo)) {
				long++
			}
		}
		return dst, lower
	}
	want, wantLower := take(unitRows)
	if long == 0 || long == 6 {
		t.Fatalf("%d units of long rows", long)
	}
	for _, rows := range []int{2 * unitRows, 4 * unitRows, size} {
		if got, lower := take(rows); !slices.Equal(got, want) || !slices.Equal(lower, wantLower) {
			t.Errorf("%d rows at a time: other bits than %d", rows, unitRows)
		}
	}
}

// TestSingle: products with a copy of H in float32, by spans, by long rows or by short ones, agree with those
// of H, and rows have the same bits in whatever groups they are computed. float32 is not preferred where H is
// small, or where some stored entries do not count.
func TestSingle(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 21))
	team := kernel.NewTeam(1)
	defer team.Close()
	for _, c := range []struct {
		name       string
		n, r       int
		perRow     int
		off, loops bool
		want       bool
		spans      bool
	}{
		{"spans", 1100, 64, 200, false, true, true, true},
		{"rows", 4200, 16, 40, false, true, true, false},
		{"no diagonal", 4200, 16, 40, true, false, true, false},
		{"a diagonal that does not count", 4200, 16, 40, true, true, false, false},
		{"short rows", 4200, 16, 6, false, true, true, false},
		{"a small H", 4000, 16, 40, false, true, false, false},
	} {
		a := randomSymmetricCSR(t, rng, c.n, c.perRow, c.loops)
		op, err := FromCSR(a, 0)
		if err != nil {
			t.Fatal(err)
		}
		var scaled Operator = op.Scaled(0.5)
		if c.off {
			scaled = scaled.OffDiagonal()
		}
		h := NewDense(c.n, c.r, nil)
		for k := range h.data {
			h.data[k] = float64(rng.Float32())
		}
		const size = 96
		b := scaled.(BlockMultiplier).NewBlockProduct(h, size, team).(*csrBlocks)
		if spans := a.spanColumns(c.r) > 0; spans != c.spans {
			t.Fatalf("%s: products go by spans: %t", c.name, spans)
		}
		if got := b.PrefersSingle(); got != c.want {
			t.Errorf("%s: prefers float32 %t, want %t", c.name, got, c.want)
			continue
		}
		if !c.want {
			continue
		}
		copied := make([]float32, len(h.data))
		kernel.ToFloat32(copied, h.data)
		b.Single(copied)
		want := make([]float64, c.n*c.r)
		scaled.NewProduct(h, 1).RowsTo(want, 0, c.n)
		for first := 0; first < c.n; first += 7 * size {
			end := min(first+size, c.n)
			dst, lower := make([]float64, (end-first)*c.r), make([]float64, (end-first)*c.r)
			b.LowerTo(dst, lower, first, first, end)
			unit, most := b.PartRows()
			for _, rows := range []int{unit, most, 32} {
				for from := first; from < end; from += rows {
					to := min(from+rows, end)
					some, low := make([]float64, (to-from)*c.r), make([]float64, (to-from)*c.r)
					b.LowerTo(some, low, first, from, to)
					if lo, hi := (from-first)*c.r, (to-first)*c.r; !slices.Equal(some, dst[lo:hi]) || !slices.Equal(low, lower[lo:hi]) {
						t.Fatalf("%s: rows %d to %d differ from those of all", c.name, from, to)
					}
				}
			}
			block := h.data[first*c.r : end*c.r]
			if got, want := b.StepSingle(first/size, copied[first*c.r:end*c.r]), b.Step(first/size, block); got != want || want == 0 {
				t.Errorf("%s: ⟨A_BB·H_B, H_B⟩ = %v in float32, %v in float64", c.name, got, want)
			}
			b.Single(nil)
			plain, plainLower := make([]float64, len(dst)), make([]float64, len(dst))
			b.LowerTo(plain, plainLower, first, first, end)
			b.Single(copied)
			for k, v := range dst {
				if w := want[first*c.r+k]; !near(v, w, float64(c.n)) || !near(plain[k], w, float64(c.n)) || !near(lower[k], plainLower[k], float64(c.n)) {
					t.Fatalf("%s: (AH)[%d,%d] = %v, want %v; left of the block %v, want %v", c.name, first+k/c.r, k%c.r, v, w, lower[k], plainLower[k])
				}
			}
		}
		for i := range c.n {
			if got, want := b.WorkBefore(i+1)-b.WorkBefore(i), a.RowPtr[i+1]-a.RowPtr[i]; got != want {
				t.Fatalf("%s: the work of row %d is %d of %d entries", c.name, i, got, want)
			}
		}
		for k := range copied { // from which H is now read
			copied[k]++
		}
		before, after := make([]float64, size*c.r), make([]float64, size*c.r)
		b.LowerTo(after, make([]float64, size*c.r), 0, 0, size)
		b.Single(nil)
		b.LowerTo(before, make([]float64, size*c.r), 0, 0, size)
		if slices.Equal(before, after) {
			t.Errorf("%s: the copy is not read", c.name)
		}
	}
}

// randomSymmetricCSR returns a symmetric matrix of about perRow entries a row, with or without a diagonal.
func randomSymmetricCSR(t *testing.T, rng *rand.Rand, n, perRow int, loops bool) *CSR {
	t.Helper()
	entries := make([]map[int32]float64, n)
	for i := range entries {
		entries[i] = map[int32]float64{}
	}
	for i := range n {
		if loops {
			entries[i][int32(i)] = rng.Float64()
		}
		for range perRow/2 + 1 {
			if l := rng.IntN(n); l != i {
				v := rng.Float64()
				entries[i][int32(l)], entries[l][int32(i)] = v, v
			}
		}
	}
	m := &CSR{rows: n, cols: n, RowPtr: []int64{0}}
	for _, row := range entries {
		for _, c := range slices.Sorted(maps.Keys(row)) {
			m.Col, m.Val = append(m.Col, c), append(m.Val, row[c])
		}
		m.RowPtr = append(m.RowPtr, int64(len(m.Col)))
	}
	return m
}

// TestOwnProducts compares the inner products within blocks with those computed one by one, for more features
// than are taken at a time and for a block that is not full.
func TestOwnProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(18, 18))
	team := kernel.NewTeam(2)
	defer team.Close()
	for _, c := range []struct{ n, features, size int }{{70, 300, 32}, {70, 128, 32}, {5, 10, 8}, {9, 1, 4}, {3, 0, 2}} {
		x := draw(rng, c.n, c.features, 1).dense()
		own := x.ownProducts(c.size, 2)
		for i := range c.n {
			for k := range min(c.size, c.n-i/c.size*c.size) {
				if want := kernel.Dot(x.Row(i), x.Row(i/c.size*c.size+k)); !near(own[i*c.size+k], want, float64(c.features)) {
					t.Fatalf("%+v: row %d with row %d of its block: %v, want %v", c, i, k, own[i*c.size+k], want)
				}
			}
		}
	}
}

// TestShapesBeyondInt: a shape whose number of entries overflows an int is a mistake in the program and
// panics; it does not count as a smaller shape.
func TestShapesBeyondInt(t *testing.T) {
	half := 1 << (bits.UintSize / 2)
	for _, data := range [][]float64{nil, {}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d×%d over %v is accepted", half, half, data)
				}
			}()
			NewDense(half, half, data)
		}()
	}
	if bits.UintSize == 64 {
		if c := (&CSR{rows: half / 4, cols: half / 4}).spanColumns(1); c != 0 {
			t.Errorf("spans of %d columns of a matrix without entries", c)
		}
	}
}

// TestTolerance: a tolerance that is NaN or negative is refused as such, whether or not the matrix is
// symmetric. LowerBound takes a negative rank as 0.
func TestTolerance(t *testing.T) {
	lopsided := NewDense(2, 2, []float64{1, 2, 3, 1})
	for _, tol := range []float64{math.NaN(), -1} {
		for _, d := range []*Dense{lopsided, NewDense(2, 2, []float64{1, 2, 2, 1})} {
			if _, err := FromDense(d, tol); !errors.Is(err, ErrTolerance) {
				t.Errorf("tolerance %v: error %v", tol, err)
			}
		}
	}
	if got := LowerBound([]float64{1}, 2, -5); !(math.Abs(got-1) <= 1e-12) {
		t.Errorf("a bound for rank -5 is %v, want that of rank 0", got)
	}
}

// TestColumnsBelow compares columnsBelow with a count, for rows of up to some 300 columns and numbers beyond them.
func TestColumnsBelow(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for k := range 5000 {
		var col []int32
		for j := range int32(60 << (k % 5)) {
			if rng.IntN(3) == 0 {
				col = append(col, j+3)
			}
		}
		col = col[:rng.IntN(len(col)+1)]
		for _, j := range []int{-1, 0, rng.IntN(1000), math.MaxInt32} {
			want := 0
			for _, c := range col {
				if int(c) < j {
					want++
				}
			}
			if got := columnsBelow(col, j); got != want {
				t.Fatalf("%d of %v are below %d, want %d", got, col, j, want)
			}
		}
	}
}
