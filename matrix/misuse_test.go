package matrix

import (
	"math"
	"testing"
)

// TestNoSuchPlace: a row, column or constant that does not exist is a mistake in the caller's program. It
// panics; it does not count as 0 or as another.
func TestNoSuchPlace(t *testing.T) {
	m, err := NewCSR(2, 2, []int64{0, 1, 2}, []int32{0, 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	most := math.MaxInt32
	for name, f := range map[string]func(){
		"too many sparse columns":   func() { NewDense(0, most+1, nil).CSR() },
		"a column before the first": func() { m.At(0, -1) },
		"a column behind the last":  func() { m.At(0, 2) },
		"a row behind the last":     func() { m.At(2, 0) },
		"items of another kind":     func() { Gram(m, 2, 1) },
		"a symmetrization":          func() { NewDense(2, 2, []float64{1, 2, 3, 4}).Symmetrize(3) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
