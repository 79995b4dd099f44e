package matio

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"symnmf/matrix"
)

// TestAtomic: a file is replaced as a whole or not at all, whether writing fails or panics, and no temporary
// file is left. Permissions stay, and a symbolic link stays a link to the file that is written.
func TestAtomic(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out.txt")
	write := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			io.WriteString(w, text)
			return err
		}
	}
	check := func(when, want string, files int) {
		t.Helper()
		got, _ := os.ReadFile(name)
		entries, err := os.ReadDir(dir)
		if err != nil || string(got) != want || len(entries) != files {
			t.Errorf("%s: content %q and %d files, want %q and %d", when, got, len(entries), want, files)
		}
	}
	broken := errors.New("no more ink")
	if err := Atomic(name, write("half", broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
	check("a first failure", "", 0)
	if err := Atomic(name, write("one", nil)); err != nil {
		t.Error(err)
	}
	check("a first write", "one", 1)
	if err := os.Chmod(name, 0o660); err != nil {
		t.Fatal(err)
	}
	if err := Atomic(name, write("two", broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
	check("a failure over a file", "one", 1)
	func() {
		defer func() { recover() }()
		Atomic(name, func(io.Writer) error { panic("a bug") })
	}()
	check("a panic", "one", 1)
	if err := Atomic(name, write("three", nil)); err != nil {
		t.Error(err)
	}
	check("a second write", "three", 1)
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("permissions %v, %v, want those of the file replaced", info.Mode(), err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(name, link); err == nil {
		if err := Atomic(link, write("four", nil)); err != nil {
			t.Error(err)
		}
		check("a write through a link", "four", 2)
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link is gone: %v, %v", info, err)
		}
	}
	ahead := filepath.Join(dir, "ahead")
	if err := os.Symlink("new.txt", ahead); err == nil { // a link to a file that does not exist yet
		if err := Atomic(ahead, write("five", nil)); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "new.txt")); err != nil || string(got) != "five" {
			t.Errorf("written through a link to a new file: %q, %v, want \"five\"", got, err)
		}
	}
	first := filepath.Join(dir, "first")
	if err := os.Symlink("ahead", first); err == nil { // a link to such a link, both of which stay
		os.Remove(filepath.Join(dir, "new.txt"))
		if err := Atomic(first, write("six", nil)); err != nil {
			t.Error(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "new.txt"))
		if info, _ := os.Lstat(ahead); err != nil || string(got) != "six" || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("written through two links: %q, %v, want \"six\", and links: %v", got, err, info.Mode())
		}
	}
	if err := Atomic(dir, write("", nil)); err == nil {
		t.Error("a directory was accepted as a file")
	}
	if err := Atomic(filepath.Join(dir, "none", "x"), write("", nil)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing directory: error %v, want os.ErrNotExist", err)
	}
}

// TestAtomicStream: writing to the file that standard output goes to continues after what it holds, instead
// of replacing it.
func TestAtomicStream(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out.txt")
	if err := os.WriteFile(name, []byte("before\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	os.Stdout = f
	err = Atomic(name, func(w io.Writer) error {
		_, err := io.WriteString(w, "after\n")
		return err
	})
	if err := cmp.Or(err, f.Close()); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(name); string(got) != "before\nafter\n" {
		t.Errorf("the file holds %q", got)
	}
}

// TestAtomicPipe: if the name belongs to something other than a regular file, Atomic writes to it and does
// not replace it. A pipe stands for devices here, since a mistake would replace those.
func TestAtomicPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", name).Run(); err != nil {
		t.Skip("no mkfifo: ", err)
	}
	pipe, err := os.OpenFile(name, os.O_RDWR, 0) // both ends, so that neither open waits
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	err = Atomic(name, func(w io.Writer) error {
		_, err := io.WriteString(w, "text")
		return err
	})
	info, statErr := os.Lstat(name)
	if err != nil || statErr != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Fatalf("the pipe was replaced: %v, %v, %v", err, info, statErr)
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(pipe, got); err != nil || string(got) != "text" {
		t.Errorf("%q came through the pipe, error %v, want \"text\"", got, err)
	}
	broken := errors.New("no more ink")
	if err := Atomic(name, func(io.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestCreate: each format is written by its extension, plain and compressed, and is read back. If the table
// does not fit the format, no file is left. An error of the writer is returned.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	table, err := Read(strings.NewReader("n1 n2 2.5\nn2 n3 1\n"), "g.edges", Options{})
	if err != nil {
		t.Fatal(err)
	}
	magic := map[string]string{"": "", ".gz": "\x1f\x8b", ".zst": "\x28\xb5\x2f\xfd"}
	for _, f := range formats {
		for codec, head := range magic {
			name := filepath.Join(dir, "t"+f.Extensions[0]+codec)
			if err := Create(name, table, Options{}); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if data, err := os.ReadFile(name); err != nil || !bytes.HasPrefix(data, []byte(head)) || codec == "" && isPacked(data) {
				t.Errorf("%s begins with %q, error %v", name, data[:4], err)
			}
			got, err := Open(name, Options{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if got.Format != f.Name {
				t.Errorf("%s: read as format %s", name, got.Format)
			}
			if why := differ(table, got, f.Names); why != "" {
				t.Errorf("%s: %s", name, why)
			}
		}
	}
	name := filepath.Join(dir, "wide.edges")
	for _, bad := range []*Table{{}, {Dense: matrix.NewDense(1, 2, nil)}, {Dense: matrix.NewDense(1, 1, nil), RowIDs: []string{"a", "b"}}} {
		for _, suffix := range []string{"", ".gz", ".zst"} {
			if err := Create(name+suffix, bad, Options{}); !errors.Is(err, ErrUnfit) {
				t.Errorf("error %v, want ErrUnfit", err)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*wide*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
	full := errors.New("disk full")
	for _, f := range formats {
		if err := Write(limited{full}, table, f.Name); !errors.Is(err, full) {
			t.Errorf("%s to a full disk: error %v, want that of the disk", f.Name, err)
		}
	}
}

// limited is a writer that returns err at once.
type limited struct{ err error }

func (l limited) Write([]byte) (int, error) { return 0, l.err }

// isPacked reports whether data looks compressed by gzip or zstd.
func isPacked(data []byte) bool { return data[0] == 0x1f || isZstd(data[:4]) }

// TestCreateContext: no file is left if the context has ended, compressed or not.
func TestCreateContext(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	table := &Table{Dense: matrix.NewDense(200, 200, nil)}
	for _, name := range []string{"a.npy", "a.csv.gz", "a.mtx.zst"} {
		if err := CreateContext(ctx, filepath.Join(dir, name), table, Options{}); err != nil {
			t.Error(err)
		}
	}
	cancel()
	for _, name := range []string{"b.npy", "b.csv.gz", "b.mtx.zst"} {
		if err := CreateContext(ctx, filepath.Join(dir, name), table, Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want context.Canceled", name, err)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 3 {
		t.Errorf("the directory holds %v, %v, want 3 files", files, err)
	}
}

// TestAtomicContext: if ctx ends while a file is being written, the file that was there stays unchanged.
func TestAtomicContext(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte("before"), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err := AtomicContext(ctx, name, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		cancel()
		_, err := io.WriteString(w, " and half")
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	text, _ := os.ReadFile(name)
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 || string(text) != "before" {
		t.Errorf("the directory holds %v, %v and the file %q, want one file with \"before\"", files, err, text)
	}
}

// TestWriteStops: after an error of the writer the remaining rows are not made; here they would take weeks.
// The writer is not called again, and its error is returned as it is.
func TestWriteStops(t *testing.T) {
	const n = 1 << 20
	rowPtr := make([]int64, n+1)
	for i := range rowPtr {
		rowPtr[i] = 1
	}
	rowPtr[0] = 0
	m, err := matrix.NewCSR(n, n, rowPtr, []int32{5}, nil)
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("no more ink")
	for _, f := range Formats() {
		w := &broken{full, 0}
		if err := Write(w, &Table{Sparse: m}, f.Name); !errors.Is(err, full) || err.Error() != full.Error() || w.calls != 1 {
			t.Errorf("%s: %v after %d calls, want the first error of the writer", f.Name, err, w.calls)
		}
	}
}

// broken is a writer that accepts nothing and counts the calls.
type broken struct {
	err   error
	calls int
}

func (w *broken) Write([]byte) (int, error) {
	w.calls++
	return 0, w.err
}

// TestWriteParts: text that is made in many parts is the same for any number of threads and is read back as
// it was written. With names, a part of an edge list must know whether the last node before it has been
// named.
func TestWriteParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 28))
	const n = 40000
	rowPtr, col, val := []int64{0}, []int32{}, []float64{}
	for i := range n {
		if i > 0 && rng.IntN(2) == 0 { // half of them have no node before them
			col, val = append(col, int32(rng.IntN(i))), append(val, rng.Float64())
		}
		rowPtr = append(rowPtr, int64(len(col)))
	}
	graph, err := matrix.NewCSR(n, n, rowPtr, col, val)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("n%d", i)
	}
	table := matrix.NewDense(300, 200, nil)
	for p := range table.Data() {
		table.Data()[p] = rng.NormFloat64()
	}
	square := matrix.NewDense(200, 200, nil)
	for i := range 200 {
		for j := range i + 1 {
			square.Set(i, j, rng.Float64())
			square.Set(j, i, square.At(i, j))
		}
	}
	for _, c := range []struct {
		name string
		t    *Table
	}{
		{"named.edges", &Table{Sparse: graph, RowIDs: ids, ColIDs: ids}},
		{"numbered.edges", &Table{Sparse: graph}},
		{"graph.mtx", &Table{Sparse: graph}},
		{"table.mtx", &Table{Dense: table}},
		{"square.mtx", &Table{Dense: square, Symmetric: true}},
		{"table.csv", &Table{Dense: table, RowIDs: ids[:300], ColIDs: ids[:200]}},
	} {
		var want []byte
		for _, threads := range []int{1, 2, 3} {
			name := filepath.Join(t.TempDir(), c.name)
			if err := Create(name, c.t, Options{Threads: threads}); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			got, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				if want = got; len(want) < 5*writeBuffer {
					t.Errorf("%s has %d bytes, which is less than five buffers", c.name, len(want))
				}
				back, err := Open(name, Options{})
				if err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
				if a, b := c.t.Sparse, back.Sparse; a != nil {
					if !slices.Equal(a.RowPtr, b.RowPtr) || !slices.Equal(a.Col, b.Col) || !slices.Equal(a.Val, b.Val) || c.t.RowIDs != nil && !slices.Equal(c.t.RowIDs, back.RowIDs) {
						t.Errorf("%s: the graph that is read differs from the one written", c.name)
					}
				} else if why := differ(c.t, back, true); why != "" {
					t.Errorf("%s: %s", c.name, why)
				}
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s by %d threads differs from what one thread writes", c.name, threads)
			}
		}
	}
}

// TestPiecesStop: after the first error of a writer, few more rows are made in parts and few more numbers are
// converted to bytes in chunks.
func TestPiecesStop(t *testing.T) {
	full := errors.New("no more ink")
	for _, workers := range []int{1, 3} {
		w := &writer{Writer: bufio.NewWriterSize(&broken{full, 0}, writeBuffer), workers: workers}
		var made atomic.Int64
		err := w.parts(1000*partNumbers, func(int) int { return 0 }, func() rowWriter {
			return func(w *writer, lo, hi int) {
				made.Add(int64(hi - lo))
				for range hi - lo {
					w.WriteString("a row of sixteen")
				}
			}
		})
		if most := int64(2*(2*workers+1)+2) * partNumbers; err != full || made.Load() > most {
			t.Errorf("%d workers: error %v, %d rows made, want at most %d", workers, err, made.Load(), most)
		}
	}
	w := &writer{Writer: bufio.NewWriterSize(&broken{full, 0}, writeBuffer)}
	calls := 0
	inChunks(w, make([]byte, 1<<20), func(v byte) []byte {
		calls++
		return []byte{v, v, v, v, v, v, v, v}
	})
	if w.failed() != full || calls > 1<<15 {
		t.Errorf("error %v, %d numbers converted, want at most 32768", w.failed(), calls)
	}
}
