package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"symnmf/internal/system"
)

// journal appends the runs to a file, each as a line of JSON. Fields that a mode does not use are written with
// their zero values.
type journal struct {
	Machine, Version string
	method           string
	knobs            map[string]string
	file             *os.File
	failed           error // the first of writing
}

// stamp has the fields that go into every line.
type stamp struct {
	Method  string            `json:"method"`
	Knobs   map[string]string `json:"knobs"`
	Machine string            `json:"machine"`
	Version string            `json:"version"`
}

// timing is a run to a fixed error. With Threads = 0 it is instead a start that was given up without reaching the
// error.
type timing struct {
	Row     string  `json:"row"`
	Threads int     `json:"threads"`
	Seed    uint64  `json:"seed"`
	Repeat  int     `json:"repeat"`
	Seconds float64 `json:"seconds"`
	Sweeps  int     `json:"sweeps"`
	RelErr  float64 `json:"relerr"`
	Reached bool    `json:"reached"`
}

func newJournal(c *config) (*journal, error) {
	j := &journal{Machine: machine(), Version: version(), method: c.method, knobs: c.knobs}
	var err error
	if c.json != "" {
		j.file, err = os.OpenFile(c.json, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	}
	return j, err
}

func (j *journal) close() {
	if j.file != nil {
		j.file.Close()
	}
}

// add writes a line: the fields of run, then the stamp's.
func (j *journal) add(run any) {
	if j.file == nil {
		return
	}
	line, err := json.Marshal(run)
	end, err2 := json.Marshal(stamp{j.method, j.knobs, j.Machine, j.Version})
	if err = cmp.Or(err, err2); err == nil {
		line[len(line)-1] = ','
		line = append(append(line, end[1:]...), '\n')
		_, err = j.file.Write(line)
	}
	if err != nil && j.failed == nil {
		j.failed = fmt.Errorf("-json: %w", err)
	}
}

// machine names the processor, as far as Linux gives its name, and the number of processors.
func machine() string {
	name := cmp.Or(system.Processor(), runtime.GOOS+"/"+runtime.GOARCH)
	return fmt.Sprintf("%s, %d processors", name, runtime.NumCPU())
}

// version returns the revision, from git if the build does not have it, and whether files differed from it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if built := revision(info.Settings); built != "" {
			return built
		}
	}
	text, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

// revision returns the revision in the settings of a build, or "".
func revision(settings []debug.BuildSetting) string {
	of := map[string]string{}
	for _, s := range settings {
		of[s.Key] = s.Value
	}
	if of["vcs.revision"] != "" && of["vcs.modified"] == "true" {
		return of["vcs.revision"] + "-dirty"
	}
	return of["vcs.revision"]
}

// passedOn returns how long a cache line takes from one processor to another and back, as the least of several
// tries. It is some 100 ns for processors that share a cache, and 500 ns for others. The gain of a second thread
// depends on it. On a virtual machine it may change from one minute to the next.
func passedOn() time.Duration {
	const (
		tries = 5
		turns = 2000
		few   = 4                     // turns of the first tries
		slow  = 50 * time.Microsecond // a longer turn means that the threads share a processor; a turn then takes milliseconds
	)
	least := func(count int64) time.Duration {
		took := time.Duration(math.MaxInt64)
		for range tries {
			var ball atomic.Int64
			var begin time.Time // when both threads have had a turn
			play := func(first int64) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				for turn := first; turn < 2*(count+1); turn += 2 {
					for ball.Load() != turn {
					}
					if turn == 2 {
						begin = time.Now()
					}
					ball.Store(turn + 1)
				}
			}
			var other sync.WaitGroup
			other.Go(func() { play(1) })
			play(0)
			other.Wait()
			took = min(took, time.Since(begin)/time.Duration(count))
		}
		return took
	}
	if took := least(few); took > slow {
		return took
	}
	return least(turns)
}

// load returns the load averages of the system.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if words := strings.Fields(string(text)); err == nil && len(words) >= 3 {
		return strings.Join(words[:3], " ")
	}
	return "unknown"
}

// exponent returns the slope of the least-squares line through the points (log x, log y): p where y ~ xᵖ.
func exponent(x, y []float64) float64 {
	var sx, sy, sxx, sxy float64
	for k := range x {
		lx, ly := math.Log(x[k]), math.Log(y[k])
		sx, sy, sxx, sxy = sx+lx, sy+ly, sxx+lx*lx, sxy+lx*ly
	}
	n := float64(len(x))
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// printTimes writes the table of times.
func printTimes(w io.Writer, results []measured) {
	if len(results) == 0 {
		return
	}
	header := []string{"set", "form", "r", "start", "error, %", "threads", "seconds", "least", "most", "sweeps", "never",
		"reference, s", "times faster", "floor", "goal", "reached", "speed-up", "apart", "line, ns"}
	var lines [][]string
	var notes []string
	for _, m := range results {
		seconds, least, most, sweeps, faster, reached := "-", "-", "-", "-", "-", "never"
		if m.median > 0 {
			seconds, least, most, sweeps = short(m.median), short(m.least), short(m.most), fmt.Sprint(m.sweeps)
			faster, reached = short(m.reference/m.median), verdict(m.reference/m.median, m.floor, m.goal, false)
		}
		speedup, apart, passed := "-", "-", "-"
		if m.speedup > 0 {
			speedup, passed = fmt.Sprintf("%.2f", m.speedup), fmt.Sprint(m.passed.Nanoseconds())
		}
		if m.apart > 0 {
			apart = fmt.Sprintf("%.2f", m.apart)
		}
		lines = append(lines, []string{m.set, string(m.form), fmt.Sprint(m.rank), m.start, short5(100 * m.target), fmt.Sprint(m.threads),
			seconds, least, most, sweeps, never(m), short(m.reference), faster, short(m.floor), short(m.goal), reached,
			speedup, apart, passed})
		if m.astray > 0 {
			notes = append(notes, fmt.Sprintf("%s, threads %d: %d timed runs ended above the error", m.name(), m.threads, m.astray))
		}
	}
	printTable(w, header, lines)
	for _, n := range notes {
		fmt.Fprintln(w, n)
	}
}

// never says how many of a row's seeds did not reach its error.
func never(m measured) string {
	if m.tried == 1 && m.never == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", m.never, m.tried)
}

// short writes four significant digits.
func short(x float64) string { return fmt.Sprintf("%.4g", x) }

func short5(x float64) string { return fmt.Sprintf("%.5g", x) }

func printMissing(w io.Writer, names []string) {
	if names = slices.Compact(slices.Sorted(slices.Values(names))); len(names) > 0 {
		fmt.Fprintf(w, "\nmissing: %s\n", strings.Join(names, ", "))
	}
}

// printTable writes a Markdown table with aligned columns, all but the first to the right.
func printTable(w io.Writer, header []string, lines [][]string) {
	width := make([]int, len(header))
	for _, line := range append([][]string{header}, lines...) {
		for k, cell := range line {
			width[k] = max(width[k], utf8.RuneCountInString(cell), 3)
		}
	}
	write := func(line []string) {
		for k, cell := range line {
			pad := strings.Repeat(" ", width[k]-utf8.RuneCountInString(cell))
			if k == 0 {
				fmt.Fprintf(w, "| %s%s ", cell, pad)
			} else {
				fmt.Fprintf(w, "| %s%s ", pad, cell)
			}
		}
		fmt.Fprintln(w, "|")
	}
	write(header)
	rule := make([]string, len(header))
	for k := range rule {
		rule[k] = strings.Repeat("-", width[k])
		if k > 0 {
			rule[k] = rule[k][1:] + ":"
		}
	}
	write(rule)
	for _, line := range lines {
		write(line)
	}
}
