//go:build !noasm

package kernel

import "golang.org/x/sys/cpu"

// haveVNNI says whether whole numbers are multiplied with the instructions that AVX-512 has for neural networks.
func haveVNNI() bool { return path == avx512 && cpu.X86.HasAVX512VNNI && cpu.X86.HasAVX512BW }

// gramIntTiles is gramIntsGo by tiles.
func gramIntTiles(s []float64, c float64, x []int32, stride, r, lo, hi int) {
	rows, most, lanes, wide := intRowsAVX2, intColsAVX2, intLanesAVX2, haveVNNI()
	if wide {
		rows, most, lanes = intRowsAVX512, intColsAVX512, intLanesAVX512
	}
	var t [intRowsAVX512 * intColsAVX512]int32
	for j := lo; j < hi; j += rows {
		for k := j / lanes * lanes; k < r; k += most {
			w := min(most, (r-k+lanes-1)/lanes*lanes)
			if wide {
				gramIntsAVX512(&t[0], &x[j], &x[k], len(x)/stride, w, 4*stride)
			} else {
				gramIntsAVX2(&t[0], &x[j], &x[k], len(x)/stride, w, 4*stride)
			}
			for i := range min(rows, hi-j) {
				sums, to := t[i*most:i*most+min(w, r-k)], s[(j+i-lo)*r+k:]
				for q := max(0, j+i-k); q < len(sums); q++ {
					to[q] += c * float64(sums[q])
				}
			}
		}
	}
}
