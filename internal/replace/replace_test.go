package replace

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTarget: links are followed one after another, from the folder each is in, whether or not the last leads to a
// file. A circle is an error.
func TestTarget(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, d := range []string{"real", "real/deep"} {
		if err := os.Mkdir(at(d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"a": "b", "b": "real/c", "real/c": "none", "whole": at("real/none"), "out": "real/deep", "real/deep/up": "../file", "x": "y", "y": "x",
	} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	if err := os.WriteFile(at("real/file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"new": "new", "real/file": "real/file", "a": "real/none", "whole": "real/none", "out/up": "real/file", "no/dir": "no/dir",
	} {
		got, err := Target(at(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// The folder is the same one, by whatever path.
		gotDir, err1 := filepath.EvalSymlinks(filepath.Dir(got))
		wantDir, err2 := filepath.EvalSymlinks(filepath.Dir(at(want)))
		if filepath.Base(got) != filepath.Base(want) || gotDir != wantDir || (err1 == nil) != (err2 == nil) {
			t.Errorf("%s leads to %s, want %s", name, got, at(want))
		}
	}
	if got, err := Target(at("x")); err == nil {
		t.Errorf("a circle leads to %s", got)
	}
}

// TestUnfinished: RemoveAll removes what was begun, and neither what was finished nor what was removed before and is
// there again.
func TestUnfinished(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	begin := func(name string) {
		t.Helper()
		f, err := Begin(func() (*os.File, error) { return os.Create(at(name)) })
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	for _, name := range []string{"begun", "finished", "removed"} {
		begin(name)
	}
	if _, err := Begin(func() (*os.File, error) { return os.Open(at("none")) }); !os.IsNotExist(err) {
		t.Errorf("%v, want the error of create", err)
	}
	if err := Finish(at("finished"), at("done")); err != nil {
		t.Fatal(err)
	}
	Remove(at("removed"))
	for _, name := range []string{"finished", "removed"} {
		if err := os.WriteFile(at(name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := Finish(at("begun"), at("no/such")); err == nil {
		t.Fatal("renamed into a folder that does not exist")
	}
	RemoveAll()
	t.Cleanup(unfinished.Unlock)
	for name, want := range map[string]bool{"begun": false, "done": true, "finished": true, "removed": true} {
		if _, err := os.Stat(at(name)); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
}
