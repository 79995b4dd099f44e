package matrix

import (
	"fmt"
	"math"

	"symnmf/internal/kernel"
)

// signedPoints are points whose inner products have signs: Σ_c σ_c·x_c·y_c, where σ_c = 1 for the first
// positive features and −1 for the others. As the points of a GramOperator they give A = Xᵀ·diag(σ)·X, and
// the operator then keeps Z = diag(σ)·X·H.
type signedPoints struct {
	*Dense
	positive int
}

// NewLowRank returns A = U·diag(λ)·Uᵀ for the n×k matrix u and λ of any sign, without forming any entry. It
// keeps a copy of u, as n points √|λ_k|·U_ik whose inner products have signs. Numbers must be finite. The
// columns of u need not be orthogonal, and those with λ = 0 are left out. NewLowRank panics if the number of
// λ differs from the number of columns.
//
// ‖A‖² = Σ_kl σ_k·σ_l·⟨v_k,v_l⟩², where v_k = √|λ_k|·u_k. The sum cancels to the extent that columns with λ
// of opposite signs are alike; its error is the rounding error of the same sum without signs. The stored
// numbers say nothing about the signs of A, so Negatives returns none. O(n·k²).
func NewLowRank(u *Dense, lambda []float64, workers int) (*GramOperator, error) {
	if u.cols != len(lambda) {
		panic(badLen)
	}
	if err := NewDense(1, len(lambda), lambda).survey(1).finite(); err != nil {
		return nil, fmt.Errorf("λ: %w", err)
	}
	if err := u.survey(workers).finite(); err != nil {
		return nil, err
	}
	return newLowRank(u, identity(u.cols), lambda, workers)
}

// newLowRank returns Q·W·diag(λ)·(Q·W)ᵀ.
func newLowRank(q, w *Dense, lambda []float64, workers int) (*GramOperator, error) {
	var order []int // columns of W: those with λ > 0, then those with λ < 0
	for k, l := range lambda {
		if l > 0 {
			order = append(order, k)
		}
	}
	positive := len(order)
	for k, l := range lambda {
		if l < 0 {
			order = append(order, k)
		}
	}
	turn := columnsOf(w, order)
	for i := range turn.rows {
		row := turn.Row(i)
		for k, f := range order {
			row[k] *= math.Sqrt(math.Abs(lambda[f]))
		}
	}
	return lowRankOf(times(q, turn, workers), positive, workers)
}

// lowRankOf returns V·diag(σ)·Vᵀ, where σ = 1 for the first positive columns and −1 for the others. It keeps
// v.
func lowRankOf(v *Dense, positive, workers int) (*GramOperator, error) {
	most := v.largest(workers)
	// If columns cancel, the norm may be small or 0, so it cannot reveal underflow.
	if sq := most * most; most > 0 && sq < 0x1p-1000 || !(sq*float64(len(v.data)) <= math.MaxFloat64) {
		return nil, fmt.Errorf("%w: the largest √|λ_k|·|U_ik| is %.3g; divide the λ by its square", ErrRange, most)
	}
	return newGram(signedPoints{v, positive}, nil, most, workers), nil
}

// LowRankRoot returns √λ·u for the first k positive λ of an operator made by Compress or NewLowRank, or of
// such an operator scaled, as the columns of a matrix; there are fewer than k columns if there are fewer
// positive λ. If it has all of them, and no λ is negative, it is a B with A = B·Bᵀ.
//
// The order is that of the arguments of NewLowRank, or of decreasing λ from Compress. For any other operator,
// and for one without its diagonal, LowRankRoot returns nil. It panics if k < 0. O(n·k).
func LowRankRoot(a Operator, k int) *Dense {
	m, ok := a.(*GramOperator)
	if !ok || m.offDiag {
		return nil
	}
	v, ok := m.points.(signedPoints)
	if !ok {
		return nil
	}
	b := NewDense(v.rows, min(k, v.positive), nil)
	for i := range v.rows {
		for j, x := range v.Row(i)[:b.cols] {
			b.data[i*b.cols+j] = m.scale * x
		}
	}
	return b
}

// largest returns the largest magnitude of the numbers of m. It returns NaN if any number is NaN, and
// otherwise infinity if any is infinite.
func (m *Dense) largest(workers int) float64 {
	const sign = 1 << 63
	parts := make([]uint64, kernel.BlockCount(m.rows, normBlock))
	kernel.Blocks(m.rows, normBlock, workers, func(b, lo, hi int) {
		var most uint64 // as bits, numbers without sign keep their order; infinities and then NaNs come last
		for _, v := range m.data[lo*m.cols : hi*m.cols] {
			most = max(most, math.Float64bits(v)&^sign)
		}
		parts[b] = most
	})
	var most uint64
	for _, v := range parts {
		most = max(most, v)
	}
	return math.Float64frombits(most)
}

func (m signedPoints) addTo(z []float64, c float64, i int) {
	row, p := m.Row(i), m.positive
	kernel.Axpy(z[:p], c, row[:p])
	kernel.Axpy(z[p:], -c, row[p:])
}

func (m signedPoints) sumSq(i int, u float64) float64 {
	minus := Dense{1, m.cols - m.positive, m.Row(i)[m.positive:]}
	plus := Dense{1, m.positive, m.Row(i)[:m.positive]}
	return plus.sumSq(0, u) - minus.sumSq(0, u)
}

// timesTo implements points.
func (m signedPoints) timesTo(z []float64, h *Dense, workers int) {
	m.Dense.timesTo(z, h, workers)
	negate(z[m.positive*h.cols:])
}

// gramNormSq implements points.
func (m signedPoints) gramNormSq(u float64, w []float64, _ Table, workers int) (all, off float64) {
	all, _ = m.normSq(u, w, workers)
	return all, -1
}

// normSq returns all, the sum of the squares of the entries of G = (uXW)(uXW)ᵀ (features by features) with
// their signs, and from, the same sum without signs.
func (m signedPoints) normSq(u float64, w []float64, workers int) (all, from float64) {
	k := m.cols
	g := sumParts(m.rows, k*k, workers, func(g []float64, lo, hi int) {
		scaled := make([]float64, min(productRows, hi-lo)*k)
		for ; lo < hi; lo += productRows {
			n := min(productRows, hi-lo)
			rows := scaled[:n*k]
			clear(rows)
			for i := range n {
				kernel.Axpy(rows[i*k:(i+1)*k], u*value(w, lo+i), m.Row(lo+i))
			}
			kernel.Gram(g, rows, k)
		}
	})
	for i := range k {
		for j, v := range g[i*k : (i+1)*k] {
			from += v * v
			if (i < m.positive) == (j < m.positive) {
				all += v * v
			} else {
				all -= v * v
			}
		}
	}
	return max(0, all), from
}

func identity(n int) *Dense {
	m := NewDense(n, n, nil)
	for i := range n {
		m.data[i*n+i] = 1
	}
	return m
}
