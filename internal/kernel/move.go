package kernel

// Advance adds t·d to x, but stops each number at zero. It leaves in d how far each number has moved, and
// returns ⟨d, x − last⟩ for the new d and x, and whether zero has stopped any number. x, d and last must not
// overlap. For finite numbers every bit of x and d is the same on every path.
func Advance(x, d []float64, t float64, last []float64) (along float64, cut bool) {
	if len(d) != len(x) || len(last) != len(x) {
		panic(badLen)
	}
	return advance(x, d, t, last)
}

func advanceGo(x, d []float64, t float64, last []float64) (along float64, cut bool) {
	d, last = d[:len(x)], last[:len(x)]
	for i, y := range x {
		e := float64(t * d[i])
		v := y + e
		if v < 0 {
			v, e, cut = 0, -y, true
		}
		x[i], d[i] = v, e
		along += e * (v - last[i])
	}
	return along, cut
}

// AdvanceRounded is Advance with the new x rounded to the nearest numbers of float32, to which it also sets
// y. The x given must consist of such numbers already. If t is 1, so must x + d where zero does not stop it,
// since assembly then does not store d again.
func AdvanceRounded[F Float](x []float64, y []float32, d []float64, t float64, last []F) (along float64, cut bool) {
	if len(y) != len(x) || len(d) != len(x) || len(last) != len(x) {
		panic(badLen)
	}
	return advanceRounded(x, y, d, t, last)
}

func advanceRoundedGo[F Float](x []float64, y []float32, d []float64, t float64, last []F) (along float64, cut bool) {
	y, d, last = y[:len(x)], d[:len(x)], last[:len(x)]
	for i, old := range x {
		v := old + float64(t*d[i])
		if v < 0 {
			v, cut = 0, true
		}
		y[i] = float32(v)
		x[i] = float64(y[i])
		d[i] = x[i] - old
		along += d[i] * (x[i] - float64(last[i]))
	}
	return along, cut
}

// Extrapolate sets y to x + c·(x − y), or to least where that is smaller. x and y may be the same slice, but
// must not overlap otherwise. Every bit is the same on every path.
func Extrapolate(y []float64, c float64, x []float64, least float64) {
	if len(x) != len(y) {
		panic(badLen)
	}
	extrapolate(y, c, x, least)
}

func extrapolateGo(y []float64, c float64, x []float64, least float64) {
	x = x[:len(y)]
	for i, v := range x {
		v += float64(c * (v - y[i]))
		if v < least {
			v = least
		}
		y[i] = v
	}
}

// ExtrapolateRounded is Extrapolate in float32. It also sets wide to the new y.
func ExtrapolateRounded(wide []float64, y []float32, c float32, x []float32, least float32) {
	if len(x) != len(y) || len(wide) != len(y) {
		panic(badLen)
	}
	extrapolateRounded(wide, y, c, x, least)
}

func extrapolateRoundedGo(wide []float64, y []float32, c float32, x []float32, least float32) {
	wide, x = wide[:len(y)], x[:len(y)]
	for i, v := range x {
		v += float32(c * (v - y[i]))
		if v < least {
			v = least
		}
		y[i] = v
		wide[i] = float64(v)
	}
}

// AddGathered adds sums of rows of x to rows of z, both of r columns and stored by rows. With p counting from
// 0, each k in turn takes the next from[k+1] − from[k] entries and adds their terms val[p]·x[idx[p]·r+j] to
// z[at[k]·r+j]. It is GatherRows for many short rows, but fetches nothing early.
func AddGathered(z []float64, r int, at, from, idx []int32, val, x []float64) {
	if len(at) == 0 || r == 0 {
		return
	}
	if len(from) != len(at)+1 || len(val) != len(idx) || len(z) < r || len(x) < r {
		panic(badLen)
	}
	checkSteps(from, len(idx))
	addGathered(z, r, at, from, idx, val, x)
}

func addGatheredGo(z []float64, r int, at, from, idx []int32, val, x []float64) {
	rows := uint(len(z) / r)
	for k, c := range at {
		n := from[k+1] - from[k]
		if uint(c) >= rows {
			panic(badIndex)
		}
		gatherRowsGo(z[int(c)*r:(int(c)+1)*r], idx[:n:n], val[:n], x)
		idx, val = idx[n:], val[n:]
	}
}
