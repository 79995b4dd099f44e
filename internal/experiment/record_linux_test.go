package experiment

import (
	"errors"
	"os/signal"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDiskFull: if a file may grow by 10 bytes only, the part that is written is removed again, and once
// there is room writing goes on in its place.
func TestDiskFull(t *testing.T) {
	p, dir := tinyPlan(t), t.TempDir()
	l := mustOpen(t, dir, p)
	defer l.Close()
	var most unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &most); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(unix.SIGXFSZ) // a write beyond the limit is to fail, not to end the process
	defer signal.Reset(unix.SIGXFSZ)
	size := l.size
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(size) + 10, Max: most.Max}); err != nil {
		t.Fatal(err)
	}
	err := l.append(record(0))
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &most); err != nil { // before anything else is written
		t.Fatal(err)
	}
	if !errors.Is(err, unix.EFBIG) || len(l.List) != 0 {
		t.Errorf("%v, %d records", err, len(l.List))
	}
	if info, err := l.file.Stat(); err != nil || info.Size() != size {
		t.Errorf("a file of %d bytes, %v; want %d as before", info.Size(), err, size)
	}
	if err := l.append(record(0)); err != nil {
		t.Fatal(err)
	}
	if rs, err := Read(dir); err != nil || len(rs.List) != 1 || rs.Dropped != 0 {
		t.Errorf("%+v, %v", rs, err)
	}
}
