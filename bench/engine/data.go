package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"symnmf/internal/instance"
	"symnmf/matio"
	"symnmf/matrix"
)

// made has the sets that need no file.
var made = map[string]func() matrix.Table{
	"low-rank-30": func() matrix.Table { return lowRank(30) },
	"low-rank-60": func() matrix.Table { return lowRank(60) },
	"full-rank":   func() matrix.Table { return instance.FullRank(500, 1) },
	"bells-.002":  func() matrix.Table { return bells(0.002) },
	"bells-.05":   func() matrix.Table { return bells(0.05) },
	"bells-.5":    func() matrix.Table { return bells(0.5) },
}

// bells returns exp(−‖x_i − x_l‖²/width) for a thousand points in a square of side 1.
func bells(width float64) matrix.Table {
	const n = 1000
	x, a := instance.Start(n, 2, 1), matrix.NewDense(n, n, nil)
	for i := range n {
		for l := range n {
			u, v := x.At(i, 0)-x.At(l, 0), x.At(i, 1)-x.At(l, 1)
			a.Set(i, l, math.Exp(-(u*u+v*v)/width))
		}
	}
	return a
}

func lowRank(r int) matrix.Table {
	a, _ := instance.LowRank(500, r, 1)
	return a
}

// dataset is a set in memory.
type dataset struct {
	name string
	x    matrix.Table // points in columns; nil if there is only A
	a    matrix.Table // nil until it is needed
}

// shelf reads sets and holds the last one.
type shelf struct {
	folder  string
	last    *dataset
	missing []string
}

// take returns a set with everything that its form needs. It returns nil and no error if its file is missing.
func (s *shelf) take(name string, f form) (*dataset, error) {
	if s.last == nil || s.last.name != name {
		s.last = nil
		d, err := s.read(name, f)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(os.Stderr, "%s is not under %s\n", name, s.folder)
			s.missing = append(s.missing, name)
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		s.last = d
	}
	if f == fromA && s.last.a == nil {
		s.last.a = instance.InnerProducts(s.last.x, matrix.Columns)
	}
	return s.last, nil
}

func (s *shelf) read(name string, f form) (*dataset, error) {
	if make := made[name]; make != nil {
		return &dataset{name: name, a: make()}, nil
	}
	files := []string{"X.mtx.gz", "X.npy"}
	if f == fromGraph {
		files = []string{"A.mtx.gz"}
	}
	folder := name
	if f != fromGraph {
		folder = strings.ToLower(name)
	}
	var t *matio.Table
	var err error
	for _, file := range files {
		if t, err = matio.Open(filepath.Join(s.folder, folder, file), matio.Options{}); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if f == fromGraph {
		return &dataset{name: name, a: t.Matrix()}, nil
	}
	return &dataset{name: name, x: t.Matrix()}, nil
}

// operator makes the operator that Factorize takes. Of the work on a set, only this is on the clock.
func (d *dataset) operator(f form, threads int) (matrix.Operator, error) {
	if f == fromX {
		return matrix.Gram(d.x, matrix.Columns, threads)
	}
	if a, dense := d.a.(*matrix.Dense); dense {
		return matrix.FromDense(a, 0)
	}
	return matrix.FromCSR(d.a.(*matrix.CSR), 0)
}
