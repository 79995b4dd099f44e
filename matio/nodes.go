package matio

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"symnmf/internal/kernel"
)

// nodes numbers the ids of an edge list in order of first appearance.
type nodes struct {
	sync.RWMutex                  // guards low and the maps
	low          []int32          // low[id] is 1 plus the number of the node with the integer id, 0 if it has not appeared
	byNumber     map[int64]int32  // nodes of integers that low does not cover
	byName       map[string]int32 // nodes of ids that are not integers
	numbers      []int64          // the integer id of each node, 0 if its id is not an integer
	names        []string         // the id of each node, "" if it is an integer; nil as long as all ids are integers
}

// nodeBytes is the memory that a node takes besides its name: its number, the id as a number and as text, and
// its place in low or in a map.
const nodeBytes = 64

func newNodes() nodes { return nodes{byNumber: map[int64]int32{}, byName: map[string]int32{}} }

// find returns the number of the node whose id is text, if it has appeared.
func (ns *nodes) find(text []byte) (i int32, ok bool) {
	if id, isID := parseID(text); isID {
		return ns.findNumber(id)
	}
	i, ok = ns.byName[string(text)]
	return i, ok
}

func (ns *nodes) findNumber(id int64) (i int32, ok bool) {
	if uint64(id) < uint64(len(ns.low)) {
		i = ns.low[id] - 1
		return i, i >= 0
	}
	i, ok = ns.byNumber[id]
	return i, ok
}

// number returns the number of the node whose id is text, a new number at its first appearance. why is the
// reason if text cannot be an id, else "".
func (ns *nodes) number(text []byte) (i int32, why string) {
	if i, ok := ns.find(text); ok {
		return i, ""
	}
	i = int32(len(ns.numbers))
	if i == math.MaxInt32-1 {
		return 0, fmt.Sprintf("more than %d nodes", i)
	}
	if id, ok := parseID(text); ok {
		ns.numbers = append(ns.numbers, id)
		if ns.names != nil {
			ns.names = append(ns.names, "")
		}
		ns.reach(id)
		if uint64(id) < uint64(len(ns.low)) {
			ns.low[id] = i + 1
		} else {
			ns.byNumber[id] = i
		}
		return i, ""
	}
	name := string(text)
	ns.byName[name] = i
	if ns.names == nil {
		ns.names = make([]string, i, 2*(i+1))
	}
	ns.numbers, ns.names = append(ns.numbers, 0), append(ns.names, name)
	return i, checkName(text)
}

// reach makes low longer if id lies beyond its end but not too far: below lowPerNode places for each node, or
// below leastLow. low at least doubles when it grows.
func (ns *nodes) reach(id int64) {
	const leastLow, lowPerNode = 1 << 10, 4
	if id < int64(len(ns.low)) || id >= max(leastLow, lowPerNode*int64(len(ns.numbers))) {
		return
	}
	longer := kernel.Room[int32](int(max(id+1, 2*int64(len(ns.low)))))
	copy(longer, ns.low)
	ns.low = longer
	for id, i := range ns.byNumber {
		if uint64(id) < uint64(len(ns.low)) {
			ns.low[id] = i + 1
			delete(ns.byNumber, id)
		}
	}
}

// parseID returns the integer that text spells, if it has at most 18 digits and is in plain decimal, exactly
// as strconv writes it.
func parseID(text []byte) (id int64, ok bool) {
	digits, negative := bytes.CutPrefix(text, []byte("-"))
	if len(digits) == 0 || len(digits) > 18 || digits[0] == '0' && (len(digits) > 1 || negative) {
		return 0, false
	}
	for _, c := range digits {
		if c-'0' > 9 {
			return 0, false
		}
		id = 10*id + int64(c-'0')
	}
	if negative {
		id = -id
	}
	return id, true
}

// order returns the ids in the order of the matrix. place[k] is the place there of node number k; a nil place
// means that nodes keep their order.
func (ns *nodes) order() (ids []string, place []int32) {
	if ns.names != nil {
		for i, id := range ns.numbers {
			if ns.names[i] == "" {
				ns.names[i] = strconv.FormatInt(id, 10)
			}
		}
		return ns.names, nil
	}
	place = kernel.Room[int32](len(ns.numbers))
	slices.Sort(ns.numbers)
	var text []byte // all ids in one piece
	for i, id := range ns.numbers {
		k, _ := ns.findNumber(id)
		place[k] = int32(i)
		text = strconv.AppendInt(text, id, 10)
		ns.numbers[i] = int64(len(text)) // no longer the id, but its end in text
	}
	all, from := string(text), int64(0)
	ids = make([]string, len(ns.numbers))
	for i, end := range ns.numbers {
		ids[i] = all[from:end]
		from = end
	}
	return ids, place
}
