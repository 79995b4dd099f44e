package symnmf

import (
	"context"
	"fmt"
	"testing"
	"time"

	"symnmf/matrix"
)

func TestRB(t *testing.T) {
	for _, c := range []struct {
		name   string
		r      int
		target float64
		start  Start
		max    int
	}{{"orl", 60, 0.13435, Zero{}, 100}, {"hitech", 30, 30.684, Zero{}, 30}, {"cbcl", 60, 0.16765, Zero{}, 30}, {"classic", 30, 37.620, Zero{}, 40}} {
		x := sharedX(t, c.name)
		a, err := matrix.Gram(x, matrix.Columns, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []Solver{RowBlock{}, RowBlock{Passes: 2}, CD{}} {
			begin := time.Now()
			ctx, cancel := context.WithCancel(context.Background())
			sw := 0
			res, _ := Factorize(ctx, a, c.r, Options{Solver: s, Start: c.start, Stop: Stop{Sweeps: c.max, KKT: -1}, Trace: true, Threads: 1})
			cancel()
			hit := -1
			for _, p := range res.Trace {
				if 100*p.RelErr <= c.target {
					hit = p.Sweep
					break
				}
			}
			fmt.Printf("%s %T%+v: hit %d, final %.5f after %d, %.2fs (wall %.2f) %d\n", c.name, s, s, hit, 100*res.RelErr, res.Sweeps, res.Time.Seconds(), time.Since(begin).Seconds(), sw)
		}
	}
}
