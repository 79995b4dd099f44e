package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"symnmf"
	"symnmf/internal/rules"
	"symnmf/matrix"
)

// shape is what the memory of a run depends on.
type shape struct {
	rows, cols int
	sparse     bool
	stored     float64 // numbers of the table
	table      float64 // bytes of the table as it is stored
	ids        float64 // bytes of the names
	items      string
	method     string
	rank, runs int
	kicks      int
	atOnce     int     // how many runs or kicks are made at once, 0 for one
	given      bool    // the start is a file
	init       string  // the start, when it has a name
	over       string  // what lai runs, when it is said
	first      string  // and compressed, at first
	block      int     // rows of a block of rowblock, when it is said
	compress   int     // columns that its low rank has beyond the rank, likewise
	oversample int     // and that of lai
	offDiag    bool    // the diagonal is ignored
	bound      bool    // the lower bound is looked for
	held       float64 // bytes of another A that is kept meanwhile
	distinct   float64 // of sparse points: features in a block, all blocks together
}

// shapeOf describes a run on d; the rest is for the caller to fill in.
func shapeOf(d *dataset) shape {
	sh := shape{items: d.items, runs: 1}
	sh.rows, sh.cols = d.table.Dims()
	sh.table, sh.ids = d.bytes()
	switch t := d.table.(type) {
	case *matrix.Dense:
		sh.stored = float64(sh.rows) * float64(sh.cols)
	case *matrix.CSR:
		sh.sparse = true
		sh.stored = float64(len(t.Col))
		sh.countFeatures(t)
	}
	return sh
}

// bytes returns what the table takes as it is stored, and its names.
func (d *dataset) bytes() (table, ids float64) {
	rows, cols := d.table.Dims()
	table = 8 * float64(rows) * float64(cols)
	if t, sparse := d.table.(*matrix.CSR); sparse {
		table = rules.SparseBytes(rows, float64(len(t.Col)), float64(len(t.Val)))
	}
	for _, names := range [][]string{d.rowIDs, d.colIDs} {
		for _, id := range names {
			ids += 16 + float64((len(id)+7)/8*8)
		}
	}
	return table, ids
}

// countFeatures looks at the sparse points x, if x is not a similarity, for distinct.
func (sh *shape) countFeatures(x *matrix.CSR) {
	if sh.items != similarity {
		sh.distinct = sampleBlocks(x, sh.items == "columns")
	}
}

// knob has the shape be that of a method with that knob.
func (sh *shape) knob(key, value string) {
	whole, _ := strconv.Atoi(value) // what is wrong with it is told elsewhere
	switch key {
	case "over":
		sh.over = value
	case "first":
		sh.first = value
	case "block":
		sh.block = whole
	case "compress":
		sh.compress = whole
	case "oversample":
		sh.oversample = whole
	}
}

// groupRows is how many rows a group of symnmf.RowBlock has, at least.
const groupRows = 32

// sampleBlocks returns how many features the items of a block of x have, all blocks together, from a look at some.
func sampleBlocks(x *matrix.CSR, columns bool) (distinct float64) {
	const samples = 8
	n, m := x.Dims()
	if columns {
		n, m = m, n
	}
	blocks := (n + rules.PointsBlock - 1) / rules.PointsBlock
	take := min(samples, blocks)
	last := make([]int, m) // the block that had the feature last, from 1
	for k := range take {
		lo := k * blocks / take * rules.PointsBlock
		hi := min(lo+rules.PointsBlock, n)
		if columns {
			for c := range m {
				col, _ := x.Row(c)
				if from, _ := slices.BinarySearch(col, int32(lo)); from < len(col) && int(col[from]) < hi {
					distinct++
				}
			}
			continue
		}
		for i := lo; i < hi; i++ {
			col, _ := x.Row(i)
			for _, c := range col {
				if last[c] != k+1 {
					last[c] = k + 1
					distinct++
				}
			}
		}
	}
	return distinct * float64(blocks) / float64(max(take, 1))
}

const (
	program = 19<<20 + late
	slack   = 1.05    // for what waits to be collected, see within
	late    = 5 << 20 // what is allocated while the last of it is being collected, by busy processors
	garbage = 8 << 20 // that runs and kicks at once leave besides, see busy
)

// size returns the numbers of items and of the others: of features, or of items again.
func (sh shape) size() (n, m float64) {
	n, m = float64(sh.rows), float64(sh.cols)
	if sh.items == "columns" {
		n, m = m, n
	}
	return n, m
}

// operator returns the bytes of A as an operator, and while it is made, its norm included. points tells whether it keeps points.
func (sh shape) operator() (a, prepare float64, points bool) {
	n, m := sh.size()
	a, prepare = sh.table, sh.table
	points = sh.items != similarity
	switch {
	case points && sh.sparse: // ‖A‖ takes X by features too, and common columns, 8 bytes an entry at most, or panels of whole numbers, and 16 a column
		prepare = 2*sh.table + 2*sh.stored + max(6*sh.stored, min(rules.PanelsRoom, panelsBytes*max(n, m))) + 8*m + 16*max(n, m)
		if sh.forms() { // from X both ways
			prepare = 2*sh.table + 8*n*n + 16*max(n, m)
			if sh.stored >= rules.DenseFrom*n*m { // some features at a time as dense ones, and what they add to A
				prepare += 12*n*n + 8*n*n + rules.IntRoom
			} else { // each thread at work has a place in every feature
				prepare += 8 * m * min(float64(runtime.GOMAXPROCS(0)), math.Ceil(n/rules.NormRows))
			}
			a, points = 8*n*n, false
		}
	case points:
		formed := n <= m                    // A is, and X let go
		if formed == (sh.items == "rows") { // X and its transpose
			prepare = 2 * sh.table
		}
		if formed {
			prepare += 8 * n * n
			a, points = 8*n*n, false
		}
		if r := min(n, m); r >= wholeColumns && r*r <= rules.MostIntSums { // the products that make it, or its norm, of whole numbers, and X as such
			prepare += 8*r*r + min(2*max(n, m)*math.Ceil(r/wholeColumns)*wholeColumns, rules.IntRoom)
		}
		if points && sh.keepsFeatures(n, m) {
			a += 8 * m * m
			prepare += 8 * m * m
		}
	}
	return a, prepare, points
}

// forms says whether A, dense, takes the place of sparse points.
func (sh shape) forms() bool {
	n, _ := sh.size()
	return sh.items != similarity && sh.sparse && rules.FormsSparse(int(n), int64(sh.stored))
}

// keepsFeatures says whether it does, of n points of m features.
func (sh shape) keepsFeatures(n, m float64) bool {
	return !sh.sparse && rules.KeepsFeatures(int(n), int(m))
}

// folds says whether matrix.Folded takes XXᵀ of m features in place of A = XᵀX of n points.
func (sh shape) folds(n, m float64, points bool) bool {
	return points && !sh.offDiag && (sh.keepsFeatures(n, m) || sh.sparse && rules.FoldsSparse(int(n), int(m)))
}

// wholeColumns is of what inner products in integers have a multiple of columns, and how many at least.
const wholeColumns = 16

// panelsBytes is what panels of the whole numbers of sparse points take of their room a row, for 64 threads.
const panelsBytes = 64 * 128

// ahead predicts the most memory, in bytes, that a run needs at once after reading. It is the one place that knows: the
// larger of what the norm of A takes and what the sweeps take, and a little for what waits to be collected, see within.
func (sh shape) ahead() float64 {
	n, m := sh.size()
	r, all := float64(sh.rank), sh.lanes()
	a, prepare, points := sh.operator()
	if sh.forms() { // from here on
		sh.sparse, sh.stored = false, float64(sh.rows)*float64(sh.cols)
	}
	base := a + sh.held + 8*(sh.factors()*n*r+8*n) // the vectors: A_ii twice and others
	start, method := sh.ofStart(n, m, points), sh.ofMethod(n, m, points)
	before := max(start.before, method.before)
	if sh.bound { // after the method has let go of what it has
		before = max(before, sh.eigen(n, m, points))
	}
	at := base + start.shared + method.shared + all*(start.each+method.each)
	waste := 0.0
	if all > 1 {
		waste = garbage
	}
	return program + sh.ids + waste + sh.begun() + slack*(max(prepare+sh.held, at, base+before)+8*all*(squareParts(n)+8)*r*r)
}

// lanes is how many runs and kicks are at once.
func (sh shape) lanes() float64 { return float64(max(sh.atOnce, 1)) }

// factors is how many H there are besides those of the method: those at work, and the best so far.
func (sh shape) factors() float64 {
	more := sh.lanes() - 1
	factors := float64(min(sh.runs, 2)) + more
	if sh.given {
		factors++
	}
	if sh.kicks > 0 { // the best of them, and the start of one; each at once begins from an H of its own, and each of several runs has its best
		factors += 2 + more*float64(min(sh.runs, 2))
	}
	return factors
}

// begun returns the bytes of an H, and of X·H twice, that one of several runs at once begins with while what others leave is being collected: slowly, where processors are busy.
func (sh shape) begun() float64 {
	if sh.atOnce <= 1 {
		return 0
	}
	n, m := sh.size()
	if sh.items == similarity {
		m = 0
	}
	return 8 * (n + 2*m) * float64(sh.rank)
}

// boundMost is by what part more memory a lower bound that nobody asked for may need.
const boundMost = 0.1

// boundOf returns what --bound means for this run, and has ahead count what it takes: auto looks for a bound only where it needs
// hardly more memory than the run does.
func (sh *shape) boundOf(choice string) symnmf.Bound {
	switch choice {
	case "no":
		return symnmf.NoBound
	case "yes":
		sh.bound = true
		return symnmf.AnyBound
	}
	without := sh.ahead()
	if sh.bound = true; sh.ahead() > (1+boundMost)*without {
		sh.bound = false
		return symnmf.NoBound
	}
	return symnmf.CheapBound
}

// alongside is by how many bytes runs and kicks at once may need more than one, where they need more than twice as much.
const alongside = 512 << 20

// together has as many runs, or kicks, be at once as there are threads for, as limit allows, and as need at most twice the memory of one, or alongside more. Runs
// with a limit on their time are none of them.
func (sh *shape) together(threads int, limit int64, timed bool) {
	alone := sh.ahead()
	much := func() bool {
		return sh.ahead() > mostBytes(limit) || sh.ahead()-sh.begun() > max(2*alone, alone+alongside)
	}
	pieces := min(sh.runs, threads)
	if timed {
		pieces = 1
	}
	if sh.kicks > 0 {
		pieces *= min(sh.kicks, threads)
	}
	for sh.atOnce = max(1, min(threads, pieces)); sh.atOnce > 1 && much(); sh.atOnce-- {
	}
}

// peak is ahead, or what has been needed already if that is more.
func (sh shape) peak() float64 {
	already, _ := peakMemory()
	return max(sh.ahead(), float64(already))
}

// fits refuses a run that would need more than limit bytes, 0 meaning no limit but that of addresses.
func (sh shape) fits(limit int64) error {
	need, most := sh.ahead(), mostBytes(limit)
	if need <= most {
		return nil
	}
	var ways []string
	for _, knob := range []struct {
		name  string
		value int
	}{{"block", sh.block}, {"compress", sh.compress}, {"oversample", sh.oversample}} {
		if knob.value > 0 {
			ways = append(ways, fmt.Sprintf("a smaller %s than %d", knob.name, knob.value))
		}
	}
	if random := sh; sh.init == "" && !sh.given {
		if random.init = "random"; random.ahead() <= most {
			ways = append(ways, "--init random")
		}
	}
	switch {
	case sh.method != "clique":
		ways = append(ways, "a smaller -k")
	case sh.sparse:
		ways = append(ways, "fewer edges")
	}
	switch {
	case sh.sparse:
	case sh.items == similarity:
		ways = append(ways, "a sparse file (mtx, npz, edges)")
	default:
		ways = append(ways, "a sparse file (mtx, npz)")
	}
	if sh.items == similarity && sh.method != "clique" {
		ways = append(ways, "--items with the points it comes from")
	}
	return fmt.Errorf("this run %w: it is predicted to need %s, the limit is %s; what would shrink it: %s; --memory-limit raises the limit",
		errMemory, showBytes(need), showBytes(most), strings.Join(ways, ", or "))
}

// errorBytes returns what an A takes that is kept only for the error of an H of the given rank: itself, or what making it
// does, and, for that error, H in its order and scale, and X·H.
func (sh shape) errorBytes(rank int) float64 {
	n, m := sh.size()
	a, prepare, points := sh.operator()
	h := 8 * 2 * n * float64(rank)
	if points {
		h += 8 * m * float64(rank)
	}
	return sh.ids + max(prepare, a+h)
}

// edgeBytes is what an edge takes that similarity keeps, at the worst moment: what was chosen, its transpose, and both entries.
const edgeBytes = 48

// fitsSparsified is fits for what similarity does. It also returns the bytes needed, infinite when
// that depends on the weights, and how many edges there is room for.
func (sh shape) fitsSparsified(f *similarityFlags, threads int, limit int64) (predicted float64, spare int64, err error) {
	n, m := sh.size()
	a, prepare, points := sh.operator()
	base := a + 8*6*n
	entries := n * n // of A off the diagonal, at most
	if sh.sparse && !points {
		entries = min(entries, sh.stored)
	}
	edges := 0.0   // that are chosen for certain
	systems := 0.0 // bytes that go before they are collected
	if f.resistance > 0 {
		logs := math.Log(max(n, 2)) / (f.resistance * f.resistance)
		draws := float64(f.draws)
		if draws == 0 {
			draws = 9 * n * logs
		}
		edges = min(draws, entries/2)
		base += 21 * entries / 2
		if threads > 1 { // counts of goroutines
			base += min(16<<20, 4*float64(threads)*entries/2)
		}
		if n <= min(24*logs, matrix.MostExact) {
			systems = 8 * (n*n + 2*128*n)
		} else {
			systems = 8 * (4*16 + 16) * n
		}
	} else {
		lists := 12 * n * 2 // of a goroutine
		switch {
		case points && sh.sparse:
			base += sh.table
			lists += 9 * n
		case points:
			lists += 8 * 16 * (2*n + m)
		}
		if f.quantile > 0 {
			lists += 16 << 20
		}
		base += float64(threads) * lists
		if f.keep > 0 {
			edges = min(n*float64(f.keep), entries)
		}
	}
	predicted = program + sh.ids + slack*max(prepare, base+systems, base+edgeBytes*edges)
	most := mostBytes(limit)
	if predicted > most {
		shrink := "fewer items, or fewer --threads"
		switch {
		case f.resistance > 0:
			shrink = "fewer --draws, a larger EPS, or fewer edges to begin with"
		case f.keep > 0:
			shrink = "a smaller --keep"
		}
		return 0, 0, tooMuch(fmt.Errorf("it is predicted to need %s", showBytes(predicted)), limit, shrink)
	}
	spare = int64((most/slack - program - sh.ids - base) / edgeBytes)
	if edges == 0 { // nobody knows how many
		predicted = math.Inf(1)
	}
	return predicted, max(spare, 1), nil
}

// tooMuch is the error of what similarity and bench will not do.
func tooMuch(why error, limit int64, shrink string) error {
	return fmt.Errorf("this %w: %w, the limit is %s; what would shrink it: %s; --memory-limit raises the limit", errMemory, why,
		showBytes(mostBytes(limit)), shrink)
}
