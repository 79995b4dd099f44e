package kernel

// The sparse kernels take an index slice and a value slice of the same length, or nil values, which stand for ones.
// Every index must lie inside the dense slice; indices of one call are distinct.

// GatherDot returns Σ val[p]·x[idx[p]].
func GatherDot(idx []int32, val, x []float64) float64 {
	var s0, s1, s2, s3 float64
	if val == nil {
		for len(idx) >= 4 {
			s0 += x[idx[0]]
			s1 += x[idx[1]]
			s2 += x[idx[2]]
			s3 += x[idx[3]]
			idx = idx[4:]
		}
		for _, c := range idx {
			s0 += x[c]
		}
		return (s0 + s1) + (s2 + s3)
	}
	if len(val) != len(idx) {
		panic(badLen)
	}
	for len(idx) >= 4 && len(val) >= 4 {
		s0 += val[0] * x[idx[0]]
		s1 += val[1] * x[idx[1]]
		s2 += val[2] * x[idx[2]]
		s3 += val[3] * x[idx[3]]
		idx, val = idx[4:], val[4:]
	}
	for p, c := range idx {
		s0 += val[p] * x[c]
	}
	return (s0 + s1) + (s2 + s3)
}

// Scatter adds c times the sparse vector to y: y[idx[p]] += c·val[p].
func Scatter(y []float64, c float64, idx []int32, val []float64) {
	if val == nil {
		for len(idx) >= 4 {
			y[idx[0]] += c
			y[idx[1]] += c
			y[idx[2]] += c
			y[idx[3]] += c
			idx = idx[4:]
		}
		for _, k := range idx {
			y[k] += c
		}
		return
	}
	if len(val) != len(idx) {
		panic(badLen)
	}
	for len(idx) >= 4 && len(val) >= 4 {
		y[idx[0]] += c * val[0]
		y[idx[1]] += c * val[1]
		y[idx[2]] += c * val[2]
		y[idx[3]] += c * val[3]
		idx, val = idx[4:], val[4:]
	}
	for p, k := range idx {
		y[k] += c * val[p]
	}
}

// GatherRows adds Σ val[p]·x[idx[p]·r : idx[p]·r+r] to acc, which has length r: a sparse row times a dense matrix of r
// columns stored by rows.
func GatherRows(acc []float64, idx []int32, val, x []float64) {
	r := len(acc)
	if val != nil && len(val) != len(idx) {
		panic(badLen)
	}
	var c [4]float64
	for ; len(idx) >= 4; idx = idx[4:] {
		if val == nil {
			c = [4]float64{1, 1, 1, 1}
		} else {
			c = [4]float64(val)
			val = val[4:]
		}
		i0, i1, i2, i3 := int(idx[0])*r, int(idx[1])*r, int(idx[2])*r, int(idx[3])*r
		Axpy4(acc, &c, x[i0:i0+r], x[i1:i1+r], x[i2:i2+r], x[i3:i3+r])
	}
	for p, k := range idx {
		v := 1.0
		if val != nil {
			v = val[p]
		}
		Axpy(acc, v, x[int(k)*r:int(k)*r+r])
	}
}
