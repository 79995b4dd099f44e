package matio

import (
	"bytes"
	"io"
	"sync"
)

// Text is parsed in blocks of whole lines, by in.threads goroutines at once, while another goroutine reads
// on. The results are merged in the order of the file, so neither the table nor the first error depends on
// the number of goroutines or the size of a block.

const blockSize = 1 << 17 // bytes of text; small enough for a core's cache, large enough that passing it on costs nothing

// block is a run of lines with the result of parsing them.
type block[P any] struct {
	text   lines
	parsed P
	err    error         // error of parse
	ready  chan struct{} // gets a value when the block has been parsed
	weight int           // number of usual blocks that this one counts as
}

// parseBlocks parses the remaining lines of l. It cuts them into blocks and calls parse for each, in any
// order and from several goroutines. It then calls merge for each block, in the order of the file and one at
// a time, with what parse stored and returned. The first error of merge ends it.
//
// parse must overwrite all of *P, whose memory it may reuse, and knows nothing about other blocks. Where that
// matters, as for every error whose text depends on earlier lines, merge parses the block again, from the
// same lines. Both may use the bytes of the lines until merge returns.
//
// Besides what merge keeps, memory is bounded by 2·threads+1 blocks and their parsed results, or one longer
// line.
func parseBlocks[P any](l *lines, parse func(text *lines, p *P) error, merge func(text *lines, p *P, err error) error) error {
	in := l.in
	run := func(b *block[P]) {
		text := b.text // a copy, so that b.text stays at the beginning
		b.err = parse(&text, &b.parsed)
	}
	if in.threads == 1 {
		b := new(block[P])
		for last := false; !last; {
			last = l.cut(&b.text)
			run(b)
			if err := merge(&b.text, &b.parsed, b.err); err != nil {
				return err
			}
			if len(b.text.buf) > in.blockSize {
				b = new(block[P]) // do not keep a second buffer for long lines
			}
		}
		return nil
	}

	count := 2*in.threads + 1
	free := make(chan *block[P], count) // sends on this and the next two never wait, since each holds all blocks
	work, order := make(chan *block[P], count), make(chan *block[P], count)
	release := func(weight int) {
		for range weight {
			free <- &block[P]{ready: make(chan struct{}, 1), weight: 1}
		}
	}
	release(count)
	take := func() (b *block[P], ok bool) {
		select {
		case b = <-free:
			return b, true
		case <-in.stop:
			return nil, false
		}
	}
	in.group.Go(func() {
		defer close(order)
		defer close(work)
		for last := false; !last; {
			b, ok := take()
			if !ok {
				return
			}
			last = l.cut(&b.text)
			for ; b.weight < min(len(b.text.buf)/in.blockSize, count); b.weight++ {
				if _, ok := take(); !ok {
					return
				}
			}
			order <- b
			work <- b
		}
	})
	for range in.threads {
		in.group.Go(func() {
			for b := range work {
				run(b)
				b.ready <- struct{}{}
			}
		})
	}
	for b := range order {
		<-b.ready
		if err := merge(&b.text, &b.parsed, b.err); err != nil {
			return err
		}
		if b.weight == 1 {
			free <- b
		} else {
			release(b.weight) // and drop the memory of b
		}
	}
	return nil
}

// cut moves lines from l to b, and takes the buffer of b in exchange. It moves as many lines as in.blockSize
// holds, or one longer row. After them b ends with io.EOF. The last block holds the remaining lines and ends
// with the error of l.
func (l *lines) cut(b *lines) (last bool) {
	n := 0 // bytes to move
	for size := l.in.blockSize; n == 0 && !last; size *= 2 {
		for l.err == nil && l.w-l.r < size {
			l.fill()
		}
		if l.w-l.r < size {
			n, last = l.w-l.r, true
		} else {
			n = wholeRows(l.buf[l.r:l.r+size], l.quoted)
		}
	}
	end, spare := l.r+n, b.buf
	*b = lines{in: l.in, buf: l.buf, r: l.r, w: end, n: l.n, err: io.EOF}
	text, rest := l.buf[l.r:end], l.buf[end:l.w]
	l.n += int64(bytes.Count(text, []byte{'\n'}))
	if last {
		b.err = l.err
		if n > 0 && text[n-1] != '\n' {
			l.n++
		}
		return true
	}
	if len(spare) <= len(rest) {
		spare = make([]byte, max(l.in.blockSize, 2*len(rest)))
	}
	l.buf, l.r, l.w = spare, 0, copy(spare, rest)
	return false
}

// wholeRows returns the length of the whole rows at the beginning of text. A row is a line, or several lines
// if quoted fields hold line breaks. The number of quotes before its end is then even.
func wholeRows(text []byte, quoted bool) int {
	quote := []byte{'"'}
	n := bytes.LastIndexByte(text, '\n') + 1
	if !quoted {
		return n
	}
	for quotes := bytes.Count(text[:n], quote); quotes%2 == 1; {
		before := bytes.LastIndexByte(text[:bytes.LastIndexByte(text[:n], '"')], '\n') + 1
		quotes -= bytes.Count(text[before:n], quote)
		n = before
	}
	return n
}

// workers returns the number of goroutines that should share n steps of work in memory.
func (in *input) workers(n int64) int { return int(min(int64(in.threads), 1+n/int64(in.blockSize))) }

// split runs f for each worker w at once, and returns when all have ended.
func split(workers int, f func(w int)) {
	var group sync.WaitGroup
	for w := range workers - 1 {
		group.Go(func() { f(w) })
	}
	f(workers - 1)
	group.Wait()
}
