package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrPlan reports a plan with a mistake. It comes wrapped with the file, the line and the repair.
var ErrPlan = errors.New("experiment: bad plan")

// Plan says which runs to make and what to draw of them.
type Plan struct {
	Name, Title string
	Threads     int
	Experiments []*Experiment
	LeftOut     []string // what method? lines ask for and this build lacks, such as "method anls"

	file     string // it was read from
	selected Selection
}

func (p *Plan) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("%w: %s:%d: %s", ErrPlan, p.file, line, fmt.Sprintf(format, args...))
}

// The tasks.
const (
	TaskFit   = "fit"
	TaskEigen = "eigen"
)

// Experiment runs all its methods on all its sets.
type Experiment struct {
	Name, Title string
	Task        string
	Data        []Set
	Ranks       []int
	Time        time.Duration // 0: no limit
	Sweeps      int           // 0: no limit
	Seeds       []uint64
	Repeats     int
	Methods     []Method
	Best        *float64 // the known least relative error; nil: the least of all runs
	Reach       []Reach
	Pictures    *Pictures
	Tables      map[string]string // names of the tables of errors, iterations and seconds
	Figure      string

	line int
}

// Set is a data set as a plan names it.
type Set struct {
	Name      string
	Options   map[string]string // without instances
	Instances []uint64          // {0} for what has only one
}

// Method is a method line of an experiment. Limits that it does not set are those of the experiment.
type Method struct {
	Label, Name, Start string
	Knobs              map[string]string
	Seeds              []uint64
	Repeats            int
	Time               time.Duration
	Sweeps             int

	wish bool
	line int
	own  map[string]bool // the settings that its line has
}

// Reach is an error whose time is tabled.
type Reach struct {
	Value   float64 // of E(t), or a relative error
	Percent bool    // the latter, written in percent
}

// Pictures says how a column of H makes a picture.
type Pictures struct {
	W, H    int
	Columns bool // pixels by columns
}

// run is a run of a plan. Once made, it is one line of the records.
type run struct {
	key        string
	experiment *Experiment
	set        Set
	instance   uint64
	rank       int
	method     *Method // nil for an eigen task
	label      string  // of the method; for an eigen task, the form whose eigenpairs are computed
	seed       uint64
	repeat     int // from 1
}

// id names the set and its options.
func (s Set) id() string {
	id := s.Name
	for _, key := range setKeys(s.Name) {
		if v, ok := s.Options[key]; ok {
			id += "," + key + "=" + v
		}
	}
	return id
}

// formless removes the form from an id: the form changes times but no error.
func formless(id string) string { return strings.TrimSuffix(id, ",form=explicit") }

// at names one of the set's matrices.
func (s Set) at(instance uint64) string {
	if !strings.HasPrefix(s.Name, synthetic) {
		return s.id()
	}
	return fmt.Sprintf("%s#%d", s.id(), instance)
}

// runs lists the runs in the order in which they are made. Sets come one after the other, so that each is read once.
// The methods from one start come side by side, so that other load on the machine affects them alike.
func (p *Plan) runs() (list []run) {
	for _, e := range p.Experiments {
		for _, set := range e.Data {
			for _, instance := range set.Instances {
				for _, rank := range e.Ranks {
					at := fmt.Sprintf("%s/%s/r=%d", e.Name, set.at(instance), rank)
					list = append(list, e.runsAt(run{key: at, experiment: e, set: set, instance: instance, rank: rank})...)
				}
			}
		}
	}
	return list
}

// wanted lists the runs that are selected.
func (p *Plan) wanted() []run {
	return slices.DeleteFunc(p.runs(), func(r run) bool { return !p.selected.has(&r) })
}

// size returns how many runs the experiment has, which may be too many to list.
func (e *Experiment) size() float64 {
	matrices, each := 0, 0.0
	for _, s := range e.Data {
		matrices += len(s.Instances)
	}
	for _, m := range e.Methods {
		each += float64(len(m.Seeds)) * float64(m.Repeats)
	}
	if e.Task == TaskEigen {
		each = 2 * float64(e.Repeats)
	}
	return float64(matrices) * float64(len(e.Ranks)) * each
}

func (e *Experiment) runsAt(at run) (list []run) {
	add := func(label string, m *Method, seed uint64, repeat int) {
		r := at
		r.key += "/" + label
		if m != nil {
			r.key += fmt.Sprintf("/seed=%d", seed)
		}
		if repeat > 1 {
			r.key += fmt.Sprintf("/%d", repeat)
		}
		r.method, r.label, r.seed, r.repeat = m, label, seed, repeat
		list = append(list, r)
	}
	if e.Task == TaskEigen {
		for repeat := 1; repeat <= e.Repeats; repeat++ {
			for _, form := range []string{formX, formA} {
				add(form, nil, 0, repeat)
			}
		}
		return list
	}
	var seeds []uint64 // in the order in which they first come
	repeats := 0
	for _, m := range e.Methods {
		for _, s := range m.Seeds {
			if !slices.Contains(seeds, s) {
				seeds = append(seeds, s)
			}
		}
		repeats = max(repeats, m.Repeats)
	}
	for repeat := 1; repeat <= repeats; repeat++ {
		for _, seed := range seeds {
			for k := range e.Methods {
				if m := &e.Methods[k]; repeat <= m.Repeats && slices.Contains(m.Seeds, seed) {
					add(m.Label, m, seed, repeat)
				}
			}
		}
	}
	return list
}

// hash returns a hash that tells plans apart. It is of the plan's text without comments and without what was left out.
func (p *Plan) hash() string {
	sum := sha256.Sum256([]byte(p.String()))
	return hex.EncodeToString(sum[:8])
}

// Change is what a command line may change in a plan. A changed plan is another plan.
type Change struct {
	Time   time.Duration // replaces every time limit that is set; 0: no change
	Starts int           // the most seeds of each method; 0: all
}

// Change makes the changes.
func (p *Plan) Change(c Change) {
	for _, e := range p.Experiments {
		if c.Time > 0 && e.Time > 0 {
			e.Time = c.Time
		}
		for k := range e.Methods {
			m := &e.Methods[k]
			if c.Time > 0 && m.Time > 0 {
				m.Time = c.Time
			}
			if c.Starts > 0 && len(m.Seeds) > c.Starts {
				m.Seeds = m.Seeds[:c.Starts:c.Starts]
			}
		}
		if c.Starts > 0 && len(e.Seeds) > c.Starts {
			e.Seeds = e.Seeds[:c.Starts:c.Starts]
		}
	}
}

// Selection is the part of a plan to run now: names of experiments, names of sets and labels of methods. A nil list
// means all of them.
type Selection struct{ Experiments, Sets, Methods []string }

func (s Selection) has(r *run) bool {
	kept := func(wanted []string, name string) bool { return wanted == nil || slices.Contains(wanted, name) }
	return kept(s.Experiments, r.experiment.Name) && kept(s.Sets, r.set.Name) && kept(s.Methods, r.label)
}

// Select chooses the runs that Keys, Size and [Run] apply to; the plan and its records do not change. A name that
// matches nothing is an error, which lists the names there are. A selection without a run is an error too.
func (p *Plan) Select(s Selection) error {
	if len(p.Experiments) == 0 {
		return fmt.Errorf("%w: plan %s has no run left without %s, which this program lacks; it has the methods %s", ErrPlan, p.Name,
			strings.Join(p.LeftOut, ", "), strings.Join(MethodNames(), ", "))
	}
	var experiments, sets []string
	for _, e := range p.Experiments {
		experiments = append(experiments, e.Name)
		for _, set := range e.Data {
			sets = append(sets, set.Name)
		}
	}
	for _, check := range []struct {
		what            string
		wanted, present []string
	}{{"experiment", s.Experiments, experiments}, {"set", s.Sets, sets}, {"method", s.Methods, p.labels()}} {
		for _, name := range check.wanted {
			if !slices.Contains(check.present, name) {
				return fmt.Errorf("%w: plan %s has no %s %q; it has %s", ErrPlan, p.Name, check.what, name, strings.Join(unique(check.present), ", "))
			}
		}
	}
	p.selected = s
	if len(p.wanted()) == 0 {
		return fmt.Errorf("%w: plan %s has no run with %s", ErrPlan, p.Name, s)
	}
	return nil
}

// labels returns the labels of all methods, in the order in which they first come.
func (p *Plan) labels() (list []string) {
	for _, e := range p.Experiments {
		for _, m := range e.Methods {
			list = append(list, m.Label)
		}
	}
	return unique(list)
}

// String names what is selected.
func (s Selection) String() string {
	var parts []string
	for _, part := range []struct {
		what  string
		names []string
	}{{"the experiment", s.Experiments}, {"the set", s.Sets}, {"the method", s.Methods}} {
		if part.names != nil {
			parts = append(parts, part.what+" "+strings.Join(part.names, " or "))
		}
	}
	return strings.Join(parts, " and ")
}

func unique(names []string) (list []string) {
	for _, n := range names {
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

// String writes the plan; ParsePlan reads it back.
func (p *Plan) String() string {
	var b strings.Builder
	line := func(words ...string) { fmt.Fprintln(&b, strings.Join(words, " ")) }
	line("plan", p.Name)
	if p.Title != "" {
		line("title", p.Title)
	}
	line("threads", strconv.Itoa(p.Threads))
	for _, e := range p.Experiments {
		line("\nexperiment", e.Name)
		if e.Title != "" {
			line("title", e.Title)
		}
		line("task", e.Task)
		for _, s := range e.Data {
			words := []string{"data", s.Name}
			for _, key := range setKeys(s.Name) {
				if v, ok := s.Options[key]; ok {
					words = append(words, key+"="+v)
				}
			}
			if strings.HasPrefix(s.Name, synthetic) {
				words = append(words, "instances="+numbers(s.Instances))
			}
			line(words...)
		}
		words := []string{"rank"}
		for _, r := range e.Ranks {
			words = append(words, strconv.Itoa(r))
		}
		line(words...)
		line("repeats", strconv.Itoa(e.Repeats))
		if e.Task == TaskFit {
			e.writeFit(line)
		}
		if len(e.Tables) > 0 {
			words := []string{"tables"}
			for _, key := range tableKeys {
				if v, ok := e.Tables[key]; ok {
					words = append(words, key+"="+v)
				}
			}
			line(words...)
		}
		if e.Figure != "" {
			line("figure", e.Figure)
		}
	}
	return b.String()
}

func (e *Experiment) writeFit(line func(...string)) {
	line("time", e.Time.String())
	line("sweeps", strconv.Itoa(e.Sweeps))
	line("seeds", numbers(e.Seeds))
	for _, m := range e.Methods {
		words := []string{"method", m.Name}
		if m.Start != "" {
			words = append(words, "start="+m.Start)
		}
		for _, k := range slices.Sorted(maps.Keys(m.Knobs)) {
			words = append(words, "set="+k+"="+m.Knobs[k])
		}
		line(append(words, "as="+m.Label, "time="+m.Time.String(), "sweeps="+strconv.Itoa(m.Sweeps), "seeds="+numbers(m.Seeds),
			"repeats="+strconv.Itoa(m.Repeats))...)
	}
	if e.Best != nil {
		line("best", strconv.FormatFloat(*e.Best, 'g', -1, 64))
	}
	words := []string{"reach"}
	for _, r := range e.Reach {
		words = append(words, r.String())
	}
	line(words...)
	if f := e.Pictures; f != nil {
		words := []string{"pictures", fmt.Sprintf("%dx%d", f.W, f.H)}
		if f.Columns {
			words = append(words, "columns")
		}
		line(words...)
	}
}

func (r Reach) String() string {
	if r.Percent {
		return strconv.FormatFloat(100*r.Value, 'g', 12, 64) + "%"
	}
	return strconv.FormatFloat(r.Value, 'g', -1, 64)
}

// numbers writes a list as parseNumbers reads it: three or more consecutive numbers as first-last, with commas between
// the parts.
func numbers(list []uint64) string {
	var parts []string
	for k := 0; k < len(list); {
		end := k
		for end+1 < len(list) && list[end+1] == list[end]+1 {
			end++
		}
		if end > k+1 {
			parts = append(parts, fmt.Sprintf("%d-%d", list[k], list[end]))
		} else {
			end = k
			parts = append(parts, strconv.FormatUint(list[k], 10))
		}
		k = end + 1
	}
	return strings.Join(parts, ",")
}
