package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// columnCase is a column of H to be visited, and A, whole and by rows.
type columnCase struct {
	n, r, j  int
	h        []float64
	a        []float64
	l1       float64
	ptr      []int64
	idx      []int32
	val      []float64
	scale    float64
	weighted bool
}

// newColumnCase makes a case whose rows have about the given number of entries, near the diagonal or anywhere.
func newColumnCase(rng *rand.Rand, n, r, entries int, weighted, nearby bool) *columnCase {
	c := &columnCase{n: n, r: r, j: rng.IntN(r), a: make([]float64, n*n), h: make([]float64, n*r), scale: 0.5, weighted: weighted}
	for i := range n {
		for range entries {
			l := rng.IntN(n)
			if nearby {
				l = min(max(i+rng.IntN(23)-11, 0), n-1)
			}
			v := 1.0
			if weighted {
				v = 0.1 + rng.Float64()
			}
			c.a[i*n+l], c.a[l*n+i] = v*c.scale, v*c.scale
		}
	}
	for k := range c.h {
		if rng.IntN(3) > 0 {
			c.h[k] = rng.Float64() * math.Sqrt(float64(entries+1)/float64(r*n))
		}
	}
	c.ptr = append(c.ptr, 0)
	for i := range n {
		for l, v := range c.a[i*n : (i+1)*n] {
			if v != 0 {
				c.idx = append(c.idx, int32(l))
				c.val = append(c.val, v/c.scale)
			}
		}
		c.ptr = append(c.ptr, int64(len(c.idx)))
	}
	if !weighted {
		c.val = nil
	}
	return c
}

// largestRoot returns the largest root of x³ + a·x − b, which has one above √max(0, −a/3), by bisection.
func largestRoot(a, b float64) float64 {
	lo, hi := math.Sqrt(max(0, -a/3)), 1+math.Abs(a)+math.Abs(b)
	for range 2000 {
		if mid := (lo + hi) / 2; (mid*mid+a)*mid-b < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// columnVisits is what visits of a column find, and how close they came to a tie between minimizers, relative to b².
type columnVisits struct {
	decrease, stepSq float64
	changed          int
	tie              float64
}

// visit visits entry i of h, from the definition.
func (c *columnCase) visit(h []float64, i int, norm float64, v *columnVisits) {
	n, r, j := c.n, c.r, c.j
	o := h[i*r+j]
	a, b := -c.a[i*n+i], -c.l1
	for l := range n {
		if l == i {
			continue
		}
		x := h[l*r+j]
		a += x * x
		left := c.a[i*n+l] // of A_il without all columns but j
		for k := range r {
			if k != j {
				left -= h[i*r+k] * h[l*r+k]
			}
		}
		b += left * x
	}
	for k := range r {
		if k != j {
			a += h[i*r+k] * h[i*r+k]
		}
	}
	x := 0.0
	if b > 0 || a < 0 && 27*b*b < -2*a*a*a {
		x = largestRoot(a, b)
	}
	if b < 0 && a < 0 {
		v.tie = min(v.tie, math.Abs(27*b*b/(-2*a*a*a)-1))
	}
	phi := func(x float64) float64 { return x*x*x*x/4 + a*x*x/2 - b*x }
	step := o - max(0, o-((o*o+a)*o-b)/norm)
	v.stepSq += step * step
	v.decrease += phi(o) - phi(x)
	if x != o {
		v.changed++
	}
	h[i*r+j] = x
}

// column returns the column at work, of a copy of H, and what visits its entries one at a time, and counts them.
func (c *columnCase) column(norm float64) (w *Column, one func(i int), ones *int) {
	w = &Column{
		H: slices.Clone(c.h), J: c.j, X: make([]float64, c.n), D: make([]float64, c.r), L1: c.l1, Norm: norm,
		Diag: make([]float64, c.n), RowSq: make([]float64, c.n),
	}
	for i := range c.n {
		w.X[i], w.Diag[i] = w.H[i*c.r+c.j], c.a[i*c.n+i]
	}
	w.Djj = c.findD(w.D, w.H)
	ones = new(int)
	var v columnVisits
	return w, func(i int) {
		*ones++
		before := v
		c.visit(w.H, i, norm, &v)
		w.Decrease += v.decrease - before.decrease
		w.StepSq += v.stepSq - before.stepSq
		w.Changed += v.changed - before.changed
		w.X[i] = w.H[i*c.r+c.j]
		w.RowSq[i] = SumSq(w.H[i*c.r : (i+1)*c.r])
		w.Djj = c.findD(w.D, w.H)
	}, ones
}

// findD sets d to D_j,: with 0 in place of D_jj, which it returns.
func (c *columnCase) findD(d, h []float64) (djj float64) {
	clear(d)
	for i := range c.n {
		for k := range c.r {
			d[k] += h[i*c.r+k] * h[i*c.r+c.j]
		}
	}
	djj, d[c.j] = d[c.j], 0
	return djj
}

// eachTiled is eachPath for those that have tiles, of w rows.
func eachTiled(t *testing.T, f func(t *testing.T, w int)) {
	eachPath(t, func(t *testing.T) {
		w := TileRows(1)
		if w == 0 {
			t.Skip("no tiles without assembly")
		}
		f(t, w)
	})
}

// zeroColumn returns column 0 of an H of zeros with as many rows as the tile has, and no A_ii.
func zeroColumn(w int, djj float64, d ...float64) *Column {
	return &Column{
		H: make([]float64, w*len(d)), X: make([]float64, w), D: d, Djj: djj, Norm: 1,
		Diag: make([]float64, w), RowSq: make([]float64, w),
	}
}

func TestColumnTiles(t *testing.T) {
	eachTiled(t, func(t *testing.T, w int) {
		const norm = 3.0
		visited := 0
		for seed := range uint64(1000) {
			rng := rand.New(rand.NewPCG(1, seed))
			n := w*(1+rng.IntN(6)) + rng.IntN(w)
			c := newColumnCase(rng, n, 1+rng.IntN(2*w+2), 1+rng.IntN(9), seed%2 == 0, seed%3 == 0)
			if seed%5 == 0 {
				c.l1 = 0.01
			}
			what := fmt.Sprintf("seed %d: n = %d, r = %d, j = %d, %d entries, weighted: %v",
				seed, n, c.r, c.j, len(c.idx), c.weighted)
			h, want := slices.Clone(c.h), columnVisits{tie: 1}
			for i := range n {
				c.visit(h, i, norm, &want)
			}
			if want.tie < 1e-6 {
				continue // either minimizer may be found
			}
			col, one, ones := c.column(norm)
			NewColumnTiles(c.r, c.ptr, c.idx, c.val, c.scale).Visit(col, one)
			visited += n - *ones
			near := func(got, want float64, what string, of ...any) {
				if !(math.Abs(got-want) <= 1e-12*(1+math.Abs(want))) {
					t.Fatalf(what+" = %v, want %v", append(of, got, want)...)
				}
			}
			d := make([]float64, c.r)
			near(col.Djj, c.findD(d, h), "%s: D_jj", what)
			for k, v := range d {
				near(col.D[k], v, "%s: D_j%d", what, k)
			}
			for i := range n {
				row := h[i*c.r : (i+1)*c.r]
				for k, v := range row {
					near(col.H[i*c.r+k], v, "%s: H[%d,%d]", what, i, k)
				}
				near(col.RowSq[i], SumSq(row), "%s: ‖H[%d,:]‖²", what, i)
				near(col.X[i], row[c.j], "%s: x[%d]", what, i)
			}
			near(col.Decrease, want.decrease, "%s: decrease", what)
			near(col.StepSq, want.stepSq, "%s: stepSq", what)
			if col.Changed != want.changed {
				t.Errorf("%s: %d entries changed, want %d", what, col.Changed, want.changed)
			}
		}
		if visited == 0 {
			t.Error("no entry was visited in a tile")
		}
	})
}

// TestColumnTilesRange: where powers of what a root is of might overflow or vanish, or where there is a NaN, entries are
// visited one at a time.
func TestColumnTilesRange(t *testing.T) {
	eachTiled(t, func(t *testing.T, w int) {
		for name, v := range map[string]struct {
			by   float64 // of H; A grows by its square
			ones int
		}{
			"as it is": {1, 1}, "small": {0x1p-90, 1}, "large": {0x1p90, 1},
			"vanishing": {0x1p-200, 3*w + 1}, "overflowing": {0x1p200, 3*w + 1}, "not a number": {math.NaN(), 3*w + 1},
		} {
			c := newColumnCase(rand.New(rand.NewPCG(7, 7)), 3*w+1, 5, 4, true, true)
			for k := range c.h {
				c.h[k] = c.h[k]*v.by + v.by/8
			}
			c.scale *= v.by * v.by
			for k := range c.a {
				c.a[k] *= v.by * v.by
			}
			col, _, _ := c.column(3 * v.by * v.by)
			ones := 0
			NewColumnTiles(c.r, c.ptr, c.idx, c.val, c.scale).Visit(col, func(int) { ones++ })
			if ones != v.ones {
				t.Errorf("%s: %d entries visited one at a time, want %d", name, ones, v.ones)
			}
		}
	})
}

// TestColumnTilesMixed: where a tile is visited one entry at a time, because a is exactly 0, the next one does not count
// what some tile has changed before.
func TestColumnTilesMixed(t *testing.T) {
	eachTiled(t, func(t *testing.T, w int) {
		c := newColumnCase(rand.New(rand.NewPCG(9, 9)), 4*w, 3, 5, false, true)
		tiles := NewColumnTiles(c.r, c.ptr, c.idx, c.val, c.scale)
		col, one, ones := c.column(1)
		tiles.Visit(col, one)
		if *ones != 0 {
			t.Fatalf("%d entries visited one at a time", *ones)
		}
		for k := range c.h { // whole numbers, so that sums are exact
			c.h[k] = float64(k % 2)
		}
		c.h[c.j] = 0
		col, one, ones = c.column(1)
		c.a[0] = col.Djj // A_11, which counts in a alone while the entry is 0
		for _, v := range c.h[:c.r] {
			c.a[0] += v * v
		}
		col.Diag[0] = c.a[0]
		h, want := slices.Clone(c.h), &columnVisits{}
		for i := range c.n {
			c.visit(h, i, 1, want)
		}
		tiles.Visit(col, one)
		if *ones != w {
			t.Errorf("%d entries visited one at a time, want %d", *ones, w)
		}
		for k, v := range h {
			if !(math.Abs(col.H[k]-v) <= 1e-12) {
				t.Errorf("H[%d,%d] = %v, want %v", k/c.r, k%c.r, col.H[k], v)
			}
		}
	})
}

// TestColumnTilesNothingLeft: D_jj has drifted below the square of the only entry of its column. When that entry leaves,
// D_jj is 0 and not negative, and no other entry leaves 0 by the root of the difference.
func TestColumnTilesNothingLeft(t *testing.T) {
	eachTiled(t, func(t *testing.T, w int) {
		c := zeroColumn(w, 1-0x1p-50, 0, 5)
		c.H[0], c.H[1], c.X[0] = 1, 1, 1
		NewColumnTiles(2, make([]int64, w+1), nil, nil, 1).Visit(c, func(i int) { t.Errorf("entry %d was not visited in a tile", i) })
		for i, x := range c.X {
			if x != 0 || c.H[2*i] != 0 {
				t.Errorf("x[%d] = %v, H[%d,0] = %v, want 0", i, x, i, c.H[2*i])
			}
		}
		if c.Djj != 0 || c.D[1] != 4 {
			t.Errorf("D_jj = %v, D_j1 = %v, want 0 and 4", c.Djj, c.D[1])
		}
	})
}

// TestColumnTilesRounding: a row enters the column, and the next one's A_lm − ⟨h_l,h_m⟩ is a rounding error, of which no
// entry grows.
func TestColumnTilesRounding(t *testing.T) {
	eachTiled(t, func(t *testing.T, w int) {
		rng := rand.New(rand.NewPCG(3, 3))
		roundings := 0
		for range 100 {
			c := zeroColumn(w, 2, 0, 0, 0, 0)
			for k := 1; k < 4; k++ {
				c.H[k], c.H[4+k] = rng.Float64(), rng.Float64()
			}
			inner := c.H[3]*c.H[7] + c.H[2]*c.H[6] + c.H[1]*c.H[5]
			if inner != c.H[1]*c.H[5]+c.H[2]*c.H[6]+c.H[3]*c.H[7] {
				roundings++
			}
			last := w - 1
			c.H[4*last], c.X[last] = 1, 1
			ptr := []int64{0, 2, 3}
			for i := 2; i < last; i++ {
				ptr = append(ptr, 3)
			}
			ptr = append(ptr, 4)
			tiles := NewColumnTiles(4, ptr, []int32{1, int32(last), 0, 0}, []float64{inner, 1, inner, 1}, 1)
			tiles.Visit(c, func(i int) { t.Errorf("entry %d was not visited in a tile", i) })
			if c.X[0] <= 0 || c.X[1] != 0 {
				t.Errorf("x_0 = %v, x_1 = %v, want x_0 > 0 and x_1 = 0", c.X[0], c.X[1])
			}
		}
		if roundings == 0 {
			t.Error("no inner product depends on the order of its terms")
		}
	})
}

// TestColumnTilesVanishing: D_jj, and with it a, becomes 0 within a tile, and the next row's root is ∛b, whose square's
// square is no longer a number above 0.
func TestColumnTilesVanishing(t *testing.T) {
	eachTiled(t, func(t *testing.T, w int) {
		c := zeroColumn(w, 1, 0, 5)
		const b = 1e-300
		last := w - 1
		c.H[0], c.H[1], c.X[0] = 1, 1, 1
		c.H[2*last], c.X[last] = b, b
		ptr := make([]int64, w+1)
		for i := 2; i <= w; i++ {
			ptr[i] = 1
		}
		tiles := NewColumnTiles(2, ptr, []int32{int32(last)}, nil, 1) // A_1,last = 1
		tiles.Visit(c, func(i int) { t.Errorf("entry %d was not visited in a tile", i) })
		if want := math.Cbrt(b); c.X[0] != 0 || !(math.Abs(c.X[1]-want) <= 4e-15*want) {
			t.Errorf("x_0 = %v, x_1 = %v, want 0 and %v", c.X[0], c.X[1], want)
		}
	})
}

// TestColumnTilesTiny: a root that is tiny beside √a has all its digits.
func TestColumnTilesTiny(t *testing.T) {
	eachTiled(t, func(t *testing.T, w int) {
		const tiny = 1e-200
		c := &columnCase{n: 2 * w, r: 3, h: make([]float64, 6*w), a: make([]float64, 4*w*w), ptr: []int64{0}, scale: tiny}
		hub := c.n - 1
		for i := range c.n { // a star, the hub alone in column 0, of which the others learn by A alone
			first, last := hub, hub
			if i == hub {
				first, last = 0, hub-1
				c.h[i*3], c.h[i*3+1] = 1, 1
			} else {
				c.h[i*3+2] = 1
			}
			for l := first; l <= last; l++ {
				c.a[i*c.n+l] = tiny
				c.idx = append(c.idx, int32(l))
			}
			c.ptr = append(c.ptr, int64(len(c.idx)))
		}
		want, found := slices.Clone(c.h), &columnVisits{}
		for i := range c.n {
			c.visit(want, i, 1, found)
		}
		col, _, _ := c.column(1)
		NewColumnTiles(3, c.ptr, c.idx, nil, tiny).Visit(col, func(i int) { t.Errorf("entry %d was not visited in a tile", i) })
		for i := range hub {
			if got, want := col.H[i*3], want[i*3]; !(math.Abs(got-want) <= 1e-12*want) || want == 0 {
				t.Errorf("H[%d,0] = %v, want %v", i, got, want)
			}
		}
	})
}

// TestColumnTilesAgain: a visit finds what its column changes, whatever the same tiles visited before. A column that H
// does not have panics.
func TestColumnTilesAgain(t *testing.T) {
	eachTiled(t, func(t *testing.T, w int) {
		c := newColumnCase(rand.New(rand.NewPCG(7, 1)), 5*w, 3, 6, true, true)
		tiles := NewColumnTiles(c.r, c.ptr, c.idx, c.val, c.scale)
		var first *Column
		for range 2 {
			col, one, _ := c.column(2)
			tiles.Visit(col, one)
			if first == nil {
				first = col
			}
			if !(first.Decrease > 0) || col.Decrease != first.Decrease || col.StepSq != first.StepSq ||
				col.Changed != first.Changed {
				t.Errorf("%d changes by %v and %v, then, of the same column, %d by %v and %v",
					first.Changed, first.Decrease, first.StepSq, col.Changed, col.Decrease, col.StepSq)
			}
		}
		for _, j := range []int{-1, c.r} {
			col, one, _ := c.column(2)
			col.J = j
			if got := panics(func() { tiles.Visit(col, one) }); got != badIndex {
				t.Errorf("column %d of %d: the panic is %v, want %q", j, c.r, got, badIndex)
			}
		}
	})
}

// TestColumnTilesIndex: a column that A does not have panics, and so does a row that ends beyond its entries, before
// assembly meets them.
func TestColumnTilesIndex(t *testing.T) {
	eachTiled(t, func(t *testing.T, w int) {
		ptr := make([]int64, 3*w+1) // the last row has an entry left of the tile before
		ptr[3*w] = 1
		for name, c := range map[string]struct {
			idx  []int32
			want string
		}{
			"column −1": {[]int32{-1}, badIndex}, "column n": {[]int32{int32(3 * w)}, badIndex}, "no entry": {make([]int32, 0, 1), badLen},
		} {
			if got := panics(func() { NewColumnTiles(1, ptr, c.idx, nil, 1) }); got != c.want {
				t.Errorf("%s: the panic is %v, want %q", name, got, c.want)
			}
		}
	})
}
