package report

import (
	"math"
	"strconv"
	"strings"
)

// axis maps lo … hi to 0 … 1.
type axis struct {
	lo, hi float64
	log    bool
	ticks  []tick
	minor  []float64 // marks without a label
}

type tick struct {
	v     float64
	label label
}

// label is text with an exponent: {"2·10", "−5"}.
type label struct{ text, sup string }

func (l label) width(size float64) float64 {
	return measure(l.text, size) + measure(l.sup, supSize*size)
}

// at returns the place of v, which lies in 0 … 1 for lo ≤ v ≤ hi. Halves keep the difference of numbers near
// ±1e300 finite.
func (a axis) at(v float64) float64 {
	lo, hi := a.lo/2, a.hi/2
	if a.log {
		lo, hi, v = math.Log10(a.lo), math.Log10(a.hi), math.Log10(v)
	} else {
		v /= 2
	}
	return (v - lo) / (hi - lo)
}

// newAxis returns an axis without ticks for values from lo to hi; lo > hi means that there are none. It leaves 4 % at
// both ends, but does not go below zero where no value does. Values that are all equal, to a billionth, or all below
// 1e-290 in magnitude come to lie in the middle.
func newAxis(lo, hi float64, log bool) axis {
	const pad, equal, tiny = 0.04, 1e-9, 1e-290
	switch {
	case lo > hi && log:
		lo, hi = 1, 10
	case lo > hi:
		lo, hi = 0, 1
	case log && math.Log10(hi)-math.Log10(lo) < equal:
		lo, hi = lo/math.Sqrt(10), hi*math.Sqrt(10)
	case log:
		margin := math.Pow(10, pad*(math.Log10(hi)-math.Log10(lo)))
		lo, hi = max(lo/margin, 1e-307), min(hi*margin, 1e307) // float64 has only some 600 decades
	case max(math.Abs(lo), math.Abs(hi)) < tiny:
		lo, hi = -1, 1
	case hi/2-lo/2 <= equal*max(math.Abs(lo), math.Abs(hi)):
		half := math.Abs(lo) / 2
		lo, hi = lo-half, hi+half
	default:
		margin := 2 * pad * (hi/2 - lo/2)
		if least := lo; least < 0 || least >= margin {
			lo = least - margin
		} else {
			lo = 0
		}
		hi += margin
	}
	return axis{lo: lo, hi: hi, log: log}
}

// setTicks chooses round values for at most most labels, or fewer if fits refuses them.
func (a *axis) setTicks(most int, fits func(ticks []tick) bool) {
	for ; ; most-- {
		a.ticks, a.minor = nil, nil
		if a.log {
			a.logTicks(most)
		} else {
			a.ticks = linearTicks(a.lo, a.hi, most)
		}
		if most <= 1 || fits(a.ticks) {
			return
		}
	}
}

// roundStep returns the least m·10^exp ≥ span/most with m = 1, 2 or 5.
func roundStep(span float64, most int) (m float64, exp int) {
	raw := span / float64(max(most, 1))
	exp = int(math.Floor(math.Log10(raw)))
	for {
		for _, m := range []float64{1, 2, 5} {
			if m*math.Pow10(exp) >= raw*(1-1e-9) {
				return m, exp
			}
		}
		exp++
	}
}

// linearTicks returns at most most+1 multiples of a round step.
func linearTicks(lo, hi float64, most int) (ticks []tick) {
	m, exp := roundStep(2*(hi/2-lo/2), most)
	step := m * math.Pow10(exp)
	var values []float64
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+1e-9*step; i++ {
		values = append(values, i*step)
	}
	var largest float64
	for _, v := range values {
		largest = max(largest, math.Abs(v))
	}
	for _, v := range values {
		ticks = append(ticks, tick{v, linearLabel(v, largest, exp)})
	}
	return ticks
}

// linearLabel writes v, a multiple of 10^exp, in the same form as the other labels, of which largest is the largest in
// magnitude: 0.25, 1200, 2.5·10⁻⁷.
func linearLabel(v, largest float64, exp int) label {
	power := 0
	if v != 0 && (largest >= 1e6 || largest < 1e-3) {
		power = int(math.Floor(math.Log10(largest) + 1e-9))
	}
	if math.Abs(v) < math.Pow10(exp)/2 {
		return label{"0", ""}
	}
	text := strings.Replace(strconv.FormatFloat(v/math.Pow10(power), 'f', max(0, power-exp), 64), "-", "−", 1)
	if power == 0 {
		return label{text, ""}
	}
	return label{text + "·10", superscript(power)}
}

func superscript(exp int) string { return strings.Replace(strconv.Itoa(exp), "-", "−", 1) }

// logTicks labels every power of ten, or every second, third, … of them. If fewer than two powers of ten lie on
// the axis, it labels 1, 2 and 5 times powers of ten. If these are fewer than two or more than most, it labels
// the multiples of a round step.
func (a *axis) logTicks(most int) {
	first, last := int(math.Ceil(math.Log10(a.lo)-1e-9)), int(math.Floor(math.Log10(a.hi)+1e-9))
	plain := a.lo >= 0.5e-3 && a.hi < 5e4
	if count := last - first + 1; count >= 2 {
		every := (count + most - 1) / max(most, 1)
		for exp := first - 1; exp <= last; exp++ {
			v := math.Pow10(exp)
			switch {
			case exp < first:
			case mod(exp, every) == 0:
				a.ticks = append(a.ticks, tick{v, powerLabel(1, exp, plain)})
			default:
				a.minor = append(a.minor, v)
			}
			for m := 2.0; m < 10 && every == 1; m++ {
				if a.lo <= m*v && m*v <= a.hi {
					a.minor = append(a.minor, m*v)
				}
			}
		}
		return
	}
	for exp := first - 1; exp <= last; exp++ {
		for m := 1.0; m < 10; m++ {
			switch v := m * math.Pow10(exp); {
			case v < a.lo || v > a.hi:
			case m == 1 || m == 2 || m == 5:
				a.ticks = append(a.ticks, tick{v, powerLabel(m, exp, plain)})
			default:
				a.minor = append(a.minor, v)
			}
		}
	}
	if len(a.ticks) < 2 || len(a.ticks) > most {
		a.ticks, a.minor = linearTicks(a.lo, a.hi, most), nil
	}
}

// powerLabel writes m·10^exp, plain or with an exponent.
func powerLabel(m float64, exp int, plain bool) label {
	switch {
	case plain || exp == 0:
		return label{strconv.FormatFloat(m*math.Pow10(exp), 'f', max(0, -exp), 64), ""}
	case m == 1:
		return label{"10", superscript(exp)}
	}
	return label{strconv.FormatFloat(m, 'f', 0, 64) + "·10", superscript(exp)}
}

func mod(a, b int) int { return ((a % b) + b) % b }
