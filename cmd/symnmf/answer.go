package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"symnmf"
	"symnmf/cluster"
	"symnmf/internal/inorder"
	"symnmf/internal/median"
	"symnmf/internal/system"
	"symnmf/matio"
)

// answer is a factorization with everything that is reported about it.
type answer struct {
	flags       *fitFlags
	command     []string
	data        *dataset // without its table
	rows, cols  int
	nnz         int64
	threads     int
	memoryLimit int64

	res    *symnmf.Result
	assign []cluster.Assignment
	trace  []symnmf.TracePoint
	record record
}

// number is a float64 that is null in JSON if it is not finite.
type number float64

func (x number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// record is run.json. The names of its keys are fixed.
type record struct {
	Version      string      `json:"version"`
	Command      []string    `json:"command"`
	Input        string      `json:"input"`
	InputSHA256  string      `json:"input_sha256"`
	Format       string      `json:"format"`
	N            int         `json:"n"`
	NNZ          int64       `json:"nnz"`
	Items        string      `json:"items"`
	Rank         int         `json:"rank"`
	Method       string      `json:"method"`
	Init         string      `json:"init"`
	Seed         uint64      `json:"seed"`
	Threads      int         `json:"threads"`
	Runs         []runRecord `json:"runs"`
	Kicks        *kickRecord `json:"kicks,omitempty"` // nil unless they were requested
	Sweeps       int         `json:"sweeps"`
	Seconds      number      `json:"seconds"`
	Status       string      `json:"status"`
	RelErr       number      `json:"relative_error"`
	ErrFloor     number      `json:"error_floor"`
	LowerBound   *number     `json:"lower_bound"`
	KKT          number      `json:"kkt_residual"`
	Objective    number      `json:"objective"`
	NormA        number      `json:"norm_a"`
	Original     *wholeError `json:"original"`
	ZeroColumns  int         `json:"zero_columns"`
	ZeroRows     int         `json:"zero_rows"`
	ClusterSizes []int       `json:"cluster_sizes"`
	Warnings     []string    `json:"warnings"`
	PeakMemory   *int64      `json:"peak_memory_bytes"`
	Limits       limits      `json:"limits"`
}

type runRecord struct {
	Run       int    `json:"run"`
	RelErr    number `json:"relative_error"`
	KKT       number `json:"kkt_residual"`
	Objective number `json:"objective"`
	Sweeps    int    `json:"sweeps"`
	Seconds   number `json:"seconds"`
	Status    string `json:"status"`
}

// kickRecord describes the kicks of the run that is kept.
type kickRecord struct {
	Made   int    `json:"made"`
	Taken  int    `json:"taken"` // kicks that found a lower objective
	Before number `json:"relative_error_before"`
}

// limits are the bounds of the run. null means no bound.
type limits struct {
	Sweeps  *int    `json:"max_sweeps"`
	Seconds *number `json:"time_limit_seconds"`
	Tol     *number `json:"tol"`
	Memory  *int64  `json:"memory_limit_bytes"`
}

// orNull returns a pointer to x, nil for 0.
func orNull[T comparable](x T) *T {
	var zero T
	if x == zero {
		return nil
	}
	return &x
}

// take fills in the answer from the result.
func (a *answer) take(res *symnmf.Result, h *history) {
	a.res, a.assign, a.trace = res, cluster.Assign(res.H), res.Trace
	if a.trace == nil {
		a.trace = h.of(res)
	}
	init := res.Start
	if init == (symnmf.Given{}).Name() {
		init = a.flags.init // the file
	}
	d, f := a.data, a.flags
	a.record = record{
		Version: version(), Command: a.command, Input: d.input, InputSHA256: d.sha256, Format: d.format,
		N: len(a.assign), NNZ: a.nnz, Items: d.items, Rank: f.rank,
		Method: res.Method, Init: init, Seed: res.Seed, Threads: a.threads,
		Sweeps: res.Sweeps, Seconds: number(res.Time.Seconds()), Status: res.Status.String(),
		RelErr: number(res.RelErr), ErrFloor: number(res.ErrFloor), KKT: number(res.KKT), Objective: number(res.Objective), NormA: number(res.NormA),
		ZeroColumns: res.ZeroColumns, ZeroRows: res.ZeroRows, ClusterSizes: cluster.Sizes(a.assign, f.rank),
		Warnings: append(append([]string{}, d.warnings...), res.Notes...),
		Limits: limits{
			Sweeps: orNull(f.sweeps), Seconds: orNull(number(f.time.Seconds())), Tol: orNull(number(f.tol)), Memory: orNull(a.memoryLimit),
		},
	}
	for _, r := range res.Runs {
		a.record.Runs = append(a.record.Runs, runRecord{r.Run, number(r.RelErr), number(r.KKT), number(r.Objective), r.Sweeps,
			number(r.Time.Seconds()), r.Status.String()})
	}
	if f.kicks > 0 {
		a.record.Kicks = &kickRecord{res.Kicks.Made, res.Kicks.Taken, number(res.Kicks.RelErr)}
	}
	if b := number(res.LowerBound); !math.IsNaN(res.LowerBound) {
		a.record.LowerBound = &b
	}
	if bytes, ok := system.PeakMemory(); ok {
		a.record.PeakMemory = &bytes
	}
}

// answerFiles are the files of an answer. run.json appears last and is removed first, so a directory that has
// it has all the others, from the same answer.
var answerFiles = []struct {
	name  string
	write func(*answer, io.Writer) error
}{
	{"H.npy", (*answer).writeFactor},
	{"clusters.tsv", (*answer).writeClusters},
	{"memberships.tsv", (*answer).writeMemberships},
	{"history.csv", (*answer).writeTrace},
	{"run.json", (*answer).writeRecord},
}

func (a *answer) writeFiles() error {
	var files []outFile
	for _, file := range answerFiles {
		files = append(files, outFile{file.name, func(w io.Writer) error { return file.write(a, w) }})
	}
	return writeFiles(context.Background(), a.flags.out, files) // also after an interrupt
}

// isAnswerFile reports whether an answer has a file of that name.
func isAnswerFile(name string) bool {
	for _, file := range answerFiles {
		if file.name == name {
			return true
		}
	}
	return false
}

// outFile is a file of an output directory. Names in a directory are unique.
type outFile struct {
	name  string
	write func(io.Writer) error
}

// writeFiles writes the files of an output directory. It first writes them all aside and then renames them,
// which needs no more space. The last of files is removed first and renamed last. What exists but is not a
// regular file, such as a pipe, is written to directly.
//
// As with matio.Atomic, links are followed, and a file that is replaced keeps its permissions. If ctx ends
// before the renaming, no file gets its name.
func writeFiles(ctx context.Context, out string, files []outFile) error {
	aside, remove, err := makeAside(out)
	if err != nil {
		return cannotWrite(out, err)
	}
	defer remove()
	ready := map[string]bool{}   // written aside
	written := map[string]bool{} // written directly
	for _, file := range files {
		name := file.name
		old, err := os.Lstat(filepath.Join(out, name))
		switch {
		case err == nil && old.IsDir():
			return fmt.Errorf("cannot write the file %s: it is a directory", filepath.Join(out, name))
		case err == nil && !old.Mode().IsRegular():
			if at, err := os.Stat(filepath.Join(out, name)); err == nil && !at.Mode().IsRegular() {
				if err := writeFile(ctx, filepath.Join(out, name), file.write); err != nil {
					return err
				}
				written[name] = true
			}
			continue
		}
		temp := filepath.Join(aside, name)
		if err := matio.AtomicContext(ctx, temp, file.write); err != nil {
			return cannotWrite(filepath.Join(out, name), err)
		}
		if err == nil {
			if err := os.Chmod(temp, old.Mode().Perm()); err != nil {
				return cannotWrite(filepath.Join(out, name), err)
			}
		}
		ready[name] = true
	}
	unfinished.Lock()
	defer unfinished.Unlock()
	if last := files[len(files)-1].name; ready[last] {
		if err := os.Remove(filepath.Join(out, last)); err != nil && !os.IsNotExist(err) {
			return cannotWrite(filepath.Join(out, last), err)
		}
	}
	for _, file := range files {
		target := filepath.Join(out, file.name)
		var err error
		switch {
		case ready[file.name]:
			err = os.Rename(filepath.Join(aside, file.name), target)
		case !written[file.name]: // a link
			err = matio.Atomic(target, file.write)
		}
		if err != nil {
			return cannotWrite(target, err)
		}
	}
	return nil
}

// writeFile is matio.AtomicContext with errors that name the file and not the temporary one.
func writeFile(ctx context.Context, name string, write func(io.Writer) error) error {
	if err := matio.AtomicContext(ctx, name, write); err != nil {
		return cannotWrite(name, err)
	}
	return nil
}

// text returns a float64 in the shortest form that reads back equal, or "" for NaN.
func text(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

func (a *answer) writeFactor(w io.Writer) error { return matio.WriteNPY(w, a.res.H) }

var clustersHeader = []string{"id", "cluster", "strength", "margin"}

// writeClusters writes clusters.tsv.
func (a *answer) writeClusters(w io.Writer) error {
	ids := a.data.ids()
	return writeTSV(w, clustersHeader, a.threads, inorder.UpTo(len(a.assign)), func(l *tsvLines, i int) {
		c := a.assign[i]
		l.name(ids.of(i))
		l.int(c.Cluster)
		l.float(c.Strength)
		l.float(c.Margin)
	})
}

func (a *answer) writeMemberships(w io.Writer) error {
	ids := a.data.ids()
	return writeTSV(w, []string{"id", "cluster", "weight", "share"}, a.threads, cluster.Memberships(a.res.H), func(l *tsvLines, m cluster.Membership) {
		l.name(ids.of(m.Item))
		l.int(m.Cluster)
		l.float(m.Weight)
		l.float(m.Share)
	})
}

func (a *answer) writeTrace(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"sweep", "seconds", "relative_error", "kkt_residual"})
	for _, p := range a.trace {
		out.Write([]string{strconv.Itoa(p.Sweep), text(p.Time.Seconds()), text(p.RelErr), text(p.KKT)})
	}
	out.Flush()
	return out.Error()
}

func (a *answer) writeRecord(w io.Writer) error { return writeJSON(w, a.record) }

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// summary writes a summary for people to standard error.
func (a *answer) summary(s *streams) {
	d, f, res := a.data, a.flags, a.res
	what := "similarity"
	if d.items != similarity {
		what = fmt.Sprintf("points in the %s of %d×%d", d.items, a.rows, a.cols)
	}
	fmt.Fprintf(s.err, "%s: n = %d, nnz = %d, %s; r = %d\n", harmless(d.name), len(a.assign), a.nnz, what, f.rank)
	fmt.Fprintf(s.err, "%s from %s", res.Method, a.record.Init)
	if res.Why != "" {
		fmt.Fprintf(s.err, " (%s)", res.Why)
	}
	fmt.Fprintln(s.err)
	if len(res.Runs) > 1 {
		a.runTable(s)
	}
	fmt.Fprintf(s.err, "%v: %s in %s\n", res.Status, count(int64(res.Sweeps), "sweep", "sweeps"), showTime(res.Time))
	if k := a.record.Kicks; k != nil {
		ended := ""
		switch {
		case k.Made == f.kicks:
		case f.sweeps > 0 && res.Sweeps >= f.sweeps:
			ended = fmt.Sprintf(", since --max-sweeps %d includes their sweeps", f.sweeps)
		case f.time > 0 && res.Time >= f.time:
			ended = ", since the time limit was reached"
		}
		fmt.Fprintf(s.err, "%d of %s made%s: %d found a lower objective; relative error before the kicks %s\n", k.Made, count(int64(f.kicks), "kick", "kicks"), ended, k.Taken, percent(float64(k.Before)))
	}
	fmt.Fprintf(s.err, "relative error %s, KKT residual %.3g\n", showError(res.RelErr, res.ErrFloor), res.KKT)
	switch {
	case math.IsNaN(res.LowerBound):
	case res.LowerBound == 0:
		fmt.Fprintf(s.err, "the lower bound is 0, found in another %s\n", showTime(res.BoundTime))
	default:
		fmt.Fprintf(s.err, "no H with %s has an error below %s, found in another %s\n", count(int64(f.rank), "column", "columns"), percent(res.LowerBound), showTime(res.BoundTime))
	}
	if o := a.record.Original; o != nil {
		fmt.Fprintf(s.err, "relative error against the original, %s: %s\n", harmless(o.Input), showError(float64(o.RelErr), float64(o.ErrFloor)))
	}
	sizes := slices.Sorted(slices.Values(a.record.ClusterSizes))
	fmt.Fprintf(s.err, "cluster sizes %d to %d, median %g", sizes[0], sizes[len(sizes)-1], median.OfSorted(sizes))
	if res.ZeroRows > 0 {
		fmt.Fprintf(s.err, "; %s in no cluster", count(int64(res.ZeroRows), "item", "items"))
	}
	if res.ZeroColumns > 0 {
		fmt.Fprintf(s.err, "; %s of H", count(int64(res.ZeroColumns), "zero column", "zero columns"))
	}
	fmt.Fprintln(s.err)
	if f.verbose {
		for _, part := range res.Times {
			fmt.Fprintln(s.err, part)
		}
	}
	if f.verbose && a.record.PeakMemory != nil {
		fmt.Fprintf(s.err, "‖A‖ = %g, objective %g, peak memory %s\n", res.NormA, res.Objective, showBytes(float64(*a.record.PeakMemory)))
	}
	if f.out != "" {
		fmt.Fprintf(s.err, "written to %s\n", harmless(f.out))
	}
}

// runTable lists the runs and marks the one that is kept.
func (a *answer) runTable(s *streams) {
	t := tabwriter.NewWriter(s.err, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "run\tobjective\terror\tKKT\tsweeps\tseconds\t")
	for _, r := range a.res.Runs {
		fmt.Fprintf(t, "%d\t%.9g\t%s\t%.2g\t%d\t%.3g\t", r.Run, r.Objective, percent(r.RelErr), r.KKT, r.Sweeps, r.Time.Seconds())
		if r.Run == a.res.Run {
			fmt.Fprint(t, " kept")
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

func percent(x float64) string { return strconv.FormatFloat(100*x, 'g', 5, 64) + " %" }

// showError formats a relative error, with the rounding floor where that matters. An x below the floor is
// only noise, and the true error is then below twice the floor.
func showError(x, floor float64) string {
	switch {
	case x > 0 && x < floor:
		return fmt.Sprintf("below %.2g %% (rounding floor)", 2*100*floor)
	case x > 0 && x < 10*floor:
		return fmt.Sprintf("%.2g %% ± %.2g %%", 100*x, 100*floor)
	}
	return percent(x)
}

func showTime(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(100 * time.Microsecond).String()
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// history collects what Progress reports about the sweeps. It becomes history.csv if no exact trace was
// requested, and costs nothing.
//
// The first row holds exact figures, and so does the last unless the run reached its time limit or was
// interrupted. In the others the error is that of the summed decreases and is left empty below leastSummed.
// Their KKT residual is left empty, since it would take a product with A.
type history struct {
	exact bool // there is no ℓ₁ term, so the reported errors are those of HHᵀ alone
	runs  [][]symnmf.TracePoint
}

// leastSummed is the least relative error that summed decreases give to some digits: its square equals some
// thousand rounding errors of 1.
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

// of returns the rows of the run that is kept.
func (h *history) of(res *symnmf.Result) []symnmf.TracePoint {
	rows := []symnmf.TracePoint{res.First}
	if res.Run <= len(h.runs) { // else the run ended before its first sweep did
		rows = append(rows, h.runs[res.Run-1]...)
	}
	if res.Status == symnmf.TimeLimit || res.Status == symnmf.Interrupted {
		return rows // the last sweep may have been cut short, so the final figures belong to no row
	}
	if rows[len(rows)-1].Sweep < res.Sweeps {
		rows = append(rows, symnmf.TracePoint{Sweep: res.Sweeps, Time: res.Time})
	}
	if last := &rows[len(rows)-1]; last.Sweep > 0 { // row 0 keeps the figures of the start
		last.RelErr, last.KKT = res.RelErr, res.KKT
	}
	return rows
}
