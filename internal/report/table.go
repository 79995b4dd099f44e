package report

import (
	"bufio"
	"encoding/csv"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Table is rows of cells under column heads. A short row is filled with empty cells.
type Table struct {
	Name    string // stem of the file's name: "table4"
	Title   string
	Columns []string
	Rows    [][]string
	Notes   []string // lines below the table
}

// width returns the number of columns: of the heads, or of the longest row if it has more.
func (t *Table) width() int {
	cols := len(t.Columns)
	for _, row := range t.Rows {
		cols = max(cols, len(row))
	}
	return cols
}

// filled returns row with empty cells added up to cols cells.
func filled(row []string, cols int) []string {
	return append(slices.Clone(row), make([]string, cols-len(row))...)
}

// blanks stand where a number is missing.
var blanks = []string{"", "-", "–", "—", "n/a", "?"}

// isNumber reports whether a cell is a number as tables write it: 12, -0.5, 1e-5, 3.1 ± 0.2, 47.6 %, 0.12*, NaN.
func isNumber(cell string) bool {
	cell = strings.TrimSpace(cell)
	switch strings.ToLower(strings.TrimLeft(cell, "+-−")) {
	case "nan", "inf", "∞":
		return true
	}
	return strings.ContainsAny(cell, "0123456789") && strings.Trim(cell, "0123456789.,+-−±%eE()×·^*†‡<>≤≥≈~ \u00a0\u2009\u202f") == "" &&
		!strings.ContainsAny(cell[:1], "eE")
}

// numeric reports, for each column, whether it holds only numbers and blanks. Such columns are set flush right.
func (t *Table) numeric() []bool {
	num := make([]bool, t.width())
	for j := range num {
		for _, row := range t.Rows {
			if j >= len(row) || slices.Contains(blanks, strings.TrimSpace(row[j])) {
				continue
			}
			if num[j] = isNumber(row[j]); !num[j] {
				break
			}
		}
	}
	return num
}

// columns returns the number of columns that s takes on a terminal.
func columns(s string) (n int) {
	for _, c := range s {
		switch {
		case unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf):
		case unicode.In(c, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana):
			n += 2
		default:
			n++
		}
	}
	return n
}

// WriteText writes the table for a terminal: title, heads, a rule, rows and notes. Columns are two spaces apart and
// numbers are flush right.
func (t *Table) WriteText(w io.Writer) error {
	cols, num := t.width(), t.numeric()
	lines := [][]string{filled(t.Columns, cols)}
	for _, row := range t.Rows {
		lines = append(lines, filled(row, cols))
	}
	widest := make([]int, cols)
	for _, line := range lines {
		for j := range line {
			line[j] = strings.TrimSpace(clean(line[j]))
			widest[j] = max(widest[j], columns(line[j]))
		}
	}
	b := bufio.NewWriter(w)
	if t.Title != "" {
		b.WriteString(clean(t.Title) + "\n\n")
	}
	for i, line := range lines {
		var text strings.Builder
		for j, cell := range line {
			if j > 0 {
				text.WriteString("  ")
			}
			pad := strings.Repeat(" ", widest[j]-columns(cell))
			if num[j] {
				text.WriteString(pad + cell)
			} else {
				text.WriteString(cell + pad)
			}
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
		if i == 0 {
			for j, width := range widest {
				if j > 0 {
					b.WriteString("  ")
				}
				b.WriteString(strings.Repeat("-", width))
			}
			b.WriteString("\n")
		}
	}
	for i, note := range t.Notes {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString(clean(note) + "\n")
	}
	return b.Flush()
}

// measured matches a cell with a number and possibly its deviation and a count: 3.1 ± 0.2, 3.1 ± 0.2 (4 of 5),
// 3.1 (4/5).
var measured = regexp.MustCompile(`^(.*?)(?: ± (\S+))?(?: \((\d+(?: of |/)\d+)\))?$`)

// parted returns the heads and the rows, all of one length. Where a column has deviations or counts, they follow in
// columns of their own.
func (t *Table) parted() [][]string {
	cols := t.width()
	heads := filled(t.Columns, cols)
	var rows [][]string
	for _, row := range t.Rows {
		rows = append(rows, filled(row, cols))
	}
	lines := make([][]string, 1+len(rows))
	for j := range cols {
		parts := [][]string{{heads[j], heads[j] + " deviation", heads[j] + " count"}}
		used := [3]bool{0: true}
		for _, row := range rows {
			cell := row[j]
			found := measured.FindStringSubmatch(cell)
			if found == nil { // the cell has several lines
				found = []string{cell, cell, "", ""}
			}
			parts = append(parts, found[1:])
			for k, part := range found[1:] {
				used[k] = used[k] || part != ""
			}
		}
		for i := range lines {
			for k, part := range parts[i] {
				if used[k] {
					lines[i] = append(lines[i], part)
				}
			}
		}
	}
	return lines
}

// WriteCSV writes the heads and rows, without the title and notes.
func (t *Table) WriteCSV(w io.Writer) error {
	return csv.NewWriter(w).WriteAll(t.parted())
}

// WriteLaTeX writes a table environment with heavy rules above and below, like those of booktabs. It needs no package.
func (t *Table) WriteLaTeX(w io.Writer) error {
	cols, num := t.width(), t.numeric()
	b := bufio.NewWriter(w)
	b.WriteString("\\begin{table}\n\\centering\n")
	if t.Title != "" {
		b.WriteString("\\caption{" + latex(t.Title) + "}\n")
	}
	if t.Name != "" {
		b.WriteString("\\label{tab:" + stem(t.Name) + "}\n")
	}
	b.WriteString("\\begin{tabular}{")
	for j := range max(cols, 1) {
		b.WriteByte("lr"[index(j < cols && num[j])])
	}
	b.WriteString("}\n\\noalign{\\hrule height.08em\\vskip.4ex}\n")
	row := func(cells []string) {
		for j, cell := range filled(cells, cols) {
			if j > 0 {
				b.WriteString(" & ")
			}
			tex := latex(cell)
			if rest, minus := strings.CutPrefix(tex, "-"); minus && isNumber(cell) {
				tex = "$-$" + rest
			}
			b.WriteString(tex)
		}
		b.WriteString(" \\\\\n")
	}
	row(t.Columns)
	b.WriteString("\\noalign{\\vskip.4ex\\hrule height.05em\\vskip.4ex}\n")
	for _, cells := range t.Rows {
		row(cells)
	}
	b.WriteString("\\noalign{\\vskip.4ex\\hrule height.08em}\n\\end{tabular}\n")
	for _, note := range t.Notes {
		b.WriteString("\\par\\smallskip{\\footnotesize " + latex(note) + "\\par}\n")
	}
	b.WriteString("\\end{table}\n")
	return b.Flush()
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// stem replaces the characters of a name that are not safe in labels and file names.
func stem(name string) string {
	return strings.Map(func(c rune) rune {
		if c == '-' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			return c
		}
		return '-'
	}, name)
}

// texOf gives the LaTeX text for a character. '[' and '*' would be read as arguments of the \\ before them; '<', '>',
// '|' and '"' print as other characters in LaTeX's default encoding.
var texOf = map[rune]string{
	'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '#': `\#`, '%': `\%`, '_': `\_`,
	'^': `\textasciicircum{}`, '~': `\textasciitilde{}`, '[': `{[}`, ']': `{]}`, '*': `{*}`, '"': `''`,
	'<': `$<$`, '>': `$>$`, '|': `$|$`, '‖': `$\|$`, '±': `$\pm$`, '−': `$-$`, '×': `$\times$`, '·': `$\cdot$`, '≤': `$\leq$`, '≥': `$\geq$`,
	'≈': `$\approx$`, '≠': `$\neq$`, '∞': `$\infty$`, '→': `$\rightarrow$`, '√': `$\surd$`, 'ᵀ': `$^{\top}$`, 'ℓ': `$\ell$`, '–': `--`, '—': `---`,
	'…': `\ldots{}`, '†': `$\dagger$`, '‡': `$\ddagger$`, '°': `$^\circ$`, '\u00a0': `~`, '\u2009': `\,`, '\u202f': `\,`,
	'α': `$\alpha$`, 'β': `$\beta$`, 'γ': `$\gamma$`, 'δ': `$\delta$`, 'ε': `$\varepsilon$`, 'θ': `$\theta$`, 'κ': `$\kappa$`, 'λ': `$\lambda$`,
	'μ': `$\mu$`, 'ρ': `$\rho$`, 'σ': `$\sigma$`, 'τ': `$\tau$`, 'φ': `$\varphi$`, 'Δ': `$\Delta$`, 'Λ': `$\Lambda$`, 'Σ': `$\Sigma$`, '∇': `$\nabla$`,
}

// latex returns s as LaTeX text. A run of superscripts or subscripts becomes one formula. Other characters outside
// texOf are left as they are, since LaTeX reads UTF-8.
func latex(s string) string {
	const above, below = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "₀₁₂₃₄₅₆₇₈₉₋₊"
	var b strings.Builder
	shifted, last := "", rune(0)
	for _, c := range clean(s) {
		to, digit := "", -1
		for _, set := range []string{above, below} {
			if i := strings.IndexRune(set, c); i >= 0 {
				to, digit = set, utf8.RuneCountInString(set[:i])
			}
		}
		if to != shifted {
			if shifted != "" {
				b.WriteString("}$")
			}
			if to != "" {
				b.WriteString([]string{"$_{", "$^{"}[index(to == above)])
			}
			shifted = to
		}
		switch tex, special := texOf[c]; {
		case digit >= 0:
			b.WriteByte("0123456789-+"[digit])
		case special:
			b.WriteString(tex)
		case c == '-' && last == '-', c == '\'' && last == '\'', c == '`' && last == '`':
			b.WriteString("{}" + string(c)) // LaTeX would draw two of these as one
		default:
			b.WriteRune(c)
		}
		last = c
	}
	if shifted != "" {
		b.WriteString("}$")
	}
	return b.String()
}
