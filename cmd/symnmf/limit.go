package main

import (
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"symnmf/internal/rules"
	"symnmf/internal/system"
)

// byteSize is a flag that holds a number of bytes, such as 1000000, 500M, 4G or 1.5GiB. Units are powers of
// 1024.
type byteSize struct {
	bytes int64
	set   bool
}

func memoryFlag(flags *pflag.FlagSet, b *byteSize) {
	flags.Var(b, "memory-limit", "refuse to use more memory than this, such as\n500M or 4G; 0 = no limit (default 90 % of free\nmemory)")
}

func (b *byteSize) Type() string { return "BYTES" }

func (b *byteSize) String() string { return "" }

func (b *byteSize) Set(text string) error {
	digits := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I")
	unit := 1.0
	if k := strings.IndexByte("KMGT", lastByte(digits)); k >= 0 {
		unit = math.Ldexp(1, 10*(k+1))
		digits = digits[:len(digits)-1]
	}
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(x >= 0) || x*unit > math.MaxInt64/2 {
		return errors.New("a number of bytes such as 500M or 4G")
	}
	b.bytes, b.set = int64(x*unit), true
	return nil
}

func lastByte(s string) byte {
	if s == "" {
		return 0
	}
	return s[len(s)-1]
}

// limit returns the number of bytes that may be used: the value of the flag or, without it, 90 % of the
// memory that is free at the first call, before anything is read. It returns 0 if there is no limit or free
// memory is unknown.
func (b *byteSize) limit() int64 {
	if !b.set {
		free := system.FreeMemory()
		b.bytes, b.set = (free+9)/10*9, true // 0 only if free is unknown
	}
	return b.bytes
}

// showBytes formats a number of bytes for people.
func showBytes(b float64) string {
	for _, unit := range []string{"bytes", "KiB", "MiB", "GiB"} {
		if b >= 999.5 && b < 1024 { // %g would write 1e+03
			return strconv.FormatFloat(b, 'f', 0, 64) + " " + unit
		}
		if b < 1024 {
			return strconv.FormatFloat(b, 'g', 3, 64) + " " + unit
		}
		b /= 1024
	}
	return strconv.FormatFloat(b, 'f', 1, 64) + " TiB"
}

// mostBytes returns the limit or, if there is none, what the address space allows.
func mostBytes(limit int64) float64 {
	if limit == 0 {
		return math.MaxInt / 2
	}
	return float64(limit)
}

// within makes the process collect garbage early enough to need no more memory than predicted, until the
// returned function is called.
func within(predicted float64) (restore func()) {
	before := debug.SetMemoryLimit(-1)
	code := system.MappedFiles() // the limit of the runtime does not count it
	debug.SetMemoryLimit(min(before, max(int64(min(predicted, math.MaxInt64/2))-late-code, 1)))
	return func() { debug.SetMemoryLimit(before) }
}

// spend lets garbage lie where a process needs little memory, as long as it needs no more than predicted, until the
// returned function is called. Each collection holds up all threads for a while (decision 0034).
func spend(predicted float64) (restore func()) {
	percent := int(100 * (rules.GarbageFills/max(predicted, 1) - 1))
	before, leave := debug.SetGCPercent(max(leanPercent, percent)), within(predicted)
	return func() {
		leave()
		debug.SetGCPercent(before)
	}
}

const leanPercent = 25

// lean makes the process collect garbage early, until the returned function is called. It is for reading, whose
// memory is not known beforehand, and for commands that make no run.
func lean() (restore func()) {
	before := debug.SetGCPercent(leanPercent)
	return func() { debug.SetGCPercent(before) }
}

// useThreads makes the process use the given number of processors, or all of them for 0, and collect garbage
// early, until restore is called.
func useThreads(threads int) (used int, restore func()) {
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	before, fat := runtime.GOMAXPROCS(threads), lean()
	return threads, func() {
		fat()
		runtime.GOMAXPROCS(before)
	}
}
