package matio

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// writer collects what a format writes. Its errors stick: Flush returns the first.
type writer struct {
	*bufio.Writer
	num [32]byte // room for one number
}

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
	return Atomic(name, func(w io.Writer) error {
		w = untilDone{ctx, w}
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
			return f.to(w, t)
		}
		if err := f.to(z, t); err != nil {
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
	return f.to(w, t)
}

// to checks the table and writes it.
func (f *format) to(w io.Writer, t *Table) error {
	if (t.Dense == nil) == (t.Sparse == nil) {
		return fmt.Errorf("%w: exactly one of Dense and Sparse must be set", ErrUnfit)
	}
	rows, cols := t.Dims()
	if t.RowIDs != nil && len(t.RowIDs) != rows || t.ColIDs != nil && len(t.ColIDs) != cols {
		return fmt.Errorf("%w: %d row and %d column names for a %d×%d matrix", ErrUnfit, len(t.RowIDs), len(t.ColIDs), rows, cols)
	}
	buffered := &writer{Writer: bufio.NewWriterSize(w, 1<<16)}
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
