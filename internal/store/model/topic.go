package model

import (
	"cmp"
	"fmt"
	"slices"
)

// Event is an event that a topic accepted.
type Event struct {
	N           int64 // its number
	ID, Payload string
	MS, Seq     int64 // of its entry
	Gone        bool  // it is not in the stream any more
}

// Entry is the ID of its entry in the stream.
func (e Event) Entry() string { return fmt.Sprintf("%d-%d", e.MS, e.Seq) }

// Subscription is what the model knows of one, also of one that ended: its jobs stay.
type Subscription struct {
	Taken          int64           // number of the event at its cursor
	Top            int64           // the highest at which a claim came by
	Given          map[string]bool // events that became jobs
	Lost, From, To int64
	Detached       bool
}

// Group is a consumer group of somebody else's.
type Group struct {
	Read    int64
	Pending []int64
}

// Topic is the model of a topic: windows last for ever, entries are all events.
type Topic struct {
	Now, Keep int64 // ms
	Capacity  int   // 0: no bound
	Detaches  bool  // what a full stream does
	Events    []Event
	Subs      map[string]*Subscription // that are there
	Ended     map[string]*Subscription
	Groups    map[string]*Group
	Ignored   map[string]bool
	kept      int64
}

// NewTopic is a topic to which nobody published.
func NewTopic(now int64) *Topic {
	return &Topic{
		Now: now, Subs: map[string]*Subscription{}, Ended: map[string]*Subscription{}, Groups: map[string]*Group{}, Ignored: map[string]bool{},
	}
}

func (t *Topic) last() int64 { return int64(len(t.Events)) }

// Present are the events in the stream.
func (t *Topic) Present() (out []Event) {
	for _, e := range t.Events {
		if !e.Gone {
			out = append(out, e)
		}
	}
	return out
}

// Above is the first event in the stream with a higher number; nil where there is none.
func (t *Topic) Above(n int64) *Event {
	for i := range t.Events {
		if e := &t.Events[i]; e.N > n && !e.Gone {
			return e
		}
	}
	return nil
}

type holder struct {
	wants int64
	name  string
	sub   bool
}

func (t *Topic) holders() (out []holder) {
	for name, s := range t.Subs {
		if !s.Detached {
			out = append(out, holder{s.Taken + 1, name, true})
		}
	}
	for name, g := range t.Groups {
		wants := g.Read + 1
		if len(g.Pending) > 0 {
			wants = slices.Min(g.Pending)
		}
		if !t.Ignored[name] || wants > t.last() {
			out = append(out, holder{wants, name, false})
		}
	}
	slices.SortFunc(out, func(a, b holder) int { return cmp.Compare(a.wants, b.wants) })
	return out
}

// cut takes away what lies below a number and, where before is set, is older than that time.
func (t *Topic) cut(below, before int64) {
	for i := range t.Events {
		if e := &t.Events[i]; e.N < below && (before == 0 || e.MS < before) {
			e.Gone = true
		}
	}
}

// Trim is what the keeper does.
func (t *Topic) Trim() []holder {
	list := t.holders()
	for name := range t.Ignored {
		if _, there := t.Groups[name]; !there || slices.ContainsFunc(list, func(h holder) bool { return h.name == name && !h.sub }) {
			delete(t.Ignored, name)
		}
	}
	before := int64(0)
	if t.Keep > 0 {
		before = t.Now - t.Keep
	}
	if len(list) > 0 {
		t.cut(list[0].wants, before)
	}
	t.kept = t.Now
	return list
}

func (t *Topic) trimAtTimes(kept int64) {
	if t.Now >= kept+250 || t.Now < kept {
		t.Trim()
	}
}

func (t *Topic) free() int { return t.Capacity - len(t.Present()) }

// room makes room for so many events as far as it may.
func (t *Topic) room(wanted int) {
	if t.free() >= wanted {
		return
	}
	list := t.Trim()
	if t.free() < wanted && len(list) > 0 {
		t.cut(list[0].wants, 0)
	}
	if t.free() >= wanted || !t.Detaches || len(t.Subs) == 0 {
		return
	}
	for i, h := range list {
		if h.sub {
			t.Subs[h.name].Detached = true
		} else {
			t.Ignored[h.name] = true
		}
		if i+1 < len(list) {
			t.cut(list[i+1].wants, 0)
			if t.free() >= wanted {
				return
			}
		}
	}
	for t.free() < wanted {
		t.Above(0).Gone = true
	}
}

// Publish adds events, given as ID and payload.
func (t *Topic) Publish(events [][2]string) (words []string) {
	kept, fresh := t.kept, map[string]bool{}
	for _, e := range events {
		if t.find(e[0]) == nil {
			fresh[e[0]] = true
		}
	}
	if t.Capacity > 0 && len(fresh) > 0 {
		t.room(min(len(fresh), t.Capacity))
	}
	for _, e := range events {
		words = append(words, t.publish(e[0], e[1]))
	}
	t.trimAtTimes(kept)
	return words
}

func (t *Topic) find(id string) *Event {
	for i := range t.Events {
		if t.Events[i].ID == id {
			return &t.Events[i]
		}
	}
	return nil
}

func (t *Topic) publish(id, payload string) string {
	switch old := t.find(id); {
	case old != nil && old.Payload == payload:
		return "duplicate"
	case old != nil:
		return "conflict"
	case len(t.Subs) == 0 && t.Capacity == 0:
		return "nobody"
	case t.Capacity > 0 && t.free() <= 0:
		return "full"
	}
	e := Event{N: t.last() + 1, ID: id, Payload: payload, MS: t.Now}
	if n := len(t.Events); n > 0 && t.Events[n-1].MS >= t.Now {
		e.MS, e.Seq = t.Events[n-1].MS, t.Events[n-1].Seq+1
	}
	t.Events = append(t.Events, e)
	return "accepted"
}

// Subscribe makes a subscription, from the beginning or from now, or attaches one.
func (t *Topic) Subscribe(name string, now, attach bool) (word string) {
	place := t.last()
	if first := t.Above(0); !now && first != nil {
		place = first.N - 1
	}
	s := t.Subs[name]
	switch {
	case s == nil && t.Groups[name] != nil:
		return "foreign"
	case s == nil:
		s = cmp.Or(t.Ended[name], &Subscription{Given: map[string]bool{}})
		s.Taken = place
		t.Subs[name] = s
		return "created"
	case s.Detached && !attach:
		return "detached"
	case !s.Detached:
		return "exists"
	}
	s.Detached = false
	if met := s.met(); place > met {
		s.lose(met+1, place)
	}
	s.Taken = max(s.Taken, place)
	return "attached"
}

// met is the number of the highest event that it took or passed by: what is missing below was not lost.
func (s *Subscription) met() int64 { return max(s.Taken, s.Top) }

func (s *Subscription) lose(from, to int64) { s.Lost, s.From, s.To = s.Lost+to-from+1, from, to }

// Unsubscribe ends a subscription, and gives the events that it had not taken.
func (t *Topic) Unsubscribe(name string) (lag int64, removed bool) {
	s := t.Subs[name]
	if s == nil {
		return 0, false
	}
	delete(t.Subs, name)
	s.Detached, s.From, s.To = false, 0, 0
	t.Ended[name] = s
	t.Trim()
	return t.last() - s.Taken, true
}

// Claim gives the events that a claim of new ones brings.
func (t *Topic) Claim(name string, most int) (ids []string) {
	s := t.Subs[name]
	if s == nil {
		return nil
	}
	from, to, gap := int64(0), int64(0), int64(0)
	for !s.Detached && len(ids) < most {
		e := t.Above(s.Taken)
		if e == nil {
			break
		}
		if met := s.met(); e.N > met+1 {
			gap, to = gap+e.N-met-1, e.N-1
			from = cmp.Or(from, met+1)
		}
		s.Taken, s.Top = e.N, max(s.met(), e.N)
		if !s.Given[e.ID] {
			s.Given[e.ID] = true
			ids = append(ids, e.ID)
		}
	}
	if gap > 0 {
		s.Lost, s.From, s.To = s.Lost+gap, from, to
	}
	t.trimAtTimes(t.kept)
	return ids
}

// Stand is what the topic tells of a subscription.
type Stand struct {
	Taken, Lag, Gone, Lost, From, To int64
	Detached                         bool
}

// Stand tells how a subscription stands.
func (t *Topic) Stand(s *Subscription) Stand {
	out := Stand{Taken: s.Taken, Lost: s.Lost, From: s.From, To: s.To, Detached: s.Detached}
	out.Gone = max(0, t.last()-s.met())
	if e := t.Above(s.Taken); e != nil {
		out.Gone, out.Lag = max(0, e.N-1-s.met()), t.last()-e.N+1
	}
	if out.Gone > 0 {
		out.Lost, out.From, out.To = s.Lost+out.Gone, s.met()+1, s.met()+out.Gone
	}
	return out
}
