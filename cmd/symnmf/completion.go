package main

import (
	"strings"

	"github.com/spf13/cobra"
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
