package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// onPaths runs f as a sub-benchmark of each path this machine has.
func onPaths(b *testing.B, name string, f func(b *testing.B)) {
	for p := portable; p <= best(); p++ {
		b.Run(fmt.Sprintf("%s/%s", pathNames[p], name), func(b *testing.B) {
			defer use(p)()
			f(b)
		})
	}
}

// report reports the speed of one operation of so many multiply–adds.
func report(b *testing.B, terms int) {
	ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	b.ReportMetric(ns/float64(terms), "ns/term")
	b.ReportMetric(2*float64(terms)/ns, "GFLOP/s")
}

var sink float64

var benchLengths = []int{16, 30, 60, 64, 500, 2500, 100000}

func BenchmarkDot(b *testing.B) {
	for _, n := range benchLengths {
		x, y := random(1, n), random(2, n)
		onPaths(b, fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for range b.N {
				sink = Dot(x, y)
			}
			report(b, n)
		})
	}
}

func BenchmarkAxpy(b *testing.B) {
	for _, n := range benchLengths {
		x, y := random(1, n), random(2, n)
		onPaths(b, fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for i := range b.N {
				Axpy(y, 1e-3-2e-3*float64(i&1), x)
			}
			report(b, n)
		})
	}
}

// BenchmarkDotAxpy measures what coordinate descent does at each entry of H: a dot product whose value
// decides the next update of one of its own factors.
func BenchmarkDotAxpy(b *testing.B) {
	for _, n := range []int{1, 2, 4, 7, 10, 16, 30, 32, 60, 64} {
		x, y := random(1, n), random(2, n)
		onPaths(b, fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for range b.N {
				Axpy(y, -1e-3*Dot(x, y), x)
			}
			report(b, 2*n)
		})
	}
}

func BenchmarkAxpy4(b *testing.B) {
	for _, n := range benchLengths {
		x0, x1, x2, x3, y := random(1, n), random(2, n), random(3, n), random(4, n), random(5, n)
		onPaths(b, fmt.Sprintf("n=%d", n), func(b *testing.B) {
			c := [4]float64{1e-3, -1e-3, 2e-3, -2e-3}
			for range b.N {
				Axpy4(y, &c, x0, x1, x2, x3)
				c[0], c[1], c[2], c[3] = c[1], c[0], c[3], c[2]
			}
			report(b, 4*n)
		})
	}
}

func BenchmarkRowTimes(b *testing.B) {
	const n = 500
	for _, r := range []int{16, 30, 32, 60, 64} {
		acc, row, x := make([]float64, r), random(1, n), random(2, n*r)
		onPaths(b, fmt.Sprintf("n=%d/r=%d", n, r), func(b *testing.B) {
			for range b.N {
				RowTimes(acc, row, x)
			}
			report(b, n*r)
		})
	}
}

// BenchmarkGatherRows has x in the second-level cache (n = 500) or in memory (n = 200000), and rows of the
// given number of entries.
func BenchmarkGatherRows(b *testing.B) {
	for _, n := range []int{500, 200000} {
		for _, r := range []int{16, 30, 32, 60, 64} {
			x := random(2, n*r)
			for _, entries := range []int{10, 100} {
				idx := randomIndexes(3, 100000, n)
				acc, val := make([]float64, r), random(1, entries)
				onPaths(b, fmt.Sprintf("n=%d/entries=%d/r=%d", n, entries, r), func(b *testing.B) {
					at := 0
					for range b.N {
						GatherRows(acc, idx[at:at+entries], val, x)
						if at += entries; at == len(idx) {
							at = 0
						}
					}
					report(b, entries*r)
				})
			}
		}
	}
}

func BenchmarkGatherDot(b *testing.B) {
	for _, n := range []int{10000, 1000000} {
		x := random(1, n)
		for _, entries := range []int{20, 200, 2000} {
			idx, val := randomIndexes(3, 100000, n), random(2, entries)
			for _, v := range [][]float64{val, nil} {
				b.Run(fmt.Sprintf("n=%d/entries=%d/ones=%t", n, entries, v == nil), func(b *testing.B) {
					at := 0
					for range b.N {
						sink = GatherDot(idx[at:at+entries], v, x)
						if at += entries; at == len(idx) {
							at = 0
						}
					}
					report(b, entries)
				})
			}
		}
	}
}

func BenchmarkScatter(b *testing.B) {
	for _, n := range []int{10000, 1000000} {
		y := random(1, n)
		for _, entries := range []int{20, 200, 2000} {
			idx, val := randomIndexes(3, 100000, n), random(2, entries)
			for _, v := range [][]float64{val, nil} {
				b.Run(fmt.Sprintf("n=%d/entries=%d/ones=%t", n, entries, v == nil), func(b *testing.B) {
					at := 0
					for i := range b.N {
						Scatter(y, 1e-3-2e-3*float64(i&1), idx[at:at+entries], v)
						if at += entries; at == len(idx) {
							at = 0
						}
					}
					report(b, entries)
				})
			}
		}
	}
}

// random returns n numbers in [-1, 1).
func random(seed uint64, n int) []float64 {
	rng := rand.New(rand.NewPCG(seed, 0))
	s := make([]float64, n)
	for i := range s {
		s[i] = 2*rng.Float64() - 1
	}
	return s
}

func randomIndexes(seed uint64, count, n int) []int32 {
	rng := rand.New(rand.NewPCG(seed, 0))
	s := make([]int32, count)
	for i := range s {
		s[i] = rng.Int32N(int32(n))
	}
	return s
}

// BenchmarkGatherEach multiplies 32 rows at a time of a sparse matrix by an x of the given number of rows, by
// GatherEach and by one GatherRows for each row.
func BenchmarkGatherEach(b *testing.B) {
	for _, r := range []int{16, 32, 60, 64} {
		for _, xRows := range []int{2000, 80000} {
			x := random(1, xRows*r)
			for _, length := range []int{4, 12, 32, 64, 128, 512} {
				const rows = 32
				rng := rand.New(rand.NewPCG(5, uint64(length)))
				idx := make([]int32, 64*rows*length)
				for k := range idx {
					idx[k] = int32(rng.IntN(xRows))
				}
				from := make([]int32, rows+1)
				for k := range from {
					from[k] = int32(k * length)
				}
				dst := make([]float64, rows*r)
				name := fmt.Sprintf("r=%d/x=%d/length=%d", r, xRows, length)
				b.Run(name+"/each", func(b *testing.B) {
					for k := range b.N {
						at := k % 64 * rows * length
						GatherEach(dst, r, from, idx[at:at+rows*length], nil, x, 1)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows*length), "ns/entry")
				})
				b.Run(name+"/rows", func(b *testing.B) {
					for k := range b.N {
						at := k % 64 * rows * length
						for i := range rows {
							acc := dst[i*r : (i+1)*r]
							clear(acc)
							GatherRows(acc, idx[at+i*length:at+(i+1)*length], nil, x)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows*length), "ns/entry")
				})
			}
		}
	}
}

func BenchmarkUniform(b *testing.B) {
	dst := make([]float64, 2048)
	onPaths(b, fmt.Sprintf("n=%d", len(dst)), func(b *testing.B) {
		for k := range b.N {
			Uniform(dst, 1, uint64(k))
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(dst)), "ns/number")
	})
}

func BenchmarkGradientStep(b *testing.B) {
	const rows = 64
	for _, r := range []int{16, 30, 60} {
		h, hd, ah, l1 := random(1, rows*r), random(2, rows*r), random(3, rows*r), random(4, r)
		onPaths(b, fmt.Sprintf("r=%d", r), func(b *testing.B) {
			for range b.N {
				sink, _, _ = GradientStep(h, hd, ah, r, l1, 0.3)
			}
			report(b, rows*r)
		})
	}
}
