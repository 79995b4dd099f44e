package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"symnmf/internal/demo"
)

const (
	synthetic  = "synthetic:"
	demoPrefix = "demo:"
)

// Where the points are in a table.
const (
	inRows    = "rows"
	inColumns = "columns"
)

// setOptions has the options of each synthetic set, in their order.
var setOptions = map[string][]setOption{
	"low-rank":  {{"n", whole, true}, {"r", whole, false}},
	"full-rank": {{"n", whole, true}},
	"planted":   {{"n", whole, true}, {"groups", whole, true}, {"in", part, true}, {"out", part, true}},
	"text":      {{"m", whole, true}, {"n", whole, true}, {"words", whole, true}, {"form", explicit, false}},
}

type setOption struct {
	key      string
	check    func(v string) error
	required bool
}

var (
	fileOptions = []setOption{{"items", oneOf(inColumns, inRows), false}, {"form", explicit, false}}
	demoOptions = []setOption{{"items", oneOf(inRows, inColumns), false}, {"form", explicit, false}}
)

// defaultItems says where the points of a set are by default.
func defaultItems(name string) string {
	if strings.HasPrefix(name, demoPrefix) {
		return inRows
	}
	return inColumns
}

func whole(v string) error {
	if k, err := strconv.Atoi(v); err != nil || k < 1 || k > 1<<24 {
		return fmt.Errorf("want a whole number from 1 to %d", 1<<24)
	}
	return nil
}

func part(v string) error {
	if x, err := strconv.ParseFloat(v, 64); err != nil || !(x >= 0 && x <= 1) {
		return errors.New("want a number from 0 to 1")
	}
	return nil
}

func explicit(v string) error { return oneOf("explicit")(v) }

func oneOf(values ...string) func(string) error {
	return func(v string) error {
		if !slices.Contains(values, v) {
			return errors.New("want " + strings.Join(values, " or "))
		}
		return nil
	}
}

func optionsOf(name string) []setOption {
	if kind, made := strings.CutPrefix(name, synthetic); made {
		return setOptions[kind]
	}
	if strings.HasPrefix(name, demoPrefix) {
		return demoOptions
	}
	return fileOptions
}

func setKeys(name string) (keys []string) {
	for _, o := range optionsOf(name) {
		keys = append(keys, o.key)
	}
	return keys
}

func checkSet(name string, options map[string]string) error {
	kind, made := strings.CutPrefix(name, synthetic)
	set, small := strings.CutPrefix(name, demoPrefix)
	switch {
	case made && setOptions[kind] == nil:
		return fmt.Errorf("unknown set %s; there are %slow-rank, full-rank, planted, text", name, synthetic)
	case small && !slices.Contains(demo.Names(), set):
		return fmt.Errorf("unknown set %s; there are %s%s", name, demoPrefix, strings.Join(demo.Names(), ", "))
	case !made && !small && !isName(name):
		return fmt.Errorf("%q: want the name of a folder of the data directory, %sNAME or %sNAME", name, demoPrefix, synthetic)
	}
	known := optionsOf(name)
	for key, v := range options {
		k := slices.IndexFunc(known, func(o setOption) bool { return o.key == key })
		if k < 0 {
			return fmt.Errorf("%s has no option %s=; it has %s", name, key, strings.Join(setKeys(name), ", "))
		}
		if err := known[k].check(v); err != nil {
			return fmt.Errorf("%s=%s: %w", key, v, err)
		}
	}
	for _, o := range known {
		if _, ok := options[o.key]; o.required && !ok {
			return fmt.Errorf("%s needs %s=", name, o.key)
		}
	}
	if kind == "planted" {
		n, _ := strconv.Atoi(options["n"])
		if g, _ := strconv.Atoi(options["groups"]); g > n {
			return fmt.Errorf("%d groups for only %d nodes", g, n)
		}
	}
	if kind == "text" {
		n, _ := strconv.Atoi(options["n"])
		if w, _ := strconv.Atoi(options["words"]); w > n {
			return fmt.Errorf("%d different words per document, but only %d terms", w, n)
		}
	}
	return nil
}
