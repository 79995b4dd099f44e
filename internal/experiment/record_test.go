package experiment

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"symnmf"
)

// header returns the header of a plan's records, as Run writes it.
func header(p *Plan) Header {
	return Header{Format: formatName, PlanName: p.Name, PlanHash: p.hash(), Plan: p.String(), Version: "v1", Machine: "m", Created: "now"}
}

func tinyPlan(t *testing.T) *Plan {
	t.Helper()
	return mustParse(t, "plan tiny\nexperiment e\ndata demo:karate\nrank 2\nsweeps 3\nseeds 0-2\nmethod cd-cyclic start=random\n")
}

// mustOpen opens the records for writing.
func mustOpen(t *testing.T, dir string, p *Plan) *Log {
	t.Helper()
	l, err := openLog(dir, header(p), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func record(k int) *Record {
	return &Record{Key: fmt.Sprintf("e/demo:karate/r=2/cd-cyclic-rand/seed=%d", k), Experiment: "e", Task: TaskFit, RelErr: Number(float64(k) / 7),
		KKT: Number(math.NaN()), Notes: []string{"naïve <note>\n"}, Trace: &Trace{Sweep: []int{0, 1}, Seconds: []float64{0, 0.5}, RelErr: []Number{1, 0.25}, KKT: []Number{0, 0.125}}}
}

// TestNotesOfResult: a record has the notes of a result, and after them how long its parts took.
func TestNotesOfResult(t *testing.T) {
	var r Record
	r.take(&symnmf.Result{Notes: []string{"a", "b"}, Times: []string{"the first stage took 1s"}})
	if want := []string{"a", "b", "the first stage took 1s"}; !slices.Equal(r.Notes, want) {
		t.Errorf("notes %q, want %q", r.Notes, want)
	}
}

// TestLineChecksum: a change is noticed, whichever byte of a line it is in.
func TestLineChecksum(t *testing.T) {
	line, err := encodeLine(record(1))
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(line) || bytes.IndexByte(line, '\n') != len(line)-1 {
		t.Fatalf("%s", line)
	}
	line = line[:len(line)-1]
	var back Record
	if err := decodeLine(line, &back); err != nil {
		t.Fatal(err)
	}
	if again, err := encodeLine(&back); err != nil || !bytes.Equal(again, append(bytes.Clone(line), '\n')) {
		t.Errorf("it reads back as\n%s, %v, want\n%s", again, err, line)
	}
	for k := range line {
		bad := bytes.Clone(line)
		bad[k] ^= 1
		if decodeLine(bad, &back) == nil {
			t.Errorf("byte %d of %d may be %q in place of %q", k, len(line), bad[k], line[k])
		}
	}
}

// TestTornLine: if the file is cut off anywhere, as by a process that is killed, all whole lines are kept,
// and writing goes on after them. Reading does not change the file.
func TestTornLine(t *testing.T) {
	p, whole := tinyPlan(t), t.TempDir()
	l := mustOpen(t, whole, p)
	var ends []int // of the lines
	text := func(dir string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, RecordsFile))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	ends = append(ends, len(text(whole)))
	for k := range 3 {
		if err := l.append(record(k)); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, len(text(whole)))
	}
	l.Close()
	want := text(whole)
	dir := t.TempDir()
	name := filepath.Join(dir, RecordsFile)
	for cut := range len(want) + 1 {
		near := func(end int) bool { return cut-end <= 2 && end-cut <= 2 }
		if cut%23 != 0 && !slices.ContainsFunc(ends, near) {
			continue // every append waits for the disk
		}
		if err := os.WriteFile(name, want[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		lines := 0 // whole ones
		for _, end := range ends {
			if cut >= end {
				lines++
			}
		}
		rs, err := Read(dir)
		if lines == 0 {
			if !errors.Is(err, ErrRecords) {
				t.Fatalf("%d bytes: %v", cut, err)
			}
		} else if err != nil || len(rs.List) != lines-1 || rs.Dropped != cut-ends[lines-1] {
			t.Fatalf("%d bytes: %+v, %v, want %d records", cut, rs, err, lines-1)
		}
		if b := text(dir); len(b) != cut {
			t.Fatalf("reading turns %d bytes into %d", cut, len(b))
		}
		l, err := openLog(dir, header(p), false)
		if err != nil || len(l.List) != max(lines-1, 0) {
			t.Fatalf("%d bytes: %v", cut, err)
		}
		for k := len(l.List); k < 3; k++ {
			if err := l.append(record(k)); err != nil {
				t.Fatal(err)
			}
		}
		l.Close()
		if got := text(dir); !bytes.Equal(got, want) {
			t.Fatalf("%d bytes become\n%s\nwant\n%s", cut, got, want)
		}
	}
}

// TestBadRecords: damage that a killed process cannot cause is an error that names the line, and the file
// stays as it is.
func TestBadRecords(t *testing.T) {
	p, dir := tinyPlan(t), t.TempDir()
	l := mustOpen(t, dir, p)
	for k := range 3 {
		if err := l.append(record(k)); err != nil {
			t.Fatal(err)
		}
	}
	l.Close()
	name := filepath.Join(dir, RecordsFile)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))[:4]
	join := func(lines ...[]byte) []byte { return bytes.Join(lines, nil) }
	damaged := bytes.Clone(lines[1])
	damaged[20] ^= 1
	next := bytes.Replace(lines[0], []byte(formatName), []byte("symnmf-bench-2"), 1)
	var h Header
	if err := json.Unmarshal(next, &h); err != nil {
		t.Fatal(err)
	}
	if next, err = encodeLine(h); err != nil {
		t.Fatal(err)
	}
	h.Format, h.Plan = formatName, "plan tiny\n"
	planless, err := encodeLine(h)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		text []byte
		want string
	}{
		{join(lines[0], damaged, lines[2]), "records.jsonl:2: its checksum does not match; delete the line"},
		{join(bytes.Replace(lines[0], []byte(`"v1"`), []byte(`"v7"`), 1), lines[1]), "records.jsonl:1: its checksum does not match; this line holds the plan: take it from a copy, or give another directory"},
		{join(lines[0], []byte("x\n"), lines[2]), "records.jsonl:2: it has no checksum at its end; delete the line"},
		{join(lines[0], lines[1], lines[2], lines[1]), "records.jsonl:4: e/demo:karate/r=2/cd-cyclic-rand/seed=0 is also in line 2; delete one of the two"},
		{join([]byte("my own file"), lines[1]), "records.jsonl is not a file of records"},
		{[]byte("my own file"), "records.jsonl is not a file of records"},
		{lines[1], "records.jsonl is not a file of records"},
		{join(next, lines[1]), `has the format "symnmf-bench-2", but this program reads symnmf-bench-1; use the program that wrote it, v1`},
		{join(planless, lines[1]), "the plan in its first line: experiment: bad plan: plan_text:1: it has no experiment"},
	} {
		if err := os.WriteFile(name, tc.text, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, open := range []func() error{
			func() error { _, err := Read(dir); return err },
			func() error { _, err := openLog(dir, header(p), false); return err },
		} {
			if err := open(); !errors.Is(err, ErrRecords) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %s", err, tc.want)
			}
		}
		if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, tc.text) {
			t.Errorf("%s: the file has changed: %v", tc.want, err)
		}
	}
	// A damaged last line is dropped all the same: a system that crashes may keep the end of a line and lose
	// its middle.
	if err := os.WriteFile(name, join(lines[0], lines[2], damaged), 0o666); err != nil {
		t.Fatal(err)
	}
	if rs, err := Read(dir); err != nil || len(rs.List) != 1 || rs.Dropped != len(damaged) {
		t.Errorf("%+v, %v", rs, err)
	}
	if _, err := Read(filepath.Join(dir, "nowhere")); !errors.Is(err, ErrRecords) || !strings.Contains(err.Error(), "'symnmf bench run' makes it") {
		t.Errorf("%v", err)
	}
}

// TestOtherRecords: records of another plan are never mixed in, and those of another version or machine only
// on request.
func TestOtherRecords(t *testing.T) {
	p, dir := tinyPlan(t), t.TempDir()
	mustOpen(t, dir, p).Close()
	other := mustParse(t, strings.Replace(p.String(), "rank 2", "rank 3", 1))
	version, machine := header(p), header(p)
	version.Version, machine.Machine = "v2", "n"
	for _, tc := range []struct {
		h     Header
		mixed bool
		want  string
	}{
		{header(other), true, `is of the plan tiny (` + p.hash() + `), but this is the plan tiny (` + other.hash() + `): "rank 2" there, "rank 3" here; give another directory`},
		{version, false, "was begun by version v1, but this is v2, so times are not comparable; give another directory, or --mixed"},
		{machine, false, "was begun by the machine m, but this is n, so"},
		{version, true, ""},
		{machine, true, ""},
		{header(p), false, ""},
	} {
		l, err := openLog(dir, tc.h, tc.mixed)
		if tc.want == "" {
			if err != nil {
				t.Errorf("%+v: %v", tc, err)
				continue
			}
			l.Close()
		} else if !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want %s", err, tc.want)
		}
	}
}

// TestLock: there is one writer at a time, and any number of readers.
func TestLock(t *testing.T) {
	p, dir := tinyPlan(t), t.TempDir()
	l := mustOpen(t, dir, p)
	if _, err := openLog(dir, header(p), false); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "another process writes to") {
		t.Errorf("a second writer: %v", err)
	}
	if _, err := Read(dir); err != nil {
		t.Errorf("a reader: %v", err)
	}
	l.Close()
	mustOpen(t, dir, p).Close()
}

// TestWriteFails: a record that cannot be written is not counted, and can be written later.
func TestWriteFails(t *testing.T) {
	p, dir := tinyPlan(t), t.TempDir()
	l := mustOpen(t, dir, p)
	if err := l.append(record(0)); err != nil {
		t.Fatal(err)
	}
	readOnly, err := os.Open(l.name)
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	good := l.file
	l.file = readOnly
	if err := l.append(record(1)); err == nil || len(l.List) != 1 {
		t.Errorf("%v, %d records", err, len(l.List))
	}
	l.file = good
	if err := l.append(record(1)); err != nil {
		t.Fatal(err)
	}
	if rs, err := Read(dir); err != nil || len(rs.List) != 2 || rs.Dropped != 0 {
		t.Errorf("%+v, %v", rs, err)
	}
	if _, err := openLog(l.name, header(p), false); err == nil {
		t.Error("a file is taken for a directory")
	}
	if err := syncDir(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a directory that is not there is synced")
	}
}

// TestThinly: a trace has the first fifty sweeps, and then so many per factor of e that times are late by at
// most 2 %. Its figures are rounded to so many digits.
func TestThinly(t *testing.T) {
	var list []int
	at := thinly()
	for sweep := range 50_001 {
		if at(sweep) {
			list = append(list, sweep)
		}
	}
	if list[50] != 50 || list[0] != 0 {
		t.Fatalf("%v", list[:52])
	}
	for k := 51; k < len(list); k++ {
		if ratio := float64(list[k]) / float64(list[k-1]); ratio > 1.02+1/float64(list[k-1]) {
			t.Errorf("%d follows %d", list[k], list[k-1])
		}
	}
	if n := len(list); n < 370 || n > 400 { // 51 + ln 1000/ln 1.02 = 400 at most
		t.Errorf("%d sweeps of 50000 are kept", n)
	}
	// Only the sweeps it is asked about count. Where every third one has a figure, it does not wait for one
	// that has none.
	at, list = thinly(), nil
	for sweep := 3; sweep <= 3000; sweep += 3 {
		if at(sweep) {
			list = append(list, sweep)
		}
	}
	for k := 1; k < len(list); k++ {
		if float64(list[k]) > 1.02*float64(list[k-1])+3 {
			t.Errorf("%d follows %d", list[k], list[k-1])
		}
	}
	for _, tc := range []struct {
		x      float64
		digits int
		want   Number
	}{{1.0 / 3, 10, 0.3333333333}, {123456, 4, 123500}, {2e-300 / 3, 4, 6.667e-301}, {0, 4, 0}} {
		if got := rounded(tc.x, tc.digits); got != tc.want {
			t.Errorf("%v to %d digits is %v, want %v", tc.x, tc.digits, got, tc.want)
		}
	}
}

// TestArchive: compressed records are read as before, and cannot be added to.
func TestArchive(t *testing.T) {
	p, dir := tinyPlan(t), t.TempDir()
	l := mustOpen(t, dir, p)
	if err := l.append(record(0)); err != nil {
		t.Fatal(err)
	}
	l.Close()
	text, err := os.ReadFile(l.name)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(text)
	z.Close()
	if err := os.WriteFile(l.name+".gz", b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(l.name); err != nil {
		t.Fatal(err)
	}
	if rs, err := Read(dir); err != nil || len(rs.List) != 1 {
		t.Errorf("%+v, %v", rs, err)
	}
	if _, err := openLog(dir, header(p), false); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), "has an archive") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(l.name+".gz", []byte("junk"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); !errors.Is(err, ErrRecords) {
		t.Errorf("%v", err)
	}
}
