package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newCompletion(s *streams) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:       "completion SHELL",
		Short:     "print the completion script for " + strings.Join(shells, ", "),
		Example:   "  source <(symnmf completion bash)\n  symnmf completion zsh > \"${fpath[1]}/_symnmf\"",
		ValidArgs: shells,
		Args:      exactArgs("a SHELL: " + strings.Join(shells, ", ")),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(s.out, true)
			case "zsh":
				return root.GenZshCompletion(s.out)
			case "fish":
				return root.GenFishCompletion(s.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(s.out)
			}
			return usageError{msg: "unknown shell " + args[0] + ": choose one of " + strings.Join(shells, ", "), command: cmd}
		},
	}
}

// asksToComplete reports whether the arguments are those with which a completion script asks what could come next.
func asksToComplete(args []string) bool {
	return len(args) > 1 && (args[1] == cobra.ShellCompRequestCmd || args[1] == cobra.ShellCompNoDescRequestCmd)
}

// describeBriefly makes what is said of flags a line without marks and without details, as shells show it beside them.
func describeBriefly(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, usage := pflag.UnquoteUsage(f)
		usage = strings.Join(strings.Fields(usage), " ")
		for _, details := range []string{"; ", " (default"} {
			usage, _, _ = strings.Cut(usage, details)
		}
		f.Usage = usage
	})
	for _, sub := range cmd.Commands() {
		describeBriefly(sub)
	}
}
