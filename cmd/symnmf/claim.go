package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"symnmf/internal/replace"
	"symnmf/internal/system"
)

// takeDir makes the directory for this run and, without force, holds it for this run until leave is called.
// leave removes the directories that takeDir has made and that are still empty.
func takeDir(dir string, force bool) (leave func(), err error) {
	const tries = 100
	for range tries {
		unfinished.Lock()
		made, err := claimDir(dir)
		unfinished.made[dir] = made
		unfinished.Unlock()
		clean := func() { forget(dir, made) }
		if err != nil {
			clean()
			return nil, err
		}
		if force {
			return clean, nil
		}
		release, err := holdDir(dir)
		switch {
		case err == nil:
			return func() {
				clean() // before another run can hold it
				release()
			}, nil
		case err == errMoved:
			clean()
			continue
		case errors.As(err, new(heldError)):
			forget(dir, nil) // the directories are the other run's now
		default:
			clean()
		}
		return nil, err
	}
	return nil, usagef("-o %s: other runs make and remove it all the time", dir)
}

// forget removes the directories made for dir that are empty, and no longer counts them as unfinished.
func forget(dir string, made []string) {
	unfinished.Lock()
	defer unfinished.Unlock()
	removeEmpty(made)
	delete(unfinished.made, dir)
}

// claimDir makes the directory and checks that files can be created in it, before the work begins. It returns
// the directories it has made, inner ones first.
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

// heldError says that another run holds a directory.
type heldError struct{ error }

func (e heldError) Unwrap() error { return e.error }

// errMoved says that another run has removed a directory since it was claimed.
var errMoved = errors.New("the directory has been removed")

// holdDir holds an empty directory for this run until release is called. It returns an error if another run
// holds the directory, if it is no longer empty, or if it is no longer there. It locks the directory and writes
// nothing, so nothing is left behind however this process ends.
func holdDir(dir string) (release func(), err error) {
	f, err := os.Open(dir)
	switch {
	case os.IsNotExist(err):
		return nil, errMoved
	case err != nil:
		return nil, cannotWrite(dir, err)
	}
	if errors.Is(system.Lock(f), system.ErrHeld) { // where directories cannot be locked, none is held
		f.Close()
		return nil, heldError{usagef("-o %s: another run is about to write there; --force writes into it anyway", dir)}
	}
	locked, err1 := f.Stat()
	if now, err2 := os.Stat(dir); err1 != nil || err2 != nil || !os.SameFile(locked, now) {
		f.Close()
		return nil, errMoved
	}
	if err := empty(dir); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// empty returns an error if the directory has an entry other than what runs make there for a moment (see probe), or
// cannot be read.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return cannotWrite(dir, err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".symnmf-") {
			return usagef("-o %s: the directory is not empty: it has %s; --force writes into it anyway", dir, e.Name())
		}
	}
	return nil
}

// removeEmpty removes the directories that are empty.
func removeEmpty(dirs []string) {
	for _, d := range dirs {
		os.Remove(d) // fails if d is not empty
	}
}

// claimFile checks, before the work begins, that the named file can be written. It does not touch the file.
func claimFile(name string) error {
	switch old, err := os.Stat(name); {
	case err != nil && !os.IsNotExist(err):
		return cannotWrite(name, err)
	case err == nil && old.IsDir():
		return fmt.Errorf("cannot write the file %s: it is a directory", name)
	case err == nil && (!old.Mode().IsRegular() || replace.Stream(old) != nil): // they are written to directly
		return nil
	}
	target, err := replace.Target(name)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", name, reason(err))
	}
	if err := probe(filepath.Dir(target)); err != nil {
		return cannotWrite(name, err)
	}
	return nil
}

// probe creates a file in a directory and removes it.
func probe(dir string) error {
	f, err := replace.Begin(func() (*os.File, error) { return os.CreateTemp(dir, ".symnmf-*") })
	if err != nil {
		return err
	}
	f.Close()
	return replace.Remove(f.Name())
}
