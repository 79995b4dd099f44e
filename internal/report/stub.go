// Package report renders plain tables, curves and pictures. It knows no solver. This file is a stand-in: text and CSV only.
package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table is rows of cells under column heads.
type Table struct {
	Name, Title string // Name is the stem of a file's name
	Columns     []string
	Rows        [][]string
	Notes       []string
}

// Chart is curves on one pair of axes.
type Chart struct {
	Name, Title, XLabel, YLabel string
	LogX, LogY                  bool
	Series                      []Series
	Floor                       float64 // values below are not drawn; 0: none
}

// Series is one curve.
type Series struct {
	Name string
	X, Y []float64
}

// Gallery is small grey pictures side by side, each W×H, values 0 to 1 by rows, 1 = white.
type Gallery struct {
	Name, Title  string
	W, H, PerRow int
	Pictures     [][]float64
}

// Page is one self-contained HTML document.
type Page struct {
	Title, Intro string
	Sections     []Section
}

// Section is a part of a page.
type Section struct {
	Heading, Text string
	Tables        []*Table
	Charts        []*Chart
	Galleries     []*Gallery
}

// WriteText writes aligned columns.
func (t *Table) WriteText(w io.Writer) error {
	width := make([]int, len(t.Columns))
	lines := append([][]string{t.Columns}, t.Rows...)
	for _, line := range lines {
		for k, cell := range line {
			width[k] = max(width[k], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintln(&b, t.Title)
	}
	for _, line := range lines {
		text := ""
		for k, cell := range line {
			pad := strings.Repeat(" ", width[k]-utf8.RuneCountInString(cell))
			if k == 0 {
				text += cell + pad
			} else {
				text += "  " + pad + cell
			}
		}
		fmt.Fprintln(&b, strings.TrimRight(text, " "))
	}
	for _, note := range t.Notes {
		fmt.Fprintln(&b, note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteCSV writes the heads and the rows.
func (t *Table) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write(t.Columns)
	out.WriteAll(t.Rows)
	return out.Error()
}

// WriteLaTeX is not in the stand-in.
func (t *Table) WriteLaTeX(w io.Writer) error { return later(w) }

// WriteCSV writes a line for every point.
func (c *Chart) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"series", "x", "y"})
	for _, s := range c.Series {
		for k, x := range s.X {
			out.Write([]string{s.Name, strconv.FormatFloat(x, 'g', -1, 64), strconv.FormatFloat(s.Y[k], 'g', -1, 64)})
		}
	}
	out.Flush()
	return out.Error()
}

// WriteSVG is not in the stand-in.
func (c *Chart) WriteSVG(w io.Writer) error { return later(w) }

// WritePNG is not in the stand-in.
func (c *Chart) WritePNG(w io.Writer) error { return later(w) }

// WriteSVG is not in the stand-in.
func (g *Gallery) WriteSVG(w io.Writer) error { return later(w) }

// WritePNG is not in the stand-in.
func (g *Gallery) WritePNG(w io.Writer) error { return later(w) }

// WriteHTML writes the tables as text.
func (p *Page) WriteHTML(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html><meta charset=utf-8><title>%s</title><p>%s</p>\n", html.EscapeString(p.Title), html.EscapeString(p.Intro))
	for _, s := range p.Sections {
		fmt.Fprintf(&b, "<h2>%s</h2><p>%s</p>\n", html.EscapeString(s.Heading), html.EscapeString(s.Text))
		for _, t := range s.Tables {
			var text strings.Builder
			if err := t.WriteText(&text); err != nil {
				return err
			}
			fmt.Fprintf(&b, "<pre>%s</pre>\n", html.EscapeString(text.String()))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func later(w io.Writer) error {
	if w == nil {
		return errors.New("report: no writer")
	}
	_, err := io.WriteString(w, "stand-in\n")
	return err
}
