//go:build !noasm

package kernel

// timesTiles is timesGo by tiles, all in place.
//
// All tiles of some rows come before those of the next, so their part of A is in the first-level cache for all panels but
// the first. Nothing is packed: a row of X is wanted every 24 cycles or so, and the processor looks far enough ahead to
// have it from the second-level cache in time. Rows of X padded to whole cache lines are no faster.
func timesTiles[F Float](c []float64, a []F, arow, astep int, x []float64, rows, n, r int, upper bool) {
	height := tileRowsAVX2
	if path == avx512 {
		height = tileRowsAVX512
	}
	for l := 0; l < n; l += chunkLen {
		d := min(chunkLen, n-l)
		for i, h := 0, 0; i < rows; i += h {
			for h = height; h > rows-i; h /= 2 {
			}
			k := 0
			if upper {
				k = min(i, max(0, r-leastAVX2))
			}
			for w := 0; k < r; k += w {
				w = panelOf(r-k, h)
				tile(&c[i*r+k], &a[i*arow+l*astep], &x[l*r+k], d, h, w, r, arow, astep)
			}
		}
	}
}

// panelOf returns how many of the columns that are left the next panel takes in a tile of h rows.
func panelOf(left, h int) int {
	switch {
	case path == avx512 && h == 1:
		return panel(left, lineColsAVX512, lanesAVX512)
	case path == avx512:
		return panel(left, tileColsAVX512, lanesAVX512/2)
	case h == 1:
		return panel(left, lineColsAVX2, lanesAVX2)
	default:
		return panel(left, tileColsAVX2, lanesAVX2)
	}
}

func tile[F Float](c *float64, a *F, x *float64, n, h, w, r, arow, astep int) {
	switch a := any(a).(type) {
	case *float64:
		if path == avx512 {
			tileAVX512(c, a, x, n, h, w, 8*r, 8*arow, 8*astep, 8*r)
		} else {
			tileAVX2(c, a, x, n, h, w, 8*r, 8*arow, 8*astep, 8*r)
		}
	case *float32:
		if path == avx512 {
			tile32AVX512(c, a, x, n, h, w, 8*r, 4*arow, 4*astep, 8*r)
		} else {
			tile32AVX2(c, a, x, n, h, w, 8*r, 4*arow, 4*astep, 8*r)
		}
	}
}
