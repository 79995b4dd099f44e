package main

import (
	"runtime"
	"testing"

	"symnmf/internal/rules"
)

// TestRoughMemory: the memory of rough sweeps is counted for exactly the shapes that have them. Whether H has
// enough columns depends on the length of its padded rows.
func TestRoughMemory(t *testing.T) {
	const n, pitch = 1000, 20
	// A, H, the direction of a joint step and that of a block, all in whole vectors of float32, and H at the
	// last check.
	bytes := func(wide, pitch float64) float64 { return 4*(n*n+(2*n+rules.DenseBlock)*wide) + 8*n*pitch }
	for _, tc := range []struct {
		n     float64
		sh    shape
		pitch float64
		want  float64
	}{
		{n, shape{rank: 20}, pitch, bytes(32, pitch)},
		{n, shape{rank: 20, sparse: true}, pitch, 0},
		{n, shape{rank: 5}, 8, bytes(16, 8)},
		{n, shape{rank: 4}, 4, 0},
		{rules.RoughFrom - 1, shape{rank: 20}, pitch, 0},
		{rules.RoughTo + 1, shape{rank: 20}, pitch, 0},
	} {
		if got := tc.sh.rough(tc.n, tc.pitch); got != tc.want {
			t.Errorf("%v rows, %+v: %v bytes, want %v", tc.n, tc.sh, got, tc.want)
		}
	}
	const rows = rules.RoughSize / rules.RoughCols
	few := (shape{rank: rules.RoughCols}).rough(rows-1, rules.RoughCols)
	enough := (shape{rank: rules.RoughCols}).rough(rows, rules.RoughCols)
	if few != 0 || enough == 0 {
		t.Errorf("H of %d columns: %v bytes for %d rows and %v for one row less, want some and 0", rules.RoughCols, enough, rows, few)
	}
}

// TestCopiedMemory: rowblock on a sparse A of long rows counts a copy of H in float32, and on one of shorter rows none.
func TestCopiedMemory(t *testing.T) {
	const n, rank = 5000, 16
	long := shape{rank: rank, sparse: true, stored: 2 * n * rank}
	short := shape{rank: rank, sparse: true, stored: 2*n*rank - 1}
	if got := long.rowBlock(n, 0, false) - short.rowBlock(n, 0, false); got != 4*n*rank {
		t.Errorf("rows of 2r entries take %v bytes more than shorter ones, want %v", got, 4*n*rank)
	}
}

// TestFormedMemory: if A is formed from sparse points, the run is predicted to need the same memory as one
// that reads this A from a file. Forming A takes the points both ways and A. With one stored entry less, the
// points are kept.
func TestFormedMemory(t *testing.T) {
	const n, rank = 1000, 900
	out := shape{rows: n, cols: n, stored: n * n, table: 8 * n * n, items: similarity, rank: rank}
	for _, items := range []string{"rows", "columns"} {
		sh := shape{rows: n, cols: 5000, sparse: true, stored: n * n, table: 12 * n * n, items: items, rank: rank}
		if items == "columns" {
			sh.rows, sh.cols = sh.cols, sh.rows
		}
		if got, want := sh.ahead(), out.ahead(); got != want {
			t.Errorf("points in %s: %v bytes, want %v", items, got, want)
		}
		least := 2*sh.table + 8*n*n
		if _, prepare, points := sh.operator(); points || !(prepare >= least && prepare <= 1.1*least) {
			t.Errorf("points in %s: kept %v, want false; %v bytes to form A, want at least %v and little more", items, points, prepare, least)
		}
		kept := sh
		kept.stored--
		if _, _, points := kept.operator(); !points {
			t.Errorf("points in %s with one entry less: not kept, though A is larger", items)
		}
	}
}

// TestFormedMemoryOfThreads: while A is formed, each working thread keeps its place in every feature. No more
// threads work than there are parts of 64 rows, so few points need few places.
func TestFormedMemoryOfThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(64))
	const n, m = 100, 1 << 20
	sh := shape{rows: n, cols: m, sparse: true, stored: 1 << 18, table: 12 << 18, items: "rows", rank: 5}
	if _, got, _ := sh.operator(); got != 2*sh.table+8*n*n+16*m+2*8*m {
		t.Errorf("%v bytes to form A, of which %v besides X both ways", got, got-2*sh.table)
	}
	sh.stored = n * m / 2 // features are made dense, so no thread keeps places
	if _, got, _ := sh.operator(); got != 2*sh.table+8*n*n+16*m+20*n*n+rules.IntRoom {
		t.Errorf("%v bytes to form A from features made dense, of which %v besides X both ways", got, got-2*sh.table)
	}
}
