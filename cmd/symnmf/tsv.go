package main

import (
	"bytes"
	"encoding/csv"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
)

// tsvLines are lines of fields separated by tabs.
type tsvLines struct {
	text  []byte
	begun bool // the line at hand has a field
}

func (l *tsvLines) next() {
	if l.begun {
		l.text = append(l.text, '\t')
	}
	l.begun = true
}

func (l *tsvLines) end() { l.text, l.begun = append(l.text, '\n'), false }

// name adds a field, in quotes in the rare case that it needs them.
func (l *tsvLines) name(s string) {
	l.next()
	if s != `\.` && !strings.ContainsAny(s, "\t\"\r\n") && strings.IndexFunc(s, unicode.IsSpace) != 0 {
		l.text = append(l.text, s...)
		return
	}
	var quoted bytes.Buffer
	w := csv.NewWriter(&quoted)
	w.Comma = '\t'
	w.Write([]string{s}) // a buffer takes all
	w.Flush()
	l.text = append(l.text, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
}

func (l *tsvLines) int(k int) {
	l.next()
	l.text = strconv.AppendInt(l.text, int64(k), 10)
}

// float adds a float64 in the shortest form that reads back equal; nothing for NaN.
func (l *tsvLines) float(x float64) {
	l.next()
	if !math.IsNaN(x) {
		l.text = strconv.AppendFloat(l.text, x, 'g', -1, 64)
	}
}

// upTo yields the whole numbers below n.
func upTo(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// tsvBatch is how many lines a goroutine makes at a time.
const tsvBatch = 1 << 12

// writeTSV writes a header and a line for each of items, which as many goroutines as workers make with line. The first error of w
// ends it.
func writeTSV[T any](w io.Writer, header []string, workers int, items iter.Seq[T], line func(*tsvLines, T)) error {
	type batch struct {
		items []T
		lines tsvLines
		made  chan struct{}
	}
	count := 2*workers + 1
	free, work, order := make(chan *batch, count), make(chan *batch, count), make(chan *batch, count) // with room for all: no send waits
	for range count {
		free <- &batch{made: make(chan struct{}, 1)}
	}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for b := range work {
				b.lines.text = b.lines.text[:0]
				for _, item := range b.items {
					line(&b.lines, item)
					b.lines.end()
				}
				b.made <- struct{}{}
			}
		})
	}
	var head tsvLines
	for _, name := range header {
		head.name(name)
	}
	head.end()
	_, err := w.Write(head.text)
	var failed atomic.Bool
	failed.Store(err != nil)
	group.Go(func() {
		for b := range order {
			<-b.made
			if err == nil {
				_, err = w.Write(b.lines.text)
				failed.Store(err != nil)
			}
			b.items = b.items[:0]
			free <- b
		}
	})
	b := <-free
	for item := range items {
		if failed.Load() {
			break
		}
		if b.items = append(b.items, item); len(b.items) == tsvBatch {
			order <- b
			work <- b
			b = <-free
		}
	}
	order <- b
	work <- b
	close(order)
	close(work)
	group.Wait()
	return err
}
