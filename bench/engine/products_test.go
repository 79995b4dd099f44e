package main

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"symnmf"
	"symnmf/internal/instance"
	"symnmf/matrix"
)

// meterSets are small sets of every form. The points have more than half as many features as there are points, so that
// matrix.Folded does not put XXᵀ in the place of A.
var meterSets = []struct {
	name string
	form form
	data func() *dataset
}{
	{"dense", fromA, func() *dataset { return &dataset{a: instance.FullRank(150, 1)} }},
	{"sparse", fromA, func() *dataset { return &dataset{a: instance.RandomSparse(300, 4000, 1)} }},
	{"graph", fromGraph, func() *dataset { return &dataset{a: instance.RMAT(8, 1500, 1)} }},
	{"points", fromX, func() *dataset { return &dataset{x: instance.Text(110, 200, 12, 1)} }},
}

// TestMeterSingle: with a meter, H is rounded to float32 and read from that copy, as without.
func TestMeterSingle(t *testing.T) {
	graph, _ := instance.PlantedGraph(4200, 20, 0.2, 0.002, 1)
	op, err := matrix.FromCSR(graph, 0)
	if err != nil {
		t.Fatal(err)
	}
	before, err := entriesBefore(op, graph)
	if err != nil {
		t.Fatal(err)
	}
	on, off := symnmf.RowBlock{}, symnmf.RowBlock{Precision: symnmf.Single}
	checkMeter(t, op, before, 16, on, off, symnmf.Options{Start: symnmf.Random{}, Stop: symnmf.Stop{Sweeps: 4, KKT: -1}})
}

// checkMeter checks that the solver named on makes the same H with a meter as without. The solver named off
// must make another H, or else the comparison shows nothing.
func checkMeter(t *testing.T, op matrix.Operator, before []int64, r int, on, off symnmf.RowBlock, opt symnmf.Options) {
	t.Helper()
	hashOf := func(a matrix.Operator, s symnmf.RowBlock) string {
		opt.Solver, opt.Threads = s, 1
		res, err := symnmf.Factorize(context.Background(), a, r, opt)
		if err != nil {
			t.Fatal(err)
		}
		return instance.Hash(res.H)
	}
	want := hashOf(op, on)
	if hashOf(withMeter(op, newMeter(before, false)), on) != want {
		t.Error("a meter changes H")
	}
	if hashOf(op, off) == want {
		t.Errorf("the same H with %+v, so the comparison shows nothing", off)
	}
}

// TestMeterRough: with a meter, sweeps are rough as they are without.
func TestMeterRough(t *testing.T) {
	a := instance.FullRank(300, 1)
	op, err := matrix.FromDense(a, 0)
	if err != nil {
		t.Fatal(err)
	}
	before, err := entriesBefore(op, a)
	if err != nil {
		t.Fatal(err)
	}
	checkMeter(t, op, before, 14, symnmf.RowBlock{}, symnmf.RowBlock{CheckEvery: 1}, symnmf.Options{Start: symnmf.Random{}, Stop: symnmf.Stop{Sweeps: 25, KKT: -1}})
}

// TestMeterJoint: with a meter, joint steps are taken as they are without.
func TestMeterJoint(t *testing.T) {
	const n, features = 150, 60
	weights, a := instance.Start(n, 8, 1), matrix.NewDense(n, n, nil)
	for c := range features { // sums of eight waves
		x := make([]float64, n)
		for i := range x {
			for k, w := range weights.Row(i) {
				x[i] += w * (1 + math.Cos(0.05*float64(c*(k+1))))
			}
		}
		for i, v := range x {
			for l, w := range x {
				a.Set(i, l, a.At(i, l)+v*w)
			}
		}
	}
	op, err := matrix.FromDense(a, 0)
	if err != nil {
		t.Fatal(err)
	}
	before, err := entriesBefore(op, a)
	if err != nil {
		t.Fatal(err)
	}
	checkMeter(t, op, before, 5, symnmf.RowBlock{}, symnmf.RowBlock{Joint: symnmf.NoJoint}, symnmf.Options{Start: symnmf.Random{}, Seed: 1, Stop: symnmf.Stop{Sweeps: 60, KKT: -1}})
}

// oneByOne is a sparse A whose cursors do not tell what they sum up, as those of metered.
type oneByOne struct{ *matrix.SymCSR }

func (a oneByOne) Scaled(c float64) matrix.Operator {
	return oneByOne{a.SymCSR.Scaled(c).(*matrix.SymCSR)}
}

func (a oneByOne) OffDiagonal() matrix.Operator {
	return oneByOne{a.SymCSR.OffDiagonal().(*matrix.SymCSR)}
}

func (a oneByOne) NewCursor(h *matrix.Dense, workers int) matrix.Cursor {
	return struct{ matrix.Forwarder }{a.SymCSR.NewCursor(h, workers).(matrix.Forwarder)}
}

// TestMeter: a method makes the same H with a meter as without, to the bit, because it finds the same optional
// interfaces, but for those of the cursors of a sparse A.
func TestMeter(t *testing.T) {
	for _, set := range meterSets {
		d := set.data()
		a, err := d.operator(set.form, 1)
		if err != nil {
			t.Fatal(err)
		}
		before, err := entriesBefore(a, d.table(set.form))
		if err != nil || before[a.Dim()] != a.Stored() {
			t.Fatalf("%s: %d numbers, want %d; %v", set.name, before[a.Dim()], a.Stored(), err)
		}
		_, explicit := a.(matrix.RowVisitor)
		for _, method := range symnmf.Methods() {
			if method.Name == "cd-residual" || method.Name == "cd-mbi" {
				continue // cd-residual needs the matrix itself; cd-mbi takes long
			}
			solver, _ := symnmf.ParseSolver(method.Name, nil)
			hashOf := func(a matrix.Operator) string {
				res, err := symnmf.Factorize(context.Background(), a, 6, symnmf.Options{
					Solver: solver, Start: symnmf.Random{}, Threads: 1, Seed: 1, Stop: symnmf.Stop{Sweeps: 4, KKT: -1}})
				if err != nil {
					t.Fatalf("%s, %s: %v", set.name, method.Name, err)
				}
				return instance.Hash(res.H)
			}
			m := newMeter(before, !explicit)
			plain := hashOf(a)
			if s, sparse := a.(*matrix.SymCSR); sparse && strings.Contains("cd-cyclic cd-shuffle compressed", method.Name) {
				plain = hashOf(oneByOne{s})
			}
			if hashOf(withMeter(a, m)) != plain {
				t.Errorf("%s, %s: a meter changes H", set.name, method.Name)
			}
			if m.singles == 0 && len(m.terms) == 0 {
				t.Errorf("%s, %s: nothing is counted", set.name, method.Name)
			}
		}
	}
}

// TestMeasureProducts: the products per sweep are those that the methods are known to take, and every method has
// figures for its products and for what bounds them.
func TestMeasureProducts(t *testing.T) {
	lim := newLimits()
	if !(lim.madd > 0 && lim.madd < 100 && lim.perByte(1<<12) > 0 && lim.perByte(1<<12) < 100) {
		t.Fatalf("a multiply–add %v ns, a byte %v ns", lim.madd, lim.perByte(1<<12))
	}
	want := map[string]float64{"mu": 1, "symhals": 2, "anls": 2, "lvs": 4, "rowblock": 1, "cd-cyclic": 0, "lai": 0}
	for _, set := range meterSets {
		d := set.data()
		a, err := d.operator(set.form, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range symnmf.Methods() {
			products, known := want[method.Name]
			if !known {
				continue
			}
			first, later, err := measureProducts(a, d.table(set.form), 6, method, lim, time.Millisecond, time.Minute)
			if err != nil {
				t.Fatalf("%s, %s: %v", set.name, method.Name, err)
			}
			if first.Sweeps != 1 || first.Products < 2 || later.Sweeps < 1 {
				t.Errorf("%s, %s: %+v, then %+v", set.name, method.Name, first, later)
			}
			for _, r := range []*productRun{first, later} {
				if r.Products > 0 && !(r.Nanos > 0 && r.Limit > 0 && r.InProducts > 0 && len(r.Columns) > 0) {
					t.Errorf("%s, %s: %+v", set.name, method.Name, r)
				}
			}
			got := later.Products / float64(later.Sweeps)
			switch {
			case method.Name == "rowblock" && later.Sweeps > 20: // with products of single rows now and then
				if !(got >= 1 && got <= 1.5) {
					t.Errorf("%s, rowblock: %v products a sweep", set.name, got)
				}
			case method.Name == "cd-cyclic": // at most all entries of H, and a new A·H now and then
				if !(got > 0 && got <= 2.5) {
					t.Errorf("%s, cd-cyclic: %v products a sweep", set.name, got)
				}
			case method.Name == "lai", method.Name == "rowblock":
			case !(math.Abs(got-products) <= 1e-9):
				t.Errorf("%s, %s: %v products a sweep, want %v", set.name, method.Name, got, products)
			}
		}
	}
}

// TestCursorTape: the calls of a cursor in a taped sweep are on the tape and are counted, and replaying the
// tape changes nothing.
func TestCursorTape(t *testing.T) {
	d := &dataset{a: instance.RandomSparse(40, 300, 1)}
	a, err := d.operator(fromA, 1)
	if err != nil {
		t.Fatal(err)
	}
	before, err := entriesBefore(a, d.a)
	if err != nil {
		t.Fatal(err)
	}
	m := newMeter(before, false)
	h := instance.Start(40, 3, 2)
	c := withMeter(a, m).NewCursor(h, 1)
	if m.calls != 0 {
		t.Errorf("before anything is asked for: %+v", m.tally)
	}
	m.taping = true
	c.Column(2)
	if m.terms[kind{3, allRows}] != 3*a.Stored() || m.calls != 1 || m.spent <= 0 {
		t.Errorf("after the first product: %+v", m.tally)
	}
	at := c.At(7)
	c.Add(5, 0.25)
	h.Set(5, 2, h.At(5, 2)+0.25)
	c.Refresh()
	if want := []int32{-3, 14, 11}; !slices.Equal(m.tape, want) || m.singles != before[6]-before[5] {
		t.Errorf("tape %v, want %v; %d multiply–adds, row 5 has %d entries", m.tape, want, m.singles, before[6]-before[5])
	}
	if m.terms[kind{3, allRows}] != 6*a.Stored() {
		t.Errorf("after a refresh: %+v", m.terms)
	}
	if m.replay() <= 0 {
		t.Error("playing back took no time")
	}
	c.Column(2)
	var want float64
	a.(matrix.RowVisitor).VisitRow(7, func(l int, v float64) { want += v * h.At(l, 2) })
	if got := c.At(7); !(math.Abs(got-want) <= 1e-12*want) || got < at {
		t.Errorf("entry [7,2] of A·H is %v after playing back, want %v", got, want)
	}

	// Looking forward, At reads a row, and Add reads nothing.
	m.tape, m.singles = nil, 0
	terms := m.terms[kind{3, allRows}]
	c.(matrix.Forwarder).Forward()
	c.Column(1)
	c.At(7)
	c.Add(7, 0)
	if row := before[8] - before[7]; m.singles != row || m.terms[kind{3, allRows}] != terms || !m.ahead || len(m.tape) != 3 {
		t.Errorf("looking forward: %+v, tape %v, row 7 has %d entries", m.tally, m.tape, row)
	}
	m.replay()
	before7 := c.At(7)
	a.(matrix.RowVisitor).VisitRow(7, func(l int, _ float64) { h.Set(l, 1, h.At(l, 1)+1) })
	if c.Column(1); c.At(7) <= before7 { // only a cursor that looks forward sees changes made without Add
		t.Error("the tape was played back by a cursor that does not look forward")
	}
	if c.Refresh(); m.forward {
		t.Error("the cursor still looks forward after a refresh")
	}
	calls := m.calls
	if c.Column(0); m.calls != calls {
		t.Error("a column after a refresh takes another product")
	}
}

// TestReads: arithmetic bounds wide products of a dense A in cache, and memory bounds the others.
func TestReads(t *testing.T) {
	lim := &limits{madd: 1, bytes: map[int]float64{}, most: 1}
	lim.bytes[64] = 2 // for memory of any size
	lim.most = 64
	lim.perByte(64)
	for _, tc := range []struct {
		r    reads
		k    kind
		want float64
	}{
		{reads{limits: lim, stored: 100, rows: 10}, kind{64, 64}, 1},
		{reads{limits: lim, stored: 100, rows: 10}, kind{4, 8}, 8*2/4. + 8*2/8.},
		{reads{limits: lim, stored: 100, rows: 10}, kind{4, allRows}, 8*2/4. + 8*2/10.},
		{reads{limits: lim, stored: 100, rows: 10, entry: 12}, kind{4, 64}, 12*2/4. + 8*2},
	} {
		if got := tc.r.term(tc.k); got != tc.want {
			t.Errorf("%+v, %+v: %v, want %v", tc.r, tc.k, got, tc.want)
		}
	}
	for _, tc := range []struct {
		r    reads
		want float64
	}{{reads{limits: lim, rows: 10}, 16 + 8}, {reads{limits: lim, rows: 10, entry: 4}, 8 + 32}, {reads{limits: lim, rows: 10, entry: 12, points: true}, 24 + 24}} {
		if got := tc.r.single(); got != tc.want {
			t.Errorf("%+v: %v for a single column, want %v", tc.r, got, tc.want)
		}
	}
}

// TestNoSweep: a method that refuses the matrix, or that makes no sweep in time, is reported as such.
func TestNoSweep(t *testing.T) {
	d := meterSets[0].data()
	a, err := d.operator(fromA, 1)
	if err != nil {
		t.Fatal(err)
	}
	lim := newLimits()
	for _, method := range symnmf.Methods() {
		switch method.Name {
		case "cd-residual":
			if _, _, err := measureProducts(a, d.a, 6, method, lim, time.Second, time.Minute); !errors.Is(err, symnmf.ErrUnfit) {
				t.Errorf("cd-residual: %v", err)
			}
		case "cd-mbi":
			if _, _, err := measureProducts(a, d.a, 6, method, lim, time.Millisecond, time.Millisecond); !errors.Is(err, errNoSweep) {
				t.Errorf("cd-mbi: %v", err)
			}
		}
	}
	if _, err := entriesBefore(a, matrix.NewDense(3, 4, nil)); err == nil {
		t.Error("points in a dense table are accepted")
	}
	var out bytes.Buffer
	r := productRun{Sweeps: 4, Seconds: 2, Products: 8, Columns: []int{1, 6}, Rows: []int{64}, InProducts: 1, Nanos: 0.3, Limit: 0.2}
	printTable(&out, []string{"a"}, [][]string{r.cells("a")[:1]})
	if got := strings.Join(r.cells("a"), " "); got != "a 0.5 2 2 1, 6 64 0.3 0.2 1.50 50.0" {
		t.Errorf("%q", got)
	}
}
