//go:build !noasm

package kernel

import "unsafe"

// mostOfAVX2 returns the most columns that the row kernels for AVX2 can do with an x of type F.
func mostOfAVX2[F Float]() int {
	if unsafe.Sizeof(F(0)) == 4 {
		return mostAVX2Single
	}
	return mostAVX2
}

// wide reports whether wide vectors pay for many short rows of float64 that lie anywhere: where r is a multiple
// of 8. Then, if x begins at a cache line, no vector of x straddles two: a vector of float64 is a whole line, one
// of float32 half a line. With r = 60, all vectors of every other row of float64 would. With x near, r = 16 and
// 32 take 0.7 to 0.8 times as long as with AVX2, r = 60 as long or 1.1 times (BenchmarkGatherEach,
// BenchmarkMoves; Xeon).
func wide(r int) bool { return path == avx512 && r%lanesAVX512 == 0 }

// wideEach is wide for rows that are gathered from an x of type F, and wideSpan for those that come from a
// span. Vectors of float32 straddle lines half as often, and a span is in the first-level cache. So a mask
// for the last vector pays there: with r = 9 to 50 the products of four sets take 0.63 to 0.99 times as long
// as with AVX2 where x is of float32, and in spans of float64 0.82 to 1.01 times from r = 13 on, or up to 1.07
// times below. Gathered rows of float64 would take 0.95 to 1.12 times as long (Zen 5; not archived).
func wideEach[F Float](r int) bool {
	return wide(r) || path == avx512 && r > lanesAVX512 && unsafe.Sizeof(F(0)) == 4
}

func wideSpan[F Float](r int) bool { return wideEach[F](r) || path == avx512 && r >= 13 }

// gatherEach computes rows in two pieces if lower is not nil, and in one otherwise.
func gatherEach[F Float](dst, lower []float64, r int, from, idx []int32, val []float64, x []F, scale float64) {
	if path == portable || r < leastAVX2 || len(x) < r {
		gatherEachGo(dst, lower, r, from, idx, val, x, scale)
		return
	}
	i, v, size := unsafe.SliceData(idx), unsafe.SliceData(val), int(unsafe.Sizeof(F(0)))
	fetch := i
	if size*len(x) >= fetchFrom && len(idx) > 0 {
		fetch = &idx[:cap(idx)][cap(idx)-1]
	}
	most, lanes, broad := mostOfAVX2[F](), lanesAVX2, wideEach[F](r)
	if broad {
		most, lanes = mostAVX512, lanesAVX512
	}
	stride, limit, ok := size*r, size*(len(x)-r), true
	for k, w := 0, 0; k < r && ok; k += w {
		w = panel(r-k, most, lanes)
		z, low, count := &dst[k], (*float64)(nil), len(dst)/r
		if lower != nil {
			low = &lower[k]
		}
		switch x := any(&x[k]).(type) {
		case *float64:
			switch {
			case lower == nil && broad:
				ok = gatherEachAVX512(z, w, &from[0], count, i, v, x, scale, stride, limit, fetch)
			case lower == nil:
				ok = gatherEachAVX2(z, w, &from[0], count, i, v, x, scale, stride, limit, fetch)
			case broad:
				ok = gatherSplitAVX512(z, low, w, &from[0], count, i, v, x, scale, stride, limit, fetch)
			default:
				ok = gatherSplitAVX2(z, low, w, &from[0], count, i, v, x, scale, stride, limit, fetch)
			}
		case *float32:
			switch {
			case lower == nil && broad:
				ok = gatherEach32AVX512(z, w, &from[0], count, i, v, x, scale, stride, limit, fetch)
			case lower == nil:
				ok = gatherEach32AVX2(z, w, &from[0], count, i, v, x, scale, stride, limit, fetch)
			case broad:
				ok = gatherSplit32AVX512(z, low, w, &from[0], count, i, v, x, scale, stride, limit, fetch)
			default:
				ok = gatherSplit32AVX2(z, low, w, &from[0], count, i, v, x, scale, stride, limit, fetch)
			}
		}
	}
	if !ok {
		panic(badIndex)
	}
}

func gatherSpan[F Float](acc []float64, r int, at, to, end []int64, idx []int32, val []float64, x []F, first, width int) {
	if path == portable || r < leastAVX2 || len(idx) == 0 {
		gatherSpanGo(acc, r, at, to, end, idx, val, x, first, width)
		return
	}
	most, lanes, broad := mostOfAVX2[F](), lanesAVX2, wideSpan[F](r)
	if broad {
		most, lanes = mostAVX512, lanesAVX512
	}
	v, stride := unsafe.SliceData(val), int(unsafe.Sizeof(F(0)))*r
	for k, w := 0, 0; k < r; k += w {
		w = panel(r-k, most, lanes)
		switch x := any(&x[k]).(type) {
		case *float64:
			if broad {
				gatherSpanAVX512(&acc[k], w, &at[0], &to[0], &end[0], len(at), &idx[0], v, x, stride, first, width)
			} else {
				gatherSpanAVX2(&acc[k], w, &at[0], &to[0], &end[0], len(at), &idx[0], v, x, stride, first, width)
			}
		case *float32:
			if broad {
				gatherSpan32AVX512(&acc[k], w, &at[0], &to[0], &end[0], len(at), &idx[0], v, x, stride, first, width)
			} else {
				gatherSpan32AVX2(&acc[k], w, &at[0], &to[0], &end[0], len(at), &idx[0], v, x, stride, first, width)
			}
		}
	}
}
