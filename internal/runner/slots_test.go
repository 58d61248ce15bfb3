package runner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/runner"
)

// take takes what a seat is called for; zero slots and false where it is not called.
func take(t *testing.T, a *runner.Seat) (runner.Grant, bool) {
	t.Helper()
	select {
	case <-a.Called():
	default:
		return runner.Grant{}, false
	}
	g, ok := a.Take()
	if !ok {
		t.Fatal("a seat that was called has nothing to take")
	}
	return g, true
}

// wantTake expects a call for so many slots.
func wantTake(t *testing.T, a *runner.Seat, slots int) runner.Grant {
	t.Helper()
	g, ok := take(t, a)
	if !ok || g.Slots != slots {
		t.Errorf("called: %v, for %d slots; want %d", ok, g.Slots, slots)
	}
	return g
}

func wantNoCall(t *testing.T, a *runner.Seat) {
	t.Helper()
	if g, ok := take(t, a); ok {
		t.Errorf("it was called, for %d slots", g.Slots)
	}
}

// kinds are those of n jobs of one kind.
func kinds(kind string, n int) []string { return slices.Repeat([]string{kind}, n) }

// claim makes a seat claim n jobs of kind k, and ask for more.
func claim(t *testing.T, a *runner.Seat, n int) {
	t.Helper()
	a.Wait(runner.Hungry)
	g, ok := take(t, a)
	if !ok || g.Slots < n {
		t.Fatalf("no slots for a claim of %d: %v, %d", n, ok, g.Slots)
	}
	a.Claimed(kinds("k", n), false, true)
}

func TestSlots_Grants(t *testing.T) {
	t.Run("a seat without a reason is not called", func(t *testing.T) {
		a := runner.NewSlots(runner.SlotsOptions{Total: 5}).Join("", 3, 1)
		a.Wait(runner.Sated)
		wantNoCall(t, a)
	})
	t.Run("a queue gets no more than its own bound", func(t *testing.T) {
		a := runner.NewSlots(runner.SlotsOptions{Total: 5}).Join("", 3, 1)
		a.Wait(runner.Hungry)
		wantTake(t, a, 3)
	})
	t.Run("slots of a claim are nobody else's until it is answered", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 3})
		a, b := s.Join("", 3, 1), s.Join("", 3, 1)
		a.Wait(runner.Hungry)
		wantTake(t, a, 3)
		b.Wait(runner.Hungry)
		wantNoCall(t, b)
		a.Claimed(kinds("k", 1), false, true)
		wantTake(t, b, 2)
	})
	t.Run("what is freed before a claim is sent goes with it", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 3})
		a := s.Join("", 3, 1)
		claim(t, a, 3)
		a.Wait(runner.Hungry)
		for range 3 {
			a.Done("k")
		}
		wantTake(t, a, 3)
	})
	t.Run("a look reserves only a part where others could need the rest", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 8})
		a, b := s.Join("", 8, 1), s.Join("", 8, 1)
		a.Wait(runner.Probe)
		g, _ := take(t, a)
		b.Wait(runner.Hungry)
		h, _ := take(t, b)
		if g.Slots < 1 || g.Slots > 4 || h.Slots != 8-g.Slots {
			t.Errorf("the look got %d, the other %d", g.Slots, h.Slots)
		}
	})
	t.Run("a claim that may have happened keeps its slots, and is sent again with them", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 4})
		a, b := s.Join("", 3, 1), s.Join("", 3, 1)
		a.Wait(runner.Hungry)
		wantTake(t, a, 3)
		a.Unanswered(true)
		b.Wait(runner.Hungry)
		wantTake(t, b, 1)
		a.Wait(runner.Resend)
		wantTake(t, a, 3)
		a.Claimed(nil, false, true)
		b.Claimed(nil, false, true)
		b.Wait(runner.Hungry)
		wantTake(t, b, 3)
	})
	t.Run("a claim that did not happen gives them back", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 3})
		a, b := s.Join("", 3, 1), s.Join("", 3, 1)
		a.Wait(runner.Hungry)
		wantTake(t, a, 3)
		b.Wait(runner.Hungry)
		a.Unanswered(false)
		wantTake(t, b, 3)
	})
	t.Run("who withdraws or leaves gives back what it was called for", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 3})
		a, b := s.Join("", 3, 1), s.Join("", 3, 1)
		a.Wait(runner.Hungry)
		b.Wait(runner.Hungry)
		a.Withdraw()
		a.Leave()
		wantTake(t, b, 3)
	})
	t.Run("upkeep is called without slots", func(t *testing.T) {
		a := runner.NewSlots(runner.SlotsOptions{Total: 1}).Join("", 1, 1)
		claim(t, a, 1)
		a.Wait(runner.Sated)
		a.Upkeep()
		wantTake(t, a, 0)
	})
	t.Run("only so many claims are under way, and who asked first is first", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 30, Claims: 1})
		a, b, c := s.Join("", 10, 1), s.Join("", 10, 1), s.Join("", 10, 1)
		c.Wait(runner.Hungry)
		b.Wait(runner.Hungry)
		a.Wait(runner.Hungry)
		wantTake(t, c, 10)
		wantNoCall(t, b)
		c.Claimed(nil, false, true)
		wantTake(t, b, 10)
		wantNoCall(t, a)
	})
	t.Run("what an open claim kept for long is others', and until a claim is answered the seat takes a slot at a time", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 4, Limits: map[string]int{"k": 3}})
		a, b := s.Join("a", 8, 1), s.Join("b", 8, 1)
		a.Wait(runner.Hungry)
		wantTake(t, a, 4)
		a.Unanswered(true)
		b.Wait(runner.Hungry)
		wantNoCall(t, b)
		a.Forsake()
		if g := wantTake(t, b, 4); g.Room["k"] != 3 {
			t.Errorf("room for %d", g.Room["k"])
		}
		a.Wait(runner.Resend)
		wantTake(t, a, 0)
		a.Claimed(nil, true, true)
		b.Claimed(nil, false, true)
		a.Wait(runner.Hungry)
		if g := wantTake(t, a, 1); !g.Careful {
			t.Error("the claim does not know that it is to be careful")
		}
		a.Claimed(kinds("k", 1), true, true)
		a.Wait(runner.Hungry)
		wantTake(t, a, 3)
	})
}

// Handlers may outlast their queue, and its seat.
func TestSlots_OfASeatThatLeft(t *testing.T) {
	setUp := func(total int) (s *runner.Slots, gone, b *runner.Seat) {
		s = runner.NewSlots(runner.SlotsOptions{Total: total})
		gone, b = s.Join("a", 2, 1), s.Join("b", 2, 1)
		claim(t, gone, 2)
		gone.Leave()
		return s, gone, b
	}
	t.Run("its slots in use are not missed by others, nor come back as theirs", func(t *testing.T) {
		_, gone, b := setUp(0)
		b.Wait(runner.Hungry)
		wantTake(t, b, 2)
		b.Claimed(kinds("k", 2), false, false)
		gone.Done("k")
		gone.Done("k")
		b.Wait(runner.Hungry)
		wantNoCall(t, b)
		b.Done("k")
		wantTake(t, b, 1)
	})
	t.Run("with slots for all it keeps those in use until they are done", func(t *testing.T) {
		_, gone, b := setUp(3)
		b.Wait(runner.Hungry)
		wantTake(t, b, 1)
		b.Claimed(kinds("k", 1), false, false)
		gone.Done("k")
		b.Wait(runner.Hungry)
		wantTake(t, b, 1)
	})
	for _, total := range []int{0, 10} {
		t.Run(fmt.Sprintf("they count against the bound of the next seat of its name, of %d slots", total), func(t *testing.T) {
			s, gone, _ := setUp(total)
			again := s.Join("a", 3, 1)
			again.Wait(runner.Hungry)
			wantTake(t, again, 1)
			again.Claimed(kinds("k", 1), false, false)
			again.Wait(runner.Hungry)
			wantNoCall(t, again)
			gone.Done("k")
			wantTake(t, again, 1)
			again.Claimed(kinds("k", 1), false, false)
			gone.Done("k")
			again.Done("k")
			again.Done("k")
			again.Wait(runner.Hungry)
			wantTake(t, again, 3)
		})
	}
}

func TestSlots_Shares(t *testing.T) {
	t.Run("strict: a lower queue gets what the higher one leaves", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 4, Strict: true})
		a, b := s.Join("", 4, 1), s.Join("", 4, 1)
		claim(t, b, 4)
		b.Wait(runner.Hungry)
		a.Wait(runner.Hungry)
		for range 3 {
			b.Done("k")
		}
		wantNoCall(t, b)
		wantTake(t, a, 3)
		a.Claimed(kinds("k", 3), true, true)
		b.Done("k") // the higher one will ask again
		wantNoCall(t, b)
		a.Wait(runner.Hungry)
		wantTake(t, a, 1)
		a.Claimed(nil, false, true)
		wantTake(t, b, 1)
	})
	t.Run("weights 3 and 1 share what is freed 3 to 1", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 8})
		a, b := s.Join("", 100, 3), s.Join("", 100, 1)
		claim(t, a, 8)
		got := map[*runner.Seat]int{}
		queue := slices.Repeat([]*runner.Seat{a}, 8) // who has the slots, the oldest first
		a.Wait(runner.Hungry)
		b.Wait(runner.Hungry)
		for range 400 {
			queue[0].Done("k")
			queue = queue[1:]
			for _, seat := range []*runner.Seat{b, a} {
				g, ok := take(t, seat)
				if !ok {
					continue
				}
				seat.Claimed(kinds("k", g.Slots), true, true)
				got[seat] += g.Slots
				queue = append(queue, slices.Repeat([]*runner.Seat{seat}, g.Slots)...)
				seat.Wait(runner.Hungry)
			}
		}
		if got[a] < 295 || got[a] > 305 || got[a]+got[b] != 400 {
			t.Errorf("%d and %d slots", got[a], got[b])
		}
	})
	t.Run("weights hold also where claims take longer than jobs", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 8})
		a, b := s.Join("", 100, 3), s.Join("", 100, 1)
		seats, got := []*runner.Seat{a, b}, map[*runner.Seat]int{}
		a.Wait(runner.Hungry)
		b.Wait(runner.Hungry)
		for i := range 2000 { // they take turns at having an answer
			seat := seats[i%2]
			g, ok := take(t, seat)
			if !ok {
				t.Fatalf("round %d: nothing for seat %d", i, i%2)
			}
			got[seat] += g.Slots
			seat.Claimed(kinds("k", g.Slots), true, true)
			for range g.Slots {
				seat.Done("k")
			}
			seat.Wait(runner.Hungry)
		}
		if ratio := float64(got[a]) / float64(got[b]); ratio < 2.7 || ratio > 3.3 {
			t.Errorf("%d and %d slots", got[a], got[b])
		}
	})
	t.Run("looks that bring nothing cost no share", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 4})
		a, b := s.Join("", 100, 1), s.Join("", 100, 1)
		for range 100 {
			a.Wait(runner.Hungry)
			wantTake(t, a, 4)
			a.Claimed(nil, false, false)
		}
		claim(t, b, 4)
		a.Wait(runner.Hungry)
		b.Wait(runner.Hungry)
		for range 4 {
			b.Done("k")
		}
		wantTake(t, a, 4) // b has had four, and a none
	})
	t.Run("who finds nothing, again and again, lets the others go first", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 1, Claims: 1})
		var seats []*runner.Seat
		for range 5 {
			seats = append(seats, s.Join("", 2, 1))
			seats[len(seats)-1].Wait(runner.Hungry)
		}
		for i := range 50 {
			a := seats[i%5]
			wantTake(t, a, 1)
			a.Claimed(nil, false, false)
			a.Wait(runner.Hungry)
		}
	})
	t.Run("who was idle has saved up nothing", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 4})
		a, b := s.Join("", 100, 1), s.Join("", 100, 1)
		for range 100 {
			claim(t, a, 4)
			for range 4 {
				a.Done("k")
			}
		}
		got := map[*runner.Seat]int{}
		a.Wait(runner.Hungry)
		b.Wait(runner.Hungry)
		for i := range 20 {
			seat := []*runner.Seat{a, b}[i%2]
			g, _ := take(t, seat)
			seat.Claimed(kinds("k", g.Slots), true, true)
			for range g.Slots {
				seat.Done("k")
			}
			seat.Wait(runner.Hungry)
			got[seat] += g.Slots
		}
		if more := got[b] - got[a]; more < -8 || more > 8 {
			t.Errorf("the one that was idle got %d, the other %d", got[b], got[a])
		}
	})
}

func TestSlots_Kinds(t *testing.T) {
	t.Run("room of a kind is reserved over all queues", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 20, Limits: map[string]int{"k": 3}})
		a, b := s.Join("", 10, 1), s.Join("", 10, 1)
		a.Wait(runner.Hungry)
		b.Wait(runner.Hungry)
		if g := wantTake(t, a, 10); g.Room["k"] != 3 {
			t.Errorf("room %v", g.Room)
		}
		if g := wantTake(t, b, 10); g.Room["k"] != 0 {
			t.Errorf("room of the second %v", g.Room)
		}
	})
	t.Run("who was short of room is called as soon as there is some, once", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 20, Limits: map[string]int{"k": 1}})
		a := s.Join("", 10, 1)
		claim(t, a, 1)
		a.Wait(runner.Sated)
		wantNoCall(t, a)
		a.Done("k")
		if g := wantTake(t, a, 1); g.Room["k"] != 1 {
			t.Errorf("room %v", g.Room)
		}
		a.Claimed(nil, false, true)
		a.Wait(runner.Sated)
		wantNoCall(t, a)
	})
	t.Run("who had more room than jobs is not called for room", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 20, Limits: map[string]int{"k": 2}})
		a := s.Join("", 10, 1)
		claim(t, a, 1)
		a.Wait(runner.Sated)
		a.Done("k")
		wantNoCall(t, a)
	})
	t.Run("nobody is called for room where nothing is set aside", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 20, Limits: map[string]int{"k": 1}})
		a := s.Join("", 10, 1)
		a.Wait(runner.Hungry)
		wantTake(t, a, 10)
		a.Claimed(kinds("k", 1), false, false)
		a.Wait(runner.Sated)
		a.Done("k")
		wantNoCall(t, a)
	})
	t.Run("where every kind has a bound, slots without room are not asked for", func(t *testing.T) {
		s := runner.NewSlots(runner.SlotsOptions{Total: 20, Limits: map[string]int{"k": 2}, Bounded: true})
		a := s.Join("", 10, 1)
		claim(t, a, 2)
		a.Wait(runner.Hungry)
		wantNoCall(t, a)
		a.Done("k")
		wantTake(t, a, 1)
	})
}

// crowd is a random load on slots: queues with backlogs of two kinds, one of them with a bound.
type crowd struct {
	t       *testing.T
	rnd     *rand.Rand
	seats   []*runner.Seat
	backlog []map[string]int
	runs    []map[string]int
	claims  map[int]runner.Grant
	total   int
	limit   int
}

// TestSlots_UnderRandomLoad checks after every step that no bound is exceeded, and at the end that all was run.
func TestSlots_UnderRandomLoad(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		c := &crowd{t: t, rnd: rnd, claims: map[int]runner.Grant{}, total: 1 + rnd.IntN(10), limit: 1 + rnd.IntN(4)}
		s := runner.NewSlots(runner.SlotsOptions{
			Total: c.total, Claims: 1 + rnd.IntN(3), Strict: rnd.IntN(2) == 0, Limits: map[string]int{"few": c.limit},
		})
		for range 1 + rnd.IntN(6) {
			a := s.Join("", 1+rnd.IntN(8), 1+rnd.IntN(4))
			c.seats = append(c.seats, a)
			c.backlog = append(c.backlog, map[string]int{"few": rnd.IntN(20), "many": rnd.IntN(20)})
			c.runs = append(c.runs, map[string]int{})
			a.Wait(runner.Hungry)
		}
		idle := 0
		for c.left() > 0 {
			if idle++; c.step() {
				idle = 0
			}
			if c.check(); idle > 1000 || t.Failed() {
				t.Fatalf("%d jobs are left and nothing moves", c.left())
			}
		}
	}
}

// step lets something happen; false where nothing could.
func (c *crowd) step() bool {
	i := c.rnd.IntN(len(c.seats))
	if _, under := c.claims[i]; under {
		return c.answer(i)
	}
	if c.rnd.IntN(2) == 0 {
		g, ok := take(c.t, c.seats[i])
		if ok {
			c.claims[i] = g
		}
		return ok
	}
	for _, kind := range []string{"few", "many"} {
		if c.runs[i][kind] > 0 {
			c.runs[i][kind]--
			c.seats[i].Done(kind)
			return true
		}
	}
	return false
}

// answer ends a claim as Redis would: parked jobs of a kind without room are not told as left.
func (c *crowd) answer(i int) bool {
	g := c.claims[i]
	delete(c.claims, i)
	if c.rnd.IntN(10) == 0 {
		c.seats[i].Unanswered(false)
		c.seats[i].Wait(runner.Hungry)
		return true
	}
	few := min(c.backlog[i]["few"], g.Room["few"], g.Slots)
	many := min(c.backlog[i]["many"], g.Slots-few)
	for kind, n := range map[string]int{"few": few, "many": many} {
		c.backlog[i][kind] -= n
		c.runs[i][kind] += n
	}
	c.seats[i].Claimed(append(kinds("few", few), kinds("many", many)...), c.backlog[i]["many"] > 0, c.backlog[i]["few"] > 0)
	if c.backlog[i]["many"] > 0 {
		c.seats[i].Wait(runner.Hungry)
	} else {
		c.seats[i].Wait(runner.Sated)
	}
	return true
}

func (c *crowd) left() int {
	n := 0
	for i := range c.seats {
		n += c.backlog[i]["few"] + c.backlog[i]["many"]
	}
	return n
}

func (c *crowd) check() {
	c.t.Helper()
	all, few := 0, 0
	for i := range c.seats {
		all += c.runs[i]["few"] + c.runs[i]["many"] + c.claims[i].Slots
		few += c.runs[i]["few"] + c.claims[i].Room["few"]
	}
	if all > c.total || few > c.limit {
		c.t.Errorf("%d slots of %d, %d of the kind of %d", all, c.total, few, c.limit)
	}
}
