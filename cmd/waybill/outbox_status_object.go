package main

import (
	"time"

	"github.com/waybillhq/waybill/outbox"
)

// lost tells whether Redis lost data of a queue, and why.
func (s outboxState) lost(q outbox.QueueStats) (bool, string) {
	if why := s.seen[q.Queue].Lost; why != "" {
		return true, why
	}
	return !q.LostAt.IsZero(), q.LostReason
}

func (s outboxState) anyLost() bool {
	for _, q := range s.Queues {
		if lost, _ := s.lost(q); lost {
			return true
		}
	}
	return false
}

// unread is how many words wait, by Redis where it tells, and since when; zero where that is not known.
func (s outboxState) unread(q outbox.QueueStats) (int64, time.Time) {
	seen, ok := s.seen[q.Queue]
	if !ok {
		return q.Unread, q.OldestUnread
	}
	if seen.Unread == 0 {
		return 0, time.Time{}
	}
	return seen.Unread, q.OldestUnread
}

// since is the time from t to the reading, by the database's clock.
func (s outboxState) since(t time.Time) time.Duration { return max(0, s.At.Sub(t)) }

// ago is since for people.
func (s outboxState) ago(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return age(s.since(t))
}

// sinceMS is since in milliseconds, or nil.
func (s outboxState) sinceMS(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	ms := s.since(t).Milliseconds()
	return &ms
}

// outboxObject is the object of one queue.
type outboxObject struct {
	Outbox         *string  `json:"outbox"` // null: no relay has run so far
	Queue          string   `json:"queue"`
	At             string   `json:"at"`
	New            int64    `json:"new"`
	OldestNewMS    *int64   `json:"oldest_new_ms"`
	Sent           int64    `json:"sent"`
	Dead           int64    `json:"dead"`
	Ended          int64    `json:"ended"`
	SetAside       int64    `json:"set_aside"`
	Unread         int64    `json:"unread"`
	OldestUnreadMS *int64   `json:"oldest_unread_ms"`
	ReadAt         *string  `json:"read_at"`
	Strangers      int64    `json:"strangers"`
	Lost           *bool    `json:"lost"` // null: Redis did not tell
	LostAt         *string  `json:"lost_at"`
	LostReason     *string  `json:"lost_reason"`
	Held           *string  `json:"held"` // why a topic takes no events; null: it does, or none waits, or Redis did not tell
	Level          string   `json:"level"`
	Warnings       []string `json:"warnings"`
}

func (s outboxState) object(q outbox.QueueStats) outboxObject {
	unread, oldest := s.unread(q)
	lost, why := s.lost(q)
	o := outboxObject{
		Outbox: orNil(s.Name), Queue: q.Queue, At: s.At.UTC().Format(stampFormat), New: q.New, OldestNewMS: s.sinceMS(q.Oldest),
		Sent: q.Sent, Dead: q.Dead, Ended: q.Ended, SetAside: q.SetAside, Unread: unread, OldestUnreadMS: s.sinceMS(oldest),
		ReadAt: stampOf(q.ReadAt), Strangers: q.Strangers, LostAt: stampOf(q.LostAt), LostReason: orNil(why), Held: orNil(s.held(q)),
		Warnings: []string{},
	}
	if _, told := s.seen[q.Queue]; told || lost || s.away == nil {
		o.Lost = &lost
	}
	found := s.checkQueue(q)
	o.Level = string(worstOf(found))
	for _, f := range notOK(found) {
		o.Warnings = append(o.Warnings, f.text())
	}
	return o
}
