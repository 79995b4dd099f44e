package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"symnmf/internal/report"
)

// Draw makes the tables, curves and pictures of the records, with a section for each experiment that has records.
func Draw(rs *Records) *report.Page {
	d := &drawer{rs: rs, best: map[string]leader{}, labels: rs.Plan.labels()}
	d.findBest()
	p := &report.Page{Title: cmp.Or(rs.Plan.Title, rs.Plan.Name), Intro: d.intro()}
	for _, e := range rs.Plan.Experiments {
		if slices.ContainsFunc(rs.List, func(r Record) bool { return r.Experiment == e.Name }) {
			p.Sections = append(p.Sections, d.section(e))
		}
	}
	giveLooks(p)
	giveNames(p)
	return p
}

// giveNames appends -2, -3, … to names that tables and figures before have, since each is the name of a file.
func giveNames(p *report.Page) {
	taken := map[string]bool{}
	give := func(name *string) {
		own := *name
		for k := 2; taken[strings.ToLower(own)]; k++ { // on some systems case does not tell files apart
			own = fmt.Sprintf("%s-%d", *name, k)
		}
		taken[strings.ToLower(own)] = true
		*name = own
	}
	for _, s := range p.Sections {
		for _, t := range s.Tables {
			give(&t.Name)
		}
		for _, c := range s.Charts {
			give(&c.Name)
		}
		for _, g := range s.Galleries {
			give(&g.Name)
		}
	}
}

// giveLooks gives series of the same name the same look in all charts.
func giveLooks(p *report.Page) {
	looks := map[string]int{}
	for _, s := range p.Sections {
		for _, c := range s.Charts {
			for _, series := range c.Series {
				if _, ok := looks[series.Name]; !ok {
					looks[series.Name] = len(looks)
				}
				c.Looks = append(c.Looks, looks[series.Name])
			}
		}
	}
}

// drawer holds what all sections need.
type drawer struct {
	rs     *Records
	best   map[string]leader // by matrixKey
	labels []string          // of the methods, in the order of the plan
}

// leader is the least error on a matrix at a rank.
type leader struct {
	relErr float64 // as computed; it may be below its rounding floor
	least  known
	floor  float64 // the rounding floor of the run that least comes from
	label  string  // the first method, in the order of the plan, whose error cannot be told from least
}

// findBest finds the least error for each matrix and rank, over all experiments.
func (d *drawer) findBest() {
	by := map[string]map[string]known{} // the least of each label
	for k := range d.rs.List {
		r := &d.rs.List[k]
		if !r.ended() {
			continue
		}
		key := matrixKey(r.Set, r.Instance, r.Rank)
		relErr := float64(r.RelErr)
		for _, e := range r.Trace.RelErr {
			if float64(e) < relErr {
				relErr = float64(e)
			}
		}
		least := r.known(relErr)
		best, begun := d.best[key]
		if !begun {
			best = leader{relErr: relErr, least: least, floor: float64(r.ErrFloor)}
			by[key] = map[string]known{}
		}
		best.relErr = min(best.relErr, relErr)
		if least.relErr < best.least.relErr {
			best.least, best.floor = least, float64(r.ErrFloor)
		}
		d.best[key] = best
		if old, again := by[key][r.Label]; !again || least.relErr < old.relErr {
			by[key][r.Label] = least
		}
	}
	for key, best := range d.best {
		e := best.least.relErr
		for _, label := range d.labels {
			if k, ok := by[key][label]; ok && k.relErr <= e+errorUnit(best.floor, e) {
				best.label = label
				break
			}
		}
		d.best[key] = best
	}
}

// ended reports whether a fit has an answer.
func (r *Record) ended() bool {
	return r.Task == TaskFit && r.Status != Refused && r.Status != Failed && r.Trace != nil
}

// bestOf returns the error that E(t) of that record refers to.
func (d *drawer) bestOf(e *Experiment, r *Record) float64 {
	if e.Best != nil {
		return *e.Best
	}
	return d.best[matrixKey(r.Set, r.Instance, r.Rank)].relErr
}

// gap returns E = (e − e_min)/(‖A‖ − e_min), the paper's equation 18. Here relErr is e/‖A‖ and best is e_min/‖A‖.
func gap(relErr, best float64) float64 { return (relErr - best) / (1 - best) }

// errorUnit returns how precisely an error e is known where e² is known to floor²: to floor²/2e, or to floor if e is
// no larger than floor, and in the records no better than to a unit of its last digit.
func errorUnit(floor, e float64) float64 {
	switch {
	case math.IsNaN(floor):
		floor = 0
	case e > floor:
		floor *= floor / (2 * e)
	}
	return max(floor, e*math.Pow10(1-errorDigits))
}

// gapFloor returns how precisely E is known near best.
func gapFloor(floor, best float64) float64 { return errorUnit(floor, best) / (1 - best) }

func (d *drawer) intro() string {
	done := map[string]bool{}
	for _, r := range d.rs.List {
		done[r.Key] = true
	}
	runs := d.rs.Plan.runs()
	var without []string
	some := map[string]bool{}
	for _, r := range runs {
		some[r.set.Name] = some[r.set.Name] || done[r.key]
	}
	for _, r := range runs {
		if !some[r.set.Name] {
			without = append(without, r.set.Name)
		}
	}
	text := fmt.Sprintf("Plan %s: %d of %d runs recorded.", d.rs.Plan.Name, len(d.rs.List), len(runs))
	if without = unique(without); len(without) > 0 {
		text += " No runs on " + strings.Join(without, ", ") + "."
	}
	text += fmt.Sprintf(" Threads: %d. Errors for the traces are computed off the clock. %s", d.rs.Plan.Threads, strings.Join(d.made(nil), " "))
	return text
}

// made says which program and which machine made the records of an experiment; nil means all records.
func (d *drawer) made(e *Experiment) []string {
	var versions, machines []string
	for _, r := range d.rs.List {
		if e == nil || r.Experiment == e.Name {
			versions, machines = append(versions, r.Version), append(machines, r.Machine)
		}
	}
	versions, machines = unique(versions), unique(machines)
	slices.Sort(versions)
	slices.Sort(machines)
	say := func(one, more string, list []string) string {
		switch len(list) {
		case 0:
			return ""
		case 1:
			return one + " " + list[0] + "."
		}
		return fmt.Sprintf("%d %s, so times are not comparable: %s.", len(list), more, strings.Join(list, "; "))
	}
	return []string{say("Version", "versions", versions), say("Machine:", "machines", machines)}
}

// column is a set and a rank of an experiment, with its records by label, in the order of the plan.
type column struct {
	set   Set
	shown string // the set, for people
	rank  int
	title string
	name  string // for files
	by    map[string][]*Record
}

func (d *drawer) columns(e *Experiment) (list []column) {
	for _, set := range e.Data {
		for _, rank := range e.Ranks {
			c := column{set: set, shown: showSet(set), rank: rank, by: map[string][]*Record{}}
			if slices.ContainsFunc(e.Data, func(other Set) bool { return other.id() != set.id() && showSet(other) == c.shown }) {
				c.shown = set.id()
			}
			c.title = c.shown
			if len(e.Ranks) > 1 {
				c.title += fmt.Sprintf(", r = %d", rank)
			}
			c.name = fileName(c.title)
			for k := range d.rs.List {
				r := &d.rs.List[k]
				if r.Experiment == e.Name && r.Set == set.id() && r.Rank == rank && slices.Contains(set.Instances, r.Instance) {
					c.by[r.Label] = append(c.by[r.Label], r)
				}
			}
			list = append(list, c)
		}
	}
	return list
}

// any returns a record with a matrix (N > 0), one with ‖A‖ if possible, or nil if there is none.
func (c *column) any() (found *Record) {
	for _, label := range slices.Sorted(maps.Keys(c.by)) {
		for _, r := range c.by[label] {
			switch {
			case r.N > 0 && !math.IsNaN(float64(r.NormA)):
				return r
			case r.N > 0 && found == nil:
				found = r
			}
		}
	}
	return found
}

// ended reports whether some method has an answer.
func (c *column) ended() bool {
	for _, list := range c.by {
		if slices.ContainsFunc(list, (*Record).ended) {
			return true
		}
	}
	return false
}

func showSet(s Set) string {
	text := strings.TrimPrefix(strings.TrimPrefix(s.id(), synthetic), demoPrefix)
	return strings.ReplaceAll(text, ",", " ")
}

// fileName turns a title into a part of a file's name.
func fileName(title string) string {
	var b strings.Builder
	for _, c := range strings.ReplaceAll(strings.ReplaceAll(title, " = ", ""), "=", "") {
		switch {
		case strings.ContainsRune(nameCharacters, c):
			b.WriteRune(c)
		case c == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

func (d *drawer) section(e *Experiment) report.Section {
	s := report.Section{Heading: cmp.Or(e.Title, e.Name)}
	columns := d.columns(e)
	if e.Task == TaskEigen {
		s.Tables = append(s.Tables, d.eigenTable(e, columns))
		return s
	}
	least := "the least error of all runs on that matrix"
	if e.Best != nil {
		least = percent(*e.Best) + " %, the known least error"
	}
	s.Text = "E(t) = (e(t) − e_min)/(‖A‖ − e_min), where e = ‖A−HHᵀ‖ and e_min is " + least + ". Curves begin after the first sweep whose error " +
		"was computed, and are means of E over " + over(columns) + "."
	s.Tables = append(s.Tables, d.errorTable(e, columns), d.sweepTable(e, columns))
	if t := d.equalSweepsTable(e, columns); t != nil {
		s.Tables = append(s.Tables, t)
	}
	s.Tables = append(s.Tables, d.setTable(e, columns))
	for k := range columns {
		c := &columns[k]
		if c.any() == nil {
			continue
		}
		if c.ended() {
			s.Tables = append(s.Tables, d.reachTable(e, c))
		}
		if chart := d.chart(e, c); chart != nil {
			s.Charts = append(s.Charts, chart)
		}
		s.Galleries = append(s.Galleries, d.galleries(e, c)...)
	}
	return s
}
