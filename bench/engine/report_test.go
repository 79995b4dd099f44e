package main

import (
	"runtime/debug"
	"strings"
	"testing"
)

// TestRevision: a build says so if its files were not those of the revision.
func TestRevision(t *testing.T) {
	at := debug.BuildSetting{Key: "vcs.revision", Value: "abc"}
	for _, tc := range []struct {
		settings []debug.BuildSetting
		want     string
	}{
		{nil, ""},
		{[]debug.BuildSetting{{Key: "vcs.modified", Value: "true"}}, ""},
		{[]debug.BuildSetting{at}, "abc"},
		{[]debug.BuildSetting{at, {Key: "vcs.modified", Value: "false"}}, "abc"},
		{[]debug.BuildSetting{{Key: "vcs.modified", Value: "true"}, at}, "abc-dirty"},
	} {
		if got := revision(tc.settings); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.settings, got, tc.want)
		}
	}
}

// TestJournalFails: a run that cannot be written is an error of the whole, the first one if there are several.
func TestJournalFails(t *testing.T) {
	j, err := newJournal(&config{json: t.TempDir() + "/runs"})
	if err != nil {
		t.Fatal(err)
	}
	j.add(timing{Row: "a"})
	if j.failed != nil {
		t.Fatal(j.failed)
	}
	j.close()
	j.add(timing{Row: "b"})
	first := j.failed
	if j.add(func() {}); first == nil || j.failed != first || !strings.HasPrefix(first.Error(), "-json: ") {
		t.Errorf("%v, then %v, want the error of a closed file", first, j.failed)
	}
}
