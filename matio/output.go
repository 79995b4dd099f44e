package matio

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"symnmf/internal/inorder"
	"symnmf/internal/replace"
	"symnmf/matrix"
)

// writer buffers what a format writes. Its errors stick: Flush returns the first.
type writer struct {
	*bufio.Writer
	num     [32]byte // room for one number
	workers int      // number of goroutines of parts
}

// parts divides the rows into parts lo ≤ i < hi and writes them in order, each by a rowWriter from start. All
// workers make parts at once. A part holds about partNumbers numbers; numbers(i) is the number of numbers in
// row i. If a row has more than partMost numbers, or if there is one worker, rows are written one after the
// other without keeping their text. The first error ends it.
func (w *writer) parts(rows int, numbers func(i int) int, start func() rowWriter) error {
	type part struct {
		text  bytes.Buffer
		w     *writer
		write rowWriter
	}
	type span struct{ lo, hi int }
	spans := func(yield func(span) bool) {
		lo, held := 0, 0
		for i := range rows {
			if held += 1 + numbers(i); held >= partNumbers || i == rows-1 {
				if !yield(span{lo, i + 1}) {
					return
				}
				lo, held = i+1, 0
			}
		}
	}
	longest := 0
	for i := range rows {
		longest = max(longest, numbers(i))
	}
	if w.workers <= 1 || longest > partMost {
		write := start()
		for s := range spans {
			write(w, s.lo, s.hi)
			if err := w.failed(); err != nil {
				return err
			}
		}
		return nil
	}
	return inorder.Do(w.workers, spans, func(s span, p *part) {
		if p.w == nil {
			p.w, p.write = &writer{Writer: bufio.NewWriterSize(&p.text, writeBuffer)}, start()
		}
		p.text.Reset()
		p.write(p.w, s.lo, s.hi)
		p.w.Flush() // writing to a buffer does not fail
	}, func(p *part) error {
		_, err := w.Write(p.text.Bytes())
		return err
	})
}

// rowWriter writes the rows lo ≤ i < hi to w. A rowWriter is never called by two goroutines at once, so it
// may reuse its work space.
type rowWriter func(w *writer, lo, hi int)

// rowLengths returns a function that gives the number of entries of a row.
func rowLengths(m *matrix.CSR) func(i int) int {
	return func(i int) int { return int(m.RowPtr[i+1] - m.RowPtr[i]) }
}

const (
	writeBuffer = 1 << 16
	partNumbers = 1 << 13
	partMost    = 1 << 16 // most numbers in a row if several parts are kept at a time
)

// failed returns the first error of the writer. Code that writes much calls it after each row, since nothing
// is written after an error.
func (w *writer) failed() error {
	_, err := w.Write(nil)
	return err
}

// float writes v in the shortest decimal form that reads back as the same bits.
func (w *writer) float(v float64) { w.Write(strconv.AppendFloat(w.num[:0], v, 'g', -1, 64)) }

func (w *writer) int(v int64) { w.Write(strconv.AppendInt(w.num[:0], v, 10)) }

// Create writes t to the named file, in opt.Format or the format of the extension. The file is compressed if
// the name ends in .gz or .zst. It appears whole or not at all, see [Atomic].
func Create(name string, t *Table, opt Options) error {
	return CreateContext(context.Background(), name, t, opt)
}

// CreateContext is Create, but stops with the error of ctx when ctx ends, as AtomicContext does.
func CreateContext(ctx context.Context, name string, t *Table, opt Options) error {
	f, err := formatFor(name, opt.Format)
	if err != nil {
		return err
	}
	return AtomicContext(ctx, name, func(w io.Writer) error {
		var z io.WriteCloser
		switch _, codec := splitName(name); codec {
		case ".gz":
			z = gzip.NewWriter(w)
		case ".zst":
			// With one goroutine the bytes do not depend on the machine.
			if z, err = zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)); err != nil {
				return err
			}
		default:
			return f.to(w, t, opt.Threads)
		}
		if err := f.to(z, t, opt.Threads); err != nil {
			z.Close() // ends its goroutines; its output is dropped with the file
			return err
		}
		return z.Close()
	})
}

// untilDone is a writer that fails once ctx has ended.
type untilDone struct {
	ctx context.Context
	to  io.Writer
}

func (w untilDone) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.to.Write(p)
}

// Write writes t to w in the named format. Values are stored as float64 or as shortest decimals. Nothing is
// lost except names, in formats that hold none ([FormatInfo]), and stored zeros, in formats where a zero is
// not an entry.
func Write(w io.Writer, t *Table, format string) error {
	f, err := formatFor("", format)
	if err != nil {
		return err
	}
	return f.to(w, t, 0)
}

// to checks the table and writes it with the given number of goroutines. 0 means one for each processor.
func (f *format) to(w io.Writer, t *Table, workers int) error {
	if (t.Dense == nil) == (t.Sparse == nil) {
		return fmt.Errorf("%w: exactly one of Dense and Sparse must be set", ErrUnfit)
	}
	rows, cols := t.Dims()
	if t.RowIDs != nil && len(t.RowIDs) != rows || t.ColIDs != nil && len(t.ColIDs) != cols {
		return fmt.Errorf("%w: %d row and %d column names for a %d×%d matrix", ErrUnfit, len(t.RowIDs), len(t.ColIDs), rows, cols)
	}
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	buffered := &writer{Writer: bufio.NewWriterSize(w, writeBuffer), workers: workers}
	if err := f.write(buffered, t); err != nil {
		return err
	}
	return buffered.Flush()
}

// Atomic replaces the named file by the content that write produces, or leaves it as it was. The content goes
// to a temporary file in the same directory, which is synced to disk and renamed, or removed on failure.
// Links are followed, and a file that is replaced keeps its permissions.
//
// Two kinds of existing files are written to directly: those that are not regular (a pipe, a device), and the
// file to which standard output or standard error goes (/dev/stdout), at its current position.
func Atomic(name string, write func(w io.Writer) error) error {
	return AtomicContext(context.Background(), name, write)
}

// AtomicContext is Atomic with the function write called content. It stops with the error of ctx when content
// writes after ctx has ended. To open a pipe, and a write to it, wait for who reads it.
func AtomicContext(ctx context.Context, name string, content func(w io.Writer) error) error {
	write := func(w io.Writer) error { return content(untilDone{ctx, w}) }
	old, err := os.Stat(name)
	switch {
	case os.IsNotExist(err):
		return replaceBy(write, name, nil)
	case err != nil:
		return fmt.Errorf("matio: %w", err)
	case old.IsDir():
		return fmt.Errorf("matio: cannot write the file %s: it is a directory", name)
	case !old.Mode().IsRegular():
		return writeInto(name, write)
	}
	if stream := replace.Stream(old); stream != nil {
		return write(stream)
	}
	return replaceBy(write, name, old)
}

// writeInto writes to an existing file that cannot be replaced, such as a pipe.
func writeInto(name string, write func(w io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("matio: %w", err)
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// replaceBy replaces the named file by what write writes. old is what the file is now, nil if there is none.
func replaceBy(write func(w io.Writer) error, name string, old os.FileInfo) error {
	cannot := func(err error) error { return fmt.Errorf("matio: cannot write %s: %w", name, err) }
	target, err := replace.Target(name) // of a link to a file that does not exist yet, that file
	if err != nil {
		return cannot(err)
	}
	perm := os.FileMode(0o666)
	if old != nil {
		perm = old.Mode().Perm()
	}
	f, err := createBeside(target, perm)
	if err != nil {
		return cannot(err)
	}
	done := false
	defer func() {
		if !done { // also when write panics
			f.Close()
			replace.Remove(f.Name())
		}
	}()
	if old != nil {
		if err := f.Chmod(perm); err != nil {
			return cannot(err)
		}
	}
	if err := write(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return cannot(err)
	}
	if err := f.Close(); err != nil {
		return cannot(err)
	}
	if err := replace.Finish(f.Name(), target); err != nil {
		return cannot(err)
	}
	done = true
	return nil
}

// createBeside creates a temporary file in the directory of target.
func createBeside(target string, perm os.FileMode) (f *os.File, err error) {
	for range 100 { // another program may have taken the name
		temp := filepath.Join(filepath.Dir(target), fmt.Sprintf(".symnmf-%016x.tmp", rand.Uint64()))
		f, err = replace.Begin(func() (*os.File, error) {
			return os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm) // less the umask, as for any new file
		})
		if !os.IsExist(err) {
			break
		}
	}
	return f, err
}
