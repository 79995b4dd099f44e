package report

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sampleCharts returns charts of every kind.
func sampleCharts() []*Chart {
	twenty := sampleChart(20)
	twenty.Name = "twenty"
	return []*Chart{sampleChart(10), twenty, timeChart(), oddChart(false, false), oddChart(false, true), oddChart(true, false), oddChart(true, true),
		{Name: "empty"}, {Name: "level", Series: []Series{{"level", []float64{1, 2}, []float64{3, 3}}}},
		{Name: "huge", Series: []Series{{"huge", []float64{-1e300, 1e300}, []float64{1e-300, 1e300}}}}}
}

// written returns what write writes, which must not fail.
func written(t *testing.T, what string, write func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return b.Bytes()
}

// elements parses XML and counts its elements by name.
func elements(t *testing.T, what string, text []byte) map[string]int {
	t.Helper()
	count := map[string]int{}
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return count
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if e, ok := token.(xml.StartElement); ok {
			count[e.Name.Local]++
			if e.Name.Space != "http://www.w3.org/2000/svg" {
				t.Fatalf("%s: element %v is not of SVG", what, e.Name)
			}
		}
	}
}

// TestPalette: on its paper every curve has a contrast of at least 3, text of at least 7 and muted text of at
// least 4.5, as WCAG 2 defines contrast.
func TestPalette(t *testing.T) {
	luminance := func(c color.RGBA) float64 {
		linear := func(b uint8) float64 {
			v := float64(b) / 255
			if v <= 0.04045 {
				return v / 12.92
			}
			return math.Pow((v+0.055)/1.055, 2.4)
		}
		return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
	}
	for _, inks := range [][]string{lightInks, darkInks} {
		paper := luminance(rgb(inks[inkPaper]))
		for k, hex := range inks {
			l := luminance(rgb(hex))
			contrast := (max(l, paper) + 0.05) / (min(l, paper) + 0.05)
			least := map[ink]float64{inkText: 7, inkMuted: 4.5}[ink(k)]
			if ink(k) >= inkCurve {
				least = 3
			}
			if contrast < least {
				t.Errorf("%s on %s has a contrast of %.2f, want at least %v", hex, inks[inkPaper], contrast, least)
			}
		}
	}
}

// TestChartSVG: every chart is well-formed, has no NaN, Inf or exponent among its coordinates, and has a
// group for each curve with values.
func TestChartSVG(t *testing.T) {
	bad := regexp.MustCompile(`NaN|Inf|[0-9]e[0-9+-]`)
	for _, c := range sampleCharts() {
		svg := written(t, c.Name, c.WriteSVG)
		elements(t, c.Name, svg)
		drawn := regexp.MustCompile(`(?s)<desc.*?</desc>|<title.*?</title>|<text.*?</text>|#[0-9a-f]{6}`).ReplaceAll(svg, nil)
		if at := bad.Find(drawn); at != nil {
			t.Errorf("%s: %q among the coordinates", c.Name, at)
		}
		x, _, _ := c.axes()
		want := 0
		for _, s := range c.Series {
			if len(c.runs(s, x)) > 0 {
				want++
			}
		}
		if got := bytes.Count(svg, []byte(`class="curve"`)); got != want {
			t.Errorf("%s: %d groups for %d curves with values", c.Name, got, want)
		}
	}
}

// TestChartPNG: every chart is a PNG of the promised width with at least three colors.
func TestChartPNG(t *testing.T) {
	for _, c := range sampleCharts() {
		img, err := png.Decode(bytes.NewReader(written(t, c.Name, c.WritePNG)))
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if w := img.Bounds().Dx(); w != wholeWidth*pixelsAUnit {
			t.Errorf("%s: %d pixels wide, not the promised width", c.Name, w)
		}
		colors := map[[3]uint32]bool{}
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				r, g, b, _ := img.At(x, y).RGBA()
				colors[[3]uint32{r, g, b}] = true
			}
		}
		if len(colors) < 3 {
			t.Errorf("%s: %d colors, want at least 3", c.Name, len(colors))
		}
	}
}

// TestChartCSV: every point reads back equal, and NaN as an empty field.
func TestChartCSV(t *testing.T) {
	for _, c := range sampleCharts() {
		lines, err := csv.NewReader(bytes.NewReader(written(t, c.Name, c.WriteCSV))).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if want := []string{"series", cmp.Or(clean(c.XLabel), "x"), cmp.Or(clean(c.YLabel), "y")}; !slices.Equal(lines[0], want) {
			t.Errorf("%s: %q, want %q", c.Name, lines[0], want)
		}
		k := 1
		for _, s := range c.Series {
			for i := range s.X {
				for column, want := range []float64{s.X[i], s.Y[i]} {
					got, err := strconv.ParseFloat(lines[k][column+1], 64)
					if math.IsNaN(want) && lines[k][column+1] != "" || !math.IsNaN(want) && (err != nil || got != want) {
						t.Errorf("%s: %q for %v", c.Name, lines[k][column+1], want)
					}
				}
				if lines[k][0] != s.Name {
					t.Errorf("%s: %q for %q", c.Name, lines[k][0], s.Name)
				}
				k++
			}
		}
		if k != len(lines) {
			t.Errorf("%s: %d lines for %d points", c.Name, len(lines), k-1)
		}
	}
}

// TestContradictions: if a series has more x than y, every writer returns an error that names it, and writes
// nothing.
func TestContradictions(t *testing.T) {
	c := &Chart{Name: "wrong", Series: []Series{{"one", []float64{1, 2}, []float64{1}}}}
	page := &Page{Sections: []Section{{Charts: []*Chart{c}}}}
	for what, write := range map[string]func(io.Writer) error{"SVG": c.WriteSVG, "PNG": c.WritePNG, "CSV": c.WriteCSV, "HTML": page.WriteHTML} {
		var b bytes.Buffer
		if err := write(&b); err == nil || !strings.Contains(err.Error(), `"one"`) || b.Len() > 0 {
			t.Errorf("%s: error %v, %d bytes written", what, err, b.Len())
		}
	}
}

// failing fails after some bytes.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("full")
	}
	return len(p), nil
}

// TestFullDisk: if the underlying writer fails, every writer returns an error.
func TestFullDisk(t *testing.T) {
	c, table, g := sampleChart(3), sampleTable(), sampleGallery(4, 5, 5)
	page := samplePage()
	for what, write := range map[string]func(io.Writer) error{
		"chart SVG": c.WriteSVG, "chart PNG": c.WritePNG, "chart CSV": c.WriteCSV, "text": table.WriteText, "table CSV": table.WriteCSV,
		"LaTeX": table.WriteLaTeX, "gallery PNG": g.WritePNG, "gallery SVG": g.WriteSVG, "page": page.WriteHTML,
	} {
		if err := write(&failing{40}); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// TestTableText: numbers are flush right, whatever the other cells of their column.
func TestTableText(t *testing.T) {
	table := &Table{Title: "T", Columns: []string{"set", "error"}, Rows: [][]string{{"a", "1.5"}, {"ñandú", "10.25"}, {"b"}, {"c", "–"}}, Notes: []string{"note"}}
	text := string(written(t, "text", table.WriteText))
	var ends []int
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "1.5") || strings.Contains(line, "10.25") {
			ends = append(ends, len([]rune(strings.TrimRight(line, " |"))))
		}
	}
	if len(ends) != 2 || ends[0] != ends[1] {
		t.Errorf("numbers end at %v:\n%s", ends, text)
	}
}

// TestTableCSV: a heading with quotes and a cell with a comma read back as they are, and a line break in a
// cell does not end the row.
func TestTableCSV(t *testing.T) {
	table := &Table{Columns: []string{"a", `b "quoted"`}, Rows: [][]string{{"x, y", "1"}, {"two\nlines", "2"}}}
	lines, err := csv.NewReader(bytes.NewReader(written(t, "CSV", table.WriteCSV))).ReadAll()
	if err != nil || len(lines) != 3 || lines[0][1] != `b "quoted"` || lines[1][0] != "x, y" {
		t.Errorf("%q, %v", lines, err)
	}
}

// TestTableCSVParts: deviations and counts are in columns of their own.
func TestTableCSVParts(t *testing.T) {
	table := &Table{Columns: []string{"method", "error", "seconds"}, Rows: [][]string{{"a ± b", "74.51 ± 0.001 (2 of 3)", "0.5 (2/3)"}, {"bound", "74.25", "never"}, {"c", "< 1e-12"}, {"d"}}}
	want := `method,method deviation,error,error deviation,error count,seconds,seconds count
a,b,74.51,0.001,2 of 3,0.5,2/3
bound,,74.25,,,never,
c,,< 1e-12,,,,
d,,,,,,
`
	if text := string(written(t, "CSV", table.WriteCSV)); text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
}

// TestLooks: a curve has its look from Looks in the chart, in the legend and on a page; without Looks it has the
// look of its place.
func TestLooks(t *testing.T) {
	line := Series{"one", []float64{1, 2}, []float64{3, 4}}
	for _, c := range []*Chart{{Series: []Series{line}, Looks: []int{2}}, {Series: []Series{{Name: "zero"}, {Name: "none"}, line}}} {
		ink, dash, _ := look(2)
		d, _ := c.draw(wholeWidth, axesHeight, true)
		drawn := 0
		for _, it := range d.items {
			if it.ink == ink && it.lines != nil && slices.Equal(it.dash, dash) {
				drawn++
			}
		}
		if drawn != 2 {
			t.Errorf("looks %v: %d lines of look 2, want the curve and its sample", c.Looks, drawn)
		}
		page := &Page{Sections: []Section{{Charts: []*Chart{c}}}}
		if html := string(written(t, "page", page.WriteHTML)); strings.Count(html, fmt.Sprintf(`class="ink%d"`, ink)) < 3 { // wide, narrow, sample
			t.Errorf("looks %v: the page has the curve's ink %d times, want at least 3", c.Looks, strings.Count(html, fmt.Sprintf(`class="ink%d"`, ink)))
		}
	}
	if err := (&Chart{Series: []Series{line}, Looks: []int{1, 2}}).WriteSVG(io.Discard); err == nil {
		t.Error("two looks for one series are accepted")
	}
}

// TestMissingSingular: the sentence about a single value is in the singular.
func TestMissingSingular(t *testing.T) {
	c := &Chart{Floor: 1, Series: []Series{{"one", []float64{1, math.NaN()}, []float64{0.5, 2}}}}
	if got := c.missing(); got != "Not drawn: 1 value below 1. Gaps: 1 value is missing, not finite, or not positive on a logarithmic axis." {
		t.Errorf("%q", got)
	}
}

// TestLaTeX: no character of a cell acts as a LaTeX command.
func TestLaTeX(t *testing.T) {
	table := &Table{Columns: []string{`50% & $x_1^2$ #3 {a} ~b \c`}, Rows: [][]string{{"1"}}}
	text := string(written(t, "LaTeX", table.WriteLaTeX))
	for _, want := range []string{`50\%`, `\&`, `\$x\_1`, `\#3`, `\{a\}`, `\textbackslash`, `\textasciitilde`, `\textasciicircum`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Count(text, "{")-strings.Count(text, `\{`) != strings.Count(text, "}")-strings.Count(text, `\}`) {
		t.Errorf("braces do not match:\n%s", text)
	}
}

// TestTicks: ticks are inside their axis and increasing. On a logarithmic axis over decades they are powers of 10.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		log    bool
	}{{0, 60, false}, {-3, 7, false}, {2, 2, false}, {1e-6, 1, true}, {1, 5, true}, {3, 3, true}, {-1e300, 1e300, false}, {1e-300, 1e300, true}, {math.Inf(1), math.Inf(-1), true}} {
		a := newAxis(c.lo, c.hi, c.log)
		a.setTicks(7, func([]tick) bool { return true })
		if len(a.ticks) < 1 {
			t.Errorf("%+v: no ticks", c)
		}
		for k, tick := range a.ticks {
			if at := a.at(tick.v); !(at > -1e-9 && at < 1+1e-9) || k > 0 && tick.v <= a.ticks[k-1].v {
				t.Errorf("%+v: tick %v at %v", c, tick.v, at)
			}
			if e := math.Log10(tick.v); c.log && c.hi/c.lo > 1e4 && !(math.Abs(e-math.Round(e)) <= 1e-9) {
				t.Errorf("%+v: tick %v is no power of 10", c, tick.v)
			}
		}
	}
}

// TestGallery: a gallery is written as a PNG that decodes and as an SVG. A picture with too few values is an
// error.
func TestGallery(t *testing.T) {
	g := &Gallery{Name: "g", W: 2, H: 1, PerRow: 2, Pictures: [][]float64{{0, 1}, {0.5, 0.5}, {1, 0}}}
	if _, err := png.Decode(bytes.NewReader(written(t, "PNG", g.WritePNG))); err != nil {
		t.Error(err)
	}
	if svg := written(t, "SVG", g.WriteSVG); !bytes.Contains(svg, []byte("<svg")) {
		t.Errorf("%s", svg)
	}
	g.Pictures[1] = []float64{1}
	if err := g.WritePNG(io.Discard); err == nil {
		t.Error("a picture of one value in place of two is accepted")
	}
}

// TestPageIsAlone: the page names nothing outside itself, and has every curve, cell and picture.
func TestPageIsAlone(t *testing.T) {
	page := samplePage()
	html := string(written(t, "page", page.WriteHTML))
	for _, outside := range []string{"http:", "https:", "src=", "@import", "url(", "<link", "<iframe", "fetch(", "XMLHttpRequest", "WebSocket"} {
		for at, rest := 0, html; ; {
			k := strings.Index(rest, outside)
			if k < 0 {
				break
			}
			at += k
			if here := html[at:]; !strings.HasPrefix(here, `http://www.w3.org/2000/svg"`) && !strings.HasPrefix(here, `src="data:image/png;`) {
				t.Errorf("the page has %q: %q", outside, html[max(0, at-40):min(len(html), at+60)])
			}
			rest, at = rest[k+len(outside):], at+len(outside)
		}
	}
	curves := 0
	for _, c := range page.Sections[1].Charts {
		curves += len(c.Series)
	}
	if got := strings.Count(html, `aria-pressed="true" data-curve`); got != curves {
		t.Errorf("%d legend entries for %d curves", got, curves)
	}
	for _, row := range page.Sections[0].Tables[0].Rows {
		for _, cell := range row {
			if !strings.Contains(html, ">"+cell+"<") {
				t.Errorf("no cell %q", cell)
			}
		}
	}
	if strings.Contains(html, "<values>") {
		t.Error("a title is not escaped")
	}
}
