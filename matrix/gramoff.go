package matrix

import (
	"cmp"
	"math"
	"slices"

	"symnmf/internal/kernel"
)

// Sums over features include the diagonal of XᵀX. If it is to be left out, it is subtracted, and the
// difference may be next to nothing: for a point with hardly anything in common with others, or for the sum
// of all squares if some points are far longer than the rest.

// offEnough is the part of Σ(XᵀX)² that must be left without the diagonal for the difference to have enough
// digits: a millionth.
const offEnough = 0x1p-20

// offNoise is the part of Σ(XᵀX)² below which a difference is nothing but rounding, for points with signs, of which no
// better sum is at hand.
const offNoise = 0x1p-48

// withoutDiagonal returns what is left of all = Σ(u²·w_i·w_j·A_ij)² without the diagonal.
func (m *GramOperator) withoutDiagonal(all, u float64, w []float64, workers int) float64 {
	off := max(0, all-diagSumSq(m.diag, u, w))
	if _, signed := m.points.(signedPoints); signed && off <= offNoise*all {
		return 0
	}
	x, dense := m.points.(*Dense)
	if !dense || off >= offEnough*all {
		return off
	}
	return m.offSumSq(x, u, w, workers)
}

// fromOff implements weightable. withoutDiagonal leaves at least a millionth, except for points with signs,
// which unsigned accounts for.
func (m *GramOperator) fromOff(norm, off float64) float64 {
	if _, signed := m.points.(signedPoints); signed {
		return norm
	}
	return min(norm, off/math.Sqrt(offEnough))
}

// offSumSq returns the result of withoutDiagonal for dense points x. It multiplies the longest points with
// all others one by one, and takes more and more of them until the difference suffices for the rest.
//
// A few are usually enough: of m + 1 points of m features that are equally long, at least a part 1/(m + 1) of
// the squares is off the diagonal.
func (m *GramOperator) offSumSq(x *Dense, u float64, w []float64, workers int) float64 {
	const most = 256 // points taken before the rest is checked again
	order, weight, size := make([]int, x.rows), make([]float64, x.rows), make([]float64, x.rows)
	for i := range order {
		c := u * value(w, i)
		order[i], weight[i], size[i] = i, c, c*m.diag[i]*c
	}
	slices.SortStableFunc(order, func(i, l int) int { return cmp.Compare(size[l], size[i]) })
	for taken, pairs := 1, 0.0; ; taken = min(2*taken, most) {
		n := min(taken, len(order))
		pairs += 2 * x.pairSumSq(order, n, weight, workers)
		if order = order[n:]; len(order) == 0 {
			return pairs
		}
		rest := make([]float64, x.rows)
		var diagonal float64
		for _, i := range order {
			rest[i] = weight[i]
			diagonal += size[i] * size[i]
		}
		all := x.sumGrams(func(i int) float64 { return rest[i] }, workers)
		if off := pairs + max(0, all-diagonal); off >= offEnough*all {
			return off
		}
	}
}

// pairSumSq returns the sum of the squares of the weighted inner products of each of the first count points
// of order with all points after it in order.
func (m *Dense) pairSumSq(order []int, count int, weight []float64, workers int) float64 {
	part := make([]float64, kernel.BlockCount(len(order), normBlock))
	kernel.BlocksWith(len(order), normBlock, workers, func() []float64 { return make([]float64, m.cols) }, func(x []float64, b, lo, hi int) {
		for q := lo; q < hi; q++ {
			for k, v := range m.Row(order[q]) {
				x[k] = weight[order[q]] * v
			}
			for _, i := range order[:min(q, count)] {
				v := weight[i] * kernel.Dot(x, m.Row(i))
				part[b] += v * v
			}
		}
	})
	return sum(part)
}

// degrees implements weightable. Without the diagonal it sums feature by feature what the other points have
// of each feature. That is exactly zero if they have none of it, and not negative if all numbers are ≥ 0.
func (m *GramOperator) degrees(w []float64, workers int) []float64 {
	if _, signed := m.points.(signedPoints); signed || !m.offDiag {
		return timesVector(m, w, workers)
	}
	n, features := m.points.Dims()
	z, d := make([]float64, features), make([]float64, n)
	m.points.timesTo(z, NewDense(n, 1, w), workers)
	kernel.Blocks(n, normBlock, workers, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			d[i] = m.scale * (m.scale * m.points.dotOthers(i, z, w[i]))
		}
	})
	return d
}

func (m *Dense) dotOthers(i int, z []float64, w float64) (s float64) {
	for k, v := range m.Row(i) {
		s += v * (z[k] - float64(w*v)) // rounded as when it was added to z
	}
	return s
}

func (m *CSR) dotOthers(i int, z []float64, w float64) (s float64) {
	col, val := m.Row(i)
	for p, k := range col {
		v := value(val, p)
		s += v * (z[k] - float64(w*v))
	}
	return s
}
