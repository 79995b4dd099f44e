package symnmf

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// anchors returns what may follow # in a link to a document: its headings in lower case, without punctuation,
// and with hyphens for spaces.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		slug := strings.Map(func(c rune) rune {
			switch {
			case c == ' ':
				return '-'
			case c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c > 127:
				return c
			}
			return -1
		}, strings.ToLower(m[1]))
		all[slug] = true
	}
	return all
}

// brokenLinks returns the links in the given text of the file path that lead to no file or to no heading.
// links is the number of all links that are not URLs.
func brokenLinks(path, text string) (broken []string, links int) {
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[1], "://") {
			continue
		}
		links++
		file, anchor, _ := strings.Cut(m[1], "#")
		target := path
		if file != "" {
			target = filepath.Join(filepath.Dir(path), filepath.FromSlash(file))
		}
		if _, err := os.Stat(target); err != nil {
			broken = append(broken, fmt.Sprintf("%s: %s: %v", path, m[1], err))
			continue
		}
		if anchor == "" {
			continue
		}
		there, err := os.ReadFile(target)
		if err != nil || !anchors(string(there))[anchor] {
			broken = append(broken, fmt.Sprintf("%s: %s: no such heading (%v)", path, m[1], err))
		}
	}
	return broken, links
}

// TestLinks: every link from a Markdown file of the repository to a file or heading leads there.
func TestLinks(t *testing.T) {
	total := 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		broken, links := brokenLinks(path, string(text))
		for _, b := range broken {
			t.Error(b)
		}
		total += links
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if total < 100 {
		t.Errorf("%d links, want at least 100", total)
	}
	if broken, _ := brokenLinks("README.md", "[a](nowhere.md) [b](docs/engine.md#nothing) [c](docs/engine.md#threads) [d](https://x.org/)"); len(broken) != 2 {
		t.Errorf("of four links two are broken, found %q", broken)
	}
}

// TestRunsListed: every archived run has a README.md, and a line in the list of runs.
func TestRunsListed(t *testing.T) {
	const runs = "bench/runs"
	list, err := os.ReadFile(runs + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(runs)
	if err != nil {
		t.Fatal(err)
	}
	folders := 0
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		folders++
		page := e.Name() + "/README.md"
		if _, err := os.Stat(filepath.Join(runs, page)); err != nil {
			t.Error(err)
		}
		if !strings.Contains(string(list), "("+page+")") {
			t.Errorf("%s/README.md does not list %s", runs, e.Name())
		}
	}
	if folders == 0 {
		t.Error("no archived runs found")
	}
}

// TestDecisionsNumbered: decision records are numbered from 1 on, without gaps or repetitions.
func TestDecisionsNumbered(t *testing.T) {
	records, err := filepath.Glob("docs/decisions/*.md")
	if err != nil || len(records) == 0 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for k, path := range records { // in order of their names
		number := fmt.Sprintf("%04d", k+1)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(filepath.Base(path), number+"-") || !strings.HasPrefix(string(text), "# "+number+" ") {
			t.Errorf("%s, headed %.40q, want number %s in both", path, text, number)
		}
	}
}
