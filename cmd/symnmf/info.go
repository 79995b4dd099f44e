package main

import (
	"bufio"
	"fmt"
	"math"
	"runtime"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"symnmf/internal/median"
	"symnmf/matrix"
)

// infoFlags is the command line of info.
type infoFlags struct {
	input inputFlags
	rank  int
	json  bool
}

func newInfo(s *streams) *cobra.Command {
	var f infoFlags
	cmd := &cobra.Command{
		Use:   "info INPUT",
		Short: "show what is in a file, and how much memory fit would need",
		Long: `Show what is in INPUT: its size, symmetry, diagonal, range of values, bad entries, zero rows,
connected components, degrees and norm, and the memory that fit would need. A table that is not
square is taken as points, one per row, unless --items says columns.`,
		Example: `  symnmf info demo:lesmis
  symnmf info points.npz --items columns -k 30 --json`,
		Args: exactArgs(inputArg),
		RunE: func(_ *cobra.Command, args []string) error {
			f.input.name = args[0]
			if f.rank < 1 {
				return usagef("-k %d: at least 1 column is needed", f.rank)
			}
			return f.run(s)
		},
	}
	f.input.define(cmd)
	wholeVar(cmd.Flags(), &f.rank, "rank", "k", 10, "number `R` of columns of H, for the predicted\nmemory")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

// facts is what info reports. A field is null if it does not apply to the table.
type facts struct {
	Input       string   `json:"input"`
	InputSHA256 string   `json:"input_sha256"`
	Format      string   `json:"format"`
	Items       string   `json:"items"`
	Rows        int      `json:"rows"`
	Columns     int      `json:"columns"`
	N           int      `json:"n"`
	NNZ         int64    `json:"nnz"`
	Density     number   `json:"density"`
	Min         number   `json:"min"`
	Max         number   `json:"max"`
	Negative    int64    `json:"negative"`
	NotFinite   int64    `json:"not_finite"`
	EmptyItems  int64    `json:"zero_rows"`
	Symmetric   *bool    `json:"symmetric"`
	Difference  *number  `json:"largest_difference"`
	Diagonal    *int     `json:"nonzero_diagonal"`
	Components  int      `json:"components"`
	Largest     int      `json:"largest_component"`
	Degrees     degrees  `json:"degrees"`
	NormA       number   `json:"norm_a"`
	L1Unit      number   `json:"l1_unit"`
	Distances   *bool    `json:"looks_like_distances"`
	Rank        int      `json:"rank"`
	PeakMemory  number   `json:"predicted_memory_bytes"`
	MemoryLimit *int64   `json:"memory_limit_bytes"`
	Warnings    []string `json:"warnings"`
}

func (f *infoFlags) run(s *streams) error {
	defer lean()()
	d, err := f.input.open(s)
	if err != nil {
		return err
	}
	if rows, cols := d.table.Dims(); f.input.items == "" && rows != cols {
		d.items = "rows"
		if d.looksLikeEdges() {
			d.warnings = append(d.warnings, "if each line is an edge, the format is edges")
		}
	}
	if d.items != similarity {
		d.warnings = append(d.warnings, d.strangePoints()...)
	}
	d.tell(s, "")
	fitted := *d
	fitted.thin()
	sh := shapeOf(&fitted)
	fitted.table = nil
	sh.rank = f.rank
	sh.boundOf("auto")
	predicted := sh.peak()
	facts := d.facts()
	facts.Rank, facts.MemoryLimit = f.rank, orNull(f.input.memory.limit())
	facts.PeakMemory = number(math.Round(predicted))
	w := bufio.NewWriter(s.out)
	if f.json {
		err = writeJSON(w, facts)
	} else {
		facts.print(tabwriter.NewWriter(w, 0, 0, 2, ' ', 0))
	}
	if err == nil {
		err = w.Flush()
	}
	return err
}

// facts computes everything that info reports. It costs O(nnz + n), and the norm of A.
func (d *dataset) facts() *facts {
	rows, cols := d.table.Dims()
	survey := d.table.Survey()
	nnz := d.nonzeros()
	empty, _ := d.emptyItems(false)
	f := &facts{
		Input: d.input, InputSHA256: d.sha256, Format: d.format, Items: d.items, Rows: rows, Columns: cols, N: d.n(),
		NNZ: nnz, Density: number(float64(nnz) / float64(rows) / float64(cols)),
		Min: number(survey.Min), Max: number(survey.Max), Negative: survey.Negative.Count, NotFinite: survey.NotFinite.Count,
		EmptyItems: empty, NormA: number(math.NaN()), Warnings: append([]string{}, d.warnings...),
	}
	f.Degrees = d.degrees()
	if d.items == similarity {
		diagonal := 0
		d.each(func(i, j int, _ float64) {
			if i == j {
				diagonal++
			}
		})
		a := d.table.Asymmetry()
		f.Components, f.Largest = d.components(a.Pairs == 0)
		symmetric, difference, distances := a.Diff <= d.symmetryTol(survey.MaxAbs()), number(a.Diff), d.looksLikeDistances()
		f.Symmetric, f.Difference, f.Diagonal, f.Distances = &symmetric, &difference, &diagonal, &distances
		if distances {
			f.Warnings = append(f.Warnings, distancesWarning)
		}
	} else {
		f.Components, f.Largest = d.components(false)
	}
	if survey.NotFinite.Count == 0 && rows > 0 && cols > 0 {
		sh := shapeOf(d)
		_, prepare, _ := sh.operator()
		if err := d.room(prepare-sh.table, "what computing ‖A‖ needs"); err != nil {
			f.Warnings = append(f.Warnings, fmt.Sprintf("‖A‖ is left out: %v", err))
		} else {
			f.NormA = number(d.norm(survey.MaxAbs()))
		}
	}
	f.L1Unit = number(math.Pow(float64(f.NormA), 1.5) / float64(f.N))
	return f
}

// norm returns ‖A‖_F, where A holds the inner products if the table holds points. It returns NaN if the norm
// is out of range.
func (d *dataset) norm(largest float64) float64 {
	if d.items != similarity {
		items := matrix.Rows
		if d.items == "columns" {
			items = matrix.Columns
		}
		a, err := matrix.Gram(d.table, items, runtime.GOMAXPROCS(0))
		if err != nil {
			return math.NaN()
		}
		return a.Norm()
	}
	if largest == 0 {
		return 0
	}
	var sum float64
	d.each(func(_, _ int, v float64) { sum += (v / largest) * (v / largest) })
	return largest * math.Sqrt(sum)
}

// degrees returns the least, the median and the largest degree of the items. The degree of an item is its
// number of nonzero entries off the diagonal in a similarity, and its number of nonzero coordinates among
// points.
func (d *dataset) degrees() degrees {
	degree := make([]int, d.n())
	d.each(func(i, j int, _ float64) {
		switch {
		case d.items == "columns":
			degree[j]++
		case d.items == "rows" || i != j:
			degree[i]++
		}
	})
	if len(degree) == 0 {
		return degrees{}
	}
	slices.Sort(degree)
	return degrees{degree[0], median.OfSorted(degree), degree[len(degree)-1]}
}

type degrees struct {
	Least   int     `json:"min"`
	Median  float64 `json:"median"`
	Largest int     `json:"max"`
}

// components returns the number of connected components of the items and the size of the largest. Two items
// of a similarity are joined by a nonzero entry, two points by a coordinate that is nonzero in both. If the
// matrix is symmetric, only the entries up to the diagonal are looked at.
//
// It uses union-find by size with path halving: O(nnz), times a factor below 5.
func (d *dataset) components(symmetric bool) (number, largest int) {
	rows, cols := d.table.Dims()
	nodes, shift := rows, 0
	if d.items != similarity { // the bipartite graph of rows and columns
		nodes, shift = rows+cols, rows
	}
	// There are fewer than 2³¹ rows and fewer than 2³¹ columns, so uint32 is enough.
	parent, size := make([]uint32, nodes), make([]uint32, nodes)
	first := 0 // the nodes that are items: first ≤ v < first+n
	if d.items == "columns" {
		first = rows
	}
	for v := range parent {
		parent[v] = uint32(v)
		if v >= first && v < first+d.n() {
			size[v] = 1 // of items only
		}
	}
	root := func(v uint32) uint32 {
		for parent[v] != v {
			parent[v] = parent[parent[v]]
			v = parent[v]
		}
		return v
	}
	row, a := -1, uint32(0) // the current row and its root
	d.each(func(i, j int, _ float64) {
		if symmetric && j > i {
			return
		}
		if i != row {
			row, a = i, root(uint32(i))
		}
		b := root(uint32(j + shift))
		if a == b {
			return
		}
		if size[a] < size[b] {
			a, b = b, a
		}
		parent[b] = a
		size[a] += size[b]
	})
	for v, up := range parent {
		if up == uint32(v) && size[v] > 0 {
			number++
			largest = max(largest, int(size[v]))
		}
	}
	return number, largest
}

// print writes the facts in a form for people.
func (f *facts) print(t *tabwriter.Writer) {
	defer t.Flush()
	line := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	line("input", "%s (%s)", harmless(f.Input), f.Format)
	if f.Items == similarity {
		line("items", "%d, similarity", f.N)
	} else {
		line("items", "%d, points in the %s of %d×%d", f.N, f.Items, f.Rows, f.Columns)
	}
	share := ""
	if !math.IsNaN(float64(f.Density)) {
		share = fmt.Sprintf(" (%.3g %%)", 100*float64(f.Density))
	}
	line("nonzero entries", "%d%s", f.NNZ, share)
	line("range", "%v to %v", float64(f.Min), float64(f.Max))
	if f.Negative > 0 {
		line("negative entries", "%d (fit needs --negatives zero or abs)", f.Negative)
	}
	if f.NotFinite > 0 {
		line("NaN or infinite", "%d (fit refuses them)", f.NotFinite)
	}
	if f.Symmetric != nil {
		switch {
		case *f.Symmetric && *f.Difference == 0:
			line("symmetric", "yes")
		case *f.Symmetric:
			line("symmetric", "yes, up to rounding (largest difference %.3g)", float64(*f.Difference))
		default:
			line("symmetric", "no, largest difference %v (fit needs --symmetrize, or --items if these are points)", float64(*f.Difference))
		}
		switch *f.Diagonal {
		case 0:
			line("diagonal", "zero")
		case f.N:
			line("diagonal", "nonzero")
		default:
			line("diagonal", "nonzero in %d of %d", *f.Diagonal, f.N)
		}
	}
	line("zero rows", "%d", f.EmptyItems)
	line("components", "%d, the largest with %s", f.Components, count(int64(f.Largest), "item", "items"))
	what := "degrees"
	if f.Items != similarity {
		what = "nonzeros per item"
	}
	line(what, "%d to %d, median %g", f.Degrees.Least, f.Degrees.Largest, f.Degrees.Median)
	if math.IsNaN(float64(f.NormA)) {
		line("‖A‖", "unknown")
	} else {
		line("‖A‖", "%.6g", float64(f.NormA))
		line("unit of --l1", "%.6g (‖A‖^1.5/n)", float64(f.L1Unit))
	}
	if f.Distances != nil && *f.Distances {
		line("looks like", "distances; convert them to similarities, in which large entries mean similar items")
	}
	memory := fmt.Sprintf("%s for -k %d", showBytes(float64(f.PeakMemory)), f.Rank)
	if f.MemoryLimit != nil {
		memory += fmt.Sprintf(", limit %s", showBytes(float64(*f.MemoryLimit)))
	}
	line("predicted memory", "%s", memory)
}
