package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// hashCase is some rows of a sparse matrix, with further entries before and perhaps after them.
type hashCase struct {
	first int
	ptr   []int64
	col   []int32
	val   []float64
}

// newHashCase draws rows of the given lengths. Columns lie around the diagonal and often on it.
func newHashCase(rng *rand.Rand, first int, lengths ...int) *hashCase {
	const around = 3
	c := &hashCase{first: first, col: make([]int32, around)}
	for k, n := range lengths {
		c.ptr = append(c.ptr, int64(len(c.col)))
		reach := n + n/2 + 1
		lo := min(max(0, first+k-rng.IntN(reach+1)), math.MaxInt32-reach)
		own := rng.Perm(reach)[:n]
		slices.Sort(own)
		for _, j := range own {
			c.col = append(c.col, int32(lo+j))
		}
	}
	c.ptr = append(c.ptr, int64(len(c.col)))
	c.col = append(c.col, make([]int32, rng.IntN(2)*around)...)
	special := []float64{0, math.Copysign(0, -1), 1, 2, math.Inf(1), math.NaN()}
	for p := range c.col {
		if c.val = append(c.val, rng.NormFloat64()); p%3 == 0 {
			c.val[p] = special[rng.IntN(len(special))]
		}
	}
	return c
}

// plain returns what HashRows should return and set.
func (c *hashCase) plain(val []float64) (sum uint64, above []int64) {
	for k := range c.ptr[1:] {
		i, place := c.first+k, c.ptr[k]
		for p := c.ptr[k]; p < c.ptr[k+1]; p++ {
			j := int(c.col[p])
			key := uint64(max(i, j))<<32 | uint64(min(i, j))
			if val != nil {
				v := math.Float64bits(val[p])
				key ^= (v ^ v>>32) * 0x9e3779b97f4a7c15
			}
			if j <= i {
				place = p + 1
			}
			switch {
			case j < i:
				sum += Mix(key)
			case j > i:
				sum -= Mix(key)
			}
		}
		above = append(above, place)
	}
	return sum, above
}

// TestHashRows compares HashRows with its definition, bit for bit, for rows of every length below 70, the
// first and the last ones of a matrix among them, with and without values.
func TestHashRows(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for n := range 70 {
			rng := rand.New(rand.NewPCG(uint64(n), 13))
			for trial := range 8 {
				for _, first := range []int{0, 1, 77, 1 << 20, math.MaxInt32 - 5} {
					lengths := []int{n}
					if trial%2 == 1 {
						lengths = []int{n, rng.IntN(20), 0, n, rng.IntN(3)}
					}
					c := newHashCase(rng, first, lengths...)
					for _, val := range [][]float64{c.val, nil} {
						want, places := c.plain(val)
						above := []int64{-7}
						above = slices.Grow(above, len(lengths)+1)[:len(lengths)+2]
						above[len(lengths)+1] = -7
						got := HashRows(first, c.ptr, c.col, val, above[1:len(lengths)+1])
						if got != want {
							t.Fatalf("rows of %d entries from %d on, values: %t: %#x, want %#x", lengths, first, val != nil, got, want)
						}
						if own := above[1 : len(lengths)+1]; !slices.Equal(own, places) {
							t.Fatalf("rows of %d entries from %d on, values: %t: right of the diagonal from %d on, want %d", lengths, first, val != nil, own, places)
						}
						if above[0] != -7 || above[len(lengths)+1] != -7 {
							t.Fatalf("rows of %d entries from %d on: writes outside above", lengths, first)
						}
					}
				}
			}
		}
		if got := HashRows(5, []int64{2}, []int32{1, 2}, nil, nil); got != 0 {
			t.Errorf("no rows: %#x", got)
		}
		for name, c := range map[string]struct {
			ptr  []int64
			val  []float64
			rows int
			want string
		}{
			"too few values":         {[]int64{0, 3}, make([]float64, 2), 1, badLen},
			"too few pointers":       {[]int64{0}, nil, 1, badLen},
			"too many pointers":      {[]int64{0, 2, 3}, nil, 1, badLen},
			"pointers that decrease": {[]int64{0, 3, 2}, nil, 2, badIndex},
			"a row behind the end":   {[]int64{0, 2, 4}, nil, 2, badIndex},
			"an empty one there":     {[]int64{4, 4}, nil, 1, badIndex},
			"a row before the start": {[]int64{-1, 2}, nil, 1, badIndex},
			"an empty one before it": {[]int64{-1, -1}, nil, 1, badIndex},
		} {
			if got := panics(func() { HashRows(0, c.ptr, []int32{0, 1, 2}, c.val, make([]int64, c.rows)) }); got != c.want {
				t.Errorf("%s: %v, want %s", name, got, c.want)
			}
		}
	})
}
