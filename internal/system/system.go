// Package system asks the operating system for what Go's library does not offer: locks on files, the processor's name,
// and how much memory this process has used and may still use. What a system does not tell is "", 0 or false.
package system

import (
	"os"
	"strings"
)

// Processor returns the name of the processor, or "" where the system gives none. Only Linux gives one.
func Processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
