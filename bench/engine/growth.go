package main

import (
	"fmt"
	"os"
	"slices"

	"symnmf"
	"symnmf/internal/instance"
	"symnmf/internal/median"
	"symnmf/matrix"
)

// series is one quantity of one kind of matrix, doubled three times.
type series struct {
	name   string
	values []int
	make   func(value int) (a matrix.Operator, rank int, err error)
}

// growthSeries has sparse matrices of 10,000 rows or more with 10⁶ entries or more, dense matrices of 500 rows or more,
// and word counts of 8,000 documents, whose items are the words, 5,000 or more.
var growthSeries = []series{
	{"sparse/n", doubled(10_000), func(n int) (matrix.Operator, int, error) { return sparse(n, 2_000_000, 16) }},
	{"sparse/nnz", doubled(1_000_000), func(nnz int) (matrix.Operator, int, error) { return sparse(20_000, nnz, 16) }},
	{"sparse/r", doubled(8), func(r int) (matrix.Operator, int, error) { return sparse(20_000, 2_000_000, r) }},
	{"dense/n", doubled(500), func(n int) (matrix.Operator, int, error) { return dense(n, 32) }},
	{"dense/r", doubled(16), func(r int) (matrix.Operator, int, error) { return dense(1000, r) }},
	{"points/n", doubled(5_000), func(n int) (matrix.Operator, int, error) { return words(8_000, n, 50, 16) }},
	{"points/nnz", doubled(25), func(each int) (matrix.Operator, int, error) { return words(8_000, 10_000, each, 16) }},
	{"points/r", doubled(8), func(r int) (matrix.Operator, int, error) { return words(8_000, 10_000, 50, r) }},
}

func doubled(x int) []int { return []int{x, 2 * x, 4 * x, 8 * x} }

func sparse(n, nnz, r int) (matrix.Operator, int, error) {
	a, err := matrix.FromCSR(instance.RandomSparse(n, nnz, 1), 0)
	return a, r, err
}

func dense(n, r int) (matrix.Operator, int, error) {
	a, err := matrix.FromDense(instance.FullRank(n, 1), 0)
	return a, r, err
}

func words(documents, n, each, r int) (matrix.Operator, int, error) {
	a, err := matrix.Gram(instance.Text(documents, n, each, 1), matrix.Columns, 2)
	return a, r, err
}

// growth measures sweeps from a random start, and fits seconds ~ valueᵖ.
func (c *config) growth(log *journal) error {
	const before, counted = 5, 10 // sweeps: whole periods of anything that a method does every five sweeps
	var lines [][]string
	for _, s := range growthSeries {
		if !c.rows.MatchString(s.name) {
			continue
		}
		times := make([][]float64, len(c.threads))
		for _, value := range s.values {
			a, rank, err := s.make(value)
			if err != nil {
				return fmt.Errorf("%s = %d: %w", s.name, value, err)
			}
			for k, threads := range c.threads {
				var means []float64
				for range c.repeats {
					seconds, err := sweepSeconds(a, rank, symnmf.Options{Solver: c.solver, Start: symnmf.Random{}}, before, counted, threads)
					if err != nil {
						return fmt.Errorf("%s = %d: %w", s.name, value, err)
					}
					means = append(means, mean(seconds))
				}
				times[k] = append(times[k], median.Of(means))
				log.add(warm{s.name, threads, a.Dim(), a.Stored(), rank, median.Of(means)})
			}
			fmt.Fprintf(os.Stderr, "%s = %d\n", s.name, value)
		}
		x := make([]float64, len(s.values))
		for k, v := range s.values {
			x[k] = float64(v)
		}
		for k, threads := range c.threads {
			line := []string{fmt.Sprintf("%s = %d to %d", s.name, s.values[0], slices.Max(s.values)), fmt.Sprint(threads)}
			for _, y := range times[k] {
				line = append(line, short(y))
			}
			lines = append(lines, append(line, fmt.Sprintf("%.2f", exponent(x, times[k]))))
		}
	}
	printTable(os.Stdout, []string{"quantity", "threads", "seconds a sweep", "× 2", "× 4", "× 8", "exponent"}, lines)
	return nil
}

func mean(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
