package runner

import "slices"

// Grant is what a claim may bring.
type Grant struct {
	Slots int            // jobs; 0 = upkeep only
	Room  map[string]int // of the kinds with a bound of their own: jobs of the kind
	// Careful: an earlier claim stayed open for long, and since then none was answered.
	Careful bool
}

// short gives the kinds of which the claim may take fewer than it has slots, as a claim names them.
func (g Grant) short() map[string]int {
	var out map[string]int
	for kind, n := range g.Room {
		if n < g.Slots {
			if out == nil {
				out = map[string]int{}
			}
			out[kind] = n
		}
	}
	return out
}

// Where a seat is in its round.
type seatState int

const (
	resting  seatState = iota // it asks for nothing now
	waiting                   // it is called when there is something for it
	calling                   // it was called, and its first slots are reserved
	claiming                  // its claim is under way
)

// Seat is the place of one queue at the Slots. One goroutine goes round: Wait, Called, Take, then Claimed or
// Unanswered; Done is called from any.
type Seat struct {
	slots  *Slots
	name   string
	limit  int // the queue's own slots
	left   int // of them
	used   int // attempts that have one
	stride int64
	turn   int64
	called chan struct{}

	state  seatState
	hunger Hunger
	due    bool            // a claim is due, with slots or without
	asked  int64           // when, among all asked
	short  map[string]bool // kinds of which jobs may have been set aside for want of room
	grant  Grant
	// careful: claims may stay open for long, so they take a slot at a time.
	careful bool
	gone    bool // it left
}

// Wait begins to wait for a call: at once or as soon as there are slots where the seat has a reason to claim.
// It is called without a reason as soon as there is room for jobs that were set aside for want of it.
func (a *Seat) Wait(h Hunger) {
	a.slots.mu.Lock()
	defer a.slots.mu.Unlock()
	a.state = waiting
	if a.hunger != Hungry || h != Hungry { // who goes on keeps its turn
		a.turn = max(a.turn, a.slots.clock)
	}
	a.hunger, a.due = h, false
	a.slots.asked++
	a.asked = a.slots.asked
	a.slots.dispatch()
}

// Upkeep makes a waiting seat be called also without slots.
func (a *Seat) Upkeep() {
	a.slots.mu.Lock()
	defer a.slots.mu.Unlock()
	if a.state == waiting {
		a.due, a.hunger = true, max(a.hunger, Probe)
		a.slots.dispatch()
	}
}

// Ask gives a waiting seat a reason, where it has no stronger one. False: no slot is free, so the call may take long.
func (a *Seat) Ask(h Hunger) bool {
	a.slots.mu.Lock()
	defer a.slots.mu.Unlock()
	if a.state == waiting && h > a.hunger {
		if a.hunger == Sated {
			a.turn = max(a.turn, a.slots.clock)
		}
		a.hunger = h
		a.slots.asked++
		a.asked = a.slots.asked
		a.slots.dispatch()
	}
	return a.state == calling || a.slots.free > 0
}

// Called has something when the seat is called: then Take.
func (a *Seat) Called() <-chan struct{} { return a.called }

// Take begins a claim with all that there is for the seat by now; false where it was not called.
func (a *Seat) Take() (Grant, bool) {
	s := a.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.state != calling {
		return Grant{}, false
	}
	if a.hunger != Resend {
		for _, p := range s.share() {
			if p.seat == a {
				a.reserve(a.grant.Slots + p.n)
			}
		}
	}
	a.state = claiming
	g := a.grant
	g.Careful = a.careful
	return g, true
}

// Claimed ends a claim that brought jobs of the given kinds. more: jobs were left, which Wait(Hungry) will ask for.
// parked: jobs are set aside by kind, so that room may be wanted for some.
func (a *Seat) Claimed(kinds []string, more, parked bool) {
	s := a.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	for kind, n := range a.grant.Room {
		used := 0
		for _, k := range kinds {
			if k == kind {
				used++
			}
		}
		s.room[kind] += n - used
		if a.grant.Slots > 0 {
			a.lacked(kind, parked && used >= n)
		}
	}
	a.careful = a.careful && a.grant.Slots == 0
	a.used += len(kinds)
	a.giveBack(a.grant.Slots - len(kinds))
	a.hunger = Sated
	if more {
		a.hunger = Hungry
	}
	a.end()
}

// lacked notes whether jobs of a kind may have been set aside for want of room.
func (a *Seat) lacked(kind string, short bool) {
	if a.short == nil {
		a.short = map[string]bool{}
	}
	a.short[kind] = short
}

// Unanswered ends a claim that got no answer. keep: it may have brought jobs and will be sent again, with Resend,
// so the seat keeps what is reserved.
func (a *Seat) Unanswered(keep bool) {
	a.slots.mu.Lock()
	defer a.slots.mu.Unlock()
	if !keep {
		a.giveBackAll()
	}
	a.hunger = Sated
	a.end()
}

// Forsake gives back, between two rounds, what an unanswered claim kept reserved. It can be sent again, with Resend, but
// there is no slot for what it brings. Until a claim is answered the seat then takes a slot at a time.
func (a *Seat) Forsake() {
	a.slots.mu.Lock()
	defer a.slots.mu.Unlock()
	a.giveBackAll()
	a.careful = true
	a.slots.dispatch()
}

// Withdraw ends the wait and gives back what a call reserved.
func (a *Seat) Withdraw() {
	s := a.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.state == calling {
		if a.hunger != Resend {
			a.giveBackAll()
		}
		s.claims++
		select {
		case <-a.called:
		default:
		}
	}
	a.state, a.hunger = resting, Sated
	s.dispatch()
}

// Rest says that the seat, between two rounds, will not ask again soon.
func (a *Seat) Rest() {
	a.slots.mu.Lock()
	defer a.slots.mu.Unlock()
	a.hunger = Sated
	a.slots.dispatch()
}

// Done frees the slot of one attempt, and its kind's room.
func (a *Seat) Done(kind string) {
	s := a.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.used--; a.gone {
		s.unstick(a.name)
	} else {
		s.free++
		a.left++
	}
	if _, limited := s.room[kind]; limited {
		s.room[kind]++
	}
	s.dispatch()
}

// unstick frees a slot that a seat left in use: for the seat that has the name now, if there is one. The caller holds
// the lock.
func (s *Slots) unstick(name string) {
	if s.stuck[name]--; s.stuck[name] == 0 {
		delete(s.stuck, name)
	}
	for _, a := range s.seats {
		if a.name == name {
			a.left++
		}
	}
	if !s.summed {
		s.free++
	}
}

// Leave takes the seat away, with its own slots where it brought them. Attempts that still run keep theirs until Done.
func (a *Seat) Leave() {
	s := a.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	a.giveBackAll()
	a.gone = true
	if a.used > 0 {
		s.stuck[a.name] += a.used
	}
	if s.summed {
		s.free -= a.limit - a.used
	}
	s.seats = slices.DeleteFunc(s.seats, func(other *Seat) bool { return other == a })
	s.dispatch()
}

// Free is how many of the queue's own slots are free.
func (a *Seat) Free() int {
	a.slots.mu.Lock()
	defer a.slots.mu.Unlock()
	return a.left
}

// waits tells whether a call is waited for and there is a reason for one.
func (a *Seat) waits() bool { return a.state == waiting && a.contends() }

// contends tells whether a share of the free slots is for this seat.
func (a *Seat) contends() bool {
	switch a.state {
	case waiting:
		return a.hunger > Sated || a.roomCame() > 0
	case calling:
		return a.hunger != Resend
	default:
		return a.hunger == Hungry
	}
}

// demand is how many slots the seat could use.
func (a *Seat) demand() int {
	s := a.slots
	n := min(a.left, maxClaim-a.grant.Slots)
	switch {
	case a.hunger == Resend:
		return 0
	case a.hunger == Sated:
		n = min(n, a.roomCame())
	case a.hunger < Hungry && len(s.seats) > 1: // it may bring nothing: others shall not wait for that
		n = min(n, max(1, s.free/4))
	}
	if a.careful {
		n = min(n, 1-a.grant.Slots)
	}
	if s.bounded {
		n = min(n, s.allRoom())
	}
	return max(0, n)
}

// roomCame is the room of the kinds that the last claim was short of.
func (a *Seat) roomCame() int {
	n := 0
	for kind, short := range a.short {
		if short {
			n += max(0, a.slots.room[kind])
		}
	}
	return n
}

func (s *Slots) allRoom() int {
	n := 0
	for _, free := range s.room {
		n += max(0, free)
	}
	return n
}

// call reserves n slots and tells the seat. The caller holds the lock.
func (a *Seat) call(n int) {
	a.slots.claims--
	a.state = calling
	if a.hunger != Resend {
		a.reserve(n)
	}
	a.called <- struct{}{}
}

// reserve raises what is reserved to n slots, with as much room of the kinds as there is.
func (a *Seat) reserve(n int) {
	s := a.slots
	more := n - a.grant.Slots
	a.grant.Slots = n
	s.free -= more
	a.left -= more
	if more > 0 {
		s.clock = max(s.clock, a.turn)
	}
	a.turn += int64(more) * a.stride
	for kind, free := range s.room {
		if a.grant.Room == nil {
			a.grant.Room = map[string]int{}
		}
		take := max(0, min(n-a.grant.Room[kind], free))
		a.grant.Room[kind] += take
		s.room[kind] -= take
	}
}

// giveBack frees slots that a claim did not use; fewer than none where it brought more.
func (a *Seat) giveBack(slots int) {
	a.slots.free += slots
	a.left += slots
	a.turn -= int64(slots) * a.stride
	a.grant = Grant{}
}

func (a *Seat) giveBackAll() {
	for kind, n := range a.grant.Room {
		a.slots.room[kind] += n
	}
	a.giveBack(a.grant.Slots)
}

// end frees the place of a claim. What was resting before, as a seat that left, had none.
func (a *Seat) end() {
	if a.state == claiming {
		a.slots.claims++
	}
	a.state = resting
	a.slots.dispatch()
}
