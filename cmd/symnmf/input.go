package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
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
		return usagef("unknown demo set %q%s", name, nearOrAll(name, demo.Names(), demoPrefix))
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
