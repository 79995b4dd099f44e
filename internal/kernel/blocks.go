package kernel

import (
	"sync"
	"sync/atomic"
)

// Blocks calls f(b, lo, hi) for every block b = 0, 1, … of [0, n) cut every size places, on at most workers goroutines
// besides none: the calling one works too. Blocks never depend on workers, so a result that f stores by block and the
// caller combines in order of b is the same for any number of them. It returns when all calls have.
func Blocks(n, size, workers int, f func(b, lo, hi int)) {
	if n <= 0 {
		return
	}
	count := (n + size - 1) / size
	var next atomic.Int64
	work := func() {
		for {
			b := int(next.Add(1)) - 1
			if b >= count {
				return
			}
			f(b, b*size, min((b+1)*size, n))
		}
	}
	var wg sync.WaitGroup
	for range min(workers, count) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}

// BlockCount returns the number of blocks that Blocks makes.
func BlockCount(n, size int) int { return (n + size - 1) / size }
