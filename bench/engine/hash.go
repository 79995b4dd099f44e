package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"symnmf"
	"symnmf/internal/instance"
	"symnmf/matrix"
)

// hashed is an H for one number of threads.
type hashed struct {
	Row     string `json:"row"`
	Threads int    `json:"threads"`
	SHA256  string `json:"sha256"`
}

// hashCase is an operator of one kind. If its set is missing, make returns nil and no error.
type hashCase struct {
	name   string
	rank   int
	start  symnmf.Start
	make   func(threads int) (matrix.Operator, error)
	ignore bool // the diagonal
}

// hashCases returns synthetic instances of every operator, which are always there, and then real sets. All have many
// blocks.
func (c *config) hashCases(s *shelf) []hashCase {
	graph := instance.RMAT(12, 40_000, 1)
	valued := instance.RandomSparse(5000, 200_000, 1)
	words := instance.Text(1500, 6000, 40, 1)
	full := instance.FullRank(700, 1)
	pictures := instance.Start(120, 1500, 1)
	var cases []hashCase
	add := func(name string, rank int, start symnmf.Start, make func(threads int) (matrix.Operator, error)) {
		cases = append(cases, hashCase{name: name, rank: rank, start: start, make: make})
	}
	ofA := func(c *matrix.CSR) func(int) (matrix.Operator, error) {
		return func(int) (matrix.Operator, error) { return matrix.FromCSR(c, 0) }
	}
	ofX := func(x matrix.Table) func(int) (matrix.Operator, error) {
		return func(threads int) (matrix.Operator, error) { return matrix.Gram(x, matrix.Columns, threads) }
	}
	dense := func(int) (matrix.Operator, error) { return matrix.FromDense(full, 0) }
	add("graph/random", 16, symnmf.Random{}, ofA(graph))
	add("sparse A/random", 16, symnmf.Random{}, ofA(valued))
	add("dense A/zero", 30, symnmf.Zero{}, dense)
	add("dense A/random", 30, symnmf.Random{}, dense)
	add("sparse X/zero", 30, symnmf.Zero{}, ofX(words))
	add("sparse X/random", 30, symnmf.Random{}, ofX(words))
	add("dense X/zero", 30, symnmf.Zero{}, ofX(pictures))
	add("dense X/random", 30, symnmf.Random{}, ofX(pictures))
	real := func(set string, f form, rank int, start symnmf.Start) hashCase {
		name := fmt.Sprintf("%s/%s/%s", set, f, start.Name())
		return hashCase{name: name, rank: rank, start: start, make: func(threads int) (matrix.Operator, error) {
			d, err := s.take(set, f)
			if d == nil {
				return nil, err
			}
			return d.operator(f, threads)
		}}
	}
	for k := range cases { // add the start that auto takes, with the diagonal and without
		if turned := cases[k]; strings.HasSuffix(turned.name, "/random") {
			turned.name, turned.start = strings.TrimSuffix(turned.name, "random")+"tsvd", symnmf.TSVDStart{}
			cases = append(cases, turned)
			turned.name, turned.ignore = turned.name+", no diagonal", true
			cases = append(cases, turned)
		}
	}
	return append(cases, real("ego-Facebook", fromGraph, 16, symnmf.Random{}), real("hitech", fromX, 30, symnmf.Zero{}), real("hitech", fromA, 30, symnmf.Zero{}),
		real("CBCL", fromX, 60, symnmf.Zero{}), real("CBCL", fromA, 60, symnmf.Zero{}), real("ORL", fromA, 60, symnmf.Random{}),
		real("ego-Facebook", fromGraph, 16, symnmf.TSVDStart{}), real("hitech", fromX, 30, symnmf.TSVDStart{}), real("hitech", fromA, 30, symnmf.TSVDStart{}),
		real("CBCL", fromX, 60, symnmf.TSVDStart{}), real("CBCL", fromA, 60, symnmf.TSVDStart{}), real("ORL", fromA, 60, symnmf.TSVDStart{}))
}

// hash factors every kind of operator with several numbers of threads and compares the bits.
func (c *config) hash(log *journal) error {
	threads := []int{1, 2, 3, 8}
	s := &shelf{folder: c.data}
	var lines [][]string
	differ := 0
	for _, h := range c.hashCases(s) {
		if !c.rows.MatchString(h.name) {
			continue
		}
		line, same := []string{h.name, fmt.Sprint(h.rank)}, true
		first := ""
		for _, k := range threads {
			a, err := h.make(k)
			if err != nil {
				return fmt.Errorf("%s: %w", h.name, err)
			}
			if a == nil {
				line = nil
				break
			}
			res, err := symnmf.Factorize(context.Background(), a, h.rank, symnmf.Options{
				Solver: c.solver, Start: h.start, Seed: 1, Threads: k, Stop: symnmf.Stop{Sweeps: 12, KKT: -1}, IgnoreDiagonal: h.ignore,
			})
			if err != nil {
				return fmt.Errorf("%s: %w", h.name, err)
			}
			sum := instance.Hash(res.H)
			log.add(hashed{h.name, k, sum})
			if first == "" {
				first = sum
			}
			same = same && sum == first
			line = append(line, sum[:16])
		}
		if line == nil {
			continue
		}
		word := "one hash"
		if !same {
			differ++
			word = "DIFFERENT"
		}
		lines = append(lines, append(line, word))
	}
	header := []string{"operator and start, 12 sweeps", "r"}
	for _, k := range threads {
		header = append(header, fmt.Sprintf("threads %d", k))
	}
	printTable(os.Stdout, append(header, "result"), lines)
	printMissing(os.Stdout, s.missing)
	if differ > 0 {
		return errors.New("the bits of H depend on the number of threads")
	}
	return nil
}
