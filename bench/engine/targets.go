package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"symnmf"
	"symnmf/matio"
)

// target returns the relative error that a row aims at.
func (c *config) target(t *task, r row) (float64, error) {
	if r.percent > 0 {
		return r.percent / 100, nil
	}
	return c.ownTarget(t, r)
}

// ownTarget returns the error that cd-cyclic has, from zero and on one thread, after the time of the reference.
// It comes from the file of targets. A target that is not there is measured and added, so that later runs aim at
// the same error, whatever else this machine is doing.
func (c *config) ownTarget(t *task, r row) (float64, error) {
	key := fmt.Sprintf("%s/%s/%d", r.set, r.form, r.rank)
	known, err := readTargets(c.targets)
	if err != nil {
		return 0, err
	}
	if target, ok := known[key]; ok {
		return target, nil
	}
	fmt.Fprintf(os.Stderr, "%s: measuring what cd-cyclic reaches in %v s\n", key, r.reference)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	cyclic, err := symnmf.ParseSolver("cd-cyclic", nil)
	if err != nil {
		return 0, err
	}
	a, err := t.data.operator(t.form, 1)
	if err != nil {
		return 0, err
	}
	limit := time.Duration(r.reference * float64(time.Second))
	res, err := symnmf.Factorize(context.Background(), a, t.rank, symnmf.Options{
		Solver: cyclic, Start: symnmf.Zero{}, Threads: 1, Stop: symnmf.Stop{Time: limit, Sweeps: -1, KKT: -1},
	})
	if err != nil {
		return 0, err
	}
	known[key] = res.RelErr
	return res.RelErr, writeTargets(c.targets, known)
}

// readTargets returns an empty map if there is no file yet.
func readTargets(name string) (map[string]float64, error) {
	known := map[string]float64{}
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return known, nil
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(text, &known); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for key, target := range known {
		if !(target > 0 && target < 1) {
			return nil, fmt.Errorf("%s: %s is %v, want a number between 0 and 1", name, key, target)
		}
	}
	return known, nil
}

func writeTargets(name string, known map[string]float64) error {
	text, err := json.MarshalIndent(known, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return matio.Atomic(name, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}
