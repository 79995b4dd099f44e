package main

import (
	"fmt"
	"time"

	"symnmf"
)

// progress shows how far a run is: on a terminal in one line that is rewritten, otherwise in plain lines at
// longer intervals.
type progress struct {
	s      *streams
	moving bool
	silent bool
	last   time.Time // of the last line
}

const (
	movingEvery = 100 * time.Millisecond
	plainEvery  = 10 * time.Second
)

func newProgress(s *streams, f *fitFlags) *progress {
	return &progress{s: s, moving: s.live && !f.still, silent: f.quiet, last: time.Now()}
}

// due reports whether it is time for another line. If so, it counts the line as written.
func (p *progress) due() bool {
	every := plainEvery
	if p.moving {
		every = movingEvery
	}
	if p.silent || time.Since(p.last) < every {
		return false
	}
	p.last = time.Now()
	return true
}

// put writes a line.
func (p *progress) put(line string) {
	if p.moving {
		fmt.Fprintf(p.s.err, "\r\x1b[K%s", line)
	} else {
		fmt.Fprintln(p.s.err, line)
	}
}

func (p *progress) show(now symnmf.Progress) {
	if !p.due() {
		return
	}
	line := fmt.Sprintf("sweep %d, %s, error %s, KKT about %.1e", now.Sweep, showTime(now.Elapsed), percent(now.RelErr), now.KKT)
	if now.Kick > 0 {
		line = fmt.Sprintf("kick %d, %s", now.Kick, line)
	}
	if now.Runs > 1 {
		line = fmt.Sprintf("run %d of %d, %s", now.Run, now.Runs, line)
	}
	p.put(line)
}

// done erases the moving line.
func (p *progress) done() {
	if p.moving && !p.silent {
		fmt.Fprint(p.s.err, "\r\x1b[K")
	}
}
