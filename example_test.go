package symnmf_test

import (
	"context"
	"fmt"
	"log"

	"gonum.org/v1/gonum/mat"

	"symnmf"
	"symnmf/cluster"
	"symnmf/matrix"
)

// The items form two groups. They are alike within a group and have almost nothing in common between groups.
func ExampleFactorize() {
	a, err := matrix.FromDense(matrix.NewDense(5, 5, []float64{
		4, 4, 3, 0, 0,
		4, 4, 3, 0, 0,
		3, 3, 3, 1, 0,
		0, 0, 1, 5, 5,
		0, 0, 0, 5, 5,
	}), 0)
	if err != nil {
		log.Fatal(err)
	}
	res, err := symnmf.Factorize(context.Background(), a, 2, symnmf.Options{Seed: 7})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v, error %.1f %%\n", res.Status, 100*res.RelErr)
	for i, g := range cluster.Assign(res.H) {
		fmt.Printf("item %d: group %d, margin %.2f\n", i, g.Cluster, g.Margin)
	}
	// Output:
	// converged, error 7.4 %
	// item 0: group 1, margin 1.00
	// item 1: group 1, margin 1.00
	// item 2: group 1, margin 0.87
	// item 3: group 2, margin 0.96
	// item 4: group 2, margin 1.00
}

// The points are the rows of x. Their inner products are never formed.
func ExampleFactorize_points() {
	x := matrix.NewDense(4, 3, []float64{
		3, 0, 1,
		2, 0, 1,
		0, 4, 1,
		0, 5, 1,
	})
	a, err := matrix.Gram(x, matrix.Rows, 1)
	if err != nil {
		log.Fatal(err)
	}
	res, err := symnmf.Factorize(context.Background(), a, 2, symnmf.Options{
		Solver: symnmf.CD{Order: symnmf.Shuffle},
		Start:  symnmf.Random{},
		Runs:   3,
	})
	if err != nil {
		log.Fatal(err)
	}
	for i := range 4 {
		fmt.Printf("%.2f\n", res.H.Row(i))
	}
	// Output:
	// [0.00 3.16]
	// [0.06 2.23]
	// [4.11 0.32]
	// [5.09 0.31]
}

// Factorize takes gonum's symmetric matrices, and its factor is a gonum matrix.
func ExampleFactorize_gonum() {
	a, err := matrix.FromSymmetric(mat.NewSymDense(2, []float64{2, 1, 1, 2}))
	if err != nil {
		log.Fatal(err)
	}
	res, err := symnmf.Factorize(context.Background(), a, 1, symnmf.Options{})
	if err != nil {
		log.Fatal(err)
	}
	var product mat.Dense
	product.Mul(res.H, res.H.T())
	fmt.Printf("%.2f\n", mat.Formatted(&product))
	// Output:
	// ⎡1.50  1.50⎤
	// ⎣1.50  1.50⎦
}
