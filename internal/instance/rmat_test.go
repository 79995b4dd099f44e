package instance

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRMAT compares with a plain version that finds quadrants by halving intervals and keeps a set of pairs.
func TestRMAT(t *testing.T) {
	for _, tc := range []struct{ scale, edges int }{{0, 10}, {1, 0}, {1, 9}, {3, 40}, {5, 300}, {9, 4000}, {14, 20_000}} {
		const seed = 3
		n := 1 << tc.scale
		a := RMAT(tc.scale, tc.edges, seed)
		checkSymmetricCSR(t, a)
		if a.Val != nil {
			t.Error("values of 1 are stored")
		}
		s := newScramble(tc.scale, seed)
		joined := map[[2]uint32]bool{}
		for k := range uint64(tc.edges) {
			i, l := plainDraw(tc.scale, seed, k)
			if i != l {
				joined[[2]uint32{s.of(i), s.of(l)}] = true
				joined[[2]uint32{s.of(l), s.of(i)}] = true
			}
		}
		if rows, cols := a.Dims(); rows != n || cols != n || a.NNZ() != int64(len(joined)) {
			t.Fatalf("scale %d, %d edges: %v, want %d entries", tc.scale, tc.edges, a, len(joined))
		}
		for pair := range joined {
			if a.At(int(pair[0]), int(pair[1])) != 1 {
				t.Fatalf("scale %d, %d edges: no entry at %v", tc.scale, tc.edges, pair)
			}
		}
	}
}

// plainDraw does what rmatDraw does, straight from the definition.
func plainDraw(scale int, seed, k uint64) (i, l uint32) {
	var pcg rand.PCG
	pcg.Seed(seed, 1<<63+k)
	var bits uint64
	rowFrom, colFrom := uint32(0), uint32(0)
	for level := range scale {
		if level%4 == 0 {
			bits = pcg.Uint64()
		}
		half := uint32(1) << (scale - 1 - level)
		u := float64(bits%65536) / 65536
		bits /= 65536
		switch {
		case u < 0.57:
		case u < 0.57+0.19:
			colFrom += half
		case u < 0.57+0.19+0.19:
			rowFrom += half
		default:
			rowFrom, colFrom = rowFrom+half, colFrom+half
		}
	}
	return rowFrom, colFrom
}

// TestRMATQuadrants counts what 20,000 draws choose at each level and at pairs of neighboring levels, within 4
// deviations. One of the pairs takes its bits from two random numbers.
func TestRMATQuadrants(t *testing.T) {
	const draws, scale = 20_000, 6
	want := [4]float64{0.57, 0.19, 0.19, 0.05}
	var once [scale][4]float64
	var twice [scale][4][4]float64
	for k := range uint64(draws) {
		i, l := rmatDraw(scale, 11, k)
		last := uint32(0)
		for level := range scale {
			shift := scale - 1 - level
			q := i>>shift&1<<1 | l>>shift&1
			once[level][q]++
			twice[level][last][q]++
			last = q
		}
	}
	check := func(level int, what any, got, p float64) {
		if sd := math.Sqrt(draws * p * (1 - p)); !(math.Abs(got-draws*p) <= 4*sd) {
			t.Errorf("seed 11, level %d, quadrant %v: %v draws, want about %v", level, what, got, draws*p)
		}
	}
	for level := range scale {
		for q, p := range want {
			check(level, q, once[level][q], p)
			for last, before := range want {
				if level > 0 {
					check(level, [2]int{last, q}, twice[level][last][q], before*p)
				}
			}
		}
	}
}

// TestRMATDegrees: a few nodes have a large part of the edges, many have none, and the numbers of nodes do not
// show which. The node that is 0 before renumbering has most edges. It is drawn with a node of z zero bits, in
// one order or the other, at rate λ = 2·edges·0.57^z·0.19^(scale−z), so it has about
// Σ_z C(scale, z)·(1 − exp(−λ)) neighbors.
func TestRMATDegrees(t *testing.T) {
	const scale, edges, n = 12, 30_000, 1 << 12
	a := RMAT(scale, edges, 1)
	degree := make([]float64, n)
	var first float64 // entries of the lower half of the numbers
	for i := range degree {
		degree[i] = float64(a.RowPtr[i+1] - a.RowPtr[i])
		if i < n/2 {
			first += degree[i]
		}
	}
	if part := first / float64(a.NNZ()); !(math.Abs(part-0.5) <= 0.1) {
		t.Errorf("the lower half of the nodes has a part %.2f of the entries", part)
	}
	want, choose := 0.0, 1.0
	for z := range scale {
		want += choose * -math.Expm1(-2*edges*math.Pow(0.57, float64(z))*math.Pow(0.19, float64(scale-z)))
		choose *= float64(scale-z) / float64(z+1)
	}
	s := newScramble(scale, 1)
	hub := degree[s.of(0)]
	slices.Sort(degree)
	if !(math.Abs(hub-want) <= 4*math.Sqrt(want)) || hub != degree[n-1] {
		t.Errorf("seed 1: the hub has %v neighbors, want about %.0f; the largest degree is %v", hub, want, degree[n-1])
	}
	if mean := float64(a.NNZ()) / n; degree[n/2] > mean/2 || degree[n/20] != 0 {
		t.Errorf("mean degree %.1f, median %v, of the twentieth part %v", mean, degree[n/2], degree[n/20])
	}
}

// TestScramble checks that a scramble permutes the numbers below 2^scale and leaves few of them in place.
func TestScramble(t *testing.T) {
	for scale := range 15 {
		s := newScramble(scale, 5)
		seen := make([]bool, 1<<scale)
		inPlace := 0
		for x := range seen {
			y := s.of(uint32(x))
			if int(y) >= len(seen) || seen[y] {
				t.Fatalf("scale %d: %d goes to %d, which is out of range or taken", scale, x, y)
			}
			seen[y] = true
			if int(y) == x {
				inPlace++
			}
		}
		if scale > 4 && inPlace > len(seen)/4 {
			t.Errorf("scale %d: %d of %d numbers stay", scale, inPlace, len(seen))
		}
	}
}
