package kernel

import "testing"

// TestMix compares with the first numbers of SplitMix64 from 0 and from 1234567, as published with its
// reference implementation.
func TestMix(t *testing.T) {
	const step = 0x9e3779b97f4a7c15
	for _, c := range []struct{ x, want uint64 }{
		{0, 0xe220a8397b1dcdaf}, {step, 0x6e789e6aa1b965f4}, {1234567, 6457827717110365317}, {1234567 + step, 3203168211198807973},
	} {
		if got := Mix(c.x); got != c.want {
			t.Errorf("Mix(%#x) = %#x, want %#x", c.x, got, c.want)
		}
	}
}
