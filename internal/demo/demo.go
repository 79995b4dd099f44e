// Package demo holds three small real data sets inside the program, demo:NAME on the command line. README.md in its
// directory says where each comes from, under which license, and in what format it is stored.
package demo

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"symnmf/matrix"
)

// Info describes a data set.
type Info struct {
	Name        string
	Description string // one line
	Points      bool   // a table of points, one item per row; otherwise the symmetric similarity of a graph
}

// Data is an opened data set. Every call of Open makes a new one, which the caller may change.
type Data struct {
	Info
	Sparse *matrix.CSR   // n×n, without values when every edge weighs 1; nil for points
	Dense  *matrix.Dense // n×m, one item per row; nil for a graph
	IDs    []string      // n names; nil if items have only numbers
	Labels []int         // n known classes; nil if there are none
	SHA256 string        // of the embedded file, in hexadecimal
}

// ErrUnknown reports a name that Open does not know.
var ErrUnknown = errors.New("demo: no such data set")

//go:embed karate.txt
var karate []byte

//go:embed lesmis.txt
var lesmis []byte

//go:embed digits.csv.gz
var digits []byte

// set is one embedded file and the function that reads it into a Data.
type set struct {
	Info
	file []byte
	read func(file []byte, into *Data) error
}

var sets = []set{
	{Info{"karate", "Zachary's karate club: 34 members, 78 friendships; labels: the club each joined after the split", false},
		karate, readGraph},
	{Info{"lesmis", "Les Misérables: 77 characters, 254 pairs weighted by the chapters they share", false},
		lesmis, readGraph},
	{Info{"digits", "1797 handwritten digits of 8×8 pixels from 0 to 16, one per row; labels: the digit", true},
		digits, readDigits},
}

// Names returns the names of the data sets.
func Names() []string {
	names := make([]string, len(sets))
	for i, s := range sets {
		names[i] = s.Name
	}
	return names
}

// List describes the data sets, in the order of Names.
func List() []Info {
	list := make([]Info, len(sets))
	for i, s := range sets {
		list[i] = s.Info
	}
	return list
}

// Open returns the data set of that name. The error for an unknown name lists the names there are.
func Open(name string) (*Data, error) {
	for _, s := range sets {
		if s.Name == name {
			sum := sha256.Sum256(s.file)
			d := &Data{Info: s.Info, SHA256: hex.EncodeToString(sum[:])}
			if err := s.read(s.file, d); err != nil {
				return nil, fmt.Errorf("demo: %s: %w", name, err)
			}
			return d, nil
		}
	}
	return nil, fmt.Errorf("%w: %q; there are %s", ErrUnknown, name, strings.Join(Names(), ", "))
}

// readGraph reads an undirected graph without self-loops: a line "id" or "id class" for each node, an empty line, and
// one line "id id" or "id id weight" for each edge. It uses n×n numbers in between, few for graphs small enough to be
// inside a program.
func readGraph(file []byte, into *Data) error {
	nodes, edges, ok := strings.Cut(string(file), "\n\n")
	if !ok {
		return errors.New("no empty line between nodes and edges")
	}
	index := map[string]int{}
	for line := range strings.Lines(nodes) {
		fields := strings.Fields(line)
		index[fields[0]] = len(into.IDs)
		into.IDs = append(into.IDs, fields[0])
		if len(fields) > 1 {
			class, err := strconv.Atoi(fields[1])
			if err != nil {
				return err
			}
			into.Labels = append(into.Labels, class)
		}
	}
	a := matrix.NewDense(len(into.IDs), len(into.IDs), nil)
	for line := range strings.Lines(edges) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			return fmt.Errorf("edge %q has one end", line)
		}
		i, known := index[fields[0]]
		j, both := index[fields[1]]
		if !known || !both {
			return fmt.Errorf("edge %q has an end that is not a node", line)
		}
		weight := 1.0
		if len(fields) > 2 {
			var err error
			if weight, err = strconv.ParseFloat(fields[2], 64); err != nil {
				return err
			}
		}
		a.Set(i, j, weight)
		a.Set(j, i, weight)
	}
	into.Sparse = a.CSR()
	return nil
}

// readDigits reads a gzipped table without a header: a line for each digit, with its 64 pixels by rows and then its
// class, separated by commas.
func readDigits(file []byte, into *Data) error {
	const pixels = 64
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return err
	}
	var data []float64
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ",")
		if len(fields) != pixels+1 {
			return fmt.Errorf("line %d has %d fields, want %d", len(into.Labels)+1, len(fields), pixels+1)
		}
		for p, field := range fields {
			number, err := strconv.Atoi(field)
			if err != nil {
				return fmt.Errorf("line %d: %w", len(into.Labels)+1, err)
			}
			if p < pixels {
				data = append(data, float64(number))
			} else {
				into.Labels = append(into.Labels, number)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	into.Dense = matrix.NewDense(len(into.Labels), pixels, data)
	return nil
}
