//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package experiment

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock locks the file for this process. The system releases the lock when the process ends, in whatever way.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
