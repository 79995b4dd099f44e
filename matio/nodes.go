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
	sync.RWMutex                  // for low and the maps
	low          []int32          // of each integer from 0 on, the number after that of its node; 0 where it has not appeared
	byNumber     map[int64]int32  // of integers that low does not reach
	byName       map[string]int32 // of ids that are no integers
	numbers      []int64          // of each node; 0 where the id is no integer
	names        []string         // "" where it is; none as long as all are
}

// nodeBytes is the memory that a node takes beside its name: its number, the id as number and as text, and its place in low or a map.
const nodeBytes = 64

func newNodes() nodes { return nodes{byNumber: map[int64]int32{}, byName: map[string]int32{}} }

// find returns the number of the node with the id text, if it has appeared.
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

// number returns the number of the node with the id text, a new one at its first appearance, or why it cannot be one.
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

// reach makes low longer if id lies behind its end and not too far: low has up to lowPerNode places a node, twice as many after growing.
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

// parseID returns the integer that text spells in plain decimal, the one way strconv writes it, of at most 18 digits.
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

// order returns the ids in the order of the matrix, and where each number of appearance goes (nil: it stays).
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
	var text []byte // of all ids, in one piece
	for i, id := range ns.numbers {
		k, _ := ns.findNumber(id)
		place[k] = int32(i)
		text = strconv.AppendInt(text, id, 10)
		ns.numbers[i] = int64(len(text)) // no more the id, but where it ends
	}
	all, from := string(text), int64(0)
	ids = make([]string, len(ns.numbers))
	for i, end := range ns.numbers {
		ids[i] = all[from:end]
		from = end
	}
	return ids, place
}
