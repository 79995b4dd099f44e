package main

import (
	"fmt"
	"testing"

	"symnmf/matrix"
)

func TestZZV(t *testing.T) {
	s := &shelf{folder: "/work/shared/data"}
	for _, n := range []string{"reviews", "la1", "hitech", "ohscal", "classic"} {
		d, err := s.take(n, "X")
		if err != nil {
			t.Fatal(err)
		}
		x := d.x.(*matrix.CSR)
		exact, vals := 0, map[float64]int{}
		for _, v := range x.Val {
			if float64(float32(v)) == v {
				exact++
			}
			vals[v]++
		}
		a, b := x.Dims()
		fmt.Println(n, a, b, len(x.Val), exact, len(vals), x.Val[:4])
	}
}
