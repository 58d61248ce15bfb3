package store_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// Small pools, so that commands meet.
var (
	givenIDs = []string{"a", "b", "c", "d", "e", "f"}
	kinds    = []string{"k", "kk", "q"} // one begins as another
	workers  = []string{"Ann", "Bob", "Eve"}
)

// die has 256 sides, each as likely. Rapid's own generators prefer small numbers.
var die = rapid.Custom(func(t *rapid.T) (n int) {
	for range 8 {
		n *= 2
		if rapid.Bool().Draw(t, "bit") {
			n++
		}
	}
	return n
})

// pick draws one of values, each as likely; the first is the simplest.
func pick[T any](t *rapid.T, label string, values ...T) T {
	return values[die.Draw(t, label)*len(values)/256]
}

// rarely is true once in n.
func rarely(t *rapid.T, label string, n int) bool {
	return pick(t, label, append(make([]bool, n-1), true)...)
}

// some draws how many, from 1; few are likelier.
func some(t *rapid.T, label string, most int) int { return rapid.IntRange(1, most).Draw(t, label) }

// span draws a time span: of hours by the clock of tests, of milliseconds by a real one.
func (m *machine) span(t *rapid.T, label string) time.Duration {
	if m.v.realTime {
		return pick(t, label, 0, time.Millisecond, 5*time.Millisecond, 20*time.Millisecond)
	}
	return pick(t, label, 0, time.Millisecond, time.Second, 10*time.Second, 3*time.Minute, time.Hour, 3*time.Hour)
}

func (m *machine) lease(t *rapid.T) time.Duration {
	if m.v.realTime {
		return pick(t, "lease", 20*time.Millisecond, time.Millisecond, 100*time.Millisecond)
	}
	return pick(t, "lease", 30*time.Second, time.Millisecond, time.Second, time.Hour, 2*time.Hour)
}

func drawEnqueue(t *rapid.T, m *machine) (command, bool) {
	adds := make([]store.Add, some(t, "jobs", 5))
	for i := range adds {
		adds[i] = m.drawAdd(t)
	}
	return enqueueCommand(adds, rarely(t, "spill", 3)), true
}

func (m *machine) drawAdd(t *rapid.T) store.Add {
	a := store.Add{ID: pick(t, "id", givenIDs...)}
	a.Job.Named = rapid.Bool().Draw(t, "given")
	if !a.Job.Named {
		if !rarely(t, "again", 4) { // the last one
			m.ids++
		}
		a.ID = fmt.Sprintf("g%d", m.ids)
	}
	a.Job.Kind = kinds[int(a.ID[len(a.ID)-1])%len(kinds)] // most often an ID has one kind and payload
	a.Job.Payload = []byte("p" + a.ID)
	if rarely(t, "another job", 10) {
		a.Job.Kind = pick(t, "kind", kinds...)
		a.Job.Payload = pick(t, "payload", []byte{}, []byte("\x00\n r1"))
	}
	a.Priority = pick(t, "priority", 0, 0, 0, 7, -7, record.MaxPriority, -record.MaxPriority)
	a.LIFO = rarely(t, "lifo", 4)
	a.Job.Outbox = pick(t, "outbox", byte(0), 0, 0, 'x', '0')
	a.Job.Retention = pick(t, "retention", 0, time.Hour, 3*time.Hour)
	switch pick(t, "when", "now", "now", "after", "at") {
	case "after":
		a.Job.Delay = m.span(t, "delay")
	case "at":
		at := m.m.Now + m.span(t, "at").Milliseconds()*int64(pick(t, "side", 1, -1))
		a.Job.At = time.UnixMilli(at)
	}
	if rarely(t, "brought back", 6) {
		a.Back, a.Job.At, a.Job.Delay = m.drawBack(t), time.Time{}, 0
	}
	return a
}

// drawBack draws how a job is that is brought back from an export.
func (m *machine) drawBack(t *rapid.T) *store.Back {
	b := &store.Back{
		State:      pick(t, "state", store.Ready, store.Scheduled, store.RetryState, store.DeadState, store.CompletedState, store.CancelledState),
		At:         time.UnixMilli(m.m.Now + m.span(t, "at").Milliseconds()*int64(pick(t, "side", 1, -1))),
		EnqueuedAt: time.UnixMilli(m.m.Now - m.span(t, "enqueued").Milliseconds()),
		Attempt:    pick(t, "attempts", 0, 1, 7),
	}
	if b.Attempt > 0 {
		b.Failures, b.Crashes, b.Snoozes = pick(t, "failures", 0, 3), pick(t, "crashes", 0, 1, 2), pick(t, "snoozes", 0, 1)
		b.Errors = make([]store.Error, pick(t, "errors", 0, 1, 10))
	}
	return b
}

func drawClaim(t *rapid.T, m *machine) (command, bool) {
	c := store.Claim{
		Worker: pick(t, "worker", workers...), Lease: m.lease(t),
		Most: pick(t, "most", 3, 1, 0, 2, 10, 1000), Suspect: !rarely(t, "no suspect", 3),
		Bytes: pick(t, "bytes", 0, 0, 0, 1, 150),
	}
	c.Number = m.numbers[c.Worker] + pick(t, "number", int64(1), 1, 1, 1, 1, 2, 0, -1)
	if rarely(t, "round number", 16) {
		c.Number = (c.Number/64 + 1) * 64
	}
	if c.Number < 1 {
		c.Number = 1
	}
	if rarely(t, "some kinds", 3) {
		c.Kinds = pick(t, "kinds", []string{"k"}, []string{"kk", "k"}, []string{"q", "kk"}, []string{"none"})
	}
	if rarely(t, "room", 3) {
		c.Room = map[string]int{pick(t, "kind with a bound", kinds...): pick(t, "room of it", 0, 1, 2)}
		if rarely(t, "second bound", 2) {
			c.Room[pick(t, "second kind", kinds...)] = pick(t, "room of the second", 0, 1)
		}
	}
	return claimCommand(c), true
}

// drawMember draws a lease: most often one that is held, else one that was, or none that ever was.
func (m *machine) drawMember(t *rapid.T) string {
	held := m.held()
	switch how := pick(t, "member", "held", "held", "held", "old", "odd"); {
	case how == "held" && len(held) > 0:
		return pick(t, "held", held...)
	case how != "odd":
		return pick(t, "old", m.members[max(0, len(m.members)-200):]...)
	}
	member := pick(t, "odd", m.members[max(0, len(m.members)-200):]...)
	token, el, _ := strings.Cut(member, " ")
	odd := pick(t, "what is odd", "9"+token+" "+el, token+" 3e8F00000fffff0:"+el[16:], token+" 3e8F00000fffff1:nobody")
	m.keeps[odd] = m.keeps[member]
	return odd
}

func (m *machine) held() (members []string) {
	for _, member := range m.members {
		if _, ok := m.last["leases"].Scores[member]; ok {
			members = append(members, member)
		}
	}
	return members
}

func drawSettle(t *rapid.T, m *machine) (command, bool) {
	if len(m.members) == 0 || len(m.held()) == 0 && !rarely(t, "none is held", 4) {
		return command{}, false
	}
	items := make([]store.Settlement, some(t, "items", 5))
	for i := range items {
		member := m.drawMember(t)
		it := store.Settlement{Member: member, Keep: m.keeps[member]}
		it.End = pick(t, "end", store.Ack, store.Complete, store.Retry, store.Retry, store.Snooze, store.Release, store.Release,
			store.Dead, store.Cancel)
		it.Delay = m.span(t, "delay")
		it.Retention = pick(t, "retention", 0, time.Hour, 3*time.Hour)
		it.Result = pick(t, "result", nil, []byte("r"), []byte{})
		it.Dropped = rarely(t, "dropped", 8)
		it.Line = pick(t, "line", store.Error{Attempt: 1, At: m.m.Now, Type: "failure", Message: "no", Worker: "w"}.Line(), "")
		if rarely(t, "effects", 3) {
			n := func(label string) int { return pick(t, label, 0, 1, 3) }
			it.Effects = store.Effects{Applied: n("applied"), Suppressed: n("suppressed"), Mismatches: n("mismatches")}
		}
		items[i] = it
	}
	return settleCommand(items), true
}

func drawRenew(t *rapid.T, m *machine) (command, bool) {
	if len(m.members) == 0 {
		return command{}, false
	}
	members := make([]string, some(t, "members", 4))
	for i := range members {
		members[i] = m.drawMember(t)
	}
	return renewCommand(m.lease(t), members), true
}

func drawProgress(t *rapid.T, m *machine) (command, bool) {
	if len(m.members) == 0 {
		return command{}, false
	}
	return progressCommand(m.drawMember(t), pick(t, "percent", 0, 7, 100), pick(t, "note", "half way", "", " 7 ")), true
}

// drawEnds asks for jobs that are there, that were there, and that never were.
func drawEnds(t *rapid.T, m *machine) (command, bool) {
	return endsCommand(m.drawManyIDs(t)), true
}

func (m *machine) drawManyIDs(t *rapid.T) []string {
	ids := m.drawIDs(t)
	ids = append(ids, givenIDs...)
	for n := range min(m.ids, 10) {
		ids = append(ids, fmt.Sprintf("g%d", m.ids-n))
	}
	return ids
}

// drawIDs draws IDs of jobs, most often of such as stand in Redis, every third of an active one.
func (m *machine) drawIDs(t *rapid.T) []string {
	known := []string{}
	for key := range m.last {
		if id, ok := strings.CutPrefix(key, "job:"); ok {
			known = append(known, id)
		}
	}
	slices.Sort(known)
	ids := []string{}
	for range some(t, "ids", 3) {
		id := pick(t, "other id", "a", "b", "g1", "nobody")
		if held := m.held(); len(held) > 0 && rarely(t, "active", 3) {
			_, id, _ = strings.Cut(pick(t, "held", held...), ":")
		} else if len(known) > 0 && !rarely(t, "other", 4) {
			id = pick(t, "id", known...)
		}
		ids = append(ids, id)
	}
	return ids
}

func drawCancel(t *rapid.T, m *machine) (command, bool) {
	return cancelCommand(pick(t, "reason", "no need", ""), m.drawIDs(t)), true
}

func drawDelete(t *rapid.T, m *machine) (command, bool) {
	o := store.DeleteOptions{Force: rapid.Bool().Draw(t, "force"), Forget: rarely(t, "forget", 3)}
	return deleteCommand(o, m.drawIDs(t)), true
}

func drawRequeue(t *rapid.T, m *machine) (command, bool) {
	ids := m.drawIDs(t)
	for el := range m.last["dead"].Scores {
		ids = append(ids, el[16:])
	}
	slices.Sort(ids)
	return requeueCommand(ids), true
}

func drawPromote(t *rapid.T, m *machine) (command, bool) {
	return promoteCommand(m.drawIDs(t)), true
}

func drawPurge(t *rapid.T, m *machine) (command, bool) {
	state := pick(t, "state", store.EndedState, store.EndedState, store.DeadState, store.Ready, store.Scheduled, store.RetryState,
		store.Parked, store.SpilledState)
	return purgeCommand(state, pick(t, "most", 500, 1, 2)), true
}

// expired tells whether a record went by its TTL before any sweep.
func (m *machine) expired() bool {
	for el := range m.last["done"].Scores {
		if m.last["job:"+el[16:]].Text == "" {
			return true
		}
	}
	return false
}

func drawConfigure(t *rapid.T, _ *machine) (command, bool) {
	n := func(label string, values ...int64) *int64 { v := pick(t, label, values...); return &v }
	d := func(label string, values ...time.Duration) *time.Duration { v := pick(t, label, values...); return &v }
	var s store.Settings
	switch what := pick(t, "setting", "capacity", "capacity", "crashes", "dead count", "dead age", "windows", "window count"); what {
	case "capacity":
		s.Capacity = n(what, store.Unlimited, 4, 2, 0)
		return configureCommand(fmt.Sprintf("%s %d", what, *s.Capacity), s), true
	case "crashes":
		s.CrashAllowance = n(what, 5, 0, 2, store.Unlimited)
		return configureCommand(fmt.Sprintf("%s %d", what, *s.CrashAllowance), s), true
	case "dead count":
		s.DeadCount = n(what, 1, 0, 3, store.Unlimited)
		return configureCommand(fmt.Sprintf("%s %d", what, *s.DeadCount), s), true
	case "dead age":
		s.DeadAge = d(what, time.Minute, 0, 3*time.Hour, store.Unlimited)
		return configureCommand(fmt.Sprintf("%s %v", what, *s.DeadAge), s), true
	case "windows":
		s.WindowGenerated = d(what, time.Second, time.Minute)
		s.WindowNamed = d(what, time.Second, time.Hour)
		return configureCommand(fmt.Sprintf("%s %v %v", what, *s.WindowGenerated, *s.WindowNamed), s), true
	}
	return rawCommand("window_count", pick(t, "count", "1", "2", "4")), true
}
