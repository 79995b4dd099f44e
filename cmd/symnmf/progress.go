package main

import (
	"fmt"
	"time"

	"symnmf"
)

// progress tells how far a run is: on a terminal in one line that is rewritten, else in plain lines far apart.
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

func (p *progress) show(now symnmf.Progress) {
	every := plainEvery
	if p.moving {
		every = movingEvery
	}
	if p.silent || time.Since(p.last) < every {
		return
	}
	p.last = time.Now()
	line := fmt.Sprintf("sweep %d, %s, error %s, KKT about %.1e", now.Sweep, showTime(now.Elapsed), percent(now.RelErr), now.KKT)
	if now.Runs > 1 {
		line = fmt.Sprintf("run %d of %d, %s", now.Run, now.Runs, line)
	}
	if p.moving {
		fmt.Fprintf(p.s.err, "\r\x1b[K%s", line)
	} else {
		fmt.Fprintln(p.s.err, line)
	}
}

// done takes the moving line away.
func (p *progress) done() {
	if p.moving && !p.silent {
		fmt.Fprint(p.s.err, "\r\x1b[K")
	}
}
