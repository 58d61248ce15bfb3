package runner_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/runner"
	"github.com/waybillhq/waybill/internal/store"
)

// shelf is a queue with a backlog a kind, which keeps to the room of a claim and sets aside what has none.
type shelf struct {
	*fakeQueue
	name    string
	latency time.Duration // of a claim

	mu      sync.Mutex
	backlog map[string]int
	made    int
	looks   []time.Time
}

func newShelf(name string, backlog map[string]int) *shelf {
	return &shelf{fakeQueue: &fakeQueue{}, name: name, backlog: backlog}
}

func (s *shelf) Claim(_ context.Context, c store.Claim) (store.Claimed, error) {
	s.mu.Lock()
	latency := s.latency
	s.mu.Unlock()
	pass(latency)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks = append(s.looks, time.Now())
	out := store.Claimed{Now: time.Now()}
	for _, kind := range slices.Sorted(maps.Keys(s.backlog)) {
		n := min(s.backlog[kind], c.Most-len(out.Jobs))
		room, bounded := c.Room[kind]
		if bounded {
			n = min(n, room)
		}
		s.backlog[kind] -= n
		for range n {
			s.made++
			out.Jobs = append(out.Jobs, kindDelivery(fmt.Sprintf("%s-%d", s.name, s.made), kind))
		}
		if left := int64(s.backlog[kind]); bounded && c.Most > 0 {
			out.Parked += left
		} else {
			out.Left += left
		}
	}
	return out, nil
}

func (s *shelf) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, each := range s.backlog {
		n += each
	}
	return n
}

func kindDelivery(id, kind string) store.Delivery {
	head := record.Head{Seq: 1}
	raw := fmt.Appendf(nil, "1%s%011x", head, 1)
	return store.Delivery{
		ID: id, Token: "1-w." + id, Element: head.Element(id), Attempt: 1,
		Record: append(raw, record.Job{Kind: kind}.Blob()...),
	}
}

// tally counts what runs at a time, and what ran, by a name.
type tally struct {
	mu            sync.Mutex
	now, most, in map[string]int
}

func newTally() *tally {
	return &tally{now: map[string]int{}, most: map[string]int{}, in: map[string]int{}}
}

func (c *tally) begin(names ...string) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range names {
		c.in[n]++
		c.now[n]++
		c.most[n] = max(c.most[n], c.now[n])
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, n := range names {
			c.now[n]--
		}
	}
}

func (c *tally) ran(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.in[name]
}

func (c *tally) peak(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most[name]
}

// fleet runs shelves on one team, each job for a time, until body returns.
func fleet(t *testing.T, o runner.TeamOptions, concurrency int, took time.Duration, shelves []*shelf, body func(*tally)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newTally()
		o.Listener = newBells()
		var runners []runner.Options
		for i, s := range shelves {
			each := options(s.name, s, concurrency)
			each.Weight = 1
			if i == 0 {
				each.Weight = 3
			}
			each.Handle = func(_ context.Context, a *runner.Attempt) ([]byte, error) {
				defer c.begin("all", "queue "+s.name, "kind "+a.Rec.Kind)()
				pass(took)
				return nil, nil
			}
			runners = append(runners, each)
		}
		_, stop := run(t, runner.NewTeam(o), runners...)
		body(c)
		if err := stop(); err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

func TestTeam_Shares(t *testing.T) {
	t.Run("weights 3 and 1 share the slots 3 to 1 while both have work", func(t *testing.T) {
		a, b := newShelf("a", map[string]int{"k": 1 << 20}), newShelf("b", map[string]int{"k": 1 << 20})
		fleet(t, runner.TeamOptions{Slots: runner.SlotsOptions{Total: 8}}, 8, 100*time.Millisecond, []*shelf{a, b}, func(c *tally) {
			later(20 * time.Second)
			if ratio := float64(c.ran("queue a")) / float64(c.ran("queue b")); ratio < 2.8 || ratio > 3.2 {
				t.Errorf("%d and %d jobs", c.ran("queue a"), c.ran("queue b"))
			}
			if c.ran("all") < 8*190 || c.peak("all") > 8 {
				t.Errorf("%d jobs, %d at a time", c.ran("all"), c.peak("all"))
			}
		})
	})
	t.Run("strict: the lower queue waits while the higher one has work, and then has all", func(t *testing.T) {
		a, b := newShelf("a", map[string]int{"k": 400}), newShelf("b", map[string]int{"k": 1 << 20})
		o := runner.TeamOptions{Slots: runner.SlotsOptions{Total: 4, Strict: true}}
		fleet(t, o, 4, 100*time.Millisecond, []*shelf{a, b}, func(c *tally) {
			later(9 * time.Second)
			if c.ran("queue b") > 4 { // those it got before the other one had asked
				t.Errorf("the lower queue ran %d jobs", c.ran("queue b"))
			}
			later(5 * time.Second)
			if a.left() > 0 || c.ran("queue b") < 100 {
				t.Errorf("%d are left in the higher, the lower ran %d", a.left(), c.ran("queue b"))
			}
		})
	})
	t.Run("a queue without work is in nobody's way", func(t *testing.T) {
		a, b := newShelf("a", nil), newShelf("b", map[string]int{"k": 1 << 20})
		o := runner.TeamOptions{Slots: runner.SlotsOptions{Total: 4, Strict: true}}
		fleet(t, o, 4, 100*time.Millisecond, []*shelf{a, b}, func(c *tally) {
			later(10 * time.Second)
			if c.ran("queue b") < 4*95 {
				t.Errorf("it ran %d jobs", c.ran("queue b"))
			}
		})
	})
}

func TestTeam_Kinds(t *testing.T) {
	t.Run("a kind's bound holds over all queues, and its jobs are claimed as soon as there is room", func(t *testing.T) {
		shelves := []*shelf{
			newShelf("a", map[string]int{"few": 40, "many": 100}), newShelf("b", map[string]int{"few": 40, "many": 100}),
			newShelf("c", map[string]int{"few": 20}),
		}
		o := runner.TeamOptions{Slots: runner.SlotsOptions{Total: 20, Limits: map[string]int{"few": 2}}, Poll: time.Hour}
		fleet(t, o, 10, 100*time.Millisecond, shelves, func(c *tally) {
			later(5500 * time.Millisecond) // 100 jobs, two at a time
			if c.peak("kind few") > 2 || c.peak("all") > 20 || c.peak("queue a") > 10 {
				t.Errorf("at a time: %d of the kind, %d, %d of queue a", c.peak("kind few"), c.peak("all"), c.peak("queue a"))
			}
			for _, s := range shelves {
				if s.left() > 0 {
					t.Errorf("%d jobs of queue %s are left", s.left(), s.name)
				}
			}
		})
	})
}

func TestTeam_ManyQueues(t *testing.T) {
	const queues = 500
	var shelves []*shelf
	for i := range queues {
		s := newShelf(fmt.Sprint("q", i), nil)
		s.latency = time.Millisecond
		shelves = append(shelves, s)
	}
	o := runner.TeamOptions{Slots: runner.SlotsOptions{Total: 100}, Listens: 8, Names: 128}
	fleet(t, o, 10, 10*time.Millisecond, shelves, func(c *tally) {
		later(time.Minute)
		var looks []time.Time
		for _, s := range shelves {
			s.mu.Lock()
			if n := len(s.looks); n < 12 {
				t.Errorf("queue %s was looked at %d times in a minute", s.name, n)
			}
			looks = append(looks, s.looks...)
			s.mu.Unlock()
		}
		inSecond := map[int64]int{}
		for _, at := range looks {
			if at.Sub(looks[0]) > 10*time.Second {
				inSecond[at.Unix()]++
			}
		}
		if most := slices.Max(slices.Collect(maps.Values(inSecond))); len(looks) > 61*115 || most > 200 {
			t.Errorf("%d looks in a minute, up to %d a second", len(looks), most)
		}
		for _, s := range shelves {
			s.mu.Lock()
			s.backlog = map[string]int{"k": 3}
			s.mu.Unlock()
		}
		later(6 * time.Second) // no bell rings: the timers find the work
		if c.ran("all") != 3*queues || c.peak("all") > 100 {
			t.Errorf("%d jobs ran, %d at a time", c.ran("all"), c.peak("all"))
		}
	})
}

func TestTeam_Tokens(t *testing.T) {
	t.Run("one whose claim does not get its turn is given back, for others to hear", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			slow, rung, b := newShelf("slow", map[string]int{"k": 1}), newShelf("rung", nil), newBells()
			o := runner.TeamOptions{Slots: runner.SlotsOptions{Total: 8}, Listener: b, Listens: 1, Names: 128, Poll: time.Hour}
			_, stop := run(t, runner.NewTeam(o), options("slow", slow, 4), options("rung", rung, 4))
			later(time.Second)
			slow.mu.Lock()
			slow.latency = 5 * time.Second // the one claim that may be under way
			slow.mu.Unlock()
			b.ring("slow")
			later(time.Second)
			b.ring("rung")
			later(inHandAtLeast)
			if n := rung.count("ring"); n != 0 {
				t.Errorf("it was given back at once, %d times", n)
			}
			later(time.Second)
			if n := rung.count("ring"); n != 1 {
				t.Errorf("it was given back %d times", n)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	})
}

// inHandAtLeast is a time for which a token is kept in hand.
const inHandAtLeast = 20 * time.Millisecond
