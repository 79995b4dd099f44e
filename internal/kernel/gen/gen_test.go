package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestGenerated compares the files in the tree with what this program writes.
func TestGenerated(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(kernelDir, name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes; run go generate ./internal/kernel", name)
		}
	}
}
