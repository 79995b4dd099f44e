package cluster_test

import (
	"fmt"

	"symnmf/cluster"
	"symnmf/matrix"
)

func ExampleAssign() {
	h := matrix.NewDense(4, 2, []float64{
		2, 0,
		1, 4,
		0, 3,
		0, 0,
	})
	a := cluster.Assign(h)
	for _, item := range a {
		fmt.Printf("%+v\n", item)
	}
	fmt.Println(cluster.Sizes(a, 2))
	// Output:
	// {Cluster:1 Strength:2 Margin:1}
	// {Cluster:2 Strength:4 Margin:0.75}
	// {Cluster:2 Strength:3 Margin:1}
	// {Cluster:0 Strength:0 Margin:0}
	// [1 2]
}

func ExampleMemberships() {
	h := matrix.NewDense(3, 2, []float64{
		2, 0,
		1, 4,
		0, 2,
	})
	for m := range cluster.Memberships(h) {
		fmt.Printf("item %d belongs to %d with weight %g: %.0f %%\n", m.Item, m.Cluster, m.Weight, 100*m.Share)
	}
	// Output:
	// item 0 belongs to 1 with weight 2: 100 %
	// item 1 belongs to 1 with weight 1: 11 %
	// item 1 belongs to 2 with weight 4: 89 %
	// item 2 belongs to 2 with weight 2: 100 %
}

func ExampleNMI() {
	found := []int{1, 1, 2, 2, 2, 3}
	truth := []int{7, 7, 7, 9, 9, 8}
	for _, m := range []struct {
		name    string
		measure func(found, truth []int) (float64, error)
	}{{"NMI", cluster.NMI}, {"ARI", cluster.ARI}, {"accuracy", cluster.Accuracy}, {"purity", cluster.Purity}} {
		v, err := m.measure(found, truth)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %.3f\n", m.name, v)
	}
	// Output:
	// NMI 0.685
	// ARI 0.318
	// accuracy 0.833
	// purity 0.833
}

func ExampleModularity() {
	// Two triangles, 0-1-2 and 3-4-5, joined by the edge 2-3. Without values every entry is 1.
	a, err := matrix.NewCSR(6, 6, []int64{0, 2, 4, 7, 10, 12, 14},
		[]int32{1, 2, 0, 2, 0, 1, 3, 2, 4, 5, 3, 5, 3, 4}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	q, err := cluster.Modularity(a, []int{1, 1, 1, 2, 2, 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", q)
	// Output: 0.3571
}
