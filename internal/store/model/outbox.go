package model

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// numbers are what outboxes may be called by in records, in the order in which they are given.
const numbers = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// box is an outbox that the queue knows.
type box struct {
	name string
	sent int64
}

// Number is the number of an outbox; 0 where the queue does not know it.
func (q *Queue) Number(name string) byte {
	for n, b := range q.boxes {
		if b.name == name {
			return n
		}
	}
	return 0
}

// known tells whether an outbox has a number.
func (q *Queue) known(name string, number byte) bool { return number != 0 && q.Number(name) == number }

// Look is store.Outbox.Look.
func (q *Queue) Look(name string) store.Standing {
	s := store.Standing{Number: q.Number(name), Told: q.tellings, Now: time.UnixMilli(q.Now)}
	if b := q.boxes[s.Number]; b != nil {
		s.Sent, s.Before, s.Unread = b.sent, b.sent, int64(len(q.told[s.Number]))
	}
	return s
}

// Enter is store.Outbox.Enter.
func (q *Queue) Enter(name string) (store.Standing, error) {
	if q.Number(name) == 0 {
		var free []byte
		for _, n := range []byte(numbers) {
			if q.boxes[n] == nil {
				free = append(free, n)
			}
		}
		if len(free) == 0 {
			return store.Standing{}, store.ErrCrowded
		}
		slices.SortStableFunc(free, func(a, b byte) int { // without words before those with words
			return cmp.Compare(min(len(q.told[a]), 1), min(len(q.told[b]), 1))
		})
		q.boxes[free[0]] = &box{name: name}
	}
	return q.Look(name), nil
}

// Forget is store.Outbox.Forget.
func (q *Queue) Forget(name string) {
	if n := q.Number(name); n != 0 {
		delete(q.boxes, n)
		delete(q.told, n)
	}
}

// Send is store.Outbox.Send.
func (q *Queue) Send(name string, number byte, adds []store.Add, spill bool) ([]store.Enqueued, store.Standing, error) {
	if !q.known(name, number) {
		return slices.Repeat([]store.Enqueued{{Err: store.ErrStranger}}, len(adds)), store.Standing{}, store.ErrStranger
	}
	adds = slices.Clone(adds)
	for i := range adds {
		adds[i].Job.Outbox = number
	}
	before := q.boxes[number].sent
	out := q.Enqueue(adds, spill)
	for _, e := range out {
		if e.Outcome == store.Accepted || e.Outcome == store.Spilled {
			q.boxes[number].sent++
		}
	}
	s := q.Look(name)
	s.Unread, s.Before = 0, before
	return out, s, nil
}

// Read is a whole pass of store.Outbox.Read, with each word as it stands: "id value". done are words of that form.
func (q *Queue) Read(name string, number byte, done []string) (words []string, s store.Standing, err error) {
	if !q.known(name, number) {
		return nil, store.Standing{}, store.ErrStranger
	}
	for _, w := range done {
		if id, value, _ := strings.Cut(w, " "); q.told[number][id] == value {
			delete(q.told[number], id)
		}
	}
	for id, value := range q.told[number] {
		words = append(words, id+" "+value)
	}
	slices.Sort(words)
	return words, q.Look(name), nil
}

// Outboxes is store.Queue.Outboxes.
func (q *Queue) Outboxes() (out []store.BoxInfo) {
	for _, n := range []byte(numbers) {
		info := store.BoxInfo{Number: n, Unread: int64(len(q.told[n]))}
		if b := q.boxes[n]; b != nil {
			info.Name, info.Sent = b.name, b.sent
		}
		if info.Name != "" || info.Unread > 0 {
			out = append(out, info)
		}
	}
	return out
}

// States is store.Queue.States.
func (q *Queue) States(ids []string) []store.State {
	out := make([]store.State, len(ids))
	for i, id := range ids {
		info, ok := q.Get(id)
		switch r := q.runs[id]; {
		case ok:
			out[i] = info.State
		case r != nil:
			out[i] = store.State(r.outcome) // its record went by its TTL
		}
	}
	return out
}
