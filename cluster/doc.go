// Package cluster reads clusters from a factor H ≥ 0 and measures how well clusters agree: with known classes, or with
// the graph they were found in.
//
// H is n×r, as Factorize returns it: finite, no entry below zero, one row an item and one column a cluster. Clusters
// are numbered from 1, and 0 means unassigned; items are numbered from 0. A labeling is a slice of integers, one an
// item; any integer is a class, so the number 0 or -1 for what belongs nowhere is a class like the others.
package cluster
