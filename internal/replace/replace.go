// Package replace follows links to the files that are about to be replaced, and keeps track of the files that are to
// take their places. So a process that ends early can remove those that are not finished.
package replace

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// mostLinks is how many links in a row Target follows, as many as Linux does.
const mostLinks = 40

// Target returns the file to which name leads, through any number of links. The file need not exist.
func Target(name string) (string, error) {
	at := name
	for range mostLinks {
		info, err := os.Lstat(at)
		if os.IsNotExist(err) || err == nil && info.Mode()&os.ModeSymlink == 0 {
			return at, nil
		}
		if err != nil {
			return "", err
		}
		link, err := os.Readlink(at)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(link) {
			at = link
			continue
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(at)) // or .. in the link would leave the wrong folder
		if err != nil {
			return "", err
		}
		at = filepath.Join(dir, link)
	}
	return "", fmt.Errorf("%s: more than %d links in a row", name, mostLinks)
}

// unfinished holds the names of the files that Begin has made and that nothing has renamed or removed yet.
var unfinished = struct {
	sync.Mutex
	names map[string]bool
}{names: map[string]bool{}}

// Begin makes a file by calling create and remembers it until Finish or Remove.
func Begin(create func() (*os.File, error)) (*os.File, error) {
	unfinished.Lock()
	defer unfinished.Unlock()
	f, err := create()
	if err == nil {
		unfinished.names[f.Name()] = true
	}
	return f, err
}

// Finish renames a file of Begin, which replaces an existing file.
func Finish(name, target string) error {
	unfinished.Lock()
	defer unfinished.Unlock()
	err := os.Rename(name, target)
	if err == nil {
		delete(unfinished.names, name)
	}
	return err
}

// Remove removes a file of Begin.
func Remove(name string) {
	unfinished.Lock()
	defer unfinished.Unlock()
	os.Remove(name)
	delete(unfinished.names, name)
}

// RemoveAll removes all files that are not finished, and leaves Begin, Finish and Remove waiting for good. The process
// must end next.
func RemoveAll() {
	unfinished.Lock()
	for name := range unfinished.names {
		os.Remove(name)
	}
}
