package matio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outcome returns everything that a read gives, as text to compare.
func outcome(t *Table, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprintf("%s Eps %v warnings %q %s %s", dump(t), t.Eps, t.Warnings, t.Format, t.SHA256)
}

// checkBlocks reads the same bytes in blocks of the given sizes by 1, 2 and 3 goroutines. The outcome must
// always be that of one goroutine with one block.
func checkBlocks(t testing.TB, opt Options, data []byte, sizes ...int) {
	t.Helper()
	open := func(size, threads int) (*Table, error) {
		opt.Threads = threads
		return read(bytes.NewReader(data), "x", opt, size)
	}
	want, wantErr := open(1<<20, 1)
	for _, size := range sizes {
		for threads := 1; threads <= 3; threads++ {
			got, err := open(size, threads)
			if errors.Is(wantErr, ErrTooLarge) && errors.Is(err, ErrTooLarge) {
				continue // the error for a line that is too long names the size of its buffer
			}
			if g, w := outcome(got, err), outcome(want, wantErr); g != w {
				t.Fatalf("%s, blocks of %d bytes, %d goroutines: %.300q\ngot  %s\nwant %s", opt.Format, size, threads, data, g, w)
			}
		}
	}
}

// smallBlocks returns block sizes that cut a small file in many ways.
func smallBlocks() []int {
	sizes := []int{1, 2, 3, 5, 8, 13, 21, 34, 55}
	if testing.Short() {
		return sizes
	}
	for size := 1; size <= 64; size++ {
		sizes = append(sizes, size)
	}
	return sizes
}

// text returns a file of the format with many lines, some of them long, and some of them wrong if wrong is
// true.
func text(rng *rand.Rand, format string, lines int, wrong bool) string {
	var b strings.Builder
	node := func() string { return fmt.Sprint("n", rng.IntN(lines)) }
	if rng.IntN(2) == 0 {
		node = func() string { return fmt.Sprint(rng.IntN(lines)) }
	}
	symmetric := rng.IntN(2) == 0
	switch format {
	case "mtx":
		symmetry := "general"
		if symmetric {
			symmetry = "symmetric"
		}
		fmt.Fprintf(&b, "%%%%MatrixMarket matrix coordinate real %s\n%d %d %d\n", symmetry, lines, lines, lines)
	case "csv":
		b.WriteString(",a,\"b\nb\"\n")
	}
	for range lines {
		switch format {
		case "mtx":
			if rng.IntN(8) == 0 {
				fmt.Fprintln(&b, "%", strings.Repeat("c", rng.IntN(300)))
			}
			i, j := 1+rng.IntN(lines), 1+rng.IntN(lines)
			if symmetric && i < j {
				i, j = j, i
			}
			fmt.Fprintln(&b, i, j, rng.NormFloat64())
		case "csv":
			fmt.Fprintf(&b, "\"%s\"\"\n%s\",%v, %v\r\n", node(), strings.Repeat("\"\"q\"\"\n", rng.IntN(4)), rng.NormFloat64(), rng.IntN(9))
		case "edges":
			fmt.Fprint(&b, node(), " ", node())
			if rng.IntN(4) == 0 {
				fmt.Fprint(&b, "\t", rng.IntN(3))
			}
			b.WriteString([]string{"\n", "\r\n", " # c\n", "\n\n"}[rng.IntN(4)])
		}
		if wrong && rng.IntN(lines) < 5 {
			b.WriteString([]string{"1 x\n", "\"\n", "\x01 b\n", "1 2 3 4\n", "a\xff b\n"}[rng.IntN(5)])
		}
	}
	return b.String()
}

// TestBlocks reads random files of some 300 lines in small, medium and large blocks, with and without errors
// in them and a memory limit. See checkBlocks for what must hold.
func TestBlocks(t *testing.T) {
	seeds := 40
	if testing.Short() {
		seeds = 12
	}
	wrong := 0
	var limit int64
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 5))
		for _, format := range []string{"mtx", "csv", "edges"} {
			data := text(rng, format, 300, seed%2 == 1)
			if seed%4 > 1 {
				data = strings.TrimSuffix(data, "\n")
			}
			if _, err := read(strings.NewReader(data), "x", Options{Format: format, Threads: 1}, blockSize); err != nil {
				if wrong++; seed%2 == 0 {
					t.Fatalf("seed %d, %s: a correct file was refused: %v", seed, format, err)
				}
			}
			limit = 1<<20 - limit // alternately a limit and none
			checkBlocks(t, Options{Format: format, MaxBytes: limit}, []byte(data), 1+rng.IntN(64), 64+rng.IntN(1000), len(data)-1, len(data), len(data)+1)
		}
	}
	if wrong < seeds {
		t.Errorf("only %d files were refused, want at least %d", wrong, seeds)
	}
}

// TestFirstError: of several errors in different blocks the first in the file is reported, with its line
// number, for all block sizes and numbers of goroutines.
func TestFirstError(t *testing.T) {
	head := "%%MatrixMarket matrix coordinate real symmetric\n9 9 10\n"
	for format, c := range map[string]struct{ text, want string }{
		"mtx":          {head + strings.Repeat("5 5 1\n", 6) + "5 4 1\n5 5 x\n5 5 y\n4 5 1\n", `:10: entry (5, 5): "x" is not a number`},
		"mtx triangle": {head + "5 4 1\n%\n6 3 1\n" + strings.Repeat("5 5 1\n", 6) + "5 6 1\n7 9 1\n1 x\n", ":12: entry (5, 6) is not on the same side of the diagonal as the entry in line 3: "},
		"mtx count":    {head + strings.Repeat("5 5 1\n%\n", 10) + "%\n\nx\n1 2 3\n", ":25: more than the 10 entries"},
		"mtx cut":      {head + "5 5 1\n\n5 5 1\n%", ":6: the file ends after 2 of 10 entries"},
		"mtx array":    {"%%MatrixMarket matrix array integer general\n2 5\n1 2 3\n4\n\n5 6 7.0 8\nx\n", ":6: value 7: "},
		"csv":          {"a,b\n" + strings.Repeat("1,2\n", 9) + "1,x\n1\n\"\n", `:11: column 2 ("b"): "x"`},
		"csv quotes":   {"a,b\n" + strings.Repeat("\"1\r\n\",2\n", 3) + "\"1\n", ":8: a quoted field that begins here never ends"},
		"edges":        {"# c\n" + strings.Repeat("a b\n", 9) + "a\xff b\na b x\na\n", ":11: the name "},
		"edges header": {strings.Repeat("#\n", 30) + "a b length\na b x\n", ":31: the weight: \"length\" is not a number; if this line is a header, begin it with #"},
		"edges below":  {"a b weight\n" + strings.Repeat("#\n", 30) + "a b w\na b x\n", ":32: the weight: \"w\" is not a number; if this line is a header, begin it with #"},
	} {
		format, _, _ = strings.Cut(format, " ")
		for size := 1; size < 100; size++ {
			for threads := range 5 {
				_, err := read(strings.NewReader(c.text), "x", Options{Format: format, Threads: threads}, size)
				if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("%s, blocks of %d bytes, %d goroutines: error %v, want %s", format, size, threads, err, c.want)
				}
			}
		}
	}
}

// TestLimitBeforeError: if a file exceeds the memory limit before its first error, ErrTooLarge is reported.
func TestLimitBeforeError(t *testing.T) {
	const limit = 20000
	for format, c := range map[string]struct{ head, line, want string }{
		"mtx":   {"%%MatrixMarket matrix coordinate real general\n9 9 2000\n", "1 1 1\n", "the first 1025 entries"},
		"csv":   {"", "1\n", "the first 1477 values"}, // the old and the new array together
		"edges": {"", "1 1 2\n", "the first 1025 entries"},
	} {
		for _, size := range []int{1, 2, 20, 200, blockSize} {
			for threads := 1; threads <= 3; threads++ {
				data := io.MultiReader(strings.NewReader(c.head + strings.Repeat(c.line, 1500) + "wrong"))
				_, err := read(data, "x", Options{Format: format, MaxBytes: limit, Threads: threads}, size)
				if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s, blocks of %d bytes, %d goroutines: error %v, want %s", format, size, threads, err, c.want)
				}
			}
		}
	}
}

// endless is a reader that repeats the same line forever, wherever its reads end, and counts the bytes.
type endless struct {
	line  string
	given int
}

func (e *endless) Read(p []byte) (int, error) {
	for k := range p {
		p[k] = e.line[(e.given+k)%len(e.line)]
	}
	e.given += len(p)
	return len(p), nil
}

// TestErrorStopsReading: after an error in the first block of an endless file, reading soon stops and leaves
// no goroutine behind.
func TestErrorStopsReading(t *testing.T) {
	for format, c := range map[string]struct{ head, line string }{
		"mtx":   {"%%MatrixMarket matrix coordinate real general\n9 9 1000000000\nx\n", "1 1 1\n"},
		"csv":   {"1,2\nx\n", "1,2\n"},
		"edges": {"a\n", "a b\n"},
		"npy":   {"\x1f\x8b\x08\x20", "no header of gzip"},
	} {
		for _, threads := range []int{1, 2, 3} {
			more := &endless{line: c.line}
			_, err := read(io.MultiReader(strings.NewReader(c.head), more), "x", Options{Format: format, Threads: threads}, 1<<10)
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("%s: error %v", format, err)
			}
			given := more.given
			goleak.VerifyNone(t)
			// What the blocks hold, the buffer for lines, and the two buffers of 64 KiB before it.
			if most := (2*threads+2)<<10 + 2<<16; more.given != given || given > most {
				t.Errorf("%s, %d goroutines: %d bytes were read and %d after Read returned, want at most %d and 0", format, threads, given, more.given-given, most)
			}
		}
	}
}

// TestParseBlocksOrder: blocks are merged in the order of the file even if they are parsed in another order.
// Each block is one line here, and each group of three is parsed from last to first.
func TestParseBlocksOrder(t *testing.T) {
	const threads, size, count = 3, 16, 99
	var data strings.Builder
	parsed := make([]chan bool, count)
	for k := range parsed {
		fmt.Fprintf(&data, "%0*d\n", size-1, k)
		parsed[k] = make(chan bool, 1)
	}
	in, err := newInput(strings.NewReader(data.String()), "x", Options{Threads: threads}, size)
	if err != nil {
		t.Fatal(err)
	}
	defer in.close()
	l, err := newLines(in, "text")
	if err != nil {
		t.Fatal(err)
	}
	merged := 0
	err = parseBlocks(l, func(l *lines, k *int) error {
		line, err := l.next()
		if err != nil {
			return err // the last block is empty
		}
		if *k, err = strconv.Atoi(string(line)); err != nil {
			t.Error(err)
		}
		if *k%threads < threads-1 {
			<-parsed[*k+1]
		}
		parsed[*k] <- true
		return nil
	}, func(l *lines, k *int, err error) error {
		line, again := l.next()
		if err != again || err == nil && (*k != merged || l.n != int64(merged)+1 || string(line) != fmt.Sprintf("%0*d", size-1, merged)) {
			t.Errorf("block %d: parsed as %d, merged as line %d %q, errors %v and %v", merged, *k, l.n, line, err, again)
		}
		if err == nil {
			merged++
		}
		return nil
	})
	if err != nil || merged != count || l.n != count {
		t.Errorf("error %v, %d of %d blocks merged, %d lines", err, merged, count, l.n)
	}
}

// TestParseBlocksMemory: between parse and merge there are never more than 2·threads+1 blocks in memory, nor
// more than their bytes, except for one longer line.
func TestParseBlocksMemory(t *testing.T) {
	const threads, size = 3, 100
	rng := rand.New(rand.NewPCG(1, 1))
	var data strings.Builder
	for range 2000 {
		data.WriteString(strings.Repeat("x", rng.IntN(30)) + "\n")
		if rng.IntN(20) == 0 {
			data.WriteString(strings.Repeat("long", rng.IntN(1000)) + "\n")
		}
	}
	in, err := newInput(strings.NewReader(data.String()), "x", Options{Threads: threads}, size)
	if err != nil {
		t.Fatal(err)
	}
	defer in.close()
	l, err := newLines(in, "text")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	held, blocks, most, mostBlocks := 0, 0, 0, 0
	var all strings.Builder
	err = parseBlocks(l, func(l *lines, p *string) error {
		mu.Lock()
		defer mu.Unlock()
		held += len(l.buf)
		blocks++
		mostBlocks = max(mostBlocks, blocks)
		if blocks > 1 {
			most = max(most, held)
		}
		return nil
	}, func(l *lines, p *string, err error) error {
		mu.Lock()
		defer mu.Unlock()
		held -= len(l.buf)
		blocks--
		all.Write(l.buf[l.r:l.w])
		return err
	})
	// A buffer counts as the whole number of blocks that it holds, so up to a block of each may be missed.
	if count := 2*threads + 1; err != nil || all.String() != data.String() || most > 2*count*size || mostBlocks > count {
		t.Errorf("error %v, %d bytes in %d blocks at once, want at most %d in %d; %d bytes of %d were merged", err, most, mostBlocks, 2*count*size, count, all.Len(), data.Len())
	}
}

// TestReaders reads plain and compressed files from readers that return one byte at a time, or io.EOF
// together with the last bytes, or fail halfway. The outcome must be that of an ordinary reader, or the
// reader's error.
func TestReaders(t *testing.T) {
	disk := errors.New("disk on fire")
	for _, format := range []string{"mtx", "csv", "edges"} {
		data := text(rand.New(rand.NewPCG(2, 2)), format, 60, false)
		want := outcome(read(strings.NewReader(data), "x", Options{Format: format, Threads: 1}, blockSize))
		for threads := 1; threads <= 3; threads++ {
			for _, size := range []int{1, 50, blockSize} {
				for name, pack := range map[string]func(string) []byte{"plain": func(s string) []byte { return []byte(s) }, "gzip": gzipped, "zstd": zstded} {
					packed := pack(data)
					opt := Options{Format: format, Threads: threads}
					for _, r := range []io.Reader{iotest.OneByteReader(bytes.NewReader(packed)), iotest.DataErrReader(bytes.NewReader(packed))} {
						got, err := read(r, "x", opt, size)
						if err != nil || name == "plain" && outcome(got, err) != want || !strings.HasPrefix(want, dump(got)) {
							t.Errorf("%s, %s, blocks of %d bytes, %d goroutines: %s", format, name, size, threads, outcome(got, err))
						}
					}
					_, err := read(io.MultiReader(bytes.NewReader(packed[:len(packed)/2]), iotest.ErrReader(disk)), "x", opt, size)
					if !errors.Is(err, disk) {
						t.Errorf("%s, %s, blocks of %d bytes, %d goroutines: error %v, want the disk's", format, name, size, threads, err)
					}
				}
			}
		}
	}
}
