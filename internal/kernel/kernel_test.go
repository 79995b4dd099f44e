package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const eps = 0x1p-52

// pathNames names the paths, that is, the ways to run a kernel, in the order of best.
var pathNames = []string{"portable", "avx2", "avx512"}

// eachPath runs f as a subtest on each path, and skips the paths that this machine lacks.
func eachPath(t *testing.T, f func(t *testing.T)) {
	for p, name := range pathNames {
		t.Run(name, func(t *testing.T) {
			if p > best() {
				t.Skipf("no %s in this processor, build or GODEBUG", name)
			}
			defer use(p)()
			f(t)
		})
	}
}

// op is a kernel in a form that all tests can call. n is the number of terms or the length, and r the number
// of columns if it has any.
type op struct {
	name  string
	shape func(n, r int) (out int, in []int)
	terms func(n int) int // number of rounded terms of an element of out, its old value among them
	run   func(out []float64, in [][]float64, idx []int32)
	// plain calls add(i, v) for the terms v of each out[i], from the kernel's definition.
	plain func(add func(i int, v float64), r int, in [][]float64, idx []int32)
	rows  int // how many numbers or rows idx picks from; 0 without idx
}

const (
	pickNumbers = 120 // what the sparse vector kernels pick from
	pickRows    = 41  // what GatherRows picks from
	// fetchRows is a number of rows of which some are fetched into the cache ahead, however short they are.
	fetchRows = 1 << 16
)

// ownTerms is for kernels that add a fixed number of terms to each element, and allTerms for those that add
// n.
func ownTerms(k int) func(int) int { return func(int) int { return k } }
func allTerms(n int) int           { return n + 1 }

var vectorOps = []op{
	{
		name:  "Dot",
		shape: func(n, _ int) (int, []int) { return 1, []int{n, n} },
		terms: allTerms,
		run:   func(out []float64, in [][]float64, _ []int32) { out[0] += Dot(in[0], in[1]) },
		plain: func(add func(int, float64), _ int, in [][]float64, _ []int32) {
			for i := range in[0] {
				add(0, in[0][i]*in[1][i])
			}
		},
	}, {
		name:  "SumSq",
		shape: func(n, _ int) (int, []int) { return 1, []int{n} },
		terms: allTerms,
		run:   func(out []float64, in [][]float64, _ []int32) { out[0] += SumSq(in[0]) },
		plain: func(add func(int, float64), _ int, in [][]float64, _ []int32) {
			for _, v := range in[0] {
				add(0, v*v)
			}
		},
	}, {
		name:  "Axpy",
		shape: func(n, _ int) (int, []int) { return n, []int{1, n} },
		terms: ownTerms(2),
		run:   func(out []float64, in [][]float64, _ []int32) { Axpy(out, in[0][0], in[1]) },
		plain: func(add func(int, float64), _ int, in [][]float64, _ []int32) {
			for i, v := range in[1] {
				add(i, in[0][0]*v)
			}
		},
	}, {
		name:  "Axpy4",
		shape: func(n, _ int) (int, []int) { return n, []int{4, n, n, n, n} },
		terms: ownTerms(5),
		run: func(out []float64, in [][]float64, _ []int32) {
			Axpy4(out, (*[4]float64)(in[0]), in[1], in[2], in[3], in[4])
		},
		plain: func(add func(int, float64), _ int, in [][]float64, _ []int32) {
			for k, x := range in[1:] {
				for i, v := range x {
					add(i, in[0][k]*v)
				}
			}
		},
	}, {
		name:  "GatherDot",
		shape: func(n, _ int) (int, []int) { return 1, []int{n, pickNumbers} },
		terms: allTerms,
		run:   func(out []float64, in [][]float64, idx []int32) { out[0] += GatherDot(idx, in[0], in[1]) },
		plain: func(add func(int, float64), _ int, in [][]float64, idx []int32) {
			for p, k := range idx {
				add(0, in[0][p]*in[1][k])
			}
		},
		rows: pickNumbers,
	}, {
		name:  "GatherDot of ones",
		shape: func(n, _ int) (int, []int) { return 1, []int{pickNumbers} },
		terms: allTerms,
		run:   func(out []float64, in [][]float64, idx []int32) { out[0] += GatherDot(idx, nil, in[0]) },
		plain: func(add func(int, float64), _ int, in [][]float64, idx []int32) {
			for _, k := range idx {
				add(0, in[0][k])
			}
		},
		rows: pickNumbers,
	}, {
		name:  "Scatter",
		shape: func(n, _ int) (int, []int) { return pickNumbers, []int{1, n} },
		terms: ownTerms(2),
		run:   func(out []float64, in [][]float64, idx []int32) { Scatter(out, in[0][0], idx, in[1]) },
		plain: func(add func(int, float64), _ int, in [][]float64, idx []int32) {
			for p, k := range idx {
				add(int(k), in[0][0]*in[1][p])
			}
		},
		rows: pickNumbers,
	}, {
		name:  "Scatter of ones",
		shape: func(_, _ int) (int, []int) { return pickNumbers, []int{1} },
		terms: ownTerms(2),
		run:   func(out []float64, in [][]float64, idx []int32) { Scatter(out, in[0][0], idx, nil) },
		plain: func(add func(int, float64), _ int, in [][]float64, idx []int32) {
			for _, k := range idx {
				add(int(k), in[0][0])
			}
		},
		rows: pickNumbers,
	},
}

var rowOps = []op{
	{
		name:  "RowTimes",
		shape: func(n, r int) (int, []int) { return r, []int{n, n * r} },
		terms: allTerms,
		run:   func(out []float64, in [][]float64, _ []int32) { RowTimes(out, in[0], in[1]) },
		plain: func(add func(int, float64), r int, in [][]float64, _ []int32) {
			for i, v := range in[1] {
				add(i%r, in[0][i/r]*v)
			}
		},
	},
	gatherRowsOp("GatherRows", pickRows, true),
	gatherRowsOp("GatherRows of ones", pickRows, false),
	gatherRowsOp("GatherRows, fetching", fetchRows, true),
	gatherRowsOp("GatherRows of ones, fetching", fetchRows, false),
	rowsTimesOp(1, 0, false),
	rowsTimesOp(15, 3, false),
	rowsTimesOp(15, 1, true),
	transTimesOp(1, 2, false),
	transTimesOp(15, 0, false),
	transTimesOp(15, 1, true),
}

func gatherRowsOp(name string, rows int, values bool) op {
	return op{
		name: name,
		shape: func(n, r int) (int, []int) {
			m := max(pickRows, rows/r+1)
			if values {
				return r, []int{m * r, n}
			}
			return r, []int{m * r}
		},
		terms: allTerms,
		run: func(out []float64, in [][]float64, idx []int32) {
			if values {
				GatherRows(out, idx, in[1], in[0])
			} else {
				GatherRows(out, idx, nil, in[0])
			}
		},
		plain: func(add func(int, float64), r int, in [][]float64, idx []int32) {
			for p, l := range idx {
				for k := range r {
					v := in[0][int(l)*r+k]
					if values {
						v *= in[1][p]
					}
					add(k, v)
				}
			}
		},
		rows: pickRows,
	}
}

// call is one call of an op, with its slices where a test wants them.
type call struct {
	op
	n, r    int
	out     []float64
	in      [][]float64
	idx     []int32
	numbers []float64 // what out held before the call
}

// newCall makes the arguments from the numbers that next returns. place puts a copy of a slice where the test
// wants it.
func (o op) newCall(n, r int, rng *rand.Rand, next func() float64, place func([]float64) []float64) *call {
	fill := func(n int) []float64 {
		s := make([]float64, n)
		for i := range s {
			s[i] = next()
		}
		return s
	}
	c := &call{op: o, n: n, r: r}
	outLen, inLens := o.shape(n, r)
	c.numbers = fill(outLen)
	c.out = place(c.numbers)
	for _, l := range inLens {
		c.in = append(c.in, place(fill(l)))
	}
	if o.rows > 0 {
		// Distinct indices, the first and the last row among them. Beyond the length of idx there are numbers
		// that are no row.
		perm := rng.Perm(o.rows)
		for _, must := range []int{0, o.rows - 1} {
			at := slices.Index(perm, must)
			to := rng.IntN(max(1, min(n, o.rows)))
			perm[at], perm[to] = perm[to], perm[at]
		}
		for _, k := range perm[:n] {
			c.idx = append(c.idx, int32(k))
		}
		c.idx = append(c.idx, math.MaxInt32, math.MinInt32, -1)[:n]
	}
	return c
}

// check runs the call and compares with the plain loops. Each element of out must be within terms·ε·Σ|terms|
// of theirs, since both are within half of that of the exact sum. If the numbers are whole, it must be equal.
func (c *call) check(t *testing.T, whole bool) {
	t.Helper()
	want, scale := slices.Clone(c.numbers), make([]float64, len(c.numbers))
	for i, v := range want {
		scale[i] = math.Abs(v)
	}
	c.plain(func(i int, v float64) {
		want[i] += v
		scale[i] += math.Abs(v)
	}, c.r, c.in, c.idx)
	c.run(c.out, c.in, c.idx)
	for i, got := range c.out {
		tol := float64(c.terms(c.n)) * eps * scale[i]
		if whole {
			tol = 0
		}
		if d := math.Abs(got - want[i]); !(d <= tol) && !(math.IsNaN(got) && math.IsNaN(want[i])) {
			t.Fatalf("%s, n = %d, r = %d: element %d is %v, want %v (off by %.2g, bound %.2g)", c.name, c.n, c.r, i, got, want[i], d, tol)
		}
	}
}

// arena keeps slices between guard numbers and remembers what they held.
type arena struct {
	offset int // how many numbers beyond a multiple of 64 bytes the first slice begins; later ones begin elsewhere
	arrays [][]float64
	copies [][]float64
}

const guardLen = 16

var guardNaN = math.Float64frombits(0x7ff8_dead_beef_0001)

func (a *arena) place(s []float64) []float64 {
	offset := (a.offset + 3*len(a.arrays)) % 8
	array := make([]float64, guardLen+offset+len(s)+guardLen)
	for i := range array {
		array[i] = guardNaN
	}
	lo := guardLen + offset
	copy(array[lo:], s)
	a.arrays = append(a.arrays, array)
	a.copies = append(a.copies, slices.Clone(array))
	return array[lo : lo+len(s) : lo+len(s)]
}

// check fails if anything but the written slice, the one placed first, has changed.
func (a *arena) check(t *testing.T, c *call) {
	t.Helper()
	written := guardLen + a.offset%8
	for k, array := range a.arrays {
		for i, v := range array {
			if k == 0 && i >= written && i < written+len(c.out) {
				continue
			}
			if math.Float64bits(v) != math.Float64bits(a.copies[k][i]) {
				t.Fatalf("%s, n = %d, r = %d, offset %d: number %d of array %d changed", c.name, c.n, c.r, a.offset, i, k)
			}
		}
	}
}

// testOp checks one call at each offset, with real and with whole numbers, and that the offset does not
// change a bit of the result.
func testOp(t *testing.T, o op, n, r int, offsets []int) {
	t.Helper()
	if o.rows > 0 && n > o.rows {
		return
	}
	var first []float64
	for _, offset := range offsets {
		for _, whole := range []bool{true, false} {
			rng := rand.New(rand.NewPCG(uint64(n), uint64(r)))
			next := func() float64 { return 2*rng.Float64() - 1 }
			if whole {
				next = func() float64 { return float64(rng.IntN(17) - 8) }
			}
			a := &arena{offset: offset}
			c := o.newCall(n, r, rng, next, a.place)
			c.check(t, whole)
			a.check(t, c)
			switch {
			case whole:
			case first == nil:
				first = slices.Clone(c.out)
			case !slices.Equal(first, c.out):
				t.Fatalf("%s, n = %d, r = %d: offset %d gives other bits than offset %d", o.name, n, r, offset, offsets[0])
			}
		}
	}
}

// TestVectors checks the vector kernels against plain loops, for lengths below 100 and from 1000 to 1099.
func TestVectors(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for _, o := range vectorOps {
			for n := range 100 {
				testOp(t, o, n, 1, []int{0, 1, 2, 3, 4, 5, 6, 7})
				testOp(t, o, 1000+n, 1, []int{0, 5}) // beyond the last threshold
			}
		}
	})
}

// TestRows checks the kernels with columns against plain loops, for up to 130 columns.
func TestRows(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for _, o := range rowOps {
			for r := 1; r <= 130; r++ {
				if testing.Short() && r%4 != 1 {
					continue
				}
				lengths := []int{0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 40}
				if strings.HasSuffix(o.name, "fetching") { // slow to set up; still every number of vectors
					if r%4 != 1 || testing.Short() {
						continue
					}
					lengths = []int{19}
				}
				for _, n := range lengths {
					testOp(t, o, n, r, []int{n % 8, r % 7})
				}
			}
		}
	})
}

// TestFetching: how many indices follow a row decides how much is fetched ahead. It must not change a bit of
// the result.
func TestFetching(t *testing.T) {
	const n = 40
	eachPath(t, func(t *testing.T) {
		for r := 1; r <= 130; r += 3 {
			x, val, idx := random(1, fetchRows+r), random(2, n), randomIndexes(3, 2*n, fetchRows/r)
			from := []int32{0, 3, 3, 20, n} // four rows, or two rows in two pieces each
			narrow := make([]float32, 2*len(x))
			ToFloat32(narrow[:len(x)], x)
			for name, gather := range map[string]func(idx []int32) []float64{
				"GatherRows": func(idx []int32) []float64 {
					acc := make([]float64, r)
					GatherRows(acc, idx, val, x)
					return acc
				},
				"GatherEach": func(idx []int32) []float64 {
					dst := make([]float64, 4*r)
					GatherEach(dst, r, from, idx, val, x, 0.7)
					return dst
				},
				"GatherEach, float32": func(idx []int32) []float64 {
					dst := make([]float64, 4*r)
					GatherEach(dst, r, from, idx, val, narrow, 0.7)
					return dst
				},
				"GatherSplit, float32": func(idx []int32) []float64 {
					both := make([]float64, 4*r)
					GatherSplit(both[:2*r], both[2*r:], r, from, idx, val, narrow, 0.7)
					return both
				},
				"GatherSplit": func(idx []int32) []float64 {
					both := make([]float64, 4*r)
					GatherSplit(both[:2*r], both[2*r:], r, from, idx, val, x, 0.7)
					return both
				},
			} {
				want := gather(slices.Clip(idx[:n]))
				for capacity := n; capacity <= 2*n; capacity++ {
					if !slices.Equal(gather(idx[:n:capacity]), want) {
						t.Fatalf("%s, r = %d: other bits when %d indices follow", name, r, capacity-n)
					}
				}
			}
		}
	})
}

// TestNaN puts a NaN into each input in turn, at up to 50 places or so. It must reach the outputs that depend
// on it and no others.
func TestNaN(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for _, o := range slices.Concat(vectorOps, rowOps) {
			for _, n := range []int{1, 7, 19, 37} {
				for _, r := range []int{1, 3, 6, 11, 66} {
					rng := rand.New(rand.NewPCG(5, 0))
					c := o.newCall(n, r, rng, rng.Float64, slices.Clone)
					for _, in := range c.in {
						for i := 0; i < len(in); i += 1 + len(in)/50 {
							old := in[i]
							in[i] = math.NaN()
							copy(c.out, c.numbers)
							c.check(t, false)
							in[i] = old
						}
					}
				}
			}
		}
	})
}

// panics returns what f panics with, or nil if it does not panic.
func panics(f func()) (what any) {
	defer func() { what = recover() }()
	f()
	return nil
}

// TestLengths: the vector and row kernels panic if the lengths of their slices do not match.
func TestLengths(t *testing.T) {
	x, y := make([]float64, 20), make([]float64, 21)
	idx := make([]int32, 20)
	eachPath(t, func(t *testing.T) {
		for name, f := range map[string]func(){
			"Dot":              func() { Dot(x, y) },
			"Axpy":             func() { Axpy(x, 1, y) },
			"Axpy4, first":     func() { Axpy4(x, new([4]float64), y, x, x, x) },
			"Axpy4, second":    func() { Axpy4(x, new([4]float64), x, y, x, x) },
			"Axpy4, third":     func() { Axpy4(x, new([4]float64), x, x, y, x) },
			"Axpy4, fourth":    func() { Axpy4(x, new([4]float64), x, x, x, y) },
			"RowTimes":         func() { RowTimes(x, []float64{1}, y) },
			"RowTimes, no row": func() { RowTimes(x, nil, y) },
			"GatherRows":       func() { GatherRows(x[:1], idx, y, x) },
			"GatherRows, none": func() { GatherRows(x[:1], idx, []float64{}, x) },
			"GatherDot":        func() { GatherDot(idx, y, x) },
			"Scatter":          func() { Scatter(x, 1, idx, y) },

			"GatherEach, part of a row": func() { GatherEach(x[:5], 4, []int32{0, 1}, idx[:1], nil, x, 1) },
			"AddGathered, values":       func() { AddGathered(x, 4, []int32{0}, []int32{0, 2}, idx[:2], x[:1], x) },
			"AddGathered, z":            func() { AddGathered(x[:3], 4, []int32{0}, []int32{0, 0}, nil, nil, x) },
			"AddGathered, x":            func() { AddGathered(x, 4, []int32{0}, []int32{0, 0}, nil, nil, x[:3]) },
			"NewRowSolver, pitch":       func() { NewRowSolver[float64](4, 3, false) },
		} {
			if got := panics(f); got != badLen {
				t.Errorf("%s with wrong lengths: panic %v, want %q", name, got, badLen)
			}
		}
	})
}

// TestBadIndex puts an index outside the matrix at each place, and expects a panic. GatherRows must then have
// written nothing outside acc.
func TestBadIndex(t *testing.T) {
	const n = 21
	eachPath(t, func(t *testing.T) {
		for _, r := range []int{1, 3, 4, 8, 11, 30, 60, 64, 130} {
			for _, rows := range []int{1, 30, fetchRows / r} {
				for _, bad := range []int32{-1, int32(rows), int32(rows) + 1, math.MaxInt32, math.MinInt32} {
					for at := range n {
						idx := make([]int32, n)
						idx[at] = bad
						a := &arena{}
						acc := a.place(make([]float64, r))
						x := make([]float64, rows*r+r/2, rows*r+5*r) // neither half a row nor capacity counts
						if got := panics(func() { GatherRows(acc, idx, nil, x) }); got != badIndex {
							t.Fatalf("r = %d, %d rows, index %d at %d: panic %v, want %q", r, rows, bad, at, got, badIndex)
						}
						a.check(t, &call{op: op{name: "GatherRows"}, n: n, r: r, out: acc})
					}
				}
			}
		}
		for _, bad := range []int32{-1, 5, math.MaxInt32, math.MinInt32} {
			for at := range 9 {
				idx := make([]int32, 9)
				idx[at] = bad
				for _, val := range [][]float64{nil, make([]float64, 9)} {
					if panics(func() { GatherDot(idx, val, make([]float64, 5)) }) == nil {
						t.Fatalf("GatherDot: no panic for index %d at %d", bad, at)
					}
					if panics(func() { Scatter(make([]float64, 5), 1, idx, val) }) == nil {
						t.Fatalf("Scatter: no panic for index %d at %d", bad, at)
					}
				}
			}
		}
		if got := panics(func() { GatherRows(make([]float64, 8), []int32{0}, nil, make([]float64, 7)) }); got != badIndex {
			t.Errorf("GatherRows with an x shorter than a row: panic %v, want %q", got, badIndex)
		}
	})
}

// TestNoColumns: with r = 0 there is nothing to add to, and the kernels return.
func TestNoColumns(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		GatherRows(nil, []int32{0, 5}, nil, nil)
		RowTimes(nil, []float64{1, 2}, nil)
	})
}

// TestPathsAnySizes compares each path with the plain loops, for kernels, lengths, places in memory and magnitudes
// drawn at random.
func TestPathsAnySizes(t *testing.T) {
	ops := slices.Concat(vectorOps, rowOps)
	eachPath(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 0))
		for range 1000 {
			which := rng.IntN(len(ops))
			o := ops[which]
			length, columns := rng.IntN(1200), 1
			if o.rows > 0 {
				length = rng.IntN(o.rows + 1)
			}
			if which >= len(vectorOps) {
				length, columns = length%(pickRows+1), 1+rng.IntN(130)
			}
			spread := rng.Float64()
			next := func() float64 { // up to 2^±64: no product comes near underflow
				return math.Ldexp(rng.Float64()-0.5, int(spread*(rng.Float64()*128-64)))
			}
			a := &arena{offset: rng.IntN(8)}
			c := o.newCall(length, columns, rng, next, a.place)
			c.check(t, false)
			a.check(t, c)
		}
	})
}
