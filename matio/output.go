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
	"symnmf/matrix"
)

// writer collects what a format writes. Its errors stick: Flush returns the first.
type writer struct {
	*bufio.Writer
	num     [32]byte // room for one number
	workers int      // that make what parts writes
}

// parts writes what rowWriters write for the rows lo ≤ i < hi of each part, which all workers make at once. A part holds some partNumbers numbers, of which
// row i has so many as numbers says; where a row has more than partMost, or for one worker, rows are written one after the other. The first error ends it.
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
	if w.workers <= 1 || longest > partMost { // no text is kept
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
		p.w.Flush() // a buffer takes all
	}, func(p *part) error {
		_, err := w.Write(p.text.Bytes())
		return err
	})
}

// rowWriter writes rows to w. One is never called by two at once, and may keep what it writes on.
type rowWriter func(w *writer, lo, hi int)

// rowLengths returns how many entries each row has.
func rowLengths(m *matrix.CSR) func(i int) int {
	return func(i int) int { return int(m.RowPtr[i+1] - m.RowPtr[i]) }
}

const (
	writeBuffer = 1 << 16
	partNumbers = 1 << 13
	partMost    = 1 << 16 // in a row of which more than one part is kept at a time
)

// failed returns the first error. Who writes much asks after each row: what comes after it goes nowhere.
func (w *writer) failed() error {
	_, err := w.Write(nil)
	return err
}

// float writes v in the shortest decimal form that reads back as the same bits.
func (w *writer) float(v float64) { w.Write(strconv.AppendFloat(w.num[:0], v, 'g', -1, 64)) }

func (w *writer) int(v int64) { w.Write(strconv.AppendInt(w.num[:0], v, 10)) }

// Create writes t under the given name, in opt.Format or the format of the extension, compressed when the name ends in
// .gz or .zst. The file appears whole or not at all, see [Atomic].
func Create(name string, t *Table, opt Options) error {
	return CreateContext(context.Background(), name, t, opt)
}

// CreateContext is Create that gives up, with its error, when ctx ends.
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
			// One goroutine, so that the bytes do not depend on the machine.
			if z, err = zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)); err != nil {
				return err
			}
		default:
			return f.to(w, t, opt.Threads)
		}
		if err := f.to(z, t, opt.Threads); err != nil {
			z.Close() // its goroutines end; what it wrote is dropped with the file
			return err
		}
		return z.Close()
	})
}

// untilDone writes until ctx ends.
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

// Write writes t to w in the named format. Values are stored as float64 or shortest decimals, so nothing is lost but
// names, in formats that hold none ([FormatInfo]), and stored zeros, in those for which a zero is not an entry.
func Write(w io.Writer, t *Table, format string) error {
	f, err := formatFor("", format)
	if err != nil {
		return err
	}
	return f.to(w, t, 0)
}

// to checks the table and writes it, with so many goroutines; 0 means as many as processors.
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

// Atomic gives name the content that write produces, or leaves what was there: the content goes to a temporary file in
// the same directory, which is synced to disk and renamed, and removed on failure. Links are followed, and a file that
// is replaced keeps its permissions. Written to directly is what is there but no regular file (a pipe, a device), and the file that
// standard output or standard error goes to (/dev/stdout), where it stands.
func Atomic(name string, write func(w io.Writer) error) error {
	return AtomicContext(context.Background(), name, write)
}

// AtomicContext is Atomic that gives up, with its error, when ctx ends and content, which is what Atomic calls write, writes on.
func AtomicContext(ctx context.Context, name string, content func(w io.Writer) error) error {
	write := func(w io.Writer) error { return content(untilDone{ctx, w}) }
	var f *os.File
	perm, target := os.FileMode(0o666), name
	old, err := os.Stat(name)
	switch {
	case err != nil && !os.IsNotExist(err):
		return fmt.Errorf("matio: %w", err)
	case err == nil && old.IsDir():
		return fmt.Errorf("matio: cannot write the file %s: it is a directory", name)
	case err == nil && !old.Mode().IsRegular():
		if f, err = os.OpenFile(name, os.O_WRONLY, 0); err != nil {
			return fmt.Errorf("matio: %w", err)
		}
		if err = write(f); err != nil {
			f.Close()
			return err
		}
		return f.Close()
	case err == nil && isStream(old, os.Stdout):
		return write(os.Stdout)
	case err == nil && isStream(old, os.Stderr):
		return write(os.Stderr)
	case err == nil:
		perm = old.Mode().Perm()
		if target, err = filepath.EvalSymlinks(name); err != nil {
			return fmt.Errorf("matio: %w", err)
		}
	default: // of a link that leads nowhere yet, what it names is made
		if link, err := os.Readlink(name); err == nil {
			if target = link; !filepath.IsAbs(link) {
				target = filepath.Dir(name) + string(filepath.Separator) + link
			}
		}
	}
	for range 100 { // another program may have taken a name
		temp := filepath.Join(filepath.Dir(target), fmt.Sprintf(".symnmf-%016x.tmp", rand.Uint64()))
		f, err = os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm) // less the umask, as any new file
		if !os.IsExist(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("matio: cannot write %s: %w", name, err)
	}
	done := false
	defer func() {
		if !done { // also when write panics
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if old != nil {
		if err := f.Chmod(perm); err != nil {
			return fmt.Errorf("matio: cannot write %s: %w", name, err)
		}
	}
	if err := write(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("matio: cannot write %s: %w", name, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("matio: cannot write %s: %w", name, err)
	}
	if err := os.Rename(f.Name(), target); err != nil {
		return fmt.Errorf("matio: cannot write %s: %w", name, err)
	}
	done = true
	return nil
}

func isStream(file os.FileInfo, stream *os.File) bool {
	info, err := stream.Stat()
	return err == nil && os.SameFile(file, info)
}
