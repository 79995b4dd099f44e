package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"symnmf/internal/report"
)

// curve is E(t) of one run, from the end of its first sweep on. No value lies below the rounding floor.
type curve struct{ t, e []float64 }

func (d *drawer) curve(e *Experiment, r *Record) (c curve) {
	best := d.bestOf(e, r)
	floor := gapFloor(float64(r.ErrFloor), best)
	add := func(seconds, relErr float64) {
		c.t, c.e = append(c.t, seconds), append(c.e, max(gap(relErr, best), floor))
	}
	for k, sweep := range r.Trace.Sweep {
		if sweep > 0 {
			add(r.Trace.Seconds[k], float64(r.Trace.RelErr[k]))
		}
	}
	// The end is a further point. It is the only point of a run whose sweeps had no figures.
	if n := len(c.t); r.Sweeps > 0 && (n == 0 || r.Seconds > c.t[n-1]) {
		add(r.Seconds, float64(r.RelErr))
	}
	return c
}

// at returns E at a time t that is no less than the first: the last value at or before t.
func (c curve) at(t float64) float64 {
	k, found := slices.BinarySearch(c.t, t)
	if !found {
		k--
	}
	return c.e[k]
}

// gridPoints is how many points an average curve has.
const gridPoints = 200

// average returns the mean of E at equal times, from when all curves have begun to when the last has ended. A curve
// that has ended keeps its last value.
func average(curves []curve) (s report.Series) {
	first, last := 0.0, 0.0
	for _, c := range curves {
		first, last = max(first, c.t[0]), max(last, c.t[len(c.t)-1])
	}
	first = max(first, 1e-6) // the clock may show 0 after the first sweep
	for k := range gridPoints {
		t := first * math.Pow(last/first, float64(k)/(gridPoints-1))
		switch { // exact ends, without the rounding of Pow
		case k == 0:
			t = first
		case k == gridPoints-1:
			t = last
		}
		if k > 0 && t <= s.X[k-1] {
			break
		}
		sum := 0.0
		for _, c := range curves {
			sum += c.at(t)
		}
		s.X, s.Y = append(s.X, t), append(s.Y, sum/float64(len(curves)))
	}
	return s
}

// leastGap is the least E that is drawn where e_min comes from the best run. The E of that run would go to zero and
// leave no room for the others.
const leastGap = 1e-6

// chart draws E(t) of the methods; nil if there is nothing to draw.
func (d *drawer) chart(e *Experiment, c *column) *report.Chart {
	chart := &report.Chart{Name: cmp.Or(e.Figure, e.Name) + "-" + c.name, Title: cmp.Or(e.Title, e.Name) + ": " + c.title,
		XLabel: "seconds", YLabel: "E(t)", LogX: true, LogY: true}
	if e.Best == nil {
		chart.Floor = leastGap
	}
	for _, m := range e.Methods {
		var curves []curve
		for _, r := range c.by[m.Label] {
			if !r.ended() {
				continue
			}
			if one := d.curve(e, r); len(one.t) > 0 {
				curves = append(curves, one)
			}
		}
		if len(curves) == 0 {
			continue
		}
		s := average(curves)
		if len(curves) == 1 {
			s = report.Series{X: curves[0].t, Y: curves[0].e}
		}
		s.Name = m.Label
		for len(s.X) > 0 && s.X[0] <= 0 { // a time of 0 has no place on a logarithmic axis
			s.X, s.Y = s.X[1:], s.Y[1:]
		}
		if slices.ContainsFunc(s.Y, func(y float64) bool { return y > chart.Floor }) {
			chart.Series = append(chart.Series, s)
		}
	}
	if len(chart.Series) == 0 {
		return nil
	}
	return chart
}

// galleries draws the columns of H, dark where they are large.
func (d *drawer) galleries(e *Experiment, c *column) (list []*report.Gallery) {
	if e.Pictures == nil {
		return nil
	}
	w, h := e.Pictures.W, e.Pictures.H
	for _, m := range e.Methods {
		for _, r := range c.by[m.Label] {
			if len(r.Pictures) == 0 {
				continue
			}
			g := &report.Gallery{Name: cmp.Or(e.Figure, e.Name) + "-" + c.name + "-" + fileName(m.Label),
				Title: fmt.Sprintf("%s: %s, relative error %s %%", c.title, m.Label, percent(float64(r.RelErr))),
				W:     w, H: h, PerRow: int(math.Ceil(math.Sqrt(float64(r.Rank)))), Inverted: true}
			if len(c.set.Instances) > 1 {
				g.Name += fmt.Sprintf("-instance%d", r.Instance)
				g.Title += fmt.Sprintf(" (instance %d)", r.Instance)
			}
			if slices.ContainsFunc(c.by[m.Label], func(o *Record) bool { return o != r && o.Instance == r.Instance }) {
				g.Name += fmt.Sprintf("-seed%d-%d", r.Seed, r.Repeat)
				g.Title += fmt.Sprintf(" (seed %d)", r.Seed)
			}
			for at := 0; at+w*h <= len(r.Pictures); at += w * h {
				picture := make([]float64, w*h)
				for k, b := range r.Pictures[at : at+w*h] {
					picture[k] = float64(b) / 255
				}
				g.Pictures = append(g.Pictures, picture)
			}
			list = append(list, g)
		}
	}
	return list
}
