package matio_test

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"symnmf/matio"
)

func ExampleRead() {
	edges := strings.NewReader("ann bob 2\nbob cid 0.5\n")
	t, err := matio.Read(edges, "standard input", matio.Options{Format: "edges"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.RowIDs, t.Sparse, t.Symmetric)
	if err := matio.Write(os.Stdout, t, "csv"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// [ann bob cid] matrix.CSR 3×3, 4 stored true
	// ,ann,bob,cid
	// ann,0,2,0
	// bob,2,0,0.5
	// cid,0,0.5,0
}

func ExampleErrFormat() {
	_, err := matio.Read(strings.NewReader("1,2\n3,x\n"), "table.csv", matio.Options{})
	fmt.Println(errors.Is(err, matio.ErrFormat), err)
	// Output: true matio: table.csv:2: column 2: "x" is not a number
}
