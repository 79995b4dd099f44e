package kernel

import (
	"math/rand/v2"
	"runtime/debug"
	"testing"
)

// TestSolveRowsGuardPages is TestGuardPages for Solve.
func TestSolveRowsGuardPages(t *testing.T) {
	bothFloats(t, testSolveRowsGuardPages[float64], testSolveRowsGuardPages[float32])
}

func testSolveRowsGuardPages[F Float](t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // for this goroutine
	rng := rand.New(rand.NewPCG(6, 0))
	for _, r := range []int{1, 2, 3, 4, 5, 7, 8, 30, 61} {
		for _, n := range []int{1, 7, 8, 31, 65} {
			for _, atEnd := range []bool{false, true} {
				c := newRowCall[F](rng, r, n, 2, n%2 == 1)
				for _, s := range []*[]float64{&c.dst, &c.h, &c.g, &c.diag, &c.l1} {
					*s = placeGuarded(t, *s, atEnd)
				}
				c.d = placeGuarded(t, c.d, atEnd)
				orders := ordersOf(r, c.perms)
				orders.lists = placeGuarded(t, orders.lists, atEnd)
				s := NewRowSolver[F](r, r, c.off)
				s.x = placeGuarded(t, s.scratch(SolveWidth[F]()), atEnd)
				if fault := panics(func() { s.Solve(c.dst, c.h, c.g, c.diag, c.l1, c.d, orders) }); fault != nil {
					t.Fatalf("r = %d, %d rows, at the end %t: %v", r, n, atEnd, fault)
				}
			}
		}
	}
}
