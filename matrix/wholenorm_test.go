package matrix

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"symnmf/internal/kernel"
)

// counts returns a table of whole numbers of either sign, or of ones, with most entries in a few columns.
func counts(seed uint64, rows, cols int, ones bool) *Dense {
	rng := rand.New(rand.NewPCG(seed, 9))
	d := NewDense(rows, cols, nil)
	for i := range rows {
		for l := range cols {
			if rng.Float64() < 0.01+1/float64(1+l%97) {
				v := 1
				if !ones {
					v = rng.IntN(41) - 20
				}
				d.Set(i, l, float64(v))
			}
		}
	}
	return d
}

// productsSq returns ‖D·Dᵀ‖² and Σ_i (D·Dᵀ)_ii² exactly, for a D of whole numbers.
func productsSq(d *Dense) (all, diag int64) {
	for i := range d.rows {
		for l := range d.rows {
			v := int64(0)
			for f, x := range d.Row(i) {
				v += int64(x) * int64(d.At(l, f))
			}
			all += v * v
			if i == l {
				diag += v * v
			}
		}
	}
	return all, diag
}

// TestWholeNorm: the norm of whole numbers is exact however many columns are in panels, for either side of G,
// with signs and without values, and for any number of workers. wholeNorm and Gram find the same.
func TestWholeNorm(t *testing.T) {
	if !kernel.IntsPay() {
		t.Skip("whole numbers take more time than others without vector instructions")
	}
	for _, size := range [][2]int{{300, 250}, {150, 400}, {500, 60}} {
		for _, ones := range []bool{false, true} {
			d := counts(1, size[0], size[1], ones)
			all, diag := productsSq(d)
			if all >= 1<<53 {
				t.Fatalf("%v: %d is not exact", size, all)
			}
			x := sparse(d, 1, ones)
			back := x.transpose(1)
			for side, p := range map[string]wholePlan{"points": planWhole(x, back), "features": planWhole(back, x)} {
				name := fmt.Sprintf("%v, ones %t, %s", size, ones, side)
				if p.panels == 0 {
					t.Fatalf("%s: no panels", name)
				}
				val, ok := p.right.wholeValues(p.right.count(p.columns[0]), 2)
				if !ok {
					t.Fatalf("%s: no whole numbers", name)
				}
				for p.panels = range kernel.BlockCount(len(p.columns), kernel.PanelColumns) + 1 {
					for _, workers := range []int{1, 3} {
						if got := p.norm(val, workers); got != float64(all) {
							t.Fatalf("%s, %d panels, %d workers: %v, want %d", name, p.panels, workers, got, all)
						}
					}
				}
			}
			for _, workers := range []int{1, 3} {
				if got, ok := wholeNorm(x, back, workers); !ok || got != float64(all) {
					t.Errorf("%v, ones %t: %v, %t, want %d", size, ones, got, ok, all)
				}
				a, err := Gram(x, Rows, workers)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := a.Norm(), math.Sqrt(float64(all)); !(math.Abs(got-want) <= 4e-16*want) {
					t.Errorf("%v, ones %t: ‖A‖ = %v, want %v", size, ones, got, want)
				}
				if got, want := a.OffDiagonal().Norm(), math.Sqrt(float64(all-diag)); !(math.Abs(got-want) <= 1e-15*want) {
					t.Errorf("%v, ones %t: without the diagonal ‖A‖ = %v, want %v", size, ones, got, want)
				}
			}
		}
	}
}

// TestWholeValuesOfOne: rows of one entry could be multiplied in 32 bits where their values no longer fit in 16.
func TestWholeValuesOfOne(t *testing.T) {
	for _, c := range []struct {
		value float64
		right bool
	}{{math.MaxInt16, true}, {-math.MaxInt16, true}, {math.MaxInt16 + 1, false}, {-46000, false}} {
		m, err := NewCSR(1, 1, []int64{0, 1}, []int32{0}, []float64{c.value})
		if err != nil {
			t.Fatal(err)
		}
		if val, ok := m.wholeValues(1, 1); ok != c.right || ok && float64(val[0]) != c.value {
			t.Errorf("%v: accepted as whole %t, %v", c.value, ok, val)
		}
	}
}

// TestWholeNormRefuses: an entry that is not a whole number, or with which sums could leave 32 bits, is
// refused wherever it is, and the norm is right all the same.
func TestWholeNormRefuses(t *testing.T) {
	if !kernel.IntsPay() {
		t.Skip("whole numbers take more time than others without vector instructions")
	}
	d := counts(2, 300, 250, false)
	x := sparse(d, 1, false)
	back := x.transpose(1)
	most := back.count(back.longestRows()[0])
	if other := x.count(x.longestRows()[0]); other > most {
		t.Fatal("rows are longer than columns")
	}
	if _, ok := wholeNorm(x, back, 1); !ok {
		t.Fatal("whole numbers are refused")
	}
	largest := math.Floor(math.Sqrt(math.MaxInt32 / float64(most)))
	for _, at := range []int{0, len(x.Val) / 2, len(x.Val) - 1} {
		old := x.Val[at]
		for _, c := range []struct {
			value float64
			right bool
		}{{0.5, false}, {1e-300, false}, {largest, true}, {-largest, true}, {largest + 1, false}, {-largest - 1, false}, {1 << 40, false}} {
			x.Val[at] = c.value
			if _, ok := x.wholeValues(most, 2); ok != c.right {
				t.Errorf("entry %d is %v: accepted as whole %t", at, c.value, ok)
			}
			a, err := Gram(x, Rows, 2)
			if err != nil {
				t.Fatal(err)
			}
			var want float64
			dense := NewDense(x.rows, x.cols, nil)
			for i := range x.rows {
				col, val := x.Row(i)
				for p, k := range col {
					dense.Set(i, int(k), val[p])
				}
			}
			for i := range dense.rows {
				for l := range dense.rows {
					v := kernel.Dot(dense.Row(i), dense.Row(l))
					want += v * v
				}
			}
			if got := a.Norm(); !(math.Abs(got-math.Sqrt(want)) <= 1e-13*got) {
				t.Errorf("entry %d is %v: ‖A‖ = %v, want %v", at, c.value, got, math.Sqrt(want))
			}
		}
		x.Val[at] = old
	}
	const many = 40000
	long := &CSR{rows: 1, cols: many, RowPtr: []int64{0, many}, Col: make([]int32, many), Val: make([]float64, many)}
	for _, at := range []int{0, many / 2, many - 1} {
		long.Val[at] = 0.5
		if _, ok := long.wholeValues(1, 3); ok {
			t.Errorf("0.5 at %d of %d is accepted as whole", at, many)
		}
		long.Val[at] = -7
	}
	if val, ok := long.wholeValues(1, 3); !ok || val[many/2] != -7 || val[1] != 0 {
		t.Errorf("whole numbers are refused, or changed: accepted %t", ok)
	}
}

// TestGramNormFarDiagonal: where the squares of the diagonal are so much larger that a difference would leave
// nothing of the other entries, those are summed by themselves, for whole numbers and others, and for either
// side of X. That is not needed where the sum is exact.
func TestGramNormFarDiagonal(t *testing.T) {
	for _, c := range []struct {
		points, features int
		own, scale       float64 // own is the size of the entries in features that no other point has
		rare             int     // one in so many points has a feature
	}{{1000, 64, 4000, 1, 16}, {1000, 64, 20, 1, 16}, {1000, 64, 4000, 0.1, 16}, {1000, 64, 20, 0.1, 16}, {400, 400, 20000, 0.1, 1}} { // the last with columns multiplied separately
		points, features := c.points, c.features
		rng := rand.New(rand.NewPCG(1, 2))
		x := &CSR{rows: points, cols: features + points, RowPtr: []int64{0}}
		for i := range points {
			for l := range int32(features) {
				if rng.IntN(c.rare) == 0 {
					x.Col, x.Val = append(x.Col, l), append(x.Val, c.scale)
				}
			}
			x.Col, x.Val = append(x.Col, int32(features+i)), append(x.Val, c.scale*(c.own+float64(rng.IntN(9))))
			x.RowPtr = append(x.RowPtr, int64(len(x.Col)))
		}
		dense := NewDense(points, features, nil) // all that points have in common, over scale
		for i := range points {
			col, val := x.Row(i)
			for p, l := range col[:len(col)-1] {
				dense.Set(i, int(l), math.Round(val[p]/c.scale))
			}
		}
		all, diag := productsSq(dense)
		a, err := Gram(x, Rows, 2)
		if err != nil {
			t.Fatal(err)
		}
		bound := 1e-13
		if c.own < 100 { // found as a difference
			bound = 1e-11
		}
		if got, want := a.OffDiagonal().Norm(), c.scale*c.scale*math.Sqrt(float64(all-diag)); !(math.Abs(got-want) <= bound*want) {
			t.Errorf("own entries of %v times %v: without the diagonal ‖A‖ = %v, want %v", c.own, c.scale, got, want)
		}
	}
}

// TestWholePlan: where there is no room for the panels of one side of X, those of the other side are taken,
// which cost less than lists.
func TestWholePlan(t *testing.T) {
	if !kernel.IntsPay() {
		t.Skip("whole numbers take more time than others without vector instructions")
	}
	rng := rand.New(rand.NewPCG(4, 9))
	back := &CSR{rows: 1500, cols: 40000, RowPtr: []int64{0}}
	for range back.rows { // documents, many of which have the same few words
		var words []int32
		for range 100 {
			words = append(words, int32(float64(back.cols)*math.Pow(rng.Float64(), 4)))
		}
		slices.Sort(words)
		back.Col = append(back.Col, slices.Compact(words)...)
		back.RowPtr = append(back.RowPtr, int64(len(back.Col)))
	}
	x := back.transpose(1)
	if p := planWhole(x, back); p.panels != 0 {
		t.Errorf("%d panels of %d bytes, want none in %d bytes of room", p.panels, p.panelBytes(), p.room)
	}
	p := planWhole(back, x)
	if lists := listsWork(back, x); p.panels == 0 || p.work >= lists {
		t.Errorf("%d panels for %v additions, without panels %v", p.panels, p.work, lists)
	}
	for name, sides := range map[string][2]*CSR{"x": {x, back}, "back": {back, x}} {
		half, diag := normHalf(sides[0], sides[1], nil, 1)
		if got, ok := wholeNorm(sides[0], sides[1], 1); !ok || got != 2*half+diag {
			t.Errorf("%s: %v, %t, want %v", name, got, ok, 2*half+diag)
		}
	}
}

// TestWholePanels: with any number of panels the norm is that of the definition, also where a last column is left to
// the lists.
func TestWholePanels(t *testing.T) {
	for _, columns := range []int{kernel.PanelColumns, kernel.PanelColumns + 1, 2*kernel.PanelColumns + 3} {
		d := counts(3, 60, columns, false)
		for j := range columns {
			d.Set(j%60, j, 2) // no column is empty
		}
		x := sparse(d, 1, false)
		back := x.transpose(1)
		p := planWhole(x, back)
		val, ok := back.wholeValues(back.count(p.columns[0]), 1)
		if !ok || len(p.columns) != columns {
			t.Fatalf("%d columns with entries of %d, whole: %v", len(p.columns), columns, ok)
		}
		all, _ := productsSq(d)
		for p.panels = 1; (p.panels-1)*kernel.PanelColumns < columns; p.panels++ {
			if got := p.norm(val, 2); got != float64(all) {
				t.Errorf("%d columns, %d panels: %v, want %v", columns, p.panels, got, all)
			}
		}
	}
}

// TestLongestRows compares longestRows with a stable sort.
func TestLongestRows(t *testing.T) {
	x := sparse(counts(3, 200, 90, true), 1, true).transpose(1)
	x.RowPtr = append(slices.Clone(x.RowPtr), x.RowPtr[x.rows], x.RowPtr[x.rows]) // two more, without entries
	x.rows += 2
	var want []int32
	for i := range int32(x.rows) {
		if x.count(i) > 0 {
			want = append(want, i)
		}
	}
	slices.SortStableFunc(want, func(i, k int32) int { return int(x.count(k) - x.count(i)) })
	if got := x.longestRows(); !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	if got := (&CSR{rows: 2, cols: 1, RowPtr: []int64{0, 0, 0}}).longestRows(); len(got) != 0 {
		t.Errorf("rows %v of a table without entries", got)
	}
}
