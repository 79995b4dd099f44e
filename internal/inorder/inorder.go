// Package inorder makes the pieces of a long result on several goroutines and hands them on in order.
package inorder

import (
	"iter"
	"sync"
)

// Do calls fill for each item, on workers goroutines at once, with a room for its result. It then calls take with that
// room, in the order of the items. The calling goroutine draws the items and calls take.
//
// At most 2·workers+1 rooms are made and used again: fill finds in a room what take left there. The first error of take
// ends Do, and so does a panic of take or items; items already drawn are then not taken any more. With one worker the
// calling goroutine does everything. fill must not panic.
func Do[T, R any](workers int, items iter.Seq[T], fill func(item T, room *R), take func(room *R) error) error {
	if workers <= 1 {
		var room R
		for item := range items {
			fill(item, &room)
			if err := take(&room); err != nil {
				return err
			}
		}
		return nil
	}
	type place struct {
		item   T
		room   R
		filled chan struct{}
	}
	places := make([]place, 2*workers+1)
	work := make(chan *place, len(places)) // with room for all places, so that no send blocks
	var group sync.WaitGroup
	defer group.Wait()
	defer close(work)
	for range workers {
		group.Go(func() {
			for p := range work {
				fill(p.item, &p.room)
				p.filled <- struct{}{}
			}
		})
	}
	drawn, taken := 0, 0
	next := func() error {
		p := &places[taken%len(places)]
		taken++
		<-p.filled
		return take(&p.room)
	}
	for item := range items {
		if drawn-taken == len(places) {
			if err := next(); err != nil {
				return err
			}
		}
		p := &places[drawn%len(places)]
		drawn++
		if p.filled == nil {
			p.filled = make(chan struct{}, 1)
		}
		p.item = item
		work <- p
	}
	for taken < drawn {
		if err := next(); err != nil {
			return err
		}
	}
	return nil
}

// UpTo yields the whole numbers below n.
func UpTo(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}
