package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/model"
)

// topicMachine sends commands to a topic in Redis and to the model, and compares what both say.
type topicMachine struct {
	*topicFixture
	m    *model.Topic
	ids  int
	live map[string][]store.Delivery // jobs under a lease, by subscription
	seen map[string]int
}

// TestTopicConformance sends random commands to a topic, and damages it by hand, and compares answers, stream and figures
// with the model after every one.
func TestTopicConformance(t *testing.T) {
	for name, noHeaders := range map[string]bool{"a server": false, "a server without script headers": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb, seen := redistest.Start(t).Client(), map[string]int{}
			explore(t, 0.25, func(t *rapid.T) {
				if err := rdb.FlushDB(context.Background()).Err(); err != nil {
					t.Fatal(err)
				}
				names := []string{"s1", "s2", "s3", "g1", "g2"}
				f := newTopicOn(t, rdb, "wb", noHeaders)
				f.names = names
				f.pass(0)
				m := &topicMachine{f, model.NewTopic(f.now), 0, map[string][]store.Delivery{}, seen}
				for range rapid.IntRange(20, 80).Draw(t, "commands") {
					m.step(t)
				}
				m.drain()
			})
			t.Log(seen)
			for what := range topicCommands {
				if seen[what] == 0 && len(seen) > 0 && seen["publish"] > 500 {
					t.Errorf("%s was never tried", what)
				}
			}
		})
	}
}

// topicCommands are tried each as often as its number says.
var topicCommands = map[string]int{
	"publish": 8, "claim": 8, "settle": 3, "subscribe": 4, "unsubscribe": 1, "trim": 2, "clock": 3, "settings": 2, "group": 2, "read": 3, "ack": 3,
	"attach": 2, "delete entry": 1, "trim by hand": 1, "delete stream": 1, "move group": 2, "set back": 1, "lose fields": 1,
}

func (m *topicMachine) step(t *rapid.T) {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(topicCommands)) {
		all = append(all, slices.Repeat([]string{what}, topicCommands[what])...)
	}
	what := rapid.SampledFrom(all).Draw(t, "command")
	m.seen[what]++
	if !m.act(t, what) {
		m.damage(t, what)
	}
	m.compare()
}

// act does what the topic's own verbs and its readers do.
func (m *topicMachine) act(t *rapid.T, what string) bool {
	name := rapid.SampledFrom([]string{"s1", "s2", "s3"}).Draw(t, "subscription")
	group := rapid.SampledFrom([]string{"g1", "g2"}).Draw(t, "group")
	switch what {
	case "publish":
		m.publish(t)
	case "claim":
		m.take(name, rapid.IntRange(0, 5).Draw(t, "most"), rarely(t, "twice", 4))
	case "settle":
		m.end(name, rapid.SampledFrom([]store.End{store.Ack, store.Dead}).Draw(t, "end"), m.live[name]...)
		m.live[name] = nil
	case "subscribe", "attach":
		now := rapid.Bool().Draw(t, "now")
		place := map[bool]string{false: store.Beginning, true: store.FromNow}[now]
		m.is(m.m.Subscribe(name, now, what == "attach"), string(m.stand(name, place, what == "attach").Word))
	case "unsubscribe":
		lag, removed := m.m.Unsubscribe(name)
		got, err := m.Unsubscribe(m.t.Context(), name)
		m.must(err)
		m.is([]any{lag, removed}, []any{got.Lag, got.Removed})
	case "trim":
		m.m.Trim()
		m.trim()
	case "clock":
		m.pass(rapid.SampledFrom([]time.Duration{0, time.Millisecond, 100 * time.Millisecond, 2 * time.Second, -time.Second}).Draw(t, "by"))
		m.m.Now = m.now
	case "settings":
		m.settings(t)
	case "group", "read", "ack":
		m.foreign(t, what, group)
	default:
		return false
	}
	return true
}

func (m *topicMachine) publish(t *rapid.T) {
	var events [][2]string
	var adds []store.Add
	for range rapid.IntRange(1, 4).Draw(t, "events") {
		m.ids++
		id := fmt.Sprint("e", m.ids)
		if rarely(t, "again", 4) {
			id = fmt.Sprint("e", rapid.IntRange(1, m.ids).Draw(t, "which"))
		}
		payload := rapid.SampledFrom([]string{"p", "p", "p", "q"}).Draw(t, "payload")
		events = append(events, [2]string{id, payload})
		adds = append(adds, store.Add{ID: id, Job: record.Job{Kind: "orders", Payload: []byte(payload), Named: true}})
	}
	m.is(strings.Join(m.m.Publish(events), " "), m.add(adds...))
}

// take claims, perhaps twice: the copy must bring the same.
func (m *topicMachine) take(name string, most int, twice bool) {
	m.claims[name]++
	c := store.Claim{Worker: "Ann", Number: m.claims[name], Most: most, Lease: time.Hour}
	got, err := m.queue(name).Claim(m.t.Context(), c)
	m.must(err)
	m.is(strings.Join(m.m.Claim(name, most), " "), idsOf(got.Jobs))
	m.live[name] = append(m.live[name], got.Jobs...)
	if twice {
		again, err := m.queue(name).Claim(m.t.Context(), c)
		m.must(err)
		m.is(got.Jobs, again.Jobs)
	}
}

func (m *topicMachine) settings(t *rapid.T) {
	m.m.Capacity = rapid.SampledFrom([]int{0, 0, 2, 5}).Draw(t, "capacity")
	m.m.Detaches = rapid.Bool().Draw(t, "detaches")
	m.m.Keep = rapid.SampledFrom([]int64{0, 0, 1000}).Draw(t, "keep")
	capacity := int64(m.m.Capacity)
	if capacity == 0 {
		capacity = store.Unlimited
	}
	m.set(store.TopicSettings{
		Capacity: &capacity, Keep: pointer(time.Duration(m.m.Keep) * time.Millisecond),
		OnFull: pointer(map[bool]string{false: store.FullRejects, true: store.FullDetaches}[m.m.Detaches]),
	})
}

// foreign is what a plain client does with a group of its own.
func (m *topicMachine) foreign(t *rapid.T, what, name string) {
	g := m.m.Groups[name]
	switch {
	case g == nil && what == "group":
		m.group(name, 0)
		m.m.Groups[name] = &model.Group{}
	case g != nil && what == "group":
		m.do("XGROUP", "DESTROY", m.stream(), name)
		delete(m.m.Groups, name)
	case g != nil && what == "read" && m.m.Above(g.Read) != nil:
		n := rapid.IntRange(1, 3).Draw(t, "most")
		got := m.groupReads(name, n)
		var want []string
		for e := m.m.Above(g.Read); e != nil && len(want) < n; e = m.m.Above(g.Read) {
			g.Read, g.Pending, want = e.N, append(g.Pending, e.N), append(want, e.Entry())
		}
		m.is(want, got)
	case g != nil && what == "ack" && len(g.Pending) > 0:
		i := rapid.IntRange(0, len(g.Pending)-1).Draw(t, "which")
		m.do("XACK", m.stream(), name, m.m.Events[g.Pending[i]-1].Entry())
		g.Pending = slices.Delete(g.Pending, i, i+1)
	}
}

// damage is what is done by hand.
func (m *topicMachine) damage(t *rapid.T, what string) {
	present := m.m.Present()
	name := rapid.SampledFrom([]string{"s1", "s2", "s3"}).Draw(t, "of")
	s := m.m.Subs[name]
	switch {
	case what == "delete entry" && len(present) > 0:
		e := rapid.SampledFrom(present).Draw(t, "entry")
		m.do("XDEL", m.stream(), e.Entry())
		m.m.Events[e.N-1].Gone = true
	case what == "trim by hand" && len(present) > 1:
		m.do("XTRIM", m.stream(), "MAXLEN", "1")
		for _, e := range present[:len(present)-1] {
			m.m.Events[e.N-1].Gone = true
		}
	case what == "delete stream":
		m.do("DEL", m.stream())
		for i := range m.m.Events {
			m.m.Events[i].Gone = true
		}
		m.m.Groups = map[string]*model.Group{}
	case what == "move group":
		id := rapid.SampledFrom([]string{"0", "$"}).Draw(t, "to")
		if rapid.Bool().Draw(t, "destroy") {
			_ = m.rdb.Do(m.t.Context(), "XGROUP", "DESTROY", m.stream(), name).Err() // where there is one
			return
		}
		_ = m.rdb.Do(m.t.Context(), "XGROUP", "SETID", m.stream(), name, id).Err()
	case what == "set back" && s != nil && s.Taken > 1:
		s.Taken = rapid.Int64Range(1, s.Taken-1).Draw(t, "back to")
		m.do("HSET", m.base+"sub:"+name+":meta", "cursor", m.m.Events[s.Taken-1].Entry(), "cursor_n", s.Taken)
	case what == "lose fields" && m.m.Capacity == 0 && m.knowsLast():
		m.do("HDEL", m.Tag()+"meta", "n", "last")
		m.publish(t)
		m.ids++
		m.is(strings.Join(m.m.Publish([][2]string{{fmt.Sprint("e", m.ids), "p"}}), " "),
			m.add(store.Add{ID: fmt.Sprint("e", m.ids), Job: record.Job{Kind: "orders", Payload: []byte("p"), Named: true}}))
	}
}

// knowsLast tells whether the last event can be found without the topic's fields.
func (m *topicMachine) knowsLast() bool {
	n := int64(len(m.m.Events))
	for _, s := range m.m.Subs {
		if n > 0 && (s.Taken == n || !m.m.Events[n-1].Gone) {
			return true
		}
	}
	return false
}

// compare looks at the stream and at what the topic tells.
func (m *topicMachine) compare() {
	said, err := m.rdb.XRange(m.t.Context(), m.stream(), "-", "+").Result()
	m.must(err)
	var want, got []string
	for _, e := range m.m.Present() {
		want = append(want, fmt.Sprintf("%s n=%d %s %s", e.Entry(), e.N, e.ID, e.Payload))
	}
	for _, e := range said {
		got = append(got, fmt.Sprintf("%s n=%s %s %s", e.ID, e.Values["n"], e.Values["id"], e.Values["payload"]))
	}
	m.is(want, got)
	s := m.look()
	m.is([]int64{int64(len(m.m.Events)), int64(len(want))}, []int64{s.Accepted, s.Entries})
	stands := map[string]model.Stand{}
	for _, sub := range s.Subscriptions {
		stands[sub.Name] = model.Stand{
			Taken: sub.Taken, Lag: sub.Lag, Gone: sub.Gone, Lost: sub.Lost, From: sub.LostFrom, To: sub.LostTo, Detached: !sub.Detached.IsZero(),
		}
	}
	wanted := map[string]model.Stand{}
	for name, sub := range m.m.Subs {
		wanted[name] = m.m.Stand(sub)
	}
	m.is(wanted, stands)
	ignored, err := m.rdb.HKeys(m.t.Context(), m.base+"topic:ignored").Result()
	m.must(err)
	slices.Sort(ignored)
	m.is(slices.Sorted(maps.Keys(m.m.Ignored)), append([]string(nil), ignored...))
	m.checkQueues()
}

// checkQueues looks for what no step may leave behind in the subscriptions' queues.
func (m *topicMachine) checkQueues() {
	for _, name := range []string{"s1", "s2", "s3"} {
		d, err := readDump(m.t.Context(), m.rdb, m.queue(name))
		m.must(err)
		m.is([]string(nil), d.checkStructure())
		m.is(len(m.live[name]), len(d["leases"].Scores))
	}
}

// drain lets every subscription take what is left, and nothing may be left then.
func (m *topicMachine) drain() {
	for name, s := range m.m.Subs {
		if s.Detached {
			m.is(m.m.Subscribe(name, false, true), string(m.stand(name, store.Beginning, true).Word))
		}
		for m.m.Above(s.Taken) != nil {
			m.take(name, 5, false)
		}
		m.end(name, store.Ack, m.live[name]...)
		m.live[name] = nil
		m.compare()
	}
}
