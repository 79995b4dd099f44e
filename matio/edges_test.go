package matio

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"symnmf/matrix"
)

// TestEdges checks what edge lists are read as, and which errors and warnings they give.
func TestEdges(t *testing.T) {
	runReadCases(t, "g.edges", []readCase{
		{name: "names", text: "# c\n% c\nb a\n  a\tc # behind\nb , c\n", want: `sparse 3×3 0,1 0,2 1,0 1,2 2,0 2,1 rows ["b" "a" "c"] symmetric`},
		{name: "weights", text: "a,b,2.5\na c\nc\tb\t1e-3\n", want: `sparse 3×3 0,1=2.5 0,2=1 1,0=2.5 1,2=0.001 2,0=1 2,1=0.001 rows ["a" "b" "c"] symmetric`},
		{name: "quotes of R", text: "\"a\" \"b\" 0.5\n\"2\" a\n", want: `sparse 3×3 0,1=0.5 0,2=1 1,0=0.5 2,0=1 rows ["a" "b" "2"] symmetric`},
		{name: "quotes before what would be comments", text: "\"%a\" \"#b\"\n", want: `sparse 2×2 0,1 1,0 rows ["%a" "#b"] symmetric`},
		{name: "a semicolon in a name", text: "p;q r 2\n", want: `sparse 2×2 0,1=2 1,0=2 rows ["p;q" "r"] symmetric`},
		{name: "integers are sorted", text: "10 9\n9 -2\n", want: `sparse 3×3 0,1 1,0 1,2 2,1 rows ["-2" "9" "10"] symmetric`},
		{name: "integers in a cycle", text: "20 30 2\n30 10 3\n", want: `sparse 3×3 0,2=3 1,2=2 2,0=3 2,1=2 rows ["10" "20" "30"] symmetric`},
		{name: "one name, no sorting", text: "10 9\n9 x\n", want: `sparse 3×3 0,1 1,0 1,2 2,1 rows ["10" "9" "x"] symmetric`},
		{name: "leading zero is a name", text: "07 7\n", want: `sparse 2×2 0,1 1,0 rows ["07" "7"] symmetric`},
		{name: "plus is a name", text: "+7 7\n-0 0\n", want: `sparse 4×4 0,1 1,0 2,3 3,2 rows ["+7" "7" "-0" "0"] symmetric`},
		{name: "long integers are names", text: "1234567890123456789 5\n", want: `sparse 2×2 0,1 1,0 rows ["1234567890123456789" "5"] symmetric`},
		{name: "both directions", text: "a b 2\nb a 2\n", want: `sparse 2×2 0,1=2 1,0=2 rows ["a" "b"] symmetric`},
		{name: "duplicates", text: "a b 2\na b 3\na c\na c\n", want: `sparse 3×3 0,1=5 0,2=2 1,0=5 2,0=2 rows ["a" "b" "c"] symmetric duplicates 2`, warn: "2 repeated"},
		{name: "duplicates both ways", text: "a b 2\na b 3\nb a 5\n", want: `sparse 2×2 0,1=5 1,0=5 rows ["a" "b"] symmetric duplicates 1`, warn: "1 repeated"},
		{name: "conflict", text: "a b 2\nb a 3\na c 1\n", want: `sparse 3×3 0,1=2 0,2=1 1,0=3 2,0=1 rows ["a" "b" "c"]`, warn: "1 pair has different weights in the two directions, the first a b 2, b a 3"},
		{name: "conflicts", text: "a b 2\nb a 3\nc d 1\nd c 2\ne f 1\nf e 4\n", want: `sparse 6×6 0,1=2 1,0=3 2,3=1 3,2=2 4,5=1 5,4=4 rows ["a" "b" "c" "d" "e" "f"]`, warn: "3 pairs have different weights in the two directions, the first a b 2, b a 3"},
		{name: "a loop that cancels", text: "a a 1\na a -1\na b\n", want: `sparse 2×2 0,1 1,0 rows ["a" "b"] symmetric duplicates 1`, warn: "1 repeated"},
		{name: "loops", text: "a a 3\na b 2\nb b\n", want: `sparse 2×2 0,0=3 0,1=2 1,0=2 1,1=1 rows ["a" "b"] symmetric loops 2`},
		{name: "zero weights", text: "a a 0\nb c 1\nc d 0\n", want: `sparse 4×4 1,2 2,1 rows ["a" "b" "c" "d"] symmetric`},
		{name: "names alone are no weights, and not given twice", text: "1 1 0\n2 2 0\n2 2 0.0\n5 3\n3 3\n3 3 -0\n4 4 0\n", want: `sparse 5×5 2,2 2,4 4,2 rows ["1" "2" "3" "4" "5"] symmetric loops 1`},
		{name: "nothing but names", text: "1 1 0\n2 2 0\n", want: `sparse 2×2 rows ["1" "2"] symmetric`},
		{name: "one way", text: "a b 0\nb a 2\n", want: `sparse 2×2 1,0=2 rows ["a" "b"]`, warn: "a b 0, b a 2"},
		{name: "NaN", text: "a b nan\nb a NaN\nb c inf\n", want: `sparse 3×3 0,1=NaN 1,0=NaN 1,2=+Inf 2,1=+Inf rows ["a" "b" "c"] symmetric`},
		{name: "late weight", text: "1 2\n2 3\n3 4 0.5\n1 4\n", want: `sparse 4×4 0,1=1 0,3=1 1,0=1 1,2=1 2,1=1 2,3=0.5 3,0=1 3,2=0.5 rows ["1" "2" "3" "4"] symmetric`},
		{name: "header among integers", text: "source target\n1 2\n2 3\n", want: `sparse 5×5 0,1 1,0 2,3 3,2 3,4 4,3 rows ["source" "target" "1" "2" "3"] symmetric`, warn: `line 1, "source" and "target"`},
		{name: "header among names", text: "# one\nSource Target\na b\nb c\n", want: `sparse 5×5 0,1 1,0 2,3 3,2 3,4 4,3 rows ["Source" "Target" "a" "b" "c"] symmetric`, warn: `line 2, "Source" and "Target", was read as an edge, though no other line has these ids`},
		{name: "nodes named as in a header", text: "from to\na b\nb to\n", want: `sparse 4×4 0,1 1,0 1,3 2,3 3,1 3,2 rows ["from" "to" "a" "b"] symmetric`},
		{name: "an edge alone", text: "x y\na b\nb c\n", want: `sparse 5×5 0,1 1,0 2,3 3,2 3,4 4,3 rows ["x" "y" "a" "b" "c"] symmetric`},
		{name: "two names among integers", text: "x y\n1 2\n2 y\n", want: `sparse 4×4 0,1 1,0 1,3 2,3 3,1 3,2 rows ["x" "y" "1" "2"] symmetric`},
		{name: "header with weight", text: "# one\nu v weight\na b 2\n", want: `sparse 2×2 0,1=2 1,0=2 rows ["a" "b"] symmetric`, warn: `line 2, "u v weight", was skipped as a header`},
		{name: "header between tabs", text: "u\tv\tW\na\tb\t1\n", want: `sparse 2×2 0,1 1,0 rows ["a" "b"] symmetric`, warn: `line 1, "u\tv\tW", was skipped`},
		{name: "header of STRING", text: "protein1 protein2 combined_score\n9606.A 9606.B 173\n9606.B 9606.A 173\n", want: `sparse 2×2 0,1=173 1,0=173 rows ["9606.A" "9606.B"] symmetric`,
			warn: `line 1, "protein1 protein2 combined_score", was`},
		{name: "header in quotes, above integers", text: "\"Source\",\"Target\",\"Weight\"\n3,1,2\n", want: `sparse 2×2 0,1=2 1,0=2 rows ["1" "3"] symmetric`, warn: "was skipped as a header"},
		{name: "names in quotes", text: "\"New York\" \"Boston, MA\" 3\n\"New York\",\"#1\"\n\"say \"\"hi\"\"\"\tx\n", want: `sparse 5×5 0,1=3 0,2=1 1,0=3 2,0=1 3,4=1 4,3=1 rows ["New York" "Boston, MA" "#1" "say \"hi\"" "x"] symmetric`},
		{name: "quotes that do not end", text: "\"a b\n\"a\"c \"\"\"\n", want: `sparse 4×4 0,1 1,0 2,3 3,2 rows ["\"a" "b" "\"a\"c" "\"\"\""] symmetric`},
		{name: "a name with a blank in front of a number", text: "Tom Hanks\t13\nTom Hanks\t14\n", want: `sparse 2×2 0,1=27 1,0=27 rows ["Tom" "Hanks"] symmetric duplicates 1`,
			warn: `line 1, "Tom Hanks\t13", was read as an edge from "Tom" to "Hanks"; if a name holds a blank, put it in quotes`},
		{name: "a name with a blank in the second line", text: "actor\tmovie\nTom Hanks,13\n", want: `sparse 4×4 0,1=1 1,0=1 2,3=13 3,2=13 rows ["actor" "movie" "Tom" "Hanks"] symmetric`,
			warn: `line 2, "Tom Hanks,13", was read as an edge from "Tom" to "Hanks"`},
		{name: "blanks and tabs, both on either side", text: "a \tb\t 2\n", want: `sparse 2×2 0,1=2 1,0=2 rows ["a" "b"] symmetric`},
		{name: "points", text: "1 0.5\n3 2.5\n", want: `sparse 4×4 0,1 1,0 2,3 3,2 rows ["1" "0.5" "3" "2.5"] symmetric`, warn: "all ids are numbers, such as 0.5, as the coordinates of points are"},
		{name: "semicolon, then a blank", text: "a; b,2\n", want: `sparse 2×2 0,1=2 1,0=2 rows ["a;" "b"] symmetric`, warn: "if a name holds a blank"},
		{name: "tabs around", text: "a b 2\t\n\tc d 2\n", want: `sparse 4×4 0,1=2 1,0=2 2,3=2 3,2=2 rows ["a" "b" "c" "d"] symmetric`},
		{name: "commas in comments", text: "a b 3 # once, perhaps\n", want: `sparse 2×2 0,1=3 1,0=3 rows ["a" "b"] symmetric`},
		{name: "a tab before the weight of integers", text: "1 2\t0.5\n", want: `sparse 2×2 0,1=0.5 1,0=0.5 rows ["1" "2"] symmetric`},
		{name: "mixed further down", text: "a b 1\nc d 1\nTom Hanks\t13\n", want: `sparse 6×6 0,1=1 1,0=1 2,3=1 3,2=1 4,5=13 5,4=13 rows ["a" "b" "c" "d" "Tom" "Hanks"] symmetric`},
		{name: "weights, names that count, a name alone", text: "x y 2\n1 5 2\n2 6 2\n3 3 0\n", want: `sparse 7×7 0,1=2 1,0=2 2,3=2 3,2=2 4,5=2 5,4=2 rows ["x" "y" "1" "5" "2" "6" "3"] symmetric`, warn: "the only one between ids that are not integers"},
		{name: "a title and one line that counts", text: "x y\n1 5 2\n", want: `sparse 4×4 0,1=1 1,0=1 2,3=2 3,2=2 rows ["x" "y" "1" "5"] symmetric`, warn: "the only one between ids that are not integers"},
		{name: "NaN for an id", text: "nan 1\nnan 2\n", want: `sparse 3×3 0,1 0,2 1,0 2,0 rows ["nan" "1" "2"] symmetric`},
		{name: "CR in a comment", text: "# by x\r on Monday\na b\n", want: `sparse 2×2 0,1 1,0 rows ["a" "b"] symmetric`},
		{name: "CR at the end", text: "a b\nc\rd", want: `sparse 4×4 0,1 1,0 2,3 3,2 rows ["a" "b" "c" "d"] symmetric`},
		{name: "a semicolon in quotes", text: "\"a;b\",c,1\n", want: `sparse 2×2 0,1 1,0 rows ["a;b" "c"] symmetric`},
		{name: "CR further down", text: "a b\nc\rd\n", want: `sparse 4×4 0,1 1,0 2,3 3,2 rows ["a" "b" "c" "d"] symmetric`},
		{name: "decimals among names", text: "a 0.5\na 2.5\n", want: `sparse 3×3 0,1 0,2 1,0 2,0 rows ["a" "0.5" "2.5"] symmetric`},
		{name: "whole numbers of numpy", text: "1.0e+00 2.0e+00\n1.0e+00 3.0e+00\n", want: `sparse 3×3 0,1 0,2 1,0 2,0 rows ["1.0e+00" "2.0e+00" "3.0e+00"] symmetric`},
		{name: "ids that count", text: "x y\n1 5\n2 6\n3 9\n", want: `sparse 8×8 0,1 1,0 2,3 3,2 4,5 5,4 6,7 7,6 rows ["x" "y" "1" "5" "2" "6" "3" "9"] symmetric`, warn: "the only one between ids that are not integers"},
		{name: "names alone that count", text: "x y\n1 1 0\n2 2 0\n", want: `sparse 4×4 0,1 1,0 rows ["x" "y" "1" "2"] symmetric`, warn: "the only one between ids that are not integers"},

		{name: "nothing at all", text: "", wrong: []string{"g.edges:1: ", "no edge"}},
		{name: "nothing", text: "# none\n", wrong: []string{"g.edges:1: ", "no edge"}},
		{name: "semicolons and a decimal comma", text: "1;2;0,5\n1;3;0,7\n", wrong: []string{"g.edges:1: ", `"1;2;0"`, "separated by semicolons"}},
		{name: "quotes with nothing in them", text: "a \"\"\n", wrong: []string{"g.edges:1: ", "a field is empty"}},
		{name: "one field", text: "a b\nc\n", wrong: []string{"g.edges:2: ", "has 1 field:"}},
		{name: "four fields", text: "a b 1 2\n", wrong: []string{":1: ", "4 fields", `"u v weight"`}},
		{name: "weight no number", text: "a b\na c x\n", wrong: []string{":2: ", `"x" is not a number`}},
		{name: "names with blanks, between tabs", text: "new york\tlos angeles\t2\n", wrong: []string{":1: ", "5 fields", "if a name holds a blank, put it in quotes"}},
		{name: "a name with a blank", text: "new york\tboston\n", wrong: []string{":1: ", `the weight: "boston" is not a number; if a name holds a blank, put it in quotes`}},
		{name: "blanks and tabs around", text: "u \tv x\n", wrong: []string{":1: ", `"x" is not a number; if a name holds a blank, put it in quotes`}},
		{name: "a word in a title", text: "alice bob discount\na b 1\n", wrong: []string{":1: ", `"discount" is not a number`}},
		{name: "decimals and a title", text: "1.5 2.5 weight\na b 1\n", wrong: []string{":1: ", `"weight" is not a number`}},
		{name: "titles of something else", text: "u v distance\na b 1\n", wrong: []string{":1: ", `"distance" is not a number; if this line is a header, begin it with #`}},
		{name: "integers and a word", text: "1 2 weight\n1 3 1\n", wrong: []string{":1: ", "if this line is a header, begin it with #"}},
		{name: "an integer and a word", text: "a 2 weight\n1 3 1\n", wrong: []string{":1: ", "if this line is a header, begin it with #"}},
		{name: "names of rows", text: "\"from\" \"to\"\n\"1\" 5 6\n\"2\" 5 7\n", wrong: []string{":1: ", "the first counts the lines", "row.names = FALSE"}},
		{name: "names of rows in a csv", text: "\"\",\"from\",\"to\"\n\"1\",5,6\n", wrong: []string{":1: ", "a field is empty", "row.names = FALSE"}},
		{name: "lines of old Macs", text: "a b\ra c\r", wrong: []string{":1: ", "lines end in CR alone"}},
		{name: "a table", text: "1 2 3 4\n5 6 7 8\n", wrong: []string{":1: ", "4 fields", "if this is a table, its format is csv"}},
		{name: "too many fields further down", text: "1 2\n5 6\n5 6 7 8\n", wrong: []string{":3: ", "tabs or commas"}, not: "table"},
		{name: "one field at first", text: "a\n", wrong: []string{":1: ", "1 field"}, not: "table"},
		{name: "an empty field further down", text: "a b\n,c\n", wrong: []string{":2: ", "empty"}, not: "R,"},
		{name: "names of rows below three titles", text: "\"from\" \"to\" \"weight\"\n\"1\" \"a\" \"b\" 0.5\n", wrong: []string{":2: ", "4 fields", "row.names = FALSE"}, not: "table"},
		{name: "names of rows and names", text: "\"from\" \"to\"\n\"1\" \"a\" \"b\"\n", wrong: []string{":2: ", `"b" is not a number`, "row.names = FALSE"}, not: "begin it with #"},
		{name: "names of rows above 0", text: "\"from\" \"to\"\n\"1\" 0 1\n\"2\" 5 0\n\"3\" 6 1\n", wrong: []string{":1: ", "the first counts the lines", "begin this line with #"}},
		{name: "a decimal comma", text: "a b 1,5\n", wrong: []string{":1: ", "4 fields", "decimals are written with a point"}},
		{name: "four names", text: "a b c,d\n", wrong: []string{":1: ", "4 fields", "if a name holds a blank"}, not: "decimals"},
		{name: "semicolons in quotes", text: "\"a;b\",c,x\n", wrong: []string{":1: ", `"x" is not a number`}, not: "semicolons"},
		{name: "networkx, first line", text: "0 1 {}\n", wrong: []string{":1: ", "write_weighted_edgelist"}},
		{name: "networkx with weights", text: "0 1 {'weight': 4}\n", wrong: []string{":1: ", "4 fields", "write_weighted_edgelist"}},
		{name: "two headers", text: "u v weight\nu v weight\na b 1\n", wrong: []string{":2: ", `"weight" is not a number`}},
		{name: "header further down", text: "a b 1\nu v weight\n", wrong: []string{":2: ", `"weight" is not a number`}},
		{name: "header alone", text: "u v weight\n", wrong: []string{":1: ", "no edge"}},
		{name: "attributes", text: "a b {'weight':2}\na c {'weight':3}\n", wrong: []string{":1: ", "is not a number"}},
		{name: "networkx", text: "a c\na b {}\n", wrong: []string{":2: ", "write_weighted_edgelist"}},
		{name: "weight too large", text: "a b 1e400\n", wrong: []string{":1: ", "too large"}},
		{name: "comma at the end", text: "a,b,\n", wrong: []string{":1: ", "empty"}},
		{name: "comma in front", text: ",a,b\n", wrong: []string{":1: ", "empty"}},
		{name: "two commas", text: "a,,b\n", wrong: []string{":1: ", "empty"}},
		{name: "Latin-1", text: "a b\na caf\xe9\n", wrong: []string{":2: ", "UTF-8", "iconv"}},
		{name: "control character", text: "a b\x00c\n", wrong: []string{":1: ", "control character"}},
		{name: "last control character", text: "a b\x1fc\n", wrong: []string{":1: ", "control character"}},
	})
}

// TestEdgesReference compares random edge lists with the rule of the package comment, written out over dense
// matrices of sums and counts.
func TestEdgesReference(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := 2 + rng.IntN(8)
		said, count := matrix.NewDense(n, n, nil), matrix.NewDense(n, n, nil)
		var text strings.Builder
		lines := 1 + rng.IntN(3*n)
		for k := range n { // every node is named, in order
			fmt.Fprintf(&text, "%d %d 0\n", 10*k, 10*k)
		}
		for range lines {
			u, v, w := rng.IntN(n), rng.IntN(n), float64(rng.IntN(3))
			fmt.Fprintf(&text, "%d %d %v\n", 10*u, 10*v, w)
			if u == v && w == 0 { // this line only names u again
				continue
			}
			said.Set(u, v, said.At(u, v)+w)
			count.Set(u, v, count.At(u, v)+1)
		}
		want := matrix.NewDense(n, n, nil)
		symmetric, duplicates, loops := true, int64(0), int64(0)
		for u := range n {
			for v := range n {
				w := said.At(u, v)
				switch {
				case count.At(u, v) == 0:
					w = said.At(v, u)
				default:
					duplicates += int64(count.At(u, v)) - 1
				}
				if count.At(u, v) > 0 && count.At(v, u) > 0 && said.At(u, v) != said.At(v, u) {
					symmetric = false
				}
				if u == v && w != 0 {
					loops++
				}
				want.Set(u, v, w)
			}
		}
		got, err := Read(strings.NewReader(text.String()), "g.txt", Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if why := differ(&Table{Dense: want}, got, false); why != "" {
			t.Fatalf("seed %d: %s\n%s", seed, why, &text)
		}
		if got.Symmetric != symmetric || got.Duplicates != duplicates || got.SelfLoops != loops {
			t.Fatalf("seed %d: symmetric %v, %d duplicates, %d loops, want %v, %d, %d\n%s",
				seed, got.Symmetric, got.Duplicates, got.SelfLoops, symmetric, duplicates, loops, &text)
		}
	}
}

// TestEdgesNames: a line that only names a node is no entry, but it counts as data. An error after such lines
// is not taken for a header, and a graph of very many such nodes is not refused as a size without entries.
func TestEdgesNames(t *testing.T) {
	const name = "aa aa 0\n"
	for _, lines := range []int{1, 2 * blockSize / len(name)} { // the line after them begins a block
		_, err := Read(strings.NewReader(strings.Repeat(name, lines)+"aa b weight\n"), "g.edges", Options{})
		if want := fmt.Sprintf(`matio: g.edges:%d: the weight: "weight" is not a number`, lines+1); err == nil || err.Error() != want {
			t.Errorf("after lines that name a node: error %v, want %s", err, want)
		}
	}
	if testing.Short() {
		return
	}
	const n = 2_200_000
	text := []byte("0 1\n")
	for i := range int64(n) {
		text = strconv.AppendInt(text, i, 10)
		text = append(text, ' ')
		text = strconv.AppendInt(text, i, 10)
		text = append(text, " 0\n"...)
	}
	got, err := Read(bytes.NewReader(text), "g.edges", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rows, _ := got.Dims(); rows != n || got.Sparse.NNZ() != 2 || got.Sparse.Val != nil || got.Duplicates != 0 {
		t.Errorf("%d nodes, %d entries, %d duplicates, want %d, 2 without values, 0", rows, got.Sparse.NNZ(), got.Duplicates, n)
	}
}

// TestWriteEdges checks the exact bytes. Zero weights are written only where the order of the names needs
// them. Names that an edge list cannot hold are refused.
func TestWriteEdges(t *testing.T) {
	sym := func(ids []string, edges ...[3]float64) *Table {
		m := matrix.NewDense(len(ids), len(ids), nil)
		for _, e := range edges {
			m.Set(int(e[0]), int(e[1]), e[2])
			m.Set(int(e[1]), int(e[0]), e[2])
		}
		return &Table{Dense: m, RowIDs: ids}
	}
	abc := []string{"a", "b", "c"}
	oneWay := matrix.NewDense(2, 2, []float64{0, 2, 0, 0})
	for _, c := range []struct {
		table *Table
		want  string
	}{
		{sym(abc, [3]float64{0, 1, 1}, [3]float64{0, 2, 1}), "a b\na c\n"},
		{sym(abc, [3]float64{0, 2, 1}, [3]float64{1, 2, 1}), "a a 0\nb c\na c\n"},
		{sym(abc, [3]float64{1, 2, 2.5}), "a a 0\nb c 2.5\n"},
		{sym(abc, [3]float64{0, 1, 3}, [3]float64{1, 1, 1}), "a b 3\nb b 1\nc c 0\n"},
		{sym([]string{"5", "6", "7"}, [3]float64{1, 2, 1}), "5 5 0\n6 7\n"},
		{&Table{Dense: sym(abc, [3]float64{0, 2, 1}).Dense}, "2 2 0\n1 3\n"},
		{&Table{Dense: oneWay}, "1 2 2\n2 1 0\n"},
		{sym([]string{"b c", "#b", "b,c", "b#"}, [3]float64{0, 1, 1}, [3]float64{2, 3, 1}), "\"b c\" \"#b\"\n\"b,c\" b#\n"},
		{sym([]string{"\"b\"", "b\"", "%", "b\tc"}, [3]float64{0, 1, 1}, [3]float64{2, 3, 1}), "\"\"\"b\"\"\" b\"\n\"%\" \"b\tc\"\n"},
	} {
		var b bytes.Buffer
		if err := Write(&b, c.table, "edges"); err != nil || b.String() != c.want {
			t.Errorf("%s: got %q, %v, want %q", dump(c.table), b.String(), err, c.want)
		}
	}
	for _, ids := range [][]string{{"a", "b\nc"}, {"a", ""}, {"a", "a"}, {"a", "\xff"}, {"a", "\ufeff"}} {
		if err := Write(&bytes.Buffer{}, sym(ids), "edges"); err == nil {
			t.Errorf("names %q were written", ids)
		}
	}
	if err := Write(&bytes.Buffer{}, &Table{Dense: oneWay, RowIDs: []string{"a", "b"}, ColIDs: []string{"c", "d"}}, "edges"); err == nil {
		t.Error("a table with different names for rows and columns was written")
	}
}
