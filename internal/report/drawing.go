package report

import (
	"strings"
	"sync"
	"unicode"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// drawing has lines, texts and marks on a sheet of w×h units, with y downwards. svg.go and png.go write the same
// drawing.
type drawing struct {
	w, h        float64
	title, desc string
	items       []item
	curves      []string // names, by the number of the curve
	looks       []int    // looks, by the number of the curve
}

type point struct{ x, y float64 }

// item is a line through points, or a text, or a mark.
type item struct {
	curve int // the curve it belongs to, from 0; −1: none
	ink   ink
	lines [][]point // with width and dash
	width float64
	dash  []float64
	marks []point // of the given shape
	mark  mark
	text  label // at the point at, which is on the base line
	at    point
	size  float64
	align float64 // which part of the text lies left of the point: 0, 0.5, 1
}

// ink is a color by its use. The ink of a curve is inkCurve plus its place in the palette.
type ink int

const (
	inkPaper ink = iota
	inkText
	inkMuted // axis labels
	inkAxis
	inkGrid
	inkCurve
)

// Colors for light and dark paper. The seven colors of curves stay distinct under the common kinds of color
// blindness, and each has a contrast of at least 3 to its paper, which TestPalette checks.
var (
	lightInks = []string{"#ffffff", "#1a1a1a", "#4d4d4d", "#6b6b6b", "#e2e2e2",
		"#0068a8", "#cf5300", "#007f5c", "#a8307a", "#2493d1", "#8f6a00", "#111111"}
	darkInks = []string{"#16181c", "#ececec", "#bdbdbd", "#8f8f8f", "#34373d",
		"#4fa8e8", "#ff8a45", "#2fc79a", "#ee86c4", "#9ad4ff", "#e3bd3c", "#f5f5f5"}
)

// dashes and marks tell curves apart without colors: there are 6×4 = 24 looks before both repeat.
var dashes = [][]float64{nil, {8, 4}, {2, 3}, {10, 3, 2, 3}, {16, 5}, {10, 3, 2, 3, 2, 3}}

type mark int

const (
	noMark mark = iota
	disc
	square
	triangle
)

// look returns how a curve of number k is drawn.
func look(k int) (ink, []float64, mark) {
	return inkCurve + ink(k%(len(lightInks)-int(inkCurve))), dashes[k%len(dashes)], mark(k / len(dashes) % 4)
}

// supSize and supRise are the size of an exponent and its rise, in units of the text's size.
const supSize, supRise = 0.75, 0.38

var goFont = sync.OnceValue(func() *sfnt.Font {
	f, err := sfnt.Parse(goregular.TTF)
	if err != nil {
		panic("report: " + err.Error())
	}
	return f
})

// wider is the factor by which a browser's font may be wider than the Go font. DejaVu Sans, the widest of the common
// fonts, stays within it on the labels of the tests.
const wider = 1.12

// measure returns the width of s, an upper bound for common fonts. Characters that the Go font lacks count as a square.
func measure(s string, size float64) float64 {
	const unitsPerEm = 2048
	var buf sfnt.Buffer
	var sum fixed.Int26_6
	for _, c := range s {
		glyph, err := goFont().GlyphIndex(&buf, c)
		advance := fixed.Int26_6(unitsPerEm)
		if unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf) {
			advance = 0
		} else if err == nil && glyph != 0 {
			if a, err := goFont().GlyphAdvance(&buf, glyph, unitsPerEm, font.HintingNone); err == nil {
				advance = a
			}
		}
		sum += advance
	}
	return wider * size * float64(sum) / unitsPerEm
}

// wrap breaks s into lines of at most the given width. It breaks after blanks and any of -/,_;: if it can, and
// elsewhere if it must. Text that does not fit on most lines ends in an ellipsis.
func wrap(s string, size, width float64, most int) (lines []string) {
	rest := []rune(strings.Join(strings.Fields(clean(s)), " "))
	for len(rest) > 0 {
		n, soft := 0, 0
		for n < len(rest) && (n == 0 || measure(string(rest[:n+1]), size) <= width) {
			n++
			if strings.ContainsRune(" -/,_;:", rest[n-1]) {
				soft = n
			}
		}
		if n == len(rest) {
			return append(lines, string(rest))
		}
		if len(lines) == most-1 {
			for n > 1 && measure(string(rest[:n])+"…", size) > width {
				n--
			}
			return append(lines, string(rest[:n])+"…")
		}
		if rest[n] == ' ' {
			soft = n
		}
		if soft > 0 {
			n = soft
		}
		lines = append(lines, strings.TrimSpace(string(rest[:n])))
		rest = []rune(strings.TrimSpace(string(rest[n:])))
	}
	return lines
}
