package experiment

import (
	"strings"

	"symnmf/internal/rules"
	"symnmf/matrix"
)

// Need is what the memory of a run depends on, as far as it is known before.
type Need struct {
	Key        string
	Rows, Cols int    // of the table
	Items      string // where its items are, as of points: rows or columns; "" of a similarity
	Sparse     bool
	Stored     float64      // numbers of the table
	Ones       bool         // that are all 1 and not there
	Table      matrix.Table // itself, where it is in memory and the method gets it; else nil
	Held       float64      // bytes of the points that a similarity was made from
	Making     float64      // bytes that are needed while the table is made, itself included
	Rank       int
	Method     *Method // nil for eigenpairs
}

// Bytes returns those of the table.
func (n Need) Bytes() float64 {
	switch {
	case n.Ones:
		return rules.SparseBytes(n.Rows, n.Stored, 0)
	case n.Sparse:
		return rules.SparseBytes(n.Rows, n.Stored, n.Stored)
	}
	return 8 * n.Stored
}

// explicit has the inner products of points, of which so many are stored, in their place.
func (n *Need) explicit(items int, stored float64) {
	n.Held, n.Rows, n.Cols, n.Items, n.Stored, n.Ones, n.Table = n.Bytes(), items, items, "", stored, false, nil
	n.Making = n.Held + n.Bytes()
	if !n.Sparse { // once more, as gonum has them
		n.Making += n.Bytes()
	}
}

// form returns the one in which the method gets inner products.
func (r *run) form() string {
	if r.method == nil {
		return r.label
	}
	if r.set.Options["form"] == "explicit" {
		return formA
	}
	return formX
}

// needOfMade tells what is known of a synthetic set before it is made. How many inner products a sparse one has is not.
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
		inside := 1 / float64(option.whole("groups")) // the part of pairs that are in one group
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

// needOf tells it of a set in memory.
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
		ptr := productRows(inItems(d.x.(*matrix.CSR), d.items))
		stored = float64(ptr[n])
	}
	need.explicit(n, stored)
	return need
}

// n is the number of items.
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

// items is how many there are.
func (n Need) items() int {
	if n.Items == inColumns {
		return n.Cols
	}
	return n.Rows
}

// checkAhead refuses, before the first run, what is known by then not to come about: runs on sets that are made, and on those inside the program. done are
// the runs that are not made again.
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
			need = r.needOf(d)
		default:
			continue
		}
		if n := need.items(); r.rank > n {
			return w.plan.errorf(r.experiment.line, "experiment %s: %d columns for the %d items of %s; a smaller rank, or larger sets", r.experiment.Name, r.rank, n, r.set.Name)
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

// suits refuses items that are not the pixels of the pictures that are to be kept.
func (w *worker) suits(r *run, n int) error {
	e := r.experiment
	if e.Pictures == nil {
		return nil
	}
	if err := e.Pictures.fit(n); err != nil {
		return w.plan.errorf(e.line, "experiment %s: %v, the items of %s; give another WxH, or items= where the pixels are", e.Name, err, r.set.Name)
	}
	return nil
}

func (w *worker) fits(need Need) error {
	if w.opt.Fits == nil {
		return nil
	}
	return w.opt.Fits(need)
}
