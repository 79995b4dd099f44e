package matio

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestNodes compares nodes with one map of texts, for ids near zero and far from it, dense and sparse, in
// random order, with and without names.
func TestNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		most := rapid.SampledFrom([]int64{5, 1 << 9, 1 << 11, 1 << 13, 1e18 - 1}).Draw(t, "most")
		least := rapid.SampledFrom([]int64{0, 0, -3}).Draw(t, "least")
		names := rapid.SampledFrom([]int{0, 0, 1, 50}).Draw(t, "names")
		ns, want := newNodes(), map[string]int32{}
		for range rapid.SampledFrom([]int{10, 3000}).Draw(t, "ids") {
			text := strconv.FormatInt(least+rng.Int64N(most-least), 10)
			if rng.IntN(1000) < names {
				text = "n" + text
			}
			i, known := want[text]
			if got, ok := ns.find([]byte(text)); ok != known || ok && got != i {
				t.Fatalf("find(%s) = %d, %v, want %d, %v", text, got, ok, i, known)
			}
			if !known {
				i = int32(len(want))
				want[text] = i
			}
			if got, why := ns.number([]byte(text)); got != i || why != "" {
				t.Fatalf("number(%s) = %d %s, want %d", text, got, why, i)
			}
		}
		for text, i := range want {
			if got, ok := ns.find([]byte(text)); !ok || got != i {
				t.Fatalf("in the end find(%s) = %d, %v, want %d", text, got, ok, i)
			}
		}
		for id := range ns.byNumber {
			if 0 <= id && id < int64(len(ns.low)) {
				t.Fatalf("%d is in the map, though low has %d places", id, len(ns.low))
			}
		}
		if n := len(want); len(ns.low) > max(1<<11, 8*n) {
			t.Fatalf("low has %d places for %d nodes", len(ns.low), n)
		}
		allNumbers := true
		for text := range want {
			allNumbers = allNumbers && text[0] != 'n'
		}
		ids, place := ns.order()
		if len(ids) != len(want) || (place != nil) != allNumbers {
			t.Fatalf("%d ids, want %d; places given: %v, want them exactly if all ids are integers", len(ids), len(want), place != nil)
		}
		for text, i := range want {
			if place != nil {
				i = place[i]
			}
			if ids[i] != text {
				t.Fatalf("the node with id %s has id %s in order", text, ids[i])
			}
		}
		if place != nil && !slices.IsSortedFunc(ids, func(a, b string) int {
			x, _ := strconv.Atoi(a)
			y, _ := strconv.Atoi(b)
			return x - y
		}) {
			t.Fatalf("ids are not in order: %q", ids)
		}
	})
}

// TestNodesReach: integer ids that are at first too large for the number of nodes are kept in a map, and move
// to the array low once there are enough nodes.
func TestNodesReach(t *testing.T) {
	ns := newNodes()
	for id := 9999; id >= 0; id-- { // at first far above four times the number of nodes
		if i, why := ns.number([]byte(strconv.Itoa(id))); int(i) != 9999-id || why != "" {
			t.Fatalf("number(%d) = %d %s", id, i, why)
		}
	}
	if in := len(ns.byNumber); in == 0 || in > 2500 {
		t.Errorf("%d of 10000 ids are left in the map, want from 1 to 2500", in)
	}
	for id := 10000; id <= 20000; id++ {
		ns.number([]byte(strconv.Itoa(id)))
	}
	if len(ns.byNumber) != 0 {
		t.Errorf("%d ids are in the map in the end, want 0", len(ns.byNumber))
	}
	if len(ns.low) < 24000 { // it has grown twice since
		t.Errorf("low has %d places, want at least 24000, since it should grow ahead", len(ns.low))
	}
}
