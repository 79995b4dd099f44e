package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"symnmf"
	"symnmf/matio"
	"symnmf/matrix"
)

// cli runs the program in this process.
func cli(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(append([]string{"symnmf"}, args...), &streams{in: strings.NewReader(""), out: &out, err: &err})
	return code, out.String(), err.String()
}

// mustCLI is cli for a command that must succeed.
func mustCLI(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := cli(t, args...)
	if code != 0 {
		t.Fatalf("symnmf %s: exit code %d\n%s", strings.Join(args, " "), code, stderr)
	}
	return stdout, stderr
}

// contractKeys are the keys that run.json must have, in this order.
var contractKeys = strings.Split("version, command, input, input_sha256, format, n, nnz, items, rank, method, init, seed, threads, runs, "+
	"sweeps, seconds, status, relative_error, error_floor, lower_bound, kkt_residual, objective, norm_a, original, zero_columns, zero_rows, "+
	"cluster_sizes, warnings, peak_memory_bytes, limits", ", ")

// keysOf returns the keys of a JSON object in order.
func keysOf(t *testing.T, object string) (keys []string) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(object))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		t.Fatalf("not an object: %v, %v", start, err)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key.(string))
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

// TestRecordKeys: run.json has the promised keys in order, so has its limits object, runs is an array, and
// --json prints the same bytes as the file.
func TestRecordKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	stdout, _ := mustCLI(t, "fit", "demo:karate", "-k", "2", "--json", "-o", dir)
	if diff := cmp.Diff(contractKeys, keysOf(t, stdout)); diff != "" {
		t.Errorf("--json (-want +got):\n%s", diff)
	}
	file, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil || string(file) != stdout {
		t.Errorf("run.json (%v) is not what --json prints:\n%s", err, file)
	}
	var rec struct {
		Runs   json.RawMessage
		Limits json.RawMessage
	}
	if err := json.Unmarshal(file, &rec); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"max_sweeps", "time_limit_seconds", "tol", "memory_limit_bytes"}, keysOf(t, string(rec.Limits))); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(string(rec.Runs), "[") {
		t.Errorf("runs: %s", rec.Runs)
	}
}

// TestNumber: a number is written in JSON with the fewest digits that give it back, and as null if it is NaN
// or infinite.
func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0.1: "0.1", 1: "1", 5e-324: "5e-324", math.MaxFloat64: "1.7976931348623157e+308", math.Inf(1): "null", math.Inf(-1): "null",
	} {
		if got, err := json.Marshal(number(x)); err != nil || string(got) != want {
			t.Errorf("%v is written %s, %v, want %s", x, got, err, want)
		}
	}
	if got, err := json.Marshal(number(math.NaN())); err != nil || string(got) != "null" {
		t.Errorf("NaN is written %s, %v, want null", got, err)
	}
}

// readTSV returns the fields of each line of a file, split at comma.
func readTSV(t *testing.T, name string, comma rune) [][]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma = comma
	lines, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// parse returns the number that text spells.
func parse(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestFilesAgree recomputes figures of run.json, clusters.tsv and memberships.tsv from H.npy and the input,
// by their definitions: relative error, ‖A‖, cluster sizes, strengths, margins, weights and shares. It also
// checks that the run kept is the one with the least objective.
func TestFilesAgree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	mustCLI(t, "fit", "demo:lesmis", "-k", "4", "--runs", "3", "-o", dir)
	table, err := matio.Open(filepath.Join(dir, "H.npy"), matio.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := table.Dense
	n, r := h.Dims()
	input := inputFlags{name: "demo:lesmis"}
	d, err := input.open(&streams{})
	if err != nil {
		t.Fatal(err)
	}
	a := d.table.(*matrix.CSR)

	var rec record
	text, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &rec); err != nil {
		t.Fatal(err)
	}
	var errSq, normSq float64
	for i := range n {
		for l := range n {
			v := a.At(i, l)
			normSq += v * v
			for k := range r {
				v -= h.At(i, k) * h.At(l, k)
			}
			errSq += v * v
		}
	}
	// The product form of e² is accurate to error_floor² relative to ‖A‖², so its root is accurate to
	// error_floor²/(2·e).
	relErr := math.Sqrt(errSq / normSq)
	if !(rec.ErrFloor > 0 && rec.ErrFloor <= 1e-6) {
		t.Errorf("error_floor %v, want about 2e-7", rec.ErrFloor)
	}
	tol := float64(rec.ErrFloor*rec.ErrFloor) / relErr
	if d := math.Abs(relErr - float64(rec.RelErr)); !(d <= tol) {
		t.Errorf("relative_error %v, by the definition %v", rec.RelErr, relErr)
	}
	if got := math.Sqrt(normSq); !(math.Abs(got-float64(rec.NormA)) <= 1e-13*got) { // n² = 5929 roundings of 2⁻⁵³
		t.Errorf("norm_a %v, by the definition %v", rec.NormA, got)
	}
	if rec.N != n || rec.Rank != r || rec.NNZ != a.NNZ() || len(rec.Runs) != 3 {
		t.Errorf("n %d, rank %d, nnz %d, %d runs", rec.N, rec.Rank, rec.NNZ, len(rec.Runs))
	}
	best := slices.MinFunc(rec.Runs, func(a, b runRecord) int { return int(math.Copysign(1, float64(a.Objective-b.Objective))) })
	if best.Objective != rec.Objective || best.Sweeps != rec.Sweeps || best.RelErr != rec.RelErr {
		t.Errorf("of the runs %+v, the record keeps one that is not the best: %+v", rec.Runs, rec)
	}

	clusters := readTSV(t, filepath.Join(dir, "clusters.tsv"), '\t')[1:]
	sizes := make([]int, r)
	degree := make([]float64, n) // Σ_l (HHᵀ)_il
	colSum := make([]float64, r)
	for i := range n {
		for k := range r {
			colSum[k] += h.At(i, k)
		}
	}
	members := readTSV(t, filepath.Join(dir, "memberships.tsv"), '\t')[1:]
	for i := range n {
		row := h.Row(i)
		k := slices.Index(row, slices.Max(row))
		sorted := slices.Sorted(slices.Values(row))
		if c := clusters[i]; c[0] != d.rowIDs[i] || c[1] != strconv.Itoa(k+1) || parse(t, c[2]) != row[k] || parse(t, c[3]) != 1-sorted[r-2]/row[k] {
			t.Errorf("line %d of clusters.tsv after the header is %v, but the row of H is %v", i+1, c, row)
		}
		sizes[k]++
		for k, hik := range row {
			degree[i] += hik * colSum[k]
		}
		for k, hik := range row {
			if hik == 0 {
				continue
			}
			m := members[0]
			members = members[1:]
			share := hik * colSum[k] / degree[i]
			if m[0] != d.rowIDs[i] || m[1] != strconv.Itoa(k+1) || parse(t, m[2]) != hik || !(math.Abs(parse(t, m[3])-share) <= float64(2*(n+r))*0x1p-52) {
				t.Errorf("memberships.tsv has %v, want share %v of H[%d,%d] = %v", m, share, i, k, hik)
			}
		}
	}
	if len(members) > 0 || len(clusters) != n {
		t.Errorf("%d extra memberships, want 0; %d lines of clusters, want one for each item", len(members), len(clusters))
	}
	if !slices.Equal(sizes, rec.ClusterSizes) {
		t.Errorf("cluster_sizes %v, want %v", rec.ClusterSizes, sizes)
	}
}

// TestHistory compares history.csv, which takes no extra computation, with the exact trace of the same run.
func TestHistory(t *testing.T) {
	dir := t.TempDir()
	args := []string{"fit", "demo:lesmis", "-k", "4", "--runs", "3", "--tol", "0", "--max-sweeps", "20", "-o", filepath.Join(dir, "out")}
	stdout, _ := mustCLI(t, append(args, "--json")...)
	mustCLI(t, append(args, "--force", "--trace", filepath.Join(dir, "exact.csv"))...)
	exact := readTSV(t, filepath.Join(dir, "exact.csv"), ',')
	mustCLI(t, append(args, "--force")...)
	cheap := readTSV(t, filepath.Join(dir, "out", "history.csv"), ',')
	// Header, start, every third of 20 sweeps (rowblock on a graph), and the last; also the first, if that is
	// CD's.
	if len(cheap) != len(exact) || len(cheap) < 9 || len(cheap) > 22 {
		t.Fatalf("%d lines of history and %d of the trace, want equal numbers from 9 to 22", len(cheap), len(exact))
	}
	final := len(cheap) - 1
	// There are 20·n·r updates, and each changes e² by a rounding error of at most ε·‖A‖². Since e/‖A‖ is
	// above 1/2, its error is below that of e²/‖A‖².
	const tol = 20 * 77 * 4 * 0x1p-52
	for k := 1; k <= final; k++ {
		c, e := cheap[k], exact[k]
		if e[0] != c[0] || k == 1 && c[0] != "0" || k == final && c[0] != "20" || k > 1 && parse(t, c[0]) <= parse(t, cheap[k-1][0]) {
			t.Errorf("line %d is of sweep %s in the history and %s in the trace", k, c[0], e[0])
		}
		if k == 1 && (c[2] != e[2] || c[3] != e[3]) {
			t.Errorf("the start is %v, exactly %v", c, e)
		}
		if !(math.Abs(parse(t, c[2])-parse(t, e[2])) <= tol) {
			t.Errorf("sweep %s: relative error %s, exactly %s", c[0], c[2], e[2])
		}
		if (c[3] == "") != (k > 1 && k < final) || e[3] == "" {
			t.Errorf("sweep %s: KKT residual %q in the history and %q in the trace", c[0], c[3], e[3])
		}
		if k > 1 && parse(t, c[1]) < parse(t, cheap[k-1][1]) {
			t.Errorf("sweep %s: the time went back to %s s", c[0], c[1])
		}
	}
	var rec record
	if err := json.Unmarshal([]byte(stdout), &rec); err != nil {
		t.Fatal(err)
	}
	if last := cheap[final]; parse(t, last[2]) != float64(rec.RelErr) || parse(t, last[3]) != float64(rec.KKT) {
		t.Errorf("the last line is %v, run.json has %v and %v", last, rec.RelErr, rec.KKT)
	}
}

// TestHistoryOfSums: an error below leastSummed is left empty, since summed decreases do not give it. The
// last row holds the exact error.
func TestHistoryOfSums(t *testing.T) {
	var h history
	h.exact = true
	for sweep, relErr := range []float64{0.5, 1e-6, 0.9e-6, 0} {
		h.add(symnmf.Progress{Run: 1, Sweep: sweep + 1, RelErr: relErr, KKT: 0.1})
	}
	rows := h.of(&symnmf.Result{Run: 1, Sweeps: 4, RelErr: 1e-9, KKT: 1e-8})
	for k, want := range []float64{0, 0.5, 1e-6, math.NaN(), 1e-9} {
		if got := rows[k].RelErr; got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("row %d: %v, want %v", k, got, want)
		}
	}
}

// TestHistoryWithL1: with an ℓ₁ term, the error reported after each sweep is not that of HHᵀ alone, so the
// field is empty except in the last row.
func TestHistoryWithL1(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	mustCLI(t, "fit", "demo:lesmis", "-k", "2", "--l1", "0.1", "--max-sweeps", "5", "--tol", "0", "-o", dir)
	lines := readTSV(t, filepath.Join(dir, "history.csv"), ',')
	if lines[2][2] != "" || lines[len(lines)-1][2] == "" {
		t.Errorf("history.csv holds %v, want the error empty after the first sweep and given in the last line", lines)
	}
}

// TestProgressOfKicks: the progress line names the run and the kick before the sweep, if there are several
// runs or kicks.
func TestProgressOfKicks(t *testing.T) {
	for _, tc := range []struct {
		now  symnmf.Progress
		want string
	}{
		{symnmf.Progress{Run: 2, Runs: 3, Kick: 4, Sweep: 5, Elapsed: time.Second, RelErr: 0.25, KKT: 1e-3}, "run 2 of 3, kick 4, sweep 5, 1s, error 25 %, KKT about 1.0e-03\n"},
		{symnmf.Progress{Run: 1, Runs: 1, Sweep: 5, Elapsed: time.Second, RelErr: 0.25, KKT: 1e-3}, "sweep 5, 1s, error 25 %, KKT about 1.0e-03\n"},
	} {
		var out bytes.Buffer
		p := progress{s: &streams{err: &out}, last: time.Now().Add(-plainEvery)}
		if p.show(tc.now); out.String() != tc.want {
			t.Errorf("printed %q, want %q", out.String(), tc.want)
		}
	}
}

// TestFitOptions: the options of the library follow from the flags, the number of threads, the number of runs
// at once and the kind of bound.
func TestFitOptions(t *testing.T) {
	f := &fitFlags{
		method: "cd-cyclic", knobs: []string{"nu=0.5", "entries=select"}, init: "random", seed: 7, runs: 5, kicks: 6, time: 3 * time.Second, tol: 1e-5,
		l1: []float64{2, 3}, diag: "ignore", trace: "x.csv",
	}
	got, err := f.options(nil, nil, 3, 2, symnmf.CheapBound)
	if err != nil {
		t.Fatal(err)
	}
	want := symnmf.Options{
		Solver: symnmf.CD{Order: symnmf.Cyclic, Entries: symnmf.Selected, Nu: 0.5}, Start: symnmf.Random{}, Seed: 7, Runs: 5, Kicks: 6,
		Stop: symnmf.Stop{Sweeps: -1, Time: 3 * time.Second, KKT: 1e-5}, L1: []float64{2, 3}, IgnoreDiagonal: true, ClearLoose: true,
		Threads: 3, AtOnce: 2, Bound: symnmf.CheapBound, Trace: true,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("options %+v, want %+v", got, want)
	}
}
