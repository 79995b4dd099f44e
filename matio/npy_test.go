package matio

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"symnmf/matrix"
)

// TestNPYGolden reads files that NumPy wrote in every type, byte order and layout; see testdata/README.md.
func TestNPYGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/npy/*-*-[CF].npy")
	if err != nil || len(files) != 42 {
		t.Fatalf("%d files, %v, want 42", len(files), err)
	}
	tenth := map[string]float64{"f2": 0.0999755859375, "f4": 0.10000000149011612, "f8": 0.1}
	eps := map[string]float64{"f2": 0x1p-11, "f4": 0x1p-24}
	for _, file := range files {
		kind := filepath.Base(file)[:2]
		want := []float64{0, 1, 2, 3, 100, 5}
		if kind == "b1" {
			want = []float64{0, 0, 0, 1, 1, 1}
		}
		if kind[0] == 'i' || kind[0] == 'f' {
			want[5] = -5
		}
		if kind[0] == 'f' {
			want[1] = tenth[kind]
		}
		got, err := Open(file, Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		if rows, cols := got.Dims(); rows != 2 || cols != 3 || !slices.Equal(got.Dense.Data(), want) {
			t.Errorf("%s: %s, want %v", file, dump(got), want)
		}
		wantEps := 0x1p-53
		if e, ok := eps[kind]; ok {
			wantEps = e
		}
		if got.Eps != wantEps {
			t.Errorf("%s: Eps %v, want %v", file, got.Eps, wantEps)
		}
	}
}

// TestNPYSpecial reads infinities, NaN, −0, subnormal and extreme numbers, and files of versions 2 and 3 of
// the format, all written by NumPy.
func TestNPYSpecial(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for file, want := range map[string][]float64{
		"special-f2": {0, math.Copysign(0, -1), 0x1p-24, 0x1p-14, 65504, inf, -inf, nan},
		"special-f8": {5e-324, math.Copysign(0, -1), math.MaxFloat64, inf, -inf, nan},
		"version2":   {1.5, 2.5}, "version3": {1.5, 2.5},
	} {
		got, err := Open("testdata/npy/"+file+".npy", Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		if why := differ(&Table{Dense: matrix.NewDense(1, len(want), want)}, got, false); why != "" {
			t.Errorf("%s: %s", file, why)
		}
	}
}

// TestNPYWrong: malformed headers, unsupported types and files that are too short or too long are refused,
// with the byte at fault. A few unusual files are accepted.
func TestNPYWrong(t *testing.T) {
	good := string(npyHeader("<f8", "(1, 2)")) + strings.Repeat("\x00", 16)
	header := func(text string) string {
		return npyMagic + "\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(text)))) + text
	}
	cases := []readCase{
		{name: "good", text: good, want: "dense 1×2 [0 0]"},
		{name: "Python 2 shape", text: header("{'descr': '<f8', 'fortran_order': False, 'shape': (0L, 4L)}"), want: "dense 0×4"},
		{name: "any order of keys", text: header(`{ "shape":(1,1), "fortran_order":True,"descr":"|u1" }`) + "\x05", want: "dense 1×1 [5]"},
		{name: "lines and tabs", text: header("{\n\t'descr':\n'|u1',\t'fortran_order': False,\n'shape':\t(1,\t1)\n}\n") + "\x05", want: "dense 1×1 [5]"},
		{name: "empty", text: "", wrong: []string{"a.npy: byte 0: ", "truncated"}},
		{name: "magic", text: "hello world", wrong: []string{"byte 0: ", `"hello "`}},
		{name: "zip", text: "PK\x03\x04xxxxxxxx", wrong: []string{"byte 0: ", "npz"}},
		{name: "version", text: npyMagic + "\x09\x00xxxx", wrong: []string{"version 9.0"}},
		{name: "long header", text: npyMagic + "\x02\x00\x00\x00\x02\x00", wrong: []string{"131072"}},
		{name: "header cut", text: good[:40], wrong: []string{"byte 40: ", "header", "truncated"}},
		{name: "values cut", text: good[:len(good)-1], wrong: []string{"byte", "truncated"}},
		{name: "bytes behind", text: good + "x", wrong: []string{"byte 144: ", "follow"}},
		{name: "two keys", text: header("{'descr': '<f8', 'shape': (1, 1)}"), wrong: []string{"malformed header"}},
		{name: "key twice", text: header("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1, 1)}"), wrong: []string{"malformed header"}},
		{name: "strange key", text: header("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), 'x': 1}"), wrong: []string{"malformed header"}},
		{name: "no dictionary", text: header("[1]"), wrong: []string{"malformed header"}},
		{name: "behind the dictionary", text: header("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1)} x"), wrong: []string{"malformed header"}},
		{name: "negative shape", text: header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 1)}"), wrong: []string{"malformed header"}},
		{name: "shape beyond 64 bits", text: header("{'descr': '|u1', 'fortran_order': False, 'shape': (18446744073709551617, 1)}") + "\x05", wrong: []string{"malformed header"}},
		{name: "open shape", text: header("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1"), wrong: []string{"malformed header"}},
		{name: "type", text: header("{'descr': '<q8', 'fortran_order': False, 'shape': (1, 1)}"), wrong: []string{`"<q8"`}},
		{name: "no type", text: header("{'descr': '', 'fortran_order': False, 'shape': (1, 1)}"), wrong: []string{`malformed type ""`}},
		{name: "byte order alone", text: header("{'descr': '<', 'fortran_order': False, 'shape': (1, 1)}"), wrong: []string{`malformed type "<"`}},
		{name: "too many rows", text: string(npyHeader("<f8", "(2147483648, 1)")), wrong: []string{"2147483648×1", "at most 2147483647 "}},
		{name: "too many columns", text: string(npyHeader("<f8", "(1, 2147483648)")), wrong: []string{"1×2147483648", "at most 2147483647 "}},
		{name: "hollow", text: string(npyHeader("<f8", "(0, 2147483647)")), wrong: []string{"0×2147483647", "is the size wrong?"}},
		{name: "byte order", text: header("{'descr': 'xf8', 'fortran_order': False, 'shape': (1, 1)}"), wrong: []string{`"xf8"`}},
	}
	runReadCases(t, "a.npy", cases)
	for file, part := range map[string]string{
		"bad-complex": "complex", "bad-object": "Python objects", "bad-fields": "named fields", "bad-text": "text", "bad-longdouble": `"<f16"`,
		"bad-1d": "reshape(-1, 1)", "bad-3d": "3 dimensions",
	} {
		_, err := Open("testdata/npy/"+file+".npy", Options{})
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "byte ") {
			t.Errorf("%s: error %v does not say %q", file, err, part)
		}
	}
}

// TestWriteNPY checks the exact bytes, which are those that NumPy 1.24 writes.
func TestWriteNPY(t *testing.T) {
	var b bytes.Buffer
	if err := WriteNPY(&b, matrix.NewDense(1, 2, []float64{1, -2})); err != nil {
		t.Fatal(err)
	}
	want := "\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }" + strings.Repeat(" ", 58) + "\n" +
		"\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00\xc0"
	if b.String() != want {
		t.Errorf("got  %q\nwant %q", b.String(), want)
	}
}

// TestNPZGolden reads archives that SciPy and NumPy wrote; see testdata/README.md.
func TestNPZGolden(t *testing.T) {
	sparse := "sparse 4×6 0,0=1 0,3=2 1,1=3.5 3,0=4 3,5=-5"
	dense := "dense 4×6 [1 0 0 2 0 0] [0 3.5 0 0 0 0] [0 0 0 0 0 0] [4 0 0 0 0 -5]"
	want := map[string]string{
		"csr-int32": sparse, "csr-int64": sparse, "csc-int32": sparse, "csc-int64": sparse, "coo-int32": sparse, "coo-int64": sparse,
		"bsr-int32": sparse, "bsr-int64": sparse, "coo-duplicates": sparse + " duplicates 1", "csr-unsorted": sparse, "csr-stored": sparse,
		"csr-array": sparse, "csr-float32": sparse, "csr-bool": "sparse 4×6 0,0 0,3 1,1 3,0 3,5", "dense": dense, "dense-named": dense,
	}
	for _, file := range slices.Sorted(maps.Keys(want)) {
		got, err := Open("testdata/npz/"+file+".npz", Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		if dump(got) != want[file] {
			t.Errorf("%s: got %s\nwant %s", file, dump(got), want[file])
		}
		eps := 0x1p-53
		if file == "csr-float32" {
			eps = 0x1p-24
		}
		if got.Eps != eps {
			t.Errorf("%s: Eps %v, want %v", file, got.Eps, eps)
		}
	}
	for file, part := range map[string]string{"bad-dia": `format "dia"`, "bad-two": `["a" "b"]`} {
		if _, err := Open("testdata/npz/"+file+".npz", Options{}); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error %v does not say %q", file, err, part)
		}
	}
}

// zipOf returns a ZIP archive of files, given as names that are each followed by the content.
func zipOf(method uint16, files ...string) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for k := 0; k < len(files); k += 2 {
		w, _ := z.CreateHeader(&zip.FileHeader{Name: files[k], Method: method})
		io.WriteString(w, files[k+1])
	}
	z.Close()
	return b.String()
}

// npzOf returns a compressed archive of the given arrays, in the order of their names.
func npzOf(members map[string]string) string {
	var files []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		files = append(files, name+".npy", members[name])
	}
	return zipOf(zip.Deflate, files...)
}

// TestNPZWrong: archives that are damaged, incomplete or inconsistent are refused, with the member at fault.
// Small correct archives of each kind are read.
func TestNPZWrong(t *testing.T) {
	ints := func(vals ...int64) string {
		text := string(npyHeader("<i8", fmt.Sprintf("(%d,)", len(vals))))
		for _, v := range vals {
			text += string(binary.LittleEndian.AppendUint64(nil, uint64(v)))
		}
		return text
	}
	reals := func(vals ...float64) string {
		text := string(npyHeader("<f8", fmt.Sprintf("(%d,)", len(vals))))
		for _, v := range vals {
			text += string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
		}
		return text
	}
	word := func(s string) string { return string(npyHeader("|S3", "()")) + s }
	// change returns a correct archive (1 in row 0, column 1; 2 in row 1, column 0) after replacing some
	// members. The content "" leaves a member out.
	pack := npzOf
	change := func(format string, changes ...string) string {
		members := map[string]string{
			"format": word(format), "shape": ints(2, 3), "data": reals(1, 2), "indices": ints(1, 0), "indptr": ints(0, 1, 2),
			"row": ints(0, 1), "col": ints(1, 0),
		}
		if format == "csc" {
			members["shape"] = ints(3, 2)
		}
		if format == "bsr" {
			members["data"] = string(npyHeader("<f8", "(2, 1, 1)")) + reals(1, 2)[128:]
		}
		for k := 0; k < len(changes); k += 2 {
			if members[changes[k]] = changes[k+1]; changes[k+1] == "" {
				delete(members, changes[k])
			}
		}
		return pack(members)
	}
	// plain returns a function like npzOf that does not compress. Unless claimed is 0, the directory of the
	// archive claims that the indices take that many bytes.
	plain := func(claimed uint32) func(map[string]string) string {
		return func(members map[string]string) string {
			var files []string
			for name, text := range members {
				files = append(files, name+".npy", text)
			}
			text := []byte(zipOf(zip.Store, files...))
			const header, sizes = 46, 20 // length of a directory entry up to its name, and offset of its two sizes
			if at := bytes.LastIndex(text, []byte("indices.npy")) - header; claimed > 0 {
				binary.LittleEndian.PutUint32(text[at+sizes:], claimed)
				binary.LittleEndian.PutUint32(text[at+sizes+4:], claimed)
			}
			return string(text)
		}
	}
	narrow := func(descr string, vals ...uint32) string {
		text := npyHeader(descr, fmt.Sprintf("(%d,)", len(vals)))
		for _, v := range vals {
			if descr[0] == '>' {
				v = bits.ReverseBytes32(v)
			}
			text = binary.LittleEndian.AppendUint32(text, v)
		}
		return string(text)
	}
	many := func(descr string) string { return string(npyHeader(descr, "(1000000000,)")) }
	good := change("csr")
	one := string(npyHeader("<f8", "(1, 1)")) + "\x00\x00\x00\x00\x00\x00\xf0\x3f"
	stored := zipOf(zip.Store, "arr_0.npy", one)
	pack = plain(0)
	storedCSR, storedMore := change("csr"), change("csr", "indptr", ints(0, 1, 100), "indices", string(npyHeader("<i4", "(100,)")), "data", string(npyHeader("|u1", "(100,)"))+strings.Repeat("\x01", 100))
	pack = plain(1 << 31)
	claimsMore := change("csr", "indptr", ints(0, 1, 1e6), "indices", string(npyHeader("<i4", "(1000000,)")), "data", string(npyHeader("|u1", "(1000000,)")))
	pack = npzOf
	flipped := strings.Replace(stored, "\xf0\x3f", "\xf1\x3f", 1)
	runReadCases(t, "a.npz", []readCase{
		{name: "csr", text: good, want: "sparse 2×3 0,1=1 1,0=2"},
		{name: "csr of one row", text: change("csr", "indptr", ints(0, 0, 2)), want: "sparse 2×3 1,0=2 1,1=1"},
		{name: "csr of 4 bytes", text: change("csr", "indices", narrow("<i4", 1, 0)), want: "sparse 2×3 0,1=1 1,0=2"},
		{name: "csr of 4 bytes unsigned", text: change("csr", "indices", narrow("<u4", 1, 0)), want: "sparse 2×3 0,1=1 1,0=2"},
		{name: "csr of 4 bytes big-endian", text: change("csr", "indices", narrow(">i4", 1, 0)), want: "sparse 2×3 0,1=1 1,0=2"},
		{name: "csr stored", text: storedCSR, want: "sparse 2×3 0,1=1 1,0=2"},
		{name: "csr stored, more indices than there can be", text: storedMore, wrong: []string{"(indices.npy)", "100 numbers", "cannot hold more than 128"}},
		{name: "csr of fewer bytes than the directory says", text: claimsMore, wrong: []string{"(indices.npy)", "1000000 numbers", "cannot hold more"}},
		{name: "hollow csr", text: change("csr", "shape", ints(2, 2e9)), wrong: []string{"2×2000000000", "is the size wrong?"}},
		{name: "csc", text: change("csc"), want: "sparse 3×2 0,1=2 1,0=1"},
		{name: "coo", text: change("coo"), want: "sparse 2×3 0,1=1 1,0=2"},
		{name: "coo without rows", text: change("coo", "row", ""), wrong: []string{"a.npz: ", "row"}},
		{name: "coo without columns", text: change("coo", "col", ""), wrong: []string{"a.npz: ", "col"}},
		{name: "coo of rows that are no integers", text: change("coo", "row", reals(0, 1)), wrong: []string{"(row.npy)"}},
		{name: "bsr", text: change("bsr"), want: "sparse 2×3 0,1=1 1,0=2"},
		{name: "format in UTF-32", text: change("csr", "format", string(npyHeader("<U3", "()"))+"c\x00\x00\x00s\x00\x00\x00r\x00\x00\x00"), want: "sparse 2×3 0,1=1 1,0=2"},
		{name: "format in big-endian UTF-32", text: change("csr", "format", string(npyHeader(">U4", "()"))+"\x00\x00\x00c\x00\x00\x00s\x00\x00\x00r\x00\x00\x00\x00"), want: "sparse 2×3 0,1=1 1,0=2"},
		{name: "stored", text: stored, want: "dense 1×1 [1]"},
		{name: "empty", text: "", wrong: []string{"a.npz: ", "truncated"}},
		{name: "text", text: "hello", wrong: []string{"not a NumPy .npz archive"}},
		{name: "npy", text: string(npyHeader("<f8", "(0, 0)")), wrong: []string{"a NumPy .npy file"}},
		{name: "cut", text: good[:len(good)-30], wrong: []string{"truncated"}},
		{name: "bad checksum", text: flipped, wrong: []string{"a.npz(arr_0.npy): byte 136: ", "checksum"}},
		{name: "no array", text: npzOf(nil), wrong: []string{"no array"}},
		{name: "member twice", text: zipOf(zip.Deflate, "arr_0.npy", one, "arr_0.npy", one), wrong: []string{"twice"}},
		{name: "format not read", text: change("lil"), wrong: []string{`"lil"`, "tocsr"}},
		{name: "format a number", text: change("csr", "format", reals(1)), wrong: []string{"one word"}},
		{name: "format of two words", text: change("csr", "format", string(npyHeader("|S3", "(2,)"))+"csrcsr"), wrong: []string{"(format.npy)", "one word"}},
		{name: "bytes after the format", text: change("csr", "format", word("csr")+"x"), wrong: []string{"(format.npy)", "bytes follow"}},
		{name: "format a very long word", text: change("csr", "format", string(npyHeader("|S1000000000", "()"))+"csr"), wrong: []string{"(format.npy)", `"|S1000000000" cannot be read`}},
		{name: "no shape", text: change("csr", "shape", ""), wrong: []string{"no array shape"}},
		{name: "shape of three", text: change("csr", "shape", ints(2, 3, 1)), wrong: []string{"(shape.npy)", "3 numbers"}},
		{name: "negative shape", text: change("csr", "shape", ints(2, -3)), wrong: []string{"2×-3"}},
		{name: "shape of reals", text: change("csr", "shape", reals(2, 3)), wrong: []string{"integers"}},
		{name: "no data", text: change("csr", "data", ""), wrong: []string{"no array data"}},
		{name: "data of text", text: change("coo", "data", string(npyHeader("|S1", "(2,)"))+"ab"), wrong: []string{"text"}},
		{name: "indices of reals", text: change("csr", "indices", reals(1, 0)), wrong: []string{"(indices.npy)", "integers"}},
		{name: "too few pointers", text: change("csr", "indptr", ints(0, 2)), wrong: []string{"(indptr.npy)", "2 pointers", "3 are needed"}},
		{name: "pointers back", text: change("csr", "shape", ints(3, 3), "indptr", ints(0, 3, 1, 2)), wrong: []string{"(indptr.npy)", "do not increase"}},
		{name: "pointers not from 0", text: change("csr", "indptr", ints(1, 1, 2)), wrong: []string{"from 1 to 2"}},
		{name: "pointers beyond", text: change("csr", "indptr", ints(0, 1, 3)), wrong: []string{"from 0 to 3"}},
		{name: "too few values", text: change("csr", "data", reals(1)), wrong: []string{"1 values"}},
		{name: "index too large", text: change("csr", "indices", ints(1, 3)), wrong: []string{"index 3", "between 0 and 2"}},
		{name: "index negative", text: change("csr", "indices", ints(-1, 0)), wrong: []string{"index -1"}},
		{name: "index of 4 bytes too large", text: change("csr", "indices", narrow("<i4", 1, 3)), wrong: []string{"(indices.npy)", "index 3", "between 0 and 2"}},
		{name: "index of 4 bytes negative", text: change("csr", "indices", narrow("<i4", 1, math.MaxUint32)), wrong: []string{"index -1"}},
		{name: "index of 4 bytes far too large", text: change("csr", "indices", narrow("<u4", 1, math.MaxUint32)), wrong: []string{"index 4294967295"}},
		{name: "data of csr as text", text: change("csr", "data", string(npyHeader("|S1", "(2,)"))+"ab"), wrong: []string{"text"}},
		{name: "data of csr in two dimensions", text: change("csr", "data", string(npyHeader("<f8", "(2, 1)"))+reals(1, 2)[128:]), wrong: []string{"2 dimensions instead of one"}},
		{name: "pointers in two dimensions", text: change("csr", "indptr", string(npyHeader("<i8", "(3, 1)"))+ints(0, 1, 2)[128:]), wrong: []string{"(indptr.npy)", "2 dimensions instead of one"}},
		{name: "bytes after the values of a csr", text: change("csr", "data", reals(1, 2)+"x"), wrong: []string{"(data.npy)", "bytes follow"}},
		{name: "bytes after the indices of a csr", text: change("csr", "indices", ints(1, 0)+"x"), wrong: []string{"(indices.npy)", "bytes follow"}},
		{name: "csr cut", text: change("csr", "indices", ints(1, 0)[:140]), wrong: []string{"(indices.npy)", "truncated"}},
		{name: "more indices than there can be", text: change("csr", "indptr", ints(0, 1, 1e9), "indices", many("<i4"), "data", many("|u1")), wrong: []string{"(indices.npy)", "1000000000 numbers", "4000000000 bytes", "cannot hold more"}},
		{name: "more values than there can be", text: change("csr", "indptr", ints(0, 0, 4e4), "indices", narrow("<i4", make([]uint32, 4e4)...), "data", string(npyHeader("<f8", "(40000,)"))), wrong: []string{"(data.npy)", "40000 numbers", "cannot hold more"}},
		{name: "row too large", text: change("coo", "row", ints(0, 2)), wrong: []string{"(row.npy)", "index 2", "between 0 and 1"}},
		{name: "column too large", text: change("coo", "col", ints(0, 3)), wrong: []string{"(col.npy)", "index 3", "between 0 and 2"}},
		{name: "coo of too few rows", text: change("coo", "row", ints(0)), wrong: []string{"1 rows, 2 columns and 2 values"}},
		{name: "coo of values in two dimensions", text: change("coo", "data", string(npyHeader("<f8", "(2, 1)"))+reals(1, 2)[128:]), wrong: []string{"(data.npy)", "do not agree"}},
		{name: "bytes after the columns of a coo", text: change("coo", "col", ints(1, 0)+"x"), wrong: []string{"(col.npy)", "bytes follow"}},
		{name: "bytes after the values of a coo", text: change("coo", "data", reals(1, 2)+"x"), wrong: []string{"(data.npy)", "bytes follow"}},
		{name: "bytes after the indices of a csc", text: change("csc", "indices", ints(1, 0)+"x"), wrong: []string{"(indices.npy)", "bytes follow"}},
		{name: "coo lengths", text: change("coo", "col", ints(0)), wrong: []string{"2 rows, 1 columns and 2 values"}},
		{name: "csr index of csc", text: change("csc", "indices", ints(1, 3)), wrong: []string{"index 3", "between 0 and 2"}},
		{name: "blocks do not tile", text: change("bsr", "data", string(npyHeader("<f8", "(1, 1, 2)"))+reals(1, 2)[128:]), wrong: []string{"1×2 do not tile"}},
		{name: "blocks too high", text: change("bsr", "data", string(npyHeader("<f8", "(1, 2, 1)"))+reals(1, 2)[128:], "shape", ints(3, 3)), wrong: []string{"2×1 do not tile a 3×3"}},
		{name: "blocks without width", text: change("bsr", "data", string(npyHeader("<f8", "(1, 1, 0)"))), wrong: []string{"1×0 do not tile"}},
		{name: "zeros of blocks", text: change("bsr", "data", string(npyHeader("<f8", "(2, 1, 1)"))+reals(0, 2)[128:]), want: "sparse 2×3 1,0=2"},
		{name: "zeros of csc", text: change("csc", "data", reals(0, 2)), want: "sparse 3×2 0,1=2 1,0=0"},
		{name: "blocks larger than a matrix without rows", text: change("bsr", "shape", ints(0, 3), "data", string(npyHeader("<f8", "(0, 2, 1)")), "indices", ints(), "indptr", ints(0)), wrong: []string{"2×1 do not tile a 0×3"}},
		{name: "blocks without size", text: change("bsr", "data", string(npyHeader("<f8", "(1, 0, 1)"))), wrong: []string{"0×1 do not tile"}},
		{name: "blocks flat", text: change("bsr", "data", reals(1, 2)), wrong: []string{"1 dimensions instead of 3"}},
	})
}

// TestNPZRows: a csr archive that is read in several pieces gives every value, wherever one of them is not 1,
// and no values if all are 1. Repeated entries of a row are summed and counted, and columns are sorted.
// Reading needs hardly any memory besides the file and the arrays of the matrix.
func TestNPZRows(t *testing.T) {
	const n, perRow = 5*arrayChunk + 3, 7
	rng := rand.New(rand.NewPCG(1, 2))
	for _, other := range []int{-1, 0, arrayChunk - 1, arrayChunk, 3*arrayChunk + 17, n - 1} {
		for _, repeats := range []bool{false, true} {
			col, val := make([]int32, n), make([]float64, n)
			rowPtr := []int64{0}
			want := map[[2]int32]float64{}
			for p := range n {
				val[p] = 1
				if p == other {
					val[p] = 0.5 + float64(p%2)*2
				}
				if p%perRow == 0 && p > 0 {
					rowPtr = append(rowPtr, int64(p))
				}
				row := int32(len(rowPtr) - 1)
				for col[p] = rng.Int32N(1000); want[[2]int32{row, col[p]}] != 0; {
					col[p] = rng.Int32N(1000)
				}
				if repeats && p%perRow == 3 {
					col[p] = col[p-2]
				}
				want[[2]int32{row, col[p]}] += val[p]
			}
			rowPtr = append(rowPtr, n)
			rows := len(rowPtr) - 1
			var b []byte
			member := func(descr, shape string, add func()) string {
				b = npyHeader(descr, shape)
				add()
				return string(b)
			}
			file := npzOf(map[string]string{
				"format": string(npyHeader("|S3", "()")) + "csr",
				"shape": member("<i8", "(2,)", func() {
					b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, uint64(rows)), 1000)
				}),
				"indptr": member("<i4", fmt.Sprintf("(%d,)", rows+1), func() {
					for _, p := range rowPtr {
						b = binary.LittleEndian.AppendUint32(b, uint32(p))
					}
				}),
				"indices": member("<i4", fmt.Sprintf("(%d,)", n), func() {
					for _, c := range col {
						b = binary.LittleEndian.AppendUint32(b, uint32(c))
					}
				}),
				"data": member("<f8", fmt.Sprintf("(%d,)", n), func() {
					for _, v := range val {
						b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
					}
				}),
			})
			table, err := Read(strings.NewReader(file), "a.npz", Options{})
			if err != nil {
				t.Fatal(err)
			}
			m := table.Sparse
			if r, c := m.Dims(); r != rows || c != 1000 || int(m.NNZ()) != len(want) || table.Duplicates != int64(n-len(want)) {
				t.Fatalf("other %d, repeats %v: %d×%d with %d entries, %d repeated; want %d×1000 with %d, %d", other, repeats, r, c, m.NNZ(), table.Duplicates, rows, len(want), n-len(want))
			}
			if (m.Val == nil) != (other < 0 && !repeats) {
				t.Errorf("other %d, repeats %v: values kept: %v, want the opposite", other, repeats, m.Val != nil)
			}
			for i := range rows {
				cols, vals := m.Row(i)
				if !slices.IsSorted(cols) {
					t.Fatalf("other %d, repeats %v: row %d has columns %v", other, repeats, i, cols)
				}
				for k, c := range cols {
					v := 1.0
					if vals != nil {
						v = vals[k]
					}
					if v != want[[2]int32{int32(i), c}] {
						t.Fatalf("other %d, repeats %v: entry %d,%d is %v, want %v", other, repeats, i, c, v, want[[2]int32{int32(i), c}])
					}
				}
			}
			if !repeats { // 4 bytes for each entry, 12 with a value, and 16 for each row
				need := int64(len(file)) + 4*n + 8*2*int64(rows+1)
				if other >= 0 {
					need += 8 * n
				}
				for limit, wantErr := range map[int64]error{need - n: ErrTooLarge, need + need/4: nil} {
					if _, err := Read(strings.NewReader(file), "a.npz", Options{MaxBytes: limit}); !errors.Is(err, wantErr) {
						t.Errorf("limit %d bytes: error %v, want %v", limit, err, wantErr)
					}
				}
			}
		}
	}
}

// TestSciPyReads: SciPy and NumPy read the files that Create writes, with the right types, shapes and values.
// It needs python3 with SciPy and is skipped without.
func TestSciPyReads(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-c", "import scipy.sparse").Run() != nil {
		t.Skip("no python3 with SciPy")
	}
	dir := t.TempDir()
	for file, text := range map[string]string{
		"a.npz": smallMTX, "ones.npz": "%%MatrixMarket matrix coordinate pattern general\n3 2 1\n3 2\n", "dense.npz": "%%MatrixMarket matrix array real general\n1 2\n5e-324\n-0\n",
		"a.npy": smallMTX, "a.mtx": smallMTX, "array.mtx": "%%MatrixMarket matrix array real symmetric\n2 2\n1.5\n2\n1e300\n",
	} {
		table, err := Read(strings.NewReader(text), "x.mtx", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := Create(filepath.Join(dir, file), table, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	script := `
import numpy, scipy.io, scipy.sparse
def show(x): print(type(x).__name__, x.dtype, x.shape, x.toarray().tolist() if scipy.sparse.issparse(x) else x.tolist())
show(scipy.sparse.load_npz("a.npz")); show(scipy.sparse.load_npz("ones.npz")); show(numpy.load("dense.npz")["arr_0"])
show(numpy.load("a.npy")); show(scipy.io.mmread("a.mtx")); show(scipy.io.mmread("array.mtx"))
`
	cmd := exec.Command(python, "-c", script)
	cmd.Dir = dir
	got, err := cmd.CombinedOutput()
	want := `csr_matrix float64 (2, 2) [[1.5, 0.0], [2.0, 0.0]]
csr_matrix float64 (3, 2) [[0.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
ndarray float64 (1, 2) [[5e-324, -0.0]]
ndarray float64 (2, 2) [[1.5, 0.0], [2.0, 0.0]]
coo_matrix float64 (2, 2) [[1.5, 0.0], [2.0, 0.0]]
ndarray float64 (2, 2) [[1.5, 2.0], [2.0, 1e+300]]
`
	if err != nil || string(got) != want {
		t.Errorf("%v, got\n%swant\n%s", err, got, want)
	}
}

// TestUnsortedLimit: the memory limit counts what sorting the longest row of an archive needs, if its columns
// are not in order, besides the values if they are not all 1.
func TestUnsortedLimit(t *testing.T) {
	const n = 1 << 15
	for _, val := range [][]float64{nil, slices.Repeat([]float64{2}, n)} {
		col := make([]int32, n)
		for j := range col {
			col[j] = int32(j)
		}
		m, err := matrix.NewCSR(1, n, []int64{0, n}, col, val)
		if err != nil {
			t.Fatal(err)
		}
		least := func() int64 {
			var b bytes.Buffer
			if err := Write(&b, &Table{Sparse: m}, "npz"); err != nil {
				t.Fatal(err)
			}
			lo, hi := int64(0), int64(1<<22)
			for hi-lo > 1000 {
				mid := (lo + hi) / 2
				if _, err := Read(bytes.NewReader(b.Bytes()), "a.npz", Options{MaxBytes: mid, Threads: 1}); err == nil {
					hi = mid
				} else if errors.Is(err, ErrTooLarge) {
					lo = mid
				} else {
					t.Fatal(err)
				}
			}
			return hi - int64(b.Len())
		}
		sorted := least()
		slices.Reverse(col)
		if unsorted := least(); unsorted < sorted+15*n {
			t.Errorf("values %v: besides the file, a row with sorted columns needs %d bytes and one in reverse %d, "+
				"want at least 15 bytes a column more", val != nil, sorted, unsorted)
		}
	}
}
