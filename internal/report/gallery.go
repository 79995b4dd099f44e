package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
)

// Gallery has small gray pictures side by side, such as the columns of H as pictures.
type Gallery struct {
	Name     string // stem of the file's name: "figure1"
	Title    string
	W, H     int         // size of each picture
	PerRow   int         // pictures in a row; 0: as many as there are rows, or one more
	Inverted bool        // 0 is white and 1 black
	Pictures [][]float64 // W·H values from 0 to 1 by rows, 1 being white; values outside are clamped, NaN leaves a hole
}

func (g *Gallery) check() error {
	if len(g.Pictures) > 0 && (g.W <= 0 || g.H <= 0) || g.PerRow < 0 {
		return errorf("gallery", g.Name, "pictures of %d×%d, %d a row", g.W, g.H, g.PerRow)
	}
	for i, picture := range g.Pictures {
		if len(picture) != g.W*g.H {
			return errorf("gallery", g.Name, "picture %d has %d values, not %d×%d", i+1, len(picture), g.W, g.H)
		}
	}
	return nil
}

// grid returns the number of pictures in a row and the number of rows.
func (g *Gallery) grid() (cols, rows int) {
	n := len(g.Pictures)
	if cols = min(g.PerRow, n); g.PerRow == 0 {
		cols = int(math.Ceil(math.Sqrt(float64(n))))
	}
	if cols = max(cols, 1); n == 0 {
		return cols, 1
	}
	return cols, (n + cols - 1) / cols
}

// picture returns picture i, with one pixel per value.
func (g *Gallery) picture(i int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, g.W, g.H))
	for p, v := range g.Pictures[i] {
		if math.IsNaN(v) {
			continue // transparent
		}
		if v = min(max(v, 0), 1); g.Inverted {
			v = 1 - v
		}
		gray := uint8(math.Round(255 * v))
		img.SetNRGBA(p%g.W, p/g.W, color.NRGBA{gray, gray, gray, 255})
	}
	return img
}

// zoom returns the pixels per value in a PNG, and the units per value in an SVG: from 1 to 8, as many as bring
// the width near 1000.
func (g *Gallery) zoom() int {
	cols, _ := g.grid()
	return max(1, min(8, 1000/max(1, cols*(g.W+1))))
}

// gap is the space around pictures, in pixels of a PNG or units of an SVG.
const gap = 6

// cell returns the rectangle of picture i, and size the size of the whole, in pixels of a PNG or units of an SVG.
func (g *Gallery) cell(i int) image.Rectangle {
	cols, _ := g.grid()
	w, h := g.W*g.zoom(), g.H*g.zoom()
	corner := image.Pt(gap+i%cols*(w+gap), gap+i/cols*(h+gap))
	return image.Rectangle{corner, corner.Add(image.Pt(w, h))}
}

func (g *Gallery) size() image.Point {
	cols, rows := g.grid()
	return image.Pt(gap+cols*(g.W*g.zoom()+gap), gap+rows*(g.H*g.zoom()+gap))
}

// WritePNG writes the pictures, each in a thin frame, without the title.
func (g *Gallery) WritePNG(w io.Writer) error {
	if err := g.check(); err != nil {
		return err
	}
	img := image.NewRGBA(image.Rectangle{Max: g.size()})
	draw.Draw(img, img.Bounds(), image.NewUniform(rgb(lightInks[inkPaper])), image.Point{}, draw.Src)
	for i := range g.Pictures {
		cell, zoom := g.cell(i), g.zoom()
		draw.Draw(img, cell.Inset(-1), image.NewUniform(rgb(lightInks[inkAxis])), image.Point{}, draw.Src)
		draw.Draw(img, cell, image.NewUniform(rgb(lightInks[inkPaper])), image.Point{}, draw.Src)
		picture := g.picture(i)
		for y := range g.H {
			for x := range g.W {
				at := cell.Min.Add(image.Pt(x*zoom, y*zoom))
				draw.Draw(img, image.Rectangle{at, at.Add(image.Pt(zoom, zoom))}, image.NewUniform(picture.At(x, y)), image.Point{}, draw.Over)
			}
		}
	}
	return png.Encode(w, img)
}

// describe says in words what the gallery shows.
func (g *Gallery) describe() string {
	cols, rows := g.grid()
	shade := "light is large"
	if g.Inverted {
		shade = "dark is large"
	}
	return fmt.Sprintf("%d pictures of %d by %d values in %d rows of %d; %s.", len(g.Pictures), g.W, g.H, rows, cols, shade)
}

// WriteSVG writes the pictures as images inside the file.
func (g *Gallery) WriteSVG(w io.Writer) error {
	if err := g.check(); err != nil {
		return err
	}
	var b svgWriter
	size := g.size()
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	b.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-labelledby="title desc">`+"\n",
		size.X, size.Y, size.X, size.Y)
	b.printf("<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n", esc(g.Title), esc(g.describe()))
	b.printf(`<rect width="%d" height="%d" fill="%s"/>`+"\n", size.X, size.Y, lightInks[inkPaper])
	if err := b.pictures(g); err != nil {
		return err
	}
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

// svgInline returns the gallery as an element of a page; attrs go into its tag.
func (g *Gallery) svgInline(attrs string) (string, error) {
	b := svgWriter{inline: true}
	size := g.size()
	b.printf(`<svg viewBox="0 0 %d %d" width="%d" height="%d" %s><desc>%s</desc>`+"\n", size.X, size.Y, size.X, size.Y, attrs, esc(g.describe()))
	err := b.pictures(g)
	b.WriteString("</svg>")
	return b.String(), err
}

func (b *svgWriter) pictures(g *Gallery) error {
	for i := range g.Pictures {
		var file bytes.Buffer
		if err := png.Encode(&file, g.picture(i)); err != nil {
			return err
		}
		at := g.cell(i)
		b.printf(`<g><title>%d</title><rect x="%d" y="%d" width="%d" height="%d" fill="none" %s stroke-width="2"/>`, i+1, at.Min.X, at.Min.Y,
			at.Dx(), at.Dy(), b.color(inkAxis, "stroke"))
		b.printf(`<image x="%d" y="%d" width="%d" height="%d" preserveAspectRatio="none" image-rendering="pixelated" href="data:image/png;base64,%s"/></g>`+"\n",
			at.Min.X, at.Min.Y, at.Dx(), at.Dy(), base64.StdEncoding.EncodeToString(file.Bytes()))
	}
	return nil
}
