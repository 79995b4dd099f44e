//go:build !noasm

package kernel

import "unsafe"

// solveLanes does what solveRowsGo does in assembly.
func solveLanes[F Float](x, d []F, lists []int32, r int, off bool) {
	passes := len(lists) / (2 * r)
	if passes == 0 {
		return
	}
	h, dp := unsafe.Pointer(&x[0]), unsafe.Pointer(&d[0])
	if unsafe.Sizeof(x[0]) == 8 {
		h, d := (*float64)(h), (*float64)(dp)
		switch {
		case path == avx512 && off:
			solveOff64AVX512(h, r, d, &lists[0], passes)
		case path == avx512:
			solve64AVX512(h, r, d, &lists[0], passes)
		case off:
			solveOff64AVX2(h, r, d, &lists[0], passes)
		default:
			solve64AVX2(h, r, d, &lists[0], passes)
		}
		return
	}
	h32, d32 := (*float32)(h), (*float32)(dp)
	switch {
	case path == avx512 && off:
		solveOff32AVX512(h32, r, d32, &lists[0], passes)
	case path == avx512:
		solve32AVX512(h32, r, d32, &lists[0], passes)
	case off:
		solveOff32AVX2(h32, r, d32, &lists[0], passes)
	default:
		solve32AVX2(h32, r, d32, &lists[0], passes)
	}
}

// packLanes does what packRowsGo does, in assembly except for the last rows.
func packLanes[F Float](x []F, width int, h, g []float64, pitch int, diag, l1 []float64) {
	r, size, done := len(l1), int(unsafe.Sizeof(x[0])), 0
	if blocks := len(diag) * size / wideBytes; blocks > 0 && path == avx512 && r >= wideCols {
		if p := unsafe.Pointer(&x[0]); size == 8 {
			pack64AVX512((*float64)(p), 8*width, 8*width*r, &h[0], &g[0], pitch, r, &diag[0], &l1[0], blocks)
		} else {
			pack32AVX512((*float32)(p), 4*width, 4*width*r, &h[0], &g[0], pitch, r, &diag[0], &l1[0], blocks)
		}
		done = blocks * wideBytes / size
	}
	if blocks := (len(diag) - done) / packBlock; blocks > 0 && r >= packCols {
		h, g, diag := &h[done*pitch], &g[done*pitch], &diag[done]
		if p := unsafe.Pointer(&x[done]); size == 8 {
			pack64AVX2((*float64)(p), 8*width, 8*width*r, h, g, pitch, r, diag, &l1[0], blocks)
		} else {
			pack32AVX2((*float32)(p), 4*width, 4*width*r, h, g, pitch, r, diag, &l1[0], blocks)
		}
		done += blocks * packBlock
	}
	packRowsGo(x, width, h, g, pitch, diag, l1, done)
}

// unpackLanes does what unpackRowsGo does, in assembly except for the last rows.
func unpackLanes[F Float](dst, h []float64, x []F, width, pitch, n, r int) {
	blocks := n / packBlock
	if blocks > 0 && r >= packCols {
		if p := unsafe.Pointer(&x[0]); unsafe.Sizeof(x[0]) == 8 {
			unpack64AVX2(&dst[0], &h[0], (*float64)(p), 8*width, pitch, r, blocks)
		} else {
			unpack32AVX2(&dst[0], &h[0], (*float32)(p), 4*width, pitch, r, blocks)
		}
	} else {
		blocks = 0
	}
	unpackRowsGo(dst, h, x, width, pitch, n, r, packBlock*blocks)
}
