package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestWriteFiles: a file that is replaced keeps its permissions. If a file cannot get its name, the last one, which
// vouches for the others, is not there, whatever was there before.
func TestWriteFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"H", "record"} {
		if err := os.WriteFile(at(name), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put := func(w io.Writer) error { _, err := w.Write([]byte("new")); return err }
	if err := writeFiles(context.Background(), dir, []outFile{{"H", put}, {"more", put}, {"record", put}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"H", "more", "record"} {
		text, err := os.ReadFile(at(name))
		info, _ := os.Stat(at(name))
		if err != nil || string(text) != "new" {
			t.Fatalf("%s: %q, %v", name, text, err)
		}
		if name != "more" && runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the permissions %v, want those it had", name, info.Mode())
		}
	}
	inTheWay := func(w io.Writer) error { // a directory in place of the file written before this one
		return errors.Join(os.Remove(at("H")), os.MkdirAll(at("H/full"), 0o777))
	}
	if err := writeFiles(context.Background(), dir, []outFile{{"H", put}, {"more", inTheWay}, {"record", put}}); err == nil {
		t.Fatal("a file has taken the name of a directory")
	}
	if _, err := os.Stat(at("record")); !os.IsNotExist(err) {
		t.Errorf("the record of the files before is still there: %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("%v, %v, want H and more alone", files, err)
	}
}
