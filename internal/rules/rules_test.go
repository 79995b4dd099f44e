package rules

import (
	"math"
	"testing"
)

// TestKeepsFeatures: products are kept up to 32 MiB or an eighth of X, whichever is more, and only if there are
// features.
func TestKeepsFeatures(t *testing.T) {
	for _, tc := range []struct {
		n, m int
		want bool
	}{
		{10, 0, false}, {10, 1, true}, {1, 2048, true}, {1, 2049, false}, // 2048² numbers are 32 MiB
		{8 * 5000, 5000, true}, {8*5000 - 8, 5000, false}, {8*5000 - 8, 5001, false},
		{math.MaxInt32, 1 << 20, true}, // no product overflows
	} {
		if got := KeepsFeatures(tc.n, tc.m); got != tc.want {
			t.Errorf("%d points of %d features: %v", tc.n, tc.m, got)
		}
	}
}

// TestFoldsSparse: points are folded if there are features, and at most half as many as points.
func TestFoldsSparse(t *testing.T) {
	for _, tc := range []struct {
		n, m int
		want bool
	}{{10, 5, true}, {10, 6, false}, {11, 5, true}, {10, 0, false}, {0, 0, false}, {math.MaxInt32, 1 << 30, false}, {math.MaxInt32, 1<<30 - 1, true}} {
		if got := FoldsSparse(tc.n, tc.m); got != tc.want {
			t.Errorf("%d points of %d features: %v", tc.n, tc.m, got)
		}
	}
}

// TestTurnsPay: H takes at most 32 MiB and, for sparse data, there are at most 64 vectors or an eighth of the items.
func TestTurnsPay(t *testing.T) {
	for _, tc := range []struct {
		n, r, vectors int
		dense, want   bool
	}{
		{1 << 16, 64, 64, false, true}, {1 << 16, 65, 64, false, false}, {1 << 16, 65, 64, true, false},
		{100, 64, 64, false, true}, {100, 65, 65, false, false}, {100, 65, 65, true, true},
		{519, 65, 65, false, false}, {520, 65, 65, false, true}, {100, 80, 64, false, true},
		{math.MaxInt32, math.MaxInt32, 1, true, false}, // no product overflows
	} {
		if got := TurnsPay(tc.n, tc.r, tc.vectors, tc.dense); got != tc.want {
			t.Errorf("%d items, %d columns, %d vectors, dense %v: %v", tc.n, tc.r, tc.vectors, tc.dense, got)
		}
	}
}

// TestCopyPays: H has 2¹⁶ to 2²² numbers, and a row of A has 2r entries or more.
func TestCopyPays(t *testing.T) {
	for _, tc := range []struct {
		n, r   int
		stored int64
		want   bool
	}{
		{1 << 12, 16, 1 << 17, true}, {1 << 12, 16, 1<<17 - 1, false}, {1<<12 - 1, 16, 1 << 20, false},
		{1 << 18, 16, 1 << 23, true}, {1<<18 + 1, 16, 1 << 30, false}, {math.MaxInt32, math.MaxInt32, math.MaxInt64, false},
	} {
		if got := CopyPays(tc.n, tc.r, tc.stored); got != tc.want {
			t.Errorf("%d items, %d columns, %d entries: %v", tc.n, tc.r, tc.stored, got)
		}
	}
}

// TestSparseBytes compares with the sizes of the arrays, for a table with stored values and for one without.
func TestSparseBytes(t *testing.T) {
	if got := SparseBytes(3, 10, 10); got != 4*10+8*10+8*4 {
		t.Errorf("with values: %v", got)
	}
	if got := SparseBytes(3, 10, 0); got != 4*10+8*4 {
		t.Errorf("without: %v", got)
	}
}

// TestTurned: turns look at all rows of dense data and at no more than 64·r of sparse ones. A part has 256 rows, or r, or
// as many products of TurnedAtOnce as make at most 64 parts.
func TestTurned(t *testing.T) {
	for _, tc := range []struct {
		n, r       int
		dense      bool
		rows, part int
	}{{100, 2, false, 100, 256}, {200, 2, false, 128, 256}, {200, 2, true, 200, 256}, {20000, 300, false, 19200, 384}, {16384, 5, true, 16384, 256}, {16448, 5, true, 16448, 384}, {1000, 300, true, 1000, 300}} {
		rows := TurnedRows(tc.n, tc.r, tc.dense)
		if part := TurnedPart(rows, tc.r); rows != tc.rows || part != tc.part {
			t.Errorf("%+v: %d rows in parts of %d", tc, rows, part)
		}
	}
}
