//go:build !noasm

package kernel

import "golang.org/x/sys/cpu"

// haveVNNI reports whether whole numbers are multiplied with the AVX-512 instructions made for neural
// networks.
func haveVNNI() bool { return path == avx512 && cpu.X86.HasAVX512VNNI && cpu.X86.HasAVX512BW }

// intPanel returns the columns of a panel of rows that are stride columns long. A tile of AVX2 is
// narrow: it would read a line or two of every row, from many pages of memory. So a panel is as wide as a tile there.
func intPanel(stride int) int {
	if path == portable || haveVNNI() {
		return stride
	}
	return intColsAVX2
}

// gramIntTiles is gramIntsGo by tiles, panel by panel.
func gramIntTiles(s []float64, c float64, x *IntRows, first, last, lo, hi int) {
	rows, most, lanes, tile := intRowsAVX2, intColsAVX2, intLanesAVX2, gramIntsAVX2
	if haveVNNI() {
		rows, most, lanes, tile = intRowsAVX512, intColsAVX512, intLanesAVX512, gramIntsAVX512
	}
	var t [intRowsAVX512 * intColsAVX512]int32
	r := x.columns
	for from := lo / x.panel * x.panel; from < r; from += x.panel {
		to := min(from+x.panel, (r+lanes-1)/lanes*lanes)
		for j := lo; j < min(hi, to); j += rows {
			for k := max(from, j/lanes*lanes); k < to; k += most {
				w := min(most, to-k)
				tile(&t[0], &x.x[x.at(first, j)], &x.x[x.at(first, k)], last-first, w, 4*x.panel)
				for i := range min(rows, hi-j) {
					addInts(s[(j+i-lo)*r:][:r], c, t[i*most:][:w], k, j+i, 0)
				}
			}
		}
	}
}

// addInts adds c times sums, each increased by more, to s, which is a row of the result. The first of sums
// belongs to column k; columns before j stay as they are.
func addInts(s []float64, c float64, sums []int32, k, j int, more int32) {
	sums, to := sums[:min(len(sums), len(s)-k)], s[k:]
	for q := max(0, j-k); q < len(sums); q++ {
		to[q] += c * float64(sums[q]+more)
	}
}

// BytesPay reports whether GramBytes takes less time than GramInts.
func BytesPay() bool { return haveVNNI() }

func packBytes(dst []int32, u, v, w, z []float64, c float64) (differ bool, bits uint32) {
	done := len(dst) / lanesAVX2 * lanesAVX2
	if path == portable {
		done = 0
	}
	if done > 0 {
		d, b := packBytesAVX2(&dst[0], &u[0], &v[0], &w[0], &z[0], c, done)
		if d != 0 {
			return true, 0
		}
		bits = uint32(b) | uint32(b>>32)
	}
	differ, rest := packBytesGo(dst[done:], u[done:], v[done:], w[done:], z[done:], c)
	return differ, bits | rest
}

// gramBytes is gramBytesGo, by tiles where there are instructions for it. Those multiply a byte by another
// less 128. So 128 times the sum of the first factors is added back, and products with 1 find that sum.
func gramBytes(s []float64, c float64, x *IntRows, first, last, lo, hi int) {
	if !haveVNNI() {
		gramBytesGo(s, c, x, first, last, lo, hi)
		return
	}
	const rows, most, lanes = intRowsAVX512, intColsAVX512, intLanesAVX512
	var t, own [rows * most]int32
	var ones [lanes]int32
	for k := range ones {
		ones[k] = -0x7e7e7e7f // four bytes of 129
	}
	n, r := last-first, x.columns
	for j := lo; j < hi; j += rows {
		left := &x.x[x.at(first, j)]
		gramBytesAVX512(&own[0], left, &ones[0], n, lanes, 4*x.panel, 0)
		for k := j / lanes * lanes; k < r; k += most {
			w := min(most, (r-k+lanes-1)/lanes*lanes)
			gramBytesAVX512(&t[0], left, &x.x[x.at(first, k)], n, w, 4*x.panel, 4*x.panel)
			for i := range min(rows, hi-j) {
				addInts(s[(j+i-lo)*r:][:r], c, t[i*most:][:w], k, j+i, 128*own[i*most])
			}
		}
	}
}
