package main

import (
	"fmt"
	"os"
	"slices"

	"symnmf"
	"symnmf/internal/median"
	"symnmf/matrix"
)

// warm is a measurement of sweeps after the first.
type warm struct {
	Row     string  `json:"row"`
	Threads int     `json:"threads"`
	N       int     `json:"n"`
	NNZ     int64   `json:"nnz"`
	Rank    int     `json:"rank"`
	Seconds float64 `json:"seconds"` // per sweep
}

// yardstick measures cd-cyclic on explicit matrices, on one thread and from zero, to compare this machine with
// the one on which the references were timed. There the authors' program needs 1.08 ns per stored entry and
// column for a sparse A, and 0.44 ns for a dense one.
func (c *config) yardstick(log *journal) error {
	cyclic, err := symnmf.ParseSolver("cd-cyclic", nil)
	if err != nil {
		return err
	}
	const before, counted = 10, 10 // sweeps
	s := &shelf{folder: c.data}
	var lines [][]string
	for _, y := range []struct {
		set    string
		rank   int
		theirs float64
	}{{"hitech", 30, 1.08}, {"classic", 30, 1.08}, {"CBCL", 60, 0.44}, {"ORL", 60, 0.44}} {
		if !c.rows.MatchString(y.set) {
			continue
		}
		d, err := s.take(y.set, fromA)
		if err != nil {
			return fmt.Errorf("%s: %w", y.set, err)
		}
		if d == nil {
			continue
		}
		a, err := d.operator(fromA, 1)
		if err != nil {
			return fmt.Errorf("%s: %w", y.set, err)
		}
		seconds, err := sweepSeconds(a, y.rank, symnmf.Options{Solver: cyclic, Start: symnmf.Zero{}}, before, counted, 1)
		if err != nil {
			return fmt.Errorf("%s: %w", y.set, err)
		}
		unit := float64(a.Stored()) * float64(y.rank) / 1e9
		sweep := median.Of(seconds)
		log.add(warm{"cd-cyclic/" + y.set, 1, a.Dim(), a.Stored(), y.rank, sweep})
		kind := "sparse"
		if _, dense := a.(*matrix.SymDense); dense {
			kind = "dense"
		}
		lines = append(lines, []string{y.set, kind, fmt.Sprint(y.rank), short(sweep), short(sweep / unit), short(slices.Min(seconds) / unit), short(y.theirs),
			short(y.theirs / (sweep / unit))})
	}
	fmt.Printf("cd-cyclic from zero, one thread, sweeps %d to %d\n\n", before+1, before+counted)
	printTable(os.Stdout, []string{"set", "A", "r", "seconds a sweep", "ns an entry and column", "least", "theirs, there", "theirs/ours"}, lines)
	printMissing(os.Stdout, s.missing)
	return nil
}
