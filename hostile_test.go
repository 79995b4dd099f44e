package symnmf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"symnmf/internal/instance"
	"symnmf/matrix"
)

// TestHostileArguments: an argument that nobody should pass gives an error that names it, and an unknown
// value of an enumeration prints as its number.
func TestHostileArguments(t *testing.T) {
	ctx := context.Background()
	a, err := matrix.FromDense(instance.FullRank(6, 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	none, err := matrix.FromDense(matrix.NewDense(6, 6, nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	large, err := matrix.FromDense(matrix.NewDense(2, 2, []float64{4e307, 4e307, 4e307, 4e307}), 0)
	if err != nil {
		t.Fatal(err)
	}
	inf := matrix.NewDense(6, 2, nil)
	inf.Set(4, 1, math.Inf(1))
	for _, c := range []struct {
		a    matrix.Operator
		r    int
		opt  Options
		want error
		says string
	}{
		{a, 2, Options{Solver: RowBlock{MaxStep: 3}}, ErrOption, "RowBlock.MaxStep = 3, want 0 to 2"},
		{a, 2, Options{Solver: RowBlock{Block: -1}}, ErrOption, "RowBlock.Block = -1, want 0 or more"},
		{a, 2, Options{Solver: RowBlock{First: 7}}, ErrOption, "RowBlock.First = 7, want 0 to 2"},
		{a, 2, Options{Solver: RowBlock{Joint: -2}}, ErrOption, "RowBlock.Joint = -2, want -1 to 1000"},
		{a, 2, Options{Solver: RowBlock{Joint: 1001}}, ErrOption, "RowBlock.Joint = 1001"},
		{a, 2, Options{Solver: LAI{Power: 101}}, ErrOption, "up to 100"},
		{a, 2, Options{Solver: LAI{Over: (*RowBlock)(nil)}}, ErrOption, "LAI.Over is a *symnmf.RowBlock"},
		{a, 2, Options{Solver: &MU{}}, ErrOption, "Solver is a *symnmf.MU, want the symnmf.MU itself"},
		{a, 2, Options{Solver: (*CD)(nil)}, ErrOption, "*symnmf.CD"},
		{a, 2, Options{Start: &Zero{}}, ErrOption, "Start is a *symnmf.Zero"},
		{none, 2, Options{Start: Given{}}, ErrStart, "Given.H is nil"},
		{none, 2, Options{Start: Given{inf}}, ErrStart, "entry [4,1] is +Inf"},
		{a.Scaled(1e308), 2, Options{}, matrix.ErrRange, "‖A‖ = +Inf"},
		{a.Scaled(1e-320), 2, Options{}, matrix.ErrRange, "want 0 or a number from 2⁻¹⁰²² to 2¹⁰²³"},
		{large.Scaled(1.5), 1, Options{}, matrix.ErrRange, "divide the numbers that count by their largest"},
		{a.Scaled(-1), 2, Options{}, matrix.ErrRange, "‖A‖ = -"},
		{a.Scaled(math.NaN()), 2, Options{}, matrix.ErrRange, "‖A‖ = NaN"},
		{a, int(math.Sqrt(math.MaxInt) / 2), Options{}, ErrRank, "r² numbers"},
		{a, min(1<<22+1, math.MaxInt/64), Options{Solver: MU{}}, ErrRank, "r² numbers"},
		{blind{a}, 2, Options{Solver: CD{}, Start: Zero{}, IgnoreDiagonal: true}, ErrStart, "does not list its entries"},
		{blind{a}, 2, Options{Solver: LAI{}, Start: Random{}}, ErrUnfit, "lai's option over may name another method, one of [rowblock"},
	} {
		res, err := Factorize(ctx, c.a, c.r, c.opt)
		if res != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v, r = %d: error %v, want one that contains %q", c.opt, c.r, err, c.says)
		}
	}
	if res, err := Factorize(ctx, a, 2, Options{Threads: math.MaxInt, Stop: Stop{Sweeps: 1}}); err != nil || res.Sweeps != 1 {
		t.Errorf("any number of threads: %v, %v", res, err)
	}
	for _, s := range []Solver{LAI{Oversample: math.MaxInt}, RowBlock{Compress: math.MaxInt}} { // more columns than there are
		if res, err := Factorize(ctx, a, 2, Options{Solver: s, Start: Random{}}); err != nil || strings.Contains(strings.Join(res.Notes, " "), "bad compression") {
			t.Errorf("%+v: %+v, %v", s, res, err)
		}
	}
	if _, err := Factorize(ctx, blind{a}, 2, Options{Solver: MU{}, Start: Zero{}, IgnoreDiagonal: true}); !strings.HasSuffix(err.Error(), "cannot leave H = 0; start at random") {
		t.Errorf("from zero, which nothing leaves: %v", err)
	}
	for _, nothing := range []matrix.Operator{nil, &matrix.SymCSR{}, &matrix.SymDense{}, &matrix.GramOperator{}} {
		if _, err := Factorize(ctx, nothing, 1, Options{}); !errors.Is(err, ErrEmpty) {
			t.Errorf("Factorize of %T: %v", nothing, err)
		}
	}
	if _, err := MaxClique(ctx, nil, CliqueOptions{}); !errors.Is(err, ErrEmpty) {
		t.Errorf("MaxClique of nil: %v", err)
	}
	for _, h := range []*matrix.Dense{nil, filled(6, 2, 1)} {
		if _, _, err := RelErr(nil, h, Options{}); !errors.Is(err, ErrUnfit) {
			t.Errorf("RelErr of nil and %v: %v", h, err)
		}
	}
	if _, _, err := RelErr(a, nil, Options{}); !errors.Is(err, ErrUnfit) {
		t.Errorf("RelErr of no H: %v", err)
	}
	for _, value := range []float64{0, 1} {
		if got, floor, err := RelErr(none, filled(6, 2, value), Options{}); got != 0 || floor != 0 || err != nil {
			t.Errorf("RelErr of A = 0 and entries of %v: %v, %v, %v", value, got, floor, err)
		}
	}
	for _, ignore := range []bool{false, true} {
		for _, size := range []float64{1e110, 1e200} {
			if got, floor, err := RelErr(a, filled(6, 2, size), Options{IgnoreDiagonal: ignore}); !math.IsInf(got, 1) || !math.IsInf(floor, 1) || err != nil {
				t.Errorf("RelErr of entries of %v, diagonal ignored %v: %v, %v, %v", size, ignore, got, floor, err)
			}
		}
	}
	if _, _, err := RelErr(a, inf, Options{}); !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), "H[4,1] = +Inf") {
		t.Errorf("RelErr of an infinite H: %v", err)
	}
	for _, s := range []fmt.Stringer{Status(9), ColumnOrder(9), EntryOrder(9), FirstStage(9), FirstSweep(9), Precision(9)} {
		if s.String() != "9" {
			t.Errorf("%T(9) is %q", s, s)
		}
	}
	if name := Status(-1).String(); name != "-1" {
		t.Errorf("Status(-1) is %q", name)
	}
}

// poisoned is an operator whose products have v, which is not finite, as the first entry of row 3.
type poisoned struct {
	matrix.Operator
	v float64
}

func (a poisoned) Scaled(c float64) matrix.Operator { return poisoned{a.Operator.Scaled(c), a.v} }
func (a poisoned) OffDiagonal() matrix.Operator     { return poisoned{a.Operator.OffDiagonal(), a.v} }
func (a poisoned) NewProduct(h *matrix.Dense, workers int) matrix.Product {
	return poisonedProduct{a.Operator.NewProduct(h, workers), a.v}
}

type poisonedProduct struct {
	matrix.Product
	v float64
}

func (p poisonedProduct) RowsTo(dst []float64, lo, hi int) {
	if p.Product.RowsTo(dst, lo, hi); lo <= 3 && 3 < hi {
		dst[(3-lo)*len(dst)/(hi-lo)] = p.v
	}
}

// TestNotFiniteProducts: an operator whose products are not finite gives an error with every method and every
// start. The exception is tsvd from zero, which computes nothing but eigenpairs: a note says that there are
// none.
func TestNotFiniteProducts(t *testing.T) {
	a, err := matrix.FromDense(instance.FullRank(12, 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, m := range Methods() {
			solver, err := ParseSolver(m.Name, nil)
			if err != nil {
				t.Fatal(err)
			}
			if m.Name == "lai" {
				solver = LAI{Over: CD{}}
			}
			for _, start := range Starts() {
				s, err := ParseStart(start.Name)
				if err != nil {
					continue // the start needs a file
				}
				res, err := Factorize(context.Background(), poisoned{a, v}, 2, Options{Solver: solver, Start: s, Stop: Stop{Sweeps: 3}})
				if m.Name == "tsvd" && start.Name == "zero" { // it computes nothing but eigenpairs, and there are none
					if err != nil || len(res.Notes) == 0 || !strings.Contains(res.Notes[0], "not a finite number") {
						t.Errorf("tsvd from zero, %v: %+v, %v", v, res, err)
					}
					continue
				}
				if res != nil || !errors.Is(err, matrix.ErrNotFinite) && !errors.Is(err, ErrUnfit) {
					t.Errorf("%s from %s, %v: %v", m.Name, start.Name, v, err)
				}
			}
		}
		if _, _, err := matrix.Compress(context.Background(), poisoned{a, v}, matrix.Compression{Columns: 3}); !errors.Is(err, matrix.ErrNotFinite) {
			t.Errorf("Compress, %v: %v", v, err)
		}
		if _, _, err := RelErr(poisoned{a, v}, filled(12, 2, 1), Options{}); !errors.Is(err, matrix.ErrNotFinite) {
			t.Errorf("RelErr, %v: %v", v, err)
		}
	}
}

// TestMethodsAreCopies: a caller who changes the list that Methods returns changes nothing else.
func TestMethodsAreCopies(t *testing.T) {
	list := Methods()
	list[0].Knobs[0].Name, list[0].Name = "mine", "mine"
	if _, err := ParseSolver("cd-cyclic", map[string]string{"entries": "shuffled"}); err != nil {
		t.Errorf("after a change of the list that Methods returned: %v", err)
	}
}

// TestPanickingCaller: a panic in a caller's function reaches the caller, and no goroutine stays behind.
func TestPanickingCaller(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	a := lowRank(t, 60, 6)
	for _, s := range []Solver{RowBlock{}, LAI{}, LAI{NoRefine: true}} {
		for _, opt := range []Options{
			{Progress: func(p Progress) { panic("mine") }},
			{Trace: true, TraceAt: func(sweep int) bool { panic("mine") }},
		} {
			opt.Solver, opt.Start, opt.Threads = s, Random{}, 4
			func() {
				defer func() {
					if what := recover(); what != "mine" {
						t.Errorf("%s: recovered %v", s.Name(), what)
					}
				}()
				Factorize(context.Background(), a, 6, opt)
			}()
		}
	}
}

// TestCancelledBound: if the context ends while the lower bound is sought, the call returns the context's
// error together with the answer, which has no bound.
func TestCancelledBound(t *testing.T) {
	a := lowRank(t, 60, 6)
	opt := Options{Solver: CD{}, Threads: 1, Stop: Stop{Sweeps: 3, KKT: -1}}
	ctx := &lateContext{Context: context.Background(), ends: math.MaxInt}
	if _, err := Factorize(ctx, a, 6, opt); err != nil {
		t.Fatal(err)
	}
	ctx.ends, ctx.asked = ctx.asked, 0
	opt.Bound = AnyBound
	res, err := Factorize(ctx, a, 6, opt)
	if res == nil || !errors.Is(err, context.Canceled) || res.Status != SweepLimit || !math.IsNaN(res.LowerBound) {
		t.Errorf("result %+v, error %v, want both, and no bound", res, err)
	}
}

// lateContext is cancelled once Err has been called more than ends times.
type lateContext struct {
	context.Context
	asked, ends int
}

func (c *lateContext) Err() error {
	if c.asked++; c.asked > c.ends {
		return context.Canceled
	}
	return nil
}
