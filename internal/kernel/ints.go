package kernel

// Inner products of whole numbers of few bits, such as pixels and counts, are exact in integer arithmetic
// too, and a vector holds more integers than float64 numbers. AVX-512 with VNNI does four times as many
// multiply–adds a cycle as with float64, AVX2 twice as many. Numbers are stored in pairs: those of two rows
// in the halves of an int32. Where VNNI multiplies bytes, it does eight times as many, with the bytes of four
// rows in an int32.

// IntColumns is the number of which the columns of a panel are a multiple.
const IntColumns = 16

// IntStride returns how many numbers a row of IntRows takes.
func IntStride(columns int) int { return max(BlockCount(columns, IntColumns), 1) * IntColumns }

// IntRows holds rows of pairs, or of fours. Panels of columns, all rows of each, lie one after the other, so that tiles
// read memory in its order.
type IntRows struct {
	x                    []int32
	rows, columns, panel int // panel is the columns of a panel
}

// NewIntRows returns that many rows and columns, of zeros.
func NewIntRows(rows, columns int) *IntRows {
	stride := IntStride(columns)
	x := &IntRows{rows: rows, columns: columns, panel: intPanel(stride)}
	x.x = make([]int32, stride/x.panel*x.size())
	return x
}

// size returns the distance between panels. It is an odd number of rows: an even one may have a power of two in it
// that puts a row of every panel into the same few lines of a cache.
func (x *IntRows) size() int { return (x.rows | 1) * x.panel }

// at returns the place of column k of row l.
func (x *IntRows) at(l, k int) int { return k/x.panel*x.size() + l*x.panel + k%x.panel }

// Put sets row l. Rows may be set at the same time.
func (x *IntRows) Put(l int, row []int32) {
	if l < 0 || l >= x.rows || len(row) != x.columns {
		panic(badLen)
	}
	for at := l * x.panel; len(row) > 0; at += x.size() {
		row = row[copy(x.x[at:at+x.panel], row):]
	}
}

// row copies row l to room.
func (x *IntRows) row(room []int32, l int) {
	for at := l * x.panel; len(room) > 0; at += x.size() {
		room = room[copy(room, x.x[at:at+x.panel]):]
	}
}

// PackInts fills dst with pairs, c·u[k] in the lower half and c·v[k] in the upper half. It reports whether
// all of these are whole numbers of magnitude below 2¹⁵ and, if so, returns the bits that occur in any of the
// magnitudes (their bitwise OR).
func PackInts(dst []int32, u, v []float64, c float64) (bits uint16, ok bool) {
	if len(u) != len(dst) || len(v) != len(dst) {
		panic(badLen)
	}
	differ, all := packInts(dst, u, v, c)
	if differ || all >= 1<<15 {
		return 0, false
	}
	return uint16(all), true
}

func packIntsGo(dst []int32, u, v []float64, c float64) (differ bool, bits uint32) {
	for k := range dst {
		a, b := u[k]*c, v[k]*c
		if !(a > -1<<31 && a < 1<<31 && b > -1<<31 && b < 1<<31) {
			return true, 0
		}
		ia, ib := int32(a), int32(b)
		if float64(ia) != a || float64(ib) != b {
			return true, 0
		}
		bits |= uint32(max(ia, -ia)) | uint32(max(ib, -ib))
		dst[k] = ia&0xffff | ib<<16
	}
	return false, bits
}

// GramInts adds c times rows lo ≤ j < hi of xᵀ·x to the (hi−lo)×r matrix s, from the diagonal on, where x are the rows
// first ≤ l < last of rows, with r columns. That is, for k ≥ j it adds c·Σ_l (the sum of the products of the lower
// halves and of the upper halves of x_lj and x_lk) to s[(j−lo)·r+k]. lo must be a multiple of 8. What x holds before
// column lo does not matter. No sum may overflow 32 bits.
func GramInts(s []float64, c float64, rows *IntRows, first, last, lo, hi int) {
	if rows.check(s, first, last, lo, hi) {
		gramInts(s, c, rows, first, last, lo, hi)
	}
}

// check panics unless GramInts may take these arguments. It reports whether there is anything to do.
func (x *IntRows) check(s []float64, first, last, lo, hi int) bool {
	if first < 0 || first > last || last > x.rows || lo < 0 || lo%gramRows != 0 || lo > hi || hi > x.columns || len(s) != (hi-lo)*x.columns {
		panic(badLen)
	}
	return first < last && lo < hi
}

func gramIntsGo(s []float64, c float64, rows *IntRows, first, last, lo, hi int) {
	r := rows.columns
	sums, row := make([]int32, r), make([]int32, r)
	for j := lo; j < hi; j++ {
		clear(sums)
		for l := first; l < last; l++ {
			rows.row(row, l)
			low, high := int32(int16(row[j])), row[j]>>16
			for k := j; k < r; k++ {
				sums[k] += low*int32(int16(row[k])) + high*(row[k]>>16)
			}
		}
		for k := j; k < r; k++ {
			s[(j-lo)*r+k] += c * float64(sums[k])
		}
	}
}

// PackBytes fills dst with the bytes c·u[k], c·v[k], c·w[k] and c·z[k], the first in the lowest place. It
// reports whether all are whole numbers from 0 to 255.
func PackBytes(dst []int32, u, v, w, z []float64, c float64) bool {
	if len(u) != len(dst) || len(v) != len(dst) || len(w) != len(dst) || len(z) != len(dst) {
		panic(badLen)
	}
	differ, all := packBytes(dst, u, v, w, z, c)
	return !differ && all < 1<<8
}

func packBytesGo(dst []int32, u, v, w, z []float64, c float64) (differ bool, bits uint32) {
	for k := range dst {
		var four uint32
		for i, x := range [4]float64{u[k] * c, v[k] * c, w[k] * c, z[k] * c} {
			if !(x > -1<<31 && x < 1<<31) || float64(int32(x)) != x {
				return true, 0
			}
			bits |= uint32(int32(x))
			four |= uint32(int32(x)) << (8 * i)
		}
		dst[k] = int32(four)
	}
	return false, bits
}

// GramBytes is GramInts for rows of four unsigned bytes in each number.
func GramBytes(s []float64, c float64, rows *IntRows, first, last, lo, hi int) {
	if rows.check(s, first, last, lo, hi) {
		gramBytes(s, c, rows, first, last, lo, hi)
	}
}

func gramBytesGo(s []float64, c float64, rows *IntRows, first, last, lo, hi int) {
	r := rows.columns
	sums, row := make([]int32, r), make([]int32, r)
	for j := lo; j < hi; j++ {
		clear(sums)
		for l := first; l < last; l++ {
			rows.row(row, l)
			for shift := 0; shift < 32; shift += 8 {
				v := row[j] >> shift & 0xff
				for k := j; k < r; k++ {
					sums[k] += v * (row[k] >> shift & 0xff)
				}
			}
		}
		for k := j; k < r; k++ {
			s[(j-lo)*r+k] += c * float64(sums[k])
		}
	}
}

// PanelColumns is how many columns a panel of whole numbers has. With 16 bits each, a row is two cache lines.
const PanelColumns = 64

// A Span is the entries From ≤ p < To of the columns and values given with it.
type Span struct{ From, To int32 }

// PanelSquares returns Σ_k ‖Σ_p val[p]·x_idx[p]‖², where p runs over the entries of span k and x_i is row i
// of x, which has PanelColumns numbers. No inner sum, and no sum of two products, may overflow 32 bits. Sums
// of squares up to 2⁵³ are exact.
func PanelSquares(x []int16, spans []Span, idx []int32, val []int16) float64 {
	if len(x)%PanelColumns != 0 || len(val) != len(idx) {
		panic(badLen)
	}
	if len(spans) == 0 {
		return 0
	}
	return panelSquares(x, spans, idx, val)
}

func panelSquaresGo(x []int16, spans []Span, idx []int32, val []int16) (sum float64) {
	for _, s := range spans {
		var acc [PanelColumns]int32
		idx, val := idx[s.From:s.To:len(idx)], val[s.From:s.To] // indices beyond the length of idx panic
		for p, i := range idx {
			v := int32(val[p])
			for j, u := range x[int(i)*PanelColumns:][:PanelColumns] {
				acc[j] += v * int32(u)
			}
		}
		for _, v := range acc {
			sum += float64(float64(v) * float64(v))
		}
	}
	return sum
}
