package symnmf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"symnmf/internal/instance"
	"symnmf/internal/kernel"
	"symnmf/internal/rules"
	"symnmf/matrix"
)

// These tests run every method, with every value of its knobs that changes the path through the code, on
// every instance in every form.

// variant is a method with one setting of its knobs.
type variant struct {
	name   string
	solver Solver
}

// variants returns every method with its defaults, and with each other value of a knob that changes the path
// through the code.
func variants(t testing.TB) []variant {
	t.Helper()
	var vs []variant
	for _, m := range Methods() {
		s, err := ParseSolver(m.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		vs = append(vs, variant{m.Name, s})
		if cd, ok := s.(CD); ok {
			for e := Natural + 1; e <= Selected; e++ {
				c := cd
				c.Entries = e
				vs = append(vs, variant{m.Name + ", entries=" + e.String(), c})
			}
			cd.MBIEvery = 3
			vs = append(vs, variant{m.Name + ", mbi-every=3", cd})
		}
		if lai, ok := s.(LAI); ok {
			for _, over := range laiOver[1:] {
				lai.Over = over
				vs = append(vs, variant{m.Name + ", over=" + over.Name(), lai})
			}
			vs = append(vs, variant{m.Name + ", refine=no", LAI{NoRefine: true}})
		}
		if s == (CompressedCD{}) {
			vs = append(vs, variant{m.Name + ", first=lai", CompressedCD{First: FirstLAI}})
		}
		if s == (MU{}) {
			vs = append(vs, variant{"mu, exponent=1/4", MU{Exponent: 0.25}}, variant{"mu, exponent=0.3", MU{Exponent: 0.3}})
		}
		if lvs, ok := s.(LvS); ok {
			lvs.LeastSquares = true
			vs = append(vs, variant{m.Name + ", update=bpp", lvs})
		}
		for _, w := range weightsOf(s) {
			name := weightNames[min(w.Rule, WeightMaxSquared)]
			if w.Rule == WeightValue {
				name = fmt.Sprint(w.Value)
			}
			vs = append(vs, variant{m.Name + ", weight " + name, withWeight(s, w)})
		}
	}
	return vs
}

// weightsOf lists the weights to be tested, besides the default, for a method with two factors.
func weightsOf(s Solver) []Weight {
	switch s.(type) {
	case ANLS:
		return []Weight{{Rule: WeightMax}, {Rule: WeightMaxSquared}, {WeightValue, 0}, {WeightValue, 0.5}}
	case SymANLS, SymHALS, SNMPBB, LvS:
		return []Weight{{WeightValue, 0.5}}
	}
	return nil
}

// withWeight returns s with another weight.
func withWeight(s Solver, w Weight) Solver {
	switch m := s.(type) {
	case ANLS:
		m.Coupling = w
		return m
	case SymANLS:
		m.Lambda = w
		return m
	case SymHALS:
		m.Lambda = w
		return m
	case SNMPBB:
		m.Mu = w
		return m
	case LvS:
		m.Coupling = w
		return m
	}
	return s
}

// hasUnits reports whether the weight of s has units that do not scale with those of A, so that 4·A does not
// give 2·H.
func hasUnits(s Solver) bool {
	for _, w := range weightsOf(s) {
		if (w.Rule == WeightMaxSquared || w.Rule == WeightValue && w.Value != 0) && s == withWeight(s, w) {
			return true
		}
	}
	return false
}

// testInstance is a matrix in all the forms it is tested in, with the rank of H.
type testInstance struct {
	name  string
	r     int
	forms map[string]matrix.Operator
	dense *matrix.Dense
}

// instances returns the golden instances in every form, and some other matrices in one form each.
func instances(t testing.TB) []testInstance {
	t.Helper()
	var list []testInstance
	for _, name := range goldenNames {
		g := readGolden(t, name)
		list = append(list, testInstance{name, g.R, g.forms(t), g.a})
	}
	add := func(name string, r int, a matrix.Operator, err error) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, testInstance{name, r, map[string]matrix.Operator{"only": a}, denseOf(a)})
	}
	text, err := matrix.Gram(instance.Text(40, 70, 12, 1), matrix.Columns, 2)
	add("counts of words", 4, text, err)
	graph, _ := instance.PlantedGraph(64, 4, 0.4, 0.05, 1)
	sym, err := matrix.FromCSR(graph, 0)
	add("unweighted graph", 4, sym, err)
	one, err := matrix.FromDense(matrix.NewDense(1, 1, []float64{5}), 0)
	add("one item", 2, one, err)
	wide, err := matrix.FromDense(readGolden(t, "cp5").a, 0)
	add("r > n", 9, wide, err)
	return list
}

// slow reports whether a combination is left out because of its running time alone.
func slow(v variant, in testInstance) bool {
	n, _ := in.dense.Dims()
	most := 70
	if testing.Short() {
		most = 45
		if cd, ok := v.solver.(CD); ok && (cd.Order == Shuffle && cd.Entries != Natural || n > 100) {
			return true
		}
	}
	return v.solver == (MBI{}) && n > most
}

// factorize calls Factorize and fails the test if there is an error.
func factorize(t testing.TB, a matrix.Operator, r int, opt Options) *Result {
	t.Helper()
	res, err := Factorize(context.Background(), a, r, opt)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// traits says what a method cannot do, or does differently from most.
type traits struct {
	noZero, noL1, noHollow bool // it refuses the start zero, an ℓ₁ term, an ignored diagonal
	formed                 bool // it takes only a dense A
	oneStep                bool // its sweep is one step, cut before that step or not at all
	ordered                bool // another order of the items gives another H
	rises                  bool // it is not monotone
	penalized              bool // but the objective P of its two factors falls: TestPenalizedFalls
	quiet                  bool // some sweeps are provisional
}

// traitsOf lists every method that has a trait. What is not listed must work: the tests check refusals as
// strictly as answers.
var traitsOf = map[string]traits{
	"cd-cyclic":   {ordered: true},
	"cd-shuffle":  {ordered: true},
	"cd-mbi":      {ordered: true}, // through its choice among ties
	"cd-residual": {ordered: true, noHollow: true, formed: true},
	"rowblock":    {ordered: true, quiet: true},
	"tsvd":        {noL1: true, noHollow: true, oneStep: true, rises: true, quiet: true},
	"pgncg":       {noZero: true, noL1: true, noHollow: true, oneStep: true},
	"lai":         {noHollow: true, oneStep: true, ordered: true, quiet: true}, // besides the traits of the method it runs
	"compressed":  {noHollow: true, oneStep: true, ordered: true},
	"anls":        {noZero: true, noL1: true, noHollow: true, rises: true, penalized: true},
	"symanls":     {noZero: true, noL1: true, noHollow: true, rises: true, penalized: true},
	"symhals":     {noZero: true, noL1: true, noHollow: true, rises: true, penalized: true},
	"snmpbb":      {noZero: true, noL1: true, noHollow: true, rises: true, penalized: true},
	"lvs":         {noZero: true, noL1: true, noHollow: true, rises: true, ordered: true}, // TestLvSStatistics
	"mu":          {noZero: true, noL1: true, oneStep: true},
	"amu":         {noZero: true, noL1: true, oneStep: true},
	"betasnmf":    {noZero: true, noL1: true, oneStep: true},
	"vbsum":       {noZero: true, noL1: true, noHollow: true, ordered: true},
	"newton":      {noZero: true, noL1: true, noHollow: true, oneStep: true},
}

// traitsFor returns the traits of s. Some of those of LAI are the traits of the method it runs.
func traitsFor(s Solver) traits {
	is := traitsOf[s.Name()]
	if lai, ok := s.(LAI); ok {
		over := traitsOf[lai.over().Name()]
		is.noZero, is.noL1, is.rises = over.noZero, over.noL1, over.rises
	}
	return is
}

// TestTraits: every method named in traitsOf exists.
func TestTraits(t *testing.T) {
	for name := range traitsOf {
		if _, err := ParseSolver(name, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestMethodsPage: the table of docs/methods.md has one line for each method, and the line states the traits
// that these tests check.
func TestMethodsPage(t *testing.T) {
	text, err := os.ReadFile("docs/methods.md")
	if err != nil {
		t.Fatal(err)
	}
	yes := func(has bool) string {
		if has {
			return "yes"
		}
		return "no"
	}
	for _, m := range Methods() {
		is := traitsFor(m.solver)
		want := fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", m.Name, yes(!is.rises), yes(!is.ordered), yes(!hasUnits(m.solver)),
			yes(!is.noHollow), yes(!is.noL1), yes(!is.noZero))
		if !strings.Contains(string(text), want) {
			t.Errorf("docs/methods.md has no line\n%s", want)
		}
	}
	if lines := strings.Count(string(text), " yes |\n") + strings.Count(string(text), " no |\n"); lines != len(Methods()) {
		t.Errorf("docs/methods.md has %d lines for %d methods", lines, len(Methods()))
	}
}

// TestConformance: on every instance, every variant either returns an H whose figures are those of the
// definitions, or refuses the problem if its traits say so.
func TestConformance(t *testing.T) {
	defer func(v bool) { verifying = v }(verifying)
	verifying = true // D, L, A·H and the summed decreases are compared with H after every sweep
	for _, v := range variants(t) {
		is := traitsFor(v.solver)
		for _, in := range instances(t) {
			if slow(v, in) {
				continue
			}
			for form, a := range in.forms {
				_, dense := a.(*matrix.SymDense)
				_, listed := a.(matrix.RowVisitor)
				for _, start := range []Start{Zero{}, Random{}} {
					for _, l1 := range [][]float64{nil, {1e-3 * math.Pow(a.Norm(), 1.5)}} {
						for _, ignore := range []bool{false, true} {
							what := fmt.Sprintf("%s on %s (%s), start %s, l1 %v, diagonal ignored %v", v.name, in.name, form, start.Name(), l1, ignore)
							res, err := Factorize(context.Background(), a, in.r, Options{
								Solver: v.solver, Start: start, L1: l1, IgnoreDiagonal: ignore, Seed: 3, Trace: true,
								Stop: Stop{Sweeps: 12}, Threads: 2,
							})
							zero := start == (Zero{}) && (!ignore && a.Norm() > 0 || a.OffDiagonal().Norm() > 0) // if A = 0, H = 0 is the answer
							if is.formed && !dense || is.noHollow && ignore || is.noL1 && l1 != nil ||
								zero && (is.noZero || refusedFromZero(v, in, listed, ignore)) {
								if !errors.Is(err, ErrUnfit) && !(zero && errors.Is(err, ErrStart)) {
									t.Errorf("%s: error %v, want a refusal", what, err)
								}
								continue
							}
							if err != nil {
								t.Fatalf("%s: %v", what, err)
							}
							checkResult(t, what, in, res, l1, ignore)
						}
					}
				}
			}
		}
	}
}

// refusedFromZero reports whether the method refuses to start from zero because of this matrix, whatever its
// traits.
func refusedFromZero(v variant, in testInstance, listed, ignore bool) bool {
	positive := false
	n, _ := in.dense.Dims()
	for i := range n {
		positive = positive || in.dense.At(i, i) > 0
	}
	solver := v.solver
	if lai, ok := solver.(LAI); ok {
		solver = lai.over()
	}
	return ignore && !listed || solver == (Residual{}) && !positive || solver.Name() == (RowBlock{}).Name() && (ignore || !positive)
}

// checkResult checks that H is finite and nonnegative, and compares the figures of the result with the
// definitions, computed from H. It also checks that the error of a monotone method does not rise.
func checkResult(t *testing.T, what string, in testInstance, res *Result, l1 []float64, ignore bool) {
	t.Helper()
	for k, v := range res.H.Data() {
		if !(v >= 0) || math.IsInf(v, 0) {
			t.Fatalf("%s: H[%d,%d] = %v", what, k/in.r, k%in.r, v)
		}
	}
	full := make([]float64, in.r)
	if l1 != nil {
		for j := range full {
			full[j] = l1[0]
		}
	}
	want := measureNaively(in.dense, res.H, full, ignore)
	rel := 0.0
	if want.normA > 0 {
		rel = want.err / want.normA
	}
	if d := math.Abs(res.RelErr - rel); !(d <= 2*res.ErrFloor) {
		t.Errorf("%s: relative error %v, by definition %v", what, res.RelErr, rel)
	}
	if want.normA > 0 && !(math.Abs(res.KKT-want.kkt) <= 1e-10) {
		t.Errorf("%s: KKT residual %v, by definition %v", what, res.KKT, want.kkt)
	}
	if !(math.Abs(res.Objective-want.objective) <= 1e-11*(want.normA*want.normA+want.objective)) {
		t.Errorf("%s: objective %v, by definition %v", what, res.Objective, want.objective)
	}
	if res.Status == Converged && !(res.KKT <= defaultKKT) {
		t.Errorf("%s: converged with KKT residual %v", what, res.KKT)
	}
	is := traitsOf[res.Method]
	if l1 == nil && !is.rises {
		for k, p := range res.Trace[1:] {
			if before := res.Trace[k]; !(p.RelErr <= before.RelErr+1e-12+res.ErrFloor) {
				t.Errorf("%s: the error rises from %v to %v in sweep %d", what, before.RelErr, p.RelErr, p.Sweep)
			}
		}
	}
	if len(res.Trace) != res.Sweeps+1 && !is.quiet {
		t.Errorf("%s: after %d sweeps the trace has %d rows, want one more than sweeps", what, res.Sweeps, len(res.Trace))
	}
}

// TestLikeNone: with ClearLoose, an item whose row of A is zero ends with a zero row of H, whatever the
// method leaves there on its way. The figures of the result are those of that H.
func TestLikeNone(t *testing.T) {
	const n, r, apart = 24, 3, 5 // every fifth item
	x := matrix.NewDense(n, r, nil)
	for i := range n {
		if i%apart != 0 {
			x.Set(i, i%r, 1+float64(i)/n)
			x.Set(i, (i+1)%r, 0.25)
		}
	}
	d := matrix.NewDense(n, n, nil)
	for i := range n {
		for l := range n {
			var sum float64
			for j, v := range x.Row(i) {
				sum += v * x.At(l, j)
			}
			d.Set(i, l, sum)
		}
	}
	points, err := matrix.Gram(x, matrix.Rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	in := testInstance{name: "items like none", r: r, dense: d, forms: map[string]matrix.Operator{
		"dense": mustDense(t, d), "sparse": mustCSR(t, sparseOf(t, d)), "points": points,
	}}
	for _, v := range variants(t) {
		for form, a := range in.forms {
			what := fmt.Sprintf("%s (%s)", v.name, form)
			if _, dense := a.(*matrix.SymDense); traitsFor(v.solver).formed && !dense {
				continue
			}
			res := factorize(t, a, r, Options{Solver: v.solver, Start: Random{}, Seed: 2, Stop: Stop{Sweeps: 3}, Trace: true, ClearLoose: true})
			checkResult(t, what, in, res, nil, false)
			for i := range n {
				if zero := !kernel.Nonzero(res.H.Row(i)); i%apart == 0 && !zero {
					t.Errorf("%s: item %d has a zero row of A, but its row of H is %v", what, i, res.H.Row(i))
				}
			}
			if least := (n + apart - 1) / apart; res.ZeroRows < least {
				t.Errorf("%s: %d rows of zeros, want at least %d", what, res.ZeroRows, least)
			}
		}
	}
}

// TestFormsAgree: a dense matrix, a sparse one and inner products take the same path up to rounding. The
// exception is rowblock with momentum, which takes nothing below zero where A is sparse; it is left out
// there. With this seed no method has to choose between things that are equal but for rounding. After such a
// choice, paths may part for good.
func TestFormsAgree(t *testing.T) {
	for _, v := range variants(t) {
		if traitsFor(v.solver).formed {
			continue
		}
		for _, in := range instances(t) {
			if slow(v, in) {
				continue
			}
			solvers := []Solver{v.solver}
			if v.solver == (RowBlock{}) { // whose defaults depend on the form
				s := RowBlock{Block: 64, Passes: 3, CheckEvery: 1, First: FirstRows, Whole: 0.98}
				solvers[0] = s
				s.NoMomentum = true
				solvers = append(solvers, s)
			}
			for _, solver := range solvers {
				var first *Result
				for _, form := range slices.Sorted(mapKeys(in.forms)) {
					if s, ok := solver.(RowBlock); ok && !s.NoMomentum && form == "sparse" && in.forms[form].Density() < rules.DenseFrom {
						continue
					}
					res := factorize(t, in.forms[form], in.r, Options{Solver: solver, Start: Random{}, Seed: 9, Stop: Stop{Sweeps: 3, KKT: -1}})
					if first == nil {
						first = res
					}
					if d := math.Abs(res.RelErr - first.RelErr); !(d <= 1e-9) {
						t.Errorf("%s on %s (%s): relative error %v, in the first form %v", v.name, in.name, form, res.RelErr, first.RelErr)
					}
				}
			}
		}
	}
}

// mapKeys iterates over the keys of m.
func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestSameBits: the seed fixes every bit of H, whatever the number of threads; another seed gives another H.
func TestSameBits(t *testing.T) {
	counts, sweeps := []int{1, 2, 3, 8}, 4
	if testing.Short() {
		counts, sweeps = []int{3}, 2
	}
	for _, v := range variants(t) {
		for _, in := range instances(t) {
			if slow(v, in) || in.name == "one item" {
				continue
			}
			for form, a := range in.forms {
				if _, dense := a.(*matrix.SymDense); traitsFor(v.solver).formed && !dense {
					continue
				}
				opt := Options{Solver: v.solver, Start: Random{}, Seed: 5, Stop: Stop{Sweeps: sweeps, KKT: -1}, Threads: 1}
				want := factorize(t, a, in.r, opt).H.Data()
				for _, threads := range counts {
					opt.Threads = threads
					if got := factorize(t, a, in.r, opt).H.Data(); !slices.Equal(got, want) {
						t.Errorf("%s on %s (%s): H differs with %d threads", v.name, in.name, form, threads)
					}
				}
				opt.Seed = 6
				if got := factorize(t, a, in.r, opt).H.Data(); slices.Equal(got, want) {
					t.Errorf("%s on %s (%s): another seed gives the same H", v.name, in.name, form)
				}
			}
		}
	}
}

// TestEquivariance: 4·A gives exactly 2·H, and so do powers of 4 so large or small that cubes of entries
// overflow or underflow. A method whose weight has units gives another answer.
func TestEquivariance(t *testing.T) {
	for _, v := range variants(t) {
		g := readGolden(t, "fullrank60")
		opt := Options{Solver: v.solver, Start: Random{}, Seed: 5, Stop: Stop{Sweeps: 3, KKT: -1}}
		run := func(c float64) *Result {
			d := g.a.Clone()
			for k := range d.Data() {
				d.Data()[k] *= c
			}
			a, err := matrix.FromDense(d, 0)
			if err != nil {
				t.Fatal(err)
			}
			return factorize(t, a, g.R, opt)
		}
		want := run(1)
		for _, e := range []int{1, 248, -248} { // 4^248 is about 2e149
			got := run(math.Ldexp(1, 2*e))
			if hasUnits(v.solver) {
				if !(math.Abs(got.RelErr-want.RelErr) >= 1e-9) {
					t.Errorf("%s, A·4^%d: relative error %v is the same as that of A, although the weight has units", v.name, e, got.RelErr)
				}
				continue
			}
			for k, h := range got.H.Data() {
				if w := math.Ldexp(want.H.Data()[k], e); h != w {
					t.Fatalf("%s, A·4^%d: H[%d] = %v, want %v", v.name, e, k, h, w)
				}
			}
			if got.RelErr != want.RelErr || got.KKT != want.KKT {
				t.Errorf("%s, A·4^%d: relative error %v and KKT %v, want %v and %v", v.name, e, got.RelErr, got.KKT, want.RelErr, want.KKT)
			}
		}
	}
}

// TestResidualFormAgrees: Algorithms 3 (Residual) and 4 (CD), with the same order of updates, give the same
// iterates, sweep by sweep.
func TestResidualFormAgrees(t *testing.T) {
	for _, in := range instances(t) {
		a, err := matrix.FromDense(in.dense, 0)
		if err != nil {
			t.Fatal(err)
		}
		for sweeps := 1; sweeps <= 10; sweeps++ {
			opt := Options{Solver: Residual{}, Start: Random{}, Seed: 4, Stop: Stop{Sweeps: sweeps, KKT: -1}}
			want := factorize(t, a, in.r, opt)
			opt.Solver = CD{}
			got := factorize(t, a, in.r, opt)
			if want.Sweeps < sweeps || got.Sweeps < sweeps {
				break // one of them has come to rest
			}
			if d := math.Abs(got.RelErr - want.RelErr); !(d <= 1e-12+math.Max(got.ErrFloor, want.ErrFloor)) {
				t.Errorf("%s, sweep %d: relative error %v by Algorithm 4, %v by Algorithm 3", in.name, sweeps, got.RelErr, want.RelErr)
			}
			for k, v := range got.H.Data() {
				if d := math.Abs(v - want.H.Data()[k]); !(d <= 1e-10*math.Sqrt(a.Norm())) {
					t.Errorf("%s, sweep %d: H[%d,%d] = %v by Algorithm 4, %v by Algorithm 3", in.name, sweeps, k/in.r, k%in.r, v, want.H.Data()[k])
					break
				}
			}
		}
	}
}
