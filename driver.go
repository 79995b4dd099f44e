package symnmf

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// run does one run from its start to the first limit, in the loop that every method shares. A cancelled ctx
// is a limit like the others, and no error here.
func (p *problem) run(ctx context.Context, opt *Options, number int) (*Result, error) {
	c, err := p.begin(ctx, opt, number)
	if err != nil {
		return nil, err
	}
	if p.norm == 0 { // H = 0 is the answer
		return p.finish(c.res, c.h, nil, Converged, c.clk, c.limits.KKT), nil
	}
	c.work = opt.Solver.start(p, c.h, number)
	p.spare = nil
	if r, ok := c.work.(releaser); ok {
		defer r.release() // in case a function of the caller's panics
	}
	if b, ok := c.work.(beginner); ok {
		b.begin(&c.first)
	}
	for more := true; more; {
		if more, err = c.sweep(); err != nil {
			c.end()
			return nil, err
		}
	}
	c.end()
	return c.close()
}

// course is a run under way.
type course struct {
	p      *problem
	ctx    context.Context
	opt    *Options
	number int
	limits Stop
	clk    *clock
	stop   func() bool // whether the run has to end
	res    *Result
	work   run

	h     *matrix.Dense // what the run last published, or was given
	first figures       // of the start
	// known has the figures of H, if it has been measured since the last sweep. A sweep that is not
	// provisional ends with the H that is published.
	known     *figures
	objective float64 // of H, by the decreases
	estimate  float64 // of the KKT residual, from the last sweep that was not provisional
	watch     kktWatch
	last      falling
	status    Status // SweepLimit until another is known
	doubted   bool   // the run makes one more sweep to see whether it has really ended
}

// begin fills and measures the start.
func (p *problem) begin(ctx context.Context, opt *Options, number int) (*course, error) {
	limits, clk := opt.Stop.limits(), newClock(time.Now)
	stop := func() bool { // p keeps it after the run, but nothing else of the run
		return ctx.Err() != nil || limits.Time > 0 && clk.elapsed() >= limits.Time
	}
	c := &course{
		p: p, ctx: ctx, opt: opt, number: number, limits: limits, clk: clk, stop: stop, status: SweepLimit,
		res: &Result{Method: opt.Solver.Name(), Start: opt.Start.Name(), Seed: opt.Seed, LowerBound: math.NaN()},
	}
	c.watch = kktWatch{tol: c.limits.KKT, next: 10 * c.limits.KKT}
	p.stop, p.shown, p.notes, p.spent, p.begun = stop, nil, nil, nil, startProducts{}
	_, p.drawn = opt.Start.(Random)
	_, p.turned = opt.Start.(TSVDStart)
	if opt.Trace {
		p.shown = clk
	}
	c.h = matrix.NewDense(p.n, p.r, kernel.Numbers(p.n*p.r))
	if p.norm > 0 {
		if err := opt.Start.fill(p, c.h, number); err != nil {
			return nil, err
		}
	}
	c.first = p.measureStart(c.h)
	if !finite(c.first.errSq) {
		return nil, errProducts
	}
	c.objective, c.estimate = c.first.objective(), c.first.kkt()
	if p.turned {
		c.last.objective = c.objective
	}
	c.res.First = c.first.point(0, clk)
	if opt.Trace {
		c.res.Trace = append(c.res.Trace, c.res.First)
	}
	return c, nil
}

// limitStatus returns which of the two limits that stop checks was reached.
func (c *course) limitStatus() Status {
	if c.ctx.Err() != nil {
		return Interrupted
	}
	return TimeLimit
}

// sweep makes one sweep, unless a limit is reached before it, and reports whether there will be more.
func (c *course) sweep() (more bool, err error) {
	if c.stop() {
		c.status = c.limitStatus()
		return false, nil
	}
	if c.limits.Sweeps > 0 && c.res.Sweeps >= c.limits.Sweeps {
		return false, nil
	}
	before := c.objective
	c.known = nil
	rep := c.work.sweep(c.stop)
	if c.objective -= rep.decrease; !finite(c.objective) {
		return false, errProducts
	}
	if rep.planted > 0 {
		c.res.Notes = append(c.res.Notes, fmt.Sprintf("sweep %d: columns that could not leave zero and were given the best-fitting pair of items: %d", c.res.Sweeps+1, rep.planted))
	}
	if rep.cut {
		c.status = c.limitStatus()
		return false, nil
	}
	c.res.Sweeps++
	if verifying && !rep.provisional {
		c.show()
		if err := c.p.verify(c.work, c.h, c.first.objective(), c.objective, c.res.Sweeps); err != nil {
			return false, err
		}
	}
	c.tell(&rep)
	return rep.provisional || !c.ended(&rep, before), nil
}

// tell adds a sweep to the trace and reports it to Options.Progress.
func (c *course) tell(rep *sweepReport) {
	if c.opt.Trace && !rep.provisional {
		c.clk.pause(func() {
			if c.opt.TraceAt == nil || c.opt.TraceAt(c.res.Sweeps) {
				c.look()
			}
		})
		if c.known != nil {
			c.res.Trace = append(c.res.Trace, c.known.point(c.res.Sweeps, c.clk))
		}
	}
	if !rep.provisional {
		c.estimate = math.Sqrt(rep.stepSq / c.p.norm)
	}
	if c.opt.Progress != nil {
		c.clk.pause(func() {
			c.opt.Progress(Progress{Run: c.number + 1, Runs: max(c.opt.Runs, 1), Sweep: c.res.Sweeps, Elapsed: c.clk.elapsed(),
				RelErr: c.p.relErrOf(c.objective), KKT: c.estimate, Provisional: rep.provisional})
		})
	}
}

// ended reports whether a sweep was the last because the run has converged or stands still. before is the
// objective before the sweep. A kick that is too far from its target ends as Stalled, too; its outcome is
// then dropped.
func (c *course) ended(rep *sweepReport, before float64) bool {
	sweeps := float64(c.res.Sweeps - c.last.sweep) // since the objective was last known
	c.last.to(c.objective, c.res.Sweeps)
	far := c.last.far(c.p.target)
	switch {
	case !c.goesOn() && c.watch.reached(c.look, c.estimate, rep.changed == 0 || c.doubted):
		c.status = Converged
	case far, rep.changed == 0, c.limits.RelChange > 0 && before-c.objective <= c.limits.RelChange*max(before, c.p.leastObjective())*sweeps:
		c.status = Stalled
	default:
		c.doubted = false
		return false
	}
	c.doubted = false
	if d, ok := c.work.(doubter); ok && !far && d.doubt() {
		c.status, c.doubted = SweepLimit, true
		return false
	}
	return true
}

// leastObjective is what rounding leaves of the objective of an exact answer, which may come out as less than 0.
func (p *problem) leastObjective() float64 { return 0x1p-52 * p.norm * p.norm }

// goesOn reports whether the error still falls too fast for the KKT residual to end a run from TSVDStart.
// There the residual is small long before the error has come to rest (decision 0004).
func (c *course) goesOn() bool {
	loose := max(1, c.limits.KKT/defaultKKT)
	rate, relErr := c.last.rate(), c.p.relErrOf(c.objective)
	return c.p.turned && (rate > loose*worthTelling && relErr > leastTold || rate*relErr > loose*worthGoing)
}

// look measures H, unless that has been done since the last sweep.
func (c *course) look() *figures {
	if c.known == nil {
		c.show()
		f := c.p.measure(c.h)
		c.known = &f
	}
	return c.known
}

func (c *course) show() {
	if k, ok := c.work.(keeper); ok {
		c.h = k.publish()
	}
}

func (c *course) end() {
	if k, ok := c.work.(keeper); ok {
		c.h = k.end()
	}
}

// close makes the result of a run that has ended.
func (c *course) close() (*Result, error) {
	res, met := c.res, c.limits.KKT // met is the bound that counts where a limit was reached
	if (c.status == SweepLimit || c.status == TimeLimit) && c.goesOn() {
		met = 0
	}
	c.p.finish(res, c.h, c.known, c.status, c.clk, met)
	if !finite(res.RelErr) {
		return nil, errProducts
	}
	if res.Status == Converged && c.last.rate() > worthTelling && res.RelErr > leastTold && !kernel.Nonzero(c.p.l1) {
		res.falls = fmt.Sprintf("the error was still falling by %.3g %% a sweep when the KKT residual met its tolerance; with a smaller tolerance the run would go on", 100*c.last.rate())
	}
	if t, ok := c.work.(teller); ok {
		res.Notes = append(res.Notes, t.tell(c.ctx, c.status)...)
	}
	return res, nil
}

var errProducts = fmt.Errorf("%w: a product of the operator with a finite H", matrix.ErrNotFinite)

func finite(x float64) bool { return x-x == 0 }

// falling follows the objective, and with it the error, over the sweeps after which the objective is known.
// It begins with the first of them, since what came before may be the work of another method; after a
// TSVDStart it begins with the start.
type falling struct {
	objective float64 // 0 before the first
	sweep     int
	falls     [2]float64 // the decrease of the objective a sweep, the last two times; 0 before
	rates     [2]float64 // the relative decrease of the error a sweep, the last two times; sweeps may alternate in kind
}

func (f *falling) to(objective float64, sweep int) {
	rate := 0.0
	if f.objective > 0 && objective < f.objective {
		rate = 1 - math.Pow(max(0, objective)/f.objective, 0.5/float64(sweep-f.sweep))
	}
	if f.rates[0], f.rates[1] = f.rates[1], rate; f.sweep > 0 {
		f.falls[0], f.falls[1] = f.falls[1], (f.objective-objective)/float64(sweep-f.sweep)
	}
	f.objective, f.sweep = objective, sweep
}

func (f *falling) rate() float64 { return max(f.rates[0], f.rates[1]) }

// far reports whether sweeps like the last ones would not bring the objective down to target within patience
// sweeps.
func (f *falling) far(target float64) bool {
	return f.falls[0] != 0 && f.objective-target > patience*max(0, f.falls[0], f.falls[1])
}

// relErrOf returns ‖A−HHᵀ‖/‖A‖ for an H with that objective; with an ℓ₁ term the returned value is larger.
func (p *problem) relErrOf(objective float64) float64 {
	return 2 * math.Sqrt(max(0, objective)) / p.norm
}

// A run that has converged adds a note if its error was still falling by more than worthTelling of itself a
// sweep. Small errors of dense points with many columns do that at a KKT residual of 1e-4. There is no note
// below leastTold: objectives are sums of terms as large as ‖A‖², and no longer tell such errors apart.
const (
	// A run from TSVDStart goes on while its error falls by more than worthGoing, of ‖A‖, or by more than
	// worthTelling. Both are larger with a tolerance above the default, by the same factor.
	worthTelling = 0.01
	leastTold    = 1e-5
	worthGoing   = 1e-5
)

// beginner is a run that wants to know the figures of its start.
type beginner interface{ begin(first *figures) }

// doubter is a run whose sweeps may come to rest at a point that another kind of sweep can leave. When the
// run has converged or stands still, doubt reports whether it will try such a sweep first.
type doubter interface{ doubt() bool }

// teller is a run with something to say about its end. The clock no longer runs then.
type teller interface {
	tell(ctx context.Context, status Status) []string
}

// keeper is a run that may keep H elsewhere than in the memory it was given, whose contents are then
// undefined.
//
// publish returns H, n×r, as it stands until the next sweep. end returns H for good, or the best H if that is
// not the last, and frees what the run holds. After a sweep that is neither provisional nor cut both return
// the same H.
type keeper interface {
	publish() *matrix.Dense
	end() *matrix.Dense
}

// releaser is a keeper with goroutines. release ends them, if end has not done so.
type releaser interface{ release() }

// point returns f as a row of the trace.
func (f *figures) point(sweep int, clk *clock) TracePoint {
	return TracePoint{Sweep: sweep, Time: clk.elapsed(), RelErr: f.relErr(), KKT: f.kkt()}
}

// kktWatch decides when to compute the exact KKT residual, which takes a product with A. The residual that a
// sweep meets on its way costs nothing. The exact one is computed when that has come within ten times the
// bound, and after a disappointment not before it has fallen further. A trace, which has the exact figures at
// hand, does not change these decisions.
type kktWatch struct{ tol, next float64 }

func (w *kktWatch) reached(look func() *figures, estimate float64, fixed bool) bool {
	if w.tol == 0 || estimate > w.next && !fixed {
		return false
	}
	if look().kkt() <= w.tol {
		return true
	}
	if estimate > 0 {
		w.next = min(w.next, 0.7*estimate)
	}
	return false
}

// finish completes res from h: it measures h, unless known has its figures, and converts everything back to
// the user's units.
//
// A run that reached a limit where the KKT residual is at most tol counts as converged all the same. It does
// not before its first sweep has ended if some columns are zero, for which the residual is 0 whatever A is.
func (p *problem) finish(res *Result, h *matrix.Dense, known *figures, status Status, clk *clock, tol float64) *Result {
	res.Time = clk.elapsed()
	if known == nil {
		f := p.measure(h)
		known = &f
	}
	f := *known
	if p.clearLoose && len(f.loose) > 0 {
		for _, i := range f.loose {
			clear(h.Row(i))
		}
		f = p.measure(h)
		if k := len(res.Trace); k > 0 && res.Sweeps > 0 && res.Trace[k-1].Sweep == res.Sweeps && status != TimeLimit && status != Interrupted {
			// The point is of the H before its loose rows were cleared.
			res.Trace[k-1].RelErr, res.Trace[k-1].KKT = f.relErr(), f.kkt()
		}
	}
	res.Notes, res.Times = append(res.Notes, p.notes...), p.spent
	res.Status = status
	zero := f.zeroCols == p.r && p.norm > 0
	untried := zero && res.Sweeps == 0
	begun := res.Sweeps == 0 && f.zeroCols > 0 && p.norm > 0 // columns that have not had their turn are stationary
	if status != Interrupted && tol > 0 && f.kkt() <= tol && !begun {
		res.Status = Converged
	}
	res.RelErr, res.ErrFloor, res.KKT = f.relErr(), f.floor(), f.kkt()
	if k := len(res.Trace); k > 0 && res.Trace[k-1].Sweep < res.Sweeps && status != TimeLimit && status != Interrupted {
		last := f.point(res.Sweeps, clk)
		last.Time = res.Time // without the time of measuring it
		res.Trace = append(res.Trace, last)
	}
	res.ZeroColumns, res.ZeroRows = f.zeroCols, f.zeroRows
	switch {
	case untried:
		res.Notes = append(res.Notes, "H = 0, since the run ended before its first sweep had left it")
	case zero:
		way := "a random start"
		if kernel.Nonzero(p.l1) {
			way = "a smaller l1 weight"
		}
		res.Notes = append(res.Notes, "H = 0, a stationary point like any other; "+way+" may lead away from it")
	}
	res.NormA = p.norm / p.scale
	res.scaled = f.objective()
	res.Objective = res.scaled / p.scale / p.scale
	if s := 1 / math.Sqrt(p.scale); s != 1 {
		data := h.Data()
		for k, v := range data {
			data[k] = v * s
		}
		if s < 1 { // products may be too small for a number
			var left figures
			p.count(h, &left)
			res.ZeroColumns, res.ZeroRows = left.zeroCols, left.zeroRows
		}
	}
	res.H = h
	return res
}

// outgrown says which rows of H, in units of the user like norm, have ‖h_i‖² > ‖A‖, or "". With the diagonal
// counted no stationary H has such a row, since there ‖h_i‖² ≤ ‖HHᵀ‖ ≤ ‖A‖. Without it, a longer h_i can go
// with shorter rows of its neighbors, whose products with each other should be small: F then has an infimum
// that no H attains. An ℓ₁ weight bounds H.
func (p *problem) outgrown(h *matrix.Dense, norm float64) string {
	if !p.ignoreDiag || norm == 0 || slices.Min(p.l1) > 0 {
		return ""
	}
	rows, longest, most := 0, 0, 0.0 // most is ‖h_i‖²/‖A‖
	unit := 1 / math.Sqrt(norm)
	for i := range p.n {
		row := 0.0
		for _, v := range h.Row(i) {
			row += v * unit * v * unit
		}
		if row > 1 {
			rows++
		}
		if row > most {
			longest, most = i, row
		}
	}
	if rows == 0 {
		return ""
	}
	return fmt.Sprintf("without the diagonal nothing bounds the rows of H: row %d has ‖h‖² = %.3g·‖A‖, and rows above ‖A‖ number %d in all; "+
		"if the error falls as they grow, no H is the best one, and an l1 weight would bound them", longest+1, most, rows)
}

// verifying turns on the comparison of everything maintained with its definition after every sweep that is not
// provisional, which is slow. It is the only thing this package reads from the environment: SYMNMF_VERIFY=all.
var verifying = os.Getenv("SYMNMF_VERIFY") == "all"
