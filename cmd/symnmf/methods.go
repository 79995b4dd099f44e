package main

import (
	"bufio"
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"symnmf"
)

// textWidth is the most columns that lines of text take.
const textWidth = 100

func newMethods(s *streams) *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:     "methods",
		Short:   "list every method and start",
		Example: "  symnmf methods -v",
		Args:    exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			return listMethods(s, verbose)
		},
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also list the knobs of each method, for fit --set")
	return cmd
}

func listMethods(s *streams, verbose bool) error {
	w := bufio.NewWriter(s.out)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "METHOD\tWHAT\tACCEPTS\tSTART")
	fmt.Fprintln(t, "auto\tthe method below that suits the input; fit reports which\tdense, sparse, points\ttsvd; zero or random where 'fit --help' says so")
	for _, m := range symnmf.Methods() {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", m.Name, m.Doc, m.Accepts, m.Start)
	}
	t.Flush()
	fmt.Fprintln(w)
	fmt.Fprintln(t, "START\tWHAT")
	for _, st := range symnmf.Starts() {
		fmt.Fprintf(t, "%s\t%s\n", st.Name, st.Doc)
	}
	fmt.Fprintln(t, "FILE.npy\tyour own H: an n×R matrix of numbers 0 or more")
	t.Flush()
	for _, m := range symnmf.Methods() {
		if !verbose || len(m.Knobs) == 0 {
			continue
		}
		fmt.Fprintf(w, "\nKnobs of %s, for --set, with their defaults:\n", m.Name)
		for _, k := range m.Knobs {
			fmt.Fprintf(w, "  %s=%s\n%s", k.Name, k.Default, wrapped(k.Doc, "      "))
		}
	}
	return w.Flush()
}

// wrapped returns the words of text in lines of at most textWidth runes, if words are no longer, each after indent.
func wrapped(text, indent string) string {
	var b strings.Builder
	room := 0
	for _, word := range strings.Fields(text) {
		size := utf8.RuneCountInString(word)
		switch {
		case b.Len() > 0 && size+1 <= room:
			b.WriteByte(' ')
			room--
		case b.Len() > 0:
			b.WriteByte('\n')
			fallthrough
		default:
			b.WriteString(indent)
			room = textWidth - utf8.RuneCountInString(indent)
		}
		b.WriteString(word)
		room -= size
	}
	b.WriteByte('\n')
	return b.String()
}
