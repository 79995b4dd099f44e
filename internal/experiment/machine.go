package experiment

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine describes the machine: the name of the processor where Linux gives one, the number of processors, the
// operating system and architecture, and the Go release.
func Machine() string {
	name := "processor unknown"
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			if key, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
				name = strings.TrimSpace(value)
				break
			}
		}
	}
	processors := "1 processor"
	if n := runtime.NumCPU(); n != 1 {
		processors = fmt.Sprintf("%d processors", n)
	}
	return fmt.Sprintf("%s, %s, %s/%s, %s", name, processors, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
