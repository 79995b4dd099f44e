package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"symnmf"
	"symnmf/internal/instance"
	"symnmf/matrix"
)

// TestFind: find returns the first sweep whose H is good enough, even for a method that traces only every fifth sweep.
func TestFind(t *testing.T) {
	data := &dataset{name: "made", a: instance.FullRank(150, 2)}
	for _, method := range []string{"rowblock", "cd-cyclic"} {
		solver, err := symnmf.ParseSolver(method, nil)
		if err != nil {
			t.Fatal(err)
		}
		task := &task{data: data, form: fromA, rank: 10, start: symnmf.Random{}, solver: solver}
		after := func(sweeps int) float64 {
			_, relErr, err := task.timed(sweeps, 3, 1)
			if err != nil {
				t.Fatal(err)
			}
			return relErr
		}
		for _, sweeps := range []int{1, 3, 7, 10} {
			target := after(sweeps)
			found, err := task.find(target, 3, time.Minute)
			if err != nil || !found.reached || found.sweeps > sweeps || found.relErr > target || after(found.sweeps) > target {
				t.Errorf("%s, target of sweep %d: %+v, %v", method, sweeps, found, err)
			}
			if found.sweeps > 1 && after(found.sweeps-1) <= target {
				t.Errorf("%s, target of sweep %d: found %d, and the sweep before is as good", method, sweeps, found.sweeps)
			}
		}
		found, err := task.find(1e-6, 3, 20*time.Millisecond)
		for limit := 100 * time.Millisecond; err == nil && found.sweeps < 1 && limit < time.Minute; limit *= 5 { // busy processors
			found, err = task.find(1e-6, 3, limit)
		}
		if err != nil || found.reached || !(found.relErr > 1e-6 && found.relErr < 1) || found.sweeps < 1 {
			t.Errorf("%s: an error that cannot be reached: %+v, %v", method, found, err)
		}
	}
}

// TestSweepSeconds: there is a positive time for each of the wanted sweeps, and a run that ends early is an
// error.
func TestSweepSeconds(t *testing.T) {
	a, err := matrix.FromDense(instance.FullRank(60, 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := sweepSeconds(a, 4, symnmf.Options{Start: symnmf.Random{}}, 2, 7, 1)
	if err != nil || len(seconds) != 7 || slices.Min(seconds) <= 0 {
		t.Errorf("%v, %v", seconds, err)
	}
	zero, err := matrix.FromDense(matrix.NewDense(5, 5, nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sweepSeconds(zero, 2, symnmf.Options{}, 1, 1, 1); err == nil {
		t.Error("a run that ended early gave times")
	}
}

// TestRun runs the whole command: a row with a target from the file, a missing set, and a line of JSON per run.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	targets, lines := filepath.Join(dir, "targets.json"), filepath.Join(dir, "runs.jsonl")
	if err := writeTargets(targets, map[string]float64{"full-rank/A/30": 0.37}); err != nil {
		t.Fatal(err)
	}
	args := []string{"-data", dir, "-targets", targets, "-json", lines, "-repeats", "2", "-threads", "1,2", "-set", "passes=3",
		"-rows", "full-rank/A/30/zero|KARATE|hitech/X"}
	for range 2 { // the second run appends
		if err := run(args); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(lines)
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for line := range strings.Lines(string(text)) {
		var got struct {
			timing
			stamp
		}
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&got); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if !got.Reached || got.RelErr > 0.37 || got.Seconds <= 0 || got.Sweeps < 1 || got.Row != "full-rank/A/30/zero/cd-cyclic" ||
			got.Method != "rowblock" || got.Knobs["passes"] != "3" || got.Machine == "" || got.Version == "" ||
			got.Threads != 1+runs/2%2 || got.Repeat != runs%2 {
			t.Errorf("run %d: %s", runs, line)
		}
		runs++
	}
	if runs != 8 {
		t.Errorf("%d runs, want 8", runs)
	}
	if known, err := readTargets(targets); err != nil || known["full-rank/A/30"] != 0.37 {
		t.Errorf("targets are now %v, %v", known, err)
	}
	for _, mode := range [][]string{{"-hash", "-rows", "dense A/zero"}, {"-final", "1s"}, {"-yardstick"}, {"-growth", "-rows", "none"},
		{"-rest", "-ignore-diagonal", "-written", "-rows", "^bells-.5", "-repeats", "1", "-threads", "1"}} {
		if err := run(append([]string{"-data", dir, "-json", lines}, mode...)); err != nil {
			t.Errorf("%q: %v", mode, err)
		}
	}
	if text, err = os.ReadFile(lines); err != nil || strings.Count(string(text), `"row":"bells-.5/A/30"`) != 1 {
		t.Errorf("one run to rest should have been added:\n%s", text)
	}
	if text, err = os.ReadFile(lines); err != nil || strings.Count(string(text), `"row":"dense A/zero"`) != 4 {
		t.Errorf("four hashes should have been added:\n%s", text)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		if err := run([]string{"-data", dir, "-json", "/dev/full", "-hash", "-rows", "dense A/zero"}); err == nil || !strings.Contains(err.Error(), "-json: ") {
			t.Errorf("a run whose lines cannot be written: error %v", err)
		}
	}
	for _, bad := range [][]string{{"-method", "nothing"}, {"-set", "passes=0"}, {"-method", "auto", "-set", "passes=2"}, {"-rows", "("}, {"-repeats", "0"}, {"-orders", "0"}, {"-ignore-diagonal"}, {"-written"}, {"more"}} {
		if err := run(append([]string{"-list"}, bad...)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// TestSeeds: with several seeds, the seconds of a row are over the seeds that reach the error. The other
// seeds are counted.
func TestSeeds(t *testing.T) {
	made["one seed"] = func() matrix.Table { return instance.FullRank(80, 5) }
	defer delete(made, "one seed")
	c := config{repeats: 1, seeds: 4, threads: []int{1}}
	c.solver, _ = symnmf.ParseSolver("cd-cyclic", nil)
	r := row{set: "one seed", form: fromA, rank: 5, start: "random", seeds: 9, reference: 1, floor: 1, goal: 2}
	s := &shelf{}
	task, err := c.newTask(s, r.set, r.form, r.rank, r.start)
	if err != nil {
		t.Fatal(err)
	}
	var reach []float64
	for seed := range uint64(4) {
		_, relErr, err := task.timed(12, seed, 1)
		if err != nil {
			t.Fatal(err)
		}
		reach = append(reach, relErr)
	}
	r.percent = 100 * slices.Min(reach)
	rows, err := c.measure(s, r, &journal{})
	if err != nil || len(rows) != 1 || rows[0].tried != 4 || rows[0].never == 4 || rows[0].sweeps < 1 || rows[0].astray != 0 {
		t.Fatalf("%+v, %v", rows, err)
	}
	c.limit = time.Nanosecond
	if rows, err = c.measure(s, r, &journal{}); err != nil || rows[0].never != 4 || rows[0].sweeps != 0 {
		t.Errorf("with no time: %+v, %v", rows, err)
	}
	r.start, c.orders, c.limit = "zero", 3, 0 // from zero the number of seeds is c.orders, whatever c.seeds is
	if task, err = c.newTask(s, r.set, r.form, r.rank, r.start); err != nil {
		t.Fatal(err)
	}
	_, relErr, err := task.timed(12, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	r.percent = 100 * relErr
	if zero, err := c.measure(s, r, &journal{}); err != nil || zero[0].tried != 3 || zero[0].never == 3 {
		t.Errorf("from zero: %+v, %v", zero, err)
	}
	var out bytes.Buffer
	printTimes(&out, rows)
	if !strings.Contains(out.String(), "4 of 4") || !strings.Contains(out.String(), " never |") {
		t.Errorf("%s", out.String())
	}
}

// TestTargets: targets are read back as they were written, a missing file has none, and bad files are
// refused.
func TestTargets(t *testing.T) {
	name := filepath.Join(t.TempDir(), "new", "targets.json")
	if known, err := readTargets(name); err != nil || len(known) != 0 {
		t.Errorf("no file: %v, %v", known, err)
	}
	want := map[string]float64{"a/A/30": 0.25, "b/A/60": 1.0 / 3}
	if err := writeTargets(name, want); err != nil {
		t.Fatal(err)
	}
	got, err := readTargets(name)
	if err != nil || len(got) != 2 || got["b/A/60"] != 1.0/3 {
		t.Errorf("read back %v, %v", got, err)
	}
	for _, text := range []string{`{"a": 30}`, `{"a": 0}`, `[`} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if known, err := readTargets(name); err == nil {
			t.Errorf("%s is read as %v", text, known)
		}
	}
}
