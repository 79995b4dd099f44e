package system

import (
	"os"
	"strconv"
	"strings"
)

// FreeMemory returns the number of bytes that the system can still give this process, or 0 if it does not
// say. It works on Linux only, where it is the least of what the machine has left, what the control group (a
// container) may still take and what ulimit -v leaves.
func FreeMemory() (free int64) {
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

// PeakMemory returns the largest number of bytes that this process has had in memory. ok is false if the
// system does not say.
func PeakMemory() (bytes int64, ok bool) {
	// On Linux ru_maxrss would include the memory of the parent before exec.
	if kib := fieldOf("/proc/self/status", "VmHWM:"); kib > 0 {
		return kib * 1024, true
	}
	return maxRSS()
}

// MappedFiles returns the number of bytes in memory that come from files, such as those of the program itself, or 0 if
// the system does not say.
func MappedFiles() int64 { return fieldOf("/proc/self/status", "RssFile:") * 1024 }

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
