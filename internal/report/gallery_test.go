package report

import (
	"strings"
	"testing"
)

// TestGalleryNamed: the SVG says what it is and what it shows, for readers who cannot see it.
func TestGalleryNamed(t *testing.T) {
	g := &Gallery{Title: "W & H", W: 2, H: 2, PerRow: 2, Pictures: [][]float64{make([]float64, 4), make([]float64, 4), make([]float64, 4)}}
	svg := string(written(t, "SVG", g.WriteSVG))
	for _, want := range []string{`<title id="title">W &amp; H</title>`, `<desc id="desc">3 pictures of 2 by 2 values in 2 rows of 2; light is large.</desc>`} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
}
