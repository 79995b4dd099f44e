package main

import (
	"fmt"

	"symnmf/internal/experiment"
	"symnmf/matrix"
)

// benchFits returns an error if a run of bench would need more than limit bytes.
func benchFits(need experiment.Need, limit int64) error {
	predicted := benchAhead(need)
	if predicted <= mostBytes(limit) {
		return nil
	}
	return tooMuch(fmt.Errorf("%s is predicted to need %s", need.Key, showBytes(predicted)), limit,
		"smaller sets or ranks in the plan, or a selection without that run (--experiments, --sets, --methods)")
}

// benchAhead predicts the most bytes that a run of bench needs at once, including the table.
func benchAhead(need experiment.Need) float64 {
	sh := shape{
		rows: need.Rows, cols: need.Cols, items: need.Items, sparse: need.Sparse, stored: need.Stored, table: need.Bytes(), held: need.Held,
		rank: need.Rank, runs: 1, bound: true,
	}
	if need.Items == "" {
		sh.items = similarity
	}
	if x, sparse := need.Table.(*matrix.CSR); sparse {
		sh.countFeatures(x)
	}
	predicted := 0.0
	if m := need.Method; m != nil {
		sh.method, sh.init = m.Name, m.Start
		for key, value := range m.Knobs {
			sh.knob(key, value)
		}
		predicted = sh.ahead()
	} else {
		n, p := sh.size()
		a, prepare, points := sh.operator()
		predicted = program + slack*(sh.held+max(prepare, a+sh.eigen(n, p, points)))
	}
	return max(predicted, program+slack*need.Making)
}
