package main

import (
	"symnmf"
	"symnmf/matrix"
)

// original is the data from which INPUT was made sparse. H is fitted to INPUT, and its error is reported
// against both.
type original struct {
	*dataset
	a     matrix.Operator
	place []int // item i of INPUT is item place[i] of the original; nil if the order is the same
}

// wholeError is the part of run.json about the error against the original.
type wholeError struct {
	Input       string `json:"input"`
	InputSHA256 string `json:"input_sha256"`
	Format      string `json:"format"`
	Items       string `json:"items"`
	NormA       number `json:"norm_a"`
	RelErr      number `json:"relative_error"`
	ErrFloor    number `json:"error_floor"`
}

// openOriginal reads the --original file and finds the items of d in it. It returns nil if there is no such
// file.
func (f *fitFlags) openOriginal(d *dataset, s *streams) (*original, error) {
	if f.whole.name == "" {
		return nil, nil
	}
	table, ids := d.bytes()
	f.whole.memory, f.whole.held = f.input.memory, table+ids
	whole, err := f.whole.open(s)
	if err != nil {
		return nil, err
	}
	err = whole.repair(f.repairs)
	whole.tell(s, whole.name+": ")
	if err != nil {
		return nil, err
	}
	o := &original{dataset: whole}
	if whole.n() != d.n() {
		return nil, inputf("--original %s: it has %s, but %s has %d: the numbers must be equal", whole.name, count(int64(whole.n()), "item", "items"),
			d.name, d.n())
	}
	o.place, err = places(d, whole)
	return o, err
}

// places finds the items of d in the original by name if both have names. Otherwise it returns nil: the order
// is the same.
func places(d, whole *dataset) ([]int, error) {
	if d.ids() == nil || whole.ids() == nil {
		return nil, nil
	}
	at := make(map[string]int, whole.n())
	for i, id := range whole.ids() {
		at[id] = i
	}
	place := make([]int, d.n())
	taken := make([]bool, d.n())
	for i, id := range d.ids() {
		p, found := at[id]
		switch {
		case !found:
			return nil, inputf("--original %s: item %s of %s is not in it", whole.name, id, d.name)
		case taken[p]:
			return nil, inputf("--original %s: item %s occurs twice in %s", whole.name, id, d.name)
		}
		place[i], taken[p] = p, true
	}
	return place, nil
}

// measure returns the error of h against the original. The rows of h are in the order of INPUT.
func (o *original) measure(h *matrix.Dense, opt symnmf.Options) (*wholeError, error) {
	if o.place != nil {
		n, r := h.Dims()
		ordered := matrix.NewDense(n, r, nil)
		for i, p := range o.place {
			copy(ordered.Row(p), h.Row(i))
		}
		h = ordered
	}
	relErr, floor, err := symnmf.RelErr(o.a, h, opt)
	if err != nil {
		return nil, err
	}
	counts := o.a
	if opt.IgnoreDiagonal {
		counts = counts.OffDiagonal()
	}
	return &wholeError{
		Input: o.input, InputSHA256: o.sha256, Format: o.format, Items: o.items, NormA: number(counts.Norm()), RelErr: number(relErr),
		ErrFloor: number(floor),
	}, nil
}
