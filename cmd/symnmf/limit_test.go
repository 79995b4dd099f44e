package main

import (
	"runtime/debug"
	"testing"

	"symnmf/internal/rules"
)

// TestSpend: a run that needs little memory lets so much garbage lie that both fill rules.GarbageFills. One that
// needs more collects it as early as reading does. Both heed the predicted memory, and leave everything as it was.
func TestSpend(t *testing.T) {
	percent := func() int {
		p := debug.SetGCPercent(-1)
		debug.SetGCPercent(p)
		return p
	}
	before, limit := percent(), debug.SetMemoryLimit(-1)
	for _, c := range []struct {
		predicted float64
		want      int
	}{
		{rules.GarbageFills / 4, 300}, {rules.GarbageFills / 2, 100},
		{rules.GarbageFills, leanPercent}, {1e3 * rules.GarbageFills, leanPercent},
	} {
		restore := spend(c.predicted)
		if got := percent(); got != c.want {
			t.Errorf("%s predicted: garbage of %d %% lies, want %d %%", showBytes(c.predicted), got, c.want)
		}
		if got := debug.SetMemoryLimit(-1); !(float64(got) <= c.predicted) {
			t.Errorf("%s predicted: the limit is %s", showBytes(c.predicted), showBytes(float64(got)))
		}
		restore()
		if percent() != before || debug.SetMemoryLimit(-1) != limit {
			t.Fatalf("afterwards garbage of %d %% lies and the limit is %d, want %d %% and %d", percent(), debug.SetMemoryLimit(-1), before, limit)
		}
	}
}
