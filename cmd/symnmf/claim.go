package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// takeDir makes the directory for this run, and unless forced keeps it empty for it until leave, which removes it if nothing has been written.
func takeDir(dir string, force bool) (leave func(), err error) {
	made, err := claimDir(dir)
	if err != nil {
		return nil, err
	}
	if force {
		return func() { removeEmpty(made) }, nil
	}
	release, err := holdDir(dir)
	if err != nil {
		removeEmpty(made)
		return nil, err
	}
	return func() {
		release()
		removeEmpty(made)
	}, nil
}

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

// holdDir keeps an empty directory for this run until release: another that would hold it is refused, as is one that is not empty by now. Nothing is written for that, so that nothing stays, however this process ends.
func holdDir(dir string) (release func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, cannotWrite(dir, err)
	}
	if !lock(f) {
		f.Close()
		return nil, usagef("-o %s: another run is about to write there; --force writes into it all the same", dir)
	}
	entries, err := f.Readdirnames(-1)
	if err != nil {
		f.Close()
		return nil, cannotWrite(dir, err)
	}
	if slices.ContainsFunc(entries, func(name string) bool { return !strings.HasPrefix(name, ".symnmf-") }) { // such a one is of a run that tries the directory, too
		f.Close()
		return nil, usagef("-o %s: %s", dir, notEmpty)
	}
	return func() { f.Close() }, nil
}

const notEmpty = "the directory is not empty; --force writes into it all the same"

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
	f, err := os.CreateTemp(dir, ".symnmf-*")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}
