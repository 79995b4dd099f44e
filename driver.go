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
	res := &Result{Method: opt.Solver.Name(), Start: opt.Start.Name(), Seed: opt.Seed, LowerBound: math.NaN()}
	limits := opt.Stop.limits()
	clk := newClock(time.Now)
	stop := func() bool {
		return ctx.Err() != nil || limits.Time > 0 && clk.elapsed() >= limits.Time
	}
	p.stop, p.shown, p.notes, p.startAH = stop, nil, nil, nil
	_, p.drawn = opt.Start.(Random)
	_, p.turned = opt.Start.(TSVDStart)
	if opt.Trace {
		p.shown = clk
	}
	h := matrix.NewDense(p.n, p.r, kernel.Numbers(p.n*p.r))
	if p.norm > 0 {
		if err := opt.Start.fill(p, h, number); err != nil {
			return nil, err
		}
	}
	first := p.measureStart(h)
	if !finite(first.errSq) {
		return nil, errProducts
	}
	objective := first.objective()
	res.First = first.point(0, clk)
	if opt.Trace {
		res.Trace = append(res.Trace, res.First)
	}
	if p.norm == 0 { // H = 0 is the answer
		return p.finish(res, h, nil, Converged, clk, limits.KKT), nil
	}
	work := opt.Solver.start(p, h, number)
	if r, ok := work.(releaser); ok {
		defer r.release() // where a function of the caller's panics
	}
	if b, ok := work.(beginner); ok {
		b.begin(&first)
	}
	show := func() {
		if k, ok := work.(keeper); ok {
			h = k.publish()
		}
	}
	end := func() {
		if k, ok := work.(keeper); ok {
			h = k.end()
		}
	}
	var known *figures // of H, if it has been measured since the last sweep; one that is not provisional ends with the H it has published
	watch := kktWatch{tol: limits.KKT, next: 10 * limits.KKT}
	estimate := first.kkt()
	status, ended := SweepLimit, false
	doubted := false // the run makes a sweep to see whether it has ended
	var last falling
	if p.turned {
		last.objective = objective
	}
	// From TSVDStart the KKT residual is small long before the error has come to rest (decision 0004).
	loose := max(1, limits.KKT/defaultKKT)
	goesOn := func() bool {
		rate, relErr := last.rate(), p.relErrOf(objective)
		return p.turned && (rate > loose*worthTelling && relErr > leastTold || rate*relErr > loose*worthGoing)
	}
	for !ended {
		if stop() {
			status = p.limitStatus(ctx)
			break
		}
		if limits.Sweeps > 0 && res.Sweeps >= limits.Sweeps {
			break
		}
		before := objective
		known = nil
		rep := work.sweep(stop)
		if objective -= rep.decrease; !finite(objective) {
			end()
			return nil, errProducts
		}
		if rep.planted > 0 {
			res.Notes = append(res.Notes, fmt.Sprintf("sweep %d: columns that could not leave zero were given the pair of items that fits best: %d", res.Sweeps+1, rep.planted))
		}
		if rep.cut {
			status = p.limitStatus(ctx)
			break
		}
		res.Sweeps++
		if verifying && !rep.provisional {
			show()
			if err := p.verify(work, h, first.objective(), objective, res.Sweeps); err != nil {
				end()
				return nil, err
			}
		}
		if opt.Trace && !rep.provisional {
			clk.pause(func() {
				if opt.TraceAt == nil || opt.TraceAt(res.Sweeps) {
					show()
					f := p.measure(h)
					known = &f
				}
			})
			if known != nil {
				res.Trace = append(res.Trace, known.point(res.Sweeps, clk))
			}
		}
		if !rep.provisional {
			estimate = math.Sqrt(rep.stepSq / p.norm)
		}
		if opt.Progress != nil {
			clk.pause(func() {
				opt.Progress(Progress{Run: number + 1, Runs: max(opt.Runs, 1), Sweep: res.Sweeps, Elapsed: clk.elapsed(),
					RelErr: p.relErrOf(objective), KKT: estimate, Provisional: rep.provisional})
			})
		}
		if rep.provisional {
			continue
		}
		sweeps := float64(res.Sweeps - last.sweep) // since the objective was last known
		last.to(objective, res.Sweeps)
		look := func() *figures {
			if known == nil {
				show()
				f := p.measure(h)
				known = &f
			}
			return known
		}
		far := last.far(p.target)
		switch {
		case !goesOn() && watch.reached(look, estimate, rep.changed == 0 || doubted):
			status, ended = Converged, true
		case far, rep.changed == 0, limits.RelChange > 0 && before-objective <= limits.RelChange*before*sweeps:
			status, ended = Stalled, true
		}
		doubted = false
		if d, ok := work.(doubter); ok && ended && !far && d.doubt() {
			status, ended, doubted = SweepLimit, false, true
		}
	}
	end()
	met := limits.KKT // the bound that counts where a limit was reached
	if (status == SweepLimit || status == TimeLimit) && goesOn() {
		met = 0
	}
	p.finish(res, h, known, status, clk, met)
	if !finite(res.RelErr) {
		return nil, errProducts
	}
	if res.Status == Converged && last.rate() > worthTelling && res.RelErr > leastTold && !kernel.Nonzero(p.l1) {
		res.falls = fmt.Sprintf("the error was still falling by %.3g %% a sweep when the KKT residual met its tolerance; with a smaller one it would go on", 100*last.rate())
	}
	if t, ok := work.(teller); ok {
		res.Notes = append(res.Notes, t.tell(ctx, status)...)
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

// limitStatus says which of the two things stop looks at was the reason.
func (p *problem) limitStatus(ctx context.Context) Status {
	if ctx.Err() != nil {
		return Interrupted
	}
	return TimeLimit
}

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
