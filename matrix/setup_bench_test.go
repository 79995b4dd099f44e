package matrix

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"symnmf/internal/rules"
)

// BenchmarkOperator makes operators from data in memory: from dense inner products like those of images (CBCL), from
// sparse ones like those of text (hitech, a quarter of it), from a graph (soc-Slashdot0902), from documents by words
// (reviews), and from pixels (ORL). It also divides those documents by terms and by blocks, as a run does before its first sweep.
func BenchmarkOperator(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	similar := func(n int, density float64) *Dense {
		m := NewDense(n, n, nil)
		for i := range n {
			for j := range i + 1 {
				if rng.Float64() < density {
					v := 1 + rng.Float64()
					m.Set(i, j, v)
					m.Set(j, i, v)
				}
			}
		}
		return m
	}
	const documents, words = 4000, 18000
	text := NewDense(documents, words, nil)
	for j := range words {
		for range min(documents/2, 20000/(j+1)+10) {
			text.Set(rng.IntN(documents), j, 1)
		}
	}
	const nodes, links = 80000, 480000
	neighbors := make([][]int32, nodes)
	for range links {
		i, j := rng.IntN(nodes), rng.IntN(nodes)
		neighbors[i], neighbors[j] = append(neighbors[i], int32(j)), append(neighbors[j], int32(i))
	}
	ptr, col := []int64{0}, []int32(nil)
	for _, row := range neighbors {
		slices.Sort(row)
		col = append(col, slices.Compact(row)...)
		ptr = append(ptr, int64(len(col)))
	}
	graph, err := NewCSR(nodes, nodes, ptr, col, nil)
	if err != nil {
		b.Fatal(err)
	}
	dense, csr, x := similar(2400, 1), sparse(similar(5000, 0.2), 1, false), sparse(text, 1, false)
	gram, err := Gram(x, Columns, 1)
	if err != nil {
		b.Fatal(err)
	}
	pixels := NewDense(10304, 400, nil)
	for k := range pixels.data {
		pixels.data[k] = float64(rng.IntN(256))
	}
	points := gram.(*GramOperator).points.(*CSR)
	for _, workers := range []int{1, 2} {
		for name, c := range map[string]struct {
			stored int64
			run    func() error
		}{
			"dense":  {int64(len(dense.data)), func() error { _, err := checkedDense(dense, 0, workers); return err }},
			"csr":    {csr.NNZ(), func() error { _, err := newSymCSR(csr, 0, workers); return err }},
			"graph":  {graph.NNZ(), func() error { _, err := newSymCSR(graph, 0, workers); return err }},
			"gram":   {x.NNZ(), func() error { _, err := Gram(x, Columns, workers); return err }},
			"pixels": {int64(len(pixels.data)), func() error { _, err := Gram(pixels, Columns, workers); return err }},
			"blocks": {x.NNZ(), func() error { splitBlocks(points, 1, rules.PointsBlock, workers); return nil }},
			"terms":  {x.NNZ(), func() error { points.splitColumns(workers); return nil }},
		} {
			b.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(b *testing.B) {
				for b.Loop() {
					if err := c.run(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.stored), "ns/entry")
			})
		}
	}
}
