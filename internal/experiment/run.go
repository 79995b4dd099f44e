package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"symnmf"
	"symnmf/matrix"
)

// Options says how [Run] carries out a plan.
type Options struct {
	Dir      string // of the records
	Data     string // folder of the sets, "" if there is none
	Version  string // of the program, for the records
	Mixed    bool   // continue records of another version or machine
	MaxBytes int64  // the most a set may take while it is read; 0 = no limit
	// Fits returns why a run must not be made, or nil. It is called before the first run for every run whose need is
	// known by then, and again before each run.
	Fits     func(Need) error
	Begin    func(Outcome) // called once, when it is known what there is to do
	Progress func(Progress)
}

// Progress tells how far a plan is.
type Progress struct {
	Done, Total int
	Key         string        // of the run at work, or of the one that has just ended
	Record      *Record       // of the run that has just ended; nil during a run
	Sweep       int           // of the run at work
	RelErr      float64       // of the run at work
	Left        time.Duration // the likely time for the rest; negative: unknown
}

// Outcome is the result of [Run].
type Outcome struct {
	Total, Before, Made int           // selected runs whose data exist, those recorded before, those made now
	Missing             []string      // sets that are not under Options.Data
	Unbounded           int           // number of runs not recorded before that have no time limit
	Limits              time.Duration // the sum of the time limits of the other runs not recorded before
	Failed, Refused     []string      // keys and reasons of all failed records, and of selected runs refused
	NotMade             int           // number of runs that could not be made; the error says why
	Dropped             int           // bytes of an incomplete last line
}

// Run makes the selected runs of the plan that are not yet in the records, in order, and appends each.
//
// When ctx is cancelled, Run drops the run at work and returns an error that wraps ctx.Err(). The same call later
// continues the plan. Runs on a set that cannot be read are left out, and so are runs that [Options.Fits] refuses once
// the set has been read. The error at the end says why.
func Run(ctx context.Context, p *Plan, opt Options) (*Outcome, error) {
	out := &Outcome{}
	var list []run
	for _, r := range p.wanted() {
		if r.set.missing(opt.Data) {
			out.Missing = append(out.Missing, r.set.Name)
		} else {
			list = append(list, r)
		}
	}
	out.Missing, out.Total = unique(out.Missing), len(list)
	begin := func() {
		if opt.Begin != nil {
			opt.Begin(*out)
		}
	}
	if len(list) == 0 {
		begin()
		return out, nil
	}
	w := &worker{plan: p, opt: opt, shelf: shelf{dir: opt.Data, most: opt.MaxBytes}, machine: Machine(), bounds: map[string]float64{}, sums: map[string]string{}}
	done := map[string]bool{}
	if old, err := Read(opt.Dir); err == nil { // openLog reports what is wrong with the records
		for k := range old.List {
			done[old.List[k].Key] = true
		}
	}
	if err := w.checkAhead(list, done); err != nil {
		return out, err
	}
	log, err := openLog(opt.Dir, Header{
		Format: formatName, PlanName: p.Name, PlanHash: p.hash(), Plan: p.String(),
		Version: opt.Version, Machine: w.machine, Created: now(),
	}, opt.Mixed)
	if err != nil {
		return out, err
	}
	defer log.Close()
	out.Dropped = log.Dropped
	guess := newEstimate()
	for k := range log.List {
		rec := &log.List[k]
		done[rec.Key] = true
		w.learn(rec)
		guess.learn(rec)
		if rec.Status != Refused || slices.ContainsFunc(list, func(r run) bool { return r.key == rec.Key }) { // refusals only of selected runs
			out.fail(rec)
		}
	}
	todo := slices.DeleteFunc(list, func(r run) bool { return done[r.key] })
	out.Before = out.Total - len(todo)
	out.Unbounded, out.Limits = limits(todo)
	begin()
	return out, w.makeAll(ctx, todo, log, guess, out)
}

// makeAll makes the runs in order, appends each to the log, and counts it in out.
func (w *worker) makeAll(ctx context.Context, todo []run, log *Log, guess *estimate, out *Outcome) error {
	var hindered []error // each distinct hindrance once
	for k := range todo {
		r := &todo[k]
		if err := ctx.Err(); err != nil {
			return stopped(err)
		}
		began := time.Now()
		left := guess.left(todo[k:])
		show := func(at Progress) {
			if w.opt.Progress == nil {
				return
			}
			at.Done, at.Total, at.Key, at.Left = out.Before+out.Made, out.Total, r.key, left(time.Since(began))
			if at.Record != nil {
				at.Left = guess.left(todo[k+1:])(0)
			}
			w.opt.Progress(at)
		}
		rec, err := w.make(ctx, r, show)
		if why := (hindrance{}); errors.As(err, &why) {
			out.NotMade++
			if !slices.ContainsFunc(hindered, func(other error) bool { return other.Error() == why.Error() }) {
				hindered = append(hindered, why)
			}
			continue
		}
		if err != nil {
			return err
		}
		rec.WallSeconds = microseconds(time.Since(began))
		if err := log.append(rec); err != nil {
			if path := (*fs.PathError)(nil); errors.As(err, &path) { // it repeats the name
				err = path.Err
			}
			return fmt.Errorf("cannot write %s: %w", log.name, err)
		}
		w.learn(rec)
		guess.learn(rec)
		out.fail(rec)
		out.Made++
		show(Progress{Record: rec})
	}
	return notMade(out.NotMade, hindered)
}

// hindrance is an error that keeps only the runs on one set from being made.
type hindrance struct {
	set string
	err error
}

func (h hindrance) Error() string { return h.set + ": " + h.err.Error() }
func (h hindrance) Unwrap() error { return h.err }

// notMade returns the error about that many runs that were hindered, or nil if there are none.
func notMade(runs int, hindered []error) error {
	if runs == 0 {
		return nil
	}
	all := hindered[0]
	for _, why := range hindered[1:] {
		all = fmt.Errorf("%w; %w", all, why)
	}
	noun := "runs"
	if runs == 1 {
		noun = "run"
	}
	return fmt.Errorf("experiment: %d %s not made: %w", runs, noun, all)
}

func stopped(err error) error {
	return fmt.Errorf("experiment: stopped before the end of the plan: %w", err)
}

func (o *Outcome) fail(rec *Record) {
	switch rec.Status {
	case Failed:
		o.Failed = append(o.Failed, rec.Key+": "+rec.Error)
	case Refused:
		o.Refused = append(o.Refused, rec.Key+": "+rec.Error)
	}
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// microseconds returns d in seconds, truncated to whole microseconds.
func microseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e6 }

// worker makes runs.
type worker struct {
	plan    *Plan
	opt     Options
	shelf   shelf
	machine string
	bounds  map[string]float64 // lower bounds by matrixKey
	sums    map[string]string  // SHA-256 of the files of sets
}

func matrixKey(set string, instance uint64, rank int) string {
	return fmt.Sprintf("%s#%d/%d", formless(set), instance, rank)
}

// learn remembers what later records must agree with. The records are then the same wherever a plan was interrupted.
func (w *worker) learn(rec *Record) {
	if rec.Task == TaskFit && rec.Status != Failed && rec.Status != Refused {
		w.bounds[matrixKey(rec.Set, rec.Instance, rec.Rank)] = float64(rec.LowerBound)
	}
	if rec.SHA256 != "" {
		w.sums[formless(rec.Set)] = rec.SHA256
	}
}

// make makes one run. If the method refuses it, that is a record. A hindrance keeps the runs on this set from being
// made; any other error stops the whole plan.
func (w *worker) make(ctx context.Context, r *run, show func(Progress)) (*Record, error) {
	d, err := w.shelf.take(r)
	if err == nil {
		err = w.suits(r, d.n())
	}
	if err == nil {
		err = w.fits(r.needOf(d))
	}
	if err != nil {
		return nil, hindrance{r.set.Name, err}
	}
	id := r.set.id()
	if old := w.sums[formless(id)]; old != "" && old != d.sha256 {
		return nil, fmt.Errorf("%w: the file of %s has changed since its first records (SHA-256 %.8s…, now %.8s…); give another directory",
			ErrOther, r.set.Name, old, d.sha256)
	}
	rec := &Record{
		Key: r.key, Experiment: r.experiment.Name, Task: r.experiment.Task, Set: id, Instance: r.instance, SHA256: d.sha256,
		Rank: r.rank, Label: r.label, Repeat: r.repeat, Threads: w.plan.Threads, Version: w.opt.Version, Machine: w.machine,
		LowerBound: Number(math.NaN()), KKT: Number(math.NaN()), RelErr: Number(math.NaN()), ErrFloor: Number(math.NaN()),
		Objective: Number(math.NaN()), NormA: Number(math.NaN()),
	}
	if r.experiment.Task == TaskEigen {
		err = w.eigen(ctx, r, d, rec)
	} else {
		err = w.fit(ctx, r, d, rec, show)
	}
	rec.Ended = now()
	return rec, err
}

// refuse records an error of Factorize or Eigen: as a refusal if it wraps one of the errors listed here, otherwise as a
// failure.
func (rec *Record) refuse(err error) {
	rec.Status, rec.Error = Failed, strings.TrimPrefix(err.Error(), "symnmf: ")
	for _, target := range []error{symnmf.ErrUnfit, symnmf.ErrStart, symnmf.ErrOption, symnmf.ErrNegative, symnmf.ErrRank, matrix.ErrEigen, errNoPoints} {
		if errors.Is(err, target) {
			rec.Status = Refused
		}
	}
}

func (w *worker) fit(ctx context.Context, r *run, d *dataset, rec *Record, show func(Progress)) error {
	m := r.method
	rec.Method, rec.Seed = m.Name, r.seed
	rec.MaxSweeps, rec.TimeLimit = m.Sweeps, m.Time.Seconds()
	if len(m.Knobs) > 0 {
		rec.Knobs = m.Knobs
	}
	a, err := d.operator(r.form(), w.plan.Threads)
	if err != nil {
		return hindrance{r.set.Name, err}
	}
	rec.N, rec.Stored = a.Dim(), a.Stored()
	if r.rank > rec.N { // the library accepts this rank, but a table has no use for it
		rec.refuse(fmt.Errorf("%w: %d columns for %d items", symnmf.ErrRank, r.rank, rec.N))
		return nil
	}
	opt := symnmf.Options{
		Stop: symnmf.Stop{Sweeps: m.Sweeps, Time: m.Time, KKT: -1}, Seed: r.seed, Threads: w.plan.Threads, Trace: true, TraceAt: thinly(),
		Progress: func(p symnmf.Progress) { show(Progress{Sweep: p.Sweep, RelErr: p.RelErr}) },
	}
	if m.Sweeps == 0 {
		opt.Stop.Sweeps = -1
	}
	if opt.Solver, err = symnmf.ParseSolver(m.Name, m.Knobs); err != nil {
		return err
	}
	if m.Start != "" {
		if opt.Start, err = symnmf.ParseStart(m.Start); err != nil {
			return err
		}
	}
	bound, known := w.bounds[matrixKey(rec.Set, rec.Instance, rec.Rank)]
	if !known {
		opt.Bound = symnmf.AnyBound
	}
	runtime.GC() // frees what earlier runs left behind
	res, err := symnmf.Factorize(ctx, a, r.rank, opt)
	if ctx.Err() != nil {
		return stopped(ctx.Err())
	}
	if err != nil {
		rec.refuse(err)
		return nil
	}
	rec.take(res)
	if f := r.experiment.Pictures; f != nil {
		if rec.Pictures, err = f.of(res.H); err != nil {
			return err
		}
	}
	if known {
		rec.LowerBound = Number(bound)
	}
	return nil
}

// take copies the result into the record.
func (rec *Record) take(res *symnmf.Result) {
	rec.Start, rec.Status = res.Start, res.Status.String()
	rec.Sweeps, rec.Seconds = res.Sweeps, microseconds(res.Time)
	rec.RelErr, rec.ErrFloor, rec.KKT = Number(res.RelErr), Number(res.ErrFloor), Number(res.KKT)
	rec.Objective, rec.NormA, rec.LowerBound = Number(res.Objective), Number(res.NormA), Number(res.LowerBound)
	rec.ZeroColumns, rec.ZeroRows, rec.Notes = res.ZeroColumns, res.ZeroRows, slices.Concat(res.Notes, res.Times)
	t := &Trace{}
	for _, p := range res.Trace {
		t.Sweep = append(t.Sweep, p.Sweep)
		t.Seconds = append(t.Seconds, microseconds(p.Time))
		t.RelErr = append(t.RelErr, rounded(p.RelErr, errorDigits))
		t.KKT = append(t.KKT, rounded(p.KKT, kktDigits))
	}
	rec.Trace = t
}

// eigen times the eigenpairs of one form.
func (w *worker) eigen(ctx context.Context, r *run, d *dataset, rec *Record) error {
	if d.x == nil {
		rec.refuse(errNoPoints)
		return nil
	}
	a, err := d.operator(r.label, w.plan.Threads)
	if err != nil {
		return hindrance{r.set.Name, err}
	}
	rec.N, rec.Stored, rec.NormA = a.Dim(), a.Stored(), Number(a.Norm())
	runtime.GC()
	begin := time.Now()
	e, err := matrix.Eigen(ctx, a, r.rank, matrix.EigenOptions{Workers: w.plan.Threads})
	rec.Seconds = microseconds(time.Since(begin))
	if ctx.Err() != nil {
		return stopped(ctx.Err())
	}
	if err != nil {
		rec.refuse(err)
		return nil
	}
	rec.Status = symnmf.Converged.String()
	if e.Limited || len(e.Failed) > 0 {
		rec.Status = symnmf.SweepLimit.String()
	} else {
		rec.LowerBound = Number(matrix.LowerBound(e.Values, a.Norm(), r.rank))
	}
	rec.Eigen = &EigenOutcome{Products: e.Products, Values: e.Values}
	if e.Norm2 > 0 {
		rec.Eigen.Residual = slices.Max(e.Residuals) / e.Norm2
	}
	return nil
}

// fit returns an error if n items are not as many as the pixels.
func (f *Pictures) fit(n int) error {
	if n != f.W*f.H {
		return fmt.Errorf("pictures of %d×%d pixels, but H has %d rows", f.W, f.H, n)
	}
	return nil
}

// of returns the columns of h as pictures by rows, a byte per pixel. Each column is scaled by its own largest entry.
func (f *Pictures) of(h *matrix.Dense) ([]byte, error) {
	n, r := h.Dims()
	if err := f.fit(n); err != nil {
		return nil, err
	}
	b := make([]byte, n*r)
	for j := range r {
		most := 0.0
		for i := range n {
			most = max(most, h.At(i, j))
		}
		if most == 0 {
			continue
		}
		for y := range f.H {
			for x := range f.W {
				i := y*f.W + x
				if f.Columns {
					i = x*f.H + y
				}
				b[j*n+y*f.W+x] = byte(math.Round(255 * h.At(i, j) / most))
			}
		}
	}
	return b, nil
}

// estimate predicts the time of runs from those that have ended.
type estimate struct {
	like map[string]mean // wall time by the keys of likenesses
}

type mean struct{ sum, n float64 }

func newEstimate() *estimate { return &estimate{like: map[string]mean{}} }

func (e *estimate) learn(rec *Record) {
	for _, key := range likenesses(rec.Experiment, rec.Set, rec.Rank, rec.Label) {
		m := e.like[key]
		m.sum += rec.WallSeconds
		m.n++
		e.like[key] = m
	}
}

// likenesses returns keys for ever larger groups of runs like that one, the most similar group first.
func likenesses(experiment, set string, rank int, label string) []string {
	return []string{fmt.Sprint(experiment, " ", set, " ", rank, " ", label), experiment + " " + label, experiment, ""}
}

// left returns a function for the time that the runs are still likely to take, once the first of them has been at work
// for some time. The time is -1 if it is unknown.
func (e *estimate) left(runs []run) func(at time.Duration) time.Duration {
	var first, others float64
	for k := range runs {
		seconds := e.of(&runs[k])
		if seconds < 0 {
			return func(time.Duration) time.Duration { return -1 }
		}
		if k == 0 {
			first = seconds
		} else {
			others += seconds
		}
	}
	return func(at time.Duration) time.Duration {
		return time.Duration((max(0, first-at.Seconds()) + others) * float64(time.Second))
	}
}

func (e *estimate) of(r *run) float64 {
	limit := 0.0
	if r.method != nil {
		limit = r.method.Time.Seconds()
	}
	keys := likenesses(r.experiment.Name, r.set.id(), r.rank, r.label)
	for k, key := range keys {
		if k == 2 && limit > 0 {
			return limit
		}
		if m := e.like[key]; m.n > 0 {
			return m.sum / m.n
		}
	}
	if limit > 0 {
		return limit
	}
	return -1
}
