package report

import "testing"

// TestTableTextWhole: title, heads, rule, rows and notes are where they belong, and columns are two blanks apart.
func TestTableTextWhole(t *testing.T) {
	table := &Table{Title: "T", Columns: []string{"set", "n", "error"}, Rows: [][]string{{"ñandú", "7", "10.25"}, {"b", "1200"}}, Notes: []string{"note"}}
	const want = `T

set       n  error
-----  ----  -----
ñandú     7  10.25
b      1200

note
`
	if got := string(written(t, "text", table.WriteText)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestLaTeXWhole: a table has its three rules and its end, and it has a caption and a label if it has a title and
// a name.
func TestLaTeXWhole(t *testing.T) {
	const head, tail = "\\begin{table}\n\\centering\n", `\begin{tabular}{lr}
\noalign{\hrule height.08em\vskip.4ex}
set & error \\
\noalign{\vskip.4ex\hrule height.05em\vskip.4ex}
a & $-$1.5 \\
b &  \\
\noalign{\vskip.4ex\hrule height.08em}
\end{tabular}
\par\smallskip{\footnotesize note\par}
\end{table}
`
	for _, c := range []struct{ name, title, want string }{
		{"table 4", "50 %", head + "\\caption{50 \\%}\n\\label{tab:table-4}\n" + tail},
		{"", "", head + tail},
	} {
		table := &Table{Name: c.name, Title: c.title, Columns: []string{"set", "error"}, Rows: [][]string{{"a", "-1.5"}, {"b"}}, Notes: []string{"note"}}
		if got := string(written(t, "LaTeX", table.WriteLaTeX)); got != c.want {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
}

// TestLaTeXShifted: a run of superscripts or subscripts is one formula, closed where the run ends.
func TestLaTeXShifted(t *testing.T) {
	for text, want := range map[string]string{
		"10⁻⁶ x₁":  `10$^{-6}$ x$_{1}$`,
		"x₁₂ = 0":  `x$_{12}$ = 0`,
		"‖A‖² ≤ 1": `$\|$A$\|$$^{2}$ $\leq$ 1`,
	} {
		if got := latex(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
