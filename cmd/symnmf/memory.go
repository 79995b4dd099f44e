package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"symnmf/matrix"
)

// byteSize is a flag that counts bytes: 1000000, 500M, 4G, 1.5GiB; units are powers of 1024.
type byteSize struct {
	bytes int64
	set   bool
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

// limit returns the bytes that may be used, 0 when nobody knows: what the flag says, or 90 % of what is free when it is
// first asked, before anything is read.
func (b *byteSize) limit() int64 {
	if !b.set {
		b.bytes, b.set = freeMemory()/10*9, true
	}
	return b.bytes
}

// showBytes writes a number of bytes for people.
func showBytes(b float64) string {
	for _, unit := range []string{"bytes", "KiB", "MiB", "GiB"} {
		if b < 1024 {
			return strconv.FormatFloat(b, 'g', 3, 64) + " " + unit
		}
		b /= 1024
	}
	return strconv.FormatFloat(b, 'f', 1, 64) + " TiB"
}

// shape is what the memory of a run depends on.
type shape struct {
	rows, cols int
	sparse     bool
	table      float64 // bytes of the table as it is stored
	items      string
	method     string
	rank, runs int
	given      bool // the start is a file
}

// shapeOf describes a run on d; the rest is for the caller to fill in.
func shapeOf(d *dataset) shape {
	sh := shape{items: d.items, runs: 1}
	sh.rows, sh.cols = d.table.Dims()
	switch t := d.table.(type) {
	case *matrix.Dense:
		sh.table = 8 * float64(sh.rows) * float64(sh.cols)
	case *matrix.CSR:
		sh.sparse = true
		sh.table = 4*float64(len(t.Col)) + 8*float64(len(t.Val)) + 8*float64(len(t.RowPtr))
	}
	return sh
}

// ahead predicts the most memory, in bytes, that a run needs at once after reading. It is the one place that knows: the
// larger of what the norm of A takes and what the sweeps take, with a quarter more for what waits to be collected.
func (sh shape) ahead() float64 {
	const (
		program = 12 << 20
		slack   = 1.25
	)
	n, m, r := float64(sh.rows), float64(sh.cols), float64(sh.rank)
	if sh.items == "columns" {
		n, m = m, n
	}
	prepare, beside, measured := sh.table, n, 0.0 // the cursor keeps A·H, as many numbers as H
	if sh.items != similarity {
		beside, measured = m, 2*m // the cursor keeps Z = X·H; the error takes it twice more
		if sh.items == "columns" || sh.sparse {
			prepare = 2 * sh.table // X and its transpose: columns are laid out as rows; a sparse one needs both for ‖A‖
		}
	}
	factors := float64(min(sh.runs, 2)) // the best H so far, and the one at work
	if sh.given {
		factors++
	}
	work := sh.table + 8*(factors*n*r+beside*r+measured*r+8*n+64*r*r)
	switch sh.method {
	case "cd-residual":
		work += 8 * n * n
	case "cd-mbi":
		work += 8 * 3 * n * r
	case "rowblock": // H_{t−1}, H at the last check, and the step of a block's features
		work += 8 * (2*n*r + beside*r)
	}
	return program + slack*max(prepare, work)
}

// peak is ahead, or what has been needed already if that is more.
func (sh shape) peak() float64 {
	already, _ := peakMemory()
	return max(sh.ahead(), float64(already))
}

// fits refuses a run that would need more than limit bytes, 0 meaning no limit but that of addresses.
func (sh shape) fits(limit int64) error {
	need := sh.ahead()
	most := float64(limit)
	if limit == 0 {
		most = math.MaxInt / 2
	}
	if need <= most {
		return nil
	}
	shrink := "a smaller -k"
	if sh.items == similarity {
		shrink += ", a sparse file (mtx, npz, edges), or --items with the points it comes from"
	} else {
		shrink += ", or a sparse file (mtx, npz)"
	}
	return fmt.Errorf("this run %w: it is predicted to need %s, the limit is %s; what would shrink it: %s; --memory-limit raises the limit",
		errMemory, showBytes(need), showBytes(most), shrink)
}

// lean makes the process collect garbage early, until the returned function is called. Nearly all of its memory is in a
// few long-lived slices without pointers, so that costs little.
func lean() (restore func()) {
	before := debug.SetGCPercent(25)
	return func() { debug.SetGCPercent(before) }
}

// freeMemory returns the bytes that the system can still give this process, 0 when it does not say. Linux only: the least
// of what the machine has and what the control group (a container) may still take.
func freeMemory() int64 {
	free := fieldOf("/proc/meminfo", "MemAvailable:") * 1024
	most, err := strconv.ParseInt(firstLine("/sys/fs/cgroup/memory.max"), 10, 64)
	if err != nil { // "max", or no control groups
		return free
	}
	used, _ := strconv.ParseInt(firstLine("/sys/fs/cgroup/memory.current"), 10, 64)
	cache := fieldOf("/sys/fs/cgroup/memory.stat", "inactive_file") // given back on demand
	left := max(most-used+cache, 1)
	if free == 0 {
		return left
	}
	return min(free, left)
}

// peakMemory returns the most bytes this process has had in memory; ok is false when the system does not say.
func peakMemory() (bytes int64, ok bool) {
	// Linux: ru_maxrss would include the parent's memory before exec.
	if kib := fieldOf("/proc/self/status", "VmHWM:"); kib > 0 {
		return kib * 1024, true
	}
	return maxRSS()
}

// fieldOf returns the number after the given first word of a line of a file of the kernel's, 0 when there is none.
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
