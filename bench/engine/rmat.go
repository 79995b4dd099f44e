package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"symnmf"
	"symnmf/internal/instance"
	"symnmf/internal/system"
	"symnmf/matio"
	"symnmf/matrix"
)

// rmatCase is a graph with a round number of stored entries.
type rmatCase struct {
	name         string
	scale, edges int
}

// With seed 1 these store 10,000,000 and 100,000,000 entries to within 1 %; the other draws repeat edges or end on the
// diagonal.
var rmatCases = []rmatCase{{"1e7", 19, 5_313_000}, {"1e8", 22, 51_970_000}}

// big is a measurement of one process that factors one graph.
type big struct {
	Row     string  `json:"row"`
	Threads int     `json:"threads"`
	N       int     `json:"n"`
	NNZ     int64   `json:"nnz"`
	Rank    int     `json:"rank"`
	Seconds float64 `json:"seconds"`    // per sweep
	Loaded  int64   `json:"bytes_held"` // resident before the operator is made: the graph and the program
	Peak    int64   `json:"bytes_peak"` // the peak from then on
}

// ofSymnmf is what the command symnmf reports for the same file and rank.
type ofSymnmf struct {
	Row       string `json:"row"`
	Rank      int    `json:"rank"`
	Info      int64  `json:"predicted_by_info"`
	Fit       int64  `json:"predicted_by_fit"` // to three digits
	FitPeak   int64  `json:"peak_of_fit"`
	FitSweeps int    `json:"sweeps_of_fit"`
}

// rmat runs every graph, rank and number of threads in a separate process, because peak memory is measured per process.
// The peak excludes reading, and sweeps are measured after the first. The command symnmf is asked for its predictions
// and for its own peak, which includes reading.
func (c *config) rmat(log *journal) error {
	dir := c.dir
	if dir == "" {
		temp, err := os.MkdirTemp("", "engine")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temp)
		dir = temp
	} else if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	program := c.symnmf
	if program == "" {
		program = filepath.Join(dir, "symnmf")
		if text, err := exec.Command("go", "build", "-o", program, "./cmd/symnmf").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "no predictions, because ./cmd/symnmf cannot be built: %v\n%s", err, text)
			program = ""
		}
	}
	var lines [][]string
	for _, g := range rmatCases {
		if !c.rows.MatchString(g.name) {
			continue
		}
		file := filepath.Join(dir, fmt.Sprintf("rmat-%d-%d.npz", g.scale, g.edges))
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			if err := c.again(fmt.Sprintf("write:%d:%d", g.scale, g.edges), file, 2, nil); err != nil {
				return err
			}
		}
		for _, r := range []int{16, 32} {
			says, err := c.ask(program, file, r)
			if err != nil {
				return err
			}
			if says != nil {
				says.Row = "rmat/" + g.name
				log.add(says)
			}
			for _, threads := range c.threads {
				var b big
				if err := c.again(fmt.Sprintf("sweeps:%d", r), file, threads, &b); err != nil {
					return err
				}
				b.Row = "rmat/" + g.name
				log.add(b)
				fmt.Fprintf(os.Stderr, "%s, r = %d, %d threads: %.4g s a sweep\n", g.name, r, threads, b.Seconds)
				line := []string{g.name, fmt.Sprint(b.N), fmt.Sprint(b.NNZ), fmt.Sprint(r), fmt.Sprint(threads), short(b.Seconds),
					short(b.Seconds / float64(b.NNZ) / float64(r) * 1e9), gigabytes(b.Loaded), gigabytes(b.Peak)}
				if says != nil {
					line = append(line, gigabytes(says.Info), gigabytes(says.Fit), gigabytes(says.FitPeak),
						short(float64(says.FitPeak)/float64(says.Info)), short(float64(says.FitPeak)/float64(says.Fit)))
				} else {
					line = append(line, "-", "-", "-", "-", "-")
				}
				lines = append(lines, line)
			}
		}
	}
	printTable(os.Stdout, []string{"graph", "n", "stored", "r", "threads", "seconds a sweep", "ns an entry and column", "graph, GiB", "peak, GiB",
		"info predicts", "fit predicts", "peak of fit", "over info's", "over fit's"}, lines)
	return nil
}

func gigabytes(b int64) string { return fmt.Sprintf("%.3f", float64(b)/(1<<30)) }

// again runs this program again, as rmatChild, and decodes what it prints.
func (c *config) again(what, file string, threads int, into any) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"-rmat-child", what, "-dir", file, "-threads", strconv.Itoa(threads), "-method", c.method}
	child := exec.Command(self, append(args, c.knobArgs("-set")...)...)
	child.Stderr = os.Stderr
	text, err := child.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

func (c *config) knobArgs(flag string) (args []string) {
	for name, value := range c.knobs {
		args = append(args, flag, name+"="+value)
	}
	return args
}

// ask returns what memory the command symnmf predicts for a file and rank, and what it then uses.
func (c *config) ask(program, file string, r int) (*ofSymnmf, error) {
	if program == "" {
		return nil, nil
	}
	rank := strconv.Itoa(r)
	text, err := exec.Command(program, "info", file, "-k", rank, "--json").Output()
	var info struct {
		Bytes int64 `json:"predicted_memory_bytes"`
	}
	if err == nil {
		err = json.Unmarshal(text, &info)
	}
	if err != nil {
		return nil, fmt.Errorf("symnmf info: %w", err)
	}
	args := []string{"fit", file, "-k", rank, "-m", c.method, "--init", "random", "--max-sweeps", "6", "--tol", "0", "-v", "--json",
		"--no-progress", "-t", strconv.Itoa(slices.Max(c.threads))}
	fit := exec.Command(program, append(args, c.knobArgs("--set")...)...)
	var messages strings.Builder
	fit.Stderr = &messages
	text, err = fit.Output()
	var did struct {
		Bytes  int64 `json:"peak_memory_bytes"`
		Sweeps int   `json:"sweeps"`
	}
	if err == nil {
		err = json.Unmarshal(text, &did)
	}
	if err != nil {
		return nil, fmt.Errorf("symnmf fit: %w\n%s", err, messages.String())
	}
	return &ofSymnmf{Rank: r, Info: info.Bytes, Fit: predictedBytes(messages.String()), FitPeak: did.Bytes, FitSweeps: did.Sweeps}, nil
}

// predictedBytes finds the prediction of fit -v among its messages, or returns 0 if there is none.
func predictedBytes(messages string) int64 {
	_, text, _ := strings.Cut(messages, "predicted memory ")
	var x float64
	var unit string
	fmt.Sscan(text, &x, &unit)
	power := slices.Index([]string{"bytes", "KiB", "MiB", "GiB", "TiB"}, unit)
	return int64(x * math.Pow(1024, float64(max(power, 0))))
}

// rmatChild writes a graph to the file -dir, or factors the graph in that file and prints a big.
func (c *config) rmatChild(what string) error {
	words := strings.Split(what, ":")
	var numbers []int
	for _, w := range words[1:] {
		k, err := strconv.Atoi(w)
		if err != nil {
			return err
		}
		numbers = append(numbers, k)
	}
	if words[0] == "write" {
		return matio.Create(c.dir, &matio.Table{Sparse: instance.RMAT(numbers[0], numbers[1], 1)}, matio.Options{})
	}
	debug.SetGCPercent(25) // as the command symnmf does
	t, err := matio.Open(c.dir, matio.Options{})
	if err != nil {
		return err
	}
	graph := t.Sparse
	b := big{Threads: c.threads[0], NNZ: graph.NNZ(), Rank: numbers[0]}
	b.N, _ = graph.Dims()
	t = nil
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // resets VmHWM to what is resident now
		fmt.Fprintln(os.Stderr, "engine: the peak includes reading:", err)
	}
	b.Loaded, _ = system.PeakMemory()
	a, err := matrix.FromCSR(graph, 0)
	if err != nil {
		return err
	}
	seconds, err := sweepSeconds(a, b.Rank, symnmf.Options{Solver: c.solver, Start: symnmf.Random{}}, 1, 5, b.Threads)
	if err != nil {
		return err
	}
	b.Seconds = mean(seconds)
	b.Peak, _ = system.PeakMemory()
	runtime.KeepAlive(graph)
	return json.NewEncoder(os.Stdout).Encode(b)
}
