//go:build !noasm

package kernel

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// printBest names the environment variable that makes the test binary print which path it would take and
// exit.
const printBest = "KERNEL_TEST_PRINT_BEST"

func TestMain(m *testing.M) {
	if os.Getenv(printBest) != "" {
		fmt.Println(pathNames[best()])
		return
	}
	os.Exit(m.Run())
}

// TestFallbacks checks which path is taken if GODEBUG turns features of the processor off. Each case runs in
// a process of its own.
func TestFallbacks(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		off  string
		most int
	}{
		{"", avx512},
		{"cpu.avx512f=off", avx2},
		{"cpu.avx512dq=off", avx2},
		{"cpu.avx512f=off,cpu.avx2=off", portable},
		{"cpu.avx2=off", portable},
		{"cpu.fma=off", portable},
		{"cpu.popcnt=off", portable},
	} {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), printBest+"=1")
		if tc.off != "" {
			cmd.Env = append(cmd.Env, "GODEBUG="+os.Getenv("GODEBUG")+","+tc.off)
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", tc.off, err, out)
		}
		want := pathNames[min(tc.most, best())]
		lines := strings.Fields(string(out))
		if got := lines[len(lines)-1]; got != want {
			t.Errorf("GODEBUG=%q takes %s, want %s", tc.off, got, want)
		}
	}
}

// TestPathsDiffer checks which code runs on each path. −1 + (1+2⁻³⁰)(1−2⁻³⁰) is −2⁻⁶⁰ with a fused
// multiply–add. It is 0 if the product is rounded first, either because the code is portable or because the
// product is added to another accumulator than the −1. Numbers 0 and 16 meet in one of AVX2's four
// accumulators, and numbers 0 and 32 in one of AVX-512's.
func TestPathsDiffer(t *testing.T) {
	const n = 2 * longest
	meet := func(n, at int) bool {
		x, y := make([]float64, n), make([]float64, n)
		x[0], y[0] = -1, 1
		x[at], y[at] = 1+0x1p-30, 1-0x1p-30
		return Dot(x, y) == -0x1p-60
	}
	eachPath(t, func(t *testing.T) {
		for _, tc := range []struct {
			n, at int
			want  bool
		}{
			{shortest, shortest - 1, false},
			{64, 16, path >= avx2},
			{n, 16, path == avx2},
			{n, 32, path >= avx2},
		} {
			if got := meet(tc.n, tc.at); got != tc.want {
				t.Errorf("n = %d: numbers 0 and %d meet in a fused sum: %t, want %t", tc.n, tc.at, got, tc.want)
			}
		}
		if got, want := blocksFuse(leastAVX2), path >= avx2; got != want {
			t.Errorf("block kernels fuse: %t, want %t", got, want)
		}
		defer Portable()()
		if meet(n, 32) || blocksFuse(leastAVX2) {
			t.Error("a fused sum after Portable")
		}
	})
	if path != best() {
		t.Errorf("path %d after all was restored, want %d", path, best())
	}
}

// TestPanels checks that no panel is too narrow or too wide for the assembly.
func TestPanels(t *testing.T) {
	for _, isa := range []struct{ lanes, least, most int }{
		{lanesAVX2, leastAVX2, mostAVX2},
		{lanesAVX512, 1, mostAVX512},
		{lanesAVX2, leastAVX2, tileColsAVX2},
		{lanesAVX2, leastAVX2, lineColsAVX2},
		{lanesAVX512, 1, tileColsAVX512},
		{lanesAVX512, 1, lineColsAVX512},
	} {
		for r := isa.least; r <= 2000; r++ {
			for left, w := r, 0; left > 0; left -= w {
				w = panel(left, isa.most, isa.lanes)
				if w < isa.least || w > isa.most || w > left {
					t.Fatalf("r = %d, %d lanes: panel of %d columns where %d are left", r, isa.lanes, w, left)
				}
				if r%isa.lanes == 0 && w%isa.lanes != 0 { // the kernels of many short rows have no mask
					t.Fatalf("r = %d, %d lanes: panel of %d columns, which has no whole number of vectors", r, isa.lanes, w)
				}
			}
		}
	}
}

// TestGramSquareIsTaken: gramSquare does its work with AVX-512 and 16 columns, and in no other case.
func TestGramSquareIsTaken(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for _, r := range []int{8, 16, 24} {
			if got := gramSquare(make([]float64, r*r), make([]float64, r), 1, r, r); got != (path == avx512 && r == 16) {
				t.Errorf("%d columns: gramSquare returns %v", r, got)
			}
		}
	})
}
