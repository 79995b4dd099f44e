package experiment

import (
	"strings"

	"symnmf/internal/instance"
	"symnmf/internal/rules"
	"symnmf/matrix"
)

// Need is what the memory of a run depends on, as far as it is known before the run.
type Need struct {
	Key        string
	Rows, Cols int    // of the table
	Items      string // where its items are, for points: rows or columns; "" for a similarity
	Sparse     bool
	Stored     float64      // numbers of the table
	Ones       bool         // all numbers are 1, and the values are not stored
	Table      matrix.Table // the table itself, if it is in memory and the method gets it; else nil
	Held       float64      // bytes of the points that a similarity was made from
	Making     float64      // bytes needed while the table is made, including the table
	Rank       int
	Method     *Method // nil for eigenpairs
}

// Bytes returns the size of the table in bytes.
func (n Need) Bytes() float64 {
	switch {
	case n.Ones:
		return rules.SparseBytes(n.Rows, n.Stored, 0)
	case n.Sparse:
		return rules.SparseBytes(n.Rows, n.Stored, n.Stored)
	}
	return 8 * n.Stored
}

// explicit replaces points with their inner products; stored is how many of those are stored.
func (n *Need) explicit(items int, stored float64) {
	n.Held, n.Rows, n.Cols, n.Items, n.Stored, n.Ones, n.Table = n.Bytes(), items, items, "", stored, false, nil
	n.Making = n.Held + n.Bytes()
	if !n.Sparse { // a second time, as gonum's SymDense
		n.Making += n.Bytes()
	}
}

// form returns the form in which the method gets inner products.
func (r *run) form() string {
	if r.method == nil {
		return r.label
	}
	if r.set.Options["form"] == "explicit" {
		return formA
	}
	return formX
}

// needOfMade returns what is known of a synthetic set before it is made. The number of inner products of a sparse set
// is not known.
func (r *run) needOfMade() Need {
	option := r.set.options()
	n := option.whole("n")
	size := float64(n)
	need := Need{Key: r.key, Rows: n, Cols: n, Stored: size * size, Rank: r.rank, Method: r.method}
	switch strings.TrimPrefix(r.set.Name, synthetic) {
	case "low-rank":
		need.Making = need.Bytes() + 8*size*float64(r.lowRank())
	case "full-rank":
		need.Making = 2 * need.Bytes()
	case "planted":
		inside := 1 / float64(option.whole("groups")) // the fraction of pairs within a group
		need.Sparse = true
		need.Stored *= option.part("in")*inside + option.part("out")*(1-inside)
		need.Making = 2 * need.Bytes()
	case "text":
		m := option.whole("m")
		need.Rows, need.Items, need.Sparse = m, inColumns, true
		need.Stored = float64(m) * float64(option.whole("words"))
		need.Making = need.Bytes()
	}
	return need
}

// needOf returns the need of a run on a set in memory.
func (r *run) needOf(d *dataset) Need {
	table, items := d.x, ""
	if d.x == nil {
		table = d.a
	} else if items = inColumns; d.items == matrix.Rows {
		items = inRows
	}
	need := Need{Key: r.key, Items: items, Table: table, Rank: r.rank, Method: r.method}
	need.Rows, need.Cols = table.Dims()
	need.Stored = float64(need.Rows) * float64(need.Cols)
	if a, sparse := table.(*matrix.CSR); sparse {
		need.Sparse, need.Stored, need.Ones = true, float64(len(a.Col)), a.Val == nil
	}
	if d.x == nil || r.form() == formX {
		return need
	}
	n := d.n()
	stored := float64(n) * float64(n)
	switch a, made := d.a.(*matrix.CSR); {
	case made:
		stored = float64(len(a.Col))
	case need.Sparse:
		stored = float64(instance.CountInnerProducts(d.x.(*matrix.CSR), d.items))
	}
	need.explicit(n, stored)
	return need
}

// n returns the number of items.
func (d *dataset) n() int {
	table := d.x
	if table == nil {
		table = d.a
	}
	rows, cols := table.Dims()
	if d.x != nil && d.items == matrix.Columns {
		return cols
	}
	return rows
}

// items returns the number of items.
func (n Need) items() int {
	if n.Items == inColumns {
		return n.Cols
	}
	return n.Rows
}

// checkAhead refuses, before the first run, runs that are already known to be impossible, except those in done, which are
// not made again. Of a set in a file it knows only whether it holds points.
func (w *worker) checkAhead(list []run, done map[string]bool) error {
	for k := range list {
		r := &list[k]
		if done[r.key] {
			continue
		}
		var need Need
		switch made := strings.HasPrefix(r.set.Name, synthetic); {
		case made:
			need = r.needOfMade()
		case strings.HasPrefix(r.set.Name, demoPrefix):
			d, err := w.shelf.take(r)
			if err != nil {
				return err
			}
			if err := w.takesItems(r, d.x != nil); err != nil {
				return err
			}
			need = r.needOf(d)
		default:
			_, points := fileOf(w.shelf.dir, r.set.Name)
			if err := w.takesItems(r, points); err != nil {
				return err
			}
			continue
		}
		if n := need.items(); r.rank > n {
			return w.plan.errorf(r.experiment.line, "experiment %s: %d columns for the %d items of %s; use a smaller rank or larger sets", r.experiment.Name, r.rank, n, r.set.Name)
		}
		if err := w.suits(r, need.items()); err != nil {
			return err
		}
		if err := w.fits(need); err != nil {
			return err
		}
	}
	return nil
}

// takesItems refuses items= for a set that does not hold points.
func (w *worker) takesItems(r *run, points bool) error {
	items, given := r.set.Options["items"]
	if points || !given {
		return nil
	}
	return w.plan.errorf(r.experiment.line, "experiment %s: items=%s is for points, but %s is a similarity; "+
		"give it a data line without items=", r.experiment.Name, items, r.set.Name)
}

// suits refuses a set whose number of items is not the number of pixels of the pictures to keep.
func (w *worker) suits(r *run, n int) error {
	e := r.experiment
	if e.Pictures == nil {
		return nil
	}
	if err := e.Pictures.fit(n); err != nil {
		return w.plan.errorf(e.line, "experiment %s: %v, the items of %s; give another WxH, or set items= to where the pixels are", e.Name, err, r.set.Name)
	}
	return nil
}

func (w *worker) fits(need Need) error {
	if w.opt.Fits == nil {
		return nil
	}
	return w.opt.Fits(need)
}
