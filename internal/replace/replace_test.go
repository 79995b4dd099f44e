package replace

import (
	"fmt"
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
		"real/lnk": "file", "over": "out/../file", "new": "out/../none",
	} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	if err := os.WriteFile(at("real/file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"plain": "plain", "real/file": "real/file", "a": "real/none", "whole": "real/none", "out/up": "real/file", "no/dir": "no/dir",
		// .. of a link to a folder is the folder of that folder
		"out/../lnk": "real/file", "out/../none": "real/none", "over": "real/file", "new": "real/none",
	} {
		got, err := Target(dir + "/" + name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// The folder may have links in its path.
		whole := at(want)
		if folder, err := filepath.EvalSymlinks(filepath.Dir(whole)); err == nil {
			whole = filepath.Join(folder, filepath.Base(whole))
		}
		if got != whole {
			t.Errorf("%s leads to %s, want %s", name, got, whole)
		}
	}
	if got, err := Target(at("x")); err == nil {
		t.Errorf("a circle leads to %s", got)
	}
	for k := range mostLinks + 1 { // step k leads to step k − 1, and step 0 to a new file
		if err := os.Symlink(fmt.Sprintf("step%d", k-1), at(fmt.Sprintf("step%d", k))); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Target(at(fmt.Sprintf("step%d", mostLinks-1))); err != nil || filepath.Base(got) != "step-1" {
		t.Errorf("%d links lead to %s, %v", mostLinks, got, err)
	}
	if got, err := Target(at(fmt.Sprintf("step%d", mostLinks))); err == nil {
		t.Errorf("%d links lead to %s", mostLinks+1, got)
	}
}

// TestTargetGone: a file that has been removed and is still open has no path.
func TestTargetGone(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "gone"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	name := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	if at, err := os.Readlink(name); err != nil || at != f.Name() {
		t.Skipf("%s is not a link to %s here", name, f.Name())
	}
	if got, err := Target(name); err != nil || filepath.Base(got) != "gone" {
		t.Errorf("an open file: %s, %v", got, err)
	}
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	if got, err := Target(name); err == nil {
		t.Errorf("a file that has been removed leads to %s", got)
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
