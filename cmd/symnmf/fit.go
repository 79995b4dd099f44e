package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"symnmf"
	"symnmf/internal/experiment"
	"symnmf/matrix"
)

// fitFlags is the command line of fit.
type fitFlags struct {
	input   inputFlags
	held    float64    // bytes of what has been read
	whole   inputFlags // --original: what INPUT was made from
	repairs repairs
	rank    int
	method  string
	knobs   []string
	init    string
	seed    uint64
	runs    int
	kicks   int
	sweeps  int
	time    time.Duration
	tol     float64
	l1      []float64
	diag    string
	bound   string
	threads int
	trace   string
	out     string
	force   bool
	json    bool
	strict  bool
	quiet   bool
	verbose bool
	still   bool // no moving line
}

func newFit(s *streams) *cobra.Command {
	var f fitFlags
	cmd := &cobra.Command{
		Use:   "fit INPUT -k R",
		Short: "factor INPUT, and print the clusters or write the answer to a directory",
		Long: `Factor the similarity A (or the inner products of points) in INPUT as HHᵀ with H ≥ 0, n×R.

Without -o, a line for each item goes to standard output: id, cluster (the column of its largest entry, from 1; 0 for
none), strength (that entry) and margin (1 − second largest/largest), and a summary to standard error. With -o DIR,
DIR gets H.npy, clusters.tsv, memberships.tsv, history.csv and run.json.`,
		Example: `  symnmf fit demo:karate -k 2
  symnmf fit graph.mtx.gz -k 20 -o answer
  symnmf fit points.csv --items rows -k 10 --runs 5 --seed 7 --json
  zcat edges.gz | symnmf fit - --format edges -k 8 > clusters.tsv`,
		Args: func(cmd *cobra.Command, args []string) error {
			value := slices.IndexFunc(args, func(arg string) bool { return slices.Contains([]string{"auto", "yes", "no"}, arg) })
			if len(args) == 2 && value >= 0 && cmd.Flags().Changed("bound") {
				return usageError{fmt.Sprintf("--bound is given its value with a sign of equality: --bound=%s", args[value]), cmd}
			}
			return exactArgs(inputArg)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.input.name = args[0]
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.run(s)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	wholeVar(flags, &f.rank, "rank", "k", 0, "number `R` of columns of H, hence of clusters (required)")
	f.input.define(cmd)
	flags.StringVarP(&f.method, "method", "m", "auto", "a `NAME` from 'symnmf methods'; auto chooses for the input")
	cmd.RegisterFlagCompletionFunc("method", cobra.FixedCompletions(methodNames(), cobra.ShellCompDirectiveNoFileComp))
	flags.StringArrayVar(&f.knobs, "set", nil, "`KEY=VALUE`, a knob of the method, see 'symnmf methods -v' (repeatable)")
	flags.StringVar(&f.init, "init", "", "the `START`: zero, random, svd, tsvd, lai, or FILE.npy with an H, n×R; left out, the method's own; that of auto is tsvd, but zero or random for dense data with --l1, for sparse data with R above 64 and an eighth of the items, and for an H of more than 4 million numbers")
	cmd.RegisterFlagCompletionFunc("init", cobra.FixedCompletions(experiment.StartNames(), cobra.ShellCompDirectiveDefault))
	wholeVar(flags, &f.seed, "seed", "", 0, "whole number `S` that fixes every random choice (default 0)")
	wholeVar(flags, &f.runs, "runs", "", 1, "`N` independent random starts, of which the best is kept; as many at once as there are threads and memory for")
	wholeVar(flags, &f.kicks, "kicks", "", 0, "`N` times begin again from the best H, two of its columns joined and one split at random; within the limits, several at once as with --runs (default 0)")
	wholeVar(flags, &f.sweeps, "max-sweeps", "", 1000, "at most `N` sweeps; 0 = no limit")
	flags.DurationVar(&f.time, "time-limit", 0, "at most time `D` a run, as 30s or 5m; 0 = no limit (default 0)")
	flags.Float64Var(&f.tol, "tol", 1e-4, "a run has converged when the KKT residual is at most `T`, and from tsvd the error has nearly come to rest; 0 = never")
	flags.Var((*weights)(&f.l1), "l1", "weights of the l1 term, one or R, which makes H sparser; 'symnmf info' shows the unit (default 0)")
	f.diag = "keep"
	choiceFlag(cmd, &f.diag, "diagonal", "whether the diagonal of A counts in the error", "keep", "ignore")
	f.bound = "auto"
	choiceFlag(cmd, &f.bound, "bound", "find the least error that any H could have, which takes eigenvalues of A; auto where that costs little", "auto", "yes", "no")
	flags.Lookup("bound").NoOptDefVal = "yes"
	f.repairs.define(cmd)
	flags.StringVar(&f.whole.name, "original", "", "the `FILE` that INPUT is a sparse form of (symnmf similarity): tell the error against it too")
	f.whole.formatFlag, f.whole.itemsFlag = "original-format", "original-items"
	choiceFlag(cmd, &f.whole.items, f.whole.itemsFlag, "the original is a table of points, one item a row or a column", "rows", "columns")
	formatFlag(cmd, &f.whole.format, f.whole.formatFlag, "the format of the original (by its extension when left out)")
	wholeVar(flags, &f.threads, "threads", "t", 0, "`N` processors to use; the answer does not depend on it (default all)")
	flags.StringVar(&f.trace, "trace", "", "write the exact errors on the way to `FILE.csv`, which about doubles the time")
	flags.StringVarP(&f.out, "out", "o", "", "write the answer to files in `DIR`")
	flags.BoolVar(&f.force, "force", false, "write into a DIR that is not empty")
	flags.BoolVar(&f.json, "json", false, "print the summary as JSON in place of the clusters")
	flags.BoolVar(&f.strict, "strict", false, "exit with 4 when the run has not converged")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress and no summary")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "say more: what is about to be done, norms, memory")
	flags.BoolVar(&f.still, "no-progress", false, "no moving line")
	return cmd
}

// check refuses what cannot be meant, before anything is read.
func (f *fitFlags) check(cmd *cobra.Command) error {
	bad := func(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...), cmd} }
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	switch {
	case !given("rank"):
		return bad("fit needs -k R, the number of columns of H")
	case f.rank < 1:
		return bad("-k %d: at least 1 column is needed", f.rank)
	case f.runs < 1:
		return bad("--runs %d: at least 1 run is needed", f.runs)
	case f.sweeps < 0:
		return bad("--max-sweeps %d: 0 means no limit, a limit is above 0", f.sweeps)
	case f.time < 0:
		return bad("--time-limit %v: 0 means no limit, a limit is above 0", f.time)
	case !(f.tol >= 0) || math.IsInf(f.tol, 1):
		return bad("--tol %v: 0 means none, a tolerance is above 0", f.tol)
	case f.sweeps == 0 && f.time == 0:
		return bad("--max-sweeps 0 without --time-limit: the run might never end")
	case f.threads < 0 || f.threads > mostThreads:
		return bad("--threads %d: 0 means all processors, and %d is the most", f.threads, mostThreads)
	case len(f.l1) > 1 && len(f.l1) != f.rank:
		one := "1"
		if f.rank > 1 {
			one = fmt.Sprintf("1 or %d", f.rank)
		}
		return bad("--l1: %d weights for %s; give %s", len(f.l1), count(int64(f.rank), "column", "columns"), one)
	case f.input.items != "" && given("symmetrize"):
		return bad("--symmetrize is for a similarity; inner products (--items) are symmetric")
	case f.whole.name == "" && (f.whole.items != "" || f.whole.format != ""):
		return bad("--original-items and --original-format are about the file of --original, which is missing")
	case f.whole.name == "-" && f.input.name == "-":
		return bad("only one of INPUT and --original can be standard input")
	case f.out == "" && cmd.Flags().Changed("out"):
		return bad("-o needs the name of a directory, and the one given is empty")
	case f.out == "-":
		return bad("-o -: an answer is several files, so name a directory; the clusters go to standard output where there is no -o")
	case f.force && f.out == "":
		return bad("--force is about the directory of -o, which is missing")
	case f.runs > 1 && f.init != "" && f.init != "random" && f.init != "tsvd":
		return bad("--runs %d needs random starts, not --init %s", f.runs, f.init)
	case f.kicks < 0:
		return bad("--kicks %d: 0 means none, and the limits bound how many are made", f.kicks)
	case f.kicks > 0 && f.rank == 1:
		return bad("--kicks %d needs at least 2 columns to join and split, and -k is 1", f.kicks)
	case f.method != "auto" && !slices.Contains(methodNames(), f.method):
		near := didYouMean(f.method, methodNames(), "")
		if near == "" {
			near = ": there are " + strings.Join(methodNames(), ", ")
		}
		return bad("unknown method %q%s", f.method, near)
	case f.method == "auto" && len(f.knobs) > 0:
		return bad("--set %s: say which method it is for by --method", f.knobs[0])
	}
	if _, err := f.solver(); err != nil {
		return bad("--set: %s", strings.TrimPrefix(err.Error(), symnmf.ErrOption.Error()+": "))
	}
	if _, err := os.Stat(f.init); f.fileStart() && err != nil {
		return bad("--init %s: neither %s nor a file that is there%s", f.init, strings.Join(experiment.StartNames(), " nor "), didYouMean(f.init, experiment.StartNames(), ""))
	}
	if err := f.checkTrace(cmd.InOrStdin()); err != nil {
		return err
	}
	return f.checkOut(cmd.InOrStdin())
}

// fileStart tells whether --init names a file.
func (f *fitFlags) fileStart() bool {
	return f.init != "" && !slices.Contains(experiment.StartNames(), f.init)
}

// checkTrace refuses a trace that would replace what is read.
func (f *fitFlags) checkTrace(in io.Reader) error {
	if f.trace == "-" {
		return usagef("--trace -: standard output is for the answer, so name a file")
	}
	if f.out != "" && sameDir(filepath.Dir(f.trace), f.out) && isAnswerFile(filepath.Base(f.trace)) {
		return usagef("--trace %s: -o %s writes a file of that name", f.trace, f.out)
	}
	trace, err := os.Stat(f.trace)
	if err != nil || !trace.Mode().IsRegular() {
		return nil // nothing there to lose
	}
	if out, err := os.Stdout.Stat(); err == nil && os.SameFile(trace, out) && (f.out == "" || f.json) {
		return usagef("--trace %s: standard output goes there too, so name another file", f.trace)
	}
	if what := f.reads(trace, in); what != "" {
		return usagef("--trace %s: that is %s, which it would replace", f.trace, what)
	}
	return nil
}

// sameDir tells whether two names are of one directory, which need not be there yet.
func sameDir(a, b string) bool {
	first, err := os.Stat(a)
	if second, err2 := os.Stat(b); err == nil && err2 == nil {
		return os.SameFile(first, second)
	}
	return filepath.Clean(a) == filepath.Clean(b)
}

// checkOut refuses a directory that holds anything, unless --force says otherwise, and one that holds what is read in any case.
func (f *fitFlags) checkOut(in io.Reader) error {
	if f.out == "" {
		return nil
	}
	if entries, err := os.ReadDir(f.out); err == nil && len(entries) > 0 && !f.force {
		return usagef("-o %s: %s", f.out, notEmpty)
	}
	for _, file := range answerFiles {
		old, err := os.Stat(filepath.Join(f.out, file.name))
		if err != nil {
			continue
		}
		if what := f.reads(old, in); what != "" {
			return usagef("-o %s: its %s is %s, which would be replaced", f.out, file.name, what)
		}
	}
	return nil
}

// reads says what the file is to this run, "" where it is not read.
func (f *fitFlags) reads(file os.FileInfo, in io.Reader) string {
	same := func(info os.FileInfo, err error) bool { return err == nil && os.SameFile(file, info) }
	stdin, isFile := in.(*os.File)
	switch {
	case f.input.name != "-" && same(os.Stat(f.input.name)), f.input.name == "-" && isFile && same(stdin.Stat()):
		return "the INPUT"
	case f.whole.name != "" && f.whole.name != "-" && same(os.Stat(f.whole.name)), f.whole.name == "-" && isFile && same(stdin.Stat()):
		return "the file of --original"
	case f.fileStart() && same(os.Stat(f.init)):
		return "the start (--init)"
	}
	return ""
}

// solver returns the method asked for, nil for auto.
func (f *fitFlags) solver() (symnmf.Solver, error) {
	if f.method == "auto" {
		return nil, nil
	}
	set := map[string]string{}
	for _, knob := range f.knobs {
		key, value, ok := strings.Cut(knob, "=")
		if !ok {
			return nil, fmt.Errorf("%s: it must be KEY=VALUE", knob)
		}
		if _, again := set[key]; again {
			return nil, fmt.Errorf("%s: %s is set twice", knob, key)
		}
		set[key] = value
	}
	return symnmf.ParseSolver(f.method, set)
}

// start returns the first H asked for, nil for the method's own.
func (f *fitFlags) start(d *dataset, s *streams) (symnmf.Start, error) {
	if f.init == "" {
		return nil, nil
	}
	if slices.Contains(experiment.StartNames(), f.init) {
		return symnmf.ParseStart(f.init)
	}
	t, err := readTable(s, f.init, "npy", f.input.memory.limit(), f.held)
	if err != nil {
		return nil, err
	}
	h := t.Dense
	if rows, cols := h.Dims(); rows != d.n() || cols != f.rank {
		return nil, inputf("--init %s: it is %d×%d, and H must be %d×%d (items × -k)", f.init, rows, cols, d.n(), f.rank)
	}
	survey := h.Survey()
	for _, c := range []matrix.Cells{survey.NotFinite, survey.Negative} {
		if c.Count > 0 {
			return nil, inputf("--init %s: %s not finite and 0 or more, the first is %v in row %d, column %d", f.init,
				count(c.Count, "entry is", "entries are"), c.Value, c.Row+1, c.Col+1)
		}
	}
	return symnmf.Given{H: h}, nil
}

// weights is the flag --l1.
type weights []float64

func (w *weights) Type() string   { return "W[,W...]" }
func (w *weights) String() string { return "" }
func (w *weights) Set(text string) error {
	*w = nil
	for field := range strings.SplitSeq(text, ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err != nil || !(x >= 0) || math.IsInf(x, 0) {
			return errors.New("finite numbers, 0 or more, separated by commas")
		}
		*w = append(*w, x)
	}
	return nil
}

func methodNames() []string { return append([]string{"auto"}, experiment.MethodNames()...) }

// run does the work.
func (f *fitFlags) run(s *streams) error {
	threads, restore := useThreads(f.threads)
	defer restore()
	d, original, err := f.openInputs(s)
	if err != nil {
		return err
	}
	limit := f.input.memory.limit()
	need, bound, err := f.foresee(d, original, threads, limit)
	if err != nil {
		return err
	}
	if need.atOnce > 1 {
		busy(need.ahead())
	}
	defer within(need.ahead() - need.begun())()
	opt, err := f.options(d, s, threads, need.atOnce, bound)
	if err != nil {
		return err
	}
	leave, err := f.claim()
	if err != nil {
		return err
	}
	defer leave()
	ans := &answer{flags: f, data: d, command: s.args, threads: threads, memoryLimit: limit, nnz: d.nonzeros()}
	ans.rows, ans.cols = d.table.Dims()
	a, err := d.operator(threads)
	if err != nil {
		return err
	}
	if original != nil {
		if original.a, err = original.operator(threads); err != nil {
			return err
		}
	}
	debug.FreeOSMemory() // the table, where A does not use it

	ctx, release := catchSignals()
	defer release()
	if f.verbose && !f.quiet {
		var atOnce string
		if need.atOnce > 1 {
			atOnce = fmt.Sprintf(", %d runs or kicks at once", need.atOnce)
		}
		fmt.Fprintf(s.err, "factoring: n = %d, nnz = %d, r = %d, %s%s, predicted memory %s\n", a.Dim(), ans.nnz, f.rank,
			count(int64(threads), "thread", "threads"), atOnce, showBytes(need.peak()))
	}
	if err := ans.find(ctx, a, opt, s); ans.res == nil {
		return err
	}
	if original != nil {
		if ans.record.Original, err = original.measure(ans.res.H, opt); err != nil {
			return err
		}
	}
	return f.deliver(ctx, release, ans, s)
}

// openInputs reads, repairs and checks INPUT, and the file of --original, nil where there is none.
func (f *fitFlags) openInputs(s *streams) (*dataset, *original, error) {
	d, err := f.input.open(s)
	if err != nil {
		return nil, nil, err
	}
	if n := d.n(); f.rank > n && n > 0 {
		return nil, nil, usagef("-k %d: more columns than the %s of %s", f.rank, count(int64(n), "item", "items"), d.name)
	}
	if err := d.prepare(f.repairs, f.diag == "ignore"); err != nil {
		return nil, nil, err
	}
	for _, w := range d.warnings {
		s.warn(w)
	}
	if f.method == "auto" {
		d.thin()
	}
	original, err := f.openOriginal(d, s)
	return d, original, err
}

// foresee returns what the memory of the run depends on, with as many runs or kicks at once as there is room for, and whether a lower bound will be looked for; it refuses a run that
// would need more than limit bytes.
func (f *fitFlags) foresee(d *dataset, original *original, threads int, limit int64) (shape, symnmf.Bound, error) {
	need := shapeOf(d)
	need.offDiag = f.diag == "ignore"
	need.method, need.rank, need.runs, need.kicks = f.method, f.rank, f.runs, f.kicks
	f.held = need.table + need.ids
	if original != nil {
		whole := shapeOf(original.dataset)
		f.held += whole.table
		need.held = whole.errorBytes(f.rank)
	}
	if need.given = f.fileStart(); !need.given {
		need.init = f.init
	}
	for _, knob := range f.knobs {
		key, value, _ := strings.Cut(knob, "=")
		need.knob(key, value)
	}
	bound := need.boundOf(f.bound)
	if err := need.fits(limit); err != nil {
		return need, bound, err
	}
	if f.trace == "" {
		need.together(threads, limit, f.time > 0)
	}
	return need, bound, nil
}

// claim makes sure, before the work, that the answer and the trace can be written, until leave.
func (f *fitFlags) claim() (leave func(), err error) {
	leave = func() {}
	if f.out != "" {
		if leave, err = takeDir(f.out, f.force); err != nil {
			return nil, err
		}
	}
	if f.trace != "" {
		if err := claimFile(f.trace); err != nil {
			leave()
			return nil, err
		}
	}
	return leave, nil
}

// find does the runs, and takes what they come to, if there is anything.
func (a *answer) find(ctx context.Context, op matrix.Operator, opt symnmf.Options, s *streams) error {
	progress := newProgress(s, a.flags)
	hist := &history{exact: len(a.flags.l1) == 0}
	opt.Progress = func(p symnmf.Progress) {
		progress.show(p)
		if a.flags.out != "" && !p.Provisional {
			hist.add(p)
		}
	}
	res, err := symnmf.Factorize(ctx, op, a.flags.rank, opt)
	progress.done()
	if res != nil {
		if a.data.thinned {
			res.Why += fmt.Sprintf("; the table taken as sparse, for %.2g %% of it is not 0", 100*float64(a.nnz)/float64(a.rows)/float64(a.cols))
		}
		a.take(res, hist)
	}
	return err
}

// deliver writes and prints the answer, and returns what the exit code is made of; release ends the care for signals.
func (f *fitFlags) deliver(ctx context.Context, release func(), ans *answer, s *streams) error {
	res := ans.res
	for _, w := range res.Notes {
		s.warn(w)
	}
	if f.out != "" {
		if err := ans.writeFiles(); err != nil {
			return err
		}
	}
	var untraced error // told at the end: the answer is worth more than the trace
	if f.trace != "" {
		untraced = writeFile(context.Background(), f.trace, ans.writeTrace)
	}
	var interrupted error
	if sig := (signalError{}); errors.As(context.Cause(ctx), &sig) {
		interrupted = sig
	}
	release() // from here on a signal ends the process: nothing is left to save
	if !f.quiet {
		ans.summary(s)
	}
	if err := cmp.Or(untraced, f.print(ans, s)); err != nil {
		return err
	}
	if interrupted == nil && f.strict && res.Status != symnmf.Converged {
		return fmt.Errorf("%w: %v after %s, KKT residual %.3g against --tol %g", errNotConverged, res.Status, count(int64(res.Sweeps), "sweep", "sweeps"), res.KKT, f.tol)
	}
	return interrupted
}

// options translates the flags; Progress is still missing.
func (f *fitFlags) options(d *dataset, s *streams, threads, atOnce int, bound symnmf.Bound) (opt symnmf.Options, err error) {
	if opt.Solver, err = f.solver(); err != nil {
		return opt, err
	}
	if opt.Start, err = f.start(d, s); err != nil {
		return opt, err
	}
	opt.Stop = symnmf.Stop{Sweeps: orNone(f.sweeps), Time: f.time, KKT: orNone(f.tol)}
	opt.L1, opt.IgnoreDiagonal, opt.ClearLoose = f.l1, f.diag == "ignore", true
	opt.Seed, opt.Runs, opt.Kicks, opt.Threads = f.seed, f.runs, f.kicks, threads
	opt.AtOnce, opt.Bound, opt.Trace = atOnce, bound, f.trace != ""
	return opt, nil
}

// orNone is a limit as Options have it: 0 stands for their own there, -1 for none.
func orNone[T int | float64](limit T) T {
	if limit == 0 {
		return -1
	}
	return limit
}

// print writes what goes to standard output.
func (f *fitFlags) print(ans *answer, s *streams) error {
	if f.out != "" && !f.json {
		return nil
	}
	w := bufio.NewWriterSize(s.out, 1<<16)
	var err error
	if f.json {
		err = ans.writeRecord(w)
	} else {
		err = ans.writeClusters(w)
	}
	if err == nil {
		err = w.Flush()
	}
	return err
}

// history is what Progress told of every sweep that was looked at, for history.csv when no exact trace was asked for: it costs nothing. The
// error is the one from the summed decreases, left empty below leastSummed, and the KKT residual, which only a product with A would give, is left
// empty; the first row and the last have exact figures.
type history struct {
	exact bool // the errors told are those of HHᵀ alone, without an ℓ₁ term
	runs  [][]symnmf.TracePoint
}

// leastSummed is the least relative error that summed decreases tell to some digits: its square is of the size of some thousand roundings of 1.
const leastSummed = 1e-6

func (h *history) add(p symnmf.Progress) {
	for len(h.runs) < p.Run {
		h.runs = append(h.runs, nil)
	}
	row := symnmf.TracePoint{Sweep: p.Sweep, Time: p.Elapsed, RelErr: p.RelErr, KKT: math.NaN()}
	if !h.exact || p.RelErr < leastSummed {
		row.RelErr = math.NaN()
	}
	h.runs[p.Run-1] = append(h.runs[p.Run-1], row)
}

// of returns the rows of the run that was kept.
func (h *history) of(res *symnmf.Result) []symnmf.TracePoint {
	rows := []symnmf.TracePoint{res.First}
	if res.Run <= len(h.runs) { // else it was over before a sweep was
		rows = append(rows, h.runs[res.Run-1]...)
	}
	if res.Status == symnmf.TimeLimit || res.Status == symnmf.Interrupted {
		return rows // the last sweep may have been cut short, so the final figures are of no row here
	}
	if rows[len(rows)-1].Sweep < res.Sweeps {
		rows = append(rows, symnmf.TracePoint{Sweep: res.Sweeps, Time: res.Time})
	}
	if last := &rows[len(rows)-1]; last.Sweep > 0 { // row 0 is the start, whatever has become of it since
		last.RelErr, last.KKT = res.RelErr, res.KKT
	}
	return rows
}
