package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

func TestRelay(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		s.enter(requests(25)...)
		undone := errors.New("no")
		if err := s.in(func(tx *sql.Tx) error {
			return errors.Join(s.box.Enqueue(t.Context(), tx, request("never")), undone)
		}); !errors.Is(err, undone) {
			t.Fatal(err)
		}
		s.relay()
		until(t, "all rows are sent", func() bool { return s.rows().Sent == 25 })
		if st := s.stats(); st.Accepted != 25 || st.Ready != 25 {
			t.Errorf("accepted %d, ready %d", st.Accepted, st.Ready)
		}
		s.work(func(_ context.Context, a *waybill.Attempt) error {
			if a.ID == "job-7" {
				return errors.New("it fails")
			}
			return nil
		})
		until(t, "all rows know their ends", func() bool { r := s.rows(); return r.Ended == 24 && r.Dead == 1 })
		until(t, "and nothing is unread", func() bool { return s.rows().Unread == 0 && s.rows().OldestUnread.IsZero() })
		if err := s.c.Queue("q").Requeue(t.Context(), "job-7"); err != nil {
			t.Fatal(err)
		}
		until(t, "a requeued job is dead again", func() bool { return s.stats().Died == 2 && s.rows().Dead == 1 })
		if err := s.c.Queue("q").Delete(t.Context(), "job-7", waybill.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		until(t, "a deleted job's row has ended", func() bool { return s.rows().Ended == 25 })
		if st := s.stats(); st.Accepted != 25 || st.Deliveries != 26 {
			t.Errorf("accepted %d, deliveries %d", st.Accepted, st.Deliveries)
		}
	})
}
