package matio

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"symnmf/matrix"
)

const smallMTX = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.5\n2 1 2\n"

func gzipped(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	w.Close()
	return b.Bytes()
}

func zstded(text string) []byte {
	w, _ := zstd.NewWriter(nil)
	return w.EncodeAll([]byte(text), nil)
}

// TestCompression: compressed input is recognized by its bytes, whatever its name. Streams that are cut off,
// damaged, or hold gzip or bzip2 data again are refused, and so is bzip2.
func TestCompression(t *testing.T) {
	want := "sparse 2×2 0,0=1.5 1,0=2"
	skippable := append([]byte{0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3}, zstded(smallMTX)...)
	for name, data := range map[string][]byte{
		"plain": []byte(smallMTX), "gzip": gzipped(smallMTX), "zstd": zstded(smallMTX),
		"gzip of two members": append(gzipped(smallMTX[:60]), gzipped(smallMTX[60:])...),
		"zstd of two frames":  append(zstded(smallMTX[:60]), zstded(smallMTX[60:])...), "skippable frame first": skippable,
	} {
		sum := sha256.Sum256(data)
		for _, r := range []io.Reader{bytes.NewReader(data), io.MultiReader(bytes.NewReader(data))} {
			got, err := Read(r, "-", Options{Format: "mtx"})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if dump(got) != want || got.SHA256 != hex.EncodeToString(sum[:]) || got.Format != "mtx" {
				t.Errorf("%s: %s, format %s, SHA-256 %s", name, dump(got), got.Format, got.SHA256)
			}
		}
	}
	for name, pack := range map[string]func(string) []byte{"gzip": gzipped, "zstd": zstded} {
		data := pack(strings.Replace(smallMTX, "\n", "\n% comment\n", 1))
		for cut := 4; cut < len(data); cut++ {
			if _, err := Read(bytes.NewReader(data[:cut]), "a.mtx", Options{}); !errors.Is(err, ErrFormat) {
				t.Fatalf("%s cut to %d of %d bytes: error %v, want ErrFormat", name, cut, len(data), err)
			}
		}
		damaged := bytes.Clone(data)
		damaged[len(damaged)-2] ^= 1 // in gzip's length, in zstd's checksum
		_, err := Read(bytes.NewReader(damaged), "a.mtx", Options{})
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "corrupt "+name) {
			t.Errorf("damaged %s: error %v, want ErrFormat that says corrupt", name, err)
		}
	}
	const bzip2ed = "BZh91AY&SYxxxx" // as bzip2 begins
	for name, c := range map[string]struct {
		data []byte
		what string
	}{
		"bzip2": {[]byte(bzip2ed), "bzip2"}, "bzip2 in gzip": {gzipped(bzip2ed), "bzip2"},
		"twice": {gzipped(string(gzipped(smallMTX))), "compressed twice"},
	} {
		if _, err := Read(bytes.NewReader(c.data), "a.mtx", Options{}); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.what) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestReadFailure: an error of the reader is returned as such and not as a bad file, unless the bytes before
// it are already refused. A missing file gives os.ErrNotExist.
func TestReadFailure(t *testing.T) {
	disk := errors.New("disk on fire")
	for _, f := range formats {
		for _, head := range []string{"", "1", smallMTX[:50], string(gzipped(smallMTX)[:20]), string(zstded(smallMTX)[:20])} {
			_, err := Read(io.MultiReader(strings.NewReader(head), failing{disk}), "-", Options{Format: f.Name})
			if head == smallMTX[:50] && f.Name != "mtx" && errors.Is(err, ErrFormat) {
				continue // the head alone is malformed
			}
			if !errors.Is(err, disk) || errors.Is(err, ErrFormat) {
				t.Errorf("%s after %q: error %v, want the disk's", f.Name, head, err)
			}
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.mtx"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: error %v, want os.ErrNotExist", err)
	}
}

// failing is a reader that returns err at once.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestTextEncodings: each text format accepts a byte-order mark, CRLF, a missing last newline and blank
// lines. UTF-16 and binary files are refused by name.
func TestTextEncodings(t *testing.T) {
	for format, text := range map[string]string{"mtx": smallMTX, "csv": "a,b\n1,2\n", "tsv": "1\t2\n", "edges": "a b 2\n"} {
		plain, err := Read(strings.NewReader(text), "-", Options{Format: format})
		if err != nil {
			t.Fatal(err)
		}
		for name, variant := range map[string]string{
			"byte-order mark": bom + text, "CRLF": strings.ReplaceAll(text, "\n", "\r\n"), "no last newline": strings.TrimSuffix(text, "\n"),
			"blank lines": strings.ReplaceAll(text, "\n", "\n\n"),
		} {
			checkBlocks(t, Options{Format: format}, []byte(variant), smallBlocks()...)
			got, err := Read(strings.NewReader(variant), "-", Options{Format: format})
			if err != nil {
				t.Errorf("%s, %s: %v", format, name, err)
			} else if dump(got) != dump(plain) {
				t.Errorf("%s, %s: %s, want %s", format, name, dump(got), dump(plain))
			}
		}
		var little, big strings.Builder
		for _, c := range []byte(text) {
			little.Write([]byte{c, 0})
			big.Write([]byte{0, c})
		}
		for _, utf16 := range []string{"\xff\xfe" + little.String(), "\xfe\xff" + big.String(), little.String(), big.String()} {
			if _, err := Read(strings.NewReader(utf16), "-", Options{Format: format}); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "UTF-16") {
				t.Errorf("%s in UTF-16: error %v, want ErrFormat that says UTF-16", format, err)
			}
		}
		for _, binary := range []string{npyMagic + "\x01\x00", "PK\x03\x04...", "\x89HDF\r\n\x1a\n"} {
			if _, err := Read(strings.NewReader(binary), "x", Options{Format: format}); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "looks like") {
				t.Errorf("%s for %q: error %v, want ErrFormat that says what it looks like", format, binary, err)
			}
		}
	}
	if _, err := Read(strings.NewReader(smallMTX), "a.txt", Options{}); err == nil || !strings.Contains(err.Error(), "looks like a Matrix Market file (mtx)") {
		t.Errorf("Matrix Market as edges: error %v, want one that says what it looks like", err)
	}
}

// TestLines: lines are returned whole, without their line ends and with the right numbers, if they are about
// as long as the buffer or longer.
func TestLines(t *testing.T) {
	for _, length := range []int{0, 1, 1<<16 - 2, 1<<16 - 1, 1 << 16, 1<<16 + 1, 200000} {
		long := strings.Repeat("x", length)
		text := "first line\r\r\n" + long + "\n\nlast " + long
		l, err := newLines(&input{blockSize: 1 << 16, decoded: strings.NewReader(text)}, "text")
		if err != nil {
			t.Fatal(err)
		}
		for k, want := range []string{"first line", long, "", "last " + long} {
			got, err := l.next()
			if err != nil || string(got) != want || l.n != int64(k+1) {
				t.Fatalf("length %d: line %d has %d bytes and error %v, want %d bytes as line %d", length, l.n, len(got), err, len(want), k+1)
			}
		}
		for range 2 {
			if _, err := l.next(); err != io.EOF {
				t.Fatalf("length %d: error %v at the end", length, err)
			}
		}
	}
}

// TestMaxBytes: every format refuses a file that needs more memory than MaxBytes, however it arrives, and
// reads it under a larger limit. Archives and matrices that must be transposed count with what they need
// besides.
func TestMaxBytes(t *testing.T) {
	var mtx, csv, edges, array strings.Builder
	mtx.WriteString("%%MatrixMarket matrix coordinate real general\n300 300 9000\n")
	array.WriteString("%%MatrixMarket matrix array real general\n300 30\n")
	for k := range 9000 {
		fmt.Fprintf(&mtx, "%d %d 0.5\n", k%300+1, k/300+1)
		fmt.Fprintf(&edges, "n%d n%d\n", k, k+1)
		fmt.Fprintln(&array, k)
		if k%30 == 0 {
			csv.WriteString("1" + strings.Repeat(",2", 29) + "\n")
		}
	}
	dense := &Table{Dense: matrix.NewDense(300, 30, nil)}
	var npy, npz bytes.Buffer
	for format, b := range map[string]*bytes.Buffer{"npy": &npy, "npz": &npz} {
		if err := Write(b, dense, format); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, format, text string }{
		{"coordinates", "mtx", mtx.String()}, {"array", "mtx", array.String()}, {"csv", "csv", csv.String()},
		{"edges", "edges", edges.String()}, {"npy", "npy", npy.String()}, {"npz", "npz", npz.String()},
	} {
		for name, r := range map[string]io.Reader{
			"known length": strings.NewReader(c.text), "unknown length": io.MultiReader(strings.NewReader(c.text)),
			"gzip": bytes.NewReader(gzipped(c.text)), "zstd": bytes.NewReader(zstded(c.text)),
		} {
			_, err := Read(r, "-", Options{Format: c.format, MaxBytes: 60000})
			if !errors.Is(err, ErrTooLarge) || errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "the limit is 60000") {
				t.Errorf("%s, %s: error %v, want ErrTooLarge", c.name, name, err)
			}
		}
		if _, err := Read(strings.NewReader(c.text), "-", Options{Format: c.format, MaxBytes: 1 << 22}); err != nil {
			t.Errorf("%s under 4 MiB: %v", c.name, err)
		}
	}
	// An archive is in memory besides its matrix, 72 kB each here, and the last growth needs the matrix
	// twice.
	stored := zipOf(zip.Store, "arr_0.npy", npy.String())
	for limit, want := range map[int64]error{150_000: ErrTooLarge, 230_000: nil} {
		if _, err := Read(strings.NewReader(stored), "a.npz", Options{MaxBytes: limit}); !errors.Is(err, want) {
			t.Errorf("archive under %d bytes: error %v, want %v", limit, err, want)
		}
	}
	// A matrix stored by columns is transposed and needs twice its memory meanwhile: 160,000 bytes for
	// 100×100 numbers, where a matrix stored by rows needs half of that.
	for order, want := range map[string]error{"False": nil, "True": ErrTooLarge} {
		text := strings.Replace(string(npyHeader("<f8", "(100, 100)")), "'fortran_order': False", "'fortran_order': "+order, 1)
		if len(order) < len("False") {
			text = strings.Replace(text, " }", "  }", 1)
		}
		if _, err := Read(strings.NewReader(text+strings.Repeat("\x00", 80_000)), "a.npy", Options{MaxBytes: 120_000}); !errors.Is(err, want) {
			t.Errorf("fortran_order %s under 120,000 bytes: error %v, want %v", order, err, want)
		}
	}
	// So is an array in a text of unknown length, and of a symmetric one, half is read before there is room for the whole.
	for _, c := range []struct {
		kind  string
		count int
		need  int64
	}{{"general", 100 * 100, 160_000}, {"symmetric", 100 * 101 / 2, 120_000}} {
		text := "%%MatrixMarket matrix array real " + c.kind + "\n100 100\n" + strings.Repeat("1\n", c.count)
		for limit, want := range map[int64]error{c.need - 1: ErrTooLarge, c.need + c.need/4: nil} {
			if _, err := Read(io.MultiReader(strings.NewReader(text)), "a.mtx", Options{MaxBytes: limit}); !errors.Is(err, want) {
				t.Errorf("%s array under %d bytes: error %v, want %v", c.kind, limit, err, want)
			}
		}
	}
	// The prediction comes from the header, before any entry is read.
	_, err := Read(strings.NewReader(mtx.String()), "a.mtx", Options{MaxBytes: 60000})
	if want := fmt.Sprint(28*9000 + 8*301); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want the prediction of %s bytes", err, want)
	}
}

// allocated returns the bytes that f allocates in all.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLies: a small file that declares a large size is refused without much memory being allocated, however
// the file arrives.
func TestLies(t *testing.T) {
	type lie struct{ format, text string }
	mtx := func(kind, sizes, rest string) lie {
		return lie{"mtx", "%%MatrixMarket matrix " + kind + "\n" + sizes + "\n" + rest}
	}
	npy := func(descr, shape string) lie { return lie{"npy", string(npyHeader(descr, shape)) + "12345678"} }
	lies := []lie{
		mtx("coordinate real general", "1000000000000 1000000000000 1000000000000", "1 1 1\n"),
		mtx("coordinate real general", "10 10 1000000000000", "1 1 1\n"),
		mtx("coordinate real symmetric", "1000 1000 1000000", "1 1 1\n"),
		mtx("coordinate pattern general", "10 10 1000000", "1 1\n"),
		mtx("coordinate real general", "2000000000 2000000000 0", ""),
		mtx("coordinate real general", "1000000000 5 3", "1 1 1\n2 2 2\n3 3 3\n"),
		mtx("coordinate real general", "5 1000000000 3", "1 1 1\n2 2 2\n3 3 3\n"),
		mtx("coordinate real general", "10000000 10 1", "1 1 1\n"),
		mtx("array real general", "1000000 1000000", "1\n"),
		mtx("array real symmetric", "2000000000 2000000000", "1\n"),
		mtx("array real general", "2147483647 2147483647", "1\n"),
		mtx("array real general", "0 2000000000", ""),
		mtx("coordinate real general", "99999999999999999999 1 1", "1 1 1\n"),
		npy("<f8", "(1000000, 1000000)"), npy("|u1", "(1000000000000, 1)"), npy("<f8", "(2147483647, 2147483647)"),
		npy("<f8", "(0, 2147483647)"), npy("<f8", "(9223372036854775807, 9223372036854775807)"), npy("<f2", "(100000, 100000)"),
		{"npy", npyMagic + "\x02\x00\xff\xff\xff\xff{"},
		{"npz", npzOf(map[string]string{"arr_0": string(npyHeader("<f8", "(100000, 100000)"))})},
		{"npz", npzOf(map[string]string{"format": string(npyHeader("|S3", "()")) + "csr", "shape": string(npyHeader("<i8", "(2,)")) + "\x00\x00\x00\x70\x00\x00\x00\x00\x00\x00\x00\x70\x00\x00\x00\x00",
			"data": string(npyHeader("<f8", "(1000000000,)")), "indices": string(npyHeader("<i8", "(1000000000,)")), "indptr": string(npyHeader("<i8", "(1879048193,)"))})},
		{"npz", npzOf(map[string]string{"format": string(npyHeader("|S3", "()")) + "coo", "shape": string(npyHeader("<i8", "(2,)")) + "\x00\x00\x00\x70\x00\x00\x00\x00\x00\x00\x00\x70\x00\x00\x00\x00",
			"data": string(npyHeader("<f8", "(0,)")), "row": string(npyHeader("<i8", "(0,)")), "col": string(npyHeader("<i8", "(0,)"))})},
	}
	for k, c := range lies {
		for name, open := range map[string]func() io.Reader{
			"known length":   func() io.Reader { return strings.NewReader(c.text) },
			"unknown length": func() io.Reader { return io.MultiReader(strings.NewReader(c.text)) },
			"gzip":           func() io.Reader { return bytes.NewReader(gzipped(c.text)) },
		} {
			for _, limit := range []int64{0, 1 << 20} {
				r := open()
				var err error
				bytes := allocated(func() { _, err = Read(r, "-", Options{Format: c.format, MaxBytes: limit}) })
				if !errors.Is(err, ErrFormat) {
					t.Errorf("file %d, %s, limit %d: error %v, want ErrFormat", k, name, limit, err)
				}
				if bytes > 4<<20 {
					t.Errorf("file %d, %s, limit %d: %d bytes were allocated for a file of %d bytes", k, name, limit, bytes, len(c.text))
				}
			}
		}
	}
}

// TestCompressedLie: a compressed file that could hold what its header declares makes room only for what arrives.
func TestCompressedLie(t *testing.T) {
	noise := make([]byte, 20<<10)
	rand.NewChaCha8([32]byte{}).Read(noise)
	text := string(npyHeader("<f8", "(1000, 1000)")) + string(noise)
	for name, data := range map[string][]byte{"gzip": gzipped(text), "zstd": zstded(text)} {
		var err error
		used := allocated(func() { _, err = Read(bytes.NewReader(data), "a.npy", Options{}) })
		if most := uint64(4 << 20); !errors.Is(err, ErrFormat) || used > most {
			t.Errorf("%s: error %v, want ErrFormat; %d bytes were allocated for a file of %d bytes, want at most %d",
				name, err, used, len(data), most)
		}
	}
}

// TestZstdWindow: a zstd stream that needs a window of more than 128 MiB is refused, and so is one that needs more than
// the memory limit. Under any limit, 8 MiB are accepted, as every decoder must.
func TestZstdWindow(t *testing.T) {
	const text = "1,2\n"
	frame := func(log int) []byte { // one block of bytes as they are, with a window of 2^log bytes
		return append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0, byte(log-10) << 3, byte(len(text)<<3 | 1), 0, 0}, text...)
	}
	for _, c := range []struct {
		log   int
		limit int64
		want  error
	}{
		{23, 0, nil}, {23, 1 << 20, nil}, {24, 0, nil}, {24, 1 << 20, ErrTooLarge}, {24, 1 << 24, nil}, {28, 0, ErrTooLarge},
	} {
		_, err := Read(bytes.NewReader(frame(c.log)), "t.csv", Options{MaxBytes: c.limit})
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), "without --long") {
			t.Errorf("window of 2^%d bytes under %d: error %v, want %v", c.log, c.limit, err, c.want)
		}
	}
}

// TestSizeOf: the bytes that a reader has left are those behind the place where it stands. Pipes and devices do
// not tell.
func TestSizeOf(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(name, []byte("12345"), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	defer to.Close()
	text := strings.NewReader("12345")
	for _, r := range []io.Seeker{f, text} {
		if _, err := r.Seek(2, io.SeekStart); err != nil {
			t.Fatal(err)
		}
	}
	beyond, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer beyond.Close()
	if _, err := beyond.Seek(7, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	device, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	for name, c := range map[string]struct {
		r    io.Reader
		want int64
	}{
		"device": {device, -1},
		"file":   {f, 3}, "file behind its end": {beyond, 0}, "text": {text, 3}, "pipe": {from, -1},
		"another reader": {io.MultiReader(text), -1},
	} {
		if got := sizeOf(c.r); got != c.want {
			t.Errorf("%s: %d bytes left, want %d", name, got, c.want)
		}
	}
}

// TestGrow: a slice that grows one value at a time under a limit is copied a few times only, and at least
// half of the limit is used before more is refused.
func TestGrow(t *testing.T) {
	const limit = 1 << 20
	in := &input{name: "x", limit: limit, atMost: -1}
	var s []float64
	var err error
	copies, most := 0, 0
	for err == nil {
		before := cap(s)
		if s, err = grow(in, s, 1, -1, 8, 1); err != nil {
			break
		}
		if cap(s) != before {
			copies++
		}
		s = append(s, 0)
		most = len(s)
	}
	// The limit is 1024·2⁷ values. The old and the new slice together fit until the old one alone is half of
	// it.
	if !errors.Is(err, ErrTooLarge) || copies > 8 || most < limit/8/2 {
		t.Errorf("%d copies, %d values, error %v, want at most 8, at least half the limit, and ErrTooLarge", copies, most, err)
	}
}

// TestBomb: reading a small compressed file that expands to a large one stops at the memory limit.
func TestBomb(t *testing.T) {
	const size, limit = 32 << 20, 1 << 20
	for bomb, c := range map[string]struct{ format, head, repeat string }{
		"rows":      {"csv", "", "1,2,3\n"},
		"one line":  {"csv", "", "1,2,3,"},
		"a quote":   {"tsv", "\"", "x\n"},
		"edges":     {"edges", "", "1 2\n"},
		"entries":   {"mtx", "%%MatrixMarket matrix coordinate real general\n5 5 5000000\n", "1 1 1\n"},
		"values":    {"mtx", "%%MatrixMarket matrix array real general\n3000 3000\n", "1 "},
		"npy":       {"npy", string(npyHeader("|u1", "(4096, 8192)")), "\x01"},
		"no npz":    {"npz", "PK", "\x01"},
		"a npy zip": {"npz", "", ""},
	} {
		head, chunk := c.head, strings.Repeat(c.repeat, 1<<20/max(len(c.repeat), 1))
		if c.repeat == "" {
			head = npzOf(map[string]string{"x": string(npyHeader("|u1", "(4096, 8192)")) + strings.Repeat("\x01", size)})
		}
		for name, pack := range map[string]func(string) []byte{"gzip": gzipped, "zstd": zstded} {
			data := append(pack(head), bytes.Repeat(pack(chunk), size>>20)...) // many members, which are cheap to make
			var err error
			used := allocated(func() { _, err = Read(bytes.NewReader(data), "-", Options{Format: c.format, MaxBytes: limit}) })
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("%s, %s: error %v, want ErrTooLarge", bomb, name, err)
			}
			// What grows doubles from copy to copy, and each copy is at most the limit. zstd has a window of
			// 8 MiB, twice.
			if used > 20<<20 {
				t.Errorf("%s, %s: %d bytes were allocated for a file of %d bytes", bomb, name, used, len(data))
			}
		}
	}
}

// hoarder is a Reader whose Len method does not return the number of unread bytes.
type hoarder struct{ io.Reader }

func (hoarder) Len() int { return 0 }

// TestLenOfOthers: Read does not trust the Len method of a reader that is not of the standard library.
func TestLenOfOthers(t *testing.T) {
	text := "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n"
	if got, err := Read(hoarder{strings.NewReader(text)}, "a.mtx", Options{}); err != nil || got.Dense.At(1, 0) != 2 {
		t.Errorf("read %v, error %v, want the whole file", got, err)
	}
}

// TestWideLine: a line of very many fields that would exceed the limit is refused before memory for its
// fields is taken, and it is read if the limit allows. A quoted name full of separators is one field.
func TestWideLine(t *testing.T) {
	wide := strings.Repeat("1,", 200_000) + "1\n"
	for _, c := range []struct {
		text  string
		limit int64
		want  error
	}{
		{wide, 2 << 20, ErrTooLarge}, {wide, 10 << 20, ErrTooLarge}, {wide, 40 << 20, nil},
		{"\"x\"," + wide, 2 << 20, ErrTooLarge}, {"\"x\"," + wide, 60 << 20, nil},
		{"\"" + strings.Repeat(",", 200_000) + "\",1\n", 2 << 20, nil}, // a name
	} {
		var err error
		used := allocated(func() { _, err = Read(strings.NewReader(c.text), "-", Options{Format: "csv", MaxBytes: c.limit}) })
		if !errors.Is(err, c.want) || int64(used) > c.limit+4<<20 {
			t.Errorf("%.10s…, limit %d: error %v, want %v; %d bytes were allocated", c.text, c.limit, err, c.want, used)
		}
	}
}

// panicking is a reader that panics after left reads.
type panicking struct{ left int }

func (r *panicking) Read(p []byte) (int, error) {
	if r.left--; r.left < 0 {
		panic("mine")
	}
	return copy(p, "1,2\n"), nil
}

// TestPanickingReader: a panic of the caller's reader becomes an error, also in the goroutines that read it.
func TestPanickingReader(t *testing.T) {
	for _, threads := range []int{1, 4} {
		for _, left := range []int{0, 1, 100000} {
			if _, err := Read(&panicking{left}, "-", Options{Format: "csv", Threads: threads}); err == nil || !strings.Contains(err.Error(), "the reader panicked: mine") {
				t.Errorf("%d threads, after %d reads: %v", threads, left, err)
			}
		}
		for _, n := range []int{-1, 1 << 20} {
			if _, err := Read(lying(n), "-", Options{Format: "csv", Threads: threads}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("it has read %d bytes", n)) {
				t.Errorf("%d threads: a reader that says it has read %d bytes: error %v", threads, n, err)
			}
		}
		if _, err := Read(nil, "-", Options{Format: "csv", Threads: threads}); err == nil || !strings.Contains(err.Error(), "the reader panicked") {
			t.Errorf("%d threads, no reader: %v", threads, err)
		}
	}
}

// lying says that it has read so many bytes, whatever room there is.
type lying int

func (n lying) Read([]byte) (int, error) { return int(n), nil }
