// Command engine measures how long a method takes to reach fixed errors, and what a sweep costs. Run it in the module's
// root:
//
//	go run ./bench/engine                                  time to a fixed error: all rows, 5 repeats, 1 and 2 threads
//	go run ./bench/engine -rows 'hitech|CBCL/X' -repeats 1 some rows; names are set/form/rank/start/error
//	go run ./bench/engine -list                            the rows
//	go run ./bench/engine -method rowblock -set passes=2   another method, or other knobs, for ablations
//	go run ./bench/engine -final 5s                        final errors: from zero, and the best of five random starts
//	go run ./bench/engine -starts 8 -kicks 40              8 starts, or 40 kicks of one, one after another and at once
//	go run ./bench/engine -choices                         what auto chooses, beside every other choice
//	go run ./bench/engine -rest                            runs to rest, with the program's own start and stopping rule
//	go run ./bench/engine -rest -from random,tsvd -ranks 8,16,40 -rows graph   where runs from these starts come to rest
//	go run ./bench/engine -rest -ignore-diagonal -written  runs without the diagonal, with A written out
//	go run ./bench/engine -yardstick                       cd-cyclic on an explicit A, to compare machines
//	go run ./bench/engine -growth                          n, stored entries and r, each doubled three times
//	go run ./bench/engine -rmat                            R-MAT graphs of 10⁷ and 10⁸ entries: sweeps and memory
//	go run ./bench/engine -products -limit 1s              time of each method's products with A, and the least possible
//	go run ./bench/engine -hash                            whether H depends on the number of threads
//
// A form is what the method is given:
//
//   - X: the points, in columns (matrix.Gram);
//   - A: their inner products written out, sparse or dense;
//   - graph: a file with A.
//
// The clock includes making the operator, the start, and the sweeps up to the end of the first sweep after which
// ‖A−HHᵀ‖/‖A‖ is at most the target. It excludes reading files and forming A. That sweep is found beforehand, from
// traces: the timed runs compute only the errors that the method needs for itself. With k threads the program may use k
// processors, including the garbage collector.
//
// Three columns show what more threads gain. speed-up is the gain measured. apart is the gain possible if threads had
// nothing to communicate: that many runs of one thread are made at once, on a processor each, and apart is how many
// times as much work they get done as one such run alone. line is how long a cache line took from one processor to
// another and back at that time.
//
// Rows with a start other than zero are run from several seeds. Their seconds are the median over the seeds that reach
// the target, and "never" counts the others. From zero the seed still fixes the order in which coordinates are visited:
// a row is run with one order, or with more by -orders.
//
// Tables go to standard output, in Markdown; -json appends a line for every run. Sets that are not under -data
// are named and left out.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"symnmf"
)

// config is the command line.
type config struct {
	data, targets, json string
	method              string
	knobs               map[string]string
	rows                *regexp.Regexp
	threads             []int
	repeats, seeds      int
	orders              int      // seeds of a row from zero
	from                []string // starts of -final and -rest
	ranks               []int    // of -rest, in place of the ranks of its sets
	ignore, written     bool     // of -rest: leave the diagonal out, write A out
	kicks               int
	tol                 float64
	limit               time.Duration
	dir, symnmf         string // of -rmat
	solver              symnmf.Solver
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	c := config{knobs: map[string]string{}, threads: []int{1, 2}}
	flags := flag.NewFlagSet("engine", flag.ExitOnError)
	flags.StringVar(&c.data, "data", "../shared/data", "`folder` of the sets, one folder each")
	flags.StringVar(&c.targets, "targets", "bench/out/targets.json", "`file` that keeps the targets set by cd-cyclic, for later runs")
	flags.StringVar(&c.json, "json", "", "append a line per run to this `file`")
	flags.StringVar(&c.method, "method", "rowblock", "`name` of the method, or auto")
	flags.Func("set", "`knob=value` of the method, repeatable", c.setKnob)
	rows := flags.String("rows", "", "only rows, or sets, that match this `regexp`, ignoring case")
	wholes := func(to *[]int) func(string) error { return func(text string) error { return parseWholes(text, to) } }
	flags.Func("threads", "numbers of threads, such as 1,2 (default 1,2)", wholes(&c.threads))
	flags.Func("from", "names of `starts`, such as random,tsvd: of -final (default zero,random), or of -rest in place of the program's own start, from -seeds seeds each", func(text string) error {
		c.from = strings.Split(text, ",")
		return nil
	})
	flags.Func("ranks", "ranks of -rest, such as 8,16,40 (default those of its sets)", wholes(&c.ranks))
	flags.BoolVar(&c.ignore, "ignore-diagonal", false, "leave the diagonal out of the runs of -rest")
	flags.BoolVar(&c.written, "written", false, "give the runs of -rest A in place of the points, if there are any")
	flags.IntVar(&c.repeats, "repeats", 5, "`times` each run is repeated")
	flags.IntVar(&c.seeds, "seeds", 10, "the most random starts of a row, with `seeds` 0, 1, …")
	flags.IntVar(&c.orders, "orders", 1, "the number of random orders of the coordinates for a row from zero, with `seeds` 0, 1, …")
	flags.DurationVar(&c.limit, "limit", 0, "the longest time for a start to reach its target; 0 is the row's own limit, 5 to 30 s")
	flags.IntVar(&c.kicks, "kicks", 0, "the most `kicks` of a run of -final, as far as the time allows, and the number of kicks of -starts")
	flags.Float64Var(&c.tol, "tol", -1, "the KKT `residual` at which a run of -final, or a kick, ends; -1 means never, 0 the default")
	list := flags.Bool("list", false, "list the rows")
	final := flags.Duration("final", 0, "final errors after this much time")
	starts := flags.Int("starts", 0, "the time of this many random `starts`, with default limits, one after another and at once, and of the -kicks of one")
	choices := flags.Bool("choices", false, "the time of auto to each error of the table, including its own start, beside other forms, starts, precisions and methods")
	rest := flags.Bool("rest", false, "runs with the program's own start and stopping rule, on sets of every kind")
	yardstick := flags.Bool("yardstick", false, "ns per entry and column of cd-cyclic")
	growth := flags.Bool("growth", false, "exponents of n, stored entries and r")
	rmat := flags.Bool("rmat", false, "R-MAT graphs, each in a process of its own")
	flags.StringVar(&c.dir, "dir", "", "keep the graphs of -rmat, 0.4 GB, in this `folder`")
	flags.StringVar(&c.symnmf, "symnmf", "", "the `program` whose predictions -rmat compares with; default: built from ./cmd/symnmf")
	products := flags.Bool("products", false, "time of every method's products with A, beside the least possible; -rows selects set/form/rank/method,\n"+
		"-limit is how long sweeps are counted, 1 s by default")
	hash := flags.Bool("hash", false, "hashes of H for 1, 2, 3 and 8 threads; no more threads make sweeps than there are processors")
	child := flags.String("rmat-child", "", "used by -rmat for the processes that it starts")
	flags.Parse(args)
	if flags.NArg() > 0 {
		return fmt.Errorf("arguments %q, want only flags", flags.Args())
	}
	if c.kicks != 0 && *final == 0 && *starts == 0 || c.tol != -1 && *final == 0 {
		return fmt.Errorf("-kicks %d, -tol %v: both are for -final, and -kicks also for -starts", c.kicks, c.tol)
	}
	if len(c.from) > 0 && !*rest && *final == 0 || len(c.ranks) > 0 && !*rest {
		return fmt.Errorf("-from %v, -ranks %v: both are for -rest, and -from also for -final", c.from, c.ranks)
	}
	if (c.ignore || c.written) && !*rest {
		return errors.New("-ignore-diagonal and -written are for -rest")
	}
	if c.repeats < 1 || c.seeds < 1 || c.orders < 1 {
		return fmt.Errorf("-repeats %d, -seeds %d, -orders %d: want at least 1", c.repeats, c.seeds, c.orders)
	}
	var err error
	if c.rows, err = regexp.Compile("(?i)" + *rows); err != nil {
		return err
	}
	named := false
	flags.Visit(func(f *flag.Flag) { named = named || f.Name == "method" || f.Name == "set" })
	if *rest && !named {
		c.method = "auto"
	}
	if c.method != "auto" {
		if c.solver, err = symnmf.ParseSolver(c.method, c.knobs); err != nil {
			return err
		}
	} else if len(c.knobs) > 0 {
		return fmt.Errorf("-set %v: auto has no knobs", c.knobs)
	}
	if *child != "" {
		return c.rmatChild(*child)
	}
	log, err := newJournal(&c)
	if err != nil {
		return err
	}
	defer log.close()
	if *list {
		for _, r := range selectRows(table, c.rows) {
			fmt.Println(r.name())
		}
		return nil
	}
	fmt.Printf("%s; %s; load %s\n%s %v, version %s\n\n", log.Machine, runtime.Version(), load(), c.method, c.knobs, log.Version)
	mode := c.toError
	switch {
	case *final > 0:
		mode = func(log *journal) error { return c.final(*final, log) }
	case *starts > 0:
		mode = func(log *journal) error { return c.atOnce(*starts, log) }
	case *choices:
		mode = c.choices
	case *rest:
		mode = c.rest
	case *yardstick:
		mode = c.yardstick
	case *growth:
		mode = c.growth
	case *rmat:
		mode = c.rmat
	case *products:
		mode = c.products
	case *hash:
		mode = c.hash
	}
	err = mode(log)
	return cmp.Or(err, log.failed)
}

func (c *config) setKnob(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return errors.New("want knob=value")
	}
	c.knobs[name] = value
	return nil
}

func parseWholes(text string, to *[]int) error {
	*to = nil
	for _, word := range strings.Split(text, ",") {
		k, err := strconv.Atoi(word)
		if err != nil || k < 1 {
			return errors.New("want whole numbers from 1 on, such as 1,2")
		}
		*to = append(*to, k)
	}
	return nil
}
