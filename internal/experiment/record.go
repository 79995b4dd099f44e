package experiment

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"symnmf/internal/system"
)

// Errors about the directory of the records. Each comes wrapped with the place and what to do.
var (
	ErrRecords = errors.New("experiment: bad records")
	ErrOther   = errors.New("experiment: other records")
	ErrLocked  = errors.New("experiment: in use")
)

// RecordsFile is the name of the file of records in its directory.
const RecordsFile = "records.jsonl"

// formatName is the format of the file, written in its first line. The number changes when older programs cannot read
// the file.
const formatName = "symnmf-bench-1"

// Header is the first line of the file.
type Header struct {
	Format   string `json:"format"`
	PlanName string `json:"plan"`
	PlanHash string `json:"plan_hash"`
	Plan     string `json:"plan_text"`
	Version  string `json:"version"`
	Machine  string `json:"machine"`
	Created  string `json:"created"`
}

// Record is one run that has ended.
type Record struct {
	Key        string            `json:"key"`
	Experiment string            `json:"experiment"`
	Task       string            `json:"task"`
	Set        string            `json:"set"`      // with its options
	Instance   uint64            `json:"instance"` // of a synthetic set
	SHA256     string            `json:"input_sha256,omitempty"`
	N          int               `json:"n"`
	Stored     int64             `json:"stored"` // numbers that a product with A reads
	Rank       int               `json:"rank"`
	Label      string            `json:"label"`
	Method     string            `json:"method,omitempty"`
	Knobs      map[string]string `json:"knobs,omitempty"`
	Start      string            `json:"start,omitempty"`
	Seed       uint64            `json:"seed"`
	Repeat     int               `json:"repeat"`
	Threads    int               `json:"threads"`
	MaxSweeps  int               `json:"max_sweeps,omitempty"`
	TimeLimit  float64           `json:"time_limit_seconds,omitempty"`

	Status      string   `json:"status"` // as in run.json, or refused or failed
	Error       string   `json:"error,omitempty"`
	Sweeps      int      `json:"sweeps"`
	Seconds     float64  `json:"seconds"`      // by the solver's clock, or for the eigenpairs
	WallSeconds float64  `json:"wall_seconds"` // of the whole run
	RelErr      Number   `json:"relative_error"`
	ErrFloor    Number   `json:"error_floor"`
	KKT         Number   `json:"kkt_residual"`
	Objective   Number   `json:"objective"`
	NormA       Number   `json:"norm_a"`
	LowerBound  Number   `json:"lower_bound"`
	ZeroColumns int      `json:"zero_columns"`
	ZeroRows    int      `json:"zero_rows"`
	Notes       []string `json:"notes,omitempty"`

	Trace    *Trace        `json:"trace,omitempty"`
	Pictures []byte        `json:"pictures,omitempty"` // r pictures by rows; 255 is the largest entry of the column
	Eigen    *EigenOutcome `json:"eigen,omitempty"`

	Version string `json:"version"`
	Machine string `json:"machine"`
	Ended   string `json:"ended"`
}

// The statuses besides those of symnmf.Status.
const (
	Refused = "refused" // the method does not accept the matrix or the start
	Failed  = "failed"
)

// Trace holds parallel sequences, with one element for each sweep kept.
type Trace struct {
	Sweep   []int     `json:"sweep"`
	Seconds []float64 `json:"seconds"`
	RelErr  []Number  `json:"relative_error"`
	KKT     []Number  `json:"kkt_residual"`
}

// EigenOutcome describes the eigenpairs of a run.
type EigenOutcome struct {
	Products int       `json:"products"`
	Residual float64   `json:"largest_residual"` // over ‖A‖₂
	Values   []float64 `json:"values"`
}

// Number is a float64 that is null in JSON when it is not finite.
type Number float64

// MarshalJSON implements json.Marshaler.
func (x Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// UnmarshalJSON implements json.Unmarshaler.
func (x *Number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*x = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(x))
}

// Every line ends in the CRC-32C of the line without it.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const sumField = `,"crc32c":"`

// encodeLine returns v as a line with its checksum.
func encodeLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	sum := crc32.Checksum(text, castagnoli)
	return fmt.Appendf(text[:len(text)-1], `%s%08x"}`+"\n", sumField, sum), nil
}

// decodeLine checks a line, without its newline, and reads it.
func decodeLine(line []byte, v any) error {
	const tail = len(sumField) + len(`01234567"}`)
	at := len(line) - tail
	if at < 1 || !bytes.HasPrefix(line[at:], []byte(sumField)) {
		return errors.New("it has no checksum at its end")
	}
	text := append(bytes.Clone(line[:at]), '}')
	if want := fmt.Sprintf(`%08x"}`, crc32.Checksum(text, castagnoli)); want != string(line[at+len(sumField):]) {
		return errors.New("its checksum does not match")
	}
	return json.Unmarshal(text, v)
}

// Records is a file of records in memory.
type Records struct {
	Header  Header
	Plan    *Plan
	List    []Record
	Dropped int // bytes of a last line that was not whole

	size int64 // bytes of the whole lines
}

// Read reads the records of a directory and changes nothing. It reads records.jsonl or, once they are archived,
// records.jsonl.gz. An incomplete last line, left by a writer that is at work or was killed, is left out.
func Read(dir string) (*Records, error) {
	name := filepath.Join(dir, RecordsFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = unzip(name + ".gz")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no %s; 'symnmf bench run' makes it", ErrRecords, name)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecords, err)
	}
	rs, err := parseRecords(name, text)
	if err == nil && rs.size == 0 {
		return nil, fmt.Errorf("%w: %s has no records yet", ErrRecords, name)
	}
	return rs, err
}

func unzip(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// firstField is how the first line begins.
const firstField = `{"format":`

// parseRecords reads the text of a file. A size of 0 means that not even the header is whole.
func parseRecords(name string, text []byte) (*Records, error) {
	rs := &Records{}
	keys := map[string]int{}
	for number := 1; len(text) > int(rs.size); number++ {
		line, rest, whole := bytes.Cut(text[rs.size:], []byte("\n"))
		last := !whole || len(rest) == 0
		var err error
		var rec Record
		switch {
		case !whole:
			err = io.ErrUnexpectedEOF
		case number == 1:
			err = decodeLine(line, &rs.Header)
		default:
			err = decodeLine(line, &rec)
		}
		if number == 1 && !strings.HasPrefix(firstField, string(line[:min(len(line), len(firstField))])) {
			return nil, fmt.Errorf("%w: %s is not a file of records; give another directory", ErrRecords, name)
		}
		if err != nil && last {
			rs.Dropped = len(text) - int(rs.size)
			break
		}
		if err != nil && number == 1 {
			return nil, fmt.Errorf("%w: %s:1: %w; this line holds the plan: take it from a copy, or give another directory", ErrRecords, name, err)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s:%d: %w; delete the line and its run will be made again", ErrRecords, name, number, err)
		}
		rs.size += int64(len(line)) + 1
		if number == 1 {
			if err := rs.readHeader(name); err != nil {
				return nil, err
			}
			continue
		}
		if first, twice := keys[rec.Key]; twice {
			return nil, fmt.Errorf("%w: %s:%d: %s is also in line %d; delete one of the two", ErrRecords, name, number, rec.Key, first)
		}
		keys[rec.Key] = number
		rs.List = append(rs.List, rec)
	}
	return rs, nil
}

func (rs *Records) readHeader(name string) error {
	h := &rs.Header
	if h.Format != formatName {
		return fmt.Errorf("%w: %s has the format %q, but this program reads %s; use the program that wrote it, %s", ErrRecords, name, h.Format, formatName, h.Version)
	}
	plan, err := parseWritten(h.Plan)
	if err != nil {
		return fmt.Errorf("%w: %s: the plan in its first line: %w", ErrRecords, name, err)
	}
	rs.Plan = plan
	return nil
}

// Log is a file of records open for appending, with a lock on it.
type Log struct {
	*Records
	name string
	file *os.File
}

// openLog opens the records of a directory, or begins them, and keeps other writers away until Close. Existing records
// must be of the same plan and, unless mixed is set, of the same version and machine.
func openLog(dir string, h Header, mixed bool) (*Log, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("cannot make the directory %s: %w", dir, err)
	}
	name := filepath.Join(dir, RecordsFile)
	if _, err := os.Stat(name + ".gz"); err == nil {
		return nil, fmt.Errorf("%w: %s has an archive, %s.gz, to which nothing is added; give another directory", ErrOther, dir, RecordsFile)
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, fmt.Errorf("cannot write the records: %w", err)
	}
	l := &Log{name: name, file: f}
	if err := l.open(h, mixed); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

func (l *Log) open(h Header, mixed bool) error {
	if err := system.Lock(l.file); err != nil {
		return fmt.Errorf("%w: another process writes to %s (%v); wait for it or give another directory", ErrLocked, l.name, err)
	}
	text, err := io.ReadAll(l.file)
	if err != nil {
		return err
	}
	if l.Records, err = parseRecords(l.name, text); err != nil {
		return err
	}
	if l.size > 0 {
		if err := l.Header.same(h, l.name, mixed); err != nil {
			return err
		}
	}
	if int64(len(text)) > l.size {
		if err := l.file.Truncate(l.size); err != nil {
			return err
		}
	}
	if l.size > 0 {
		return nil
	}
	l.Header = h
	if err := l.Records.readHeader(l.name); err != nil {
		return err
	}
	if err := l.write(h); err != nil {
		return err
	}
	return syncDir(filepath.Dir(l.name))
}

// same returns an error if records under h must not be added to records under old.
func (old Header) same(h Header, name string, mixed bool) error {
	if old.PlanHash != h.PlanHash {
		return fmt.Errorf("%w: %s is of the plan %s (%s), but this is the plan %s (%s)%s; give another directory", ErrOther, name,
			old.PlanName, old.PlanHash, h.PlanName, h.PlanHash, firstDifference(old.Plan, h.Plan))
	}
	var differ []string
	if old.Version != h.Version {
		differ = append(differ, fmt.Sprintf("version %s, but this is %s", old.Version, h.Version))
	}
	if old.Machine != h.Machine {
		differ = append(differ, fmt.Sprintf("the machine %s, but this is %s", old.Machine, h.Machine))
	}
	if len(differ) > 0 && !mixed {
		return fmt.Errorf("%w: %s was begun by %s, so times are not comparable; give another directory, or --mixed to continue anyway", ErrOther, name,
			strings.Join(differ, "; and on "))
	}
	return nil
}

// firstDifference shows the first line in which two plans differ.
func firstDifference(old, now string) string {
	a, b := strings.Split(old, "\n"), strings.Split(now, "\n")
	for k := range max(len(a), len(b)) {
		var x, y string
		if k < len(a) {
			x = a[k]
		}
		if k < len(b) {
			y = b[k]
		}
		if x != y {
			return fmt.Sprintf(": %q there, %q here", x, y)
		}
	}
	return ""
}

// append adds a record. It returns when the record is on disk.
func (l *Log) append(rec *Record) error {
	if err := l.write(rec); err != nil {
		return err
	}
	l.List = append(l.List, *rec)
	return nil
}

// write adds a line: all of it or, on an error, nothing. Only the end of the process can leave a part of the line.
func (l *Log) write(v any) error {
	line, err := encodeLine(v)
	if err != nil {
		return err
	}
	_, err = l.file.Write(line)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		l.file.Truncate(l.size) // removes the part that a full disk has taken
		return err
	}
	l.size += int64(len(line))
	return nil
}

// Close closes the file and releases the lock.
func (l *Log) Close() error { return l.file.Close() }

// syncDir writes a directory to disk, so that the name of a new file survives a crash.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	d.Sync() // not all systems can; then there is nothing to do
	return nil
}

// A trace has every sweep up to keptWhole, then those that are at least keptFactor times the one kept before. Its
// errors and KKT residuals have errorDigits and kktDigits significant digits. A run of 30 000 sweeps then takes 15 kB.
const (
	keptWhole   = 50
	keptFactor  = 1.02
	errorDigits = 10
	kktDigits   = 4
)

// thinly returns a function that reports whether the trace has a sweep. It must be asked about sweeps in ascending
// order.
func thinly() func(sweep int) bool {
	next := 0.0
	return func(sweep int) bool {
		at := float64(sweep)
		if at < next {
			return false
		}
		if at >= keptWhole {
			next = at * keptFactor
		}
		return true
	}
}

// rounded returns x rounded to that many significant digits.
func rounded(x float64, digits int) Number {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	return Number(x)
}
