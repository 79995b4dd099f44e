package experiment

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"symnmf"
)

// The most that a plan may ask for.
const (
	MostThreads = 4096    // the runtime sets up something for each thread before it is used
	mostNumbers = 10_000  // in a list of seeds or instances
	mostRuns    = 100_000 // of all experiments
)

// parseNumbers reads whole numbers and ranges, separated by commas.
func parseNumbers(text string) ([]uint64, error) {
	var list []uint64
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		lo, err := strconv.ParseUint(first, 10, 64)
		hi := lo
		if err == nil && isRange {
			hi, err = strconv.ParseUint(last, 10, 64)
		}
		if err != nil || hi < lo {
			return nil, fmt.Errorf("%q: want whole numbers from 0 on, such as 0-9 or 1,5", part)
		}
		if hi-lo >= uint64(mostNumbers-len(list)) {
			return nil, fmt.Errorf("%q: more than %d numbers in all", part, mostNumbers)
		}
		for k := lo; ; k++ {
			if slices.Contains(list, k) {
				return nil, fmt.Errorf("%d is given twice", k)
			}
			list = append(list, k)
			if k == hi {
				break
			}
		}
	}
	return list, nil
}

// parser reads a plan line by line.
type parser struct {
	file string
	line int
	plan *Plan
	e    *Experiment
	seen map[string]bool // directives of this experiment, or of the plan

	written bool // the text was written by String, maybe by a build with other methods
}

func (p *parser) errorf(line int, format string, args ...any) error {
	return p.plan.errorf(line, format, args...)
}

// The directives of a plan and of an experiment, and those that may come several times.
var (
	planDirectives       = []string{"plan", "title", "threads", "experiment"}
	experimentDirectives = []string{"experiment", "title", "task", "data", "rank", "time", "sweeps", "seeds", "repeats", "method", "method?",
		"best", "reach", "pictures", "tables", "figure"}
	severalTimes = []string{"experiment", "data", "method", "method?"}
)

var tableKeys = []string{"errors", "iterations", "seconds"}

// ParsePlan reads a plan; file is its name in messages. Errors name the line and what would be right.
func ParsePlan(file, text string) (*Plan, error) {
	return (&parser{file: file}).parse(text)
}

// parseWritten reads a plan that String wrote, from a file of records. Its methods need not be known.
func parseWritten(text string) (*Plan, error) {
	return (&parser{file: "plan_text", written: true}).parse(text)
}

func (p *parser) parse(text string) (*Plan, error) {
	p.plan, p.seen = &Plan{Threads: 1, file: p.file}, map[string]bool{}
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) { // a byte-order mark
		p.line++
		if k := strings.IndexByte(line, '#'); k == 0 || k > 0 && (line[k-1] == ' ' || line[k-1] == '\t') { // not the one in a name
			line = line[:k]
		}
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := p.directive(words[0], words[1:]); err != nil {
			return nil, err
		}
	}
	if err := p.endExperiment(); err != nil {
		return nil, err
	}
	switch {
	case p.plan.Name == "":
		return nil, p.errorf(1, "it has no name; add a line: plan NAME")
	case len(p.plan.Experiments) == 0:
		return nil, p.errorf(max(p.line, 1), "it has no experiment; add a line: experiment NAME")
	}
	p.plan.Experiments = slices.DeleteFunc(p.plan.Experiments, func(e *Experiment) bool { // all of whose methods were left out
		return e.Task == TaskFit && len(e.Methods) == 0
	})
	runs := 0.0
	for _, e := range p.plan.Experiments {
		if runs += e.size(); runs > mostRuns {
			return nil, p.errorf(e.line, "with experiment %s the plan has %.0f runs, and at most %d are allowed: split it into several plans", e.Name, runs, mostRuns)
		}
	}
	keys := map[string]bool{}
	for _, r := range p.plan.runs() {
		if keys[r.key] {
			return nil, p.errorf(r.experiment.line, "experiment %s has the run %s twice: give its set or rank only once", r.experiment.Name, r.key)
		}
		keys[r.key] = true
	}
	return p.plan, nil
}

func (p *parser) directive(name string, args []string) error {
	known := planDirectives
	if p.e != nil {
		known = experimentDirectives
	}
	if !slices.Contains(known, name) {
		if slices.Contains(experimentDirectives, name) {
			return p.errorf(p.line, "%s belongs to an experiment; begin one with: experiment NAME", name)
		}
		if slices.Contains(planDirectives, name) {
			return p.errorf(p.line, "%s belongs before the first experiment", name)
		}
		return p.errorf(p.line, "unknown directive %q; there are %s", name, strings.Join(known, ", "))
	}
	if p.seen[name] && !slices.Contains(severalTimes, name) {
		return p.errorf(p.line, "a second %s; remove one of the two", name)
	}
	p.seen[name] = true
	if len(args) == 0 {
		return p.errorf(p.line, "%s needs a value", name)
	}
	if err := p.set(name, args); err != nil {
		if errors.Is(err, ErrPlan) {
			return err
		}
		return p.errorf(p.line, "%s: %v", name, err)
	}
	return nil
}

// set carries out one directive. Its caller, directive, adds the line to errors that are not ErrPlan.
func (p *parser) set(name string, args []string) (err error) {
	switch name {
	case "title":
		p.title(strings.Join(args, " "))
		return nil
	case "data":
		return p.data(args)
	case "rank":
		return p.ranks(args)
	case "seeds":
		p.e.Seeds, err = parseNumbers(strings.Join(args, ","))
		return err
	case "method", "method?":
		return p.method(name == "method?", args)
	case "reach":
		return p.reach(args)
	case "pictures":
		return p.pictures(args)
	case "tables":
		return p.tables(args)
	}
	if len(args) > 1 {
		return fmt.Errorf("want one value, not %d: %s", len(args), strings.Join(args, " "))
	}
	return p.setOne(name, args[0])
}

// setOne carries out a directive with a single value.
func (p *parser) setOne(name, v string) (err error) {
	switch name {
	case "plan", "experiment", "figure":
		if !isName(v) {
			return fmt.Errorf("%q: want letters, digits, - . and _", v)
		}
	}
	switch name {
	case "plan":
		p.plan.Name = v
	case "experiment":
		err = p.begin(v)
	case "threads":
		if p.plan.Threads, err = atLeast(1, v); p.plan.Threads > MostThreads {
			err = fmt.Errorf("%q: at most %d are allowed", v, MostThreads)
		}
	case "task":
		if v != TaskFit && v != TaskEigen {
			return fmt.Errorf("%q: there are %s and %s", v, TaskFit, TaskEigen)
		}
		p.e.Task = v
	case "time":
		p.e.Time, err = limit(v)
	case "sweeps":
		p.e.Sweeps, err = atLeast(0, v)
	case "repeats":
		p.e.Repeats, err = atLeast(1, v)
	case "best":
		x, bad := strconv.ParseFloat(v, 64)
		if bad != nil || !(x >= 0 && x < 1) {
			return fmt.Errorf("%q: want a relative error from 0 to 1", v)
		}
		p.e.Best = &x
	case "figure":
		p.e.Figure = v
	}
	return err
}

// title is that of the plan until the first experiment begins.
func (p *parser) title(text string) {
	if p.e == nil {
		p.plan.Title = text
	} else {
		p.e.Title = text
	}
}

func (p *parser) ranks(args []string) error {
	for _, a := range args {
		r, err := strconv.Atoi(a)
		if err != nil || r < 1 {
			return fmt.Errorf("%q: want whole numbers from 1 on", a)
		}
		p.e.Ranks = append(p.e.Ranks, r)
	}
	return nil
}

func (p *parser) reach(args []string) error {
	for _, a := range args {
		v, percent := strings.CutSuffix(a, "%")
		x, err := strconv.ParseFloat(v, 64)
		if err != nil || !(x > 0 && x < 100) || !percent && x >= 1 {
			return fmt.Errorf("%q: want E between 0 and 1, or an error in percent, such as 31%%", a)
		}
		if percent {
			x /= 100
		}
		p.e.Reach = append(p.e.Reach, Reach{x, percent})
	}
	return nil
}

func (p *parser) tables(args []string) error {
	p.e.Tables = map[string]string{}
	for _, a := range args {
		key, v, ok := strings.Cut(a, "=")
		if !ok || !slices.Contains(tableKeys, key) || !isName(v) {
			return fmt.Errorf("%q: want errors=NAME, iterations=NAME or seconds=NAME", a)
		}
		p.e.Tables[key] = v
	}
	return nil
}

const nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"

// isName reports whether a word can be part of keys and of file names.
func isName(v string) bool {
	return v != "" && v[0] != '.' && strings.Trim(v, nameCharacters) == ""
}

func atLeast(least int, v string) (int, error) {
	k, err := strconv.Atoi(v)
	if err != nil || k < least {
		return 0, fmt.Errorf("%q: want a whole number from %d on", v, least)
	}
	return k, nil
}

func limit(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q: want a time with its unit, such as 60s or 5m, or 0 for none", v)
	}
	return d, nil
}

func (p *parser) begin(name string) error {
	if err := p.endExperiment(); err != nil {
		return err
	}
	for _, e := range p.plan.Experiments {
		if e.Name == name {
			return fmt.Errorf("%q already begins in line %d; names must differ", name, e.line)
		}
	}
	p.e = &Experiment{Name: name, Task: TaskFit, Repeats: 1, line: p.line}
	p.plan.Experiments = append(p.plan.Experiments, p.e)
	p.seen = map[string]bool{"experiment": true}
	return nil
}

func (p *parser) data(args []string) error {
	var names []string
	options := map[string]string{}
	for _, a := range args {
		if key, v, ok := strings.Cut(a, "="); ok {
			if _, again := options[key]; again {
				return fmt.Errorf("%s= is given twice", key)
			}
			options[key] = v
		} else {
			names = append(names, a)
		}
	}
	if len(names) == 0 {
		return errors.New("want the name of a set")
	}
	instances := []uint64{0}
	v, chosen := options["instances"]
	if chosen {
		delete(options, "instances")
		var err error
		if instances, err = parseNumbers(v); err != nil {
			return fmt.Errorf("instances=%w", err)
		}
		for _, n := range names {
			if !strings.HasPrefix(n, synthetic) {
				return fmt.Errorf("instances= is for synthetic sets, and %s is not one", n)
			}
		}
	}
	for _, name := range names {
		if err := checkSet(name, options); err != nil {
			return err
		}
		s := Set{Name: name, Options: maps.Clone(options), Instances: instances}
		if s.Options["items"] == defaultItems(name) {
			delete(s.Options, "items")
		}
		if strings.HasPrefix(name, synthetic) && !chosen {
			s.Instances = []uint64{1}
		}
		p.e.Data = append(p.e.Data, s)
	}
	return nil
}

func (p *parser) method(wish bool, args []string) error {
	m := Method{Name: args[0], Knobs: map[string]string{}, wish: wish, line: p.line, own: map[string]bool{}}
	if err := m.set(args[1:]); err != nil {
		return err
	}
	if !p.written {
		lacks, err := m.unknown()
		if lacks != "" && wish {
			p.plan.LeftOut = unique(append(p.plan.LeftOut, lacks))
			return nil
		}
		if err != nil {
			return err
		}
	}
	for _, other := range p.e.Methods {
		if other.Label == m.Label {
			return fmt.Errorf("%s is already used in line %d; as=LABEL tells the two apart", m.Label, other.line)
		}
	}
	p.e.Methods = append(p.e.Methods, m)
	return nil
}

// set reads the settings after the name of a method, and makes a label if they give none.
func (m *Method) set(settings []string) error {
	var err error
	for _, a := range settings {
		key, v, ok := strings.Cut(a, "=")
		if !ok {
			return fmt.Errorf("%q: want KEY=VALUE: start, seeds, repeats, time, sweeps, set, as", a)
		}
		if m.own[key] && key != "set" {
			return fmt.Errorf("%s= is given twice", key)
		}
		m.own[key] = true
		switch key {
		case "start":
			m.Start = v
		case "as":
			if !isName(v) {
				err = fmt.Errorf("%q: want letters, digits, - . and _", v)
			}
			m.Label = v
		case "seeds":
			m.Seeds, err = parseNumbers(v)
		case "repeats":
			m.Repeats, err = atLeast(1, v)
		case "time":
			m.Time, err = limit(v)
		case "sweeps":
			m.Sweeps, err = atLeast(0, v)
		case "set":
			knob, value, ok := strings.Cut(v, "=")
			if _, again := m.Knobs[knob]; !ok || again {
				err = fmt.Errorf("%q: want each KNOB=VALUE once", v)
			}
			m.Knobs[knob] = value
		default:
			return fmt.Errorf("unknown setting %s=; there are start, seeds, repeats, time, sweeps, set, as", key)
		}
		if err != nil {
			return fmt.Errorf("%s=%w", key, err)
		}
	}
	if m.Label != "" {
		return nil
	}
	m.Label = m.Name
	switch m.Start {
	case "":
	case "zero":
		m.Label += "-0"
	case "random":
		m.Label += "-rand"
	default:
		m.Label += "-" + m.Start
	}
	return nil
}

// unknown says which part of the method this program does not know. If another build may have it, lacks names it: the
// method or its start. For unknown knobs, lacks is empty. The error is for the user.
func (m *Method) unknown() (lacks string, err error) {
	if _, err := symnmf.ParseSolver(m.Name, m.Knobs); err != nil {
		if known := MethodNames(); !slices.Contains(known, m.Name) {
			return "method " + m.Name, fmt.Errorf("unknown method %q; there are %s; method? leaves out what a build lacks", m.Name, strings.Join(known, ", "))
		}
		return "", errors.New(strings.TrimPrefix(err.Error(), symnmf.ErrOption.Error()+": "))
	}
	if m.Start == "" {
		return "", nil
	}
	if _, err := symnmf.ParseStart(m.Start); err != nil {
		return "start " + m.Start, fmt.Errorf("unknown start %q; there are %s", m.Start, strings.Join(StartNames(), ", "))
	}
	return "", nil
}

// MethodNames lists the names of all methods.
func MethodNames() (list []string) {
	for _, m := range symnmf.Methods() {
		list = append(list, m.Name)
	}
	return list
}

// StartNames lists the names of all starts.
func StartNames() (list []string) {
	for _, s := range symnmf.Starts() {
		list = append(list, s.Name)
	}
	return list
}

func (p *parser) pictures(args []string) error {
	w, h, ok := strings.Cut(args[0], "x")
	width, err := atLeast(1, w)
	height, err2 := atLeast(1, h)
	if !ok || err != nil || err2 != nil || max(width, height) > math.MaxInt16 || len(args) > 2 || len(args) == 2 && args[1] != "columns" && args[1] != "rows" {
		return fmt.Errorf("%q: want WIDTHxHEIGHT, then columns if the pixels come by columns", strings.Join(args, " "))
	}
	p.e.Pictures = &Pictures{width, height, len(args) == 2 && args[1] == "columns"}
	return nil
}

// endExperiment checks that the experiment has what it needs, and gives its methods the settings they do not have of
// their own.
func (p *parser) endExperiment() error {
	e := p.e
	if e == nil {
		return nil
	}
	missing := func(what string) error {
		return p.errorf(e.line, "experiment %s has no %s; add a line: %s", e.Name, what, what)
	}
	switch {
	case len(e.Data) == 0:
		return missing("data")
	case len(e.Ranks) == 0:
		return missing("rank")
	}
	if e.Task == TaskEigen {
		for _, name := range []string{"method", "method?", "time", "sweeps", "seeds", "best", "reach", "pictures"} {
			if p.seen[name] {
				return p.errorf(e.line, "experiment %s: %s is for task fit, not eigen", e.Name, name)
			}
		}
		return nil
	}
	wished := p.seen["method?"]
	if len(e.Methods) == 0 && !wished {
		return missing("method")
	}
	if len(e.Seeds) == 0 {
		e.Seeds = []uint64{0}
	}
	if len(e.Reach) == 0 {
		e.Reach = []Reach{{0.1, false}, {0.01, false}, {0.001, false}}
	}
	for k := range e.Methods {
		m := &e.Methods[k]
		if !m.own["time"] {
			m.Time = e.Time
		}
		if !m.own["sweeps"] {
			m.Sweeps = e.Sweeps
		}
		if !m.own["repeats"] {
			m.Repeats = e.Repeats
		}
		if !m.own["seeds"] {
			m.Seeds = e.Seeds
			if m.Start == "zero" && m.Name == "cd-cyclic" {
				m.Seeds = e.Seeds[:1:1] // nothing in this method depends on the seed
			}
		}
		if m.Time == 0 && m.Sweeps == 0 {
			return p.errorf(m.line, "%s has no limit in time or in sweeps: the run might never end; add time=60s or sweeps=1000", m.Label)
		}
		if f := e.Pictures; f != nil && len(e.Ranks) > 1 {
			return p.errorf(e.line, "experiment %s: pictures need a single rank", e.Name)
		}
	}
	return nil
}
