package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"symnmf/internal/experiment"
)

// mostThreads bounds --threads.
const mostThreads = experiment.MostThreads

// choice is a flag with a fixed list of values.
type choice struct {
	value   *string
	allowed []string
}

func (c choice) String() string { return *c.value }
func (c choice) Type() string   { return strings.Join(c.allowed, "|") }
func (c choice) Set(v string) error {
	if !slices.Contains(c.allowed, v) {
		return errors.New("one of " + strings.Join(c.allowed, ", "))
	}
	*c.value = v
	return nil
}

// choiceFlag defines a flag whose value is one of allowed, with its help and completion.
func choiceFlag(cmd *cobra.Command, value *string, name, usage string, allowed ...string) {
	cmd.Flags().Var(choice{value, allowed}, name, usage)
	cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
}

// whole is a flag that holds a whole number in decimal, with or without leading zeros. It accepts negative
// numbers if T has them; code that knows the meaning of the flag refuses them.
type whole[T int | int64 | uint64] struct{ value *T }

// wholeVar defines a flag for a whole number. letter is its shorthand, or "" for none.
func wholeVar[T int | int64 | uint64](flags *pflag.FlagSet, value *T, name, letter string, preset T, usage string) {
	*value = preset
	flags.VarP(whole[T]{value}, name, letter, usage)
}

func (w whole[T]) Type() string { return "number" }
func (w whole[T]) String() string {
	return fmt.Sprint(*w.value)
}

func (w whole[T]) Set(text string) error {
	most, signed, what := uint64(math.MaxInt64), true, "a whole number"
	switch any(*w.value).(type) {
	case int:
		most = math.MaxInt
	case uint64:
		most, signed, what = math.MaxUint64, false, "a whole number, 0 or more"
	}
	digits, minus := text, false
	if signed {
		digits, minus = strings.CutPrefix(text, "-")
	}
	v, err := strconv.ParseUint(digits, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && v > most:
		return fmt.Errorf("at most %d", most)
	case err != nil:
		return errors.New(what)
	}
	if *w.value = T(v); minus {
		*w.value = -*w.value
	}
	return nil
}
