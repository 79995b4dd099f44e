// Command symnmf reads a symmetric nonnegative matrix A from a file, factors it as A ≈ HHᵀ with H ≥ 0, and
// prints or writes the clusters. See symnmf help.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is then an error of a write, which exitCode counts as success
	os.Exit(run(os.Args, stdStreams()))
}
