package kernel

import (
	"sync"
	"sync/atomic"
)

// Blocks calls f(b, lo, hi) for every block b = 0, 1, … of [0, n) cut every size places, on at most workers goroutines,
// the calling one among them. Blocks never depend on workers, so a result that f stores by block and the caller combines
// in order of b is the same for any number of them. It returns when all calls have; where one panics no others begin, and it panics with the same;
// where one ends its goroutine (runtime.Goexit) it panics, too.
func Blocks(n, size, workers int, f func(b, lo, hi int)) {
	BlocksWith(n, size, workers, func() struct{} { return struct{}{} }, func(_ struct{}, b, lo, hi int) { f(b, lo, hi) })
}

// BlocksWith is Blocks with something for f to write on: each goroutine makes its own by scratch and passes it to all its
// calls, so it holds what the last one left.
func BlocksWith[S any](n, size, workers int, scratch func() S, f func(s S, b, lo, hi int)) {
	count := BlockCount(n, size)
	var next atomic.Int64
	work := func() {
		s := scratch()
		for {
			b := int(next.Add(1)) - 1
			if b >= count {
				return
			}
			f(s, b, b*size, b*size+min(size, n-b*size))
		}
	}
	var wg sync.WaitGroup
	var panicked atomic.Pointer[any]
	ended := false
	defer func() {
		next.Store(int64(count))
		wg.Wait()
		if v := panicked.Load(); v != nil && ended {
			panic(*v)
		}
	}()
	for range min(workers, count) - 1 {
		wg.Go(func() {
			done := false
			defer func() {
				if v := recover(); !done {
					if v == nil {
						v = "kernel: runtime.Goexit in a block, whose rows are not done"
					}
					panicked.Store(&v)
					next.Store(int64(count))
				}
			}()
			work()
			done = true
		})
	}
	if count > 0 {
		work()
	}
	ended = true
}

// BlockCount returns the number of blocks that Blocks makes.
func BlockCount(n, size int) int {
	count := n / size
	if n%size > 0 {
		count++
	}
	return count
}
