package kernel

import (
	"sync"
	"sync/atomic"
)

// Blocks cuts [0, n) into blocks of size places each, the last of which may be shorter, and calls f(b, lo,
// hi) for every block b = 0, 1, …, on at most workers goroutines including the calling one. The blocks do not
// depend on workers. So a result that f stores by block, and that the caller combines in order of b, is the
// same for any number of workers.
//
// Blocks returns when all calls have returned. If a call panics, no further calls begin, and once the calls
// under way have returned Blocks panics with the same value. If a call ends a goroutine that Blocks started
// (runtime.Goexit), Blocks panics too.
func Blocks(n, size, workers int, f func(b, lo, hi int)) {
	BlocksWith(n, size, workers, func() struct{} { return struct{}{} }, func(_ struct{}, b, lo, hi int) { f(b, lo, hi) })
}

// BlocksWith is Blocks with scratch space for f: each goroutine makes its own with scratch and passes it to
// all its calls of f. A call finds in it what the goroutine's previous call left there.
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
	for range max(min(workers, count), 1) - 1 {
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
