package report

import (
	"math"
	"regexp"
	"slices"
	"testing"
)

// TestMissing: the sentences below a chart count the values below its floor and the values without a place. A sentence
// whose count is 0 is left out.
func TestMissing(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		y    []float64
		want string
	}{
		{[]float64{1, 2, 3}, `^$`},
		{[]float64{1, 0.25, 0.125}, `^Not drawn: 2 \w+ below 0\.5\.$`},
		{[]float64{1, nan, math.Inf(1)}, `^Gaps: 2 [^.:]*\.$`},
		{[]float64{nan, 0.25, 1, 0.125, nan, nan}, `^Not drawn: 2 \w+ below 0\.5\. Gaps: 3 [^.:]*\.$`},
	} {
		chart := &Chart{Floor: 0.5, Series: []Series{{"one", make([]float64, len(c.y)), c.y}}}
		if got := chart.missing(); !regexp.MustCompile(c.want).MatchString(got) {
			t.Errorf("%v: %q, want %s", c.y, got, c.want)
		}
	}
	// Without a floor nothing is below one.
	for _, logY := range []bool{false, true} {
		chart := &Chart{LogY: logY, Series: []Series{{"one", []float64{1, 2, 3}, []float64{-5, math.Inf(-1), 2}}}}
		want := map[bool]string{false: `^Gaps: 1 value is `, true: `^Gaps: 2 values are `}[logY]
		if got := chart.missing(); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("without a floor, logarithmic %v: %q, want %s", logY, got, want)
		}
	}
}

// TestChartParts: a chart has all its grid lines, labels that do not overlap, every point of its curves, and
// marks along them.
func TestChartParts(t *testing.T) {
	c := &Chart{Series: make([]Series, 7)} // the seventh has marks
	zigzag := &c.Series[6]
	for i := range 7 {
		zigzag.X, zigzag.Y = append(zigzag.X, 1e6+1.5*float64(i)), append(zigzag.Y, float64(i%2))
	}
	zigzag.Y[4] = math.NaN()
	d, f := c.draw(wholeWidth, axesHeight, true)
	var across, upward, marks int
	var points []int // of each line
	for _, it := range d.items {
		for _, line := range it.lines {
			switch {
			case it.curve == 6:
				points = append(points, len(line))
			case it.ink == inkGrid && line[0].y == line[1].y:
				across++
			case it.ink == inkGrid && line[0].x == line[1].x:
				upward++
			}
		}
		if it.curve == 6 {
			marks += len(it.marks)
		}
	}
	if across != 6 || upward != 5 || marks != 4 || !slices.Equal(points, []int{4, 2}) {
		t.Errorf("%d lines across, %d upward, %d marks, lines of %d points, want 6, 5, 4 and [4 2]", across, upward, marks, points)
	}
	end := math.Inf(-1)
	for _, tick := range f.x.ticks {
		at, half := f.at(tick.v, f.y.lo).x, tick.label.width(tickSize)/2
		if at-half < end {
			t.Errorf("the label at %v begins at %v, where the one before has not ended", tick.v, at-half)
		}
		end = at + half
	}
}

// TestPageSamples: the table under a chart has nine points of a long curve, including the first and the last, and all
// points of a short one.
func TestPageSamples(t *testing.T) {
	c := &Chart{Series: make([]Series, 2)}
	for k, n := range []int{33, 5} {
		for i := range n {
			c.Series[k].X, c.Series[k].Y = append(c.Series[k].X, float64(i)), append(c.Series[k].Y, float64(i*i))
		}
	}
	for k, want := range [][]string{{"0", "4", "8", "12", "16", "20", "24", "28", "32"}, {"0", "1", "2", "3", "4"}} {
		var got []string
		for _, p := range c.view("chart1").Samples[k].Points {
			got = append(got, p[0])
		}
		if !slices.Equal(got, want) {
			t.Errorf("curve %d: points at %v, want %v", k, got, want)
		}
	}
}
