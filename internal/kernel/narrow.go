package kernel

import "unsafe"

// Narrow rounds x to float32 in place. The rounded numbers take the second half of the memory of x, which
// Narrow returns. What x itself holds is meaningless until Widen.
func Narrow(x []float64, team *Team) []float32 {
	const first = 1 << 10 // the last numbers go by way of room, since their places are still taken
	n, y := len(x), Half(x)
	from := max(0, n-first)
	var room [first]float32
	ToFloat32(room[:n-from], x[from:])
	copy(y[from:], room[:])
	for to := from; to > 0; to = from { // as many as have free places: twice as many each time
		from = max(0, 2*to-n)
		team.pieces(from, to, func(lo, hi int) { ToFloat32(y[lo:hi], x[lo:hi]) })
	}
	return y
}

// Widen is the inverse of Narrow.
func Widen(x []float64, team *Team) {
	const last = 1 << 10 // numbers that one goroutine widens in order, so that each is read before it is overwritten
	n, y := len(x), Half(x)
	from := 0
	for n-from > last {
		to := (from + n) / 2 // x[from:to] ends where the numbers not yet widened begin
		team.pieces(from, to, func(lo, hi int) { ToFloat64(x[lo:hi], y[lo:hi]) })
		from = to
	}
	ToFloat64(x[from:], y[from:])
}

// Half returns the second half of the memory of x as len(x) numbers of float32.
func Half(x []float64) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))[len(x):]
}

// pieces calls f for pieces of the range from ≤ k < to.
func (t *Team) pieces(from, to int, f func(lo, hi int)) {
	const size = 1 << 14
	t.Do(BlockCount(to-from, size), func(k int) { f(from+k*size, min(from+(k+1)*size, to)) })
}
