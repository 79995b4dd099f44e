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
