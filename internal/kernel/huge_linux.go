package kernel

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// adviseHuge asks for large pages for the part of x that fills whole ones. If the system refuses, nothing
// changes.
func adviseHuge(x []byte) {
	const page = 2 << 20
	skip := int(-uintptr(unsafe.Pointer(&x[0])) % page)
	if size := (len(x) - skip) / page * page; size > 0 {
		_ = unix.Madvise(x[skip:skip+size], unix.MADV_HUGEPAGE)
	}
}
