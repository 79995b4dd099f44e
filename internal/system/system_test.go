package system

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestLock: a file that is locked through one open file cannot be locked through another until the first is closed.
func TestLock(t *testing.T) {
	name := t.TempDir()
	open := func() *os.File {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first, second := open(), open()
	defer second.Close()
	if err := Lock(first); err != nil {
		t.Fatal(err)
	}
	err := Lock(second)
	if err == nil && runtime.GOOS != "linux" {
		t.Skip("directories cannot be locked here")
	}
	if !errors.Is(err, ErrHeld) {
		t.Errorf("a second lock: %v, want %v", err, ErrHeld)
	}
	first.Close()
	if err := Lock(second); err != nil {
		t.Errorf("after the first is closed: %v", err)
	}
}

// TestMemory: a process on Linux knows how much memory it has needed, which grows with what it needs, and how much
// there is for it.
func TestMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	before, ok := PeakMemory()
	if !ok || before < 1<<20 {
		t.Fatalf("a peak of %d bytes, known: %v", before, ok)
	}
	room := make([]byte, 64<<20)
	for k := range room {
		room[k] = 1
	}
	if after, _ := PeakMemory(); after < max(before, int64(len(room))) { // what was free before may be used again
		t.Errorf("a peak of %d bytes before %d more and of %d after", before, len(room), after)
	}
	runtime.KeepAlive(room)
	if mapped, peak := MappedFiles(), before; mapped <= 0 || mapped > peak {
		t.Errorf("%d bytes are of files, of a peak of %d", mapped, peak)
	}
	if free := FreeMemory(); free <= 0 {
		t.Errorf("%d bytes are free", free)
	}
}

// TestProcessor: the name is one line without blanks around it, if there is one.
func TestProcessor(t *testing.T) {
	text, _ := os.ReadFile("/proc/cpuinfo")
	name := Processor()
	if name == "" && strings.Contains(string(text), "model name") {
		t.Error("no name, though the system has one")
	}
	if name != strings.TrimSpace(name) || strings.Contains(name, "\n") {
		t.Errorf("%q", name)
	}
}
