package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"symnmf/matrix"
)

// symmetryTol returns the largest |A_ij − A_ji| that counts as rounding. It is what the library allows for
// sums in double precision or, if that is more, a few units in the last place of the precision of the file,
// to which each of the two numbers was rounded.
func (d *dataset) symmetryTol(largest float64) float64 {
	return largest * d.relativeSymmetryTol()
}

func (d *dataset) relativeSymmetryTol() float64 { return max(matrix.DefaultSymmetryTol, 8*d.eps) }

// repairs are the repairs of bad data that a user may request.
type repairs struct {
	symmetrize string // no, average, max, min
	negatives  string // reject, zero, abs
}

func (r *repairs) define(cmd *cobra.Command) {
	r.symmetrize, r.negatives = "no", "reject"
	choiceFlag(cmd, &r.symmetrize, "symmetrize", "what to do if A_ij and A_ji differ", "no", "average", "max", "min")
	choiceFlag(cmd, &r.negatives, "negatives", "how to treat negative entries", "reject", "zero", "abs")
}

// tell prints the warnings of d, each after prefix. Where there is an error, too, they may give its reason.
func (d *dataset) tell(s *streams, prefix string) {
	for _, w := range d.warnings {
		s.warn(prefix + w)
	}
}

// prepare is repair for data that are to be factored. It also warns of empty items.
func (d *dataset) prepare(r repairs, ignoreDiag bool) error {
	if err := d.repair(r); err != nil {
		return err
	}
	d.warnOfDistances()
	if zero, first := d.emptyItems(ignoreDiag); zero > 0 {
		d.warnings = append(d.warnings, fmt.Sprintf("%s no similarity to any other (a row of zeros), the first is %s: kept, in cluster 0",
			count(zero, "item has", "items have"), d.ids().of(first)))
	}
	return nil
}

// repair checks the data as a similarity or as points and makes the requested repairs. It adds to d.warnings
// what it lets pass but the user should know.
func (d *dataset) repair(r repairs) error {
	rows, cols := d.table.Dims()
	if d.n() == 0 {
		return inputf("%s: no items: the table is %d×%d", d.name, rows, cols)
	}
	if d.items == similarity && rows != cols {
		edges := ""
		if d.looksLikeEdges() {
			edges = "; if each line is an edge, its format is edges"
		}
		return inputf("%s: %d×%d is not square, so it is not a similarity; if it is a table of points, use --%s rows (%s) or --%s columns (%s)%s",
			d.name, rows, cols, d.itemsFlag, count(int64(rows), "item", "items"), d.itemsFlag, count(int64(cols), "item", "items"), edges)
	}
	if err := d.checkNames(); err != nil {
		return err
	}
	if d.format == "csv" || d.format == "tsv" { // in other formats names are unique
		if first, again, found := repeated(d.ids()); found {
			d.warnings = append(d.warnings, fmt.Sprintf("items %d and %d are both named %q: 'symnmf score' cannot tell such items apart", first+1, again+1, d.ids()[first]))
		}
	}
	survey := d.table.Survey()
	if c := survey.NotFinite; c.Count > 0 {
		return inputf("%s: %s not finite, the first is %v in %s: remove or replace %s", d.name, count(c.Count, "entry is", "entries are"), c.Value,
			d.at(c.Row, c.Col), plural(c.Count, "it", "them"))
	}
	if c := survey.Negative; c.Count > 0 {
		if r.negatives == "reject" {
			return inputf("%s: %s negative, the least %v, the first %v in %s; --negatives zero sets them to 0, --negatives abs drops the sign",
				d.name, count(c.Count, "entry is", "entries are"), c.Least, c.Value, d.at(c.Row, c.Col))
		}
		matrix.ReplaceNegatives(d.table, r.negatives == "abs")
		survey = d.table.Survey() // the largest entry may have been one of them
		d.warnings = append(d.warnings, fmt.Sprintf("--negatives %s: %s changed, the least was %v, the first %v in %s", r.negatives,
			count(c.Count, "negative entry was", "negative entries were"), c.Least, c.Value, d.at(c.Row, c.Col)))
	}
	if d.items == similarity {
		return d.makeSymmetric(r.symmetrize, survey.MaxAbs())
	}
	d.warnings = append(d.warnings, d.strangePoints()...)
	return nil
}

// checkNames compares the names of the rows and the columns of a similarity, whose entries are matched by
// position. Names in a different order are an error, different names a warning.
func (d *dataset) checkNames() error {
	if d.items != similarity || d.rowIDs == nil || d.colIDs == nil || slices.Equal(d.rowIDs, d.colIDs) {
		return nil
	}
	at := 0
	for d.rowIDs[at] == d.colIDs[at] {
		at++
	}
	if slices.Equal(slices.Sorted(slices.Values(d.rowIDs)), slices.Sorted(slices.Values(d.colIDs))) {
		return inputf("%s: row %d is %s but column %d is %s: a similarity needs its items in the same order in rows and columns; put the columns into the order of the rows",
			d.name, at+1, d.rowIDs[at], at+1, d.colIDs[at])
	}
	d.warnings = append(d.warnings, fmt.Sprintf("rows and columns have different names, such as %s and %s in place %d: the items take the names of the rows",
		d.rowIDs[at], d.colIDs[at], at+1))
	return nil
}

// repeated returns the places of two equal names, the first such pair in the order of the names.
func repeated(names []string) (first, again int, found bool) {
	order := make([]int32, len(names))
	for k := range order {
		order[k] = int32(k)
	}
	slices.SortFunc(order, func(i, j int32) int { return cmp.Or(strings.Compare(names[i], names[j]), int(i-j)) })
	for k := range max(0, len(order)-1) {
		if i, j := int(order[k]), int(order[k+1]); names[i] == names[j] {
			return i, j, true
		}
	}
	return 0, 0, false
}

var symmetrizations = map[string]matrix.Symmetrization{"average": matrix.Average, "max": matrix.Maximum, "min": matrix.Minimum}

func (d *dataset) makeSymmetric(how string, largest float64) error {
	a := d.table.Asymmetry()
	if a.Diff <= d.symmetryTol(largest) {
		return nil
	}
	entry := func(i, j int) float64 { return d.table.(interface{ At(i, j int) float64 }).At(i, j) }
	v, w := entry(a.Row, a.Col), entry(a.Col, a.Row)
	if how == "no" {
		points := ""
		if d.itemsFlag != "" {
			points = "; if this is a table of points, use --" + d.itemsFlag
		}
		return inputf("%s: not symmetric: %s; the largest difference is %v: %v in %s against %v in %s; --symmetrize average, max or min repairs it%s",
			d.name, count(a.Pairs, "pair differs", "pairs differ"), a.Diff, v, d.at(a.Row, a.Col), w, d.at(a.Col, a.Row), points)
	}
	if err := d.symmetrize(symmetrizations[how], a.Pairs); err != nil {
		return err
	}
	d.warnings = append(d.warnings, fmt.Sprintf("--symmetrize %s: %s changed; the largest difference was %v, in %s", how,
		count(a.Pairs, "pair of entries was", "pairs of entries were"), a.Diff, d.at(a.Row, a.Col)))
	return nil
}

// symmetrize makes the table symmetric. pairs is the number of pairs of entries that differ.
func (d *dataset) symmetrize(how matrix.Symmetrization, pairs int64) error {
	switch t := d.table.(type) {
	case *matrix.Dense:
		t.Symmetrize(how)
	case *matrix.CSR: // it takes a transpose, and the result
		if err := d.room(12*float64(2*t.NNZ()+pairs), "its transpose and a symmetric copy"); err != nil {
			return err
		}
		d.table = t.Symmetrize(how)
	}
	return nil
}

// room returns an error if the given bytes, together with the table, exceed the limit. what names them in the
// message.
func (d *dataset) room(bytes float64, what string) error {
	table, _ := d.bytes()
	held := program + table
	if d.limit <= program || held+bytes <= float64(d.limit) {
		return nil
	}
	return fmt.Errorf("%s: this %w: with %s it takes %s, but the limit is %s; --memory-limit raises the limit", d.name, errMemory, what,
		showBytes(held+bytes), showBytes(float64(d.limit)))
}

// emptyItems returns the number of items whose row of A is zero, off the diagonal if that is ignored, and the
// first of them.
func (d *dataset) emptyItems(ignoreDiag bool) (zero int64, first int) {
	used := make([]bool, d.n())
	d.each(func(i, j int, _ float64) {
		if d.items == "columns" {
			i = j
		} else if d.items == similarity && ignoreDiag && i == j {
			return
		}
		used[i] = true
	})
	for i, u := range used {
		if !u {
			if zero == 0 {
				first = i
			}
			zero++
		}
	}
	return zero, first
}

func (d *dataset) warnOfDistances() {
	if d.items == similarity && d.looksLikeDistances() {
		d.warnings = append(d.warnings, distancesWarning)
	}
}

// strangePoints returns warnings of what may not be meant as points: a graph, and coordinates that look like ids of the
// points.
func (d *dataset) strangePoints() (warnings []string) {
	if d.format == "edges" {
		rows, cols := d.table.Dims()
		warnings = append(warnings, fmt.Sprintf("the %s of the %d×%d matrix of a graph are taken as points: a table of points is csv or tsv", d.items, rows, cols))
	}
	table, dense := d.table.(*matrix.Dense)
	names := d.colIDs
	if d.items == "columns" {
		names = d.rowIDs
	}
	if !dense || d.n() < 2 {
		return warnings
	}
	for j, name := range names {
		if namesNumbers(name) && d.distinctWhole(table, j) {
			warnings = append(warnings, fmt.Sprintf("%s is a different whole number for each item, and counts as a coordinate: "+
				"if these are names, put them in quotes or begin the header with an empty field", name))
		}
	}
	return warnings
}

// namesNumbers reports whether name is one that people give a column of numbers that stand for the items.
func namesNumbers(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	switch name {
	case "id", "index", "idx", "no", "nr", "row", "obs", "case", "identifier", "subject", "serial", "unnamed: 0":
		return true
	}
	return strings.HasSuffix(name, "_id") || strings.HasSuffix(name, " id") || strings.HasSuffix(name, ".id")
}

// distinctWhole reports whether coordinate j of the points is a different whole number for each of them.
func (d *dataset) distinctWhole(table *matrix.Dense, j int) bool {
	seen := map[float64]bool{}
	for i := range d.n() {
		v := 0.0
		if d.items == "columns" {
			v = table.At(j, i)
		} else {
			v = table.At(i, j)
		}
		if v != math.Trunc(v) || seen[v] {
			return false
		}
		seen[v] = true
	}
	return true
}

// looksLikeEdges reports whether a table of text may be a list of edges: in each line two whole numbers that are not
// negative, and perhaps a weight.
func (d *dataset) looksLikeEdges() bool {
	table, dense := d.table.(*matrix.Dense)
	if !dense || d.format != "csv" && d.format != "tsv" || d.rowIDs != nil {
		return false
	}
	rows, cols := table.Dims()
	if rows < 3 || cols != 2 && cols != 3 {
		return false
	}
	for i := range rows {
		for _, v := range table.Row(i)[:2] {
			if v < 0 || v != math.Trunc(v) {
				return false
			}
		}
	}
	return true
}

const distancesWarning = "this looks like distances (zero diagonal, nearly all other entries positive, triangle inequality): " +
	"in a similarity large entries mean similar items, so convert the distances first"

// looksLikeDistances reports whether a square matrix looks like distances: its diagonal is zero,
// more than 90 % of the other entries are positive, these are not all the same, and sampled triples satisfy
// the triangle inequality, but for a few, since distances by road do not always. Triples that begin with the largest
// entry of a row are sampled apart: in small groups these are the ones that break it.
//
// The inequality is tested on square roots. The roots of a metric are a metric again, and so are the roots of
// squared Euclidean distances. Similarities with groups fail the test, since two members of a group are
// further "apart" than the way through an outsider is long.
func (d *dataset) looksLikeDistances() bool {
	n := d.n()
	if n < 4 {
		return false
	}
	enough := 0.9 * float64(n) * float64(n-1)
	if s, ok := d.table.(*matrix.CSR); ok && float64(s.NNZ()) <= enough {
		return false
	}
	table := d.table.(interface{ At(i, j int) float64 })
	for i := range n {
		if table.At(i, i) != 0 {
			return false
		}
	}
	var positive int64
	least, most := math.Inf(1), 0.0
	d.each(func(_, _ int, v float64) {
		if v > 0 {
			positive++
			least, most = min(least, v), max(most, v)
		}
	})
	if float64(positive) <= enough || least == most {
		return false
	}
	draw := rand.New(rand.NewPCG(0, 0)) // the same triples every time
	breaks := func(i, j, k int) bool {
		x, y, z := math.Sqrt(table.At(i, j)), math.Sqrt(table.At(j, k)), math.Sqrt(table.At(i, k))
		return 2*max(x, y, z) > (x+y+z)*(1+0x1p-20)
	}
	// third draws one of the items other than i ≠ j.
	third := func(i, j int) int {
		k := draw.IntN(n - 2)
		for _, taken := range []int{min(i, j), max(i, j)} {
			if k >= taken {
				k++
			}
		}
		return k
	}
	wrong, wrongOfLargest := 0, 0
	for range 1000 {
		i, j := draw.IntN(n), draw.IntN(n-1)
		if j >= i {
			j++
		}
		if breaks(i, j, third(i, j)) {
			wrong++
		}
	}
	for range 200 {
		i := draw.IntN(n)
		j := i // of the largest entry; 0 on the diagonal
		for l := range n {
			if table.At(i, l) > table.At(i, j) {
				j = l
			}
		}
		if j != i && breaks(i, j, third(i, j)) {
			wrongOfLargest++
		}
	}
	return wrong <= 3 && wrongOfLargest <= 20 // by road 3 of 1330 triples of R's eurodist
}
