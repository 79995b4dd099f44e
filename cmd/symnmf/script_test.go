package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

// TestMain makes the test binary double as symnmf, for the scripts and for tests that start processes. After
// the tests it looks for goroutines that they left behind.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", atOnce)
	testscript.Main(leakChecked{m}, map[string]func(){"symnmf": main})
}

// atOnce is the setting of GORACE with which programs built with -race exit at once. By default they sleep
// for a second first.
const atOnce = "atexit_sleep_ms=0"

// leakChecked fails a test run that leaves goroutines behind.
type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int {
	code := m.M.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// TestScript runs testdata/script/*.txtar. Besides testscript's own commands there is one more:
//
//	exits CODE PROGRAM ARGS…	runs a program, which must exit with that code
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", atOnce)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: exits CODE PROGRAM ARGS…")
				}
				want, err := strconv.Atoi(args[0])
				ts.Check(err)
				err = ts.Exec(args[1], args[2:]...)
				got := 0
				if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
					got = failed.ExitCode()
				} else {
					ts.Check(err)
				}
				if got != want {
					ts.Fatalf("exit code %d, want %d", got, want)
				}
			},
		},
	})
}
