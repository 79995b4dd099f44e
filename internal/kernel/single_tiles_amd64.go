//go:build !noasm

package kernel

func singleTimes(c []float64, alpha float64, a []float32, stride int, x []float32, r, gap int) {
	if path == portable || path == avx2 && r%lanesAVX2 != 0 {
		singleTimesGo(c, alpha, a, stride, x, r)
	} else {
		singleTiles(c, alpha, a, stride, x, r, gap)
	}
}

// singleTiles is singleTimesGo by tiles. With AVX2, r must be a multiple of 4.
func singleTiles(c []float64, alpha float64, a []float32, stride int, x []float32, r, gap int) {
	height, most, lanes := tileRowsAVX2, 2*tileColsAVX2, 2*lanesAVX2
	if path == avx512 {
		height, most, lanes = tileRowsAVX512, 2*tileColsAVX512, 2*lanesAVX512
	}
	pitch, rows := SinglePitch(r), len(c)/r
	n, whole := len(x)/pitch, rows/height*height
	for l := 0; l < n; l += chunkLen {
		d, ahead := min(chunkLen, n-l), 0
		switch {
		case stride <= farRow:
		case l+d < n:
			ahead = d
		case gap != nothing:
			ahead = d + gap
		}
		for k, w := 0, 0; k < r; k += w {
			w = panel(r-k, most, lanes)
			for i := 0; i < whole; i += height {
				tileSingle(&c[i*r+k], alpha, &a[i*stride+l], &x[l*pitch+k], d, w, r, stride, pitch, ahead)
			}
			if whole < rows {
				lastSingles(c[whole*r+k:], alpha, a[whole*stride+l:], stride, x[l*pitch+k:], d, w, r, rows-whole)
			}
			ahead = 0
		}
	}
}

// lastSingles does the last rows, too few for a tile: it copies them into a whole tile and takes their sums
// from it.
func lastSingles(c []float64, alpha float64, a []float32, stride int, x []float32, n, w, r, rows int) {
	const height, most = tileRowsAVX512, 2 * tileColsAVX512
	var few [height * chunkLen]float32
	var sums [height * most]float64
	for i := range rows {
		copy(few[i*chunkLen:], a[i*stride:i*stride+n])
		copy(sums[i*most:], c[i*r:i*r+w])
	}
	tileSingle(&sums[0], alpha, &few[0], &x[0], n, w, most, chunkLen, SinglePitch(r), 0)
	for i := range rows {
		copy(c[i*r:i*r+w], sums[i*most:])
	}
}

// tileSingle adds alpha times n terms to w columns of the tile whose first number is c. Strides and ahead
// count numbers.
func tileSingle(c *float64, alpha float64, a, x *float32, n, w, cstride, arow, xstride, ahead int) {
	if path == avx512 {
		tileSingleAVX512(c, alpha, a, x, n, w, 8*cstride, 4*arow, 4*xstride, 4*ahead)
	} else {
		tileSingleAVX2(c, alpha, a, x, n, w, 8*cstride, 4*arow, 4*xstride, 4*ahead)
	}
}
