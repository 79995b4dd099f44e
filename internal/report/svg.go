package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// svgWriter writes one drawing. In a drawing that is inline in a page, colors come from the page's style sheet by
// class, the title from the surrounding text, and the namespace from HTML.
type svgWriter struct {
	bytes.Buffer
	inline bool
}

// svg returns the drawing as a file of its own.
func (d *drawing) svg() []byte {
	var b svgWriter
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	b.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img" aria-labelledby="title desc"`+
		` font-family="Helvetica, Arial, 'Liberation Sans', sans-serif">`+"\n", num(d.w), num(d.h), num(d.w), num(d.h))
	b.printf("<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n", esc(d.title), esc(d.desc))
	b.printf(`<rect width="%s" height="%s" fill="%s"/>`+"\n", num(d.w), num(d.h), lightInks[inkPaper])
	b.items(d)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// svgInline returns the drawing as an element of a page; attrs go into its tag.
func (d *drawing) svgInline(attrs string) string {
	b := svgWriter{inline: true}
	b.printf(`<svg viewBox="0 0 %s %s" %s>`, num(d.w), num(d.h), attrs)
	if d.desc != "" {
		b.printf("<desc>%s</desc>", esc(d.desc))
	}
	b.WriteString("\n")
	b.items(d)
	b.WriteString("</svg>")
	return b.String()
}

func (b *svgWriter) printf(format string, args ...any) { fmt.Fprintf(b, format, args...) }

// items writes the items of a drawing. The items of one curve are in one group.
func (b *svgWriter) items(d *drawing) {
	open := -1
	for i := range d.items {
		it := &d.items[i]
		if it.curve != open {
			if open >= 0 {
				b.WriteString("</g>\n")
			}
			if open = it.curve; open >= 0 {
				b.printf(`<g class="curve" data-curve="%d">`, open)
				if !b.inline { // a page shows the names itself
					b.printf("<title>%s</title>", esc(d.curves[open]))
				}
				b.WriteString("\n")
			}
		}
		b.item(it)
	}
	if open >= 0 {
		b.WriteString("</g>\n")
	}
	if b.inline && d.curves != nil {
		b.WriteString(`<circle class="here" r="5" cx="0" cy="0" fill="none" stroke="currentColor" stroke-width="2" visibility="hidden"/>` + "\n")
	}
}

// color returns the attributes that make attr, fill or stroke, the given ink.
func (b *svgWriter) color(ink ink, attr string) string {
	if b.inline {
		return fmt.Sprintf(`class="ink%d" %s="currentColor"`, ink, attr)
	}
	return fmt.Sprintf(`%s="%s"`, attr, lightInks[ink])
}

func (b *svgWriter) item(it *item) {
	color := func(attr string) string { return b.color(it.ink, attr) }
	if it.lines != nil {
		b.printf(`<path %s fill="none" stroke-width="%s"`, color("stroke"), num(it.width))
		if it.curve >= 0 {
			b.WriteString(` stroke-linejoin="round"`)
		}
		if it.dash != nil {
			var lengths []string
			for _, length := range it.dash {
				lengths = append(lengths, num(length))
			}
			b.printf(` stroke-dasharray="%s"`, strings.Join(lengths, " "))
		}
		b.WriteString(` d="`)
		for _, line := range it.lines {
			for i, p := range line {
				b.printf("%c%s %s", "ML"[index(i > 0)], num(p.x), num(p.y))
			}
		}
		b.WriteString("\"/>\n")
	}
	if it.marks != nil {
		b.printf(`<path %s d="`, color("fill"))
		for _, p := range it.marks {
			for i, q := range it.mark.outline(p) {
				b.printf("%c%s %s", "ML"[index(i > 0)], num(q.x), num(q.y))
			}
			b.WriteString("Z")
		}
		b.WriteString("\"/>\n")
	}
	if it.text != (label{}) {
		anchor := ""
		switch it.align {
		case 0.5:
			anchor = ` text-anchor="middle"`
		case 1:
			anchor = ` text-anchor="end"`
		}
		b.printf(`<text %s x="%s" y="%s" font-size="%s"%s>%s`, color("fill"), num(it.at.x), num(it.at.y), num(it.size), anchor, esc(it.text.text))
		if it.text.sup != "" {
			b.printf(`<tspan dy="%s" font-size="%s">%s</tspan>`, num(-supRise*it.size), num(supSize*it.size), esc(it.text.sup))
		}
		b.WriteString("</text>\n")
	}
}

// num writes a coordinate to a hundredth.
func num(v float64) string {
	s := strconv.FormatFloat(v, 'f', 2, 64)
	s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

// esc returns s escaped for text and attributes of XML and HTML.
func esc(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(clean(s))) // a Builder does not fail
	return b.String()
}
