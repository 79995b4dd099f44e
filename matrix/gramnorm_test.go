package matrix

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestGramNorm compares ‖XᵀX‖, with and without the diagonal, with the sum over all pairs: by points and by
// features, for rows with few and with many entries, without values, and at both ends of the range.
func TestGramNorm(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	for _, shape := range []struct {
		points, features, entries int
		pattern                   bool
	}{{200, 90, 2, false}, {90, 200, 2, false}, {60, 40, 25, false}, {40, 60, 45, false},
		{200, 90, 3, true}, {70, 300, 4, true}, {200, 90, 1, true}, {200, 90, 1, false}} {
		plain := NewDense(shape.points, shape.features, nil)
		for i := range shape.points {
			for _, l := range rng.Perm(shape.features)[:shape.entries] {
				plain.Set(i, l, 1)
				if !shape.pattern {
					plain.Set(i, l, 1+rng.Float64())
				}
			}
		}
		var all, off float64
		for i := range shape.points {
			for l := range shape.points {
				v := 0.0
				for f, x := range plain.Row(i) {
					v += x * plain.At(l, f)
				}
				all += v * v
				if i != l {
					off += v * v
				}
			}
		}
		for _, size := range []float64{1, 0x1p-240, 0x1p240, 0x1p-490, 0x1p500} {
			x, d := sparse(plain, size, shape.pattern && size == 1), plain.Clone()
			for k := range d.data {
				d.data[k] *= size
			}
			for _, workers := range []int{1, 3} {
				for name, c := range map[string]struct {
					items Items
					table Table
				}{
					"rows": {Rows, x}, "columns": {Columns, x.Transpose()},
					"dense rows": {Rows, d}, "dense columns": {Columns, d.Transpose()},
				} {
					a, err := Gram(c.table, c.items, workers)
					if err != nil {
						t.Fatalf("%+v times %g, %s: %v", shape, size, name, err)
					}
					for what, got := range map[float64]float64{all: a.Norm(), off: a.OffDiagonal().Norm()} {
						if want := math.Sqrt(what) * size * size; !(math.Abs(got-want) <= 1e-12*want) {
							t.Errorf("%+v times %g, %s: norm %v, want %v", shape, size, name, got, want)
						}
					}
				}
			}
		}
	}
}

// sparse returns size·d as a sparse matrix of its nonzeros or, if pattern is set, without values, so that its
// entries are ones.
func sparse(d *Dense, size float64, pattern bool) *CSR {
	m := &CSR{rows: d.rows, cols: d.cols, RowPtr: []int64{0}}
	for i := range d.rows {
		for l, v := range d.Row(i) {
			if v != 0 {
				m.Col = append(m.Col, int32(l))
				if !pattern {
					m.Val = append(m.Val, size*v)
				}
			}
		}
		m.RowPtr = append(m.RowPtr, int64(len(m.Col)))
	}
	return m
}

// TestCommonColumnsFarDiagonal: the norm without the diagonal has its digits where some columns are multiplied
// separately, however long a point is in a feature that no other point has.
func TestCommonColumnsFarDiagonal(t *testing.T) {
	const points, features = 300, 40
	rng := rand.New(rand.NewPCG(2, 1))
	common := draw(rng, points, features, 1)
	x := zeros(points, features+1)
	for i := range x {
		copy(x[i], common[i])
	}
	x[5][features] = 1e6
	m := x.csr(t)
	if columns, _ := commonColumns(m, m.transpose(1)); len(columns) == 0 {
		if columns, _ = commonColumns(m.transpose(1), m); len(columns) == 0 {
			t.Fatal("no columns are multiplied separately")
		}
	}
	all, off := m.gramNormSq(1, nil, nil, 2)
	want := offDiagonalNorm(common.times(common.transpose()))
	if off < 0 {
		t.Errorf("what is left of %v without the diagonal is a difference, want %v", all, want*want)
	} else if got := math.Sqrt(off); !(math.Abs(got-want) <= 1e-12*want) {
		t.Errorf("without the diagonal ‖A‖ = %v, want %v", got, want)
	}
}

// TestCommonColumns: features that most points have are multiplied separately, which changes the norms by no
// more than rounding: for either side of G, with signs and without values, and for any number of workers.
func TestCommonColumns(t *testing.T) {
	const points, features, common = 400, 330, 70
	rng := rand.New(rand.NewPCG(2, 0))
	plain := NewDense(points, features, nil)
	for i := range points {
		for l := range features {
			share := 0.02
			if l%(features/common) == 0 {
				share = 0.9
			}
			if rng.Float64() < share {
				plain.Set(i, l, rng.NormFloat64())
			}
		}
	}
	for name, d := range map[string]*Dense{"points": plain, "features": plain.Transpose()} {
		for _, pattern := range []bool{false, true} {
			x := sparse(d, 1, pattern)
			left, right := x, x.transpose(1)
			if name == "features" {
				left, right = right, left
			}
			columns, work := commonColumns(left, right)
			if none := listsWork(left, right); len(columns) != 64 || work >= none {
				t.Fatalf("%s: %d columns multiplied separately, want 64; work %g, by lists alone %g", name, len(columns), work, none)
			}
			y := NewDense(x.rows, x.cols, nil)
			for i := range x.rows {
				col, val := x.Row(i)
				for p, c := range col {
					y.Set(i, int(c), value(val, p))
				}
			}
			var all, diag float64
			for i := range y.rows {
				for l := range y.rows {
					v := 0.0
					for f, u := range y.Row(i) {
						v += u * y.Row(l)[f]
					}
					all += v * v
					if i == l {
						diag += v * v
					}
				}
			}
			var before float64
			for _, workers := range []int{1, 3} {
				a, err := Gram(x, Rows, workers)
				if err != nil {
					t.Fatal(err)
				}
				if got := a.Norm(); !(math.Abs(got-math.Sqrt(all)) <= 1e-13*got) {
					t.Errorf("%s: ‖A‖ = %v, want %v", name, got, math.Sqrt(all))
				}
				if got := a.OffDiagonal().Norm(); !(math.Abs(got-math.Sqrt(all-diag)) <= 1e-13*got) {
					t.Errorf("%s: without the diagonal ‖A‖ = %v, want %v", name, got, math.Sqrt(all-diag))
				}
				if before != 0 && a.Norm() != before {
					t.Errorf("%s: ‖A‖ depends on workers", name)
				}
				before = a.Norm()
			}
		}
	}
}

// listsWork returns the work of the norm if all features go by lists.
func listsWork(left, right *CSR) (work float64) {
	for k := range right.rows {
		f := float64(right.RowPtr[k+1] - right.RowPtr[k])
		work += f * (additionsPerList + f/2)
	}
	return work
}
