package kernel

import (
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestBlocks checks that the blocks cover [0, n) exactly once, with bounds that do not depend on the number
// of workers, and that BlocksWith makes scratch space for at most that many goroutines.
func TestBlocks(t *testing.T) {
	for _, n := range []int{-1, 0, 1, 5, 6, 7, 100} {
		for _, size := range []int{1, 3, 6, 200} {
			for _, workers := range []int{math.MinInt, 0, 1, 2, 7, 300} {
				var mu sync.Mutex
				seen := make([]int, max(0, n))
				calls := make(map[int]bool)
				made := 0
				scratch := func() *int {
					mu.Lock()
					defer mu.Unlock()
					made++
					return new(int)
				}
				BlocksWith(n, size, workers, scratch, func(own *int, b, lo, hi int) {
					*own++ // a race unless it is this goroutine's alone
					mu.Lock()
					defer mu.Unlock()
					if lo != b*size || hi != min(n, lo+size) || hi <= lo || calls[b] {
						t.Errorf("n = %d, size %d, %d workers: block %d is [%d, %d), called before: %t", n, size, workers, b, lo, hi, calls[b])
					}
					calls[b] = true
					for i := lo; i < hi; i++ {
						seen[i]++
					}
				})
				if most := max(1, workers); made > most {
					t.Errorf("n = %d, size %d: %d goroutines, want at most %d", n, size, made, most)
				}
				for i, times := range seen {
					if times != 1 {
						t.Fatalf("n = %d, size %d, %d workers: place %d is in %d blocks, want 1", n, size, workers, i, times)
					}
				}
				if len(calls) != max(0, BlockCount(n, size)) {
					t.Errorf("n = %d, size %d, %d workers: %d blocks, BlockCount says %d", n, size, workers, len(calls), BlockCount(n, size))
				}
			}
		}
	}
}

// TestBlockCountOfMost checks that neither BlockCount nor Blocks overflows for the largest n.
func TestBlockCountOfMost(t *testing.T) {
	for size, want := range map[int]int{1: math.MaxInt, 2: math.MaxInt/2 + 1, 1 << 14: math.MaxInt>>14 + 1, math.MaxInt: 1} {
		if got := BlockCount(math.MaxInt, size); got != want {
			t.Errorf("size %d: %d blocks, want %d", size, got, want)
		}
	}
	last := 0
	Blocks(math.MaxInt, math.MaxInt-1, 1, func(_, lo, hi int) {
		if lo != last || hi <= lo {
			t.Errorf("a block from %d to %d follows one that ends at %d", lo, hi, last)
		}
		last = hi
	})
	if last != math.MaxInt {
		t.Errorf("the last block ends at %d, want the largest int", last)
	}
}

// TestBlocksPanic: whichever block's call panics, Blocks panics with the same value, and by then no other
// call is running.
func TestBlocksPanic(t *testing.T) {
	for at := range 200 {
		var running atomic.Int64
		got := func() (v any) {
			defer func() { v = recover() }()
			Blocks(1000, 1, 4, func(b, _, _ int) {
				running.Add(1)
				defer running.Add(-1)
				if b == at {
					panic(at)
				}
				runtime.Gosched()
			})
			return "none"
		}()
		if got != at || running.Load() != 0 {
			t.Fatalf("block %d: Blocks panicked with %v while %d calls were running", at, got, running.Load())
		}
	}
}

// TestBlocksPanicStops: once a call has panicked, other goroutines soon begin no more.
func TestBlocksPanicStops(t *testing.T) {
	goroutine := func() string {
		line, _, _ := strings.Cut(string(debug.Stack()), "\n")
		return line
	}
	const blocks = 1 << 14
	caller := goroutine()
	var begun sync.WaitGroup
	begun.Add(2)
	var calls atomic.Int64
	got := panics(func() {
		Blocks(blocks, 1, 2, func(_, _, _ int) {
			if calls.Add(1) <= 2 {
				begun.Done()
				begun.Wait() // until each of the two goroutines has a block
				if goroutine() != caller {
					panic("mine")
				}
			}
			runtime.Gosched() // for as long as the other one needs
		})
	})
	if got != "mine" || calls.Load() == blocks {
		t.Errorf("Blocks panicked with %v after %d calls, want fewer than %d", got, calls.Load(), blocks)
	}
}

// TestBlocksGoexit: if a call ends a goroutine that Blocks started (runtime.Goexit), rows are left undone, so
// Blocks panics instead of returning.
func TestBlocksGoexit(t *testing.T) {
	goroutine := func() string {
		line, _, _ := strings.Cut(string(debug.Stack()), "\n")
		return line
	}
	caller := goroutine()
	var begun sync.WaitGroup
	begun.Add(2)
	defer func() {
		if v, _ := recover().(string); !strings.Contains(v, "Goexit") {
			t.Errorf("Blocks panicked with %q, want a message about Goexit", v)
		}
	}()
	Blocks(2, 1, 2, func(_, _, _ int) {
		begun.Done()
		begun.Wait() // until each of the two goroutines has a block
		if goroutine() != caller {
			runtime.Goexit()
		}
	})
	t.Error("Blocks returned, want a panic")
}
