package symnmf

import (
	"math"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestGoldenPublished replays the published codes that do not compute what they are meant to, slips and all,
// and compares them with the golden files. It confirms that what docs/errata.md says of them is what they do.
// The replays are naive, dense, and in the units of A.
func TestGoldenPublished(t *testing.T) {
	replay := map[string]func(g *goldenInstance, a, h mat.Matrix, sweeps int) *mat.Dense{
		"newton": publishedNewton,
		"snmpbb": func(g *goldenInstance, a, h mat.Matrix, sweeps int) *mat.Dense {
			return snmpbbCode{over: 2.1, eta: 0.75, leastStep: 1e-5, mu: 1, growth: 1}.run(g, a, a, h, sweeps)
		},
		"lai-snmpbb": func(g *goldenInstance, a, h mat.Matrix, sweeps int) *mat.Dense {
			near := mat.NewDense(g.N, g.N, denseOf(g.lowRank(t)).Data())
			return snmpbbCode{over: 1.7, eta: 0.25, mu: 0.1, growth: 2}.run(g, a, near, h, sweeps)
		},
	}
	worst := goldenTable{}
	for _, name := range goldenNames {
		g := readGolden(t, name)
		a, h := mat.NewDense(g.N, g.N, g.a.Data()), mat.NewDense(g.N, g.R, g.start.Data())
		for method, run := range replay {
			m, ok := g.Methods[method]
			if !ok {
				t.Fatalf("%s has no %s", name, method)
			}
			for count, want := range m.RelErr {
				sweeps, _ := strconv.Atoi(count)
				x := run(g, a, h, sweeps)
				var rest mat.Dense
				rest.Mul(x, x.T())
				rest.Sub(a, &rest)
				d := math.Abs(mat.Norm(&rest, 2)/g.NormA - want)
				worst.add(method, sweeps, d)
				if tol := map[bool]float64{false: 1e-8, true: 1e-4}[sweeps > 10]; !(d <= tol) {
					t.Errorf("%s/%s after %d: relative error off by %.2g", name, method, sweeps, d)
				}
			}
		}
	}
	worst.log(t)
}

// publishedNewton is the code of Kuang, Yun and Park. B_j is factored only when I_j has changed. Where that
// failed, or the step was no descent direction, column j goes along its gradient until I_j changes.
func publishedNewton(g *goldenInstance, a, start mat.Matrix, sweeps int) *mat.Dense {
	const eps = 0x1p-52
	n, r := g.N, g.R
	h := mat.DenseCopyOf(start)
	diff := func(h *mat.Dense) *mat.Dense {
		var d mat.Dense
		d.Mul(h, h.T())
		d.Sub(&d, a)
		return &d
	}
	free := make([]map[int]bool, r) // I_j
	factor := make([]*mat.Cholesky, r)
	for range sweeps {
		var grad mat.Dense
		d := diff(h)
		grad.Mul(d, h)
		grad.Scale(4, &grad)
		step := mat.NewDense(n, r, nil)
		for j := range r {
			now := map[int]bool{}
			var list []int
			for i := range n {
				if grad.At(i, j) <= eps || h.At(i, j) > eps {
					now[i] = true
					list = append(list, i)
				}
			}
			hj, gj := h.ColView(j), grad.ColView(j)
			changed := len(now) != len(free[j])
			for i := range now {
				changed = changed || !free[j][i]
			}
			if free[j] = now; changed && len(list) > 0 {
				b := mat.NewSymDense(len(list), nil)
				for k, i := range list {
					for l, m := range list[:k+1] {
						v := d.At(i, m) + hj.AtVec(i)*hj.AtVec(m)
						if k == l {
							v += mat.Dot(hj, hj)
						}
						b.SetSym(k, l, 4*v)
					}
				}
				if factor[j] = new(mat.Cholesky); !factor[j].Factorize(b) {
					factor[j] = nil
				}
			}
			part := mat.NewVecDense(n, nil)
			if factor[j] != nil {
				x := mat.NewVecDense(len(list), nil)
				for k, i := range list {
					x.SetVec(k, gj.AtVec(i))
				}
				var s mat.VecDense
				factor[j].SolveVecTo(&s, x) // its error only warns of the condition number
				for k, i := range list {
					if v := s.AtVec(k); v <= -eps || hj.AtVec(i) > eps {
						part.SetVec(i, v)
					}
				}
				if mat.Dot(gj, part)/mat.Norm(gj, 2)/mat.Norm(part, 2) <= eps {
					factor[j] = nil
				}
			}
			if factor[j] == nil {
				part.CloneFromVec(gj)
			}
			for i := range n {
				step.Set(i, j, part.AtVec(i))
			}
		}
		before := mat.Norm(d, 2)
		for alpha := 1.0; ; alpha *= 0.1 {
			next := mat.NewDense(n, r, nil)
			promise := 0.0
			for i := range n {
				for j := range r {
					v := max(0, h.At(i, j)-alpha*step.At(i, j))
					next.Set(i, j, v)
					promise += grad.At(i, j) * (v - h.At(i, j))
				}
			}
			after := mat.Norm(diff(next), 2)
			if after*after-before*before <= 0.1*promise {
				h = next
				break
			}
		}
	}
	return h
}

// snmpbbCode is one of the two codes of Swart and Brust. X moves by over·s·D but f and ∇ by s·D, and X is not
// projected.
type snmpbbCode struct {
	over, eta float64
	leastStep float64 // s is not quartered below it
	mu        float64 // in units of n/10·ln 5/ln r
	growth    float64 // factor of μ from sweep to sweep
}

// run makes the sweeps on near; a determines only the tolerances.
func (code snmpbbCode) run(g *goldenInstance, a, near, start mat.Matrix, sweeps int) *mat.Dense {
	mu := code.mu * float64(g.N) / 10 * math.Log(5) / math.Log(float64(g.R))
	w, h := mat.DenseCopyOf(start), mat.DenseCopyOf(start)
	inner := func(x, y *mat.Dense) float64 {
		var p mat.Dense
		p.MulElem(x, y)
		return mat.Sum(&p)
	}
	gradient := func(a mat.Matrix, x, y *mat.Dense) (q, grad *mat.Dense) { // the gradient of ½⟨X,XQ⟩ − ⟨X,C⟩
		q, grad = new(mat.Dense), new(mat.Dense)
		var c, scaled mat.Dense
		q.Mul(y.T(), y)
		for j := range g.R {
			q.Set(j, j, q.At(j, j)+mu)
		}
		c.Mul(a, y)
		scaled.Scale(mu, y)
		c.Add(&c, &scaled)
		grad.Mul(x, q)
		grad.Sub(grad, &c)
		return q, grad
	}
	projected := func(x, grad *mat.Dense) float64 {
		sum := 0.0
		for i := range g.N {
			for j := range g.R {
				if v := grad.At(i, j); v < 0 || x.At(i, j) > 0 {
					sum += v * v
				}
			}
		}
		return math.Sqrt(sum)
	}
	minimize := func(x, y *mat.Dense, tol float64) (steps int, left float64) {
		q, grad := gradient(near, x, y)
		l := mat.Norm(q, 2)
		var svd mat.SVD
		if svd.Factorize(q, mat.SVDNone) {
			l = svd.Values(nil)[0]
		}
		direction := func(t float64) (d, dq *mat.Dense) {
			d, dq = mat.NewDense(g.N, g.R, nil), new(mat.Dense)
			for i := range g.N {
				for j := range g.R {
					d.Set(i, j, max(0, x.At(i, j)-t*grad.At(i, j))-x.At(i, j))
				}
			}
			dq.Mul(d, q)
			return d, dq
		}
		move := func(z, d *mat.Dense, by float64) {
			var scaled mat.Dense
			scaled.Scale(by, d)
			z.Add(z, &scaled)
		}
		f, reference, t, eta, etaBefore := 0.0, 0.0, 1.0, code.eta, 0.0
		for ; steps < 1000 && projected(x, grad) > tol; steps++ {
			d, dq := direction(1 / l)
			f += inner(d, grad) + inner(d, dq)/2
			move(x, d, 1)
			move(grad, dq, 1)
			if reference = f + eta*(reference-f); steps == 0 {
				reference = f
			}
			d, dq = direction(t)
			slope, curve, s := inner(d, grad), inner(d, dq), 1.0
			for f+s*slope+s*s*curve/2 > reference+1e-4*s*slope && s > code.leastStep {
				s /= 4
			}
			f += s*slope + s*s*curve/2
			move(x, d, code.over*s)
			move(grad, dq, s)
			if t = 1e20; curve > 0 {
				t = min(max(inner(d, d)/curve, 1e-20), 1e20)
			}
			if etaBefore == 0 {
				eta, etaBefore = eta/2, eta
			} else {
				eta, etaBefore = (eta+etaBefore)/2, eta
			}
		}
		return steps, projected(x, grad)
	}
	_, gw := gradient(a, w, h)
	_, gh := gradient(a, h, w)
	begin := math.Hypot(mat.Norm(gw, 2), mat.Norm(gh, 2))
	tolW, tolH := 1e-3*begin, 1e-3*begin
	for range sweeps {
		stepsW, leftW := minimize(w, h, tolW)
		if stepsW == 0 {
			tolW /= 10
		}
		stepsH, leftH := minimize(h, w, tolH)
		if stepsH == 0 {
			tolH /= 10
		}
		if math.Hypot(leftW, leftH) <= 200*begin {
			mu *= code.growth
		}
	}
	return w
}
