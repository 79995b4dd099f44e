package experiment

import (
	"embed"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"
)

//go:embed plans
var plans embed.FS

// PlanNames lists the plans inside the program.
func PlanNames() (names []string) {
	files, _ := plans.ReadDir("plans")
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), path.Ext(f.Name())))
	}
	slices.Sort(names)
	return names
}

// PlanText returns the text of a plan inside the program; ok is false if there is none of that name.
func PlanText(name string) (text string, ok bool) {
	b, err := plans.ReadFile("plans/" + name + ".plan")
	return string(b), err == nil
}

// BuiltinPlan returns a plan inside the program, without the method? lines that this build lacks.
func BuiltinPlan(name string) (*Plan, error) {
	text, ok := PlanText(name)
	if !ok {
		return nil, fmt.Errorf("%w: the program has no plan %s; it has %s", ErrPlan, name, strings.Join(PlanNames(), ", "))
	}
	return ParsePlan(name, text)
}

// Size returns the number of selected runs and the sum of their time limits; unbounded counts the runs without one.
func (p *Plan) Size() (runs, unbounded int, sum time.Duration) {
	list := p.wanted()
	unbounded, sum = limits(list)
	return len(list), unbounded, sum
}

func limits(list []run) (unbounded int, sum time.Duration) {
	for _, r := range list {
		if r.method == nil || r.method.Time == 0 {
			unbounded++
		} else {
			sum += min(r.method.Time, math.MaxInt64-sum)
		}
	}
	return unbounded, sum
}

// Keys lists the selected runs.
func (p *Plan) Keys() (keys []string) {
	for _, r := range p.wanted() {
		keys = append(keys, r.key)
	}
	return keys
}
