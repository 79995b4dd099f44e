package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"symnmf"
	"symnmf/internal/rules"
	"symnmf/internal/system"
	"symnmf/matio"
	"symnmf/matrix"
)

// TestNearest checks which known names are suggested for a mistyped one.
func TestNearest(t *testing.T) {
	known := []string{"cd-cyclic", "cd-shuffle", "cd-mbi", "cd-residual"}
	for _, tc := range []struct {
		name string
		want []string
	}{
		{"cd-cylic", []string{"cd-cyclic"}},
		{"cd-cycilc", []string{"cd-cyclic"}},
		{"CD-Shuffle", []string{"cd-shuffle"}},
		{"cd-s", []string{"cd-shuffle"}},
		{"cd-mbo", []string{"cd-mbi"}},
		{"cd", known},
		{"Cyclic", []string{"cd-cyclic"}},
		{"shuf", []string{"cd-shuffle"}},
		{"yclic", nil}, // no word begins with it
		{"newton", nil},
		{"", nil},
	} {
		if got := nearest(tc.name, known); !slices.Equal(got, tc.want) {
			t.Errorf("nearest to %q: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestEdits compares the number of edits with its recursive definition, in which swapping two neighbors is
// one edit.
func TestEdits(t *testing.T) {
	var naive func(a, b string) int
	naive = func(a, b string) int {
		if a == "" || b == "" {
			return len(a) + len(b)
		}
		d := naive(a[1:], b[1:])
		if a[0] != b[0] {
			d++
		}
		d = min(d, naive(a[1:], b)+1, naive(a, b[1:])+1)
		if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
			d = min(d, naive(a[2:], b[2:])+1)
		}
		return d
	}
	for pair, want := range map[[2]string]int{{"ab", "ba"}: 1, {"aaab", "aaba"}: 1, {"ab", "ca"}: 2, {"abcd", "badc"}: 2} {
		if got := edits(pair[0], pair[1]); got != want {
			t.Errorf("from %s to %s: %d edits, want %d", pair[0], pair[1], got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringMatching(`[ab]{0,6}`).Draw(t, "a"), rapid.StringMatching(`[abc]{0,6}`).Draw(t, "b")
		if got, want := edits(a, b), naive(a, b); got != want {
			t.Fatalf("edits(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

// TestByteSize checks how sizes in bytes are read and shown; −1 stands for a text that must be refused.
func TestByteSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1000": 1000, "1e6": 1e6, "4k": 4096, "500M": 500 << 20, "4G": 4 << 30, "1.5GiB": 3 << 29, "2TB": 2 << 40, "10 B": -1,
		"": -1, "G": -1, "-1": -1, "4X": -1, "NaN": -1, "1e30": -1, "inf": -1,
	} {
		var b byteSize
		err := b.Set(text)
		if want < 0 && err == nil || want >= 0 && (err != nil || b.bytes != want || !b.set) {
			t.Errorf("%q is read as %d bytes, %v, want %d (-1 means an error)", text, b.bytes, err, want)
		}
	}
	for b, want := range map[float64]string{0: "0 bytes", 999.4: "999 bytes", 999.5: "1000 bytes", 1010 << 20: "1010 MiB", 1023: "1023 bytes", 1024: "1 KiB", 1536: "1.5 KiB", 3 << 30: "3 GiB", 5 << 40: "5.0 TiB", 1e18: "909494.7 TiB"} {
		if got := showBytes(b); got != want {
			t.Errorf("%v bytes are shown as %q, want %q", b, got, want)
		}
	}
}

// TestFitsTurned: if a graph exceeds the memory limit with auto's own start but not with a random one, the
// error suggests --init random. If it exceeds the limit with both, the error does not.
func TestFitsTurned(t *testing.T) {
	graph := shape{rows: 20000, cols: 20000, table: 2e6, items: similarity, sparse: true, stored: 1e5, rank: 200, runs: 1}
	random := graph
	random.init = "random"
	if err := graph.fits(int64(random.ahead()) + 1); err == nil || !strings.Contains(err.Error(), "to reduce the need, use --init random, or a smaller -k") {
		t.Errorf("a limit that only a random start meets: %v", err)
	}
	if err := graph.fits(1 << 20); err == nil || strings.Contains(err.Error(), "--init") {
		t.Errorf("a limit that no start meets: %v", err)
	}
}

// TestFitsWays: an error about the memory limit names another method only if that is enough, and fewer columns
// unless only another method is.
func TestFitsWays(t *testing.T) {
	wide := shape{rows: 5000, cols: 5000, table: 2e6, items: similarity, sparse: true, stored: 1e5, rank: 100, runs: 1}
	newton, one := wide, wide
	newton.method, newton.rank = "newton", 1
	one.rank = 1
	both, auto := newton, one
	both.rank, auto.rank = 2, 2
	small := one
	small.items, small.method, small.init = "rows", "auto", "random"
	for _, c := range []struct {
		name          string
		sh            shape
		limit         float64
		other, narrow bool
	}{
		{"two n×n matrices for one column", newton, 100 << 20, true, false},
		{"no method has room", newton, 1 << 20, false, false},
		{"fewer columns have room", wide, one.ahead(), false, true},
		{"one column has no room", wide, 1 << 20, false, true}, // but needs less
		{"only another method has room", both, auto.ahead(), true, false},
		{"nothing helps but fewer items", small, 1 << 20, false, false},
	} {
		err := c.sh.fits(int64(c.limit) + 1)
		if err == nil || strings.Contains(err.Error(), "--method auto") != c.other || strings.Contains(err.Error(), "a smaller -k") != c.narrow ||
			strings.Contains(err.Error(), "use ;") || strings.Contains(err.Error(), "fewer items") != (c.name == "nothing helps but fewer items") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestTurnedStart checks the bytes that symnmf.TSVDStart needs, once and for each start, and for which shapes
// auto may begin from it.
func TestTurnedStart(t *testing.T) {
	graph := shape{rows: 1000, cols: 1000, table: 1e6, items: similarity, sparse: true, rank: 10, runs: 1}
	points := shape{rows: 1000, cols: 500, table: 4e6, items: "rows", rank: 10, runs: 1}
	text := points
	text.sparse = true
	text.cols = 501
	words := text
	words.cols = 500 // half as many as rows, so eigenvectors are those of the features
	dense := graph
	dense.sparse = false
	for name, c := range map[string]struct {
		sh   shape
		want float64
	}{
		"a graph":         {graph, 8 * (2*24*1000 + 10*1000 + 2*wideParts(1000)*24*24)},
		"few features":    {points, 8 * (3*40*1000 + wideParts(1000)*40*40 + 40*(1000-3*500))}, // a low rank of 40 columns
		"a dense A":       {dense, 8 * (3*40*1000 + wideParts(1000)*40*40)},
		"150 columns":     {shape{rows: 1000, cols: 1000, items: similarity, rank: 150}, 8 * (2*192*1000 + 150*1000 + 2*wideParts(1000)*192*192)},
		"sparse points":   {text, 8*(2*24*1000+10*1000+2*wideParts(1000)*24*24+24*501) + 4e6},
		"of few features": {words, 8*(2*24*500+10*500+2*wideParts(500)*24*24+24*1000) + 4e6},
	} {
		n, m := c.sh.size()
		once, turns := c.sh.turnedStart(n, m, c.sh.items != similarity)
		if once != c.want {
			t.Errorf("%s: %v bytes once, want %v", name, once, c.want)
		}
		if want := 8.0 * (2*640*10 + 3*(10*12+128*12+64*16) + 13*10*12); c.sh.rank == 10 && turns != want {
			t.Errorf("%s: %v bytes for each start, want %v", name, turns, want)
		}
	}
	for n, parts := range map[float64]float64{1000: 4, 100_000: 61} { // of dense data, turns look at all rows
		all := shape{rows: int(n), cols: int(n), items: similarity, rank: 10, stored: 0.25 * n * n}
		if _, turns := all.turnedStart(n, n, false); turns != 8*(n*10+parts*(10*12+128*12+64*16)+13*10*12) {
			t.Errorf("n = %v: %v bytes for each start of dense data, want those of %v rows in %v parts", n, turns, n, parts)
		}
	}
	for _, c := range []struct {
		n, m     float64
		rank     int
		features bool
		density  float64
		want     bool
	}{
		{400, 400, 64, false, 0, true}, {400, 400, 65, false, 0.249, false}, {528, 528, 66, false, 0, true}, {400, 10, 300, true, 0, true}, {400, 10, 300, false, 0, false},
		{400, 400, 65, false, 0.25, true}, {400, 400, 400, false, 1, true}, {1 << 20, 10, 5, false, 1, false},
	} {
		sh := shape{rows: int(c.n), cols: int(c.m), items: similarity, rank: c.rank, stored: c.density * c.n * c.m}
		if got := sh.beginsTurned(c.n, c.m, c.features); got != c.want {
			t.Errorf("%+v: begins from TSVDStart: %v", c, got)
		}
	}
	few := shape{rows: 400, cols: 10, items: "rows", sparse: true, rank: 300} // the features have 10 eigenvectors
	without := few
	without.offDiag = true
	if !few.beginsTurned(400, 10, true) || without.beginsTurned(400, 10, true) {
		t.Errorf("sparse points of 10 features: %v, want true; without the diagonal %v, want false", few.beginsTurned(400, 10, true), without.beginsTurned(400, 10, true))
	}
	many := shape{rows: 4000, cols: 4000, table: 1e6, items: similarity, sparse: true, rank: 500, runs: 30, atOnce: 20, method: "cd-cyclic", init: "tsvd"}
	one := many
	one.atOnce++
	_, turns := many.turnedStart(4000, 4000, false)
	if got, want := (one.ahead()-many.ahead())/slack, 8*4000*500+turns+8*(squareParts(4000)+8)*500*500; !(math.Abs(got-want) <= 1) {
		t.Errorf("one more start at once takes %v bytes, want %v", got, want)
	}
}

// TestEigenAhead checks the bytes that eigenpairs need. They are counted for the features wherever
// matrix.Folded takes the features in place of the items. It also checks the bytes of the methods with two
// factors.
func TestEigenAhead(t *testing.T) {
	text := shape{rows: 1000, cols: 500, table: 4e6, items: "rows", sparse: true, rank: 10}
	fewer, without, dense, most, many := text, text, text, text, text
	fewer.rows, without.offDiag, dense.sparse, most.rank, many.rank = 999, true, false, 116, 117
	for name, c := range map[string]struct {
		sh   shape
		want float64
	}{
		"twice as many points": {text, 8*(500*110+1000*18) + 4e6},
		"not as many":          {fewer, 8*999*110 + 4e6},
		"no diagonal":          {without, 8*1000*110 + 4e6},
		"dense points":         {dense, 8 * 500 * 110},
		"a basis":              {most, 8*(500*(4*116+32)+1000*124) + 4e6},
		"XXᵀ whole":            {many, 8*(500*(500+3*117)+1000*125) + 4e6},
	} {
		n, m := c.sh.size()
		if got := c.sh.eigen(n, m, true); got != c.want {
			t.Errorf("%s: %v bytes, want %v", name, got, c.want)
		}
	}
	for n, want := range map[float64]float64{144: 144 * (4*10 + 147), 145: 145 * (4*10 + 83)} { // with one eigenvalue
		if got := text.twoFactors(n, 0, false); got != 8*want {
			t.Errorf("two factors of %v rows: %v bytes, want %v", n, got, 8*want)
		}
	}
}

// TestBegun: begun counts an H if there are several runs at once, and X·H twice if A comes from points. For a
// single run it counts nothing.
func TestBegun(t *testing.T) {
	for _, tc := range []struct {
		items  string
		atOnce int
		want   float64
	}{{similarity, 1, 0}, {similarity, 0, 0}, {"rows", 1, 0}, {similarity, 2, 8 * 300 * 7}, {"rows", 3, 8 * (300 + 2*50) * 7}, {"columns", 3, 8 * (50 + 2*300) * 7}} {
		sh := shape{rows: 300, cols: 50, items: tc.items, rank: 7, atOnce: tc.atOnce}
		if tc.items == similarity {
			sh.cols = 300
		}
		if got := sh.begun(); got != tc.want {
			t.Errorf("%s, %d at once: %v bytes, want %v", tc.items, tc.atOnce, got, tc.want)
		}
	}
}

// TestAhead checks the parts of the prediction that TestPeakPrediction cannot tell from the memory that
// reading takes.
func TestAhead(t *testing.T) {
	const n, m, mb = 1000, 500, 1 << 20
	const begun = 8 * n * 10
	base := shape{rows: n, cols: n, table: 8 * n * n, items: similarity, method: "cd-cyclic", sparse: true, rank: 10, runs: 1}
	points := shape{rows: n, cols: m, table: 100 * mb, items: "rows", method: "cd-cyclic", rank: 1, runs: 1}
	with := func(sh shape, change func(*shape)) float64 {
		before := sh.ahead()
		change(&sh)
		return sh.ahead() - before
	}
	squares := func(pitch float64) float64 { return 8 * (2*16 + n/256.0 + 8) * pitch * pitch } // pitch×pitch sums: two for each of 16 groups, and one for each of n/256 + 8 parts
	for _, tc := range []struct {
		name      string
		got, want float64
	}{
		{"cd-residual keeps an n×n matrix in place of an n×r one", with(base, func(sh *shape) { sh.method = "cd-residual" }), 8 * n * (n - 10)},
		{"cd-mbi keeps three n×r matrices", with(base, func(sh *shape) { sh.method = "cd-mbi" }), 8 * 3 * n * 10},
		{"anls keeps four n×r matrices in place of one, and a basis of 83 columns for an eigenvalue", with(base, func(sh *shape) { sh.method = "anls" }),
			8 * n * (3*10 + 83)},
		{"snmpbb keeps two n×r matrices more than anls", with(base, func(sh *shape) { sh.method = "snmpbb" }), 8 * n * (5*10 + 83)},
		{"lvs keeps as much as snmpbb", with(base, func(sh *shape) { sh.method = "lvs" }), 8 * n * (5*10 + 83)},
		{"rowblock keeps two n×12 matrices in place of one n×10 matrix", with(base, func(sh *shape) { sh.method = "rowblock" }), 8*n*14 + squares(12)},
		{"auto from a random start needs what rowblock does", with(base, func(sh *shape) { sh.method, sh.init = "auto", "random" }), 8*n*14 + squares(12)},
		{"auto begins from eigenvectors, which are found among more vectors and kept", with(base, func(sh *shape) { sh.method = "auto" }), 8*n*10 + 8*(2*24*n+10*n+2*wideParts(n)*24*24) - 8*n*10},
		{"all runs share these eigenvectors", with(base, func(sh *shape) { sh.method, sh.runs, sh.atOnce = "auto", 30, 21 }) - with(base, func(sh *shape) { sh.method, sh.runs, sh.atOnce = "auto", 30, 20 }),
			with(base, func(sh *shape) { sh.method, sh.init, sh.runs, sh.atOnce = "auto", "random", 30, 21 })/1.05 - with(base, func(sh *shape) { sh.method, sh.init, sh.runs, sh.atOnce = "auto", "random", 30, 20 })/1.05},
		{"kicks of auto do not begin from eigenvectors", with(base, func(sh *shape) { sh.method, sh.kicks, sh.atOnce = "auto", 30, 41 }) - with(base, func(sh *shape) { sh.method, sh.kicks, sh.atOnce = "auto", 30, 40 }),
			with(base, func(sh *shape) { sh.method, sh.init, sh.kicks, sh.atOnce = "auto", "random", 30, 41 })/1.05 - with(base, func(sh *shape) { sh.method, sh.init, sh.kicks, sh.atOnce = "auto", "random", 30, 40 })/1.05},
		{"auto begins from eigenvectors also if the diagonal is ignored", with(base, func(sh *shape) { sh.method, sh.offDiag = "auto", true }), 8*n*10 + 8*(2*24*n+10*n+2*wideParts(n)*24*24) - 8*n*10},
		{"auto does not begin from eigenvectors if the rank is large", with(base, func(sh *shape) { sh.method, sh.rank = "auto", 10000 }) - with(base, func(sh *shape) { sh.method, sh.init, sh.rank = "auto", "random", 10000 }), 0},
		{"rowblock on a sparse A aligns rows of H with cache lines if that is cheap", with(base, func(sh *shape) { sh.rank, sh.method = 15, "rowblock" }) -
			with(base, func(sh *shape) { sh.rank = 15 }), 8*n*(2*16-15) + squares(16)},
		{"an H in float32 needs room for the rows at work", with(base, func(sh *shape) { sh.rank, sh.method = 66, "rowblock" }) - with(base, func(sh *shape) { sh.rank = 66 }),
			8*n*(2*72-66) + squares(72) + 12*64*2048 + 12*512*72},
		{"a small H is not in float32, and if no rows are padded an n×r matrix replaces another", with(base, func(sh *shape) { sh.rank, sh.method = 64, "rowblock" }) -
			with(base, func(sh *shape) { sh.rank = 64 }), squares(64)},
		{"several runs keep the best H", with(base, func(sh *shape) { sh.runs = 7 }), 8 * n * 10},
		{"three runs at once have an H each, two A·H more, a little waste each, and more together", with(base, func(sh *shape) { sh.runs, sh.atOnce = 7, 3 }) - garbage - begun,
			8*n*(1+2+2)*10 + 8*2*(n/256.0+16)*100},
		{"kicks at once begin each from its own H as well", with(base, func(sh *shape) { sh.kicks, sh.atOnce = 7, 2 }) - with(base, func(sh *shape) { sh.kicks = 7 }) - garbage - begun,
			8*n*(2+1)*10 + 8*(n/256.0+16)*100},
		{"with two runs each also keeps its best H", with(base, func(sh *shape) { sh.runs, sh.kicks, sh.atOnce = 2, 7, 2 }) - with(base, func(sh *shape) { sh.runs, sh.kicks = 2, 7 }) - garbage - begun,
			8*n*(3+1)*10 + 8*(n/256.0+16)*100},
		{"each run of compressed first has a rowblock on its low rank", with(base, func(sh *shape) { sh.method, sh.first, sh.atOnce = "compressed", "lai", 21 }) - with(base, func(sh *shape) { sh.method, sh.first, sh.atOnce = "compressed", "lai", 20 }),
			8*n*(1+2)*10 + 8*(2*n+3*10)*12 + 8*(2*8+n/256.0+8)*144 + 8*(n/256.0+16)*100},
		{"all runs share the eigenvectors of a start", with(base, func(sh *shape) { sh.init, sh.method, sh.atOnce = "svd", "pgncg", 21 }) - with(base, func(sh *shape) { sh.init, sh.method, sh.atOnce = "svd", "pgncg", 20 }),
			8*n*(7+1)*10 + 8*(n/256.0+16)*100},
		{"the low rank from which a start is made is kept", with(base, func(sh *shape) { sh.method, sh.init = "cd-residual", "lai" }) - with(base, func(sh *shape) { sh.method = "cd-residual" }), 8 * 2 * n * (10 + 10)},
		{"mu on points has X·H three times, like cd-cyclic, and two n×r matrices more", with(points, func(sh *shape) { sh.method, sh.rank = "mu", 1000 }) - with(points, func(sh *shape) { sh.rank = 1000 }), 8 * 2 * n * 1000},
		{"a start from a file is kept", with(base, func(sh *shape) { sh.given = true }), 8 * n * 10},
		{"names are kept", with(base, func(sh *shape) { sh.ids = 1000 }), 1000 / 1.05},
	} {
		if !(math.Abs(tc.got-1.05*tc.want) <= 1) {
			t.Errorf("%s: %v bytes more, want %v", tc.name, tc.got, 1.05*tc.want)
		}
	}
	if got := with(points, func(sh *shape) { sh.items, sh.rows, sh.cols = "columns", m, n }); !(got >= 99*mb && got <= 150*mb) {
		t.Errorf("a transposed copy takes %v bytes more, want from 99 to 150 MiB", got)
	}
	whole := 1.05 * (8*m*m + 8*mb) // inner products in integers, which sparse points do not have
	wide := shape{rows: 5000, cols: 2048, table: 100 * mb, items: "rows", method: "cd-cyclic", rank: 1, runs: 1}
	if got, want := with(wide, func(sh *shape) { sh.cols++ }), -1.05*(8*2048*2048+8*mb); !(math.Abs(got-want) <= mb) {
		t.Errorf("beyond 2048 features inner products are neither computed in integers nor kept: %v bytes more, want about %v", got, want)
	}
	wide.rows, wide.cols = 8*2100-1, 2100
	if got, want := with(wide, func(sh *shape) { sh.rows++ }), 1.05*8*2100*2100; !(math.Abs(got-want) <= mb) {
		t.Errorf("inner products of 2100 features are kept if they are an eighth of the table: %v bytes more, want about %v", got, want)
	}
	wide.rows, wide.cols = 100000, 50
	if got := with(wide, func(sh *shape) { sh.bound = true }); !(got >= 0 && got <= mb) {
		t.Errorf("a bound takes %v bytes more, want from 0 to 1 MiB for a basis of eigenvectors of 50 features", got)
	}
	wide.rank, wide.init = 20, "svd"
	if got, want := with(wide, func(sh *shape) { sh.offDiag = true }), 1.05*8*100000*(140-20); !(math.Abs(got-want) <= mb) {
		t.Errorf("without the diagonal, eigenvectors take %v bytes more, want about %v: a basis over the items, less A·H of the start", got, want)
	}
	if got := with(points, func(sh *shape) { sh.sparse = true }) + whole; !(got >= 99*mb && got <= 150*mb) {
		t.Errorf("the norm of sparse points takes %v bytes more, want from 99 to 150 MiB", got)
	}
}

// TestTogether: the number of runs and kicks made at once is the least of how many there are, how many
// threads there are, and how many the memory allows.
func TestTogether(t *testing.T) {
	const mb = 1 << 20
	small := shape{rows: 1000, cols: 1000, table: mb, items: similarity, method: "rowblock", sparse: true, rank: 10, runs: 1}
	medium := small // 57 MB for each run at once, so some of them together need no more than alongside
	medium.rows, medium.cols = 2e5, 2e5
	// 286 MB for each run at once, and 443 MB for one alone, with the best H. A second run at once stays
	// within the larger of twice that and alongside more; a third does not.
	large := small
	large.rows, large.cols = 1e6, 1e6
	huge := large // A takes 2.2 GB more, so nine runs beside the first need no more than all that one needs alone
	huge.table = 2000 * mb
	fits := 10
	if math.MaxInt == math.MaxInt32 { // 32-bit addresses do not suffice for that
		fits = 1
	}
	for _, c := range []struct {
		sh                   shape
		runs, kicks, threads int // kicks < 0: a time limit and −kicks kicks, or none if it is −1
		limit                int64
		want                 int
	}{
		{small, 1, 0, 8, 0, 1}, {small, 3, 0, 8, 0, 3}, {small, 30, 0, 8, 0, 8}, {small, 1, 5, 8, 0, 5}, {small, 2, 3, 8, 0, 6}, {small, 1 << 30, 1 << 30, 8, 0, 8},
		{small, 30, 0, 8, 30 * mb, 1}, {small, 9, -1, 8, 0, 1}, {small, 9, -3, 8, 0, 3}, {large, 30, 0, 1, 0, 1},
		{medium, 30, 0, 16, 0, 9}, {medium, 3, 0, 16, 0, 3}, {large, 30, 0, 16, 0, 2}, {large, 30, 0, 2, 0, 2}, {large, 30, 0, 16, 600 * mb, 1}, {large, 30, 0, 16, 900 * mb, 2}, {huge, 30, 0, 16, 0, fits},
	} {
		c.sh.runs, c.sh.kicks = c.runs, max(c.kicks, -c.kicks)
		if c.kicks == -1 {
			c.sh.kicks = 0
		}
		if c.sh.together(c.threads, c.limit, c.kicks < 0); c.sh.atOnce != c.want {
			t.Errorf("%d items, %d runs, %d kicks, %d threads, at most %d bytes: %d at once, want %d", c.sh.rows, c.runs, c.kicks, c.threads, c.limit, c.sh.atOnce, c.want)
		}
	}
}

// TestSampleBlocks compares sampleBlocks with a count by its definition, for a table so small that all blocks
// are sampled.
func TestSampleBlocks(t *testing.T) {
	const n, m = 300, 40
	x := matrix.NewDense(n, m, nil)
	for i := range n {
		for c := range m {
			if (i*i+7*c*i+c*c)%31 == 0 || i == c {
				x.Set(i, c, 1)
			}
		}
	}
	var distinct float64
	for lo := 0; lo < n; lo += rules.PointsBlock {
		hi := min(lo+rules.PointsBlock, n)
		for c := range m {
			for i := lo; i < hi; i++ {
				if x.At(i, c) != 0 {
					distinct++
					break
				}
			}
		}
	}
	var col []int32
	var val []float64
	rowPtr := []int64{0}
	for i := range n {
		for c := range m {
			if x.At(i, c) != 0 {
				col, val = append(col, int32(c)), append(val, 1)
			}
		}
		rowPtr = append(rowPtr, int64(len(col)))
	}
	sparse, err := matrix.NewCSR(n, m, rowPtr, col, val)
	if err != nil {
		t.Fatal(err)
	}
	for _, columns := range []bool{false, true} {
		table := sparse
		if columns {
			table = sparse.Transpose()
		}
		if got := sampleBlocks(table, columns); got != distinct {
			t.Errorf("columns %v: %v features over all blocks, want %v", columns, got, distinct)
		}
	}
}

// TestExitCode checks which exit code stands for which kind of error. A closed pipe is success.
func TestExitCode(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{fmt.Errorf("cannot write: %w", syscall.EPIPE), 0},
		{errors.New("anything"), 1},
		{fmt.Errorf("writing: %w", syscall.ENOSPC), 1},
		{usagef("x"), 2},
		{fmt.Errorf("%w: Runs", symnmf.ErrOption), 2},
		{inputf("x"), 3},
		{fmt.Errorf("a: %w", matio.ErrFormat), 3},
		{fmt.Errorf("a: %w", matrix.ErrAsymmetric), 3},
		{fmt.Errorf("%w: after 3 sweeps", errNotConverged), 4},
		{fmt.Errorf("%w: 3 GiB", errMemory), 5},
		{fmt.Errorf("a: %w", matio.ErrTooLarge), 5},
		{signalError{syscall.SIGINT}, 130},
		{signalError{syscall.SIGTERM}, 143},
	} {
		if got := exitCode(tc.err); got != tc.want {
			t.Errorf("%v: exit code %d, want %d", tc.err, got, tc.want)
		}
	}
}

// TestManners: a line is rewritten only on a terminal that is not dumb, and colors also need NO_COLOR to be
// unset. Warnings are colored if colors are allowed.
func TestManners(t *testing.T) {
	for _, tc := range []struct {
		terminal   bool
		env        map[string]string
		live, ansi bool
	}{
		{false, nil, false, false},
		{true, nil, true, true},
		{true, map[string]string{"NO_COLOR": "1"}, true, false},
		{true, map[string]string{"TERM": "dumb"}, false, false},
	} {
		if live, ansi := manners(tc.terminal, func(k string) string { return tc.env[k] }); live != tc.live || ansi != tc.ansi {
			t.Errorf("terminal %v, %v: rewritten line %v, colors %v", tc.terminal, tc.env, live, ansi)
		}
	}
	var out bytes.Buffer
	s := &streams{err: &out, ansi: true}
	s.warn("careful")
	if want := "\x1b[33mwarning:\x1b[0m careful\n"; out.String() != want {
		t.Errorf("the warning is %q, want %q", out.String(), want)
	}
}

// TestProgress: progress is shown as a line that is rewritten on a terminal, as plain lines elsewhere or if
// asked for, and not at all with -q. No line follows another too soon, and several runs are numbered.
func TestProgress(t *testing.T) {
	at := symnmf.Progress{Run: 1, Runs: 1, Sweep: 7, Elapsed: 1500 * time.Millisecond, RelErr: 0.25, KKT: 1e-3}
	const line = "sweep 7, 1.5s, error 25 %, KKT about 1.0e-03"
	for _, tc := range []struct {
		live  bool
		flags fitFlags
		want  string
	}{
		{true, fitFlags{}, "\r\x1b[K" + line + "\r\x1b[K"},
		{true, fitFlags{still: true}, line + "\n"},
		{false, fitFlags{}, line + "\n"},
		{true, fitFlags{quiet: true}, ""},
		{false, fitFlags{quiet: true}, ""},
	} {
		var out bytes.Buffer
		p := newProgress(&streams{err: &out, live: tc.live}, &tc.flags)
		p.show(at) // too soon
		p.last = time.Now().Add(-plainEvery)
		p.show(at)
		p.show(at) // too soon again
		p.done()
		if out.String() != tc.want {
			t.Errorf("terminal %v, flags %+v: printed %q, want %q", tc.live, tc.flags, out.String(), tc.want)
		}
	}
	var out bytes.Buffer
	p := newProgress(&streams{err: &out, live: true}, &fitFlags{})
	p.last = time.Now().Add(-movingEvery)
	at.Run, at.Runs = 2, 5
	p.show(at)
	if want := "\r\x1b[Krun 2 of 5, " + line; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

// TestShowError checks how a relative error is shown above, near and below its rounding floor.
func TestShowError(t *testing.T) {
	for _, tc := range []struct {
		x, floor float64
		want     string
	}{
		{0.25, 1e-8, "25 %"},
		{1.01e-7, 1e-8, "1.01e-05 %"},
		{3.14e-8, 1.23e-8, "3.1e-06 % ± 1.2e-06 %"},
		{1e-8, 1e-8, "1e-06 % ± 1e-06 %"},
		{0.9e-8, 1.23e-8, "below 2.5e-06 % (rounding floor)"},
		{0, 1e-8, "0 %"},
	} {
		if got := showError(tc.x, tc.floor); got != tc.want {
			t.Errorf("error %v with floor %v: %q, want %q", tc.x, tc.floor, got, tc.want)
		}
	}
}

// TestComponents compares the number of components and the size of the largest with a search from item to
// item, for similarities and for points. Points are connected if they share a feature.
func TestComponents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(1, 8).Draw(t, "rows"), rapid.IntRange(1, 8).Draw(t, "cols")
		items := rapid.SampledFrom([]string{similarity, "rows", "columns"}).Draw(t, "items")
		if items == similarity {
			cols = rows
		}
		m := matrix.NewDense(rows, cols, nil)
		for k := range m.Data() {
			if rapid.IntRange(0, 5).Draw(t, "entry") == 0 {
				m.Data()[k] = 1
			}
		}
		symmetric := items == similarity && rapid.Bool().Draw(t, "symmetric")
		if symmetric {
			m.Symmetrize(matrix.Maximum)
		}
		d := &dataset{table: m, items: items}
		alike := func(i, l int) bool {
			switch items {
			case "rows":
				for j := range cols {
					if m.At(i, j) != 0 && m.At(l, j) != 0 {
						return true
					}
				}
				return false
			case "columns":
				for k := range rows {
					if m.At(k, i) != 0 && m.At(k, l) != 0 {
						return true
					}
				}
				return false
			}
			return m.At(i, l) != 0 || m.At(l, i) != 0
		}
		seen := make([]bool, d.n())
		var visit func(i int) int
		visit = func(i int) int {
			seen[i] = true
			size := 1
			for l := range seen {
				if !seen[l] && alike(i, l) {
					size += visit(l)
				}
			}
			return size
		}
		number, largest := 0, 0
		for i := range seen {
			if !seen[i] {
				number++
				largest = max(largest, visit(i))
			}
		}
		for _, told := range []bool{false, symmetric} {
			if gotNumber, gotLargest := d.components(told); gotNumber != number || gotLargest != largest {
				t.Fatalf("%s of\n%v, symmetric %v: %d components, the largest with %d items, want %d and %d", items, m.Data(), told, gotNumber, gotLargest, number, largest)
			}
		}
	})
}

// TestLooksLikeDistances: distances and squared distances of points look like distances. Kernels of them with
// the diagonal removed, complete graphs, and anything with an entry on the diagonal do not.
func TestLooksLikeDistances(t *testing.T) {
	point := func(i int) (x, y float64) { // two groups
		return math.Mod(float64(i)*0.618, 1) + float64(i%2*6), math.Mod(float64(i)*0.414, 1)
	}
	for _, tc := range []struct {
		name string
		of   func(dist float64) float64
		want bool
	}{
		{"distances", func(d float64) float64 { return d }, true},
		{"squared distances", func(d float64) float64 { return d * d }, true},
		{"Gaussian kernel", func(d float64) float64 { return math.Exp(-d * d) }, false},
		{"inverse distances", func(d float64) float64 { return 1 / (0.1 + d) }, false},
		{"complete graph", func(float64) float64 { return 1 }, false},
	} {
		const n = 40
		m := matrix.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				if i != j {
					xi, yi := point(i)
					xj, yj := point(j)
					m.Set(i, j, tc.of(math.Hypot(xi-xj, yi-yj)))
				}
			}
		}
		d := &dataset{table: m, items: similarity}
		if got := d.looksLikeDistances(); got != tc.want {
			t.Errorf("%s: looks like distances: %v, want the opposite", tc.name, got)
		}
		var list bytes.Buffer
		if err := matio.Write(&list, &matio.Table{Dense: m}, "edges"); err != nil {
			t.Fatal(err)
		}
		sparse, err := matio.Read(&list, "m.edges", matio.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := (&dataset{table: sparse.Sparse, items: similarity}).looksLikeDistances(); got != tc.want {
			t.Errorf("%s, sparse: looks like distances: %v, want the opposite", tc.name, got)
		}
		m.Set(3, 3, 1)
		if d.looksLikeDistances() {
			t.Errorf("%s with a diagonal entry look like distances", tc.name)
		}
	}
}

// TestRoads: distances of which one is longer than the way through others, as by road, look like distances. Where ten
// are, or where the items come in pairs at no distance, each as far from the others as before, they do not.
func TestRoads(t *testing.T) {
	const n = 50
	for _, tc := range []struct {
		name             string
		longer, together int
		want             bool
	}{{"one longer", 1, 0, true}, {"ten longer", 10, 0, false}, {"pairs", 0, n / 2, false}} {
		m := matrix.NewDense(n, n, nil)
		set := func(i, j int, v float64) { m.Set(i, j, v); m.Set(j, i, v) }
		for i := range n {
			for j := range i {
				set(i, j, float64(i-j))
			}
		}
		for k := range tc.longer {
			set(k, k+1, 500)
		}
		for k := range tc.together {
			set(k, n-1-k, 1e-3)
		}
		if got := (&dataset{table: m, items: similarity}).looksLikeDistances(); got != tc.want {
			t.Errorf("%s: looks like distances: %v", tc.name, got)
		}
	}
}

// TestManyGroups: similarities with a zero diagonal that are larger within groups than between them do not
// look like distances, for any number of groups.
func TestManyGroups(t *testing.T) {
	check := func(n, groups int) {
		m := matrix.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				switch {
				case i == j:
				case i*groups/n == j*groups/n:
					m.Set(i, j, 9)
				default:
					m.Set(i, j, 1)
				}
			}
		}
		if d := (&dataset{table: m, items: similarity}); d.looksLikeDistances() {
			t.Errorf("%d groups of %d items look like distances", groups, n)
		}
	}
	for groups := 2; groups <= 60; groups++ {
		check(120, groups)
	}
	for size := 2; size <= 5; size++ {
		check(2000, 2000/size)
	}
}

// TestSymmetryTolerance: an asymmetry of 2⁻¹² passes as rounding in half precision, but not in single or
// double precision.
func TestSymmetryTolerance(t *testing.T) {
	for eps, want := range map[float64]bool{0x1p-11: true, 0x1p-24: false, 0x1p-53: false} {
		m := matrix.NewDense(2, 2, []float64{1, 0.5, 0.5 + 0x1p-12, 1})
		d := &dataset{name: "m", table: m, items: similarity, eps: eps}
		if err := d.prepare(repairs{"no", "reject"}, false); (err == nil) != want {
			t.Errorf("eps %g: %v", eps, err)
		} else if err == nil {
			if _, err := d.operator(1); err != nil {
				t.Errorf("eps %g: %v", eps, err)
			}
		}
	}
}

// TestThin: a dense table becomes sparse if fewer than a tenth of its numbers, or of the entries of A if that
// has fewer, are not 0, and if there is memory for both forms. A table of zeros alone stays dense.
func TestThin(t *testing.T) {
	table := func(rows, cols, nnz int) *matrix.Dense {
		m := matrix.NewDense(rows, cols, nil)
		for k := range nnz {
			m.Data()[(k*7)%(rows*cols)] = float64(k + 1)
		}
		return m
	}
	const room = program + 8*40*100 // the table and nothing besides
	for _, tc := range []struct {
		what  string
		table matrix.Table
		items string
		limit int64
		want  bool
	}{
		{"few entries", table(40, 40, 159), similarity, 0, true},
		{"a tenth", table(40, 40, 160), similarity, 0, false},
		{"nothing", table(40, 40, 0), similarity, 0, false},
		{"points of fewer features", table(100, 40, 399), "rows", 0, true},
		{"a tenth of X", table(100, 40, 400), "rows", 0, false},
		{"points of more features, less than a tenth of A", table(40, 100, 159), "rows", 0, true},
		{"points of more features, as many as a tenth of A", table(40, 100, 160), "rows", 0, false},
		{"points in columns", table(40, 100, 399), "columns", 0, true},
		{"points in columns, fewer than features", table(100, 40, 160), "columns", 0, false},
		{"no room", table(40, 100, 159), "rows", room, false},
		{"room", table(40, 100, 159), "rows", room + 12*159 + 8*41, true},
		{"a sparse table", table(40, 40, 10).CSR(), similarity, 0, false},
	} {
		d := &dataset{table: tc.table, items: tc.items, limit: tc.limit}
		if d.thin(); d.thinned != tc.want {
			t.Errorf("%s: thinned %v, want %v", tc.what, d.thinned, tc.want)
		}
		if s, sparse := d.table.(*matrix.CSR); d.thinned {
			if !sparse || s.String() != tc.table.(*matrix.Dense).CSR().String() {
				t.Errorf("%s: became %v", tc.what, d.table)
			}
		} else if d.table != tc.table {
			t.Errorf("%s: the table was replaced", tc.what)
		}
	}
}

// failsOnce is a writer whose second write fails.
type failsOnce struct{ writes int }

func (w *failsOnce) Write(p []byte) (int, error) {
	if w.writes++; w.writes == 2 {
		return 0, syscall.ENOSPC
	}
	return len(p), nil
}

// TestDataWriter: after an error nothing more is written, since it would follow a gap. Later writes return
// the same error.
func TestDataWriter(t *testing.T) {
	to := new(failsOnce)
	w := &dataWriter{to: to}
	for k := range 4 {
		_, err := fmt.Fprintln(w, k)
		if k == 0 && err != nil || k > 0 && (!errors.Is(err, syscall.ENOSPC) || err != w.err) {
			t.Errorf("write %d: error %v, want none for write 0 and that of the full disk after it", k, err)
		}
	}
	if to.writes != 2 {
		t.Errorf("%d writes, want 2", to.writes)
	}
}

// TestHelpNamesEveryCommand: each command has a short description and an example that names it.
func TestHelpNamesEveryCommand(t *testing.T) {
	root := newRoot(&streams{})
	for _, name := range commandNames(root) {
		cmd, _, err := root.Find([]string{name})
		if err != nil || cmd.Short == "" || !strings.Contains(cmd.Example, "symnmf "+name) {
			t.Errorf("%s: %v, short %q, example %q", name, err, cmd.Short, cmd.Example)
		}
	}
}

// TestRoom: operations that need memory besides a table respect the memory limit: --symmetrize, writing and
// score are refused, and info leaves out ‖A‖ with a warning. Reading a table counts what is already held.
func TestRoom(t *testing.T) {
	const n, nnz = 1000, 200_000
	rowPtr, col := []int64{0}, []int32{}
	for i := range n {
		for j := range nnz / n {
			col = append(col, int32((i+j+1)%n))
		}
		slices.Sort(col[rowPtr[i]:])
		rowPtr = append(rowPtr, int64(len(col)))
	}
	oneWay, err := matrix.NewCSR(n, n, rowPtr, col, nil)
	if err != nil {
		t.Fatal(err)
	}
	asymmetry := oneWay.Asymmetry()
	table := 4*nnz + 8*(n+1)
	need := int64(program + table + 12*(2*nnz+int(asymmetry.Pairs)))
	for _, c := range []struct {
		limit int64
		want  error
	}{{need - 1, errMemory}, {need, nil}, {0, nil}, {program, nil}} {
		d := &dataset{table: oneWay, items: similarity, limit: c.limit}
		if err := d.makeSymmetric("max", 1); !errors.Is(err, c.want) {
			t.Errorf("--symmetrize under %d bytes: %v, want %v", c.limit, err, c.want)
		}
	}
	need = int64(program + table + 4*nnz + 8*(n+1))
	for _, c := range []struct {
		to        string
		symmetric bool
		limit     int64
		want      error
	}{{"edges", false, need - 1, errMemory}, {"edges", false, need, nil}, {"mtx", true, need - 1, errMemory}, {"mtx", false, need - 1, nil}, {"npz", true, need - 1, nil}} {
		d := &dataset{table: oneWay, items: similarity, limit: c.limit}
		if err := d.roomToWrite(&matio.Table{Sparse: oneWay, Symmetric: c.symmetric}, "-", c.to); !errors.Is(err, c.want) {
			t.Errorf("convert to %s, symmetric %v, under %d bytes: %v, want %v", c.to, c.symmetric, c.limit, err, c.want)
		}
	}
	dense := matrix.NewDense(800, 800, nil)
	for k := range dense.Data() {
		dense.Data()[k] = 1
	}
	d := &dataset{table: dense, items: similarity, limit: program + 8*800*800 + 24*800*800 - 1}
	if err := d.roomToWrite(&matio.Table{Dense: dense}, "-", "edges"); !errors.Is(err, errMemory) {
		t.Errorf("convert of a dense table to edges: error %v, want errMemory", err)
	}
	graph, labels := filepath.Join(t.TempDir(), "a.npy"), filepath.Join(t.TempDir(), "labels.txt")
	if err := cmp.Or(matio.Create(graph, &matio.Table{Dense: dense}, matio.Options{}), os.WriteFile(labels, []byte(strings.Repeat("1\n", 800)), 0o666)); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int]int{program + 16*800*800: 5, program + 24*800*800: 0} { // 12 bytes an entry besides 8
		var stderr bytes.Buffer
		if code := run([]string{"symnmf", "score", labels, labels, "--graph", graph, "--memory-limit", fmt.Sprint(limit)}, &streams{out: io.Discard, err: &stderr}); code != want {
			t.Errorf("score under %d bytes: exit code %d, want %d: %s", limit, code, want, &stderr)
		}
	}
	points := matrix.NewDense(600, 500, nil)
	for i := range 500 {
		points.Set(i, i, 0.5)
	}
	for _, c := range []struct {
		limit   int64
		leftOut bool
	}{{program + 8*600*500 + 1000, true}, {program + 16*600*500 + 8*500*500 + 1<<24, false}} {
		d := &dataset{table: points, items: "rows", limit: c.limit}
		f := d.facts()
		if said := len(f.Warnings) == 1 && strings.Contains(f.Warnings[0], "left out"); math.IsNaN(float64(f.NormA)) != c.leftOut || said != c.leftOut {
			t.Errorf("info under %d bytes: ‖A‖ = %v, warnings %q; ‖A‖ must be left out exactly if a warning says so", c.limit, f.NormA, f.Warnings)
		}
	}
	name := filepath.Join(t.TempDir(), "a.npy")
	if err := matio.Create(name, &matio.Table{Dense: points}, matio.Options{}); err != nil {
		t.Fatal(err)
	}
	limit := int64(program + 8*600*500 + 1<<20)
	for held, want := range map[float64]error{0: nil, 1 << 21: matio.ErrTooLarge} {
		if _, err := readTable(&streams{}, name, "", limit, held); !errors.Is(err, want) {
			t.Errorf("read with %v bytes held: error %v, want %v", held, err, want)
		}
	}
}

// TestScoreOfRounded: score averages the two triangles of a graph in float32 that differ in the last place.
// That is more than modularity itself tolerates.
func TestScoreOfRounded(t *testing.T) {
	dir := t.TempDir()
	dense, labels := filepath.Join(dir, "a.npy"), filepath.Join(dir, "labels.txt")
	text := fmt.Sprintf("%-117s\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }")
	file := append([]byte("\x93NUMPY\x01\x00"), byte(len(text)), 0)
	file = append(file, text...)
	for _, v := range []float32{0.5, 1, math.Nextafter32(1, 2), 0.5} {
		file = binary.LittleEndian.AppendUint32(file, math.Float32bits(v))
	}
	if err := cmp.Or(os.WriteFile(dense, file, 0o666), os.WriteFile(labels, []byte("1\n2\n"), 0o666)); err != nil {
		t.Fatal(err)
	}
	score := func(graph string) string {
		var stdout, stderr bytes.Buffer
		if code := run([]string{"symnmf", "score", labels, labels, "--graph", graph}, &streams{out: &stdout, err: &stderr}); code != 0 {
			t.Errorf("%s: exit code %d, %s", graph, code, &stderr)
		}
		return stdout.String()
	}
	if got := score(dense); !strings.Contains(got, "modularity  -0.1667") { // (1 − 3/2)/3
		t.Errorf("score printed %s, want modularity -0.1667", got)
	}
}

// TestHistoryOfCut: row 0 of the history is the start, even if the run has no other row. The last row of a
// run with sweeps holds the figures of the answer, unless the time limit or a signal may have cut its sweep
// short.
func TestHistoryOfCut(t *testing.T) {
	first := symnmf.TracePoint{RelErr: 1, KKT: 0.5}
	for _, sweeps := range []int{0, 1} {
		rows := (&history{}).of(&symnmf.Result{First: first, Sweeps: sweeps, RelErr: 0.25, KKT: 1e-9, Status: symnmf.Converged, Run: 1})
		if rows[0] != first || len(rows) != 1+sweeps || sweeps > 0 && (rows[1].RelErr != 0.25 || rows[1].KKT != 1e-9) {
			t.Errorf("%d sweeps: %+v", sweeps, rows)
		}
	}
	for _, status := range []symnmf.Status{symnmf.TimeLimit, symnmf.Interrupted} {
		h := history{exact: true}
		h.add(symnmf.Progress{Run: 1, Sweep: 1, RelErr: 0.5, KKT: 0.1})
		rows := h.of(&symnmf.Result{First: first, Sweeps: 1, RelErr: 0.25, KKT: 1e-9, Status: status, Run: 1})
		if len(rows) != 2 || rows[1].RelErr != 0.5 || !math.IsNaN(rows[1].KKT) {
			t.Errorf("%v: rows %+v, want the start and sweep 1 as it was reported", status, rows)
		}
	}
}

// TestHoldDir: while one run holds a directory, a second is refused with the reason. Holding leaves no file.
// The probe of another run does not count as content, but an answer does, and it is left unchanged.
func TestHoldDir(t *testing.T) {
	f, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir := f.Name()
	release, err := holdDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "linux" && !errors.Is(system.Lock(f), system.ErrHeld) {
		t.Log("directories cannot be locked here")
	} else if _, err := holdDir(dir); err == nil || exitCode(err) != 2 || !strings.Contains(err.Error(), "another run is about to write there") {
		t.Errorf("a second run holds the directory too, or is refused for another reason: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("the held directory holds files: %v", entries)
	}
	release()
	probe := filepath.Join(dir, ".symnmf-1")
	if err := os.WriteFile(probe, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if release, err = holdDir(dir); err != nil {
		t.Fatalf("after release, with the probe of another run in it: %v", err)
	}
	release()
	if err := os.WriteFile(filepath.Join(dir, "H.npy"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	var probes []string // directories list their files in any order
	for k := range 8 {
		probes = append(probes, filepath.Join(dir, fmt.Sprintf(".symnmf-%d", k+1)))
		if err := os.WriteFile(probes[k], nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := holdDir(dir); err == nil || exitCode(err) != 2 || !strings.Contains(err.Error(), "is not empty: it has H.npy;") {
		t.Errorf("a directory with a file and probes: error %v, want one that says it is not empty and names the file", err)
	}
	for _, probe := range probes {
		if err := os.Remove(probe); err != nil {
			t.Fatal(err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 || entries[0].Name() != "H.npy" {
		t.Errorf("the directory holds %v, want H.npy alone", entries)
	}
	if _, err := holdDir(filepath.Join(dir, "none")); err == nil {
		t.Error("a directory that does not exist was held")
	}
}

// TestWrapped: lines are as long as the text width allows, counted in runes. No word is lost or cut.
func TestWrapped(t *testing.T) {
	long := strings.Repeat("λ", textWidth+1)
	full := strings.Repeat("λ", textWidth-6)
	for _, tc := range []struct{ text, want string }{
		{"", "\n"},
		{"one  two", "  one two\n"},
		{full + " abc d", "  " + full + " abc\n  d\n"},
		{full + " abcd", "  " + full + "\n  abcd\n"},
		{"a " + long + " b", "  a\n  " + long + "\n  b\n"},
	} {
		if got := wrapped(tc.text, "  "); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.want)
		}
	}
}

// TestHarmless: a terminal is not given control characters, of which the name of a file may have some.
func TestHarmless(t *testing.T) {
	const name, want = "a\x1b[31mé\x07\u009b\tb\nc", `a\x1b[31mé\x07\x9b` + "\tb\nc"
	if got := harmless(name); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var text strings.Builder
	s := &streams{err: &text}
	s.warn(name)
	s.finish(errors.New(name))
	if got := text.String(); got != "warning: "+want+"\nsymnmf: "+want+"\n" {
		t.Errorf("printed %q", got)
	}
}

// TestTakeDir: a run that finds a directory held leaves what was made for it, and whoever made it removes it if it stays
// empty, while it still holds it.
func TestTakeDir(t *testing.T) {
	outer := filepath.Join(t.TempDir(), "outer")
	dir := filepath.Join(outer, "inner")
	leave, err := takeDir(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := takeDir(dir, false); err == nil {
		again()
		t.Log("directories cannot be locked here")
	} else if exitCode(err) != 2 || !strings.Contains(err.Error(), "another run is about to write there") {
		t.Errorf("a second run: %v", err)
	} else if _, err := os.Stat(dir); err != nil {
		t.Errorf("the second run has removed the directory of the first: %v", err)
	}
	if leave(); len(unfinished.made) != 0 {
		t.Errorf("still unfinished: %v", unfinished.made)
	}
	if _, err := os.Stat(outer); !os.IsNotExist(err) {
		t.Errorf("empty directories are left: %v", err)
	}
	if _, err := holdDir(dir); err != errMoved {
		t.Errorf("a directory that has been removed: %v", err)
	}
	leave, err = takeDir(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "H.npy"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	leave()
	if _, err := takeDir(dir, false); err == nil || !strings.Contains(err.Error(), "is not empty: it has H.npy") {
		t.Errorf("a directory with an answer: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "H.npy")); err != nil {
		t.Error(err)
	}
}
