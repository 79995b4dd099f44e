package symnmf_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the module's path in go.mod.
const module = "symnmf"

// layer is what the non-test files of one directory may import besides the standard library.
type layer struct {
	ours   []string // directories of this module; "." is the root package
	others []string // other modules; a package inside one is meant too; "*" is any
}

var (
	numeric = []string{"gonum.org/v1/gonum", "golang.org/x/sys"}
	formats = append([]string{"github.com/klauspost/compress"}, numeric...)
	library = []string{".", "matrix", "similarity", "cluster", "matio", "dist", "internal/inorder", "internal/instance", "internal/demo",
		"internal/median", "internal/system"}
)

// layers has a line for every directory with Go files, and for those that later work is to have, with the directories
// it may import. A new directory needs a new line here.
var layers = map[string]layer{
	"internal/kernel":     {nil, numeric},
	"internal/inorder":    {nil, nil},
	"internal/replace":    {nil, nil},
	"internal/median":     {nil, nil},
	"internal/rules":      {nil, nil},
	"internal/system":     {nil, nil},
	"matrix":              {[]string{"internal/kernel", "internal/rules"}, numeric},
	".":                   {[]string{"internal/kernel", "internal/rules", "matrix"}, numeric},
	"similarity":          {[]string{"internal/kernel", "matrix"}, numeric},
	"cluster":             {[]string{"matrix"}, numeric},
	"matio":               {[]string{"internal/kernel", "internal/inorder", "internal/replace", "matrix"}, formats},
	"internal/instance":   {[]string{"matrix"}, numeric},
	"internal/demo":       {[]string{"matrix"}, nil},
	"dist":                {[]string{"internal/kernel", "matrix", "."}, numeric},
	"internal/report":     {nil, []string{"*"}},
	"internal/experiment": {append([]string{"internal/rules", "internal/report"}, library...), []string{"*"}},
	"bench/engine":        {[]string{".", "matrix", "matio", "internal/instance", "internal/kernel", "internal/median", "internal/system"}, numeric},
	"cmd/symnmf":          {append([]string{"internal/replace", "internal/rules", "internal/report", "internal/experiment"}, library...), []string{"*"}},
}

// TestImports reads every file that is not a test, whatever its build tags. It fails on an import that the
// layer of the file does not allow, and on a directory without a layer.
func TestImports(t *testing.T) {
	read := 0
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name == "." {
				return nil
			}
			_, err := os.Stat(filepath.Join(name, "go.mod"))
			if err == nil || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") || strings.HasPrefix(entry.Name(), "_") {
				return fs.SkipDir // a module of its own, or nothing the go command builds
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		read++
		dir := path.Dir(filepath.ToSlash(name))
		if _, ok := layers[dir]; !ok {
			t.Errorf("%s: directory %s has no line in layers", name, dir)
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if err := checkImport(dir, imported); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read == 0 {
		t.Error("no files read")
	}
}

// checkImport returns an error if the files of dir may not import the package imported.
func checkImport(dir, imported string) error {
	first, rest, _ := strings.Cut(imported, "/")
	within := func(prefix string) bool {
		return imported == prefix || strings.HasPrefix(imported, prefix+"/") || prefix == "*"
	}
	switch {
	case first == module:
		if rest == "" {
			rest = "."
		}
		if !slices.Contains(layers[dir].ours, rest) {
			return fmt.Errorf("%s may not import %s", dir, imported)
		}
	case imported == "C": // cgo; "*" is not meant to allow it
		return fmt.Errorf("%s may not use cgo", dir)
	case strings.Contains(first, ".") && !slices.ContainsFunc(layers[dir].others, within):
		return fmt.Errorf("%s may not import %s: it keeps to the standard library and %q", dir, imported, layers[dir].others)
	}
	return nil
}

// TestImportLayers checks checkImport on imports that are allowed and imports that are not, and checks that
// the layers form no cycle.
func TestImportLayers(t *testing.T) {
	for _, tc := range []struct {
		dir, imported string
		allowed       bool
	}{
		{"matrix", "symnmf/internal/kernel", true},
		{"internal/kernel", "symnmf/matrix", false},
		{".", "symnmf/matrix", true},
		{"matrix", "symnmf", false},
		{"cluster", "symnmf/matrix", true},
		{"cluster", "symnmf", false},
		{"cluster", "symnmf/matio", false},
		{"dist", "symnmf", true},
		{".", "symnmf/dist", false},
		{"cmd/symnmf", "symnmf/internal/experiment", true},
		{"internal/experiment", "symnmf/cmd/symnmf", false},
		{"internal/report", "symnmf/matrix", false},
		{"internal/demo", "symnmf/matio", false},
		{".", "math/rand/v2", true},
		{".", "gonum.org/v1/gonum/mat", true},
		{".", "gonum.org/v1/gonumother", false},
		{".", "golang.org/x/sys/cpu", true},
		{".", "golang.org/x/term", false},
		{".", "github.com/klauspost/compress/zstd", false},
		{"matio", "github.com/klauspost/compress/zstd", true},
		{"internal/demo", "gonum.org/v1/gonum/mat", false},
		{"cluster", "github.com/spf13/cobra", false},
		{"cmd/symnmf", "github.com/spf13/cobra", true},
		{"cmd/symnmf", "C", false},
	} {
		if err := checkImport(tc.dir, tc.imported); (err == nil) != tc.allowed {
			t.Errorf("%s importing %s: %v, allowed should be %v", tc.dir, tc.imported, err, tc.allowed)
		}
	}
	var visit func(dir string, above []string)
	visit = func(dir string, above []string) {
		if slices.Contains(above, dir) {
			t.Fatalf("the layers form a cycle: %v to %s", above, dir)
		}
		if _, ok := layers[dir]; !ok {
			t.Fatalf("%v allows %s, which has no line in layers", above, dir)
		}
		for _, next := range layers[dir].ours {
			visit(next, append(slices.Clone(above), dir))
		}
	}
	for dir := range layers {
		visit(dir, nil)
	}
}
