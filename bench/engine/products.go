package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"symnmf"
	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// productSets are the sets on which the products of every method are measured.
var productSets = []struct {
	set  string
	form form
	rank int
}{{"CBCL", fromA, 60}, {"hitech", fromA, 30}, {"hitech", fromX, 30}, {"soc-Slashdot0902", fromGraph, 16}}

// productRun is a part of a run of one method on one thread.
type productRun struct {
	Row        string  `json:"row"`
	Of         string  `json:"of"` // "sweeps", or "start" for the start and the first sweep
	Sweeps     int     `json:"sweeps"`
	Seconds    float64 `json:"seconds"`     // of all the sweeps
	Products   float64 `json:"products"`    // the multiply–adds in all, in products of A and as many columns as H has
	Columns    []int   `json:"columns"`     // numbers of columns that A was multiplied by, in more than 1/20 of the work
	Rows       []int   `json:"rows"`        // likewise the numbers of rows of the product made in a call; 0 for all at once
	InProducts float64 `json:"in_products"` // seconds in products
	Nanos      float64 `json:"ns"`          // ns per multiply–add of a product
	Limit      float64 `json:"limit"`       // the least ns per multiply–add on this machine
}

// products measures how long the products with A of each method take, beside the least time possible on this machine.
func (c *config) products(log *journal) error {
	limit := c.limit
	if limit == 0 {
		limit = time.Second
	}
	most := 10 * limit
	s := &shelf{folder: c.data}
	lim := newLimits()
	fmt.Printf("one thread; a multiply–add in cache takes %.4f ns, reading from memory %.4f ns a byte\n", lim.madd, lim.perByte(lim.most))
	for _, set := range productSets {
		var sweeps, starts [][]string
		for _, m := range symnmf.Methods() {
			row := fmt.Sprintf("%s/%s/%d/%s", set.set, set.form, set.rank, m.Name)
			if !c.rows.MatchString(row) {
				continue
			}
			d, err := s.take(set.set, set.form)
			if err != nil {
				return fmt.Errorf("%s: %w", row, err)
			}
			if d == nil {
				break
			}
			a, err := d.operator(set.form, 1)
			if err != nil {
				return fmt.Errorf("%s: %w", row, err)
			}
			first, later, err := measureProducts(a, d.table(set.form), set.rank, m, lim, limit, most)
			switch {
			case errors.Is(err, symnmf.ErrUnfit):
				sweeps = append(sweeps, []string{m.Name, "cannot take it", "-", "-", "-", "-", "-", "-", "-", "-"})
				continue
			case errors.Is(err, errNoSweep):
				sweeps = append(sweeps, []string{m.Name, fmt.Sprintf("none in %v", most), "-", "-", "-", "-", "-", "-", "-", "-"})
				continue
			case err != nil:
				return fmt.Errorf("%s: %w", row, err)
			}
			first.Row, first.Of, later.Row, later.Of = row, "start", row, "sweeps"
			log.add(*first)
			log.add(*later)
			fmt.Fprintf(os.Stderr, "%s\n", row)
			sweeps, starts = append(sweeps, later.cells(m.Name)), append(starts, first.cells(m.Name))
		}
		header := []string{"method", "seconds", "sweeps a second", "products", "columns", "rows a call", "ns a multiply–add", "limit", "ratio",
			"in products, %"}
		for _, t := range []struct {
			what  string
			lines [][]string
		}{{"a sweep", sweeps}, {"up to the end of the first sweep", starts}} {
			if len(t.lines) > 0 {
				fmt.Printf("\n%s/%s, r = %d: %s\n\n", set.set, set.form, set.rank, t.what)
				printTable(os.Stdout, header, t.lines)
			}
		}
	}
	printMissing(os.Stdout, s.missing)
	return nil
}

// table returns the table that the operator of that form is made from.
func (d *dataset) table(f form) matrix.Table {
	if f == fromX {
		return d.x
	}
	return d.a
}

func (r *productRun) cells(method string) []string {
	n := float64(r.Sweeps)
	nanos, limit, ratio, share := "-", "-", "-", "0"
	if r.Products > 0 {
		nanos, limit, ratio = short(r.Nanos), short(r.Limit), fmt.Sprintf("%.2f", r.Nanos/r.Limit)
		share = fmt.Sprintf("%.1f", 100*r.InProducts/r.Seconds)
	}
	return []string{method, short(r.Seconds / n), short(n / r.Seconds), short(r.Products / n), list(r.Columns), list(r.Rows),
		nanos, limit, ratio, share}
}

func list(x []int) string {
	var words []string
	for _, v := range x {
		words = append(words, fmt.Sprint(v))
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, ", ")
}

// errNoSweep reports that no sweep ended in time.
var errNoSweep = errors.New("no sweep ended")

// mark is the end of a sweep.
type mark struct {
	tally
	elapsed time.Duration
}

// measureProducts runs a method for at most most. It returns the figures of everything up to the end of the first
// sweep, and those of the later sweeps: of as many as end within limit after warm sweeps, or of a single sweep if
// sweeps take longer than that. The seconds are those of the same run without a meter.
func measureProducts(a matrix.Operator, x matrix.Table, rank int, method symnmf.Method, lim *limits, limit, most time.Duration) (first, later *productRun, err error) {
	const warm = 2
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	before, err := entriesBefore(a, x)
	if err != nil {
		return nil, nil, err
	}
	_, explicit := a.(matrix.RowVisitor)
	solver, err := symnmf.ParseSolver(method.Name, nil)
	if err != nil {
		return nil, nil, err
	}
	opt := symnmf.Options{Solver: solver, Start: symnmf.Random{}, Threads: 1, Stop: symnmf.Stop{Sweeps: -1, KKT: -1, Time: most}}
	if strings.HasPrefix(method.Start, "svd") {
		opt.Start = symnmf.SVDStart{}
	}

	// The run with the meter determines the number of sweeps.
	m := newMeter(before, !explicit)
	marks := []mark{{m.clone(), 0}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	opt.Progress = func(p symnmf.Progress) {
		if m.taping {
			m.taping = false
			cancel()
			return
		}
		marks = append(marks, mark{m.clone(), p.Elapsed})
		// The first sweep includes the start. It counts only if a second sweep would take too long.
		k := len(marks) - 1
		if p.Elapsed-marks[min(warm, k-1)].elapsed >= limit && (k > 1 || p.Elapsed >= most/2) {
			if m.taping = m.singles > 0; !m.taping {
				cancel()
			}
		}
	}
	if _, err := symnmf.Factorize(ctx, withMeter(a, m), rank, opt); err != nil && !errors.Is(err, context.Canceled) {
		return nil, nil, err
	}
	last := len(marks) - 1
	if last == 0 {
		return nil, nil, errNoSweep
	}
	perSingle := 0.0 // seconds per multiply–add
	if len(m.tape) > 0 {
		from := m.singles
		took := m.replay()
		perSingle = took.Seconds() / float64(from-marks[last].singles)
	}

	times := []time.Duration{0}
	opt.Stop = symnmf.Stop{Sweeps: last, KKT: -1}
	opt.Progress = func(p symnmf.Progress) { times = append(times, p.Elapsed) }
	runtime.GC()
	if _, err := symnmf.Factorize(context.Background(), a, rank, opt); err != nil {
		return nil, nil, err
	}
	if len(times) != len(marks) {
		return nil, nil, fmt.Errorf("%d sweeps with a meter, %d without", last, len(times)-1)
	}
	bound := newReads(lim, a, x)
	part := func(from, to int) *productRun {
		t := marks[to].minus(marks[from].tally)
		r := &productRun{Sweeps: to - from, Seconds: (times[to] - times[from]).Seconds()}
		r.InProducts = (t.spent - time.Duration(t.calls)*lim.tick).Seconds() + float64(t.singles)*perSingle
		terms := t.singles
		limit := float64(t.singles) * bound.single()
		for k, v := range t.terms {
			terms += v
			limit += float64(v) * bound.term(k)
		}
		t.terms[kind{1, 1}] += t.singles
		for k, v := range t.terms {
			if 20*v > terms {
				r.Columns, r.Rows = append(r.Columns, k.cols), append(r.Rows, k.rows)
			}
		}
		slices.Sort(r.Columns)
		slices.Sort(r.Rows)
		r.Columns, r.Rows = slices.Compact(r.Columns), slices.Compact(r.Rows)
		product := float64(before[len(before)-1]) * float64(rank)
		if !explicit {
			product *= 2
		}
		if r.Products = float64(terms) / product; terms > 0 {
			r.Nanos, r.Limit = r.InProducts*1e9/float64(terms), limit/float64(terms)
		}
		return r
	}
	return part(0, 1), part(min(warm, last-1), last), nil
}

// limits has the least times that this machine can reach. Those of reading memory are measured when first needed.
type limits struct {
	madd  float64         // ns per multiply–add of a product in cache
	bytes map[int]float64 // ns per byte of a memory of that many bytes, read again and again
	most  int             // bytes that no longer fit in a cache of the processor
	tick  time.Duration   // time that timing adds to a call
	sink  float64
}

func newLimits() *limits {
	l := &limits{bytes: map[int]float64{}, most: 256 << 20}
	x, c := make([]float64, 128*128), make([]float64, 128*48)
	l.madd = leastNanos(20, 50, func() { kernel.RowsTimes(c, x, 128, x[:128*48], 48) }) / (128 * 128 * 48)
	l.tick = time.Duration(leastNanos(20, 1000, func() { l.sink += float64(time.Since(time.Now())) }))
	return l
}

// perByte returns the ns per byte of an inner product of the two halves of a memory of that size.
func (l *limits) perByte(size int) float64 {
	size = min(max(size, 64), l.most)
	if _, known := l.bytes[size]; !known {
		half := size / 16
		v := make([]float64, 2*half)
		for k := range v { // memory never written to may all map to one page
			v[k] = 1
		}
		l.bytes[size] = leastNanos(5, 1+(64<<20)/size, func() { l.sink += kernel.Dot(v[:half], v[half:]) }) / float64(8*len(v))
	}
	return l.bytes[size]
}

// leastNanos returns the least ns per call of f over several tries, each of several calls.
func leastNanos(tries, calls int, f func()) float64 {
	least := math.Inf(1)
	for range tries {
		start := time.Now()
		for range calls {
			f()
		}
		least = min(least, float64(time.Since(start).Nanoseconds())/float64(calls))
	}
	return least
}

// reads describes what the products of one operator read, which bounds their speed.
type reads struct {
	*limits
	stored int // stored numbers of A, or X
	entry  int // bytes of a stored entry of a sparse A, or X; 0 for dense ones, which take 8
	rows   int // rows of the matrix that they are multiplied by: H; for points, the mean of H and X·H
	points bool
}

func newReads(lim *limits, a matrix.Operator, x matrix.Table) reads {
	_, explicit := a.(matrix.RowVisitor)
	rows, cols := x.Dims()
	r := reads{limits: lim, stored: int(a.Stored()), rows: (rows + cols) / 2, points: !explicit}
	if t, sparse := x.(*matrix.CSR); sparse {
		if r.entry = 12; t.Val == nil {
			r.entry = 4
		}
	}
	return r
}

// term returns the least ns of a multiply–add in a product of that kind. It is the time of the arithmetic or, if that
// takes longer, of reading A and the matrix it is multiplied by from the level of memory that holds so much. A row of a
// dense A is read once for all columns, and the other matrix once for all rows of the call. Each entry of a sparse A
// reads a row of the other matrix.
func (r *reads) term(k kind) float64 {
	of := 8 * r.perByte(8*r.rows*k.cols)
	if r.entry > 0 {
		return max(r.madd, float64(r.entry)*r.perByte(r.entry*r.stored)/float64(k.cols)+of)
	}
	rows := k.rows
	if rows == allRows {
		rows = r.rows
	}
	return max(r.madd, 8*r.perByte(8*r.stored)/float64(k.cols)+of/float64(rows))
}

// single is like term, but for a column of a cursor, which is read and written: for a dense A, once for every four rows
// of A.
func (r *reads) single() float64 {
	of := 8 * r.perByte(8*r.rows)
	switch {
	case r.entry == 0:
		return max(r.madd, 8*r.perByte(8*r.stored)+2*of/4)
	case r.points: // read by At, written by Add
		return float64(r.entry)*r.perByte(r.entry*r.stored) + 1.5*of
	}
	return float64(r.entry)*r.perByte(r.entry*r.stored) + 2*of
}
