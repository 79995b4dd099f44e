package kernel

import "unsafe"

// Numbers is [Room] for float64.
func Numbers(n int) []float64 { return Room[float64](n) }

// Room returns n zeros, and asks the system for large pages, where it offers them, for as many of them as lie in whole ones.
// In memory that is read or written in no order each page of 4 KiB costs a search of its own otherwise, and each costs an
// interrupt when it is first written, which in a virtual machine can take longer than all else that is done with it.
func Room[T byte | int32 | int64 | float32 | float64](n int) []T {
	x := make([]T, n)
	if size := n * int(unsafe.Sizeof(T(0))); size >= hugeFrom {
		adviseHuge(unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), size))
	}
	return x
}

// hugeFrom is the least size in bytes for which that is done: pages of 2 MiB lie at multiples of their size.
const hugeFrom = 4 << 20
