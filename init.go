package symnmf

import (
	"fmt"
	"math"

	"symnmf/internal/kernel"
	"symnmf/internal/rules"
	"symnmf/matrix"
)

// Start is the first H of a run: Zero, Random, SVDStart, TSVDStart, LAIStart or Given.
type Start interface {
	// Name is the start's name in Starts and in files.
	Name() string
	// fill writes the start of the given run, in scaled units, into h, which is zero.
	fill(p *problem, h *matrix.Dense, run int) error
}

// Zero is H = 0. Column 1 then approximates A alone and later columns what is left, so they come out sparser,
// and clusters less balanced, than from Random. Only coordinate descent and TSVD can leave it, the former
// only where some A_ii > 0. Otherwise CD and MBI plant a pair of entries and say so in Result.Notes, and
// RowBlock and Residual refuse the start. Where, besides, A does not list its entries (matrix.RowVisitor), as
// inner products without their diagonal, it is always refused.
type Zero struct{}

// Random is H₀ with independent uniform entries in [0, 1), times β* = argmin_β ‖A − β²H₀H₀ᵀ‖ (the paper, eq.
// 16), which makes ‖A−HHᵀ‖ ≤ ‖A‖ from the first sweep on. With an ℓ₁ term, or
// without the diagonal, β is the best for that objective.
type Random struct{}

// SVDStart is [B]₊ times the best multiple. B = U·√max(Λ, 0), n×r, has the r largest eigenvalues of A, and
// the signs with which the positive part of each column is the larger one. It is deterministic, except for
// eigenvalues that coincide, and near the answer where A is near rank r. Columns beyond the positive
// eigenvalues are zero. If a limit comes before the eigenpairs, the start is Random.
type SVDStart struct{}

// LAIStart is the answer of LAI, begun from Random, for a low rank in place of A, times the best multiple. It
// takes some products with A for most of the way to an answer.
type LAIStart struct{}

// Given is a start of the caller's own, n×r and ≥ 0, in the units of √A, with ‖HHᵀ‖ at most 10⁶·‖A‖. It is
// used as it is, and not changed. If A = 0, the answer is zero whatever the start.
type Given struct{ H *matrix.Dense }

const mostStart = 1e6 // times ‖A‖

// StartInfo is one line of the list of starts.
type StartInfo struct{ Name, Doc string }

// starts is the list. A new start with a name needs a line here, besides its own file.
var starts = []struct {
	start Start
	doc   string
}{
	{Zero{}, "H = 0; deterministic, for matrices with a positive diagonal"},
	{Random{}, "uniform entries, scaled to the best multiple"},
	{SVDStart{}, "positive part of the leading eigenvectors, scaled; deterministic, where A is near rank R"},
	{TSVDStart{}, "about the leading eigenvectors, turned to be nonnegative, scaled; mostly ends lower than the others, after fewer sweeps"},
	{LAIStart{}, "the answer for a randomized low rank in place of A, scaled"},
}

// Starts lists the starts that have a name.
func Starts() (list []StartInfo) {
	for _, s := range starts {
		list = append(list, StartInfo{s.start.Name(), s.doc})
	}
	return list
}

// ParseStart returns the start of that name. The error is an ErrOption.
func ParseStart(name string) (Start, error) {
	for _, s := range starts {
		if s.start.Name() == name {
			return s.start, nil
		}
	}
	return nil, fmt.Errorf("%w: start %q is not in the list", ErrOption, name)
}

// Name implements Start.
func (Zero) Name() string { return "zero" }

// Name implements Start.
func (Random) Name() string { return "random" }

// Name implements Start.
func (SVDStart) Name() string { return "svd" }

// Name implements Start.
func (LAIStart) Name() string { return "lai" }

// Name implements Start.
func (Given) Name() string { return "given" }

func (Zero) fill(*problem, *matrix.Dense, int) error { return nil }

func (Random) fill(p *problem, h *matrix.Dense, run int) error {
	u := uniform{key: kernel.Mix(p.seed) + uint64(run)}
	data := h.Data()
	kernel.Blocks(len(data), fillBlock, p.workers, func(_, lo, hi int) {
		u.fill(data[lo:hi], uint64(lo))
	})
	p.rescale(h)
	return nil
}

// fillBlock is how many numbers of a start are made as one part of the work.
const fillBlock = 1 << 14

func (SVDStart) fill(p *problem, h *matrix.Dense, run int) error {
	top, err := p.leading()
	if err != nil {
		return p.fillWithout(err, h, run)
	}
	for k, v := range top.b.Data() {
		h.Data()[k] = max(v, 0)
	}
	p.rescale(h)
	return nil
}

// fillWithout fills h where err has left its start without eigenvectors: at random if the reason is that the
// run has to end.
func (p *problem) fillWithout(err error, h *matrix.Dense, run int) error {
	if p.stop == nil || !p.stop() {
		return fmt.Errorf("%w: %w", ErrStart, err)
	}
	p.note("the run ended before the eigenvectors of its start were there, and began at random")
	return Random{}.fill(p, h, run)
}

func (LAIStart) fill(p *problem, h *matrix.Dense, run int) error {
	if err := (Random{}).fill(p, h, run); err != nil {
		return err
	}
	p.begun = startProducts{}
	p.lai(h, run, func() bool { return p.stop != nil && p.stop() })
	p.rescale(h)
	return nil
}

func (g Given) fill(p *problem, h *matrix.Dense, _ int) error {
	g.scaleTo(p, h)
	// From such a start, a sweep can only round H to a few columns, or to zero.
	if f := p.measure(h); f.hhSq > mostStart*mostStart*p.norm*p.norm {
		return fmt.Errorf("%w: ‖HHᵀ‖ is %.2g times ‖A‖; scale it down", ErrStart, math.Sqrt(f.hhSq)/p.norm)
	}
	return nil
}

func (g Given) scaleTo(p *problem, h *matrix.Dense) {
	s := math.Sqrt(p.scale)
	for k, v := range g.H.Data() {
		h.Data()[k] = v * s
	}
}

// check says what is wrong with H, before any work; nil means nothing is.
func (g Given) check(n, r int) error {
	if g.H == nil {
		return fmt.Errorf("%w: Given.H is nil", ErrStart)
	}
	if rows, cols := g.H.Dims(); rows != n || cols != r {
		return fmt.Errorf("%w: it is %d×%d, want %d×%d", ErrStart, rows, cols, n, r)
	}
	for k, v := range g.H.Data() {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("%w: entry [%d,%d] is %v, want a finite number ≥ 0", ErrStart, k/r, k%r, v)
		}
	}
	return nil
}

// rescale multiplies h by the best β ≥ 0 for the objective: the minimizer of β⁴·‖HᵀH‖²/4 − β²·⟨AH,H⟩/2 +
// β·Σ_jΛ_j‖h_j‖₁. Without ℓ₁ term that is β* of eq. 16, √(⟨AH,H⟩/‖HᵀH‖²). If the ℓ₁ term would make β zero,
// it is ignored, since coordinate descent can do better than the ray through h but starts badly from 0.
func (p *problem) rescale(h *matrix.Dense) { p.rescaleTo(h, 0) }

// rescaleTo is rescale with β rounded to the given number of significant bits, unless that is 0.
func (p *problem) rescaleTo(h *matrix.Dense, bits int) {
	d, products := p.gram(h), startProducts{}
	if p.n*p.r <= rules.MostKept {
		products = startProducts{ah: kernel.Numbers(p.n * p.r), d: d}
	}
	p.begun = products
	ah, hhSq, penalty := p.alongRay(h, d, products.ah)
	if hhSq <= 0 {
		return
	}
	beta := bestRoot(-ah/hhSq, penalty/hhSq)
	if beta == 0 {
		beta = bestRoot(-ah/hhSq, 0)
	}
	if bits > 0 {
		beta = rounded(beta, bits)
	}
	kernel.Scale(d, beta*beta)
	data := h.Data()
	kernel.Blocks(len(data), fillBlock, p.workers, func(_, lo, hi int) {
		kernel.Scale(data[lo:hi], beta)
		if products.ah != nil {
			kernel.Scale(products.ah[lo:hi], beta)
		}
	})
}

// uniform is a generator whose numbers are addressed, not drawn: the k-th depends only on key and k, so any
// part of a start can be made anywhere.
type uniform struct{ key uint64 }

// at returns the k-th number, uniform in [0, 1).
func (u uniform) at(k uint64) float64 { return float64(u.bits(k)>>11) * 0x1p-53 }

// fill sets dst to the numbers from first on.
func (u uniform) fill(dst []float64, first uint64) { kernel.Uniform(dst, u.key, first) }

// bits returns 64 bits for number k.
func (u uniform) bits(k uint64) uint64 { return kernel.Bits(u.key, k) }
