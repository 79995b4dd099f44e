package matrix

import "symnmf/internal/kernel"

// InnerMultiplier is an operator that can compute ⟨A·H, H⟩ for half the cost of A·H.
type InnerMultiplier interface {
	Operator
	// Inner returns ⟨A·h, h⟩, or ok = false if the operator has no shorter way than computing all of A·h.
	Inner(h *Dense, workers int) (v float64, ok bool)
}

var (
	_ InnerMultiplier = (*SymDense)(nil)
	_ InnerMultiplier = (*SymDense32)(nil)
	_ InnerMultiplier = (*GramOperator)(nil)
)

// Inner implements InnerMultiplier. It reads the entries of A below the diagonal, and blocks on the diagonal.
// Where A differs from Aᵀ, within the tolerance, outside of these blocks it uses the entry below the diagonal
// for both.
func (m *symDense[F]) Inner(h *Dense, workers int) (float64, bool) {
	if m.offDiag {
		return 0, false
	}
	n, r := m.n, h.cols
	part := make([]float64, kernel.BlockCount(n, productRows))
	scratch := func() []float64 { return make([]float64, productRows*r) }
	kernel.BlocksWith(n, productRows, workers, scratch, func(room []float64, b, lo, hi int) {
		acc, rows := room[:(hi-lo)*r], h.data[lo*r:hi*r]
		times := func(from, to int) float64 {
			clear(acc)
			kernel.AddRowsTimes(acc, m.scale, m.a[lo*n+from:(hi-1)*n+to], n, h.data[from*r:to*r], r)
			return kernel.Dot(acc, rows)
		}
		part[b] = 2*times(0, lo) + times(lo, hi)
	})
	return sum(part), true
}

// Inner implements InnerMultiplier. For dense points, whose products with A take two passes over X, it is ⟨Z,
// X·H⟩, which takes one.
func (m *GramOperator) Inner(h *Dense, workers int) (float64, bool) {
	if _, sparse := m.points.(*CSR); sparse || m.offDiag {
		return 0, false
	}
	_, positive := m.points.Dims()
	z := make([]float64, positive*h.cols)
	m.timesTo(z, h, workers)
	if x, signed := m.points.(signedPoints); signed {
		positive = x.positive
	}
	plus, minus := z[:positive*h.cols], z[positive*h.cols:]
	return kernel.SumSq(plus) - kernel.SumSq(minus), true
}
