package outbox_test

import (
	"context"
	"testing"

	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

// What one relay sent and Redis lost is noticed by another one that did not know of it, though it sends more than was lost.
func TestRelay_skewedMarks(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s, server := newStandAlone(t, d)
		s.enter(request("first"))
		first := s.relay()
		until(t, "the first is sent", func() bool { return s.rows().Sent == 1 })
		first()
		restore := s.keep(server)

		s.enter(request("other"))
		stands, free := s.frozen("rows locked")
		<-stands // it knows of one job
		if d.Dialect != outbox.SQLite {
			s.enter(request("lost")) // the other is locked
		}
		second := s.relay()
		until(t, "another relay sends", func() bool { return s.rows().Sent == 2 })
		second()
		restore()
		free() // it sends as many as were lost
		s.relay()
		until(t, "the loss is noticed", func() bool { return !s.rows().LostAt.IsZero() })
		s.replay(outbox.ReplayOptions{})
		until(t, "all are sent", func() bool { return s.rows().New == 0 })
		if st := s.stats(); st.Ready != s.rows().Sent {
			t.Errorf("%d jobs of %d rows", st.Ready, s.rows().Sent)
		}
	})
}

// A relay that stood still between sending and marking, while Redis lost what it sent and was replayed, marks nothing.
func TestRelay_staleEpoch(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s, _ := newStandAlone(t, d)
		s.enter(request("a"))
		first := s.relay()
		until(t, "the first is sent", func() bool { return s.rows().Sent == 1 })
		first()
		s.enter(request("b"))
		stands, free := s.frozen("answer read")
		<-stands
		if err := s.rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		said := s.replay(outbox.ReplayOptions{Queues: []string{"q"}})
		if said.Sent != 1 {
			t.Errorf("%+v", said)
		}
		free()
		if r := s.rows(); r.Sent != 1 || r.New != 1 {
			t.Errorf("what was sent before the replay is marked after it: %+v", r)
		}
		s.relay()
		until(t, "it is sent again", func() bool { return s.rows().Sent == 2 })
		if st := s.stats(); st.Ready != 2 {
			t.Errorf("%d jobs of 2", st.Ready)
		}
	})
}

// Likewise where the loss is noticed, and a replay is under way, or yet to come.
func TestRelay_markOfLost(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s, _ := newStandAlone(t, d)
		s.enter(request("a"))
		first := s.relay()
		until(t, "the first is sent", func() bool { return s.rows().Sent == 1 })
		first()
		s.enter(request("b"))
		stands, free := s.frozen("answer read")
		<-stands
		if err := s.rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		s.relay()
		until(t, "the loss is noticed", func() bool { return !s.rows().LostAt.IsZero() })
		free()
		if r := s.rows(); r.Sent != 1 || r.New != 1 {
			t.Errorf("it is marked: %+v", r)
		}
	})
}

func TestRelay_endedAtOnce(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.box.Relay(ctx, s.c); err != nil {
			t.Errorf("a relay that is told to stop before it has begun: %v", err)
		}
	})
}
