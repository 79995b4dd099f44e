package symnmf

import (
	"errors"
	"math"
	"testing"

	"symnmf/internal/instance"
	"symnmf/matrix"
)

// TestVBSUMRows: if no A_ii < 0, no row raises the objective. The quantities kept follow H, row by row.
func TestVBSUMRows(t *testing.T) {
	for _, name := range []string{"zerorows50", "text120"} {
		g := readGolden(t, name)
		for form, a := range g.forms(t) {
			p, h := goldenProblem(t, g, a)
			s := VBSUM{}.start(p, h, 0).(*vbsumRun)
			ahi := make([]float64, p.r)
			before := p.measure(h)
			for i := range p.n {
				s.row(i)
				after := p.measure(h)
				if rise := after.errSq - before.errSq; !(rise <= after.floorSq+before.floorSq) {
					t.Fatalf("%s/%s: row %d raises ‖A−HHᵀ‖² by %v", name, form, i, rise)
				}
				before = after
				for k, want := range p.gram(h) {
					// n rows, each with one rounding of D_jk ≤ 2‖A‖ on the way to P and one back.
					if d := math.Abs(s.gram[k] - want); !(d <= 4*float64(p.n)*0x1p-52*2*p.norm) {
						t.Fatalf("%s/%s: after row %d D[%d] is off by %.2g", name, form, i, k, d)
					}
				}
				s.product.RowsTo(ahi, i, i+1)
				want := matrix.NewDense(p.n, p.r, nil)
				p.times(want, h)
				for k, v := range ahi {
					if d := math.Abs(v - want.At(i, k)); !(d <= 4*float64(p.n)*0x1p-52*p.norm*math.Sqrt(2*p.norm)) {
						t.Fatalf("%s/%s: after row %d (AH)[%d,%d] is off by %.2g", name, form, i, i, k, d)
					}
				}
			}
		}
	}
}

// TestVBSUMLargest: the eigenvalue found is the largest one, whatever the eigenvector of the matrix before
// was. The matrices are sums of outer products of rows.
func TestVBSUMLargest(t *testing.T) {
	const r = 6
	outer := func(rows ...[]float64) []float64 {
		p := make([]float64, r*r)
		for _, x := range rows {
			for j, v := range x {
				for k, w := range x {
					p[j*r+k] += v * w
				}
			}
		}
		return p
	}
	full := instance.Start(40, r, 1)
	var rows [][]float64
	for i := range 40 {
		rows = append(rows, full.Row(i))
	}
	s := &vbsumRun{iterate: &iterate{p: &problem{r: r}}, y: make([]float64, r), top: make([]float64, r)}
	for k, p := range [][]float64{
		outer(rows...), outer(rows[:39]...), outer(),
		outer([]float64{1, 1, 0, 0, 0, 0}, []float64{0, 0, 3, 0, 0, 0}), // two groups
		outer([]float64{4, 4, 0, 0, 0, 0}, []float64{0, 0, 3, 0, 0, 0}), // the other group leads
		outer([]float64{4, 4, 0, 0, 0, 0}, []float64{0, 0, 3, 7, 0, 0}),
		outer([]float64{1, 0, 0, 0, 0, 0}, []float64{0, 1, 0, 0, 0, 0}, []float64{0, 0, 1.001, 0, 0, 0}), // close together
		outer([]float64{1e-160, 0, 0, 0, 0, 0}, []float64{0, 1e-100, 0, 0, 0, 0}),
	} {
		s.rest = p
		got, want := s.largest(), largestEigenvalue(p, r)
		if d := math.Abs(got - want); !(d <= 1e-13*want) {
			t.Errorf("case %d: %v, want %v", k, got, want)
		}
	}
}

// TestVBSUMOptions: what the method cannot do is refused, and Inner is passed on: more inner steps give a
// smaller error after a sweep.
func TestVBSUMOptions(t *testing.T) {
	opt := Options{Start: Random{}}
	p, err := newProblem(lowRank(t, 6, 2), 2, &opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := (VBSUM{Inner: -1}).accepts(p, &opt); !errors.Is(err, ErrOption) {
		t.Errorf("Inner −1: %v", err)
	}
	p.a = struct{ matrix.Operator }{p.a}
	if err := (VBSUM{}).accepts(p, &opt); !errors.Is(err, ErrUnfit) {
		t.Errorf("no products by blocks: %v", err)
	}
	s, err := ParseSolver("vbsum", map[string]string{"inner": "3"})
	if v, ok := s.(VBSUM); err != nil || !ok || v.Inner != 3 {
		t.Errorf("inner=3: %+v, %v", s, err)
	}
	g := readGolden(t, "fullrank60")
	least := math.Inf(1)
	for _, inner := range []int{1, 3, 0} { // 0 is 10
		res := factorize(t, mustDense(t, g.a), g.R, Options{Solver: VBSUM{Inner: inner}, Start: Given{g.start}, Stop: Stop{Sweeps: 1, KKT: -1}})
		if res.RelErr >= least {
			t.Errorf("Inner %d: relative error %v after a sweep, with fewer %v", inner, res.RelErr, least)
		}
		least = res.RelErr
	}
}
