package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"symnmf/internal/demo"
	"symnmf/matio"
	"symnmf/matrix"
)

// inputFlags says what INPUT is and how to read it.
type inputFlags struct {
	name       string // a path, "-" or demo:NAME
	format     string // "" means by the extension
	formatFlag string // the flag that sets format
	items      string // "": a similarity; rows, columns: a table of points
	itemsFlag  string // the flag that sets items
	memory     byteSize
	held       float64 // bytes of what was read before
}

const inputArg = "an INPUT (a file, - or demo:NAME)"

func (f *inputFlags) define(cmd *cobra.Command) {
	f.itemsFlag = "items"
	choiceFlag(cmd, &f.items, f.itemsFlag, "INPUT is a table of points, one per row or per\ncolumn, and A holds their inner products", "rows", "columns")
	f.defineFormat(cmd, "format", "INPUT")
	f.defineMemory(cmd)
	cmd.ValidArgsFunction = completeInput
}

func (f *inputFlags) defineFormat(cmd *cobra.Command, flag, what string) {
	f.formatFlag = flag
	formatFlag(cmd, &f.format, flag, "format of "+what+" (default: by its extension)")
}

func (f *inputFlags) defineMemory(cmd *cobra.Command) {
	memoryFlag(cmd.Flags(), &f.memory)
}

// formatFlag defines a flag that names a file format.
func formatFlag(cmd *cobra.Command, value *string, name, usage string) {
	var names []string
	for _, f := range matio.Formats() {
		names = append(names, f.Name)
	}
	choiceFlag(cmd, value, name, usage, names...)
}

const demoPrefix = "demo:"

func completeInput(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, d := range demo.List() {
		if name := demoPrefix + d.Name; typed != "" && strings.HasPrefix(name, typed) {
			names = append(names, name+"\t"+d.Description)
		}
	}
	return names, cobra.ShellCompDirectiveDefault
}

// dataset is an INPUT in memory.
type dataset struct {
	input, name    string // as typed, and for messages
	format, sha256 string
	table          matrix.Table
	rowIDs, colIDs []string
	items          string // similarity, rows or columns
	itemsFlag      string // the flag that sets items
	symmetric      bool   // the file declares it
	eps            float64
	warnings       []string
	limit          int64 // bytes of memory that may be used; 0 means no limit
	thinned        bool  // the table was dense, see thin
}

const (
	similarity    = "similarity"
	standardInput = "standard input"
)

// isFile reports whether out is the file from which INPUT is read, under whatever name.
func (f *inputFlags) isFile(out string) bool {
	if strings.HasPrefix(f.name, demoPrefix) {
		return false
	}
	in, err := os.Stat(f.name)
	if f.name == "-" {
		in, err = os.Stdin.Stat()
	}
	if err != nil {
		return false
	}
	to, err := os.Stat(out)
	return err == nil && os.SameFile(in, to) && to.Mode().IsRegular()
}

// open reads INPUT. Its warnings are those of the reader.
func (f *inputFlags) open(s *streams) (*dataset, error) {
	d := &dataset{input: f.name, name: f.name, items: f.items, itemsFlag: f.itemsFlag}
	if d.items == "" {
		d.items = similarity
	}
	limit := f.memory.limit()
	d.limit = limit
	if set, ok := strings.CutPrefix(f.name, demoPrefix); ok {
		if f.format != "" {
			return nil, usagef("--%s %s is for files, but %s is not a file", f.formatFlag, f.format, f.name)
		}
		return d, d.openDemo(set, f.items)
	}
	if f.name == "-" {
		d.name = standardInput
	}
	if f.name == "-" && f.format == "" {
		return nil, usagef("reading standard input needs --%s, since there is no extension to name the format", f.formatFlag)
	}
	t, err := readTable(s, f.name, f.format, limit, f.held)
	if errors.Is(err, matio.ErrUnknownFormat) {
		return nil, fmt.Errorf("%w; set the format with --%s", err, f.formatFlag)
	}
	if err != nil {
		return nil, raisable(err, limit)
	}
	d.format, d.sha256, d.eps, d.warnings = t.Format, t.SHA256, t.Eps, t.Warnings
	d.rowIDs, d.colIDs, d.symmetric = t.RowIDs, t.ColIDs, t.Symmetric
	d.table = t.Matrix()
	debug.FreeOSMemory() // return what else reading took, before more is allocated
	return d, nil
}

// raisable adds to the error of a file that is too large to be read how to raise the limit.
func raisable(err error, limit int64) error {
	if errors.Is(err, matio.ErrTooLarge) && limit > 0 {
		return fmt.Errorf("%w; --memory-limit raises the limit", err)
	}
	return err
}

// readTable reads a file, or standard input if the name is "-". held is the number of bytes that another
// table takes meanwhile, 0 if there is none.
func readTable(s *streams, name, format string, limit int64, held float64) (*matio.Table, error) {
	opt := matio.Options{Format: format, MaxBytes: limit}
	if limit > program { // a smaller limit is too small for anything; a later check says so, and for what
		opt.Held = program + int64(held)
		defer within(float64(limit))()
	}
	if name == "-" {
		return matio.Read(s.in, standardInput, opt)
	}
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return matio.Read(f, name, opt)
}

func (d *dataset) openDemo(name, items string) error {
	set, err := demo.Open(name)
	if err != nil {
		near := didYouMean(name, demo.Names(), demoPrefix)
		if near == "" {
			near = ": choose one of " + strings.Join(demo.Names(), ", ")
		}
		return usagef("unknown demo set %q%s", name, near)
	}
	d.format, d.sha256, d.rowIDs = "demo", set.SHA256, set.IDs
	if set.Points && items == "" {
		d.items = "rows"
	}
	if set.Sparse != nil {
		d.table, d.colIDs, d.symmetric = set.Sparse, set.IDs, true
	} else {
		d.table = set.Dense
	}
	return nil
}

// n returns the number of items.
func (d *dataset) n() int {
	rows, cols := d.table.Dims()
	if d.items == "columns" {
		return cols
	}
	return rows
}

// ids returns the names of the items, nil if they have none.
func (d *dataset) ids() names {
	if d.items == "columns" || d.items == similarity && d.rowIDs == nil {
		return d.colIDs
	}
	return d.rowIDs
}

// names are ids from a file. A nil names stands for the numbers from 1.
type names []string

func (n names) of(i int) string {
	if n == nil {
		return strconv.Itoa(i + 1)
	}
	return n[i]
}

// at describes the place of an entry for a message: by numbers from 1, and by names where there are any.
func (d *dataset) at(i, j int) string {
	where := func(k int, ids []string) string {
		if ids == nil {
			return strconv.Itoa(k + 1)
		}
		return fmt.Sprintf("%d (%s)", k+1, ids[k])
	}
	place := fmt.Sprintf("row %s, column %s", where(i, d.rowIDs), where(j, d.colIDs))
	if d.symmetric && i != j { // the file has one of the two
		place += " or the other way round"
	}
	return place
}

// each calls f for every nonzero entry, row by row.
func (d *dataset) each(f func(i, j int, v float64)) {
	switch t := d.table.(type) {
	case *matrix.Dense:
		rows, _ := t.Dims()
		for i := range rows {
			for j, v := range t.Row(i) {
				if v != 0 {
					f(i, j, v)
				}
			}
		}
	case *matrix.CSR:
		rows, _ := t.Dims()
		for i := range rows {
			col, val := t.Row(i)
			for p, j := range col {
				switch {
				case val == nil:
					f(i, int(j), 1)
				case val[p] != 0:
					f(i, int(j), val[p])
				}
			}
		}
	}
}

// nonzeros returns the number of nonzero entries.
func (d *dataset) nonzeros() (nnz int64) {
	if t, ok := d.table.(*matrix.CSR); ok && t.Val == nil {
		return t.NNZ()
	}
	d.each(func(int, int, float64) { nnz++ })
	return nnz
}

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

// tell prints the warnings of d after prefix, and returns err, of which they may give the reason.
func (d *dataset) tell(s *streams, prefix string, err error) error {
	for _, w := range d.warnings {
		s.warn(prefix + w)
	}
	return err
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
		return inputf("%s: %d×%d is not square, so it is not a similarity; if it is a table of points, use --%s rows (%s) or --%s columns (%s)",
			d.name, rows, cols, d.itemsFlag, count(int64(rows), "item", "items"), d.itemsFlag, count(int64(cols), "item", "items"))
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
	d.warnOfNumbering()
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

// warnOfNumbering warns of a coordinate that looks like an id of the points: it is named like one and holds a
// different whole number for each of them.
func (d *dataset) warnOfNumbering() {
	table, dense := d.table.(*matrix.Dense)
	names := d.colIDs
	if d.items == "columns" {
		names = d.rowIDs
	}
	if !dense || d.n() < 2 {
		return
	}
	for j, name := range names {
		if !slices.Contains([]string{"id", "index", "idx", "no", "nr"}, strings.ToLower(strings.TrimSpace(name))) {
			continue
		}
		seen := map[float64]bool{}
		for i := range d.n() {
			v := 0.0
			if d.items == "columns" {
				v = table.At(j, i)
			} else {
				v = table.At(i, j)
			}
			if v != math.Trunc(v) || seen[v] {
				break
			}
			seen[v] = true
		}
		if len(seen) == d.n() {
			d.warnings = append(d.warnings, fmt.Sprintf("%s is a different whole number for each item, and counts as a coordinate: "+
				"if these are names, put them in quotes or begin the header with an empty field", name))
		}
	}
}

const distancesWarning = "this looks like distances (zero diagonal, nearly all other entries positive, triangle inequality): " +
	"in a similarity large entries mean similar items, so convert the distances first"

// looksLikeDistances reports whether a square matrix looks like distances: its diagonal is zero,
// more than 90 % of the other entries are positive, these are not all the same, and sampled triples satisfy
// the triangle inequality.
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
	for range 1000 {
		i, j, k := draw.IntN(n), draw.IntN(n), draw.IntN(n)
		x, y, z := math.Sqrt(table.At(i, j)), math.Sqrt(table.At(j, k)), math.Sqrt(table.At(i, k))
		if 2*max(x, y, z) > (x+y+z)*(1+0x1p-20) {
			return false
		}
	}
	return true
}

// thinBelow is a fraction of the numbers that a sweep with a dense A or X would work on. If the nonzero
// entries of a dense table are fewer, auto treats the table as sparse (decision 0033).
const thinBelow = 0.1

// thin replaces a dense table whose entries are nearly all 0 by a sparse one, if there is memory for both.
func (d *dataset) thin() {
	t, dense := d.table.(*matrix.Dense)
	if !dense {
		return
	}
	rows, cols := t.Dims()
	n, nnz := float64(d.n()), float64(d.nonzeros())
	work := min(float64(rows)*float64(cols), n*n) // if points do not outnumber features, A is formed
	if nnz == 0 || nnz >= thinBelow*work || cols > math.MaxInt32 || d.room(12*nnz+8*float64(rows+1), "its sparse form") != nil {
		return
	}
	d.table, d.thinned = t.CSR(), true
	debug.FreeOSMemory() // the dense table
}

// operator returns A and drops the table, which can then be freed unless A uses it.
func (d *dataset) operator(workers int) (matrix.Operator, error) {
	t := d.table
	d.table = nil
	var a matrix.Operator
	var err error
	if d.items == "rows" {
		a, err = matrix.Gram(t, matrix.Rows, workers)
	} else if d.items == "columns" {
		a, err = matrix.Gram(t, matrix.Columns, workers)
	} else if m, ok := t.(*matrix.CSR); ok {
		a, err = matrix.FromCSR(m, d.relativeSymmetryTol())
	} else {
		a, err = matrix.FromDense(t.(*matrix.Dense), d.relativeSymmetryTol())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	return a, nil
}

// count returns "1 entry is" or "5 entries are".
func count(n int64, one, more string) string {
	return strconv.FormatInt(n, 10) + " " + plural(n, one, more)
}

func plural(n int64, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}
