package symnmf

import (
	"symnmf/internal/kernel"
	"symnmf/internal/rules"
)

// turnProducts computes Bᵀ·[B·Y]₊ in float32, since all that comes of it is a direction.
type turnProducts struct {
	team        *kernel.Team
	n, k, r     int // B is n×k, and Y k×r
	wide, pitch int // columns of products, and the distance between their rows in float32
	rows        int // of B in a part
	parts       []turnPart
	// rounded is B, and across the transposes of each rules.TurnedAtOnce of its rows.
	rounded, across []float32
	y               []float32 // k×pitch
	m, sum          []float64 // k×wide, and k×r
}

// turnPart is the room of one part of the rows, and what they contribute.
type turnPart struct {
	m   []float64 // to Bᵀ·[B·Y]₊
	cut float64   // to the squared norm of the negative part of B·Y
	h   []float64
	h32 []float32
}

func newTurnProducts(team *kernel.Team, b []float64, k, r int) *turnProducts {
	n := len(b) / k
	s := &turnProducts{
		team: team, n: n, k: k, r: r, wide: (r + 3) / 4 * 4, pitch: kernel.SinglePitch(r), rows: rules.TurnedPart(n, r),
		rounded: make([]float32, n*k), across: make([]float32, n*k),
	}
	s.y, s.m, s.sum = make([]float32, k*s.pitch), make([]float64, k*s.wide), make([]float64, k*r)
	s.parts = make([]turnPart, kernel.BlockCount(n, s.rows))
	for i := range s.parts {
		s.parts[i] = turnPart{m: make([]float64, k*s.wide), h: make([]float64, rules.TurnedAtOnce*s.wide), h32: make([]float32, rules.TurnedAtOnce*s.pitch)}
	}
	s.each(func(_ *turnPart, lo, hi int) {
		rows := s.rounded[lo*k : hi*k]
		kernel.ToFloat32(rows, b[lo*k:hi*k])
		transposeTo(s.across[lo*k:hi*k], rows, hi-lo, k)
	})
	return s
}

// each calls f for rules.TurnedAtOnce rows at a time, the calls for a part one after another.
func (s *turnProducts) each(f func(t *turnPart, lo, hi int)) {
	s.team.Do(len(s.parts), func(i int) {
		for lo := i * s.rows; lo < min((i+1)*s.rows, s.n); lo += rules.TurnedAtOnce {
			f(&s.parts[i], lo, min(lo+rules.TurnedAtOnce, (i+1)*s.rows, s.n))
		}
	})
}

// of returns Bᵀ·[B·Y]₊, which is valid until the next call, and the squared norm of the negative part of B·Y.
func (s *turnProducts) of(y []float64) (m []float64, cut float64) {
	k, r := s.k, s.r
	kernel.ToSingles(s.y, y, r)
	s.each(func(t *turnPart, lo, hi int) {
		if lo%s.rows == 0 { // the first of this part
			clear(t.m)
			t.cut = 0
		}
		h, h32 := t.h[:(hi-lo)*s.wide], t.h32[:(hi-lo)*s.pitch]
		clear(h)
		kernel.SingleTimes(h, 1, s.rounded[lo*k:hi*k], k, s.y, s.wide, 0)
		all := kernel.SumSq(h)
		kernel.Extrapolate(h, 0, h, 0)
		t.cut += all - kernel.SumSq(h)
		kernel.ToSingles(h32, h, s.wide)
		kernel.SingleTimes(t.m, 1, s.across[lo*k:hi*k], hi-lo, h32, s.wide, 0)
	})
	clear(s.m)
	for i := range s.parts {
		kernel.Axpy(s.m, 1, s.parts[i].m)
		cut += s.parts[i].cut
	}
	for i := range k {
		copy(s.sum[i*r:(i+1)*r], s.m[i*s.wide:])
	}
	return s.sum, cut
}
