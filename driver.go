package symnmf

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// run does one run from its start to the first limit: the loop every method shares. A cancelled ctx is a limit like others,
// and no error here.
func (p *problem) run(ctx context.Context, opt *Options, number int) (*Result, error) {
	c, err := p.begin(ctx, opt, number)
	if err != nil {
		return nil, err
	}
	if p.norm == 0 { // H = 0 is the answer
		return p.finish(c.res, c.h, nil, Converged, c.clk, c.limits.KKT), nil
	}
	c.work = opt.Solver.start(p, c.h, number)
	if r, ok := c.work.(releaser); ok {
		defer r.release() // where a function of the caller's panics
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

// course is a run on its way.
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

	h         *matrix.Dense // what the run last published, or was given
	first     figures       // of the start
	known     *figures      // of H, if it has been measured since the last sweep; one that is not provisional ends with the H it has published
	objective float64       // of H, by the decreases
	estimate  float64       // of the KKT residual, as the last sweep that is not provisional met it
	watch     kktWatch
	last      falling
	status    Status // SweepLimit until another is known
	doubted   bool   // the run makes a sweep to see whether it has ended
}

// begin fills and measures the start.
func (p *problem) begin(ctx context.Context, opt *Options, number int) (*course, error) {
	limits, clk := opt.Stop.limits(), newClock(time.Now)
	stop := func() bool { // p keeps it beyond the run, and nothing else of that
		return ctx.Err() != nil || limits.Time > 0 && clk.elapsed() >= limits.Time
	}
	c := &course{
		p: p, ctx: ctx, opt: opt, number: number, limits: limits, clk: clk, stop: stop, status: SweepLimit,
		res: &Result{Method: opt.Solver.Name(), Start: opt.Start.Name(), Seed: opt.Seed, LowerBound: math.NaN()},
	}
	c.watch = kktWatch{tol: c.limits.KKT, next: 10 * c.limits.KKT}
	p.stop, p.shown, p.notes, p.startAH = stop, nil, nil, nil
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

// limitStatus says which of the two things stop looks at was the reason.
func (c *course) limitStatus() Status {
	if c.ctx.Err() != nil {
		return Interrupted
	}
	return TimeLimit
}

// sweep makes one, unless a limit is there before, and says whether there will be more.
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
		c.res.Notes = append(c.res.Notes, fmt.Sprintf("sweep %d: columns that could not leave zero were given the pair of items that fits best: %d", c.res.Sweeps+1, rep.planted))
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

// tell adds a sweep to the trace, and tells the caller of it.
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

// ended says whether a sweep, before which the objective was that, is the last: because it has converged, or stands still.
func (c *course) ended(rep *sweepReport, before float64) bool {
	sweeps := float64(c.res.Sweeps - c.last.sweep) // since the objective was last known
	c.last.to(c.objective, c.res.Sweeps)
	far := c.last.far(c.p.target)
	switch {
	case !c.goesOn() && c.watch.reached(c.look, c.estimate, rep.changed == 0 || c.doubted):
		c.status = Converged
	case far, rep.changed == 0, c.limits.RelChange > 0 && before-c.objective <= c.limits.RelChange*before*sweeps:
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

// goesOn says that the error still falls too fast for the KKT residual to end a run from TSVDStart, where that is small long before the error has come to rest (decision 0004).
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
	res, met := c.res, c.limits.KKT // the bound that counts where a limit was reached
	if (c.status == SweepLimit || c.status == TimeLimit) && c.goesOn() {
		met = 0
	}
	c.p.finish(res, c.h, c.known, c.status, c.clk, met)
	if !finite(res.RelErr) {
		return nil, errProducts
	}
	if res.Status == Converged && c.last.rate() > worthTelling && res.RelErr > leastTold && !kernel.Nonzero(c.p.l1) {
		res.falls = fmt.Sprintf("the error was still falling by %.3g %% a sweep when the KKT residual met its tolerance; with a smaller one it would go on", 100*c.last.rate())
	}
	if t, ok := c.work.(teller); ok {
		res.Notes = append(res.Notes, t.tell(c.ctx, c.status)...)
	}
	return res, nil
}

var errProducts = fmt.Errorf("%w: a product of the operator with an H of finite numbers has such", matrix.ErrNotFinite)

func finite(x float64) bool { return x-x == 0 }

// falling follows the error of the H whose objectives are known, from the first of them on, what comes before may be another method's; or from a start that is of the same A.
type falling struct {
	objective float64 // 0 before the first
	sweep     int
	falls     [2]float64 // by how much the objective has fallen a sweep, the last twice; 0 before
	rates     [2]float64 // of itself, by which the error has fallen a sweep, the last twice: sweeps of some kinds take turns
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

// far says that sweeps like the last would not soon bring the objective down to target.
func (f *falling) far(target float64) bool {
	return f.falls[0] != 0 && f.objective-target > patience*max(0, f.falls[0], f.falls[1])
}

// relErrOf returns ‖A−HHᵀ‖/‖A‖ of an H with that objective, or more with an ℓ₁ term.
func (p *problem) relErrOf(objective float64) float64 {
	return 2 * math.Sqrt(max(0, objective)) / p.norm
}

// A run that has converged says so where its error still fell by more than worthTelling of itself a sweep, as small errors of dense points with many columns do at a KKT residual
// of 1e-4; but not where objectives, sums of terms as large as ‖A‖², no longer tell errors from one another.
const (
	worthTelling = 0.01
	leastTold    = 1e-5
	worthGoing   = 1e-5 // of ‖A‖: a run from TSVDStart goes on where the error falls by more than that or worthTelling, or with a tolerance beyond the default one as many times as much
)

// beginner is a run that wants to know the figures of its start.
type beginner interface{ begin(first *figures) }

// doubter is a run whose sweeps may rest at a point that another kind of sweep leaves: asked when it has converged, or stands
// still, it answers whether it will try one first.
type doubter interface{ doubt() bool }

// teller is a run with something to say of its end, off the clock.
type teller interface {
	tell(ctx context.Context, status Status) []string
}

// keeper is a run that may keep H elsewhere than in the memory it was given, of which nothing is known then. publish returns H, n×r, as it stands until the next sweep; end
// does so for good, the best H if the last is not that, and lets go of what it holds. After a sweep that is neither provisional nor cut both are the same.
type keeper interface {
	publish() *matrix.Dense
	end() *matrix.Dense
}

// releaser is a keeper with goroutines, which release ends, if end has not done so.
type releaser interface{ release() }

// point is a row of the trace.
func (f *figures) point(sweep int, clk *clock) TracePoint {
	return TracePoint{Sweep: sweep, Time: clk.elapsed(), RelErr: f.relErr(), KKT: f.kkt()}
}

// kktWatch decides when to look at the exact KKT residual, which takes a product with A: when the residual met on the way
// through a sweep, which costs nothing, has come within ten times the bound, and after a disappointment not before it has
// fallen further. A trace, which has the exact figures at hand, changes nothing in these decisions.
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

// finish measures h, unless what is known of it comes with it, brings everything back to the user's units, and closes res. A limit reached at a point that meets the
// bound tol on the KKT residual all the same has converged; but not before a first sweep has ended, with columns that are zero, where that is 0 whatever A is.
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
		if k := len(res.Trace); k > 0 && res.Sweeps > 0 && res.Trace[k-1].Sweep == res.Sweeps && status != TimeLimit && status != Interrupted { // a point of the H before
			res.Trace[k-1].RelErr, res.Trace[k-1].KKT = f.relErr(), f.kkt()
		}
	}
	res.Notes = append(res.Notes, p.notes...)
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
		res.Notes = append(res.Notes, "H = 0, for the run ended before its first sweep had left it")
	case zero:
		way := "a random start"
		if kernel.Nonzero(p.l1) {
			way = "a smaller l1 weight"
		}
		res.Notes = append(res.Notes, "H = 0, a stationary point like others; "+way+" may leave it")
	}
	res.NormA = p.norm / p.scale
	res.scaled = f.objective()
	res.Objective = res.scaled / p.scale / p.scale
	if s := 1 / math.Sqrt(p.scale); s != 1 {
		data := h.Data()
		for k, v := range data {
			data[k] = v * s
		}
	}
	res.H = h
	return res
}

// verifying turns on the comparison of everything maintained with its definition after every sweep, which is slow. It is
// the one thing this package reads from the environment: SYMNMF_VERIFY=all.
var verifying = os.Getenv("SYMNMF_VERIFY") == "all"
