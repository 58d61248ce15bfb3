package runner

import (
	"slices"
	"sync"
)

// maxClaim is the most jobs that one claim brings.
const maxClaim = 1000

// strideOf is how far the turn of a queue of weight 1 moves with each slot it gets; of weight n, an n-th of it.
const strideOf = 1 << 20

// Hunger is why a seat wants to claim, from the weakest reason to the strongest.
type Hunger int

// Reasons to claim.
const (
	Sated  Hunger = iota // none
	Probe                // a look whether jobs came
	Hungry               // jobs are known to wait
	Resend               // a claim got no answer, and is sent again with the slots it had
)

// SlotsOptions of Slots.
type SlotsOptions struct {
	Total   int            // attempts at a time, over all seats; 0 = the sum of the seats' own bounds
	Claims  int            // claims under way at a time; 0 = 8
	Strict  bool           // seats are served in the order in which they joined; else by weight
	Limits  map[string]int // attempts at a time of a kind; nil = no kind has a bound of its own
	Bounded bool           // every kind has a bound: without room for any of them a slot is of no use
}

// Slots shares the slots of a worker among its queues, a Seat each. A seat reserves slots, and room of the kinds
// that have a bound of their own, before it claims, and gives back what the claim did not bring. So no bound is
// overrun whatever many claims bring at once. It only counts: no time, no call. It is safe for concurrent use.
type Slots struct {
	mu      sync.Mutex
	free    int            // slots that neither handlers nor claims have
	room    map[string]int // of the kinds with a bound: attempts that may still begin
	claims  int            // that may still begin
	summed  bool           // each seat brings its own slots
	strict  bool
	bounded bool
	clock   int64 // the turn of the seat served last; who comes back begins there
	asked   int64 // counts what is asked, for turns
	seats   []*Seat
	stuck   map[string]int // by name: slots of seats that left, still in use
	parts   []part         // scratch
}

// part is what one seat is to get.
type part struct {
	seat    *Seat
	want, n int
	turn    int64
}

// NewSlots makes slots.
func NewSlots(o SlotsOptions) *Slots {
	if o.Claims == 0 {
		o.Claims = 8
	}
	s := &Slots{free: o.Total, claims: o.Claims, strict: o.Strict, bounded: o.Bounded, summed: o.Total == 0}
	s.room, s.stuck = map[string]int{}, map[string]int{}
	for kind, n := range o.Limits {
		s.room[kind] = n
	}
	return s
}

// Join adds a seat: that of a queue with a name, a bound of its own, from 1 on, and a weight, from 1 on. What an earlier
// seat of the name left in use counts against the bound.
func (s *Slots) Join(name string, limit, weight int) *Seat {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &Seat{
		slots: s, name: name, limit: limit, left: limit - s.stuck[name],
		stride: strideOf / int64(weight), turn: s.clock, called: make(chan struct{}, 1),
	}
	if s.summed {
		s.free += limit
	}
	s.seats = append(s.seats, a)
	return a
}

// dispatch calls the seats that get something, as long as claims may begin. What falls to a seat whose claim is
// under way and that will ask again stays free for it.
func (s *Slots) dispatch() {
	if s.claims <= 0 || !slices.ContainsFunc(s.seats, (*Seat).waits) {
		return
	}
	parts := s.share()
	if len(parts) > s.claims { // who asked first is called first, or a slow Redis would starve the last
		slices.SortFunc(parts, func(a, b part) int { return int(a.seat.asked - b.seat.asked) })
	}
	for _, p := range parts {
		if p.seat.state == waiting && (p.n > 0 || p.seat.due || p.seat.hunger == Resend) && s.claims > 0 {
			p.seat.call(p.n)
		}
	}
}

// share divides the free slots among the seats that could use some.
func (s *Slots) share() []part {
	parts, want := s.parts[:0], 0
	for _, a := range s.seats {
		if a.contends() {
			p := part{seat: a, want: a.demand(), turn: a.turn}
			want += p.want
			parts = append(parts, p)
		}
	}
	s.parts = parts
	left := max(0, s.free)
	switch {
	case want <= left:
		for i := range parts {
			parts[i].n = parts[i].want
		}
	case s.strict:
		for i := range parts {
			parts[i].n = min(left, parts[i].want)
			left -= parts[i].n
		}
	default:
		stride(parts, left)
	}
	return parts
}

// stride gives slot by slot to the seat whose turn is the least; of several the one that asked first, for those that
// find nothing keep their turn.
func stride(parts []part, left int) {
	for ; left > 0; left-- {
		var next *part
		for i := range parts {
			if p := &parts[i]; p.n < p.want && (next == nil || p.before(next)) {
				next = p
			}
		}
		next.n++
		next.turn += next.seat.stride
	}
}

func (p *part) before(other *part) bool {
	return p.turn < other.turn || p.turn == other.turn && p.seat.asked < other.seat.asked
}
