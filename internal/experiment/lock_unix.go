//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package experiment

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock takes the file for this process; the system lets go of it when the process ends, however it does.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
