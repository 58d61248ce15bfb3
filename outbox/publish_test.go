package outbox_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/boundary"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/topic"
)

const address = "topic:orders"

var placed = topic.Define[[]byte]("orders")

func event(id string) waybill.Request { return placed.Request([]byte(id), waybill.ID(id)) }

// publish enters events and commits.
func (s *stand) publish(events ...waybill.Request) {
	s.t.Helper()
	if err := s.in(func(tx *sql.Tx) error { return s.box.Publish(s.t.Context(), tx, events...) }); err != nil {
		s.t.Fatal(err)
	}
}

// subscription makes a subscription of the topic at its beginning.
func (s *stand) subscription(name string) {
	s.t.Helper()
	if _, err := placed.Create(s.t.Context(), s.c, name, topic.Beginning); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stand) topic() topic.Stats {
	s.t.Helper()
	st, err := placed.Stream(s.c).Stats(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return st
}

// published are the IDs of the events in the stream, in order.
func (s *stand) published() (ids []string) {
	s.t.Helper()
	err := placed.Stream(s.c).Events(s.t.Context(), "", "", func(e topic.Event) error {
		ids = append(ids, e.ID)
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return ids
}

// of is how the rows of a queue stand.
func (s *stand) of(queue string) outbox.QueueStats {
	s.t.Helper()
	st, err := s.box.Stats(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, q := range st.Queues {
		if q.Queue == queue {
			return q
		}
	}
	return outbox.QueueStats{}
}

// held is why Redis takes no events.
func (s *stand) held() string {
	s.t.Helper()
	all, err := s.box.Look(s.t.Context(), s.c)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, q := range all {
		if q.Queue == address {
			return q.Held
		}
	}
	return ""
}

func TestOutbox_Publish(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		undone := errors.New("undone")
		if err := s.in(func(tx *sql.Tx) error {
			return errors.Join(s.box.Publish(t.Context(), tx, event("never")), undone)
		}); !errors.Is(err, undone) || errors.Is(err, outbox.ErrInvalid) {
			t.Fatal(err)
		}
		s.publish(event("a"), event("b"), placed.Request([]byte("x")))
		s.publish(event("a")) // one event
		other := event("a")
		other.Payload = []byte("other")
		if err := s.in(func(tx *sql.Tx) error { return s.box.Publish(t.Context(), tx, other) }); !errors.Is(err, outbox.ErrConflict) {
			t.Errorf("another payload: %v", err)
		}
		s.enter(request("job"), event("c")) // Enqueue takes both
		s.write(address, "written", `{"payload":{"n":1}}`)
		s.write(address, "late", `{"kind":"orders","delay_ms":5}`)
		s.write("topic:no name", "x", `{}`)
		written := placed.Request([]byte(`{"n":1}`), waybill.ID("written"))
		s.publish(written) // the kind that was left out is the topic's name

		s.relay()
		until(t, "the rows wait for a subscription, and no other queue does", func() bool {
			return s.told(outbox.EventNoSubscription) == 1 && s.of("q").Sent == 1
		})
		if r := s.of(address); r.New != 5 || r.SetAside != 1 || s.held() != "it has no subscription and no bound" {
			t.Errorf("before there is one: %+v, held as %q", r, s.held())
		}
		s.subscription("billing")
		until(t, "they are published", func() bool { return s.of(address).Sent == 5 })
		if r := s.of(address); r.Ended != 0 || r.Unread != 0 || s.held() != "" || s.of("topic:no name").SetAside != 1 {
			t.Errorf("then: %+v, held as %q", r, s.held())
		}
		ids := s.published()
		if len(ids) != 5 || ids[0] != "a" || ids[1] != "b" || ids[3] != "c" || ids[4] != "written" || s.topic().Accepted != 5 {
			t.Errorf("published are %q, accepted %d", ids, s.topic().Accepted)
		}
		for id, want := range map[string]outbox.RowState{"a": outbox.RowSent, "late": outbox.RowSetAside} {
			row, err := s.box.Row(t.Context(), address, id)
			if err != nil || row.State != want || row.EndedAt.IsZero() != (want != outbox.RowSent) {
				t.Errorf("row %s: %+v, %v", id, row, err)
			}
		}
		until(t, "it is noted when the topic was read", func() bool { return !s.of(address).ReadAt.IsZero() })
		if n := s.told(outbox.EventLost) + s.told(outbox.EventFailed); n != 0 {
			t.Errorf("%d failures", n)
		}
	})
}

func TestOutbox_Publish_refused(t *testing.T) {
	t.Parallel()
	s := newStand(t, sqltest.SQLite(t), outbox.Options{})
	priority := event("p")
	priority.Priority = 3
	for name, r := range map[string][]waybill.Request{
		"a job": {request("j")}, "a job beside an event": {event("a"), request("j")}, "an event with a priority": {priority},
		"an event that is spilled": {placed.Request([]byte("x"), waybill.OnFull(waybill.FullSpill))},
	} {
		if err := s.in(func(tx *sql.Tx) error { return s.box.Publish(t.Context(), tx, r...) }); !errors.Is(err, outbox.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := s.in(func(tx *sql.Tx) error { return s.box.PublishInOrder(t.Context(), tx, "", event("a")) })
	if !errors.Is(err, outbox.ErrInvalid) {
		t.Errorf("an empty key: %v", err)
	}
	if n := s.of(address).New + s.of("q").New; n != 0 {
		t.Errorf("%d rows were entered", n)
	}
}

func TestOutbox_Look_full(t *testing.T) {
	t.Parallel()
	s := newStand(t, sqltest.SQLite(t), outbox.Options{})
	room, detach := int64(1), topic.FullDetach
	if err := placed.Stream(s.c).Set(t.Context(), topic.Settings{Capacity: &room, OnFull: &detach}); err != nil {
		t.Fatal(err)
	}
	if _, err := placed.Publish(t.Context(), s.c, []byte("x")); err != nil {
		t.Fatal(err)
	}
	s.publish(event("a"))
	s.relay()
	until(t, "the row waits", func() bool { return s.told(outbox.EventFull) > 0 })
	if got := s.held(); got != "it is full (1 of 1)" {
		t.Errorf("with nobody to detach it is held as %q", got)
	}
	s.subscription("billing")
	until(t, "the row is published", func() bool { return s.of(address).Sent == 1 })
	if got := s.held(); got != "" {
		t.Errorf("where it makes room itself it is held as %q", got)
	}
}

func TestRelay_fullTopic(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		s.subscription("billing")
		room := int64(2)
		if err := placed.Stream(s.c).Set(t.Context(), topic.Settings{Capacity: &room}); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			if err := s.in(func(tx *sql.Tx) error {
				return s.box.PublishInOrder(t.Context(), tx, "key", event(fmt.Sprint("a", i)), event(fmt.Sprint("b", i)))
			}); err != nil {
				t.Fatal(err)
			}
		}
		s.enter(request("job"))
		s.relay()
		until(t, "rows wait for room", func() bool { return s.told(outbox.EventFull) == 1 && s.of("q").Sent == 1 })
		if r := s.of(address); r.New != 6 || r.Sent != 2 || r.SetAside != 0 || s.held() != "it is full (2 of 2)" {
			t.Errorf("full: %+v, held as %q", r, s.held())
		}
		room = 100
		if err := placed.Stream(s.c).Set(t.Context(), topic.Settings{Capacity: &room}); err != nil {
			t.Fatal(err)
		}
		until(t, "all are published", func() bool { return s.of(address).Sent == 8 })
		if ids := s.published(); !slices.Equal(ids, []string{"a0", "b0", "a1", "b1", "a2", "b2", "a3", "b3"}) {
			t.Errorf("published in the order %q", ids)
		}
	})
}

func TestRelay_diesPublishing(t *testing.T) {
	t.Parallel()
	for _, d := range []*sqltest.Database{sqltest.SQLite(t), sqltest.Postgres(t)} {
		t.Run(string(d.Dialect), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, d, outbox.Options{})
			s.subscription("billing")
			s.publish(event("a"), placed.Request([]byte("x")))
			dead := errors.New("dead")
			s.dying(boundary.With(t.Context(), func(name string) {
				if name == "answer read" {
					panic(dead)
				}
			}), dead)
			if n := s.topic().Accepted; n != 2 || s.of(address).New != 2 {
				t.Fatalf("%d events are published, %+v", n, s.of(address))
			}
			s.relay()
			until(t, "the next relay marks them", func() bool { return s.of(address).Sent == 2 })
			if st := s.topic(); st.Accepted != 2 || st.Duplicates != 2 || len(s.published()) != 2 {
				t.Errorf("accepted %d, duplicates %d", st.Accepted, st.Duplicates)
			}
		})
	}
}

func TestOutbox_Purge_events(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{Keep: -1})
		s.subscription("billing")
		s.publish(event("a"), event("b"))
		stop := s.relay()
		until(t, "both are published", func() bool { return s.of(address).Sent == 2 })
		stop()
		s.publish(event("waits"))
		if _, err := s.db.ExecContext(t.Context(), "UPDATE waybill_outbox SET ended_ms = ended_ms - 3600000 WHERE id = 'a'"); err != nil {
			t.Fatal(err)
		}
		n, err := s.box.Purge(t.Context(), leastPurge, nil)
		if err != nil || n != 1 {
			t.Errorf("purged %d, %v", n, err)
		}
		if r := s.of(address); r.Sent != 1 || r.New != 1 {
			t.Errorf("left are %+v", r)
		}
	})
}

// leastPurge is more than any test takes.
const leastPurge = 30 * time.Minute
