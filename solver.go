package symnmf

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"symnmf/internal/kernel"
	"symnmf/internal/rules"
	"symnmf/matrix"
)

// Solver is a method. The types of this package that implement it are CD, RowBlock, TSVD and others. The
// interface is sealed.
type Solver interface {
	// Name is the method's name in Methods, files and tables.
	Name() string
	// accepts returns nil, or why the method cannot take the problem. It is called before any work.
	accepts(p *problem, opt *Options) error
	// start returns a run that changes h from then on. number tells the runs of one call of Factorize apart.
	start(p *problem, h *matrix.Dense, number int) run
}

// run is a method at work on one H.
type run interface {
	// sweep updates H once. It calls stop between pieces of work, and if that is true it returns early, with
	// H in order.
	sweep(stop func() bool) sweepReport
}

// checker is a run that can compare what it maintains with H.
type checker interface{ verify() error }

var (
	_ checker = (*cdRun)(nil)
	_ checker = (*coupled)(nil)
	_ checker = (*mbiRun)(nil)
	_ checker = (*residualRun)(nil)
	_ checker = (*iterate)(nil)
	_ checker = (*rowBlockRun)(nil)
	_ checker = (*tsvdRun)(nil)
	_ checker = (*pgncgRun)(nil)
	_ checker = (*laiRun)(nil)
	_ checker = (*compressedRun)(nil)
	_ checker = (*sampled)(nil)
	_ checker = (*spectralSteps)(nil)
)

// Flags for unfit: what a method cannot do.
const (
	needsDiagonal = 1 << iota // ignore the diagonal
	lacksL1                   // count an ℓ₁ term
	heldByZero                // leave H = 0
)

// unfit returns an error if p or opt asks for something that the method of that name cannot do, and nil
// otherwise.
func (p *problem) unfit(name string, cannot int, opt *Options) error {
	switch {
	case cannot&needsDiagonal != 0 && p.ignoreDiag:
		return fmt.Errorf("%w: %s cannot ignore the diagonal; use rowblock or cd-cyclic", ErrUnfit, name)
	case cannot&lacksL1 != 0 && kernel.Nonzero(p.l1):
		return fmt.Errorf("%w: %s has no rule for an ℓ₁ term; use rowblock or cd-cyclic", ErrUnfit, name)
	case cannot&heldByZero != 0 && opt.Start == Zero{} && p.norm > 0:
		return fmt.Errorf("%w: %s cannot leave H = 0; %s", ErrUnfit, name, p.awayFromZero())
	}
	return nil
}

// awayFromZero says, for an error text, how to get away from H = 0 with a method that cannot leave it.
func (p *problem) awayFromZero() string {
	if _, listed := p.a.(matrix.RowVisitor); !listed && !p.positiveDiagonal() {
		return "start at random"
	}
	return "start at random, or use cd-cyclic"
}

// Method is one entry of the list of methods.
type Method struct {
	Name, Doc string
	Accepts   string // the matrices it accepts
	Start     string // its default start
	Knobs     []Knob
	solver    Solver
}

// Knob is an option of a single method.
type Knob struct {
	Name, Doc, Default string
	set                func(s Solver, value string) (Solver, error)
}

// methods is the list. A new method needs its own file, a line here, one in docs/methods.md, and a prediction
// of its memory in the command.
var methods = []Method{
	{"cd-cyclic", "exact coordinate descent, columns in order", anyMatrix, diagonalStart, cdKnobs, CD{Order: Cyclic}},
	{"cd-shuffle", "exact coordinate descent, columns shuffled every sweep", anyMatrix, diagonalStart, cdKnobs, CD{Order: Shuffle}},
	{"cd-mbi", "exact coordinate descent, always on the single best entry (small problems)", anyMatrix, diagonalStart, nil, MBI{}},
	{"cd-residual", "cd-cyclic with an explicit n×n residual (for comparison)", "dense, diagonal counted", diagonalStart, nil, Residual{}},
	{"anls", "alternating nonnegative least squares on two coupled factors", countedMatrix, randomStart, anlsKnobs, ANLS{}},
	{"symanls", "anls with its coupling weight named lambda, and above 0", countedMatrix, randomStart,
		lambdaKnob(func(s *SymANLS, w Weight) { s.Lambda = w }), SymANLS{}},
	{"symhals", "coordinate descent on two coupled factors", countedMatrix, randomStart,
		lambdaKnob(func(s *SymHALS, w Weight) { s.Lambda = w }), SymHALS{}},
	{"snmpbb", "nonmonotone projected gradients on two coupled factors", countedMatrix, randomStart, snmpbbKnobs, SNMPBB{}},
	{"lvs", "symhals or anls on rows sampled by leverage scores (for comparison)", countedMatrix, randomStart, lvsKnobs, LvS{}},
	{"rowblock", "coordinate descent by blocks of rows, with momentum", anyMatrix, diagonalStart, rowBlockKnobs, RowBlock{}},
	{"mu", "multiplicative update with a power of the ratio (He)", noL1Matrix, randomStart, muKnobs, MU{}},
	{"amu", "mu with exponent 1/3 and extrapolation", noL1Matrix, randomStart, nil, AMU{}},
	{"betasnmf", "multiplicative update with a damped ratio (He)", noL1Matrix, randomStart, betaKnobs, BetaSNMF{}},
	{"vbsum", "rows in random order, each moved to the minimizer of an upper bound", countedMatrix, randomStart, vbsumKnobs, VBSUM{}},
	{"newton", "Newton steps by columns; r·n³/6 multiply–adds a sweep, two n×n matrices", countedMatrix, randomStart, nil, Newton{}},
	{"tsvd", "the leading eigenvectors turned to be nonnegative, for A near rank R; not monotone", countedMatrix, svdStart, tsvdKnobs, TSVD{}},
	{"pgncg", "projected Gauss–Newton steps by conjugate gradients", countedMatrix, randomStart, pgncgKnobs, PGNCG{}},
	{"lai", "another method, first on a randomized low rank in place of A, then on A itself", countedDiagonal, randomStart, laiKnobs, LAI{}},
	{"compressed", "cd-cyclic after tsvd or lai", countedDiagonal, "svd; random with first=lai", compressedKnobs, CompressedCD{}},
}

const (
	anyMatrix       = "dense, sparse, points"
	noL1Matrix      = "dense, sparse, points; no l1"
	countedMatrix   = "dense, sparse, points; diagonal counted, no l1"
	countedDiagonal = "dense, sparse, points; diagonal counted"
	diagonalStart   = "zero if some A_ii > 0, else random"
	randomStart     = "random" // for methods that cannot leave zero, or do best from a random start
	svdStart        = "svd"
)

var rowBlockKnobs = []Knob{
	{"block", "rows of H that move together", "128, sparse points 256, sparse A with two passes 64 to 512", wholeKnob("block", 1, math.MaxInt, func(s *RowBlock, k int) { s.Block = k })},
	{"passes", "visits to each coordinate of a block before it moves", "dense 6, sparse points 4, sparse A 2 to 6",
		wholeKnob("passes", 1, mostPasses, func(s *RowBlock, k int) { s.Passes = k })},
	{"check-every", "sweeps between comparisons of the objective, after which momentum may be undone, where each takes a product of its own: with a low rank in place of A (at least 15) and for normalized views; for a dense A, sweeps between products in float64 (1 = always); elsewhere always 1", "low rank 15, normalized 5 (of a sparse A 3), dense A 10 (fewer at first)",
		wholeKnob("check-every", 1, math.MaxInt, func(s *RowBlock, k int) { s.CheckEvery = k })},
	{"first", "order of the first sweep from a start that is not zero: rows, columns (as cd-cyclic), auto (columns for a sparse A of r to 2r entries a row and n·r ≤ 2¹⁹, but not from tsvd)", FirstAuto.String(),
		nameKnob("first", firstSweepNames[:], func(s *RowBlock, k int) { s.First = FirstSweep(k) })},
	{"precision", "precision of the passes: double, single, adaptive (single while they change H by much more than the rounding of single)", Adaptive.String(),
		nameKnob("precision", precisionNames[:], func(s *RowBlock, k int) { s.Precision = Precision(k) })},
	{"compress", "columns beyond R of the low rank that takes the place of dense data at first; -1 = never, 0 = 20 where that is cheaper and the low rank is several times nearer to A than HHᵀ is", "0",
		wholeKnob("compress", NoCompression, math.MaxInt, func(s *RowBlock, k int) { s.Compress = k })},
	{"joint", "conjugate gradient steps in a joint step of all rows, made on dense data every few sweeps once the error is small; -1 = never, 0 = 3", "0",
		wholeKnob("joint", NoJoint, mostPasses, func(s *RowBlock, k int) { s.Joint = k })},
	{"momentum", "whether a sweep begins at a point extrapolated beyond the last one: yes, no", "yes",
		nameKnob("momentum", []string{"yes", "no"}, func(s *RowBlock, k int) { s.NoMomentum = k == 1 })},
	{"max-step", "the most a block moves, in multiples of what its passes propose; up to 2", "2",
		partKnob("max-step", 2, func(s *RowBlock, x float64) { s.MaxStep = x })},
	{"whole", "a block takes the whole step its passes propose, with no entry cut off at zero, where that gains at least this part of what the best step gains; 1 = always the best step", "dense 0.98, sparse points 0.95, sparse A 1 (0.99 with fewer than 2r entries a row)",
		partKnob("whole", 1, func(s *RowBlock, x float64) { s.Whole = x })},
}

// nameKnob sets an option to one of names, by its index.
func nameKnob[S any](name string, names []string, set func(s *S, k int)) func(Solver, string) (Solver, error) {
	return func(s Solver, v string) (Solver, error) {
		k, err := parseName(name, v, names)
		if err != nil {
			return nil, err
		}
		method := any(s).(S)
		set(&method, k)
		return any(method).(Solver), nil
	}
}

// wholeKnob sets a whole number from least to most.
func wholeKnob[S any](name string, least, most int, set func(s *S, k int)) func(Solver, string) (Solver, error) {
	return func(s Solver, v string) (Solver, error) {
		k, err := strconv.Atoi(v)
		if err != nil || k < least || k > most {
			bounds := fmt.Sprintf("≥ %d", least)
			if most < math.MaxInt {
				bounds = fmt.Sprintf("from %d to %d", least, most)
			}
			return nil, fmt.Errorf("%w: %s=%s, want a whole number %s", ErrOption, name, v, bounds)
		}
		method := any(s).(S)
		set(&method, k)
		return any(method).(Solver), nil
	}
}

// partKnob sets a number in (0, most].
func partKnob[S any](name string, most float64, set func(s *S, x float64)) func(Solver, string) (Solver, error) {
	return func(s Solver, v string) (Solver, error) {
		x, err := strconv.ParseFloat(v, 64)
		if err != nil || !(x > 0 && x <= most) {
			return nil, fmt.Errorf("%w: %s=%s, want a number above 0 and up to %v", ErrOption, name, v, most)
		}
		method := any(s).(S)
		set(&method, x)
		return any(method).(Solver), nil
	}
}

var cdKnobs = []Knob{
	{"entries", "order of the entries of a column: natural, shuffled, decrease, gradient (largest first), select (the largest decreases only)", "natural",
		func(s Solver, v string) (Solver, error) {
			cd := s.(CD)
			k, err := parseName("entries", v, entryOrderNames[:])
			cd.Entries = EntryOrder(k)
			return cd, err
		}},
	{"nu", "with entries=select: the part of the column's largest decrease that an entry must offer, above 0 and up to 1", strconv.FormatFloat(defaultNu, 'g', -1, 64),
		partKnob("nu", 1, func(s *CD, x float64) { s.Nu = x })},
	{"mbi-every", "sweeps after which the single best entry of all is updated once; 0 = never", "0",
		wholeKnob("mbi-every", 0, math.MaxInt, func(s *CD, k int) { s.MBIEvery = k })},
}

// Methods returns the list of methods.
func Methods() []Method {
	list := slices.Clone(methods)
	for k := range list {
		list[k].Knobs = slices.Clone(list[k].Knobs)
	}
	return list
}

// ParseSolver returns the method of that name with its options set from text; set may be nil. The error is an
// ErrOption.
func ParseSolver(name string, set map[string]string) (Solver, error) {
	for _, m := range methods {
		if m.Name != name {
			continue
		}
		s := m.solver
		known := 0
		for _, k := range m.Knobs {
			v, ok := set[k.Name]
			if !ok {
				continue
			}
			known++
			var err error
			if s, err = k.set(s, v); err != nil {
				return nil, err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(set)) {
			if known == len(set) {
				break
			}
			if !m.hasKnob(name) {
				return nil, fmt.Errorf("%w: %s has no knob %q; it has %s", ErrOption, m.Name, name, m.knobNames())
			}
		}
		return s, nil
	}
	return nil, fmt.Errorf("%w: method %q is not in the list", ErrOption, name)
}

func (m *Method) hasKnob(name string) bool {
	for _, k := range m.Knobs {
		if k.Name == name {
			return true
		}
	}
	return false
}

func (m *Method) knobNames() string {
	if len(m.Knobs) == 0 {
		return "none"
	}
	names := m.Knobs[0].Name
	for _, k := range m.Knobs[1:] {
		names += ", " + k.Name
	}
	return names
}

// choose fills in the method and the start where opt leaves them open, and says why.
//
// On pictures and documents rowblock takes hundredths to tenths of a second on one thread for what takes the published
// code 15 to 25 s (bench/runs/2026-11-30-likely-diagonals). TSVDStart ends lower than Random and Zero. It takes fewer
// sweeps to get there, and on dense data ends far lower (decision 0027); with many columns it takes more (decision
// 0032).
func (p *problem) choose(opt *Options) (why string) {
	positive := p.positiveDiagonal()
	if opt.Start == nil {
		own, has := opt.Solver.(starter)
		switch {
		case opt.Solver == nil && p.turns():
			opt.Start, why = TSVDStart{}, "start tsvd, which mostly ends lowest"
		case opt.Runs > 1:
			opt.Start, why = Random{}, "start random, since several runs were asked for"
		case has:
			opt.Start = own.ownStart()
			why = "start " + opt.Start.Name() + ", the method's own"
		case !positive:
			opt.Start, why = Random{}, "start random, since nothing moves from zero when the diagonal is zero"
		case opt.Solver == nil && p.a.Density() >= rules.DenseFrom:
			opt.Start, why = Random{}, "start random, since the data are dense"
		default:
			opt.Start, why = Zero{}, "start zero, since the diagonal is not zero"
		}
	}
	if opt.Solver == nil {
		if why != "" {
			why += "; "
		}
		_, blocks := p.a.(matrix.BlockMultiplier)
		switch {
		case opt.Start == (Zero{}) && !positive:
			opt.Solver = CD{Order: Cyclic}
			why += "method cd-cyclic, which leaves zero by planting pairs of items"
		case !blocks:
			opt.Solver = CD{Order: Cyclic}
			why += "method cd-cyclic, since the matrix has no products by blocks of rows"
		default:
			opt.Solver = RowBlock{}
			why += "method rowblock, the fastest"
		}
	}
	return why
}

// turns reports whether auto may begin from TSVDStart:
//
//   - The matrix must have products by blocks.
//   - An ℓ₁ weight on dense data rules it out. The start takes no account of the weight; dense data then do
//     better from random starts, sparse data do not (decision 0028).
//   - H must not be too large. For sparse data the eigenvectors must also be few enough to be no burden; dense
//     data end far lower from any number of them (rules.TurnsPay, decision 0032).
func (p *problem) turns() bool {
	_, blocks := p.a.(matrix.BlockMultiplier)
	rows, _ := matrix.FoldedSize(p.a)
	columns := min(p.r, rows)
	dense := p.a.Density() >= rules.DenseFrom
	fair := !kernel.Nonzero(p.l1) || !dense
	return blocks && rules.TurnsPay(p.n, p.r, columns, dense) && fair && p.norm > 0
}

// starter is a method with a default start of its own.
type starter interface{ ownStart() Start }

// positiveDiagonal reports whether some A_ii > 0.
func (p *problem) positiveDiagonal() bool {
	for _, v := range p.diag {
		if v > 0 {
			return true
		}
	}
	return false
}
