package symnmf

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"symnmf/matrix"
)

// iterate is H with what is known about it in methods that change all of H at once: A·H, D = HᵀH, and the
// figures. Only look computes them.
type iterate struct {
	p    *problem
	h    *matrix.Dense // n×r
	ah   *matrix.Dense // A·H, n×r
	hd   *matrix.Dense // H·D, n×r; nil for methods that do not use it
	gram []float64     // D, r×r
	at   figures       // without counts of zeros; methods that look have no ℓ₁ term; those without hd only show them
}

// newIterate returns an iterate of h that has looked at it. O(nnz·r + n·r²), as every look.
func newIterate(p *problem, h *matrix.Dense) *iterate {
	return newIterateIn(p, h, nil)
}

// newSloped is newIterate for methods that use the two parts of the gradient, H·D and A·H.
func newSloped(p *problem, h *matrix.Dense) *iterate {
	return newIterateIn(p, h, matrix.NewDense(p.n, p.r, nil))
}

// newIterateIn is newIterate with memory for H·D, or nil.
func newIterateIn(p *problem, h, hd *matrix.Dense) *iterate {
	s := &iterate{p: p, h: h, ah: matrix.NewDense(p.n, p.r, p.spareRoom(p.n*p.r)), hd: hd}
	s.look()
	return s
}

// other returns another such iterate, of H = 0 and not yet looked at, for methods that try a point before
// they move to it.
func (s *iterate) other() *iterate {
	like := func() *matrix.Dense { return matrix.NewDense(s.p.n, s.p.r, nil) }
	return &iterate{p: s.p, h: like(), ah: like(), hd: like()}
}

// look computes what is known from H and returns the report of a sweep that ended there: the changes since
// the last look. At least one entry is said to have changed unless the objective is the same to the last bit.
func (s *iterate) look() sweepReport {
	before := s.at.objective()
	s.p.times(s.ah, s.h)
	s.gram = s.p.gram(s.h)
	measure := func() {
		s.at = s.p.measureRows(s.h, s.gram, s.hd, func(_ []float64, lo, hi int) []float64 { return s.ah.Data()[lo*s.p.r : hi*s.p.r] })
	}
	if s.hd == nil {
		s.p.aside(measure)
	} else {
		measure()
	}
	return s.since(before)
}

// take moves to the H of next, which has looked at it, and reports as look does. What next has after that may
// be overwritten.
func (s *iterate) take(next *iterate) sweepReport {
	before := s.at.objective()
	copy(s.h.Data(), next.h.Data())
	s.ah, next.ah = next.ah, s.ah
	s.hd, next.hd = next.hd, s.hd
	s.gram, s.at = next.gram, next.at
	return s.since(before)
}

// since returns the report of a sweep that began with the objective before.
func (s *iterate) since(before float64) sweepReport {
	rep := sweepReport{decrease: before - s.at.objective(), stepSq: s.at.gradKKT}
	if rep.decrease != 0 {
		rep.changed = 1
	}
	return rep
}

// verify implements checker: A·H, D and H·D are those of this H.
func (s *iterate) verify() error {
	fresh := newSloped(s.p, s.h)
	if s.hd != nil {
		for k, want := range fresh.hd.Data() {
			if got := s.hd.Data()[k]; got != want {
				return fmt.Errorf("maintained (HD)[%d,%d] is %v, the product gives %v", k/s.p.r, k%s.p.r, got, want)
			}
		}
	}
	for k, want := range fresh.ah.Data() {
		if got := s.ah.Data()[k]; got != want {
			return fmt.Errorf("maintained (AH)[%d,%d] is %v, the product gives %v", k/s.p.r, k%s.p.r, got, want)
		}
	}
	for k, want := range fresh.gram {
		if got := s.gram[k]; got != want {
			return fmt.Errorf("maintained D[%d,%d] is %v, HᵀH gives %v", k/s.p.r, k%s.p.r, got, want)
		}
	}
	return nil
}

// times fills dst with A·x, both n×k for any k. Every method that needs the whole product multiplies this
// way.
func (p *problem) times(dst, x *matrix.Dense) {
	if p.multiplyA == nil {
		p.multiplyA = matrix.Repeated(p.a, p.workers)
	}
	p.multiplyA(dst, x)
}

// largestEigenvalue returns the largest eigenvalue of a symmetric r×r matrix that has no negative ones but
// for rounding. Should the iteration not converge, which has not been observed, it returns their sum, which
// is a bound, too.
func largestEigenvalue(a []float64, r int) float64 {
	// In parts of the largest entry, which is on the diagonal. gonum's iteration panics on a block that has
	// only smaller entries.
	const nothing = 0x1p-200
	var sum, largest float64
	for j := range r {
		sum += a[j*r+j]
		largest = max(largest, a[j*r+j])
	}
	if r < 2 {
		return max(0, sum)
	}
	_, exponent := math.Frexp(largest)
	b := make([]float64, len(a))
	for i, v := range a {
		if math.Abs(v) >= nothing*largest {
			b[i] = math.Ldexp(v, -exponent)
		}
	}
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(r, b), false) {
		return max(0, sum)
	}
	return max(0, math.Ldexp(e.Values(nil)[r-1], exponent))
}
