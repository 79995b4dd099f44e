package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// Chart has curves on one pair of axes.
type Chart struct {
	Name           string // stem of the file's name: "figure2"
	Title          string
	XLabel, YLabel string
	LogX, LogY     bool
	Series         []Series
	Looks          []int   // the look of each series, so that a curve looks the same in several charts; nil: 0, 1, 2, …
	Floor          float64 // values below it are not drawn; 0: no floor
}

// Series is a curve through the points (X[i], Y[i]) in that order; len(X) = len(Y).
type Series struct {
	Name string
	X, Y []float64
}

func (c *Chart) check() error {
	for _, s := range c.Series {
		if len(s.X) != len(s.Y) {
			return errorf("chart", c.Name, "series %q has %d x and %d y", s.Name, len(s.X), len(s.Y))
		}
	}
	if c.Looks != nil && len(c.Looks) != len(c.Series) {
		return errorf("chart", c.Name, "%d looks of %d series", len(c.Looks), len(c.Series))
	}
	return nil
}

// look returns the number of the look of series k.
func (c *Chart) look(k int) int {
	if c.Looks == nil {
		return k
	}
	return c.Looks[k]
}

// drawable reports whether a point has a place in the chart.
func (c *Chart) drawable(x, y float64) bool {
	return inRange(x, c.LogX) && inRange(y, c.LogY) && (c.Floor == 0 || y >= c.Floor)
}

// axes returns both axes, without ticks, and whether there is anything to draw.
func (c *Chart) axes() (x, y axis, some bool) {
	xlo, xhi, ylo, yhi := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, s := range c.Series {
		for i := range s.X {
			if c.drawable(s.X[i], s.Y[i]) {
				xlo, xhi = min(xlo, s.X[i]), max(xhi, s.X[i])
				ylo, yhi = min(ylo, s.Y[i]), max(yhi, s.Y[i])
			}
		}
	}
	return newAxis(xlo, xhi, c.LogX), newAxis(ylo, yhi, c.LogY), xlo <= xhi
}

// runs returns the indices of the points of one series to draw, in runs between gaps. The chart has 2000 columns. Of
// consecutive points in the same column it keeps only the first, the lowest, the highest and the last, which look the
// same as all of them.
func (c *Chart) runs(s Series, x axis) (all [][]int) {
	var run []int
	var column []int // the points in the current column
	end := func() {
		if len(column) > 4 {
			lowest, highest := column[0], column[0]
			for _, i := range column {
				if s.Y[i] < s.Y[lowest] {
					lowest = i
				}
				if s.Y[i] > s.Y[highest] {
					highest = i
				}
			}
			column = []int{column[0], lowest, highest, column[len(column)-1]}
			slices.Sort(column)
			column = slices.Compact(column)
		}
		run = append(run, column...)
		column = nil
	}
	at := func(i int) float64 { return math.Floor(2000 * x.at(s.X[i])) }
	for i := range s.X {
		if !c.drawable(s.X[i], s.Y[i]) {
			if end(); run != nil {
				all, run = append(all, run), nil
			}
			continue
		}
		if column != nil && at(i) != at(column[0]) {
			end()
		}
		column = append(column, i)
	}
	if end(); run != nil {
		all = append(all, run)
	}
	return all
}

// missing says in a sentence what the picture does not show, or returns "".
func (c *Chart) missing() string {
	below, other := 0, 0
	for _, s := range c.Series {
		for i := range s.X {
			switch x, y := s.X[i], s.Y[i]; {
			case c.drawable(x, y):
			case c.Floor != 0 && inRange(x, c.LogX) && y < c.Floor:
				below++
			default:
				other++
			}
		}
	}
	text := ""
	if below > 0 {
		text = fmt.Sprintf("Not drawn: %s below %s.", count(below, "value", "values"), short(c.Floor))
	}
	if other > 0 {
		if text != "" {
			text += " "
		}
		text += fmt.Sprintf("Gaps: %s missing, not finite, or not positive on a logarithmic axis.", count(other, "value is", "values are"))
	}
	return text
}

// count returns n with a noun: one if n is 1, else more.
func count(n int, one, more string) string {
	if n == 1 {
		more = one
	}
	return strconv.Itoa(n) + " " + more
}

// short writes a value for reading.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// describe says in words what the chart shows.
func (c *Chart) describe() string {
	scaled := func(label string, log bool) string {
		if log {
			label += ", logarithmic"
		}
		return clean(label)
	}
	text := fmt.Sprintf("%d curves. Horizontal: %s. Vertical: %s.", len(c.Series), scaled(c.XLabel, c.LogX), scaled(c.YLabel, c.LogY))
	x, _, some := c.axes()
	if !some {
		return text + " No values to draw."
	}
	for _, s := range c.Series {
		runs := c.runs(s, x)
		if len(runs) == 0 {
			text += fmt.Sprintf(" %s: no values.", clean(s.Name))
			continue
		}
		last := runs[len(runs)-1]
		first, end := runs[0][0], last[len(last)-1]
		text += fmt.Sprintf(" %s: from %s at %s to %s at %s.", clean(s.Name), short(s.Y[first]), short(s.X[first]), short(s.Y[end]), short(s.X[end]))
	}
	return text
}

// Sizes of text.
const (
	tickSize   = 12
	legendSize = 12.5
	titleSize  = 16
)

// frame is the rectangle between the axes.
type frame struct {
	x, y   axis
	left   float64
	top    float64
	width  float64
	height float64
}

func (f frame) at(x, y float64) point {
	return point{f.left + float64(f.width*f.x.at(x)), f.top + float64(f.height*(1-f.y.at(y)))}
}

// draw lays the chart out on a sheet of the given width with axes of the given height. A whole chart has a title and a
// legend; otherwise the surrounding page has them.
func (c *Chart) draw(width, height float64, whole bool) (*drawing, frame) {
	d := &drawing{w: width, title: clean(c.Title), desc: c.describe()}
	x, y, some := c.axes()
	const edge = 8.0
	down := edge
	text := func(s string, size float64, ink ink, at, align float64, most int) {
		for _, line := range wrap(s, size, width-2*edge, most) {
			down += math.Ceil(1.35 * size)
			d.items = append(d.items, item{curve: -1, ink: ink, text: label{line, ""}, at: point{at, down - math.Ceil(0.35*size)}, size: size, align: align})
		}
	}
	if whole {
		text(c.Title, titleSize, inkText, edge, 0, 4)
	}
	text(c.YLabel, tickSize, inkMuted, edge, 0, 3)

	// The y axis comes first, because its labels set the left edge.
	f := frame{x: x, y: y, top: down + edge, height: height}
	f.y.setTicks(max(2, int(height/42)), func([]tick) bool { return true })
	widest := 0.0
	for _, t := range f.y.ticks {
		widest = max(widest, t.label.width(tickSize))
	}
	f.left = math.Ceil(edge + widest + 7)
	f.width = width - f.left - 2*edge
	f.x.setTicks(max(2, int(f.width/55)), func(ticks []tick) bool {
		end := math.Inf(-1)
		for _, t := range ticks {
			at, half := f.at(t.v, f.y.lo).x, t.label.width(tickSize)/2
			if at-half < end+10 {
				return false
			}
			end = at + half
		}
		return true
	})
	bottom, right := f.top+f.height, f.left+f.width
	line := func(ink ink, points ...point) {
		d.items = append(d.items, item{curve: -1, ink: ink, width: 1, lines: [][]point{points}})
	}
	for _, t := range f.y.ticks {
		at := f.at(f.x.lo, t.v).y
		line(inkGrid, point{f.left, at}, point{right, at})
		d.items = append(d.items, item{curve: -1, ink: inkMuted, text: t.label, at: point{f.left - 7, at + 0.36*tickSize}, size: tickSize, align: 1})
	}
	for _, t := range f.x.ticks {
		at := f.at(t.v, f.y.lo).x
		line(inkGrid, point{at, f.top}, point{at, bottom})
		line(inkAxis, point{at, bottom}, point{at, bottom + 5})
		half := t.label.width(tickSize) / 2
		center := max(min(at, width-2-half), half+2)
		d.items = append(d.items, item{curve: -1, ink: inkMuted, text: t.label, at: point{center, bottom + 19}, size: tickSize, align: 0.5})
	}
	for _, v := range f.x.minor {
		at := f.at(v, f.y.lo).x
		line(inkAxis, point{at, bottom}, point{at, bottom + 3})
	}
	for _, v := range f.y.minor {
		at := f.at(f.x.lo, v).y
		line(inkAxis, point{f.left - 3, at}, point{f.left, at})
	}
	line(inkAxis, point{f.left, f.top}, point{f.left, bottom}, point{right, bottom})
	if !some {
		d.items = append(d.items, item{curve: -1, ink: inkMuted, text: label{"no values to draw", ""}, at: point{f.left + f.width/2, f.top + f.height/2}, size: tickSize, align: 0.5})
	}
	for k, s := range c.Series {
		d.curves, d.looks = append(d.curves, clean(s.Name)), append(d.looks, c.look(k))
		d.items = append(d.items, c.curve(k, s, f)...)
	}
	down = bottom + 25
	text(c.XLabel, tickSize, inkMuted, f.left+f.width/2, 0.5, 3)
	if whole {
		text(c.missing(), tickSize-1, inkMuted, edge, 0, 3)
		down = d.legend(down+edge, edge)
	}
	d.h = math.Ceil(down + edge)
	return d, f
}

// curve draws series k: a line for each run of points, a disc for a single point, and the curve's marks about 90 units
// apart.
func (c *Chart) curve(k int, s Series, f frame) (items []item) {
	ink, dash, mark := look(c.look(k))
	line := item{curve: k, ink: ink, width: 2, dash: dash}
	alone := item{curve: k, ink: ink, mark: disc}
	marks := item{curve: k, ink: ink, mark: mark}
	gone := 15 * float64(k%6) // so that curves on top of each other have their marks at different places
	for _, run := range c.runs(s, f.x) {
		points := make([]point, len(run))
		for p, i := range run {
			points[p] = f.at(s.X[i], s.Y[i])
			if p > 0 {
				gone += math.Abs(points[p].x-points[p-1].x) + math.Abs(points[p].y-points[p-1].y)
			}
			if gone >= 90 && len(run) > 1 {
				marks.marks, gone = append(marks.marks, points[p]), 0
			}
		}
		if len(points) == 1 {
			alone.marks = append(alone.marks, points[0])
		} else {
			line.lines = append(line.lines, points)
		}
	}
	if line.lines != nil {
		items = append(items, line)
	}
	if marks.marks != nil && mark != noMark {
		items = append(items, marks)
	}
	if alone.marks != nil {
		items = append(items, alone)
	}
	return items
}

// sample draws a short piece of a curve of that look, from left rightwards at the height middle.
func sample(number int, left, middle float64) (items []item) {
	ink, dash, mark := look(number)
	items = append(items, item{curve: -1, ink: ink, width: 2, dash: dash, lines: [][]point{{{left, middle}, {left + sampleWidth, middle}}}})
	if mark != noMark {
		items = append(items, item{curve: -1, ink: ink, mark: mark, marks: []point{{left + sampleWidth/2, middle}}})
	}
	return items
}

const sampleWidth = 34

// legend names the curves below the chart, in columns as wide as the longest name where several fit, and returns
// where it ends. A name that is too long for its column takes up to four lines.
func (d *drawing) legend(down, edge float64) float64 {
	const gap, line = 18, 17
	whole := d.w - 2*edge
	longest := 0.0
	for _, name := range d.curves {
		longest = max(longest, measure(name, legendSize))
	}
	if len(d.curves) > 4 {
		longest = min(longest, (whole+gap)/2-gap-sampleWidth-8)
	}
	longest = min(longest, whole-sampleWidth-8)
	cols := max(1, int((whole+gap)/(sampleWidth+8+longest+gap)))
	pitch := (whole + gap) / float64(cols)
	tallest := 0
	for k, name := range d.curves {
		if k%cols == 0 {
			down, tallest = down+float64(line*tallest), 1
		}
		left := edge + float64(pitch*float64(k%cols))
		lines := wrap(name, legendSize, pitch-gap-sampleWidth-8, 4)
		tallest = max(tallest, len(lines))
		d.items = append(d.items, sample(d.looks[k], left, down+line/2.0)...)
		for i, text := range lines {
			at := point{left + sampleWidth + 8, down + float64(line*i) + line/2.0 + 0.36*legendSize}
			d.items = append(d.items, item{curve: -1, ink: inkText, text: label{text, ""}, at: at, size: legendSize})
		}
	}
	return down + float64(line*tallest)
}

// The size of a chart that stands alone, and the pixels of a unit in a PNG.
const (
	wholeWidth  = 720
	axesHeight  = 380
	pixelsAUnit = 2
)

// WriteSVG writes a picture that stands alone, for light paper.
func (c *Chart) WriteSVG(w io.Writer) error {
	if err := c.check(); err != nil {
		return err
	}
	d, _ := c.draw(wholeWidth, axesHeight, true)
	_, err := w.Write(d.svg())
	return err
}

// WritePNG writes the picture of WriteSVG, 1440 pixels wide.
func (c *Chart) WritePNG(w io.Writer) error {
	if err := c.check(); err != nil {
		return err
	}
	d, _ := c.draw(wholeWidth, axesHeight, true)
	return d.png(w, pixelsAUnit)
}

// WriteCSV writes every point, drawn or not, on a line of its own: the series, x and y, under the labels of the axes.
// Numbers have the shortest form that reads back equal; NaN is an empty field.
func (c *Chart) WriteCSV(w io.Writer) error {
	if err := c.check(); err != nil {
		return err
	}
	value := func(v float64) string {
		if math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	out := csv.NewWriter(w)
	if err := out.Write([]string{"series", cmp.Or(clean(c.XLabel), "x"), cmp.Or(clean(c.YLabel), "y")}); err != nil {
		return err
	}
	for _, s := range c.Series {
		for i := range s.X {
			if err := out.Write([]string{s.Name, value(s.X[i]), value(s.Y[i])}); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}
