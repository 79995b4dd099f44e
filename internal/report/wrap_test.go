package report

import (
	"slices"
	"testing"
)

// TestWrap: lines end at blanks and after hyphens, or inside a word that is longer than a line. The last line
// allowed ends in an ellipsis if text is left.
func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text, widest string
		most         int
		want         []string
	}{
		{"one two three", "one two three", 4, []string{"one two three"}},
		{"one two three", "one two thr", 4, []string{"one two", "three"}},
		{"one two three", "one two", 4, []string{"one two", "three"}},
		{"mmm-mmm", "mmm-m", 4, []string{"mmm-", "mmm"}},
		{"mmmmmmmm", "mmm", 4, []string{"mmm", "mmm", "mm"}},
		{"mm mmmmmm", "mmm", 2, []string{"mm", "m…"}}, // the ellipsis is wider than an m
		{"mmmmmmmm", "mmm", 1, []string{"m…"}},
		{"mmmm", "", 1, []string{"m…"}},
		{" ", "mmm", 1, nil},
	} {
		if got := wrap(c.text, 12, measure(c.widest, 12), c.most); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d lines as wide as %q: %q, want %q", c.text, c.most, c.widest, got, c.want)
		}
	}
}
