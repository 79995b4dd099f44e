package kernel

import "testing"

func TestNumbers(t *testing.T) {
	for _, n := range []int{0, 1, 1000, hugeFrom - 1, hugeFrom, 3*hugeFrom + 17} {
		x := Numbers(n)
		if len(x) != n {
			t.Fatalf("%d numbers, want %d", len(x), n)
		}
		for i, v := range x {
			if v != 0 {
				t.Fatalf("number %d of %d is %v", i, n, v)
			}
			x[i] = 1
		}
	}
}
