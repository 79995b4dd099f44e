package kernel

import (
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"unsafe"
)

// placeGuarded copies s to memory of its own, at its beginning or, with atEnd, at its end. What lies before
// and after that memory can be neither read nor written.
func placeGuarded[T any](t *testing.T, s []T, atEnd bool) []T {
	page := os.Getpagesize()
	size := len(s) * int(unsafe.Sizeof(*new(T)))
	inner := (size + page) / page * page
	m, err := syscall.Mmap(-1, 0, page+inner+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	for _, guard := range [][]byte{m[:page], m[page+inner:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	lo := page
	if atEnd {
		lo = page + inner - size
	}
	placed := unsafe.Slice((*T)(unsafe.Pointer(&m[lo])), len(s))
	copy(placed, s)
	return placed
}

// TestGuardPages runs each kernel with every slice next to memory that must not be touched, first on one side
// and then on the other. A read beyond a slice that changes no result shows here alone.
func TestGuardPages(t *testing.T) {
	try := func(t *testing.T, o op, n, r int) {
		for _, atEnd := range []bool{false, true} {
			place := func(s []float64) []float64 { return placeGuarded(t, s, atEnd) }
			rng := rand.New(rand.NewPCG(6, 0))
			c := o.newCall(n, r, rng, rng.Float64, place)
			if o.rows > 0 {
				c.idx = placeGuarded(t, c.idx, atEnd)
			}
			if fault := panics(func() { c.run(c.out, c.in, c.idx) }); fault != nil {
				t.Fatalf("%s, n = %d, r = %d, at the end %t: %v", o.name, n, r, atEnd, fault)
			}
		}
	}
	eachPath(t, func(t *testing.T) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // for this goroutine
		for _, n := range []int{1, 2, 3, 5, 8, 15, 17, 31, 40, 1023, 1055} {
			for _, o := range vectorOps {
				if o.rows == 0 || n <= o.rows {
					try(t, o, n, 1)
				}
			}
			for _, o := range rowOps {
				for _, r := range []int{1, 3, 4, 5, 8, 13, 30, 61, 64, 130} {
					if n <= pickRows {
						try(t, o, n, r)
					}
				}
			}
		}
	})
}

// TestGuardPagesBlocks does the same for calls that TestGuardPages cannot place: block kernels on float32,
// Gram, and the kernels of whole numbers.
func TestGuardPagesBlocks(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		for _, atEnd := range []bool{false, true} {
			for _, n := range []int{1, 2, 3, 5, 8, 15, chunkLen + 3, farFrom} {
				for _, r := range []int{1, 3, 4, 5, 8, 13, 30, 61} {
					if n == farFrom && r != 8 && r != 61 {
						continue
					}
					place := func(n int) []float64 { return placeGuarded(t, random(1, n), atEnd) }
					const rows, gap = 15, 3
					x, c, s := place(n*r), place(rows*r), place(r*r)
					byRows := placeGuarded(t, make([]float32, (rows-1)*(n+gap)+n), atEnd)
					pairs, packed := NewIntRows(n, r), placeGuarded(t, make([]int32, len(x)), atEnd)
					pairs.x = placeGuarded(t, pairs.x[:pairs.at(n-1, IntStride(r)-1)+1], atEnd)
					byColumns := placeGuarded(t, make([]float32, (n-1)*(rows+gap)+rows), atEnd)
					panel, entries, values := placeGuarded(t, make([]int16, n*PanelColumns), atEnd), placeGuarded(t, make([]int32, r), atEnd), placeGuarded(t, make([]int16, r), atEnd)
					entries[r-1] = int32(n - 1)
					ends := placeGuarded(t, []Span{{0, int32(r)}, {int32(r / 2), int32(r)}, {int32(r - 1), int32(r)}}, atEnd)
					for name, f := range map[string]func(){
						"RowsTimes":      func() { RowsTimes(c, byRows, n+gap, x, r) },
						"AddRowsTimesOn": func() { AddRowsTimesOn(c, 1, byRows, n+gap, x, r, rows*n) },
						"TransTimes":     func() { TransTimes(c, byColumns, rows+gap, x, r) },
						"Gram":           func() { Gram(s, x, r) },
						"GramInts":       func() { GramInts(s, 1, pairs, 0, n, 0, r) },
						"PackInts":       func() { PackInts(packed, x, x, 1) },
						"PanelSquares":   func() { PanelSquares(panel, ends, entries, values) },
					} {
						if fault := panics(f); fault != nil {
							t.Fatalf("%s, n = %d, r = %d, at the end %t: %v", name, n, r, atEnd, fault)
						}
					}
				}
			}
		}
	})
}

// TestGuardPagesGathered does the same for the kernels of many short rows, which fetch ahead what they will
// need, and for other kernels that take float32, indexes or lists.
func TestGuardPagesGathered(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		for _, atEnd := range []bool{false, true} {
			for _, rows := range []int{1, 2, 7, 20} {
				for _, r := range []int{1, 4, 5, 9, 13, 16, 61} {
					const each = 3       // entries a row
					xRows := 1<<16/r + 1 // enough to be fetched ahead
					numbers := func(n int) []float64 { return placeGuarded(t, random(1, n), atEnd) }
					places := func(n int, f func(k int) int) []int32 {
						s := make([]int32, n)
						for k := range s {
							s[k] = int32(f(k))
						}
						return placeGuarded(t, s, atEnd)
					}
					x, z, low, val := numbers(xRows*r), numbers(rows*r), numbers(rows*r), numbers(each*rows)
					narrow := make([]float32, xRows*r)
					roundBoth(narrow, x)
					short, other := placeGuarded(t, narrow[:rows*r], atEnd), placeGuarded(t, narrow[:rows*r], atEnd)
					narrow = placeGuarded(t, narrow, atEnd)
					idx := places(each*rows, func(k int) int { return (k * 4999) % xRows })
					at, from := places(rows, func(k int) int { return k }), places(rows+1, func(k int) int { return each * k })
					cut := places(2*rows+1, func(k int) int { return each * k / 2 })
					few := places(each*rows, func(k int) int { return max(0, k/each-1) })
					lists := placeGuarded(t, []List{{0, 1, 0.5}, {1, int64(len(few)), 2}, {0, int64(len(few)), -1}}, atEnd)
					rowAt := func(shift int) []int64 {
						s := make([]int64, rows)
						for k := range s {
							s[k] = int64(each * (k + shift))
						}
						return placeGuarded(t, s, atEnd)
					}
					starts, stops, ends := rowAt(0), rowAt(0), rowAt(1)
					bounds, above := placeGuarded(t, append(slices.Clone(starts), int64(each*rows)), atEnd), rowAt(0)
					whole := placeGuarded(t, []int64{0, int64(each * rows)}, atEnd)
					first := xRows - each*rows
					last := places(each*rows, func(k int) int { return first + k })
					list := placeGuarded(t, []Rest{{0, 1}, {int64(len(few)), int64(len(few))}}, atEnd)
					near := []PairRow{{Row: 0}, {Row: int32(rows - 1), Entries: 1}}
					for name, f := range map[string]func(){
						"AddGathered":            func() { AddGathered(z, r, at, from, idx, val, x) },
						"GatherEach":             func() { GatherEach(z, r, from, idx, val, x, 0.5) },
						"GatherEach, no values":  func() { GatherEach(z, r, from, idx, nil, x, 0.5) },
						"GatherEach, float32":    func() { GatherEach(z, r, from, idx, val, narrow, 0.5) },
						"GatherSplit":            func() { GatherSplit(z, low, r, cut, idx, val, x, 0.5) },
						"GatherSplit, no values": func() { GatherSplit(z, low, r, cut, idx, nil, x, 0.5) },
						"GatherSplit, float32":   func() { GatherSplit(z, low, r, cut, idx, val, narrow, 0.5) },
						"GatherSpan, float32":    func() { GatherSpan(z, r, starts, stops, ends, last, val, narrow[first*r:], first) },
						"ToFloat64":              func() { ToFloat64(x, narrow) },
						"AdvanceRounded":         func() { AdvanceRounded(z, narrow[:len(z)], low, 0.5, x[:len(z)]) },
						"AdvanceRounded32":       func() { AdvanceRounded(z, other, low, 0.5, short) },
						"ExtrapolateRounded":     func() { ExtrapolateRounded(z, short, 0.5, other, 0) },
						"HashRows":               func() { HashRows(xRows/2, bounds, idx, val, above) },
						"HashRows, no values":    func() { HashRows(xRows/2, bounds, idx, nil, above) },
						"HashRows, one row":      func() { HashRows(0, whole, idx, val, above[:1]); HashRows(0, whole, idx, nil, above[:1]) },
						"Uniform":                func() { Uniform(z, 1, 2); Centered(low, 1, 2) },
						"GradientStep":           func() { GradientStep(z, low, z, r, low[:r], 1) },
						"SumPairs":               func() { SumPairs(z, r, 0, near, cut, few, val) },
						"SumPairs, float32":      func() { SumPairs(short, r, 0, near, cut, few, val) },
						"RowSquares, float32":    func() { RowSquares(short, val[:rows]) },
						"ScatterLists":           func() { ScatterLists(z, lists, few, val) },
						"GatherSpan":             func() { GatherSpan(z, r, starts, stops, ends, last, val, x[first*r:], first) },
						"GatherSpan, no values":  func() { GatherSpan(z, r, starts, stops, ends, last, nil, x[first*r:], first) },
						"Fetch":                  func() { Fetch(z); Fetch(nil) },
						"FetchNext":              func() { FetchNext(list, few, val); FetchNext(list, few, nil); FetchNext(nil, few, val) },
						"SumPairs, no values":    func() { SumPairs(z, r, 0, near, cut, few, nil) },
					} {
						if fault := panics(f); fault != nil {
							t.Fatalf("%s, %d rows, r = %d, at the end %t: %v", name, rows, r, atEnd, fault)
						}
					}
				}
			}
		}
	})
}

// TestGuardPagesColumn does the same for ColumnTiles.
func TestGuardPagesColumn(t *testing.T) {
	eachTiled(t, func(t *testing.T, w int) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		for _, atEnd := range []bool{false, true} {
			for r := 1; r <= 2*w+1; r++ {
				for _, weighted := range []bool{false, true} {
					c := newColumnCase(rand.New(rand.NewPCG(8, uint64(r))), 3*w, r, 5, weighted, true)
					col, one, _ := c.column(1)
					for _, s := range []*[]float64{&col.H, &col.X, &col.D, &col.Diag, &col.RowSq} {
						*s = placeGuarded(t, *s, atEnd)
					}
					val := c.val
					if weighted {
						val = placeGuarded(t, val, atEnd)
					}
					tiles := NewColumnTiles(r, placeGuarded(t, c.ptr, atEnd), placeGuarded(t, c.idx, atEnd), val, c.scale)
					if fault := panics(func() { tiles.Visit(col, one) }); fault != nil {
						t.Fatalf("r = %d, weighted: %t, at the end %t: %v", r, weighted, atEnd, fault)
					}
				}
			}
		}
	})
}
