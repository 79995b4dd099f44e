//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// child runs the program in a process of its own.
func child(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command("symnmf", args...) // TestMain has put symnmf in the path
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	return exitOf(t, cmd.Run()), out.String(), err.String()
}

// exitOf returns the exit code, or minus the number of the signal that ended the process.
func exitOf(t *testing.T, err error) int {
	t.Helper()
	var failed *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &failed):
		t.Fatal(err)
	}
	if status := failed.Sys().(syscall.WaitStatus); status.Signaled() {
		return -int(status.Signal())
	}
	return failed.ExitCode()
}

// startEndless starts a fit that only a signal ends and waits until it is factoring. rest is what it writes
// to standard error from then on.
func startEndless(t *testing.T, stdout io.Writer, args ...string) (cmd *exec.Cmd, rest *bufio.Reader) {
	t.Helper()
	cmd = exec.Command("symnmf", append([]string{"fit", "demo:digits", "-k", "20", "--tol", "0", "--max-sweeps", "0", "--time-limit", "1h", "-v"}, args...)...)
	cmd.Stdout = stdout
	return cmd, startUntil(t, cmd, "factoring:")
}

// startUntil starts cmd and waits until it writes a line that begins with begins to standard error. rest is
// what it writes there afterwards.
func startUntil(t *testing.T, cmd *exec.Cmd, begins string) (rest *bufio.Reader) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	rest = bufio.NewReader(stderr)
	for {
		line, err := rest.ReadString('\n')
		if err != nil {
			t.Fatalf("no line begins with %s: %v", begins, err)
		}
		if strings.HasPrefix(line, begins) {
			return rest
		}
	}
}

// TestSignals: after SIGINT, SIGTERM or SIGHUP the answer found so far is written in full to all five files,
// and the exit code and the last line of standard error tell the signal.
func TestSignals(t *testing.T) {
	for _, tc := range []struct {
		sig  syscall.Signal
		code int
		says string
	}{
		{syscall.SIGINT, 130, "symnmf: interrupted\n"}, {syscall.SIGTERM, 143, "symnmf: terminated\n"},
		{syscall.SIGHUP, 129, "symnmf: the terminal was closed\n"},
	} {
		if signal.Ignored(tc.sig) {
			t.Logf("%v is ignored in this environment, so it is not tested", tc.sig)
			continue
		}
		dir := filepath.Join(t.TempDir(), "out")
		var stdout bytes.Buffer
		cmd, rest := startEndless(t, &stdout, "-o", dir)
		if err := cmd.Process.Signal(tc.sig); err != nil {
			t.Fatal(err)
		}
		stderr, err := io.ReadAll(rest)
		if err != nil {
			t.Fatal(err)
		}
		if code := exitOf(t, cmd.Wait()); code != tc.code {
			t.Errorf("%v: exit code %d, want %d", tc.sig, code, tc.code)
		}
		if !strings.Contains(string(stderr), "interrupted: ") || !strings.HasSuffix(string(stderr), tc.says) {
			t.Errorf("%v: standard error is %q", tc.sig, stderr)
		}
		var rec record
		text, err := os.ReadFile(filepath.Join(dir, "run.json"))
		if err == nil {
			err = json.Unmarshal(text, &rec)
		}
		if err != nil || rec.Status != "interrupted" || len(rec.Runs) != 1 {
			t.Errorf("%v: run.json: %v, want status interrupted and one run: %s", tc.sig, err, text)
		}
		if lines := readTSV(t, filepath.Join(dir, "clusters.tsv"), '\t'); len(lines) != 1798 {
			t.Errorf("%v: %d lines of clusters, want 1798", tc.sig, len(lines))
		}
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != 5 {
			t.Errorf("%v: files %v, %v, want 5", tc.sig, files, err)
		}
	}
}

// TestHangups: a second SIGHUP does not end the process, since a terminal and its shell may each send one.
// After release SIGHUP is ignored.
func TestHangups(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("SIGHUP is ignored in this environment")
	}
	ctx, release := catchSignals()
	seen := make(chan os.Signal, 1)
	signal.Notify(seen, syscall.SIGHUP)
	defer signal.Stop(seen)
	for range 2 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		<-seen
	}
	<-ctx.Done()
	release()
	defer signal.Reset(syscall.SIGHUP)
	if sig := (signalError{}); !errors.As(context.Cause(ctx), &sig) || sig.Signal != syscall.SIGHUP {
		t.Errorf("the context was ended by %v, want SIGHUP", context.Cause(ctx))
	}
	if !signal.Ignored(syscall.SIGHUP) {
		t.Error("SIGHUP is not ignored after release: it would end the process while it prints")
	}
}

// TestTwiceAtOnce: a signal that comes twice at once, as timeout sends it, does not end the process; it does once some
// time has passed. The process that the second one ends is this test, run again.
func TestTwiceAtOnce(t *testing.T) {
	if dir := os.Getenv(dying); dir != "" {
		ctx, release := catchSignals()
		defer release()
		seen := make(chan os.Signal, 1)
		signal.Notify(seen, syscall.SIGINT)
		send := func() {
			syscall.Kill(os.Getpid(), syscall.SIGINT)
			<-seen
		}
		send()
		<-ctx.Done()
		send()
		send()
		os.WriteFile(filepath.Join(dir, "alive"), nil, 0o600)
		for range 100 {
			time.Sleep(2 * sameSignal)
			send()
		}
	}
	if files := left(t, syscall.SIGINT); len(files) != 1 {
		t.Errorf("the directory holds %v, want that the process lives on after the second signal", files)
	}
}

// TestNohup: a process that was started with SIGHUP ignored goes on ignoring it, so it outlives its terminal.
// SIGTERM still ends it.
func TestNohup(t *testing.T) {
	cmd := exec.Command("sh", "-c", `trap "" HUP; exec symnmf fit demo:digits -k 20 --tol 0 --max-sweeps 0 --time-limit 1h -v --bound=no`)
	rest := startUntil(t, cmd, "factoring:")
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.Copy(io.Discard, rest); err != nil {
		t.Fatal(err)
	}
	if code := exitOf(t, cmd.Wait()); code != 143 {
		t.Errorf("exit code %d, want that of SIGTERM", code)
	}
}

// TestSignalWhileDrawing: a signal that comes while bench draws tables or a report leaves no files behind.
func TestSignalWhileDrawing(t *testing.T) {
	records := filepath.Join("..", "..", "bench", "runs", "2026-11-22-quick")
	for _, tc := range []struct {
		sig  syscall.Signal
		code int
		args []string // args[4] is relative to the output directory
		into string   // where unfinished files are
	}{
		{syscall.SIGINT, 130, []string{"bench", "tables", records, "-o", "drawn"}, "drawn"},
		{syscall.SIGTERM, 143, []string{"bench", "tables", records, "-o", "."}, "."},
		{syscall.SIGINT, 130, []string{"bench", "report", records, "-o", "page.html"}, "."},
	} {
		code := 0
		for try := 0; code == 0 && try < 100; try++ { // until the signal comes before the end
			dir := t.TempDir()
			args := slices.Clone(tc.args)
			args[4] = filepath.Join(dir, args[4])
			cmd := exec.Command("symnmf", args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { cmd.Process.Kill() })
			deadline := time.Now().Add(time.Minute)
			for begun := false; !begun && time.Now().Before(deadline); time.Sleep(200 * time.Microsecond) {
				files, _ := os.ReadDir(filepath.Join(dir, tc.into))
				begun = slices.ContainsFunc(files, func(f os.DirEntry) bool {
					return strings.HasSuffix(f.Name(), ".tmp") || f.IsDir() || !strings.HasPrefix(f.Name(), ".symnmf-")
				})
			}
			if err := cmd.Process.Signal(tc.sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			code = exitOf(t, cmd.Wait())
			if files, err := os.ReadDir(dir); code != 0 && (err != nil || len(files) > 0) {
				t.Errorf("%v: left behind: %v, %v", tc.args, files, err)
			}
		}
		if code != tc.code {
			t.Errorf("%v: exit code %d, want %d", tc.args, code, tc.code)
		}
	}
}

// TestSignalToSimilarity: a signal to similarity leaves the file that it was about to replace unchanged, and
// no other file beside it.
func TestSignalToSimilarity(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.npz")
	if err := os.WriteFile(out, []byte("before"), 0o666); err != nil {
		t.Fatal(err)
	}
	ring := filepath.Join(t.TempDir(), "ring.edges") // its Laplacian systems take thousands of steps
	var edges bytes.Buffer
	for i := range 20000 {
		fmt.Fprintf(&edges, "%d %d\n", i, (i+1)%20000)
	}
	if err := os.WriteFile(ring, edges.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		sig  syscall.Signal
		code int
		says string
	}{{syscall.SIGINT, 130, "symnmf: interrupted\n"}, {syscall.SIGTERM, 143, "symnmf: terminated\n"}} {
		cmd := exec.Command("symnmf", "similarity", ring, "--resistance", "0.5", "-o", out, "-v")
		rest := startUntil(t, cmd, "choosing edges: n = 20000, ")
		if err := cmd.Process.Signal(tc.sig); err != nil {
			t.Fatal(err)
		}
		says, err := io.ReadAll(rest)
		if err != nil {
			t.Fatal(err)
		}
		if code := exitOf(t, cmd.Wait()); code != tc.code || string(says) != tc.says {
			t.Errorf("%v: exit code %d, want %d; standard error is %q", tc.sig, code, tc.code, says)
		}
		files, err := os.ReadDir(dir)
		text, _ := os.ReadFile(out)
		if err != nil || len(files) != 1 || string(text) != "before" {
			t.Errorf("%v: files %v, %v, content %q, want out.npz alone, unchanged", tc.sig, files, err, text)
		}
	}
}

// TestSignalWhileSimilarityPrints: SIGTERM ends similarity even while it waits to write to a pipe that nobody
// reads anymore.
func TestSignalWhileSimilarityPrints(t *testing.T) {
	cmd := exec.Command("symnmf", "similarity", "demo:digits", "--threshold", "1", "-o", "-", "--to", "csv")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	if _, err := io.ReadFull(stdout, make([]byte, 1000)); err != nil { // it is printing, with some 10 MB left
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if code := exitOf(t, err); code != -int(syscall.SIGTERM) && code != 143 {
			t.Errorf("exit code %d, want 143 or death by SIGTERM", code)
		}
	case <-time.After(time.Minute):
		t.Error("the process is still running a minute after SIGTERM")
	}
}

// TestSecondSignal: a second signal ends the process at once, here while it writes H to a pipe that nobody
// reads. Its temporary files are gone.
func TestSecondSignal(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "H.npy")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, rest := startEndless(t, nil, "-o", dir, "--force")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	unread, err := os.Open(pipe) // returns when the process opens it too
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	time.Sleep(2 * sameSignal)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, rest); err != nil {
		t.Fatal(err)
	}
	if code := exitOf(t, cmd.Wait()); code != -int(syscall.SIGINT) {
		t.Errorf("exit code %d, want the signal %d", code, syscall.SIGINT)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("the directory holds %v, %v, want the pipe alone", files, err)
	}
}

// dying is where a test runs again in a process of its own, which a signal then ends.
const dying = "SYMNMF_TEST_DIES_IN"

// left runs the test again with a directory named by dying, and returns what is left there once the signal has ended
// the process.
func left(t *testing.T, sig syscall.Signal) []os.DirEntry {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), dying+"="+dir)
	text, err := cmd.CombinedOutput()
	if code := exitOf(t, err); code != -int(sig) {
		t.Errorf("exit code %d, want the signal %d: %s", code, sig, text)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestDieOf: a process that a second signal ends while it writes a file leaves nothing of that file.
func TestDieOf(t *testing.T) {
	if dir := os.Getenv(dying); dir != "" {
		writeFile(context.Background(), filepath.Join(dir, "out.mtx"), func(w io.Writer) error {
			if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
				t.Fatalf("%v, %v, want one unfinished file", files, err)
			}
			dieOf(syscall.SIGTERM)
			return nil
		})
		return
	}
	if files := left(t, syscall.SIGTERM); len(files) != 0 {
		t.Errorf("the directory holds %v, want nothing", files)
	}
}

// TestDieClean: a signal before the work begins leaves no directory that was made for the answer.
func TestDieClean(t *testing.T) {
	if dir := os.Getenv(dying); dir != "" {
		stop := dieClean()
		if _, err := takeDir(filepath.Join(dir, "a", "b"), false); err != nil {
			t.Fatal(err)
		}
		syscall.Kill(os.Getpid(), syscall.SIGINT)
		time.Sleep(time.Minute)
		stop()
	}
	if files := left(t, syscall.SIGINT); len(files) != 0 {
		t.Errorf("the directory holds %v, want nothing", files)
	}
}

// TestDieOfMany: nor does a process that writes many files, at whatever moment the signal comes; and a directory that it
// has made for them goes, too, if it is empty.
func TestDieOfMany(t *testing.T) {
	if dir := os.Getenv(dying); dir != "" {
		if _, err := takeDir(filepath.Join(dir, "made", "inner"), false); err != nil {
			t.Fatal(err)
		}
		var files []outFile
		for k := range 40 {
			files = append(files, outFile{fmt.Sprint("file", k), func(w io.Writer) error { _, err := w.Write([]byte("text")); return err }})
		}
		go func() {
			for {
				writeFiles(context.Background(), dir, files)
			}
		}()
		time.Sleep(20 * time.Millisecond)
		dieOf(syscall.SIGTERM)
	}
	for range 5 {
		for _, f := range left(t, syscall.SIGTERM) {
			if !strings.HasPrefix(f.Name(), "file") {
				t.Errorf("%s is left", f.Name())
			}
		}
	}
}

// TestSignalWhilePrinting: a second signal ends the process at once, here while it prints the clusters to a
// pipe that nobody reads.
func TestSignalWhilePrinting(t *testing.T) {
	unread, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	cmd, rest := startEndless(t, stdout)
	stdout.Close()
	for _, until := range []string{"peak memory", ""} {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		for {
			line, err := rest.ReadString('\n')
			if err == io.EOF && until == "" {
				break
			}
			if err != nil {
				t.Fatalf("waiting for %q: %v", until, err)
			}
			if until != "" && strings.Contains(line, until) {
				break
			}
		}
		time.Sleep(2 * sameSignal)
	}
	if code := exitOf(t, cmd.Wait()); code != -int(syscall.SIGINT) {
		t.Errorf("exit code %d, want the signal %d", code, syscall.SIGINT)
	}
}

// TestClosedPipe: every command that prints to a closed pipe succeeds without a message, since the reader has
// what it wanted.
func TestClosedPipe(t *testing.T) {
	for _, args := range [][]string{
		{"fit", "demo:digits", "-k", "2", "--max-sweeps", "1", "-q"},
		{"fit", "demo:karate", "-k", "2", "--json", "-q"},
		{"convert", "demo:digits", "-", "--to", "csv"},
		{"similarity", "demo:digits", "--keep", "5", "-o", "-", "--to", "edges", "-q"},
		{"info", "demo:karate"},
		{"methods"},
		{"version"},
		{"completion", "bash"},
		{"help", "fit"},
	} {
		closed, stdout, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		closed.Close()
		cmd := exec.Command("symnmf", args...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = stdout, &stderr
		code := exitOf(t, cmd.Run())
		stdout.Close()
		if code != 0 || stderr.Len() > 0 {
			t.Errorf("symnmf %s: exit code %d, standard error %q, want 0 and nothing", strings.Join(args, " "), code, stderr.String())
		}
	}
}
