package matio

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"symnmf/matrix"
)

// TestCSV checks what CSV and TSV files are read as, above all which first row and column are names, and
// which errors and warnings they give.
func TestCSV(t *testing.T) {
	runReadCases(t, "t.csv", []readCase{
		{name: "numbers", text: "1,2.5,-3\n4,5e-1,.5\n", want: "dense 2×3 [1 2.5 -3] [4 0.5 0.5]"},
		{name: "blanks around", text: " 1 , 2\n3\t,4 \n", want: "dense 2×2 [1 2] [3 4]"},
		{name: "one cell", text: "7", want: "dense 1×1 [7]"},
		{name: "one row", text: "1,2,3\n", want: "dense 1×3 [1 2 3]"},
		{name: "one column", text: "1\n2\n", want: "dense 2×1 [1] [2]"},
		{name: "specials", text: "nan,INF\n-inf,-nan\n", want: "dense 2×2 [NaN +Inf] [-Inf NaN]"},
		{name: "header", text: "a,b\n1,2\n3,4\n", want: `dense 2×2 [1 2] [3 4] columns ["a" "b"]`},
		{name: "header of one column", text: "a\n1\n2\n", want: `dense 2×1 [1] [2] columns ["a"]`},
		{name: "row names", text: "x,1,2\ny,3,4\n", want: `dense 2×2 [1 2] [3 4] rows ["x" "y"]`},
		{name: "row names, one row", text: "x,1,2\n", want: `dense 1×2 [1 2] rows ["x"]`},
		{name: "both, empty corner", text: ",a,b\nx,1,2\ny,3,4\n", want: `dense 2×2 [1 2] [3 4] rows ["x" "y"] columns ["a" "b"]`},
		{name: "both, named corner", text: "id,a,b\nx,1,2\ny,3,4\n", want: `dense 2×2 [1 2] [3 4] rows ["x" "y"] columns ["a" "b"]`},
		{name: "numbered rows under a named corner are data", text: "id,a\n0,1\n1,2\n", want: `dense 2×2 [0 1] [1 2] columns ["id" "a"]`},
		{name: "numbers among names under a corner that says so", text: "ID,a\nx,1\n2,3\n", want: `dense 2×1 [1] [3] rows ["x" "2"] columns ["a"]`},
		{name: "numbers among names under another", text: "b,a\nx,1\n2,3\n", wrong: []string{"t.csv:3: ", `the number "2" here, but names above`}},
		{name: "pandas with names", text: ",a,b\n0,1,2\n1,3,4\n", want: `dense 2×2 [1 2] [3 4] rows ["0" "1"] columns ["a" "b"]`},
		{name: "pandas without names", text: ",0,1\n0,5,6\n1,7,8\n", want: `dense 2×2 [5 6] [7 8] rows ["0" "1"]`, warn: `the first row was taken as names, though "0" in it is a number`},
		{name: "R write.csv", text: "\"\",\"V1\",\"V2\"\n\"1\",5,6\n\"2\",7,8\n", want: `dense 2×2 [5 6] [7 8] rows ["1" "2"] columns ["V1" "V2"]`},
		{name: "R write.table", text: "\"V1\",\"V2\"\n\"1\",5,6\n\"2\",7,8\n", want: `dense 2×2 [5 6] [7 8] rows ["1" "2"] columns ["V1" "V2"]`},
		{name: "all quoted", text: "\"a\",\"b\"\n\"1\",\"2\"\n\"3\",\"4\"\n", want: `dense 2×2 [1 2] [3 4] columns ["a" "b"]`},
		{name: "all quoted, with row names", text: "\"\",\"a\"\n\"x\",\"2\"\n\"y\",\"4\"\n", want: `dense 2×1 [2] [4] rows ["x" "y"] columns ["a"]`},
		{name: "quoted numbers are names above plain ones", text: "\"1\",\"2\"\n3,4\n", want: `dense 1×2 [3 4] columns ["1" "2"]`},
		{name: "quoted numbers are names before plain ones", text: "\"7\",1\n\"8\",2\n", want: `dense 2×1 [1] [2] rows ["7" "8"]`},
		{name: "quotes", text: "\"a,b\",\"say \"\"hi\"\"\", \" c \" \n1,2,3\n", want: `dense 1×3 [1 2 3] columns ["a,b" "say \"hi\"" " c "]`},
		{name: "line break in quotes", text: "\"a\r\n\r\nb\",c\r\n1,2\r\n", want: `dense 1×2 [1 2] columns ["a\n\nb" "c"]`},
		{name: "mixed header", text: "1,b,3\n4,5,6\n", want: `dense 1×3 [4 5 6] columns ["1" "b" "3"]`, warn: `"1" in it is a number`},

		{name: "mixed header, and why", text: "1,2x\n3,4\n", want: `dense 1×2 [3 4] columns ["1" "2x"]`, warn: `because "2x" is not one: if the row is an item, put a number there`},
		{name: "years under a named corner", text: "city,2019,2020,2021\nfoo,1,2,3\n", want: `dense 2×3 [2019 2020 2021] [1 2 3] rows ["city" "foo"]`, warn: `the first row, city, 2019, …, was taken as numbers`},
		{name: "a corner that says so", text: "Id,7,9\nfoo,1,2\n", want: `dense 2×2 [7 9] [1 2] rows ["Id" "foo"]`, warn: `the first row, Id, 7, …, was taken as numbers`},
		{name: "one row that begins so", text: "id,7,9\n", want: `dense 1×2 [7 9] rows ["id"]`},
		{name: "columns numbered from 1", text: "1,2,3,4,5,6\n0,0,0,0,0,0\n", want: `dense 2×6 [1 2 3 4 5 6] [0 0 0 0 0 0]`, warn: `the first row, 1, 2, 3, …, was taken as numbers`},
		{name: "too few to be columns numbered from 1", text: "1,2,3,4,5\n0,0,0,0,0\n", want: `dense 2×5 [1 2 3 4 5] [0 0 0 0 0]`},
		{name: "one row that counts up", text: "0,1,2\n", want: `dense 1×3 [0 1 2]`},
		{name: "an item of that name, in quotes", text: "\"id\",7,9\n\"foo\",1,2\n", want: `dense 2×2 [7 9] [1 2] rows ["id" "foo"]`},
		{name: "quoted years under a corner", text: "id,\"2019\",\"2020\"\nfoo,1,2\n", want: `dense 1×2 [1 2] rows ["foo"] columns ["2019" "2020"]`},
		{name: "missing among names", text: "a,NA,c\n1,2,3\n", want: `dense 1×3 [1 2 3] columns ["a" "NA" "c"]`},
		{name: "missing as a later name", text: "x,1\nNA,2\n", want: `dense 2×1 [1] [2] rows ["x" "NA"]`},
		{name: "missing in quotes is a name", text: "\"NA\",1\nx,2\n", want: `dense 2×1 [1] [2] rows ["NA" "x"]`},
		{name: "missing where all is quoted", text: "\"NA\",\"1\"\n\"x\",\"2\"\n", want: `dense 2×1 [1] [2] rows ["NA" "x"]`},
		{name: "too large is no name", text: "1,1e309\n1e309,1\n", wrong: []string{"t.csv:1: ", "column 2", "too large"}},
		{name: "too large is no name of a row", text: "1e309,2\n-1e400,3\n", wrong: []string{"t.csv:1: ", "column 1", "too large"}},
		{name: "too large in quotes is a name", text: "\"1e309\",2\n\"1e310\",3\n", want: `dense 2×1 [2] [3] rows ["1e309" "1e310"]`},
		{name: "too large among names", text: "x,1\n1e309,2\n", wrong: []string{"t.csv:2: ", `the number "1e309"`}},
		{name: "missing in the first row", text: "1,2,N/A\n3,4,5\n", wrong: []string{"t.csv:1: ", "column 3", `"N/A" is not a number`}},
		{name: "missing in the first column", text: "NA,2,3\nNA,1,5\n", wrong: []string{"t.csv:1: ", "column 1", `"NA" is not a number`, "in quotes if it is a name"}},
		{name: "edges", text: "source,target,weight\na,b,1\nb,c,2\n", wrong: []string{"t.csv:2: ", `column 2 ("target")`, `"b" is not a number; if each line is an edge, its format is edges`}},
		{name: "edges without weights", text: "a,b\nb,c\nb,d\n", wrong: []string{"if each line is an edge, its format is edges"}},
		{name: "missing first under a header", text: "a,b\n?,5\n", wrong: []string{"t.csv:2: ", `column 1 ("a")`, `"?" is not a number`}},

		{name: "numbered columns of pandas", text: "0,1,2\n5,6,7\n", want: `dense 2×3 [0 1 2] [5 6 7]`, warn: "put its fields in quotes if it is a header"},
		{name: "name with a semicolon", text: "\"a;b\",1\n\"c;d\",2\n", want: `dense 2×1 [1] [2] rows ["a;b" "c;d"]`},

		{name: "semicolons and one comma", text: "1;2;0,5\n3;4;0,05\n", wrong: []string{"t.csv:1: ", `"1;2;0"`, "separated by semicolons"}},
		{name: "semicolons and one comma under a header", text: "id;name;score\n1;Anna;0,5\n2;Bob;0,7\n", wrong: []string{"t.csv:2: ", `"1;Anna;0"`, "separated by semicolons"}},
		{name: "tabs and one comma", text: "1\t0,5\n3\t0,05\n", wrong: []string{"t.csv:1: ", "separated by tabs"}},
		{name: "title above two columns", text: "# two moons\n1,2\n3,4\n", wrong: []string{"t.csv:1: ", `"# two moons"`, "remove it if it is a title"}},
		{name: "empty", text: "\n\n", wrong: []string{"t.csv:1: ", "empty"}},
		{name: "ragged", text: "1,2\n3,4\n5\n", wrong: []string{"t.csv:3: ", "has 1 field,", "have 2"}},
		{name: "ragged, longer", text: "1,2\n3,4,5\n", wrong: []string{"t.csv:2: ", "3 fields", "have 2"}},
		{name: "ragged after header", text: "a,b,c\n1,2\n", wrong: []string{"t.csv:2: ", "2 fields", "line 1", "3"}},
		{name: "ragged after corner", text: ",a,b\nx,1\n", wrong: []string{"t.csv:2: ", "2 fields", "3"}},
		{name: "separator at the end", text: "1,2\n3,4,\n", wrong: []string{"t.csv:2: ", "ends in a separator"}},
		{name: "separator at the end of each", text: "1,2,\n3,4,\n", wrong: []string{"t.csv:1: ", "column 3 is empty"}},
		{name: "no number", text: "a,b\n1,2\n3,x\n", wrong: []string{"t.csv:3: ", `column 2 ("b")`, `"x" is not a number`}},
		{name: "no number in the first column", text: "1,2\nx,4\n", wrong: []string{"t.csv:2: ", "column 1", `"x"`}},
		{name: "no number behind a name", text: "x,1\ny,NA\n", wrong: []string{"t.csv:2: ", "column 2", `"NA"`}},
		{name: "too large", text: "1,2\n3,1e999\n", wrong: []string{"t.csv:2: ", "column 2", "too large"}},
		{name: "empty cell", text: "1,2,3\n4,,6\n", wrong: []string{"t.csv:2: ", "column 2 is empty", "0 for none"}},
		{name: "empty first cell", text: "1,2\n,4\n", wrong: []string{"t.csv:2: ", "column 1 is empty"}},
		{name: "empty cell under names", text: ",a,b\nx,1,\n", wrong: []string{"t.csv:2: ", `column 3 ("b") is empty`}},
		{name: "empty name", text: "a,,c\n1,2,3\n", wrong: []string{"t.csv:1: ", "name 2 of the header", "empty"}},
		{name: "empty row name", text: ",a\nx,1\n,2\n", wrong: []string{"t.csv:3: ", "column 1", "empty"}},
		{name: "numbers among names", text: "x,1\n7,2\n", wrong: []string{"t.csv:2: ", `the number "7"`, "quotes"}},
		{name: "header only", text: "a,b\n", wrong: []string{"t.csv:1: ", "rows of numbers are missing"}},
		{name: "corner only", text: ",1\n", wrong: []string{"t.csv:1: "}},
		{name: "name only", text: "a\n", wrong: []string{"t.csv:1: ", `"a" is not a number`}},
		{name: "open quote", text: "1,2\n\"3,4\n5,6\n", wrong: []string{"t.csv:2: ", "never ends"}},
		{name: "text behind a quote", text: "\"a\"b,c\n1,2\n", wrong: []string{"t.csv:1: ", "field 1", "closing quote"}},
		{name: "quote inside", text: "1,2\n3,a\"b\"\n", wrong: []string{"t.csv:2: ", "field 2", "quote"}},
		{name: "semicolons", text: "1;2\n3;4\n", wrong: []string{"t.csv:1: ", "semicolons"}},
		{name: "tabs", text: "1\t2\n3\t4\n", wrong: []string{"t.csv:1: ", "tabs"}},
		{name: "Latin-1", text: "caf\xe9,b\n1,2\n", wrong: []string{"t.csv:1: ", "UTF-8"}},
		{name: "lines counted through quotes", text: "\"a\nb\",c\n1,2\n3,x\n", wrong: []string{"t.csv:4: "}},

		{name: "a number above names", text: "1,FALSE\nFALSE,1\n", want: `dense 1×1 [1] rows ["FALSE"]`, warn: `the first row was taken as names, though "1" in it is a number, because "FALSE" is not one: if the row is an item, put a number there`},
		{name: "a number beside names", text: "x,1,a\ny,3,4\n", want: `dense 1×2 [3 4] rows ["y"] columns ["1" "a"]`, warn: `the first row was taken as names, though "1" in it is a number, because "a" is not one: if the row is an item, put a number there`},
		{name: "prices", text: "price,n\n$1.00,2\n$2.50,1\n", want: `dense 2×1 [2] [1] rows ["$1.00" "$2.50"] columns ["n"]`, warn: `the first column was taken as names, though all of them, such as "$1.00", look like numbers: write numbers with a decimal point and without percent signs, currency signs and thousands separators; if these are names, begin a header with an empty field`},
		{name: "percent", text: "12%,2\n13 %,1\n", want: `dense 2×1 [2] [1] rows ["12%" "13 %"]`, warn: `the first column was taken as names, though all of them, such as "12%", look like numbers: write numbers with a decimal point and without percent signs, currency signs and thousands separators; if these are names, begin a header with an empty field`},
		{name: "some percent", text: "12%,2\nx,1\n", want: `dense 2×1 [2] [1] rows ["12%" "x"]`},
		{name: "percent under a corner", text: ",n\n12%,2\n", want: `dense 1×1 [2] rows ["12%"] columns ["n"]`},
		{name: "semicolons and commas", text: "1,5;2,5;3,0\n2,5;1,5;0,5\n", wrong: []string{"t.csv:2: ", `"5;1" is not a number`, "separated by semicolons"}},
		{name: "semicolons and a comma in the first row", text: "1,5;2;3\n2;1;0\n", wrong: []string{"t.csv:2: ", "has 1 field", "separated by semicolons"}},
		{name: "semicolons behind quotes", text: "\"0,5\";1\n1;\"0,5\"\n", wrong: []string{"t.csv:1: ", "field 1", "separated by semicolons"}},
		{name: "tabs behind quotes", text: "\"0,5\"\t1\n", wrong: []string{"t.csv:1: ", "field 1", "closing quote: double", "quote that belongs"}},
		{name: "blanks", text: "1 2\n3 4\n", wrong: []string{"t.csv:1: ", "separated by blanks? Put commas in their place for csv, or tabs for tsv"}},
		{name: "blanks behind quotes", text: "\"a b\" \"c\"\n\"d\" 1\n", wrong: []string{"t.csv:1: ", "field 1", "separated by blanks? Put commas"}},
		{name: "names below numbers", text: "id no,b\n7,1\nx8,2\n", wrong: []string{"t.csv:3: ", `column 1 ("id no"): "x8" is not a number; if the first column holds names, begin the header with an empty field`}},
		{name: "a comment", text: "1,2\n# c,3\n", wrong: []string{"t.csv:2: ", `"# c" is not a number: remove the line if it is a comment`}},
		{name: "errors of spreadsheets", text: ",b,c\nx,1,#REF!\n", wrong: []string{"t.csv:2: ", `column 3 ("c"): "#REF!" is not a number`}, not: "comment"},
		{name: "a number with a comma below numbers", text: "a,b\n1,2\n\"1,5\",3\n", wrong: []string{"t.csv:3: ", `"1,5" is not a number`}, not: "names"},
		{name: "too large below numbers", text: "a,b\n1,2\n1e999,3\n", wrong: []string{"t.csv:3: ", "too large"}, not: "names"},
		{name: "a name in the second column", text: "a,b\n1,2\n1,x\n", wrong: []string{"t.csv:3: ", `"x" is not a number`}, not: "names"},
		{name: "a name below numbers, no header", text: "1,2\nx,3\n", wrong: []string{"t.csv:2: ", `"x" is not a number`}, not: "names"},
		{name: "a comment without a comma", text: "% c\n1\n# d\n", wrong: []string{"t.csv:3: ", `"# d" is not a number: remove`}},
		{name: "lines of old Macs", text: "a,b\r1,2\r3,4\r", wrong: []string{"t.csv:1: ", `lines end in CR alone`, `tr '\r' '\n'`}},
		{name: "lines of old Macs, quotes", text: "\"a\",b\r1,2\r", wrong: []string{"t.csv:1: ", `lines end in CR alone`}},
		{name: "CR in quotes", text: "a,b\n1,2\n\"x\ry\",4\n", wrong: []string{"t.csv:3: ", `"x\ry" is not a number`}},
		{name: "CR in quotes of the header", text: "\"a\rb\",c\n1,2\n", wrong: []string{"t.csv:1: ", "control character"}},
		{name: "numbers among names, all in quotes", text: "\"a\",\"1\"\n\"2\",\"3\"\n", wrong: []string{"t.csv:2: ", `holds the number "2" here`}},
		{name: "a corner and no rows", text: ",1,2\n", wrong: []string{"t.csv:1: ", "rows of numbers are missing"}},
		{name: "a line for spreadsheets", text: "sep=,\n1,2\n", wrong: []string{"t.csv:1: ", "remove this line"}},
		{name: "a name that is quoted", text: "\"sep=\",b\n1,2\n", want: `dense 1×2 [1 2] columns ["sep=" "b"]`},
		{name: "a name that goes on", text: "sep=a\n1\n2\n", want: `dense 2×1 [1] [2] columns ["sep=a"]`},
		{name: "a line for spreadsheets, of semicolons", text: "SEP=;\n1;2\n", wrong: []string{"t.csv:1: ", `"SEP=;" is for spreadsheets`}},
	})
	runReadCases(t, "t.tsv", []readCase{
		{name: "names", text: "\ta b\tc,d\nx\t1\t2\n", want: `dense 1×2 [1 2] rows ["x"] columns ["a b" "c,d"]`},
		{name: "empty cell", text: "1\t\t3\n", wrong: []string{"t.tsv:1: ", "column 2 is empty"}},
		{name: "commas", text: "1,2\n3,4\n", wrong: []string{"commas"}},
		{name: "commas for points", text: "a\tb\n1,5\t2\n2,5\t1\n", want: `dense 2×1 [2] [1] rows ["1,5" "2,5"] columns ["b"]`, warn: `the first column was taken as names, though all of them, such as "1,5", look like numbers: write numbers with a decimal point and without percent signs, currency signs and thousands separators; if these are names, begin a header with an empty field`},
		{name: "thousands", text: "1,500,000\t2\n2,500,000\t1\n", want: `dense 2×1 [2] [1] rows ["1,500,000" "2,500,000"]`, warn: `the first column was taken as names, though all of them, such as "1,500,000", look like numbers: write numbers with a decimal point and without percent signs, currency signs and thousands separators; if these are names, begin a header with an empty field`},
		{name: "a comma for a point above a number, under names", text: "a\tb\n0,5\t1\n1\t0,5\n", wrong: []string{"t.tsv:3: ", "write numbers with a decimal point"}},
		{name: "a comma for a point above a number", text: "0,5\t1\n1\t0,5\n", wrong: []string{"t.tsv:2: ", `the number "1" here`, "write numbers with a decimal point"}},
	})
}

// TestWriteCSV checks the exact bytes. Names are quoted if they could be taken for numbers or hold special
// characters. Tables without numbers and unfit names are refused.
func TestWriteCSV(t *testing.T) {
	m := matrix.NewDense(2, 2, []float64{1, 0.1, 5e-324, -1e300})
	for _, c := range []struct {
		table *Table
		want  string
	}{
		{&Table{Dense: m}, "1,0.1\n5e-324,-1e+300\n"},
		{&Table{Dense: m, ColIDs: []string{"a b", "nan"}}, "a b,\"nan\"\n1,0.1\n5e-324,-1e+300\n"},
		{&Table{Dense: m, RowIDs: []string{"1e999", "na"}}, "\"1e999\",1,0.1\n\"na\",5e-324,-1e+300\n"},
		{&Table{Dense: m, RowIDs: []string{"x\"", "1"}}, "\"x\"\"\",1,0.1\n\"1\",5e-324,-1e+300\n"},
		{&Table{Dense: m, RowIDs: []string{"x ", "y z"}}, "\"x \",1,0.1\ny z,5e-324,-1e+300\n"},
		{&Table{Dense: m, RowIDs: []string{"é", " x"}, ColIDs: []string{"a,b", "#"}}, ",\"a,b\",\"#\"\né,1,0.1\n\" x\",5e-324,-1e+300\n"},
	} {
		var b bytes.Buffer
		if err := Write(&b, c.table, "csv"); err != nil || b.String() != c.want {
			t.Errorf("got %q, %v, want %q", b.String(), err, c.want)
		}
	}
	for _, bad := range []*Table{
		{Dense: matrix.NewDense(0, 2, nil)}, {Dense: matrix.NewDense(2, 0, nil)}, {Dense: m, RowIDs: []string{"a", ""}}, {Dense: m, ColIDs: []string{"a", "\x00"}},
		{Dense: m, RowIDs: []string{"a", "b", "c"}}, {Dense: m, ColIDs: []string{"a"}}, {}, {Dense: m, Sparse: m.CSR()},
	} {
		if err := Write(&bytes.Buffer{}, bad, "tsv"); !errors.Is(err, ErrUnfit) {
			t.Errorf("error %v, want ErrUnfit", err)
		}
	}
	if _, err := Read(strings.NewReader("\"a\nb\n"), "x.csv", Options{}); !errors.Is(err, ErrFormat) {
		t.Errorf("reading a quote that never ends: error %v, want ErrFormat", err)
	}
}

// TestNamesLimit: the memory limit of a table counts the names of its rows.
func TestNamesLimit(t *testing.T) {
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, "%s%d,1\n", strings.Repeat("n", 1000), i)
	}
	for limit, want := range map[int64]error{450_000: ErrTooLarge, 700_000: nil} {
		opt := Options{MaxBytes: limit, Threads: 1}
		if _, err := Read(strings.NewReader(text.String()), "t.csv", opt); !errors.Is(err, want) {
			t.Errorf("under %d bytes: %v, want %v", limit, err, want)
		}
	}
}
