package matio

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestEntriesRoom: for any number of entries, the memory set aside is little more than they take.
func TestEntriesRoom(t *testing.T) {
	e := &entries{in: &input{}, pattern: true}
	for k := range 2_000_000 {
		if err := e.add(int32(k), int32(k), 1); err != nil {
			t.Fatal(err)
		}
		if k&(k+1) != 0 { // check only if k+1 is a power of 2
			continue
		}
		room := 0
		for _, part := range e.parts {
			room += cap(part.row)
		}
		if most := max(2*(k+1), firstPart); room > most || room > k+1+max(shortPart, (k+1)/8) {
			t.Errorf("memory for %d entries is set aside for %d", room, k+1)
		}
	}
	if parts := len(e.parts); parts > 30 {
		t.Errorf("%d parts, want at most 30", parts)
	}
}

// TestHollow: a shape may have up to a thousand rows and columns for each entry, and four million in any case.
// Entries that only name their nodes count, too.
func TestHollow(t *testing.T) {
	for _, c := range []struct {
		rows, cols, n int64
		hollow        bool
	}{
		{1 << 21, 1 << 21, 0, false}, {1 << 21, 1<<21 + 1, 0, true}, {5_000_000, 0, 5000, false}, {0, 5_001_000, 5000, true},
		{2_500_000, 2_500_999, 5000, false},
	} {
		if why := hollow(c.rows, c.cols, c.n); (why != "") != c.hollow {
			t.Errorf("%d×%d with %d entries: %q, want a reason: %v", c.rows, c.cols, c.n, why, c.hollow)
		}
	}
	const n = 2_200_000
	e := &entries{in: &input{threads: 1, blockSize: blockSize}, pattern: true, named: n}
	if _, _, err := e.assemble(n, n, fmt.Errorf); err != nil {
		t.Errorf("%d nodes, each named on its own: %v", n, err)
	}
}

// TestEntriesLimit: the memory limit counts the values that the entries of a pattern get when one of them is not 1, and
// both triangles of a matrix of which one is stored.
func TestEntriesLimit(t *testing.T) {
	const n = 1000
	for limit, want := range map[int64]error{16*n - 1: ErrTooLarge, 16 * n: nil} {
		e := &entries{in: &input{}, pattern: true}
		for k := range int32(n) {
			if err := e.add(k, k, 1); err != nil {
				t.Fatal(err)
			}
		}
		e.in.limit = limit
		if err := e.weigh(); !errors.Is(err, want) {
			t.Errorf("values for %d entries under %d bytes: %v, want %v", n, limit, err, want)
		}
	}
	for _, c := range []struct {
		pattern, mirror bool
		want            int64 // 16 or 8 for each entry, 12 or 4 for each one stored, 8 for each row and one more
	}{
		{false, false, (16+12)*n + 8*301}, {false, true, (16+2*12)*n + 8*301},
		{true, false, (8+4)*n + 8*301}, {true, true, (8+2*4)*n + 8*301},
	} {
		e := &entries{pattern: c.pattern, mirror: c.mirror}
		if got := e.peak(300, n); got != c.want {
			t.Errorf("pattern %v, mirror %v: %d bytes, want %d", c.pattern, c.mirror, got, c.want)
		}
	}
}

// TestEdgesLimit: the memory limit of an edge list counts the nodes, long names, and edges in both
// directions.
func TestEdgesLimit(t *testing.T) {
	const n, m = 300, 40000
	var path, long, all, weighted, named strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&path, "%d %d\n", i, i+1)
	}
	for i := range 500 {
		fmt.Fprintf(&long, "%s%d a\n", strings.Repeat("n", 1000), i)
	}
	for k := range m {
		fmt.Fprintf(&all, "%d %d\n", k/n, n+k%n)
		fmt.Fprintf(&weighted, "%d %d 2\n", k/n, n+k%n)
	}
	for i := range n {
		fmt.Fprintf(&named, "%d %[1]d 0\n", 1000+i)
	}
	for _, c := range []struct {
		name, text string
		limit      int64
		want       error
	}{
		{"nodes", path.String(), 20000 * 70, ErrTooLarge},
		{"nodes", path.String(), 20000 * 140, nil},
		{"names", long.String(), 450_000, ErrTooLarge},
		{"names", long.String(), 700_000, nil},
		{"edges", all.String(), 14 * m, ErrTooLarge},
		{"edges", all.String(), 24 * m, nil},
		{"edges and lone nodes", all.String() + named.String(), 26 * m, nil},
		{"weighted edges", weighted.String(), 40 * m, ErrTooLarge},
		{"weighted edges", weighted.String(), 56 * m, nil},
	} {
		if _, err := Read(strings.NewReader(c.text), "g.edges", Options{MaxBytes: c.limit}); !errors.Is(err, c.want) {
			t.Errorf("%s under %d bytes: %v, want %v", c.name, c.limit, err, c.want)
		}
	}
}

// TestHeld: the memory limit counts Options.Held. It also counts the values that must be stored once an entry
// of a pattern is repeated.
func TestHeld(t *testing.T) {
	const side = 300
	const n = side * (side - 1) / 2
	ones, again := &bytes.Buffer{}, &bytes.Buffer{}
	for _, c := range []struct {
		b     *bytes.Buffer
		extra string
	}{{ones, ""}, {again, "2 1\n"}} {
		fmt.Fprintf(c.b, "%%%%MatrixMarket matrix coordinate pattern symmetric\n%d %d %d\n", side, side, n+strings.Count(c.extra, "\n"))
		for i := range side {
			for j := range i {
				fmt.Fprintf(c.b, "%d %d\n", i+1, j+1)
			}
		}
		c.b.WriteString(c.extra)
	}
	least := func(text []byte, held int64) int64 {
		lo, hi := int64(0), int64(1<<30)
		for hi-lo > 1000 {
			mid := (lo + hi) / 2
			if _, err := Read(bytes.NewReader(text), "a.mtx", Options{MaxBytes: mid, Held: held, Threads: 1}); err == nil {
				hi = mid
			} else if errors.Is(err, ErrTooLarge) {
				lo = mid
			} else {
				t.Fatal(err)
			}
		}
		return hi
	}
	without := least(ones.Bytes(), 0)
	if with := least(ones.Bytes(), 1<<20); with < without+1<<20-1000 || with > without+1<<20+1000 {
		t.Errorf("%d bytes are needed, and %d if 1 MiB is held; want 1 MiB more", without, with)
	}
	if dup := least(again.Bytes(), 0); dup < 24*n {
		t.Errorf("a pattern with a repeated entry is read under a limit of %d bytes, but needs %d", dup, 24*n)
	}
}
