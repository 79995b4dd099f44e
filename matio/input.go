package matio

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"symnmf/internal/kernel"
)

// input is a file being read. Its bytes are hashed as they arrive, and decompressed if they are compressed.
// Errors of its Read are final: they name the file, and are ErrFormat if the compressed stream is corrupt.
//
// The goroutines of a read are the caller's, which merges, one that reads the file and hashes, one that
// decompresses and cuts text into blocks, and those that parse blocks. With one thread there is only the
// caller's.
type input struct {
	name    string
	limit   int64 // Options.MaxBytes
	held    int64 // bytes of memory in use, besides those passed to fits
	src     *source
	decoded io.Reader
	codec   string // "gzip", "zstd" or ""
	atMost  int64  // upper bound on the number of decoded bytes; -1 if unknown
	sum     hash.Hash

	threads   int // goroutines that parse at once; 1 means only the caller's
	blockSize int // bytes of text in a block
	group     sync.WaitGroup
	stop      chan struct{} // closed when the goroutines of group should end
	decoder   io.Closer     // nil if there is nothing to close
}

// source remembers an error of reading other than io.EOF, to tell a failing disk from a bad file.
type source struct {
	r   io.ReadCloser
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

const (
	gzipRatio = 1040      // deflate expands at most 1032 times; the rest covers a few bytes of header
	zstdRatio = 1 << 16   // a block of 128 KiB takes at least 4 bytes
	maxWindow = 128 << 20 // largest window of zstd: what its command line accepts by default
)

// newInput looks at the first bytes of r and sets up decompression.
func newInput(r io.Reader, name string, opt Options, blockSize int) (*input, error) {
	in := &input{name: name, limit: opt.MaxBytes, held: opt.Held, atMost: sizeOf(r), sum: sha256.New(),
		threads: opt.Threads, blockSize: blockSize, stop: make(chan struct{})}
	if in.threads < 1 {
		in.threads = runtime.GOMAXPROCS(0)
	}
	if in.limit > 0 {
		// A thread has two blocks. At worst, parsing a block gives 25 times its size (edges of four bytes
		// between new nodes, fields of two bytes), so all blocks take at most about a quarter of the limit.
		in.threads = int(max(1, min(int64(in.threads), in.limit/(256*int64(blockSize)))))
	}
	hashed := io.TeeReader(guarded{r}, in.sum)
	in.src = &source{r: io.NopCloser(hashed)}
	if in.threads > 1 { // hash ahead of decompressing and parsing
		from, to := io.Pipe()
		in.src.r = from
		in.group.Go(func() {
			_, err := io.CopyBuffer(to, hashed, make([]byte, 1<<16))
			to.CloseWithError(err)
		})
	}
	buffered := bufio.NewReaderSize(in.src, 1<<16)
	in.decoded = buffered
	magic, _ := buffered.Peek(4) // an error, such as for fewer than 4 bytes, is repeated by the first Read
	var err error
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		in.codec, in.atMost = "gzip", mulAtMost(in.atMost, gzipRatio)
		in.decoded, err = gzip.NewReader(buffered)
	case isZstd(magic):
		in.codec, in.atMost = "zstd", mulAtMost(in.atMost, zstdRatio)
		window := uint64(maxWindow)
		if in.limit > 0 {
			window = min(window, max(uint64(in.limit), 8<<20)) // 8 MiB is what every zstd decoder must accept
		}
		var z *zstd.Decoder
		z, err = zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window))
		if err == nil {
			in.decoded, in.decoder = z, z.IOReadCloser()
		}
	}
	if err != nil {
		err = in.broken(err)
		in.close()
		return nil, err
	}
	return in, nil
}

// guarded is the caller's reader with panics, and counts that cannot be, turned into errors. It is read on other
// goroutines, where the caller could not recover from a panic.
type guarded struct{ r io.Reader }

func (g guarded) Read(p []byte) (n int, err error) {
	defer func() {
		if v := recover(); v != nil {
			n, err = 0, fmt.Errorf("matio: the reader panicked: %v", v)
		}
	}()
	if n, err = g.r.Read(p); n < 0 || n > len(p) {
		return 0, fmt.Errorf("matio: the reader says that it has read %d bytes where there is room for %d", n, len(p))
	}
	return n, err
}

// close ends the goroutines of the input. It waits for a Read of the file that has begun.
func (in *input) close() {
	close(in.stop)
	in.src.r.Close()
	in.group.Wait()
	if in.decoder != nil {
		in.decoder.Close()
	}
}

// isZstd reports whether magic begins a zstd frame, or a skippable frame, which may come before one.
func isZstd(magic []byte) bool {
	return len(magic) == 4 && (bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) ||
		magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18}))
}

// sizeOf returns the number of bytes that r has left, or -1 if that is unknown.
func sizeOf(r io.Reader) int64 {
	switch r := r.(type) {
	case *bytes.Reader, *bytes.Buffer, *strings.Reader: // in other types Len may mean anything
		return int64(r.(interface{ Len() int }).Len())
	case *os.File:
		info, err := r.Stat()
		if err != nil || !info.Mode().IsRegular() {
			return -1
		}
		at, err := r.Seek(0, io.SeekCurrent)
		if err != nil {
			return -1
		}
		return max(info.Size()-at, 0)
	}
	return -1
}

func (in *input) Read(p []byte) (int, error) {
	n, err := in.decoded.Read(p)
	if err != nil && err != io.EOF {
		err = in.broken(err)
	}
	return n, err
}

// broken explains an error of reading, either of the underlying reader or of the compressed stream.
func (in *input) broken(err error) error {
	switch {
	case in.src.err != nil:
		return fmt.Errorf("matio: reading %s: %w", in.name, in.src.err)
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Errorf("%w: %s: the zstd stream needs a window of more than %d bytes: compress it without --long",
			ErrTooLarge, in.name, maxWindow)
	case errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF:
		return &badFile{fmt.Sprintf("matio: %s: the %s stream ends early: the file is truncated, or something follows the stream", in.name, in.codec)}
	}
	return &badFile{fmt.Sprintf("matio: %s: corrupt %s stream: %v", in.name, in.codec, err)}
}

// digest reads the rest of the stored bytes and returns the SHA-256 of all of them.
func (in *input) digest() (string, error) {
	if _, err := io.Copy(io.Discard, in.src); err != nil {
		return "", in.broken(err)
	}
	return hex.EncodeToString(in.sum.Sum(nil)), nil
}

// badFile is an error in the content of the file. It matches ErrFormat.
type badFile struct{ msg string }

func (e *badFile) Error() string        { return e.msg }
func (e *badFile) Is(target error) bool { return target == ErrFormat }

// fits returns an error if the given bytes of memory, together with those held, exceed the limit. what names
// the data in the message.
func (in *input) fits(bytes int64, what string) error { return in.under(bytes+in.held, what) }

// under returns an error if the given bytes of memory exceed the limit.
func (in *input) under(bytes int64, what string) error {
	if in.limit > 0 && bytes > in.limit {
		return fmt.Errorf("%w: %s: holding %s would take %d bytes in all, but the limit is %d", ErrTooLarge, in.name, what, bytes, in.limit)
	}
	return nil
}

// declared checks a size that a header claims, before the data are read. They take need bytes of memory, and
// the file must hold at least the given bytes for them. If the file cannot be that long, declared returns an
// error made by lie. If it can but need exceeds the limit, the error is ErrTooLarge. If the length of the
// file is unknown, there is no error, and reading goes on.
func (in *input) declared(bytes, need int64, what string, lie func(string, ...any) error) error {
	switch {
	case in.atMost < 0:
		return nil
	case bytes > in.atMost:
		return lie("%s are declared, which take at least %d bytes, but the file cannot hold more than %d: it is truncated or its header is wrong",
			what, bytes, in.atMost)
	}
	return in.fits(need, what)
}

// grow returns s with room for more elements of size bytes each. In the end there will be total elements, or
// an unknown number if total is negative. The capacity at most doubles, so that memory grows with the data
// that has arrived, unless the file is known to be long enough for the total, with perElement bytes of the
// file for each element.
func grow[T byte | float64](in *input, s []T, more int, total, size, perElement int64) ([]T, error) {
	have := int64(len(s))
	need := have + int64(more)
	if need <= int64(cap(s)) {
		return s, nil
	}
	want := max(need, 2*int64(cap(s)), 1024)
	if total >= 0 {
		want = min(want, max(total, need))
		if in.codec == "" && in.atMost >= 0 && mulAtMost(total, perElement) <= in.atMost {
			want = max(total, need)
		}
	}
	if in.limit > 0 { // the old and the new slice both count while one is copied to the other
		room := (in.limit-in.held)/size - have
		want = min(want, max(room, need))
	}
	if want > math.MaxInt/size {
		return nil, fmt.Errorf("%w: %s: %d values are more than this machine can address", ErrTooLarge, in.name, want)
	}
	if err := in.fits((have+want)*size, fmt.Sprintf("the first %d values", need)); err != nil {
		return nil, err
	}
	grown := kernel.Room[T](int(want))[:have]
	copy(grown, s)
	return grown, nil
}

// mulAtMost returns a·b for nonnegative numbers, or the largest int64 if that is smaller. It returns -1 if a
// is negative.
func mulAtMost(a, b int64) int64 {
	switch {
	case a < 0:
		return -1
	case b > 0 && a > math.MaxInt64/b:
		return math.MaxInt64
	}
	return a * b
}

// looksLike names the kind of a file by its first bytes, for the message about an unexpected one. It returns
// "" if the kind is unknown.
func looksLike(head []byte) string {
	for _, known := range []struct{ magic, what string }{
		{"\x93NUMPY", "a NumPy .npy file"},
		{"PK\x03\x04", "a zip archive, as .npz is"},
		{"%%MatrixMarket", "a Matrix Market file (mtx)"},
		{"\x89HDF", "an HDF5 file"},
		{"\x1f\x8b", "a gzip file, compressed twice"},
		{"\x28\xb5\x2f\xfd", "a zstd file, compressed twice"},
		{"BZh91AY&SY", "a bzip2 file: decompress it first"},
		{"\xfd7zXZ", "an xz file: decompress it first"},
	} {
		if bytes.HasPrefix(head, []byte(known.magic)) {
			return known.what
		}
	}
	return ""
}
