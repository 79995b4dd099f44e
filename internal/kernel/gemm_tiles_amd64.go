//go:build !noasm

package kernel

// passRows is how many rows of A are worked on at a time. Their part of a chunk, a quarter of a megabyte,
// stays in the second-level cache.
const passRows = 256

// timesTiles is timesGo by tiles, on the data where it lies. With AVX2 it needs at least leastAVX2 columns.
//
// For each chunk, passRows rows are multiplied by one panel of columns after the other. So the panel's part
// of X stays in the first-level cache, if it fits; the rows' part of A comes from the second-level cache for
// all panels but the first. Packing A or X costs more than it gains. A row of X is wanted only every 6 to 24
// cycles, which leaves time for loads that cross cache lines, and the processor can follow 8 rows of A in
// memory.
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
				ahead += tileRowsAVX512 / 2 * arow // from the other half of the rows
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

// farRow is the greatest length of the rows of a square A of float64 that fits into a second-level cache of 2
// MB. Where rows of A lie farther apart, each chunk has the next chunk of the same rows fetched, and the last
// chunk what the caller says comes next. Half of the rows are fetched during the first panel of X and half
// during the second, if there is one; for later panels they are there already.
//
// CBCL's A (n = 2429) with r = 60 takes 10.5 ms so, and 10.9 ms with all rows fetched during the first panel.
// A square A that is near takes 1.14 times as long with fetching as without (Xeon with AVX-512).
const farRow = 512

// tiles adds alpha times n terms to count tiles of h rows by w columns, the first at c and the others below
// it.
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
