// Package cluster reads clusters from a factor H ≥ 0 and measures how well clusters agree: with known classes, or with
// the graph they were found in.
//
// H is n×r, as Factorize returns it: finite and nonnegative, with a row for each item and a column for each cluster.
// Clusters are numbered from 1, and 0 means unassigned; items are numbered from 0. A labeling is a slice with one
// integer per item. Any integer is a class: a 0 or -1 that stands for items that belong nowhere is a class like any
// other.
package cluster
