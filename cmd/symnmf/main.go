// Command symnmf factors a symmetric nonnegative matrix A as HHᵀ with H ≥ 0, from a file to clusters: see symnmf help.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signal.Ignore(syscall.SIGPIPE) // so that a closed pipe is an error of a write, which exitCode forgives
	os.Exit(run(os.Args, stdStreams()))
}
