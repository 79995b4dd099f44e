package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestGramInts: for whole numbers of either sign, in pairs of rows, GramInts gives bit for bit what GramRows
// gives for the same numbers as float64. This holds for any number of columns up to 130, wherever the rows
// begin and end. Nothing left of the diagonal changes.
func TestGramInts(t *testing.T) {
	testPacked(t, 2, []int{0, 1, 5}, 9, GramInts, func(rng *rand.Rand, _ int) int { return rng.IntN(2*1023+1) - 1023 }, func(dst []int32, rows [][]float64, c float64) bool {
		bits, ok := PackInts(dst, rows[0], rows[1], c)
		return ok && bits < 1024
	})
}

// TestGramBytes: the same holds for GramBytes and whole numbers from 0 to 255, in fours of rows, up to the
// largest sums that can occur.
func TestGramBytes(t *testing.T) {
	number := func(rng *rand.Rand, packed int) int {
		if packed > 3 {
			return 255
		}
		return rng.IntN(256)
	}
	testPacked(t, 4, []int{0, 1, 3, 1024}, 4, GramBytes, number, func(dst []int32, rows [][]float64, c float64) bool {
		return PackBytes(dst, rows[0], rows[1], rows[2], rows[3], c)
	})
}

// testPacked compares grams with GramRows. Each packed row holds per rows of numbers. It tries the given
// counts of packed rows and, for each first row, about as many ends as ends says. number draws a number, and
// pack fills a packed row.
func testPacked(t *testing.T, per int, counts []int, ends int, grams func(s []float64, c float64, rows *IntRows, first, last, lo, hi int), number func(rng *rand.Rand, packed int) int, pack func(dst []int32, rows [][]float64, c float64) bool) {
	eachPath(t, func(t *testing.T) {
		for r := 1; r <= 130; r++ {
			if testing.Short() && r%7 != 1 {
				continue
			}
			rng := rand.New(rand.NewPCG(uint64(r), 1))
			for _, count := range counts {
				if count > 100 && r != 36 {
					continue
				}
				const unit = 0x1p-8
				const before, after = 3, 2 // rows that are left out
				x, packed, row := make([]float64, per*count*r), NewIntRows(before+count+after, r), make([]int32, r)
				for i := range packed.x {
					packed.x[i] = math.MinInt32 + 7
				}
				for i := range x {
					x[i] = unit * float64(number(rng, count))
				}
				for l := range count {
					var rows [][]float64
					for k := per * l; k < per*(l+1); k++ {
						rows = append(rows, x[k*r:(k+1)*r])
					}
					if !pack(row, rows, 1/unit) {
						t.Fatalf("r = %d: packed row %d is refused", r, l)
					}
					packed.Put(before+l, row)
				}
				for lo := 0; lo <= r; lo += 8 {
					for l := range count { // what is left of column lo does not matter
						for k := range lo {
							packed.x[packed.at(before+l, k)] = -1
						}
					}
					for hi := lo; hi <= r; hi += 1 + r/ends {
						start := random(uint64(hi), (hi-lo)*r)
						for i := range start {
							start[i] = math.Round(start[i] * 1000)
						}
						want := slices.Clone(start)
						whole := make([]float64, (hi-lo)*r)
						GramRows(whole, x, r, lo, hi)
						for j := lo; j < hi; j++ {
							for k := j; k < r; k++ {
								want[(j-lo)*r+k] += whole[(j-lo)*r+k]
							}
						}
						got, check := guarded(t, start, r%8)
						grams(got, unit*unit, packed, before, before+count, lo, hi)
						check()
						if !slices.Equal(got, want) {
							t.Fatalf("r = %d, %d packed rows, rows %d to %d: %v, want %v", r, count, lo, hi, got, want)
						}
					}
				}
			}
		}
	})
}

// TestPackBytes: whole numbers from 0 to 255 are packed in their places, and any other number is found
// wherever it is.
func TestPackBytes(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for n := range 20 {
			var rows [4][]float64
			for i := range rows {
				for k := range n {
					rows[i] = append(rows[i], float64((97*i+41*k)%256)/4)
				}
			}
			dst := make([]int32, n)
			pack := func() bool { return PackBytes(dst, rows[0], rows[1], rows[2], rows[3], 4) }
			if !pack() {
				t.Fatalf("n = %d: numbers from 0 to 255 are refused", n)
			}
			for k, four := range dst {
				for i := range rows {
					if got := four >> (8 * i) & 0xff; got != int32(97*i+41*k)%256 {
						t.Fatalf("n = %d: byte %d of number %d is %d", n, i, k, got)
					}
				}
			}
			if n > 0 { // 256 alone, among zeros
				zeros, one := make([]float64, n), make([]float64, n)
				if one[n-1] = 64; PackBytes(dst, zeros, zeros, one, zeros, 4) {
					t.Fatalf("n = %d: 256 at the end passes for a byte", n)
				}
			}
			for i := range rows {
				for k := range n {
					old := rows[i][k]
					for _, bad := range []float64{0.125, -1e-300, -0.25, 64, 1 << 29, -1 << 29, 1e300, math.Inf(-1), math.NaN()} {
						rows[i][k] = bad
						if pack() {
							t.Fatalf("n = %d: 4 times %v at %d of row %d passes for a byte", n, bad, k, i)
						}
					}
					rows[i][k] = math.Copysign(0, -1)
					if !pack() {
						t.Fatalf("n = %d: −0 at %d of row %d does not pass for a byte", n, k, i)
					}
					rows[i][k] = old
				}
			}
		}
		for name, call := range map[string]func(){
			"u": func() {
				PackBytes(make([]int32, 3), make([]float64, 2), make([]float64, 3), make([]float64, 3), make([]float64, 3), 1)
			},
			"v": func() {
				PackBytes(make([]int32, 3), make([]float64, 3), make([]float64, 2), make([]float64, 3), make([]float64, 3), 1)
			},
			"w": func() {
				PackBytes(make([]int32, 3), make([]float64, 3), make([]float64, 3), make([]float64, 4), make([]float64, 3), 1)
			},
			"z": func() {
				PackBytes(make([]int32, 3), make([]float64, 3), make([]float64, 3), make([]float64, 3), make([]float64, 2), 1)
			},
			"rows": func() { GramBytes(make([]float64, 6), 1, NewIntRows(2, 3), 0, 3, 0, 2) },
			"s":    func() { GramBytes(make([]float64, 5), 1, NewIntRows(2, 3), 0, 2, 0, 2) },
		} {
			if panics(call) == nil {
				t.Errorf("%s of a wrong length is accepted", name)
			}
		}
	})
}

// TestPackInts: whole numbers are packed in their places and the bits of their magnitudes are returned. Any
// other number, and one of more than 15 bits, is found wherever it is.
func TestPackInts(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for n := range 40 {
			u, v, dst := make([]float64, n), make([]float64, n), make([]int32, n)
			for k := range n {
				u[k], v[k] = float64(k-20)/4, float64(3*k)/4
			}
			var want uint16
			for k := range n {
				want |= uint16(max(k-20, 20-k)) | uint16(3*k)
			}
			bits, ok := PackInts(dst, u, v, 4)
			if !ok || bits != want {
				t.Fatalf("n = %d: bits %b, whole %t, want %b", n, bits, ok, want)
			}
			for k, p := range dst {
				if int(int16(p)) != k-20 || int(p>>16) != 3*k {
					t.Fatalf("n = %d: pair %d is %d, %d, want %d, %d", n, k, int16(p), p>>16, k-20, 3*k)
				}
			}
			for k := range n {
				for _, x := range [][]float64{u, v} {
					old := x[k]
					for _, bad := range []float64{0.125, -1e-300, 1 << 13, -1 << 13, 1 << 29, -1 << 29, 1e300, math.Inf(1), math.NaN()} {
						x[k] = bad
						if _, ok := PackInts(dst, u, v, 4); ok {
							t.Fatalf("n = %d: 4 times %v at %d passes for a whole number of 15 bits", n, bad, k)
						}
					}
					x[k] = math.Copysign(0, -1)
					if _, ok := PackInts(dst, u, v, 4); !ok {
						t.Fatalf("n = %d: −0 at %d does not pass for a whole number", n, k)
					}
					x[k] = old
				}
			}
		}
		GramInts(nil, 1, NewIntRows(2, 0), 0, 2, 0, 0)
		GramBytes(nil, 1, NewIntRows(0, 20), 0, 0, 0, 0)
		for name, call := range map[string]func(){
			"PackInts, u":             func() { PackInts(make([]int32, 3), make([]float64, 2), make([]float64, 3), 1) },
			"PackInts, v":             func() { PackInts(make([]int32, 3), make([]float64, 3), make([]float64, 4), 1) },
			"Put, longer":             func() { NewIntRows(2, 3).Put(0, make([]int32, 4)) },
			"Put, shorter":            func() { NewIntRows(2, 3).Put(0, make([]int32, 2)) },
			"Put, beyond":             func() { NewIntRows(2, 3).Put(2, make([]int32, 3)) },
			"Put, before":             func() { NewIntRows(2, 3).Put(-1, make([]int32, 3)) },
			"GramInts, s":             func() { GramInts(make([]float64, 5), 1, NewIntRows(2, 3), 0, 2, 0, 2) },
			"GramInts, last":          func() { GramInts(make([]float64, 6), 1, NewIntRows(2, 3), 0, 3, 0, 2) },
			"GramInts, first":         func() { GramInts(make([]float64, 6), 1, NewIntRows(2, 3), 2, 1, 0, 2) },
			"GramInts, first below 0": func() { GramInts(make([]float64, 6), 1, NewIntRows(2, 3), -1, 1, 0, 2) },
			"GramInts, hi":            func() { GramInts(make([]float64, 12), 1, NewIntRows(2, 3), 0, 2, 0, 4) },
			"GramInts, lo":            func() { GramInts(make([]float64, 6), 1, NewIntRows(2, 6), 0, 2, 4, 5) },
			"GramInts, lo below 0":    func() { GramInts(make([]float64, 6), 1, NewIntRows(2, 6), 0, 2, -8, -7) },
		} {
			if panics(call) == nil {
				t.Errorf("%s is accepted", name)
			}
		}
	})
}

// TestPanelSquares compares with exact arithmetic, for whole numbers of either sign whose sums fill up to 32
// bits. Results up to 2⁵³ must be exact. Lists of entries have any length and come in any order, and there
// may be none. An entry, a row or a list that does not exist makes PanelSquares panic.
func TestPanelSquares(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 1))
		const rows = 37
		for _, most := range []int{1, 9, 200, math.MaxInt16} {
			x := make([]int16, rows*PanelColumns)
			for i := range x {
				x[i] = int16(rng.IntN(2*most+1) - most)
			}
			var idx []int32
			var val []int16
			var spans []Span
			for length := range 24 {
				if most == math.MaxInt16 {
					length %= 3 // two products fill 31 bits
				}
				from := int32(len(idx))
				for range length {
					idx, val = append(idx, int32(rng.IntN(rows))), append(val, int16(rng.IntN(2*most+1)-most))
				}
				spans = append(spans, Span{from, int32(len(idx))})
			}
			for k := range spans { // shuffled, so not in the order of memory
				l := rng.IntN(k + 1)
				spans[k], spans[l] = spans[l], spans[k]
			}
			for first := range spans {
				for last := first; last <= len(spans); last += 1 + last/3 {
					var want, terms float64
					exact := new(big.Int)
					for _, s := range spans[first:last] {
						for j := range PanelColumns {
							var v int64
							for p := s.From; p < s.To; p++ {
								v += int64(val[p]) * int64(x[int(idx[p])*PanelColumns+j])
							}
							exact.Add(exact, new(big.Int).Mul(big.NewInt(v), big.NewInt(v)))
							terms++
						}
					}
					want, _ = new(big.Float).SetInt(exact).Float64()
					bound := 0.0
					if want > 1<<53 {
						bound = terms * eps * want
					}
					if got := PanelSquares(x, spans[first:last], idx, val); !(math.Abs(got-want) <= bound) {
						t.Fatalf("numbers up to %d, spans %d to %d: %v, want %v", most, first, last, got, want)
					}
				}
			}
		}
		x, idx, val := make([]int16, 2*PanelColumns), []int32{0, 0, 1, 1, 0}[1:4], []int16{0, 1, 2, 3, 0}[1:4]
		for name, call := range map[string]func(){
			"part of a row":       func() { PanelSquares(x[:PanelColumns+1], []Span{{0, 1}}, idx, val) },
			"values":              func() { PanelSquares(x, []Span{{0, 1}}, idx, val[:2]) },
			"a row, in a pair":    func() { PanelSquares(x, []Span{{0, 2}}, []int32{0, 2, 0}, val) },
			"the first of a pair": func() { PanelSquares(x, []Span{{0, 2}}, []int32{2, 0, 0}, val) },
			"a row, alone":        func() { PanelSquares(x, []Span{{0, 3}}, []int32{0, 1, 2}, val) },
			"a negative row":      func() { PanelSquares(x, []Span{{0, 3}}, []int32{0, 1, -1}, val) },
			"beyond the entries":  func() { PanelSquares(x, []Span{{0, 2}, {2, 4}}, idx, val) },
			"backwards":           func() { PanelSquares(x, []Span{{2, 1}}, idx, val) },
			"before the entries":  func() { PanelSquares(x, []Span{{-1, 1}}, idx, val) },
			"a negative end":      func() { PanelSquares(x, []Span{{0, -1}}, idx, val) },
		} {
			if panics(call) == nil {
				t.Errorf("%s is accepted", name)
			}
		}
		for _, x := range [][]int16{nil, x} {
			if got := PanelSquares(x, []Span{{0, 0}}, nil, nil); got != 0 {
				t.Errorf("the sum over an empty list is %v, want 0", got)
			}
		}
	})
}
