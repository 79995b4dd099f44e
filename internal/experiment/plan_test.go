package experiment

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"symnmf"
)

const smallPlan = `# two of everything
plan small
title A small plan
threads 2

experiment fits
title Some fits
data demo:karate              # a graph
data synthetic:low-rank n=12 instances=2-3
rank 2 3
time 5s
sweeps 4
seeds 0-1 7
method cd-cyclic start=zero
method cd-shuffle start=random seeds=1,7 repeats=2
method rowblock start=random set=block=3 set=passes=2 as=blocks time=1m
method? nothing start=random
best 0
reach 0.5 30%
pictures 4x3 columns
tables errors=table4 seconds=times
figure figure2
`

func mustParse(t *testing.T, text string) *Plan {
	t.Helper()
	p, err := ParsePlan("test.plan", text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// onePicture is smallPlan with a single rank, since pictures need one.
var onePicture = strings.Replace(smallPlan, "rank 2 3", "rank 2", 1)

// TestParsePlan checks every setting of a plan.
func TestParsePlan(t *testing.T) {
	p := mustParse(t, onePicture)
	if p.Name != "small" || p.Title != "A small plan" || p.Threads != 2 || len(p.Experiments) != 1 {
		t.Fatalf("%+v", p)
	}
	e := p.Experiments[0]
	if e.Title != "Some fits" || e.Time != 5*time.Second || e.Sweeps != 4 || *e.Best != 0 || e.Figure != "figure2" || *e.Pictures != (Pictures{4, 3, true}) {
		t.Errorf("%+v", e)
	}
	if want := []Reach{{0.5, false}, {0.3, true}}; !slices.Equal(e.Reach, want) {
		t.Errorf("reach %v, want %v", e.Reach, want)
	}
	if e.Tables["errors"] != "table4" || e.Tables["seconds"] != "times" || len(e.Tables) != 2 {
		t.Errorf("tables %v", e.Tables)
	}
	for k, want := range []Method{
		{Label: "cd-cyclic-0", Name: "cd-cyclic", Start: "zero", Seeds: []uint64{0}, Repeats: 1, Time: 5 * time.Second, Sweeps: 4},
		{Label: "cd-shuffle-rand", Name: "cd-shuffle", Start: "random", Seeds: []uint64{1, 7}, Repeats: 2, Time: 5 * time.Second, Sweeps: 4},
		{Label: "blocks", Name: "rowblock", Start: "random", Seeds: []uint64{0, 1, 7}, Repeats: 1, Time: time.Minute, Sweeps: 4},
	} {
		m := e.Methods[k]
		if m.Label != want.Label || m.Name != want.Name || m.Start != want.Start || !slices.Equal(m.Seeds, want.Seeds) || m.Repeats != want.Repeats ||
			m.Time != want.Time || m.Sweeps != want.Sweeps {
			t.Errorf("method %d: %+v, want %+v", k, m, want)
		}
	}
	if m := e.Methods[2]; m.Knobs["block"] != "3" || m.Knobs["passes"] != "2" {
		t.Errorf("knobs %v", m.Knobs)
	}
	if !slices.Equal(p.LeftOut, []string{"method nothing"}) {
		t.Errorf("left out: %q", p.LeftOut)
	}
}

// TestByteOrderMark: a plan may begin with a byte order mark, which some editors write.
func TestByteOrderMark(t *testing.T) {
	if got, want := mustParse(t, "\ufeff"+onePicture).String(), mustParse(t, onePicture).String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestSize checks the number of runs, of those without a time limit, and the sum of the limits.
func TestSize(t *testing.T) {
	// On each of 3 matrices: 1 run from zero and 2·2 shuffled ones of 5 s each, and 3 runs of blocks of 60 s
	// each.
	runs, unbounded, limits := mustParse(t, onePicture+"experiment more\ndata demo:karate\nrank 2\nsweeps 9\nmethod cd-cyclic\n").Size()
	if runs != 3*8+1 || unbounded != 1 || limits != 3*(5*5+3*60)*time.Second {
		t.Errorf("%d runs, %d without a limit, %v", runs, unbounded, limits)
	}
	long := mustParse(t, "plan p\nexperiment e\ndata demo:karate\nrank 2\ntime 2000000h\nrepeats 9\nmethod cd-cyclic\n") // centuries each
	if _, _, limits := long.Size(); limits != math.MaxInt64 {
		t.Errorf("limits of %v, want what a duration holds", limits)
	}
}

// TestKeys: keys name what a result depends on. They must not change, or recorded runs are made again.
func TestKeys(t *testing.T) {
	p := mustParse(t, onePicture+`
experiment pairs
task eigen
data synthetic:text m=9 n=8 words=3
data cbcl items=rows form=explicit
rank 2
repeats 2
`)
	want := strings.Fields(`
fits/demo:karate/r=2/cd-cyclic-0/seed=0
fits/demo:karate/r=2/blocks/seed=0
fits/demo:karate/r=2/cd-shuffle-rand/seed=1
fits/demo:karate/r=2/blocks/seed=1
fits/demo:karate/r=2/cd-shuffle-rand/seed=7
fits/demo:karate/r=2/blocks/seed=7
fits/demo:karate/r=2/cd-shuffle-rand/seed=1/2
fits/demo:karate/r=2/cd-shuffle-rand/seed=7/2`)
	for _, instance := range []string{"2", "3"} {
		for _, key := range want[:8] {
			want = append(want, strings.Replace(key, "demo:karate", "synthetic:low-rank,n=12#"+instance, 1))
		}
	}
	want = append(want, strings.Fields(`
pairs/synthetic:text,m=9,n=8,words=3#1/r=2/X
pairs/synthetic:text,m=9,n=8,words=3#1/r=2/XtX
pairs/synthetic:text,m=9,n=8,words=3#1/r=2/X/2
pairs/synthetic:text,m=9,n=8,words=3#1/r=2/XtX/2
pairs/cbcl,items=rows,form=explicit/r=2/X
pairs/cbcl,items=rows,form=explicit/r=2/XtX
pairs/cbcl,items=rows,form=explicit/r=2/X/2
pairs/cbcl,items=rows,form=explicit/r=2/XtX/2`)...)
	if got := p.Keys(); !slices.Equal(got, want) {
		t.Errorf("keys\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestPlanText: what String writes is read as the same plan, whose text is the same again. Any other setting
// makes another plan; a comment does not.
func TestPlanText(t *testing.T) {
	for _, name := range PlanNames() {
		p, err := BuiltinPlan(name)
		if err != nil {
			t.Fatal(err)
		}
		again := mustParse(t, p.String())
		if again.String() != p.String() || again.hash() != p.hash() || !slices.Equal(again.Keys(), p.Keys()) {
			t.Errorf("%s reads back as\n%s\nwant\n%s", name, again, p)
		}
	}
	p := mustParse(t, onePicture)
	if again := mustParse(t, p.String()); again.String() != p.String() || !slices.Equal(again.Keys(), p.Keys()) {
		t.Errorf("it reads back as\n%s\nwant\n%s", again, p)
	}
	if commented := mustParse(t, "# a remark\n\n"+onePicture); commented.hash() != p.hash() {
		t.Error("a comment makes it another plan")
	}
	for what, by := range map[string]string{
		"sweeps 4": "sweeps 5", "start=zero": "start=random", " columns": "", "seeds=1,7": "seeds=1,8", "repeats=2": "repeats=3", "set=block=3": "set=block=4", "as=blocks": "as=parts",
		"time=1m": "time=2m", "time 5s": "time 6s", "best 0": "best 0.5", "30%": "40%", "4x3": "3x4", "figure2": "figure3", "table4": "table3", "instances=2-3": "instances=2", "n=12": "n=13", "rank 2": "rank 3",
	} {
		other := mustParse(t, strings.Replace(onePicture, what, by, 1))
		if other.hash() == p.hash() {
			t.Errorf("%q in place of %q makes no other plan", by, what)
		}
		if again := mustParse(t, other.String()); again.hash() != other.hash() || again.Experiments[0].Methods[0].Start != other.Experiments[0].Methods[0].Start || *again.Experiments[0].Pictures != *other.Experiments[0].Pictures {
			t.Errorf("with %q it reads back as\n%s\nwant\n%s", by, again, other)
		}
	}
	points := "plan p\nexperiment e\ndata hitech%s\nrank 2\nsweeps 1\nmethod mu start=random\n"
	if bare, said := mustParse(t, fmt.Sprintf(points, "")), mustParse(t, fmt.Sprintf(points, " items="+defaultItems("hitech"))); bare.hash() != said.hash() || !slices.Equal(bare.Keys(), said.Keys()) {
		t.Errorf("naming the default makes it another plan:\n%s\n%s", bare, said)
	}
	written, err := parseWritten(strings.Replace(p.String(), "method rowblock", "method of-another-build", 1))
	if err != nil || len(written.runs()) != len(p.runs()) {
		t.Errorf("the plan of a build with other methods: %v", err)
	}
}

// TestBuiltinPlans: the built-in plans leave out nothing but methods that the build lacks, and have all
// methods but those for small problems. The plan named quick needs no file.
func TestBuiltinPlans(t *testing.T) {
	for _, name := range PlanNames() {
		p, err := BuiltinPlan(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range p.LeftOut {
			if method, ok := strings.CutPrefix(text, "method "); !ok || slices.Contains(MethodNames(), method) {
				t.Errorf("%s leaves out %s", name, text)
			}
		}
		runs, unbounded, limits := p.Size()
		t.Logf("%s: %d runs, %d without a limit, %v", name, runs, unbounded, limits)
		text, _ := PlanText(name)
		for _, m := range symnmf.Methods() {
			if strings.HasPrefix(m.Name, "cd-mbi") || m.Name == "cd-residual" { // for small problems, for comparison
				continue
			}
			if !strings.Contains(text, "method "+m.Name+" ") && !strings.Contains(text, "method? "+m.Name+" ") {
				t.Errorf("plan %s lacks %s", name, m.Name)
			}
		}
	}
	quick, err := BuiltinPlan("quick")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range quick.runs() {
		if r.set.missing("") {
			t.Errorf("quick needs the file of %s", r.set.Name)
		}
	}
	if _, err := BuiltinPlan("slow"); !errors.Is(err, ErrPlan) || !strings.Contains(err.Error(), "paper, quick") {
		t.Errorf("%v", err)
	}
}

// TestPlanErrors checks that each mistake in a plan is an error that names its line and says what is wrong.
func TestPlanErrors(t *testing.T) {
	const begin = "plan p\nexperiment e\ndata demo:karate\nrank 2\nsweeps 3\n"
	for _, tc := range []struct{ text, want string }{
		{"", "p.plan:1: it has no name; add a line: plan NAME"},
		{"plan p\n", "p.plan:1: it has no experiment; add a line: experiment NAME"},
		{"plan p\nplan q\n", "p.plan:2: a second plan; remove one of the two"},
		{"plan p\nrank 2\n", "p.plan:2: rank belongs to an experiment; begin one with: experiment NAME"},
		{"plan p\nexperiment e\nthreads 2\n", "p.plan:3: threads belongs before the first experiment"},
		{"plan p\n\nthread 2\n", `p.plan:3: unknown directive "thread"; there are plan, title, threads, experiment`},
		{"plan p\nthreads\n", "p.plan:2: threads needs a value"},
		{"plan p\nthreads 0\n", `p.plan:2: threads: "0": want a whole number from 1 on`},
		{"plan p q\n", "p.plan:1: plan: want one value, not 2: p q"},
		{"plan p/q\n", `p.plan:1: plan: "p/q": want letters, digits, - . and _`},
		{begin + "method cd-cyclic\nexperiment e\n", `p.plan:7: experiment: "e" already begins in line 2; names must differ`},
		{"plan p\nexperiment e\n", "p.plan:2: experiment e has no data; add a line: data"},
		{"plan p\nexperiment e\ndata demo:karate\n", "p.plan:2: experiment e has no rank; add a line: rank"},
		{begin, "p.plan:2: experiment e has no method; add a line: method"},
		{begin + "method cd-cycle\n", `p.plan:6: method: unknown method "cd-cycle"; there are cd-cyclic, `},
		{begin + "method cd-cycle\n", "method? leaves out what a build lacks"},
		{begin + "method cd-cyclic start=one\n", `p.plan:6: method: unknown start "one"; there are zero, random`},
		{begin + "method cd-cyclic set=block=3\n", `p.plan:6: method: cd-cyclic has no knob "block"; it has entries, nu, mbi-every`},
		{begin + "method? cd-cyclic set=block=3\n", `p.plan:6: method?: cd-cyclic has no knob "block"`},
		{begin + "method cd-cyclic set=nu=7\n", "p.plan:6: method: nu=7, want a number above 0 and up to 1"},
		{begin + "method cd-cyclic set=nu\n", `p.plan:6: method: set="nu": want each KNOB=VALUE once`},
		{begin + "method cd-cyclic zero\n", `p.plan:6: method: "zero": want KEY=VALUE: start, seeds, repeats, time, sweeps, set, as`},
		{begin + "method cd-cyclic sweep=3\n", "p.plan:6: method: unknown setting sweep=; there are start, seeds, repeats, time, sweeps, set, as"},
		{begin + "method cd-cyclic time=3\n", `p.plan:6: method: time="3": want a time with its unit, such as 60s or 5m, or 0 for none`},
		{begin + "method cd-cyclic as=a as=b\n", "p.plan:6: method: as= is given twice"},
		{begin + "method cd-cyclic\nmethod cd-cyclic\n", "p.plan:7: method: cd-cyclic is already used in line 6; as=LABEL tells the two apart"},
		{begin + "method cd-cyclic sweeps=0\n", "p.plan:6: cd-cyclic has no limit in time or in sweeps: the run might never end; add time=60s or sweeps=1000"},
		{begin + "seeds 3-1\n", `p.plan:6: seeds: "3-1": want whole numbers from 0 on, such as 0-9 or 1,5`},
		{begin + "seeds 1 0-2\n", "p.plan:6: seeds: 1 is given twice"},
		{begin + "seeds 0-99999999999\n", `p.plan:6: seeds: "0-99999999999": more than 10000 numbers in all`},
		{begin + "seeds 0-18446744073709551615\n", "p.plan:6: seeds:"},
		{begin + "seeds 0-9999 10000\n", `p.plan:6: seeds: "10000": more than 10000 numbers in all`},
		{begin + "seeds 0-9999\nmethod cd-cyclic\nrepeats 11\n", "p.plan:2: with experiment e the plan has 110000 runs, and at most 100000 are allowed: split it into several plans"},
		{begin + "repeats 1000000000\nmethod cd-cyclic\n", "the plan has 1000000000 runs"},
		{begin + "method cd-cyclic seeds=1-9000\nexperiment f\ntask eigen\ndata synthetic:full-rank n=5 instances=1-9000\nrank 2 3 4\nrepeats 2\n", "p.plan:7: with experiment f the plan has 117000 runs"},
		{"plan p\nthreads 4097\n", `p.plan:2: threads: "4097": at most 4096 are allowed`},
		{begin + "best 1\n", `p.plan:6: best: "1": want a relative error from 0 to 1`},
		{begin + "reach 2\n", `p.plan:6: reach: "2": want E between 0 and 1, or an error in percent, such as 31%`},
		{begin + "pictures 4\n", `p.plan:6: pictures: "4": want WIDTHxHEIGHT, then columns if the pixels come by columns`},
		{begin + "tables mistakes=a\n", `p.plan:6: tables: "mistakes=a": want errors=NAME, iterations=NAME or seconds=NAME`},
		{begin + "task sing\n", `p.plan:6: task: "sing": there are fit and eigen`},
		{begin + "task eigen\n", "p.plan:2: experiment e: sweeps is for task fit, not eigen"},
		{begin + "rank 2\n", "p.plan:6: a second rank; remove one of the two"},
		{begin + "data demo:karate\nmethod cd-cyclic\n", "p.plan:2: experiment e has the run e/demo:karate/r=2/cd-cyclic/seed=0 twice: give its set or rank only once"},
		{begin + "data demo:iris\n", "p.plan:6: data: unknown set demo:iris; there are demo:karate, lesmis, digits"},
		{begin + "data synthetic:high-rank\n", "p.plan:6: data: unknown set synthetic:high-rank; there are synthetic:low-rank, full-rank, planted, text"},
		{begin + "data synthetic:low-rank\n", "p.plan:6: data: synthetic:low-rank needs n="},
		{begin + "data synthetic:low-rank n=0\n", "p.plan:6: data: n=0: want a whole number from 1 to 16777216"},
		{begin + "data synthetic:full-rank n=5 r=2\n", "p.plan:6: data: synthetic:full-rank has no option r=; it has n"},
		{begin + "data synthetic:planted n=4 groups=5 in=1 out=0\n", "p.plan:6: data: 5 groups for only 4 nodes"},
		{begin + "data synthetic:planted n=4 groups=2 in=2 out=0\n", "p.plan:6: data: in=2: want a number from 0 to 1"},
		{begin + "data synthetic:text m=4 n=5 words=6\n", "p.plan:6: data: 6 different words per document, but only 5 terms"},
		{begin + "data synthetic:full-rank n=5 instances=x\n", `p.plan:6: data: instances="x": want whole numbers`},
		{begin + "data cbcl instances=1\n", "p.plan:6: data: instances= is for synthetic sets, and cbcl is not one"},
		{begin + "data ../cbcl\n", `p.plan:6: data: "../cbcl": want the name of a folder of the data directory`},
		{begin + "data cbcl items=points\n", "p.plan:6: data: items=points: want columns or rows"},
		{begin + "data items=rows\n", "p.plan:6: data: want the name of a set"},
		{begin + "data cbcl items=rows items=rows\n", "p.plan:6: data: items= is given twice"},
		{smallPlan, "p.plan:6: experiment fits: pictures need a single rank"},
	} {
		_, err := ParsePlan("p.plan", tc.text)
		if !errors.Is(err, ErrPlan) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q:\n%v\nwant\n%s", tc.text, err, tc.want)
		}
	}
}

const twoExperiments = "experiment more\ndata demo:lesmis demo:karate\nrank 2\nsweeps 3\nmethod cd-cyclic start=random seeds=0-4\n"

// TestChange changes the time limits and the number of starts of a plan.
func TestChange(t *testing.T) {
	p := mustParse(t, onePicture+twoExperiments)
	p.Change(Change{Time: time.Second, Starts: 2})
	if d := p.Experiments[0].Methods[2].Time; d != time.Second {
		t.Errorf("time limit %v", d)
	}
	if d := p.Experiments[1].Methods[0].Time; d != 0 {
		t.Errorf("a limit in sweeps becomes one of %v", d)
	}
	for k, want := range [][]uint64{{0}, {1, 7}, {0, 1}} {
		if got := p.Experiments[0].Methods[k].Seeds; !slices.Equal(got, want) {
			t.Errorf("method %d has the seeds %v, want %v", k, got, want)
		}
	}
	if again := mustParse(t, p.String()); again.hash() != p.hash() {
		t.Errorf("it reads back as\n%s\nwant\n%s", again, p)
	}
}

// TestSelect: a selection picks runs, and leaves the plan the same.
func TestSelect(t *testing.T) {
	text := onePicture + twoExperiments + "experiment pairs\ntask eigen\ndata demo:digits\nrank 2\n"
	p := mustParse(t, text)
	whole, all := p.hash(), p.Keys()
	if err := p.Select(Selection{Sets: []string{"demo:karate"}, Methods: []string{"cd-cyclic-0", "cd-cyclic-rand"}}); err != nil {
		t.Fatal(err)
	}
	want := []string{"fits/demo:karate/r=2/cd-cyclic-0/seed=0"}
	for seed := range 5 {
		want = append(want, fmt.Sprintf("more/demo:karate/r=2/cd-cyclic-rand/seed=%d", seed))
	}
	if got := p.Keys(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if runs, _, _ := p.Size(); runs != len(want) {
		t.Errorf("%d runs, want %d", runs, len(want))
	}
	if p.hash() != whole {
		t.Error("the selection makes it another plan")
	}
	parts := 0
	for _, name := range []string{"fits", "more", "pairs"} {
		if err := p.Select(Selection{Experiments: []string{name}}); err != nil {
			t.Fatal(err)
		}
		for _, key := range p.Keys() {
			if parts++; !strings.HasPrefix(key, name+"/") || !slices.Contains(all, key) {
				t.Errorf("%s is no run of experiment %s, or not of the plan", key, name)
			}
		}
	}
	if parts != len(all) {
		t.Errorf("the parts have %d runs, the whole %d", parts, len(all))
	}
	for _, tc := range []struct {
		selection Selection
		want      string
	}{
		{Selection{Sets: []string{"cbcl"}}, `plan small has no set "cbcl"; it has demo:karate, synthetic:low-rank, demo:lesmis`},
		{Selection{Methods: []string{"anls"}}, `plan small has no method "anls"; it has cd-cyclic-0, `},
		{Selection{Experiments: []string{"x"}}, `plan small has no experiment "x"; it has fits, more, pairs`},
		{Selection{Experiments: []string{"fits", "pairs"}, Sets: []string{"demo:lesmis"}},
			"plan small has no run with the experiment fits or pairs and the set demo:lesmis"},
		{Selection{Experiments: []string{"pairs"}, Methods: []string{"blocks"}}, "no run with the experiment pairs and the method blocks"},
	} {
		if err := mustParse(t, text).Select(tc.selection); !errors.Is(err, ErrPlan) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %s", tc.selection, err, tc.want)
		}
	}
}

// TestNumbers: a list of numbers is read back from its text.
func TestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfNDistinct(rapid.Uint64Range(0, 20), 1, 15, rapid.ID[uint64]).Draw(t, "list")
		if rapid.Bool().Draw(t, "sorted") {
			slices.Sort(list)
		}
		got, err := parseNumbers(numbers(list))
		if err != nil || !slices.Equal(got, list) {
			t.Fatalf("%v is written %s and read as %v, %v", list, numbers(list), got, err)
		}
	})
	if got := numbers([]uint64{0, 1, 2, 5, 6, 9}); got != "0-2,5,6,9" {
		t.Error(got)
	}
}
