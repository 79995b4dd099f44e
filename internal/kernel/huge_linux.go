package kernel

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// adviseHuge asks for large pages for what of x lies in whole ones. That it may be refused changes nothing.
func adviseHuge(x []float64) {
	const page = 2 << 20
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), 8*len(x))
	skip := int(-uintptr(unsafe.Pointer(&x[0])) % page)
	if size := (len(bytes) - skip) / page * page; size > 0 {
		_ = unix.Madvise(bytes[skip:skip+size], unix.MADV_HUGEPAGE)
	}
}
