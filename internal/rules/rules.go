// Package rules has the limits that decide both what the engine does and what memory it needs: those who compute and those who predict read the same numbers.
package rules

// Blocks of rowblock, rows: of sparse points, of dense data, and of a graph at most, which is also the most of any A whose entries in a block might not be counted in 32 bits.
const (
	PointsBlock = 256
	DenseBlock  = 128
	GraphBlock  = 512
)

// SparseBytes returns what a sparse table of so many rows takes: 4 bytes for the column of each entry, 8 for each value that is not left out as 1, and 8 for where each row begins and the last ends.
func SparseBytes(rows int, entries, values float64) float64 {
	return 4*entries + 8*values + 8*(float64(rows)+1)
}

// KeepsFeatures says whether XXᵀ of n dense points of m features is kept with them: up to 32 MiB, or an eighth of X.
func KeepsFeatures(n, m int) bool {
	products := int64(m) * int64(m)
	return m > 0 && products <= max(1<<22, int64(n)*int64(m)/8)
}

// FormsSparse says whether A = XᵀX of n sparse points is formed and X, of so many entries, let go: where A has no more numbers than that, and X enough to take time.
func FormsSparse(n int, stored int64) bool {
	return stored >= 1<<14 && int64(n)*int64(n) <= stored
}

// FoldsSparse says whether n sparse points have so few features, m, that XXᵀ takes the place of A = XᵀX.
func FoldsSparse(n, m int) bool { return m > 0 && n/2 >= m }

// Where a product of a dense A with an H in float32 pays: with fewer than RoughFrom rows, or an H of fewer than RoughSize numbers, a sweep has other things to do, and of fewer than RoughCols columns a vector is not full. Of more than RoughTo rows a copy would take
// more than half a gigabyte.
const (
	RoughFrom = 256
	RoughTo   = 11585
	RoughCols = 8
	RoughSize = 1 << 12
)

// What Z = XH gains is told by groups of rows where there are at most so many features and rows of a block: then all gains of a block together are a few times as large as
// its rows, which are few.
const (
	MostGainFeatures = 127
	MostGainRows     = 512
)

// SpanFrom is of how many numbers an H is large for a sparse A: products go by spans of columns, and H is kept in float32 as long as passes are.
const SpanFrom = 1 << 16

// NormRows is how many rows of XᵀX, or of XXᵀ, of sparse points a thread has at a time for ‖A‖, or to form A.
const NormRows = 64

// PanelsRoom is how many bytes of panels of whole numbers there may be at work for ‖A‖ of sparse points, beside values, where entries are few.
const PanelsRoom = 8 << 20

// Inner products of dense points that are whole numbers are computed in integers: so many at most, and so many bytes of points are in hand at once.
const (
	MostIntSums = 1 << 22
	IntRoom     = 8 << 20
)

// NarrowPiece is how many numbers of an H in float32 are widened at a time between sweeps, to stay in a first-level cache.
const NarrowPiece = 1 << 11

// Oversample is how many columns beyond R the low rank of lai has, unless it is told.
const Oversample = 10

// MostKept is how many numbers A·H may have to be kept until its start is measured: 32 MiB.
const MostKept = 1 << 22

// DenseFrom is the density from which data count as dense: sets of pictures have 0.7 and more, documents 0.03 and less.
const DenseFrom = 0.25

// TurnsPay says whether so many eigenvectors of n items are few enough for auto to begin an H of r columns from them, turned: H has at most 32 MiB and, of sparse data, up to 64 vectors, or one for eight items, take little beside sweeps.
func TurnsPay(n, r, vectors int, dense bool) bool {
	return int64(n)*int64(r) <= 1<<22 && (dense || vectors <= 64 || vectors <= n/8)
}
