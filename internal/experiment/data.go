package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"symnmf/internal/demo"
	"symnmf/internal/instance"
	"symnmf/matio"
	"symnmf/matrix"
)

// The forms in which a method gets inner products.
const (
	formX = "X"   // points; matrix.Gram decides whether A is formed
	formA = "XtX" // A written out
)

// What a folder of the data directory may hold.
var (
	pointFiles = []string{"X.npy", "X.mtx.gz", "X.mtx"}
	graphFiles = []string{"A.mtx.gz", "A.mtx"}
)

// fileOf returns the file of a set in a folder of dir, "" if there is none, and whether it holds points.
func fileOf(dir, set string) (name string, points bool) {
	for k, file := range slices.Concat(pointFiles, graphFiles) {
		name := filepath.Join(dir, set, file)
		if _, err := os.Stat(name); err == nil {
			return name, k < len(pointFiles)
		}
	}
	return "", false
}

// missing reports whether a set should be under dir and is not.
func (s Set) missing(dir string) bool {
	if strings.Contains(s.Name, ":") {
		return false
	}
	if dir == "" {
		return true
	}
	name, _ := fileOf(dir, s.Name)
	return name == ""
}

// dataset is one matrix in memory.
type dataset struct {
	x      matrix.Table // points; nil for a similarity
	items  matrix.Items
	a      matrix.Table // nil until it is needed
	sha256 string       // of its file; "" for a synthetic set
	file   string       // "" for a synthetic set and for demo data
}

// shelf reads sets and holds the last one.
type shelf struct {
	dir  string
	most int64 // bytes that reading may keep, 0 for no limit
	key  string
	last *dataset
	err  error // in place of last
}

// take returns the matrix of a run. A low-rank set without r= has the rank of the run.
func (s *shelf) take(r *run) (*dataset, error) {
	key := fmt.Sprintf("%s#%d", formless(r.set.id()), r.instance)
	if r.set.Name == synthetic+"low-rank" && r.set.Options["r"] == "" {
		key += fmt.Sprintf(",r=%d", r.rank)
	}
	if s.key != key {
		s.last = nil // free it before the next is read
		s.last, s.err = s.read(r)
		s.key = key
	}
	return s.last, s.err
}

func (s *shelf) read(r *run) (*dataset, error) {
	if kind, made := strings.CutPrefix(r.set.Name, synthetic); made {
		return makeSet(kind, r), nil
	}
	if name, ok := strings.CutPrefix(r.set.Name, demoPrefix); ok {
		set, err := demo.Open(name)
		if err != nil {
			return nil, err
		}
		d := &dataset{items: itemsOf(r.set), sha256: set.SHA256}
		switch {
		case set.Points:
			d.x = set.Dense
		case set.Sparse != nil:
			d.a = set.Sparse
		default:
			d.a = set.Dense
		}
		return d, nil
	}
	name, points := fileOf(s.dir, r.set.Name)
	if name == "" {
		return nil, fmt.Errorf("experiment: %s: %w under %s", r.set.Name, fs.ErrNotExist, s.dir)
	}
	t, err := matio.Open(name, matio.Options{MaxBytes: s.most})
	if err != nil {
		return nil, err // it has the name
	}
	var table matrix.Table = t.Dense
	if t.Sparse != nil {
		table = t.Sparse
	}
	d := &dataset{sha256: t.SHA256, file: name}
	if !points {
		d.a = table
		return d, nil
	}
	d.x, d.items = table, itemsOf(r.set)
	return d, nil
}

func itemsOf(s Set) matrix.Items {
	where := s.Options["items"]
	if where == "" {
		where = defaultItems(s.Name)
	}
	if where == inRows {
		return matrix.Rows
	}
	return matrix.Columns
}

// makeSet makes a synthetic set. Its options have been checked.
func makeSet(kind string, r *run) *dataset {
	option := r.set.options()
	n := option.whole("n")
	switch kind {
	case "low-rank":
		a, _ := instance.LowRank(n, r.lowRank(), r.instance)
		return &dataset{a: a}
	case "full-rank":
		return &dataset{a: instance.FullRank(n, r.instance)}
	case "planted":
		a, _ := instance.PlantedGraph(n, option.whole("groups"), option.part("in"), option.part("out"), r.instance)
		return &dataset{a: a}
	}
	return &dataset{x: instance.Text(option.whole("m"), n, option.whole("words"), r.instance), items: matrix.Columns}
}

// options are the options of a synthetic set. They have been checked.
type options map[string]string

func (s Set) options() options { return s.Options }

func (o options) whole(key string) int {
	k, _ := strconv.Atoi(o[key])
	return k
}

func (o options) part(key string) float64 {
	x, _ := strconv.ParseFloat(o[key], 64)
	return x
}

// lowRank returns the rank of a low-rank set.
func (r *run) lowRank() int {
	if k := r.set.options().whole("r"); k > 0 {
		return k
	}
	return r.rank
}

var errNoPoints = errors.New("experiment: a similarity, not points")

// operator returns A in the form that Factorize takes.
func (d *dataset) operator(form string, threads int) (matrix.Operator, error) {
	if d.x != nil && form == formX {
		return matrix.Gram(d.x, d.items, threads)
	}
	if d.a == nil {
		d.a = instance.InnerProducts(d.x, d.items)
	}
	var op matrix.Operator
	var err error
	if a, dense := d.a.(*matrix.Dense); dense {
		op, err = matrix.FromDense(a, 0)
	} else {
		op, err = matrix.FromCSR(d.a.(*matrix.CSR), 0)
	}
	switch {
	case errors.Is(err, matrix.ErrAsymmetric):
		at := d.a.Asymmetry()
		return nil, fmt.Errorf("%s: %w: the largest difference is %v, in row %d, column %d; plans repair no data: make the file symmetric",
			d.file, matrix.ErrAsymmetric, at.Diff, at.Row+1, at.Col+1)
	case err != nil && d.file != "":
		return nil, fmt.Errorf("%s: %w", d.file, err)
	}
	return op, err
}
