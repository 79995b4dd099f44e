package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"symnmf"
	"symnmf/cluster"
	"symnmf/internal/demo"
	"symnmf/internal/experiment"
	"symnmf/internal/replace"
	"symnmf/matio"
	"symnmf/matrix"
)

// The exit codes. That of a signal is 128 plus its number.
const (
	exitOK           = 0
	exitFailure      = 1
	exitUsage        = 2
	exitInput        = 3
	exitNotConverged = 4
	exitMemory       = 5
)

// usageError is a mistake in the command line, of the given command.
type usageError struct {
	msg     string
	command *cobra.Command // nil: the hint is left out
}

func (e usageError) Error() string { return e.msg }

func usagef(format string, args ...any) error { return usageError{msg: fmt.Sprintf(format, args...)} }

// inputError is a mistake in the data.
type inputError struct{ error }

func inputf(format string, args ...any) error { return inputError{fmt.Errorf(format, args...)} }

// signalError says which signal ended the work. The answer so far has been written.
type signalError struct{ syscall.Signal }

func (e signalError) Error() string {
	switch e.Signal {
	case syscall.SIGTERM:
		return "terminated"
	case syscall.SIGHUP:
		return "the terminal was closed"
	}
	return "interrupted"
}

// orSignal returns err, or, if err is not nil and a signal has ended ctx, that signal.
func orSignal(ctx context.Context, err error) error {
	var sig signalError
	if err != nil && errors.As(context.Cause(ctx), &sig) {
		return sig
	}
	return err
}

var (
	errNotConverged = errors.New("not converged")
	errMemory       = errors.New("would exceed the memory limit")
)

// exitCode returns the exit code for an error. It is the only place that decides it.
func exitCode(err error) int {
	var usage usageError
	var input inputError
	var sig signalError
	is := func(targets ...error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
	switch {
	case err == nil, is(syscall.EPIPE): // the reader of the pipe has read enough
		return exitOK
	case errors.As(err, &sig):
		return 128 + int(sig.Signal)
	case errors.As(err, &usage), is(symnmf.ErrOption, symnmf.ErrRank, matio.ErrUnknownFormat, demo.ErrUnknown, experiment.ErrOther,
		matrix.ErrResistance):
		return exitUsage
	case errors.As(err, &input), is(matio.ErrFormat, matio.ErrUnfit, matrix.ErrNotFinite, matrix.ErrNotSquare, matrix.ErrAsymmetric,
		matrix.ErrRange, symnmf.ErrNegative, symnmf.ErrEmpty, symnmf.ErrStart, symnmf.ErrUnfit, cluster.ErrLabels, cluster.ErrGraph,
		experiment.ErrPlan, experiment.ErrRecords):
		return exitInput
	case is(errMemory, matio.ErrTooLarge):
		return exitMemory
	case is(errNotConverged):
		return exitNotConverged
	}
	return exitFailure
}

// finish returns the exit code for err and, unless that is 0, prints the message of err.
func (s *streams) finish(err error) int {
	code := exitCode(err)
	if code == exitOK {
		return code
	}
	msg := err.Error()
	for _, pkg := range []string{"symnmf: ", "matio: ", "matrix: ", "cluster: ", "demo: ", "experiment: "} {
		msg = strings.ReplaceAll(strings.TrimPrefix(msg, pkg), ": "+pkg, ": ")
	}
	fmt.Fprintf(s.err, "%s %s\n", s.paint("symnmf:", red), harmless(msg))
	var usage usageError
	if errors.As(err, &usage) && usage.command != nil {
		fmt.Fprintf(s.err, "for help: %s --help\n", usage.command.CommandPath())
	}
	return code
}

// warn prints a warning.
func (s *streams) warn(msg string) {
	fmt.Fprintf(s.err, "%s %s\n", s.paint("warning:", yellow), harmless(msg))
}

// harmless returns text with control characters other than line breaks and tabs written as \x1b, since a terminal obeys
// those that the name of a file may have.
func harmless(text string) string {
	var b strings.Builder
	for _, c := range text {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			fmt.Fprintf(&b, `\x%02x`, c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

const red, yellow = "31", "33" // ANSI foreground colors

func (s *streams) paint(text, color string) string {
	if !s.ansi {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// catchSignals returns a context that ends at the first SIGINT, SIGTERM or SIGHUP (the terminal was closed),
// with a signalError as its cause.
//
// A later SIGINT or SIGTERM removes unfinished files and ends the process at once, unless it comes within
// sameSignal of the first: timeout(1) sends each signal to the process and then to its group. A later SIGHUP has
// no effect, since a terminal and its shell each send one. Where a signal has come, release waits until sameSignal
// is over. Before this call and after release a signal ends the process as usual, except SIGHUP after a first
// SIGHUP. A process that was started to ignore SIGHUP, as by nohup, goes on ignoring it.
func catchSignals() (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	caught := notified()
	released, done := make(chan struct{}), make(chan struct{})
	var first time.Time // when a signal came; read after done
	go func() {
		defer close(done)
		for {
			select {
			case s := <-caught:
				sig := s.(syscall.Signal)
				switch {
				case first.IsZero():
					first = time.Now()
					cancel(signalError{sig})
				case sig != syscall.SIGHUP && time.Since(first) > sameSignal:
					dieOf(sig)
				}
			case <-released:
				return
			}
		}
	}()
	return ctx, sync.OnceFunc(func() {
		close(released)
		<-done
		if !first.IsZero() { // what is still to come of it must not end the process
			time.Sleep(sameSignal - time.Since(first))
		}
		if sig := (signalError{}); errors.As(context.Cause(ctx), &sig) && sig.Signal == syscall.SIGHUP {
			signal.Ignore(syscall.SIGHUP) // that of the shell may still come before the answer is printed
		}
		signal.Stop(caught)
		cancel(nil)
	})
}

// sameSignal is less than the time that anybody takes to press a key again, and more than one process takes to send a
// signal twice.
const sameSignal = 100 * time.Millisecond

// notified returns a channel of the signals that end a process.
func notified() chan os.Signal {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(caught, syscall.SIGHUP)
	}
	return caught
}

// dieClean lets a signal end the process as usual, but without what is unfinished, until stop is called.
func dieClean() (stop func()) {
	caught, stopped := notified(), make(chan struct{})
	go func() {
		select {
		case s := <-caught:
			dieOf(s.(syscall.Signal))
		case <-stopped:
		}
	}()
	return sync.OnceFunc(func() {
		signal.Stop(caught)
		close(stopped)
	})
}

// dieOf removes unfinished files and ends the process by the signal or, if the process was started to ignore
// that, with its exit code.
func dieOf(sig syscall.Signal) {
	unfinished.Lock() // for good
	replace.RemoveAll()
	for dir := range unfinished.dirs { // in which no file can begin any more
		os.RemoveAll(dir)
	}
	for _, made := range unfinished.made {
		removeEmpty(made)
	}
	signal.Reset(sig)
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(sig) == nil {
		time.Sleep(time.Second) // for the signal to arrive
	}
	os.Exit(exitCode(signalError{sig}))
}

// unfinished holds the directories of files that do not have their final names yet, and for each directory of a run
// those that were made for it. The files are renamed under the lock, so when dieOf ends the process either all of them
// have their names or none.
var unfinished = struct {
	sync.Mutex
	dirs map[string]bool
	made map[string][]string // inner ones first
}{dirs: map[string]bool{}, made: map[string][]string{}}

// makeAside makes a directory for unfinished files inside dir. remove deletes it.
func makeAside(dir string) (aside string, remove func(), err error) {
	unfinished.Lock()
	defer unfinished.Unlock()
	if aside, err = os.MkdirTemp(dir, ".symnmf-*"); err != nil {
		return "", nil, err
	}
	unfinished.dirs[aside] = true
	return aside, func() {
		os.RemoveAll(aside)
		unfinished.Lock()
		delete(unfinished.dirs, aside)
		unfinished.Unlock()
	}, nil
}

// openFile opens a file that the user named as input. A failure counts as bad input.
func openFile(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, inputf("%s: %w", name, reason(err))
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, inputf("%s: is a directory", name)
	}
	return f, nil
}

// reason returns the error of the system, without the operation and the file names that package os adds.
func reason(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// cannotWrite replaces the name of a temporary file in an error of the system by that of the file. It keeps
// other errors.
func cannotWrite(name string, err error) error {
	if why := reason(err); why != err {
		return fmt.Errorf("cannot write %s: %w", name, why)
	}
	return err
}
