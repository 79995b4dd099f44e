package kernel

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// adviseHuge asks for large pages for what of x lies in whole ones. That it may be refused changes nothing.
func adviseHuge[F Float](x []F) {
	const page = 2 << 20
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), int(unsafe.Sizeof(x[0]))*len(x))
	skip := int(-uintptr(unsafe.Pointer(&x[0])) % page)
	if size := (len(bytes) - skip) / page * page; size > 0 {
		_ = unix.Madvise(bytes[skip:skip+size], unix.MADV_HUGEPAGE)
	}
}
