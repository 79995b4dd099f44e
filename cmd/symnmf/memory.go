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
	"symnmf/internal/system"
	"symnmf/matrix"
)

// shape holds everything on which the memory of a run depends.
type shape struct {
	rows, cols int
	sparse     bool
	stored     float64 // numbers that the table stores
	table      float64 // bytes of the table as it is stored
	ids        float64 // bytes of the names
	items      string
	method     string
	rank, runs int
	kicks      int
	atOnce     int          // number of runs or kicks made at once, 0 for one
	given      bool         // the start is a file
	init       string       // the name of the start, "" if it has none
	over       string       // knob over: the method that lai runs, "" by default
	first      string       // knob first: the first stage of compressed, "" by default
	block      int          // knob block: rows of a block of rowblock, 0 by default
	compress   int          // knob compress: columns beyond R in the low rank of rowblock, 0 by default
	oversample int          // knob oversample: columns beyond R in the low rank of lai, 0 by default
	offDiag    bool         // the diagonal is ignored
	bound      bool         // a lower bound is looked for
	held       float64      // bytes of another A that is kept meanwhile
	distinct   float64      // for sparse points: different features in a block, summed over all blocks
	nonzeros   func() int64 // nil: unknown
}

// shapeOf returns the shape of a run on d. The caller fills in what does not depend on d.
func shapeOf(d *dataset) shape {
	sh := shape{items: d.items, runs: 1, nonzeros: d.nonzeros}
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

// bytes returns the bytes of the table as it is stored, and of its names.
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

// countFeatures sets distinct from the sparse points x. It does nothing if x is a similarity.
func (sh *shape) countFeatures(x *matrix.CSR) {
	if sh.items != similarity {
		sh.distinct = sampleBlocks(x, sh.items == "columns")
	}
}

// knob takes account of a knob of the method.
func (sh *shape) knob(key, value string) {
	whole, _ := strconv.Atoi(value) // a bad value is reported elsewhere
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

// groupRows is the least number of rows of a group of symnmf.RowBlock.
const groupRows = 32

// sampleBlocks estimates, from some of the blocks, how many different features the items of a block of x
// have, summed over all blocks.
func sampleBlocks(x *matrix.CSR, columns bool) (distinct float64) {
	const samples = 8
	n, m := x.Dims()
	if columns {
		n, m = m, n
	}
	blocks := (n + rules.PointsBlock - 1) / rules.PointsBlock
	take := min(samples, blocks)
	last := make([]int, m) // the last block that had the feature, from 1
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
	slack   = 1.05    // factor for garbage that waits to be collected, see within
	late    = 5 << 20 // bytes allocated while busy processors collect the last of it
	garbage = 8 << 20 // further garbage of runs and kicks at once, in bytes
)

// size returns the number n of items and the number m of features, which for a similarity is the number of
// items again.
func (sh shape) size() (n, m float64) {
	n, m = float64(sh.rows), float64(sh.cols)
	if sh.items == "columns" {
		n, m = m, n
	}
	return n, m
}

// operator returns the bytes of A as an operator, and those needed while A and its norm are computed. points
// says that the operator keeps points instead of A.
func (sh shape) operator() (a, prepare float64, points bool) {
	n, m := sh.size()
	a, prepare = sh.table, sh.table
	points = sh.items != similarity
	switch {
	case points && sh.sparse:
		// ‖A‖ also takes X by features and 16 bytes a column, and either common columns, at most 8 bytes an
		// entry, or panels of whole numbers.
		prepare = 2*sh.table + 2*sh.stored + max(6*sh.stored, min(rules.PanelsRoom, panelsBytes*max(n, m))) + 8*m + 16*max(n, m)
		if sh.forms() { // A is formed from X by items and by features
			prepare = 2*sh.table + 8*n*n + 16*max(n, m)
			if sh.stored >= rules.DenseFrom*n*m { // some features at a time are made dense, with room for what they add to A
				prepare += 12*n*n + 8*n*n + rules.IntRoom
			} else { // each working thread keeps its place in every feature
				prepare += 8 * m * min(float64(runtime.GOMAXPROCS(0)), math.Ceil(n/rules.NormRows))
			}
			a, points = 8*n*n, false
		}
	case points:
		formed := n <= m                    // A is formed, and X is dropped
		if formed == (sh.items == "rows") { // takes X and its transpose
			prepare = 2 * sh.table
		}
		if formed {
			prepare += 8 * n * n
			a, points = 8*n*n, false
		}
		kept := points && sh.keepsFeatures(n, m)
		if kept {
			a += 8 * m * m
			prepare += 8 * m * m
		}
		// If the points are whole numbers: X in integers, and sums of products, unless these are kept in any case.
		if r := min(n, m); r >= wholeColumns && r*r <= rules.MostIntSums {
			prepare += min(2*max(n, m)*math.Ceil(r/wholeColumns)*wholeColumns, rules.IntRoom)
			if !formed && !kept {
				prepare += 8 * r * r
			}
		}
	}
	return a, prepare, points
}

// forms reports whether a dense A replaces sparse points.
func (sh shape) forms() bool {
	n, _ := sh.size()
	return sh.items != similarity && sh.sparse && rules.FormsSparse(int(n), int64(sh.stored))
}

// keepsFeatures reports whether the inner products XXᵀ of the features are kept, for n dense points of m
// features.
func (sh shape) keepsFeatures(n, m float64) bool {
	return !sh.sparse && rules.KeepsFeatures(int(n), int(m))
}

// folds reports whether matrix.Folded uses XXᵀ of m features in place of A = XᵀX of n points.
func (sh shape) folds(n, m float64, points bool) bool {
	return points && !sh.offDiag && (sh.keepsFeatures(n, m) || sh.sparse && rules.FoldsSparse(int(n), int(m)))
}

// wholeColumns is the least number of columns for which inner products are computed in integers. Their number
// of columns is rounded up to a multiple of it.
const wholeColumns = 16

// panelsBytes is the number of bytes a row that panels of the whole numbers of sparse points take of their
// room, for 64 threads.
const panelsBytes = 64 * 128

// ahead predicts the most memory, in bytes, that a run needs at once after reading. No other function makes
// this prediction. It is the larger of what the norm of A takes and what the sweeps take, plus a little for
// garbage that waits to be collected (see within).
func (sh shape) ahead() float64 {
	n, m := sh.size()
	r, all := float64(sh.rank), sh.lanes()
	a, prepare, points := sh.operator()
	if sh.forms() { // from here on A is dense
		sh.sparse, sh.stored = false, float64(sh.rows)*float64(sh.cols)
	}
	base := a + sh.held + 8*(sh.factors()*n*r+8*n) // 8·n for vectors: A_ii twice and others
	start, method := sh.ofStart(n, m, points), sh.ofMethod(n, m, points)
	before := max(start.before, method.before)
	if sh.bound { // computed when the method has released its memory
		before = max(before, sh.eigen(n, m, points))
	}
	at := base + start.shared + method.shared + all*(start.each+method.each)
	waste := 0.0
	if all > 1 {
		waste = garbage
	}
	return program + sh.ids + waste + sh.begun() + slack*(max(prepare+sh.held, at, base+before)+8*all*(squareParts(n)+8)*r*r)
}

// lanes returns the number of runs and kicks at once.
func (sh shape) lanes() float64 { return float64(max(sh.atOnce, 1)) }

// factors returns how many H are kept besides those of the method: the current ones and the best so far.
func (sh shape) factors() float64 {
	more := sh.lanes() - 1
	factors := float64(min(sh.runs, 2)) + more
	if sh.given {
		factors++
	}
	if sh.kicks > 0 {
		// The best H of the kicks, and the start of one. Each kick at once begins from its own H, and each of
		// several runs has its best.
		factors += 2 + more*float64(min(sh.runs, 2))
	}
	return factors
}

// begun returns the bytes of an H, and of X·H twice, with which one of several runs at once begins while the
// garbage of others is still being collected. Collecting is slow while processors are busy.
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

// boundMost is the fraction by which a lower bound may raise the memory of a run if it was not requested.
const boundMost = 0.1

// boundOf returns the kind of bound that --bound means for this run, and makes ahead count its memory. auto
// looks for a bound only if that needs hardly more memory than the run does (boundMost).
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

// alongside is how many more bytes runs and kicks at once may need than one alone, even if that more than
// doubles its memory.
const alongside = 512 << 20

// together sets atOnce to the largest number of runs or kicks for which there are threads, which stay within
// limit, and which need at most twice the memory of one, or alongside more. Runs with a time limit are made
// one after another.
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

// peak returns ahead, or the memory that the process has needed so far if that is more.
func (sh shape) peak() float64 {
	already, _ := system.PeakMemory()
	return max(sh.ahead(), float64(already))
}

// fits returns an error if a run would need more than limit bytes. A limit of 0 means only that of the
// address space.
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
	enough := func(change func(*shape)) bool {
		other := sh
		change(&other)
		return other.ahead() <= most
	}
	if sh.init == "" && !sh.given && enough(func(sh *shape) { sh.init = "random" }) {
		ways = append(ways, "--init random")
	}
	if sh.method == "clique" {
		if sh.sparse {
			ways = append(ways, "fewer edges")
		}
	} else {
		helped := sh.method != "auto" && enough(func(sh *shape) { sh.method = "auto" })
		if helped {
			ways = append(ways, "--method auto")
		}
		if sh.rank > 1 && (!helped || enough(func(sh *shape) { sh.rank = 1 })) {
			ways = append(ways, "a smaller -k")
		}
	}
	if !sh.sparse && sh.nonzeros != nil && sh.asSparse().ahead()-program < 0.9*(need-program) {
		formats := "mtx of coordinates, npz of SciPy"
		if sh.items == similarity {
			formats += ", edges"
		}
		ways = append(ways, "a sparse file ("+formats+")")
	}
	if sh.items == similarity && sh.method != "clique" {
		ways = append(ways, "--items with the points A comes from")
	}
	if len(ways) == 0 {
		ways = []string{"fewer items"}
	}
	return fmt.Errorf("this run %w: it is predicted to need %s, but the limit is %s; to reduce the need, use %s; --memory-limit raises the limit",
		errMemory, showBytes(need), showBytes(most), strings.Join(ways, ", or "))
}

// asSparse returns the shape of the same run if its dense table came from a file that lists its nonzero entries.
func (sh shape) asSparse() shape {
	nnz := float64(sh.nonzeros())
	sh.sparse, sh.stored, sh.table = true, nnz, rules.SparseBytes(sh.rows, nnz, nnz)
	if n, m := sh.size(); sh.items != similarity { // at most
		sh.distinct = min(nnz, math.Ceil(n/rules.PointsBlock)*m)
	}
	return sh
}

// errorBytes returns the bytes for an A that is kept only for the error of an H of the given rank. They are
// the larger of what making A takes, and of A itself with H in its order and scale and X·H, which the error
// takes.
func (sh shape) errorBytes(rank int) float64 {
	n, m := sh.size()
	a, prepare, points := sh.operator()
	h := 8 * 2 * n * float64(rank)
	if points {
		h += 8 * m * float64(rank)
	}
	return sh.ids + max(prepare, a+h)
}

// edgeBytes is the number of bytes for an edge that similarity keeps, at the worst moment: the chosen edge,
// its transpose, and both entries.
const edgeBytes = 48

// fitsSparsified is fits for the command similarity. It also returns the predicted bytes, infinite if they
// depend on the weights, and for how many edges there is memory.
func (sh shape) fitsSparsified(f *similarityFlags, threads int, limit int64) (predicted float64, spare int64, err error) {
	n, m := sh.size()
	a, prepare, points := sh.operator()
	base := a + 8*6*n
	entries := n * n // of A off the diagonal, at most
	if sh.sparse && !points {
		entries = min(entries, sh.stored)
	}
	edges := 0.0   // the most edges that are chosen; 0 if unknown
	systems := 0.0 // bytes that are freed before the edges are collected
	if f.resistance > 0 {
		logs := math.Log(max(n, 2)) / (f.resistance * f.resistance)
		draws := float64(f.draws)
		if draws == 0 {
			draws = 9 * n * logs
		}
		edges = min(draws, entries/2)
		base += 21 * entries / 2
		if threads > 1 { // counts of each goroutine
			base += min(16<<20, 4*float64(threads)*entries/2)
		}
		if n <= min(24*logs, matrix.MostExact) {
			systems = 8 * (n*n + 2*128*n)
		} else {
			systems = 8 * (4*16 + 16) * n
		}
	} else {
		lists := 12 * n * 2 // for each goroutine
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
	if edges == 0 { // their number is unknown
		predicted = math.Inf(1)
	}
	return predicted, max(spare, 1), nil
}

// tooMuch returns the error of similarity and bench for what would exceed the limit. shrink names what
// reduces the need.
func tooMuch(why error, limit int64, shrink string) error {
	return fmt.Errorf("this %w: %w, but the limit is %s; to reduce the need, use %s; --memory-limit raises the limit", errMemory, why,
		showBytes(mostBytes(limit)), shrink)
}
