package median

import "testing"

// TestMedian checks medians of odd and even counts, and that the numbers stay in their order.
func TestMedian(t *testing.T) {
	x := []float64{5, 1, 4}
	if got := Of(x); got != 4 || x[0] != 5 {
		t.Errorf("median %v, numbers now %v", got, x)
	}
	for _, tc := range []struct {
		x    []float64
		want float64
	}{{[]float64{7}, 7}, {[]float64{9, 2}, 5.5}, {[]float64{3, 1, 2, 100}, 2.5}, {[]float64{2, 2, 1, 8, 9}, 2}} {
		if got := Of(tc.x); got != tc.want {
			t.Errorf("median of %v is %v, want %v", tc.x, got, tc.want)
		}
	}
	if got := OfSorted([]int{1, 2, 5, 9}); got != 3.5 {
		t.Errorf("median of whole numbers %v, want 3.5", got)
	}
}
