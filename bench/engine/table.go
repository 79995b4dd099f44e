package main

import (
	"fmt"
	"regexp"
	"time"
)

// form is the form in which the method is given a set.
type form string

const (
	fromX     form = "X"     // the points in columns: matrix.Gram
	fromA     form = "A"     // A written out: matrix.FromDense or matrix.FromCSR
	fromGraph form = "graph" // A from a file, likewise
)

// row is a line of the table of times.
type row struct {
	set   string
	form  form
	rank  int
	start string // zero, random or tsvd
	seeds int    // the number of seeds of a start other than zero
	// percent is the relative error to reach; 0 means the error of cd-cyclic from zero after the time of the reference,
	// on one thread.
	percent     float64
	reference   float64 // seconds of the authors' program, except for CBCL at 0.04627 %: of a truncated SVD
	floor, goal float64 // how many times as fast as the reference
}

// table holds the errors, the seconds of the reference on one thread, and by how much to beat them.
var table = []row{
	{"hitech", fromX, 30, "zero", 1, 30.684, 20.1, 150, 400},
	{"hitech", fromX, 30, "tsvd", 3, 30.684, 20.1, 150, 400},
	{"reviews", fromX, 30, "zero", 1, 16.152, 21.5, 80, 300},
	{"reviews", fromX, 30, "tsvd", 3, 16.152, 21.5, 80, 300},
	{"la1", fromX, 30, "zero", 1, 31.770, 21.3, 60, 250},
	{"la1", fromX, 30, "tsvd", 3, 31.770, 21.3, 60, 250},
	{"ohscal", fromX, 30, "zero", 1, 20.883, 20.1, 28, 120},
	{"ohscal", fromX, 30, "tsvd", 3, 20.883, 20.1, 28, 120},
	{"classic", fromX, 30, "zero", 1, 37.620, 20.2, 32, 150},
	{"classic", fromX, 30, "tsvd", 3, 37.620, 20.2, 32, 150},
	{"hitech", fromA, 30, "zero", 1, 30.684, 20.1, 12, 60},
	{"hitech", fromA, 30, "tsvd", 3, 30.684, 20.1, 12, 60},
	{"classic", fromA, 30, "zero", 1, 37.620, 20.2, 15, 60},
	{"classic", fromA, 30, "tsvd", 3, 37.620, 20.2, 15, 60},
	{"CBCL", fromX, 60, "zero", 1, 0.16765, 20.1, 80, 300}, // any form will do
	{"CBCL", fromX, 60, "tsvd", 3, 0.16765, 20.1, 80, 300},
	{"CBCL", fromA, 60, "zero", 1, 0.16765, 20.1, 80, 300},
	{"CBCL", fromA, 60, "tsvd", 3, 0.16765, 20.1, 80, 300},
	{"CBCL", fromX, 60, "zero", 1, 0.04627, 3.4, 3.4 / 1.2, 3.4 / 0.35}, // any form and start
	{"CBCL", fromX, 60, "tsvd", 3, 0.04627, 3.4, 3.4 / 1.2, 3.4 / 0.35},
	{"CBCL", fromA, 60, "zero", 1, 0.04627, 3.4, 3.4 / 1.2, 3.4 / 0.35},
	{"CBCL", fromA, 60, "tsvd", 3, 0.04627, 3.4, 3.4 / 1.2, 3.4 / 0.35},
	{"CBCL", fromX, 60, "random", 3, 0.04627, 3.4, 3.4 / 1.2, 3.4 / 0.35},
	{"CBCL", fromA, 60, "random", 3, 0.04627, 3.4, 3.4 / 1.2, 3.4 / 0.35},
	{"Frey", fromX, 60, "zero", 1, 0.10723, 25.1, 90, 300},
	{"Frey", fromX, 60, "tsvd", 3, 0.10723, 25.1, 90, 300},
	{"Frey", fromA, 60, "zero", 1, 0.10723, 25.1, 90, 300},
	{"Frey", fromA, 60, "tsvd", 3, 0.10723, 25.1, 90, 300},
	{"ORL", fromX, 60, "zero", 1, 0.13435, 15.0, 150, 400},
	{"ORL", fromX, 60, "tsvd", 3, 0.13435, 15.0, 150, 400},
	{"ORL", fromA, 60, "zero", 1, 0.13435, 15.0, 150, 400},
	{"ORL", fromA, 60, "tsvd", 3, 0.13435, 15.0, 150, 400},
	{"low-rank-30", fromA, 30, "zero", 1, 0, 15, 160, 500},
	{"low-rank-30", fromA, 30, "tsvd", 3, 0, 15, 160, 500},
	{"low-rank-60", fromA, 60, "zero", 1, 0, 15, 160, 500},
	{"low-rank-60", fromA, 60, "tsvd", 3, 0, 15, 160, 500},
	{"full-rank", fromA, 30, "zero", 1, 0, 15, 40, 150},
	{"full-rank", fromA, 30, "tsvd", 3, 0, 15, 40, 150},
	{"full-rank", fromA, 60, "zero", 1, 0, 15, 40, 150},
	{"full-rank", fromA, 60, "tsvd", 3, 0, 15, 40, 150},
	{"ego-Facebook", fromGraph, 16, "random", 10, 72.60, 0.30, 6, 20},
	{"ego-Facebook", fromGraph, 16, "tsvd", 10, 72.60, 0.30, 6, 20},
	{"blogcatalog", fromGraph, 16, "random", 10, 87.72, 1.12, 5, 20},
	{"blogcatalog", fromGraph, 16, "tsvd", 10, 87.72, 1.12, 5, 20},
	{"soc-Slashdot0902", fromGraph, 16, "random", 10, 97.17, 2.83, 3, 20},
	{"soc-Slashdot0902", fromGraph, 16, "tsvd", 10, 97.17, 2.83, 3, 20},
	{"ca-AstroPh", fromGraph, 16, "random", 10, 92.30, 0.28, 1.2, 10},
	{"ca-AstroPh", fromGraph, 16, "tsvd", 10, 92.30, 0.28, 1.2, 10},
}

// name returns the name that -rows matches.
func (r *row) name() string {
	percent := "cd-cyclic"
	if r.percent > 0 {
		percent = fmt.Sprint(r.percent)
	}
	return fmt.Sprintf("%s/%s/%d/%s/%s", r.set, r.form, r.rank, r.start, percent)
}

// limit returns how long a start may take to reach the error: four times the reference, at least 5 s and at most 30 s. A
// start that takes longer would not be chosen for that error.
func (r *row) limit() time.Duration {
	return time.Duration(min(max(5, 4*r.reference), 30) * float64(time.Second))
}

// end is a line of the table of final errors, in percent.
type end struct {
	left
	zero        bool // whether there is a zero start
	floor, goal float64
}

var ends = []end{
	{left{"CBCL", fromX, 60}, true, 0.0461, 0.04577},
	{left{"Frey", fromX, 60}, true, 0.0570, 0.05685},
	{left{"ORL", fromX, 60}, true, 0.1334, 0.1333},
	{left{"hitech", fromX, 30}, true, 30.02 + 0.05, 30.02},
	{left{"reviews", fromX, 30}, true, 15.40 + 0.05, 15.40},
	{left{"la1", fromX, 30}, true, 31.05 + 0.05, 31.05},
	{left{"ohscal", fromX, 30}, true, 20.75 + 0.05, 20.75},
	{left{"classic", fromX, 30}, true, 37.39 + 0.05, 37.39},
	{left{"blogcatalog", fromGraph, 16}, false, 87.699 + 0.05, 87.699},
	{left{"soc-Slashdot0902", fromGraph, 16}, false, 97.150 + 0.05, 97.150},
	{left{"ca-AstroPh", fromGraph, 16}, false, 92.18 + 0.05, 92.18},
	{left{"ego-Facebook", fromGraph, 16}, false, 71.90 + 0.05, 71.90},
}

// selectRows returns the rows whose names match.
func selectRows[R any, P interface {
	*R
	name() string
}](rows []R, pattern *regexp.Regexp) (chosen []R) {
	for _, r := range rows {
		if pattern.MatchString(P(&r).name()) {
			chosen = append(chosen, r)
		}
	}
	return chosen
}

// verdict says which bound a ratio has reached. With less, smaller figures are better.
func verdict(got, floor, goal float64, less bool) string {
	reached := func(bound float64) bool {
		if less {
			return got <= bound
		}
		return got >= bound
	}
	switch {
	case reached(goal):
		return "goal"
	case reached(floor):
		return "floor"
	}
	return "below"
}
