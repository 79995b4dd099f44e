package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// gradientCase is what GradientStep gets: rows of r numbers and, up to the pitch, NaN that must not count.
type gradientCase struct {
	r, pitch      int
	h, hd, ah, l1 []float64
}

const gradientC = 0.3

func newGradientCase(rng *rand.Rand, rows, r, pad int) *gradientCase {
	c := &gradientCase{r: r, pitch: r + pad}
	for _, x := range []*[]float64{&c.h, &c.hd, &c.ah} {
		for k := range rows * c.pitch {
			v := rng.Float64()
			if k%c.pitch >= r {
				v = math.NaN()
			}
			*x = append(*x, v)
		}
	}
	for range r {
		c.l1 = append(c.l1, rng.Float64()/2-0.25)
	}
	return c
}

// plain computes what GradientStep returns, and the sum of the sizes of the products.
func (c *gradientCase) plain() (stepSq, along float64, empty bool, size float64) {
	for lo := 0; lo < len(c.h); lo += c.pitch {
		zero := true
		for j, w := range c.l1 {
			h, ah := c.h[lo+j], c.ah[lo+j]
			g := c.hd[lo+j] - ah + w
			along += ah * h
			size += math.Abs(ah * h)
			step := min(h, gradientC*g)
			stepSq += step * step
			zero = zero && ah == 0
		}
		empty = empty || zero
	}
	return stepSq, along, empty, size
}

func (c *gradientCase) check(t *testing.T, what string) {
	t.Helper()
	stepSq, along, empty := GradientStep(c.h, c.hd, c.ah, c.pitch, c.l1, gradientC)
	wantSq, wantAlong, wantEmpty, size := c.plain()
	same := func(x, y, bound float64) bool {
		return math.Abs(x-y) <= bound || math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
	}
	terms := float64(len(c.h) + 4)
	if !same(stepSq, wantSq, terms*eps*wantSq) || !same(along, wantAlong, terms*eps*size) || empty != wantEmpty {
		t.Fatalf("%d rows of %d, %d apart, %s: %v, %v, %t, want %v, %v, %t", len(c.h)/c.pitch, c.r, c.pitch, what, stepSq, along, empty, wantSq, wantAlong, wantEmpty)
	}
}

// TestGradientStep compares with plain sums. In each place in turn there is then a number that is not finite,
// which must not be lost, or the only one of its row of A·H that is not 0.
func TestGradientStep(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		ones := []float64{1, 1, 1, 1}
		if sq, along, empty := GradientStep(ones, ones, ones, 2, nil, gradientC); sq != 0 || along != 0 || !empty {
			t.Errorf("no columns: %v, %v, %t, want 0, 0, true", sq, along, empty)
		}
		for r := 1; r < 70; r++ {
			rng := rand.New(rand.NewPCG(uint64(r), 14))
			for _, rows := range []int{0, 1, 2, 7} {
				for _, pad := range []int{0, 3} {
					newGradientCase(rng, rows, r, pad).check(t, "random numbers")
				}
			}
			c := newGradientCase(rng, 2, r, r%3)
			for j := range r {
				for name, x := range map[string][]float64{"H": c.h, "H·D": c.hd, "A·H": c.ah, "Λ": c.l1} {
					at := j
					if len(x) > r {
						at += c.pitch * (j % 2)
					}
					kept := x[at]
					for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300} {
						x[at] = v
						c.check(t, fmt.Sprintf("%v in column %d of %s", v, j, name))
						if sq, _, _ := GradientStep(c.h, c.hd, c.ah, c.pitch, c.l1, gradientC); math.IsNaN(v) && !math.IsNaN(sq) {
							t.Fatalf("r = %d: a NaN in column %d of %s is lost", r, j, name)
						}
					}
					x[at] = kept
				}
			}
			for _, zero := range []float64{0, math.Copysign(0, -1)} {
				for i := range 2 {
					c := newGradientCase(rng, 2, r, r%3)
					for j := range r {
						c.ah[i*c.pitch+j] = zero
					}
					c.check(t, fmt.Sprintf("row %d of A·H is %v", i, zero))
					for j := range r {
						for _, v := range []float64{5e-324, -1} {
							c.ah[i*c.pitch+j] = v
							c.check(t, fmt.Sprintf("row %d of A·H is %v but for column %d", i, zero, j))
						}
						c.ah[i*c.pitch+j] = zero
					}
				}
			}
		}
		for what, f := range map[string]func(){
			"H·D is too short": func() {
				GradientStep(make([]float64, 6), make([]float64, 5), make([]float64, 6), 3, make([]float64, 3), 1)
			},
			"A·H is too long": func() {
				GradientStep(make([]float64, 6), make([]float64, 6), make([]float64, 7), 3, make([]float64, 3), 1)
			},
			"a row is not whole": func() {
				GradientStep(make([]float64, 7), make([]float64, 7), make([]float64, 7), 3, make([]float64, 3), 1)
			},
			"Λ is longer than a row": func() {
				GradientStep(make([]float64, 6), make([]float64, 6), make([]float64, 6), 3, make([]float64, 4), 1)
			},
			"rows lie on one another": func() { GradientStep(nil, nil, nil, 0, nil, 1) },
		} {
			if panics(f) != badLen {
				t.Errorf("accepted: %s", what)
			}
		}
	})
}
