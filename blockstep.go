package symnmf

import "symnmf/internal/kernel"

// blockState is what RowBlock needs for one block of a sweep.
type blockState struct {
	// The members of the team write g, d, lower, near and more, each for its own groups. They are B×pitch,
	// with gaps of gap numbers between groups: see at.
	gap   int
	g, d  []float64   // (A·H)_B, and the directions of the rows
	lower []float64   // what the rows before the block contribute to (A·H)_B, if there is a LowerProduct
	near  []float64   // what its own rows contribute, if there is a NearProduct
	more  [][]float64 // the terms that g lacks, if there is a TermProduct

	// way is d without gaps, for all members to read; without gaps in d it is d itself. It is not kept up
	// where members read gains instead.
	way []float64
	// shortens says whether ⟨A_BB·d, d⟩ is found from short, which is d rounded and half as much for other
	// members to read: while H is rounded, unless that is little work.
	shortens bool
	short    []float32

	dd, hd []float64 // dᵀd, and H_Bᵀd + dᵀH_B
	packed []float64 // D, r×r, for the passes in float64
	narrow []float32 // the same, for those in float32
	orders orders    // of the coordinates, for the passes under way
	_      kernel.LinesApart
	coming orders // for the passes after them, drawn by one member while others read the orders above
	_      kernel.LinesApart
	groups []rowGroup
	// gains has for each group, if there is a GainProduct, what its rows add to Z: by d, without t, or by how
	// they have moved if that is not t·d. As Z moves, each is multiplied by its number in counts.
	gains  [][]float64
	counts []float64

	// still has for each block the number of sweeps when it last did not move together.
	still []int
}

// orders are the orders in which the passes over a block in a sweep visit the coordinates, one pass after the
// other.
type orders struct {
	kernel.Orders
	perms []int32
	of    blockInSweep
}

type blockInSweep struct{ sweep, block int }

func newOrders(passes, r int) orders {
	const apart = 32 // numbers, so that these do not share a cache line, or a pair of lines, with another slice
	return orders{perms: make([]int32, passes*r, passes*r+apart), of: blockInSweep{-1, -1}}
}

// draw makes o the orders for a block in a sweep.
func (s *rowBlockRun) draw(o *orders, of blockInSweep) {
	r := s.p.r
	for k := range s.Passes {
		shuffle(o.perms[k*r:(k+1)*r], s.p.seed, uint64(s.number), uint64(of.sweep), uint64(of.block*s.Block), uint64(k))
	}
	o.Set(r, o.perms)
	o.of = of
}

// takeOrders sets orders to those for block b of this sweep. As a rule they are the ones in coming.
func (s *rowBlockRun) takeOrders(b int) {
	s.orders, s.coming = s.coming, s.orders
	if at := (blockInSweep{s.sweeps, b}); s.orders.of != at {
		s.draw(&s.orders, at)
	}
}

// after returns the block after block b of this sweep, which may be in the next sweep.
func (s *rowBlockRun) after(b int) blockInSweep {
	if (b+1)*s.Block < s.p.n {
		return blockInSweep{s.sweeps, b + 1}
	}
	return blockInSweep{s.sweeps + 1, 0}
}

// rowGroup is a part of a block whose rows go through the row solver together.
type rowGroup struct {
	double  *kernel.RowSolver[float64]
	single  *kernel.RowSolver[float32]
	hd, dd  []float64  // H_Gᵀd, and dᵀd from the diagonal on
	h       []float64  // room for its rows of H while H is in float32
	lin     float64    // Σ Λ_j·d_ij − ⟨G, d⟩
	sum     float64    // what its rows contribute to a sum over all rows, in innerOf and gainAlone
	own     float64    // Σ A_ii‖d_i‖², diagonal ignored or not, where q is guessed
	lower   float64    // ⟨lower, H_G⟩ after they have moved
	near    float64    // ⟨near, H_G + e⟩ after they have moved by e
	quartic [4]float64 // what leaveOut adds to c₁, …, c₄ for its rows
	uphill  float64    // ⟨Y − H_new, H_new − H_old⟩ of its rows
	clipped bool       // whether some entries did not move by t·d
	_       kernel.LinesApart
}

// groupsOf returns the groups of that many rows, and the number of rows in each but the last: as many as the
// row solver takes at once. The groups fix the order of sums.
func (s *rowBlockRun) groupsOf(rows int) (groups []rowGroup, size int) {
	size = s.groupRows()
	return s.groups[:kernel.BlockCount(rows, size)], size
}

func (s *rowBlockRun) groupRows() int {
	if s.single {
		return kernel.SolveWidth[float32]()
	}
	return kernel.SolveWidth[float64]()
}

// at returns the rows from to to of x, which is g, d, lower, near or one of the terms. The rows are all of
// one group, in the block that begins with row lo.
func (s *rowBlockRun) at(x []float64, lo, from, to int) []float64 {
	first := (from-lo)*s.pitch + (from-lo)/s.groupRows()*s.gap
	return x[first : first+(to-from)*s.pitch]
}

// byGroups returns room for the rows of a block, group by group.
func (s *rowBlockRun) byGroups() []float64 {
	return make([]float64, max(s.Block, 2)*s.pitch+len(s.groups)*s.gap) // row needs two rows of d
}

// show lets all members see the directions of the rows from to to, unless they see gains instead.
func (s *rowBlockRun) show(lo, from, to int) {
	switch {
	case s.rough.now:
		s.rough.product.TakeWay(s.at(s.d, lo, from, to), from, to)
	case s.gap > 0 && s.gainProduct == nil:
		copy(s.way[(from-lo)*s.pitch:(to-lo)*s.pitch], s.at(s.d, lo, from, to))
	}
}

// findGain finds the gain for the d of the rows from to to, all of one group, in the block that begins with
// row lo.
func (s *rowBlockRun) findGain(lo, from, to int) {
	s.gainProduct.GainTo(s.gains[(from-lo)/s.groupRows()], from, s.at(s.d, lo, from, to))
}

// eachGroup calls f for each group of the rows lo to hi.
func (s *rowBlockRun) eachGroup(lo, hi int, f func(g *rowGroup, from, to int)) {
	groups, size := s.groupsOf(hi - lo)
	s.team.Do(len(groups), func(k int) { f(&groups[k], lo+k*size, min(lo+(k+1)*size, hi)) })
}

// products computes (A·H)_B for the rows lo to hi, in g and the terms.
func (s *rowBlockRun) products(lo, hi int) {
	if p := s.termProduct; p != nil {
		parts := kernel.BlockCount(hi-lo, s.partRows)
		s.team.Do(p.Terms()*parts, func(k int) {
			term, from := k/parts, lo+k%parts*s.partRows
			to := min(from+s.partRows, hi)
			p.TermTo(s.at(s.term(term), lo, from, to), term, from, to)
		})
		return
	}
	if s.atOnce() {
		s.productPart(lo, lo, hi)
		return
	}
	if p := s.lowerProduct; p != nil {
		unit, most := p.PartRows()
		if s.gap > 0 {
			unit, most = densePart, densePart // of one group each: the rows of other groups lie apart
		}
		for kernel.BlockCount(hi-lo, unit) > mostParts {
			unit *= 2
			most = max(most, unit)
		}
		before := func(k int) int64 { return p.WorkBefore(min(lo+k*unit, hi)) }
		s.team.DoUneven(kernel.BlockCount(hi-lo, unit), most/unit, before, func(from, to int) {
			s.productPart(lo, lo+from*unit, min(lo+to*unit, hi))
		})
		return
	}
	s.team.Do(kernel.BlockCount(hi-lo, s.partRows), func(k int) {
		s.productPart(lo, lo+k*s.partRows, min(lo+(k+1)*s.partRows, hi))
	})
}

// mostParts is the largest number of parts into which the rows of a block are divided.
const mostParts = 1 << 20

// atOnce says whether a product takes all rows of a block as one part. With a dense A and one member, H is
// then read once a block. There are no gaps between groups in that case.
func (s *rowBlockRun) atOnce() bool { return s.nearProduct != nil && s.gap == 0 }

// productPart computes the rows from to to of (A·H)_B, where B begins with row lo.
func (s *rowBlockRun) productPart(lo, from, to int) {
	g := s.at(s.g, lo, from, to)
	switch {
	case s.rough.now:
		s.rough.product.RoughTo(g, from, to)
	case s.nearProduct != nil:
		s.nearProduct.NearTo(g, s.at(s.lower, lo, from, to), s.at(s.near, lo, from, to), lo, from, to)
	case s.lowerProduct != nil:
		s.lowerProduct.LowerTo(g, s.at(s.lower, lo, from, to), lo, from, to)
	default: // the sums of a row may depend on the rows that come with it, so the same rows always come together
		for at := from; at < to; at += s.partRows {
			end := min(at+s.partRows, to)
			s.product.RowsTo(g[(at-from)*s.pitch:(end-from)*s.pitch], at, end)
		}
	}
}

// term returns where term k of (A·H)_B goes; the first goes to g.
func (s *rowBlockRun) term(k int) []float64 {
	if k == 0 {
		return s.g
	}
	return s.more[k-1]
}

// sumTerms adds to g, once, the terms that it lacks of the rows from to to of (A·H)_B, where B begins with
// row lo.
func (s *rowBlockRun) sumTerms(lo, from, to int) {
	if s.termProduct == nil {
		return
	}
	for _, term := range s.more {
		kernel.Axpy(s.at(s.g, lo, from, to), 1, s.at(term, lo, from, to))
	}
}

// block improves the rows of block b together.
func (s *rowBlockRun) block(b int) {
	before := s.moved
	lo := b * s.Block
	hi := min(lo+s.Block, s.p.n)
	s.moveKnown = false
	t := s.improve(b)
	least := restless
	if s.single {
		least = restlessSingle
	}
	if t == 0 && s.moved-before > least*s.size() {
		again := s.still[b] == s.sweeps
		s.still[b] = s.sweeps + 1
		if again || s.beta == 0 { // together they get nowhere, and not because of where momentum had put them
			for i := lo; i < hi; i++ {
				s.row(i)
			}
		}
	}
	if !s.tellsLower() {
		return
	}
	if t == 0 { // improve has not moved them, or s.row has since
		s.eachGroup(lo, hi, func(g *rowGroup, from, to int) { g.lower = s.lowerInner(g, lo, from, to) })
	}
	groups, _ := s.groupsOf(hi - lo)
	for k := range groups {
		s.innerNow += 2 * groups[k].lower
	}
	if !s.moveKnown {
		s.innerNow += s.ownInner(b, lo, hi)
		return
	}
	for k := range groups {
		s.innerNow += groups[k].near
	}
	s.innerNow += s.moveInner
}

// tellsLower says whether products tell what the rows before a block contribute.
func (s *rowBlockRun) tellsLower() bool { return s.lowerProduct != nil && !s.rough.now }

// lowerInner returns ⟨lower, H⟩ over the rows from to to, in the block that begins with row lo.
func (s *rowBlockRun) lowerInner(grp *rowGroup, lo, from, to int) float64 {
	return kernel.Dot(s.at(s.lower, lo, from, to), s.rowsOf(grp, from, to))
}

// ownInner returns ⟨A_BB·H_B, H_B⟩ for block b, rows lo to hi.
func (s *rowBlockRun) ownInner(b, lo, hi int) float64 {
	if h := s.rounded.now; h != nil {
		return s.rounded.product.StepSingle(b, h[lo*s.pitch:hi*s.pitch])
	}
	return s.product.Step(b, s.hv[lo*s.pitch:hi*s.pitch])
}

// restless and, where passes are in float32, restlessSingle are the least ‖d‖²/‖H‖² for which a block that
// does not move together is taken apart into rows. They are far above what rounding alone proposes.
const (
	restless       = 1e-16
	restlessSingle = 1e-12
)

// size returns ‖H‖².
func (s *rowBlockRun) size() (sum float64) {
	for j := range s.p.r {
		sum += s.gram[j*s.pitch+j]
	}
	return sum
}

// improve moves the rows of block b together, and returns the step t.
func (s *rowBlockRun) improve(b int) float64 {
	lo := b * s.Block
	hi := min(lo+s.Block, s.p.n)
	groups := s.proposals(b, lo, hi)
	d := s.way[:(hi-lo)*s.pitch]
	t, fall, q, asked := s.step(b, groups, d)
	if t > 0 {
		s.report.decrease += fall / 4
		s.report.changed++
	} else if s.beta == 0 {
		return 0
	}
	s.eachGroup(lo, hi, func(g *rowGroup, from, to int) { s.move(g, lo, from, to, t) })
	clipped := 0
	for k := range groups {
		s.uphill += groups[k].uphill
		if groups[k].clipped {
			clipped++
		}
	}
	if clipped > 0 {
		s.clipped += clipped
		s.settleClipped(b, groups, d, t)
		return t
	}
	kernel.Axpy(s.gram, t, s.hd)
	kernel.Axpy(s.gram, t*t, s.dd)
	switch {
	case t > 0 && asked:
		s.moveInner, s.moveKnown = t*t*q, s.nearProduct != nil
		s.product.Move(b, t, d)
	case t > 0:
		s.product.Move(b, 0, d)
	}
	return t
}

// proposals finds G, d and what the step needs for each group of block b, the rows lo ≤ i < hi.
func (s *rowBlockRun) proposals(b, lo, hi int) []rowGroup {
	s.takeOrders(b)
	s.packGram()
	s.shortens = s.roundsWay(b)
	groups, _ := s.groupsOf(hi - lo)
	// A member goes on from the product of its rows to their passes, since it finds the product in its own
	// cache. It does not where that would leave other members without work, nor with terms, which belong to
	// members by what they read.
	together := s.termProduct == nil && !s.atOnce() && (len(groups) >= 2*s.team.Members() || s.evenRows && len(groups) >= s.team.Members())
	if !together {
		s.products(lo, hi)
	}
	coming := s.after(b)
	s.eachGroup(lo, hi, func(g *rowGroup, from, to int) {
		if together {
			s.productPart(lo, from, to)
		}
		s.sumTerms(lo, from, to)
		s.fetchRows(g, from, to)
		s.propose(g, lo, from, to)
		s.measureStep(g, lo, from, to)
		if s.gainProduct != nil {
			s.findGain(lo, from, to)
		}
		if from == lo { // as a rule other members are still at work then, and this one has read the sums they write to
			s.draw(&s.coming, coming)
		}
	})
	return groups
}

// settleClipped brings D, and what the product knows, up to date after the groups of block b have moved, some of them
// not by t·d.
func (s *rowBlockRun) settleClipped(b int, groups []rowGroup, d []float64, t float64) {
	clear(s.hd)
	for k := range groups {
		g := &groups[k]
		if g.clipped {
			kernel.Axpy(s.hd, 1, g.hd)
		} else {
			kernel.Mirror(g.dd, s.pitch)
			kernel.Axpy(s.gram, t*t, g.dd)
			kernel.Axpy(s.hd, t, g.hd)
		}
	}
	kernel.Symmetrize(s.hd, s.pitch)
	kernel.Axpy(s.gram, 1, s.hd)
	if s.gainProduct == nil {
		s.product.Move(b, 0, d)
		return
	}
	for k := range groups {
		if s.counts[k] = t; groups[k].clipped {
			s.counts[k] = 1
		}
	}
	s.gainProduct.MoveGains(s.counts[:len(groups)], s.gains[:len(groups)])
}

// roundsWay says whether ⟨A_BB·d, d⟩ of block b is found from d rounded to float32.
func (s *rowBlockRun) roundsWay(b int) bool {
	return s.rounded.now != nil && !s.rounded.product.FewPairs(b)
}

// packGram copies D to where the passes look for it.
func (s *rowBlockRun) packGram() {
	rows, length := s.p.r, s.p.r
	if s.pitch == length {
		rows, length = 1, length*length
	}
	for j := range rows {
		dj := s.gram[j*s.pitch:][:length]
		if s.single {
			kernel.ToFloat32(s.narrow[j*length:(j+1)*length], dj)
		} else {
			copy(s.packed[j*length:], dj)
		}
	}
}

// propose finds the direction d of the rows from to to, in the block that begins with row lo.
func (s *rowBlockRun) propose(grp *rowGroup, lo, from, to int) {
	p := s.p
	g, d, h := s.at(s.g, lo, from, to), s.at(s.d, lo, from, to), s.rowsOf(grp, from, to)
	if s.single {
		grp.single.Solve(d, h, g, p.diag[from:to], p.l1, s.narrow, &s.orders.Orders)
	} else {
		grp.double.Solve(d, h, g, p.diag[from:to], p.l1, s.packed, &s.orders.Orders)
	}
}

// measureStep finds what the direction d of the rows from to to contributes to the quartic.
func (s *rowBlockRun) measureStep(grp *rowGroup, lo, from, to int) {
	p, pitch := s.p, s.pitch
	g, d, h := s.at(s.g, lo, from, to), s.at(s.d, lo, from, to), s.rowsOf(grp, from, to)
	s.show(lo, from, to)
	if s.shortens {
		kernel.ToFloat32(s.short[(from-lo)*pitch:(to-lo)*pitch], d)
	}
	clear(grp.dd)
	clear(grp.hd)
	kernel.GramRows(grp.dd, d, pitch, 0, pitch)
	kernel.TransTimes(grp.hd, h, pitch, d, pitch)
	grp.lin = s.penalty(d) - kernel.Dot(g, d)
	if s.guesses {
		grp.own = kernel.RowSquares(d, p.selfs[from:to])
	}
	if p.ignoreDiag {
		grp.quartic = [4]float64{}
		leaveOut(&grp.quartic, h, d, pitch)
	}
}

// leaveOut takes Σ(‖h_i + t·d_i‖²)² − Σ(‖h_i‖²)² from c₁t + c₂t² + c₃t³ + c₄t⁴, for rows of pitch numbers.
func leaveOut(c *[4]float64, h, d []float64, pitch int) {
	for i := 0; i < len(h); i += pitch {
		hi, di := h[i:i+pitch], d[i:i+pitch]
		l, m, q := kernel.SumSq(hi), kernel.Dot(hi, di), kernel.SumSq(di)
		c[0] -= 4 * l * m
		c[1] -= 4*m*m + 2*l*q
		c[2] -= 4 * m * q
		c[3] -= q * q
	}
}

// penalty returns Σ_ij Λ_j·d_ij.
func (s *rowBlockRun) penalty(d []float64) (sum float64) {
	for j, w := range s.p.l1 {
		if w != 0 {
			for k := j; k < len(d); k += s.pitch {
				sum += w * d[k]
			}
		}
	}
	return sum
}

// move moves the rows from to to by t times d and cuts negative entries off at zero. It leaves in d how they
// have moved, and in grp what follows from that. Where entries were cut off, or rounded, hd becomes Mᵀd with M
// the rows halfway: HᵀH then grows by hd and its transpose.
func (s *rowBlockRun) move(grp *rowGroup, lo, from, to int, t float64) {
	pitch := s.pitch
	d, h := s.at(s.d, lo, from, to), s.rowsOf(grp, from, to)
	along, clipped := s.advance(grp, from, to, d, t)
	grp.uphill, grp.clipped = -along, clipped
	if (t != 1 || clipped) && !s.rough.now {
		s.show(lo, from, to)
	}
	if s.rough.now {
		s.rough.product.Take(from, to)
	}
	if s.tellsLower() {
		grp.lower = s.lowerInner(grp, lo, from, to)
	}
	if s.tellsLower() && s.nearProduct != nil && !clipped {
		near := s.at(s.near, lo, from, to)
		grp.near = kernel.Dot(near, h) + kernel.Dot(near, d)
	}
	if clipped {
		mid := s.at(s.g, lo, from, to) // g is no longer needed
		copy(mid, h)
		kernel.Axpy(mid, -0.5, d)
		clear(grp.hd)
		kernel.TransTimes(grp.hd, mid, pitch, d, pitch)
		if s.gainProduct != nil {
			s.findGain(lo, from, to)
		}
	}
}
