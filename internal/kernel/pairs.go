package kernel

import "math"

// PairRow is a row of a matrix, and the number of its entries that lie left of the diagonal in the row's
// block on the diagonal.
type PairRow struct{ Row, Entries int32 }

// SumPairs returns Σ a_il·⟨x_i, x_l⟩ over the entries a_il, l < i, that rows describe, in one block on the
// diagonal of a sparse matrix. The block begins with row first, and has a row for every r numbers of x. idx
// and val hold the columns and values of its rows one after the other, fewer than 2³² in all; nil values
// stand for ones. Of row i of the block, the entries begin at cut[2i] − cut[0], and those inside the block at
// cut[2i+1] − cut[0], both modulo 2³². Sums are of float64.
func SumPairs[F Float](x []F, r int, first int32, rows []PairRow, cut, idx []int32, val []float64) float64 {
	if uint64(len(idx)) > math.MaxUint32 || val != nil && len(val) != len(idx) || len(cut) != 2*shape(x, r)+1 {
		panic(badLen)
	}
	if len(rows) == 0 {
		return 0
	}
	if len(x) == 0 {
		panic(badIndex)
	}
	return sumPairs(x, r, first, rows, cut, idx, val)
}

func sumPairsGo[F Float](x []F, r int, first int32, rows []PairRow, cut, idx []int32, val []float64) (sum float64) {
	row := func(k int32) (number uint32, xk []F) {
		if number = uint32(k - first); uint64(number) >= uint64(len(x)/r) {
			panic(badIndex)
		}
		return number, x[int(number)*r:][:r]
	}
	for _, own := range rows {
		i, xi := row(own.Row)
		from, entries := uint32(cut[2*i+1]-cut[0]), uint32(own.Entries)
		if uint64(from)+uint64(entries) > uint64(len(idx)) {
			panic(badIndex)
		}
		for p := int(from); entries > 0; p, entries = p+1, entries-1 {
			_, xl := row(idx[p])
			v := 1.0
			if val != nil {
				v = val[p]
			}
			sum += v * dotGo(xi, xl)
		}
	}
	return sum
}
