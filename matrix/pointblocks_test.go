package matrix

import (
	"fmt"
	"math"
	"math/rand/v2"
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
