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

// input is a file being read: its bytes are hashed as they arrive and decompressed when they are compressed. Errors of
// its Read are final: they name the file and are ErrFormat when the compressed stream is wrong.
//
// Goroutines of a read: the caller's, which merges; one that reads the file and hashes; one that decompresses and cuts
// text into blocks; threads that parse blocks. With one thread there is only the caller's.
type input struct {
	name    string
	limit   int64 // Options.MaxBytes
	held    int64 // bytes of memory in use besides what the next call of fits asks for
	src     *source
	decoded io.Reader
	codec   string // "gzip", "zstd" or ""
	atMost  int64  // no more decoded bytes than this can come; -1 when that is not known
	sum     hash.Hash

	threads   int // goroutines that parse at once; 1 means none but the caller's
	blockSize int // bytes of text that one of them gets
	group     sync.WaitGroup
	stop      chan struct{} // closed when the goroutines of group should end
	decoder   io.Closer     // nil when there is nothing to close
}

// source remembers the error of reading that was not the end, to tell a failing disk from a bad file.
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
	gzipRatio = 1040      // deflate expands at most 1032 times; a few bytes of header are less than the rest
	zstdRatio = 1 << 16   // a block of 128 KiB takes at least 4 bytes
	maxWindow = 128 << 20 // of zstd: what its command line accepts without being asked
)

// newInput looks at the first bytes of r and sets decompression up.
func newInput(r io.Reader, name string, opt Options, blockSize int) (*input, error) {
	in := &input{name: name, limit: opt.MaxBytes, held: opt.Held, atMost: sizeOf(r), sum: sha256.New(),
		threads: opt.Threads, blockSize: blockSize, stop: make(chan struct{})}
	if in.threads < 1 {
		in.threads = runtime.GOMAXPROCS(0)
	}
	if in.limit > 0 {
		// A thread has two blocks. At worst 25 times the text is parsed of one (edges of four bytes between nodes that are
		// new, fields of two bytes), so that all take about a quarter of the limit at most.
		in.threads = int(max(1, min(int64(in.threads), in.limit/(256*int64(blockSize)))))
	}
	hashed := io.TeeReader(guarded{r}, in.sum)
	in.src = &source{r: io.NopCloser(hashed)}
	if in.threads > 1 { // hash ahead of what decompresses or parses
		from, to := io.Pipe()
		in.src.r = from
		in.group.Go(func() {
			_, err := io.CopyBuffer(to, hashed, make([]byte, 1<<16))
			to.CloseWithError(err)
		})
	}
	buffered := bufio.NewReaderSize(in.src, 1<<16)
	in.decoded = buffered
	magic, _ := buffered.Peek(4) // fewer than 4 bytes, or an error that the first Read repeats
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

// guarded is a reader of the caller's, whose panics are errors: it is read on other goroutines, where nobody could recover.
type guarded struct{ r io.Reader }

func (g guarded) Read(p []byte) (n int, err error) {
	defer func() {
		if v := recover(); v != nil {
			n, err = 0, fmt.Errorf("matio: the reader panicked: %v", v)
		}
	}()
	return g.r.Read(p)
}

// close ends the goroutines that work for the input. It waits for a Read of the file that has begun.
func (in *input) close() {
	close(in.stop)
	in.src.r.Close()
	in.group.Wait()
	if in.decoder != nil {
		in.decoder.Close()
	}
}

// isZstd tells a zstd frame, or one of the skippable frames that may come before it.
func isZstd(magic []byte) bool {
	return len(magic) == 4 && (bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) ||
		magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18}))
}

// sizeOf returns the number of bytes r has left when it knows, else -1.
func sizeOf(r io.Reader) int64 {
	switch r := r.(type) {
	case *bytes.Reader, *bytes.Buffer, *strings.Reader: // of others Len may mean anything
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

// broken explains an error of reading: of the machine, or of the compressed stream.
func (in *input) broken(err error) error {
	switch {
	case in.src.err != nil:
		return fmt.Errorf("matio: reading %s: %w", in.name, in.src.err)
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Errorf("%w: %s: the zstd stream asks for a larger window than %d bytes: compress it without --long",
			ErrTooLarge, in.name, maxWindow)
	case errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF:
		return &badFile{fmt.Sprintf("matio: %s: the %s stream ends early: the file is truncated, or something follows the stream", in.name, in.codec)}
	}
	return &badFile{fmt.Sprintf("matio: %s: corrupt %s stream: %v", in.name, in.codec, err)}
}

// digest reads what is left of the stored bytes and returns the SHA-256 of them all.
func (in *input) digest() (string, error) {
	if _, err := io.Copy(io.Discard, in.src); err != nil {
		return "", in.broken(err)
	}
	return hex.EncodeToString(in.sum.Sum(nil)), nil
}

// badFile is an error of the file's content; it matches ErrFormat.
type badFile struct{ msg string }

func (e *badFile) Error() string        { return e.msg }
func (e *badFile) Is(target error) bool { return target == ErrFormat }

// fits refuses a need of so many bytes of memory, beside what is held, beyond the limit; what says what they are for.
func (in *input) fits(bytes int64, what string) error { return in.under(bytes+in.held, what) }

// under refuses more bytes of memory than the limit.
func (in *input) under(bytes int64, what string) error {
	if in.limit > 0 && bytes > in.limit {
		return fmt.Errorf("%w: %s: with what is held %s take %d bytes, the limit is %d", ErrTooLarge, in.name, what, bytes, in.limit)
	}
	return nil
}

// declared judges a size that a header claims, before anything of it is read: need bytes of memory, for which the file
// must hold at least bytes. A file that cannot be that long gets the error lie, an honest one beyond the limit
// ErrTooLarge; where the length is unknown, reading goes on and finds out.
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

// grow returns s with room for more elements of size bytes each. In all there will be total of them, or an unknown
// number when total is negative. The capacity at most doubles, so that memory follows the data that has arrived, unless
// the file is known to be long enough for the total, at perElement bytes in the file each.
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
	if in.limit > 0 { // old and new count both, while one is copied to the other
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

// mulAtMost returns a·b for nonnegative numbers, or the largest int64; -1 when a is negative.
func mulAtMost(a, b int64) int64 {
	switch {
	case a < 0:
		return -1
	case b > 0 && a > math.MaxInt64/b:
		return math.MaxInt64
	}
	return a * b
}

// looksLike names what a file is by its first bytes, for the message when it is not what was expected, else "".
func looksLike(head []byte) string {
	for _, known := range []struct{ magic, what string }{
		{"\x93NUMPY", "a NumPy .npy file"},
		{"PK\x03\x04", "a zip archive, as .npz is"},
		{"%%MatrixMarket", "a Matrix Market file (mtx)"},
		{"\x89HDF", "an HDF5 file"},
		{"\x1f\x8b", "compressed by gzip once more"},
		{"\x28\xb5\x2f\xfd", "compressed by zstd once more"},
		{"BZh91AY&SY", "compressed by bzip2: decompress it first"},
		{"\xfd7zXZ", "compressed by xz: decompress it first"},
	} {
		if bytes.HasPrefix(head, []byte(known.magic)) {
			return known.what
		}
	}
	return ""
}
