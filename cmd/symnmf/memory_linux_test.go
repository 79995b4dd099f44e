//go:build !race && !asan

package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"symnmf/internal/system"
	"symnmf/matio"
	"symnmf/matrix"
)

// testFiles returns functions that write matrices to files in a new directory and return their paths.
func testFiles(t *testing.T) (sparse func(name string, rows, cols, perRow int, symmetric bool) string, dense func(name string, rows, cols int) string) {
	dir := t.TempDir()
	sparse = func(name string, rows, cols, perRow int, symmetric bool) string {
		var col []int32
		var val []float64
		rowPtr := make([]int64, rows+1)
		for i := range rows {
			var line []int32
			v := 2.0
			if symmetric { // rings of 500 with chords, of different weights, so that eigenvectors are soon found
				const ring = 500
				first := i / ring * ring
				v += float64(first) / float64(rows)
				for k := 1; k <= perRow/2; k++ {
					chord := 37 * k * k * k % ring
					line = append(line, int32(first+(i+chord)%ring), int32(first+(i-first-chord+ring)%ring))
				}
			} else {
				for k := range perRow {
					line = append(line, int32((i*7+k*k*31)%cols))
				}
			}
			slices.Sort(line)
			line = slices.Compact(line)
			for range line {
				val = append(val, v)
			}
			col = append(col, line...)
			rowPtr[i+1] = int64(len(col))
		}
		m, err := matrix.NewCSR(rows, cols, rowPtr, col, val)
		if err != nil {
			t.Fatal(err)
		}
		name = filepath.Join(dir, name)
		if err := matio.Create(name, &matio.Table{Sparse: m}, matio.Options{}); err != nil {
			t.Fatal(err)
		}
		return name
	}
	dense = func(name string, rows, cols int) string {
		m := matrix.NewDense(rows, cols, nil)
		for i := range rows {
			for j := range cols {
				m.Set(i, j, float64((i*j)%17))
			}
		}
		name = filepath.Join(dir, name)
		if err := matio.Create(name, &matio.Table{Dense: m}, matio.Options{}); err != nil {
			t.Fatal(err)
		}
		return name
	}
	return sparse, dense
}

// TestPeakPrediction compares the predicted memory with the measured peak of runs in processes of their own.
func TestPeakPrediction(t *testing.T) {
	sparse, dense := testFiles(t)
	graph := sparse("graph.npz", 40000, 40000, 16, true)
	points := sparse("points.npz", 15000, 6000, 30, false)
	for _, args := range [][]string{
		{graph, "-k", "30"},
		{points, "--items", "rows", "-k", "40"},
		{points, "--items", "columns", "-k", "40", "--runs", "2"},
		{sparse("ring.npz", 40000, 40000, 16, true), "-k", "30", "-m", "amu"},
		{points, "--items", "rows", "-k", "40", "-m", "betasnmf"},
		{points, "--items", "rows", "-k", "40", "-m", "vbsum"},
		{dense("small.npy", 1200, 1200), "-k", "10", "-m", "newton"},
		{sparse("graph.npz", 40000, 40000, 16, true), "-k", "30", "--method", "anls"},
		{points, "--items", "rows", "-k", "40", "--method", "symhals"},
		{dense("similarity.npy", 1500, 1500), "-k", "20"},
		{dense("similarity.npy", 1500, 1500), "-k", "20", "--max-sweeps", "30", "--runs", "3", "--set", "compress=-1", "--method", "rowblock"}, // most sweeps are rough
		{dense("table.npy", 3000, 400), "--items", "columns", "-k", "20"},
		{sparse("wide.npz", 600, 60000, 1200, false), "--items", "rows", "-k", "40"}, // A is formed
		{sparse("zeros.npy", 2500, 2500, 16, true), "-k", "20"},                      // a dense table of mostly zeros, taken as sparse
		{dense("table.npy", 3000, 400), "--items", "rows", "-k", "20", "--runs", "2"},
		{dense("table.npy", 3000, 400), "--items", "rows", "-k", "100", "--max-sweeps", "40"}, // with joint steps
		{points, "--items", "rows", "-k", "40", "--kicks", "2", "--max-sweeps", "300", "--tol", "0.01"},
		{graph, "-k", "64", "--kicks", "1", "--runs", "2", "--max-sweeps", "300", "--tol", "0.01"},
		{graph, "-k", "30", "--runs", "4", "-t", "3"},
		{graph, "-k", "30", "-m", "anls", "--runs", "3", "-t", "3"},
		{points, "--items", "rows", "-k", "40", "--runs", "4", "-t", "4", "--max-sweeps", "10"},
		{points, "--items", "columns", "-k", "40", "--kicks", "6", "-t", "3", "--max-sweeps", "300", "--tol", "0.01"},
		{points, "--items", "columns", "-k", "40", "--kicks", "2", "--runs", "2", "-t", "4", "--max-sweeps", "100", "--tol", "0.01"},
		{graph, "-k", "30", "-m", "compressed", "--set", "first=lai", "--runs", "4", "-t", "4"},
		{graph, "-k", "64"}, // the rows of H are not padded
		{graph, "-k", "30", "--method", "rowblock", "--set", "block=20000", "--set", "precision=double"},
		{dense("table.npy", 3000, 400), "--items", "rows", "-k", "20", "--method", "rowblock", "--set", "compress=600"},
		{dense("table.npy", 3000, 400), "--items", "rows", "-k", "20", "--method", "rowblock", "--set", "block=390"},
		{dense("table.npy", 3000, 400), "--items", "rows", "-k", "60", "--method", "rowblock", "--set", "block=3000", "--set", "precision=double", "--set", "compress=-1"},
		{dense("tall.npy", 40000, 50), "--items", "rows", "-k", "20", "-m", "cd-cyclic", "--diagonal", "ignore", "--init", "svd"},
		{dense("tall.npy", 40000, 50), "--items", "rows", "-k", "40", "-m", "tsvd"},
		{points, "--items", "rows", "-k", "40", "--method", "rowblock", "--set", "block=20"},
		{points, "--items", "rows", "-k", "40", "--method", "lai", "--set", "oversample=500"},
		{graph, "-k", "30", "--bound"},
		{graph, "-k", "30", "--original", sparse("denser.npz", 40000, 40000, 60, true)},
		{graph, "-k", "30", "--init", "svd"},
		{points, "--items", "rows", "-k", "40", "--init", "tsvd"},
		{dense("table.npy", 3000, 400), "--items", "rows", "-k", "20", "--init", "tsvd"},
		{graph, "-k", "40", "--init", "tsvd", "-m", "cd-cyclic", "--runs", "2"},
		{points, "--items", "rows", "-k", "40", "--method", "tsvd"},
		{graph, "-k", "30", "--method", "pgncg"},
		{graph, "-k", "30", "--method", "lai"},
		{points, "--items", "columns", "-k", "40", "--method", "lai", "--runs", "2", "--max-sweeps", "90"}, // goes on from the low rank to A after some tens of sweeps
		{graph, "-k", "30", "--method", "compressed"},
	} {
		code, stdout, stderr := child(t, append([]string{"fit", "--max-sweeps", "1", "--tol", "0", "-v", "--json"}, args...)...)
		var rec record
		if err := json.Unmarshal([]byte(stdout), &rec); code != 0 || err != nil || rec.PeakMemory == nil {
			t.Fatalf("%v: exit code %d, %v\n%s", args, code, err, stderr)
		}
		_, text, _ := strings.Cut(stderr, "predicted memory ")
		text, _, _ = strings.Cut(text, "\n")
		var predicted byteSize
		if err := predicted.Set(strings.ReplaceAll(text, " ", "")); err != nil {
			t.Fatalf("%v: %q: %v", args, text, err)
		}
		ratio := float64(*rec.PeakMemory) / float64(predicted.bytes)
		t.Logf("%v: predicted %s, needed %s", args[1:], text, showBytes(float64(*rec.PeakMemory)))
		// The prediction is printed with three digits. Where some 30 MiB are needed the program is half of
		// that, and less with 32-bit addresses.
		if ratio > 1.02 || ratio < 0.6 {
			t.Errorf("%v: predicted %s, needed %s", args, text, showBytes(float64(*rec.PeakMemory)))
		}
	}
}

// TestThinPrediction: for a dense table of mostly zeros, info predicts what auto needs, which takes the table
// as sparse.
func TestThinPrediction(t *testing.T) {
	const n = 2500
	sparse, _ := testFiles(t)
	code, stdout, stderr := child(t, "info", sparse("zeros.npy", n, n, 16, true), "-k", "20", "--json")
	var told facts
	if err := json.Unmarshal([]byte(stdout), &told); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v\n%s", code, err, stderr)
	}
	least := float64(program + 12*16*n) // 16 entries of a row and their places
	dense := float64(program + 12*n*n)  // A, and again in float32
	if got := float64(told.PeakMemory); !(got >= least && got <= 0.95*dense) {
		t.Errorf("predicted %s, want at least %s, and at most 95 %% of %s, which is the least for a dense A", showBytes(got), showBytes(least), showBytes(dense))
	}
}

// TestSimilarityPeak compares the predicted memory of the similarity command with its measured peak.
func TestSimilarityPeak(t *testing.T) {
	sparse, dense := testFiles(t)
	graph := sparse("graph.npz", 40000, 40000, 16, true)
	points := sparse("points.npz", 15000, 6000, 30, false)
	long, wide := 6000, 3000
	if testing.Short() {
		long, wide = 4000, 1200
	}
	for _, args := range [][]string{
		{graph, "--keep", "8"},
		{points, "--items", "rows", "--keep", "20"},
		{points, "--items", "columns", "--keep", "100", "-t", "1"},
		{dense("long.npy", long, 100), "--items", "rows", "--keep", "50"},
		{dense("wide.npy", wide, 4000), "--items", "rows", "--keep", "20"},
		{sparse("denser.npz", 40000, 40000, 60, true), "--resistance", "20", "--draws", "500000"},
		{dense("similarity.npy", 1200, 1200), "--resistance", "0.3"},
		{dense("similarity.npy", 1200, 1200), "--resistance", "9", "--draws", "100000"},
	} {
		out := filepath.Join(t.TempDir(), "out.npz")
		code, stdout, stderr := child(t, append([]string{"similarity", "-o", out, "--json"}, args...)...)
		var rec similarityRecord
		if err := json.Unmarshal([]byte(stdout), &rec); code != 0 || err != nil || rec.PeakMemory == nil {
			t.Fatalf("%v: exit code %d, %v\n%s", args, code, err, stderr)
		}
		ratio := float64(*rec.PeakMemory) / float64(rec.Predicted)
		t.Logf("%v: predicted %s, needed %s", args[1:], showBytes(float64(rec.Predicted)), showBytes(float64(*rec.PeakMemory)))
		// The prediction counts garbage that may be collected late. In small cases the program is half of it.
		if ratio > 1.02 || ratio < 0.5 {
			t.Errorf("%v: predicted %s, needed %s", args, showBytes(float64(rec.Predicted)), showBytes(float64(*rec.PeakMemory)))
		}
	}
}

// TestLimitOfAddresses: if ulimit -v leaves less memory than the system, what it leaves bounds the memory
// limit of a run.
func TestLimitOfAddresses(t *testing.T) {
	const most = 3 << 30
	if free := system.FreeMemory(); free < most {
		t.Skipf("%s of memory are free, less than the limit of this test", showBytes(float64(free)))
	}
	cmd := exec.Command("sh", "-c", fmt.Sprintf(`ulimit -v %d && exec symnmf fit demo:karate -k 2 --json -q`, most>>10))
	text, err := cmd.Output()
	var rec record
	if err == nil {
		err = json.Unmarshal(text, &rec)
	}
	if err != nil || rec.Limits.Memory == nil || *rec.Limits.Memory > most/10*9 {
		t.Errorf("error %v; limits %+v, want a memory limit of at most 90 %% of that of ulimit -v", err, rec.Limits)
	}
}
