package matio

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// This file cuts the lines of an edge list into fields, and explains those that are not edges.

// edgeFields cuts a line into fields, which are separated by blanks with at most one comma among them. ok is
// false if a field is empty. A '#' or '%' at the beginning of a field that is not in quotes starts a comment.
func edgeFields(line []byte, fields [][]byte) (_ [][]byte, ok bool) {
	fields = fields[:0]
	comma := false
	for p := 0; ; {
		for p < len(line) && isBlank(line[p]) {
			p++
		}
		if p == len(line) || line[p] == '#' || line[p] == '%' {
			return fields, !comma
		}
		if line[p] == ',' {
			if comma || len(fields) == 0 {
				return fields, false
			}
			comma = true
			p++
			continue
		}
		text, length := quotedField(line[p:])
		if length == 0 {
			length = fieldEnd(line[p:])
			text = line[p : p+length]
		}
		if len(text) == 0 {
			return fields, false
		}
		fields, comma = append(fields, text), false
		p += length
	}
}

// fieldEnd returns the length of the field that text begins with.
func fieldEnd(text []byte) int {
	for p, c := range text {
		if c == ',' || isBlank(c) {
			return p
		}
	}
	return len(text)
}

// quotedField returns the field in quotes that text begins with, and its length there. A quote inside is doubled. The
// length is 0 if there is no such field, where a quote at the beginning is part of the text.
func quotedField(text []byte) (inside []byte, length int) {
	if text[0] != '"' {
		return nil, 0
	}
	doubled := false
	for p := 1; p < len(text); p++ {
		switch {
		case text[p] != '"':
		case p+1 < len(text) && text[p+1] == '"':
			doubled = true
			p++
		case fieldEnd(text[p+1:]) > 0:
			return nil, 0
		default:
			if inside = text[1:p]; doubled {
				inside = bytes.ReplaceAll(inside, []byte(`""`), []byte(`"`))
			}
			return inside, p + 1
		}
	}
	return nil, 0
}

// quotedID returns the field that is read as id, which is in quotes if it must be.
func quotedID(id string) string {
	if !strings.ContainsAny(id[:1], "#%\"") && fieldEnd([]byte(id)) == len(id) {
		return id
	}
	return `"` + strings.ReplaceAll(id, `"`, `""`) + `"`
}

// notEdge explains a line of one or more than three fields. first says whether no edge comes before it.
func notEdge(line []byte, fields [][]byte, first bool) string {
	hint := cmp.Or(decimalComma(line, fields), blanksIn(line, fields), dictIn(fields))
	if hint == "" && first && len(fields) > 3 {
		hint = "; if this is a table, its format is csv, with commas between its fields, or tsv, with tabs; if these are edges, keep the columns of the nodes and of the weight"
	}
	return fmt.Sprintf("the line has %s: it must be \"u v\" or \"u v weight\", separated by blanks, tabs or commas%s",
		count(int64(len(fields)), "field", "fields"), hint)
}

// notWeight explains a line whose third field is not a number but reads as weight.
func notWeight(line []byte, fields [][]byte, weight float64, first bool) string {
	hint := cmp.Or(blanksIn(line, fields), dictIn(fields))
	if hint == "" && first {
		hint = "; if this line is a header, begin it with #"
	}
	return fmt.Sprintf("the weight: %s%s", notNumber(fields[2], weight), hint)
}

// blanksIn returns a hint for a line whose first and last field have tabs or commas between them that cut it into two or
// three fields, and blanks that cut it into more. It returns "" for other lines, and for those with quotes.
func blanksIn(line []byte, fields [][]byte) string {
	if len(fields) < 3 || bytes.IndexByte(line, '"') >= 0 {
		return ""
	}
	last := fields[len(fields)-1]
	between := line[cap(line)-cap(fields[0]) : cap(line)-cap(last)] // fields are parts of the line
	for _, separator := range []string{"\t", ","} {
		if n := bytes.Count(between, []byte(separator)); (n == 1 || n == 2) && len(fields) > n+1 {
			return "; if a name holds a blank, put it in quotes"
		}
	}
	return ""
}

// decimalComma returns a hint for four fields of which the last two may be one number, and "" otherwise.
func decimalComma(line []byte, fields [][]byte) string {
	if len(fields) != 4 || bytes.IndexByte(line, '"') >= 0 {
		return ""
	}
	weight := line[cap(line)-cap(fields[2]):]
	if !spelledAnew(string(weight[:len(fields[2])+1+len(fields[3])])) || weight[len(fields[2])] != ',' || bytes.Count(line, []byte(",")) > 1 {
		return ""
	}
	return "; decimals are written with a point"
}

// dictIn returns a hint for the attributes of an edge in braces, which networkx writes. It returns "" if there are none.
func dictIn(fields [][]byte) string {
	if len(fields) > 2 && fields[2][0] == '{' {
		return "; in networkx, write the list with write_weighted_edgelist, or with data=False"
	}
	return ""
}

// semicolons reports whether a line has semicolons before a comma, as where they separate fields and decimals have
// commas.
func semicolons(line []byte) (field []byte, found bool) {
	field, _, found = bytes.Cut(line, []byte(","))
	field = bytes.TrimLeft(field, " \t")
	return field, found && bytes.IndexByte(field, ';') >= 0 && field[0] != '"' && fieldEnd(field) == len(field)
}

// rowNames is a hint for a list with the names that R gives rows.
const rowNames = "; if these are the names of rows, write the list without them (in R, row.names = FALSE)"

// titles reports whether three fields are the header of edges with weights. The last of them is no number, so they are
// no edge; but a word that does not name a weight may be a broken number, and is left to be an error.
func titles(fields [][]byte) bool {
	if isNumber(fields[0]) || isNumber(fields[1]) {
		return false
	}
	title := strings.ToLower(string(fields[2]))
	words := strings.FieldsFunc(title, func(c rune) bool { return c == '_' || c == '-' || c == '.' })
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(weightTitles, word) })
}

// weightTitles are words in titles of weights: weight itself, combined_score, pearson.correlation, …
var weightTitles = []string{"weight", "weights", "w", "score", "value", "similarity", "correlation", "strength", "confidence", "count"}

// edgeTitles are titles that the two columns of edges often have.
var edgeTitles = []string{"source target", "from to", "src dst", "start end", "head tail", "u v", "i j", "v1 v2", "x1 x2", "node1 node2",
	"node_1 node_2", "nodea nodeb", "id1 id2", "id_1 id_2", "fromnodeid tonodeid", "item1 item2", "gene1 gene2", "protein1 protein2", "name1 name2",
	"person1 person2", "user1 user2", "author1 author2", "origin destination", "user item", "group person", "person group", "actor movie", "author paper",
	"document word", "gene disease"}
