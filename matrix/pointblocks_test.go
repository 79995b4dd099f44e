package matrix

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"symnmf/internal/kernel"
	"symnmf/internal/rules"
)

// TestGains: the gains of groups of rows add up to ⟨A_BB·d, d⟩ of a step of the block and to the change of Z,
// however far and in whatever direction each group moves, also for features with a negative sign and for more
// features than one part of Z has.
func TestGains(t *testing.T) {
	const n, r, size = 230, 5, 100
	rng := rand.New(rand.NewPCG(41, 41))
	team := kernel.NewTeam(2)
	defer team.Close()
	for _, features := range []int{1, 6, 99} {
		u, lambda := draw(rng, n, features, 0.8), make([]float64, features)
		for k := range lambda {
			lambda[k] = float64(1+k%3) * []float64{1, -1}[k%2]
		}
		points, err := Gram(u.dense(), Rows, 1)
		if err != nil {
			t.Fatal(err)
		}
		signed, err := NewLowRank(u.dense(), lambda, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []Operator{points.Scaled(3), signed.Scaled(0.5)} {
			what := fmt.Sprintf("%T of %d features", a.(*GramOperator).points, features)
			want := multiply(a, identity(n), 1)
			h := draw(rng, n, r, 0.7).dense()
			b, ok := a.(BlockMultiplier).NewBlockProduct(h, size, team).(GainProduct)
			if !ok || b.GainLen() != features*r {
				t.Fatalf("%s: %T", what, b)
			}
			for round := range 6 {
				block := round % 3
				lo, hi := block*size, min((block+1)*size, n)
				cuts := []int{lo, lo + 1, lo + 17, hi} // rows of three groups
				d := draw(rng, hi-lo, r, 0.8).dense()
				var gains [][]float64
				for k, from := range cuts[:3] {
					gain := make([]float64, features*r)
					for p := range gain {
						gain[p] = math.NaN()
					}
					b.GainTo(gain, from, d.data[(from-lo)*r:(cuts[k+1]-lo)*r])
					gains = append(gains, gain)
				}
				var q float64
				for i := range hi - lo {
					for k := range hi - lo {
						q += want.At(lo+i, lo+k) * kernel.Dot(d.Row(i), d.Row(k))
					}
				}
				if got := b.StepGains(gains); !near(got, q, 100*float64(features)) {
					t.Fatalf("%s, block %d: ⟨A_BB·d, d⟩ = %v, want %v", what, block, got, q)
				}
				counts := []float64{0.7, 0.7, 0.7}
				if round%2 == 1 { // one group moves another way
					counts[2] = 1
					for p := range d.data[17*r:] {
						d.data[17*r+p] -= 0.3 * float64(p%4)
					}
					b.GainTo(gains[2], cuts[2], d.data[17*r:])
				}
				for k, from := range cuts[:3] {
					for i := from; i < cuts[k+1]; i++ {
						kernel.Axpy(h.Row(i), counts[k], d.Row(i-lo))
					}
				}
				if round%2 == 1 {
					b.MoveGains(counts, gains)
				} else {
					b.Move(block, 0.7, nil)
				}
				got, times := make([]float64, n*r), make([]float64, n*r)
				b.RowsTo(got, 0, n)
				kernel.RowsTimes(times, want.data, n, h.data, r)
				for k, v := range got {
					if !near(v, times[k], 100*float64(features)) {
						t.Fatalf("%s, round %d: (A·H)[%d,%d] = %v, want %v", what, round, k/r, k%r, v, times[k])
					}
				}
			}
			if _, ok := a.OffDiagonal().(BlockMultiplier).NewBlockProduct(h, size, team).(GainProduct); ok {
				t.Errorf("%s: gains offered without the diagonal, where a step also needs d", what)
			}
			if _, ok := a.(BlockMultiplier).NewBlockProduct(h, features, team).(GainProduct); ok {
				t.Errorf("%s: gains offered though a block has no more rows than there are features", what)
			}
			if _, ok := a.(BlockMultiplier).NewBlockProduct(h, rules.MostGainRows+1, team).(GainProduct); ok {
				t.Errorf("%s: gains offered though those of so many groups take too much room", what)
			}
		}
	}
}

// TestSplitColumns: each term gets the entries of its features, in their order, in chunks of rows that have entries of
// both terms, of one, or none.
func TestSplitColumns(t *testing.T) {
	const n, features = 5*rowsSplit + 7, 2*pointTerms*featureBlock + 5
	x := draw(rand.New(rand.NewPCG(5, 1)), n, features, 0.05)
	for i, row := range x {
		for c := range row {
			chunk, term := i/rowsSplit, termOf(int32(c))
			if chunk == 1 && term == 0 || chunk == 2 && term == 1 || chunk == 3 || i%rowsSplit > rowsSplit-4 && term == i%2 {
				row[c] = 0
			}
		}
	}
	full := x.csr(t)
	ones := &CSR{rows: n, cols: features, RowPtr: full.RowPtr, Col: full.Col}
	for _, m := range []*CSR{full, ones, {rows: 1, cols: features, RowPtr: []int64{0, 0}}, {cols: features, RowPtr: []int64{0}}} {
		for _, workers := range []int{1, 3} {
			parts := m.splitColumns(workers)
			for term, part := range parts {
				want := &CSR{rows: m.rows, cols: m.cols, RowPtr: []int64{0}}
				for i := range m.rows {
					col, val := m.Row(i)
					for p, c := range col {
						if termOf(c) != term {
							continue
						}
						want.Col = append(want.Col, c)
						if val != nil {
							want.Val = append(want.Val, val[p])
						}
					}
					want.RowPtr = append(want.RowPtr, int64(len(want.Col)))
				}
				if part.rows != want.rows || part.cols != want.cols || (part.Val == nil) != (m.Val == nil) || !slices.Equal(part.RowPtr, want.RowPtr) ||
					!slices.Equal(part.Col, want.Col) || !slices.Equal(part.Val, want.Val) {
					t.Fatalf("%d of %d rows, values %v, term %d, %d workers: not the entries of its features", part.rows, m.rows, m.Val != nil, term, workers)
				}
			}
		}
	}
}
