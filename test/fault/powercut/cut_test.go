package powercut_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/waybillhq/waybill/internal/redistest"
)

// kind is what is left of the append-only file after a cut.
type kind string

// Kinds of images.
const (
	synced      kind = "as of the last sync"
	written     kind = "all that was written"
	between     kind = "to the end of a command"
	torn        kind = "into a command"
	transaction kind = "into a transaction"
)

var kinds = []kind{synced, transaction, torn, between, written}

// cut is a power cut at a moment of a run, and how many bytes of the append-only file were left.
type cut struct {
	kind kind
	at   int64
	size int64
}

func (c cut) String() string { return fmt.Sprintf("%s, %d bytes", c.kind, c.size) }

// promised is up to when all that the clients were told must be in the image.
func (p *tape) promised(c cut) int64 {
	if p.grade == "always" {
		return max(c.at, p.holds(c.size))
	}
	return p.holds(c.size)
}

// cuts draws so many cuts while work was in flight, as many of each kind.
func (p *tape) cuts(t *testing.T, frames []frame, n int, rnd *rand.Rand) []cut {
	t.Helper()
	var writes []int
	for i, c := range p.calls {
		if c.Kind == redistest.CallWrite && c.Begun > p.begun && c.Done < p.ended {
			writes = append(writes, i)
		}
	}
	if len(writes) < 20 {
		t.Fatalf("the run made %d writes: too few to be cut", len(writes))
	}
	all := make([]cut, 0, n)
	for draws := 0; len(all) < n; draws++ {
		if draws > 1000*n {
			t.Fatalf("no cut of kind %q could be drawn", kinds[len(all)%len(kinds)])
		}
		w := writes[rnd.IntN(len(writes))]
		at := p.calls[w].Begun + rnd.Int64N(p.unsafe(w)-p.calls[w].Begun)
		c := cut{kind: kinds[len(all)%len(kinds)], at: at}
		if p.leave(&c, frames, rnd) {
			all = append(all, c)
		}
	}
	return all
}

// unsafe is when a write had become durable, or the run's end.
func (p *tape) unsafe(write int) int64 {
	for _, c := range p.calls[write:] {
		if c.Kind == redistest.CallSync && c.Size >= p.calls[write].Size {
			return c.Done
		}
	}
	return p.ended
}

// leave draws what a cut leaves; false where nothing of its kind was there to be left.
func (p *tape) leave(c *cut, frames []frame, rnd *rand.Rand) bool {
	from, to := p.durable(c.at), p.written(c.at)
	switch c.kind {
	case synced:
		c.size = from
		return true
	case written:
		c.size = to
		return to > from
	}
	var sizes []int64
	for i, f := range frames {
		if f.from < from || f.to > to {
			continue
		}
		half := f.within || i > 0 && frames[i-1].within // EXEC itself ends a transaction only as a whole
		switch middle := f.from + 1 + rnd.Int64N(f.to-f.from-1); {
		case c.kind == between && !f.within:
			sizes = append(sizes, f.to)
		case c.kind == torn && !half, c.kind == transaction && half && rnd.IntN(2) == 0:
			sizes = append(sizes, middle)
		case c.kind == transaction && f.within:
			sizes = append(sizes, f.to)
		}
	}
	if len(sizes) == 0 {
		return false
	}
	c.size = sizes[rnd.IntN(len(sizes))]
	return true
}
