package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"symnmf/internal/system"
	"symnmf/matio"
	"symnmf/matrix"
)

// similarityFlags is the command line of similarity.
type similarityFlags struct {
	input      inputFlags
	repairs    repairs
	out, to    string
	keep       int
	mutual     bool
	threshold  float64
	quantile   float64
	resistance float64
	draws      int64
	seed       uint64
	threads    int
	json       bool
	quiet      bool
	verbose    bool
	still      bool
}

func newSimilarity(s *streams) *cobra.Command {
	var f similarityFlags
	cmd := &cobra.Command{
		Use:   "similarity INPUT -o OUT",
		Short: "make a sparse similarity from points, or from a similarity with too many entries",
		Long: `Keep only the edges of A that matter, and write them to OUT as a sparse similarity S. A is the
similarity in INPUT or, with --items, the inner products of the points in INPUT. An edge is an entry
above 0 off the diagonal. The diagonal is kept. One of these flags chooses the edges:

  --keep K          the K strongest edges of each item, the first of equal ones; an edge stays if
                    either of its ends keeps it, or with --mutual if both do
  --threshold T     edges of at least T
  --quantile Q      edges of at least the Q-quantile of all edges: 0.9 keeps the strongest tenth
  --resistance EPS  edges drawn by effective resistance, with new weights that preserve every cut
                    within about a factor of 1±EPS

The summary says how many edges are kept, what share of ‖A‖² they have, and how far S is from A.
--resistance preserves the Laplacian diag(A·1)−A, not the error ‖A−HHᵀ‖.
'symnmf fit OUT -k R --original INPUT' reports the error against both S and A.`,
		Example: `  symnmf similarity points.csv --items rows --keep 20 -o graph.mtx
  symnmf similarity graph.mtx.gz --resistance 0.5 --draws 200000 -o sparse.npz
  symnmf fit sparse.npz -k 8 --original graph.mtx.gz`,
		Args: exactArgs(inputArg),
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
	flags.StringVarP(&f.out, "out", "o", "", "write the similarity to the file `OUT`, or - for\nstandard output (required)")
	formatFlag(cmd, &f.to, "to", "format of OUT (default: by its extension)")
	wholeVar(flags, &f.keep, "keep", "", 0, "keep the `K` strongest edges of each item")
	flags.BoolVar(&f.mutual, "mutual", false, "with --keep, keep only edges that are among the K\nstrongest of both ends")
	flags.Float64Var(&f.threshold, "threshold", 0, "keep edges of at least `T`")
	flags.Float64Var(&f.quantile, "quantile", 0, "keep edges of at least the `Q`-quantile, 0 < Q ≤ 1")
	flags.Float64Var(&f.resistance, "resistance", 0, "draw edges by effective resistance, so that quadratic\nforms are right within a factor of about 1±`EPS`")
	wholeVar(flags, &f.draws, "draws", "", 0, "with --resistance, draw `N` edges with replacement\n(default 9·n·ln n/EPS²)")
	f.input.define(cmd)
	f.repairs.define(cmd)
	wholeVar(flags, &f.seed, "seed", "", 0, "whole number `S` that fixes all random choices\n(default 0)")
	wholeVar(flags, &f.threads, "threads", "t", 0, "use `N` processors, which does not change the answer\n(default all)")
	flags.BoolVar(&f.json, "json", false, "print the summary as JSON")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress and no summary")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show more: what is about to be done, memory")
	flags.BoolVar(&f.still, "no-progress", false, "do not show a moving progress line")
	return cmd
}

// check refuses flags that make no sense, before anything is read.
func (f *similarityFlags) check(cmd *cobra.Command) error {
	bad := func(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...), cmd} }
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	ways := 0
	for _, way := range []string{"keep", "threshold", "quantile", "resistance"} {
		if given(way) {
			ways++
		}
	}
	switch {
	case f.out == "":
		return bad("similarity needs -o OUT, the file to write")
	case ways != 1:
		return bad("choose the edges with exactly one of --keep, --threshold, --quantile and --resistance")
	case given("keep") && f.keep < 1:
		return bad("--keep %d: at least 1 edge of each item must be kept", f.keep)
	case given("threshold") && !(f.threshold > 0 && !math.IsInf(f.threshold, 0)):
		return bad("--threshold %v: it must be a number above 0", f.threshold)
	case given("quantile") && !(f.quantile > 0 && f.quantile <= 1):
		return bad("--quantile %v: it must be above 0 and at most 1", f.quantile)
	case given("resistance") && !(f.resistance > 0 && !math.IsInf(f.resistance, 0)):
		return bad("--resistance %v: it must be a number above 0", f.resistance)
	case given("draws") && f.draws < 1:
		return bad("--draws %d: at least 1 is needed", f.draws)
	case given("draws") && !given("resistance"):
		return bad("--draws needs --resistance")
	case f.mutual && !given("keep"):
		return bad("--mutual needs --keep")
	case f.threads < 0 || f.threads > mostThreads:
		return bad("--threads %d: it must be from 1 to %d, or 0 for all processors", f.threads, mostThreads)
	case f.input.items != "" && given("symmetrize"):
		return bad("--symmetrize is only for a similarity; inner products (--items) are symmetric")
	case f.out == "-" && f.to == "":
		return bad("writing to standard output needs --to, since there is no extension to name the format")
	case f.out == "-" && f.json:
		return bad("--json: standard output is for the similarity; name a file with -o")
	}
	if f.input.items != "" && f.resistance > 0 {
		return errResistancePoints
	}
	if f.out == "-" {
		return nil
	}
	if _, err := matio.FormatFor(f.out, f.to); err != nil {
		return fmt.Errorf("-o: %w; set the format with --to", err)
	}
	if f.input.isFile(f.out) {
		return bad("-o %s: this is the INPUT, which would be overwritten", f.out)
	}
	return nil
}

var errResistancePoints = usagef("--resistance needs a similarity, but these are points: make one first with --keep")

// similarityRecord is what similarity reports. A field is null if it does not apply to the way edges are
// chosen.
type similarityRecord struct {
	Version      string   `json:"version"`
	Command      []string `json:"command"`
	Input        string   `json:"input"`
	InputSHA256  string   `json:"input_sha256"`
	Format       string   `json:"format"`
	Items        string   `json:"items"`
	Out          string   `json:"out"`
	N            int      `json:"n"`
	Edges        int64    `json:"edges"`
	EdgesOfInput int64    `json:"edges_of_input"`
	Alone        int      `json:"items_without_edges"`
	Kept         number   `json:"kept_share"`     // of ‖A‖²
	RelErr       number   `json:"relative_error"` // ‖A−S‖/‖A‖
	Keep         *int     `json:"keep"`
	Mutual       bool     `json:"mutual"`
	Threshold    *number  `json:"threshold"`
	Quantile     *number  `json:"quantile"`
	Resistance   *number  `json:"resistance"`
	Draws        *int64   `json:"draws"`
	Combinations *int     `json:"combinations"` // 0: the resistances are exact
	Sum          *number  `json:"sum_of_weight_times_resistance"`
	Components   *int     `json:"components"`
	Seed         uint64   `json:"seed"`
	Seconds      number   `json:"seconds"`
	Warnings     []string `json:"warnings"`
	Predicted    number   `json:"predicted_memory_bytes"`
	PeakMemory   *int64   `json:"peak_memory_bytes"`
}

func (f *similarityFlags) run(s *streams) error {
	threads, restore := useThreads(f.threads)
	defer restore()
	if f.out != "-" {
		if err := claimFile(f.out); err != nil {
			return err
		}
	}
	d, err := f.input.open(s)
	if err != nil {
		return err
	}
	if f.resistance > 0 && d.items != similarity {
		return errResistancePoints
	}
	if err := d.repair(f.repairs); err != nil {
		d.tell(s, "")
		return err
	}
	d.warnOfDistances()
	need := shapeOf(d)
	limit := f.input.memory.limit()
	predicted, spare, err := need.fitsSparsified(f, threads, limit)
	if err != nil {
		return err
	}
	defer spend(min(predicted, mostBytes(limit)))()
	a, err := d.operator(threads)
	if err != nil {
		return err
	}
	debug.FreeOSMemory() // the table, unless A uses it

	ctx, release := catchSignals()
	defer release()
	if f.verbose && !f.quiet {
		memory := "grows with the edges kept"
		if !math.IsInf(predicted, 0) {
			memory = showBytes(predicted)
		}
		fmt.Fprintf(s.err, "choosing edges: n = %d, %s, predicted memory %s\n", a.Dim(), count(int64(threads), "thread", "threads"), memory)
	}
	began := time.Now()
	res, err := f.sparsify(ctx, a, threads, spare, s)
	sig := signalError{}
	switch interrupted := errors.As(context.Cause(ctx), &sig); {
	case interrupted:
		return sig
	case errors.Is(err, matrix.ErrTooMany):
		return tooMuch(err, limit, "a smaller --keep, or a larger --threshold or --quantile")
	case err != nil:
		return fmt.Errorf("%s: %w", d.name, err)
	}
	rec := f.record(d, res, s)
	rec.Seconds, rec.Predicted = number(time.Since(began).Seconds()), number(math.Round(predicted))
	if f.resistance > 0 {
		f.warnOfCuts(d, res)
	}
	ids := []string(d.ids())
	t := &matio.Table{Sparse: res.S, RowIDs: ids, ColIDs: ids, Symmetric: true, Eps: d.eps}
	rec.Warnings = append(append([]string{}, d.warnings...), losses(t, f.out, f.to)...)
	for _, w := range rec.Warnings {
		s.warn(w)
	}
	if f.out == "-" {
		release() // from here on a signal ends the process
		err = matio.Write(s.out, t, f.to)
	} else {
		err = cannotWrite(f.out, matio.CreateContext(ctx, f.out, t, matio.Options{Format: f.to}))
	}
	if err := orSignal(ctx, err); err != nil {
		return err
	}
	if !f.quiet {
		rec.summary(s)
	}
	if !f.json {
		return nil
	}
	if bytes, ok := system.PeakMemory(); ok {
		rec.PeakMemory = &bytes
	}
	w := bufio.NewWriter(s.out)
	if err := writeJSON(w, rec); err != nil {
		return err
	}
	return w.Flush()
}

// warnOfCuts warns if cuts may be further off than --resistance says, or if there is no use in drawing edges.
func (f *similarityFlags) warnOfCuts(d *dataset, res *matrix.ResistanceSample) {
	warn := func(format string, args ...any) { d.warnings = append(d.warnings, fmt.Sprintf(format, args...)) }
	few := float64(res.Draws) < res.Enough
	switch {
	case f.resistance >= 1:
		warn("--resistance %v: with 1 or more it guarantees nothing about cuts", f.resistance)
	case few:
		warn("--resistance %v: cuts may be further off than that, since it takes %.10g draws, not %d", f.resistance, res.Enough, res.Draws)
	}
	if res.Of > 0 && res.Draws >= res.Of && !few {
		warn("%d draws are no fewer than the %d edges: a larger EPS or a smaller --draws leaves out more of them", res.Draws, res.Of)
	}
	kept := &dataset{table: res.S, items: similarity}
	if parts, _ := kept.components(true); parts > res.Components {
		warn("the edges drawn have %d components, all edges %d: cuts between these parts are 0", parts, res.Components)
	}
}

// sparsify chooses the edges. spare is the number of edges for which there is memory, or 0 if that is
// unknown.
func (f *similarityFlags) sparsify(ctx context.Context, a matrix.Operator, threads int, spare int64, s *streams) (
	*matrix.ResistanceSample, error) {
	p := &progress{s: s, moving: s.live && !f.still, silent: f.quiet, last: time.Now()}
	defer p.done()
	if f.resistance > 0 {
		return matrix.SampleByResistance(ctx, a, matrix.ResistanceSampling{
			Eps: f.resistance, Draws: f.draws, Seed: f.seed, Workers: threads,
			Progress: func(solved, of int) {
				if p.due() {
					p.put(fmt.Sprintf("%d of %d systems solved", solved, of))
				}
			},
		})
	}
	res, err := matrix.Strongest(ctx, a, matrix.Selection{
		PerItem: f.keep, Mutual: f.mutual, Threshold: f.threshold, Quantile: f.quantile, MaxEdges: spare, Workers: threads,
		Progress: func(part float64) {
			if p.due() {
				p.put(fmt.Sprintf("%.0f %% done", 100*part))
			}
		},
	})
	if err != nil {
		return nil, err
	}
	return &matrix.ResistanceSample{Sparsified: *res}, nil
}

func (f *similarityFlags) record(d *dataset, res *matrix.ResistanceSample, s *streams) *similarityRecord {
	n, _ := res.S.Dims()
	rec := &similarityRecord{
		Version: version(), Command: s.args, Input: d.input, InputSHA256: d.sha256, Format: d.format, Items: d.items, Out: f.out,
		N: n, Edges: res.Edges, EdgesOfInput: res.Of, Kept: number(res.Kept), RelErr: number(res.RelErr),
		Keep: orNull(f.keep), Mutual: f.mutual, Threshold: orNull(number(res.Threshold)), Quantile: orNull(number(f.quantile)),
		Resistance: orNull(number(f.resistance)), Draws: orNull(res.Draws), Seed: f.seed,
	}
	if f.resistance > 0 {
		sum := number(res.Sum)
		rec.Combinations, rec.Sum, rec.Components = &res.Combinations, &sum, &res.Components
	}
	for i := range n {
		col, _ := res.S.Row(i)
		if len(col) == 0 || len(col) == 1 && int(col[0]) == i {
			rec.Alone++
		}
	}
	return rec
}

// summary writes to standard error what was kept, in a form for people.
func (r *similarityRecord) summary(s *streams) {
	fmt.Fprintf(s.err, "%s: %s, %s\n", harmless(r.Input), count(int64(r.N), "item", "items"), count(r.EdgesOfInput, "edge", "edges"))
	if r.Resistance != nil {
		how := "exact"
		if *r.Combinations > 0 {
			how = fmt.Sprintf("from %s", count(int64(*r.Combinations), "random combination", "random combinations"))
		}
		fmt.Fprintf(s.err, "effective resistances %s: weighted, they sum to %.10g; exact ones sum to %d (items minus components)\n",
			how, float64(*r.Sum), r.N-*r.Components)
		fmt.Fprintf(s.err, "%s with replacement\n", count(*r.Draws, "draw", "draws"))
	}
	kept := fmt.Sprintf("kept %s", count(r.Edges, "edge", "edges"))
	if r.Threshold != nil {
		kept += fmt.Sprintf(" of at least %v", float64(*r.Threshold))
	}
	if r.EdgesOfInput > 0 {
		kept += fmt.Sprintf(", %s", percent(float64(r.Edges)/float64(r.EdgesOfInput)))
	}
	fmt.Fprintf(s.err, "%s; with the diagonal they have %s of ‖A‖²; ‖A−S‖ is %s of ‖A‖\n", kept, percent(float64(r.Kept)),
		percent(float64(r.RelErr)))
	if r.Alone > 0 {
		fmt.Fprintf(s.err, "%s no edge\n", count(int64(r.Alone), "item has", "items have"))
	}
	to := r.Out
	if to == "-" {
		to = "standard output"
	}
	fmt.Fprintf(s.err, "written to %s after %s\n", harmless(to), showTime(time.Duration(float64(r.Seconds)*float64(time.Second))))
}
