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

// productSets are what the products of every method are measured on.
var productSets = []struct {
	set  string
	form form
	rank int
}{{"CBCL", fromA, 60}, {"hitech", fromA, 30}, {"hitech", fromX, 30}, {"soc-Slashdot0902", fromGraph, 16}}

// productRun is a part of a run of one method, one thread.
type productRun struct {
	Row        string  `json:"row"`
	Of         string  `json:"of"` // sweeps, or the start and the first of them
	Sweeps     int     `json:"sweeps"`
	Seconds    float64 `json:"seconds"`  // of all of them
	Products   float64 `json:"products"` // of A and as many columns as H has, in all
	Columns    []int   `json:"columns"`  // of what A was multiplied by in more than a twentieth of it
	Rows       []int   `json:"rows"`     // of the product, in a call; 0 for all at once
	InProducts float64 `json:"in_products"`
	Nanos      float64 `json:"ns"` // a multiply–add of a product
	Limit      float64 `json:"limit"`
}

// products measures what the products with A of each method take, beside the least this machine could.
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

// table is what the operator of that form is made from.
func (d *dataset) table(f form) matrix.Table {
	if f == fromX {
		return d.x
	}
	return d.a
}

func (r *productRun) cells(method string) []string {
	n := float64(r.Sweeps)
	line := []string{method, short(r.Seconds / n), short(n / r.Seconds), short(r.Products / n), list(r.Columns), list(r.Rows), "-", "-", "-", "0"}
	if r.Products > 0 {
		line[6], line[7], line[8] = short(r.Nanos), short(r.Limit), fmt.Sprintf("%.2f", r.Nanos/r.Limit)
		line[9] = fmt.Sprintf("%.1f", 100*r.InProducts/r.Seconds)
	}
	return line
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

// errNoSweep says that no sweep ended in time.
var errNoSweep = errors.New("no sweep ended")

// mark is the end of a sweep.
type mark struct {
	tally
	elapsed time.Duration
}

// measureProducts runs a method, and returns figures of everything up to the end of the first sweep, and of the sweeps after the
// first warm ones for limit, or, where they take longer than that, of one, in a run of no more than most. The seconds are those of the
// same run without a meter.
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

	// The meter's run says how many sweeps there are to be.
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
		// The first sweep has the start in it: it counts only where a second would take too long.
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
	perSingle := 0.0 // seconds a multiply–add
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

// limits is what this machine can do at most, measured when it is first asked for.
type limits struct {
	madd  float64         // ns a multiply–add of a product in cache
	bytes map[int]float64 // ns a byte of so many read again and again
	most  int             // bytes that are no longer in a cache of the processor's own
	tick  time.Duration   // what timing a call adds to it
	sink  float64
}

func newLimits() *limits {
	l := &limits{bytes: map[int]float64{}, most: 256 << 20}
	x, c := make([]float64, 128*128), make([]float64, 128*48)
	l.madd = leastNanos(20, 50, func() { kernel.RowsTimes(c, x, 128, x[:128*48], 48) }) / (128 * 128 * 48)
	l.tick = time.Duration(leastNanos(20, 1000, func() { l.sink += float64(time.Since(time.Now())) }))
	return l
}

// perByte returns the ns that an inner product of the two halves of as much memory takes a byte of it.
func (l *limits) perByte(size int) float64 {
	size = min(max(size, 64), l.most)
	if _, known := l.bytes[size]; !known {
		half := size / 16
		v := make([]float64, 2*half)
		for k := range v { // memory never written to is all one page
			v[k] = 1
		}
		l.bytes[size] = leastNanos(5, 1+(64<<20)/size, func() { l.sink += kernel.Dot(v[:half], v[half:]) }) / float64(8*len(v))
	}
	return l.bytes[size]
}

// leastNanos returns the least ns a call of f of so many tries with so many calls.
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

// reads is what the products of one operator read: what bounds them.
type reads struct {
	*limits
	stored int // numbers of A, or X
	entry  int // bytes of one; 0 for a dense A, which takes 8
	rows   int // of what those are multiplied by: H, or H and X·H in turn
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

// term returns the ns that a multiply–add of a product of that kind takes at least: the arithmetic, or reading A and what it is
// multiplied by from where as much memory lies, if that takes longer. A row of a dense A is read for all columns, and what it is
// multiplied by for all rows of the call; of the latter each entry of a sparse A reads a row.
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

// single is term for a column of a cursor, which is read and written: for a dense A once for four rows of it.
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
