package inorder

import (
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// TestDo: every item drawn is taken once and in order, however long each takes, and few rooms are made.
func TestDo(t *testing.T) {
	for _, workers := range []int{-1, 0, 1, 2, 3, 8} {
		for _, n := range []int{0, 1, 2, 5, 300} {
			var want, got []int
			for i := range n {
				want = append(want, 3*i)
			}
			type room struct {
				value int
				known bool
			}
			var rooms atomic.Int32
			err := Do(workers, UpTo(n), func(i int, r *room) {
				if !r.known {
					rooms.Add(1)
				}
				if i%7 == 0 { // other items overtake it
					for range 100 {
						runtime.Gosched()
					}
				}
				*r = room{3 * i, true}
			}, func(r *room) error {
				got = append(got, r.value)
				return nil
			})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%d workers, %d items: %v, %v", workers, n, got, err)
			}
			if most := 2*max(workers, 0) + 1; int(rooms.Load()) > most {
				t.Errorf("%d workers, %d items: %d rooms, want at most %d", workers, n, rooms.Load(), most)
			}
		}
	}
}

// TestDoFails: after an error nothing more is taken, and few items are drawn.
func TestDoFails(t *testing.T) {
	broken := errors.New("broken")
	for _, workers := range []int{1, 2, 5} {
		for _, last := range []int{0, 1, 40} {
			drawn, taken := 0, 0
			items := func(yield func(int) bool) {
				for i := range UpTo(1000) {
					if drawn++; !yield(i) {
						return
					}
				}
			}
			err := Do(workers, items, func(i int, room *int) { *room = i }, func(room *int) error {
				if taken++; *room == last {
					return broken
				}
				return nil
			})
			if err != broken || taken != last+1 || drawn > last+2*(2*workers+1)+1 {
				t.Errorf("%d workers, error at %d: %v, %d taken, %d drawn", workers, last, err, taken, drawn)
			}
		}
	}
}

// TestDoPanics: a panic in a function of the caller reaches the caller, and so does the end of its goroutine. No
// goroutine is left behind.
func TestDoPanics(t *testing.T) {
	before := runtime.NumGoroutine()
	items := func(yield func(int) bool) {
		for i := range 100 {
			if i == 50 {
				panic("items")
			}
			if !yield(i) {
				return
			}
		}
	}
	for _, workers := range []int{1, 3} {
		for _, c := range []struct {
			items iter.Seq[int]
			take  func(*int) error
			want  any
		}{
			{UpTo(100), func(*int) error { panic("take") }, "take"},
			{items, func(*int) error { return nil }, "items"},
			{UpTo(100), func(*int) error { runtime.Goexit(); return nil }, nil},
		} {
			ended := make(chan any)
			go func() {
				defer func() { ended <- recover() }()
				Do(workers, c.items, func(i int, room *int) { *room = i }, c.take)
			}()
			if got := <-ended; got != c.want {
				t.Errorf("%d workers: %v, want %v", workers, got, c.want)
			}
		}
	}
	for k := 0; runtime.NumGoroutine() > before; k++ {
		if k == 1000 {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		time.Sleep(time.Millisecond)
	}
}
