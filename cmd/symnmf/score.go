package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"symnmf/cluster"
	"symnmf/matrix"
)

// scoreFlags is the command line of score.
type scoreFlags struct {
	clusters, labels string
	graph            inputFlags
	repairs          repairs // of the graph
	json             bool
}

func newScore(s *streams) *cobra.Command {
	var f scoreFlags
	cmd := &cobra.Command{
		Use:   "score CLUSTERS LABELS",
		Short: "compare clusters with known classes: NMI, ARI, accuracy, purity, modularity",
		Long: `Compare CLUSTERS, a clusters.tsv of fit or any list of labels, with LABELS, the list of known
classes. Each line of a list holds a label (a number or a name), or an id, a tab and a label. Items
are matched by id if both files have ids, otherwise by position.

A first line that says label, cluster or class, after id if there are ids, is a header. One that
says only one of the two is one if its label does not occur again.

Unassigned items (cluster 0 of a clusters.tsv with all its columns) are scored in two ways: left
out, and as one more class.`,
		Example: `  symnmf score answer/clusters.tsv labels.txt
  symnmf fit graph.mtx -k 5 -q | symnmf score - labels.txt --graph graph.mtx`,
		Args: exactArgs("CLUSTERS (a file or -)", "LABELS (a file or -)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.clusters, f.labels = args[0], args[1]
			if f.clusters == "-" && f.labels == "-" {
				return usageError{"only one of CLUSTERS and LABELS can be standard input", cmd}
			}
			if f.graph.name == "-" && (f.clusters == "-" || f.labels == "-") {
				return usageError{"--graph -: standard input is already used for CLUSTERS or LABELS", cmd}
			}
			for _, name := range []string{"format", "symmetrize", "negatives", "memory-limit"} {
				if f.graph.name == "" && cmd.Flags().Changed(name) {
					return usageError{fmt.Sprintf("--%s needs --graph", name), cmd}
				}
			}
			return f.run(s)
		},
	}
	cmd.Flags().StringVar(&f.graph.name, "graph", "", "also report the modularity of the clusters in this\ngraph, a `FILE` or demo:NAME")
	f.graph.defineFormat(cmd, "format", "the graph")
	f.repairs.define(cmd)
	f.graph.defineMemory(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

// labeling is a list of items with their classes.
type labeling struct {
	name   string
	ids    []string // nil: items are known by position
	class  []string
	fitted bool // it is a clusters.tsv, in which class 0 means unassigned
}

// unassigned is the class of an item of clusters.tsv whose row of H is zero.
const unassigned = "0"

// scores compares two labelings. Modularity is that of the clusters in the graph.
type scores struct {
	Items      int     `json:"items"`
	NMI        number  `json:"nmi"`
	ARI        number  `json:"ari"`
	Accuracy   number  `json:"accuracy"`
	Purity     number  `json:"purity"`
	Modularity *number `json:"modularity"`
}

// report is what score prints. The embedded scores are those of all items, with the unassigned ones as one
// more class.
type report struct {
	scores
	Unassigned int     `json:"unassigned"`
	Assigned   *scores `json:"assigned"`
}

func (f *scoreFlags) run(s *streams) error {
	found, err := readLabels(s, f.clusters)
	if err != nil {
		return err
	}
	truth, err := readLabels(s, f.labels)
	if err != nil {
		return err
	}
	all, err := newReport(found, truth, s)
	if err != nil {
		return err
	}
	if f.graph.name != "" {
		q, err := f.modularity(found, s)
		if err != nil {
			return err
		}
		all.Modularity = (*number)(&q)
	}
	w := bufio.NewWriter(s.out)
	if f.json {
		err = writeJSON(w, all)
	} else {
		all.print(w)
	}
	if err == nil {
		err = w.Flush()
	}
	return err
}

// readLabels reads a labeling. Each line holds one label, or an id, a label and perhaps more fields,
// separated by tabs. The first line is a header if its label is "cluster", "label" or "class" or, where there are
// ids, if its id is "id"; but if only one of the two is so, not if the label occurs again. It warns where that is in
// doubt.
func readLabels(s *streams, name string) (*labeling, error) {
	in := s.in
	l := &labelReader{labeling: labeling{name: name}, seen: map[string]int{}, next: 1}
	if name == "-" {
		l.name = standardInput
	} else {
		f, err := openFile(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text := bufio.NewReader(in)
	if mark, _ := text.Peek(3); string(mark) == "\ufeff" {
		text.Discard(3)
	}
	if err := isText(text, l.name); err != nil {
		return nil, err
	}
	lines := csv.NewReader(text)
	lines.Comma, lines.FieldsPerRecord, lines.ReuseRecord = '\t', -1, true
	for {
		record, err := lines.Read()
		switch {
		case err == io.EOF:
			if err := l.end(); err != nil {
				return nil, err
			}
			if doubt := l.doubt(); doubt != "" {
				s.warn(l.name + ":1: " + doubt)
			}
			return &l.labeling, nil
		case err != nil:
			return nil, l.wrong(err)
		}
		line, _ := lines.FieldPos(0)
		last, _ := lines.FieldPos(len(record) - 1)
		if err := l.add(record, line, last); err != nil {
			return nil, err
		}
	}
}

// labelReader builds a labeling from records.
type labelReader struct {
	labeling
	seen   map[string]int // the line of each id
	fields int            // fields of a record that count, 1 or 2; 0 before the first record
	next   int            // the next line
	header []string       // the fields of the first line if it was taken as a header
	likely bool           // of which only one is a title that headers have
}

// add adds a record. line and last are the lines in which its first and its last field begin.
func (l *labelReader) add(record []string, line, last int) error {
	if line > l.next { // the reader skips empty lines
		return noLabel(l.name, l.next)
	}
	l.next = last + strings.Count(record[len(record)-1], "\n") + 1
	if l.fields == 0 {
		l.fields = min(len(record), 2)
		title := strings.TrimSpace(strings.Clone(record[l.fields-1]))
		titled := slices.Contains([]string{"cluster", "label", "class"}, strings.ToLower(title))
		id := strings.EqualFold(strings.TrimSpace(record[0]), "id")
		if titled || id && l.fields == 2 {
			l.header, l.likely = []string{strings.Clone(record[0]), title}, l.fields == 2 && !(titled && id)
			l.fitted = slices.Equal(record, clustersHeader)
			return nil
		}
	}
	if min(len(record), 2) != l.fields {
		return inputf("%s:%d: %s, but the lines before have %d", l.name, line, count(int64(len(record)), "field", "fields"), l.fields)
	}
	label := strings.TrimSpace(strings.Clone(record[l.fields-1]))
	switch {
	case label == "":
		return noLabel(l.name, line)
	case strings.Contains(label, "\n"):
		return unbalanced(l.name, line)
	}
	if l.fields == 2 {
		id := strings.Clone(record[0])
		if before, again := l.seen[id]; again {
			return inputf("%s:%d: id %q was already on line %d", l.name, line, id, before)
		}
		l.seen[id] = line
		l.ids = append(l.ids, id)
	}
	l.class = append(l.class, label)
	return nil
}

// wrong explains an error of the reader.
func (l *labelReader) wrong(err error) error {
	var bad *csv.ParseError
	switch {
	case !errors.As(err, &bad):
	case bad.Err == csv.ErrQuote:
		return unbalanced(l.name, bad.StartLine)
	case bad.Err == csv.ErrBareQuote:
		return inputf("%s:%d: a quote inside a field: put the whole field in quotes and double each quote inside", l.name, bad.Line)
	}
	return fmt.Errorf("reading %s: %w", l.name, err)
}

// doubt says why the first line may have been taken for what it is not, or "".
func (l *labelReader) doubt() string {
	if l.likely {
		return fmt.Sprintf("%q with %q is taken as a header: begin the file with another, id and label, if it is an item", l.header[0], l.header[1])
	}
	if l.header != nil {
		return ""
	}
	if why := l.likeHeader(); why != "" {
		return fmt.Sprintf("taken as an item, though %q looks like the title of a column, since %s: if it is one, name it label", l.class[0], why)
	}
	return ""
}

// likeHeader says why the first line looks like a header that is not known as one: its label, which is not a
// number, occurs nowhere else, and all others are numbers or occur again. It returns "" if it does not.
func (l *labelReader) likeHeader() string {
	alone := []string{"noise", "outlier", "none", "na", "n/a", "unknown", "unassigned", "other"} // labels that may be among numbers
	if len(l.class) < 3 || isNumber(l.class[0]) || slices.Contains(alone, strings.ToLower(l.class[0])) {
		return ""
	}
	times, numbers := map[string]int{}, true
	for _, label := range l.class[1:] {
		times[label]++
		numbers = numbers && isNumber(label)
	}
	again := true
	for _, k := range times {
		again = again && k > 1
	}
	switch {
	case times[l.class[0]] > 0:
		return ""
	case numbers:
		return "all other labels are numbers"
	case again:
		return "all other labels occur more than once"
	}
	return ""
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// end returns an error if there are no labels, or if the lines look like ids with labels. A likely header whose label
// occurs again becomes the item that it is.
func (l *labelReader) end() error {
	if len(l.class) == 0 {
		return inputf("%s: no labels", l.name)
	}
	if l.likely && slices.Contains(l.class, l.header[1]) {
		if again, ok := l.seen[l.header[0]]; ok {
			return inputf("%s:%d: id %q was already on line 1", l.name, again, l.header[0])
		}
		l.ids, l.class = slices.Insert(l.ids, 0, l.header[0]), slices.Insert(l.class, 0, l.header[1])
		l.header, l.likely = nil, false
	}
	if l.fields == 1 && idsInLabels(l.class) {
		return inputf("%s:1: %q looks like an id and a label, and so do all other lines: separate an id and its label by a tab", l.name, l.class[0])
	}
	return nil
}

// isText refuses a file that begins like one that is compressed or not text.
func isText(r *bufio.Reader, name string) error {
	head, _ := r.Peek(512)
	for _, packed := range []struct{ magic, how string }{{"\x1f\x8b", "gzip -dc"}, {"\x28\xb5\x2f\xfd", "zstd -dc"}} {
		if strings.HasPrefix(string(head), packed.magic) {
			return inputf("%s is compressed, but labels must be plain text: write the output of %s to a file, or pipe it in as -", name, packed.how)
		}
	}
	if k := bytes.IndexByte(head, 0); k >= 0 {
		return inputf("%s is not text in UTF-8: byte %d is 0", name, k+1)
	}
	return nil
}

// idsInLabels reports whether the labels look like ids with labels: all are different, each is two words with
// a comma or a blank between them, and there are fewer different second words than labels.
func idsInLabels(labels []string) bool {
	seen, seconds := make(map[string]bool, len(labels)), map[string]bool{}
	for _, l := range labels {
		words := strings.FieldsFunc(l, func(c rune) bool { return c == ',' || c == ' ' })
		if seen[l] || len(words) != 2 {
			return false
		}
		seen[l], seconds[words[1]] = true, true
	}
	return len(seconds) < len(labels)
}

func noLabel(name string, line int) error {
	return inputf("%s:%d: no label: every line needs one", name, line)
}

func unbalanced(name string, line int) error {
	return inputf("%s:%d: a field that begins with a quote must end with one, and each quote inside must be doubled; a tab separates an id and its label", name, line)
}

// newReport matches the items and compares their classes.
func newReport(found, truth *labeling, s *streams) (*report, error) {
	a, b, err := match(found, truth, s)
	if err != nil {
		return nil, err
	}
	all, err := compare(a, b)
	if err != nil {
		return nil, err
	}
	rep := &report{scores: *all}
	if !found.fitted {
		return rep, nil
	}
	var assignedA, assignedB []string
	for i, class := range a {
		if class == unassigned {
			rep.Unassigned++
			continue
		}
		assignedA, assignedB = append(assignedA, class), append(assignedB, b[i])
	}
	if rep.Unassigned > 0 && len(assignedA) > 0 {
		rep.Assigned, err = compare(assignedA, assignedB)
	}
	return rep, err
}

// match returns the classes of the items that both labelings have, in the order of found.
func match(found, truth *labeling, s *streams) (a, b []string, err error) {
	if found.ids == nil || truth.ids == nil {
		if len(found.class) != len(truth.class) {
			return nil, nil, inputf("%s has %s, but %s has %s: without ids in both they cannot be matched", found.name, items(len(found.class)), truth.name, items(len(truth.class)))
		}
		return found.class, truth.class, nil
	}
	class := make(map[string]string, len(truth.ids))
	for i, id := range truth.ids {
		class[id] = truth.class[i]
	}
	missing := ""
	for i, id := range found.ids {
		if c, ok := class[id]; ok {
			a, b = append(a, found.class[i]), append(b, c)
		} else if missing == "" {
			missing = id
		}
	}
	if len(a) == 0 {
		return nil, nil, inputf("%s and %s have no id in common: their first ids are %q and %q", found.name, truth.name, found.ids[0], truth.ids[0])
	}
	if left := len(found.ids) - len(a); left > 0 {
		s.warn(fmt.Sprintf("%s left out for lack of a label in %s; the first is %q", count(int64(left), "item is", "items are"), truth.name, missing))
	}
	if left := len(truth.ids) - len(a); left > 0 {
		s.warn(fmt.Sprintf("%s left out: in %s, but with no item in %s", count(int64(left), "label is", "labels are"), truth.name, found.name))
	}
	return a, b, nil
}

func items(n int) string { return count(int64(n), "item", "items") }

func compare(a, b []string) (*scores, error) {
	x, y := numbered(a), numbered(b)
	sc := &scores{Items: len(a)}
	for _, m := range []struct {
		to *number
		of func(found, truth []int) (float64, error)
	}{{&sc.NMI, cluster.NMI}, {&sc.ARI, cluster.ARI}, {&sc.Accuracy, cluster.Accuracy}, {&sc.Purity, cluster.Purity}} {
		v, err := m.of(x, y)
		if err != nil {
			return nil, err
		}
		*m.to = number(v)
	}
	return sc, nil
}

// numbered replaces labels by numbers, the same number for the same label.
func numbered(labels []string) []int {
	number := map[string]int{}
	list := make([]int, len(labels))
	for i, l := range labels {
		k, known := number[l]
		if !known {
			k = len(number)
			number[l] = k
		}
		list[i] = k
	}
	return list
}

// modularity returns the modularity of the clusters in the graph. Nodes and items are matched by id if both
// have ids, otherwise by position.
func (f *scoreFlags) modularity(found *labeling, s *streams) (float64, error) {
	d, err := f.graph.open(s)
	if err != nil {
		return 0, err
	}
	rows, cols := d.table.Dims()
	if rows != cols || d.items != similarity {
		return 0, inputf("%s: a %d×%d table is not a graph", d.name, rows, cols)
	}
	err = d.repair(f.repairs)
	d.tell(s, d.name+": ")
	if err != nil {
		return 0, err
	}
	class := found.class
	if ids := d.ids(); ids != nil && found.ids != nil {
		of := make(map[string]string, len(found.ids))
		for i, id := range found.ids {
			of[id] = found.class[i]
		}
		class = make([]string, rows)
		for i, id := range ids {
			c, ok := of[id]
			if !ok {
				return 0, inputf("%s: node %q is not in %s", d.name, id, found.name)
			}
			class[i] = c
		}
	}
	if len(class) != rows {
		return 0, inputf("%s has %s, but %s has %s", d.name, count(int64(rows), "node", "nodes"), found.name, items(len(class)))
	}
	if a := d.table.Asymmetry(); a.Diff > 0 { // a difference that repair let pass is rounding
		if err := d.symmetrize(matrix.Average, a.Pairs); err != nil {
			return 0, err
		}
	}
	graph, ok := d.table.(*matrix.CSR)
	if !ok {
		if err := d.room(12*float64(d.nonzeros()), "a copy of its nonzero entries"); err != nil {
			return 0, err
		}
		graph = d.table.(*matrix.Dense).CSR()
	}
	return cluster.Modularity(graph, numbered(class))
}

func (r *report) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer t.Flush()
	columns := []*scores{&r.scores}
	if r.Assigned != nil {
		fmt.Fprintf(t, "\tall\tassigned\n")
		columns = append(columns, r.Assigned)
	}
	line := func(name string, of func(*scores) string) {
		fmt.Fprint(t, name)
		for _, c := range columns {
			fmt.Fprint(t, "\t", of(c))
		}
		fmt.Fprintln(t)
	}
	line("items", func(c *scores) string { return fmt.Sprint(c.Items) })
	for _, m := range []struct {
		name string
		of   func(*scores) number
	}{
		{"NMI", func(c *scores) number { return c.NMI }},
		{"ARI", func(c *scores) number { return c.ARI }},
		{"accuracy", func(c *scores) number { return c.Accuracy }},
		{"purity", func(c *scores) number { return c.Purity }},
	} {
		line(m.name, func(c *scores) string { return fourDigits(m.of(c)) })
	}
	if r.Modularity != nil {
		fmt.Fprintf(t, "modularity\t%s\n", fourDigits(*r.Modularity))
	}
	if r.Unassigned > 0 {
		fmt.Fprintf(t, "unassigned\t%d, counted as one more class in 'all'\n", r.Unassigned)
	}
}

// fourDigits writes a score with four decimals, and 0 without a sign.
func fourDigits(x number) string {
	text := fmt.Sprintf("%.4f", float64(x))
	if text == "-0.0000" {
		return text[1:]
	}
	return text
}
