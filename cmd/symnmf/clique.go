package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"symnmf"
	"symnmf/matrix"
)

// cliqueFlags is the command line of clique.
type cliqueFlags struct {
	input   inputFlags
	repairs repairs
	runs    int
	seed    uint64
	json    bool
	quiet   bool
}

func newClique(s *streams) *cobra.Command {
	var f cliqueFlags
	cmd := &cobra.Command{
		Use:   "clique GRAPH",
		Short: "find a large clique: items that are all joined to each other",
		Long: `Find a large clique of GRAPH, a set of items that are all joined to each other, by rank-one
nonnegative approximation. Every positive entry off the diagonal is an edge, whatever its size. The
items go to standard output, one per line.

They are checked to form a clique that no other item extends. There may be a larger clique
elsewhere; more runs make that less likely.`,
		Example: `  symnmf clique demo:karate
  symnmf clique graph.mtx.gz --runs 100 --json`,
		Args: exactArgs("a GRAPH (a file, - or demo:NAME)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.input.name = args[0]
			if f.runs < 1 {
				return usageError{fmt.Sprintf("--runs %d: at least 1 run is needed", f.runs), cmd}
			}
			return f.run(s)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	wholeVar(flags, &f.runs, "runs", "", 10, "make `N` runs from random starts and keep the largest\nclique")
	wholeVar(flags, &f.seed, "seed", "", 0, "whole number `S` that fixes all random choices\n(default 0)")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no summary")
	f.input.defineFormat(cmd, "format", "GRAPH")
	f.repairs.define(cmd)
	f.input.defineMemory(cmd)
	cmd.ValidArgsFunction = completeInput
	return cmd
}

// cliqueRecord is what clique reports.
type cliqueRecord struct {
	Version     string   `json:"version"`
	Input       string   `json:"input"`
	InputSHA256 string   `json:"input_sha256"`
	Format      string   `json:"format"`
	N           int      `json:"n"`
	Edges       int64    `json:"edges"`
	Size        int      `json:"size"`
	Items       []string `json:"items"`
	Maximal     bool     `json:"maximal"` // checked
	Seed        uint64   `json:"seed"`
	Runs        int      `json:"runs"`
	BestRun     int      `json:"best_run"`
	ExactRuns   int      `json:"exact_runs"` // runs that ended in a maximal clique by themselves
	Seconds     float64  `json:"seconds"`
	Warnings    []string `json:"warnings"`
}

// unweigh sets every positive entry to 1. All positive entries count as edges, and their size might be beyond
// the range of a norm.
func (d *dataset) unweigh() error {
	var data []float64
	switch t := d.table.(type) {
	case *matrix.Dense:
		data = t.Data()
	case *matrix.CSR:
		data = t.Val
	}
	for p, v := range data {
		if v > 0 {
			data[p] = 1
		}
	}
	if a := d.table.Asymmetry(); a.Diff > 0 { // rounding has left an entry in one direction only
		return d.symmetrize(matrix.Maximum, a.Pairs)
	}
	return nil
}

func (f *cliqueFlags) run(s *streams) error {
	defer lean()()
	d, err := f.input.open(s)
	if err != nil {
		return err
	}
	if rows, cols := d.table.Dims(); d.items != similarity || rows != cols {
		d.tell(s, "")
		return inputf("%s: a %d×%d table is not a graph", d.name, rows, cols)
	}
	if err := d.repair(f.repairs); err != nil {
		d.tell(s, "")
		return err
	}
	weighted := false
	d.each(func(i, j int, v float64) { weighted = weighted || i != j && v != 1 })
	if weighted {
		if err := d.unweigh(); err != nil {
			return err
		}
		d.warnings = append(d.warnings, "not all entries are 1: every positive entry counts as an edge, whatever its size")
	}
	d.tell(s, "")
	need := shapeOf(d)
	need.method, need.rank = "clique", 1
	if err := need.fits(f.input.memory.limit()); err != nil {
		return err
	}
	defer spend(need.ahead())()
	rec := cliqueRecord{
		Version: version(), Input: d.input, InputSHA256: d.sha256, Format: d.format, N: d.n(), Seed: f.seed, Maximal: true,
		Warnings: append([]string{}, d.warnings...),
	}
	a, err := d.operator(1)
	if err != nil {
		return err
	}
	ctx, release := catchSignals()
	defer release()
	began := time.Now()
	c, err := symnmf.MaxClique(ctx, a, symnmf.CliqueOptions{Runs: f.runs, Seed: f.seed})
	if sig := (signalError{}); errors.As(context.Cause(ctx), &sig) {
		err = sig
	}
	if c == nil {
		return err
	}
	release()
	rec.Seconds = time.Since(began).Seconds()
	rec.Edges, rec.Size, rec.Runs, rec.BestRun, rec.ExactRuns = c.Edges, len(c.Items), c.Runs, c.Run, c.Exact
	for _, i := range c.Items {
		rec.Items = append(rec.Items, d.ids().of(i))
	}
	w := bufio.NewWriter(s.out)
	if f.json {
		if err := writeJSON(w, rec); err != nil {
			return err
		}
	} else {
		var lines tsvLines
		for _, id := range rec.Items {
			lines.name(id)
			lines.end()
		}
		if _, err := w.Write(lines.text); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if !f.quiet {
		fmt.Fprintf(s.err, "a clique of %s out of %d that no other item extends: the largest of %s, %d of which ended in a maximal clique by themselves\n",
			count(int64(rec.Size), "item", "items"), rec.N, count(int64(rec.Runs), "run", "runs"), rec.ExactRuns)
	}
	return err
}
