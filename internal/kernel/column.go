package kernel

import "math/bits"

// ColumnTiles visits columns of H as coordinate descent does, for a sparse A: each entry in its turn becomes its exact
// minimizer given all others. It takes a few rows at a time, a tile, side by side.
//
// One at a time, an entry waits some 200 cycles for the root of the one before, of which it needs little: if row m
// changes by x_m − o_m, the linear term of row l changes by (x_m − o_m)·(A_lm − ⟨h_l,h_m⟩), the sum without column j,
// and all but the first factor is known beforehand. So the rows of a tile get coefficients and rough roots as if none
// changed. Then each in its turn takes two steps from there, given what those before it have changed. Meanwhile the
// processor adds up the rows of A·H of the next tile, of the column as it was; what this tile has changed in them is
// added later. First sweeps of graphs take 0.4 to 0.7 of the time (Zen 5, decision 0035).
type ColumnTiles struct {
	w, n  int
	ptr   []int64
	idx   []int32
	val   []float64
	scale float64
	near  []int32 // how many entries row i has left of the columns of its own tile and the tile before
	// pairs are the rows l and m of the entries A_lm, m < l, of each tile k with the tile before, from[2k] on, and of
	// those within it, from[2k+1] on, by l and m.
	pairs []tilePair
	from  []int
	tile  columnTile
	clean bool // tile.near is all zeros
}

// tilePair is a row l and an earlier row m in places of their tiles, 8·m + l.
type tilePair uint8

func (p tilePair) rows() (m, l int) { return int(p / columnWide), int(p % columnWide) }

// columnTile is what assembly reads and writes, in this order. Numbers of rows are in lanes.
type columnTile struct {
	sums             [columnWide]float64 // A_i,:·H_:,j of the next tile
	steps            [columnWide]float64 // what the last tile changed in the column
	decrease, stepSq [columnWide]float64 // what the column's are to grow by
	djj              [columnWide]float64 // D_jj, in the first lane
	near             [columnWide - 1][columnWide]float64
	_                [columnScratch][columnWide]float64
}

// A Column is column j of H while it is visited.
type Column struct {
	H    []float64 // n×r
	J    int
	X    []float64 // H_:,j once more
	D    []float64 // D_j,: of D = HᵀH, with 0 in place of D_jj
	Djj  float64
	L1   float64 // λ_j
	Norm float64 // ‖A‖

	Diag  []float64 // A_ii
	RowSq []float64 // ‖H_i,:‖², only written

	// What visits have found: by how much the objective decreased, the sum of (o − [o − φ′/‖A‖]₊)², φ being the
	// objective over an entry, and how many entries changed.
	Decrease, StepSq float64
	Changed          int
}

// TileRows returns how many rows a tile of an H with r columns has, or 0 if entries are to be visited one at a time:
// without assembly, and where r is so large that products of rows cost more than is gained.
func TileRows(r int) int {
	const most = 50 // columns for each lane: with AVX2 tiles gain nothing there, with AVX-512 a fifth (Zen 5)
	if w := Lanes(); w > 1 && r <= most*w {
		return w
	}
	return 0
}

// NewColumnTiles returns tiles for scale times the n×n matrix whose row i has the entries ptr[i] ≤ p < ptr[i+1], in the
// columns idx, which ascend, with the values val, or ones if it is nil. None of these may change while the tiles are in
// use. r is the number of columns of H. It returns nil if there are no tiles.
func NewColumnTiles(r int, ptr []int64, idx []int32, val []float64, scale float64) *ColumnTiles {
	n, w := len(ptr)-1, TileRows(r)
	if val != nil && len(val) != len(idx) {
		panic(badLen)
	}
	if w == 0 || n < w {
		return nil
	}
	if ptr[n] > int64(len(idx)) {
		panic(badLen)
	}
	t := &ColumnTiles{
		w: w, n: n, ptr: ptr, idx: idx, val: val, scale: scale,
		near: make([]int32, n), from: make([]int, 1, 2*(n/w)+1), clean: true,
	}
	for i := range n {
		first, left := i/w*w-w, 0
		for _, c := range idx[ptr[i]:ptr[i+1]] { // all of them, since assembly relies on it
			if uint(c) >= uint(n) {
				panic(badIndex)
			}
			if int(c) < first {
				left++
			}
		}
		t.near[i] = int32(left)
	}
	for lo := 0; lo+w <= n; lo += w {
		t.findPairs(lo, lo-w)
		t.findPairs(lo, lo)
	}
	return t
}

// findPairs appends the pairs of the tile from row lo on with that from row first on.
func (t *ColumnTiles) findPairs(lo, first int) {
	for l := range t.w {
		i := lo + l
		for p, end := t.ptr[i]+int64(t.near[i]), t.ptr[i+1]; p < end && int(t.idx[p]) < min(i, first+t.w); p++ {
			if m := int(t.idx[p]) - first; m >= 0 {
				t.pairs = append(t.pairs, tilePair(columnWide*m+l))
			}
		}
	}
	t.from = append(t.from, len(t.pairs))
}

// Visit visits the entries of the column in order. one visits entry i where it cannot be done in a tile: at the end, and
// in tiles with roots of numbers whose powers could overflow or vanish. It is to keep H, X, D, Djj and RowSq up to date.
func (t *ColumnTiles) Visit(c *Column, one func(i int)) {
	r := len(c.D)
	if len(c.H) != t.n*r || len(c.X) != t.n || len(c.Diag) != t.n || len(c.RowSq) != t.n || TileRows(r) != t.w {
		panic(badLen)
	}
	if uint(c.J) >= uint(r) {
		panic(badIndex)
	}
	t.tile.decrease, t.tile.stepSq = [columnWide]float64{}, [columnWide]float64{}
	lo, summed := 0, false
	for ; lo+t.w <= t.n; lo += t.w {
		if !summed {
			t.sumUp(c.X, lo)
		}
		if summed = t.visit(c, lo); !summed {
			for i := lo; i < lo+t.w; i++ {
				one(i)
			}
		}
	}
	for i := lo; i < t.n; i++ {
		one(i)
	}
	for l := range t.w {
		c.Decrease += t.tile.decrease[l]
		c.StepSq += t.tile.stepSq[l]
	}
}

// sumUp finds the sums of the tile from row lo on.
func (t *ColumnTiles) sumUp(x []float64, lo int) {
	for l := range t.w {
		from, to := t.ptr[lo+l], t.ptr[lo+l+1]
		val := t.val
		if val != nil {
			val = val[from:to]
		}
		t.tile.sums[l] = t.scale * GatherDot(t.idx[from:to], val, x)
	}
	t.tile.steps = [columnWide]float64{}
	t.couple(lo)
}

// visit visits the tile from row lo on and finds the sums of the next one. If it returns false it has done nothing.
func (t *ColumnTiles) visit(c *Column, lo int) bool {
	next := lo + t.w
	last := next+t.w > t.n
	if last {
		next = lo // whose sums nobody will use
	}
	changed := visitTile(&t.tile, c, lo, t.scale, t.ptr[next:next+t.w+1], t.idx, t.val)
	if changed < 0 {
		return false
	}
	c.Changed += bits.OnesCount(uint(changed))
	c.Djj = t.tile.djj[0]
	c.D[c.J] = 0
	if !last {
		t.couple(next)
	}
	return true
}

// couple accounts for the entries of A that the tile from row lo on has in its own columns, and in those of the tile
// before, whose steps its sums lack.
func (t *ColumnTiles) couple(lo int) {
	if !t.clean {
		clear(t.tile.near[:])
	}
	from := t.from[2*(lo/t.w):]
	before, within := t.pairs[from[0]:from[1]], t.pairs[from[1]:from[2]]
	t.clean = len(within) == 0
	if t.val == nil {
		for _, p := range before {
			m, l := p.rows()
			t.tile.sums[l] += t.scale * t.tile.steps[m]
		}
		for _, p := range within {
			m, l := p.rows()
			t.tile.near[m][l] = t.scale
		}
		return
	}
	if len(before)+len(within) == 0 {
		return
	}
	var next [columnWide]int64 // the places of the entries to come
	for l := range t.w {
		next[l] = t.ptr[lo+l] + int64(t.near[lo+l])
	}
	for _, p := range before {
		m, l := p.rows()
		t.tile.sums[l] += t.scale * t.val[next[l]] * t.tile.steps[m]
		next[l]++
	}
	for _, p := range within {
		m, l := p.rows()
		t.tile.near[m][l] = t.scale * t.val[next[l]]
		next[l]++
	}
}
