package symnmf

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"symnmf/matrix"
)

func TestRB(t *testing.T) {
	only := os.Getenv("RB")
	for _, c := range []struct {
		name   string
		r      int
		target float64
		max    int
	}{{"orl", 60, 0.13435, 100}, {"hitech", 30, 30.684, 20}, {"cbcl", 60, 0.16765, 20}, {"classic", 30, 37.620, 25}, {"frey", 60, 0.10723, 30}, {"reviews", 30, 16.152, 12}} {
		if only != "" && !strings.Contains(only, c.name) {
			continue
		}
		x := sharedX(t, c.name)
		a, err := matrix.Gram(x, matrix.Columns, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []Solver{RowBlock{}, CD{}} {
			res, err := Factorize(context.Background(), a, c.r, Options{Solver: s, Start: Zero{}, Stop: Stop{Sweeps: c.max, KKT: -1}, Trace: true, Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			hit, at := -1, 0.0
			for _, p := range res.Trace {
				if 100*p.RelErr <= c.target {
					hit, at = p.Sweep, p.Time.Seconds()
					break
				}
			}
			fmt.Printf("%s %s: hit %d at %.4f s, final %.5f after %d, %.3fs\n", c.name, s.Name(), hit, at, 100*res.RelErr, res.Sweeps, res.Time.Seconds())
		}
	}
}
