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
	held    float64    // bytes of what has been read so far
	whole   inputFlags // --original: the data from which INPUT was made
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
	still   bool // no moving progress line
}

func newFit(s *streams) *cobra.Command {
	var f fitFlags
	cmd := &cobra.Command{
		Use:   "fit INPUT -k R",
		Short: "factor INPUT, and print the clusters or write the answer to a directory",
		Long: `Factor A as HHᵀ, where H ≥ 0 has n rows, one for each item, and R columns. A is the similarity in
INPUT or, with --items, the inner products of the points in INPUT.

Without -o, standard output gets a line for each item, with these columns:

  id        the name of the item, or its number from 1
  cluster   the column of the largest entry in its row of H, from 1; 0 if the row is zero
  strength  that largest entry
  margin    1 − second largest/largest

A summary goes to standard error. With -o DIR, the answer is written to the files H.npy,
clusters.tsv, memberships.tsv, history.csv and run.json in DIR.`,
		Example: `  symnmf fit demo:karate -k 2
  symnmf fit graph.mtx.gz -k 20 -o answer
  symnmf fit points.csv --items rows -k 10 --runs 5 --seed 7 --json
  zcat edges.gz | symnmf fit - --format edges -k 8 > clusters.tsv`,
		Args: func(cmd *cobra.Command, args []string) error {
			value := slices.IndexFunc(args, func(arg string) bool { return slices.Contains([]string{"auto", "yes", "no"}, arg) })
			if len(args) == 2 && value >= 0 && cmd.Flags().Changed("bound") {
				return usageError{fmt.Sprintf("--bound takes its value after an equals sign: --bound=%s", args[value]), cmd}
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
	wholeVar(flags, &f.rank, "rank", "k", 0, "number `R` of columns of H, one for each\ncluster (required)")
	f.input.define(cmd)
	flags.StringVarP(&f.method, "method", "m", "auto", "method `NAME`, see 'symnmf methods'; auto\nchooses one to suit the input")
	cmd.RegisterFlagCompletionFunc("method", cobra.FixedCompletions(methodNames(), cobra.ShellCompDirectiveNoFileComp))
	flags.StringArrayVar(&f.knobs, "set", nil, "set a knob of the method, `KEY=VALUE`, see\n'symnmf methods -v'; may be repeated")
	flags.StringVar(&f.init, "init", "",
		"`START`: zero, random, svd, tsvd, lai, or FILE.npy\nwith an n×R matrix H (default: that of the\nmethod; for auto tsvd, but zero or random\n  for dense data with --l1,\n  for sparse data with R > 64 and R > n/8, and\n  for an H of more than 4 million numbers)")
	cmd.RegisterFlagCompletionFunc("init", cobra.FixedCompletions(experiment.StartNames(), cobra.ShellCompDirectiveDefault))
	wholeVar(flags, &f.seed, "seed", "", 0, "whole number `S` that fixes all random choices\n(default 0)")
	wholeVar(flags, &f.runs, "runs", "", 1,
		"make `N` runs from independent random starts and\nkeep the best; as many run at once as threads\nand memory allow")
	wholeVar(flags, &f.kicks, "kicks", "", 0,
		"continue `N` times from the best H, with two\ncolumns joined and one split at random; the\nlimits of a run include its kicks; several run\nat once as with --runs (default 0)")
	wholeVar(flags, &f.sweeps, "max-sweeps", "", 1000, "at most `N` sweeps per run;\n0 = no limit")
	flags.DurationVar(&f.time, "time-limit", 0, "at most time `D` per run, such as 30s or 5m;\n0 = no limit (default 0)")
	flags.Float64Var(&f.tol, "tol", 1e-4,
		"a run has converged when its KKT residual is at\nmost `T` and, if it began from tsvd, its error has\nalmost stopped falling;\n0 = never")
	flags.Var((*weights)(&f.l1), "l1",
		"weight of the l1 term, which makes H sparser:\none number, or one for each of the R columns;\n'symnmf info' shows the unit (default 0)")
	f.diag = "keep"
	choiceFlag(cmd, &f.diag, "diagonal", "whether the diagonal of A counts in the\nerror", "keep", "ignore")
	f.bound = "auto"
	choiceFlag(cmd, &f.bound, "bound",
		"find a lower bound on the error of any H, from\neigenvalues of A; auto does so only where it\ncosts little", "auto", "yes", "no")
	flags.Lookup("bound").NoOptDefVal = "yes"
	f.repairs.define(cmd)
	flags.StringVar(&f.whole.name, "original", "", "also report the error against `FILE`, from which\n'symnmf similarity' made INPUT")
	f.whole.formatFlag, f.whole.itemsFlag = "original-format", "original-items"
	choiceFlag(cmd, &f.whole.items, f.whole.itemsFlag, "the original is a table of points, one per row\nor per column", "rows", "columns")
	formatFlag(cmd, &f.whole.format, f.whole.formatFlag, "format of the original\n(default: by its extension)")
	wholeVar(flags, &f.threads, "threads", "t", 0, "use `N` processors, which does not change the\nanswer (default all)")
	flags.StringVar(&f.trace, "trace", "", "write the exact errors during the run to\n`FILE.csv`; this about doubles the time")
	flags.StringVarP(&f.out, "out", "o", "", "write the answer to files in `DIR`")
	flags.BoolVar(&f.force, "force", false, "write into DIR even if it is not empty")
	flags.BoolVar(&f.json, "json", false, "print the summary as JSON, not the clusters")
	flags.BoolVar(&f.strict, "strict", false, "exit with code 4 if the run has not converged")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress and no summary")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show more: what is about to be done, norms,\nmemory")
	flags.BoolVar(&f.still, "no-progress", false, "do not show a moving progress line")
	return cmd
}

// check refuses flags that make no sense, before anything is read.
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
		return bad("--max-sweeps %d: it must be above 0, or 0 for no limit", f.sweeps)
	case f.time < 0:
		return bad("--time-limit %v: it must be above 0, or 0 for no limit", f.time)
	case !(f.tol >= 0) || math.IsInf(f.tol, 1):
		return bad("--tol %v: it must be a number above 0, or 0 for none", f.tol)
	case f.sweeps == 0 && f.time == 0:
		return bad("--max-sweeps 0 without --time-limit: the run might never end")
	case f.threads < 0 || f.threads > mostThreads:
		return bad("--threads %d: it must be from 1 to %d, or 0 for all processors", f.threads, mostThreads)
	case len(f.l1) > 1 && len(f.l1) != f.rank:
		one := "1"
		if f.rank > 1 {
			one = fmt.Sprintf("1 or %d", f.rank)
		}
		return bad("--l1: %d weights for %s; give %s", len(f.l1), count(int64(f.rank), "column", "columns"), one)
	case f.input.items != "" && given("symmetrize"):
		return bad("--symmetrize is only for a similarity; inner products (--items) are symmetric")
	case f.whole.name == "" && (f.whole.items != "" || f.whole.format != ""):
		return bad("--original-items and --original-format need --original FILE")
	case f.whole.name == "-" && f.input.name == "-":
		return bad("only one of INPUT and --original can be standard input")
	case f.out == "" && given("out"):
		return bad("-o needs the name of a directory, but the name is empty")
	case f.out == "-":
		return bad("-o -: an answer is several files and needs a directory; without -o the clusters go to standard output")
	case f.force && f.out == "":
		return bad("--force needs -o DIR")
	case f.runs > 1 && f.init != "" && f.init != "random" && f.init != "tsvd":
		return bad("--runs %d needs random starts, not --init %s", f.runs, f.init)
	case f.kicks < 0:
		return bad("--kicks %d: it must be above 0, or 0 for none; the limits bound how many are made", f.kicks)
	case f.kicks > 0 && f.rank == 1:
		return bad("--kicks %d needs at least 2 columns to join and split, but -k is 1", f.kicks)
	case f.method != "auto" && !slices.Contains(methodNames(), f.method):
		return bad("unknown method %q%s", f.method, nearOrAll(f.method, methodNames(), ""))
	case f.method == "auto" && len(f.knobs) > 0:
		return bad("--set %s: name the method that has this knob with --method", f.knobs[0])
	}
	if _, err := f.solver(); err != nil {
		return bad("--set: %s", strings.TrimPrefix(err.Error(), symnmf.ErrOption.Error()+": "))
	}
	if _, err := os.Stat(f.init); f.fileStart() && err != nil {
		return bad("--init %s: neither a start (%s) nor an existing file%s", f.init, strings.Join(experiment.StartNames(), ", "),
			didYouMean(f.init, experiment.StartNames(), ""))
	}
	if err := f.checkTrace(cmd.InOrStdin()); err != nil {
		return err
	}
	return f.checkOut(cmd.InOrStdin())
}

// fileStart reports whether --init names a file.
func (f *fitFlags) fileStart() bool {
	return f.init != "" && !slices.Contains(experiment.StartNames(), f.init)
}

// checkTrace refuses a trace that would overwrite an input, the answer or standard output.
func (f *fitFlags) checkTrace(in io.Reader) error {
	if f.trace == "-" {
		return usagef("--trace -: standard output is for the answer; name a file")
	}
	if f.out != "" && sameDir(filepath.Dir(f.trace), f.out) && isAnswerFile(filepath.Base(f.trace)) {
		return usagef("--trace %s: -o %s writes a file of that name", f.trace, f.out)
	}
	trace, err := os.Stat(f.trace)
	if err != nil || !trace.Mode().IsRegular() {
		return nil // there is nothing to lose
	}
	if out, err := os.Stdout.Stat(); err == nil && os.SameFile(trace, out) && (f.out == "" || f.json) {
		return usagef("--trace %s: standard output goes there too; name another file", f.trace)
	}
	if what := f.reads(trace, in); what != "" {
		return usagef("--trace %s: this is %s, which would be overwritten", f.trace, what)
	}
	return nil
}

// sameDir reports whether two names mean the same directory, which need not exist yet.
func sameDir(a, b string) bool {
	first, err := os.Stat(a)
	if second, err2 := os.Stat(b); err == nil && err2 == nil {
		return os.SameFile(first, second)
	}
	return filepath.Clean(a) == filepath.Clean(b)
}

// checkOut refuses a directory that is not empty, unless --force is given. Even with --force it refuses a
// directory in which a file of the answer would overwrite an input.
func (f *fitFlags) checkOut(in io.Reader) error {
	if f.out == "" {
		return nil
	}
	if info, err := os.Stat(f.out); err == nil && info.IsDir() && !f.force {
		if err := empty(f.out); err != nil {
			return err
		}
	}
	for _, file := range answerFiles {
		old, err := os.Stat(filepath.Join(f.out, file.name))
		if err != nil {
			continue
		}
		if what := f.reads(old, in); what != "" {
			return usagef("-o %s: its %s is %s, which would be overwritten", f.out, file.name, what)
		}
	}
	return nil
}

// reads describes the role of a file that this run reads, for a message. It returns "" for other files.
func (f *fitFlags) reads(file os.FileInfo, in io.Reader) string {
	same := func(info os.FileInfo, err error) bool { return err == nil && os.SameFile(file, info) }
	stdin, isFile := in.(*os.File)
	switch {
	case f.input.name != "-" && same(os.Stat(f.input.name)), f.input.name == "-" && isFile && same(stdin.Stat()):
		return "the INPUT"
	case f.whole.name != "" && f.whole.name != "-" && same(os.Stat(f.whole.name)), f.whole.name == "-" && isFile && same(stdin.Stat()):
		return "the --original file"
	case f.fileStart() && same(os.Stat(f.init)):
		return "the start (--init)"
	}
	return ""
}

// solver returns the chosen method, or nil for auto.
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

// start returns the chosen start, or nil for the default of the method.
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
		return nil, inputf("--init %s: it is %d×%d, but H must be %d×%d (items × -k)", f.init, rows, cols, d.n(), f.rank)
	}
	survey := h.Survey()
	for _, c := range []matrix.Cells{survey.NotFinite, survey.Negative} {
		if c.Count > 0 {
			return nil, inputf("--init %s: %s negative or not finite, the first is %v in row %d, column %d", f.init,
				count(c.Count, "entry is", "entries are"), c.Value, c.Row+1, c.Col+1)
		}
	}
	return symnmf.Given{H: h}, nil
}

// weights is the value of --l1.
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
	defer spend(need.ahead() - need.begun())()
	opt, err := f.options(d, s, threads, need.atOnce, bound)
	if err != nil {
		return err
	}
	stop := dieClean()
	defer stop()
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
	debug.FreeOSMemory() // the table, unless A uses it

	ctx, release := catchSignals()
	defer release()
	stop()
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

// openInputs reads, repairs and checks INPUT and the --original file. The original is nil if there is none.
func (f *fitFlags) openInputs(s *streams) (*dataset, *original, error) {
	d, err := f.input.open(s)
	if err != nil {
		return nil, nil, err
	}
	err = d.prepare(f.repairs, f.diag == "ignore")
	d.tell(s, "")
	if err != nil {
		return nil, nil, err
	}
	if n := d.n(); f.rank > n {
		return nil, nil, usagef("-k %d: more columns than the %s of %s", f.rank, count(int64(n), "item", "items"), d.name)
	}
	if f.method == "auto" {
		d.thin()
	}
	original, err := f.openOriginal(d, s)
	return d, original, err
}

// foresee returns the shape from which the memory of the run is predicted, with as many runs or kicks at once
// as memory allows, and the kind of lower bound to look for. It refuses a run that would need more than limit
// bytes.
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

// claim makes sure, before the work begins, that the answer and the trace can be written. The caller calls
// leave when the run is over.
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

// find makes the runs and takes over their result, if there is one.
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
			res.Why += fmt.Sprintf("; the table is treated as sparse, since only %.2g %% of it is nonzero", 100*float64(a.nnz)/float64(a.rows)/float64(a.cols))
		}
		a.take(res, hist)
	}
	return err
}

// deliver writes and prints the answer and returns the error that determines the exit code. It calls release,
// which ends the handling of signals, once everything is saved.
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
	var untraced error // reported at the end, since the answer matters more than the trace
	if f.trace != "" {
		untraced = writeFile(context.Background(), f.trace, ans.writeTrace)
	}
	var interrupted error
	if sig := (signalError{}); errors.As(context.Cause(ctx), &sig) {
		interrupted = sig
	}
	release() // from here on a signal ends the process, since nothing is left to save
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

// options translates the flags into Options, all but Progress.
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

// orNone converts a limit to the convention of Options. There 0 means the default and -1 no limit; in flags 0
// means no limit.
func orNone[T int | float64](limit T) T {
	if limit == 0 {
		return -1
	}
	return limit
}

// print writes to standard output: the record with --json, else the clusters unless -o is given.
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
