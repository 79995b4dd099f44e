package kernel

// Kernels for small square matrices, which one thread works on while others wait.

// Mirror makes an r×r matrix symmetric by copying the numbers right of the diagonal to the left of it. It
// completes a matrix that GramRows has added to.
func Mirror(s []float64, r int) {
	if len(s) != r*r {
		panic(badLen)
	}
	mirror(s, r)
}

func mirrorGo(s []float64, r int) {
	for j := range r {
		for k, v := range s[j*r+j+1 : (j+1)*r] {
			s[(j+1+k)*r+j] = v
		}
	}
}

// Symmetrize sets the r×r matrix s to s + sᵀ. Every bit is the same on every path.
func Symmetrize(s []float64, r int) {
	if len(s) != r*r {
		panic(badLen)
	}
	symmetrize(s, r)
}

func symmetrizeGo(s []float64, r int) {
	for j := range r {
		sj := s[j*r : (j+1)*r]
		for k, at := 0, j; k < j; k, at = k+1, at+r {
			v := sj[k] + s[at]
			sj[k], s[at] = v, v
		}
		sj[j] *= 2
	}
}

// ToFloat32 sets y to x, rounded to float32.
func ToFloat32(y []float32, x []float64) {
	if len(y) != len(x) {
		panic(badLen)
	}
	toFloat32(y, x)
}

func toFloat32Go(y []float32, x []float64) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] = float32(v)
	}
}

// ToFloat64 sets y to x.
func ToFloat64(y []float64, x []float32) {
	if len(y) != len(x) {
		panic(badLen)
	}
	toFloat64(y, x)
}

func toFloat64Go(y []float64, x []float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] = float64(v)
	}
}

// Inners returns Σ x·z, Σ y·z, Σ y², Σ x·y and Σ x².
func Inners(x, y, z []float64) (xz, yz, yy, xy, xx float64) {
	if len(x) != len(z) || len(y) != len(z) {
		panic(badLen)
	}
	return inners(x, y, z)
}

func innersGo(x, y, z []float64) (xz, yz, yy, xy, xx float64) {
	y, z = y[:len(x)], z[:len(x)]
	for i, v := range x {
		w := y[i]
		xz += v * z[i]
		yz += w * z[i]
		yy += w * w
		xy += v * w
		xx += v * v
	}
	return xz, yz, yy, xy, xx
}
