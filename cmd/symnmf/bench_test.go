//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"symnmf/internal/experiment"
	"symnmf/internal/instance"
)

// benchPlan has runs that take a few milliseconds each. Their limits are in sweeps, so they repeat to the
// last bit.
const benchPlan = `plan killed
experiment fits
data demo:digits demo:lesmis
rank 8
sweeps 12
seeds 0-4
method cd-cyclic start=zero
method cd-shuffle start=random
method rowblock start=random
experiment pictures
data demo:digits items=columns
rank 9
sweeps 20
method cd-cyclic start=random
pictures 8x8
experiment pairs
task eigen
data synthetic:text m=200 n=400 words=20
rank 5
repeats 2
`

// writePlan writes a plan to a file in a new directory.
func writePlan(t *testing.T, text string) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "test.plan")
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// timeless reads the lines of the records file, without the fields in which two identical runs may differ.
func timeless(t *testing.T, dir string) (list []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, experiment.RecordsFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		var rec map[string]any
		if err := json.Unmarshal(line, &rec); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		for _, key := range []string{"seconds", "wall_seconds", "created", "ended", "crc32c"} {
			delete(rec, key)
		}
		if trace, ok := rec["trace"].(map[string]any); ok {
			delete(trace, "seconds")
		}
		list = append(list, rec)
	}
	return list
}

// TestBenchKilled: a bench that is killed three times, at random moments, and then resumed writes the same
// records as one that ran undisturbed.
func TestBenchKilled(t *testing.T) {
	plan, whole := writePlan(t, benchPlan), filepath.Join(t.TempDir(), "whole")
	begin := time.Now()
	if code, _, stderr := child(t, "bench", "run", plan, "-o", whole, "-q"); code != 0 || stderr != "" {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	each := time.Since(begin)
	want := timeless(t, whole)
	each /= time.Duration(len(want))
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 0))
	dir := filepath.Join(t.TempDir(), "killed")
	file := filepath.Join(dir, experiment.RecordsFile)
	lines := func() int {
		text, _ := os.ReadFile(file)
		return bytes.Count(text, []byte("\n"))
	}
	kills := 3
	if testing.Short() {
		kills = 2
	}
	killed := func() bool { // false: the program had made all runs before a signal came
		for kill := range kills {
			cmd := exec.Command("symnmf", "bench", "run", plan, "-o", dir, "-q")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			until := lines() + 1 + rng.IntN(len(want)/4)
			deadline := time.Now().Add(time.Minute)
			for lines() < until && time.Now().Before(deadline) {
				time.Sleep(200 * time.Microsecond)
			}
			time.Sleep(time.Duration(rng.Int64N(int64(each))))
			cmd.Process.Kill()
			if code := exitOf(t, cmd.Wait()); code != -int(syscall.SIGKILL) {
				if code == 0 && lines() == len(want) {
					return false
				}
				t.Fatalf("seed %d, kill %d: exit code %d with %d lines, want death by SIGKILL", seed, kill, code, lines())
			}
			if kill == 1 { // also leave a line half written, as a kill can do but seldom does
				f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				f.WriteString(`{"key":"fits/demo:les`)
				f.Close()
			}
			if n := lines(); n >= len(want) {
				return false
			}
		}
		return true
	}
	for try := 1; !killed(); try++ {
		if try == 5 {
			t.Fatalf("seed %d: on each of %d tries all lines were written before the last kill", seed, try)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	code, _, stderr := child(t, "bench", "run", plan, "-o", dir, "-q")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	got := timeless(t, dir)
	if len(got) != len(want) {
		t.Fatalf("seed %d: %d lines, want %d", seed, len(got), len(want))
	}
	for k := range want {
		if !reflect.DeepEqual(got[k], want[k]) {
			t.Errorf("seed %d: line %d is\n%v\nwant\n%v", seed, k+1, got[k], want[k])
		}
	}
}

// startBench starts a plan that takes long and waits for its first record.
func startBench(t *testing.T, plan, dir string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	stderr = new(bytes.Buffer)
	cmd = exec.Command("symnmf", "bench", "run", plan, "-o", dir)
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		text, _ := os.ReadFile(filepath.Join(dir, experiment.RecordsFile))
		if bytes.Count(text, []byte("\n")) > 1 {
			return cmd, stderr
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("no record within a minute")
	return nil, nil
}

// longPlan has a run of one sweep and one that would take an hour.
const longPlan = "plan long\nexperiment e\ndata demo:digits\nrank 20\ntime 1h\nmethod cd-shuffle start=random sweeps=1\nmethod cd-cyclic start=random\n"

// TestBenchInterrupted: SIGINT or SIGTERM ends a bench without an incomplete record. The exit code is that of
// the signal, and the message says how to continue.
func TestBenchInterrupted(t *testing.T) {
	plan := writePlan(t, longPlan)
	for _, tc := range []struct {
		sig  syscall.Signal
		code int
		says string
	}{{syscall.SIGINT, 130, "symnmf: interrupted\n"}, {syscall.SIGTERM, 143, "symnmf: terminated\n"}} {
		dir := filepath.Join(t.TempDir(), "records")
		cmd, stderr := startBench(t, plan, dir)
		if err := cmd.Process.Signal(tc.sig); err != nil {
			t.Fatal(err)
		}
		if code := exitOf(t, cmd.Wait()); code != tc.code {
			t.Errorf("%v: exit code %d, want %d", tc.sig, code, tc.code)
		}
		if s := stderr.String(); !strings.Contains(s, "1 of 2 runs recorded in "+dir+"; run the same command again to continue\n") || !strings.HasSuffix(s, tc.says) {
			t.Errorf("%v: standard error is %q", tc.sig, s)
		}
		if list := timeless(t, dir); len(list) != 2 {
			t.Errorf("%v: %d lines, want 2", tc.sig, len(list))
		}
	}
}

// TestBenchTwice: while one bench writes to a directory, a second is refused. Reading the records is allowed.
func TestBenchTwice(t *testing.T) {
	plan, dir := writePlan(t, longPlan), filepath.Join(t.TempDir(), "records")
	cmd, _ := startBench(t, plan, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // if it were not refused, it would run for an hour
	defer cancel()
	second := exec.CommandContext(ctx, "symnmf", "bench", "run", plan, "-o", dir, "-q")
	says, err := second.CombinedOutput()
	if code := exitOf(t, err); code != 1 || !strings.Contains(string(says), "another process writes to "+filepath.Join(dir, experiment.RecordsFile)) {
		t.Errorf("exit code %d: %s", code, says)
	}
	if code, stdout, stderr := child(t, "bench", "tables", dir); code != 0 || !strings.Contains(stdout, "1 of 2 runs recorded") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	cmd.Process.Kill()
	cmd.Wait()
}

// TestBenchAhead: the predicted memory of a bench run counts everything that it holds: the table, eigenpairs,
// points held beside it, what making the data takes, and the blocks of a method.
func TestBenchAhead(t *testing.T) {
	const n = 3000
	method := &experiment.Method{Name: "rowblock", Start: "random"}
	need := experiment.Need{Rows: n, Cols: n, Stored: n * n, Rank: 20, Method: method}
	plain := benchAhead(need)
	if least := program + need.Bytes(); need.Bytes() != 8*n*n || !(plain >= least && plain <= 2*least) { // with a copy in float32
		t.Errorf("%v bytes are predicted for a table of %v bytes", plain, need.Bytes())
	}
	pairs, held, making, block, points := need, need, need, need, need
	pairs.Method = nil
	held.Held, making.Making = 1e9, 1e9
	block.Method = &experiment.Method{Name: "rowblock", Start: "random", Knobs: map[string]string{"block": "2000"}}
	points.Items, points.Rows, points.Stored, points.Sparse = "columns", 1e6, 1e7, true
	rows := points
	rows.Items = "rows" // 10⁶ items, not 3000
	for what, got := range map[string][2]float64{
		"eigenpairs": {benchAhead(pairs), program + slack*(need.Bytes()+8*n*20)}, "points held": {benchAhead(held), plain + 1e9},
		"what making takes": {benchAhead(making), program + 1e9}, "a block": {benchAhead(block), plain + 1},
		"points": {benchAhead(points), program + points.Bytes()}, "rows": {benchAhead(rows), benchAhead(points) + 1},
	} {
		if !(got[0] >= got[1] && got[0] <= 3*got[1]) {
			t.Errorf("%s: %v bytes, want at least %v and at most three times that", what, got[0], got[1])
		}
	}
}

// TestBenchAheadOfPoints: for sparse points in memory, bench predicts the same bytes as fit.
func TestBenchAheadOfPoints(t *testing.T) {
	x := instance.Text(3000, 4000, 60, 1) // features × items
	for _, items := range []string{"rows", "columns"} {
		fit := shapeOf(&dataset{table: x, items: items})
		fit.rank, fit.method, fit.init, fit.bound = 60, "rowblock", "random", true
		rows, cols := x.Dims()
		need := experiment.Need{
			Rows: rows, Cols: cols, Items: items, Sparse: true, Stored: float64(len(x.Col)), Ones: x.Val == nil, Table: x, Rank: 60,
			Method: &experiment.Method{Name: "rowblock", Start: "random"},
		}
		if got, want := benchAhead(need), fit.ahead(); got != want || fit.distinct == 0 {
			t.Errorf("%s: bench predicts %v bytes and fit %v, with %v features in all blocks; want equal predictions and some features", items, got, want, fit.distinct)
		}
	}
}

// TestBenchProgress: a terminal gets one line that is rewritten, other outputs get a line every plainEvery,
// and quiet mode gets none. The time left is shown if it is known.
func TestBenchProgress(t *testing.T) {
	at := experiment.Progress{Done: 2, Total: 9, Key: "e/cbcl/r=60/anls/seed=0", Sweep: 7, RelErr: 0.25, Left: 90 * time.Second}
	over := at
	over.Done, over.Left, over.Record = 3, -1, &experiment.Record{Status: "time-limit"}
	for _, tc := range []struct {
		p      progress
		now    experiment.Progress
		before time.Duration
		want   string
	}{
		{progress{moving: true}, at, movingEvery, "\r\x1b[Krun 3 of 9, e/cbcl/r=60/anls/seed=0, sweep 7, error 25 %, about 1m30s left"},
		{progress{}, over, plainEvery, "run 3 of 9, e/cbcl/r=60/anls/seed=0: time-limit\n"},
		{progress{}, at, movingEvery, ""},
		{progress{silent: true}, at, plainEvery, ""},
	} {
		var out bytes.Buffer
		tc.p.s = &streams{err: &out}
		tc.p.last = time.Now().Add(-tc.before)
		p := benchProgress{tc.p}
		p.show(tc.now)
		p.show(tc.now) // too soon
		if out.String() != tc.want {
			t.Errorf("printed %q, want %q", out.String(), tc.want)
		}
	}
}
