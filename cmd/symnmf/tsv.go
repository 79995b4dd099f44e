package main

import (
	"bytes"
	"encoding/csv"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"unicode"

	"symnmf/internal/inorder"
)

// tsvLines are lines of fields separated by tabs.
type tsvLines struct {
	text  []byte
	begun bool // the current line has a field
}

func (l *tsvLines) next() {
	if l.begun {
		l.text = append(l.text, '\t')
	}
	l.begun = true
}

func (l *tsvLines) end() { l.text, l.begun = append(l.text, '\n'), false }

// name adds a field, in quotes if it needs them, which is rare.
func (l *tsvLines) name(s string) {
	l.next()
	if s != `\.` && !strings.ContainsAny(s, "\t\"\r\n") && strings.IndexFunc(s, unicode.IsSpace) != 0 {
		l.text = append(l.text, s...)
		return
	}
	var quoted bytes.Buffer
	w := csv.NewWriter(&quoted)
	w.Comma = '\t'
	w.Write([]string{s}) // writing to a buffer does not fail
	w.Flush()
	l.text = append(l.text, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
}

func (l *tsvLines) int(k int) {
	l.next()
	l.text = strconv.AppendInt(l.text, int64(k), 10)
}

// float adds a float64 in the shortest form that reads back equal, or an empty field for NaN.
func (l *tsvLines) float(x float64) {
	l.next()
	if !math.IsNaN(x) {
		l.text = strconv.AppendFloat(l.text, x, 'g', -1, 64)
	}
}

// tsvBatch is the number of lines that a goroutine makes at a time.
const tsvBatch = 1 << 12

// writeTSV writes a header and a line for each of items. The given number of goroutines make the lines by
// calling line. The first error of w ends it.
func writeTSV[T any](w io.Writer, header []string, workers int, items iter.Seq[T], line func(*tsvLines, T)) error {
	var head tsvLines
	for _, name := range header {
		head.name(name)
	}
	head.end()
	if _, err := w.Write(head.text); err != nil {
		return err
	}
	return inorder.Do(workers, batches(items, tsvBatch), func(items []T, lines *tsvLines) {
		lines.text = lines.text[:0]
		for _, item := range items {
			line(lines, item)
			lines.end()
		}
	}, func(lines *tsvLines) error {
		_, err := w.Write(lines.text)
		return err
	})
}

// batches yields items in slices of the given size; the last may be shorter.
func batches[T any](items iter.Seq[T], size int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		var batch []T
		for item := range items {
			if batch = append(batch, item); len(batch) == size {
				if !yield(batch) {
					return
				}
				batch = make([]T, 0, size)
			}
		}
		if len(batch) > 0 {
			yield(batch)
		}
	}
}
