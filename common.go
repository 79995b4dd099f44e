package symnmf

import (
	"sync"
	"time"

	"symnmf/matrix"
)

// common is what all runs of a problem may need, computed once, by the first that does: runs at work at the same time wait for it.
type common struct {
	mu       sync.Mutex
	workers  int                                 // all there are: those of a run may be fewer
	lows     map[matrix.Compression]*replacement // what inPlaceOf returned
	top      *leading                            // what leading returned
	spectral float64                             // what norm2 returned
	least    *float64                            // what leastEigenvalue returned
}

// replacement is a low rank in place of a matrix.
type replacement struct {
	a      matrix.Operator
	apart  float64 // the norm of the difference
	took   time.Duration
	common *common // of problems of a
}

// inPlaceOf returns the low rank in place of a that c asks for, but for its workers.
func (m *common) inPlaceOf(a matrix.Operator, c matrix.Compression) (*replacement, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.Workers = m.workers
	if low, ok := m.lows[c]; ok {
		return low, nil
	}
	began := time.Now()
	near, apart, err := matrix.Compress(a, c)
	if err != nil {
		return nil, err
	}
	if m.lows == nil {
		m.lows = map[matrix.Compression]*replacement{}
	}
	m.lows[c] = &replacement{a: near, apart: apart, took: time.Since(began), common: &common{workers: m.workers}}
	return m.lows[c], nil
}
