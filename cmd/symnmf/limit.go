package main

import (
	"errors"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"symnmf/internal/rules"
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
		free := freeMemory()
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
	code := fieldOf("/proc/self/status", "RssFile:") * 1024 // the limit of the runtime does not count it
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

// freeMemory returns the number of bytes that the system can still give this process, or 0 if it does not
// say. It works on Linux only, where it is the least of what the machine has left, what the control group (a
// container) may still take and what ulimit -v leaves.
func freeMemory() (free int64) {
	for _, left := range []int64{fieldOf("/proc/meminfo", "MemAvailable:") * 1024, leftOfGroup(), leftOfAddresses()} {
		if free == 0 || left > 0 && left < free {
			free = left
		}
	}
	return free
}

// leftOfGroup returns how many bytes the control group may still take, or 0 if it has no limit.
func leftOfGroup() int64 {
	most, err := strconv.ParseInt(firstLine("/sys/fs/cgroup/memory.max"), 10, 64)
	if err != nil { // "max", or no control groups
		return 0
	}
	used, _ := strconv.ParseInt(firstLine("/sys/fs/cgroup/memory.current"), 10, 64)
	cache := fieldOf("/sys/fs/cgroup/memory.stat", "inactive_file") // the kernel gives it back on demand
	return max(most-used+cache, 1)
}

// leftOfAddresses returns how many bytes ulimit -v leaves, or 0 if there is no limit. That limit counts all
// addresses that the runtime has reserved, used or not.
func leftOfAddresses() int64 {
	text, err := os.ReadFile("/proc/self/limits")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 3 && strings.Join(words[:3], " ") == "Max address space" {
			if most, err := strconv.ParseInt(words[3], 10, 64); err == nil { // else "unlimited"
				return max(most-fieldOf("/proc/self/status", "VmSize:")*1024, 1)
			}
		}
	}
	return 0
}

// peakMemory returns the largest number of bytes that this process has had in memory. ok is false if the
// system does not say.
func peakMemory() (bytes int64, ok bool) {
	// On Linux ru_maxrss would include the memory of the parent before exec.
	if kib := fieldOf("/proc/self/status", "VmHWM:"); kib > 0 {
		return kib * 1024, true
	}
	return maxRSS()
}

// fieldOf looks in a file of the kernel for a line with the given first word and returns the number after it,
// or 0 if there is none.
func fieldOf(file, first string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == first {
			v, _ := strconv.ParseInt(words[1], 10, 64)
			return v
		}
	}
	return 0
}

func firstLine(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}
