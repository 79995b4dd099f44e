package matrix_test

import (
	"context"
	"fmt"

	"symnmf/matrix"
)

func ExampleNormalized() {
	path, err := matrix.NewCSR(3, 3, []int64{0, 1, 3, 4}, []int32{1, 0, 2, 1}, nil) // a path of three nodes
	if err != nil {
		panic(err)
	}
	a, err := matrix.FromCSR(path, 0)
	if err != nil {
		panic(err)
	}
	mean := 0.0
	for _, d := range matrix.Degrees(a, 1) {
		mean += d / 3
	}
	for _, tau := range []float64{0, mean} {
		v, err := matrix.Normalized(a, tau, 1)
		if err != nil {
			panic(err)
		}
		v.(matrix.RowVisitor).VisitRow(0, func(l int, w float64) { fmt.Printf("τ = %.2f: A[0,%d] = %.4f\n", tau, l, w) })
	}
	// Output:
	// τ = 0.00: A[0,1] = 0.7071
	// τ = 1.33: A[0,1] = 0.3586
}

func ExampleNewLowRank() {
	u := matrix.NewDense(3, 2, []float64{1, 1, 1, -1, 1, 0})
	a, err := matrix.NewLowRank(u, []float64{3, -1}, 1) // 3·u₁u₁ᵀ − u₂u₂ᵀ
	if err != nil {
		panic(err)
	}
	diag := make([]float64, 3)
	a.DiagTo(diag)
	fmt.Printf("diagonal %.3g, norm² %.3g\n", diag, a.Norm()*a.Norm())
	// Output: diagonal [2 2 3], norm² 85
}

func ExampleCompress() {
	// Two groups of two items, and a fifth item that is like both.
	a, err := matrix.FromDense(matrix.NewDense(5, 5, []float64{
		2, 2, 0, 0, 1,
		2, 2, 0, 0, 1,
		0, 0, 2, 2, 1,
		0, 0, 2, 2, 1,
		1, 1, 1, 1, 1,
	}), 0)
	if err != nil {
		panic(err)
	}
	l, errNorm, err := matrix.Compress(context.Background(), a, matrix.Compression{Columns: 3, Power: 1})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d numbers for %d, error below 1e-6: %v\n", l.Stored(), a.Stored(), errNorm < 1e-6)
	// Output: 10 numbers for 25, error below 1e-6: true
}

func ExampleFromDense32() {
	a, err := matrix.FromDense32(matrix.NewDense(2, 2, []float64{1, 0.1, 0.1, 1}), 0)
	if err != nil {
		panic(err)
	}
	a.VisitRow(0, func(l int, v float64) { fmt.Printf("A[0,%d] = %.10f\n", l, v) })
	// Output:
	// A[0,0] = 1.0000000000
	// A[0,1] = 0.1000000015
}

func ExampleStrongest() {
	// Two pairs of equal points. The third feature makes all four somewhat similar.
	x := matrix.NewDense(4, 3, []float64{
		3, 0, 1,
		3, 0, 1,
		0, 2, 1,
		0, 2, 1,
	})
	a, err := matrix.Gram(x, matrix.Rows, 1)
	if err != nil {
		panic(err)
	}
	s, err := matrix.Strongest(context.Background(), a, matrix.Selection{PerItem: 1, Workers: 1})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d edges of %d, %.1f %% of ‖A‖², error %.1f %%\n", s.Edges, s.Of, 100*s.Kept, 100*s.RelErr)
	// Output: 2 edges of 6, 98.4 % of ‖A‖², error 12.5 %
}

func ExampleSampleByResistance() {
	triangle, err := matrix.NewCSR(3, 3, []int64{0, 2, 4, 6}, []int32{1, 2, 0, 2, 0, 1}, nil)
	if err != nil {
		panic(err)
	}
	a, err := matrix.FromCSR(triangle, 0)
	if err != nil {
		panic(err)
	}
	s, err := matrix.SampleByResistance(context.Background(), a, matrix.ResistanceSampling{Eps: 1, Draws: 9, Workers: 1})
	if err != nil {
		panic(err)
	}
	fmt.Printf("Σ w·R = %.3g in %d part; weights of the edges drawn: %.2f\n", s.Sum, s.Components, s.S.Val)
	// Output: Σ w·R = 2 in 1 part; weights of the edges drawn: [1.00 0.33 1.00 1.67 0.33 1.67]
}
