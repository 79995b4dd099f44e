package kernel

// Numbers returns n zeros in memory that is to be read in no order: from some megabytes on the system is asked for large pages,
// where it offers them. Each page of 4 KiB costs a search of its own otherwise: that of rows of 16 numbers gathered from 10⁶.
func Numbers(n int) []float64 {
	x := make([]float64, n)
	if n >= hugeFrom {
		adviseHuge(x)
	}
	return x
}

// hugeFrom is the least length for which that is done, 4 MiB: pages of 2 MiB lie at multiples of their size.
const hugeFrom = 1 << 19
