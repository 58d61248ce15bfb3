package protocol

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// Found is what an exploration came to.
type Found struct {
	States int    // that differ
	Steps  int    // from a state to another that were looked at
	Depth  int    // of the state that is farthest from the first one
	Whole  bool   // all states within the bounds were looked at, and nothing was broken
	Broken string // which invariant, and how; "" = none
	Trace  []string
}

// String says it in one line, and below it the way to what was broken.
func (f Found) String() string {
	said := fmt.Sprintf("%d states, %d steps, depth %d", f.States, f.Steps, f.Depth)
	switch {
	case f.Whole:
		return said + ": these are all, and nothing is broken"
	case f.Broken == "":
		return said + ": nothing is broken so far"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s", said, f.Broken)
	for i, what := range f.Trace {
		fmt.Fprintf(&b, "\n%4d. %s", i+1, what)
	}
	return b.String()
}

// node is a state that was met: where it came from, and as which of its steps.
type node struct {
	from int32
	step uint16
}

// explorer goes through states breadth first. Of those that it has left behind it keeps only a hash of 64 bits: that two of
// ten million differ and have one has a chance of 1 in 370,000.
type explorer struct {
	r     Rules
	seed  maphash.Seed
	known map[uint64]struct{}
	nodes []node
}

// Explore looks at all states that rules lead to, or at the nearest most of them, until one breaks an invariant. The way to it
// is a shortest one.
func Explore(r Rules, most int) Found {
	e := &explorer{r: r, seed: maphash.MakeSeed(), known: map[uint64]struct{}{}}
	begin := first(r)
	e.meet(begin, node{from: -1})
	found := Found{Whole: true}
	for ring, at := []state{begin}, 0; len(ring) > 0 && found.Broken == ""; found.Depth++ {
		var after []state
		for k, s := range ring {
			if len(e.nodes) >= most {
				found.Whole = false
				break
			}
			var step uint16
			s.next(r, func(_ line, to state, against string) {
				n := node{int32(at + k), step}
				step++
				if found.Broken != "" {
					return
				}
				found.Steps++
				if against != "" {
					found.Broken, found.Trace = against, e.trace(n)
				} else if e.meet(to, n) {
					after = append(after, to)
				}
			})
		}
		at += len(ring)
		ring = after
	}
	found.Depth--
	found.Whole = found.Whole && found.Broken == ""
	found.States = len(e.nodes)
	return found
}

// meet tells whether a state is new, and keeps it.
func (e *explorer) meet(s state, n node) bool {
	h := maphash.Comparable(e.seed, s)
	if _, ok := e.known[h]; ok {
		return false
	}
	e.known[h] = struct{}{}
	e.nodes = append(e.nodes, n)
	return true
}

// trace goes again the way to a step, and tells what happened.
func (e *explorer) trace(last node) []string {
	var steps []uint16
	for n := last; n.from >= 0; n = e.nodes[n.from] {
		steps = append(steps, n.step)
	}
	s := first(e.r)
	var out []string
	for i := len(steps) - 1; i >= 0; i-- {
		var k uint16
		var then state
		s.next(e.r, func(what line, to state, _ string) {
			if k == steps[i] {
				out, then = append(out, what()), to
			}
			k++
		})
		s = then
	}
	return out
}
