package symnmf

import (
	"math"
	"testing"
)

// TestLargestEigenvalue: the largest eigenvalue of a Gram matrix is right at any scale, also if some columns
// are far shorter than others.
func TestLargestEigenvalue(t *testing.T) {
	for name, c := range map[string]struct {
		a    []float64
		want float64
	}{
		"one":                {[]float64{3}, 3},
		"two":                {[]float64{2, 1, 1, 2}, 3},
		"zeros":              {make([]float64, 9), 0},
		"less than rounding": {[]float64{-1e-20, 0, 0, -1e-20}, 0},
		"two short columns":  {[]float64{4, 0, 0, 0, 1e-200, 1e-200, 0, 1e-200, 2e-200}, 4},
		"all short":          {[]float64{2e-300, 1e-300, 1e-300, 2e-300}, 3e-300},
		"all long":           {[]float64{2e300, 1e300, 1e300, 2e300}, 3e300},
		"hardly together":    {[]float64{1, 1e-9, 1e-9, 1}, 1 + 1e-9},
		"apart":              {[]float64{1, 0, 0, 0, 1e-40, 0, 0, 0, 1e-9}, 1},
	} {
		r := int(math.Sqrt(float64(len(c.a))))
		if got := largestEigenvalue(c.a, r); !(math.Abs(got-c.want) <= 1e-15*c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
