package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"symnmf/matio"
	"symnmf/matrix"
)

// convertFlags is the command line of convert.
type convertFlags struct {
	input inputFlags
	out   string
	to    string
}

func newConvert(s *streams) *cobra.Command {
	var f convertFlags
	cmd := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "convert between file formats: " + formatNames(),
		Long: `Read IN (a file, - or demo:NAME) and write OUT (a file, or - for standard output). Their formats
follow from their extensions, or from --from and --to. OUT is compressed if it ends in .gz or .zst.
Values are in double precision and keep every bit. Names are lost in formats that hold none.`,
		Example: `  symnmf convert graph.edges graph.mtx.gz
  symnmf convert demo:karate - --to edges`,
		Args: exactArgs("IN (a file, - or demo:NAME)", "OUT (a file or -)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.input.name, f.out = args[0], args[1]
			if f.out == "-" && f.to == "" {
				return usageError{"writing to standard output needs --to, since there is no extension to name the format", cmd}
			}
			if f.out != "-" && f.input.isFile(f.out) {
				return usageError{fmt.Sprintf("OUT %s: this is IN, which would be overwritten", f.out), cmd}
			}
			return f.run(s)
		},
	}
	f.input.defineFormat(cmd, "from", "IN")
	formatFlag(cmd, &f.to, "to", "format of OUT (default: by its extension)")
	f.input.defineMemory(cmd)
	return cmd
}

func formatNames() string {
	var names []string
	for _, f := range matio.Formats() {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

func (f *convertFlags) run(s *streams) error {
	d, err := f.input.open(s)
	if err != nil {
		return err
	}
	t := &matio.Table{RowIDs: d.rowIDs, ColIDs: d.colIDs, Symmetric: d.symmetric, Eps: d.eps}
	switch m := d.table.(type) {
	case *matrix.Dense:
		t.Dense = m
	case *matrix.CSR:
		t.Sparse = m
	}
	for _, w := range append(d.warnings, losses(t, f.out, f.to)...) {
		s.warn(w)
	}
	if err := d.roomToWrite(t, f.out, f.to); err != nil {
		return err
	}
	if f.out == "-" {
		return matio.Write(s.out, t, f.to)
	}
	ctx, release := catchSignals()
	defer release()
	err = matio.CreateContext(ctx, f.out, t, matio.Options{Format: f.to})
	if errors.Is(err, matio.ErrUnknownFormat) {
		return fmt.Errorf("%w; set the format with --to", err)
	}
	return orSignal(ctx, cannotWrite(f.out, err))
}

// roomToWrite returns an error if the memory that writing t takes beside t would exceed the limit. Edges take
// a transpose, and of a dense table also its entries; a sparse symmetric mtx takes a transpose.
func (d *dataset) roomToWrite(t *matio.Table, out, to string) error {
	info, err := matio.FormatFor(out, to)
	if err != nil {
		return nil // writing reports the error
	}
	switch {
	case info.Name == "edges" && t.Dense != nil:
		return d.room(24*float64(d.nonzeros()), "its nonzero entries and their transpose")
	case t.Sparse != nil && (info.Name == "edges" || info.Name == "mtx" && t.Symmetric):
		table, _ := d.bytes()
		return d.room(table, "its transpose") // the transpose is as large as the table
	}
	return nil
}

// losses returns warnings for a table that is written in the format of out: that its names are lost, and that
// its zeros would take much space.
func losses(t *matio.Table, out, to string) (told []string) {
	info, err := matio.FormatFor(out, to)
	if err != nil {
		return nil // writing reports the error
	}
	others := func(fit func(matio.FormatInfo) bool) string {
		var names []string
		for _, f := range matio.Formats() {
			if fit(f) {
				names = append(names, f.Name)
			}
		}
		return strings.Join(names, ", ")
	}
	if !info.Names && !(onlyPlaces(t.RowIDs) && onlyPlaces(t.ColIDs)) {
		told = append(told, fmt.Sprintf("%s holds no names, so those of the items are lost; %s keep them", info.Name, others(func(f matio.FormatInfo) bool { return f.Names })))
	}
	if info.Name == "edges" && outOfOrder(t.RowIDs) {
		told = append(told, "edges has integer ids in increasing order when it is read, so the items get another order than here")
	}
	if t.Sparse == nil {
		return told
	}
	rows, cols := t.Dims()
	if size, large := withZeros(info, rows, cols, t.Sparse.NNZ()); large {
		told = append(told, fmt.Sprintf("%s stores every zero: %d×%d numbers take %s or more uncompressed; %s store only nonzero entries", info.Name, rows, cols, showBytes(size),
			others(func(f matio.FormatInfo) bool { return f.ZeroBytes == 0 })))
	}
	return told
}

// withZeros returns the least size in bytes of a matrix that is written with all its zeros. large says that
// this is at least 1 GiB and that the matrix has at least ten times as many numbers as are stored.
func withZeros(info matio.FormatInfo, rows, cols int, stored int64) (size float64, large bool) {
	cells := float64(rows) * float64(cols)
	size = cells * float64(info.ZeroBytes)
	return size, size >= 1<<30 && cells >= 10*float64(stored)
}

// onlyPlaces reports whether the names only count the items: there are none, or they are 0, 1, … or 1, 2, ….
func onlyPlaces(ids []string) bool {
	from := func(first int) bool {
		for i, id := range ids {
			if id != strconv.Itoa(first+i) {
				return false
			}
		}
		return true
	}
	return from(0) || from(1)
}

// outOfOrder reports whether the names are all integers, as edge lists have them, and do not increase.
func outOfOrder(ids []string) bool {
	last, increase := int64(math.MinInt64), true
	for _, id := range ids {
		k, err := strconv.ParseInt(id, 10, 64)
		if err != nil || strconv.FormatInt(k, 10) != id || k >= 1e18 || k <= -1e18 {
			return false
		}
		increase = increase && k > last
		last = k
	}
	return !increase
}
