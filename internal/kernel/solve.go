package kernel

import (
	"math"
	"unsafe"
)

// RowSolver improves rows of H, each on its own, with D = HᵀH and A·H held fixed. With AVX-512 and AVX2 many
// rows go through the coordinates together, one in each lane of a few vectors. A row's result does not depend
// on the rows beside it, and therefore not on how the rows are divided among calls.
//
// For each number of a row, a pass takes 0.7 + 0.034·r ns with AVX-512, and packing and unpacking take 0.5 to
// 0.7 ns a call (Zen 4 at 3.7 GHz). The multiply–adds of the sums over the other coordinates alone need
// 0.034·r ns. With float32 all of this is halved.
//
// A RowSolver holds scratch space, so each goroutine needs its own.
type RowSolver[F Float] struct {
	r, pitch int
	off      bool
	x        []F
	_        LinesApart
}

// A RowSolver works on many rows at once and keeps their numbers in four arrays, each coordinate by
// coordinate, followed by the numbers that belong to a row as a whole. The numbers of one coordinate, for all
// the rows, take solveBytes bytes.
const (
	packedH      = 0 // the rows
	packedOld    = 1 // the rows as they were when D = HᵀH was computed
	packedLin    = 2 // A_i,:·H − A_ii·old − λ
	packedRest   = 3 // D_jj − old_j² − A_ii, the last only with the diagonal of A; the solver fills it in
	packedArrays = 4
	packedMore   = 5 // numbers of a row as a whole: A_ii, and scratch for the solver
)

// NewRowSolver returns a solver for rows of r numbers that begin pitch ≥ r numbers apart in memory. With
// offDiagonal it solves the problem without the diagonal of A.
func NewRowSolver[F Float](r, pitch int, offDiagonal bool) *RowSolver[F] {
	if pitch < r {
		panic(badLen)
	}
	return &RowSolver[F]{r: r, pitch: pitch, off: offDiagonal}
}

// Orders holds permutations of the coordinates, one for each pass of a RowSolver. Several solvers may read it
// at the same time.
type Orders struct {
	r     int
	lists []int32 // each permutation twice in a row, so that the coordinates other than one are those that follow it
}

// Set replaces the permutations by perms, r coordinates each, which it copies.
func (o *Orders) Set(r int, perms []int32) {
	if r > 0 && len(perms)%r != 0 {
		panic(badLen)
	}
	for _, k := range perms {
		if uint(k) >= uint(r) {
			panic(badIndex)
		}
	}
	if need := 2 * len(perms); cap(o.lists) < need {
		const apart = 32 // numbers of padding, so that no other slice shares a pair of cache lines with these
		o.lists = make([]int32, 0, need+apart)
	}
	o.r, o.lists = r, o.lists[:0]
	for p := perms; len(p) > 0; p = p[r:] {
		o.lists = append(append(o.lists, p[:r]...), p[:r]...)
	}
}

// SolveWidth returns how many rows a solver works on at once: 32, or 64 of float32. In assembly, fewer rows
// take as long.
func SolveWidth[F Float]() int { return solveBytes / int(unsafe.Sizeof(*new(F))) }

// scratch returns room for the packed rows. It begins at a cache line, so that each vector lies in one line.
func (s *RowSolver[F]) scratch(width int) []F {
	n := (packedArrays*s.r + packedMore) * width
	if len(s.x) != n {
		const line = 64
		x := make([]F, n+line/int(unsafe.Sizeof(s.x[0])))
		for uintptr(unsafe.Pointer(&x[0]))%line != 0 {
			x = x[1:]
		}
		s.x = x[:n]
	}
	return s.x
}

// Solve finds better rows than the rows h and sets dst to the differences, new less old. h has len(diag) rows
// of r numbers, which begin pitch numbers apart; what lies between them is neither read nor written. dst and
// g are laid out like h. For each permutation of orders, Solve passes over the coordinates j in that order
// and sets h_j to the minimizer over h_j alone of
//
//	¼‖h‖⁴ + ½hᵀ(D − ooᵀ − p·I)h − (g − p·o − λ)ᵀh,   h ≥ 0,
//
// where o is the row as given, g its row of A·H, p its entry of diag and λ is l1; d is D = HᵀH (r×r), to
// which o contributes. Let
//
//	G = D_jj − o_j²
//	a = ‖h‖² − h_j² + G − p
//	b = G·h_j + o_j·⟨o,h⟩ − (D·h)_j + g_j − p·o_j − λ_j.
//
// The minimizer is the x ≥ 0 with the least x⁴/4 + a·x²/2 − b·x. It is 0 unless b > 0, or a < 0 and
// 27b² < −2a³; otherwise it is the largest root of x³ + a·x − b.
//
// Without the diagonal the function is ½hᵀ(D − ooᵀ)h − (g − p·o − λ)ᵀh, and h_j = max(0, b/G), with two
// exceptions, since nothing bounds h_j then (see CD):
//   - Where G ≤ 0, h_j stays as it is.
//   - Where b/G is above 1e4·√G, h_j becomes 1e4·√G, unless it is larger already.
//
// The new rows are numbers of F, even if h has digits beyond those of F. Where a new number is 0, h plus its
// difference is exactly 0. dst and h must not overlap.
//
// The relative error of a minimizer, given a and b, is within 1e-12, or 1e-6 with float32; a and b have the
// rounding errors of their sums. Finite arguments give finite results if nothing overflows in computing x³.
func (s *RowSolver[F]) Solve(dst, h, g, diag, l1 []float64, d []F, orders *Orders) {
	r, pitch := s.r, s.pitch
	if len(h) != pitch*len(diag) || len(g) != len(h) || len(dst) != len(h) || len(l1) != r || len(d) != r*r || orders.r != r {
		panic(badLen)
	}
	if r == 0 {
		return
	}
	width := SolveWidth[F]()
	x := s.scratch(width)
	for lo := 0; lo < len(diag); lo += width {
		n := min(width, len(diag)-lo)
		from, to := lo*pitch, (lo+n)*pitch
		packRows(x, width, h[from:to], g[from:to], pitch, diag[lo:lo+n], l1)
		solveRows(x, width, n, d, orders.lists, r, s.off)
		unpackRows(dst[from:to], h[from:to], x, width, pitch, n, r)
	}
}

// packRowsGo lays out n = len(diag) rows for the solver, and fills the rest of the width with zeros, which
// cost the solver no extra time. The first rows are laid out already, except for diag. Assembly rounds as
// this function does, so its products and sums must not be fused.
func packRowsGo[F Float](x []F, width int, h, g []float64, pitch int, diag, l1 []float64, first int) {
	r, n := len(l1), len(diag)
	if first < width {
		old, lin := x[packedOld*r*width:], x[packedLin*r*width:]
		for j, w := range l1 {
			row := j * width
			for i := first; i < n; i++ {
				o := h[i*pitch+j]
				x[row+i], old[row+i], lin[row+i] = F(o), F(o), F(g[i*pitch+j]-w-float64(diag[i]*o))
			}
			clear(x[row+n : row+width])
			clear(old[row+n : row+width])
			clear(lin[row+n : row+width])
		}
	}
	p := x[packedArrays*r*width:][:width]
	switch p := any(p).(type) {
	case []float32:
		ToFloat32(p[:n], diag)
	case []float64:
		copy(p, diag)
	}
	clear(p[n:])
}

// unpackRowsGo sets the rows of dst from row first up to row n to the differences between the solver's rows
// and those of h.
func unpackRowsGo[F Float](dst, h []float64, x []F, width, pitch, n, r, first int) {
	for i := first; i < n; i++ {
		for j := range r {
			dst[i*pitch+j] = float64(x[j*width+i]) - h[i*pitch+j]
		}
	}
}

// solveRowsGo does the passes of Solve for the first n of the width rows in x.
func solveRowsGo[F Float](x []F, width, n int, d []F, lists []int32, r int, off bool) {
	coordinate := func(array int, j int32) []F { return x[(array*r+int(j))*width:][:n] }
	more := x[packedArrays*r*width:]
	diag, normSq, inner, sum := more[:n], more[width:][:n], more[2*width:][:n], more[3*width:][:n]
	clear(normSq)
	for j := range int32(r) {
		for i, v := range coordinate(packedH, j) {
			normSq[i] += v * v
		}
	}
	copy(inner, normSq) // h is old
	for ; len(lists) > 0; lists = lists[2*r:] {
		for at, j := range lists[:r] {
			dj := d[int(j)*r : (int(j)+1)*r]
			h, old := coordinate(packedH, j), coordinate(packedOld, j)
			copy(sum, coordinate(packedLin, j))
			others := lists[at+1 : at+r]
			for ; len(others) >= 4; others = others[4:] {
				k0, k1, k2, k3 := others[0], others[1], others[2], others[3]
				h0, h1, h2, h3 := coordinate(packedH, k0), coordinate(packedH, k1), coordinate(packedH, k2), coordinate(packedH, k3)
				c0, c1, c2, c3 := dj[k0], dj[k1], dj[k2], dj[k3]
				for i, v := range sum {
					sum[i] = v - ((c0*h0[i] + c1*h1[i]) + (c2*h2[i] + c3*h3[i]))
				}
			}
			for _, k := range others {
				c := dj[k]
				for i, v := range coordinate(packedH, k) {
					sum[i] -= c * v
				}
			}
			for i, v := range h {
				o := old[i]
				normSq[i] -= v * v
				inner[i] -= v * o
				a, b := float64(dj[j]-o*o), float64(sum[i]+o*inner[i])
				if off {
					v = F(quadraticMinimizer(a, b, float64(v)))
				} else {
					v = F(quarticMinimizer(a+float64(normSq[i]-diag[i]), b))
				}
				normSq[i] += v * v
				inner[i] += v * o
				h[i] = v
			}
		}
	}
}

// quarticMinimizer returns the x ≥ 0 with the least x⁴/4 + a·x²/2 − b·x. Newton's iteration that starts above
// the largest root of the derivative stays above it, because the derivative is convex and increasing there.
func quarticMinimizer(a, b float64) float64 {
	x := b / a
	switch {
	case !(b > 0 || x*x < -2*a/27):
		return 0
	case !(a > 0 && x*x < a): // otherwise x, the root without the term x³, is at most 1.5 times the root
		y := math.Sqrt(max(-a, 0)) + math.Cbrt(max(b, 0))
		if !(a > 0 && x < y) {
			x = y
		}
	}
	for {
		step := ((x*x+a)*x - b) / (3*x*x + a)
		x -= step
		if !(math.Abs(step) > 1e-7*x) { // the next one would be below 2e-14·x
			return x
		}
	}
}

// quadraticMinimizer returns the x ≥ 0 with the least a·x²/2 − b·x, with the exceptions listed at Solve; h is
// the current x.
func quadraticMinimizer(a, b, h float64) float64 {
	if a <= 0 {
		return h
	}
	x, most := max(b/a, 0), 1e4*math.Sqrt(a)
	if x > most {
		return max(h, most)
	}
	return x
}
