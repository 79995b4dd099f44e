package kernel

import (
	"sync/atomic"
	"unsafe"
)

// Singles returns x in float32, or nil if that would change any number.
func Singles(x []float64, workers int) []float32 {
	const looks, piece = 1 << 10, 1 << 14
	for k := 0; k < len(x); k += BlockCount(len(x), looks) { // some of x tell, as a rule, and take no memory
		if float64(float32(x[k])) != x[k] {
			return nil
		}
	}
	y := Room[float32](len(x))
	var other atomic.Bool
	Blocks(len(x), piece, workers, func(_, lo, hi int) {
		if !other.Load() && !singles(y[lo:hi], x[lo:hi]) {
			other.Store(true)
		}
	})
	if other.Load() {
		return nil
	}
	return y
}

// AreSingles reports whether all of x are numbers of float32.
func AreSingles(x []float64, team *Team) bool {
	const piece = 1 << 10
	var other atomic.Bool
	team.Do(BlockCount(len(x), piece), func(k int) {
		var room [piece]float32
		if own := x[k*piece : min((k+1)*piece, len(x))]; !other.Load() && !singles(room[:len(own)], own) {
			other.Store(true)
		}
	})
	return !other.Load()
}

// singles sets y to x, rounded to float32, and reports whether that changes no bit of a number.
func singles(y []float32, x []float64) bool {
	var room [1 << 8]float64
	for len(x) > 0 {
		n := min(len(x), len(room))
		ToFloat32(y[:n], x[:n])
		ToFloat64(room[:n], y[:n])
		if bytesOf(room[:n]) != bytesOf(x[:n]) {
			return false
		}
		x, y = x[n:], y[n:]
	}
	return true
}

// bytesOf returns the memory of x, to be compared.
func bytesOf(x []float64) string {
	return unsafe.String((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 8*len(x))
}

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
