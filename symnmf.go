package symnmf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// Options holds the options that every method shares. Its zero value works: each field says what zero means.
type Options struct {
	// Solver is the method with its own options. With nil Factorize chooses one for the matrix, and Result
	// says which and why.
	Solver Solver
	// Start is the first H. nil means the default start of the method: for coordinate descent Zero when some
	// A_ii > 0 and there is one run, else Random.
	//
	// When Solver is nil too, the start is TSVDStart, except
	//   - for dense data with an ℓ₁ weight,
	//   - for an H of more than 2²² numbers,
	//   - for sparse data when H has more than 64 columns and more than an eighth of the number of items (for
	//     points, features count in place of columns if they are fewer, and at most half as many as items),
	//   - for an operator that is not from package matrix, and for those of matrix.Completed.
	// In these cases dense data begin from Random.
	Start Start
	// Stop bounds the run.
	Stop Stop
	// L1 is the weight Λ of the term Σ_j Λ_j‖H_:,j‖₁ added to ¼‖A−HHᵀ‖²: r values, or one for all columns, in
	// units of A^{3/2}. None means 0. ‖A‖^{3/2}/n is a small weight.
	L1 []float64
	// IgnoreDiagonal leaves the n terms (A_ii − ‖H_i,:‖²)² out of the objective and of every figure reported.
	// Rows of H may then grow without end while the error falls by ever less; Result.Notes says if rows have
	// ‖H_i,:‖² > ‖A‖. An ℓ₁ weight bounds them.
	IgnoreDiagonal bool
	// ClearLoose sets row i of H to zero at the end of a run where A·H says nothing about item i, that is,
	// where (A·H)_i,: = 0, as it is when A_i,: = 0. This lowers the objective. Some methods, as published,
	// leave in such a row what their start put there.
	ClearLoose bool
	// Seed fixes every random choice of the run. The default 0 is a seed like any other.
	Seed uint64
	// Runs is the number of independent random starts, by Random or TSVDStart. The result with the least
	// objective is kept. 0 means 1.
	Runs int
	// Kicks is how many times a run that has ended begins again from the best H so far, with two of its
	// columns joined and one split at random. The outcome replaces the best H if its objective is lower by at
	// least a millionth. 0 means none; with a single column there are none.
	//
	// On graphs and documents with many columns, kicks mostly end lower than more Runs do in the same time;
	// with few columns about as low (decision 0024).
	//
	// The limits of Stop on sweeps and time apply to a run together with its kicks, so a large number means
	// as many kicks as these limits allow. Status is that of the run or kick that H comes from. The trace has
	// a point for each kick that was taken.
	Kicks int
	// AtOnce is how many runs and kicks may work at once, each with its share of Threads and with memory of
	// its own. 0 means 1: one after another, each with all threads. The answer is the same, and comes sooner
	// where more threads hardly speed up a single run. The reported times are then measured while other runs
	// share the machine. Kicks begin before earlier ones have ended, and begin again when one of those is
	// taken.
	//
	// With a Trace everything runs one after another. With a Stop.Time runs do, each with all threads for its
	// time, while kicks do not: the time that Progress takes then counts, since other kicks go on meanwhile.
	AtOnce int
	// Threads bounds the number of goroutines at work; 0 means runtime.GOMAXPROCS, and more than 1024 are not
	// used. The answer does not depend on it.
	Threads int
	// Trace records the exact error and KKT residual in Result.Trace: of the start, of every sweep that is
	// not provisional (see Progress), and of the last. The clock stops while they are computed, and while a
	// method computes figures it has no use for itself.
	Trace bool
	// TraceAt selects the sweeps that the trace has besides the start and the last; nil means all. It is
	// called once for each sweep that is not provisional, in order, and with several runs for the sweeps of
	// each run.
	//
	// The figures of one sweep take about as long as a sweep. Those of the last are not known when a limit
	// cuts the next sweep short. With Kicks the trace also has the last sweep of the run before them.
	TraceAt func(sweep int) bool
	// Bound says whether to look for Result.LowerBound after the runs; the default is NoBound.
	Bound Bound
	// Progress is called after every sweep, on the goroutine that called Factorize; nil means no calls. When
	// runs work at once, the calls of each run come in order, perhaps a little late. When kicks work at once,
	// calls come after the sweeps of those that the calling goroutine makes itself, and report the kick whose
	// turn it is.
	Progress func(Progress)
}

// Progress reports how far a run has come.
type Progress struct {
	Run, Runs int // the number of this run, from 1, and how many there are
	Kick      int // the kick at work or just taken, from 1; 0 before the first
	Sweep     int
	Elapsed   time.Duration // since this run began
	// RelErr is ‖A−HHᵀ‖/‖A‖ from the summed decreases, without a product; with an ℓ₁ term it is that of the
	// whole objective. Below 1e-6 it is rounding.
	RelErr float64
	// KKT estimates the KKT residual from values met during the sweep.
	KKT float64
	// Provisional says that RelErr and KKT belong to an earlier sweep: either the method has not evaluated
	// the outcome of this one, or it is a sweep of a kick. When a kick is taken its last sweep is reported
	// once more.
	Provisional bool
}

// Status says why a run ended.
type Status int

// A run that reaches a limit is a success with a Status.
const (
	Converged   Status = iota // the KKT residual is at most Stop.KKT
	SweepLimit                // Stop.Sweeps reached
	TimeLimit                 // Stop.Time reached
	Stalled                   // the objective no longer falls: by at most Stop.RelChange, or no entry changed at all
	Interrupted               // the context was cancelled
)

var statusNames = [...]string{"converged", "sweep-limit", "time-limit", "stalled", "interrupted"}

func (s Status) String() string { return nameOf(s, statusNames[:]) }

// Result is the outcome of Factorize.
type Result struct {
	H *matrix.Dense // n×r, ≥ 0, in the units of √A

	// RelErr is ‖A−HHᵀ‖/‖A‖, accurate to ErrFloor, below which it is noise; 0 when A = 0.
	RelErr, ErrFloor float64
	// KKT is ‖H − [H − G/‖A‖]₊‖/‖A‖^½ with G = (HHᵀ−A)H + Λ, zero exactly at a stationary point. H = 0 is one.
	KKT float64
	// Objective is ¼‖A−HHᵀ‖² + Σ_j Λ_j‖H_:,j‖₁.
	Objective float64
	scaled    float64 // Objective of the scaled A, which neither overflows nor underflows
	falls     string  // the note for Notes that the error was still falling, or ""
	// LowerBound is a bound that RelErr cannot fall below for any H of r columns, from the eigenvalues of A.
	// It is NaN where Options.Bound did not ask for it or it was not found. BoundTime is how long the search
	// took, after the runs.
	LowerBound float64
	BoundTime  time.Duration
	NormA      float64 // ‖A‖_F over the entries that count

	Status Status
	Sweeps int
	Time   time.Duration // of the run kept, without the time that only the trace needed

	Method, Start string   // names as in Methods and Starts; "given" for a Given start
	Why           string   // why this method and start, where Factorize chose them
	Notes         []string // what the user should know about this run, a sentence each
	Times         []string // how long parts of this run took that some methods and starts have, a phrase each

	ZeroColumns, ZeroRows int        // of H
	First                 TracePoint // the start
	Trace                 []TracePoint
	Run                   int // the one kept, from 1
	Runs                  []RunSummary
	Kicks                 KickSummary // of the run kept
	Seed                  uint64
}

// TracePoint is one row of the trace: exact figures after a sweep, or of the start when Sweep is 0.
type TracePoint struct {
	Sweep       int
	Time        time.Duration
	RelErr, KKT float64
}

// RunSummary describes one of several runs.
type RunSummary struct {
	Run       int // from 1
	RelErr    float64
	KKT       float64
	Objective float64
	Sweeps    int
	Time      time.Duration
	Status    Status
}

// Errors about the arguments of Factorize. Each comes wrapped with the details.
var (
	ErrOption   = errors.New("symnmf: bad option")
	ErrRank     = errors.New("symnmf: bad rank")
	ErrEmpty    = errors.New("symnmf: empty matrix")
	ErrNegative = errors.New("symnmf: negative entries")
	ErrStart    = errors.New("symnmf: bad start")
	ErrUnfit    = errors.New("symnmf: the method cannot take this matrix")
)

// Factorize looks for H ≥ 0 (n×r) that minimizes ‖A−HHᵀ‖_F. The rank r may exceed n. If ‖A‖ is not 0, it must be from
// 2⁻¹⁰²² to 2¹⁰²³.
//
// The time is that of the method; memory is a few times n·r numbers and some ten times r², besides A. When ctx is cancelled
// Factorize returns the best H so far and an error that wraps ctx.Err(). Among several runs that is the best
// one. Within a run it is the H that the method has reached, which can be worse than an earlier one if the
// method is not monotone. Every other error comes with a nil Result.
func Factorize(ctx context.Context, a matrix.Operator, r int, opt Options) (*Result, error) {
	p, err := newProblem(a, r, &opt)
	if err != nil {
		return nil, err
	}
	why := p.choose(&opt)
	if err := opt.Solver.accepts(p, &opt); err != nil {
		return nil, err
	}
	if _, listed := a.(matrix.RowVisitor); opt.Start == (Zero{}) && !listed && p.norm > 0 && !p.positiveDiagonal() {
		return nil, fmt.Errorf("%w: zero cannot be left when no A_ii > 0 and the matrix does not list its entries, as with inner products without their diagonal; start at random", ErrStart)
	}
	res, err := p.best(ctx, &opt)
	if res == nil {
		return nil, err
	}
	res.Why = why
	if opt.Bound != NoBound && err == nil {
		sweeps := 0
		for _, s := range res.Runs {
			sweeps += s.Sweeps
		}
		p.multiplyA = nil // and with it the memory it holds for points
		p.bound(ctx, opt.Bound, sweeps, res)
		if err = ctx.Err(); err != nil {
			err = fmt.Errorf("symnmf: stopped early, perhaps before the lower bound was found: %w", err)
		}
	}
	return res, err
}

// problem is A scaled so that 1 ≤ ‖A‖ < 4, with everything else that defines the objective. Solvers see
// nothing else. Scaling by a power of 4 is exact and scales H by a power of 2, so entries of 1e-150 or 1e150
// cause no overflow on the way.
type problem struct {
	a          matrix.Operator // without its diagonal when that is ignored
	n, r       int
	norm       float64   // ‖A‖, scaled; 0 when A = 0
	normFrom   float64   // root of the sum that norm² is a difference of, see matrix.Taken; otherwise norm
	taken      []float64 // the numbers that products with A subtract for its diagonal, or nil
	diag       []float64 // A_ii, scaled; zeros when ignored
	selfs      []float64 // A_ii, scaled, ignored or not
	l1         []float64 // Λ_j, scaled, r values
	ignoreDiag bool
	clearLoose bool
	drawn      bool    // the start at work is Random: each row is drawn by itself, so no two are alike
	turned     bool    // the start at work is a TSVDStart
	scale      float64 // a = scale · the user's A
	seed       uint64
	workers    int
	near       *problem        // the result of compressed
	nearBeyond int             // the argument of compressed that near belongs to
	apart      float64         // if A is a low rank: a bound on its distance from the A it replaces
	low        matrix.Operator // that low rank, with its diagonal even if that is ignored
	of         *problem        // the problem whose A is replaced by this low rank, if any
	common     *common

	multiplyA func(dst, x *matrix.Dense) // the function behind times; nil before its first call

	stop  func() bool // whether the run at work has to end; nil before there is one
	shown *clock      // the clock of the run at work, if it has a trace
	notes []string    // of the run at work
	spent []string    // likewise, see Result.Times

	target float64 // the objective that the run at work has to reach, or may end early; +Inf if it has none

	begun startProducts // of the start filled last, until it is measured
	spare []float64     // where its A·H was, until the method has begun; or nil
}

// startProducts are A·H (n×r) and HᵀH (r×r) of a start, or nil if they are not kept.
type startProducts struct{ ah, d []float64 }

// spareRoom returns room for n numbers, whatever they are if the start has left as much as that, and otherwise zeros. To
// write new memory for the first time takes as long as a few passes over it.
func (p *problem) spareRoom(n int) []float64 {
	if len(p.spare) != n {
		return kernel.Numbers(n)
	}
	room := p.spare
	p.spare = nil
	return room
}

// aside does work whose outcome is only shown and which the method itself has no use for. With a trace it is
// off the clock, like the trace itself.
func (p *problem) aside(work func()) {
	if p.shown == nil {
		work()
		return
	}
	p.shown.pause(work)
}

// note adds a sentence to Result.Notes, once.
func (p *problem) note(format string, args ...any) {
	p.notes = addOnce(p.notes, fmt.Sprintf(format, args...))
}

// addOnce returns list with s, which is added if it is not in it.
func addOnce(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// took adds a phrase to Result.Times, once.
func (p *problem) took(d time.Duration, format string, args ...any) {
	p.spent = addOnce(p.spent, fmt.Sprintf(format, args...)+" took "+d.Round(time.Microsecond).String())
}

// mostL1 is the largest ℓ₁ weight in scaled units, where ‖A‖ is near 1. It leaves nothing but H = 0; a larger one may
// be no number any more.
const mostL1 = 1e300

// mostNumbers bounds the size of an H and of an r×r matrix: rows may be padded, and addresses have some 48
// bits.
const mostNumbers = min(math.MaxInt/16, 1<<44)

func newProblem(a matrix.Operator, r int, opt *Options) (*problem, error) {
	if a == nil {
		return nil, fmt.Errorf("%w: it is nil", ErrEmpty)
	}
	n := a.Dim()
	if n <= 0 {
		return nil, fmt.Errorf("%w: n = %d", ErrEmpty, n)
	}
	if r < 1 || r > mostNumbers/max(n, r) {
		return nil, fmt.Errorf("%w: r = %d, want at least 1, and n·r and r² numbers that can be addressed", ErrRank, r)
	}
	if err := refuseNegatives(a); err != nil {
		return nil, err
	}
	if err := opt.check(n, r); err != nil {
		return nil, err
	}
	all := a
	if opt.IgnoreDiagonal {
		a = a.OffDiagonal()
	}
	if norm := a.Norm(); norm != 0 && !(norm >= 0x1p-1022 && norm < 0x1p1023) {
		return nil, fmt.Errorf("%w: ‖A‖ = %v, want 0 or a number from 2⁻¹⁰²² to 2¹⁰²³: divide the numbers that count by their largest, and scale A by c > 0 only", matrix.ErrRange, norm)
	}
	c := powerOf4(a.Norm())
	p := &problem{
		a: a.Scaled(c), n: n, r: r, diag: make([]float64, n), l1: make([]float64, r),
		ignoreDiag: opt.IgnoreDiagonal, clearLoose: opt.ClearLoose, scale: c, seed: opt.Seed, workers: threads(opt.Threads),
	}
	p.common = &common{workers: p.workers}
	p.norm = p.a.Norm()
	p.taken, p.normFrom = matrix.Taken(p.a)
	more := func(d float64) bool { return math.Abs(d) > 0x1p-46*p.normFrom*math.Sqrt(float64(n)) } // more than rounding
	if p.norm == 0 && p.normFrom > 0 && slices.ContainsFunc(matrix.Degrees(p.a, p.workers), more) {
		return nil, fmt.Errorf("%w: ‖A‖ = 0 is what rounding leaves of %.3g: the sum that makes up A cancels", matrix.ErrRange, p.normFrom/c)
	}
	p.a.DiagTo(p.diag)
	if p.selfs = p.diag; opt.IgnoreDiagonal {
		p.selfs = make([]float64, n)
		all.Scaled(c).DiagTo(p.selfs)
		if _, listed := a.(matrix.RowVisitor); !listed && p.taken == nil { // an operator of the caller's own
			p.taken, p.normFrom = p.selfs, c*all.Norm()
		}
	}
	for j := range p.l1 {
		switch len(opt.L1) {
		case 0:
		case 1:
			p.l1[j] = opt.L1[0]
		default:
			p.l1[j] = opt.L1[j]
		}
		p.l1[j] = min(p.l1[j]*c*math.Sqrt(c), mostL1) // F grows by c², ‖H_:,j‖₁ by √c
	}
	return p, nil
}

func refuseNegatives(a matrix.Operator) error {
	if c := a.Negatives(); c.Count > 0 {
		return fmt.Errorf("%w: %d, the least %.6g, the first %.6g at [%d,%d]", ErrNegative, c.Count, c.Least, c.Value, c.Row, c.Col)
	}
	return nil
}
