package report

import (
	"slices"
	"testing"
)

// TestLogTicks: a logarithmic axis has labels at powers of ten, or at 1, 2 and 5 times powers of ten if there are too
// few, and marks between them.
func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		most   int
		ticks  []float64
		minor  []float64
	}{
		{1e-6, 1, 4, []float64{1e-6, 1e-4, 1e-2, 1}, []float64{1e-5, 1e-3, 1e-1}},
		{1, 10, 7, []float64{1, 10}, []float64{2, 3, 4, 5, 6, 7, 8, 9}},
		{1, 5, 7, []float64{1, 2, 5}, []float64{3, 4}},
		{20, 50, 7, []float64{20, 50}, []float64{30, 40}},
	} {
		a := newAxis(c.lo, c.hi, true)
		a.setTicks(c.most, func([]tick) bool { return true })
		var ticks []float64
		for _, tick := range a.ticks {
			ticks = append(ticks, tick.v)
		}
		if !slices.Equal(ticks, c.ticks) || !slices.Equal(a.minor, c.minor) {
			t.Errorf("%v to %v: labels at %v, marks at %v, want %v and %v", c.lo, c.hi, ticks, a.minor, c.ticks, c.minor)
		}
	}
}
