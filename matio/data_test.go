package matio

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestSharedData reads the data sets of the experiments, which are not part of a clone, and compares their
// sizes with the tables of their README: name, m, n, nnz(X) for X and name, n, nnz(A) for A. Here nnz counts
// the entries that are not 0.
func TestSharedData(t *testing.T) {
	const dir = "../../shared/data"
	readme, err := os.Open(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Skip("no shared data in ", dir)
	}
	defer readme.Close()
	checked := 0
	seen := map[string]bool{}
	for lines := bufio.NewScanner(readme); lines.Scan(); {
		cells := strings.Split(lines.Text(), "|")
		for k := range cells {
			cells[k] = strings.TrimSpace(cells[k])
		}
		if len(cells) < 8 || seen[cells[1]] {
			continue
		}
		name := cells[1]
		files, err := filepath.Glob(filepath.Join(dir, name, "[AX].*"))
		if err != nil || len(files) != 1 {
			continue
		}
		sizes := cells[3:6] // X: kind, m, n, nnz
		if isGraph := strings.HasPrefix(filepath.Base(files[0]), "A"); isGraph {
			sizes = []string{cells[2], cells[2], cells[3]}
		}
		var want [3]int
		for k, size := range sizes {
			if want[k], err = strconv.Atoi(size); err != nil {
				break
			}
		}
		if err != nil {
			continue // a line of another table
		}
		seen[name] = true
		got, err := Open(files[0], Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		rows, cols := got.Dims()
		nnz := 0
		buf := make([]float64, cols)
		if got.Sparse != nil {
			nnz = int(got.Sparse.NNZ())
		} else {
			for i := range rows {
				for _, v := range got.row(i, buf) {
					if v != 0 {
						nnz++
					}
				}
			}
		}
		if [3]int{rows, cols, nnz} != want || got.Duplicates != 0 || got.Warnings != nil {
			t.Errorf("%s: %d×%d with %d nonzero entries, want %v; warnings %q", files[0], rows, cols, nnz, want, got.Warnings)
		}
		checked++
	}
	if checked != 33 {
		t.Errorf("%d data sets were checked, want 33", checked)
	}
}
