package symnmf

import (
	"context"
	"errors"
	"sync"
	"time"

	"symnmf/matrix"
)

// common holds what all runs of a problem may need. Each item is computed once, by the first run that needs
// it; other runs at work wait for it.
type common struct {
	mu       sync.Mutex
	workers  int                                 // all there are; a run may have fewer
	lows     map[matrix.Compression]*replacement // what inPlaceOf returned
	top      *leading                            // what leading returned
	rooting  sync.Mutex                          // held while roots are computed
	roots    *roots                              // what roots returned
	whole    matrix.Operator                     // what completed returns; nil before its first call
	replaced int                                 // how many times that has been replaced
	spectral float64                             // what norm2 returned
	least    *float64                            // what leastEigenvalue returned
}

// replacement is a low rank in place of a matrix.
type replacement struct {
	a      matrix.Operator
	apart  float64 // norm of the difference
	took   time.Duration
	common *common // of problems with this a
	err    error   // why there is none
}

// inPlaceOf returns the low rank in place of a that c asks for, with all workers instead of those of c. If
// ctx is cancelled while it is computed, there is none until the next call.
func (m *common) inPlaceOf(ctx context.Context, a matrix.Operator, c matrix.Compression) (*replacement, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.Workers = m.workers
	low := m.lows[c]
	if low == nil {
		began := time.Now()
		low = &replacement{common: &common{workers: m.workers}}
		low.a, low.apart, low.err = matrix.Compress(ctx, a, c)
		if errors.Is(low.err, context.Canceled) {
			return nil, low.err
		}
		low.took = time.Since(began)
		if m.lows == nil {
			m.lows = map[matrix.Compression]*replacement{}
		}
		m.lows[c] = low
	}
	return low, low.err
}
