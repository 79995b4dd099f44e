package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"symnmf/internal/inorder"
	"symnmf/matio"
	"symnmf/matrix"
)

// TestTSV compares writeTSV with encoding/csv for numbers of lines from none to several batches, and for 1, 2
// and 3 goroutines.
func TestTSV(t *testing.T) {
	names := []string{"a", "", " a", "a b", "a\tb", `"a"`, `a"b`, "a\nb", "a\r", `\.`, "\u00a0a", "é", "\u2028", "a ", "#"}
	floats := []float64{0, 1, -2.5, 1e-300, 1.0 / 3, math.Inf(1), math.NaN()}
	header := []string{"id", "a number", "and \t another"}
	line := func(i int) (string, int, float64) {
		return names[i%len(names)], i - 5, floats[i%len(floats)] / float64(i%3+1)
	}
	for _, n := range []int{0, 1, tsvBatch - 1, tsvBatch, 9*tsvBatch + 5} {
		var want bytes.Buffer
		w := csv.NewWriter(&want)
		w.Comma = '\t'
		w.Write(header)
		for i := range n {
			name, k, x := line(i)
			number := ""
			if !math.IsNaN(x) {
				number = strconv.FormatFloat(x, 'g', -1, 64)
			}
			w.Write([]string{name, strconv.Itoa(k), number})
		}
		w.Flush()
		for _, workers := range []int{1, 2, 3} {
			var got bytes.Buffer
			err := writeTSV(&got, header, workers, inorder.UpTo(n), func(l *tsvLines, i int) {
				name, k, x := line(i)
				l.name(name)
				l.int(k)
				l.float(x)
			})
			if err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
				t.Errorf("%d lines by %d goroutines: error %v, or the bytes differ from those of encoding/csv", n, workers, err)
			}
		}
	}
}

// TestTSVBroken: writeTSV returns the first error of its writer, writes nothing after it, and stops before it
// has made all lines.
func TestTSVBroken(t *testing.T) {
	full := errors.New("no more ink")
	const n = 1000 * tsvBatch
	for _, room := range []int{0, 1, 3} {
		w := &smallWriter{room: room, err: full}
		drawn := 0
		items := func(yield func(int) bool) {
			for i := range inorder.UpTo(n) {
				if drawn++; !yield(i) {
					return
				}
			}
		}
		err := writeTSV(w, []string{"id"}, 2, items, func(l *tsvLines, i int) { l.int(i) })
		if !errors.Is(err, full) || w.calls != room+1 || drawn == n {
			t.Errorf("with room for %d writes: %v after %d calls and %d lines", room, err, w.calls, drawn)
		}
	}
}

// smallWriter is a writer that accepts room writes and then returns err.
type smallWriter struct {
	room, calls int
	err         error
}

func (w *smallWriter) Write(p []byte) (int, error) {
	if w.calls++; w.calls > w.room {
		return 0, w.err
	}
	return len(p), nil
}

// TestWarnOfZeros: losses warns if a large sparse matrix is about to be written with all its zeros. withZeros
// calls that large from 1 GiB on if there are at least ten times as many numbers as stored entries.
func TestWarnOfZeros(t *testing.T) {
	empty := func(n int) *matrix.CSR {
		m, err := matrix.NewCSR(n, n, make([]int64, n+1), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	const n = 30000 // 1.7 GiB of zeros and separators
	for _, c := range []struct {
		table *matio.Table
		out   string
		want  string
	}{
		{&matio.Table{Sparse: empty(n)}, "a.csv", "csv stores every zero: 30000×30000 numbers take 1.68 GiB or more uncompressed; mtx, npz, edges store only nonzero entries"},
		{&matio.Table{Sparse: empty(n)}, "a.tsv.gz", "tsv stores every zero: 30000×30000 numbers take 1.68 GiB or more uncompressed; mtx, npz, edges store only nonzero entries"},
		{&matio.Table{Sparse: empty(n)}, "a.npy", "npy stores every zero: 30000×30000 numbers take 6.71 GiB or more uncompressed; mtx, npz, edges store only nonzero entries"},
		{&matio.Table{Sparse: empty(n)}, "a.npz", ""},
		{&matio.Table{Sparse: empty(n)}, "a.mtx", ""},
		{&matio.Table{Sparse: empty(n / 2)}, "a.csv", ""},
		{&matio.Table{Dense: matrix.NewDense(3, 3, nil)}, "a.csv", ""},
		{&matio.Table{Sparse: empty(n)}, "a", ""}, // writing reports the error
		{&matio.Table{Sparse: empty(3), RowIDs: []string{"3", "-1", "2"}}, "a.edges", "edges has integer ids in increasing order when it is read, so the items get another order than here"},
		{&matio.Table{Sparse: empty(3), RowIDs: []string{"3", "-1", "2"}}, "a.csv", ""},
		{&matio.Table{Sparse: empty(3), RowIDs: []string{"-1", "2", "30"}}, "a.edges", ""},
		{&matio.Table{Sparse: empty(3), RowIDs: []string{"3", "1", "02"}}, "a.edges", ""},
		{&matio.Table{Sparse: empty(3), RowIDs: []string{"3", "1", "1000000000000000000"}}, "a.edges", ""},
	} {
		if got := strings.Join(losses(c.table, c.out, ""), "\n"); got != c.want {
			t.Errorf("%s: warnings %q, want %q", c.out, got, c.want)
		}
	}
	for stored, want := range map[int64]bool{0: true, 1 << 26: true, 1<<26 + 1<<20: false} {
		if size, large := withZeros(matio.FormatInfo{ZeroBytes: 2}, 1<<15, 5<<12, stored); size != 5<<28 || large != want {
			t.Errorf("%d stored entries: %v bytes, large %v, want %v", stored, size, large, want)
		}
	}
}
