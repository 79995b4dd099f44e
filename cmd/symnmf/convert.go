package main

import (
	"errors"
	"fmt"
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
		Long: `Read IN (a file, - or demo:NAME) and write OUT (a file, or - for standard output), in the formats of their extensions
or of --from and --to. OUT ending in .gz or .zst is compressed. Values are numbers of double precision, and keep
every bit of it; names are lost in formats without them.`,
		Example: `  symnmf convert graph.edges graph.mtx.gz
  symnmf convert demo:karate - --to edges`,
		Args: exactArgs("an IN: a file, - or demo:NAME", "an OUT: a file or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.input.name, f.out = args[0], args[1]
			if f.out == "-" && f.to == "" {
				return usageError{"writing to standard output needs --to, for there is no extension to tell it by", cmd}
			}
			if f.out != "-" && f.input.isFile(f.out) {
				return usageError{fmt.Sprintf("OUT %s: that is IN, which it would replace", f.out), cmd}
			}
			return f.run(s)
		},
	}
	f.input.defineFormat(cmd, "from", "IN")
	formatFlag(cmd, &f.to, "to", "the format of OUT (by its extension when left out)")
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
		return fmt.Errorf("%w; --to says it", err)
	}
	return orSignal(ctx, cannotWrite(f.out, err))
}

// roomToWrite refuses what writing t takes beside it, if it exceeds the limit: as edges, or as a symmetric mtx, a transpose, and the entries of a dense table.
func (d *dataset) roomToWrite(t *matio.Table, out, to string) error {
	info, err := matio.FormatFor(out, to)
	if err != nil {
		return nil // which writing will say
	}
	switch {
	case info.Name == "edges" && t.Dense != nil:
		return d.room(24*float64(d.nonzeros()), "entries that are not 0, and their transpose,")
	case t.Sparse != nil && (info.Name == "edges" || info.Name == "mtx" && t.Symmetric):
		table, _ := d.bytes()
		return d.room(table, "its transpose") // which is as large
	}
	return nil
}

// losses says when the names of t are lost in the format of out, and when its zeros would fill a disk.
func losses(t *matio.Table, out, to string) (told []string) {
	info, err := matio.FormatFor(out, to)
	if err != nil {
		return nil // and writing will say so
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
		told = append(told, fmt.Sprintf("%s holds no names: those of the items are left out; %s keep them", info.Name, others(func(f matio.FormatInfo) bool { return f.Names })))
	}
	if t.Sparse == nil {
		return told
	}
	rows, cols := t.Dims()
	if size, large := withZeros(info, rows, cols, t.Sparse.NNZ()); large {
		told = append(told, fmt.Sprintf("%s holds every zero: %d×%d numbers take %s or more, uncompressed; %s hold what is not zero", info.Name, rows, cols, showBytes(size),
			others(func(f matio.FormatInfo) bool { return f.ZeroBytes == 0 })))
	}
	return told
}

// withZeros returns the least size in bytes of a matrix with all its zeros, and whether that is much: 1 GiB, and ten times as many numbers as are stored.
func withZeros(info matio.FormatInfo, rows, cols int, stored int64) (size float64, large bool) {
	cells := float64(rows) * float64(cols)
	size = cells * float64(info.ZeroBytes)
	return size, size >= 1<<30 && cells >= 10*float64(stored)
}

// onlyPlaces tells whether names say no more than the place: there are none, or they are 0, 1, … or 1, 2, ….
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
