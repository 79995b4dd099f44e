package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// claimDir makes the directory and finds out whether files can be made in it, before the work whose answer it is for. It returns those it has made, the inner ones first.
func claimDir(dir string) (made []string, err error) {
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Lstat(d); !os.IsNotExist(err) || d == filepath.Dir(d) {
			break
		}
		made = append(made, d)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		removeEmpty(made)
		return nil, fmt.Errorf("-o %s: cannot make the directory: %w", dir, reason(err))
	}
	if err := probe(dir); err != nil {
		removeEmpty(made)
		return nil, fmt.Errorf("-o %s: cannot write into the directory: %w", dir, reason(err))
	}
	return made, nil
}

// holdDir keeps an empty directory for this run: another finds it not empty. It refuses one that is not, by now.
func holdDir(dir string) (release func(), err error) {
	own, release, err := makeAside(dir)
	if err != nil {
		return nil, cannotWrite(dir, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		release()
		return nil, cannotWrite(dir, err)
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return e.Name() == filepath.Base(own) })
	if len(entries) > 0 {
		release()
		return nil, notEmpty(dir, entries)
	}
	return release, nil
}

// notEmpty is the error of a directory with these entries.
func notEmpty(dir string, entries []os.DirEntry) error {
	if name := entries[0].Name(); len(entries) == 1 && strings.HasPrefix(name, asidePrefix) {
		return usagef("-o %s: another run is about to write there; if there is none, one that was killed has left %s; --force writes into it all the same", dir, name)
	}
	return usagef("-o %s: the directory is not empty; --force writes into it all the same", dir)
}

// removeEmpty removes the directories that are empty.
func removeEmpty(dirs []string) {
	for _, d := range dirs {
		os.Remove(d) // fails for others
	}
}

// claimFile finds out the same for the directory of a file, which is not touched.
func claimFile(name string) error {
	target := name
	switch old, err := os.Stat(name); {
	case err != nil && !os.IsNotExist(err):
		return cannotWrite(name, err)
	case err == nil && old.IsDir():
		return fmt.Errorf("cannot write the file %s: it is a directory", name)
	case err == nil && !old.Mode().IsRegular(): // a pipe or a device, which is written to as it is
		return nil
	case err == nil:
		if target, err = filepath.EvalSymlinks(name); err != nil {
			return cannotWrite(name, err)
		}
	}
	if err := probe(filepath.Dir(target)); err != nil {
		return cannotWrite(name, err)
	}
	return nil
}

// probe makes a file in a directory and removes it.
func probe(dir string) error {
	f, err := os.CreateTemp(dir, asidePrefix+"*")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}
