package report

import (
	"bytes"
	"image/color"
	"image/png"
	"math"
	"slices"
	"testing"
)

// TestPNGLines: every curve with a line has more pixels of its ink than its sample in the legend has.
func TestPNGLines(t *testing.T) {
	const sample = sampleWidth * 2 * pixelsAUnit * pixelsAUnit // its lines are two units wide
	for _, c := range []*Chart{timeChart(), oddChart(false, true), {Name: "level", Series: []Series{{"level", []float64{1, 2}, []float64{3, 3}}}}} {
		img, err := png.Decode(bytes.NewReader(written(t, c.Name, c.WritePNG)))
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		pixels := map[color.Color]int{}
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				pixels[img.At(x, y)]++
			}
		}
		d, _ := c.draw(wholeWidth, axesHeight, true)
		lines := 0
		for _, it := range d.items {
			if it.curve < 0 || it.lines == nil {
				continue
			}
			lines++
			if got := pixels[rgb(lightInks[it.ink])]; got <= sample {
				t.Errorf("%s: curve %d has %d pixels, want more than %d", c.Name, it.curve, got, sample)
			}
		}
		if lines == 0 {
			t.Errorf("%s: no lines", c.Name)
		}
	}
}

// TestTurned: turned gives a polygon of either orientation a positive area, and keeps its corners.
func TestTurned(t *testing.T) {
	for corners := 3; corners <= 5; corners++ {
		for _, way := range []float64{1, -1} {
			var outline []point
			for i := range corners {
				sin, cos := math.Sincos(way * 2 * math.Pi * float64(i) / float64(corners))
				outline = append(outline, point{9 + cos, 9 + sin})
			}
			got := turned(slices.Clone(outline))
			area := 0.0 // of the triangles at the first corner
			for i := 2; i < len(got); i++ {
				o, p, q := got[0], got[i-1], got[i]
				area += (p.x-o.x)*(q.y-o.y) - (q.x-o.x)*(p.y-o.y)
			}
			if way < 0 {
				slices.Reverse(outline)
			}
			if area <= 0 || !slices.Equal(got, outline) {
				t.Errorf("%d corners, way %v: area %v, corners %v, want %v", corners, way, area, got, outline)
			}
		}
	}
}
