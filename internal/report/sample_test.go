package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// methods has ten names of the lengths that occur in reports.
var methods = []string{"rowblock", "cd-cyclic-0", "cd-shuffle-rand", "anls-rand", "newton-rand", "tsvd", "betasnmf-rand", "symhals-rand",
	"pgncg-rand", "lai-anls-svd (compressed, then on A itself)"}

// sampleChart has curves that fall from 1 over five decades, each to its own level, as E(t) does.
func sampleChart(curves int) *Chart {
	rng := rand.New(rand.NewPCG(7, uint64(curves)))
	c := &Chart{Name: "figure2", Title: "E(t) on the CBCL pictures, r = 60, ten starts", XLabel: "seconds", YLabel: "E(t) = (e − e_min)/(‖A‖ − e_min)",
		LogY: true, Floor: 1e-6}
	for k := range curves {
		name := fmt.Sprintf("method %d, shuffled, random start, ten passes", k+1)
		if k < len(methods) {
			name = methods[k]
		}
		s := Series{Name: name}
		rate, level := 0.15+rng.Float64(), math.Pow(10, -6.5+5*rng.Float64())
		for i := range 120 {
			t := 60 * math.Pow(float64(i)/119, 1.7)
			s.X = append(s.X, t)
			s.Y = append(s.Y, level+math.Exp(-rate*t)*(1+0.1*rng.Float64())/1.1)
		}
		c.Series = append(c.Series, s)
	}
	return c
}

// sampleTable has numbers, marks and gaps in nine columns of results.
func sampleTable() *Table {
	t := &Table{Name: "table4", Title: "Relative error in percent after 60 s, one start", Columns: []string{"Data set", "n", "r"},
		Notes: []string{"The least of each row is marked *; – means that the method refused the matrix.", "Two threads; see the records for the machine."}}
	t.Columns = append(t.Columns, "rowblock", "cd-cyclic-0", "cd-shuffle-rand", "anls", "newton", "tsvd", "betasnmf", "symhals", "pgncg")
	rng := rand.New(rand.NewPCG(8, 0))
	for i, name := range []string{"classic", "hitech", "la1", "ohscal", "reviews", "sports", "CBCL (Gram)", "ORL faces, 112×92"} {
		row := []string{name, fmt.Sprint(400 + 1371*i), fmt.Sprint(30 + i%2*30)}
		for j := range 9 {
			cell := fmt.Sprintf("%.4f", 20+60*rng.Float64())
			switch {
			case j == 4 && i%3 == 0:
				cell = "–"
			case j == i%3:
				cell += "*"
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// sampleGallery has pictures of blobs.
func sampleGallery(n, w, h int) *Gallery {
	rng := rand.New(rand.NewPCG(9, 0))
	g := &Gallery{Name: "figure1", Title: "Columns of H as pictures", W: w, H: h, PerRow: 7, Inverted: true}
	for range n {
		picture := make([]float64, w*h)
		for range 3 {
			cx, cy, spread := float64(w)*rng.Float64(), float64(h)*rng.Float64(), 2+8*rng.Float64()
			for i := range picture {
				dx, dy := float64(i%w)-cx, float64(i/w)-cy
				picture[i] += math.Exp(-float64(dx*dx+dy*dy) / spread)
			}
		}
		g.Pictures = append(g.Pictures, picture)
	}
	return g
}

// oddChart has every kind of value that has no place in a chart, on the given axes.
func oddChart(logX, logY bool) *Chart {
	nan, inf := math.NaN(), math.Inf(1)
	return &Chart{Name: "odd", Title: `Odd <values> & "quotes"`, XLabel: "x", YLabel: "y", LogX: logX, LogY: logY, Series: []Series{
		{"gaps", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, []float64{3, 1, nan, 2, inf, 1, -inf, 2, 3}},
		{"nothing", nil, nil},
		{"all NaN", []float64{1, 2}, []float64{nan, nan}},
		{"one point", []float64{4}, []float64{2.5}},
		{"zero and below", []float64{0, -1, 2, 3, 4}, []float64{0, 1, -1, 0, 2}},
		{"level", []float64{1, 9}, []float64{2, 2}},
		{"x missing", []float64{nan, inf, 5}, []float64{1, 1, 1}},
	}}
}

// samplePage has sections with a table, with charts and with a gallery.
func samplePage() *Page {
	odd := oddChart(false, true)
	return &Page{
		Title: "symNMF: ten methods on eight sets",
		Intro: "Every curve starts from the same H.\n\nThe clock stops while an error is computed.",
		Sections: []Section{
			{Heading: "Final errors", Text: "One start of 60 s each.", Tables: []*Table{sampleTable()}},
			{Heading: "Curves", Charts: []*Chart{sampleChart(10), timeChart(), sampleChart(20), odd}},
			{Heading: "Basis pictures", Galleries: []*Gallery{sampleGallery(49, 19, 19)}},
		},
	}
}

// timeChart has both axes logarithmic.
func timeChart() *Chart {
	c := &Chart{Name: "growth", Title: "Seconds a sweep by n", XLabel: "n", YLabel: "seconds", LogX: true, LogY: true}
	for k, name := range []string{"dense", "csr", "gram"} {
		s := Series{Name: name}
		for n := 1e3; n < 2e6; n *= 2 {
			s.X, s.Y = append(s.X, n), append(s.Y, 1e-8*math.Pow(n, 2-0.4*float64(k)))
		}
		c.Series = append(c.Series, s)
	}
	return c
}

// write writes a file of dir.
func write(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
		t.Fatal(err)
	}
}
