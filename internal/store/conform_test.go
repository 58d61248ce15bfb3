package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/devredis"
	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

// weights say how often each kind of command is drawn.
var weights = []struct {
	name string
	n    int
	draw drawer
}{
	{"enqueue", 7, drawEnqueue},
	{"claim", 11, drawClaim},
	{"settle", 7, drawSettle},
	{"renew", 2, drawRenew},
	{"progress", 2, drawProgress},
	{"ends", 2, drawEnds},
	{"time", 7, drawTime},
	{"late", 4, drawLate},
	{"cancel", 2, drawCancel},
	{"delete", 2, drawDelete},
	{"requeue", 2, drawRequeue},
	{"promote", 1, drawPromote},
	{"purge", 2, drawPurge},
	{"configure", 2, drawConfigure},
	{"pause", 1, drawPause},
	{"bell", 1, drawBell},
	{"look", 3, drawLook},
	{"page", 3, drawPage},
	{"flush", 1, drawFlush},
	{"expire", 2, drawExpire},
	{"memory", 3, drawMemory},
	{"relay", 1, drawRelay},
	{"send", 4, drawSend},
	{"read", 3, drawRead},
	{"boxes", 2, drawBoxes},
	{"states", 2, drawStates},
	{"bulk", 1, drawBulk},
}

// drawCommand draws one of all commands that make sense now.
func drawCommand(t *rapid.T, m *machine) command {
	var all []drawer
	for _, w := range weights {
		all = append(all, slices.Repeat([]drawer{w.draw}, w.n)...)
	}
	c, ok := pick(t, "kind of command", all...)(t, m)
	if !ok {
		t.Skip("makes no sense now")
	}
	return c
}

func drawTime(t *rapid.T, m *machine) (command, bool) {
	if m.v.realTime {
		return listenCommand(pick(t, "wait", time.Millisecond, 10*time.Millisecond, 30*time.Millisecond)), true
	}
	at := m.m.Now
	events, how := m.events("due", "retry", "leases", "done"), pick(t, "clock", "on", "event", "event", "lease", "lease", "back")
	if how == "lease" {
		events = m.events("leases")
	}
	switch how {
	case "on":
		at += rapid.Int64Range(0, pick(t, "on by", 10, 1000, 60_000, 2*hour, 90*24*hour)).Draw(t, "by")
	case "event", "lease":
		if len(events) == 0 {
			return command{}, false
		}
		at = pick(t, "event", events...) + pick(t, "off by", int64(0), 1, -1)
	case "back":
		at = max(at-pick(t, "back by", 1, 1000, 60_000, 2*hour), epoch/2)
	}
	if m.expired() { // a TTL fired: that time was reached
		at = max(at, m.m.Now)
	}
	return timeCommand(fmt.Sprintf("%+d", at-m.m.Now), at), true
}

const hour = int64(time.Hour / time.Millisecond)

// events are the times for which something waits in some places.
func (m *machine) events(places ...string) (times []int64) {
	for _, key := range places {
		for _, at := range m.last[key].Scores {
			times = append(times, at)
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

func drawLate(t *rapid.T, m *machine) (command, bool) {
	if len(m.late) == 0 {
		return command{}, false
	}
	c := m.late[len(m.late)-1-rapid.IntRange(0, len(m.late)-1).Draw(t, "how late")]
	c.text += " (late)"
	return c, true
}

func drawPause(t *rapid.T, m *machine) (command, bool) {
	if _, paused := m.last["meta"].Hash["paused"]; paused {
		return resumeCommand(), true
	}
	return pauseCommand(), true
}

func drawBell(t *rapid.T, m *machine) (command, bool) {
	if len(m.last["bell"].List) > 0 && !rarely(t, "ring", 3) {
		return listenCommand(time.Second), true
	}
	return ringCommand(), true
}

func drawLook(t *rapid.T, m *machine) (command, bool) {
	if rapid.Bool().Draw(t, "list") {
		state := pick(t, "state", store.Ready, store.ActiveState, store.Scheduled, store.RetryState, store.Parked,
			store.SpilledState, store.DeadState, store.EndedState)
		return listCommand(state, pick(t, "most", 1000, 1, 2)), true
	}
	return getCommand(m.drawIDs(t)[0]), true
}

func drawRelay(t *rapid.T, _ *machine) (command, bool) {
	return relayCommand(pick(t, "outbox", byte('x'), '0')), true
}

// drawBulk enqueues more jobs than a claim's upkeep moves at once.
func drawBulk(t *rapid.T, m *machine) (command, bool) {
	if len(m.last) > 100 || !rarely(t, "bulk", 8) {
		return command{}, false
	}
	adds := make([]store.Add, 110)
	delay := m.span(t, "delay")
	for i := range adds {
		m.ids++
		adds[i] = store.Add{ID: fmt.Sprintf("g%d", m.ids), Job: record.Job{Kind: kinds[i%2], Delay: delay, Outbox: "-x"[i%2]}}
	}
	c := enqueueCommand(adds, true)
	c.text = fmt.Sprintf("enqueue (spill) %d jobs g%d …, delay %v", len(adds), m.ids-len(adds)+1, delay)
	return c, true
}

func drawFlush(*rapid.T, *machine) (command, bool) { return flushCommand(), true }

func drawExpire(_ *rapid.T, m *machine) (command, bool) { return expireCommand(), !m.v.realTime }

func drawMemory(_ *rapid.T, m *machine) (command, bool) { return fullCommand(!m.full), m.v.memory }

// property is one run: random commands, some sent twice, some again much later; then a drain.
func (v *variant) property(t *rapid.T) {
	m := v.machine(t)
	m.prelude(t)
	t.Repeat(map[string]func(*rapid.T){"commands": func(t *rapid.T) {
		m.t = t
		for range 2 { // rapid's 30 steps a run are short
			m.random(t)
		}
	}})
	m.t = t
	m.drain()
}

// random sends a random command, and looks on.
func (m *machine) random(t *rapid.T) {
	c := rapid.Custom(func(t *rapid.T) command { return drawCommand(t, m) }).Draw(t, "command")
	m.do(c)
	if c.changes {
		m.late = append(m.late, c)
		if rarely(t, "twice", 5) {
			c.text += " (twice)"
			m.do(c)
		}
	}
	if m.walk != nil && rarely(t, "go on", 2) {
		page, _ := drawPage(t, m)
		m.do(page)
	}
	if rarely(t, "audit", 4) {
		m.audit()
	}
}

// TestConformance sends random commands to Redis and to package model, and compares the answers, all
// that stands in Redis and what was published after every one. It runs for a while, see budget:
// WAYBILL_T1=10m makes it longer. What fails is shrunk and printed with its seed; -rapid.seed repeats it.
func TestConformance(t *testing.T) {
	t.Run("a server", func(t *testing.T) {
		t.Parallel()
		v := &variant{rdb: redistest.Start(t).Client()}
		v.explore(t, 0.5, mustSee...)
	})
	t.Run("a server without script headers", func(t *testing.T) {
		t.Parallel()
		v := &variant{rdb: redistest.Start(t).Client(), noHeaders: true}
		v.explore(t, 0.25, mustSee...)
	})
	t.Run("full memory", func(t *testing.T) {
		t.Parallel()
		v := &variant{rdb: redistest.Start(t).Client(), memory: true}
		v.explore(t, 0.25, "enqueue refused")
	})
	t.Run("full memory without script headers", func(t *testing.T) {
		t.Parallel()
		v := &variant{rdb: redistest.Start(t).Client(), memory: true, noHeaders: true}
		v.explore(t, 0.25, "enqueue refused")
	})
	t.Run("the in-memory server", func(t *testing.T) {
		t.Parallel()
		v := &variant{rdb: inMemory(t), lacks: inMemoryLacks}
		v.explore(t, 0.25)
		for what, why := range v.lacks {
			t.Logf("not compared here: %s: %s", what, why)
		}
	})
	t.Run("real time", func(t *testing.T) {
		t.Parallel()
		v := &variant{rdb: redistest.Start(t).Client(), realTime: true, tap: &tap{}}
		v.rdb.AddHook(v.tap)
		v.explore(t, 0.2)
	})
}

// inMemoryLacks are the parts of the conformance test that do not run on the in-memory server.
var inMemoryLacks = map[string]string{
	"news":           "a goroutine delivers what is published, at times after the reply to the script",
	"full memory":    "there is no CONFIG and no maxmemory: enqueue is never refused",
	"script headers": "a header is a syntax error: the store finds that out and sends the plain form",
}

// inMemory starts the development server that is no Redis.
func inMemory(t *testing.T) *redis.Client {
	s, err := devredis.Start(t.Context(), devredis.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	o, err := redis.ParseURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	o.MaxRetries = -1
	rdb := redis.NewClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func (v *variant) explore(t *testing.T, share float64, must ...string) {
	v.seen = &coverage{seen: map[string]int{}}
	explore(t, share, v.property)
	v.seen.check(t, must...)
}
