package outbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

func TestNew(t *testing.T) {
	t.Parallel()
	d := sqltest.SQLite(t)
	db := d.Open(t)
	t.Run("an option beyond its limits is named", func(t *testing.T) {
		t.Parallel()
		for field, o := range map[string]outbox.Options{
			"tables": {Tables: "jobs.waybill_"}, "max payload": {MaxPayload: 8<<20 + 1}, "poll": {Poll: time.Millisecond},
			"read": {Read: 2 * time.Minute}, "keep": {Keep: 10 * time.Millisecond},
		} {
			if _, err := outbox.New(db, d.Dialect, o); !errors.Is(err, outbox.ErrInvalid) || !strings.Contains(err.Error(), field+": ") {
				t.Errorf("%s: %v", field, err)
			}
		}
		if _, err := outbox.New(nil, d.Dialect, outbox.Options{}); !errors.Is(err, outbox.ErrInvalid) {
			t.Errorf("without a database: %v", err)
		}
		if _, err := outbox.New(db, "oracle", outbox.Options{}); !errors.Is(err, outbox.ErrInvalid) || !strings.Contains(err.Error(), "dialect: ") {
			t.Errorf("another dialect: %v", err)
		}
	})
	t.Run("where rows are kept for ever a purge needs an age", func(t *testing.T) {
		t.Parallel()
		s := newStand(t, sqltest.SQLite(t), outbox.Options{Keep: -1})
		if _, err := s.box.Purge(t.Context(), 0, nil); !errors.Is(err, outbox.ErrInvalid) || !strings.Contains(err.Error(), "for ever") {
			t.Error(err)
		}
		if n, err := s.box.Purge(t.Context(), time.Second, nil); n != 0 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
	t.Run("at least one row is asked for", func(t *testing.T) {
		t.Parallel()
		s := newStand(t, sqltest.SQLite(t), outbox.Options{})
		if _, err := s.box.SetAside(t.Context(), 0, 0); !errors.Is(err, outbox.ErrInvalid) {
			t.Error(err)
		}
	})
}

func TestRelay_stoppedEarly(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := s.box.Relay(ctx, s.c); err != nil {
			t.Errorf("one that is told to stop before it has begun: %v", err)
		}
	})
}

// A copy of a database has the name of its outbox, and its rows.
func TestRelay_copiedDatabase(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		s.enter(request("sent"))
		stop := s.relay()
		until(t, "it is sent", func() bool { return s.rows().Sent == 1 })
		stop()
		s.enter(request("new"))
		elsewhere, err := waybill.NewClient(s.rdb, waybill.ClientOptions{Prefix: "copy" + t.Name()[len(t.Name())-3:]})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = elsewhere.Close() })
		s.c = elsewhere
		stop = s.relay()
		until(t, "a redis of its own looks as if it had lost data", func() bool { return !s.rows().LostAt.IsZero() })
		stop()
		if st := s.stats(); st.Accepted != 0 {
			t.Errorf("%d jobs are sent there", st.Accepted)
		}
		for _, table := range []string{"waybill_outbox", "waybill_outbox_queue", "waybill_outbox_name"} {
			if _, err := s.db.ExecContext(t.Context(), "DELETE FROM "+table); err != nil {
				t.Fatal(err)
			}
		}
		s.enter(request("own"))
		s.relay()
		until(t, "emptied, it is an outbox of its own", func() bool { return s.rows().Sent == 1 })
		if st := s.stats(); st.Accepted != 1 {
			t.Errorf("%d jobs", st.Accepted)
		}
	})
}
