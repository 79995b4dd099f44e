package symnmf

import (
	"cmp"
	"math"
	"slices"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// seed improves some rows, spread evenly over all, one at a time from H = 0. In a block they would all choose
// the same first column; one at a time, they give each column rows of its own.
func (s *rowBlockRun) seed(stop func() bool) {
	perColumn, passes := seedsSparse, s.Passes
	if s.evenRows {
		perColumn, passes = seedsDense, min(passes, seedPasses)
	}
	count := min(s.p.n, max(perColumn*s.p.r, 64))
	for k := 0; k < count && !stop(); k++ {
		s.rowBy(passes, int(int64(k)*int64(s.p.n)/int64(count)))
	}
}

// seedsSparse and seedsDense are how many rows seed moves for each column, and seedPasses is the most passes
// that one of dense data gets. With 8 rows and six passes, seeding took a sixth of ORL's time to the error of
// the published code, and CBCL takes a twelfth more sweeps to its last error (decision 0010).
const (
	seedsSparse = 8
	seedsDense  = 4
	seedPasses  = 3
)

// revive gives each zero column the row with the most of A_ii to spare: only there can such a column begin.
func (s *rowBlockRun) revive(stop func() bool) {
	var room []float64
	for j := range s.p.r {
		if s.gram[j*s.pitch+j] != 0 {
			continue
		}
		if room == nil {
			room = make([]float64, s.pitch)
		}
		best, at := 0.0, -1
		for i, p := range s.p.diag {
			if spare := p - kernel.SumSq(s.rowOf(i, room)); spare > best {
				best, at = spare, i
			}
		}
		if at < 0 || best <= 0x1p-40*s.p.diag[at] || stop() {
			return
		}
		s.row(at)
	}
}

// dropLone improves each row that has the only entry of a column with an ℓ₁ weight, where the diagonal is ignored.
// Such an entry counts nothing but its weight, and passes leave it, since nothing else in its column tells them how
// large it is.
func (s *rowBlockRun) dropLone(stop func() bool) {
	if !s.p.ignoreDiag || !kernel.Nonzero(s.p.l1) {
		return
	}
	largest, at, room := make([]float64, s.p.r), make([]int, s.p.r), make([]float64, s.pitch)
	for i := range s.p.n {
		for j, v := range s.rowOf(i, room)[:s.p.r] {
			if sq := v * v; sq > largest[j] {
				largest[j], at[j] = sq, i
			}
		}
	}
	for j, weight := range s.p.l1 {
		d := s.gram[j*s.pitch+j]
		if weight > 0 && d > 0 && d-largest[j] <= roundingOfL*d && !stop() {
			s.row(at[j])
		}
	}
}

// rowsAlone improves the rows of block b, or those that are alike, one at a time. It says whether it got
// through them before a limit.
func (s *rowBlockRun) rowsAlone(b int, stop func() bool) bool {
	lo, hi := b*s.Block, min((b+1)*s.Block, s.p.n)
	rows := func(yield func(i int) bool) { // all of them
		for i := lo; i < hi && yield(i); i++ {
		}
	}
	if s.onlyAlike {
		rows = slices.Values(s.alike(lo, hi))
	}
	for i := range rows {
		if stop() {
			return false
		}
		s.row(i)
	}
	return true
}

// alike returns the rows lo ≤ i < hi of a float64 h that are not zero and equal another of them, up to
// rounding, whose row of A is different. Alone they would gain nothing but to be told apart.
func (s *rowBlockRun) alike(lo, hi int) (rows []int) {
	const (
		sameH = 0x1p-40 // of their squared norms
		sameA = 0x1p-30 // of rows of A times the same vector
	)
	type length struct {
		sq  float64
		row int
	}
	order := make([]length, 0, hi-lo)
	for i := lo; i < hi; i++ {
		if sq := kernel.SumSq(s.h.Row(i)); sq > 0 {
			order = append(order, length{sq, i})
		}
	}
	slices.SortFunc(order, func(x, y length) int { return cmp.Or(cmp.Compare(x.sq, y.sq), x.row-y.row) })
	for k, x := range order[:max(0, len(order)-1)] {
		y := order[k+1]
		if y.sq-x.sq > sameH*x.sq || math.Abs(s.apart[x.row]-s.apart[y.row]) <= sameA*s.apart[x.row] {
			continue
		}
		distance := 0.0
		for j, v := range s.h.Row(x.row) {
			d := v - s.h.Row(y.row)[j]
			distance += d * d
		}
		if distance <= sameH*x.sq {
			rows = append(rows, x.row, y.row)
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

// anyAlike says whether any block has rows that are alike. It first computes what tells rows of A apart.
func (s *rowBlockRun) anyAlike() bool {
	if s.apart == nil {
		v := matrix.NewDense(s.p.n, 1, nil)
		uniform{kernel.Mix(s.p.seed)}.fill(v.Data(), 0)
		for i := range v.Data() {
			v.Data()[i]++
		}
		s.apart = make([]float64, s.p.n)
		product := s.p.a.NewProduct(v, s.p.workers)
		kernel.Blocks(s.p.n, measureBlock, s.p.workers, func(_, lo, hi int) { product.RowsTo(s.apart[lo:hi], lo, hi) })
	}
	for lo := 0; lo < s.p.n; lo += s.Block {
		if len(s.alike(lo, min(lo+s.Block, s.p.n))) > 0 {
			return true
		}
	}
	return false
}

// row improves row i alone. The passes then minimize the objective over that row itself, so no step is
// needed.
func (s *rowBlockRun) row(i int) { s.rowBy(s.Passes, i) }

// rowBy is row with the given number of passes.
func (s *rowBlockRun) rowBy(passes, i int) {
	s.widen()
	r := s.p.r
	hi, old, g, d := s.h.Row(i), s.d[:s.pitch], s.g[:s.pitch], s.d[s.pitch:2*s.pitch]
	copy(old, hi)
	s.product.RowsTo(g, i, i+1)
	p := s.p.diag[i]
	normSq := kernel.SumSq(hi)
	inner := normSq
	for range passes {
		changed := false
		for j := range r {
			dj := s.gram[j*s.pitch : (j+1)*s.pitch]
			o, h := old[j], hi[j]
			rest, own := dj[j]-o*o, normSq-h*h-p
			if rest <= roundingOfL*dj[j] {
				rest = 0
			}
			if math.Abs(own) <= roundingOfL*p {
				own = 0
			}
			others := kernel.Dot(dj, hi)
			b := others - o*inner - rest*h - (g[j] - p*o)
			if math.Abs(b) <= roundingOfB*(math.Abs(others)+math.Abs(o*inner)+math.Abs(g[j])) {
				b = 0
			}
			var x float64
			if s.p.ignoreDiag {
				x, _ = quadraticMinimizer(rest, b+s.p.l1[j], h)
			} else {
				x = bestRoot(rest+own, b+s.p.l1[j])
			}
			if x != h {
				normSq = max(0, normSq+(x-h)*(x+h))
				inner += o * (x - h)
				hi[j] = x
				changed = true
			}
		}
		if !changed {
			break
		}
	}
	for j := range r {
		d[j] = hi[j] - old[j]
		if d[j] != 0 {
			s.report.changed++
		}
	}
	s.report.decrease -= s.rowChange(i, old, d, g) / 4
	for j := range r {
		dj := s.gram[j*s.pitch : (j+1)*s.pitch]
		if hi[j] != 0 {
			kernel.Axpy(dj, hi[j], hi)
		}
		if old[j] != 0 {
			kernel.Axpy(dj, -old[j], old)
		}
	}
	s.product.AddRow(i, d)
	clear(s.d[:2*s.pitch])
}

// rowChange returns by how much ‖A − HHᵀ‖² + 4ΣΛ_j‖H_:,j‖₁ changes when row i alone goes from old to old + d:
// the quartic of a block of one row, at t = 1.
func (s *rowBlockRun) rowChange(i int, old, d, g []float64) float64 {
	var ood, ddd float64 // oldᵀDd and dᵀDd
	for j, v := range d {
		if v != 0 {
			dj := s.gram[j*s.pitch : (j+1)*s.pitch]
			ood += v * kernel.Dot(dj, old)
			ddd += v * kernel.Dot(dj, d)
		}
	}
	l, m, q := kernel.SumSq(old), kernel.Dot(old, d), kernel.SumSq(d)
	change := 4*(ood-kernel.Dot(g, d)+s.penalty(d)) - 2*s.p.diag[i]*q + 2*l*q + 2*ddd + 2*m*m + 4*q*m + q*q
	if s.p.ignoreDiag {
		change -= 4*l*m + 4*m*m + 2*l*q + 4*m*q + q*q
	}
	return change
}
