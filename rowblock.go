package symnmf

import (
	"fmt"
	"math"

	"symnmf/internal/kernel"
	"symnmf/internal/rules"
	"symnmf/matrix"
)

// RowBlock is exact coordinate descent in an order that reads A once a sweep. Rows of H are improved a block at a
// time. For each row, passes over its coordinates, with the rest of H fixed, find where it should go. The block
// then moves in that direction by the step t that minimizes the objective exactly, a quartic in t, or by t = 1
// where that gains nearly as much. Sweeps are linked by momentum, which is dropped when it points uphill and undone
// when the objective has risen. The answer is a stationary point of the same problem as CD's, reached in a fraction
// of the time. Near the answer, dense data with a small error also get joint steps of all rows.
//
// The ℓ₁ term and an ignored diagonal are supported. If no A_ii > 0, H = 0 is a point that RowBlock cannot leave. A
// must be an operator of package matrix other than those of Completed, or a view of one.
//
// A sweep costs one product A·H, Passes·n·r² multiply–adds and Passes·n·r roots of cubics.
//
// Memory, in float64 numbers, besides A or X:
//   - 2·n·r for H, which becomes the answer, and the H before it.
//   - n·r more if rows of H are padded with zeros: for r not a multiple of 4 or, with sparse data and r > 4, of 8.
//   - For dense data, 5·n·r once joint steps are taken.
//   - For a dense A with products in float32 (see Precision), 2·n·r, and n²/2 if A is in double precision.
//   - For inner products, X·H twice, as it is and as it was, and once more while exact figures are computed.
//   - For dense points, X·H once more for joint steps. With fewer features than a block has rows, X·H once more for
//     what a block adds to it; then, with at most 127 features and blocks of at most 512 rows, also once for each
//     group of rows in a block. With as many features as a block has rows, or more, Block·n inner products instead.
//   - For sparse points, X twice more: by terms, and by features within blocks.
//
// See docs/engine.md, also for the low rank that may stand in for dense data.
type RowBlock struct {
	// Block is the number of rows in a block. The default 0 means 128; 256 for sparse points; and for a sparse A
	// with two passes, 64 to 512, depending on n.
	Block int
	// Passes is how many times the coordinates of a block are visited before it moves. The default 0 means 6 for
	// dense data, 4 for sparse points, and 2 to 6 for a sparse A, depending on its entries a row. At most 1000.
	Passes int
	// MaxStep bounds t; the default 0 means 2. With t > 1, entries may have to be cut off at zero.
	MaxStep float64
	// Whole is the part of the best t's decrease that t = 1 must reach for a block to take t = 1. Its rows then
	// come to their own minimizers, and nothing is cut off. The default 0 means 0.98 for dense data, 0.95 for
	// sparse points, 0.99 for a sparse A of fewer than 2r entries a row, and 1, always the best t, otherwise.
	Whole float64
	// NoMomentum makes every sweep start where the last one ended.
	NoMomentum bool
	// CheckEvery is how many sweeps pass between comparisons of the objective, where a comparison takes a product
	// of its own:
	//   - For normalized views, the default 0 means 5 for a dense A and 3 for a sparse one; points take no product.
	//   - With a low rank in place of A, it is at least 15.
	//   - For a dense A with products in float32 (see Precision), it bounds the sweeps between those with float64
	//     products. The default 0 means 10. At first the bound is half the sweeps so far.
	CheckEvery int
	// First is the order of the first sweep.
	First FirstSweep
	// Compress is the number of columns beyond r of the low rank that takes the place of A until little is left to
	// gain. The default 0 means 20 for dense data where products are then much cheaper and the low rank is several
	// times nearer to A than HHᵀ is at the start. NoCompression means never.
	Compress int
	// Joint is the number of conjugate gradient steps in a joint step of all rows. Dense data get a joint step
	// every few sweeps once the error is small. The default 0 means 3; NoJoint means no joint steps. At most 1000.
	Joint int
	// Precision is the precision of the passes. All else is computed in float64, with two exceptions. Both need
	// Adaptive, and hold only while the passes are in float32:
	//   - An H of 65536 numbers or more, padding included, is rounded to float32 if A is stored as a sparse matrix.
	//     This excludes normalized views, and an A of which an ignored diagonal leaves out entries.
	//   - A dense A of 256 to 11585 rows, or of 256 or more if stored in single precision and its diagonal counts,
	//     is multiplied in float32 by an H of at least 8 columns and 4096 numbers, padding included. H is copied
	//     for this, and so is an A stored in double precision. Every few sweeps, one has products in float64
	//     (CheckEvery).
	Precision Precision
}

// FirstSweep is the order of the first sweep from a nonzero start.
type FirstSweep int

const (
	// FirstAuto is FirstColumns for a sparse A of r to 2r entries a row if n·r ≤ 2¹⁹ and the start is not
	// TSVDStart; otherwise it is FirstRows.
	FirstAuto    FirstSweep = iota
	FirstRows               // by blocks of rows, as all later sweeps
	FirstColumns            // by columns, as a sweep of CD
)

var firstSweepNames = [...]string{"auto", "rows", "columns"}

func (f FirstSweep) String() string { return nameOf(f, firstSweepNames[:]) }

// Precision is the floating-point precision of the passes.
type Precision int

const (
	Adaptive Precision = iota // float32 while the passes change H by much more than its rounding, then float64
	Double                    // float64
	Single                    // float32
)

var precisionNames = [...]string{"adaptive", "double", "single"}

func (p Precision) String() string { return nameOf(p, precisionNames[:]) }

// mostPasses bounds Passes, since the orders of the coordinates take 24·Passes·r bytes. It also bounds Joint, of
// which nobody wants as many.
const mostPasses = 1000

// singleWhile is the least (Σ⟨D, dᵀd⟩/‖D‖)^½/‖H‖ over a sweep for which the next sweep has float32 passes. Their
// rounding alone makes it 1e-6 to 2e-6, however near a minimum H is. ‖d‖/‖H‖ would not serve: where D is nearly
// singular, rounding makes that many times as large.
const singleWhile = 4e-6

// Name implements Solver.
func (s RowBlock) Name() string { return "rowblock" }

func (s RowBlock) accepts(p *problem, opt *Options) error {
	if opt.Start == (Zero{}) && p.norm > 0 && !p.positiveDiagonal() {
		return fmt.Errorf("%w: rowblock cannot leave zero when no A_ii > 0; %s", ErrUnfit, p.awayFromZero())
	}
	if _, blocks := p.a.(matrix.BlockMultiplier); !blocks {
		return fmt.Errorf("%w: rowblock wants products by blocks of rows, which the matrix has not; use cd-cyclic", ErrUnfit)
	}
	for _, f := range []struct {
		name               string
		value, least, most float64
	}{
		{"Block", float64(s.Block), 0, math.MaxInt}, {"Passes", float64(s.Passes), 0, mostPasses}, {"MaxStep", s.MaxStep, 0, 2}, {"Whole", s.Whole, 0, 1},
		{"CheckEvery", float64(s.CheckEvery), 0, math.MaxInt}, {"First", float64(s.First), float64(FirstAuto), float64(FirstColumns)},
		{"Compress", float64(s.Compress), NoCompression, math.MaxInt}, {"Joint", float64(s.Joint), NoJoint, mostPasses}, {"Precision", float64(s.Precision), float64(Adaptive), float64(Single)},
	} {
		if !(f.value >= f.least && f.value <= f.most) {
			want := fmt.Sprintf("%v to %v", f.least, f.most)
			if f.most == math.MaxInt {
				want = fmt.Sprintf("%v or more", f.least)
			}
			return fmt.Errorf("%w: RowBlock.%s = %v, want %s", ErrOption, f.name, f.value, want)
		}
	}
	counted := int64(math.MaxInt32) // most entries of a block
	if _, listed := p.a.(matrix.RowVisitor); listed {
		counted = math.MaxUint32
	}
	if s.Block > rules.GraphBlock && p.a.Stored() > counted {
		return fmt.Errorf("%w: Block = %d, want at most %d where A or X has more than %d entries", ErrOption, s.Block, rules.GraphBlock, counted)
	}
	return nil
}

// withDefaults fills in what s leaves open.
func (s RowBlock) withDefaults(p *problem, sparse bool) (_ RowBlock, rough roughSweeps) {
	_, explicit := p.a.(matrix.RowVisitor)
	short := false // whether rows of A are short compared with those of H
	switch {
	case !sparse:
		setDefault(&s.Passes, 6)
	case explicit:
		// A pass over a row costs about as much as the product of r of its entries. Passes get about half of what
		// the product costs; with few passes better minima are found.
		setDefault(&s.Passes, min(max(int(p.a.Stored()/int64(2*p.n*p.r)), 2), 6))
		setDefault(&s.CheckEvery, 3)
		if s.Passes <= 2 {
			setDefault(&s.Block, min(max(p.n/blocksOfGraph/64*64, 64), rules.GraphBlock))
		}
		short = p.a.Stored() < int64(2*p.n*p.r)
	default:
		setDefault(&s.Block, rules.PointsBlock)
	}
	setDefault(&s.Block, rules.DenseBlock)
	setDefault(&s.Passes, 4)
	rough.every = s.CheckEvery
	setDefault(&rough.every, roughEvery)
	setDefault(&s.CheckEvery, 5)
	setDefault(&s.Joint, jointSteps)
	s.Block = min(s.Block, p.n)
	if s.MaxStep == 0 {
		s.MaxStep = 2
	}
	if s.Whole == 0 {
		switch {
		case !sparse:
			s.Whole = wholeDense
		case short:
			s.Whole = wholeShort
		case explicit:
			s.Whole = 1
		default:
			s.Whole = wholePoints
		}
	}
	if s.First == FirstAuto && short && !p.turned && p.a.Stored() >= int64(p.n*p.r) && p.n*p.r <= mostByColumns {
		s.First = FirstColumns
	}
	return s, rough
}

func (s RowBlock) start(p *problem, h *matrix.Dense, number int) run {
	sparse := p.a.Density() < rules.DenseFrom
	s, rough := s.withDefaults(p, sparse)
	pitch := rules.Pitch(p.r, sparse)
	last := p.spareRoom(p.n * pitch) // zeros if there is padding, since A·H of the start has none
	e := &rowBlockRun{
		RowBlock: s, p: p, full: p, checkEvery: s.CheckEvery, out: h, pitch: pitch, number: number,
		h: h, last: matrix.NewDense(p.n, pitch, last),
		gram: make([]float64, pitch*pitch),
		blockState: blockState{
			dd: make([]float64, pitch*pitch), hd: make([]float64, pitch*pitch), packed: make([]float64, p.r*p.r),
			narrow: make([]float32, p.r*p.r),
			orders: newOrders(s.Passes, p.r),
			coming: newOrders(s.Passes, p.r),
			groups: make([]rowGroup, kernel.BlockCount(s.Block, kernel.SolveWidth[float64]())),
			still:  make([]int, kernel.BlockCount(p.n, s.Block)),
		},
		team:  kernel.NewTeam(p.workers),
		rough: rough,
		tk:    1, safeF: math.Inf(1), trust: 1, single: s.Precision != Double,
	}
	e.columnsFirst = e.First == FirstColumns && kernel.Nonzero(h.Data())
	if pitch > p.r {
		e.h = matrix.NewDense(p.n, pitch, kernel.Numbers(p.n*pitch))
		e.take()
	}
	e.hv, e.prev = e.h.Data(), e.last.Data()
	if e.team.Members() > 1 && !sparse {
		e.gap = kernel.FarApart
	}
	e.g, e.d = e.byGroups(), e.byGroups()
	if e.way = e.d; e.gap > 0 {
		e.way = make([]float64, s.Block*pitch)
	}
	if e.partRows, e.evenRows = densePart, true; sparse {
		e.partRows, e.evenRows = sparsePart, false
	}
	for k := range e.groups {
		e.groups[k] = rowGroup{
			double: kernel.NewRowSolver[float64](p.r, pitch, p.ignoreDiag),
			single: kernel.NewRowSolver[float32](p.r, pitch, p.ignoreDiag),
			hd:     make([]float64, pitch*pitch), dd: make([]float64, pitch*pitch),
		}
	}
	return e
}

// mostByColumns is the largest n·r for which the first sweep goes by columns by default. Threads cannot help with
// such a sweep, and on larger graphs it gains nothing.
const mostByColumns = 1 << 19

// rowsCopied is the number of rows in one part of the work of take.
const rowsCopied = 1024

// take copies out to h, whose rows are padded with zeros.
func (s *rowBlockRun) take() {
	s.team.Do(kernel.BlockCount(s.p.n, rowsCopied), func(k int) {
		for i := k * rowsCopied; i < min((k+1)*rowsCopied, s.p.n); i++ {
			copy(s.h.Row(i), s.out.Row(i))
		}
	})
}

// blocksOfGraph is how many blocks a graph must have for them to be larger than 64 rows. With larger blocks,
// members of a team meet less often.
const blocksOfGraph = 80

func setDefault(v *int, value int) {
	if *v == 0 {
		*v = value
	}
}

// densePart and sparsePart are how many rows of a product are computed at a time, where the product itself does not
// say. Shorter parts are shared out more evenly, but each part reads all of H where A is dense. They divide the
// groups of the row solver, so that a part has the same rows, and with them the same bits, whichever member
// computes it.
const (
	densePart  = 32
	sparsePart = 16
)

// Defaults of Whole. Over 15 orders of the coordinates they cost no sweeps, while 0.95 costs up to a fifth more on
// images, and 0.9 up to ten times as many near a minimum of 60 sparse points. Where the rows of a graph are long,
// the product dominates and steps of 1 have little to gain, so the best step is always taken.
const (
	wholeDense  = 0.98
	wholePoints = 0.95
	wholeShort  = 0.99
)

// rowBlockRun is one run of RowBlock. Between sweeps h is H_t, the result of the last sweep, and last is H_{t−1}.
// The next sweep starts from H_t + β(H_t − H_{t−1}), which is written over H_{t−1}. For a sparse A this start is
// cut off at zero; otherwise it may have negative entries until the sweep has solved for them again. Some sweeps
// begin with a joint step from there.
type rowBlockRun struct {
	RowBlock
	p          *problem // at work on: full, or a low rank near it
	full       *problem // to be solved
	checkEvery int      // CheckEvery for full
	checked    int      // sweep of the last check
	// out is n×r, the H that the run was given. If its pitch is not that of h, the answer is copied there when
	// asked for; otherwise it is the memory of h or of last.
	out   *matrix.Dense
	pitch int
	// h and last are n×pitch, like all matrices with the columns of H. They have no meaning while rounded.now or
	// rounded.last has their numbers.
	h, last   *matrix.Dense
	hv, prev  []float64 // data of h and last
	safe      []float64 // H at the last check, unless every sweep is checked
	safeF     float64   // its objective
	safeNoise float64   // its takenNoise
	tk        float64   // t of Nesterov's formula for β
	beta      float64
	least     float64 // least entry that a sweep may start from: 0 or −Inf
	number    int
	sweeps    int
	alone     bool      // the next sweep moves rows one at a time
	wasSo     bool      // the last one did
	onlyAlike bool      // of those rows, only the ones that are alike within a block
	apart     []float64 // A times a random vector, by which its rows are told apart
	// columnsFirst makes the first sweep one of CD's.
	columnsFirst bool
	partRows     int  // densePart or sparsePart, unless lowerProduct says
	evenRows     bool // all rows of a product are taken to cost the same
	team         *kernel.Team
	product      matrix.BlockProduct
	lowerProduct matrix.LowerProduct // product, if it is one
	nearProduct  matrix.NearProduct  // product, if it is one
	gainProduct  matrix.GainProduct  // product, if it is one
	termProduct  matrix.TermProduct  // product, if it is one, and no GainProduct
	rounded      roundedH
	rough        roughSweeps
	everySweep   bool      // the objective is known after every sweep: then H can go back to prev
	gram         []float64 // D = HᵀH of the moving H
	largest      float64   // largest diagonal entry of D as the sweep began
	parts        [][]float64

	// guesses makes blocks first take q = ⟨A_BB·d, d⟩ for that of the diagonal of A alone, and ask for q only if a
	// step of 1 is not good enough by that. Sparse points of a block mostly have little in common.
	guesses bool
	single  bool    // whether passes are in float32
	fallen  float64 // fall of the objective over the last sweep, from where momentum had put it, by quartics and guesses
	fell    float64 // its fall per sweep between the last two checks
	trust   float64 // exact squared residual over its estimate from ddd, when last compared
	next    int     // number of sweeps from which they may be compared again
	joint   jointState
	pace    *teamPace // nil if the team's size is not in question

	blockState
	_ kernel.LinesApart
	sweepTally
	_ kernel.LinesApart
}

// sweepTally is what the goroutine that runs the sweep tallies block by block. It lies apart from what all
// members of the team read.
type sweepTally struct {
	rounds    bool    // momentum led to a point of float32 as the sweep began
	guessed   int     // blocks that moved by a guess of q
	clipped   int     // groups of rows with entries that did not move by t·d, but were cut off at zero or rounded
	uphill    float64 // ⟨Y − H_new, H_new − H_prev⟩ so far, Y the sweep's start after its joint step, if any
	ddd       float64 // Σ⟨D, dᵀd⟩ of the blocks
	moved     float64 // Σ‖d‖²
	innerNow  float64 // ⟨A·H, H⟩ of the rows passed, if there is a lowerProduct
	moveInner float64 // ⟨A_BB·e, e⟩ for the e by which the last block has moved
	moveKnown bool    // whether moveInner is known, and near of the groups
	report    sweepReport
}

// begin implements beginner.
func (s *rowBlockRun) begin(first *figures) {
	s.safeF, s.safeNoise = first.objective(), s.takenNoise(s.out)
	s.compress(first)
}

// sweep implements run.
func (s *rowBlockRun) sweep(stop func() bool) sweepReport {
	s.sweepTally = sweepTally{}
	if s.columnsFirst && s.sweeps == 0 {
		return s.byColumns(stop)
	}
	s.prepare()
	s.rough.now = s.mayBeRough()
	if s.sweeps == 0 && !s.everySweep {
		s.safe = append(s.safe[:0], s.hv...)
	}
	s.extrapolate()
	s.product.Extrapolate(s.beta, s.h)
	if s.sweeps == 0 && !kernel.Nonzero(s.gram) {
		s.seed(stop)
		if s.roundingPays() {
			s.roundStart()
			s.findGram() // of the rounded numbers
		}
	} else {
		s.revive(stop)
		s.dropLone(stop)
		s.jointly(stop)
	}
	s.startRough()
	s.wasSo, s.alone = s.alone, false
	pace := s.pace
	if s.wasSo || s.hasRough() && !s.rough.now { // such sweeps take longer than those they would be compared with
		pace = nil
	}
	pace.beginSweep()
	for b := 0; b*s.Block < s.p.n; b++ {
		if stop() {
			return s.cut()
		}
		pace.beginBlock(b)
		if !s.wasSo {
			s.block(b)
		} else if !s.rowsAlone(b, stop) {
			return s.cut()
		}
	}
	pace.endSweep()
	s.sweeps++
	if s.Precision == Adaptive {
		was := s.single
		s.single = s.ddd > singleWhile*singleWhile*math.Sqrt(kernel.SumSq(s.gram))*s.size()
		if s.single != was && s.gap > 0 { // rows then lie elsewhere in d, where their padding must be zero
			clear(s.d)
		}
		if !s.single { // groups are smaller then, and have no rooms for an H in float32
			s.widen()
		}
	}
	s.fallen = s.report.decrease
	s.noteNet()
	s.report.decrease = 0
	if s.check() {
		// If momentum has moved H, and no block, a sweep without momentum says whether blocks can.
		alone := s.report.changed == 0 && s.beta > 0
		if alone {
			s.report.changed = 1
		}
		if alone || s.NoMomentum || s.uphill > 0 {
			s.tk, s.beta = 1, 0
		} else {
			t := (1 + math.Sqrt(1+4*s.tk*s.tk)) / 2
			s.beta, s.tk = (s.tk-1)/t, t
		}
	}
	s.rough.now = false
	return s.report
}

// prepare makes the product if there is none.
func (s *rowBlockRun) prepare() {
	if s.product == nil {
		s.team.Use(math.MaxInt)
		s.product = s.p.a.(matrix.BlockMultiplier).NewBlockProduct(s.h, s.Block, s.team)
		if s.lowerProduct, _ = s.product.(matrix.LowerProduct); s.lowerProduct != nil && s.lower == nil {
			s.lower = s.byGroups()
		}
		if s.nearProduct, _ = s.product.(matrix.NearProduct); s.nearProduct != nil && s.near == nil {
			s.near = s.byGroups()
		}
		s.rounded.product, _ = s.product.(matrix.SingleProduct)
		s.findRough()
		s.gainProduct, _ = s.product.(matrix.GainProduct)
		s.termProduct, _ = s.product.(matrix.TermProduct)
		s.gains, s.counts = nil, nil
		switch {
		case s.gainProduct != nil:
			s.termProduct = nil
			for range s.groups {
				s.gains = append(s.gains, make([]float64, s.gainProduct.GainLen()))
			}
			s.counts = make([]float64, len(s.groups))
		case s.termProduct != nil && s.more == nil:
			for range s.termProduct.Terms() - 1 {
				s.more = append(s.more, s.byGroups())
			}
		}
		// No guesses are made for a low rank in place of A, which may be indefinite, nor for an operator that came
		// without its diagonal.
		s.guesses = s.termProduct != nil && !s.evenRows && s.p == s.full && kernel.Nonzero(s.p.selfs)
		s.least = math.Inf(-1)
		if _, listed := s.p.a.(matrix.RowVisitor); listed && s.p.a.Density() < rules.DenseFrom {
			s.least = 0
		}
		_, kept := s.product.Inner()
		s.everySweep = s.p == s.full && (kept || s.lowerProduct != nil) && s.rough.product == nil
		s.pace = newTeamPace(s.team, kernel.BlockCount(s.p.n, s.Block), s.blockMadds())
	}
}

// doubt implements doubter. Rows that are alike, and equally far along, move alike when they move together, and can
// come to rest together at a saddle point. When they move one at a time, the first of them leaves it. A sweep that
// moves all rows so takes as long as several others, so it is made only if rows have held each other back.
// Otherwise only the rows that are alike move one at a time, if there are any.
func (s *rowBlockRun) doubt() bool {
	if s.p != s.full {
		s.expand()
		return true
	}
	s.alone = false
	if !s.wasSo {
		s.onlyAlike = !s.heldBack()
		s.widen()
		s.alone = !s.onlyAlike || !s.p.drawn && s.anyAlike()
	}
	s.tk, s.beta = 1, 0
	return s.alone
}

// byColumns does the first sweep in the order of CD. From a random start, on some graphs, better minima are reached
// this way: rows that move together settle on the same few columns before the others have found theirs. The sweep
// is of A itself, even if something else takes its place later.
func (s *rowBlockRun) byColumns(stop func() bool) sweepReport {
	cd := CD{}.start(s.full, s.out, s.number)
	rep := cd.sweep(stop)
	if s.pitch > s.p.r {
		s.take()
	}
	s.report = rep
	if !rep.cut {
		s.sweeps++
		s.safeF -= rep.decrease
		s.fell, s.checked = rep.decrease, s.sweeps
		s.findGram()
		s.prepare()
		if !s.everySweep {
			s.safe = append(s.safe[:0], s.hv...)
		}
	}
	return rep
}

// extrapolate makes h the start of the next sweep and last H_t, and computes D.
func (s *rowBlockRun) extrapolate() {
	s.rounds = s.mayRound()
	if !s.rounds {
		s.widen()
	}
	if s.beta != 0 {
		s.h, s.last = s.last, s.h
		s.hv, s.prev = s.prev, s.hv
		s.rounded.now, s.rounded.last = s.rounded.last, s.rounded.now
	}
	if s.rounds {
		s.extrapolateNarrow()
		s.rounded.product.Single(s.rounded.now)
		return
	}
	s.findGramAfter(func(_, lo, hi int) []float64 {
		if s.beta == 0 {
			copy(s.prev[lo:hi], s.hv[lo:hi])
		} else {
			kernel.Extrapolate(s.hv[lo:hi], s.beta, s.prev[lo:hi], s.least)
		}
		return s.hv[lo:hi]
	})
	if s.startsNarrow() {
		s.roundStart()
	}
}

// publish implements keeper. Where rows have no padding, H is handed out where it lies and nothing is copied.
func (s *rowBlockRun) publish() *matrix.Dense {
	if s.pitch == s.p.r {
		s.widen()
		return s.h
	}
	room := make([]float64, s.pitch)
	for i := range s.p.n {
		copy(s.out.Row(i), s.rowOf(i, room))
	}
	return s.out
}

// end implements keeper. After sweeps whose objective has not been computed, it returns the better of the last H
// and the last one checked.
func (s *rowBlockRun) end() *matrix.Dense {
	if (s.report.provisional || s.report.cut) && !s.everySweep && len(s.safe) > 0 {
		s.findGram()
		if s.objective(s.innerOf(s.full.a.NewProduct(s.h, s.p.workers))) > s.safeF {
			copy(s.hv, s.safe)
		}
	}
	h := s.publish()
	s.release()
	return h
}

// release implements releaser.
func (s *rowBlockRun) release() { s.team.Close() }
