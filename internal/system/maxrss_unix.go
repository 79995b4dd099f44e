//go:build unix

package system

import (
	"runtime"
	"syscall"
)

// maxRSS returns ru_maxrss in bytes. Apple's systems report it in bytes, the others in KiB.
func maxRSS() (bytes int64, ok bool) {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return 0, false
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(use.Maxrss), true
	}
	return int64(use.Maxrss) * 1024, true
}
