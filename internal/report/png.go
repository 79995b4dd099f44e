package report

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"slices"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// png writes the drawing for light paper, with scale pixels per unit.
func (d *drawing) png(w io.Writer, scale float64) error {
	c := canvas{image.NewRGBA(image.Rect(0, 0, int(math.Ceil(d.w*scale)), int(math.Ceil(d.h*scale)))), scale}
	draw.Draw(c.img, c.img.Bounds(), image.NewUniform(rgb(lightInks[inkPaper])), image.Point{}, draw.Src)
	for _, it := range d.items {
		var outlines [][]point
		for _, line := range it.lines {
			outlines = append(outlines, stroke(line, it.width, it.dash)...)
		}
		for _, p := range it.marks {
			outlines = append(outlines, turned(it.mark.outline(p)))
		}
		if it.text != (label{}) {
			// Place a label by the width of its text in this font, not by the width reserved for wider fonts.
			size := measure(it.text.text, it.size) / wider
			left := it.at.x - it.align*(size+measure(it.text.sup, supSize*it.size)/wider)
			outlines = append(outlines, glyphs(it.text.text, point{left, it.at.y}, it.size)...)
			outlines = append(outlines, glyphs(it.text.sup, point{left + size, it.at.y - supRise*it.size}, supSize*it.size)...)
		}
		c.fill(outlines, rgb(lightInks[it.ink]))
	}
	return png.Encode(w, c.img)
}

func rgb(hex string) color.RGBA {
	c := color.RGBA{A: 255}
	fmt.Sscanf(hex, "#%02x%02x%02x", &c.R, &c.G, &c.B) // hex is always a constant of this package
	return c
}

type canvas struct {
	img   *image.RGBA
	scale float64
}

// fill paints the union of polygons. Polygons that turn the other way are holes, as in the letter o.
func (c canvas) fill(outlines [][]point, ink color.RGBA) {
	lo, hi := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, outline := range outlines {
		for _, p := range outline {
			lo, hi = point{min(lo.x, p.x), min(lo.y, p.y)}, point{max(hi.x, p.x), max(hi.y, p.y)}
		}
	}
	if lo.x > hi.x {
		return
	}
	box := image.Rect(int(math.Floor(lo.x*c.scale)), int(math.Floor(lo.y*c.scale)), int(math.Ceil(hi.x*c.scale)), int(math.Ceil(hi.y*c.scale))).
		Intersect(c.img.Bounds())
	if box.Empty() {
		return
	}
	z := vector.NewRasterizer(box.Dx(), box.Dy())
	for _, outline := range outlines {
		for i, p := range outline {
			x, y := float32(p.x*c.scale-float64(box.Min.X)), float32(p.y*c.scale-float64(box.Min.Y))
			if i == 0 {
				z.MoveTo(x, y)
			} else {
				z.LineTo(x, y)
			}
		}
		z.ClosePath()
	}
	z.Draw(c.img, box, image.NewUniform(ink), image.Point{})
}

// turned reverses a polygon in place if its signed area Σ (x_i·y_{i+1} − x_{i+1}·y_i) is negative, and returns it.
func turned(outline []point) []point {
	area := 0.0
	for i, p := range outline {
		q := outline[(i+1)%len(outline)]
		area += p.x*q.y - q.x*p.y
	}
	if area < 0 {
		slices.Reverse(outline)
	}
	return outline
}

// outline returns a mark around p as a polygon.
func (m mark) outline(p point) (outline []point) {
	switch m {
	case disc:
		return round(p, 3.5)
	case square:
		const half = 3.3
		return []point{{p.x - half, p.y - half}, {p.x + half, p.y - half}, {p.x + half, p.y + half}, {p.x - half, p.y + half}}
	case triangle:
		return []point{{p.x, p.y - 4.8}, {p.x + 4.4, p.y + 3}, {p.x - 4.4, p.y + 3}}
	}
	return nil
}

func round(p point, radius float64) (outline []point) {
	const corners = 16
	for i := range corners {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		outline = append(outline, point{p.x + radius*cos, p.y + radius*sin})
	}
	return outline
}

// stroke returns a line of the given width as polygons: a rectangle for each piece between points, cut into dashes, and
// a disc at each inner point that lies within a dash.
func stroke(line []point, width float64, dash []float64) (outlines [][]point) {
	on, left, next := true, math.Inf(1), 0
	if dash != nil {
		left = dash[0]
	}
	for i := 1; i < len(line); i++ {
		p, q := line[i-1], line[i]
		length := math.Hypot(q.x-p.x, q.y-p.y)
		if length == 0 {
			continue
		}
		ux, uy := (q.x-p.x)/length, (q.y-p.y)/length
		for from := 0.0; from < length; {
			to := min(length, from+left)
			if on {
				a, b := point{p.x + from*ux, p.y + from*uy}, point{p.x + to*ux, p.y + to*uy}
				nx, ny := -uy*width/2, ux*width/2
				outlines = append(outlines, turned([]point{{a.x + nx, a.y + ny}, {b.x + nx, b.y + ny}, {b.x - nx, b.y - ny}, {a.x - nx, a.y - ny}}))
			}
			left -= to - from
			if from = to; left < 1e-6 { // a rest this small is rounding
				next = (next + 1) % len(dash)
				on, left = !on, dash[next]
			}
		}
		if on && i < len(line)-1 {
			outlines = append(outlines, round(q, width/2))
		}
	}
	return outlines
}

// glyphs returns the outlines of s in the Go font, from the point at rightwards. Characters that the font lacks
// appear as its missing-character box.
func glyphs(s string, at point, size float64) (outlines [][]point) {
	const unitsPerEm = 2048
	var buf sfnt.Buffer
	unit := size / unitsPerEm / 64
	for _, c := range s {
		glyph, err := goFont().GlyphIndex(&buf, c)
		if err != nil {
			continue
		}
		segments, err := goFont().LoadGlyph(&buf, glyph, fixed.I(unitsPerEm), nil)
		if err != nil {
			continue
		}
		to := func(p fixed.Point26_6) point { return point{at.x + float64(p.X)*unit, at.y + float64(p.Y)*unit} }
		var outline []point
		for _, s := range segments {
			switch s.Op {
			case sfnt.SegmentOpMoveTo:
				if outline != nil {
					outlines = append(outlines, outline)
				}
				outline = []point{to(s.Args[0])}
			case sfnt.SegmentOpLineTo:
				outline = append(outline, to(s.Args[0]))
			case sfnt.SegmentOpQuadTo: // the Go font has no cubic curves
				const pieces = 6
				p, q, r := outline[len(outline)-1], to(s.Args[0]), to(s.Args[1])
				for i := 1; i <= pieces; i++ {
					t := float64(i) / pieces
					a, b, c := (1-t)*(1-t), 2*t*(1-t), t*t
					outline = append(outline, point{a*p.x + b*q.x + c*r.x, a*p.y + b*q.y + c*r.y})
				}
			}
		}
		if outline != nil {
			outlines = append(outlines, outline)
		}
		if advance, err := goFont().GlyphAdvance(&buf, glyph, fixed.I(unitsPerEm), font.HintingNone); err == nil {
			at.x += float64(advance) * unit
		}
	}
	return outlines
}
