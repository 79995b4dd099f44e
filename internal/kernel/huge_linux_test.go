package kernel

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestAdviseHuge: large pages are asked for exactly where whole ones fit into the given memory, wherever that
// begins and ends. Numbers and Room ask for them too.
func TestAdviseHuge(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("the system has no large pages")
	}
	const page, small = 2 << 20, 1 << 14
	for _, c := range []struct{ skip, leave int }{{0, 0}, {small, small}, {page - small, 0}, {page/2 + small, page - small}} {
		m, err := unix.Mmap(-1, 0, 6*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		begin := uintptr(unsafe.Pointer(&m[0]))
		first := (begin + page - 1) / page * page // the first of five large pages in m
		from, to := int(first-begin)+c.skip, int(first-begin)+5*page-c.leave
		adviseHuge(m[from:to])
		lo, hi := first+uintptr((c.skip+page-1)/page*page), first+5*page-uintptr((c.leave+page-1)/page*page)
		if all, inside := advised(t, first, first+5*page), advised(t, lo, hi); all != inside || inside != hi-lo {
			t.Errorf("bytes %d to %d of five large pages: large pages are asked for %d bytes, for %d in whole pages, want %d", c.skip, 5*page-c.leave, all, inside, hi-lo)
		}
		if err := unix.Munmap(m); err != nil {
			t.Fatal(err)
		}
	}
	asks := func(x unsafe.Pointer) bool {
		begin := (uintptr(x) + page - 1) / page * page
		return advised(t, begin, begin+page) == page
	}
	x, y := Numbers(3*hugeFrom/8), Room[int32](3*hugeFrom/4)
	if !asks(unsafe.Pointer(&x[0])) || !asks(unsafe.Pointer(&y[0])) {
		t.Error("Numbers or Room does not ask for large pages")
	}
}

// advised returns for how many bytes from lo to hi large pages have been asked.
func advised(t *testing.T, lo, hi uintptr) (count uintptr) {
	t.Helper()
	list, err := os.ReadFile("/proc/self/smaps")
	if err != nil || !bytes.Contains(list, []byte("VmFlags:")) {
		t.Skip("/proc/self/smaps does not show which pages are asked for")
	}
	var from, to uintptr
	for line := range strings.Lines(string(list)) {
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok {
			if strings.Contains(flags, " hg") && max(from, lo) < min(to, hi) {
				count += min(to, hi) - max(from, lo)
			}
		} else if span, _, _ := strings.Cut(line, " "); strings.Contains(span, "-") {
			if _, err := fmt.Sscanf(span, "%x-%x", &from, &to); err != nil {
				t.Fatal(err)
			}
		}
	}
	return count
}
