package kernel

import "math"

// Group is the number of rows SolveRows works on at once.
const Group = 32

// Rows is what SolveRows keeps of Group rows of H (r numbers each), coordinate by coordinate: entry j of row i at
// j·Group+i. Rows beyond the last of a matrix are filled with zeros and stay zero.
type Rows struct {
	H             []float64 // r·Group: in, the rows; out, better ones
	Old           []float64 // r·Group: the rows as they were when D = HᵀH was computed
	Lin           []float64 // r·Group: A_i,:·H − A_ii·Old, less the ℓ₁ weights
	Diag          []float64 // Group: A_ii
	NormSq, Inner []float64 // Group: scratch, ‖h‖² and ⟨old, h⟩
}

// SolveRows passes once over the coordinates j of Group rows in the order of perm and sets each h_j to the minimizer of
//
//	¼‖h‖⁴ + ½ hᵀ(D − oᵒᵀ − p·I)h − gᵀh,   h ≥ 0,   o = Old, g = Lin, p = Diag,
//
// over that coordinate alone, the root of the cubic with
//
//	a = ‖h‖² − h_j² + G − p,   b = (D·h)_j − o_j·⟨o,h⟩ − G·h_j − g_j,   G = D_jj − o_j².
func SolveRows(x *Rows, d []float64, perm []int32) {
	r := len(perm)
	for i := range Group {
		x.NormSq[i], x.Inner[i] = 0, 0
	}
	for j := range r {
		for i := range Group {
			h := x.H[j*Group+i]
			x.NormSq[i] += h * h
			x.Inner[i] += h * x.Old[j*Group+i]
		}
	}
	var dh [Group]float64
	for _, j := range perm {
		dj := d[int(j)*r : (int(j)+1)*r]
		clear(dh[:])
		for k, v := range dj {
			hk := x.H[k*Group : (k+1)*Group]
			for i, w := range hk {
				dh[i] += v * w
			}
		}
		hj, oj, gj := x.H[int(j)*Group:][:Group], x.Old[int(j)*Group:][:Group], x.Lin[int(j)*Group:][:Group]
		for i := range Group {
			o, h := oj[i], hj[i]
			g := dj[j] - o*o
			a := x.NormSq[i] - h*h + g - x.Diag[i]
			b := dh[i] - o*x.Inner[i] - g*h - gj[i]
			v := root(a, b, h)
			x.NormSq[i] += (v - h) * (v + h)
			x.Inner[i] += o * (v - h)
			hj[i] = v
		}
	}
}

// root returns argmin_{x≥0} x⁴/4 + a·x²/2 + b·x.
func root(a, b, old float64) float64 {
	if b >= 0 && (a >= 0 || 27*b*b >= -2*a*a*a) {
		return 0
	}
	x := math.Sqrt(max(-a, 0)) + math.Cbrt(max(-b, 0))
	if a > 0 {
		x = min(x, -b/a)
	}
	if old > 0 && 3*old*old+a > 0 {
		step := ((old*old+a)*old + b) / (3*old*old + a)
		if step < old/2 {
			x = min(x, old-step)
		}
	}
	for range 60 {
		step := ((x*x+a)*x + b) / (3*x*x + a)
		x -= step
		if math.Abs(step) <= 1e-8*x {
			break
		}
	}
	return x
}
