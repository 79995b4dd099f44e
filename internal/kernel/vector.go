package kernel

import "math"

// Dot returns Σ x[i]·y[i]. x and y may alias.
func Dot(x, y []float64) float64 {
	if len(x) != len(y) {
		panic(badLen)
	}
	return dot(x, y)
}

// The outer conversions keep the compiler from fusing products with sums.
func dotGo[F Float](x, y []F) float64 {
	var s0, s1, s2, s3 float64
	for len(x) >= 4 && len(y) >= 4 {
		s0 += float64(float64(x[0]) * float64(y[0]))
		s1 += float64(float64(x[1]) * float64(y[1]))
		s2 += float64(float64(x[2]) * float64(y[2]))
		s3 += float64(float64(x[3]) * float64(y[3]))
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		s0 += float64(float64(v) * float64(y[i]))
	}
	return (s0 + s1) + (s2 + s3)
}

// SumSq returns Σ x[i]².
func SumSq(x []float64) float64 { return dot(x, x) }

// RowSquares returns Σ w[i]·‖x_i‖², where x_i is row i of x, which is stored by rows and has len(w) of them.
// Sums are of float64.
func RowSquares[F Float](x []F, w []float64) float64 {
	if len(x) == 0 && len(w) == 0 {
		return 0
	}
	if len(w) == 0 || len(x)%len(w) != 0 {
		panic(badLen)
	}
	return rowSquares(x, len(x)/len(w), w)
}

func rowSquaresGo[F Float](x []F, r int, w []float64) (sum float64) {
	for i, v := range w {
		xi := x[i*r : (i+1)*r]
		sum += v * dotGo(xi, xi)
	}
	return sum
}

// BitRange returns the least and the largest bit pattern of the numbers of x, taken as unsigned integers. If
// no number of x has its sign bit set, these are the patterns of the least and the largest number. x must not
// be empty.
func BitRange(x []float64) (least, most uint64) { return bitRange(x) }

func bitRangeGo(x []float64) (least, most uint64) {
	least = math.Float64bits(x[0])
	l0, l1, m0, m1 := least, least, least, least
	for len(x) >= 2 {
		u, v := math.Float64bits(x[0]), math.Float64bits(x[1])
		l0, m0 = min(l0, u), max(m0, u)
		l1, m1 = min(l1, v), max(m1, v)
		x = x[2:]
	}
	for _, v := range x {
		l0, m0 = min(l0, math.Float64bits(v)), max(m0, math.Float64bits(v))
	}
	return min(l0, l1), max(m0, m1)
}

// Nonzero reports whether any number of x is not 0.
func Nonzero(x []float64) bool {
	const atOnce = 1 << 9
	for len(x) > 0 {
		part := x[:min(atOnce, len(x))]
		if _, most := bitRange(part); most != 0 { // perhaps only the sign bit of a zero
			for _, v := range part {
				if v != 0 {
					return true
				}
			}
		}
		x = x[len(part):]
	}
	return false
}

// Scale multiplies x by c. Every bit of the result is the same on every path.
func Scale(x []float64, c float64) { scale(x, c) }

func scaleGo(x []float64, c float64) {
	for i := range x {
		x[i] *= c
	}
}

// Axpy adds c·x to y: y[i] += c·x[i].
func Axpy(y []float64, c float64, x []float64) {
	if len(x) != len(y) {
		panic(badLen)
	}
	axpy(y, c, x)
}

func axpyGo[F Float](y []float64, c float64, x []F) {
	for len(x) >= 4 && len(y) >= 4 {
		y[0] += c * float64(x[0])
		y[1] += c * float64(x[1])
		y[2] += c * float64(x[2])
		y[3] += c * float64(x[3])
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		y[i] += c * float64(v)
	}
}

// Axpy4 adds four multiples at once: y[i] += c[0]·x0[i] + c[1]·x1[i] + c[2]·x2[i] + c[3]·x3[i]. It reads and
// writes y once instead of four times. In Axpy, reading and writing y is what limits the speed.
func Axpy4(y []float64, c *[4]float64, x0, x1, x2, x3 []float64) {
	n := len(y)
	if len(x0) != n || len(x1) != n || len(x2) != n || len(x3) != n {
		panic(badLen)
	}
	axpy4(y, c, x0, x1, x2, x3)
}

func axpy4Go[F Float](y []float64, c *[4]float64, x0, x1, x2, x3 []F) {
	c0, c1, c2, c3 := c[0], c[1], c[2], c[3]
	n := len(y)
	x0, x1, x2, x3 = x0[:n], x1[:n], x2[:n], x3[:n]
	for i, v := range y {
		y[i] = v + ((c0*float64(x0[i]) + c1*float64(x1[i])) + (c2*float64(x2[i]) + c3*float64(x3[i])))
	}
}

// Mul multiplies each number of y by the corresponding number of x: y[i] *= x[i].
func Mul(y, x []float64) {
	if len(x) != len(y) {
		panic(badLen)
	}
	mul(y, x)
}

func mulGo(y, x []float64) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] *= v
	}
}

// Free sets each number of free to 1 where d_j·h + g > 0, and to 0 elsewhere. free, h and g are stored by
// rows of len(d) numbers, and j is the column. Every bit of the result is the same on every path.
func Free(free, h, g, d []float64) {
	if len(h) != len(free) || len(g) != len(free) || len(free) > 0 && (len(d) == 0 || len(free)%len(d) != 0) {
		panic(badLen)
	}
	for r := len(d); len(free) > 0; free, h, g = free[r:], h[r:], g[r:] {
		freeRow(free[:r], h[:r], g[:r], d)
	}
}

func freeRowGo(free, h, g, d []float64) {
	h, g, d = h[:len(free)], g[:len(free)], d[:len(free)]
	for i := range free {
		free[i] = 0
		if float64(d[i]*h[i])+g[i] > 0 {
			free[i] = 1
		}
	}
}

// Rest is what is left of a list: its entries from From up to, but not including, To.
type Rest struct{ From, To int64 }

// FetchNext has the next entries of several lists brought into the second-level cache: two cache lines of
// indices for each list and, unless val is nil, three cache lines of values.
func FetchNext(rests []Rest, idx []int32, val []float64) {
	if len(rests) > 0 {
		fetchNext(rests, idx, val)
	}
}

// Fetch has x brought into the second-level cache, for code that will read it in an order that the processor
// does not foresee.
func Fetch(x []float64) { fetch(x) }
