package symnmf

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"symnmf/internal/instance"
	"symnmf/internal/system"
)

// TestMillionItems factors a sparse matrix of 10⁶ items and 10⁷ entries in a process of its own and checks
// its peak memory. That may be at most 1.2 times the sum of 12 bytes an entry (index and value), 16 bytes a
// number of H (H and A·H), 64 bytes an item (pointers, diagonals, ‖H_i,:‖², what the generator leaves), and
// 32 MB for the program itself.
func TestMillionItems(t *testing.T) {
	const n, nnz, r, sweeps = 1_000_000, 10_000_000, 8, 2
	if os.Getenv("SYMNMF_TEST_CHILD") != "" {
		a := mustCSR(t, instance.RandomSparse(n, nnz, 1))
		res := factorize(t, a, r, Options{Solver: CD{Order: Shuffle}, Start: Random{}, Stop: Stop{Sweeps: sweeps, KKT: -1}, Threads: 2, Trace: true})
		first, last := res.Trace[0].RelErr, res.Trace[sweeps].RelErr
		if !(last < first && first < 1) || res.ZeroColumns > 0 {
			t.Fatalf("relative error from %v to %v, %d zero columns", first, last, res.ZeroColumns)
		}
		fmt.Printf("child: stored %d, relative error %.6f to %.6f, %v a sweep, peak bytes %d\n", a.Stored(), first, last, res.Time/sweeps, peakMemory(t))
		return
	}
	if testing.Short() {
		t.Skip("left out by -short: a matrix of 10⁷ entries")
	}
	peakMemory(t)
	child := exec.Command(os.Args[0], "-test.run=^TestMillionItems$", "-test.v")
	child.Env = append(os.Environ(), "SYMNMF_TEST_CHILD=1", "SYMNMF_VERIFY=")
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, line, ok := strings.Cut(string(out), "child: ")
	if !ok {
		t.Fatalf("no figures from the child process:\n%s", out)
	}
	line, _, _ = strings.Cut(line, "\n")
	t.Log(line)
	peak, err := strconv.ParseInt(line[strings.LastIndexByte(line, ' ')+1:], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(1.2 * (12*nnz + 16*n*r + 64*n + 32e6)); peak > most {
		t.Errorf("peak memory is %d bytes, want at most %d", peak, most)
	}
}

// peakMemory returns the peak resident memory of this process in bytes. It skips the test if the system does not tell
// that of a process apart from its parent's.
func peakMemory(t *testing.T) int64 {
	t.Helper()
	bytes, ok := system.PeakMemory()
	if !ok || runtime.GOOS != "linux" {
		t.Skip("the peak memory of this process is not known here")
	}
	return bytes
}
