// Package inorder makes pieces of something long on several goroutines and hands them on in their order.
package inorder

import (
	"iter"
	"sync"
	"sync/atomic"
)

// Do draws items, calls fill for each with room for what it makes of it, on workers goroutines at once, and then take with that room, in
// the order of the items and one at a time. No more than 2·workers+1 rooms are made; fill finds in one what take left in it. The first error of
// take ends it: of the items drawn by then no more are taken. One worker means the calling goroutine alone.
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
	count := 2*workers + 1
	free, work, order := make(chan *place, count), make(chan *place, count), make(chan *place, count) // with room for all: no send waits
	for range count {
		free <- &place{filled: make(chan struct{}, 1)}
	}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for p := range work {
				fill(p.item, &p.room)
				p.filled <- struct{}{}
			}
		})
	}
	var err error
	var failed atomic.Bool
	group.Go(func() {
		for p := range order {
			<-p.filled
			if err == nil {
				err = take(&p.room)
				failed.Store(err != nil)
			}
			free <- p
		}
	})
	for item := range items {
		p := <-free
		if failed.Load() {
			break
		}
		p.item = item
		order <- p
		work <- p
	}
	close(order)
	close(work)
	group.Wait()
	return err
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
