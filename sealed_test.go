package symnmf_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"symnmf"
	"symnmf/matrix"
)

type (
	myStart  struct{ symnmf.Start }
	mySolver struct{ symnmf.Solver }
)

// TestSealed: Factorize refuses a type of the caller that embeds a Solver or a Start, since it would evade
// the checks of the one inside.
func TestSealed(t *testing.T) {
	a, err := matrix.FromDense(matrix.NewDense(2, 2, []float64{2, 1, 1, 2}), 0)
	if err != nil {
		t.Fatal(err)
	}
	large := symnmf.Given{H: matrix.NewDense(9, 9, nil)}
	for want, opt := range map[string]symnmf.Options{
		"Start is a symnmf_test.myStart, want a type of this package":     {Start: myStart{large}},
		"Solver is a symnmf_test.mySolver, want a type of this package":   {Solver: mySolver{symnmf.MU{}}},
		"LAI.Over is a symnmf_test.mySolver, want a type of this package": {Solver: symnmf.LAI{Over: mySolver{symnmf.CD{}}}},
	} {
		res, err := symnmf.Factorize(context.Background(), a, 1, opt)
		if res != nil || !errors.Is(err, symnmf.ErrOption) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
