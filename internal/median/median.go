// Package median has the median of a list of numbers.
package median

import "slices"

// Of returns the median of one or more numbers, which keep their order.
func Of(x []float64) float64 { return OfSorted(slices.Sorted(slices.Values(x))) }

// OfSorted returns the median of one or more numbers in ascending order.
func OfSorted[T int | float64](x []T) float64 {
	n := len(x)
	return float64(x[(n-1)/2]+x[n/2]) / 2
}
