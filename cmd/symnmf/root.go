package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// streams is all that a command reads and writes, apart from the files named on the command line.
type streams struct {
	args []string // the command line as typed
	in   io.Reader
	out  io.Writer // data, and help that was asked for
	err  io.Writer // everything else
	live bool      // err is a terminal whose last line may be rewritten
	ansi bool      // err may be colored
}

func stdStreams() *streams {
	s := &streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	s.live, s.ansi = manners(term.IsTerminal(int(os.Stderr.Fd())), os.Getenv)
	return s
}

// manners reports what may be done to standard error: live says that a line may be rewritten, ansi that text
// may be colored.
func manners(terminal bool, getenv func(string) string) (live, ansi bool) {
	live = terminal && getenv("TERM") != "dumb"
	return live, live && getenv("NO_COLOR") == ""
}

// commands is the list of subcommands: one file and one line each.
var commands = []func(*streams) *cobra.Command{
	newFit, newInfo, newMethods, newSimilarity, newScore, newClique, newBench, newConvert, newCompletion, newVersion,
}

// run does what the command line says and returns the exit code.
func run(args []string, s *streams) int {
	out := &dataWriter{to: s.out}
	s.args, s.out = args, out
	root := newRoot(s)
	root.SetArgs(args[1:])
	if asksToComplete(args) {
		describeBriefly(root)
	}
	var wrong error // help was requested for a command that does not exist
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		for _, name := range cmd.Flags().Args() { // as in --help fit
			if !cmd.HasSubCommands() {
				break
			}
			about, _, err := cmd.Find([]string{name})
			if err != nil || about == cmd {
				wrong = unknownCommand(cmd, name)
				return
			}
			cmd = about
			cmd.InitDefaultHelpFlag()
		}
		help(cmd, args)
	})
	err := root.Execute()
	if err == nil {
		err = wrong
	}
	if out.err != nil && (err == nil || errors.Is(err, out.err)) { // cobra's help drops out.err, other code wraps it
		err = out.err
	}
	return s.finish(err)
}

// dataWriter is standard output. It keeps its first error, whose message names standard output.
type dataWriter struct {
	to  io.Writer
	err error
}

func (w *dataWriter) Write(p []byte) (n int, err error) {
	if w.err != nil {
		return 0, w.err
	}
	if n, err = w.to.Write(p); err != nil {
		w.err = fmt.Errorf("cannot write to standard output: %w", reason(err))
	}
	return n, w.err
}

func newRoot(s *streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "symnmf",
		Short: "symnmf finds overlapping groups: it factors a symmetric nonnegative matrix A as HHᵀ with H ≥ 0.",
		Long: `symnmf finds overlapping groups. It approximates a symmetric nonnegative n×n matrix A (a graph,
similarities, or the inner products of points) by HHᵀ, where H ≥ 0 is n×r. Row i of H says how
much item i belongs to each of the r groups.`,
		Example: `  symnmf fit demo:karate -k 2
  symnmf info graph.mtx
  symnmf fit points.csv --items rows -k 10 -o answer`,
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(s.err)
			cmd.Help()
			return usageError{msg: "no command given: choose one of those above", command: cmd}
		},
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(usageTemplate)
	root.SetVersionTemplate("symnmf {{.Version}}\n")
	root.SetHelpCommand(newHelp())
	for _, newCommand := range commands {
		root.AddCommand(newCommand(s))
	}
	return root
}

// usageTemplate is cobra's template, reduced to what this program uses.
const usageTemplate = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND{{else}}{{.UseLine}}{{end}}

Examples:
{{.Example}}
{{- if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if or .IsAvailableCommand (eq .Name "help")}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}

'{{.Root.Name}} help {{if .HasParent}}{{.Name}} {{end}}COMMAND' shows the flags of a command.
{{- else}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}
{{- end}}
`

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "show the help of a command",
		Example: "  symnmf help fit",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return commandNames(cmd.Root()), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				rest = args
			}
			if len(rest) > 0 {
				if err != nil || !about.HasSubCommands() {
					about = cmd.Root()
				}
				return unknownCommand(about, rest[0])
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

func commandNames(of *cobra.Command) (names []string) {
	for _, c := range of.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	return names
}

// unknownCommand is the error for a name that is not a subcommand of the given command.
func unknownCommand(of *cobra.Command, name string) error {
	path := strings.TrimPrefix(of.CommandPath()+" ", of.Root().Name()+" ")
	return usageError{msg: fmt.Sprintf("unknown command %s%q%s", path, name, didYouMean(name, commandNames(of), "")), command: of}
}

// atMostArgs accepts at most as many arguments as there are names.
func atMostArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		return exactArgs(names...)(cmd, append(slices.Clone(args), names[min(len(args), len(names)):]...))
	}
}

// exactArgs accepts exactly as many arguments as there are names.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch want := strings.Join(names, " and "); {
		case len(args) < len(names):
			return usageError{msg: fmt.Sprintf("%s needs %s", cmd.Name(), want), command: cmd}
		case len(args) > len(names) && len(names) == 0:
			return usageError{msg: fmt.Sprintf("%s takes no arguments, but was given %q", cmd.Name(), args[0]), command: cmd}
		case len(args) > len(names):
			return usageError{msg: fmt.Sprintf("%s takes %s, but %q is one argument too many", cmd.Name(), want, args[len(names)]), command: cmd}
		}
		return nil
	}
}

// flagError turns an error of pflag into a usage error in this program's words.
func flagError(cmd *cobra.Command, err error) error {
	msg := err.Error()
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var empty *pflag.ValueRequiredError
	switch {
	case errors.As(err, &empty):
		msg = fmt.Sprintf("--%s needs a value", empty.GetFlag().Name)
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		msg = fmt.Sprintf("unknown flag -%s", unknown.GetSpecifiedName())
		if long := unknown.GetSpecifiedShortnames(); len(long) > 1 {
			msg = fmt.Sprintf("unknown flag -%s%s", long, didYouMean(long, flagNames(cmd), "--"))
		}
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		hint := didYouMean(name, flagNames(cmd), "--")
		if len(name) == 1 && cmd.Flags().ShorthandLookup(name) != nil {
			hint = fmt.Sprintf(": did you mean -%s?", name)
		}
		msg = fmt.Sprintf("unknown flag --%s%s", name, hint)
	case errors.As(err, &invalid):
		flag := invalid.GetFlag()
		what, known := map[string]string{
			"float64": "a number", "bool": "true or false", "duration": "a time with a unit, such as 30s or 5m",
		}[flag.Value.Type()]
		if !known {
			what = invalid.Unwrap().Error()
		}
		msg = fmt.Sprintf("--%s %s: it must be %s", flag.Name, invalid.GetValue(), what)
	}
	return usageError{msg: msg, command: cmd}
}

func flagNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// didYouMean returns a question that suggests the names nearest to a mistyped one, or "" if none is near.
func didYouMean(name string, known []string, prefix string) string {
	near := nearest(name, known)
	if len(near) == 0 {
		return ""
	}
	return ": did you mean " + prefix + strings.Join(near, " or "+prefix) + "?"
}

// nearOrAll is didYouMean, or a list of all known names if none is near.
func nearOrAll(name string, known []string, prefix string) string {
	return cmp.Or(didYouMean(name, known, prefix), ": choose one of "+strings.Join(known, ", "))
}

// nearest returns the known names that begin with name. If there are none, it returns those with a later word
// that begins with name, where words are separated by hyphens. If there are none either, it returns the names
// with the fewest edits, provided that these are at most two or a third of the length of name, whichever is
// more.
func nearest(name string, known []string) (near []string) {
	lower := strings.ToLower(name)
	begins := []func(k string) bool{
		func(k string) bool { return strings.HasPrefix(k, lower) },
		func(k string) bool { return strings.Contains(k, "-"+lower) },
	}
	for _, begin := range begins {
		for _, k := range known {
			if len(name) > 1 && begin(k) {
				near = append(near, k)
			}
		}
		if len(near) > 0 {
			return near
		}
	}
	best := max(2, len(name)/3)
	for _, k := range known {
		switch d := edits(lower, k); {
		case d < best:
			best, near = d, []string{k}
		case d == best:
			near = append(near, k)
		}
	}
	return near
}

// edits returns the least number of edits that turn a into b. An edit inserts, deletes or replaces a letter
// or swaps two neighbors, and no letter is edited twice (the restricted distance of Damerau and
// Levenshtein).
func edits(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(replace, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
