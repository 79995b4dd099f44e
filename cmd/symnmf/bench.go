package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"symnmf/internal/experiment"
	drawing "symnmf/internal/report"
)

func newBench(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "compare methods: make the runs of a plan and draw the results",
		Long: `Compare methods on data sets, from the same starts, by one error and one clock.

'bench run' makes the runs of a plan and records each in DIR as it ends. If it is stopped or killed,
run the same command again to continue. 'bench tables' and 'bench report' draw tables and curves
from the records in DIR.`,
		Example: `  symnmf bench run quick -o records
  symnmf bench tables records
  symnmf bench run paper -o sixty --data sets --starts 1
  symnmf bench report sixty -o sixty.html`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(s.err)
			cmd.Help()
			return usageError{msg: "no command given: choose one of run, tables, report and plans", command: cmd}
		},
	}
	cmd.AddCommand(newBenchRun(s), newBenchTables(s), newBenchReport(), newBenchPlans(s))
	return cmd
}

// benchFlags is the command line of bench run.
type benchFlags struct {
	plan, out, data    string
	limit              time.Duration
	starts             int
	experiments        []string
	sets, methods      []string
	threads            int
	memory             byteSize
	mixed              bool
	quiet, still, list bool
}

func newBenchRun(s *streams) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "run PLAN -o DIR",
		Short: "make the runs of a plan that DIR does not hold yet",
		Long: `Make the runs of PLAN, a file or the name of a plan from 'symnmf bench plans', and append each to
DIR/records.jsonl when it ends. Runs already recorded there are not made again, so the same command
continues the plan after any interruption.

--experiments, --sets and --methods choose the runs to make now; later commands may add others to
the same DIR. --time-limit, --starts and --threads change the plan, and one DIR holds the records
of one plan only.

Runs use one thread unless the plan or --threads says otherwise, so that no method gains from how
well it uses several.`,
		Example: `  symnmf bench run quick -o records
  symnmf bench run paper -o ten --data sets --time-limit 10s
  symnmf bench run my.plan -o mine --data sets --methods cd-cyclic-0,rowblock-rand`,
		Args: exactArgs("a PLAN (a file or a name from 'symnmf bench plans')"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.plan = args[0]
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.run(s)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return experiment.PlanNames(), cobra.ShellCompDirectiveDefault
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.out, "out", "o", "", "`DIR` of the records (required)")
	flags.StringVar(&f.data, "data", "", "`DIR` with the data sets, one folder each; missing sets\nare left out")
	flags.DurationVar(&f.limit, "time-limit", 0, "use time `D`, such as 10s, in place of every time limit\nof the plan; 0 = keep them (default 0)")
	wholeVar(flags, &f.starts, "starts", "", 0, "make at most `N` starts of each method; 0 = as planned\n(default 0)")
	flags.StringSliceVar(&f.experiments, "experiments", nil, "make only runs of the experiments `NAME[,NAME...]`")
	flags.StringSliceVar(&f.sets, "sets", nil, "make only runs on the sets `NAME[,NAME...]`")
	flags.StringSliceVar(&f.methods, "methods", nil, "make only runs of the methods `NAME[,NAME...]`, by\ntheir labels in the plan")
	wholeVar(flags, &f.threads, "threads", "t", 0, "use `N` processors for every run; 0 = as planned, which\nis 1 unless the plan says otherwise (default 0)")
	memoryFlag(flags, &f.memory)
	flags.BoolVar(&f.mixed, "mixed", false, "continue records of another version or machine, whose\ntimes are not comparable")
	flags.BoolVar(&f.list, "list", false, "list the runs without making them")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress and no summary")
	flags.BoolVar(&f.still, "no-progress", false, "do not show a moving progress line")
	return cmd
}

func (f *benchFlags) check(cmd *cobra.Command) error {
	bad := func(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...), cmd} }
	switch {
	case f.out == "" && !f.list:
		return bad("bench run needs -o DIR, where the records go")
	case f.limit < 0:
		return bad("--time-limit %v: it must be above 0, or 0 for the limits of the plan", f.limit)
	case f.starts < 0:
		return bad("--starts %d: it must be above 0, or 0 for the number of the plan", f.starts)
	case f.threads < 0 || f.threads > mostThreads:
		return bad("--threads %d: it must be from 1 to %d, or 0 for the number of the plan", f.threads, mostThreads)
	}
	if info, err := os.Stat(f.data); f.data != "" && (err != nil || !info.IsDir()) {
		return inputf("--data %s: no such directory", f.data)
	}
	return nil
}

// read returns the plan with the changes that the flags ask for.
func (f *benchFlags) read() (*experiment.Plan, error) {
	var plan *experiment.Plan
	text, err := os.ReadFile(f.plan)
	_, builtin := experiment.PlanText(f.plan)
	switch {
	case builtin:
		plan, err = experiment.BuiltinPlan(f.plan)
	case err == nil:
		plan, err = experiment.ParsePlan(f.plan, string(text))
	case errors.Is(err, os.ErrNotExist):
		names := experiment.PlanNames()
		hint := cmp.Or(didYouMean(f.plan, names, ""), ": the built-in plans are "+strings.Join(names, ", "))
		return nil, usagef("%s: neither a file nor a built-in plan%s", f.plan, hint)
	default:
		err = inputf("%s: %w", f.plan, reason(err))
	}
	if err != nil {
		return nil, err
	}
	if f.threads > 0 {
		plan.Threads = f.threads
	}
	plan.Change(experiment.Change{Time: f.limit, Starts: f.starts})
	if err := plan.Select(experiment.Selection{Experiments: f.experiments, Sets: f.sets, Methods: f.methods}); err != nil {
		return nil, usagef("%s", strings.TrimPrefix(err.Error(), experiment.ErrPlan.Error()+": "))
	}
	return plan, nil
}

func (f *benchFlags) run(s *streams) error {
	plan, err := f.read()
	if err != nil {
		return err
	}
	if f.list {
		return writeLines(s.out, plan.Keys())
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(plan.Threads))
	progress := &benchProgress{progress{s: s, moving: s.live && !f.still, silent: f.quiet, last: time.Now()}}
	begin := func(out experiment.Outcome) {
		if !f.quiet {
			f.begin(plan, out, s)
		}
	}
	ctx, release := catchSignals()
	defer release()
	limit := f.memory.limit()
	defer within(mostBytes(limit))()
	out, err := experiment.Run(ctx, plan, experiment.Options{
		Dir: f.out, Data: f.data, Version: version(), Mixed: f.mixed, Begin: begin, Progress: progress.show,
		MaxBytes: max(limit-program, min(limit, 1)), Fits: func(need experiment.Need) error { return benchFits(need, limit) },
	})
	err = raisable(err, limit)
	progress.done()
	var sig signalError
	if err != nil && ctx.Err() != nil {
		errors.As(context.Cause(ctx), &sig)
		if !f.quiet {
			fmt.Fprintf(s.err, "%d of %d runs recorded in %s; run the same command again to continue\n", out.Before+out.Made, out.Total, harmless(f.out))
		}
		return sig
	}
	if err != nil && out.NotMade == 0 {
		return err
	}
	if out.Total == 0 {
		return usagef("plan %s: none of its data sets is here; --data DIR says where they are", plan.Name)
	}
	if !f.quiet && out.Before+out.Made > 0 {
		fmt.Fprintf(s.err, "%s recorded in %s (%d now); 'symnmf bench tables %s' shows them\n", count(int64(out.Before+out.Made), "run", "runs"), harmless(f.out), out.Made, harmless(inShell(f.out)))
		if len(out.Refused) > 0 {
			s.warn(fmt.Sprintf("%s: the first is %s", count(int64(len(out.Refused)), "run is refused", "runs are refused"), out.Refused[0]))
		}
	}
	if err != nil {
		return err
	}
	if len(out.Failed) > 0 {
		return fmt.Errorf("%s: the first is %s", count(int64(len(out.Failed)), "run failed", "runs failed"), out.Failed[0])
	}
	return nil
}

// begin reports what there is to do.
func (f *benchFlags) begin(plan *experiment.Plan, out experiment.Outcome, s *streams) {
	if len(plan.LeftOut) > 0 {
		s.warn("left out, since this program lacks it: " + strings.Join(plan.LeftOut, ", "))
	}
	if len(out.Missing) > 0 {
		where := "; --data DIR says where the sets are"
		if f.data != "" {
			where = ", since " + f.data + " has none of them: a set is a folder of that name with X.npy, X.mtx or A.mtx"
		}
		s.warn("left out: " + strings.Join(out.Missing, ", ") + where)
	}
	if out.Dropped > 0 {
		s.warn(fmt.Sprintf("the last line of %s was incomplete (%d bytes): it is dropped, and its run is made again", filepath.Join(f.out, experiment.RecordsFile), out.Dropped))
	}
	if out.Total == 0 {
		return
	}
	fmt.Fprintf(s.err, "plan %s: %s, %s each", plan.Name, count(int64(out.Total), "run", "runs"), count(int64(plan.Threads), "thread", "threads"))
	rest := ""
	if out.Before > 0 {
		fmt.Fprintf(s.err, ", %d recorded before", out.Before)
		rest = " for the rest"
	}
	if out.Unbounded < out.Total-out.Before {
		fmt.Fprintf(s.err, ", at most %s of the solver's clock%s", showTime(out.Limits), rest)
	}
	if out.Unbounded > 0 {
		fmt.Fprintf(s.err, ", %d without a time limit", out.Unbounded)
	}
	fmt.Fprintln(s.err)
}

// inShell returns a name in the form in which a shell reads it back, in double quotes if it needs any.
func inShell(name string) string {
	plain := func(c rune) bool {
		return unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("-_./:,+@%=", c) || c == filepath.Separator
	}
	if name != "" && strings.IndexFunc(name, func(c rune) bool { return !plain(c) }) < 0 {
		return name
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(name) + `"`
}

func writeLines(w io.Writer, lines []string) error {
	b := bufio.NewWriter(w)
	for _, line := range lines {
		fmt.Fprintln(b, line)
	}
	return b.Flush()
}

// benchProgress shows how many runs of a plan are done.
type benchProgress struct{ progress }

func (p *benchProgress) show(now experiment.Progress) {
	if !p.due() {
		return
	}
	at := now.Done
	if now.Record == nil {
		at++ // the current run
	}
	line := fmt.Sprintf("run %d of %d, %s", at, now.Total, now.Key)
	if r := now.Record; r == nil {
		line += fmt.Sprintf(", sweep %d, error %s", now.Sweep, percent(now.RelErr))
	} else {
		line += ": " + r.Status
	}
	if now.Left >= 0 {
		line += ", about " + now.Left.Round(time.Second).String() + " left"
	}
	p.put(line)
}

// drawFlags is the command line of bench tables.
type drawFlags struct {
	out    string
	format string
	only   []string
	force  bool
}

func newBenchTables(s *streams) *cobra.Command {
	var f drawFlags
	cmd := &cobra.Command{
		Use:   "tables DIR",
		Short: "print the tables of the records in DIR, or write them and the curves to files",
		Long: `Print the tables of the records in DIR. With -o, write every table as .txt, .csv and .tex, every
chart as .csv, .svg and .png, and every gallery of pictures as .svg and .png.`,
		Example: `  symnmf bench tables records
  symnmf bench tables records --only table4,table6 --format latex
  symnmf bench tables records -o drawn`,
		Args: exactArgs("the DIR of 'symnmf bench run'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch given := cmd.Flags().Changed; {
			case f.out == "" && f.force:
				return usageError{"--force needs -o DIR", cmd}
			case f.out != "" && given("format"):
				return usageError{"--format is only for printed tables; -o writes every table as .txt, .csv and .tex", cmd}
			}
			return f.run(args[0], s)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.format = "text"
	choiceFlag(cmd, &f.format, "format", "format of the printed tables", "text", "csv", "latex")
	flags.StringSliceVar(&f.only, "only", nil, "only the tables and figures `NAME[,NAME...]`, by the\nnames of their files")
	flags.StringVarP(&f.out, "out", "o", "", "write files into `DIR`")
	flags.BoolVar(&f.force, "force", false, "write into DIR even if it is not empty")
	return cmd
}

func (f *drawFlags) run(dir string, s *streams) error {
	page, err := drawn(dir)
	if err != nil {
		return err
	}
	if err := f.narrow(page); err != nil {
		return err
	}
	if f.out != "" {
		return f.write(page, s)
	}
	if f.only != nil && !slices.ContainsFunc(page.Sections, func(s drawing.Section) bool { return len(s.Tables) > 0 }) {
		return usagef("--only %s: figures cannot be printed; -o DIR writes them", strings.Join(f.only, ","))
	}
	w := bufio.NewWriter(s.out)
	if f.format == "text" {
		fmt.Fprintf(w, "%s\n%s\n\n", page.Title, page.Intro)
	}
	for _, section := range page.Sections {
		for _, t := range section.Tables {
			write := map[string]func(io.Writer) error{"text": t.WriteText, "csv": t.WriteCSV, "latex": t.WriteLaTeX}[f.format]
			if err := write(w); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
	}
	return w.Flush()
}

// drawn reads the records in a directory and returns the page drawn from them.
func drawn(dir string) (*drawing.Page, error) {
	records, err := experiment.Read(dir)
	if err != nil {
		return nil, err
	}
	return experiment.Draw(records), nil
}

// narrow reduces the page to what --only names.
func (f *drawFlags) narrow(page *drawing.Page) error {
	if f.only == nil {
		return nil
	}
	var names []string
	drop := func(name string) bool {
		names = append(names, name)
		return !slices.Contains(f.only, name)
	}
	for k := range page.Sections {
		section := &page.Sections[k]
		section.Tables = slices.DeleteFunc(section.Tables, func(t *drawing.Table) bool { return drop(t.Name) })
		section.Charts = slices.DeleteFunc(section.Charts, func(c *drawing.Chart) bool { return drop(c.Name) })
		section.Galleries = slices.DeleteFunc(section.Galleries, func(g *drawing.Gallery) bool { return drop(g.Name) })
	}
	for _, name := range f.only {
		if !slices.Contains(names, name) {
			return usagef("--only: no table or figure %q%s", name, nearOrAll(name, names, ""))
		}
	}
	return nil
}

// write writes the page into the files of -o.
func (f *drawFlags) write(page *drawing.Page, s *streams) error {
	ctx, release := catchSignals()
	defer release()
	leave, err := takeDir(f.out, f.force)
	if err != nil {
		return err
	}
	defer leave()
	var files []outFile
	put := func(name string, write func(io.Writer) error) {
		files = append(files, outFile{name, write})
	}
	for _, section := range page.Sections {
		for _, t := range section.Tables {
			put(t.Name+".txt", t.WriteText)
			put(t.Name+".csv", t.WriteCSV)
			put(t.Name+".tex", t.WriteLaTeX)
		}
		for _, c := range section.Charts {
			put(c.Name+".csv", c.WriteCSV)
			put(c.Name+".svg", c.WriteSVG)
			put(c.Name+".png", c.WritePNG)
		}
		for _, g := range section.Galleries {
			put(g.Name+".svg", g.WriteSVG)
			put(g.Name+".png", g.WritePNG)
		}
	}
	if len(files) > 0 { // an empty page has none
		if err := orSignal(ctx, writeFiles(ctx, f.out, files)); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.err, "%s written to %s\n", count(int64(len(files)), "file", "files"), harmless(f.out))
	return nil
}

func newBenchReport() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:     "report DIR -o FILE.html",
		Short:   "write one page with the tables, curves and pictures of the records in DIR",
		Example: "  symnmf bench report records -o page.html",
		Args:    exactArgs("the DIR of 'symnmf bench run'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return usageError{msg: "bench report needs -o FILE.html", command: cmd}
			}
			if ext := strings.ToLower(filepath.Ext(out)); ext != ".html" && ext != ".htm" { // this also protects the records
				return usageError{msg: fmt.Sprintf("-o %s: the page is HTML; give a name that ends in .html", out), command: cmd}
			}
			page, err := drawn(args[0])
			if err != nil {
				return err
			}
			ctx, release := catchSignals()
			defer release()
			return orSignal(ctx, writeFile(ctx, out, page.WriteHTML))
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "write the page to `FILE.html` (required)")
	return cmd
}

func newBenchPlans(s *streams) *cobra.Command {
	return &cobra.Command{
		Use:   "plans [NAME]",
		Short: "list the built-in plans, or print one as a template for your own",
		Example: `  symnmf bench plans
  symnmf bench plans quick > mine.plan`,
		Args: atMostArgs("NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listPlans(s)
			}
			text, ok := experiment.PlanText(args[0])
			if !ok {
				return usagef("unknown plan %q%s", args[0], nearOrAll(args[0], experiment.PlanNames(), ""))
			}
			_, err := io.WriteString(s.out, text)
			return err
		},
		ValidArgsFunction: cobra.FixedCompletions(experiment.PlanNames(), cobra.ShellCompDirectiveNoFileComp),
	}
}

func listPlans(s *streams) error {
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PLAN\tWHAT\tRUNS\tLIMITS")
	for _, name := range experiment.PlanNames() {
		p, err := experiment.BuiltinPlan(name)
		if err != nil {
			return err
		}
		runs, _, limits := p.Size()
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\n", name, p.Title, runs, showTime(limits))
	}
	return t.Flush()
}
