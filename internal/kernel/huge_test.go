package kernel

import "testing"

// TestRoom checks that Room returns n zeros, for lengths below and above the one from which it asks for large
// pages.
func TestRoom(t *testing.T) {
	testRoom[byte](t, 1)
	testRoom[float64](t, 8)
	testRoom[float32](t, 4)
	testRoom[int32](t, 4)
	testRoom[int64](t, 8)
}

func testRoom[T byte | int32 | int64 | float32 | float64](t *testing.T, size int) {
	for _, n := range []int{0, 1, 1000, hugeFrom/size - 1, hugeFrom / size, (3*hugeFrom + 17*size) / size} {
		x := Room[T](n)
		if len(x) != n {
			t.Fatalf("%d numbers of %d bytes, want %d", len(x), size, n)
		}
		for i, v := range x {
			if v != 0 {
				t.Fatalf("number %d of %d, of %d bytes, is %v", i, n, size, v)
			}
			x[i] = 1
		}
	}
}
