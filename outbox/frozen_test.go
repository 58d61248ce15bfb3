package outbox_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/boundary"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

func TestRelay_frozenSender(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		s.enter(requests(10)...)
		stands, free := s.frozen("rows locked")
		<-stands
		began := time.Now()
		s.enter(request("later"))
		s.work(func(context.Context, *waybill.Attempt) error { return nil })
		s.relay()
		until(t, "others pass its rows over, and words are read meanwhile", func() bool { return s.rows().Ended >= 1 })
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("they waited for %s", took)
		}
		until(t, "the server frees its rows", func() bool { return s.rows().Ended == 11 })
		if took := time.Since(began); took > 12*time.Second {
			t.Errorf("after %s", took)
		}
		until(t, "the claim is old", func() bool { return time.Since(began) > 4500*time.Millisecond })
		free()
		if st := s.stats(); st.Accepted != 11 || st.Deliveries != 11 || st.Duplicates != 0 {
			t.Errorf("accepted %d, delivered %d; %d were sent when the claim was old", st.Accepted, st.Deliveries, st.Duplicates)
		}
	})
}

func TestRelay_lockedRow(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		s.enter(request("a"))
		stands, free := s.frozen("answer read")
		<-stands
		s.work(func(context.Context, *waybill.Attempt) error { return nil })
		until(t, "the job is done", func() bool { return s.stats().Completed == 1 })
		s.relay()
		if d.Dialect != outbox.SQLite { // which locks nothing
			until(t, "its word waits for the row", func() bool { r := s.rows(); return r.Unread == 1 && !r.OldestUnread.IsZero() })
			if n := s.rows().Strangers; n != 0 {
				t.Errorf("%d strangers", n)
			}
		}
		free()
		until(t, "and is written in a later pass", func() bool { return s.rows().Ended == 1 && s.rows().Unread == 0 })
		if st := s.stats(); st.Accepted != 1 || st.Deliveries != 1 {
			t.Errorf("accepted %d, delivered %d", st.Accepted, st.Deliveries)
		}
	})
}

func TestRelay_stalePage(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		s.enter(request("a"))
		stop := s.work(func(context.Context, *waybill.Attempt) error { return errors.New("it fails") })
		stands, free := s.frozen("words read")
		<-stands
		until(t, "the job is dead", func() bool { return s.stats().Dead == 1 })
		stop()
		s.relay()
		until(t, "another relay was faster", func() bool { return s.rows().Dead == 1 })
		if err := s.c.Queue("q").Requeue(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		until(t, "and knows that the job lives again", func() bool { return s.rows().Sent == 1 && s.rows().Unread == 0 })
		free()
		if r := s.rows(); r.Sent != 1 || r.Dead != 0 {
			t.Errorf("an older word was written over a newer one: %+v", r)
		}
	})
}

func TestRelay_frozenQueueRow(t *testing.T) {
	t.Parallel()
	for name, give := range map[string]func(testing.TB) *sqltest.Database{"postgresql": sqltest.Postgres, "mariadb": sqltest.MariaDB} {
		t.Run(name+": who stands still with the row of one queue holds back no other", func(t *testing.T) {
			t.Parallel()
			s := newStand(t, give(t), outbox.Options{})
			s.enter(waybill.Request{Queue: "a", Kind: "k"})
			stands, free := s.frozen("rows marked")
			<-stands
			began := time.Now()
			s.enter(waybill.Request{Queue: "a", Kind: "k"}, request("b"))
			s.relay()
			until(t, "the other is served", func() bool { return s.rows().Sent == 1 })
			if took := time.Since(began); took > 4*time.Second {
				t.Errorf("it waited for %s", took)
			}
			until(t, "and this one when the server has freed it", func() bool { return s.inState("sent") == 3 })
			free()
			if n := s.told(outbox.EventLost); n != 0 {
				t.Errorf("told of %d losses", n)
			}
		})
	}
}

func TestRelay_stranger(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		s.enter(request("a"), request("b"))
		s.relay()
		until(t, "both are sent", func() bool { return s.rows().Sent == 2 })
		if _, err := s.db.ExecContext(t.Context(), "DELETE FROM waybill_outbox WHERE id = 'a'"); err != nil {
			t.Fatal(err)
		}
		s.work(func(context.Context, *waybill.Attempt) error { return nil })
		until(t, "a word without a row is counted", func() bool { r := s.rows(); return r.Ended == 1 && r.Strangers == 1 && r.Unread == 1 })
		if n := s.told(outbox.EventLost); n != 0 {
			t.Errorf("told of %d losses", n)
		}
	})
}

func TestRelay_stop(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		s.enter(request("a"))
		ctx, cancel := context.WithCancel(t.Context())
		stop := s.relayIn(boundary.With(ctx, func(name string) {
			if name == "answer read" {
				cancel()
			}
		}))
		until(t, "the relay was told to stop", func() bool { return ctx.Err() != nil })
		stop()
		if n := s.rows().Sent; n != 1 {
			t.Errorf("what was sent is marked: %d rows", n)
		}
	})
}

func TestOutbox_Kick(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{Poll: time.Minute})
		s.relay()
		until(t, "the relay has begun", func() bool {
			name, err := s.box.Name(t.Context())
			return err == nil && name != ""
		})
		s.enter(request("a"))
		s.box.Kick()
		until(t, "it looks at once", func() bool { return s.rows().Sent == 1 })
	})
}
