package symnmf

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"time"
)

// Stop bounds a run; the first bound reached ends it. There must be a limit on sweeps or on time.
type Stop struct {
	// Sweeps is the largest number of sweeps; 0 means 1000, and a negative number no limit.
	Sweeps int
	// Time is the longest time a run may take; 0 means no limit. It is checked between pieces of work: a
	// column of H with CD, a block of rows with RowBlock, a factor with methods that have two, a step with
	// methods that change all of H at once, a product with A while a low rank in place of A is computed. The
	// time that Options.Progress and a trace take does not count, except with kicks at once (Options.AtOnce).
	Time time.Duration
	// KKT is the KKT residual at which a run has converged; 0 means 1e-4, and a negative number never.
	//
	// From TSVDStart the residual is small before the error has come to rest. So a run from there goes on as
	// long as the error falls, per sweep, by more than 1e-5 of ‖A‖, or by more than a hundredth of itself
	// while it is above 1e-5. With ℓ₁ weights, twice the root of the objective takes the place of the error.
	// With a KKT above 1e-4 both bounds on the fall are larger by the same factor.
	KKT float64
	// RelChange ends a run when the objective falls by no more than this part of itself a sweep, on average
	// over the sweeps since it was last known; 0 means never.
	RelChange float64
}

const (
	defaultSweeps = 1000
	defaultKKT    = 1e-4
)

// limits returns s with its defaults filled in, where 0 means no limit.
func (s Stop) limits() Stop {
	switch {
	case s.Sweeps == 0:
		s.Sweeps = defaultSweeps
	case s.Sweeps < 0:
		s.Sweeps = 0
	}
	switch {
	case s.KKT == 0:
		s.KKT = defaultKKT
	case s.KKT < 0:
		s.KKT = 0
	}
	return s
}

// check reports the first option that makes no sense for an n×n matrix and rank r.
func (o *Options) check(n, r int) error {
	l := o.Stop.limits()
	switch {
	case l.Sweeps == 0 && l.Time == 0:
		return fmt.Errorf("%w: Stop has neither a sweep limit nor a time limit", ErrOption)
	case l.Time < 0:
		return fmt.Errorf("%w: Stop.Time = %v, want 0 or more", ErrOption, l.Time)
	case math.IsNaN(l.KKT) || math.IsNaN(l.RelChange) || l.RelChange < 0:
		return fmt.Errorf("%w: Stop.KKT = %v, Stop.RelChange = %v, want numbers, the second 0 or more", ErrOption, l.KKT, l.RelChange)
	case o.Runs < 0:
		return fmt.Errorf("%w: Runs = %d, want 0 or more", ErrOption, o.Runs)
	case o.Kicks < 0:
		return fmt.Errorf("%w: Kicks = %d, want 0 or more", ErrOption, o.Kicks)
	case o.AtOnce < 0:
		return fmt.Errorf("%w: AtOnce = %d, want 0 or more", ErrOption, o.AtOnce)
	case o.Threads < 0:
		return fmt.Errorf("%w: Threads = %d, want 0 or more", ErrOption, o.Threads)
	case o.Bound < NoBound || o.Bound > AnyBound:
		return fmt.Errorf("%w: Bound = %d", ErrOption, o.Bound)
	case len(o.L1) > 1 && len(o.L1) != r:
		return fmt.Errorf("%w: %d weights in L1, want 1 or r = %d", ErrOption, len(o.L1), r)
	}
	for j, w := range o.L1 {
		if !(w >= 0) || math.IsInf(w, 0) {
			return fmt.Errorf("%w: L1[%d] = %v, want a finite weight ≥ 0", ErrOption, j, w)
		}
	}
	if err := cmp.Or(ours("Solver", o.Solver), ours("Start", o.Start)); err != nil {
		return err
	}
	if g, given := o.Start.(Given); given {
		if err := g.check(n, r); err != nil {
			return err
		}
	}
	if o.Runs > 1 && o.Start != nil {
		_, random := o.Start.(Random)
		if _, turned := o.Start.(TSVDStart); !random && !turned {
			return fmt.Errorf("%w: Runs = %d needs a random or tsvd start, but Start is %s", ErrOption, o.Runs, o.Start.Name())
		}
	}
	return nil
}

// ours refuses what the compiler lets pass: a pointer where the value it points to is wanted, and a type of
// another package that embeds one of this package.
func ours(name string, x any) error {
	kind := reflect.TypeOf(x)
	switch {
	case kind == nil:
	case kind.Kind() == reflect.Pointer:
		return fmt.Errorf("%w: %s is a %v, want the %v itself", ErrOption, name, kind, kind.Elem())
	case kind.PkgPath() != reflect.TypeFor[Options]().PkgPath():
		return fmt.Errorf("%w: %s is a %v, want a type of this package", ErrOption, name, kind)
	}
	return nil
}

func threads(n int) int {
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	return min(n, mostThreads)
}

// mostThreads is far beyond what helps: each thread is a goroutine that looks for work.
const mostThreads = 1024

// powerOf4 returns c = 4^k with 1 ≤ c·norm < 4, or as near to that as the exponents of float64 allow; 1 for
// norm = 0.
func powerOf4(norm float64) float64 {
	if norm == 0 {
		return 1
	}
	_, e := math.Frexp(norm) // 2^(e−1) ≤ norm < 2^e
	return math.Ldexp(1, min(max(2*floorDiv(2-e, 2), -1022), 1022))
}

// clock measures the time of a run without the pauses.
type clock struct {
	now     func() time.Time
	begin   time.Time
	paused  time.Duration
	resting bool
	rest    time.Time // when the pause at hand began
}

func newClock(now func() time.Time) *clock { return &clock{now: now, begin: now()} }

func (c *clock) elapsed() time.Duration {
	if c.resting {
		return c.rest.Sub(c.begin) - c.paused
	}
	return c.now().Sub(c.begin) - c.paused
}

// pause does work off the clock.
func (c *clock) pause(work func()) {
	if c.resting {
		work()
		return
	}
	c.resting, c.rest = true, c.now()
	work()
	c.resting = false
	c.paused += c.now().Sub(c.rest)
}
