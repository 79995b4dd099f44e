package kernel

// The sparse kernels take a slice of indices and a slice of values of the same length, or nil values, which
// stand for ones. Indices must lie inside the dense slice. Whoever builds a matrix checks that with a proper
// error; here a wrong index panics. The indices of one call are distinct.
//
// GatherDot and Scatter have no assembly because it gains nothing: loading one number at a time is what takes
// the time. For 20 to 2000 entries into 10⁴ and 10⁶ numbers (Zen 4), scalar loads in assembly took 0.95 to
// 1.4 times as long as this code, the gather instruction of AVX-512 0.8 to 1.05 times.

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

// A List is C times the entries From ≤ p < To of the columns and values given with it.
type List struct {
	From, To int64
	C        float64
}

// ScatterLists adds lists to y, one after the other: y[idx[p]] += c·val[p]. It is Scatter for many short
// lists in one long idx and val.
func ScatterLists(y []float64, lists []List, idx []int32, val []float64) {
	if val != nil && len(val) != len(idx) {
		panic(badLen)
	}
	if len(lists) > 0 {
		scatterLists(y, lists, idx, val)
	}
}

func scatterListsGo(y []float64, lists []List, idx []int32, val []float64) {
	for _, x := range lists {
		if val == nil {
			Scatter(y, x.C, idx[x.From:x.To], nil)
		} else {
			Scatter(y, x.C, idx[x.From:x.To], val[x.From:x.To])
		}
	}
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
