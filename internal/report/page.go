package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The page's parts. page.js and page.css are written into the page as they are.
var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string

	pageTemplate = template.Must(template.New("page").Parse(pageHTML))
)

// Sizes of a page's charts, in units. A page has a wide and a narrow drawing of each chart; page.css shows one of them.
const wideWidth, wideHeight, narrowWidth, narrowHeight = 640, 300, 350, 240

type pageView struct {
	Title    string
	Intro    []string
	Style    template.CSS
	Script   template.JS
	Sections []sectionView
}

type sectionView struct {
	ID        string
	Heading   string
	Text      []string
	Tables    []tableView
	Charts    []chartView
	Galleries []galleryView
}

type tableView struct {
	Title string
	Heads []cellView
	Rows  [][]cellView
	Notes []string
}

type cellView struct {
	Text    string
	Numeric bool
	Head    bool // the cell is the head of its row
}

type chartView struct {
	ID           string
	Title        string
	Wide, Narrow template.HTML
	Missing      string
	Curves       []curveView
	Data         chartData
	XHead, YHead string
	Samples      []sampleView
}

type curveView struct {
	Name   string
	Sample template.HTML
	Empty  bool
}

// sampleView has some points of a curve, for the table under a chart.
type sampleView struct {
	Name   string
	Points [][2]string
}

// chartData is what the page's script needs to show values: the labels of the axes, and the names of the curves with
// the values of the points drawn, to six digits.
type chartData struct {
	X      string     `json:"x"`
	Y      string     `json:"y"`
	Curves []dataView `json:"curves"`
}

type dataView struct {
	Name string    `json:"name"`
	X    []float64 `json:"x"`
	Y    []float64 `json:"y"`
}

type galleryView struct {
	ID    string
	Title string
	SVG   template.HTML
	Desc  string
}

// WriteHTML writes the page. The script of the page only hides curves and shows values: without it, everything
// can still be read.
func (p *Page) WriteHTML(w io.Writer) error {
	view := pageView{Title: clean(p.Title), Intro: paragraphs(p.Intro), Style: template.CSS(inkRules() + pageCSS), Script: template.JS(pageJS)}
	charts, galleries := 0, 0
	for i, s := range p.Sections {
		section := sectionView{ID: fmt.Sprintf("section%d", i+1), Heading: clean(s.Heading), Text: paragraphs(s.Text)}
		for _, t := range s.Tables {
			section.Tables = append(section.Tables, t.view())
		}
		for _, c := range s.Charts {
			if err := c.check(); err != nil {
				return err
			}
			charts++
			section.Charts = append(section.Charts, c.view(fmt.Sprintf("chart%d", charts)))
		}
		for _, g := range s.Galleries {
			if err := g.check(); err != nil {
				return err
			}
			galleries++
			id := fmt.Sprintf("gallery%d", galleries)
			svg, err := g.svgInline(fmt.Sprintf(`role="img" aria-labelledby="%s"`, id))
			if err != nil {
				return err
			}
			section.Galleries = append(section.Galleries, galleryView{id, clean(g.Title), template.HTML(svg), g.describe()})
		}
		view.Sections = append(view.Sections, section)
	}
	return pageTemplate.Execute(w, view)
}

// inkRules returns the style rules for the inks: class ink5 has the color --ink5, which is light or dark.
func inkRules() string {
	var b strings.Builder
	scheme := func(before string, inks []string, after string) {
		b.WriteString(before + ":root{")
		for i, hex := range inks {
			fmt.Fprintf(&b, "--ink%d:%s;", i, hex)
		}
		b.WriteString("}" + after + "\n")
	}
	scheme("", lightInks, "")
	scheme("@media screen and (prefers-color-scheme:dark){", darkInks, "}")
	for i := range lightInks {
		fmt.Fprintf(&b, ".ink%d{color:var(--ink%d)}\n", i, i)
	}
	return b.String()
}

func (t *Table) view() tableView {
	num, cols := t.numeric(), t.width()
	cells := func(row []string) (views []cellView) {
		for j, text := range filled(row, cols) {
			views = append(views, cellView{Text: clean(text), Numeric: num[j], Head: j == 0 && !num[0]})
		}
		return views
	}
	view := tableView{Title: clean(t.Title), Heads: cells(t.Columns)}
	for _, row := range t.Rows {
		view.Rows = append(view.Rows, cells(row))
	}
	for _, note := range t.Notes {
		view.Notes = append(view.Notes, clean(note))
	}
	return view
}

// view prepares a chart for the page; its identifiers begin with id.
func (c *Chart) view(id string) chartView {
	view := chartView{ID: id, Title: clean(c.Title), Missing: c.missing(), XHead: clean(c.XLabel), YHead: clean(c.YLabel)}
	view.Data = chartData{X: view.XHead, Y: view.YHead}
	for _, size := range []struct {
		class         string
		width, height float64
		to            *template.HTML
	}{{"wide", wideWidth, wideHeight, &view.Wide}, {"narrow", narrowWidth, narrowHeight, &view.Narrow}} {
		d, f := c.draw(size.width, size.height, false)
		axis := func(a axis) string {
			return fmt.Sprintf("%s %s %d", strconv.FormatFloat(a.lo, 'g', 9, 64), strconv.FormatFloat(a.hi, 'g', 9, 64), index(a.log))
		}
		attrs := fmt.Sprintf(`class="%s" role="img" aria-labelledby="%s-title" data-frame="%s %s %s %s" data-x="%s" data-y="%s"`,
			size.class, id, num(f.left), num(f.top), num(f.width), num(f.height), axis(f.x), axis(f.y))
		*size.to = template.HTML(d.svgInline(attrs))
	}
	x, _, _ := c.axes()
	for k, s := range c.Series {
		d := drawing{w: sampleWidth, h: 12, items: sample(c.look(k), 0, 6)}
		runs := slices.Concat(c.runs(s, x)...)
		view.Curves = append(view.Curves, curveView{clean(s.Name), template.HTML(d.svgInline(`class="sample" aria-hidden="true"`)), len(runs) == 0})
		data := dataView{Name: clean(s.Name), X: []float64{}, Y: []float64{}}
		for _, i := range runs {
			data.X, data.Y = append(data.X, sixDigits(s.X[i])), append(data.Y, sixDigits(s.Y[i]))
		}
		view.Data.Curves = append(view.Data.Curves, data)
		some := sampleView{Name: data.Name}
		for _, i := range spread(len(runs), 9) {
			some.Points = append(some.Points, [2]string{short(s.X[runs[i]]), short(s.Y[runs[i]])})
		}
		view.Samples = append(view.Samples, some)
	}
	return view
}

func sixDigits(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return v
}

// spread returns at most most of the numbers 0 … n−1, evenly spread and including both ends.
func spread(n, most int) (at []int) {
	for i := range min(n, most) {
		if n <= most {
			at = append(at, i)
		} else {
			at = append(at, (i*(n-1)+(most-1)/2)/(most-1))
		}
	}
	return at
}
