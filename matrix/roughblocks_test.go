package matrix

import (
	"math"
	"math/rand/v2"
	"testing"

	"symnmf/internal/kernel"
	"symnmf/internal/rules"
)

// TestRough compares products in float32 with the definition: they are within what rounding may do, and not
// as near as products in float64.
func TestRough(t *testing.T) {
	const n, block = 150, 64
	rng := rand.New(rand.NewPCG(34, 0))
	a := drawSymmetric(rng, n, 0.9)
	for i := range n {
		a[i][i] *= 1e9 // so large that, where it counts, the other entries hardly do
	}
	for _, size := range []float64{1, 1e140, 1e-140} {
		large := zeros(n, n)
		for i := range n {
			for j := range n {
				large[i][j] = size * a[i][j]
			}
		}
		wide, err := FromDense(large.dense(), 0)
		if err != nil {
			t.Fatal(err)
		}
		narrow, err := FromDense32(large.dense(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for name, op := range map[string]Operator{
			"float64": wide, "float64, scaled": wide.Scaled(0.25), "float64, of size 1": wide.Scaled(1 / size), "float64, without the diagonal": wide.OffDiagonal(), "float64, both": wide.OffDiagonal().Scaled(4),
			"float32": narrow, "float32, scaled": narrow.Scaled(0.25),
		} {
			for _, r := range []int{4, 30, 60} {
				for _, members := range []int{1, 3} {
					if size != 1 && (r != 30 || members > 1) {
						continue
					}
					team := kernel.NewTeam(members)
					h := draw(rng, n, r, 0.7).dense()
					b := op.(BlockMultiplier).NewBlockProduct(h, block, team).(RoughProduct)
					checkRough(t, name, op, b, h, block, rng)
					team.Close()
				}
			}
		}
	}
}

// TestRoughFolded: the operator that Folded returns has rough products, too.
func TestRoughFolded(t *testing.T) {
	rng := rand.New(rand.NewPCG(34, 2))
	points, err := Gram(draw(rng, 130, 400, 1).dense(), Columns, 1)
	if err != nil {
		t.Fatal(err)
	}
	folded, unfold := Folded(points, 2)
	if unfold == nil {
		t.Fatal("not folded: the test shows nothing")
	}
	team := kernel.NewTeam(1)
	defer team.Close()
	h := draw(rng, folded.Dim(), 12, 1).dense()
	checkRough(t, "folded", folded, folded.(BlockMultiplier).NewBlockProduct(h, 64, team).(RoughProduct), h, 64, rng)
}

// checkRough compares b with sums over the entries that op lists, for the first H and after every kind of
// change.
func checkRough(t *testing.T, name string, op Operator, b RoughProduct, h *Dense, block int, rng *rand.Rand) {
	t.Helper()
	n, r := h.rows, h.cols
	worst := 0.0 // largest error, relative to the sum of the magnitudes of the terms
	compare := func(when string, i, j int, got float64, x func(l, j int) float64) {
		t.Helper()
		var want, terms float64
		op.(RowVisitor).VisitRow(i, func(l int, v float64) {
			want += v * x(l, j)
			terms += math.Abs(v * x(l, j))
		})
		if e := math.Abs(got - want); !(e <= 135*0x1p-24*terms) {
			t.Fatalf("%s, r = %d, %s: (AH)[%d,%d] = %v, want %v", name, r, when, i, j, got, want)
		} else if terms > 0 {
			worst = max(worst, e/terms)
		}
	}
	check := func(when string) {
		t.Helper()
		for _, rows := range [][2]int{{0, n}, {70, 75}} {
			dst := make([]float64, (rows[1]-rows[0])*r)
			for k := range dst {
				dst[k] = math.NaN()
			}
			b.RoughTo(dst, rows[0], rows[1])
			for k, v := range dst {
				if i, j := rows[0]+k/r, k%r; (i+j)%5 == 0 || math.IsNaN(v) {
					compare(when, i, j, v, h.At)
				}
			}
		}
	}
	change := func(lo, hi int) {
		for i := lo; i < hi; i++ {
			for j := range r {
				h.Set(i, j, rng.Float64())
			}
		}
	}
	b.StartRough()
	check("at first")
	change(block, 2*block)
	b.Take(block, 2*block)
	check("rows taken")
	change(3, 4)
	b.AddRow(3, nil)
	check("a row added")
	change(0, n)
	b.StartRough()
	check("started again")
	other := NewDense(n, r, nil)
	h.data, other.data = other.data, h.data
	change(0, n)
	b.Extrapolate(0, h)
	b.StartRough()
	check("elsewhere")
	if !(worst >= 1e-9) {
		t.Errorf("%s, r = %d: products err by at most %.2g: they are not in float32", name, r, worst)
	}
	for range 2 {
		checkRoughStepAll(t, name, op, b, h, rng)
	}
	for k := range kernel.BlockCount(n, block) {
		lo, hi := k*block, min((k+1)*block, n)
		d := draw(rng, hi-lo, r, 0.8)
		for i := range d {
			for j := range d[i] {
				d[i][j] -= 0.3
			}
		}
		var want, terms float64
		for i := lo; i < hi; i++ {
			op.(RowVisitor).VisitRow(i, func(l int, v float64) {
				if l < lo || l >= hi {
					return
				}
				for j := range r {
					want += v * d[i-lo][j] * d[l-lo][j]
					terms += math.Abs(v * d[i-lo][j] * d[l-lo][j])
				}
			})
		}
		way := d.dense().data
		mid := (hi - lo) / 2
		b.TakeWay(way[mid*r:], lo+mid, hi)
		b.TakeWay(way[:mid*r], lo, lo+mid)
		if got := b.RoughStep(k); !(math.Abs(got-want) <= 70*0x1p-24*terms) {
			t.Errorf("%s, r = %d: ⟨A_BB·d,d⟩ = %v for rows %d to %d, want %v", name, r, got, lo, hi, want)
		}
	}
}

// checkRoughStepAll compares a step of all rows with sums over the entries that op lists.
func checkRoughStepAll(t *testing.T, name string, op Operator, b RoughProduct, h *Dense, rng *rand.Rand) {
	t.Helper()
	n, r := h.rows, h.cols
	d := NewDense(n, r, nil)
	for k := range d.data {
		d.data[k] = rng.Float64() - 0.3
	}
	var own, along, ownTerms, alongTerms float64
	for i := range n {
		op.(RowVisitor).VisitRow(i, func(l int, v float64) {
			for j := range r {
				p, q := v*d.At(i, j)*d.At(l, j), v*d.At(i, j)*h.At(l, j)
				own, along = own+p, along+q
				ownTerms, alongTerms = ownTerms+math.Abs(p), alongTerms+math.Abs(q)
			}
		})
	}
	scratch := make([]float64, n*r)
	for k := range scratch {
		scratch[k] = math.NaN()
	}
	gotOwn, gotAlong := b.RoughStepAll(d, scratch)
	if !(math.Abs(gotOwn-own) <= 135*0x1p-24*ownTerms) || !(math.Abs(gotAlong-along) <= 135*0x1p-24*alongTerms) {
		t.Errorf("%s, r = %d: ⟨A·d,d⟩ = %v, ⟨A·d,H⟩ = %v, want %v, %v", name, r, gotOwn, gotAlong, own, along)
	}
}

// TestPrefersRough checks the limits of n and r at which rough products are preferred.
func TestPrefersRough(t *testing.T) {
	dense := func(n int) *SymDense { // its entries are not read
		return &SymDense{n: n, scale: 1, norm: 1}
	}
	narrow := &SymDense32{n: rules.RoughTo + 1, scale: 1, norm: 1}
	for _, tc := range []struct {
		name string
		op   BlockMultiplier
		n, r int
		want bool
	}{
		{"dense", dense(rules.RoughFrom), rules.RoughFrom, 16, true},
		{"few rows", dense(rules.RoughFrom - 1), rules.RoughFrom - 1, 60, false},
		{"few columns", dense(4 * rules.RoughFrom), 4 * rules.RoughFrom, rules.RoughCols - 1, false},
		{"as few as may be", dense(2 * rules.RoughFrom), 2 * rules.RoughFrom, rules.RoughCols, true},
		{"small H", dense(2*rules.RoughFrom - 1), 2*rules.RoughFrom - 1, rules.RoughCols, false},
		{"as many as are copied", dense(rules.RoughTo), rules.RoughTo, rules.RoughCols, true},
		{"more", dense(rules.RoughTo + 1), rules.RoughTo + 1, rules.RoughCols, false},
		{"more of float32", narrow, rules.RoughTo + 1, rules.RoughCols, true},
		{"of float32 without its diagonal", narrow.OffDiagonal().(BlockMultiplier), rules.RoughTo + 1, rules.RoughCols, false},
		{"without its diagonal", dense(rules.RoughFrom).OffDiagonal().(BlockMultiplier), rules.RoughFrom, 16, true},
	} {
		team := kernel.NewTeam(1)
		if got := tc.op.NewBlockProduct(NewDense(tc.n, tc.r, nil), 128, team).(RoughProduct).PrefersRough(); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
		team.Close()
	}
}
