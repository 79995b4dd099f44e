package experiment

import (
	_ "embed"
	"math"
	"strconv"
	"strings"
)

//go:embed paper.tsv
var paperText string

// paper holds the figures of the paper's tables.
var paper = readPaper(paperText)

type paperKey struct{ table, set, method string }

// paperValue is a figure of the paper; NaN where the paper has none.
type paperValue struct{ value, std float64 }

func readPaper(text string) map[paperKey]paperValue {
	number := func(field string) float64 {
		if field == "-" {
			return math.NaN()
		}
		x, err := strconv.ParseFloat(field, 64)
		if err != nil {
			panic("experiment: paper.tsv: " + err.Error())
		}
		return x
	}
	values := map[paperKey]paperValue{}
	for line := range strings.Lines(text) {
		if line[0] == '#' {
			continue
		}
		f := strings.Split(strings.TrimSpace(line), "\t")
		values[paperKey{f[0], f[1], f[2]}] = paperValue{number(f[3]), number(f[4])}
	}
	return values
}

// inPaper reports whether the paper has figures for the set in that table.
func inPaper(table, set string) bool {
	for key := range paper {
		if key.table == table && key.set == formless(set) {
			return true
		}
	}
	return false
}
