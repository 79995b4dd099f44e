//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package system

import (
	"os"
	"syscall"
)

// ErrHeld is what Lock returns if another open file holds the lock.
var ErrHeld error = syscall.EWOULDBLOCK

// Lock locks a file or a directory until f is closed or the process ends, in whatever way. It does not wait.
func Lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
