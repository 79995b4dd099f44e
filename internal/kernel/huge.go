package kernel

import "unsafe"

// Numbers is [Room] for float64.
func Numbers(n int) []float64 { return Room[float64](n) }

// Room returns n zeros. Where the system offers large pages, Room asks for them for that part of the memory
// that fills whole ones.
//
// With pages of 4 KiB, each page of memory that is read or written in no order costs a page-table lookup of its
// own. Each also costs an interrupt when it is first written, which in a virtual machine can take longer than
// everything else that is done with the page.
func Room[T byte | int32 | int64 | float32 | float64](n int) []T {
	x := make([]T, n)
	if size := n * int(unsafe.Sizeof(T(0))); size >= hugeFrom {
		adviseHuge(unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), size))
	}
	return x
}

// hugeFrom is the least size in bytes for which Room does so. Large pages, of 2 MiB, lie at multiples of
// their size.
const hugeFrom = 4 << 20
