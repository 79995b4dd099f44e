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

// Target returns the file to which name leads, through any number of links. The file need not exist. Its folder is
// given without links, and with no "..", which would be another folder if the name before it is a link. It is an error
// if name is an existing file that no path leads to, such as /dev/fd/5 of one that has been removed.
func Target(name string) (string, error) {
	at := name
	for range mostLinks + 1 {
		info, err := os.Lstat(at)
		if os.IsNotExist(err) || err == nil && info.Mode()&os.ModeSymlink == 0 {
			if at == name {
				return resolved(at), nil
			}
			return checked(name, resolved(at))
		}
		if err != nil {
			return "", err
		}
		link, err := os.Readlink(at)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(link) {
			dir, _ := filepath.Split(at)
			link = dir + link
		}
		at = link
	}
	return "", fmt.Errorf("more than %d links in a row", mostLinks)
}

// resolved returns the path of a file with the links in its folder followed, if the folder exists.
func resolved(at string) string {
	dir, file := filepath.Split(at)
	if dir == "" || file == "" || file == ".." {
		return at
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return at
	}
	return filepath.Join(real, file)
}

// checked returns target unless name is another existing file. It looks again where others may be replacing that.
func checked(name, target string) (string, error) {
	const looks = 10
	for range looks {
		old, err := os.Stat(name)
		if err != nil {
			return target, nil
		}
		if now, err := os.Stat(target); err == nil && os.SameFile(old, now) {
			return target, nil
		}
	}
	return "", fmt.Errorf("it leads to %s, which is not that file", target)
}

// Stream returns standard output or standard error if that goes to the file, and nil otherwise.
func Stream(file os.FileInfo) *os.File {
	for _, stream := range []*os.File{os.Stdout, os.Stderr} {
		if info, err := stream.Stat(); err == nil && os.SameFile(file, info) {
			return stream
		}
	}
	return nil
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
func Remove(name string) error {
	unfinished.Lock()
	defer unfinished.Unlock()
	delete(unfinished.names, name)
	return os.Remove(name)
}

// RemoveAll removes all files that are not finished, and leaves Begin, Finish and Remove waiting for good. The process
// must end next.
func RemoveAll() {
	unfinished.Lock()
	for name := range unfinished.names {
		os.Remove(name)
	}
}
