// Package report turns plain tables, curves and pictures into what people read: terminal text, CSV, LaTeX, SVG, PNG,
// and one self-contained HTML page. It knows no solver and imports nothing from this module.
//
// The output depends on the values alone: no clock, no locale, no random names. Values that have no place in a chart
// leave gaps: NaN, ±Inf, values beyond ±1e300, values not positive on a logarithmic axis, and values below the floor.
// An error means that the data contradict themselves (a series with more x than y), or that the writer failed.
package report

import (
	"fmt"
	"strings"
	"unicode"
)

// Page is one HTML document, complete in one file: it loads nothing from elsewhere.
type Page struct {
	Title    string
	Intro    string // plain text; an empty line starts a paragraph
	Sections []Section
}

// Section is a part of a page under one heading.
type Section struct {
	Heading   string
	Text      string // as Page.Intro
	Tables    []*Table
	Charts    []*Chart
	Galleries []*Gallery
}

// clean returns s as one line of valid text: control characters, including line ends, become spaces.
func clean(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == '\u2028' || c == '\u2029' || c == '\ufffe' || c == '\uffff' {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// paragraphs cuts plain text at its empty lines.
func paragraphs(s string) (all []string) {
	var now []string
	for line := range strings.Lines(s + "\n\n") {
		if line = strings.TrimSpace(clean(line)); line != "" {
			now = append(now, line)
		} else if now != nil {
			all = append(all, strings.Join(now, " "))
			now = nil
		}
	}
	return all
}

// inRange reports whether v can be drawn on an axis.
func inRange(v float64, log bool) bool {
	if log {
		return 1e-300 <= v && v <= 1e300
	}
	return -1e300 <= v && v <= 1e300
}

func errorf(kind, name, format string, args ...any) error {
	return fmt.Errorf("report: %s %q: %s", kind, name, fmt.Sprintf(format, args...))
}
