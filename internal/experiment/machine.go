package experiment

import (
	"cmp"
	"fmt"
	"runtime"

	"symnmf/internal/system"
)

// Machine describes the machine: the name of the processor where Linux gives one, the number of processors, the
// operating system and architecture, and the Go release.
func Machine() string {
	name := cmp.Or(system.Processor(), "processor unknown")
	processors := "1 processor"
	if n := runtime.NumCPU(); n != 1 {
		processors = fmt.Sprintf("%d processors", n)
	}
	return fmt.Sprintf("%s, %s, %s/%s, %s", name, processors, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
