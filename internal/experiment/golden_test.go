package experiment

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMakeGolden rewrites testdata/records.jsonl under -update. It runs testdata/golden.plan and puts round
// numbers in place of the times.
func TestMakeGolden(t *testing.T) {
	if !*update {
		t.Skip("only under -update")
	}
	text, err := os.ReadFile("testdata/golden.plan")
	if err != nil {
		t.Fatal(err)
	}
	_, rs := mustRun(t, string(text), Options{Dir: t.TempDir(), Version: "golden"})
	rs.Header.Machine, rs.Header.Created = "any", "2026-01-01T00:00:00Z"
	file, err := encodeLine(rs.Header)
	if err != nil {
		t.Fatal(err)
	}
	for k := range rs.List {
		r := &rs.List[k]
		r.Machine, r.Ended = "any", rs.Header.Created
		r.Seconds, r.WallSeconds = float64(k%3+1), float64(k%3+2)
		if r.Trace != nil {
			r.Seconds = 0
			for p, sweep := range r.Trace.Sweep {
				r.Trace.Seconds[p] = float64(sweep) * float64(k%4+1) / 8
				r.Seconds = max(r.Seconds, r.Trace.Seconds[p])
			}
		}
		line, err := encodeLine(r)
		if err != nil {
			t.Fatal(err)
		}
		file = append(file, line...)
	}
	if err := os.WriteFile(filepath.Join("testdata", RecordsFile), file, 0o666); err != nil {
		t.Fatal(err)
	}
}
