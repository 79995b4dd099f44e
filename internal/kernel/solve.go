package kernel

import (
	"math"
	"unsafe"
)

// RowSolver improves rows of H, each by itself while D = HᵀH and A·H stay as they were. With AVX-512 and AVX2 many rows go
// through the coordinates together, one in each lane of a few vectors. A row's result does not depend on the rows beside
// it, and so not on how the rows are dealt out to calls.
//
// A pass over one entry takes 0.7 + 0.034·r ns with AVX-512, and laying it out and back 0.5 to 0.7 ns a call (Zen 4 at
// 3.7 GHz). The multiply–adds of the sums over the other coordinates alone need 0.034·r. With float32 it is half of that.
//
// It holds scratch, so each goroutine needs its own.
type RowSolver[F Float] struct {
	r, pitch int
	off      bool
	x        []F
	_        LinesApart
}

// The numbers that RowSolver keeps for each of the rows it works on at once, coordinate by coordinate in four arrays, and
// after them what is not of coordinates. Those of one coordinate, for all the rows, are in as many bytes as vectors of rows.
const (
	packedH      = 0 // the rows
	packedOld    = 1 // as they were when D = HᵀH was computed
	packedLin    = 2 // A_i,:·H − A_ii·old − λ
	packedRest   = 3 // D_jj − old_j² − A_ii, the last only with the diagonal; the solver's to fill in
	packedArrays = 4
	packedMore   = 5 // A_ii, and scratch for the solver
)

// NewRowSolver returns a solver for rows of r numbers that are pitch ≥ r apart in memory: if offDiagonal, of the problem
// without the diagonal of A.
func NewRowSolver[F Float](r, pitch int, offDiagonal bool) *RowSolver[F] {
	if pitch < r {
		panic(badLen)
	}
	return &RowSolver[F]{r: r, pitch: pitch, off: offDiagonal}
}

// Orders are permutations of the coordinates that a RowSolver visits, one a pass. Several may read them at once.
type Orders struct {
	r     int
	lists []int32 // each permutation twice over: then the coordinates other than one are those that follow it
}

// Set makes them perms, r coordinates each, which it copies.
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
		const apart = 32 // numbers, so that none of another slice share a cache line, or a pair of them, with these
		o.lists = make([]int32, 0, need+apart)
	}
	o.r, o.lists = r, o.lists[:0]
	for p := perms; len(p) > 0; p = p[r:] {
		o.lists = append(append(o.lists, p[:r]...), p[:r]...)
	}
}

// SolveWidth is how many rows a solver works on at once: 32, or 64 of float32. Fewer take as long.
func SolveWidth[F Float]() int { return solveBytes / int(unsafe.Sizeof(*new(F))) }

// scratch returns room for rows laid out, each vector in one cache line.
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

// Solve sets dst to the way from the rows h (len(diag) rows, r numbers every pitch, the rest neither read nor written, in dst
// and g as in h) to better ones. For each permutation of orders it passes over the coordinates j in this order, and sets h_j to the minimizer over h_j alone of
//
//	¼‖h‖⁴ + ½hᵀ(D − ooᵀ − p·I)h − (g − p·o − λ)ᵀh,   h ≥ 0,
//
// where o is the row as given, g that of A·H and p its entry of diag, and d is D = HᵀH (r×r) with o in it. With a = ‖h‖² −
// h_j² + G − p, b = G·h_j + o_j·⟨o,h⟩ − (D·h)_j + g_j − p·o_j − λ_j and G = D_jj − o_j², this is the x ≥ 0 with the least
// x⁴/4 + a·x²/2 − b·x: 0 unless b > 0, or a < 0 and 27b² < −2a³; else the largest root of x³ + a·x − b. Without the
// diagonal the function is ½hᵀ(D − ooᵀ)h − (g − p·o − λ)ᵀh and h_j = max(0, b/G); but where G ≤ 0 it stays, and where b/G is
// above 1e4·√G it becomes that unless it is larger already (nothing bounds it then; see CD).
//
// The way leads to numbers of F, whatever digits h has beyond them: onto zero exactly. dst and h must not overlap.
//
// A minimizer is within 1e-12 of what a and b give, relatively, or 1e-6 with float32; a and b have the rounding errors of
// their sums. All that is finite and does not overflow as x³ gives finite results.
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

// packRowsGo lays n = len(diag) rows out for the solver, and zeros, on which no time is lost, for the rest of the width. The
// first rows are there already, but for diag. Assembly rounds as this does, which must not be fused.
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

// unpackRowsGo sets the n rows of dst from first on to the way there from those of h.
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

// quarticMinimizer returns the x ≥ 0 with the least x⁴/4 + a·x²/2 − b·x. Newton's iteration from above the largest root of
// the derivative stays above it, where the derivative is convex and rises.
func quarticMinimizer(a, b float64) float64 {
	x := b / a
	switch {
	case !(b > 0 || x*x < -2*a/27):
		return 0
	case !(a > 0 && x*x < a): // else it is the root but for x³, at most 1.5 times as large
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

// quadraticMinimizer returns the x ≥ 0 with the least a·x²/2 − b·x, with the exceptions of Solve; h is the x so far.
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
