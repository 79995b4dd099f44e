//go:build !noasm

package kernel

// passRows is how many rows of A go by at a time: their part of a chunk, a quarter of a megabyte, stays in the
// second-level cache.
const passRows = 256

// timesTiles is timesGo by tiles, all in place; with AVX2 it wants at least leastAVX2 columns.
//
// For each chunk, passRows rows come by one panel of columns after the other, so that the panel's part of X stays in the
// first-level cache if it fits; the rows' part of A comes from the second level for all panels but the first. To pack
// either costs more than it gains: X takes its turn every 6 to 24 cycles, which leaves time for what crosses cache lines,
// and the processor follows 8 rows of A in memory.
func timesTiles[F Float](c []float64, alpha float64, a []F, arow, astep int, x []float64, rows, n, cols, stride, gap int) {
	for i := 0; i < rows; i += passRows {
		passTiles(c[i*stride:], alpha, a[i*arow:], arow, astep, x, min(passRows, rows-i), n, cols, stride, gap)
	}
}

func passTiles[F Float](c []float64, alpha float64, a []F, arow, astep int, x []float64, rows, n, cols, stride, gap int) {
	height, most, lanes, mostAlone := tileRowsAVX2, tileColsAVX2, lanesAVX2, lineColsAVX2
	if path == avx512 {
		height, most, lanes, mostAlone = tileRowsAVX512, tileColsAVX512, lanesAVX512, lineColsAVX512
	}
	pairs := rows &^ 1
	for l := 0; l < n; l += chunkLen {
		d := min(chunkLen, n-l)
		ahead := 0
		switch {
		case arow <= farRow:
		case l+d < n:
			ahead = d * astep
		case gap != nothing:
			ahead = (d + gap) * astep
		}
		for k, w := 0, 0; k < cols && pairs > 0; k += w {
			w = panel(cols-k, most, lanes)
			for i, h := 0, height; i < pairs; h /= 2 {
				if count := (pairs - i) / h; count > 0 {
					tiles(&c[i*stride+k], alpha, &a[i*arow+l*astep], &x[l*stride+k], d, count, h, w, arow, astep, stride, ahead)
					i += count * h
				}
			}
			if ahead > 0 && k == 0 {
				ahead += tileRowsAVX512 / 2 * arow // the other half of the rows
			} else {
				ahead = 0
			}
		}
		for k, w := 0, 0; k < cols && pairs < rows; k += w {
			w = panel(cols-k, mostAlone, lanes)
			tiles(&c[pairs*stride+k], alpha, &a[pairs*arow+l*astep], &x[l*stride+k], d, 1, 1, w, arow, astep, stride, 0)
		}
	}
}

// farRow is the greatest length of the rows of a square A of float64 that a second-level cache of 2 MB holds. Beyond, each chunk has the
// next one of the same rows fetched, the last what the caller says comes next, half of them while the first panel of X goes by and half with the second, if there is one: later they are there. CBCL's
// A (n = 2429), r = 60: 10.5 ms, all with the first panel 10.9; a square A that is near takes 1.14 times as long with it (Xeon with AVX-512).
const farRow = 512

// tiles adds to the first of count tiles of h rows by w columns and to those below it alpha times n terms.
func tiles[F Float](c *float64, alpha float64, a *F, x *float64, n, count, h, w, arow, astep, stride, ahead int) {
	switch a := any(a).(type) {
	case *float64:
		if path == avx512 {
			tileAVX512(c, alpha, a, x, n, count, h, w, 8*stride, 8*arow, 8*astep, 8*stride, 8*ahead)
		} else {
			tileAVX2(c, alpha, a, x, n, count, h, w, 8*stride, 8*arow, 8*astep, 8*stride, 8*ahead)
		}
	case *float32:
		if path == avx512 {
			tile32AVX512(c, alpha, a, x, n, count, h, w, 8*stride, 4*arow, 4*astep, 8*stride, 4*ahead)
		} else {
			tile32AVX2(c, alpha, a, x, n, count, h, w, 8*stride, 4*arow, 4*astep, 8*stride, 4*ahead)
		}
	}
}
