package symnmf

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"strconv"
	"testing"
)

// rootRow is one line of the golden roots.
type rootRow struct {
	kind       string
	a, b       float64
	exact      *big.Float // the root for exactly these a and b, to 25 digits
	x64, other float64
	tie        bool
}

// readRoots reads testdata/golden/bestroot.json, whose lines are [kind, a, b, x, x rounded to double, tie,
// other].
func readRoots(t testing.TB) []rootRow {
	data, err := os.ReadFile("testdata/golden/bestroot.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Rows [][]any }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	num := func(v any) float64 {
		switch v := v.(type) {
		case string:
			f, err := strconv.ParseFloat(v, 64)
			if err != nil {
				t.Fatal(err)
			}
			return f
		case float64:
			return v
		}
		t.Fatalf("bestroot.json holds %T", v)
		return 0
	}
	var rows []rootRow
	for _, r := range file.Rows {
		exact, _, err := big.ParseFloat(r[3].(string), 10, 120, big.ToNearestEven)
		if err != nil {
			t.Fatal(err)
		}
		row := rootRow{kind: r[0].(string), a: num(r[1]), b: num(r[2]), exact: exact, x64: num(r[4]), tie: num(r[5]) == 1}
		if row.tie {
			row.other = num(r[6])
		}
		rows = append(rows, row)
	}
	if len(rows) < 3000 {
		t.Fatalf("bestroot.json has %d rows, want at least 3000", len(rows))
	}
	return rows
}

// ulps returns |x − exact| in units in the last place of want, the double nearest to exact.
func ulps(x float64, exact *big.Float, want float64) float64 {
	d := new(big.Float).SetPrec(200).Sub(new(big.Float).SetPrec(200).SetFloat64(x), exact)
	unit := math.Nextafter(math.Abs(want), math.Inf(1)) - math.Abs(want)
	u, _ := new(big.Float).Quo(d.Abs(d), new(big.Float).SetFloat64(unit)).Float64()
	return u
}

// TestBestRootAccuracy: bestRoot is within 4 ulp of the exact root. If both minimizers tie, either may be
// returned.
func TestBestRootAccuracy(t *testing.T) {
	const allowed = 4 // ulp
	worst := map[string]float64{}
	for _, row := range readRoots(t) {
		x := bestRoot(row.a, row.b)
		if math.IsNaN(x) {
			t.Fatalf("%s: bestRoot(%v, %v) = NaN", row.kind, row.a, row.b)
		}
		if row.x64 == 0 && x == 0 {
			continue
		}
		e := ulps(x, row.exact, row.x64)
		if row.tie && !(e <= allowed) {
			e = ulps(x, new(big.Float).SetFloat64(row.other), row.other)
		}
		worst[row.kind] = max(worst[row.kind], e)
		if !(e <= allowed) {
			t.Errorf("%s: bestRoot(%v, %v) = %v, want %v (%.3g ulp)", row.kind, row.a, row.b, x, row.x64, e)
		}
	}
	t.Logf("worst error in ulp by kind: %v", worst)
}
