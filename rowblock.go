package symnmf

import (
	"fmt"
	"math"

	"symnmf/internal/kernel"
	"symnmf/matrix"
)

// RowBlock is exact coordinate descent in an order that reads A once a sweep.
type RowBlock struct {
	Block, Passes int
	NoMomentum    bool
	MaxStep       float64
}

func (s RowBlock) Name() string           { return "rowblock" }
func (s RowBlock) accepts(*problem) error { return nil }

func (s RowBlock) start(p *problem, h *matrix.Dense, run int) run {
	if s.Block == 0 {
		s.Block = 128
	}
	if s.Passes == 0 {
		s.Passes = 4
	}
	if s.MaxStep == 0 {
		s.MaxStep = 2
	}
	e := &rowBlockRun{RowBlock: s, p: p, h: h, number: run, tk: 1}
	e.prev = h.Clone()
	f := p.measure(h)
	e.checkF = f.objective()
	e.check = h.Clone()
	e.checkPrev = h.Clone()
	for _, v := range h.Data() {
		if v != 0 {
			e.nonzero = true
			break
		}
	}
	return e
}

type rowBlockRun struct {
	RowBlock
	p              *problem
	h, prev        *matrix.Dense
	check          *matrix.Dense
	checkPrev      *matrix.Dense
	checkF         float64
	gram           []float64
	tk             float64
	beta           float64
	number, sweeps int
	nonzero        bool
	blocks         matrix.Blocks
	restored       int
}

func (s *rowBlockRun) verify() error { return nil }

func (s *rowBlockRun) sweep(stop func() bool) (rep sweepReport) {
	p := s.p
	r := p.r
	data := s.h.Data()
	// extrapolate
	cur := s.h.Clone()
	if s.beta > 0 {
		for k, v := range data {
			data[k] = max(0, v+s.beta*(v-s.prev.Data()[k]))
		}
	}
	copy(s.prev.Data(), cur.Data())
	y := s.h.Clone()
	s.gram = p.gram(s.h)
	if s.blocks == nil {
		s.blocks = p.a.(interface {
			NewBlocks(h *matrix.Dense, workers int) matrix.Blocks
		}).NewBlocks(s.h, p.workers)
	} else {
		s.blocks.Refresh()
	}
	size := s.Block
	if !s.nonzero {
		size = 1
	}
	for lo := 0; lo < p.n; lo += size {
		s.block(lo, min(lo+size, p.n), &rep)
	}
	s.nonzero = true
	_ = r
	s.sweeps++
	// momentum
	var dot float64
	for k, v := range data {
		dot += (y.Data()[k] - v) * (v - s.prev.Data()[k])
	}
	if s.NoMomentum || dot > 0 {
		s.tk, s.beta = 1, 0
	} else {
		t := (1 + math.Sqrt(1+4*s.tk*s.tk)) / 2
		s.beta, s.tk = (s.tk-1)/t, t
	}
	if s.sweeps%5 == 0 && !s.NoMomentum {
		fg := p.measure(s.h)
		f := fg.objective()
		if f > s.checkF {
			copy(data, s.check.Data())
			copy(s.prev.Data(), s.check.Data())
			s.tk, s.beta = 1, 0
			s.restored++
		} else {
			s.checkF = f
			copy(s.check.Data(), data)
		}
	}
	rep.changed = 1
	return rep
}

func (s *rowBlockRun) block(lo, hi int, rep *sweepReport) {
	p, r := s.p, s.p.r
	b := hi - lo
	g := make([]float64, b*r)
	s.blocks.RowsTo(g, lo, hi)
	d := make([]float64, b*r)
	hb := s.h.Data()[lo*r : hi*r]
	perms := make([][]int32, s.Passes)
	perm := make([]int, r)
	for k := range perms {
		permutation(perm, p.seed, uint64(s.number), uint64(s.sweeps), uint64(lo), uint64(k))
		perms[k] = make([]int32, r)
		for j, v := range perm {
			perms[k][j] = int32(v)
		}
	}
	G := kernel.Group
	x := kernel.Rows{H: make([]float64, r*G), Old: make([]float64, r*G), Lin: make([]float64, r*G), Diag: make([]float64, G), NormSq: make([]float64, G), Inner: make([]float64, G)}
	for g0 := 0; g0 < b; g0 += G {
		clear(x.H)
		clear(x.Old)
		clear(x.Lin)
		clear(x.Diag)
		for i := g0; i < min(g0+G, b); i++ {
			pi := p.diag[lo+i]
			x.Diag[i-g0] = pi
			for j := range r {
				o := hb[i*r+j]
				x.H[j*G+i-g0], x.Old[j*G+i-g0] = o, o
				x.Lin[j*G+i-g0] = g[i*r+j] - pi*o - p.l1[j]
			}
		}
		for k := range perms {
			kernel.SolveRows(&x, s.gram, perms[k])
		}
		for i := g0; i < min(g0+G, b); i++ {
			for j := range r {
				d[i*r+j] = x.H[j*G+i-g0] - hb[i*r+j]
			}
		}
	}
	// quartic
	dd, hd := make([]float64, r*r), make([]float64, r*r)
	var gd float64
	for i := range b {
		di, hi := d[i*r:(i+1)*r], hb[i*r:(i+1)*r]
		gd += kernel.Dot(g[i*r:(i+1)*r], di)
		for j, v := range di {
			if v != 0 {
				kernel.Axpy(dd[j*r:(j+1)*r], v, di)
			}
		}
		for j, v := range hi {
			if v != 0 {
				kernel.Axpy(hd[j*r:(j+1)*r], v, di)
			}
		}
	}
	q := s.blocks.Quad(d, lo, hi)
	dot := kernel.Dot
	var hdhdT float64
	for j := range r {
		for k := range r {
			hdhdT += hd[j*r+k] * hd[k*r+j]
		}
	}
	c1 := 4 * (dot(s.gram, hd) - gd)
	c2 := -2*q + 2*dot(hd, hd) + 2*dot(dd, s.gram) + 2*hdhdT
	c3 := 4 * dot(dd, hd)
	c4 := dot(dd, dd)
	f := func(t float64) float64 { return t * (c1 + t*(c2+t*(c3+t*c4))) }
	t := bestStep(c1, c2, c3, c4, s.MaxStep)
	if t == 0 || !(f(t) < 0) {
		return
	}
	rep.decrease -= f(t) / 4
	for j := range r {
		for k := range r {
			s.gram[j*r+k] += t*(hd[j*r+k]+hd[k*r+j]) + t*t*dd[j*r+k]
		}
	}
	for k, v := range d {
		hb[k] += t * v
	}
	s.blocks.Add(t, d, lo, hi)
	if t > 1 {
		clip := make([]float64, b*r)
		clipped := false
		for k, v := range hb {
			if v < 0 {
				clip[k] = -v
				clipped = true
			}
		}
		if clipped {
			for i := range b {
				for j := range r {
					if e := clip[i*r+j]; e != 0 {
						row := hb[i*r : (i+1)*r]
						o := row[j]
						for k, w := range row {
							if k != j {
								s.gram[j*r+k] += e * w
								s.gram[k*r+j] += e * w
							}
						}
						s.gram[j*r+j] += -o * o
						row[j] = 0
					}
				}
			}
			s.blocks.Quad(clip, lo, hi)
			s.blocks.Add(1, clip, lo, hi)
		}
	}
}

// bestStep minimizes the quartic on [0, most].
func bestStep(c1, c2, c3, c4, most float64) float64 {
	f := func(t float64) float64 { return t * (c1 + t*(c2+t*(c3+t*c4))) }
	best := 0.0
	try := func(t float64) {
		if t > 0 && t <= most && f(t) < f(best) {
			best = t
		}
	}
	try(most)
	// derivative c1 + 2c2 t + 3c3 t² + 4c4 t³: roots by dense scan and Newton
	df := func(t float64) float64 { return c1 + t*(2*c2+t*(3*c3+t*4*c4)) }
	const steps = 32
	for k := range steps {
		a, b := most*float64(k)/steps, most*float64(k+1)/steps
		if df(a) < 0 && df(b) >= 0 {
			for range 60 {
				m := (a + b) / 2
				if df(m) < 0 {
					a = m
				} else {
					b = m
				}
			}
			try((a + b) / 2)
		}
	}
	return best
}

var _ = fmt.Sprint
