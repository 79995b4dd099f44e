// Package rules has the limits that decide both what the engine does and how much memory it needs, so that the code
// that computes and the code that predicts memory read the same ones.
package rules

// Rows of a block of rowblock: for sparse points, for dense data, and at most for a graph. GraphBlock is also the
// largest block allowed for an A with so many entries that those of a block might not be counted in 32 bits.
const (
	PointsBlock = 256
	DenseBlock  = 128
	GraphBlock  = 512
)

// Pitch returns the distance between rows of H in rowblock, for rows of r numbers. For sparse products each row starts
// on a cache line, where that costs at most a third more memory, so that no row lies in more lines than it must. Tiles,
// which take whole vectors of columns, do not need that. The numbers in between are always zero.
func Pitch(r int, sparse bool) int {
	if p := (r + 7) / 8 * 8; sparse && 3*p <= 4*r {
		return p
	}
	return (r + 3) / 4 * 4
}

// Beyond is the default number of columns beyond R of the low rank that stands in for dense data in rowblock.
const Beyond = 20

// SparseBytes returns the bytes of a sparse table: 4 for the column of each entry, 8 for each stored value (values of a
// table that has only ones are not stored), and 8 for the beginning of each row and for the end of the last.
func SparseBytes(rows int, entries, values float64) float64 {
	return 4*entries + 8*values + 8*(float64(rows)+1)
}

// KeepsFeatures reports whether XXᵀ of n dense points with m features is kept with them. It is kept if it takes at most
// 32 MiB, or at most an eighth of X.
func KeepsFeatures(n, m int) bool {
	products := int64(m) * int64(m)
	return m > 0 && products <= max(1<<22, int64(n)*int64(m)/8)
}

// FormsSparse reports whether A = XᵀX of n sparse points is formed, and X released. It is formed if its n² numbers are
// no more than the stored entries of X, and if X has at least 2¹⁴ entries; with fewer there is no time to save.
func FormsSparse(n int, stored int64) bool {
	return stored >= 1<<14 && int64(n)*int64(n) <= stored
}

// FoldsSparse reports whether n sparse points have so few features, m, that XXᵀ takes the place of A = XᵀX.
func FoldsSparse(n, m int) bool { return m > 0 && n/2 >= m }

// Where a product of a dense A with an H in float32 pays. With fewer than RoughFrom rows, or an H of fewer than
// RoughSize numbers, a sweep spends its time elsewhere. With fewer than RoughCols columns a vector register is
// not full. With more than RoughTo rows a copy of A in float32 would take more than half a gigabyte.
const (
	RoughFrom = 256
	RoughTo   = 11585
	RoughCols = 8
	RoughSize = 1 << 12
)

// The most features, and the most rows of a block, for which the gains of Z = XH are passed on by groups of rows. All
// gains of a block together then have only a few times the size of its rows, which are few.
const (
	MostGainFeatures = 127
	MostGainRows     = 512
)

// SpanFrom is the number of entries from which an H counts as large for a sparse A. Products then go by spans of
// columns, and H is kept in float32 for as long as passes use float32.
const SpanFrom = 1 << 16

// NormRows is the number of rows of XᵀX, or of XXᵀ, of sparse points that a thread handles at a time to compute ‖A‖ or
// to form A.
const NormRows = 64

// PanelsRoom is the most bytes that panels of integers take, beside the values, while ‖A‖ of sparse points with few
// entries is computed. With more entries the panels may take 6 bytes per entry.
const PanelsRoom = 8 << 20

// Inner products of dense points whose entries are whole numbers are computed in integers: at most MostIntSums
// products, with at most IntRoom bytes of packed points at a time.
const (
	MostIntSums = 1 << 22
	IntRoom     = 8 << 20
)

// CopyPays reports whether a product of an A with that many stored entries and an H (n×r) takes less time with a copy of
// H in float32 that has to be made for it. From 2r entries a row on, it gains more than writing the copy takes; the copy
// takes at most 16 MiB.
func CopyPays(n, r int, stored int64) bool {
	numbers := int64(n) * int64(r)
	return numbers >= SpanFrom && numbers <= MostKept && stored >= 2*numbers
}

// NarrowPiece is how many numbers of an H in float32 are widened to float64 at a time between sweeps, so that they stay
// in a first-level cache.
const NarrowPiece = 1 << 11

// Oversample is the default number of columns beyond R that the low rank of lai has.
const Oversample = 10

// MostKept is the most numbers of an A·H that is kept until the start has been measured: 32 MiB.
const MostKept = 1 << 22

// DenseFrom is the density from which data count as dense: sets of pictures have 0.7 or more, documents 0.03 or less.
const DenseFrom = 0.25

// TurnsPay reports whether auto begins an H of r columns for n items from that many eigenvectors, turned to be
// nonnegative. H must take at most 32 MiB. For sparse data there must also be at most 64 vectors, or at most one for
// every eight items: computing these takes little time beside the sweeps.
func TurnsPay(n, r, vectors int, dense bool) bool {
	return int64(n)*int64(r) <= 1<<22 && (dense || vectors <= 64 || vectors <= n/8)
}

// TurnedRows returns how many of n rows turns of a start with r columns look at: all of dense data, and of sparse data the
// 64·r longest, among which are those of hubs. Where rows are alike, the others would be left behind, the more so the
// longer turns go on.
func TurnedRows(n, r int, dense bool) int {
	if dense {
		return n
	}
	return min(n, 64*r)
}

// TurnedAtOnce is how many rows are turned at a time, in float32, where a product adds up as many terms in a row.
const TurnedAtOnce = 128

// TurnedPart returns how many of that many rows make one part of a turn, with sums of its own: at least 256, and enough
// for there to be at most 64 parts, or r, so that the sums take no more memory than the rows.
func TurnedPart(rows, r int) int {
	return max(256, r, (rows/64+TurnedAtOnce-1)/TurnedAtOnce*TurnedAtOnce)
}

// GarbageFills is how many bytes a run that needs less than that may fill with its garbage before the program collects it,
// if the memory that it has predicted suffices (decision 0034).
const GarbageFills = 128 << 20
